//! Room: the lists of machines that have done their work, for the next machines of the same thread.
//!
//! A short response would otherwise spend a fifth of its time on asking for memory. A machine takes its lists when the
//! first marker comes, so that text alone needs none, and gives them up, emptied, when the response is over.

use std::cell::RefCell;

use super::super::threads::{Scratch, Thread, Threads};
use super::Machine;
use crate::json::Reader;

/// How many machines' lists are kept per thread.
const SPARES: usize = 16;

/// The most room that one list keeps, in bytes.
const KEPT: usize = 64 << 10;

thread_local! {
    static SPARE: RefCell<Vec<Room>> = const { RefCell::new(Vec::new()) };
}

/// Empty lists.
#[derive(Debug, Default)]
struct Room {
    threads: Threads,
    scratch: Scratch,
    waiting: Vec<Thread>,
    parked: Vec<Thread>,
    held: String,
    look: String,
    raw: String,
    reader: Option<Box<Reader>>,
}

impl Machine {
    /// Takes the lists of an earlier machine, before it has used its own.
    pub(super) fn take_room(&mut self) {
        if std::mem::replace(&mut self.is_furnished, true) {
            return;
        }
        // A thread that is ending has nothing to give.
        let Some(room) = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten() else { return };
        self.threads = room.threads;
        self.scratch = room.scratch;
        self.waiting = room.waiting;
        self.parked = room.parked;
        self.held = room.held;
        self.look = room.look;
        self.raw = room.raw;
        self.reader = room.reader;
    }

    /// Leaves its lists to the next machine.
    pub(super) fn give_up_room(&mut self) {
        if !self.is_furnished {
            return;
        }
        self.threads.clear();
        self.waiting.clear();
        self.parked.clear();
        let take = |text: &mut String| emptied(std::mem::take(text));
        let room = Room {
            threads: std::mem::take(&mut self.threads),
            scratch: std::mem::take(&mut self.scratch).emptied(),
            waiting: std::mem::take(&mut self.waiting),
            parked: std::mem::take(&mut self.parked),
            held: take(&mut self.held),
            look: take(&mut self.look),
            raw: take(&mut self.raw),
            reader: self.reader.take().filter(|reader| reader.room() <= KEPT),
        };
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
    text.clear();
    if text.capacity() > KEPT { String::new() } else { text }
}
