//! The shortcut over content: text inside of a string is copied in one go, and a quote that certainly ends the string
//! needs no look beyond it.

use super::levels::LevelKind;
use super::plain::token_at;
use super::probe::Probe;
use super::quotes::Style;
use super::{Reader, Syntax};
use crate::finding::Span;
use crate::json::text::plain_length;
use crate::shortcuts::Shortcut;

impl Reader {
    /// Takes the start of `text` as far as it is nothing but content of the open string, with most chunks of a stream
    /// that is all of it, and the quote after it if that certainly ends the string. Says how many bytes.
    pub(super) fn take_content(&mut self, text: &str) -> usize {
        if !self.is_in_plain_string() || self.probe.is_some() || !Shortcut::Content.is_on() {
            return 0;
        }
        let bytes = text.as_bytes();
        let mut taken = 0;
        loop {
            let plain = taken + plain_length(&bytes[taken..], b'"');
            self.output.text.push_str(&text[taken..plain]);
            taken = plain;
            let (Some(b'\\'), Some(next @ (b'b' | b'f' | b'n' | b'r' | b't' | b'"' | b'\\'))) =
                (bytes.get(plain), bytes.get(plain + 1))
            else {
                break;
            };
            self.note_escape(char::from(*next), Span::new(self.base + plain, self.base + plain + 2));
            taken += 2;
            self.output.text.push_str(&text[plain..taken]);
        }
        self.base += taken;
        if bytes.get(taken) != Some(&b'"') {
            return taken;
        }
        if self.ends_plainly(text, taken + 1) {
            self.close_plainly();
            taken += 1;
        } else if taken + 1 == text.len() && (!self.levels.is_empty() || self.grammar.document) {
            // Only the next chunk can say what the quote is.
            self.begin_look();
            self.window.push('"');
            taken += 1;
        }
        taken
    }

    /// Ends the open string with the quote that an earlier chunk of the input ended with, if it is clear from the next
    /// chunk that it does.
    pub(super) fn take_held_quote(&mut self, next: &str) {
        if self.window == "\"" && self.is_in_plain_string() && self.ends_plainly(next, 0) {
            self.window.clear();
            self.close_plainly();
        }
    }

    /// Whether what follows a quote in JSON shows already that it ends its string, so that no look is needed.
    pub(super) fn ends_plainly(&self, text: &str, from: usize) -> bool {
        let in_object = match self.level_kind() {
            Some(LevelKind::Brace) => true,
            Some(LevelKind::Bracket) => false,
            _ => return false,
        };
        let is_json = matches!(self.grammar.syntax, Syntax::Json | Syntax::Lines);
        // A look that has begun goes on, so that nothing is looked at again and again.
        let has_begun = self.probe.as_ref().is_some_and(Probe::has_begun);
        if has_begun || !is_json || self.grammar.quote.is_some() || !Shortcut::Content.is_on() {
            return false;
        }
        match &self.string {
            Some(open) if open.doubts.has_quotes() => false,
            Some(open) if open.key => token_at(text.as_bytes(), from).1 == b':',
            _ => self.ends_string(text, from, in_object),
        }
    }

    /// Ends the open string with the quote that comes next.
    fn close_plainly(&mut self) {
        self.settle_string(Span::new(self.base, self.base + 1));
        self.probe = None;
        self.close_string();
        self.base += 1;
    }

    /// Whether the next byte is inside of a string in double quotes.
    fn is_in_plain_string(&self) -> bool {
        self.string.as_ref().is_some_and(|open| open.style == Style::Double && !open.raw)
    }
}
