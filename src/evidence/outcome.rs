//! What a call came to, by what its host says in fields (contract I.2, A.9).
//!
//! The exit code is the first whole number, or text of one, in `tool_response`, then `tool_output`, under the names in
//! `CODES`, then at the top. With a code: 0 is a pass unless the host says that it failed; 1 from a bare `grep` or
//! `diff` is ambiguous; any other is a failure. Without one, a sign of failure makes a failure, and its absence nothing.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Payload, classify, command_text, first_text, results, shell};
use crate::sys::hex::hex;

const CODES: [&str; 7] = ["exitCode", "exit_code", "exitcode", "status", "code", "returnCode", "return_code"];
const TOP_CODES: [&str; 4] = ["exitCode", "exit_code", "status", "code"];

/// The result of a call. The order is that of weight: a failure outweighs a pass, a pass outweighs no signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing can be told; never to be counted as a pass or as a failure.
    Ambiguous,
    /// It succeeded, and the host said so.
    Pass,
    /// It failed.
    Fail,
}

impl Outcome {
    /// As it is written in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ambiguous => "ambiguous",
            Self::Pass => "pass",
            Self::Fail => "fail",
        }
    }
}

/// What was observed of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// What it came to.
    pub result: Outcome,
    /// Its exit code, if the host told one that is a number of 64 bits.
    pub exit_code: Option<i64>,
}

/// What the payload of a finished call says of it.
#[must_use]
pub fn observe(payload: &Payload) -> Observed {
    observe_or(payload, &|| None)
}

/// As [`observe`]; where the payload has no exit code, `elsewhere` is asked for it.
#[must_use]
pub fn observe_or(payload: &Payload, elsewhere: &dyn Fn() -> Option<i64>) -> Observed {
    let code = code(payload).or_else(|| elsewhere().map(Some));
    let result = match code {
        Some(Some(0)) if says_failed(payload) => Outcome::Fail,
        Some(Some(0)) => Outcome::Pass,
        Some(Some(code)) => of_code(code, command_text(payload).unwrap_or_default()),
        Some(None) => Outcome::Fail,
        None if says_failed(payload) || has_only_stderr(payload) => Outcome::Fail,
        None => Outcome::Ambiguous,
    };
    Observed { result, exit_code: code.flatten() }
}

/// What an exit code other than 0 says of `command`.
pub(super) fn of_code(code: i64, command: &str) -> Outcome {
    if code == 1 && shell::is_bare_search(command) { Outcome::Ambiguous } else { Outcome::Fail }
}

fn code(payload: &Payload) -> Option<Option<i64>> {
    let tool = payload.get("tool_name").and_then(Value::as_str).unwrap_or_default();
    // What answers a fetch has a status and a code too: HTTP's.
    let is_web = classify::action(tool, None) == Some("web");
    let may_be = |key: &&&str| !is_web || !matches!(**key, "status" | "code");
    let of = |object: &'_ Payload, keys: &[&str]| {
        keys.iter().filter(may_be).filter_map(|key| object.get(*key)).find_map(whole)
    };
    results(payload).find_map(|result| of(result, &CODES)).or_else(|| of(payload, &TOP_CODES))
}

/// A whole number, or a text of one; `Some(None)` if it has more than 64 bits.
pub(super) fn whole(value: &Value) -> Option<Option<i64>> {
    /// 2^63; an exit code of that size is none, but not 0 either.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (None, Some(real)) if real.fract() == 0.0 => Some((real.abs() < BEYOND).then_some(real as i64)),
            (None, _) => None,
            (code, _) => Some(code),
        },
        Value::String(text) => {
            let text = shell::trim(text);
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_whole.then(|| text.parse().ok())
        }
        _ => None,
    }
}

/// Whether the host says that the call failed, by a flag, an error or the name of the event.
fn says_failed(payload: &Payload) -> bool {
    let event = payload.get("hook_event_name").and_then(Value::as_str);
    event.is_some_and(|event| event.eq_ignore_ascii_case("PostToolUseFailure"))
        || is_error(payload.get("error"))
        || results(payload).any(|result| {
            let is = |key: &str| result.get(key).and_then(flag) == Some(true);
            result.get("success").and_then(flag) == Some(false)
                || ["failed", "is_error", "isError", "interrupted"].into_iter().any(is)
                || is_error(result.get("error"))
        })
}

/// A flag, also as a text: a host that writes `"true"` means it.
fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn is_error(error: Option<&Value>) -> bool {
    match error {
        Some(Value::String(text)) => !shell::trim(text).is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        _ => false,
    }
}

/// Many a good command writes to stderr; one that wrote nothing else most likely failed.
fn has_only_stderr(payload: &Payload) -> bool {
    let says = |result: &Payload, key: &str| {
        result.get(key).and_then(Value::as_str).is_some_and(|text| !shell::trim(text).is_empty())
    };
    results(payload).any(|result| says(result, "stderr") && !says(result, "stdout"))
}

/// How the call ended: `canceled`, `blocked`, `completed`, `failed` or `unknown`.
#[must_use]
pub fn status(payload: &Payload, result: Outcome) -> &'static str {
    let response = payload.get("tool_response").and_then(Value::as_object);
    let ended = |words: [&str; 2]| {
        let flagged =
            |object: &Payload| words.iter().any(|word| object.get(*word) == Some(&Value::Bool(true)));
        let told = response.and_then(|response| response.get("status")?.as_str());
        flagged(payload) || response.is_some_and(flagged) || told.is_some_and(|told| words.contains(&told))
    };
    if ended(["canceled", "cancelled"]) {
        return "canceled";
    }
    if ended(["blocked", "denied"]) {
        return "blocked";
    }
    match result {
        Outcome::Pass => "completed",
        Outcome::Fail => "failed",
        Outcome::Ambiguous => "unknown",
    }
}

/// The key that a call's start and end have in common, fit for a file's name: its id where the host tells one, else a
/// hash of the tool's name and input. A long id is told by its hash.
#[must_use]
pub fn duration_key(payload: &Payload) -> String {
    const LONGEST: usize = 128;
    let hashed = |text: &str| hex(&Sha256::digest(text.as_bytes()));
    let Some(id) = first_text(payload, &["tool_use_id", "tool_call_id", "call_id", "id"]) else {
        let name = payload.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        let input = payload.get("tool_input").map(Value::to_string).unwrap_or_default();
        return format!("sha_{}", hashed(&format!("{name}{input}")));
    };
    if id.len() > LONGEST {
        return format!("id_{}", hashed(id));
    }
    let fit = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("id_{}", id.chars().map(fit).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_status_of_a_fetch_is_no_exit_code() {
        let answer = json!({"bytes": 3, "code": 200, "codeText": "OK", "result": "x"});
        assert_eq!(seen(&json!({"tool_name": "WebFetch", "tool_response": answer})), ("ambiguous", None));
        assert_eq!(seen(&json!({"tool_name": "Bash", "tool_response": {"code": 2}})), ("fail", Some(2)));
        let failed = json!({"tool_name": "WebFetch", "tool_response": {"code": 404}, "error": "not found"});
        assert_eq!(seen(&failed), ("fail", None));
    }

    const GOLDEN: &str = include_str!("../../tests/fixtures/flow-agents/golden/observe-result.jsonl");
    const VECTORS: &str = include_str!("../../tests/fixtures/policy/evidence-capture.jsonl");

    fn seen(payload: &Value) -> (&'static str, Option<i64>) {
        let observed = observe(payload.as_object().unwrap());
        (observed.result.as_str(), observed.exit_code)
    }

    #[test]
    fn golden_results() {
        // Their answer is a pass, or nothing, against a sign of failure; docs/differences/evidence.md.
        let ours = [
            json!({"error": "", "tool_response": {"stderr": "warn"}}),
            json!({"tool_response": {"exitCode": 0, "success": false}}),
            json!({"tool_response": {"exitCode": 0}, "error": "e"}),
        ];
        let mut differences = 0;
        for line in GOLDEN.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let mut payload = row["input"].clone();
            if let Some(command) = payload.get("command").cloned() {
                payload["tool_input"] = json!({ "command": command });
            }
            let theirs = (row["6.x"]["observedResult"].as_str().unwrap(), row["6.x"]["exitCode"].as_i64());
            let expected = if ours.contains(&payload) { ("fail", theirs.1) } else { theirs };
            differences += usize::from(expected != theirs);
            assert_eq!(seen(&payload), expected, "{line}");
        }
        assert_eq!((GOLDEN.lines().count(), differences), (56, 3));
    }

    /// The decisions that are wanted of the capture policy, `<result>/<code>` or `<result>`.
    #[test]
    fn wanted_results() {
        let mut count = 0;
        for line in VECTORS.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let wanted = row["want"].as_str().unwrap();
            if matches!(wanted, "rec" | "none") {
                continue;
            }
            let (result, code) = seen(&row["payload"]);
            let code = code.map_or("null".to_owned(), |code| code.to_string());
            assert!(wanted == result || wanted == format!("{result}/{code}"), "{line}: {result}/{code}");
            count += 1;
        }
        assert_eq!(count, 59);
    }

    #[test]
    fn a_pass_needs_code_zero_and_no_sign_of_failure() {
        let zero = json!({"tool_response": {"exitCode": 0, "stderr": "warning: x", "stdout": ""}});
        assert_eq!(seen(&zero), ("pass", Some(0)));
        for sign in ["failed", "is_error", "isError", "interrupted"] {
            let payload = json!({"tool_response": {"exitCode": 0, sign: true}});
            assert_eq!(seen(&payload), ("fail", Some(0)), "{sign}");
        }
        for (sign, value, told) in [
            ("is_error", json!("true"), "fail"),
            ("is_error", json!("false"), "pass"),
            ("success", json!("False"), "fail"),
            ("success", json!("true"), "pass"),
            ("is_error", json!(null), "pass"),
        ] {
            let payload = json!({"tool_response": {"exitCode": 0, sign: value}});
            assert_eq!(seen(&payload), (told, Some(0)), "{sign} {value}");
        }
        let event = json!({"hook_event_name": "PostToolUseFailure", "tool_response": {"exitCode": 0}});
        assert_eq!(seen(&event), ("fail", Some(0)));
    }

    #[test]
    fn a_code_beyond_all_bounds_is_a_failure_and_not_looked_for_elsewhere() {
        for code in [json!(1e21), json!(u64::MAX), json!("-99999999999999999999")] {
            let payload = json!({"tool_response": {"exitCode": code, "status": 0}});
            let observed = observe_or(payload.as_object().unwrap(), &|| Some(0));
            assert_eq!(observed, Observed { result: Outcome::Fail, exit_code: None });
        }
        assert_eq!(seen(&json!({"exitCode": 0.0})), ("pass", Some(0)));
        assert_eq!(seen(&json!({"exitCode": "-0"})), ("pass", Some(0)));
    }

    #[test]
    fn a_cancelled_call_is_no_failure_and_a_denied_one_is_blocked() {
        let status_of = |payload: Value| {
            let payload = payload.as_object().unwrap();
            status(payload, observe(payload).result)
        };
        assert_eq!(status_of(json!({"cancelled": true, "denied": true})), "canceled");
        assert_eq!(status_of(json!({"tool_response": {"status": "canceled", "exitCode": 0}})), "canceled");
        assert_eq!(status_of(json!({"tool_response": {"blocked": true, "error": "x"}})), "blocked");
        assert_eq!(status_of(json!({"tool_response": {"status": "denied"}})), "blocked");
        assert_eq!(status_of(json!({"tool_response": {"exitCode": 0}})), "completed");
        assert_eq!(status_of(json!({"tool_response": {"exitCode": 3}})), "failed");
        assert_eq!(status_of(json!({"tool_response": "text"})), "unknown");
    }

    #[test]
    fn the_start_and_the_end_of_a_call_have_one_key() {
        let key = |payload: Value| duration_key(payload.as_object().unwrap());
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
        let mut ended = call.clone();
        ended["tool_response"] = json!({"exitCode": 0});
        assert_eq!(key(call.clone()), key(ended));
        assert_ne!(key(call), key(json!({"tool_name": "Bash", "tool_input": {"command": "ps"}})));
        assert_eq!(key(json!({"tool_use_id": "toolu/../01", "id": "x"})), "id_toolu_.._01");
        assert!(key(json!({"id": "x".repeat(5000)})).len() < 100);
    }
}
