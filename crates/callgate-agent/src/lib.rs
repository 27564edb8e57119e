//! The host's side of Callgate: everything between a judged call and the world.
//!
//! The gate itself is the crate `callgate`; nothing here reads a model's output a second way. A conversation needs a
//! model and tools, and what is not safe does not run until somebody is there to be asked:
//!
//! ```
//! use callgate::Tool;
//! use callgate_agent::cancel::Cancel;
//! use callgate_agent::chat::{Chat, Setting};
//! use callgate_agent::model::{Scripted, ScriptedTurn};
//! use callgate_agent::tools::Toolbox;
//!
//! #[derive(serde::Deserialize)]
//! struct Weather {
//!     city: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
//! let mut tools = Toolbox::new();
//! let weather = Tool::new("weather", "Says what the weather is.", schema);
//! tools.add_function(weather, |Weather { city }| async move { Ok(format!("It rains in {city}.")) })?;
//!
//! // A script in place of `model::Ollama` or `model::OpenAi`.
//! let model = Scripted::new([
//!     ScriptedTurn::text("<tool_call>{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>"),
//!     ScriptedTurn::text("Take a coat."),
//! ]);
//! let mut chat = Chat::begin(Setting::new(Box::new(model), tools)?, "Be brief.")?;
//! let answered = chat.ask("Do I need a coat in Oslo?", &Cancel::new(), &mut |_| {}).await;
//! assert_eq!((answered.text.as_str(), answered.turns), ("Take a coat.", 2));
//! chat.end()?;
//! # Ok(())
//! # }
//! ```
//!
//! What is here:
//!
//! - [`approval`]: which calls run unasked, which ask, which never run; a yes is for one call, once.
//! - [`audit`]: one line per decision, chained by hashes, on the disk before it counts.
//! - [`cancel`]: a switch that one side throws and any number of tasks wait for.
//! - [`chat`]: a conversation with tools, until the model answers or something is spent.
//! - [`clock`]: moments as text.
//! - [`config`]: the user's file, the folder's, environment and flags, every value with its origin; what a folder may set.
//! - [`guard`]: one session at a time in a folder.
//! - [`history`]: the conversation as typed messages, made valid before it is sent.
//! - [`id`]: ids that nobody can guess.
//! - [`model`]: clients of model servers, answers that somebody kept, and a scripted model.
//! - [`retry`]: what was rejected is asked for again; an engine without I/O, and its driver.
//! - [`tools`]: files of one folder, and running what was approved.
//! - [`visible`]: text made safe to look at.
//! - [`written`]: JSON that keeps how it was written.
//! - [`yaml`]: files of settings, every value with its line.

pub mod approval;
pub mod audit;
pub mod cancel;
pub mod chat;
pub mod clock;
pub mod config;
pub mod guard;
pub mod history;
pub mod id;
mod lock;
pub mod model;
mod program;
pub mod report;
pub mod retry;
mod script;
pub mod tools;
pub mod visible;
pub mod written;
pub mod yaml;

/// Bytes as lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}
