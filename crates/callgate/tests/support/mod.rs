//! What the data-driven tests share: fixtures, gates, feeding a text in every cutting, and comparing.

// Each test file is its own crate and uses a part of this module; what fails here fails the test that asked.
#![allow(dead_code, clippy::panic)]

pub(crate) mod calls;
pub(crate) mod corpus;
pub(crate) mod dice;
pub(crate) mod guard;
pub(crate) mod soup;

use std::borrow::Cow;
use std::path::Path;

use callgate::{Event, FinishReason, Gate, NativeDelta, Profile, Registry, Response, Span};
use corpus::Sample;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestCaseResult, TestRunner};
use serde_json::Value;

/// The rows of all files in the folders of the dialects, each with the dialect whose folder it is in.
pub(crate) fn dialect_fixtures() -> Vec<Value> {
    let mut rows = Vec::new();
    for folder in entries("dialects") {
        for file in entries(&format!("dialects/{folder}")) {
            for mut row in fixture(&format!("dialects/{folder}/{file}")) {
                row["dialect"] = Value::from(folder.as_str());
                rows.push(row);
            }
        }
    }
    rows
}

/// The names in a folder of the fixtures, sorted.
fn entries(folder: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let listed = std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut names: Vec<String> =
        listed.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The rows of a fixture file.
pub(crate) fn fixture(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .enumerate()
        .map(|(number, line)| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{name} line {}: {error}", number + 1))
        })
        .collect()
}

/// A text member of a row; panics with the row where it is missing.
pub(crate) fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {row}"))
}

/// The tools of a row, compiled.
pub(crate) fn registry(tools: &Value) -> Registry {
    Registry::from_value(tools).unwrap_or_else(|error| panic!("{error}: {tools}"))
}

/// A built-in profile.
pub(crate) fn profile(name: &str) -> Profile {
    Profile::named(name).unwrap_or_else(|| panic!("no profile {name}"))
}

/// The gate of a profile with its own dialects.
pub(crate) fn gate(profile_name: &str, tools: &Value) -> Gate {
    let mut builder = Gate::builder().profile(profile(profile_name)).tools(registry(tools));
    if profile(profile_name).needs_dialect() {
        builder = builder.dialect("hermes");
    }
    builder.build().unwrap_or_else(|error| panic!("{profile_name}: {error}"))
}

/// The gate of `standard` that listens to one dialect by name.
pub(crate) fn dialect_gate(dialect: &str, tools: &Value) -> Gate {
    Gate::builder()
        .profile(profile("standard"))
        .tools(registry(tools))
        .dialect(dialect)
        .build()
        .unwrap_or_else(|error| panic!("{dialect}: {error}"))
}

/// One way of feeding a gate: everything but the text and its cutting.
#[derive(Clone, Copy)]
pub(crate) struct Feed<'a> {
    /// The gate to feed.
    pub(crate) gate: &'a Gate,
    /// What the prompt ended with.
    pub(crate) prompt_tail: Option<&'a str>,
    /// What the provider says at the end.
    pub(crate) finish: FinishReason,
}

impl<'a> Feed<'a> {
    /// A response that ends by itself, after a prompt that decides nothing.
    pub(crate) fn new(gate: &'a Gate) -> Self {
        Feed { gate, prompt_tail: None, finish: FinishReason::Stop }
    }

    /// The coalesced events of these pieces of input.
    pub(crate) fn pieces<'b>(&self, pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<Event<'static>> {
        let mut session = self.gate.session();
        if let Some(tail) = self.prompt_tail {
            session = session.with_prompt_tail(tail);
        }
        let mut events = Vec::new();
        for piece in pieces {
            session.push_bytes(piece, &mut |event| coalesce(&mut events, event));
        }
        session.finish(self.finish, &mut |event| coalesce(&mut events, event));
        events
    }

    /// The input in one piece.
    pub(crate) fn whole(&self, input: &[u8]) -> Vec<Event<'static>> {
        self.pieces([input])
    }

    /// The input byte by byte, also inside of characters.
    pub(crate) fn bytewise(&self, input: &[u8]) -> Vec<Event<'static>> {
        self.pieces(input.chunks(1))
    }

    /// The input cut at these places, which must ascend.
    pub(crate) fn cut(&self, input: &[u8], places: &[usize]) -> Vec<Event<'static>> {
        let ends = places.iter().copied().chain([input.len()]);
        let mut start = 0;
        self.pieces(ends.map(|end| {
            let piece = &input[start..end];
            start = end;
            piece
        }))
    }
}

/// The events of a structured provider call that comes in these pieces of arguments.
pub(crate) fn native_events(
    gate: &Gate,
    name: &str,
    arguments: &[&str],
    finish: FinishReason,
) -> Vec<Event<'static>> {
    let mut session = gate.session();
    let mut events = Vec::new();
    let head = NativeDelta { index: Some(0), id: Some("c1"), name: Some(name), arguments: None, done: false };
    session.native(head, &mut |event| coalesce(&mut events, event));
    for piece in arguments {
        let delta = NativeDelta { index: Some(0), id: None, name: None, arguments: Some(piece), done: false };
        session.native(delta, &mut |event| coalesce(&mut events, event));
    }
    session.finish(finish, &mut |event| coalesce(&mut events, event));
    events
}

/// Appends an event, joined with the last one where the cutting of the input alone separates them.
pub(crate) fn coalesce(events: &mut Vec<Event<'static>>, event: Event<'_>) {
    let joined = match (events.last_mut(), &event) {
        (Some(Event::Text { text, span, .. }), Event::Text { text: more, span: next, .. })
        | (Some(Event::Reasoning { text, span, .. }), Event::Reasoning { text: more, span: next, .. })
            if span.end == next.start =>
        {
            text.to_mut().push_str(more);
            span.end = next.end;
            true
        }
        (Some(Event::Markup { span, .. }), Event::Markup { span: next, .. }) if span.end == next.start => {
            span.end = next.end;
            true
        }
        (
            Some(Event::ArgumentsDelta { attempt, delta, .. }),
            Event::ArgumentsDelta { attempt: other, delta: more, .. },
        ) if attempt == other => {
            delta.to_mut().push_str(more);
            true
        }
        _ => false,
    };
    if !joined {
        events.push(event.into_owned());
    }
}

/// The events of a response that ended by itself.
pub(crate) fn response(events: &[Event<'static>]) -> Response {
    ended(events, FinishReason::Stop)
}

/// The events as one response that ended for this reason.
pub(crate) fn ended(events: &[Event<'static>], reason: FinishReason) -> Response {
    let mut collector = Response::collector();
    for event in events {
        collector.push(event.clone());
    }
    collector.finish(reason)
}

/// Why the spans of the events do not tile an input of this length, if they do not.
pub(crate) fn partition_fault(events: &[Event<'static>], length: usize) -> Option<String> {
    let mut spans: Vec<Span> =
        events.iter().filter_map(Event::accounts_for).filter(|s| !s.is_empty()).collect();
    spans.sort();
    let mut end = 0;
    for span in spans {
        if span.start != end {
            let what = if span.start > end { "nobody accounts for" } else { "two events account for" };
            return Some(format!("{what} the bytes between {end} and {}", span.start));
        }
        end = span.end;
    }
    (end != length).then(|| format!("the spans end at {end}, the input at {length}"))
}

/// White-space runs as one blank, ends trimmed: how all corpora compare content.
pub(crate) fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether two JSON values are the same, where `3` and `3.0` are.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(key, x)| y.get(key).is_some_and(|y| same(x, y)))
        }
        _ => a == b,
    }
}

/// Why the calls are not the expected ones (`name` and `arguments`, in order), if they are not.
pub(crate) fn calls_fault(response: &Response, expected: &Value) -> Option<String> {
    let expected = expected.as_array().map_or(&[][..], Vec::as_slice);
    let found = || response.calls.iter().map(|c| format!("{}{}", c.name, c.arguments)).collect::<Vec<_>>();
    if response.calls.len() != expected.len() {
        return Some(format!(
            "{} calls expected, found {:?}; {}",
            expected.len(),
            found(),
            rejections(response)
        ));
    }
    for (call, wanted) in response.calls.iter().zip(expected) {
        if call.name != wanted["name"] || !same(&call.value(), &wanted["arguments"]) {
            return Some(format!("expected {wanted}, found {:?}", found()));
        }
    }
    None
}

/// The rejections of a response in one line, for messages.
pub(crate) fn rejections(response: &Response) -> String {
    let rejected = response.rejected.iter().map(|r| {
        let why: Vec<_> = r.findings.iter().map(ToString::to_string).collect();
        format!("rejected {:?}: {}", r.name.as_deref().unwrap_or("?"), why.join(", "))
    });
    let findings = response.findings.iter().map(ToString::to_string);
    let lines: Vec<_> = rejected.chain(findings).collect();
    if lines.is_empty() { "nothing rejected".to_owned() } else { lines.join(" · ") }
}

/// A text that is too long for a message, cut in the middle.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    const KEPT: usize = 300;
    if text.chars().count() <= 2 * KEPT {
        return Cow::Borrowed(text);
    }
    let head: String = text.chars().take(KEPT).collect();
    let tail: Vec<char> = text.chars().rev().take(KEPT).collect();
    Cow::Owned(format!("{head} … {}", tail.into_iter().rev().collect::<String>()))
}

/// A property-test runner whose cases are the same in every run; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` change them.
pub(crate) fn runner(cases: u32) -> TestRunner {
    let mut config = Config { failure_persistence: None, max_shrink_iters: 4096, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = RngSeed::Fixed(0x6361_6c6c);
    }
    TestRunner::new(config)
}

/// Runs a law over generated values; what breaks it is made small and shown.
pub(crate) fn hold<S: Strategy>(cases: u32, strategy: S, law: impl Fn(S::Value) -> TestCaseResult) {
    let law = |value: S::Value| guard::watched(format!("{value:?}"), || law(value));
    if let Err(failure) = runner(cases).run(&strategy, law) {
        panic!("{failure}");
    }
}

/// A law as a property test wants it.
pub(crate) fn obeyed(fault: Option<String>) -> TestCaseResult {
    fault.map_or(Ok(()), |why| Err(TestCaseError::fail(why)))
}

/// Fails with the first few of the samples for which a law says why it does not hold.
pub(crate) fn over_samples<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    law: impl Fn(&Sample) -> Option<String>,
) {
    let faults: Vec<String> = samples
        .filter_map(|sample| {
            guard::guarded(&sample.id, || law(sample))
                .map(|why| format!("{}: {why}\n    {:?}", sample.id, excerpt(&sample.text)))
        })
        .collect();
    let shown: Vec<&str> = faults.iter().take(20).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} texts break the law:\n{}", faults.len(), shown.join("\n"));
}

/// The first difference of two event lists, for messages.
pub(crate) fn difference(a: &[Event<'static>], b: &[Event<'static>]) -> Option<String> {
    if a == b {
        return None;
    }
    let at = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let shown = |event: Option<&Event<'static>>| excerpt(&format!("{event:?}")).into_owned();
    Some(format!("event {at}: {} against {}", shown(a.get(at)), shown(b.get(at))))
}

/// Fails where the framing reads more than a small multiple of its input. Work is counted, not timed: a quadratic
/// step would read each byte thousands of times at these sizes, however busy the machine is.
pub(crate) fn assert_linear(what: &str, gate: &Gate, input: &[u8], piece: usize) {
    const TIMES: u64 = 12;
    let mut session = gate.session();
    for piece in input.chunks(piece) {
        session.push_bytes(piece, &mut |_| {});
    }
    let work = session.finish_counted(FinishReason::Stop, &mut |_| {}).reading;
    let bound = TIMES * input.len() as u64 + 4096;
    assert!(work <= bound, "{}: {} bytes were read as {work}", excerpt(what), input.len());
}
