//! Written JSON: a value that keeps how it was written: the digits of its numbers, the escapes of its strings, the order
//! of its members and the keys that come twice. A `serde_json::Value` keeps none of these.

use std::fmt::{self, Write};

use callgate::internal::json::{Kind, Tape};
use serde_json::Value;

/// The deepest value that is read, as deep as `serde_json` reads: the tree is walked by recursion.
const DEPTH: usize = 128;

/// A JSON value as it was written, apart from the white space between its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, by its own digits.
    Number(String),
    /// A string.
    String(Spelled),
    /// A list.
    Array(Vec<Written>),
    /// An object, every member in its place.
    Object(Vec<(Spelled, Written)>),
}

/// A string or key: what it says, and how it was spelled where that differs from the plain spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    text: String,
    spelling: Option<String>,
}

impl Spelled {
    /// What it says.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A string literal as it stands in JSON. A spelling that other readers of JSON reject, such as half of a surrogate
    /// pair, is not kept, since whatever holds it could not be read again.
    fn read(literal: &str, text: String) -> Self {
        let is_plain = plain(&text) == literal;
        let is_readable = || serde_json::from_str::<String>(literal).is_ok_and(|read| read == text);
        let spelling = (!is_plain && is_readable()).then(|| literal.to_owned());
        Spelled { text, spelling }
    }
}

impl From<&str> for Spelled {
    fn from(text: &str) -> Self {
        Spelled { text: text.to_owned(), spelling: None }
    }
}

impl Written {
    /// Reads a JSON text; nothing if it is not valid, nested too deep, or holds a number that no reader takes.
    pub fn parse(json: &str) -> Option<Written> {
        let tape = Tape::parse(json)?;
        read(json, &tape, 0, 0)
    }

    /// An object of these members.
    pub fn object<'k>(members: impl IntoIterator<Item = (&'k str, Written)>) -> Written {
        Written::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// The same object with one more member; anything else stays as it is.
    pub fn with(mut self, key: &str, value: Written) -> Written {
        if let Written::Object(members) = &mut self {
            members.push((key.into(), value));
        }
        self
    }

    /// The value of a member; of the last one if the key comes twice.
    pub fn get(&self, key: &str) -> Option<&Written> {
        let Written::Object(members) = self else { return None };
        members.iter().rev().find(|(name, _)| name.text() == key).map(|(_, value)| value)
    }

    /// What it says, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Written::String(spelled) => Some(spelled.text()),
            _ => None,
        }
    }

    /// The value without its spelling, as `serde_json` holds it.
    pub fn to_value(&self) -> Value {
        match self {
            Written::Null => Value::Null,
            Written::Bool(value) => Value::Bool(*value),
            Written::Number(digits) => serde_json::from_str(digits).unwrap_or_default(),
            Written::String(spelled) => Value::from(spelled.text()),
            Written::Array(items) => items.iter().map(Written::to_value).collect(),
            Written::Object(members) => {
                members.iter().map(|(key, value)| (key.text().to_owned(), value.to_value())).collect()
            }
        }
    }
}

impl From<&Value> for Written {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Written::Null,
            Value::Bool(value) => Written::Bool(*value),
            Value::Number(number) => Written::Number(number.to_string()),
            Value::String(text) => Written::String(text.as_str().into()),
            Value::Array(items) => Written::Array(items.iter().map(Written::from).collect()),
            Value::Object(members) => {
                Written::object(members.iter().map(|(key, value)| (key.as_str(), value.into())))
            }
        }
    }
}

impl From<Value> for Written {
    fn from(value: Value) -> Self {
        Written::from(&value)
    }
}

impl From<&str> for Written {
    fn from(text: &str) -> Self {
        Written::String(text.into())
    }
}

/// As JSON text without white space.
impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Written::Null => f.write_str("null"),
            Written::Bool(value) => write!(f, "{value}"),
            Written::Number(digits) => f.write_str(digits),
            Written::String(spelled) => spelled.fmt(f),
            Written::Array(items) => {
                f.write_char('[')?;
                for (position, item) in items.iter().enumerate() {
                    f.write_str(if position > 0 { "," } else { "" })?;
                    item.fmt(f)?;
                }
                f.write_char(']')
            }
            Written::Object(members) => {
                f.write_char('{')?;
                for (position, (key, value)) in members.iter().enumerate() {
                    f.write_str(if position > 0 { "," } else { "" })?;
                    write!(f, "{key}:{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.spelling {
            Some(spelling) => f.write_str(spelling),
            None => f.write_str(&plain(&self.text)),
        }
    }
}

/// The usual spelling of a string.
fn plain(text: &str) -> String {
    Value::from(text).to_string()
}

fn read(json: &str, tape: &Tape, node: usize, depth: usize) -> Option<Written> {
    let spelled = |text: &str| Written::String(Spelled::read(tape.raw(json, node), text.to_owned()));
    match tape.nodes().get(node)?.kind {
        Kind::Object | Kind::Array if depth >= DEPTH => None,
        Kind::Null => Some(Written::Null),
        Kind::Bool => Some(Written::Bool(tape.raw(json, node) == "true")),
        Kind::Number => {
            let digits = tape.raw(json, node);
            // A number beyond every float makes the whole text unreadable for others.
            serde_json::from_str::<Value>(digits).ok()?;
            Some(Written::Number(digits.to_owned()))
        }
        Kind::String => Some(spelled(&tape.string(json, node)?)),
        Kind::Array => {
            let items = tape.children(node).map(|item| read(json, tape, item, depth + 1));
            items.collect::<Option<_>>().map(Written::Array)
        }
        Kind::Object => {
            let member = |child: usize| {
                let (start, end) = tape.nodes().get(child)?.key()?;
                let key = Spelled::read(json.get(start..end)?, tape.key(json, child)?.into_owned());
                Some((key, read(json, tape, child, depth + 1)?))
            };
            tape.children(node).map(member).collect::<Option<_>>().map(Written::Object)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_white_space_comes_back() {
        for (text, kept) in [
            (
                "{ \"b\": 12345678901234567890123, \"a\" : 1.0, \"b\": 1 }",
                "{\"b\":12345678901234567890123,\"a\":1.0,\"b\":1}",
            ),
            ("[1.10, 1e5, -0, null, true, [], {}]", "[1.10,1e5,-0,null,true,[],{}]"),
            ("\"caf\\u00e9 \\/ \\ud83d\\ude00 \\n\"", "\"caf\\u00e9 \\/ \\ud83d\\ude00 \\n\""),
            ("{\"\\u0061\": \"\"}", "{\"\\u0061\":\"\"}"),
        ] {
            assert_eq!(Written::parse(text).unwrap().to_string(), kept);
        }
        let Some(Written::Object(members)) = Written::parse("{\"\\u0061\": \"\\u0062\"}") else { panic!() };
        assert_eq!((members[0].0.text(), members[0].1.as_str()), ("a", Some("b")));
    }

    #[test]
    fn what_it_writes_can_be_read_by_others() {
        for text in [
            "{\"n\": 1e999}",
            "[1",
            "",
            "{\"a\": 01}",
            &"[".repeat(200_000),
            &format!("{}{}", "[".repeat(129), "]".repeat(129)),
        ] {
            assert_eq!(Written::parse(text), None, "{}", &text[..text.len().min(20)]);
        }
        assert!(Written::parse(&format!("{}{}", "[".repeat(127), "]".repeat(127))).is_some());
        for text in ["\"\\ud800\"", "[\"a\\udc00b\", {\"\\ud800\": 1}]"] {
            if let Some(written) = Written::parse(text) {
                assert!(serde_json::from_str::<Value>(&written.to_string()).is_ok(), "{text}");
            }
        }
        let value = serde_json::json!({"a": [1, 2.5, "ü\n\u{7f}", null, {"b": false}]});
        assert_eq!(Written::from(&value).to_string(), value.to_string());
        assert_eq!(Written::parse(&value.to_string()), Some(Written::from(&value)));
    }
}
