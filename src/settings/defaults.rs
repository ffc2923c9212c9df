//! The defaults of `config/default.toml`, as constants.
//!
//! The file is the documented form; parsing it in every hook would cost time for values that cannot differ. So the
//! code uses [`DEFAULTS`], and a test holds the two together, field by field.

/// The commented defaults file, for people and for commands that show it.
pub const TEXT: &str = include_str!("../../config/default.toml");

/// Every default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct Defaults {
    /// What is recorded.
    pub telemetry: Telemetry,
    /// The journey to the Console.
    pub relay: Relay,
    /// The pricing registry.
    pub pricing: Pricing,
    /// Claims.
    pub liveness: Liveness,
}

/// What is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct Telemetry {
    /// Whether hooks emit anything.
    pub enabled: bool,
    /// Size at which a journal is rotated, in MiB (contract F.4).
    pub max_log_size_mb: u64,
    /// Rotated files that are kept of each journal.
    pub max_log_files: u32,
}

/// The journey to the Console (DESIGN §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct Relay {
    /// Bytes that the outbox may hold before its oldest entries are evicted.
    pub outbox_max_bytes: u64,
    /// Entries that the outbox may hold before its oldest ones are evicted.
    pub outbox_max_entries: u64,
    /// Bytes that one record may have.
    pub record_max_bytes: u64,
    /// Time to connect, in seconds.
    pub connect_timeout_seconds: u64,
    /// Time for a whole request, in seconds.
    pub total_timeout_seconds: u64,
    /// Wall time of one worker, in seconds.
    pub worker_max_seconds: u64,
    /// Requests per minute to an origin that fails.
    pub failed_requests_per_minute: u32,
    /// Requests in flight at once.
    pub requests_in_flight: u32,
    /// Upper bound of the first back-off, in milliseconds; it doubles from there.
    pub backoff_first_ms: u64,
    /// Upper bound of any back-off, in milliseconds.
    pub backoff_max_ms: u64,
    /// Upper bound of the back-off of a record that fails while others pass, in milliseconds.
    pub backoff_lone_max_ms: u64,
    /// Attempts before a record that only meets 5xx can be rejected.
    pub reject_after_attempts: u32,
    /// How many of them must have come after another record was delivered to the same origin.
    pub reject_after_others_delivered: u32,
}

/// The pricing registry (DESIGN §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct Pricing {
    /// How long a fetched registry is used, in seconds.
    pub ttl_seconds: u64,
}

/// Claims (contract D.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize), serde(deny_unknown_fields))]
pub struct Liveness {
    /// How long a claim stays fresh after its last heartbeat, in seconds.
    pub ttl_seconds: u64,
    /// The least time between two heartbeats of one claim, in seconds.
    pub heartbeat_throttle_seconds: u64,
}

/// The values of `config/default.toml`.
pub const DEFAULTS: Defaults = Defaults {
    telemetry: Telemetry { enabled: true, max_log_size_mb: 50, max_log_files: 3 },
    relay: Relay {
        outbox_max_bytes: 64 * 1024 * 1024,
        outbox_max_entries: 50_000,
        record_max_bytes: 256 * 1024,
        connect_timeout_seconds: 2,
        total_timeout_seconds: 5,
        worker_max_seconds: 30,
        failed_requests_per_minute: 60,
        requests_in_flight: 4,
        backoff_first_ms: 500,
        backoff_max_ms: 60_000,
        backoff_lone_max_ms: 5_000,
        reject_after_attempts: 8,
        reject_after_others_delivered: 3,
    },
    pricing: Pricing { ttl_seconds: 3600 },
    liveness: Liveness { ttl_seconds: 1800, heartbeat_throttle_seconds: 60 },
};

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = include_str!("../../schemas/config.schema.json");

    #[test]
    fn the_constants_are_those_of_the_file() {
        assert_eq!(toml::from_str::<Defaults>(TEXT).unwrap(), DEFAULTS);
    }

    #[test]
    fn the_file_matches_its_schema_and_the_schema_can_refuse() {
        let schema = serde_json::from_str(SCHEMA).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mut file: serde_json::Value = toml::from_str(TEXT).unwrap();
        if let Err(error) = validator.validate(&file) {
            panic!("{}: {error}", error.instance_path());
        }
        file["relay"]["requests_in_flight"] = 0.into();
        assert!(!validator.is_valid(&file), "no request in flight");
        file["relay"]["requests_in_flight"] = 4.into();
        file["relay"]["typo"] = 1.into();
        assert!(!validator.is_valid(&file), "unknown key");
    }

    #[test]
    fn every_key_is_commented() {
        let lines: Vec<&str> = TEXT.lines().collect();
        let keys: Vec<_> = lines.windows(2).filter(|pair| pair[1].contains(" = ")).collect();
        assert!(!keys.is_empty());
        for pair in keys {
            assert!(pair[0].starts_with("# "), "no comment above `{}`", pair[1]);
        }
    }
}
