//! Judging an answer: which of the properties hold, by the same gate that reads calls everywhere.

use callgate::{Call, FinishReason, Gate, Response};
use callgate_agent::model::{BodyKind, ModelChunk};
use serde_json::Value;

use super::ask::Answered;
use super::request::can_forbid_parallel;
use super::{
    EndpointApi, Expectation, Score, SeenAnswer, SeenCall, TEXT, Task, TaskChoice, TaskReport, Waits,
};
use callgate_agent::report::Part;

/// How many failures of a measure are kept.
const KEPT: usize = 5;
/// How many answers to a task are kept to be looked at, and how many more that failed.
const LOOKED_AT: usize = 4;

/// What was found out so far.
#[derive(Default)]
pub(super) struct Sheet {
    scores: Vec<Score>,
    first_arguments: Vec<u64>,
    /// The task that is being asked.
    task: String,
    of_task: Vec<Score>,
    answers: Vec<SeenAnswer>,
    /// What did not hold in the answer that is being judged.
    failed: Vec<&'static str>,
}

impl Sheet {
    /// Begins a task.
    pub(super) fn begin(&mut self, task: &str) {
        task.clone_into(&mut self.task);
    }

    /// Ends it.
    pub(super) fn end(&mut self) -> TaskReport {
        self.failed.clear();
        TaskReport {
            name: std::mem::take(&mut self.task),
            scores: std::mem::take(&mut self.of_task),
            answers: std::mem::take(&mut self.answers),
        }
    }

    /// Notes whether a property held.
    pub(super) fn note(&mut self, measure: &'static str, holds: bool, why: impl FnOnce() -> String) {
        let failure = (!holds).then(|| format!("{}: {}", self.task, why()));
        for (scores, failure) in [(&mut self.of_task, None), (&mut self.scores, failure)] {
            let at = scores.iter().position(|score| score.measure == measure).unwrap_or_else(|| {
                scores.push(Score { measure, ..Score::default() });
                scores.len() - 1
            });
            let score = &mut scores[at];
            score.of += 1;
            score.held += u32::from(holds);
            // Plain and streamed often fail alike.
            let is_new = |failure: &String| score.failures.len() < KEPT && !score.failures.contains(failure);
            let failure = failure.filter(is_new);
            score.failures.extend(failure);
        }
        if !holds {
            self.failed.push(measure);
        }
    }

    /// Keeps an answer to be looked at, if there is room.
    pub(super) fn keep(&mut self, mut answer: SeenAnswer) {
        answer.failed = std::mem::take(&mut self.failed);
        let most = if answer.failed.is_empty() { LOOKED_AT } else { 2 * LOOKED_AT };
        if self.answers.len() < most {
            self.answers.push(answer);
        }
    }

    pub(super) fn score(&self, measure: &'static str) -> Score {
        let known = self.scores.iter().find(|score| score.measure == measure);
        known.cloned().unwrap_or(Score { measure, ..Score::default() })
    }

    pub(super) fn first_argument(&mut self) -> Option<Waits> {
        let times = &mut self.first_arguments;
        times.sort_unstable();
        let of = u32::try_from(times.len()).unwrap_or(u32::MAX);
        Some(Waits { median_ms: *times.get(times.len() / 2)?, longest_ms: *times.last()?, of })
    }
}

/// Looks at one answer, and gives the names of the tools that it called.
pub(super) fn judge(
    gate: &Gate,
    api: EndpointApi,
    task: &Task,
    answer: Answered,
    sheet: &mut Sheet,
) -> Vec<String> {
    let Answered { body, streamed, first_argument, took } = answer;
    sheet.first_arguments.extend(first_argument.map(millis));
    let (mut native, mut text) = (Response::collector(), String::new());
    let mut session = gate.session();
    for chunk in &body.chunks {
        match chunk {
            ModelChunk::Text(more) => text.push_str(more),
            other => other.feed(&mut session, &mut |event| native.push(event)),
        }
    }
    session.finish(FinishReason::Stop, &mut |event| native.push(event));
    let native = native.finish(body.reason);
    let mut parts = Vec::new();
    let in_text = read(gate, &text, &mut parts);
    let tried = native.calls.len() + native.rejected.len();
    let excerpt = || text.chars().take(80).collect::<String>();
    let ending = || format!("{} with {tried} calls", body.word.as_deref().unwrap_or("nothing"));

    for rejected in &native.rejected {
        sheet.note("schema", false, || reasons(&rejected.findings));
    }
    for call in &native.calls {
        sheet.note("schema", changes(call).is_empty(), || changes(call));
    }
    let lost: Vec<&str> = in_text.calls.iter().map(|call| call.name.as_str()).collect();
    let is_empty = tried == 0 && text.trim().is_empty() && native.reasoning.trim().is_empty();
    // Of an answer that may hold no call, nothing may be left when the markup of one is taken out.
    let is_empty = is_empty && body.reason != FinishReason::Length && task.choice != Some(TaskChoice::None);
    sheet.note("nothing lost", lost.is_empty() && !is_empty, || match is_empty {
        true => "neither text nor a call".to_owned(),
        false => format!("{} in the text", lost.join(", ")),
    });
    let is_clean = in_text.calls.is_empty() && in_text.rejected.is_empty() && in_text.findings.is_empty();
    sheet.note("no leaks", is_clean, excerpt);
    let is_cut_task = task.expects == Some(Expectation::CutOff);
    // Only these have a word for it.
    let has_word = matches!(body.kind, BodyKind::ChatCompletion | BodyKind::Anthropic);
    if has_word && !is_cut_task {
        let says_called = body.reason == FinishReason::ToolCalls;
        sheet.note("finish reason", says_called == (tried > 0), ending);
    }
    let ids = ids(&body.chunks);
    if !ids.is_empty() && body.kind != BodyKind::Ollama {
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        let is_unique = unique.len() == ids.len() && !ids.iter().any(String::is_empty);
        sheet.note("ids", is_unique, || format!("the ids are {ids:?}"));
    }
    match &task.choice {
        Some(TaskChoice::Required) => sheet.note("required", tried > 0, excerpt),
        Some(TaskChoice::Named(name)) => {
            let is_named = |called: &str| called == name.as_str();
            let is_all = native.calls.iter().all(|call| is_named(&call.name))
                && native.rejected.iter().all(|call| call.name.as_deref().is_some_and(is_named));
            sheet.note("required", tried > 0 && is_all, excerpt);
        }
        Some(TaskChoice::None) => sheet.note("none", tried == 0, || format!("{tried} calls")),
        None => {}
    }
    if !task.parallel && can_forbid_parallel(api) {
        sheet.note("parallel off", tried <= 1, || format!("{tried} calls"));
    }
    let is_called = tried > 0;
    match &task.expects {
        Some(Expectation::CutOff) => {
            let is_told = body.reason == FinishReason::Length && native.rejected.is_empty();
            // A short answer may have been done in time, in words or in whole calls.
            let done = if is_called { FinishReason::ToolCalls } else { FinishReason::Stop };
            let is_done = body.reason == done && native.rejected.is_empty();
            sheet.note("cut off", is_told || is_done, ending);
        }
        Some(Expectation::Call) => sheet.note("called", is_called, excerpt),
        Some(Expectation::Calls(wanted)) => {
            if !wanted.is_empty() {
                sheet.note("called", is_called, excerpt);
            }
            let is_right = native.rejected.is_empty() && are_those(wanted, &native.calls);
            sheet.note("expected", is_right, || {
                let seen = native.calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
                let seen: Vec<String> = seen.collect();
                if seen.is_empty() { "no call".to_owned() } else { seen.join(", ") }
            });
        }
        None => {}
    }
    sheet.keep(seen(streamed, &text, parts, &native, body.word, millis(took)));
    let mut names: Vec<String> = native.calls.into_iter().map(|call| call.name).collect();
    names.sort_unstable();
    names
}

/// The ids of the calls as the server gave them, empty where it gave none. The gate makes them whole, so they are looked
/// for before it.
fn ids(chunks: &[ModelChunk]) -> Vec<String> {
    let mut ids: Vec<(Option<usize>, String)> = Vec::new();
    for chunk in chunks {
        match chunk {
            ModelChunk::Calls(list) => {
                let list: Vec<Value> = serde_json::from_str(list).unwrap_or_default();
                let id = |call: &Value| call["id"].as_str().unwrap_or_default().to_owned();
                ids.extend(list.iter().map(|call| (None, id(call))));
            }
            ModelChunk::Delta { index, id, name, .. } => {
                let id = id.as_deref().unwrap_or_default();
                let known = match index {
                    Some(_) => ids.iter_mut().find(|(known, _)| known == index),
                    // Without a number, a name or an id begins a call.
                    None if name.is_some() || !id.is_empty() => None,
                    None => ids.last_mut(),
                };
                match known {
                    Some((_, known)) if known.is_empty() => id.clone_into(known),
                    Some(_) => {}
                    None => ids.push((*index, id.to_owned())),
                }
            }
            _ => {}
        }
    }
    ids.into_iter().map(|(_, id)| id).collect()
}

/// What the gate makes of the text of an answer, and of its parts.
fn read(gate: &Gate, text: &str, parts: &mut Vec<Part>) -> Response {
    let mut collector = Response::collector();
    let mut sink = |event: callgate::Event<'_>| {
        Part::note(parts, &event);
        collector.push(event);
    };
    let mut session = gate.session();
    session.push(text, &mut sink);
    session.finish(FinishReason::Stop, &mut sink);
    parts.sort_by_key(|part| part.start);
    collector.finish(FinishReason::Stop)
}

/// Whether the calls are those, in any order, with the arguments that matter.
fn are_those(wanted: &[(String, serde_json::Map<String, Value>)], calls: &[Call]) -> bool {
    let mut left: Vec<(&str, Value)> = calls.iter().map(|call| (call.name.as_str(), call.value())).collect();
    for (name, arguments) in wanted {
        let fits = |(called, value): &(&str, Value)| {
            called == name && arguments.iter().all(|(key, wanted)| value.get(key) == Some(wanted))
        };
        let Some(at) = left.iter().position(fits) else { return false };
        left.swap_remove(at);
    }
    left.is_empty()
}

fn seen(
    streamed: bool,
    text: &str,
    mut parts: Vec<Part>,
    native: &Response,
    word: Option<String>,
    millis: u64,
) -> SeenAnswer {
    let end = text.floor_char_boundary(TEXT.min(text.len()));
    parts.retain(|part| part.start < end);
    parts.iter_mut().for_each(|part| part.end = part.end.min(end));
    let stands = native.calls.iter().map(|call| SeenCall {
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        stands: true,
        remarks: changes(call),
    });
    let rejected = native.rejected.iter().map(|rejected| SeenCall {
        name: rejected.name.clone().unwrap_or_default(),
        arguments: rejected.raw.clone(),
        stands: false,
        remarks: reasons(&rejected.findings),
    });
    SeenAnswer {
        streamed,
        text: text[..end].to_owned(),
        parts,
        calls: stands.chain(rejected).collect(),
        ended: word.unwrap_or_default(),
        millis,
        ..SeenAnswer::default()
    }
}

fn reasons(findings: &[callgate::Finding]) -> String {
    findings.iter().map(|finding| finding.message.as_ref()).collect::<Vec<_>>().join("; ")
}

/// What would have to be changed in a call.
fn changes(call: &Call) -> String {
    let repairs = call.repairs.iter().map(|repair| repair.code.word().to_owned());
    let coercions = call.coercions.iter().map(|coercion| coercion.code.to_string());
    repairs.chain(coercions).collect::<Vec<_>>().join(", ")
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
