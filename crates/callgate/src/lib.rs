//! Callgate: the controlled doorway between a language model and the tools it may call.
#![doc = include_str!("../README.md")]

mod attempt;
pub mod batch;
mod bytes;
pub mod dialect;
mod draft;
mod echo;
mod effort;
mod ending;
mod event;
mod finding;
mod frame;
mod gate;
pub mod json;
mod judge;
mod ledger;
mod native;
pub mod policy;
pub mod profile;
mod registry;
mod response;
pub mod schema;
mod session;
#[doc(hidden)]
pub mod shortcuts;

pub use dialect::Record;
pub use ending::FinishReason;
pub use event::{Call, Choice, Coercion, CoercionCode, Event, ModelError, Rejected};
pub use finding::{Code, Entry, Example, Finding, Severity, Span};
pub use gate::{Gate, GateBuilder, GateError};
pub use native::NativeDelta;
pub use policy::Policy;
pub use profile::Profile;
pub use registry::{Registry, RegistryError, RegistryErrorCode, Tool, nearest};
pub use response::{Collector, Response};
pub use session::Session;
