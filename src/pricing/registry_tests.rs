use super::*;

const FLOW_AGENTS: &str = include_str!("../../tests/fixtures/flow-agents/pricing.json");
const CASES: &str = include_str!("../../tests/fixtures/cases/registry.json");
const SCHEMA: &str = include_str!("../../schemas/pricing.schema.json");

fn ms(date: &str) -> Option<i64> {
    clock::parse_rfc3339(&format!("{date}T12:00:00Z"))
}

/// A registry of one version, `2026-01-01`, with this body.
fn one_version(body: &str) -> String {
    format!(r#"{{"current_version": "2026-01-01", "versions": {{"2026-01-01": {body}}}}}"#)
}

fn error_of(text: &str) -> String {
    Registry::parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn the_schema_accepts_every_registry_that_is_read() {
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for text in [BUNDLED, FLOW_AGENTS, CASES] {
        let registry = serde_json::from_str(text).unwrap();
        let errors: Vec<String> = validator.iter_errors(&registry).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
        Registry::parse(text.as_bytes()).unwrap();
    }
    let negative = one_version(r#"{"models": {"m": {"input": -1, "output": 1}}}"#);
    assert!(!validator.is_valid(&serde_json::from_str(&negative).unwrap()));
}

#[test]
fn bodies_that_are_not_registries_are_refused_whole() {
    for body in
        ["", "<!doctype html><html></html>", "null", "[]", "{}", r#"{"versions": {}}"#, &BUNDLED[..2000]]
    {
        assert!(matches!(Registry::parse(body.as_bytes()), Err(RegistryError::Shape(_))), "{body:.20}");
    }
    assert!(Registry::parse(b"{\"current_version\": \"\xff\"}").is_err());
    let nan = one_version(r#"{"models": {"m": {"input": NaN, "output": 1}}}"#);
    assert!(Registry::parse(nan.as_bytes()).is_err());
}

#[test]
fn an_impossible_value_is_named_with_its_place() {
    let current = r#"{"current_version": "2027", "versions": {"2026-01-01": {"models": {}}}}"#;
    assert!(error_of(current).starts_with("current_version: "));
    for (body, place) in [
        (r#"{"models": {"m": {"input": -1, "output": 1}}}"#, "models.m"),
        (r#"{"models": {"m": {"input": 1e400, "output": 1}}}"#, "models.m"),
        (r#"{"models": {"m": {"input": 3000000, "output": 1}}}"#, "models.m"),
        (r#"{"models": {"m": {"input": "3", "output": 1}}}"#, "models.m"),
        (r#"{"models": {"m": {"input": 3}}}"#, "models.m"),
        (r#"{"models": {"m": null}}"#, "models.m"),
        (r#"{"models": {"m": {"input": 3, "output": 1, "fast": 0}}}"#, "models.m"),
        (r#"{"models": {}, "default": {"input": 3}}"#, "default"),
        (r#"{"models": {}, "currency": "EUR"}"#, "currency"),
        (r#"{"models": {}, "unit": "per_1k_tokens"}"#, "unit"),
        (r#"{"models": {}, "effective_date": "2026-02-30"}"#, "effective_date"),
        (r#"{"models": {}, "extends": "2026-01-01"}"#, "extends"),
        (r#"{"models": {}, "extends": "2025-01-01"}"#, "extends"),
    ] {
        let error = error_of(&one_version(body));
        assert!(error.starts_with(&format!("versions.2026-01-01.{place}: ")), "{error}");
    }
    for body in [
        r#"{"models": {}, "cache_multipliers": {"read": 0}}"#,
        r#"{"models": {}, "web_search_per_1000": -1}"#,
    ] {
        assert!(Registry::parse(one_version(body).as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn the_newest_version_not_after_the_call_is_in_force() {
    let registry = Registry::parse(CASES.as_bytes()).unwrap();
    let at = |at_ms| registry.table(at_ms).map(|table| (table.version(), table.basis)).unwrap();
    let day = |text| at(clock::parse_rfc3339(text));
    assert_eq!(day("2026-07-08T23:59:59.999Z"), ("2026-06-28", Basis::InForce));
    assert_eq!(day("2026-07-09T00:00:00Z"), ("2026-07-09", Basis::InForce));
    assert_eq!(day("2026-07-09T01:00:00+02:00"), ("2026-06-28", Basis::InForce));
    assert_eq!(day("2030-01-01T00:00:00Z"), ("2026-10-25", Basis::InForce));
    assert_eq!(day("2025-01-01T00:00:00Z"), ("2025-08-12", Basis::FirstVersion));
    assert_eq!(at(None), ("2026-10-25", Basis::CurrentNoTimestamp));
    assert!(Registry::default().table(None).is_none());
}

#[test]
fn a_version_takes_what_it_leaves_out_from_the_one_it_extends() {
    let text = r#"{"current_version": "2026-02-01", "versions": {
        "2026-01-01": {"cache_multipliers": {"read": 0.1}, "web_search_per_1000": 7, "zero_cost_models": ["free"],
                       "default": {"input": 9, "output": 9},
                       "models": {"kept": {"input": 1, "output": 2}, "cut": {"input": 4, "output": 8}}},
        "2026-02-01": {"extends": "2026-01-01", "cache_multipliers": {"read": 0.5}, "models": {"cut": {"input": 2, "output": 4}}},
        "2026-03-01": {"models": {}}}}"#;
    let registry = Registry::parse(text.as_bytes()).unwrap();
    let table = registry.table(ms("2026-02-10")).unwrap();
    assert_eq!(table.models(), ["cut", "kept"]);
    assert_eq!(table.row("cut").unwrap().rates.input, Rate::from_pico(2_000_000));
    assert_eq!(table.row("cut").unwrap().rates.cache_read, Some(Rate::from_pico(1_000_000)));
    assert_eq!(table.row("kept").unwrap().rates.cache_read, Some(Rate::from_pico(100_000)));
    assert_eq!(table.web_search_per_1000(), Rate::from_pico(7_000_000));
    assert!(table.is_free("free", "free"));
    assert!(table.default_row().is_none(), "a default is never inherited");
    assert!(registry.table(ms("2026-03-10")).unwrap().row("kept").is_none());
}

#[test]
fn bundled_rows_all_parse_and_history_never_vanishes() {
    let registry = Registry::bundled();
    assert!(registry.versions.len() > 1);
    registry.validate_rows().unwrap();
    for (index, version) in registry.versions.iter().enumerate() {
        assert_eq!(version.base, index.checked_sub(1), "each version extends the one before it");
        for row in version.models.values() {
            assert!(row.parse().unwrap().source.is_some_and(|source| !source.is_empty()));
        }
    }
    for id in registry.versions.iter().flat_map(|version| version.models.keys()) {
        assert_eq!(registry.canonical_id(id), *id, "a row that no spelling reaches");
        assert!(registry.table(None).unwrap().row(id).is_some());
    }
    for (alias, target) in &registry.aliases {
        assert!(registry.lists(target) && !registry.lists(alias), "{alias}");
    }
    assert_eq!(registry.versions.last().unwrap().name, registry.table(None).unwrap().version());
}

#[test]
fn ids_are_matched_exactly_then_by_alias_then_as_fast() {
    let registry = Registry::bundled();
    for (raw, id, fast) in [
        ("gpt-5.6", "gpt-5.6-sol", false),
        ("openai/gpt-5.6-fast", "gpt-5.6-sol", true),
        ("claude-opus-4-6-fast", "claude-opus-4-6", true),
        ("claude-haiku-4-5-fast", "claude-haiku-4-5-fast", false),
        ("grok-code-fast", "grok-code-fast", false),
        ("claude-opus-4-55", "claude-opus-4-55", false),
        ("claude-sonnet-4-0", "claude-sonnet-4", false),
        ("", "unknown", false),
    ] {
        let model = registry.model_id(raw);
        assert_eq!((model.id.as_str(), model.fast), (id, fast), "{raw}");
    }
    let stated = one_version(r#"{"models": {"m": {"input": 1, "output": 1}}}"#);
    let without = Registry::parse(stated.as_bytes()).unwrap();
    assert_eq!(without.canonical_id("gpt-5.6"), "gpt-5.6-sol", "bundled aliases hold where none are stated");
}

#[test]
fn rows_listed_under_another_spelling_are_found_and_the_canonical_one_wins() {
    let body = r#"{"models": {"claude-haiku-4-5-20251001": {"input": 1, "output": 1},
                    "claude-opus-4.8": {"input": 2, "output": 1}, "claude-opus-4-8": {"input": 3, "output": 1}}}"#;
    let registry = Registry::parse(one_version(body).as_bytes()).unwrap();
    let table = registry.table(None).unwrap();
    let input = |id| table.row(id).unwrap().rates.input.pico();
    assert_eq!(table.models(), ["claude-haiku-4-5", "claude-opus-4-8"]);
    assert_eq!([input("claude-haiku-4-5"), input("claude-opus-4-8")], [1_000_000, 3_000_000]);
}
