//! The calls of one or many sessions, merged.
//!
//! Built for transcripts of hundreds of megabytes: calls lie in one vector, strings are kept once, and the table
//! holds four bytes a call.

use super::call::{Call, CallKey, Name, Observation};
use hashbrown::{HashMap, HashTable};
use std::cmp::Ordering;
use std::sync::Arc;

/// Calls by their identity.
#[derive(Debug, Default)]
pub struct Ledger {
    calls: Vec<Call>,
    table: HashTable<u32>,
    names: Names,
    duplicates_merged: u64,
}

impl Ledger {
    /// An empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Merges what a line says; the call's merged state is returned.
    pub fn observe(&mut self, seen: &Observation<'_>) -> Call {
        let call = Call {
            key: seen.key,
            at_ms: seen.at_ms,
            tokens: seen.tokens,
            credits: seen.credits,
            session: self.names.intern(seen.session.as_deref().unwrap_or_default()),
            model: self.names.intern(seen.model.as_deref().unwrap_or_default()),
            agent: self.names.intern(seen.agent.as_deref().unwrap_or_default()),
            traits: seen.traits,
        };
        self.insert(call)
    }

    fn insert(&mut self, call: Call) -> Call {
        let names = &self.names;
        if let Some(known) = find(&self.table, &self.calls, call.key).and_then(|at| self.calls.get_mut(at)) {
            self.duplicates_merged += 1;
            *known = known.merge(&call, |a, b| names.order(a, b));
            return *known;
        }
        let Ok(at) = u32::try_from(self.calls.len()) else { return call };
        let calls = &self.calls;
        self.table.insert_unique(hash(call.key), at, |&at| {
            calls.get(at as usize).map_or(0, |known| hash(known.key))
        });
        self.calls.push(call);
        call
    }

    /// The merged state of a call, if it was observed.
    #[must_use]
    pub fn get(&self, key: CallKey) -> Option<&Call> {
        find(&self.table, &self.calls, key).and_then(|at| self.calls.get(at))
    }

    /// Every call, in the order of first observation.
    #[must_use]
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The text of a name; empty for [`Name::NONE`].
    #[must_use]
    pub fn name(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// How many observations were further lines of a call already known.
    #[must_use]
    pub fn duplicates_merged(&self) -> u64 {
        self.duplicates_merged
    }
}

fn find(table: &HashTable<u32>, calls: &[Call], key: CallKey) -> Option<usize> {
    let at = table.find(hash(key), |&at| calls.get(at as usize).is_some_and(|call| call.key == key))?;
    Some(*at as usize)
}

/// A key is a hash already: any eight bytes of it spread evenly.
fn hash(key: CallKey) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = key.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

#[derive(Debug)]
struct Names {
    texts: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, u32>,
}

impl Default for Names {
    fn default() -> Self {
        Self { texts: vec![Arc::from("")], ids: HashMap::new() }
    }
}

impl Names {
    fn intern(&mut self, text: &str) -> Name {
        if text.is_empty() {
            return Name::NONE;
        }
        if let Some(&id) = self.ids.get(text) {
            return Name(id);
        }
        let Ok(id) = u32::try_from(self.texts.len()) else { return Name::NONE };
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.ids.insert(text, id);
        Name(id)
    }

    fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize).map_or("", |text| text)
    }

    fn order(&self, a: Name, b: Name) -> Ordering {
        self.text(a).cmp(self.text(b))
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::Traits;
    use super::super::tokens::Tokens;
    use super::*;
    use proptest::prelude::*;

    fn observation() -> impl Strategy<Value = Observation<'static>> {
        let tokens = (0..5i64, 0..5i64, 0..5i64).prop_map(|(input, output, cache_read)| Tokens {
            input,
            output,
            cache_read,
            ..Tokens::default()
        });
        let name = prop::option::of("[ab]").prop_map(|name| name.map(Into::into));
        (0..3u8, name.clone(), name, prop::option::of(0..3i64), tokens, 0..32u8).prop_map(
            |(id, session, model, at_ms, tokens, bits)| Observation {
                key: CallKey::of(&[&[id]]),
                session,
                model,
                agent: None,
                at_ms,
                tokens,
                credits: None,
                traits: Traits::from_bits(bits),
            },
        )
    }

    /// What a ledger says of its calls, whatever the order in which it learned it.
    fn answer(seen: &[Observation<'_>]) -> Vec<(CallKey, Option<i64>, Tokens, String, u8)> {
        let mut ledger = Ledger::new();
        for one in seen {
            ledger.observe(one);
        }
        let mut answer: Vec<_> = ledger
            .calls()
            .iter()
            .map(|call| {
                let who = format!("{} {}", ledger.name(call.session), ledger.name(call.model));
                (call.key, call.at_ms, call.tokens, who, call.traits.bits())
            })
            .collect();
        answer.sort_by_key(|row| row.0);
        answer
    }

    proptest! {
        #[test]
        fn merging_is_idempotent_and_free_of_order(
            seen in prop::collection::vec(observation(), 0..12), rotate in 0..12usize
        ) {
            let once = answer(&seen);
            let mut other = seen.clone();
            other.reverse();
            if !other.is_empty() {
                let by = rotate % other.len();
                other.rotate_left(by);
            }
            prop_assert_eq!(&once, &answer(&other));
            prop_assert_eq!(&once, &answer(&[seen.clone(), seen].concat()));
        }
    }

    #[test]
    fn a_line_without_a_time_lends_its_names_to_no_other() {
        let at = |at_ms: Option<i64>, session: Option<&'static str>| Observation {
            key: CallKey::of(&[b"m"]),
            session: session.map(Into::into),
            model: Some("m".into()),
            agent: None,
            at_ms,
            tokens: Tokens::default(),
            credits: None,
            traits: Traits::default(),
        };
        let lines = [at(Some(0), None), at(None, Some("b")), at(None, Some("a"))];
        let expected = answer(&lines);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(answer(&order.map(|place: usize| lines[place].clone())), expected, "{order:?}");
        }
        assert_eq!((expected[0].1, expected[0].3.as_str()), (Some(0), " m"));
    }

    #[test]
    fn the_main_chain_stands_against_a_replay() {
        let at = |main: bool, input: i64| Observation {
            key: CallKey::of(&[b"m"]),
            session: None,
            model: None,
            agent: None,
            at_ms: None,
            tokens: Tokens { input, ..Tokens::default() },
            credits: None,
            traits: Traits::default().with(Traits::MAIN_CHAIN, main),
        };
        for order in [[at(true, 4), at(false, 900)], [at(false, 900), at(true, 4)]] {
            assert_eq!(answer(&order)[0].2.input, 4);
        }
    }
}
