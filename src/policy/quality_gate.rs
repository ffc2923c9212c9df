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

use super::payload::Named;
use super::{Call, Outcome};
use crate::settings::env::{Var, vars};
use crate::sys::spawn::{self, End, Job};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(15);
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
    let cwd = call
        .payload
        .and_then(|payload| payload.cwd())
        .map_or(call.cwd.to_path_buf(), |cwd| call.cwd.join(cwd));
    let names = call.payload.map(|payload| payload.names()).unwrap_or_default();
    let paths = names.into_iter().filter_map(|named| match named {
        Named::Path(path) => Some(cwd.join(path)),
        Named::Patch(_) => None,
    });
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files.dedup();
    let mut said = String::new();
    for file in files.iter().take(FILES) {
        let Some(check) = check(file, fix, strict) else { continue };
        if !passes(call, &check) && strict {
            said.push_str(&format!("[QualityGate] {} check failed for {}\n", check.tool, file.display()));
        }
    }
    Outcome { stderr: said, ..Outcome::allow() }
}

fn is_on(call: &Call<'_>, var: &Var) -> bool {
    call.env.get(var).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

fn check(file: &Path, fix: bool, strict: bool) -> Option<Check> {
    let ending = file.extension()?.to_str()?.to_ascii_lowercase();
    let folder = file.parent()?;
    let plain = |tool: &'static str, args: &[&str], silent| {
        let argv = args.iter().map(OsString::from).chain([file.into()]).collect();
        Some(Check { tool, argv, folder: folder.to_path_buf(), silent })
    };
    match ending.as_str() {
        "ts" | "tsx" | "js" | "jsx" | "json" | "md" => of_project(file, &ending, fix),
        "go" if fix => plain("gofmt", &["gofmt", "-w"], false),
        "go" if strict => plain("gofmt", &["gofmt", "-l"], true),
        "py" if fix => plain("Ruff", &["ruff", "format"], false),
        "py" => plain("Ruff", &["ruff", "format", "--check"], false),
        _ => None,
    }
}

fn of_project(file: &Path, ending: &str, fix: bool) -> Option<Check> {
    let has = |folder: &Path, names: &[&str]| names.iter().any(|name| folder.join(name).exists());
    let is_project =
        |folder: &&Path| has(folder, &["package.json"]) || has(folder, &BIOME) || has(folder, &PRETTIER);
    let folder = file.parent()?.ancestors().find(is_project)?;
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

fn passes(call: &Call<'_>, check: &Check) -> bool {
    let argv: Vec<&OsStr> = check.argv.iter().map(OsString::as_os_str).collect();
    let mut envs: Vec<_> =
        call.env.pairs().map(|(name, value)| (name.to_os_string(), value.to_os_string())).collect();
    envs.push(("npm_config_offline".into(), "true".into()));
    let job = Job { argv: &argv, envs: &envs, cwd: &check.folder, stdin: b"", timeout: TIMEOUT, keep: 64 };
    spawn::run(&job).is_ok_and(|ran| ran.end == End::Code(0) && (!check.silent || ran.stdout.is_empty()))
}
