//! Creation: what making a gate, and a parser for one response, costs, letting it go included.

use std::error::Error;
use std::hint::black_box;

use serde_json::{Value, json};

use crate::allocation::{Count, counted};
use crate::contestant::{gate, gate_alone, gate_of_all};
use crate::report::shown;
use crate::stopwatch::fastest;

/// One way of making a parser.
pub struct Row {
    pub name: &'static str,
    pub what: &'static str,
    pub nanoseconds: f64,
    pub allocations: usize,
    /// The most bytes alive at one time.
    pub peak: usize,
}

/// The gate that hears the most.
pub const ALL: &str = "a gate, every dialect by name";

/// Measures all ways in turns.
pub fn all(rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut makers: Vec<(&'static str, &'static str, Box<dyn FnMut()>)> = Vec::new();
    for (what, gate) in [("auto", gate("auto")?), ("hermes alone", gate_alone("hermes")?)] {
        let make = move || {
            let _ = black_box(gate.session());
        };
        makers.push(("callgate", what, Box::new(make)));
    }
    let make = || drop(black_box(gate("auto")));
    makers.push(("callgate", "a gate, auto", Box::new(make)));
    let make = || drop(black_box(gate_of_all()));
    makers.push(("callgate", ALL, Box::new(make)));
    #[cfg(feature = "peers")]
    makers.extend(crate::peers::makers());
    let mut rows = Vec::new();
    for (name, what, make) in &mut makers {
        make();
        let ((), count) = counted(&mut *make);
        let Count { calls: allocations, peak } = count;
        rows.push(Row { name, what, nanoseconds: fastest(1, &mut *make), allocations, peak });
    }
    for _ in 0..rounds {
        for ((_, _, make), row) in makers.iter_mut().zip(&mut rows) {
            let times = (4e6 / row.nanoseconds.max(1.0)).clamp(1.0, 100_000.0) as u32;
            row.nanoseconds = row.nanoseconds.min(fastest(times, &mut *make));
        }
    }
    Ok(rows)
}

/// The rows as JSON.
pub fn to_json(rows: &[Row]) -> Value {
    let row = |row: &Row| {
        json!({"name": row.name, "what": row.what, "nanoseconds": row.nanoseconds,
        "allocations": row.allocations, "peak": row.peak})
    };
    rows.iter().map(row).collect()
}

/// The rows as a table.
pub fn to_markdown(rows: &[Row]) -> String {
    let mut table =
        String::from("| parser | for | time | allocations | bytes at most |\n|---|---|--:|--:|--:|\n");
    for row in rows {
        table.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            row.name,
            row.what,
            shown(row.nanoseconds),
            row.allocations,
            row.peak
        ));
    }
    table
}
