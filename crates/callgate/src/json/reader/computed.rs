//! Computed values: code in the place of a value, which only a program could evaluate. It is refused, not taken for text.

use super::probe::{Probe, ProbePhase, ProbeVerdict, Setting};
use super::quotes::Style;
use super::unquoted::is_bare;
use crate::json::meter::looked;
use crate::json::repair::Safety;

/// How far an operand has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandPlace {
    Before,
    /// In the operand, which begins this far from the quote.
    Inside(usize),
    Behind,
    /// In a word that may be an operator and begins this far from the quote.
    Word(usize),
}

/// The words that compute something, in whatever language.
const WORDS: [&str; 14] =
    ["or", "and", "if", "else", "not", "in", "is", "as", "xor", "like", "concat", "unless", "then", "for"];

/// Whether a string is computed with that which follows this byte.
pub(super) fn is_operator(byte: u8) -> bool {
    matches!(byte, b'+' | b'%' | b'.' | b'*' | b'-' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' | b'^' | b'@')
}

/// The length of the longest of them.
const LONGEST_WORD: usize = 6;

fn is_word(word: &str) -> bool {
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether the content of a string, as it was written, is two or more strings with operators between them: each second quote in it
/// opens a string again.
pub(super) fn is_computed(content: &str, style: Style) -> bool {
    let quote = match style {
        Style::Double => "\\\"",
        Style::Single => "'",
        _ => return false,
    };
    let mut pieces = content.split(quote);
    let Some(mut before) = pieces.next() else { return false };
    let mut is_any = false;
    while let Some(between) = pieces.next() {
        match pieces.next() {
            Some(after) if joins(before, between, after) => before = after,
            _ => return false,
        }
        is_any = true;
    }
    is_any
}

/// Whether this is what stands between two strings of an expression. A quotation in a text has no white space inside of its
/// quotes, and some before it.
fn joins(before: &str, between: &str, after: &str) -> bool {
    let is_sign = |c: char| "+-*/%&|^=!<>?:.".contains(c);
    let is_spaced = between.starts_with(char::is_whitespace) && between.ends_with(char::is_whitespace);
    if !is_spaced {
        let touches = before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric);
        return touches && !between.is_empty() && between.chars().all(is_sign);
    }
    let is_operator = |word: &str| word.chars().all(is_sign) || is_word(word);
    let mut words = between.split_whitespace();
    let first = words.next();
    first.is_some_and(is_operator) && words.next_back().or(first).is_some_and(is_operator)
}

impl Probe {
    /// Whether what follows may compute the value with the string: text that has quotes in it may well go on.
    pub(super) fn may_compute(&self, setting: &Setting<'_>) -> bool {
        !setting.grammar.restores && !setting.key && setting.kind.is_some() && !setting.doubts.has_quotes()
    }

    /// Starts to look at what an operator takes, which begins with this character.
    pub(super) fn begin_operand(&mut self, character: char, tail: &str) -> Option<ProbeVerdict> {
        self.phase = ProbePhase::Operand(OperandPlace::Before);
        self.pass_operand(OperandPlace::Before, character, tail)
    }

    /// Goes on behind a word that computes something, if one begins here: `Some` is what to do about it.
    pub(super) fn begin_word(&mut self, tail: &str, last: bool) -> Option<Option<ProbeVerdict>> {
        let rest = &tail[self.at..];
        let length = rest.bytes().take_while(u8::is_ascii_alphabetic).take(LONGEST_WORD + 1).count();
        looked(length);
        if length == rest.len() && !last {
            let may_be = WORDS
                .iter()
                .any(|word| word.get(..length).is_some_and(|start| start.eq_ignore_ascii_case(rest)));
            return may_be.then_some(Some(ProbeVerdict::More));
        }
        let is_apart = rest[length..].starts_with([' ', '\t', '\r', '\n', '(']);
        if !is_apart || !is_word(&rest[..length]) {
            return None;
        }
        self.phase = ProbePhase::Operand(OperandPlace::Inside(self.at));
        Some(None)
    }

    /// One word is an operand, if what follows it can follow a value, apply it or go on computing.
    pub(super) fn pass_operand(
        &mut self,
        place: OperandPlace,
        character: char,
        tail: &str,
    ) -> Option<ProbeVerdict> {
        let text = Some(ProbeVerdict::Data(Safety::Guess));
        let is_space = matches!(character, ' ' | '\t' | '\r' | '\n');
        let is_sign = u8::try_from(character).is_ok_and(is_operator);
        let ends = is_sign || matches!(character, ',' | ')' | ']' | '}' | '(' | '[');
        let next = match place {
            OperandPlace::Before | OperandPlace::Behind if is_space => place,
            OperandPlace::Before if matches!(character, '(' | '[') => return Some(ProbeVerdict::End),
            OperandPlace::Before if is_bare(character) => OperandPlace::Inside(self.at),
            // Operators of two signs, and signs before an operand.
            OperandPlace::Before if is_sign => place,
            OperandPlace::Inside(_) | OperandPlace::Word(_) if is_bare(character) => place,
            OperandPlace::Inside(start) if is_space => match is_word(&tail[start..self.at]) {
                true => OperandPlace::Before,
                false => OperandPlace::Behind,
            },
            // A string with letters before its quote.
            OperandPlace::Inside(start) if matches!(character, '"' | '\'') => {
                let letters = &tail[start..self.at];
                let is_prefix = letters.len() <= 2 && letters.bytes().all(|byte| b"fFrRbBuU".contains(&byte));
                return if is_prefix { Some(ProbeVerdict::End) } else { text };
            }
            OperandPlace::Inside(_) | OperandPlace::Behind if ends => return Some(ProbeVerdict::End),
            OperandPlace::Behind if is_bare(character) => OperandPlace::Word(self.at),
            OperandPlace::Word(start) if is_word(&tail[start..self.at]) => return Some(ProbeVerdict::End),
            _ => return text,
        };
        self.phase = ProbePhase::Operand(next);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_are_told_from_strings_that_are_joined() {
        for (content, expected) in [
            (r#"a\" or \"b"#, true),
            (r#"\" or \"b"#, true),
            (r#"a\" if x else \"b"#, true),
            (r#"a\"||\"b"#, true),
            (r#"a\" + x + \"b\" + \"c"#, true),
            (r#"say \"yes\" or \"no\""#, false),
            (r#"<a href=\"/x/\">"#, false),
            (r#"ls \"/\" -la"#, false),
            (r#"a 5\" or 6\" pipe"#, false),
            (r#"6\" - 8"#, false),
            (r#"x\" y \"z"#, false),
        ] {
            assert_eq!(is_computed(content, Style::Double), expected, "{content}");
        }
        assert!(is_computed("a' or 'b", Style::Single));
        assert!(!is_computed("don't and won't", Style::Single));
    }
}
