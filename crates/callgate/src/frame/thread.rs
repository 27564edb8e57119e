//! One thread: a way of reading what has come so far, with the words that it has read.

use std::num::NonZeroU32;

use crate::dialect::Slot;

use super::closures::Reached;
use super::instructions::{Mark, Op, Pc, Program};
use super::slips::{Slip, Slips};

/// The longest name, key or id that is read.
pub(super) const LONGEST_WORD: usize = 256;

/// A place in the words of a frame. Threads are copied for every byte of a header, so it leaves room for a niche.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WordStart(NonZeroU32);

impl WordStart {
    pub(super) fn at(place: u32) -> Self {
        WordStart(NonZeroU32::MIN.saturating_add(place))
    }

    pub(super) fn get(self) -> u32 {
        self.0.get() - 1
    }
}

/// A range of the words of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Words {
    start: WordStart,
    /// Words are at most [`LONGEST_WORD`] bytes long.
    length: u16,
}

impl Words {
    pub(super) fn new(from: u32, to: u32) -> Self {
        Words { start: WordStart::at(from), length: (to - from) as u16 }
    }

    pub(super) fn range(self) -> (u32, u32) {
        (self.start.get(), self.start.get() + u32::from(self.length))
    }
}

/// One way of reading what has come so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    pub(crate) pc: Pc,
    /// Whether white space may come before what it reads next.
    pub(crate) spaced: bool,
    /// How far a repeated text has been read.
    pub(super) offset: u32,
    /// Where the word that is being read begins in the scratch, if one is.
    pub(super) word: Option<WordStart>,
    pub(crate) name: Option<Words>,
    pub(crate) key: Option<Words>,
    pub(crate) id: Option<Words>,
    pub(crate) index: Option<Words>,
    pub(crate) kind: Option<Words>,
    pub(super) suffix: Option<Words>,
    /// How many pieces of literals have been read.
    pub(crate) pieces: u16,
    /// How many telling literals have been read since the last body.
    pub(crate) literals: u16,
    /// Whether it has passed the point after which this can only be a call.
    pub(crate) committed: bool,
    /// Whether it left out a closer since it was last counted.
    pub(crate) skipped: bool,
    /// Whether it left out the closer of the value.
    pub(crate) unclosed: bool,
    /// Whether what it left out must still be made up for by a closer that is there.
    pub(crate) owes_closer: bool,
    /// Whether it has read two names of one call, which differ.
    pub(crate) is_renamed: bool,
    /// What it has read since the last body that the format does not write.
    pub(crate) slips: Slips,
    /// Whether a line break that the format needs was missing.
    pub(crate) malformed: bool,
    /// Whether a section is open.
    pub(crate) opened: bool,
    /// How many values hold the element it is in.
    pub(crate) level: u16,
    /// Where the current call began, in bytes of the input.
    pub(crate) call_start: usize,
    /// Where the last whole call ended, if one has.
    pub(crate) call_end: Option<usize>,
    /// Where the call before the current one ended, if there is one.
    pub(crate) end_before: Option<usize>,
    /// How many calls have begun.
    pub(crate) calls: u32,
    pub(super) start_pending: bool,
    /// The mark and the length of the fence it is in.
    fence: (u8, u16),
    /// How far the line of a fence has been read.
    line: FenceLine,
}

/// How far the opening or closing line of a fence has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FenceLine {
    /// Nothing of it, or white space without a line break.
    Before,
    /// At the start of a line.
    Start,
    /// This much of its run of marks.
    Run(u16),
    /// The white space after its marks.
    Gap,
    /// This much of the info word.
    Info(u16),
    /// The rest of the line.
    Rest,
}

impl Thread {
    pub(crate) fn new(pc: Pc, position: usize) -> Self {
        Thread {
            pc,
            spaced: false,
            offset: 0,
            word: None,
            name: None,
            key: None,
            id: None,
            index: None,
            kind: None,
            suffix: None,
            pieces: 0,
            literals: 0,
            committed: false,
            skipped: false,
            unclosed: false,
            owes_closer: false,
            is_renamed: false,
            slips: Slips::default(),
            malformed: false,
            opened: false,
            level: 0,
            call_start: position,
            call_end: None,
            end_before: None,
            calls: 0,
            start_pending: false,
            fence: (0, 0),
            line: FenceLine::Before,
        }
    }

    /// Whether it has reached the end of its frame.
    pub(crate) fn is_done(&self, program: &Program) -> bool {
        matches!(program.ops[self.pc as usize], Op::Match) && !self.owes_closer
    }

    /// Whether white space leaves it as it is, and cannot be the start of a body.
    pub(super) fn passes_space(&self, program: &Program) -> bool {
        let is_raw = |body: u16| program.bodies[body as usize].is_raw();
        self.spaced && !matches!(program.ops[self.pc as usize], Op::Body(body) if is_raw(body))
    }

    /// Notes that a byte is read: the white space before it is over.
    pub(super) fn leave_space(&mut self, byte: u8, position: usize) {
        self.spaced = false;
        if self.start_pending && !byte.is_ascii_whitespace() {
            self.start_pending = false;
            self.call_start = position;
        }
    }

    /// Goes to an instruction of the closure of the one where it stands.
    pub(super) fn go(&mut self, program: &Program, reached: &Reached, position: usize) {
        self.pc = reached.pc;
        self.spaced = reached.spaced;
        self.malformed |= reached.malformed;
        for mark in program.closures.marks(reached) {
            self.apply(*mark, position);
        }
    }

    fn apply(&mut self, mark: Mark, position: usize) {
        match mark {
            Mark::Piece => self.pieces += 1,
            Mark::Literal => {
                self.literals += 1;
                self.owes_closer = false;
            }
            Mark::Commit => self.committed = true,
            Mark::Skipped => self.skipped = true,
            Mark::Unclosed => self.unclosed = true,
            Mark::Opened => self.opened = true,
            Mark::CallStart => {
                self.name = None;
                self.is_renamed = false;
                self.key = None;
                self.id = None;
                self.index = None;
                self.end_before = self.call_end;
                self.calls += 1;
                if self.calls > 1 || self.opened {
                    self.start_pending = true;
                    self.committed = false;
                }
            }
            Mark::CallEnd => self.call_end = Some(position),
            Mark::Slip(slip) => self.slips.add(slip),
            Mark::OwesCloser => self.owes_closer = true,
            Mark::Unlisted => self.slips.unlist(),
            Mark::OwesBracket if self.slips.is_unlisted() && self.calls <= 1 => {}
            Mark::OwesBracket => {
                self.slips.add(Slip::List);
                self.owes_closer = true;
            }
            Mark::Unbound(Slot::Key) => self.key = None,
            Mark::Unbound(_) => self.name = None,
        }
    }

    /// The same thread in a frame that began this much later.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        self.call_start += by;
        self
    }

    /// A thread that knows the same and stands at another instruction.
    pub(super) fn standing_at(self, pc: Pc) -> Self {
        Thread { pc, ..self }
    }

    /// Whether it carries state that the bytes of an opener alone do not determine: a word, a commitment, a pending start.
    pub(crate) fn depends_on_response(&self, at_start: bool) -> bool {
        self.committed || self.word.is_some() || self.start_pending && !at_start
    }

    /// Goes on elsewhere in its frame: what it was reading is given up.
    pub(crate) fn going_on_at(self, pc: Pc) -> Self {
        Thread {
            pc,
            spaced: false,
            offset: 0,
            word: None,
            owes_closer: false,
            line: FenceLine::Before,
            ..self
        }
    }

    /// Moves past the body it stands at, which may have ended with a line break.
    pub(crate) fn past_body_line(self, ended_line: bool) -> Self {
        let line = if ended_line { FenceLine::Start } else { FenceLine::Before };
        Thread { line, ..self.past_body() }
    }

    /// Goes to the start of an element inside the value at whose body it stands.
    pub(crate) fn into_element(self, start: Pc) -> Self {
        Thread { pc: start, level: self.level + 1, key: None, kind: None, ..self.past_body() }
    }

    /// Goes on counting where another one has come to.
    pub(super) fn count_on(&mut self, from: &Thread) {
        self.literals = from.literals;
        self.skipped = from.skipped;
        self.unclosed = from.unclosed;
        self.owes_closer = from.owes_closer;
        self.slips = from.slips;
        self.pieces = from.pieces;
    }

    /// Moves past the body it stands at. What was said of its type holds for nothing else.
    pub(crate) fn past_body(mut self) -> Self {
        self.pc += 1;
        self.kind = None;
        self.spaced = false;
        self.line = FenceLine::Before;
        self.literals = 0;
        self.skipped = false;
        self.unclosed = false;
        self.owes_closer = false;
        self.slips = self.slips.past_body();
        self
    }

    /// The text that an instruction repeats, if there is any to repeat.
    pub(super) fn repeated(&self, op: Op) -> Option<Words> {
        let words = match op {
            Op::Repeat(Slot::Name) => self.name,
            Op::Repeat(Slot::Key) => self.key,
            Op::Repeat(Slot::Id) => self.id,
            Op::Repeat(Slot::Index) => self.index,
            Op::Repeat(Slot::Type) => self.kind,
            Op::Suffix => self.suffix,
            _ => None,
        };
        words.filter(|words| words.length > 0)
    }

    /// Whether a slot is bound to a word.
    pub(super) fn has(&self, slot: Slot) -> bool {
        match slot {
            Slot::Name => self.name.is_some(),
            Slot::Key => self.key.is_some(),
            _ => true,
        }
    }

    /// Reads one byte of an attribute that the format does not have.
    pub(super) fn read_attribute(&mut self, byte: u8) -> bool {
        const NAME: u32 = 1;
        const AFTER_NAME: u32 = 2;
        const BEFORE_VALUE: u32 = 3;
        const DOUBLE: u32 = 4;
        const SINGLE: u32 = 5;
        let is_name = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-' | b'.');
        self.offset = match self.offset {
            0 if byte.is_ascii_alphabetic() || byte == b'_' => NAME,
            NAME if is_name => NAME,
            NAME | AFTER_NAME if byte.is_ascii_whitespace() => AFTER_NAME,
            NAME | AFTER_NAME if byte == b'=' => BEFORE_VALUE,
            BEFORE_VALUE if byte.is_ascii_whitespace() => BEFORE_VALUE,
            BEFORE_VALUE if byte == b'"' => DOUBLE,
            BEFORE_VALUE if byte == b'\'' => SINGLE,
            DOUBLE if byte == b'"' => 0,
            SINGLE if byte == b'\'' => 0,
            DOUBLE | SINGLE if !matches!(byte, b'<' | b'>' | b'\n') => self.offset,
            _ => return false,
        };
        self.pc += u32::from(self.offset == 0);
        true
    }

    /// Binds a slot to a word.
    pub(super) fn set(&mut self, slot: Slot, words: Words) {
        match slot {
            Slot::Name => self.name = Some(words),
            Slot::Key => self.key = Some(words),
            Slot::Id => self.id = Some(words),
            Slot::Index => self.index = Some(words),
            Slot::Type => self.kind = Some(words),
            _ => {}
        }
    }

    /// Reads one byte of the opening line of a fence. False: it is none, or has another info word.
    pub(super) fn read_fence(&mut self, info: &[u8], byte: u8) -> bool {
        self.line = match self.line {
            FenceLine::Before | FenceLine::Start if matches!(byte, b'`' | b'~') => {
                self.fence = (byte, 1);
                FenceLine::Run(1)
            }
            FenceLine::Run(n) if byte == self.fence.0 => {
                self.fence.1 = n.saturating_add(1);
                FenceLine::Run(self.fence.1)
            }
            FenceLine::Run(n) if n >= 3 && matches!(byte, b' ' | b'\t') => FenceLine::Gap,
            FenceLine::Run(n) if n >= 3 && info.first() == Some(&byte.to_ascii_lowercase()) => {
                FenceLine::Info(1)
            }
            FenceLine::Gap if matches!(byte, b' ' | b'\t') => FenceLine::Gap,
            FenceLine::Gap if info.first() == Some(&byte.to_ascii_lowercase()) => FenceLine::Info(1),
            FenceLine::Info(n) if info.get(n as usize) == Some(&byte.to_ascii_lowercase()) => {
                FenceLine::Info(n + 1)
            }
            FenceLine::Info(n) if n as usize == info.len() && byte.is_ascii_whitespace() => FenceLine::Rest,
            FenceLine::Rest if byte != self.fence.0 => FenceLine::Rest,
            _ => return false,
        };
        if byte == b'\n' && self.line == FenceLine::Rest {
            self.line = FenceLine::Start;
            self.pc += 1;
        }
        true
    }

    /// Reads one byte of the closing line of a fence. False: the line closes nothing.
    pub(super) fn read_fence_end(&mut self, byte: u8) -> bool {
        self.line = match self.line {
            FenceLine::Run(n) if byte == self.fence.0 => FenceLine::Run(n.saturating_add(1)),
            FenceLine::Run(n) if n >= self.fence.1 && byte.is_ascii_whitespace() => FenceLine::Rest,
            FenceLine::Rest if byte.is_ascii_whitespace() => FenceLine::Rest,
            FenceLine::Start if byte == self.fence.0 => FenceLine::Run(1),
            FenceLine::Start if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') => FenceLine::Start,
            FenceLine::Before if byte == b'\n' => FenceLine::Start,
            FenceLine::Before if byte.is_ascii_whitespace() => FenceLine::Before,
            _ => return false,
        };
        if self.line == FenceLine::Rest && byte == b'\n' {
            self.line = FenceLine::Before;
            self.pc += 1;
        }
        true
    }

    /// Whether the input may end where it stands in the closing line of a fence.
    pub(super) fn has_closed_fence(&self) -> bool {
        matches!(self.line, FenceLine::Run(n) if n >= self.fence.1)
    }
}
