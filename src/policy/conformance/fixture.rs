//! A fixture: what comes in, what is there before, and what must come of it. One JSON object, in a file of its own name
//! (`schemas/conformance-fixture.schema.json`).
//!
//! | key | what it holds |
//! |---|---|
//! | `policy_class`, `conformance_level`, `hook_id`, `hook_script` | what it is about |
//! | `payload` | standard input; `cwd` may be `__TEMP_WORKSPACE__` |
//! | `workspace_setup`, `workspace_git` | files, as text or as JSON; whether they are committed |
//! | `env` | variables beside those of the run |
//! | `expected` | `exit_code`, `stdout_echoes_input`, `stdout_is_empty`, `stderr_is_empty`, `stdout_contains`, `stderr_contains`, `files` |

use super::level::Level;
use crate::policy::Policy;
use crate::sys::files;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

const SHIPPED: &str = include_str!("../../../conformance/fixtures.json");
/// What stands for the workspace.
const WORKSPACE: &str = "__TEMP_WORKSPACE__";
/// The largest fixture.
const MAX_BYTES: u64 = 4 << 20;
/// The most fixtures of a folder.
const MOST: usize = 10_000;

/// One fixture.
#[derive(Debug, Clone, PartialEq)]
pub struct Fixture {
    /// Its name.
    pub name: String,
    /// What it shows, in words.
    pub description: String,
    /// The policy that it is about.
    pub policy: Policy,
    /// The level from which on it counts.
    pub level: Level,
    /// The hook, for an engine that is asked by hook.
    pub hook: [String; 2],
    /// Files that are there before, by their paths in the workspace; `None`: it has no workspace.
    pub setup: Option<Vec<(PathBuf, String)>>,
    /// Whether they are committed.
    pub git: bool,
    /// Variables.
    pub env: Vec<(String, String)>,
    /// What must come of it.
    pub expected: Expected,
    payload: Map<String, Value>,
}

/// What must come of a fixture; what is absent is not looked at.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected {
    /// The exit code.
    pub exit_code: Option<i64>,
    /// Whether standard output begins with the input.
    pub echoes: Option<bool>,
    /// Whether standard output is empty.
    pub stdout_is_empty: Option<bool>,
    /// Whether standard error is empty.
    pub stderr_is_empty: Option<bool>,
    /// What standard output has in it.
    pub stdout_contains: Vec<String>,
    /// What standard error has in it.
    pub stderr_contains: Vec<String>,
    /// What is in the workspace afterwards.
    pub files: Vec<(PathBuf, Left)>,
}

/// A file afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// It is not there.
    Gone,
    /// It has this text.
    Text(String),
    /// It has these in it.
    Contains(Vec<String>),
}

/// Why fixtures cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FixtureError {
    /// The folder cannot be read.
    #[error("{folder}: cannot be read: {why}")]
    Folder {
        /// The folder.
        folder: String,
        /// What the system said.
        why: String,
    },
    /// There is none.
    #[error("{0}: there is no fixture (*.json) in it")]
    Empty(String),
    /// There are more than anybody has.
    #[error("{0}: more than {MOST} fixtures")]
    TooMany(String),
    /// One is none.
    #[error("fixture {name}: {why}")]
    Malformed {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The fixtures that are shipped: those of flow-agents 3.4.1, with what the capture leaves.
///
/// # Errors
/// Never for those that are shipped; a test holds them to it.
pub fn shipped() -> Result<Vec<Fixture>, FixtureError> {
    shipped_text().into_iter().map(|(name, text)| Fixture::parse(&name, text.as_bytes())).collect()
}

/// The fixtures that are shipped, by name, as they are written.
#[must_use]
pub fn shipped_text() -> Vec<(String, String)> {
    let all: Map<String, Value> = serde_json::from_str(SHIPPED).unwrap_or_default();
    all.into_iter().map(|(name, fixture)| (name, format!("{fixture:#}\n"))).collect()
}

impl Fixture {
    /// The fixtures in `folder`, by the names of their files.
    ///
    /// # Errors
    /// When the folder cannot be read, has none, or has one that is none.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, FixtureError> {
        let shown = folder.display().to_string();
        let wrong =
            |why: &std::io::Error| FixtureError::Folder { folder: shown.clone(), why: why.to_string() };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|why| wrong(&why))? {
            let path = entry.map_err(|why| wrong(&why))?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        if paths.is_empty() {
            return Err(FixtureError::Empty(shown));
        }
        if paths.len() > MOST {
            return Err(FixtureError::TooMany(shown));
        }
        let read = |path: &PathBuf| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let malformed = |why: String| FixtureError::Malformed { name: name.clone(), why };
            match files::read_bounded(path, MAX_BYTES) {
                Ok(Some(bytes)) => Self::parse(&name, &bytes),
                Ok(None) => Err(malformed("a link that leads nowhere".to_owned())),
                Err(why) => Err(malformed(why.to_string())),
            }
        };
        let fixtures = paths.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let mut names = HashSet::new();
        match fixtures.iter().find(|fixture| !names.insert(fixture.name.as_str())) {
            None => Ok(fixtures),
            Some(twice) => {
                let why = "another fixture has this name".to_owned();
                Err(FixtureError::Malformed { name: twice.name.clone(), why })
            }
        }
    }

    /// Reads one.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, FixtureError> {
        let malformed = |why: String| FixtureError::Malformed { name: name.to_owned(), why };
        let fields: Map<String, Value> =
            serde_json::from_slice(bytes).map_err(|why| malformed(format!("not a JSON object: {why}")))?;
        Self::of(name, &fields).map_err(malformed)
    }

    fn of(name: &str, fields: &Map<String, Value>) -> Result<Self, String> {
        let text = |key: &str| match fields.get(key) {
            Some(Value::String(text)) => Ok(text.as_str()),
            _ => Err(format!("`{key}` must be a text")),
        };
        let class = text("policy_class")?;
        let policy = Policy::ALL.into_iter().find(|policy| policy.name() == class);
        let setup = match fields.get("workspace_setup") {
            None => None,
            Some(Value::Object(setup)) => {
                let files = setup.iter().map(file).collect::<Result<Vec<_>, _>>()?;
                fits(&files)?;
                Some(files)
            }
            Some(_) => return Err("`workspace_setup` must be an object".to_owned()),
        };
        let payload =
            fields.get("payload").and_then(Value::as_object).ok_or("`payload` must be an object")?;
        let expected =
            fields.get("expected").and_then(Value::as_object).ok_or("`expected` must be an object")?;
        let env = match fields.get("env") {
            None => vec![],
            Some(env) => pairs(env).ok_or("`env` must be an object of texts")?,
        };
        let level = text("conformance_level")?;
        Ok(Self {
            name: fields.get("name").and_then(Value::as_str).unwrap_or(name).to_owned(),
            description: fields.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
            policy: policy.ok_or_else(|| format!("`policy_class` is no policy: {class}"))?,
            level: Level::parse(level).ok_or_else(|| format!("`conformance_level` is no level: {level}"))?,
            hook: [text("hook_id")?.to_owned(), text("hook_script")?.to_owned()],
            git: fields.get("workspace_git") == Some(&Value::Bool(true)),
            expected: Expected::of(expected, setup.is_some())?,
            setup,
            env,
            payload: payload.clone(),
        })
    }

    /// Standard input, for a workspace in `folder`.
    #[must_use]
    pub fn input(&self, folder: Option<&Path>) -> String {
        let mut payload = self.payload.clone();
        if let Some(folder) = folder
            && payload.get("cwd").and_then(Value::as_str) == Some(WORKSPACE)
        {
            payload.insert("cwd".to_owned(), folder.to_string_lossy().into());
        }
        Value::Object(payload).to_string()
    }
}

/// A file of a workspace.
fn file((name, content): (&String, &Value)) -> Result<(PathBuf, String), String> {
    let content = match content {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    };
    Ok((inside(name)?, content))
}

/// Whether all of these files can be there at once.
fn fits(files: &[(PathBuf, String)]) -> Result<(), String> {
    let mut paths: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
    paths.sort();
    let clash = paths.windows(2).find_map(|pair| match pair {
        [first, next] if next.starts_with(first) => Some(first.display()),
        _ => None,
    });
    clash.map_or(Ok(()), |path| {
        Err(format!("`workspace_setup` has {path} twice, or as a file and as a folder"))
    })
}

/// A path that stays in the workspace.
fn inside(name: &str) -> Result<PathBuf, String> {
    let plain =
        !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| PathBuf::from(name)).ok_or_else(|| format!("{name:?} is no path inside a workspace"))
}

fn pairs(value: &Value) -> Option<Vec<(String, String)>> {
    value.as_object()?.iter().map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

impl Expected {
    fn of(fields: &Map<String, Value>, has_workspace: bool) -> Result<Self, String> {
        let mut expected = Self::default();
        for (key, value) in fields {
            let wrong = |what: &str| format!("`expected.{key}` must be {what}");
            let flag = || value.as_bool().ok_or_else(|| wrong("true or false"));
            let list = || texts(value).ok_or_else(|| wrong("a list of texts"));
            match key.as_str() {
                "exit_code" => {
                    expected.exit_code = Some(value.as_i64().ok_or_else(|| wrong("a whole number"))?)
                }
                "stdout_echoes_input" => expected.echoes = Some(flag()?),
                "stdout_is_empty" => expected.stdout_is_empty = Some(flag()?),
                "stderr_is_empty" => expected.stderr_is_empty = Some(flag()?),
                "stdout_contains" => expected.stdout_contains = list()?,
                "stderr_contains" => expected.stderr_contains = list()?,
                "files" if has_workspace => {
                    for (name, left) in value.as_object().ok_or_else(|| wrong("an object"))? {
                        let left =
                            Left::of(left).ok_or_else(|| wrong("texts, null or {\"contains\": [texts]}"))?;
                        expected.files.push((inside(name)?, left));
                    }
                }
                _ => return Err(format!("`expected.{key}` is nothing that can be checked")),
            }
        }
        if fields.is_empty() { Err("`expected` expects nothing".to_owned()) } else { Ok(expected) }
    }
}

impl Left {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Gone),
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Object(fields) if fields.len() == 1 => texts(fields.get("contains")?).map(Self::Contains),
            _ => None,
        }
    }
}
