//! `callgate parse`: one response of a model, and what each part of it became.

use std::io::Write;
use std::path::Path;

use callgate::internal::batch::{self, Form, event_line, finish_event, join};
use callgate::internal::detect::{Candidate, Detector};
use callgate::internal::profile::ProfileView;
use callgate::{Choice, Code, Event, Finding, FinishReason, Gate, Response, Session};
use callgate_agent::model::{BodyKind, ModelChunk};
use serde_json::{Value, json};

use crate::answer::{Answer, Given};
use crate::args::{OutputFormat, ParseArgs, ToolLoading};
use crate::detect::flag;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::json_text::{Strings, on_one_line};
use crate::paint::{Breaks, Paint, Tone, one_line, padded, visible};
use crate::source::Source;
use crate::view::{self, Observer, Reading};

pub(crate) fn run(args: &ParseArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    args.finish_reason.as_deref().map(input::finish_reason).transpose()?;
    input::note_unknown_model(&args.gate);
    let several = args.files.len() > 1;
    if several {
        args.files.iter().try_for_each(|file| input::check(file))?;
    }
    let mut is_rejected = false;
    for (place, file) in args.files.iter().enumerate() {
        let name = several.then(|| input::name_of(file));
        if let Some(name) = name.as_deref().filter(|_| !args.json && args.output_format.is_none()) {
            let gap = if place > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}", paint.tone(Tone::Strong, visible(name, Breaks::Show)))?;
        }
        is_rejected |= one(args, file, name.as_deref(), paint, out)?;
    }
    Ok(Outcome::rejected_if(is_rejected))
}

/// Reads and shows one answer; whether anything of it was rejected. Among several it has a name.
fn one(
    args: &ParseArgs,
    file: &Path,
    name: Option<&str>,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<bool, Stop> {
    let answer = Answer::open(args, file)?;
    let gate = input::gate(&args.gate, answer.about(), ToolLoading::Strict)?;
    let mut session = gate.session();
    if let Some(tail) = &args.prompt_tail {
        session = session.with_prompt_tail(tail);
    }
    answer.untrusted().iter().for_each(|text| session.untrusted(text));
    let shows_text = !args.feedback && !args.view && !args.json && args.output_format.is_none();
    let kind = answer.kind().filter(|_| shows_text);
    if let Some(kind) = kind {
        heading(out, paint, kind, answer.about().model)?;
    }
    let observer = Observer::new();
    let mut watch = Watch { out, paint, show: Show::new(args), observer, chunks: 0, events: Vec::new() };
    let mut read = Read { kind, text: Vec::new(), thoughts: String::new(), reason: FinishReason::Unknown };
    let ending = answer.feed(args, file, |given| match given {
        Given::Bytes(bytes) => {
            read.text.extend_from_slice(bytes);
            watch.push(&mut session, bytes)
        }
        Given::Chunk(chunk) => {
            if let ModelChunk::Reasoning(thought) = chunk {
                read.thoughts.push_str(thought);
            }
            watch.chunk(&mut session, chunk)
        }
    })?;
    let (reason, word) = match args.finish_reason.as_deref() {
        None => {
            let word = ending.word.unwrap_or_default();
            unknown_ending(&input::name_of(file), &word)?;
            (ending.reason, word)
        }
        Some(word) => (FinishReason::from_word(word), word.to_owned()),
    };
    watch.finish(session, reason)?;
    let Watch { out, mut observer, .. } = watch;
    observer.said(&word);
    let mut reading = observer.finish(reason);
    if let Some(finding) = batch::about_end(&reading.response, reason, &word) {
        if args.json {
            let line = event_line(&Event::Finding(finding.clone())).map_err(Stop::Internal)?;
            writeln!(out, "{}", paint.json(&line))?;
        }
        reading.response.findings.push(finding);
    }
    read.reason = reason;
    result(args, name, &gate, &read, &reading, paint, out)?;
    out.flush()?;
    Ok(reading.response.has_errors())
}

/// An error if nobody knows the word in which a body says how it ended: what it means for its last call, nobody can say.
fn unknown_ending(name: &str, word: &str) -> Result<(), Stop> {
    batch::finish_reason(word).map(drop).map_err(|problem| {
        Stop::usage(
            format!("{name}: {problem}"),
            "say with --finish-reason what it means, as in --finish-reason stop",
        )
    })
}

/// What was read of an answer.
struct Read {
    /// Whose form it has, if it is a body and its text is shown.
    kind: Option<BodyKind>,
    text: Vec<u8>,
    /// What the model thought, where that was sent apart from the text.
    thoughts: String,
    /// Why it ended, as its provider or a flag said.
    reason: FinishReason,
}

/// Shows what came of an answer, as far as it was not shown while it was read.
fn result(
    args: &ParseArgs,
    name: Option<&str>,
    gate: &Gate,
    read: &Read,
    reading: &Reading,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<(), Stop> {
    let response = &reading.response;
    let hint = Detector::new(gate.registry().cloned()).hint(response);
    if args.feedback {
        return feedback(out, paint, gate, response);
    }
    if args.view {
        let view = json!(ProfileView::of(gate.profile(), response, &String::from_utf8_lossy(&read.text)));
        writeln!(out, "{}", paint.json(&format!("{view:#}")))?;
        return Ok(());
    }
    if let Some(format) = args.output_format {
        let form = Form { openai: format == OutputFormat::Openai, ended: read.reason, ..Form::default() };
        let input = String::from_utf8_lossy(&read.text);
        let name = name.map(Value::from);
        let names: Vec<(&str, &Value)> = name.iter().map(|name| ("file", name)).collect();
        let line = batch::with_hint(form.write(&names, gate, response, &input), hint.as_ref());
        writeln!(out, "{}", paint.json(&line))?;
        return Ok(());
    }
    if args.json {
        writeln!(out, "{}", finish_line(name, response, hint.as_ref()))?;
        return Ok(());
    }
    let source = Source::new(&read.text);
    let thoughts = read.thoughts.trim();
    if !args.stream && !thoughts.is_empty() {
        writeln!(out, "{}", paint.tone(Tone::Dim, visible(thoughts, Breaks::Keep)))?;
    }
    if !args.stream && (read.kind.is_none() || !read.text.is_empty()) {
        view::text(out, paint, &source, reading)?;
    }
    view::report(out, paint, &source, response)?;
    if let Some(hint) = &hint {
        let flag = paint.tone(Tone::Good, flag(&hint.dialect));
        writeln!(out, "This looks like {} ({}); read it with {flag}", hint.dialect, hint.why)?;
    } else if gate.registry().is_none() && is_like_a_call(response) {
        let flag = paint.tone(Tone::Good, "--tools FILE");
        writeln!(out, "Which dialect reads it can be told with the list of tools: {flag}")?;
    }
    Ok(())
}

/// Whether nothing was read and something of it looks like a call.
fn is_like_a_call(response: &Response) -> bool {
    let is_like = |finding: &Finding| finding.code == Code::LooksLikeACall;
    response.calls.is_empty() && response.rejected.is_empty() && response.findings.iter().any(is_like)
}

/// What kind of body it is, and whose.
fn heading(out: &mut dyn Write, paint: Paint, kind: BodyKind, model: Option<&str>) -> Result<(), Stop> {
    let of = model.map_or_else(String::new, |model| format!(" of {}", visible(model, Breaks::Show)));
    writeln!(out, "{}", paint.tone(Tone::Grey, format!("{}{of}", kind.name())))?;
    Ok(())
}

/// Feeds a session and shows what comes of it, as far as the flags ask.
struct Watch<'a> {
    out: &'a mut dyn Write,
    paint: Paint,
    show: Show,
    observer: Observer,
    chunks: usize,
    /// All events, joined; kept only for [`Show::JsonAtEnd`].
    events: Vec<Event<'static>>,
}

/// What is shown while the response is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Nothing,
    /// Each chunk and the events it caused, in words.
    Stream,
    /// The events as they come.
    JsonStream,
    /// The events of the whole response, which do not depend on the chunks.
    JsonAtEnd,
}

impl Show {
    fn new(args: &ParseArgs) -> Self {
        match (args.stream, args.json) {
            (false, false) => Show::Nothing,
            (true, false) => Show::Stream,
            (true, true) => Show::JsonStream,
            (false, true) => Show::JsonAtEnd,
        }
    }
}

impl Watch<'_> {
    fn push(&mut self, session: &mut Session, chunk: &[u8]) -> Result<(), Stop> {
        self.chunks += 1;
        let heading = format!("chunk {}", self.chunks);
        let width = self.paint.columns().min(100) - 16;
        let shown = format!("“{}”", one_line(&String::from_utf8_lossy(chunk), width));
        self.step(&heading, &shown, |sink| session.push_bytes(chunk, sink))
    }

    /// What a server sent beside the text.
    fn chunk(&mut self, session: &mut Session, chunk: &ModelChunk) -> Result<(), Stop> {
        self.chunks += 1;
        let heading = format!("chunk {}", self.chunks);
        let width = self.paint.columns().min(100) - 16;
        let shown = match chunk {
            ModelChunk::Reasoning(text) => format!("reasoning “{}”", one_line(text, width)),
            ModelChunk::Delta { name, arguments, .. } => {
                let parts = [name, arguments].into_iter().flatten().map(|part| one_line(part, width));
                format!("call “{}”", parts.collect::<Vec<_>>().join(" "))
            }
            ModelChunk::Calls(calls) => format!("calls {}", one_line(calls, width)),
            ModelChunk::Text(text) => format!("“{}”", one_line(text, width)),
            ModelChunk::Served(_) | ModelChunk::End { .. } => String::new(),
        };
        self.step(&heading, &shown, |sink| chunk.feed(session, sink))
    }

    fn finish(&mut self, session: Session, reason: FinishReason) -> Result<(), Stop> {
        self.step("finish", reason.word(), |sink| session.finish(reason, sink))?;
        for event in std::mem::take(&mut self.events) {
            self.json_line(&event)?;
        }
        Ok(())
    }

    /// Runs one step of the session, then shows what it caused.
    fn step(
        &mut self,
        heading: &str,
        detail: &str,
        step: impl FnOnce(&mut dyn FnMut(Event<'_>)),
    ) -> Result<(), Stop> {
        let mut events = Vec::new();
        step(&mut |event| join(&mut events, event.into_owned()));
        match self.show {
            Show::Nothing => {}
            Show::Stream => self.stream_lines(heading, detail, &events)?,
            Show::JsonStream => events.iter().try_for_each(|event| self.json_line(event))?,
            Show::JsonAtEnd => events.iter().cloned().for_each(|event| join(&mut self.events, event)),
        }
        events.into_iter().for_each(|event| self.observer.see(event));
        // Whoever watches a live stream wants to see each step at once.
        if matches!(self.show, Show::Stream | Show::JsonStream) {
            self.out.flush()?;
        }
        Ok(())
    }

    fn json_line(&mut self, event: &Event<'_>) -> Result<(), Stop> {
        let line = event_line(event).map_err(Stop::Internal)?;
        writeln!(self.out, "{}", self.paint.json(&line))?;
        Ok(())
    }

    fn stream_lines(&mut self, heading: &str, detail: &str, events: &[Event<'_>]) -> Result<(), Stop> {
        writeln!(self.out, "{} {detail}", self.paint.tone(Tone::Accent, padded(heading, 12)))?;
        if events.is_empty() {
            writeln!(self.out, "{:13}{}", "", self.paint.tone(Tone::Grey, "no event"))?;
        }
        events.iter().try_for_each(|event| stream_line(self.out, self.paint, event))
    }
}

/// One event in one line.
fn stream_line(out: &mut dyn Write, paint: Paint, event: &Event<'_>) -> Result<(), Stop> {
    let width = paint.columns().min(100) - 32;
    let (what, detail) = match event {
        Event::Text { text, .. } => ("text", format!("“{}”", one_line(text, width))),
        Event::Reasoning { text, .. } => ("reasoning", format!("“{}”", one_line(text, width))),
        Event::Markup { span, .. } => ("markup", format!("bytes {}..{}", span.start, span.end)),
        Event::CallStarted { name, dialect, choice, .. } => {
            let why = match choice {
                Choice::Marker(marker) => format!(", by its marker {}", one_line(marker, width)),
                _ => String::new(),
            };
            ("call started", format!("{} ({dialect}{why})", one_line(name, width)))
        }
        Event::ArgumentsDelta { delta, .. } => ("arguments", format!("“{}”", one_line(delta, width))),
        Event::Call(call) => {
            let arguments = on_one_line(&call.arguments, Strings::CutAfter(width));
            ("call", one_line(&format!("{} {arguments}", call.name), width))
        }
        Event::Rejected(rejected) => {
            let reason = rejected.findings.first().map_or(String::new(), ToString::to_string);
            let name = rejected.name.as_deref().unwrap_or("(no name)");
            ("rejected", one_line(&format!("{name}: {reason}"), width))
        }
        Event::ModelError(error) => {
            ("model error", one_line(&format!("{}: {}", error.code, error.message), width))
        }
        Event::Finding(finding) => ("finding", one_line(&finding.to_string(), width)),
        _ => ("event", String::new()),
    };
    writeln!(out, "{:13}{} {detail}", "", paint.tone(view::tone_of(event), padded(what, 12)))?;
    Ok(())
}

/// The last line of the JSON output: how the response as a whole ended.
fn finish_line(name: Option<&str>, response: &Response, hint: Option<&Candidate>) -> Value {
    let mut line = finish_event(response);
    if let Some(name) = name {
        line["file"] = Value::from(name);
    }
    if let Some(hint) = hint {
        line["hint"] = serde_json::json!({"dialect": hint.dialect, "why": hint.why});
    }
    line
}

fn feedback(out: &mut dyn Write, paint: Paint, gate: &Gate, response: &Response) -> Result<(), Stop> {
    if let Some(message) = gate.profile().feedback(response, gate.registry()) {
        writeln!(out, "{}", paint.raw_or_visible(message.trim_end()))?;
    }
    Ok(())
}
