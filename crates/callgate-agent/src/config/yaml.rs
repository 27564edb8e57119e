//! Reading a YAML file into flat entries: every value with its dotted key and the line it stands in.
//!
//! The configuration has a known shape, so nothing is decoded that the table of keys does not ask for: a value is the text
//! of a scalar, and whether it was quoted, or a list of such texts.

use crate::yaml::{Node, Shape, YamlFault, tree};

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

/// The values of a file, in order.
pub(crate) fn entries(text: &str) -> Result<Vec<YamlEntry>, YamlFault> {
    let mut entries = Vec::new();
    match tree(text)? {
        None => Ok(()),
        Some(root) => flatten(root, 1, "", &mut entries),
    }?;
    Ok(entries)
}

/// Adds the values below a key. Trees are not deep.
fn flatten(node: Node, line: usize, key: &str, entries: &mut Vec<YamlEntry>) -> Result<(), YamlFault> {
    let fault = |line: usize, message: &str, help| YamlFault {
        line,
        key: key.to_owned(),
        message: message.to_owned(),
        help,
    };
    let content = match node.shape {
        Shape::Map(members) => {
            // A key without a value sets nothing.
            for member in members.into_iter().filter(|member| !member.node.is_nothing()) {
                let dot = if key.is_empty() { "" } else { "." };
                flatten(member.node, member.line, &format!("{key}{dot}{}", member.key), entries)?;
            }
            return Ok(());
        }
        Shape::Scalar { .. } if key.is_empty() => {
            return Err(fault(node.line, "the file is a single value", "write `key: value` lines"));
        }
        Shape::Scalar { text, quoted } => Content::Scalar { text, quoted },
        Shape::List(_) if key.is_empty() => {
            return Err(fault(node.line, "a list cannot stand here", "write `key: value` lines"));
        }
        Shape::List(items) => {
            let values = items.into_iter().map(|item| match item.shape {
                Shape::Scalar { text, .. } => Ok(text),
                _ => Err(fault(item.line, "a list holds plain values only", "write one value per item")),
            });
            Content::List(values.collect::<Result<_, _>>()?)
        }
    };
    entries.push(YamlEntry { key: key.to_owned(), content, line });
    Ok(())
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
