//! Errors: everything that is wrong at the border, as one JSON object with a code, a place and a way out. `lib/errors.js` throws it.

use callgate::{Finding, GateError, RecordError, RegistryError, Unrepresentable};
use serde::Serialize;
use wasm_bindgen::JsValue;

/// What is told about a mistake.
#[derive(Serialize, Default)]
pub(crate) struct Told {
    code: String,
    message: String,
    help: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<(usize, usize)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pointer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
}

impl Told {
    pub(crate) fn new(code: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Told { code: code.to_owned(), message: message.into(), help: help.into(), ..Told::default() }
    }

    /// As it crosses the border.
    pub(crate) fn thrown(self) -> JsValue {
        JsValue::from_str(&serde_json::to_string(&self).unwrap_or_default())
    }

    /// A knob or a word that there is not, as the core says it.
    pub(crate) fn setting(code: &str, said: &str) -> Self {
        let (message, help) = said.split_once("; ").unwrap_or((said, "see the documentation of the knobs"));
        Told::new(code, message, help)
    }

    /// JSON that is not what it should be.
    pub(crate) fn not_json(what: &str, error: &serde_json::Error) -> Self {
        Told::new("not-json", format!("this is no {what}: {error}"), "give what was written, unchanged")
    }

    pub(crate) fn unrepresentable(dialect: &str, error: &Unrepresentable) -> Self {
        let message = match error.literal.is_empty() {
            true => error.message.clone(),
            false => format!("{} (`{}`)", error.message, error.literal),
        };
        let message = format!("the dialect `{dialect}` cannot say this: {message}");
        let help = "choose another dialect, or leave out what it cannot say";
        Told { pointer: Some(error.path.clone()), ..Told::new("unrepresentable", message, help) }
    }
}

impl From<&Finding> for Told {
    fn from(finding: &Finding) -> Self {
        Told {
            span: finding.span.map(|span| (span.start, span.end)),
            pointer: Some(finding.path.clone()).filter(|path| !path.is_empty()),
            ..Told::new(finding.code.word(), finding.message.clone(), finding.help.clone())
        }
    }
}

impl From<GateError> for Told {
    fn from(error: GateError) -> Self {
        Told::new(error.code, error.message, error.help)
    }
}

impl From<RegistryError> for Told {
    fn from(error: RegistryError) -> Self {
        Told {
            pointer: Some(error.pointer.clone()).filter(|pointer| !pointer.is_empty()),
            index: error.index,
            tool: error.tool.clone(),
            line: error.line_column.map(|(line, _)| line),
            column: error.line_column.map(|(_, column)| column),
            ..Told::new(error.code.word(), error.message.clone(), error.help())
        }
    }
}

impl From<RecordError> for Told {
    fn from(error: RecordError) -> Self {
        Told {
            line: Some(error.line),
            column: Some(error.column),
            ..Told::new("bad-dialect", error.message, error.help)
        }
    }
}
