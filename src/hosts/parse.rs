//! Reading a report: the version first, then strictly.
//!
//! A report of another version is refused by that name before anything else is looked at: older evidence is never
//! reinterpreted. What is left must be the schema's shape, to the last key (the published package stops looking here).

use super::capabilities::{HostCapabilities, Stated, normalize};
use super::probe::ConformanceResult;
use super::report::{AdapterConformanceEvidence, ConformanceReport, SCHEMA_VERSION};
use super::words::{AssetKind, EvidenceScope, Phase, Status};
use serde_json::{Map, Value};

/// A text that is not a report.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Not JSON.
    #[error("the report is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// A report of another version.
    #[error("Unsupported Conduit conformance schema version: {0}")]
    UnsupportedVersion(String),
    /// Not what the schema asks for.
    #[error("the report is not valid: {path} {wrong}")]
    Invalid {
        /// Where.
        path: String,
        /// What is wrong there.
        wrong: &'static str,
    },
}

/// Reads a report.
///
/// ```
/// use tally::hosts::{ParseError, parse};
/// let error = parse(r#"{"schemaVersion":"1","adapters":"?"}"#).unwrap_err();
/// assert_eq!(error.to_string(), "Unsupported Conduit conformance schema version: 1");
/// let error = parse(r#"{"schemaVersion":"2","adapters":[{}]}"#).unwrap_err();
/// assert_eq!(error.to_string(), "the report is not valid: adapters[0].evidenceScope is missing");
/// ```
///
/// # Errors
/// As [`ParseError`] says, in its order.
pub fn parse(text: &str) -> Result<ConformanceReport, ParseError> {
    let value: Value = serde_json::from_slice(text.as_bytes())?;
    match value.get("schemaVersion") {
        Some(Value::String(version)) if version == SCHEMA_VERSION => {}
        other => {
            let version = other.map_or_else(|| "undefined".to_owned(), said);
            return Err(ParseError::UnsupportedVersion(version));
        }
    }
    let report = Node { value: &value, path: String::new() }.object(&["schemaVersion", "adapters"], &[])?;
    let mut adapters = vec![];
    for entry in report.get("adapters")?.list()? {
        adapters.push(evidence(&entry)?);
    }
    Ok(ConformanceReport { schema_version: SCHEMA_VERSION.to_owned(), adapters })
}

fn evidence(node: &Node<'_>) -> Result<AdapterConformanceEvidence, ParseError> {
    const KEYS: [&str; 8] = [
        "evidenceScope",
        "adapterId",
        "adapterVersion",
        "hostId",
        "hostVersion",
        "capabilities",
        "limitations",
        "results",
    ];
    let entry = node.object(&KEYS, &[])?;
    let scope = entry.get("evidenceScope")?;
    let capabilities = entry.get("capabilities")?;
    let (mut limitations, mut results) = (vec![], vec![]);
    for limitation in entry.get("limitations")?.list()? {
        limitations.push(limitation.text()?.to_owned());
    }
    for found in entry.get("results")?.list()? {
        results.push(result(&found)?);
    }
    Ok(AdapterConformanceEvidence {
        evidence_scope: EvidenceScope::parse(scope.text()?)
            .ok_or_else(|| scope.is("is no evidence scope"))?,
        adapter_id: entry.get("adapterId")?.name()?,
        adapter_version: entry.get("adapterVersion")?.name()?,
        host_id: entry.get("hostId")?.name()?,
        host_version: entry.get("hostVersion")?.name()?,
        capabilities: {
            shape_of_capabilities(&capabilities)?;
            let declared = HostCapabilities::from_json(capabilities.value)
                .map_err(|_| capabilities.is("is no declaration"))?;
            let normalized = normalize(&declared);
            let unknown =
                normalized.paths().into_iter().find(|(_, stated)| !matches!(stated, Stated::Known(_)));
            if let Some((path, _)) = unknown {
                return Err(capabilities.at(&path).is("is no fidelity"));
            }
            normalized
        },
        limitations,
        results,
    })
}

fn result(node: &Node<'_>) -> Result<ConformanceResult, ParseError> {
    let result = node.object(&["check", "status"], &["detail"])?;
    let status = result.get("status")?;
    let detail = result.map.get("detail").map(|value| result.node("detail", value));
    Ok(ConformanceResult {
        check: result.get("check")?.name()?,
        status: Status::parse(status.text()?).ok_or_else(|| status.is("is neither pass nor fail"))?,
        detail: detail.map(|detail| detail.text().map(str::to_owned)).transpose()?,
    })
}

/// The tables have each name, and no other; whether each value is a fidelity is another matter.
fn shape_of_capabilities(node: &Node<'_>) -> Result<(), ParseError> {
    let tables = node.object(&["lifecycle", "influence", "install"], &[])?;
    let phases: Vec<&str> = Phase::ALL.iter().map(|phase| phase.as_str()).collect();
    let kinds: Vec<&str> = AssetKind::ALL.iter().map(|kind| kind.as_str()).collect();
    tables.get("lifecycle")?.object(&phases, &[])?;
    tables.get("install")?.object(&kinds, &[])?;
    let influence = tables.get("influence")?;
    let influence = influence.object(&phases, &[])?;
    for phase in phases {
        influence.get(phase)?.object(&["decision", "contextInjection"], &[])?;
    }
    Ok(())
}

/// A value, and where it stands.
struct Node<'v> {
    value: &'v Value,
    path: String,
}

/// An object whose keys are known to be the right ones.
struct Object<'v> {
    map: &'v Map<String, Value>,
    path: String,
}

impl<'v> Node<'v> {
    fn is(&self, wrong: &'static str) -> ParseError {
        let path = if self.path.is_empty() { "the whole".to_owned() } else { self.path.clone() };
        ParseError::Invalid { path, wrong }
    }

    fn at(&self, key: &str) -> Self {
        Self { value: self.value, path: join(&self.path, key) }
    }

    fn object(&self, required: &[&str], optional: &[&str]) -> Result<Object<'v>, ParseError> {
        let map = self.value.as_object().ok_or_else(|| self.is("is not an object"))?;
        if let Some(missing) = required.iter().find(|key| !map.contains_key(**key)) {
            return Err(self.at(missing).is("is missing"));
        }
        if let Some(foreign) =
            map.keys().find(|key| !required.iter().chain(optional).any(|known| known == key))
        {
            return Err(self.at(foreign).is("is not a key of the schema"));
        }
        Ok(Object { map, path: self.path.clone() })
    }

    fn list(&self) -> Result<Vec<Self>, ParseError> {
        let items = self.value.as_array().ok_or_else(|| self.is("is not an array"))?;
        let node = |(at, value)| Self { value, path: format!("{}[{at}]", self.path) };
        Ok(items.iter().enumerate().map(node).collect())
    }

    fn text(&self) -> Result<&'v str, ParseError> {
        self.value.as_str().ok_or_else(|| self.is("is not a string"))
    }

    fn name(&self) -> Result<String, ParseError> {
        let text = self.text()?;
        if text.is_empty() { Err(self.is("is empty")) } else { Ok(text.to_owned()) }
    }
}

impl<'v> Object<'v> {
    fn get(&self, key: &str) -> Result<Node<'v>, ParseError> {
        let value = self.map.get(key);
        let missing = || ParseError::Invalid { path: join(&self.path, key), wrong: "is missing" };
        Ok(self.node(key, value.ok_or_else(missing)?))
    }

    fn node(&self, key: &str, value: &'v Value) -> Node<'v> {
        Node { value, path: join(&self.path, key) }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// A value in the words of the published package, which are those of JavaScript's `String`: error messages and
/// limitations are compared by their text.
pub(super) fn said(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), number_said),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let item = |item: &Value| if item.is_null() { String::new() } else { said(item) };
            items.iter().map(item).collect::<Vec<_>>().join(",")
        }
        Value::Object(_) => "[object Object]".to_owned(),
    }
}

/// The shortest digits that name the number, as an integer or a fraction up to 1e21, with an exponent beyond.
fn number_said(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let size = number.abs();
    if (1e-6..1e21).contains(&size) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    if size < 1.0 { text } else { text.replace('e', "e+") }
}
