//! Reading a YAML file into flat entries: every value with its dotted key and the line it stands in.
//!
//! The configuration has a known shape, so nothing here recurses and nothing is decoded that the table of keys does
//! not ask for: a value is the text of a scalar, and whether it was quoted, or a list of such texts.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

/// How deep keys may be nested.
const DEPTH: usize = 16;
/// How many values a file may hold.
const ENTRIES: usize = 10_000;

/// One value of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlEntry {
    /// The keys down to the value.
    pub(crate) key: String,
    /// What stands there.
    pub(crate) content: Content,
    /// The line of the key, counted from one.
    pub(crate) line: usize,
}

/// What stands behind a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A value; quoted text is never a number or a flag.
    Scalar {
        /// Its text.
        text: String,
        /// Whether it was written in quotes or as a block.
        quoted: bool,
    },
    /// A list of values, as text.
    List(Vec<String>),
}

/// Why a file cannot be read as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) line: usize,
    pub(crate) key: String,
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

/// The values of a file, in order.
pub(crate) fn entries(text: &str) -> Result<Vec<YamlEntry>, Unreadable> {
    let mut parser = Parser::new_from_str(text);
    let mut reading = YamlReading::default();
    while let Some(next) = parser.next_event() {
        match next {
            Ok((event, span)) => reading.take(event, span)?,
            Err(error) => {
                return Err(reading.fault(
                    error.marker().line(),
                    format!("this is no YAML: {}", error.info()),
                    "look at the indentation and the quotes of this line and the one before it",
                ));
            }
        }
    }
    Ok(reading.entries)
}

/// What is open while the events come.
#[derive(Debug)]
enum Open {
    /// A mapping; the keys it has had, and the one whose value comes next with its line.
    Mapping { seen: Vec<String>, key: Option<(String, usize)> },
    /// A list of values.
    List { values: Vec<String>, line: usize },
}

#[derive(Debug, Default)]
struct YamlReading {
    open: Vec<Open>,
    entries: Vec<YamlEntry>,
    documents: usize,
}

impl YamlReading {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Unreadable> {
        let line = span.start.line();
        if self.open.len() > DEPTH || self.entries.len() > ENTRIES {
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
                self.scalar(text.into_owned(), style != ScalarStyle::Plain, line)
            }
            Event::SequenceStart(..) => match self.open.last() {
                Some(Open::Mapping { key: Some((_, line)), .. }) => {
                    let line = *line;
                    self.open.push(Open::List { values: Vec::new(), line });
                    Ok(())
                }
                _ => Err(self.fault(line, "a list cannot stand here", "write `key: value` lines")),
            },
            Event::SequenceEnd => {
                if let Some(Open::List { values, line }) = self.open.pop() {
                    self.value(Content::List(values), line);
                }
                Ok(())
            }
            Event::MappingStart(..) => match self.open.last() {
                None | Some(Open::Mapping { key: Some(_), .. }) => {
                    self.open.push(Open::Mapping { seen: Vec::new(), key: None });
                    Ok(())
                }
                _ => Err(self.fault(line, "a list holds plain values only", "write one value per item")),
            },
            Event::MappingEnd => {
                self.open.pop();
                self.done();
                Ok(())
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn scalar(&mut self, text: String, quoted: bool, line: usize) -> Result<(), Unreadable> {
        match self.open.last_mut() {
            // An empty file, or one of comments only, is read as a document of one null.
            None if !quoted && is_nothing(&text) => Ok(()),
            None => Err(self.fault(line, "the file is a single value", "write `key: value` lines")),
            Some(Open::List { values, .. }) => {
                values.push(text);
                Ok(())
            }
            Some(Open::Mapping { seen, key: key @ None }) => {
                if seen.contains(&text) {
                    *key = Some((text, line));
                    return Err(self.fault(line, "the key stands twice", "keep one of the two"));
                }
                seen.push(text.clone());
                *key = Some((text, line));
                Ok(())
            }
            Some(Open::Mapping { key: Some((_, line)), .. }) => {
                let line = *line;
                // A key without a value sets nothing.
                if quoted || !is_nothing(&text) {
                    self.value(Content::Scalar { text, quoted }, line);
                } else {
                    self.done();
                }
                Ok(())
            }
        }
    }

    fn value(&mut self, content: Content, line: usize) {
        let key = self.path();
        self.entries.push(YamlEntry { key, content, line });
        self.done();
    }

    /// The value of the innermost key has come.
    fn done(&mut self) {
        if let Some(Open::Mapping { key, .. }) = self.open.last_mut() {
            *key = None;
        }
    }

    fn path(&self) -> String {
        let keys = self.open.iter().filter_map(|open| match open {
            Open::Mapping { key: Some((key, _)), .. } => Some(key.as_str()),
            _ => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }

    fn fault(&self, line: usize, message: impl Into<String>, help: &'static str) -> Unreadable {
        Unreadable { line, key: self.path(), message: message.into(), help }
    }
}

fn is_nothing(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scalar(key: &str, text: &str, quoted: bool, line: usize) -> YamlEntry {
        YamlEntry { key: key.to_owned(), content: Content::Scalar { text: text.to_owned(), quoted }, line }
    }

    #[test]
    fn values_come_with_their_whole_key_and_their_line() {
        let found = entries("# a comment\na:\n  b: 1\n  c.d: 'two'\ne: [x, y]\nf:\ng: {}\n").unwrap();
        let list = Content::List(vec!["x".to_owned(), "y".to_owned()]);
        assert_eq!(
            found,
            [
                scalar("a.b", "1", false, 3),
                scalar("a.c.d", "two", true, 4),
                YamlEntry { key: "e".to_owned(), content: list, line: 5 },
            ]
        );
    }

    #[test]
    fn a_file_without_values_is_empty() {
        for text in ["", "{}", "# only a comment\n", "---\n", "null"] {
            assert_eq!(entries(text), Ok(Vec::new()), "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_line() {
        let deep = "a:\n".to_owned() + &(1..40).map(|n| format!("{}b:\n", " ".repeat(n))).collect::<String>();
        for (text, line, said) in [
            ("a: 1\na: 2\n", 2, "twice"),
            ("a: 1\nb: [1, {c: 2}]\n", 2, "plain values"),
            ("- a\n", 1, "list"),
            ("just words\n", 1, "single value"),
            ("a: &x 1\nb: *x\n", 1, "anchors"),
            ("a: !!python/object 1\n", 1, "tags"),
            ("a: 1\n---\nb: 2\n", 2, "second document"),
            ("a: \"open\nb: 1\n", 1, "no YAML"),
            (&deep, 17, "too deep"),
        ] {
            let fault = entries(text).unwrap_err();
            assert!(fault.message.contains(said), "{text:?}: {fault:?}");
            assert_eq!(fault.line, line, "{text:?}: {fault:?}");
        }
    }
}
