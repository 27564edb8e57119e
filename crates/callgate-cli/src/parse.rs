//! `callgate parse`: one response of a model, and what each part of it became.

use std::io::{self, Read, Write};

use callgate::{Choice, Event, FinishReason, Gate, Response, Session};

use crate::args::ParseArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::json_text::{Strings, on_one_line};
use crate::paint::{Paint, Tone, one_line, padded};
use crate::source::Source;
use crate::view::{self, Observer, join};

/// Small enough to see markers being cut, large enough to read along.
const STREAM_CHUNK: usize = 16;
/// How much is read at a time where the cuts do not matter.
const READ: usize = 64 << 10;

pub(crate) fn run(args: &ParseArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let gate = input::gate(&args.gate)?;
    input::note_unknown_model(&args.gate);
    let mut session = gate.session();
    if let Some(tail) = &args.prompt_tail {
        session = session.with_prompt_tail(tail);
    }
    let show = Show::new(args);
    let mut watch = Watch { out, paint, show, observer: Observer::new(), chunks: 0, events: Vec::new() };
    let bytes = feed(args, &mut session, &mut watch)?;
    let reason = FinishReason::from_word(&args.finish_reason);
    watch.finish(session, reason)?;
    let Watch { out, mut observer, .. } = watch;
    observer.said(&args.finish_reason);
    let reading = observer.finish(reason);
    let source = Source::new(&bytes);
    if args.feedback {
        feedback(out, paint, &gate, &reading.response)?;
    } else if args.json {
        writeln!(out, "{}", finish_line(&reading.response))?;
    } else {
        if !args.stream {
            view::text(out, paint, &source, &reading)?;
        }
        view::report(out, paint, &source, &reading.response)?;
    }
    out.flush()?;
    Ok(Outcome::rejected_if(reading.response.has_errors()))
}

/// Reads the input and feeds it chunk by chunk; gives back all of it.
fn feed(args: &ParseArgs, session: &mut Session, watch: &mut Watch<'_>) -> Result<Vec<u8>, Stop> {
    let chunk_size = args.chunk.map(|size| size as usize);
    let live = args.stream && input::is_stdin(&args.file) && chunk_size.is_none();
    let (mut reader, _) = input::open(&args.file)?;
    let mut bytes = Vec::new();
    if live {
        let mut buffer = vec![0; READ];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(bytes),
                Ok(count) => {
                    bytes.extend_from_slice(&buffer[..count]);
                    watch.push(session, &buffer[..count])?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(input::unreadable(&args.file, &error)),
            }
        }
    }
    reader.read_to_end(&mut bytes).map_err(|error| input::unreadable(&args.file, &error))?;
    let default = if args.stream { STREAM_CHUNK } else { bytes.len().max(1) };
    for chunk in bytes.chunks(chunk_size.unwrap_or(default)) {
        watch.push(session, chunk)?;
    }
    Ok(bytes)
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
        let line = serde_json::to_string(event).map_err(|error| Stop::Internal(error.to_string()))?;
        // The arguments are written as the model wrote them, and a line break between two of them is only white space.
        let line = line.replace(['\n', '\r'], " ");
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
fn finish_line(response: &Response) -> serde_json::Value {
    serde_json::json!({
        "event": "finish",
        "finish_reason": response.finish_word(),
        "calls": response.calls.len(),
        "rejected": response.rejected.len(),
    })
}

fn feedback(out: &mut dyn Write, paint: Paint, gate: &Gate, response: &Response) -> Result<(), Stop> {
    if let Some(message) = gate.profile().feedback(response, gate.registry()) {
        writeln!(out, "{}", paint.raw_or_visible(message.trim_end()))?;
    }
    Ok(())
}
