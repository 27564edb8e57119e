//! Examples: for each kind of thing that happened, the first responses in which it did, cut to what can be looked at.

use std::collections::BTreeMap;

use callgate::{Finding, Response, Severity};
use callgate_agent::report::{Note, Part, PartKind};

use super::Verdict;

/// How many examples of a kind are kept.
const OF_A_KIND: usize = 3;
/// How much of a text is kept, in bytes.
const TEXT: usize = 4 << 10;
/// How many parts and notes of a text are kept.
const PARTS: usize = 400;
/// How many calls, and how many findings, of a response are listed.
const LISTED: usize = 8;
/// How much of arguments, messages and ids is kept, in bytes.
const WORDS: usize = 600;

/// A response that was judged, and where it came from.
pub(crate) struct Judged<'a> {
    pub(crate) file: Option<&'a str>,
    pub(crate) line: u64,
    /// Which of several answers of the line it is.
    pub(crate) choice: Option<usize>,
    pub(crate) model: Option<&'a str>,
    /// What the model wrote as text.
    pub(crate) text: &'a str,
    /// What became of its parts.
    pub(crate) parts: &'a [Part],
    pub(crate) response: &'a Response,
}

/// What an example shows: the kind of thing, and its code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shows {
    Finding(&'static str),
    Repair(&'static str),
    Coercion(String),
    Accepted,
}

impl Shows {
    /// Its code, if it has one.
    pub(crate) fn word(&self) -> Option<&str> {
        match self {
            Shows::Finding(word) | Shows::Repair(word) => Some(word),
            Shows::Coercion(word) => Some(word),
            Shows::Accepted => None,
        }
    }
}

/// One response, as far as it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    /// Where it stands: the line, and the file where there are several.
    pub(crate) place: String,
    pub(crate) model: Option<String>,
    pub(crate) verdict: Verdict,
    pub(crate) shows: Vec<Shows>,
    pub(crate) text: String,
    /// How many bytes of the text were left out in front, and behind.
    pub(crate) left_out: (usize, usize),
    pub(crate) parts: Vec<Part>,
    pub(crate) notes: Vec<Note>,
    pub(crate) calls: Vec<ShownCall>,
    pub(crate) findings: Vec<ShownFinding>,
}

/// A call, accepted or rejected.
#[derive(Clone, Debug)]
pub(crate) struct ShownCall {
    pub(crate) verdict: Verdict,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) dialect: String,
    /// The codes of what was changed.
    pub(crate) changes: Vec<String>,
}

/// A finding in words.
#[derive(Clone, Debug)]
pub(crate) struct ShownFinding {
    pub(crate) code: &'static str,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// The examples that are kept, in the order of the input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Examples {
    list: Vec<Example>,
    kept: BTreeMap<Shows, usize>,
}

impl Examples {
    /// Keeps a response if it shows something of which there are not enough examples.
    pub(crate) fn offer(&mut self, judged: &Judged<'_>, verdict: Verdict) {
        let shows = shown_by(judged.response, verdict);
        if self.has_room(&shows) {
            self.keep(Example::of(judged, verdict, shows));
        }
    }

    /// Adds what comes behind it in the input.
    ///
    /// A kind that has room has taken every example so far that shows it. So whatever would have been taken from the
    /// whole input has been taken from the block, too, and it does not matter where blocks end.
    pub(crate) fn add(&mut self, next: Examples) {
        for example in next.list {
            if self.has_room(&example.shows) {
                self.keep(example);
            }
        }
    }

    pub(crate) fn list(&self) -> &[Example] {
        &self.list
    }

    fn has_room(&self, shows: &[Shows]) -> bool {
        shows.iter().any(|shows| self.kept.get(shows).is_none_or(|kept| *kept < OF_A_KIND))
    }

    fn keep(&mut self, example: Example) {
        for shows in &example.shows {
            *self.kept.entry(shows.clone()).or_default() += 1;
        }
        self.list.push(example);
    }
}

/// What a response shows, each thing once.
fn shown_by(response: &Response, verdict: Verdict) -> Vec<Shows> {
    let mut shows: Vec<Shows> =
        response.all_findings().map(|finding| Shows::Finding(finding.code.word())).collect();
    for call in &response.calls {
        shows.extend(call.repairs.iter().map(|repair| Shows::Repair(repair.code.word())));
        shows.extend(call.coercions.iter().map(|coercion| Shows::Coercion(coercion.code.to_string())));
    }
    if verdict == Verdict::Accepted && shows.is_empty() {
        shows.push(Shows::Accepted);
    }
    shows.sort();
    shows.dedup();
    shows
}

impl Example {
    fn of(judged: &Judged<'_>, verdict: Verdict, shows: Vec<Shows>) -> Self {
        let Judged { response, parts, .. } = judged;
        let file = judged.file.map_or_else(String::new, |file| format!("{file}, "));
        let choice = judged.choice.map_or_else(String::new, |choice| format!(", choice {choice}"));
        let whole = judged.text;
        let notes = notes(response);
        let focus = notes.iter().map(|note| note.start).min();
        let of_call = |part: &&Part| matches!(part.kind, PartKind::Call | PartKind::Rejected);
        let focus = focus.or_else(|| parts.iter().filter(of_call).map(|part| part.start).min());
        let (start, end) = window(whole, focus.unwrap_or(0));
        let clip = |from: usize, to: usize| (from.clamp(start, end) - start, to.clamp(start, end) - start);
        let mut parts: Vec<Part> = parts
            .iter()
            .map(|part| {
                let (start, end) = clip(part.start, part.end);
                Part { start, end, ..*part }
            })
            .filter(|part| part.start < part.end)
            .collect();
        parts.sort_by_key(|part| part.start);
        parts.truncate(PARTS);
        let notes = notes.into_iter().filter(|note| note.end >= start && note.start <= end);
        let notes = notes.take(PARTS).map(|note| {
            let (start, end) = clip(note.start, note.end);
            Note { start, end, ..note }
        });
        Example {
            place: format!("{file}line {}{choice}", judged.line),
            model: judged.model.map(|model| cut(model, WORDS)),
            verdict,
            shows,
            notes: notes.collect(),
            text: whole[start..end].to_owned(),
            left_out: (start, whole.len() - end),
            parts,
            calls: calls(response),
            findings: response.all_findings().take(LISTED).map(ShownFinding::of).collect(),
        }
    }
}

impl ShownFinding {
    fn of(finding: &Finding) -> Self {
        ShownFinding {
            code: finding.code.word(),
            severity: finding.severity(),
            message: cut(&finding.message, WORDS),
            help: cut(&finding.help, WORDS),
        }
    }
}

/// What is said about places in the text.
fn notes(response: &Response) -> Vec<Note> {
    let mut notes = Vec::new();
    // The places of a structured call point into its arguments, which are not in the text.
    for call in response.calls.iter().filter(|call| call.span.is_some()) {
        notes.extend(call.repairs.iter().map(|repair| Note {
            start: repair.span.start,
            end: repair.span.end,
            is_repair: true,
            label: format!("repaired: {}", repair.code.word()),
        }));
    }
    let in_text = response.rejected.iter().filter(|rejected| rejected.span.is_some());
    // A finding about a whole call says nothing about a place in it; the list beneath the text has it.
    let of_rejected =
        in_text.flat_map(|rejected| rejected.findings.iter().filter(|finding| finding.span != rejected.span));
    for finding in of_rejected.chain(&response.findings) {
        let Some(span) = finding.span else { continue };
        let label = format!("{}: {}", finding.code, cut(&finding.message, WORDS));
        notes.push(Note { start: span.start, end: span.end, is_repair: false, label });
    }
    notes
}

fn calls(response: &Response) -> Vec<ShownCall> {
    let accepted = response.calls.iter().map(|call| {
        let repairs = call.repairs.iter().map(|repair| repair.code.word().to_owned());
        let changes: Vec<String> =
            repairs.chain(call.coercions.iter().map(|coercion| coercion.code.to_string())).collect();
        ShownCall {
            verdict: if changes.is_empty() { Verdict::Accepted } else { Verdict::Repaired },
            name: cut(&call.name, WORDS),
            arguments: cut(&call.arguments, WORDS),
            dialect: call.dialect.to_string(),
            changes: changes.into_iter().take(LISTED).collect(),
        }
    });
    // What was rejected stands in the text already, unless it came apart from it.
    let rejected = response.rejected.iter().map(|rejected| ShownCall {
        verdict: Verdict::Rejected,
        name: cut(rejected.name.as_deref().unwrap_or(super::NAMELESS), WORDS),
        arguments: if rejected.span.is_some() { String::new() } else { cut(&rejected.raw, WORDS) },
        dialect: rejected.dialect.to_string(),
        changes: Vec::new(),
    });
    accepted.chain(rejected).take(LISTED).collect()
}

/// The stretch of a text that is kept: all of a short one, else what is around `focus`.
fn window(text: &str, focus: usize) -> (usize, usize) {
    if text.len() <= TEXT {
        return (0, text.len());
    }
    let start = focus.saturating_sub(TEXT / 4).min(text.len() - TEXT);
    (text.floor_char_boundary(start), text.floor_char_boundary(start + TEXT))
}

/// The text, cut to this many bytes with a sign that it was.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(most)])
}
