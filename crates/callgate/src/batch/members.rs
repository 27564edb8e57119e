//! The members of a line: a map would keep the last of two that have one key, and say nothing.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// What a line is.
pub(super) enum LineMembers {
    /// An object in which each key stands once.
    Once(Map<String, Value>),
    /// An object in which this key stands twice.
    Repeated(String),
    /// Another value.
    Other,
}

impl<'de> Deserialize<'de> for LineMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LineVisitor)
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = LineMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LineMembers, A::Error> {
        let mut members = Map::new();
        let mut repeated = None;
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            if repeated.is_none() && members.contains_key(&key) {
                repeated = Some(key.clone());
            }
            members.insert(key, value);
        }
        Ok(repeated.map_or(LineMembers::Once(members), LineMembers::Repeated))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<LineMembers, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LineMembers::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<LineMembers, E> {
        Ok(LineMembers::Other)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<LineMembers, E> {
        Ok(LineMembers::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<LineMembers, E> {
        Ok(LineMembers::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<LineMembers, E> {
        Ok(LineMembers::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<LineMembers, E> {
        Ok(LineMembers::Other)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<LineMembers, E> {
        Ok(LineMembers::Other)
    }
}

/// A knob that stands twice in the `policy` of a line, under whatever name: a member of an object in it is called by both.
pub(super) fn repeated_knob(policy: &str) -> Option<String> {
    let Ok(Names(mut names)) = serde_json::from_str(policy) else { return None };
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
}

/// The dotted names of all that stands in a value.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some((key, Names(inner))) = map.next_entry::<String, Names>()? {
            match inner.is_empty() {
                true => names.push(key),
                false => names.extend(inner.into_iter().map(|name| format!("{key}.{name}"))),
            }
        }
        Ok(Names(names))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Names(Vec::new()))
    }

    fn visit_unit<E: Error>(self) -> Result<Names, E> {
        Ok(Names(Vec::new()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Names, E> {
        Ok(Names(Vec::new()))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Names, E> {
        Ok(Names(Vec::new()))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Names, E> {
        Ok(Names(Vec::new()))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Names, E> {
        Ok(Names(Vec::new()))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Names, E> {
        Ok(Names(Vec::new()))
    }
}
