use super::*;
use crate::sys::clock;

const FLOW_AGENTS: &[u8] = include_bytes!("../../tests/fixtures/flow-agents/pricing.json");
const GOLDEN: &str = include_str!("../../tests/fixtures/flow-agents/pricing.golden.json");
const CASES: &[u8] = include_bytes!("../../tests/fixtures/cases/registry.json");

fn tokens(input: i64, output: i64, cache_read: i64, cache_write_5m: i64, cache_write_1h: i64) -> Tokens {
    Tokens { input, output, cache_read, cache_write_5m, cache_write_1h, web_search_requests: 0 }
}

fn at(date: &str) -> Option<i64> {
    Some(clock::parse_rfc3339(&format!("{date}T12:00:00Z")).unwrap())
}

fn request<'a>(model: &'a str, date: &str, tokens: &'a Tokens) -> Request<'a> {
    Request { model, at_ms: at(date), tokens, speed: Speed::Standard, us_only: false, summed: false }
}

/// The cost in micro-dollars; fails where it is not a whole number of them.
fn micro(priced: Option<Priced<'_>>) -> Option<i128> {
    priced.map(|priced| {
        assert_eq!(priced.cost.pico() % 1_000_000, 0);
        priced.cost.pico() / 1_000_000
    })
}

/// `(model, date, tokens)` at standard speed under `registry`, in micro-dollars.
fn cost(registry: &Registry, model: &str, date: &str, tokens: Tokens) -> Option<i128> {
    micro(registry.price(&request(model, date, &tokens)))
}

#[test]
fn the_golden_vectors_of_flow_agents_hold() {
    let registry = Registry::parse(FLOW_AGENTS).unwrap();
    let golden: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 9);
    for case in cases {
        let count = |key: &str| case["tokens"][key].as_i64().unwrap();
        let tokens = tokens(count("input"), count("output"), count("cache_read"), count("cache_creation"), 0);
        let model = case["model"].as_str().unwrap();
        let priced = registry.price(&request(model, "2026-06-28", &tokens)).unwrap();
        assert_eq!(
            serde_json::to_value(priced.cost).unwrap(),
            case["expected_cost_usd"].as_f64().unwrap(),
            "{model}"
        );
        assert_eq!(priced.default_rate, model == "some-unlisted-model");
    }
}

/// The arithmetic of the case corpus, whose answers were computed from its registry by hand.
#[test]
fn the_case_corpus_is_priced_as_its_answers_say() {
    let registry = Registry::parse(CASES).unwrap();
    let cost = |model, date, tokens| cost(&registry, model, date, tokens);
    let (november, july) = ("2026-11-10", "2026-07-20");
    // c10: one-hour cache writes at 2x input.
    assert_eq!(cost("claude-opus-4-8", november, tokens(20, 1_000, 10_000, 0, 40_000)), Some(430_100));
    // c18: no price is neither zero nor a default.
    assert_eq!(cost("claude-opus-4-55", november, tokens(100, 100, 0, 0, 0)), None);
    assert_eq!(cost("glm-5.2", november, tokens(500, 50, 0, 0, 0)), None);
    // c20: cache reads per model.
    let read = tokens(100, 100, 200_000, 0, 0);
    let reads =
        ["claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5"].map(|model| cost(model, november, read));
    assert_eq!(reads, [Some(56_000), Some(42_400), Some(41_200)]);
    // c29: written tokens cost more from GPT-5.6 on only.
    assert_eq!(cost("gpt-5.6-terra", november, tokens(1_000, 400, 6_000, 3_000, 0)), Some(15_500));
    assert_eq!(cost("gpt-5.5", november, tokens(500, 100, 1_000, 500, 0)), Some(8_500));
    // c34: the price in force at the time.
    let luna = tokens(10_000, 1_000, 0, 0, 0);
    assert_eq!(cost("gpt-5.6-luna", july, luna), Some(16_000));
    assert_eq!(cost("gpt-5.6-luna", november, luna), Some(3_200));
}

#[test]
fn web_searches_are_a_fee_that_nothing_multiplies() {
    let registry = Registry::parse(CASES).unwrap();
    let searched = Tokens { web_search_requests: 3, ..tokens(100, 500, 0, 0, 0) };
    let standard = request("claude-opus-4-8", "2026-11-10", &searched);
    // c12: 13,000 micro-dollars of tokens and three cents.
    assert_eq!(micro(registry.price(&standard)), Some(43_000));
    let fast = Request { speed: Speed::Fast, ..standard };
    assert_eq!(micro(registry.price(&fast)), Some(2 * 13_000 + 30_000));
}

#[test]
fn fast_us_only_and_batch_multiply_every_bucket_and_stack() {
    let registry = Registry::parse(CASES).unwrap();
    let tokens = tokens(100, 1_000, 0, 0, 0);
    let price = |model, date, speed, us_only| {
        micro(registry.price(&Request { speed, us_only, ..request(model, date, &tokens) }))
    };
    // c13: 25,500 micro-dollars at base.
    assert_eq!(price("claude-opus-4-8", "2026-11-10", Speed::Fast, false), Some(51_000));
    assert_eq!(price("claude-opus-4-8", "2026-11-10", Speed::Fast, true), Some(56_100));
    assert_eq!(price("claude-opus-4-6", "2026-03-10", Speed::Fast, false), Some(153_000));
    assert_eq!(price("claude-opus-4-6-fast", "2026-03-10", Speed::Standard, false), Some(153_000));
    assert_eq!(price("claude-opus-4-8", "2026-11-10", Speed::Batch, false), Some(12_750));
    assert_eq!(price("claude-opus-4-6", "2026-11-10", Speed::Fast, false), None, "no fast rate is no price");
    assert_eq!(price("claude-opus-4-5", "2026-11-10", Speed::Standard, true), Some(25_500));
}

#[test]
fn a_regional_profile_costs_a_tenth_more_from_generation_four_five_on() {
    let cases = Registry::parse(CASES).unwrap();
    let bundled = Registry::bundled();
    let tokens = tokens(1_000, 100, 0, 0, 0);
    for registry in [&cases, &bundled] {
        for (raw, expected) in [
            ("global.anthropic.claude-opus-4-5-20251101-v1:0", 7_500),
            ("us.anthropic.claude-opus-4-5-20251101-v1:0", 8_250),
            ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", 1_650),
            ("apac.anthropic.claude-opus-4-6-v1", 8_250),
            ("claude-opus-4-5@20251101", 7_500),
        ] {
            assert_eq!(cost(registry, raw, "2026-11-10", tokens), Some(expected), "{raw}");
        }
        let before = "us.anthropic.claude-opus-4-1-20250805-v1:0";
        assert_eq!(cost(registry, before, "2025-09-01", tokens), Some(22_500));
    }
}

#[test]
fn the_whole_prompt_chooses_the_tier_and_the_threshold_is_still_base() {
    let cases = Registry::parse(CASES).unwrap();
    let cost = |model, date, tokens| cost(&cases, model, date, tokens).unwrap();
    // c21: no bucket is above 200,000, the prompt is.
    let above = cost("claude-sonnet-4-20250514", "2025-09-10", tokens(150_000, 1_000, 60_000, 0, 0));
    let exactly = cost("claude-sonnet-4-20250514", "2025-09-10", tokens(199_000, 1_000, 1_000, 0, 0));
    assert_eq!(above, 150_000 * 6 + 22_500 + 60_000 * 6 / 10);
    assert_eq!(above + exactly, 1_570_800);
    // Each cache bucket belongs to the prompt; output does not.
    let haiku = |tokens| cost("claude-haiku-5-5", "2026-11-10", tokens);
    assert_eq!(haiku(tokens(40_000, 900_000, 20_000, 20_000, 20_000)), 4_000 + 450_000 + 200 + 2_500 + 4_000);
    assert_eq!(
        haiku(tokens(40_000, 900_000, 20_000, 20_000, 20_001)),
        20_000 + 2_250_000 + 1_000 + 12_500 + 20_001
    );
    let codex = |input| cost("gpt-5.5", "2026-11-10", tokens(input, 0, 0, 0, 0));
    assert_eq!([codex(272_000), codex(272_001)], [272_000 * 5, 272_001 * 10]);
}

/// Rows of the pricing reference §2–§4 by date; expected values are the page's rates for a million tokens.
#[test]
fn bundled_rows_are_the_dated_list_prices() {
    let registry = Registry::bundled();
    let per_million = |model, date, bucket: fn(&mut Tokens) -> &mut i64| {
        let mut tokens = Tokens::default();
        // A tenth of a million stays below every threshold.
        *bucket(&mut tokens) = 100_000;
        cost(&registry, model, date, tokens).map(|micro| micro * 10)
    };
    for (model, date, [input, output, read, write_5m, write_1h]) in [
        ("claude-fable-5-2", "2026-11-20", [None; 5]),
        ("gpt-6.2-sol", "2026-11-20", [None; 5]),
        (
            "claude-fable-5-1",
            "2026-11-20",
            [10_000_000, 50_000_000, 250_000, 12_500_000, 20_000_000].map(Some),
        ),
        ("claude-opus-5-5", "2026-11-20", [4_000_000, 20_000_000, 200_000, 5_000_000, 8_000_000].map(Some)),
        ("claude-sonnet-5-5", "2026-11-20", [2_000_000, 10_000_000, 100_000, 2_500_000, 4_000_000].map(Some)),
        ("claude-haiku-5-5", "2026-10-08", [100_000, 500_000, 10_000, 125_000, 200_000].map(Some)),
        (
            "claude-opus-4-1",
            "2026-11-20",
            [15_000_000, 75_000_000, 1_500_000, 18_750_000, 30_000_000].map(Some),
        ),
        (
            "claude-3-5-haiku-20241022",
            "2025-09-01",
            [800_000, 4_000_000, 80_000, 1_000_000, 1_600_000].map(Some),
        ),
        ("claude-3-haiku-20240307", "2025-09-01", [250_000, 1_250_000, 30_000, 300_000, 500_000].map(Some)),
        ("gpt-5.6", "2026-08-02", [5_000_000, 30_000_000, 500_000, 6_250_000, 10_000_000].map(Some)),
        ("gpt-5.6", "2026-09-27", [4_000_000, 20_000_000, 400_000, 5_000_000, 8_000_000].map(Some)),
        ("gpt-5.6-luna", "2026-08-02", [1_000_000, 6_000_000, 100_000, 1_250_000, 2_000_000].map(Some)),
        ("gpt-5.6-luna", "2026-09-27", [200_000, 1_200_000, 20_000, 250_000, 400_000].map(Some)),
        ("gpt-6.1-terra", "2026-11-20", [1_000_000, 5_000_000, 50_000, 1_250_000, 2_000_000].map(Some)),
        ("codex-mini-latest", "2025-09-01", [1_500_000, 6_000_000, 375_000, 1_500_000, 1_500_000].map(Some)),
        ("gemini-3.6-flash", "2026-08-02", [1_500_000, 7_500_000, 150_000, 1_500_000, 1_500_000].map(Some)),
        ("gemini-3.6-flash", "2026-09-27", [750_000, 3_750_000, 75_000, 750_000, 750_000].map(Some)),
        ("gemini-2.5-flash-lite", "2025-11-16", [100_000, 400_000, 25_000, 100_000, 100_000].map(Some)),
        ("gemini-2.5-flash-lite", "2026-06-27", [100_000, 400_000, 10_000, 100_000, 100_000].map(Some)),
    ] {
        assert_eq!(per_million(model, date, |t| &mut t.input), input, "{model} {date}");
        assert_eq!(per_million(model, date, |t| &mut t.output), output, "{model} {date}");
        assert_eq!(per_million(model, date, |t| &mut t.cache_read), read, "{model} {date}");
        assert_eq!(per_million(model, date, |t| &mut t.cache_write_5m), write_5m, "{model} {date}");
        assert_eq!(per_million(model, date, |t| &mut t.cache_write_1h), write_1h, "{model} {date}");
    }
}

#[test]
fn bundled_modes_change_by_date_too() {
    let registry = Registry::bundled();
    let tokens = tokens(1_000, 0, 0, 0, 0);
    let fast =
        |model, date| micro(registry.price(&Request { speed: Speed::Fast, ..request(model, date, &tokens) }));
    assert_eq!(fast("claude-opus-4-6", "2026-07-24"), Some(30_000));
    assert_eq!(fast("claude-opus-4-6", "2026-07-25"), None);
    assert_eq!(fast("claude-opus-4-8", "2026-11-20"), Some(10_000));
    assert_eq!(fast("gpt-5.5", "2026-07-09"), Some(12_500));
    assert_eq!(fast("gemini-3.5-flash", "2026-11-20"), Some(2_700));
    let long = super::tests::tokens(250_000, 0, 0, 0, 0);
    assert_eq!(cost(&registry, "claude-sonnet-4-5", "2026-10-24", long), Some(1_500_000));
    assert_eq!(cost(&registry, "claude-sonnet-4-5", "2026-10-25", long), Some(750_000));
}

#[test]
fn a_call_without_a_model_is_never_free_and_never_at_a_default() {
    let registry = Registry::parse(FLOW_AGENTS).unwrap();
    let tokens = tokens(999, 999, 0, 0, 0);
    for raw in ["", "  ", "unknown", "Unknown"] {
        assert_eq!(registry.price(&request(raw, "2026-06-28", &tokens)), None, "{raw:?}");
    }
    for (raw, free) in [("<synthetic>", true), ("synthetic", true), ("syn", false), ("u", false)] {
        let priced = registry.price(&request(raw, "2026-06-28", &tokens)).unwrap();
        assert_eq!((priced.cost == Usd::ZERO, priced.default_rate), (free, !free), "{raw}");
    }
}

#[test]
fn tokens_without_a_rate_and_sums_beyond_money_have_no_price() {
    let text = br#"{"current_version": "2026-01-01", "versions": {"2026-01-01": {"models": {
                    "m": {"input": 10000, "output": 1, "fast": 100, "us_geo": 100, "regional": 100}}}}}"#;
    let registry = Registry::parse(text).unwrap();
    assert_eq!(cost(&registry, "m", "2026-01-01", tokens(1, 0, 0, 0, 0)), Some(10_000));
    assert_eq!(cost(&registry, "m", "2026-01-01", tokens(1, 0, 1, 0, 0)), None);
    let most = tokens(i64::MAX / 4, 0, 0, 0, 0);
    let dear = Request { speed: Speed::Fast, us_only: true, ..request("us.m", "2026-01-01", &most) };
    assert_eq!(registry.price(&dear), None);
}
