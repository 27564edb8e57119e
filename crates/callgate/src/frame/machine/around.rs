//! Around the frames: the text and the reasoning that are handed out, what is open there, and white space whose owner is
//! still to come.

use std::mem::take;
use std::sync::Arc;

use super::super::Compiled;
use crate::dialect::turn::{self, Turn};
use crate::finding::{Code, Finding, Span};
use crate::ledger::{Emitter, Pending};

use super::super::marks::Marks;
use super::super::program::Body;
use super::super::region::{Change, Regions, Surroundings};
use super::super::specials::has_special;
use super::super::stops::Stops;
use super::behind::MoreArguments;
use super::bent_ends::BentEnds;
use super::literals::{LiteralMatcher, Resync};
use super::matching::Waiting;
use super::pool::give_back;
use super::unread_values::UnreadValues;
use super::watch::Watch;

/// The most white space after a frame that is held to see whether another frame follows.
const LONGEST_GAP: usize = 256;

/// The text around the frames of a response.
#[derive(Debug)]
pub(super) struct AroundFrames {
    /// The frame around text or reasoning that is open.
    pub(super) context: Option<Context>,
    pub(super) regions: Regions,
    /// The last byte of text or thought since the last frame, zero if there is none.
    pub(super) last: u8,
    /// White space that has been read and may be markup of what follows.
    pub(super) held_space: String,
    /// White space that is markup if it comes next.
    pub(super) expected_space: String,
    /// Whether nothing but white space came since the last frame.
    pub(super) only_space_since_frame: bool,
    /// Whether a thought has begun or ended, so that the end of another one that never began means nothing.
    pub(super) has_thought: bool,
    /// What ended the turn of the model, or let somebody else speak, and how often it did.
    pub(super) turns: Vec<(&'static Turn, usize)>,
    /// Whether the model has begun to write a result that nothing ends: from there on it plays all parts.
    pub(super) invents: bool,
    /// Whether text that is struck out is open.
    pub(super) struck: bool,
    /// Closers that must not follow the last call.
    pub(super) stray_closers: Option<StrayClosers>,
    /// Whether more arguments follow the last call, while that is to be seen.
    pub(super) more_arguments: Option<MoreArguments>,
    /// The format of the first call whose values are text.
    pub(super) first_valued: Option<usize>,
    /// The closers of calls that have ended, in formats where they differ from call to call.
    pub(super) named_closers: Vec<(String, Resync)>,
    /// Whether the last frame was a call and nothing but white space and closers came since.
    pub(super) behind_call: bool,
    /// The start of what may close nothing behind a call. It ends at the position, behind the white space that is held.
    pub(super) orphan: String,
    /// Whether the last frame was an object that must stand by itself.
    pub(super) stands_alone: bool,
    /// Looks for names of tools in the text.
    pub(super) watch: Watch,
    /// The values of parameters in the text.
    pub(super) unread_values: UnreadValues,
    /// What may end the thought in which calls wait for its end.
    pub(super) bent_ends: BentEnds,
}

/// A frame around text or reasoning that is open.
#[derive(Debug)]
pub(super) struct Context {
    /// The threads that wait for its end.
    pub(super) waiting: Vec<Waiting>,
    pub(super) record: usize,
    pub(super) kind: Body,
    /// How its end can start.
    pub(super) stops: Stops,
    /// The bytes at which the scan inside of it must look closer.
    pub(super) marks: Arc<Marks>,
    /// Whether it may end without a closer, where another frame of its dialect begins.
    pub(super) may_lack_closer: bool,
    /// The marker that opened it.
    pub(super) marker: Arc<str>,
    /// How many times it was opened again inside of itself.
    pub(super) nested: usize,
    /// How many thoughts of other names are open in it.
    pub(super) others: usize,
    /// The text frame inside of which something is skipped.
    pub(super) outer: Option<Box<Context>>,
}

/// Closers of a call that has ended. One of them in the text shows that a value of the call was cut.
#[derive(Debug)]
pub(super) struct StrayClosers {
    closers: LiteralMatcher,
    /// Whether those that are special tokens count only where they came as such, which makes them no text; then the tags
    /// that are.
    special: Option<Arc<[String]>>,
    /// How many calls have begun since that are not made but shown, and whose closers are still to come.
    pub(super) shown: usize,
    /// What the frame ended with. Right behind it, it is the same closer twice.
    last: String,
    /// How many bytes came since the frame, or since it was closed once more, white space aside.
    since: usize,
}

impl StrayClosers {
    pub(super) fn new(literals: Vec<(String, Resync)>, last: String, special: Option<Arc<[String]>>) -> Self {
        StrayClosers { closers: LiteralMatcher::new(literals), special, shown: 0, last, since: 0 }
    }

    /// Whether this text is one of the closers, and not only the start of one; nothing if it is neither.
    fn knows(&self, text: &str) -> Option<bool> {
        let is_told = |closer: &&str| closer.len() > 2 && closer.starts_with(text);
        let closers = || self.closers.literals().filter(is_told);
        closers().next().map(|_| closers().any(|closer| closer == text))
    }

    /// The place in this text, which begins at `start`, of a closer that belongs to no call.
    fn find(&mut self, text: &str, start: usize, is_token: bool) -> Option<usize> {
        (start..).zip(text.bytes()).find_map(|(at, byte)| {
            self.since += usize::from(!byte.is_ascii_whitespace());
            let (closer, resync) = self.closers.read(byte)?;
            if !is_token && self.special.as_ref().is_some_and(|named| has_special(closer, named)) {
                return None;
            }
            if closer == self.last && self.since == closer.len() {
                self.since = 0;
                return None;
            }
            if self.shown == 0 {
                return Some(at);
            }
            self.shown -= usize::from(resync == Resync::FrameEnd);
            None
        })
    }
}

impl Default for AroundFrames {
    fn default() -> Self {
        AroundFrames {
            context: None,
            regions: Regions::default(),
            last: 0,
            held_space: String::new(),
            expected_space: String::new(),
            only_space_since_frame: true,
            has_thought: false,
            turns: Vec::new(),
            invents: false,
            struck: false,
            stray_closers: None,
            more_arguments: None,
            first_valued: None,
            named_closers: Vec::new(),
            behind_call: false,
            orphan: String::new(),
            stands_alone: false,
            watch: Watch::default(),
            unread_values: UnreadValues::default(),
            bent_ends: BentEnds::default(),
        }
    }
}

impl AroundFrames {
    pub(super) fn in_reasoning(&self) -> bool {
        self.context.as_ref().is_some_and(|context| matches!(context.kind, Body::Reasoning { .. }))
    }

    /// How the closing tag of the thought begins that is open, if a tag opened it.
    pub(super) fn thought_end(&self) -> Option<String> {
        let context = self.context.as_ref().filter(|_| self.in_reasoning())?;
        Some(format!("</{}", context.marker.strip_prefix('<')?))
    }

    /// Whether the open context can end like these bytes.
    #[inline(never)] // Most text has no context around it.
    pub(super) fn may_end(&self, bytes: &[u8]) -> bool {
        self.context.as_ref().is_some_and(|context| context.stops.may_start(bytes))
    }

    /// Whether reasoning may open here: only where a response, a line or the text after markup begins.
    pub(super) fn may_think(&self, surroundings: Surroundings) -> bool {
        let at_start = self.regions.blank || self.regions.at_line_start() || self.only_space_since_frame;
        at_start && surroundings.fence.is_none() && surroundings.backticks == 0
    }

    /// Hands out text at the position, holding back white space that may be markup of what follows.
    pub(super) fn emit(
        &mut self,
        gate: &Compiled,
        text: &str,
        position: &mut usize,
        out: &mut Emitter<'_, '_>,
    ) {
        let mut text = text;
        if !self.expected_space.is_empty() && !text.is_empty() {
            let same = text.bytes().zip(self.expected_space.bytes()).take_while(|(a, b)| a == b).count();
            out.markup(Span::new(*position, *position + same));
            *position += same;
            text = &text[same..];
            self.expected_space.drain(..same);
            if !text.is_empty() {
                self.expected_space.clear();
            }
        }
        let Some(last) = text.as_bytes().last() else { return };
        self.last = *last;
        if self.behind_call && self.context.is_none() {
            text = self.pass_orphans(gate, text, position, out);
        }
        self.emit_words(gate, text, position, out);
    }

    /// Hands out text that begins at the position and is no closer.
    fn emit_words(&mut self, gate: &Compiled, text: &str, position: &mut usize, out: &mut Emitter<'_, '_>) {
        let words_end = text.trim_ascii_end().len();
        if words_end > 0 {
            let glued = self.held_space.is_empty();
            self.flush_space(*position, out);
            self.check_what_follows(&text[..words_end], glued, *position, out);
            self.give(&text[..words_end], *position, out);
            self.only_space_since_frame = false;
            self.behind_call = false;
        }
        self.held_space.push_str(&text[words_end..]);
        *position += text.len();
        let limit = if self.only_space_since_frame { LONGEST_GAP } else { gate.program.before.max(2) };
        if self.held_space.len() > limit {
            let excess = self.held_space.len() - limit;
            let mut space = take(&mut self.held_space);
            self.give(&space[..excess], *position - space.len(), out);
            space.drain(..excess);
            self.held_space = space;
            self.only_space_since_frame = false;
            self.behind_call = false;
        }
    }

    /// What closes nothing right behind a call is markup. Says what of the text, which begins at the position, is left.
    #[inline(never)] // Most text is not behind a call.
    fn pass_orphans<'t>(
        &mut self,
        gate: &Compiled,
        text: &'t str,
        position: &mut usize,
        out: &mut Emitter<'_, '_>,
    ) -> &'t str {
        let mut text = text;
        while self.behind_call
            && let Some(c) = text.chars().next()
        {
            if self.orphan.is_empty() && c.is_ascii_whitespace() {
                let (space, rest) = text.split_at(text.len() - text.trim_ascii_start().len());
                self.emit_words(gate, space, position, out);
                text = rest;
                continue;
            }
            self.orphan.push(c);
            *position += c.len_utf8();
            text = &text[c.len_utf8()..];
            match self.closes_call(gate) {
                Some(true) => self.pass_orphan(*position, out),
                Some(false) => {}
                None => self.orphan_is_text(*position, out),
            }
        }
        text
    }

    /// Whether what is held behind a call closes one, and is not only the start of that; nothing if it is neither.
    fn closes_call(&self, gate: &Compiled) -> Option<bool> {
        let own = self.stray_closers.as_ref().and_then(|closers| closers.knows(&self.orphan));
        let is_closer =
            own.filter(|is_whole| *is_whole).or_else(|| turn::closes_call(&self.orphan).or(own))?;
        // Where special tokens count only if they came as such, these letters are text.
        let is_text = |named: &Arc<[String]>| is_closer && has_special(&self.orphan, named);
        (!gate.program.special.as_ref().is_some_and(is_text)).then_some(is_closer)
    }

    /// A closer that ends at the position closes nothing.
    fn pass_orphan(&mut self, position: usize, out: &mut Emitter<'_, '_>) {
        let orphan = take(&mut self.orphan);
        let start = position - orphan.len();
        let space = take(&mut self.held_space);
        self.look_for_closers(&space, start - space.len(), false, out);
        self.look_for_closers(&orphan, start, false, out);
        out.markup(Span::new(start - space.len(), start));
        give_back(&mut self.held_space, space);
        self.stands_alone = false;
        let span = Span::new(start, position);
        out.markup(span);
        let finding =
            Finding::new(Code::ControlToken).message("what closes a call stands behind it once more");
        out.finding_once(finding.at(span));
        give_back(&mut self.orphan, orphan);
    }

    /// What was held behind a call is text.
    fn orphan_is_text(&mut self, position: usize, out: &mut Emitter<'_, '_>) {
        if self.orphan.is_empty() {
            return;
        }
        let orphan = take(&mut self.orphan);
        let start = position - orphan.len();
        let glued = self.held_space.is_empty();
        self.flush_space(start, out);
        self.check_what_follows(&orphan, glued, start, out);
        // What the scan has seen of the text that comes next says nothing of what was held before it.
        let has_no_tags = take(&mut self.unread_values.has_no_tags);
        self.give(&orphan, start, out);
        self.unread_values.has_no_tags = has_no_tags;
        self.only_space_since_frame = false;
        self.behind_call = false;
        give_back(&mut self.orphan, orphan);
    }

    /// Hands out what was held: it is no markup.
    pub(super) fn flush_space(&mut self, position: usize, out: &mut Emitter<'_, '_>) {
        self.orphan_is_text(position, out);
        if !self.held_space.is_empty() {
            let space = take(&mut self.held_space);
            self.give(&space, position - space.len(), out);
            give_back(&mut self.held_space, space);
        }
    }

    /// White space before a frame: what the template writes is markup, the rest is text.
    pub(super) fn claim_space(&mut self, before: usize, frame_start: usize, out: &mut Emitter<'_, '_>) {
        self.orphan_is_text(frame_start, out);
        let length = self.held_space.len();
        let markup = if self.only_space_since_frame { length } else { before.min(length) };
        self.split_space(markup, frame_start, out);
    }

    /// White space before the end of reasoning: what the template writes is markup, the rest was thought.
    pub(super) fn claim_reasoning_space(
        &mut self,
        trail: usize,
        end_start: usize,
        out: &mut Emitter<'_, '_>,
    ) {
        let markup = trail.min(self.held_space.len());
        let space = take(&mut self.held_space);
        let thought = &space[..space.len() - markup];
        let start = end_start - space.len();
        out.text(thought, Span::new(start, start + thought.len()), true);
        out.markup(Span::new(end_start - markup, end_start));
        give_back(&mut self.held_space, space);
    }

    /// Text after an object that stands alone can show that it was no call.
    fn check_what_follows(&mut self, text: &str, glued: bool, position: usize, out: &mut Emitter<'_, '_>) {
        if take(&mut self.stands_alone)
            && glued
            && text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '"' | '\'' | '`'))
        {
            let finding = Finding::new(Code::Malformed).at(Span::new(position, position));
            out.revoke_last(finding.message("the object is a part of something larger"));
        }
    }

    /// Tells the calls that wait for it what has become clear about code spans.
    pub(super) fn apply(&mut self, change: Change, out: &mut Emitter<'_, '_>) {
        if let Some(behind) = change.code_behind {
            out.close_code(behind);
        }
        if change.paragraph_ended {
            out.resolve(Pending::Inline, true);
        }
    }

    /// A token of a chat template stands here, which is no text: it may say whose turn it is.
    pub(super) fn pass_token(&mut self, token: &str, start: usize, out: &mut Emitter<'_, '_>) {
        match turn::marked(token) {
            Some(turn) => self.pass_turn(turn),
            None => self.end_turn(token),
        }
        self.claim_space(0, start, out);
        let is_dead = || self.regions.surroundings().is_dead() || !self.turns.is_empty();
        if turn::is_of_calls(token) && !self.in_reasoning() && !is_dead() {
            self.watch.note_token();
        }
        self.look_for_closers(token, start, true, out);
        let span = Span::new(start, start + token.len());
        out.markup(span);
        let mut finding = Finding::new(Code::ControlToken).at(span);
        if turn::marked(token).is_none() && token.contains("</") && !token.starts_with("</") {
            finding = finding.message("the tags of a call with nothing between them");
            finding.help = "Write the call between the tags, or leave them out.".into();
        }
        out.finding_once(finding);
    }

    /// From here on the model says nothing, unless its format writes this itself.
    pub(super) fn pass_turn(&mut self, turn: &'static Turn) {
        self.more_arguments = None;
        match self.turns.iter_mut().find(|(open, _)| *open == turn) {
            Some((_, depth)) => *depth += 1,
            None => self.turns.push((turn, 1)),
        }
    }

    /// What this token ends is over, if it was begun as often as it has been ended.
    fn end_turn(&mut self, token: &str) {
        for (_, depth) in self.turns.iter_mut().filter(|(turn, _)| turn.is_closed_by(token)) {
            *depth -= 1;
        }
        self.turns.retain(|(_, depth)| *depth > 0);
    }

    /// The response is over.
    pub(super) fn finish(&mut self, position: usize, out: &mut Emitter<'_, '_>) {
        let change = self.regions.finish();
        self.apply(change, out);
        self.flush_space(position, out);
        if self.bent_ends.finish() {
            out.resolve(Pending::Thought, false);
        }
    }

    fn split_space(&mut self, markup: usize, frame_start: usize, out: &mut Emitter<'_, '_>) {
        let space = take(&mut self.held_space);
        self.give(&space[..space.len() - markup], frame_start - space.len(), out);
        out.markup(Span::new(frame_start - markup, frame_start));
        give_back(&mut self.held_space, space);
    }

    /// Hands out text as what the open context makes of it. Every character of text comes by here in its order, white
    /// space included, so the cuts between chunks do not matter to what looks at it.
    fn give(&mut self, text: &str, start: usize, out: &mut Emitter<'_, '_>) {
        self.look_for_closers(text, start, false, out);
        let nameless = match self.more_arguments.is_some() {
            true => self.look_for_more_arguments(text, start, out),
            false => None,
        };
        let Some((at, finding)) = nameless else { return self.hand_out(text, start, out) };
        let (before, after) = text.split_at(at);
        self.hand_out(before, start, out);
        out.finding(finding);
        self.hand_out(after, start + at, out);
    }

    #[inline(always)] // All text comes by here.
    fn hand_out(&mut self, text: &str, start: usize, out: &mut Emitter<'_, '_>) {
        let span = Span::new(start, start + text.len());
        match self.context.as_ref().map(|context| &context.kind) {
            Some(Body::Skip) => out.markup(span),
            Some(Body::Reasoning { .. }) => {
                if out.is_pending() {
                    self.bent_ends.read(text);
                }
                out.text(text, span, true);
            }
            _ => {
                self.watch.take(text, start);
                self.unread_values.read(text);
                out.text(text, span, false);
            }
        }
    }

    /// A closer of the last call behind it shows that a value of it was cut.
    #[inline]
    fn look_for_closers(&mut self, text: &str, start: usize, is_token: bool, out: &mut Emitter<'_, '_>) {
        if self.stray_closers.is_some() {
            self.look_for_some_closers(text, start, is_token, out);
        }
    }

    #[inline(never)] // Most text is not behind a call.
    fn look_for_some_closers(&mut self, text: &str, start: usize, is_token: bool, out: &mut Emitter<'_, '_>) {
        if let Some(closers) = &mut self.stray_closers
            && let Some(at) = closers.find(text, start, is_token)
        {
            out.revoke_cut(Finding::new(Code::SuspectValueEnd).at(Span::new(at, at + 1)));
            self.stray_closers = None;
        }
    }

    /// Notes a byte of the text that calls have beside names: the first of these, between what stands before it and after
    /// it in its piece.
    #[inline(always)] // Most bytes are none of these.
    pub(super) fn watch_for(&mut self, before: &[u8], bytes: &[u8], place: usize) {
        if matches!(bytes, [b'<' | b'{' | b'(', ..]) {
            self.watch_for_sign(before, bytes, place);
        }
    }

    #[inline(never)] // See `watch_for`.
    fn watch_for_sign(&mut self, before: &[u8], bytes: &[u8], place: usize) {
        if self.is_watched(before, bytes, place) && self.turns.is_empty() {
            let regions = &self.regions;
            self.watch.note(bytes, place, || regions.surroundings());
        }
    }

    /// Whether the first of these bytes, at this place, has to be noted.
    #[inline(always)]
    pub(super) fn is_watched(&self, before: &[u8], bytes: &[u8], place: usize) -> bool {
        let before = || match before.last() {
            Some(byte) => Some(*byte),
            None => self.watch.last_byte(place).filter(|_| self.held_space.is_empty()),
        };
        self.watch.is_anchor(bytes, before)
    }
}
