//! `callgate detect`: which dialect a text is written in, and the flag that reads it.

use std::io::{self, Write};

use callgate::internal::detect::{Candidate, Detector};
use callgate::{Event, FinishReason, Gate, Record, Registry, Response};
use callgate_agent::model::{Body, FaultCode, ModelChunk};
use serde_json::{Value, json};

use crate::answer::{broken, likeness, no_json};
use crate::args::DetectArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, padded, visible};

/// How many of the dialects that read the same are named.
const ALSO: usize = 6;

pub(crate) fn run(args: &DetectArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let tools = args.tools.as_deref().map(input::tools).transpose()?;
    let bytes = input::read_bytes(&args.file)?;
    let input = String::from_utf8_lossy(&bytes);
    let read = match &args.input.field {
        None => Body::read(&input),
        Some(path) => {
            let name = input::name_of(&args.file);
            let value: Value = serde_json::from_str(&input).map_err(|_| no_json(&name, path))?;
            let bodies = Body::at_path(&value, &input, path);
            Ok(Some(bodies.map_err(|fault| broken(&name, &fault))?))
        }
    };
    // What holds no answer, or none that can be read, is looked at as text, and that is said.
    let note = match &read {
        Err(fault) if fault.code == FaultCode::ServerError => {
            Some(format!("this is an error of the server and no answer: {}", fault.message))
        }
        Ok(None) if !is_lines(&input) => likeness(&input).map(str::to_owned),
        _ => None,
    };
    if let Some(note) = note {
        // A remark only: the result is the same.
        let _ = writeln!(io::stderr(), "callgate: {}", visible(&note, Breaks::Show));
    }
    let body = read.ok().flatten().and_then(|bodies| bodies.into_iter().next());
    let given =
        body.map_or_else(|| Given { text: input.clone().into_owned(), ..Given::default() }, Given::of);
    let mut candidates = Detector::new(tools.clone()).detect_ended(&given.text, given.reason);
    // What reads a text may read less of all that was given: bytes that are no text, or calls beside it.
    if given.native || str::from_utf8(&bytes).is_err() {
        candidates.iter_mut().for_each(|one| hold(one, &given, &bytes, tools.as_ref()));
    }
    let by_model = prefer(&mut candidates, given.model.as_deref());
    if args.json {
        let native = given.native.then(|| json!({"dialect": "native", "flag": null, "why": STRUCTURED}));
        let rows: Vec<Value> = native.into_iter().chain(candidates.iter().map(row)).collect();
        writeln!(out, "{}", paint.json(&format!("{:#}", Value::Array(rows))))?;
    } else if given.native {
        writeln!(out, "{STRUCTURED}. `callgate parse` judges them.")?;
        if !candidates.is_empty() {
            writeln!(out)?;
            table(&candidates, by_model, paint, out)?;
        }
    } else if is_lines(&input) && !candidates.iter().any(|candidate| candidate.calls > 0) {
        writeln!(
            out,
            "These are lines of JSON with an answer in each; `callgate scan` reads them and says which dialect would."
        )?;
    } else {
        table(&candidates, by_model, paint, out)?;
    }
    Ok(Outcome::rejected_if(!given.native && !candidates.iter().any(|candidate| candidate.calls > 0)))
}

/// Takes back the calls that a dialect does not read where all that was given goes through a gate.
fn hold(candidate: &mut Candidate, given: &Given, bytes: &[u8], tools: Option<&Registry>) {
    let mut builder = Gate::builder().dialect(&candidate.dialect);
    if let Some(tools) = tools {
        builder = builder.tools(tools.clone());
    }
    let Ok(gate) = builder.build() else { return };
    let mut collector = Response::collector();
    let mut session = gate.session();
    let mut sink = |event: Event<'_>| collector.push(event);
    match &given.chunks {
        Some(chunks) => chunks.iter().for_each(|chunk| chunk.feed(&mut session, &mut sink)),
        None => session.push_bytes(bytes, &mut sink),
    }
    session.finish(given.reason, &mut sink);
    let response = collector.finish(given.reason);
    let calls = response.calls.iter().filter(|call| &*call.dialect != "native").count();
    if calls >= candidate.calls {
        return;
    }
    let findings = response.rejected.iter().filter(|rejected| &*rejected.dialect != "native");
    let code = findings.flat_map(|rejected| &rejected.findings).map(|finding| finding.code.word()).next();
    let lost = candidate.calls - calls;
    candidate.rejected += lost;
    candidate.calls = calls;
    candidate.valid = candidate.valid.min(calls);
    candidate.heard &= calls > 0;
    let why = code.map_or_else(String::new, |code| format!(" ({code})"));
    candidate.why = match calls {
        0 => format!("{} rejected{why}", count(candidate.rejected)),
        calls => format!("{}, {} rejected{why}", count(calls), count(candidate.rejected)),
    };
}

fn count(calls: usize) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}

/// What is said of a body with calls that are not in its text.
const STRUCTURED: &str = "The body holds structured calls, which no dialect is needed for";

/// What is looked at: a text, or the body of a server with it.
#[derive(Default)]
struct Given {
    text: String,
    reason: FinishReason,
    model: Option<String>,
    /// Whether there are calls beside the text.
    native: bool,
    /// All that a body holds.
    chunks: Option<Vec<ModelChunk>>,
}

impl Given {
    fn of(body: Body) -> Self {
        let is_call = |chunk: &ModelChunk| matches!(chunk, ModelChunk::Calls(_) | ModelChunk::Delta { .. });
        let native = body.chunks.iter().any(is_call);
        let texts = body.chunks.iter();
        let texts = texts
            .filter_map(|chunk| if let ModelChunk::Text(text) = chunk { Some(text.as_str()) } else { None });
        let text = texts.collect();
        Given { text, reason: body.reason, model: body.model, native, chunks: Some(body.chunks) }
    }
}

/// Puts the dialect of the model first, if it is among those that read the text; whether it is.
fn prefer(candidates: &mut [Candidate], model: Option<&str>) -> bool {
    let Some(record) = model.and_then(Record::for_model) else { return false };
    let name = record.name.to_string();
    let reads = |one: &Candidate| one.calls > 0 && (one.dialect == name || one.also.contains(&name));
    let Some(place) = candidates.iter().position(reads) else { return false };
    candidates[..=place].rotate_right(1);
    if let Some(best) = candidates.first_mut().filter(|best| best.dialect != name) {
        best.also.retain(|other| *other != name);
        best.also.insert(0, std::mem::replace(&mut best.dialect, name));
    }
    true
}

/// Whether the first of the lines is one that holds an answer.
fn is_lines(input: &str) -> bool {
    let first = input.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty());
    let value = first.and_then(|line| serde_json::from_str::<Value>(line).ok()).unwrap_or_default();
    let keys = ["text", "chunks", "tool_calls", "messages", "choices", "response"];
    keys.iter().any(|key| value.get(key).is_some())
}

/// The flag that makes `parse` and `scan` read what a dialect reads.
pub(crate) fn flag(dialect: &str) -> String {
    format!("--dialect {dialect}")
}

fn row(candidate: &Candidate) -> Value {
    let mut row = json!(candidate);
    row["flag"] = Value::from(flag(&candidate.dialect));
    row
}

fn table(candidates: &[Candidate], by_model: bool, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
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
        let how = match (best.heard, by_model) {
            (true, _) => "It is read without a flag; to read nothing else: ",
            (false, true) => "It is read by the name of its model; without that: ",
            (false, false) => "Read it with: ",
        };
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
