//! What `xargs` and `parallel` add to a command: words of what they read, or each line in the place of a mark.

use super::mentions::Mentions;
use super::walk::{MOST_VALUES, Setting, Walk};
use crate::policy::shell::{Bit, Field, split};

impl Walk<'_> {
    /// The commands that become of `list`, in which `mark` stands for a line.
    pub(super) fn fed(&mut self, list: &[Field], mark: &str, setting: &Setting) -> Vec<Vec<Field>> {
        let unknown = || Field::any("what is read from standard input");
        let marked = list.iter().any(|field| position(field, mark).is_some());
        if !marked {
            let given = match setting.input.known() {
                Some(input) => input.literal().map_or_else(|| input.words(), |text| split(&text)),
                None => vec![unknown()],
            };
            return vec![[list, &given].concat()];
        }
        let mut lines = match setting.input.known() {
            Some(input) => input.parts('\n').into_iter().filter(|line| !line.bits.is_empty()).collect(),
            None => vec![unknown()],
        };
        let guard = self.guard;
        lines.sort_by_key(|line| !Mentions::spoken(&line.shown(), guard).any());
        self.spend(lines.iter().map(|line| 16 * line.bits.len()).sum());
        if lines.len() > MOST_VALUES {
            lines.truncate(MOST_VALUES);
            lines.push(unknown());
        }
        lines.iter().map(|line| list.iter().map(|field| filled(field, mark, line)).collect()).collect()
    }
}

/// Where a mark stands in a field.
fn position(field: &Field, mark: &str) -> Option<usize> {
    let mark: Vec<Bit> = mark.chars().map(Bit::Char).collect();
    (!mark.is_empty()).then(|| field.bits.windows(mark.len()).position(|bits| bits == mark)).flatten()
}

/// A field with a value in the place of each mark.
fn filled(field: &Field, mark: &str, value: &Field) -> Field {
    let length = mark.chars().count();
    let mut out = Field { bits: Vec::new(), unknown: field.unknown.clone() };
    let mut rest = field.clone();
    while let Some(at) = position(&rest, mark) {
        out.bits.extend(rest.bits.iter().take(at));
        out.push(value);
        rest = rest.after(at + length);
    }
    out.push(&rest);
    out
}
