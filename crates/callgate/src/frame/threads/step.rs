//! One step: a byte is read by all threads of a set, and a word that ends with it is bound to its slots.

use super::super::instructions::{Op, Program};
use super::super::slips::{Loose, LooseRead, Slip};
use super::super::thread::{LONGEST_WORD, Thread, WordStart, Words};
use super::{Fate, Scratch, Threads, follow};
use crate::dialect::turn::names_call;
use crate::dialect::{Slot, is_word_character};
use crate::shortcuts::Shortcut;

impl Threads {
    /// Reads one byte at `position`. Words that end here are matched first.
    pub(crate) fn step(
        &mut self,
        program: &Program,
        scratch: &mut Scratch,
        byte: u8,
        position: usize,
    ) -> Fate {
        if self.in_word && !is_word_byte(byte) {
            self.end_words(program, scratch, position);
        }
        if byte.is_ascii_whitespace()
            && Shortcut::Threads.is_on()
            && let Some(step) = self.step_over_space(program)
        {
            return step;
        }
        if Shortcut::Threads.is_on()
            && let Some(step) = self.step_alone(program, scratch, byte, position)
        {
            return step;
        }
        self.step_all(program, scratch, byte, position)
    }

    fn step_all(&mut self, program: &Program, scratch: &mut Scratch, byte: u8, position: usize) -> Fate {
        let mut next = std::mem::take(&mut scratch.spare);
        next.clear();
        next.reserve(self.list.len());
        scratch.next_step(program);
        let mut took_word = false;
        for thread in &self.list {
            if thread.spaced && byte.is_ascii_whitespace() {
                if scratch.first_visit(thread.pc, true) {
                    next.push(*thread);
                }
                continue;
            }
            let op = program.ops[thread.pc as usize];
            if rejects(op, byte) {
                continue;
            }
            let mut thread = *thread;
            thread.leave_space(byte, position);
            let is_read = match op {
                // Nearly all steps are these, so they are taken here and not in `read`.
                Op::Byte(_) => {
                    thread.pc += 1;
                    true
                }
                Op::Word(_) | Op::Suffix if continues_word(op, &mut thread, scratch, byte) => {
                    took_word = true;
                    if !next.contains(&thread) {
                        next.push(thread);
                    }
                    false
                }
                _ => read(program, scratch, &mut thread, byte),
            };
            if is_read {
                follow(program, scratch, &mut next, &thread, position + 1);
            }
        }
        if next.is_empty() {
            scratch.spare = next;
            return Fate::Dead;
        }
        self.in_word = took_word;
        self.settled = false;
        std::mem::swap(&mut self.list, &mut next);
        scratch.spare = next;
        Fate::Alive
    }

    /// Goes on over a space with the names that begin as one that is asked for; all other threads are over. False, and
    /// nothing has changed, if there is none.
    pub(crate) fn space_in_name(
        &mut self,
        program: &Program,
        scratch: &mut Scratch,
        is_begun: impl Fn(&str) -> bool,
    ) -> bool {
        let goes_on = |thread: &Thread| {
            let Op::Word(pattern) = program.ops[thread.pc as usize] else { return false };
            let is_name = matches!(program.patterns[pattern as usize].slots[..], [(Slot::Name, _), ..]);
            let words = thread.word.map(|start| Words::new(start.get(), scratch.words.len() as u32));
            is_name && words.is_some_and(|words| is_begun(scratch.get(words)))
        };
        if !self.list.iter().any(goes_on) {
            return false;
        }
        self.list.retain(goes_on);
        scratch.push_word(' ');
        true
    }

    /// Ends the words that are being read: the byte at `position` is none of theirs.
    pub(crate) fn end_words(&mut self, program: &Program, scratch: &mut Scratch, position: usize) {
        self.settled = false;
        let mut next = std::mem::take(&mut scratch.spare);
        next.clear();
        scratch.next_step(program);
        for thread in &self.list {
            let mut thread = *thread;
            let Some(start) = thread.word else {
                follow(program, scratch, &mut next, &thread, position);
                continue;
            };
            thread.word = None;
            let run = (start.get(), scratch.words.len() as u32);
            match program.ops[thread.pc as usize] {
                Op::Suffix => thread.suffix = Some(Words::new(run.0, run.1)),
                Op::Word(pattern) if !bind(program, scratch, &mut thread, pattern, run) => continue,
                _ => {}
            }
            thread.pc += 1;
            follow(program, scratch, &mut next, &thread, position);
        }
        if next.is_empty() {
            self.last = self.lead().copied();
        }
        self.in_word = false;
        std::mem::swap(&mut self.list, &mut next);
        scratch.spare = next;
    }
}

/// Whether an instruction cannot read this byte, whatever thread stands there.
fn rejects(op: Op, byte: u8) -> bool {
    match op {
        Op::Byte(wanted) => wanted != byte,
        Op::Word(_) => !is_word_byte(byte),
        Op::Body(_) | Op::Match | Op::Reopened => true,
        _ => false,
    }
}

/// Reads a byte of a word or of a suffix that is not bound yet. The thread stays where it is, because only the byte
/// after the word shows that it has ended. False if no word is read here.
fn continues_word(op: Op, thread: &mut Thread, scratch: &Scratch, byte: u8) -> bool {
    let goes_on = match (op, thread.word) {
        (Op::Word(_), _) => true,
        // A colon starts it, word characters go on with it. `follow` has already gone past it for the case that it is
        // empty.
        (Op::Suffix, None) => byte == b':' && thread.repeated(op).is_none(),
        (Op::Suffix, Some(_)) => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
        _ => false,
    };
    if !goes_on {
        return false;
    }
    let here = scratch.words.len() as u32;
    let start = thread.word.map_or(here, WordStart::get);
    thread.word = Some(WordStart::at(start));
    ((here - start) as usize) < LONGEST_WORD
}

/// Reads a byte of white space, of a fence or of a repeated text, and moves on where its instruction is done.
fn read(program: &Program, scratch: &Scratch, thread: &mut Thread, byte: u8) -> bool {
    let op = program.ops[thread.pc as usize];
    match op {
        Op::Space if byte.is_ascii_whitespace() => {}
        // What is needed once is followed by free space, so only the first such byte is read here.
        Op::Space1 | Op::Line if byte.is_ascii_whitespace() => {
            thread.pc += u32::from(matches!(op, Op::Space1) || byte == b'\n');
        }
        Op::RestOfLine => thread.pc += u32::from(byte == b'\n'),
        Op::Fence(info) => return thread.read_fence(program.infos[info as usize].as_bytes(), byte),
        Op::FenceEnd => return thread.read_fence_end(byte),
        Op::Repeat(_) | Op::Suffix => return read_again(scratch, thread, op, byte),
        Op::Loose(character) => return read_loose(thread, character, byte),
        Op::Attribute => return thread.read_attribute(byte),
        _ => return false,
    }
    true
}

/// Reads a byte of a character that is written in more than one way.
fn read_loose(thread: &mut Thread, character: Loose, byte: u8) -> bool {
    match character.read(thread.offset, byte) {
        LooseRead::Read { respelled } => {
            thread.pc += 1;
            thread.offset = 0;
            if respelled {
                thread.slips.add(Slip::Respelled);
            }
            true
        }
        LooseRead::More(come) => {
            thread.offset = come;
            true
        }
        LooseRead::Other => false,
    }
}

/// Reads a byte of a text that is read for the second time.
fn read_again(scratch: &Scratch, thread: &mut Thread, op: Op, byte: u8) -> bool {
    let Some((from, to)) = thread.repeated(op).map(Words::range) else { return false };
    let is_same = scratch.words.as_bytes().get((from + thread.offset) as usize) == Some(&byte);
    if is_same {
        thread.offset += 1;
        if from + thread.offset == to {
            thread.pc += 1;
            thread.offset = 0;
        }
    }
    is_same
}

/// Matches a finished word against its pattern and binds its slots.
fn bind(program: &Program, scratch: &Scratch, thread: &mut Thread, pattern: u16, run: (u32, u32)) -> bool {
    // A name goes on over a space only where a tool has such a name, which may not be this one.
    let text = scratch.get(Words::new(run.0, run.1)).trim_end_matches(' ');
    // A slash makes a closing tag, never a name.
    if text.is_empty()
        || text.starts_with(['/', '!', '?'])
        || !text.is_ascii() && !text.chars().all(|c| c == ' ' || is_word_character(c))
    {
        return false;
    }
    let pattern = &program.patterns[pattern as usize];
    if pattern.of_calls && !names_call(text) {
        return false;
    }
    let slots = &pattern.slots;
    let whole = run.0 + text.len() as u32;
    let mut from = 0;
    for (i, (slot, literal)) in slots.iter().enumerate() {
        let rest = &text[from..];
        let is_last = i + 1 == slots.len();
        let end = if literal.is_empty() {
            Some(rest.len())
        } else if is_last {
            rest.strip_suffix(literal.as_str()).map(str::len)
        } else {
            rest.rfind(literal.as_str())
        };
        let Some(end) = end else {
            if is_last {
                return false;
            }
            // The number after the name is missing: the whole word is the name, and the judge may still know it.
            set(scratch, thread, *slot, Words::new(run.0 + from as u32, whole));
            return true;
        };
        if end == 0 {
            return false;
        }
        // Typographic quotes stand around a key.
        if *slot == Slot::Key && rest.contains(['“', '”']) {
            return false;
        }
        set(scratch, thread, *slot, Words::new(run.0 + from as u32, run.0 + (from + end) as u32));
        from += end + literal.len();
    }
    true
}

/// Binds a slot to a word, and notes a name that is another than the one before it, or a key than that in the same tag: the key
/// of a tag with slips is bound to nothing where the tag begins.
fn set(scratch: &Scratch, thread: &mut Thread, slot: Slot, words: Words) {
    let before = match slot {
        Slot::Name => thread.name,
        Slot::Key if thread.slips.has(Slip::Attribute) => thread.key,
        _ => None,
    };
    thread.is_renamed |= before.is_some_and(|before| scratch.get(before) != scratch.get(words));
    thread.set(slot, words);
}

/// Whether a byte can be part of a word. Characters beyond ASCII are judged when the word has ended.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte >= 0x80 || is_word_character(byte as char)
}
