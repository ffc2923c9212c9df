//! What each host says, and the records that come of it. `tests/fixtures/hosts/<host>/` has a file per event, fired in the
//! order of their names: the payload, the records of both channels, the reply. Written by hand after the contract (A.2–A.9).

use crate::env::{TestEnv, lines};
use serde_json::Value;
use std::path::{Path, PathBuf};

const CLOCK_MS: &str = "1790000000000";

fn sorted(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|item| item.unwrap().path()).collect();
    paths.sort();
    paths
}

fn machine() -> TestEnv {
    let mut env = TestEnv::new();
    env.set("TALLY_CLOCK_MS", CLOCK_MS);
    env
}

fn channel(env: &TestEnv, name: &str) -> Vec<Value> {
    lines(&env.data_dir().join(format!("{name}.jsonl")))
}

/// Ids are random, but for that of a session's usage.
fn without_random_ids(records: &[Value]) -> Vec<Value> {
    let mut records = records.to_vec();
    for record in &mut records {
        let record = record.as_object_mut().unwrap();
        if !record["event_id"].as_str().unwrap().ends_with("-usage") {
            record.remove("event_id");
        }
    }
    records
}

#[test]
fn each_event_of_each_host_becomes_the_records_of_its_fixture() {
    let hosts = sorted(&crate::env::fixture("hosts"));
    assert_eq!(hosts.len(), 6);
    for host in hosts {
        let env = machine();
        let name = host.file_name().unwrap().to_str().unwrap().to_owned();
        let mut seen = [0, 0];
        for path in sorted(&host) {
            let text = std::fs::read_to_string(&path).unwrap();
            let text =
                text.replace("@CWD@", env.project().to_str().unwrap()).replace("@OS@", std::env::consts::OS);
            let fixture: Value = serde_json::from_str(&text).unwrap();
            let given = fixture["event"].as_str().map(|event| ["--event", event]);
            let args =
                [&["hook", name.as_str()][..], given.as_ref().map_or(&[], |given| &given[..])].concat();
            let output = env.feed(&args, fixture["payload"].to_string().as_bytes());
            let at = path.display();
            assert_eq!(output.status.code(), Some(0), "{at}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), fixture["reply"].as_str().unwrap(), "{at}");
            for (channel_name, seen) in ["full", "analytics"].into_iter().zip(&mut seen) {
                let records = channel(&env, channel_name);
                let new = without_random_ids(&records[*seen..]);
                *seen = records.len();
                assert_eq!(Value::from(new), fixture[channel_name], "{at}: {channel_name}: {}", env.log());
            }
        }
    }
}
