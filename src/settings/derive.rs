//! From the URLs of one source to its three endpoints (contract C.5 and E.3, mended).
//!
//! Telemetry events go to `/api/telemetry/records` under the base URL, economics and liveness records to `/records`.
//! A base that already names the telemetry path is reduced to its base first, trailing slashes are dropped, and a
//! query is kept. An explicit endpoint is taken as it is. A refused URL never falls back to another one: the records
//! would go where nobody sent them.

use super::endpoint::Endpoint;

const TELEMETRY_PATH: &str = "/api/telemetry";
const RECORDS_PATH: &str = "/records";

/// A URL setting: its name, for messages, and its text.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

/// The URL settings of one source.
#[derive(Clone, Copy, Default)]
pub(super) struct Urls<'a> {
    /// Base of economics and liveness.
    pub(super) base: Option<Given<'a>>,
    /// Base of telemetry events.
    pub(super) telemetry_base: Option<Given<'a>>,
    pub(super) telemetry: Option<Given<'a>>,
    pub(super) economics: Option<Given<'a>>,
    pub(super) liveness: Option<Given<'a>>,
}

/// What the URLs come to.
#[derive(Default)]
pub(super) struct Endpoints {
    pub(super) economics: Option<Endpoint>,
    pub(super) liveness: Option<Endpoint>,
    pub(super) telemetry: Option<Endpoint>,
    /// Refused settings, each with its name and the reason.
    pub(super) problems: Vec<String>,
}

impl Urls<'_> {
    /// Whether any URL is named: then this source gives the whole destination.
    pub(super) fn any(&self) -> bool {
        [self.base, self.telemetry_base, self.telemetry, self.economics, self.liveness]
            .iter()
            .any(Option::is_some)
    }

    pub(super) fn endpoints(&self) -> Endpoints {
        let mut problems = Vec::new();
        let mut allowed = |given: Given<'_>| match Endpoint::parse(given.text) {
            Ok(endpoint) => Some(endpoint),
            Err(error) => {
                problems.push(format!("{} {error}", given.name));
                None
            }
        };
        let base = self.base.map(&mut allowed);
        let telemetry_base = self.telemetry_base.map(&mut allowed);
        let telemetry = self.telemetry.map(&mut allowed);
        let records = match (&base, &telemetry) {
            (Some(base), _) => base.as_ref().map(|base| under(base, RECORDS_PATH)),
            (None, Some(telemetry)) => telemetry.as_ref().map(|endpoint| endpoint.at_origin(RECORDS_PATH)),
            (None, None) => None,
        };
        let economics = self.economics.map_or_else(|| records.clone(), &mut allowed);
        let liveness = self.liveness.map_or(records, &mut allowed);
        let telemetry = telemetry.unwrap_or_else(|| {
            let base = telemetry_base.flatten()?;
            Some(under(&base, &format!("{TELEMETRY_PATH}{RECORDS_PATH}")))
        });
        // Both bases are usually one setting.
        problems.dedup();
        Endpoints { economics, liveness, telemetry, problems }
    }
}

/// `path` under the base that `endpoint` names.
fn under(endpoint: &Endpoint, path: &str) -> Endpoint {
    let written = endpoint.url().path().trim_end_matches('/');
    let above = written.strip_suffix(RECORDS_PATH).filter(|above| above.ends_with(TELEMETRY_PATH));
    let above = above.unwrap_or(written);
    let base = above.strip_suffix(TELEMETRY_PATH).unwrap_or(above).trim_end_matches('/');
    endpoint.with_path(&format!("{base}{path}"))
}
