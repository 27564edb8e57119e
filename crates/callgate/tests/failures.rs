//! Outputs that broke a parser in the field: each is read right or rejected, and none of the rejections runs.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::{FinishReason, Gate, NativeDelta, Record, Response};
use serde_json::Value;
use support::guard::guarded;
use support::{Feed, calls_fault, ended, excerpt, fixture, fold, native_events, profile, registry, text};

/// How many of the cases are read as the corpus asks. It may only rise.
const RECORDED: usize = 108;

/// Cases where a call runs although the corpus wants none, and why that is right.
const CALLS_DESPITE_REJECTION: &[(&str, &str)] = &[];

/// The gate of the case: `standard`, with its dialect by name where it has one.
fn gate(row: &Value) -> Gate {
    let builder = Gate::builder().profile(profile("standard")).tools(registry(&row["tools"]));
    let name = text(row, "dialect");
    let builder = if Record::named(name).is_some() { builder.dialect(name) } else { builder };
    builder.build().unwrap_or_else(|error| panic!("{}: {error}", row["id"]))
}

/// The responses of the case: whole, and in the pieces in which it was seen or byte by byte.
fn responses(row: &Value) -> Vec<Response> {
    let gate = gate(row);
    let raw = text(row, "raw");
    let finish = row["finish_reason"].as_str().map_or(FinishReason::Stop, FinishReason::from_word);
    match text(row, "input_kind") {
        "text" => {
            let feed = Feed { prompt_tail: row["prompt_tail"].as_str(), finish, ..Feed::new(&gate) };
            let mut all = vec![feed.whole(raw.as_bytes()), feed.bytewise(raw.as_bytes())];
            if let Some(chunks) = row["chunks"].as_array() {
                all.push(feed.pieces(chunks.iter().filter_map(Value::as_str).map(str::as_bytes)));
            }
            all.iter().map(|events| ended(events, finish)).collect()
        }
        "arguments" => {
            let name = text(row, "call_name");
            let characters: Vec<&str> = raw.split_inclusive(|_: char| true).collect();
            let pieces: [&[&str]; 2] = [&[raw], &characters];
            pieces.iter().map(|pieces| ended(&native_events(&gate, name, pieces, finish), finish)).collect()
        }
        "sse" => vec![event_stream(&gate, raw, finish)],
        other => panic!("{}: unknown input kind {other}", row["id"]),
    }
}

/// A provider's event stream: content goes to the text, call deltas to the structured side.
fn event_stream(gate: &Gate, raw: &str, finish: FinishReason) -> Response {
    let mut session = gate.session();
    let mut collector = Response::collector();
    for line in raw.lines().filter_map(|line| line.strip_prefix("data:")) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let delta = &event["choices"][0]["delta"];
        if let Some(content) = delta["content"].as_str() {
            session.push(content, &mut |event| collector.push(event));
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let delta = NativeDelta {
                index: call["index"].as_u64().map(|index| index as usize),
                id: call["id"].as_str(),
                name: call["function"]["name"].as_str(),
                arguments: call["function"]["arguments"].as_str(),
                done: false,
            };
            session.native(delta, &mut |event| collector.push(event));
        }
    }
    session.finish(finish, &mut |event| collector.push(event));
    collector.finish(finish)
}

/// Whether the corpus wants no call to run.
fn wants_nothing_run(row: &Value) -> bool {
    row["right_answer"] == "reject" || row["right_answer"]["calls"].as_array().is_some_and(Vec::is_empty)
}

/// Why the response is not the right answer, if it is not.
fn fault(row: &Value, response: &Response) -> Option<String> {
    let answer = &row["right_answer"];
    if let Some(fault) = calls_fault(response, &answer["calls"]) {
        return Some(fault);
    }
    if answer == "reject"
        && response.rejected.is_empty()
        && response.findings.is_empty()
        && response.text.is_empty()
    {
        return Some("nothing ran, and nothing was said about it".to_owned());
    }
    let content = fold(answer["content"].as_str()?);
    (fold(&response.text) != content)
        .then(|| format!("expected the content {content:?}, found {:?}", fold(&response.text)))
}

#[test]
fn broken_outputs_are_read_right_or_rejected() {
    let rows = fixture("failures.jsonl");
    let mut good = 0;
    let mut run = Vec::new();
    let mut torn = Vec::new();
    for row in &rows {
        let id = text(row, "id");
        let fault = guarded(id, || {
            let responses = responses(row);
            let excused = CALLS_DESPITE_REJECTION.iter().any(|(known, _)| *known == id);
            if wants_nothing_run(row) && !excused && responses.iter().any(|one| !one.calls.is_empty()) {
                run.push(id);
            }
            let verdicts = |response: &Response| (response.calls.clone(), response.rejected.len());
            if responses.windows(2).any(|pair| verdicts(&pair[0]) != verdicts(&pair[1])) {
                torn.push(id);
            }
            responses.iter().find_map(|response| fault(row, response))
        });
        match fault {
            None => good += 1,
            Some(fault) => {
                println!("{id} {}: {fault}\n    {:?}", text(row, "dialect"), excerpt(text(row, "raw")));
            }
        }
    }
    println!("{good} of {} cases are read as the corpus asks", rows.len());
    assert!(run.is_empty(), "calls run that must not: {run:?}");
    assert!(torn.is_empty(), "the verdicts depend on the cutting: {torn:?}");
    assert!(good >= RECORDED, "{good} cases are right, it was {RECORDED}");
}
