//! Forms: where the entries of a tool list stand, and where an entry has its schema.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::{RegistryError, RegistryErrorCode};

/// What the different tool lists call the schema of the arguments.
const SCHEMAS: &[&str] = &[
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
    "args_schema",
];

/// What some call the schema of the arguments that nobody else does.
const WORDS: &[&str] = &["arguments", "args", "params", "schema", "input", "inputs", "properties"];

/// The keywords that make an object a schema of an object: they constrain it.
const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "minProperties",
    "maxProperties",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "enum",
    "const",
];

/// The keywords that say something about a schema, and constrain nothing.
const ABOUT: &[&str] = &[
    "definitions",
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "nullable",
    "strict",
    "format",
];

/// What a list or an answer of a server may have around its tools.
const AROUND: &[&str] = &["tools", "toolConfig", "tool_config", "result", "functions"];

/// What an entry may have around tools of its own.
const GROUPS: &[&str] = &["functionDeclarations", "function_declarations"];

/// Keywords with one subschema, which look like a property.
const APPLIED: &[&str] = &[
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The entries of a tool list.
pub(super) fn entries(list: &Value) -> Result<Vec<&Value>, RegistryError> {
    let mut list = list;
    while let Value::Object(fields) = list
        && let Some(inner) = AROUND.iter().find_map(|around| fields.get(*around))
    {
        list = inner;
    }
    let entries = match list {
        Value::Array(entries) => entries.iter().collect(),
        // One group by itself.
        Value::Object(fields) if GROUPS.iter().any(|group| fields.contains_key(*group)) => vec![list],
        _ => {
            return Err(RegistryError::new(
                RegistryErrorCode::BadShape,
                "a tool list must be an array of tools, or an object with the array `tools`",
            ));
        }
    };
    let mut found = Vec::with_capacity(entries.len());
    for entry in entries {
        match GROUPS.iter().find_map(|group| entry.get(*group)).and_then(Value::as_array) {
            Some(group) => found.extend(group),
            None => found.push(entry),
        }
    }
    Ok(found)
}

/// Where the fields of a tool stand in its entry, and these.
pub(super) fn fields(
    outer: &Map<String, Value>,
) -> Result<(&'static str, &Map<String, Value>), RegistryError> {
    for (key, at) in [("function", "/function"), ("toolSpec", "/toolSpec")] {
        match outer.get(key) {
            Some(Value::Object(inner)) => return Ok((at, inner)),
            Some(_) => {
                let message = format!("`{key}` must be an object");
                return Err(RegistryError::new(RegistryErrorCode::BadShape, message).at(at));
            }
            None => {}
        }
    }
    Ok(("", outer))
}

/// The schema of the arguments, and what is doubtful about it.
pub(super) fn schema(fields: &Map<String, Value>) -> (Value, Option<Cow<'static, str>>) {
    let given = |field: &'static str| Some((field, fields.get(field).filter(|schema| !schema.is_null())?));
    let mut all = SCHEMAS.iter().filter_map(|field| given(field));
    let Some((field, schema)) = all.next() else { return unnamed(fields) };
    if let Some((other, _)) = all.find(|(_, other)| *other != schema) {
        let doubt = format!("it has `{field}` and `{other}`, which differ; `{field}` is read");
        return (schema.clone(), Some(doubt.into()));
    }
    // Some services wrap it once more.
    let schema = match schema.as_object() {
        Some(wrapper) if wrapper.len() == 1 => wrapper.get("json").unwrap_or(schema),
        _ => schema,
    };
    if is_properties(schema) || is_bare(schema) {
        let doubt = "its parameters have no `properties`; they are read as the properties themselves";
        return (json!({"type": "object", "properties": schema}), Some(doubt.into()));
    }
    (schema.clone(), None)
}

/// A schema under a word that nobody uses, or none.
fn unnamed(fields: &Map<String, Value>) -> (Value, Option<Cow<'static, str>>) {
    let has_properties =
        |(_, value): &(&String, &Value)| value.get("properties").is_some_and(Value::is_object);
    if let Some((field, schema)) = fields.iter().find(has_properties) {
        let doubt = format!("it has no `parameters`; `{field}` is read as its schema");
        return (schema.clone(), Some(doubt.into()));
    }
    let is_said = |value: &Value| match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let said = WORDS.iter().find_map(|word| Some((word, fields.get(*word).filter(|value| is_said(value))?)));
    match said {
        Some((field, schema)) if is_properties(schema) || is_bare(schema) => {
            let doubt = format!("it has no `parameters`; `{field}` is read as their properties");
            (json!({"type": "object", "properties": schema}), Some(doubt.into()))
        }
        Some((field, schema)) => {
            let doubt = format!("it has no `parameters`; `{field}` is read as its schema");
            (schema.clone(), Some(doubt.into()))
        }
        None => (json!({"type": "object", "properties": {}}), None),
    }
}

/// Whether this is an object where a schema should be that no keyword constrains, so that it would let everything through.
fn is_bare(schema: &Value) -> bool {
    let is_told =
        |key: &String| ABOUT.contains(&key.as_str()) || key.starts_with(['$', '_']) || key.starts_with("x-");
    schema.as_object().is_some_and(|members| {
        !members.keys().any(|key| KEYWORDS.contains(&key.as_str())) && !members.keys().all(is_told)
    })
}

/// Whether this is a map of properties where a schema should be.
fn is_properties(schema: &Value) -> bool {
    let is_property = |(key, value): (&String, &Value)| {
        value.get("type").is_some_and(|name| name.is_string() || name.is_array())
            && !APPLIED.contains(&key.as_str())
    };
    schema.as_object().is_some_and(|members| !members.is_empty() && members.iter().all(is_property))
}
