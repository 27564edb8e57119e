//! `callgate dialects test`: a dialect file tried on a sample: the frames it finds and, where it finds none, what came closest.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use callgate::internal::batch::join;
use callgate::internal::dialect::Miss;
use callgate::{Event, FinishReason, Gate, Record, Response};

use crate::dialects::example;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, one_line, padded, visible};
use crate::source::Source;
use crate::view::{self, Observer};

/// How many near misses are shown for a dialect that finds no call.
const NEAREST: usize = 3;

/// How much of a text a line quotes.
const QUOTED: usize = 40;

pub(crate) fn run(
    file: &Path,
    sample: Option<&Path>,
    tools: Option<&Path>,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let records = input::records(file)?;
    let names: Vec<&str> = records.iter().map(|record| &*record.name).collect();
    let tick = paint.tone(Tone::Good, "✓");
    writeln!(out, "{tick} {}: {}", visible(&input::name_of(file), Breaks::Show), names.join(", "))?;
    for record in &records {
        if let Some(example) = example(record) {
            writeln!(out, "\n{}", paint.tone(Tone::Grey, format!("a call written in {}:", record.name)))?;
            writeln!(out, "{}", visible(&example, Breaks::Keep))?;
        }
    }
    let Some(sample) = sample else { return Ok(Outcome::Fine) };

    let mut builder = Gate::builder();
    if let Some(tools) = tools {
        builder = builder.tools(input::tools(tools)?);
    }
    for record in &records {
        builder = builder.record(record.clone());
    }
    let gate = builder.build().map_err(|error| Stop::usage(error.message, error.help))?;
    let bytes = input::read_bytes(sample)?;
    let source = Source::new(&bytes);
    let mut observer = Observer::new();
    let mut events = Vec::new();
    let mut session = gate.session();
    let mut see = |event: Event<'_>| {
        join(&mut events, event.clone().into_owned());
        observer.see(event);
    };
    session.push_bytes(&bytes, &mut see);
    session.finish(FinishReason::Stop, &mut see);
    let reading = observer.finish(FinishReason::Stop);

    let title = format!("{}:", visible(&input::name_of(sample), Breaks::Show));
    writeln!(out, "\n{}", paint.tone(Tone::Grey, title))?;
    view::text(out, paint, &source, &reading)?;
    frames(out, paint, &source, &bytes, &events)?;
    view::report(out, paint, &source, &reading.response)?;
    let silent: Vec<&Record> = records.iter().filter(|record| !spoke(&reading.response, record)).collect();
    let lossy = String::from_utf8_lossy(&bytes);
    for record in &silent {
        writeln!(out, "\n{} found no call. What came closest:", paint.tone(Tone::Strong, &record.name))?;
        for line in closest(record, &lossy) {
            writeln!(out, "  {line}")?;
        }
    }
    Ok(Outcome::rejected_if(!silent.is_empty() || !reading.response.rejected.is_empty()))
}

/// Every part of the sample with its place and what it became.
fn frames(
    out: &mut dyn Write,
    paint: Paint,
    source: &Source<'_>,
    bytes: &[u8],
    events: &[Event<'static>],
) -> io::Result<()> {
    let mut parts: Vec<_> =
        events.iter().filter_map(|event| event.accounts_for().map(|span| (span, event))).collect();
    parts.sort_by_key(|(span, _)| *span);
    writeln!(out, "\n{}", paint.tone(Tone::Strong, "frames"))?;
    for (span, event) in parts.into_iter().filter(|(span, _)| !span.is_empty()) {
        let kind = match event {
            Event::Text { .. } => "text",
            Event::Reasoning { .. } => "reasoning",
            Event::Markup { .. } => "markup",
            Event::Call(_) => "call",
            Event::Rejected(_) => "rejected",
            _ => "error",
        };
        let text = String::from_utf8_lossy(bytes.get(span.start..span.end).unwrap_or_default());
        writeln!(
            out,
            "  {} {} {}",
            padded(&source.place(span.start), 8),
            paint.tone(view::tone_of(event), padded(kind, 10)),
            one_line(&text, 60)
        )?;
    }
    Ok(())
}

/// Whether a call or a rejection of the response is written in this dialect.
fn spoke(response: &Response, record: &Record) -> bool {
    response.calls.iter().any(|call| call.dialect == record.name)
        || response.rejected.iter().any(|rejected| rejected.dialect == record.name)
}

/// The places where the sample follows the header of a call the furthest, best first, and what stands there instead.
fn closest(record: &Record, sample: &str) -> Vec<String> {
    let source = Source::new(sample.as_bytes());
    let mut seen = BTreeSet::new();
    let lines = record.misses(sample).into_iter().map(|miss| said(&miss, sample, &source));
    lines.filter(|line| seen.insert(line.clone())).take(NEAREST).collect()
}

/// A miss in words.
fn said(miss: &Miss, sample: &str, source: &Source<'_>) -> String {
    let shown = one_line(&miss.header, QUOTED);
    match (&miss.range, &miss.expected) {
        (None, None) => format!("`{shown}` starts with a placeholder, so there is no opener to compare"),
        (None, Some(_)) => format!("`{shown}`: not even its first character is in the sample"),
        (Some(range), None) => {
            let start = source.place(range.start);
            format!("`{shown}` begins at {start}, but not as a live call: see the notes above")
        }
        (Some(range), Some(expected)) => {
            let there = match sample[range.end..].is_empty() {
                true => "the sample ends".to_owned(),
                false => format!("`{}` stands", one_line(&sample[range.end..], 24)),
            };
            let (start, end) = (source.place(range.start), source.place(range.end));
            let expected = one_line(expected, 24);
            format!("`{shown}`: fits from {start} to {end}; there `{expected}` was expected, but {there}")
        }
    }
}
