//! Feedback: what a model is told about a response, so that its next one can be right.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

use super::table::Row;
use super::{Profile, message, prompt};
use crate::dialect::Record;
use crate::dialect::turn::holds_token;
use crate::effort::Effort;
use crate::event::Rejected;
use crate::finding::{Code, Finding, Severity};
use crate::registry::Registry;
use crate::response::Response;
use crate::schema::CompiledTool;

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
    let mut effort = Effort::default();
    if !rejected.is_empty() {
        let _ = writeln!(text, "{}", opening(profile, rejected.len()));
    }
    for (number, rejected) in rejected.iter().enumerate() {
        let name = rejected.name.as_deref().map_or_else(|| "a call without a name".to_owned(), defuse);
        let _ = writeln!(text, "\n{}. {name}", number + 1);
        for finding in &rejected.findings {
            let _ = writeln!(text, "   - {}", line(profile, finding, &name, Some(rejected)));
        }
        if let Some(tool) = registry.and_then(|registry| tool_of(rejected, registry, &mut effort)) {
            expected(profile, &mut text, rejected, tool);
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

/// What would have been right: the schema of the tool that was meant, and a call of it.
fn expected(
    profile: &Profile,
    text: &mut String,
    rejected: &Rejected,
    (tool, is_meant): (&CompiledTool, bool),
) {
    let name = &tool.tool.name;
    let _ = writeln!(text, "   Expected schema for {name}: {}", tool.tool.parameters);
    // What only may be meant gets no more than its schema and a call.
    if let Some(more) = (profile.row.feedback.expects)(tool).filter(|_| is_meant) {
        let _ = writeln!(text, "   {more}");
    }
    let arguments = prompt::arguments(tool);
    let _ = match Record::named(&rejected.dialect).filter(|_| !is_in_wrong_place(rejected)) {
        None => writeln!(text, "   For example, {name} with the arguments {arguments}"),
        Some(record) => match prompt::call(record, tool).filter(|call| !holds_token(call)) {
            Some(call) => writeln!(text, "   For example:\n{}", call.trim_end_matches('\n')),
            None => {
                let call = object_of_call(name, &arguments);
                writeln!(text, "   For example, in the markup of your format: {call}")
            }
        },
    };
}

/// The tool that a rejected call is about, and whether it was named: otherwise it is the nearest to the name that was written.
fn tool_of<'r>(
    rejected: &Rejected,
    registry: &'r Registry,
    effort: &mut Effort,
) -> Option<(&'r CompiledTool, bool)> {
    let written = rejected.name.as_deref()?;
    if let Some(tool) = registry.compiled(written) {
        return Some((tool, true));
    }
    let is_unknown = rejected.findings.iter().any(|finding| finding.code == Code::UnknownTool);
    let nearest = is_unknown.then(|| effort.nearest(written, registry)).flatten()?.first()?;
    Some((registry.compiled(nearest)?, false))
}

/// Whether the call was written where or as no call is wanted, so that the same once more would be as wrong.
fn is_in_wrong_place(rejected: &Rejected) -> bool {
    let is_so = |finding: &Finding| matches!(finding.code, Code::ForeignDialect | Code::ShadowedByNative);
    rejected.findings.iter().any(is_so)
}

/// A call as an object, for formats whose markup is not to be quoted.
fn object_of_call(name: &str, arguments: &str) -> String {
    format!("{{\"name\": {}, \"arguments\": {arguments}}}", Value::from(name))
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
