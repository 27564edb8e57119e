//! Cases about approval and permissions: what asks, what a no becomes, and what a session may do.

use callgate_agent::approval::{
    Answer, ApprovalPolicy, Approver, Case, Decision, Grants, Preview, Request, Standing,
};
use callgate_agent::model::BoxFuture;
use serde_json::{Value, json};

use super::{fault, gate, missing, text};

/// What a case may ask of an approval.
const CHECKED: &[&str] = &["needs_approval", "result", "runs"];

/// Somebody who always answers the same.
struct Always(&'static str);

impl Approver for Always {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        let answer = match self.0 {
            "deny" => Answer::Deny,
            "dismiss" => Answer::Closed,
            _ => Answer::Approve { hash: request.hash.clone() },
        };
        Box::pin(std::future::ready(answer))
    }
}

pub(crate) fn faults(case: &Value) -> Vec<String> {
    let expect = &case["expect"];
    let unknown =
        expect.as_object().into_iter().flatten().filter(|(key, _)| !CHECKED.contains(&key.as_str()));
    let mut faults: Vec<String> = unknown.map(|(key, _)| format!("nothing checks `{key}`")).collect();
    let policy =
        ApprovalPolicy { auto_approve: case["config"]["auto_approve"] != false, ..Default::default() };
    let approver = match text(&case["config"]["approver"]) {
        "deny" => Always("deny"),
        "dismiss" => Always("dismiss"),
        _ => Always("approve"),
    };
    let gate = gate(case);
    let response = gate.parse(text(&case["input"]["text"]));
    let [call] = &response.calls[..] else { return vec![format!("not one call: {response:?}")] };
    let Some(tool) = gate.registry().and_then(|registry| registry.get(&call.name)) else {
        return vec![format!("no tool {}", call.name)];
    };
    let (standing, why) = policy.standing(call, tool);
    let asks = standing == Standing::Ask;
    faults.extend(fault(expect, "needs_approval", json!(asks)).map(|fault| format!("{fault} ({why})")));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let case = Case { id: "r", call, tool, preview: &Preview::default() };
    let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
    let decision = runtime.block_on(policy.decide(&case, &approver));
    match decision {
        Decision::Permitted(permit) => {
            faults.extend(fault(expect, "runs", json!([call.name])));
            faults.extend(expect.get("result").map(|_| "the call ran".to_owned()));
            faults.extend(permit.redeem(call).err().map(|denial| denial.to_string()));
        }
        Decision::Denied(denial) => {
            faults.extend(fault(expect, "runs", json!([])));
            let result = &expect["result"];
            faults.extend(fault(result, "success", json!(false)));
            faults.extend(fault(result, "user_denied", json!(denial.is_users())));
            faults.extend(missing("the result", &denial.to_model(), &result["error_has"]));
        }
    }
    faults
}

/// What a session may do with its grants; each begins without any.
pub(crate) fn permission_faults(case: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let sessions = case["input"]["sessions"].as_array();
    let alone = json!({"grants": case["config"]["grants"], "text": case["input"]["text"]});
    let inputs = sessions.cloned().unwrap_or_else(|| vec![alone]);
    let gate = gate(case);
    for (number, input) in inputs.iter().enumerate() {
        let mut grants = Grants::new();
        let given = input["grants"].as_array().into_iter().flatten().chain(input.get("grant"));
        for permission in given.filter_map(Value::as_str) {
            grants.grant(permission, "the case says so");
        }
        let response = gate.parse(text(&input["text"]));
        let mut runs = Vec::new();
        let mut errors = Vec::new();
        for call in &response.calls {
            let tool = gate.registry().and_then(|registry| registry.get(&call.name));
            match tool.map(|tool| grants.check(tool)) {
                Some(Ok(())) => runs.push(call.name.clone()),
                Some(Err(denial)) => errors.push(denial),
                None => faults.push(format!("no tool {}", call.name)),
            }
        }
        let expect =
            if sessions.is_some() { &case["expect"]["per_session"][number] } else { &case["expect"] };
        faults.extend(fault(expect, "runs", json!(runs)));
        for wanted in expect["errors"].as_array().into_iter().flatten() {
            let kind = wanted.as_str().unwrap_or_else(|| text(&wanted["kind"]));
            match errors.iter().find(|denial| denial.kind() == kind) {
                None => faults.push(format!("session {number}: no {kind} in {errors:?}")),
                Some(denial) => {
                    faults.extend(missing("the error", &denial.to_model(), &wanted["message_has"]))
                }
            }
        }
    }
    faults
}
