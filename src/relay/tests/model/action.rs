//! What can happen, as values that shrink and can be read.

use std::fmt;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::sys::disk::memory::Crash;

/// What happens, in order; shown one to a line.
#[derive(Clone)]
pub(super) struct Story(pub(super) Vec<Action>);

impl fmt::Debug for Story {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|action| write!(out, "\n  {action:?}"))
    }
}

/// One thing that happens.
#[derive(Debug, Clone)]
pub(super) enum Action {
    /// A hook records something and hands it on.
    Emit(Emit),
    /// A hook hands on what the outbox must refuse.
    EmitTooLarge,
    /// A writer died in the middle of its line.
    EmitTorn(Torn),
    /// The process that makes the call after `after` more changes to the disk dies in it.
    CrashAt(Crash),
    /// A hook seals the current file.
    Rotate,
    /// A worker runs.
    Flush(Run),
    /// The token that is configured and the one that the server takes.
    TokenChange { ours: u8, theirs: u8 },
    /// By so many milliseconds.
    ClockJump(i64),
    /// The state is gone, or no state of ours.
    DeleteState(Loss),
    /// So many bytes are left.
    FillDisk(u16),
    /// There is room again.
    FreeDisk,
    /// The power fails between two processes; the seed says what is lost.
    LosePower(u64),
}

/// What a hook records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emit {
    /// A fact that adds up, and what the server will say of it when it is well.
    Fact(Lot),
    /// A record whose id others have too.
    Twin,
    /// A liveness record of a pair, dated so many seconds after the first.
    Claim { pair: u8, at: u8, release: bool },
}

/// What a server that is well says of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lot {
    Accepted,
    Refused,
    /// 500, for ever.
    Poison,
}

/// What a dead writer left at the end of the current file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Torn {
    /// So many 255ths of a line.
    Cut(u8),
    /// So many NULs.
    Nul(u8),
}

/// What became of `state.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    Deleted,
    Emptied,
    Nul,
    Half,
    Newer,
}

/// A worker's run.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// What the server does with the first requests; after that it is well.
    pub(super) script: Vec<Answer>,
    /// What hooks record while it runs, and whether one seals.
    pub(super) late: Vec<Emit>,
    pub(super) rotates: bool,
    /// Whether it stays for what will be due within its time.
    pub(super) lingers: bool,
    /// Whether back-off is forgotten first.
    pub(super) eager: bool,
    /// How long an answer takes, in milliseconds.
    pub(super) latency: u16,
    /// Whether answers come in another order than the requests went.
    pub(super) shuffles: bool,
}

/// What the server does with one request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// What it should.
    Well,
    /// This, whatever the record.
    Says { status: u16, body: Body, retry_after: Option<&'static str> },
    /// The connection ends before the request is there.
    CutBefore,
    /// The record is taken in, but the answer is lost.
    CutAfter,
}

/// The body of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Empty,
    /// Somebody else's page.
    Html,
    Accepted,
    /// The id is another record's.
    Collision,
}

const YEARS_10_MS: i64 = 10 * 365 * 86_400_000;

/// Sequences without a loss of power.
pub(super) fn stories() -> impl Strategy<Value = Story> {
    vec(action(), 1..24).prop_map(Story)
}

/// Sequences with losses of power.
pub(super) fn stories_with_power_loss() -> impl Strategy<Value = Story> {
    vec(prop_oneof![6 => action(), 1 => any::<u64>().prop_map(Action::LosePower)], 1..24).prop_map(Story)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        12 => emit().prop_map(Action::Emit),
        1 => Just(Action::EmitTooLarge),
        2 => prop_oneof![any::<u8>().prop_map(Torn::Cut), any::<u8>().prop_map(Torn::Nul)].prop_map(Action::EmitTorn),
        5 => (0..40_u32, any::<u8>()).prop_map(|(after, part)| Action::CrashAt(Crash { after, part })),
        4 => Just(Action::Rotate),
        10 => run().prop_map(Action::Flush),
        2 => (0..2_u8, 0..2_u8).prop_map(|(ours, theirs)| Action::TokenChange { ours, theirs }),
        2 => prop_oneof![Just(YEARS_10_MS), Just(-YEARS_10_MS), -100_000..10_000_000_i64].prop_map(Action::ClockJump),
        2 => loss().prop_map(Action::DeleteState),
        2 => (0..2000_u16).prop_map(Action::FillDisk),
        2 => Just(Action::FreeDisk),
    ]
}

fn emit() -> impl Strategy<Value = Emit> {
    prop_oneof![
        8 => Just(Emit::Fact(Lot::Accepted)),
        1 => Just(Emit::Fact(Lot::Refused)),
        1 => Just(Emit::Fact(Lot::Poison)),
        2 => Just(Emit::Twin),
        3 => (0..2_u8, 0..4_u8, any::<bool>()).prop_map(|(pair, at, release)| Emit::Claim { pair, at, release }),
    ]
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::Deleted),
        Just(Loss::Emptied),
        Just(Loss::Nul),
        Just(Loss::Half),
        Just(Loss::Newer)
    ]
}

fn run() -> impl Strategy<Value = Run> {
    let late = prop_oneof![2 => Just(vec![]), 1 => vec(emit(), 1..4)];
    (vec(answer(), 0..12), late, any::<bool>(), any::<bool>(), any::<bool>(), 0..3000_u16, any::<bool>())
        .prop_map(|(script, late, rotates, lingers, eager, latency, shuffles)| Run {
            script,
            late,
            rotates,
            lingers,
            eager,
            latency,
            shuffles,
        })
}

fn answer() -> impl Strategy<Value = Answer> {
    let body = prop_oneof![Just(Body::Empty), Just(Body::Html), Just(Body::Accepted), Just(Body::Collision)];
    let status = prop_oneof![
        2 => Just(500_u16),
        1 => Just(503),
        1 => Just(429),
        1 => Just(401),
        1 => Just(202),
        3 => 100..600_u16
    ];
    let retry_after = option::weighted(
        0.3,
        prop_oneof![
            Just("1"),
            Just("120"),
            Just("-1"),
            Just("1e9"),
            Just("1000000000"),
            Just("soon"),
            Just("Sun, 06 Nov 1994 08:49:37 GMT"),
            Just("Fri, 31 Dec 2100 23:59:59 GMT"),
        ],
    );
    prop_oneof![
        3 => Just(Answer::Well),
        4 => (status, body, retry_after)
            .prop_map(|(status, body, retry_after)| Answer::Says { status, body, retry_after }),
        1 => Just(Answer::CutBefore),
        1 => Just(Answer::CutAfter),
    ]
}
