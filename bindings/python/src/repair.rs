//! Repair: broken JSON alone.

use callgate::Repaired as CoreRepaired;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::call::Repair;
use crate::chars::{Chars, Pair};
use crate::errors::{self, wrong_type};
use crate::json;
use crate::pickle::{Reduced, reduced};
use crate::session::LARGE;

/// A value that was read from broken text.
#[pyclass(frozen, module = "callgate.types")]
pub(crate) struct Repaired {
    inner: CoreRepaired,
    /// Present where characters are counted otherwise than bytes.
    chars: Option<Vec<Pair>>,
}

impl Repaired {
    fn new(inner: CoreRepaired, chars: &Chars) -> Self {
        let pairs = || inner.repairs.iter().map(|repair| chars.pair(repair.span)).collect();
        let chars = (!chars.is_plain()).then(pairs);
        Repaired { inner, chars }
    }
}

#[pymethods]
impl Repaired {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("text", "repairs")
    }

    /// The value as valid JSON text: the input's own characters where they were valid.
    #[getter]
    fn text(&self) -> &str {
        &self.inner.text
    }

    /// The value.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::decode(py, &self.inner.text)
    }

    /// What was changed, in the order of the input; empty if nothing was.
    #[getter]
    fn repairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let objects = self.inner.repairs.iter().enumerate().map(|(at, repair)| {
            let chars = match &self.chars {
                None => Some((repair.span.start, repair.span.end)),
                Some(pairs) => pairs.get(at).copied(),
            };
            Py::new(py, Repair { inner: repair.clone(), chars })
        });
        PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)
    }

    fn __str__(&self) -> &str {
        &self.inner.text
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Repaired>().is_ok_and(|other| self.inner == other.get().inner)
    }

    fn __hash__(&self) -> u64 {
        self.inner.text.len() as u64
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, (String, String, Option<Vec<Pair>>)> {
        let Repaired { inner, chars } = slf.get();
        let repairs = serde_json::to_string(&inner.repairs).unwrap_or_default();
        reduced(slf.py(), "_load_repaired", (inner.text.clone(), repairs, chars.clone()))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = PyString::new(py, &self.inner.text).repr()?;
        Ok(format!("Repaired({text}, {} repairs)", self.inner.repairs.len()))
    }
}

/// Reads a repaired value that was pickled. An empty text is repaired into nothing, so the core makes the rest.
#[pyfunction(name = "_load_repaired")]
#[pyo3(signature = (text, repairs, chars=None))]
pub(crate) fn load_repaired(
    py: Python<'_>,
    text: String,
    repairs: &str,
    chars: Option<Vec<Pair>>,
) -> PyResult<Repaired> {
    let mut inner = callgate::repair("null", 1).map_err(|finding| errors::finding(py, &finding))?;
    inner.text = text;
    inner.repairs = json::read(py, repairs, "list of repairs")?;
    Ok(Repaired { inner, chars })
}

/// Reads a text as one JSON value with every repair allowed, guesses included. `partial` reads the start of a text of
/// which the rest is still to come; `many` reads each value of a text that holds several.
#[pyfunction]
#[pyo3(signature = (text, /, *, partial=false, many=false, depth=128))]
pub(crate) fn repair<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    partial: bool,
    many: bool,
    depth: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let lossy;
    let text = match text.cast::<PyBytes>() {
        Ok(bytes) => {
            lossy = String::from_utf8_lossy(bytes.as_bytes());
            &*lossy
        }
        Err(_) if text.is_instance_of::<PyString>() => errors::text(text, "text")?,
        Err(_) => return Err(wrong_type(text, "text", "str or bytes")),
    };
    // Deeper than that is deeper than Python's own reader goes.
    let depth = depth.min(500);
    let chars = Chars::of(text);
    if many {
        let read = || callgate::repair_many(text, depth).collect::<Vec<_>>();
        let list = PyList::empty(py);
        for value in if text.len() > LARGE { py.detach(read) } else { read() } {
            let value = value.map_err(|finding| errors::finding(py, &finding))?;
            list.append(Py::new(py, Repaired::new(value, &chars))?)?;
        }
        return Ok(list.into_any());
    }
    let read = || match partial {
        true => callgate::repair_partial(text, depth),
        false => callgate::repair(text, depth),
    };
    let value = if text.len() > LARGE { py.detach(read) } else { read() };
    let value = value.map_err(|finding| errors::finding(py, &finding))?;
    Ok(Py::new(py, Repaired::new(value, &chars))?.into_bound(py).into_any())
}
