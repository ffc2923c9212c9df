//! The runtimes whose transcripts can be read: where each keeps them, and which reader they are for.

use super::diagnostics::Diagnostics;
use super::reader::Receiver;
use super::{claude, codex, copilot, gemini, kiro, opencode, pi};
use crate::sys::files;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Runtime {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// opencode.
    Opencode,
    /// pi.
    Pi,
    /// Gemini CLI.
    GeminiCli,
    /// Copilot CLI.
    CopilotCli,
    /// Kiro CLI.
    Kiro,
}

/// Folders that a user moved away from the home.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moved<'a> {
    /// `CLAUDE_CONFIG_DIR`: a list with commas, in place of `~/.claude`.
    pub claude_config_dirs: Option<&'a str>,
    /// `CODEX_HOME`, in place of `~/.codex`.
    pub codex_home: Option<&'a Path>,
    /// `XDG_DATA_HOME`, in place of `~/.local/share`.
    pub data_home: Option<&'a Path>,
}

/// What one reader reads at once: a file, or the folder of a runtime whose files belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// Whose it is.
    pub runtime: Runtime,
    /// Where it is.
    pub path: PathBuf,
}

impl Runtime {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Opencode,
        Self::Pi,
        Self::GeminiCli,
        Self::CopilotCli,
        Self::Kiro,
    ];

    /// The host's name.
    #[must_use]
    pub fn host(self) -> &'static str {
        match self {
            Self::ClaudeCode => claude::line::HOST,
            Self::Codex => codex::HOST,
            Self::Opencode => opencode::HOST,
            Self::Pi => pi::HOST,
            Self::GeminiCli => gemini::HOST,
            Self::CopilotCli => copilot::HOST,
            Self::Kiro => kiro::HOST,
        }
    }

    /// The runtime of a host.
    #[must_use]
    pub fn of_host(host: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|runtime| runtime.host() == host)
    }

    /// What a home has of this runtime.
    #[must_use]
    pub fn sources(self, home: &Path, moved: Moved<'_>) -> Vec<Source> {
        let codex_home = || moved.codex_home.map_or_else(|| home.join(".codex"), Path::to_path_buf);
        let data_home = || moved.data_home.map_or_else(|| home.join(".local/share"), Path::to_path_buf);
        let folder = |path: PathBuf| if path.is_dir() { vec![path] } else { vec![] };
        let paths = match self {
            Self::ClaudeCode => {
                let roots = claude::layout::roots(home, moved.claude_config_dirs);
                claude::layout::transcripts_below(roots.iter().map(PathBuf::as_path))
            }
            Self::Codex => codex::layout::rollouts(&codex_home()),
            Self::Opencode => folder(data_home().join("opencode")),
            Self::Pi => pi::sessions(home),
            Self::GeminiCli => gemini::chats(home),
            Self::CopilotCli => folder(home.join(".copilot")),
            Self::Kiro => kiro::sessions(home),
        };
        paths.into_iter().map(|path| Source { runtime: self, path }).collect()
    }

    /// The runtime that wrote a file or a folder, as its path and its name tell; Claude Code where nothing does.
    #[must_use]
    pub fn of_path(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let below = |folder: &str| path.ancestors().skip(1).any(|dir| dir.ends_with(folder));
        if codex::layout::is_rollout(name) {
            Self::Codex
        } else if opencode::is_database(name)
            || path.join("opencode.db").is_file()
            || path.join("storage/message").is_dir()
        {
            Self::Opencode
        } else if name == "events.jsonl" || name == "session-store.db" || path.join("session-state").is_dir()
        {
            Self::CopilotCli
        } else if gemini::is_chat(path) {
            Self::GeminiCli
        } else if below(".pi") || below(".omp") {
            Self::Pi
        } else if below(".kiro") {
            Self::Kiro
        } else {
            Self::ClaudeCode
        }
    }

    /// Whether its files belong together, so that a folder is read at once.
    #[must_use]
    pub fn reads_folders(self) -> bool {
        matches!(self, Self::Opencode | Self::CopilotCli)
    }

    /// Whether a file of this runtime can be read in parts, in any order.
    #[must_use]
    pub fn can_be_cut(self) -> bool {
        self == Self::ClaudeCode
    }
}

/// Whether a file of this name may be a transcript of its own, wherever it lies.
#[must_use]
pub fn is_transcript(name: &str) -> bool {
    name.ends_with(".jsonl") || codex::layout::is_rollout(name)
}

impl Source {
    /// Reads all that it says of calls; `span` is for a source that can be cut. `failed` is told of each file that
    /// cannot be read.
    pub fn read(
        &self,
        span: Range<u64>,
        to: &mut dyn Receiver,
        met: &mut Diagnostics,
        failed: &mut dyn FnMut(&Path, io::Error),
    ) {
        let path = self.path.as_path();
        match self.runtime {
            Runtime::Opencode => return opencode::all(path, to, met, failed),
            Runtime::CopilotCli => return copilot::all(path, to, met, failed),
            _ => {}
        }
        let read = files::open_regular(path).and_then(|mut file| match self.runtime {
            Runtime::ClaudeCode => {
                let place = claude::layout::place(path);
                claude::read::transcript(&mut file, span, place, claude::read::Want::Calls, to, met)
                    .map(|_| ())
            }
            Runtime::Codex => codex::read::rollout(file, path, to, met),
            Runtime::Pi => pi::news(&mut file, path, 0, to, met).map(|_| ()),
            Runtime::GeminiCli => gemini::chat(file, path, to, met),
            Runtime::Kiro => kiro::session(file, path, to, met),
            Runtime::Opencode | Runtime::CopilotCli => Ok(()),
        });
        if let Err(error) = read {
            failed(path, error);
        }
    }
}
