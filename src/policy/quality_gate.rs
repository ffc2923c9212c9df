//! `quality-gate`: after a file was written, the project's own formatter looks at it. It never blocks.
//!
//! | ending | program |
//! |---|---|
//! | `.ts .tsx .js .jsx .json .md` | Biome, where the project has its config (not for scripts: that is the editor's affair); else Prettier, where it has one |
//! | `.go` | `gofmt`, to fix, or strictly |
//! | `.py` | `ruff format` |
//!
//! The project is the nearest folder with a `package.json` or such a config. What was installed in it goes before `npx`, which
//! is kept from the network.
//!
//! 1. A formatter gets the named file and no other: one that a tool wrote, that is no link, and that lies in the workspace where
//!    the agent works. Nothing above the workspace is looked for or run.
//! 2. All checks of one call share one time limit.

use super::payload::Named;
use super::session::Site;
use super::{Call, Outcome, text};
use crate::settings::env::{Var, vars};
use crate::sys::git::Repository;
use crate::sys::spawn::{self, End, Job};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the checks of one call may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The setting that keeps npm from the network.
const OFFLINE: &str = "npm_config_offline";
/// Files of one call that are looked at.
const FILES: usize = 8;

const BIOME: [&str; 2] = ["biome.json", "biome.jsonc"];
const PRETTIER: [&str; 17] = [
    ".prettierrc",
    ".prettierrc.json",
    ".prettierrc.json5",
    ".prettierrc.yml",
    ".prettierrc.yaml",
    ".prettierrc.toml",
    ".prettierrc.js",
    ".prettierrc.cjs",
    ".prettierrc.mjs",
    ".prettierrc.ts",
    ".prettierrc.cts",
    ".prettierrc.mts",
    "prettier.config.js",
    "prettier.config.cjs",
    "prettier.config.mjs",
    "prettier.config.ts",
    "prettier.config.mts",
];

/// A check of one file.
#[derive(Debug, PartialEq, Eq)]
struct Check {
    tool: &'static str,
    argv: Vec<OsString>,
    folder: PathBuf,
    /// Whether anything that it says is a failure.
    silent: bool,
}

/// Looks at what the call wrote.
#[must_use]
pub fn run(call: &Call<'_>) -> Outcome {
    let (fix, strict) = (is_on(call, &vars::SA_QUALITY_GATE_FIX), is_on(call, &vars::SA_QUALITY_GATE_STRICT));
    let Some(payload) = call.payload.filter(|payload| !payload.only_reads()) else { return Outcome::allow() };
    let cwd = call.works();
    let paths = payload.names().into_iter().filter_map(|named| match named {
        Named::Path(path) => Some(cwd.join(path)),
        Named::Patch(_) => None,
    });
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files.dedup();
    if files.is_empty() {
        return Outcome::allow();
    }
    let site = Site::of(None, &cwd);
    let (since, limit) = (Instant::now(), call.patience.map_or(TIMEOUT, |patience| patience.min(TIMEOUT)));
    let mut said = String::new();
    for file in files.iter().take(FILES) {
        let Some(root) = root_of(file, &site) else { continue };
        let Some(check) = check(file, &root, fix, strict) else { continue };
        let left = limit.saturating_sub(since.elapsed());
        if !passes(call, &check, left) && strict {
            let shown = text::line(&file.to_string_lossy(), 500);
            said.push_str(&format!("[QualityGate] {} check failed for {shown}\n", check.tool));
        }
    }
    Outcome { stderr: said, ..Outcome::allow() }
}

/// The root of the workspace that holds `file`, itself and not through a link; `None` where that is not the agent's.
fn root_of(file: &Path, site: &Site) -> Option<PathBuf> {
    let real = file.canonicalize().ok()?;
    let folder = real.parent()?;
    let about = file.symlink_metadata().ok()?;
    if about.is_symlink() || !(site.holds(folder) || site.is_about(folder)) {
        return None;
    }
    let own = Repository::discover(folder).and_then(|own| own.worktree_root().map(Path::to_path_buf));
    own.unwrap_or_else(|| site.root.clone()).canonicalize().ok()
}

fn is_on(call: &Call<'_>, var: &Var) -> bool {
    call.env.get(var).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

fn check(file: &Path, root: &Path, fix: bool, strict: bool) -> Option<Check> {
    let ending = file.extension()?.to_str()?.to_ascii_lowercase();
    let folder = file.parent()?;
    let plain = |tool: &'static str, args: &[&str], silent| {
        let argv = args.iter().map(OsString::from).chain([file.into()]).collect();
        Some(Check { tool, argv, folder: folder.to_path_buf(), silent })
    };
    match ending.as_str() {
        "ts" | "tsx" | "js" | "jsx" | "json" | "md" => of_project(file, root, &ending, fix),
        "go" if fix => plain("gofmt", &["gofmt", "-w"], false),
        "go" if strict => plain("gofmt", &["gofmt", "-l"], true),
        "py" if fix => plain("Ruff", &["ruff", "format"], false),
        "py" => plain("Ruff", &["ruff", "format", "--check"], false),
        _ => None,
    }
}

fn of_project(file: &Path, root: &Path, ending: &str, fix: bool) -> Option<Check> {
    let has = |folder: &Path, names: &[&str]| names.iter().any(|name| folder.join(name).exists());
    let is_project =
        |folder: &&Path| has(folder, &["package.json"]) || has(folder, &BIOME) || has(folder, &PRETTIER);
    let inside = |folder: &&Path| folder.canonicalize().is_ok_and(|folder| folder.starts_with(root));
    let folder = file.parent()?.ancestors().take_while(inside).find(is_project)?;
    let file = file.as_os_str();
    if has(folder, &BIOME) {
        if !matches!(ending, "json" | "md") {
            return None;
        }
        let fix = fix.then(|| OsStr::new("--write"));
        return Some(installed(folder, "Biome", "biome", &[OsStr::new("check"), file], fix));
    }
    let in_package = || {
        super::session::object(&folder.join("package.json"))
            .is_some_and(|package| package.contains_key("prettier"))
    };
    (has(folder, &PRETTIER) || in_package()).then(|| {
        let how = if fix { "--write" } else { "--check" };
        installed(folder, "Prettier", "prettier", &[OsStr::new(how), file], None)
    })
}

/// The program that the project has installed, else what `npx` finds.
fn installed(folder: &Path, tool: &'static str, name: &str, args: &[&OsStr], last: Option<&OsStr>) -> Check {
    let own = folder.join("node_modules/.bin").join(name);
    let program = if own.exists() { vec![own.into()] } else { vec!["npx".into(), name.into()] };
    let args = args.iter().copied().chain(last).map(OsStr::to_os_string);
    Check {
        tool,
        argv: program.into_iter().chain(args).collect(),
        folder: folder.to_path_buf(),
        silent: false,
    }
}

fn passes(call: &Call<'_>, check: &Check, timeout: Duration) -> bool {
    let argv: Vec<&OsStr> = check.argv.iter().map(OsString::as_os_str).collect();
    // npm reads its settings in any case, and the last one counts.
    let is_npm = |name: &OsStr| name.to_string_lossy().to_ascii_lowercase() == OFFLINE;
    let pairs = call.env.pairs().filter(|(name, _)| !is_npm(name));
    let mut envs: Vec<_> = pairs.map(|(name, value)| (name.to_os_string(), value.to_os_string())).collect();
    envs.push((OFFLINE.into(), "true".into()));
    let job = Job { argv: &argv, envs: &envs, cwd: &check.folder, stdin: b"", timeout, keep: 64 };
    spawn::run(&job).is_ok_and(|ran| ran.end == End::Code(0) && (!check.silent || ran.stdout.is_empty()))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Kind;
    use crate::policy::Payload;
    use crate::settings::env::Env;
    use std::os::unix::fs::PermissionsExt;

    /// What is said of a file that such a formatter looks at.
    fn said(formatter: &str, patience: Duration) -> String {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        put(".prettierrc", "{}");
        put("a.md", "x");
        put("node_modules/.bin/prettier", &format!("#!/bin/sh\n{formatter}\n"));
        let env = [("PATH", "/usr/bin:/bin"), ("SA_QUALITY_GATE_STRICT", "true")];
        let payload = Payload::parse(r#"{"tool_name":"Write","tool_input":{"file_path":"a.md"}}"#);
        let outcome = run(&Call {
            env: &Env::from_pairs(env),
            cwd: dir.path(),
            home: None,
            session: None,
            event: Kind::PostToolUse,
            payload: payload.as_ref(),
            truncated: false,
            blocks: true,
            patience: Some(patience),
            now_ms: 0,
        });
        assert_eq!((outcome.exit, outcome.stdout), (0, crate::policy::Stdout::Echo), "it never blocks");
        outcome.stderr
    }

    #[test]
    fn a_formatter_that_misbehaves_is_a_failed_check_and_nothing_more() {
        let long = Duration::from_secs(60);
        assert_eq!(said("exit 0", long), "");
        for formatter in
            ["exit 3", "kill -9 $$", "head -c 30000000 /dev/zero; head -c 30000000 /dev/zero >&2; exit 1"]
        {
            let said = said(formatter, long);
            assert!(
                said.starts_with("[QualityGate] Prettier check failed for /") && said.lines().count() == 1,
                "{said}"
            );
        }
        assert!(said("sleep 600", Duration::from_millis(200)).contains("check failed"), "it hangs");
        assert_eq!(said("test -z \"$(cat)\"", long), "", "it has nothing to read");
    }
}
