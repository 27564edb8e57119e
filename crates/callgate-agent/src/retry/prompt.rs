//! The message that asks again: a template per rejected call, or the profile's own feedback.

use callgate::internal::profile::defuse;
use callgate::{Gate, Rejected, Response};

use super::RetrySettings;

/// What a template may hold. Everything else in it stays as it is.
pub const PLACEHOLDERS: &[&str] =
    &["{error_message}", "{error_position}", "{malformed_json}", "{tool_name}", "{schema_example}"];

/// How many bytes of what the model wrote are quoted back: enough to recognise it, too little to carry a message.
const QUOTE: usize = 2048;

/// The message about everything that is rejected in a response.
pub(super) fn prompt(gate: &Gate, settings: &RetrySettings, response: &Response, was_prose: bool) -> String {
    let template = settings.template.as_deref().or_else(|| gate.profile().retry_template());
    let body = match template {
        Some(template) if !response.rejected.is_empty() => {
            let per_call = response.rejected.iter().map(|rejected| filled(template, gate, rejected));
            per_call.collect::<Vec<_>>().join("\n\n")
        }
        _ => gate.profile().feedback(response, gate.registry()).unwrap_or_default(),
    };
    if was_prose {
        return format!("Your last answer held no tool call. A tool call is required.\n\n{body}");
    }
    body
}

/// A template with its placeholders filled in one pass, so that text of the model that looks like a placeholder is
/// left alone.
fn filled(template: &str, gate: &Gate, rejected: &Rejected) -> String {
    let mut out = String::with_capacity(template.len() + rejected.raw.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let name = PLACEHOLDERS.iter().find(|name| after.starts_with(**name));
        match name {
            Some(name) => {
                out.push_str(&value(name, gate, rejected));
                rest = &after[name.len()..];
            }
            None => {
                out.push('{');
                rest = &after[1..];
            }
        }
    }
    out + rest
}

fn value(placeholder: &str, gate: &Gate, rejected: &Rejected) -> String {
    let tool = || gate.registry()?.compiled(rejected.name.as_deref()?);
    match placeholder {
        "{error_message}" => {
            let said = rejected.findings.iter().map(|finding| {
                let place =
                    if finding.path.is_empty() { String::new() } else { format!(" (at {})", finding.path) };
                defuse(&format!("{}{place}. {}", gate.profile().message(finding), finding.help))
            });
            said.collect::<Vec<_>>().join("\n")
        }
        "{error_position}" => {
            let places = rejected.findings.iter().filter_map(|finding| match finding.span {
                Some(span) => Some(format!("byte {}", span.start)),
                None if !finding.path.is_empty() => Some(defuse(&finding.path)),
                None => None,
            });
            let mut places: Vec<String> = places.collect();
            places.dedup();
            if places.is_empty() { "the call as a whole".to_owned() } else { places.join(", ") }
        }
        "{malformed_json}" => {
            let mut end = rejected.raw.len().min(QUOTE);
            while !rejected.raw.is_char_boundary(end) {
                end -= 1;
            }
            let more = if end < rejected.raw_len {
                format!(" … ({} bytes in all)", rejected.raw_len)
            } else {
                String::new()
            };
            defuse(&rejected.raw[..end]) + &more
        }
        "{tool_name}" => rejected.name.as_deref().map_or_else(|| "(no name)".to_owned(), defuse),
        "{schema_example}" => match tool() {
            Some(tool) => format!("{}\nSchema: {}", tool.example(), tool.tool.parameters),
            None => {
                let known: Vec<&str> =
                    gate.registry().into_iter().flat_map(|registry| registry.names()).collect();
                format!("the tools are {}", known.join(", "))
            }
        },
        _ => String::new(),
    }
}
