//! Feedback: what a model is told about a response, so that its next one can be right.

use std::borrow::Cow;
use std::fmt::Write;

use super::table::Row;
use super::{Profile, message, prompt};
use crate::event::Rejected;
use crate::finding::{Finding, Severity};
use crate::registry::Registry;
use crate::response::Response;

/// How much of what the model wrote is quoted back.
const QUOTE: usize = 400;

pub(super) fn feedback(
    profile: &Profile,
    response: &Response,
    registry: Option<&Registry>,
) -> Option<String> {
    let rejected: Vec<&Rejected> = response.rejected.iter().collect();
    let errors: Vec<&Finding> =
        response.findings.iter().filter(|finding| finding.severity() == Severity::Error).collect();
    if rejected.is_empty() && errors.is_empty() {
        return None;
    }
    let mut text = String::new();
    if !rejected.is_empty() {
        let _ = writeln!(text, "{}", opening(profile, rejected.len()));
    }
    for (number, rejected) in rejected.iter().enumerate() {
        let name = rejected.name.as_deref().map_or_else(|| "a call without a name".to_owned(), defuse);
        let _ = writeln!(text, "\n{}. {name}", number + 1);
        for finding in &rejected.findings {
            let _ = writeln!(text, "   - {}", line(profile, finding, &name, Some(rejected)));
        }
        if let Some(registry) = registry {
            expected(profile, &mut text, rejected, registry);
        }
        let quoted = defuse(&rejected.raw.chars().take(QUOTE).collect::<String>());
        if !quoted.trim().is_empty() {
            let _ = writeln!(text, "   You wrote: {quoted}");
        }
    }
    for finding in errors {
        let _ = writeln!(text, "{}", line(profile, finding, "", None));
    }
    let format = |registry| (profile.row.feedback.format)(profile.teaches()?, &rejected, registry);
    if let Some(format) = registry.and_then(format) {
        text.push_str(&format);
    }
    text.push_str("\nCorrect this and answer again. Send only what was rejected.\n");
    Some(text)
}

fn opening(profile: &Profile, count: usize) -> String {
    let calls = if count == 1 { "One call was rejected" } else { "Some calls were rejected" };
    profile.row.feedback.opening.replace("{calls}", calls)
}

fn line(profile: &Profile, finding: &Finding, name: &str, rejected: Option<&Rejected>) -> String {
    let Row { feedback, sentences, .. } = profile.row;
    let message =
        (feedback.rewords)(finding).map_or_else(|| Cow::Borrowed(message(sentences, finding)), Cow::Owned);
    let mut line = (feedback.lead)(finding, name);
    line.push_str(&defuse(&message));
    if !finding.path.is_empty() {
        let _ = write!(line, " (at {})", defuse(&finding.path));
    } else if let Some((row, column)) = rejected.and_then(|rejected| place(finding, rejected)) {
        let _ = write!(line, " (line {row}, column {column} of what you wrote)");
    }
    line.push_str(if line.ends_with(['.', '!', '?']) { " " } else { ". " });
    line.push_str(&defuse(&finding.help));
    line
}

/// Where a finding about broken text stands in what was rejected, counted from one as an editor does.
fn place(finding: &Finding, rejected: &Rejected) -> Option<(usize, usize)> {
    // The spans of a structured call are those of its arguments.
    let start = rejected.span.map_or(0, |span| span.start);
    let at = finding.span.filter(|span| Some(*span) != rejected.span)?.start.checked_sub(start)?;
    let before = rejected.raw.get(..at)?;
    let row = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Some((row, column))
}

/// What the tool's arguments should look like.
fn expected(profile: &Profile, text: &mut String, rejected: &Rejected, registry: &Registry) {
    let Some(tool) = rejected.name.as_deref().and_then(|name| registry.compiled(name)) else { return };
    let _ = writeln!(text, "   Expected schema for {}: {}", tool.tool.name, tool.tool.parameters);
    if let Some(more) = (profile.row.feedback.expects)(tool) {
        let _ = writeln!(text, "   {more}");
    }
    let example = profile.row.feedback.shows_calls.then(|| prompt::call(profile.teaches()?, tool)).flatten();
    match example {
        Some(call) => {
            let _ = writeln!(text, "   For example:\n{call}");
        }
        None => {
            let _ = writeln!(text, "   For example: {}", prompt::arguments(tool));
        }
    }
}

/// Text that is quoted to a model so that it cannot act as markup when it is read again: what markers are made of is
/// replaced by look-alikes, control characters by spaces.
pub fn defuse(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '<' => '‹',
            '>' => '›',
            '[' => '⟦',
            ']' => '⟧',
            '｜' | '|' => '¦',
            '✿' => '*',
            '◁' => '‹',
            '▷' => '›',
            '`' => '\'',
            '\n' | '\t' => c,
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}
