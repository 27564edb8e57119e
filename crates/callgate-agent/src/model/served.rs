//! Served: what a server says about an answer besides its content: which model, when, and how long it took.

use serde::Serialize;
use serde_json::{Map, Value};

use super::json::Json;

/// What a server says about an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Served {
    /// The server's id of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When, as the server writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// How long its parts took, by the server's own names and in its own units.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub times: Map<String, Value>,
}

impl Served {
    /// Notes what one value of an answer says; what was said first stays.
    pub(super) fn note(&mut self, value: &Json<'_>) {
        let text = |key: &str| match &value[key] {
            Json::String(text) => Some(text.to_string()),
            Json::Number(number) => Some(number.to_string()),
            _ => None,
        };
        self.id = self.id.take().or_else(|| text("id"));
        self.model = self.model.take().or_else(|| text("model"));
        self.created = self.created.take().or_else(|| text("created_at").or_else(|| text("created")));
        let durations = value.members().iter().filter(|(key, _)| key.ends_with("_duration"));
        for (key, value) in durations.chain(value["timings"].members()) {
            if let Json::Number(number) = value {
                self.times.insert(key.to_string(), Value::Number(number.clone()));
            }
        }
    }

    /// Whether the server said nothing.
    pub fn is_empty(&self) -> bool {
        *self == Served::default()
    }
}
