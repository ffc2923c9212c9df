//! Ways round, and what must not be in the way: one command to a line, in a checkout with a session, hooks and a config.

use super::{Place, judge};
use crate::policy::{Payload, Verdict};
use std::fs;
use std::path::Path;

/// A checkout with a session, a hook, links and an alias.
pub(super) fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("ws");
    for (name, text) in [
        ("biome.json", "{}"),
        ("src/main.ts", ""),
        ("src/my-state.json", "{}"),
        (".eslintrc.json", "{}"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/objects/info/x", ""),
        (".git/refs/heads/x", ""),
        (".git/config", "[alias]\n\tci = commit -n\n\tst = status\n\tsh = !git commit\n"),
        (".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n"),
        (".kontourai/flow-agents/s/state.json", "{}"),
        (".kontourai/flow-agents/s/command-log.jsonl", ""),
        (".claude/settings.json", "{}"),
        (".kontourai/flow-agents/s/notes.md", ""),
        ("delivery/.keep", ""),
        ("stray.sh", "#!/bin/sh\ngit commit -n\n"),
        ("stray.py", "open('biome.json', 'w')\n"),
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for (link, target) in [
        ("ok.json", "biome.json"),
        ("hop", ".kontourai/flow-agents/s"),
        ("up", "src/.."),
        ("gitlink", "/usr/bin/git"),
    ] {
        std::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    folder
}

/// An agent that works there.
pub(super) fn place(root: &Path) -> Place {
    Place {
        cwd: root.to_path_buf(),
        home: Some("/home/u".to_owned()),
        temporary: vec!["/tmp".into()],
        ..Place::default()
    }
}

fn decide(root: &Path, command: &str) -> Verdict {
    let payload = serde_json::json!({"tool_name": "Bash", "tool_input": {"command": command}});
    judge(Payload::parse(&payload.to_string()).as_ref(), &place(root), false)
}

/// The commands of a list that get another answer than `blocked`.
fn wrong(commands: &str, blocked: bool) -> Vec<String> {
    let folder = checkout();
    let root = folder.path().join("ws");
    let lines = commands.lines().filter(|line| !line.is_empty() && !line.starts_with("# "));
    let lines = lines.map(|line| line.replace('␤', "\n"));
    let answers = lines.map(|line| (decide(&root, &line), line));
    let wrong = answers.filter(|(verdict, _)| (*verdict != Verdict::Allow) != blocked);
    wrong.map(|(verdict, line)| format!("{line}   {verdict:?}")).collect()
}

#[test]
fn ways_round_are_blocked() {
    let wrong = wrong(include_str!("../../../tests/fixtures/policy/blocked.txt"), true);
    assert!(wrong.is_empty(), "let through:\n{}", wrong.join("\n"));
}

#[test]
fn ordinary_work_is_not_in_the_way() {
    let wrong = wrong(include_str!("../../../tests/fixtures/policy/allowed.txt"), false);
    assert!(wrong.is_empty(), "blocked:\n{}", wrong.join("\n"));
}

#[test]
fn a_reason_says_what_it_is_about_and_never_to_switch_the_hook_off() {
    let folder = checkout();
    let root = folder.path().join("ws");
    for (command, parts) in [
        ("echo > .eslintrc.json", vec![".eslintrc.json", "linters", "Change the source"]),
        ("rm .kontourai/flow-agents/s/state.json", vec!["state.json", "advance-state"]),
        ("mv x delivery/trust.bundle", vec!["publish-delivery"]),
        ("rm .kontourai/flow-agents/s/trust.bundle", vec!["record-gate-claim", "seal-checkpoint"]),
        ("rm ~/.claude/settings.json", vec!["human maintainer"]),
        ("git commit -anm x", vec!["git commit -anm", "verification hooks"]),
        ("rm $D/.bashrc", vec!["could not be decided is $D"]),
        (
            "f=$(x biome.json); rm $f",
            vec!["biome.json", "could not be decided is a text that a program changes"],
        ),
        ("f=$(base64 -d <<< eA==); rm $f", vec!["could not be decided", "Spell it out"]),
        ("git $X commit --no-$Y", vec!["could not be decided"]),
    ] {
        let Verdict::Block { reason } = decide(&root, command) else { panic!("{command}") };
        assert!(
            reason.starts_with("BLOCKED: ")
                && reason.ends_with("Never disable this hook: it keeps what work is measured by.")
        );
        assert_eq!(reason.to_lowercase().matches("disable").count(), 1, "{reason}");
        assert!(parts.iter().all(|part| reason.contains(part)), "{command}: {reason}");
    }
}

/// Texts that are made to cost more than a host waits for, or to break the program: a hook that ends so lets the call through.
#[test]
fn what_is_made_to_wear_the_reader_out_is_blocked_or_read_to_its_end() {
    let folder = checkout();
    let root = folder.path().join("ws");
    let many = |text: &str| text.repeat(10_000 / text.len());
    let nested = [
        "${a:-",
        "$(",
        "`",
        "((",
        "$((",
        "(",
        "sudo ",
        "eval ",
        "env ",
        "xargs ",
        "command ",
        "find . -exec ",
        "fd . -x ",
        "tmux ",
        "tmux x ",
        "docker exec ",
        "parallel ",
        "watch ",
        "make x=",
    ];
    for text in nested {
        assert_ne!(decide(&root, &format!("git commit -n; {}", many(text))), Verdict::Allow, "{text}");
        // What is behind it counts as well.
        let closed = format!("{}a", many(text));
        assert_ne!(decide(&root, &format!("echo \"{}\n{closed}", many("${x:-"))), Verdict::Allow, "{text}");
    }
    let wide =
        ["\"x\" ", "{", "{a,b}", "[", "a ", "$x ", "-m x ", "x=a$x$x;", "rm *;", "(v=a);", "eval \"$X\";"];
    for text in wide {
        assert_ne!(decide(&root, &format!("{}\n\ngit commit -n", many(text))), Verdict::Allow, "{text}");
    }
    for text in ["sed 'w w", "sed 's/a/b/w a w a "] {
        assert_ne!(
            decide(&root, &format!("{}{}' biome.json; rm biome.json", text, many("w "))),
            Verdict::Allow
        );
    }
    // What grows with each command around it.
    let letters: String = ('a'..='z').chain('A'..='Z').collect();
    let nested: String = letters.chars().map(|c| format!("xargs -I{c} ")).collect();
    let grown = format!("echo {letters}{letters} | {nested} echo a; git commit -n");
    assert_ne!(decide(&root, &grown), Verdict::Allow);
    for (head, unit, tail) in [
        ("python3 - <<'E'\nos.system(x)\n", "a+", "\nos.system('git commit -n')\nE"),
        ("python3 - <<'E'\nos.system(x)\n", "f'{", "\nos.system('git commit -n')\nE"),
        ("node - <<'E'\nexecSync('git commit -n')\n", "`${", "\nE"),
        ("node - <<'E'\nexecSync('git commit -n', ", "f('a',(", "\nE"),
        ("perl - <<'E'\nsystem('git commit -n');\n", "q(", "\nE"),
        ("ruby - <<'E'\nsystem('git commit -n')\n", "<<~A, %w[", "\nE"),
        ("awk '{system(\"git commit -n\")}", " print \"a\" b > \"c\" d;", "'"),
        ("vim -c '!git commit -n", "!a b ", "' x"),
    ] {
        assert_ne!(decide(&root, &format!("{head}{}{tail}", many(unit))), Verdict::Allow, "{head}{unit}");
    }
    // Large and plain is no reason.
    let code = "x = foo.bar(baz, 'qux', [1, 2]) + f'{y} z'  # it's\n".repeat(1_500);
    assert_eq!(
        decide(&root, &format!("python3 - <<'E'\nimport os\nos.system('ls')\n{code}E")),
        Verdict::Allow
    );
    let body = "const s = `${x}` + f((1 + 2)); // {a} [b] \"c\" rm x\n".repeat(1_500);
    assert_eq!(decide(&root, &format!("cat > src/x.ts <<'E'\n{body}E\nnpm test")), Verdict::Allow);
    let files = (0..3_000).map(|n| format!(" src/a{n}.ts")).collect::<String>();
    assert_eq!(decide(&root, &format!("rm -f{files}; git add{files}; git commit -m x")), Verdict::Allow);
}
