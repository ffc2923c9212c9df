//! Whether a command line's exit code is that of what it runs.
//!
//! `npm test | tail`, `npm test; echo ok`, `npm test &`: these end with 0 whatever the tests did, so a recorded pass of one is no
//! pass of a check. It is no lie either, as `npm test || true` is ([`launders`](crate::evidence::command_log::reduce::launders)):
//! such a line counts as one that nobody saw run. So does one that checks nothing, as `echo ok`. In doubt the code is not believed; to run the check bare settles it.

use crate::policy::shell::{Cell, Command, Fill, Join, Script, Step, Word};

/// Scripts within scripts that are looked into.
const DEEPEST: usize = 4;
/// Commands that stand before a check and change where or how it runs.
const PRELUDES: [&str; 9] = ["cd", "pushd", "export", "unset", "set", "source", ".", "umask", "ulimit"];
/// Commands that check nothing.
const IDLE: [&str; 6] = ["true", ":", "echo", "printf", "exit", "sleep"];
/// Commands whose failure says something good, so that `!` before them is a check.
const SEARCHES: [&str; 7] = ["grep", "egrep", "rg", "git", "diff", "test", "["];

/// Whether the exit code of `command` may be another than that of something in it.
pub(super) fn hides(command: &str) -> bool {
    !is_honest(command, DEEPEST)
}

fn is_honest(text: &str, depth: usize) -> bool {
    let script = Script::parse(text);
    if depth == 0
        || script.deep
        || !script.functions.is_empty()
        || branches(text)
        || is_negated(text)
        || is_left_behind(text)
    {
        return false;
    }
    let mut runs = Vec::new();
    for step in &script.steps {
        match step {
            Step::Run(run) => runs.push(run),
            Step::Open | Step::Close => {}
            // A loop or a choice: what it comes to is that of its last command, if any.
            Step::For(..) | Step::Look(_) => return false,
        }
    }
    let (mut strict, mut piped) = (false, false);
    // Whether the list that a command stands in has no `&&` before it: of one with such, `set -e` sees the last command only.
    let (mut alone, mut before) = (true, Join::Next);
    let last = runs.len().saturating_sub(1);
    for (at, run) in runs.iter().enumerate() {
        let name = name(run);
        match name.as_deref() {
            // What is run under a name, or what happens at the end, is another thing then.
            Some("alias" | "trap" | "hash" | "enable") => return false,
            // Nothing comes after these.
            Some("exit" | "return" | "exec" | "break" | "continue") if at != last => return false,
            _ => {}
        }
        if name.as_deref() == Some("set") {
            let options = literals(run).join(" ");
            if options.contains('+') {
                return false;
            }
            // In a subshell it is over with that.
            piped |= run.sure && options.contains("pipefail");
            let short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('e');
            strict |= run.sure && (options.contains("errexit") || options.split(' ').any(short));
        }
        alone = before == Join::Next || (alone && before == Join::Pipe);
        let is_prelude = run.words.is_empty() || name.as_deref().is_some_and(|name| PRELUDES.contains(&name));
        let passes_on = match run.join {
            Join::And => true,
            Join::Next => at == last || (strict && alone) || (is_prelude && before == Join::Next),
            Join::Pipe => piped,
            Join::Or | Join::Background => false,
        };
        if !passes_on || !runs_honestly(run, depth) || substitutes(run) {
            return false;
        }
        before = run.join;
    }
    // What only says that it is done checks nothing.
    let is_idle = |run: &&Command| {
        let name = name(run);
        name.is_none_or(|name| IDLE.contains(&name.as_str()) || PRELUDES.contains(&name.as_str()))
    };
    !runs.iter().all(is_idle)
}

/// Whether what a command runs in its turn is honest: the text of a shell, what `find` runs.
fn runs_honestly(run: &Command, depth: usize) -> bool {
    let words: Vec<Option<String>> = run.words.iter().map(Word::literal).collect();
    let word = |at: usize| words.get(at).and_then(Option::as_deref);
    let is_shell = |word: &str| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "zsh" | "dash"));
    for at in 0..words.len() {
        let takes_text = word(at).is_some_and(is_shell)
            && word(at + 1).is_some_and(|flags| flags.starts_with('-') && flags.ends_with('c'));
        if takes_text || word(at) == Some("eval") {
            let text = if takes_text { word(at + 2) } else { word(at + 1) };
            return text.is_some_and(|text| is_honest(text, depth - 1));
        }
    }
    // A shell that is told nothing does what stands in its input.
    let told = words.iter().skip(1).any(|word| word.as_ref().is_none_or(|word| !word.starts_with('-')));
    if word(0).is_some_and(is_shell) && !told {
        return false;
    }
    let is = |wanted: &str| words.iter().flatten().any(|word| word == wanted);
    !(name(run).as_deref() == Some("find") && (is("-exec") || is("-execdir")) && !is("+"))
}

/// Whether a command has another one run for its words, whose failure is nobody's.
fn substitutes(run: &Command) -> bool {
    let values = run.assigns.iter().flat_map(|assign| &assign.values);
    let plain = |cell: &Cell| match cell {
        Cell::Quoted(_) | Cell::Bare(_) => true,
        Cell::Hole(hole) => matches!(hole.fill, Fill::Parameter(_)),
    };
    !run.words.iter().chain(values).all(|word| word.cells.iter().all(plain))
}

/// The name of what a command runs, behind what only runs another.
fn name(run: &Command) -> Option<String> {
    run.words.first()?.literal()
}

fn literals(run: &Command) -> Vec<String> {
    run.words.iter().filter_map(Word::literal).collect()
}

/// Whether it may choose or repeat: a condition's failure is none.
fn branches(text: &str) -> bool {
    const WORDS: [&str; 9] = ["if", "then", "else", "elif", "while", "until", "do", "case", "function"];
    text.split(|c: char| c.is_whitespace() || ";()&|{}'\"".contains(c)).any(|word| WORDS.contains(&word))
}

/// Whether a failure is turned into a success by `!`; before a search that is a check.
fn is_negated(text: &str) -> bool {
    text.lines().any(is_line_negated)
}

fn is_line_negated(line: &str) -> bool {
    let mut begins = true;
    let mut words = line.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let negates = matches!(word, "(!" | "{!") || (begins && word == "!");
        if negates && words.peek().is_some_and(|next| !SEARCHES.contains(next)) {
            return true;
        }
        begins = word.ends_with([';', '&', '|', '(', '{']) || (begins && matches!(word, "!" | "time"));
    }
    false
}

/// Whether all of it, or a group, goes on in the background.
fn is_left_behind(text: &str) -> bool {
    let text = text.trim();
    let is_background =
        |rest: &str| rest.starts_with('&') && !rest.starts_with("&&") && !rest.starts_with("&>");
    let group = |(at, close): (usize, &str)| text.get(at + close.len()..).unwrap_or_default().trim_start();
    text.starts_with("coproc ")
        || (text.ends_with('&') && !text.ends_with("&&"))
        || text.match_indices([')', '}']).map(group).any(is_background)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use proptest::prelude::*;

    #[test]
    fn a_code_is_believed_where_every_failure_reaches_it() {
        for honest in [
            "npm test",
            "cd app && npm test",
            "cd app; npm test",
            "CI=1 npm test -- --watch=false",
            "export CI=1; npm test",
            "npm run build && npm test && echo ok",
            "(cd app && npm test)",
            "set -e; npm run build; npm test; echo ok",
            "set -euo pipefail; npm test | tail -5",
            "bash -o pipefail -c 'npm test'",
            "bash -lc 'npm test'",
            "env CI=1 timeout 60 sh -c 'cd app && npm test'",
            "timeout 60 npm test",
            "npm test > log 2>&1",
            "npm test # quick",
            "! grep -rn TODO src",
            "test ! -e bug && npm test",
            "grep -q 'a | b; c &' file",
            "find . -name '*.sh' -exec shellcheck {} +",
            "cargo test --all-features",
            "npm test;",
            "npm run build && exec npm test",
            "cd app && npm test && exit 0",
            "npm test &> log",
        ] {
            assert!(!hides(honest), "{honest}");
        }
    }

    #[test]
    fn a_code_that_something_else_may_have_made_is_not_believed() {
        for hidden in [
            "npm test | tee log",
            "npm test 2>&1 | tail -5",
            "npm test |& cat",
            "npm test; echo ok",
            "npm test\necho ok",
            "(npm test); echo ok",
            "{ npm test; }; echo ok",
            "{ npm test; } | cat",
            "(npm test) &",
            "npm test &",
            "npm test & wait",
            "nohup npm test & echo started",
            "if npm test; then :; fi",
            "if ! npm test; then echo bad; fi",
            "while npm test; do break; done",
            "for i in 1; do npm test; done",
            "case x in *) npm test;; esac",
            "! npm test",
            "cd app && ! npm test",
            "time ! npm test",
            "cd app\n! npm test",
            "cd app\n!\tnpm test",
            "sh -c '! npm test'",
            "npm() { true; }; npm test",
            "function npm { true; }; npm test",
            "alias npm=true; npm test",
            "trap 'exit 0' EXIT; npm test",
            "set -e; set +e; npm test; echo ok",
            "npm test || echo failed",
            "sh -c 'npm test; echo ok'",
            "timeout 9 bash -c 'npm test | cat'",
            "sh -c \"$X\"",
            "eval 'npm test; echo ok'",
            "find . -name x -exec npm test \\;",
            "coproc npm test",
            "(npm test) & # later",
            "{ npm test; } & wait",
            "exit 0 && npm test",
            "exec true && npm test",
            "hash -p /bin/true npm && npm test",
            "(exit 0; npm test)",
            "until A=$(npm test); do break; done",
            "test -z \"$(npm test)\"",
            "export A=`npm test` && echo ok",
            "diff <(npm test) expected",
            "true",
            ":",
            "exit 0",
            "echo 'all tests passed'",
            "cd app && echo ok",
            "bash -c true",
            "",
        ] {
            assert!(hides(hidden), "{hidden}");
        }
    }

    /// Lines of commands around `C`, a check that fails.
    #[cfg(unix)]
    fn lines() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "C",
            "C",
            "C",
            "true",
            "echo x",
            "cd .",
            "set -e",
            "set +e",
            "set -o pipefail",
            "export A=1",
            "A=1 C",
            "exit 0",
            "cat",
            "C > /dev/null 2>&1",
            "false",
            "test -d .",
            "return 0",
            ":",
            "exec C",
            "trap 'exit 0' EXIT",
            "wait",
            "A=$(C)",
            "time C",
        ]);
        leaf.prop_map(str::to_owned).prop_recursive(3, 12, 3, |inner| {
            let two = (
                inner.clone(),
                prop::sample::select(vec![" && ", "; ", " | ", " & ", "\n", " |& ", " ; "]),
                inner.clone(),
            );
            let around = prop::sample::select(vec![
                "(@)",
                "{ @; }",
                "! @",
                "if @; then echo y; fi",
                "while @; do break; done",
                "bash -c '@'",
                "sh -c '@'",
                "@ &",
                "f() { @; }; f",
                "for i in 1; do @; done",
                "eval '@'",
                "timeout 5 sh -c '@'",
                "case x in x) @;; esac",
                "(@) &",
                "until @; do break; done",
            ]);
            prop_oneof![
                two.prop_map(|(one, join, other)| format!("{one}{join}{other}")),
                (around, inner).prop_map(|(around, inner)| {
                    // Quotes within quotes would be another line.
                    let around = if inner.contains('\'') { "(@)" } else { around };
                    around.replace('@', &inner)
                }),
            ]
        })
    }

    #[cfg(unix)]
    proptest! {
        // Most lines are not believed.
        #![proptest_config(ProptestConfig { max_global_rejects: 1 << 20, ..ProptestConfig::with_cases(96) })]

        #[test]
        fn no_line_that_passes_while_its_check_fails_is_believed(line in lines()) {
            use crate::evidence::command_log::reduce::launders;
            use crate::sys::spawn::{self, End, Job};
            use std::ffi::OsStr;
            prop_assume!(line.contains('C') && !hides(&line) && !launders(&line));
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("check"), "#!/bin/sh\nexit 1\n").unwrap();
            let text = line.replace('C', "sh ./check");
            let argv = ["bash", "-c", &text].map(OsStr::new);
            let envs = [("PATH".into(), "/usr/bin:/bin".into())];
            let timeout = std::time::Duration::from_secs(20);
            let job = Job { argv: &argv, envs: &envs, cwd: folder.path(), stdin: b"", timeout, keep: 0 };
            let end = spawn::run(&job).unwrap().end;
            prop_assert!(end != End::Code(0), "{}", text);
        }
    }
}
