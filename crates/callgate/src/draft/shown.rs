//! What a value that is being read shows of its own format: markers in it may be its end, or that of the call.

use std::borrow::Cow;

use super::{Draft, DraftBody};
use crate::bytes::{holds, places_of};
use crate::dialect::call_markers::is_call_marker;
use crate::dialect::{Repeats, balance, turn};
use crate::finding::{Code, Finding, Span};

/// How character data of XML begins, and how it ends.
const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";

/// What calls and parameters of a format begin with, as text and as strings of JSON show it, where values are text.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnHeads {
    /// Of parameters, up to their key.
    pub(crate) params: Vec<String>,
    /// What stands between keys and values, where that closes and opens tags.
    pub(crate) middles: Vec<String>,
    /// Of sections and calls, up to their parameters.
    pub(crate) calls: Vec<String>,
    /// Whether calls begin with a tag that has the name of the tool.
    pub(crate) named: bool,
    /// What closes calls and what is around them, one by one.
    pub(crate) ends: Vec<String>,
}

impl Draft {
    /// Whether the value that is being read ends with one of these markers, white space aside.
    pub(crate) fn value_ends_with(&self, markers: &[String], repeats: Repeats<'_>) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let Some(end) = params.value_end().filter(|end| end.ends_with(['>', ']'])) else { return false };
        markers.iter().any(|marker| end.ends_with(&*self.filled(marker, repeats)))
    }

    /// Whether the value that is being read ends in the middle of one of these closers.
    pub(crate) fn value_ends_in_start(&self, closers: &[Cow<'_, str>]) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let value = params.value_so_far();
        let value = value.trim_end();
        closers.iter().any(|closer| {
            let starts = closer.char_indices().skip(1).map(|(at, _)| &closer[..at]);
            starts.map(str::trim).any(|start| start.starts_with(['<', '[', ']']) && value.ends_with(start))
        })
    }

    /// Whether the value that is being read ends with one of these markers, which close calls, and nothing in it opens what
    /// that would close.
    pub(crate) fn value_ends_call(&self, markers: &[String], repeats: Repeats<'_>) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let value = params.value_so_far();
        let mut markers = markers.iter().map(|marker| self.filled(marker, repeats));
        value.ends_with(['>', ']'])
            && markers.any(|marker| value.ends_with(&*marker) && !balance::is_opened(&value, &marker))
    }

    /// Whether the value that is being read shows how a call of its own format begins, and opens more parameters than it closes:
    /// its closer may be one of theirs. Where it only opens a parameter, that is noted.
    pub(crate) fn value_shows_call(
        &mut self,
        heads: &OwnHeads,
        closers: &[Cow<'_, str>],
        span: Span,
        knows: impl Fn(&str) -> bool,
    ) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let value = params.value_so_far();
        let opened = heads.params.iter().map(|mark| places_of(&value, mark).count()).max();
        let leaves_head = opened > closers.iter().map(|mark| places_of(&value, mark).count()).max();
        if !leaves_head && !closers.iter().any(|closer| balance::leaves_open(&value, closer, true)) {
            return false;
        }
        // A parameter at the very start of a value is no data that somebody shows.
        let begins = || heads.params.iter().any(|head| value.trim_start().starts_with(head.as_str()));
        if leaves_head && begins()
            || heads.calls.iter().any(|head| holds(&value, head))
            || heads.named && balance::opens_any(&value, knows)
        {
            return true;
        }
        if leaves_head {
            self.note_stray("a value opens a parameter of its own format, and may be two values", span);
        }
        false
    }

    /// Whether the value that is being read, whose closer is missing, holds what a value does not go on behind: the end of
    /// a turn, or a marker of calls of any family.
    pub(crate) fn value_swallows(&self) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let value = params.value_so_far();
        let mut markers = memchr::memchr2_iter(b'<', b'[', value.as_bytes());
        turn::is_over_in(&value)
            || balance::opens_any(&value, turn::names_call)
            || markers.any(|at| is_call_marker(&value[at..]))
    }

    fn note_stray(&mut self, message: &'static str, span: Span) {
        let mut note = Finding::new(Code::StrayMarker).at(span).message(message);
        note.help =
            "If it is one value, nothing need be done; otherwise write each parameter between its own tags."
                .into();
        self.notes.push(note);
    }

    /// A closer with what it repeats.
    pub(crate) fn filled<'c>(&self, closer: &'c str, repeats: Repeats<'_>) -> Cow<'c, str> {
        repeats.fill(closer, self.name.as_deref().unwrap_or_default())
    }

    /// Whether the value that is being read shows nothing of its own markup, which most do not: neither one of its closers nor
    /// what they would close.
    pub(crate) fn value_shows_nothing(&self, closers: &[Cow<'_, str>], heads: &OwnHeads) -> bool {
        let DraftBody::Params(params) = &self.body else { return true };
        let value = params.value_so_far();
        memchr::memchr2(b'<', b'>', value.as_bytes()).is_none()
            && heads.params.iter().all(|head| head.contains('<'))
            || balance::shows_nothing(&value, closers, &heads.params)
    }

    /// Whether the value that is being read begins as character data of XML does and does not end so: a marker in it is data.
    pub(crate) fn value_cuts_data(&self) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let value = params.value_so_far();
        value.trim_start().starts_with(CDATA) && !holds(&value, CDATA_END)
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
        closers: &[Cow<'_, str>],
        (lacks_closer, with_slips): (bool, bool),
        heads: &OwnHeads,
        span: Span,
    ) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        let value = params.value_so_far();
        let is_loose = |closer: &Cow<'_, str>| {
            balance::reopens(&value, closer, &heads.params)
                || balance::leaves_open(&value, closer, with_slips)
        };
        // The middle of a parameter that never began: its start was bent, and the end of the value before it.
        let params = heads.params.iter().map(|mark| places_of(&value, mark).count()).max();
        let middles = heads.middles.iter().map(|middle| middles_in(&value, middle)).max();
        if middles > params {
            return true;
        }
        if closers.iter().any(is_loose) || lacks_closer && balance::ends_in_stray_tag(&value, closers) {
            return true;
        }
        if closers.iter().any(|closer| balance::unopened(&value, closer, &heads.params).is_some()) {
            // It may be the one that an earlier value lacks, which was cut where it shows a parameter.
            if lacks_closer || self.lacks_closer_of_value() {
                return true;
            }
            self.note_stray("a value holds the tag that ends it, and may be two values", span);
        }
        false
    }

    /// Notes that the value that is being read shows markup of its own call, unless that has been said.
    pub(crate) fn note_markup(&mut self, marks: &[String], heads: &OwnHeads, span: Span) {
        let DraftBody::Params(params) = &self.body else { return };
        let value = params.value_so_far();
        if memchr::memchr2(b'<', b'[', value.as_bytes()).is_none()
            || self.notes.iter().any(|note| note.code == Code::StrayMarker)
        {
            return;
        }
        // Of what stands between a key and its value, the end opens the value.
        let opens = |middle: &String| middle.rfind('<').is_some_and(|at| holds(&value, &middle[at..]));
        let mut marks = [marks, &heads.params, &heads.calls].into_iter().flatten();
        if marks.any(|mark| holds(&value, mark)) || heads.middles.iter().any(opens) {
            self.note_stray("a value shows markup of its own format, and may be two values", span);
        }
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
            let start = closer.char_indices().nth(3).map_or(&*closer, |(at, _)| &closer[..at]);
            params.value_shows(start)
        })
    }

    /// Whether the turn of the model is over in the value that is being read.
    pub(crate) fn value_ends_turn(&self) -> bool {
        let DraftBody::Params(params) = &self.body else { return false };
        turn::is_over_in(&params.value_so_far())
    }
}

/// How often a value holds what stands between the key and the value of a parameter, in any white space, which a string of
/// JSON escapes.
fn middles_in(value: &str, middle: &str) -> usize {
    let (closer, opener) = middle.split_at(middle.rfind('<').unwrap_or(0));
    let closer = closer.trim_end();
    let places = places_of(value, closer).filter(|at| {
        let mut rest = &value[at + closer.len()..];
        while let Some(next) =
            ["\\n", "\\r", "\\t", "\n", "\r", "\t", " "].iter().find_map(|space| rest.strip_prefix(space))
        {
            rest = next;
        }
        rest.starts_with(opener)
    });
    places.count()
}
