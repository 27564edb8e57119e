//! The human view of a response: the text with its parts coloured, then calls, rejections and notes in words.

use std::io::{self, Write};

use callgate::{Call, Collector, Event, Finding, FinishReason, Rejected, Response, Severity};

use crate::json_text::{Strings, indented, on_one_line};
use crate::paint::{Breaks, Paint, Tone, columns_of_text, visible};
use crate::source::{Mark, Part, Source, draw};

/// How much of one string argument the list shows; the text above it has the rest.
const SHOWN_STRING: usize = 200;
/// How many notes are listed; the JSON output has them all.
const SHOWN_NOTES: usize = 20;

/// Watches the events of one response: what each part of the text became, and the response as a whole.
pub(crate) struct Observer {
    parts: Vec<Part>,
    collector: Collector,
}

/// What an [`Observer`] saw.
pub(crate) struct Reading {
    pub(crate) parts: Vec<Part>,
    pub(crate) response: Response,
}

impl Observer {
    pub(crate) fn new() -> Self {
        Observer { parts: Vec::new(), collector: Response::collector() }
    }

    pub(crate) fn see(&mut self, event: Event<'_>) {
        if let Some(span) = event.accounts_for() {
            self.parts.push(Part { span, tone: tone_of(&event) });
        }
        self.collector.push(event);
    }

    /// Takes the provider's word for how the output ended.
    pub(crate) fn said(&mut self, word: &str) {
        self.collector.said(word);
    }

    pub(crate) fn finish(self, reason: FinishReason) -> Reading {
        Reading { parts: self.parts, response: self.collector.finish(reason) }
    }
}

/// The colour of what an event says.
pub(crate) fn tone_of(event: &Event<'_>) -> Tone {
    match event {
        Event::Reasoning { .. } => Tone::Dim,
        Event::Markup { .. } => Tone::Grey,
        Event::Call(_) | Event::CallStarted { .. } | Event::ArgumentsDelta { .. } => Tone::Good,
        Event::Rejected(_) => Tone::Bad,
        Event::ModelError(_) => Tone::Changed,
        Event::Finding(finding) => tone_of_finding(finding),
        _ => Tone::Plain,
    }
}

fn tone_of_finding(finding: &Finding) -> Tone {
    match finding.severity() {
        Severity::Info => Tone::Accent,
        Severity::Warning => Tone::Changed,
        Severity::Error => Tone::Bad,
    }
}

/// The text with every part in its colour, and marks beneath repairs, rejections and notes.
pub(crate) fn text(
    out: &mut dyn Write,
    paint: Paint,
    source: &Source<'_>,
    reading: &Reading,
) -> io::Result<()> {
    draw(out, paint, source, &mut reading.parts.clone(), &mut marks(&reading.response))
}

fn marks(response: &Response) -> Vec<Mark> {
    let mut marks = Vec::new();
    // The places of a structured call point into its arguments, which are not in the text.
    for call in response.calls.iter().filter(|call| call.span.is_some()) {
        marks.extend(call.repairs.iter().map(|repair| Mark {
            span: repair.span,
            sign: '^',
            tone: Tone::Changed,
            label: format!("repaired: {}", repair.code.word()),
        }));
    }
    for rejected in &response.rejected {
        let (Some(frame), Some(finding)) = (rejected.span, rejected.findings.first()) else { continue };
        marks.push(Mark {
            span: finding.span.unwrap_or(frame),
            sign: '~',
            tone: Tone::Bad,
            label: format!("rejected: {}", finding.code),
        });
    }
    for finding in &response.findings {
        let Some(span) = finding.span else { continue };
        marks.push(Mark { span, sign: '-', tone: tone_of_finding(finding), label: finding.code.to_string() });
    }
    marks
}

/// Calls, rejections and notes in words, and a last line with the counts.
pub(crate) fn report(
    out: &mut dyn Write,
    paint: Paint,
    source: &Source<'_>,
    response: &Response,
) -> io::Result<()> {
    let list = List { paint, source };
    if !response.calls.is_empty() {
        writeln!(out, "\n{}", paint.tone(Tone::Strong, "calls"))?;
        for call in &response.calls {
            list.call(out, call)?;
        }
    }
    if !response.rejected.is_empty() {
        writeln!(out, "\n{}", paint.tone(Tone::Strong, "rejected"))?;
        for rejected in &response.rejected {
            list.rejected(out, rejected)?;
        }
    }
    if let Some(error) = &response.model_error {
        writeln!(out, "\n{}", paint.tone(Tone::Strong, "the model reports an error"))?;
        let code = visible(&error.code, Breaks::Show);
        writeln!(out, "  {}  {}", paint.tone(Tone::Changed, code), visible(&error.message, Breaks::Show))?;
    }
    if !response.findings.is_empty() {
        writeln!(out, "\n{}", paint.tone(Tone::Strong, "notes"))?;
        for finding in response.findings.iter().take(SHOWN_NOTES) {
            list.finding(out, "  ", finding, finding.span.is_some())?;
        }
        if response.findings.len() > SHOWN_NOTES {
            writeln!(out, "  … {} more (all with --json)", response.findings.len() - SHOWN_NOTES)?;
        }
    }
    writeln!(out, "\n{}", counts(paint, response))
}

fn counts(paint: Paint, response: &Response) -> String {
    let calls = paint.tone(
        if response.calls.is_empty() { Tone::Plain } else { Tone::Good },
        counted(response.calls.len(), "call"),
    );
    let rejected = paint.tone(
        if response.rejected.is_empty() { Tone::Plain } else { Tone::Bad },
        format!("{} rejected", response.rejected.len()),
    );
    let notes = counted(response.findings.len(), "note");
    format!("{calls}, {rejected}, {notes}; finish_reason {}", response.finish_reason.word())
}

pub(crate) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// What the lines of the list have in common.
struct List<'a> {
    paint: Paint,
    source: &'a Source<'a>,
}

impl List<'_> {
    fn call(&self, out: &mut dyn Write, call: &Call) -> io::Result<()> {
        let paint = self.paint;
        let unchecked = if call.checked { "" } else { ", not checked: no tool list" };
        let after = if call.after.is_empty() {
            String::new()
        } else {
            format!(", after {}", visible(&call.after.join(", "), Breaks::Show))
        };
        let about = format!("{}, id {}{after}{unchecked}", call.dialect, visible(&call.id, Breaks::Show));
        writeln!(
            out,
            "  {} {}  {}",
            paint.tone(Tone::Good, "✓"),
            paint.tone(Tone::Strong, visible(&call.name, Breaks::Show)),
            paint.tone(Tone::Grey, about)
        )?;
        let line = on_one_line(&call.arguments, Strings::CutAfter(SHOWN_STRING));
        let arguments = match columns_of_text(&line) {
            0..=96 => line,
            _ => indented(&call.arguments, Strings::CutAfter(SHOWN_STRING)),
        };
        for line in visible(&arguments, Breaks::Keep).lines() {
            writeln!(out, "      {line}")?;
        }
        for repair in &call.repairs {
            let place = match call.span {
                Some(_) => self.source.place(repair.span.start),
                None => format!("byte {} of the arguments", repair.span.start),
            };
            let entry = repair.code.entry();
            writeln!(
                out,
                "      {} {} at {place} ({}): {}",
                paint.tone(Tone::Changed, "repaired"),
                entry.word,
                repair.safety,
                entry.message
            )?;
        }
        for coercion in &call.coercions {
            let change = match coercion.to.as_str() {
                "" => format!("{} dropped", coercion.from),
                to => format!("{} → {to}", coercion.from),
            };
            writeln!(
                out,
                "      {} {} at {}: {}",
                paint.tone(Tone::Changed, "coerced"),
                coercion.code,
                visible(&coercion.path, Breaks::Show),
                visible(&change, Breaks::Show)
            )?;
        }
        for finding in &call.findings {
            writeln!(out, "      {} {finding}", paint.tone(Tone::Changed, "noticed"))?;
        }
        Ok(())
    }

    fn rejected(&self, out: &mut dyn Write, rejected: &Rejected) -> io::Result<()> {
        let paint = self.paint;
        let name = rejected.name.as_deref().unwrap_or("(no name)");
        let place =
            rejected.span.map_or(String::new(), |span| format!(", at {}", self.source.place(span.start)));
        writeln!(
            out,
            "  {} {}  {}",
            paint.tone(Tone::Bad, "✗"),
            paint.tone(Tone::Strong, visible(name, Breaks::Show)),
            paint.tone(Tone::Grey, format!("{}{place}", rejected.dialect))
        )?;
        for finding in &rejected.findings {
            self.finding(out, "      ", finding, rejected.span.is_some())?;
        }
        Ok(())
    }

    /// One finding; `in_text` says whether its span points into the text.
    fn finding(&self, out: &mut dyn Write, indent: &str, finding: &Finding, in_text: bool) -> io::Result<()> {
        let paint = self.paint;
        let place = match finding.span {
            Some(span) if in_text => format!(" at {}", self.source.place(span.start)),
            Some(span) => format!(" at byte {} of the arguments", span.start),
            None => String::new(),
        };
        let path = match finding.path.as_str() {
            "" => String::new(),
            path => format!(" in {}", visible(path, Breaks::Show)),
        };
        let repeated = if finding.count > 1 { format!(" ({} times)", finding.count) } else { String::new() };
        writeln!(
            out,
            "{indent}{}{place}{path}: {}{repeated}",
            paint.tone(tone_of_finding(finding), finding.code),
            visible(&finding.message, Breaks::Show)
        )?;
        writeln!(out, "{indent}  {}", paint.tone(Tone::Grey, visible(&finding.help, Breaks::Show)))
    }
}
