//! Cases about the history that a conversation leaves.

use callgate_agent::history::Message;
use serde_json::{Value, json};

use super::{fault, gate, text};

pub(crate) fn faults(case: &Value) -> Vec<String> {
    let gate = gate(case);
    let mut results = case["input"]["tool_results"].as_array().into_iter().flatten();
    let mut history = Vec::new();
    for turn in case["input"]["turns"].as_array().into_iter().flatten() {
        let response = gate.parse(text(turn));
        history.extend(Message::from_response(&response));
        for call in &response.calls {
            let content = results.next().unwrap_or(&Value::Null).to_string();
            history.push(Message::ToolResult { call_id: call.id.clone(), name: call.name.clone(), content });
        }
    }
    let kinds: Vec<&str> = history.iter().map(Message::kind).collect();
    fault(&case["expect"], "history_types", json!(kinds)).into_iter().collect()
}
