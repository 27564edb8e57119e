//! Prompts: the section that teaches a model its tools and its format, made from the same records that parse.

use std::fmt::Write;

use super::{Kind, Profile};
use crate::dialect::{Record, RenderCall};
use crate::registry::Registry;
use crate::schema::CompiledTool;

impl Record {
    /// The section of a system prompt that teaches a model these tools in this dialect.
    pub fn prompt_section(&self, registry: &Registry) -> String {
        section(BLOCKS, &self.examples(registry), registry)
    }

    /// The calls that the section shows, one per tool that the dialect can write. Each parses.
    pub fn examples(&self, registry: &Registry) -> Vec<String> {
        registry
            .all_compiled()
            .filter_map(|tool| {
                let arguments = arguments(tool);
                let call = RenderCall { id: None, name: &tool.tool.name, arguments: &arguments };
                // Some formats give every call an id.
                let with_id = RenderCall { id: Some("call_1"), ..call };
                self.render(&[call], None, None).or_else(|_| self.render(&[with_id], None, None)).ok()
            })
            .collect()
    }
}

pub(super) fn prompt(profile: &Profile, registry: &Registry) -> String {
    let mut text = section(rules(profile), &examples(profile, registry), registry);
    if profile.kind == Kind::Action {
        text.push_str(
            "If you cannot go on, answer with an error object instead:\n\n\
             {\"type\": \"error\", \"code\": \"permission_denied\", \"message\": \"why\"}\n\n\
             The code is one of permission_denied, invalid_args, tool_not_found.\n",
        );
    }
    if profile.kind == Kind::StrictXml {
        text.push_str(
            "✓ The tag is the exact name of the tool; every tag is closed; JSON uses double quotes.\n\
             ✓ Parameters may also be tags: <tool><parameter>value</parameter></tool>.\n\
             ✗ No attributes, no other format, no call in a code block.\n",
        );
    }
    text
}

/// The tools, the rules of the format, and the examples.
fn section(rules: &str, examples: &[String], registry: &Registry) -> String {
    let mut text = String::from("# Tools\n\nYou may call these tools:\n\n");
    for tool in registry.all_compiled() {
        let description = tool.tool.description.trim();
        let _ = writeln!(
            text,
            "- `{}`{}{}",
            tool.tool.name,
            if description.is_empty() { "" } else { ": " },
            description
        );
        let _ = writeln!(text, "  parameters: {}", tool.tool.parameters);
    }
    text.push_str("\n# Format\n\n");
    text.push_str(rules);
    if !examples.is_empty() {
        text.push_str("\nOne example for each tool:\n\n");
        for example in examples {
            text.push_str(example);
            text.push_str("\n\n");
        }
    }
    text
}

pub(super) fn examples(profile: &Profile, registry: &Registry) -> Vec<String> {
    let Some(record) = record(profile).and_then(Record::named) else { return Vec::new() };
    record.examples(registry)
}

/// An example of a tool's arguments, as JSON.
pub(super) fn arguments(tool: &CompiledTool) -> String {
    tool.example().to_string()
}

/// The dialect that a profile teaches.
fn record(profile: &Profile) -> Option<&'static str> {
    match profile.kind {
        Kind::Structured => None,
        Kind::Standard | Kind::Strict | Kind::Guarded | Kind::Lenient => Some("hermes"),
        _ => profile.dialects().first().copied(),
    }
}

/// The rules where the examples say the rest.
const BLOCKS: &str = "To call a tool, write one block like those below, outside of code fences. Several blocks may follow each other.\n";

fn rules(profile: &Profile) -> &'static str {
    match profile.kind {
        Kind::Action => {
            "Structured output is mandatory. To call a tool, answer with one JSON object and nothing after it:\n\
             - always say \"type\": \"action\", name the tool, and put its arguments in \"args\";\n\
             - call one tool at a time;\n\
             - paths are relative and stay inside the repository;\n\
             - never invent the contents of a file.\n"
        }
        Kind::Structured => {
            "Call tools through the structured tool_calls channel only. Arguments are one JSON object.\n"
        }
        Kind::Fenced => {
            "To call a tool, write a ```json block with the keys \"tool\" and \"arguments\", starting on a line of its \
             own. JSON without a \"tool\" key is taken as data.\n"
        }
        Kind::Labelled => {
            "To call a tool, write a line TOOL_CALL: with its name and a line ARGS: with its arguments as JSON, both \
             at the start of a line. Several calls may follow each other.\n"
        }
        Kind::StrictXml => {
            "The strict XML format is the only one that is accepted: a tag named after the tool, around a JSON object \
             or around one tag for each parameter.\n"
        }
        Kind::Standard | Kind::Strict | Kind::Guarded | Kind::Lenient => BLOCKS,
    }
}
