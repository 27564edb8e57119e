//! The shortcut over keyword arguments: names with plain values of Python are taken in one go.

use super::plain::{token_at, write_quoted};
use super::scalars::number_length;
use super::structure::Expects;
use super::{Cursor, Reader};
use crate::json::tape::Kind;
use crate::json::text::plain_length;

impl Reader {
    /// Takes plain keyword arguments from here on, each a name and a scalar. False if there is nothing that it could
    /// settle.
    pub(super) fn read_plain_keywords(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let text = cursor.text;
        let bytes = text.as_bytes();
        let start = cursor.at;
        let is_first = self.comma.is_some() || self.levels.last().is_some_and(|level| level.items == 0);
        let (first, byte) = token_at(bytes, start);
        let first = match byte {
            b',' if !is_first => after_space(bytes, first + 1),
            _ if is_first => first,
            _ => return false,
        };
        let mut keyword = plain_keyword(bytes, first).map(|equals| (first, equals));
        while let Some((at, equals)) = keyword {
            let Some((kind, spelling, end)) = plain_literal(text, equals + 1) else { break };
            if self.has_stop(&bytes[at..end]) {
                break;
            }
            // A value has ended where the arguments end or the next one begins.
            let (next, byte) = token_at(bytes, end);
            keyword = None;
            if byte == b',' {
                let at = after_space(bytes, next + 1);
                keyword = plain_keyword(bytes, at).map(|equals| (at, equals));
            }
            if byte != b')' && keyword.is_none() {
                break;
            }
            self.flush_gap();
            let out = &mut self.output.text;
            out.push_str(&text[cursor.at..at]);
            let key = out.len();
            write_quoted(out, &text[at..equals]);
            self.key = Some((key, out.len()));
            out.push(':');
            let value = out.len();
            match kind {
                Kind::String => write_quoted(out, spelling),
                _ => out.push_str(spelling),
            }
            let end_of_value = out.len();
            self.take_value(kind, value, end_of_value);
            self.expects = Expects::After;
            cursor.at = end;
        }
        cursor.at > start
    }
}

/// The place of the equals sign after the name at `at`, if a value can follow it.
fn plain_keyword(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at).filter(|byte| byte.is_ascii_alphabetic() || **byte == b'_')?;
    let name = bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let value = bytes.get(at + name + 1)?;
    let is_value = matches!(value, b'"' | b'\'' | b'-' | b'[' | b'{') || value.is_ascii_alphanumeric();
    (bytes[at + name] == b'=' && is_value).then_some(at + name)
}

/// The string, number or literal of Python at `at`: what it is in JSON, without quotes, and the place after it.
fn plain_literal(text: &str, at: usize) -> Option<(Kind, &str, usize)> {
    let bytes = text.as_bytes();
    let quote = match bytes.get(at)? {
        quote @ (b'"' | b'\'') => *quote,
        b'-' | b'0'..=b'9' => {
            let end = at + number_length(&bytes[at..])?;
            return is_separator(bytes.get(end)).then_some((Kind::Number, &text[at..end], end));
        }
        _ => {
            let literals =
                [("True", Kind::Bool, "true"), ("False", Kind::Bool, "false"), ("None", Kind::Null, "null")];
            let (word, kind, spelling) =
                literals.into_iter().find(|(word, ..)| text[at..].starts_with(word))?;
            let end = at + word.len();
            return is_separator(bytes.get(end)).then_some((kind, spelling, end));
        }
    };
    let content = at + 1;
    let end = content + plain_length(&bytes[content..], quote);
    // Three quotes in a row are another kind of string.
    let closes = bytes.get(end) == Some(&quote) && bytes.get(end + 1).is_some_and(|next| *next != quote);
    closes.then(|| (Kind::String, &text[content..end], end + 1))
}

/// Whether a number or literal of Python certainly ends before this.
fn is_separator(next: Option<&u8>) -> bool {
    matches!(next, Some(b',' | b')'))
}

/// The place of the first byte from `at` on that is no white space.
fn after_space(bytes: &[u8], at: usize) -> usize {
    token_at(bytes, at).0
}
