//! Records: one dialect as data. The templates say what is written, `also` says what else is read.

use std::sync::Arc;

use super::load::DEFAULT_REASONING;
use super::shape::Shape;
use super::template::{Slot, Template};
use crate::json::Syntax;

/// One dialect: how a model writes calls, text and reasoning, built in or read from a file.
///
/// ```
/// use callgate::{Gate, Record, RenderCall};
///
/// let records = Record::parse("[mine]\ncall = \"<call>{object}</call>\"")?;
/// let call = RenderCall { id: None, name: "look", arguments: r#"{"q": "cats"}"# };
/// let written = records[0].render(&[call], None, None)?;
/// let gate = Gate::builder().record(records[0].clone()).build()?;
/// assert_eq!(gate.parse(&written).calls[0].arguments, call.arguments);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// Where a field holds several templates, the first is the one that is rendered and all are read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// The id of the dialect.
    pub name: Arc<str>,
    /// The structural family, a letter from A to I; `-` if the record does not say.
    pub family: char,
    /// Patterns for model names, in which a hyphen is any separator and `*` any text.
    pub models: Vec<String>,
    /// Where the format is documented.
    pub source: String,
    /// Deviations worth knowing.
    pub notes: String,
    /// Whether it listens without being asked for. Single openers may still be by name only.
    pub auto: bool,
    /// What the prompt always ends with: read with zero width before the first byte, cut from what is rendered.
    #[doc(hidden)]
    pub prompt: String,
    /// What opens a section of calls, paired with `close` by position. Both are empty if there are no sections.
    #[doc(hidden)]
    pub open: Vec<Template>,
    /// What closes a section of calls; as many as `open`.
    #[doc(hidden)]
    pub close: Vec<Template>,
    /// One call. At least one.
    #[doc(hidden)]
    pub call: Vec<Template>,
    /// What stands between two calls; read if it is there.
    #[doc(hidden)]
    pub join: Template,
    /// The white space written between text and the first opener.
    #[doc(hidden)]
    pub before: String,
    /// Whether openers stand at the start of a line, and a line break in a literal is one, not free white space.
    #[doc(hidden)]
    pub lines: bool,
    /// The shapes of `{object}`.
    #[doc(hidden)]
    pub object: Vec<Shape>,
    /// The shapes of an error that the model reports instead of a call.
    #[doc(hidden)]
    pub error: Vec<Shape>,
    /// One parameter of `{params}`.
    #[doc(hidden)]
    pub param: Vec<Template>,
    /// One list element, if values are written as nested elements.
    #[doc(hidden)]
    pub item: Option<Template>,
    /// The spelling of `{type}` per JSON type; `other` stands for all the rest. A type without a row is spelled as in
    /// JSON Schema.
    #[doc(hidden)]
    pub types: Vec<(String, String)>,
    /// How `{arguments}` is written.
    #[doc(hidden)]
    pub syntax: Syntax,
    /// The private string delimiter of the syntax `bare`.
    #[doc(hidden)]
    pub quote: Option<Arc<str>>,
    /// The tool that `{code}` is for; empty if no call has `{code}`.
    pub code_tool: Arc<str>,
    /// Whether white space around `{value}` is dropped.
    #[doc(hidden)]
    pub trim: bool,
    /// The slots whose text is XML-escaped.
    #[doc(hidden)]
    pub escape: Vec<Slot>,
    /// What `{suffix}` is rendered as.
    #[doc(hidden)]
    pub suffix: String,
    /// Whether only a name of the tool list opens a call, and only a key of its schema a parameter.
    #[doc(hidden)]
    pub known: bool,
    /// Per literal, what else is read in its place; an empty spelling means that it may be absent.
    #[doc(hidden)]
    pub also: Vec<(String, Vec<String>)>,
    /// The frames of visible text.
    #[doc(hidden)]
    pub text: Vec<Template>,
    /// The spans of reasoning; none if empty.
    #[doc(hidden)]
    pub reasoning: Vec<Template>,
    /// Whether a call opener inside reasoning may end it.
    #[doc(hidden)]
    pub ends_thought: bool,
    /// What is swallowed outside of calls.
    #[doc(hidden)]
    pub noise: Vec<Template>,
    /// Inner openers that are unmistakable even without their wrapper.
    #[doc(hidden)]
    pub bare: Vec<String>,
    /// Its tags that are special tokens of its models' vocabularies, besides those that are told by bars and capitals.
    #[doc(hidden)]
    pub special: Vec<String>,
}

impl Record {
    /// The templates that can open a call from outside: the section openers, or the calls if there are none. An
    /// empty section opener stands for the calls.
    #[doc(hidden)]
    pub fn openers(&self) -> Vec<&Template> {
        let mut openers: Vec<&Template> = self.open.iter().filter(|open| !open.is_empty()).collect();
        if openers.len() < self.open.len() || self.open.is_empty() {
            openers.extend(&self.call);
        }
        openers
    }

    /// Whether an opener cannot be mistaken for text: its first literal has at least four bytes and is anchored on
    /// `<`, `[` or a backtick, as its first byte or as the second.
    ///
    /// One scan for three bytes then finds all such openers of all dialects. Every other opener listens only if its
    /// dialect was asked for by name, and so does one of raw code, which shows nothing that only a call has.
    #[doc(hidden)]
    pub fn is_unmistakable(opener: &Template) -> bool {
        if opener.has(Slot::Code) {
            return false;
        }
        let head = opener.head().trim_start().as_bytes();
        let anchored = |byte: Option<&u8>| matches!(byte, Some(b'<' | b'[' | b'`'));
        head.len() >= 4 && (anchored(head.first()) || anchored(head.get(1)))
    }

    /// Whether a response that begins like this is told by it: what is left of a header behind the prompt is a marker, or
    /// words that lead to a name, behind which markers follow. Other words may be any text.
    pub(crate) fn is_told_by(start: &str) -> bool {
        start.trim_start().starts_with(['<', '[']) || start.trim().len() >= 3 && start.ends_with(['=', '.'])
    }

    /// What its calls begin with in a text, each once: the opener up to its first slot, or the slot itself, and what is
    /// left of it behind the prompt. Beside each, whether it is heard without being asked for by name.
    #[doc(hidden)]
    pub fn heads(&self) -> Vec<(String, bool)> {
        let mut heads: Vec<(String, bool)> = Vec::new();
        let mut add = |head: &str, opener: &Template, is_heard: bool| {
            let head = match head.trim() {
                "" => opener.to_string(),
                head => head.to_owned(),
            };
            match heads.iter_mut().find(|(other, _)| *other == head) {
                Some((_, other)) => *other |= is_heard,
                None => heads.push((head, is_heard)),
            }
        };
        for opener in self.openers() {
            let is_heard = self.auto && Record::is_unmistakable(opener);
            add(opener.head(), opener, is_heard);
            if let Some(rest) = opener.head().strip_prefix(&self.prompt).filter(|_| !self.prompt.is_empty()) {
                add(rest, opener, is_heard && Record::is_told_by(rest));
            }
        }
        heads
    }

    /// Whether it writes this marker before its calls, in them or between them. Of its texts, the first is the one that is
    /// written before calls.
    pub(crate) fn writes(&self, marker: &str) -> bool {
        let templates = self.text.first().into_iter().chain(&self.open).chain(&self.call).chain([&self.join]);
        let prompt = std::iter::once(self.prompt.as_str());
        templates
            .flat_map(|template| template.literals())
            .chain(prompt)
            .any(|literal| literal.contains(marker))
    }

    /// Whether this marker opens thoughts of its own, or those of all: a call ends no thought of another family.
    pub(crate) fn thinks_behind(&self, marker: &str) -> bool {
        let mut heads = self.reasoning.iter().map(|template| template.head().trim());
        // What is repeated in the end of a tag may be absent.
        heads.any(|head| marker.strip_prefix(head).is_some_and(|rest| matches!(rest, "" | ">")))
            || DEFAULT_REASONING.split_once('\n').is_some_and(|(head, _)| head == marker)
    }

    /// Whether something that it reads is plain text, up to a closer that only looking for it finds.
    pub(crate) fn has_text_values(&self) -> bool {
        !self.param.is_empty() || self.call.iter().any(|call| call.has(Slot::Code))
    }

    /// Whether its parameters are tags whose names are the keys.
    pub(crate) fn has_key_tags(&self) -> bool {
        self.param.iter().any(|param| param.head().ends_with('<'))
    }

    /// Whether it writes a tag of this name itself.
    pub(crate) fn writes_tag(&self, name: &str) -> bool {
        self.writes(&format!("<{name}>"))
    }

    /// How `{type}` is spelled for a JSON type.
    #[doc(hidden)]
    pub fn type_spelling<'r>(&'r self, json_type: &'r str) -> &'r str {
        let row = |wanted: &str| self.types.iter().find(|(name, _)| name == wanted);
        row(json_type).or_else(|| row("other")).map_or(json_type, |(_, spelling)| spelling)
    }
}
