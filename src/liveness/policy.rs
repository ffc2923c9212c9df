//! Whether hooks write claims at all, and how long and how often (contract D.3). Explicit commands do not ask.

use crate::settings::defaults::DEFAULTS;
use crate::settings::env::{Env, Var, vars};

/// The policy of an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Whether hooks claim, heartbeat and tell conflicts.
    pub enabled: bool,
    /// Seconds that a claim stays fresh after its last sign of life.
    pub ttl_s: u64,
    /// The least seconds between two heartbeats of one claim.
    pub throttle_s: u64,
}

impl Policy {
    /// Reads the policy. What is no whole number of seconds above 0 is the default.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        let defaults = DEFAULTS.liveness;
        let throttle = &vars::FLOW_AGENTS_LIVENESS_HEARTBEAT_THROTTLE_SECONDS;
        Self {
            enabled: !env.get(&vars::FLOW_AGENTS_LIVENESS).is_some_and(is_off),
            ttl_s: seconds(env, &vars::FLOW_AGENTS_LIVENESS_TTL_SECONDS, defaults.ttl_seconds),
            throttle_s: seconds(env, throttle, defaults.heartbeat_throttle_seconds),
        }
    }
}

/// Copied settings may carry characters that nobody sees.
fn is_off(value: &str) -> bool {
    let visible: String =
        value.chars().filter(|c| !matches!(c, '\u{200b}'..='\u{200d}' | '\u{feff}')).collect();
    let word = visible.trim().to_lowercase();
    ["off", "0", "false", "no", "disabled"].contains(&word.as_str())
}

fn seconds(env: &Env, var: &Var, default: u64) -> u64 {
    let text = env.get(var).unwrap_or_default().trim();
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|seconds| digits && *seconds > 0).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn golden_liveness_policy() {
        let text = include_str!("../../tests/fixtures/flow-agents/golden/liveness-policy.jsonl");
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            if let Some(enabled) = row.get("enabled") {
                let value = row["FLOW_AGENTS_LIVENESS"].as_str().unwrap_or_default();
                assert_eq!(
                    Policy::of(&Env::from_pairs([("FLOW_AGENTS_LIVENESS", value)])).enabled,
                    *enabled,
                    "{line}"
                );
                continue;
            }
            let value = row["value"].as_str().unwrap();
            let policy = Policy::of(&Env::from_pairs([
                ("FLOW_AGENTS_LIVENESS_TTL_SECONDS", value),
                ("FLOW_AGENTS_LIVENESS_HEARTBEAT_THROTTLE_SECONDS", value),
            ]));
            assert_eq!(
                (&row["ttl"], &row["throttle"]),
                (&policy.ttl_s.into(), &policy.throttle_s.into()),
                "{line}"
            );
        }
    }
}
