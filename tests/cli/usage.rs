//! `tally usage`.

use crate::env::{TestEnv, fixture};
use serde_json::Value;

#[test]
fn r_without_transcripts_nothing_is_known_and_nothing_is_zero() {
    let env = TestEnv::new();
    let output = env.run(&["usage", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let usage: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(usage["total_cost_usd"], Value::Null);
    assert_eq!(usage["calls"], 0);
    assert!(fixture("cases/registry.json").exists());
}
