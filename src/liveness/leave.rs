//! An actor that leaves a task which is not done: the Stop gate let it go. It no longer holds the task, so that another may
//! take it up. Its next prompt takes it up again: the mark for that lies beside the stream, one small file per actor, and who
//! removes it claims.

use super::conflict::file;
use super::event::{Event, Kind};
use super::lifecycle::SOURCE;
use super::stamp::Stamp;
use super::standing::Fold;
use super::stream::{Error, Stream};
use super::tool_activity::PATIENCE;
use crate::sys::files;

/// How the mark's name ends.
const MARK: &str = "left";

/// Releases the claim of `actor` on `subject`, and leaves the mark. Returns the event with the time to live of its claim;
/// `None` where there is no open claim.
///
/// # Errors
/// When the stream or the mark cannot be read or written.
pub fn leave(
    stream: &Stream,
    subject: &str,
    actor: &str,
    now_ms: i64,
) -> Result<Option<(Event, u64)>, Error> {
    if !stream.path().is_file() {
        return Ok(None);
    }
    let mut writer = stream.open(PATIENCE)?;
    let mut fold = Fold::of(subject, now_ms);
    stream.fold(&mut fold)?;
    let own = fold.pair(subject, actor).filter(|own| !own.is_released());
    let Some(ttl_s) = own.and_then(super::standing::Pair::ttl_s) else { return Ok(None) };
    let event =
        Event { source: Some(SOURCE), ..stream.event(Kind::Release, subject, actor, Stamp::at(now_ms)) };
    let wrong = |source| stream.error(source);
    writer.append(&event).map_err(wrong)?;
    let mark = file(stream, actor, MARK);
    mark.parent().map_or(Ok(()), files::create_dir_private).map_err(wrong)?;
    files::write_atomic(&mark, subject.as_bytes()).map_err(wrong)?;
    Ok(Some((event, ttl_s)))
}

/// Whether `actor` has left a task and comes back now. It is so once.
#[must_use]
pub fn comes_back(stream: &Stream, actor: &str) -> bool {
    std::fs::remove_file(file(stream, actor, MARK)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liveness::act::{self, Act};

    #[test]
    fn who_leaves_holds_nothing_and_comes_back_once() {
        let dir = tempfile::tempdir().unwrap();
        let stream = Stream::of(dir.path());
        let at = |now_ms| Act { subject: "s", actor: "me", at: Stamp::at(now_ms), now_ms };
        let leave = |now_ms| leave(&stream, "s", "me", now_ms).unwrap();
        assert_eq!(leave(1), None, "there is no stream");
        act::claim(&stream, Act { actor: "you", ..at(1_000) }, 60, false).unwrap();
        assert_eq!(leave(2_000), None, "what another holds is not ours to release");
        act::claim(&stream, at(3_000), 60, false).unwrap();
        let (event, ttl_s) = leave(4_000).unwrap();
        assert_eq!(
            (event.kind, event.actor.as_str(), event.source, ttl_s),
            (Kind::Release, "me", Some(SOURCE), 60)
        );
        assert_eq!(leave(5_000), None, "it is released already");
        let mut fold = Fold::of("s", 6_000);
        stream.fold(&mut fold).unwrap();
        assert_eq!(fold.holders("s").into_iter().map(|holder| holder.actor).collect::<Vec<_>>(), ["you"]);
        assert_eq!(
            [comes_back(&stream, "you"), comes_back(&stream, "me"), comes_back(&stream, "me")],
            [false, true, false]
        );
    }
}
