//! Passing: how far a look beyond a quote goes, and what it goes past at once.

use super::probe::{Probe, ProbePhase, ProbeVerdict, Setting};
use super::quotes::{Opening, Style};
use crate::json::repair::Safety;
use crate::json::text::plain_length;

/// How far a look goes. Beyond it, the reading that valid text would have is taken.
const LIMIT: usize = 4096;

/// How far a look goes where looks have gone past far more than there is: quotes without end, each looked beyond.
const SHORT: usize = 64;

/// How often looks may go past each byte of the input before they become short.
const OFTEN: usize = 16;

/// Whether looks that have gone past so many bytes before this place have gone past each of them too often.
pub(super) fn is_often(looks: usize, at: usize) -> bool {
    looks > OFTEN * at + 4 * LIMIT
}

/// How far a comment between two strings has been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlusComment {
    /// Behind its first slash.
    Slash,
    Line,
    Block,
    /// Behind a star in a block.
    Star,
}

impl Probe {
    /// Says where the look begins, and how many bytes looks have gone past until then.
    pub(super) fn begin(&mut self, looks: usize, at: usize) {
        self.limit.get_or_insert(if is_often(looks, at) { SHORT } else { LIMIT });
    }

    /// How far it goes at most.
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(LIMIT)
    }

    /// Goes past what can only be content of another string, as far as a look goes.
    pub(super) fn skip_content(&mut self, tail: &str) {
        if let Some(quote) = self.inside_quotes()
            && let Some(content) = tail.as_bytes().get(self.at..self.limit().min(tail.len()))
        {
            self.at += plain_length(content, quote);
            while !tail.is_char_boundary(self.at) {
                self.at += 1;
            }
        }
    }

    /// Goes past one character of a comment that stands between a plus sign and the string that it joins.
    pub(super) fn pass_plus_comment(&mut self, place: PlusComment, character: char) -> Option<ProbeVerdict> {
        let next = match (place, character) {
            (PlusComment::Slash, '/') => PlusComment::Line,
            (PlusComment::Slash, '*') => PlusComment::Block,
            (PlusComment::Slash, _) => return Some(ProbeVerdict::Data(Safety::Guess)),
            (PlusComment::Line, '\n') | (PlusComment::Star, '/') => {
                self.phase = ProbePhase::AfterPlus;
                return None;
            }
            (PlusComment::Line, _) => PlusComment::Line,
            (PlusComment::Block | PlusComment::Star, '*') => PlusComment::Star,
            (PlusComment::Block | PlusComment::Star, _) => PlusComment::Block,
        };
        self.phase = ProbePhase::PlusComment(next);
        None
    }

    /// Starts to look at another string, if one opens here: `Some` is what to do about it.
    pub(super) fn open_second(
        &mut self,
        tail: &str,
        setting: &Setting<'_>,
        after_comma: bool,
    ) -> Option<Option<ProbeVerdict>> {
        match setting.grammar.opening(&tail[self.at..], setting.last) {
            Opening::Quote(Style::Private | Style::Escaped | Style::Entity | Style::Triple(_), _) => {
                Some(Some(ProbeVerdict::End))
            }
            Opening::Quote(style, _) => {
                self.second = Some((self.at, style));
                self.phase = ProbePhase::Quoted { after_comma };
                Some(None)
            }
            Opening::More => Some(Some(ProbeVerdict::More)),
            Opening::None => None,
        }
    }

    /// Goes past the next chunk of the input, if all of it can only be content of another string.
    pub(super) fn passes_over(&mut self, text: &str) -> bool {
        let passes = self.limit.is_some_and(|limit| self.at + text.len() <= limit)
            && self.inside_quotes().is_some_and(|quote| plain_length(text.as_bytes(), quote) == text.len());
        if passes {
            self.at += text.len();
        }
        passes
    }

    /// What may end the other string that the look is inside of, unless what comes next is escaped.
    fn inside_quotes(&self) -> Option<u8> {
        match (self.phase, self.second) {
            _ if self.escaped => None,
            (ProbePhase::Quoted { .. } | ProbePhase::Own, Some((_, Style::Double))) => Some(b'"'),
            (ProbePhase::Quoted { .. } | ProbePhase::Own, Some((_, Style::Single))) => Some(b'\''),
            _ => None,
        }
    }
}
