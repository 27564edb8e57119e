//! What a stream holds besides text, over real HTTP: calls in fragments, what the server says about its answer, the end
//! of a call as an event and as an end, and a conversation that has grown too long.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "support/scratch.rs"]
mod scratch;
// Other tests need more of the server.
#[allow(dead_code)]
mod support;
// Other tests say more.
#[allow(dead_code)]
#[path = "support/asked.rs"]
mod asked;

use asked::{Says, ask, calls};
use callgate_agent::chat::{ContextBudget, ContextUnit, End, Recording};
use serde_json::{Value, json};
use support::{chunked, head};

/// Messages of an assistant as Ollama streams them, each in a line of its own, then the end.
fn stream(messages: &[Value], size: usize) -> Says {
    let line = |message: &Value| {
        json!({"model": "m1", "created_at": "2025-01-31T12:00:00Z", "message": message, "done": false})
            .to_string()
    };
    let mut lines: Vec<String> = messages.iter().map(line).collect();
    lines.push(
        json!({"model": "m1", "created_at": "2025-01-31T12:00:01Z", "message": {"content": ""}, "done": true,
            "done_reason": "stop", "total_duration": 900, "eval_duration": 500, "prompt_eval_count": 11,
            "eval_count": 7})
        .to_string(),
    );
    Says::Stream(chunked("application/x-ndjson", &(lines.join("\n") + "\n"), size), false)
}

/// A fragment of a call.
fn fragment(function: Value) -> Value {
    json!({"role": "assistant", "content": "", "tool_calls": [{"function": function}]})
}

/// A-71, AT-093 over the wire: fragments of one call are joined, by index wherever the server puts it, and without one.
#[tokio::test]
async fn fragments_of_a_call_are_joined() {
    let by_function = [
        fragment(json!({"index": 0, "name": "read_", "arguments": "{\"file_"})),
        fragment(json!({"index": 0, "name": "file", "arguments": "path\": \"a."})),
        fragment(json!({"index": 0, "arguments": "txt\"}"})),
    ];
    let by_call = [
        json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read_file", "arguments": "{\"file_path"}}]}),
        json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read_file", "arguments": "\": \"a.txt\"}"}}]}),
    ];
    let bare = [
        fragment(json!({"name": "read_file", "arguments": "{\"file_path\": "})),
        fragment(json!({"arguments": "\"a.txt\"}"})),
    ];
    let whole = [fragment(json!({"name": "read_file", "arguments": {"file_path": "a.txt"}}))];
    for (what, messages) in
        [("function.index", &by_function[..]), ("index", &by_call), ("none", &bare), ("whole", &whole)]
    {
        for size in [1, 5, 4096] {
            let says = [stream(messages, size), Says::Text("Alpha.")];
            let asked = ask("structured", &says, |_| {}).await;
            assert_eq!(asked.answered.end, End::Answered, "{what}: {:?}", asked.answered);
            assert_eq!(asked.answered.tools.len(), 1, "{what}: {:?}", asked.answered);
            assert!(asked.answered.tools[0].ran(), "{what}: {:?}", asked.answered);
            assert_eq!((asked.requests.len(), asked.strikes.len()), (2, 0), "{what}");
        }
    }
}

/// C-37: calls that come after each other stay apart, even under one index, and fragments of two calls may mingle.
#[tokio::test]
async fn fragments_of_different_calls_stay_apart() {
    let read =
        |path: &str| json!({"name": "read_file", "arguments": format!("{{\"file_path\": \"{path}\"}}")});
    let with = |index: usize, mut function: Value| {
        function["index"] = json!(index);
        fragment(function)
    };
    let same_index = [with(0, read("a.txt")), with(0, read("b.txt"))];
    let no_index = [fragment(read("a.txt")), fragment(read("b.txt"))];
    let mingled = [
        with(1, json!({"name": "read_file", "arguments": "{\"file_path\": "})),
        with(0, json!({"name": "read_file", "arguments": "{\"file_path\": \"a"})),
        with(1, json!({"arguments": "\"b.txt\"}"})),
        with(0, json!({"arguments": ".txt\"}"})),
    ];
    for (what, messages) in [("same index", &same_index[..]), ("no index", &no_index), ("mingled", &mingled)]
    {
        let asked = ask("structured", &[stream(messages, 9), Says::Text("Done.")], |_| {}).await;
        let record = |call: &Value| call["details"]["verdict"] == "accepted";
        let paths: Vec<&Value> = asked
            .records
            .iter()
            .filter(|call| record(call))
            .map(|call| &call["details"]["arguments"]["file_path"])
            .collect();
        assert_eq!(paths, ["a.txt", "b.txt"], "{what}: {:?}", asked.answered);
    }
}

/// what the server says about its answer survives, for the host and on record.
#[tokio::test]
async fn model_times_and_durations_of_an_answer_are_kept() {
    let asked = ask("structured", &[stream(&[json!({"content": "Hello."})], 64)], |_| {}).await;
    let (served, interrupted_at) = &asked.served[0];
    assert_eq!(served.model.as_deref(), Some("m1"));
    assert_eq!(served.created.as_deref(), Some("2025-01-31T12:00:00Z"));
    assert_eq!((&served.times["total_duration"], &served.times["eval_duration"]), (&json!(900), &json!(500)));
    assert_eq!(*interrupted_at, None);
    let is_kept = |record: &Value| record["details"]["served"]["times"]["total_duration"] == 900;
    assert_eq!(asked.count(is_kept), 1, "{:?}", asked.records);
}

/// the model is stopped once its call is complete; a server that would go on for ever is left.
#[tokio::test]
async fn a_complete_call_stops_the_model_where_the_profile_says_so() {
    let call = "I look.\n<read_file>{\"file_path\": \"a.txt\"}</read_file>\n";
    let line = json!({"model": "m", "message": {"role": "assistant", "content": call}, "done": false});
    let endless = || Says::Stream(format!("{}{line}\n", head("application/x-ndjson")).into_bytes(), true);
    let done = Says::Text("<read_file>{\"file_path\": \"a.txt\"}</read_file>");
    let asked = ask("strict-xml", &[endless(), done], |setting| setting.spending.turns = 2).await;
    assert_eq!(asked.complete, ["read_file", "read_file"]);
    assert_eq!(asked.answered.tools.len(), 2);
    assert!(asked.answered.tools[0].ran());
    assert_eq!(asked.served[0].1, Some(call.trim_end().len()), "the first was interrupted behind its call");
    assert!(asked.left[0], "the server saw that the client went");
    assert_eq!(asked.count(|record| record["details"]["interrupted_at"].is_u64()), 2);
    // What stands behind the call is not read, however the server cut its answer: neither another call nor a broken one.
    let more = "<read_file>{\"file_path\": \"a.txt\"}</read_file><read_file>{\"file_path\": \"b.t";
    let asked = ask("strict-xml", &[Says::Text(more)], |setting| setting.spending.turns = 1).await;
    assert_eq!((asked.answered.tools.len(), asked.strikes.len()), (1, 0), "{:?}", asked.answered);
    let recording = asked.records.iter().find_map(|record| record["details"].get("recording")).unwrap();
    let recording: Recording = serde_json::from_value(recording.clone()).unwrap();
    assert!(recording.text().ends_with("</read_file>"), "a replay reads what was read: {recording:?}");
    // Where it is not wanted, the answer is read to its end.
    let text = "<read_file>{\"file_path\": \"a.txt\"}</read_file>\n<read_file>{\"file_path\": \"b.txt\"}</read_file>";
    let asked = ask("strict-xml", &[Says::Text(text)], |setting| {
        setting.stop_after_call = false;
        setting.spending.turns = 1;
    })
    .await;
    assert_eq!((asked.complete.len(), asked.answered.tools.len(), asked.served[0].1), (2, 2, None));
}

/// AccessLint's context management: what is sent stays within the budget, and it is said.
#[tokio::test]
async fn a_long_conversation_is_sent_without_its_oldest_results() {
    let mut says: Vec<Says> = (0..6).map(|_| calls("read_file", "long.txt")).collect();
    says.push(Says::Text("Enough."));
    let asked = ask("structured", &says, |setting| {
        setting.context = ContextBudget { most: 8_000, unit: ContextUnit::Characters };
        setting.spending.same_calls = 10;
    })
    .await;
    assert_eq!(asked.answered.end, End::Answered, "{:?}", asked.answered);
    let results = |request: &Value| -> Vec<usize> {
        let messages = request["messages"].as_array().unwrap().iter();
        let contents = messages.filter(|message| message["role"] == "tool");
        contents.map(|message| message["content"].as_str().unwrap().len()).collect()
    };
    let last = results(asked.requests.last().unwrap());
    assert_eq!(last.len(), 6);
    assert!(
        last[..4].iter().all(|length| *length < 100) && last[4..].iter().all(|length| *length == 3_030),
        "{last:?}"
    );
    assert!(asked.left_out.last().unwrap().results == 4, "{:?}", asked.left_out);
}
