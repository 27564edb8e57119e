//! Measures Callgate beside its floors and its peers, and prints tables or JSON. See `README.md`.

mod allocation;
mod contestant;
mod creation;
mod damage;
mod floors;
mod growth;
mod pages;
#[cfg(feature = "peers")]
mod peers;
mod repairs;
mod report;
mod scan;
mod stopwatch;
mod targets;
mod workload;

use std::error::Error;

use serde_json::json;

use crate::contestant::Take;
use crate::report::{Cell, Line, find};
use crate::stopwatch::Outcome;
use crate::workload::{Task, Workload, chunks};

#[global_allocator]
static ALLOCATOR: allocation::Counting = allocation::Counting;

/// The contestants in the order of the tables; in each table, the first is what the others are compared with.
const COLUMNS: [&str; 20] = [
    "callgate auto",
    "callgate alone",
    "auto, borrowed",
    "alone, borrowed",
    "callgate text",
    "callgate value",
    "tool-parser",
    "dynamo-parsers",
    "dynamo-parsers-v2",
    "jsonrepair-rs",
    "jsonrepair",
    "llm_json",
    "floor",
    "serde_json",
    "serde_json check",
    "sonic-rs",
    "simd-json",
    "jiter",
    "memmem",
    "memchr3",
];

const HELP: &str = "usage: callgate-bench [--json] [--rounds N] [--only WORD]… [--once] [--write]
       callgate-bench scan [--size MB] [--threads N] [--write]
       callgate-bench repair [--count N] [--write]

  --json       print JSON instead of Markdown
  --rounds N   how many turns each contestant gets (10)
  --only WORD  only the workloads and parts whose name holds WORD; the parts are creation, memory, growth, hostile
  --once       read each chosen workload once with Callgate, streamed, and print nothing: for a profiler
  --write      also put the tables into docs/performance.md

  repair       damaged documents, N (5000) with plain strings and as many with rich ones, beside other repairers
  scan         the command `callgate scan` on a file of this size (1000), with one thread and with N (all)
";

struct Options {
    json: bool,
    rounds: usize,
    only: Vec<String>,
    once: bool,
    write: bool,
    scan: Option<scan::Options>,
    repair: Option<repairs::Options>,
}

impl Options {
    fn from_arguments() -> Result<Self, Box<dyn Error>> {
        let mut options = Options {
            json: false,
            rounds: 10,
            only: Vec::new(),
            once: false,
            write: false,
            scan: None,
            repair: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if let (Some(repair), "--count") = (&mut options.repair, &*argument) {
                repair.count = arguments.next().ok_or(HELP)?.parse()?;
                continue;
            }
            match (&*argument, &mut options.scan) {
                ("repair", None) => options.repair = Some(repairs::Options::default()),
                ("scan", scan) => *scan = Some(scan::Options::default()),
                ("--size", Some(scan)) => scan.megabytes = arguments.next().ok_or(HELP)?.parse()?,
                ("--threads", Some(scan)) => scan.threads = arguments.next().ok_or(HELP)?.parse()?,
                ("--write", _) => options.write = true,
                ("--json", None) => options.json = true,
                ("--once", None) => options.once = true,
                ("--rounds", None) => options.rounds = arguments.next().ok_or(HELP)?.parse()?,
                ("--only", None) => options.only.push(arguments.next().ok_or(HELP)?),
                _ => return Err(HELP.into()),
            }
        }
        if options.write
            && !(options.only.is_empty() && cfg!(feature = "peers"))
            && options.scan.is_none()
            && options.repair.is_none()
        {
            return Err("only a whole run with the peers may be written".into());
        }
        Ok(options)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| name.contains(&**word))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_arguments()?;
    if let Some(scan) = &options.scan {
        let table = scan::run(scan)?;
        println!("{table}");
        return if options.write { pages::write("docs/performance.md", &[("scan", table)]) } else { Ok(()) };
    }
    if let Some(repair) = &options.repair {
        let tables = repairs::run(repair)?;
        for (_, table) in &tables {
            println!("{table}");
        }
        return if options.write { pages::write("docs/performance.md", &tables) } else { Ok(()) };
    }
    let mut lines = Vec::new();
    let mut deltas = Vec::new();
    for workload in workload::all().iter().filter(|workload| options.wants(workload.name)) {
        let pieces = chunks(&workload.text);
        if options.once {
            if let Some(callgate) = contestant::callgate(workload)?.first_mut() {
                std::hint::black_box(callgate.run(&pieces, Take::Copy));
            }
            continue;
        }
        eprintln!("{}: {}", workload.name, workload.what);
        lines.push(line(workload, &[&*workload.text], options.rounds)?);
        lines.push(line(workload, &pieces, options.rounds)?);
        if let Task::Response(dialect) = workload.task {
            let count = contestant::deltas(&contestant::gate_auto(dialect)?, &pieces);
            deltas.push((workload.name, count as f64 / pieces.len() as f64));
        }
    }
    if options.once {
        return Ok(());
    }
    let creation = if options.wants("creation") { creation::all(options.rounds)? } else { Vec::new() };
    let costs = if options.wants("memory") { allocation::costs(10 << 20)? } else { Vec::new() };
    let families = if options.wants("growth") { growth::families(options.rounds)? } else { Vec::new() };
    let hostile = if options.wants("hostile") { growth::hostile(options.rounds)? } else { Vec::new() };
    let measured = targets::Measured {
        lines: &lines,
        creation: &creation,
        costs: &costs,
        families: &families,
        deltas: &deltas,
    };
    let targets = measured.targets();
    if options.json {
        let all = json!({"machine": pages::machine(), "comparison": report::to_json(&lines),
            "creation": creation::to_json(&creation), "memory": allocation::to_json(&costs),
            "growth": growth::to_json(&families), "hostile": growth::to_json(&hostile),
            "targets": targets::to_json(&targets)});
        println!("{all:#}");
    } else {
        let machine = format!("Measured on {}, best of {} rounds.\n", pages::machine(), options.rounds);
        let mut parts = vec![("machine", "Machine", machine)];
        parts.extend(comparison(&lines));
        parts.push(("creation", "Making a parser for one response", creation::to_markdown(&creation)));
        parts.push(("memory", "Memory of a streamed response", allocation::to_markdown(&costs)));
        parts.push(("growth", "Growth", growth::to_markdown("family", &families)));
        parts.push(("hostile", "Growth of hostile texts", growth::to_markdown("text", &hostile)));
        parts.push(("targets", "Targets", targets::to_markdown(&targets)));
        for (_, title, table) in parts.iter().filter(|(.., table)| table.lines().count() != 2) {
            println!("## {title}\n\n{table}");
        }
        if options.write {
            let mut parts: Vec<_> = parts.into_iter().map(|(part, _, table)| (part, table)).collect();
            parts.push(("speed", speed(&lines)));
            pages::write("docs/performance.md", &parts)?;
        }
    }
    Ok(())
}

/// Lets all contestants read a workload in these chunks.
fn line(workload: &Workload, pieces: &[&str], rounds: usize) -> Result<Line, Box<dyn Error>> {
    let streamed = pieces.len() > 1;
    let mut contestants = contestant::callgate(workload)?;
    #[cfg(feature = "peers")]
    contestants.extend(peers::all(workload, streamed)?);
    contestants.extend(floors::all(workload, streamed));
    let outcomes = stopwatch::race(&mut contestants, pieces, &workload.right, rounds);
    for (contestant, outcome) in contestants.iter().zip(&outcomes) {
        if let Outcome::Read { fault: Some(fault), .. } = outcome {
            let mode = if streamed { "streamed" } else { "whole" };
            eprintln!("  {}, {mode}: {}, {}", contestant.name, fault.kind, fault.detail);
        }
    }
    let outcomes = contestants.iter().map(|contestant| contestant.name).zip(outcomes).collect();
    Ok(Line { workload: workload.name, bytes: workload.text.len(), chunks: pieces.len(), outcomes })
}

/// The tables of the comparison: their marks in the documents, their titles and themselves.
fn comparison(lines: &[Line]) -> Vec<(&'static str, &'static str, String)> {
    let of = |names: &[&str], streamed: bool| -> Vec<&Line> {
        names.iter().filter_map(|name| find(lines, name, streamed)).collect()
    };
    let calls = ["W1", "W2", "W3", "W4", "W6"];
    let texts = ["W5", "marks"];
    let values = ["repair-100k", "valid-100k"];
    let both = ["W1", "W2", "W3", "W4", "W5", "W6", "marks"];
    let all = [&both[..], &values[..]].concat();
    // What borrowed events allocate is part of what the columns beside them do.
    let allocating: Vec<&str> =
        COLUMNS[..12].iter().copied().filter(|name| !name.contains("borrowed")).collect();
    vec![
        ("whole", "Whole", report::to_markdown(&of(&calls, false), &COLUMNS, Cell::Time)),
        ("streamed", "Streamed, per chunk", report::to_markdown(&of(&both, true), &COLUMNS, Cell::PerChunk)),
        ("text", "Text without a call", report::to_markdown(&of(&texts, false), &COLUMNS, Cell::Time)),
        ("json", "JSON, broken and valid", report::to_markdown(&of(&values, false), &COLUMNS, Cell::Time)),
        (
            "allocations",
            "Allocations of one whole reading, and the most it had alive",
            report::to_markdown(&of(&all, false), &allocating, Cell::Allocations),
        ),
    ]
}

/// The short table that the page begins with.
fn speed(lines: &[Line]) -> String {
    const ROWS: [(&str, bool, &str); 8] = [
        ("W1", false, "a sentence and a call of 200 bytes"),
        ("W2", false, "four calls of 1 KB"),
        ("W3", false, "one call with a string of 100 KB"),
        ("W4", false, "the same as XML tags"),
        ("W5", false, "64 KB of prose without a call"),
        ("W6", false, "four Python calls"),
        ("W3", true, "100 KB call streamed, per chunk"),
        ("W4", true, "the same as XML tags, per chunk"),
    ];
    let columns = ["callgate auto", "tool-parser", "dynamo-parsers", "dynamo-parsers-v2"];
    let mut table = String::from(
        "| | Callgate | `tool-parser` | `dynamo-parsers` | `dynamo-parsers-v2` |\n|---|--:|--:|--:|--:|\n",
    );
    for (workload, streamed, words) in ROWS {
        let Some(line) = find(lines, workload, streamed) else { continue };
        table.push_str(&format!("| {words} |"));
        for column in columns {
            let parts = if streamed { line.chunks as f64 } else { 1.0 };
            table.push_str(&match line.outcome(column) {
                None => " – |".to_owned(),
                Some(Outcome::GivenUp) => " given up |".to_owned(),
                Some(Outcome::Read { best, fault, .. }) => {
                    let fault = if fault.is_some() { " (wrong)" } else { "" };
                    format!(" {}{fault} |", report::shown(best / parts))
                }
            });
        }
        table.push('\n');
    }
    table
}
