//! Calls of tools as hosts and MCP servers make them: `tests/fixtures/policy/calls.txt`.

use super::cases::{checkout, place};
use super::judge;
use crate::policy::{Payload, Verdict};
use serde_json::{Value, json};

/// Each line is `block` or `allow`, a tool, and its arguments.
#[test]
fn calls_of_real_tools_are_decided_by_what_they_do() {
    let folder = checkout();
    let root = folder.path().join("ws");
    let mut wrong = Vec::new();
    for line in include_str!("../../../tests/fixtures/policy/calls.txt").lines() {
        let mut parts = line.splitn(3, ' ');
        let (Some(want), Some(tool), Some(arguments)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if want == "#" {
            continue;
        }
        let arguments: Value =
            serde_json::from_str(arguments).unwrap_or_else(|error| panic!("{line}: {error}"));
        let payload = json!({"tool_name": tool, "tool_input": arguments}).to_string();
        let verdict = judge(Payload::parse(&payload).as_ref(), &place(&root), false);
        let blocked = verdict != Verdict::Allow;
        if want != if blocked { "block" } else { "allow" } {
            wrong.push(format!("{line}   {verdict:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} other than wanted:\n{}", wrong.len(), wrong.join("\n"));
}
