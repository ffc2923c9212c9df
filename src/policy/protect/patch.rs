//! The files that a patch names: `*** Update File:` of apply_patch, `+++` and renames of diffs.

/// The paths that `patch` would write.
pub(super) fn paths(patch: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in patch.lines() {
        let line = line.trim_end_matches('\r');
        let marks = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
        let trimmed = line.trim_start();
        let marked = marks.iter().find_map(|mark| trimmed.strip_prefix(mark));
        let renamed =
            ["rename from ", "rename to ", "copy to "].iter().find_map(|mark| line.strip_prefix(mark));
        let sided = ["+++ ", "--- ", "Index: "].iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(path) = marked.or(renamed).or(sided) {
            add(path, &mut found);
        } else if let Some(both) = line.strip_prefix("diff --git ") {
            both.split_whitespace().for_each(|path| add(path, &mut found));
        }
    }
    found
}

/// Adds a path as it is, and as it is without the folder that `git` and `patch -p1` take away.
fn add(path: &str, found: &mut Vec<String>) {
    let path = path.split('\t').next().unwrap_or(path).trim().trim_matches('"');
    if path == "/dev/null" || path.is_empty() {
        return;
    }
    found.push(path.to_owned());
    found.extend(
        path.split_once('/')
            .filter(|(first, _)| matches!(*first, "a" | "b" | "i" | "w" | "c" | "o"))
            .map(|(_, rest)| rest.to_owned()),
    );
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn every_file_that_a_patch_names_is_found() {
        let patch = "*** Begin Patch\n*** Update File: a.json\n@@\n-x\n+y\n*** Move to: b.json\n*** Add File: c d\n*** Delete File: e\r\n*** End Patch";
        assert_eq!(paths(patch), ["a.json", "b.json", "c d", "e"]);
        let diff = "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\t2020\n+++ \"b/y\"\n--- /dev/null\n+- z\n";
        assert_eq!(paths(diff), ["a/x", "x", "b/y", "y", "x", "y", "a/x", "x", "b/y", "y"]);
        assert_eq!(paths("no patch\n+x"), [""; 0]);
    }
}
