use super::*;

/// The texts of a reading; what is not known is `…`.
fn texts(tongue: Tongue, text: &str) -> Vec<String> {
    let tokens = tongue.read(text, 0);
    join(&tokens.list, tongue).iter().filter_map(Token::text).map(Field::shown).collect()
}

#[test]
fn literals_are_read_as_their_language_quotes_them() {
    for (tongue, text, wanted) in [
        (
            Tongue::Python,
            r#"f('a', "b'c", r'\d', '''d"e''', 'x\x41\u0042')"#,
            vec!["a", "b'c", r"\d", "d\"e", "xAB"],
        ),
        (Tongue::Python, "# it's\nf('a') # 'b'", vec!["a"]),
        (Tongue::Python, "f'a{b}c{{d}}{\"e\"}'", vec!["a…c{d}e"]),
        (Tongue::Script, "/'/.test(a / b); f('c') // it's\n/* ' */ `d${e}f${'g'}`", vec!["c", "d…fg"]),
        (Tongue::Script, "x = a / 2 + 'b' / 3", vec!["…b"]),
        (
            Tongue::Perl,
            "q(a(b)c), qq{d $e}, 'f\\'', m/'/, s/'/\"/, y/'/\"/, {s => 'g'}",
            vec!["a(b)c", "d …", "f'", "g"],
        ),
        (Tongue::Perl, "f(<<E, 'a')\nb c\nE\n'd'", vec!["", "a", "b c\n", "d"]),
        (Tongue::Ruby, "%w[a b] + x % y; %q(c); \"d#{e}f\"; /'/ =~ 'g'", vec!["a", "b", "c", "d…f", "g"]),
        (Tongue::Lua, "f[[a'b]] -- it's\n'c'..\"d\"", vec!["a'b", "cd"]),
        (Tongue::Lisp, "(f \"a\\\"b\" 'c) ; \"d\"", vec!["a\"b"]),
        (Tongue::Php, "f('a' . \"b$c\") // '\n# '\n", vec!["ab…"]),
        (Tongue::Awk, "/\"/ {print \"a\" $1 \"b\"}", vec!["a", "…b"]),
    ] {
        assert_eq!(texts(tongue, text), wanted, "{text}");
    }
}

#[test]
fn texts_are_put_together_as_far_as_that_is_plain() {
    for (tongue, text, wanted) in [
        (Tongue::Python, "f('a' + 'b', 'c' 'd')", vec!["ab", "cd"]),
        (Tongue::Python, "x='a'; y = x + 'b'; f(x + y, z + 'c')", vec!["a", "ab", "aab", "…c"]),
        (Tongue::Python, "x='a'; x+='b'; f(x + 'c')", vec!["a", "b", "…c"]),
        (Tongue::Python, "chr(98) + 'c'", vec!["bc"]),
        (Tongue::Python, "Path('a') / 'b' / 'c'", vec!["a/b/c"]),
        (Tongue::Perl, "'a' . \"b\" . $c . 'd'", vec!["ab…d"]),
        (Tongue::Script, "f(g(x, 'q') + 'a')", vec!["…a"]),
    ] {
        let found = texts(tongue, text);
        assert!(wanted.iter().all(|text| found.contains(&(*text).to_owned())), "{text}: {found:?}");
    }
}

#[test]
fn lists_are_what_commas_and_brackets_keep_together() {
    for (tongue, text, wanted) in [
        (Tongue::Python, "run(['a', 'b', x, *y, 'c'], shell=True)", vec!["a b … … c"]),
        (Tongue::Script, "f('a', ['b', ...c, 'd'], {e: 1}); g('h')", vec!["a b … d", "h"]),
        (Tongue::Lisp, "(f \"a\" nil t \"b\")", vec!["a b"]),
        (Tongue::R, "f('a', c('b', 'c'))", vec!["a b c"]),
        (Tongue::Ruby, "f 'a', 'b'\ng 'c'", vec!["a b", "c"]),
    ] {
        let tokens = join(&tongue.read(text, 0).list, tongue);
        let found = lists(&tokens, tongue);
        let found: Vec<String> = found
            .iter()
            .map(|list| list.fields.iter().map(Field::shown).collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(found, wanted, "{text}");
    }
}

#[test]
fn what_is_encoded_is_decoded() {
    assert!(decoded("YmlvbWUuanNvbg==").contains(&"biome.json".to_owned()));
    assert!(decoded("62696f6d65").contains(&"biome".to_owned()));
    let tokens = Tongue::Script.read("f(98, 105, 0x6f)", 0);
    assert_eq!(numbers(&tokens.list), ["bio"]);
    let filled = filled(&Field::of("a%sb{}c{0}"), &[Field::of("x"), Field::of("y"), Field::of("z")]);
    assert_eq!(filled.unwrap().shown(), "axbycz");
}

#[test]
fn what_has_no_end_is_in_doubt_and_code_in_texts_is_kept() {
    for (tongue, text) in [(Tongue::Perl, "q(a"), (Tongue::Script, "'a\n'"), (Tongue::Ruby, "/a")] {
        assert!(tongue.read(text, 0).doubt, "{text}");
    }
    assert_eq!(Tongue::Script.read("`${f('a')}`", 0).inner, ["f('a')"]);
    assert_eq!(Tongue::Perl.read("s/a/f('b')/ge", 0).inner, ["f('b')"]);
    assert_eq!(Tongue::Ruby.read("\"#{f 'a'}\"", 0).inner, ["f 'a'"]);
}
