//! The gateway: one address that makes tool calls reliable for any client and any model server.
//!
//! A client speaks the API it knows; the model's server is asked in one way; what the model writes goes through the gate,
//! and each API is a writer of the same events. Nothing is translated between providers' answers.

mod answer;
mod asked;
mod audit;
mod client;
pub mod config;
mod exchange;
mod faces;
mod fault;
mod form;
mod guard;
mod handlers;
mod known;
mod log;
mod metrics;
mod models;
#[cfg(feature = "otlp")]
mod otlp;
mod page;
mod patience;
mod plan;
mod recent;
mod records;
mod server;
mod settle;
mod shown;
mod situation;
mod spans;
mod tails;
mod trace;
mod unpack;
mod upstream;
pub mod verify;
mod wire;

pub use config::{Settings, SettingsError};
pub use server::{Gateway, Serving};
pub use situation::Situation;
pub use upstream::{Found, probe};
