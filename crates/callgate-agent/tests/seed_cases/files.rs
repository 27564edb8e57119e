//! Cases about files and about running tools: what is rejected, what runs, and what the model is told.

use std::sync::Arc;

use callgate::{Registry, Tool};
use callgate_agent::approval::{ApprovalPolicy, Grants, NobodyThere};
use callgate_agent::cancel::Cancel;
use callgate_agent::history::Message;
use callgate_agent::model::BoxFuture;
use callgate_agent::tools::files::{FS_READ, FileLimits, FileNames, Root, file_tools};
use callgate_agent::tools::{
    Host, Meter, Outcome, Prepared, Queue, RunTool, Spending, ToolError, ToolErrorCode, ToolReport, Toolbox,
    run_calls,
};
use serde_json::{Value, json};

use super::scratch::Scratch;
use super::{fault, gate, missing, text};

/// What a case may ask of a run.
const CHECKED: &[&str] = &["kind", "errors", "runs", "not_run", "result", "error_message_has", "calls"];

/// A tool of the case that does what the case says.
struct Stand {
    tool: Tool,
    raises: Option<String>,
}

impl RunTool for Stand {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        let raises = self.raises.clone();
        Box::pin(std::future::ready(Ok(Prepared::new(move || async move {
            match raises {
                Some(message) => Err(ToolError::new(ToolErrorCode::Failed, "", message)),
                None => Ok("done".to_owned()),
            }
        }))))
    }
}

pub(crate) fn faults(case: &Value) -> Vec<String> {
    let expect = &case["expect"];
    let unknown =
        expect.as_object().into_iter().flatten().filter(|(key, _)| !CHECKED.contains(&key.as_str()));
    let mut faults: Vec<String> = unknown.map(|(key, _)| format!("nothing checks `{key}`")).collect();
    let gate = gate(case);
    let response = gate.parse(text(&case["input"]["text"]));
    if let Some(wanted) = expect.get("calls") {
        let found = response.calls.iter().map(|call| json!({"name": call.name, "arguments": call.value()}));
        faults.extend(fault(&json!({"calls": wanted}), "calls", found.collect()));
    }
    let scratch = Scratch::new("seed");
    let Some(registry) = gate.registry() else { return vec!["the case has no tools".to_owned()] };
    let reports = run(case, &response.calls, &toolbox(case, registry, &scratch));
    let names = |ran: bool| reports.iter().filter(move |report| report.ran() == ran);
    let runs: Vec<&str> = names(true).map(|report| report.name.as_str()).collect();
    faults.extend(fault(expect, "runs", json!(runs)));
    let left: Vec<usize> = (0..reports.len()).filter(|at| !reports[*at].ran()).collect();
    faults.extend(fault(expect, "not_run", json!(left)));
    for wanted in expect["errors"].as_array().into_iter().flatten() {
        let fits = |report: &ToolReport| match &report.outcome {
            Outcome::NotRun { error } => {
                error.code.word() == text(&wanted["kind"]) && report.name == text(&wanted["tool"])
            }
            _ => false,
        };
        if !reports.iter().any(fits) {
            faults.push(format!("no {wanted} in {reports:?}"));
        }
    }
    let said: Vec<String> = reports
        .iter()
        .filter_map(|report| match report.to_message() {
            Message::ToolError { content, .. } => Some(content),
            _ => None,
        })
        .collect();
    faults.extend(missing("the error", &said.join("\n"), &expect["error_message_has"]));
    faults.extend(missing("the result", &said.join("\n"), &expect["result"]["error_has"]));
    faults.extend(fault(&expect["result"], "success", json!(said.is_empty())));
    faults
}

fn run(case: &Value, calls: &[callgate::Call], tools: &Toolbox) -> Vec<ToolReport> {
    let mut grants = Grants::new();
    for permission in case["config"]["grants"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        grants.grant(permission, "the case says so");
    }
    // The document with a workspace knows no permissions; the folder itself is the leave to read.
    if case["config"].get("workspace").is_some() {
        grants.grant(FS_READ, "the case says so");
    }
    let mut spending = Spending::default();
    if let Some(most) = case["config"]["max_run_per_turn"].as_u64() {
        spending.calls_per_turn = usize::try_from(most).unwrap_or(usize::MAX);
    }
    let approval = ApprovalPolicy::default();
    let mut host = Host {
        tools,
        approval: &approval,
        approver: &NobodyThere,
        grants: &grants,
        queue: &mut Queue::new(),
        audit: None,
        correlation_id: "case",
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
    runtime
        .block_on(async {
            let mut meter = Meter::new(spending);
            run_calls(calls, &mut host, &mut meter, &Cancel::new(), &mut |_| {}).await
        })
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The tools of the case: the real ones for files, where the case is about them.
fn toolbox(case: &Value, registry: &Registry, scratch: &Scratch) -> Toolbox {
    let mut tools = Toolbox::new();
    let add = |tools: &mut Toolbox, tool| tools.add(tool).unwrap_or_else(|error| panic!("{error}"));
    let raises = case["input"]["tool_raises"].as_str().map(str::to_owned);
    let is_about_files = raises.is_none() && case["config"].get("max_run_per_turn").is_none();
    if is_about_files {
        std::fs::create_dir_all(scratch.path("root")).unwrap_or_else(|error| panic!("{error}"));
        for (path, content) in case["input"]["fs"].as_object().into_iter().flatten() {
            match text(content).strip_prefix("-> ") {
                #[cfg(unix)]
                Some(target) => std::os::unix::fs::symlink(target, scratch.path(path))
                    .unwrap_or_else(|error| panic!("{error}")),
                _ => drop(scratch.file(path, text(content))),
            }
        }
        let has_root =
            case["config"]["workspace"] != Value::Null || case["config"].get("workspace").is_none();
        let root = has_root.then(|| Root::open(&scratch.path("root")));
        let root = root.transpose().unwrap_or_else(|error| panic!("{error}"));
        let has_dots = registry.get("fs.read").is_some();
        let names = if has_dots { FileNames::Dotted } else { FileNames::Underscored };
        for tool in file_tools(root, names, FileLimits::default()) {
            add(&mut tools, tool);
        }
    }
    for entry in registry.tools().filter(|_| !is_about_files) {
        add(&mut tools, Arc::new(Stand { tool: entry.clone(), raises: raises.clone() }));
    }
    tools
}
