//! The law that ties a dialect together: what it writes it reads back, whole and in pieces.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use std::cell::Cell;
use std::collections::BTreeSet;

use callgate::internal::json::canonical;
use callgate::{Call, Gate, Record, RenderCall};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};
use support::guard::{in_parallel, watched};
use support::soup::{Written, cuts, places, written};
use support::{Feed, difference, fold, obeyed, rejections, response, runner};

/// What is to be written: calls, text before them, a thought before that.
#[derive(Clone, Debug)]
struct Turn {
    calls: Vec<Written>,
    /// Whether the calls carry ids; some formats cannot be written without, most have no place for them.
    with_ids: bool,
    text: Option<String>,
    thought: Option<String>,
}

fn turn() -> impl Strategy<Value = Turn> {
    let words = || weighted(0.3, "[A-Za-z][a-z ,]{0,20}[a-z.]");
    (vec(written(), 1..3), any::<bool>(), words(), words()).prop_map(
        |(mut calls, with_ids, text, thought)| {
            let mut names = BTreeSet::new();
            calls.retain(|call| names.insert(call.name.clone()));
            Turn { calls, with_ids, text, thought }
        },
    )
}

/// Whether a text is only text to this gate.
fn is_plain(gate: &Gate, text: &str) -> bool {
    let alone = gate.parse(text);
    alone.text == text && alone.findings.is_empty() && alone.rejected.is_empty()
}

/// If the turn can be written in this dialect, it is read back: the gate and the text, or nothing.
fn write(record: &Record, gate: &Gate, turn: &Turn) -> Option<(Gate, String)> {
    let calls: Vec<RenderCall<'_>> = turn
        .calls
        .iter()
        .map(|call| RenderCall {
            id: turn.with_ids.then_some(call.id.as_str()),
            name: &call.name,
            arguments: &call.arguments,
        })
        .collect();
    let written = record.render(&calls, turn.text.as_deref(), turn.thought.as_deref()).ok()?;
    let tools: Vec<Value> =
        turn.calls.iter().map(|call| json!({"name": call.name, "parameters": call.schema})).collect();
    let gate = gate.with_tools(support::registry(&json!(tools)));
    turn.text.as_deref().is_none_or(|text| is_plain(&gate, text)).then_some((gate, written))
}

fn read_back(turn: &Turn, gate: &Gate, written: &str, cuts: &[usize]) -> TestCaseResult {
    let feed = Feed::new(gate);
    let whole = feed.whole(written.as_bytes());
    let response = response(&whole);
    let plain = |name: &str, arguments: &str| format!("{name} {}", canonical(arguments));
    let found: Vec<String> =
        response.calls.iter().map(|call: &Call| plain(&call.name, &call.arguments)).collect();
    let wanted: Vec<String> = turn.calls.iter().map(|call| plain(&call.name, &call.arguments)).collect();
    prop_assert_eq!(found, wanted, "written as {:?}; {}", written, rejections(&response));
    for (call, wanted) in response.calls.iter().zip(&turn.calls) {
        prop_assert!(
            call.id == wanted.id || !written.contains(&wanted.id),
            "the id of {call:?} in {written:?}"
        );
    }
    let text = fold(turn.text.as_deref().unwrap_or_default());
    prop_assert_eq!(fold(&response.text), text, "the text of {:?}", written);
    let thought = fold(turn.thought.as_deref().unwrap_or_default());
    prop_assert_eq!(fold(&response.reasoning), thought, "the thought of {:?}", written);
    obeyed(difference(&feed.cut(written.as_bytes(), cuts), &whole))?;
    obeyed(difference(&feed.bytewise(written.as_bytes()), &whole))
}

/// How many turns could be written in this dialect, and why they are not read back, if they are not.
fn check(record: &Record) -> (usize, Option<String>) {
    let count = Cell::new(0);
    let gate = support::dialect_gate(&record.name, &json!([]));
    let outcome = runner(1000).run(&(turn(), cuts(4)), |(turn, cuts)| {
        let Some((gate, written)) = write(record, &gate, &turn) else { return Ok(()) };
        count.set(count.get() + 1);
        watched(written.clone(), || read_back(&turn, &gate, &written, &places(&cuts, written.len())))
    });
    let nothing = (count.get() == 0).then(|| "nothing could be written".to_owned());
    (count.get(), outcome.err().map(|failure| failure.to_string()).or(nothing))
}

#[test]
fn whatever_renders_parses_back() {
    let records = Record::builtin();
    let results = in_parallel(records, check);
    let mut faults = Vec::new();
    for (record, (count, fault)) in records.iter().zip(&results) {
        println!("{:24} {count:4} written", record.name);
        faults.extend(fault.as_ref().map(|fault| format!("{}: {fault}", record.name)));
    }
    println!("{} turns written and read back", results.iter().map(|(count, _)| count).sum::<usize>());
    assert!(faults.is_empty(), "{} dialects break the law:\n{}", faults.len(), faults.join("\n"));
}
