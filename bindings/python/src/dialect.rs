//! Dialects: how models write calls, as objects that read, write and teach.

use callgate::internal::detect::Detector;
use callgate::{Record, RenderCall};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::call::Call;
use crate::errors::{self, Problem, optional_text, text, wrong_type};
use crate::event::Event;
use crate::json;
use crate::pickle::{Reduced, reduced};

/// One dialect: how a model writes calls, text and reasoning, built in or read from a file.
#[pyclass(frozen, module = "callgate.types")]
pub(crate) struct Dialect {
    pub(crate) record: Record,
    /// The file it was read from, if it is not built in.
    pub(crate) source: Option<String>,
}

#[pymethods]
impl Dialect {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("name",)
    }

    /// The id of the dialect.
    #[getter]
    fn name(&self) -> &str {
        &self.record.name
    }

    /// The structural family, a letter from A to I; `-` if the dialect does not say.
    #[getter]
    fn family(&self) -> String {
        self.record.family.to_string()
    }

    /// Patterns for model names.
    #[getter]
    fn models(&self) -> Vec<String> {
        self.record.models.clone()
    }

    /// Where the format is documented.
    #[getter]
    fn documentation(&self) -> &str {
        &self.record.source
    }

    /// Deviations worth knowing.
    #[getter]
    fn notes(&self) -> &str {
        &self.record.notes
    }

    /// Whether it listens without being asked for.
    #[getter]
    fn auto(&self) -> bool {
        self.record.auto
    }

    /// The literals that a reader recognises it by.
    #[getter]
    fn markers(&self) -> Vec<String> {
        self.record.markers().map(str::to_owned).collect()
    }

    /// Its keys and values, as a file would say them.
    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let keys = PyDict::new(py);
        for (key, value) in self.record.keys() {
            keys.set_item(key, json::decode(py, &value.to_string())?)?;
        }
        Ok(keys)
    }

    /// Writes reasoning, then text, then calls, as a model of this dialect would.
    #[pyo3(signature = (calls, *, text=None, reasoning=None))]
    fn render(
        &self,
        py: Python<'_>,
        calls: &Bound<'_, PyAny>,
        text: Option<Bound<'_, PyAny>>,
        reasoning: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        render(py, &self.record, calls, &text, &reasoning)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, (String, Option<String>)> {
        reduced(slf.py(), "_load_dialect", (slf.get().record.name.to_string(), slf.get().source.clone()))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let same = |other: &Dialect| self.record.name == other.record.name && self.source == other.source;
        other.cast::<Dialect>().is_ok_and(|other| same(other.get()))
    }

    fn __hash__(&self) -> u64 {
        self.record.name.bytes().fold(0, |hash, byte| hash * 31 % 0xffff_fffb + u64::from(byte))
    }

    fn __repr__(&self) -> String {
        format!("<callgate dialect {}>", self.record.name)
    }
}

/// A call that is to be written.
struct Written {
    id: Option<String>,
    name: String,
    arguments: String,
}

/// Writes calls, which are those of a response or mappings with `name`, `arguments` and `id`.
pub(crate) fn render(
    py: Python<'_>,
    record: &Record,
    calls: &Bound<'_, PyAny>,
    text: &Option<Bound<'_, PyAny>>,
    reasoning: &Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let Ok(list) = calls.try_iter() else { return Err(wrong_type(calls, "calls", "a list of calls")) };
    let written = list.map(|call| self::written(&call?)).collect::<PyResult<Vec<_>>>()?;
    let calls: Vec<RenderCall<'_>> = written
        .iter()
        .map(|call| RenderCall { id: call.id.as_deref(), name: &call.name, arguments: &call.arguments })
        .collect();
    let (text, reasoning) = (optional_text(text, "text")?, optional_text(reasoning, "reasoning")?);
    record.render(&calls, text, reasoning).map_err(|error| errors::unrepresentable(py, &record.name, &error))
}

fn written(call: &Bound<'_, PyAny>) -> PyResult<Written> {
    if let Ok(call) = call.cast::<Call>()
        && let callgate::Event::Call(call) = &call.as_super().get().inner
    {
        let (id, name, arguments) = (Some(call.id.clone()), call.name.clone(), call.arguments.clone());
        return Ok(Written { id, name, arguments });
    }
    let wanted = "a Call or a mapping with `name` and `arguments`";
    if call.is_instance_of::<Event>() {
        return Err(wrong_type(call, "a call", wanted));
    }
    let Ok(mapping) = call.cast::<PyMapping>() else { return Err(wrong_type(call, "a call", wanted)) };
    let get = |mapping: &Bound<'_, PyAny>, key: &str| -> PyResult<Option<String>> {
        let value = mapping.call_method1("get", (key,))?;
        if value.is_none() {
            return Ok(None);
        }
        match key {
            "arguments" => json::encode(&value, "arguments").map(Some),
            _ => text(&value, key).map(|text| Some(text.to_owned())),
        }
    };
    let function = mapping.call_method1("get", ("function",))?;
    let inner = if function.is_none() { mapping.as_any().clone() } else { function };
    let Some(name) = get(&inner, "name")? else {
        let help = "give each call as {\"name\", \"arguments\", \"id\"?}";
        return Err(Problem::new("missing-name", "a call to render has no name", help).raise(call.py()));
    };
    let arguments = get(&inner, "arguments")?.unwrap_or_else(|| "{}".to_owned());
    if serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&arguments).is_err() {
        let help = "give a dictionary, or its JSON text";
        let message = format!("the arguments of `{name}` are no JSON object");
        return Err(Problem::new("bad-arguments", message, help).raise(call.py()));
    }
    Ok(Written { id: get(mapping.as_any(), "id")?, name, arguments })
}

/// The names of the built-in dialects, in order of rank.
#[pyfunction(name = "_dialect_names")]
pub(crate) fn names() -> Vec<&'static str> {
    Record::builtin().iter().map(|record| &*record.name).collect()
}

/// The built-in dialect of this name.
#[pyfunction(name = "_dialect_named")]
pub(crate) fn named(name: &str) -> Option<Dialect> {
    Record::named(name).map(|record| Dialect { record: record.clone(), source: None })
}

/// The built-in dialect that a model writes.
#[pyfunction(name = "_dialect_for_model")]
pub(crate) fn for_model(model: &Bound<'_, PyAny>) -> PyResult<Option<Dialect>> {
    let record = Record::for_model(text(model, "model")?);
    Ok(record.map(|record| Dialect { record: record.clone(), source: None }))
}

/// The dialects of a file's text.
#[pyfunction(name = "_dialects_of")]
pub(crate) fn parse(py: Python<'_>, toml: &Bound<'_, PyAny>) -> PyResult<Vec<Dialect>> {
    let toml = text(toml, "toml")?;
    let records = Record::parse(toml).map_err(|error| errors::record(py, &error))?;
    Ok(records.into_iter().map(|record| Dialect { record, source: Some(toml.to_owned()) }).collect())
}

/// Reads a dialect that was pickled.
#[pyfunction(name = "_load_dialect")]
#[pyo3(signature = (name, source=None))]
pub(crate) fn load_dialect(py: Python<'_>, name: &str, source: Option<&str>) -> PyResult<Dialect> {
    let record = match source {
        None => Record::named(name).cloned(),
        Some(toml) => {
            let records = Record::parse(toml).map_err(|error| errors::record(py, &error))?;
            records.into_iter().find(|record| &*record.name == name)
        }
    };
    let gone = || {
        let help = "use the version of callgate that pickled it";
        Problem::new("unknown-dialect", format!("there is no dialect `{name}`"), help).raise(py)
    };
    Ok(Dialect { record: record.ok_or_else(gone)?, source: source.map(str::to_owned) })
}

/// The dialects that read calls in a text, the best first.
#[pyfunction(name = "_detect")]
#[pyo3(signature = (text, tools=None))]
pub(crate) fn detect(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    tools: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let text = errors::text(text, "text")?;
    let tools = crate::gate::registry(py, &tools, false)?;
    let found = py.detach(|| Detector::new(tools).detect(text));
    Ok(found.into_iter().map(|candidate| candidate.dialect).collect())
}
