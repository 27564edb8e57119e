//! Plans: for each request, which gate judges it and how its model is asked.

use std::collections::VecDeque;
use std::sync::Mutex;

use callgate::internal::policy::{ExtraArgs, Foreign, RequireCall};
use callgate::{Gate, Profile, Record, Registry};
use callgate_agent::written::Written;
use serde_json::Value;

use crate::asked::{Asked, ToolChoice, name_of};
use crate::config::{CallsBy, Settings};
use crate::fault::Fault;
use crate::known::policy_of;

/// How many gates are kept: a client sends the same tools with every request.
const KEPT: usize = 64;

/// The dialect in which no text is a call.
const NO_TEXT: &str = "native";

/// How one request is asked and judged.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) gate: Gate,
    pub(crate) calls: CallsBy,
    /// The format that is taught where the server knows no tools.
    pub(crate) record: &'static Record,
    /// What the prompt ends with, where that begins the answer.
    pub(crate) prompt_tail: Option<String>,
    /// Whether llama-server is asked to leave thoughts in the text.
    pub(crate) keeps_thoughts: bool,
    /// What the server calls the model.
    pub(crate) model: String,
}

/// Makes plans, and keeps the gates of the last ones.
#[derive(Default)]
pub(crate) struct Planner {
    /// Gates without tools: what costs most is compiled once for each kind of request.
    bases: Kept<BaseKey>,
    gates: Kept<GateKey>,
}

/// What decides about everything of a gate but its tools.
#[derive(Clone, PartialEq, Eq)]
struct BaseKey {
    profile: &'static str,
    knobs: Value,
    dialect: Option<&'static str>,
    is_required: bool,
    parallel: bool,
    is_strict: bool,
}

#[derive(Clone, PartialEq, Eq)]
struct GateKey {
    base: BaseKey,
    tools: Vec<Written>,
}

/// The last gates, the most recent at the end.
struct Kept<K>(Mutex<VecDeque<(K, Gate)>>);

impl<K> Default for Kept<K> {
    fn default() -> Self {
        Kept(Mutex::default())
    }
}

impl<K: PartialEq> Kept<K> {
    fn get(&self, key: &K) -> Option<Gate> {
        let mut gates = self.0.lock().ok()?;
        let at = gates.iter().position(|(known, _)| known == key)?;
        let found = gates.remove(at)?;
        let gate = found.1.clone();
        gates.push_back(found);
        Some(gate)
    }

    fn keep(&self, key: K, gate: &Gate) {
        if let Ok(mut gates) = self.0.lock() {
            while gates.len() >= KEPT {
                gates.pop_front();
            }
            gates.push_back((key, gate.clone()));
        }
    }
}

impl Planner {
    /// The plan for a request.
    pub(crate) fn plan(&self, settings: &Settings, asked: &Asked, calls: CallsBy) -> Result<Plan, Fault> {
        let known = settings.row(&asked.model);
        let profile = known.and_then(|row| row.profile.as_deref()).and_then(Profile::named);
        // What its server calls it says more than what a client does.
        let own_name = settings.upstream_name(&asked.model);
        let by_name = Record::for_model(own_name).or_else(|| Record::for_model(&asked.model));
        let dialect = known.and_then(|row| row.dialect.as_deref()).and_then(Record::named).or(by_name);
        let profile = profile.unwrap_or_else(Profile::standard);
        let taught = dialect.or_else(|| profile.teaches()).or_else(|| Record::builtin().first());
        let record = taught.ok_or_else(|| Fault::new(500, "no-dialect", "there is no dialect at all"))?;
        let named = if calls == CallsBy::Prompt { Some(record) } else { dialect };
        // Without tools there is no call, whatever the words look like: they are asked for and passed on as they are.
        let has_tools = !asked.tools.is_empty();
        let calls = if has_tools || calls == CallsBy::Prompt { calls } else { CallsBy::Native };
        let dialect = if has_tools { named.map(|record| &*record.name) } else { Some(NO_TEXT) };
        let knobs = known.map_or(Value::Null, |row| row.policy.clone());
        let gate = self.gate(asked, &profile, knobs, dialect)?;
        Ok(Plan {
            gate,
            calls,
            record,
            prompt_tail: known.and_then(|row| row.prompt_tail.clone()),
            keeps_thoughts: calls == CallsBy::TextLlamaServer,
            model: own_name.to_owned(),
        })
    }

    fn gate(
        &self,
        asked: &Asked,
        profile: &Profile,
        knobs: Value,
        dialect: Option<&'static str>,
    ) -> Result<Gate, Fault> {
        let base = BaseKey {
            profile: profile.name(),
            knobs,
            dialect,
            is_required: matches!(asked.choice, ToolChoice::Required | ToolChoice::Named(_)),
            parallel: asked.parallel,
            is_strict: asked.is_strict(),
        };
        let key = GateKey { base, tools: meant(asked)? };
        if let Some(gate) = self.gates.get(&key) {
            return Ok(gate);
        }
        let registry = Registry::tolerant(&Written::Array(key.tools.clone()).to_value())
            .map_err(|error| Fault::bad_request(format!("{error}; {}", error.help())).at("tools"))?;
        let base = match self.bases.get(&key.base) {
            Some(gate) => gate,
            None => {
                let gate = build(&key.base, profile)?;
                self.bases.keep(key.base.clone(), &gate);
                gate
            }
        };
        let gate = base.with_tools(registry);
        self.gates.keep(key, &gate);
        Ok(gate)
    }
}

/// The tools that may be called: all, or the one that has to be.
fn meant(asked: &Asked) -> Result<Vec<Written>, Fault> {
    let ToolChoice::Named(name) = &asked.choice else {
        if asked.choice == ToolChoice::Required && asked.tools.is_empty() {
            return Err(
                Fault::bad_request("`tool_choice` requires a call, and there is no tool").at("tool_choice")
            );
        }
        return Ok(asked.tools.clone());
    };
    let tools: Vec<Written> =
        asked.tools.iter().filter(|tool| name_of(tool) == Some(name)).cloned().collect();
    if tools.is_empty() {
        let why = format!("`tool_choice` names {name}, which is not among the tools");
        return Err(Fault::bad_request(why).at("tool_choice"));
    }
    Ok(tools)
}

fn build(key: &BaseKey, profile: &Profile) -> Result<Gate, Fault> {
    let mut policy =
        policy_of(profile, &key.knobs).map_err(|why| Fault::new(500, "no-gate", why).at("policy"))?;
    if key.is_required {
        policy.require_call = RequireCall::Always;
    }
    if !key.parallel {
        policy.max_calls = 1;
    }
    if key.is_strict {
        policy.extra_args = ExtraArgs::Reject;
    }
    let reads_text = key.dialect != Some(NO_TEXT);
    if !reads_text {
        policy.foreign = Foreign::Ignore;
        // Nothing can be called, so nothing is missing.
        policy.require_call = RequireCall::Never;
    }
    let mut builder = Gate::builder().profile(*profile).policy(policy);
    for dialect in key.dialect.into_iter().chain(reads_text.then_some("auto")) {
        builder = builder.dialect(dialect);
    }
    builder.build().map_err(|error| Fault::new(500, "no-gate", error.to_string()))
}
