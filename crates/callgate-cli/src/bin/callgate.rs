//! The program `callgate`: everything it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(callgate_cli::main(std::env::args_os()))
}
