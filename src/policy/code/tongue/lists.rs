//! Texts that stand in one list: `['git', 'commit', x]`, `('git', ['commit'])`, `"git", "commit"`, `(… "git" nil "commit")`.

use super::{Token, Tongue};
use crate::policy::shell::Field;

/// Elements of a list, as far as they are known.
#[derive(Debug)]
pub(in crate::policy) struct List {
    pub(in crate::policy) fields: Vec<Field>,
    /// Whether it is all that a call is given there: nothing can be added to it before.
    pub(in crate::policy) direct: bool,
    /// The text right before `.join(`, or right after: what it is joined by.
    pub(in crate::policy) between: Option<Field>,
    /// How many of them stand before the first bracket is closed.
    pub(in crate::policy) inner: usize,
}

/// Tokens of an element that is not known.
const LONGEST: usize = 64;

/// The lists of at least one text; each text is in one of them.
pub(in crate::policy) fn lists(tokens: &[Token], tongue: Tongue) -> Vec<List> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if token.text().is_some() {
            let (list, end) = list(tokens, at, tongue);
            found.push(list);
            at = end.max(at + 1);
        } else {
            at += 1;
        }
    }
    found
}

fn list(tokens: &[Token], from: usize, tongue: Tongue) -> (List, usize) {
    let is = |at: usize, sign: char| tokens.get(at).is_some_and(|token| token.is(sign));
    let mut fields = Vec::new();
    let mut at = from;
    let mut end = from + 1;
    let mut whole = true;
    let mut inner = None;
    // Calls that an element stands in: `c("commit", "-n")`.
    let mut within = 0_usize;
    while let Some(field) = tokens.get(at).and_then(Token::text) {
        fields.push(field.clone());
        at += 1;
        end = at;
        // What comes before the next text.
        loop {
            if inner.is_none() && (is(at, ']') || is(at, ')')) {
                inner = Some(fields.len());
            }
            while within > 0 && is(at, ')') {
                within -= 1;
                at += 1;
            }
            let next = skip(tokens, at);
            let separated = next > at || tongue == Tongue::Lisp;
            match tokens.get(next) {
                Some(Token::Text(_)) if separated => {
                    at = next;
                    break;
                }
                Some(Token::Word(word)) if tongue == Tongue::Lisp => {
                    // `nil` and `t` stand for buffers.
                    if !matches!(word.as_str(), "nil" | "t" | "0") {
                        fields.push(Field::any(word));
                    }
                    at = next + 1;
                }
                Some(Token::Word(word))
                    if separated && is(next + 1, '(') && !word.starts_with(['$', '@']) =>
                {
                    within += 1;
                    at = next + 2;
                    if let Some(Token::Text(_)) = tokens.get(at) {
                        break;
                    }
                }
                Some(Token::Word(_) | Token::Sign('*' | '.')) if separated => {
                    let Some(after) = unknown(tokens, next) else {
                        at = usize::MAX;
                        break;
                    };
                    fields.push(Field::any("an element of the list"));
                    at = after;
                    end = after;
                }
                _ => {
                    whole =
                        matches!(tokens.get(next), None | Some(Token::Sign(')' | ']' | ';') | Token::Break))
                            || separated;
                    at = usize::MAX;
                    break;
                }
            }
        }
    }
    let closed = (end..end + 8).take_while(|at| is(*at, ']') || is(*at, ')')).last().map_or(end, |at| at + 1);
    let before = (0..from).rev().take(3).find(|at| !is(*at, '[')).filter(|_| from > 0);
    let called = before.is_some_and(|at| {
        is(at, '(') && at > 0 && tokens.get(at - 1).is_some_and(|token| token.word().is_some())
    });
    let grows = is(closed, '+') || is(end, '+') || is(closed, '.') || is(end + 1, '+');
    let is_join = |at: usize| tokens.get(at).and_then(Token::word) == Some("join");
    let text = |at: usize| tokens.get(at).and_then(Token::text).cloned();
    let after = if is_join(closed + 1) { text(closed + 3) } else { None };
    // `'.'.join(['a', 'b'])`
    let before_join =
        before.filter(|at| *at > 2 && is_join(at - 1) && is(at - 2, '.')).and_then(|at| text(at - 3));
    let inner = inner.unwrap_or(fields.len());
    (List { fields, direct: called && whole && !grows, between: after.or(before_join), inner }, end)
}

/// Skips commas, brackets and ends of lines.
fn skip(tokens: &[Token], from: usize) -> usize {
    let skipped = tokens
        .iter()
        .skip(from)
        .take_while(|token| matches!(token, Token::Sign(',' | '[' | ']' | '(' | '`') | Token::Break));
    // `*[…]`, `...[…]`
    let spread = |at: usize| {
        let signs = tokens.iter().skip(at).take_while(|token| token.is('*') || token.is('.')).count();
        (signs > 0 && tokens.get(at + signs).is_some_and(|token| token.is('['))).then_some(at + signs)
    };
    let comma = tokens
        .iter()
        .skip(from)
        .take(LONGEST)
        .take_while(|token| !matches!(token, Token::Text(_)))
        .any(|token| token.is(','));
    if !comma {
        return from;
    }
    let next = from + skipped.count();
    spread(next).map_or(next, |next| skip_signs(tokens, next))
}

fn skip_signs(tokens: &[Token], from: usize) -> usize {
    from + tokens
        .iter()
        .skip(from)
        .take_while(|token| matches!(token, Token::Sign(',' | '[' | '(' | '`') | Token::Break))
        .count()
}

/// Where an element that is not a text ends; `None` if it is more than a name, or names an argument.
fn unknown(tokens: &[Token], from: usize) -> Option<usize> {
    let mut at = from;
    let mut depth = 0_usize;
    while let Some(token) = tokens.get(at).filter(|_| at < from + LONGEST) {
        match token {
            Token::Sign('(' | '[') => depth += 1,
            Token::Sign(')' | ']') if depth > 0 => depth -= 1,
            Token::Sign(',' | ')' | ']') | Token::Break if depth == 0 => return Some(at),
            Token::Sign('.' | '*' | '-' | '>') | Token::Word(_) => {}
            _ if depth > 0 => {}
            _ => return None,
        }
        at += 1;
    }
    None
}
