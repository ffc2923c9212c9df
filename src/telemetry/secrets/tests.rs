//! No credential here was ever issued. They are put together from parts, so that no scanner takes this file for a leak.

#[path = "test_forms.rs"]
mod test_forms;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::text::Text;
use super::{MARKER, mask, mask_value, scan};
use test_forms::{ALNUM, HEX, forms, pem, random};

#[test]
fn a_credential_of_a_known_form_becomes_a_marker_of_its_kind() {
    for (kind, secret) in forms() {
        for (before, after) in
            [("", ""), ("use ", " now"), ("\"", "\""), ("(", ")"), ("a\n", "\nb"), ("é", "é"), ("x/", "/y")]
        {
            let text = format!("{before}{secret}{after}");
            assert_eq!(mask(&text), format!("{before}[masked:{kind}]{after}"), "{text}");
        }
    }
}

#[test]
fn a_token_without_a_name_is_masked_behind_bearer() {
    let token = random(40, ALNUM);
    assert_eq!(mask(&format!("send bearer {token}, then")), "send bearer [masked:bearer], then");
}

#[test]
fn a_value_is_masked_where_its_name_says_what_it_is() {
    let long = random(40, ALNUM);
    for (text, expected) in [
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[masked:password]"),
        ("export PGPASSWD='a b' x", "export PGPASSWD='[masked:password]' x"),
        (
            "{\"password\": \"letmein\", \"user\": \"u\"}",
            "{\"password\": \"[masked:password]\", \"user\": \"u\"}",
        ),
        ("{\"password\":\"a\\\"b\"}", "{\"password\":\"[masked:password]\"}"),
        ("{\\\"password\\\":\\\"a b\\\"}", "{\\\"password\\\":\\\"[masked:password]\\\"}"),
        ("password: correct-horse\nnext", "password: [masked:password]\nnext"),
        ("passphrase => 'x'", "passphrase => '[masked:password]'"),
        ("cfg[\"password\"] = \"p\"", "cfg[\"password\"] = \"[masked:password]\""),
        ("mysql --password hunter2 -u me", "mysql --password [masked:password] -u me"),
        ("--token=abc123def", "--token=[masked:token]"),
        ("?access_token=abc123&x=1", "?access_token=[masked:token]&x=1"),
        ("Server=h;Password=p4ssw0rd;Db=x", "Server=h;Password=[masked:password];Db=x"),
        ("clientSecret: 'q8-x2.k'", "clientSecret: '[masked:secret]'"),
        ("client_secret=q8x2kk", "client_secret=[masked:secret]"),
        ("API key: q8x2kk", "API key: [masked:api-key]"),
        ("x-api-key: q8x2kk", "x-api-key: [masked:api-key]"),
        ("apikey=12345678", "apikey=[masked:api-key]"),
        ("AWS_SECRET_ACCESS_KEY=aB3/xY+zQ9", "AWS_SECRET_ACCESS_KEY=[masked:access-key]"),
        ("private_key = \"x1y2z3\"", "private_key = \"[masked:private-key]\""),
        ("AccountKey=q8x2kk==;x", "AccountKey=[masked:access-key];x"),
        ("SIGNING_KEY=q8x2kk", "SIGNING_KEY=[masked:private-key]"),
        ("credentials: q8x2kk", "credentials: [masked:secret]"),
        ("\"auth_token\" : \"abcdefghijklmnop\"", "\"auth_token\" : \"[masked:token]\""),
        ("PASSWORD=größe7;x", "PASSWORD=[masked:password];x"),
        ("-H 'Authorization: Bearer x' u", "-H 'Authorization: Bearer [masked:authorization]' u"),
        ("Authorization: Basic dTpw", "Authorization: Basic [masked:authorization]"),
        ("proxy-authorization: token abc", "proxy-authorization: token [masked:authorization]"),
        ("\"Authorization\": \"bearer abc\"", "\"Authorization\": \"bearer [masked:authorization]\""),
        ("authorization=q8x2kk", "authorization=[masked:authorization]"),
    ] {
        assert_eq!(mask(text), expected, "{text}");
    }
    assert_eq!(mask(&format!("SECRET_VALUE={long}")), "SECRET_VALUE=[masked:secret]");
    assert_eq!(mask(&format!("token_v2: {}", random(40, HEX))), "token_v2: [masked:token]");
}

#[test]
fn user_and_password_of_a_url_are_masked() {
    for (text, expected) in [
        ("https://me:pw@host/x", "https://[masked:url-credentials]@host/x"),
        ("postgres://app:p@ss:w@db:5432/x?y", "postgres://[masked:url-credentials]@db:5432/x?y"),
        ("redis://:pw@host", "redis://[masked:url-credentials]@host"),
        ("token_url: https://u:p@h", "token_url: https://[masked:url-credentials]@h"),
    ] {
        assert_eq!(mask(text), expected);
    }
}

#[test]
fn a_value_in_which_something_was_masked_is_not_judged_again() {
    // `://a` is too short for a token, and its marker would be long enough.
    let once = mask("token=://a;b:c@d").into_owned();
    assert_eq!(once, "token=://[masked:url-credentials]@d");
    assert_eq!(mask(&once), once);
}

#[test]
fn a_key_block_is_masked_whole_even_behind_a_name_in_one_line_or_cut_off() {
    let block = pem("EC PRIVATE KEY");
    let one_line = block.replace('\n', "\\n");
    for text in
        [format!("PRIVATE_KEY={block}"), format!("password: \"{block}\""), format!("\"k\": \"{one_line}\"")]
    {
        let masked = mask(&text);
        assert!(
            masked.contains(MARKER) && !masked.contains(&block[40..60]) && !masked.contains("END"),
            "{masked}"
        );
    }
    assert_eq!(mask(&block[..80]), "[masked:private-key]");
    assert_eq!(mask(&format!("a {}", &block[..80])), "a [masked:private-key]");
    let token = format!("ghp_{}", random(36, ALNUM));
    assert_eq!(mask(&format!("{token}{block}.")), "[masked:github-token][masked:private-key].");
}

#[test]
fn what_is_no_credential_is_left() {
    let sha = random(40, HEX);
    let base64 = random(400, ALNUM);
    for text in [
        &*format!("commit {sha} (HEAD -> main)"),
        &*format!("index {}..{}", &sha[..7], &sha[7..14]),
        "session_id: 550e8400-e29b-41d4-a716-446655440000",
        "{\"session_id\":\"15c3e806-e667-4987-b4df-8e3fb85958c9\",\"event_id\":\"e-1795997528-42\"}",
        "/home/me/src/task-0123456789abcdef0123/sk-learn/disk-0a1b2c3d4e5f6a7b8c9d.rs",
        "C:\\Users\\me\\AppData\\Local\\npm_config_cache\\_logs\\2026-01-01T00_00_00_000Z-debug-0.log",
        "claude-opus-4-5-20251101 gpt-5.1-codex-max us.anthropic.claude-sonnet-4-20250514-v1:0 o3-mini",
        "\"tokenizer\": \"meta-llama-3.1-8b-instruct-Q4_K_M\"",
        "input_tokens: 1234, \"output_tokens\": 567, max_tokens=4096, token: 12, tokens = 100000000",
        "{\"token\":\"hello\",\"logprob\":-0.1}, stop_token=\"</s>\", pad_token: [PAD]",
        &*format!("the image is {base64} and ends"),
        &*format!("data:image/png;base64,{base64}=="),
        "sk-1234-fix-the-login-page-of-the-shop",
        "npm_config_registry",
        "eyJhIjoxfQ alone, eyJ.eyJ no",
        "PASSWORD=$DB_PASSWORD password=${X} --token \"$(cat f)\" password: <your password>",
        "def login(user: str, password: str) -> None",
        "password = read_password()",
        "let token = next_token(); token: &str, Token::Ident, secret = false, \"secret\": false}",
        "semi_token: Token![;], token: Option<u32>, secret: http::Secret, api_key: Option<String>",
        "{\"secret\": {\"name\": \"a\"}, \"tokens\": [1, 2]}",
        "password: null, \"password\": \"\"",
        "password: ****",
        "the bearer of this letter",
        "Authorization: required",
        "the secret is out: a secret",
        "--password-stdin <f",
        "http://localhost:3141/v1/x?q=a@b",
        "git@github.com:org/repo.git",
        "ssh://git@host/x",
        "http://[::1]:80/@",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----",
        "PWD=/home/me/x monkey=banana keyboard: qwerty12345",
        "",
    ] {
        assert!(
            matches!(mask(text), std::borrow::Cow::Borrowed(same) if same == text),
            "{text} -> {}",
            mask(text)
        );
    }
}

#[test]
fn every_string_of_a_value_is_masked_and_keys_are_not() {
    let key = format!("ghp_{}", random(36, ALNUM));
    let mut value = json!({
        key.as_str(): [key.as_str(), {"a": format!("x {key}")}],
        "env": {"DB_PASSWORD": "hunter two", "API_KEY": "q8x2kk", "api_key_count": 3, "token": "hello", "passwords": ["a"]},
        "password": ["p1", 2, null, {"name": "n"}],
        "args": ["mysql", "--password", "p1", "db"],
        "headers": {"Authorization": "Bearer abc"},
        "input_tokens": 1234,
    });
    mask_value(&mut value);
    let github = "[masked:github-token]";
    assert_eq!(
        value,
        json!({
            key.as_str(): [github, {"a": format!("x {github}")}],
            "env": {"DB_PASSWORD": "[masked:password]", "API_KEY": "[masked:api-key]", "api_key_count": 3, "token": "hello", "passwords": ["a"]},
            "password": ["[masked:password]", 2, null, {"name": "n"}],
            "args": ["mysql", "--password", "[masked:password]", "db"],
            "headers": {"Authorization": "Bearer [masked:authorization]"},
            "input_tokens": 1234,
        })
    );
    let once = value.clone();
    mask_value(&mut value);
    assert_eq!(value, once);
}

#[test]
fn depth_costs_no_stack() {
    let mut deep = Value::from(pem("PRIVATE KEY"));
    for _ in 0..200_000 {
        deep = Value::Array(vec![deep]);
    }
    mask_value(&mut deep);
    while let Value::Array(mut items) = deep {
        deep = items.pop().unwrap();
    }
    assert_eq!(deep, json!("[masked:private-key]"));
}

fn reads(text: &str) -> u64 {
    let text = Text::new(text.as_bytes());
    scan(&text);
    text.reads.get()
}

#[test]
fn work_is_linear_in_the_length_of_hostile_text() {
    let begin = format!("{}BEGIN ", "-----");
    let title = format!("{begin}X ");
    for piece in [
        "sk-",
        "=",
        "eyJ",
        "eyJ.",
        ":",
        "://",
        "://a:",
        "-",
        "a",
        "\\",
        "\"",
        "\\\"",
        "token=",
        "token=\"",
        "token='token=\"",
        "token:1",
        "password=$a",
        "password:<",
        "secret=$x ",
        "a token:",
        "xoxb-",
        "AKIA",
        "AKIAAKIAAKIAAKIAAKIA",
        "SG.",
        "SG.a.",
        "Bearer ",
        "bearer aaaaaaaaaaaaaaaaa ",
        "--password ",
        "authorization: basic ",
        "authorization:bearer",
        &begin,
        &title,
        "github_pat_",
        "[masked:",
        "password=[masked:",
        "sk-a",
        "hf_",
        "é",
        " ",
        "token = ",
    ] {
        let of_length = |length: usize| piece.repeat(length / piece.len());
        let (small, large) = (reads(&of_length(15_000)), reads(&of_length(60_000)));
        assert!(large <= small * 4 + small / 10 + 1000, "{piece:?}: {small}, then {large}");
        assert!(large <= 60_000 * 100, "{piece:?}: {large}");
    }
    // Two long words that a dot joins, neither of which is a token.
    let two = format!("{}.{}", "eyJ".repeat(100_000), "eyK".repeat(100_000));
    assert!(reads(&two) <= two.len() as u64 * 100);
}

#[test]
fn ten_megabytes_of_what_almost_is_a_credential_are_read_a_bounded_number_of_times() {
    for piece in ["sk-", "=", "eyJ"] {
        let text = piece.repeat(10_000_000 / piece.len());
        assert!(reads(&text) <= text.len() as u64 * 100, "{piece:?}");
    }
}

/// Anything that can stand around a credential, hints and halves of them among it.
fn around() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "\\PC{0,6}",
        2 => any::<char>().prop_map(String::from),
        4 => prop::sample::select(vec![
            "password", "token", "secret", "api key", "--token", "=", ": ", "\"", "\\\"", "'", " ", "\n", "://", "a:b@", "@", "$", "<", "{", "[",
            "(", ";", "&", "sk-", "eyJ", ".eyJ", "AKIA", "Bearer ", "Authorization: Basic ", "-----BEGIN ", "PRIVATE KEY-----",
            "-----END ", "[masked:", "]", "-", "_", "a1b2c3d4e5f6g7h8", "token_count", "1234567",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_around_a_credential_lets_it_through(
        before in around(), after in around(), secret in prop::sample::select(forms()),
        left in prop::sample::select(vec![" ", "\n", "\"", "'", "=", ":", "(", ",", "/", "é", "."]),
    ) {
        let (_, secret) = secret;
        let masked = mask(&format!("{before}{left}{secret}{after}")).into_owned();
        for from in (0..secret.len() - 16).step_by(8).filter(|from| secret.len() - from <= 16 || *from > 12) {
            // What stands around it may have the words of a key's first line, too: that much is no part of the credential.
            let part = &secret[from..from + 16];
            let around = before.matches(part).count() + after.matches(part).count();
            prop_assert!(masked.matches(part).count() <= around, "{}", masked);
        }
        prop_assert!(!masked.contains(&secret[secret.len() - 12..]) || secret.ends_with("-----"), "{}", masked);
    }

    #[test]
    fn masking_twice_is_masking_once(before in around(), secret in prop::sample::select(forms()), after in around()) {
        for text in [format!("{before}{after}"), format!("{before}{}{after}", secret.1)] {
            let once = mask(&text).into_owned();
            prop_assert_eq!(&*mask(&once), &*once, "{}", text);
        }
    }

    #[test]
    fn a_text_without_hints_is_unchanged(text in prop_oneof!["\\PC{0,80}", any::<String>(), around()]) {
        let low = text.to_lowercase();
        let letters: String = low.chars().filter(char::is_ascii_alphanumeric).collect();
        let hints = ["password", "passwd", "passphrase", "secret", "token", "key", "authorization", "bearer", "masked"];
        let forms = ["sk", "gh", "glpat", "xox", "akia", "asia", "aiza", "npm", "pypi", "hf", "sg", "rk", "eyj", "xapp", "dop", "dckr",
            "shpat", "age", "gocspx"];
        if !hints.iter().chain(&forms).any(|hint| letters.contains(hint)) && !text.contains("://") {
            prop_assert_eq!(&*mask(&text), &*text);
        }
    }

    #[test]
    fn any_value_is_masked_without_panic_and_once(key in around(), text in around(), more in any::<String>()) {
        let mut value = json!({key: [text, more]});
        mask_value(&mut value);
        let once = value.clone();
        mask_value(&mut value);
        prop_assert_eq!(value, once);
    }
}
