//! The policies, where they are on: which are asked at an event, and what they say together.
//!
//! They are off until the conf says `policies=warn` or `policies=block`. Without that key the contract's own switches turn
//! on what they are about: `FLOW_AGENTS_GOAL_FIT_MODE` and `…_STRICT` the Stop gate, `SA_QUALITY_GATE_FIX` and `…_STRICT` the
//! formatter. Records and claims do not depend on any of it, and evidence is captured beside them (`hook::evidence`).

use super::waiting::Waiting;
use crate::hosts::{HostEvent, Kind};
use crate::liveness::actor::Session;
use crate::liveness::event::Event;
use crate::policy::runner::{Call, Hook};
use crate::policy::{Input, Outcome, Payload, Policy, Stdout, goal_fit};
use crate::settings::env::{Env, Var, vars};
use crate::settings::policies::Policies;
use crate::sys::clock;
use std::path::Path;
use std::time::Duration;

/// How long a check of the Stop gate may take: hosts end a hook after some 15 seconds, and what was ended refuses nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switches {
    all: Policies,
    stop: bool,
    format: bool,
}

/// An event that policies are asked about.
pub(super) struct Asked<'a> {
    pub(super) switches: Switches,
    /// What the host wrote.
    pub(super) input: &'a [u8],
    /// Where the agent works.
    pub(super) cwd: &'a Path,
    /// Where its session started.
    pub(super) home: &'a Path,
    /// Where its state is kept.
    pub(super) data_dir: &'a Path,
}

/// What policies say together.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) deny: Option<String>,
    pub(super) stuck: bool,
    pub(super) context: Option<String>,
    pub(super) stderr: String,
    /// The release of a claim, for who relays claims.
    pub(super) released: Option<(Event, u64)>,
}

impl Switches {
    /// What is on, by the conf and by the environment.
    pub(super) fn of(env: &Env, all: Policies) -> Self {
        let is_true = |var: &Var| env.get(var).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        let mode = env.get(&vars::FLOW_AGENTS_GOAL_FIT_MODE).and_then(Policies::parse);
        Self {
            all,
            stop: is_true(&vars::FLOW_AGENTS_GOAL_FIT_STRICT)
                || mode.is_some_and(|mode| mode != Policies::Off),
            format: is_true(&vars::SA_QUALITY_GATE_FIX) || is_true(&vars::SA_QUALITY_GATE_STRICT),
        }
    }

    /// Whether anything is.
    pub(super) fn any(self) -> bool {
        self.all != Policies::Off || self.stop || self.format
    }

    fn has(self, policy: Policy, env: &Env) -> bool {
        let on = match policy {
            // Done beside the records.
            Policy::EvidenceCapture => return false,
            Policy::StopGoalFit => self.stop,
            Policy::QualityGate => self.format,
            Policy::ConfigProtection | Policy::WorkflowSteering => false,
        };
        let script = format!("{}.js", policy.name());
        let hook = Hook { id: policy.name(), script: &script, profiles: "" };
        (on || self.all != Policies::Off) && hook.policy(env) == Ok(policy)
    }
}

impl Asked<'_> {
    /// Where context waits that the host does not take yet; nowhere while policies are off.
    pub(super) fn waiting(&self, session: Option<Session<'_>>) -> Option<Waiting> {
        let Session { host, id } = session.filter(|_| self.switches.any())?;
        Some(Waiting::of(self.data_dir, host, id))
    }

    /// Asks the policies that are on.
    pub(super) fn judge(&self, env: &Env, event: &HostEvent<'_>, session: Option<Session<'_>>) -> Judged {
        let mut judged = Judged::default();
        // With the end of a session nobody can go on.
        if event.meaning.ends || !self.switches.any() {
            return judged;
        }
        let policies: Vec<Policy> = Policy::of(event.kind())
            .iter()
            .copied()
            .filter(|policy| self.switches.has(*policy, env))
            .collect();
        if policies.is_empty() {
            return judged;
        }
        let read = Input::read(self.input);
        let payload = Payload::parse(&read.text);
        let blocks = self.switches.all == Policies::Block;
        let call = Call {
            env,
            cwd: self.cwd,
            home: Some(self.home),
            session,
            event: event.kind(),
            payload: payload.as_ref(),
            truncated: read.truncated,
            blocks,
            patience: Some(PATIENCE),
            now_ms: clock::now_ms(),
        };
        for policy in policies {
            let (outcome, stuck, released) = run(policy, &call);
            judged.released = judged.released.or(released);
            let refuses = outcome.exit == 2;
            // The Stop gate has modes of its own.
            if refuses && (blocks || policy == Policy::StopGoalFit) {
                return Judged { deny: Some(outcome.stderr.trim().to_owned()), stuck, ..Judged::default() };
            }
            judged.add(outcome, refuses);
        }
        judged
    }
}

fn run(policy: Policy, call: &Call<'_>) -> (Outcome, bool, Option<(Event, u64)>) {
    if policy == Policy::StopGoalFit && call.event == Kind::Stop {
        let judged = goal_fit::judge(call);
        return (judged.outcome, judged.stuck, judged.released);
    }
    (policy.run(call), false, None)
}

impl Judged {
    /// Adds what a policy says that refuses nothing here; `would`: it would refuse, if it were let.
    fn add(&mut self, outcome: Outcome, would: bool) {
        let mut contexts: Vec<String> = self.context.take().into_iter().collect();
        if let Stdout::Append(text) = &outcome.stdout {
            contexts.push(text.trim().trim_start_matches("---\n").trim_end_matches("\n---").to_owned());
        }
        if would {
            contexts.push(format!("A policy would refuse this: {}", outcome.stderr.trim()));
        } else {
            self.stderr.push_str(outcome.stderr.trim_end());
        }
        self.context = (!contexts.is_empty()).then(|| contexts.join("\n"));
    }
}
