//! The watch: finds names of tools and markers of calls in the text where nothing reads a call.
//!
//! It looks closer only around punctuation that calls have, which the scan of the text stops at anyway. Each byte there
//! is looked at once, and what it says of a name depends on the text around the name alone, not on how that came.

mod text_end;

use std::collections::VecDeque;
use std::ops::Range;

use super::super::Compiled;
use super::super::argued::is_argued;
use super::super::expression::{AskedFormats, bared, begins_application};
use super::super::labels::{LABEL_WORDS, before_label};
use super::super::likeness::{
    LOOK_AHEAD, LOOK_BACK, is_call_element, is_call_object, is_called, is_name_character, named,
};
use super::super::region::Surroundings;
use super::super::shown::heads_fence;
use super::signs::{ALPHANUMERIC, BESIDE, IGNORED, NAMES, NEIGHBOURS, SIGNS};
use super::tags::is_of_document;
use super::unread::{TextHead, Unread, UnreadPlace};
use crate::bytes::character_start;
use crate::dialect::call_markers::is_call_marker;
use crate::finding::Span;
use crate::registry::Registry;
use crate::shortcuts::Shortcut;

/// How far behind punctuation a name may stand.
const REACH: usize = 160;

/// How much of the text is kept at least, so that what stands before a name is known.
const KEPT: usize = 2 * LOOK_BACK + 4;

/// The longest header of a response.
const HEADER: usize = 32;

/// How many words before a sign may be a name: one behind which the label of arguments stands, at most.
const NEAR: usize = 1 + LABEL_WORDS;

/// Punctuation that calls have.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    at: usize,
    place: UnreadPlace,
}

/// The next byte that stands beside the names of calls.
#[derive(Clone, Copy, Default)]
struct NextSign {
    /// Where the words begin that are near it.
    near: usize,
    /// Where it stands, or where the text ends.
    sign: usize,
}

/// Looks for names of tools in the text.
#[derive(Debug, Default)]
pub(super) struct Watch {
    registry: Option<Registry>,
    /// Whether it looks at all.
    is_on: bool,
    /// Whether all that there is to do with the next piece of the text is to keep it.
    is_quiet: bool,
    /// The text so far without a gap, or the end of it.
    text: String,
    /// Where that begins in the input.
    start: usize,
    /// Before this place everything has been looked at that has to be.
    looked: usize,
    /// Up to this place names are looked for.
    until: usize,
    /// Punctuation that has been read and not been looked at.
    anchors: VecDeque<Anchor>,
    /// Punctuation that ended what has come, so that the next byte tells whether it counts.
    undecided: Option<(u8, usize, Surroundings)>,
    /// Whether the names of tools are the markers of calls in a format that is asked for.
    names_are_markers: bool,
    /// Whether the first line of the response is known to be a header, or none.
    is_begun: bool,
    /// Whether all of the response has come.
    is_finished: bool,
    /// Whether the last punctuation that was read stands in a code fence.
    in_code: bool,
    /// Where that stands which is looked at.
    place: UnreadPlace,
    /// Whether calls without a marker are asked for: where they are dead, no marker of theirs says so.
    sees_dead: bool,
    /// What formats are asked for, where no list says which words are names.
    asked: AskedFormats,
    /// How the text without a gap begins.
    head: TextHead,
    /// What was found, by its place.
    found: [Option<Box<Unread>>; 3],
}

impl Watch {
    /// Looks for the tools of this gate, or for any where there is no list.
    pub(super) fn new(gate: &Compiled) -> Self {
        let registry = gate.rules.registry.clone();
        let is_asked = gate.rules.dialects.iter().any(|listening| listening.chosen);
        let asked = match (is_asked && registry.is_none(), gate.program.opens_unmarked) {
            (false, _) => AskedFormats::None,
            (true, false) => AskedFormats::Marked,
            (true, true) => AskedFormats::Unmarked,
        };
        Watch {
            registry,
            is_on: true,
            names_are_markers: gate.program.opens_by_name,
            sees_dead: gate.program.opens_unmarked,
            asked,
            ..Watch::default()
        }
    }

    /// Whether the first of these bytes is punctuation that calls have, given the one before it, as far as they have come.
    #[inline(always)] // The scan of plain text asks at every mark.
    pub(super) fn is_anchor(&self, bytes: &[u8], before: impl FnOnce() -> Option<u8>) -> bool {
        let is_name = |byte: u8| NEIGHBOURS[byte as usize] & BESIDE != 0;
        match bytes {
            // White space may stand before a key, but none after the start of a tag.
            [b'<', b' ', ..] => false,
            [b'{' | b'<'] => true,
            [b'<', after, ..] => {
                *after == b'|' || (*after == b'/' || is_name(*after)) && !self.is_of_document(bytes)
            }
            [b'{', after, ..] => {
                NEIGHBOURS[*after as usize] & ALPHANUMERIC == 0 || before().is_some_and(is_name)
            }
            [b'(', ..] => before().is_some_and(|byte| is_name(byte) || byte == b'"'),
            _ => false,
        }
    }

    /// Whether what begins with this `<` is a tag that no call has, and its end has come.
    #[inline(never)] // Few marks of plain text begin a tag.
    fn is_of_document(&self, bytes: &[u8]) -> bool {
        let is_named = |registry: &Registry, word: &[u8]| {
            let word = std::str::from_utf8(word).unwrap_or_default();
            named(registry, word, self.names_are_markers).is_some()
        };
        let is_tool = |word: &[u8]| {
            self.registry.as_ref().is_some_and(|tools| tools.has_outline(word) && is_named(tools, word))
        };
        // Where names are the markers, the first tag in one that is not known may be the parameter of a tool.
        !self.names_are_markers && is_of_document(bytes, is_tool)
    }

    /// The last byte of the text, if it ends right before this place.
    pub(super) fn last_byte(&self, place: usize) -> Option<u8> {
        self.text.bytes().next_back().filter(|_| self.end() == place)
    }

    /// Punctuation stands here in the text, in these surroundings: the first of these bytes, as far as they have come.
    pub(super) fn note(&mut self, bytes: &[u8], place: usize, surroundings: impl FnOnce() -> Surroundings) {
        let (true, Some(byte)) = (self.is_on, bytes.first().copied()) else { return };
        if bytes.len() == 1 && byte != b'(' {
            self.undecided = Some((byte, place, surroundings()));
        } else {
            self.add(byte, place, surroundings());
        }
    }

    /// The text goes on with this byte.
    #[inline]
    pub(super) fn go_on(&mut self, position: usize, next: u8) {
        if self.undecided.is_some() {
            self.decide(position, next);
        }
    }

    #[inline(never)] // Few chunks end with punctuation.
    fn decide(&mut self, position: usize, next: u8) {
        let Some((byte, place, surroundings)) = self.undecided.filter(|(_, place, _)| *place < position)
        else {
            return;
        };
        self.undecided = None;
        let before = place.checked_sub(self.start + 1).and_then(|at| self.text.as_bytes().get(at).copied());
        if place + 1 == position && self.is_anchor(&[byte, next], || before) {
            self.add(byte, place, surroundings);
        }
    }

    fn add(&mut self, byte: u8, place: usize, surroundings: Surroundings) {
        let fenced = surroundings.fence.is_some();
        let is_dead = surroundings.quotation || surroundings.lost || surroundings.backticks > 0;
        // Code is full of brackets: only the first application in it may be a call.
        let is_code = fenced && byte != b'{' && (byte != b'(' || self.in_code);
        if surroundings.string || is_code || is_dead && !self.sees_dead {
            return;
        }
        self.in_code = fenced;
        let region = match (is_dead, fenced) {
            (true, _) => UnreadPlace::Dead,
            (false, true) => UnreadPlace::Fence,
            (false, false) => UnreadPlace::Text,
        };
        self.is_quiet = false;
        self.anchors.push_back(Anchor { at: place, place: region });
    }

    /// Takes the next piece of the text.
    #[inline]
    pub(super) fn take(&mut self, text: &str, start: usize) {
        if self.is_quiet && start == self.end() && self.text.len() + text.len() <= 4 * KEPT {
            self.text.push_str(text);
        } else if self.is_on {
            self.take_carefully(text, start);
        }
    }

    fn take_carefully(&mut self, text: &str, start: usize) {
        if start != self.end() {
            self.begin_at(start);
        }
        for unread in self.found.iter_mut().flatten() {
            unread.keep(text, start);
        }
        self.head.keep(text);
        if !self.is_begun {
            self.begin(text, start);
        }
        if self.anchors.is_empty() && self.until <= self.looked {
            self.keep_end(text, start);
            self.is_quiet = self.is_begun && self.head.is_full() && self.found.iter().all(Option::is_none);
            return;
        }
        self.text.push_str(text);
        let end = self.end();
        self.look(end.saturating_sub(LOOK_AHEAD), false);
        if self.text.len() > 4 * KEPT {
            let cut = self.looked.clamp(self.start, end) - self.start;
            self.cut_before(character_start(&self.text, cut.saturating_sub(KEPT)));
        }
    }

    /// A token of a format stands here, right behind the text: the name of a tool before it was called.
    pub(super) fn note_token(&mut self) {
        // The text ends here, and what is found is found in its order.
        self.look(self.end(), true);
        let text = self.text.trim_end();
        let from = text.trim_end_matches(is_name_character).len();
        let is_tool = |registry: &Registry| named(registry, &text[from..], self.names_are_markers).is_some();
        let to = text.len();
        let is_found = |unread: &Unread| unread.span.end == self.start + to;
        if self.registry.as_ref().is_some_and(is_tool)
            && !self.found.iter().flatten().any(|unread| is_found(unread))
        {
            self.place = UnreadPlace::Text;
            self.found(from, to);
        }
    }

    /// The text of a message begins here: a name that all of the response was so far is the recipient of a call.
    pub(super) fn note_message(&mut self) {
        let text = self.text.trim();
        if self.start == 0 && !text.is_empty() && text.chars().all(is_name_character) {
            self.note_token();
        }
    }

    /// What came so far was no text after all.
    pub(super) fn forget(&mut self) {
        let Watch { is_on, names_are_markers, sees_dead, asked, .. } = *self;
        let registry = self.registry.take();
        *self = Watch { registry, is_on, names_are_markers, sees_dead, asked, ..Watch::default() };
    }

    /// What was found, once the text is over, in these surroundings.
    pub(super) fn finish(&mut self, surroundings: impl FnOnce() -> Surroundings) -> Option<Box<Unread>> {
        if !self.is_begun && self.start == 0 && !self.text.is_empty() {
            self.anchors.push_front(Anchor { at: 0, place: UnreadPlace::Text });
        } else {
            self.note_end(surroundings());
        }
        self.is_finished = true;
        self.begin_at(usize::MAX);
        self.found.iter_mut().find_map(Option::take)
    }

    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// A response whose first line is a single word may begin with a header, and then has no other punctuation.
    fn begin(&mut self, text: &str, start: usize) {
        let end = text.find(char::is_whitespace);
        let length = self.text.len() + end.unwrap_or(text.len());
        self.is_begun = end.is_some() || length > HEADER || self.start > 0;
        let is_line = end.is_some_and(|end| text[end..].starts_with(['\n', '\r']));
        if is_line && (1..=HEADER).contains(&length) && self.start == 0 && start == self.text.len() {
            self.anchors.push_front(Anchor { at: 0, place: UnreadPlace::Text });
        }
    }

    /// The text goes on somewhere else: what came before is looked at to its end.
    fn begin_at(&mut self, start: usize) {
        self.look(self.end(), true);
        self.look_at_all();
        self.text.clear();
        self.head.begin(start);
        self.is_quiet = false;
        (self.start, self.looked, self.until) = (start, start, start);
        while self.anchors.front().is_some_and(|anchor| anchor.at < start) {
            self.anchors.pop_front();
        }
    }

    /// Looks at the text as a whole, which may be a call of a tool that nobody knows.
    fn look_at_all(&mut self) {
        let Some((place, span)) = self.head.expression(&self.text, self.start, self.asked) else { return };
        let is_seen = place != UnreadPlace::Dead || self.sees_dead;
        if is_seen && self.found.iter().all(Option::is_none) {
            let start = span.start;
            let mut unread = Unread { is_whole: true, ..Unread::begin(span, start, place) };
            match start.checked_sub(self.start) {
                Some(at) => unread.keep(&self.text[at..], start),
                None => unread.keep(self.head.text(), start),
            }
            self.found[place as usize] = Some(Box::new(unread));
        }
    }

    /// Keeps the end of a text in which there is nothing to look at.
    fn keep_end(&mut self, text: &str, start: usize) {
        if text.len() >= KEPT {
            let from = character_start(text, text.len() - KEPT);
            self.text.clear();
            self.text.push_str(&text[from..]);
            self.start = start + from;
        } else {
            self.text.push_str(text);
            if self.text.len() > 4 * KEPT {
                self.cut_before(character_start(&self.text, self.text.len() - KEPT));
            }
        }
    }

    fn cut_before(&mut self, at: usize) {
        self.text.drain(..at);
        self.start += at;
    }

    /// Looks at every name before `limit` that is in reach of punctuation.
    fn look(&mut self, limit: usize, is_over: bool) {
        loop {
            self.drop_tags_of_documents();
            if self.looked >= self.until {
                let next = self.anchors.front().copied().filter(|anchor| anchor.at < limit);
                let Some(Anchor { at, place }) = next else { return };
                self.anchors.pop_front();
                self.place = place;
                self.looked = self.looked.max(at.saturating_sub(LOOK_BACK)).max(self.start);
                self.until = at + REACH;
                let from = character_start(&self.text, self.looked - self.start);
                // What stands in code is not called.
                let before = &self.text[from..from.max(at - self.start)];
                let code = memchr::memrchr(b'`', before.as_bytes()).filter(|_| place != UnreadPlace::Dead);
                let span = code.and_then(|end| self.labelled_span(from, from + end));
                if let Some(name) = span {
                    self.found(name.start, name.end);
                }
                self.looked = self.start + code.map_or(from, |at| from + at + 1);
                self.skip_started_word();
            }
            let next = self.anchors.front().map_or(usize::MAX, |anchor| anchor.at);
            let target = self.until.min(limit).min(next);
            self.look_at_words(target, is_over);
            if self.looked >= next {
                self.place = self.anchors.pop_front().map_or(UnreadPlace::Text, |anchor| anchor.place);
                self.until = self.until.max(next + REACH);
            } else if self.looked < self.until {
                return;
            }
        }
    }

    /// The name of a tool in a code span that ends with this backtick, if the label of arguments stands below it: what is
    /// marked as code there is only the name.
    fn labelled_span(&self, from: usize, end: usize) -> Option<Range<usize>> {
        let start = from + memchr::memrchr(b'`', &self.text.as_bytes()[from..end])? + 1;
        self.registry.as_ref()?.get(&self.text[start..end])?;
        let begin = character_start(&self.text, start.saturating_sub(LOOK_BACK));
        let ahead = character_start(&self.text, end + LOOK_AHEAD);
        before_label(&self.text[begin..start - 1], &self.text[end..ahead]).then_some(start..end)
    }

    /// Of tags that had not come to their end when they were noted, those of documents are told now.
    fn drop_tags_of_documents(&mut self) {
        while let Some(anchor) = self.anchors.front()
            && let Some(bytes) =
                anchor.at.checked_sub(self.start).and_then(|at| self.text.as_bytes().get(at..))
            && bytes.first() == Some(&b'<')
            && self.is_of_document(bytes)
        {
            self.anchors.pop_front();
        }
    }

    /// A word that begins before the place is not looked at in part.
    fn skip_started_word(&mut self) {
        let (before, after) = self.text.split_at(self.looked - self.start);
        if before.ends_with(is_name_character) {
            let rest = after.trim_start_matches(is_name_character);
            self.looked += after.len() - rest.len();
        }
    }

    /// Looks at the words that begin before this place. One that may go on is left for later.
    fn look_at_words(&mut self, target: usize, is_over: bool) {
        // How many words came since the last sign of a call, and where the next words and the next sign are.
        let mut plain_words = 0;
        let mut next = NextSign::default();
        while self.looked < target {
            if plain_words > 0 && Shortcut::Prose.is_on() {
                if self.looked >= next.sign {
                    next = self.next_sign(target);
                }
                plain_words = 0;
                if self.looked < next.near {
                    self.looked = next.near;
                    continue;
                }
            }
            let at = self.looked - self.start;
            let rest = &self.text[at..];
            let Some(c) = rest.chars().next() else { return };
            if c == '`' && self.place != UnreadPlace::Dead {
                self.until = self.looked;
                return;
            }
            let plain = rest.bytes().take_while(|byte| IGNORED[*byte as usize]).count();
            if plain > 0 {
                if rest.as_bytes()[..plain].iter().any(|byte| SIGNS.contains(byte)) {
                    plain_words = 0;
                }
                self.looked += plain.min(target - self.looked);
                continue;
            }
            if !is_name_character(c) {
                // Objects are full of names that call nothing: those of tools tell, where they are known.
                if matches!(c, '<' | '[') || c == '{' && self.registry.is_none() {
                    let ahead = character_start(rest, LOOK_BACK);
                    if rest.len() <= ahead && !is_over {
                        return;
                    }
                    let ahead = &rest[..ahead];
                    let tools = self.registry.as_ref().filter(|_| c == '<' && self.names_are_markers);
                    let is_call = if c == '{' { is_call_object(ahead) } else { is_call_marker(ahead) };
                    if is_call || tools.is_some_and(|tools| is_call_element(tools, ahead)) {
                        self.found(at, at + 1);
                    }
                }
                plain_words = 0;
                self.looked += c.len_utf8();
                continue;
            }
            let ascii = rest.bytes().take_while(|byte| NAMES[*byte as usize]).count();
            let word = match rest.as_bytes().get(ascii) {
                Some(128..) => rest.len() - rest.trim_start_matches(is_name_character).len(),
                _ => ascii,
            };
            // What follows a word has to be known before it is looked at, unless the word is too long for a name.
            if rest.len() < word + LOOK_AHEAD && word <= LOOK_BACK && !is_over {
                return;
            }
            self.look_at(at, at + word);
            self.looked += word;
            plain_words += 1;
        }
    }

    /// Where the next sign of a call is. No name before the words that stand near it is called, and none is a header.
    fn next_sign(&self, target: usize) -> NextSign {
        let (at, target) = (self.looked - self.start, target - self.start);
        let text = self.text.as_bytes();
        let ahead = &text[at..text.len().min(target + LOOK_AHEAD)];
        let [one, two, three, four, five, six, seven, eight, nine] = SIGNS;
        let ahead = &ahead[..memchr::memchr3(one, two, three, ahead).unwrap_or(ahead.len())];
        let ahead = &ahead[..memchr::memchr3(four, five, six, ahead).unwrap_or(ahead.len())];
        let ahead = memchr::memchr3(seven, eight, nine, ahead).unwrap_or(ahead.len());
        let is_word = |at: usize| NAMES[text[at] as usize] || !text[at].is_ascii();
        // What follows may be a sign, or the words may go on.
        let sign = at + ahead;
        let mut to = sign;
        for _ in 0..NEAR {
            while to > at && !is_word(to - 1) {
                to -= 1;
            }
            while to > at && is_word(to - 1) {
                to -= 1;
            }
        }
        to = to.min(target);
        while to > at && is_word(to - 1) {
            to -= 1;
        }
        NextSign { near: self.start + to, sign: self.start + sign }
    }

    fn look_at(&mut self, from: usize, to: usize) {
        if to - from > LOOK_BACK {
            return;
        }
        let Some(registry) = &self.registry else { return self.look_at_any(from, to) };
        let word = &self.text[from..to];
        // Most words end otherwise than any name, unless a method follows the name.
        let is_named = |byte: u8| registry.has_name_end(byte) || matches!(byte, b'.' | b'-');
        if !word.bytes().next_back().is_some_and(is_named) && !word.contains('.') {
            return;
        }
        // Of what is all letters, the length and the letters at its ends tell most words from any name.
        let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_plain
            && !registry.has_outline(word.as_bytes())
            && !registry.has_spaces()
            && !self.text[..from].ends_with('`')
        {
            return;
        }
        let named = named(registry, word, self.names_are_markers).map(|(name, outer, alone)| {
            let place = |part: &str| from + (part.as_ptr() as usize - word.as_ptr() as usize);
            (place(name)..place(name) + name.len(), alone, place(outer))
        });
        let Some((name, alone, before)) = named.or_else(|| self.named_around(from, to)) else { return };
        let Range { start, end } = name;
        let begin = character_start(&self.text, start.saturating_sub(LOOK_BACK));
        let ahead = character_start(&self.text, end + LOOK_AHEAD);
        let (before, after) = (&self.text[begin.min(before)..before], &self.text[end..ahead]);
        let tool = registry.compiled(&self.text[start..end]);
        let is_called = match self.place {
            UnreadPlace::Text => {
                is_called(before, after, alone) || tool.is_some_and(|tool| is_argued(tool, before, after))
            }
            UnreadPlace::Fence => is_called(before, after, alone),
            UnreadPlace::Dead => is_called(&bared(before), &bared(after), alone),
        };
        // A name that is the first line of a response heads a call, and so does one that is all of it.
        let is_first = self.start == 0 && self.text[..start].trim_matches(['>', ' ', '\n', '`']).is_empty();
        let rest = &self.text[end..];
        let is_header = is_first
            && (rest.starts_with('\n') && self.sees_dead || rest.trim_end().is_empty() && self.is_finished);
        let is_shown = self.place == UnreadPlace::Fence && heads_fence(before, &self.text[start..end], after);
        if is_called || is_header || is_shown {
            self.found(start, end);
            if let Some(unread) = self.found[self.place as usize].as_mut() {
                unread.is_shown |= is_shown;
            }
        }
    }

    /// Looks at a word that may be any name: in a line by itself it is called where such calls are asked for.
    fn look_at_any(&mut self, from: usize, to: usize) {
        let begin = character_start(&self.text, from.saturating_sub(LOOK_BACK));
        let ahead = character_start(&self.text, to + LOOK_AHEAD);
        let is_asked = self.asked == AskedFormats::Unmarked && self.place != UnreadPlace::Dead;
        if is_asked && begins_application(&self.text[begin..from], &self.text[to..ahead]) {
            self.found(from, to);
        }
    }

    /// A name that ends with this word and begins elsewhere: one with spaces in it, or one that nothing parts from the
    /// info string of a code fence. Says where it is, that it is by itself, and where that ends which stands before it.
    fn named_around(&self, from: usize, to: usize) -> Option<(Range<usize>, bool, usize)> {
        let is_fence = self.text[..from].ends_with("```");
        let registry = self.registry.as_ref().filter(|registry| is_fence || registry.has_spaces())?;
        let starts = registry.names().filter_map(|name| Some(self.text[..to].strip_suffix(name)?.len()));
        let begins = |start: &usize| !self.text[..*start].ends_with(is_name_character);
        let start =
            starts.into_iter().find(|start| is_fence && *start > from || *start < from && begins(start))?;
        Some((start..to, true, start.min(from)))
    }

    fn found(&mut self, from: usize, to: usize) {
        let span = Span::new(self.start + from, self.start + to);
        let found = &mut self.found[self.place as usize];
        match found {
            Some(unread) => {
                unread.span.end = span.end;
                unread.names += 1;
            }
            None => {
                let begin = character_start(&self.text, from.saturating_sub(LOOK_BACK));
                // What is cut begins with the next line, unless that is too far.
                let line = self.text[begin..from].find('\n').filter(|_| begin > 0);
                let begin = line.map_or(begin, |at| begin + at + 1);
                let start = self.start + begin;
                let mut unread = Unread::begin(span, start, self.place);
                unread.keep(&self.text[begin..], start);
                *found = Some(Box::new(unread));
            }
        }
    }
}
