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
//!
//! ```
//! use callgate::{Chunk, Event, FinishReason, Gate, Tool, Tools};
//!
//! #[derive(serde::Deserialize)]
//! struct Weather {
//!     city: String,
//!     days: u8,
//! }
//!
//! let schema = serde_json::json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
//!     "required": ["city", "days"],
//! });
//! let mut tools = Tools::new();
//! tools.add(Tool::new("weather", "The weather of a city.", schema), |asked: Weather| {
//!     format!("{} days of rain in {}", asked.days, asked.city)
//! })?;
//! let gate = Gate::builder().tools(tools.registry().clone()).build()?;
//!
//! // One session for each response. Here a trailing comma is repaired, and a string becomes the number it is.
//! let chunks: [Chunk; 3] = [
//!     "I'll check.\n<tool_call>{\"name\": \"weather\", \"argum".into(),
//!     "ents\": {\"city\": \"Oslo\", \"days\": \"3\",}}</tool_call>".into(),
//!     FinishReason::Stop.into(),
//! ];
//! let mut results = Vec::new();
//! for event in gate.session().events(chunks) {
//!     match event {
//!         Event::Text { text, .. } => print!("{text}"),
//!         Event::Call(call) => results.push(tools.run(&call)?),
//!         Event::Rejected(rejected) => println!("{}", rejected.findings[0].help),
//!         _ => {}
//!     }
//! }
//! assert_eq!(results, ["3 days of rain in Oslo"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | for | there is |
//! |---|---|
//! | a text that is whole | [`Gate::parse`], a [`Response`] |
//! | a stream | [`Session::push`] with a callback, [`Session::events`], `Session::event_stream` (feature `stream`) |
//! | calls that the provider sends apart from the text | [`Session::native`], [`Session::native_calls_text`], [`Chunk::Native`] |
//! | tools | [`Registry::from_json`], [`Tool::new`], `Tool::from_type` (feature `schemars`) |
//! | running them | [`Tools`], [`Call::arguments_as`] |
//! | what was rejected | [`Rejected`], [`Finding`], [`Profile::feedback`] |
//! | strictness | [`Profile`], [`Policy`] |
//! | formats of your own | [`Record::parse`], [`GateBuilder::record`] |
//! | broken JSON alone | [`repair`], [`repair_partial`] while it comes, [`repair_many`] for JSON lines, [`Schema::repair`] with a schema |

mod attempt;
mod batch;
mod bytes;
mod chunk;
mod detect;
mod dialect;
mod draft;
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
mod nearest;
mod policy;
mod profile;
mod reception;
mod registry;
mod repair;
mod response;
mod rules;
mod schema;
mod session;
mod shortcuts;
mod tools;
mod trial;
mod verdict;

pub use chunk::Chunk;
pub use dialect::{Record, RecordError, RenderCall, Unrepresentable};
pub use ending::FinishReason;
pub use event::{Call, Choice, Coercion, CoercionCode, Event, ModelError, Rejected};
pub use finding::{Code, Finding, Severity, Span};
pub use gate::{Gate, GateBuilder, GateError};
pub use json::{Repair, RepairCode, Safety};
pub use native::NativeDelta;
pub use policy::Policy;
pub use profile::Profile;
pub use registry::{Registry, RegistryError, RegistryErrorCode, Tool};
pub use repair::{Repaired, Schema, repair, repair_many, repair_partial};
pub use response::{Collector, Response};
pub use session::Session;
pub use tools::Tools;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
