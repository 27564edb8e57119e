//! What the profile `labelled` adds: the markers with which a model says that it is done.

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
