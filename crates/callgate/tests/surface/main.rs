//! The public surface: its types are counted, and what a Rust user builds on keeps its word.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod chunks;
#[cfg(feature = "schemars")]
mod functions;
#[cfg(feature = "stream")]
mod stream;
#[path = "../support/mod.rs"]
mod support;
mod tools;
mod types;
mod wire;
