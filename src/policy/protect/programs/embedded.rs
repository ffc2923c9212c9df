//! Commands among the arguments of programs that are not known: `docker exec c git commit -n`, `watch 'rm biome.json'`.
//!
//! A program that is not known may run what its arguments name. From each that is the name of git, a shell, or a program of
//! the tables, the rest is judged as a command; an argument of several words that begins so, as shell text.

use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::rules::Rules;
use crate::policy::shell::Field;

/// Arguments that are looked at.
const MOST: usize = 64;

impl Walk<'_> {
    /// Looks for commands among the arguments of a program.
    pub(in crate::policy::protect) fn embedded(
        &mut self,
        program: &str,
        arguments: &[Field],
        setting: &Setting,
    ) {
        let talks = |name: &str| {
            Rules::shipped().section("talkers").is_some_and(|talkers| talkers.has("names", name))
        };
        // What wrappers do with their arguments is known, but for where a command begins among their options.
        let wrapper = self.rules.named("wrapper", program);
        if talks(program) || wrapper.is_some_and(|wrapper| wrapper.flag("loose") || wrapper.knows("text")) {
            return;
        }
        let printed = self.printed.take();
        let setting = Setting { sure: false, chained: false, ..setting.clone() };
        for (at, argument) in arguments.iter().enumerate().take(MOST) {
            let text = argument.shown();
            // `--exec=git …`
            let text = text
                .strip_prefix('-')
                .and_then(|option| option.split_once('='))
                .map_or(text.as_str(), |(_, text)| text);
            let Some(first) = text.split_whitespace().find(|word| !word.contains('=')) else { continue };
            let name = first.rsplit('/').next().unwrap_or(first).to_lowercase();
            if talks(&name) {
                break;
            }
            if name == "-" || !self.is_program(&name) {
                continue;
            }
            if text.contains(char::is_whitespace) {
                self.field_text(&Field::again(text));
            } else if let Some(list) = arguments.get(at..) {
                self.apart(|walk| walk.command(list, &setting));
            }
        }
        self.printed = printed;
    }
}
