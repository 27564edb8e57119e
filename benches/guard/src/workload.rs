//! The four workloads of the guard: small, fixed, and each of another kind.

use std::error::Error;
use std::hint::black_box;

use callgate::{Event, FinishReason, Gate, Registry};

/// A text, how it is cut, and who reads it.
pub struct Workload {
    pub name: &'static str,
    /// How many readings are counted.
    pub rounds: u32,
    /// How many calls there are.
    pub calls: usize,
    gate: Gate,
    text: String,
    /// Bytes of a chunk; zero for the whole text at once. All texts are ASCII.
    chunk: usize,
}

impl Workload {
    /// One reading in which callgrind counts. Never inlined, so that it can be told where that is.
    #[inline(never)]
    pub fn counted(&self) -> usize {
        self.read()
    }

    /// Reads the text once, with borrowed events that are looked at, and counts the calls.
    pub fn read(&self) -> usize {
        let mut calls = 0;
        let mut sink = |event: Event<'_>| {
            calls += usize::from(matches!(event, Event::Call(_)));
            black_box(&event);
        };
        let mut session = self.gate.session();
        let mut rest = &*self.text;
        let size = if self.chunk == 0 { rest.len() } else { self.chunk };
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at(size.min(rest.len()));
            session.push(chunk, &mut sink);
            rest = after;
        }
        session.finish(FinishReason::Stop, &mut sink);
        calls
    }
}

const TOOLS: &str = r#"[
    {"name": "search", "parameters": {"type": "object", "required": ["query"], "properties": {
        "query": {"type": "string", "minLength": 1}, "paths": {"type": "array", "items": {"type": "string"}},
        "limit": {"type": "integer", "minimum": 1}}}},
    {"name": "write_file", "parameters": {"type": "object", "required": ["path", "content"], "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}}}}
]"#;

pub fn all() -> Result<[Workload; 4], Box<dyn Error>> {
    let gate = Gate::builder().tools(Registry::from_json(TOOLS)?).dialect("auto").build()?;
    let workload =
        |name, rounds, calls, chunk, text| Workload { name, rounds, calls, gate: gate.clone(), text, chunk };
    Ok([
        workload("short", 50, 1, 0, short()),
        workload("tags", 20, 4, 0, tags()),
        workload("streamed", 5, 1, 4, long()),
        workload("prose", 10, 0, 0, prose()),
    ])
}

/// A sentence and a hermes call.
fn short() -> String {
    let arguments = r#"{"query": "old_name\\(", "paths": ["crates/gate/src", "docs"], "limit": 20}"#;
    format!(
        "I will look for the old name.\n<tool_call>\n{{\"name\": \"search\", \"arguments\": {arguments}}}\n</tool_call>"
    )
}

/// Four calls in the tags of qwen3-coder.
fn tags() -> String {
    let call = |n: usize| {
        format!(
            "<tool_call>\n<function=search>\n<parameter=query>\npart {n} of it\n</parameter>\n<parameter=limit>\n{n}0\n\
             </parameter>\n</function>\n</tool_call>"
        )
    };
    (1..5).map(call).collect::<Vec<_>>().join("\n")
}

/// A hermes call of 16 KB full of escapes.
fn long() -> String {
    let line = r#"\tlet path = \"C:\\\\work\\\\notes.md\"; // keep the \"quotes\"\n"#;
    let content = line.repeat((16 << 10) / line.len());
    format!(
        "<tool_call>\n{{\"name\": \"write_file\", \"arguments\": {{\"path\": \"a.rs\", \"content\": \"{content}\"}}}}\n</tool_call>"
    )
}

/// Text of 64 KB with a mark now and then.
fn prose() -> String {
    let sentences = "The gate reads every part of an answer once and says what became of it. As long as x < 10 the \
                     next line is read. A set such as {a, b} is written with braces.\n";
    sentences.repeat((64 << 10) / sentences.len())
}
