//! What the profile `fenced` adds: how its document begins a message about broken JSON.

use super::message;
use crate::event::Rejected;
use crate::finding::{Code, Finding};

/// What stands before the message of a finding.
pub(super) fn lead(finding: &Finding, _name: &str) -> String {
    match finding.code {
        Code::BadJson | Code::RepairRefused => "Tool call JSON is malformed: ".to_owned(),
        _ => String::new(),
    }
}

/// What is wrong with a rejected call, all of it.
pub(super) fn error(sentences: &[(Code, &'static str)], rejected: &Rejected) -> String {
    let said = rejected.findings.iter().map(|finding| lead(finding, "") + message(sentences, finding));
    said.collect::<Vec<_>>().join("; ")
}
