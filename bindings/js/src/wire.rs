//! Wire: events and responses as they cross the border, one JSON text for all that a chunk gave.
//!
//! What comes with almost every chunk is short: text is `[0, text, span, place in UTF-16]`, reasoning `[1, …]` and a delta of arguments
//! `[2, attempt, delta]`. Any other event is what the crate writes, `{"event": …}`. Where its places are other numbers in UTF-16 than in bytes it is
//! `{"of": event, "units": places}`, and a call is `{"json": its event as text, "arguments": their text}`, since
//! JavaScript would lose digits of what it decodes.

use callgate::internal::batch;
use callgate::{Event, FinishReason, Response, Span};
use serde::Serialize;

use crate::errors::Told;
use crate::units::{Pair, Units};

/// The events of one crossing.
pub(crate) struct Events {
    out: Vec<u8>,
}

impl Events {
    pub(crate) fn new() -> Self {
        let mut out = Vec::with_capacity(128);
        out.push(b'[');
        Events { out }
    }

    pub(crate) fn push(&mut self, event: &Event<'_>, units: &Units) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        let place = || event.accounts_for().map(|span| units.pair(span));
        match event {
            Event::Text { text, span, .. } => self.put(&(0, text, span, place())),
            Event::Reasoning { text, span, .. } => self.put(&(1, text, span, place())),
            Event::ArgumentsDelta { attempt, delta, .. } => self.put(&(2, attempt, delta)),
            event => self.out.extend_from_slice(element(event, units).as_bytes()),
        }
    }

    fn put<T: Serialize>(&mut self, value: &T) {
        // Nothing here can fail: there is memory to write to, and no key that is not a string.
        let _ = serde_json::to_writer(&mut self.out, value);
    }

    pub(crate) fn finish(mut self) -> String {
        self.out.push(b']');
        String::from_utf8(self.out).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct Placed<'a> {
    of: &'a Event<'a>,
    units: Vec<Option<Pair>>,
}

#[derive(Serialize)]
struct WrittenCall<'a> {
    json: String,
    arguments: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<Vec<Option<Pair>>>,
}

fn element(event: &Event<'_>, units: &Units) -> String {
    match (event, units.is_plain()) {
        (Event::Call(call), is_plain) => text(&WrittenCall {
            json: text(event),
            arguments: &call.arguments,
            units: (!is_plain).then(|| places(event, units)),
        }),
        (_, true) => text(event),
        (_, false) => text(&Placed { of: event, units: places(event, units) }),
    }
}

/// A value of the core as JSON.
pub(crate) fn text<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The places of an event in code units: its own, then those of its parts.
fn places(event: &Event<'_>, units: &Units) -> Vec<Option<Pair>> {
    let own = match event {
        Event::Finding(finding) => finding.span,
        event => event.accounts_for(),
    };
    // The places in a structured call are places in its arguments, which nobody has counted.
    let placed = |span: Option<Span>| own.and(span);
    let parts: Vec<Option<Span>> = match event {
        Event::Call(call) => {
            let repairs = call.repairs.iter().map(|repair| placed(Some(repair.span)));
            repairs.chain(call.findings.iter().map(|finding| placed(finding.span))).collect()
        }
        Event::Rejected(rejected) => rejected.findings.iter().map(|finding| placed(finding.span)).collect(),
        _ => Vec::new(),
    };
    std::iter::once(own).chain(parts).map(|span| span.map(|span| units.pair(span))).collect()
}

/// A response: its parts are written as events are.
pub(crate) fn response(response: &Response, units: &Units) -> String {
    let list = |events: Vec<Event<'_>>| {
        let mut out = Events::new();
        events.iter().for_each(|event| out.push(event, units));
        out.finish()
    };
    let calls = list(response.calls.iter().map(|call| Event::Call(Box::new(call.clone()))).collect());
    let rejected = list(response.rejected.iter().map(|one| Event::Rejected(Box::new(one.clone()))).collect());
    let findings = list(response.findings.iter().map(|one| Event::Finding(one.clone())).collect());
    let error = list(response.model_error.iter().map(|error| Event::ModelError(error.clone())).collect());
    format!(
        r#"{{"text":{},"reasoning":{},"calls":{calls},"rejected":{rejected},"findings":{findings},"error":{error},"reason":{},"known":{},"errors":{}}}"#,
        text(&response.text),
        text(&response.reasoning),
        text(response.finish_word()),
        response.finish_reason != FinishReason::Unknown,
        response.has_errors(),
    )
}

/// Why a response ended: the provider's word, and what it means.
pub(crate) fn reason(word: &str) -> Result<FinishReason, Told> {
    batch::finish_reason(word).map_err(|said| Told::setting("unknown-finish-reason", &said))
}

pub(crate) fn collect(events: &str, finish_reason: &str) -> Result<String, Told> {
    let reason = reason(finish_reason)?;
    let events: Vec<Event<'static>> =
        serde_json::from_str(events).map_err(|error| Told::not_json("list of events", &error))?;
    let mut collector = Response::collector();
    events.into_iter().for_each(|event| collector.push(event));
    collector.said(finish_reason);
    Ok(response(&collector.finish(reason), &Units::default()))
}

pub(crate) fn load_event(json: &str) -> Result<String, Told> {
    let event: Event<'static> =
        serde_json::from_str(json).map_err(|error| Told::not_json("event", &error))?;
    Ok(element(&event, &Units::default()))
}

pub(crate) fn load_response(json: &str) -> Result<String, Told> {
    Ok(response(&read_response(json, true)?, &Units::default()))
}

/// A response from its JSON. One that nobody ended is written as `stop`.
pub(crate) fn read_response(json: &str, is_known: bool) -> Result<Response, Told> {
    let mut response: Response =
        serde_json::from_str(json).map_err(|error| Told::not_json("response", &error))?;
    if !is_known {
        response.finish_reason = FinishReason::Unknown;
    }
    Ok(response)
}
