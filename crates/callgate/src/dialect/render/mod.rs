//! Rendering: calls, text and reasoning written in a dialect so that they read back exactly, or a rejection.

mod params;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::guard::{self, Guard, GuardKind, RenderedPart};
use super::record::Record;
use super::template::{Part, Slot, Template, is_word_character};
use super::turn::doubtful_code;
use super::write::{self, Unwritable};
use crate::json::{Kind, Syntax, Tape, escape_into};

/// One call to write.
#[derive(Clone, Copy, Debug)]
pub struct RenderCall<'a> {
    /// The id of the call, written where the dialect has a place for it.
    pub id: Option<&'a str>,
    /// The name of the tool.
    pub name: &'a str,
    /// The arguments: the text of a JSON object, copied as it is where the dialect writes JSON.
    pub arguments: &'a str,
}

/// Why something cannot be written in a dialect: it would be read back as something else.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unrepresentable {
    /// What it is: `/text`, `/reasoning`, or a pointer such as `/calls/0/arguments/path`.
    pub path: String,
    /// What stands in the way.
    pub literal: String,
    /// Why.
    pub message: String,
}

impl fmt::Display for Unrepresentable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (`{}`)", self.path, self.message, self.literal)
    }
}

impl std::error::Error for Unrepresentable {}

fn reject<T>(path: impl Into<String>, literal: &str, message: &str) -> Result<T, Unrepresentable> {
    Err(Unrepresentable { path: path.into(), literal: literal.to_owned(), message: message.to_owned() })
}

impl Record {
    /// Writes reasoning, then text, then calls, as a model of this dialect would after its prompt.
    ///
    /// Whatever is returned reads back as what was given, whole or in chunks. Two things are left to the caller:
    /// a dialect that does not write types reads a value by the tool's schema, so the schema must give each value
    /// the type it has; and the text must not hold markers of other dialects that listen at the same time.
    /// Empty text and empty reasoning are the same as none.
    pub fn render(
        &self,
        calls: &[RenderCall<'_>],
        text: Option<&str>,
        reasoning: Option<&str>,
    ) -> Result<String, Unrepresentable> {
        let text = text.filter(|text| !text.is_empty());
        let reasoning = reasoning.filter(|reasoning| !reasoning.is_empty());
        let mut writer = Writer { record: self, out: String::new(), guards: Vec::new() };
        let first = match (reasoning, text) {
            (Some(_), _) => self.reasoning.first(),
            (None, Some(_)) => self.text.first(),
            (None, None) if calls.is_empty() => return Ok(String::new()),
            (None, None) => self.open.first().filter(|open| !open.is_empty()).or(self.call.first()),
        };
        // Text outside of frames follows the prompt directly, and is checked together with it.
        if !first.is_some_and(|template| template.head().starts_with(&self.prompt)) {
            writer.out.push_str(&self.prompt);
        }
        if let Some(reasoning) = reasoning {
            writer.reasoning(reasoning, text.is_some() || !calls.is_empty())?;
        }
        if let Some(text) = text {
            writer.text(text, reasoning.is_some(), !calls.is_empty())?;
        }
        if !calls.is_empty() {
            writer.section(calls)?;
        }
        for guard in &writer.guards {
            guard.check(self, &writer.out).map_err(|breach| Unrepresentable {
                path: path_of(breach.place, calls),
                literal: writer.out[breach.position..].chars().take(40).collect(),
                message: breach.message.to_owned(),
            })?;
        }
        Ok(writer.out.split_off(self.prompt.len()))
    }
}

/// The text so far, and what has to be checked once it is complete.
struct Writer<'r> {
    record: &'r Record,
    out: String,
    guards: Vec<Guard>,
}

/// What one call fills into the slots of its template.
struct Filling<'a> {
    call: RenderCall<'a>,
    tape: Tape,
    position: usize,
    path: String,
}

impl<'r> Writer<'r> {
    fn reasoning(&mut self, reasoning: &str, is_followed: bool) -> Result<(), Unrepresentable> {
        let Some(template) = self.record.reasoning.first() else {
            return reject("/reasoning", "", "this dialect has no place for reasoning");
        };
        let (range, closer) = self.frame(template, reasoning);
        if closer.is_empty() && is_followed {
            // The next opener ends it, and the layout before that opener must be known from the reasoning.
            if reasoning.ends_with(char::is_whitespace) {
                return reject("/reasoning", "", "white space at its end would be taken for layout");
            }
            self.out.push_str(&self.record.before);
        }
        self.guards.push(Guard {
            range,
            place: RenderedPart::Reasoning,
            kind: GuardKind::Reasoning { closer },
        });
        Ok(())
    }

    fn text(
        &mut self,
        text: &str,
        follows_reasoning: bool,
        is_followed: bool,
    ) -> Result<(), Unrepresentable> {
        let Some(template) = self.record.text.first() else {
            return reject("/text", "", "this dialect has no place for text");
        };
        let is_framed = template.parts.len() > 1;
        if !is_framed {
            if follows_reasoning && self.record.reasoning.first().is_some_and(is_open_ended) {
                return reject("/text", "", "nothing in this dialect separates text from reasoning");
            }
            if follows_reasoning && text.starts_with(char::is_whitespace) {
                return reject("/text", "", "white space after the reasoning would be taken for layout");
            }
            if is_followed && !self.record.before.is_empty() && text.ends_with(char::is_whitespace) {
                return reject("/text", "", "white space before the call would be taken for layout");
            }
            if is_followed && guard::ends_in_fence(text) {
                return reject("/text", "```", "the text ends inside a code fence, where no call counts");
            }
        }
        let (range, closer) = self.frame(template, text);
        self.guards.push(Guard { range, place: RenderedPart::Text, kind: GuardKind::Text { closer } });
        if !is_framed && is_followed {
            self.out.push_str(&self.record.before);
        }
        Ok(())
    }

    /// Writes text into its frame; says where it stands and what was written behind it.
    fn frame(&mut self, template: &Template, text: &str) -> (Range<usize>, String) {
        let mut range = self.out.len()..self.out.len();
        for part in &template.parts {
            match part {
                Part::Literal(literal) => self.out.push_str(literal),
                Part::Slot(Slot::Suffix) => self.out.push_str(&self.record.suffix),
                Part::Slot(Slot::Text) => {
                    let start = self.out.len();
                    self.raw(Slot::Text, text);
                    range = start..self.out.len();
                }
                Part::Slot(_) => {}
            }
        }
        let closer = self.out[range.end..].to_owned();
        (range, closer)
    }

    fn raw(&mut self, slot: Slot, text: &str) {
        if self.record.escape.contains(&slot) {
            write::write_escaped(&mut self.out, text);
        } else {
            self.out.push_str(text);
        }
    }

    fn section(&mut self, calls: &[RenderCall<'_>]) -> Result<(), Unrepresentable> {
        let record = self.record;
        if let Some(open) = record.open.first() {
            self.markup(open);
        }
        for (position, call) in calls.iter().enumerate() {
            if position > 0 {
                self.markup(&record.join);
            }
            self.call(*call, position, position + 1 == calls.len())?;
        }
        if let Some(close) = record.close.first() {
            self.markup(close);
        }
        Ok(())
    }

    fn markup(&mut self, template: &Template) {
        for part in &template.parts {
            match part {
                Part::Literal(literal) => self.out.push_str(literal),
                Part::Slot(_) => self.out.push_str(&self.record.suffix),
            }
        }
    }

    fn call(&mut self, call: RenderCall<'_>, position: usize, is_last: bool) -> Result<(), Unrepresentable> {
        let path = format!("/calls/{position}");
        let arguments_path = format!("{path}/arguments");
        let tape = Tape::parse(call.arguments).filter(|tape| tape.nodes()[0].kind == Kind::Object);
        let Some(tape) = tape else {
            return reject(arguments_path, call.arguments, "the arguments are not a JSON object");
        };
        if let Some(node) = tape.duplicate(call.arguments) {
            let key = tape.key(call.arguments, node).unwrap_or_default();
            return reject(arguments_path, &key, "a key is given twice");
        }
        if write::has_lone_surrogate(call.arguments) {
            return reject(arguments_path, call.arguments, "a surrogate escape has no partner");
        }
        let template = self.alternative(call.id.is_some(), &path)?;
        let filling = Filling { call, tape, position, path };
        let start = self.out.len();
        self.fill(template, &filling)?;
        let Some(rival) = self.rival(template, start) else { return Ok(()) };
        if !rival.has(Slot::Code) || *call.name != *self.record.code_tool {
            return reject(format!("{}/name", filling.path), call.name, "the name means something else here");
        }
        self.out.truncate(start);
        self.code(rival, &filling, is_last)
    }

    /// The template for a call: one with `{id}` exactly if the call has an id, as far as the record gives a choice.
    fn alternative(&self, has_id: bool, path: &str) -> Result<&'r Template, Unrepresentable> {
        let written = || self.record.call.iter().filter(|template| !template.has(Slot::Code));
        let with_id = written().find(|template| template.has(Slot::Id));
        let without_id = written().find(|template| !template.has(Slot::Id));
        let chosen = if has_id { with_id.or(without_id) } else { without_id };
        match chosen {
            Some(template) => Ok(template),
            None if with_id.is_some() => {
                reject(format!("{path}/id"), "{id}", "this dialect writes an id for every call")
            }
            None => reject(path, "{code}", "this dialect writes nothing but code"),
        }
    }

    /// Another template of the record that what was just written reads as: one whose opener reaches into the name.
    fn rival(&self, chosen: &Template, start: usize) -> Option<&'r Template> {
        let record = self.record;
        let mut others = record.call.iter().chain(&record.text).chain(&record.reasoning);
        others.find(|other| {
            other.head().len() > chosen.head().len() && self.out[start..].starts_with(other.head().trim_end())
        })
    }

    /// Writes a call of the tool that runs code as the code it carries.
    fn code(
        &mut self,
        template: &Template,
        filling: &Filling<'_>,
        is_last: bool,
    ) -> Result<(), Unrepresentable> {
        let json = filling.call.arguments;
        let path = format!("{}/arguments", filling.path);
        let mut members = filling.tape.children(0);
        let only = members.next().filter(|_| members.next().is_none());
        let code = only
            .filter(|node| filling.tape.key(json, *node).as_deref() == Some("code"))
            .and_then(|node| filling.tape.string(json, node));
        let (Some(node), Some(code)) = (only, code) else {
            let tool = &self.record.code_tool;
            let message = format!("a call of `{tool}` is written as its `code`, a string, and nothing else");
            return reject(path, json, &message);
        };
        if !is_last || code.is_empty() || code.starts_with(char::is_whitespace) {
            return reject(path, &code, "code comes last, and starts with a visible character");
        }
        if let Some(message) = doubtful_code(&code) {
            return reject(path, &code, message);
        }
        self.markup(template);
        let start = self.out.len();
        self.out.push_str(&code);
        let place = RenderedPart::Argument { call: filling.position, node };
        let kind = GuardKind::Text { closer: String::new() };
        self.guards.push(Guard { range: start..self.out.len(), place, kind });
        Ok(())
    }

    fn fill(&mut self, template: &Template, filling: &Filling<'_>) -> Result<(), Unrepresentable> {
        for (index, part) in template.parts.iter().enumerate() {
            let next = template.parts.get(index + 1);
            match part {
                Part::Literal(literal) => self.out.push_str(literal),
                Part::Slot(Slot::Name) => {
                    self.word(filling.call.name, next, || format!("{}/name", filling.path))?
                }
                Part::Slot(Slot::Id) => {
                    let id = filling.call.id.unwrap_or_default();
                    self.word(id, next, || format!("{}/id", filling.path))?;
                }
                Part::Slot(Slot::Index) => self.out.push_str(&filling.index()),
                Part::Slot(Slot::Suffix) => self.out.push_str(&self.record.suffix),
                Part::Slot(Slot::Arguments) => self.arguments(filling, self.record.syntax)?,
                Part::Slot(Slot::Object) => self.object(filling)?,
                Part::Slot(Slot::Params) => self.params(filling, &template.parts[index + 1..])?,
                Part::Slot(_) => {}
            }
        }
        Ok(())
    }

    /// Writes a name, key or id, if it ends where it should.
    fn word(
        &mut self,
        word: &str,
        next: Option<&Part>,
        path: impl Fn() -> String,
    ) -> Result<(), Unrepresentable> {
        if word.is_empty() || !word.chars().all(is_word_character) {
            return reject(path(), word, "a name is a word without white space, quotes and brackets");
        }
        if word.starts_with('/') && self.out.ends_with('<') {
            return reject(path(), word, "the name would be read as a closing tag");
        }
        // A literal that starts like a word ends the name only where it stands whole, so the name must not hold it.
        if let Some(Part::Literal(literal)) = next {
            let length = literal.find(|character| !is_word_character(character)).unwrap_or(literal.len());
            if length > 0 && word.contains(&literal[..length]) {
                return reject(path(), word, "the name holds what ends it in this dialect");
            }
        }
        self.out.push_str(word);
        Ok(())
    }

    fn arguments(&mut self, filling: &Filling<'_>, syntax: Syntax) -> Result<(), Unrepresentable> {
        let json = filling.call.arguments;
        if syntax == Syntax::Lines {
            write::write_lines(&mut self.out, json, &filling.tape, self.record);
            return Ok(());
        }
        let quote = self.record.quote.as_deref().unwrap_or_default();
        write::write_arguments(&mut self.out, json, &filling.tape, syntax, quote).map_err(
            |Unwritable { node, literal, message }| Unrepresentable {
                path: filling.argument_path(node),
                literal,
                message: message.to_owned(),
            },
        )
    }

    /// Writes the first shape; a member for an id that the call does not have is left out.
    fn object(&mut self, filling: &Filling<'_>) -> Result<(), Unrepresentable> {
        let Some(shape) = self.record.object.first() else { return Ok(()) };
        let syntax = if self.record.syntax == Syntax::Python { Syntax::Python } else { Syntax::Json };
        let mut template = Cow::Borrowed(&shape.template);
        // What a call waits for is the model's plan, and no part of the call itself.
        let left_out = [Some(Slot::After), Some(Slot::Id).filter(|_| filling.call.id.is_none())];
        for slot in left_out.into_iter().flatten() {
            if let Some(shortened) = without_member(&template, slot) {
                template = Cow::Owned(shortened);
            }
        }
        for part in &template.parts {
            match part {
                Part::Literal(literal) => self.out.push_str(literal),
                Part::Slot(Slot::Arguments) => self.arguments(filling, syntax)?,
                Part::Slot(Slot::Index) => self.out.push_str(&filling.index()),
                Part::Slot(slot) => {
                    let (text, path) = match slot {
                        Slot::Id => (filling.call.id.unwrap_or_default(), format!("{}/id", filling.path)),
                        _ => (filling.call.name, format!("{}/name", filling.path)),
                    };
                    if text.is_empty() || !text.chars().all(is_word_character) {
                        return reject(
                            path,
                            text,
                            "a name is a word without white space, quotes and brackets",
                        );
                    }
                    // Words hold no quotes and no control characters: the two string syntaxes agree on the rest.
                    escape_into(&mut self.out, text);
                }
            }
        }
        Ok(())
    }
}

impl Filling<'_> {
    /// What `{index}` is: an id that is a number, or else the position of the call.
    fn index(&self) -> String {
        let is_number = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
        self.call.id.filter(is_number).map_or_else(|| self.position.to_string(), str::to_owned)
    }

    fn argument_path(&self, node: usize) -> String {
        format!("{}/arguments{}", self.path, self.tape.pointer(self.call.arguments, node))
    }
}

fn path_of(place: &RenderedPart, calls: &[RenderCall<'_>]) -> String {
    match place {
        RenderedPart::Text => "/text".to_owned(),
        RenderedPart::Reasoning => "/reasoning".to_owned(),
        RenderedPart::Argument { call, node } => {
            let json = calls.get(*call).map_or("", |call| call.arguments);
            let pointer = Tape::parse(json).map(|tape| tape.pointer(json, *node)).unwrap_or_default();
            format!("/calls/{call}/arguments{pointer}")
        }
    }
}

fn is_open_ended(template: &Template) -> bool {
    !matches!(template.parts.last(), Some(Part::Literal(_)))
}

/// The template of a shape without the member that a slot fills, and the comma that goes with it; nothing if it has
/// no such member.
fn without_member(template: &Template, slot: Slot) -> Option<Template> {
    let source = template.to_string();
    let placeholder = format!("{{{}}}", slot.word());
    let slot = source.find(&placeholder)?;
    // A placeholder stands in quotes, unless its value is a list or an object.
    let quotes = usize::from(source[..slot].ends_with(['"', '\'']));
    let value_start = slot - quotes;
    let key_end = source[..value_start].rfind(['"', '\''])?;
    let key_start = source[..key_end].rfind(['"', '\''])?;
    let before = source[..key_start].trim_end();
    let after = source.get(slot + placeholder.len() + quotes..)?;
    let shortened = match before.strip_suffix(',') {
        Some(before) => format!("{before}{after}"),
        None => format!("{before}{}", after.trim_start().trim_start_matches(',').trim_start()),
    };
    Some(Template::parse(&shortened))
}
