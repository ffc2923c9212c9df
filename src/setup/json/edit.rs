//! Adding a part to a document and taking one out, byte by byte: comments, order, indentation and line ends of everything
//! else stay as they are.

use std::ops::Range;

use super::scan::{Node, skip_trivia};

/// One step of indentation where the document shows none.
const INDENT: &str = "  ";

/// `text` with `part` (lines that end in `\n`, indented from 0) added behind the last part of `container`.
pub(super) fn append(text: &str, container: &Node, part: &str) -> String {
    let close = container.span.end - 1;
    let tail = text.get(..close).map_or(close, |before| before.trim_end().len());
    let last = container.parts().last().map(|part| part.end);
    let own = line_indent(text, container.span.start);
    let unit = indent_unit(text);
    let inside = text.get(container.span.clone()).unwrap_or_default();
    let mut out = String::with_capacity(text.len() + part.len() + 64);
    // Who writes a comma behind the last part gets one behind the new one.
    let (mut taken, mut trailing) = (0, "");
    if let Some(last) = last {
        push(&mut out, text, 0..last);
        taken = last;
        if text.get(skip_trivia(text, last)..).is_some_and(|rest| rest.starts_with(',')) {
            trailing = ",";
        } else {
            out.push(',');
        }
    }
    push(&mut out, text, taken..tail);
    let end = newline(text);
    if last.is_some() && !inside.contains('\n') {
        // A list on one line stays on one line.
        out.push(' ');
        out.push_str(&one_line(part));
        out.push_str(trailing);
        push(&mut out, text, tail..text.len());
        return out;
    }
    for line in part.lines() {
        out.push_str(end);
        out.push_str(own);
        out.push_str(&unit);
        let depth = line.len() - line.trim_start_matches(INDENT).len();
        for _ in 0..depth / INDENT.len() {
            out.push_str(&unit);
        }
        out.push_str(line.get(depth..).unwrap_or(line));
    }
    out.push_str(trailing);
    if text.get(tail..close).is_none_or(|gap| !gap.contains('\n')) {
        out.push_str(end);
        out.push_str(own);
        push(&mut out, text, close..text.len());
    } else {
        push(&mut out, text, tail..text.len());
    }
    out
}

/// `text` without the part of `container` at `index`, and without the comma that it needed.
pub(super) fn remove(text: &str, container: &Node, index: usize) -> String {
    let parts = container.parts();
    let Some(part) = parts.get(index) else { return text.to_owned() };
    let comma = |at: usize| {
        let next = skip_trivia(text, at);
        text.get(next..).is_some_and(|rest| rest.starts_with(',')).then_some(next)
    };
    let before = text.get(..part.start).map_or(part.start, |before| before.trim_end().len());
    let own_comma = comma(part.end);
    let end = own_comma.map_or(part.end, |at| at + 1);
    let mut out = String::with_capacity(text.len());
    if index + 1 < parts.len() {
        // What follows moves up to where this part started.
        let next = text.get(end..).map_or(end, |rest| text.len() - rest.trim_start().len());
        push(&mut out, text, 0..part.start);
        push(&mut out, text, next..text.len());
        return out;
    }
    let previous = index.checked_sub(1).and_then(|index| parts.get(index));
    match previous.and_then(|previous| comma(previous.end)) {
        // Its predecessor is the last one now, and keeps its comma only if the last one had one.
        Some(at) if own_comma.is_none() => {
            push(&mut out, text, 0..at);
            push(&mut out, text, at + 1..before);
        }
        _ => push(&mut out, text, 0..before),
    }
    let close = container.span.end - 1;
    let gap = text.get(end..close).unwrap_or_default();
    let empty = previous.is_none() && gap.trim().is_empty() && before == container.span.start + 1;
    push(&mut out, text, if empty { close } else { end }..text.len());
    out
}

/// `text` with the bytes at `span` replaced.
pub(super) fn replace(text: &str, span: Range<usize>, by: &str) -> String {
    let mut out = String::with_capacity(text.len() + by.len());
    push(&mut out, text, 0..span.start);
    out.push_str(by);
    push(&mut out, text, span.end..text.len());
    out
}

fn push(out: &mut String, text: &str, range: Range<usize>) {
    out.push_str(text.get(range).unwrap_or_default());
}

/// The line end that the document uses.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The white space at the start of the line that `at` is on.
fn line_indent(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..).unwrap_or_default();
    let length = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.get(..length).unwrap_or_default()
}

/// One step of indentation: that of the first indented line.
fn indent_unit(text: &str) -> String {
    let indented = text.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    let unit = indented.map(|line| line.len() - line.trim_start_matches([' ', '\t']).len());
    match (indented, unit) {
        (Some(line), Some(length)) if length <= 8 => line.get(..length).unwrap_or(INDENT).to_owned(),
        _ => INDENT.to_owned(),
    }
}

fn one_line(part: &str) -> String {
    part.lines().map(str::trim_start).collect::<Vec<_>>().join(" ")
}
