//! Every sample of every built-in dialect is read as expected: whole, byte by byte, and cut at every place.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use std::collections::BTreeMap;

use callgate::{Event, Record};
use serde_json::Value;
use support::guard::{guarded, in_parallel};
use support::{Feed, calls_fault, dialect_fixtures, dialect_gate, excerpt, fold, rejections, response, text};

/// Why the events are not what the sample expects, if they are not.
fn fault(events: &[Event<'static>], expected: &Value) -> Option<String> {
    let response = response(events);
    if let Some(fault) = calls_fault(&response, &expected["calls"]) {
        return Some(fault);
    }
    let content = fold(expected["content"].as_str().unwrap_or_default());
    if fold(&response.text) != content {
        return Some(format!("expected the content {content:?}, found {:?}", fold(&response.text)));
    }
    let reasoning = fold(expected["reasoning"].as_str().unwrap_or_default());
    if fold(&response.reasoning) != reasoning {
        return Some(format!("expected the reasoning {reasoning:?}, found {:?}", fold(&response.reasoning)));
    }
    let rejected: Vec<&str> = response
        .rejected
        .iter()
        .filter_map(|rejected| rejected.findings.first())
        .map(|finding| finding.code.word())
        .collect();
    (rejected != words(&expected["refused"])).then(|| format!("unexpected: {}", rejections(&response)))
}

/// The words of a list; none if there is no list.
fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Why the sample fails, if it does.
fn sample_fault(row: &Value) -> Option<String> {
    let gate = dialect_gate(text(row, "dialect"), &row["tools"]);
    let feed = Feed { prompt_tail: row["prompt_tail"].as_str(), ..Feed::new(&gate) };
    let input = text(row, "text").as_bytes();
    let whole = feed.whole(input);
    if let Some(fault) = fault(&whole, &row["expect"]) {
        return Some(format!("whole: {fault}"));
    }
    if feed.bytewise(input) != whole {
        return Some("byte by byte: other events than whole".to_owned());
    }
    let cut = (1..input.len()).find(|&at| feed.cut(input, &[at]) != whole);
    cut.map(|at| format!("cut at {at}: other events than whole"))
}

#[test]
fn samples_are_read_as_expected_however_they_are_cut() {
    let rows: Vec<Value> = dialect_fixtures();
    // Dialect → samples read as expected, samples.
    let mut rates: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut faults = Vec::new();
    let results = in_parallel(&rows, |row| {
        let label = format!("{}/{}", text(row, "dialect"), text(row, "case"));
        Record::named(text(row, "dialect")).and_then(|_| guarded(&label, || sample_fault(row)))
    });
    for (row, fault) in rows.iter().zip(results) {
        let (name, case) = (text(row, "dialect"), text(row, "case"));
        if Record::named(name).is_none() {
            faults.push(format!("{name}: there is no such dialect"));
            continue;
        }
        let rate = rates.entry(name).or_default();
        rate.1 += 1;
        match fault {
            None => rate.0 += 1,
            Some(fault) => {
                faults.push(format!("{name}/{case}: {fault}\n    {:?}", excerpt(text(row, "text"))))
            }
        }
    }
    for (name, (good, all)) in &rates {
        println!("{name:24} {good:3} of {all:3}");
    }
    let (good, all) = rates.values().fold((0, 0), |sum, rate| (sum.0 + rate.0, sum.1 + rate.1));
    println!("{good} of {all} samples, {} dialects", rates.len());
    assert!(faults.is_empty(), "{} samples fail:\n{}", faults.len(), faults.join("\n"));
}
