//! What a value that is being read shows of its own format: markers in it may be its end, or that of the call.

use super::{Draft, DraftBody};
use crate::dialect::{Repeats, balance, turn};
use crate::finding::{Code, Finding, Span};

impl Draft {
    /// Whether the value that is being read ends with one of these markers, white space aside.
    pub(crate) fn value_ends_with(&self, markers: &[String], repeats: Repeats<'_>) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let Some(end) = params.value_end().filter(|end| end.ends_with(['>', ']'])) else { return false };
        markers.iter().any(|marker| end.ends_with(&self.filled(marker, repeats)))
    }

    /// A closer with what it repeats.
    pub(super) fn filled(&self, closer: &str, repeats: Repeats<'_>) -> String {
        repeats.fill(closer, self.name.as_deref().unwrap_or_default())
    }

    /// Whether one of these closers stands in the value that is being read.
    pub(crate) fn value_holds(&self, closers: &[String], repeats: Repeats<'_>) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        closers.iter().any(|closer| params.value_shows(&self.filled(closer, repeats)))
    }

    /// Whether tags of the value that is being read do not fit each other, so that its own closer, of which these are the
    /// spellings, may be another one. Where only words follow a closer in it, that is noted.
    pub(crate) fn value_is_unbalanced(
        &mut self,
        closers: &[String],
        repeats: Repeats<'_>,
        lacks_closer: bool,
        with_slips: bool,
        span: Span,
    ) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let value = params.value_so_far();
        if !lacks_closer && memchr::memchr2(b'<', b'>', value.as_bytes()).is_none() {
            return false;
        }
        let closers: Vec<String> = closers.iter().map(|closer| self.filled(closer, repeats)).collect();
        let is_loose = |closer: &String| {
            balance::reopens(&value, closer) || balance::leaves_open(&value, closer, with_slips)
        };
        if closers.iter().any(is_loose) || lacks_closer && balance::ends_in_stray_tag(&value, &closers) {
            return true;
        }
        if closers.iter().any(|closer| balance::unopened(&value, closer).is_some()) {
            let message = "a value holds the tag that ends it, and may be two values";
            let mut note = Finding::new(Code::StrayMarker).at(span).message(message);
            note.help = "If it is one value, nothing need be done; otherwise write each parameter between its own tags.".into();
            self.notes.push(note);
        }
        false
    }

    /// Whether the value that is being read is blank, and not by its type an object or a list without anything in it.
    pub(crate) fn holds_nothing(&mut self) -> bool {
        let DraftBody::Params(params) = &mut self.body else { return false };
        params.value_is_blank() && !params.is_container()
    }

    /// Whether one of these closers, or the start of one, stands in the value that is being read.
    pub(crate) fn value_shows(&self, closers: &[String], repeats: Repeats<'_>) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        closers.iter().any(|closer| {
            let closer = self.filled(closer, repeats);
            // Of a closer that was cut off, its first characters and a letter are left.
            let start = closer.char_indices().nth(3).map_or(closer.as_str(), |(at, _)| &closer[..at]);
            params.value_shows(start)
        })
    }

    /// Whether the value that is being read holds a token that ends the turn of the model.
    pub(crate) fn value_ends_turn(&self) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        turn::ENDS.iter().any(|turn| params.value_shows(turn.marker))
    }
}
