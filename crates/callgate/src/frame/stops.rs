//! How the end of a body can start: the bytes at which the body's reader has to look closer.

use super::instructions::{Op, Pc, Program};
use super::threads::{Scratch, Step, Thread, Threads};

/// The bytes with which what follows a body can start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stops {
    /// One bit for each of them.
    first: [u64; 4],
    /// The one, if there is only one, with a bit for each byte that can follow it.
    only: Option<(u8, [u64; 4])>,
}

impl Stops {
    /// The stops of every body in a program, as far as they are the same whenever it is read.
    pub(super) fn of_program(program: &Program) -> Vec<Option<Stops>> {
        let mut scratch = Scratch::default();
        let stops = (0..program.ops.len() as Pc).map(|pc| {
            let is_body = matches!(program.ops[pc as usize], Op::Body(_));
            let after = Thread::new(pc, 0).past_body();
            (is_body && is_fixed(program, pc + 1)).then(|| Stops::before(program, &mut scratch, [after]))
        });
        stops.collect()
    }

    /// The stops of a body that ends where these threads go on.
    pub(super) fn before(
        program: &Program,
        scratch: &mut Scratch,
        after: impl IntoIterator<Item = Thread>,
    ) -> Stops {
        let mut ends = Threads::default();
        ends.start(program, scratch, after, 0);
        let mut first = Vec::new();
        for thread in ends.iter() {
            match program.ops[thread.pc as usize] {
                Op::Byte(byte) => first.push(byte),
                Op::FenceEnd => first.extend([b'`', b'~']),
                _ => {}
            }
        }
        first.sort_unstable();
        first.dedup();
        let mut stops = Stops::default();
        for byte in &first {
            stops.first[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        if let [only] = *first {
            // Most such bytes in a value are ruled out by the one after them, before any thread looks.
            ends.retain(|thread| matches!(program.ops[thread.pc as usize], Op::Byte(_)));
            let mut next = [u64::MAX; 4];
            if ends.step(program, scratch, only, 0) == Step::Alive {
                next = [0; 4];
                for thread in ends.iter() {
                    match program.ops[thread.pc as usize] {
                        Op::Byte(byte) => next[usize::from(byte >> 6)] |= 1 << (byte & 63),
                        _ => next = [u64::MAX; 4],
                    }
                }
            }
            stops.only = Some((only, next));
        }
        stops
    }

    /// What can start here or there.
    pub(super) fn or(self, other: Stops) -> Stops {
        let join = |one: [u64; 4], two: [u64; 4]| std::array::from_fn(|i| one[i] | two[i]);
        let only = match (self.only, other.only) {
            (Some((one, next)), Some((two, after))) if one == two => Some((one, join(next, after))),
            (only, None) if other == Stops::default() => only,
            (None, only) if self == Stops::default() => only,
            _ => None,
        };
        Stops { first: join(self.first, other.first), only }
    }

    /// One bit for each byte with which the end can start.
    pub(super) fn bits(&self) -> [u64; 4] {
        self.first
    }

    /// The bytes with which the end can start.
    pub(super) fn iter(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|byte| has(&self.first, *byte))
    }

    /// Whether the end can start with this byte.
    pub(super) fn has(&self, byte: u8) -> bool {
        has(&self.first, byte)
    }

    /// Whether the end can start with this byte and go on with that one. What has not come yet can.
    pub(super) fn may_start(&self, byte: u8, next: Option<&u8>) -> bool {
        self.has(byte) && self.only.is_none_or(|(_, after)| next.is_none_or(|next| has(&after, *next)))
    }

    /// Where the end may start in these bytes, or how many there are.
    pub(super) fn find(&self, bytes: &[u8]) -> usize {
        let found = match self.only {
            Some((only, _)) => {
                memchr::memchr_iter(only, bytes).find(|at| self.may_start(only, bytes.get(at + 1)))
            }
            None => bytes.iter().position(|byte| self.has(*byte)),
        };
        found.unwrap_or(bytes.len())
    }
}

fn has(bits: &[u64; 4], byte: u8) -> bool {
    bits[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
}

/// Whether what follows from here on is the same whenever it is read, for two bytes: no words that were read before,
/// and no value around this one.
fn is_fixed(program: &Program, from: Pc) -> bool {
    let mut ways = vec![(from, 0)];
    let mut seen = Vec::new();
    while let Some((pc, read)) = ways.pop() {
        if read == 2 || seen.contains(&(pc, read)) {
            continue;
        }
        seen.push((pc, read));
        match program.ops[pc as usize] {
            Op::Return | Op::Repeat(_) | Op::Suffix => return false,
            Op::Split(first, second) => ways.extend([(first, read), (second, read)]),
            Op::Prompt(second) => ways.extend([(pc + 1, read), (second, read)]),
            Op::Jump(to) => ways.push((to, read)),
            Op::Mark(_) => ways.push((pc + 1, read)),
            Op::Space | Op::Line => ways.extend([(pc + 1, read), (pc + 1, read + 1)]),
            Op::Byte(_) => ways.push((pc + 1, read + 1)),
            _ => {}
        }
    }
    true
}
