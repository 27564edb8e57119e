//! Threads: the set of them that reads a frame in step, the preferred first.

mod follow;
mod quick;
mod reach;
mod scratch;
mod step;

use self::follow::{follow, spread};
pub(crate) use self::reach::{reaches, reaches_end};
pub(crate) use self::scratch::{OuterValue, Scratch};
pub(crate) use self::step::is_word_byte;
use super::instructions::{Op, Program};
pub(crate) use super::thread::Thread;

/// What the threads of a set have come to, all of them looked at once.
pub(crate) struct Survey<'t> {
    /// The preferred thread that has reached the end of its frame.
    pub(crate) matched: Option<&'t Thread>,
    /// Whether every thread has.
    pub(crate) all_matched: bool,
    /// Whether every thread has passed the point after which this can only be a call.
    pub(crate) all_committed: bool,
    /// Whether all stand at bodies that can begin with anything.
    pub(crate) all_raw: bool,
}

/// Where a set stands after a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Some threads go on.
    Alive,
    /// No thread accepts the byte; the set is as it was before.
    Dead,
}

/// The threads, the preferred first.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    list: Vec<Thread>,
    /// Whether everything that follows from where they stand has been done.
    settled: bool,
    /// Whether one of them is reading a word.
    in_word: bool,
    /// The preferred one of the last set, where none is left.
    last: Option<Thread>,
}

impl Threads {
    pub(crate) fn of(list: Vec<Thread>) -> Self {
        Threads { list, ..Threads::default() }
    }

    /// Adds threads as they are, after those that are there.
    pub(crate) fn add(&mut self, threads: impl Iterator<Item = Thread>) {
        self.settled = false;
        self.list.extend(threads);
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.in_word = false;
        self.last = None;
    }

    /// The preferred one, or that of the last set if none is left.
    pub(crate) fn lead(&self) -> Option<&Thread> {
        self.list.first().or(self.last.as_ref())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.list.iter()
    }

    /// The threads that stand at a body, the preferred first.
    pub(crate) fn at_body<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = (&'a Thread, u16)> {
        self.list.iter().filter_map(|thread| match program.ops[thread.pc as usize] {
            Op::Body(body) => Some((thread, body)),
            _ => None,
        })
    }

    /// The preferred thread that has reached the end of its frame.
    pub(crate) fn matched(&self, program: &Program) -> Option<&Thread> {
        self.list.iter().find(|thread| thread.is_done(program))
    }

    /// Whether one of them has read the opener of a value again.
    pub(crate) fn reopen(&self, program: &Program) -> bool {
        self.list.iter().any(|thread| program.ops[thread.pc as usize] == Op::Reopened)
    }

    /// What they have come to.
    pub(crate) fn survey(&self, program: &Program) -> Survey<'_> {
        let mut survey =
            Survey { matched: None, all_matched: !self.list.is_empty(), all_committed: true, all_raw: true };
        for thread in &self.list {
            survey.all_committed &= thread.committed;
            let op = program.ops[thread.pc as usize];
            if thread.is_done(program) {
                survey.matched = survey.matched.or(Some(thread));
            } else {
                survey.all_matched = false;
            }
            let is_raw = |body: u16| program.bodies[body as usize].is_raw();
            survey.all_raw &= matches!(op, Op::Body(body) if is_raw(body));
        }
        survey
    }

    /// Whether all threads are in the middle of literals, so that nothing has to be decided.
    pub(crate) fn are_plain(&self, program: &Program) -> bool {
        self.list.iter().all(|thread| {
            let op = program.ops[thread.pc as usize];
            !thread.depends_on_response(false)
                && matches!(op, Op::Byte(_) | Op::Space | Op::Space1 | Op::Line)
        })
    }

    /// Starts new threads, after those that are there.
    pub(crate) fn start(
        &mut self,
        program: &Program,
        scratch: &mut Scratch,
        threads: impl IntoIterator<Item = Thread>,
        position: usize,
    ) {
        self.settled = false;
        let mut threads = threads.into_iter();
        let (first, second) = (threads.next(), threads.next());
        if let (Some(only), None) = (&first, &second)
            && self.list.is_empty()
            && spread(program, &mut self.list, only, position)
        {
            return;
        }
        scratch.next_step(program);
        for thread in first.into_iter().chain(second).chain(threads) {
            follow(program, scratch, &mut self.list, &thread, position);
        }
    }

    /// Keeps the threads for which the test holds.
    pub(crate) fn retain(&mut self, test: impl FnMut(&Thread) -> bool) {
        self.settled = false;
        self.last = self.lead().copied();
        self.list.retain(test);
        self.in_word = self.list.iter().any(|thread| thread.word.is_some());
    }

    /// Says that everything that follows from where they stand has been done, so that what decides nothing may be passed
    /// over.
    pub(crate) fn settle(&mut self) {
        self.settled = true;
    }

    /// The input is over: what only waited for a byte that is not part of it has ended.
    pub(crate) fn end_input(&mut self, program: &Program, scratch: &mut Scratch, position: usize) {
        self.end_words(program, scratch, position);
        self.end_fences(program);
        let list = std::mem::take(&mut self.list);
        self.start(program, scratch, list, position);
    }

    /// A special token may follow, which is no part of the closing line of a fence. True if it ends one.
    pub(crate) fn end_before_token(
        &mut self,
        program: &Program,
        scratch: &mut Scratch,
        position: usize,
    ) -> bool {
        let ends = self.end_fences(program);
        if ends {
            let list = std::mem::take(&mut self.list);
            self.start(program, scratch, list, position);
        }
        ends
    }

    fn end_fences(&mut self, program: &Program) -> bool {
        let is_closed = |thread: &&mut Thread| {
            program.ops[thread.pc as usize] == Op::FenceEnd && thread.has_closed_fence()
        };
        let closed = self.list.iter_mut().filter(is_closed);
        closed.map(|thread| thread.pc += 1).count() > 0
    }

    /// Whether some thread is reading a word.
    pub(crate) fn in_word(&self) -> bool {
        self.in_word
    }

    /// Whether this call, which begins here, could go on: at all, and with more than literals.
    pub(crate) fn could_go_on(&self, program: &Program, call: u32, start: usize) -> (bool, bool) {
        // The end that a thread knows may be that of the call before.
        let is_over = |thread: &Thread| thread.call_end.is_some_and(|end| end > start);
        let is_open = |thread: &&Thread| {
            thread.calls == call && !is_over(thread) && program.ops[thread.pc as usize] != Op::Match
        };
        let mut open = self.list.iter().filter(is_open).peekable();
        (open.peek().is_some(), open.any(|thread| !reaches_end(program, thread.pc)))
    }

    /// Whether the frame could end here if only literals were missing.
    pub(crate) fn only_literals_left(&self, program: &Program) -> Option<Thread> {
        self.list.iter().find(|thread| reaches_end(program, thread.pc)).copied()
    }
}
