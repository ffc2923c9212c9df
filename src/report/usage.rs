//! The answer of `tally usage`: what transcripts add up to, by model and by session.
//!
//! `schemas/usage.schema.json` is the contract of the JSON form. Costs are the sum of the priced part; a total in
//! which nothing is priced is `null`, and `complete` says whether every call is priced and counted.

use super::table::{count, money, table};
use crate::pricing::{Basis, Registry, Request, Usd};
use crate::usage::bulk::Everything;
use crate::usage::call::{Name, Traits};
use crate::usage::diagnostics::UnreadFile;
use crate::usage::runtime::Source;
use crate::usage::{Call, Credits, Diagnostics, Tokens};
use hashbrown::HashMap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Usage of a set of transcripts.
#[derive(Debug, Default, Serialize)]
pub struct Usage {
    /// All of it.
    #[serde(flatten)]
    pub all: Share,
    /// The same by session id.
    pub by_session: BTreeMap<String, Share>,
    /// How many files, or folders of one store, were found of each host.
    pub sources: BTreeMap<&'static str, u64>,
    /// What could not be read, or not to its end.
    pub unread: Vec<UnreadFile>,
    /// What was met and not counted.
    pub diagnostics: Diagnostics,
}

/// One session's usage, or everybody's.
#[derive(Debug, Default, Serialize)]
pub struct Share {
    /// By canonical model id; `unknown` for calls without a model.
    pub by_model: BTreeMap<String, ModelUsage>,
    /// USD; the priced part, `null` when nothing is priced.
    pub total_cost_usd: Option<Usd>,
    /// Whether every call is priced and counted.
    pub complete: bool,
    /// Canonical ids without a price.
    pub unpriced_models: BTreeSet<String>,
    /// Billed requests.
    pub calls: u64,
    /// What was charged in credits, by runtimes that sell those; `null` when none was.
    pub credits: Option<Credits>,
}

/// One model's usage. A bucket is `null` when no call of the model tells its counts.
#[derive(Debug, Default, Serialize)]
pub struct ModelUsage {
    /// Uncached, unwritten prompt tokens.
    pub input: Option<i64>,
    /// Billed output tokens.
    pub output: Option<i64>,
    /// Cache writes at the default time to live.
    pub cache_write_5m: Option<i64>,
    /// Cache writes kept for one hour.
    pub cache_write_1h: Option<i64>,
    /// Cache hits.
    pub cache_read: Option<i64>,
    /// Server-side web searches.
    pub web_search_requests: Option<i64>,
    /// USD; the priced part, `null` when nothing is priced.
    pub cost_usd: Option<Usd>,
    /// The ids as the runtimes spell them.
    pub raw_ids: BTreeSet<String>,
}

impl Usage {
    /// Adds up what was read of `sources` at the prices of `registry`.
    #[must_use]
    pub fn of(read: Everything, sources: &[Source], registry: &Registry) -> Self {
        let Everything { ledger, diagnostics, unread } = read;
        let mut usage = Self { diagnostics, unread, ..Self::default() };
        for source in sources {
            *usage.sources.entry(source.runtime.host()).or_default() += 1;
        }
        usage.diagnostics.duplicates_merged += ledger.duplicates_merged();
        usage.all.complete = true;
        let mut by_session: HashMap<Name, Share> = HashMap::new();
        let mut canonical: HashMap<Name, String> = HashMap::new();
        for call in ledger.calls() {
            let raw = ledger.name(call.model);
            let id = canonical.entry(call.model).or_insert_with(|| registry.canonical_id(raw));
            let cost = usage.price(call, raw, registry);
            usage.all.add(call, cost, id, raw);
            let session = by_session.entry(call.session);
            session.or_insert_with(|| Share { complete: true, ..Share::default() }).add(call, cost, id, raw);
        }
        let Diagnostics { unreadable_lines, unreadable_files, uncounted_calls, .. } = usage.diagnostics;
        usage.all.complete &= unreadable_lines + unreadable_files + uncounted_calls == 0;
        let named = by_session.into_iter().map(|(session, share)| (ledger.name(session).to_owned(), share));
        usage.by_session.extend(named);
        usage
    }

    fn price(&mut self, call: &Call, raw: &str, registry: &Registry) -> Option<Usd> {
        self.diagnostics.lower_bound_calls += u64::from(!call.traits.has(Traits::FINAL));
        let Some(request) = Request::of_call(call, raw) else {
            self.diagnostics.uncounted_calls += 1;
            return None;
        };
        let priced = registry.price(&request)?;
        self.diagnostics.calls_without_timestamp += u64::from(priced.basis == Basis::CurrentNoTimestamp);
        self.diagnostics.calls_before_first_prices += u64::from(priced.basis == Basis::FirstVersion);
        Some(priced.cost)
    }

    /// The table that a person reads, within `width` columns.
    #[must_use]
    pub fn to_table(&self, width: u16) -> String {
        let mut rows = table(width, &["model", "input", "output", "cache write", "cache read", "USD"]);
        let known = |tokens: Option<i64>| tokens.map_or_else(|| "–".to_owned(), count);
        for (id, model) in &self.all.by_model {
            let written = model.cache_write_5m.zip(model.cache_write_1h).map(|(short, long)| short + long);
            rows.add_row([
                id.clone(),
                known(model.input),
                known(model.output),
                known(written),
                known(model.cache_read),
                money(model.cost_usd),
            ]);
        }
        let mut out = rows.to_string();
        let _ = write!(
            out,
            "\n\n{} in {} calls of {} sessions{}\n",
            money(self.all.total_cost_usd),
            count(self.all.calls as i64),
            count(self.by_session.len() as i64),
            if self.all.complete { "" } else { " (incomplete)" }
        );
        if let Some(credits) = self.all.credits {
            let _ = writeln!(out, "  {credits} credits, not in that sum");
        }
        for (number, what) in self.doubts() {
            let _ = writeln!(out, "  {} {what}", count(number as i64));
        }
        for file in &self.unread {
            let _ = writeln!(out, "    {}: {}", file.path, file.why);
        }
        if !self.all.unpriced_models.is_empty() {
            let _ = writeln!(out, "  no price for:");
            for model in &self.all.unpriced_models {
                let _ = writeln!(out, "    {model}");
            }
        }
        out
    }

    /// What makes the total less than the whole truth.
    fn doubts(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let Diagnostics { unreadable_lines, unreadable_files, lower_bound_calls, uncounted_calls, .. } =
            self.diagnostics;
        [
            (unreadable_lines, "lines with usage could not be read"),
            (lower_bound_calls, "calls have no final count: a lower bound"),
            (uncounted_calls, "calls have no counts at all: not in the sums"),
            (unreadable_files, "files could not be read"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
    }
}

impl Share {
    fn add(&mut self, call: &Call, cost: Option<Usd>, id: &str, raw: &str) {
        self.calls += 1;
        if !self.by_model.contains_key(id) {
            self.by_model.insert(id.to_owned(), ModelUsage::default());
        }
        if let Some(model) = self.by_model.get_mut(id) {
            model.add(call, cost, raw);
        }
        if let Some(credits) = call.credits {
            *self.credits.get_or_insert_default() += credits;
        }
        match cost {
            Some(cost) => *self.total_cost_usd.get_or_insert_default() += cost,
            None => {
                self.complete = false;
                if !self.unpriced_models.contains(id) {
                    self.unpriced_models.insert(id.to_owned());
                }
            }
        }
    }
}

impl ModelUsage {
    fn add(&mut self, call: &Call, cost: Option<Usd>, raw: &str) {
        if !call.traits.has(Traits::UNCOUNTED) {
            let Tokens { input, output, cache_write_5m, cache_write_1h, cache_read, web_search_requests } =
                call.tokens;
            let add = |bucket: &mut Option<i64>, count: i64| *bucket.get_or_insert_default() += count;
            add(&mut self.input, input);
            add(&mut self.output, output);
            add(&mut self.cache_write_5m, cache_write_5m);
            add(&mut self.cache_write_1h, cache_write_1h);
            add(&mut self.cache_read, cache_read);
            add(&mut self.web_search_requests, web_search_requests);
        }
        if let Some(cost) = cost {
            *self.cost_usd.get_or_insert_default() += cost;
        }
        if !raw.is_empty() && !self.raw_ids.contains(raw) {
            self.raw_ids.insert(raw.to_owned());
        }
    }
}
