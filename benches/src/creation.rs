//! Creation: what making a parser for one response costs, letting it go included.

use std::error::Error;
use std::hint::black_box;

use serde_json::{Value, json};

use crate::allocation::counted;
use crate::contestant::{gate, gate_alone};
use crate::report::shown;
use crate::stopwatch::fastest;

/// One way of making a parser.
pub struct Row {
    pub name: &'static str,
    pub what: &'static str,
    pub nanoseconds: f64,
    pub allocations: usize,
}

/// Measures all ways in turns.
pub fn all(rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut makers: Vec<(&'static str, &'static str, Box<dyn FnMut()>)> = Vec::new();
    for (what, gate) in [("auto", gate("auto")?), ("hermes alone", gate_alone("hermes")?)] {
        let make = move || {
            let _ = black_box(gate.session());
        };
        makers.push(("callgate", what, Box::new(make)));
    }
    #[cfg(feature = "peers")]
    makers.extend(crate::peers::makers());
    let mut rows = Vec::new();
    for (name, what, make) in &mut makers {
        make();
        let ((), count) = counted(&mut *make);
        rows.push(Row { name, what, nanoseconds: fastest(1, &mut *make), allocations: count.calls });
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
    let row = |row: &Row| json!({"name": row.name, "what": row.what, "nanoseconds": row.nanoseconds, "allocations": row.allocations});
    rows.iter().map(row).collect()
}

/// The rows as a table.
pub fn to_markdown(rows: &[Row]) -> String {
    let mut table = String::from("| parser | for | time | allocations |\n|---|---|--:|--:|\n");
    for row in rows {
        table.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            row.name,
            row.what,
            shown(row.nanoseconds),
            row.allocations
        ));
    }
    table
}
