//! What an attack found in the judging: endings, numbers, explanations, rejections and members, each by the number it has there.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod endings;
mod explanations;
mod members;
mod numbers;
mod rejections;
mod structured;
#[path = "../support/mod.rs"]
mod support;

use callgate::internal::batch::{Gates, scan_line};
use callgate::{Code, FinishReason, Gate, Response};
use serde_json::{Value, json};
use support::{Feed, ended, profile};

fn tools() -> Value {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}, "deep": {"type": "boolean"}},
        "required": ["path"]});
    json!([
        {"name": "rm", "parameters": path, "dangerous": true},
        {"name": "read", "parameters": path},
        {"name": "now", "parameters": {"type": "object", "properties": {}}},
    ])
}

fn gate(name: &str, tools: &Value) -> Gate {
    let builder = Gate::builder().profile(profile(name)).tools(support::registry(tools));
    builder.build().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn parse(gate: &Gate, text: &str, word: &str) -> Response {
    let reason = FinishReason::from_word(word);
    ended(&Feed { finish: reason, ..Feed::new(gate) }.whole(text.as_bytes()), reason)
}

fn scan(line: &Value) -> Value {
    scan_text(&line.to_string())
}

fn scan_text(line: &str) -> Value {
    let outcome = scan_line(line, &mut Gates::default());
    assert!(!outcome.line.contains(['\n', '\r']), "{}", outcome.line);
    serde_json::from_str(&outcome.line).unwrap_or_else(|error| panic!("{error}: {}", outcome.line))
}

fn codes(response: &Response) -> Vec<Code> {
    response.all_findings().map(|finding| finding.code).collect()
}
