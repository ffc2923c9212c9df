//! An adapter is our view of one host: a profile of capabilities and the caller's bindings. There are two shapes.
//!
//! Nothing is discovered here: no home directory, no host configuration, no credential. Whatever touches the host is a
//! binding of the caller. Assets are taken strictly in their order, one at a time.

use super::capabilities::{HostCapabilities, NormalizedCapabilities, normalize};
use super::outcome::{LifecycleEvent, LifecycleOutcome, Projection, project};
use super::receipt::{InstallationReceipt, Installed, PortableAsset, Skipped, Stopped, digest};
use super::words::SkipReason;
use std::borrow::Cow;
use std::io;

/// A binding that failed.
///
/// ```
/// use tally::hosts::BindingError;
/// let error = BindingError::new("the registry is down").because("connect /run/secret.sock");
/// assert_eq!(error.to_string(), "the registry is down: connect /run/secret.sock");
/// assert_eq!(error.reason(), "the registry is down");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{detail}")]
pub struct BindingError {
    reason: Cow<'static, str>,
    detail: String,
}

impl BindingError {
    /// A failure in fixed words: they go into receipts and reports.
    #[must_use]
    pub const fn new(reason: &'static str) -> Self {
        Self { reason: Cow::Borrowed(reason), detail: String::new() }
    }

    /// Adds what only the caller is told: it may name paths and values.
    #[must_use]
    pub fn because(mut self, detail: impl std::fmt::Display) -> Self {
        self.detail = format!(": {detail}");
        self
    }

    /// The fixed words.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl From<io::Error> for BindingError {
    fn from(error: io::Error) -> Self {
        Self { reason: Cow::Owned(error.kind().to_string()), detail: String::new() }.because(error)
    }
}

/// An installation that stopped half-way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the installation in {} stopped: {error}", .receipt.host_id)]
pub struct InstallError {
    /// What was installed before, and at which asset it stopped.
    pub receipt: Box<InstallationReceipt>,
    /// Why.
    pub error: BindingError,
}

/// One host. See [`ManifestHarness`] and [`InProcess`] for the two shapes.
pub trait HostAdapter {
    /// The name of the host's profile.
    fn id(&self) -> &str;

    /// What the host declares.
    fn capabilities(&self) -> &HostCapabilities;

    /// Installs the assets.
    ///
    /// # Errors
    /// When a binding fails: what was installed before it stays, and the receipt says so.
    fn install(&self, assets: &[PortableAsset]) -> Result<InstallationReceipt, InstallError>;

    /// Reduces an outcome to what the host can do.
    ///
    /// # Errors
    /// When a binding fails.
    fn project(&self, event: &LifecycleEvent, outcome: LifecycleOutcome) -> Result<Projection, BindingError>;

    /// Whether the bindings only stand in for a host, so that nothing about one can be proven with them.
    fn is_stand_in(&self) -> bool {
        false
    }
}

/// Chooses where an asset goes; `None` and an empty target mean nowhere.
pub type ResolveTarget<'a> = Box<dyn Fn(&PortableAsset) -> Result<Option<String>, BindingError> + 'a>;
/// Writes content to a target.
pub type WriteTarget<'a> = Box<dyn Fn(&str, &str) -> Result<(), BindingError> + 'a>;
/// Translates an outcome into the result of a framework's hook, and says what is left of it.
pub type ApplyOutcome<'a> =
    Box<dyn Fn(&LifecycleEvent, LifecycleOutcome) -> Result<LifecycleOutcome, BindingError> + 'a>;
/// Registers an asset with a framework.
pub type InstallAsset<'a> = Box<dyn Fn(&PortableAsset) -> Result<(), BindingError> + 'a>;

/// A host that is configured through files.
///
/// ```
/// use std::cell::RefCell;
/// use tally::hosts::{self, AssetKind, HostAdapter, PortableAsset};
/// let written = RefCell::new(vec![]);
/// let codex = hosts::codex(
///     Box::new(|asset| Ok(Some(format!("skills/{}.md", asset.id)))),
///     Box::new(|target, _content| {
///         written.borrow_mut().push(target.to_owned());
///         Ok(())
///     }),
/// );
/// let asset = |id: &str, kind| PortableAsset { id: id.into(), kind, content: "…".into(), target_hint: None };
/// let receipt = codex.install(&[asset("review", AssetKind::Skill), asset("bot", AssetKind::Agent)])?;
/// assert_eq!(*written.borrow(), ["skills/review.md"]);
/// assert_eq!(receipt.skipped[0].reason.as_str(), "unsupported");
/// # Ok::<(), tally::hosts::InstallError>(())
/// ```
pub struct ManifestHarness<'a> {
    core: Core,
    resolve_target: ResolveTarget<'a>,
    write: WriteTarget<'a>,
}

impl<'a> ManifestHarness<'a> {
    /// An adapter named `id`.
    #[must_use]
    pub fn new(
        id: &str,
        capabilities: HostCapabilities,
        resolve_target: ResolveTarget<'a>,
        write: WriteTarget<'a>,
    ) -> Self {
        Self { core: Core::new(id, capabilities), resolve_target, write }
    }

    /// The same, as an adapter whose bindings reach no host.
    pub(super) fn standing_in(mut self) -> Self {
        self.core.stand_in = true;
        self
    }
}

impl HostAdapter for ManifestHarness<'_> {
    fn id(&self) -> &str {
        &self.core.id
    }

    fn capabilities(&self) -> &HostCapabilities {
        &self.core.declared
    }

    /// An asset whose kind is `unavailable` is skipped as unsupported, one without a target as unmapped.
    fn install(&self, assets: &[PortableAsset]) -> Result<InstallationReceipt, InstallError> {
        self.core.install(assets, &|asset, unavailable| {
            // The package asks for the target of every asset, and a binding may count on it.
            let target = (self.resolve_target)(asset)?.filter(|target| !target.is_empty());
            match target {
                _ if unavailable => Ok(Some(SkipReason::Unsupported)),
                None => Ok(Some(SkipReason::Unmapped)),
                Some(target) => (self.write)(&target, &asset.content).map(|()| None),
            }
        })
    }

    fn project(&self, event: &LifecycleEvent, outcome: LifecycleOutcome) -> Result<Projection, BindingError> {
        Ok(project(&self.core.capabilities, event, outcome))
    }

    fn is_stand_in(&self) -> bool {
        self.core.stand_in
    }
}

/// A host that calls us, and is called, in its own process.
///
/// ```
/// use tally::hosts::{self, Decision, HostAdapter, LifecycleEvent, LifecycleOutcome, Phase};
/// // The framework can block, but this application only lets it watch.
/// let strands = hosts::strands(
///     Box::new(|_event, outcome| Ok(LifecycleOutcome { decision: Decision::Observe, ..outcome })),
///     None,
/// );
/// let event = LifecycleEvent { phase: Phase::Stop, session_id: "s".into(), context: None };
/// let projection = strands.project(&event, LifecycleOutcome::of(Decision::Deny))?;
/// assert_eq!(projection.outcome.decision, Decision::Observe);
/// # Ok::<(), tally::hosts::BindingError>(())
/// ```
pub struct InProcess<'a> {
    core: Core,
    apply_outcome: ApplyOutcome<'a>,
    install_asset: Option<InstallAsset<'a>>,
}

impl<'a> InProcess<'a> {
    /// An adapter named `id`; without `install_asset` it installs nothing.
    #[must_use]
    pub fn new(
        id: &str,
        capabilities: HostCapabilities,
        apply_outcome: ApplyOutcome<'a>,
        install_asset: Option<InstallAsset<'a>>,
    ) -> Self {
        Self { core: Core::new(id, capabilities), apply_outcome, install_asset }
    }

    /// The same, as an adapter whose bindings reach no host.
    pub(super) fn standing_in(mut self) -> Self {
        self.core.stand_in = true;
        self
    }
}

impl HostAdapter for InProcess<'_> {
    fn id(&self) -> &str {
        &self.core.id
    }

    fn capabilities(&self) -> &HostCapabilities {
        &self.core.declared
    }

    /// An asset whose kind is `unavailable` is skipped as unsupported, and so is every asset without a binding.
    fn install(&self, assets: &[PortableAsset]) -> Result<InstallationReceipt, InstallError> {
        self.core.install(assets, &|asset, unavailable| match &self.install_asset {
            Some(install) if !unavailable => install(asset).map(|()| None),
            _ => Ok(Some(SkipReason::Unsupported)),
        })
    }

    /// The binding is called once and always, also where the phase is unavailable; the rules apply to what it returns.
    fn project(&self, event: &LifecycleEvent, outcome: LifecycleOutcome) -> Result<Projection, BindingError> {
        let applied = (self.apply_outcome)(event, outcome)?;
        Ok(project(&self.core.capabilities, event, applied))
    }

    fn is_stand_in(&self) -> bool {
        self.core.stand_in
    }
}

/// What both shapes have.
struct Core {
    id: String,
    declared: HostCapabilities,
    capabilities: NormalizedCapabilities,
    stand_in: bool,
}

/// Installs one asset, whose kind may be unavailable; `Some` is why it was skipped.
type Place<'a> = &'a dyn Fn(&PortableAsset, bool) -> Result<Option<SkipReason>, BindingError>;

impl Core {
    fn new(id: &str, declared: HostCapabilities) -> Self {
        let capabilities = normalize(&declared);
        Self { id: id.to_owned(), declared, capabilities, stand_in: false }
    }

    fn install(
        &self,
        assets: &[PortableAsset],
        place: Place<'_>,
    ) -> Result<InstallationReceipt, InstallError> {
        let mut receipt = InstallationReceipt::of(&self.id);
        for asset in assets {
            let (id, kind) = (asset.id.clone(), asset.kind);
            match place(asset, self.capabilities.install.get(kind).is_unavailable()) {
                Ok(None) => {
                    let digest = digest(asset.content.as_bytes());
                    receipt.installed.push(Installed { id, kind, digest });
                }
                Ok(Some(reason)) => receipt.skipped.push(Skipped { id, kind, reason }),
                Err(error) => {
                    receipt.stopped = Some(Stopped { id, kind, reason: error.reason().to_owned() });
                    return Err(InstallError { receipt: Box::new(receipt), error });
                }
            }
        }
        Ok(receipt)
    }
}
