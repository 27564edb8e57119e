//! Ordered, parallel, memory-bounded work on lines: several threads take blocks in turn, the caller writes in order.
//!
//! Blocks that are read but not yet written count against a budget of bytes, so a slow block at the front makes the
//! threads wait instead of letting finished blocks pile up behind it.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::exit::panic_message;

/// The longest line that is read; a longer one is reported and skipped without being held.
pub(crate) const MAX_LINE: usize = 256 << 20;
/// How much is read at a time. What has arrived is worked on at once: a live pipe does not wait for a full block.
const BLOCK: usize = 256 << 10;
/// How many bytes may be read ahead of the writer (a single larger block is let through alone).
const IN_FLIGHT: usize = 64 << 20;

/// What lines are read from.
pub(crate) type Input = Box<dyn Read + Send>;

/// A line of the input, without its line break.
pub(crate) enum Line<'a> {
    /// Its bytes.
    Whole(&'a [u8]),
    /// It was longer than [`MAX_LINE`].
    TooLong,
}

/// What is done with each line that is not blank. One value is shared by all threads; each thread has its own state.
pub(crate) trait LineWork: Send + Sync + 'static {
    /// What a thread keeps from line to line.
    type State;
    /// What a block adds to the summary.
    type Tally: Default + Send + 'static;

    /// The lines of an input, and whether they are others than it came with.
    fn lines(input: Input) -> io::Result<(Input, bool)> {
        Ok((input, false))
    }

    fn state(&self) -> Self::State;
    /// Works on line `number` (from 1) and appends what it becomes to `out`, line break included.
    fn line(
        &self,
        state: &mut Self::State,
        number: u64,
        line: Line<'_>,
        out: &mut Vec<u8>,
        tally: &mut Self::Tally,
    );
}

/// The limits, as a value so that tests can make them small.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) block: usize,
    pub(crate) line: usize,
    pub(crate) in_flight: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { block: BLOCK, line: MAX_LINE, in_flight: IN_FLIGHT }
    }
}

/// Why a run ended early.
#[derive(Debug)]
pub(crate) enum Broken<E> {
    /// Reading failed, or could not be started.
    Read(io::Error),
    /// The caller could not write.
    Write(E),
    /// The work on a block panicked, and what the panic said.
    Work(String),
}

/// Works on all lines of `input` with `jobs` threads and hands the results to `write`, in the order of the input:
/// the output of a block, its tally, and how many bytes of input it stands for.
pub(crate) fn run<W: LineWork, E>(
    input: impl Read + Send + 'static,
    work: W,
    jobs: usize,
    limits: Limits,
    mut write: impl FnMut(&[u8], W::Tally, u64) -> Result<(), E>,
) -> Result<(), Broken<E>> {
    let shared = Arc::new(Shared {
        work,
        limits,
        source: Mutex::new(Source::new(input)),
        budget: Budget::new(limits.in_flight),
        spare: Spare::new(jobs * 4, limits.block * 4),
    });
    let (to_writer, results) = sync_channel::<Message<W::Tally>>(jobs * 2);
    // The threads are not joined: when the writer gives up, one that waits for input must not keep the process.
    for _ in 0..jobs {
        let (shared, to_writer) = (Arc::clone(&shared), to_writer.clone());
        thread::Builder::new().spawn(move || work_on_blocks(&shared, &to_writer)).map_err(Broken::Read)?;
    }
    drop(to_writer);

    let mut next = 0;
    let mut waiting = BTreeMap::new();
    let mut read_error = None;
    for message in results {
        match message {
            Message::Done(done) => waiting.insert(done.sequence, done),
            Message::ReadFailed(error) => {
                read_error = Some(error);
                None
            }
            Message::Panicked(message) => return Err(Broken::Work(message)),
        };
        while let Some(done) = waiting.remove(&next) {
            write(&done.output, done.tally, done.bytes as u64).map_err(Broken::Write)?;
            shared.budget.give_back(done.bytes);
            shared.spare.give_back(done.output);
            next += 1;
        }
    }
    // What was read before the error is written before it is reported.
    read_error.map_or(Ok(()), |error| Err(Broken::Read(error)))
}

/// What all threads share.
struct Shared<R, W> {
    work: W,
    limits: Limits,
    source: Mutex<Source<R>>,
    budget: Budget,
    spare: Spare,
}

/// What is known of a block: complete lines, or one line that was too long.
struct Head {
    sequence: u64,
    first_line: u64,
    too_long: bool,
    /// How many bytes of input it stands for.
    read: usize,
}

struct Done<T> {
    sequence: u64,
    output: Vec<u8>,
    tally: T,
    bytes: usize,
}

enum Message<T> {
    Done(Done<T>),
    ReadFailed(io::Error),
    Panicked(String),
}

/// The input, cut into blocks at line breaks.
struct Source<R> {
    input: R,
    /// The start of a line whose end is still to come.
    open_line: Vec<u8>,
    /// Whether there may be whole lines in it.
    has_lines: bool,
    /// How many bytes of a line over the limit have come: they are counted, not kept.
    skipped: usize,
    sequence: u64,
    line: u64,
    ended: bool,
}

impl<R: Read> Source<R> {
    fn new(input: R) -> Self {
        Source {
            input,
            open_line: Vec::new(),
            has_lines: false,
            skipped: 0,
            sequence: 0,
            line: 1,
            ended: false,
        }
    }

    /// Puts the next block into `block`. Nothing comes after the end or an error.
    fn next(&mut self, limits: Limits, block: &mut Vec<u8>) -> io::Result<Option<Head>> {
        block.clear();
        if self.ended {
            return Ok(None);
        }
        block.append(&mut self.open_line);
        if std::mem::take(&mut self.has_lines)
            && let Some(last) = memchr::memrchr(b'\n', block)
        {
            return Ok(Some(self.cut(limits, block, last + 1)));
        }
        loop {
            let start = block.len();
            block.resize(start + limits.block, 0);
            let read = self.input.read(&mut block[start..]);
            block.truncate(start + *read.as_ref().unwrap_or(&0));
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.ended = true;
                    return Err(error);
                }
                Ok(0) => {
                    self.ended = true;
                    return Ok(self.last(block));
                }
                Ok(_) => {}
            }
            if self.skipped > 0 {
                let Some(end) = memchr::memchr(b'\n', block) else {
                    self.skipped += block.len();
                    block.clear();
                    continue;
                };
                let read = std::mem::take(&mut self.skipped) + end + 1;
                self.open_line.extend_from_slice(&block[end + 1..]);
                self.has_lines = true;
                block.clear();
                return Ok(Some(self.head(1, true, read)));
            }
            if let Some(last) = memchr::memrchr(b'\n', &block[start..]) {
                return Ok(Some(self.cut(limits, block, start + last + 1)));
            }
            if block.len() > limits.line {
                self.skipped = block.len();
                block.clear();
            }
        }
    }

    /// Keeps what comes after the last whole line for the next block.
    fn cut(&mut self, limits: Limits, block: &mut Vec<u8>, end: usize) -> Head {
        self.open_line.extend_from_slice(&block[end..]);
        block.truncate(end);
        if self.open_line.len() > limits.line {
            self.skipped = self.open_line.len();
            self.open_line.clear();
        }
        self.head(count_lines(block), false, end)
    }

    /// What is left at the end: a line without a line break.
    fn last(&mut self, block: &mut Vec<u8>) -> Option<Head> {
        if self.skipped > 0 {
            block.clear();
            return Some(self.head(1, true, self.skipped));
        }
        (!block.is_empty()).then(|| self.head(1, false, block.len()))
    }

    fn head(&mut self, lines: u64, too_long: bool, read: usize) -> Head {
        let head = Head { sequence: self.sequence, first_line: self.line, too_long, read };
        self.sequence += 1;
        self.line += lines;
        head
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Takes blocks, each into the cache of the core that works on it, until there are no more.
fn work_on_blocks<R: Read, W: LineWork>(shared: &Shared<R, W>, results: &SyncSender<Message<W::Tally>>) {
    let mut state = shared.work.state();
    let mut block = Vec::new();
    loop {
        let head = {
            let mut source = lock(&shared.source);
            match source.next(shared.limits, &mut block) {
                Ok(Some(head)) => {
                    // No thread reads on while the budget of unwritten bytes is used up.
                    shared.budget.take(head.read);
                    head
                }
                Ok(None) => return,
                Err(error) => {
                    // A failed send means that the writer has given up; the result is not needed.
                    let _ = results.send(Message::ReadFailed(error));
                    return;
                }
            }
        };
        // A lost block would leave the writer waiting for ever, so even a panic has to be reported.
        let done = catch_unwind(AssertUnwindSafe(|| work_on_block(shared, &mut state, &head, &block)));
        let message = match done {
            Ok(done) => Message::Done(done),
            Err(panic) => Message::Panicked(panic_message(&*panic)),
        };
        if results.send(message).is_err() {
            return;
        }
        block.clear();
        block.shrink_to(shared.limits.block * 4);
    }
}

fn work_on_block<R, W: LineWork>(
    shared: &Shared<R, W>,
    state: &mut W::State,
    head: &Head,
    block: &[u8],
) -> Done<W::Tally> {
    let mut output = shared.spare.take();
    let mut tally = W::Tally::default();
    let mut number = head.first_line;
    if head.too_long {
        shared.work.line(state, number, Line::TooLong, &mut output, &mut tally);
    }
    let mut rest = block;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            number += 1;
            continue;
        }
        let line = if line.len() > shared.limits.line { Line::TooLong } else { Line::Whole(line) };
        shared.work.line(state, number, line, &mut output, &mut tally);
        number += 1;
    }
    Done { sequence: head.sequence, output, tally, bytes: head.read }
}

/// Blocks of bytes that were used and may be used again: the system asks for a new page of memory at every first touch.
struct Spare {
    blocks: Mutex<Vec<Vec<u8>>>,
    /// The most blocks that are kept, and how large one may be.
    most: usize,
    largest: usize,
}

impl Spare {
    fn new(most: usize, largest: usize) -> Self {
        Spare { blocks: Mutex::new(Vec::new()), most, largest }
    }

    /// An empty block, with room if there is one.
    fn take(&self) -> Vec<u8> {
        lock(&self.blocks).pop().unwrap_or_default()
    }

    fn give_back(&self, mut block: Vec<u8>) {
        block.clear();
        let mut blocks = lock(&self.blocks);
        if blocks.len() < self.most && (1..=self.largest).contains(&block.capacity()) {
            blocks.push(block);
        }
    }
}

/// How many bytes are between the reader and the writer.
struct Budget {
    limit: usize,
    used: Mutex<usize>,
    freed: Condvar,
}

impl Budget {
    fn new(limit: usize) -> Self {
        Budget { limit, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until there is room. A block larger than the whole budget goes when it is alone, so there is always progress.
    fn take(&self, bytes: usize) {
        let mut used = lock(&self.used);
        while *used > 0 && *used + bytes > self.limit {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
    }

    fn give_back(&self, bytes: usize) {
        *lock(&self.used) -= bytes;
        self.freed.notify_one();
    }
}

/// The data behind these locks is a number or a channel end: it is whole even if a holder panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Writes `number:line`, and lets every seventh line take longer so that blocks finish out of order.
    struct Echo {
        slow: bool,
        started: Arc<AtomicUsize>,
    }

    impl LineWork for Echo {
        type State = ();
        type Tally = u64;

        fn state(&self) {}

        fn line(&self, (): &mut (), number: u64, line: Line<'_>, out: &mut Vec<u8>, tally: &mut u64) {
            self.started.fetch_add(1, Ordering::SeqCst);
            *tally += 1;
            if self.slow && number % 7 == 1 {
                thread::sleep(Duration::from_millis(2));
            }
            out.extend_from_slice(format!("{number}:").as_bytes());
            match line {
                Line::Whole(line) => {
                    assert_ne!(line, b"panic", "asked to");
                    out.extend_from_slice(line);
                }
                Line::TooLong => out.extend_from_slice(b"TOO LONG"),
            }
            out.push(b'\n');
        }
    }

    fn echo(input: &[u8], jobs: usize, limits: Limits, slow: bool) -> Result<(String, u64, u64), Broken<()>> {
        let mut written = Vec::new();
        let (mut lines, mut bytes) = (0, 0);
        let work = Echo { slow, started: Arc::default() };
        run(io::Cursor::new(input.to_vec()), work, jobs, limits, |out, tally, read| {
            written.extend_from_slice(out);
            lines += tally;
            bytes += read;
            Ok(())
        })?;
        Ok((String::from_utf8(written).unwrap(), lines, bytes))
    }

    fn small(block: usize, line: usize, in_flight: usize) -> Limits {
        Limits { block, line, in_flight }
    }

    #[test]
    fn the_order_is_that_of_the_input() {
        let input: String = (1..=2000).map(|n| format!("line {n}\n")).collect();
        let expected: String = (1..=2000).map(|n| format!("{n}:line {n}\n")).collect();
        for jobs in [1, 2, 7] {
            let (out, lines, bytes) = echo(input.as_bytes(), jobs, small(64, 1000, 512), true).unwrap();
            assert_eq!(out, expected);
            assert_eq!((lines, bytes), (2000, input.len() as u64));
        }
    }

    #[test]
    fn block_size_does_not_matter() {
        let input = b"a\r\n\nbb\n\n\nccc";
        for block in 1..16 {
            let (out, lines, bytes) = echo(input, 2, small(block, 1000, 4096), false).unwrap();
            // Blank lines are counted and passed over.
            assert_eq!(out, "1:a\n3:bb\n6:ccc\n", "block {block}");
            assert_eq!((lines, bytes), (3, input.len() as u64));
        }
        assert_eq!(echo(b"", 2, small(4, 10, 10), false).unwrap().0, "");
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_counted() {
        let input = format!("a\n{}\nb\n{}", "x".repeat(1000), "y".repeat(1000));
        for block in [1, 7, 64] {
            let (out, _, bytes) = echo(input.as_bytes(), 3, small(block, 100, 4096), false).unwrap();
            assert_eq!(out, "1:a\n2:TOO LONG\n3:b\n4:TOO LONG\n", "block {block}");
            assert_eq!(bytes, input.len() as u64);
        }
    }

    #[test]
    fn a_slow_writer_stops_the_reader() {
        let input: String = "0123456\n".repeat(10_000);
        let started = Arc::new(AtomicUsize::new(0));
        let work = Echo { slow: false, started: Arc::clone(&started) };
        let mut written = 0;
        let mut most_ahead = 0;
        run(io::Cursor::new(input.into_bytes()), work, 4, small(80, 1000, 800), |out, _, _| {
            if written < 400 {
                thread::sleep(Duration::from_micros(500));
            }
            most_ahead = most_ahead.max(started.load(Ordering::SeqCst).saturating_sub(written));
            written += count_lines(out) as usize;
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(written, 10_000);
        // The budget is 100 lines; no more than that are ever between the reader and the writer.
        assert!(most_ahead <= 100, "{most_ahead} lines ahead");
    }

    #[test]
    fn a_block_larger_than_the_budget_gets_through() {
        let input = format!("{}\n{}\nc\n", "a".repeat(500), "b".repeat(500));
        let (out, lines, _) = echo(input.as_bytes(), 2, small(64, 1000, 10), false).unwrap();
        assert_eq!(lines, 3);
        assert!(out.ends_with("3:c\n"));
    }

    #[test]
    fn a_writer_that_gives_up_ends_the_run() {
        let input = "x\n".repeat(100_000);
        let work = Echo { slow: false, started: Arc::default() };
        let result =
            run(io::Cursor::new(input.into_bytes()), work, 2, small(64, 100, 512), |_, _, _| Err("closed"));
        assert!(matches!(result, Err(Broken::Write("closed"))));
    }

    #[test]
    fn a_panic_in_the_work_is_reported() {
        let input = "x\n".repeat(100) + "panic\n" + &"x\n".repeat(100_000);
        assert!(matches!(echo(input.as_bytes(), 2, small(64, 100, 512), false), Err(Broken::Work(_))));
    }

    #[test]
    fn a_read_error_comes_after_what_was_read() {
        struct Failing(bool);
        impl Read for Failing {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(io::Error::other("gone"));
                }
                buffer[..4].copy_from_slice(b"a\nb\n");
                Ok(4)
            }
        }
        let mut written = Vec::new();
        let work = Echo { slow: false, started: Arc::default() };
        let result = run(Failing(false), work, 2, Limits::default(), |out, _, _| {
            written.extend_from_slice(out);
            Ok::<(), ()>(())
        });
        assert!(matches!(result, Err(Broken::Read(_))));
        assert_eq!(written, b"1:a\n2:b\n");
    }
}
