//! The events that the crate gives for every fixture: whole, in pieces of characters, and in pieces of bytes.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use callgate::{Event, FinishReason, Gate, Registry, Response};
use serde_json::{Value, json};

/// How many characters or bytes a piece has. The tests cut alike.
const CHARS: usize = 7;
const BYTES: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("give the folder of the fixtures")?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut dialects: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    dialects.sort_by_key(|entry| entry.file_name());
    for dialect in dialects {
        let name = dialect.file_name().to_string_lossy().into_owned();
        let mut files: Vec<_> = fs::read_dir(dialect.path())?.collect::<Result<_, _>>()?;
        files.sort_by_key(|entry| entry.file_name());
        // The compiled dialect serves all its fixtures.
        let mut compiled: Option<Gate> = None;
        for file in files {
            for line in fs::read_to_string(file.path())?.lines() {
                let row: Value = serde_json::from_str(line)?;
                let tools = Registry::from_value(&row["tools"])?;
                let gate = match &compiled {
                    Some(gate) => gate.with_tools(tools),
                    None => Gate::builder().tools(tools).dialect(&name).build()?,
                };
                writeln!(out, "{}", events(&gate, &name, &row)?)?;
                compiled = Some(gate);
            }
        }
    }
    Ok(())
}

fn events(gate: &Gate, dialect: &str, row: &Value) -> Result<Value, Box<dyn Error>> {
    let text = row["text"].as_str().ok_or("a fixture without text")?;
    let tail = row["prompt_tail"].as_str();
    let chars: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = chars.chunks(CHARS).map(|piece| piece.iter().collect()).collect();
    let pieces = pieces.iter().map(String::as_bytes).collect::<Vec<_>>();
    let cuts = text.as_bytes().chunks(BYTES).collect::<Vec<_>>();
    let (whole, response) = read(gate, tail, &[text.as_bytes()]);
    Ok(json!({
        "dialect": dialect,
        "row": row,
        "whole": whole,
        "pieces": read(gate, tail, &pieces).0,
        "bytes": read(gate, tail, &cuts).0,
        "response": serde_json::to_string(&response)?,
        "feedback": gate.profile().feedback(&response, gate.registry()),
    }))
}

/// The events as lines of JSON, since a value would lose digits and order.
fn read(gate: &Gate, tail: Option<&str>, pieces: &[&[u8]]) -> (Vec<String>, Response) {
    let mut session = gate.session();
    if let Some(tail) = tail {
        session = session.with_prompt_tail(tail);
    }
    let mut lines = Vec::new();
    let mut collector = Response::collector();
    let mut sink = |event: Event<'_>| {
        lines.push(serde_json::to_string(&event).unwrap_or_default());
        collector.push(event);
    };
    for piece in pieces {
        session.push_bytes(piece, &mut sink);
    }
    session.finish(FinishReason::Stop, &mut sink);
    (lines, collector.finish(FinishReason::Stop))
}
