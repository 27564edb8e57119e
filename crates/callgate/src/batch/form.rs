//! Forms: how the result of a line is written, as the contract says or as others read it.

use serde_json::{Value, json};

use crate::ending::FinishReason;
use crate::event::Call;
use crate::gate::Gate;
use crate::profile::ProfileView;
use crate::response::Response;

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// As a choice of OpenAI's chat completions instead of the contract's form.
    pub openai: bool,
    /// With the message that tells the model what to fix.
    pub feedback: bool,
    /// With the response in the words of its profile's document.
    pub view: bool,
    /// Why the answer ended, as its provider said.
    pub ended: FinishReason,
}

impl Form {
    /// The same for an answer that ended for this reason.
    pub fn after(self, ended: FinishReason) -> Self {
        Form { ended, ..self }
    }

    /// A result as JSON text in one line, of a response to this `input`. What names it leads, so that it can be recognised
    /// without parsing.
    pub fn write(self, names: &[(&str, &Value)], gate: &Gate, response: &Response, input: &str) -> String {
        // Of several answers in one body each is the choice that it is named.
        let choice =
            names.iter().find(|(name, _)| *name == "choice").map_or(Value::from(0), |(_, it)| (*it).clone());
        let body = match self.openai {
            true => openai_choice(response, &choice, self.ended).to_string(),
            false => serde_json::to_string(response).unwrap_or_default(),
        };
        let mut line = String::from("{");
        for (name, value) in names {
            line.push_str(&format!("\"{name}\":{value},"));
        }
        line.push_str(body.trim_start_matches('{'));
        if self.feedback {
            let feedback = Value::from(gate.profile().feedback(response, gate.registry()));
            line.truncate(line.len() - 1);
            line.push_str(&format!(",\"feedback\":{feedback}}}"));
        }
        if self.view {
            let view = json!(ProfileView::of(gate.profile(), response, input));
            line.truncate(line.len() - 1);
            line.push_str(&format!(",\"view\":{view}}}"));
        }
        one_line(line)
    }
}

/// A response as a choice of OpenAI's chat completions: arguments are text there, the model's own. What that form has no
/// place for stands under `callgate`, if there is anything.
fn openai_choice(response: &Response, index: &Value, ended: FinishReason) -> Value {
    let calls = response.calls.iter().map(|call| {
        let function = json!({"name": call.name, "arguments": call.arguments});
        json!({"id": call.id, "type": "function", "function": function})
    });
    let calls: Vec<Value> = calls.collect();
    let text = Some(&response.text).filter(|text| !text.is_empty() || calls.is_empty());
    let mut message = json!({"role": "assistant", "content": text});
    if !response.reasoning.is_empty() {
        message["reasoning_content"] = Value::from(response.reasoning.as_str());
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let mut choice =
        json!({"index": index, "message": message, "finish_reason": response.finish_reason.word()});
    let mut besides = json!({});
    let about: Vec<Value> = response.calls.iter().filter_map(about_call).collect();
    if !about.is_empty() {
        besides["calls"] = Value::Array(about);
    }
    if !response.rejected.is_empty() {
        besides["rejected"] = json!(response.rejected);
    }
    if !response.findings.is_empty() {
        besides["findings"] = json!(response.findings);
    }
    // The reason of the choice is about its calls; that it was cut off behind them stands here, as the gateway says it.
    if ended.is_cut() && response.finish_reason == FinishReason::ToolCalls {
        besides["finish_reason"] = Value::from(ended.word());
    }
    if let Some(error) = &response.model_error {
        besides["model_error"] = json!(error);
    }
    if besides.as_object().is_some_and(|besides| !besides.is_empty()) {
        choice["callgate"] = besides;
    }
    choice
}

/// What is to be known about a call that came out, beside what it is, if there is anything.
fn about_call(call: &Call) -> Option<Value> {
    let mut about = json!({"id": call.id});
    if !call.checked {
        about["checked"] = Value::from(false);
    }
    if !call.repairs.is_empty() {
        about["repairs"] = json!(call.repairs);
    }
    if !call.coercions.is_empty() {
        about["coercions"] = json!(call.coercions);
    }
    if !call.findings.is_empty() {
        about["findings"] = json!(call.findings);
    }
    about.as_object().is_some_and(|members| members.len() > 1).then_some(about)
}

/// JSON text in one line. In strings line breaks are escaped, so those that are left stand between values.
pub(super) fn one_line(json: String) -> String {
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ") } else { json }
}
