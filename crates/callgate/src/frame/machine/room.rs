//! Room: the lists of machines that have done their work, for the next machines of the same thread.
//!
//! A short response would otherwise spend a fifth of its time on asking for memory. A machine takes its lists when the
//! first marker comes, so that text alone needs none, and gives them up, emptied, when the response is over.

use std::cell::RefCell;
use std::mem::swap;

use super::super::threads::{Scratch, Thread, Threads};
use super::Machine;
use crate::json::Reader;

/// How many machines' lists are kept per thread.
const SPARES: usize = 16;

/// The most room that one list keeps, in bytes.
const KEPT: usize = 64 << 10;

thread_local! {
    #[allow(clippy::vec_box)] // A machine keeps the box while it works, so that nothing but a pointer is moved.
    static SPARE: RefCell<Vec<Box<Room>>> = const { RefCell::new(Vec::new()) };
}

/// Empty lists.
#[derive(Debug, Default)]
pub(super) struct Room {
    threads: Threads,
    scratch: Scratch,
    waiting: Vec<Thread>,
    parked: Vec<Thread>,
    held: String,
    look: String,
    raw: String,
    reader: Option<Box<Reader>>,
}

impl Room {
    /// Gives a machine these lists for its own.
    fn exchange(&mut self, machine: &mut Machine) {
        swap(&mut self.threads, &mut machine.threads);
        swap(&mut self.scratch, &mut machine.scratch);
        swap(&mut self.waiting, &mut machine.waiting);
        swap(&mut self.parked, &mut machine.parked);
        swap(&mut self.held, &mut machine.held);
        swap(&mut self.look, &mut machine.look);
        swap(&mut self.raw, &mut machine.raw);
        swap(&mut self.reader, &mut machine.reader);
    }

    /// Empties the lists, and gives up those that are large.
    fn empty(&mut self) {
        self.threads.clear();
        self.scratch.empty();
        self.waiting.clear();
        self.parked.clear();
        for text in [&mut self.held, &mut self.look, &mut self.raw] {
            empty(text);
        }
        self.reader.take_if(|reader| reader.room() > KEPT);
    }
}

impl Machine {
    /// Takes the lists of an earlier machine, before it has used its own.
    pub(super) fn take_room(&mut self) {
        if self.room.is_some() {
            return;
        }
        // A thread that is ending has nothing to give.
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        let mut room = spare.unwrap_or_default();
        room.exchange(self);
        self.room = Some(room);
    }

    /// Leaves its lists to the next machine.
    pub(super) fn give_up_room(&mut self) {
        let Some(mut room) = self.room.take() else { return };
        room.exchange(self);
        room.empty();
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < SPARES {
                spare.push(room);
            }
        });
    }
}

/// Gives a text that was taken out its room back, unless it has got another.
pub(super) fn give_back(place: &mut String, text: String) {
    if place.capacity() == 0 {
        *place = emptied(text);
    }
}

/// A text without its content, but with its room, unless that is large.
pub(super) fn emptied(mut text: String) -> String {
    empty(&mut text);
    text
}

fn empty(text: &mut String) {
    text.clear();
    if text.capacity() > KEPT {
        *text = String::new();
    }
}
