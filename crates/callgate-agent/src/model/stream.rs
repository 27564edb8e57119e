//! Streams: answers of servers as they came and were recorded, told from a model's own text by their first events.

use callgate::FinishReason;
use serde_json::Value;

use super::body::{Body, BodyKind};
use super::http::plain;
use super::reading::{Format, Framing, Parser};
use super::{FaultCode, ModelChunk, ModelFault};

/// The most lines among which the event is looked for that says whose stream it is.
const LINES: usize = 1024;

/// What the beginning of a text says of it.
pub enum Beginning {
    /// It is no stream of events.
    Text,
    /// It is one of events, none of which has said yet whose.
    Open,
    /// It is a stream of a known form.
    Stream(Box<BodyStream>),
    /// It is one that cannot be read, or that has an error of the server where its answer should begin.
    Failed(ModelFault),
}

impl Beginning {
    /// What a text says, or the whole lines of it that have come so far. Servers begin with events that say nothing, so the
    /// first one that says what it is decides.
    pub fn of(start: &str, is_all: bool) -> Beginning {
        let start = start.trim_start_matches('\u{feff}');
        let lines = || start.lines().map(str::trim);
        let is_other = |line: &str| ["event:", "id:", "retry:", ":"].iter().any(|it| line.starts_with(it));
        match lines().find(|line| !line.is_empty() && !is_other(line)) {
            Some(line) if line.starts_with("data:") => of_events(lines(), is_all),
            Some(line) if line.starts_with('{') => of_values(lines()),
            None if lines().any(is_other) => Beginning::Open,
            _ => Beginning::Text,
        }
    }
}

/// Server-sent events: nothing else is written like them, so those of all kinds are passed over until one says whose it is.
fn of_events<'t>(lines: impl Iterator<Item = &'t str>, is_all: bool) -> Beginning {
    let mut data: Vec<&str> = Vec::new();
    let mut name = "";
    let mut said = Beginning::Text;
    // An event ends with an empty line, the last one with the text.
    for line in lines.take(LINES).chain(is_all.then_some("")) {
        if let Some(word) = line.strip_prefix("event:") {
            name = word.trim();
            continue;
        }
        let mut value = None;
        if let Some(more) = line.strip_prefix("data:") {
            // Servers that forget the empty line send a value in each line; else the data may go over several lines.
            value = object(more);
            data.push(more);
        }
        if value.is_none() && !line.is_empty() || data.is_empty() {
            continue;
        }
        let event = std::mem::take(&mut data).join("\n");
        let value = value.or_else(|| object(&event));
        if let Some(value) = &value {
            if let Some(kind) = BodyKind::of(value) {
                return Beginning::stream(kind, Framing::Events, value);
            }
            if let Some(fault) = error(value) {
                return Beginning::Failed(fault);
            }
        }
        if name == "error" {
            return Beginning::Failed(ModelFault::new(FaultCode::ServerError, plain(event.trim())));
        }
        if value.is_none() && event.trim() != "[DONE]" {
            return Beginning::Text;
        }
        said = Beginning::Open;
        name = "";
    }
    if is_all { said } else { Beginning::Open }
}

/// A value in each line: a model may write such lines too, so only what says nothing and is nothing else is passed over.
fn of_values<'t>(lines: impl Iterator<Item = &'t str>) -> Beginning {
    for line in lines.filter(|line| !line.is_empty()).take(LINES) {
        let Some(value) = object(line) else { return Beginning::Text };
        match BodyKind::of(&value) {
            Some(kind) if kind.is_event(&value) => return Beginning::stream(kind, Framing::Lines, &value),
            // A whole body in a line by itself is followed by others, and nobody says which of them is meant.
            Some(kind) => {
                let name = kind.name();
                let message =
                    format!("the first line is a whole {name}, and more follow; `callgate scan` reads lines");
                return Beginning::Failed(ModelFault::new(FaultCode::BadLine, message));
            }
            None if value["type"] == "ping" || is_empty(&value["choices"]) => {}
            None => return Beginning::Text,
        }
    }
    Beginning::Open
}

impl Beginning {
    fn stream(kind: BodyKind, framing: Framing, first: &Value) -> Beginning {
        let mut stream = BodyStream::new(kind, framing, 0);
        stream.about(first);
        Beginning::Stream(Box::new(stream))
    }
}

fn object(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(Value::is_object)
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

/// The error that an event is, in the forms of all servers.
fn error(value: &Value) -> Option<ModelFault> {
    let error = &value["error"];
    let said = match error {
        Value::Null if value["type"] == "error" => value["message"].as_str()?.to_owned(),
        Value::Null => return None,
        Value::String(said) => said.clone(),
        error => error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned),
    };
    Some(ModelFault::new(FaultCode::ServerError, plain(&said)))
}

/// A body that comes as a stream: server-sent events, or a value in each line.
pub struct BodyStream {
    pub(super) kind: BodyKind,
    pub(super) framing: Framing,
    pub(super) parser: Parser<Box<dyn Format>>,
    pub(super) model: Option<String>,
    pub(super) tools: Option<Value>,
    end: Option<FinishReason>,
}

impl BodyStream {
    /// The stream that a text begins, if its first events say whose it is.
    pub fn of(start: &str) -> Option<BodyStream> {
        match Beginning::of(start, true) {
            Beginning::Stream(stream) => Some(*stream),
            _ => None,
        }
    }

    pub(super) fn new(kind: BodyKind, framing: Framing, choice: u64) -> Self {
        let parser = Parser::of_kept(framing, kind.format(choice));
        BodyStream { kind, framing, parser, model: None, tools: None, end: None }
    }

    /// Whose form it has.
    pub fn kind(&self) -> BodyKind {
        self.kind
    }

    /// The model that its first event names.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The tools that its first event lists.
    pub fn tools(&self) -> Option<&Value> {
        self.tools.as_ref()
    }

    /// The choices that it has had so far. Only the first is read here.
    pub fn choices(&self) -> impl Iterator<Item = u64> + '_ {
        self.parser.format.choices().into_iter().flatten().copied()
    }

    /// Takes the next bytes, and gives what they hold.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Vec<ModelChunk>, ModelFault> {
        self.parser.take(bytes)?;
        Ok(self.drain())
    }

    /// The stream is at its end: what was left of it, and what is known of it as a whole, without its chunks.
    pub fn close(&mut self) -> Result<(Vec<ModelChunk>, Body), ModelFault> {
        match self.parser.close() {
            Err(fault) if fault.code != FaultCode::EndedEarly => Err(fault),
            _ => Ok(self.ended(FinishReason::Failed)),
        }
    }

    /// What is left, and what the body is as a whole; `otherwise` is how it ended if it does not say.
    pub(super) fn ended(&mut self, otherwise: FinishReason) -> (Vec<ModelChunk>, Body) {
        let rest = self.drain();
        let body = Body {
            kind: self.kind,
            choice: 0,
            chunks: Vec::new(),
            model: self.model.clone(),
            tools: self.tools.clone(),
            reason: self.end.unwrap_or(otherwise),
            word: self.parser.format.word().map(str::to_owned),
            untrusted: self.parser.format.take_untrusted(),
            is_turn: false,
        };
        (rest, body)
    }

    fn drain(&mut self) -> Vec<ModelChunk> {
        let mut chunks = Vec::new();
        while let Some(chunk) = self.parser.next() {
            match chunk {
                ModelChunk::End { reason, .. } => self.end = Some(reason),
                // A body says what it has to say in members of its own.
                ModelChunk::Served(_) => {}
                chunk => chunks.push(chunk),
            }
        }
        chunks
    }

    /// Notes what a body says of its model and tools: at its root, or in what it wraps.
    pub(super) fn about(&mut self, value: &Value) {
        let inner = ["", "/response", "/message"].iter().filter_map(|pointer| value.pointer(pointer));
        // Servers of responses list no tools where none were given: that forbids nothing.
        let may_be_empty = self.kind != BodyKind::Responses;
        let lists_any =
            |tools: &&Value| tools.as_array().is_some_and(|tools| may_be_empty || !tools.is_empty());
        for object in inner {
            self.model = self.model.take().or(object["model"].as_str().map(str::to_owned));
            self.tools = self.tools.take().or(object.get("tools").filter(lists_any).cloned());
        }
    }
}
