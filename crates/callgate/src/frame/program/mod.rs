//! Compiling records to a program: one small instruction list for all templates of all listening dialects.
//!
//! The program is run by [`super::threads`] as a set of threads that read the same bytes in step, so dialects that
//! begin alike need no order: the first byte in which they differ decides.

mod attributes;
mod calls;
mod closers;
mod heads;
mod literal;
mod starts;
mod template;

use std::sync::Arc;

use crate::bytes::ByteSet;
use crate::dialect::{Part, Record, Template, turn};
use crate::draft::lines::LineMarks;
use crate::draft::shown::OwnHeads;
use crate::policy::Special;
use crate::rules::ActiveDialect;

use self::calls::{Section, can_be_bare, unwrapped};
pub(crate) use self::closers::CDATA_END;
pub(crate) use self::starts::{ALWAYS_MARKED, begins_with_bar};
use super::closures::Closures;
use super::instructions::SHORTEST_SIGN;
pub(crate) use super::instructions::{Body, Frame, FrameKind, Mark, Nested, Op, Pc, Program, WordPattern};
use super::marks::Marks;
use super::slips::Slip;
use super::stops::Stops;

/// Compiles the records that listen.
pub(crate) fn compile(records: &[ActiveDialect]) -> Program {
    compile_with(records, Special::Either)
}

/// The same, where it is said how markers that are special tokens must come.
pub(crate) fn compile_with(records: &[ActiveDialect], special: Special) -> Program {
    let mut compiler = Compiler {
        program: Program {
            ops: Vec::new(),
            closures: Closures::default(),
            to_space: Vec::new(),
            patterns: Vec::new(),
            bodies: Vec::new(),
            infos: Vec::new(),
            frames: Vec::new(),
            twin_bodies: Vec::new(),
            owner: Vec::new(),
            stops: Vec::new(),
            starts: vec![Vec::new(); 256],
            respelled: Vec::new(),
            prompt_starts: Vec::new(),
            anchors: ByteSet::default(),
            marks: Marks::new([]),
            before: 0,
            markers: Vec::new(),
            opens_by_name: records.iter().any(|listening| listening.chosen && listening.record.known),
            special: (special == Special::Required).then(|| named_tokens(records)),
            opens_unmarked: records.iter().filter(|listening| listening.chosen).any(|listening| {
                // The prompt may have had the marker.
                let prompt = &*listening.record.prompt;
                let opens_marked = |opener: &&Template| {
                    let head = opener.head();
                    head.strip_prefix(prompt).unwrap_or(head).trim_start().starts_with(['<', '['])
                };
                !listening.record.openers().iter().all(opens_marked)
            }),
        },
        any_case: false,
        forgiving: false,
        inner_call: None,
        places: Vec::new(),
        marks: Arc::new(LineMarks::of(
            records.iter().filter(|listening| listening.chosen).map(|listening| &*listening.record),
        )),
        pieces: 0,
        first_literal: false,
        in_call: false,
        none_chosen: !records.iter().any(|listening| listening.chosen),
    };
    let mut seen_texts: Vec<String> = Vec::new();
    for (index, listening) in records.iter().enumerate() {
        compiler.record(index, listening, &mut seen_texts);
    }
    if let Some(first) = records.first() {
        compiler.shared(first);
    }
    let mut program = compiler.program;
    starts::find(&mut program, records);
    join_spaces(&mut program.ops);
    program.ops.shrink_to_fit();
    program.owner.shrink_to_fit();
    program.frames.shrink_to_fit();
    program.closures = Closures::of(&program.ops);
    program.to_space = distances_to_space(&program.ops);
    program.stops = Stops::of_program(&program);
    program
}

/// The tags that are special tokens in the dialects that were chosen, or in all if none was.
fn named_tokens(records: &[ActiveDialect]) -> Arc<[String]> {
    let some_chosen = records.iter().any(|listening| listening.chosen);
    let asked = records.iter().filter(|listening| listening.chosen || !some_chosen);
    asked.flat_map(|listening| listening.record.special.iter().cloned()).collect()
}

/// Per instruction, how far the next free white space is, or the most that is counted.
fn distances_to_space(ops: &[Op]) -> Vec<u8> {
    let mut distance = u8::MAX;
    let mut distances: Vec<u8> = ops
        .iter()
        .rev()
        .map(|op| {
            distance = if *op == Op::Space { 0 } else { distance.saturating_add(1) };
            distance
        })
        .collect();
    distances.reverse();
    distances
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
    /// Whether no dialect was asked for.
    none_chosen: bool,
    /// Whether letters are read in either case.
    any_case: bool,
    /// Whether slips are read: the twin of a frame is being compiled.
    forgiving: bool,
    /// Where the call of the current frame begins inside of its wrapper, if the wrapper is a part of it.
    inner_call: Option<Pc>,
    /// Where the bodies of the current frame stand in its templates, in the order of compilation, with their number.
    places: Vec<(BodyPlace, u16)>,
}

/// A slot of a template, by the address of the template's parts.
type BodyPlace = (usize, usize);

impl Compiler {
    /// What is read alike whichever dialects listen. The frames belong to the first of them.
    fn shared(&mut self, listening: &ActiveDialect) {
        let blocks = turn::RESULTS.iter().flat_map(|(opener, closer)| [opener, closer]);
        for token in turn::ENDS.iter().chain(turn::OTHERS).chain(blocks).chain(turn::TOKENS) {
            self.token(0, listening, token);
        }
        for (before, after) in turn::HEADERS {
            self.header(listening, before, after);
        }
        self.any_case = true;
        for name in turn::result_tags() {
            self.result_tag(listening, name);
            self.token(0, listening, &format!("</{name}>"));
        }
        for name in turn::THOUGHTS {
            let template = Template::parse(&format!("<{name}>\n{{text}}\n</{name}>\n\n"));
            self.thought(0, listening, &template);
        }
        self.any_case = false;
        // What no dialect asked for costs no search.
        let unasked = ActiveDialect { record: listening.record.clone(), chosen: false, live: listening.live };
        for thought in turn::MARKED_THOUGHTS {
            self.thought(0, &unasked, &Template::parse(thought));
        }
    }

    fn thought(&mut self, index: usize, listening: &ActiveDialect, template: &Template) {
        self.plain(index, listening, template, FrameKind::Reasoning);
        if let Some(end) = listening.record.end_of_thought(template) {
            self.plain(index, listening, &Template::parse(&end), FrameKind::ReasoningEnd);
        }
    }

    fn record(&mut self, index: usize, listening: &ActiveDialect, seen: &mut Vec<String>) {
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
            self.calls(index, listening, Section { open, close, kind: FrameKind::Calls });
        }
        let none = Template::default();
        let bare = Section { open: &none, close: &none, kind: FrameKind::Wrapperless };
        let has_bare = record.call.iter().any(|call| can_be_bare(listening, call));
        if !record.open.iter().all(Template::is_empty) && has_bare {
            self.calls(index, listening, bare);
        }
        // Where the wrapper is part of the call itself, the call without it begins at its inner opener.
        if let Some(inner) = unwrapped(listening) {
            let inner =
                ActiveDialect { record: Arc::new(inner), chosen: listening.chosen, live: listening.live };
            self.calls(index, &inner, bare);
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
                // Tags of documents are text, unless the dialect that has them around its messages was asked for.
                if !listening.chosen && kind != FrameKind::Reasoning && !turn::holds_token(template.head()) {
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
        self.tokens(index, listening, &pairs, seen);
    }

    /// What means nothing by itself: the end of something that is not open, and a section without a call.
    fn tokens(
        &mut self,
        index: usize,
        listening: &ActiveDialect,
        pairs: &[(Template, Template)],
        seen: &mut Vec<String>,
    ) {
        let empty = pairs.iter().filter(|(open, close)| {
            let is_plain = open.slots().next().is_none() && !open.head().contains('`');
            Record::is_unmistakable(open) && !close.is_empty() && is_plain
        });
        let empty = empty.map(|(open, close)| format!("{open}{close}"));
        let is_outermost = pairs.iter().all(|(open, _)| open.is_empty());
        let calls = listening.record.call.iter().filter(|_| is_outermost).map(|call| (call, call));
        let wrappers = pairs.iter().map(|(open, close)| (open, close)).chain(calls);
        let empty = empty.chain(wrappers.filter_map(|(open, close)| calls::empty(open, close)));
        let ends = listening.record.end_tokens().map(str::to_owned);
        let thoughts = listening.record.reasoning.iter();
        let thoughts: Vec<String> =
            thoughts.filter_map(|thought| listening.record.end_of_thought(thought)).collect();
        // What stands inside of calls is known by the dialect that was asked for.
        let inner = listening.record.inner_tokens().filter(|_| listening.chosen).map(str::to_owned);
        for token in ends.chain(inner).chain(empty).filter(|token| !thoughts.contains(token)) {
            let is_shared = turn::TOKENS.contains(&token.as_str()) || turn::marked(&token).is_some();
            let key = format!("{:?} {token}", FrameKind::Turn);
            if !is_shared && !seen.contains(&key) {
                seen.push(key);
                self.token(index, listening, &token);
            }
        }
    }

    /// Something that is markup just as it stands.
    fn token(&mut self, index: usize, listening: &ActiveDialect, token: &str) {
        self.begin(index, listening, FrameKind::Turn, false, false);
        self.plain_text(&listening.record, token.trim());
        self.emit(Op::Match);
        if let Some(frame) = self.program.frames.last_mut() {
            frame.marker = token.into();
        }
    }

    /// What begins a message of anybody but the model, with the role between these texts.
    fn header(&mut self, listening: &ActiveDialect, before: &str, after: &str) {
        self.begin(0, listening, FrameKind::Turn, false, false);
        self.plain_text(&listening.record, before);
        if before.ends_with('>') {
            self.seam(&listening.record);
        }
        self.any_case = true;
        self.one_of(turn::ROLES, |compiler, role| compiler.bytes(&listening.record, role));
        self.any_case = false;
        if !after.is_empty() {
            self.plain_text(&listening.record, after);
        }
        self.emit(Op::Match);
        if let Some(frame) = self.program.frames.last_mut() {
            frame.marker = before.into();
        }
    }

    /// The tag before a result, up to its end or its attributes.
    fn result_tag(&mut self, listening: &ActiveDialect, name: &str) {
        self.begin(0, listening, FrameKind::Turn, false, false);
        self.plain_text(&listening.record, &format!("<{name}"));
        self.one_of(&[">", " "], |compiler, end| match *end {
            " " => {
                compiler.emit(Op::Space1);
            }
            end => compiler.plain_text(&listening.record, end),
        });
        self.emit(Op::Match);
        if let Some(frame) = self.program.frames.last_mut() {
            frame.marker = name.into();
        }
    }

    /// A frame around text, reasoning, or nothing.
    fn plain(&mut self, index: usize, listening: &ActiveDialect, template: &Template, kind: FrameKind) {
        self.begin(index, listening, kind, false, false);
        self.template(&listening.record, template, false);
        self.emit(Op::Match);
        let after = match template.parts.last() {
            Some(Part::Literal(l)) => l[l.trim_end().len()..].to_owned(),
            _ => String::new(),
        };
        if let Some(frame) = self.program.frames.last_mut() {
            frame.after = after;
            frame.marker = template.head().trim().into();
            frame.token = frame.marker.split_inclusive(['>', ']']).next().is_some_and(turn::is_token);
        }
    }

    fn begin(
        &mut self,
        index: usize,
        listening: &ActiveDialect,
        kind: FrameKind,
        fence: bool,
        unmarked: bool,
    ) {
        self.pieces = 0;
        self.first_literal = true;
        self.in_call = false;
        self.inner_call = None;
        let frame = Frame {
            record: index,
            kind,
            start: self.here(),
            marker: "".into(),
            opener: "".into(),
            after_prompt: Vec::new(),
            after: String::new(),
            fence,
            unmarked,
            token: false,
            begins_with_name: false,
            reserved: Vec::new(),
            line_start: listening.record.lines || fence,
            live: listening.live,
            chosen: listening.chosen,
            nested: None,
            next_call: 0,
            twin: None,
            call_ends: Vec::new(),
            label: None,
            closers: Vec::new(),
            end_marks: Vec::new(),
            value_marks: Vec::new(),
            value_closers: Vec::new(),
            shown_openers: None,
            heads: OwnHeads::default(),
            ends: Vec::new(),
            openers: Vec::new(),
        };
        self.program.frames.push(frame);
    }

    /// What may be left out; that it is there is preferred.
    fn optional(&mut self, write: impl FnOnce(&mut Self)) {
        let split = self.emit(Op::Split(0, 0));
        write(self);
        let next = self.here();
        self.patch(split, Op::Split(split + 1, next));
    }

    /// What is read though the format does not write it; that it is absent is preferred.
    fn slip(&mut self, write: impl FnOnce(&mut Self)) {
        let split = self.emit(Op::Split(0, 0));
        write(self);
        let next = self.here();
        self.patch(split, Op::Split(next, split + 1));
    }

    /// One of several, the first preferred.
    fn one_of<T>(&mut self, choices: &[T], mut write: impl FnMut(&mut Self, &T)) {
        let mut jumps = Vec::new();
        for (i, choice) in choices.iter().enumerate() {
            let is_last = i + 1 == choices.len();
            let split = (!is_last).then(|| self.emit(Op::Split(0, 0)));
            write(self, choice);
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
    }

    fn here(&self) -> Pc {
        self.program.ops.len() as Pc
    }

    fn emit(&mut self, op: Op) -> Pc {
        let pc = self.here();
        let Program { ops, owner, frames, .. } = &mut self.program;
        if ops.len() == ops.capacity() {
            // By a quarter: what doubling leaves empty is the most that a gate of all dialects would hold for nothing.
            let more = (ops.len() / 4).max(256);
            ops.reserve_exact(more);
            owner.reserve_exact(more);
        }
        ops.push(op);
        owner.push(frames.len().saturating_sub(1) as u16);
        pc
    }

    fn mark(&mut self, mark: Mark) {
        self.emit(Op::Mark(mark));
    }

    fn patch(&mut self, pc: Pc, op: Op) {
        self.program.ops[pc as usize] = op;
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
