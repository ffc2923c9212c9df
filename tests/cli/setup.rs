//! Set-up as a person meets it: `tally init`, `tally uninstall` and `tally doctor`, on real files, against a Console on
//! loopback that checks tokens as the real one does.

mod console;
mod doctor;
mod hostile;
mod init;
mod receipts;
mod tenants;
mod uninstall;

use crate::env::TestEnv;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

pub(crate) const TOKEN: &str = "s3cret-token-never-to-be-seen";

pub(crate) fn conf(env: &TestEnv) -> PathBuf {
    env.project().join(".kontourai/telemetry-console.conf")
}

pub(crate) fn settings(env: &TestEnv) -> PathBuf {
    env.project().join(".claude/settings.json")
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

pub(crate) fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// A file that holds `token`, outside the project.
pub(crate) fn token_file(env: &TestEnv, token: &str) -> String {
    let path = env.home().join("token");
    std::fs::write(&path, format!("{token}\n")).unwrap();
    set_mode(&path, 0o600);
    path.to_str().unwrap().to_owned()
}

/// Runs `tally init --yes …` and expects `code`; nothing it says shows the token.
pub(crate) fn init(env: &TestEnv, args: &[&str], code: i32) -> Output {
    let args = [&["init", "--yes"], args].concat();
    let output = env.run(&args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    assert!(!String::from_utf8_lossy(&said).contains(TOKEN), "{args:?} shows the token");
    output
}

/// The answer of a `--json` view, held to its schema.
pub(crate) fn json(output: &Output, schema: &str) -> Value {
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(schema);
    let schema: Value = serde_json::from_str(&read(&path)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mistakes: Vec<String> = validator.iter_errors(&answer).map(|mistake| mistake.to_string()).collect();
    assert!(mistakes.is_empty(), "{mistakes:?}: {answer:#}");
    assert!(!answer.to_string().contains(TOKEN), "the token is shown");
    answer
}

/// Every file below `dir` with its bytes and mode, for comparing.
pub(crate) fn tree(dir: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = vec![];
    let mut open = vec![dir.to_path_buf()];
    while let Some(folder) = open.pop() {
        for item in std::fs::read_dir(&folder).unwrap().flatten() {
            let (path, kind) = (item.path(), item.file_type().unwrap());
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                let to = std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                found.push((path, 0, to));
            } else {
                found.push((path.clone(), mode(&path), std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Runs the real git in the project.
pub(crate) fn git(env: &TestEnv, args: &[&str]) -> Output {
    let mut command = env.command_of("git", args);
    let names = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    command.envs(names.map(|name| (name, "t@example.com")));
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap()
}
