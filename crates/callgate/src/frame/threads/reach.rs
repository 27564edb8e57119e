//! Reach: whether an instruction can be come to from another one, whatever is read on the way.

use super::super::instructions::{Op, Pc, Program};

/// Whether an instruction that is wanted can be reached from here without going past one that ends the path.
pub(crate) fn reaches(
    program: &Program,
    from: Pc,
    is_wanted: impl Fn(Op) -> bool,
    ends_path: impl Fn(Op) -> bool,
) -> bool {
    let mut open = vec![from];
    let mut seen = Vec::new();
    while let Some(pc) = open.pop() {
        if seen.contains(&pc) {
            continue;
        }
        seen.push(pc);
        let op = program.ops[pc as usize];
        if is_wanted(op) {
            return true;
        }
        match op {
            _ if ends_path(op) => {}
            Op::Split(first, second) => open.extend([first, second]),
            Op::Prompt(next) => open.extend([pc + 1, next]),
            Op::Jump(to) => open.push(to),
            _ => open.push(pc + 1),
        }
    }
    false
}

/// Whether the end of the frame can be reached over literals alone.
pub(crate) fn reaches_end(program: &Program, from: Pc) -> bool {
    let is_more = |op: Op| matches!(op, Op::Word(_) | Op::Body(_) | Op::Return | Op::Reopened);
    reaches(program, from, |op| op == Op::Match, is_more)
}
