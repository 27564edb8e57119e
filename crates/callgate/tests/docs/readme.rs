//! The part of the README that is made: the library example.

use super::{block, replaced};

const EXAMPLE: &str = include_str!("readme_example.rs");

/// The README with its made part fresh.
pub(crate) fn page(there: &str) -> String {
    let (_, code) = EXAMPLE.split_once("\n\n").unwrap_or(("", EXAMPLE));
    replaced(there, "example", &block("rust", &code.replace("pub(crate) fn main", "fn main")))
}
