//! The question of the profile `labelled`: is the model done?

use crate::gate::Gate;

/// Whether a response says that the work is finished. Never in endless mode, and never while it calls tools.
///
/// A marker counts on a line of its own (`DONE`, `GOAL_ACHIEVED`, `GOAL_COMPLETE`) or as the label of a line
/// (`DONE:`, `IDLE:`, `PARK:`), so `I am NOT DONE yet` is not done.
pub fn is_done(text: &str, gate: &Gate, endless: bool) -> bool {
    if endless {
        return false;
    }
    let marked = text.lines().map(str::trim).any(|line| {
        matches!(line, "DONE" | "GOAL_ACHIEVED" | "GOAL_COMPLETE")
            || ["DONE:", "IDLE:", "PARK:"].iter().any(|label| line.starts_with(label))
    });
    if !marked {
        return false;
    }
    let response = gate.parse(text);
    response.calls.is_empty() && response.rejected.is_empty()
}
