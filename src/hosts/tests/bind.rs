//! Lifecycle binding, in a framework that writes down what it is asked.

use super::adapters::{described, event, failure, outcome};
use super::{Answer, each_row, text};
use crate::hosts::{
    BindingError, Decision, Disposer, Handler, HostAdapter, HostCapabilities, InstallError,
    InstallationReceipt, LifecycleEvent, LifecycleOutcome, LifecycleRegistrar, Phase, PortableAsset,
    Projection, bind_adapter_lifecycle,
};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

type Trace = Rc<RefCell<Vec<String>>>;

struct Framework<'a> {
    row: &'a Value,
    trace: Trace,
    handlers: Vec<(Phase, Handler<'a>)>,
}

impl<'a> LifecycleRegistrar<'a> for Framework<'a> {
    fn register(&mut self, phase: Phase, handler: Handler<'a>) -> Result<Option<Disposer<'a>>, BindingError> {
        self.trace.borrow_mut().push(format!("register:{phase}"));
        if self.row["registerThrows"] == phase.as_str() {
            return Err(failure("register failed"));
        }
        self.handlers.push((phase, handler));
        let disposable = self.row["disposers"].as_array().unwrap().contains(&phase.as_str().into());
        let trace = Rc::clone(&self.trace);
        let dispose: Disposer<'a> = Box::new(move || trace.borrow_mut().push(format!("dispose:{phase}")));
        Ok(disposable.then_some(dispose))
    }
}

/// Writes down that it is asked to project.
struct Traced(Box<dyn HostAdapter>, Trace);

impl HostAdapter for Traced {
    fn id(&self) -> &str {
        self.0.id()
    }
    fn capabilities(&self) -> &HostCapabilities {
        self.0.capabilities()
    }
    fn install(&self, assets: &[PortableAsset]) -> Result<InstallationReceipt, InstallError> {
        self.0.install(assets)
    }
    fn project(&self, event: &LifecycleEvent, outcome: LifecycleOutcome) -> Result<Projection, BindingError> {
        self.1.borrow_mut().push(format!("project:{}", event.phase));
        self.0.project(event, outcome)
    }
}

#[test]
fn lifecycles_are_bound_as_expected() {
    each_row("bind.jsonl", |row| {
        let dispatched = row["dispatch"].as_array().unwrap();
        if dispatched.iter().any(|call| Phase::parse(text(&call["event"], "phase")).is_none()) {
            return Answer::NotApplicable("a phase that there is not");
        }
        let trace = Trace::default();
        let log = |line: String| trace.borrow_mut().push(line);
        let adapter = Rc::new(Traced(described(&row["adapter"]), Rc::clone(&trace)));
        let evaluated = Rc::clone(&trace);
        let evaluate = move |event: &LifecycleEvent| {
            evaluated.borrow_mut().push(format!("evaluate:{}", event.phase));
            let said = &row["evaluate"][event.phase.as_str()];
            match said.get("throw") {
                Some(message) => Err(failure(message.as_str().unwrap())),
                None if said.is_null() => Ok(LifecycleOutcome::of(Decision::Allow)),
                None => Ok(outcome(said)),
            }
        };
        let mut framework = Framework { row, trace: Rc::clone(&trace), handlers: vec![] };
        let bound = bind_adapter_lifecycle(adapter, &mut framework, Rc::new(evaluate));
        let expected: Vec<&str> =
            row["trace"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
        let bound = match bound {
            Ok(bound) => bound,
            Err(error) => {
                assert_eq!(error.to_string(), text(&row["bind_error"], "message"));
                let (asked, undone) = trace.borrow().split_at(expected.len()).clone_both();
                assert_eq!(asked, expected);
                assert_eq!(undone, ["dispose:before-tool", "dispose:before-model", "dispose:session-start"]);
                return Answer::OnPurpose("a binding that fails midway is undone");
            }
        };
        let mut results = vec![];
        for call in dispatched {
            let phase = Phase::parse(text(call, "handler")).unwrap();
            let Some((_, handler)) = framework.handlers.iter().find(|(other, _)| *other == phase) else {
                results.push(json!({"unregistered": true}));
                continue;
            };
            results.push(match handler(&event(&call["event"])) {
                Ok(got) => json!({ "ok": got.outcome }),
                Err(error) => json!({ "error": error.to_string() }),
            });
        }
        assert_eq!(row["results"], Value::from(results), "{}", row["id"]);
        if row["disposeCalls"] == 0 {
            assert_eq!(*trace.borrow(), expected, "{}", row["id"]);
            return Answer::Same;
        }
        log("dispose()".to_owned());
        drop(bound);
        if row.get("disposeThrows").is_some() {
            assert_eq!(trace.borrow()[..expected.len()], expected);
            return Answer::OnPurpose("a disposer cannot fail, so none is left out");
        }
        if row["disposeCalls"] != 1 {
            assert_eq!(*trace.borrow(), expected[..trace.borrow().len()], "{}", row["id"]);
            return Answer::OnPurpose("a binding is undone once");
        }
        assert_eq!(*trace.borrow(), expected, "{}", row["id"]);
        Answer::Same
    });
}

trait CloneBoth {
    fn clone_both(self) -> (Vec<String>, Vec<String>);
}

impl CloneBoth for (&[String], &[String]) {
    fn clone_both(self) -> (Vec<String>, Vec<String>) {
        (self.0.to_vec(), self.1.to_vec())
    }
}
