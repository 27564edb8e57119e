//! Import: the strings of an Arrow array, where they are, whoever made it.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::abi::{ARRAY, ArrowArray, ArrowArrayStream, ArrowSchema, SCHEMA, STREAM};
use crate::errors::Problem;

/// Who gives arrays. It keeps them alive.
pub(crate) enum Source<'py> {
    /// One array, whose capsules stay here.
    Array(Strings, #[allow(dead_code)] Bound<'py, PyAny>),
    /// A stream of them.
    Stream(Stream<'py>),
}

/// A stream whose type is known.
pub(crate) struct Stream<'py> {
    capsule: Bound<'py, PyCapsule>,
    layout: Layout,
}

/// How the strings of an array lie.
#[derive(Clone, Copy)]
enum Layout {
    Short,
    Long,
    Views,
    Nulls,
}

/// The strings of one array. A stream gives an array away, and then it is owned here.
pub(crate) struct Strings {
    array: *const ArrowArray,
    layout: Layout,
    _owned: Option<Box<ArrowArray>>,
}

// SAFETY: an array that was handed out is not changed by anybody, and its buffers may be read from any thread.
unsafe impl Send for Strings {}
// SAFETY: as above.
unsafe impl Sync for Strings {}

impl<'py> Source<'py> {
    /// The source that a value is, if it is one.
    pub(crate) fn of(value: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = value.py();
        if let Some(export) = value.getattr_opt("__arrow_c_array__")? {
            let pair = export.call0()?;
            let capsules = pair.cast::<PyTuple>()?;
            let schema = pointer::<ArrowSchema>(&capsules.get_item(0)?, SCHEMA)?;
            let array = pointer::<ArrowArray>(&capsules.get_item(1)?, ARRAY)?;
            // SAFETY: the capsules live as long as `pair`, which is kept.
            let layout = unsafe { layout(py, &*schema) }?;
            // SAFETY: as above.
            if unsafe { (*array).release.is_none() } {
                return Err(released(py));
            }
            return Ok(Some(Source::Array(Strings { array, layout, _owned: None }, pair)));
        }
        let Some(export) = value.getattr_opt("__arrow_c_stream__")? else { return Ok(None) };
        let capsule = export.call0()?.cast_into::<PyCapsule>()?;
        let stream = pointer::<ArrowArrayStream>(capsule.as_any(), STREAM)?;
        let mut schema = ArrowSchema::empty();
        // SAFETY: the capsule lives, and the functions of a stream may be called while it does.
        unsafe {
            let get =
                (*stream).get_schema.filter(|_| (*stream).release.is_some()).ok_or_else(|| released(py))?;
            check(py, stream, get(stream, &mut schema))?;
        }
        let layout = layout(py, &schema)?;
        Ok(Some(Source::Stream(Stream { capsule, layout })))
    }
}

impl Stream<'_> {
    /// The next array; `None` at the end.
    pub(crate) fn next(&mut self) -> PyResult<Option<Strings>> {
        let py = self.capsule.py();
        let stream = pointer::<ArrowArrayStream>(self.capsule.as_any(), STREAM)?;
        let mut array = Box::new(ArrowArray::empty());
        // SAFETY: the capsule lives.
        unsafe {
            let get = (*stream).get_next.ok_or_else(|| released(py))?;
            check(py, stream, get(stream, &mut *array))?;
        }
        if array.release.is_none() {
            return Ok(None);
        }
        Ok(Some(Strings { array: &*array, layout: self.layout, _owned: Some(array) }))
    }
}

/// What a capsule of this name points to.
fn pointer<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<*mut T> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.as_ptr().cast())
}

fn released(py: Python<'_>) -> PyErr {
    Problem::new("arrow-released", "this Arrow array was used up already", "make it anew").raise(py)
}

/// # Safety
/// The stream must live.
unsafe fn check(py: Python<'_>, stream: *mut ArrowArrayStream, code: i32) -> PyResult<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: the text lives until the stream is used again.
    let said = unsafe {
        let text = (*stream).get_last_error.map_or(std::ptr::null(), |get| get(stream));
        if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    };
    let message = format!("the Arrow stream failed with error {code}: {said}");
    Err(Problem::new("arrow-failed", message, "see to what makes the stream").raise(py))
}

fn layout(py: Python<'_>, schema: &ArrowSchema) -> PyResult<Layout> {
    let format = match schema.format.is_null() {
        true => "",
        // SAFETY: a schema's format is a C string that lives as long as the schema.
        false => unsafe { CStr::from_ptr(schema.format) }.to_str().unwrap_or_default(),
    };
    let is_dictionary = !schema.dictionary.is_null();
    match format {
        "u" if !is_dictionary => Ok(Layout::Short),
        "U" if !is_dictionary => Ok(Layout::Long),
        "vu" if !is_dictionary => Ok(Layout::Views),
        "n" => Ok(Layout::Nulls),
        other => {
            let kind = if is_dictionary { "a dictionary" } else { other };
            let message = format!("the Arrow array is not of strings (its format is {kind})");
            Err(Problem::new("arrow-type", message, "give one column of strings; cast it if need be")
                .raise(py))
        }
    }
}

impl Strings {
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.array().length).unwrap_or_default()
    }

    fn array(&self) -> &ArrowArray {
        // SAFETY: it is owned here, or kept by the source.
        unsafe { &*self.array }
    }

    /// The buffer at a place, null if there is none.
    fn buffer(&self, at: usize) -> *const c_void {
        let array = self.array();
        if array.buffers.is_null() || at as i64 >= array.n_buffers {
            return std::ptr::null();
        }
        // SAFETY: there are `n_buffers` of them.
        unsafe { *array.buffers.add(at) }
    }

    /// The text of a row: nothing for a null, the row's bytes otherwise.
    pub(crate) fn get(&self, row: usize) -> Result<Option<&str>, std::str::Utf8Error> {
        let at = row + usize::try_from(self.array().offset).unwrap_or_default();
        let valid = self.buffer(0).cast::<u8>();
        if matches!(self.layout, Layout::Nulls) {
            return Ok(None);
        }
        // SAFETY: the buffers of an array are as long as its rows want, by the specification.
        unsafe {
            if !valid.is_null() && *valid.add(at / 8) >> (at % 8) & 1 == 0 {
                return Ok(None);
            }
            let (bytes, start, length) = match self.layout {
                Layout::Short => {
                    let offsets = self.buffer(1).cast::<i32>();
                    let (start, end) =
                        (offsets.add(at).read_unaligned(), offsets.add(at + 1).read_unaligned());
                    (self.buffer(2).cast::<u8>(), i64::from(start), i64::from(end) - i64::from(start))
                }
                Layout::Long => {
                    let offsets = self.buffer(1).cast::<i64>();
                    let (start, end) =
                        (offsets.add(at).read_unaligned(), offsets.add(at + 1).read_unaligned());
                    (self.buffer(2).cast::<u8>(), start, end.saturating_sub(start))
                }
                Layout::Views | Layout::Nulls => self.view(at),
            };
            let (Ok(start), Ok(length)) = (usize::try_from(start), usize::try_from(length)) else {
                return Ok(None);
            };
            if length == 0 || bytes.is_null() {
                return Ok(Some(""));
            }
            std::str::from_utf8(std::slice::from_raw_parts(bytes.add(start), length)).map(Some)
        }
    }

    /// A view: its length, and the text itself if it is short, or where it is.
    ///
    /// # Safety
    /// The row must be one of the array's.
    unsafe fn view(&self, at: usize) -> (*const u8, i64, i64) {
        // SAFETY: each view has sixteen bytes.
        unsafe {
            let view = self.buffer(1).cast::<u8>().add(at * 16);
            let word = |n: usize| view.add(n * 4).cast::<i32>().read_unaligned();
            let length = i64::from(word(0));
            if length <= 12 {
                return (view.add(4), 0, length);
            }
            let buffer = usize::try_from(word(2)).unwrap_or(usize::MAX - 2);
            (self.buffer(2 + buffer).cast(), i64::from(word(3)), length)
        }
    }
}
