//! The lines of the stream (contract D.2): what Tally writes, and what it reads of what anybody wrote.

use super::stamp::Stamp;
use crate::journal::foreign::text;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

/// How far a stamp may be ahead of a clock that judges it, in milliseconds.
pub const MAX_LEAD_MS: i64 = 5 * 60 * 1000;

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// I work on this.
    Claim,
    /// I still do.
    Heartbeat,
    /// I no longer do.
    Release,
}

impl Kind {
    /// The word in the stream.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Heartbeat => "heartbeat",
            Self::Release => "release",
        }
    }

    fn of(word: &str) -> Option<Self> {
        [Self::Claim, Self::Heartbeat, Self::Release].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// One line that Tally writes (schemas/liveness-event.schema.json).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// What it says.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// What is worked on, verbatim.
    #[serde(rename = "subjectId")]
    pub subject: String,
    /// Who says it.
    pub actor: String,
    /// When, as an RFC 3339 time in UTC.
    pub at: String,
    /// Seconds that a claim stays fresh; of claims only.
    #[serde(rename = "ttlSeconds", skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<u64>,
    /// What made it: `lifecycle` or `tool-activity`; a command's events have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// The tool whose use was the sign of life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<Activity>,
    /// The machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The branch that is checked out where the actor works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The actor as other stores name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor_key: Option<String>,
    /// The folder of the task's sidecars, from the workspace's root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_dir: Option<String>,
}

/// What an actor was doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// The tool's name.
    pub tool: String,
}

/// What is read of a line, whoever wrote it. A field of the wrong type counts as missing.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen<'a> {
    /// What it says; `None` for a type that a newer writer may know: it is a sign of life.
    pub kind: Option<Kind>,
    /// What is worked on.
    pub subject: Cow<'a, str>,
    /// Who says it.
    pub actor: Cow<'a, str>,
    /// The stamp; `None` where it is no time.
    pub at: Option<Stamp>,
    /// Seconds, where they are a number above 0.
    pub ttl_s: Option<u64>,
    /// The machine.
    pub host: Option<Cow<'a, str>>,
    /// The branch.
    pub branch: Option<Cow<'a, str>>,
}

impl<'a> Seen<'a> {
    /// Reads a line; `None` when it is no event: no JSON object, or without subject, actor or time.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        Beat::read(line).and_then(|beat| beat.seen()).or_else(|| Self::any(line))
    }

    fn any(line: &'a [u8]) -> Option<Self> {
        let raw: Raw<'a> = serde_json::from_slice(line).ok()?;
        let filled = |text: Option<Cow<'a, str>>| text.filter(|text| !text.is_empty());
        Some(Self {
            kind: raw.kind.as_deref().and_then(Kind::of),
            subject: filled(raw.subject)?,
            actor: filled(raw.actor)?,
            at: Stamp::lenient(&filled(raw.at)?),
            ttl_s: raw.ttl_s,
            host: filled(raw.host),
            branch: filled(raw.branch),
        })
    }
}

/// A heartbeat as Tally and flow-agents write it, without escapes: nearly all of a long stream. Its other fields say
/// nothing about standing, so they are not looked at.
#[derive(Debug, PartialEq, Eq)]
pub struct Beat<'a> {
    /// The bytes that name subject and actor: equal ones name the same pair, though not only equal ones do.
    pub pair: &'a [u8],
    /// The time's text.
    pub at: &'a [u8],
    subject: &'a [u8],
    actor: &'a [u8],
}

impl<'a> Beat<'a> {
    /// Reads a line; `None` when it is anything else, or written in another way.
    #[must_use]
    pub fn read(line: &'a [u8]) -> Option<Self> {
        let named = line.strip_prefix(br#"{"type":"heartbeat","subjectId":""#)?;
        let (subject, rest) = plain_string(named)?;
        let (actor, rest) = plain_string(rest.strip_prefix(br#","actor":""#)?)?;
        let pair = named.get(..named.len() - rest.len())?;
        let (at, rest) = plain_string(rest.strip_prefix(br#","at":""#)?)?;
        let closed = rest == b"}" || (rest.starts_with(b",\"") && rest.ends_with(b"}"));
        closed.then_some(Self { pair, at, subject, actor })
    }

    fn seen(&self) -> Option<Seen<'a>> {
        let name = |bytes: &'a [u8]| std::str::from_utf8(bytes).ok().filter(|name| !name.is_empty());
        Some(Seen {
            kind: Some(Kind::Heartbeat),
            subject: name(self.subject)?.into(),
            actor: name(self.actor)?.into(),
            at: Some(Stamp::of_bytes(self.at)?),
            ttl_s: None,
            host: None,
            branch: None,
        })
    }
}

/// The bytes up to the closing quote, and what follows it; `None` where anything is escaped.
fn plain_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr2(b'"', b'\\', bytes)?;
    let (text, rest) = bytes.split_at_checked(end)?;
    Some((text, rest.strip_prefix(b"\"")?))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Raw<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "subjectId", deserialize_with = "text")]
    subject: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    actor: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    at: Option<Cow<'a, str>>,
    #[serde(rename = "ttlSeconds", deserialize_with = "positive")]
    ttl_s: Option<u64>,
    #[serde(borrow, deserialize_with = "text")]
    host: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    branch: Option<Cow<'a, str>>,
}

/// Whole seconds above 0; a fraction is rounded up, anything else is `None`.
fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= MAX_TTL_S);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded above and below")]
    Ok(seconds.map(|seconds| seconds.ceil() as u64))
}

/// A hundred years: beyond it, arithmetic in milliseconds would be at risk and nobody means it.
const MAX_TTL_S: f64 = 3_155_760_000.0;

/// Takes `text` as the time of a new event: a real UTC instant, at most [`MAX_LEAD_MS`] ahead of `now_ms`.
///
/// # Errors
/// With the accepted form.
pub fn given_time(text: &str, now_ms: i64) -> Result<Stamp, String> {
    let form = "give a real UTC time as YYYY-MM-DDTHH:MM:SSZ or YYYY-MM-DDTHH:MM:SS.mmmZ";
    let stamp = Stamp::strict(text).ok_or_else(|| format!("{text:?} is not a time; {form}"))?;
    if stamp.ms.saturating_sub(now_ms) > MAX_LEAD_MS {
        return Err(format!(
            "{text:?} is more than 5 minutes ahead of this machine's clock; {form}, not ahead"
        ));
    }
    Ok(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_sees_what_the_long_way_sees() {
        for line in [
            r#"{"type":"heartbeat","subjectId":"s","actor":"a:b:é","at":"2026-07-01T12:00:00.123Z"}"#,
            r#"{"type":"heartbeat","subjectId":"s","actor":"a","at":"2026-07-01T12:00:00Z","activity":{"tool":"B"}}"#,
        ] {
            let beat = Beat::read(line.as_bytes()).unwrap();
            assert_eq!(beat.seen(), Seen::any(line.as_bytes()), "{line}");
            let end = line.find(r#","at""#).unwrap();
            let start = r#"{"type":"heartbeat","subjectId":""#.len();
            assert_eq!(beat.pair, &line.as_bytes()[start..end]);
        }
        for line in [
            r#"{"type":"heartbeat","subjectId":"s\n","actor":"a","at":"2026-07-01T12:00:00Z"}"#,
            r#"{"type":"heartbeat","subjectId":"s","actor":"a","at":"2026-07-01T12:00:00Z""#,
            r#"{"type":"heartbeat","subjectId":"s","actor":"a","at":"2026-07-01T12:00:00Z"} {"#,
            r#"{"type":"heartbeat","subjectId":"s","actor":"a","at":"2026-07-01T14:00:00+02:00"}"#,
            r#"{"type":"heartbeat","subjectId":"s","at":"2026-07-01T12:00:00Z","actor":"a"}"#,
            r#"{"type":"claim","subjectId":"s","actor":"a","at":"2026-07-01T12:00:00Z"}"#,
        ] {
            assert_eq!(Beat::read(line.as_bytes()).and_then(|beat| beat.seen()), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_event_is_passed_over() {
        for line in [
            "",
            "{}",
            "null",
            "[]",
            "{\"type\":\"claim\"",
            r#"{"type":"claim","subjectId":"s","actor":"","at":"x"}"#,
        ] {
            assert_eq!(Seen::parse(line.as_bytes()), None, "{line}");
        }
        let odd = br#"{"type":7,"subjectId":"s","actor":"a","at":"x","ttlSeconds":"5","host":[]}"#;
        let seen = Seen::parse(odd).unwrap();
        assert_eq!((seen.kind, seen.ttl_s, seen.host), (None, None, None));
        let claim = br#"{"type":"claim","subjectId":"s","actor":"a","at":"x","ttlSeconds":0.5}"#;
        assert_eq!(Seen::parse(claim).unwrap().ttl_s, Some(1));
    }

    #[test]
    fn a_given_time_is_real_and_not_ahead() {
        let now = Stamp::strict("2026-07-01T12:00:00Z").unwrap().ms;
        assert!(given_time("2026-07-01T12:05:00Z", now).is_ok());
        assert!(given_time("1999-07-01T12:05:00Z", now).is_ok());
        for text in ["2026-07-01T12:05:00.001Z", "2026-02-30T00:00:00Z", "2026-07-01T12:00:00", "yesterday"] {
            assert!(given_time(text, now).unwrap_err().contains("YYYY-MM-DDTHH:MM:SSZ"), "{text}");
        }
    }
}
