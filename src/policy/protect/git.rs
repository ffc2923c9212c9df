//! The options of git, by git's own rules: which of its commands skip hooks, and which write files by name.
//!
//! From git's `parse-options`: long options may be shortened to any unique beginning, short ones may be joined, a value
//! may be joined to its option or be the next argument, options may follow operands, `--` ends them, and of two options that
//! contradict each other the last one counts.

use crate::policy::shell::{Bit, Field};

/// A command whose hooks an option can skip.
struct Hooked {
    name: &'static str,
    /// Short options that skip them.
    skips: &'static str,
    /// Short options with a value.
    short: &'static str,
    /// Short options whose value, if any, is joined.
    joined: &'static str,
    /// Long options with a value.
    long: &'static str,
}

/// By `git <command> -h` of git 2.47, and the pages of later versions for what they added.
const HOOKED: &[Hooked] = &[
    Hooked {
        name: "commit",
        skips: "n",
        short: "FmcCtU",
        joined: "Su",
        long: "file author date message reedit-message reuse-message fixup squash trailer template \
            cleanup pathspec-from-file unified inter-hunk-context",
    },
    Hooked {
        name: "push",
        skips: "",
        short: "o",
        joined: "",
        long: "repo receive-pack exec push-option recurse-submodules",
    },
    Hooked {
        name: "merge",
        skips: "",
        short: "sXmF",
        joined: "S",
        long: "strategy strategy-option message file into-name cleanup",
    },
    Hooked {
        name: "rebase",
        skips: "",
        short: "CxsX",
        joined: "Sr",
        long: "onto whitespace empty exec strategy strategy-option",
    },
    Hooked {
        name: "am",
        skips: "n",
        short: "Cp",
        joined: "S",
        long: "quoted-cr whitespace directory exclude include patch-format resolvemsg empty",
    },
    Hooked {
        name: "pull",
        skips: "",
        short: "sXo",
        joined: "Srj",
        long: "cleanup strategy strategy-option upload-pack depth shallow-since shallow-exclude deepen \
            refmap server-option negotiation-tip",
    },
];

/// Commands that run hooks, or commands that do; for those a config that moves the hooks matters.
const RUN_HOOKS: &str = "commit push merge rebase am pull cherry-pick revert citool gui submodule bisect stash svn p4 subtree \
    flow filter-branch for-each-repo hook worktree checkout switch clone";

/// Commands of git that only look, or that have no hooks to skip; all that is not known may be an alias of one that has.
const HARMLESS: &str = "add annotate apply archive blame branch bundle cat-file check-attr check-ignore check-ref-format \
    cherry clean config count-objects describe diff diff-files diff-index diff-tree difftool fetch \
    for-each-ref format-patch fsck gc grep hash-object help init log ls-files ls-remote ls-tree \
    maintenance merge-base mergetool mv name-rev notes range-diff reflog remote repack replace rerere \
    reset restore rev-list rev-parse rm shortlog show show-branch show-ref sparse-checkout status \
    symbolic-ref tag update-index update-ref var verify-commit verify-tag version whatchanged write-tree \
    read-tree commit-tree lfs";

/// What an invocation of git says before its command.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// `-c` and `--config-env`: key, value; the value of the latter is not in the command.
    pub(super) configs: Vec<(Field, Option<Field>)>,
    /// `-C`
    pub(super) folders: Vec<Field>,
    /// `--git-dir`
    pub(super) places: Vec<Field>,
    /// The command and its arguments.
    pub(super) rest: Vec<Field>,
}

/// Options before the command that take the next argument (`git.c`).
const WITH_VALUE: [&str; 8] = [
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--exec-path",
    "--attr-source",
    "--list-cmds",
    "--shallow-file",
];

impl Call {
    /// Reads the arguments after `git`.
    pub(super) fn read(arguments: &[Field]) -> Self {
        let mut call = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let text = argument.literal().unwrap_or_default();
            match text.as_str() {
                "-c" => call.configs.extend(rest.next().map(setting)),
                "-C" => call.folders.extend(rest.next().cloned()),
                "--config-env" => call.configs.extend(rest.next().map(|field| (setting(field).0, None))),
                // Without `=` it prints a path and ends; older versions read on.
                "--exec-path" => {}
                "--git-dir" => call.places.extend(rest.next().cloned()),
                text if WITH_VALUE.contains(&text) => drop(rest.next()),
                _ if starts(argument, "--git-dir=") => call.places.push(argument.after("--git-dir=".len())),
                _ if starts(argument, "--config-env=") => {
                    call.configs.push((setting(&argument.after("--config-env=".len())).0, None));
                }
                _ if starts(argument, "-") => {}
                _ => {
                    call.rest = std::iter::once(argument).chain(rest).cloned().collect();
                    break;
                }
            }
        }
        call
    }

    /// The command, if it is known.
    pub(super) fn command(&self) -> Option<String> {
        self.rest.first()?.literal()
    }

    /// The arguments of the command.
    pub(super) fn arguments(&self) -> &[Field] {
        self.rest.get(1..).unwrap_or_default()
    }
}

/// `key=value`; a key alone is true.
pub(super) fn setting(field: &Field) -> (Field, Option<Field>) {
    match field.bits.iter().position(|bit| *bit == Bit::Char('=')) {
        None => (field.clone(), Some(Field::of("true"))),
        Some(at) => {
            let key =
                Field { bits: field.bits.iter().take(at).copied().collect(), unknown: field.unknown.clone() };
            (key, Some(field.after(at + 1)))
        }
    }
}

/// Whether a config of this key decides which hooks run: `core.hooksPath`, or a file that may set it.
pub(super) fn moves_hooks(key: &Field) -> bool {
    let Some(key) = key.literal() else {
        return starts(key, "core.") || key.is_any();
    };
    let key = key.to_lowercase();
    key == "core.hookspath"
        || key == "include.path"
        || (key.starts_with("includeif.") && key.ends_with(".path"))
}

/// Whether a config of this key is run as a command by git.
pub(super) fn is_command(key: &str) -> bool {
    let key = key.to_lowercase();
    let last = key.rsplit('.').next().unwrap_or_default();
    matches!(
        last,
        "editor"
            | "pager"
            | "sshcommand"
            | "fsmonitor"
            | "askpass"
            | "cmd"
            | "textconv"
            | "command"
            | "clean"
            | "smudge"
            | "program"
            | "helper"
            | "external"
            | "process"
            | "driver"
            | "difffilter"
            | "uploadpack"
            | "receivepack"
            | "packobjectshook"
            | "alternaterefscommand"
            | "gitproxy"
            | "procreceiverefs"
            | "defaultkeycommand"
    ) || key.starts_with("pager.")
}

/// Whether a list of words has `word`.
fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// Whether the command may run hooks: it does, or it is not known.
pub(super) fn may_run_hooks(command: &str) -> bool {
    has(RUN_HOOKS, command) || !has(HARMLESS, command)
}

/// Whether git has such a command of its own.
pub(super) fn is_known(command: &str) -> bool {
    has(RUN_HOOKS, command) || has(HARMLESS, command)
}

/// How a command skips its hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Skip {
    /// It does, by this option.
    Sure(String),
    /// It may, by an argument that is not known.
    Perhaps(Field),
}

/// How `arguments` of `command` skip hooks.
pub(super) fn skips(command: &str, arguments: &[Field]) -> Option<Skip> {
    match HOOKED.iter().find(|hooked| hooked.name == command) {
        Some(hooked) => hooked.read(arguments),
        None if is_known(command) && !matches!(command, "svn" | "p4" | "flow" | "subtree") => None,
        // An alias or a program of its own: only the long option is unmistakable.
        None => {
            let mut options =
                arguments.iter().take_while(|argument| argument.literal().as_deref() != Some("--"));
            options.find(|argument| is_no_verify(argument)).map(|argument| Skip::Sure(argument.shown()))
        }
    }
}

/// Whether a word could be an option that skips hooks, whatever command it is for.
pub(super) fn looks_like_skip(word: &str) -> bool {
    let short = word
        .strip_prefix('-')
        .is_some_and(|rest| rest.contains('n') && rest.chars().all(|c| c.is_ascii_alphabetic()));
    short || is_no_verify(&Field::of(word))
}

/// `--no-verify` or a beginning of it. Beginnings that git finds ambiguous do no harm here: git refuses them.
fn is_no_verify(argument: &Field) -> bool {
    argument.literal().is_some_and(|text| text.len() > "--no-".len() && "--no-verify".starts_with(&text))
}

impl Hooked {
    fn read(&self, arguments: &[Field]) -> Option<Skip> {
        let mut found = None;
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let Some(text) = argument.literal() else {
                found = found.or_else(|| self.unknown(argument, &mut rest));
                continue;
            };
            if text == "--" || text == "--end-of-options" {
                break;
            }
            if let Some(long) = text.strip_prefix("--") {
                if is_no_verify(argument) {
                    found = Some(Skip::Sure(text));
                } else if long.len() > 3 && "verify".starts_with(long) {
                    found = None;
                } else if self.takes_next(long) {
                    rest.next();
                }
            } else if let Some(short) = text.strip_prefix('-') {
                let (skips, next) = self.cluster(short);
                if skips {
                    found = Some(Skip::Sure(text));
                }
                if next {
                    rest.next();
                }
            }
        }
        found
    }

    /// Whether the long option takes the next argument.
    fn takes_next(&self, long: &str) -> bool {
        !long.contains('=')
            && !long.is_empty()
            && (has(self.long, long)
                || self.long.split(' ').any(|name| name.starts_with(long)) && !is_other(self.name, long))
    }

    /// Whether joined short options skip hooks, and whether the last takes the next argument.
    fn cluster(&self, short: &str) -> (bool, bool) {
        let mut skips = false;
        let mut rest = short.chars();
        while let Some(c) = rest.next() {
            if self.joined.contains(c) {
                break;
            }
            if self.short.contains(c) {
                return (skips, rest.as_str().is_empty());
            }
            skips |= self.skips.contains(c);
        }
        (skips, false)
    }

    /// An argument of which something is not known.
    fn unknown<'a>(&self, argument: &Field, rest: &mut impl Iterator<Item = &'a Field>) -> Option<Skip> {
        let known: String = argument
            .bits
            .iter()
            .map_while(|bit| match bit {
                Bit::Char(c) => Some(*c),
                _ => None,
            })
            .collect();
        if argument.is_any() {
            return Some(Skip::Perhaps(argument.clone()));
        }
        let perhaps = if let Some(long) = known.strip_prefix("--") {
            !known.contains('=')
                && (is_no_verify(&Field::of(&known)) || "--no-verify".starts_with(&known) || long.is_empty())
        } else if let Some(short) = known.strip_prefix('-') {
            let (skips, next) = self.cluster(short);
            let valued = short.contains(|c| self.short.contains(c) || self.joined.contains(c));
            skips || (!valued && !next && short.chars().all(|c| c.is_ascii_alphabetic()))
        } else {
            argument.bits.first() == Some(&Bit::Any)
                && argument
                    .bits
                    .iter()
                    .skip(1)
                    .all(|bit| matches!(bit, Bit::Char(c) if "--no-verify".contains(*c)))
        };
        let _ = rest;
        perhaps.then(|| Skip::Perhaps(argument.clone()))
    }
}

/// Long options of `commit` without a value.
const COMMIT_FLAGS: &str = "include interactive all amend dry-run reset-author patch post-rewrite porcelain short status signoff \
    edit only quiet verbose branch ahead-behind long null untracked-files gpg-sign allow-empty \
    allow-empty-message pathspec-file-nul";

/// Whether a beginning is that of an option without a value too: then git refuses it, or means that one.
fn is_other(command: &str, long: &str) -> bool {
    command == "commit" && COMMIT_FLAGS.split(' ').any(|flag| flag.starts_with(long))
}

/// Whether a field begins with a known text.
pub(super) fn starts(field: &Field, text: &str) -> bool {
    let mut bits = field.bits.iter();
    text.chars().all(|c| bits.next() == Some(&Bit::Char(c)))
}
