//! What the crate itself says about every fixture, for the tests to compare with: `reference FOLDER` reads the samples of the dialects, the
//! cases of the documents and the failures from the field, whole, in pieces of characters and in pieces of bytes.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use callgate::{Event, FinishReason, Gate, Profile, Registry, Response};
use serde_json::{Value, json};

/// How many characters or bytes a piece has. The tests cut alike.
const CHARS: usize = 7;
const BYTES: usize = 5;

/// A text, and what it is read with.
struct Case {
    name: String,
    /// The option of the gate: `dialect` or `profile`, and its value.
    option: (&'static str, String),
    tools: Value,
    text: String,
    prompt_tail: Option<String>,
    tool_calls: Option<Value>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("give the folder of the fixtures")?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    // What was compiled serves all tool lists.
    let mut compiled: BTreeMap<(&str, String), Gate> = BTreeMap::new();
    for case in cases(&folder)? {
        let tools = Registry::tolerant(&case.tools)?;
        let gate = match compiled.get(&case.option) {
            Some(gate) => gate.with_tools(tools),
            None => match &case.option {
                ("dialect", name) => Gate::builder().tools(tools).dialect(name).build()?,
                (_, name) => {
                    let profile = Profile::named(name).ok_or("a profile that there is not")?;
                    Gate::builder().profile(profile).tools(tools).build()?
                }
            },
        };
        writeln!(out, "{}", said(&gate, &case)?)?;
        compiled.insert(case.option, gate);
    }
    Ok(())
}

fn cases(folder: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    let mut cases = Vec::new();
    for dialect in listed(&folder.join("dialects"))? {
        let name = dialect.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for row in listed(&dialect)?.iter().map(|file| rows(file)).collect::<Result<Vec<_>, _>>()?.concat() {
            cases.extend(case(&row, &row["case"], ("dialect", name.clone()), &row["text"]));
        }
    }
    for row in rows(&folder.join("seed_cases.jsonl"))? {
        let profile = ("profile", string(&row["profile"]).unwrap_or_default());
        let (input, id) = (&row["input"], &row["id"]);
        cases.extend(case(&row, id, profile.clone(), &input["text"]));
        let chunks: String =
            input["chunks"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        cases.extend(
            case(&row, id, profile.clone(), &Value::from(chunks)).filter(|case| !case.text.is_empty()),
        );
        if input["tool_calls"].is_array() {
            let native = case(&row, id, profile, &Value::from(""));
            cases.extend(native.map(|case| Case { tool_calls: Some(input["tool_calls"].clone()), ..case }));
        }
    }
    for row in rows(&folder.join("failures.jsonl"))?.iter().filter(|row| row["input_kind"] == "text") {
        let dialect = ("dialect", string(&row["dialect"]).unwrap_or_default());
        cases.extend(case(row, &row["id"], dialect, &row["raw"]));
    }
    Ok(cases)
}

fn case(row: &Value, name: &Value, option: (&'static str, String), text: &Value) -> Option<Case> {
    Some(Case {
        name: string(name).unwrap_or_default(),
        option,
        tools: row["tools"].clone(),
        text: string(text)?,
        prompt_tail: string(&row["prompt_tail"]),
        tool_calls: None,
    })
}

fn string(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn listed(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort();
    Ok(paths)
}

fn rows(file: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    Ok(fs::read_to_string(file)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn said(gate: &Gate, case: &Case) -> Result<Value, Box<dyn Error>> {
    let chars: Vec<char> = case.text.chars().collect();
    let pieces: Vec<String> = chars.chunks(CHARS).map(|piece| piece.iter().collect()).collect();
    let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
    let cuts: Vec<&[u8]> = case.text.as_bytes().chunks(BYTES).collect();
    let (whole, response) = read(gate, case, &[case.text.as_bytes()]);
    Ok(json!({
        "case": case.name,
        "options": {case.option.0: case.option.1},
        "tools": case.tools,
        "text": case.text,
        "promptTail": case.prompt_tail,
        "toolCalls": case.tool_calls.as_ref().map(Value::to_string),
        "whole": whole,
        "pieces": read(gate, case, &pieces).0,
        "bytes": read(gate, case, &cuts).0,
        "response": serde_json::to_string(&response)?,
        "feedback": gate.profile().feedback(&response, gate.registry()),
    }))
}

/// The events as JSON texts, since a value would lose digits and order.
fn read(gate: &Gate, case: &Case, pieces: &[&[u8]]) -> (Vec<String>, Response) {
    let mut session = gate.session();
    if let Some(tail) = &case.prompt_tail {
        session = session.with_prompt_tail(tail);
    }
    let mut texts = Vec::new();
    let mut collector = Response::collector();
    let mut sink = |event: Event<'_>| {
        texts.push(serde_json::to_string(&event).unwrap_or_default());
        collector.push(event);
    };
    for piece in pieces {
        session.push_bytes(piece, &mut sink);
    }
    if let Some(calls) = &case.tool_calls {
        session.native_calls_text(&calls.to_string(), &mut sink);
    }
    session.finish(FinishReason::Stop, &mut sink);
    (texts, collector.finish(FinishReason::Stop))
}
