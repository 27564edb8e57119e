//! The shortcut over plain JSON: what is valid and complete in the text at hand is taken in one go.
//!
//! The careful steps of the reader look beyond each quote, because it may have been meant as data. Where a string is
//! followed by what follows strings in valid JSON, the look always ends in the same answer, so it is not needed: the
//! shortcut reads on for as long as that is so, and leaves everything else to the careful steps, from the first byte
//! that it could not settle. What it takes is written as it stands.

use super::scalars::number_length;
use super::strings::ends_like_path;
use super::structure::{Place, Shape};
use super::{Cursor, Reader, Syntax};
use crate::json::tape::Kind;
use crate::json::text::{code_unit, plain_length};

/// The most room that is made at once for keyword arguments, whose end is not known.
const ROOM: usize = 256;

impl Reader {
    /// Takes plain JSON from here on. False if there is nothing that it could settle.
    fn read_plain(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let text = cursor.text;
        let bytes = text.as_bytes();
        let start = cursor.at;
        // Where the start will stand in the output, once the gap has been written.
        let written = self.output.text.len() + self.gap.len();
        let out = |at: usize| written + (at - start);
        let mut after_comma = self.comma.is_some();
        let (mut settled, mut settled_place) = (start, self.place);
        let (mut at, mut place) = (settled, settled_place);
        loop {
            let shape = self.shape();
            if !matches!(shape, None | Some(Shape::Brace | Shape::Bracket)) {
                break;
            }
            at = after_space(bytes, at);
            let Some(byte) = bytes.get(at).copied() else { break };
            // What is settled by this byte, and what is expected after it.
            (settled, settled_place) = match (place, byte) {
                (Place::Colon, b':') => (at + 1, Place::Value),
                (Place::Key, b'"') => {
                    let Some(key) = self.plain_key(text, at) else { break };
                    self.take_key(key, out);
                    (key.colon + 1, Place::Value)
                }
                (Place::Value, b'{' | b'[') => {
                    if self.levels.len() >= self.grammar.max_depth {
                        break;
                    }
                    let (opened, kind, inside) = if byte == b'{' {
                        (Shape::Brace, Kind::Object, Place::Key)
                    } else {
                        (Shape::Bracket, Kind::Array, Place::Value)
                    };
                    let node = self.output.tape.open(kind, self.key.take(), out(at));
                    self.push_level(opened, node);
                    (at + 1, inside)
                }
                (Place::Value, b'"') if shape.is_some() => {
                    let Some((end, path)) = self.plain_string(text, at) else { break };
                    let Some(key) = self.settles_string(text, end, shape) else { break };
                    self.take_value(Kind::String, out(at), out(end));
                    self.backslashes.in_path |= path;
                    match key {
                        // The key that shows the end of the string is read along with it.
                        Some(key) => {
                            self.take_key(key, out);
                            (key.colon + 1, Place::Value)
                        }
                        None => (end, Place::After),
                    }
                }
                (Place::Value, b'-' | b'0'..=b'9' | b't' | b'f' | b'n') if shape.is_some() => {
                    let Some((kind, end)) = plain_scalar(bytes, at) else { break };
                    if bytes[at..end].iter().any(|byte| self.grammar.stops.has(*byte)) {
                        break;
                    }
                    self.take_value(kind, out(at), out(end));
                    (end, Place::After)
                }
                (Place::After, b',') if shape.is_some() => {
                    at += 1;
                    place = if shape == Some(Shape::Brace) { Place::Key } else { Place::Value };
                    after_comma = true;
                    continue;
                }
                (Place::After | Place::Key, b'}') | (Place::After | Place::Value, b']')
                    if shape.map(Shape::closer) == Some(byte) && !after_comma =>
                {
                    let Some(level) = self.pop_level() else { break };
                    self.output.tape.close(level.node(), out(at + 1));
                    self.count_value();
                    (at + 1, Place::After)
                }
                _ => break,
            };
            (at, place) = (settled, settled_place);
            after_comma = false;
            if self.levels.is_empty() {
                break;
            }
        }
        if settled == start {
            return false;
        }
        self.flush_gap();
        self.output.text.push_str(&text[start..settled]);
        cursor.at = settled;
        self.place = settled_place;
        if self.levels.is_empty() {
            self.value_done();
        }
        true
    }

    /// Takes plain keyword arguments from here on, each a name and a scalar. False if there is nothing that it could
    /// settle.
    fn read_plain_keywords(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let text = cursor.text;
        let bytes = text.as_bytes();
        let start = cursor.at;
        self.output.text.reserve((bytes.len() - start).min(ROOM));
        let mut after_comma =
            self.comma.is_some() || self.levels.last().is_some_and(|level| level.items == 0);
        loop {
            let mut at = after_space(bytes, cursor.at);
            if !after_comma {
                if bytes.get(at) != Some(&b',') {
                    break;
                }
                at = after_space(bytes, at + 1);
            }
            let Some(equals) = plain_keyword(bytes, at) else { break };
            let Some((kind, spelling, end)) = plain_literal(text, equals + 1) else { break };
            if bytes[at..end].iter().any(|byte| self.grammar.stops.has(*byte)) {
                break;
            }
            let next = after_space(bytes, end);
            let ends = match bytes.get(next) {
                Some(b')') => true,
                Some(b',') => plain_keyword(bytes, after_space(bytes, next + 1)).is_some(),
                _ => false,
            };
            if !ends {
                break;
            }
            self.flush_gap();
            self.output.text.push_str(&text[cursor.at..at]);
            let key = self.output.text.len();
            self.write_quoted(&text[at..equals]);
            self.key = Some((key, self.output.text.len()));
            self.output.text.push(':');
            let node = self.output.open(kind, self.key.take());
            if kind == Kind::String {
                self.write_quoted(spelling);
            } else {
                self.output.text.push_str(spelling);
            }
            self.output.close(node);
            self.count_value();
            self.place = Place::After;
            cursor.at = end;
            after_comma = false;
        }
        cursor.at > start
    }

    /// Writes a string that needs no escapes.
    fn write_quoted(&mut self, text: &str) {
        self.output.text.push('"');
        self.output.text.push_str(text);
        self.output.text.push('"');
    }

    /// Takes what is plain from here on, where that may be tried. False if there is nothing that could be settled.
    pub(super) fn take_plain(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let is_between = self.string.is_none()
            && self.failure.is_none()
            && self.comment.is_none()
            && self.scan.is_fresh()
            && self.grammar.quote.is_none();
        let place = self.place;
        is_between
            && match self.grammar.syntax {
                Syntax::Json | Syntax::Lines => {
                    matches!(place, Place::Value | Place::Key | Place::Colon | Place::After)
                        && self.read_plain(cursor)
                }
                Syntax::Kwargs => {
                    matches!(place, Place::Key | Place::After)
                        && self.shape() == Some(Shape::Kwargs)
                        && self.read_plain_keywords(cursor)
                }
                Syntax::Python | Syntax::Bare => false,
            }
    }

    /// A string without anything odd in it, whose opening quote is at `at`: the place after its closing quote, and
    /// whether it may hold a path with backslashes.
    fn plain_string(&self, text: &str, at: usize) -> Option<(usize, bool)> {
        let bytes = text.as_bytes();
        let content = at + 1;
        let mut end = content;
        let mut path = false;
        loop {
            end += plain_length(&bytes[end..], b'"');
            match (bytes.get(end)?, bytes.get(end + 1)) {
                (b'"', _) => break,
                (b'\\', Some(b'"' | b'\\' | b'/')) => end += 2,
                (b'\\', Some(b'b' | b'f' | b'n' | b'r' | b't')) => {
                    path = path || ends_like_path(&text[content..end]);
                    end += 2;
                }
                (b'\\', Some(b'u')) => {
                    char::from_u32(code_unit(bytes, end + 2)?)?;
                    end += 6;
                }
                _ => return None,
            }
        }
        if path && self.backslashes.kept {
            return None;
        }
        Some((end + 1, path))
    }

    /// The key whose opening quote is at `at`, if its colon follows.
    fn plain_key(&self, text: &str, at: usize) -> Option<PlainKey> {
        let (end, path) = self.plain_string(text, at)?;
        let colon = after_space(text.as_bytes(), end);
        (text.as_bytes().get(colon) == Some(&b':')).then_some(PlainKey { start: at, end, colon, path })
    }

    /// Whether what follows the string that ends at `end` shows that it ends there. In an object that takes the next
    /// key, which comes back.
    fn settles_string(&self, text: &str, end: usize, shape: Option<Shape>) -> Option<Option<PlainKey>> {
        let bytes = text.as_bytes();
        let next = after_space(bytes, end);
        match (bytes.get(next)?, shape?) {
            (b'}', Shape::Brace) | (b']', Shape::Bracket) => Some(None),
            (b',', Shape::Brace) => {
                let quote = after_space(bytes, next + 1);
                bytes.get(quote).filter(|byte| **byte == b'"')?;
                Some(Some(self.plain_key(text, quote)?))
            }
            (b',', Shape::Bracket) => {
                let item = after_space(bytes, next + 1);
                // Three quotes are told from one only where three bytes are there.
                let opens = matches!(bytes.get(item)?, b'{' | b'[' | b'"') && bytes.len() - item >= 3;
                opens.then_some(None)
            }
            _ => None,
        }
    }

    /// Takes a key with its colon; `out` says where its place in the text stands in the output.
    fn take_key(&mut self, key: PlainKey, out: impl Fn(usize) -> usize) {
        self.key = Some((out(key.start), out(key.end)));
        self.backslashes.in_path |= key.path;
    }

    /// Takes a string or scalar that stands here in the output.
    fn take_value(&mut self, kind: Kind, start: usize, end: usize) {
        let node = self.output.tape.open(kind, self.key.take(), start);
        self.output.tape.close(node, end);
        self.count_value();
    }

    /// The innermost open bracket holds one more value.
    fn count_value(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.items += 1;
        }
    }
}

/// A key and its colon.
#[derive(Clone, Copy, Debug)]
struct PlainKey {
    /// The place of its opening quote.
    start: usize,
    /// The place after its closing quote.
    end: usize,
    colon: usize,
    path: bool,
}

/// The place of the first byte from `at` on that is no white space.
fn after_space(bytes: &[u8], at: usize) -> usize {
    let space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    let mut at = at;
    while bytes.get(at).is_some_and(space) {
        at += 1;
    }
    at
}

/// The number or literal at `at`, if what follows it can only follow a value.
fn plain_scalar(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
    let (kind, end) = match bytes[at] {
        b't' if bytes[at..].starts_with(b"true") => (Kind::Bool, at + 4),
        b'f' if bytes[at..].starts_with(b"false") => (Kind::Bool, at + 5),
        b'n' if bytes[at..].starts_with(b"null") => (Kind::Null, at + 4),
        b't' | b'f' | b'n' => return None,
        _ => (Kind::Number, at + number_length(&bytes[at..])?),
    };
    let mut next = end;
    while matches!(bytes.get(next), Some(b' ' | b'\t')) {
        next += 1;
    }
    matches!(bytes.get(next), Some(b',' | b'}' | b']' | b'\n' | b'\r')).then_some((kind, end))
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
