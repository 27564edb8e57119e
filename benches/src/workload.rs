//! Workloads: what the contestants read, made from a fixed seed, with the right answer beside each text.

use serde_json::{Value, json};

/// A call as a contestant reports it.
#[derive(Clone, Debug, Default)]
pub struct CallMade {
    pub name: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

/// What a contestant makes of a text.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub text: String,
    pub calls: Vec<CallMade>,
}

/// What is wrong with an answer.
#[derive(Clone, Debug)]
pub struct Fault {
    pub kind: &'static str,
    /// Where the answer leaves the right one.
    pub detail: String,
}

impl Answer {
    /// Compares with the right answer: calls by name and value, text without the white space around it.
    pub fn fault(&self, right: &Answer) -> Option<Fault> {
        let value =
            |call: &CallMade| serde_json::from_str::<Value>(&call.arguments).unwrap_or_default().to_string();
        if self.calls.len() != right.calls.len() {
            let detail = format!("{} instead of {}", self.calls.len(), right.calls.len());
            return Some(Fault { kind: "wrong number of calls", detail });
        }
        for (made, wanted) in self.calls.iter().zip(&right.calls) {
            let fault = Fault::between("wrong name", &made.name, &wanted.name);
            let fault = fault.or_else(|| Fault::between("wrong arguments", &value(made), &value(wanted)));
            if fault.is_some() {
                return fault;
            }
        }
        Fault::between("wrong text", self.text.trim(), right.text.trim())
    }
}

impl Fault {
    fn between(kind: &'static str, got: &str, wanted: &str) -> Option<Fault> {
        if got == wanted {
            return None;
        }
        let same = got.chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
        let rest = |text: &str| text.chars().skip(same).take(30).collect::<String>();
        let detail = format!("after {same} characters {:?} instead of {:?}", rest(got), rest(wanted));
        Some(Fault { kind, detail })
    }
}

/// What is asked of the contestants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Read a response in this dialect.
    Response(&'static str),
    /// Read one JSON value, broken or not.
    Json,
}

/// A text to read, and what is in it.
pub struct Workload {
    pub name: &'static str,
    pub what: &'static str,
    pub task: Task,
    pub text: String,
    pub right: Answer,
}

/// All workloads of the comparison.
pub fn all() -> Vec<Workload> {
    vec![short(), four(), large(), tagged(), prose(), pythonic(), marks(), broken(), valid()]
}

/// The tools of every gate and every peer, in the form OpenAI gives them.
pub fn tools() -> Value {
    let tool = |name: &str, description: &str, properties: Value, required: Value| {
        json!({"type": "function", "function": {"name": name, "description": description, "parameters":
            {"type": "object", "properties": properties, "required": required}}})
    };
    json!([
        tool(
            "write_file",
            "Writes a file.",
            json!({"path": {"type": "string"}, "content": {"type": "string"}}),
            json!(["path", "content"])
        ),
        tool("read_file", "Reads a file.", json!({"path": {"type": "string"}}), json!(["path"])),
        tool(
            "search",
            "Searches the tree.",
            json!({"query": {"type": "string", "minLength": 1}, "paths": {"type": "array", "items": {"type": "string"}},
                "limit": {"type": "integer", "minimum": 1}, "regex": {"type": "boolean"}}),
            json!(["query"])
        ),
        tool(
            "forecast",
            "The weather of the next days.",
            json!({"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 14},
                "units": {"enum": ["metric", "imperial"]}, "hours": {"type": "array", "items": {"type": "integer"}}}),
            json!(["city"])
        ),
        tool("run", "Runs a command.", json!({"command": {"type": "string"}}), json!(["command"])),
    ])
}

/// A source file of about this many bytes, with quotes, backslashes, tabs, tags and characters beyond ASCII.
pub fn source_text(size: usize) -> String {
    const LINES: [&str; 8] = [
        "fn step(&mut self, at: usize) -> Option<&'static str> {",
        "\tlet path = \"C:\\\\work\\\\notes.md\"; // keep the \"quotes\"",
        "\tif at < self.len && self.rest[at] == b'\\n' { return None; }",
        "\tprintln!(\"{}\\t{:?}\", at, self.name);",
        "    <div class=\"row\">größer, naïve, 東京</div>",
        "\tassert_eq!(regex.find(r\"\\d+\\.\\w*\"), Some(\"3.x\"));",
        "    let map = {\"a\": [1, 2, 3], \"b\": {\"c\": null}};",
        "}",
    ];
    let mut text = String::with_capacity(size + 80);
    let mut random = Random(7);
    while text.len() < size {
        text.push_str(LINES[random.below(LINES.len())]);
        text.push('\n');
    }
    // A value in tags cannot end in white space that is its own.
    text.push_str("// end");
    text
}

/// Cuts a text into chunks of two to six characters, the same ones in every run.
pub fn chunks(text: &str) -> Vec<&str> {
    let mut chunks = Vec::with_capacity(text.len() / 4 + 1);
    let mut random = Random(17);
    let mut rest = text;
    while !rest.is_empty() {
        let length = 2 + random.below(5);
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(end, _)| end);
        let (chunk, after) = rest.split_at(end);
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// A small generator of numbers: the same ones in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn call(name: &str, arguments: &Value) -> CallMade {
    CallMade { name: name.to_owned(), arguments: arguments.to_string() }
}

fn hermes(call: &CallMade) -> String {
    format!("<tool_call>\n{{\"name\": \"{}\", \"arguments\": {}}}\n</tool_call>", call.name, call.arguments)
}

fn short() -> Workload {
    let text = "I will look for the places that still use the old name.";
    let made = call(
        "search",
        &json!({"query": "old_name\\(", "paths": ["crates/gate/src", "crates/frame/src", "crates/frame/tests", "docs"],
            "limit": 20, "regex": true}),
    );
    Workload {
        name: "W1",
        what: "one sentence and a hermes call of 200 bytes",
        task: Task::Response("hermes"),
        text: format!("{text}\n{}", hermes(&made)),
        right: Answer { text: text.to_owned(), calls: vec![made] },
    }
}

fn four() -> Workload {
    let calls: Vec<CallMade> = (0..4)
        .map(|n| call("write_file", &json!({"path": format!("src/part{n}.rs"), "content": source_text(800)})))
        .collect();
    let frames: Vec<String> = calls.iter().map(hermes).collect();
    let text = "Four files are needed.";
    Workload {
        name: "W2",
        what: "one sentence and four hermes calls with arguments of 1 KB",
        task: Task::Response("hermes"),
        text: format!("{text}\n{}", frames.join("\n")),
        right: Answer { text: text.to_owned(), calls },
    }
}

/// The source file of W3 and W4. Escaping makes it about a sixth longer.
fn large_content() -> String {
    source_text((100 << 10) * 6 / 7)
}

fn large() -> Workload {
    let made = call("write_file", &json!({"path": "src/lib.rs", "content": large_content()}));
    Workload {
        name: "W3",
        what: "one hermes call with a string of 100 KB full of escapes",
        task: Task::Response("hermes"),
        text: hermes(&made),
        right: Answer { text: String::new(), calls: vec![made] },
    }
}

fn tagged() -> Workload {
    let content = large_content();
    let text = format!(
        "<tool_call>\n<function=write_file>\n<parameter=path>\nsrc/lib.rs\n</parameter>\n\
         <parameter=content>\n{content}\n</parameter>\n</function>\n</tool_call>"
    );
    Workload {
        name: "W4",
        what: "the arguments of W3 as qwen3-coder tags",
        task: Task::Response("qwen3-coder"),
        text,
        right: Answer {
            text: String::new(),
            calls: vec![call("write_file", &json!({"path": "src/lib.rs", "content": content}))],
        },
    }
}

/// Text without a call, made of these parts.
fn without_call(name: &'static str, what: &'static str, parts: &[&str], per_line: usize) -> Workload {
    let mut random = Random(11);
    let mut text = String::new();
    let mut on_line = 0;
    while text.len() < 64 << 10 {
        text.push_str(parts[random.below(parts.len())]);
        on_line = (on_line + 1) % per_line;
        text.push(if on_line == 0 { '\n' } else { ' ' });
    }
    text.push_str("Done.");
    Workload {
        name,
        what,
        task: Task::Response("hermes"),
        right: Answer { text: text.clone(), calls: Vec::new() },
        text,
    }
}

pub fn prose() -> Workload {
    const SENTENCES: [&str; 8] = [
        "The gate reads every part of an answer once and says what became of it.",
        "As long as x < 10 the next line is read, and then the loop is over.",
        "A set such as {a, b} is written with braces, in any order.",
        "Nothing in this paragraph is a call, and nothing should be held back for long.",
        "What was bold in the old notes stood between <b> and a slash.",
        "Größe und Maß stay as they are, and so does a naïve reader.",
        "If it rains, the walk is put off until the day after; if not, we meet at nine.",
        "Longer sentences are there as well, since people who explain a thing seldom stop at the first full stop.",
    ];
    without_call("W5", "64 KB of prose with stray `{` and `<`, no call", &SENTENCES, 5)
}

fn marks() -> Workload {
    const WORDS: [&str; 16] = [
        "a", "gate", "{", "<", "reads", "the", "text", "if x < y", "{ok}", "and", "<b>", "then", "says",
        "so,", "again.", "größer",
    ];
    without_call("marks", "64 KB in which every third word is or has a `{` or `<`, no call", &WORDS, 12)
}

fn pythonic() -> Workload {
    let cities = ["Lisbon, Portugal", "Tromsø", "Ulaanbaatar, Mongolia", "São Paulo BR"];
    let mut calls = Vec::new();
    let mut written = Vec::new();
    for (days, city) in (3..).zip(cities) {
        calls.push(call(
            "forecast",
            &json!({"city": city, "days": days, "units": "metric", "hours": [0, 3, 6, 9, 12, 15, 18, 21]}),
        ));
        written.push(format!(
            "forecast(city=\"{city}\", days={days}, units='metric', hours=[0, 3, 6, 9, 12, 15, 18, 21])"
        ));
    }
    Workload {
        name: "W6",
        what: "four pythonic calls, 373 bytes",
        task: Task::Response("pythonic"),
        text: format!("[{}]", written.join(", ")),
        right: Answer { text: String::new(), calls },
    }
}

/// The broken text of `repair-100k`, and what it stands for.
fn records() -> (String, Value) {
    let mut text = String::from("{records: [");
    let mut records = Vec::new();
    let mut random = Random(13);
    while text.len() < 100 << 10 {
        let (id, score) = (records.len(), random.below(1000));
        text.push_str(&format!(
            "\n  {{id: {id}, 'name': 'item {id}', score: {score}, tags: ['new', 'red',], note: 'the \"best\" of all',}},"
        ));
        records.push(json!({"id": id, "name": format!("item {id}"), "score": score, "tags": ["new", "red"],
            "note": "the \"best\" of all"}));
    }
    (text, json!({ "records": records }))
}

fn broken() -> Workload {
    let (text, value) = records();
    Workload {
        name: "repair-100k",
        what: "100 KB of broken JSON: single quotes, trailing commas, unquoted keys, missing closers",
        task: Task::Json,
        text,
        right: Answer { text: String::new(), calls: vec![call("", &value)] },
    }
}

fn valid() -> Workload {
    let (_, value) = records();
    let made = call("", &value);
    Workload {
        name: "valid-100k",
        what: "the valid form of repair-100k",
        task: Task::Json,
        text: made.arguments.clone(),
        right: Answer { text: String::new(), calls: vec![made] },
    }
}
