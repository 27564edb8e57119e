//! Dialects: how models write calls, as data. A [`Record`] holds the templates that both read and write one format.

pub(crate) mod balance;
mod builtin;
pub(crate) mod call_markers;
mod check;
mod guard;
mod import;
mod keys;
mod load;
mod misses;
mod record;
mod render;
mod shape;
mod spelling;
mod steps;
mod template;
pub(crate) mod turn;
mod write;

pub use import::{ImportError, import};
pub use load::RecordError;
pub use misses::Miss;
pub use record::Record;
pub use render::{RenderCall, Unrepresentable};
pub use shape::{Content, Member, Shape};
pub(crate) use spelling::{Piece, Repeats, markers, pieces, tokens};
pub use template::{Part, Slot, Template, is_word_character};
