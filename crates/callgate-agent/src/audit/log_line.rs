//! The log line of a rejected call, as monitoring of the profile `structured` expects it.

use std::time::SystemTime;

use callgate::{Code, Profile, Rejected};
use serde_json::{Value, json};

use super::Redaction;
use crate::clock::timestamp;

/// A rejected call as one JSON object. What the model wrote is in it only as far as the redaction keeps values.
pub fn error_line(
    profile: &Profile,
    rejected: &Rejected,
    request_id: &str,
    now: SystemTime,
    redaction: &Redaction,
) -> Value {
    let first = rejected.findings.first();
    let code = first.map(|finding| finding.code);
    // Calls with unreadable JSON went through repair first; since they were rejected, repair did not succeed.
    let was_tried =
        matches!(code, Some(Code::BadJson | Code::RepairBudget | Code::Truncated | Code::LoneSurrogate))
            && profile.policy().repair != callgate::internal::policy::RepairPolicy::Off;
    json!({
        "timestamp": timestamp(now),
        "level": "error",
        "component": "tool-call-parser",
        "error_code": code.map(|code| profile.code(code).unwrap_or_else(|| code.word())),
        "message": code.map(|code| profile.sentence(code)),
        "tool_name": rejected.name,
        "raw_arguments": redaction.arguments(&rejected.raw.as_str().into()).as_str(),
        "repair_attempted": was_tried,
        "repair_success": false,
        "request_id": request_id,
    })
}
