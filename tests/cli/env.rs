//! A machine of its own for each test.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A scratch folder with a home and a project, and the binary to run in it.
pub(crate) struct TestEnv {
    root: tempfile::TempDir,
    vars: Vec<(String, String)>,
}

impl TestEnv {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let marked = root.path().ancestors().find(|dir| dir.join(".kontourai").exists());
        assert_eq!(
            marked, None,
            "these tests need a temporary folder outside every workspace: this one has .kontourai"
        );
        for dir in ["home", "project"] {
            std::fs::create_dir(root.path().join(dir)).unwrap();
        }
        let mut env = Self { root, vars: vec![] };
        // A busy machine must not turn an answer into none.
        env.set("CONSOLE_TELEMETRY_CONNECT_TIMEOUT_SECONDS", "30");
        env.set("CONSOLE_TELEMETRY_MAX_TIME_SECONDS", "60");
        // Each kind of record has tests of its own: a test of events turns their relay on.
        env.set("FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY", "0");
        env
    }

    /// Sets a variable for every command that follows.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.vars.push((name.to_owned(), value.into()));
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.project().join(".kontourai/telemetry")
    }

    pub(crate) fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_tally"), args)
    }

    /// Another program on this machine.
    #[expect(clippy::disallowed_methods, reason = "a test starts the program under test")]
    pub(crate) fn command_of(&self, program: &str, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("HOME", self.home()).current_dir(self.project()).args(args);
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, args: &[impl AsRef<OsStr>]) -> Output {
        self.feed(args, b"")
    }

    /// Runs a command with `input` on its standard input.
    pub(crate) fn feed(&self, args: &[impl AsRef<OsStr>], input: &[u8]) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // A command that does not read its input closes the pipe: that is its right.
        drop(child.stdin.take().unwrap().write_all(input));
        child.wait_with_output().unwrap()
    }

    /// Calls a Claude Code hook the way the host does, and holds it to the contract: exit 0, nothing on stdout.
    pub(crate) fn hook(&self, payload: &Value) -> Output {
        let output = self.feed(&["hook", "claude-code"], payload.to_string().as_bytes());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        output
    }

    /// The records of the economics journal.
    pub(crate) fn records(&self) -> Vec<Value> {
        lines(&self.data_dir().join("economics.jsonl"))
    }

    /// Our own log; empty when nothing was said.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.data_dir().join("tally.log")).unwrap_or_default()
    }
}

/// The whole lines of a JSONL file that are JSON.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A file that the project keeps for its tests.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}
