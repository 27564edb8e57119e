//! Prompts: the section that teaches a model its tools and its format, made from the same records that parse.

use std::fmt::Write;

use super::Profile;
use super::table::BLOCKS;
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
        registry.all_compiled().filter_map(|tool| call(self, tool)).collect()
    }
}

pub(super) fn prompt(profile: &Profile, registry: &Registry) -> String {
    let mut rules = about_first(profile.row.rules, registry);
    let files = files(profile, registry);
    if !files.is_empty() {
        rules.push_str("\nA whole file, such as a page or its style sheet, is written in one call:\n\n");
        rules.push_str(&files.join("\n\n"));
        rules.push('\n');
    }
    let mut text = section(&rules, &profile.examples(registry), registry);
    text.push_str(profile.row.ending);
    text
}

/// Calls that write the files which the profile shows, by the first tool that writes files.
fn files(profile: &Profile, registry: &Registry) -> Vec<String> {
    let written = |record: &Record, tool: &CompiledTool| -> Option<Vec<String>> {
        let calls = profile.row.files.iter().map(|(path, text)| {
            let arguments = tool.file_example(path, text)?.to_string();
            let call = RenderCall { id: None, name: &tool.tool.name, arguments: &arguments };
            record.render(&[call], None, None).ok()
        });
        calls.collect()
    };
    let found = profile.teaches().and_then(|record| {
        let mut tools = registry.all_compiled();
        tools.find_map(|tool| written(record, tool))
    });
    found.unwrap_or_default()
}

/// Rules about the first tool.
fn about_first(text: &str, registry: &Registry) -> String {
    let first = registry.all_compiled().next();
    let name = first.map_or("tool", |tool| tool.tool.name.as_str());
    let arguments = first.map_or_else(|| "{}".to_owned(), arguments);
    // The arguments come last, so that nothing in them is taken for a placeholder.
    text.replace("{tool}", name).replace("{arguments}", &arguments)
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

/// An example of a call of a tool, where the dialect can write it.
pub(super) fn call(record: &Record, tool: &CompiledTool) -> Option<String> {
    let arguments = arguments(tool);
    let call = RenderCall { id: None, name: &tool.tool.name, arguments: &arguments };
    // Some formats give every call an id.
    let with_id = RenderCall { id: Some("call_1"), ..call };
    record.render(&[call], None, None).or_else(|_| record.render(&[with_id], None, None)).ok()
}

/// An example of a tool's arguments, as JSON.
pub(super) fn arguments(tool: &CompiledTool) -> String {
    tool.example().to_string()
}
