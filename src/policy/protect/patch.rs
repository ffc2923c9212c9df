//! The files that a patch names, read as the tools read it that apply it.
//!
//! | form | names | body, in which a name is only text |
//! |---|---|---|
//! | apply_patch | `*** Update File: x`, `Add`, `Delete`, `*** Move to: x`; in any case, padded | after `Update`: lines that begin with a space, `+` or `-`; after `Add`: with `+` |
//! | unified diff | `diff --git`, `---`, `+++`, `rename`, `copy to`, `Index:`; indented, or quoted as C does | as many lines as `@@ -a,b +c,d @@` says |
//! | context diff | `*** x`, `--- x` | none is told apart |
//!
//! Where tools differ the path is taken: one too many does less harm.

use std::collections::BTreeSet;

/// Folders in front of a path that a tool may be told to take away.
const MOST_STRIPPED: usize = 4;

/// What the lines that come next are.
enum State {
    /// Anything may be a header.
    Outside,
    /// Lines of apply_patch that begin with one of these are of the body.
    Section(&'static [char]),
    /// So many lines of the old file and of the new one; each is indented by so much.
    Hunk(usize, usize, usize),
}

/// The paths that `patch` would write.
pub(super) fn paths(patch: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut state = State::Outside;
    for line in patch.split('\n') {
        let line = line.trim_end_matches('\r');
        match &mut state {
            State::Section(body) if line.starts_with(*body) => continue,
            State::Hunk(0, 0, _) => state = State::Outside,
            State::Hunk(old, new, indent) => {
                let step = |count: &mut usize| *count = count.saturating_sub(1);
                match line.get(*indent..).unwrap_or_default().chars().next() {
                    Some(' ') | None => {
                        step(old);
                        step(new);
                        continue;
                    }
                    Some('-') => {
                        step(old);
                        continue;
                    }
                    Some('+') => {
                        step(new);
                        continue;
                    }
                    Some('\\') => continue,
                    _ => state = State::Outside,
                }
            }
            _ => {}
        }
        if let Some((section, path)) = marker(line) {
            add(path, false, &mut found);
            state = section.map_or(state, State::Section);
            continue;
        }
        // `patch` takes away what a whole diff is indented by, and what mail puts before a dash.
        let text = line.trim_start_matches([' ', '\t', 'X']);
        let text = text.strip_prefix("- ").unwrap_or(text);
        if let Some((old, new)) = hunk(text) {
            state = State::Hunk(old, new, line.len() - text.len());
        } else if matches!(state, State::Outside) {
            header(text, &mut found);
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found
}

/// A line of apply_patch that names a file, with what is of the body after it.
fn marker(line: &str) -> Option<(Option<&'static [char]>, &str)> {
    let rest = line.trim().strip_prefix("***")?;
    let (mark, path) = rest.split_once(':')?;
    let words: Vec<String> = mark.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let section: Option<&'static [char]> = match words.as_slice() {
        ["update", "file"] => Some(&[' ', '+', '-']),
        ["add" | "create", "file"] => Some(&['+']),
        ["delete" | "remove", "file"] => Some(&[]),
        ["move" | "rename", "to"] | ["move" | "rename", "file", "to"] => None,
        _ => return None,
    };
    Some((section, path))
}

/// The lines of the old file and of the new one that follow `@@ -a,b +c,d @@`.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

/// A line of a diff that names files.
fn header(line: &str, found: &mut Vec<String>) {
    let marks = [
        "+++ ",
        "--- ",
        "*** ",
        "Index: ",
        "rename from ",
        "rename to ",
        "rename old ",
        "rename new ",
        "copy to ",
    ];
    if ["*** begin patch", "*** end "].iter().any(|mark| line.to_ascii_lowercase().starts_with(mark)) {
        return;
    }
    if let Some(path) = marks.iter().find_map(|mark| line.strip_prefix(mark)) {
        return add(path, true, found);
    }
    let Some(both) = line.strip_prefix("diff --git ") else { return };
    if let Some((_, rest)) = unquote(both) {
        add(both, true, found);
        return add(rest, true, found);
    }
    // A name with spaces: git takes two halves that are the same but for their first folder.
    for (at, _) in
        both.match_indices(' ').filter(|(at, _)| at.abs_diff(both.len() / 2) < 8 || both.len() < 512)
    {
        let (left, right) = (both.get(..at).unwrap_or_default(), both.get(at + 1..).unwrap_or_default());
        let name = |path: &'_ str| path.split_once('/').map(|(_, name)| name.to_owned());
        if right.starts_with('"') || name(left) == name(right) {
            add(left, true, found);
            add(right, true, found);
        }
    }
    both.split_whitespace().for_each(|path| add(path, true, found));
}

/// Adds a path; of a diff also without the folders that `git` and `patch -p` take away, and without a date behind it.
fn add(text: &str, diff: bool, found: &mut Vec<String>) {
    let text = text.trim();
    let paths = match unquote(text) {
        Some((path, _)) => vec![path, text.trim_matches('"').to_owned()],
        None => {
            let whole = text.split('\t').next().unwrap_or(text).trim().to_owned();
            let word = whole.split_whitespace().next().unwrap_or_default().to_owned();
            if diff && word != whole { vec![whole, word] } else { vec![whole] }
        }
    };
    for path in paths.into_iter().filter(|path| path != "/dev/null" && !path.is_empty()) {
        if diff {
            let folders = path.match_indices('/').take(MOST_STRIPPED);
            found.extend(folders.filter_map(|(at, _)| path.get(at + 1..)).map(str::to_owned));
        }
        found.push(path);
    }
}

/// A path in quotes, as git writes one with bytes that are not plain, and what comes after it.
fn unquote(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('"')?;
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        let (at, c) = rest.char_indices().find(|(_, c)| matches!(c, '"' | '\\'))?;
        bytes.extend_from_slice(rest.get(..at)?.as_bytes());
        rest = rest.get(at + 1..)?;
        if c == '"' {
            return Some((String::from_utf8_lossy(&bytes).into_owned(), rest));
        }
        let digits = rest.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        let octal = rest.get(..digits).and_then(|digits| u16::from_str_radix(digits, 8).ok());
        if let Some(value) = octal {
            bytes.push(u8::try_from(value & 0xff).unwrap_or_default());
            rest = rest.get(digits..)?;
            continue;
        }
        let escaped = rest.chars().next()?;
        let plain = match escaped {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            c => c,
        };
        bytes.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes());
        rest = rest.get(escaped.len_utf8()..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::paths;

    fn has(patch: &str, path: &str) -> bool {
        paths(patch).iter().any(|found| found == path)
    }

    #[test]
    fn every_file_that_a_patch_names_is_found() {
        let patch = "*** Begin Patch\n*** Update File: a.json\n@@\n-x\n+y\n*** Move to: b.json\n*** Add File: c d\n*** Delete File: e\r\n*** End Patch";
        assert_eq!(paths(patch), ["a.json", "b.json", "c d", "e"]);
        let diff = "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\t2020\n+++ \"b/y\"\n--- /dev/null\n+- z\n";
        let found = paths(diff);
        assert!(["a/x", "x", "b/y", "y"].iter().all(|path| found.iter().any(|found| found == path)));
        assert!(!has(diff, "/dev/null") && !has(diff, "- z"));
        assert_eq!(paths("no patch\n+x"), [""; 0]);
    }

    #[test]
    fn markers_of_apply_patch_may_be_padded_and_in_any_case() {
        for patch in [
            "*** Begin Patch\n  *** Update File: x\n@@\n*** End Patch",
            "*** begin patch\n*** update file: x\n",
            "*** Begin Patch\r\n***  Update  File :  x \r\n",
            "*** Environment ID: e\n*** Begin Patch\n\t*** Add File:x\n+a\n",
            "*** Begin Patch\n*** Add File: a\n+b\n *** Delete File: x\n",
            "<<'EOF'\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF",
            "*** Begin Patch\n*** Update File: a\n*** Move to: x\n@@\n",
            "*** Begin Patch\n*** Update File: a\n@@\n-b\n\n*** Update File: x\n",
            "*** Begin Patch\n*** Update File: a\n@@\n-b\n*** End of File\n*** Update File: x\n",
        ] {
            assert!(has(patch, "x"), "{patch}");
        }
    }

    #[test]
    fn a_patch_of_a_text_that_quotes_a_patch_does_not_name_what_that_names() {
        for patch in [
            "*** Begin Patch\n*** Update File: a\n@@\n *** Update File: x\n+*** Update File: x\n-*** Delete File: x\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n+*** Begin Patch\n+*** Update File: x\n++++ x\n",
            "*** Begin Patch\n*** Update File: a\n@@\n --- a/x\n+++ b/x\n--- x\n",
            "--- a/n\n+++ b/n\n@@ -1,3 +1,4 @@\n *** Update File: x\n+*** Add File: x\n--- a/x\n+++ b/x\n rename to x\n",
            "--- a/n\n+++ b/n\n@@ -1 +1 @@\n--- x\n+++ x\n\\ No newline at end of file\n",
        ] {
            assert!(!has(patch, "x"), "{patch}: {:?}", paths(patch));
        }
        assert!(has("--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n--- a/x\n+++ b/x\n", "x"));
        assert!(has("--- a/n\n+++ b/n\n@@ -1 +1 @@\n-a\n\\ No\n+b\n\\ No\ndiff --git a/x b/x\n", "x"));
        assert!(has("@@ -1,99 +1,99 @@\nno body\n+++ b/x\n", "x"));
    }

    #[test]
    fn names_are_read_as_git_and_patch_write_them() {
        for (patch, path) in [
            ("+++ \"b/\\142iome.json\"", "biome.json"),
            ("+++ \"b/a\\\"b\\\\c\\td\"", "a\"b\\c\td"),
            ("+++ \"b/\\303\\244\"", "ä"),
            ("diff --git \"a/x y\" \"b/\\172\"", "z"),
            ("diff --git a/x \"b/\\172\"", "z"),
            ("diff --git a/x y b/x y", "x y"),
            ("rename to \"x y\"", "x y"),
            ("copy to x", "x"),
            ("rename new x", "x"),
            ("*** a/x\t2020\n--- b/x\t2020\n***************\n*** 1 ****\n! a\n", "x"),
            ("Index: x", "x"),
            ("+++ b/x 2020-01-01 00:00:00", "x"),
            ("+++ b/x y\t2020", "x y"),
            ("  --- a/x\n  +++ b/x\n  @@ -1 +1 @@\n", "x"),
            ("- --- a/x\n+++ y", "x"),
            ("+++ one/two/.git/hooks/x", ".git/hooks/x"),
        ] {
            assert!(has(patch, path), "{patch}: {:?}", paths(patch));
        }
        assert!(!has("copy from x\nsimilarity index 90%", "x"));
    }
}
