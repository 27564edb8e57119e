//! Openers: everything that can begin a frame, worked out beforehand as a table with one step per byte (a DFA over the
//! common prefixes).
//!
//! While only literals have been read, all that the threads know follows from the bytes alone. So the sets of threads
//! are computed once per gate, and a response walks from set to set; the threads themselves are taken up where a word,
//! a body or a commitment makes them differ from response to response.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use super::marks::{Leads, Marks};
use super::program::{ALWAYS_MARKED, Frame, FrameKind, Op, Pc, Program, begins_with_bar};
use super::threads::{Fate, Scratch, Thread, Threads, is_word_byte};
use crate::bytes::ByteSet;

/// The longest opener in the table, in bytes. What is longer is read by threads.
const LONGEST: usize = 48;

/// The bytes that count as free white space.
const SPACES: &[u8] = b" \t\n\r\x0c";

/// The byte with which a suffix begins.
const SUFFIX: u8 = b':';

/// A set of threads in the table.
pub(crate) type Set = u32;

/// Where a byte leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// To another set.
    To(Set),
    /// Nowhere: no opener goes on like this.
    Dead,
    /// The table does not say: the threads must read it.
    NotInTable,
}

/// Which frames may begin at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameFilter {
    /// Whether a block of reasoning may open here.
    pub(crate) reasoning: bool,
    /// Whether an end of reasoning may stand here that belongs to nothing, or to a thought of another name.
    pub(crate) ends_thought: bool,
    /// Whether only calls are looked for, because it is a dead region.
    pub(crate) only_calls: bool,
    /// Whether code fences may open here.
    pub(crate) fences: bool,
    /// Whether labels that count only at the start of a line may stand here.
    pub(crate) labels: bool,
}

impl FrameFilter {
    const ALL: usize = 32;

    /// Where the most may begin.
    const ANYWHERE: FrameFilter =
        FrameFilter { reasoning: true, ends_thought: true, only_calls: false, fences: true, labels: true };

    fn number(self) -> usize {
        usize::from(self.reasoning)
            | usize::from(self.ends_thought) << 1
            | usize::from(self.only_calls) << 2
            | usize::from(self.fences) << 3
            | usize::from(self.labels) << 4
    }

    fn of(number: usize) -> FrameFilter {
        FrameFilter {
            reasoning: number & 1 != 0,
            ends_thought: number & 2 != 0,
            only_calls: number & 4 != 0,
            fences: number & 8 != 0,
            labels: number & 16 != 0,
        }
    }

    fn admits(self, frame: &Frame) -> bool {
        let fits = match frame.kind {
            FrameKind::Reasoning => self.reasoning || frame.token,
            FrameKind::ReasoningEnd => self.ends_thought,
            // A call in the middle of a line is noticed, and rejected with a finding.
            FrameKind::Text | FrameKind::Noise => self.labels || !frame.line_start,
            FrameKind::Calls if frame.begins_with_name => self.labels || self.only_calls,
            FrameKind::Calls | FrameKind::Wrapperless | FrameKind::Turn => true,
        };
        let is_call = matches!(frame.kind, FrameKind::Calls | FrameKind::Wrapperless);
        fits && (is_call || !self.only_calls) && (!frame.fence || self.fences)
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct Openers {
    sets: Vec<ThreadSet>,
    /// What the threads of the sets know, each once: few literals have been read, so it is nearly always the same. All stand
    /// at the first instruction.
    states: Vec<Thread>,
    /// Per place and first byte, the set before that byte.
    starts: Vec<[Option<Set>; 256]>,
    /// Per first byte, the second bytes with which something may begin anywhere.
    pairs: Box<[ByteSet; 256]>,
    /// Per byte behind `<`, the third bytes with which something may begin, where the table tells.
    thirds: Vec<Option<ByteSet>>,
    /// Whether nothing begins with `<` and a space, which is what `<` stands before in most text.
    pub(crate) passes_operators: bool,
    /// The bytes with which a response may go on with what was begun by the prompt.
    pub(crate) after_prompt: ByteSet,
    /// The bytes at which the scan of text looks closer.
    pub(crate) marks: Marks,
}

#[derive(Debug)]
struct ThreadSet {
    /// The threads, the preferred first; their positions count from the first byte of the opener.
    threads: Box<[StoredThread]>,
    edges: Box<[(u8, Set)]>,
    /// Whether the table ends here, and the threads read on.
    hands_over: bool,
    /// Whether a byte without an edge means that this is no opener.
    is_closed: bool,
}

/// A thread in the table: where it stands, and which of the states it is in. Threads are large, and there are thousands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StoredThread {
    pc: Pc,
    state: u32,
}

impl Hash for StoredThread {
    // In one piece, which takes half the time of two.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(u64::from(self.pc) << 32 | u64::from(self.state));
    }
}

impl Openers {
    /// Works out the table of a program.
    pub(crate) fn new(program: &Program) -> Self {
        let mut builder = Builder {
            program,
            scratch: Scratch::default(),
            known: HashMap::new(),
            states: HashMap::new(),
            last_state: 0,
            openers: Openers {
                sets: Vec::new(),
                states: Vec::new(),
                starts: Vec::new(),
                pairs: Box::new([ByteSet::default(); 256]),
                thirds: Vec::new(),
                passes_operators: false,
                after_prompt: after_prompt(program),
                marks: program.marks.clone(),
            },
            depths: Vec::new(),
        };
        for number in 0..FrameFilter::ALL {
            let row = std::array::from_fn(|byte| builder.start(FrameFilter::of(number), byte as u8));
            builder.openers.starts.push(row);
        }
        builder.grow();
        let mut openers = builder.openers;
        for first in program.anchors.iter() {
            let seconds = (0..=u8::MAX).filter(|second| openers.begins_with(first, *second));
            openers.pairs[first as usize] = seconds.collect();
            if first == b'<' && !program.respelled.is_empty() {
                openers.pairs[first as usize].insert(b'|');
                openers.pairs[first as usize].insert("｜".as_bytes()[0]);
            }
        }
        // Whether a marker had to come as special tokens is said by threads.
        if program.special.is_none() {
            let bars = ["|", "｜"].map(|bar| bar.as_bytes()[0]);
            let thirds = |second| openers.thirds(b'<', second).filter(|_| !bars.contains(&second));
            openers.thirds = (0..=u8::MAX).map(thirds).collect();
        }
        openers.passes_operators = !openers.could_begin(b"< ");
        openers.marks = program.marks.with_leads(openers.leads(program));
        openers
    }

    /// The set of everything that can begin with this byte at this place.
    pub(crate) fn start(&self, place: FrameFilter, byte: u8) -> Option<Set> {
        self.starts[place.number()][byte as usize]
    }

    /// Whether something may begin with these bytes anywhere, as far as they have come. Only the first two are
    /// looked at, and one more behind `<`: what is shorter than any marker leaves no trace where it begins nothing.
    #[inline]
    pub(crate) fn could_begin(&self, bytes: &[u8]) -> bool {
        let [first, second, ..] = bytes else { return true };
        self.pairs[*first as usize].has(*second) && (*first != b'<' || self.could_go_on(bytes))
    }

    #[inline(never)] // Most marks of plain text begin nothing with their second byte.
    fn could_go_on(&self, bytes: &[u8]) -> bool {
        let [_, second, third, ..] = bytes else { return true };
        let thirds = self.thirds.get(*second as usize).and_then(Option::as_ref);
        thirds.is_none_or(|thirds| thirds.has(*third))
    }

    /// The bytes with which something begins only before one that is looked at anyway, white space aside.
    fn leads(&self, program: &Program) -> Leads {
        let mut leads = Leads::default();
        for first in program.anchors.iter().filter(|first| !ALWAYS_MARKED.contains(first)) {
            let seconds = self.pairs[first as usize];
            let behind_space = match SPACES.iter().any(|space| seconds.has(*space)) {
                true => SPACES
                    .iter()
                    .map(|space| self.thirds(first, *space))
                    .reduce(|all, more| Some(all?.or(more?))),
                false => Some(Some(ByteSet::default())),
            };
            let Some(Some(behind_space)) = behind_space else { continue };
            let next = seconds.or(behind_space);
            let mut others = next.iter().filter(|byte| !SPACES.contains(byte));
            if others.all(|byte| ALWAYS_MARKED.contains(&byte)) {
                leads.bytes.insert(first);
                leads.followers =
                    leads.followers.or(next.iter().filter(|byte| !SPACES.contains(byte)).collect());
            }
        }
        leads
    }

    fn begins_with(&self, first: u8, second: u8) -> bool {
        let Some(set) = self.start(FrameFilter::ANYWHERE, first) else { return false };
        match self.walk_byte(set, first) {
            Walk::To(next) => self.walk_byte(next, second) != Walk::Dead,
            Walk::Dead => false,
            Walk::NotInTable => true,
        }
    }

    /// Whether a call may begin somewhere in a text, in whatever place: where not, nothing in it is a call or a rejected one.
    pub(crate) fn may_open_call(&self, program: &Program, text: &str) -> bool {
        let is_anchor = |(_, byte): &(usize, u8)| program.anchors.has(*byte);
        let mut anchors = text.bytes().enumerate().filter(is_anchor);
        text.bytes().next().is_some_and(|first| self.after_prompt.has(first))
            || anchors.any(|(at, _)| self.may_open_call_at(program, text, at))
    }

    fn may_open_call_at(&self, program: &Program, text: &str, at: usize) -> bool {
        let bytes = &text.as_bytes()[at..];
        if !self.could_begin(bytes) {
            return false;
        }
        let Some(opening) = text.get(at..) else { return true };
        if !program.respelled.is_empty() && begins_with_bar(opening) {
            return true;
        }
        let place = FrameFilter { only_calls: true, ..FrameFilter::ANYWHERE };
        let Some(mut set) = self.start(place, bytes[0]) else { return false };
        for (read, byte) in bytes.iter().enumerate() {
            match self.walk_byte(set, *byte) {
                Walk::To(next) if !self.hands_over(next) => set = next,
                Walk::To(_) | Walk::NotInTable => return true,
                Walk::Dead => {
                    let held = opening.get(..read).unwrap_or_default();
                    let is_opened =
                        |thread: &Thread| thread.pieces > 0 || program.frame_of(thread).is_opened_by(held);
                    return self.threads(set, 0).any(|thread| is_opened(&thread));
                }
            }
        }
        true
    }

    /// The bytes with which everything goes on that begins with these two, if the table tells.
    fn thirds(&self, first: u8, second: u8) -> Option<ByteSet> {
        let set = self.start(FrameFilter::ANYWHERE, first)?;
        let Walk::To(set) = self.walk_byte(set, first) else { return None };
        let Walk::To(set) = self.walk_byte(set, second) else { return None };
        let ThreadSet { edges, is_closed, .. } = &self.sets[set as usize];
        is_closed.then(|| edges.iter().map(|(byte, _)| *byte).collect())
    }

    /// Reads one character.
    pub(crate) fn walk(&self, set: Set, c: char) -> Walk {
        let mut buffer = [0; 4];
        let mut at = set;
        for byte in c.encode_utf8(&mut buffer).bytes() {
            match self.walk_byte(at, byte) {
                Walk::To(next) => at = next,
                other => return other,
            }
        }
        Walk::To(at)
    }

    /// Walks over the characters in which nothing is decided: every byte has an edge, and no threads are taken up.
    /// Says where that leads and how many bytes it is.
    pub(crate) fn walk_on(&self, set: Set, text: &str) -> (Set, usize) {
        let (mut at, mut passed) = (set, (set, 0));
        for (i, byte) in text.bytes().enumerate() {
            match self.walk_byte(at, byte) {
                Walk::To(next) if !self.hands_over(next) => at = next,
                _ => break,
            }
            if text.is_char_boundary(i + 1) {
                passed = (at, i + 1);
            }
        }
        passed
    }

    /// Whether the table ends at this set, and the threads read on.
    pub(crate) fn hands_over(&self, set: Set) -> bool {
        self.sets[set as usize].hands_over
    }

    /// The threads of a set whose opener begins at `start`, the preferred first.
    pub(crate) fn threads(&self, set: Set, start: usize) -> impl Iterator<Item = Thread> {
        let stored = self.sets[set as usize].threads.iter();
        stored.map(move |thread| self.states[thread.state as usize].standing_at(thread.pc).moved(start))
    }

    fn walk_byte(&self, set: Set, byte: u8) -> Walk {
        let entry = &self.sets[set as usize];
        match entry.edges.iter().find(|(on, _)| *on == byte) {
            Some((_, next)) => Walk::To(*next),
            None if entry.is_closed => Walk::Dead,
            None => Walk::NotInTable,
        }
    }
}

struct Builder<'p> {
    program: &'p Program,
    scratch: Scratch,
    /// The sets by their threads.
    known: HashMap<Box<[StoredThread]>, Set>,
    /// The numbers of the states.
    states: HashMap<Thread, u32>,
    /// The state that was last asked for.
    last_state: u32,
    openers: Openers,
    /// Per set, how many bytes of the opener have been read.
    depths: Vec<usize>,
}

impl Builder<'_> {
    fn start(&mut self, place: FrameFilter, byte: u8) -> Option<Set> {
        let program = self.program;
        let starts = program.starts[byte as usize]
            .iter()
            .filter(|pc| place.admits(program.frame_at(**pc)))
            .map(|pc| Thread::new(*pc, 0));
        let mut threads = Threads::default();
        threads.start(program, &mut self.scratch, starts, 0);
        // Without the threads that cannot read the byte, equal sets compare equal.
        threads.retain(|thread| takes(program, thread, byte));
        (!threads.is_empty()).then(|| self.set(&threads, 0))
    }

    /// The number of a set, which is new if its threads are.
    fn set(&mut self, threads: &Threads, depth: usize) -> Set {
        let stored: Box<[StoredThread]> = threads.iter().map(|thread| self.stored(thread)).collect();
        if let Some(set) = self.known.get(&stored) {
            return *set;
        }
        let set = self.openers.sets.len() as Set;
        self.known.insert(stored.clone(), set);
        let op = |thread: &Thread| self.program.ops[thread.pc as usize];
        let is_literal =
            |thread: &Thread| matches!(op(thread), Op::Byte(_) | Op::Space | Op::Space1 | Op::Line);
        // At the very start nothing can come before a call, so that it begins there is certain.
        let hands_over = threads.iter().any(|thread| {
            thread.depends_on_response(depth == 0)
                || !is_literal(thread) && !may_begin_word(op(thread))
                // Whether a marker came as special tokens differs from response to response.
                || matches!(self.program.ops.get(thread.pc as usize + 1), Some(Op::Special(_)))
        });
        let is_closed = !hands_over && depth < LONGEST && threads.iter().all(is_literal);
        self.openers.sets.push(ThreadSet { threads: stored, edges: Box::default(), hands_over, is_closed });
        self.depths.push(depth);
        set
    }

    fn stored(&mut self, thread: &Thread) -> StoredThread {
        let (pc, state) = (thread.pc, thread.standing_at(0));
        let states = &mut self.openers.states;
        // Most threads of a set are in the state of the one before them.
        if states.get(self.last_state as usize) != Some(&state) {
            self.last_state = *self.states.entry(state).or_insert_with_key(|state| {
                states.push(*state);
                states.len() as u32 - 1
            });
        }
        StoredThread { pc, state: self.last_state }
    }

    /// Follows every edge of every set, which may make new sets.
    fn grow(&mut self) {
        let mut at = 0;
        while at < self.openers.sets.len() {
            let depth = self.depths[at];
            if !self.openers.sets[at].hands_over && depth < LONGEST {
                let threads: Vec<Thread> = self.openers.threads(at as Set, 0).collect();
                let mut edges = Vec::new();
                for byte in self.expected(&threads) {
                    // A suffix is a word that differs from response to response.
                    if byte == SUFFIX && threads.iter().any(|thread| self.is_at_suffix(thread)) {
                        continue;
                    }
                    let takers = threads.iter().filter(|thread| takes(self.program, thread, byte));
                    let mut next = Threads::of(takers.copied().collect());
                    if next.step(self.program, &mut self.scratch, byte, depth) == Fate::Alive {
                        edges.push((byte, self.set(&next, depth + 1)));
                    }
                }
                self.openers.sets[at].edges = edges.into();
            }
            at += 1;
        }
    }

    fn is_at_suffix(&self, thread: &Thread) -> bool {
        self.program.ops[thread.pc as usize] == Op::Suffix
    }

    /// The bytes that one of the threads may take.
    fn expected(&self, threads: &[Thread]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for thread in threads {
            match self.program.ops[thread.pc as usize] {
                Op::Byte(byte) => bytes.push(byte),
                Op::Fence(_) => bytes.extend(b"`~"),
                Op::Suffix => {}
                _ => bytes.extend(SPACES),
            }
            if thread.spaced {
                bytes.extend(SPACES);
            }
        }
        bytes.sort_unstable();
        bytes.dedup();
        bytes
    }
}

/// The bytes with which a response may go on with what was begun by the prompt.
fn after_prompt(program: &Program) -> ByteSet {
    let mut threads = Threads::default();
    let starts = program.prompt_starts.iter().map(|pc| Thread::new(*pc, 0));
    threads.start(program, &mut Scratch::default(), starts, 0);
    let may_follow =
        |byte: &u8| threads.iter().any(|thread| thread.pieces > 0 || takes(program, thread, *byte));
    (0..=u8::MAX).filter(may_follow).collect()
}

/// Whether a thread may go on with this byte.
fn takes(program: &Program, thread: &Thread, byte: u8) -> bool {
    if thread.spaced && byte.is_ascii_whitespace() {
        return true;
    }
    match program.ops[thread.pc as usize] {
        Op::Byte(wanted) => wanted == byte,
        Op::Space | Op::Space1 | Op::Line => byte.is_ascii_whitespace(),
        Op::Fence(_) => matches!(byte, b'`' | b'~'),
        Op::Word(_) => is_word_byte(byte),
        Op::Body(body) => program.bodies[body as usize].can_start(byte as char),
        _ => true,
    }
}

/// Whether an instruction reads nothing yet that differs from response to response, but may with the next byte.
fn may_begin_word(op: Op) -> bool {
    matches!(op, Op::Fence(_) | Op::Suffix)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dialect::Record;
    use crate::frame::program::compile;
    use crate::rules::ActiveDialect;

    #[test]
    fn marks_in_plain_text_begin_nothing() {
        for chosen in ["none", "hermes", "qwen3-coder", "harmony"] {
            let listening = |record: &Record| ActiveDialect {
                record: Arc::new(record.clone()),
                chosen: &*record.name == chosen,
                live: true,
            };
            let records: Vec<ActiveDialect> =
                Record::builtin().iter().filter(|record| record.auto).map(listening).collect();
            let openers = Openers::new(&compile(&records));
            for (first, second) in [(b'<', b' '), (b'<', b'p'), (b'<', b'='), (b'[', b'1'), (b'{', b'x')] {
                let text = [first, second];
                assert!(!openers.could_begin(&text), "{chosen}: {}", text.escape_ascii());
            }
            assert!(!openers.could_begin(b"<b>"), "{chosen}");
            for opener in ["<tool_call>", "<think>", "[TOOL_CALLS]", "<|im_end|>"] {
                let starts = (1..opener.len()).map(|end| &opener.as_bytes()[..end]);
                assert!(starts.into_iter().all(|start| openers.could_begin(start)), "{chosen}: {opener}");
            }
        }
    }
}
