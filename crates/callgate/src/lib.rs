//! Callgate: the controlled doorway between a language model and the tools it may call.
//!
//! Whatever the model writes, only a call that is explicit, complete, known, valid and permitted comes out, and
//! everything that did not is accounted for. The way through:
//!
//! ```text
//! chunks ─► framing (frame, dialect) ─► decoding (json) ─► validation (schema, registry) ─► verdict (judge, policy) ─► events
//! ```
//!
//! A [`Gate`] is compiled once from tools, dialects and policy; a [`Session`] reads one response, in chunks of any
//! size. Reading a whole text is a stream of one chunk. Only [`Event::Call`] authorises execution.

mod batch;
mod bytes;
mod chunk;
mod dialect;
mod echo;
mod effort;
mod ending;
mod event;
mod finding;
mod frame;
mod gate;
#[doc(hidden)]
pub mod internal;
mod json;
mod judge;
mod ledger;
mod native;
mod policy;
mod profile;
mod registry;
mod response;
mod schema;
mod session;
mod tools;

pub use chunk::Chunk;
pub use dialect::{Record, RecordError, RenderCall, Unrepresentable};
pub use ending::FinishReason;
pub use event::{Call, Choice, Coercion, CoercionCode, Event, ModelError, Rejected};
pub use finding::{Code, Finding, Severity, Span};
pub use gate::{Gate, GateBuilder, GateError};
pub use json::{Repair, RepairCode, Repaired, Safety, repair};
pub use native::NativeDelta;
pub use policy::Policy;
pub use profile::Profile;
pub use registry::{Registry, RegistryError, RegistryErrorCode, Tool};
pub use response::{Collector, Response};
pub use session::Session;
pub use tools::Tools;
