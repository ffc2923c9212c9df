//! Which registry holds: an explicit file, else the cached copy of a URL, else the bundled one.
//!
//! Nothing here fetches. A hook uses the cached copy, fresh or stale; the relay worker asks
//! [`cached_copy_is_stale`], fetches, and hands the body to [`store`], which trusts nothing that does not validate.

use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use super::registry::{Registry, RegistryError};
use crate::settings::PricingSettings;
use crate::sys::files;

/// The largest registry that is read; the bundled one is a hundredth of it.
const MAX_BYTES: u64 = 4 << 20;

/// Where the registry in use came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The explicit file.
    File(PathBuf),
    /// A cached copy of the URL's registry, by the path of the copy.
    Cached(PathBuf),
    /// Part of the program.
    Bundled,
}

/// The registry to price with.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The registry, valid whatever was found.
    pub registry: Registry,
    /// Where it came from.
    pub origin: Origin,
    /// What the user should know, each one line: at most one for a source that was passed over, at most one for
    /// free models that were refused.
    pub warnings: Vec<String>,
}

/// Why a fetched body was not cached.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no URL that it could be the copy of.
    #[error("no pricing URL is set")]
    NoUrl,
    /// The body is larger than any registry.
    #[error("the registry is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// The body is not a registry.
    #[error(transparent)]
    Invalid(#[from] RegistryError),
    /// The copy could not be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The copy.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Finds the registry that holds. Never fails: a source that cannot be used is passed over for the bundled registry,
/// with one warning. A URL that has no copy yet is not worth one.
#[must_use]
pub fn load(settings: &PricingSettings) -> Loaded {
    let found = match (&settings.file, cached_copy(settings)) {
        (Some(file), _) => Some((read(file, true), Origin::File(file.clone()))),
        (None, Some(copy)) => Some((read(&copy, false), Origin::Cached(copy))),
        (None, None) => None,
    };
    let bundled = Registry::bundled();
    match found {
        Some((Ok(Some(registry)), origin)) => guarded(registry, origin, &bundled),
        Some((Err(warning), _)) => {
            Loaded { registry: bundled, origin: Origin::Bundled, warnings: vec![warning] }
        }
        Some((Ok(None), _)) | None => {
            Loaded { registry: bundled, origin: Origin::Bundled, warnings: Vec::new() }
        }
    }
}

/// A foreign registry cannot make a model free that the bundled one has a price for (DESIGN §7).
fn guarded(mut registry: Registry, origin: Origin, bundled: &Registry) -> Loaded {
    let refused = registry.refuse_free(|id| bundled.lists(id));
    let warnings = match refused.as_slice() {
        [] => Vec::new(),
        names => vec![format!(
            "the pricing registry gives away models that have a price; ignored for {}",
            names.join(", ")
        )],
    };
    Loaded { registry, origin, warnings }
}

/// How a warning ends that a registry was passed over.
pub const INSTEAD: &str = "; the bundled registry is used instead";

fn read(path: &Path, required: bool) -> Result<Option<Registry>, String> {
    let warning =
        |why: &dyn std::fmt::Display| format!("pricing registry {}: {why}{INSTEAD}", path.display());
    match files::read_bounded(path, MAX_BYTES) {
        Ok(Some(bytes)) => Registry::parse(&bytes).map(Some).map_err(|error| warning(&error)),
        Ok(None) if required => Err(warning(&"no such file")),
        Ok(None) => Ok(None),
        Err(error) => Err(warning(&error)),
    }
}

/// Whether the worker should fetch: a URL is in use and its copy is missing, at least `ttl_s` old, or dated in the
/// future (a clock was wrong).
#[must_use]
pub fn cached_copy_is_stale(settings: &PricingSettings, now_ms: i64) -> bool {
    if settings.file.is_some() {
        return false;
    }
    let Some(copy) = cached_copy(settings) else { return false };
    let written = std::fs::metadata(copy).and_then(|metadata| metadata.modified()).ok();
    let written_ms = written
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| i64::try_from(since.as_millis()).ok());
    let ttl_ms = i64::try_from(settings.ttl_s.saturating_mul(1_000)).unwrap_or(i64::MAX);
    written_ms.is_none_or(|written_ms| !(0..ttl_ms).contains(&now_ms.saturating_sub(written_ms)))
}

/// Validates a fetched `body` and makes it the URL's cached copy. The old copy stands unless all of it succeeds.
///
/// # Errors
/// When no URL is set, the body is too large or not a registry, or the file cannot be written.
pub fn store(settings: &PricingSettings, body: &[u8]) -> Result<(), StoreError> {
    let path = cached_copy(settings).ok_or(StoreError::NoUrl)?;
    if body.len() as u64 > MAX_BYTES {
        return Err(StoreError::TooLarge);
    }
    Registry::parse(body)?;
    files::create_dir_private(&settings.cache_dir)
        .and_then(|()| files::write_atomic(&path, body))
        .map_err(|source| StoreError::Write { path, source })
}

/// Named by the hash of the URL: two URLs never share a copy, and a secret in one is not in a file name.
fn cached_copy(settings: &PricingSettings) -> Option<PathBuf> {
    let url = settings.url.as_deref()?;
    let name: String = Sha256::digest(url).iter().map(|byte| format!("{byte:02x}")).collect();
    Some(settings.cache_dir.join(format!("{name}.json")))
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
