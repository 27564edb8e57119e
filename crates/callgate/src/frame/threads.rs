//! Running a program: a set of threads that read the same bytes in step, in order of preference.

use crate::dialect::is_word_character;

use super::instructions::{Op, Pc, Program};
pub(crate) use super::thread::Thread;
use super::thread::{LONGEST_WORD, Start, Words};
use super::ways::{begins_without_space, is_open};

/// What the threads of a set have in common: the words they have read, and stamps for keeping the set small.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The text of all words read in this frame; threads point into it.
    words: String,
    /// Two bits per instruction: whether it has been visited in this step, without and with white space before it.
    visited: Vec<u64>,
    /// The words of `visited` that are not zero.
    touched: Vec<u32>,
    spare: Vec<Thread>,
    /// Threads on their ways, the preferred last, and whether each has arrived.
    ways: Vec<(Thread, bool)>,
    /// The values that hold the elements that are being read, the outermost first.
    holders: Vec<Holder>,
}

/// A value that holds elements.
#[derive(Debug)]
pub(crate) struct Holder {
    /// The threads at the value's body.
    pub(crate) waiting: Vec<Thread>,
    /// Where another of its elements begins.
    pub(crate) elements: Vec<Pc>,
}
/// What the threads of a set have come to, all of them looked at once.
pub(crate) struct Survey<'t> {
    /// The preferred thread that has reached the end of its frame.
    pub(crate) matched: Option<&'t Thread>,
    /// Whether every thread has.
    pub(crate) all_matched: bool,
    /// Whether every thread has passed the point after which this can only be a call.
    pub(crate) all_committed: bool,
    /// Whether all stand at bodies that can begin with anything.
    pub(crate) all_raw: bool,
}

/// Where a set stands after a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Some threads go on.
    Alive,
    /// No thread accepts the byte; the set is as it was before.
    Dead,
}

/// The threads, the preferred first.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    list: Vec<Thread>,
    /// Whether everything that follows from where they stand has been done.
    settled: bool,
    /// Whether one of them is reading a word.
    in_word: bool,
    /// The preferred one of the last set, where none is left.
    last: Option<Thread>,
}

impl Threads {
    pub(crate) fn of(list: Vec<Thread>) -> Self {
        Threads { list, ..Threads::default() }
    }

    /// Adds threads as they are, after those that are there.
    pub(crate) fn add(&mut self, threads: impl Iterator<Item = Thread>) {
        self.settled = false;
        self.list.extend(threads);
    }

    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.in_word = false;
        self.last = None;
    }

    /// The preferred one, or that of the last set if none is left.
    pub(crate) fn lead(&self) -> Option<&Thread> {
        self.list.first().or(self.last.as_ref())
    }

    /// Says which was the preferred one where none is left.
    pub(crate) fn remember(&mut self, last: Option<Thread>) {
        self.last = last;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Thread> {
        self.list.iter()
    }

    /// The threads that stand at a body, the preferred first.
    pub(crate) fn at_body<'a>(&'a self, program: &'a Program) -> impl Iterator<Item = (&'a Thread, u16)> {
        self.list.iter().filter_map(|thread| match program.ops[thread.pc as usize] {
            Op::Body(body) => Some((thread, body)),
            _ => None,
        })
    }

    /// The preferred thread that has reached the end of its frame.
    pub(crate) fn matched(&self, program: &Program) -> Option<&Thread> {
        self.list.iter().find(|thread| program.ops[thread.pc as usize] == Op::Match)
    }

    /// What they have come to.
    pub(crate) fn survey(&self, program: &Program) -> Survey<'_> {
        let mut survey =
            Survey { matched: None, all_matched: !self.list.is_empty(), all_committed: true, all_raw: true };
        for thread in &self.list {
            survey.all_committed &= thread.committed;
            let op = program.ops[thread.pc as usize];
            if op == Op::Match {
                survey.matched = survey.matched.or(Some(thread));
            } else {
                survey.all_matched = false;
            }
            let is_raw = |body: u16| program.bodies[body as usize].is_raw();
            survey.all_raw &= matches!(op, Op::Body(body) if is_raw(body));
        }
        survey
    }

    /// Whether all threads are in the middle of literals, so that nothing has to be decided.
    pub(crate) fn are_plain(&self, program: &Program) -> bool {
        self.list.iter().all(|thread| {
            let op = program.ops[thread.pc as usize];
            !thread.is_set_apart(false) && matches!(op, Op::Byte(_) | Op::Space | Op::Space1 | Op::Line)
        })
    }

    /// Starts new threads, after those that are there.
    pub(crate) fn start(
        &mut self,
        program: &Program,
        scratch: &mut Scratch,
        threads: impl IntoIterator<Item = Thread>,
        position: usize,
    ) {
        self.settled = false;
        let mut threads = threads.into_iter();
        let (first, second) = (threads.next(), threads.next());
        if let (Some(only), None) = (&first, &second)
            && self.list.is_empty()
            && spread(program, &mut self.list, only, position)
        {
            return;
        }
        scratch.next_step(program);
        for thread in first.into_iter().chain(second).chain(threads) {
            follow(program, scratch, &mut self.list, &thread, position);
        }
    }

    /// Keeps the threads for which the test holds.
    pub(crate) fn retain(&mut self, test: impl FnMut(&Thread) -> bool) {
        self.settled = false;
        self.last = self.lead().copied();
        self.list.retain(test);
        self.in_word = self.list.iter().any(|thread| thread.word.is_some());
    }

    /// Reads one byte at `position`. Words that end here are matched first.
    pub(crate) fn step(
        &mut self,
        program: &Program,
        scratch: &mut Scratch,
        byte: u8,
        position: usize,
    ) -> Step {
        if self.in_word && !is_word_byte(byte) {
            self.end_words(program, scratch, position);
        }
        if byte.is_ascii_whitespace()
            && let Some(step) = self.step_over_space(program)
        {
            return step;
        }
        if let Some(step) = self.step_alone(program, scratch, byte, position) {
            return step;
        }
        let mut next = std::mem::take(&mut scratch.spare);
        next.clear();
        next.reserve(self.list.len());
        scratch.next_step(program);
        let word_at = scratch.words.len() as u32;
        let mut took_word = false;
        for thread in &self.list {
            if thread.spaced && byte.is_ascii_whitespace() {
                if scratch.first_visit(thread.pc, true) {
                    next.push(*thread);
                }
                continue;
            }
            let op = program.ops[thread.pc as usize];
            let is_refused = match op {
                Op::Byte(wanted) => wanted != byte,
                Op::Word(_) => !is_word_byte(byte),
                Op::Body(_) | Op::Match => true,
                _ => false,
            };
            if is_refused {
                continue;
            }
            let mut thread = *thread;
            thread.leave_space(byte, position);
            match op {
                Op::Byte(_) => {
                    thread.pc += 1;
                    follow(program, scratch, &mut next, &thread, position + 1);
                }
                Op::Space if byte.is_ascii_whitespace() => {
                    follow(program, scratch, &mut next, &thread, position + 1);
                }
                Op::Space1 | Op::Line if byte.is_ascii_whitespace() => {
                    // What is needed once is followed by free space, so only the first such byte is read here.
                    let is_enough = op == Op::Space1 || byte == b'\n';
                    thread.pc += u32::from(is_enough);
                    follow(program, scratch, &mut next, &thread, position + 1);
                }
                Op::RestOfLine => {
                    thread.pc += u32::from(byte == b'\n');
                    follow(program, scratch, &mut next, &thread, position + 1);
                }
                Op::Fence(info) if thread.read_fence(program.infos[info as usize].as_bytes(), byte) => {
                    follow(program, scratch, &mut next, &thread, position + 1);
                }
                Op::FenceEnd if thread.read_fence_end(byte) => {
                    follow(program, scratch, &mut next, &thread, position + 1);
                }
                Op::Word(_) => {
                    let start = thread.word.map_or(word_at, Start::get);
                    if (word_at - start) as usize >= LONGEST_WORD {
                        continue;
                    }
                    thread.word = Some(Start::at(start));
                    took_word = true;
                    if !next.contains(&thread) {
                        next.push(thread);
                    }
                }
                op @ (Op::Repeat(_) | Op::Suffix) if thread.repeated(op).is_some() => {
                    let Some((from, to)) = thread.repeated(op).map(Words::range) else { continue };
                    if scratch.words.as_bytes().get((from + thread.offset) as usize) == Some(&byte) {
                        thread.offset += 1;
                        if from + thread.offset == to {
                            thread.pc += 1;
                            thread.offset = 0;
                        }
                        follow(program, scratch, &mut next, &thread, position + 1);
                    }
                }
                Op::Suffix => {
                    // Unbound: a colon starts it, word characters go on with it. `follow` has already gone past it
                    // for the case that it is empty.
                    let starts = thread.word.is_none() && byte == b':';
                    let has_room = |start: Start| ((word_at - start.get()) as usize) < LONGEST_WORD;
                    let goes_on =
                        thread.word.is_some_and(has_room) && (byte.is_ascii_alphanumeric() || byte == b'_');
                    if starts || goes_on {
                        thread.word = thread.word.or(Some(Start::at(word_at)));
                        took_word = true;
                        next.push(thread);
                    }
                }
                _ => {}
            }
        }
        if next.is_empty() {
            scratch.spare = next;
            return Step::Dead;
        }
        self.in_word = took_word;
        self.settled = false;
        std::mem::swap(&mut self.list, &mut next);
        scratch.spare = next;
        Step::Alive
    }

    /// Reads one byte where there is only one thread: nothing has to be compared with what others have come to. Nothing if
    /// what it reads depends on more than the byte.
    fn step_alone(
        &mut self,
        program: &Program,
        scratch: &Scratch,
        byte: u8,
        position: usize,
    ) -> Option<Step> {
        let [thread] = &mut self.list[..] else { return None };
        match program.ops[thread.pc as usize] {
            Op::Body(_) | Op::Match => return Some(Step::Dead),
            Op::Byte(wanted) if wanted != byte => return Some(Step::Dead),
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
                    return Some(Step::Dead);
                }
                thread.leave_space(byte, position);
                thread.word = Some(Start::at(scratch.words.len() as u32));
                self.in_word = true;
            }
            _ => return None,
        }
        self.settled = false;
        Some(Step::Alive)
    }

    /// Reads white space where every thread either passes over it as it stands or cannot read it at all.
    fn step_over_space(&mut self, program: &Program) -> Option<Step> {
        let refuses = |thread: &Thread| {
            let op = program.ops[thread.pc as usize];
            op == Op::Match || begins_without_space(op)
        };
        if !self.list.iter().all(|thread| thread.spaced || refuses(thread)) {
            return None;
        }
        if !self.list.iter().any(|thread| thread.spaced) {
            return Some(Step::Dead);
        }
        self.settled = false;
        self.list.retain(|thread| thread.spaced);
        Some(Step::Alive)
    }

    /// Reads what all threads read alike without anything to decide: white space that they pass over, the middle of words,
    /// and the middle of literals, whose last byte is not a part of it. Says how many bytes that is; none, unless they
    /// are settled.
    pub(crate) fn pass(&mut self, program: &Program, scratch: &mut Scratch, text: &str) -> usize {
        if !self.settled || self.list.is_empty() {
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
        let mut run = self.literal_run(program, rest.as_bytes());
        while !rest.is_char_boundary(run) {
            run -= 1;
        }
        if run > 0 {
            for thread in &mut self.list {
                thread.pc += run as Pc;
                thread.spaced = false;
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
            let ops = &program.ops[thread.pc as usize..];
            let same =
                ops.iter().zip(&bytes[..run]).take_while(|(op, byte)| **op == Op::Byte(**byte)).count();
            let goes_on = matches!(ops.get(same), Some(Op::Byte(_)));
            run = if goes_on { same } else { same.saturating_sub(1) };
            if run == 0 {
                break;
            }
        }
        run
    }

    /// Says that everything that follows from where they stand has been done, so that what decides nothing may be passed
    /// over.
    pub(crate) fn settle(&mut self) {
        self.settled = true;
    }

    /// Ends the words that are being read: the byte at `position` is none of theirs.
    pub(crate) fn end_words(&mut self, program: &Program, scratch: &mut Scratch, position: usize) {
        self.settled = false;
        let mut next = std::mem::take(&mut scratch.spare);
        next.clear();
        scratch.next_step(program);
        for thread in &self.list {
            let mut thread = *thread;
            let Some(start) = thread.word else {
                follow(program, scratch, &mut next, &thread, position);
                continue;
            };
            thread.word = None;
            let run = (start.get(), scratch.words.len() as u32);
            match program.ops[thread.pc as usize] {
                Op::Suffix => thread.suffix = Some(Words::new(run.0, run.1)),
                Op::Word(pattern) if !bind(program, scratch, &mut thread, pattern, run) => continue,
                _ => {}
            }
            thread.pc += 1;
            follow(program, scratch, &mut next, &thread, position);
        }
        if next.is_empty() {
            self.last = self.lead().copied();
        }
        self.in_word = false;
        std::mem::swap(&mut self.list, &mut next);
        scratch.spare = next;
    }

    /// The input is over: what only waited for a byte that is not part of it has ended.
    pub(crate) fn end_input(&mut self, program: &Program, scratch: &mut Scratch, position: usize) {
        self.end_words(program, scratch, position);
        for thread in &mut self.list {
            if program.ops[thread.pc as usize] == Op::FenceEnd && thread.has_closed_fence() {
                thread.pc += 1;
            }
        }
        let list = std::mem::take(&mut self.list);
        self.start(program, scratch, list, position);
    }

    /// Whether some thread is reading a word.
    pub(crate) fn in_word(&self) -> bool {
        self.in_word
    }

    /// Whether the call that is being read could go on: at all, and with more than literals.
    pub(crate) fn could_go_on(&self, program: &Program) -> (bool, bool) {
        let is_open =
            |thread: &&Thread| thread.call_end.is_none() && program.ops[thread.pc as usize] != Op::Match;
        let mut open = self.list.iter().filter(is_open).peekable();
        (open.peek().is_some(), open.any(|thread| !reaches_end(program, thread.pc)))
    }

    /// Whether the frame could end here if only literals were missing.
    pub(crate) fn only_literals_left(&self, program: &Program) -> Option<Thread> {
        self.list.iter().find(|thread| reaches_end(program, thread.pc)).copied()
    }
}

impl Scratch {
    /// The text of a range.
    pub(crate) fn get(&self, words: Words) -> &str {
        let (from, to) = words.range();
        self.words.get(from as usize..to as usize).unwrap_or_default()
    }

    pub(crate) fn reset(&mut self) {
        self.words.clear();
        self.holders.clear();
    }

    /// A character that threads have read as part of a word.
    pub(crate) fn push_word(&mut self, c: char) {
        self.words.push(c);
    }

    /// Leaves the lists with nothing in them.
    pub(crate) fn empty(&mut self) {
        self.reset();
        self.forget_visits();
    }

    /// A value turns out to hold elements.
    pub(crate) fn hold(&mut self, holder: Holder) {
        self.holders.push(holder);
    }

    /// Forgets all holders but the outer ones.
    pub(crate) fn release(&mut self, level: usize) {
        self.holders.truncate(level);
    }

    /// Forgets which instructions have been visited, and makes room for those of this program.
    fn next_step(&mut self, program: &Program) {
        self.forget_visits();
        self.visited.resize(program.ops.len().div_ceil(32), 0);
    }

    fn forget_visits(&mut self) {
        for word in self.touched.drain(..) {
            self.visited[word as usize] = 0;
        }
    }

    fn first_visit(&mut self, pc: Pc, spaced: bool) -> bool {
        let place = pc * 2 + u32::from(spaced);
        let word = &mut self.visited[place as usize / 64];
        if *word == 0 {
            self.touched.push(place / 64);
        }
        let bit = 1 << (place % 64);
        let is_first = *word & bit == 0;
        *word |= bit;
        is_first
    }
}

/// Whether a byte can be part of a word. Characters beyond ASCII are judged when the word has ended.
pub(crate) fn is_word_byte(byte: u8) -> bool {
    byte >= 0x80 || is_word_character(byte as char)
}
/// Adds a thread and everything it can reach without reading a byte, the preferred way first. Threads are large, so one
/// is copied to where it stays and changed there.
#[inline(never)]
fn follow(
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
fn spread(program: &Program, list: &mut Vec<Thread>, thread: &Thread, position: usize) -> bool {
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

/// Matches a finished word against its pattern and binds its slots.
fn bind(program: &Program, scratch: &Scratch, thread: &mut Thread, pattern: u16, run: (u32, u32)) -> bool {
    let text = scratch.get(Words::new(run.0, run.1));
    // A slash makes a closing tag, never a name.
    if text.is_empty()
        || text.starts_with(['/', '!', '?'])
        || !text.is_ascii() && !text.chars().all(is_word_character)
    {
        return false;
    }
    let slots = &program.patterns[pattern as usize].slots;
    let mut from = 0;
    for (i, (slot, literal)) in slots.iter().enumerate() {
        let rest = &text[from..];
        let is_last = i + 1 == slots.len();
        let end = if literal.is_empty() {
            Some(rest.len())
        } else if is_last {
            rest.strip_suffix(literal.as_str()).map(str::len)
        } else {
            rest.rfind(literal.as_str())
        };
        let Some(end) = end else {
            if is_last {
                return false;
            }
            // The number after the name is missing: the whole word is the name, and the judge may still know it.
            thread.set(*slot, Words::new(run.0 + from as u32, run.1));
            return true;
        };
        if end == 0 {
            return false;
        }
        thread.set(*slot, Words::new(run.0 + from as u32, run.0 + (from + end) as u32));
        from += end + literal.len();
    }
    true
}
/// Whether the end of the frame can be reached over literals alone.
fn reaches_end(program: &Program, from: Pc) -> bool {
    let is_more = |op: Op| matches!(op, Op::Word(_) | Op::Body(_) | Op::Return);
    reaches(program, from, |op| op == Op::Match, is_more)
}

/// Whether an instruction that is wanted can be reached from here without going past one that ends the way.
pub(crate) fn reaches(
    program: &Program,
    from: Pc,
    is_wanted: impl Fn(Op) -> bool,
    ends_way: impl Fn(Op) -> bool,
) -> bool {
    let mut ways = vec![from];
    let mut seen = Vec::new();
    while let Some(pc) = ways.pop() {
        if seen.contains(&pc) {
            continue;
        }
        seen.push(pc);
        let op = program.ops[pc as usize];
        if is_wanted(op) {
            return true;
        }
        match op {
            _ if ends_way(op) => {}
            Op::Split(first, second) => ways.extend([first, second]),
            Op::Prompt(next) => ways.extend([pc + 1, next]),
            Op::Jump(to) => ways.push(to),
            _ => ways.push(pc + 1),
        }
    }
    false
}
