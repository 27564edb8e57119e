//! The shortcuts of threads: a thread that is alone, white space that all pass over, and bytes that all read alike.

use super::super::closures::begins_without_space;
use super::super::instructions::{Op, Pc, Program};
use super::super::thread::{LONGEST_WORD, Thread, WordStart};
use super::{Fate, Scratch, Threads, is_word_byte, spread};
use crate::bytes::character_start;
use crate::shortcuts::Shortcut;

impl Threads {
    /// Reads one byte where there is only one thread: nothing has to be compared with what others have come to. Nothing if
    /// what it reads depends on more than the byte.
    pub(super) fn step_alone(
        &mut self,
        program: &Program,
        scratch: &Scratch,
        byte: u8,
        position: usize,
    ) -> Option<Fate> {
        let [thread] = &mut self.list[..] else { return None };
        match program.ops[thread.pc as usize] {
            Op::Body(_) | Op::Match | Op::Reopened => return Some(Fate::Dead),
            Op::Byte(wanted) if wanted != byte => return Some(Fate::Dead),
            Op::Byte(_) => {
                let mut next = *thread;
                next.leave_space(byte, position);
                next.pc += 1;
                self.list.clear();
                if !spread(program, &mut self.list, &next, position + 1) {
                    next.pc -= 1;
                    self.list.push(next);
                    return None;
                }
                self.in_word = false;
            }
            Op::Word(_) if thread.word.is_none() => {
                if !is_word_byte(byte) {
                    return Some(Fate::Dead);
                }
                thread.leave_space(byte, position);
                thread.word = Some(WordStart::at(scratch.words.len() as u32));
                self.in_word = true;
            }
            _ => return None,
        }
        self.settled = false;
        Some(Fate::Alive)
    }

    /// Reads white space where every thread either passes over it as it stands or cannot read it at all.
    pub(super) fn step_over_space(&mut self, program: &Program) -> Option<Fate> {
        let rejects = |thread: &Thread| {
            let op = program.ops[thread.pc as usize];
            matches!(op, Op::Match) || thread.offset == 0 && begins_without_space(op)
        };
        if !self.list.iter().all(|thread| thread.spaced || rejects(thread)) {
            return None;
        }
        if !self.list.iter().any(|thread| thread.spaced) {
            return Some(Fate::Dead);
        }
        self.settled = false;
        self.list.retain(|thread| thread.spaced);
        Some(Fate::Alive)
    }

    /// Reads what all threads read alike without anything to decide: white space that they pass over, the middle of words,
    /// and the middle of literals, whose last byte is not a part of it. Says how many bytes that is; none, unless they
    /// are settled.
    pub(crate) fn pass(&mut self, program: &Program, scratch: &mut Scratch, text: &str) -> usize {
        if !self.settled || self.list.is_empty() || !Shortcut::Threads.is_on() {
            return 0;
        }
        if self.in_word {
            let run = self.word_run(program, scratch, text.as_bytes());
            scratch.words.push_str(&text[..run]);
            return run;
        }
        let mut space = text.bytes().take_while(u8::is_ascii_whitespace).count();
        if space > 0 && !self.list.iter().all(|thread| thread.passes_space(program)) {
            space = 0;
        }
        let rest = &text[space..];
        let run = character_start(rest, self.literal_run(program, rest.as_bytes()));
        if run > 0 {
            for thread in &mut self.list {
                thread.spaced = thread.pass_bytes(program, run);
            }
        }
        space + run
    }

    fn word_run(&self, program: &Program, scratch: &Scratch, bytes: &[u8]) -> usize {
        let is_word = |byte: &u8| byte.is_ascii() && is_word_byte(*byte);
        let mut run = bytes.iter().copied().take_while(is_word).count();
        for thread in &self.list {
            let (Some(word), Op::Word(_)) = (thread.word, program.ops[thread.pc as usize]) else { return 0 };
            let room = LONGEST_WORD.saturating_sub(scratch.words.len() - word.get() as usize);
            run = run.min(room);
        }
        run
    }

    fn literal_run(&self, program: &Program, bytes: &[u8]) -> usize {
        let mut run = bytes.len();
        for thread in &self.list {
            if thread.start_pending {
                return 0;
            }
            run = literal_bytes(&program.ops[thread.pc as usize..], &bytes[..run]);
            if run == 0 {
                break;
            }
        }
        run
    }
}

/// How many of these bytes stand in the middle of the literal that begins here: another byte of it follows them.
fn literal_bytes(ops: &[Op], bytes: &[u8]) -> usize {
    let (mut at, mut read) = (0, 0);
    loop {
        let same = byte_run(&ops[at..], &bytes[read..]);
        (at, read) = (at + same, read + same);
        match ops.get(at) {
            Some(Op::Byte(_)) => return read,
            // White space is free here, and there is none.
            Some(Op::Space) if matches!(ops.get(at + 1), Some(Op::Byte(_))) => at += 1,
            _ => return read.saturating_sub(1),
        }
    }
}

fn byte_run(ops: &[Op], bytes: &[u8]) -> usize {
    ops.iter().zip(bytes).take_while(|(op, byte)| **op == Op::Byte(**byte)).count()
}

impl Thread {
    /// Goes on behind these many bytes of a literal. True if white space may come before the next one.
    fn pass_bytes(&mut self, program: &Program, bytes: usize) -> bool {
        let mut left = bytes;
        loop {
            let counted = program.to_space[self.pc as usize];
            let to_space = counted as usize;
            if left < to_space {
                self.pc += left as Pc;
                return false;
            }
            left -= to_space;
            self.pc += to_space as Pc;
            if counted == u8::MAX {
                // There is none up to here.
                continue;
            }
            self.pc += 1;
            if left == 0 {
                return true;
            }
        }
    }
}
