//! How an answer ended: one that was cut off behind a whole call says so, wherever it is read.

use serde_json::{Value, json};

use super::{callgate, json_lines};

const CALL: &str = "<tool_call>{\"name\": \"tide\", \"arguments\": {}}</tool_call>";

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Streams of every form that stop behind a whole call.
fn stopped() -> Vec<String> {
    let item = json!({"type": "function_call", "call_id": "a", "name": "tide", "arguments": ""});
    let responses = [
        json!({"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{}"}),
    ];
    vec![
        events(&[
            json!({"type": "message_start", "message": {"role": "assistant", "content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "tide", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}}),
            json!({"type": "content_block_stop", "index": 0}),
        ]),
        events(&responses),
        events(&responses[..3]),
        events(&[
            json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": CALL}}]}),
        ]),
        [
            json!({"model": "m", "message": {"role": "assistant", "content": CALL}, "done": false}),
            json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": false}),
        ]
        .map(|line| format!("{line}\n"))
        .concat(),
    ]
}

fn codes(judged: &Value) -> Vec<&str> {
    judged["findings"].as_array().unwrap().iter().filter_map(|one| one["code"].as_str()).collect()
}

fn scanned(args: &[&str], input: &str) -> Value {
    let run = callgate(&[&["scan", "-q"], args].concat(), input);
    json_lines(&run.stdout).into_iter().next().unwrap()
}

#[test]
fn a_stream_that_stops_says_so_in_its_result() {
    for stream in stopped() {
        let mut judged = scanned(&[], &stream);
        assert!(codes(&judged).contains(&"cut-off"), "{stream}: {judged}");
        assert!(judged["findings"].to_string().contains("without saying that it is over"), "{judged}");
        let run = callgate(&["parse", "--output-format", "callgate"], &stream);
        assert!(run.stderr.contains("without saying that it is over"), "{stream}: {}", run.stderr);
        judged.as_object_mut().unwrap().remove("id");
        assert_eq!(judged, serde_json::from_str::<Value>(&run.stdout).unwrap(), "{stream}");
        let run = callgate(&["parse", "--json"], &stream);
        assert!(run.stdout.contains("cut-off"), "{stream}: {}", run.stdout);
        for judged in [
            scanned(&["--output-format", "openai"], &stream),
            serde_json::from_str(&callgate(&["parse", "--output-format", "openai"], &stream).stdout).unwrap(),
        ] {
            // Where the call is cut off itself, the reason of the choice says it.
            let besides = &judged["callgate"];
            assert_eq!(besides["findings"][0]["code"], "cut-off", "{judged}");
            assert!(besides["finish_reason"] == "error" || judged["finish_reason"] == "error", "{judged}");
        }
    }
}

#[test]
fn a_call_before_the_cut_stands_and_the_cut_is_said() {
    let block = json!({"type": "tool_use", "id": "a", "name": "tide", "input": {"a": 1}});
    for word in ["length", "max_tokens", "MAX_TOKENS", "content_filter", "error"] {
        let bodies = [
            json!({"text": CALL, "finish_reason": word}),
            json!({"choices": [{"message": {"content": CALL}, "finish_reason": word}]}),
            json!({"type": "message", "role": "assistant", "content": [block], "stop_reason": word}),
            json!({"model": "m", "message": {"role": "assistant", "content": CALL}, "done": true, "done_reason": word}),
        ];
        for body in bodies {
            let judged = scanned(&[], &format!("{body}\n"));
            assert_eq!(judged["finish_reason"], "tool_calls", "{body}: {judged}");
            assert_eq!(codes(&judged), ["cut-off"], "{body}: {judged}");
            assert!(judged["findings"][0]["message"].as_str().unwrap().contains(word), "{judged}");
            let choice = scanned(&["--output-format", "openai"], &format!("{body}\n"));
            assert_eq!(choice["finish_reason"], "tool_calls", "{choice}");
            assert!(choice["callgate"]["finish_reason"].is_string(), "{choice}");
        }
    }
    for word in ["stop", "tool_calls", "tool_use", "end_turn"] {
        let judged = scanned(&[], &json!({"text": CALL, "finish_reason": word}).to_string());
        assert_eq!(codes(&judged), Vec::<&str>::new(), "{word}: {judged}");
    }
    // Where nothing stands, the reason says it.
    let judged = scanned(&[], &json!({"text": "Hi", "finish_reason": "max_tokens"}).to_string());
    assert_eq!((&judged["finish_reason"], &judged["findings"]), (&json!("max_tokens"), &json!([])));
}

#[test]
fn calls_that_are_announced_and_not_there_are_said() {
    for word in ["tool_calls", "tool_use", "function_call"] {
        for body in [
            json!({"text": "On it.", "finish_reason": word}),
            json!({"choices": [{"message": {"content": "On it."}, "finish_reason": word}]}),
        ] {
            let judged = scanned(&[], &body.to_string());
            assert_eq!(judged["finish_reason"], "stop", "{judged}");
            assert_eq!(codes(&judged), ["missing-calls"], "{body}: {judged}");
        }
    }
    // A rejected call was there.
    let judged = scanned(
        &[],
        &json!({"text": "<tool_call>{\"name\": 5}</tool_call>", "finish_reason": "tool_calls"}).to_string(),
    );
    assert_eq!(codes(&judged), Vec::<&str>::new(), "{judged}");
}
