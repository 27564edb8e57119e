//! The dialect file that an import writes: keys in the order of the documentation, each with what is to be said about it.

use std::fmt::Write;

/// How long a line of a remark may be.
const LINE: usize = 110;

/// A dialect file on its way.
#[derive(Debug, Default)]
pub(super) struct File {
    remarks: Vec<String>,
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    name: &'static str,
    value: KeyValue,
    remarks: Vec<String>,
}

/// What a key can hold.
#[derive(Debug)]
pub(super) enum KeyValue {
    Flag(bool),
    Text(String),
    List(Vec<String>),
    Rows(Vec<Vec<String>>),
}

impl File {
    /// Says something about the dialect as a whole.
    pub(super) fn remark(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
    }

    /// Adds a key, unless it would say nothing. A list of one is written as its entry.
    pub(super) fn key(&mut self, name: &'static str, value: KeyValue, remarks: Vec<String>) {
        let value = match value {
            KeyValue::List(mut list) if list.len() == 1 => KeyValue::Text(list.pop().unwrap_or_default()),
            other => other,
        };
        let says_nothing = match &value {
            KeyValue::Flag(set) => !set,
            KeyValue::Text(text) => text.is_empty(),
            KeyValue::List(list) => list.is_empty(),
            KeyValue::Rows(rows) => rows.is_empty(),
        };
        if !says_nothing {
            self.keys.push(Key { name, value, remarks });
        }
    }

    /// The text of the file.
    pub(super) fn to_toml(&self, dialect: &str) -> String {
        let mut toml = String::new();
        for remark in &self.remarks {
            comment(&mut toml, remark);
        }
        let _ = writeln!(toml, "[{dialect}]");
        for key in &self.keys {
            for remark in &key.remarks {
                comment(&mut toml, remark);
            }
            let _ = writeln!(toml, "{} = {}", key.name, written(&key.value));
        }
        toml
    }
}

fn written(value: &KeyValue) -> String {
    let list = |entries: &[String]| entries.iter().map(|entry| quoted(entry)).collect::<Vec<_>>().join(", ");
    match value {
        KeyValue::Flag(set) => set.to_string(),
        KeyValue::Text(text) => quoted(text),
        KeyValue::List(entries) => format!("[{}]", list(entries)),
        KeyValue::Rows(rows) => {
            let rows: Vec<String> = rows.iter().map(|row| format!("[{}]", list(row))).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other if other.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(other));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A remark as comment lines, broken between words. What stands in it comes from a file, so it is kept on its lines.
fn comment(toml: &mut String, remark: &str) {
    let mut line = String::from("#");
    for word in remark.split_whitespace() {
        let word: String = word.chars().filter(|character| !character.is_control()).collect();
        if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > LINE {
            let _ = writeln!(toml, "{line}");
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(&word);
    }
    let _ = writeln!(toml, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_survive_the_file() {
        let awkward = "a\"b\\c\n\t\r\u{0}\u{7f}\u{85}é<｜x｜>";
        let mut file = File::default();
        file.remark(format!("about {awkward}"));
        file.key("source", KeyValue::Text(awkward.to_owned()), vec!["one\nline".to_owned()]);
        file.key("call", KeyValue::List(vec![format!("<c>{awkward}"), "<d>".to_owned()]), Vec::new());
        file.key("also", KeyValue::Rows(vec![vec!["<c>".to_owned(), String::new()]]), Vec::new());
        file.key("trim", KeyValue::Flag(false), Vec::new());
        let read: toml::Table = file.to_toml("x").parse().unwrap();
        let table = read["x"].as_table().unwrap();
        assert_eq!(table["source"].as_str(), Some(awkward));
        assert_eq!(table["call"][1].as_str(), Some("<d>"));
        assert_eq!(table["also"][0][1].as_str(), Some(""));
        assert!(!table.contains_key("trim"));
    }

    #[test]
    fn long_remarks_are_broken() {
        let mut toml = String::new();
        comment(&mut toml, &"word ".repeat(60));
        assert!(
            toml.lines().count() > 1 && toml.lines().all(|line| line.starts_with("# ") && line.len() <= LINE)
        );
    }
}
