//! The cases of the five source documents that need more than a parser, each by what it asks for.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "seed_cases/approval.rs"]
mod approval;
#[path = "seed_cases/audit.rs"]
mod audit;
#[path = "seed_cases/files.rs"]
mod files;
#[path = "seed_cases/retry.rs"]
mod retry;
#[path = "support/scratch.rs"]
mod scratch;
#[path = "seed_cases/settings.rs"]
mod settings;
#[path = "seed_cases/turns.rs"]
mod turns;

use callgate::{Gate, Profile, Registry, Tool};
use serde_json::Value;

#[test]
fn seed_cases_come_out_as_the_documents_say() {
    let cases = cases();
    let mut faults = Vec::new();
    for case in &cases {
        let id = text(&case["id"]);
        match faults_of(case) {
            None => faults.push(format!("{id} is asked by nobody")),
            Some(found) => {
                faults.extend(found.into_iter().map(|fault| format!("{id} {}: {fault}", text(&case["name"]))))
            }
        }
    }
    assert!(faults.is_empty(), "{} faults in {} cases:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

/// Why a case is not as expected; nothing if no part here can answer it.
fn faults_of(case: &Value) -> Option<Vec<String>> {
    let input = &case["input"];
    if input.get("retry").is_some() {
        Some(retry::faults(case))
    } else if input.get("config_yaml").is_some() || input.get("settings_json").is_some() {
        Some(settings::faults(case))
    } else if case["expect"].get("history_types").is_some() {
        Some(turns::faults(case))
    } else if case["expect"].get("needs_approval").is_some() {
        Some(approval::faults(case))
    } else if input.get("audit_args").is_some() || has_log(&case["expect"]) {
        Some(audit::faults(case))
    } else if input.get("sessions").is_some() || case["expect"]["errors"][0]["kind"] == "permission_denied" {
        Some(approval::permission_faults(case))
    } else if asks_for_a_run(case) {
        Some(files::faults(case))
    } else {
        None
    }
}

/// Whether a case asks what runs, and what becomes of what does not.
fn asks_for_a_run(case: &Value) -> bool {
    let config = &case["config"];
    case["expect"]["errors"][0]["kind"] == "path_outside_root"
        || config.get("workspace").is_some()
        || config.get("max_run_per_turn").is_some()
        || case["input"].get("tool_raises").is_some()
}

/// Whether a case asks for lines of a log.
fn has_log(expect: &Value) -> bool {
    expect.as_object().into_iter().flatten().any(|(key, _)| key.starts_with("log_"))
}

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/seed_cases.jsonl");
    let lines = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    lines.lines().map(parse).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn profile(case: &Value) -> Profile {
    let name = text(&case["profile"]);
    Profile::named(name).unwrap_or_else(|| panic!("no profile {name}"))
}

fn gate(case: &Value) -> Gate {
    let profile = profile(case);
    let mut policy = profile.policy();
    if case["config"]["enable_auto_repair"] == false {
        policy.repair = callgate::internal::policy::RepairPolicy::Off;
    }
    let mut registry = Registry::new();
    for entry in case["tools"].as_array().into_iter().flatten() {
        let mut tool = Tool::new(text(&entry["name"]), "A tool of the case.", entry["parameters"].clone());
        tool.dangerous = entry["dangerous"] == true;
        tool.permission = entry["permission"].as_str().map(str::to_owned);
        registry.register(tool).unwrap_or_else(|error| panic!("{error}"));
    }
    let gate = Gate::builder().profile(profile).tools(registry).policy(policy).build();
    gate.unwrap_or_else(|error| panic!("{error}"))
}

/// The parts that do not stand in a text, as faults.
fn missing(what: &str, said: &str, parts: &Value) -> Vec<String> {
    let parts = parts.as_array().into_iter().flatten().filter_map(Value::as_str);
    let lacking = parts.filter(|part| !said.contains(part));
    lacking.map(|part| format!("{what} lacks {part:?}: {said:?}")).collect()
}

/// Why a member of the expectation is not this, if it is expected at all.
fn fault(expect: &Value, member: &str, found: Value) -> Option<String> {
    let expected = expect.get(member)?;
    (*expected != found).then(|| format!("{member}: expected {expected}, found {found}"))
}
