//! Many: a batch of responses read on all cores, from lists, iterators and Arrow arrays.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use callgate::{FinishReason, Gate, Response as CoreResponse};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyIterator, PyList, PyMapping, PySequence, PyString};

use crate::arrow::{Column, ResponseArray, Source, Strings, rows};
use crate::chars::Chars;
use crate::errors::{self, Problem, text, wrong_type};
use crate::response::{AllMarks, Response, all_marks};
use crate::session::reason;

/// How many texts a thread takes at a time.
const GRAIN: usize = 16;
/// How many texts are read before Python is asked whether somebody wants to interrupt.
const STRETCH: usize = 16 << 10;
/// How many texts of an iterator are read at a time, and how many bytes at most.
const BATCH: usize = 1024;
const BATCH_BYTES: usize = 4 << 20;
/// A batch of fewer bytes is done before threads have started.
const SMALL: usize = 32 << 10;

/// What holds for all texts, or for each its own.
enum Each<T> {
    All(T),
    Each(Vec<T>),
}

impl<T> Each<T> {
    fn get(&self, at: usize) -> Option<&T> {
        match self {
            Each::All(value) => Some(value),
            Each::Each(values) => values.get(at),
        }
    }

    fn len(&self) -> Option<usize> {
        match self {
            Each::All(_) => None,
            Each::Each(values) => Some(values.len()),
        }
    }
}

/// How the texts are to be read.
pub(crate) struct Options {
    prompt_tail: Each<Option<String>>,
    finish_reason: Each<(String, FinishReason)>,
    threads: usize,
}

/// One value for all texts, or a list with one for each.
fn each<'py, T>(
    value: &Option<Bound<'py, PyAny>>,
    name: &str,
    read: impl Fn(Option<Bound<'py, PyAny>>) -> PyResult<T>,
) -> PyResult<Each<T>> {
    let Some(value) = value else { return read(None).map(Each::All) };
    if value.is_instance_of::<PyString>() {
        return read(Some(value.clone())).map(Each::All);
    }
    if !value.is_instance_of::<PyBytes>() && value.cast::<PyMapping>().is_err() && value.try_iter().is_ok() {
        let one = |value: Bound<'py, PyAny>| read(Some(value).filter(|value| !value.is_none()));
        return value.try_iter()?.map(|value| one(value?)).collect::<PyResult<Vec<T>>>().map(Each::Each);
    }
    Err(wrong_type(value, name, "str or a list with one for each text"))
}

impl Options {
    pub(crate) fn new(
        py: Python<'_>,
        prompt_tail: &Option<Bound<'_, PyAny>>,
        finish_reason: &Option<Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let available = || std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Options {
            prompt_tail: each(prompt_tail, "prompt_tail", |tail| {
                Ok(errors::optional_text(&tail, "prompt_tail")?.map(str::to_owned))
            })?,
            finish_reason: each(finish_reason, "finish_reason", |word| reason(py, &word))?,
            threads: threads.unwrap_or_else(available).clamp(1, 256),
        })
    }

    /// Whoever gives one value for each text gives as many as there are texts.
    fn check(&self, py: Python<'_>, count: Option<usize>) -> PyResult<()> {
        let given = [("prompt_tail", self.prompt_tail.len()), ("finish_reason", self.finish_reason.len())];
        for (name, length) in given {
            if let Some(length) = length
                && Some(length) != count
            {
                let texts =
                    count.map_or_else(|| "an iterator of texts".to_owned(), |count| format!("{count} texts"));
                let message = format!("{name} has {length} values for {texts}");
                let help = "give one for all, or a list of texts and one value for each";
                return Err(Problem::new("wrong-count", message, help).raise(py));
            }
        }
        Ok(())
    }

    /// Reads one text.
    fn read(&self, gate: &Gate, at: usize, text: &str) -> (CoreResponse, AllMarks) {
        let mut session = gate.session();
        if let Some(Some(tail)) = self.prompt_tail.get(at) {
            session = session.with_prompt_tail(tail);
        }
        let mut collector = CoreResponse::collector();
        let mut end = FinishReason::Unknown;
        if let Some((word, reason)) = self.finish_reason.get(at) {
            collector.said(word);
            end = *reason;
        }
        session.push(text, &mut |event| collector.push(event));
        session.finish(end, &mut |event| collector.push(event));
        let response = collector.finish(end);
        let marks = if text.is_ascii() { None } else { all_marks(&response, &Chars::of(text)) };
        (response, marks)
    }

    /// Reads the texts from `from` on, on all threads.
    fn read_all<T: Send>(
        &self,
        count: usize,
        bytes: usize,
        one: impl Fn(usize) -> T + Sync,
    ) -> Result<Vec<T>, String> {
        let threads = if bytes < SMALL { 1 } else { self.threads.min(count.div_ceil(GRAIN)) };
        if threads <= 1 {
            return Ok((0..count).map(one).collect());
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            loop {
                let from = next.fetch_add(GRAIN, Ordering::Relaxed);
                if from >= count {
                    return done;
                }
                done.push((from, (from..(from + GRAIN).min(count)).map(&one).collect::<Vec<T>>()));
            }
        };
        let mut parts = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut parts = work();
            for other in others {
                parts.extend(other.join().map_err(|_| "a thread of parse_many panicked".to_owned())?);
            }
            Ok::<_, String>(parts)
        })?;
        parts.sort_by_key(|(from, _)| *from);
        Ok(parts.into_iter().flat_map(|(_, part)| part).collect())
    }
}

fn internal(py: Python<'_>, message: String) -> PyErr {
    Problem::new("internal", message, "this is a fault of callgate: report it with the input").raise(py)
}

/// Reads a batch of whatever form.
pub(crate) fn parse<'py>(
    py: Python<'py>,
    gate: &Gate,
    texts: &Bound<'py, PyAny>,
    options: Options,
) -> PyResult<Bound<'py, PyAny>> {
    if texts.is_instance_of::<PyString>()
        || texts.is_instance_of::<PyBytes>()
        || texts.cast::<PyMapping>().is_ok()
    {
        return Err(wrong_type(texts, "texts", "a list or iterator of str, or an Arrow array"));
    }
    match Source::of(texts)? {
        Some(Source::Array(strings, _kept)) => {
            options.check(py, Some(strings.len()))?;
            let chunks = vec![Arc::new(columns(py, gate, &options, &strings)?)];
            return Ok(Py::new(py, ResponseArray { chunks })?.into_bound(py).into_any());
        }
        Some(Source::Stream(mut stream)) => {
            options.check(py, None)?;
            let mut chunks = Vec::new();
            while let Some(strings) = stream.next()? {
                chunks.push(Arc::new(columns(py, gate, &options, &strings)?));
            }
            if chunks.is_empty() {
                chunks.push(Arc::new(rows(&[]).map_err(|_| too_large(py))?));
            }
            return Ok(Py::new(py, ResponseArray { chunks })?.into_bound(py).into_any());
        }
        None => {}
    }
    if texts.cast::<PySequence>().is_ok() {
        let list = PyList::empty(py);
        let all = backed(texts)?;
        options.check(py, Some(all.len()))?;
        for (at, stretch) in all.chunks(STRETCH).enumerate() {
            for (response, marks) in read(py, gate, &options, stretch, at * STRETCH)? {
                list.append(Py::new(py, Response::new(response, marks))?)?;
            }
            py.check_signals()?;
        }
        return Ok(list.into_any());
    }
    let Ok(iterator) = texts.try_iter() else {
        return Err(wrong_type(texts, "texts", "a list or iterator of str, or an Arrow array"));
    };
    options.check(py, None)?;
    let responses = Responses {
        gate: gate.clone(),
        options,
        state: Mutex::new((Some(iterator.unbind()), VecDeque::new())),
    };
    Ok(Py::new(py, responses)?.into_bound(py).into_any())
}

/// The texts of a list, which stay where they are.
fn backed(texts: &Bound<'_, PyAny>) -> PyResult<Vec<PyBackedStr>> {
    let one =
        |(at, value): (usize, PyResult<Bound<'_, PyAny>>)| -> PyResult<PyBackedStr> { back(&value?, at) };
    texts.try_iter()?.enumerate().map(one).collect()
}

fn back(value: &Bound<'_, PyAny>, at: usize) -> PyResult<PyBackedStr> {
    let name = format!("texts[{at}]");
    // For its message; what follows takes the same text.
    text(value, &name)?;
    value.extract()
}

fn read(
    py: Python<'_>,
    gate: &Gate,
    options: &Options,
    texts: &[PyBackedStr],
    from: usize,
) -> PyResult<Vec<(CoreResponse, AllMarks)>> {
    let bytes = texts.iter().map(|text| text.len()).sum();
    let one = |at: usize| options.read(gate, from + at, texts.get(at).map_or("", |text| text));
    py.detach(|| options.read_all(texts.len(), bytes, one)).map_err(|message| internal(py, message))
}

/// The rows of an Arrow array.
fn columns(py: Python<'_>, gate: &Gate, options: &Options, strings: &Strings) -> PyResult<Column> {
    let count = strings.len();
    let bad_row = Mutex::new(None);
    let mut all = Vec::with_capacity(count);
    for from in (0..count).step_by(STRETCH) {
        let one = |at: usize| match strings.get(from + at) {
            Ok(text) => text.map(|text| options.read(gate, from + at, text)),
            Err(_) => {
                if let Ok(mut row) = bad_row.lock() {
                    *row = Some(from + at);
                }
                None
            }
        };
        let part = py.detach(|| options.read_all(STRETCH.min(count - from), usize::MAX, one));
        all.extend(part.map_err(|message| internal(py, message))?);
        py.check_signals()?;
    }
    if let Ok(Some(row)) = bad_row.into_inner() {
        let message = format!("row {row} of the Arrow array is not UTF-8");
        return Err(Problem::new("arrow-text", message, "see to what makes the array").raise(py));
    }
    py.detach(|| rows(&all)).map_err(|_| too_large(py))
}

fn too_large(py: Python<'_>) -> PyErr {
    let message = "the results of this batch have more than 2 GiB of text in one column";
    Problem::new("arrow-size", message, "pass smaller batches").raise(py)
}

/// The responses to the texts of an iterator, which are read in batches.
#[pyclass(frozen, module = "callgate.types")]
pub(crate) struct Responses {
    gate: Gate,
    options: Options,
    #[allow(clippy::type_complexity)] // The iterator until it ends, and what was read of it.
    state: Mutex<(Option<Py<PyIterator>>, VecDeque<(CoreResponse, AllMarks)>)>,
}

#[pymethods]
impl Responses {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Response>> {
        let Ok(mut state) = self.state.try_lock() else {
            let help = "use an iterator from one thread at a time";
            return Err(
                Problem::new("iterator-busy", "another thread is using this iterator", help).raise(py)
            );
        };
        let (iterator, ready) = &mut *state;
        if ready.is_empty() {
            let mut texts = Vec::new();
            let mut bytes = 0;
            while let Some(iterator) = &*iterator
                && texts.len() < BATCH
                && bytes < BATCH_BYTES
            {
                match iterator.bind(py).clone().next() {
                    Some(value) => {
                        let text = back(&value?, texts.len())?;
                        bytes += text.len();
                        texts.push(text);
                    }
                    None => break,
                }
            }
            ready.extend(read(py, &self.gate, &self.options, &texts, 0)?);
            if texts.is_empty() {
                *iterator = None;
            }
        }
        Ok(ready.pop_front().map(|(response, marks)| Response::new(response, marks)))
    }
}
