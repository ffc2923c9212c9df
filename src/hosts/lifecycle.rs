//! Binding an adapter to the hooks of a framework: for each phase that the host has, one handler.
//!
//! A handler refuses an event of another phase before the application sees it, asks the application, and projects what
//! it says. An error is the handler's error: there is no outcome in its place, and the next event is not affected.

use super::adapter::{BindingError, HostAdapter};
use super::outcome::{LifecycleEvent, LifecycleOutcome, Projection};
use super::words::Phase;
use std::rc::Rc;

/// The application's policy.
pub type Evaluate<'a> = Rc<dyn Fn(&LifecycleEvent) -> Result<LifecycleOutcome, BindingError> + 'a>;
/// What a framework calls at a phase.
pub type Handler<'a> = Box<dyn Fn(&LifecycleEvent) -> Result<Projection, DispatchError> + 'a>;
/// Takes a handler out of a framework again.
pub type Disposer<'a> = Box<dyn FnOnce() + 'a>;

/// The framework's own hooks.
pub trait LifecycleRegistrar<'a> {
    /// Attaches `handler` to the hook of `phase`, and returns how to detach it, if that can be done.
    ///
    /// # Errors
    /// When the framework refuses it.
    fn register(&mut self, phase: Phase, handler: Handler<'a>) -> Result<Option<Disposer<'a>>, BindingError>;
}

/// An event that led to no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DispatchError {
    /// The framework called the handler of another phase.
    #[error("Lifecycle registrar dispatched {got} to {registered}")]
    WrongPhase {
        /// The event's phase.
        got: Phase,
        /// The handler's phase.
        registered: Phase,
    },
    /// The application or the adapter failed.
    #[error(transparent)]
    Binding(#[from] BindingError),
}

/// Handlers that are attached. Dropping it detaches them, in the reverse of their order, once.
#[must_use = "dropping a binding detaches its handlers"]
pub struct LifecycleBinding<'a> {
    disposers: Vec<Disposer<'a>>,
}

impl Drop for LifecycleBinding<'_> {
    fn drop(&mut self) {
        while let Some(dispose) = self.disposers.pop() {
            dispose();
        }
    }
}

/// Attaches a handler for each phase that `adapter` has.
///
/// ```
/// use std::rc::Rc;
/// use tally::hosts::{self, BindingError, Decision, Disposer, Handler, LifecycleEvent, LifecycleOutcome};
/// use tally::hosts::{LifecycleRegistrar, Phase};
///
/// #[derive(Default)]
/// struct Framework<'a>(Vec<(Phase, Handler<'a>)>);
/// impl<'a> LifecycleRegistrar<'a> for Framework<'a> {
///     fn register(&mut self, phase: Phase, handler: Handler<'a>) -> Result<Option<Disposer<'a>>, BindingError> {
///         self.0.push((phase, handler));
///         Ok(None)
///     }
/// }
///
/// let mut framework = Framework::default();
/// let adapter = Rc::new(hosts::codex(Box::new(|_| Ok(None)), Box::new(|_, _| Ok(()))));
/// let deny_all = Rc::new(|_: &LifecycleEvent| Ok(LifecycleOutcome::of(Decision::Deny)));
/// let _bound = hosts::bind_adapter_lifecycle(adapter, &mut framework, deny_all)?;
/// let phases: Vec<&str> = framework.0.iter().map(|(phase, _)| phase.as_str()).collect();
/// assert_eq!(phases, ["before-tool", "stop"]);
/// let event = LifecycleEvent { phase: Phase::Stop, session_id: "s".into(), context: None };
/// assert_eq!(framework.0[1].1(&event)?.outcome.decision, Decision::Observe, "codex cannot block a stop");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the framework refuses a handler; those that were attached before are detached again.
pub fn bind_adapter_lifecycle<'a>(
    adapter: Rc<dyn HostAdapter + 'a>,
    registrar: &mut dyn LifecycleRegistrar<'a>,
    evaluate: Evaluate<'a>,
) -> Result<LifecycleBinding<'a>, BindingError> {
    let mut bound = LifecycleBinding { disposers: vec![] };
    for &registered in Phase::ALL {
        if adapter.capabilities().lifecycle.get(registered).is_unavailable() {
            continue;
        }
        let (adapter, evaluate) = (Rc::clone(&adapter), Rc::clone(&evaluate));
        let handler: Handler<'a> = Box::new(move |event| {
            if event.phase != registered {
                return Err(DispatchError::WrongPhase { got: event.phase, registered });
            }
            Ok(adapter.project(event, evaluate(event)?)?)
        });
        bound.disposers.extend(registrar.register(registered, handler)?);
    }
    Ok(bound)
}
