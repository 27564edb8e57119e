//! Cases about asking again: a scripted model gives the replies, on a clock that only the waiting moves.

use std::collections::BTreeMap;
use std::time::Duration;

use callgate_agent::cancel::Cancel;
use callgate_agent::config::Config;
use callgate_agent::history::{CallStyle, Message};
use callgate_agent::model::{ChatRequest, ModelChunk, Parameters, Scripted, ScriptedTurn, respond};
use callgate_agent::retry::{AttemptRecord, RetryError, RetryFailure, Settled, ask_until_settled};
use serde_json::{Value, json};

use super::{fault, gate, missing, profile, text};

/// What a case may ask of a retry.
const CHECKED: &[&str] = &[
    "kind",
    "all_succeeded",
    "calls",
    "requests",
    "delays_ms",
    "retry_count",
    "errors",
    "prompt",
    "prompt_has",
    "usage",
    "request_keeps",
    "request_stream",
    "log_lines_with",
    "repairs",
    "error_fields",
    "error_has_last_error",
];

/// What came of a case.
struct Run {
    result: Result<Settled, RetryError>,
    /// The requests after the first.
    requests: Vec<ChatRequest>,
    first: ChatRequest,
}

impl Run {
    fn log(&self) -> &[AttemptRecord] {
        match &self.result {
            Ok(settled) => &settled.log,
            Err(error) => &error.log,
        }
    }
}

pub(crate) fn faults(case: &Value) -> Vec<String> {
    let expect = &case["expect"];
    let unknown =
        expect.as_object().into_iter().flatten().filter(|(key, _)| !CHECKED.contains(&key.as_str()));
    let mut faults: Vec<String> = unknown.map(|(key, _)| format!("nothing checks `{key}`")).collect();
    let run = run(case);
    faults.extend(fault(expect, "requests", json!(run.requests.len())));
    let waits: Vec<u64> = run.log().iter().map(|record| record.waited_ms).collect();
    faults.extend(fault(expect, "delays_ms", json!(waits)));
    let prompts: Vec<&str> = run
        .requests
        .iter()
        .filter_map(|request| match request.messages.last() {
            Some(Message::User { text }) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let prompt = prompts.first().copied().unwrap_or_default();
    faults.extend(fault(expect, "prompt", json!(prompt)));
    faults.extend(missing("the prompt", prompt, &expect["prompt_has"]));
    if expect.get("request_keeps").is_some() {
        let request = &run.requests[0];
        for (member, kept) in [
            ("history", request.messages.starts_with(&run.first.messages)),
            ("tools", request.tools == run.first.tools && request.tools.is_some()),
            ("model_parameters", request.parameters == run.first.parameters),
        ] {
            let wanted = expect["request_keeps"].as_array().into_iter().flatten().any(|word| word == member);
            faults.extend((wanted && !kept).then(|| format!("the request does not keep its {member}")));
        }
        faults.extend(fault(expect, "request_stream", json!(request.stream)));
    }
    if let Some(wanted) = expect.get("log_lines_with") {
        let attempts: Vec<u32> = run.log().iter().map(|record| record.attempt).collect();
        let all_tied = run.log().iter().all(|record| record.correlation_id == wanted["correlation_id"]);
        faults.extend(
            (json!(attempts) != wanted["attempts"] || !all_tied).then(|| format!("log: {:?}", run.log())),
        );
    }
    match &run.result {
        Ok(settled) => faults.extend(settled_faults(expect, settled)),
        Err(error) => faults.extend(error_faults(expect, error)),
    }
    faults
}

fn settled_faults(expect: &Value, settled: &Settled) -> Vec<String> {
    let mut faults = Vec::new();
    faults.extend(fault(expect, "kind", json!("calls")));
    faults.extend(fault(expect, "all_succeeded", json!(settled.response.rejected.is_empty())));
    faults.extend(fault(expect, "retry_count", json!(settled.retry_count)));
    let usage = json!({"prompt": settled.usage.prompt, "completion": settled.usage.completion});
    faults.extend(fault(expect, "usage", usage));
    let repairs = settled.response.calls.iter().flat_map(|call| &call.repairs);
    let repairs: Vec<String> = repairs.map(|repair| repair.code.word().replace('-', "_")).collect();
    faults.extend(fault(expect, "repairs", json!(repairs)));
    if let Some(wanted) = expect["calls"].as_array() {
        let calls = &settled.response.calls;
        let same = wanted.len() == calls.len()
            && wanted.iter().zip(calls).all(|(wanted, call)| {
                wanted["name"] == call.name
                    && wanted["arguments"] == call.value()
                    && wanted.get("id").is_none_or(|id| *id == call.id)
            });
        faults.extend((!same).then(|| format!("calls: expected {}, found {calls:?}", expect["calls"])));
    }
    faults
}

fn error_faults(expect: &Value, error: &RetryError) -> Vec<String> {
    let mut faults = Vec::new();
    faults.extend(fault(expect, "kind", json!("error")));
    for wanted in expect["errors"].as_array().into_iter().flatten() {
        let kind = error.code.kind();
        faults
            .extend((wanted["kind"] != kind).then(|| format!("the error is {kind}, not {}", wanted["kind"])));
        faults.extend(missing("the error", &error.to_string(), &wanted["message_has"]));
    }
    let fields = BTreeMap::from([
        ("attempts", json!(error.attempts)),
        ("max_attempts", json!(error.max_attempts)),
        ("tool", json!(error.tool)),
        ("correlation_id", json!(error.correlation_id)),
    ]);
    for (field, wanted) in expect["error_fields"].as_object().into_iter().flatten() {
        let found = fields.get(field.as_str()).unwrap_or(&Value::Null);
        faults.extend((found != wanted).then(|| format!("{field} is {found}, not {wanted}")));
    }
    faults.extend(fault(expect, "error_has_last_error", json!(!error.last_findings.is_empty())));
    faults
}

/// Runs a case. The clock stands still except for the engine's own waits.
fn run(case: &Value) -> Run {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap_or_else(|error| panic!("{error}")).block_on(async {
        let retry = &case["input"]["retry"];
        let gate = gate(case);
        let usage = |at: usize| {
            (retry["usage"][at][0].as_u64().unwrap_or(0), retry["usage"][at][1].as_u64().unwrap_or(0))
        };
        let replies = retry["replies"].as_array().map_or(&[][..], Vec::as_slice);
        let turns = [&retry["first"]].into_iter().chain(replies).enumerate().map(|(at, reply)| {
            let chunk = match reply.as_str() {
                Some(prose) => ModelChunk::Text(prose.to_owned()),
                None => ModelChunk::Calls(reply.to_string()),
            };
            ScriptedTurn::chunks([chunk]).costing(usage(at).0, usage(at).1)
        });
        let model = Scripted::new(turns);
        let said = retry["history"].as_array().into_iter().flatten();
        let request = ChatRequest {
            untrusted: Vec::new(),
            messages: said.map(|said| Message::User { text: text(said).to_owned() }).collect(),
            tools: gate.registry().map(callgate::Registry::to_openai),
            style: CallStyle::Native,
            parameters: Parameters { model: "m".to_owned(), temperature: Some(0.5), ..Default::default() },
            stream: true,
        };
        let turn = respond(&model, &request, &gate, "gen_", &mut |_| {}).await;
        let turn = turn.unwrap_or_else(|fault| panic!("{fault}"));
        let cancel = Cancel::new();
        if retry["cancel_before"] == "first_delay_ends" {
            let switch = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                switch.cancel();
            });
        }
        let started = tokio::time::Instant::now();
        let correlation_id = retry["correlation_id"].as_str().unwrap_or("corr");
        let result =
            ask_until_settled(&model, &request, &gate, settings(case), correlation_id, turn, &cancel).await;
        let result = result.map_err(|failure| match failure {
            RetryFailure::Unsettled(error) => *error,
            RetryFailure::Fault(fault, _) => panic!("{fault}"),
        });
        let mut requests = model.requests();
        let first = requests.remove(0);
        let run = Run { result, requests, first };
        if run.result.is_ok() {
            let waited: u64 = run.log().iter().map(|record| record.waited_ms).sum();
            assert_eq!(started.elapsed().as_millis(), u128::from(waited), "it waits as long as it says");
        }
        run
    })
}

/// The settings of a case, as its file would say them.
fn settings(case: &Value) -> callgate_agent::retry::RetrySettings {
    let mut file = json!({"provider": "ollama", "profile": profile(case).name()});
    for (key, value) in case["config"].as_object().into_iter().flatten() {
        file["providers"]["ollama"]["tool_call_retry"][key] = value.clone();
    }
    let config = Config::builder().text("config.yml", &file.to_string()).build();
    config.unwrap_or_else(|errors| panic!("{errors}")).retry()
}
