//! Which policy runs, and with what (contract 1.0).
//!
//! A hook has an id and a script. Its id says whether it runs at all: it may be disabled, and it runs only in the profiles that
//! it names. Its script says which policy it is: a file name below `scripts/hooks/`, as in the wiring of flow-agents.

use super::protect::{self, Place};
use super::session::Site;
use super::{Outcome, Payload, capture, goal_fit, quality_gate, steering};
use crate::hosts::Kind;
use crate::liveness::actor::{self, Actor, Session};
use crate::settings::env::{Env, vars};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The version of the contract between a hook and who calls it.
pub const CONTRACT: &str = "1.0";

/// A policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// What an agent is held to is not the agent's to change.
    ConfigProtection,
    /// What commands came to is recorded.
    EvidenceCapture,
    /// The project's formatter looks at what was written.
    QualityGate,
    /// The agent is told where its task stands.
    WorkflowSteering,
    /// The agent stops when its task is done, or says why it is not.
    StopGoalFit,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ConfigProtection,
        Self::EvidenceCapture,
        Self::QualityGate,
        Self::WorkflowSteering,
        Self::StopGoalFit,
    ];

    /// Its name: the id of its hook, and its script without `.js`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConfigProtection => "config-protection",
            Self::EvidenceCapture => "evidence-capture",
            Self::QualityGate => "quality-gate",
            Self::WorkflowSteering => "workflow-steering",
            Self::StopGoalFit => "stop-goal-fit",
        }
    }

    /// The policies that have a say in an event, in their order.
    #[must_use]
    pub const fn of(event: Kind) -> &'static [Self] {
        match event {
            Kind::AgentSpawn | Kind::UserPromptSubmit => &[Self::WorkflowSteering],
            Kind::PreToolUse | Kind::PermissionRequest => &[Self::ConfigProtection],
            Kind::PostToolUse => &[Self::EvidenceCapture, Self::QualityGate, Self::WorkflowSteering],
            Kind::Stop => &[Self::StopGoalFit],
            Kind::SubagentStart | Kind::SubagentStop | Kind::Unknown => &[],
        }
    }

    /// What it says to a call.
    #[must_use]
    pub fn run(self, call: &Call<'_>) -> Outcome {
        match self {
            Self::ConfigProtection => {
                protect::judge(call.payload, &Place::new(call.env, call.cwd), call.truncated).into()
            }
            Self::EvidenceCapture => capture::run(call),
            Self::QualityGate => quality_gate::run(call),
            Self::WorkflowSteering => steering::run(call),
            Self::StopGoalFit => goal_fit::run(call),
        }
    }
}

/// What a policy is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The environment.
    pub env: &'a Env,
    /// Where the process works.
    pub cwd: &'a Path,
    /// Where the session started, if that is known: to work elsewhere later is no way out of its task.
    pub home: Option<&'a Path>,
    /// The session, where the host says so beside the environment.
    pub session: Option<Session<'a>>,
    /// What happens.
    pub event: Kind,
    /// What the host says of it; `None` where it is no JSON.
    pub payload: Option<&'a Payload>,
    /// Whether it was cut off.
    pub truncated: bool,
    /// Whether stop-goal-fit blocks where the environment does not say.
    pub blocks: bool,
    /// How long a check may take at most, whatever the environment allows by default.
    pub patience: Option<Duration>,
    /// Now, in epoch milliseconds.
    pub now_ms: i64,
}

impl Call<'_> {
    /// Who acts.
    #[must_use]
    pub fn actor(&self) -> Option<Actor> {
        actor::resolve(self.env, self.session).actor
    }

    /// The folder that the agent works in.
    #[must_use]
    pub fn works(&self) -> PathBuf {
        self.payload.and_then(Payload::cwd).map_or_else(|| self.cwd.to_path_buf(), |cwd| self.cwd.join(cwd))
    }

    /// The places where the session may be, the first to be asked first: where it started, where it works.
    pub fn sites(&self) -> impl Iterator<Item = Site> {
        let works = self.payload.and_then(Payload::cwd);
        let home = self.home.map(|home| Site::of(None, home));
        home.into_iter().chain(std::iter::once_with(move || Site::of(works, self.cwd)))
    }

    /// Whether a session that no pointer leads to may be meant: only where the host does not name the session.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.session.is_none()
    }
}

/// The event that a payload of the contract names.
#[must_use]
pub fn event(payload: Option<&Payload>) -> Kind {
    event_named(
        payload.and_then(|payload| payload.root().get("hook_event_name")?.as_str()).unwrap_or_default(),
    )
}

/// The event of that name in the contract.
#[must_use]
pub fn event_named(name: &str) -> Kind {
    match name {
        "SessionStart" => Kind::AgentSpawn,
        "UserPromptSubmit" => Kind::UserPromptSubmit,
        "PreToolUse" => Kind::PreToolUse,
        "PermissionRequest" => Kind::PermissionRequest,
        "PostToolUse" | "PostToolUseFailure" => Kind::PostToolUse,
        "Stop" | "SessionEnd" => Kind::Stop,
        "SubagentStart" => Kind::SubagentStart,
        "SubagentStop" => Kind::SubagentStop,
        _ => Kind::parse(name).unwrap_or(Kind::Unknown),
    }
}

/// A hook, as the wiring of a host names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its script.
    pub script: &'a str,
    /// The profiles that it runs in, with commas; none: the usual ones.
    pub profiles: &'a str,
}

/// Why a hook does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skipped {
    /// It is disabled, or not for this profile: nothing is said.
    Off,
    /// Its script is none: what is said.
    NoScript(String),
}

impl Hook<'_> {
    /// The policy that the hook runs.
    ///
    /// # Errors
    /// Why it runs none.
    pub fn policy(&self, env: &Env) -> Result<Policy, Skipped> {
        if self.is_disabled(env) || !self.has_profile(env) {
            return Err(Skipped::Off);
        }
        let said = |what: &str| Skipped::NoScript(format!("[Hook] {what}: {}", self.script));
        let name = below(self.script).ok_or_else(|| said("the script is outside the folder of hooks"))?;
        let found = Policy::ALL.into_iter().find(|policy| name.strip_suffix(".js") == Some(policy.name()));
        found.ok_or_else(|| said("there is no such script"))
    }

    fn is_disabled(&self, env: &Env) -> bool {
        let disabled = env.get(&vars::SA_DISABLED_HOOKS).unwrap_or_default();
        let id = self.id.trim().to_lowercase();
        disabled.split(',').any(|name| !name.trim().is_empty() && name.trim().to_lowercase() == id)
    }

    fn has_profile(&self, env: &Env) -> bool {
        const KNOWN: [&str; 3] = ["minimal", "standard", "strict"];
        let plain = |name: &str| KNOWN.into_iter().find(|known| name.trim().eq_ignore_ascii_case(known));
        let profile = env.get(&vars::SA_HOOK_PROFILE).and_then(plain).unwrap_or("standard");
        let mut wanted: Vec<&str> = self.profiles.split(',').filter_map(plain).collect();
        if wanted.is_empty() {
            wanted = vec!["standard", "strict"];
        }
        wanted.contains(&profile)
    }
}

/// `script` as a path below the folder of hooks; `None` where it leaves it, or is the folder.
fn below(script: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(script).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(script: &str) -> Result<Policy, Skipped> {
        Hook { id: "x", script, profiles: "" }.policy(&Env::default())
    }

    #[test]
    fn a_script_is_a_policy_by_its_name_below_the_folder_of_hooks() {
        for policy_of in Policy::ALL {
            assert_eq!(policy(&format!("{}.js", policy_of.name())), Ok(policy_of));
            assert_eq!(policy(&format!("lib/.././{}.js", policy_of.name())), Ok(policy_of));
        }
        let outside = |script: &str| match policy(script) {
            Err(Skipped::NoScript(said)) => said.contains("outside"),
            _ => false,
        };
        for script in [
            "../hooks/config-protection.js",
            "/config-protection.js",
            ".",
            "",
            "a/../..",
            "../hooks-evil/x.js",
        ] {
            assert!(outside(script), "{script}");
        }
        for script in
            ["nope.js", "lib", "lib/config-protection.js", "config-protection", "CONFIG-PROTECTION.js"]
        {
            assert!(matches!(policy(script), Err(Skipped::NoScript(_))) && !outside(script), "{script}");
        }
    }

    #[test]
    fn an_event_has_its_policies() {
        let named = |name: &str| {
            let payload = Payload::parse(&format!(r#"{{"hook_event_name":"{name}"}}"#));
            Policy::of(event(payload.as_ref())).iter().map(|policy| policy.name()).collect::<Vec<_>>()
        };
        assert_eq!(named("PreToolUse"), ["config-protection"]);
        assert_eq!(named("PostToolUse"), ["evidence-capture", "quality-gate", "workflow-steering"]);
        assert_eq!(named("stop"), ["stop-goal-fit"]);
        assert!(named("session.created").is_empty());
    }
}
