//! What the profile `labelled` adds: the markers with which a model says that it is done, and words of its document.

use super::message;
use crate::event::Rejected;
use crate::finding::{Code, Finding};

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

/// What stands before the message of a finding.
pub(super) fn lead(finding: &Finding, _name: &str) -> String {
    match finding.code {
        Code::BadJson | Code::RepairRefused => "JSON Parse Error: ".to_owned(),
        _ => String::new(),
    }
}

/// The document's words for lines that are no argument and blocks that never end.
pub(super) fn rewords(finding: &Finding) -> Option<String> {
    let message = &finding.message;
    if let Some(rest) = message.strip_prefix("an argument line is written `key: value`, but this one is ") {
        return Some(format!("Invalid argument line: {}", rest.trim_matches('`')));
    }
    let (key, rest) = message.strip_prefix("the block of `")?.split_once('`')?;
    rest.starts_with(" has no line").then(|| format!("Unterminated block for {key}: it{rest}"))
}

/// What is wrong with a rejected call, all of it.
pub(super) fn error(sentences: &[(Code, &'static str)], rejected: &Rejected) -> String {
    let lead = rejected.findings.iter().map(|finding| lead(finding, "")).find(|lead| !lead.is_empty());
    let one = |finding| rewords(finding).unwrap_or_else(|| message(sentences, finding).to_owned());
    lead.unwrap_or_default() + &rejected.findings.iter().map(one).collect::<Vec<_>>().join("; ")
}
