//! Tolerant loading: tool lists as people write them. What a schema cannot mean is left unconstrained, and each such mercy
//! is a note.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Registry, RegistryError, RegistryErrorCode, Tool, forms, parse, repeated_key};
use crate::json::escape_pointer;
use crate::schema::CompiledTool;

/// The most mercies for one tool; after them its arguments are not constrained at all.
const MERCIES: usize = 32;

/// The most notes that are kept.
const NOTES: usize = 256;

/// What other languages call the types of JSON Schema, in lower case. Nothing stands for any type.
const TYPES: &[(&str, Option<&str>)] = &[
    ("string", Some("string")),
    ("str", Some("string")),
    ("text", Some("string")),
    ("integer", Some("integer")),
    ("int", Some("integer")),
    ("int32", Some("integer")),
    ("int64", Some("integer")),
    ("long", Some("integer")),
    ("uint", Some("integer")),
    ("number", Some("number")),
    ("float", Some("number")),
    ("double", Some("number")),
    ("decimal", Some("number")),
    ("boolean", Some("boolean")),
    ("bool", Some("boolean")),
    ("array", Some("array")),
    ("list", Some("array")),
    ("tuple", Some("array")),
    ("set", Some("array")),
    ("object", Some("object")),
    ("dict", Some("object")),
    ("map", Some("object")),
    ("null", Some("null")),
    ("none", Some("null")),
    ("any", None),
];

/// The keywords whose members are subschemas by name.
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The keywords whose values are data.
const DATA: &[&str] = &["enum", "const", "default", "examples", "required", "dependentRequired"];

impl Registry {
    /// The tools of a list as [`Registry::from_value`] reads it, but with mercy: types may have the names that other
    /// languages give them, and a part of a schema that cannot be used (an unknown type, a reference to nothing or to
    /// somewhere else, a pattern that cannot run in linear time) does not constrain. An entry that is no tool is left out.
    /// What was forgiven is in [`Registry::notes`]. A name that stands twice is an error here too.
    pub fn tolerant(list: &Value) -> Result<Self, RegistryError> {
        let mut registry = Registry::new();
        let mut notes = Vec::new();
        for (index, entry) in forms::entries(list)?.into_iter().enumerate() {
            let (tool, doubt) = match Tool::read(entry) {
                Ok(read) => read,
                Err(mut error) => {
                    error.index = Some(index);
                    notes.push(format!("{error} The tool is left out."));
                    continue;
                }
            };
            if let Some(place) = registry.shared.places.get(&tool.name) {
                let message = format!("the name is taken by tool {place}");
                let mut error = RegistryError::new(RegistryErrorCode::NameTaken, message).named(&tool.name);
                error.index = Some(index);
                return Err(error);
            }
            let name = tool.name.escape_debug().to_string();
            let note = |what: String| format!("tool {index} `{name}`: {what}");
            notes.extend(doubt.map(|doubt| note(doubt.into_owned())));
            registry.shelve(with_mercy(tool, &mut |what| notes.push(note(what)))?);
        }
        notes.truncate(NOTES);
        Arc::make_mut(&mut registry.shared).notes = notes;
        Ok(registry)
    }

    /// The same for a list in JSON text.
    pub fn tolerant_json(text: &str) -> Result<Self, RegistryError> {
        let mut registry = Registry::tolerant(&parse(text)?)?;
        if let Some(error) = repeated_key(text) {
            let note = format!("{} at {}; the last one counts", error.message, error.pointer);
            Arc::make_mut(&mut registry.shared).notes.insert(0, note);
        }
        Ok(registry)
    }

    /// What was forgiven when the tools were loaded, each in one sentence.
    pub fn notes(&self) -> &[String] {
        &self.shared.notes
    }
}

/// What JSON Schema calls a type that has this name elsewhere.
pub(crate) fn meant_type(name: &str) -> Option<&'static str> {
    let row = TYPES.iter().find(|(other, _)| name.trim().eq_ignore_ascii_case(other));
    row.and_then(|(_, meant)| *meant)
}

/// Compiles a tool, and forgives what stands in the way.
fn with_mercy(mut tool: Tool, note: &mut dyn FnMut(String)) -> Result<CompiledTool, RegistryError> {
    if !tool.parameters.is_object() {
        note("its parameters are no schema, so any arguments are allowed".to_owned());
        tool.parameters = anything();
    }
    translate(&mut tool.parameters, note);
    for _ in 0..MERCIES {
        let error = match CompiledTool::compile(tool.clone()) {
            Ok(compiled) => return Ok(compiled),
            Err(error) => error,
        };
        if !loosen(&mut tool.parameters, &error.pointer) {
            break;
        }
        note(format!("{} at {}; it does not constrain", error.message, error.pointer));
    }
    note("its schema cannot be used, so any arguments are allowed".to_owned());
    tool.parameters = anything();
    let name = tool.name.clone();
    CompiledTool::compile(tool).map_err(|error| error.named(&name))
}

fn anything() -> Value {
    json!({"type": "object"})
}

/// Gives the types of a schema their names in JSON Schema.
fn translate(schema: &mut Value, note: &mut dyn FnMut(String)) {
    // A subschema, or a list or an object of them, each with where it stands.
    let mut open: Vec<(String, &mut Value, bool)> = vec![(String::new(), schema, false)];
    while let Some((pointer, value, is_named)) = open.pop() {
        match value {
            Value::Array(items) => {
                let items = items.iter_mut().enumerate();
                open.extend(items.map(|(place, item)| (format!("{pointer}/{place}"), item, false)));
            }
            Value::Object(members) => {
                if !is_named {
                    translate_type(members, &pointer, note);
                }
                if is_named && pointer.ends_with("/properties") {
                    name_types(members, &pointer, note);
                }
                for (key, member) in members.iter_mut() {
                    let is_data = !is_named && (DATA.contains(&key.as_str()) || key == "type");
                    if !is_data {
                        let pointer = format!("{pointer}/{}", escape_pointer(key));
                        open.push((pointer, member, !is_named && NAMED.contains(&key.as_str())));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Properties of which only the type is written.
fn name_types(properties: &mut Map<String, Value>, pointer: &str, note: &mut dyn FnMut(String)) {
    for (key, property) in properties.iter_mut().filter(|(_, property)| !property.is_object()) {
        let is_type = |said: &str| TYPES.iter().any(|(name, _)| said.trim().eq_ignore_ascii_case(name));
        match property.as_str().filter(|said| is_type(said)) {
            Some(said) => {
                note(format!("`{said}` at {pointer}/{} is read as its type", escape_pointer(key)));
                *property = json!({"type": property.take()});
            }
            None if property.is_boolean() => {}
            None => {
                note(format!("{property} at {pointer}/{} does not constrain", escape_pointer(key)));
                *property = json!({});
            }
        }
    }
}

fn translate_type(schema: &mut Map<String, Value>, pointer: &str, note: &mut dyn FnMut(String)) {
    let Some(said) = schema.get("type").cloned() else { return };
    let names: Vec<&str> = match &said {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut types: Vec<Value> = Vec::new();
    let mut is_any = names.is_empty();
    for name in &names {
        let row = TYPES.iter().find(|(other, _)| name.trim().eq_ignore_ascii_case(other));
        match row.and_then(|(_, meant)| *meant) {
            Some(meant) => types.extend(Some(Value::from(meant)).filter(|meant| !types.contains(meant))),
            None => is_any = true,
        }
        if name.eq_ignore_ascii_case("uint") && schema.get("minimum").is_none() {
            schema.insert("minimum".to_owned(), Value::from(0));
        }
    }
    let read = match (is_any, types.len()) {
        (true, _) => None,
        (false, 1) => types.pop(),
        (false, _) => Some(Value::Array(types)),
    };
    if read.as_ref() == Some(&said) {
        return;
    }
    match read {
        Some(read) => {
            note(format!("the type {said} at {pointer}/type is read as {read}"));
            schema.insert("type".to_owned(), read);
        }
        None => {
            note(format!("the type {said} at {pointer}/type does not constrain"));
            schema.remove("type");
        }
    }
}

/// A subschema that says nothing lets everything through, but not where it excludes: under `not` and `if` it goes with
/// its keyword, which is nothing more to take out; of `oneOf`, `anyOf` is left. Where the subschema stands then.
fn without_exclusion(schema: &mut Value, pointer: &str) -> Option<String> {
    let mut place = String::new();
    let mut is_named = false;
    for step in pointer.split('/').skip(1) {
        let mut step = step;
        if let Some(Value::Object(members)) = schema.pointer_mut(&place).filter(|_| !is_named) {
            match step {
                "not" | "if" => {
                    members.remove(step)?;
                    return None;
                }
                "oneOf" if !members.contains_key("anyOf") => {
                    let branches = members.remove(step).unwrap_or_default();
                    members.insert("anyOf".to_owned(), branches);
                    step = "anyOf";
                }
                _ => {}
            }
        }
        is_named = !is_named && NAMED.contains(&step);
        place.push('/');
        place.push_str(step);
    }
    Some(place)
}

/// Takes what stands at a pointer out of a schema. False if there is nothing that could be taken out.
fn loosen(schema: &mut Value, pointer: &str) -> bool {
    let mut pointer = &*match without_exclusion(schema, pointer) {
        Some(pointer) => pointer,
        None => return true,
    };
    while let Some((parent, last)) = pointer.rsplit_once('/') {
        if let Some(Value::Object(members)) = schema.pointer_mut(pointer)
            && !members.is_empty()
        {
            members.clear();
            return true;
        }
        let last = last.replace("~1", "/").replace("~0", "~");
        match schema.pointer_mut(parent) {
            Some(Value::Object(members)) => return members.remove(&last).is_some(),
            // A list without one of its members would say something else.
            Some(Value::Array(_)) => pointer = parent,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strict_list_says_what_a_type_is_called_and_that_a_key_stands_twice() {
        let list = |properties: &str| {
            format!(
                r#"[{{"name": "f", "parameters": {{"type": "object", "properties": {{{properties}}}}}}}]"#
            )
        };
        let said = |properties: &str| Registry::from_json(&list(properties)).unwrap_err().to_string();
        for kind in [r#""INTEGER""#, r#""INTEGER", "nullable": true"#, r#"["null", "int"]"#] {
            let said = said(&format!(r#""a": {{"type": {kind}}}"#));
            assert!(said.contains("`integer`") && said.contains("tolerant loading"), "{kind}: {said}");
        }
        let twice = r#""a": {"type": "integer"}, "a": {"type": "string"}"#;
        let strict = said(twice);
        assert!(
            strict.contains("`a` stands twice") && strict.contains("/0/parameters/properties/a"),
            "{strict}"
        );
        let tolerant = Registry::tolerant_json(&list(twice)).unwrap();
        assert!(tolerant.notes()[0].contains("`a` stands twice"), "{:?}", tolerant.notes());
    }
}
