//! What a person is shown: every argument of the call, with nothing in it that could deceive the eye or the terminal.

use callgate::Call;
use serde::Serialize;
use serde_json::Value;

use super::hash;
use crate::visible::{Breaks, is_hidden, visible};

/// How many characters of one argument the short form shows, half from its start and half from its end.
const SHORT: usize = 600;
/// How many arguments, and how many lines of a change, the short form shows, half from the start and half from the end.
const SHORT_FIELDS: usize = 24;
const SHORT_PREVIEW: usize = 60;

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The tool.
    pub tool: String,
    /// Why it is asked.
    pub why: String,
    /// What the answer is bound to.
    pub hash: String,
    /// Every argument.
    pub fields: Vec<Field>,
    /// What will change, line by line, where the tool can say.
    pub preview: Vec<String>,
}

/// One argument, safe to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Where it stands in the arguments, as a JSON pointer.
    pub path: String,
    /// Its whole value, on one line.
    pub whole: String,
    /// Its length in characters, as it will be used.
    pub characters: usize,
    /// How many characters of it are invisible or would act on a terminal; they are shown as escapes.
    pub hidden: usize,
}

impl Field {
    /// The value as it fits on a screen; what is left out is said, and both ends are there.
    pub fn short(&self) -> String {
        let count = self.whole.chars().count();
        if count <= SHORT {
            return self.whole.clone();
        }
        let start: String = self.whole.chars().take(SHORT / 2).collect();
        let end: String = self.whole.chars().skip(count - SHORT / 2).collect();
        format!("{start} … {} characters are not shown … {end}", count - SHORT)
    }
}

impl Request {
    /// The question about a call.
    pub fn new(call: &Call, why: &str) -> Self {
        let mut fields = Vec::new();
        let value = call.value();
        // Leaves in the order of the arguments, without recursion: what is nested comes out flat.
        let mut open: Vec<(String, &Value)> = vec![(String::new(), &value)];
        while let Some((path, value)) = open.pop() {
            let below: Vec<(String, &Value)> = match value {
                Value::Object(members) => {
                    members.iter().map(|(key, value)| (format!("{path}/{}", pointer(key)), value)).collect()
                }
                Value::Array(items) => {
                    items.iter().enumerate().map(|(at, value)| (format!("{path}/{at}"), value)).collect()
                }
                _ => Vec::new(),
            };
            if below.is_empty() {
                fields.push(field(&path, value));
            }
            open.extend(below.into_iter().rev());
        }
        Request {
            tool: visible(&call.name, Breaks::Show).into_owned(),
            why: visible(why, Breaks::Show).into_owned(),
            hash: hash(call),
            fields,
            preview: Vec::new(),
        }
    }

    /// Adds what will change. Whatever the tool says is made safe to show here.
    pub(super) fn showing(mut self, preview: Option<&str>) -> Self {
        let lines = preview.unwrap_or_default().lines();
        self.preview = lines.map(|line| visible(line, Breaks::Show).into_owned()).collect();
        self
    }

    /// The question as lines of text for a terminal.
    pub fn lines(&self, is_short: bool) -> Vec<String> {
        let mut lines = vec![format!("{} wants to run: {}", self.tool, self.why)];
        let fields = self.fields.iter().map(|field| {
            let value = if is_short { field.short() } else { field.whole.clone() };
            let hidden = match field.hidden {
                0 => String::new(),
                count => format!(" ({count} hidden characters, shown as escapes)"),
            };
            format!("  {} = {value}{hidden}", field.path)
        });
        let preview = self.preview.iter().map(|line| format!("  {line}"));
        let (most_fields, most_preview) =
            if is_short { (SHORT_FIELDS, SHORT_PREVIEW) } else { (usize::MAX, usize::MAX) };
        lines.extend(both_ends(fields.collect(), most_fields, "arguments"));
        lines.extend(both_ends(preview.collect(), most_preview, "lines of the change"));
        lines.push(format!("  hash {}", self.hash));
        lines
    }
}

/// The first and the last lines, and how many are not shown between them: what is in the middle must not push what
/// matters off the screen.
fn both_ends(mut lines: Vec<String>, most: usize, what: &str) -> Vec<String> {
    if lines.len() <= most {
        return lines;
    }
    let hidden = lines.len() - most;
    let end = lines.split_off(lines.len() - most / 2);
    lines.truncate(most / 2);
    lines.push(format!("  … {hidden} {what} are not shown …"));
    lines.extend(end);
    lines
}

fn field(path: &str, value: &Value) -> Field {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Field {
        path: visible(if path.is_empty() { "/" } else { path }, Breaks::Show).into_owned(),
        characters: text.chars().count(),
        hidden: text.chars().filter(|c| is_hidden(*c) && !matches!(c, '\n' | '\t')).count(),
        // A backslash that was there must not look like an escape that was made.
        whole: visible(&text.replace('\\', "\\\\"), Breaks::Show).into_owned(),
    }
}

fn pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
