//! Events: what the core says, as frozen Python objects. The base class holds the event, its subclasses say which it is.

use std::hash::{DefaultHasher, Hash, Hasher};

use callgate::{Event as CoreEvent, Finding as CoreFinding, Span};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::call::{Call, Rejected};
use crate::chars::{Chars, Pair};
use crate::errors::Problem;
use crate::json;
use crate::pickle::{Reduced, reduced};

/// The places of an event in characters, where those are other numbers than in bytes: its own, then those of its parts.
pub(crate) type Marks = Option<Box<[Option<Pair>]>>;

/// What became of a part of the input. Which event it is, its class says.
#[pyclass(subclass, frozen, module = "callgate")]
pub(crate) struct Event {
    pub(crate) inner: CoreEvent<'static>,
    pub(crate) marks: Marks,
}

impl Event {
    /// A place among those of the event, in characters.
    pub(crate) fn char_pair(&self, at: usize, span: Option<Span>) -> Option<Pair> {
        match &self.marks {
            None => span.map(|span| (span.start, span.end)),
            Some(marks) => marks.get(at).copied().flatten(),
        }
    }

    fn own_span(&self) -> Option<Span> {
        own_span(&self.inner)
    }

    fn text(&self) -> &str {
        match &self.inner {
            CoreEvent::Text { text, .. } | CoreEvent::Reasoning { text, .. } => text,
            CoreEvent::CallStarted { name, .. } => name,
            CoreEvent::ArgumentsDelta { delta, .. } => delta,
            _ => "",
        }
    }

    fn json(&self) -> String {
        serde_json::to_string(&self.inner).unwrap_or_default()
    }
}

fn own_span(event: &CoreEvent<'_>) -> Option<Span> {
    match event {
        CoreEvent::Finding(finding) => finding.span,
        event => event.accounts_for(),
    }
}

/// The marks of an event, if it has any.
pub(crate) fn marks(event: &CoreEvent<'_>, chars: &Chars) -> Marks {
    if chars.is_plain() {
        return None;
    }
    let own = own_span(event);
    // The places in a structured call are places in its arguments, which nobody has counted.
    let placed = |span: Option<Span>| own.and(span);
    let parts: Vec<Option<Span>> = match event {
        CoreEvent::Call(call) => {
            let repairs = call.repairs.iter().map(|repair| placed(Some(repair.span)));
            repairs.chain(call.findings.iter().map(|finding| placed(finding.span))).collect()
        }
        CoreEvent::Rejected(rejected) => {
            rejected.findings.iter().map(|finding| placed(finding.span)).collect()
        }
        _ => Vec::new(),
    };
    let spans = std::iter::once(own).chain(parts);
    Some(spans.map(|span| span.map(|span| chars.pair(span))).collect())
}

/// An event of the core as a Python object.
pub(crate) fn to_python(py: Python<'_>, event: CoreEvent<'static>, marks: Marks) -> PyResult<Py<PyAny>> {
    enum Kind {
        Text,
        Reasoning,
        Markup,
        CallStarted,
        ArgumentsDelta,
        Call,
        Rejected,
        ModelError,
        Finding,
    }
    let kind = match &event {
        CoreEvent::Text { .. } => Kind::Text,
        CoreEvent::Reasoning { .. } => Kind::Reasoning,
        CoreEvent::Markup { .. } => Kind::Markup,
        CoreEvent::CallStarted { .. } => Kind::CallStarted,
        CoreEvent::ArgumentsDelta { .. } => Kind::ArgumentsDelta,
        CoreEvent::Call(_) => Kind::Call,
        CoreEvent::Rejected(_) => Kind::Rejected,
        CoreEvent::ModelError(_) => Kind::ModelError,
        CoreEvent::Finding(_) => Kind::Finding,
        _ => {
            let help = "build the package from the same version of the core";
            return Err(Problem::new(
                "unknown-event",
                "the core said something that this border does not know",
                help,
            )
            .raise(py));
        }
    };
    let base = PyClassInitializer::from(Event { inner: event, marks });
    Ok(match kind {
        Kind::Text => Py::new(py, base.add_subclass(Text))?.into_any(),
        Kind::Reasoning => Py::new(py, base.add_subclass(Reasoning))?.into_any(),
        Kind::Markup => Py::new(py, base.add_subclass(Markup))?.into_any(),
        Kind::CallStarted => Py::new(py, base.add_subclass(CallStarted))?.into_any(),
        Kind::ArgumentsDelta => Py::new(py, base.add_subclass(ArgumentsDelta))?.into_any(),
        Kind::Call => Py::new(py, base.add_subclass(Call { decoded: PyOnceLock::new() }))?.into_any(),
        Kind::Rejected => Py::new(py, base.add_subclass(Rejected))?.into_any(),
        Kind::ModelError => Py::new(py, base.add_subclass(ModelError))?.into_any(),
        Kind::Finding => Py::new(py, base.add_subclass(Finding))?.into_any(),
    })
}

#[pymethods]
impl Event {
    /// The event of this JSON, as `to_json` writes it.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        load(py, crate::errors::text(text, "text")?, None)
    }

    /// The bytes of the input that it is about; `None` for structured calls and for events that only comment.
    #[getter]
    fn span(&self) -> Option<Pair> {
        self.own_span().map(|span| (span.start, span.end))
    }

    /// The same place, counted in characters.
    #[getter]
    fn char_span(&self) -> Option<Pair> {
        self.char_pair(0, self.own_span())
    }

    /// The tokens that the event is about, given where each begins and ends in characters: the first, and one past the last.
    fn token_span(&self, offsets: Vec<Pair>) -> Option<Pair> {
        let (start, end) = self.char_span()?;
        // Tokens of no width, as special ones are given, belong to nothing.
        let touches = |&(from, to): &Pair| from < end && to > start && from < to;
        let first = offsets.iter().position(touches)?;
        let last = offsets.iter().rposition(touches)?;
        Some((first, last + 1))
    }

    /// The event as one line of JSON, as the command and the crate write it.
    fn to_json(&self) -> String {
        self.json()
    }

    /// The event as dictionaries and lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::decode(py, &self.json())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, (String, Option<Vec<Option<Pair>>>)> {
        let event = slf.get();
        let marks = event.marks.as_ref().map(|marks| marks.to_vec());
        reduced(slf.py(), "_load_event", (event.json(), marks))
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> Py<PyAny> {
        let py = other.py();
        let Ok(other) = other.cast::<Event>() else { return py.NotImplemented() };
        let same = self.inner == other.get().inner && self.marks == other.get().marks;
        match op {
            CompareOp::Eq => same.into_pyobject(py).map(|same| same.to_owned().into_any().unbind()),
            CompareOp::Ne => (!same).into_pyobject(py).map(|same| same.to_owned().into_any().unbind()),
            _ => Ok(py.NotImplemented()),
        }
        .unwrap_or_else(|_| py.NotImplemented())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.json().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let py = slf.py();
        let event = slf.get();
        let quoted = |text: &str| PyString::new(py, text).repr().map(|repr| repr.to_string());
        let maybe = |text: Option<&str>| text.map_or_else(|| Ok("None".to_owned()), quoted);
        let place = event
            .own_span()
            .map_or_else(String::new, |span| format!(", span=({}, {})", span.start, span.end));
        let inside = match &event.inner {
            CoreEvent::Markup { span, .. } => format!("span=({}, {})", span.start, span.end),
            CoreEvent::CallStarted { attempt, name, dialect, .. } => {
                format!("{}, attempt={attempt}, dialect={}", quoted(name)?, quoted(dialect)?)
            }
            CoreEvent::ArgumentsDelta { attempt, delta, .. } => {
                format!("{}, attempt={attempt}", quoted(delta)?)
            }
            CoreEvent::Call(call) => {
                format!(
                    "{}, {}, id={}{place}",
                    quoted(&call.name)?,
                    quoted(&call.arguments)?,
                    quoted(&call.id)?
                )
            }
            CoreEvent::Rejected(rejected) => {
                let codes: Vec<&str> = rejected.findings.iter().map(|finding| finding.code.word()).collect();
                format!("{}, findings=[{}]{place}", maybe(rejected.name.as_deref())?, codes.join(", "))
            }
            CoreEvent::ModelError(error) => {
                format!("{}, {}{place}", quoted(&error.code)?, quoted(&error.message)?)
            }
            CoreEvent::Finding(finding) => {
                format!("{}, {}{place}", quoted(finding.code.word())?, quoted(&finding.message)?)
            }
            _ => format!("{}{place}", quoted(event.text())?),
        };
        Ok(format!("{}({inside})", slf.get_type().name()?))
    }
}

/// Reads an event that was pickled.
#[pyfunction(name = "_load_event")]
#[pyo3(signature = (text, marks=None))]
pub(crate) fn load_event(
    py: Python<'_>,
    text: &str,
    marks: Option<Vec<Option<Pair>>>,
) -> PyResult<Py<PyAny>> {
    load(py, text, marks.map(Vec::into_boxed_slice))
}

fn load(py: Python<'_>, text: &str, marks: Marks) -> PyResult<Py<PyAny>> {
    let event: CoreEvent<'static> = serde_json::from_str(text).map_err(|error| {
        let help = "give what `to_json` wrote, unchanged";
        Problem::new("bad-event", format!("this is no event: {error}"), help).raise(py)
    })?;
    to_python(py, event, marks)
}

/// The classes of the events become attributes of the class `Event`, so that they can be matched by its name alone.
pub(crate) fn name_classes(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let event: Bound<'_, PyType> = py.get_type::<Event>();
    let classes: [Bound<'_, PyType>; 9] = [
        py.get_type::<Text>(),
        py.get_type::<Reasoning>(),
        py.get_type::<Markup>(),
        py.get_type::<CallStarted>(),
        py.get_type::<ArgumentsDelta>(),
        py.get_type::<Call>(),
        py.get_type::<Rejected>(),
        py.get_type::<ModelError>(),
        py.get_type::<Finding>(),
    ];
    module.add_class::<Event>()?;
    for class in classes {
        event.setattr(class.name()?, &class)?;
        module.add(class.name()?.extract::<String>()?.as_str(), &class)?;
    }
    Ok(())
}

/// Text for the reader, untrimmed.
#[pyclass(extends = Event, frozen, module = "callgate.types")]
pub(crate) struct Text;

#[pymethods]
impl Text {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("text",)
    }

    /// The text, with U+FFFD for bytes that are not UTF-8.
    #[getter]
    fn text<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), slf.as_super().get().text())
    }
}

/// What the model thought before it answered.
#[pyclass(extends = Event, frozen, module = "callgate.types")]
pub(crate) struct Reasoning;

#[pymethods]
impl Reasoning {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("text",)
    }

    /// The text of the thought.
    #[getter]
    fn text<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), slf.as_super().get().text())
    }
}

/// Bytes that only hold the format together: section tags, end tokens, the white space a template writes.
#[pyclass(extends = Event, frozen, module = "callgate.types")]
pub(crate) struct Markup;

#[pymethods]
impl Markup {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("span",)
    }
}

/// A call has begun and its name is known. For display: nothing is judged yet.
#[pyclass(extends = Event, frozen, module = "callgate.types")]
pub(crate) struct CallStarted;

#[pymethods]
impl CallStarted {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("name", "attempt", "dialect")
    }

    /// The number of the attempt in this response.
    #[getter]
    fn attempt(slf: &Bound<'_, Self>) -> usize {
        attempt(slf.as_super().get())
    }

    /// The name as the model wrote it.
    #[getter]
    fn name<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), slf.as_super().get().text())
    }

    /// The dialect it is read in.
    #[getter]
    fn dialect<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        let dialect = match &slf.as_super().get().inner {
            CoreEvent::CallStarted { dialect, .. } => &**dialect,
            _ => "",
        };
        PyString::new(slf.py(), dialect)
    }

    /// Why in that one: `name`, `marker` or `provider`.
    #[getter]
    fn chosen_by(slf: &Bound<'_, Self>) -> &'static str {
        match &slf.as_super().get().inner {
            CoreEvent::CallStarted { choice: callgate::Choice::Named, .. } => "name",
            CoreEvent::CallStarted { choice: callgate::Choice::Marker(_), .. } => "marker",
            _ => "provider",
        }
    }

    /// The marker that only this dialect has, where one decided.
    #[getter]
    fn marker<'py>(slf: &Bound<'py, Self>) -> Option<Bound<'py, PyString>> {
        match &slf.as_super().get().inner {
            CoreEvent::CallStarted { choice: callgate::Choice::Marker(marker), .. } => {
                Some(PyString::new(slf.py(), marker))
            }
            _ => None,
        }
    }
}

/// More of a call's arguments, as JSON text. For display: nothing is judged yet.
#[pyclass(extends = Event, frozen, module = "callgate.types")]
pub(crate) struct ArgumentsDelta;

#[pymethods]
impl ArgumentsDelta {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("delta", "attempt")
    }

    /// The number of the attempt.
    #[getter]
    fn attempt(slf: &Bound<'_, Self>) -> usize {
        attempt(slf.as_super().get())
    }

    /// The next part of the arguments.
    #[getter]
    fn delta<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyString> {
        PyString::new(slf.py(), slf.as_super().get().text())
    }
}

pub(crate) fn attempt(event: &Event) -> usize {
    match &event.inner {
        CoreEvent::CallStarted { attempt, .. } | CoreEvent::ArgumentsDelta { attempt, .. } => *attempt,
        CoreEvent::Call(call) => call.attempt,
        CoreEvent::Rejected(rejected) => rejected.attempt,
        _ => 0,
    }
}

/// What the model itself reported as an error.
#[pyclass(extends = Event, frozen, module = "callgate.types")]
pub(crate) struct ModelError;

#[pymethods]
impl ModelError {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("code", "message")
    }

    /// The code it gave, `unspecified` without one.
    #[getter]
    fn code(slf: &Bound<'_, Self>) -> String {
        model_error(slf).map_or_else(String::new, |error| error.code.clone())
    }

    /// What it said.
    #[getter]
    fn message(slf: &Bound<'_, Self>) -> String {
        model_error(slf).map_or_else(String::new, |error| error.message.clone())
    }
}

fn model_error<'a>(slf: &'a Bound<'_, ModelError>) -> Option<&'a callgate::ModelError> {
    match &slf.as_super().get().inner {
        CoreEvent::ModelError(error) => Some(error),
        _ => None,
    }
}

/// One thing the gate noticed: what, where, and what to do about it.
#[pyclass(extends = Event, frozen, module = "callgate.types")]
pub(crate) struct Finding;

#[pymethods]
impl Finding {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("code", "message")
    }

    /// The stable word for what kind of thing this is.
    #[getter]
    fn code(slf: &Bound<'_, Self>) -> &'static str {
        finding(slf).map_or("", |finding| finding.code.word())
    }

    /// `info`, `warning` or `error`.
    #[getter]
    fn severity(slf: &Bound<'_, Self>) -> String {
        finding(slf).map_or_else(String::new, |finding| finding.severity().to_string())
    }

    /// What happened, in one sentence about this input.
    #[getter]
    fn message(slf: &Bound<'_, Self>) -> String {
        finding(slf).map_or_else(String::new, |finding| finding.message.to_string())
    }

    /// What to do.
    #[getter]
    fn help(slf: &Bound<'_, Self>) -> String {
        finding(slf).map_or_else(String::new, |finding| finding.help.to_string())
    }

    /// Where in the arguments, as a JSON pointer.
    #[getter]
    fn path(slf: &Bound<'_, Self>) -> String {
        finding(slf).map_or_else(String::new, |finding| finding.path.clone())
    }

    /// How often it happened, where repeats are counted instead of listed.
    #[getter]
    fn count(slf: &Bound<'_, Self>) -> usize {
        finding(slf).map_or(0, |finding| finding.count)
    }

    fn __str__(slf: &Bound<'_, Self>) -> String {
        finding(slf).map_or_else(String::new, CoreFinding::to_string)
    }
}

fn finding<'a>(slf: &'a Bound<'_, Finding>) -> Option<&'a CoreFinding> {
    match &slf.as_super().get().inner {
        CoreEvent::Finding(finding) => Some(finding),
        _ => None,
    }
}

/// Findings as a tuple; `marks` says of each where it stands in characters.
pub(crate) fn findings<'py>(
    py: Python<'py>,
    findings: &[CoreFinding],
    marks: impl Fn(usize) -> Marks,
) -> PyResult<Bound<'py, PyTuple>> {
    let objects = findings
        .iter()
        .enumerate()
        .map(|(at, finding)| to_python(py, CoreEvent::Finding(finding.clone()), marks(at)));
    PyTuple::new(py, objects.collect::<PyResult<Vec<_>>>()?)
}
