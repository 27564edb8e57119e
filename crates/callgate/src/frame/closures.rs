//! Closures: for every instruction, the instructions that read something and can be reached from it without reading a
//! byte, in order of preference (its ε-closure), worked out beforehand.

use std::collections::HashMap;

use super::instructions::{Mark, Op, Pc};

/// An instruction that is reached: it reads something, or what can be reached from it depends on the thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    pub(crate) pc: Pc,
    /// Whether white space may come before what is read there.
    pub(crate) spaced: bool,
    /// Whether a line break that the format needs was left out.
    pub(crate) malformed: bool,
    /// Whether what can be reached from there depends on what the thread has read.
    pub(crate) needs_thread: bool,
    /// What is noted on the path to it, as its number among all lists of marks.
    marks: u32,
}

/// The closures of a program.
#[derive(Debug, Default)]
pub(crate) struct Closures {
    /// Per instruction, where its closure begins; it ends where that of the next begins.
    starts: Vec<u32>,
    reached: Vec<Reached>,
    /// Lists of marks, each of them once.
    marks: Vec<Box<[Mark]>>,
}

impl Closures {
    pub(crate) fn of(ops: &[Op]) -> Self {
        let mut finder = Finder { ops, spreads: vec![None; ops.len()], ..Finder::default() };
        finder.found.starts.reserve_exact(ops.len() + 1);
        // Most instructions reach one other, so that doubling would leave much of it empty.
        finder.found.reached.reserve_exact(ops.len() + ops.len() / 4);
        for pc in 0..ops.len() as Pc {
            finder.found.starts.push(finder.found.reached.len() as u32);
            if !is_end(ops[pc as usize]) {
                finder.add(pc);
            }
        }
        let mut all = finder.found;
        all.starts.push(all.reached.len() as u32);
        all.reached.shrink_to_fit();
        all.marks.shrink_to_fit();
        all
    }

    /// The closure of an instruction, the preferred first; empty if it reads something itself and does nothing else.
    pub(crate) fn from(&self, pc: Pc) -> &[Reached] {
        &self.reached[self.starts[pc as usize] as usize..self.starts[pc as usize + 1] as usize]
    }

    /// What a thread passes on the path to an instruction.
    pub(crate) fn marks(&self, reached: &Reached) -> &[Mark] {
        &self.marks[reached.marks as usize]
    }
}

/// What works out the closures of a program, with what it keeps from one instruction to the next.
#[derive(Default)]
struct Finder<'o> {
    ops: &'o [Op],
    found: Closures,
    seen: Vec<(Pc, bool)>,
    open: Vec<Path>,
    /// What is noted on the path that is followed. Those that wait have a part of it in common, since the last is next.
    marks: Vec<Mark>,
    /// The number of each list of marks.
    numbers: HashMap<Box<[Mark]>, u32>,
    /// Whether free white space spreads, per instruction, as far as it was asked.
    spreads: Vec<Option<bool>>,
}

impl Finder<'_> {
    fn add(&mut self, from: Pc) {
        self.seen.clear();
        self.open.push(Path { pc: from, spaced: false, malformed: false, marks: 0 });
        while let Some(mut path) = self.open.pop() {
            self.marks.truncate(path.marks);
            // The preferred path is followed to its end; the others wait.
            while !self.seen.contains(&(path.pc, path.spaced)) {
                self.seen.push((path.pc, path.spaced));
                let op = self.ops[path.pc as usize];
                match op {
                    Op::Split(first, second) => {
                        self.open.push(Path { pc: second, marks: self.marks.len(), ..path });
                        path.pc = first;
                    }
                    Op::Prompt(second) => {
                        self.open.push(Path { pc: second, marks: self.marks.len(), ..path });
                        path.pc += 1;
                    }
                    Op::Jump(to) => path.pc = to,
                    Op::Mark(mark) => {
                        self.marks.push(mark);
                        path.pc += 1;
                    }
                    Op::Space if path.spaced || self.may_spread(path.pc) => {
                        path.spaced = true;
                        path.pc += 1;
                    }
                    Op::Space | Op::Line => {
                        self.end(path, op);
                        path.malformed |= op == Op::Line;
                        path.pc += 1;
                    }
                    _ => {
                        self.end(path, op);
                        break;
                    }
                }
            }
        }
    }

    fn end(&mut self, path: Path, op: Op) {
        let Path { pc, spaced, malformed, .. } = path;
        let marks = match self.numbers.get(&*self.marks) {
            Some(number) => *number,
            None => {
                let number = self.found.marks.len() as u32;
                let marks: Box<[Mark]> = self.marks.as_slice().into();
                self.found.marks.push(marks.clone());
                self.numbers.insert(marks, number);
                number
            }
        };
        let needs_thread = needs_thread(op);
        self.found.reached.push(Reached { pc, spaced, malformed, needs_thread, marks });
    }

    fn may_spread(&mut self, space: Pc) -> bool {
        *self.spreads[space as usize].get_or_insert_with(|| may_spread(self.ops, space))
    }
}

/// A path through instructions that read nothing.
#[derive(Clone, Copy)]
struct Path {
    pc: Pc,
    spaced: bool,
    malformed: bool,
    /// How many marks it had passed when it was left to wait.
    marks: usize,
}

/// Whether an instruction reads something that cannot begin with white space.
pub(super) fn begins_without_space(op: Op) -> bool {
    match op {
        Op::Byte(byte) => !byte.is_ascii_whitespace(),
        _ => matches!(op, Op::Word(_) | Op::Body(_) | Op::Loose(_) | Op::Attribute),
    }
}

/// Whether free white space need not be a thread of its own: nothing that follows can begin with white space, so each
/// thread there can pass over it as it stands. Where the end of a call is noted in between, it is not the same before
/// and after the space.
fn may_spread(ops: &[Op], space: Pc) -> bool {
    let mut open = vec![space + 1];
    let mut seen = Vec::new();
    while let Some(pc) = open.pop() {
        if seen.contains(&pc) {
            continue;
        }
        seen.push(pc);
        match ops[pc as usize] {
            Op::Split(first, second) => open.extend([first, second]),
            Op::Prompt(second) => open.extend([pc + 1, second]),
            Op::Jump(to) => open.push(to),
            Op::Mark(Mark::CallEnd) => return false,
            Op::Space | Op::Mark(_) => open.push(pc + 1),
            op if begins_without_space(op) => {}
            _ => return false,
        }
    }
    true
}

/// Whether what can be reached from an instruction depends on what the thread has read.
pub(super) fn needs_thread(op: Op) -> bool {
    matches!(op, Op::Suffix | Op::Repeat(_) | Op::Return | Op::Bound(_) | Op::Special(_))
}

/// Whether a thread stays at an instruction, at least for now.
fn is_end(op: Op) -> bool {
    let goes_on =
        matches!(op, Op::Split(..) | Op::Prompt(_) | Op::Jump(_) | Op::Mark(_) | Op::Space | Op::Line);
    !goes_on
}
