//! The pool: buffers of machines that have done their work, for the next machines of the same OS thread.
//!
//! A short response would otherwise spend a fifth of its time on asking for memory. A machine takes its buffers when the
//! first marker comes, so that text alone needs none, and gives them up, emptied, when the response is over.

use std::cell::RefCell;
use std::mem::take;

use super::super::threads::Scratch;
use super::Machine;
use super::bodies::Inside;
use super::matching::{Matching, Waiting};
use super::value_end::Look;
use crate::attempt::Attempt;
use crate::draft::Draft;
use crate::json::{Reader, Syntax};
use crate::policy::Policy;

/// How many machines' buffers are kept per OS thread.
const SPARES: usize = 16;

/// The most memory that one buffer keeps, in bytes.
const KEPT: usize = 64 << 10;

thread_local! {
    static SPARE: RefCell<Vec<Spare>> = const { RefCell::new(Vec::new()) };
}

/// Memory for the states of one machine that are still to come.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Whether it has got what was spare.
    is_open: bool,
    matching: Option<Box<Matching>>,
    look: Option<Box<Look>>,
    waiting: Vec<Waiting>,
    /// A draft that is over, with the memory for the text of the next call.
    draft: Option<Box<Draft>>,
    reader: Option<Box<Reader>>,
}

/// What one machine leaves to another.
#[derive(Debug, Default)]
struct Spare {
    pool: Pool,
    scratch: Scratch,
    held: String,
}

impl Pool {
    /// Matching with no threads.
    pub(super) fn matching(&mut self) -> Box<Matching> {
        self.matching.take().unwrap_or_default()
    }

    pub(super) fn keep_matching(&mut self, mut matching: Box<Matching>) {
        matching.empty();
        self.matching = Some(matching);
    }

    /// A look ahead with no threads.
    pub(super) fn look(&mut self) -> Box<Look> {
        self.look.take().unwrap_or_default()
    }

    pub(super) fn keep_look(&mut self, mut look: Box<Look>) {
        look.threads.clear();
        empty(&mut look.text);
        self.look = Some(look);
    }

    /// The threads that stand at a body, and an empty list in their place.
    pub(super) fn take_waiting(&mut self, list: &mut Vec<Waiting>) -> Vec<Waiting> {
        std::mem::replace(list, take(&mut self.waiting))
    }

    /// The draft of a body that is over.
    pub(super) fn leave(&mut self, inside: Box<Inside>) -> Box<Draft> {
        let Inside { draft, mut waiting, .. } = *inside;
        waiting.clear();
        self.waiting = waiting;
        draft
    }

    pub(super) fn draft(&mut self, policy: &Policy, number: usize, call: u32, start: usize) -> Box<Draft> {
        let mut draft = match self.draft.take() {
            Some(mut draft) => {
                draft.restart(number, call, start);
                draft
            }
            None => Box::new(Draft::new(number, call, start)),
        };
        draft.untyped = policy.untyped;
        draft
    }

    pub(super) fn reader(&mut self) -> Box<Reader> {
        self.reader.take().unwrap_or_else(|| Box::new(Reader::new(Syntax::Json)))
    }

    /// Takes back a draft that is over, and what was not needed of its attempt.
    pub(super) fn reuse(&mut self, draft: Box<Draft>, attempt: Attempt, reader: Option<Box<Reader>>) {
        let mut draft = draft;
        draft.raw = attempt.raw;
        empty(&mut draft.raw);
        self.draft = Some(draft);
        if let Some(mut reader) = reader {
            reader.reuse(attempt.tape);
            self.reader = Some(reader);
        }
    }
}

impl Machine {
    /// Takes the buffers of an earlier machine, before it has used its own.
    #[inline]
    pub(super) fn open_pool(&mut self) {
        if !self.pool.is_open {
            self.take_spare();
        }
    }

    fn take_spare(&mut self) {
        // `try_with` fails while this OS thread is torn down; the buffers are new ones then.
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        if let Some(Spare { pool, scratch, held }) = spare {
            self.pool = pool;
            let specials = take(&mut self.scratch.specials);
            self.scratch = scratch;
            self.scratch.specials = specials;
            self.held.text = held;
        }
        self.pool.is_open = true;
    }

    /// Leaves its buffers to the next machine.
    pub(super) fn give_up_pool(&mut self) {
        if !take(&mut self.pool.is_open) {
            return;
        }
        let mut spare = Spare {
            pool: take(&mut self.pool),
            scratch: take(&mut self.scratch),
            held: take(&mut self.held.text),
        };
        spare.scratch.empty();
        empty(&mut spare.held);
        spare.pool.reader.take_if(|reader| reader.room() > KEPT);
        let _ = SPARE.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() < SPARES {
                spares.push(spare);
            }
        });
    }
}

/// Gives a text that was taken out its memory back, unless it has got another.
pub(super) fn give_back(place: &mut String, text: String) {
    if place.capacity() == 0 {
        *place = text;
        empty(place);
    }
}

/// Leaves a text its memory, unless that is large, but not its content.
fn empty(text: &mut String) {
    text.clear();
    if text.capacity() > KEPT {
        *text = String::new();
    }
}
