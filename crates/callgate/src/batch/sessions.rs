//! Sessions by requests: many conversations at once, each opened, fed and asked in JSON.
//!
//! In: `{"op", "id", …}`. Out: the same `id` and `op`, and what came of it: `events` as `callgate parse --json` writes them,
//! `feedback`, `strikes`, or an `error` as the batch contract has it. Nothing here reads or writes: whoever has the lines
//! or the handles does.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::form::one_line;
use super::gates::Asked;
use super::{BatchLine, Gates, finish_reason, without_line_ends};
use crate::event::Event;
use crate::finding::{Code, Finding};
use crate::gate::Gate;
use crate::json::Tape;
use crate::native::NativeDelta;
use crate::nearest::nearest;
use crate::profile::{Strike, StrikeLimit, StrikeMode, Strikes};
use crate::response::{Collector, Response};
use crate::session::Session;

/// What can be asked for.
pub const OPERATIONS: &[&str] =
    &["open", "push", "push_special", "reasoning", "native", "finish", "feedback", "strikes", "close"];

/// A conversation: a gate, the response that is being read, and what came of the one before it.
#[derive(Debug)]
pub struct Conversation {
    gate: Gate,
    prompt_tail: Option<String>,
    untrusted: Vec<String>,
    reading: Option<OpenResponse>,
    last: Option<Response>,
    strikes: Strikes,
    strike: Option<Strike>,
}

/// A response that is being read.
#[derive(Debug)]
struct OpenResponse {
    session: Session,
    /// What came of it, without its text, which has gone out already.
    collector: Collector,
}

impl Conversation {
    /// Opens a conversation as an object says: `tools`, `dialect`, `model`, `profile`, `policy`, `prompt_tail`,
    /// `untrusted` and `strikes`.
    pub fn open(gates: &mut Gates, asked: &Value) -> Result<Self, Finding> {
        let get = |key: &str| asked.get(key).filter(|value| !value.is_null());
        let gate = gates.get(Asked {
            tools: get("tools"),
            dialect: get("dialect"),
            profile: get("profile"),
            policy: get("policy"),
            model: text_of(asked, "model")?,
        });
        let gate = gate.map_err(|finding| unusable(finding.message.into_owned()).path(finding.path))?;
        let limit = match get("strikes") {
            Some(limit) => limit
                .as_u64()
                .filter(|limit| (1..=1000).contains(limit))
                .map(|limit| limit as usize)
                .ok_or_else(|| at("strikes", format!("`strikes` is a number from 1 to 1000, not {limit}")))?,
            None => match StrikeLimit::of(gate.profile()) {
                StrikeLimit::Count(limit) => limit,
                StrikeLimit::Retries | StrikeLimit::Turns => Strikes::default().left(),
            },
        };
        let untrusted = match get("untrusted") {
            None => Vec::new(),
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(texts)) if texts.iter().all(Value::is_string) => {
                texts.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            // What is left out would be trusted.
            Some(_) => {
                return Err(at("untrusted", "`untrusted` must be a string or a list of them".to_owned()));
            }
        };
        Ok(Conversation {
            gate,
            prompt_tail: text_of(asked, "prompt_tail")?.map(str::to_owned),
            untrusted,
            reading: None,
            last: None,
            strikes: Strikes::new(limit, StrikeMode::AtLimit),
            strike: None,
        })
    }

    /// What was forgiven in the list of tools.
    pub fn notes(&self) -> &[String] {
        self.gate.registry().map_or(&[], |registry| registry.notes())
    }

    /// Reads text; the events as a JSON list. The first text after a response has ended begins the next one.
    pub fn push(&mut self, text: &str) -> String {
        self.feed(|session, sink| session.push(text, sink))
    }

    /// Reads text that came as special tokens.
    pub fn push_special(&mut self, text: &str) -> String {
        self.feed(|session, sink| session.push_special(text, sink))
    }

    /// Passes on reasoning that came apart from the text.
    pub fn reasoning(&mut self, text: &str) -> String {
        self.feed(|session, sink| session.reasoning(text, sink))
    }

    /// Reads structured calls from their JSON text: an object is a delta of one, a list holds whole ones.
    pub fn native(&mut self, json: &str) -> Result<String, Finding> {
        match serde_json::from_str(json) {
            Ok(delta @ Value::Object(_)) => self.delta(&delta),
            Ok(Value::Array(_)) => Ok(self.feed(|session, sink| session.native_calls_text(json, sink))),
            Ok(_) => Err(unusable("a delta is an object, and whole calls are a list".to_owned())),
            Err(error) => Err(unusable(format!("this is not JSON: {error}"))),
        }
    }

    fn delta(&mut self, delta: &Value) -> Result<String, Finding> {
        const MEMBERS: [&str; 5] = ["index", "id", "name", "arguments", "done"];
        let index =
            match delta.get("index").filter(|index| !index.is_null()) {
                None => None,
                Some(index) => Some(index.as_u64().ok_or_else(|| {
                    at("delta/index", format!("`index` is the number of the call, not {index}"))
                })? as usize),
            };
        let done = match delta.get("done") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(done)) => *done,
            Some(other) => return Err(at("delta/done", format!("`done` is true or false, not {other}"))),
        };
        let keys = delta.as_object().into_iter().flat_map(|delta| delta.keys());
        if let Some(key) = keys.into_iter().find(|key| !MEMBERS.contains(&key.as_str())) {
            let known = MEMBERS.join("`, `");
            let message = format!("a delta has no member `{}`", shown(key));
            return Err(at("delta", message).help(format!("It has `{known}`.")));
        }
        let [id, name, arguments] = ["id", "name", "arguments"]
            .map(|key| text_of(delta, key).map_err(|finding| inside("delta", finding)));
        let delta = NativeDelta { index, id: id?, name: name?, arguments: arguments?, done };
        Ok(self.feed(|session, sink| session.native(delta, sink)))
    }

    /// Ends the response for this reason; the last events, and one that says how the response ended.
    pub fn finish(&mut self, word: &str) -> Result<String, Finding> {
        let reason = finish_reason(word).map_err(|problem| at("finish_reason", problem))?;
        let OpenResponse { session, mut collector } = match self.reading.take() {
            Some(reading) => reading,
            None => self.begin(),
        };
        let mut events = Vec::new();
        session.finish(reason, &mut |event| take(&mut events, &mut collector, event));
        collector.said(word);
        let response = collector.finish(reason);
        let mut list = event_list(&events);
        list.truncate(list.len() - 1);
        let comma = if events.is_empty() { "" } else { "," };
        list.push_str(&format!("{comma}{}]", finish_event(&response)));
        self.strike = self.strikes.judge(&response, &self.gate);
        self.last = Some(response);
        Ok(list)
    }

    /// A whole response at once, as the batch contract writes it. It leaves the conversation as it is.
    pub fn parse(&self, text: &str, word: &str) -> Result<String, Finding> {
        let reason = finish_reason(word).map_err(|problem| at("finish_reason", problem))?;
        let mut collector = Response::collector();
        let OpenResponse { mut session, .. } = self.begin();
        session.push(text, &mut |event| collector.push(event));
        session.finish(reason, &mut |event| collector.push(event));
        collector.said(word);
        let response = serde_json::to_string(&collector.finish(reason)).unwrap_or_default();
        Ok(without_line_ends(one_line(response)))
    }

    /// The message that tells the model what to correct in the last response, as a JSON string; null if there is nothing.
    pub fn feedback(&self) -> Result<String, Finding> {
        let feedback = self.gate.profile().feedback(self.last()?, self.gate.registry());
        Ok(without_line_ends(Value::from(feedback).to_string()))
    }

    /// How many responses in a row were rejected, and what was wrong with the last one, as a JSON object.
    pub fn strikes(&self) -> Result<String, Finding> {
        self.last()?;
        let mut strikes = json!({"count": self.strikes.count(), "left": self.strikes.left()});
        if let Some(strike) = &self.strike {
            strikes["is_last"] = Value::from(strike.is_last);
            strikes["code"] = json!(strike.code);
            strikes["message"] = Value::from(strike.message.as_str());
            strikes["details"] = Value::from(strike.details.as_str());
        }
        Ok(without_line_ends(strikes.to_string()))
    }

    fn last(&self) -> Result<&Response, Finding> {
        self.last.as_ref().ok_or_else(|| Finding::new(Code::NoResponse).path("/op"))
    }

    fn begin(&self) -> OpenResponse {
        let mut session = self.gate.session();
        if let Some(tail) = &self.prompt_tail {
            session = session.with_prompt_tail(tail);
        }
        self.untrusted.iter().for_each(|text| session.untrusted(text));
        OpenResponse { session, collector: Response::collector() }
    }

    fn feed(&mut self, feed: impl FnOnce(&mut Session, &mut dyn FnMut(Event<'_>))) -> String {
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            None => self.begin(),
        };
        let mut events = Vec::new();
        feed(&mut reading.session, &mut |event| take(&mut events, &mut reading.collector, event));
        self.reading = Some(reading);
        event_list(&events)
    }
}

/// The conversations that are open, by their ids.
#[derive(Debug)]
pub struct Desk {
    gates: Gates,
    most: usize,
    open: HashMap<String, Conversation>,
}

impl Desk {
    /// A desk for so many conversations at once. The gates say what holds for those that do not say it themselves.
    pub fn new(gates: Gates, most: usize) -> Self {
        Desk { gates, most, open: HashMap::new() }
    }

    /// The answer to one request: a line without a line break.
    pub fn answer(&mut self, line: &str) -> String {
        let request = match BatchLine::parse(line) {
            Ok(request) => request,
            Err(finding) => {
                let finding = unusable(finding.message.into_owned());
                return failed(&Value::Null, &Value::Null, &finding);
            }
        };
        let [id, op] = ["id", "op"].map(|key| request.value().get(key).unwrap_or(&Value::Null));
        match self.operate(id, op, &request) {
            Ok(members) => {
                let comma = if members.is_empty() { "" } else { "," };
                one_line(format!("{{\"id\":{id},\"op\":{op}{comma}{members}}}"))
            }
            Err(finding) => failed(id, op, &finding),
        }
    }

    /// Forgets the conversation that a request is about: what it was is not certain any more.
    pub fn forget(&mut self, line: &str) -> Value {
        let request: Value = serde_json::from_str(line).unwrap_or_default();
        let id = request.get("id").cloned().unwrap_or_default();
        self.open.remove(&id.to_string());
        id
    }

    fn operate(&mut self, id: &Value, op: &Value, request: &BatchLine<'_>) -> Result<String, Finding> {
        let value = request.value();
        if !(id.is_string() || id.is_u64()) {
            return Err(
                at("id", "`id` must be a string or a number".to_owned()).help("Name the conversation.")
            );
        }
        let Some(op) = op.as_str().filter(|op| OPERATIONS.contains(op)) else {
            let help = match nearest(op.as_str().unwrap_or_default(), OPERATIONS.iter().copied()).as_slice() {
                [] => format!("There are {}.", OPERATIONS.join(", ")),
                near => format!("Did you mean {}?", near.join(" or ")),
            };
            let asked = op.as_str().map_or_else(|| op.to_string(), str::to_owned);
            return Err(at("op", format!("there is no operation `{}`", shown(&asked))).help(help));
        };
        let key = id.to_string();
        if op == "open" {
            if self.open.contains_key(&key) {
                return Err(Finding::new(Code::SessionOpen).path("/id"));
            }
            if self.open.len() >= self.most {
                let message = format!("there are {} conversations open already", self.most);
                return Err(Finding::new(Code::TooManySessions).message(message).path("/op"));
            }
            request
                .check_policy()
                .map_err(|finding| unusable(finding.message.into_owned()).path(finding.path))?;
            let conversation = Conversation::open(&mut self.gates, value)?;
            let notes = json!(conversation.notes());
            self.open.insert(key, conversation);
            return Ok(without_line_ends(format!("\"notes\":{notes}")));
        }
        let unknown = || Finding::new(Code::UnknownSession).path("/id");
        if op == "close" {
            return self.open.remove(&key).map(|_| String::new()).ok_or_else(unknown);
        }
        let conversation = self.open.get_mut(&key).ok_or_else(unknown)?;
        let text = || match text_of(value, "text")? {
            Some(text) => Ok(text),
            None => Err(at("text", "`text` is missing".to_owned())),
        };
        let events = match op {
            "push" => conversation.push(text()?),
            "push_special" => conversation.push_special(text()?),
            "reasoning" => conversation.reasoning(text()?),
            "native" => native(conversation, request)?,
            "finish" => conversation.finish(text_of(value, "finish_reason")?.unwrap_or_default())?,
            "feedback" => return Ok(format!("\"feedback\":{}", conversation.feedback()?)),
            _ => return Ok(format!("\"strikes\":{}", conversation.strikes()?)),
        };
        Ok(format!("\"events\":{events}"))
    }
}

/// Reads `delta` or `calls` of a request, as they were written: digits and order are not in the value.
fn native(conversation: &mut Conversation, request: &BatchLine<'_>) -> Result<String, Finding> {
    let is_there = |key: &&str| request.value().get(*key).is_some_and(|value| !value.is_null());
    let (key, kind) = match ["delta", "calls"].into_iter().find(|key| is_there(key)) {
        Some("delta") => ("delta", Value::is_object as fn(&Value) -> bool),
        Some(_) => ("calls", Value::is_array as fn(&Value) -> bool),
        None => return Err(at("delta", "`delta` and `calls` are both missing".to_owned())),
    };
    if !request.value().get(key).is_some_and(kind) {
        let what = if key == "delta" { "an object" } else { "a list" };
        return Err(at(key, format!("`{key}` must be {what}")));
    }
    let text = request.text();
    let written = Tape::parse(text).and_then(|tape| Some(tape.raw(text, tape.member(text, 0, key)?)));
    match written {
        Some(written) => conversation.native(written),
        None => conversation.native(&request.value()[key].to_string()),
    }
}

/// Appends an event, or joins it to the last one if it only continues that: what is left does not depend on the chunks.
pub fn join(events: &mut Vec<Event<'static>>, event: Event<'static>) {
    match (events.last_mut(), event) {
        (Some(Event::Text { text, span, .. }), Event::Text { text: more, span: next, .. })
        | (Some(Event::Reasoning { text, span, .. }), Event::Reasoning { text: more, span: next, .. })
            if span.end == next.start =>
        {
            text.to_mut().push_str(&more);
            span.end = next.end;
        }
        (Some(Event::Markup { span, .. }), Event::Markup { span: next, .. }) if span.end == next.start => {
            span.end = next.end
        }
        (
            Some(Event::ArgumentsDelta { attempt, delta, .. }),
            Event::ArgumentsDelta { attempt: same, delta: more, .. },
        ) if *attempt == same => delta.to_mut().push_str(&more),
        (_, event) => events.push(event),
    }
}

/// An event as JSON text in one line. The arguments are written as the model wrote them, and a line break between two of
/// them is only white space.
pub fn event_line(event: &Event<'_>) -> Result<String, String> {
    serde_json::to_string(event).map(one_line).map_err(|error| error.to_string())
}

/// The event that ends a response in JSON: how it ended as a whole.
pub fn finish_event(response: &Response) -> Value {
    json!({
        "event": "finish",
        "finish_reason": response.finish_word(),
        "calls": response.calls.len(),
        "rejected": response.rejected.len(),
    })
}

fn event_list(events: &[Event<'static>]) -> String {
    let lines: Vec<String> = events.iter().filter_map(|event| event_line(event).ok()).collect();
    without_line_ends(format!("[{}]", lines.join(",")))
}

fn take(events: &mut Vec<Event<'static>>, collector: &mut Collector, event: Event<'_>) {
    let event = event.into_owned();
    // The text has gone out with the events, and nothing here asks for it again.
    if !matches!(event, Event::Text { .. } | Event::Reasoning { .. }) {
        collector.push(event.clone());
    }
    join(events, event);
}

/// A member that must be a text where it is there.
fn text_of<'v>(value: &'v Value, key: &str) -> Result<Option<&'v str>, Finding> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(at(key, format!("`{key}` must be a string, not {}", shown(&other.to_string())))),
    }
}

/// The error about a request that cannot be used.
pub fn unusable(message: String) -> Finding {
    Finding::new(Code::BadRequest).message(message)
}

fn at(member: &str, message: String) -> Finding {
    unusable(message).path(format!("/{member}"))
}

fn inside(member: &str, finding: Finding) -> Finding {
    let path = format!("/{member}{}", finding.path);
    finding.path(path)
}

/// The start of something that stands in a message.
fn shown(text: &str) -> String {
    text.chars().take(64).flat_map(char::escape_debug).collect()
}

fn failed(id: &Value, op: &Value, finding: &Finding) -> String {
    without_line_ends(format!("{{\"id\":{id},\"op\":{op},\"error\":{}}}", json!(finding)))
}
