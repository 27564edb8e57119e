//! The comparison as a table and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stopwatch::Outcome;

/// One workload in one way of feeding, by all contestants.
pub struct Line {
    pub workload: &'static str,
    pub bytes: usize,
    pub mode: &'static str,
    /// The contestants' names with what they did.
    pub outcomes: Vec<(&'static str, Outcome)>,
}

/// A time in the unit that suits it.
pub fn shown(time: Duration) -> String {
    let nanoseconds = time.as_secs_f64() * 1e9;
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    let places = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.places$} {unit}")
}

/// The lines as JSON.
pub fn to_json(lines: &[Line]) -> Value {
    let outcome = |(name, outcome): &(&str, Outcome)| match outcome {
        Outcome::Read { best, fault } => {
            let fault = fault.as_ref().map(|fault| json!({"kind": fault.kind, "detail": fault.detail}));
            json!({"name": name, "nanoseconds": best.as_nanos(), "fault": fault})
        }
        Outcome::GivenUp => json!({"name": name, "given_up": true}),
    };
    let line = |line: &Line| {
        json!({"workload": line.workload, "bytes": line.bytes, "mode": line.mode,
            "contestants": line.outcomes.iter().map(outcome).collect::<Vec<_>>()})
    };
    lines.iter().map(line).collect()
}

/// The lines as a table: a column per contestant, each time beside its ratio to the first column's.
pub fn to_markdown(columns: &[&str], lines: &[Line]) -> String {
    let mut table = format!(
        "| workload | bytes | fed | {} |\n|---|--:|---|{}\n",
        columns.join(" | "),
        "--:|".repeat(columns.len())
    );
    for line in lines {
        table.push_str(&format!("| {} | {} | {} |", line.workload, line.bytes, line.mode));
        let first = line.outcomes.first().and_then(|(_, outcome)| outcome.best());
        for (at, column) in columns.iter().enumerate() {
            let found = line.outcomes.iter().find(|(name, _)| name == column);
            table.push_str(&match found {
                None => " – |".to_owned(),
                Some((_, Outcome::GivenUp)) => " given up |".to_owned(),
                Some((_, Outcome::Read { best, fault })) => {
                    let ratio = first.filter(|_| at > 0).map(|first| ratio(*best, first)).unwrap_or_default();
                    let fault =
                        fault.as_ref().map(|fault| format!(" **{}**", fault.kind)).unwrap_or_default();
                    format!(" {}{ratio}{fault} |", shown(*best))
                }
            });
        }
        table.push('\n');
    }
    table
}

fn ratio(time: Duration, first: Duration) -> String {
    let ratio = time.as_secs_f64() / first.as_secs_f64();
    if ratio < 0.095 { format!(" ({ratio:.3}×)") } else { format!(" ({ratio:.2}×)") }
}
