//! Compiling records to a program: one small instruction list for all templates of all listening dialects.
//!
//! The program is run by [`super::threads`] as a set of threads that read the same bytes in step, so dialects that
//! begin alike need no order: the first byte in which they differ decides.

use std::sync::Arc;

use crate::bytes::ByteSet;
use crate::dialect::{Part, Record, Slot, Template, pieces, turn};
use crate::draft::lines::LineMarks;
use crate::json::Syntax;

use crate::rules::Listening;

pub(crate) use super::instructions::{Body, Frame, FrameKind, Mark, Nested, Op, Pattern, Pc, Program};
use super::marks::Marks;
use super::stops::Stops;
use super::ways::Ways;

/// The shortest literal that says by itself that a value before it has ended.
const SHORTEST_SIGN: usize = 4;

/// Compiles the records that listen.
pub(crate) fn compile(records: &[Listening]) -> Program {
    let mut compiler = Compiler {
        program: Program {
            ops: Vec::new(),
            ways: Ways::default(),
            patterns: Vec::new(),
            bodies: Vec::new(),
            infos: Vec::new(),
            frames: Vec::new(),
            owner: Vec::new(),
            stops: Vec::new(),
            starts: vec![Vec::new(); 256],
            prompt_starts: Vec::new(),
            anchors: ByteSet::default(),
            marks: Marks::new([]),
            before: 0,
            markers: Vec::new(),
        },
        any_case: false,
        marks: Arc::new(LineMarks::of(
            records.iter().filter(|listening| listening.chosen).map(|listening| &*listening.record),
        )),
        pieces: 0,
        first_literal: false,
        in_call: false,
    };
    let mut seen_texts: Vec<String> = Vec::new();
    for (index, listening) in records.iter().enumerate() {
        compiler.record(index, listening, &mut seen_texts);
    }
    if let Some(first) = records.first() {
        compiler.shared(first);
    }
    let mut program = compiler.finish(records);
    join_spaces(&mut program.ops);
    program.ways = Ways::of(&program.ops);
    program.stops = Stops::of_program(&program);
    program
}

struct Compiler {
    program: Program,
    /// What ends arguments that are written as lines.
    marks: Arc<LineMarks>,
    /// How many literal pieces the current frame has had.
    pieces: usize,
    /// Whether the next literal is the first of its frame, so that the prompt may have taken its start.
    first_literal: bool,
    in_call: bool,
    /// Whether letters are read in either case.
    any_case: bool,
}

impl Compiler {
    /// What is read alike whichever dialects listen. The frames belong to the first of them.
    fn shared(&mut self, listening: &Listening) {
        for turn in turn::ENDS.iter().chain(turn::OTHERS) {
            for marker in [Some(turn.marker), turn.closer].into_iter().flatten() {
                self.plain(0, listening, &Template::parse(marker), FrameKind::Turn);
            }
        }
        self.any_case = true;
        for name in turn::THOUGHTS {
            let template = Template::parse(&format!("<{name}>\n{{text}}\n</{name}>\n\n"));
            self.thought(0, listening, &template);
        }
        self.any_case = false;
    }

    fn thought(&mut self, index: usize, listening: &Listening, template: &Template) {
        self.plain(index, listening, template, FrameKind::Reasoning);
        if let Some(end) = closing_tag(template) {
            self.plain(index, listening, &Template::parse(end), FrameKind::ReasoningEnd);
        }
    }

    fn record(&mut self, index: usize, listening: &Listening, seen: &mut Vec<String>) {
        let record = &listening.record;
        self.program.before = self.program.before.max(record.before.len());
        let pairs: Vec<(Template, Template)> = if record.open.is_empty() && record.close.is_empty() {
            vec![(Template::default(), Template::default())]
        } else {
            let longest = record.open.len().max(record.close.len());
            let at = |list: &[Template], i: usize| list.get(i).cloned().unwrap_or_default();
            (0..longest).map(|i| (at(&record.open, i), at(&record.close, i))).collect()
        };
        for (open, close) in &pairs {
            self.calls(index, listening, open, close, FrameKind::Calls);
        }
        let none = Template::default();
        let has_bare = record.call.iter().any(|call| can_be_bare(listening, call));
        if !record.open.iter().all(Template::is_empty) && has_bare {
            self.calls(index, listening, &none, &none, FrameKind::Wrapperless);
        }
        // Where the wrapper is part of the call itself, the call without it begins at its inner opener.
        let inner: Vec<Template> = record
            .bare
            .iter()
            .flat_map(|bare| record.call.iter().filter_map(|call| without_wrapper(call, bare)))
            .collect();
        if !inner.is_empty() {
            let inner = Listening {
                record: Arc::new(Record { call: inner, ..(**record).clone() }),
                chosen: listening.chosen,
                live: listening.live,
            };
            self.calls(index, &inner, &none, &none, FrameKind::Wrapperless);
        }
        for (templates, kind) in [
            (&record.text, FrameKind::Text),
            (&record.reasoning, FrameKind::Reasoning),
            (&record.noise, FrameKind::Noise),
        ] {
            for template in templates {
                // The same `<think>` stands in many records: one frame of it is enough.
                let key = format!("{kind:?} {template}");
                if template.head().is_empty() || seen.contains(&key) {
                    continue;
                }
                if !listening.chosen && !Record::is_unmistakable(template) {
                    continue;
                }
                seen.push(key);
                if kind == FrameKind::Reasoning {
                    self.thought(index, listening, template);
                } else {
                    self.plain(index, listening, template, kind);
                }
            }
        }
    }

    /// A frame of calls: `open (call (join call)*) close`.
    fn calls(
        &mut self,
        index: usize,
        listening: &Listening,
        open: &Template,
        close: &Template,
        kind: FrameKind,
    ) {
        let record = &*listening.record;
        let has_section = !open.is_empty() || !close.is_empty();
        let calls: Vec<&Template> = record
            .call
            .iter()
            .filter(|call| {
                kind == FrameKind::Calls
                    && (listening.chosen || !open.is_empty() || Record::is_unmistakable(call))
                    || kind == FrameKind::Wrapperless && can_be_bare(listening, call)
            })
            .collect();
        if calls.is_empty() || (!open.is_empty() && !listening.chosen && !Record::is_unmistakable(open)) {
            return;
        }
        let first = if open.is_empty() { calls[0] } else { open };
        let fence = fence_info(first.head()).is_some();
        let unmarked = fence || first.head().trim().len() < 2;
        self.begin(index, listening, kind, fence, unmarked && !record.known);
        self.template(record, open, fence);
        if has_section {
            self.mark(Mark::Opened);
            self.gap(record);
        }
        let again = self.here();
        self.mark(Mark::CallStart);
        self.in_call = true;
        let mut ends = Vec::new();
        for (i, call) in calls.iter().enumerate() {
            let last = i + 1 == calls.len();
            let split = (!last).then(|| self.emit(Op::Split(0, 0)));
            let pieces = self.pieces;
            let first_literal = self.first_literal;
            self.template(record, call, fence);
            self.pieces = pieces;
            self.first_literal = first_literal;
            ends.push(self.emit(Op::Jump(0)));
            if let Some(split) = split {
                let next = self.here();
                self.patch(split, Op::Split(split + 1, next));
            }
        }
        let end = self.here();
        for jump in ends {
            self.patch(jump, Op::Jump(end));
        }
        self.in_call = false;
        let next_call = self.here();
        self.mark(Mark::CallEnd);
        let join_literal = record.join.to_string();
        let loops = has_section || !join_literal.trim().is_empty();
        if loops {
            let split = self.emit(Op::Split(0, 0));
            self.gap(record);
            if !join_literal.trim().is_empty() {
                let with_join = self.emit(Op::Split(0, 0));
                self.literal(record, &join_literal, true, true);
                self.gap(record);
                let next = self.here();
                self.patch(with_join, Op::Split(with_join + 1, next));
            }
            self.emit(Op::Jump(again));
            let out = self.here();
            self.patch(split, Op::Split(split + 1, out));
        }
        if !close.is_empty() {
            self.emit(Op::Space);
            self.template(record, close, fence);
        }
        if kind == FrameKind::Wrapperless && !record.close.iter().all(Template::is_empty) {
            // The closer of the missing wrapper may be there all the same.
            let split = self.emit(Op::Split(0, 0));
            self.emit(Op::Space);
            if let Some(close) = record.close.first() {
                self.template(record, close, false);
            }
            let out = self.here();
            self.patch(split, Op::Split(split + 1, out));
        }
        self.emit(Op::Match);
        let nested = record.item.as_ref().map(|item| self.nested(record, item));
        let tail = if close.is_empty() { calls[0] } else { close };
        let after = tail.literals().last().map_or("", |l| &l[l.trim_end().len()..]).to_owned();
        let lasts = |templates: &[Template]| -> Vec<String> {
            // A closer that repeats the name keeps its placeholder, to be filled in where it is needed.
            let last = |t: &Template| match t.parts.as_slice() {
                [.., Part::Literal(before), Part::Slot(Slot::Name), Part::Literal(after)]
                    if after.trim().len() == 1 =>
                {
                    Some(format!("{}{{name}}{}", before.trim(), after.trim()))
                }
                [.., Part::Literal(l)] if l.trim().len() > 1 => Some(l.trim().to_owned()),
                _ => None,
            };
            templates.iter().filter_map(last).flat_map(|l| spellings(record, &l)).collect()
        };
        let ends = lasts(&record.close);
        let call_ends = lasts(&record.call);
        let openers = record
            .open
            .iter()
            .chain(&record.call)
            .map(|t| t.head().trim().to_owned())
            .filter(|l| l.len() > 1)
            .flat_map(|l| spellings(record, &l))
            .collect();
        self.end(after, ends, openers);
        if let Some(frame) = self.program.frames.last_mut() {
            frame.next_call = next_call;
            frame.marker = first.head().trim().into();
            frame.nested = nested;
            if !record.param.is_empty() {
                frame.closers = lasts(&record.param);
                frame.closers.extend(call_ends.iter().cloned());
            }
            frame.call_ends = call_ends;
        }
    }

    /// What may stand between calls: white space, and in a format of lines remarks.
    fn gap(&mut self, record: &Record) {
        let space = self.emit(Op::Space);
        if record.syntax == Syntax::Lines {
            let split = self.emit(Op::Split(0, 0));
            self.emit(Op::Byte(b'#'));
            self.emit(Op::RestOfLine);
            self.emit(Op::Jump(space));
            let out = self.here();
            self.patch(split, Op::Split(split + 1, out));
        }
    }

    /// Elements inside of values: the parameters again, and the elements of lists.
    fn nested(&mut self, record: &Record, item: &Template) -> Nested {
        let mut element = |template: &Template| {
            let start = self.emit(Op::Space);
            self.template(record, template, false);
            self.emit(Op::Return);
            start
        };
        let members = record.param.iter().map(&mut element).collect();
        Nested { members, item: element(item) }
    }

    /// A frame around text, reasoning, or nothing.
    fn plain(&mut self, index: usize, listening: &Listening, template: &Template, kind: FrameKind) {
        self.begin(index, listening, kind, false, false);
        self.template(&listening.record, template, false);
        self.emit(Op::Match);
        let after = match template.parts.last() {
            Some(Part::Literal(l)) => l[l.trim_end().len()..].to_owned(),
            _ => String::new(),
        };
        self.end(after, Vec::new(), Vec::new());
        if let Some(frame) = self.program.frames.last_mut() {
            frame.marker = template.head().trim().into();
        }
    }

    fn begin(&mut self, index: usize, listening: &Listening, kind: FrameKind, fence: bool, unmarked: bool) {
        self.pieces = 0;
        self.first_literal = true;
        self.in_call = false;
        let frame = Frame {
            record: index,
            kind,
            start: self.here(),
            marker: "".into(),
            after: String::new(),
            fence,
            unmarked,
            line_start: listening.record.lines || fence,
            live: listening.live,
            chosen: listening.chosen,
            nested: None,
            next_call: 0,
            call_ends: Vec::new(),
            closers: Vec::new(),
            ends: Vec::new(),
            openers: Vec::new(),
        };
        self.program.frames.push(frame);
    }

    fn end(&mut self, after: String, ends: Vec<String>, openers: Vec<String>) {
        if let Some(frame) = self.program.frames.last_mut() {
            frame.after = after;
            frame.ends = ends;
            frame.openers = openers;
        }
    }

    /// One template. In a `fence` the literals with backticks are the lines of the fence.
    fn template(&mut self, record: &Record, template: &Template, fence: bool) {
        let parts = &template.parts;
        let mut bound: Vec<Slot> = Vec::new();
        let mut body_seen = false;
        let mut unit = 0;
        let mut i = 0;
        while i < parts.len() {
            match &parts[i] {
                Part::Literal(text) => {
                    let left_raw = i > 0 && is_raw(&parts[i - 1]);
                    let right_raw =
                        parts.get(i + 1).is_some_and(|next| is_raw(next) || reads_lines(record, next));
                    let is_last = i + 1 == parts.len();
                    let next_to_suffix = i > 0 && parts[i - 1] == Part::Slot(Slot::Suffix);
                    let mut text = text.as_str();
                    if fence && let Some(info) = fence_info(text).filter(|_| self.pieces == 0) {
                        self.program.infos.push(info);
                        self.emit(Op::Fence((self.program.infos.len() - 1) as u16));
                        self.mark(Mark::Piece);
                        text = text.split_once('\n').map_or("", |(_, rest)| rest);
                        self.pieces = 1;
                        self.first_literal = false;
                    }
                    let closes_fence = fence && is_last && text.ends_with("```");
                    if closes_fence {
                        text = text.trim_end_matches('`').trim_end();
                    }
                    // White space next to a raw slot belongs to the slot; at the end of a frame it is layout.
                    if left_raw {
                        text = text.trim_start();
                    }
                    if right_raw || is_last {
                        text = text.trim_end();
                    }
                    let pieces = self.pieces;
                    // White space at the end comes after what the literal means, so that the meaning does not wait.
                    let (text, gap) = text.split_at(text.trim_end().len());
                    self.literal(record, text, !left_raw, !right_raw);
                    if next_to_suffix {
                        self.pieces = pieces;
                    } else if self.pieces > 1 && self.in_call && !record.known && !text.is_empty() {
                        self.mark(Mark::Commit);
                    }
                    if !gap.is_empty() {
                        self.bytes(record, gap);
                    }
                    if closes_fence {
                        self.emit(Op::FenceEnd);
                        self.mark(Mark::Literal);
                    }
                    unit += text.trim().len();
                }
                Part::Slot(Slot::Suffix) => {
                    self.emit(Op::Suffix);
                }
                Part::Slot(slot) if slot.is_word() => {
                    if bound.contains(slot) && body_seen {
                        self.emit(Op::Repeat(*slot));
                        unit += 2;
                    } else {
                        i = self.word(record, parts, i, &mut bound);
                    }
                }
                Part::Slot(Slot::Params) => {
                    self.params(record);
                    body_seen = true;
                }
                Part::Slot(slot) => {
                    let lead = match i.checked_sub(1).map(|j| &parts[j]) {
                        Some(Part::Literal(l)) => l[l.trim_end().len()..].to_owned(),
                        _ => String::new(),
                    };
                    let trail = match parts.get(i + 1) {
                        Some(Part::Literal(l)) => l[..l.len() - l.trim_start().len()].to_owned(),
                        _ => String::new(),
                    };
                    let kind = self.program.frames.last().map(|frame| frame.kind);
                    let body = match slot {
                        Slot::Object => Body::Object,
                        Slot::Arguments if record.syntax == Syntax::Lines => Body::Lines(self.marks.clone()),
                        Slot::Arguments => Body::Arguments { kwargs: record.syntax == Syntax::Kwargs },
                        Slot::Value => Body::Value { lead, trail },
                        Slot::Code => Body::Code,
                        Slot::Text if kind == Some(FrameKind::Reasoning) => Body::Reasoning { lead, trail },
                        Slot::Text => Body::Text,
                        _ => Body::Skip,
                    };
                    let body = self.body(body);
                    if !slot.is_raw() && !reads_lines(record, &parts[i]) {
                        self.emit(Op::Space);
                    }
                    self.emit(Op::Body(body));
                    // The closing line of a fence reads the white space before it, to see the line break.
                    let fence_next =
                        fence && matches!(parts.get(i + 1), Some(Part::Literal(l)) if l.trim() == "```");
                    if !slot.is_raw() && !fence_next && i + 1 < parts.len() {
                        self.emit(Op::Space);
                    }
                    body_seen = true;
                }
            }
            i += 1;
            // A literal may be made of several parts; what counts is its end, and whether it can be mistaken.
            let goes_on = match parts.get(i) {
                Some(Part::Literal(_) | Part::Slot(Slot::Suffix)) => true,
                Some(Part::Slot(slot)) => slot.is_word() && bound.contains(slot) && body_seen,
                None => false,
            };
            if !goes_on {
                if unit >= SHORTEST_SIGN {
                    self.mark(Mark::Literal);
                }
                unit = 0;
            }
        }
    }

    /// `param*`: after each parameter either another or what follows.
    fn params(&mut self, record: &Record) {
        let again = self.emit(Op::Space);
        let mut exits = Vec::new();
        for param in &record.param {
            let split = self.emit(Op::Split(0, 0));
            self.template(record, param, false);
            self.emit(Op::Jump(again));
            exits.push(split);
            let next = self.here();
            self.patch(split, Op::Split(split + 1, next));
        }
    }

    /// A word: one slot, or several with literals of word characters between them. Returns the last part it took.
    fn word(&mut self, record: &Record, parts: &[Part], mut i: usize, bound: &mut Vec<Slot>) -> usize {
        let mut slots = Vec::new();
        while let Some(Part::Slot(slot)) = parts.get(i) {
            bound.push(*slot);
            let literal = match parts.get(i + 1) {
                Some(Part::Literal(text)) => text.as_str(),
                _ => "",
            };
            let inner: usize = literal.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum();
            if inner == 0 {
                slots.push((*slot, String::new()));
                break;
            }
            slots.push((*slot, literal[..inner].to_owned()));
            let next_is_word = matches!(parts.get(i + 2), Some(Part::Slot(s)) if s.is_word());
            if inner == literal.len() && next_is_word {
                i += 2;
                continue;
            }
            let pattern = self.pattern(Pattern { slots });
            self.seam(record);
            self.emit(Op::Word(pattern));
            self.seam(record);
            // What is left of the literal after its word characters.
            for byte in literal[inner..].trim_start().bytes() {
                self.emit(Op::Byte(byte));
            }
            self.mark(Mark::Piece);
            self.mark(Mark::Commit);
            return i + 1;
        }
        let pattern = self.pattern(Pattern { slots });
        self.seam(record);
        self.emit(Op::Word(pattern));
        self.seam(record);
        i
    }

    /// Free white space, except where line breaks mean something.
    fn seam(&mut self, record: &Record) {
        if !record.lines {
            self.emit(Op::Space);
        }
    }

    /// A literal with its other spellings. Seams are free white space, except next to a raw slot.
    fn literal(&mut self, record: &Record, text: &str, left_seam: bool, right_seam: bool) {
        let mut rest = text;
        // What the prompt already ends with may be left out at the start of a frame.
        if self.first_literal && !record.prompt.is_empty() && rest.starts_with(&record.prompt) {
            let skip = self.emit(Op::Prompt(0));
            self.plain_text(record, &record.prompt);
            let next = self.here();
            // Elsewhere than at the very start, what follows the prompt must be a marker by itself.
            let after_prompt = rest[record.prompt.len()..].trim_start();
            let is_marker = after_prompt.starts_with(['<', '[']);
            self.patch(skip, if is_marker { Op::Prompt(next) } else { Op::Jump(skip + 1) });
            // Only a dialect that was chosen may take for granted what its prompt ends with.
            if self.program.frames.last().is_some_and(|frame| frame.chosen) {
                self.program.prompt_starts.push(next);
            }
            rest = &rest[record.prompt.len()..];
        }
        self.first_literal = false;
        let pieces = pieces(rest, &record.also);
        for (at, piece) in pieces.iter().enumerate() {
            let is_seam = at > 0 || left_seam;
            let Some(others) = piece.others else {
                if is_seam {
                    self.seam(record);
                }
                self.plain_text(record, piece.text);
                continue;
            };
            if is_seam {
                self.emit(Op::Space);
            }
            self.spelled(record, piece.text, others);
            if at + 1 < pieces.len() && right_seam {
                self.emit(Op::Space);
            }
        }
    }

    /// One literal with its other spellings, the longest first; an empty one means that it may be absent.
    fn spelled(&mut self, record: &Record, key: &str, others: &[String]) {
        let mut spellings: Vec<&str> = others.iter().map(String::as_str).chain([key]).collect();
        spellings.sort_by_key(|s| usize::MAX - s.len());
        let mut jumps = Vec::new();
        for (i, spelling) in spellings.iter().enumerate() {
            let last = i + 1 == spellings.len();
            let split = (!last).then(|| self.emit(Op::Split(0, 0)));
            if spelling.trim().is_empty() {
                self.mark(Mark::Skipped);
            } else {
                self.bytes(record, spelling);
                if spelling.trim().len() >= SHORTEST_SIGN {
                    self.mark(Mark::Piece);
                }
            }
            jumps.push(self.emit(Op::Jump(0)));
            if let Some(split) = split {
                let next = self.here();
                self.patch(split, Op::Split(split + 1, next));
            }
        }
        let end = self.here();
        for jump in jumps {
            self.patch(jump, Op::Jump(end));
        }
        self.pieces += 1;
    }

    fn plain_text(&mut self, record: &Record, text: &str) {
        self.bytes(record, text);
        if text.trim().len() >= SHORTEST_SIGN {
            self.mark(Mark::Piece);
        }
        self.pieces += usize::from(!text.trim().is_empty());
    }

    /// Bytes, with each run of white space made free: some between two word characters, any elsewhere.
    fn bytes(&mut self, record: &Record, text: &str) {
        let mut chars = text.char_indices().peekable();
        let mut before = None;
        while let Some((_, c)) = chars.next() {
            if !c.is_whitespace() {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    self.byte(byte);
                }
                before = Some(c);
                continue;
            }
            let mut has_break = c == '\n';
            while let Some((_, next)) = chars.peek().filter(|(_, next)| next.is_whitespace()) {
                has_break |= *next == '\n';
                chars.next();
            }
            let after = chars.peek().map(|(_, next)| *next);
            let between_words =
                before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
            // What is needed once is followed by free space.
            if record.lines && has_break && self.in_call {
                self.emit(Op::Line);
            } else if between_words {
                self.emit(Op::Space1);
            }
            self.emit(Op::Space);
        }
    }

    fn byte(&mut self, byte: u8) {
        if !self.any_case || !byte.is_ascii_alphabetic() {
            self.emit(Op::Byte(byte));
            return;
        }
        let split = self.emit(Op::Split(0, 0));
        self.emit(Op::Byte(byte.to_ascii_lowercase()));
        let jump = self.emit(Op::Jump(0));
        let other = self.emit(Op::Byte(byte.to_ascii_uppercase()));
        self.patch(split, Op::Split(split + 1, other));
        self.patch(jump, Op::Jump(other + 1));
    }

    fn finish(mut self, records: &[Listening]) -> Program {
        let program = &mut self.program;
        let marked = program.frames.iter().filter(|frame| frame.kind == FrameKind::Calls && !frame.unmarked);
        let mut markers: Vec<Arc<str>> = marked
            .map(|frame| first_token(&frame.marker))
            .filter(|token| token.len() >= SHORTEST_SIGN)
            .collect();
        markers.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        markers.dedup();
        program.markers = markers;
        let mut anchors = ByteSet::default();
        for frame in 0..program.frames.len() {
            if (0..frame).any(|earlier| stands_for(program, records, earlier, frame)) {
                continue;
            }
            let start = program.frames[frame].start;
            let chosen = program.frames[frame].chosen;
            for (byte, via_prompt) in first_bytes(&program.ops, start) {
                // A header that starts with a word is only a header right after the prompt.
                if via_prompt && !matches!(byte, b'<' | b'[') {
                    continue;
                }
                if !chosen && !matches!(byte, b'<' | b'[' | b'`' | b'~' | b']') {
                    continue;
                }
                anchors.insert(byte);
                if !program.starts[byte as usize].contains(&start) {
                    program.starts[byte as usize].push(start);
                }
            }
        }
        // Regions are told apart by what begins with the others.
        program.marks = Marks::new(anchors.iter().chain([b'`', b'~', b'<', b'[', b'{']));
        program.anchors = anchors;
        self.program
    }

    fn here(&self) -> Pc {
        self.program.ops.len() as Pc
    }

    fn emit(&mut self, op: Op) -> Pc {
        let pc = self.here();
        self.program.ops.push(op);
        self.program.owner.push(self.program.frames.len().saturating_sub(1) as u16);
        pc
    }

    fn mark(&mut self, mark: Mark) {
        self.emit(Op::Mark(mark));
    }

    fn patch(&mut self, pc: Pc, op: Op) {
        self.program.ops[pc as usize] = op;
    }

    fn pattern(&mut self, pattern: Pattern) -> u16 {
        self.program.patterns.push(pattern);
        (self.program.patterns.len() - 1) as u16
    }

    fn body(&mut self, body: Body) -> u16 {
        self.program.bodies.push(body);
        (self.program.bodies.len() - 1) as u16
    }
}

/// Where free white space follows free white space and nothing but counts stand between, once is enough: each would be
/// a thread.
fn join_spaces(ops: &mut [Op]) {
    for pc in 0..ops.len() {
        let mut next = pc + 1;
        while let Some(Op::Mark(Mark::Piece | Mark::Literal)) = ops.get(next) {
            next += 1;
        }
        if ops[pc] == Op::Space && ops.get(next) == Some(&Op::Space) {
            ops[pc] = Op::Jump(pc as Pc + 1);
        }
    }
}

/// Whether a frame is read just like a later one, which then can never be preferred and need not listen: many models
/// write the same format.
fn stands_for(program: &Program, records: &[Listening], earlier: usize, later: usize) -> bool {
    let (one, two) = (&program.frames[earlier], &program.frames[later]);
    let known = |frame: &Frame| records[frame.record].record.known;
    if one.marker != two.marker
        || (one.kind, one.fence, one.unmarked, one.line_start, known(one))
            != (two.kind, two.fence, two.unmarked, two.line_start, known(two))
        || two.chosen && !one.chosen
        || two.live && !one.live
    {
        return false;
    }
    let end =
        |frame: usize| program.frames.get(frame + 1).map_or(program.ops.len(), |next| next.start as usize);
    let ops = |frame: usize| &program.ops[program.frames[frame].start as usize..end(frame)];
    let same_place = |a: Pc, b: Pc| a.wrapping_sub(one.start) == b.wrapping_sub(two.start);
    let is_same = |(a, b): (&Op, &Op)| match (*a, *b) {
        (Op::Split(a, c), Op::Split(b, d)) => same_place(a, b) && same_place(c, d),
        (Op::Prompt(a), Op::Prompt(b)) | (Op::Jump(a), Op::Jump(b)) => same_place(a, b),
        (Op::Word(a), Op::Word(b)) => program.patterns[a as usize] == program.patterns[b as usize],
        (Op::Body(a), Op::Body(b)) => program.bodies[a as usize] == program.bodies[b as usize],
        (Op::Fence(a), Op::Fence(b)) => program.infos[a as usize] == program.infos[b as usize],
        (a, b) => a == b,
    };
    ops(earlier).len() == ops(later).len() && ops(earlier).iter().zip(ops(later)).all(is_same)
}

/// The bytes with which a frame can start, and whether the prompt was taken as read.
fn first_bytes(ops: &[Op], start: Pc) -> Vec<(u8, bool)> {
    let mut found = Vec::new();
    let mut stack = vec![(start, false)];
    let mut seen = Vec::new();
    while let Some((pc, via_prompt)) = stack.pop() {
        if seen.contains(&(pc, via_prompt)) {
            continue;
        }
        seen.push((pc, via_prompt));
        match ops[pc as usize] {
            Op::Byte(byte) => found.push((byte, via_prompt)),
            Op::Space | Op::Mark(_) | Op::Suffix => stack.push((pc + 1, via_prompt)),
            Op::Split(a, b) => stack.extend([(a, via_prompt), (b, via_prompt)]),
            Op::Prompt(next) => stack.extend([(pc + 1, via_prompt), (next, true)]),
            Op::Jump(to) => stack.push((to, via_prompt)),
            Op::Body(_) => found.push((b'{', via_prompt)),
            Op::Fence(_) => found.extend([(b'`', via_prompt), (b'~', via_prompt)]),
            _ => {}
        }
    }
    found
}

/// The first token of a marker: up to the bracket that closes the one it begins with, or all of it.
fn first_token(marker: &Arc<str>) -> Arc<str> {
    let closer = match marker.chars().next() {
        Some('<') => '>',
        Some('[') => ']',
        _ => return marker.clone(),
    };
    marker.find(closer).map_or_else(|| marker.clone(), |at| marker[..=at].into())
}

/// A call from its inner opener on, if that stands behind a wrapper in its first literal.
fn without_wrapper(call: &Template, bare: &str) -> Option<Template> {
    let at = call.head().find(bare).filter(|at| *at > 0)?;
    let mut inner = call.clone();
    if let Some(Part::Literal(first)) = inner.parts.first_mut() {
        first.drain(..at);
    }
    Some(inner)
}

/// The closer of a template if it is the opener with a slash in it (`<think>`, `</think>`): such a closer means the
/// end of reasoning even where its start was in the prompt.
fn closing_tag(template: &Template) -> Option<&str> {
    let opener = template.head().trim();
    let closer = template.literals().last()?.trim();
    (closer.len() == opener.len() + 1 && closer.replacen('/', "", 1) == opener).then_some(closer)
}

/// The first word of the info string if a literal opens a code fence.
fn fence_info(literal: &str) -> Option<String> {
    let rest = literal.strip_prefix("```")?;
    let (info, _) = rest.split_once('\n')?;
    Some(info.trim().to_ascii_lowercase())
}

fn spellings(record: &Record, literal: &str) -> Vec<String> {
    let mut all = vec![literal.to_owned()];
    for (key, others) in &record.also {
        if key.trim() == literal {
            all.extend(others.iter().map(|o| o.trim().to_owned()).filter(|o| o.len() > 1));
        }
    }
    all
}

/// Whether a call is read without the section around it: its opener cannot be mistaken, or the record says that it
/// stands for itself where the dialect was asked for.
fn can_be_bare(listening: &Listening, call: &Template) -> bool {
    let is_listed = || listening.record.bare.iter().any(|bare| call.head().starts_with(bare.as_str()));
    Record::is_unmistakable(call) || listening.chosen && is_listed()
}

/// Whether this part is read line by line, white space included.
fn reads_lines(record: &Record, part: &Part) -> bool {
    record.syntax == Syntax::Lines && *part == Part::Slot(Slot::Arguments)
}

fn is_raw(part: &Part) -> bool {
    matches!(part, Part::Slot(slot) if slot.is_raw())
}

fn is_word(c: char) -> bool {
    crate::dialect::is_word_character(c)
}
