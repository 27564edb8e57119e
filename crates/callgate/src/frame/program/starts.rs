//! Starts: with which bytes the frames of a program begin, and which frames stand for others that are read alike.

use std::sync::Arc;

use super::{ActiveDialect, Frame, FrameKind, Op, Pc, Program, SHORTEST_SIGN};
use crate::bytes::ByteSet;
use crate::frame::marks::Marks;

/// The bytes at which the scan of text looks closer whatever begins with them: regions are told apart by what begins with
/// the first, and the last follows names of tools in calls.
pub(crate) const ALWAYS_MARKED: [u8; 6] = *b"`~<[{(";

/// Finds out where the frames of a program can start, and by which bytes.
pub(super) fn find(program: &mut Program, records: &[ActiveDialect]) {
    let twins: Vec<u16> = program.frames.iter().filter_map(|frame| frame.twin).collect();
    let marked = program.frames.iter().filter(|frame| frame.kind == FrameKind::Calls && !frame.unmarked);
    let mut markers: Vec<Arc<str>> =
        marked.map(|frame| frame.opener.clone()).filter(|token| token.len() >= SHORTEST_SIGN).collect();
    markers.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    markers.dedup();
    program.markers = markers;
    let twins_of_tokens = program
        .frames
        .iter()
        .filter(|frame| frame.kind == FrameKind::Calls && !frame.unmarked && begins_with_bar(&frame.opener));
    let twin_starts = twins_of_tokens.filter_map(|frame| Some(program.frames[frame.twin? as usize].start));
    program.respelled = twin_starts.collect();
    let (mut anchors, mut marks) = (ByteSet::default(), ByteSet::from_iter(ALWAYS_MARKED));
    for frame in 0..program.frames.len() {
        if twins.contains(&(frame as u16))
            || (0..frame).any(|earlier| stands_for(program, records, earlier, frame))
        {
            continue;
        }
        let start = program.frames[frame].start;
        let chosen = program.frames[frame].chosen;
        let is_thought = matches!(program.frames[frame].kind, FrameKind::Reasoning | FrameKind::ReasoningEnd);
        let mut bytes = first_bytes(&program.ops, start);
        if chosen && program.frames[frame].begins_with_name {
            let letters =
                (b'0'..=u8::MAX).filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte > 127);
            bytes.extend(letters.map(|byte| (byte, false)));
        }
        for (byte, via_prompt) in bytes {
            // A header that starts with a word is only a header right after the prompt.
            if via_prompt && !matches!(byte, b'<' | b'[') {
                continue;
            }
            // What begins otherwise is looked for where it was chosen; a thought also where nothing but white space came
            // before it, which takes no search.
            let is_marked = chosen || matches!(byte, b'<' | b'[' | b'`' | b'~' | b']');
            if !is_marked && !is_thought {
                continue;
            }
            anchors.insert(byte);
            if is_marked {
                marks.insert(byte);
            }
            if !program.starts[byte as usize].contains(&start) {
                program.starts[byte as usize].push(start);
            }
        }
    }
    program.marks = Marks::new(marks.iter());
    program.anchors = anchors;
}

/// Whether a frame is read just like a later one, which then can never be preferred and need not listen: many models
/// write the same format.
fn stands_for(program: &Program, records: &[ActiveDialect], earlier: usize, later: usize) -> bool {
    let (one, two) = (&program.frames[earlier], &program.frames[later]);
    let known = |frame: &Frame| records[frame.record].record.known;
    if one.marker != two.marker
        || (one.kind, one.fence, one.unmarked, one.line_start, known(one))
            != (two.kind, two.fence, two.unmarked, two.line_start, known(two))
        || two.chosen && !one.chosen
        || two.live && !one.live
    {
        return false;
    }
    let end =
        |frame: usize| program.frames.get(frame + 1).map_or(program.ops.len(), |next| next.start as usize);
    let ops = |frame: usize| &program.ops[program.frames[frame].start as usize..end(frame)];
    let same_place = |a: Pc, b: Pc| a.wrapping_sub(one.start) == b.wrapping_sub(two.start);
    let is_same = |(a, b): (&Op, &Op)| match (*a, *b) {
        (Op::Split(a, c), Op::Split(b, d)) => same_place(a, b) && same_place(c, d),
        (Op::Prompt(a), Op::Prompt(b)) | (Op::Jump(a), Op::Jump(b)) => same_place(a, b),
        (Op::Word(a), Op::Word(b)) => program.patterns[a as usize] == program.patterns[b as usize],
        (Op::Body(a), Op::Body(b)) => program.bodies[a as usize] == program.bodies[b as usize],
        (Op::Fence(a), Op::Fence(b)) => program.infos[a as usize] == program.infos[b as usize],
        (a, b) => a == b,
    };
    ops(earlier).len() == ops(later).len() && ops(earlier).iter().zip(ops(later)).all(is_same)
}

/// The bytes with which a frame can start, and whether the prompt was taken as read.
fn first_bytes(ops: &[Op], start: Pc) -> Vec<(u8, bool)> {
    let mut found = Vec::new();
    let mut stack = vec![(start, false)];
    let mut seen = Vec::new();
    while let Some((pc, via_prompt)) = stack.pop() {
        if seen.contains(&(pc, via_prompt)) {
            continue;
        }
        seen.push((pc, via_prompt));
        match ops[pc as usize] {
            Op::Byte(byte) => found.push((byte, via_prompt)),
            Op::Space | Op::Mark(_) | Op::Suffix => stack.push((pc + 1, via_prompt)),
            Op::Split(a, b) => stack.extend([(a, via_prompt), (b, via_prompt)]),
            Op::Prompt(next) => stack.extend([(pc + 1, via_prompt), (next, true)]),
            Op::Jump(to) => stack.push((to, via_prompt)),
            Op::Body(_) => found.push((b'{', via_prompt)),
            Op::Fence(_) => found.extend([(b'`', via_prompt), (b'~', via_prompt)]),
            _ => {}
        }
    }
    found
}

/// Whether a text begins as special tokens between bars do.
pub(crate) fn begins_with_bar(text: &str) -> bool {
    text.strip_prefix('<').is_some_and(|rest| rest.starts_with(['|', '｜']))
}

/// The first token of a marker: up to the bracket that closes the one it begins with, or all of it.
pub(super) fn first_token(marker: &Arc<str>) -> Arc<str> {
    let closer = match marker.chars().next() {
        Some('<') => '>',
        Some('[') => ']',
        // The bracket of a list is a token by itself.
        _ => return marker.strip_suffix('[').unwrap_or(marker).trim_end().into(),
    };
    marker.find(closer).map_or_else(|| marker.clone(), |at| marker[..=at].into())
}
