//! Reading an answer: bytes become lines, events or one document, and these become chunks by the server's format.

use std::cell::OnceCell;
use std::collections::{BTreeSet, VecDeque};

use callgate::internal::json::{Kind, Tape};

use super::http::{Http, HttpAnswer, plain};
use super::json::Json;
use super::lines::Lines;
use super::{BoxFuture, FaultCode, ModelChunk, ModelChunks, ModelFault, Served};

/// A server's format: what one JSON value of an answer means.
pub(crate) trait Format: Send {
    /// Takes one value. What cannot be read may have held a chunk of a call, so the answer as a whole is given up.
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault>;

    /// The end of the answer, once enough has come to say so. `closed` says that nothing more will come.
    fn end(&self, closed: bool) -> Option<ModelChunk>;

    /// The server says in its own words that nothing more will come.
    fn closed_by(&mut self, data: &str) -> bool {
        let _ = data;
        false
    }

    /// What the server says about the answer besides.
    fn served(&self) -> Served {
        Served::default()
    }

    /// The word in which the server said why the answer ended.
    fn word(&self) -> Option<&str>;

    /// The choices that have been seen, where a format has more than one.
    fn choices(&self) -> Option<&BTreeSet<u64>> {
        None
    }

    /// What tools gave in the conversation before, where a format has that.
    fn take_untrusted(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Whether more of the answer came after it had said that it was over.
    fn went_on(&self) -> bool {
        false
    }
}

/// A format that is known only once its answer is there.
impl Format for Box<dyn Format> {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
        (**self).value(part, chunks)
    }

    fn end(&self, closed: bool) -> Option<ModelChunk> {
        (**self).end(closed)
    }

    fn closed_by(&mut self, data: &str) -> bool {
        (**self).closed_by(data)
    }

    fn served(&self) -> Served {
        (**self).served()
    }

    fn word(&self) -> Option<&str> {
        (**self).word()
    }

    fn choices(&self) -> Option<&BTreeSet<u64>> {
        (**self).choices()
    }

    fn take_untrusted(&mut self) -> Vec<String> {
        (**self).take_untrusted()
    }

    fn went_on(&self) -> bool {
        (**self).went_on()
    }
}

/// One JSON value of an answer, and its text for whatever has to be kept as it was written.
pub(crate) struct Part<'t> {
    pub(super) value: Json<'t>,
    text: &'t str,
    /// Where the values stand in the text, worked out when that is first asked for.
    tape: OnceCell<Option<Tape>>,
}

impl<'t> Part<'t> {
    /// The value of a text that is nothing else.
    pub(crate) fn parse(text: &'t str) -> Result<Self, ModelFault> {
        let value = serde_json::from_str(text);
        let value = value.map_err(|error| unreadable(text, &format!("no JSON: {error}")))?;
        Ok(Part { value, text, tape: OnceCell::new() })
    }

    /// The text of the value at a JSON pointer without escapes. A value has lost the digits of long numbers, so what holds
    /// arguments is taken from here.
    pub(crate) fn written(&self, pointer: &str) -> Option<String> {
        let (tape, node) = self.find(pointer)?;
        Some(tape.raw(self.text, node).to_owned())
    }

    /// The texts of all items of the list at a pointer.
    pub(crate) fn items(&self, pointer: &str) -> Vec<&'t str> {
        let Some((tape, node)) = self.find(pointer) else { return Vec::new() };
        tape.children(node).map(|item| tape.raw(self.text, item)).collect()
    }

    fn find(&self, pointer: &str) -> Option<(&Tape, usize)> {
        let tape = self.tape.get_or_init(|| Tape::parse(self.text)).as_ref()?;
        let mut node = 0;
        for step in pointer.split('/').skip(1) {
            node = match tape.nodes().get(node)?.kind {
                Kind::Array => tape.children(node).nth(step.parse().ok()?)?,
                _ => tape.member(self.text, node, step)?,
            };
        }
        Some((tape, node))
    }
}

/// How values are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One value per line.
    Lines,
    /// Server-sent events: `data:` lines, ended by an empty one.
    Events,
    /// The whole answer is one value.
    Whole,
}

/// An answer of a server that is being read.
pub(crate) struct Reading<F> {
    answer: HttpAnswer,
    parser: Parser<F>,
}

impl<F: Format> Reading<F> {
    /// Sends a request, and reads the answer. Without a framing it is as the server says: a server that was asked for a
    /// stream may still answer with one document.
    pub(super) async fn ask(
        http: &Http,
        path: &str,
        json: Vec<u8>,
        headers: &[(&'static str, String)],
        framing: Option<Framing>,
    ) -> Result<Box<dyn ModelChunks>, ModelFault>
    where
        F: Default + 'static,
    {
        let answer = http.post(path, json, headers).await?;
        let told = if answer.is_event_stream { Framing::Events } else { Framing::Whole };
        let parser = Parser::new(framing.unwrap_or(told), F::default());
        Ok(Box::new(Reading { answer, parser }))
    }

    async fn advance(&mut self) -> Result<Option<ModelChunk>, ModelFault> {
        loop {
            if let Some(chunk) = self.parser.next() {
                return Ok(Some(chunk));
            }
            if self.parser.is_over {
                self.answer.leave();
                return Ok(None);
            }
            let step = match self.answer.next().await? {
                Some(bytes) => self.parser.take(&bytes),
                None => self.parser.close(),
            };
            step.map_err(|fault| self.answer.fault(fault))?;
        }
    }
}

/// The bytes of an answer on their way to chunks, wherever they come from.
pub(crate) struct Parser<F> {
    framing: Framing,
    pub(crate) format: F,
    lines: Lines,
    /// The data of the event that is being read.
    event: String,
    chunks: VecDeque<ModelChunk>,
    is_over: bool,
    /// Whether it was kept, so that a place in it can be looked up and all of it is there to be read.
    is_kept: bool,
    /// How many lines have been read.
    line: usize,
}

impl<F: Format> Parser<F> {
    pub(crate) fn new(framing: Framing, format: F) -> Self {
        Parser {
            framing,
            format,
            lines: Lines::default(),
            event: String::new(),
            chunks: VecDeque::new(),
            is_over: false,
            is_kept: false,
            line: 0,
        }
    }

    /// Reads an answer that was kept.
    pub(crate) fn of_kept(framing: Framing, format: F) -> Self {
        Parser { is_kept: true, ..Parser::new(framing, format) }
    }

    /// The next chunk that the bytes so far hold.
    pub(crate) fn next(&mut self) -> Option<ModelChunk> {
        self.chunks.pop_front()
    }

    /// Takes the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), ModelFault> {
        self.lines.push(bytes)?;
        if self.framing == Framing::Whole {
            return Ok(());
        }
        // They are lent while their lines are read.
        let mut lines = std::mem::take(&mut self.lines);
        let read = self.read(&mut lines);
        self.lines = lines;
        read
    }

    fn read(&mut self, lines: &mut Lines) -> Result<(), ModelFault> {
        while (self.is_kept || !self.is_over)
            && let Some(line) = lines.next()?
        {
            self.line(line)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), ModelFault> {
        self.line += 1;
        // An empty line ends the event that stands before it.
        let number = if line.is_empty() { self.line.saturating_sub(1) } else { self.line };
        let line = if number == 1 { line.trim_start_matches('\u{feff}') } else { line };
        let read = if self.is_over { self.behind(line) } else { self.line_inside(line) };
        read.map_err(|fault| match (self.is_kept, fault.code) {
            (true, FaultCode::BadLine) => {
                ModelFault { message: format!("line {number}: {}", fault.message), ..fault }
            }
            _ => fault,
        })
    }

    /// Behind the end of an answer there is nothing, or another answer.
    fn behind(&self, line: &str) -> Result<(), ModelFault> {
        let data = match self.framing {
            Framing::Events => line.strip_prefix("data:").unwrap_or_default(),
            _ => line,
        };
        match data.trim() {
            "" | "[DONE]" => Ok(()),
            _ => Err(several()),
        }
    }

    fn line_inside(&mut self, line: &str) -> Result<(), ModelFault> {
        if self.framing == Framing::Lines {
            return self.values(line);
        }
        if line.is_empty() {
            return self.end_event();
        }
        // A line of another field, or a comment that keeps the connection alive, carries no data.
        let Some(data) = line.strip_prefix("data:") else { return self.foreign(line) };
        let data = data.strip_prefix(' ').unwrap_or(data);
        if self.format.closed_by(data) {
            self.end_event()?;
            return self.event(data);
        }
        self.event.push_str(data);
        self.event.push('\n');
        Ok(())
    }

    /// What is no data: fields of the protocol are passed over, anything else may have been data once.
    fn foreign(&self, line: &str) -> Result<(), ModelFault> {
        let is_field = ["event", "id", "retry", "data"].iter().any(|field| {
            line.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        });
        if line.starts_with(':') || is_field {
            return Ok(());
        }
        Err(unreadable(line, "no event"))
    }

    /// The event that is being read is over; the room that it took is for the next.
    fn end_event(&mut self) -> Result<(), ModelFault> {
        let mut event = std::mem::take(&mut self.event);
        let read = self.event(&event);
        event.clear();
        self.event = event;
        read
    }

    fn event(&mut self, data: &str) -> Result<(), ModelFault> {
        if self.format.closed_by(data.trim()) { self.finish(true) } else { self.values(data) }
    }

    /// Reads the JSON values of a line or an event; a server that forgets the empty line between two events sends two.
    fn values(&mut self, text: &str) -> Result<(), ModelFault> {
        let text = text.trim_start_matches('\u{feff}');
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Json<'_>>();
        let mut start = 0;
        while let Some(value) = values.next() {
            let value = value.map_err(|error| match (self.framing, error.is_eof()) {
                (Framing::Whole, true) => {
                    ModelFault::new(FaultCode::EndedEarly, "the answer stops inside its JSON")
                }
                _ => unreadable(text, &format!("no JSON: {error}")),
            })?;
            let written = text[start..values.byte_offset()].trim();
            start = values.byte_offset();
            self.value(&Part { value, text: written, tape: OnceCell::new() })?;
        }
        self.finish(false)
    }

    /// Takes one value of the answer.
    pub(crate) fn value(&mut self, part: &Part<'_>) -> Result<(), ModelFault> {
        if !matches!(part.value["error"], Json::Null) {
            let said = part.value["error"].as_str().or_else(|| part.value["error"]["message"].as_str());
            let message = said.map_or_else(|| plain(&part.written("/error").unwrap_or_default()), plain);
            return Err(ModelFault::new(FaultCode::ServerError, message));
        }
        if !part.value.is_object() {
            return Err(unreadable(part.text, "no object"));
        }
        // Calls that come whole are judged with their members as they were written.
        let whole = ["arguments", "input", "args", "parameters", "tools", "metadata", "tool_calls"];
        let opaque = if self.framing == Framing::Whole { &whole[..] } else { &whole[..6] };
        if let Some(key) = part.value.repeated(opaque) {
            let message = format!("two members `{}` stand in one object of the answer", plain(key));
            return Err(ModelFault::new(FaultCode::BadLine, message));
        }
        self.format.value(part, &mut self.chunks)
    }

    /// The stream is at its end. What was cut in the middle of a line is an answer that ended early.
    pub(crate) fn close(&mut self) -> Result<(), ModelFault> {
        let early = |message: &str| ModelFault::new(FaultCode::EndedEarly, message);
        let rest = self.lines.rest().map_err(|_| early("the answer stops inside a character"))?;
        let inside = |fault: ModelFault| match fault.code {
            FaultCode::BadLine => early("the answer stops inside a line"),
            _ => fault,
        };
        if self.is_kept && self.format.went_on() {
            return Err(several());
        }
        match self.framing {
            Framing::Whole => self.values(&rest)?,
            Framing::Lines if self.is_over => self.line(&rest)?,
            Framing::Lines => self.values(&rest).map_err(inside)?,
            Framing::Events => {
                if self.is_over {
                    return self.line(&rest);
                }
                if !rest.is_empty() {
                    self.line(&rest).map_err(inside)?;
                }
                self.end_event().map_err(inside)?;
            }
        }
        self.finish(true)?;
        if self.is_over { Ok(()) } else { Err(early("the answer stops without saying that it is over")) }
    }

    /// Ends the answer, if its format says so.
    pub(crate) fn finish(&mut self, closed: bool) -> Result<(), ModelFault> {
        if !self.is_over
            && let Some(end) = self.format.end(closed)
        {
            let served = self.format.served();
            self.chunks.extend((!served.is_empty()).then_some(ModelChunk::Served(served)));
            self.chunks.push_back(end);
            self.is_over = true;
        }
        Ok(())
    }
}

impl<F: Format> ModelChunks for Reading<F> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<ModelChunk>, ModelFault>> {
        Box::pin(self.advance())
    }
}

/// The fault of a part that is not in the server's format. A part that cannot be read may have held a chunk of a call,
/// so the answer as a whole is given up.
pub(super) fn unreadable(text: &str, why: &str) -> ModelFault {
    let start: String = text.chars().filter(|c| !c.is_control()).take(80).collect();
    ModelFault::new(FaultCode::BadLine, format!("a part of the answer is {why}: {start:?}"))
}

/// The fault of something in which one answer follows another.
fn several() -> ModelFault {
    ModelFault::new(FaultCode::BadLine, "another answer follows the end of the first; give each by itself")
}
