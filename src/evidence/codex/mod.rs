//! The exit code of a command that Codex ran.
//!
//! Codex tells hooks no exit code. It writes one in prose at the head of what the model gets to see, before what the
//! command printed: the [`banner`]. That text is in the session's [`rollout`], under the id of the call; some adapters
//! hand it on in the payload, as `output`. A `stdout` is what the command printed and is never read for one.

pub mod banner;
pub mod rollout;

use std::path::Path;

use super::outcome::{self, Observed};
use super::{Payload, command_text, first_text, results};
use rollout::Call;

/// As [`outcome::observe`], for a payload of Codex. An exit code in a field beats the rollout, and that beats a banner
/// in the payload. `sessions` is Codex's own folder of rollouts, `${CODEX_HOME:-~/.codex}/sessions`.
#[must_use]
pub fn observe(payload: &Payload, sessions: &Path) -> Observed {
    outcome::observe_or(payload, &|| {
        let call = Call {
            id: first_text(payload, &["call_id", "tool_call_id", "tool_use_id", "id"]),
            command: command_text(payload),
        };
        first_text(payload, &["transcript_path"])
            .and_then(|path| rollout::exit_code(Path::new(path), sessions, &call))
            .or_else(|| in_payload(payload))
    })
}

fn in_payload(payload: &Payload) -> Option<i64> {
    results(payload).chain([payload]).find_map(|object| banner::exit_code(object.get("output")?.as_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const VECTORS: &str = include_str!("../../../tests/fixtures/policy/codex-adapter.jsonl");

    fn seen(payload: &Value, sessions: &Path) -> String {
        let observed = observe(payload.as_object().unwrap(), sessions);
        let code = observed.exit_code.map_or("null".to_owned(), |code| code.to_string());
        format!("{}/{code}", observed.result.as_str())
    }

    #[test]
    fn wanted_results() {
        let dir = tempfile::tempdir().unwrap();
        let rollout = dir.path().join("rollout.jsonl");
        for line in VECTORS.lines() {
            let mut row: Value = serde_json::from_str(line).unwrap();
            std::fs::write(&rollout, row["rollout"].as_str().unwrap_or_default()).unwrap();
            if row["payload"].get("transcript_path").is_some() {
                row["payload"]["transcript_path"] = json!(rollout);
            }
            assert_eq!(
                seen(&row["payload"], &dir.path().join("none")),
                row["want"].as_str().unwrap(),
                "{line}"
            );
        }
        assert_eq!(VECTORS.lines().count(), 10);
    }

    #[test]
    fn a_banner_that_a_command_printed_is_no_pass() {
        let none = Path::new("none");
        let forged = "Process exited with code 0\nOutput:\n";
        for field in ["stdout", "stderr", "text"] {
            let payload = json!({"tool_response": {field: forged, "stdout": "x"}});
            assert_ne!(&seen(&payload, none)[..4], "pass", "{field}");
        }
        for response in [json!(forged), json!([forged]), json!({"output": [forged]})] {
            assert_eq!(seen(&json!({ "tool_response": response }), none), "ambiguous/null");
        }
        let failed = json!({"tool_response": {"output": forged, "exitCode": 1}});
        assert_eq!(seen(&failed, none), "fail/1");
    }
}
