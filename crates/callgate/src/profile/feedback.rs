//! Feedback: what a model is told about a response, so that its next one can be right.

use std::fmt::Write;

use super::{Kind, Profile, prompt, strict_xml};
use crate::dialect::{Record, RenderCall};
use crate::event::Rejected;
use crate::finding::{Code, Finding, Severity};
use crate::registry::Registry;
use crate::response::Response;

/// How much of what the model wrote is quoted back.
const QUOTE: usize = 400;

pub(super) fn feedback(
    profile: &Profile,
    response: &Response,
    registry: Option<&Registry>,
) -> Option<String> {
    let refused: Vec<&Rejected> = response.rejected.iter().collect();
    let errors: Vec<&Finding> =
        response.findings.iter().filter(|finding| finding.severity() == Severity::Error).collect();
    if refused.is_empty() && errors.is_empty() {
        return None;
    }
    let mut text = String::new();
    if !refused.is_empty() {
        let _ = writeln!(text, "{}", opening(profile, refused.len()));
    }
    for (number, rejected) in refused.iter().enumerate() {
        let name = rejected.name.as_deref().map_or_else(|| "a call without a name".to_owned(), defuse);
        let _ = writeln!(text, "\n{}. {name}", number + 1);
        for finding in &rejected.findings {
            let _ = writeln!(text, "   - {}", line(profile, finding, &name));
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
        let _ = writeln!(text, "{}", line(profile, finding, ""));
    }
    if profile.kind == Kind::StrictXml
        && let Some(registry) = registry
    {
        strict_format(&mut text, &refused, registry);
    }
    text.push_str("\nCorrect this and answer again. Send only what was refused.\n");
    Some(text)
}

fn opening(profile: &Profile, count: usize) -> String {
    let calls = if count == 1 { "One call was refused" } else { "Some calls were refused" };
    match profile.kind {
        Kind::Labelled => format!("TOOL_CALL_PARSE_ERROR\n{calls}. The tool was not executed."),
        Kind::Fenced => format!("{calls} and not run."),
        _ => format!("{calls}. Nothing of it was run."),
    }
}

fn line(profile: &Profile, finding: &Finding, name: &str) -> String {
    let mut line = String::new();
    if profile.kind == Kind::StrictXml {
        let _ = write!(line, "{}: ", strict_xml::error_type(finding.code));
        if finding.code.kind() == "schema" {
            let _ = write!(line, "Tool {name} parameters invalid: ");
        }
    }
    if profile.kind == Kind::Fenced && matches!(finding.code, Code::BadJson | Code::RepairRefused) {
        line.push_str("Tool call JSON is malformed: ");
    }
    line.push_str(&defuse(&wording(profile, finding)));
    if !finding.path.is_empty() {
        let _ = write!(line, " (at {})", defuse(&finding.path));
    }
    line.push(' ');
    line.push_str(&defuse(&finding.help));
    line
}

/// The message, in the words of the profile's document where it has its own.
fn wording(profile: &Profile, finding: &Finding) -> String {
    if profile.kind == Kind::StrictXml
        && let Some(key) = finding.message.strip_prefix("missing required argument: ")
    {
        return format!("Missing required parameter: {key}");
    }
    finding.message.to_string()
}

/// What the tool's arguments should look like.
fn expected(profile: &Profile, text: &mut String, rejected: &Rejected, registry: &Registry) {
    let Some(tool) = rejected.name.as_deref().and_then(|name| registry.compiled(name)) else { return };
    let _ = writeln!(text, "   Expected schema for {}: {}", tool.tool.name, tool.tool.parameters);
    if profile.kind == Kind::StrictXml {
        let _ = writeln!(text, "   Required parameters: {}", tool.required().join(", "));
    }
    let _ = writeln!(text, "   For example: {}", prompt::arguments(tool));
}

/// The two forms of a block, for the tool that was meant or the first one.
fn strict_format(text: &mut String, refused: &[&Rejected], registry: &Registry) {
    let named = refused.iter().find_map(|rejected| registry.compiled(rejected.name.as_deref()?));
    let Some(tool) = named.or_else(|| registry.all_compiled().next()) else { return };
    let arguments = prompt::arguments(tool);
    let call = RenderCall { id: None, name: &tool.tool.name, arguments: &arguments };
    let Some(json_form) =
        Record::named("tool-xml").and_then(|record| record.render(&[call], None, None).ok())
    else {
        return;
    };
    let _ = writeln!(
        text,
        "\nThe strict XML format, with a JSON body:\n{json_form}\n\nor with parameter tags:\n<{}>",
        tool.tool.name
    );
    for key in tool.required() {
        let _ = writeln!(text, "  <{key}>value</{key}>");
    }
    let _ = writeln!(text, "</{}>", tool.tool.name);
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
