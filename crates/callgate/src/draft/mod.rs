//! Drafts: an attempt while it is being read, from its first marker to the arguments as JSON text.

pub(crate) mod attributes;
mod claims;
mod code;
pub(crate) mod ending;
mod layout;
pub(crate) mod lines;
pub(crate) mod members;
pub(crate) mod params;
pub(crate) mod shown;
mod synonyms;

use std::sync::Arc;

use crate::attempt::Meaning;
use crate::bytes::character_start;
use crate::dialect::{Content, Record};
use crate::event::Choice;
use crate::finding::{Code, Finding, Span};
use crate::json::{Kind, Node, Reader, Repair, RepairCode, Safety};
use crate::ledger::Emitter;
use crate::policy::Untyped;
use crate::rules::Rules;
use crate::schema::CompiledTool;

use self::claims::{claim, claims_constants, find, find_first, first_named, only_name_and_arguments};
use self::lines::Reading;
use self::members::at_path;
use self::params::{Params, ValueEnd, ValueStart};
use self::synonyms::synonyms;

/// The most findings that are kept of one attempt.
const FINDINGS: usize = 64;

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
    pub(crate) repairs: Vec<Repair>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<Finding>,
    pub(crate) raw: String,
    pub(crate) raw_len: usize,
    /// Whether it is announced, so that deltas may follow.
    pub(crate) started: bool,
    /// How much of the arguments has been shown.
    pub(crate) shown: usize,
    /// What a text value is of which no schema says the type.
    pub(crate) untyped: Untyped,
    pub(crate) body_start: Option<usize>,
    /// Whether the value that is being read is at the start of a line.
    at_line_start: bool,
    /// The tape when it was last searched for name and arguments: how many values it had, where the last ended, and whether
    /// the object had. If it is as it was, there is nothing new to find.
    searched: (usize, usize, bool),
    /// Name and arguments of an object that has ended, if it has nothing else.
    members: Option<(usize, usize)>,
    /// Whether its end is a guess, and where that was made.
    guessed_end: Option<usize>,
    /// The tool whose name was mangled to that of the call, if any: it takes a look at all tools, so it is asked for once.
    unmangled: Option<Option<String>>,
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
    pub(crate) fn new(number: usize, call: u32, start: usize) -> Self {
        Draft {
            call,
            number,
            start,
            name: None,
            id: None,
            body: DraftBody::None,
            repairs: Vec::new(),
            findings: Vec::new(),
            notes: Vec::new(),
            raw: String::new(),
            raw_len: 0,
            started: false,
            shown: 0,
            untyped: Untyped::default(),
            body_start: None,
            at_line_start: false,
            searched: (0, 0, false),
            members: None,
            guessed_end: None,
            unmangled: None,
        }
    }

    /// The tool that the call is judged by: of its name, or of the one that was mangled to it.
    pub(crate) fn tool<'r>(&mut self, rules: &'r Rules, record: &Record) -> Option<&'r CompiledTool> {
        let name = self.name.as_deref()?;
        if let Some(tool) = rules.tool(name) {
            return Some(tool);
        }
        let unmangled = || rules.unmangled_in_text(name, record).map(str::to_owned);
        rules.tool(self.unmangled.get_or_insert_with(unmangled).as_deref()?)
    }

    /// Makes a draft that is over the draft of the next call. It keeps the memory for the text of its frame.
    pub(crate) fn restart(&mut self, number: usize, call: u32, start: usize) {
        let raw = std::mem::take(&mut self.raw);
        *self = Draft { raw, ..Draft::new(number, call, start) };
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
            self.raw.truncate(character_start(&self.raw, self.raw_len));
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
            self.raw.push_str(&text[..character_start(text, room)]);
        }
    }

    /// The text of the JSON, if something in it had to be guessed.
    pub(crate) fn body_in_doubt(&self) -> Option<&str> {
        let DraftBody::Json { reader, .. } = &self.body else { return None };
        let is_guess =
            |repair: &Repair| repair.safety == Safety::Guess || repair.code == RepairCode::UnescapedQuote;
        let is_guessed = reader.repairs().iter().any(is_guess);
        let at = self.body_start.map_or(0, |start| start - self.start);
        self.raw.get(at..).filter(|_| is_guessed)
    }

    /// What stands behind another call of its frame and should be an object.
    pub(crate) fn behind_call(&self) -> Option<&str> {
        match self.body {
            DraftBody::Json { object: true, .. } if self.call > 1 => {
                self.body_start.and_then(|start| self.raw.get(start - self.start..))
            }
            DraftBody::None => self.raw.trim_start().strip_prefix(','),
            _ => None,
        }
    }

    /// Whether the JSON is escaped, as it is inside of a string.
    pub(crate) fn is_escaped(&self) -> bool {
        let DraftBody::Json { reader, .. } = &self.body else { return false };
        reader.repairs().iter().any(|repair| repair.code == RepairCode::EscapedQuotes)
            || self.body_in_doubt().is_some_and(|body| body.contains("\\\""))
    }

    /// Whether one of these markers stands in the JSON, which is kept whole where the frame is not.
    pub(crate) fn shows_any(&self, markers: &[String]) -> bool {
        let DraftBody::Json { reader, .. } = &self.body else { return false };
        markers.iter().any(|marker| reader.text().contains(marker.as_str()))
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

    /// Announces the call once its name is known, and nowhere else. What it says of its dialect is asked for only then.
    pub(crate) fn announce(
        &mut self,
        source: impl FnOnce() -> (Arc<str>, Choice),
        out: &mut Emitter<'_, '_>,
    ) {
        if !self.started
            && let Some(name) = self.name.as_deref().filter(|name| !name.trim().is_empty())
        {
            self.started = true;
            out.started(self.number, name, source());
        }
    }

    /// Shows what is new of the arguments.
    pub(crate) fn show(&mut self, out: &mut Emitter<'_, '_>) {
        let number = self.number;
        if self.started
            && let Some(delta) = self.unshown()
        {
            out.delta(number, delta);
        }
    }

    /// The reader of JSON, if that is what is being read, and how much of this text it may have when so much of its value has
    /// come: all of it but near the limit of arguments. Beyond that nothing is read, but the end of the value is still looked
    /// for.
    #[inline]
    pub(crate) fn json_with_room(
        &mut self,
        text: &str,
        so_far: usize,
        limit: usize,
    ) -> Option<(&mut Reader, usize)> {
        let DraftBody::Json { reader, .. } = &mut self.body else { return None };
        let left = limit.saturating_sub(so_far);
        let room = if text.len() <= left { text.len() } else { room_near(reader, text, left, limit) };
        Some((reader, room))
    }

    /// Whether the call is announced, and nothing of it is still to be found in the object that is being read.
    pub(crate) fn is_known(&self) -> bool {
        let is_open = matches!(self.body, DraftBody::Json { object: true, arguments: None, .. });
        self.started && self.name.is_some() && !is_open
    }

    /// What is known of the name and the arguments of an object that is still being read. Where a marker says that it is a
    /// call, they may stand under the words of other formats.
    pub(crate) fn look_at_object(&mut self, record: &Record, unmarked: bool) {
        let DraftBody::Json { reader, object: true, arguments } = &mut self.body else { return };
        if self.name.is_some() && arguments.is_some() {
            return;
        }
        let (text, tape) = (reader.text(), reader.tape());
        // What is looked for shows with the start or the end of a value, and most chunks bring neither.
        let has_ended = tape.nodes().first().is_some_and(|root| root.end() <= text.len());
        let read = (tape.nodes().len(), tape.nodes().last().map_or(0, Node::end), has_ended);
        if std::mem::replace(&mut self.searched, read) == read {
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
            self.members = Some(parts).filter(|_| has_ended);
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
        if arguments.is_none()
            && !unmarked
            && let Some(found) = synonyms(record, text, tape)
        {
            self.name =
                tape.string(text, found.name).filter(|name| !name.is_empty()).map(|name| name.into_owned());
            *arguments = found.arguments;
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
    fn unshown(&mut self) -> Option<&str> {
        let (text, end) = match &self.body {
            DraftBody::Json { reader, object: false, .. } => {
                let text = reader.text();
                (text, text.len())
            }
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
            self.body = DraftBody::Params(Box::new(Params::new(tool, self.untyped)));
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

    /// Whether nothing but white space has come of the value that is being read.
    pub(crate) fn value_is_blank(&mut self) -> bool {
        self.params().is_some_and(|params| params.value_is_blank())
    }

    /// Whether the value that is being read could be over without its closer, of a call that begins with one of these.
    pub(crate) fn value_may_end(&mut self, openers: &[String]) -> bool {
        self.params().is_some_and(|params| params.value_may_end(openers))
    }

    /// The value that is being read may have ended here, and nothing tells whether it has.
    pub(crate) fn suspect_end(&mut self, position: usize) {
        if !self.findings.iter().any(|finding| finding.code == Code::SuspectValueEnd) {
            self.findings.push(Finding::new(Code::SuspectValueEnd).at(Span::new(position, position)));
        }
    }

    /// Whether a value was ended where its closer is missing.
    pub(crate) fn lacks_closer_of_value(&self) -> bool {
        matches!(self.body, DraftBody::Params(_))
            && self.repairs.iter().any(|repair| repair.code == RepairCode::MissingTag)
    }

    /// Ends the value, whose place in the input is the span.
    pub(crate) fn end_value(&mut self, span: Span, lacks_closer: bool) {
        if let DraftBody::Params(params) = &mut self.body {
            let ValueEnd { is_late, is_text, finding } = params.end(span, lacks_closer);
            if is_text {
                self.repaired(RepairCode::UnquotedString, span.start, span.end);
            }
            if lacks_closer {
                self.repairs.push(Repair {
                    code: RepairCode::MissingTag,
                    safety: Safety::Lossless,
                    span: Span::new(span.end, span.end),
                    late: is_late,
                    count: 1,
                });
            }
            self.findings.extend(finding.filter(|_| self.findings.len() < FINDINGS));
        }
    }

    /// Begins to read JSON.
    pub(crate) fn begin_json(&mut self, reader: Box<Reader>, object: bool, position: usize) {
        self.body = DraftBody::Json { reader, object, arguments: None };
        self.body_start = Some(position);
    }

    /// An object that might have been data is a call.
    pub(crate) fn make_certain(&mut self) {
        if let DraftBody::Json { reader, .. } = &mut self.body {
            reader.set_tentative(false);
        }
    }

    /// Begins to read parameters that are written as lines.
    pub(crate) fn begin_params(&mut self, position: usize, tool: Option<&CompiledTool>) {
        self.body = DraftBody::Params(Box::new(Params::new(tool, self.untyped)));
        self.body_start = Some(position);
    }

    /// Lets a reader of lines write the parameters.
    pub(crate) fn read_lines<T>(
        &mut self,
        record: &Record,
        tool: Option<&CompiledTool>,
        read: impl FnOnce(&mut Reading<'_>) -> T,
    ) -> T {
        let mut params = match std::mem::replace(&mut self.body, DraftBody::None) {
            DraftBody::Params(params) => params,
            _ => Box::new(Params::new(tool, self.untyped)),
        };
        let mut findings = Vec::new();
        let result = read(&mut Reading { params: &mut params, findings: &mut findings, record, tool });
        self.body = DraftBody::Params(params);
        findings.truncate(FINDINGS.saturating_sub(self.findings.len()));
        self.findings.extend(findings);
        result
    }

    /// The arguments are longer than the policy allows.
    pub(crate) fn too_large(&mut self, position: usize, limit: usize) {
        if self.findings.iter().all(|finding| finding.code != Code::TooLarge) {
            let message = format!("the arguments are longer than {limit} bytes");
            self.findings
                .push(Finding::new(Code::TooLarge).at(Span::new(position, position)).message(message));
        }
    }

    /// Closes the object of the parameters (or of the code that is the only one), once the call is known to be over.
    pub(crate) fn close_params(&mut self, record: &Record, rules: &Rules) {
        if matches!(self.body, DraftBody::None) && !record.param.is_empty() && self.findings.is_empty() {
            self.body = DraftBody::Params(Box::new(Params::new(None, self.untyped)));
        }
        let is_code = matches!(self.body, DraftBody::Code(_));
        let tool = is_code.then(|| self.tool(rules, record)).flatten();
        if let DraftBody::Code(code) = &self.body {
            let at = self.body_start.unwrap_or(self.start);
            let fault = code::fault(record, code, tool.is_some());
            self.findings.extend(fault.map(|fault| fault.at(Span::new(at, at + code.len()))));
            self.body = DraftBody::Params(Box::new(Params::of_code(code, tool)));
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
}

/// How much of the text the reader may have when so much is left before the limit.
#[inline(never)] // Chunks near the limit are rare.
fn room_near(reader: &mut Reader, text: &str, left: usize, limit: usize) -> usize {
    if left == 0 && reader.failure().is_none() {
        let message = format!("the arguments are longer than {limit} bytes");
        reader.abort(Code::TooLarge, limit, message);
    }
    if reader.failure().is_some() {
        return text.len();
    }
    let mut room = left;
    while !text.is_char_boundary(room) {
        room += 1;
    }
    room
}
