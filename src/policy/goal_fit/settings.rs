//! How strict the Stop gate is.

use crate::policy::Call;
use crate::settings::env::{Env, Var, vars};
use std::time::Duration;

/// How long the checks of a stop may take.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What the gate does with what it finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing: it does not even look.
    Off,
    /// It says so.
    Warn,
    /// It refuses the stop.
    Block,
}

/// What becomes of a claimed command that nobody saw run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backstop {
    /// It is run, and a failure blocks.
    Block,
    /// It is run, and a failure is said.
    Warn,
    /// It is not run.
    Skip,
}

#[derive(Debug)]
pub(super) struct Settings {
    pub mode: Mode,
    pub max_blocks: u32,
    pub backstop: Backstop,
    pub timeout: Duration,
    pub recheck: bool,
    pub require_sidecars: bool,
    pub require_critique: bool,
}

impl Settings {
    pub(super) fn of(call: &Call<'_>) -> Self {
        let env = call.env;
        let word = |var: &Var| env.get(var).map(|value| value.trim().to_lowercase());
        let mode = match word(&vars::FLOW_AGENTS_GOAL_FIT_MODE).as_deref() {
            Some("block") => Mode::Block,
            Some("warn") => Mode::Warn,
            Some("off") => Mode::Off,
            _ if is_true(env, &vars::FLOW_AGENTS_GOAL_FIT_STRICT) || call.blocks => Mode::Block,
            _ => Mode::Warn,
        };
        let backstop = match word(&vars::FLOW_AGENTS_GOAL_FIT_BACKSTOP).as_deref() {
            Some("off" | "warn") => Backstop::Warn,
            Some("skip") => Backstop::Skip,
            _ => Backstop::Block,
        };
        let number =
            |var: &Var| env.get(var).and_then(|value| value.trim().parse::<u64>().ok()).filter(|n| *n > 0);
        let max_blocks = number(&vars::FLOW_AGENTS_GOAL_FIT_MAX_BLOCKS).and_then(|n| u32::try_from(n).ok());
        let timeout_ms = number(&vars::FLOW_AGENTS_GOAL_FIT_BACKSTOP_TIMEOUT_MS);
        Self {
            mode,
            max_blocks: max_blocks.unwrap_or(3),
            backstop,
            timeout: timeout_ms.map(Duration::from_millis).or(call.patience).unwrap_or(TIMEOUT),
            recheck: is_true(env, &vars::FLOW_AGENTS_GOAL_FIT_RECHECK),
            require_sidecars: is_true(env, &vars::FLOW_AGENTS_REQUIRE_SIDECARS),
            require_critique: is_true(env, &vars::FLOW_AGENTS_REQUIRE_CRITIQUE),
        }
    }
}

fn is_true(env: &Env, var: &Var) -> bool {
    env.get(var).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
}
