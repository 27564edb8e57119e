//! How the end of a body can start: the bytes at which the body's reader has to look closer.

use std::sync::Arc;

use super::instructions::{Body, Op, Pc, Program};
use super::threads::{Scratch, Thread, Threads, reaches};
use crate::bytes::ByteSet;

/// The bytes with which what follows a body can start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stops {
    /// All of them.
    first: ByteSet,
    /// The literals that can follow, as far as they go, if all that follows begins with the same byte. Most such bytes in
    /// a value are ruled out by them before any thread looks. Letters count in either case, and what may be another
    /// spelling rules nothing out.
    heads: Option<(u8, Arc<[Vec<u8>]>)>,
}

impl Stops {
    /// The stops of every body in a program, as far as they are the same whenever it is read.
    pub(super) fn of_program(program: &Program) -> Vec<Option<Stops>> {
        let mut scratch = Scratch::default();
        let mut stops = vec![None; program.bodies.len()];
        for (pc, op) in (0..).zip(&program.ops) {
            let Op::Body(body) = *op else { continue };
            // The end of a value is looked for with slips as well; JSON tells its end itself.
            let is_value = matches!(program.bodies[body as usize], Body::Value { .. });
            let twin = program.twin_at_body(&Thread::new(pc, 0)).filter(|_| is_value);
            let ends = [Thread::new(pc, 0)].into_iter().chain(twin).map(Thread::past_body);
            if ends.clone().all(|end| is_fixed(program, end.pc)) {
                stops[body as usize] = Some(Stops::before(program, &mut scratch, ends));
            }
        }
        // JSON ends in the twin of a frame as it does in the frame: what may be absent there says nothing.
        for (body, twin) in program.twin_bodies.iter().enumerate() {
            if !matches!(program.bodies[body], Body::Value { .. })
                && let Some(Op::Body(twin)) = twin.map(|pc| program.ops[pc as usize])
            {
                stops[twin as usize] = stops[body].clone();
            }
        }
        stops
    }

    /// The stops of a body that ends where these threads go on.
    pub(super) fn before(
        program: &Program,
        scratch: &mut Scratch,
        after: impl IntoIterator<Item = Thread>,
    ) -> Stops {
        let mut ends = Threads::default();
        ends.start(program, scratch, after, 0);
        let mut stops = Stops::default();
        for thread in ends.iter() {
            match program.ops[thread.pc as usize] {
                Op::Byte(byte) => stops.first.insert(byte),
                Op::FenceEnd => stops.first = stops.first.or([b'`', b'~'].into_iter().collect()),
                _ => {}
            }
        }
        let mut first = stops.first.iter();
        if let (Some(only), None) = (first.next(), first.next()) {
            let mut heads: Vec<Vec<u8>> = ends.iter().map(|thread| literal(program, thread.pc)).collect();
            heads.retain(|head| !head.is_empty());
            heads.sort_unstable();
            heads.dedup();
            stops.heads = Some((only, heads.into()));
        }
        stops
    }

    /// What can start here or there.
    pub(super) fn or(self, other: Stops) -> Stops {
        let heads = match (self.heads, other.heads) {
            (Some((one, heads)), Some((two, more))) if one == two && heads != more => {
                Some((one, heads.iter().chain(more.iter()).cloned().collect()))
            }
            (Some((one, heads)), Some((two, _))) if one == two => Some((one, heads)),
            (heads, None) if other.first.is_empty() => heads,
            (None, heads) if self.first.is_empty() => heads,
            _ => None,
        };
        Stops { first: self.first.or(other.first), heads }
    }

    /// The bytes with which the end can start.
    pub(super) fn first(&self) -> ByteSet {
        self.first
    }

    /// Whether the end can start like these bytes, as far as they have come.
    pub(super) fn may_start(&self, bytes: &[u8]) -> bool {
        let is_like = |head: &Vec<u8>| could_be(head, bytes);
        bytes.first().is_some_and(|first| self.first.has(*first))
            && self.heads.as_ref().is_none_or(|(_, heads)| heads.iter().any(is_like))
    }

    /// Where the end may start in these bytes, or how many there are.
    #[inline]
    pub(super) fn find(&self, bytes: &[u8]) -> usize {
        // A search by vectors is worth its while only where there is something to search.
        if bytes.len() <= 32 {
            return self.find_in_few(bytes);
        }
        let mut from = 0;
        loop {
            let rest = &bytes[from..];
            let next = match &self.heads {
                Some((only, _)) => memchr::memchr(*only, rest),
                None => rest.iter().position(|byte| self.first.has(*byte)),
            };
            let Some(at) = next.map(|at| from + at) else { return bytes.len() };
            if self.may_start(&bytes[at..]) {
                return at;
            }
            from = at + 1;
        }
    }

    fn find_in_few(&self, bytes: &[u8]) -> usize {
        let may_start = |at: &usize| self.first.has(bytes[*at]) && self.may_start(&bytes[*at..]);
        (0..bytes.len()).find(may_start).unwrap_or(bytes.len())
    }
}

/// The literal that begins here, up to its end or to a few bytes that tell enough.
fn literal(program: &Program, from: Pc) -> Vec<u8> {
    const ENOUGH: usize = 16;
    let bytes = program.ops[from as usize..].iter().map_while(|op| match op {
        Op::Byte(byte) => Some(Some(*byte)),
        Op::Loose(character) => Some(Some(character.first())),
        Op::Space | Op::Special(_) => Some(None),
        _ => None,
    });
    bytes.flatten().take(ENOUGH).collect()
}

/// Whether these bytes may begin with a literal in one of its spellings.
fn could_be(literal: &[u8], bytes: &[u8]) -> bool {
    for (wanted, byte) in literal.iter().zip(bytes) {
        if !wanted.eq_ignore_ascii_case(byte) {
            return byte.is_ascii_whitespace()
                || !byte.is_ascii()
                || matches!(byte, b'|' | b'-' | b'_' | b'\\');
        }
    }
    true
}

/// Whether what follows from here on begins in the same way whenever it is read: no words that were read before come
/// first, and no value around this one goes on.
fn is_fixed(program: &Program, from: Pc) -> bool {
    let varies = |op: Op| matches!(op, Op::Return | Op::Repeat(_) | Op::Suffix);
    let reads = |op: Op| {
        !matches!(op, Op::Split(..) | Op::Prompt(_) | Op::Jump(_) | Op::Mark(_) | Op::Space | Op::Line)
    };
    !reaches(program, from, varies, reads)
}
