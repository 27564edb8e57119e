//! Framing: text in, attempts out. Templates of all listening dialects run as one program over the bytes.

pub(crate) mod draft;
pub(crate) mod instructions;
pub(crate) mod lines;
pub(crate) mod machine;
mod marks;
pub(crate) mod members;
pub(crate) mod openers;
mod params;
pub(crate) mod program;
mod region;
mod stops;
mod thread;
pub(crate) mod threads;
mod ways;
