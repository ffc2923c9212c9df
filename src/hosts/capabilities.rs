//! What a host declares, and the one form that everything else works with.
//!
//! A declaration is read leniently: a value that is missing or no fidelity is kept as it came, so that a report can show
//! it and the probe `capability-completeness` can fail over it. Such a value influences nothing, and is not
//! `unavailable` either.

use super::words::{AssetKind, Fidelity, Phase};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// What a declaration says of one thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stated<T> {
    /// A value that is known.
    Known(T),
    /// Something else, as it came.
    Other(Value),
    /// Nothing.
    #[default]
    Absent,
}

impl<T> From<T> for Stated<T> {
    fn from(value: T) -> Self {
        Self::Known(value)
    }
}

impl Stated<Fidelity> {
    /// Reads what stands at a key, which may not be there.
    fn read(value: Option<&Value>) -> Self {
        let Some(value) = value else { return Self::Absent };
        let known = value.as_str().and_then(Fidelity::parse);
        known.map_or_else(|| Self::Other(value.clone()), Self::Known)
    }

    /// Whether it can change what the host does.
    #[must_use]
    pub fn can_influence(&self) -> bool {
        matches!(self, Self::Known(fidelity) if fidelity.can_influence())
    }

    /// Whether the host is said not to have it.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        *self == Self::Known(Fidelity::Unavailable)
    }
}

/// What a host lets a phase change. The two are apart, so that a host which can deny a tool call does not seem to be
/// able to deny the start of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Influence {
    /// Whether it can block.
    pub decision: Stated<Fidelity>,
    /// Whether it can add context for the model.
    pub context_injection: Stated<Fidelity>,
}

impl Stated<Influence> {
    /// Reads an entry; `null` is none. One with more than the two fields is kept as it came.
    fn read(value: Option<&Value>) -> Self {
        let Some(value) = value.filter(|value| !value.is_null()) else { return Self::Absent };
        match value.as_object() {
            Some(entry) if entry.keys().all(|key| key == DECISION || key == CONTEXT) => Influence {
                decision: Stated::<Fidelity>::read(entry.get(DECISION)),
                context_injection: Stated::<Fidelity>::read(entry.get(CONTEXT)),
            }
            .into(),
            _ => Self::Other(value.clone()),
        }
    }

    /// Whether the phase can block.
    #[must_use]
    pub fn decision(&self) -> Stated<Fidelity> {
        self.field(|known| &known.decision, DECISION)
    }

    /// Whether the phase can add context for the model.
    #[must_use]
    pub fn context_injection(&self) -> Stated<Fidelity> {
        self.field(|known| &known.context_injection, CONTEXT)
    }

    fn field(&self, known: fn(&Influence) -> &Stated<Fidelity>, key: &str) -> Stated<Fidelity> {
        match self {
            Self::Known(influence) => known(influence).clone(),
            Self::Other(value) => Stated::<Fidelity>::read(value.get(key)),
            Self::Absent => Stated::Absent,
        }
    }
}

const DECISION: &str = "decision";
const CONTEXT: &str = "contextInjection";

/// One value per phase.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerPhase<T>([T; 5]);

impl<T> PerPhase<T> {
    /// The table of what `value` says of each phase.
    pub fn of(mut value: impl FnMut(Phase) -> T) -> Self {
        use Phase::{AfterTool, BeforeModel, BeforeTool, SessionStart, Stop};
        Self([SessionStart, BeforeModel, BeforeTool, AfterTool, Stop].map(&mut value))
    }

    /// The value of `phase`.
    #[must_use]
    pub const fn get(&self, phase: Phase) -> &T {
        let [session_start, before_model, before_tool, after_tool, stop] = &self.0;
        match phase {
            Phase::SessionStart => session_start,
            Phase::BeforeModel => before_model,
            Phase::BeforeTool => before_tool,
            Phase::AfterTool => after_tool,
            Phase::Stop => stop,
        }
    }
}

/// One value per kind of asset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerKind<T>([T; 6]);

impl<T> PerKind<T> {
    /// The table of what `value` says of each kind.
    pub fn of(mut value: impl FnMut(AssetKind) -> T) -> Self {
        use AssetKind::{Agent, Command, Context, Hook, Prompt, Skill};
        Self([Skill, Agent, Hook, Prompt, Command, Context].map(&mut value))
    }

    /// The value of `kind`.
    #[must_use]
    pub const fn get(&self, kind: AssetKind) -> &T {
        let [skill, agent, hook, prompt, command, context] = &self.0;
        match kind {
            AssetKind::Skill => skill,
            AssetKind::Agent => agent,
            AssetKind::Hook => hook,
            AssetKind::Prompt => prompt,
            AssetKind::Command => command,
            AssetKind::Context => context,
        }
    }
}

/// What a host declares.
///
/// ```
/// use tally::hosts::{HostCapabilities, Phase, normalize};
/// let declared = serde_json::json!({
///     "lifecycle": {"before-tool": "native"}, "install": {},
///     "blocking": "native", "contextInjection": "unavailable",
/// });
/// let capabilities = normalize(&HostCapabilities::from_json(&declared)?);
/// assert!(capabilities.influence.get(Phase::BeforeTool).decision().can_influence());
/// # Ok::<(), tally::hosts::CapabilityError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCapabilities {
    /// Whether the host raises an event at a phase at all.
    pub lifecycle: PerPhase<Stated<Fidelity>>,
    /// What a phase can change; a phase without an entry has that of the two aggregates.
    pub influence: PerPhase<Stated<Influence>>,
    /// Deprecated: the context injection of each phase without an entry of its own.
    pub context_injection: Stated<Fidelity>,
    /// Deprecated: the decision of each phase without an entry of its own.
    pub blocking: Stated<Fidelity>,
    /// Whether the host takes a kind of asset.
    pub install: PerKind<Stated<Fidelity>>,
}

/// A declaration that cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapabilityError {
    /// It is another JSON value.
    #[error("the capabilities are not a JSON object")]
    NotAnObject,
    /// A table without which nothing can be said.
    #[error("the capabilities have no `{0}` table: it must be an object with a fidelity per name")]
    NoTable(&'static str),
}

impl HostCapabilities {
    /// Reads a declaration: unknown names are passed over, missing and unknown values stay what they are.
    ///
    /// # Errors
    /// When it is not an object, or has no `lifecycle` or no `install` table.
    pub fn from_json(value: &Value) -> Result<Self, CapabilityError> {
        let declared = value.as_object().ok_or(CapabilityError::NotAnObject)?;
        let table =
            |name| declared.get(name).and_then(Value::as_object).ok_or(CapabilityError::NoTable(name));
        let (lifecycle, install) = (table("lifecycle")?, table("install")?);
        let influence = declared.get("influence");
        let entry = |phase: Phase| influence.and_then(|table| table.get(phase.as_str()));
        Ok(Self {
            lifecycle: PerPhase::of(|phase| Stated::<Fidelity>::read(lifecycle.get(phase.as_str()))),
            influence: PerPhase::of(|phase| Stated::<Influence>::read(entry(phase))),
            context_injection: Stated::<Fidelity>::read(declared.get(CONTEXT)),
            blocking: Stated::<Fidelity>::read(declared.get("blocking")),
            install: PerKind::of(|kind| Stated::<Fidelity>::read(install.get(kind.as_str()))),
        })
    }
}

/// What a host declares, with every phase spelled out.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct NormalizedCapabilities {
    /// Whether the host raises an event at a phase at all.
    pub lifecycle: PerPhase<Stated<Fidelity>>,
    /// What a phase can change.
    pub influence: PerPhase<Stated<Influence>>,
    /// Whether the host takes a kind of asset.
    pub install: PerKind<Stated<Fidelity>>,
}

/// Spells out what each phase can change: its own entry, else both aggregates. The fallback is per phase, never per field.
///
/// ```
/// use tally::hosts::{Profile, normalize};
/// let codex = Profile::shipped("codex").unwrap();
/// let text = serde_json::to_string(&normalize(&codex.capabilities)).unwrap();
/// assert!(text.starts_with(r#"{"lifecycle":{"session-start":"unavailable","#));
/// ```
#[must_use]
pub fn normalize(declared: &HostCapabilities) -> NormalizedCapabilities {
    let aggregate = Influence {
        decision: declared.blocking.clone(),
        context_injection: declared.context_injection.clone(),
    };
    NormalizedCapabilities {
        lifecycle: declared.lifecycle.clone(),
        influence: PerPhase::of(|phase| match declared.influence.get(phase) {
            Stated::Absent => aggregate.clone().into(),
            entry => entry.clone(),
        }),
        install: declared.install.clone(),
    }
}

impl NormalizedCapabilities {
    /// Each capability under its path, such as `influence.stop.decision`.
    #[must_use]
    pub fn paths(&self) -> Vec<(String, Stated<Fidelity>)> {
        let mut all = vec![];
        for &phase in Phase::ALL {
            let influence = self.influence.get(phase);
            all.push((format!("lifecycle.{phase}"), self.lifecycle.get(phase).clone()));
            all.push((format!("influence.{phase}.{DECISION}"), influence.decision()));
            all.push((format!("influence.{phase}.{CONTEXT}"), influence.context_injection()));
        }
        all.extend(
            AssetKind::ALL.iter().map(|&kind| (format!("install.{kind}"), self.install.get(kind).clone())),
        );
        all
    }
}

/// Writes what is stated, in canonical order; nothing for what is absent.
fn write<'a, S: Serializer, T: Serialize + 'a>(
    to: S,
    entries: impl Iterator<Item = (&'static str, &'a Stated<T>)>,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    for (name, stated) in entries {
        write_entry(&mut map, name, stated)?;
    }
    map.end()
}

fn write_entry<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &str,
    stated: &Stated<T>,
) -> Result<(), M::Error> {
    match stated {
        Stated::Known(value) => map.serialize_entry(name, value),
        Stated::Other(value) => map.serialize_entry(name, value),
        Stated::Absent => Ok(()),
    }
}

impl<T: Serialize> Serialize for PerPhase<Stated<T>> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write(to, Phase::ALL.iter().map(|&phase| (phase.as_str(), self.get(phase))))
    }
}

impl<T: Serialize> Serialize for PerKind<Stated<T>> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write(to, AssetKind::ALL.iter().map(|&kind| (kind.as_str(), self.get(kind))))
    }
}

impl Serialize for Influence {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write(to, [(DECISION, &self.decision), (CONTEXT, &self.context_injection)].into_iter())
    }
}

/// As it was declared, aggregates included.
impl Serialize for HostCapabilities {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("lifecycle", &self.lifecycle)?;
        map.serialize_entry("influence", &self.influence)?;
        write_entry(&mut map, CONTEXT, &self.context_injection)?;
        write_entry(&mut map, "blocking", &self.blocking)?;
        map.serialize_entry("install", &self.install)?;
        map.end()
    }
}
