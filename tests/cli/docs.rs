//! The pages speak of what is there: each relative link, and each path in backticks that begins at a folder of the repository,
//! leads to a file or folder; each page and schema is in the index.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders of the repository whose paths the pages write out.
const FOLDERS: [&str; 9] =
    ["config/", "conformance/", "docs/", "evals/", "fuzz/", "schemas/", "src/", "tests/", ".ci/"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages of the repository: at its root, and below the folders that have some.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(root().to_path_buf(), false)];
    folders.extend(["docs", "evals", "tests/fixtures"].map(|folder| (root().join(folder), true)));
    while let Some((folder, deep)) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if deep && path.is_dir() {
                folders.push((path, true));
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// What stands between `open` and `close`, on one line each.
fn between<'a>(text: &'a str, open: &str, close: char) -> Vec<&'a str> {
    text.lines()
        .flat_map(|line| line.split(open).skip(1).filter_map(|rest| rest.split_once(close)))
        .map(|it| it.0)
        .collect()
}

/// What stands in backticks: every other piece of a line.
fn spans(text: &str) -> Vec<&str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn links_and_paths_of_the_pages_lead_somewhere() {
    let mut lost = Vec::new();
    let (mut links, mut paths) = (0, 0);
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in between(&text, "](", ')').into_iter().filter(|link| !link.contains("://")) {
            let target = link.split('#').next().unwrap_or_default();
            links += 1;
            if !page.parent().unwrap().join(target).exists() {
                lost.push(format!("{}: ({link})", page.display()));
            }
        }
        for span in
            spans(&text).into_iter().filter(|span| FOLDERS.iter().any(|folder| span.starts_with(folder)))
        {
            // A call (`evals/hosts/run --small`), a test in a file (`src/a.rs::name`), and names to be filled in.
            let path = span.split([' ', ':']).next().unwrap_or_default();
            if path.contains(['<', '*', '{', '…', '$']) {
                continue;
            }
            paths += 1;
            if !root().join(path).exists() {
                lost.push(format!("{}: `{span}`", page.display()));
            }
        }
    }
    assert!(links > 50 && paths > 200, "{links} links and {paths} paths: the pages were not read");
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn the_index_names_every_page_and_schema() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    for folder in ["docs", "schemas"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let named = [format!("]({name})"), format!("`{name}`")].iter().any(|form| index.contains(form));
            assert!(
                named || name == "README.md" || name == "differences",
                "{folder}/{name} is not in docs/README.md"
            );
        }
    }
}
