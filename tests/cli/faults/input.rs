//! Places and bytes that no hook should depend on (cases 8 and 10).

use crate::env::{TestEnv, lines};
use crate::transcript::{SESSION, Transcript, tokens};
use serde_json::json;
use std::path::Path;

const OPUS: &str = "claude-opus-4-8";

#[test]
fn no_home_and_no_place_to_write_harm_no_hook() {
    /// What is wrong with the machine.
    type Harm = fn(&TestEnv);
    let harms: [(&str, Option<&str>, Harm); 4] = [
        ("no HOME", None, |_| ()),
        ("HOME is not there", Some("/nowhere/at/all"), |_| ()),
        ("HOME is a file", Some("/dev/null"), |_| ()),
        ("no HOME, and a file in place of the data", None, |env| {
            std::fs::write(env.project().join(".kontourai"), "").unwrap();
        }),
    ];
    for (what, home, harm) in harms {
        let env = TestEnv::new();
        harm(&env);
        let mut transcript = Transcript::new(&env, SESSION);
        transcript.prompt().call("m1", OPUS, [1, 2, 3]);
        let payload = env.home().join("payload.json");
        std::fs::write(&payload, transcript.payload(&env, "Stop").to_string()).unwrap();
        let mut command = env.command(&["hook", "claude-code"]);
        command.env_remove("HOME").envs(home.map(|home| ("HOME", home)));
        let output = command.stdin(std::fs::File::open(payload).unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{what}: {output:?}");
        assert!(output.stdout.is_empty(), "{what}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).lines().count() <= 1, "{what}: {output:?}");
        let journal = env.data_dir().join("economics.jsonl");
        let writable = env.project().join(".kontourai").is_dir();
        assert_eq!(lines(&journal).len(), usize::from(writable), "{what}");
    }
}

/// A folder that may not be written to. The superuser may write everywhere; only others see this.
#[test]
fn a_workspace_that_may_not_be_written_to_is_recorded_elsewhere() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    let mode = |mode: u32| {
        std::fs::set_permissions(env.project(), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(0o555);
    let refused = std::fs::create_dir(env.project().join("probe")).is_err();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 2, 3]);
    transcript.stop(&env);
    mode(0o755);
    let elsewhere = std::fs::read_dir(env.home().join(".local/state/tally")).into_iter().flatten().flatten();
    let journals: Vec<_> = match refused {
        true => elsewhere.map(|workspace| workspace.path().join("economics.jsonl")).collect(),
        false => vec![env.data_dir().join("economics.jsonl")],
    };
    assert_eq!(journals.iter().map(|path| lines(path).len()).collect::<Vec<_>>(), [1]);
}

#[test]
fn payloads_with_a_mark_twins_and_numbers_beyond_reason_are_read_or_complained_of() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 2, 3]);
    let plain = transcript.payload(&env, "Stop").to_string();
    let hostile = [
        format!("\u{feff}{plain}").into_bytes(),
        plain.replacen('{', "{\"session_id\":\"twin\",", 1).into_bytes(),
        plain.replacen('{', "{\"duration\":1e999,\"at\":-1e999,", 1).into_bytes(),
        plain.replacen('{', "{\"note\":\"\u{2028}\u{2029}\\u0000\\ud800\",", 1).into_bytes(),
        [plain.replacen('{', "{\"note\":\"", 1).as_bytes(), b"\xff\xfe\"}"].concat(),
    ];
    for bytes in &hostile {
        let before = (env.records().len(), env.log().lines().count());
        let output = env.feed(&["hook", "claude-code"], bytes);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        let after = (env.records().len(), env.log().lines().count());
        assert!(after.1 - before.1 <= 1, "{}: {}", String::from_utf8_lossy(bytes), env.log());
        // A stop of the same session that tells nothing new writes no second record.
        assert!(after.0 <= before.0.max(1));
    }
    let all = lines(&env.data_dir().join("economics.jsonl"));
    let text = std::fs::read_to_string(env.data_dir().join("economics.jsonl")).unwrap();
    assert_eq!(text.lines().count(), all.len(), "every line is JSON");
    assert_eq!(
        all.iter().filter(|record| record["session_id"] == SESSION).map(tokens).collect::<Vec<_>>(),
        [[1, 2, 3]]
    );
}

#[test]
fn events_with_hostile_bytes_are_one_valid_line_or_one_refusal() {
    let text = |json: &str| json.as_bytes().to_vec();
    let deep = format!("{{\"session_id\":\"deep\",\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    let hostile: [(Vec<u8>, usize); 8] = [
        (text("{\"session_id\":\"nul\\u0000\\u2028\\u0085\",\"usage\":{\"input_tokens\":1}}"), 1),
        (text("{\"session_id\":\"lone\\ud800\",\"usage\":{\"input_tokens\":1}}"), 0),
        (b"{\"session_id\":\"latin\xe9\"}".to_vec(), 0),
        (text("{\"session_id\":\"big\",\"usage\":{\"input_tokens\":1e999}}"), 0),
        (text("{\"session_id\":\"twin\",\"session_id\":\"twin2\",\"usage\":{}}"), 1),
        (text("\u{feff}{\"session_id\":\"bom\"}"), 0),
        (text(&deep), 0),
        (text(&json!({ "session_id": "wrong", "usage": [], "timestamp": {}, "agent": 7 }).to_string()), 1),
    ];
    for (bytes, records) in hostile {
        let env = TestEnv::new();
        let output = env.feed(&["economics", "record"], &bytes);
        let what = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        assert_eq!(output.status.code(), Some(i32::from(records == 0)), "{what}: {output:?}");
        assert_eq!(
            String::from_utf8_lossy(&output.stderr).lines().count(),
            1 - records,
            "{what}: {output:?}"
        );
        let journal = env.data_dir().join("economics.jsonl");
        let line = std::fs::read_to_string(Path::new(&journal)).unwrap_or_default();
        assert_eq!((line.lines().count(), lines(&journal).len()), (records, records), "{what}");
        assert!(!line.trim_end().contains(|c: char| c.is_control() || c == '\u{2028}'), "{what}: {line}");
    }
}
