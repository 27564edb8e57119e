//! Events: the one ordered stream that everything else consumes.

mod wire;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::finding::{Finding, Span};
use crate::json::{Repair, canonical};
use wire::{WrittenRejected, raw_text, shared};

/// What became of a part of the input. Every byte of the input is in the span of exactly one `Text`,
/// `Reasoning`, `Markup`, `Call` or `Rejected`; the others say more about those.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Text for the reader, untrimmed.
    #[non_exhaustive]
    Text {
        /// The text, with U+FFFD for bytes that are not UTF-8.
        text: Cow<'a, str>,
        /// Its place in the input.
        span: Span,
    },
    /// What the model thought before it answered.
    #[non_exhaustive]
    Reasoning {
        /// The text of the thought.
        text: Cow<'a, str>,
        /// Its place in the input.
        span: Span,
    },
    /// Bytes that only hold the format together: section tags, end tokens, the white space a template writes.
    #[non_exhaustive]
    Markup {
        /// Their place in the input.
        span: Span,
    },
    /// A call has begun and its name is known. For display: nothing is judged yet.
    #[non_exhaustive]
    CallStarted {
        /// The number of the attempt in this response.
        attempt: usize,
        /// The name as the model wrote it.
        name: Cow<'a, str>,
        /// The dialect it is read in.
        dialect: Arc<str>,
        /// Why in that one.
        choice: Choice,
    },
    /// More of a call's arguments, as JSON text. For display: nothing is judged yet.
    #[non_exhaustive]
    ArgumentsDelta {
        /// The number of the attempt.
        attempt: usize,
        /// The next part; all parts together are the arguments unless the call lists a coercion or a late repair.
        delta: Cow<'a, str>,
    },
    /// An accepted call. Only this authorises execution.
    Call(Box<Call>),
    /// A rejected attempt.
    Rejected(Box<Rejected>),
    /// The model says that it cannot go on, in a format that has a way to say so.
    ModelError(ModelError),
    /// Something worth saying that does not belong to one call.
    Finding(Finding),
}

/// Why a call is read in the dialect it is read in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// The dialect was asked for by name.
    Named,
    /// All dialects listened, and what followed this opener fits only that one.
    Marker(Arc<str>),
    /// The provider sent the call apart from the text.
    Provider,
}

impl Event<'_> {
    /// The event with its own copy of the text, to keep it longer than the chunk.
    pub fn into_owned(self) -> Event<'static> {
        fn own(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        match self {
            Event::Text { text, span } => Event::Text { text: own(text), span },
            Event::Reasoning { text, span } => Event::Reasoning { text: own(text), span },
            Event::Markup { span } => Event::Markup { span },
            Event::CallStarted { attempt, name, dialect, choice } => {
                Event::CallStarted { attempt, name: own(name), dialect, choice }
            }
            Event::ArgumentsDelta { attempt, delta } => Event::ArgumentsDelta { attempt, delta: own(delta) },
            Event::Call(call) => Event::Call(call),
            Event::Rejected(rejected) => Event::Rejected(rejected),
            Event::ModelError(error) => Event::ModelError(error),
            Event::Finding(finding) => Event::Finding(finding),
        }
    }

    /// The bytes of the input that this event accounts for; none for events that only comment.
    pub fn accounts_for(&self) -> Option<Span> {
        match self {
            Event::Text { span, .. } | Event::Reasoning { span, .. } | Event::Markup { span } => Some(*span),
            Event::Call(call) => call.span,
            Event::Rejected(rejected) => rejected.span,
            Event::ModelError(error) => error.span,
            _ => None,
        }
    }
}

/// An accepted attempt. One that was read back from JSON is as good as the place where it was kept.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Call {
    /// The number of the attempt in this response.
    #[serde(default)]
    pub attempt: usize,
    /// The model's id, or one that is unique in the response.
    pub id: String,
    /// The name of the tool, as registered.
    pub name: String,
    /// The arguments as JSON text: the model's own bytes where they were valid, spliced where they were repaired.
    #[serde(deserialize_with = "raw_text")]
    pub arguments: String,
    /// Whether a tool list was given, so that name and arguments were checked.
    pub checked: bool,
    /// The dialect it was written in; `native` for structured provider calls.
    #[serde(deserialize_with = "shared")]
    pub dialect: Arc<str>,
    /// The frame in the input; absent for structured provider calls.
    pub span: Option<Span>,
    /// What was changed to read it.
    pub repairs: Vec<Repair>,
    /// What was changed to fit it to its schema.
    pub coercions: Vec<Coercion>,
    /// What is to be known before it runs: that it repeats text that is not to be trusted.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The ids of the calls of this response that must be done first, where the model wrote a plan. All of them stand,
    /// and none waits for this one.
    #[serde(default)]
    pub after: Vec<String>,
}

impl Call {
    /// The arguments as a value. Numbers beyond 64 bits are rounded here; the exact digits are in `arguments`.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.arguments).unwrap_or_default()
    }

    /// The arguments as JSON that is written out as it is, so that digits, order and escapes are the model's own.
    pub fn raw_arguments(&self) -> Option<&RawValue> {
        serde_json::from_str(&self.arguments).ok()
    }

    /// The arguments with sorted keys and no white space: what an approval is for.
    pub fn canonical_arguments(&self) -> String {
        canonical(&self.arguments)
    }
}

/// A rejected attempt: nothing of it may run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "WrittenRejected")]
#[non_exhaustive]
pub struct Rejected {
    /// The number of the attempt in this response.
    pub attempt: usize,
    /// The model's id, where it gave one.
    pub id: Option<String>,
    /// The name as the model wrote it, where it was read.
    pub name: Option<String>,
    /// The text of the attempt, cut after the policy's limit; `raw_len` is its whole length.
    pub raw: String,
    /// The length of the whole text in bytes.
    pub raw_len: usize,
    /// The dialect it was written in.
    pub dialect: Arc<str>,
    /// The frame in the input; absent for structured provider calls.
    pub span: Option<Span>,
    /// Why, all at once, the first being the deciding one.
    pub findings: Vec<Finding>,
}

/// What the model itself reported as an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelError {
    /// The code it gave, `unspecified` without one.
    pub code: String,
    /// What it said.
    pub message: String,
    /// The object in the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

impl ModelError {
    /// The code of an error for which the model gave none.
    pub const UNSPECIFIED: &'static str = "unspecified";
}

/// One change made to fit a value to its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Coercion {
    /// Which change.
    pub code: CoercionCode,
    /// Where in the arguments, as a JSON pointer.
    pub path: String,
    /// The value as it was, as JSON.
    pub from: String,
    /// The value as it is now, as JSON; empty where it was dropped.
    pub to: String,
}

/// The closed list of coercions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CoercionCode {
    /// `"3"` for an integer or number.
    StringToNumber,
    /// `"true"` for a boolean.
    StringToBoolean,
    /// `"null"` for null.
    StringToNull,
    /// A string that is an array or object in JSON.
    StringToStructure,
    /// A list in an object that is only a wrapper around it: `{"item": […]}`.
    UnwrappedList,
    /// A member of an enumeration with quotes inside the string.
    QuotedMember,
    /// A number for a string, with its digits as written.
    NumberToString,
    /// A text that reads as null, a boolean or a number, and that the schema accepts as text alone.
    ReadAsText,
    /// An argument that the schema does not have, dropped because the policy says so.
    DroppedArgument,
}

impl fmt::Display for CoercionCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CoercionCode::StringToNumber => "string-to-number",
            CoercionCode::StringToBoolean => "string-to-boolean",
            CoercionCode::StringToNull => "string-to-null",
            CoercionCode::StringToStructure => "string-to-structure",
            CoercionCode::UnwrappedList => "unwrapped-list",
            CoercionCode::QuotedMember => "quoted-member",
            CoercionCode::NumberToString => "number-to-string",
            CoercionCode::ReadAsText => "read-as-text",
            CoercionCode::DroppedArgument => "dropped-argument",
        })
    }
}
