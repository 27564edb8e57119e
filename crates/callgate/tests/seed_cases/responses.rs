//! Cases about responses: what reaches a session, in which order and in which chunks, and every part of what comes out.

use std::collections::BTreeSet;

use callgate::{Event, FinishReason, NativeDelta, Response};
use serde_json::{Value, json};

use crate::forms::{Outcome, outcome, strict_xml};
use crate::support::{self, Feed, coalesce, ended, fold, rejections, same, text};
use crate::{Case, generate, missing, strings};

/// One thing that reaches a session.
enum Step {
    Text(String),
    Calls(Value),
    Delta(Value),
}

/// What one run of a session gave.
struct Run {
    events: Vec<Event<'static>>,
    /// How many of the events came before the end.
    before_end: usize,
    /// The text that had come by then.
    shown: String,
    finish: FinishReason,
}

impl Run {
    fn response(&self) -> Response {
        ended(&self.events, self.finish)
    }
}

impl Case<'_> {
    pub(crate) fn session_faults(&self) -> Vec<String> {
        let (steps, finish) = self.steps();
        let text: String = steps
            .iter()
            .filter_map(|s| if let Step::Text(t) = s { Some(t.as_str()) } else { None })
            .collect();
        let run = self.run(&steps, finish);
        let response = run.response();
        let outcome = outcome(&self.gate, &response, &text);
        let mut faults = self.outcome_faults(&outcome);
        faults.extend(self.stream_faults(&run, &steps, &text));
        if let Some(pieces) = self.expect["model_message_has"].as_array() {
            faults.extend(missing("the message to the model", &outcome.feedback, pieces));
        }
        if self.expect.get("mistakes").is_some() || self.expect.get("error_fields").is_some() {
            let turn = strict_xml::turn(&mut strict_xml::strikes(self.config), &self.gate, &response);
            faults.extend(self.fault("mistakes", json!(turn.mistakes)));
            let fields =
                self.expect["error_fields"].as_array().into_iter().flatten().filter_map(Value::as_str);
            faults.extend(
                fields.filter(|f| turn.record.get(f).is_none()).map(|f| format!("the error has no `{f}`")),
            );
        }
        if !faults.is_empty() {
            faults.push(format!("({:?}; {})", outcome.kind, rejections(&response)));
        }
        faults
    }

    /// What reaches the session, and the provider's reason at the end.
    fn steps(&self) -> (Vec<Step>, FinishReason) {
        let input = self.input;
        let mut steps = Vec::new();
        let mut finish = FinishReason::Stop;
        if let Some(text) = input["text"].as_str().or(input["stream_all_splits_text"].as_str()) {
            steps.push(Step::Text(text.to_owned()));
        }
        for chunk in input["chunks"].as_array().into_iter().flatten() {
            steps.extend(chunk.as_str().map(|chunk| Step::Text(chunk.to_owned())));
        }
        for generated in [&input["text_gen"], &input["chunks_gen"]].into_iter().filter(|g| g.is_object()) {
            let text = generate(generated);
            let size = generated["chunk"].as_u64().map_or(text.len(), |size| size as usize);
            let characters: Vec<char> = text.chars().collect();
            steps.extend(characters.chunks(size).map(|chunk| Step::Text(chunk.iter().collect())));
        }
        for calls in [&input["tool_calls"], &input["stream_all_splits"]] {
            if !calls.is_null() || input.get("tool_calls").is_some_and(Value::is_null) {
                steps.push(Step::Calls(calls.clone()));
            }
        }
        if input["tool_calls_gen"].is_object() {
            steps.push(Step::Calls(generated_call(&input["tool_calls_gen"])));
        }
        for delta in input["deltas"].as_array().into_iter().flatten() {
            steps.push(Step::Delta(delta.clone()));
        }
        let whole = input.get("response").into_iter();
        for part in whole.chain(input["stream"].as_array().into_iter().flatten()) {
            let message = &part["message"];
            steps.push(Step::Text(text(message, "content").to_owned()));
            steps.push(Step::Calls(message["tool_calls"].clone()));
            if let Some(reason) = part["done_reason"].as_str() {
                finish = FinishReason::from_word(reason);
            }
        }
        (steps, finish)
    }

    fn run(&self, steps: &[Step], finish: FinishReason) -> Run {
        let mut session = self.gate.session();
        if let Some(prefix) = self.config["id_prefix"].as_str() {
            session = session.with_id_prefix(prefix);
        }
        let mut events = Vec::new();
        let mut sink = |event: Event<'_>| coalesce(&mut events, event);
        for step in steps {
            match step {
                Step::Text(text) => session.push(text, &mut sink),
                Step::Calls(calls) => session.native_calls(calls, &mut sink),
                Step::Delta(delta) => {
                    let delta = NativeDelta {
                        index: delta["index"].as_u64().map(|index| index as usize),
                        id: delta["id"].as_str(),
                        name: delta["name"].as_str(),
                        arguments: delta["args"].as_str(),
                        done: delta["done"] == true,
                    };
                    session.native(delta, &mut sink);
                }
            }
        }
        let before_end = events.len();
        let shown = ended(&events, finish).text;
        session.finish(finish, &mut |event| coalesce(&mut events, event));
        Run { events, before_end, shown, finish }
    }

    /// What depends on how the input came: the order of events, the cutting, and a second run.
    fn stream_faults(&self, run: &Run, steps: &[Step], text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let (_, finish) = self.steps();
        if self.input.get("repeat").is_some() {
            let again = self.run(steps, finish);
            faults.extend(self.fault("identical_runs", json!(again.events == run.events)));
        }
        if let Some(shown) = self.expect["shown_text"].as_str() {
            let found = &run.shown;
            faults.extend(
                (fold(shown) != fold(found)).then(|| format!("shown: expected {shown:?}, found {found:?}")),
            );
        }
        if self.expect.get("flush_before_end").is_some() {
            let early = &run.events[..run.before_end];
            let ids: Vec<_> = early
                .iter()
                .filter_map(|e| if let Event::Call(c) = e { Some(&c.id) } else { None })
                .collect();
            let started = early.iter().filter(|event| matches!(event, Event::CallStarted { .. })).count();
            faults.extend(self.fault("flush_before_end", json!(ids)));
            faults.extend(self.fault("pending", json!(started - ids.len())));
        }
        if self.expect["same_for_every_split"] == true {
            faults.extend(self.split_fault(run, text));
        }
        if let Some(expected) = self.expect["per_chunk"].as_array() {
            let chunks: Vec<String> = strings(&self.input["chunks"]);
            for (number, report) in strict_xml::reports(&self.gate, &chunks).into_iter().enumerate() {
                let found = json!({"complete": report.0, "detected": report.1, "buffer": report.2});
                if expected.get(number) != Some(&found) {
                    let wanted = expected.get(number).cloned().unwrap_or_default();
                    faults.push(format!("after chunk {number}: expected {wanted}, found {found}"));
                }
            }
        }
        if self.config["early_interrupt"] == true {
            let chunks: Vec<String> = strings(&self.input["chunks"]);
            let reports = strict_xml::reports(&self.gate, &chunks);
            let complete = reports.iter().position(|report| report.0);
            faults.extend(self.fault("interrupted", json!(complete.is_some())));
            faults.extend(self.fault("chunks_used", json!(complete.map_or(chunks.len(), |at| at + 1))));
        }
        faults
    }

    /// The first cutting that gives another result, for a text or for a structured call.
    fn split_fault(&self, run: &Run, text: &str) -> Option<String> {
        let Some(call) = self.input["stream_all_splits"].get(0) else {
            let feed = Feed::new(&self.gate);
            let cut = (0..=text.len()).find(|&at| feed.cut(text.as_bytes(), &[at]) != run.events);
            return cut.map(|at| format!("cut at {at}, the events are others"));
        };
        let arguments = support::text(&call["function"], "arguments");
        let places = arguments.char_indices().map(|(at, _)| at);
        let whole = run.response();
        let mut cuts = places.filter(|&at| {
            let (head, tail) = arguments.split_at(at);
            let name = &call["function"]["name"];
            let steps = [
                Step::Delta(json!({"index": 0, "id": call["id"], "name": name, "args": head, "done": false})),
                Step::Delta(json!({"index": 0, "id": null, "name": null, "args": tail, "done": true})),
            ];
            self.run(&steps, FinishReason::Stop).response().calls != whole.calls
        });
        cuts.next().map(|at| format!("with the arguments cut at {at}, the calls are others"))
    }

    /// Everything that does not depend on time.
    fn outcome_faults(&self, outcome: &Outcome) -> Vec<String> {
        let expect = self.expect;
        let mut faults = Vec::new();
        if let Some(kind) = expect["kind"].as_str() {
            let plain = |kind: &str| matches!(kind, "none" | "text");
            if kind != outcome.kind && !(plain(kind) && plain(&outcome.kind)) {
                faults.push(format!("kind: expected {kind}, found {}", outcome.kind));
            }
        }
        if let Some(text) = expect["text"].as_str() {
            let found = &outcome.text;
            faults.extend(
                (fold(text) != fold(found)).then(|| format!("text: expected {text:?}, found {found:?}")),
            );
        }
        if let Some(pieces) = expect["text_has"].as_array() {
            faults.extend(missing("the text", &outcome.text, pieces));
        }
        let names: Vec<&str> = outcome.calls.iter().map(|call| call.name.as_str()).collect();
        faults.extend(self.fault("runs", json!(names)));
        for note in strings(&expect["notes"]) {
            let found = &outcome.notes;
            faults
                .extend((!found.contains(&note.as_str())).then(|| format!("no note {note}, only {found:?}")));
        }
        faults.extend(self.call_faults(outcome));
        faults.extend(self.problem_faults(outcome));
        faults.extend(outcome.success.and_then(|found| self.fault("success", json!(found))));
        faults.extend(outcome.retry.and_then(|found| self.fault("retry", json!(found))));
        faults.extend(outcome.raw.as_ref().and_then(|found| self.fault("raw", json!(found))));
        faults.extend(self.fault("display", json!(outcome.display)));
        faults.extend(self.fault("parse_error", json!(outcome.parse_error)));
        faults.extend(outcome.suggestion.as_ref().and_then(|found| self.fault("suggestion", json!(found))));
        let suggested = outcome.suggestion.as_ref().is_some_and(|suggestion| !suggestion.is_empty());
        faults.extend(self.fault("suggestion_nonempty", json!(suggested)));
        faults.extend(outcome.all_succeeded.and_then(|found| self.fault("all_succeeded", json!(found))));
        faults.extend(outcome.total.and_then(|found| self.fault("total", json!(found))));
        faults.extend(self.fault("finish_reason", json!(outcome.finish_reason)));
        faults
    }

    fn call_faults(&self, outcome: &Outcome) -> Vec<String> {
        let expect = self.expect;
        let mut faults = Vec::new();
        if let Some(calls) = expect["calls"].as_array() {
            let found: Vec<_> = outcome.calls.iter().map(|c| format!("{}{}", c.name, c.arguments)).collect();
            let same_calls = calls.len() == found.len()
                && calls.iter().zip(&outcome.calls).all(|(wanted, call)| {
                    call.name == wanted["name"]
                        && wanted.get("arguments").is_none_or(|arguments| same(arguments, &call.value()))
                        && holds(&wanted["arguments_has"], &call.value())
                        && wanted.get("id").is_none_or(|id| call.id == *id)
                        && call.after == strings(&wanted["after"])
                        && wanted["id_matches"].as_str().is_none_or(|pattern| matches_id(pattern, &call.id))
                });
            if !same_calls {
                faults.push(format!("calls: expected {}, found {found:?}", expect["calls"]));
            }
        }
        let ids: Vec<&str> = outcome.calls.iter().map(|call| call.id.as_str()).collect();
        faults.extend(self.fault("ids", json!(ids)));
        faults.extend(self.fault("first_id", json!(ids.first())));
        faults.extend(self.fault("distinct_ids", json!(ids.iter().collect::<BTreeSet<_>>().len())));
        faults.extend(self.fault("raw_arguments", json!(outcome.calls.first().map(|call| &call.arguments))));
        for (key, length) in expect["argument_length"].as_object().into_iter().flatten() {
            let value = outcome.calls.first().map(callgate::Call::value).unwrap_or_default();
            let found = value[key].as_str().map_or(0, str::len);
            faults.extend((*length != found).then(|| format!("{key} has {found} bytes, not {length}")));
        }
        if let Some(words) = expect["repairs"].as_array() {
            let wanted: BTreeSet<&str> = words.iter().filter_map(Value::as_str).collect();
            let found: BTreeSet<String> = outcome
                .calls
                .iter()
                .flat_map(|c| &c.repairs)
                .map(|r| r.code.word().replace('-', "_"))
                .collect();
            if !wanted.iter().copied().eq(found.iter().map(String::as_str)) {
                faults.push(format!("repairs: expected {wanted:?}, found {found:?}"));
            }
        }
        faults
    }

    /// Every expected error is there, and none of another kind; calls that fall with a rejected one are no error of
    /// their own.
    fn problem_faults(&self, outcome: &Outcome) -> Vec<String> {
        let Some(expected) = self.expect["errors"].as_array() else { return Vec::new() };
        let mut faults = Vec::new();
        for wanted in expected {
            let matching = outcome.problems.iter().find(|problem| {
                problem.kind == wanted["kind"]
                    && wanted["code"].as_str().is_none_or(|code| problem.code.as_deref() == Some(code))
                    && wanted["tool"].as_str().is_none_or(|tool| problem.tool.as_deref() == Some(tool))
            });
            match matching {
                None => faults.push(format!("no error {wanted} in {:?}", outcome.problems)),
                Some(problem) => {
                    let said = format!("{}\n{}", problem.message, outcome.feedback);
                    let pieces = wanted["message_has"].as_array().map_or(&[][..], Vec::as_slice);
                    faults.extend(missing("the error", &said, pieces));
                }
            }
        }
        let unasked = outcome.problems.iter().filter(|problem| {
            problem.kind != "sibling_refused" && !expected.iter().any(|wanted| problem.kind == wanted["kind"])
        });
        faults.extend(unasked.map(|problem| format!("unexpected error {problem:?}")));
        let first = outcome.problems.first();
        faults.extend(self.fault("error_raw_arguments", json!(first.and_then(|p| p.raw_arguments.as_ref()))));
        faults.extend(self.fault("error_position", json!(first.and_then(|p| p.position))));
        faults
    }
}

/// A structured call whose arguments are too large or too deep.
fn generated_call(spec: &Value) -> Value {
    let arguments = match (spec["content_bytes"].as_u64(), spec["depth"].as_u64()) {
        (Some(bytes), _) => json!({"path": "a", "content": "x".repeat(bytes as usize)}).to_string(),
        // The object itself is the first level.
        (_, Some(depth)) => {
            let inner = depth as usize - 1;
            format!("{{\"path\":{}{}}}", "[".repeat(inner), "]".repeat(inner))
        }
        _ => panic!("unknown generator {spec}"),
    };
    json!([{"id": "c1", "function": {"name": spec["name"], "arguments": arguments}}])
}

/// The two patterns that the cases use: a prefix, and a prefix followed by digits.
fn matches_id(pattern: &str, id: &str) -> bool {
    let pattern = pattern.trim_start_matches('^');
    match pattern.strip_suffix("[0-9]+$") {
        None => id.starts_with(pattern),
        Some(prefix) => {
            let digits = id.strip_prefix(prefix).unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
    }
}

/// Whether arguments have these members: a text as it is, or a text in which all of a list stand.
fn holds(members: &Value, arguments: &Value) -> bool {
    members.as_object().into_iter().flatten().all(|(key, wanted)| match wanted {
        Value::Array(pieces) => {
            let text = arguments[key].as_str().unwrap_or_default();
            pieces.iter().filter_map(Value::as_str).all(|piece| text.contains(piece))
        }
        wanted => arguments[key] == *wanted,
    })
}
