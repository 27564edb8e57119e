//! Batch: one line of JSON in, one line of JSON out, by a contract that others build on.
//!
//! In: `{"id", "text" | "chunks" | "tool_calls", "tools"?, "dialect"?, "profile"?, "finish_reason"?, "prompt_tail"?,
//! "untrusted"?}`. Emitter: the id and the [`Response`]. A line that is none of this gives `{"id", "error": finding}`.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::ending::FinishReason;
use crate::event::Event;
use crate::finding::{Code, Finding};
use crate::gate::Gate;
use crate::json::{Tape, repair};
use crate::profile::Profile;
use crate::registry::Registry;
use crate::response::Response;

/// How many compiled gates are kept.
const GATES: usize = 64;

/// How deep JSON may be that is to be repaired.
const DEPTH: usize = 128;

/// What a line came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The line to write, without a line break.
    pub line: String,
    /// Whether the line could not be processed.
    pub failed: bool,
    /// What was read, for those who count.
    pub response: Option<Response>,
}

/// What holds for lines that do not say otherwise, and the gates compiled so far.
#[derive(Clone, Debug)]
pub struct Gates {
    profile: Profile,
    tools: Option<Registry>,
    dialects: Vec<String>,
    records: Vec<crate::Record>,
    compiled: HashMap<String, Gate>,
    /// One gate per dialect and profile: others differ from it only in their tools.
    kinds: HashMap<String, Gate>,
}

impl Default for Gates {
    fn default() -> Self {
        Gates::new(Profile::standard())
    }
}

impl Gates {
    /// Gates of this profile.
    pub fn new(profile: Profile) -> Self {
        Gates {
            profile,
            tools: None,
            dialects: Vec::new(),
            records: Vec::new(),
            compiled: HashMap::new(),
            kinds: HashMap::new(),
        }
    }

    /// The tools of lines that bring none.
    pub fn with_tools(mut self, tools: Registry) -> Self {
        self.tools = Some(tools);
        self
    }

    /// The dialects of lines that name none.
    pub fn with_dialects(mut self, dialects: Vec<String>) -> Self {
        self.dialects = dialects;
        self
    }

    /// A dialect of your own, for all lines.
    pub fn with_record(mut self, record: crate::Record) -> Self {
        self.records.push(record);
        self
    }

    /// Compiles the gate of lines that say nothing themselves, so that all clones have it.
    pub fn prepare(&mut self) -> Result<(), Finding> {
        self.get(&Map::new()).map(drop)
    }

    /// The gate for a line, compiled once for equal tools, dialect and profile.
    fn get(&mut self, line: &Map<String, Value>) -> Result<Gate, Finding> {
        let part = |key: &str| line.get(key).filter(|value| !value.is_null()).map(Value::to_string);
        let kind = [part("dialect"), part("profile")].map(Option::unwrap_or_default).join("\u{0}");
        let key = format!("{kind}\u{0}{}", part("tools").unwrap_or_default());
        if let Some(gate) = self.compiled.get(&key) {
            return Ok(gate.clone());
        }
        let tools = line.get("tools").filter(|tools| !tools.is_null());
        let gate = match (self.kinds.get(&kind), tools) {
            (Some(gate), Some(tools)) => gate.with_tools(own_tools(tools)?),
            _ => self.build(line)?,
        };
        if self.kinds.len() >= GATES {
            self.kinds.clear();
        }
        self.kinds.entry(kind).or_insert_with(|| gate.clone());
        if self.compiled.len() >= GATES {
            self.compiled.clear();
        }
        self.compiled.insert(key, gate.clone());
        Ok(gate)
    }

    fn build(&self, line: &Map<String, Value>) -> Result<Gate, Finding> {
        let profile = match line.get("profile") {
            None | Some(Value::Null) => self.profile,
            Some(name) => name.as_str().and_then(Profile::named).ok_or_else(|| {
                bad(format!("there is no profile {name}; known are {}", Profile::NAMES.join(", ")))
            })?,
        };
        let mut builder = Gate::builder().profile(profile);
        for record in &self.records {
            builder = builder.record(record.clone());
        }
        match line.get("tools") {
            None | Some(Value::Null) => {
                if let Some(tools) = &self.tools {
                    builder = builder.tools(tools.clone());
                }
            }
            Some(tools) => builder = builder.tools(own_tools(tools)?),
        }
        match line.get("dialect") {
            None | Some(Value::Null) => {
                for name in &self.dialects {
                    builder = builder.dialect(name);
                }
            }
            Some(Value::String(name)) => builder = builder.dialect(name),
            Some(other) => return Err(bad(format!("`dialect` must be a name, not {other}"))),
        }
        builder.build().map_err(|error| bad(error.to_string()))
    }
}

/// The tools that a line brings.
fn own_tools(tools: &Value) -> Result<Registry, Finding> {
    Registry::from_value(tools).map_err(|error| bad(error.to_string()))
}

/// Reads one line of the batch contract.
pub fn scan_line(line: &str, gates: &mut Gates) -> Outcome {
    let object = match object(line) {
        Ok(object) => object,
        Err(finding) => return failed(Value::Null, finding),
    };
    let id = object.get("id").cloned().unwrap_or_default();
    match read(line, &object, gates) {
        Ok(response) => {
            // The id leads, so that a line can be recognised without parsing it.
            let body = serde_json::to_string(&response).unwrap_or_default();
            let line = one_line(format!("{{\"id\":{id},{}", body.trim_start_matches('{')));
            Outcome { line, failed: false, response: Some(response) }
        }
        Err(finding) => failed(id, finding),
    }
}

/// Repairs one line: in `{"id", "input"}`, out `{"id", "output", "repairs"}` or `{"id", "error"}`.
pub fn repair_line(line: &str) -> Outcome {
    let object = match object(line) {
        Ok(object) => object,
        Err(finding) => return failed(Value::Null, finding),
    };
    let id = object.get("id").cloned().unwrap_or_default();
    let Some(input) = object.get("input").and_then(Value::as_str) else {
        return failed(id, bad("`input` must be a string".to_owned()));
    };
    match repair(input, DEPTH) {
        Ok(repaired) => {
            let repairs = serde_json::to_string(&repaired.repairs).unwrap_or_default();
            let output = repaired.text.trim();
            let line = one_line(format!("{{\"id\":{id},\"output\":{output},\"repairs\":{repairs}}}"));
            Outcome { line, failed: false, response: None }
        }
        Err(finding) => failed(id, finding),
    }
}

/// JSON text in one line. In strings line breaks are escaped, so those that are left stand between values.
fn one_line(json: String) -> String {
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ") } else { json }
}

fn object(line: &str) -> Result<Map<String, Value>, Finding> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(bad("the line is not a JSON object".to_owned())),
        Err(error) => Err(bad(format!("the line is not JSON: {error}"))),
    }
}

fn read(text: &str, line: &Map<String, Value>, gates: &mut Gates) -> Result<Response, Finding> {
    let gate = gates.get(line)?;
    let word = line.get("finish_reason").and_then(Value::as_str).unwrap_or_default();
    let reason = FinishReason::from_word(word);
    let mut session = gate.session();
    if let Some(tail) = line.get("prompt_tail").and_then(Value::as_str) {
        session = session.with_prompt_tail(tail);
    }
    match line.get("untrusted") {
        Some(Value::String(text)) => session.untrusted(text),
        Some(Value::Array(texts)) => {
            for text in texts {
                let text = text.as_str().ok_or_else(|| bad("`untrusted` must hold strings".to_owned()))?;
                session.untrusted(text);
            }
        }
        None | Some(Value::Null) => {}
        // What is left out would be trusted.
        Some(other) => return Err(bad(format!("`untrusted` must be a string or a list, not {other}"))),
    }
    let mut collector = Response::collector();
    collector.said(word);
    let mut sink = |event: Event<'_>| collector.push(event);
    let mut has_input = false;
    match line.get("text") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => {
            has_input = true;
            session.push(text, &mut sink);
        }
        Some(other) => return Err(bad(format!("`text` must be a string, not {other}"))),
    }
    match line.get("chunks") {
        None | Some(Value::Null) => {}
        Some(Value::Array(chunks)) => {
            has_input = true;
            for chunk in chunks {
                let chunk = chunk.as_str().ok_or_else(|| bad("`chunks` must hold strings".to_owned()))?;
                session.push(chunk, &mut sink);
            }
        }
        Some(_) => return Err(bad("`chunks` must be a list of strings".to_owned())),
    }
    match line.get("tool_calls") {
        None => {}
        Some(Value::Null) => has_input = true,
        Some(calls @ Value::Array(_)) => {
            has_input = true;
            // The list as it was written: digits and order are not in the value.
            let written =
                Tape::parse(text).and_then(|tape| Some(tape.raw(text, tape.member(text, 0, "tool_calls")?)));
            session.native_list((calls, written), &mut sink);
        }
        Some(_) => return Err(bad("`tool_calls` must be a list".to_owned())),
    }
    if !has_input {
        return Err(bad("the line has none of `text`, `chunks`, `tool_calls`".to_owned()));
    }
    session.finish(reason, &mut sink);
    Ok(collector.finish(reason))
}

fn bad(message: String) -> Finding {
    Finding::new(Code::BadLine).message(message)
}

fn failed(id: Value, finding: Finding) -> Outcome {
    Outcome { line: json!({"id": id, "error": finding}).to_string(), failed: true, response: None }
}
