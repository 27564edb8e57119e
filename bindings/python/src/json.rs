//! JSON: text to Python values and back, with Python's own reader and writer.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

use crate::errors::{Problem, text};

static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The value of a JSON text. Integers have all their digits.
pub(crate) fn decode<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    let loads = LOADS.import(py, "json", "loads")?;
    loads.call1((json,)).map_err(|error| match error.is_instance_of::<PyValueError>(py) {
        false => error,
        true => {
            let help = "read the JSON text itself; Python limits integers with sys.set_int_max_str_digits";
            let raised =
                Problem::new("undecodable", format!("Python cannot decode this JSON: {error}"), help);
            let raised = raised.raise(py);
            raised.set_cause(py, Some(error));
            raised
        }
    })
}

/// A value as JSON text. A string is taken for JSON text already.
pub(crate) fn encode(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    let py = value.py();
    if value.is_instance_of::<PyString>() {
        return Ok(text(value, name)?.to_owned());
    }
    let dumps = DUMPS.import(py, "json", "dumps")?;
    let options = PyDict::new(py);
    options.set_item("ensure_ascii", false)?;
    options.set_item("allow_nan", false)?;
    let written = dumps.call((value,), Some(&options)).map_err(|error| {
        let is_ours = error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py);
        if !is_ours {
            return error;
        }
        let help = "give dictionaries, lists, strings, numbers, booleans and None";
        let raised =
            Problem::new("not-json", format!("{name} cannot be written as JSON: {error}"), help).raise(py);
        raised.set_cause(py, Some(error));
        raised
    })?;
    Ok(text(&written, name)?.to_owned())
}

/// A value of the core from JSON that it wrote.
pub(crate) fn read<T: serde::de::DeserializeOwned>(py: Python<'_>, json: &str, what: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| {
        let help = "give what was written, unchanged";
        Problem::new("not-json", format!("this is no {what}: {error}"), help).raise(py)
    })
}
