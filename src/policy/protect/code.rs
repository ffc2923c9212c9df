//! Text in another language that a command brings along: `python3 -c`, `node -e`, a here-document.
//!
//! It is not run and not parsed. It matters if it names a protected file; then it may pass only if all that it calls is
//! known to read.

/// Functions that read, or that have nothing to do with files.
const READS: &[&str] = &[
    // JavaScript
    "require",
    "readFileSync",
    "readFile",
    "existsSync",
    "statSync",
    "parse",
    "stringify",
    "log",
    "error",
    "keys",
    "values",
    "entries",
    "map",
    "filter",
    "find",
    "some",
    "every",
    "forEach",
    "reduce",
    "slice",
    "join",
    "split",
    "trim",
    "includes",
    "startsWith",
    "endsWith",
    "toString",
    "String",
    "Number",
    "then",
    "catch",
    "text",
    "json",
    "sort",
    "push",
    "concat",
    "isArray",
    "readJsonSync",
    "table",
    "dir",
    // Python
    "print",
    "load",
    "loads",
    "dumps",
    "read",
    "readlines",
    "readline",
    "read_text",
    "len",
    "get",
    "items",
    "str",
    "int",
    "list",
    "dict",
    "sorted",
    "sum",
    "any",
    "all",
    "range",
    "enumerate",
    "exists",
    "isfile",
    "format",
    "strip",
    "splitlines",
    "startswith",
    "endswith",
    "set",
    "repr",
    "isinstance",
    "Path",
    "pprint",
    "max",
    "min",
    "zip",
    "exit",
    "safe_load",
    "getsize",
    "stat",
    "type",
    "tuple",
    "bool",
];

/// Parts of names of functions that change something, or that run text.
const CHANGES: &[&str] = &[
    "write",
    "unlink",
    "rmSync",
    "append",
    "truncate",
    "rename",
    "copyFile",
    "chmod",
    "child_process",
    "subprocess",
    "exec",
    "spawn",
    "system",
    "remove",
    "shutil",
    "eval",
    "getattr",
    "__",
    "Function",
    "import(",
];

/// Words before a parenthesis that is no call.
const GROUPS: &[&str] = &[
    "if", "for", "while", "in", "and", "or", "not", "return", "of", "is", "with", "assert", "await", "async",
    "switch", "typeof", "elif", "lambda", "function",
];

/// Words of Perl and Ruby that read; these call without parentheses, so every word counts.
const READ_WORDS: &[&str] = &[
    "puts",
    "print",
    "p",
    "pp",
    "File",
    "read",
    "JSON",
    "parse",
    "require",
    "json",
    "IO",
    "readlines",
    "each",
    "line",
    "if",
    "my",
    "while",
    "say",
    "chomp",
    "exist",
    "do",
    "end",
    "then",
    "unless",
    "and",
    "or",
    "not",
    "foreach",
    "keys",
    "values",
    "use",
    "strict",
    "warnings",
    "die",
    "local",
    "undef",
    "to_s",
    "dig",
];

/// Whether `code` of `program` can do more than read.
pub(super) fn may_write(program: &str, code: &str) -> bool {
    if program.starts_with("python") || matches!(program, "node" | "nodejs" | "bun" | "deno" | "") {
        calls_more(code)
    } else {
        says_more(code)
    }
}

/// Whether something is called that is not known to read.
fn calls_more(code: &str) -> bool {
    let chars: Vec<char> = code.chars().collect();
    let opened = chars.iter().enumerate().filter(|(_, c)| **c == '(');
    let called = opened.map(|(at, _)| {
        let before: String = chars
            .iter()
            .take(at)
            .rev()
            .skip_while(|c| c.is_whitespace())
            .take_while(|c| is_word(**c))
            .collect();
        let name: String = before.chars().rev().collect();
        let last = chars.iter().take(at).rev().find(|c| !c.is_whitespace()).copied();
        (at, name, last)
    });
    let mut called = called.collect::<Vec<_>>().into_iter();
    // A function may have been given another name.
    CHANGES.iter().any(|word| code.contains(word))
        || called.any(|(at, name, last)| match name.as_str() {
            "" => !matches!(
                last,
                None | Some(
                    '(' | '='
                        | ','
                        | ':'
                        | ';'
                        | '{'
                        | '['
                        | '&'
                        | '|'
                        | '!'
                        | '?'
                        | '+'
                        | '-'
                        | '*'
                        | '<'
                        | '>'
                        | '%'
                )
            ),
            "open" => !opens_to_read(chars.get(at..).unwrap_or_default()),
            name => !READS.contains(&name) && !GROUPS.contains(&name),
        })
}

/// Whether the arguments of `open` ask for no more than reading: none but the path, or a mode of `r`.
fn opens_to_read(arguments: &[char]) -> bool {
    let mut depth = 0_usize;
    let end = arguments.iter().position(|c| {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        depth == 0
    });
    let Some(end) = end else { return false };
    let text: String = arguments.iter().take(end).skip(1).filter(|c| !c.is_whitespace()).collect();
    let mut parts = text.split(',').skip(1);
    parts.all(|part| {
        let value = part.strip_prefix("mode=").unwrap_or(part).trim_matches(['"', '\'']);
        part.starts_with("encoding=") || part.starts_with("errors=") || matches!(value, "r" | "rb" | "rt")
    })
}

/// Whether there is a word outside of quotes that is not known to read, or something that writes without a word.
fn says_more(code: &str) -> bool {
    let mut words = Vec::new();
    let mut quote = None;
    let mut word = String::new();
    for c in code.chars() {
        match quote {
            Some(end) => quote = quote.filter(|_| c != end),
            None if is_word(c) => {
                word.push(c);
                continue;
            }
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if matches!(c, '`' | '>' | '|' | '<') => return true,
            None => {}
        }
        words.push(std::mem::take(&mut word));
    }
    words.push(word);
    words.iter().any(|word| {
        !word.is_empty()
            && !word.starts_with(|c: char| c.is_ascii_digit())
            && !READ_WORDS.contains(&word.as_str())
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// The words in `code` that could be paths, with strings that are joined by `+` or `.` put together, and escapes of
/// single characters taken away.
pub(super) fn paths(code: &str) -> Vec<String> {
    let mut joined = unescape(code);
    for seam in
        ["'+'", "\"+\"", "' + '", "\" + \"", "''", "\"\"", "'.'", "\".\"", "' . '", "\" . \"", "' '", "\" \""]
    {
        joined = joined.replace(seam, "");
    }
    let cut = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '\'' | '"'
                    | '`'
                    | '('
                    | ')'
                    | ','
                    | ';'
                    | '='
                    | '<'
                    | '>'
                    | '|'
                    | '&'
                    | '{'
                    | '}'
                    | '['
                    | ']'
            )
    };
    let bare = code.replace("\\\n", "").replace('\\', "");
    let mut found: Vec<String> = [code, joined.as_str(), bare.as_str()]
        .iter()
        .flat_map(|text| text.split(cut))
        .filter(|word| word.len() > 2)
        .map(|word| word.trim_end_matches(['.', ':', '!']).to_owned())
        .collect();
    found.dedup();
    found
}

fn unescape(code: &str) -> String {
    let mut out = String::new();
    let mut rest = code;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let digits = match after.chars().next() {
            Some('x') => after.get(1..3),
            Some('u') => after.get(1..5),
            _ => None,
        };
        let c = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).and_then(char::from_u32);
        match (c, digits) {
            (Some(c), Some(digits)) => {
                out.push(c);
                rest = after.get(1 + digits.len()..).unwrap_or_default();
            }
            _ => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_is_told_from_writing() {
        for (program, code) in [
            ("node", "console.log(require('./state.json').status)"),
            (
                "node",
                "const s=JSON.parse(require('fs').readFileSync('state.json','utf8')); if (s.a) { console.log((s.b)) }",
            ),
            ("python3", "import json; print(json.load(open('state.json'))['status'])"),
            ("python3", "with open('state.json', 'r', encoding='utf-8') as f:\n  print(f.read())"),
            ("ruby", "puts File.read('state.json')"),
            ("perl", "print 'state.json'"),
        ] {
            assert!(!may_write(program, code), "{code}");
        }
        for (program, code) in [
            ("node", "require('fs').writeFileSync('state.json','{}')"),
            ("node", "require('fs')['writeFileSync']('state.json','{}')"),
            ("node", "const {writeFileSync:log}=require('fs'); fs.rmSync('state.json')"),
            ("python3", "open('.bashrc','w').write('x')"),
            ("python3", "open('.bashrc', mode)"),
            ("python3", "open(mode='a', file='.bashrc')"),
            ("python3", "import os; os.remove('x')"),
            ("python3", "exec('x')"),
            ("ruby", "File.write '.bashrc', 1"),
            ("perl", "open(F,\">.bashrc\")"),
            ("perl", "unlink '.bashrc'"),
        ] {
            assert!(may_write(program, code), "{code}");
        }
    }

    #[test]
    fn names_are_found_in_code_also_when_they_are_put_together() {
        for code in [
            "open('a/biome.json')",
            "f('bio'+'me.json')",
            "f(\"bio\" + \"me.json\")",
            "f('\\x62iome.json')",
            "x=biome.json;",
        ] {
            assert!(paths(code).iter().any(|path| path.ends_with("biome.json")), "{code}");
        }
    }
}
