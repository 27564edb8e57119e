//! JSON of an answer, read without copying: there is a value for every token.

use std::borrow::Cow;
use std::fmt;
use std::ops::Index;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// The keys under which answers hold what counts: of two such members nobody can say which is meant.
const ANSWERING: &[&str] = &[
    "choices",
    "message",
    "messages",
    "delta",
    "content",
    "text",
    "response",
    "output",
    "tool_calls",
    "function_call",
    "function",
    "id",
    "index",
    "name",
    "arguments",
    "input",
    "finish_reason",
    "stop_reason",
];

/// A JSON value that borrows its text. Of members with one key the last counts.
#[derive(Debug)]
pub(super) enum Json<'t> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'t, str>),
    Array(Vec<Json<'t>>),
    Object(Vec<(Cow<'t, str>, Json<'t>)>),
}

impl<'t> Json<'t> {
    /// A member of an object.
    pub(super) fn get(&self, key: &str) -> Option<&Json<'t>> {
        let Json::Object(members) = self else { return None };
        members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value at a JSON pointer without escapes.
    pub(super) fn pointer(&self, pointer: &str) -> Option<&Json<'t>> {
        pointer.split('/').skip(1).try_fold(self, |value, step| match value {
            Json::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => value.get(step),
        })
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_u64(&self) -> Option<u64> {
        match self {
            Json::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// The items of a list; none of anything else.
    pub(super) fn items(&self) -> &[Json<'t>] {
        match self {
            Json::Array(items) => items,
            _ => &[],
        }
    }

    /// The members of an object; none of anything else.
    pub(super) fn members(&self) -> &[(Cow<'t, str>, Json<'t>)] {
        match self {
            Json::Object(members) => members,
            _ => &[],
        }
    }

    /// A key that stands twice in one object, among those that say what an answer is. What stands under one of the
    /// `opaque` keys is not looked at.
    pub(super) fn repeated(&self, opaque: &[&str]) -> Option<&str> {
        let mut open = vec![self];
        while let Some(value) = open.pop() {
            match value {
                Json::Array(items) => open.extend(items),
                Json::Object(members) => {
                    for (place, (key, inside)) in members.iter().enumerate() {
                        let is_known = ANSWERING.contains(&&**key);
                        if is_known && members[..place].iter().any(|(before, _)| before == key) {
                            return Some(key);
                        }
                        let is_nested = matches!(inside, Json::Array(_) | Json::Object(_));
                        if is_nested && !opaque.contains(&&**key) {
                            open.push(inside);
                        }
                    }
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self, Json::Object(_))
    }
}

impl<'t> Index<&str> for Json<'t> {
    type Output = Json<'t>;

    /// The member of an object; null where there is none.
    fn index(&self, key: &str) -> &Json<'t> {
        self.get(key).unwrap_or(&Json::Null)
    }
}

impl PartialEq<str> for Json<'_> {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == Some(text)
    }
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        // What servers send with a token fits, and is not moved while it grows.
        let mut members = Vec::with_capacity(8);
        while let Some((Key(key), value)) = map.next_entry()? {
            members.push((key, value));
        }
        Ok(Json::Object(members))
    }
}

/// A key, which borrows its text where that has no escapes.
#[derive(serde::Deserialize)]
struct Key<'t>(#[serde(borrow)] Cow<'t, str>);
