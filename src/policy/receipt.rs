//! The receipt of a session's `acceptance.json`: that the session's own writer left it as it is. The Stop gate runs commands of
//! that file only if it has one, or is committed (`goal_fit::backstop`).
//!
//! ```text
//! <digest of acceptance.json, in hexadecimal> <the file that made the writer what it is, or - for what is installed>
//! ```
//!
//! evidence-capture leaves it after a command that was the writer and nothing else. A script of the writer's name, and a
//! `package.json` that says what `npm run` runs, are an agent's to write: so the receipt names the file, and holds only while that
//! is as it was committed.

use super::shell::{Script, Step};
use crate::sys::files;
use crate::sys::hex::hex;
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};

/// The receipt, in the session's folder.
const RECEIPT: &str = "acceptance.receipt";
/// What it is of.
pub const ACCEPTANCE: &str = "acceptance.json";
/// The largest `acceptance.json`.
pub const MAX_ACCEPTANCE: u64 = 1 << 20;
/// The largest receipt: a digest and a path.
const MAX_RECEIPT: u64 = 8 << 10;

/// What wrote the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writer {
    /// A program that is installed.
    Installed,
    /// What this file says: a script, or the `package.json` that has the command.
    Of(PathBuf),
}

/// The session's writer, if `command`, run in `works`, is one call of it and nothing else.
#[must_use]
pub fn writer(command: &str, works: &Path) -> Option<Writer> {
    const NAME: &str = "workflow-sidecar";
    let script = Script::parse(command);
    let [Step::Run(run)] = script.steps.as_slice() else { return None };
    if !run.redirects.is_empty() || !run.assigns.is_empty() || script.deep || super::honest::hides(command) {
        return None;
    }
    let words: Option<Vec<String>> = run.words.iter().map(|word| word.literal()).collect();
    let words = words?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let script = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        (name == NAME || name == "workflow-sidecar.js").then(|| Writer::Of(works.join(path)))
    };
    match words.as_slice() {
        ["npm", "run", "workflow:sidecar", ..]
        | ["npm", "run", "--silent" | "-s", "workflow:sidecar", ..] => {
            let manifests = works.ancestors().map(|folder| folder.join("package.json"));
            manifests.into_iter().find(|manifest| manifest.is_file()).map(Writer::Of)
        }
        ["npx", NAME, ..] | [NAME, ..] => Some(Writer::Installed),
        ["node", path, ..] => script(path),
        [path, ..] if path.contains('/') => script(path),
        _ => None,
    }
}

/// Leaves the receipt in `folder`, of what is there.
///
/// # Errors
/// When it cannot be written.
pub fn leave(folder: &Path, writer: &Writer) -> io::Result<()> {
    let Ok(Some(bytes)) = files::read_bounded(&folder.join(ACCEPTANCE), MAX_ACCEPTANCE) else {
        return Ok(());
    };
    let named = match writer {
        Writer::Installed => "-".to_owned(),
        Writer::Of(path) => match path.to_str().filter(|path| !path.contains('\n')) {
            Some(path) => path.to_owned(),
            None => return Ok(()),
        },
    };
    files::write_atomic(&folder.join(RECEIPT), format!("{} {named}\n", digest(&bytes)).as_bytes())
}

/// Who the receipt in `folder` says wrote these bytes; `None` where there is none of them.
#[must_use]
pub fn of(folder: &Path, acceptance: &[u8]) -> Option<Writer> {
    let receipt = files::read_bounded(&folder.join(RECEIPT), MAX_RECEIPT).ok().flatten()?;
    let receipt = String::from_utf8(receipt).ok()?;
    let (of, named) = receipt.trim_end_matches('\n').split_once(' ')?;
    (of == digest(acceptance)).then(|| match named {
        "-" => Writer::Installed,
        path => Writer::Of(path.into()),
    })
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sessions_writer_alone_gives_a_receipt() {
        let dir = tempfile::tempdir().unwrap();
        let works = dir.path().join("app");
        std::fs::create_dir(&works).unwrap();
        let manifest = dir.path().join("package.json");
        assert_eq!(writer("npm run workflow:sidecar", &works), None, "npm finds nothing to run");
        std::fs::write(&manifest, "{}").unwrap();
        let by = |path: &str| Writer::Of(works.join(path));
        for (command, by) in [
            ("npm run workflow:sidecar -- record-acceptance --id 'a b'", Writer::Of(manifest.clone())),
            ("npm run -s workflow:sidecar", Writer::Of(manifest)),
            ("npx workflow-sidecar init", Writer::Installed),
            ("workflow-sidecar init", Writer::Installed),
            ("node build/src/cli/workflow-sidecar.js init-plan x", by("build/src/cli/workflow-sidecar.js")),
            ("./workflow-sidecar x", by("./workflow-sidecar")),
            ("node /tmp/workflow-sidecar.js", by("/tmp/workflow-sidecar.js")),
        ] {
            assert_eq!(writer(command, &works), Some(by), "{command}");
        }
        for command in [
            "npm run workflow:sidecar -- x && echo '{}' > acceptance.json",
            "npm run workflow:sidecar -- x > acceptance.json",
            "npm run workflow:sidecar &",
            "npm run $X",
            "workflow-sidecar $(rm x)",
            "PATH=/tmp workflow-sidecar x",
            "echo workflow-sidecar",
            "node x.js workflow-sidecar.js",
            "",
        ] {
            assert_eq!(writer(command, &works), None, "{command}");
        }
    }

    #[test]
    fn a_receipt_is_of_the_bytes_that_it_was_left_for() {
        let dir = tempfile::tempdir().unwrap();
        let by = Writer::Of("/p/a b/package.json".into());
        leave(dir.path(), &by).unwrap();
        assert_eq!(of(dir.path(), b"{}"), None, "there is nothing to leave one of");
        std::fs::write(dir.path().join(ACCEPTANCE), "{}").unwrap();
        leave(dir.path(), &by).unwrap();
        assert_eq!((of(dir.path(), b"{}"), of(dir.path(), b"{} ")), (Some(by), None));
        leave(dir.path(), &Writer::Installed).unwrap();
        assert_eq!(of(dir.path(), b"{}"), Some(Writer::Installed));
        std::fs::write(dir.path().join(RECEIPT), digest(b"{}")).unwrap();
        assert_eq!(of(dir.path(), b"{}"), None, "it does not say who");
    }
}
