//! opencode's files of older versions, alone and beside a database.

use super::opencode_host::{Host, T0, answer, counts, say};
use super::{assert_add_up, records_of};
use crate::env::TestEnv;
use crate::transcript::tokens;
use serde_json::{Value, json};
use std::path::PathBuf;

struct Files(PathBuf);

impl Files {
    fn new(env: &TestEnv) -> Self {
        Self(env.home().join(".local/share/opencode/storage"))
    }

    fn write(&self, path: &str, data: &Value) -> &Self {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, data.to_string()).unwrap();
        self
    }

    fn session(&self, id: &str, parent: Option<&str>, at: i64) -> &Self {
        let data = json!({"id": id, "parentID": parent, "time": {"created": at, "updated": at}});
        self.write(&format!("session/prj/{id}.json"), &data)
    }

    fn answer(&self, session: &str, id: &str, at: i64, used: [i64; 3]) -> &Self {
        self.write(&format!("message/{session}/{id}.json"), &answer(at, "general", used))
    }

    fn step(&self, message: &str, id: &str, used: [i64; 3]) -> &Self {
        let data = json!({"type": "step-finish", "tokens": counts(used)});
        self.write(&format!("part/{message}/{id}.json"), &data)
    }
}

fn all(records: &[Value]) -> Vec<[i64; 3]> {
    records.iter().map(tokens).collect()
}

#[test]
fn files_alone_yield_the_delta_of_each_stop() {
    let env = TestEnv::new();
    let files = Files::new(&env);
    files.session("ses_1", None, T0).session("ses_other", None, T0);
    files.answer("ses_other", "msg_o", T0 + 1_000, [900, 900, 900]);
    files.step("msg_1", "prt_1", [10, 20, 30]).answer("ses_1", "msg_1", T0 + 1_000, [10, 20, 30]);
    say(&env, "Stop", "ses_1");
    // The message goes on with a second step; a subagent answers.
    files.step("msg_1", "prt_2", [1, 2, 3]).answer("ses_1", "msg_1", T0 + 1_000, [1, 2, 3]);
    files.session("ses_kid", Some("ses_1"), T0 + 2_000).answer("ses_kid", "msg_k", T0 + 3_000, [4, 5, 6]);
    say(&env, "SubagentStop", "ses_kid");
    say(&env, "Stop", "ses_1");
    let records = records_of(&env, "ses_1");
    assert_eq!(all(&records), [[10, 20, 30], [5, 7, 9]]);
    let row = &records[1]["delegations"][0];
    assert_eq!(
        (&row["agent_id"], &row["role"], &row["input_tokens"]),
        (&json!("ses_kid"), &json!("general"), &json!(4))
    );
    say(&env, "Stop", "ses_other");
    assert_add_up(&env, [915, 927, 939]);
    assert_eq!(env.log(), "");
}

#[test]
fn a_session_that_moved_from_files_to_the_database_is_billed_once() {
    let env = TestEnv::new();
    let files = Files::new(&env);
    files.session("ses_1", None, T0);
    files.step("msg_1", "prt_1", [10, 20, 30]).answer("ses_1", "msg_1", T0 + 1_000, [10, 20, 30]);
    say(&env, "Stop", "ses_1");
    // The migration copies rows and leaves the files; the session goes on in the database.
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0);
    host.step("ses_1", "msg_1", "prt_1", T0 + 70_000, [10, 20, 30]).answer(
        "ses_1",
        "msg_1",
        T0 + 70_000,
        [10, 20, 30],
    );
    host.step("ses_1", "msg_2", "prt_2", T0 + 80_000, [1, 2, 3]).answer(
        "ses_1",
        "msg_2",
        T0 + 80_000,
        [1, 2, 3],
    );
    say(&env, "Stop", "ses_1");
    assert_eq!(all(&env.records()), [[10, 20, 30], [1, 2, 3]]);
    assert_add_up(&env, [11, 22, 33]);
}

#[test]
fn a_message_in_both_counts_once_from_the_first_stop_on() {
    let env = TestEnv::new();
    let files = Files::new(&env);
    // The file has the message whole; the database has its two steps. A second message is in the files alone.
    files.session("ses_1", None, T0).answer("ses_1", "msg_1", T0 + 1_000, [10, 20, 30]);
    files.answer("ses_1", "msg_0", T0 + 500, [100, 100, 100]);
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0);
    host.step("ses_1", "msg_1", "prt_0", T0 + 1_000, [5, 6, 7]).step(
        "ses_1",
        "msg_1",
        "prt_1",
        T0 + 1_000,
        [10, 20, 30],
    );
    host.answer("ses_1", "msg_1", T0 + 1_000, [10, 20, 30]);
    say(&env, "Stop", "ses_1");
    assert_eq!(all(&env.records()), [[115, 126, 137]]);
    assert_add_up(&env, [115, 126, 137]);
}
