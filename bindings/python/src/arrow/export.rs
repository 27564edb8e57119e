//! Export: columns handed to whoever asks for them, in the memory they are in.
#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;

use super::abi::{ARRAY, ArrowArray, ArrowArrayStream, ArrowSchema, NULLABLE, SCHEMA, STREAM};
use super::column::{Column, Data};

/// Responses as Arrow columns: one row for each text. Any library of Arrow takes it (`pyarrow.array`, `polars.Series`).
#[pyclass(frozen, module = "callgate.types")]
pub(crate) struct ResponseArray {
    pub(crate) chunks: Vec<Arc<Column>>,
}

#[pymethods]
impl ResponseArray {
    fn __len__(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.length).sum()
    }

    /// The type of the rows, as a capsule of Arrow.
    fn __arrow_c_schema__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let chunk = self.chunks.first().ok_or_else(|| PyValueError::new_err("there are no chunks"))?;
        capsule(py, Box::new(schema_of(chunk)), SCHEMA)
    }

    /// The type and the rows, as capsules of Arrow, where they are one chunk.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__(
        &self,
        py: Python<'_>,
        requested_schema: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        let _ = requested_schema; // The protocol leaves it to the producer.
        let [chunk] = self.chunks.as_slice() else {
            let message = "the rows are in several chunks: take them as a stream (pyarrow.chunked_array, polars.Series)";
            return Err(PyValueError::new_err(message));
        };
        Ok((
            capsule(py, Box::new(schema_of(chunk)), SCHEMA)?,
            capsule(py, Box::new(array_of(chunk.clone(), chunk)), ARRAY)?,
        ))
    }

    /// The chunks, as a capsule of an Arrow stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__(
        &self,
        py: Python<'_>,
        requested_schema: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let _ = requested_schema;
        let private = Box::new(Chunks { chunks: self.chunks.clone(), next: 0 });
        let stream = ArrowArrayStream {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private_data: Box::into_raw(private).cast(),
        };
        capsule(py, Box::new(stream), STREAM)
    }

    fn __repr__(&self) -> String {
        format!("<callgate.types.ResponseArray of {} rows in {} chunks>", self.__len__(), self.chunks.len())
    }
}

/// A capsule that owns a structure until somebody moves it out.
fn capsule<T>(py: Python<'_>, value: Box<T>, name: &'static std::ffi::CStr) -> PyResult<Py<PyAny>> {
    unsafe extern "C" fn destroy<T>(capsule: *mut ffi::PyObject) {
        // SAFETY: Python calls this once, with the capsule made below, whose name is the one it has.
        unsafe {
            let pointer = ffi::PyCapsule_GetPointer(capsule, ffi::PyCapsule_GetName(capsule));
            if !pointer.is_null() {
                // What was not moved out is released by its own drop.
                drop(Box::from_raw(pointer.cast::<T>()));
            }
        }
    }
    let pointer = Box::into_raw(value);
    // SAFETY: the pointer is that of a live box, the name lives as long as the program.
    unsafe {
        let made = ffi::PyCapsule_New(pointer.cast(), name.as_ptr(), Some(destroy::<T>));
        if made.is_null() {
            drop(Box::from_raw(pointer));
            return Err(PyErr::fetch(py));
        }
        Ok(Bound::from_owned_ptr(py, made).unbind())
    }
}

/// What a schema that was handed out points to.
struct SchemaParts {
    _format: CString,
    _name: CString,
    children: Vec<*mut ArrowSchema>,
}

fn schema_of(column: &Column) -> ArrowSchema {
    let (format, below): (&str, &[Column]) = match &column.data {
        Data::Texts { .. } => ("u", &[]),
        Data::Integers(_) => ("l", &[]),
        Data::Booleans(_) => ("b", &[]),
        Data::Lists { item, .. } => ("+l", std::slice::from_ref(&**item)),
        Data::Structs(fields) => ("+s", fields),
    };
    let children = below.iter().map(|child| Box::into_raw(Box::new(schema_of(child)))).collect();
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let mut parts = Box::new(SchemaParts { _format: text(format), _name: text(column.name), children });
    let (format, name) = (parts._format.as_ptr(), parts._name.as_ptr());
    ArrowSchema {
        format,
        name,
        flags: NULLABLE,
        n_children: parts.children.len() as i64,
        children: parts.children.as_mut_ptr(),
        metadata: std::ptr::null(),
        dictionary: std::ptr::null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(parts).cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the consumer calls this once, with a schema that `schema_of` made.
    unsafe {
        let Some(schema) = schema.as_mut() else { return };
        let parts = Box::from_raw(schema.private_data.cast::<SchemaParts>());
        for child in &parts.children {
            // Its drop releases it, unless the consumer has moved it out.
            drop(Box::from_raw(*child));
        }
        schema.release = None;
    }
}

/// What an array that was handed out points to. The columns themselves are shared.
struct ArrayParts {
    _root: Arc<Column>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

fn array_of(root: Arc<Column>, column: &Column) -> ArrowArray {
    // Even an empty buffer has an address.
    fn at<T>(buffer: &[T]) -> *const c_void {
        buffer.as_ptr().cast()
    }
    let valid = if column.nulls == 0 { std::ptr::null() } else { at(&column.valid) };
    let (buffers, below): (Vec<*const c_void>, &[Column]) = match &column.data {
        Data::Texts { offsets, bytes } => (vec![valid, at(offsets), at(bytes)], &[]),
        Data::Integers(values) => (vec![valid, at(values)], &[]),
        Data::Booleans(bits) => (vec![valid, at(bits)], &[]),
        Data::Lists { offsets, item } => (vec![valid, at(offsets)], std::slice::from_ref(&**item)),
        Data::Structs(fields) => (vec![valid], fields),
    };
    let children = below.iter().map(|child| Box::into_raw(Box::new(array_of(root.clone(), child)))).collect();
    let mut parts = Box::new(ArrayParts { _root: root, buffers, children });
    ArrowArray {
        length: column.length as i64,
        null_count: column.nulls as i64,
        n_buffers: parts.buffers.len() as i64,
        n_children: parts.children.len() as i64,
        buffers: parts.buffers.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        offset: 0,
        dictionary: std::ptr::null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(parts).cast(),
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: the consumer calls this once, with an array that `array_of` made.
    unsafe {
        let Some(array) = array.as_mut() else { return };
        let parts = Box::from_raw(array.private_data.cast::<ArrayParts>());
        for child in &parts.children {
            drop(Box::from_raw(*child));
        }
        array.release = None;
    }
}

/// The chunks of a stream that are still to be handed out.
struct Chunks {
    chunks: Vec<Arc<Column>>,
    next: usize,
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer gives the stream that was made here, and a place for a schema.
    unsafe {
        let chunks = &*(*stream).private_data.cast::<Chunks>();
        let Some(chunk) = chunks.chunks.first() else { return 22 };
        out.write(schema_of(chunk));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above.
    unsafe {
        let chunks = &mut *(*stream).private_data.cast::<Chunks>();
        let array = match chunks.chunks.get(chunks.next) {
            Some(chunk) => array_of(chunk.clone(), chunk),
            None => ArrowArray::empty(),
        };
        chunks.next += 1;
        out.write(array);
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut ArrowArrayStream) -> *const c_char {
    std::ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: as above; it is called once.
    unsafe {
        let Some(stream) = stream.as_mut() else { return };
        drop(Box::from_raw(stream.private_data.cast::<Chunks>()));
        stream.release = None;
    }
}
