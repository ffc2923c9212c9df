//! The vectors that the published package answered, and what no vector tells.
//!
//! Fixtures are in `tests/fixtures/conduit`; `TALLY_VECTOR_DIR` names a folder with more rows of the same files. Each test
//! says on standard error how many rows of each file it ran, how many we answer differently on purpose, and how many
//! no typed port can be asked, each with its reason.

mod adapters;
mod bind;
mod evidence;
mod install;
mod outcomes;
mod promises;

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How we answer a row.
enum Answer {
    /// As it is expected.
    Same,
    /// Otherwise, on purpose, for this reason.
    OnPurpose(&'static str),
    /// Not at all: no typed port can be asked this, for this reason.
    NotApplicable(&'static str),
}

/// A reason that several files share.
const NO_UNDEFINED: &str = "a binding cannot return nothing in place of an outcome";
const BYTE_ORDER: &str = "sorted by bytes, not by locale or UTF-16 units";

#[expect(clippy::disallowed_methods, reason = "where a test finds its rows is no setting of the product")]
fn folder() -> PathBuf {
    match std::env::var_os("TALLY_VECTOR_DIR") {
        Some(dir) if Path::new(&dir).join("conduit").is_dir() => Path::new(&dir).join("conduit"),
        Some(dir) => PathBuf::from(dir),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/conduit"),
    }
}

/// Asks for each row of `file`, which must have rows, and says what came of it.
fn each_row(file: &str, mut ask: impl FnMut(&Value) -> Answer) {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (mut rows, mut same) = (0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        rows += 1;
        match ask(&row) {
            Answer::Same => same += 1,
            Answer::OnPurpose(why) => {
                *reasons.entry(format!("different on purpose: {why}")).or_default() += 1
            }
            Answer::NotApplicable(why) => *reasons.entry(format!("not applicable: {why}")).or_default() += 1,
        }
    }
    assert!(same > 0, "{file} has nothing to hold us to");
    let mut said = format!("conduit/{file}: {rows} rows, {same} as expected");
    for (reason, count) in reasons {
        said.push_str(&format!("; {count} {reason}"));
    }
    // Past the capture of passing tests: how much was run is part of the result.
    writeln!(std::io::stderr(), "{said}").unwrap();
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("no {key} in {row}"))
}

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
