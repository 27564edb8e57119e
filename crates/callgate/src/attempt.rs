//! An attempt: what was read of a call, in text or from a provider, before it is judged.

mod places;

use std::sync::Arc;

use crate::finding::{Finding, Span};
use crate::json::{Repair, Tape};

/// The words under which formats keep the arguments.
pub(crate) const ARGUING: &[&str] = &[
    "arguments",
    "parameters",
    "args",
    "input",
    "params",
    "kwargs",
    "tool_input",
    "action_input",
    "function_arguments",
];

/// What was read of an attempt, ready to be judged.
#[derive(Debug)]
pub(crate) struct Attempt {
    /// Its number in the response.
    pub(crate) number: usize,
    pub(crate) dialect: Arc<str>,
    /// The frame in the input; none for structured provider calls.
    pub(crate) span: Option<Span>,
    /// The name as written; `None` where there is none, an error where it is not a string.
    pub(crate) name: Name,
    pub(crate) id: Option<String>,
    /// The ids of the calls that must be done first.
    pub(crate) after: Vec<String>,
    /// The arguments, or why there are none.
    pub(crate) arguments: Arguments,
    /// Where the values of the arguments stand in their text.
    pub(crate) tape: Tape,
    pub(crate) repairs: Vec<Repair>,
    /// Reasons to reject it that were found while reading.
    pub(crate) findings: Vec<Finding>,
    /// Things worth saying about it that reject nothing.
    pub(crate) notes: Vec<Finding>,
    /// The members of the call that its format does not have, shortened.
    pub(crate) strangers: Vec<String>,
    /// The text of the frame, up to a limit.
    pub(crate) raw: String,
    pub(crate) raw_len: usize,
    /// Whether its format writes values as text, without their types.
    pub(crate) untyped: bool,
    /// Whether the end of the frame was seen.
    pub(crate) closed: bool,
    /// How strings of JSON show the markers with which calls of its format begin, where values are text.
    pub(crate) shown_openers: Option<Arc<[String]>>,
    /// Whether nothing but its shape says that this is a call.
    pub(crate) unmarked: bool,
    /// What the object is if it is not a call.
    pub(crate) meaning: Meaning,
    /// Where the arguments begin in the input, so that positions inside them can be given.
    pub(crate) body_start: Option<usize>,
}

/// The name of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// As written.
    Written(String),
    /// There is none.
    Missing,
    /// It is not a string but this.
    Other(String),
}

impl Name {
    /// What was written.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Name::Written(text) | Name::Other(text) => Some(text),
            Name::Missing => None,
        }
    }

    /// Takes out what was written.
    pub(crate) fn take_text(&mut self) -> Option<String> {
        match std::mem::replace(self, Name::Missing) {
            Name::Written(text) | Name::Other(text) => Some(text),
            Name::Missing => None,
        }
    }
}

/// The arguments of an attempt.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// JSON text, valid by construction.
    Json(String),
    /// There are none, or only white space or null.
    Blank,
    /// They could not be read.
    Broken,
}

/// What an object turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A call.
    Call,
    /// An error that the model reports.
    Error { code: String, message: String },
    /// An answer in a frame of its own.
    Answer(String),
    /// Data that only looks a little like a call.
    Data,
}

/// The most characters of something that a message quotes.
const SHOWN: usize = 64;

/// The start of something the model wrote, with nothing in it that could act on a terminal.
pub(crate) fn shortened(key: &str) -> String {
    key.chars().take(SHOWN).flat_map(char::escape_debug).collect()
}
