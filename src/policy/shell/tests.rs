//! What a shell makes of a text; the expected words are those of POSIX and of bash's manual.

use super::{Assign, Field, Join, Redirect, Script, Step, Value, Values, expand, split};
use proptest::prelude::*;

/// A shell in which `$X` is `a b`, `$L` the list `one`, `two`, `$N` not known, and `$(…)` prints what is in it.
struct Shell;

impl Values for Shell {
    fn parameter(&mut self, name: &str) -> Vec<Value> {
        vec![match name {
            "X" => Some(vec![Field::of("a b")]),
            "G" => Some(vec![Field::of("*.c")]),
            "E" => Some(vec![Field::of("")]),
            "L" => Some(vec![Field::of("one"), Field::of("two")]),
            _ => None,
        }]
    }
    fn output(&mut self, script: &Script) -> Vec<Value> {
        vec![Some(vec![Field::of(&shown(script).join("/"))])]
    }
    fn pipe(&mut self, script: &Script, _: bool) -> Value {
        self.output(script);
        None
    }
    fn home(&self) -> Option<String> {
        Some("/home/u".to_owned())
    }
    fn separators(&self) -> String {
        " \t\n".to_owned()
    }
}

fn fields(words: &[super::Word]) -> String {
    let fields = words.iter().flat_map(|word| expand(word, &mut Shell, false).remove(0));
    fields.map(|field| format!("<{}>", field.shown())).collect()
}

/// One line for each step: `<word><word>`, then redirects and assignments.
fn shown(script: &Script) -> Vec<String> {
    let line = |step: &Step| match step {
        Step::Open => "(".to_owned(),
        Step::Close => ")".to_owned(),
        Step::Look(word) => format!("look{}", fields(std::slice::from_ref(word))),
        Step::For(name, words) => format!("for {name}{}", words.as_deref().map(fields).unwrap_or_default()),
        Step::Run(command) => {
            let mut line = String::new();
            for Assign { name, values, list, append } in &command.assigns {
                let (plus, list) = (if *append { "+" } else { "" }, if *list { "()" } else { "" });
                line += &format!("{name}{plus}={}{list} ", fields(values));
            }
            line += &fields(&command.words);
            for redirect in &command.redirects {
                line += &match redirect {
                    Redirect::Write { target, output, append } => {
                        let (fd, more) = (if *output { "" } else { "2" }, if *append { ">" } else { "" });
                        format!(" {fd}>{more}{}", fields(std::slice::from_ref(target)))
                    }
                    Redirect::Away => " >&".to_owned(),
                    Redirect::Copy => " <&".to_owned(),
                    Redirect::Read(word) => format!(" <{}", fields(std::slice::from_ref(word))),
                    Redirect::Text(word) => format!(" <<<{}", fields(std::slice::from_ref(word))),
                    Redirect::Here(body) => format!(" <<{}", fields(&script.bodies[*body..=*body])),
                };
            }
            line
        }
    };
    script.steps.iter().map(line).collect()
}

fn is(text: &str, expected: &[&str]) {
    assert_eq!(shown(&Script::parse(text)), expected, "{text}");
}

#[test]
fn quotes_and_escapes_join_into_words() {
    is(r#"git 'com'mit "--no-"ver\ify"#, &["<git><commit><--no-verify>"]);
    is(r#"a '' "" b"#, &["<a><><><b>"]);
    is(r#"a "x\"y\\z\q" 'x\"'"#, &[r#"<a><x"y\z\q><x\">"#]);
    is(r"$'a\x62\u0063\144\n' $'\'q' $'cut\0off'", &["<abcd\n><'q><cut>"]);
    is("g\\\nit comm\\\nit", &["<git><commit>"]);
    is("a 'b c", &["<a><b c>"]);
    is("a $\"b\"", &["<a><b>"]);
}

#[test]
fn operators_separate_commands_and_tell_how() {
    is("a&&b||c;d|e&f\ng|&h", &["<a>", "<b>", "<c>", "<d>", "<e>", "<f>", "<g>", "<h>"]);
    let script = Script::parse("a && b | c & d");
    let joins = script.steps.iter().map(|step| match step {
        Step::Run(command) => (command.join, command.fed, command.sure),
        _ => unreachable!(),
    });
    let joins: Vec<_> = joins.collect();
    let expected = [
        (Join::And, false, true),
        (Join::Pipe, false, false),
        (Join::Background, true, false),
        (Join::Next, false, false),
    ];
    assert_eq!(joins, expected);
}

#[test]
fn comments_end_with_the_line_and_begin_only_a_word() {
    is("ls # a; b\nc", &["<ls>", "<c>"]);
    is("ls a#b '#' c", &["<ls><a#b><#><c>"]);
    is("# a\n#b\nc", &["<c>"]);
}

#[test]
fn compound_commands_give_the_commands_in_them() {
    is("if a; then b; elif c\nthen d; else e; fi > f", &["<a>", "<b>", "<c>", "<d>", "<e>", " ><f>"]);
    is("{ a; } && (b; c) | d", &["<a>", "(", "<b>", "<c>", ")", "<d>"]);
    is("while ! a; do b; done; until c; do d; done", &["<a>", "<b>", "<c>", "<d>"]);
    is("for f in x 'y z'; do a $f; done", &["for f<x><y z>", "<a><…>"]);
    is("for f do a; done\nselect x in p q\ndo b; done", &["for f", "<a>", "for x<p><q>", "<b>"]);
    is("for ((i=0; i<3; i++)); do a; done", &["look<…>", "<a>"]);
    is("case $X in (a|b) c;; *) d ;& 'e)') f; esac; g", &["look<a><b>", "<c>", "<d>", "<f>", "<g>"]);
    is("f() { a; }; function g { b; }\nh () ( c )", &["<a>", "<b>", "(", "<c>", ")"]);
    is("echo if then { }", &["<echo><if><then><{><}>"]);
}

#[test]
fn compound_commands_share_what_they_read_and_write() {
    let groups = |text: &str| {
        let script = Script::parse(text);
        let shown = |group: &super::Group| {
            let flags = [(group.fed, 'f'), (group.redirected, 'r'), (group.piped, 'p')];
            let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, flag)| flag).collect();
            format!("{}..{} {flags}", group.start, group.end)
        };
        script.groups.iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(groups("{ a; b; } | c"), ["0..2 p"]);
    assert_eq!(groups("(a; b) > f"), ["0..4 r"]);
    assert_eq!(groups("x | while a; do b; done < f"), ["1..3 fr"]);
    assert_eq!(groups("if a; then { b; } | c; fi; d"), ["0..3 ", "1..2 p"]);
    assert_eq!(groups("case x in a) b;; esac > f"), ["1..2 r"]);
    assert_eq!(groups("for i in x; do a; done | b"), ["0..2 p"]);
    let before = |text: &str| {
        let script = Script::parse(text);
        let commands = script.steps.iter().filter_map(|step| match step {
            Step::Run(command) => Some((command.fed, command.sure)),
            _ => None,
        });
        commands.collect::<Vec<_>>()
    };
    assert_eq!(before("(a) | b"), [(false, false), (true, false)]);
    assert_eq!(before("(a) && b; c"), [(false, false), (false, false), (false, true)]);
}

#[test]
fn functions_are_told_with_their_steps() {
    let script = Script::parse("a; f() { b; { c; } > d; }; function g { e; }\nh () ( i )");
    let functions: Vec<_> = script
        .functions
        .iter()
        .map(|function| (function.name.as_str(), shown(&script.body(function))))
        .collect();
    let expected = [("f", vec!["<b>", "<c>", " ><d>"]), ("g", vec!["<e>"]), ("h", vec!["(", "<i>", ")"])];
    assert_eq!(
        functions,
        expected.map(|(name, lines)| (name, lines.into_iter().map(str::to_owned).collect()))
    );
    assert_eq!(script.body(&script.functions[0]).groups.len(), 2);
}

#[test]
fn escapes_are_read_as_those_read_them_who_print() {
    use super::{Escapes::Printed, unescape};
    for (text, expected) in [
        (r"a\x67it\tb", "agit\tb"),
        (r"\147\0147\u0067", "ggg"),
        (r"a\0b\cz", "a\nb"),
        (r"\q\", r"\q\"),
        (r"\xzz", r"\xzz"),
    ] {
        assert_eq!(unescape(text, Printed), expected, "{text}");
    }
}

#[test]
fn reserved_words_do_not_hide_what_follows_them() {
    is("if case a in b) c;; esac; then d; fi", &["look<a>", "<c>", "<d>"]);
    is("a) b", &["<a>", "<b>"]);
    is("; && a || | b", &["<a>", "<b>"]);
    is("((a; b) ; c)", &["(", "(", "<a>", "<b>", ")", "<c>", ")"]);
    is("(( x = 1 << 2 )); a", &["look<…>", "<a>"]);
}

#[test]
fn redirects_are_told_from_words() {
    is("a>b 2>c >>d >|e &>f &>>g <h <>i", &["<a> ><b> 2><c> >><d> ><e> ><f> >><g> <<h> ><i>"]);
    is("a 2>&1 >&2 >&- <&3 >&f {n}>g 2 >h", &["<a><2> >& >& <& ><f> 2><g> ><h>"]);
    is("> a; <b", &[" ><a>", " <<b>"]);
    is("a \">\" '>' \\> b", &["<a><>><>><>><b>"]);
    is("a <<<'b c' d", &["<a><d> <<<<b c>"]);
    is("diff <(a b) >(c)", &["<diff><…><…>"]);
}

#[test]
fn here_documents_are_no_commands_but_what_they_expand() {
    is("cat <<E > f; b\n; rm x\nE\nc", &["<cat> <<<; rm x\n> ><f>", "<b>", "<c>"]);
    is("cat <<'E' <<-\\F\n$(a)\nE\n\t`b`\n\tF\nc", &["<cat> <<<$(a)\n> <<<`b`\n>", "<c>"]);
    is("cat <<E\n$(a b) \\$X \"$E\"\nE\n", &["<cat> <<<<a><b> $X \"\"\n>"]);
    is("a \"$(cat <<'E'\nit's ) here\nE\n)\" b", &["<a><<cat> <<<it's ) here\n>><b>"]);
    is("cat <<E\nno end", &["<cat> <<<no end\n>"]);
}

#[test]
fn substitutions_are_scripts() {
    is("a $(b; c) `d \\`e\\`` \"$(f \")\")\"", &["<a><<b>/<c>><<d><<e>>><<f><)>>"]);
    is("a ${x:-$(b)} $((1 + $(c)))", &["<a><…><…>"]);
    is("a $(b", &["<a><<b>>"]);
}

#[test]
fn expansions_split_join_and_stay_unknown() {
    is("a $X \"$X\" x$X'y'", &["<a><a><b><a b><xa><by>"]);
    is("a $L \"${L[@]}\" p\"$L\"q $E \"$E\"", &["<a><one><two><one><two><pone><twoq><>"]);
    is("a $N/x ${X} ${X#a} $ $1", &["<a><…/x><a><b><a><b><$><…>"]);
    is("a *.c '*.c' [ab]x [z \\? $G \"$G\"", &["<a><*.c><*.c><?x><[z><?><*.c><*.c>"]);
    is("a ~/b ~ \"~\" x~ ~u/c", &["<a></home/u/b></home/u><~><x~><…/c>"]);
}

#[test]
fn braces_make_words() {
    is(
        "a b.{c,d} {x,{y,z}}w {p} '{q,r}' {1..3} {a,b}{c,d}",
        &["<a><b.c><b.d><xw><yw><zw><{p}><{q,r}><1><2><3><ac><ad><bc><bd>"],
    );
}

#[test]
fn assignments_come_first_or_after_what_declares() {
    is("A=1 B+=x\\ y c D=2", &["A=<1> B+=<x y> <c><D=2>"]);
    is("L=(a 'b c'\n d) e", &["L=<a><b c><d>() <e>"]);
    is("export A=1 B; declare -a L=(x)", &["A=<1> <export><B>", "L=<x>() <declare><-a>"]);
    is("1A=x 'B'=y", &["<1A=x><B=y>"]);
}

#[test]
fn a_text_is_split_as_git_splits_an_alias() {
    let words: Vec<_> = split("commit --no-'verify' \"a b\" c\\ d").iter().map(Field::shown).collect();
    assert_eq!(words, ["commit", "--no-verify", "a b", "c d"]);
}

#[test]
fn depth_has_an_end_and_says_so() {
    let deep = format!("a {}b{}", "$(".repeat(20_000), ")".repeat(20_000));
    assert!(Script::parse(&deep).deep);
    assert!(!Script::parse("a $(b $(c))").deep);
}

proptest! {
    #[test]
    fn every_text_has_a_script(text in r#"[ab$(){}\[\]'"`\\;&|<>=*?~#! \n:\-]{0,60}|(if|case x in|do|esac|done|<<E|\$\(\(|for a in|[a-c ;&|\n"'(){}]){0,30}"#) {
        shown(&Script::parse(&text));
    }
}
