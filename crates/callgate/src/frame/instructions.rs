//! Instructions: what a compiled program is made of, and what is known of each of its frames.

use std::sync::Arc;

use super::closures::Closures;
use super::marks::Marks;
use super::slips::{Loose, Slip};
use super::stops::Stops;
use super::threads::Thread;
use crate::bytes::ByteSet;
use crate::dialect::{Slot, is_word_character};
use crate::draft::lines::LineMarks;
use crate::draft::shown::OwnHeads;

/// The shortest literal that says by itself what it is.
pub(crate) const SHORTEST_SIGN: usize = 4;

/// The index of an instruction.
pub(crate) type Pc = u32;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// This byte.
    Byte(u8),
    /// One character of a marker, in any of the ways in which it is known to be written.
    Loose(Loose),
    /// An attribute that the format does not have.
    Attribute,
    /// The opener of a value has come again: nothing is read from here on.
    Reopened,
    /// Goes on only where this slot is bound.
    Bound(Slot),
    /// Goes on only where so many bytes before it came as special tokens.
    Special(u16),
    /// Any white space, or none.
    Space,
    /// Some white space.
    Space1,
    /// White space with a line break in it; without one the thread goes on, but is known to be malformed.
    Line,
    /// The rest of the line, whatever it is.
    RestOfLine,
    /// A run of word characters, matched against a pattern when it has ended.
    Word(u16),
    /// The text that is bound to a slot, again.
    Repeat(Slot),
    /// The suffix: bound where it first occurs, the same text from then on.
    Suffix,
    /// The opening line of a code fence with this info word.
    Fence(u16),
    /// The closing line of the code fence.
    FenceEnd,
    /// A part that a reader of its own reads.
    Body(u16),
    /// Goes on at both, the first preferred.
    Split(Pc, Pc),
    /// What the prompt ends with comes next, or was in the prompt and the text goes on elsewhere.
    Prompt(Pc),
    /// Goes on elsewhere.
    Jump(Pc),
    /// The end of an element inside a value: goes on after it, in the element that holds it.
    Return,
    /// Notes something about the thread.
    Mark(Mark),
    /// The end of the frame.
    Match,
}

/// What a thread has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mark {
    /// A piece of a literal that is long enough to be a marker.
    Piece,
    /// The end of a closer or of another literal that is long enough to tell by itself where a value ends.
    Literal,
    /// A literal after which this can only be a call.
    Commit,
    /// A closing literal that was left out.
    Skipped,
    /// The closer of a value was left out.
    Unclosed,
    /// The start of one call.
    CallStart,
    /// The end of one call.
    CallEnd,
    /// The opener of a section has been read.
    Opened,
    /// Something that is not written as the format has it.
    Slip(Slip),
    /// The tag that binds this slot begins: what was bound before does not count.
    Unbound(Slot),
    /// What was left out must be made up for by a closer that is there.
    OwesCloser,
    /// The bracket that opens the list of calls was left out.
    Unlisted,
    /// The bracket that closes the list of calls was left out.
    OwesBracket,
}

/// What a run of word characters is made of: slots, and the literals between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WordPattern {
    /// The slots, each with the literal that follows it inside the word.
    pub(crate) slots: Vec<(Slot, String)>,
    /// Whether it is read only where it is the name of a tag around calls or their parts.
    pub(crate) of_calls: bool,
}

/// A part of a frame that is not matched byte by byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// An object with name and arguments.
    Object,
    /// The arguments as one value.
    Arguments {
        /// Whether they are written as `key=value, …`, so that they can begin with anything.
        kwargs: bool,
    },
    /// The arguments as lines up to one of these marks, or as one JSON object.
    Lines(Arc<LineMarks>),
    /// A parameter's value: text up to its closer.
    Value {
        /// The white space that the template writes before it.
        lead: String,
        /// The white space that the template writes after it.
        trail: String,
    },
    /// Visible text.
    Text,
    /// Reasoning.
    Reasoning {
        /// The white space that the template writes before it.
        lead: String,
        /// The white space that the template writes after it.
        trail: String,
    },
    /// Text that belongs to the markup.
    Skip,
    /// Program text up to the end.
    Code,
}

impl Body {
    /// Whether it can begin with anything, white space included.
    pub(crate) fn is_raw(&self) -> bool {
        !matches!(self, Body::Object | Body::Arguments { .. })
    }

    /// Whether it can begin with this character.
    pub(crate) fn can_start(&self, c: char) -> bool {
        match self {
            Body::Object => c == '{',
            Body::Arguments { kwargs: true } => !c.is_whitespace(),
            Body::Arguments { .. } => {
                !(c.is_alphabetic() || c.is_whitespace() || matches!(c, '<' | '>' | '}' | ']' | ',' | '`'))
            }
            _ => true,
        }
    }
}

/// What a compiled frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// One or more calls.
    Calls,
    /// The calls of a section whose wrapper is missing.
    Wrapperless,
    /// A frame around visible text.
    Text,
    /// A frame around reasoning.
    Reasoning,
    /// The end of reasoning that has no start.
    ReasoningEnd,
    /// Markup that means nothing.
    Noise,
    /// A token of a chat template that belongs to no frame: the end of the turn, the start of what somebody else says,
    /// the end of something that is not open.
    Turn,
}

/// One compiled frame.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// The record it comes from, as an index into the listening records.
    pub(crate) record: usize,
    /// What it is.
    pub(crate) kind: FrameKind,
    /// Its first instruction.
    pub(crate) start: Pc,
    /// Its opener, as far as it is the same for all calls.
    pub(crate) marker: Arc<str>,
    /// The first token of that.
    pub(crate) opener: Arc<str>,
    /// The white space that the template writes after it.
    pub(crate) after: String,
    /// Where it starts if the prompt has the start of its opener.
    pub(crate) after_prompt: Vec<Pc>,
    /// Whether it is a code fence.
    pub(crate) fence: bool,
    /// Whether nothing but the shape of what follows says that it is a call.
    pub(crate) unmarked: bool,
    /// Whether it starts with a special token, which may stand anywhere.
    pub(crate) token: bool,
    /// Whether a line that begins with the name of a tool begins it.
    pub(crate) begins_with_name: bool,
    /// Names that no tool has here: where the name stands, the format writes these words for text and thoughts.
    pub(crate) reserved: Vec<String>,
    /// Whether it may only start at the start of a line.
    pub(crate) line_start: bool,
    /// Whether its calls are live, and not merely noticed.
    pub(crate) live: bool,
    /// Whether it was chosen by name.
    pub(crate) chosen: bool,
    /// The label that stands right before the arguments, if one does.
    pub(crate) label: Option<Arc<str>>,
    /// Literals that end parameters and calls: after a call they mean that a value may have been cut.
    pub(crate) closers: Vec<String>,
    /// The markers of which the closers of calls and sections are made.
    pub(crate) end_marks: Vec<String>,
    /// The markers of which closers of values are made: a value that ends with one may have lost its real end.
    pub(crate) value_marks: Vec<String>,
    /// The closers of values.
    pub(crate) value_closers: Vec<String>,
    /// What its parameters and calls begin with, which no value goes on behind.
    pub(crate) heads: OwnHeads,
    /// The markers with which its calls begin, as a string of JSON shows them, where values are text.
    pub(crate) shown_openers: Option<Arc<[String]>>,
    /// How elements inside of values begin, where a value can hold them.
    pub(crate) nested: Option<Nested>,
    /// Where the frame goes on after one of its calls.
    pub(crate) next_call: Pc,
    /// The same frame, read with slips: it is tried where this one cannot go on.
    pub(crate) twin: Option<u16>,
    /// Literals at which a rejected call ends.
    pub(crate) call_ends: Vec<String>,
    /// Literals at which the frame of a rejected call ends.
    pub(crate) ends: Vec<String>,
    /// Literals at which a rejected call ends because a new one begins.
    pub(crate) openers: Vec<String>,
}

impl Frame {
    /// Whether it is one of calls, with a marker that says so.
    pub(crate) fn is_marked_call(&self) -> bool {
        matches!(self.kind, FrameKind::Calls | FrameKind::Wrapperless) && !self.unmarked
    }

    /// Whether a word opens the call without its wrapper, wherever it stands: it does so only before the name of a tool.
    pub(crate) fn opens_by_word(&self) -> bool {
        self.kind == FrameKind::Wrapperless && !self.line_start && self.marker.starts_with(is_word_character)
    }

    /// Whether this text begins with the first token of a marker that only calls have.
    pub(crate) fn is_opened_by(&self, text: &str) -> bool {
        // Behind the name of a tag its attributes may differ.
        let end = self.opener.bytes().position(|byte| byte.is_ascii_whitespace());
        let tag = &self.opener[..end.unwrap_or(self.opener.len())];
        tag.len() >= SHORTEST_SIGN && text.starts_with(tag) && self.kind == FrameKind::Calls && !self.unmarked
    }
}

/// Where elements inside of values begin.
#[derive(Clone, Debug)]
pub(crate) struct Nested {
    /// The members of an object.
    pub(crate) members: Vec<Pc>,
    /// The elements of a list; all instructions from here on belong to them.
    pub(crate) item: Pc,
}

/// The compiled program of all listening records.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    /// Where each instruction leads without reading a byte.
    pub(crate) closures: Closures,
    /// Per instruction, how far the next free white space is, or the most that is counted.
    pub(crate) to_space: Vec<u8>,
    pub(crate) patterns: Vec<WordPattern>,
    pub(crate) bodies: Vec<Body>,
    /// Info words of fences, in lower case.
    pub(crate) infos: Vec<String>,
    pub(crate) frames: Vec<Frame>,
    /// Per body, where the twin of its frame has it.
    pub(crate) twin_bodies: Vec<Option<Pc>>,
    /// Per instruction, the frame it belongs to.
    pub(crate) owner: Vec<u16>,
    /// Per body, how its end can start, where that is always the same.
    pub(crate) stops: Vec<Option<Stops>>,
    /// Per first byte, the instructions at which a frame can start outside.
    pub(crate) starts: Vec<Vec<Pc>>,
    /// Where the twins of frames start whose opener is a special token between bars, which has other spellings.
    pub(crate) respelled: Vec<Pc>,
    /// The instructions that follow the prompt, live only before the first byte.
    pub(crate) prompt_starts: Vec<Pc>,
    /// The bytes at which the scan outside of frames must look closer.
    pub(crate) anchors: ByteSet,
    /// These, and the bytes that can begin or end code.
    pub(crate) marks: Marks,
    /// The most white space that any template writes before an opener.
    pub(crate) before: usize,
    /// The first tokens of the markers of all frames of calls, the shortest first.
    pub(crate) markers: Vec<Arc<str>>,
    /// Whether markers that are special tokens count only where they came as such; then it holds the tags that are such
    /// tokens, besides those that are told by bars and capitals.
    pub(crate) special: Option<Arc<[String]>>,
    /// Whether a dialect that was chosen opens calls with no tag or token of its own.
    pub(crate) opens_unmarked: bool,
    /// Whether the names of tools are the markers of calls in a format that was asked for.
    pub(crate) opens_by_name: bool,
}

impl Program {
    /// The frame to which an instruction belongs.
    pub(crate) fn frame_at(&self, pc: Pc) -> &Frame {
        &self.frames[self.owner[pc as usize] as usize]
    }

    /// Whether what a frame is made of is also the end of a call in its dialect.
    pub(crate) fn closes_call(&self, frame: &Frame) -> bool {
        let calls = self.frames.iter().filter(|other| other.record == frame.record);
        calls.flat_map(|other| &other.call_ends).any(|end| **end == *frame.marker)
    }

    /// The thread that goes on in the twin of its frame from the body at which it stands, if there is one.
    pub(crate) fn twin_at_body(&self, thread: &Thread) -> Option<Thread> {
        let Op::Body(body) = self.ops[thread.pc as usize] else { return None };
        let pc = self.twin_bodies.get(body as usize).copied().flatten()?;
        Some(thread.going_on_at(pc))
    }

    /// How the end of the body at which a thread stands can start, where that is always the same.
    pub(super) fn stops_at_body(&self, thread: &Thread) -> Option<&Stops> {
        let Op::Body(body) = self.ops[thread.pc as usize] else { return None };
        self.stops[body as usize].as_ref()
    }

    /// The marker that a thread is reading, or would read next.
    pub(crate) fn expected(&self, thread: &Thread) -> Option<String> {
        let ops = &self.ops;
        let byte = |at: usize| match ops.get(at) {
            Some(Op::Byte(byte)) => Some(Some(*byte)),
            Some(Op::Loose(character)) => Some(Some(character.first())),
            Some(Op::Space | Op::Special(_)) => Some(None),
            _ => None,
        };
        let ends = |byte: Option<u8>| matches!(byte, Some(b'>' | b']'));
        let mut start = thread.pc as usize;
        while let Some(before) = start.checked_sub(1).and_then(byte).filter(|before| !ends(*before)) {
            start -= 1;
            if before == Some(b'<') {
                break;
            }
        }
        let mut marker = Vec::new();
        while let Some(next) = byte(start) {
            marker.extend(next);
            start += 1;
            if ends(next) {
                break;
            }
        }
        let is_marker = marker.len() >= SHORTEST_SIGN && matches!(marker.first(), Some(b'<' | b'['));
        String::from_utf8(marker).ok().filter(|_| is_marker)
    }

    /// The frame that a thread reads.
    pub(crate) fn frame_of(&self, thread: &Thread) -> &Frame {
        self.frame_at(thread.pc)
    }
}
