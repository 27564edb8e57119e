//! `callgate detect`: which dialect a text is written in, and the flag that reads it.

use std::io::Write;

use callgate::internal::detect::{Candidate, Detector};
use callgate_agent::model::{Body, ModelChunk};
use serde_json::{Value, json};

use crate::args::DetectArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Paint, Tone, padded};

/// How many of the dialects that read the same are named.
const ALSO: usize = 6;

pub(crate) fn run(args: &DetectArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let tools = args.tools.as_deref().map(input::tools).transpose()?;
    let bytes = input::read_bytes(&args.file)?;
    let text = text_of(&String::from_utf8_lossy(&bytes));
    let candidates = Detector::new(tools).detect(&text);
    if args.json {
        let rows: Vec<Value> = candidates.iter().map(row).collect();
        writeln!(out, "{}", paint.json(&format!("{:#}", Value::Array(rows))))?;
    } else {
        table(&candidates, paint, out)?;
    }
    Ok(Outcome::rejected_if(!candidates.iter().any(|candidate| candidate.calls > 0)))
}

/// The flag that makes `parse` and `scan` read what a dialect reads.
pub(crate) fn flag(dialect: &str) -> String {
    format!("--dialect {dialect}")
}

/// The text of the model, if the input is the body of a server.
fn text_of(input: &str) -> String {
    let Ok(Some(bodies)) = Body::read(input) else { return input.to_owned() };
    let chunks = bodies.into_iter().take(1).flat_map(|body| body.chunks);
    chunks.filter_map(|chunk| if let ModelChunk::Text(text) = chunk { Some(text) } else { None }).collect()
}

fn row(candidate: &Candidate) -> Value {
    let mut row = json!(candidate);
    row["flag"] = Value::from(flag(&candidate.dialect));
    row
}

fn table(candidates: &[Candidate], paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    let Some(best) = candidates.first() else {
        writeln!(
            out,
            "No dialect reads a call in this text. `callgate dialects` lists the formats that are known."
        )?;
        return Ok(());
    };
    for candidate in candidates {
        let name = paint.tone(Tone::Accent, padded(&candidate.dialect, 24));
        writeln!(out, "{name}{}", candidate.why)?;
        if !candidate.also.is_empty() {
            let named: Vec<&str> = candidate.also.iter().take(ALSO).map(String::as_str).collect();
            let more = candidate.also.len() - named.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let also = format!("{:24}the same as {}{more}", "", named.join(", "));
            writeln!(out, "{}", paint.tone(Tone::Grey, also))?;
        }
    }
    if best.calls > 0 {
        let how =
            if best.heard { "It is read without a flag; to read nothing else: " } else { "Read it with: " };
        writeln!(out, "\n{how}{}", paint.tone(Tone::Good, flag(&best.dialect)))?;
    } else {
        writeln!(
            out,
            "\nEverything that looks like a call is rejected; `callgate parse {}` says why.",
            flag(&best.dialect)
        )?;
    }
    Ok(())
}
