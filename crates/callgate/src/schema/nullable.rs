//! Nullable: `nullable: true`, as OpenAPI says it, in the words of JSON Schema.

use serde_json::{Map, Value, json};

/// The keywords whose members are subschemas by name.
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The keywords whose values are data.
const DATA: &[&str] = &["enum", "const", "default", "examples"];

/// Lets every subschema that says `nullable: true` allow null.
pub(super) fn spell_out(schema: &mut Value) {
    let mut open: Vec<(&mut Value, bool)> = vec![(schema, false)];
    while let Some((value, is_named)) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items.iter_mut().map(|item| (item, false))),
            Value::Object(members) => {
                if !is_named && members.get("nullable") == Some(&Value::Bool(true)) {
                    allow_null(members);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nullable_means_that_null_is_allowed() {
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
        ] {
            let mut schema = said.clone();
            spell_out(&mut schema);
            assert_eq!(schema, meant, "{said}");
        }
    }
}
