//! The chain of a command log: each record holds the hash of itself and of the one before.
//!
//! `hash = sha256(prevHash ‖ record)`, in hexadecimal, where the record is its JSON without `_chain`, its keys in the order
//! in which JavaScript lists them once they are sorted. The values are hashed as they stand in the line: who writes the
//! log writes JSON as `JSON.stringify` does, and parsing a number or a half of a surrogate pair could only change it.
//!
//! The chain makes a change visible; it does not keep anyone from rewriting all of it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::evidence::shell;
use crate::sys::hex::hex;

/// What the first record has in the place of a hash.
pub const GENESIS: &str = "a3f9e2b7d5c84f1e6a0d2c3b9f7e1a4d8c6b5f2e9a0d3c7b1f4e8a2d6c0b9f3";

/// The largest whole number that JavaScript is sure of.
const MAX_SEQ: u64 = (1 << 53) - 1;

/// Sources of which two may have written at once without ill intent.
const CAPTURES: [&str; 2] = [super::SOURCE, "canonical-writer-execution"];

/// One line that is an object, its values as they are written.
pub(super) struct Line<'a>(BTreeMap<String, &'a RawValue>);

/// Where a record stands in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number, from 0.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// What a whole log is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No record is chained: from before there was a chain.
    Legacy,
    /// Each record follows from an earlier one.
    Whole,
    /// As whole, but two captures follow from the same record, first at this line: they raced.
    Forked(usize),
    /// A record was changed, taken out or put in: the first that does not fit is this line.
    Broken(usize),
}

impl<'a> Line<'a> {
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok().map(Self)
    }

    pub(super) fn value(&self, key: &str) -> Option<Value> {
        serde_json::from_str(self.0.get(key)?.get()).ok()
    }

    /// The `_chain` of a record that claims to be chained.
    pub(super) fn chain(&self) -> Option<Value> {
        self.value("_chain").filter(|chain| chain.get("hash").is_some_and(Value::is_string))
    }

    /// The link that `chain`, the line's own, describes, and its parent's hash; `None` if the line is not what was hashed.
    pub(super) fn link<'c>(&self, chain: &'c Value) -> Option<(Link, &'c str)> {
        let parent = chain.get("prevHash")?.as_str()?;
        let seq = chain.get("seq")?.as_u64().filter(|seq| *seq <= MAX_SEQ)?;
        let hash = self.hash(parent);
        (chain.get("hash")?.as_str()? == hash).then_some((Link { seq, hash }, parent))
    }

    /// The hash of this record after the one whose hash is `parent`.
    pub(super) fn hash(&self, parent: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(parent);
        hasher.update(self.canonical());
        hex(&hasher.finalize())
    }

    fn canonical(&self) -> String {
        let mut fields: Vec<_> = self.0.iter().filter(|(key, _)| *key != "_chain").collect();
        fields.sort_by(|(a, _), (b, _)| {
            let (left, right) = (index(a), index(b));
            (left.is_none(), left).cmp(&(right.is_none(), right)).then(a.encode_utf16().cmp(b.encode_utf16()))
        });
        let fields =
            fields.iter().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), value.get()));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    }
}

/// A key that JavaScript takes for the index of an array: such keys come first, in the order of numbers.
fn index(key: &str) -> Option<u32> {
    key.parse().ok().filter(|index: &u32| *index != u32::MAX && index.to_string() == key)
}

/// What the log with these bytes is worth. Lines are counted from 0, without blank ones.
#[must_use]
pub fn verify(log: &[u8]) -> Status {
    verify_after(log, GENESIS.to_owned())
}

/// What the end of a log is worth, from some line on: its first chained record may follow from one that is not in it.
#[must_use]
pub fn verify_end(log: &[u8]) -> Status {
    let first = lines(log).filter_map(Line::of).find_map(|line| line.chain());
    let parent = first.and_then(|chain| Some(chain.get("prevHash")?.as_str()?.to_owned()));
    verify_after(log, parent.unwrap_or_else(|| GENESIS.to_owned()))
}

fn verify_after(log: &[u8], start: String) -> Status {
    let mut known = HashSet::from([start]);
    // Whether all children so far of a parent are captures.
    let mut parents: HashMap<String, bool> = HashMap::new();
    let (mut forked, mut chained) = (None, false);
    for (at, line) in lines(log).enumerate() {
        let line = Line::of(line);
        let claim = line.as_ref().and_then(|line| Some((line, line.chain()?)));
        let Some((line, chain)) = claim else {
            if chained {
                return Status::Broken(at);
            }
            continue;
        };
        chained = true;
        let Some((link, parent)) = line.link(&chain).filter(|(_, parent)| known.contains(*parent)) else {
            return Status::Broken(at);
        };
        let source = line.value("source");
        let is_capture = source.is_some_and(|source| CAPTURES.iter().any(|capture| source == *capture));
        match parents.get_mut(parent) {
            None => drop(parents.insert(parent.to_owned(), is_capture)),
            Some(captures) => {
                *captures &= is_capture;
                if !*captures {
                    return Status::Broken(at);
                }
                forked.get_or_insert(at);
            }
        }
        known.insert(link.hash);
    }
    match forked {
        _ if !chained => Status::Legacy,
        None => Status::Whole,
        Some(at) => Status::Forked(at),
    }
}

/// The lines of a log that are not blank.
pub(super) fn lines(log: &[u8]) -> impl Iterator<Item = &[u8]> {
    log.split(|byte| *byte == b'\n').filter(|line| !is_blank(line))
}

pub(super) fn is_blank(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| line.chars().all(shell::is_space))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOLDEN: &str = include_str!("../../../tests/fixtures/flow-agents/golden/command-log-chain.jsonl");
    const VECTORS: &str = include_str!("../../../tests/fixtures/policy/command-log.jsonl");

    fn assert_verified(log: &str, expected: &Value) {
        let at = |key: &str| expected[key].as_u64().map(|at| at as usize);
        let status = match expected["status"].as_str().unwrap() {
            "legacy" => Status::Legacy,
            "ok" => Status::Whole,
            "forked" => Status::Forked(at("forkAt").unwrap()),
            _ => Status::Broken(at("brokenAt").unwrap()),
        };
        assert_eq!(verify(log.as_bytes()), status, "{log}");
    }

    #[test]
    fn golden_links_and_logs() {
        let (mut links, mut logs) = (0, 0);
        for line in GOLDEN.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            if let Some(log) = row["raw"].as_str() {
                logs += 1;
                assert_verified(log, &row["result"]);
            } else if let Some(canonical) = row["canonical"].as_str() {
                links += 1;
                // A record in another order than it is hashed in.
                let raw: BTreeMap<String, &RawValue> = serde_json::from_str(line).unwrap();
                let record = Line::of(raw["record"].get().as_bytes()).unwrap();
                assert_eq!(record.canonical(), canonical);
                assert_eq!(record.hash(row["prevHash"].as_str().unwrap()), row["hash"]);
            } else {
                assert_eq!(row["genesis"], GENESIS);
            }
        }
        assert_eq!((links, logs), (3, 11));
    }

    #[test]
    fn vectors_of_the_chain() {
        let mut count = 0;
        for line in VECTORS.lines() {
            let raw: BTreeMap<String, &RawValue> = serde_json::from_str(line).unwrap();
            let row: Value = serde_json::from_str(line).unwrap();
            let expected = row["expect"].get("both").unwrap_or(&row["expect"]["6.0.0"]);
            let args =
                row["args_json"].as_str().unwrap_or_else(|| raw.get("args").map_or("[]", |args| args.get()));
            let args: Vec<&RawValue> = serde_json::from_str(args).unwrap();
            match row["fn"].as_str().unwrap() {
                "verifyCommandLogChain" => assert_verified(row["log"].as_str().unwrap(), expected),
                "computeChainHash" => {
                    let parent: String = serde_json::from_str(args[0].get()).unwrap();
                    assert_eq!(
                        Line::of(args[1].get().as_bytes()).unwrap().hash(&parent),
                        *expected,
                        "{line}"
                    );
                }
                "canonicalJsonForChain" => {
                    let canonical = Line::of(args[0].get().as_bytes()).unwrap().canonical();
                    assert_eq!(canonical, expected.as_str().unwrap(), "{line}");
                }
                _ => continue,
            }
            count += 1;
        }
        assert_eq!(count, 35);
    }
}
