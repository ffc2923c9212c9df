use super::*;
use crate::usage::call::Observation;
use crate::usage::reader::Prompt;
use rusqlite::Connection;
use serde_json::{Value, json};

#[derive(Default)]
struct Heard {
    calls: Vec<(String, i64, i64)>,
    prompts: usize,
}

impl Receiver for Heard {
    fn call(&mut self, seen: Observation<'_>) {
        let session = seen.session.unwrap_or_default().into_owned();
        self.calls.push((session, seen.tokens.input, seen.tokens.output));
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {
        self.prompts += 1;
    }
}

/// A database of opencode's own shape, with its indices.
fn database(path: &Path) -> Connection {
    let database = Connection::open(path).unwrap();
    let sql = "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
                              time_updated INTEGER NOT NULL, data TEXT NOT NULL);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
                           time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
        CREATE INDEX message_session_idx ON message (session_id);
        CREATE INDEX part_message_idx ON part (message_id);
        CREATE INDEX part_session_idx ON part (session_id);";
    database.execute_batch(sql).unwrap();
    database
}

fn session(to: &Connection, id: &str, created: i64) {
    to.execute("INSERT INTO session VALUES (?1, NULL, ?2, ?2)", (id, created)).unwrap();
}

fn message(to: &Connection, id: &str, session: &str, at: i64, data: &Value) {
    let sql = "INSERT OR REPLACE INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
    to.execute(sql, (id, session, at, data.to_string())).unwrap();
}

fn part(to: &Connection, id: &str, message: &str, session: &str, at: i64, data: &Value) {
    let sql = "INSERT OR REPLACE INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
    to.execute(sql, (id, message, session, at, data.to_string())).unwrap();
}

fn tokens(input: i64) -> Value {
    json!({"input": input, "output": 2, "reasoning": 3, "cache": {"read": 0, "write": 0}})
}

fn answer(created: i64, input: i64) -> Value {
    json!({"role": "assistant", "modelID": "claude-sonnet-4-6", "time": {"created": created, "completed": created + 1}, "tokens": tokens(input)})
}

fn step(input: i64) -> Value {
    json!({"type": "step-finish", "reason": "stop", "cost": 0, "tokens": tokens(input)})
}

fn hear_all(path: &Path) -> (Heard, Diagnostics) {
    let (mut heard, mut met) = (Heard::default(), Diagnostics::default());
    all(path, &mut Known::new(), &mut heard, &mut met).unwrap();
    heard.calls.sort();
    (heard, met)
}

fn call(session: &str, input: i64) -> (String, i64, i64) {
    (session.to_owned(), input, 5)
}

#[test]
fn steps_count_and_a_message_counts_where_it_has_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let db = database(&path);
    session(&db, "s", 100);
    message(&db, "u", "s", 101, &json!({"role": "user", "time": {"created": 101}}));
    message(&db, "m1", "s", 102, &answer(102, 20));
    part(&db, "p1", "m1", "s", 103, &step(10));
    part(&db, "p2", "m1", "s", 104, &step(20));
    part(
        &db,
        "p3",
        "m1",
        "s",
        104,
        &json!({"type": "text", "text": "a step-finish that is text", "tokens": tokens(900)}),
    );
    part(&db, "p4", "m1", "s", 104, &json!({"type": "tool", "output": "step-finish".repeat(5_000)}));
    message(&db, "m2", "s", 105, &answer(105, 40));
    let (heard, met) = hear_all(&path);
    assert_eq!(heard.calls, [call("s", 10), call("s", 20), call("s", 40)]);
    assert_eq!((heard.prompts, met), (1, Diagnostics::default()));
}

#[test]
fn what_a_fork_copied_is_its_parents() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let db = database(&path);
    session(&db, "fork", 200);
    message(&db, "c1", "fork", 102, &answer(102, 20));
    part(&db, "cp1", "c1", "fork", 103, &step(20));
    message(&db, "c2", "fork", 105, &answer(105, 40));
    message(&db, "own", "fork", 201, &answer(201, 80));
    message(&db, "elsewhere", "unknown", 1, &answer(1, 160));
    let (heard, met) = hear_all(&path);
    assert_eq!(heard.calls, [call("fork", 80), call("unknown", 160)]);
    assert_eq!(met.echoes_skipped, 2);
}

#[test]
fn news_are_what_changed_and_an_overwritten_row_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let db = database(&path);
    for name in ["s", "other"] {
        session(&db, name, 100);
        message(&db, &format!("{name}1"), name, 102, &answer(102, 20));
        part(&db, &format!("{name}p1"), &format!("{name}1"), name, 103, &step(10));
    }
    let read = |since: i64| {
        let (mut heard, mut met) = (Heard::default(), Diagnostics::default());
        let mut types = BTreeMap::new();
        let latest = news(&path, "s", Ask { since, all: true }, &mut types, &mut heard, &mut met).unwrap();
        (heard.calls, latest.unwrap())
    };
    assert_eq!(read(0), (vec![call("s", 10)], 103));
    // The message is overwritten by its second step; the first step is old, and there is no second call of it.
    message(&db, "s1", "s", 110, &answer(102, 20));
    assert_eq!(read(104), (vec![], 110));
    part(&db, "sp2", "s1", "s", 111, &step(20));
    assert_eq!(read(110), (vec![call("s", 20)], 111));
    assert_eq!(read(112), (vec![], 112));
}

#[test]
fn what_is_broken_costs_itself_and_another_schema_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let db = database(&path);
    session(&db, "s", 100);
    db.execute("INSERT INTO message VALUES ('bad', 's', 1, 1, '{')", []).unwrap();
    db.execute("INSERT INTO message VALUES ('blob', 's', 1, 1, x'00ff')", []).unwrap();
    message(&db, "negative", "s", 105, &answer(105, -1));
    message(&db, "good", "s", 106, &answer(106, 40));
    let (heard, met) = hear_all(&path);
    assert_eq!((heard.calls, met.unreadable_lines), (vec![call("s", 40)], 3));
    db.execute_batch("DROP TABLE part").unwrap();
    let none = all(&path, &mut Known::new(), &mut Heard::default(), &mut Diagnostics::default());
    assert!(none.unwrap_err().to_string().contains("part"));
}
