//! Whatever the model's server does, the same calls come out of every face, whole and streamed.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use callgate::FinishReason;
use callgate_gateway::config::{CallsBy, ModelSettings, OnFailure};
use serde_json::{Value, json};
use support::{FACES, Script, Told, ask, calls, in_front_of, question, read, serve, upstream};

/// A way in which a model's server behaves, and what a client has to see.
struct Row {
    name: &'static str,
    told: Vec<Told>,
    calls: Vec<(&'static str, Value)>,
    text: &'static str,
    reason: FinishReason,
}

fn oslo() -> Vec<(&'static str, Value)> {
    vec![("get_weather", json!({"city": "Oslo"}))]
}

fn call_deltas(arguments: &[&str]) -> Vec<Value> {
    let first = json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "get_weather", "arguments": ""}}]});
    let more =
        arguments.iter().map(|piece| json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}));
    std::iter::once(first).chain(more).collect()
}

fn rows() -> Vec<Row> {
    let mut rows = vec![
        Row {
            name: "words",
            told: vec![Told::text("It rains in Oslo, as x < 3 shows.", 3)],
            calls: vec![],
            text: "It rains in Oslo, as x < 3 shows.",
            reason: FinishReason::Stop,
        },
        Row {
            name: "native",
            told: vec![Told::stream(&call_deltas(&["{\"city\"", ": \"Oslo\"}"]), "tool_calls")],
            calls: oslo(),
            text: "",
            reason: FinishReason::ToolCalls,
        },
        Row {
            name: "native, broken",
            told: vec![Told::stream(&call_deltas(&["{'city': 'Oslo',", "}"]), "tool_calls")],
            calls: oslo(),
            text: "",
            reason: FinishReason::ToolCalls,
        },
        Row {
            name: "native, with a wrong reason",
            told: vec![Told::stream(&call_deltas(&["{\"city\": \"Oslo\"}"]), "stop")],
            calls: oslo(),
            text: "",
            reason: FinishReason::ToolCalls,
        },
        Row {
            name: "two at once",
            told: vec![Told::text(
                "Both.\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>\n\
                 <tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\", \"days\": 2}}</tool_call>",
                5,
            )],
            calls: vec![
                ("get_weather", json!({"city": "Oslo"})),
                ("get_weather", json!({"city": "Rome", "days": 2})),
            ],
            text: "Both.",
            reason: FinishReason::ToolCalls,
        },
        Row {
            name: "cut off inside a call",
            told: vec![Told::stream(
                &[json!({"content": "<tool_call>{\"name\": \"get_weather\", \"argu"})],
                "length",
            )],
            calls: vec![],
            text: "rejected",
            reason: FinishReason::Length,
        },
        Row {
            name: "corrected when asked again",
            told: vec![
                Told::text(
                    "<tool_call>{\"name\": \"get_wether\", \"arguments\": {\"town\": \"Oslo\"}}</tool_call>",
                    4,
                ),
                Told::text(
                    "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>",
                    4,
                ),
            ],
            calls: oslo(),
            text: "",
            reason: FinishReason::ToolCalls,
        },
        Row {
            name: "never corrected",
            told: vec![Told::text(
                "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"town\": 7}}</tool_call>",
                4,
            )],
            calls: vec![],
            text: "rejected",
            reason: FinishReason::Stop,
        },
        Row {
            name: "a thought, then a call",
            told: vec![Told::text(
                "<think>I could <tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bonn\"}}</tool_call></think>\
                 <tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>",
                4,
            )],
            calls: oslo(),
            text: "",
            reason: FinishReason::ToolCalls,
        },
    ];
    // Calls as text, in the formats of ten families.
    for dialect in [
        "hermes",
        "llama3-json",
        "mistral",
        "qwen3-coder",
        "deepseek-v3",
        "glm45",
        "kimi-k2",
        "granite",
        "minimax-m2",
        "harmony",
    ] {
        let record = callgate::Record::named(dialect).unwrap_or_else(|| panic!("no {dialect}"));
        let call = callgate::RenderCall { id: None, name: "get_weather", arguments: "{\"city\": \"Oslo\"}" };
        rows.push(Row {
            name: dialect,
            told: vec![Told::text(&record.render(&[call], None, None).unwrap(), 2)],
            calls: oslo(),
            text: "",
            reason: FinishReason::ToolCalls,
        });
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_calls_come_out_of_every_face() {
    for row in rows() {
        for face in FACES {
            for stream in [false, true] {
                let script = Script::default();
                for told in &row.told {
                    script.tell(told.clone().cut(37));
                }
                let mut settings = in_front_of(upstream(&script).await);
                if callgate::Record::named(row.name).is_some() {
                    let mut model = ModelSettings::named("m");
                    model.dialect = Some(row.name.to_owned());
                    settings.models.push(model);
                }
                let running = serve(settings).await;
                let got = ask(running.address, face, &question(face, stream)).await;
                let place = format!("{}, {face}, stream {stream}: {}", row.name, got.body);
                assert_eq!(got.status, 200, "{place}");
                let response = read(&got);
                let wanted: Vec<(String, Value)> =
                    row.calls.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
                assert_eq!(calls(&response), wanted, "{place}");
                match row.text {
                    "rejected" => assert!(response.text.contains("was rejected"), "{place}"),
                    text => assert_eq!(response.text.trim(), text, "{place}"),
                }
                // Ollama has no word for calls.
                if face != "/api/chat" {
                    assert_eq!(response.finish_reason, row.reason, "{place}");
                }
                if row.reason == FinishReason::Length && face == "/api/chat" {
                    assert_eq!(response.finish_reason, FinishReason::Length, "{place}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_without_tools_are_taught_and_results_go_back_as_text() {
    for face in FACES {
        let script = Script::default();
        script.tell(Told::text(
            "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>",
            7,
        ));
        let mut settings = in_front_of(upstream(&script).await);
        let mut model = ModelSettings::named("*");
        model.calls = Some(CallsBy::Prompt);
        settings.models.push(model);
        let running = serve(settings).await;
        let got = ask(running.address, face, &question(face, true)).await;
        assert_eq!(calls(&read(&got)).len(), 1, "{face}: {}", got.body);
        let asked = script.asked();
        assert_eq!(asked[0].get("tools"), None, "{face}: {asked:?}");
        let system = asked[0]["messages"][0]["content"].as_str().unwrap();
        assert!(system.contains("get_weather") && system.contains("<tool_call>"), "{face}: {system}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_choice_of_tools_is_kept_in_every_face() {
    let call =
        "Now.\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>";
    for face in FACES.into_iter().filter(|face| *face != "/api/chat") {
        for stream in [false, true] {
            // None: the markup goes, and no call comes out.
            let script = Script::default();
            script.tell(Told::text(call, 4));
            let running = serve(in_front_of(upstream(&script).await)).await;
            let mut body = question(face, stream);
            body["tool_choice"] =
                if face == "/v1/messages" { json!({"type": "none"}) } else { json!("none") };
            let got = ask(running.address, face, &body).await;
            let response = read(&got);
            assert_eq!((calls(&response), response.text.trim()), (vec![], "Now."), "{face}: {}", got.body);
            // None, and nothing but a call: the answer says so, and is not empty.
            let only = call.trim_start_matches("Now.\n");
            for (on_failure, status) in
                [(OnFailure::Explain, 200), (OnFailure::Error, 422), (OnFailure::Quiet, 200)]
            {
                let script = Script::default();
                script.tell(Told::text(only, 4));
                let mut settings = in_front_of(upstream(&script).await);
                settings.on_failure = on_failure;
                let running = serve(settings).await;
                let got = ask(running.address, face, &body).await;
                assert_eq!(got.status, status, "{face}: {}", got.body);
                assert!(got.body.contains("tried to call get_weather"), "{face}: {}", got.body);
                if status == 200 {
                    let response = read(&got);
                    let is_told = response.text.contains("tried to call get_weather");
                    assert_eq!(
                        (calls(&response), is_told),
                        (vec![], on_failure == OnFailure::Explain),
                        "{}",
                        got.body
                    );
                }
            }
            // Required: words are not enough, and the model is told so.
            let script = Script::default();
            script.tell(Told::text("I would rather not.", 4));
            script.tell(Told::text(call, 4));
            let running = serve(in_front_of(upstream(&script).await)).await;
            body["tool_choice"] =
                if face == "/v1/messages" { json!({"type": "any"}) } else { json!("required") };
            let got = ask(running.address, face, &body).await;
            assert_eq!(calls(&read(&got)).len(), 1, "{face}: {}", got.body);
            assert_eq!(script.asked().len(), 2, "{face}");
            // One at a time.
            let script = Script::default();
            script
                .tell(Told::text(&format!("{call}{}", call.replace("Now.", "").replace("Oslo", "Rome")), 4));
            let running = serve(in_front_of(upstream(&script).await)).await;
            let mut body = question(face, stream);
            match face {
                "/v1/messages" => {
                    body["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": true})
                }
                _ => body["parallel_tool_calls"] = json!(false),
            }
            let got = ask(running.address, face, &body).await;
            assert_eq!(calls(&read(&got)).len(), 1, "{face}: {}", got.body);
            assert_eq!(script.asked().len(), 1, "{face}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repaired_call_is_named_by_the_id_that_the_client_sees() {
    let script = Script::default();
    script
        .tell(Told::text("<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}</tool_call>", 4));
    let running = serve(in_front_of(upstream(&script).await)).await;
    for face in FACES {
        for stream in [false, true] {
            let got = ask(running.address, face, &question(face, stream)).await;
            let at = got.body.find("\"repaired\"").unwrap_or_else(|| panic!("{face}: {}", got.body));
            let id =
                got.body[at..].split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
            let seen = &read(&got).calls[0].id;
            assert_eq!(seen, id, "{face}: {}", got.body);
        }
    }
}
