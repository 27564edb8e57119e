//! Framing: text in, attempts out. Templates of all listening dialects run as one program over the bytes.

mod argued;
mod closures;
mod expression;
pub(crate) mod instructions;
mod labels;
mod likeness;
pub(crate) mod machine;
mod marks;
pub(crate) mod openers;
pub(crate) mod program;
mod region;
mod shown;
mod slips;
mod specials;
mod stops;
mod thread;
pub(crate) mod threads;

use std::sync::Arc;

use crate::rules::Rules;

/// What all sessions of a gate share: the program that frames, and the rules that judge.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) program: Arc<program::Program>,
    pub(crate) openers: Arc<openers::Openers>,
    pub(crate) rules: Rules,
}
