//! What the profile `labelled` adds: the markers with which a model says that it is done, and words of its document.

use super::messages;
use crate::event::Rejected;
use crate::finding::Code;

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

/// The document's words for lines that are no argument and blocks that never end.
pub(super) fn rewords(message: &str) -> Option<String> {
    if let Some(rest) = message.strip_prefix("an argument line is written `key: value`, but this one is ") {
        return Some(format!("Invalid argument line: {}", rest.trim_matches('`')));
    }
    let (key, rest) = message.strip_prefix("the block of `")?.split_once('`')?;
    rest.starts_with(" has no line").then(|| format!("Unterminated block for {key}: it{rest}"))
}

/// What is wrong with a rejected call, all of it.
pub(super) fn error(sentences: &[(Code, &'static str)], rejected: &Rejected) -> String {
    let said = messages(sentences, &rejected.findings).into_iter();
    said.map(|message| rewords(message).unwrap_or_else(|| message.to_owned())).collect::<Vec<_>>().join("; ")
}
