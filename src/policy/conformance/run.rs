//! One fixture, run: a workspace is made, the command is run once, and what came of it is held against what is expected.

use super::fixture::{Fixture, Left};
use crate::sys::files;
use crate::sys::spawn::{self, End, Job, Ran};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a command may take (contract 1.0).
pub const TIMEOUT: Duration = Duration::from_secs(15);
/// Output that is kept: more than an echo of the longest payload.
const KEEP: usize = 8 << 20;
/// The largest file that is looked into afterwards.
const MAX_BYTES: u64 = 16 << 20;
/// Characters of the input that an answer may hold instead of all of it at its beginning.
const HEAD: usize = 40;

/// What is put to the test.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// This engine, asked by hook.
    Engine(&'a Path),
    /// A command for the shell, which has to choose the policy by the payload.
    Adapter(&'a str),
}

/// Where it is done.
#[derive(Debug)]
pub struct Bench<'a> {
    /// What is put to the test.
    pub subject: Subject<'a>,
    /// The environment of the run.
    pub env: Vec<(OsString, OsString)>,
    /// Where the command runs.
    pub cwd: &'a Path,
    /// A folder for workspaces.
    pub scratch: &'a Path,
    /// How long a fixture may take.
    pub timeout: Duration,
}

/// What came of a fixture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Its exit code, where it has one.
    pub code: Option<i32>,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Each expectation that does not hold, in words; none: it passed.
    pub failures: Vec<String>,
}

impl Bench<'_> {
    /// Runs a fixture.
    #[must_use]
    pub fn run(&self, fixture: &Fixture) -> Verdict {
        let failed = |why: String| Verdict { failures: vec![why], ..Verdict::default() };
        let folder = match self.workspace(fixture) {
            Ok(folder) => folder,
            Err(why) => return failed(format!("its workspace cannot be made: {why}")),
        };
        let input = fixture.input(folder.as_deref());
        let verdict = match self.start(fixture, &input) {
            Ok(ran) => judge(fixture, &input, &ran, folder.as_deref(), self.timeout),
            Err(why) => failed(format!("the command cannot be started: {why}")),
        };
        if let Some(folder) = folder {
            drop(std::fs::remove_dir_all(folder));
        }
        verdict
    }

    fn start(&self, fixture: &Fixture, input: &str) -> io::Result<Ran> {
        let [id, script] = &fixture.hook;
        let argv: Vec<&OsStr> = match self.subject {
            Subject::Engine(program) => {
                vec![program.as_os_str(), "run-hook".as_ref(), id.as_ref(), script.as_ref()]
            }
            Subject::Adapter(command) => vec!["sh".as_ref(), "-c".as_ref(), command.as_ref()],
        };
        let own = fixture.env.iter().map(|(name, value)| (name.into(), value.into()));
        let envs: Vec<_> = self.env.iter().cloned().chain(own).collect();
        spawn::run(&Job {
            argv: &argv,
            envs: &envs,
            cwd: self.cwd,
            stdin: input.as_bytes(),
            timeout: self.timeout,
            keep: KEEP,
        })
    }

    fn workspace(&self, fixture: &Fixture) -> io::Result<Option<PathBuf>> {
        let Some(setup) = &fixture.setup else { return Ok(None) };
        let folder = self.scratch.join(format!("fa-conformance-{:016x}", fastrand::u64(..)));
        std::fs::create_dir(&folder)?;
        for (name, content) in setup {
            let path = folder.join(name);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(path, content)?;
        }
        if fixture.git {
            for args in
                [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-q", "-m", "fixture"]]
            {
                self.git(&folder, args)?;
            }
        }
        // The command is told of it as it is: a path through a link is another one.
        folder.canonicalize().map(Some)
    }

    fn git(&self, folder: &Path, args: &[&str]) -> io::Result<()> {
        let identity = ["user.name=conformance", "user.email=conformance@localhost", "commit.gpgsign=false"];
        let options = identity.iter().flat_map(|option| ["-c", option]).map(OsStr::new);
        let argv: Vec<&OsStr> =
            [OsStr::new("git")].into_iter().chain(options).chain(args.iter().map(OsStr::new)).collect();
        let plain = |pair: &&(OsString, OsString)| !pair.0.as_encoded_bytes().starts_with(b"GIT_");
        let mut envs: Vec<_> = self.env.iter().filter(plain).cloned().collect();
        envs.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()));
        envs.push(("GIT_CONFIG_NOSYSTEM".into(), "1".into()));
        let job = Job { argv: &argv, envs: &envs, cwd: folder, stdin: b"", timeout: TIMEOUT, keep: 1024 };
        let ran = spawn::run(&job)?;
        if ran.end == End::Code(0) {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "git {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&ran.stderr).trim()
        )))
    }
}

/// Holds what came of a fixture against what it expects.
fn judge(fixture: &Fixture, input: &str, ran: &Ran, folder: Option<&Path>, timeout: Duration) -> Verdict {
    let expected = &fixture.expected;
    let stdout = String::from_utf8_lossy(&ran.stdout);
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let mut failures = Vec::new();
    let mut unless = |holds: bool, what: String| {
        if !holds {
            failures.push(what);
        }
    };
    let code = match ran.end {
        End::Code(code) => Some(code),
        End::Signal(signal) => {
            unless(false, format!("it was ended by signal {signal}"));
            None
        }
        End::Timeout => {
            unless(false, format!("it took longer than {timeout:?}"));
            None
        }
    };
    if let (Some(wanted), Some(code)) = (expected.exit_code, code) {
        unless(i64::from(code) == wanted, format!("exit code {code}, expected {wanted}"));
    }
    if let Some(wanted) = expected.echoes {
        let head: String = input.chars().take(HEAD).collect();
        let echoes = stdout.trim().starts_with(input) || stdout.contains(&head);
        unless(
            echoes == wanted,
            format!("standard output {} the input", if wanted { "lacks" } else { "has" }),
        );
    }
    let outputs = [
        ("standard output", &stdout, expected.stdout_is_empty, &expected.stdout_contains),
        ("standard error", &stderr, expected.stderr_is_empty, &expected.stderr_contains),
    ];
    for (what, text, is_empty, contains) in outputs {
        if let Some(wanted) = is_empty {
            unless(
                text.trim().is_empty() == wanted,
                format!("{what} is {}empty", if wanted { "not " } else { "" }),
            );
        }
        for needle in contains {
            unless(text.contains(needle.as_str()), format!("{what} lacks {needle:?}"));
        }
    }
    for (name, left) in &expected.files {
        let path = folder.map(|folder| folder.join(name)).unwrap_or_default();
        let found = files::read_bounded(&path, MAX_BYTES).ok().flatten();
        let text = found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let shown = name.display();
        match (left, text) {
            (Left::Gone, None) => {}
            (Left::Gone, Some(_)) => unless(false, format!("{shown} is there")),
            (_, None) => unless(false, format!("{shown} is not there")),
            (Left::Text(wanted), Some(text)) => unless(text == *wanted, format!("{shown} has another text")),
            (Left::Contains(needles), Some(text)) => {
                for needle in needles {
                    unless(text.contains(needle.as_str()), format!("{shown} lacks {needle:?}"));
                }
            }
        }
    }
    Verdict { code, stderr: stderr.into_owned(), failures }
}
