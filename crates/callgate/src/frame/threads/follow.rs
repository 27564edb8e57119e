//! Following: from where a thread stands to everything that it can reach without reading a byte.

use super::super::closures::needs_thread;
use super::super::instructions::{Op, Program};
use super::super::thread::{Thread, Words};
use super::scratch::{Scratch, WorkItem};

/// Adds a thread and everything it can reach without reading a byte, the preferred first. Threads are large, so one is
/// copied to where it stays and changed there.
#[inline(never)]
pub(super) fn follow(
    program: &Program,
    scratch: &mut Scratch,
    list: &mut Vec<Thread>,
    thread: &Thread,
    position: usize,
) {
    let closure = program.closures.from(thread.pc);
    if closure.is_empty() {
        arrive(program, scratch, list, thread, position);
        return;
    }
    for (i, reached) in closure.iter().enumerate() {
        if reached.needs_thread {
            // What it leads to is preferred to the rest of the closure.
            for reached in closure[i..].iter().rev() {
                scratch.worklist.push(WorkItem { thread: *thread, expanded: true });
                if let Some(WorkItem { thread, .. }) = scratch.worklist.last_mut() {
                    thread.go(program, reached, position);
                }
            }
            expand(program, scratch, list, position);
            return;
        }
        if scratch.first_visit(reached.pc, reached.spaced) {
            list.push(*thread);
            if let Some(thread) = list.last_mut() {
                thread.go(program, reached, position);
            }
        }
    }
}

/// Adds everything that the only thread of a set can reach without reading a byte. False if that depends on what it has
/// read, and nothing is added.
pub(super) fn spread(program: &Program, list: &mut Vec<Thread>, thread: &Thread, position: usize) -> bool {
    let closure = program.closures.from(thread.pc);
    if closure.is_empty() {
        let is_known = !needs_thread(program.ops[thread.pc as usize]);
        if is_known {
            list.push(*thread);
        }
        return is_known;
    }
    if closure.iter().any(|reached| reached.needs_thread) {
        return false;
    }
    for reached in closure {
        list.push(*thread);
        if let Some(thread) = list.last_mut() {
            thread.go(program, reached, position);
        }
    }
    true
}

/// Adds a thread that stands where it reads something, unless another one is there already.
fn arrive(
    program: &Program,
    scratch: &mut Scratch,
    list: &mut Vec<Thread>,
    thread: &Thread,
    position: usize,
) {
    if needs_thread(program.ops[thread.pc as usize]) {
        scratch.worklist.push(WorkItem { thread: *thread, expanded: true });
        expand(program, scratch, list, position);
    } else if scratch.first_visit(thread.pc, thread.spaced) {
        list.push(*thread);
    }
}

/// Expands what is on the work list until nothing is.
fn expand(program: &Program, scratch: &mut Scratch, list: &mut Vec<Thread>, position: usize) {
    while let Some(WorkItem { mut thread, expanded }) = scratch.worklist.pop() {
        let closure = program.closures.from(thread.pc);
        if !expanded && !closure.is_empty() {
            for reached in closure.iter().rev() {
                let mut next = thread;
                next.go(program, reached, position);
                scratch.worklist.push(WorkItem { thread: next, expanded: true });
            }
            continue;
        }
        if thread.offset == 0 && !scratch.first_visit(thread.pc, thread.spaced) {
            continue;
        }
        let op = program.ops[thread.pc as usize];
        match op {
            Op::Suffix if thread.suffix.is_none() => {
                list.push(thread);
                let empty = scratch.words.len() as u32;
                thread.pc += 1;
                thread.suffix = Some(Words::new(empty, empty));
                scratch.worklist.push(WorkItem { thread, expanded: false });
            }
            Op::Suffix | Op::Repeat(_) if thread.repeated(op).is_none() => {
                thread.pc += 1;
                scratch.worklist.push(WorkItem { thread, expanded: false });
            }
            Op::Bound(slot) => {
                if thread.has(slot) {
                    thread.pc += 1;
                    scratch.worklist.push(WorkItem { thread, expanded: false });
                }
            }
            Op::Special(bytes) => {
                if scratch.specials.cover(position.saturating_sub(bytes as usize), position) {
                    thread.pc += 1;
                    scratch.worklist.push(WorkItem { thread, expanded: false });
                } else if program.frame_of(&thread).is_marked_call() {
                    scratch.marker_as_text = Some(position);
                }
            }
            Op::Return => {
                let Some(holder) = scratch.outer_values.get((thread.level as usize).wrapping_sub(1)) else {
                    continue;
                };
                // What has been read since the last body counts for those that go on from here.
                let resume = |mut next: Thread| {
                    next.count_on(&thread);
                    WorkItem { thread: next, expanded: false }
                };
                scratch.worklist.extend(holder.waiting.iter().rev().map(|outer| resume(outer.past_body())));
                if let Some(outer) = holder.waiting.first() {
                    let another = holder.elements.iter().rev();
                    scratch.worklist.extend(another.map(|start| resume(outer.into_element(*start))));
                }
            }
            _ => list.push(thread),
        }
    }
}
