//! One ending: arguments are judged the same way whether they stand in the text or come as a structured call, wherever
//! the output ends.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;

use callgate::internal::dialect::Slot;
use callgate::internal::json::Syntax;
use callgate::{FinishReason, Gate, NativeDelta, Profile, Record, Response};
use serde_json::json;
use support::calls::written;
use support::dice::{Dice, from_environment};
use support::guard::in_parallel;

const PROFILES: [&str; 3] = ["strict", "standard", "lenient"];

const REASONS: [FinishReason; 6] = [
    FinishReason::Stop,
    FinishReason::ToolCalls,
    FinishReason::Length,
    FinishReason::ContentFilter,
    FinishReason::Failed,
    FinishReason::Unknown,
];

/// What stands in the place of arguments, as a model writes it, right or wrong.
const ARGUMENTS: &[&str] = &[
    r#"{"q": "cats"}"#,
    r#"{"q": "cats", "n": 3}"#,
    r#"{"q": "a \"quoted\" word\n", "n": -1.5e3}"#,
    r#"{"q": "é ünï 🎉", "list": [1, 2, {"deep": [true, null]}]}"#,
    r#"{'q': 'cats'}"#,
    r#"{q: "cats"}"#,
    r#"{"q": "cats",}"#,
    r#"{"q": True, "n": None}"#,
    r#"{"q" "cats"}"#,
    r#"{"q": "cats" "n": 3}"#,
    r#"{"q": "cats", "q": "dogs"}"#,
    r#"{"n": 12345678901234567890123}"#,
    r#"{"q": 7}"#,
    r#"{"x": 1}"#,
    "{}",
    "null",
    "[]",
    r#""cats""#,
    "7",
];

/// A dialect whose calls hold arguments as JSON, with the text before and after them.
struct Writer {
    record: &'static Record,
    head: String,
    tail: String,
}

impl Writer {
    /// Whether these arguments can be told from text: where nothing but their own brackets shows their end or their start,
    /// they must have some.
    fn takes(&self, arguments: &str) -> bool {
        let in_object = self.record.call.first().is_some_and(|call| call.has(Slot::Object));
        in_object || arguments.starts_with(['{', '[']) || arguments.starts_with('"') && !self.tail.is_empty()
    }
}

fn writers() -> Vec<Writer> {
    let of = |record: &'static Record| {
        let has_json = record.syntax == Syntax::Json
            && record.call.first().is_some_and(|call| call.has(Slot::Arguments) || call.has(Slot::Object));
        let text = written(record, "look", &json!({"q": "zqmarkqz"})).filter(|_| has_json)?;
        let mark = text.find("zqmarkqz")?;
        let from = text[..mark].rfind('{')?;
        let to = mark + text[mark..].find('}')? + 1;
        Some(Writer { record, head: text[..from].to_owned(), tail: text[to..].to_owned() })
    };
    let writers: Vec<Writer> = Record::builtin().iter().filter_map(of).collect();
    assert!(writers.len() >= 25, "only {} dialects have arguments in JSON", writers.len());
    writers
}

fn gate(profile: &str, dialect: &str) -> Gate {
    let tools = support::registry(&json!([
        {"name": "look", "parameters": {"type": "object", "properties": {
            "q": {"type": "string"}, "n": {"type": "number"}, "list": {"type": "array"}}}},
    ]));
    let profile = Profile::named(profile).unwrap_or_else(|| panic!("no profile {profile}"));
    let gate = Gate::builder().profile(profile).tools(tools).dialect(dialect).build();
    gate.unwrap_or_else(|error| panic!("{dialect}: {error}"))
}

/// What became of the one call: its arguments, or that it was rejected, and with which codes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Call(String),
    Rejected(Vec<&'static str>),
    Nothing,
}

fn verdict(response: &Response) -> Verdict {
    if let Some(call) = response.calls.first() {
        return Verdict::Call(call.arguments.to_string());
    }
    match response.rejected.first() {
        None => Verdict::Nothing,
        Some(rejected) => {
            let mut codes: Vec<&str> = rejected.findings.iter().map(|finding| finding.code.word()).collect();
            codes.sort_unstable();
            codes.dedup();
            Verdict::Rejected(codes)
        }
    }
}

fn in_text(gate: &Gate, text: &str, reason: FinishReason) -> Verdict {
    let mut collector = Response::collector();
    let mut session = gate.session();
    session.push(text, &mut |event| collector.push(event));
    session.finish(reason, &mut |event| collector.push(event));
    verdict(&collector.finish(reason))
}

fn structured(gate: &Gate, pieces: &[&str], reason: FinishReason) -> Verdict {
    let mut collector = Response::collector();
    let mut session = gate.session();
    let mut take = |event: callgate::Event<'_>| collector.push(event);
    session.native(NativeDelta { index: Some(0), name: Some("look"), ..NativeDelta::default() }, &mut take);
    for piece in pieces {
        let delta = NativeDelta { index: Some(0), arguments: Some(piece), ..NativeDelta::default() };
        session.native(delta, &mut take);
    }
    session.finish(reason, &mut take);
    verdict(&collector.finish(reason))
}

#[test]
fn structured_calls_end_like_calls_in_the_text() {
    let writers = writers();
    let seed = from_environment("CALLGATE_SEED", 1) as u64;
    let faults = in_parallel(&writers, |writer| {
        let mut dice = Dice::new(seed, writer.record.name.len() as u64);
        let mut faults: BTreeMap<String, (usize, String)> = BTreeMap::new();
        for profile in PROFILES {
            let gate = gate(profile, &writer.record.name);
            for arguments in ARGUMENTS {
                if !writer.takes(arguments) {
                    continue;
                }
                let places = (1..=arguments.len()).filter(|at| arguments.is_char_boundary(*at));
                for at in places {
                    let begun = &arguments[..at];
                    let is_whole = at == arguments.len();
                    if !is_whole && !arguments.starts_with(['{', '[']) {
                        // A word or string that is cut off is no arguments either way, and what it is says only its end.
                        continue;
                    }
                    for reason in REASONS {
                        let tail = if is_whole { &*writer.tail } else { "" };
                        let text = in_text(&gate, &format!("{}{begun}{tail}", writer.head), reason);
                        let cut = dice.below(at + 1);
                        let cut = (0..=cut).rev().find(|at| begun.is_char_boundary(*at)).unwrap_or(0);
                        let native = structured(&gate, &[&begun[..cut], &begun[cut..]], reason);
                        if text != native {
                            let class = format!("{text:?} in the text, {native:?} structured");
                            let shown = format!("{profile} {} {reason:?} {begun}", writer.record.name);
                            faults.entry(class).or_insert((0, shown)).0 += 1;
                        }
                    }
                }
            }
        }
        faults
    });
    let mut all: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (class, (count, shown)) in faults.into_iter().flatten() {
        all.entry(class).or_insert((0, shown)).0 += count;
    }
    let mut report = String::new();
    for (class, (count, shown)) in &all {
        let _ = writeln!(report, "{count:6} {class}\n       {shown}");
    }
    assert!(all.is_empty(), "{report}");
}
