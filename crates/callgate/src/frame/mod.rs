//! Framing: text in, attempts out. Templates of all listening dialects run as one program over the bytes.

mod closures;
pub(crate) mod instructions;
pub(crate) mod machine;
mod marks;
pub(crate) mod openers;
pub(crate) mod program;
mod region;
mod stops;
mod thread;
pub(crate) mod threads;
