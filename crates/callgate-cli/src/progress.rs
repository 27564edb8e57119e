//! Progress and summary of a long run, on standard error.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::detect::flag;
use crate::paint::{Breaks, visible};
use crate::scan_report::ScanReport;

const REFRESH: Duration = Duration::from_millis(100);
const BAR: usize = 24;
/// The most notes that are kept.
const NOTES: usize = 64;

/// What a run has counted so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) lines: u64,
    /// Lines that could not be read.
    pub(crate) errors: u64,
    pub(crate) calls: u64,
    /// Calls (or, for `repair`, documents) that were repaired.
    pub(crate) repaired: u64,
    /// Rejections by their deciding code.
    pub(crate) rejected: BTreeMap<&'static str, u64>,
    /// Lines in which no call was read, by the dialect that would read one.
    pub(crate) hints: BTreeMap<String, u64>,
    /// What was forgiven in the tool lists of lines, each once.
    pub(crate) notes: BTreeSet<String>,
    /// What a report says, where one is wanted.
    pub(crate) report: Option<Box<ScanReport>>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.lines += other.lines;
        self.errors += other.errors;
        self.calls += other.calls;
        self.repaired += other.repaired;
        for (code, count) in other.rejected {
            *self.rejected.entry(code).or_default() += count;
        }
        let room = NOTES.saturating_sub(self.notes.len());
        self.notes.extend(other.notes.into_iter().take(room));
        for (dialect, count) in other.hints {
            *self.hints.entry(dialect).or_default() += count;
        }
        if let Some(report) = other.report {
            self.report.get_or_insert_default().add(*report);
        }
    }

    pub(crate) fn rejections(&self) -> u64 {
        self.rejected.values().sum()
    }
}

/// Which numbers mean something for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    Calls,
    Documents,
}

/// A line that is redrawn while the run goes on, and a table at its end.
pub(crate) struct Progress {
    counting: Counting,
    total_bytes: Option<u64>,
    started: Instant,
    drawn: Instant,
    bytes: u64,
    /// Whether the line is drawn: standard error is a terminal.
    live: bool,
    quiet: bool,
}

impl Progress {
    pub(crate) fn start(counting: Counting, total_bytes: Option<u64>, quiet: bool) -> Self {
        let now = Instant::now();
        let live = !quiet && io::stderr().is_terminal();
        Progress { counting, total_bytes, started: now, drawn: now, bytes: 0, live, quiet }
    }

    /// More input has been worked on; redraws the line now and then.
    pub(crate) fn advance(&mut self, bytes: u64, tally: &Tally) {
        self.bytes += bytes;
        if self.live && self.drawn.elapsed() >= REFRESH {
            self.drawn = Instant::now();
            // Progress is a courtesy: a standard error that cannot be written must not end the run.
            let _ = write!(io::stderr(), "\r{}\x1b[K", self.line(tally));
        }
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        if self.live {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    /// Prints the table.
    pub(crate) fn summary(&self, tally: &Tally) {
        self.clear();
        if !self.quiet {
            let _ = io::stderr().write_all(self.table(tally).as_bytes());
        }
    }

    fn line(&self, tally: &Tally) -> String {
        let bar = self.total_bytes.filter(|&total| total > 0).map_or(String::new(), |total| {
            let done = self.bytes.min(total);
            let filled = (done * BAR as u64 / total) as usize;
            format!("{}{} {:>3}%  ", "█".repeat(filled), "░".repeat(BAR - filled), done * 100 / total)
        });
        let counts = match self.counting {
            Counting::Calls => {
                format!("{} calls  {} rejected", grouped(tally.calls), grouped(tally.rejections()))
            }
            Counting::Documents => format!("{} repaired", grouped(tally.repaired)),
        };
        format!("{bar}{} lines  {:.1} MB/s  {counts}", grouped(tally.lines), self.megabytes_per_second())
    }

    fn table(&self, tally: &Tally) -> String {
        let mut rows = vec![("lines".to_owned(), tally.lines)];
        match self.counting {
            Counting::Calls => {
                rows.push(("calls".to_owned(), tally.calls));
                rows.push(("repaired".to_owned(), tally.repaired));
                rows.push(("rejected".to_owned(), tally.rejections()));
                let mut codes: Vec<_> = tally.rejected.iter().collect();
                codes.sort_by_key(|&(code, &count)| (std::cmp::Reverse(count), code));
                rows.extend(codes.into_iter().map(|(code, &count)| (format!("  {code}"), count)));
            }
            Counting::Documents => rows.push(("repaired".to_owned(), tally.repaired)),
        }
        rows.push(("errors".to_owned(), tally.errors));
        let label = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        let number = rows.iter().map(|(_, count)| grouped(*count).len()).max().unwrap_or(0);
        let mut table = String::new();
        for (name, count) in &rows {
            table.push_str(&format!("{name:<label$}  {:>number$}\n", grouped(*count)));
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = self.megabytes_per_second();
        table.push_str(&format!("{:<label$}  {seconds:.2} s, {rate:.1} MB/s\n", "time"));
        for note in &tally.notes {
            table.push_str(&format!("note: {}\n", visible(note, Breaks::Show)));
        }
        for (dialect, count) in &tally.hints {
            let lines = if *count == 1 { "1 line".to_owned() } else { format!("{} lines", grouped(*count)) };
            let flag = flag(dialect);
            table.push_str(&format!("hint: {lines} without a call would be read with {flag}\n"));
        }
        table
    }

    fn megabytes_per_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.started.elapsed().as_secs_f64().max(1e-6)
    }
}

/// A number with commas between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn the_line_shows_how_far_it_is() {
        let mut progress = Progress::start(Counting::Calls, Some(200), true);
        let tally = Tally { lines: 1500, calls: 7, ..Tally::default() };
        progress.advance(100, &tally);
        let line = progress.line(&tally);
        assert!(line.starts_with("████████████░░░░░░░░░░░░  50%  1,500 lines"), "{line}");
        assert!(line.ends_with("7 calls  0 rejected"), "{line}");
    }

    #[test]
    fn the_table_has_the_most_frequent_code_first() {
        let progress = Progress::start(Counting::Calls, None, true);
        let rejected = [("bad-json", 2), ("unknown-tool", 5)].into_iter().collect();
        let table = progress.table(&Tally { lines: 9, rejected, ..Tally::default() });
        assert!(table.contains("rejected        7\n  unknown-tool  5\n  bad-json      2\n"), "{table}");
    }
}
