//! Wire: events, calls and rejections as JSON, written and read back. Arguments stand in it as the model's own text.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::{self, Deserializer};
use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Call, Choice, Event, ModelError, Rejected};
use crate::finding::{Finding, Span};

impl Serialize for Call {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct(
            "Call",
            9 + usize::from(!self.after.is_empty()) + usize::from(!self.findings.is_empty()),
        )?;
        s.serialize_field("id", &self.id)?;
        s.serialize_field("name", &self.name)?;
        match self.raw_arguments() {
            Some(raw) => s.serialize_field("arguments", raw)?,
            None => s.serialize_field("arguments", &self.value())?,
        }
        s.serialize_field("checked", &self.checked)?;
        s.serialize_field("dialect", &*self.dialect)?;
        s.serialize_field("span", &self.span)?;
        s.serialize_field("repairs", &self.repairs)?;
        s.serialize_field("coercions", &self.coercions)?;
        if self.findings.is_empty() {
            s.skip_field("findings")?;
        } else {
            s.serialize_field("findings", &self.findings)?;
        }
        if self.after.is_empty() {
            s.skip_field("after")?;
        } else {
            s.serialize_field("after", &self.after)?;
        }
        s.serialize_field("attempt", &self.attempt)?;
        s.end()
    }
}

impl Serialize for Rejected {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct(
            "Rejected",
            6 + usize::from(self.raw_len > self.raw.len()) + usize::from(self.id.is_some()),
        )?;
        match &self.id {
            Some(id) => s.serialize_field("id", id)?,
            None => s.skip_field("id")?,
        }
        s.serialize_field("name", &self.name)?;
        s.serialize_field("raw", &self.raw)?;
        if self.raw_len > self.raw.len() {
            s.serialize_field("raw_len", &self.raw_len)?;
        } else {
            s.skip_field("raw_len")?;
        }
        s.serialize_field("dialect", &*self.dialect)?;
        s.serialize_field("span", &self.span)?;
        s.serialize_field("findings", &self.findings)?;
        s.serialize_field("attempt", &self.attempt)?;
        s.end()
    }
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("Event", 4)?;
        match self {
            Event::Text { text, span } => {
                s.serialize_field("event", "text")?;
                s.serialize_field("text", text)?;
                s.serialize_field("span", span)?;
            }
            Event::Reasoning { text, span } => {
                s.serialize_field("event", "reasoning")?;
                s.serialize_field("text", text)?;
                s.serialize_field("span", span)?;
            }
            Event::Markup { span } => {
                s.serialize_field("event", "markup")?;
                s.serialize_field("span", span)?;
            }
            Event::CallStarted { attempt, name, dialect, choice } => {
                s.serialize_field("event", "call_started")?;
                s.serialize_field("attempt", attempt)?;
                s.serialize_field("name", name)?;
                s.serialize_field("dialect", &**dialect)?;
                match choice {
                    Choice::Named => s.serialize_field("chosen_by", "name")?,
                    Choice::Provider => s.serialize_field("chosen_by", "provider")?,
                    Choice::Marker(marker) => {
                        s.serialize_field("chosen_by", "marker")?;
                        s.serialize_field("marker", &**marker)?;
                    }
                }
            }
            Event::ArgumentsDelta { attempt, delta } => {
                s.serialize_field("event", "arguments_delta")?;
                s.serialize_field("attempt", attempt)?;
                s.serialize_field("delta", delta)?;
            }
            Event::Call(call) => {
                s.serialize_field("event", "call")?;
                s.serialize_field("attempt", &call.attempt)?;
                s.serialize_field("call", call)?;
            }
            Event::Rejected(rejected) => {
                s.serialize_field("event", "rejected")?;
                s.serialize_field("attempt", &rejected.attempt)?;
                s.serialize_field("rejected", rejected)?;
            }
            Event::ModelError(error) => {
                s.serialize_field("event", "model_error")?;
                s.serialize_field("error", error)?;
            }
            Event::Finding(finding) => {
                s.serialize_field("event", "finding")?;
                s.serialize_field("finding", finding)?;
            }
        }
        s.end()
    }
}

impl<'de> Deserialize<'de> for Event<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fields::deserialize(deserializer)?.into_event()
    }
}

/// The members that any event has. An enum with a tag would do, but `serde` reads such a one through a buffer in which
/// the text of arguments is lost.
#[derive(Deserialize)]
struct Fields {
    event: String,
    text: Option<String>,
    span: Option<Span>,
    attempt: Option<usize>,
    name: Option<String>,
    dialect: Option<String>,
    chosen_by: Option<String>,
    marker: Option<String>,
    delta: Option<String>,
    call: Option<Box<Call>>,
    rejected: Option<Box<Rejected>>,
    error: Option<ModelError>,
    finding: Option<Finding>,
}

impl Fields {
    fn into_event<E: de::Error>(self) -> Result<Event<'static>, E> {
        fn need<T, E: de::Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
            value.ok_or_else(|| E::missing_field(name))
        }
        Ok(match self.event.as_str() {
            "text" => {
                Event::Text { text: Cow::Owned(need(self.text, "text")?), span: need(self.span, "span")? }
            }
            "reasoning" => Event::Reasoning {
                text: Cow::Owned(need(self.text, "text")?),
                span: need(self.span, "span")?,
            },
            "markup" => Event::Markup { span: need(self.span, "span")? },
            "call_started" => Event::CallStarted {
                attempt: need(self.attempt, "attempt")?,
                name: Cow::Owned(need(self.name, "name")?),
                dialect: need(self.dialect, "dialect")?.into(),
                choice: match need(self.chosen_by, "chosen_by")?.as_str() {
                    "name" => Choice::Named,
                    "provider" => Choice::Provider,
                    "marker" => Choice::Marker(need(self.marker, "marker")?.into()),
                    other => return Err(E::unknown_variant(other, &["name", "provider", "marker"])),
                },
            },
            "arguments_delta" => Event::ArgumentsDelta {
                attempt: need(self.attempt, "attempt")?,
                delta: Cow::Owned(need(self.delta, "delta")?),
            },
            "call" => Event::Call(need(self.call, "call")?),
            "rejected" => Event::Rejected(need(self.rejected, "rejected")?),
            "model_error" => Event::ModelError(need(self.error, "error")?),
            "finding" => Event::Finding(need(self.finding, "finding")?),
            other => return Err(E::unknown_variant(other, EVENTS)),
        })
    }
}

const EVENTS: &[&str] = &[
    "text",
    "reasoning",
    "markup",
    "call_started",
    "arguments_delta",
    "call",
    "rejected",
    "model_error",
    "finding",
];

/// A rejection as it is written: the length of a text that stands there whole is left out.
#[derive(Deserialize)]
pub(super) struct WrittenRejected {
    #[serde(default)]
    attempt: usize,
    id: Option<String>,
    name: Option<String>,
    raw: String,
    raw_len: Option<usize>,
    dialect: String,
    span: Option<Span>,
    findings: Vec<Finding>,
}

impl From<WrittenRejected> for Rejected {
    fn from(written: WrittenRejected) -> Self {
        Rejected {
            attempt: written.attempt,
            id: written.id,
            name: written.name,
            raw_len: written.raw_len.unwrap_or(written.raw.len()),
            raw: written.raw,
            dialect: written.dialect.into(),
            span: written.span,
            findings: written.findings,
        }
    }
}

/// The text of a value, as it stands in the JSON.
pub(super) fn raw_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(|raw| raw.get().to_owned())
}

pub(super) fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Arc::from)
}
