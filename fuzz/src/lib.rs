//! What the fuzz targets share: gates, ways of feeding them, what always holds, and seeds from the fixtures.

// What fails here is a finding of the fuzzer, and a panic is how it is told.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use callgate::internal::json::canonical;
use callgate::{Event, FinishReason, Gate, Profile, Record, Registry, Response};
use serde_json::{Value, json};

/// The bytes at the end of an input that say how it is read; mutations mostly leave them where they are.
pub const CONTROL: usize = 8;

/// An input as the bytes to read and the bytes that say how.
pub fn controlled(data: &[u8]) -> Option<(&[u8], [u8; CONTROL])> {
    let (input, control) = data.split_last_chunk::<CONTROL>()?;
    Some((input, *control))
}

/// The tools of all gates: names of the fixtures, as open as they can be.
pub fn tools() -> Registry {
    let text = json!({"type": "string"});
    let open = |name: &str| {
        json!({"name": name, "parameters": {"type": "object", "properties": {"q": text, "path": text},
            "additionalProperties": true}})
    };
    let names = ["look", "put", "f", "get_weather", "search", "rm", "read_file"];
    let typed = json!({"name": "typed", "parameters": {"type": "object", "properties": {
        "q": {"type": "string"}, "n": {"type": "integer"}, "list": {"type": "array", "items": {"type": "string"}}}}});
    let all: Vec<Value> = names.map(open).into_iter().chain([typed]).collect();
    Registry::from_json(&Value::from(all).to_string()).unwrap()
}

/// The gate of a profile or a dialect, by any number.
pub fn gate(number: u8) -> &'static Gate {
    numbered(usize::from(number) % (Profile::NAMES.len() + Record::builtin().len()))
}

/// The gate of a dialect, by its rank.
pub fn dialect_gate(rank: usize) -> &'static Gate {
    numbered(Profile::NAMES.len() + rank)
}

/// Profiles first, then dialects; each gate is made once.
fn numbered(number: usize) -> &'static Gate {
    static GATES: [OnceLock<Gate>; 256] = [const { OnceLock::new() }; 256];
    GATES[number].get_or_init(|| {
        let builder = match Profile::NAMES.get(number) {
            Some(name) => {
                let profile = Profile::named(name).unwrap();
                let builder = Gate::builder().profile(profile);
                if profile.needs_dialect() { builder.dialect("hermes") } else { builder }
            }
            None => Gate::builder().dialect(&Record::builtin()[number - Profile::NAMES.len()].name),
        };
        builder.tools(tools()).build().unwrap()
    })
}

/// The gate of a profile.
pub fn profile(name: &str) -> &'static Gate {
    gate(Profile::NAMES.iter().position(|known| *known == name).unwrap() as u8)
}

/// What a gate makes of pieces, neighbours of one kind joined.
pub fn events<'p>(
    gate: &Gate,
    pieces: impl IntoIterator<Item = &'p [u8]>,
    reason: FinishReason,
) -> Vec<Event<'static>> {
    let mut events: Vec<Event<'static>> = Vec::new();
    let mut session = gate.session();
    for piece in pieces {
        session.push_bytes(piece, &mut |event| join(&mut events, event));
    }
    session.finish(reason, &mut |event| join(&mut events, event));
    events
}

fn join(events: &mut Vec<Event<'static>>, event: Event<'_>) {
    match (events.last_mut(), event) {
        (Some(Event::Text { text, span, .. }), Event::Text { text: more, span: next, .. })
            if span.end == next.start =>
        {
            text.to_mut().push_str(&more);
            span.end = next.end;
        }
        (Some(Event::Reasoning { text, span, .. }), Event::Reasoning { text: more, span: next, .. })
            if span.end == next.start =>
        {
            text.to_mut().push_str(&more);
            span.end = next.end;
        }
        (Some(Event::Markup { span, .. }), Event::Markup { span: next, .. }) if span.end == next.start => {
            span.end = next.end;
        }
        (
            Some(Event::ArgumentsDelta { attempt, delta, .. }),
            Event::ArgumentsDelta { attempt: same, delta: more, .. },
        ) if *attempt == same => {
            delta.to_mut().push_str(&more);
        }
        (_, event) => events.push(event.into_owned()),
    }
}

/// The events collected.
pub fn response(events: &[Event<'static>]) -> Response {
    let mut collector = Response::collector();
    events.iter().for_each(|event| collector.push(event.clone()));
    collector.finish(FinishReason::Unknown)
}

/// Fails unless every byte of the input is in the span of exactly one event.
pub fn check_partition(events: &[Event<'static>], length: usize) {
    let mut spans: Vec<_> = events.iter().filter_map(Event::accounts_for).collect();
    spans.sort();
    let mut at = 0;
    for span in spans {
        assert_eq!(span.start, at, "a byte is in no span or in two");
        at = span.end;
    }
    assert_eq!(at, length, "the last bytes are in no span");
}

/// The calls of a response as something to compare.
pub fn calls(response: &Response) -> Vec<(String, String)> {
    response.calls.iter().map(|call| (call.name.clone(), canonical(&call.arguments))).collect()
}

/// The input in pieces whose sizes follow from the seed.
pub fn cut(input: &[u8], seed: [u8; 4]) -> Vec<&[u8]> {
    let mut state = u32::from_le_bytes(seed) | 1;
    let mut pieces = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Mostly small pieces, sometimes large ones.
        let size = 1 + (state >> 24) as usize % if state & 0x80_0000 == 0 { 4 } else { 64 };
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Text in place of bytes that are none.
pub fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// Writes the seeds of a target into the folder that `FUZZ_SEEDS` names, if it does.
pub fn seed(target: &str) {
    let Some(folder) = std::env::var_os("FUZZ_SEEDS").map(PathBuf::from) else { return };
    for (number, seed) in seeds(target).into_iter().enumerate() {
        let _ = std::fs::write(folder.join(format!("seed-{number:05}")), seed);
    }
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut rows: Vec<Value> = Vec::new();
    let mut files = Vec::new();
    let mut folders = ["crates/callgate/fixtures", "crates/callgate-agent/fixtures"]
        .map(|folder| project.join(folder))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        rows.extend(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()));
    }
    let texts = || {
        let members =
            rows.iter().flat_map(|row| [&row["text"], &row["raw"], &row["output"], &row["input"]["text"]]);
        members.filter_map(|text| text.as_str().map(str::to_owned)).filter(|text| text.len() < 4096)
    };
    match target {
        "chunking" | "echo" => texts()
            .enumerate()
            .map(|(number, text)| {
                [text.as_bytes(), &[number as u8, (number >> 3) as u8, 1, 2, 3, 4, 5, 6]].concat()
            })
            .collect(),
        "json" => {
            let objects =
                texts().filter_map(|text| text.get(text.find('{')?..=text.rfind('}')?).map(str::to_owned));
            objects
                .map(String::into_bytes)
                .chain(rows.iter().map(|row| row.to_string().into_bytes()))
                .collect()
        }
        "template" => {
            let folder =
                std::fs::read_dir(project.join("crates/callgate/dialects")).into_iter().flatten().flatten();
            folder.filter_map(|entry| std::fs::read(entry.path()).ok()).collect()
        }
        "configuration" => {
            let page = std::fs::read_to_string(project.join("docs/configuration.md")).unwrap_or_default();
            page.split("```")
                .filter_map(|block| block.strip_prefix("yaml\n"))
                .map(|yaml| yaml.into())
                .collect()
        }
        "model_stream" => MODEL_STREAMS
            .iter()
            .flat_map(|(kind, body)| {
                (0..3).map(move |size| [body.as_bytes(), &[*kind, size, 1, 2, 3, 4, 5, 6]].concat())
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Answers as servers write them, each with the number of its client.
const MODEL_STREAMS: &[(u8, &str)] = &[
    (
        0,
        "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n{\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":3}\n",
    ),
    (
        1,
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
    ),
    (
        1,
        ": ping\nevent: x\ndata: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\ndata: {\"error\":{\"message\":\"no\"}}\n\n",
    ),
    (2, "{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"length\"}]}"),
];
