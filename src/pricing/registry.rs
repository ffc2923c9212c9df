//! A dated registry: versions, each a table of rates in force from a date (DESIGN §7, `docs/pricing.md`).
//!
//! The shape is schema 2.0 of flow-agents with more optional keys. A version may say `extends`: what it does not
//! state, it takes from that earlier version. Rows are read when first priced; [`Registry::parse`] reads them all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::model_id::{self, ModelId, UNKNOWN};
use super::row::{CacheMultipliers, LazyRow, Rate, Row};
use crate::sys::{clock, order};

const BUNDLED: &str = include_str!("../../config/pricing.json");

/// Why a body is not a registry.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Not JSON, or JSON of another shape: an HTML page, a truncated download.
    #[error("not a pricing registry: {0}")]
    Shape(#[from] serde_json::Error),
    /// One value is missing or impossible.
    #[error("{at}: {why}")]
    Value {
        /// The path of the value: `versions.2026-06-28.models.claude-opus-4-8`.
        at: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The file as written.
#[derive(Deserialize)]
struct File {
    current_version: String,
    versions: BTreeMap<String, Version>,
    aliases: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, Deserialize)]
struct Version {
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    from_ms: i64,
    /// The place of the version that `extends` names, always earlier in the list.
    #[serde(skip)]
    base: Option<usize>,
    effective_date: Option<String>,
    extends: Option<String>,
    currency: Option<String>,
    unit: Option<String>,
    cache_multipliers: Option<CacheMultipliers>,
    web_search_per_1000: Option<Rate>,
    zero_cost_models: Option<Vec<String>>,
    default: Option<LazyRow>,
    models: BTreeMap<String, LazyRow>,
}

/// How the version was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// In force at the call's time.
    InForce,
    /// The call has no time: the registry's `current_version`.
    CurrentNoTimestamp,
    /// The call is older than the first version: the first.
    FirstVersion,
}

/// A validated registry. An empty one ([`Default`]) prices nothing.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// By the date that they are in force from.
    versions: Vec<Version>,
    current: usize,
    aliases: BTreeMap<String, String>,
}

/// One version of a registry, with all that it inherits.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    registry: &'a Registry,
    version: &'a Version,
    /// How the version was chosen.
    pub basis: Basis,
}

impl Registry {
    /// Reads and validates a whole registry. Where it states no `aliases`, the bundled ones hold. The caller bounds
    /// the size of `bytes`.
    ///
    /// # Errors
    /// When any part of it is not what the schema says; the error names the part.
    pub fn parse(bytes: &[u8]) -> Result<Self, RegistryError> {
        let file: File = serde_json::from_slice(bytes)?;
        let aliases = match &file.aliases {
            Some(stated) => stated.clone(),
            None => Self::bundled().aliases,
        };
        let mut registry = Self { aliases, ..Self::ordered(file)? };
        registry.validate_rows()?;
        registry.versions.iter_mut().for_each(Version::canonicalise);
        Ok(registry)
    }

    /// The registry that is part of the program. Its rows are validated by the test suite, not at each start.
    #[must_use]
    pub fn bundled() -> Self {
        serde_json::from_slice(BUNDLED.as_bytes())
            .map_err(RegistryError::from)
            .and_then(Self::ordered)
            .unwrap_or_default()
    }

    fn ordered(file: File) -> Result<Self, RegistryError> {
        let mut versions = Vec::with_capacity(file.versions.len());
        for (name, version) in file.versions {
            versions.push(version.dated(name)?);
        }
        order::sort_by_key(&mut versions, |version| version.from_ms);
        let place = |name: &str| versions.iter().position(|version| version.name == name);
        let current = place(&file.current_version).ok_or_else(|| {
            invalid("current_version", format!("{:?} is not among the versions", file.current_version))
        })?;
        let bases: Vec<_> = versions.iter().map(|version| version.extends.as_deref().map(place)).collect();
        for (index, (version, base)) in versions.iter_mut().zip(bases).enumerate() {
            version.base = match base {
                None => None,
                Some(Some(earlier)) if earlier < index => Some(earlier),
                Some(_) => return Err(version.invalid("extends", "must name an earlier version")),
            };
        }
        Ok(Self { versions, current, aliases: file.aliases.unwrap_or_default() })
    }

    fn validate_rows(&self) -> Result<(), RegistryError> {
        for version in &self.versions {
            for (model, row) in &version.models {
                row.parse().map_err(|error| version.invalid(&format!("models.{model}"), error))?;
            }
            if let Some(default) = &version.default {
                default.parse().map_err(|error| version.invalid("default", error))?;
            }
        }
        Ok(())
    }

    /// The version in force at `at_ms` (epoch milliseconds); without a time, the current one. `None` only for the
    /// empty registry.
    #[must_use]
    pub fn table(&self, at_ms: Option<i64>) -> Option<Table<'_>> {
        let started = |at| self.versions.iter().rev().find(|version| version.from_ms <= at);
        let (version, basis) = match at_ms.map(started) {
            None => (self.versions.get(self.current), Basis::CurrentNoTimestamp),
            Some(Some(version)) => (Some(version), Basis::InForce),
            Some(None) => (self.versions.first(), Basis::FirstVersion),
        };
        version.map(|version| Table { registry: self, version, basis })
    }

    /// The id under which calls of `raw` are grouped: canonical spelling, then exact match, alias, `-fast`. The same
    /// at all dates.
    #[must_use]
    pub fn canonical_id(&self, raw: &str) -> String {
        self.model_id(raw).id
    }

    /// As [`Registry::canonical_id`], with what else the spelling says. `-fast` is fast mode only on a model that has
    /// one in some version; else it is part of a name.
    #[must_use]
    pub fn model_id(&self, raw: &str) -> ModelId {
        let model = model_id::canonical(raw);
        if let Some(id) = self.known(&model.id) {
            return ModelId { id: id.to_owned(), ..model };
        }
        let base = model.id.strip_suffix("-fast").and_then(|base| self.known(base));
        match base.filter(|base| self.has_fast_mode(base)) {
            Some(base) => ModelId { id: base.to_owned(), fast: true, ..model },
            None => model,
        }
    }

    /// `id` itself where a version lists it, else what it is an alias of.
    fn known<'a>(&'a self, id: &'a str) -> Option<&'a str> {
        if self.lists(id) {
            return Some(id);
        }
        self.aliases.get(id).map(String::as_str)
    }

    fn has_fast_mode(&self, id: &str) -> bool {
        let rows = self.versions.iter().filter_map(|version| version.models.get(id));
        rows.filter_map(|row| row.parse().ok()).any(|row| row.fast.is_some())
    }

    /// Whether any version has a row for the canonical id.
    #[must_use]
    pub fn lists(&self, id: &str) -> bool {
        self.versions.iter().any(|version| version.models.contains_key(id))
    }

    /// Takes back what would give away a model for which `has_price` holds: its `zero_cost_models` entry, its row
    /// of zero rates, and any `default` of zero. Returns what was taken back, each once.
    pub(crate) fn refuse_free(&mut self, has_price: impl Fn(&str) -> bool) -> Vec<String> {
        let mut refused = Vec::new();
        let aliases = &self.aliases;
        let priced = |raw: &str| {
            let id = model_id::canonical(raw).id;
            has_price(&id) || aliases.get(&id).is_some_and(|target| has_price(target))
        };
        let is_free = |row: &LazyRow| row.parse().is_ok_and(|row| row.is_free());
        for version in &mut self.versions {
            if let Some(names) = &mut version.zero_cost_models {
                refused.extend(names.extract_if(.., |name| priced(name)));
            }
            let models = std::mem::take(&mut version.models);
            let (free, kept): (BTreeMap<_, _>, _) =
                models.into_iter().partition(|(model, row)| is_free(row) && priced(model));
            version.models = kept;
            refused.extend(free.into_keys());
            if version.default.take_if(|row| is_free(row)).is_some() {
                refused.push("default".to_owned());
            }
        }
        order::sort(&mut refused);
        refused.dedup();
        refused
    }
}

impl Version {
    fn dated(mut self, name: String) -> Result<Self, RegistryError> {
        self.name = name;
        let date = self.effective_date.as_deref().unwrap_or(&self.name);
        self.from_ms = clock::parse_rfc3339(&format!("{date}T00:00:00Z"))
            .ok_or_else(|| self.invalid("effective_date", format!("{date:?} is not a date (YYYY-MM-DD)")))?;
        for (key, stated, wanted) in
            [("currency", &self.currency, "USD"), ("unit", &self.unit, "per_1m_tokens")]
        {
            if let Some(other) = stated.as_deref().filter(|stated| *stated != wanted) {
                return Err(self.invalid(key, format!("must be {wanted:?}, not {other:?}")));
            }
        }
        Ok(self)
    }

    /// Lets a row be found that is listed under another spelling (`claude-haiku-4-5-20251001`); the canonical one wins.
    fn canonicalise(&mut self) {
        let spelled = |(key, row): (String, LazyRow)| (model_id::canonical(&key).id, row);
        let (exact, other): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.models)
            .into_iter()
            .partition(|(key, _)| model_id::canonical(key).id == *key);
        self.models.extend(other.into_iter().map(spelled).chain(exact));
    }

    fn invalid(&self, key: &str, why: impl ToString) -> RegistryError {
        invalid(&format!("versions.{}.{key}", self.name), why)
    }
}

fn invalid(at: &str, why: impl ToString) -> RegistryError {
    RegistryError::Value { at: at.to_owned(), why: why.to_string() }
}

impl<'a> Table<'a> {
    /// What an unstated `web_search_per_1000` is: the list price of pricing reference §1, 10 USD.
    const WEB_SEARCHES: Rate = Rate::from_pico(10_000_000);

    /// The version's name.
    #[must_use]
    pub fn version(&self) -> &'a str {
        &self.version.name
    }

    /// USD for a thousand web searches.
    #[must_use]
    pub fn web_search_per_1000(&self) -> Rate {
        self.inherited(|version| version.web_search_per_1000).unwrap_or(Self::WEB_SEARCHES)
    }

    /// The row of a canonical id, cache rates filled in by the multipliers of the version that states it.
    #[must_use]
    pub fn row(&self, id: &str) -> Option<&'a Row> {
        let (version, row) = self.inherited(|version| Some((version, version.models.get(id)?)))?;
        row.get(&Table { version, ..*self }.cache_multipliers())
    }

    /// The rates that this very version (not one that it extends) claims for every unlisted model.
    #[must_use]
    pub fn default_row(&self) -> Option<&'a Row> {
        self.version.default.as_ref()?.get(&self.cache_multipliers())
    }

    /// Whether the registry says that the model costs nothing: by its whole name, raw or canonical. A call without a
    /// model never does.
    #[must_use]
    pub fn is_free(&self, raw: &str, id: &str) -> bool {
        let names = self.inherited(|version| version.zero_cost_models.as_ref());
        id != UNKNOWN && names.is_some_and(|names| names.iter().any(|name| name == raw || name == id))
    }

    /// The ids that have a row, in order.
    #[must_use]
    pub fn models(&self) -> Vec<&'a str> {
        let mut ids: Vec<&str> =
            self.chain().flat_map(|version| version.models.keys().map(String::as_str)).collect();
        order::sort(&mut ids);
        ids.dedup();
        ids
    }

    fn cache_multipliers(&self) -> CacheMultipliers {
        self.inherited(|version| version.cache_multipliers).unwrap_or_default()
    }

    fn inherited<T>(&self, stated: impl Fn(&'a Version) -> Option<T>) -> Option<T> {
        self.chain().find_map(stated)
    }

    fn chain(&self) -> impl Iterator<Item = &'a Version> {
        let registry = self.registry;
        std::iter::successors(Some(self.version), move |version| registry.versions.get(version.base?))
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
