//! The relay against a model of it (DESIGN §4, §9): any sequence of what can happen to hooks, workers, disk, clock,
//! token and server; then all is healed, and what was promised must hold. The outbox, the books and what decides about
//! sending are the product's own, on a disk in memory.
//!
//! Two kinds of crash. A *process* dies between any two changes to the disk, or in one: every promise holds. The
//! *power* fails: what was not synced is lost in part; the books can still be opened and add up, they count nothing as
//! delivered that was not, and what is still in the journal reaches the server.
//!
//! `PROPTEST_CASES` sets the number of sequences.

mod action;
mod books;
mod server;
mod world;

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::Config;

use action::{Emit, Lot, Run, Story};
use world::World;

/// One run of a worker that has all the time it needs, with a server that is well.
fn fair_run() -> Run {
    Run { script: vec![], late: vec![], rotates: false, lingers: true, eager: false, latency: 1, shuffles: false }
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
    for (number, issued) in world.server.issued.iter().enumerate() {
        let done = world.server.stored.contains(&number) || world.server.refused.contains(&number);
        assert!(done || issued.claim.is_some(), "record {number} was lost");
    }
    // Whatever an origin was left alone for is over by then.
    world.now_ms += HOUR_MS;
    let fresh = world.server.issued.len();
    world.emit(Emit::Fact(Lot::Accepted));
    world.flush(&fair_run());
    assert!(world.server.stored.contains(&fresh), "a fresh record does not get through");
    let known = ["current.jsonl", "gate", "handover", "rejected.jsonl", "starting", "state.json", "state.json.bad"];
    for path in world.disk.paths() {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(known.contains(&name), "{name} is left behind");
    }
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
    assert_eq!(status.rejected_kept, status.rejected, "what is rejected is kept");
    for number in world.books.latest_claims(&world.server) {
        let done = world.server.stored.contains(&number) || world.server.refused.contains(&number);
        assert!(done, "claim {number} was lost");
    }
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
    assert_eq!(status.rejected_kept, status.rejected, "what is rejected is kept");
}

proptest! {
    #![proptest_config(Config { cases: 256, ..Config::default() })]

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
}
