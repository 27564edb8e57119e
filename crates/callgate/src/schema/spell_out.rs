//! Spelling out: what OpenAPI and older drafts of JSON Schema say, in the words of the newest draft, which judges.

use serde_json::{Map, Value, json};

/// The keywords whose members are subschemas by name.
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The keywords whose values are data.
const DATA: &[&str] = &["enum", "const", "default", "examples"];

/// Says in the words of the newest draft that null is allowed, that a bound is excluded, and what the first items of a list
/// are. A schema that names its draft is left to it, but for null, of which no draft knows.
pub(super) fn spell_out(schema: &mut Value) {
    let says_draft = schema.get("$schema").is_some();
    let mut open: Vec<(&mut Value, bool)> = vec![(schema, false)];
    while let Some((value, is_named)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter_mut().map(|item| (item, false))),
            Value::Object(members) => {
                if !is_named && members.get("nullable") == Some(&Value::Bool(true)) {
                    allow_null(members);
                }
                if !is_named && !says_draft {
                    exclude(members, "minimum", "exclusiveMinimum");
                    exclude(members, "maximum", "exclusiveMaximum");
                    begin_list(members);
                }
                for (key, member) in members.iter_mut() {
                    if is_named || !DATA.contains(&key.as_str()) {
                        open.push((member, !is_named && NAMED.contains(&key.as_str())));
                    }
                }
            }
            _ => {}
        }
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    schema.remove("nullable");
    let null = Value::from("null");
    match schema.get_mut("type") {
        Some(Value::Array(types)) if !types.contains(&null) => types.push(null),
        Some(name @ Value::String(_)) if *name != null => *name = Value::Array(vec![name.take(), null]),
        Some(_) => {}
        None => {
            let rest = Value::Object(std::mem::take(schema));
            schema.insert("anyOf".to_owned(), json!([rest, {"type": "null"}]));
            return;
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum")
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
}

/// A bound that an older draft excludes by a word beside it.
fn exclude(schema: &mut Map<String, Value>, bound: &str, exclusive: &str) {
    let Some(is_excluded) = schema.get(exclusive).and_then(Value::as_bool) else { return };
    let Some(limit) = schema.get(bound).filter(|limit| limit.is_number()).cloned() else { return };
    schema.remove(exclusive);
    if is_excluded {
        schema.remove(bound);
        schema.insert(exclusive.to_owned(), limit);
    }
}

/// The first items of a list, which older drafts give where newer ones say what the others are.
fn begin_list(schema: &mut Map<String, Value>) {
    if !schema.get("items").is_some_and(Value::is_array) || schema.contains_key("prefixItems") {
        return;
    }
    let first = schema.remove("items").unwrap_or_default();
    if first.as_array().is_some_and(|first| !first.is_empty()) {
        schema.insert("prefixItems".to_owned(), first);
    }
    if let Some(others) = schema.remove("additionalItems") {
        schema.insert("items".to_owned(), others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_draft_says_it_in_its_own_words() {
        for (said, meant) in [
            (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
            (json!({"type": ["string", "null"], "nullable": true}), json!({"type": ["string", "null"]})),
            (json!({"type": "string", "nullable": false}), json!({"type": "string", "nullable": false})),
            (
                json!({"type": "string", "enum": ["a"], "nullable": true}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                json!({"$ref": "#/$defs/a", "nullable": true}),
                json!({"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}),
            ),
            (
                json!({"properties": {"nullable": {"type": "integer", "nullable": true}}}),
                json!({"properties": {"nullable": {"type": ["integer", "null"]}}}),
            ),
            (
                json!({"default": {"type": "string", "nullable": true}}),
                json!({"default": {"type": "string", "nullable": true}}),
            ),
            (json!({"minimum": 0, "exclusiveMinimum": true}), json!({"exclusiveMinimum": 0})),
            (json!({"maximum": 1.5, "exclusiveMaximum": false}), json!({"maximum": 1.5})),
            (json!({"minimum": 0, "exclusiveMinimum": 3}), json!({"minimum": 0, "exclusiveMinimum": 3})),
            (json!({"exclusiveMinimum": true}), json!({"exclusiveMinimum": true})),
            (
                json!({"properties": {"minimum": {"minimum": 1, "exclusiveMinimum": true}}}),
                json!({"properties": {"minimum": {"exclusiveMinimum": 1}}}),
            ),
            (
                json!({"items": [{"type": "string"}], "additionalItems": false}),
                json!({"prefixItems": [{"type": "string"}], "items": false}),
            ),
            (json!({"items": []}), json!({})),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [true]}),
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [true]}),
            ),
        ] {
            let mut schema = said.clone();
            spell_out(&mut schema);
            assert_eq!(schema, meant, "{said}");
        }
    }
}
