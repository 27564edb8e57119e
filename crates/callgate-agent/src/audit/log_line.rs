//! The log line of a rejected call, as monitoring of the profile `structured` expects it, made from its record.

use serde_json::{Value, json};

/// The record of a rejected call as one JSON object; nothing for other records. What the model wrote is in it only as far
/// as the record keeps values.
pub fn error_line(record: &Value) -> Option<Value> {
    let details = &record["details"];
    // Logs of earlier versions say `refused`, and have no code of the document.
    let code = match (details["verdict"].as_str()?, &details["error_code"]) {
        ("rejected" | "refused", Value::Null) => &details["findings"][0],
        ("rejected" | "refused", code) => code,
        _ => return None,
    };
    Some(json!({
        "timestamp": record["ts"],
        "level": "error",
        "component": "tool-call-parser",
        "error_code": code,
        "message": record["message"],
        "tool_name": record["action"],
        "raw_arguments": details["raw"],
        "error_position": details["error_position"],
        "validation_errors": details["validation_errors"],
        "repair_attempted": details["repair_attempted"],
        // It was rejected, so that repair did not succeed.
        "repair_success": false,
        "request_id": record["correlation_id"],
    }))
}
