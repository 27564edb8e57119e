//! Writing values: JSON text rewritten as Python literals, keyword arguments or bare literals, digits untouched.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::record::Record;
use super::turn;
use crate::json::{Kind, Syntax, Tape};
use crate::policy::Untyped;
use crate::schema::type_text;

/// A value that a syntax cannot write.
pub(super) struct Unwritable {
    /// The node of the value, or of the member whose key is the trouble.
    pub(super) node: usize,
    /// What stands in the way.
    pub(super) literal: String,
    pub(super) message: &'static str,
}

/// Writes a parsed JSON object, the root of the tape, in the syntax of a record.
pub(super) fn write_arguments(
    out: &mut String,
    json: &str,
    tape: &Tape,
    syntax: Syntax,
    quote: &str,
) -> Result<(), Unwritable> {
    match syntax {
        Syntax::Json | Syntax::Lines => {
            out.push_str(tape.raw(json, 0));
            Ok(())
        }
        Syntax::Python => write_tree(out, json, tape, &Python { quote: '\'' }),
        Syntax::Kwargs => write_keywords(out, json, tape),
        Syntax::Bare => write_tree(out, json, tape, &Bare { quote }),
    }
}

/// Writes a line or a block for each member of the root. An object that has a member which no line can say is written
/// as JSON: that stands in the same place.
pub(super) fn write_lines(out: &mut String, json: &str, tape: &Tape, record: &Record) {
    let start = out.len();
    for (position, node) in tape.children(0).enumerate() {
        if position > 0 {
            out.push('\n');
        }
        if !write_line(out, json, tape, node, record) {
            out.truncate(start);
            break;
        }
    }
    if out.len() == start {
        out.push_str(tape.raw(json, 0));
    }
}

/// Writes one member. False if no line can say it.
fn write_line(out: &mut String, json: &str, tape: &Tape, node: usize, record: &Record) -> bool {
    let key = tape.key(json, node).unwrap_or_default();
    // A label of capitals may open something in a dialect that listens beside this one.
    let is_key = key.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && key.contains(char::is_lowercase)
        && key.chars().all(|c| c != ':' && super::is_word_character(c));
    let line = format!("{key}: ");
    let openers = record.open.iter().chain(&record.call).chain(&record.text).chain(&record.noise);
    let mut heads = openers.map(|template| template.head().trim()).filter(|head| !head.is_empty());
    if !is_key || heads.any(|head| line.starts_with(head.lines().next().unwrap_or(head))) {
        return false;
    }
    let raw = tape.raw(json, node);
    let Some(text) = tape.string(json, node) else {
        let mut read = String::new();
        let reads_back =
            !raw.contains('\n') && type_text(&mut read, raw, None, Untyped::Json).is_ok() && read == raw;
        out.push_str(&line);
        out.push_str(raw);
        return reads_back;
    };
    if text.contains('\n') && !text.ends_with('\r') {
        let taken: BTreeSet<&str> =
            text.lines().map(str::trim_end).filter(|line| line.starts_with("END")).collect();
        let words = (1..).map(|number| format!("END{number}"));
        let mut words = std::iter::once("END".to_owned()).chain(words);
        let word = words.find(|word| !taken.contains(word.as_str())).unwrap_or_default();
        let _ = write!(out, "{key} <<{word}\n{text}\n{word}");
        return true;
    }
    out.push_str(&line);
    let openers = record.open.iter().chain(&record.call).chain(&record.text).chain(&record.noise);
    let mut heads = openers.filter_map(|template| template.head().trim().lines().next());
    let is_plain = is_plain_line(&text) && !heads.any(|head| !head.is_empty() && text.contains(head));
    out.push_str(if is_plain { &text } else { raw });
    true
}

/// Whether a text means itself behind a key: nothing around it is lost, and it reads as nothing else.
fn is_plain_line(text: &str) -> bool {
    let mut read = String::new();
    let starts_plain =
        text.starts_with(|c: char| !c.is_whitespace() && !matches!(c, '"' | '|' | '<' | '{' | '['));
    starts_plain
        && !text.ends_with(char::is_whitespace)
        && !text.contains(char::is_control)
        && turn::doubtful_end(text).is_none()
        && type_text(&mut read, text, None, Untyped::Json).is_ok()
        && read.starts_with('"')
}

/// Writes a string as a Python literal.
pub(super) fn write_python_string(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character == quote => {
                out.push('\\');
                out.push(quote);
            }
            '\0'..='\x1f' | '\x7f' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\x{:02x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push(quote);
}

/// Writes text so that XML reads it back; quotes need no escape outside of attributes.
pub(super) fn write_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(character),
        }
    }
}

/// Whether a JSON text holds a surrogate escape without its partner, which stands for no character.
pub(super) fn has_lone_surrogate(json: &str) -> bool {
    let mut rest = json;
    while let Some(backslash) = rest.find('\\') {
        rest = &rest[backslash..];
        match surrogate(rest) {
            Some(0xd800..=0xdbff) if matches!(rest.get(6..).and_then(surrogate), Some(0xdc00..=0xdfff)) => {
                rest = &rest[12..];
            }
            Some(_) => return true,
            // An escape is a backslash and one ASCII character; the digits of `\u` are no backslashes.
            None => rest = rest.get(2..).unwrap_or_default(),
        }
    }
    false
}

/// The surrogate that an escape at the start of the text stands for.
fn surrogate(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..=0xdfff).contains(unit))
}

/// How one syntax spells the leaves and separators of a tree.
trait Spelling {
    fn comma(&self) -> &'static str;
    fn key(&self, out: &mut String, key: &str) -> Result<(), &'static str>;
    fn string(&self, out: &mut String, text: &str) -> Result<(), &'static str>;
    fn word<'w>(&self, word: &'w str) -> &'w str;
}

struct Python {
    quote: char,
}

impl Spelling for Python {
    fn comma(&self) -> &'static str {
        ", "
    }

    fn key(&self, out: &mut String, key: &str) -> Result<(), &'static str> {
        write_python_string(out, key, self.quote);
        out.push_str(": ");
        Ok(())
    }

    fn string(&self, out: &mut String, text: &str) -> Result<(), &'static str> {
        write_python_string(out, text, self.quote);
        Ok(())
    }

    fn word<'w>(&self, word: &'w str) -> &'w str {
        match word {
            "true" => "True",
            "false" => "False",
            "null" => "None",
            number => number,
        }
    }
}

struct Bare<'q> {
    quote: &'q str,
}

impl Spelling for Bare<'_> {
    fn comma(&self) -> &'static str {
        ","
    }

    fn key(&self, out: &mut String, key: &str) -> Result<(), &'static str> {
        if key.is_empty() || key.contains(':') || !key.chars().all(super::is_word_character) {
            return Err("a bare key is one word without colons, quotes and brackets");
        }
        out.push_str(key);
        out.push(':');
        Ok(())
    }

    fn string(&self, out: &mut String, text: &str) -> Result<(), &'static str> {
        let start = out.len() + self.quote.len();
        out.push_str(self.quote);
        out.push_str(text);
        out.push_str(self.quote);
        if out[start..].find(self.quote) == Some(text.len()) {
            Ok(())
        } else {
            Err("nothing is escaped between these quotes, so a string cannot hold them")
        }
    }

    fn word<'w>(&self, word: &'w str) -> &'w str {
        word
    }
}

/// Writes `key=literal, …`: the members of the root, without the parentheses around them.
fn write_keywords(out: &mut String, json: &str, tape: &Tape) -> Result<(), Unwritable> {
    for (position, node) in tape.children(0).enumerate() {
        let key = tape.key(json, node).unwrap_or_default();
        let is_keyword = key.chars().enumerate().all(|(index, letter)| {
            letter == '_' || if index == 0 { letter.is_alphabetic() } else { letter.is_alphanumeric() }
        });
        if key.is_empty() || !is_keyword {
            let message = "the name of a keyword argument is an identifier";
            return Err(Unwritable { node, literal: key.into_owned(), message });
        }
        if position > 0 {
            out.push_str(", ");
        }
        out.push_str(&key);
        out.push('=');
        write_subtree(out, json, tape, node, &Python { quote: '"' })?;
    }
    Ok(())
}

fn write_tree(out: &mut String, json: &str, tape: &Tape, spelling: &impl Spelling) -> Result<(), Unwritable> {
    write_subtree(out, json, tape, 0, spelling)
}

/// Writes one value. The tape is in preorder, so one pass with a stack of open containers does it.
fn write_subtree(
    out: &mut String,
    json: &str,
    tape: &Tape,
    root: usize,
    spelling: &impl Spelling,
) -> Result<(), Unwritable> {
    let nodes = tape.nodes();
    let mut open: Vec<(usize, char)> = Vec::new();
    for node in root..nodes[root].after() {
        // The node before is an open container exactly if it reaches beyond this one.
        let is_first = node == root || nodes[node - 1].after() > node;
        if !is_first {
            out.push_str(spelling.comma());
        }
        if node != root
            && let Some(key) = tape.key(json, node)
        {
            let rejected = |message| Unwritable { node, literal: key.to_string(), message };
            spelling.key(out, &key).map_err(rejected)?;
        }
        match nodes[node].kind {
            Kind::Object => {
                out.push('{');
                open.push((nodes[node].after(), '}'));
            }
            Kind::Array => {
                out.push('[');
                open.push((nodes[node].after(), ']'));
            }
            Kind::String => {
                let text = tape.string(json, node).unwrap_or_default();
                let rejected = |message| Unwritable { node, literal: text.to_string(), message };
                spelling.string(out, &text).map_err(rejected)?;
            }
            Kind::Number | Kind::Bool | Kind::Null => out.push_str(spelling.word(tape.raw(json, node))),
        }
        while let Some((after, closer)) = open.last().copied()
            && after == node + 1
        {
            out.push(closer);
            open.pop();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{Reader, ReaderState};

    fn write(json: &str, syntax: Syntax) -> Result<String, String> {
        let tape = Tape::parse(json).unwrap();
        let mut out = String::new();
        match write_arguments(&mut out, json, &tape, syntax, "<q>") {
            Ok(()) => Ok(out),
            Err(rejected) => Err(format!("{}: {}", tape.pointer(json, rejected.node), rejected.literal)),
        }
    }

    #[test]
    fn every_syntax_keeps_digits_and_order() {
        let json = r#"{"b": 12345678901234567890.50, "a": ["x'\"\u00e9\n", {}, [], {"k": [true, null]}], "e": -1E+5}"#;
        assert_eq!(write(json, Syntax::Json).unwrap(), json);
        assert_eq!(
            write(json, Syntax::Python).unwrap(),
            r#"{'b': 12345678901234567890.50, 'a': ['x\'"é\n', {}, [], {'k': [True, None]}], 'e': -1E+5}"#
        );
        assert_eq!(
            write(json, Syntax::Kwargs).unwrap(),
            r#"b=12345678901234567890.50, a=["x'\"é\n", {}, [], {"k": [True, None]}], e=-1E+5"#
        );
        assert_eq!(
            write(json, Syntax::Bare).unwrap(),
            "{b:12345678901234567890.50,a:[<q>x'\"é\n<q>,{},[],{k:[true,null]}],e:-1E+5}"
        );
        assert_eq!(write("{}", Syntax::Kwargs).unwrap(), "");
    }

    #[test]
    fn what_a_syntax_cannot_write_is_rejected() {
        assert_eq!(write(r#"{"a": {"b": "x<q>y"}}"#, Syntax::Bare).unwrap_err(), "/a/b: x<q>y");
        assert_eq!(write(r#"{"a:b": 1}"#, Syntax::Bare).unwrap_err(), "/a:b: a:b");
        assert_eq!(write(r#"{"a-b": 1}"#, Syntax::Kwargs).unwrap_err(), "/a-b: a-b");
    }

    #[test]
    fn lone_surrogates_are_seen() {
        assert!(!has_lone_surrogate(r#"{"a": "\ud83d\ude80 \\ud83d é"}"#));
        assert!(has_lone_surrogate(r#"{"a": "\ud83d"}"#));
        assert!(has_lone_surrogate(r#"{"a": "\ude80\ud83d"}"#));
    }

    fn read(text: &str, syntax: Syntax) -> Option<serde_json::Value> {
        let mut reader = Reader::new(syntax);
        if syntax == Syntax::Bare {
            reader = reader.with_quote("<q>".into());
        }
        reader.push(text);
        assert!(reader.repairs().is_empty(), "{text}: {:?}", reader.repairs());
        assert_eq!(reader.state(), ReaderState::Done, "{text}");
        reader.tape().value(reader.text(), 0)
    }

    fn any_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            "[ -~\\n\\t\\u{0}\\u{7f}é東🚀]{0,12}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let members = prop::collection::btree_map("[a-z_]{1,6}", inner.clone(), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Into::into),
                members.prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        /// Each syntax is read back by the reader for it, without a repair.
        #[test]
        fn what_is_written_reads_back(members in prop::collection::btree_map("[a-z_]{1,6}", any_value(), 0..4)) {
            let object = serde_json::Value::from(members.into_iter().collect::<serde_json::Map<_, _>>());
            let json = object.to_string();
            for (syntax, end) in [(Syntax::Python, ""), (Syntax::Kwargs, ")"), (Syntax::Bare, "")] {
                let Ok(text) = write(&json, syntax) else { continue };
                prop_assert_eq!(read(&(text + end), syntax), Some(object.clone()));
            }
        }
    }
}
