//! What a log says of each command.

use std::collections::BTreeMap;

use serde_json::Value;

use super::chain::{self, Line};
use super::normalized;
use crate::evidence::outcome::{self, Observed, Outcome};
use crate::evidence::shell;

/// What the runs of one command came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// The run that weighs most: a failure before a pass, a pass before no signal.
    pub worst: Observed,
    /// The last run; but one without a signal does not undo a failure, only a pass does.
    pub latest: Observed,
}

/// The runs in `log` by command, as [`normalized`] spells it. Lines that are no records of a command are passed over:
/// [`chain::verify`] tells whether that is harmless.
#[must_use]
pub fn reduce(log: &[u8]) -> BTreeMap<String, Runs> {
    let mut commands: BTreeMap<String, Runs> = BTreeMap::new();
    for line in chain::lines(log).filter_map(Line::of) {
        let Some(Value::String(command)) = line.value("command") else { continue };
        let command = normalized(&command);
        let run = observed(&line, &command);
        if command.is_empty() {
            continue;
        }
        let runs = commands.entry(command).or_insert(Runs { worst: run, latest: run });
        if run.result >= runs.worst.result {
            runs.worst = run;
        }
        if !(run.result == Outcome::Ambiguous && runs.latest.result == Outcome::Fail) {
            runs.latest = run;
        }
    }
    commands
}

/// What a record says. Its word for the result is not enough for a pass: the code must be 0 as well.
fn observed(line: &Line<'_>, command: &str) -> Observed {
    let code = line.value("exitCode").as_ref().and_then(outcome::whole);
    let says = |result: Outcome| line.value("observedResult").is_some_and(|told| told == result.as_str());
    let result = match code {
        Some(Some(0)) if says(Outcome::Pass) => Outcome::Pass,
        Some(None) => Outcome::Fail,
        Some(Some(code)) if code != 0 => outcome::of_code(code, command),
        _ if says(Outcome::Fail) => Outcome::Fail,
        _ => Outcome::Ambiguous,
    };
    Observed { result, exit_code: code.flatten() }
}

/// Whether the command hides the exit code of what it runs: `||` anywhere, `| true`, or `true`, `:`, `exit 0` or
/// `/bin/true` after `;` or a line break. A command that is claimed to verify something has no need of these.
#[must_use]
pub fn launders(command: &str) -> bool {
    let after = |separators: &[char], hides: fn(&str) -> bool| {
        command.match_indices(separators).any(|(at, separator)| {
            let rest = command.get(at + separator.len()..).unwrap_or_default();
            hides(rest.trim_start_matches(shell::is_space))
        })
    };
    command.contains("||")
        || after(&['|'], |rest| starts_with_word(rest, "true"))
        || after(&[';', '\n'], |rest| {
            starts_with_word(rest, "true")
                || starts_with_word(rest, "/bin/true")
                || rest.strip_prefix(':').is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with(shell::is_space) || rest.starts_with(';')
                })
                || rest.strip_prefix("exit").is_some_and(|rest| {
                    rest.starts_with(shell::is_space)
                        && starts_with_word(rest.trim_start_matches(shell::is_space), "0")
                })
        })
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word)
        .is_some_and(|rest| !rest.starts_with(|next: char| next == '_' || next.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const GOLDEN: &str = include_str!("../../../tests/fixtures/flow-agents/golden/laundering.jsonl");
    const VECTORS: &str = include_str!("../../../tests/fixtures/policy/command-log.jsonl");

    #[test]
    fn golden_laundering() {
        for line in GOLDEN.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            assert_eq!(launders(row["command"].as_str().unwrap()), row["laundering"], "{line}");
        }
        assert_eq!(GOLDEN.lines().count(), 12);
    }

    #[test]
    fn vectors_of_laundering_and_of_bare_searches() {
        let mut count = 0;
        for line in VECTORS.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let judge: fn(&str) -> bool = match row["fn"].as_str().unwrap() {
                "hasLaunderingOperator" => launders,
                "isAmbiguousAbsenceCommand" => shell::is_bare_search,
                _ => continue,
            };
            assert_eq!(judge(row["args"][0].as_str().unwrap()), row["expect"]["both"], "{line}");
            count += 1;
        }
        assert_eq!(count, 33);
    }

    fn runs(records: &[(&str, Value)]) -> (Outcome, Outcome) {
        let line = |(result, code): &(&str, Value)| {
            json!({"command": " npm  test", "observedResult": result, "exitCode": code}).to_string()
        };
        let log: Vec<String> = records.iter().map(line).collect();
        let reduced = reduce(log.join("\n").as_bytes());
        assert_eq!(reduced.keys().collect::<Vec<_>>(), ["npm test"]);
        (reduced["npm test"].worst.result, reduced["npm test"].latest.result)
    }

    #[test]
    fn a_later_run_without_a_signal_does_not_undo_a_failure() {
        use Outcome::{Ambiguous, Fail, Pass};
        let (pass, fail, none) = (("pass", json!(0)), ("fail", json!(1)), ("ambiguous", json!(null)));
        assert_eq!(runs(&[fail.clone(), none.clone()]), (Fail, Fail));
        assert_eq!(runs(&[fail.clone(), none.clone(), pass.clone()]), (Fail, Pass));
        assert_eq!(runs(&[pass.clone(), none.clone()]), (Pass, Ambiguous));
        assert_eq!(runs(&[none.clone(), pass.clone()]), (Pass, Pass));
        assert_eq!(runs(&[pass, fail]), (Fail, Fail));
        assert_eq!(runs(&[none]), (Ambiguous, Ambiguous));
    }

    #[test]
    fn a_record_is_a_pass_only_with_code_zero() {
        use Outcome::{Ambiguous, Fail};
        assert_eq!(runs(&[("pass", json!(null))]).0, Ambiguous);
        assert_eq!(runs(&[("pass", json!(2))]).0, Fail);
        assert_eq!(runs(&[("pass", json!(1e21))]).0, Fail);
        assert_eq!(runs(&[("ok", json!(0))]).0, Ambiguous);
        assert_eq!(runs(&[("fail", json!(0))]).0, Fail);
    }
}
