//! Decoding: any JSON-like value, read once as it arrives, copied where it is valid and spliced where it is not.
//!
//! One [`Reader`] reads JSON, Python literals, keyword arguments and private-quote literals: the grammars differ
//! only in what counts as written and what counts as repaired. Its output is always a prefix of valid JSON, beside a
//! [`Tape`] that says where each value stands in that text.

mod meter;
mod reader;
mod repair;
mod tape;
mod text;

#[cfg(feature = "careful")]
pub use meter::take_looked;
pub(crate) use reader::SEVERAL;
pub use reader::{End, Failure, Reader, ReaderState, Syntax};
pub use repair::{Repair, RepairCode, RepairEntry, Safety};
pub use tape::{Kind, Node, Tape, canonical};
pub use text::{escape_into, escape_pointer, unescape};
pub(crate) use text::{make_room, unescape_pointer};
