//! Writes the JavaScript that loads the module: `callgate-glue MODULE FOLDER`. What `wasm-bindgen` the command does, in the
//! version that the lock file says, so that nothing has to be installed beside it.

use std::error::Error;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(module), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("give the module and the folder for what is made of it".into());
    };
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(true)
        // A new instance can take the place of one that has stopped.
        .reset_state_function(true)
        .remove_name_section(true)
        .remove_producers_section(true)
        .out_name("core")
        .generate(folder)?;
    Ok(())
}
