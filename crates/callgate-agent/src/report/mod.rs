//! Reports: pages that need no other file and run no script, and the looks that the gateway's own page shares with them.

mod coloured;
mod html;
mod part;

pub use coloured::{Note, coloured, legend};
pub use html::{Html, Shade, document};
pub use part::{Part, PartKind};

/// The looks of every page.
pub const STYLE: &str = include_str!("style.css");
