//! Drafts: an attempt while it is being read, from its first marker to the arguments as JSON text.

use std::borrow::Cow;
use std::sync::Arc;

use crate::dialect::{Content, Member, Record, Shape};
use crate::event::ModelError;
use crate::finding::{Code, Finding, Span};
use crate::json::{End, Kind, Node, Reader, Repair, RepairCode, Safety, Tape};
use crate::schema::CompiledTool;

use super::lines::{LineMarks, LineReader, Reading};
use super::members::{at_path, misplaced, second_name, strangers};
use super::params::{Params, ValueStart};

/// The most findings that are kept of one attempt.
const FINDINGS: usize = 64;

/// What was read of an attempt, ready to be judged.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Its number in the response.
    pub(crate) number: usize,
    pub(crate) dialect: Arc<str>,
    /// The frame in the input; none for structured provider calls.
    pub(crate) span: Option<Span>,
    /// The name as written; `None` where there is none, an error where it is not a string.
    pub(crate) name: Name,
    pub(crate) id: Option<String>,
    /// The ids of the calls that must be done first.
    pub(crate) after: Vec<String>,
    /// The arguments, or why there are none.
    pub(crate) arguments: Arguments,
    /// Where the values of the arguments stand in their text.
    pub(crate) tape: Tape,
    pub(crate) repairs: Vec<Repair>,
    /// Reasons to refuse it that were found while reading.
    pub(crate) findings: Vec<Finding>,
    /// Things worth saying about it that refuse nothing.
    pub(crate) notes: Vec<Finding>,
    /// The members of the call that its format does not have, shortened.
    pub(crate) strangers: Vec<String>,
    /// The text of the frame, up to a limit.
    pub(crate) raw: String,
    pub(crate) raw_len: usize,
    /// Whether the values were written as text.
    pub(crate) text_born: bool,
    /// Whether the end of the frame was seen.
    pub(crate) closed: bool,
    /// Whether nothing but its shape says that this is a call.
    pub(crate) unmarked: bool,
    /// What the object is if it is not a call.
    pub(crate) meaning: Meaning,
    /// Where the arguments begin in the input, so that positions inside them can be given.
    pub(crate) body_start: Option<usize>,
}

/// The name of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// As written.
    Written(String),
    /// There is none.
    Missing,
    /// It is not a string but this.
    Other(String),
}

impl Name {
    /// Takes out what was written.
    pub(crate) fn take_text(&mut self) -> Option<String> {
        match std::mem::replace(self, Name::Missing) {
            Name::Written(text) | Name::Other(text) => Some(text),
            Name::Missing => None,
        }
    }
}

/// The arguments of an attempt.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// JSON text, valid by construction.
    Json(String),
    /// There are none, or only white space or null.
    Blank,
    /// They could not be read.
    Broken,
}

/// What an object turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A call.
    Call,
    /// An error that the model reports.
    Error { code: String, message: String },
    /// An answer in a frame of its own.
    Answer(String),
    /// Data that only looks a little like a call.
    Data,
}

/// An attempt that is being read.
#[derive(Debug)]
pub(crate) struct Draft {
    /// Which call of its frame it is.
    pub(crate) call: u32,
    pub(crate) number: usize,
    pub(crate) start: usize,
    pub(crate) name: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) body: DraftBody,
    /// What reads the parameters, where they are written as lines.
    pub(crate) lines: Option<Box<LineReader>>,
    pub(crate) repairs: Vec<Repair>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<Finding>,
    pub(crate) raw: String,
    pub(crate) raw_len: usize,
    /// Whether it is announced, so that deltas may follow.
    pub(crate) started: bool,
    /// How much of the arguments has been shown.
    pub(crate) shown: usize,
    pub(crate) body_start: Option<usize>,
    /// Whether the value that is being read is at the start of a line.
    at_line_start: bool,
    /// How many values of the object there were, and where the last ended, when name and arguments were last looked for.
    looked: (usize, usize),
    /// Name and arguments of an object that has ended, if it has nothing else.
    parts: Option<(usize, usize)>,
    /// Whether its end is a guess, and where that was made.
    guessed_end: Option<usize>,
}

/// What has been read of the body.
#[derive(Debug)]
pub(crate) enum DraftBody {
    /// Nothing yet.
    None,
    /// An object with name and arguments, or the arguments alone.
    Json { reader: Box<Reader>, object: bool, arguments: Option<usize> },
    /// Parameters, written to JSON as they come.
    Params(Box<Params>),
    /// Program text.
    Code(String),
}

impl Draft {
    /// A draft that keeps the text of its frame in `raw`.
    pub(crate) fn new(number: usize, call: u32, start: usize, raw: String) -> Self {
        Draft {
            call,
            number,
            start,
            name: None,
            id: None,
            body: DraftBody::None,
            lines: None,
            repairs: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
            raw,
            raw_len: 0,
            started: false,
            shown: 0,
            body_start: None,
            at_line_start: false,
            looked: (0, 0),
            parts: None,
            guessed_end: None,
        }
    }

    /// Remembers whether the body that is being read ends with a line break.
    #[inline]
    pub(crate) fn note_line(&mut self, text: &str) {
        if text.bytes().next_back().is_some_and(|last| last.is_ascii_graphic()) {
            self.at_line_start = false;
        } else {
            self.note_space(text);
        }
    }

    /// The same for text that may end with white space.
    fn note_space(&mut self, text: &str) {
        let words_end = text.trim_end().len();
        let ends_line = text[words_end..].contains('\n');
        self.at_line_start = ends_line || words_end == 0 && self.at_line_start;
    }

    /// Whether the value so far ends with a line break, but for white space.
    pub(crate) fn is_at_line_start(&self) -> bool {
        self.at_line_start
    }

    /// Whether this parameter has been given, the one that is being read included.
    pub(crate) fn has_parameter(&self, key: &str) -> bool {
        matches!(&self.body, DraftBody::Params(params) if params.has(key))
    }

    /// Takes back the last bytes of what was kept: they belong to the next frame.
    pub(crate) fn forget(&mut self, bytes: usize) {
        let kept = self.raw.len() == self.raw_len;
        self.raw_len = self.raw_len.saturating_sub(bytes);
        if kept {
            let mut end = self.raw_len;
            while !self.raw.is_char_boundary(end) {
                end -= 1;
            }
            self.raw.truncate(end);
        }
    }

    /// What the object that was read is, going by its members alone.
    pub(crate) fn meaning(&self, record: &Record) -> Meaning {
        let DraftBody::Json { reader, object: true, .. } = &self.body else { return Meaning::Call };
        let (text, tape) = (reader.text(), reader.tape());
        let is_call = record.object.iter().any(|shape| {
            shape.is_call()
                && claim(shape, text, tape).is_some_and(|claim| {
                    claim.named_arguments.is_some() || find(shape, &Content::Arguments, text, tape).is_some()
                })
        });
        let is_answer = record.object.iter().any(|shape| {
            !shape.is_call()
                && claims_constants(shape, text, tape)
                && find(shape, &Content::Text, text, tape).is_some()
        });
        if is_call || is_answer { Meaning::Call } else { Meaning::Data }
    }

    /// Whether the object that was read has a string where a name would stand.
    pub(crate) fn has_name(&self, record: &Record) -> bool {
        let DraftBody::Json { reader, object: true, .. } = &self.body else { return false };
        record.object.iter().any(|shape| find(shape, &Content::Name, reader.text(), reader.tape()).is_some())
    }

    /// Keeps the text of the frame, up to a limit.
    pub(crate) fn keep(&mut self, text: &str, limit: usize) {
        self.raw_len += text.len();
        let room = limit.saturating_sub(self.raw.len());
        if room > 0 && !text.is_empty() {
            let mut end = room.min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            self.raw.push_str(&text[..end]);
        }
    }

    pub(crate) fn repaired(&mut self, code: RepairCode, start: usize, end: usize) {
        self.repairs.push(Repair {
            code,
            safety: Safety::Lossless,
            span: Span::new(start, end),
            late: false,
            count: 1,
        });
    }

    /// The output ends inside of the call: it is closed with this certainty, or cut off.
    pub(crate) fn end_with(&mut self, may_close: Option<Safety>, end: usize) {
        match may_close {
            Some(Safety::Lossless) => {}
            Some(Safety::Guess) => self.guessed_end = Some(end),
            None => self.findings.push(Finding::new(Code::Truncated).at(Span::new(end, end))),
        }
    }

    /// Whether the call is announced, and nothing of it is still to be found in the object that is being read.
    pub(crate) fn is_known(&self) -> bool {
        let is_open = matches!(self.body, DraftBody::Json { object: true, arguments: None, .. });
        self.started && self.name.is_some() && !is_open
    }

    /// What is known of the name and the arguments of an object that is still being read.
    pub(crate) fn look_at_object(&mut self, record: &Record) {
        let DraftBody::Json { reader, object: true, arguments } = &mut self.body else { return };
        if self.name.is_some() && arguments.is_some() {
            return;
        }
        let (text, tape) = (reader.text(), reader.tape());
        // What is looked for shows with the start or the end of a value, and most chunks bring neither.
        let read = (tape.nodes().len(), tape.nodes().last().map_or(0, Node::end));
        if std::mem::replace(&mut self.looked, read) == read {
            return;
        }
        if self.name.is_none()
            && read.0 > 2
            && let Some(parts) = only_name_and_arguments(record, text, tape)
            && let Some(name) = tape.string(text, parts.0).filter(|name| !name.is_empty())
        {
            self.name = Some(name.into_owned());
            *arguments = Some(parts.1);
            // What has ended stays as it is.
            self.parts = Some(parts).filter(|_| tape.nodes()[0].end() <= text.len());
            return;
        }
        if self.name.is_none() {
            for shape in record.object.iter().filter(|shape| shape.is_call()) {
                if let Some(node) = find_first(shape, &Content::Name, text, tape)
                    && tape.nodes()[node].end() <= text.len()
                    && let Some(name) = tape.string(text, node)
                    && !name.is_empty()
                {
                    self.name = Some(name.into_owned());
                    break;
                }
                if let Some((name, _)) = first_named(shape, text, tape) {
                    self.name = Some(name);
                    break;
                }
            }
        }
        if self.name.is_some() && arguments.is_none() {
            *arguments = record.object.iter().filter(|shape| shape.is_call()).find_map(|shape| {
                find_first(shape, &Content::Arguments, text, tape)
                    .or_else(|| first_named(shape, text, tape).map(|(_, node)| node))
            });
        }
    }

    /// Whether what has been read of an unmarked object can only be a call (or an error).
    pub(crate) fn is_certain(&self, record: &Record, known: impl Fn(&str) -> bool) -> bool {
        let DraftBody::Json { reader, object: true, .. } = &self.body else { return true };
        let (text, tape) = (reader.text(), reader.tape());
        record.object.iter().chain(&record.error).any(|shape| {
            let constant = shape.members.iter().any(|member| match &member.content {
                Content::Constant(wanted) if shape.is_call() || record.error.contains(shape) => {
                    at_path(&member.path, text, tape).is_some_and(|node| {
                        tape.nodes()[node].end() <= text.len() && tape.raw(text, node) == wanted
                    })
                }
                _ => false,
            });
            let name = find(shape, &Content::Name, text, tape);
            let is_known = name
                .filter(|node| tape.nodes()[*node].end() <= text.len())
                .and_then(|node| tape.string(text, node))
                .is_some_and(|name| known(&name));
            let both = name.is_some() && find(shape, &Content::Arguments, text, tape).is_some();
            constant || is_known || both
        })
    }

    /// The arguments as far as they may be shown, from where they were last shown.
    pub(crate) fn unshown(&mut self) -> Option<&str> {
        let (text, end) = match &self.body {
            DraftBody::Json { reader, object: false, .. } => (reader.text(), reader.text().len()),
            DraftBody::Json { reader, object: true, arguments: Some(node) } => {
                let text = reader.text();
                let node = reader.tape().nodes().get(*node)?;
                if node.kind != Kind::Object {
                    return None;
                }
                self.shown = self.shown.max(node.start());
                (text, node.end().min(text.len()))
            }
            DraftBody::Params(params) => (params.json(), params.json().len()),
            _ => return None,
        };
        if self.shown >= end {
            return None;
        }
        let from = std::mem::replace(&mut self.shown, end);
        text.get(from..end)
    }

    /// Begins a parameter.
    pub(crate) fn begin_value(
        &mut self,
        record: &Record,
        begins: ValueStart<'_>,
        tool: Option<&CompiledTool>,
    ) {
        if !matches!(self.body, DraftBody::Params(_)) {
            self.body = DraftBody::Params(Box::new(Params::new(tool)));
        }
        if let DraftBody::Params(params) = &mut self.body {
            let twice = params.begin(record, begins, tool);
            self.findings.extend(twice.filter(|_| self.findings.len() < FINDINGS));
        }
    }

    /// More of the value.
    #[inline]
    pub(crate) fn value_text(&mut self, text: &str) {
        self.note_line(text);
        if let DraftBody::Params(params) = &mut self.body {
            params.text(text);
        }
    }

    /// Ends the value, whose place in the input is the span.
    pub(crate) fn end_value(&mut self, span: Span) {
        if let DraftBody::Params(params) = &mut self.body {
            let (repair, finding) = params.end(span);
            self.repairs.extend(repair);
            self.findings.extend(finding.filter(|_| self.findings.len() < FINDINGS));
        }
    }

    /// Begins to read parameters that are written as lines.
    pub(crate) fn begin_lines(
        &mut self,
        marks: &Arc<LineMarks>,
        position: usize,
        tool: Option<&CompiledTool>,
    ) {
        self.body = DraftBody::Params(Box::new(Params::new(tool)));
        self.lines = Some(Box::new(LineReader::new(marks.clone(), position)));
        self.body_start = Some(position);
    }

    /// Lets the reader of the lines do something with what it has to write to.
    pub(crate) fn with_lines<T>(
        &mut self,
        record: &Record,
        tool: Option<&CompiledTool>,
        work: impl FnOnce(&mut LineReader, &mut Reading<'_>) -> T,
    ) -> Option<T> {
        let (DraftBody::Params(params), Some(lines)) = (&mut self.body, &mut self.lines) else { return None };
        let mut findings = Vec::new();
        let result = work(lines, &mut Reading { params, findings: &mut findings, record, tool });
        findings.truncate(FINDINGS.saturating_sub(self.findings.len()));
        self.findings.extend(findings);
        Some(result)
    }

    /// Closes the object of the parameters (or of the code that is the only one), once the call is known to be over.
    pub(crate) fn close_params(&mut self, record: &Record) {
        if matches!(self.body, DraftBody::None) && !record.param.is_empty() && self.findings.is_empty() {
            self.body = DraftBody::Params(Box::new(Params::new(None)));
        }
        if let DraftBody::Code(code) = &self.body {
            self.body = DraftBody::Params(Box::new(Params::of_code(code)));
        }
        if let DraftBody::Params(params) = &mut self.body {
            params.close();
        }
    }

    /// The parameters, if the arguments are written as such.
    pub(crate) fn params(&mut self) -> Option<&mut Params> {
        match &mut self.body {
            DraftBody::Params(params) => Some(params),
            _ => None,
        }
    }

    /// Elements stand deeper inside of each other than the policy allows.
    pub(crate) fn too_deep(&mut self, position: usize) {
        if self.findings.iter().all(|finding| finding.code != Code::TooDeep) {
            self.findings.push(Finding::new(Code::TooDeep).at(Span::new(position, position)));
        }
    }

    /// Closes what is left open at the end of the frame and gives the attempt over to be judged.
    /// The reader, if one was needed, comes back to be used again.
    pub(crate) fn finish(
        &mut self,
        record: &Record,
        end: usize,
        closed: bool,
        unmarked: bool,
    ) -> (Attempt, Option<Box<Reader>>) {
        let guessed_end = self.guessed_end.take();
        let (mut attempt, reader) = self.gather(record, end, closed, unmarked);
        if let Some(end) = guessed_end {
            // Whatever was put there to close it is a guess, and if nothing was, the end itself is.
            let mut last = attempt.repairs.iter_mut().filter(|repair| repair.span.end >= end).peekable();
            if last.peek().is_none() {
                attempt.repairs.push(Repair {
                    code: RepairCode::MissingTag,
                    safety: Safety::Guess,
                    span: Span::new(end, end),
                    late: false,
                    count: 1,
                });
            } else {
                last.for_each(|repair| repair.safety = Safety::Guess);
            }
        }
        (attempt, reader)
    }

    fn gather(
        &mut self,
        record: &Record,
        end: usize,
        closed: bool,
        unmarked: bool,
    ) -> (Attempt, Option<Box<Reader>>) {
        let mut attempt = Attempt {
            number: self.number,
            dialect: record.name.clone(),
            span: Some(Span::new(self.start, end)),
            name: Name::Missing,
            id: self.id.take(),
            after: Vec::new(),
            arguments: Arguments::Blank,
            tape: Tape::default(),
            repairs: std::mem::take(&mut self.repairs),
            findings: std::mem::take(&mut self.findings),
            notes: std::mem::take(&mut self.notes),
            strangers: Vec::new(),
            raw: std::mem::take(&mut self.raw),
            raw_len: self.raw_len,
            text_born: false,
            closed,
            unmarked,
            meaning: Meaning::Call,
            body_start: self.body_start,
        };
        // The name of an object is what stands in it when it is whole.
        let mut seen = self.name.take();
        if !matches!(self.body, DraftBody::Json { object: true, .. }) {
            attempt.name = seen.take().map_or(Name::Missing, Name::Written);
        }
        match std::mem::replace(&mut self.body, DraftBody::None) {
            DraftBody::None => {}
            DraftBody::Params(params) => {
                attempt.text_born = true;
                attempt.arguments = Arguments::Broken;
                if let Some((text, tape)) = params.finish() {
                    attempt.arguments = Arguments::Json(text);
                    attempt.tape = tape;
                }
            }
            // The call's end has turned it into parameters.
            DraftBody::Code(_) => attempt.arguments = Arguments::Broken,
            DraftBody::Json { mut reader, object, .. } => {
                let base = self.body_start.unwrap_or(0);
                attempt.repairs.extend(reader.repairs().iter().cloned().map(|mut repair| {
                    repair.span = Span::new(repair.span.start + base, repair.span.end + base);
                    repair
                }));
                if let Some(failure) = reader.failure() {
                    let at = base + failure.at;
                    attempt.findings.push(
                        Finding::new(failure.code).at(Span::new(at, at)).message(failure.message.clone()),
                    );
                    attempt.arguments = Arguments::Broken;
                } else {
                    let (mut text, mut tape) = reader.take_output();
                    let node = if object {
                        resolve(&mut attempt, record, (seen, self.parts), &text, &tape)
                    } else {
                        Some(0)
                    };
                    if let Some(node) = node {
                        let is_whole = !object || cut_out(node, &mut text, &mut tape);
                        attempt.arguments = if is_whole { Arguments::Json(text) } else { Arguments::Broken };
                    }
                    attempt.tape = tape;
                }
                return (attempt, Some(reader));
            }
        }
        (attempt, None)
    }
}

/// Closes a reader at the end of its frame or of the input. `None`: nothing is missing; otherwise the finding.
pub(crate) fn close_reader(reader: &mut Reader, at: usize) -> Option<Finding> {
    match reader.finish() {
        End::Whole | End::Failed => None,
        End::Closable | End::CutOff | End::Blank => {
            let was_cut = reader.finish() == End::CutOff;
            if reader.close() {
                None
            } else {
                let code = if was_cut { Code::Truncated } else { Code::BadJson };
                Some(Finding::new(code).at(Span::new(at, at)))
            }
        }
    }
}

/// Leaves nothing of a text but one of the values in it. False if that has not ended.
fn cut_out(node: usize, text: &mut String, tape: &mut Tape) -> bool {
    let Some((start, end)) = tape.cut_out(node) else { return false };
    text.truncate(end);
    text.drain(..start);
    true
}

/// Decides what an object is and takes name and id out of it; most often they are what was seen while it came. The node
/// is that of its arguments.
fn resolve(
    attempt: &mut Attempt,
    record: &Record,
    (seen, parts): (Option<String>, Option<(usize, usize)>),
    text: &str,
    tape: &Tape,
) -> Option<usize> {
    if tape.nodes().first().is_none_or(|root| root.kind != Kind::Object) {
        attempt.meaning = if attempt.unmarked { Meaning::Data } else { Meaning::Call };
        attempt.findings.push(Finding::new(Code::Malformed).message("the call is not an object"));
        return None;
    }
    if let Some((name, arguments)) = parts.or_else(|| only_name_and_arguments(record, text, tape))
        && let Some(name) = tape.string(text, name)
    {
        attempt.name = written_name(seen, name);
        return Some(begin_arguments(attempt, tape, arguments));
    }
    if let Some(node) = tape.repeated_member(text, 0) {
        // Keys of the arguments are judged with the arguments; here it is about the call itself.
        attempt.findings.push(Finding::new(Code::DuplicateKey).path(tape.pointer(text, node)));
    }
    let calls = record.object.iter().filter(|shape| shape.is_call());
    let mut claiming = calls.filter_map(|shape| Some((shape, claim(shape, text, tape)?)));
    for shape in &record.error {
        if claims_constants(shape, text, tape) {
            let get = |content: &Content| find(shape, content, text, tape).and_then(|n| tape.string(text, n));
            attempt.meaning = Meaning::Error {
                code: get(&Content::Reason)
                    .map_or_else(|| ModelError::UNSPECIFIED.to_owned(), |c| c.into_owned()),
                message: get(&Content::Text).map_or_else(String::new, |c| c.into_owned()),
            };
            return None;
        }
    }
    let Some((shape, claimed)) = claiming.next() else {
        for shape in record.object.iter().filter(|shape| !shape.is_call()) {
            if claims_constants(shape, text, tape)
                && let Some(node) = find(shape, &Content::Text, text, tape)
                && let Some(answer) = tape.string(text, node)
            {
                attempt.meaning = Meaning::Answer(answer.into_owned());
                return None;
            }
        }
        unclaimed(attempt, record, text, tape);
        return None;
    };
    if claiming.any(|(_, other)| other.name != claimed.name) {
        attempt.findings.push(
            Finding::new(Code::Ambiguous).message("the object names two calls at once, so neither was run"),
        );
    }
    let is_named = claimed.named_arguments.is_some();
    let (name, arguments) = match claimed.named_arguments {
        Some((name, node)) => (Name::Written(name), Some(node)),
        None => {
            let name = match claimed.name {
                Some(node) => match tape.string(text, node) {
                    Some(name) => written_name(seen, name),
                    None if tape.nodes()[node].kind == Kind::Null => Name::Missing,
                    None => Name::Other(tape.raw(text, node).to_owned()),
                },
                None => Name::Missing,
            };
            (name, find(shape, &Content::Arguments, text, tape))
        }
    };
    attempt.name = name;
    if let Some(id) = find(shape, &Content::Id, text, tape).and_then(|node| tape.string(text, node)) {
        attempt.id = Some(id.into_owned()).filter(|id| !id.trim().is_empty());
    }
    match awaited(record, text, tape) {
        Ok(after) => attempt.after = after,
        Err(finding) => attempt.findings.push(finding),
    }
    match misplaced(shape, text, tape) {
        Some(finding) => attempt.findings.push(finding),
        None if !is_named => {
            attempt.strangers = strangers(record, text, tape);
            attempt.findings.extend(claimed.name.and_then(|name| second_name(shape, name, text, tape)));
        }
        None => {}
    }
    if attempt.unmarked && arguments.is_none() {
        attempt.meaning = Meaning::Data;
    }
    let node = arguments.filter(|node| tape.nodes()[*node].kind != Kind::Null)?;
    Some(begin_arguments(attempt, tape, node))
}

/// The name that stands in an object; most often it is what was seen first.
fn written_name(seen: Option<String>, name: Cow<'_, str>) -> Name {
    Name::Written(seen.filter(|seen| *seen == name).unwrap_or_else(|| name.into_owned()))
}

/// Notes where the arguments begin.
fn begin_arguments(attempt: &mut Attempt, tape: &Tape, node: usize) -> usize {
    let start = tape.nodes()[node].start();
    attempt.body_start = attempt.body_start.map(|base| base + start);
    node
}

/// Name and arguments of an object that has no other members, in a dialect whose objects have no others. Most calls are
/// like that, and nothing in them can be missing, misplaced or there twice.
fn only_name_and_arguments(record: &Record, text: &str, tape: &Tape) -> Option<(usize, usize)> {
    let ([shape], []) = (&record.object[..], &record.error[..]) else { return None };
    let [name, arguments] = &shape.members[..] else { return None };
    let ([names], [others]) = (&name.path[..], &arguments.path[..]) else { return None };
    if name.content != Content::Name || arguments.content != Content::Arguments {
        return None;
    }
    let mut children = tape.children(0);
    let (first, second) = (children.next()?, children.next()?);
    let is = |node: usize, keys: &[String]| tape.key_among(text, node, keys).is_some();
    let is_whole = children.next().is_none() && is(first, names) && is(second, others);
    (is_whole && tape.nodes()[second].kind != Kind::Null).then_some((first, second))
}

/// The ids that an object waits for; a finding where they are no list of strings.
fn awaited(record: &Record, text: &str, tape: &Tape) -> Result<Vec<String>, Finding> {
    let found = record.object.iter().find_map(|shape| find(shape, &Content::After, text, tape));
    let Some(node) = found.filter(|node| tape.nodes()[*node].kind != Kind::Null) else {
        return Ok(Vec::new());
    };
    let ids: Option<Vec<String>> = match tape.nodes()[node].kind {
        Kind::Array => {
            tape.children(node).map(|id| tape.string(text, id).map(|id| id.into_owned())).collect()
        }
        _ => None,
    };
    ids.ok_or_else(|| {
        let shown: String = tape.raw(text, node).chars().take(40).collect();
        let message = format!("what a call waits for is a list of ids, not `{shown}`");
        Finding::new(Code::Malformed).path(tape.pointer(text, node)).message(message)
    })
}

/// An object that has none of the shapes: data if nothing marks it as a call, otherwise a call without a name.
fn unclaimed(attempt: &mut Attempt, record: &Record, text: &str, tape: &Tape) {
    let named = record.object.iter().filter(|shape| shape.is_call()).find_map(|shape| {
        find(shape, &Content::Name, text, tape)
            .filter(|_| shape.members.iter().any(|m| matches!(m.content, Content::Constant(_))))
            .map(|node| (shape, node))
    });
    match named {
        Some((shape, node)) => {
            attempt.name = tape.string(text, node).map_or(Name::Missing, |n| Name::Written(n.into_owned()));
            let constant = shape.members.iter().find(|m| matches!(m.content, Content::Constant(_)));
            let written = constant
                .and_then(|member| at_path(&member.path, text, tape))
                .map_or_else(|| "none".to_owned(), |n| tape.raw(text, n).trim_matches('"').to_owned());
            let mut finding =
                Finding::new(Code::UnknownType).message(format!("unknown response type: {written}"));
            if let Some((key, value)) = constant.and_then(Member::constant) {
                finding = finding.help(format!("Say `\"{key}\": {value}` to call a tool."));
            }
            attempt.findings.push(finding);
        }
        None if attempt.unmarked => attempt.meaning = Meaning::Data,
        None => attempt.name = Name::Missing,
    }
}

/// What says that an object is a call of some shape.
struct Claim {
    /// Where the name stands.
    name: Option<usize>,
    /// Name and arguments, where the one is the key of the other.
    named_arguments: Option<(String, usize)>,
}

/// The claim of a shape to an object that has everything a call of it needs but, perhaps, its arguments.
fn claim(shape: &Shape, text: &str, tape: &Tape) -> Option<Claim> {
    let named_arguments = named_arguments(shape, text, tape);
    let name = find(shape, &Content::Name, text, tape);
    let is_claimed = named_arguments.is_some() || name.is_some() && claims_constants(shape, text, tape);
    is_claimed.then_some(Claim { name, named_arguments })
}

fn claims_constants(shape: &Shape, text: &str, tape: &Tape) -> bool {
    shape.members.iter().all(|member| match &member.content {
        Content::Constant(wanted) => {
            at_path(&member.path, text, tape).is_some_and(|node| tape.raw(text, node) == wanted)
        }
        _ => true,
    })
}

/// The member of a shape that holds this, where the object has it.
fn find(shape: &Shape, content: &Content, text: &str, tape: &Tape) -> Option<usize> {
    let member = shape.members.iter().find(|member| member.content == *content)?;
    at_path(&member.path, text, tape)
}

/// The first member of a shape that holds this: what comes later must not change what is already shown.
fn find_first(shape: &Shape, content: &Content, text: &str, tape: &Tape) -> Option<usize> {
    let member = shape.members.iter().find(|member| member.content == *content)?;
    let mut node = 0;
    for spellings in &member.path {
        if tape.nodes().get(node)?.kind != Kind::Object {
            return None;
        }
        node = tape.children(node).find(|child| tape.key_among(text, *child, spellings).is_some())?;
    }
    Some(node)
}

/// Name and arguments of an object whose only key is the name.
fn named_arguments(shape: &Shape, text: &str, tape: &Tape) -> Option<(String, usize)> {
    shape.members.iter().find(|member| member.content == Content::NamedArguments)?;
    let root = tape.nodes().first().filter(|root| root.kind == Kind::Object)?;
    let mut children = tape.children(0);
    let only = children.next()?;
    if children.next().is_some() && root.end() <= text.len() {
        return None;
    }
    Some((tape.key(text, only)?.into_owned(), only))
}

/// Name and arguments of an object whose first key is the name, as far as it has been read.
fn first_named(shape: &Shape, text: &str, tape: &Tape) -> Option<(String, usize)> {
    shape.members.iter().find(|member| member.content == Content::NamedArguments)?;
    tape.nodes().first().filter(|root| root.kind == Kind::Object)?;
    let first = tape.children(0).next()?;
    Some((tape.key(text, first)?.into_owned(), first))
}
