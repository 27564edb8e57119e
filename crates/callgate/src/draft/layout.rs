//! Layout: the white space that a template writes beside a value, which is no part of it.

/// How far a text goes on like white space of a template, whose lines may end in two ways: how many bytes of the text
/// and of the white space that is.
pub(super) fn follow_layout(text: &str, space: &str) -> (usize, usize) {
    let (text, space) = (text.as_bytes(), space.as_bytes());
    let (mut at, mut read) = (0, 0);
    while let (Some(wanted), Some(byte)) = (space.get(read), text.get(at)) {
        match (wanted, byte) {
            (b'\n', b'\r') if text.get(at + 1).is_none_or(|next| *next == b'\n') => at += 1,
            (wanted, byte) if wanted == byte => (at, read) = (at + 1, read + 1),
            _ => break,
        }
    }
    (at, read)
}

/// The text without the white space that the template writes before it, if that is there.
pub(super) fn without_lead<'t>(text: &'t str, lead: &str) -> &'t str {
    let (at, read) = follow_layout(text, lead);
    if read == lead.len() { &text[at..] } else { text }
}

/// The text without the white space that the template writes after it, if that is there.
pub(super) fn without_trail<'t>(text: &'t str, trail: &str) -> &'t str {
    let held = held_back(text, trail);
    let (free, tail) = text.split_at(text.len() - held);
    if follow_layout(tail, trail).1 == trail.len() { free } else { text }
}

/// A value whose closer is missing without the line break that stands behind a closer, and without the indentation of the line
/// that follows. Other white space is its own. Says of white space at the end what it is, and what is left.
pub(super) fn without_layout<'t>(
    value: &'t str,
    last_space: impl Fn(&'t str) -> Option<(char, &'t str)>,
) -> &'t str {
    let mut next = last_space(value);
    while let Some((' ' | '\t', before)) = next {
        next = last_space(before);
    }
    let Some(('\n', before)) = next else { return value };
    match last_space(before) {
        Some(('\r', before)) => before,
        _ => before,
    }
}

/// The white space that a text ends with, and what stands before it.
pub(super) fn last_space(text: &str) -> Option<(char, &str)> {
    let last = text.chars().next_back().filter(char::is_ascii_whitespace)?;
    Some((last, &text[..text.len() - 1]))
}

/// The same in a string of JSON, where white space is escaped.
pub(super) fn last_space_of_json(json: &str) -> Option<(char, &str)> {
    if let Some(rest) = json.strip_suffix(' ') {
        return Some((' ', rest));
    }
    let (space, rest) = [('\n', 'n'), ('\r', 'r'), ('\t', 't')]
        .into_iter()
        .find_map(|(space, letter)| Some((space, json.strip_suffix(letter)?)))?;
    let is_escape = (rest.len() - rest.trim_end_matches('\\').len()) % 2 == 1;
    is_escape.then(|| (space, &rest[..rest.len() - 1]))
}

/// How many bytes at the end of `text` may be the start of, or all of, `trail`.
#[inline] // Each piece of a value asks.
pub(super) fn held_back(text: &str, trail: &str) -> usize {
    // Most texts end with something else.
    match text.as_bytes().last() {
        Some(b' ' | b'\t' | b'\r' | b'\n') if !trail.is_empty() => held_space(text, trail),
        _ => 0,
    }
}

#[inline(never)] // Few pieces of a value end with white space.
fn held_space(text: &str, trail: &str) -> usize {
    let is_layout = |n: &usize| {
        let start = text.len() - n;
        text.is_char_boundary(start) && follow_layout(&text[start..], trail).0 == *n
    };
    (1..=(trail.len() * 2).min(text.len())).rev().find(is_layout).unwrap_or(0)
}
