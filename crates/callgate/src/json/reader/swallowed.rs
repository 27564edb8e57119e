//! Swallowed structure: what a string without its second quote holds at its end, and where it should have ended.

use super::levels::Level;
use super::scalars::is_scalar;
use super::structure::Expects;
use crate::json::meter::looked;

/// How many tokens a string is taken to have swallowed at most.
const MOST: usize = 64;

/// What comes behind that which was swallowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Key,
    Item,
    End,
}

/// One token of structure in the text of a string, and where it starts.
#[derive(Clone, Copy, Debug)]
enum Swallowed {
    Sign(u8),
    Scalar,
}

/// The text without the white space at its end, of which line breaks are escaped.
pub(super) fn trimmed(text: &str, raw_lines: bool) -> &str {
    let mut text = text;
    loop {
        let end = text.trim_end_matches(' ');
        looked(1 + text.len() - end.len());
        let cut = ["\\n", "\\r", "\\t"].iter().find_map(|escape| end.strip_suffix(escape));
        match cut.filter(|_| raw_lines) {
            Some(cut) => text = cut,
            None => return end,
        }
    }
}

/// The text without the white space at its start, in which line breaks are escaped.
pub(super) fn trimmed_start(text: &str) -> &str {
    let mut text = text;
    loop {
        let start = text.trim_start_matches(' ');
        looked(1 + text.len() - start.len());
        match ["\\n", "\\r", "\\t"].iter().find_map(|escape| start.strip_prefix(escape)) {
            Some(rest) => text = rest,
            None => return start,
        }
    }
}

/// Where the structure starts that the text of a string ends with, if it can stand there and leads to what follows.
pub(super) fn swallowed(
    text: &str,
    key: bool,
    raw_lines: bool,
    levels: &[Level],
    then: Then,
) -> Option<usize> {
    // The fence around the value may follow what closes it.
    let unfenced = trimmed(text, raw_lines).strip_suffix("```").filter(|_| then == Then::End);
    let text = unfenced.unwrap_or(text);
    let (tokens, rest) = tokens(text, raw_lines);
    let starts = |token: Swallowed| match token {
        Swallowed::Sign(sign) => {
            if key {
                sign == b':'
            } else {
                matches!(sign, b',' | b'}' | b']')
            }
        }
        Swallowed::Scalar => false,
    };
    let place = if key { Expects::Colon } else { Expects::After };
    let candidates = (0..tokens.len()).filter(|at| starts(tokens[*at].1) && tokens[*at].0 > 0);
    for at in candidates {
        if leads_to(&tokens[at..], place, levels, then) {
            return Some(tokens[at].0);
        }
    }
    // A key may be followed by a value that has no quotes either.
    looked(if key && then == Then::End { rest.len() } else { 0 });
    let (name, value) = rest.split_once(':').filter(|_| key && then == Then::End)?;
    let is_word =
        |text: &str| !text.is_empty() && !text.contains([':', ',', '{', '}', '[', ']', '"', '\'', '\\']);
    let is_member = is_word(name.trim()) && is_word(value.trim());
    (is_member && leads_to(&tokens, Expects::After, levels, then)).then_some(name.len())
}

/// Whether the text of a string is nothing but structure, and leads to what follows if its opening quote was stray.
pub(super) fn is_structure(text: &str, raw_lines: bool, levels: &[Level], then: Then) -> bool {
    let (tokens, rest) = tokens(text, raw_lines);
    let has_values =
        tokens.iter().any(|(_, token)| matches!(token, Swallowed::Scalar | Swallowed::Sign(b',')));
    rest.is_empty() && has_values && leads_to(&tokens, Expects::Value, levels, then)
}

/// The text as it stood in the input.
pub(super) fn as_written(text: &str, raw_lines: bool) -> String {
    match raw_lines {
        true => text.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t"),
        false => text.to_owned(),
    }
}

/// The structure that the text of a string ends with, and the text before it.
fn tokens(text: &str, raw_lines: bool) -> (Vec<(usize, Swallowed)>, &str) {
    let mut tokens: Vec<(usize, Swallowed)> = Vec::new();
    let mut rest = trimmed(text, raw_lines);
    while let Some(last) = rest.bytes().last()
        && tokens.len() < MOST
    {
        if matches!(last, b',' | b':' | b'{' | b'}' | b'[' | b']') {
            rest = &rest[..rest.len() - 1];
            tokens.push((rest.len(), Swallowed::Sign(last)));
        } else {
            let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
            let before = rest.trim_end_matches(part);
            looked(rest.len() - before.len());
            if !is_scalar(&rest[before.len()..]) {
                break;
            }
            tokens.push((before.len(), Swallowed::Scalar));
            rest = before;
        }
        rest = trimmed(rest, raw_lines);
    }
    tokens.reverse();
    (tokens, rest)
}

/// Whether structure after a string, which is a key or a value, leads to what follows.
fn leads_to(tokens: &[(usize, Swallowed)], place: Expects, levels: &[Level], then: Then) -> bool {
    looked(levels.len() + tokens.len());
    let mut open: Vec<bool> = levels.iter().map(|level| level.kind().is_object()).collect();
    let mut expects = place;
    let mut fresh = false;
    for (_, token) in tokens {
        let Some(in_object) = open.last().copied() else { return false };
        let closer = if in_object { b'}' } else { b']' };
        expects = match (expects, *token) {
            (Expects::Colon, Swallowed::Sign(b':')) => Expects::Value,
            (Expects::After, Swallowed::Sign(b',')) => {
                if in_object {
                    Expects::Key
                } else {
                    Expects::Value
                }
            }
            (Expects::Value, Swallowed::Scalar) => Expects::After,
            (Expects::Value, Swallowed::Sign(sign @ (b'{' | b'['))) => {
                open.push(sign == b'{');
                fresh = true;
                expects = if sign == b'{' { Expects::Key } else { Expects::Value };
                continue;
            }
            (place, Swallowed::Sign(sign)) if sign == closer && (place == Expects::After || fresh) => {
                open.pop();
                Expects::After
            }
            _ => return false,
        };
        fresh = false;
    }
    match then {
        Then::Key => expects == Expects::Key,
        Then::Item => expects == Expects::Value,
        Then::End => open.is_empty(),
    }
}
