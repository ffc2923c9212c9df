//! Tables and numbers as a person reads them.

use crate::pricing::Usd;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, presets};

/// The width that a table must fit where none is known.
pub const WIDTH: u16 = 80;

/// An empty table with a header; the first column is text, the others are numbers.
#[must_use]
pub fn table(width: u16, header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_width(width);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// As [`table`], with nothing between the rows and around them.
#[must_use]
pub fn compact(width: u16, header: &[&str]) -> Table {
    let mut table = table(width, header);
    let none = LineStyle::none();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY.top_border(none).row_separator(none).bottom_border(none));
    table
}

/// `1234567` → `1,234,567`.
#[must_use]
pub fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if number < 0 { format!("-{out}") } else { out }
}

/// A count, or `–` where it is unknown.
#[must_use]
pub fn maybe_count(number: Option<i64>) -> String {
    number.map_or_else(|| "–".to_owned(), count)
}

/// An amount of money, or `–` where there is none to tell.
#[must_use]
pub fn money(cost: Option<Usd>) -> String {
    cost.map_or_else(|| "–".to_owned(), |cost| cost.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!([0, 999, 1_000, -1_234_567].map(count), ["0", "999", "1,000", "-1,234,567"]);
    }
}
