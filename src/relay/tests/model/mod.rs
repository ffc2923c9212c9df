//! The relay against a model of it (DESIGN §4, §9): any sequence of what can happen to hooks, workers, disk, clock,
//! token and server; then all is healed, and what was promised must hold. The outbox, the books and what decides about
//! sending are the product's own, on a disk in memory; what was queued and what can have become of it is counted here,
//! from the bytes of the files and the answers of the server.
//!
//! - A *process* dies between any two changes to the disk, or in one: every promise holds.
//! - The *power* fails: what was not synced is lost in part. The books can still be opened and add up, count nothing as
//!   delivered that was not, and what the hook finds again in the journal reaches the server.
//! - Room is short: what leaves to make room is counted, and every bound is kept.
//!
//! `PROPTEST_CASES` sets the number of sequences of each.

mod action;
mod books;
mod server;
mod world;

use std::path::Path;

use proptest::prelude::*;

use action::{Emit, Lot, Run, Story};
use world::World;

use crate::relay::Status;

/// One run of a worker that has all the time it needs, with a server that is well.
fn fair_run() -> Run {
    Run {
        script: vec![],
        late: vec![],
        rotates: false,
        lingers: true,
        eager: false,
        latency: 1,
        shuffles: false,
    }
}

const HOUR_MS: i64 = 3_600_000;

/// Heals, and sends until nothing is pending.
fn drain(world: &mut World) {
    world.heal();
    for round in 0.. {
        world.hand_on(world.journal.len());
        world.flush(&fair_run());
        if world.status().unwrap().pending == 0 {
            return;
        }
        assert!(round < 12, "never idle: {:#?}", world.status());
        // Longer than any deadline; and a poison record is given up only while others pass.
        world.now_ms += HOUR_MS;
        world.emit(Emit::Fact(Lot::Accepted));
    }
}

/// What holds after every sequence.
fn check_idle(world: &mut World) {
    assert_eq!(world.lost(), 0, "records were lost");
    check_fresh(world);
    let known = [
        "current.jsonl",
        "gate",
        "handover",
        "ids.jsonl",
        "rejected.jsonl",
        "starting",
        "state.json",
        "state.json.bad",
    ];
    for path in world.disk.paths() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(known.contains(&name), "{name} is left behind");
    }
}

fn check_fresh(world: &mut World) {
    // Whatever an origin was left alone for is over by then.
    world.now_ms += HOUR_MS;
    let fresh = world.server.issued.len();
    world.emit(Emit::Fact(Lot::Accepted));
    world.flush(&fair_run());
    assert!(world.server.is_done_with(fresh), "a fresh record does not get through");
}

fn conserves(world: &World) {
    if let Some(status) = world.status() {
        let out = status.delivered + status.rejected + status.evicted + status.pending;
        assert_eq!(status.enqueued, out, "conservation: {status:#?}");
    }
}

fn process_crashes(dir: &Path, story: &Story) {
    let mut world = World::new(dir);
    for action in &story.0 {
        world.act(action);
        if let Some(status) = world.status() {
            world.books.check(&world.server, &status);
        }
        conserves(&world);
    }
    drain(&mut world);
    check_idle(&mut world);
    let status = world.status().unwrap();
    conserves(&world);
    world.books.check(&world.server, &status);
    rejections_are_kept(&world, &status);
    for number in world.books.latest_claims(&world.server) {
        assert!(world.server.is_done_with(number), "claim {number} was lost");
    }
}

/// A record that was queued again and refused again is rejected twice, and its line is there twice.
fn rejections_are_kept(world: &World, status: &Status) {
    let lines = world.read("rejected.jsonl").iter().filter(|&&byte| byte == b'\n').count() as u64;
    assert!(lines >= status.rejected, "{lines} lines of {} rejected records", status.rejected);
}

fn power_losses(dir: &Path, story: &Story) {
    let mut world = World::new(dir);
    for action in &story.0 {
        world.act(action);
        conserves(&world);
    }
    drain(&mut world);
    check_idle(&mut world);
    conserves(&world);
    let status = world.status().unwrap();
    assert!(status.delivered <= world.server.deliveries, "counted as delivered and was not: {status:#?}");
    rejections_are_kept(&world, &status);
}

/// A byte counts for so many, which brings the cap of the outbox to about twenty records.
const WEIGHT: u64 = 10_000;
const CAP: u64 = 64 * 1024 * 1024;
const REJECTED_CAP: u64 = 8 * 1024 * 1024;
/// More than a line of these tests has; a rejected one is JSON in JSON, and a NUL is six characters of that.
const LINE: u64 = 400 * WEIGHT;

fn short_of_room(dir: &Path, story: &Story) {
    let mut world = World::new(dir);
    world.disk.weigh(WEIGHT);
    for action in &story.0 {
        world.act(action);
        conserves(&world);
        if let Some(status) = world.status() {
            assert_eq!(status.enqueued, world.books.enqueued, "enqueued");
        }
        bounded(&world);
    }
    drain(&mut world);
    conserves(&world);
    bounded(&world);
    let status = world.status().unwrap();
    let made_room = status.evicted - status.superseded;
    assert!(u64::try_from(world.lost()).unwrap() <= made_room, "{} lost: {status:#?}", world.lost());
    check_fresh(&mut world);
}

/// What a worker that is not there cannot have taken is one full file and one that grew full since.
fn bounded(world: &World) {
    let size = |bytes: &[u8]| bytes.len() as u64 * WEIGHT;
    let current = size(&world.current());
    assert!(current <= CAP + LINE, "current file of {current}");
    let sealed: u64 = world.segments().iter().map(|bytes| size(bytes)).sum();
    assert!(sealed <= 2 * CAP + LINE, "segments of {sealed}");
    let rejected = size(&world.read("rejected.jsonl"));
    assert!(rejected <= REJECTED_CAP + 6 * LINE, "rejected of {rejected}");
}

proptest! {
    #[test]
    fn every_promise_holds_however_processes_die(story in action::stories()) {
        let dir = tempfile::tempdir().unwrap();
        process_crashes(dir.path(), &story);
    }

    #[test]
    fn what_is_synced_holds_through_every_loss_of_power(story in action::stories_with_power_loss()) {
        let dir = tempfile::tempdir().unwrap();
        power_losses(dir.path(), &story);
    }

    #[test]
    fn every_bound_is_kept_where_room_is_short(story in action::stories()) {
        let dir = tempfile::tempdir().unwrap();
        short_of_room(dir.path(), &story);
    }
}
