//! Dialects: how models write calls, as data that is asked for by name, by model and by what was written.

use callgate::internal::detect::Detector;
use callgate::{Record, Registry, RenderCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use wasm_bindgen::prelude::*;

use crate::errors::Told;
use crate::wire;

/// A dialect by name, with the file that has it if it is not built in.
#[derive(Clone, Deserialize, serde::Serialize)]
pub(crate) struct Named {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) source: Option<String>,
}

impl Named {
    pub(crate) fn record(&self) -> Result<Record, Told> {
        let record = match &self.source {
            None => Record::named(&self.name).cloned(),
            Some(toml) => Record::parse(toml)?.into_iter().find(|record| *record.name == *self.name),
        };
        record.ok_or_else(|| {
            let names = Record::builtin().iter().map(|record| &*record.name);
            let help = match callgate::internal::nearest(&self.name, names).as_slice() {
                [] => "callgate's `dialects` has them all".to_owned(),
                near => format!("did you mean {}?", near.join(", ")),
            };
            Told::new("unknown-dialect", format!("there is no dialect `{}`", self.name), help)
        })
    }
}

/// A call that is to be written.
#[derive(Deserialize)]
struct Written<'a> {
    id: Option<String>,
    name: String,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

/// Writes calls, given as JSON.
pub(crate) fn render_calls(
    record: &Record,
    calls: &str,
    text: Option<&str>,
    reasoning: Option<&str>,
) -> Result<String, Told> {
    let written: Vec<Written<'_>> =
        serde_json::from_str(calls).map_err(|error| Told::not_json("list of calls", &error))?;
    for call in &written {
        if serde_json::from_str::<Map<String, Value>>(call.arguments.get()).is_err() {
            let message = format!("the arguments of `{}` are no JSON object", call.name);
            return Err(Told::new("bad-arguments", message, "give an object, or its JSON text"));
        }
    }
    let calls: Vec<RenderCall<'_>> = written
        .iter()
        .map(|call| RenderCall { id: call.id.as_deref(), name: &call.name, arguments: call.arguments.get() })
        .collect();
    record.render(&calls, text, reasoning).map_err(|error| Told::unrepresentable(&record.name, &error))
}

fn described(record: &Record) -> Value {
    let keys: Map<String, Value> =
        record.keys().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    json!({
        "name": &*record.name,
        "family": record.family.to_string(),
        "models": record.models,
        "documentation": record.source,
        "notes": record.notes,
        "auto": record.auto,
        "markers": record.markers().collect::<Vec<_>>(),
        "keys": keys,
    })
}

/// The names of the built-in dialects, in order of rank, as JSON.
#[wasm_bindgen]
pub fn dialect_names() -> String {
    wire::text(&Record::builtin().iter().map(|record| &*record.name).collect::<Vec<_>>())
}

/// The built-in dialect of this name, as JSON.
#[wasm_bindgen]
pub fn dialect_named(name: &str) -> Option<String> {
    Record::named(name).map(|record| described(record).to_string())
}

/// The name of the built-in dialect that a model writes.
#[wasm_bindgen]
pub fn dialect_for_model(model: &str) -> Option<String> {
    Record::for_model(model).map(|record| record.name.to_string())
}

/// The dialects of a file's text, as JSON.
#[wasm_bindgen]
pub fn dialects_of(toml: &str) -> Result<String, JsValue> {
    let records = Record::parse(toml).map_err(|error| Told::from(error).thrown())?;
    Ok(Value::from(records.iter().map(described).collect::<Vec<_>>()).to_string())
}

/// Writes calls in a dialect.
#[wasm_bindgen]
pub fn render(
    dialect: &str,
    calls: &str,
    text: Option<String>,
    reasoning: Option<String>,
) -> Result<String, JsValue> {
    let written = || {
        let named: Named =
            serde_json::from_str(dialect).map_err(|error| Told::not_json("dialect", &error))?;
        render_calls(&named.record()?, calls, text.as_deref(), reasoning.as_deref())
    };
    written().map_err(Told::thrown)
}

/// The names of the dialects that read calls in a text, the best first, as JSON.
#[wasm_bindgen]
pub fn detect(text: &str, tools: Option<String>) -> Result<String, JsValue> {
    let tools = tools.map(|tools| Registry::tolerant_json(&tools)).transpose();
    let tools = tools.map_err(|error| Told::from(error).thrown())?;
    let found = Detector::new(tools).detect(text);
    Ok(wire::text(&found.into_iter().map(|candidate| candidate.dialect).collect::<Vec<_>>()))
}
