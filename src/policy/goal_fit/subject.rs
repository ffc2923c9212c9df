//! The session that is about to stop, as its files tell it.

use super::bundle::Bundle;
use crate::policy::session::{Pointed, Site, newest, object};
use crate::policy::text;
use crate::sys::files;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Statuses of a task that is done.
const DONE: [&str; 7] = ["done", "delivered", "accepted", "archived", "complete", "completed", "canceled"];
const PLANNED_STATUS: [&str; 4] = ["new", "planning", "planned", "backlog"];
const PLANNED_PHASE: [&str; 4] = ["idea", "backlog", "pickup", "planning"];
/// How much of a page is read: its headers stand at its beginning.
const PAGE: u64 = 64 << 10;
/// Files of which a session has at least one, if it has no page.
const SIDECARS: [&str; 4] = ["state.json", "trust.bundle", "evidence.json", "command-log.jsonl"];
/// Kinds of work whose page is a session's.
const WORK: [&str; 5] = ["deliver", "delivery", "fix-bug", "execute-plan", "verify-work"];

/// A session.
#[derive(Debug)]
pub(super) struct Subject {
    pub site: Site,
    /// Where its files are.
    pub folder: PathBuf,
    /// Whether a pointer leads to it: then it is the session of who stops.
    pub bound: bool,
    /// The pointer.
    pub pointer: Map<String, Value>,
    pub page: Option<Page>,
    pub state: Doc<Map<String, Value>>,
    pub bundle: Doc<Bundle>,
    pub evidence: Doc<Map<String, Value>>,
    pub critique: Doc<Map<String, Value>>,
    pub acceptance: Doc<Map<String, Value>>,
}

/// A file of a session.
#[derive(Debug)]
pub(super) enum Doc<T> {
    Absent,
    /// It is there, and is not what it should be.
    Unreadable,
    Read(T),
}

impl<T> Doc<T> {
    pub(super) fn get(&self) -> Option<&T> {
        match self {
            Self::Read(read) => Some(read),
            _ => None,
        }
    }
}

/// Its page in markdown.
#[derive(Debug)]
pub(super) struct Page {
    pub path: PathBuf,
    pub status: String,
}

/// What there is to be judged.
pub(super) enum Found {
    Nothing,
    /// The pointer leads nowhere, and nothing else can be meant.
    Stale,
    Session(Box<Subject>, /* whether a pointer was stale */ bool),
}

impl Found {
    /// This, if it is anything; else the `other`.
    pub(super) fn or(self, other: Self) -> Self {
        if matches!(self, Self::Nothing) { other } else { self }
    }
}

impl Subject {
    /// Finds the session of `actor`; `searched`: also one that no pointer leads to.
    pub(super) fn find(site: Site, actor: Option<&str>, searched: bool) -> Found {
        let (folder, page, pointer, stale) = match site.pointed(actor) {
            Pointed::To(folder, pointer) => {
                let page = newest(&folder, &is_page).and_then(|path| Page::read(&path));
                if page.is_none() && !SIDECARS.iter().any(|name| folder.join(name).exists()) {
                    return Found::Nothing;
                }
                (folder, page, Some(pointer), false)
            }
            pointed => {
                let stale = pointed == Pointed::Stale;
                if !searched {
                    return if stale { Found::Stale } else { Found::Nothing };
                }
                // Whoever lost the way to the session may still be in one that has a state.
                let wanted =
                    |path: &Path| is_page(path) && (!stale || path.with_file_name("state.json").exists());
                let Some(page) = site.newest(&wanted).and_then(|path| Page::read(&path)) else {
                    return if stale { Found::Stale } else { Found::Nothing };
                };
                (page.path.parent().unwrap_or(&site.start).to_path_buf(), Some(page), None, stale)
            }
        };
        let doc = |name: &str| read(&folder.join(name));
        let bundle = match doc("trust.bundle") {
            Doc::Read(fields) => Bundle::of(fields).map_or(Doc::Unreadable, Doc::Read),
            Doc::Unreadable => Doc::Unreadable,
            Doc::Absent => Doc::Absent,
        };
        let subject = Self {
            bound: pointer.is_some(),
            pointer: pointer.unwrap_or_default(),
            state: doc("state.json"),
            bundle,
            evidence: doc("evidence.json"),
            critique: doc("critique.json"),
            acceptance: doc("acceptance.json"),
            page,
            folder,
            site,
        };
        Found::Session(Box::new(subject), stale)
    }

    /// Its name.
    pub(super) fn slug(&self) -> String {
        text::line(&self.folder.file_name().unwrap_or_default().to_string_lossy(), 80)
    }

    /// Its state, where it can be read.
    pub(super) fn state(&self) -> Option<&Map<String, Value>> {
        self.state.get()
    }

    /// A text of its state, cleaned.
    pub(super) fn word(&self, key: &str) -> String {
        let word = self.state().and_then(|state| state.get(key)?.as_str()).unwrap_or_default();
        text::line(word, 80)
    }

    /// Its status: of its state, else of its page.
    pub(super) fn status(&self) -> String {
        match (self.state(), &self.page) {
            (Some(_), _) => self.word("status"),
            (None, Some(page)) => page.status.clone(),
            (None, None) => String::new(),
        }
    }

    /// Whether it says that it is done.
    pub(super) fn is_done(&self) -> bool {
        DONE.contains(&self.status().as_str())
    }

    /// Whether nothing was begun yet.
    pub(super) fn is_planned(&self) -> bool {
        let planned = PLANNED_STATUS.contains(&self.status().as_str())
            || PLANNED_PHASE.contains(&self.word("phase").as_str());
        planned && !self.is_running()
    }

    /// Whether a canonical run of it is under way.
    pub(super) fn is_running(&self) -> bool {
        let run = self.state().and_then(|state| state.get("flow_run")?.get("status")?.as_str());
        run == Some("active")
    }

    /// The recorded next step.
    pub(super) fn next(&self) -> Option<&Map<String, Value>> {
        self.state()?.get("next_action")?.as_object()
    }

    /// The folder that holds the session, of those that hold sessions.
    pub(super) fn place(&self) -> PathBuf {
        let place = self.site.places.iter().find(|place| self.folder.starts_with(place));
        place.cloned().unwrap_or_else(|| self.folder.clone())
    }

    /// `path` as it is shown: from the root of the project.
    pub(super) fn shown(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.site.root).unwrap_or(path);
        text::line(&below.to_string_lossy(), 240)
    }
}

fn read(path: &Path) -> Doc<Map<String, Value>> {
    match path.symlink_metadata() {
        Err(_) => Doc::Absent,
        // No writer of sidecars makes a link, and where it leads is anybody's.
        Ok(about) if about.is_symlink() => Doc::Unreadable,
        Ok(_) => object(path).map_or(Doc::Unreadable, Doc::Read),
    }
}

/// Whether a file may be the page of a session, by its name and its headers.
fn is_page(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !name.ends_with(".md") || name.ends_with("-plan.md") || name.ends_with("-review.md") {
        return false;
    }
    let Some(text) = beginning(path) else { return false };
    if header(&text, "role").is_some_and(|role| matches!(role, "plan" | "review")) {
        return false;
    }
    let named = || WORK.iter().any(|work| *work != "delivery" && name.contains(&format!("--{work}")));
    header(&text, "type").is_some_and(|kind| WORK.contains(&kind)) || named()
}

fn beginning(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut bytes = Vec::new();
    files::open_regular(path).ok()?.take(PAGE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of the first line `key: value`.
fn header<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(value.trim())
}

impl Page {
    fn read(path: &Path) -> Option<Self> {
        let text = beginning(path)?;
        let status = text::line(header(&text, "status").unwrap_or_default(), 80).to_lowercase();
        Some(Self { path: path.to_path_buf(), status })
    }
}
