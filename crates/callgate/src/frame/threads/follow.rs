//! Following: from where a thread stands to everything that it can reach without reading a byte.

use super::super::instructions::{Op, Program};
use super::super::thread::{Thread, Words};
use super::super::ways::is_open;
use super::Scratch;

/// Adds a thread and everything it can reach without reading a byte, the preferred way first. Threads are large, so one
/// is copied to where it stays and changed there.
#[inline(never)]
pub(super) fn follow(
    program: &Program,
    scratch: &mut Scratch,
    list: &mut Vec<Thread>,
    thread: &Thread,
    position: usize,
) {
    let ways = program.ways.from(thread.pc);
    if ways.is_empty() {
        arrive(program, scratch, list, thread, position);
        return;
    }
    for (i, way) in ways.iter().enumerate() {
        if way.is_open {
            // What it leads to comes before the ways after it.
            for way in ways[i..].iter().rev() {
                scratch.ways.push((*thread, true));
                if let Some((thread, _)) = scratch.ways.last_mut() {
                    thread.go(program, way, position);
                }
            }
            follow_waiting(program, scratch, list, position);
            return;
        }
        if scratch.first_visit(way.pc, way.spaced) {
            list.push(*thread);
            if let Some(thread) = list.last_mut() {
                thread.go(program, way, position);
            }
        }
    }
}

/// Adds everything that the only thread of a set can reach without reading a byte. False if that depends on what it has
/// read, and nothing is added.
pub(super) fn spread(program: &Program, list: &mut Vec<Thread>, thread: &Thread, position: usize) -> bool {
    let ways = program.ways.from(thread.pc);
    if ways.is_empty() {
        let is_known = !is_open(program.ops[thread.pc as usize]);
        if is_known {
            list.push(*thread);
        }
        return is_known;
    }
    if ways.iter().any(|way| way.is_open) {
        return false;
    }
    for way in ways {
        list.push(*thread);
        if let Some(thread) = list.last_mut() {
            thread.go(program, way, position);
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
    if is_open(program.ops[thread.pc as usize]) {
        scratch.ways.push((*thread, true));
        follow_waiting(program, scratch, list, position);
    } else if scratch.first_visit(thread.pc, thread.spaced) {
        list.push(*thread);
    }
}

/// Follows the threads that wait on their ways: those that have arrived, and those that have yet to set out.
fn follow_waiting(program: &Program, scratch: &mut Scratch, list: &mut Vec<Thread>, position: usize) {
    while let Some((mut thread, has_arrived)) = scratch.ways.pop() {
        let ways = program.ways.from(thread.pc);
        if !has_arrived && !ways.is_empty() {
            for way in ways.iter().rev() {
                let mut next = thread;
                next.go(program, way, position);
                scratch.ways.push((next, true));
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
                scratch.ways.push((thread, false));
            }
            Op::Suffix | Op::Repeat(_) if thread.repeated(op).is_none() => {
                thread.pc += 1;
                scratch.ways.push((thread, false));
            }
            Op::Return => {
                let Some(holder) = scratch.holders.get((thread.level as usize).wrapping_sub(1)) else {
                    continue;
                };
                // What has been read since the last body counts for those that go on from here.
                let resume = |mut next: Thread| {
                    next.count_on(&thread);
                    (next, false)
                };
                scratch.ways.extend(holder.waiting.iter().rev().map(|outer| resume(outer.past_body())));
                if let Some(outer) = holder.waiting.first() {
                    let another = holder.elements.iter().rev();
                    scratch.ways.extend(another.map(|start| resume(outer.into_element(*start))));
                }
            }
            _ => list.push(thread),
        }
    }
}
