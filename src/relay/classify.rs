//! What an HTTP answer means for the record that was sent (DESIGN §9; the Console's answers: Console ingest §2).
//!
//! A pure function from status, `Retry-After` and the first bytes of the body to a [`Verdict`]. Nothing but a 2xx that
//! says so is a delivery: a captive portal's 200 is an unrecognised answer. A redirect is never followed; it is
//! retried, because it is a state of the way to the Console (a portal, a moved proxy), not a fault of the record.

use serde_json::{Map, Value};
use std::time::UNIX_EPOCH;

/// The longest `Retry-After` that is honoured; what asks for more gets this.
pub const MAX_RETRY_AFTER_MS: i64 = 60 * 60 * 1000;

/// The longest quotation of what a sink said, in characters.
pub const MAX_SAID: usize = 300;

/// One HTTP answer, as far as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The status code.
    pub status: u16,
    /// The `Retry-After` header, if there was one.
    pub retry_after: Option<&'a str>,
    /// The body, or its first bytes where it was longer than the transport reads.
    pub body: &'a [u8],
    /// Whether that is all of it.
    pub whole: bool,
}

/// What is to happen to the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The Console has it.
    Delivered,
    /// The Console has it, but says it had it before our first attempt: somebody else used the identity.
    DeliveredBefore,
    /// Send it again later.
    Retry(Blame),
    /// The credential is refused: send nothing with it until it changes, but for a rare probe.
    Wait,
    /// It will never be accepted.
    Reject,
}

/// Who a failed attempt speaks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The origin as a whole: overload, no answer, or a deadline that it set.
    Origin,
    /// The origin or this one record: only other records can tell.
    Unknown,
}

/// The class of an answer and why, for people. The reason never holds a header or more of a body than a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What is to happen.
    pub class: Class,
    /// A short phrase.
    pub reason: String,
    /// How long the origin asked to be left alone, in milliseconds, at most [`MAX_RETRY_AFTER_MS`].
    pub retry_after_ms: Option<i64>,
}

impl Verdict {
    fn new(class: Class, reason: impl Into<String>) -> Self {
        Self { class, reason: reason.into(), retry_after_ms: None }
    }

    /// The verdict where no answer came, for the given reason.
    #[must_use]
    pub fn no_answer(reason: impl Into<String>) -> Self {
        Self::new(Class::Retry(Blame::Origin), reason)
    }
}

/// Classifies `answer` to attempt number `attempt` (the first is 1); `now_ms` is what an HTTP-date is compared with.
#[must_use]
pub fn classify(answer: &Answer<'_>, attempt: u32, now_ms: i64) -> Verdict {
    let status = answer.status;
    match status {
        200..=299 => success(answer, attempt),
        300..=399 => retry(answer, now_ms, "redirect, not followed"),
        401 => Verdict::new(Class::Wait, refusal(answer, "the token is refused")),
        403 if names_token(answer.body) => Verdict::new(Class::Wait, refusal(answer, "the token is refused")),
        408 | 425 | 429 | 500..=599 => retry(answer, now_ms, "the Console cannot take it now"),
        400..=499 => Verdict::new(Class::Reject, refusal(answer, "refused")),
        _ => retry(answer, now_ms, "unrecognised answer"),
    }
}

fn success(answer: &Answer<'_>, attempt: u32) -> Verdict {
    // The beginning of an answer can look like an acceptance, or like nothing at all.
    if !answer.whole {
        return unrecognised(answer.status);
    }
    let delivered = || Verdict::new(Class::Delivered, format!("HTTP {}", answer.status));
    if answer.status == 204 || answer.body.trim_ascii().is_empty() {
        return delivered();
    }
    let Some(object) = json_object(answer.body) else {
        return unrecognised(answer.status);
    };
    match object.get("status").and_then(Value::as_str) {
        Some("record_id_collision_ignored") => {
            let reason = format!("HTTP {}: its id is taken by a record of another kind", answer.status);
            return Verdict::new(Class::Reject, reason);
        }
        Some("duplicate_ignored") if attempt <= 1 && says_accepted(&object) => {
            return Verdict::new(Class::DeliveredBefore, "its id was known before the first attempt");
        }
        _ => {}
    }
    if says_accepted(&object) { delivered() } else { unrecognised(answer.status) }
}

/// No `error`, and an `outcome`, if any, of `accepted`.
fn says_accepted(object: &Map<String, Value>) -> bool {
    let error = object.get("error").is_some_and(|error| !error.is_null());
    let outcome = object.get("outcome").is_none_or(|outcome| outcome.is_null() || outcome == "accepted");
    !error && outcome
}

fn unrecognised(status: u16) -> Verdict {
    Verdict::new(Class::Retry(Blame::Unknown), format!("HTTP {status}: unrecognised answer"))
}

fn retry(answer: &Answer<'_>, now_ms: i64, what: &str) -> Verdict {
    let retry_after_ms = answer.retry_after.and_then(|text| parse_retry_after(text, now_ms));
    let blame = if answer.status == 429 || retry_after_ms.is_some() { Blame::Origin } else { Blame::Unknown };
    let reason = match error_code(answer.body) {
        Some(code) => format!("HTTP {} {code}: {what}", answer.status),
        None => format!("HTTP {}: {what}", answer.status),
    };
    Verdict { class: Class::Retry(blame), reason, retry_after_ms }
}

fn refusal(answer: &Answer<'_>, what: &str) -> String {
    match error_code(answer.body) {
        Some(code) => format!("HTTP {} {code}: {what}", answer.status),
        None => format!("HTTP {}: {what}", answer.status),
    }
}

/// What the sink says of a record that it refuses (Console ingest §2: `safeMessage`, then each `validation` issue with its
/// path), printable and at most [`MAX_SAID`] characters; `None` where it says nothing, or repeats `secret`.
#[must_use]
pub fn said(body: &[u8], secret: Option<&str>) -> Option<String> {
    let object = json_object(body)?;
    let text = |object: &Map<String, Value>, key: &str| Some(object.get(key)?.as_str()?.to_owned());
    let issues = object.get("validation").and_then(Value::as_array).into_iter().flatten();
    let issues = issues.filter_map(Value::as_object).filter_map(|issue| {
        let parts = [text(issue, "path"), text(issue, "message")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(": "))
    });
    let message = text(&object, "safeMessage").or_else(|| text(&object, "message"));
    let said: Vec<String> = message.into_iter().chain(issues).collect();
    let said = said.join("; ");
    if said.trim().is_empty() || secret.is_some_and(|secret| !secret.is_empty() && said.contains(secret)) {
        return None;
    }
    let printable = |c: char| if is_printable(c) { c } else { '\u{fffd}' };
    let mut bounded: String = said.chars().take(MAX_SAID).map(printable).collect();
    if said.chars().nth(MAX_SAID).is_some() {
        bounded.push('…');
    }
    Some(bounded)
}

/// Neither a control character nor one that turns the direction of the text around it.
#[must_use]
pub fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a 403 is about the token (another token would be let in) and not about the record or the caller's page.
fn names_token(body: &[u8]) -> bool {
    let Some(object) = json_object(body) else { return false };
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("error") {
        "TENANT_FORBIDDEN" => true,
        "TENANT_MISMATCH" | "ORIGIN_NOT_ALLOWED" => false,
        code => [code, text("safeMessage"), text("message")]
            .iter()
            .any(|said| said.to_ascii_lowercase().contains("token")),
    }
}

/// The answer's `error`, if it is a plain code: anything else might repeat what we sent.
fn error_code(body: &[u8]) -> Option<String> {
    let code = json_object(body)?.get("error")?.as_str()?.to_owned();
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (!code.is_empty() && code.len() <= 64 && code.bytes().all(plain)).then_some(code)
}

fn json_object(body: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(body).ok()
}

/// Seconds or an HTTP-date, in milliseconds from now. What lies in the past or is neither gives `None`, and the
/// ordinary back-off applies (reliability §4, case 23).
fn parse_retry_after(text: &str, now_ms: i64) -> Option<i64> {
    let text = text.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number holds is only ever a very long time.
        text.parse::<i64>().unwrap_or(i64::MAX).saturating_mul(1000)
    } else {
        let date = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(date.as_millis()).ok()?.saturating_sub(now_ms)
    };
    (wait > 0).then_some(wait.min(MAX_RETRY_AFTER_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPTED: &[u8] = br#"{"outcome":"accepted","status":"persisted","recordKind":"economics"}"#;
    const HTML: &[u8] = b"<html>sign in to the airport</html>";

    fn class(status: u16, body: &[u8]) -> Class {
        classify(&Answer { status, retry_after: None, body, whole: true }, 2, 0).class
    }

    /// DESIGN §9, read as ranges, for a body that says nothing.
    fn expected(status: u16) -> Class {
        match status {
            401 => Class::Wait,
            429 => Class::Retry(Blame::Origin),
            408 | 425 => Class::Retry(Blame::Unknown),
            400..=499 => Class::Reject,
            204 => Class::Delivered,
            _ => Class::Retry(Blame::Unknown),
        }
    }

    #[test]
    fn every_status_with_a_foreign_body_and_with_none() {
        for status in 100..=599 {
            assert_eq!(class(status, HTML), expected(status), "{status} with HTML");
            let empty = if (200..300).contains(&status) { Class::Delivered } else { expected(status) };
            assert_eq!(class(status, b""), empty, "{status} with no body");
        }
    }

    #[test]
    fn a_success_is_what_the_console_says_it_is() {
        let retry = Class::Retry(Blame::Unknown);
        let table: [(&[u8], Class); 12] = [
            (ACCEPTED, Class::Delivered),
            (b"{}", Class::Delivered),
            (b" \n", Class::Delivered),
            (br#"{"status":"stale_liveness_ignored","outcome":"accepted"}"#, Class::Delivered),
            (br#"{"status":"duplicate_ignored","outcome":"accepted"}"#, Class::Delivered),
            (br#"{"status":"record_id_collision_ignored","outcome":"accepted"}"#, Class::Reject),
            (br#"{"outcome":"queued"}"#, retry),
            (br#"{"error":"OOPS","outcome":"accepted"}"#, retry),
            (br#"{"error":{"code":1}}"#, retry),
            (b"[]", retry),
            (b"ok", retry),
            (b"{\"outcome\":\"accep", retry),
        ];
        for (body, expected) in table {
            assert_eq!(class(202, body), expected, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_duplicate_on_the_first_attempt_is_a_finding() {
        let body = br#"{"outcome":"accepted","status":"duplicate_ignored"}"#;
        let answer = Answer { status: 202, retry_after: None, body, whole: true };
        assert_eq!(classify(&answer, 1, 0).class, Class::DeliveredBefore);
        assert_eq!(classify(&answer, 2, 0).class, Class::Delivered);
    }

    #[test]
    fn a_403_waits_only_where_it_names_the_token() {
        let forbidden =
            br#"{"error":"TENANT_FORBIDDEN","safeMessage":"tenant is not allowed for this token"}"#;
        let mismatch = br#"{"error":"TENANT_MISMATCH","safeMessage":"record tenant does not match"}"#;
        let origin = br#"{"error":"ORIGIN_NOT_ALLOWED","safeMessage":"token or not"}"#;
        assert_eq!(class(403, forbidden), Class::Wait);
        assert_eq!(class(403, br#"{"message":"Bad Token"}"#), Class::Wait);
        assert_eq!(class(403, mismatch), Class::Reject);
        assert_eq!(class(403, origin), Class::Reject);
        assert_eq!(class(403, b"<html>token</html>"), Class::Reject);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_clamped() {
        // 1994-11-06T08:49:37Z, the date that RFC 9110 uses as its example.
        let now = 784_111_777_000;
        let table = [
            ("120", Some(120_000)),
            (" 1 ", Some(1000)),
            ("0", None),
            ("-1", None),
            ("soon", None),
            ("", None),
            ("1e9", None),
            ("1000000000", Some(MAX_RETRY_AFTER_MS)),
            ("99999999999999999999999", Some(MAX_RETRY_AFTER_MS)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("Sun, 06 Nov 1994 08:49:27 GMT", None),
            ("Mon, 06 Nov 1995 08:49:37 GMT", Some(MAX_RETRY_AFTER_MS)),
        ];
        for (header, expected) in table {
            let answer = Answer { status: 503, retry_after: Some(header), body: b"", whole: true };
            let verdict = classify(&answer, 1, now);
            assert_eq!(verdict.retry_after_ms, expected, "{header}");
            let blame = if expected.is_some() { Blame::Origin } else { Blame::Unknown };
            assert_eq!(verdict.class, Class::Retry(blame), "{header}");
        }
    }

    #[test]
    fn a_quotation_is_printable_bounded_and_never_holds_the_token() {
        let of = |body: &str| said(body.as_bytes(), Some("tok-123"));
        let validation = r#"{"error":"INVALID_RECORD","safeMessage":"economics record validation failed","validation":[
            {"severity":"error","path":"economics.defects","message":"must be there"},7,{"message":"and more"},{}]}"#;
        let quoted = "economics record validation failed; economics.defects: must be there; and more";
        assert_eq!(of(validation).as_deref(), Some(quoted));
        let hostile = of("{\"message\":\"a\\u001b[2Jb\\n\\u202ec\"}");
        assert_eq!(hostile.as_deref(), Some("a\u{fffd}[2Jb\u{fffd}\u{fffd}c"));
        let long = of(&format!("{{\"safeMessage\":\"{}\"}}", "é".repeat(5000))).unwrap();
        assert_eq!((long.chars().count(), long.ends_with("é…")), (MAX_SAID + 1, true));
        for nothing in ["", "<html>", "[]", "{}", r#"{"message":7}"#, r#"{"message":" "}"#] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
        assert_eq!(of(r#"{"safeMessage":"no such token: tok-123"}"#), None);
    }

    #[test]
    fn reasons_repeat_a_plain_code_and_nothing_else_of_the_body() {
        let reason = |body: &[u8]| {
            classify(&Answer { status: 400, retry_after: None, body, whole: true }, 1, 0).reason
        };
        assert_eq!(reason(br#"{"error":"INVALID_RECORD"}"#), "HTTP 400 INVALID_RECORD: refused");
        assert_eq!(reason(br#"{"error":"Bearer tok-123"}"#), "HTTP 400: refused");
    }
}
