//! YAML of settings: a file as a tree in which every value knows its line.
//!
//! Only what settings need is read: one document of keys, lists and plain values, without anchors, aliases and tags. What a
//! value means is decided by whoever asks for it, so nothing is decoded here: a value is its text, and whether it was quoted.

mod typed;

use std::fmt;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

pub use typed::from_yaml;

/// How deep a file may be nested.
const DEPTH: usize = 16;
/// How many values a file may hold.
const VALUES: usize = 10_000;

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlFault {
    /// The line, counted from one.
    pub line: usize,
    /// The keys down to the place.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What can be done about it.
    pub help: &'static str,
}

impl fmt::Display for YamlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for YamlFault {}

/// A value of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) shape: Shape,
}

/// What a value is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Text; what was quoted, or written as a block, is never a number or a flag.
    Scalar {
        text: String,
        quoted: bool,
    },
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) key: String,
    /// The line of the key.
    pub(crate) line: usize,
    pub(crate) node: Node,
}

impl Node {
    /// Whether it is no value at all, as behind a key without one.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(&self.shape, Shape::Scalar { text, quoted: false } if is_nothing(text))
    }
}

/// The value of a file; nothing for one that is empty or holds only comments.
pub(crate) fn tree(text: &str) -> Result<Option<Node>, YamlFault> {
    let mut parser = Parser::new_from_str(text);
    let mut growing = Growing::default();
    while let Some(next) = parser.next_event() {
        match next {
            Ok((event, span)) => growing.take(event, span)?,
            Err(error) => {
                return Err(growing.fault(
                    error.marker().line(),
                    format!("this is no YAML: {}", error.info()),
                    "look at the indentation and the quotes of this line and the one before it",
                ));
            }
        }
    }
    Ok(growing.root.filter(|root| !root.is_nothing()))
}

/// What is open while the events come.
#[derive(Debug)]
enum Open {
    /// A mapping; the members it has had, and the key whose value comes next with its line.
    Map {
        line: usize,
        members: Vec<Member>,
        key: Option<(String, usize)>,
    },
    List {
        line: usize,
        items: Vec<Node>,
    },
}

#[derive(Debug, Default)]
struct Growing {
    open: Vec<Open>,
    root: Option<Node>,
    values: usize,
    documents: usize,
}

impl Growing {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlFault> {
        let line = span.start.line();
        if self.open.len() > DEPTH || self.values > VALUES {
            return Err(self.fault(
                line,
                "the file is too large or too deep",
                "keep only the keys you change",
            ));
        }
        match event {
            Event::Scalar(_, _, anchor, ref tag)
            | Event::SequenceStart(anchor, ref tag)
            | Event::MappingStart(anchor, ref tag)
                if anchor != 0 || tag.is_some() =>
            {
                Err(self.fault(line, "anchors and tags are not read here", "write the value itself"))
            }
            Event::Alias(_) => Err(self.fault(line, "aliases are not read here", "write the value itself")),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.fault(line, "the file holds a second document", "keep one document"));
                }
                Ok(())
            }
            Event::Scalar(text, style, ..) => {
                let quoted = style != ScalarStyle::Plain;
                match self.open.last_mut() {
                    Some(Open::Map { key: key @ None, members, .. }) => {
                        let is_twice = members.iter().any(|member| member.key == *text);
                        *key = Some((text.into_owned(), line));
                        match is_twice {
                            true => Err(self.fault(line, "the key stands twice", "keep one of the two")),
                            false => Ok(()),
                        }
                    }
                    _ => {
                        self.grown(Node { line, shape: Shape::Scalar { text: text.into_owned(), quoted } });
                        Ok(())
                    }
                }
            }
            Event::SequenceStart(..) | Event::MappingStart(..)
                if matches!(self.open.last(), Some(Open::Map { key: None, .. })) =>
            {
                Err(self.fault(line, "a key is a plain value", "write `key: value` lines"))
            }
            Event::SequenceStart(..) => {
                self.open.push(Open::List { line, items: Vec::new() });
                Ok(())
            }
            Event::MappingStart(..) => {
                self.open.push(Open::Map { line, members: Vec::new(), key: None });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => {
                match self.open.pop() {
                    Some(Open::List { line, items }) => self.grown(Node { line, shape: Shape::List(items) }),
                    Some(Open::Map { line, members, .. }) => {
                        self.grown(Node { line, shape: Shape::Map(members) });
                    }
                    None => {}
                }
                Ok(())
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    /// A value has come.
    fn grown(&mut self, node: Node) {
        self.values += 1;
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { members, key, .. }) => {
                if let Some((key, line)) = key.take() {
                    members.push(Member { key, line, node });
                }
            }
        }
    }

    fn fault(&self, line: usize, message: impl Into<String>, help: &'static str) -> YamlFault {
        let keys = self.open.iter().filter_map(|open| match open {
            Open::Map { key: Some((key, _)), .. } => Some(key.as_str()),
            _ => None,
        });
        let key = keys.collect::<Vec<_>>().join(".");
        YamlFault { line, key, message: message.into(), help }
    }
}

fn is_nothing(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}
