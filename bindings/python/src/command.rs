//! The command, of which the package brings no second copy of the gate: `callgate` and `python -m callgate` call this.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with these words, the name of the program first, and gives its exit code. It takes the standard
/// streams and the signals, so it belongs to a process of its own.
#[pyfunction]
#[pyo3(name = "_command")]
pub(crate) fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| callgate_cli::main(words))
}
