//! Requests: what can be asked through the border, in safe Rust.

use std::sync::{LazyLock, Mutex, PoisonError};

use callgate_core::internal::batch::{self, Conversation, Gates, about_repaired};
use callgate_core::{Finding, repair};
use serde_json::{Value, json};

/// How deep JSON may be that is to be repaired, as in the command.
const DEPTH: usize = 128;

/// The gates that were compiled so far: conversations that ask for the same share one.
static GATES: LazyLock<Mutex<Gates>> = LazyLock::new(|| Mutex::new(Gates::default().with_strict_tools()));

/// Opens a conversation as a JSON object says; no text is an empty object.
pub(crate) fn open(options: &str) -> Result<Conversation, Finding> {
    let asked = if options.trim().is_empty() { Ok(json!({})) } else { serde_json::from_str(options) };
    match asked {
        Ok(asked @ Value::Object(_)) => {
            let mut gates = GATES.lock().unwrap_or_else(PoisonError::into_inner);
            Conversation::open(&mut gates, &asked)
        }
        Ok(_) => Err(unusable("the options are not a JSON object")),
        Err(error) => Err(unusable(&format!("the options are not JSON: {error}"))),
    }
}

/// Any text as JSON, with what was changed: `{"output", "repairs"}`.
pub(crate) fn repaired(text: &str) -> Result<String, Finding> {
    let repaired = repair(text, DEPTH)?;
    let output = repaired.text.trim();
    Ok(format!("{{\"output\":{output},{}}}", about_repaired(&repaired)))
}

/// The error about a request that cannot be used.
pub(crate) fn unusable(message: &str) -> Finding {
    batch::unusable(message.to_owned())
}
