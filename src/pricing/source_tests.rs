use std::fs;
use std::time::Duration;

use super::*;
use crate::pricing::Request;
use crate::usage::Tokens;

const VALID: &[u8] = include_bytes!("../../tests/fixtures/flow-agents/pricing.json");
const URL: &str = "https://prices.example/registry.json";

fn settings(dir: &Path) -> PricingSettings {
    PricingSettings { file: None, url: Some(URL.to_owned()), cache_dir: dir.join("cache"), ttl_s: 3600 }
}

fn pico(registry: &Registry, model: &str) -> Option<i128> {
    let tokens = Tokens { input: 1, ..Tokens::default() };
    let request = Request {
        model,
        at_ms: None,
        tokens: &tokens,
        speed: Default::default(),
        us_only: false,
        summed: false,
    };
    registry.price(&request).map(|priced| priced.cost.pico())
}

#[test]
fn the_explicit_file_comes_before_the_url_and_both_before_the_bundled_registry() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = settings(dir.path());
    let first = load(&settings);
    assert_eq!((first.origin, first.warnings.len()), (Origin::Bundled, 0), "no copy yet is no fault");
    store(&settings, VALID).unwrap();
    assert!(matches!(load(&settings).origin, Origin::Cached(_)));
    let file = dir.path().join("mine.json");
    fs::write(&file, VALID).unwrap();
    settings.file = Some(file.clone());
    assert_eq!(load(&settings).origin, Origin::File(file));
}

#[test]
fn what_does_not_validate_falls_through_with_one_warning() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("prices.json");
    let settings = PricingSettings { file: Some(file.clone()), ..settings(dir.path()) };
    let assert_bundled = |what: &str| {
        let loaded = load(&settings);
        assert_eq!(loaded.origin, Origin::Bundled, "{what}");
        assert_eq!(loaded.warnings.len(), 1, "{what}");
        assert!(loaded.warnings[0].contains("prices.json"), "{:?}", loaded.warnings);
        assert_eq!(pico(&loaded.registry, "claude-opus-4-8"), Some(5_000_000), "{what}");
    };
    assert_bundled("missing");
    for body in [&b"<html>502</html>"[..], &VALID[..300], br#"{"current_version": "x", "versions": {}}"#, b""]
    {
        fs::write(&file, body).unwrap();
        assert_bundled("invalid");
    }
    fs::write(&file, vec![b' '; usize::try_from(MAX_BYTES).unwrap() + 1]).unwrap();
    assert_bundled("too large");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_bundled("a directory");
}

#[test]
fn a_broken_cached_copy_warns_without_the_url() {
    let dir = tempfile::tempdir().unwrap();
    let settings =
        PricingSettings { url: Some("https://u.example/?key=s3cret".to_owned()), ..settings(dir.path()) };
    store(&settings, VALID).unwrap();
    let Origin::Cached(copy) = load(&settings).origin else { panic!("the copy is in use") };
    fs::write(copy, b"{").unwrap();
    let loaded = load(&settings);
    assert_eq!((loaded.origin, loaded.warnings.len()), (Origin::Bundled, 1));
    assert!(!loaded.warnings[0].contains("s3cret"));
}

#[test]
fn only_a_valid_body_replaces_the_copy_and_urls_share_none() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    store(&settings, VALID).unwrap();
    assert!(matches!(store(&settings, b"<html>"), Err(StoreError::Invalid(_))));
    let huge = vec![b' '; usize::try_from(MAX_BYTES).unwrap() + 1];
    assert!(matches!(store(&settings, &huge), Err(StoreError::TooLarge)));
    assert!(matches!(load(&settings).origin, Origin::Cached(_)), "the old copy stands");
    let other = PricingSettings { url: Some(format!("{URL}?v=2")), ..settings.clone() };
    assert_eq!(load(&other).origin, Origin::Bundled);
    assert!(matches!(store(&PricingSettings { url: None, ..settings }, VALID), Err(StoreError::NoUrl)));
}

#[test]
fn a_copy_is_stale_when_missing_old_or_from_the_future_and_still_used() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    assert!(cached_copy_is_stale(&settings, 0));
    store(&settings, VALID).unwrap();
    let Origin::Cached(copy) = load(&settings).origin else { panic!("the copy is in use") };
    let written = UNIX_EPOCH + Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(copy).unwrap().set_modified(written).unwrap();
    let stale_after = |seconds: i64| cached_copy_is_stale(&settings, (1_000_000 + seconds) * 1_000);
    assert_eq!([-1, 0, 3599, 3600].map(stale_after), [true, false, false, true]);
    assert!(matches!(load(&settings).origin, Origin::Cached(_)));
    let unused = PricingSettings { file: Some(dir.path().join("f")), ..settings.clone() };
    assert!(!cached_copy_is_stale(&unused, 0));
    assert!(!cached_copy_is_stale(&PricingSettings { url: None, ..settings }, 0));
}

#[test]
fn a_foreign_registry_cannot_give_away_a_model_that_has_a_price() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("generous.json");
    let body = r#"{"current_version": "2026-01-01", "versions": {"2026-01-01": {
        "zero_cost_models": ["claude-opus-4-8-20260101", "my-local-model", "gpt-5.6"],
        "default": {"input": 0, "output": 0},
        "models": {"claude-haiku-4-5": {"input": 0, "output": 0}, "house-model": {"input": 0, "output": 0}}}}}"#;
    fs::write(&file, body).unwrap();
    let loaded = load(&PricingSettings { file: Some(file), ..settings(dir.path()) });
    for model in
        ["claude-opus-4-8-20260101", "claude-opus-4-8", "gpt-5.6", "claude-haiku-4-5", "claude-fable-5"]
    {
        assert_eq!(pico(&loaded.registry, model), None, "{model}");
    }
    for model in ["my-local-model", "house-model"] {
        assert_eq!(pico(&loaded.registry, model), Some(0), "{model}");
    }
    assert_eq!(loaded.warnings.len(), 1);
    for name in ["claude-opus-4-8-20260101", "gpt-5.6", "claude-haiku-4-5", "default"] {
        assert!(loaded.warnings[0].contains(name), "{name}");
    }
}
