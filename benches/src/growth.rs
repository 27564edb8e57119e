//! Growth: the time of ever longer streams, per family of dialects and for texts that invite repeated work.

use std::error::Error;
use std::time::Duration;

use callgate::dialect::{self, RenderCall};
use serde_json::{Value, json};

use crate::contestant::{feed, gate};
use crate::report::shown;
use crate::stopwatch::time;
use crate::workload::{chunks, source_text};

/// The lengths that are measured, in bytes.
pub const SIZES: [usize; 4] = [10 << 10, 100 << 10, 1 << 20, 10 << 20];

/// One dialect per structural family.
const FAMILIES: [&str; 9] = [
    "hermes",
    "mistral",
    "deepseek-v31",
    "qwen3-coder",
    "glm45",
    "pythonic",
    "gemma4",
    "harmony",
    "json-bare",
];

/// Texts that make a careless reader start over: what they are, their dialect, and head, repeated part and tail.
const HOSTILE: [(&str, &str, [&str; 3]); 10] = [
    ("openers", "auto", ["", "<tool_call>", ""]),
    ("openers on lines", "auto", ["", "<tool_call>\n", ""]),
    ("less-than signs", "auto", ["", "<", ""]),
    ("open braces", "hermes", ["<tool_call>\n", "{", ""]),
    ("open keys", "hermes", ["<tool_call>\n{\"name\": \"run\", \"arguments\": ", "{\"a\":", ""]),
    (
        "closers in a string",
        "hermes",
        [
            "<tool_call>\n{\"name\": \"run\", \"arguments\": {\"command\": \"",
            "</tool_call> ",
            "\"}}\n</tool_call>",
        ],
    ),
    (
        "bare quotes in a string",
        "hermes",
        [
            "<tool_call>\n{\"name\": \"run\", \"arguments\": {\"command\": \"",
            "say \"x\" ",
            "\"}}\n</tool_call>",
        ],
    ),
    (
        "closers in a value",
        "qwen3-coder",
        [
            "<tool_call>\n<function=run>\n<parameter=command>\n",
            "</parameter>\nx",
            "\n</parameter>\n</function>\n</tool_call>",
        ],
    ),
    ("backticks", "auto", ["", "` ", ""]),
    ("quotes after a bracket", "pythonic", ["[run(command='", "\\'x\"", "')]"]),
];

/// The times of one row; a length that was given up, and those after it, have none.
pub struct Row {
    pub name: String,
    pub dialect: String,
    pub times: Vec<Option<Duration>>,
    /// Whether the calls that came out are as many as there should be; nothing where no number is right.
    pub right: Option<bool>,
}

impl Row {
    /// The power of the length that the time grows with, between the second length and the last one measured.
    pub fn exponent(&self) -> Option<f64> {
        let last = self.times.iter().rposition(Option::is_some).filter(|last| *last > 1)?;
        let (from, to) = ((*self.times.get(1)?)?, (*self.times.get(last)?)?);
        Some((to.as_secs_f64() / from.as_secs_f64()).ln() / (SIZES[last] as f64 / SIZES[1] as f64).ln())
    }
}

/// A response in this dialect with one call that writes a file of about this size.
pub fn written_in(dialect: &str, size: usize) -> Result<String, Box<dyn Error>> {
    let record = dialect::named(dialect).ok_or("no such dialect")?;
    let arguments = json!({"path": "src/lib.rs", "content": source_text(size * 6 / 7)}).to_string();
    let call = RenderCall { id: Some("call_1"), name: "write_file", arguments: &arguments };
    Ok(record.render(&[call], None, None)?)
}

/// Measures all families.
pub fn families(rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for dialect in FAMILIES {
        let mut texts = Vec::new();
        for size in SIZES {
            texts.push(written_in(dialect, size)?);
        }
        let family = dialect::named(dialect).map_or('-', |record| record.family);
        rows.push(row(format!("{family}"), dialect, &texts, Some(1), rounds)?);
    }
    Ok(rows)
}

/// Measures the hostile texts, up to 1 MB.
pub fn hostile(rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (name, dialect, [head, part, tail]) in HOSTILE {
        let text = |size: &usize| format!("{head}{}{tail}", part.repeat(size / part.len()));
        let texts: Vec<String> = SIZES[..3].iter().map(text).collect();
        rows.push(row(name.to_owned(), dialect, &texts, None, rounds)?);
    }
    Ok(rows)
}

fn row(
    name: String,
    dialect: &str,
    texts: &[String],
    calls: Option<usize>,
    rounds: usize,
) -> Result<Row, Box<dyn Error>> {
    let gate = gate(dialect)?;
    let mut right = calls.map(|_| true);
    let mut times = Vec::new();
    for text in texts {
        let pieces = chunks(text, 4);
        let mut best: Option<Duration> = None;
        // A long run averages its own noise, so long texts need few rounds.
        let rounds = rounds.min((4 << 20) / text.len()).max(1);
        for _ in 0..rounds {
            let mut found = 0;
            let mut session = gate.session();
            let (done, took) = time(|| {
                feed(&mut session, &pieces, &mut |event| {
                    found += usize::from(matches!(event, callgate::Event::Call(_)))
                })
            });
            if !done {
                best = None;
                break;
            }
            if calls.is_some_and(|calls| calls != found) {
                right = Some(false);
            }
            best = Some(best.map_or(took, |best| best.min(took)));
        }
        times.push(best);
        if best.is_none() {
            break;
        }
    }
    Ok(Row { name, dialect: dialect.to_owned(), times, right })
}

/// The rows as JSON.
pub fn to_json(rows: &[Row]) -> Value {
    let row = |row: &Row| {
        let nanoseconds: Vec<Option<u128>> =
            row.times.iter().map(|time| time.map(|time| time.as_nanos())).collect();
        json!({"name": row.name, "dialect": row.dialect, "sizes": SIZES[..row.times.len()],
            "nanoseconds": nanoseconds, "exponent": row.exponent(), "right": row.right})
    };
    rows.iter().map(row).collect()
}

/// The rows as a table.
pub fn to_markdown(first: &str, rows: &[Row]) -> String {
    let lengths = rows.iter().map(|row| row.times.len()).max().unwrap_or_default();
    let heads: String =
        ["10 KB", "100 KB", "1 MB", "10 MB"][..lengths].iter().map(|size| format!(" {size} |")).collect();
    let mut table = format!(
        "| {first} | dialect |{heads} exponent | MB/s | |\n|---|---|{}--:|--:|---|\n",
        "--:|".repeat(lengths)
    );
    for row in rows {
        table.push_str(&format!("| {} | {} |", row.name, row.dialect));
        for at in 0..lengths {
            let cell = match row.times.get(at) {
                Some(Some(time)) => shown(*time),
                Some(None) => "given up".to_owned(),
                None => "–".to_owned(),
            };
            table.push_str(&format!(" {cell} |"));
        }
        let speed = row
            .times
            .iter()
            .zip(SIZES)
            .filter_map(|(time, size)| Some(size as f64 / time.as_ref()?.as_secs_f64() / 1e6));
        let exponent = row.exponent().map_or("–".to_owned(), |exponent| format!("{exponent:.2}"));
        let speed = speed.last().map_or("–".to_owned(), |speed| format!("{speed:.1}"));
        let verdict = match row.right {
            Some(true) => "ok",
            Some(false) => "**wrong**",
            None => "",
        };
        table.push_str(&format!(" {exponent} | {speed} | {verdict} |\n"));
    }
    table
}
