//! `callgate dialects test`: a dialect file tried on a sample: the frames it finds and, where it finds none, what came closest.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use callgate::internal::dialect::{Part, Slot, Template, is_word_character};
use callgate::internal::json::Syntax;
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
        view::join(&mut events, event.clone().into_owned());
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
    Ok(Outcome::refused_if(!silent.is_empty() || !reading.response.rejected.is_empty()))
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
            Event::Rejected(_) => "refused",
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

/// Whether a call or a refusal of the response is written in this dialect.
fn spoke(response: &Response, record: &Record) -> bool {
    response.calls.iter().any(|call| call.dialect == record.name)
        || response.rejected.iter().any(|rejected| rejected.dialect == record.name)
}

/// The places where the sample follows the header of a call the furthest, best first, and what stands there instead.
fn closest(record: &Record, sample: &str) -> Vec<String> {
    let source = Source::new(sample.as_bytes());
    let mut misses: Vec<(usize, String)> =
        headers(record).iter().map(|header| header.nearest(sample, &source)).collect();
    misses.sort_by_key(|(matched, _)| std::cmp::Reverse(*matched));
    let mut seen = BTreeSet::new();
    let lines = misses.into_iter().map(|(_, line)| line).filter(|line| seen.insert(line.clone()));
    lines.take(NEAREST).collect()
}

/// What has to stand before the body of a call: until it is there, nothing is an attempt.
struct Header {
    shown: String,
    steps: Vec<Step>,
}

enum Step {
    /// One of these spellings.
    Literal(Vec<String>),
    /// A word, in place of this slot.
    Word(Slot),
    /// Nothing, or a colon and a word.
    Suffix,
    /// The bracket that a body starts with.
    Brace,
}

/// How far a sample follows a header.
struct Progress {
    start: usize,
    /// How many visible characters fit.
    matched: usize,
    /// Where it stops fitting.
    end: usize,
    /// What was expected there; nothing if the whole header stands in the sample.
    missing: Option<String>,
}

/// The header of each form of a call: the opener of its section, and the call up to its body.
fn headers(record: &Record) -> Vec<Header> {
    let none = [Template::default()];
    let opens = if record.open.is_empty() { &none[..] } else { &record.open[..] };
    let mut headers = Vec::new();
    for open in opens {
        for call in &record.call {
            let mut steps = Vec::new();
            for part in open.parts.iter().chain(&call.parts) {
                match part {
                    Part::Literal(literal) => steps.push(Step::Literal(spellings(record, literal))),
                    Part::Slot(Slot::Suffix) => steps.push(Step::Suffix),
                    Part::Slot(slot) if slot.is_word() => steps.push(Step::Word(*slot)),
                    Part::Slot(Slot::Object) => steps.push(Step::Brace),
                    Part::Slot(Slot::Arguments)
                        if !matches!(record.syntax, Syntax::Kwargs | Syntax::Lines) =>
                    {
                        steps.push(Step::Brace);
                    }
                    Part::Slot(_) => {}
                }
                let is_body = |slot: &Slot| !slot.is_word() && *slot != Slot::Suffix;
                if matches!(part, Part::Slot(slot) if is_body(slot)) {
                    break;
                }
            }
            headers.push(Header { shown: one_line(&format!("{open}{call}"), QUOTED), steps });
        }
    }
    headers
}

/// A literal in all the ways in which `also` lets it be written, the written one first.
fn spellings(record: &Record, literal: &str) -> Vec<String> {
    let mut spellings = vec![literal.to_owned()];
    for (row, others) in record.also.iter().filter(|(row, _)| literal.contains(row.as_str())) {
        for spelling in spellings.clone() {
            spellings.extend(others.iter().map(|other| spelling.replace(row.as_str(), other)));
        }
    }
    spellings
}

impl Header {
    /// Where the sample follows it the furthest, in words.
    fn nearest(&self, sample: &str, source: &Source<'_>) -> (usize, String) {
        let shown = &self.shown;
        let Some(Step::Literal(heads)) = self.steps.first() else {
            return (0, format!("`{shown}` starts with a placeholder, so there is no opener to compare"));
        };
        let firsts: Vec<char> = heads.iter().filter_map(|head| head.trim_start().chars().next()).collect();
        let starts = sample.char_indices().filter(|(_, character)| firsts.contains(character));
        let tries = starts.map(|(start, _)| self.follow(sample, start));
        let best = tries.max_by_key(|progress| (progress.matched, usize::MAX - progress.start));
        let Some(Progress { start, matched, end, missing }) = best else {
            return (0, format!("`{shown}`: not even its first character is in the sample"));
        };
        let start = source.place(start);
        let line = match missing {
            None => format!("`{shown}` begins at {start}, but not as a live call: see the notes above"),
            Some(missing) => {
                let there = match sample[end..].is_empty() {
                    true => "the sample ends".to_owned(),
                    false => format!("`{}` stands", one_line(&sample[end..], 24)),
                };
                let end = source.place(end);
                format!("`{shown}`: fits from {start} to {end}; there {missing} was expected, but {there}")
            }
        };
        (matched, line)
    }

    fn follow(&self, sample: &str, start: usize) -> Progress {
        let mut progress = Progress { start, matched: 0, end: start, missing: None };
        for step in &self.steps {
            // Between the parts of a header white space is free.
            let rest = sample[progress.end..].trim_start();
            let at = sample.len() - rest.len();
            let (matched, length, missing) = match step {
                Step::Literal(spellings) => fit(spellings, rest),
                Step::Word(slot) => {
                    let word: usize =
                        rest.chars().take_while(|c| is_word_character(*c)).map(char::len_utf8).sum();
                    (word, word, (word == 0).then(|| format!("{{{}}}", slot.word())))
                }
                Step::Suffix => {
                    let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                    let suffix = rest.strip_prefix(':').map(|rest| rest.chars().take_while(word).count());
                    let length = suffix.filter(|count| *count > 0).map_or(0, |count| count + 1);
                    (length, length, None)
                }
                Step::Brace => match rest.starts_with('{') {
                    true => (1, 1, None),
                    false => (0, 0, Some("`{`".to_owned())),
                },
            };
            progress.matched += matched;
            progress.end = at + length;
            if missing.is_some() {
                progress.missing = missing;
                break;
            }
        }
        progress
    }
}

/// How far the text follows one of the spellings: visible characters that fit, bytes, and what is missing.
fn fit(spellings: &[String], text: &str) -> (usize, usize, Option<String>) {
    let tries = spellings.iter().rev().map(|spelling| {
        let mut rest = text;
        let mut matched = 0;
        for (at, expected) in spelling.char_indices() {
            if expected.is_whitespace() {
                rest = rest.trim_start();
            } else if let Some(after) = rest.strip_prefix(expected) {
                rest = after;
                matched += 1;
            } else {
                let missing = format!("`{}`", one_line(&spelling[at..], 24));
                return (matched, text.len() - rest.len(), Some(missing));
            }
        }
        (matched, text.len() - rest.len(), None)
    });
    // A spelling that fits as a whole beats one that got further and failed; the written one wins among equals.
    let best = tries.max_by_key(|(matched, _, missing)| (missing.is_none(), *matched));
    best.unwrap_or((0, 0, None))
}
