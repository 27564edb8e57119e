//! Answers that are asked for as JSON are answers, in every face; calls beside them are calls.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use callgate_gateway::Settings;
use callgate_gateway::config::{CallsBy, ModelSettings};
use serde_json::{Value, json};
use support::{FACES, Script, Told, ask, calls, in_front_of, question, read, serve, upstream};

/// Models by whose names, or settings, calls are bare JSON, stand in tags, or are looked for in all formats.
const MODELS: [&str; 6] = ["m", "llama3.1:8b", "xlam-7b", "qwen3", "bare", "taught"];

fn settings(address: std::net::SocketAddr) -> Settings {
    let mut settings = in_front_of(address);
    let mut bare = ModelSettings::named("bare");
    bare.dialect = Some("json-bare".to_owned());
    settings.models.push(bare);
    // One whose server knows nothing of tools.
    let mut taught = ModelSettings::named("taught");
    taught.calls = Some(CallsBy::Prompt);
    settings.models.push(taught);
    settings
}

/// A question with the form that its answer has to have: any object, or one that fits a schema. Nothing where a face has no word
/// for it.
fn formed(face: &str, stream: bool, model: &str, schema: Option<&Value>) -> Option<Value> {
    let mut body = question(face, stream);
    body["model"] = model.into();
    match (face, schema) {
        ("/v1/chat/completions", None) => body["response_format"] = json!({"type": "json_object"}),
        ("/v1/chat/completions", Some(schema)) => {
            body["response_format"] =
                json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}});
        }
        ("/v1/responses", None) => body["text"] = json!({"format": {"type": "json_object"}}),
        ("/v1/responses", Some(schema)) => {
            body["text"] = json!({"format": {"type": "json_schema", "name": "answer", "schema": schema}});
        }
        ("/v1/messages", None) => return None,
        ("/v1/messages", Some(schema)) => {
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        }
        (_, None) => body["format"] = "json".into(),
        (_, Some(schema)) => body["format"] = schema.clone(),
    }
    Some(body)
}

/// Every model, face and form; every second one is streamed, beginning with the first or the second.
fn questions(schema: &Value, first: usize) -> Vec<(&'static str, String, Value)> {
    let mut questions = Vec::new();
    for model in MODELS {
        for face in FACES {
            for schema in [None, Some(schema)] {
                let stream = (questions.len() + first).is_multiple_of(2);
                let place = format!("{model}, {face}, schema {}, stream {stream}", schema.is_some());
                questions.extend(formed(face, stream, model, schema).map(|body| (face, place, body)));
            }
        }
    }
    questions
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_was_asked_for_is_no_call() {
    let any = json!({"type": ["object", "array"]});
    // One gateway for all, which then has its gates at hand.
    let script = Script::default();
    let running = serve(settings(upstream(&script).await)).await;
    let rows = [
        (r#"{"name": "Bob", "parameters": {"age": 3}}"#, "stop"),
        (r#"{"name": "Bob", "arguments": {"age": 3}}"#, "stop"),
        ("\n{\"function\": \"sine\", \"parameters\": {}}\n", "stop"),
        (r#"[{"name": "Bob", "parameters": {}}, {"name": "Ann", "arguments": {}}]"#, "stop"),
        (
            r#"[{"name": "get_weather", "parameters": {"city": "Oslo"}}, {"name": "Ann", "parameters": {}}]"#,
            "stop",
        ),
        (r#"{"answer": "get_weather({\"city\": \"Oslo\"})"}"#, "stop"),
        (r#"{"answer": 42}"#, "stop"),
        (r#"[5, {"name": "Bob", "parameters": {}}, "and", {"name": "Ann", "parameters": {}}]"#, "stop"),
        (r#"[1, 2, [3, {"a": []}]]"#, "stop"),
        (r#"{"name": "Bob", "parameters": {}}<|eot_id|>"#, "stop"),
        (r#"{"name": "Bob", "parameters": {"age": 3, "lives in": "Os"#, "length"),
    ];
    for (row, (words, reason)) in rows.into_iter().enumerate() {
        let pieces: Vec<Value> = words
            .chars()
            .collect::<Vec<_>>()
            .chunks(7)
            .map(|piece| json!({"content": piece.iter().collect::<String>()}))
            .collect();
        script.tell(Told::stream(&pieces, reason));
        if !script.asked().is_empty() {
            // The answer before this one is given once more.
            ask(running.address, FACES[0], &question(FACES[0], false)).await;
        }
        for (face, place, body) in questions(&any, row) {
            let before = script.asked().len();
            let got = ask(running.address, face, &body).await;
            let response = read(&got);
            assert_eq!(
                (calls(&response), response.text.trim()),
                (vec![], words.trim().trim_end_matches("<|eot_id|>")),
                "{place}: {}",
                got.body
            );
            assert_eq!(script.asked().len(), before + 1, "{place} asked again");
            for word in ["rejected", "looks-like-a-call", "failure", "truncated"] {
                assert!(!got.body.contains(word), "{place} says {word}: {}", got.body);
            }
            let is_cut = response.finish_reason == callgate::FinishReason::Length;
            assert_eq!(is_cut, reason == "length", "{place}: {}", got.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_one_where_a_document_was_asked_for() {
    // What the answer would have to be, and what no call is.
    let schema =
        json!({"type": "object", "properties": {"answer": {"type": "number"}}, "required": ["answer"]});
    let oslo = vec![("get_weather".to_owned(), json!({"city": "Oslo"}))];
    let structured = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}}]});
    for (told, is_bare) in [
        (Told::stream(&[structured], "tool_calls"), false),
        (
            Told::text(r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>"#, 6),
            false,
        ),
        (Told::text(r#"{"name": "get_weather", "parameters": {"city": "Oslo"}}"#, 6), true),
    ] {
        let script = Script::default();
        script.tell(told);
        let running = serve(settings(upstream(&script).await)).await;
        let questions = [questions(&schema, 0), questions(&schema, 1)];
        for (face, place, body) in questions.into_iter().flatten() {
            if is_bare && !["llama3.1:8b", "bare"].iter().any(|model| body["model"] == *model) {
                continue;
            }
            let got = ask(running.address, face, &body).await;
            assert_eq!(calls(&read(&got)), oslo, "{place}: {}", got.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_does_not_fit_is_corrected_where_a_document_was_asked_for() {
    let schema =
        json!({"type": "object", "properties": {"answer": {"type": "number"}}, "required": ["answer"]});
    for stream in [false, true] {
        for face in FACES {
            let script = Script::default();
            script.tell(Told::text(r#"{"name": "get_weather", "parameters": {"days": 3}}"#, 6));
            script.tell(Told::text(r#"{"name": "get_weather", "parameters": {"city": "Oslo"}}"#, 6));
            let running = serve(settings(upstream(&script).await)).await;
            let body = formed(face, stream, "llama3.1:8b", Some(&schema)).unwrap();
            let got = ask(running.address, face, &body).await;
            let oslo = vec![("get_weather".to_owned(), json!({"city": "Oslo"}))];
            assert_eq!(calls(&read(&got)), oslo, "{face}: {}", got.body);
            assert_eq!(script.asked().len(), 2, "{face}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_and_the_choice_decide_where_a_document_could_be_both() {
    let words = r#"{"name": "get_weather", "parameters": {"city": "Oslo"}}"#;
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "parameters": {"type": "object"}},
        "required": ["name", "parameters"],
    });
    let script = Script::default();
    script.tell(Told::text(words, 6));
    let running = serve(settings(upstream(&script).await)).await;
    let none = |face: &str| match face {
        "/v1/messages" => json!({"type": "none"}),
        _ => "none".into(),
    };
    for face in FACES {
        for stream in [false, true] {
            for model in MODELS {
                let fits = formed(face, stream, model, Some(&schema)).unwrap();
                let forbidden = formed(face, stream, model, None).map(|mut body| {
                    body["tool_choice"] = none(face);
                    body
                });
                for body in [Some(fits), forbidden].into_iter().flatten() {
                    let got = ask(running.address, face, &body).await;
                    let response = read(&got);
                    assert_eq!(
                        (calls(&response), response.text.as_str()),
                        (vec![], words),
                        "{face}: {}",
                        got.body
                    );
                }
            }
            // Where a call is required, words are none.
            let mut body = formed(face, stream, "llama3.1:8b", Some(&schema)).unwrap();
            body["tool_choice"] = match face {
                "/v1/messages" => json!({"type": "any"}),
                _ => "required".into(),
            };
            let got = ask(running.address, face, &body).await;
            assert_eq!(calls(&read(&got)).len(), 1, "{face}: {}", got.body);
        }
    }
}
