//! What flow-agents answers for 29 transcripts (`usage-transcripts`). Where Tally answers otherwise the row is in the
//! table with our answer, and in `docs/differences/usage.md` with the reason; a row that no longer differs fails too.

use super::{is_cost, write};
use crate::env::{TestEnv, fixture};
use serde_json::{Value, json};

/// Rows that name a transcript which flow-agents does not publish.
const NOT_SHIPPED: usize = 11;

struct Row {
    number: usize,
    answers: Value,
    transcript: Option<Vec<u8>>,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(fixture("flow-agents/golden/usage-transcripts.jsonl")).unwrap();
    let row = |(at, line): (usize, &str)| {
        let answers: Value = serde_json::from_str(line).unwrap();
        let transcript = match answers["inline"].as_str() {
            Some(text) => Some(text.as_bytes().to_vec()),
            None => shipped(answers["fixture"].as_str().unwrap()),
        };
        Row { number: at + 1, answers, transcript }
    };
    text.lines().enumerate().map(row).collect()
}

fn shipped(name: &str) -> Option<Vec<u8>> {
    let path = fixture("flow-agents").join(name.strip_prefix("v6.3.0/fixtures/")?);
    std::fs::read(path).ok()
}

/// Our answer for a transcript, at the incumbent's prices.
fn ours(transcript: &[u8]) -> Value {
    let env = TestEnv::new();
    write(&env.project().join("t.jsonl"), transcript);
    let registry = fixture("flow-agents/pricing.json");
    let output = env.run(&["usage", "--json", "--pricing", registry.to_str().unwrap(), "t.jsonl"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether our answer has the incumbent's models, tokens and costs. No usage there is no call here.
fn agrees(theirs: &Value, ours: &Value) -> bool {
    let empty = vec![];
    let models = theirs["by_model"].as_array().unwrap_or(&empty);
    let total = match theirs["estimated_cost_usd"].as_f64() {
        // The incumbent rounds a session's cost to the millionth.
        Some(cost) => ours["total_cost_usd"].as_f64().is_some_and(|ours| (ours - cost).abs() <= 5.1e-7),
        None => ours["total_cost_usd"].is_null(),
    };
    let same = |row: &Value| {
        let ours = &ours["by_model"][row["model"].as_str().unwrap()];
        let written =
            ours["cache_write_5m"].as_i64().zip(ours["cache_write_1h"].as_i64()).map(|(a, b)| a + b);
        ours["input"] == row["input_tokens"]
            && ours["output"] == row["output_tokens"]
            && ours["cache_read"] == row["cache_read_input_tokens"]
            && json!(written) == row["cache_creation_input_tokens"]
            && row["estimated_cost_usd"].as_f64().is_some_and(|cost| is_cost(&ours["cost_usd"], cost))
    };
    total && ours["by_model"].as_object().unwrap().len() == models.len() && models.iter().all(same)
}

/// Input and output tokens of `claude-opus-4-8` and the cost; `None` when nothing was billed.
type Answer = Option<(i64, i64, f64)>;

/// The rows in which our answer is not that of flow-agents 6.x.
fn different() -> Vec<(usize, Answer)> {
    // 1,000 × 5 + 100 × 25 = 7,500
    let first_line = Some((1_000, 100, 0.0075));
    vec![
        (14, first_line),
        (15, first_line),
        (16, None),
        (17, first_line),
        (20, None),
        (21, None),
        (23, first_line),
        (24, first_line),
        (26, first_line),
        (27, first_line),
        (29, None),
    ]
}

#[test]
fn every_row_has_its_recorded_answer_or_the_specified_one() {
    let rows = rows();
    assert_eq!(rows.len(), 29);
    let different = different();
    let (mut read, mut same) = (0, 0);
    for row in &rows {
        let Some(transcript) = &row.transcript else { continue };
        read += 1;
        let ours = ours(transcript);
        let theirs = &row.answers["session_6.x"];
        let Some((_, expected)) = different.iter().find(|(number, _)| *number == row.number) else {
            assert!(agrees(theirs, &ours), "row {}: {ours} instead of {theirs}", row.number);
            same += 1;
            continue;
        };
        assert!(!agrees(theirs, &ours), "row {} is no difference", row.number);
        match expected {
            None => {
                assert_eq!((&ours["calls"], &ours["by_model"]), (&json!(0), &json!({})), "row {}", row.number)
            }
            Some((input, output, cost)) => {
                let model = &ours["by_model"]["claude-opus-4-8"];
                assert_eq!(
                    (&model["input"], &model["output"]),
                    (&json!(input), &json!(output)),
                    "row {}",
                    row.number
                );
                assert!(is_cost(&ours["total_cost_usd"], *cost), "row {}: {ours}", row.number);
            }
        }
    }
    assert_eq!((read, same), (29 - NOT_SHIPPED, 29 - NOT_SHIPPED - different.len()));
}

#[test]
fn one_response_on_two_lines_is_billed_once_where_flow_agents_3_bills_it_twice() {
    let rows = rows();
    let row = rows.iter().find(|row| row.number == 18).unwrap();
    assert_eq!(row.answers["session_3.4.1"]["input_tokens"], 2_000);
    assert_eq!(ours(row.transcript.as_ref().unwrap())["by_model"]["claude-opus-4-8"]["input"], 1_000);
}
