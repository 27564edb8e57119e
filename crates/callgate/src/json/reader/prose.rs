//! Prose around a value: where it ends, because a value or a fence begins.

use super::scalars::is_scalar;
use super::{Cursor, Reader};
use crate::json::meter::looked;

impl Reader {
    /// Goes to what ends prose: a bracket that begins a value, or a fence. There is none if the cursor is at the end then;
    /// `None` if more input decides.
    pub(super) fn leave_prose(&mut self, cursor: &mut Cursor<'_>) -> Option<bool> {
        let candidate = |byte: u8| matches!(byte, b'{' | b'[' | b'`' | b'~');
        loop {
            let found = cursor.rest().bytes().position(candidate);
            let skipped = &cursor.rest()[..found.unwrap_or(cursor.rest().len())];
            looked(skipped.len());
            let before = skipped.trim_end_matches([' ', '\t']).bytes().last();
            self.around.before = before.unwrap_or(self.around.before);
            cursor.at += skipped.len();
            let begins = match cursor.byte() {
                None => return Some(false),
                Some(b'{') => object_here(cursor)?,
                Some(b'[') if self.grammar.restores => array_here(cursor, self.around.before)?,
                Some(b'[') => array_here(cursor, 0)?,
                Some(_) => fence_here(cursor)?,
            };
            if begins {
                return Some(true);
            }
            self.around.before = 0;
            cursor.at += 1;
        }
    }

    /// Goes to what ends prose behind a value, where a fence counts only if another value stands in it.
    pub(super) fn leave_prose_behind(&mut self, cursor: &mut Cursor<'_>) -> Option<bool> {
        const FENCE: usize = 3;
        const LONGEST_WORD: usize = 64;
        while self.leave_prose(cursor)? {
            if !matches!(cursor.byte(), Some(b'`' | b'~')) {
                return Some(true);
            }
            let inside = cursor.rest().bytes().skip(FENCE).take(LONGEST_WORD);
            let word = inside.take_while(u8::is_ascii_alphanumeric).count();
            looked(word);
            if matches!(self.next_token(cursor, FENCE + word)?, b'{' | b'[') {
                return Some(true);
            }
            cursor.at += FENCE;
        }
        Some(false)
    }
}

/// Whether a bracket in prose opens an array: its content looks like one. `None` if more input decides.
fn array_here(cursor: &Cursor<'_>, before: u8) -> Option<bool> {
    const LONGEST_ITEM: usize = 64;
    let inside = cursor.rest().as_bytes().get(1..).unwrap_or_default();
    match inside.first() {
        None if !cursor.last => None,
        Some(b'{' | b'[' | b'"' | b'\'' | b'\n' | b'\r' | b' ') => Some(true),
        // Plain values are a list where one is announced or a line begins; elsewhere they are a reference.
        Some(b'-' | b'0'..=b'9' | b't' | b'f' | b'n') if matches!(before, b':' | b'\n') => {
            let part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
            let item = inside.iter().take(LONGEST_ITEM).take_while(part).count();
            looked(item);
            match inside.get(item) {
                None if !cursor.last => None,
                next => Some(next == Some(&b',') && is_scalar(&cursor.rest()[1..=item])),
            }
        }
        _ => Some(false),
    }
}

/// Whether a brace in prose opens an object and no placeholder such as `{name}`; `None` if more input decides.
fn object_here(cursor: &Cursor<'_>) -> Option<bool> {
    const LONGEST_NAME: usize = 64;
    let inside = cursor.rest().as_bytes().get(1..).unwrap_or_default();
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ');
    let name = inside.iter().take(LONGEST_NAME).take_while(part).count();
    match inside.get(name) {
        None if !cursor.last => None,
        Some(b'}') => Some(name == 0 || inside[..name].iter().all(|byte| *byte == b' ')),
        _ => Some(true),
    }
}

/// Whether a fence stands here; `None` if more input decides.
pub(super) fn fence_here(cursor: &Cursor<'_>) -> Option<bool> {
    let rest = cursor.rest().as_bytes();
    let same = rest.iter().take(3).take_while(|byte| **byte == rest[0]).count();
    if same == 3 || same < rest.len() || cursor.last { Some(same == 3) } else { None }
}
