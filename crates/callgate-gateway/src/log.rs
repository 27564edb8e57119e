//! The log: one line for each thing that happened, as text or as JSON, for whoever operates the server. What it is
//! written to is the caller's; without a listener no line is made.

use std::sync::OnceLock;
use std::time::SystemTime;

use callgate_agent::audit::Redaction;
use callgate_agent::clock;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The most characters of one text in a line: clients and servers choose some of them.
const TEXT: usize = 300;

/// What is logged, and how.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LogSettings {
    /// The form of a line.
    pub format: LogFormat,
    /// What is worth a line.
    pub level: LogLevel,
}

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Words and `key=value`.
    #[default]
    Text,
    /// A JSON object.
    Json,
}

/// What is worth a line: this, and what is worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// What this server or a server of a model did wrong.
    Error,
    /// What a client or a model did wrong.
    Warn,
    /// Every exchange.
    #[default]
    Info,
}

impl LogLevel {
    fn word(self) -> &'static str {
        match self {
            LogLevel::Error => "error",
            LogLevel::Warn => "warn",
            LogLevel::Info => "info",
        }
    }
}

/// Who gets the lines.
type Listener = Box<dyn Fn(&str) + Send + Sync>;

/// The log of one server.
#[derive(Default)]
pub(crate) struct Log {
    to: OnceLock<(LogSettings, Listener)>,
}

impl Log {
    /// Sends lines there from now on. The first listener stays.
    pub(crate) fn listen(&self, settings: LogSettings, listener: Listener) {
        let _ = self.to.set((settings, listener));
    }

    /// Writes a line about an event, if anybody wants it.
    pub(crate) fn say(
        &self,
        level: LogLevel,
        event: &str,
        members: impl FnOnce() -> Vec<(&'static str, Value)>,
    ) {
        if let Some((settings, listener)) = self.to.get().filter(|(settings, _)| level <= settings.level) {
            listener(&line(settings.format, &clock::timestamp(SystemTime::now()), level, event, members()));
        }
    }
}

fn line(
    format: LogFormat,
    time: &str,
    level: LogLevel,
    event: &str,
    members: Vec<(&'static str, Value)>,
) -> String {
    let is_said = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    let said =
        members.into_iter().filter(|(_, value)| is_said(value)).map(|(key, value)| (key, clean(value)));
    match format {
        LogFormat::Json => {
            let mut object = Map::new();
            for (key, value) in [("ts", time), ("level", level.word()), ("event", event)] {
                object.insert(key.to_owned(), value.into());
            }
            object.extend(said.map(|(key, value)| (key.to_owned(), value)));
            Value::from(object).to_string()
        }
        LogFormat::Text => {
            let mut text = format!("{time} {} {event}", level.word());
            for (key, value) in said {
                let value = match &value {
                    Value::String(word) if word.chars().all(is_plain) => word.clone(),
                    // As JSON: control characters are escaped, so that no line is two and no terminal obeys.
                    other => other.to_string(),
                };
                text.push_str(&format!(" {key}={value}"));
            }
            text
        }
    }
}

/// Whether a character needs no quotes around its word.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "-_.:/*()+@".contains(c)
}

/// A value without secrets, and not too long.
fn clean(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let text = Redaction::default().text(&text);
            match text.char_indices().nth(TEXT) {
                Some((at, _)) => format!("{}…", &text[..at]).into(),
                None => text.into(),
            }
        }
        Value::Array(items) => items.into_iter().map(clean).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::{Arc, Mutex};

    fn members() -> Vec<(&'static str, Value)> {
        vec![
            ("model", json!("a b\n\u{1b}[31m")),
            ("status", json!(200)),
            ("none", Value::Null),
            ("fault", json!("the key sk-abcdefghijklmnop0123 is wrong")),
            ("long", json!("x".repeat(5000))),
        ]
    }

    #[test]
    fn a_line_is_one_line_without_secrets_and_not_long() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let line = line(format, "now", LogLevel::Warn, "exchange", members());
            assert!(line.lines().count() == 1 && !line.contains('\u{1b}'), "{line}");
            assert!(!line.contains("sk-abc") && line.contains("redacted"), "{line}");
            assert!(line.len() < 700 && !line.contains("none"), "{line}");
        }
        let json: Value =
            serde_json::from_str(&line(LogFormat::Json, "now", LogLevel::Warn, "exchange", members()))
                .unwrap();
        assert_eq!(
            (&json["event"], &json["level"], &json["status"]),
            (&json!("exchange"), &json!("warn"), &json!(200))
        );
        let text =
            line(LogFormat::Text, "now", LogLevel::Info, "exchange", vec![("model", json!("qwen3:8b"))]);
        assert_eq!(text, "now info exchange model=qwen3:8b");
    }

    #[test]
    fn what_is_not_worth_a_line_is_not_even_made() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let log = Log::default();
        log.say(LogLevel::Error, "before", || panic!("nobody listens"));
        let heard = said.clone();
        let settings = LogSettings { level: LogLevel::Warn, ..LogSettings::default() };
        log.listen(settings, Box::new(move |line| heard.lock().unwrap().push(line.to_owned())));
        log.say(LogLevel::Info, "fine", || panic!("nobody wants it"));
        log.say(LogLevel::Error, "bad", Vec::new);
        assert_eq!(said.lock().unwrap().len(), 1);
    }
}
