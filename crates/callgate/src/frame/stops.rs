//! How the end of a body can start: the bytes at which the body's reader has to look closer.

use std::sync::Arc;

use super::instructions::{Body, Mark, Op, Pc, Program};
use super::threads::{Scratch, Thread, Threads, reaches};
use crate::bytes::ByteSet;
use crate::shortcuts::Shortcut;

/// How much of a literal tells enough.
const ENOUGH: usize = 16;

/// The bytes with which what follows a body can start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stops {
    /// All of them.
    first: ByteSet,
    /// How what follows can begin, where that is known. Most such bytes in a value are ruled out by it before any thread
    /// looks.
    heads: Option<Arc<Heads>>,
}

/// The literals that can follow a body, as far as they go. Letters count in either case, white space is free, and what may be
/// another spelling rules nothing out.
#[derive(Debug, PartialEq, Eq)]
struct Heads {
    /// Without white space, which is free.
    all: Vec<Vec<u8>>,
    /// The second bytes of all, in either case, and those of other spellings.
    seconds: ByteSet,
    /// The third bytes, likewise.
    thirds: ByteSet,
    /// The byte with which they begin, or that follows the other byte with which they begin.
    main: u8,
    /// That other byte, behind which nothing but white space and the main one can stand; the main one if there is none.
    lead: u8,
}

impl Heads {
    /// Nothing if there are too many bytes with which they can begin.
    fn new(all: Vec<Vec<u8>>) -> Option<Heads> {
        let mut all = all;
        all.iter_mut().for_each(|head| head.retain(|byte| !byte.is_ascii_whitespace()));
        all.sort_unstable();
        // Where the start of one rules nothing out, neither does the whole.
        all.dedup_by(|next, kept| next.starts_with(kept));
        let firsts = || all.iter().filter_map(|head| head.first().copied());
        let (lead, main) = firsts().zip(firsts().skip(1)).find(|(one, next)| one != next).unzip();
        let main = main.or_else(|| firsts().next())?;
        let fits = |head: &Vec<u8>| match head.as_slice() {
            [first, ..] if *first == main => true,
            [first, second, ..] => Some(*first) == lead && *second == main,
            _ => false,
        };
        if !all.iter().all(fits) {
            return None;
        }
        let (seconds, thirds) = (bytes_at(&all, 1), bytes_at(&all, 2));
        Some(Heads { all, seconds, thirds, main, lead: lead.unwrap_or(main) })
    }

    /// How these bytes begin like one of them.
    fn start(&self, bytes: &[u8]) -> Beginning {
        // Most of what begins with the first byte goes on otherwise, and the next two bytes tell.
        let (first, rest) = after_space(bytes);
        let (second, rest) = after_space(rest);
        let (Some(first), Some(second)) = (first, second) else { return Beginning::Open };
        if !self.seconds.has(second) {
            return Beginning::None;
        }
        let (third, rest) = after_space(rest);
        let is_one_byte = second.is_ascii() && second != b'\\';
        if is_one_byte && third.is_some_and(|third| !self.thirds.has(third)) {
            return Beginning::None;
        }
        let mut start = [first; ENOUGH];
        let read = [Some(second), third].into_iter().flatten();
        let rest = read.chain(rest.iter().copied().filter(|byte| !byte.is_ascii_whitespace()));
        let mut length = 1;
        for (place, byte) in start[1..].iter_mut().zip(rest) {
            *place = byte;
            length += 1;
        }
        let mut best = Beginning::None;
        for head in &self.all {
            match could_be(head, &start[..length]) {
                Beginning::Whole => return Beginning::Whole,
                Beginning::Open => best = Beginning::Open,
                Beginning::None => {}
            }
        }
        best
    }

    /// Whether these bytes begin like one of them, as far as they have come.
    fn may_start(&self, bytes: &[u8]) -> bool {
        self.start(bytes) != Beginning::None
    }

    /// Where one of them may start in these bytes, and how far it has come.
    fn find(&self, bytes: &[u8]) -> Option<(usize, Beginning)> {
        let start = |at: usize| match self.start(&bytes[at..]) {
            Beginning::None => None,
            start => Some((at, start)),
        };
        let mut places = memchr::memchr_iter(self.main, bytes);
        let found =
            places.find_map(|at| self.lead_before(&bytes[..at]).and_then(start).or_else(|| start(at)));
        found.or_else(|| self.lead_before(bytes).map(|at| (at, self.start(&bytes[at..]))))
    }

    /// Where the lead stands if these bytes end with it, white space aside.
    fn lead_before(&self, bytes: &[u8]) -> Option<usize> {
        if self.lead == self.main {
            return None;
        }
        let (last, rest) = bytes.trim_ascii_end().split_last()?;
        (*last == self.lead).then_some(rest.len())
    }
}

impl Stops {
    /// The stops of every body in a program, as far as they are the same whenever it is read.
    pub(super) fn of_program(program: &Program) -> Vec<Option<Stops>> {
        let mut scratch = Scratch::default();
        let mut stops: Vec<Option<Stops>> = vec![None; program.bodies.len()];
        // Many formats end their values alike. Those that have the same share it, so that they are told to be equal at once.
        let mut known: Vec<Arc<Heads>> = Vec::new();
        for (pc, op) in (0..).zip(&program.ops) {
            let Op::Body(body) = *op else { continue };
            // The end of a value is looked for with slips as well; JSON tells its end itself.
            let is_value = matches!(program.bodies[body as usize], Body::Value { .. });
            let twin = program.twin_at_body(&Thread::new(pc, 0)).filter(|_| is_value);
            let ends = [Thread::new(pc, 0)].into_iter().chain(twin).map(Thread::past_body);
            if !ends.clone().all(|end| is_fixed(program, end.pc)) {
                continue;
            }
            let mut found = Stops::before(program, &mut scratch, ends.clone());
            if is_value && found.heads.is_none() {
                found.heads = Stops::heads_of_value(program, &mut scratch, ends);
            }
            if let Some(heads) = found.heads.take() {
                let same = known.iter().find(|known| **known == heads).cloned();
                if same.is_none() {
                    known.push(heads.clone());
                }
                found.heads = Some(same.unwrap_or(heads));
            }
            stops[body as usize] = Some(found);
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
        if first.next().is_some() && first.next().is_none() {
            let mut heads: Vec<Vec<u8>> = ends.iter().map(|thread| literal(program, thread.pc)).collect();
            heads.retain(|head| !head.is_empty());
            stops.heads = Heads::new(heads).map(Arc::new);
        }
        stops
    }

    /// How the end of a value can begin that ends where these threads go on, where it can begin with more than one byte.
    fn heads_of_value(
        program: &Program,
        scratch: &mut Scratch,
        after: impl IntoIterator<Item = Thread>,
    ) -> Option<Arc<Heads>> {
        let mut ends = Threads::default();
        ends.start(program, scratch, after, 0);
        let mut heads = Vec::new();
        for thread in ends.iter() {
            match program.ops[thread.pc as usize] {
                Op::Byte(_) => add_ways(program, thread.pc, &mut heads),
                Op::FenceEnd => return None,
                _ => {}
            }
        }
        Heads::new(heads).map(Arc::new)
    }

    /// What can start here or there.
    pub(super) fn or(self, other: Stops) -> Stops {
        let heads = match (self.heads, other.heads) {
            (Some(heads), Some(more)) if Arc::ptr_eq(&heads, &more) || heads == more => Some(heads),
            (Some(heads), Some(more)) => {
                Heads::new(heads.all.iter().chain(&more.all).cloned().collect()).map(Arc::new)
            }
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
        bytes.first().is_some_and(|first| self.first.has(*first))
            && self.heads.as_ref().is_none_or(|heads| heads.may_start(bytes))
    }

    /// Whether the end can start like these bytes, of which the first is one with which it can; nothing if more must come to
    /// tell.
    pub(super) fn tells_start(&self, bytes: &[u8]) -> Option<bool> {
        match self.heads.as_ref().map_or(Beginning::Whole, |heads| heads.start(bytes)) {
            Beginning::Open => None,
            start => Some(start == Beginning::Whole),
        }
    }

    /// Where the end may start in these bytes, or how many there are, and whether more must come to tell it.
    #[inline]
    pub(super) fn find(&self, bytes: &[u8]) -> (usize, bool) {
        let heads = self.heads.as_ref().filter(|_| Shortcut::Threads.is_on());
        // A search by vectors is worth its while only where there is something to search.
        if bytes.len() <= 32 {
            return self.find_in_few(heads, bytes);
        }
        let found = match heads {
            Some(heads) => heads.find(bytes),
            None => bytes.iter().position(|byte| self.first.has(*byte)).map(|at| (at, Beginning::Whole)),
        };
        found.map_or((bytes.len(), false), |(at, start)| (at, start == Beginning::Open))
    }

    /// Where the first byte stands with which the end may start, or how many bytes there are.
    pub(super) fn find_first(&self, bytes: &[u8]) -> usize {
        bytes.iter().position(|byte| self.first.has(*byte)).unwrap_or(bytes.len())
    }

    fn find_in_few(&self, heads: Option<&Arc<Heads>>, bytes: &[u8]) -> (usize, bool) {
        let Some(heads) = heads else { return (self.find_first(bytes), false) };
        let (main, lead) = (heads.main, heads.lead);
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == main || *byte == lead {
                match heads.start(&bytes[at..]) {
                    Beginning::None => {}
                    start => return (at, start == Beginning::Open),
                }
            }
        }
        (bytes.len(), false)
    }
}

/// The bytes that can stand at this place in one of the literals, in either case and any spelling: all, where one of the
/// literals is shorter, or has a character before this place of which another spelling has more bytes or fewer.
fn bytes_at(literals: &[Vec<u8>], place: usize) -> ByteSet {
    let mut found = ByteSet::default();
    for literal in literals {
        match literal.get(place) {
            Some(wanted) if literal[..place].is_ascii() => {
                found = found.or((0..=u8::MAX).filter(|byte| could_stand(*wanted, *byte)).collect());
            }
            _ => return (0..=u8::MAX).collect(),
        }
    }
    found
}

/// The first byte that is no white space, and what follows it.
fn after_space(bytes: &[u8]) -> (Option<u8>, &[u8]) {
    match bytes.iter().position(|byte| !byte.is_ascii_whitespace()) {
        Some(at) => (Some(bytes[at]), &bytes[at + 1..]),
        None => (None, &[]),
    }
}

/// The literal that begins here, up to its end or to a few bytes that tell enough.
fn literal(program: &Program, from: Pc) -> Vec<u8> {
    let bytes = program.ops[from as usize..].iter().map_while(|op| match op {
        Op::Byte(byte) => Some(Some(*byte)),
        Op::Loose(character) => Some(Some(character.first())),
        Op::Space | Op::Special(_) => Some(None),
        _ => None,
    });
    bytes.flatten().take(ENOUGH).collect()
}

/// Adds the literals that begin here, whichever way is taken. On a way to the end of the frame that has no sign of an
/// end, nothing can be read that ends a value.
fn add_ways(program: &Program, from: Pc, heads: &mut Vec<Vec<u8>>) {
    /// More steps than this are not looked at: what has come of a literal has to do then.
    const MOST: usize = 512;
    let mut steps = 0;
    let mut open = vec![(from, Vec::new(), false)];
    while let Some((mut pc, mut head, mut has_sign)) = open.pop() {
        loop {
            steps += 1;
            match program.ops[pc as usize] {
                _ if head.len() == ENOUGH || steps > MOST => {}
                Op::Byte(byte) => {
                    head.push(byte);
                    pc += 1;
                    continue;
                }
                Op::Loose(character) => {
                    head.push(character.first());
                    pc += 1;
                    continue;
                }
                Op::Mark(mark) => {
                    has_sign |= mark == Mark::Literal;
                    pc += 1;
                    continue;
                }
                Op::Space | Op::Space1 | Op::Line | Op::Special(_) => {
                    pc += 1;
                    continue;
                }
                Op::Jump(to) => {
                    pc = to;
                    continue;
                }
                Op::Split(first, second) => {
                    open.push((second, head.clone(), has_sign));
                    pc = first;
                    continue;
                }
                Op::Prompt(second) => {
                    open.push((second, head.clone(), has_sign));
                    pc += 1;
                    continue;
                }
                Op::Match if !has_sign => break,
                _ => {}
            }
            heads.push(head);
            break;
        }
    }
}

/// How far a literal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// It is another text.
    None,
    /// All of it that is there is the same.
    Open,
    /// All of it is there, or it may be in another spelling.
    Whole,
}

/// Whether bytes without white space begin with a literal in one of its spellings.
fn could_be(literal: &[u8], bytes: &[u8]) -> Beginning {
    for (wanted, byte) in literal.iter().zip(bytes) {
        if !wanted.is_ascii() || !wanted.eq_ignore_ascii_case(byte) {
            // From another spelling on, the bytes do not stand beside each other.
            return if could_stand(*wanted, *byte) { Beginning::Whole } else { Beginning::None };
        }
    }
    if bytes.len() < literal.len() { Beginning::Open } else { Beginning::Whole }
}

/// Whether a byte can stand where a literal has another one, as that byte in either case or as the first of another spelling
/// of its character (`slips::Loose`).
fn could_stand(wanted: u8, byte: u8) -> bool {
    match wanted {
        b'_' => matches!(byte, b'_' | b'-' | b'\\') || !byte.is_ascii(),
        b'|' => byte == b'|' || !byte.is_ascii(),
        _ if wanted.is_ascii() => wanted.eq_ignore_ascii_case(&byte),
        // Of a character that is not ASCII only the first byte may be known.
        _ => matches!(byte, b'_' | b'-' | b'\\' | b'|') || !byte.is_ascii(),
    }
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

#[cfg(test)]
mod tests {
    use super::super::slips::{Loose, LooseRead};
    use super::*;

    /// No byte is ruled out with which a character of a marker can begin in another spelling.
    #[test]
    fn what_a_loose_character_reads_could_stand_there() {
        for loose in "_▁|｜aZ".chars().filter_map(Loose::of) {
            let reads = |byte: &u8| !matches!(loose.read(0, *byte), LooseRead::Other);
            let read: Vec<u8> = (0..=u8::MAX).filter(reads).collect();
            assert!(
                read.len() >= 2 && read.iter().all(|byte| could_stand(loose.first(), *byte)),
                "{loose:?}"
            );
        }
    }

    /// The look at the next two bytes rules out nothing that the whole literals allow.
    #[test]
    fn a_quick_look_is_a_look_at_all_literals() {
        let literals = ["</parameter>", "<parameter=", "</function>", "</tool_call>", "<|end|>", "<a"];
        let pieces = [
            "<",
            "/",
            " ",
            "\n",
            "p",
            "P",
            "parameter",
            "function",
            "tool",
            "_",
            "-",
            "call",
            ">",
            "=",
            "|",
            "｜",
            "x",
            "end",
            "a",
        ];
        let mut seed = 7_u64;
        for number in 0..50_000 {
            let heads: Vec<Vec<u8>> = literals[..1 + number % literals.len()]
                .iter()
                .map(|literal| literal.bytes().collect())
                .collect();
            let mut text = "<".to_owned();
            for _ in 0..number % 6 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
            }
            let bytes: Vec<u8> =
                text.bytes().filter(|byte| !byte.is_ascii_whitespace()).take(ENOUGH).collect();
            let all = heads.iter().map(|head| could_be(head, &bytes));
            let wanted = match all.collect::<Vec<_>>() {
                _ if bytes.len() < 2 => Beginning::Open,
                all if all.contains(&Beginning::Whole) => Beginning::Whole,
                all if all.contains(&Beginning::Open) => Beginning::Open,
                _ => Beginning::None,
            };
            let heads = Heads::new(heads).unwrap();
            assert_eq!(heads.start(text.as_bytes()), wanted, "{text:?}");
        }
    }
}
