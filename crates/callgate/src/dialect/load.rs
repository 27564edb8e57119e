//! Loading: the text of a dialect file to checked records, or an error with line, column and a way out.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::check::{self, Problem};
use super::record::Record;
use super::shape::Shape;
use super::template::{Slot, Template};
use crate::json::Syntax;
use crate::registry::nearest;

/// Why a dialect file is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {} ({})", self.line, self.column, self.message, self.help)
    }
}

impl std::error::Error for RecordError {}

/// The keys of a record, in the order of the documentation.
pub(super) const KEYS: &[&str] = &[
    "family",
    "models",
    "source",
    "notes",
    "auto",
    "prompt",
    "open",
    "close",
    "call",
    "join",
    "before",
    "lines",
    "object",
    "error",
    "param",
    "item",
    "types",
    "syntax",
    "quote",
    "code_tool",
    "trim",
    "escape",
    "suffix",
    "known",
    "also",
    "text",
    "reasoning",
    "ends_thought",
    "noise",
    "bare",
    "special",
];

const DEFAULT_OBJECT: &str = r#"{"name": "{name}", "arguments": {arguments}}"#;
const DEFAULT_TEXT: &str = "{text}";
pub(super) const DEFAULT_REASONING: &str = "<think>\n{text}\n</think>\n\n";

impl Record {
    /// Reads the text of a dialect file: one or more `[name]` tables.
    pub fn parse(toml: &str) -> Result<Vec<Record>, RecordError> {
        let document = DeTable::parse(toml).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            locate(toml, at, error.message().to_owned(), "Correct the TOML.".to_owned())
        })?;
        let mut tables: Vec<_> = document.get_ref().iter().collect();
        tables.sort_by_key(|(name, _)| name.span().start);
        if tables.is_empty() {
            let help = "Write a table `[my-dialect]` with at least the key `call`.";
            return Err(locate(toml, 0, "the file holds no dialect".to_owned(), help.to_owned()));
        }
        tables
            .into_iter()
            .map(|(name, value)| {
                Loader::new(name, value)
                    .and_then(|loader| loader.record())
                    .map_err(|LoadFault { at, message, help }| locate(toml, at, message, help))
            })
            .collect()
    }
}

/// Whether a dialect may be called this.
pub(super) fn is_name(name: &str) -> bool {
    let is_id = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_id)
}

/// The way out for a name that is none.
pub(super) const NAME_HELP: &str = "Use lower-case letters, digits and `-`.";

/// An error whose place is still a byte offset.
struct LoadFault {
    at: usize,
    message: String,
    help: String,
}

fn reject<T>(at: usize, message: impl Into<String>, help: impl Into<String>) -> Result<T, LoadFault> {
    Err(LoadFault { at, message: message.into(), help: help.into() })
}

fn locate(toml: &str, at: usize, message: String, help: String) -> RecordError {
    let before = toml.get(..at).unwrap_or(toml);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    RecordError {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message,
        help,
    }
}

/// One table on its way to a record.
struct Loader<'t> {
    name: &'t str,
    table: &'t DeTable<'t>,
    table_at: usize,
    /// Where each entry of each key stands, for errors that the checks find later.
    places: BTreeMap<&'static str, Vec<usize>>,
}

impl<'t> Loader<'t> {
    fn new(
        name: &'t Spanned<std::borrow::Cow<'t, str>>,
        value: &'t Spanned<DeValue<'t>>,
    ) -> Result<Self, LoadFault> {
        let at = name.span().start;
        let DeValue::Table(table) = value.get_ref() else {
            let message = format!("`{}` stands outside of every dialect", name.get_ref());
            return reject(at, message, "Start the file with the name of the dialect: `[my-dialect]`.");
        };
        if !is_name(name.get_ref()) {
            let message = format!("`{}` is no name for a dialect", name.get_ref());
            return reject(at, message, NAME_HELP);
        }
        for key in table.keys() {
            let word: &str = key.get_ref();
            if !KEYS.contains(&word) {
                let message = format!("unknown key `{word}`");
                return reject(key.span().start, message, did_you_mean(word, KEYS));
            }
        }
        Ok(Loader { name: name.get_ref(), table, table_at: at, places: BTreeMap::new() })
    }

    fn record(mut self) -> Result<Record, LoadFault> {
        let also = self.spellings()?;
        let listed_auto = self.flag("auto")?;
        let mut open = self.templates("open")?.unwrap_or_default();
        let mut close = self.templates("close")?.unwrap_or_default();
        self.pair(&mut open, &mut close)?;
        let Some(call) = self.templates("call")? else {
            let message = format!("`{}` has no `call`", self.name);
            return reject(self.table_at, message, "Add `call`, the template of one call.");
        };
        let mut record = Record {
            name: Arc::from(self.name),
            family: self.family()?,
            models: self.strings("models")?.unwrap_or_default(),
            source: self.string("source")?.unwrap_or_default(),
            notes: self.string("notes")?.unwrap_or_default(),
            auto: listed_auto != Some(false),
            prompt: self.string("prompt")?.unwrap_or_default(),
            open,
            close,
            call,
            join: Template::parse(&self.string("join")?.unwrap_or_default()),
            before: self.string("before")?.unwrap_or_default(),
            lines: self.flag("lines")?.unwrap_or(false),
            object: self.objects(&also)?,
            error: self.shapes("error", &also)?.unwrap_or_default(),
            param: self.templates("param")?.unwrap_or_default(),
            item: self.string("item")?.map(|item| Template::parse(&item)),
            types: self.types()?,
            syntax: self.syntax()?,
            quote: self.string("quote")?.map(Arc::from),
            code_tool: Arc::from(self.string("code_tool")?.unwrap_or_default()),
            trim: self.flag("trim")?.unwrap_or(false),
            escape: self.escape()?,
            suffix: self.string("suffix")?.unwrap_or_default(),
            known: self.flag("known")?.unwrap_or(false),
            also,
            text: self.templates("text")?.unwrap_or_else(|| vec![Template::parse(DEFAULT_TEXT)]),
            reasoning: self
                .templates("reasoning")?
                .unwrap_or_else(|| vec![Template::parse(DEFAULT_REASONING)]),
            ends_thought: self.flag("ends_thought")?.unwrap_or(false),
            noise: self.templates("noise")?.unwrap_or_default(),
            bare: self.strings("bare")?.unwrap_or_default(),
            special: self.strings("special")?.unwrap_or_default(),
        };
        // A record that says nothing about `auto` listens if it can; one that asks for it must be able to.
        if record.auto && (record.known || !record.openers().into_iter().any(Record::is_unmistakable)) {
            if listed_auto == Some(true) {
                let message = "no opener of this dialect is unmistakable, so it cannot be `auto`";
                let help =
                    "Set `auto = false`: an opener needs four bytes, anchored on `<`, `[` or a backtick.";
                return reject(self.place("auto", 0), message, help);
            }
            record.auto = false;
        }
        match check::check(&record) {
            Ok(()) => Ok(record),
            Err(Problem { key, entry, message, help }) => reject(self.place(key, entry), message, help),
        }
    }

    /// Where an entry stands; the table if the key is not there.
    fn place(&self, key: &str, entry: usize) -> usize {
        let places = self.places.get(key);
        places.and_then(|places| places.get(entry).or(places.first())).copied().unwrap_or(self.table_at)
    }

    fn value(&mut self, key: &'static str) -> Option<(usize, &'t DeValue<'t>)> {
        let value = self.table.get(key)?;
        self.places.insert(key, vec![value.span().start]);
        Some((value.span().start, value.get_ref()))
    }

    fn flag(&mut self, key: &'static str) -> Result<Option<bool>, LoadFault> {
        match self.value(key) {
            None => Ok(None),
            Some((_, DeValue::Boolean(flag))) => Ok(Some(*flag)),
            Some((at, other)) => wrong_type(at, key, "true or false", other),
        }
    }

    fn string(&mut self, key: &'static str) -> Result<Option<String>, LoadFault> {
        match self.value(key) {
            None => Ok(None),
            Some((_, DeValue::String(text))) => Ok(Some(text.to_string())),
            Some((at, other)) => wrong_type(at, key, "a string", other),
        }
    }

    /// A string or a list of strings.
    fn strings(&mut self, key: &'static str) -> Result<Option<Vec<String>>, LoadFault> {
        match self.value(key) {
            None => Ok(None),
            Some((_, DeValue::String(text))) => Ok(Some(vec![text.to_string()])),
            Some((_, DeValue::Array(entries))) => {
                let mut places = Vec::new();
                let mut strings = Vec::new();
                for entry in entries.iter() {
                    let Range { start, .. } = entry.span();
                    let DeValue::String(text) = entry.get_ref() else {
                        return wrong_type(start, key, "a list of strings", entry.get_ref());
                    };
                    places.push(start);
                    strings.push(text.to_string());
                }
                self.places.insert(key, places);
                Ok(Some(strings))
            }
            Some((at, other)) => wrong_type(at, key, "a string or a list of strings", other),
        }
    }

    fn templates(&mut self, key: &'static str) -> Result<Option<Vec<Template>>, LoadFault> {
        let strings = self.strings(key)?;
        Ok(strings.map(|strings| strings.iter().map(|text| Template::parse(text)).collect()))
    }

    fn pair(&self, open: &mut Vec<Template>, close: &mut Vec<Template>) -> Result<(), LoadFault> {
        if open.is_empty() {
            open.resize(close.len(), Template::default());
        } else if close.is_empty() {
            close.resize(open.len(), Template::default());
        }
        if open.len() != close.len() {
            let message = format!("{} openers but {} closers", open.len(), close.len());
            let help = "Give `open` and `close` lists of the same length: they pair by position.";
            return reject(self.place("close", 0), message, help);
        }
        Ok(())
    }

    fn family(&mut self) -> Result<char, LoadFault> {
        let Some(text) = self.string("family")? else { return Ok('-') };
        match text.chars().next() {
            Some(letter @ 'A'..='I') if text.len() == 1 => Ok(letter),
            _ => {
                let message = format!("`{text}` is no family");
                reject(self.place("family", 0), message, "Use one letter from A to I, or leave it out.")
            }
        }
    }

    fn syntax(&mut self) -> Result<Syntax, LoadFault> {
        let Some(word) = self.string("syntax")? else { return Ok(Syntax::Json) };
        let words = ["json", "python", "kwargs", "bare", "lines"];
        Ok(match word.as_str() {
            "json" => Syntax::Json,
            "python" => Syntax::Python,
            "kwargs" => Syntax::Kwargs,
            "bare" => Syntax::Bare,
            "lines" => Syntax::Lines,
            other => {
                let message = format!("unknown syntax `{other}`");
                return reject(self.place("syntax", 0), message, did_you_mean(other, &words));
            }
        })
    }

    fn escape(&mut self) -> Result<Vec<Slot>, LoadFault> {
        let words = self.strings("escape")?.unwrap_or_default();
        let mut slots = Vec::new();
        for (entry, word) in words.iter().enumerate() {
            match Slot::from_word(word) {
                Some(slot @ (Slot::Value | Slot::Text)) => slots.push(slot),
                _ => {
                    let help = "Only `value` and `text` can be escaped: nothing else can hold what needs it.";
                    return reject(self.place("escape", entry), format!("`{word}` cannot be escaped"), help);
                }
            }
        }
        Ok(slots)
    }

    fn types(&mut self) -> Result<Vec<(String, String)>, LoadFault> {
        let names = ["string", "number", "integer", "boolean", "null", "object", "array", "other"];
        let table = match self.value("types") {
            None => return Ok(Vec::new()),
            Some((_, DeValue::Table(table))) => table,
            Some((at, other)) => return wrong_type(at, "types", "a table of strings", other),
        };
        let mut types = Vec::new();
        for (name, spelling) in table.iter() {
            let word: &str = name.get_ref();
            if !names.contains(&word) {
                let message = format!("`{word}` is no JSON type");
                return reject(name.span().start, message, did_you_mean(word, &names));
            }
            let DeValue::String(spelling_text) = spelling.get_ref() else {
                return wrong_type(spelling.span().start, word, "a string", spelling.get_ref());
            };
            types.push((word.to_owned(), spelling_text.to_string()));
        }
        Ok(types)
    }

    fn spellings(&mut self) -> Result<Vec<(String, Vec<String>)>, LoadFault> {
        const SHAPE: &str = "a list of lists: [[\"literal\", \"other spelling\", …], …]";
        let rows = match self.value("also") {
            None => return Ok(Vec::new()),
            Some((_, DeValue::Array(rows))) => rows,
            Some((at, other)) => return wrong_type(at, "also", SHAPE, other),
        };
        let mut places = Vec::new();
        let mut also = Vec::new();
        for row in rows.iter() {
            let at = row.span().start;
            let DeValue::Array(words) = row.get_ref() else {
                return wrong_type(at, "also", SHAPE, row.get_ref());
            };
            let mut texts = Vec::new();
            for word in words.iter() {
                let DeValue::String(text) = word.get_ref() else {
                    return wrong_type(word.span().start, "also", SHAPE, word.get_ref());
                };
                texts.push(text.to_string());
            }
            if texts.len() < 2 || texts[0].is_empty() {
                let message = "a row of `also` names a literal and at least one other spelling";
                return reject(
                    at,
                    message,
                    "Write `[\"literal\", \"other\"]`; `\"\"` means that it may be absent.",
                );
            }
            places.push(at);
            also.push((texts.remove(0), texts));
        }
        self.places.insert("also", places);
        Ok(also)
    }

    /// The shapes of `{object}`; the default also reads `parameters` for `arguments`.
    fn objects(&mut self, also: &[(String, Vec<String>)]) -> Result<Vec<Shape>, LoadFault> {
        if let Some(shapes) = self.shapes("object", also)? {
            return Ok(shapes);
        }
        let spellings = |key: &str| {
            let mut words = key_spellings(also, key);
            if key == "arguments" && words.is_empty() {
                words.push("parameters".to_owned());
            }
            words
        };
        match Shape::parse(DEFAULT_OBJECT, spellings) {
            Ok(shape) => Ok(vec![shape]),
            Err(message) => reject(self.table_at, message, "Give the record its own `object`."),
        }
    }

    fn shapes(
        &mut self,
        key: &'static str,
        also: &[(String, Vec<String>)],
    ) -> Result<Option<Vec<Shape>>, LoadFault> {
        let Some(sources) = self.strings(key)? else { return Ok(None) };
        let mut shapes = Vec::new();
        for (entry, source) in sources.iter().enumerate() {
            match Shape::parse(source, |key| key_spellings(also, key)) {
                Ok(shape) => shapes.push(shape),
                Err(message) => {
                    let help = "Write one JSON object whose members hold placeholders or constants.";
                    return reject(self.place(key, entry), format!("`{key}`: {message}"), help);
                }
            }
        }
        Ok(Some(shapes))
    }
}

/// What `also` says about a member: its rows name keys in double quotes.
fn key_spellings(also: &[(String, Vec<String>)], key: &str) -> Vec<String> {
    let quoted = format!("\"{key}\"");
    let rows = also.iter().filter(|(literal, _)| *literal == quoted);
    rows.flat_map(|(_, others)| others).map(|other| other.trim_matches('"').to_owned()).collect()
}

fn wrong_type<T>(at: usize, key: &str, wanted: &str, found: &DeValue<'_>) -> Result<T, LoadFault> {
    reject(at, format!("`{key}` is {}", with_article(found.type_str())), format!("Make it {wanted}."))
}

fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

/// The way out for a word that is not in the list.
fn did_you_mean(word: &str, words: &[&str]) -> String {
    match nearest(word, words.iter().copied()).first() {
        Some(close) => format!("Did you mean `{close}`?"),
        None => format!("Use one of {}.", words.join(", ")),
    }
}
