//! Transforms: where a field's `transform` says that the name, the arguments and the id of a call are.

use serde_json::Value;

use super::ImportError;
use super::field::Field;

/// Where the parts of a call come from: each is a path that starts with a group of the opener, with `content`, or,
/// with `transform_each`, with a member of the element.
#[derive(Debug)]
pub(super) struct Transform {
    pub(super) name: Vec<String>,
    pub(super) arguments: Vec<String>,
    pub(super) id: Option<Vec<String>>,
}

impl Transform {
    /// Reads the transform of a field. There is none if the content is the call as it stands.
    pub(super) fn read(field: &Field<'_>) -> Result<Option<Transform>, ImportError> {
        let Some(written) = field.transform else { return Ok(None) };
        // A list of one call is a call: the form writes it where a field does not repeat.
        let written = match written.as_array().map(Vec::as_slice) {
            Some([call]) => call,
            Some(_) => return Err(reject(field, "it makes a list that is not one call", LIST)),
            None => written,
        };
        let function = written.get("function").unwrap_or(written);
        if function.as_str().is_some_and(|text| path(text).is_some_and(|path| path == ["content"])) {
            return Ok(None);
        }
        if !function.is_object() {
            return Err(reject(field, "it does not make a call", SHAPE));
        }
        let part = |key: &str| function.get(key).filter(|value| !value.is_null());
        let arguments = part("arguments").or_else(|| part("parameters"));
        let id = written.get("id").or_else(|| part("id")).filter(|value| !value.is_null());
        Ok(Some(Transform {
            name: required(field, "name", part("name"))?,
            arguments: required(field, "arguments", arguments)?,
            id: id.map(|id| required(field, "id", Some(id))).transpose()?,
        }))
    }
}

const LIST: &str = "Make one call of it, and use `transform_each` for a list.";
const SHAPE: &str =
    r#"Write {"type": "function", "function": {"name": "{…}", "arguments": "{…}"}}, or leave it out."#;

fn reject(field: &Field<'_>, message: &str, help: &str) -> ImportError {
    field.reject("transform", "transform", message, help)
}

/// The path of a part that is one placeholder.
fn required(field: &Field<'_>, part: &str, value: Option<&Value>) -> Result<Vec<String>, ImportError> {
    let Some(value) = value else {
        return Err(reject(field, &format!("it says no `{part}`"), SHAPE));
    };
    value.as_str().and_then(path).ok_or_else(|| {
        let message = format!("its `{part}` is not one placeholder");
        reject(field, &message, "Give the whole part as one placeholder, such as \"{content.name}\".")
    })
}

/// The path in a text that is one placeholder: `{a.b}`.
fn path(text: &str) -> Option<Vec<String>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let steps: Vec<String> = inner.split('.').map(str::to_owned).collect();
    let is_word = |step: &String| !step.is_empty() && step.chars().all(|c| c.is_alphanumeric() || c == '_');
    steps.iter().all(is_word).then_some(steps)
}
