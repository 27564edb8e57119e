//! Framing: text in, attempts out. Templates of all listening dialects run as one program over the bytes.

pub(crate) mod draft;
pub(crate) mod instructions;
pub(crate) mod lines;
pub(crate) mod machine;
pub(crate) mod openers;
mod params;
pub(crate) mod program;
mod region;
pub(crate) mod threads;
