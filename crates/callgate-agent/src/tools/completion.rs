//! `attempt_completion`: how a model ends a question where every response has to be a call.

use callgate::Tool;
use serde_json::{Value, json};

use super::{Prepared, RunTool, ToolError, ToolErrorCode};
use crate::model::BoxFuture;

/// What the tool is called.
pub(crate) const COMPLETION: &str = "attempt_completion";

/// The tool that ends a question. It touches nothing, so nobody is asked about it.
#[derive(Clone, Debug)]
pub struct Completion {
    tool: Tool,
}

impl Completion {
    /// The tool.
    pub fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "result": {"type": "string", "minLength": 1, "description": "The answer to the user, whole."},
                "command": {
                    "type": "string",
                    "description": "A command with which the user can look at the result. It is shown, never run.",
                },
            },
            "required": ["result"],
            "additionalProperties": false,
        });
        let description =
            "Ends the task with an answer to the user. Call it alone, after the results of all other calls.";
        Completion { tool: Tool::new(COMPLETION, description, parameters) }
    }
}

impl Default for Completion {
    fn default() -> Self {
        Completion::new()
    }
}

impl RunTool for Completion {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        let prepared = match (arguments["result"].as_str(), arguments["command"].as_str()) {
            (None, _) => Err(ToolError::new(ToolErrorCode::BadArguments, "/result", "a string is missing")),
            (Some(result), None) => Ok(result.to_owned()),
            (Some(result), Some(command)) => Ok(format!("{result}\n\nTo look at it: {command}")),
        };
        let prepared = prepared.map(|said| Prepared::new(move || std::future::ready(Ok(said))));
        Box::pin(std::future::ready(prepared))
    }

    fn ends(&self) -> bool {
        true
    }
}
