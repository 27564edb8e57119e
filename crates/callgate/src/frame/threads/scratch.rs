//! Scratch: what the threads of a set have in common while they read, and lists that each step uses again.

use super::super::instructions::{Pc, Program};
use super::super::specials::Specials;
use super::super::thread::{Thread, Words};
use crate::dialect::Repeats;

/// What the threads of a set have in common: the words they have read, and stamps for keeping the set small.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The text of all words read in this frame; threads point into it.
    pub(super) words: String,
    /// Two bits per instruction: whether it has been visited in this step, without and with white space before it.
    visited: Vec<u64>,
    /// The words of `visited` that are not zero.
    touched: Vec<u32>,
    pub(super) spare: Vec<Thread>,
    /// The work list of a closure that depends on its threads, the preferred last.
    pub(super) worklist: Vec<WorkItem>,
    /// The values that hold the elements that are being read, the outermost first.
    pub(super) outer_values: Vec<OuterValue>,
    /// Which bytes came as special tokens, where that is asked.
    pub(crate) specials: Specials,
    /// Where the marker of a call ended that came as text, and had to come as special tokens.
    pub(crate) marker_as_text: Option<usize>,
}

/// A thread whose closure is still to be added.
#[derive(Debug)]
pub(super) struct WorkItem {
    pub(super) thread: Thread,
    /// Whether the closure of its instruction has been followed, so that the instruction itself is what remains.
    pub(super) expanded: bool,
}

/// A value that holds elements.
#[derive(Debug)]
pub(crate) struct OuterValue {
    /// The threads at the value's body.
    pub(crate) waiting: Vec<Thread>,
    /// Where another of its elements begins.
    pub(crate) elements: Vec<Pc>,
}

impl Scratch {
    /// The text of a range.
    pub(crate) fn get(&self, words: Words) -> &str {
        let (from, to) = words.range();
        self.words.get(from as usize..to as usize).unwrap_or_default()
    }

    /// What the closers of a thread repeat.
    pub(crate) fn repeats(&self, thread: &Thread) -> Repeats<'_> {
        let word = |words: Option<Words>| words.map_or("", |words| self.get(words));
        Repeats { key: word(thread.key), suffix: word(thread.suffix) }
    }

    pub(crate) fn reset(&mut self) {
        self.words.clear();
        self.outer_values.clear();
        self.marker_as_text = None;
    }

    /// A character that threads have read as part of a word.
    pub(crate) fn push_word(&mut self, c: char) {
        self.words.push(c);
    }

    /// Leaves the lists with nothing in them.
    pub(crate) fn empty(&mut self) {
        self.reset();
        self.specials = Specials::default();
        self.forget_visits();
    }

    /// A value turns out to hold elements.
    pub(crate) fn hold(&mut self, outer: OuterValue) {
        self.outer_values.push(outer);
    }

    /// Forgets all outer_values but the outer ones.
    pub(crate) fn release(&mut self, level: usize) {
        self.outer_values.truncate(level);
    }

    /// Forgets which instructions have been visited, and makes room for those of this program.
    pub(super) fn next_step(&mut self, program: &Program) {
        self.forget_visits();
        self.visited.resize(program.ops.len().div_ceil(32), 0);
    }

    fn forget_visits(&mut self) {
        for word in self.touched.drain(..) {
            self.visited[word as usize] = 0;
        }
    }

    pub(super) fn first_visit(&mut self, pc: Pc, spaced: bool) -> bool {
        let place = pc * 2 + u32::from(spaced);
        let word = &mut self.visited[place as usize / 64];
        if *word == 0 {
            self.touched.push(place / 64);
        }
        let bit = 1 << (place % 64);
        let is_first = *word & bit == 0;
        *word |= bit;
        is_first
    }
}
