//! A tool of one's own: its schema decides what reaches it, its type what it gets.
//!
//! ```console
//! $ cargo run -q -p callgate --example own_tool
//! transfer 25 to bob
//! rejected: /amount
//! ```

use std::error::Error;

use callgate::{Gate, Registry, Tool};
use serde::Deserialize;
use serde_json::json;

/// The arguments of the tool.
#[derive(Deserialize)]
struct Transfer {
    to: String,
    amount: u32,
}

impl Transfer {
    fn run(&self) -> String {
        format!("transfer {} to {}", self.amount, self.to)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let schema = json!({
        "type": "object",
        "required": ["to", "amount"],
        "properties": {
            "to": {"type": "string", "minLength": 1},
            "amount": {"type": "integer", "minimum": 1, "maximum": 100},
        },
    });
    let mut tools = Registry::new();
    // Nothing about a call of a dangerous tool is guessed.
    tools.register(Tool::new("transfer", "Sends money.", schema).dangerous())?;
    let gate = Gate::builder().tools(tools).build()?;

    for amount in ["25", "2500"] {
        let response = gate.parse(&format!(
            r#"<tool_call>{{"name": "transfer", "arguments": {{"to": "bob", "amount": {amount}}}}}</tool_call>"#
        ));
        for call in &response.calls {
            match &*call.name {
                "transfer" => println!("{}", serde_json::from_str::<Transfer>(&call.arguments)?.run()),
                other => println!("nothing runs {other}"),
            }
        }
        for finding in response.rejected.iter().flat_map(|attempt| &attempt.findings) {
            println!("rejected: {}", finding.path);
        }
    }
    Ok(())
}
