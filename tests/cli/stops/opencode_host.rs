//! opencode, as far as usage is concerned: its database, its messages, what its plugin says.

use super::hook;
use crate::env::TestEnv;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// When the first session was created.
pub(super) const T0: i64 = 1_794_300_000_000;

/// A host at work: its database in WAL mode, its connection open.
pub(super) struct Host {
    pub(super) database: Connection,
    pub(super) data: PathBuf,
}

impl Host {
    pub(super) fn new(env: &TestEnv) -> Self {
        Self::in_folder(&env.home().join(".local/share/opencode"))
    }

    pub(super) fn in_folder(data: &Path) -> Self {
        std::fs::create_dir_all(data).unwrap();
        let database = Connection::open(data.join("opencode.db")).unwrap();
        database.pragma_update(None, "journal_mode", "WAL").unwrap();
        // Tests write rows in what order suits them.
        database.pragma_update(None, "foreign_keys", "OFF").unwrap();
        // As the host's own migrations make them, as far as usage is concerned.
        let sql = "
            CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, slug TEXT NOT NULL,
              directory TEXT NOT NULL, title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER NOT NULL,
              time_updated INTEGER NOT NULL);
            CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES session(id) ON DELETE CASCADE,
              time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
            CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL REFERENCES message(id) ON DELETE CASCADE,
              session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
            CREATE INDEX session_parent_idx ON session (parent_id);
            CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
            CREATE INDEX part_message_id_id_idx ON part (message_id, id);
            CREATE INDEX part_session_idx ON part (session_id);";
        database.execute_batch(sql).unwrap();
        Self { database, data: data.to_path_buf() }
    }

    pub(super) fn session(&self, id: &str, parent: Option<&str>, directory: &Path, at: i64) -> &Self {
        let sql = "INSERT INTO session VALUES (?1, 'p', ?2, ?1, ?3, 'New session', '1.14.2', ?4, ?4)";
        self.database.execute(sql, (id, parent, directory.to_str(), at)).unwrap();
        self
    }

    pub(super) fn prompt(&self, session: &str, id: &str, at: i64) -> &Self {
        let data = json!({"role": "user", "time": {"created": at}, "agent": "build", "model": {"providerID": "anthropic", "modelID": MODEL}});
        self.message(session, id, at, &data)
    }

    /// An answer whose last step used `last`: input, output, cache reads.
    pub(super) fn answer(&self, session: &str, id: &str, at: i64, last: [i64; 3]) -> &Self {
        self.message(session, id, at, &answer(at, "build", last))
    }

    pub(super) fn message(&self, session: &str, id: &str, at: i64, data: &Value) -> &Self {
        let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)
            ON CONFLICT (id) DO UPDATE SET time_updated = excluded.time_updated, data = excluded.data";
        self.database.execute(sql, (id, session, at, data.to_string())).unwrap();
        self
    }

    /// The end of a step of `message`; a step of that id is overwritten in place.
    pub(super) fn step(&self, session: &str, message: &str, id: &str, at: i64, used: [i64; 3]) -> &Self {
        let data = json!({"type": "step-finish", "reason": "stop", "cost": 0, "tokens": counts(used)});
        self.part(session, message, id, at, &data)
    }

    pub(super) fn part(&self, session: &str, message: &str, id: &str, at: i64, data: &Value) -> &Self {
        let sql = "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)
            ON CONFLICT (id) DO UPDATE SET time_updated = excluded.time_updated, data = excluded.data";
        self.database.execute(sql, (id, message, session, at, data.to_string())).unwrap();
        self
    }

    /// A turn of one answer in one step.
    pub(super) fn turn(&self, session: &str, name: &str, at: i64, used: [i64; 3]) -> &Self {
        let [asked, answered, step] = ["msg_u", "msg_a", "prt_"].map(|kind| format!("{kind}{session}{name}"));
        self.prompt(session, &asked, at);
        self.step(session, &answered, &step, at + 1_000, used);
        self.answer(session, &answered, at + 1_000, used)
    }
}

pub(super) const MODEL: &str = "claude-sonnet-4-6";

/// All of the output but one token is reasoning.
pub(super) fn counts([input, output, read]: [i64; 3]) -> Value {
    json!({"input": input, "output": 1, "reasoning": output - 1, "cache": {"read": read, "write": 0}})
}

pub(super) fn answer(at: i64, agent: &str, last: [i64; 3]) -> Value {
    json!({
        "role": "assistant", "parentID": "msg_u", "modelID": MODEL, "providerID": "anthropic", "mode": agent, "agent": agent,
        "cost": 0, "tokens": counts(last), "finish": "stop", "time": {"created": at, "completed": at + 500}
    })
}

/// What the plugin says.
pub(super) fn say(env: &TestEnv, event: &str, session: &str) {
    let said = json!({"hook_event_name": event, "session_id": session, "cwd": env.project()});
    hook(env, "opencode", &said);
}
