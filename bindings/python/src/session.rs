//! Sessions: one response, fed in chunks; each chunk crosses the border once and comes back as a list of events.

use std::sync::{Mutex, MutexGuard, TryLockError};

use callgate::internal::batch;
use callgate::{Event as CoreEvent, FinishReason, NativeDelta, Session as CoreSession};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping, PyString};

use crate::chars::Chars;
use crate::errors::{self, Problem, optional_text, text, wrong_type};
use crate::event::{marks, to_python};
use crate::json;

/// The text above which other Python threads run while it is read. Giving the lock away costs as much as a small chunk.
pub(crate) const LARGE: usize = 4 << 10;

/// The reading of one response. Calls come out of `finish`.
#[pyclass(frozen, module = "callgate")]
pub(crate) struct Session {
    state: Mutex<State>,
}

struct State {
    /// Empty once the response is finished.
    session: Option<CoreSession>,
    chars: Chars,
}

/// Why a response ended: the provider's word, and what it means.
pub(crate) fn reason(py: Python<'_>, word: &Option<Bound<'_, PyAny>>) -> PyResult<(String, FinishReason)> {
    let word = optional_text(word, "finish_reason")?.unwrap_or_default();
    let reason =
        batch::finish_reason(word).map_err(|said| errors::setting(py, "unknown-finish-reason", &said))?;
    Ok((word.to_owned(), reason))
}

/// Gives a session the texts that are not to be trusted: one, or several.
pub(crate) fn distrust(session: &mut CoreSession, untrusted: &Option<Bound<'_, PyAny>>) -> PyResult<()> {
    let Some(untrusted) = untrusted else { return Ok(()) };
    if untrusted.is_instance_of::<PyString>() {
        session.untrusted(text(untrusted, "untrusted")?);
        return Ok(());
    }
    let Ok(texts) = untrusted.try_iter() else {
        return Err(wrong_type(untrusted, "untrusted", "str or a list of str"));
    };
    for one in texts {
        session.untrusted(text(&one?, "untrusted")?);
    }
    Ok(())
}

/// A session as the keyword arguments of a gate's methods want it.
pub(crate) fn prepared(
    session: CoreSession,
    prompt_tail: &Option<Bound<'_, PyAny>>,
    untrusted: &Option<Bound<'_, PyAny>>,
) -> PyResult<CoreSession> {
    let mut session = match optional_text(prompt_tail, "prompt_tail")? {
        Some(tail) => session.with_prompt_tail(tail),
        None => session,
    };
    distrust(&mut session, untrusted)?;
    Ok(session)
}

/// What a session is given.
#[derive(Clone, Copy)]
pub(crate) enum Fed<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl<'a> Fed<'a> {
    /// The text or the bytes of an argument.
    pub(crate) fn of(value: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        match value.cast::<PyBytes>() {
            Ok(bytes) => Ok(Fed::Bytes(bytes.as_bytes())),
            Err(_) if value.is_instance_of::<PyString>() => text(value, name).map(Fed::Text),
            Err(_) => Err(wrong_type(value, name, "str or bytes")),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Fed::Text(text) => text.len(),
            Fed::Bytes(bytes) => bytes.len(),
        }
    }

    pub(crate) fn feed(self, session: &mut CoreSession, sink: &mut dyn FnMut(CoreEvent<'_>)) {
        match self {
            Fed::Text(text) => session.push(text, sink),
            Fed::Bytes(bytes) => session.push_bytes(bytes, sink),
        }
    }

    pub(crate) fn count(self, chars: &mut Chars) {
        match self {
            Fed::Text(text) => chars.push(text),
            Fed::Bytes(bytes) => chars.push_bytes(bytes),
        }
    }
}

impl Session {
    pub(crate) fn new(session: CoreSession) -> Self {
        Session { state: Mutex::new(State { session: Some(session), chars: Chars::default() }) }
    }

    fn state(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            // A panic inside a reading has been told already; what is left is no reading of anything.
            Err(TryLockError::Poisoned(_)) => Err(closed(py)),
            Err(TryLockError::WouldBlock) => Err(Problem::new(
                "session-busy",
                "another thread is feeding this session",
                "feed a session from one thread at a time: the order of its chunks is the response",
            )
            .raise(py)),
        }
    }

    /// Feeds the session and lists the events.
    fn feed<'py>(
        &self,
        py: Python<'py>,
        feed: impl FnOnce(&mut CoreSession, &mut dyn FnMut(CoreEvent<'_>)),
    ) -> PyResult<Bound<'py, PyList>> {
        let mut state = self.state(py)?;
        let State { session, chars } = &mut *state;
        let Some(session) = session else { return Err(closed(py)) };
        let list = PyList::empty(py);
        let mut failed = None;
        feed(session, &mut |event| keep(&list, event, chars, &mut failed));
        failed.map_or(Ok(list), Err)
    }
}

/// Puts an event into the list.
fn keep(list: &Bound<'_, PyList>, event: CoreEvent<'_>, chars: &Chars, failed: &mut Option<PyErr>) {
    let marks = marks(&event, chars);
    let kept = to_python(list.py(), event.into_owned(), marks).and_then(|event| list.append(event));
    if let Err(error) = kept {
        failed.get_or_insert(error);
    }
}

/// A list of events that were read while other threads ran.
fn listed<'py>(
    py: Python<'py>,
    events: Vec<CoreEvent<'static>>,
    chars: &Chars,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    let mut failed = None;
    events.into_iter().for_each(|event| keep(&list, event, chars, &mut failed));
    failed.map_or(Ok(list), Err)
}

fn closed(py: Python<'_>) -> PyErr {
    let help = "make a session for each response: gate.session()";
    Problem::new("session-closed", "this session is finished", help).raise(py)
}

#[pymethods]
impl Session {
    /// Reads a chunk of text or bytes, cut anywhere, even inside a character.
    #[pyo3(signature = (chunk, /))]
    fn push<'py>(&self, py: Python<'py>, chunk: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let fed = Fed::of(chunk, "chunk")?;
        let mut state = self.state(py)?;
        let State { session, chars } = &mut *state;
        let Some(session) = session else { return Err(closed(py)) };
        fed.count(chars);
        if fed.len() > LARGE {
            let events = py.detach(|| {
                let mut events = Vec::new();
                fed.feed(session, &mut |event| events.push(event.into_owned()));
                events
            });
            return listed(py, events, chars);
        }
        let list = PyList::empty(py);
        let mut failed = None;
        fed.feed(session, &mut |event| keep(&list, event, chars, &mut failed));
        failed.map_or(Ok(list), Err)
    }

    /// Reads text that came as special tokens of the model's vocabulary. With `special="required"` markers that are such
    /// tokens count only here.
    #[pyo3(signature = (text, /))]
    fn push_special<'py>(&self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let text = errors::text(text, "text")?;
        let mut state = self.state(py)?;
        let State { session, chars } = &mut *state;
        let Some(session) = session else { return Err(closed(py)) };
        chars.push(text);
        let list = PyList::empty(py);
        let mut failed = None;
        session.push_special(text, &mut |event| keep(&list, event, chars, &mut failed));
        failed.map_or(Ok(list), Err)
    }

    /// Reads one delta of a structured provider call: by keywords, or as OpenAI writes it.
    #[pyo3(signature = (delta=None, /, *, index=None, id=None, name=None, arguments=None, done=false))]
    #[allow(clippy::too_many_arguments)] // They are the keywords of the method.
    fn native<'py>(
        &self,
        py: Python<'py>,
        delta: Option<Bound<'py, PyAny>>,
        index: Option<usize>,
        id: Option<Bound<'py, PyAny>>,
        name: Option<Bound<'py, PyAny>>,
        arguments: Option<Bound<'py, PyAny>>,
        done: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let (index, id, name, arguments) = match &delta {
            None => (index, id, name, arguments),
            Some(delta) => spread(delta)?,
        };
        let delta = NativeDelta {
            index,
            id: optional_text(&id, "id")?,
            name: optional_text(&name, "name")?,
            arguments: optional_text(&arguments, "arguments")?,
            done,
        };
        self.feed(py, |session, sink| session.native(delta, sink))
    }

    /// Reads a whole list of structured provider calls, as OpenAI and Ollama write it: a list, or its JSON text.
    #[pyo3(signature = (calls, /))]
    fn native_calls<'py>(&self, py: Python<'py>, calls: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let calls = json::encode(calls, "calls")?;
        self.feed(py, |session, sink| session.native_calls_text(&calls, sink))
    }

    /// Passes on reasoning that the provider sent apart from the text.
    #[pyo3(signature = (text, /))]
    fn reasoning<'py>(&self, py: Python<'py>, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let text = errors::text(text, "text")?;
        self.feed(py, |session, sink| session.reasoning(text, sink))
    }

    /// Gives text of the conversation that is not to be trusted: a call that it holds is an echo.
    #[pyo3(signature = (text, /))]
    fn untrusted(&self, py: Python<'_>, text: &Bound<'_, PyAny>) -> PyResult<()> {
        let text = errors::text(text, "text")?;
        self.feed(py, |session, _| session.untrusted(text)).map(drop)
    }

    /// Ends the response: what was held comes out, then every call and rejection. `reason` is the provider's word.
    #[pyo3(signature = (reason=None, /))]
    fn finish<'py>(
        &self,
        py: Python<'py>,
        reason: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (_, reason) = self::reason(py, &reason)?;
        let mut state = self.state(py)?;
        let Some(session) = state.session.take() else { return Err(closed(py)) };
        state.chars.finish();
        let chars = std::mem::take(&mut state.chars);
        drop(state);
        // What is judged at the end was read before.
        if chars.len() > LARGE {
            let events = py.detach(|| {
                let mut events = Vec::new();
                session.finish(reason, &mut |event| events.push(event.into_owned()));
                events
            });
            return listed(py, events, &chars);
        }
        let list = PyList::empty(py);
        let mut failed = None;
        session.finish(reason, &mut |event| keep(&list, event, &chars, &mut failed));
        failed.map_or(Ok(list), Err)
    }

    /// Whether the response is finished, so that nothing more can be fed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.state(py)?.session.is_none())
    }

    /// Whether text is held back because it may become a call.
    #[getter]
    fn is_holding(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.state(py)?.session.as_ref().is_some_and(CoreSession::is_holding))
    }

    /// Whether a call is being read.
    #[getter]
    fn is_calling(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.state(py)?.session.as_ref().is_some_and(|session| session.open_call().is_some()))
    }

    /// The name of the call that is being read, as far as it is known.
    #[getter]
    fn open_call(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let state = self.state(py)?;
        let open = state.session.as_ref().and_then(CoreSession::open_call);
        Ok(open.flatten().map(str::to_owned))
    }

    /// The names of the calls whose end has been seen, in order, until the response is finished.
    #[getter]
    fn completed(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let state = self.state(py)?;
        Ok(state.session.iter().flat_map(|session| session.completed().map(str::to_owned)).collect())
    }

    fn __repr__(&self, py: Python<'_>) -> &'static str {
        match self.state(py) {
            Ok(state) if state.session.is_some() => "<callgate.Session open>",
            Ok(_) => "<callgate.Session finished>",
            Err(_) => "<callgate.Session busy>",
        }
    }
}

/// The index, id, name and arguments of a delta.
type Spread<'py> =
    (Option<usize>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// A delta in OpenAI's form: `{"index", "id", "function": {"name", "arguments"}}`, flat, or objects with such attributes.
fn spread<'py>(delta: &Bound<'py, PyAny>) -> PyResult<Spread<'py>> {
    let is_mapping =
        |value: &Bound<'py, PyAny>| value.is_instance_of::<PyDict>() || value.cast::<PyMapping>().is_ok();
    let get = |from: &Bound<'py, PyAny>, key: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = match is_mapping(from) {
            true => Some(from.call_method1("get", (key,))?),
            false => from.getattr_opt(key)?,
        };
        Ok(value.filter(|value| !value.is_none()))
    };
    let has_fields = is_mapping(delta) || delta.hasattr("function")? || delta.hasattr("arguments")?;
    if !has_fields {
        return Err(wrong_type(delta, "delta", "a mapping or an object with `index`, `id` and `function`"));
    }
    let function = get(delta, "function")?.unwrap_or_else(|| delta.clone());
    let index = get(delta, "index")?.map(|index| index.extract::<usize>()).transpose()?;
    Ok((index, get(delta, "id")?, get(&function, "name")?, get(&function, "arguments")?))
}
