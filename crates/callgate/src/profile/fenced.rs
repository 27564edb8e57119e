//! What the profile `fenced` adds: how its document begins a message about broken JSON.

use crate::finding::{Code, Finding};

/// What stands before the message of a finding.
pub(super) fn lead(finding: &Finding, _name: &str) -> String {
    match finding.code {
        Code::BadJson | Code::RepairRefused => "Tool call JSON is malformed: ".to_owned(),
        _ => String::new(),
    }
}
