//! Compaction: the stream rewritten to what decides its standing.
//!
//! Of each (subject, actor) stay its last claim, its last event, the claim and the sign of life with the latest stamps,
//! and whatever is ahead of the clock, each line verbatim and in its order. So the standing is the same before and
//! after, for every judge from now on. The new file is written beside the old one, synced and renamed under the
//! stream's lock: a crash leaves one or the other.

use super::event::{Kind, Seen};
use super::standing::is_ahead;
use super::stream::{Error, Stream};
use crate::journal::lines;
use crate::sys::files;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::time::Duration;

/// How long a compaction waits for the stream.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Events that stay.
    pub kept: u64,
    /// Events that later ones made needless.
    pub dropped: u64,
    /// Dropped lines that were no events.
    pub unreadable: u64,
    /// Bytes before.
    pub bytes_before: u64,
    /// Bytes after.
    pub bytes_after: u64,
}

/// Rewrites `stream`; nothing when there is none.
///
/// # Errors
/// When it cannot be read or written; it is then as it was.
pub fn compact(stream: &Stream, now_ms: i64) -> Result<Report, Error> {
    if !stream.path().exists() {
        return Ok(Report::default());
    }
    let _writer = stream.open(PATIENCE)?;
    rewrite(stream, now_ms).map_err(|source| stream.error(source))
}

fn rewrite(stream: &Stream, now_ms: i64) -> io::Result<Report> {
    let mut file = files::open_regular(stream.path())?;
    let mut report = Report { bytes_before: file.metadata()?.len(), ..Report::default() };
    let stays = choose(&mut file, now_ms, &mut report)?;
    let mut kept = vec![];
    lines::for_each(&mut file, 0, b"", |line| {
        if stays.contains(&line.offset) {
            kept.extend_from_slice(line.bytes);
            kept.push(b'\n');
        }
    })?;
    report.kept = stays.len() as u64;
    report.dropped -= report.kept;
    report.bytes_after = kept.len() as u64;
    files::write_atomic(stream.path(), &kept)?;
    Ok(report)
}

/// The places of one pair's decisive lines.
#[derive(Default)]
struct Decisive {
    last_claim: Option<u64>,
    last_event: Option<u64>,
    latest_claim: Option<(i64, u64)>,
    latest: Option<(i64, u64)>,
}

/// The offsets of the lines that stay. `report.dropped` counts all events for now.
fn choose(file: &mut File, now_ms: i64, report: &mut Report) -> io::Result<BTreeSet<u64>> {
    let mut pairs: HashMap<(String, String), Decisive> = HashMap::new();
    let mut stays = BTreeSet::new();
    lines::for_each(file, 0, b"", |line| {
        let Some(seen) = Seen::parse(line.bytes) else {
            report.unreadable += u64::from(!line.bytes.is_empty());
            return;
        };
        report.dropped += 1;
        let stamp = seen.at;
        if stamp.is_some_and(|stamp| is_ahead(stamp, now_ms)) {
            stays.insert(line.offset);
        }
        let pair = pairs.entry((seen.subject.into_owned(), seen.actor.into_owned())).or_default();
        let timed = stamp.filter(|stamp| !is_ahead(*stamp, now_ms)).map(|stamp| (stamp.ms, line.offset));
        if seen.kind == Some(Kind::Claim) {
            pair.last_claim = Some(line.offset);
            pair.latest_claim = later(pair.latest_claim, timed);
        }
        // An event of an unknown type is a sign of life and decides nothing else.
        if seen.kind.is_some() {
            pair.last_event = Some(line.offset);
        }
        pair.latest = later(pair.latest, timed);
    })?;
    for pair in pairs.into_values() {
        let timed = [pair.latest_claim, pair.latest].into_iter().flatten().map(|(_, offset)| offset);
        stays.extend(pair.last_claim.into_iter().chain(pair.last_event).chain(timed));
    }
    Ok(stays)
}

/// Of equal stamps the first counts, as in the standing.
fn later(one: Option<(i64, u64)>, other: Option<(i64, u64)>) -> Option<(i64, u64)> {
    match (one, other) {
        (Some(one), Some(other)) if other.0 > one.0 => Some(other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liveness::stamp::Stamp;
    use crate::liveness::standing::Fold;
    use proptest::prelude::*;

    const NOW: i64 = 1_782_907_200_000;

    fn stream(text: &str) -> (tempfile::TempDir, Stream) {
        let dir = tempfile::tempdir().unwrap();
        let stream = Stream::of(dir.path());
        drop(stream.open(Duration::ZERO).unwrap());
        std::fs::write(stream.path(), text).unwrap();
        (dir, stream)
    }

    fn standings(stream: &Stream, now_ms: i64) -> String {
        let mut fold = Fold::new(now_ms);
        stream.fold(&mut fold).unwrap();
        format!("{:?}", fold.standings())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_standing_is_the_same_before_and_after(
            events in prop::collection::vec((0..5usize, 0..2u8, 0..3u8, -4_000_000i64..900_000), 0..60)
        ) {
            let kinds = ["claim", "heartbeat", "release", "ping", "claim"];
            let text: String = events.iter().map(|(kind, subject, actor, lead)| format!(
                "{{\"type\":\"{}\",\"subjectId\":\"s{subject}\",\"actor\":\"a{actor}\",\"at\":\"{}\",\"ttlSeconds\":{}}}\n",
                kinds[*kind], Stamp::at(NOW + lead), 600 + kind * 1000,
            )).collect();
            let (_dir, stream) = stream(&text);
            let before: Vec<_> = [0, 400_000, 2_000_000].map(|later| standings(&stream, NOW + later)).into();
            let report = compact(&stream, NOW).unwrap();
            let after: Vec<_> = [0, 400_000, 2_000_000].map(|later| standings(&stream, NOW + later)).into();
            prop_assert_eq!(before, after);
            prop_assert_eq!(report.kept + report.dropped, events.len() as u64);
        }
    }

    #[test]
    fn needless_and_broken_lines_go_and_the_rest_stays_to_the_byte() {
        let at = |second: i64| Stamp::at(NOW - 60_000 + second * 1000).to_string();
        let claim = format!(
            r#"{{"type":"claim", "subjectId":"s","actor":"a","at":"{}","ttlSeconds":900,"x":1}}"#,
            at(0)
        );
        let beat =
            |second| format!(r#"{{"type":"heartbeat","subjectId":"s","actor":"a","at":"{}"}}"#, at(second));
        let text = format!("{claim}\nnoise\n{}\n{}\n{{\"torn", beat(1), beat(2));
        let (_dir, stream) = stream(&text);
        let report = compact(&stream, NOW).unwrap();
        let left = std::fs::read_to_string(stream.path()).unwrap();
        assert_eq!(left, format!("{claim}\n{}\n", beat(2)));
        assert_eq!((report.kept, report.dropped, report.unreadable), (2, 1, 2));
        // The torn tail was sealed with a newline.
        assert_eq!((report.bytes_before, report.bytes_after), (text.len() as u64 + 1, left.len() as u64));
    }
}
