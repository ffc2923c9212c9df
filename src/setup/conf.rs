//! The conf's text, edited: each key where it stands, everything else as it is (comments, unknown keys, order, line ends).
//!
//! 1. A key that is set takes the place of its first line; further lines of it go. A new key goes to the end.
//! 2. What a key replaces goes: URL and endpoint replace each other, the token replaces the token file. Explicit endpoints
//!    of single kinds of records go when the Console moves to another origin: they named the old one.
//! 3. What is not asked for stays, so that a rotation of the token undoes no opt-out.

use crate::settings::endpoint::Endpoint;

use super::console::Change;

/// Keys that [`edit`] may write, and so what [`without`] takes out.
pub const KEYS: [&str; 8] = [
    "console_telemetry_url",
    "console_telemetry_endpoint_url",
    "console_telemetry_token",
    "console_tenant_id",
    "console_economics_relay",
    "console_liveness_relay",
    "console_telemetry_relay",
    "policies",
];

/// The endpoints of single kinds of records.
const OVERRIDES: [&str; 2] = ["console_economics_endpoint_url", "console_liveness_endpoint_url"];

/// The text of the conf with `change` made; equal to `text` where there is nothing to change.
#[must_use]
pub fn edit(text: &str, change: &Change) -> String {
    let mut lines = Lines::of(text);
    let (url, endpoint) = (change.url.as_ref(), change.endpoint.as_ref());
    if let Some(moved) = url.or(endpoint) {
        lines.set("console_telemetry_url", url.map(|url| url.text.as_str()));
        lines.set("console_telemetry_endpoint_url", endpoint.map(|url| url.text.as_str()));
        for key in OVERRIDES {
            let same = lines.get(key).and_then(|text| Endpoint::parse(text).ok());
            if same.is_none_or(|endpoint| endpoint.origin() != moved.endpoint.origin()) {
                lines.set(key, None);
            }
        }
    }
    if let Some(token) = &change.token {
        lines.set("console_telemetry_token", Some(token.expose()));
        lines.set("console_telemetry_token_file", None);
    }
    if let Some(tenant) = &change.tenant {
        lines.set("console_tenant_id", Some(tenant));
    }
    for (key, switch) in [
        ("console_economics_relay", change.economics_relay),
        ("console_liveness_relay", change.liveness_relay),
        ("console_telemetry_relay", change.telemetry_relay),
    ] {
        if let Some(on) = switch {
            lines.set(key, Some(if on { "1" } else { "0" }));
        }
    }
    if let Some(policies) = change.policies {
        lines.set("policies", Some(policies));
    }
    lines.text()
}

/// The text of the conf without the keys that [`edit`] writes.
#[must_use]
pub fn without(text: &str) -> String {
    let mut lines = Lines::of(text);
    for key in KEYS {
        lines.set(key, None);
    }
    lines.text()
}

/// Lines with their line ends.
struct Lines<'a> {
    start: &'a str,
    lines: Vec<String>,
    end: &'a str,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let (start, rest) =
            text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 });
        let end = if rest.contains("\r\n") { "\r\n" } else { "\n" };
        Self { start, lines: rest.split_inclusive('\n').map(str::to_owned).collect(), end }
    }

    fn get(&self, key: &str) -> Option<&str> {
        let last = self.lines.iter().rev().find(|line| key_of(line) == Some(key))?;
        last.split_once('=').map(|(_, value)| value.trim())
    }

    /// Gives `key` one line with `value`, or none.
    fn set(&mut self, key: &str, value: Option<&str>) {
        if value.is_some() && self.get(key) == value && self.count(key) == 1 {
            return;
        }
        let first = self.lines.iter().position(|line| key_of(line) == Some(key));
        let (written, end) = (value.map(|value| format!("{key}={value}")), self.end);
        if let (Some(written), Some(line)) = (&written, first.and_then(|at| self.lines.get_mut(at))) {
            *line = format!("{written}{end}");
        }
        let mut at = 0;
        self.lines.retain(|line| {
            let goes = key_of(line) == Some(key) && (value.is_none() || first != Some(at));
            at += 1;
            !goes
        });
        if let (Some(written), None) = (written, first) {
            if let Some(last) = self.lines.last_mut()
                && !last.ends_with('\n')
            {
                last.push_str(end);
            }
            self.lines.push(format!("{written}{end}"));
        }
    }

    fn count(&self, key: &str) -> usize {
        self.lines.iter().filter(|line| key_of(line) == Some(key)).count()
    }

    fn text(&self) -> String {
        format!("{}{}", self.start, self.lines.concat())
    }
}

/// The key of a line, as the conf's parser reads it (`settings::conf`); `console_url` is another name of
/// `console_telemetry_url`.
fn key_of(line: &str) -> Option<&str> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    match line.split_once('=')?.0.trim() {
        "console_url" => Some("console_telemetry_url"),
        key => Some(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::conf::Conf;
    use crate::settings::secret::Secret;
    use crate::setup::console::address;
    use std::path::Path;

    fn change(url: &str, token: &str, tenant: &str) -> Change {
        Change {
            url: Some(address("--console-url", url).unwrap()),
            token: Some(Secret::new(token)),
            tenant: Some(tenant.to_owned()),
            ..Change::default()
        }
    }

    fn endpoint(url: &str) -> Change {
        Change { endpoint: Some(address("--console-endpoint", url).unwrap()), ..Change::default() }
    }

    #[test]
    fn a_new_conf_has_a_line_per_key() {
        let text = edit("", &change("https://c.example", "t0k", "acme"));
        assert_eq!(
            text,
            "console_telemetry_url=https://c.example\nconsole_telemetry_token=t0k\nconsole_tenant_id=acme\n"
        );
        assert_eq!(edit(&text, &change("https://c.example", "t0k", "acme")), text);
        assert_eq!(edit(&text, &Change::default()), text);
    }

    #[test]
    fn a_rotation_changes_one_line_and_undoes_no_opt_out() {
        let text = "# mine\r\nmy_key = 1\r\nconsole_telemetry_token = old\r\n\r\nconsole_url=https://c.example\r\n\
                    console_economics_relay=0\r\nconsole_tenant_id=acme";
        let rotated = edit(text, &Change { token: Some(Secret::new("new")), ..Change::default() });
        assert_eq!(rotated, text.replace("console_telemetry_token = old", "console_telemetry_token=new"));
        let back_on = edit(&rotated, &Change { economics_relay: Some(true), ..Change::default() });
        assert_eq!(back_on, rotated.replace("relay=0", "relay=1"));
        let same_url = Change { url: Some(address("", "https://c.example").unwrap()), ..Change::default() };
        assert_eq!(edit(text, &same_url), text, "another name of the same key is no reason to write");
    }

    #[test]
    fn url_and_endpoint_replace_each_other() {
        let with_url = edit("", &change("https://c.example", "t", "a"));
        let with_endpoint = edit(&with_url, &endpoint("https://c.example/in"));
        assert!(!with_endpoint.contains("console_telemetry_url"), "{with_endpoint}");
        assert!(with_endpoint.contains("console_telemetry_endpoint_url=https://c.example/in\n"));
        assert_eq!(
            edit(&with_endpoint, &change("https://c.example", "t", "a")).matches("https://").count(),
            1
        );
    }

    #[test]
    fn duplicates_go_and_the_first_line_stays_in_place() {
        let text = "console_tenant_id=a\n# x\nconsole_url=https://a.example\nconsole_telemetry_url=https://b.example\n\
                    console_tenant_id=b\nconsole_telemetry_token_file=/t\n";
        let edited = edit(text, &change("https://c.example", "t", "c"));
        assert_eq!(
            edited,
            "console_tenant_id=c\n# x\nconsole_telemetry_url=https://c.example\nconsole_telemetry_token=t\n"
        );
    }

    #[test]
    fn an_endpoint_of_one_kind_goes_when_the_console_moves() {
        let text =
            "console_telemetry_url=https://a.example\nconsole_economics_endpoint_url=https://a.example/eco\n";
        assert_eq!(
            edit(text, &Change { url: Some(address("", "https://a.example").unwrap()), ..Change::default() }),
            text
        );
        let moved = edit(text, &endpoint("https://b.example/records"));
        assert_eq!(moved, "console_telemetry_endpoint_url=https://b.example/records\n");
    }

    #[test]
    fn taking_our_keys_out_leaves_the_users() {
        let text = edit("# mine\npricing_file=/p\n", &change("https://c.example", "t0k", "acme"));
        assert_eq!(without(&text), "# mine\npricing_file=/p\n");
    }

    #[test]
    fn the_parser_reads_what_was_written() {
        let text = edit("\u{feff}# no newline at the end", &change("https://c.example/?a=b", "a==", "x:y"));
        assert!(text.starts_with("\u{feff}# no newline at the end\nconsole_telemetry_url="), "{text:?}");
        let conf = Conf::parse(Path::new("/c"), text.as_bytes());
        assert_eq!(conf.get("console_telemetry_url"), Some("https://c.example/?a=b"));
        assert_eq!(
            (conf.get("console_telemetry_token"), conf.get("console_tenant_id")),
            (Some("a=="), Some("x:y"))
        );
        assert!(
            KEYS.iter()
                .all(|key| Conf::parse(Path::new("/c"), format!("{key}=1").as_bytes()).get(key).is_some())
        );
    }
}
