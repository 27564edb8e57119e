//! The Python package: a thin border around the crate `callgate`. It converts, and judges nothing itself.

mod arrow;
mod call;
mod chars;
mod command;
mod dialect;
mod errors;
mod event;
mod gate;
mod json;
mod many;
mod pickle;
mod repair;
mod response;
mod session;

use pyo3::prelude::*;

/// What `callgate` is made of; import it from there.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    event::name_classes(module)?;
    module.add_class::<arrow::ResponseArray>()?;
    module.add_class::<call::Coercion>()?;
    module.add_class::<call::Repair>()?;
    module.add_class::<dialect::Dialect>()?;
    module.add_class::<gate::Gate>()?;
    module.add_class::<many::Responses>()?;
    module.add_class::<repair::Repaired>()?;
    module.add_class::<response::Response>()?;
    module.add_class::<session::Session>()?;
    module.add_function(wrap_pyfunction!(call::load_coercion, module)?)?;
    module.add_function(wrap_pyfunction!(call::load_repair, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(dialect::detect, module)?)?;
    module.add_function(wrap_pyfunction!(dialect::for_model, module)?)?;
    module.add_function(wrap_pyfunction!(dialect::load_dialect, module)?)?;
    module.add_function(wrap_pyfunction!(dialect::named, module)?)?;
    module.add_function(wrap_pyfunction!(dialect::names, module)?)?;
    module.add_function(wrap_pyfunction!(dialect::parse, module)?)?;
    module.add_function(wrap_pyfunction!(event::load_event, module)?)?;
    module.add_function(wrap_pyfunction!(gate::knobs, module)?)?;
    module.add_function(wrap_pyfunction!(gate::load_gate, module)?)?;
    module.add_function(wrap_pyfunction!(repair::load_repaired, module)?)?;
    module.add_function(wrap_pyfunction!(repair::repair, module)?)?;
    module.add_function(wrap_pyfunction!(response::load_response, module)?)?;
    Ok(())
}
