//! The cases of the five source documents that a parser can answer, each read in its profile.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

#[path = "../support/forms.rs"]
mod forms;
mod responses;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;

use callgate::internal::policy::{ExtraArgs, Release, RepairPolicy, RequireCall};
use callgate::{Gate, Registry, Tool, repair};
use forms::strict_xml;
use serde_json::{Value, json};
use support::guard::guarded;
use support::{excerpt, fixture, profile, registry, rejections, same, text};

/// Cases that a ruling of the design contradicts, and the ruling.
const OVERRULED: &[(&str, &str)] =
    &[("GT-062", "a taken name is rejected: two tools of one name once made another tool's program run")];

/// What a case may ask with.
const INPUTS: &str = "\
    text text_gen chunks chunks_gen tool_calls tool_calls_gen deltas response stream stream_all_splits \
    stream_all_splits_text repair repair_twice repair_gen is_done validate render register \
    register_twice turns repeat";

/// What is checked of the answer.
const CHECKED: &str = "\
    kind text text_has calls errors runs notes success suggestion suggestion_nonempty parse_error \
    display retry raw shown_text all_succeeded total repairs finish_reason raw_arguments \
    error_raw_arguments error_position distinct_ids first_id ids identical_runs argument_length mistakes \
    per_turn per_chunk interrupted chunks_used error_fields same_for_every_split flush_before_end \
    pending model_message_has value was_repaired second_pass_repairs identical error_kind_any done valid \
    prompt_has every_example_parses exported_names register_error_has tool_count";

/// Members that say nothing about a parser: the other fields of a provider's answer, a time
/// (the work is bounded by a count), what the caller of a pure function still has, and a remark.
const NOT_OURS: &str = "\
    model usage max_ms original original_kept attempted why";

/// Settings that a gate or session takes, and those that change nothing before a call is run.
const SETTINGS: &str = "\
    mode extra_args id_prefix enable_auto_repair max_mistakes strike_mode early_interrupt rsi grants \
    max_turns repair_timeout_ms";

/// Whether everything the case needs is here.
fn can_run(case: &Value) -> bool {
    let all = |member: &str, known: &[&str]| {
        let mut keys = case[member].as_object().into_iter().flat_map(|object| object.keys());
        keys.all(|key| known.iter().any(|known| known.split(' ').any(|word| word == key)))
    };
    let needs_a_host = case["expect"]["errors"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|error| matches!(error["kind"].as_str(), Some("path_outside_root" | "permission_denied")));
    all("input", &[INPUTS])
        && all("expect", &[CHECKED, NOT_OURS])
        && all("config", &[SETTINGS])
        && !needs_a_host
}

#[test]
fn seed_cases_come_out_as_the_documents_say() {
    let cases = fixture("seed_cases.jsonl");
    let overruled: BTreeSet<&str> = OVERRULED.iter().map(|(id, _)| *id).collect();
    let mut faults = Vec::new();
    for case in &cases {
        let id = text(case, "id");
        if !can_run(case) {
            faults.push(format!("{id} needs more than a parser, so it belongs to the agent's cases: {case}"));
            continue;
        }
        let found = guarded(id, || {
            let faults = Case::new(case).faults();
            (!faults.is_empty()).then(|| faults.join("\n    "))
        });
        match found {
            None if overruled.contains(id) => faults.push(format!("{id} holds now, take it off the list")),
            Some(found) if !overruled.contains(id) => {
                let input = case["input"].to_string();
                faults.push(format!("{id} {}: {found}\n    {}", text(case, "name"), excerpt(&input)));
            }
            _ => {}
        }
    }
    assert!(faults.is_empty(), "{} faults in {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

/// A case with its gate.
struct Case<'a> {
    input: &'a Value,
    expect: &'a Value,
    config: &'a Value,
    tools: &'a Value,
    gate: Gate,
}

impl<'a> Case<'a> {
    fn new(case: &'a Value) -> Self {
        let (config, tools) = (&case["config"], &case["tools"]);
        let profile = profile(text(case, "profile"));
        let mut policy = profile.policy();
        if config["mode"] == "chat" {
            policy.require_call = RequireCall::IfAttempted;
        }
        if config["extra_args"] == "reject" {
            policy.extra_args = ExtraArgs::Reject;
        }
        if config["enable_auto_repair"] == false {
            policy.repair = RepairPolicy::Off;
        }
        if case["expect"].get("flush_before_end").is_some() {
            policy.release = Release::Early;
        }
        let gate = Gate::builder().profile(profile).tools(registry(tools)).policy(policy).build();
        let gate = gate.unwrap_or_else(|error| panic!("{}: {error}", case["id"]));
        Case { input: &case["input"], expect: &case["expect"], config, tools, gate }
    }

    /// Why the case is not as expected, if it is not.
    fn faults(&self) -> Vec<String> {
        let input = self.input;
        let has = |key: &str| input.get(key).is_some();
        if has("repair") || has("repair_gen") || has("repair_twice") {
            self.repair_faults()
        } else if has("turns") {
            self.turn_faults()
        } else if has("is_done") {
            let done = forms::is_done(text(input, "is_done"), &self.gate, self.config["rsi"] == true);
            self.fault("done", json!(done)).into_iter().collect()
        } else if has("validate") {
            self.fault("valid", json!(self.is_valid(&input["validate"]))).into_iter().collect()
        } else if has("render") {
            self.render_faults()
        } else if has("register") || has("register_twice") {
            self.register_faults()
        } else {
            self.session_faults()
        }
    }

    /// Why a member of the expectation is not this, if it is expected at all.
    fn fault(&self, member: &str, found: Value) -> Option<String> {
        let expected = self.expect.get(member)?;
        (!same(expected, &found)).then(|| format!("{member}: expected {expected}, found {found}"))
    }

    // ---- conversations ----

    /// Several responses: strikes where the profile counts them, and what goes back to the model.
    fn turn_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let mut strikes = strict_xml::strikes(self.config);
        let turns = self.input["turns"].as_array().map_or(&[][..], Vec::as_slice);
        for (number, (turn, wanted)) in
            turns.iter().zip(self.expect["per_turn"].as_array().into_iter().flatten()).enumerate()
        {
            let mut found = json!({});
            let mut said = String::new();
            if let Some(text) = turn.as_str() {
                let response = self.gate.parse(text);
                let judged = strict_xml::turn(&mut strikes, &self.gate, &response);
                let feedback = self.gate.profile().feedback(&response, self.gate.registry());
                found = json!({
                    "calls": response.calls.len(),
                    "messages_to_model": usize::from(feedback.is_some()),
                    "final": response.calls.is_empty() && feedback.is_none(),
                    "error": judged.error,
                    "cause": judged.cause,
                    "mistakes": judged.mistakes,
                });
                said = judged.record.to_string();
            } else if turn["do"] == "reset_mistakes" {
                strikes.reset();
                found = json!({"mistakes": strikes.count()});
            }
            for (member, wanted) in wanted.as_object().into_iter().flatten() {
                if member == "message_has" {
                    let pieces = wanted.as_array().map_or(&[][..], Vec::as_slice);
                    faults.extend(missing("the error", &said, pieces));
                } else if found[member] != *wanted {
                    faults
                        .push(format!("turn {number}, {member}: expected {wanted}, found {}", found[member]));
                }
            }
        }
        faults
    }

    // ---- everything else ----

    fn repair_faults(&self) -> Vec<String> {
        const DEPTH: usize = 64;
        let mut faults = Vec::new();
        for input in strings(&self.input["repair_twice"]) {
            let first = repair(&input, DEPTH).map(|repaired| repaired.text);
            let second = first.as_ref().ok().and_then(|text| repair(text, DEPTH).ok());
            let stable = second.is_some_and(|second| second.repairs.is_empty() && Ok(second.text) == first);
            faults.extend((!stable).then(|| format!("{input:?} is repaired twice: {first:?}")));
        }
        let generated = self.input.get("repair_gen").map(generate);
        let Some(input) = generated.as_deref().or(self.input["repair"].as_str()) else { return faults };
        match repair(input, DEPTH) {
            Ok(repaired) => {
                faults.extend(self.fault("kind", json!("repaired")));
                faults.extend(self.fault("text", json!(repaired.text)));
                faults.extend(self.fault("was_repaired", json!(!repaired.repairs.is_empty())));
                let value: Value = serde_json::from_str(&repaired.text).unwrap_or_default();
                faults.extend(self.fault("value", value));
                if let Some(words) = self.expect["repairs"].as_array() {
                    let wanted: BTreeSet<String> =
                        words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                    let found = repaired.repairs.iter().map(|repair| repair.code.word().replace('-', "_"));
                    let found: BTreeSet<String> = found.collect();
                    faults.extend((wanted != found).then(|| format!("expected {wanted:?}, found {found:?}")));
                }
            }
            Err(failure) => {
                faults.extend(self.fault("kind", json!("repair_failed")));
                if let Some(kinds) = self.expect["error_kind_any"].as_array() {
                    let kind = failure.code.kind();
                    faults.extend((!kinds.contains(&json!(kind))).then(|| format!("the failure is {kind}")));
                }
            }
        }
        faults
    }

    fn is_valid(&self, call: &Value) -> bool {
        let tool = self.gate.registry().and_then(|registry| registry.compiled(text(call, "name")));
        tool.is_some_and(|tool| tool.check(&call["arguments"], self.gate.policy().extra_args).is_empty())
    }

    fn render_faults(&self) -> Vec<String> {
        let registry = registry(self.tools);
        if self.input["render"] == "openai_tools" {
            let exported = registry.to_openai();
            let tools = exported.as_array().into_iter().flatten();
            let names: BTreeSet<_> = tools.filter_map(|tool| tool["function"]["name"].as_str()).collect();
            return self.fault("exported_names", json!(names)).into_iter().collect();
        }
        let profile = self.gate.profile();
        let prompt = profile.prompt(&registry);
        let mut faults =
            missing("the prompt", &prompt, self.expect["prompt_has"].as_array().map_or(&[], Vec::as_slice));
        let examples = profile.examples(&registry);
        faults.extend((examples.len() < registry.len()).then(|| "not every tool has an example".to_owned()));
        for example in examples {
            let response = self.gate.parse(&example);
            if !prompt.contains(&example) {
                faults.push(format!("the prompt lacks its example {example:?}"));
            }
            if !response.rejected.is_empty() || (response.calls.is_empty() && response.model_error.is_none())
            {
                faults.push(format!("the example {example:?} does not parse: {}", rejections(&response)));
            }
        }
        faults
    }

    fn register_faults(&self) -> Vec<String> {
        let mut registry = registry(self.tools);
        if let Some(tool) = self.input.get("register") {
            let description = tool["description"].as_str().unwrap_or_default();
            let error = registry
                .register(Tool::new(text(tool, "name"), description, json!({"type": "object"})))
                .err();
            let said = error.map_or_else(|| "it was registered".to_owned(), |error| error.to_string());
            return missing(
                "the error",
                &said,
                self.expect["register_error_has"].as_array().map_or(&[], Vec::as_slice),
            );
        }
        for name in strings(&self.input["register_twice"]) {
            let tool = Tool::new(&name, "Reads a file.", json!({"type": "object"}));
            if let Err(error) = Registry::register(&mut registry, tool) {
                return vec![error.to_string()];
            }
        }
        self.fault("tool_count", json!(registry.len())).into_iter().collect()
    }
}

/// A large input: prefix, then a unit or an opener many times, then as many closers, then the suffix.
fn generate(spec: &Value) -> String {
    let part = |key: &str| spec[key].as_str().unwrap_or_default();
    let times = spec["times"].as_u64().unwrap_or_default() as usize;
    let middle = [part("unit"), part("open"), part("close")].map(|unit| unit.repeat(times)).concat();
    format!("{}{middle}{}", part("prefix"), part("suffix"))
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The pieces that do not stand in a text, as faults.
fn missing(what: &str, said: &str, pieces: &[Value]) -> Vec<String> {
    let pieces = pieces.iter().filter_map(Value::as_str);
    pieces
        .filter(|piece| !said.contains(piece))
        .map(|piece| format!("{what} lacks {piece:?}: {said:?}"))
        .collect()
}
