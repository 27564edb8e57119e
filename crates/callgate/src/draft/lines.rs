//! Lines: arguments written as `key: value` lines and blocks, turned into the text of a JSON object as they come.
//!
//! The reader sees each byte once. Of a line it holds what is not decided yet: whether it is one of the lines that end
//! the arguments, or the one that ends a block. What belongs to the next call is handed back, never more than that
//! opener with the white space before it.

use std::sync::Arc;

use crate::bytes::character_start;
use crate::dialect::{Record, is_word_character, turn};
use crate::finding::{Code, Finding, Span};
use crate::schema::CompiledTool;

use super::params::{Params, ValueStart, is_json_string};

/// The most of a line that is kept once the arguments are too large: enough to tell what kind of line it is.
const TELLING: usize = 256;

/// The most of a line that a finding shows.
const SHOWN: usize = 120;

/// The most white space between a separator and the opener behind it on one line.
const LONGEST_GAP: usize = 8;

/// What stands at the start of a line that ends arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LineMarks {
    /// Openers of whatever listens by lines.
    openers: Vec<String>,
    /// What stands between two calls.
    joins: Vec<String>,
}

impl LineMarks {
    /// The marks of all records whose openers stand at the start of a line.
    pub(crate) fn of<'r>(records: impl Iterator<Item = &'r Record>) -> Self {
        let mut marks = LineMarks::default();
        let first_line = |text: &str| text.trim().lines().next().unwrap_or_default().trim_end().to_owned();
        for record in records.filter(|record| record.lines) {
            let frames = record.open.iter().chain(&record.close).chain(&record.call);
            // Reasoning is mostly marked by tags, which stand in files too, and begins before calls.
            let frames = frames.chain(&record.text).chain(&record.noise);
            marks.openers.extend(frames.map(|template| first_line(template.head())));
            marks.joins.push(first_line(&record.join.to_string()));
        }
        for list in [&mut marks.openers, &mut marks.joins] {
            list.retain(|mark| !mark.is_empty());
            list.sort();
            list.dedup();
        }
        marks
    }

    /// Whether arguments whose line starts like this end before it, by a mark that needs nothing behind it.
    fn is_opener(&self, line: &str) -> bool {
        self.openers.iter().any(|mark| mark == line && !needs_gap(mark))
    }

    /// Whether the line is a mark that counts if white space or the end follows.
    fn is_word(&self, line: &str) -> bool {
        self.is_join(line) || self.openers.iter().any(|mark| mark == line && needs_gap(mark))
    }

    fn is_join(&self, line: &str) -> bool {
        self.joins.iter().any(|mark| mark == line)
    }

    /// Whether the line may still become a mark.
    fn may_become(&self, line: &str) -> bool {
        self.openers.iter().chain(&self.joins).any(|mark| mark.starts_with(line))
    }

    /// Whether an opener stands in a value that nothing parts from what is before it, at its end or with another opener
    /// behind it. Brackets end values of any kind.
    fn is_glued_to(&self, value: &str) -> bool {
        let opens = |rest: &str| self.openers.iter().any(|mark| rest.starts_with(mark.as_str()));
        let mut words = self.openers.iter().filter(|mark| mark.starts_with(char::is_alphanumeric));
        words.any(|mark| {
            value.match_indices(mark.as_str()).any(|(at, _)| {
                let rest = value[at + mark.len()..].trim_start();
                value[..at].ends_with(|c: char| !c.is_whitespace()) && (rest.is_empty() || opens(rest))
            })
        })
    }

    /// Where on a line a separator begins that, with the opener behind it, the line ends with.
    fn separator_before(&self, line: &str) -> Option<usize> {
        self.openers.iter().filter(|mark| !needs_gap(mark)).find_map(|opener| {
            let before = line.strip_suffix(opener.as_str())?;
            let join_end = before.trim_end();
            if !(1..=LONGEST_GAP).contains(&(before.len() - join_end.len())) {
                return None;
            }
            self.joins.iter().find_map(|join| {
                let value = join_end.strip_suffix(join.as_str())?;
                (value.is_empty() || value.ends_with([' ', '\t'])).then_some(value.trim_end().len())
            })
        })
    }
}

/// A mark that ends like a word goes on if more of a word follows.
fn needs_gap(mark: &str) -> bool {
    mark.ends_with(|c: char| c.is_alphanumeric() || c == '-')
}

/// Where what is read goes.
pub(crate) struct Reading<'a> {
    pub(crate) params: &'a mut Params,
    pub(crate) findings: &'a mut Vec<Finding>,
    pub(crate) record: &'a Record,
    pub(crate) tool: Option<&'a CompiledTool>,
}

/// What the reader has come to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It takes more input.
    Reading,
    /// The arguments have ended; this much of what it took belongs to what follows.
    Ended(String),
    /// A JSON object begins here instead.
    Object,
}

/// A reader of the arguments of one call.
#[derive(Debug)]
pub(crate) struct LineReader {
    marks: Arc<LineMarks>,
    place: Place,
    /// The line so far; in a block only as long as it may be the line that ends it.
    line: String,
    /// How much of it is white space at its start.
    indent: usize,
    /// Where the line begins in the input.
    line_start: usize,
    /// The line break before the line.
    line_break: &'static str,
    /// Whether only its end matters of the line any more.
    settled: bool,
    /// Whether the line is that of the name, on which a whole call may stand.
    first_line: bool,
    has_keys: bool,
    has_failed: bool,
    /// Whether there is too much to keep it.
    muted: bool,
    /// Whether the last value was ended by nothing but the end of the input.
    touches_end: bool,
}

/// What the lines are.
#[derive(Debug)]
enum Place {
    /// Keys with their values.
    Keys,
    /// The text of a value up to a line that is this word; of the text, the last line break is held back.
    Block { key: String, end: String, tail: &'static str, start: usize },
    /// The text of a value up to a line that ends the arguments.
    Rest { key: String, text: String, separator: Option<usize>, start: usize },
}

impl LineReader {
    /// A reader that starts behind the name.
    pub(crate) fn new(marks: Arc<LineMarks>, position: usize) -> Self {
        LineReader {
            marks,
            place: Place::Keys,
            line: String::new(),
            indent: 0,
            line_start: position,
            line_break: "",
            settled: false,
            first_line: true,
            has_keys: false,
            has_failed: false,
            muted: false,
            touches_end: false,
        }
    }

    /// From here on nothing is kept, and only the end is looked for. False if that was so already.
    pub(crate) fn mute(&mut self) -> bool {
        if let Place::Rest { separator, .. } = &mut self.place {
            *separator = None;
        }
        !std::mem::replace(&mut self.muted, true)
    }

    /// Whether the last value was ended by nothing but the end of the input.
    pub(crate) fn touches_end(&self) -> bool {
        self.touches_end
    }

    /// Takes note of bytes that are no text. They are rejected elsewhere; here they must not join what is around them.
    pub(crate) fn invalid(&mut self) {
        self.flush_line_to_block(None);
        self.line.push('\u{FFFD}');
        self.settled = true;
        self.first_line = false;
    }

    /// Reads on; `position` is that of the text in the input. Says how many bytes it took.
    pub(crate) fn push(&mut self, text: &str, position: usize, to: &mut Reading<'_>) -> (usize, Progress) {
        let mut used = 0;
        while let Some(c) = text[used..].chars().next() {
            if c == '\n' {
                if let Some(ended) = self.mark_before_gap(to) {
                    return (used, ended);
                }
                self.end_line(position + used, to);
                used += 1;
                self.line_start = position + used;
                continue;
            }
            if self.settled {
                let rest = &text[used..];
                let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
                self.settled_text(&rest[..end], to);
                used += end;
                continue;
            }
            if c.is_whitespace()
                && let Some(ended) = self.mark_before_gap(to)
            {
                return (used, ended);
            }
            let is_blank = self.indent == self.line.len();
            if c == '{' && is_blank && !self.has_keys && matches!(self.place, Place::Keys) {
                return (used, Progress::Object);
            }
            self.line.push(c);
            used += c.len_utf8();
            if is_blank && c.is_whitespace() {
                self.indent = self.line.len();
            }
            if let Some(ended) = self.look_at_line(to) {
                return (used, ended);
            }
        }
        (used, Progress::Reading)
    }

    /// The input is over, and with it the last line.
    pub(crate) fn finish(&mut self, position: usize, to: &mut Reading<'_>) -> Progress {
        if let Some(ended) = self.mark_before_gap(to) {
            return ended;
        }
        match &self.place {
            Place::Keys => {
                let is_name = self.first_line && self.line.is_empty();
                let is_argument = !matches!(self.line[self.indent..].chars().next(), None | Some('#'));
                self.touches_end = is_name || is_argument;
                self.key_line(position, to);
            }
            Place::Block { end, .. } if !self.settled && self.line.trim_end() == end => {
                self.end_block(position, to);
            }
            Place::Block { .. } => {}
            Place::Rest { .. } => {
                self.touches_end = true;
                self.end_line(position, to);
            }
        }
        if let Place::Block { key, end, start, .. } = &self.place {
            let message = format!("the block of `{key}` has no line `{end}` that ends it");
            self.fail(Finding::new(Code::Truncated).at(Span::new(*start, position)).message(message), to);
        }
        // A value that lasts as long as the lines do has ended with them.
        self.end_rest(position, to);
        Progress::Reading
    }

    /// What a line is may be clear after each of its characters.
    fn look_at_line(&mut self, to: &mut Reading<'_>) -> Option<Progress> {
        match &self.place {
            Place::Keys => {
                let visible = &self.line[self.indent..];
                if visible.is_empty() {
                    return None;
                }
                if self.marks.is_opener(visible) {
                    return Some(self.ended(to));
                }
                if self.first_line {
                    // Here the next call may stand on the same line, behind a separator.
                    let at = self.marks.separator_before(&self.line)?;
                    let handed_back = self.line.split_off(at);
                    self.key_line(self.line_start + at, to);
                    self.end_rest(self.line_start + at, to);
                    return Some(Progress::Ended(handed_back));
                }
                self.settled = !self.marks.may_become(visible);
            }
            Place::Rest { .. } => {
                // Inside the text of a value only a mark at the very start of a line ends it.
                if self.marks.is_opener(&self.line) {
                    return Some(self.ended(to));
                }
                self.settled = !self.marks.may_become(&self.line);
            }
            Place::Block { end, .. } => {
                let is_past_end =
                    self.line.starts_with(end.as_str()) && self.line.ends_with(char::is_whitespace);
                if !is_past_end && !end.starts_with(self.line.as_str()) {
                    self.flush_line_to_block(Some(to));
                    self.settled = true;
                }
            }
        }
        None
    }

    /// The arguments end before a mark that is a word, if white space or the end follows it here.
    fn mark_before_gap(&mut self, to: &mut Reading<'_>) -> Option<Progress> {
        let is_mark = match &self.place {
            _ if self.settled => false,
            Place::Keys => self.marks.is_word(&self.line[self.indent..]),
            // A separator in the text of a value is one only if a call follows it.
            Place::Rest { .. } => self.marks.is_word(&self.line) && !self.marks.is_join(&self.line),
            Place::Block { .. } => false,
        };
        is_mark.then(|| self.ended(to))
    }

    /// The arguments ended before the line that has begun.
    fn ended(&mut self, to: &mut Reading<'_>) -> Progress {
        let mut handed_back = match &mut self.place {
            Place::Rest { text, separator: Some(at), .. } => text.split_off(*at),
            _ => self.line_break.to_owned(),
        };
        handed_back.push_str(&self.line);
        self.clear_line();
        self.end_rest(self.line_start, to);
        Progress::Ended(handed_back)
    }

    fn settled_text(&mut self, text: &str, to: &mut Reading<'_>) {
        if let Place::Block { .. } = self.place {
            self.block_text(text, to);
            return;
        }
        let room = if self.muted { TELLING.saturating_sub(self.line.len()) } else { text.len() };
        self.line.push_str(&text[..character_start(text, room)]);
    }

    /// More of the text of a block.
    fn block_text(&mut self, text: &str, to: &mut Reading<'_>) {
        let Place::Block { tail, .. } = &mut self.place else { return };
        if self.muted || text.is_empty() {
            return;
        }
        // The line break before the line that ends the block is not part of the text.
        to.params.text(std::mem::take(tail));
        match text.strip_suffix('\r') {
            Some(text) => {
                to.params.text(text);
                *tail = "\r";
            }
            None => to.params.text(text),
        }
    }

    /// What was held of the line because it could have ended the block is text.
    fn flush_line_to_block(&mut self, to: Option<&mut Reading<'_>>) {
        if let Place::Block { .. } = self.place {
            let line = std::mem::take(&mut self.line);
            if let Some(to) = to {
                self.block_text(&line, to);
            }
        }
    }

    /// A line break, at this place.
    fn end_line(&mut self, position: usize, to: &mut Reading<'_>) {
        let is_settled = std::mem::replace(&mut self.settled, false);
        self.line_break = if self.line.ends_with('\r') { "\r\n" } else { "\n" };
        match &mut self.place {
            Place::Keys => self.key_line(position, to),
            Place::Block { end, .. } if !is_settled && self.line.trim_end() == end => {
                self.end_block(position, to);
            }
            Place::Block { .. } => {
                self.flush_line_to_block(Some(to));
                if let Place::Block { tail, .. } = &mut self.place {
                    if *tail == "\r" {
                        *tail = "\r\n";
                    } else {
                        if !self.muted {
                            to.params.text(tail);
                        }
                        *tail = "\n";
                    }
                }
            }
            Place::Rest { text, separator, .. } => {
                let line = std::mem::take(&mut self.line);
                if self.marks.is_join(line.trim_end()) && !self.muted {
                    // The line break before it goes with it.
                    *separator = Some(text.strip_suffix('\n').map_or(0, |t| t.trim_end_matches('\r').len()));
                } else if !line.trim().is_empty() {
                    *separator = None;
                }
                if !self.muted {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
        }
        self.clear_line();
        self.first_line = false;
    }

    fn clear_line(&mut self) {
        self.line.clear();
        self.indent = 0;
    }

    /// A line of its own: a key with its value, the start of a block, a comment, or nothing.
    fn key_line(&mut self, position: usize, to: &mut Reading<'_>) {
        let line = std::mem::take(&mut self.line);
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') || self.muted {
            return;
        }
        let span = Span::new(self.line_start, position);
        let Some((key, value)) = key_and_value(text) else {
            let shown: String = text.chars().take(SHOWN).collect();
            let message = format!("an argument line is written `key: value`, but this one is `{shown}`");
            self.fail(Finding::new(Code::Malformed).at(span).message(message), to);
            return;
        };
        self.has_keys = true;
        let key = key.to_owned();
        match value {
            LineValue::Line(value) => {
                let glued = || {
                    let is_glued = !is_json_string(value) && self.marks.is_glued_to(value);
                    is_glued
                        .then_some("a marker of the format is in the line, and may be no part of the value")
                };
                if let Some(message) = turn::doubtful_end(value).or_else(glued) {
                    self.fail(Finding::new(Code::SuspectValueEnd).at(span).message(message), to);
                    return;
                }
                let found = to.params.line(&key, value, span, to.tool);
                to.findings.extend(found);
            }
            LineValue::Block(end) => {
                self.begin_text(&key, position, to);
                self.place = Place::Block { key, end: end.to_owned(), tail: "", start: span.start };
            }
            LineValue::Rest => {
                self.begin_text(&key, position, to);
                self.place = Place::Rest { key, text: String::new(), separator: None, start: span.start };
            }
        }
    }

    /// Begins a value that is text whatever its schema says.
    fn begin_text(&mut self, key: &str, position: usize, to: &mut Reading<'_>) {
        let kind = Some(to.record.type_spelling("string"));
        let begins = ValueStart { key, kind, lead: "", trail: "", position };
        let twice = to.params.begin(to.record, begins, to.tool);
        to.findings.extend(twice);
    }

    fn end_block(&mut self, position: usize, to: &mut Reading<'_>) {
        if let Place::Block { start, .. } = std::mem::replace(&mut self.place, Place::Keys) {
            self.clear_line();
            to.params.end(Span::new(start, position), false);
        }
    }

    /// Ends a value that lasts as long as the lines do.
    fn end_rest(&mut self, position: usize, to: &mut Reading<'_>) {
        if !matches!(self.place, Place::Rest { .. }) {
            return;
        }
        let Place::Rest { key, mut text, separator, start } = std::mem::replace(&mut self.place, Place::Keys)
        else {
            return;
        };
        text.truncate(separator.unwrap_or(text.len()));
        let span = Span::new(start, position);
        if let Some(line) = doubtful_line(&text) {
            let shown: String = line.chars().take(SHOWN).collect();
            let message =
                format!("`{shown}` may belong to the text of `{key}`, or be an argument of its own");
            self.fail(Finding::new(Code::Ambiguous).at(span).message(message), to);
        }
        to.params.text(&without_indent(&text));
        to.params.end(span, false);
    }

    /// The first fault is the one to correct: what follows it may be its consequence.
    fn fail(&mut self, finding: Finding, to: &mut Reading<'_>) {
        if !std::mem::replace(&mut self.has_failed, true) {
            to.findings.push(finding);
        }
    }
}

/// What stands behind a key.
enum LineValue<'t> {
    /// The rest of the line.
    Line(&'t str),
    /// A block up to a line with this word.
    Block(&'t str),
    /// All lines that follow.
    Rest,
}

/// A line taken apart: `key: value`, `key: |`, `key <<END` or `key: <<END`.
fn key_and_value(line: &str) -> Option<(&str, LineValue<'_>)> {
    let key_end = line.find(|c: char| c == ':' || !is_word_character(c)).filter(|at| *at > 0)?;
    let (key, rest) = line.split_at(key_end);
    let rest = rest.trim_start();
    let Some(value) = rest.strip_prefix(':') else {
        return block_word(rest).map(|word| (key, LineValue::Block(word)));
    };
    let value = value.trim();
    Some(match block_word(value) {
        Some(word) => (key, LineValue::Block(word)),
        None if value == "|" => (key, LineValue::Rest),
        None => (key, LineValue::Line(value)),
    })
}

/// The word that ends the block which this opens.
pub(crate) fn block_word(text: &str) -> Option<&str> {
    let word = text.strip_prefix("<<")?;
    let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word.then_some(word)
}

/// A line at the margin that reads as an argument, in a text that began with an indent: nobody can say whether the
/// text had ended there.
fn doubtful_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let is_indented = |line: &str| line.starts_with([' ', '\t']);
    lines.next().filter(|first| is_indented(first))?;
    lines.find(|line| !is_indented(line) && key_and_value(line.trim()).is_some())
}

/// The text without the indent that all its lines share, and without blank lines at its end.
fn without_indent(text: &str) -> String {
    let end = text.trim_end().len();
    let line_end = text[end..].find('\n').map_or(text.len(), |length| end + length);
    let text = text[..line_end].trim_end_matches('\r');
    if end == 0 {
        return String::new();
    }
    let mut indent: Option<&str> = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let own = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let same = |other: &str| other.bytes().zip(own.bytes()).take_while(|(a, b)| a == b).count();
        indent = Some(indent.map_or(own, |indent| &own[..same(indent)]));
    }
    let indent = indent.unwrap_or("");
    let blank = |line: &'_ str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let lines = text.split('\n').map(|line| line.strip_prefix(indent).unwrap_or(&line[blank(line)..]));
    lines.collect::<Vec<_>>().join("\n")
}
