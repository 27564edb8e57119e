//! Framing: text in, attempts out. Templates of all listening dialects run as one program over the bytes.

mod bytes;
pub(crate) mod draft;
pub(crate) mod instructions;
pub(crate) mod lines;
pub(crate) mod machine;
pub(crate) mod openers;
mod params;
pub(crate) mod program;
mod region;
mod stops;
pub(crate) mod threads;
