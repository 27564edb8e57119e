//! Asks a model again, with the gate's own feedback, until its calls stand or the patience is over.
//!
//! ```console
//! $ cargo run -q -p callgate --example retry_loop
//! attempt 1: unknown-tool
//! attempt 2: missing-argument
//! attempt 3: get_weather {"city": "Oslo"}
//! ```

use std::error::Error;

use callgate::{Gate, Registry, Response};

const ATTEMPTS: usize = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let tools = Registry::from_json(
        r#"[{"name": "get_weather", "parameters": {"type": "object", "required": ["city"],
             "properties": {"city": {"type": "string"}}}}]"#,
    )?;
    let gate = Gate::builder().tools(tools).build()?;

    let mut conversation = vec!["What is the weather in Oslo?".to_owned()];
    for attempt in 1..=ATTEMPTS {
        let answer = model(&conversation);
        let response = gate.parse(answer);
        let Some(feedback) = gate.profile().feedback(&response, gate.registry()) else {
            for call in &response.calls {
                println!("attempt {attempt}: {} {}", call.name, call.arguments);
            }
            return Ok(());
        };
        println!("attempt {attempt}: {}", codes(&response).join(", "));
        // What was rejected stays in the conversation, so that the feedback means something to the model.
        conversation.extend([answer.to_owned(), feedback]);
    }
    Err("the model did not find a call that stands".into())
}

/// Why the calls of a response were rejected.
fn codes(response: &Response) -> Vec<&'static str> {
    let findings = response.rejected.iter().flat_map(|attempt| &attempt.findings);
    findings.map(|finding| finding.code.word()).collect()
}

/// Stands in for a model that does what the feedback says: it names the tool, and what is missing.
fn model(conversation: &[String]) -> &'static str {
    match conversation.last().map_or("", String::as_str) {
        feedback if feedback.contains("city") => {
            r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>"#
        }
        feedback if feedback.contains("get_weather") => {
            r#"<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>"#
        }
        _ => r#"<tool_call>{"name": "weather_of", "arguments": {}}</tool_call>"#,
    }
}
