//! Languages that call without parentheses: every name that stands outside of a text counts.

use super::tongue::{Token, Tongue};
use crate::policy::shell::Field;
use std::collections::HashSet;

/// Names that read, or that have nothing to do with files, in all of these languages.
const COMMON: &str = "if then else elsif elseif unless while until for foreach do end in and or not return true false nil null undef \
    print printf sprintf puts p pp say echo keys values sort reverse length size count first last next break";

const PERL: &str = "split join map grep each exists defined delete push pop shift unshift splice scalar substr index rindex uc lc \
    ucfirst lcfirst chomp chop chr ord hex oct int abs sqrt redo xor eq ne lt gt le ge cmp x my our local sub wantarray ref die warn \
    use strict warnings JSON PP decode_json encode_json from_json utf8 BEGIN END STDIN STDOUT STDERR ENV ARGV eof close binmode \
    Data Dumper time localtime gmtime List Util sum max min uniq no feature exit pos quotemeta lc tr canonical pretty encode decode new \
    sum0 any all pairs open";

const RUBY: &str = "read readlines each each_line each_with_index each_pair JSON parse require json yaml YAML safe_load load_file IO File Dir \
    exist exists file directory gets line lines split join map select reject find inject reduce sum min max uniq flatten compact to_s to_i to_f \
    to_a to_h to_sym dig fetch key has_key include empty any all none zip sub gsub scan match strip chomp upcase downcase capitalize start_with end_with \
    def class module new raise rescue begin ensure yield self chars bytes each_char sort_by group_by partition tally max_by min_by sum pretty_generate \
    generate inspect ARGF STDIN STDOUT stdin basename dirname extname join glob entries children expand_path stat mtime round abs puts times upto step \
    Hash Array String Integer Float Set BEGIN END open";

const PHP: &str = "print_r var_dump var_export json_decode json_encode file_get_contents file array_keys array_values array_merge in_array implode \
    explode str_replace strpos strlen substr trim strtolower strtoupper isset empty as die exit function is_array is_file file_exists \
    filesize PHP_EOL JSON_PRETTY_PRINT JSON_UNESCAPED_SLASHES php array array_key_exists str_contains str_starts_with fopen fgets feof fclose";

const LUA: &str = "io read lines close local function string format find match gmatch gsub sub rep lower upper table concat insert \
    pairs ipairs tostring tonumber type os getenv time date clock require cjson json decode arg n a open";

const R: &str = "readLines fromJSON jsonlite library str names head nrow ncol summary";

/// Whether a text may do more than read.
pub(in crate::policy) fn may_write(parts: &[&[Token]], tongue: Tongue) -> bool {
    let names = match tongue {
        Tongue::Perl => PERL,
        Tongue::Ruby => RUBY,
        Tongue::Php => PHP,
        Tongue::Lua => LUA,
        Tongue::R => R,
        _ => "",
    };
    let mut known: HashSet<&str> = COMMON.split(' ').chain(names.split(' ')).collect();
    for tokens in parts {
        let pairs = tokens.iter().zip(tokens.iter().skip(1));
        let made = pairs.filter(|(before, _)| matches!(before.word(), Some("sub" | "def" | "function")));
        known.extend(made.filter_map(|(_, name)| name.word()));
    }
    // Variables without a sigil: `a = 1`, `|a, b|`, `for a in`.
    let mut given = HashSet::new();
    for tokens in parts.iter().filter(|_| matches!(tongue, Tongue::Ruby | Tongue::Lua | Tongue::R)) {
        for (at, token) in tokens.iter().enumerate() {
            let next = |sign: char| tokens.get(at + 1).is_some_and(|token| token.is(sign));
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            let bound = before.is_some_and(|token| {
                token.is('|') || token.is(',') || matches!(token.word(), Some("for" | "local"))
            });
            given.extend(token.word().filter(|_| next('=') || bound || next('|')));
        }
    }
    // File handles of Perl.
    for tokens in parts.iter().filter(|_| tongue == Tongue::Perl) {
        for (at, _) in tokens.iter().enumerate().filter(|(_, token)| token.word() == Some("open")) {
            let handle = tokens
                .get(at + 1)
                .filter(|token| !token.is('('))
                .or_else(|| tokens.get(at + 2))
                .and_then(Token::word);
            given.extend(handle.filter(|word| word.chars().all(|c| c.is_ascii_uppercase())));
        }
    }
    parts.iter().any(|tokens| Says { tokens, tongue, known: &known, given: &given }.more())
}

struct Says<'a> {
    tokens: &'a [Token],
    tongue: Tongue,
    known: &'a HashSet<&'a str>,
    /// Variables without a sigil.
    given: &'a HashSet<&'a str>,
}

impl Says<'_> {
    fn is(&self, at: Option<usize>, sign: char) -> bool {
        at.and_then(|at| self.tokens.get(at)).is_some_and(|token| token.is(sign))
    }

    fn word(&self, at: usize) -> Option<&str> {
        self.tokens.get(at).and_then(Token::word)
    }

    fn more(&self) -> bool {
        let perl = self.tongue == Tongue::Perl;
        let opens = self
            .tokens
            .iter()
            .filter_map(Token::word)
            .any(|word| matches!(word, "open" | "ARGV" | "@ARGV" | "$ARGV"));
        self.tokens.iter().enumerate().any(|(at, token)| {
            let before = at.checked_sub(1);
            match token {
                Token::Run(_) => true,
                Token::Text(field) => {
                    let calls = self.is(Some(at + 1), '(') && self.tongue == Tongue::Php;
                    calls || opens && is_mode(field)
                }
                // What is called is known only when it runs: `&$f`, `->(…)`, `x[…](…)`.
                Token::Sign('&') if perl => {
                    let value = self.word(at + 1).is_some_and(|word| word.starts_with('$'));
                    !self.is(before, '&') && (value || self.is(Some(at + 1), '{'))
                }
                Token::Sign('(') => {
                    let arrow = perl && self.is(before, '>') && self.is(at.checked_sub(2), '-');
                    let value = self.tongue == Tongue::Php
                        && before.and_then(|at| self.word(at)).is_some_and(|word| word.starts_with('$'));
                    arrow || value || self.is(before, ']') || self.is(before, ')')
                }
                Token::Word(word) => self.says(at, word),
                Token::Sign(_) | Token::Pattern | Token::Break => false,
            }
        })
    }

    fn says(&self, at: usize, word: &str) -> bool {
        let before = at.checked_sub(1);
        let perl = self.tongue == Tongue::Perl;
        if word.starts_with('$') || word.starts_with('@') || word.starts_with('%') {
            let method = perl && self.is(before, '>') && self.is(at.checked_sub(2), '-');
            return word == "$^I" || method;
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        // A key.
        let key = self.is(Some(at + 1), '=') && self.is(Some(at + 2), '>');
        let variable =
            at.checked_sub(2).and_then(|at| self.tokens.get(at)).is_some_and(|token| match token {
                Token::Word(word) => word.starts_with('$'),
                token => matches!(token, Token::Sign('>' | '}' | ']')),
            });
        let held = self.is(before, '{') && self.is(Some(at + 1), '}') && variable && perl;
        // `-f $file`, and a variable of a block.
        let test = perl && self.is(before, '-') && word.len() == 1;
        let called = self.is(before, '.')
            || matches!(self.tokens.get(at + 1), Some(Token::Text(_) | Token::Sign('(' | ':')));
        if key || held || test || self.given.contains(word) && !called {
            return false;
        }
        match word {
            "open" | "fopen" => !self.reads(at),
            "new"
                if at
                    .checked_sub(2)
                    .and_then(|at| self.word(at))
                    .is_some_and(|owner| matches!(owner, "File" | "IO")) =>
            {
                !self.reads(at)
            }
            // A file of code.
            "do" if perl => matches!(self.tokens.get(at + 1), Some(Token::Text(_) | Token::Word(_))),
            word => !self.known.contains(word),
        }
    }

    /// Whether `open` here opens for reading.
    fn reads(&self, at: usize) -> bool {
        let arguments: Vec<&Token> = self
            .tokens
            .iter()
            .skip(at + 1)
            .take(24)
            .take_while(|token| {
                !matches!(token, Token::Sign(')' | ';' | '{') | Token::Break)
                    && !matches!(token.word(), Some("or" | "do"))
            })
            .collect();
        let texts: Vec<String> =
            arguments.iter().filter_map(|token| token.text()).map(Field::shown).collect();
        let Some(first) = texts.first().map(|text| text.trim()) else { return false };
        if self.tongue == Tongue::Perl {
            return first.starts_with('<')
                || (texts.len() == 1 && !first.starts_with(['>', '+', '|']) && !first.ends_with('|'));
        }
        let commas = arguments.iter().filter(|token| token.is(',')).count();
        let mode = texts
            .get(1)
            .is_none_or(|mode| matches!(mode.as_str(), "r" | "rb" | "r:utf-8" | "r:UTF-8" | "rt"));
        mode && commas < 2 && texts.len() == commas + 1 && !first.starts_with('|')
    }
}

/// Whether a text is one that makes `open` of Perl write, or run.
fn is_mode(field: &Field) -> bool {
    let text = field.shown();
    let text = text.trim();
    text.starts_with(['>', '|']) || text.starts_with("+<") || text.ends_with('|')
}
