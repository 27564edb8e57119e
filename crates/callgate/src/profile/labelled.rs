//! What the profile `labelled` adds: how its document speaks of broken JSON, and the markers with which a model says that it
//! is done.

use super::messages;
use crate::event::Rejected;
use crate::finding::{Code, Finding};

/// What stands before the message of a finding.
pub(super) fn lead(finding: &Finding, _name: &str) -> String {
    match finding.code {
        Code::BadJson | Code::RepairRefused => "JSON Parse Error: ".to_owned(),
        _ => String::new(),
    }
}

/// What is wrong with a rejected call, all of it.
pub(super) fn error(sentences: &[(Code, &'static str)], rejected: &Rejected) -> String {
    let lead = rejected.findings.iter().map(|finding| lead(finding, "")).find(|lead| !lead.is_empty());
    lead.unwrap_or_default() + &messages(sentences, &rejected.findings).join("; ")
}

/// Whether a text says that the work is finished.
///
/// A marker counts on a line of its own (`DONE`, `GOAL_ACHIEVED`, `GOAL_COMPLETE`) or as the label of a line
/// (`DONE:`, `IDLE:`, `PARK:`), so `I am NOT DONE yet` is not done.
pub(super) fn says_done(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| {
        matches!(line, "DONE" | "GOAL_ACHIEVED" | "GOAL_COMPLETE")
            || ["DONE:", "IDLE:", "PARK:"].iter().any(|label| line.starts_with(label))
    })
}
