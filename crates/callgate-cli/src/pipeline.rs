//! Ordered, parallel, memory-bounded work on lines: one thread reads blocks, several work, the caller writes in order.
//!
//! Blocks that are read but not yet written count against a budget of bytes, so a slow block at the front makes the
//! reader wait instead of letting finished blocks pile up behind it.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::exit::panic_message;

/// The longest line that is read; a longer one is reported and skipped without being held.
pub(crate) const MAX_LINE: usize = 256 << 20;
/// How much is read at a time. What has arrived is worked on at once: a live pipe does not wait for a full block.
const BLOCK: usize = 256 << 10;
/// How many bytes may be read ahead of the writer (a single larger block is let through alone).
const IN_FLIGHT: usize = 64 << 20;

/// A line of the input, without its line break.
pub(crate) enum Line<'a> {
    /// Its bytes.
    Whole(&'a [u8]),
    /// It was longer than [`MAX_LINE`].
    TooLong,
}

/// What is done with each line. One value is shared by all threads; each thread has its own state.
pub(crate) trait LineWork: Send + Sync + 'static {
    /// What a thread keeps from line to line.
    type State;
    /// What a block adds to the summary.
    type Tally: Default + Send + 'static;

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
    let budget = Arc::new(Budget::new(limits.in_flight));
    // A block of input and one of output for each that works or waits.
    let spare = Arc::new(Spare::new(jobs * 8, limits.block * 4));
    let (to_workers, blocks) = sync_channel::<Block>(jobs * 2);
    let (to_writer, results) = sync_channel::<Message<W::Tally>>(jobs * 2);
    let work = Arc::new(work);
    let blocks = Arc::new(Mutex::new(blocks));
    // The threads are not joined: when the writer gives up, a reader that waits for input must not keep the process.
    for _ in 0..jobs {
        let (work, blocks, to_writer) = (Arc::clone(&work), Arc::clone(&blocks), to_writer.clone());
        let spare = Arc::clone(&spare);
        start(move || work_on_blocks(&*work, limits, &blocks, &spare, &to_writer))?;
    }
    {
        let (budget, spare) = (Arc::clone(&budget), Arc::clone(&spare));
        start(move || {
            if let Err(error) = read_blocks(input, limits, &budget, &spare, &to_workers) {
                // The writer may be gone already; then nobody asks.
                let _ = to_writer.send(Message::ReadFailed(error));
            }
        })?;
    }

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
            budget.give_back(done.bytes);
            spare.give_back(done.output);
            next += 1;
        }
    }
    // What was read before the error is written before it is reported.
    read_error.map_or(Ok(()), |error| Err(Broken::Read(error)))
}

fn start<E>(body: impl FnOnce() + Send + 'static) -> Result<(), Broken<E>> {
    thread::Builder::new().spawn(body).map(drop).map_err(Broken::Read)
}

/// Complete lines, or one line that was too long.
struct Block {
    sequence: u64,
    first_line: u64,
    bytes: Vec<u8>,
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

/// Cuts the input into blocks at line breaks. Ends quietly when nobody takes blocks any more.
fn read_blocks(
    mut input: impl Read,
    limits: Limits,
    budget: &Budget,
    spare: &Spare,
    blocks: &SyncSender<Block>,
) -> io::Result<()> {
    let mut buffer = vec![0; limits.block];
    let mut open_line: Vec<u8> = Vec::new();
    // Bytes of a line that is over the limit are counted, not kept.
    let mut skipped = 0;
    let mut sequence = 0;
    let mut line = 1;
    let mut send = |bytes: Vec<u8>, too_long: bool, read: usize| {
        let lines = if too_long { 1 } else { count_lines(&bytes) };
        budget.take(read);
        let sent = blocks.send(Block { sequence, first_line: line, bytes, too_long, read });
        sequence += 1;
        line += lines;
        sent.is_ok()
    };
    loop {
        let count = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut fresh = &buffer[..count];
        if skipped > 0 {
            let Some(end) = memchr::memchr(b'\n', fresh) else {
                skipped += count;
                continue;
            };
            if !send(Vec::new(), true, skipped + end + 1) {
                return Ok(());
            }
            skipped = 0;
            fresh = &fresh[end + 1..];
        }
        match memchr::memrchr(b'\n', fresh) {
            Some(last) => {
                let (whole, rest) = fresh.split_at(last + 1);
                open_line.extend_from_slice(whole);
                let read = open_line.len();
                let mut next = spare.take();
                next.extend_from_slice(rest);
                if !send(std::mem::replace(&mut open_line, next), false, read) {
                    return Ok(());
                }
            }
            None => open_line.extend_from_slice(fresh),
        }
        if open_line.len() > limits.line {
            skipped = open_line.len();
            open_line = Vec::new();
        }
    }
    if skipped > 0 {
        send(Vec::new(), true, skipped);
    } else if !open_line.is_empty() {
        let read = open_line.len();
        send(open_line, false, read);
    }
    Ok(())
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn work_on_blocks<W: LineWork>(
    work: &W,
    limits: Limits,
    blocks: &Mutex<Receiver<Block>>,
    spare: &Spare,
    results: &SyncSender<Message<W::Tally>>,
) {
    let mut state = work.state();
    loop {
        let Ok(block) = lock(blocks).recv() else { return };
        // A lost block would leave the writer waiting for ever, so even a panic has to be reported.
        let message =
            match catch_unwind(AssertUnwindSafe(|| work_on_block(work, limits, &mut state, block, spare))) {
                Ok(done) => Message::Done(done),
                Err(panic) => Message::Panicked(panic_message(&*panic)),
            };
        if results.send(message).is_err() {
            return;
        }
    }
}

fn work_on_block<W: LineWork>(
    work: &W,
    limits: Limits,
    state: &mut W::State,
    block: Block,
    spare: &Spare,
) -> Done<W::Tally> {
    let mut output = spare.take();
    let mut tally = W::Tally::default();
    if block.too_long {
        work.line(state, block.first_line, Line::TooLong, &mut output, &mut tally);
    }
    let mut rest = block.bytes.as_slice();
    let mut number = block.first_line;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = if line.len() > limits.line { Line::TooLong } else { Line::Whole(line) };
        work.line(state, number, line, &mut output, &mut tally);
        number += 1;
    }
    spare.give_back(block.bytes);
    Done { sequence: block.sequence, output, tally, bytes: block.read }
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
            assert_eq!(out, "1:a\n2:\n3:bb\n4:\n5:\n6:ccc\n", "block {block}");
            assert_eq!((lines, bytes), (6, input.len() as u64));
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
