//! Fields: one entry of a response template, with its keys checked and its markers spread.

use serde_json::{Map, Value};

use super::ImportError;
use super::pattern::{Pattern, PatternPiece};
use crate::dialect::template::Template;
use crate::registry::nearest;

/// The keys of a field.
const KEYS: &[&str] = &[
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "content",
    "content_args",
    "repeats",
    "join",
    "optional",
    "transform",
    "transform_each",
];

/// How the text of a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldContent {
    Text,
    /// A number or a truth value, which no message of a model is.
    Scalar,
    Json,
    XmlInline,
    KvLines,
}

/// One field, as the template gives it.
#[derive(Debug)]
pub(super) struct Field<'t> {
    pub(super) place: String,
    /// What opens it; a field without this takes all that no other field takes.
    pub(super) open: Option<Pattern>,
    pub(super) close: Option<Pattern>,
    pub(super) content: FieldContent,
    pub(super) args: Option<&'t Map<String, Value>>,
    pub(super) repeats: bool,
    pub(super) joins: bool,
    pub(super) required: bool,
    pub(super) transform: Option<&'t Value>,
    pub(super) transform_each: bool,
}

/// What closes a field: the spellings of its closer, and whether it may be absent.
#[derive(Debug, Default)]
pub(super) struct Closer {
    pub(super) spellings: Vec<String>,
    pub(super) may_be_absent: bool,
}

impl<'t> Field<'t> {
    pub(super) fn read(place: String, value: &'t Value) -> Result<Self, ImportError> {
        let keys = object(&place, value)?;
        known_keys(&place, keys, KEYS)?;
        let content = match keys.get("content") {
            None => FieldContent::Text,
            Some(word) => content(&place, word)?,
        };
        let args = match keys.get("content_args") {
            None => None,
            Some(args) => Some(object(&format!("{place}/content_args"), args)?),
        };
        let field = Field {
            open: marker(&place, keys, "open", "open_pattern")?,
            close: marker(&place, keys, "close", "close_pattern")?,
            content,
            args,
            repeats: flag(&place, keys, "repeats", false)?,
            joins: keys.get("join").is_some_and(|join| !join.is_null()),
            required: !flag(&place, keys, "optional", true)?,
            transform: keys.get("transform").filter(|transform| !transform.is_null()),
            transform_each: flag(&place, keys, "transform_each", false)?,
            place,
        };
        if field.transform_each && field.transform.is_none() {
            let message = "`transform_each` is set, but there is no `transform`";
            return Err(field.reject(
                "transform_each",
                "transform",
                message,
                "Add `transform`, or remove it.",
            ));
        }
        Ok(field)
    }

    /// An error about one key of this field.
    pub(super) fn reject(&self, key: &str, code: &'static str, message: &str, help: &str) -> ImportError {
        ImportError::new(code, format!("{}/{key}", self.place), message, help)
    }

    /// An error about the pattern behind a marker.
    pub(super) fn bad_pattern(&self, key: &str, why: &str) -> ImportError {
        self.reject(key, "pattern", &format!("the marker cannot be a template: {why}"), PATTERN_HELP)
    }

    /// The argument of the content parser with this name.
    pub(super) fn arg(&self, name: &str) -> Option<&'t Value> {
        self.args?.get(name).filter(|value| !value.is_null())
    }

    /// Whether an argument of the content parser is true.
    pub(super) fn is_set(&self, name: &str) -> Result<bool, ImportError> {
        match self.args {
            Some(args) => flag(&format!("{}/content_args", self.place), args, name, false),
            None => Ok(false),
        }
    }

    /// Rejects arguments that its content parser does not have.
    pub(super) fn known_args(&self, known: &[&str]) -> Result<(), ImportError> {
        match self.args {
            Some(args) => known_keys(&format!("{}/content_args", self.place), args, known),
            None => Ok(()),
        }
    }

    /// The closer, without the end of the response: that closes everything.
    pub(super) fn closer(&self) -> Result<Closer, ImportError> {
        let mut closer = Closer::default();
        for pieces in self.close.iter().flat_map(|close| &close.alternatives) {
            let text = written(pieces, |_| None).map_err(|why| self.bad_pattern("close_pattern", &why))?;
            if !text.is_empty() {
                if !closer.spellings.contains(&text) {
                    closer.spellings.push(text);
                }
            } else if !pieces.contains(&PatternPiece::End) {
                closer.may_be_absent = true;
            }
        }
        Ok(closer)
    }
}

pub(super) const PATTERN_HELP: &str =
    "Use literals, alternatives, optional parts, white space, and named groups of one class of characters.";

/// The pieces of an alternative as a template; `slot` gives the placeholder that stands for a group.
pub(super) fn written(
    pieces: &[PatternPiece],
    slot: impl Fn(&str) -> Option<&'static str>,
) -> Result<String, String> {
    let mut text = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            PatternPiece::Literal(literal) => {
                if let Some(slot) = Template::parse(literal).slots().next() {
                    return Err(format!("`{{{}}}` in it would be a placeholder", slot.word()));
                }
                text.push_str(literal);
            }
            // Only inside of a literal free white space has to be written: everywhere else it is free by itself.
            PatternPiece::Space => {
                let is_literal =
                    |piece: Option<&PatternPiece>| matches!(piece, Some(PatternPiece::Literal(_)));
                if at > 0 && is_literal(pieces.get(at - 1)) && is_literal(pieces.get(at + 1)) {
                    text.push('\n');
                }
            }
            PatternPiece::Capture(name) => match slot(name) {
                Some(word) => text.push_str(&format!("{{{word}}}")),
                None => return Err(format!("the group `{name}` has no place here")),
            },
            PatternPiece::Wild => return Err("it matches text that no group names".to_owned()),
            PatternPiece::End | PatternPiece::Ahead => {
                if at + 1 < pieces.len() {
                    return Err("something stands behind the end or behind a look ahead".to_owned());
                }
            }
        }
    }
    Ok(text)
}

/// A JSON object, or an error that says what is there instead.
pub(super) fn object<'t>(place: &str, value: &'t Value) -> Result<&'t Map<String, Value>, ImportError> {
    value.as_object().ok_or_else(|| wrong_type(place, value, "an object"))
}

/// Rejects keys that are not in the list, with the nearest ones.
pub(super) fn known_keys(place: &str, keys: &Map<String, Value>, known: &[&str]) -> Result<(), ImportError> {
    let Some(key) = keys.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let help = match nearest(key, known.iter().copied()).first() {
        Some(close) => format!("Did you mean `{close}`?"),
        None if known.is_empty() => "Remove it.".to_owned(),
        None => format!("Known are {}.", known.join(", ")),
    };
    Err(ImportError::new("unknown-key", format!("{place}/{key}"), format!("unknown key `{key}`"), help))
}

pub(super) fn wrong_type(place: &str, value: &Value, wanted: &str) -> ImportError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    ImportError::new("wrong-type", place, format!("this is {found}"), format!("Make it {wanted}."))
}

fn content(place: &str, word: &Value) -> Result<FieldContent, ImportError> {
    let place = format!("{place}/content");
    let Some(text) = word.as_str() else { return Err(wrong_type(&place, word, "a string")) };
    Ok(match text {
        "text" => FieldContent::Text,
        "int" | "float" | "bool" => FieldContent::Scalar,
        "json" => FieldContent::Json,
        "xml-inline" => FieldContent::XmlInline,
        "kv-lines" => FieldContent::KvLines,
        other => {
            let message = format!("`{other}` is no way to read content");
            let help = "Known are text, int, float, bool, json, xml-inline and kv-lines.";
            return Err(ImportError::new("content", place, message, help));
        }
    })
}

fn flag(place: &str, keys: &Map<String, Value>, key: &str, default: bool) -> Result<bool, ImportError> {
    match keys.get(key) {
        None => Ok(default),
        Some(Value::Bool(set)) => Ok(*set),
        Some(other) => Err(wrong_type(&format!("{place}/{key}"), other, "true or false")),
    }
}

/// A marker: literals under one key, or a pattern under the other.
fn marker(
    place: &str,
    keys: &Map<String, Value>,
    literal_key: &str,
    pattern_key: &str,
) -> Result<Option<Pattern>, ImportError> {
    let literal = keys.get(literal_key).filter(|value| !value.is_null());
    let pattern = keys.get(pattern_key).filter(|value| !value.is_null());
    let (value, is_pattern) = match (literal, pattern) {
        (None, None) => return Ok(None),
        (Some(literal), None) => (literal, false),
        (None, Some(pattern)) => (pattern, true),
        (Some(_), Some(_)) => {
            let message = format!("`{literal_key}` and `{pattern_key}` are both given");
            return Err(ImportError::new("both-markers", place, message, "Keep one of them."));
        }
    };
    let place = format!("{place}/{}", if is_pattern { pattern_key } else { literal_key });
    if is_pattern {
        let Some(source) = value.as_str() else { return Err(wrong_type(&place, value, "a string")) };
        return Pattern::parse(source).map(Some).map_err(|why| {
            let message = format!("the pattern cannot be a template: {why}");
            ImportError::new("pattern", place, message, PATTERN_HELP)
        });
    }
    let mut literals: Vec<String> = Vec::new();
    for literal in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
        match literal.as_str() {
            Some("") => {
                return Err(ImportError::new("empty-marker", place, "a marker is empty", "Write its text."));
            }
            Some(text) if literals.iter().all(|known| known != text) => literals.push(text.to_owned()),
            Some(_) => {}
            None => return Err(wrong_type(&place, literal, "a string or a list of strings")),
        }
    }
    if literals.is_empty() {
        return Err(ImportError::new("empty-marker", place, "the list of markers is empty", "Give one."));
    }
    Ok(Some(Pattern::of_literals(&literals)))
}
