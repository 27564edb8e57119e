//! Ways: from each instruction, where a thread can get to without reading a byte, worked out beforehand.

use super::instructions::{Mark, Op, Pc};

/// One way from an instruction to the next that reads something, or that only the thread can tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Where it ends.
    pub(crate) pc: Pc,
    /// Whether white space may come before what is read there.
    pub(crate) spaced: bool,
    /// Whether a line break that the format needs was left out.
    pub(crate) malformed: bool,
    /// Whether it depends on the thread what can be reached from there.
    pub(crate) is_open: bool,
    marks: (u32, u32),
}

/// The ways of a program.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// Per instruction, where its ways begin; they end where those of the next begin.
    starts: Vec<u32>,
    ways: Vec<Way>,
    marks: Vec<Mark>,
}

impl Ways {
    pub(crate) fn of(ops: &[Op]) -> Self {
        let mut all = Ways::default();
        for pc in 0..ops.len() as Pc {
            all.starts.push(all.ways.len() as u32);
            if !is_end(ops[pc as usize]) {
                all.add(ops, pc);
            }
        }
        all.starts.push(all.ways.len() as u32);
        all
    }

    /// The ways from an instruction, the preferred first; none if it reads something itself and does nothing else.
    pub(crate) fn from(&self, pc: Pc) -> &[Way] {
        &self.ways[self.starts[pc as usize] as usize..self.starts[pc as usize + 1] as usize]
    }

    /// What a thread passes on a way.
    pub(crate) fn marks(&self, way: &Way) -> &[Mark] {
        &self.marks[way.marks.0 as usize..way.marks.1 as usize]
    }

    fn add(&mut self, ops: &[Op], from: Pc) {
        let mut seen = Vec::new();
        let mut open = vec![Walk { pc: from, spaced: false, malformed: false, marks: Vec::new() }];
        while let Some(mut walk) = open.pop() {
            // The preferred way is gone to its end; the others wait.
            while !seen.contains(&(walk.pc, walk.spaced)) {
                seen.push((walk.pc, walk.spaced));
                let op = ops[walk.pc as usize];
                match op {
                    Op::Split(first, second) => {
                        open.push(Walk { pc: second, ..walk.clone() });
                        walk.pc = first;
                    }
                    Op::Prompt(second) => {
                        open.push(Walk { pc: second, ..walk.clone() });
                        walk.pc += 1;
                    }
                    Op::Jump(to) => walk.pc = to,
                    Op::Mark(mark) => {
                        walk.marks.push(mark);
                        walk.pc += 1;
                    }
                    Op::Space if walk.spaced || may_spread(ops, walk.pc) => {
                        walk.spaced = true;
                        walk.pc += 1;
                    }
                    Op::Space | Op::Line => {
                        self.end(&walk, op);
                        walk.malformed |= op == Op::Line;
                        walk.pc += 1;
                    }
                    _ => {
                        self.end(&walk, op);
                        break;
                    }
                }
            }
        }
    }

    fn end(&mut self, walk: &Walk, op: Op) {
        let first = self.marks.len() as u32;
        self.marks.extend(&walk.marks);
        let Walk { pc, spaced, malformed, .. } = *walk;
        let marks = (first, self.marks.len() as u32);
        self.ways.push(Way { pc, spaced, malformed, is_open: is_open(op), marks });
    }
}

/// A way that is being followed.
#[derive(Clone)]
struct Walk {
    pc: Pc,
    spaced: bool,
    malformed: bool,
    marks: Vec<Mark>,
}

/// Whether an instruction reads something that cannot begin with white space.
pub(super) fn begins_without_space(op: Op) -> bool {
    match op {
        Op::Byte(byte) => !byte.is_ascii_whitespace(),
        _ => matches!(op, Op::Word(_) | Op::Body(_)),
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
pub(super) fn is_open(op: Op) -> bool {
    matches!(op, Op::Suffix | Op::Repeat(_) | Op::Return)
}

/// Whether a thread stays at an instruction, at least for now.
fn is_end(op: Op) -> bool {
    let goes_on =
        matches!(op, Op::Split(..) | Op::Prompt(_) | Op::Jump(_) | Op::Mark(_) | Op::Space | Op::Line);
    !goes_on
}
