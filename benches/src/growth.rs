//! Growth: the time of ever longer streams, per family of dialects and for texts that invite repeated work.

use std::error::Error;

use callgate::{Record, RenderCall};
use serde_json::{Value, json};

use crate::contestant::{feed, gate};
use crate::floors::stream;
use crate::report::shown;
use crate::stopwatch::{fastest, time};
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
const HOSTILE: [(&str, &str, [&str; 3]); 20] = [
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
    ("openers in capitals", "auto", ["", "<TOOL_CALL>", ""]),
    ("openers with spaces", "auto", ["", "< tool_call >", ""]),
    ("closers without a call", "auto", ["", "</tool_call>", ""]),
    ("openers of other widths", "auto", ["", "<|tool▁calls▁begin|>", ""]),
    ("names of tools", "auto", ["", "run( ", ""]),
    ("names of tools in tags", "cline-xml", ["", "<Run><command>", ""]),
    ("attributes", "anthropic-xml", ["<function_calls>\n<invoke name=\"run\"", " a=\"b\"", ">"]),
    (
        "closers twice",
        "qwen3-coder",
        ["<tool_call>\n<function=run>\n<parameter=command>\nls", "</parameter>", "</function></tool_call>"],
    ),
    (
        "openers in a value",
        "qwen3-coder",
        [
            "<tool_call>\n<function=run>\n<parameter=command>\n",
            "<parameter=command>x ",
            "\n</parameter>\n</function>\n</tool_call>",
        ],
    ),
    (
        "typographic quotes",
        "hermes",
        ["<tool_call>\n{\"name\": \"run\", \"arguments\": {\"command\": “", "say ”x“ ", "”}}\n</tool_call>"],
    ),
    ("quotes after a bracket", "pythonic", ["[run(command='", "\\'x\"", "')]"]),
];

/// The times of one row; a length that was given up, and those after it, have none.
pub struct Row {
    pub name: String,
    pub dialect: String,
    pub mode: &'static str,
    pub bytes: Vec<usize>,
    /// In nanoseconds.
    pub times: Vec<Option<f64>>,
    /// Whether the calls that came out are as many as there should be; nothing where no number is right.
    pub right: Option<bool>,
}

impl Row {
    /// The power of the length that the time grows with, between the first length and the last one measured.
    pub fn exponent(&self) -> Option<f64> {
        let last = self.times.iter().rposition(Option::is_some).filter(|last| *last > 0)?;
        let (from, to) = ((*self.times.first()?)?, (*self.times.get(last)?)?);
        Some((to / from).ln() / (*self.bytes.get(last)? as f64 / *self.bytes.first()? as f64).ln())
    }

    /// The speed at the longest text, in millions of bytes per second.
    fn speed(&self) -> Option<f64> {
        let speeds = self.times.iter().zip(&self.bytes);
        speeds.filter_map(|(time, bytes)| Some(*bytes as f64 / (*time)? * 1e3)).last()
    }
}

/// A response in this dialect with one call that writes a file of about this size.
pub fn written_in(dialect: &str, size: usize) -> Result<String, Box<dyn Error>> {
    let record = Record::named(dialect).ok_or("no such dialect")?;
    let arguments = json!({"path": "src/lib.rs", "content": source_text(size * 6 / 7)}).to_string();
    let call = RenderCall { id: Some("call_1"), name: "write_file", arguments: &arguments };
    Ok(record.render(&[call], None, None)?)
}

/// Measures all families, whole and streamed.
pub fn families(rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for dialect in FAMILIES {
        let mut texts = Vec::new();
        for size in SIZES {
            texts.push(written_in(dialect, size)?);
        }
        let family = Record::named(dialect).map_or('-', |record| record.family);
        for mode in ["whole", "streamed"] {
            rows.push(row(format!("{family}"), dialect, mode, &texts, Some(1), rounds)?);
        }
    }
    rows.push(floor(rounds)?);
    Ok(rows)
}

/// Measures the hostile texts, up to 1 MB.
pub fn hostile(rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (name, dialect, [head, part, tail]) in HOSTILE {
        let text = |size: &usize| format!("{head}{}{tail}", part.repeat(size / part.len()));
        let texts: Vec<String> = SIZES[..3].iter().map(text).collect();
        rows.push(row(name.to_owned(), dialect, "streamed", &texts, None, rounds)?);
    }
    Ok(rows)
}

/// The streaming floor at the same lengths: what caches and the list of chunks do to the exponent by themselves.
fn floor(rounds: usize) -> Result<Row, Box<dyn Error>> {
    let mut row = Row {
        name: "–".to_owned(),
        dialect: "floor".to_owned(),
        mode: "streamed",
        bytes: Vec::new(),
        times: Vec::new(),
        right: None,
    };
    for size in SIZES {
        let text = written_in("hermes", size)?;
        let pieces = chunks(&text);
        let times = ((1 << 20) / text.len()).clamp(1, 8) as u32;
        let best =
            (0..rounds).map(|_| fastest(times, || drop(stream(&pieces)))).fold(f64::INFINITY, f64::min);
        row.bytes.push(text.len());
        row.times.push(Some(best));
    }
    Ok(row)
}

fn row(
    name: String,
    dialect: &str,
    mode: &'static str,
    texts: &[String],
    calls: Option<usize>,
    rounds: usize,
) -> Result<Row, Box<dyn Error>> {
    let gate = gate(dialect)?;
    let mut right = calls.map(|_| true);
    let pieces: Vec<Vec<&str>> =
        texts.iter().map(|text| if mode == "whole" { vec![&**text] } else { chunks(text) }).collect();
    let mut times: Vec<Option<f64>> = vec![Some(f64::INFINITY); texts.len()];
    // The lengths take turns, so that a slow moment of the machine does not hit one of them alone.
    for round in 0..rounds {
        for (pieces, (text, best)) in pieces.iter().zip(texts.iter().zip(&mut times)) {
            let Some(best) = best.as_mut() else { continue };
            // A long run averages its own noise, so it needs fewer rounds; a short one is repeated.
            if round > 2 && text.len() > 4 << 20 {
                continue;
            }
            for _ in 0..((1 << 20) / text.len()).clamp(1, 8) {
                let mut found = 0;
                let (done, took) = time(|| {
                    feed(gate.session(), pieces, &mut |event| {
                        found += usize::from(matches!(event, callgate::Event::Call(_)))
                    })
                });
                *best = if done { best.min(took.as_nanos() as f64) } else { f64::NAN };
                if calls.is_some_and(|calls| calls != found) {
                    right = Some(false);
                }
            }
        }
        // One that was given up is not tried again.
        times.iter_mut().for_each(|time| *time = time.filter(|time| !time.is_nan()));
    }
    let bytes = texts.iter().map(String::len).collect();
    Ok(Row { name, dialect: dialect.to_owned(), mode, bytes, times, right })
}

/// The rows as JSON.
pub fn to_json(rows: &[Row]) -> Value {
    let row = |row: &Row| {
        json!({"name": row.name, "dialect": row.dialect, "mode": row.mode, "bytes": row.bytes,
            "nanoseconds": row.times, "exponent": row.exponent(), "right": row.right})
    };
    rows.iter().map(row).collect()
}

/// The rows as a table.
pub fn to_markdown(first: &str, rows: &[Row]) -> String {
    let lengths = rows.iter().map(|row| row.times.len()).max().unwrap_or_default();
    let heads: String =
        ["10 KB", "100 KB", "1 MB", "10 MB"][..lengths].iter().map(|size| format!(" {size} |")).collect();
    let mut table = format!(
        "| {first} | dialect | fed |{heads} exponent | MB/s | |\n|---|---|---|{}--:|--:|---|\n",
        "--:|".repeat(lengths)
    );
    for row in rows {
        table.push_str(&format!("| {} | {} | {} |", row.name, row.dialect, row.mode));
        for time in &row.times {
            table.push_str(&format!(" {} |", time.map_or("given up".to_owned(), shown)));
        }
        let exponent = row.exponent().map_or("–".to_owned(), |exponent| format!("{exponent:.3}"));
        let speed = row.speed().map_or("–".to_owned(), |speed| format!("{speed:.1}"));
        let verdict = match row.right {
            Some(true) => "right",
            Some(false) => "**wrong**",
            None => "",
        };
        table.push_str(&format!(" {exponent} | {speed} | {verdict} |\n"));
    }
    table
}
