use super::*;
use crate::settings::env::Env;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/cases/registry.json");
const SCHEMA: &str = include_str!("../../schemas/pricing-output.schema.json");

/// Exit code, stdout and stderr of a `tally pricing` line; bundled registry unless it says otherwise.
fn pricing(line: &str) -> (u8, String, String) {
    let words = std::iter::once("pricing").chain(line.split_whitespace());
    let matches = VERB.to_clap().try_get_matches_from(words).unwrap();
    let (run, given) = VERB.chosen(&matches).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (env, cwd) = (Env::default(), std::path::Path::new("/"));
    let (width, watched, colour) = (80, false, false);
    let mut context = Context { env: &env, cwd, out: &mut out, err: &mut err, width, watched, colour };
    let code = run(&given, &mut context).unwrap();
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn json(text: &str) -> serde_json::Value {
    let value = serde_json::from_str(text).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    value
}

#[test]
fn a_call_is_priced_at_its_date() {
    let line = "price claude-opus-4-8 --input 20 --output 1000 --cache-read 10000 --cache-write-5m 0 \
                --cache-write-1h 40000 --at 2026-11-10T08:00:00Z";
    let (code, out, err) = pricing(line);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out, "$0.430100  claude-opus-4-8  (version 2026-10-25, in force)\n");
    let fast =
        "price claude-opus-4-8 --input 100 --output 1000 --web-searches 3 --fast --us --at 2026-11-10 --json";
    let quote = json(&pricing(fast).1);
    assert_eq!(quote["cost_usd"], 0.0861);
    assert_eq!(quote["basis"], "in_force");
}

#[test]
fn what_has_no_price_is_null_and_refused() {
    let (code, out, err) = pricing("price claude-opus-4-55 --input 5 --at 2026-11-10");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("claude-opus-4-55") && err.contains("2026-10-25"), "{err}");
    let (code, out, err) = pricing("price claude-haiku-4-5 --input 5 --fast --at 2026-11-10 --json");
    assert_eq!((code, &json(&out)["cost_usd"]), (1, &serde_json::Value::Null));
    assert!(err.contains("claude-haiku-4-5 is listed"), "{err}");
}

#[test]
fn the_table_fits_eighty_columns_and_shows_tiers() {
    let (code, out, _) = pricing("show --at 2026-11-10");
    assert_eq!(code, 0);
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    assert!(out.contains("version 2026-10-25 (in force)"));
    let rows = |wanted: &str| out.lines().filter(|line| line.contains(wanted)).count();
    assert_eq!(rows("claude-haiku-5-5 "), 1);
    assert_eq!(rows("prompt > 100000"), 1);
}

#[test]
fn one_model_is_shown_in_any_spelling() {
    let listing = json(&pricing("show --model anthropic/claude-haiku-5.5 --at 2026-11-10 --json").1);
    let models = listing["models"].as_array().unwrap();
    assert_eq!(models.len(), 1);
    assert_eq!(models[0]["tiers"][0]["cache_write_1h"], 1.0);
    assert_eq!(models[0]["cache_write_1h"], 0.2);
    assert_eq!(pricing("show --model claude-opus-4-55").0, 1);
}

#[test]
fn files_are_checked_and_can_be_used() {
    let (code, out, err) = pricing(&format!("check {CASES}"));
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.ends_with("registry.json: valid; current version 2026-10-25 lists 25 models\n"), "{out}");
    let (code, out, err) = pricing(concat!("check ", env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.starts_with("error: ") && err.contains("Cargo.toml: not a pricing registry"), "{err}");
    assert!(!err.contains("is used instead"), "nothing is priced: {err}");
    let (_, out, _) = pricing(&format!("price claude-opus-4-1 --input 1 --at 2025-09-01 --pricing {CASES}"));
    assert!(out.starts_with("$0.000015  claude-opus-4-1  (version 2025-08-12"), "{out}");
}

#[test]
fn impossible_arguments_are_usage_errors() {
    for line in
        ["price m --input -1", "price m --input 1.5", "price m --at yesterday", "show --at 2026-02-30", ""]
    {
        let words = std::iter::once("pricing").chain(line.split_whitespace());
        assert!(VERB.to_clap().try_get_matches_from(words).is_err(), "{line}");
    }
}
