//! Measures Callgate beside its floors and its peers, and prints tables or JSON. See `README.md`.

mod allocation;
mod contestant;
mod growth;
#[cfg(feature = "peers")]
mod peers;
mod report;
mod stopwatch;
mod workload;

use std::error::Error;

use serde_json::json;

use crate::report::Line;
use crate::stopwatch::Outcome;
use crate::workload::chunks;

#[global_allocator]
static ALLOCATOR: allocation::Counting = allocation::Counting;

/// The contestants in the order of the table; the first is what the others are compared with.
const COLUMNS: [&str; 7] = [
    "callgate",
    "callgate auto",
    "callgate alone",
    "tool-parser",
    "dynamo-parsers-v2",
    "serde_json",
    "memchr",
];

const HELP: &str = "usage: callgate-bench [--json] [--rounds N] [--only WORD]… [--once]

  --json       print JSON instead of Markdown
  --rounds N   how many turns each contestant gets (10)
  --only WORD  only the workloads and parts whose name holds WORD; the parts are memory, growth and hostile
  --once       read each chosen workload once with Callgate, streamed, and print nothing: for a profiler
";

struct Options {
    json: bool,
    rounds: usize,
    only: Vec<String>,
    once: bool,
}

impl Options {
    fn from_arguments() -> Result<Self, Box<dyn Error>> {
        let mut options = Options { json: false, rounds: 10, only: Vec::new(), once: false };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match &*argument {
                "--json" => options.json = true,
                "--once" => options.once = true,
                "--rounds" => options.rounds = arguments.next().ok_or(HELP)?.parse()?,
                "--only" => options.only.push(arguments.next().ok_or(HELP)?),
                _ => return Err(HELP.into()),
            }
        }
        Ok(options)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(&**word))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments()?;
    let mut lines = Vec::new();
    for workload in workload::all().iter().filter(|workload| options.wants(workload.name)) {
        let mut contestants = contestant::callgate(workload)?;
        if options.once {
            if let Some(callgate) = contestants.first_mut() {
                std::hint::black_box(callgate.run(&chunks(&workload.text, 4)));
            }
            continue;
        }
        #[cfg(feature = "peers")]
        contestants.extend(peers::all(workload)?);
        contestants.extend(contestant::floors(workload));
        eprintln!("{}: {}", workload.name, workload.what);
        for (mode, pieces) in [("whole", vec![&*workload.text]), ("4 bytes", chunks(&workload.text, 4))] {
            let outcomes = stopwatch::race(&mut contestants, &pieces, &workload.right, options.rounds);
            for (contestant, outcome) in contestants.iter().zip(&outcomes) {
                if let Outcome::Read { fault: Some(fault), .. } = outcome {
                    eprintln!("  {}, {mode}: {}, {}", contestant.name, fault.kind, fault.detail);
                }
            }
            let outcomes = contestants.iter().map(|contestant| contestant.name).zip(outcomes).collect();
            lines.push(Line { workload: workload.name, bytes: workload.text.len(), mode, outcomes });
        }
    }
    if options.once {
        return Ok(());
    }
    let memory = if options.wants("memory") { allocation::costs(10 << 20)? } else { Vec::new() };
    let families = if options.wants("growth") { growth::families(options.rounds)? } else { Vec::new() };
    let hostile = if options.wants("hostile") { growth::hostile(options.rounds)? } else { Vec::new() };
    if options.json {
        let all = json!({"comparison": report::to_json(&lines), "memory": allocation::to_json(&memory),
            "growth": growth::to_json(&families), "hostile": growth::to_json(&hostile)});
        println!("{all:#}");
        return Ok(());
    }
    let parts = [
        (lines.is_empty(), "Comparison", report::to_markdown(&COLUMNS, &lines)),
        (memory.is_empty(), "Memory of a streamed response", allocation::to_markdown(&memory)),
        (families.is_empty(), "Growth", growth::to_markdown("family", &families)),
        (hostile.is_empty(), "Growth of hostile texts", growth::to_markdown("text", &hostile)),
    ];
    for (_, title, table) in parts.iter().filter(|(empty, ..)| !empty) {
        println!("## {title}\n\n{table}");
    }
    Ok(())
}
