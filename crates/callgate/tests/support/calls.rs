//! One call written in every dialect, with the tools that know it.

use callgate::{Record, RenderCall};
use serde_json::{Value, json};

/// The tools of the oracles: one that must not run, one that may, and one that takes many texts.
pub(crate) fn tools() -> Value {
    let texts = |keys: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties, "required": keys})
    };
    json!([
        {"name": "rm", "parameters": texts(&["path"])},
        {"name": "echo", "parameters": texts(&["text"])},
    ])
}

/// One call as this dialect writes it; nothing where it cannot.
pub(crate) fn written(record: &Record, name: &str, arguments: &Value) -> Option<String> {
    let arguments = arguments.to_string();
    // Some formats cannot be written without an id, most have no place for one.
    let write = |id| record.render(&[RenderCall { id, name, arguments: &arguments }], None, None).ok();
    write(Some("a1b2c3d4e")).or_else(|| write(None))
}

/// The call of `rm` with this path.
pub(crate) fn remove(record: &Record, path: &str) -> Option<String> {
    written(record, "rm", &json!({"path": path}))
}
