//! The comparison as tables and as JSON.

use serde_json::{Value, json};

use crate::stopwatch::Outcome;

/// One workload in one way of feeding, by all contestants.
pub struct Line {
    pub workload: &'static str,
    pub bytes: usize,
    /// One if it was fed whole.
    pub chunks: usize,
    /// The contestants' names with what they did.
    pub outcomes: Vec<(&'static str, Outcome)>,
}

impl Line {
    pub fn is_streamed(&self) -> bool {
        self.chunks > 1
    }

    pub fn outcome(&self, contestant: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|(name, _)| *name == contestant).map(|(_, outcome)| outcome)
    }
}

/// The line of a workload.
pub fn find<'l>(lines: &'l [Line], workload: &str, streamed: bool) -> Option<&'l Line> {
    lines.iter().find(|line| line.workload == workload && line.is_streamed() == streamed)
}

/// A time in nanoseconds, in the unit that suits it.
pub fn shown(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let places = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.places$} {unit}")
}

/// A number with as many places as it needs.
pub fn number(value: f64) -> String {
    match value {
        v if v == 0.0 => "0".to_owned(),
        v if v < 0.1 => format!("{v:.4}"),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// The lines as JSON.
pub fn to_json(lines: &[Line]) -> Value {
    let outcome = |(name, outcome): &(&str, Outcome)| match outcome {
        Outcome::Read { best, fault, count } => {
            let fault = fault.as_ref().map(|fault| json!({"kind": fault.kind, "detail": fault.detail}));
            json!({"name": name, "nanoseconds": best, "fault": fault, "allocations": count.calls, "peak": count.peak})
        }
        Outcome::GivenUp => json!({"name": name, "given_up": true}),
    };
    let line = |line: &Line| {
        json!({"workload": line.workload, "bytes": line.bytes, "chunks": line.chunks,
            "contestants": line.outcomes.iter().map(outcome).collect::<Vec<_>>()})
    };
    lines.iter().map(line).collect()
}

/// What a cell of a table says about a contestant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// The time, and its ratio to the first column's.
    Time,
    /// The time per chunk, and its ratio to the first column's.
    PerChunk,
    /// How often it allocated in one reading, and the most it had alive.
    Allocations,
}

/// The lines as a table with a column per contestant. Columns in which nobody stands are left out.
pub fn to_markdown(lines: &[&Line], columns: &[&str], cell: Cell) -> String {
    let columns: Vec<&str> = columns
        .iter()
        .copied()
        .filter(|name| lines.iter().any(|line| line.outcome(name).is_some()))
        .collect();
    let of_chunks = if cell == Cell::PerChunk { " chunks |" } else { "" };
    let mut table = format!(
        "| workload | bytes |{of_chunks} {} |\n|---|--:|{}{}\n",
        columns.join(" | "),
        if of_chunks.is_empty() { "" } else { "--:|" },
        "--:|".repeat(columns.len())
    );
    for line in lines {
        table.push_str(&format!("| {} | {} |", line.workload, line.bytes));
        if cell == Cell::PerChunk {
            table.push_str(&format!(" {} |", line.chunks));
        }
        let first = columns.first().and_then(|name| line.outcome(name)).and_then(Outcome::best);
        for (at, column) in columns.iter().enumerate() {
            table.push_str(&match line.outcome(column) {
                None => " – |".to_owned(),
                Some(Outcome::GivenUp) => " given up |".to_owned(),
                Some(Outcome::Read { count, .. }) if cell == Cell::Allocations => {
                    format!(" {}, {} KB |", count.calls, count.peak.div_ceil(1024))
                }
                Some(Outcome::Read { best, fault, .. }) => {
                    let parts = if cell == Cell::PerChunk { line.chunks as f64 } else { 1.0 };
                    let ratio = first.filter(|_| at > 0).map(|first| format!(" ({}×)", number(best / first)));
                    let fault = fault.as_ref().map(|fault| format!(" **{}**", fault.kind));
                    let (ratio, fault) = (ratio.unwrap_or_default(), fault.unwrap_or_default());
                    format!(" {}{ratio}{fault} |", shown(best / parts))
                }
            });
        }
        table.push('\n');
    }
    table
}
