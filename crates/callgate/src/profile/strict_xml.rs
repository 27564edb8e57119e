//! The machinery of the profile `strict-xml`: error types, its feedback, and what a host is told while it streams.

use std::fmt::{self, Write};

use serde::Serialize;
use serde_json::Value;

use super::{Strike, message};
use crate::dialect::{Record, RenderCall};
use crate::event::Rejected;
use crate::finding::{Code, Finding, Severity};
use crate::registry::Registry;
use crate::response::Response;
use crate::schema::CompiledTool;
use crate::session::Session;

/// What is accepted and what is not, before the examples: what a model reads last is what it should write.
pub(super) const RULES: &str = "\
The strict XML format is the only one that is accepted: a tag named after the tool, around a JSON object or around one tag for each \
parameter. Everything else will be rejected and not run:

✗ TOOL_CALL: {tool}
  INPUT: {arguments}
✗ <{tool} …=\"…\"/>
✗ {\"tool\": \"{tool}\", …}
✗ \"Let me call {tool} …\"
✗ a call in a code block
";

/// What is right, in the end of the prompt.
pub(super) const RIGHT: &str = "\
✓ The tag is the exact name of the tool; every tag is closed; JSON uses double quotes.
✓ Parameters may also be tags: <tool><parameter>value</parameter></tool>.
✓ HTML, CSS and code are values like any other: write them whole, escaped as JSON where the body is JSON.
";

/// The files that the prompt shows being written.
pub(super) const FILES: &[(&str, &str)] = &[
    (
        "site/index.html",
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n  <title>Hello</title>\n  <link rel=\"stylesheet\" \
         href=\"styles.css\">\n</head>\n<body>\n  <h1>Hello</h1>\n</body>\n</html>\n",
    ),
    ("site/styles.css", "body {\n  color: #222;\n  background: #fff;\n}\n"),
];

/// The five types of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorType {
    /// A block is there but cannot be read.
    MalformedXml,
    /// A block names no tool.
    UnknownTool,
    /// The parameters do not fit the tool.
    SchemaValidation,
    /// A call was needed and there is none.
    NoXmlBlocks,
    /// Too many responses in a row were rejected.
    MaxMistakes,
}

impl ErrorType {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            ErrorType::MalformedXml => "MALFORMED_XML",
            ErrorType::UnknownTool => "UNKNOWN_TOOL",
            ErrorType::SchemaValidation => "SCHEMA_VALIDATION",
            ErrorType::NoXmlBlocks => "NO_XML_BLOCKS",
            ErrorType::MaxMistakes => "MAX_MISTAKES",
        }
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a response was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StrictError {
    /// The type.
    #[serde(rename = "type")]
    pub kind: ErrorType,
    /// What is behind a reached limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<ErrorType>,
    /// What happened.
    pub message: String,
    /// What to write instead.
    pub details: String,
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n\n{}", self.kind, self.message, self.details)
    }
}

impl From<Strike> for StrictError {
    fn from(strike: Strike) -> Self {
        let kind = error_type(strike.code);
        StrictError {
            kind: if strike.is_last { ErrorType::MaxMistakes } else { kind },
            cause: strike.is_last.then_some(kind),
            message: strike.message,
            details: strike.details,
        }
    }
}

/// What a host is told after each chunk of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamReport {
    /// Whether a call has been completed, so that the host may stop the model.
    pub complete: bool,
    /// The tool of the call that was completed, or is being read.
    pub detected: Option<String>,
    /// Whether text is held back because it may become a call.
    pub buffer: bool,
    /// The text that may be shown.
    pub shown: String,
    /// How many chunks were read.
    pub chunks: usize,
    /// All tools whose calls were completed, in order.
    pub tools: Vec<String>,
}

impl StreamReport {
    /// Reads a chunk and says where the stream stands.
    pub fn feed(&mut self, session: &mut Session, chunk: &str) {
        let shown = &mut self.shown;
        session.push(chunk, &mut |event| {
            if let crate::Event::Text { text, .. } = event {
                shown.push_str(&text);
            }
        });
        self.chunks += 1;
        let before = self.tools.len();
        self.tools = session.completed().map(str::to_owned).collect();
        self.complete = self.tools.len() > before;
        self.detected = match (self.tools.last(), session.open_call()) {
            (Some(name), _) if self.complete => Some(name.clone()),
            (_, Some(name)) => name.map(str::to_owned),
            _ => None,
        };
        self.buffer = session.is_holding();
    }
}

/// The text of a response: blocks leave holes of empty lines, of which one is kept.
pub(super) fn text(response: &Response, _input: &str) -> String {
    let mut text = String::with_capacity(response.text.len());
    let mut breaks = 0;
    for c in response.text.trim().chars() {
        breaks = if c == '\n' { breaks + 1 } else { 0 };
        if breaks < 3 {
            text.push(c);
        }
    }
    text
}

pub(super) fn code(code: Code) -> Option<&'static str> {
    let is_own = code.severity() == Severity::Error && code != Code::Sibling;
    is_own.then(|| error_type(code).word())
}

fn error_type(code: Code) -> ErrorType {
    match code {
        Code::UnknownTool => ErrorType::UnknownTool,
        Code::NoCall => ErrorType::NoXmlBlocks,
        Code::MaxMistakes => ErrorType::MaxMistakes,
        _ if code.kind() == "schema" => ErrorType::SchemaValidation,
        _ => ErrorType::MalformedXml,
    }
}

/// What stands before the message of a finding: its type, and of what kind of mistake the document speaks.
pub(super) fn lead(finding: &Finding, name: &str) -> String {
    let kind = error_type(finding.code);
    match finding.code.kind() {
        "schema" => format!("{kind}: Tool {name} parameters invalid: "),
        _ => format!("{kind}: "),
    }
}

/// The document speaks of parameters, and of what they should be.
pub(super) fn rewords(finding: &Finding) -> Option<String> {
    if let Some(key) = finding.message.strip_prefix("missing required argument: ") {
        return Some(format!("Missing required parameter: {key}"));
    }
    if finding.code != Code::WrongType {
        return None;
    }
    let (place, types) = finding.message.strip_prefix("invalid value")?.split_once(": expected ")?;
    // What was text between tags is told without its name, which stands in the path.
    let place = place.strip_prefix(" for ").unwrap_or(finding.path.trim_start_matches('/'));
    let article = if types.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    Some(format!("Parameter {place} should be {article} {types}"))
}

/// What is wrong with a rejected call, all of it.
pub(super) fn error(sentences: &[(Code, &'static str)], rejected: &Rejected) -> String {
    let one = |finding| rewords(finding).unwrap_or_else(|| message(sentences, finding).to_owned());
    let said: Vec<String> = rejected.findings.iter().map(one).collect();
    match (rejected.findings.first(), &rejected.name) {
        (Some(first), Some(name)) if first.code.kind() == "schema" => {
            format!("Tool {name} parameters invalid: {}", said.join(", "))
        }
        _ => said.join("; "),
    }
}

/// What is said about a tool.
pub(super) fn expects(tool: &CompiledTool) -> Option<String> {
    Some(format!("Required parameters: {}", tool.required().join(", ")))
}

/// The two forms of a block, for the tool that was meant or the first one.
pub(super) fn format(record: &Record, rejected: &[&Rejected], registry: &Registry) -> Option<String> {
    let named = rejected.iter().find_map(|rejected| registry.compiled(rejected.name.as_deref()?));
    let tool = named.or_else(|| registry.all_compiled().next())?;
    let example = tool.example();
    let arguments = example.to_string();
    let call = RenderCall { id: None, name: &tool.tool.name, arguments: &arguments };
    let json_form = record.render(&[call], None, None).ok()?;
    let mut text = format!(
        "\nThe strict XML format, with a JSON body:\n{json_form}\n\nor with parameter tags:\n<{}>\n",
        tool.tool.name
    );
    for key in tool.required() {
        let value = match &example[key] {
            Value::String(value) => value.clone(),
            value => value.to_string(),
        };
        let _ = writeln!(text, "  <{key}>{value}</{key}>");
    }
    let _ = writeln!(text, "</{}>", tool.tool.name);
    Some(text)
}
