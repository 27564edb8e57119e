//! Promises about rejections: each teaches, with an example that would have been right, and quotes no markup back.

use callgate::{Code, FinishReason, Gate, Record, RenderCall, Response};
use serde_json::{Value, json};

use crate::over_soups;
use crate::support;
use crate::support::corpus::samples;
use crate::support::soup::openers;
use crate::support::{dialect_gate, native_events, over_samples, response};

/// Why a response does not teach, if it does not: a rejection without help, or feedback that holds a control token.
fn teaching_fault(gate: &Gate, response: &Response) -> Option<String> {
    let rejected = response.rejected.iter().flat_map(|rejected| &rejected.findings);
    if let Some(mute) = response.rejected.iter().find(|rejected| rejected.findings.is_empty()) {
        return Some(format!("rejected without a reason: {mute:?}"));
    }
    if let Some(mute) =
        rejected.chain(&response.findings).find(|f| f.help.trim().is_empty() || f.message.trim().is_empty())
    {
        return Some(format!("a finding without a way out: {mute:?}"));
    }
    let feedback = gate.profile().feedback(response, gate.registry());
    if feedback.is_none() && !response.rejected.is_empty() {
        return Some("rejected, and nothing to tell the model".to_owned());
    }
    let (feedback, examples) = without_examples(&feedback?);
    if let Some(example) = examples.iter().find(|example| has_token(example)) {
        return Some(format!("the example holds a special token: {example:?}"));
    }
    let markers = Record::builtin().iter().filter(|record| record.auto).flat_map(openers);
    let mut control = markers.chain(["<|im_start|>", "<|im_end|>", "<think>", "</think>"]);
    control
        .find(|token| feedback.contains(token))
        .map(|token| format!("the feedback holds {token:?}: {feedback:?}"))
}

#[test]
fn promise_12_every_rejection_teaches() {
    over_samples(samples(), |sample| {
        let cut = sample
            .text
            .char_indices()
            .map(|(at, _)| at)
            .nth(sample.text.chars().count() * 2 / 3)
            .unwrap_or(0);
        let texts = [sample.text.as_str(), &sample.text[..cut]];
        texts
            .into_iter()
            .find_map(|text| teaching_fault(&sample.gate, &response(&sample.feed().whole(text.as_bytes()))))
    });
    over_soups(500, |gate, input| teaching_fault(gate, &gate.parse(input)));
}

#[test]
fn promise_12_every_code_has_a_message_a_help_and_a_true_example() {
    for code in Code::ALL {
        let entry = code.entry();
        assert!(!entry.message.is_empty() && !entry.help.is_empty(), "{code}");
        assert_eq!(Code::from_word(entry.word), Some(*code));
        if entry.example.profile.is_empty() {
            continue;
        }
        let tools = json!([
            {"name": "look", "parameters": {"type": "object", "required": ["q"], "properties": {
                "q": {"type": "string"}, "n": {"type": "integer", "maximum": 100}, "mode": {"enum": ["exact", "near"]}}}},
            {"name": "put", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
        ]);
        let response = support::gate(entry.example.profile, &tools).parse(entry.example.text);
        let rejected = response.rejected.iter().flat_map(|rejected| &rejected.findings);
        let found: Vec<Code> = rejected.chain(&response.findings).map(|finding| finding.code).collect();
        assert!(found.contains(code), "the example of {code} gives {found:?}, calls {:?}", response.calls);
    }
}

/// The feedback without its examples of calls, which are the gate's own and no quotation, and the examples.
fn without_examples(feedback: &str) -> (String, Vec<String>) {
    let (mut rest, mut examples) = (String::new(), Vec::new());
    let mut pieces = feedback.split("   For example:\n");
    rest.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find("\n   You wrote:").or_else(|| piece.find("\n\n")).unwrap_or(piece.len());
        examples.push(piece[..end].to_owned());
        rest.push_str(&piece[end..]);
    }
    (rest, examples)
}

/// Whether a word between bars in angle brackets, or one of capitals in square ones, stands in a text.
fn has_token(text: &str) -> bool {
    let words = |open: char, close: char| {
        text.split(open).skip(1).filter_map(move |rest| Some(rest.split_once(close)?.0))
    };
    words('<', '>').any(|word| word.contains(['|', '｜']) && !word.contains('\n'))
        || words('[', ']')
            .any(|word| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || "_/".contains(c)))
}

/// A call of `look` in this dialect, and the gate's answer.
fn asked(gate: &Gate, record: &Record, name: &str, arguments: &str) -> Option<(String, Response)> {
    let call = RenderCall { id: None, name, arguments };
    let with_id = RenderCall { id: Some("call_1"), ..call };
    let written =
        record.render(&[call], None, None).or_else(|_| record.render(&[with_id], None, None)).ok()?;
    let response = gate.parse(&written);
    Some((written, response))
}

/// Why the example in the feedback to a rejected call is not a call that stands, if it is not.
fn example_fault(record: &Record, (name, arguments): (&str, &str)) -> Option<String> {
    let tools = json!([{"name": "look", "parameters": {"type": "object", "required": ["q"], "properties": {
        "q": {"type": "string"}, "n": {"type": "integer"}}}}, {"name": "put", "parameters": {"type": "object"}}]);
    let gate = dialect_gate(&record.name, &tools);
    let Some((written, response)) = asked(&gate, record, name, arguments) else {
        return Some("the call cannot be written".to_owned());
    };
    if response.rejected.is_empty() {
        // Some formats tell a call by the names of the tools alone.
        return (name == "look").then(|| format!("{written:?} is not rejected"));
    }
    let feedback = gate.profile().feedback(&response, gate.registry()).unwrap_or_default();
    let (_, examples) = without_examples(&feedback);
    let again = match &examples[..] {
        [example] => gate.parse(example),
        _ => {
            let (_, object) = feedback.split_once("in the markup of your format: ")?;
            let object: Value = serde_json::from_str(object.lines().next()?).unwrap_or_default();
            if !has_token(&written) {
                return Some(format!("an object although nothing forbids the call: {feedback}"));
            }
            let name = object["name"].as_str().unwrap_or_default();
            asked(&gate, record, name, &object["arguments"].to_string())?.1
        }
    };
    let stands = matches!(&again.calls[..], [call] if call.name == "look" && call.checked);
    (!stands || !again.rejected.is_empty()).then(|| format!("{feedback}\n{again:?}"))
}

#[test]
fn promise_12_the_example_is_a_whole_call_in_the_format_of_the_model() {
    let rejected =
        [("look", "{\"n\":5}"), ("look", "{\"q\":\"a\",\"n\":\"soon\"}"), ("lok", "{\"q\":\"a\"}")];
    let faults: Vec<String> = Record::builtin()
        .iter()
        .flat_map(|record| rejected.iter().map(move |call| (record, *call)))
        .filter_map(|(record, call)| {
            Some(format!("{} {call:?}: {}", record.name, example_fault(record, call)?))
        })
        .collect();
    assert!(faults.is_empty(), "{} examples are wrong:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn promise_12_the_example_of_a_structured_call_is_its_name_and_arguments() {
    let tools = json!([{"name": "look", "parameters": {"type": "object", "required": ["q"], "properties": {
        "q": {"type": "string"}}}}]);
    let gate = support::gate("standard", &tools);
    for (name, arguments) in [("look", "{}"), ("lok", "{\"q\":\"a\"}")] {
        let response = response(&native_events(&gate, name, &[arguments], FinishReason::ToolCalls));
        let feedback = gate.profile().feedback(&response, gate.registry()).unwrap_or_default();
        let example = feedback.split_once("For example, look with the arguments ").map(|(_, rest)| rest);
        let arguments = example.and_then(|rest| rest.lines().next()).unwrap_or_default();
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        assert!(arguments["q"].is_string(), "{name}: {feedback}");
    }
}
