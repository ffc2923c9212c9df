//! The workspace of a vector.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(super) struct Stage {
    root: tempfile::TempDir,
    env: BTreeMap<String, String>,
}

impl Stage {
    pub(super) fn of(vector: &Value) -> Self {
        let mut stage = Self { root: tempfile::tempdir().unwrap(), env: BTreeMap::new() };
        for folder in ["ws", "home", "bin"] {
            std::fs::create_dir(stage.root.path().join(folder)).unwrap();
        }
        let path = format!("{}:/usr/bin:/bin", stage.path("bin").display());
        for (name, value) in
            [("PATH", path.as_str()), ("LANG", "C.UTF-8"), ("FLOW_AGENTS_ACTOR", "conformance")]
        {
            stage.env.insert(name.to_owned(), value.to_owned());
        }
        stage.env.insert("HOME".to_owned(), stage.path("home").display().to_string());
        for (name, value) in vector["env"].as_object().into_iter().flatten() {
            stage.env.insert(name.clone(), stage.filled(value.as_str().unwrap()));
        }
        let workspace = &vector["workspace"];
        let each = |key: &str| workspace[key].as_object().cloned().unwrap_or_default();
        for (name, content) in each("files") {
            stage.put(&stage.path("ws").join(name), &content);
        }
        for (name, content) in each("stub_bins") {
            let path = stage.path("bin").join(name);
            stage.put(&path, &content);
            executable(&path);
        }
        for name in workspace["exec"].as_array().into_iter().flatten() {
            executable(&stage.path("ws").join(name.as_str().unwrap()));
        }
        if workspace["git"] == true {
            stage.commit();
        }
        for (name, content) in each("after_commit_files") {
            stage.put(&stage.path("ws").join(name), &content);
        }
        for (name, age) in each("mtime_age_s") {
            let file = std::fs::File::options().write(true).open(stage.path("ws").join(name)).unwrap();
            let age = std::time::Duration::from_secs(age.as_u64().unwrap());
            file.set_modified(file.metadata().unwrap().modified().unwrap() - age).unwrap();
        }
        stage
    }

    pub(super) fn path(&self, folder: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(folder)
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.env.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn commit(&self) {
        for args in
            [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-q", "--allow-empty", "-m", "x"]]
        {
            assert!(self.git(args).status.success(), "{args:?}");
        }
    }

    pub(super) fn git(&self, args: &[&str]) -> Output {
        let mut command = self.command("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]).args(args);
        command.output().unwrap()
    }

    fn put(&self, path: &Path, content: &Value) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        std::fs::write(path, self.filled(&text)).unwrap();
    }

    fn filled(&self, text: &str) -> String {
        let of = |folder: &str| self.path(folder).display().to_string();
        text.replace("__WS__", &of("ws")).replace("__HOME__", &of("home")).replace("__BIN__", &of("bin"))
    }

    /// Standard input of a vector.
    pub(super) fn input(&self, vector: &Value) -> String {
        let raw = &vector["stdin_raw"];
        let text = match raw {
            Value::Null => vector["payload"].to_string(),
            Value::String(text) => text.clone(),
            parts => {
                let fill =
                    parts["fill"][0].as_str().unwrap().repeat(parts["fill"][1].as_u64().unwrap() as usize);
                format!("{}{fill}{}", parts["head"].as_str().unwrap(), parts["tail"].as_str().unwrap())
            }
        };
        self.filled(&text)
    }

    #[expect(clippy::disallowed_methods, reason = "a test starts the program under test")]
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.env).current_dir(self.path("ws"));
        command
    }

    /// Runs our program with `input`.
    pub(super) fn tally(&self, args: &[String], input: &str) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_tally"));
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_bytes().to_vec();
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        output
    }

    /// A file of the workspace; empty where there is none.
    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path("ws").join(name)).unwrap_or_default()
    }
}

fn executable(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The vectors of a file.
pub(super) fn vectors(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(crate::env::fixture(&format!("policy/{name}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
