//! Many processes at one stream.

use super::{events, json, stream};
use crate::env::TestEnv;
use std::collections::BTreeMap;
use std::process::Stdio;

#[test]
fn of_many_who_want_it_free_exactly_one_gets_it() {
    let env = TestEnv::new();
    let children: Vec<_> = (0..32)
        .map(|at| {
            let mut command =
                env.command(&["liveness", "claim", "s", "--if-free", "--actor", &format!("a{at}")]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut codes = BTreeMap::new();
    for child in children {
        *codes.entry(child.wait_with_output().unwrap().status.code().unwrap()).or_insert(0) += 1;
    }
    assert_eq!(codes, BTreeMap::from([(0, 1), (3, 31)]));
    assert_eq!(events(&env).len(), 1);
}

/// Each worker acts alone under its own name, so what its pairs must come to is known; the whole stream is shared, and
/// compacted in between.
#[test]
fn no_event_of_many_workers_is_lost_or_torn() {
    const WORKERS: usize = 8;
    const ROUNDS: usize = 20;
    const SUBJECTS: usize = 40;
    let env = TestEnv::new();
    let models: Vec<BTreeMap<(String, String), &str>> = std::thread::scope(|scope| {
        let env = &env;
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                scope.spawn(move || {
                    let actor = format!("w{worker}");
                    let mut model = BTreeMap::new();
                    for round in 0..ROUNDS {
                        let subject = format!("s{:02}", (worker * 7 + round * 11 % 5) % SUBJECTS);
                        let claimed = model.contains_key(&(subject.clone(), actor.clone()));
                        let verb = match round % 3 {
                            _ if !claimed => "claim",
                            0 => "claim",
                            1 => "heartbeat",
                            _ => "release",
                        };
                        let output = env.run(&["liveness", verb, &subject, "--actor", &actor]);
                        assert_eq!(output.status.code(), Some(0), "{output:?}");
                        let label = if verb == "release" { "released" } else { "held" };
                        model.insert((subject, actor.clone()), label);
                        if worker == 0 && round == ROUNDS / 2 {
                            assert_eq!(env.run(&["liveness", "compact"]).status.code(), Some(0));
                        }
                    }
                    model
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let model: BTreeMap<_, _> = models.into_iter().flatten().collect();
    let status = json(&env, &["status"]);
    let standing: BTreeMap<_, _> = status["claims"]
        .as_array()
        .unwrap()
        .iter()
        .map(|claim| {
            let text = |name: &str| claim[name].as_str().unwrap();
            ((text("subjectId").to_owned(), text("actor").to_owned()), text("label"))
        })
        .collect();
    assert_eq!(standing, model);
    let text = std::fs::read_to_string(stream(&env)).unwrap();
    assert_eq!(events(&env).len(), text.lines().count(), "every line is an event");
}
