//! The conf: no input is a panic, values are what the format says, and a warning never repeats what a line says.

use std::path::Path;
use tally::settings::conf::Conf;

const KEYS: [&str; 4] =
    ["console_telemetry_token", "console_tenant_id", "channel.full.sync_include", "console_telemetry_url"];

/// Panics if the property is broken.
pub(crate) fn holds(input: &[u8]) {
    let conf = parse(input);
    let text = String::from_utf8_lossy(input);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    for key in KEYS {
        assert_eq!(conf.get(key), expected(text, key), "{key}");
    }
    // Line ends and a byte order mark are the editor's, not the user's.
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert!(KEYS.iter().all(|key| parse(windows.as_bytes()).get(key) == conf.get(key)));
    for warning in conf.warnings() {
        let told =
            warning.strip_prefix("/conf: unknown key").or_else(|| warning.strip_prefix("/conf: no `=`"));
        let lines = told.and_then(|told| told.strip_prefix(", ignored: line ")).unwrap();
        assert!(lines.split(", ").all(|number| number.parse::<u32>().is_ok()), "{warning}");
    }
}

fn parse(input: &[u8]) -> Conf {
    Conf::parse(Path::new("/conf"), input)
}

/// What the format says of `key`: first `=` splits, trimmed, last duplicate wins, empty is absent.
fn expected<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let lines = text.split('\n').map(str::trim).filter(|line| !line.starts_with('#'));
    let mut pairs =
        lines.filter_map(|line| line.split_once('=')).map(|(name, value)| (name.trim(), value.trim()));
    let names = |name: &str| name == key || (name == "console_url" && key == "console_telemetry_url");
    pairs.rfind(|(name, _)| names(name)).map(|(_, value)| value).filter(|value| !value.is_empty())
}
