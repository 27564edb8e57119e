//! Trials: a dialect by itself reads a text of which nothing is run. Text that looks like a call and was read as none is tried
//! with every dialect that was not asked, to say which one would read it; and a dialect that is added reads what it writes.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::json;

use crate::dialect::{Record, RenderCall};
use crate::ending::FinishReason;
use crate::event::{Event, Rejected};
use crate::finding::{Code, Finding, Span};
use crate::frame::Compiled;
use crate::frame::machine::{Unread, UnreadPlace};
use crate::frame::openers::Openers;
use crate::frame::program::{Program, compile};
use crate::policy::Policy;
use crate::registry::Registry;
use crate::response::Response;
use crate::rules::{ActiveDialect, Rules};
use crate::session::Session;

/// A dialect by itself, compiled.
#[derive(Clone)]
struct Alone {
    program: Arc<Program>,
    openers: Arc<Openers>,
    dialects: Arc<[ActiveDialect]>,
}

/// Every dialect, once it has been tried. Tools are no part of it, so one serves all gates.
static COMPILED: LazyLock<Vec<(&Record, OnceLock<Alone>)>> =
    LazyLock::new(|| Record::builtin().iter().map(|record| (record, OnceLock::new())).collect());

/// What is said about text that looks like a call. What stands in a code fence is one to a dialect that reads it there, or if
/// the fence begins with it.
pub(crate) fn finding(rules: &Rules, unread: &Unread, reader: Option<&str>) -> Option<Finding> {
    let finding = Finding::new(Code::LooksLikeACall).at(unread.span);
    let finding = Finding { count: unread.names, ..finding };
    if unread.place == UnreadPlace::Dead {
        return Some(finding.message("looks like a call in a quotation or in code, where none is read"));
    }
    match reader {
        Some(name) => Some(
            finding
                .message(format!("looks like a call of {name}, a dialect that does not listen"))
                .help(format!("Switch the dialect `{name}` on if the model writes its calls like this.")),
        ),
        None if unread.place != UnreadPlace::Fence || writes_fences(rules) => match &rules.registry {
            Some(_) if unread.is_whole => Some(
                finding
                    .message("the text is a call as a whole, but of no tool that there is, and no dialect that listens reads it")
                    .help("Call one of the tools that there are, in the format that was asked for."),
            ),
            _ => Some(finding),
        },
        None if unread.is_shown => {
            Some(finding.message("looks like a call in a code fence, where none is read"))
        }
        None => None,
    }
}

/// Whether a dialect that was asked for writes its calls in code fences, so that a fence is where calls are expected.
fn writes_fences(rules: &Rules) -> bool {
    let chosen = rules.dialects.iter().filter(|active| active.chosen);
    chosen.flat_map(|active| active.record.openers()).any(|opener| opener.head().contains("```"))
}

/// What a dialect writes and does not read back, if there is such a thing among some plain calls.
pub(crate) fn unread_writing(record: &Record) -> Option<String> {
    let parameters = json!({"type": "object", "properties": {
        "text": {"type": "string"}, "code": {"type": "string"}, "count": {"type": "integer"}, "list": {"type": "array"},
    }});
    let name = if record.code_tool.is_empty() { "try_it" } else { &record.code_tool };
    let registry = Registry::from_value(&json!([{"name": name, "parameters": parameters}])).ok()?;
    let compiled = alone(record);
    let values = [
        json!({}),
        json!({"text": "some words"}),
        json!({"text": "one\ntwo", "count": 3}),
        json!({"list": ["a", 1], "text": "b"}),
    ];
    values.iter().find_map(|value| {
        let arguments = value.to_string();
        let call = |id| RenderCall { id, name, arguments: &arguments };
        // What a format cannot write is an error of its own.
        let written = record.render(&[call(None)], None, None);
        let written = written.or_else(|_| record.render(&[call(Some("a1b2c3d4e"))], None, None)).ok()?;
        let response = read(Some(registry.clone()), compiled.clone(), &written, FinishReason::Unknown);
        let is_same = matches!(&response.calls[..], [call] if call.name == name && call.value() == *value);
        (!is_same).then_some(written)
    })
}

/// The dialect that reads best what was read as no call, among those that were not asked. In a quotation or in code there is
/// nothing to read.
pub(crate) fn reader(rules: &Rules, unread: &Unread) -> Option<&'static str> {
    if unread.place == UnreadPlace::Dead {
        return None;
    }
    let is_asked = |record: &Record| {
        let mut chosen = rules.dialects.iter().filter(|active| active.chosen);
        chosen.any(|active| active.record.name == record.name)
    };
    let text = &unread.text;
    let trials = trials(rules.registry.as_ref(), text, FinishReason::Unknown, |record| !is_asked(record));
    let readings: Vec<_> = trials
        .filter_map(|trial| Some((trial.quality(text)?, claimed(&trial.response), trial.record)))
        .collect();
    let is_call = |reading: &&(Quality, BTreeSet<Span>, _)| reading.0.0 > 0;
    let claims: BTreeSet<Span> =
        readings.iter().filter(is_call).flat_map(|(_, claimed, _)| claimed.iter().copied()).collect();
    let ranked =
        readings.iter().map(|(quality, claimed, record)| (rank(*quality, left(&claims, claimed)), record));
    // The first of equals is taken: the order of the files is the rank.
    let best = ranked.reduce(|best, next| if next.0 < best.0 { next } else { best });
    best.map(|(_, record)| &*record.name)
}

/// By what readings of a text are put in order, the best having the least: by what they read, then by what they leave of what
/// others take for calls. So a marker names its dialect: who reads the call without it leaves it over.
pub(crate) fn rank(quality: Quality, left: usize) -> (Reverse<(usize, usize)>, usize, Reverse<Quality>) {
    (Reverse((quality.0, quality.1)), left, Reverse(quality))
}

/// The places that a response takes for calls.
pub(crate) fn claimed(response: &Response) -> BTreeSet<Span> {
    let calls = response.calls.iter().filter_map(|call| call.span);
    calls.chain(response.rejected.iter().filter_map(|one| one.span)).collect()
}

/// How many bytes of these places are in none of those that are covered, which do not overlap.
pub(crate) fn left(places: &BTreeSet<Span>, covered: &BTreeSet<Span>) -> usize {
    let uncovered = |place: &Span| {
        let shared = |span: &Span| span.end.min(place.end).saturating_sub(span.start.max(place.start));
        (place.end - place.start).saturating_sub(covered.iter().map(shared).sum())
    };
    places.iter().map(uncovered).sum()
}

/// What a dialect by itself has read of a text.
pub(crate) struct Trial {
    pub(crate) record: &'static Record,
    pub(crate) response: Response,
}

/// How well a dialect has read a text: by its calls, then by those it had to reject, by what was left over, by whether a
/// marker of the text says that it is the one, by whether it writes them so itself, and by whether it is that of certain models.
pub(crate) type Quality = (usize, usize, Reverse<usize>, bool, bool, bool);

/// What every dialect for which the test holds reads of a text that ended like this.
pub(crate) fn trials(
    registry: Option<&Registry>,
    text: &str,
    reason: FinishReason,
    may_try: impl Fn(&Record) -> bool,
) -> impl Iterator<Item = Trial> {
    // Where the names of tools are the markers, nothing is read without them.
    let can_read = move |record: &Record| may_try(record) && (!record.known || registry.is_some());
    COMPILED.iter().filter(move |(record, _)| can_read(record)).filter_map(move |(record, compiled)| {
        let compiled = compiled.get_or_init(|| alone(record));
        // Nearly all dialects open their calls otherwise, and need not read the text to find none.
        let may_read = compiled.openers.may_open_call(&compiled.program, text);
        may_read.then(|| Trial { record, response: read(registry.cloned(), compiled.clone(), text, reason) })
    })
}

impl Trial {
    /// How well the text was read, if calls were read in it.
    pub(crate) fn quality(&self, text: &str) -> Option<Quality> {
        let Trial { record, response } = self;
        // What has a name and only arguments that do not fit, or no end, was read as what it is.
        let is_read = |finding: &Finding| finding.code == Code::Truncated || finding.code.kind() == "schema";
        let is_call = |rejected: &&Rejected| rejected.name.is_some() && rejected.findings.iter().all(is_read);
        let rejected = response.rejected.iter().filter(is_call).count();
        if response.calls.is_empty() && rejected == 0 {
            return None;
        }
        let written = response.calls.iter().map(|call| {
            let call = RenderCall { id: Some(&call.id), name: &call.name, arguments: &call.arguments };
            record.render(&[call], None, None).unwrap_or_default()
        });
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let source = bare(text);
        let is_own = written.map(|written| bare(&written)).all(|written| source.contains(&written));
        let openers = record.openers();
        let mut markers = openers.iter().filter(|opener| Record::is_unmistakable(opener));
        let is_marked = record.auto && markers.any(|marker| text.contains(marker.head().trim()));
        let left = response.text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
        Some((
            response.calls.len(),
            rejected,
            Reverse(left),
            is_marked,
            is_own && rejected == 0,
            record.models.is_empty(),
        ))
    }
}

/// What a dialect makes of a text if it was asked for by name.
fn read(
    registry: Option<Registry>,
    Alone { program, openers, dialects }: Alone,
    text: &str,
    reason: FinishReason,
) -> Response {
    let rules =
        Rules { registry, policy: Policy::default(), dialects, error_codes: &[], rejects_empty: false };
    let mut collector = Response::collector();
    let mut session = Session::unwatched(Arc::new(Compiled { program, openers, rules }));
    let mut sink = |event: Event<'_>| collector.push(event);
    session.push(text, &mut sink);
    session.finish(reason, &mut sink);
    collector.finish(reason)
}

fn alone(record: &Record) -> Alone {
    let records = [ActiveDialect { record: Arc::new(record.clone()), chosen: true, live: true }];
    let program = Arc::new(compile(&records));
    let openers = Arc::new(Openers::new(&program));
    Alone { program, openers, dialects: records.into() }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A dialect whose frames of calls are read with slips from the start.
    fn twins_alone(record: &Record) -> Option<Alone> {
        let Alone { dialects, .. } = alone(record);
        let mut program = compile(&dialects);
        let starts = |frame: u16| program.frames[frame as usize].start;
        let twins: Vec<_> =
            program.frames.iter().filter_map(|frame| Some((frame.start, starts(frame.twin?)))).collect();
        if twins.is_empty() {
            return None;
        }
        let twin = |start: &mut _| {
            if let Some((_, twin)) = twins.iter().find(|(plain, _)| plain == start) {
                *start = *twin;
            }
        };
        program.starts.iter_mut().flatten().for_each(twin);
        let openers = Arc::new(Openers::new(&program));
        Some(Alone { program: Arc::new(program), openers, dialects })
    }

    /// Everything that stands between quotes in the samples of the project.
    fn samples() -> Vec<String> {
        fn strings(value: Value, found: &mut Vec<String>) {
            match value {
                Value::String(text) => found.push(text),
                Value::Array(list) => list.into_iter().for_each(|value| strings(value, found)),
                Value::Object(members) => members.into_iter().for_each(|(_, value)| strings(value, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        let mut open = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                let lines = std::fs::read_to_string(path).unwrap();
                lines.lines().for_each(|line| strings(serde_json::from_str(line).unwrap(), &mut found));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// A text with one place of it damaged: cut out, doubled, in other letters or with a space.
    fn damaged(text: &str, number: usize) -> String {
        let marks: Vec<usize> =
            text.match_indices(['<', '>', '[', '{', '|', '_', '"']).map(|(at, _)| at).collect();
        let Some(at) = marks.get(number % marks.len().max(1)).copied() else { return text.to_owned() };
        let (before, rest) = text.split_at(at);
        match number % 5 {
            0 => format!("{before}{}", &rest[1..]),
            1 => format!("{before}{}{rest}", &rest[..1]),
            2 => format!("{before} {rest}"),
            3 => format!("{before}{} {}", &rest[..1], &rest[1..]),
            _ => format!("{before}{}", rest.to_uppercase()),
        }
    }

    #[test]
    fn what_opens_no_call_of_a_dialect_has_none_in_it() {
        let tools = json!([{"name": "get_weather"}, {"name": "search"}, {"name": "python"}, {"name": "run"}]);
        let registry = Registry::from_value(&tools).unwrap();
        let samples = samples();
        let long = samples.iter().filter(|text| (8..4096).contains(&text.len()));
        let (mut passed, mut tried) = (0, 0);
        for (number, sample) in long.enumerate().filter(|(number, _)| number % 5 == 0) {
            for text in [sample.clone(), damaged(sample, number), damaged(sample, number / 5 + 1)] {
                for (record, compiled) in COMPILED.iter() {
                    let compiled = compiled.get_or_init(|| alone(record));
                    tried += 1;
                    if compiled.openers.may_open_call(&compiled.program, &text) {
                        continue;
                    }
                    passed += 1;
                    let response =
                        read(Some(registry.clone()), compiled.clone(), &text, FinishReason::Unknown);
                    let nothing = response.calls.is_empty() && response.rejected.is_empty();
                    assert!(nothing, "{}: {text}", record.name);
                }
            }
        }
        assert!(passed * 2 > tried, "only {passed} of {tried} trials are spared");
    }

    #[test]
    fn what_has_no_slips_is_read_with_slips_as_it_is_without() {
        let parameters = json!({"type": "object", "properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "list": {"type": "array"},
        }});
        let tools = json!([{"name": "try_it", "parameters": parameters}, {"name": "rest"}]);
        let registry = Registry::from_value(&tools).unwrap();
        let turns: &[&[(&str, &str)]] = &[
            &[("try_it", r#"{"text": "some words", "count": 3}"#)],
            &[("rest", "{}")],
            &[("try_it", r#"{"text": "one\ntwo <b>", "list": ["a", 1]}"#), ("rest", "{}")],
        ];
        let mut tried = 0;
        for record in Record::builtin() {
            let Some(twins) = twins_alone(record) else { continue };
            for turn in turns {
                let write = |id| {
                    let calls: Vec<RenderCall<'_>> =
                        turn.iter().map(|(name, arguments)| RenderCall { id, name, arguments }).collect();
                    record.render(&calls, None, None)
                };
                let Ok(text) = write(Some("a1b2c3d4e")).or_else(|_| write(None)) else { continue };
                let plain = read(Some(registry.clone()), alone(record), &text, FinishReason::Unknown);
                let slips = read(Some(registry.clone()), twins.clone(), &text, FinishReason::Unknown);
                tried += 1;
                assert_eq!(plain.calls.len(), turn.len(), "{}: {text}", record.name);
                // Calls that stand side by side are one frame with slips, so that their places may differ.
                let read = |response: &Response| -> Vec<_> {
                    let calls = response.calls.iter();
                    calls
                        .map(|call| (call.name.clone(), call.arguments.clone(), call.repairs.clone()))
                        .collect()
                };
                assert_eq!(read(&plain), read(&slips), "{}: {text}", record.name);
            }
        }
        assert!(tried > 150, "only {tried} responses were tried");
    }
}
