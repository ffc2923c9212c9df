//! The first thing that a new user runs.

use crate::env::TestEnv;

#[test]
fn the_demo_shows_the_whole_job_and_holds_itself_to_it() {
    let mut env = TestEnv::new();
    let scratch = env.home();
    env.set("TMPDIR", scratch.to_str().unwrap());
    let output = env.run(&["demo"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    // Nine hook calls: a start, two prompts, a call with its result, a subagent, two stops with news, an end.
    assert!(shown.contains("2 of 2 records, 11 of 11 events"), "{shown}");
    assert!(shown.contains("1 session.start, 2 turn.user, 2 session.usage, 3 session.end, 1 tool.invoke, 1 tool.result, 1 unknown"), "{shown}");
    assert!(shown.contains("authorization: Bearer \u{2022}"), "{shown}");
}
