//! Special tokens: where the policy says so, a marker counts only if it came as the tokens it is made of.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, Mutex, PoisonError};

use callgate::{Event, FinishReason, Gate, Policy, Record};
use serde_json::Value;
use support::dice::Dice;
use support::guard::{guarded, in_parallel};
use support::{coalesce, dialect_fixtures, difference, excerpt, partition_fault, registry, response, text};

/// One gate per dialect and policy, since compiling one takes longer than reading a sample.
static GATES: LazyLock<Mutex<HashMap<String, Gate>>> = LazyLock::new(Mutex::default);

/// The gate of a dialect, with the knob in one of its positions.
fn gate(row: &Value, policy: Policy) -> Gate {
    let (dialect, tools) = (text(row, "dialect"), registry(&row["tools"]));
    let key = format!("{dialect} {policy:?}");
    let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(gate) = gates.get(&key) {
        return gate.with_tools(tools);
    }
    let builder = Gate::builder().policy(policy).tools(tools).dialect(dialect);
    let gate = builder.build().unwrap_or_else(|error| panic!("{error}"));
    gates.insert(key, gate.clone());
    gate
}

/// The coalesced events of a text of which these bytes are special, cut at these places besides.
fn events(gate: &Gate, row: &Value, special: &[Range<usize>], cuts: &[usize]) -> Vec<Event<'static>> {
    let input = text(row, "text");
    let mut session = gate.session();
    if let Some(tail) = row["prompt_tail"].as_str() {
        session = session.with_prompt_tail(tail);
    }
    let mut places: Vec<usize> = special.iter().flat_map(|span| [span.start, span.end]).collect();
    places.extend(cuts.iter().filter(|at| input.is_char_boundary(**at)));
    places.push(input.len());
    places.sort_unstable();
    let (mut events, mut from) = (Vec::new(), 0);
    for to in places {
        let mut sink = |event: Event<'_>| coalesce(&mut events, event);
        if special.iter().any(|span| span.contains(&from)) {
            session.push_special(&input[from..to], &mut sink);
        } else {
            session.push(&input[from..to], &mut sink);
        }
        from = to;
    }
    session.finish(FinishReason::Stop, &mut |event| coalesce(&mut events, event));
    events
}

/// Where special tokens stand in a text: words between bars with the brackets around them, and labels in capitals. It is
/// found by another way than the gate's, which knows its templates. Tags are if the dialect says so.
fn tokens(row: &Value) -> Vec<Range<usize>> {
    let (text, dialect) = (text(row, "text"), text(row, "dialect"));
    let special = Record::named(dialect).map_or(&[][..], |record| &record.special);
    let mut found: Vec<Range<usize>> = special
        .iter()
        .flat_map(|tag| text.match_indices(tag.as_str()).map(|(at, tag)| at..at + tag.len()))
        .collect();
    found.extend(marked_tokens(text));
    found.sort_by_key(|span| span.start);
    found
}

fn marked_tokens(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let is_bar = |c: char| matches!(c, '|' | '｜');
    for (at, open) in text.match_indices(['<', '[']) {
        let rest = &text[at..];
        let close = if open == "<" { '>' } else { ']' };
        let inner = &rest[1..rest[1..].find(['<', '[', '>', ']']).map_or(rest.len(), |end| end + 1)];
        let end = 1 + inner.len();
        if !rest[end..].starts_with(close) {
            continue;
        }
        if open == "[" {
            let is_label = |byte: u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'/');
            if inner.len() >= 3 && inner.bytes().all(is_label) {
                found.push(at..at + end + 1);
            }
        } else if inner.contains(is_bar) {
            let (first, last) = (inner.find(is_bar).unwrap_or(0), inner.rfind(is_bar).unwrap_or(0));
            let behind = last + inner[last..].chars().next().map_or(0, char::len_utf8);
            let is_inner = first < last && matches!(&inner[..first], "" | "/") && behind < inner.len();
            found.push(if is_inner { at + 1 + first..at + 1 + behind } else { at..at + end + 1 });
        }
    }
    found
}

/// Runs a law over all samples of all dialects and fails with the first few that break it.
fn over_fixtures(law: impl Fn(&Value, &mut Dice) -> Option<String> + Sync) {
    let rows: Vec<(usize, Value)> = dialect_fixtures().into_iter().enumerate().collect();
    let results = in_parallel(&rows, |(number, row)| {
        let label = format!("{}/{}", text(row, "dialect"), text(row, "case"));
        guarded(&label, || law(row, &mut Dice::new(17, *number as u64)))
            .map(|why| format!("{label}: {why}\n    {:?}", excerpt(text(row, "text"))))
    });
    let faults: Vec<String> = results.into_iter().flatten().collect();
    let shown: Vec<&str> = faults.iter().take(12).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} of {} samples:\n{}", faults.len(), rows.len(), shown.join("\n"));
}

#[test]
fn promise_02_markers_that_come_as_special_tokens_give_the_events_of_today() {
    over_fixtures(|row, dice| {
        let length = text(row, "text").len();
        let today = events(&gate(row, Policy::default()), row, &[], &[]);
        let either = gate(row, Policy::default().special_either());
        let required = gate(row, Policy::default().special_required());
        let (marked, all) = (tokens(row), 0..length);
        let ways = [
            ("all bytes special, either", &either, std::slice::from_ref(&all)),
            ("tokens special, either", &either, &marked),
            ("all bytes special", &required, std::slice::from_ref(&all)),
        ];
        ways.iter().find_map(|(way, gate, special)| {
            let cuts = dice.cuts(length, 12);
            let why = difference(&today, &events(gate, row, special, &cuts))?;
            Some(format!("{way}, cut at {cuts:?}: {why}"))
        })
    });
}

/// The calls of the dialects whose markers are special tokens, told by the letters that their templates write.
#[test]
fn calls_between_special_tokens_are_read_where_only_the_tokens_are_special() {
    over_fixtures(|row, dice| {
        let input = text(row, "text");
        let required = gate(row, Policy::default().special_required());
        let today = events(&gate(row, Policy::default()), row, &[], &[]);
        let special = tokens(row);
        let found = events(&required, row, &special, &dice.cuts(input.len(), 12));
        // What a sample gets wrong about its tokens is another matter than how they came.
        let names = |events: &[Event<'static>]| -> Vec<String> {
            response(events).calls.iter().map(|call| format!("{} {}", call.name, call.arguments)).collect()
        };
        (names(&today) != names(&found)).then(|| format!("{:?} against {:?}", names(&today), names(&found)))
    });
}

#[test]
fn promise_07_special_markers_that_come_as_text_call_nothing_and_stay_text() {
    over_fixtures(|row, dice| {
        let input = text(row, "text");
        let required = gate(row, Policy::default().special_required());
        let found = events(&required, row, &[], &dice.cuts(input.len(), 12));
        if let Some(fault) = partition_fault(&found, input.len()) {
            return Some(fault);
        }
        let texts: Vec<Range<usize>> = found
            .iter()
            .filter_map(|event| match event {
                Event::Text { span, .. } | Event::Reasoning { span, .. } => Some(span.start..span.end),
                Event::Call(call) => call.span.map(|span| span.start..span.end),
                Event::Rejected(rejected) => rejected.span.map(|span| span.start..span.end),
                _ => None,
            })
            .collect();
        let lost = tokens(row)
            .into_iter()
            .find(|token| !texts.iter().any(|text| text.start <= token.start && token.end <= text.end));
        if let Some(token) = lost {
            return Some(format!("{:?} is markup", &input[token]));
        }
        let plain = gate(row, Policy::default());
        let (calls, _) = outcome(&found);
        if is_told_by_tokens(text(row, "dialect")) {
            // Nothing is a call without any of them, not even one without its wrapper.
            if !calls.is_empty() {
                return Some(format!("{calls:?} are called by letters alone"));
            }
        } else {
            // What is read is what would be read if the tokens had letters that no marker has.
            let mut other = row.clone();
            other["text"] = Value::from(without_tokens(row));
            let expected = outcome(&events(&plain, &other, &[], &[]));
            if outcome(&found) != expected {
                return Some(format!("{:?} instead of {expected:?}", outcome(&found)));
            }
        }
        let has_lost = outcome(&events(&plain, row, &[], &[])).0.len() > calls.len();
        let says = ["stray-marker", "looks-like-a-call", "call-in-reasoning"];
        let found = response(&found);
        let mut codes = found.findings.iter().map(|finding| finding.code.word());
        let is_said = codes.any(|code| says.contains(&code)) || !found.rejected.is_empty();
        (has_lost && !is_said).then(|| format!("nothing is said: {:?}", found.findings))
    });
}

/// Whether every opener of a dialect holds special tokens in front of its body, those of its prompt aside.
fn is_told_by_tokens(dialect: &str) -> bool {
    let Some(record) = Record::named(dialect) else { return false };
    let bodies = ["{arguments}", "{params}", "{object}", "{code}"];
    let is_told = |opener: String| {
        let body = bodies.iter().filter_map(|slot| opener.find(slot)).min();
        let header = &opener[..body.unwrap_or(opener.len())];
        let header = header.strip_prefix(&record.prompt).unwrap_or(header);
        record.special.iter().any(|tag| header.contains(tag.as_str())) || !marked_tokens(header).is_empty()
    };
    record.openers().iter().map(ToString::to_string).all(is_told)
}

#[test]
fn there_are_dialects_of_both_kinds() {
    assert!(["step3", "mistral-v11", "harmony", "muse-atem"].into_iter().all(is_told_by_tokens));
    assert!(!is_told_by_tokens("xlam") && !is_told_by_tokens("cline-xml"));
}

#[test]
fn promise_07_a_call_without_its_wrapper_is_none_where_only_the_wrapper_is_a_token() {
    let record = "[mine]\nopen = \"<|calls|>\"\ncall = \"<fn={name}>{arguments}</fn>\"\nclose = \"<|end|>\"\nbare = [\"<fn=\"]";
    let record = Record::parse(record).unwrap_or_else(|error| panic!("{error}")).remove(0);
    let read = |policy: Policy, text: &str, special: &[Range<usize>]| {
        let gate = Gate::builder().policy(policy).dialects(&[]).record(record.clone()).build();
        let row = serde_json::json!({ "text": text });
        response(&events(&gate.unwrap_or_else(|error| panic!("{error}")), &row, special, &[]))
    };
    let (bare, whole) = ("<fn=look>{\"a\": 1}</fn>", "<|calls|><fn=look>{\"a\": 1}</fn><|end|>");
    assert_eq!(read(Policy::default(), bare, &[]).calls.len(), 1);
    for text in [bare, whole] {
        let found = read(Policy::default().special_required(), text, &[]);
        assert!(found.calls.is_empty(), "{found:?}");
        let codes: Vec<&str> =
            found.rejected.iter().map(|rejected| rejected.findings[0].code.word()).collect();
        assert_eq!(codes, ["missing-wrapper"]);
    }
    let tokens = marked_tokens(whole);
    assert_eq!(read(Policy::default().special_required(), whole, &tokens).calls.len(), 1);
}

/// The names of the calls and of the rejections.
fn outcome(events: &[Event<'static>]) -> (Vec<String>, Vec<Option<String>>) {
    let response = response(events);
    let calls = response.calls.into_iter().map(|call| call.name).collect();
    (calls, response.rejected.into_iter().map(|rejected| rejected.name).collect())
}

/// A text whose special tokens are words of the same length that mean nothing.
fn without_tokens(row: &Value) -> String {
    let text = text(row, "text");
    let mut changed = text.to_owned();
    for token in tokens(row) {
        let is_marked = text[token.clone()].contains(['|', '｜']);
        let word: String = text[token.clone()]
            .chars()
            .map(|c| match c {
                '|' => '!',
                '｜' => '！',
                c if !is_marked && c.is_ascii_alphabetic() => 'q',
                c => c,
            })
            .collect();
        changed.replace_range(token, &word);
    }
    changed
}

#[test]
fn promise_02_which_bytes_are_special_matters_and_how_they_are_cut_does_not() {
    over_fixtures(|row, dice| {
        let input = text(row, "text");
        let required = gate(row, Policy::default().special_required());
        (0..4).find_map(|_| {
            let special: Vec<Range<usize>> = tokens(row).into_iter().filter(|_| dice.percent(60)).collect();
            let whole = events(&required, row, &special, &[]);
            if let Some(fault) = partition_fault(&whole, input.len()) {
                return Some(format!("{special:?}: {fault}"));
            }
            let cuts = dice.cuts(input.len(), 40);
            let why = difference(&whole, &events(&required, row, &special, &cuts))?;
            Some(format!("special {special:?}, cut at {cuts:?}: {why}"))
        })
    });
}
