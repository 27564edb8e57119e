//! Every text of every fixture with the gate that reads it: what the promises are checked on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use callgate::{Gate, Record};
use serde_json::Value;

use super::soup::TOOLS;
use super::{Feed, dialect_fixtures, dialect_gate, fixture, gate, registry, text};

/// One text of a fixture.
pub(crate) struct Sample {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) gate: Gate,
    pub(crate) prompt_tail: Option<String>,
    /// The row it comes from.
    pub(crate) row: Value,
}

impl Sample {
    /// The way to feed it.
    pub(crate) fn feed(&self) -> Feed<'_> {
        Feed { prompt_tail: self.prompt_tail.as_deref(), ..Feed::new(&self.gate) }
    }
}

/// Gates by profile or dialect: rows differ from them in their tools.
#[derive(Default)]
struct Gates(BTreeMap<String, Gate>);

impl Gates {
    fn get(&mut self, name: &str, tools: &Value, build: impl FnOnce() -> Gate) -> Gate {
        let gate = self.0.entry(name.to_owned()).or_insert_with(build);
        gate.with_tools(registry(tools))
    }

    fn profile(&mut self, name: &str, tools: &Value) -> Gate {
        self.get(name, tools, || gate(name, tools))
    }

    fn dialect(&mut self, name: &str, tools: &Value) -> Gate {
        if Record::named(name).is_none() {
            return self.profile("standard", tools);
        }
        self.get(&format!("dialect {name}"), tools, || dialect_gate(name, tools))
    }
}

/// The samples of the dialects.
pub(crate) static DIALECT_SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let mut gates = Gates::default();
    let rows = dialect_fixtures().into_iter();
    let samples = rows.map(|row| Sample {
        id: format!("{}/{}", text(&row, "dialect"), text(&row, "case")),
        text: text(&row, "text").to_owned(),
        gate: gates.dialect(text(&row, "dialect"), &row["tools"]),
        prompt_tail: row["prompt_tail"].as_str().map(str::to_owned),
        row,
    });
    samples.collect()
});

/// All other texts: the seed cases, the failures of the field, the outputs of a small real model, and texts that once
/// broke a promise.
pub(crate) static OTHER_SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let mut gates = Gates::default();
    let mut samples = Vec::new();
    for row in fixture("seed_cases.jsonl") {
        let chunks: Option<String> =
            row["input"]["chunks"].as_array().map(|chunks| chunks.iter().filter_map(Value::as_str).collect());
        let Some(text) = row["input"]["text"].as_str().map(str::to_owned).or(chunks) else { continue };
        let id = super::text(&row, "id").to_owned();
        samples.push(Sample {
            id,
            text,
            gate: gates.profile(super::text(&row, "profile"), &row["tools"]),
            prompt_tail: None,
            row,
        });
    }
    for row in fixture("failures.jsonl") {
        if row["input_kind"] == "text" {
            samples.push(Sample {
                id: text(&row, "id").to_owned(),
                text: text(&row, "raw").to_owned(),
                gate: gates.dialect(text(&row, "dialect"), &row["tools"]),
                prompt_tail: row["prompt_tail"].as_str().map(str::to_owned),
                row,
            });
        }
    }
    for row in fixture("real_model_outputs.jsonl") {
        let gate = match text(&row, "dialect") {
            "tool_call_args" => gates.profile("labelled", &row["tools"]),
            "action_json" => gates.profile("action", &row["tools"]),
            "xml_json" | "xml_params" => gates.profile("strict-xml", &row["tools"]),
            "fenced_json" => gates.profile("fenced", &row["tools"]),
            "pythonic" => gates.dialect("pythonic", &row["tools"]),
            _ => gates.profile("standard", &row["tools"]),
        };
        let (id, text) = (text(&row, "id").to_owned(), text(&row, "output").to_owned());
        samples.push(Sample { id, text, gate, prompt_tail: None, row });
    }
    for row in fixture("once_broken.jsonl") {
        samples.push(Sample {
            id: text(&row, "id").to_owned(),
            text: text(&row, "text").to_owned(),
            gate: gates.dialect(text(&row, "dialect"), &TOOLS),
            prompt_tail: None,
            row,
        });
    }
    samples
});

/// All texts of all fixtures.
pub(crate) fn samples() -> impl Iterator<Item = &'static Sample> {
    DIALECT_SAMPLES.iter().chain(OTHER_SAMPLES.iter())
}

/// A gate with a name to show.
pub(crate) struct Listener {
    pub(crate) name: String,
    pub(crate) gate: Gate,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A gate for every profile and for every dialect by name, with the tools of the soups.
pub(crate) static LISTENERS: LazyLock<Vec<Listener>> = LazyLock::new(|| {
    let profiles = callgate::Profile::NAMES.iter();
    let profiles = profiles.map(|name| Listener { name: (*name).to_owned(), gate: gate(name, &TOOLS) });
    let dialects = Record::builtin().iter().map(|record| &*record.name);
    let dialects = dialects.map(|name| Listener { name: name.to_owned(), gate: dialect_gate(name, &TOOLS) });
    profiles.chain(dialects).collect()
});
