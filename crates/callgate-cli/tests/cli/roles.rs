//! Whose words a message is: what others than the model wrote is not judged, however they are named and wherever it stands.

use serde_json::{Value, json};

use super::{assert_usage_error, callgate, json_lines};

const CALL: &str = "<tool_call>{\"name\": \"tide\", \"arguments\": {}}</tool_call>";

const OTHERS: &[&str] =
    &["user", "User", "human", "system", "developer", "tool", "function", "ipython", "observation"];

const MODELS: &[&str] = &["assistant", "Assistant", "model", "gpt", "chatgpt", "bot", "ai"];

/// The messages of somebody with a call in them.
fn messages(role: &str) -> Vec<Value> {
    let native = json!([{"id": "a", "function": {"name": "tide", "arguments": "{}"}}]);
    vec![
        json!({"role": role, "content": CALL}),
        json!({"role": role, "content": [{"type": "text", "text": CALL}]}),
        json!({"role": role, "parts": [{"text": CALL}]}),
        json!({"role": role, "content": null, "tool_calls": native}),
        json!({"from": role, "value": CALL}),
    ]
}

/// What holds a message as the answer.
fn around(message: &Value) -> Vec<Value> {
    let mut all = vec![message.clone(), json!({"response": message}), json!({"body": message})];
    if message.get("role").is_some() {
        all.push(json!({"message": message}));
    }
    all
}

fn scanned(args: &[&str], line: &Value) -> Value {
    let run = callgate(&[&["scan", "-q"], args].concat(), &format!("{line}\n"));
    json_lines(&run.stdout).into_iter().next().unwrap()
}

#[test]
fn a_message_of_somebody_else_is_an_error_that_names_the_role() {
    for role in OTHERS {
        for message in messages(role) {
            for line in around(&message) {
                let judged = scanned(&[], &line);
                let problem = judged["error"]["message"].as_str().unwrap_or_default();
                assert!(problem.contains(&format!("`{role}`")), "{line}: {judged}");
                assert!(judged["error"]["help"].as_str().unwrap().contains("--field"), "{judged}");
            }
            for body in [message.clone(), json!({"message": message})] {
                if message.get("role").is_some() || body == message {
                    assert_usage_error(&callgate(&["parse"], &body.to_string()), &[&format!("`{role}`")]);
                }
            }
            let record = json!({"log": [{"role": "assistant", "content": "Hm."}, message]});
            let judged = scanned(&["--field", "log.1"], &record);
            assert!(judged["error"]["message"].as_str().unwrap().contains(role), "{record}: {judged}");
            let run = callgate(&["parse", "--field", "log.1"], &record.to_string());
            assert_usage_error(&run, &[&format!("`{role}`")]);
        }
        // In a body, and in the form of the contract.
        let choice = json!({"choices": [{"message": {"role": role, "content": CALL}}]});
        assert_usage_error(&callgate(&["parse"], &choice.to_string()), &[&format!("`{role}`")]);
        for line in [choice, json!({"role": role, "text": CALL}), json!({"role": role, "chunks": [CALL]})] {
            assert!(scanned(&[], &line)["error"]["message"].as_str().unwrap().contains(role), "{line}");
        }
        // What is asked for by its own place is the answer.
        let text = scanned(&["--field", "content"], &json!({"role": role, "content": CALL}));
        assert_eq!(text["calls"][0]["name"], "tide", "{text}");
    }
}

#[test]
fn the_model_is_known_by_all_its_names() {
    for role in MODELS {
        for message in messages(role) {
            for line in around(&message) {
                assert_eq!(scanned(&[], &line)["calls"][0]["name"], "tide", "{line}");
            }
            let run = callgate(&["parse", "--output-format", "callgate"], &message.to_string());
            let judged: Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!(judged["calls"][0]["name"], "tide", "{message}: {judged}");
        }
    }
    // Without a role, and where a role says something else about a line, its answer is the model's.
    for line in [
        json!({"content": CALL}),
        json!({"role": "", "content": CALL}),
        json!({"role": "engineer", "response": CALL}),
        json!({"from": "web", "value": "a", "response": CALL}),
        json!({"role": "engineer", "text": CALL}),
    ] {
        assert_eq!(scanned(&[], &line)["calls"][0]["name"], "tide", "{line}");
    }
    // A model may write JSON of its own.
    for text in ["{\"role\": \"engineer\", \"content\": \"a\"}", "{\"role\": \"user\"}"] {
        assert_eq!(callgate(&["parse", "--json"], text).code, 0, "{text}");
    }
}
