//! Pickling: a function of this module, and what it makes the object from again.

use pyo3::prelude::*;

/// What `__reduce__` gives.
pub(crate) type Reduced<'py, T> = PyResult<(Bound<'py, PyAny>, T)>;

/// The function of this name, with its arguments.
pub(crate) fn reduced<'py, T>(py: Python<'py>, load: &str, parts: T) -> Reduced<'py, T> {
    Ok((py.import("callgate._core")?.getattr(load)?, parts))
}
