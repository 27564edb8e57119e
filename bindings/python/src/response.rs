//! Responses: what came of one response. Its parts become Python objects when they are asked for.

use std::hash::{DefaultHasher, Hash, Hasher};

use callgate::{Event as CoreEvent, FinishReason, Response as CoreResponse};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::chars::{Chars, Pair};
use crate::errors::wrong_type;
use crate::event::{self, Event, Marks, marks, to_python};
use crate::json;
use crate::pickle::{Reduced, reduced};

/// The places of all parts in characters, where those are other numbers than in bytes: calls, rejections, findings, error.
pub(crate) type AllMarks = Option<Vec<Marks>>;

/// The same, as they are pickled.
type PickledMarks = Vec<Option<Vec<Option<Pair>>>>;

/// What came of one response.
#[pyclass(frozen, module = "callgate")]
pub(crate) struct Response {
    pub(crate) inner: CoreResponse,
    marks: AllMarks,
    text: PyOnceLock<Py<PyString>>,
    calls: PyOnceLock<Py<PyTuple>>,
    rejected: PyOnceLock<Py<PyTuple>>,
    findings: PyOnceLock<Py<PyTuple>>,
}

/// The marks of a response to a text.
pub(crate) fn all_marks(response: &CoreResponse, chars: &Chars) -> AllMarks {
    if chars.is_plain() {
        return None;
    }
    let calls = response.calls.iter().map(|call| CoreEvent::Call(Box::new(call.clone())));
    let rejected = response.rejected.iter().map(|rejected| CoreEvent::Rejected(Box::new(rejected.clone())));
    let findings = response.findings.iter().map(|finding| CoreEvent::Finding(finding.clone()));
    let error = response.model_error.iter().map(|error| CoreEvent::ModelError(error.clone()));
    let parts = calls.chain(rejected).chain(findings).chain(error);
    Some(parts.map(|part| marks(&part, chars)).collect())
}

impl Response {
    pub(crate) fn new(inner: CoreResponse, marks: AllMarks) -> Self {
        Response {
            inner,
            marks,
            text: PyOnceLock::new(),
            calls: PyOnceLock::new(),
            rejected: PyOnceLock::new(),
            findings: PyOnceLock::new(),
        }
    }

    fn marks(&self, at: usize) -> Marks {
        self.marks.as_ref().and_then(|marks| marks.get(at).cloned().flatten())
    }

    /// The tuple of some parts, made once.
    fn once<'py, T>(
        &self,
        py: Python<'py>,
        cell: &PyOnceLock<Py<PyTuple>>,
        parts: &[T],
        from: usize,
        event: impl Fn(&T) -> CoreEvent<'static>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let made = cell.get_or_try_init(py, || {
            let objects =
                parts.iter().enumerate().map(|(at, part)| to_python(py, event(part), self.marks(from + at)));
            PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?).map(Bound::unbind)
        })?;
        Ok(made.bind(py).clone())
    }

    fn json(&self) -> String {
        serde_json::to_string(&self.inner).unwrap_or_default()
    }
}

#[pymethods]
impl Response {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("text", "calls", "rejected")
    }

    /// The response that events come to, as a session gave them. `finish_reason` is what the provider said.
    #[staticmethod]
    #[pyo3(signature = (events, finish_reason=None))]
    fn collect(
        py: Python<'_>,
        events: &Bound<'_, PyAny>,
        finish_reason: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Response> {
        let (word, reason) = crate::session::reason(py, &finish_reason)?;
        let mut collector = CoreResponse::collector();
        let mut all: [Vec<Marks>; 4] = Default::default();
        for event in events.try_iter()? {
            let event = event?;
            let Ok(event) = event.cast::<Event>() else {
                return Err(wrong_type(&event, "an event", "Event"));
            };
            let event = event.get();
            let kind = match &event.inner {
                CoreEvent::Call(_) => 0,
                CoreEvent::Rejected(_) => 1,
                CoreEvent::Finding(_) => 2,
                CoreEvent::ModelError(_) => 3,
                _ => usize::MAX,
            };
            if let Some(marks) = all.get_mut(kind) {
                marks.push(event.marks.clone());
            }
            collector.push(event.inner.clone());
        }
        collector.said(&word);
        Ok(Response::new(collector.finish(reason), Some(all.into_iter().flatten().collect())))
    }

    /// The response of this JSON, as `to_json` and the command's `scan` write it.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Response> {
        Ok(Response::new(json::read(py, crate::errors::text(text, "text")?, "response")?, None))
    }

    /// All text, untrimmed.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.text.get_or_init(py, || PyString::new(py, &self.inner.text).unbind()).bind(py).clone()
    }

    /// All reasoning, untrimmed.
    #[getter]
    fn reasoning(&self) -> &str {
        &self.inner.reasoning
    }

    /// The accepted calls.
    #[getter]
    fn calls<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.once(py, &self.calls, &self.inner.calls, 0, |call| CoreEvent::Call(Box::new(call.clone())))
    }

    /// The rejected attempts.
    #[getter]
    fn rejected<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let from = self.inner.calls.len();
        self.once(py, &self.rejected, &self.inner.rejected, from, |rejected| {
            CoreEvent::Rejected(Box::new(rejected.clone()))
        })
    }

    /// Findings that do not belong to one call or rejection.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let from = self.inner.calls.len() + self.inner.rejected.len();
        self.once(py, &self.findings, &self.inner.findings, from, |finding| {
            CoreEvent::Finding(finding.clone())
        })
    }

    /// Every finding: those of the response, of its calls and of its rejections.
    #[getter]
    fn all_findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let own = self.findings(py)?;
        let parts = self.calls(py)?.iter().chain(self.rejected(py)?.iter()).collect::<Vec<_>>();
        let mut all: Vec<Bound<'py, PyAny>> = own.iter().collect();
        for part in parts {
            all.extend(part.getattr("findings")?.cast_into::<PyTuple>()?.iter());
        }
        PyTuple::new(py, all)
    }

    /// The error that the model reported, if its format has one.
    #[getter]
    fn model_error(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let at = self.inner.calls.len() + self.inner.rejected.len() + self.inner.findings.len();
        let error = self.inner.model_error.clone();
        error.map(|error| event::to_python(py, CoreEvent::ModelError(error), self.marks(at))).transpose()
    }

    /// Why it ended: `tool_calls` if a call stands and nothing was cut, `length` if the cut hit an attempt.
    #[getter]
    fn finish_reason(&self) -> &str {
        self.inner.finish_word()
    }

    /// Whether anything was rejected or missing.
    #[getter]
    fn has_errors(&self) -> bool {
        self.inner.has_errors()
    }

    /// The response as one line of JSON, as the command's `scan` writes it.
    fn to_json(&self) -> String {
        self.json()
    }

    /// The response as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::decode(py, &self.json())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, (String, Option<PickledMarks>, bool)> {
        let response = slf.get();
        let part = |marks: &Marks| marks.as_ref().map(|marks| marks.to_vec());
        let marks = response.marks.as_ref().map(|all| all.iter().map(part).collect());
        let is_known = response.inner.finish_reason != FinishReason::Unknown;
        reduced(slf.py(), "_load_response", (response.json(), marks, is_known))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Response>().is_ok_and(|other| self.inner == other.get().inner)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.json().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let text = self.text(py).repr()?;
        let calls = self.calls(py)?.repr()?;
        let rejected = self.rejected(py)?.repr()?;
        let reason = self.finish_reason();
        Ok(format!("Response(text={text}, calls={calls}, rejected={rejected}, finish_reason='{reason}')"))
    }
}

/// Reads a response that was pickled.
#[pyfunction(name = "_load_response")]
pub(crate) fn load_response(
    py: Python<'_>,
    text: &str,
    marks: Option<PickledMarks>,
    is_known: bool,
) -> PyResult<Response> {
    let mut response: CoreResponse = json::read(py, text, "response")?;
    if !is_known {
        // It is written as `stop`.
        response.finish_reason = FinishReason::Unknown;
    }
    let part = |marks: Option<Vec<Option<Pair>>>| marks.map(Vec::into_boxed_slice);
    Ok(Response::new(response, marks.map(|all| all.into_iter().map(part).collect())))
}
