//! Repairs: what becomes of damaged documents here and with other repairers, and how long it takes.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use callgate::Safety;
use serde_json::{Value, json};

use crate::damage::{self, Damaged, Grade};
use crate::report;

/// How deep JSON may be.
const DEPTH: usize = 128;

/// How often a repairer of this process reads everything; the best time counts.
const ROUNDS: usize = 5;

pub struct Options {
    /// How many damaged documents of each corpus are repaired.
    pub count: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { count: 5000 }
    }
}

/// What a repairer made of a corpus, and how long it took.
struct Repairs {
    results: Vec<Option<String>>,
    time: Duration,
}

/// How much of one kind of damage a repairer undoes.
struct Share {
    name: String,
    right: usize,
    count: usize,
}

/// Repairs all texts; nothing if it cannot be run here.
type Repair = Box<dyn Fn(&[&str]) -> Option<(String, Repairs)>>;

/// The tables: how good and how fast each repairer is, and how many of each kind of damage it undoes.
pub fn run(options: &Options) -> Result<Vec<(&'static str, String)>, Box<dyn Error>> {
    // A repairer that panics has refused.
    std::panic::set_hook(Box::new(|_| {}));
    let mut accuracy = String::from(
        "| repairer | strings | right | contained | spread | refused | mean time |\n|---|---|--:|--:|--:|--:|--:|\n",
    );
    let mut kinds: BTreeMap<(&str, bool), Vec<Share>> = BTreeMap::new();
    let mut names: Vec<String> = Vec::new();
    let mut missing = Vec::new();
    for rich in [false, true] {
        let corpus = damage::corpus(rich, options.count);
        let texts: Vec<&str> = corpus.iter().map(|damaged| damaged.text.as_str()).collect();
        for (name, repair) in repairers() {
            eprintln!("{name}, {} strings", if rich { "rich" } else { "plain" });
            let Some((version, repairs)) = repair(&texts) else {
                eprintln!("  SKIPPED: {name} cannot be run here; benches/README.md says how to install it");
                if !missing.contains(&name) {
                    missing.push(name);
                }
                continue;
            };
            let name = format!("{name} {version}").trim_end().to_owned();
            let grades: Vec<Grade> = grades(&corpus, &repairs);
            let share = |grade: Grade| {
                let count = grades.iter().filter(|other| **other == grade).count();
                format!("{:.1} %", 100.0 * count as f64 / grades.len() as f64)
            };
            let strings = if rich { "rich" } else { "plain" };
            accuracy.push_str(&format!("| {name} | {strings} |"));
            for grade in Grade::ALL {
                accuracy.push_str(&format!(" {} |", share(grade)));
            }
            let mean = repairs.time.as_secs_f64() * 1e9 / texts.len() as f64;
            accuracy.push_str(&format!(" {} |\n", report::shown(mean)));
            for (damaged, grade) in corpus.iter().zip(&grades) {
                let row = kinds.entry((damaged.kind, rich)).or_default();
                if row.last().is_none_or(|share| share.name != name) {
                    row.push(Share { name: name.clone(), right: 0, count: 0 });
                }
                if let Some(share) = row.last_mut() {
                    share.right += usize::from(*grade == Grade::Right);
                    share.count += 1;
                }
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    if !missing.is_empty() {
        accuracy
            .push_str(&format!("\nNot measured, because it was not installed: {}.\n", missing.join(", ")));
    }
    let mut by_kind = format!("| damage | strings | n | {} |\n|---|---|--:|", names.join(" | "));
    by_kind.push_str(&"--:|".repeat(names.len()));
    by_kind.push('\n');
    for ((kind, rich), row) in &kinds {
        let strings = if *rich { "rich" } else { "plain" };
        let count = row.first().map_or(0, |share| share.count);
        by_kind.push_str(&format!("| {kind} | {strings} | {count} |"));
        for name in &names {
            by_kind.push_str(&match row.iter().find(|share| share.name == *name) {
                Some(share) => format!(" {:.1} |", 100.0 * share.right as f64 / share.count as f64),
                None => " – |".to_owned(),
            });
        }
        by_kind.push('\n');
    }
    Ok(vec![("repair-accuracy", accuracy), ("repair-kinds", by_kind)])
}

fn grades(corpus: &[Damaged], repairs: &Repairs) -> Vec<Grade> {
    corpus
        .iter()
        .zip(&repairs.results)
        .map(|(damaged, result)| Grade::of(&damaged.right, result.as_deref()))
        .collect()
}

fn repairers() -> Vec<(&'static str, Repair)> {
    let callgate = |strict: bool| {
        move |text: &str| {
            let repaired = callgate::repair(text, DEPTH).ok()?;
            let is_guess = repaired.repairs.iter().any(|repair| repair.safety == Safety::Guess);
            (!(strict && is_guess)).then_some(repaired.text)
        }
    };
    let mut all: Vec<(&'static str, Repair)> = vec![
        ("**callgate**", here("", callgate(false))),
        ("**callgate**, only lossless", here("", callgate(true))),
    ];
    #[cfg(feature = "repairers")]
    {
        all.push(("jsonrepair-rs", here("0.2.6", |text| jsonrepair_rs::jsonrepair(text).ok())));
        all.push(("llm_json", here("1.0.3", |text| llm_json::repair_json(text, &Default::default()).ok())));
    }
    #[cfg(not(feature = "repairers"))]
    for name in ["jsonrepair-rs", "llm_json"] {
        all.push((name, Box::new(|_| None)));
    }
    all.push(("json_repair (Python)", elsewhere("PYTHON", "python3", &["-c", IN_PYTHON])));
    all.push(("jsonrepair (npm)", elsewhere("NODE", "node", &["-e", IN_NODE])));
    all
}

/// A repairer of this process.
fn here(version: &'static str, repair: impl Fn(&str) -> Option<String> + 'static) -> Repair {
    Box::new(move |texts| {
        let once = || {
            let start = Instant::now();
            let each = texts.iter().map(|text| catch_unwind(AssertUnwindSafe(|| repair(text))));
            let results = each.map(Result::unwrap_or_default).collect();
            Repairs { results, time: start.elapsed() }
        };
        let best = (0..ROUNDS).map(|_| once()).min_by_key(|repairs| repairs.time)?;
        Some((version.to_owned(), best))
    })
}

const IN_PYTHON: &str = "
import importlib.metadata, json, sys, time
from json_repair import repair_json
results, spent = [], 0
for text in json.load(sys.stdin):
    start = time.perf_counter_ns()
    try:
        result = repair_json(text)
    except Exception:
        result = None
    spent += time.perf_counter_ns() - start
    results.append(result and result.encode('utf-8', 'replace').decode())
json.dump({'version': importlib.metadata.version('json_repair'), 'results': results, 'nanoseconds': spent}, sys.stdout)
";

const IN_NODE: &str = "
const fs = require('fs'), path = require('path')
const { jsonrepair } = require('jsonrepair')
let folder = path.dirname(require.resolve('jsonrepair'))
while (!fs.existsSync(path.join(folder, 'README.md'))) folder = path.dirname(folder)
const version = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).version
const results = []
let spent = 0n
for (const text of JSON.parse(fs.readFileSync(0, 'utf8'))) {
  const start = process.hrtime.bigint()
  let result = null
  try { result = jsonrepair(text) } catch {}
  spent += process.hrtime.bigint() - start
  results.push(result && result.toWellFormed())
}
process.stdout.write(JSON.stringify({ version, results, nanoseconds: Number(spent) }))
";

/// A repairer of another language, by an interpreter that a variable may name. Its time is what it measured itself, without
/// its start and without reading the texts.
fn elsewhere(variable: &'static str, usual: &'static str, arguments: &'static [&'static str]) -> Repair {
    Box::new(move |texts| {
        let program = std::env::var(variable).unwrap_or_else(|_| usual.to_owned());
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut input = child.stdin.take()?;
        let sent = json!(texts).to_string();
        // It reads all before it writes, so that nobody waits for the other. One that is not there closes its end.
        let _ = input.write_all(sent.as_bytes());
        drop(input);
        let output = child.wait_with_output().ok()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            eprintln!("  {}", said.trim().lines().last().unwrap_or_default());
            return None;
        }
        let answer: Value = serde_json::from_slice(&output.stdout).ok()?;
        let results = answer["results"].as_array()?.iter();
        let results = results.map(|result| result.as_str().map(str::to_owned)).collect();
        let time = Duration::from_nanos(answer["nanoseconds"].as_u64()?);
        Some((answer["version"].as_str().unwrap_or_default().to_owned(), Repairs { results, time }))
    })
}
