//! Whether a command line's exit code is that of what it runs.
//!
//! `npm test | tail`, `npm test; echo ok`, `npm test &`: these end with 0 whatever the tests did, so a recorded pass of one is no
//! pass of a check. It is no lie either, as `npm test || true` is ([`launders`](crate::evidence::command_log::reduce::launders)):
//! such a line counts as one that nobody saw run. So does one that checks nothing, as `echo ok`. In doubt the code is not believed; to run the check bare settles it.

use crate::policy::shell::{Command, Join, Script, Step, Word};

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
    if depth == 0 || script.deep || script.functions || is_negated(text) || is_left_behind(text) {
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
    let last = runs.len().saturating_sub(1);
    for (at, run) in runs.iter().enumerate() {
        let name = name(run);
        if let Some("alias" | "trap") = name.as_deref() {
            return false;
        }
        if name.as_deref() == Some("set") {
            let options = literals(run).join(" ");
            if options.contains('+') {
                return false;
            }
            piped |= options.contains("pipefail");
            let short = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('e');
            strict |= options.contains("errexit") || options.split(' ').any(short);
        }
        let is_prelude = run.words.is_empty() || name.as_deref().is_some_and(|name| PRELUDES.contains(&name));
        let passes_on = match run.join {
            Join::And => true,
            Join::Next => at == last || strict || is_prelude,
            Join::Pipe => piped,
            Join::Or | Join::Background => false,
        };
        if !passes_on || !runs_honestly(run, depth) {
            return false;
        }
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
    let is = |wanted: &str| words.iter().flatten().any(|word| word == wanted);
    !(name(run).as_deref() == Some("find") && (is("-exec") || is("-execdir")) && !is("+"))
}

/// The name of what a command runs, behind what only runs another.
fn name(run: &Command) -> Option<String> {
    run.words.first()?.literal()
}

fn literals(run: &Command) -> Vec<String> {
    run.words.iter().filter_map(Word::literal).collect()
}

/// Whether a failure is turned into a success by `!`; before a search that is a check.
fn is_negated(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let starts = |word: &str| matches!(word, "!" | "(!" | "{!");
    let mut pairs = words.iter().zip(words.iter().skip(1));
    pairs.any(|(word, next)| starts(word) && !SEARCHES.contains(next))
}

/// Whether all or the last of it goes on in the background.
fn is_left_behind(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("coproc ") || (text.ends_with('&') && !text.ends_with("&&"))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "test -z \"$(git status --porcelain)\"",
            "grep -q 'a | b; c &' file",
            "find . -name '*.sh' -exec shellcheck {} +",
            "cargo test --all-features",
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
}
