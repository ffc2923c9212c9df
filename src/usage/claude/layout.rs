//! Where Claude Code keeps its transcripts (transcript formats §1, Where).
//!
//! ```text
//! ~/.claude/projects/<cwd>/<session>.jsonl                              the conversation
//! ~/.claude/projects/<cwd>/<session>/subagents/**/agent-<id>.jsonl      its subagents
//! ~/.claude/projects/<cwd>/agent-<id>.jsonl                             subagents of older versions
//! ```
//!
//! `CLAUDE_CONFIG_DIR` (a list with commas) replaces `~/.claude`; older installs also use `~/.config/claude`.

use super::line::Place;
use crate::sys::files;
use crate::usage::walk::Walk;
use std::path::{Path, PathBuf};

/// The transcript folders of a home.
#[must_use]
pub fn roots(home: &Path, config_dirs: Option<&str>) -> Vec<PathBuf> {
    match config_dirs {
        Some(list) => list.split(',').map(str::trim).filter(|dir| !dir.is_empty()).map(projects).collect(),
        None => vec![projects(home.join(".claude")), projects(home.join(".config/claude"))],
    }
}

fn projects(dir: impl AsRef<Path>) -> PathBuf {
    dir.as_ref().join("projects")
}

/// Every `*.jsonl` below `dirs`, sorted, so that the same files always give the same answer. A folder that two of them
/// lead to counts once.
#[must_use]
pub fn transcripts_below<'a>(dirs: impl IntoIterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mut walk = Walk::for_files(is_transcript);
    for dir in dirs {
        walk.below(dir);
    }
    walk.sorted()
}

/// The subagents of the session whose conversation is `transcript`: below the folder of the same name. Those of older
/// versions are [`sibling_agents`].
#[must_use]
pub fn subagents(transcript: &Path) -> Vec<PathBuf> {
    let mut walk = Walk::for_files(is_agent_file);
    walk.below(&transcript.with_extension(""));
    walk.sorted()
}

/// The `agent-*.jsonl` files beside `transcript`; each may belong to any session of the folder.
#[must_use]
pub fn sibling_agents(transcript: &Path) -> Vec<PathBuf> {
    let Some(dir) = transcript.parent() else { return vec![] };
    let mut walk = Walk::for_files(is_agent_file);
    walk.within(dir);
    walk.sorted()
}

/// Whether a file of this name is a transcript.
#[must_use]
pub fn is_transcript(name: &str) -> bool {
    name.ends_with(".jsonl")
}

fn is_agent_file(name: &str) -> bool {
    name.starts_with("agent-") && name.ends_with(".jsonl")
}

/// What kind of agent a subagent file belongs to, as the file beside it says (`agent-<id>.meta.json`).
#[must_use]
pub fn agent_type(agent_file: &Path) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        agent_type: String,
    }
    let bytes = files::read_bounded(&agent_file.with_extension("meta.json"), MAX_META).ok()??;
    serde_json::from_slice::<Meta>(&bytes).ok().map(|meta| meta.agent_type)
}

const MAX_META: u64 = 64 * 1024;

/// What a transcript's path tells of the lines in it.
#[must_use]
pub fn place(path: &Path) -> Place<'_> {
    let file = path.to_str().unwrap_or_default();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let agent = stem.strip_prefix("agent-");
    let session = match agent {
        None => Some(stem),
        Some(_) => session_of_agent(path),
    };
    Place { file, session, agent }
}

/// `…/<session>/subagents/**/agent-x.jsonl` → `<session>`.
fn session_of_agent(path: &Path) -> Option<&str> {
    let subagents = path.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "subagents"))?;
    subagents.parent()?.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_path_tells_session_and_agent() {
        let place = place(Path::new("/p/s1/subagents/workflows/wf_1/agent-c3.jsonl"));
        assert_eq!((place.session, place.agent), (Some("s1"), Some("c3")));
        let place = super::place(Path::new("/p/s1.jsonl"));
        assert_eq!((place.session, place.agent), (Some("s1"), None));
        let place = super::place(Path::new("/p/agent-x.jsonl"));
        assert_eq!((place.session, place.agent), (None, Some("x")));
    }

    #[test]
    fn a_session_is_its_conversation_and_its_subagents() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("s1.jsonl");
        let nested = dir.path().join("s1/subagents/workflows/wf/agent-b.jsonl");
        let other = dir.path().join("s2/subagents/agent-z.jsonl");
        let sibling = dir.path().join("agent-old.jsonl");
        for file in [&main, &nested, &other, &sibling, &dir.path().join("s1/subagents/journal.jsonl")] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        assert_eq!(subagents(&main), [nested]);
        assert_eq!(sibling_agents(&main), [sibling]);
    }

    #[test]
    fn the_config_dir_replaces_the_home() {
        let home = Path::new("/h");
        assert_eq!(
            roots(home, None),
            [Path::new("/h/.claude/projects"), Path::new("/h/.config/claude/projects")]
        );
        assert_eq!(roots(home, Some("/a, /b")), [Path::new("/a/projects"), Path::new("/b/projects")]);
    }
}
