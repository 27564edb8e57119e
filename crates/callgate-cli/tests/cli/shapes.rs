//! Bodies of the wrong shape: what was meant to hold an answer and does not is an error, not an empty answer.

use serde_json::{Value, json};

use super::{callgate, json_lines};

/// Values that are neither an object nor a text nor nothing.
fn wrong() -> [Value; 4] {
    [json!(5), json!(true), json!([5]), json!([[]])]
}

fn is_error(body: &Value) {
    let run = callgate(&["scan", "-q"], &format!("{body}\n"));
    let judged = json_lines(&run.stdout).into_iter().next().unwrap();
    assert!(run.code == 1 && judged["error"]["message"].is_string(), "scan {body}: {judged}");
    let run = callgate(&["parse"], &body.to_string());
    assert_eq!(run.code, 2, "parse {body}: {}{}", run.stdout, run.stderr);
}

#[test]
fn a_body_of_the_wrong_shape_is_no_empty_answer() {
    let completion = |choice: Value| json!({"object": "chat.completion", "choices": [choice]});
    for value in wrong() {
        is_error(&completion(json!({"message": value, "finish_reason": "stop"})));
        is_error(&completion(json!({"text": value, "finish_reason": "stop"})));
        if !value.is_array() {
            is_error(&completion(json!({"message": {"role": "assistant", "content": value}})));
            is_error(&json!({"type": "message", "role": "assistant", "content": [value]}));
        }
        is_error(&completion(json!({"message": {"role": "assistant", "content": [value]}})));
        is_error(&completion(
            json!({"message": {"role": "assistant", "content": null, "function_call": value}}),
        ));
        is_error(&json!({"object": "response", "status": "completed", "output": [value]}));
        let message = json!({"type": "message", "role": "assistant", "content": value});
        is_error(&json!({"object": "response", "status": "completed", "output": [message]}));
        let turns = json!([{"from": "human", "value": "Hm?"}, {"from": "gpt", "value": value}]);
        is_error(&json!({"conversations": turns}));
    }
    is_error(&completion(json!({"message": {"content": null, "function_call": "x"}})));
    for choice in
        [json!({}), json!({"message": {}}), json!({"message": null}), json!({"finish_reason": "stop"})]
    {
        is_error(&completion(choice.clone()));
    }
    is_error(&json!({"choices": [{}]}));
    is_error(&completion(json!({"message": {"content": [{"type": "text", "text": 5}]}})));
    // What a server may leave empty is an empty answer.
    for body in [
        completion(json!({"message": {"role": "assistant", "content": null}})),
        completion(json!({"message": {"role": "assistant", "content": []}})),
        completion(json!({"text": ""})),
        json!({"object": "response", "status": "completed", "output": []}),
    ] {
        let run = callgate(&["parse", "--output-format", "callgate"], &body.to_string());
        assert_eq!(run.code, 0, "{body}: {}", run.stderr);
    }
}

#[test]
fn a_piece_of_the_wrong_shape_ends_a_stream() {
    let event = |choice: &Value| {
        format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [choice]}))
    };
    let first = event(&json!({"index": 0, "delta": {"content": "Hi"}}));
    let last = event(&json!({"index": 0, "delta": {}, "finish_reason": "stop"}));
    for value in wrong() {
        for choice in [
            json!({"delta": value}),
            json!({"message": value}),
            json!({"text": value}),
            json!({"delta": {"content": [value]}}),
            json!({"delta": {"function_call": value}}),
        ] {
            let run = callgate(&["parse"], &format!("{first}{}{last}", event(&choice)));
            assert_eq!(run.code, 2, "{choice}: {}", run.stdout);
        }
        let lines = [
            json!({"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done": false}),
            json!({"model": "m", "message": value, "done": false}),
            json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true}),
        ];
        let run = callgate(&["parse"], &lines.map(|line| format!("{line}\n")).concat());
        assert_eq!(run.code, 2, "{value}: {}", run.stdout);
    }
    assert_eq!(callgate(&["parse"], &format!("{first}{last}data: [DONE]\n\n")).code, 0);
}
