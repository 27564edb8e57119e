//! Computed values: code in the place of a value, which only a program could evaluate. It is refused, not taken for text.

use super::levels::LevelKind;
use super::probe::{Probe, ProbePhase, ProbeVerdict, Setting};
use super::quotes::Style;
use super::unquoted::is_bare;
use super::{Advance, Cursor, Reader};
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

/// The words with which code goes on behind a value.
const KEYWORDS: [&str; 9] = ["or", "and", "if", "else", "not", "in", "is", "for", "async"];

/// The words with which code begins that has a value.
const BEGINNINGS: [&str; 5] = ["lambda", "not", "await", "yield", "..."];

/// What is said about code in the place of a value.
const MESSAGE: &str = "the value is computed here: write the value itself";

/// Whether an operand follows this word.
fn begins_operand(word: &str) -> bool {
    is_word(word) || BEGINNINGS.contains(&word)
}

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
    let begins = between.starts_with(char::is_whitespace) || before.ends_with(char::is_alphanumeric);
    let ends = between.ends_with(char::is_whitespace) || after.starts_with(char::is_alphanumeric);
    let word = between.trim_start();
    if begins && after.contains('{') && is_prefix(word) && word.contains(['f', 'F']) {
        return true;
    }
    if !(begins && ends) {
        return false;
    }
    if between.starts_with(is_sign) && between.ends_with(is_sign) {
        return true;
    }
    let is_operator = |word: &str| word.chars().all(is_sign) || is_word(word);
    let mut words = between.split_whitespace();
    let first = words.next();
    first.is_some_and(is_operator) && words.next_back().or(first).is_some_and(is_operator)
}

/// Whether letters before a quote belong to the string.
fn is_prefix(letters: &str) -> bool {
    letters.len() <= 2 && letters.bytes().all(|byte| b"fFrRbBuUtT".contains(&byte))
}

/// The length of the backslash and line break with which code goes on in its next line, or zero; nothing if more has to be seen.
pub(super) fn continuation(rest: &str, last: bool) -> Option<usize> {
    match rest.as_bytes() {
        [b'\\', b'\n', ..] => Some(2),
        [b'\\', b'\r', b'\n', ..] => Some(3),
        [b'\\'] | [b'\\', b'\r'] if !last => None,
        _ => Some(0),
    }
}

/// Whether code goes on here with the value before it, which only a program knows then; nothing if more has to be seen.
pub(super) fn goes_on(rest: &str, last: bool) -> Option<bool> {
    let mut bytes = rest.bytes();
    let (first, next) = (bytes.next(), bytes.next());
    let is_next = |test: fn(u8) -> bool| next.map_or(last.then_some(false), |byte| Some(test(byte)));
    match first {
        None => last.then_some(false),
        Some(b'+' | b'-' | b'*' | b'%' | b'@' | b'&' | b'|' | b'^' | b'<' | b'>' | b'[') => Some(true),
        Some(b'=' | b'!') => is_next(|byte| byte == b'='),
        // Code has no such comment, so nothing else is meant by one.
        Some(b'/') => is_next(|byte| byte != b'*'),
        Some(b'.') => is_next(|byte| byte.is_ascii_alphabetic() || byte == b'_'),
        Some(byte) if byte.is_ascii_alphabetic() => goes_on_in_words(rest, last),
        Some(_) => Some(false),
    }
}

/// The same where letters stand: an operator, or those before a string.
fn goes_on_in_words(rest: &str, last: bool) -> Option<bool> {
    let length = rest.bytes().take(LONGEST_WORD + 1).take_while(u8::is_ascii_alphabetic).count();
    looked(length);
    let word = &rest[..length];
    match rest[length..].chars().next() {
        None if !last && (is_prefix(word) || KEYWORDS.iter().any(|known| known.starts_with(word))) => None,
        Some('"' | '\'') if is_prefix(word) => Some(true),
        Some(next) if is_bare(next) || matches!(next, '=' | ':') => Some(false),
        _ => Some(KEYWORDS.contains(&word)),
    }
}

/// Whether a word without quotes is a number that JSON does not have, or code: signs between names and numbers. What joins
/// names to a path, an address or another name is text.
fn is_arithmetic(word: &str) -> bool {
    let is_sign = |c: char| "+*%&|^<>".contains(c);
    let is_joint = |c: char| is_sign(c) || matches!(c, '-' | '@');
    let first = word.split(is_joint).next().unwrap_or_default();
    if first.is_empty() || word.ends_with(is_joint) {
        return false;
    }
    let is_value = is_number(first) || matches!(first, "True" | "False" | "None");
    let has_sign = word.contains(is_sign) || is_value && word.contains(['-', '@']);
    let is_name = |piece: &str| piece.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let is_operand = |piece: &str| is_number(piece) || has_sign && is_name(piece);
    word.split(is_joint).all(is_operand)
}

/// Whether this is a number as Python writes it, without a sign.
fn is_number(word: &str) -> bool {
    let digits = word.strip_suffix(['j', 'J']).unwrap_or(word);
    let (whole, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let has_digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let (before, behind) = whole.split_once('.').unwrap_or((whole, ""));
    // Zeros stand before no other whole number.
    let is_old = digits == word
        && whole == before
        && whole.starts_with('0')
        && whole.contains(|c| matches!(c, '1'..='9'));
    has_digit(whole)
        && has_digit(exponent)
        && is_digits(before)
        && is_digits(behind)
        && is_digits(exponent)
        && !is_old
}

impl Reader {
    /// Whether values are written as code, of which only values are taken.
    pub(super) fn reads_code(&self) -> bool {
        self.grammar.python() && !self.grammar.restores
    }

    /// Refuses code that goes on behind the value that was read last: `Some` is what to do then.
    pub(super) fn refuse_code(&mut self, cursor: &Cursor<'_>) -> Option<Advance> {
        if !self.reads_code() {
            return None;
        }
        let is_string = self.output.text.ends_with('"');
        let is_beside = match cursor.byte() {
            // Code joins strings that stand side by side. Where none was joined, something stands between them.
            Some(b'"' | b'\'') => is_string && (self.in_sequence() || self.gap.is_empty()),
            _ => false,
        };
        match goes_on(cursor.rest(), cursor.last) {
            None => Some(Advance::More),
            Some(is_code) if is_code || is_beside => Some(self.reject(cursor, MESSAGE)),
            Some(_) => None,
        }
    }

    /// Refuses code that goes on behind a key: `Some` is what to do then.
    pub(super) fn refuse_code_for_key(&mut self, cursor: &Cursor<'_>) -> Option<Advance> {
        if self.level_kind() == Some(LevelKind::Brace)
            && self.reads_code()
            && matches!(cursor.byte(), Some(b'"' | b'\''))
        {
            return Some(self.reject(cursor, MESSAGE));
        }
        self.refuse_code(cursor)
    }

    /// Refuses a word without quotes with which code begins, and behind which something stands at `next`: `Some` is what to do then.
    pub(super) fn refuse_word(&mut self, cursor: &Cursor<'_>, len: usize, next: usize) -> Option<Advance> {
        if !self.reads_code() {
            return None;
        }
        let word = &cursor.rest()[..len];
        looked(len);
        let rest = &cursor.text[next..];
        let is_signed = word.starts_with(['~', '*', '-', '+']);
        // Without white space around it, a slash is that of a path.
        let is_path = next == cursor.at + len && rest.starts_with('/') && !rest.starts_with("//");
        let is_sign = |c: char| "+*%&|^<>@".contains(c);
        let is_operand = |c: char| is_bare(c) || matches!(c, '=' | '"' | '\'' | '[' | '{' | '~');
        let is_unequal = word.ends_with('!') && rest.starts_with('=');
        let joins = is_unequal || word.ends_with(is_sign) && rest.starts_with(is_operand);
        let begins =
            joins || BEGINNINGS.contains(&word) || is_signed || is_arithmetic(word) || rest.starts_with('(');
        if begins || KEYWORDS.iter().any(|known| word.strip_suffix(known).is_some_and(is_number)) {
            return Some(self.reject(cursor, MESSAGE));
        }
        if len == 0 || is_path && (rest.len() > 1 || cursor.last) {
            return None;
        }
        match (goes_on(rest, cursor.last), continuation(rest, cursor.last)) {
            (None, _) | (_, None) => Some(Advance::More),
            (Some(false), Some(0)) => None,
            _ => Some(self.reject(cursor, MESSAGE)),
        }
    }

    /// Whether a key without quotes is code.
    pub(super) fn is_code_key(&self, key: &str) -> bool {
        let is_sign = |c: char| c.is_whitespace() || "+*/%&|^<>~".contains(c);
        let is_brace = self.level_kind() == Some(LevelKind::Brace);
        self.reads_code() && is_brace && (key.contains(is_sign) || BEGINNINGS.contains(&key))
    }
}

impl Probe {
    /// Looks at what follows a string in code: `Some` is what to do about it.
    pub(super) fn pass_code(
        &mut self,
        character: char,
        tail: &str,
        setting: &Setting<'_>,
    ) -> Option<Option<ProbeVerdict>> {
        if !setting.grammar.python() || !self.may_compute(setting) {
            return None;
        }
        if let Some(step) = self.begin_word(tail, setting.last) {
            return Some(step);
        }
        let next = tail.as_bytes().get(self.at + 1);
        let is_sign = u8::try_from(character).is_ok_and(is_operator);
        match character {
            // Strings that touch each other, and a comment that touches one, are refused where they stand.
            '"' | '\'' | '#' if !self.spaced => return Some(Some(ProbeVerdict::End)),
            '[' => return Some(Some(ProbeVerdict::End)),
            '/' if next.is_none() && !setting.last => return Some(Some(ProbeVerdict::More)),
            '/' if next == Some(&b'/') => return Some(Some(ProbeVerdict::End)),
            '/' if next == Some(&b'*') => return None,
            '/' => {}
            '+' => return None,
            _ if is_sign => {}
            _ => return None,
        }
        self.phase = ProbePhase::Operand(OperandPlace::Before);
        Some(None)
    }

    /// Whether code goes on behind a string beside this one, so that they are joined.
    pub(super) fn joins_in_code(&self, tail: &str, setting: &Setting<'_>) -> Option<bool> {
        if !setting.grammar.python() || !self.may_compute(setting) {
            return Some(false);
        }
        let rest = &tail[self.at..];
        if rest.starts_with(['#', '"', '\'']) {
            return Some(true);
        }
        goes_on(rest, setting.last)
    }

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
        let length = rest.bytes().take(LONGEST_WORD + 1).take_while(u8::is_ascii_alphabetic).count();
        looked(length);
        if length == rest.len() && !last {
            let may_be = WORDS
                .iter()
                .any(|word| word.get(..length).is_some_and(|start| start.eq_ignore_ascii_case(rest)));
            return (may_be || is_prefix(rest)).then_some(Some(ProbeVerdict::More));
        }
        let behind = &rest[length..];
        if length > 0 && behind.starts_with(['"', '\'']) && is_prefix(&rest[..length]) {
            return Some(Some(ProbeVerdict::End));
        }
        let is_apart =
            behind.starts_with([' ', '\t', '\r', '\n', '(', '"', '\'', '[', '{', '\\', '-', '~', '#']);
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
        // A backslash before a line break goes on in the next line.
        let is_space = matches!(character, ' ' | '\t' | '\r' | '\n' | '\\');
        let is_sign = u8::try_from(character).is_ok_and(is_operator);
        // A path may stand in quotes, behind which a string goes on: `<a href="/x/">`.
        let is_path = matches!(character, '/' | '"' | '\'') && tail.starts_with('/');
        let ends = is_sign
            || character == '/' && !is_path
            || matches!(character, ',' | ')' | ']' | '}' | '(' | '[' | '#');
        let next = match place {
            OperandPlace::Before | OperandPlace::Behind if is_space => place,
            OperandPlace::Before if matches!(character, '(' | '[' | '{' | '#') => {
                return Some(ProbeVerdict::End);
            }
            OperandPlace::Before if matches!(character, '"' | '\'') && !is_path => {
                return Some(ProbeVerdict::End);
            }
            OperandPlace::Before if is_bare(character) => OperandPlace::Inside(self.at),
            // Operators of two signs, and signs before an operand.
            OperandPlace::Before if is_sign || character == '~' => place,
            OperandPlace::Inside(_) | OperandPlace::Word(_) if is_bare(character) => place,
            OperandPlace::Inside(start) if is_space => match begins_operand(&tail[start..self.at]) {
                true => OperandPlace::Before,
                false => OperandPlace::Behind,
            },
            // A string with letters before its quote.
            OperandPlace::Inside(start) if matches!(character, '"' | '\'') => {
                let letters = &tail[start..self.at];
                return if is_prefix(letters) || is_word(letters) { Some(ProbeVerdict::End) } else { text };
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
            (r#"a\"or \"b"#, true),
            (r#"a\" or\"b"#, true),
            (r#"a\"+x+\"b"#, true),
            (r#"a\"f\"{x}"#, true),
            (r#"\" rf\"{x}"#, true),
            (r#"press \"f\" {x}"#, false),
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
