//! Programs with commands of their own, one of which starts a process: editors, debuggers, clients of databases.

use crate::policy::code::Code;
use crate::policy::code::tongue::Tongue;
use crate::policy::protect::git;
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::shell::Field;

/// What a program takes its commands from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Console {
    Editor,
    Emacs,
    Pager,
    Plotter,
    Debugger,
    Sqlite,
    Database,
    Tcl,
    Terminal,
}

impl Console {
    fn of(program: &str) -> Option<Self> {
        Some(match program {
            "vi" | "vim" | "nvim" | "ex" | "ed" | "red" | "view" | "gvim" | "vimdiff" => Self::Editor,
            "emacs" | "emacsclient" => Self::Emacs,
            "less" | "more" | "man" | "ftp" | "sftp" | "dc" | "mail" | "mailx" | "mutt" => Self::Pager,
            "gnuplot" => Self::Plotter,
            "gdb" | "rust-gdb" | "lldb" | "rust-lldb" | "cgdb" => Self::Debugger,
            "sqlite3" | "sqlite" => Self::Sqlite,
            "psql" | "mysql" | "mariadb" => Self::Database,
            "expect" | "tclsh" | "wish" | "jimsh" => Self::Tcl,
            "tmux" | "screen" | "zellij" | "byobu" => Self::Terminal,
            _ => return None,
        })
    }
}

impl Walk<'_> {
    /// What the commands that a program is given start and write.
    pub(in crate::policy::protect) fn console(&mut self, name: &str, arguments: &[Field], setting: &Setting) {
        let Some(console) = Console::of(name) else { return };
        // A file that the call writes may hold commands, too.
        let files: Vec<Field> = arguments.iter().flat_map(|file| self.written(file)).collect();
        let texts = arguments.iter().chain(setting.input.known()).chain(&files);
        let texts: Vec<String> = texts.map(Field::shown).collect();
        let lines = || texts.iter().flat_map(|text| text.lines());
        match console {
            Console::Editor => {
                for text in &texts {
                    if !matches!(name, "view" | "vimdiff") {
                        self.named_in(text, "an editor's command on");
                    }
                    self.banged(text);
                }
                self.run_text(Tongue::Other, &texts.join("\n"));
                for line in lines() {
                    self.after_word(line, &["te", "ter", "term", "termi", "terminal"]);
                }
            }
            Console::Emacs => {
                for text in &texts {
                    self.named_in(text, "an editor's command on");
                    self.run_text(Tongue::Lisp, text);
                }
            }
            Console::Pager => {
                texts.iter().for_each(|text| self.banged(text));
            }
            Console::Plotter => {
                for text in &texts {
                    self.banged(text);
                    self.run_text(Tongue::Other, text);
                }
            }
            Console::Debugger => {
                lines().for_each(|line| self.debugger(line));
                let at = arguments
                    .iter()
                    .position(|field| matches!(field.literal().as_deref(), Some("--args" | "-args" | "--")));
                if let Some(list) = at.and_then(|at| arguments.get(at + 1..)) {
                    self.apart(|walk| walk.command(list, setting));
                }
            }
            Console::Sqlite => {
                let operand = arguments.iter().find(|field| !git::starts(field, "-"));
                operand.into_iter().for_each(|file| self.write(file, "a database in"));
                lines().for_each(|line| self.sqlite(line));
            }
            Console::Database => lines().for_each(|line| self.database(line)),
            Console::Tcl => texts.iter().for_each(|text| self.tcl(text)),
            Console::Terminal => {
                for at in 0..arguments.len().min(24) {
                    let list = arguments.get(at..).unwrap_or_default();
                    self.apart(|walk| {
                        if at > 0 {
                            walk.command(list, setting);
                        }
                        list.first()
                            .filter(|text| text.shown().contains(' '))
                            .into_iter()
                            .for_each(|text| walk.field_text(text));
                    });
                }
            }
        }
    }

    /// Text whose literals are commands if it starts anything.
    fn run_text(&mut self, tongue: Tongue, text: &str) {
        self.spend(8 * text.len());
        if self.found.is_none() {
            self.started(&Code::read(tongue, text), &[], false);
        }
    }

    /// `!COMMAND`, to the end of the line.
    fn banged(&mut self, text: &str) {
        for line in text.lines() {
            for (at, _) in line.match_indices('!') {
                self.spend(16 * line.len());
                if self.found.is_some() {
                    return;
                }
                let rest = line.get(at + 1..).unwrap_or_default();
                if rest.contains(' ') {
                    self.field_text(&Field::again(rest.trim_start_matches('!')));
                }
            }
        }
    }

    /// What stands in a line after one of these words.
    fn after_word(&mut self, line: &str, words: &[&str]) {
        let cut = |c: char| !c.is_alphanumeric();
        let mut from = 0;
        for word in line.split(cut) {
            let end = from + word.len();
            if words.contains(&word) {
                self.spend(16 * line.len());
                if self.found.is_none() {
                    self.field_text(&Field::again(line.get(end..).unwrap_or_default().trim()));
                }
            }
            from = end + line.get(end..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        }
    }

    /// A command of gdb or lldb.
    fn debugger(&mut self, line: &str) {
        let line = match line.split_once('=') {
            Some((option, value)) if option.starts_with('-') => value,
            _ => line,
        };
        let line = line.trim();
        self.run_text(Tongue::Other, line);
        if let Some(rest) = line.strip_prefix('!').or_else(|| line.strip_prefix('|')) {
            return self.field_text(&Field::again(rest));
        }
        let Some((command, rest)) = line.split_once(char::is_whitespace) else { return };
        match command {
            "python" | "py" | "pi" | "python-interactive" | "script" | "scripting" => {
                self.code("python", rest)
            }
            "guile" | "gu" => self.run_text(Tongue::Lisp, rest),
            "platform" | "plat" => self.after_word(line, &["shell", "she"]),
            "pipe" => rest.split('|').for_each(|text| self.field_text(&Field::again(text))),
            "make" | "target" | "run" | "r" => self.after_word(line, &[command, "exec"]),
            _ if command.len() > 2 && "shell".starts_with(command) => self.field_text(&Field::again(rest)),
            _ if line.contains("shell ") => self.after_word(line, &["shell"]),
            _ => {}
        }
    }

    /// A line for sqlite.
    fn sqlite(&mut self, line: &str) {
        let text = line.trim();
        if let Some((command, rest)) =
            text.strip_prefix('.').and_then(|text| text.split_once(char::is_whitespace))
        {
            if "shell".starts_with(command) || "system".starts_with(command) {
                self.field_text(&Field::again(rest));
            } else if let Some((_, piped)) = rest.split_once('|') {
                self.field_text(&Field::again(piped.trim_matches(['"', '\'', ' '])));
            }
        }
        let lower = text.to_lowercase();
        let writes = [
            "writefile",
            ".on",
            ".o",
            ".sa",
            ".ba",
            ".lo",
            ".cl",
            ".ex",
            ".tr",
            ".ar",
            "vacuum",
            "attach",
            "edit(",
        ];
        if writes.iter().any(|word| lower.contains(word)) {
            self.named_in(text, "a command of sqlite on");
        }
    }

    /// A line for psql or mysql.
    fn database(&mut self, line: &str) {
        for (at, _) in line.match_indices("\\!") {
            self.spend(line.len());
            self.field_text(&Field::again(line.get(at + 2..).unwrap_or_default()));
        }
        let lower = line.to_lowercase();
        if let Some((_, piped)) = line.split_once('|').filter(|_| line.contains('\\')) {
            self.field_text(&Field::again(piped.trim_matches(['"', '\'', ' '])));
        }
        if lower.contains("program") {
            self.started(&Code::read(Tongue::Other, line), &[], true);
        }
        self.after_word(line, &["system", "pager"]);
        if ["\\o", "\\g", "\\w", "copy", "tee ", "outfile", "dumpfile", "\\t", "-o", "-l", "lo_export"]
            .iter()
            .any(|word| lower.contains(word))
        {
            self.named_in(line, "a command of a database on");
        }
    }

    /// A script of Tcl: what it runs, as words, which braces may quote.
    fn tcl(&mut self, text: &str) {
        let quoted: String = text.chars().map(|c| if matches!(c, '{' | '}') { '"' } else { c }).collect();
        let bare: String = text.chars().map(|c| if matches!(c, '{' | '}' | '"') { ' ' } else { c }).collect();
        for line in [quoted, bare].iter().flat_map(|text| text.split(['\n', ';', ']'])) {
            self.after_word(line, &["exec", "spawn", "system"]);
        }
        self.run_text(Tongue::Other, text);
    }
}
