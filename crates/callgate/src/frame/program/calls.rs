//! Frames of calls: a section around them, the calls themselves, and what stands between two of them.

use std::sync::Arc;

use super::heads::{heads, in_json};
use super::starts::first_token;
use super::template::opens_fence;
use super::{ActiveDialect, BodyPlace, Compiler, FrameKind, Mark, Nested, Op, Pc, SHORTEST_SIGN, Slip};
use crate::dialect::call_markers::is_call_marker;
use crate::dialect::{Part, Record, Slot, Template, markers, turn};
use crate::json::Syntax;

/// What stands around calls; empty templates where nothing does.
#[derive(Clone, Copy)]
pub(super) struct Section<'t> {
    pub(super) open: &'t Template,
    pub(super) close: &'t Template,
    pub(super) kind: FrameKind,
}

impl Section<'_> {
    fn is_written(&self) -> bool {
        !self.open.is_empty() || !self.close.is_empty()
    }

    /// The calls that are read in it.
    fn calls<'r>(&self, listening: &'r ActiveDialect) -> Vec<&'r Template> {
        let is_read = |call: &&Template| match self.kind {
            FrameKind::Calls => listening.chosen || !self.open.is_empty() || Record::is_unmistakable(call),
            FrameKind::Wrapperless => can_be_bare(listening, call),
            _ => false,
        };
        listening.record.call.iter().filter(is_read).collect()
    }
}

impl Compiler {
    /// A frame of calls: `open (call (join call)*) close`.
    pub(super) fn calls(&mut self, index: usize, listening: &ActiveDialect, section: Section<'_>) {
        let record = &*listening.record;
        let open = section.open;
        let calls = section.calls(listening);
        let Some(first_call) = calls.first().copied() else { return };
        if !open.is_empty() && !listening.chosen && !Record::is_unmistakable(open) {
            return;
        }
        let first = if open.is_empty() { first_call } else { open };
        let unmarked = !record.known && (opens_fence(first.head()) || first.head().trim().len() < 2);
        let strict = self.program.frames.len();
        self.places.clear();
        self.frame_of_calls(index, listening, section, &calls, unmarked);
        // What is made of lines, or of the tools' own names alone, could be anything if it were read with slips.
        let is_bare = record.known && first.head().trim().len() < SHORTEST_SIGN;
        if opens_fence(first.head()) || is_bare {
            return;
        }
        let places = std::mem::take(&mut self.places);
        self.forgiving = true;
        self.program.frames[strict].twin = u16::try_from(self.program.frames.len()).ok();
        self.frame_of_calls(index, listening, section, &calls, unmarked);
        self.forgiving = false;
        self.link(&places);
    }

    /// Notes where the twin has the bodies of its frame.
    fn link(&mut self, strict: &[(BodyPlace, u16)]) {
        self.program.twin_bodies.resize(self.program.bodies.len(), None);
        let twins = std::mem::take(&mut self.places);
        let mut taken = vec![false; twins.len()];
        for (place, body) in strict {
            let same = |i: &usize| twins[*i].0 == *place && !taken[*i];
            let Some(i) = (0..twins.len()).find(same) else { continue };
            taken[i] = true;
            let twin = Op::Body(twins[i].1);
            let pc = self.program.ops.iter().rposition(|op| *op == twin);
            self.program.twin_bodies[*body as usize] = pc.map(|pc| pc as Pc);
        }
    }

    fn frame_of_calls(
        &mut self,
        index: usize,
        listening: &ActiveDialect,
        section: Section<'_>,
        calls: &[&Template],
        unmarked: bool,
    ) {
        let record = &*listening.record;
        let Section { open, close, kind } = section;
        let Some(first_call) = calls.first().copied() else { return };
        let first = if open.is_empty() { first_call } else { open };
        let fence = opens_fence(first.head());
        self.begin(index, listening, kind, fence, unmarked);
        self.template(record, open, fence);
        if section.is_written() {
            self.mark(Mark::Opened);
            self.gap(record);
        }
        let call_start = self.here();
        self.one_call(record, calls, fence);
        let next_call = self.here();
        self.mark(Mark::CallEnd);
        self.another_call(record, section, call_start);
        self.another_without_token(record, calls, call_start);
        self.another_in_wrapper();
        self.section_end(record, section, fence);
        self.emit(Op::Match);
        let nested = record.item.as_ref().map(|item| self.nested(record, item));
        let tail = if close.is_empty() { first_call } else { close };
        let Some(frame) = self.program.frames.last_mut() else { return };
        frame.begins_with_name = record.known && record.lines && first.head().is_empty();
        frame.reserved = record.reserved_names();
        frame.next_call = next_call;
        frame.nested = nested;
        frame.marker = first.head().trim().into();
        frame.opener = first_token(&frame.marker);
        frame.after = tail.literals().last().map_or("", |l| &l[l.trim_end().len()..]).to_owned();
        frame.openers = openers(record);
        frame.label = record.call.iter().find_map(label);
        frame.ends = closers(record, &record.close);
        frame.call_ends = closers(record, &record.call);
        frame.end_marks = value_marks(&frame.call_ends);
        frame.end_marks.extend(value_marks(&frame.ends));
        if !record.param.is_empty() {
            frame.closers = closers(record, &record.param);
            frame.value_marks = value_marks(&frame.closers);
            frame.value_closers = frame.closers.clone();
            frame.closers.extend(frame.call_ends.iter().cloned());
            frame.shown_openers =
                Some(value_marks(&frame.openers).iter().map(|mark| in_json(mark)).collect());
            let ends: Vec<&String> = frame.call_ends.iter().chain(&frame.ends).collect();
            frame.heads = heads(record, &ends);
        }
    }

    /// One call, in any of its forms. Each begins with what the section before it has had.
    fn one_call(&mut self, record: &Record, calls: &[&Template], fence: bool) {
        self.mark(Mark::CallStart);
        self.in_call = true;
        let (pieces, first_literal) = (self.pieces, self.first_literal);
        let object = Template::parse("{object}");
        let mut calls = calls.to_vec();
        // Where calls are written as code, JSON is read as well.
        if self.forgiving
            && record.syntax == Syntax::Kwargs
            && calls.iter().all(|call| !call.has(Slot::Object))
        {
            calls.push(&object);
        }
        self.one_of(&calls, |compiler, call| {
            compiler.template(record, call, fence);
            (compiler.pieces, compiler.first_literal) = (pieces, first_literal);
        });
        self.in_call = false;
    }

    /// The way back to the start of a call, where several can stand in one frame.
    fn another_call(&mut self, record: &Record, section: Section<'_>, call_start: Pc) {
        let join = record.join.to_string();
        let is_joined = !join.trim().is_empty();
        if !section.is_written() && !is_joined && !self.forgiving {
            return;
        }
        self.optional(|compiler| {
            compiler.gap(record);
            if is_joined {
                compiler.optional(|compiler| {
                    compiler.literal(record, &join, true, true);
                    compiler.gap(record);
                });
            }
            compiler.comma();
            compiler.emit(Op::Jump(call_start));
        });
    }

    /// Another call whose first token is missing, together with the last one of the call before it: what the token stands
    /// before is no word of text, and the frame is open.
    fn another_without_token(&mut self, record: &Record, calls: &[&Template], call_start: Pc) {
        let [call] = calls else { return };
        let Some(header) = header_without_token(call).filter(|_| self.forgiving) else { return };
        let ops = self.program.ops.iter().enumerate().skip(call_start as usize);
        let Some((body, _)) = ops.into_iter().find(|(_, op)| matches!(op, Op::Body(_))) else { return };
        self.optional(|compiler| {
            compiler.emit(Op::Space);
            compiler.comma();
            compiler.mark(Mark::Slip(Slip::Missing));
            compiler.one_call(record, &[&header], false);
            compiler.emit(Op::Jump(body as Pc));
        });
    }

    /// Another call in the wrapper of the one before it.
    fn another_in_wrapper(&mut self) {
        let Some(inner) = self.inner_call else { return };
        self.optional(|compiler| {
            compiler.emit(Op::Space);
            compiler.mark(Mark::Slip(Slip::List));
            compiler.mark(Mark::CallStart);
            compiler.emit(Op::Jump(inner));
        });
    }

    fn section_end(&mut self, record: &Record, section: Section<'_>, fence: bool) {
        if !section.close.is_empty() {
            self.emit(Op::Space);
            self.comma();
            self.closing_template(record, section.close, fence);
        }
        if section.kind == FrameKind::Wrapperless && !record.close.iter().all(Template::is_empty) {
            // The closer of the missing wrapper may be there all the same.
            self.optional(|compiler| {
                compiler.emit(Op::Space);
                if let Some(close) = record.close.first() {
                    compiler.template(record, close, false);
                }
            });
        }
    }

    /// What may stand between calls: white space, and in a format of lines remarks.
    fn gap(&mut self, record: &Record) {
        let space = self.emit(Op::Space);
        if record.syntax == Syntax::Lines {
            self.optional(|compiler| {
                compiler.emit(Op::Byte(b'#'));
                compiler.emit(Op::RestOfLine);
                compiler.emit(Op::Jump(space));
            });
        }
    }

    /// Elements inside of values: the parameters again, and the elements of lists.
    fn nested(&mut self, record: &Record, item: &Template) -> Nested {
        let mut element = |template: &Template| {
            let start = self.emit(Op::Space);
            self.template(record, template, false);
            // Nothing but elements stands in a value that holds them, so white space before its closer is layout.
            self.emit(Op::Space);
            self.emit(Op::Return);
            start
        };
        let members = record.param.iter().map(&mut element).collect();
        Nested { members, item: element(item) }
    }
}

/// What the sections and calls of a record begin with, in all spellings.
fn openers(record: &Record) -> Vec<String> {
    let heads = record.open.iter().chain(&record.call).map(|template| template.head().trim());
    heads.filter(|head| head.len() > 1).flat_map(|head| spellings(record, head)).collect()
}

/// The label that a call writes right before its arguments.
fn label(call: &Template) -> Option<Arc<str>> {
    let labels = call.parts.windows(2).filter_map(|parts| match parts {
        [Part::Literal(literal), Part::Slot(Slot::Arguments)] => literal.trim().rsplit('\n').next(),
        _ => None,
    });
    labels.into_iter().find(|label| label.len() >= SHORTEST_SIGN && label.ends_with(':')).map(Arc::from)
}

/// What templates end with, in all spellings. A closer that repeats the name, the key or the suffix keeps its placeholder, to be
/// filled in where it is needed.
fn closers(record: &Record, templates: &[Template]) -> Vec<String> {
    let closer = |template: &Template| match template.parts.as_slice() {
        [
            ..,
            Part::Literal(before),
            Part::Slot(slot @ (Slot::Name | Slot::Key | Slot::Suffix)),
            Part::Literal(after),
        ] if after.trim().len() == 1 => Some(format!("{}{{{}}}{}", before.trim(), slot.word(), after.trim())),
        [.., Part::Literal(last)] if last.trim().len() > 1 => Some(last.trim().to_owned()),
        _ => None,
    };
    templates.iter().filter_map(closer).flat_map(|closer| spellings(record, &closer)).collect()
}

/// The markers of which these closers are made.
fn value_marks(closers: &[String]) -> Vec<String> {
    let all = closers.iter().flat_map(|closer| markers(closer));
    let telling = all.filter(|marker| marker.len() >= SHORTEST_SIGN && marker.starts_with(['<', '[']));
    telling.map(str::to_owned).collect()
}

/// A record without the wrapper that is a part of its calls, if one of them has an inner opener that stands for itself. The
/// closer of the missing wrapper may be there all the same.
pub(super) fn unwrapped(listening: &ActiveDialect) -> Option<Record> {
    let record = &*listening.record;
    // Only a dialect that was chosen tells to whom its messages without a header speak.
    let may_lack_wrapper =
        |(call, bare): &(&Template, &String)| listening.chosen || call.head().contains(bare.as_str());
    let inner = record.call.iter().flat_map(|call| record.bare.iter().map(move |bare| (call, bare)));
    let inner = inner.filter(may_lack_wrapper);
    let call: Vec<Template> = inner.filter_map(|(call, bare)| without_wrapper(call, bare)).collect();
    let mut also = record.also.clone();
    // What stands for itself has one spelling.
    also.retain(|(key, _)| !record.bare.contains(key));
    for template in &call {
        let Some(Part::Literal(last)) = template.parts.last() else { continue };
        // The last of several closers is that of the wrapper, unless its opener is there; a single one is the call's own.
        let [.., _, closer] = markers(last)[..] else { continue };
        let opener = closer.trim_start_matches("</").trim_end_matches('>');
        if template.head().trim_start_matches('<').starts_with(opener) {
            continue;
        }
        match also.iter_mut().find(|(key, _)| key == closer) {
            Some((_, others)) => others.push(String::new()),
            None => also.push((closer.to_owned(), vec![String::new()])),
        }
    }
    (!call.is_empty()).then(|| Record { call, also, ..record.clone() })
}

/// A call from its inner opener on, if that stands behind a wrapper and has the name behind it.
fn without_wrapper(call: &Template, bare: &str) -> Option<Template> {
    let place = |(i, part): (usize, &Part)| match part {
        Part::Literal(literal) => literal.find(bare).map(|at| (i, at)),
        Part::Slot(_) => None,
    };
    let (first, at) = call.parts.iter().enumerate().find_map(place)?;
    let mut inner = call.clone();
    inner.parts.drain(..first);
    if let Some(Part::Literal(literal)) = inner.parts.first_mut() {
        literal.drain(..at);
    }
    (inner.parts.len() < call.parts.len() || at > 0)
        .then_some(inner)
        .filter(|inner| inner.has(Slot::Name) || first == 0)
}

/// The outermost markers of a wrapper, with nothing between them.
pub(super) fn empty(open: &Template, close: &Template) -> Option<String> {
    let first = markers(open.head()).first().copied()?;
    let last = markers(close.literals().last()?).last().copied()?;
    let is_closed = last.ends_with(['>', ']']) && first.ends_with(['>', ']']) && first != last;
    (is_closed && is_call_marker(first)).then(|| format!("{first}{last}"))
}

/// What a call has between its first token and its body, if that begins with a word of the format.
fn header_without_token(call: &Template) -> Option<Template> {
    let [token, word] = markers(call.head())[..] else { return None };
    let is_word = word.len() >= SHORTEST_SIGN && word.ends_with(|c: char| c.is_ascii_punctuation());
    let is_told = is_word && turn::is_token(token) && !word.contains(['<', '[']);
    let mut header = without_wrapper(call, word).filter(|_| is_told)?;
    header.parts.truncate(2);
    matches!(header.parts[..], [Part::Literal(_), Part::Slot(Slot::Name)]).then_some(header)
}

/// A literal and its other spellings, without the white space around them.
pub(super) fn spellings(record: &Record, literal: &str) -> Vec<String> {
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
pub(super) fn can_be_bare(listening: &ActiveDialect, call: &Template) -> bool {
    let is_listed = || listening.record.bare.iter().any(|bare| call.head().starts_with(bare.as_str()));
    Record::is_unmistakable(call) || listening.chosen && is_listed()
}
