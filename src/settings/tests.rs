//! Whole loads: one folder as workspace, home and directories of confs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

/// A workspace of its own, with an optional conf of mode 600.
struct Run {
    dir: TempDir,
}

impl Run {
    fn new(conf: &str) -> Self {
        let run = Self { dir: tempfile::tempdir().unwrap() };
        if !conf.is_empty() {
            fs::create_dir_all(run.conf().parent().unwrap()).unwrap();
            fs::write(run.conf(), conf).unwrap();
            run.set_mode(0o600);
        }
        run
    }

    fn conf(&self) -> PathBuf {
        self.dir.path().join(".kontourai/telemetry-console.conf")
    }

    fn set_mode(&self, mode: u32) {
        fs::set_permissions(self.conf(), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn load(&self, pairs: &[(&str, &str)]) -> Settings {
        self.load_with(pairs, &Flags::default())
    }

    fn load_with(&self, pairs: &[(&str, &str)], flags: &Flags) -> Settings {
        let root = ("TELEMETRY_WORKSPACE_ROOT", self.dir.path().to_str().unwrap());
        let env = Env::from_pairs(pairs.iter().copied().chain([root]));
        Settings::load_with(&env, self.dir.path(), flags)
    }
}

const CONSOLE: (&str, &str) = ("CONSOLE_TELEMETRY_URL", "https://env");

fn origin(settings: &Settings) -> Option<&str> {
    settings.destination.as_ref()?.economics.as_ref().map(endpoint::Endpoint::origin)
}

#[test]
fn nothing_configured_records_locally_and_sends_nothing() {
    let run = Run::new("");
    let settings = run.load(&[]);
    let data_dir = run.dir.path().join(".kontourai/telemetry");
    assert_eq!(settings.economics_log, data_dir.join("economics.jsonl"));
    assert_eq!(settings.data_dir, data_dir);
    assert!(settings.enabled && !settings.do_not_track && !settings.foreground);
    assert!(settings.destination.is_none() && !settings.economics_relay.on && !settings.liveness_relay.on);
    assert_eq!(
        settings.pricing,
        PricingSettings { file: None, url: None, cache_dir: settings.data_dir.join("pricing"), ttl_s: 3600 }
    );
    let limits = (settings.timeouts.connect.as_secs(), settings.timeouts.total.as_secs());
    assert_eq!(limits, (2, 5));
    assert_eq!(settings.warnings, Vec::<String>::new());
}

#[test]
fn paths_are_taken_from_the_working_directory() {
    let run = Run::new("");
    let here = |name: &str| run.dir.path().join(name);
    let settings = run.load(&[("TELEMETRY_DATA_DIR", "data")]);
    assert_eq!((settings.data_dir, settings.economics_log), (here("data"), here("data/economics.jsonl")));
    let settings =
        run.load(&[("TELEMETRY_DATA_DIR", "data"), ("TELEMETRY_ECONOMICS_LOG_FILE", "/log.jsonl")]);
    assert_eq!(settings.economics_log, Path::new("/log.jsonl"));
    assert_eq!(run.load(&[("FLOW_AGENTS_PRICING_FILE", "p.json")]).pricing.file, Some(here("p.json")));
}

#[test]
fn the_destination_is_whole_from_flag_then_conf_then_environment() {
    let run = Run::new("console_url=https://conf\n");
    let environment = [CONSOLE, ("CONSOLE_TELEMETRY_TOKEN", "envtok"), ("CONSOLE_TENANT_ID", "envten")];
    let settings = run.load(&environment);
    assert_eq!(origin(&settings), Some("https://conf"));
    let destination = settings.destination.unwrap();
    assert_eq!((destination.load_credential(), destination.tenant), (Ok(None), None));

    let flags = Flags { console_url: Some("https://flag".into()), ..Flags::default() };
    let destination = run.load_with(&environment, &flags).destination.unwrap();
    assert_eq!(destination.source, destination::Source::Flag);
    assert_eq!((destination.load_credential(), destination.tenant), (Ok(None), None));

    assert_eq!(origin(&Run::new("console_tenant_id=conf\n").load(&environment)), Some("https://env"));
}

#[test]
fn an_untrusted_conf_leaves_only_the_flags() {
    let run = Run::new("console_url=https://conf\n");
    run.set_mode(0o644);
    let settings = run.load(&[CONSOLE]);
    assert!(settings.destination.is_none() && !settings.economics_relay.on);
    assert!(settings.economics_relay.reason.contains("untrusted"), "{}", settings.economics_relay.reason);
    assert_eq!(settings.warnings.len(), 1, "{:?}", settings.warnings);
    let flags = Flags { console_url: Some("https://flag".into()), ..Flags::default() };
    assert_eq!(origin(&run.load_with(&[CONSOLE], &flags)), Some("https://flag"));
}

#[test]
fn a_conf_key_beats_the_environment_for_both_relays_both_ways() {
    const ECONOMICS: &str = "FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY";
    const LIVENESS: &str = "FLOW_AGENTS_CONSOLE_LIVENESS_RELAY";
    // conf lines, environment, economics, liveness, warnings
    let cases = [
        ("", "", true, false, 0),
        ("", "1", true, true, 0),
        ("", "No", false, false, 0),
        ("console_economics_relay=0\nconsole_liveness_relay=off\n", "1", false, false, 0),
        ("console_economics_relay=On\nconsole_liveness_relay=YES\n", "0", true, true, 0),
        ("console_economics_relay=\nconsole_liveness_relay=\n", "", true, false, 0),
        ("console_economics_relay=maybe\nconsole_liveness_relay=2\n", "1", false, false, 2),
        ("", "maybe", false, false, 2),
    ];
    for (conf, value, economics, liveness, warnings) in cases {
        let run = Run::new(&format!("console_url=https://conf\n{conf}"));
        let settings = run.load(&[(ECONOMICS, value), (LIVENESS, value)]);
        let answer = (settings.economics_relay.on, settings.liveness_relay.on, settings.warnings.len());
        assert_eq!(answer, (economics, liveness, warnings), "{conf:?} {value:?} {:?}", settings.warnings);
    }
}

#[test]
fn do_not_track_beats_every_relay_switch() {
    let run = Run::new("console_url=https://conf\nconsole_economics_relay=1\nconsole_liveness_relay=1\n");
    for (value, tracked) in
        [("1", false), ("true", false), ("yes", false), ("0", true), ("False", true), ("", true)]
    {
        let settings = run.load(&[("DO_NOT_TRACK", value)]);
        assert_eq!(
            (settings.economics_relay.on, settings.liveness_relay.on),
            (tracked, tracked),
            "{value:?}"
        );
        assert_eq!(settings.do_not_track, !tracked, "{value:?}");
        assert!(settings.enabled, "local journals stay");
    }
}

#[test]
fn enabled_follows_the_environment_before_the_conf() {
    let off = Run::new("enabled=FALSE\n");
    assert!(!off.load(&[]).enabled);
    assert!(off.load(&[("TELEMETRY_ENABLED", "true")]).enabled);
    assert!(!Run::new("").load(&[("TELEMETRY_ENABLED", "false")]).enabled);
    let unclear = Run::new("").load(&[("TELEMETRY_ENABLED", "nope")]);
    assert!(!unclear.enabled && unclear.warnings.len() == 1, "{:?}", unclear.warnings);
}

#[test]
fn numbers_out_of_bounds_are_the_default_with_a_warning() {
    const CONNECT: &str = "CONSOLE_TELEMETRY_CONNECT_TIMEOUT_SECONDS";
    let run = Run::new("");
    for (value, seconds, warnings) in
        [("1", 1, 0), ("30", 30, 0), ("0", 2, 1), ("31", 2, 1), ("1.5", 2, 1), ("", 2, 0)]
    {
        let settings = run.load(&[(CONNECT, value)]);
        assert_eq!(
            (settings.timeouts.connect.as_secs(), settings.warnings.len()),
            (seconds, warnings),
            "{value:?}"
        );
    }
    assert_eq!(run.load(&[("CONSOLE_TELEMETRY_MAX_TIME_SECONDS", "60")]).timeouts.total.as_secs(), 60);
    assert_eq!(run.load(&[("TELEMETRY_PRICING_TTL_SEC", "0")]).pricing.ttl_s, 0);
}

#[test]
fn the_pricing_url_has_two_variables_and_two_keys() {
    let run = Run::new("pricing_url=https://d\nconsole_pricing_url=https://c\npricing_file=/p.json\n");
    assert_eq!(run.load(&[]).pricing.url.as_deref(), Some("https://c"));
    assert_eq!(run.load(&[]).pricing.file.as_deref(), Some(Path::new("/p.json")));
    let second = ("FLOW_AGENTS_PRICING_URL", "https://b");
    assert_eq!(run.load(&[second]).pricing.url.as_deref(), Some("https://b"));
    assert_eq!(
        run.load(&[second, ("TELEMETRY_PRICING_URL", "https://a")]).pricing.url.as_deref(),
        Some("https://a")
    );
}

#[test]
fn the_size_of_journals_is_set_by_the_environment_else_the_conf_and_never_to_nothing() {
    let run = Run::new("max_log_size_mb=7\nmax_log_files=nine\n");
    let settings = run.load(&[]);
    assert_eq!(settings.rotation, Rotation { max_bytes: 7 << 20, keep: 3 });
    assert_eq!(settings.warnings, ["max_log_files: not a whole number from 1 to 10000: 3"]);
    let settings = run.load(&[("TELEMETRY_MAX_LOG_SIZE_MB", " 2 "), ("TELEMETRY_MAX_LOG_FILES", "5")]);
    assert_eq!(settings.rotation, Rotation { max_bytes: 2 << 20, keep: 5 });
    for nothing in ["0", "-1", "1.5", "1e3", "18446744073709551616"] {
        let settings =
            run.load(&[("TELEMETRY_MAX_LOG_SIZE_MB", nothing), ("TELEMETRY_MAX_LOG_FILES", nothing)]);
        assert_eq!(settings.rotation, Rotation { max_bytes: 50 << 20, keep: 3 }, "{nothing}");
        assert_eq!(settings.warnings.len(), 2, "{nothing}");
    }
}
