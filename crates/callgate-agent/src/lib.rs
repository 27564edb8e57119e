//! The host's side of Callgate: everything between a judged call and the world.
//!
//! The gate itself is the crate `callgate`; nothing here reads a model's output a second way. What is here:
//!
//! - [`approval`]: which calls run unasked, which ask, which never run; a yes is for one call, once.
//! - [`audit`]: one line per decision, chained by hashes, on the disk before it counts.
//! - [`cancel`]: one hand that stops, many that notice.
//! - [`chat`]: a conversation with tools, until the model answers or something is spent.
//! - [`clock`]: moments as text.
//! - [`config`]: the user's file, the folder's, environment and flags, every value with its origin; what a folder may set.
//! - [`history`]: the conversation as typed messages, made valid before it is sent.
//! - [`id`]: ids that nobody can guess.
//! - [`model`]: clients of model servers, and a scripted model.
//! - [`retry`]: what was refused is asked for again; an engine without I/O, and its driver.
//! - [`tools`]: files of one folder, and running what was approved.
//! - [`visible`]: text made safe to look at.

pub mod approval;
pub mod audit;
pub mod cancel;
pub mod chat;
pub mod clock;
pub mod config;
pub mod history;
pub mod id;
pub mod model;
mod program;
pub mod retry;
mod script;
pub mod tools;
pub mod visible;

/// Bytes as lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}
