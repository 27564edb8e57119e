//! Calls and rejections, with the repairs and coercions that are listed with them.

use callgate::{Coercion as CoreCoercion, Event as CoreEvent, Repair as CoreRepair};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};

use crate::chars::Pair;
use crate::event::{self, Event, Marks, attempt};
use crate::json;
use crate::pickle::{Reduced, reduced};

static AS_TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// An accepted call. Only this authorises execution.
#[pyclass(extends = Event, frozen, module = "callgate")]
pub(crate) struct Call {
    /// The arguments, once somebody has asked for them.
    pub(crate) decoded: PyOnceLock<Py<PyAny>>,
}

fn call<'a>(slf: &'a Bound<'_, Call>) -> Option<&'a callgate::Call> {
    match &slf.as_super().get().inner {
        CoreEvent::Call(call) => Some(call),
        _ => None,
    }
}

/// The place of a part in characters, as the marks of an event of its own.
fn part(event: &Event, at: usize) -> Marks {
    event.marks.as_ref().map(|marks| vec![marks.get(at).copied().flatten()].into_boxed_slice())
}

#[pymethods]
impl Call {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("name", "arguments")
    }

    /// The number of the attempt in this response.
    #[getter]
    fn attempt(slf: &Bound<'_, Self>) -> usize {
        attempt(slf.as_super().get())
    }

    /// The model's id, or one that is unique in the response.
    #[getter]
    fn id<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), call(slf).map_or("", |call| &call.id))
    }

    /// The name of the tool, as registered.
    #[getter]
    fn name<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), call(slf).map_or("", |call| &call.name))
    }

    /// The arguments as JSON text: the model's own characters where they were valid.
    #[getter]
    fn arguments_json<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), call(slf).map_or("", |call| &call.arguments))
    }

    /// The arguments as a dictionary, decoded when they are first asked for. Integers have all their digits.
    #[getter]
    fn arguments<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let decoded = &slf.get().decoded;
        let value = decoded.get_or_try_init(py, || {
            json::decode(py, call(slf).map_or("{}", |call| &call.arguments)).map(Bound::unbind)
        })?;
        Ok(value.bind(py).clone())
    }

    /// The arguments with sorted keys and no white space: what an approval is for.
    #[getter]
    fn canonical_arguments(slf: &Bound<'_, Self>) -> String {
        call(slf).map_or_else(String::new, callgate::Call::canonical_arguments)
    }

    /// The arguments as an instance of a pydantic model, a dataclass, or whatever takes them by name.
    fn arguments_as<'py>(slf: &Bound<'py, Self>, model: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        AS_TYPE.import(slf.py(), "callgate._tools", "arguments_as")?.call1((slf, model))
    }

    /// Whether a tool list was given, so that name and arguments were checked.
    #[getter]
    fn checked(slf: &Bound<'_, Self>) -> bool {
        call(slf).is_some_and(|call| call.checked)
    }

    /// The dialect it was written in; `native` for structured provider calls.
    #[getter]
    fn dialect<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), call(slf).map_or("", |call| &call.dialect))
    }

    /// What was changed to read it.
    #[getter]
    fn repairs<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (event, repairs) = (slf.as_super().get(), call(slf).map_or(&[][..], |call| &call.repairs));
        // The repairs of a structured call stand in its arguments, whose characters nobody has counted.
        let is_text = event.inner.accounts_for().is_some();
        let pair = |at: usize, repair: &CoreRepair| {
            is_text.then(|| event.char_pair(at + 1, Some(repair.span))).flatten()
        };
        let objects = repairs
            .iter()
            .enumerate()
            .map(|(at, repair)| Py::new(slf.py(), Repair { inner: repair.clone(), chars: pair(at, repair) }));
        PyTuple::new(slf.py(), objects.collect::<PyResult<Vec<_>>>()?)
    }

    /// What was changed to fit it to its schema.
    #[getter]
    fn coercions<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let coercions = call(slf).map_or(&[][..], |call| &call.coercions);
        let objects = coercions.iter().map(|inner| Py::new(slf.py(), Coercion { inner: inner.clone() }));
        PyTuple::new(slf.py(), objects.collect::<PyResult<Vec<_>>>()?)
    }

    /// What is to be known before it runs: that it repeats text that is not to be trusted.
    #[getter]
    fn findings<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (event, call) = (slf.as_super().get(), call(slf));
        let repairs = call.map_or(0, |call| call.repairs.len());
        event::findings(slf.py(), call.map_or(&[], |call| &call.findings), |at| part(event, 1 + repairs + at))
    }

    /// The ids of the calls that must be done first, where the model wrote a plan.
    #[getter]
    fn after<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(slf.py(), call(slf).map_or(&[][..], |call| &call.after))
    }
}

/// A rejected attempt: nothing of it may run.
#[pyclass(extends = Event, frozen, module = "callgate")]
pub(crate) struct Rejected;

fn rejected<'a>(slf: &'a Bound<'_, Rejected>) -> Option<&'a callgate::Rejected> {
    match &slf.as_super().get().inner {
        CoreEvent::Rejected(rejected) => Some(rejected),
        _ => None,
    }
}

#[pymethods]
impl Rejected {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("name", "code")
    }

    /// The number of the attempt in this response.
    #[getter]
    fn attempt(slf: &Bound<'_, Self>) -> usize {
        attempt(slf.as_super().get())
    }

    /// The model's id, where it gave one.
    #[getter]
    fn id(slf: &Bound<'_, Self>) -> Option<String> {
        rejected(slf).and_then(|rejected| rejected.id.clone())
    }

    /// The name as the model wrote it, where it was read.
    #[getter]
    fn name(slf: &Bound<'_, Self>) -> Option<String> {
        rejected(slf).and_then(|rejected| rejected.name.clone())
    }

    /// The code of the deciding finding.
    #[getter]
    fn code(slf: &Bound<'_, Self>) -> &'static str {
        let first = rejected(slf).and_then(|rejected| rejected.findings.first());
        first.map_or("", |finding| finding.code.word())
    }

    /// The text of the attempt, cut after the policy's limit.
    #[getter]
    fn raw<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), rejected(slf).map_or("", |rejected| &rejected.raw))
    }

    /// The length of the whole text in bytes.
    #[getter]
    fn raw_len(slf: &Bound<'_, Self>) -> usize {
        rejected(slf).map_or(0, |rejected| rejected.raw_len)
    }

    /// The dialect it was written in.
    #[getter]
    fn dialect<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), rejected(slf).map_or("", |rejected| &rejected.dialect))
    }

    /// Why, all at once, the first being the deciding one.
    #[getter]
    fn findings<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (event, rejected) = (slf.as_super().get(), rejected(slf));
        event::findings(slf.py(), rejected.map_or(&[], |rejected| &rejected.findings), |at| {
            part(event, 1 + at)
        })
    }
}

/// One named change that was made to read a broken value.
#[pyclass(frozen, eq, module = "callgate.types")]
#[derive(PartialEq)]
pub(crate) struct Repair {
    pub(crate) inner: CoreRepair,
    pub(crate) chars: Option<Pair>,
}

#[pymethods]
impl Repair {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("code", "safety")
    }

    /// What was changed.
    #[getter]
    fn code(&self) -> String {
        self.inner.code.to_string()
    }

    /// `lossless`, or `guess` if a choice was made.
    #[getter]
    fn safety(&self) -> String {
        self.inner.safety.to_string()
    }

    /// The bytes of the input it is about; of the arguments for structured calls.
    #[getter]
    fn span(&self) -> Pair {
        (self.inner.span.start, self.inner.span.end)
    }

    /// The same place in characters; `None` for structured calls.
    #[getter]
    fn char_span(&self) -> Option<Pair> {
        self.chars
    }

    /// Whether it replaces text that had already been shown.
    #[getter]
    fn late(&self) -> bool {
        self.inner.late
    }

    /// How often it was made, where repeats are counted instead of listed.
    #[getter]
    fn count(&self) -> usize {
        self.inner.count
    }

    fn __hash__(&self) -> u64 {
        (self.inner.span.start as u64) << 32 | self.inner.span.end as u64
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, (String, Option<Pair>)> {
        reduced(
            slf.py(),
            "_load_repair",
            (serde_json::to_string(&slf.get().inner).unwrap_or_default(), slf.get().chars),
        )
    }

    fn __repr__(&self) -> String {
        format!("Repair('{}', '{}', span={:?})", self.inner.code, self.inner.safety, self.span())
    }
}

/// Reads a repair that was pickled.
#[pyfunction(name = "_load_repair")]
#[pyo3(signature = (text, chars=None))]
pub(crate) fn load_repair(py: Python<'_>, text: &str, chars: Option<Pair>) -> PyResult<Repair> {
    Ok(Repair { inner: json::read(py, text, "repair")?, chars })
}

/// One change made to fit a value to its schema.
#[pyclass(frozen, eq, module = "callgate.types")]
#[derive(PartialEq)]
pub(crate) struct Coercion {
    inner: CoreCoercion,
}

#[pymethods]
impl Coercion {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("code", "path")
    }

    /// Which change.
    #[getter]
    fn code(&self) -> String {
        self.inner.code.to_string()
    }

    /// Where in the arguments, as a JSON pointer.
    #[getter]
    fn path(&self) -> &str {
        &self.inner.path
    }

    /// The value as it was, as JSON.
    #[getter]
    fn before(&self) -> &str {
        &self.inner.from
    }

    /// The value as it is now, as JSON; empty where it was dropped.
    #[getter]
    fn after(&self) -> &str {
        &self.inner.to
    }

    fn __hash__(&self) -> u64 {
        self.inner.path.len() as u64
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, (String,)> {
        reduced(slf.py(), "_load_coercion", (serde_json::to_string(&slf.get().inner).unwrap_or_default(),))
    }

    fn __repr__(&self) -> String {
        format!(
            "Coercion('{}', '{}', {} -> {})",
            self.inner.code, self.inner.path, self.inner.from, self.inner.to
        )
    }
}

/// Reads a coercion that was pickled.
#[pyfunction(name = "_load_coercion")]
pub(crate) fn load_coercion(py: Python<'_>, text: &str) -> PyResult<Coercion> {
    Ok(Coercion { inner: json::read(py, text, "coercion")? })
}
