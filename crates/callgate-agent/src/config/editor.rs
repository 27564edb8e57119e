//! Editor: the settings file of an editor, read for the keys that are ours; everything else in it is left alone.

use std::path::Path;

use callgate::Safety;
use serde_json::Value;

use super::Origin;
use super::table::STRICT_SWITCH;
use super::yaml::{Content, YamlEntry};
use crate::yaml::YamlFault;

/// What the files are called.
const NAME: &str = "settings.json";
/// What our keys start with there.
const OURS: &str = "callgate.";
/// How deep sections may be nested.
const DEPTH: usize = 16;

/// Whether a file is that of an editor.
pub(super) fn is_settings(origin: &Origin) -> bool {
    let path = match origin {
        Origin::File { path, .. } | Origin::Folder { path, .. } => path.as_path(),
        _ => Path::new(""),
    };
    path.file_name().is_some_and(|name| name == NAME)
}

/// The values of our keys, in order. Editors allow comments and commas before closers.
pub(super) fn entries(text: &str) -> Result<Vec<YamlEntry>, YamlFault> {
    let fault = |message: String| YamlFault {
        line: 0,
        key: String::new(),
        message,
        help: "write one JSON object, as the editor does",
    };
    let read = callgate::repair(text, DEPTH).map_err(|finding| fault(finding.to_string()))?;
    if let Some(guess) = read.repairs.iter().find(|repair| repair.safety == Safety::Guess) {
        return Err(fault(format!("the file is broken ({})", guess.code.word())));
    }
    let value: Value = serde_json::from_str(&read.text).map_err(|error| fault(error.to_string()))?;
    let Value::Object(members) = value else { return Err(fault("this is no JSON object".to_owned())) };
    let mut entries = Vec::new();
    let mut open: Vec<(String, Value, usize)> =
        members.into_iter().rev().map(|(key, value)| (key, value, 1)).collect();
    while let Some((key, value, depth)) = open.pop() {
        if let Value::Object(members) = value {
            if depth < DEPTH {
                let below = members.into_iter().rev();
                open.extend(below.map(|(name, value)| (format!("{key}.{name}"), value, depth + 1)));
            }
            continue;
        }
        let ours = if key == STRICT_SWITCH { Some(key.as_str()) } else { key.strip_prefix(OURS) };
        let (Some(ours), Some(content)) = (ours, content(&value)) else { continue };
        let line = line(text, &key);
        entries.push(YamlEntry { key: ours.to_owned(), content, line });
    }
    Ok(entries)
}

/// A value as the configuration takes it; null sets nothing.
fn content(value: &Value) -> Option<Content> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Array(items) => Some(Content::List(items.iter().map(text).collect())),
        scalar => Some(Content::Scalar { text: text(scalar), quoted: scalar.is_string() }),
    }
}

/// The line in which a key stands: that of its whole name, or of its last part where it stands in sections.
fn line(text: &str, key: &str) -> usize {
    let last = key.rsplit('.').next().unwrap_or(key);
    let find = |name: &str| text.lines().position(|line| line.contains(&format!("\"{name}\"")));
    find(key).or_else(|| find(last)).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_keys_are_read_and_all_others_left_alone() {
        let text = "{\n  // how wide\n  \"editor.tabSize\": 2,\n  \"accesslint.useStrictXMLParsing\": true,\n  \"[rust]\": {\"a\": [1, {}]},\n  \"callgate.chat.max_turns\": 9,\n  \"callgate\": {\n    \"approval\": {\"deny\": [\"fs.write\"]}\n  },\n}\n";
        let found = entries(text).unwrap();
        let scalar = |text: &str| Content::Scalar { text: text.to_owned(), quoted: false };
        let entry = |key: &str, content, line| YamlEntry { key: key.to_owned(), content, line };
        assert!(found.contains(&entry(STRICT_SWITCH, scalar("true"), 4)), "{found:?}");
        assert!(found.contains(&entry("chat.max_turns", scalar("9"), 6)), "{found:?}");
        let deny = Content::List(vec!["fs.write".to_owned()]);
        assert!(found.contains(&entry("approval.deny", deny, 8)), "{found:?}");
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn what_is_no_object_is_a_fault() {
        for text in ["[1]", "", "{\"a\": \"cut"] {
            assert!(entries(text).is_err(), "{text}");
        }
    }
}
