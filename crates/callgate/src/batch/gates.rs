//! Gates of a batch: what holds for lines that say nothing themselves, and a gate for each kind of line, compiled once.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Form, bad};
use crate::detect::{Candidate, Detector};
use crate::dialect::Record;
use crate::finding::{Code, Finding};
use crate::gate::Gate;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::registry::Registry;
use crate::registry::nearest;
use crate::response::Response;

/// How many compiled gates are kept.
const GATES: usize = 64;

/// What holds for lines that do not say otherwise, and the gates compiled so far.
#[derive(Clone, Debug)]
pub struct Gates {
    profile: Profile,
    tools: Option<Registry>,
    dialects: Vec<String>,
    model: Option<String>,
    records: Vec<Record>,
    /// Knobs of all lines, as flags set them.
    knobs: Vec<String>,
    /// Whether tool lists of lines are read strictly.
    strict_tools: bool,
    pub(super) form: Form,
    compiled: HashMap<String, Gate>,
    /// One gate per dialect and profile: others differ from it only in their tools.
    kinds: HashMap<String, Gate>,
    /// The dialects of the models that lines have named.
    models: HashMap<String, Option<String>>,
    /// Whether to say which dialect would have read a call.
    hints: bool,
}

/// What a line asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked<'l> {
    pub(super) tools: Option<&'l Value>,
    pub(super) dialect: Option<&'l Value>,
    pub(super) profile: Option<&'l Value>,
    pub(super) policy: Option<&'l Value>,
    pub(super) model: Option<&'l str>,
}

impl Default for Gates {
    fn default() -> Self {
        Gates::new(Profile::standard())
    }
}

impl Gates {
    /// Gates of this profile.
    pub fn new(profile: Profile) -> Self {
        Gates {
            profile,
            tools: None,
            dialects: Vec::new(),
            model: None,
            records: Vec::new(),
            knobs: Vec::new(),
            strict_tools: false,
            form: Form::default(),
            compiled: HashMap::new(),
            kinds: HashMap::new(),
            models: HashMap::new(),
            hints: false,
        }
    }

    /// The tools of lines that bring none.
    pub fn with_tools(mut self, tools: Registry) -> Self {
        self.tools = Some(tools);
        self
    }

    /// The dialects of lines that name none. They stand above the model of a line, which only lets guess.
    pub fn with_dialects(mut self, dialects: Vec<String>) -> Self {
        self.dialects = dialects;
        self
    }

    /// The model of lines that name none.
    pub fn with_model(mut self, model: &str) -> Self {
        self.model = Some(model.to_owned());
        self
    }

    /// A dialect of your own, for all lines.
    pub fn with_record(mut self, record: Record) -> Self {
        self.records.push(record);
        self
    }

    /// Knobs that are set for all lines, each as `KNOB=VALUE`; what a line sets itself stands above them.
    pub fn with_knobs(mut self, knobs: Vec<String>) -> Self {
        self.knobs = knobs;
        self
    }

    /// Rejects tool lists of lines that are not quite right, instead of reading them as they are meant.
    pub fn with_strict_tools(mut self) -> Self {
        self.strict_tools = true;
        self
    }

    /// How results are written.
    pub fn with_form(mut self, form: Form) -> Self {
        self.form = form;
        self
    }

    /// Says of a line in which no call is read which dialect would read one if it were asked for by name.
    pub fn with_hints(mut self) -> Self {
        self.hints = true;
        self
    }

    /// The dialect to ask for, if nothing came of a response.
    pub(super) fn hint(&self, gate: &Gate, response: &Response) -> Option<Candidate> {
        // Without a list, what looks like a call has been said by then. With one, only a text that has the name of a tool beside
        // punctuation is read again: a policy may ignore the formats that it does not ask for, without a word.
        let is_like = response.findings.iter().any(|finding| finding.code == Code::LooksLikeACall);
        if !self.hints || !is_like && gate.registry().is_none() {
            return None;
        }
        Detector::new(gate.registry().cloned()).hint(response)
    }

    /// Compiles the gate of lines that say nothing themselves, so that all clones have it.
    pub fn prepare(&mut self) -> Result<(), Finding> {
        self.get(Asked::default()).map(drop)
    }

    /// The gate for a line, compiled once for equal tools, dialect and profile.
    pub(super) fn get(&mut self, asked: Asked<'_>) -> Result<Gate, Finding> {
        let dialects = self.dialects(asked)?;
        let part = |value: Option<&Value>| value.map_or_else(String::new, Value::to_string);
        let kind = [dialects.join("\u{1}"), part(asked.profile), part(asked.policy)].join("\u{0}");
        let key = format!("{kind}\u{0}{}", part(asked.tools));
        if let Some(gate) = self.compiled.get(&key) {
            return Ok(gate.clone());
        }
        let gate = match (self.kinds.get(&kind), asked.tools) {
            (Some(gate), Some(tools)) => gate.with_tools(self.own_tools(tools)?),
            _ => self.build(asked, &dialects)?,
        };
        if self.kinds.len() >= GATES {
            self.kinds.clear();
        }
        self.kinds.entry(kind).or_insert_with(|| gate.clone());
        if self.compiled.len() >= GATES {
            self.compiled.clear();
        }
        self.compiled.insert(key, gate.clone());
        Ok(gate)
    }

    /// The dialects that a line is read with; none stands for those of its profile.
    fn dialects(&mut self, asked: Asked<'_>) -> Result<Vec<String>, Finding> {
        match asked.dialect {
            Some(Value::String(name)) => return Ok(vec![name.clone()]),
            Some(other) => return Err(bad(format!("`dialect` must be a name, not {other}")).path("/dialect")),
            None if !self.dialects.is_empty() => return Ok(self.dialects.clone()),
            None => {}
        }
        let of_line = asked.model.and_then(|model| self.dialect_of(model));
        let of_all = || self.model.as_deref().and_then(dialect_of);
        Ok(of_line.or_else(of_all).into_iter().collect())
    }

    /// Whether a line leaves its dialect to a model of which none is known.
    pub(super) fn has_unknown_model(&mut self, asked: Asked<'_>) -> bool {
        let by_model = asked.dialect.is_none() && self.dialects.is_empty();
        asked.model.filter(|_| by_model).is_some_and(|model| self.dialect_of(model).is_none())
    }

    /// The dialect of a model that a line names, looked up once.
    fn dialect_of(&mut self, model: &str) -> Option<String> {
        if let Some(known) = self.models.get(model) {
            return known.clone();
        }
        if self.models.len() >= GATES {
            self.models.clear();
        }
        let found = dialect_of(model);
        self.models.insert(model.to_owned(), found.clone());
        found
    }

    /// The tools that a line brings.
    fn own_tools(&self, tools: &Value) -> Result<Registry, Finding> {
        let read = if self.strict_tools { Registry::from_value } else { Registry::tolerant };
        read(tools).map_err(|error| bad(error.to_string()).help(error.help()).path("/tools"))
    }

    fn build(&self, asked: Asked<'_>, dialects: &[String]) -> Result<Gate, Finding> {
        let profile = match asked.profile {
            None => self.profile,
            Some(name) => name.as_str().and_then(Profile::named).ok_or_else(|| {
                let near = nearest(name.as_str().unwrap_or_default(), Profile::NAMES.iter().copied());
                let help = match near.as_slice() {
                    [] => format!("known are {}", Profile::NAMES.join(", ")),
                    near => format!("did you mean {}?", near.join(" or ")),
                };
                bad(format!("there is no profile {name}; {help}")).path("/profile")
            })?,
        };
        let mut policy = profile.policy();
        self.knobs.iter().try_for_each(|flag| policy.set_flag(flag)).map_err(bad)?;
        if let Some(knobs) = asked.policy {
            set(&mut policy, knobs)?;
        }
        let mut builder = Gate::builder().profile(profile).policy(policy);
        for record in &self.records {
            builder = builder.record(record.clone());
        }
        for name in dialects {
            builder = builder.dialect(name);
        }
        match asked.tools {
            Some(tools) => builder = builder.tools(self.own_tools(tools)?),
            None => {
                if let Some(tools) = &self.tools {
                    builder = builder.tools(tools.clone());
                }
            }
        }
        // All that is left to be wrong is what listens.
        builder.build().map_err(|error| bad(format!("{}; {}", error.message, error.help)).path("/dialect"))
    }
}

/// Sets the knobs of a line, one after the other, so that a fault has the place of its own.
fn set(policy: &mut Policy, knobs: &Value) -> Result<(), Finding> {
    let all = |policy: &mut Policy, knobs: &Value, path: String| {
        policy.set_all(knobs).map_err(|problem| {
            let is_told = problem.contains("; ");
            let finding = bad(format!("`policy`: {problem}")).path(path);
            if is_told { finding } else { finding.help("docs/policy.md has every knob with its values.") }
        })
    };
    let Value::Object(members) = knobs else { return all(policy, knobs, "/policy".to_owned()) };
    for (name, value) in members {
        let path = format!("/policy/{}", pointer_key(name));
        match value {
            Value::Object(inner) => {
                for (key, value) in inner {
                    let one = json!({name.as_str(): {key.as_str(): value}});
                    all(policy, &one, format!("{path}/{}", pointer_key(key)))?;
                }
            }
            value => all(policy, &json!({name.as_str(): value}), path)?,
        }
    }
    Ok(())
}

/// A key as a step of a JSON pointer.
fn pointer_key(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn dialect_of(model: &str) -> Option<String> {
    Record::for_model(model).map(|record| record.name.to_string())
}
