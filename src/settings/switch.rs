//! Switches: whether something is on, and why (DESIGN §6).
//!
//! For the relay an explicit conf key beats the environment both ways. With neither, the economics relay and the
//! relay of session events are on as soon as a Console URL resolves, and the liveness relay stays off until asked for. `DO_NOT_TRACK` beats everything.

use super::conf::{Conf, Lookup};
use super::destination::Destination;
use super::env::{Env, Var, vars};

/// The records that are relayed, each with its own switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayKind {
    /// Economics records.
    Economics,
    /// Claims, heartbeats and releases.
    Liveness,
    /// Session events.
    Telemetry,
}

/// A decided switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Whether it is on.
    pub on: bool,
    /// Why, as a fragment for `relay status` and doctor.
    pub reason: String,
}

impl Switch {
    fn off(reason: impl Into<String>) -> Self {
        Self { on: false, reason: reason.into() }
    }
}

/// Whether the user asked that nothing leaves the machine: any value but `0` and `false`.
#[must_use]
pub fn do_not_track(env: &Env) -> bool {
    env.get(&vars::DO_NOT_TRACK).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
}

/// Decides the relay of one kind of record. A value that is no switch is off, with a warning.
#[must_use]
pub fn relay_switch(
    kind: RelayKind,
    lookup: &Lookup,
    env: &Env,
    destination: Option<&Destination>,
    warnings: &mut Vec<String>,
) -> Switch {
    let (key, var) = match kind {
        RelayKind::Economics => ("console_economics_relay", &vars::FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY),
        RelayKind::Liveness => ("console_liveness_relay", &vars::FLOW_AGENTS_CONSOLE_LIVENESS_RELAY),
        RelayKind::Telemetry => ("console_telemetry_relay", &vars::FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY),
    };
    if do_not_track(env) {
        return Switch::off("DO_NOT_TRACK is set");
    }
    let Some(destination) = destination else {
        return Switch::off(if lookup.closed {
            "an untrusted conf closes the relay"
        } else {
            "no Console is configured"
        });
    };
    let endpoint = match kind {
        RelayKind::Economics => &destination.economics,
        RelayKind::Liveness => &destination.liveness,
        RelayKind::Telemetry => &destination.telemetry,
    };
    if endpoint.is_none() {
        return Switch::off("the destination has no usable endpoint for these records");
    }
    let asked = of_conf(lookup.conf.as_ref(), key, warnings).or_else(|| of_env(env, var, warnings));
    asked.unwrap_or_else(|| match kind {
        RelayKind::Economics | RelayKind::Telemetry => {
            Switch { on: true, reason: "a Console is configured".into() }
        }
        RelayKind::Liveness => Switch::off("not asked for"),
    })
}

/// The switch that `key` of the conf sets, if it does.
pub(super) fn of_conf(conf: Option<&Conf>, key: &str, warnings: &mut Vec<String>) -> Option<Switch> {
    let conf = conf?;
    Some(decide(&format!("{key} in {}", conf.path().display()), conf.get(key)?, warnings))
}

/// The switch that `var` sets, if it does.
pub(super) fn of_env(env: &Env, var: &Var, warnings: &mut Vec<String>) -> Option<Switch> {
    Some(decide(var.name, env.get(var)?, warnings))
}

fn decide(name: &str, value: &str, warnings: &mut Vec<String>) -> Switch {
    let on = parse(value);
    if on.is_none() {
        warnings.push(format!("{name}: the value is no switch (1/true/yes/on or 0/false/no/off): off"));
    }
    Switch { on: on.unwrap_or(false), reason: format!("set by {name}") }
}

/// The words of a switch, in any case.
fn parse(value: &str) -> Option<bool> {
    match value.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
