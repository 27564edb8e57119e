//! Errors: everything that is wrong at the border, as one exception with a code, a place and a way out.

use callgate::{Finding, GateError, RecordError, RegistryError, Unrepresentable};
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};

static ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// An error while it is being told.
pub(crate) struct Problem<'a> {
    code: &'a str,
    message: String,
    help: String,
    span: Option<(usize, usize)>,
    pointer: Option<String>,
    index: Option<usize>,
    tool: Option<String>,
    line_column: Option<(usize, usize)>,
}

impl<'a> Problem<'a> {
    pub(crate) fn new(code: &'a str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Problem {
            code,
            message: message.into(),
            help: help.into(),
            span: None,
            pointer: None,
            index: None,
            tool: None,
            line_column: None,
        }
    }

    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        self.exception(py).unwrap_or_else(|error| error)
    }

    fn exception(self, py: Python<'_>) -> PyResult<PyErr> {
        let class = ERROR.import(py, "callgate._errors", "Error")?;
        let place = PyDict::new(py);
        place.set_item("span", self.span)?;
        place.set_item("pointer", self.pointer)?;
        place.set_item("index", self.index)?;
        place.set_item("tool", self.tool)?;
        place.set_item("line", self.line_column.map(|(line, _)| line))?;
        place.set_item("column", self.line_column.map(|(_, column)| column))?;
        Ok(PyErr::from_value(class.call((self.code, self.message, self.help), Some(&place))?))
    }
}

/// A finding that stands for a whole call having failed.
pub(crate) fn finding(py: Python<'_>, finding: &Finding) -> PyErr {
    let problem = Problem::new(finding.code.word(), finding.message.clone(), finding.help.clone());
    let pointer = Some(finding.path.clone()).filter(|path| !path.is_empty());
    Problem { span: finding.span.map(|span| (span.start, span.end)), pointer, ..problem }.raise(py)
}

pub(crate) fn gate(py: Python<'_>, error: &GateError) -> PyErr {
    Problem::new(error.code, error.message.clone(), error.help.clone()).raise(py)
}

pub(crate) fn registry(py: Python<'_>, error: &RegistryError) -> PyErr {
    Problem {
        pointer: Some(error.pointer.clone()).filter(|pointer| !pointer.is_empty()),
        index: error.index,
        tool: error.tool.clone(),
        line_column: error.line_column,
        ..Problem::new(error.code.word(), error.message.clone(), error.help())
    }
    .raise(py)
}

pub(crate) fn record(py: Python<'_>, error: &RecordError) -> PyErr {
    Problem {
        line_column: Some((error.line, error.column)),
        ..Problem::new("bad-dialect", error.message.clone(), error.help.clone())
    }
    .raise(py)
}

pub(crate) fn unrepresentable(py: Python<'_>, dialect: &str, error: &Unrepresentable) -> PyErr {
    let message = match error.literal.is_empty() {
        true => error.message.clone(),
        false => format!("{} (`{}`)", error.message, error.literal),
    };
    let message = format!("the dialect `{dialect}` cannot say this: {message}");
    let help = "choose another dialect, or leave out what it cannot say";
    Problem { pointer: Some(error.path.clone()), ..Problem::new("unrepresentable", message, help) }.raise(py)
}

/// A knob, a word or a name that there is not.
pub(crate) fn setting(py: Python<'_>, code: &str, said: &str) -> PyErr {
    let (message, help) = said.split_once("; ").unwrap_or((said, "see the documentation of the knobs"));
    Problem::new(code, message, help).raise(py)
}

/// The text of an argument. Anything else than a string is named, and so is a string that is no text.
pub(crate) fn text<'a>(value: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a str> {
    let py = value.py();
    let Ok(string) = value.cast::<PyString>() else {
        return Err(wrong_type(value, name, "str"));
    };
    string.to_str().map_err(|error| match error.is_instance_of::<PyUnicodeEncodeError>(py) {
        false => error,
        true => {
            let at = error.value(py).getattr("start").and_then(|at| at.extract::<usize>());
            let place = at.map_or_else(|_| String::new(), |at| format!(" at character {at}"));
            let problem = Problem::new(
                "lone-surrogate",
                format!("{name} holds half of a surrogate pair{place}, which is no text"),
                "pass bytes, or text.encode('utf-8', 'replace').decode()",
            );
            let raised = problem.raise(py);
            raised.set_cause(py, Some(error));
            raised
        }
    })
}

/// The text of an argument that may be left out.
pub(crate) fn optional_text<'a>(
    value: &'a Option<Bound<'_, PyAny>>,
    name: &str,
) -> PyResult<Option<&'a str>> {
    value.as_ref().map(|value| text(value, name)).transpose()
}

pub(crate) fn wrong_type(value: &Bound<'_, PyAny>, name: &str, wanted: &str) -> PyErr {
    let kind = value.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{name} must be {wanted}, not {kind}"))
}
