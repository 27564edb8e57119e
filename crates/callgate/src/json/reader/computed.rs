//! Computed values: code in the place of a value, which only a program could evaluate. It is refused, not taken for text.

use super::probe::{Probe, ProbePhase, ProbeVerdict, Setting, is_bare};
use super::quotes::Style;
use crate::json::repair::Safety;

/// How far an operand has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandPlace {
    Before,
    Inside,
    Behind,
}

/// Whether a string is computed with that which follows this byte.
pub(super) fn is_operator(byte: u8) -> bool {
    matches!(byte, b'+' | b'%' | b'.')
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
    const WORDS: [&str; 13] =
        ["or", "and", "if", "else", "not", "in", "is", "as", "xor", "like", "concat", "unless", "then"];
    let is_sign = |c: char| "+-*/%&|^=!<>?:.".contains(c);
    let is_spaced = between.starts_with(char::is_whitespace) && between.ends_with(char::is_whitespace);
    if !is_spaced {
        let touches = before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric);
        return touches && !between.is_empty() && between.chars().all(is_sign);
    }
    let is_operator =
        |word: &str| word.chars().all(is_sign) || WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
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
    pub(super) fn begin_operand(&mut self, character: char) -> Option<ProbeVerdict> {
        self.phase = ProbePhase::Operand(OperandPlace::Before);
        self.pass_operand(OperandPlace::Before, character)
    }

    /// One word is an operand, if what follows it can follow a value, apply it or go on computing.
    pub(super) fn pass_operand(&mut self, place: OperandPlace, character: char) -> Option<ProbeVerdict> {
        let next = match (place, character) {
            (OperandPlace::Before | OperandPlace::Behind, ' ' | '\t') => place,
            (OperandPlace::Inside, ' ' | '\t') => OperandPlace::Behind,
            (OperandPlace::Before | OperandPlace::Inside, _) if is_bare(character) => OperandPlace::Inside,
            (OperandPlace::Before, '(' | '[') => return Some(ProbeVerdict::End),
            (OperandPlace::Inside | OperandPlace::Behind, ',' | ')' | ']' | '}' | '(' | '[' | '+' | '%') => {
                return Some(ProbeVerdict::End);
            }
            _ => return Some(ProbeVerdict::Data(Safety::Guess)),
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
