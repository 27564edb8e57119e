//! What a request allows, and what a server says, hold in every face: tools that may be called, one call at a time, words of a
//! model without tools, faults in the middle of an answer.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use callgate_gateway::{Gateway, Settings};
use serde_json::{Value, json};
use support::{FACES, Script, Told, ask, calls, in_front_of, question, read, serve, upstream};

const LOOKS: &str = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>"#;

fn native(calls: &[(&str, &str)]) -> Told {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (name, arguments))| json!({"index": index, "id": format!("c{index}"), "function": {"name": name, "arguments": arguments}}))
        .collect();
    Told::stream(&[json!({"tool_calls": calls})], "tool_calls")
}

#[tokio::test(flavor = "multi_thread")]
async fn without_tools_words_are_words() {
    for words in [LOOKS, r#"{"name": "Bob", "parameters": {"age": 3}}"#] {
        let script = Script::default();
        script.tell(Told::text(words, 5));
        let running = serve(in_front_of(upstream(&script).await)).await;
        for face in FACES {
            for stream in [false, true] {
                let mut body = question(face, stream);
                body["model"] = json!("llama3.1:8b");
                body.as_object_mut().unwrap().remove("tools");
                let before = script.asked().len();
                let got = ask(running.address, face, &body).await;
                let response = read(&got);
                assert_eq!(
                    (calls(&response), response.text.as_str()),
                    (vec![], words),
                    "{face}: {}",
                    got.body
                );
                assert_eq!(script.asked().len(), before + 1, "{face} asked again");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_one_call_is_allowed_a_correction_brings_no_second() {
    let (good, bad) = (r#"{"city": "Oslo"}"#, r#"{"days": 1}"#);
    for (told, asked) in [
        (vec![("get_weather", good), ("get_weather", bad)], 1),
        (vec![("get_weather", bad), ("get_weather", good)], 1),
        (vec![("get_weather", bad), ("get_weather", bad)], 2),
    ] {
        // Ollama has no word for it.
        for face in &FACES[..3] {
            let script = Script::default();
            script.tell(native(&told));
            script.tell(native(&[
                ("get_weather", r#"{"city": "Rome"}"#),
                ("get_weather", r#"{"city": "Bonn"}"#),
            ]));
            let running = serve(in_front_of(upstream(&script).await)).await;
            let mut body = question(face, true);
            match *face {
                "/v1/messages" => {
                    body["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": true});
                }
                _ => body["parallel_tool_calls"] = json!(false),
            }
            let got = ask(running.address, face, &body).await;
            assert_eq!(calls(&read(&got)).len(), 1, "{face}: {}", got.body);
            assert_eq!(script.asked().len(), asked, "{face}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_allowed_tools_are_called() {
    for face in &FACES[..2] {
        let script = Script::default();
        script.tell(native(&[("get_weather", r#"{"city": "Oslo"}"#)]));
        let running = serve(in_front_of(upstream(&script).await)).await;
        let mut body = question(face, false);
        let other = json!({"type": "function", "name": "add", "parameters": {"type": "object"}});
        let (tool, choice) = match *face {
            "/v1/responses" => (
                other,
                json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "add"}]}),
            ),
            _ => (
                json!({"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}),
                json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "add"}}]}}),
            ),
        };
        body["tools"].as_array_mut().unwrap().push(tool);
        body["tool_choice"] = choice;
        let got = ask(running.address, face, &body).await;
        assert_eq!(calls(&read(&got)), vec![], "{face}: {}", got.body);
        let offered = script.asked()[0]["tools"].to_string();
        assert!(offered.contains("add") && !offered.contains("get_weather"), "{face}: {offered}");
    }
}

/// The last document of an answer, streamed or whole, in which the face says how it ended.
fn ending(face: &str, body: &str) -> Value {
    let lines = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let mut documents = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let says = |document: &Value| match face {
        "/v1/chat/completions" => document["choices"][0]["finish_reason"].is_string(),
        "/v1/responses" => document["response"]["status"].is_string() || document["status"].is_string(),
        "/v1/messages" => document["stop_reason"].is_string() || document["delta"]["stop_reason"].is_string(),
        _ => document["done"] == true,
    };
    documents.rfind(says).unwrap_or_else(|| panic!("{face} has no end: {body}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_beside_a_call_is_told() {
    let good = r#"{"city": "Oslo"}"#;
    let call = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": good}}]});
    let half = json!({"tool_calls": [{"index": 1, "id": "d", "function": {"name": "get_weather", "arguments": "{\"ci"}}]});
    let tagged = json!({"content": LOOKS});
    let words = json!({"content": "And then I wi"});
    for (deltas, reason, marks, is_cut) in [
        (vec![call.clone()], "length", true, true),
        (vec![call.clone()], "length", false, true),
        (vec![call.clone()], "content_filter", true, true),
        // What was cut off is asked for again, and comes.
        (vec![call.clone(), half], "length", true, false),
        (vec![tagged, words], "length", false, true),
        (vec![call], "tool_calls", true, false),
    ] {
        for face in FACES {
            for stream in [false, true] {
                let script = Script::default();
                script.tell(Told::stream(&deltas, reason));
                script.tell(native(&[("get_weather", r#"{"city": "Rome"}"#)]));
                let mut settings = in_front_of(upstream(&script).await);
                settings.marks = marks;
                let running = serve(settings).await;
                let got = ask(running.address, face, &question(face, stream)).await;
                assert!(!calls(&read(&got)).is_empty(), "{face}: {}", got.body);
                let end = ending(face, &got.body);
                let response = if stream { &end["response"] } else { &end };
                let told = match face {
                    "/v1/chat/completions" => {
                        assert_eq!(end["choices"][0]["finish_reason"], "tool_calls", "{end}");
                        end["callgate"]["finish_reason"] == reason
                    }
                    "/v1/responses" => {
                        let word = if reason == "length" { "max_output_tokens" } else { reason };
                        response["status"] == "incomplete" && response["incomplete_details"]["reason"] == word
                    }
                    "/v1/messages" => {
                        let word = if stream { &end["delta"]["stop_reason"] } else { &end["stop_reason"] };
                        assert_eq!(word, "tool_use", "{end}");
                        end["callgate"]["finish_reason"] == reason
                    }
                    _ => end["done_reason"] == reason || end["callgate"]["finish_reason"] == reason,
                };
                assert_eq!(told, is_cut, "{face}, {reason}, stream {stream}: {}", got.body);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_found_names_the_setting_that_helps() {
    for (words, setting) in [
        (r#"{"name": "get_weather", "arguments": {"city": "Oslo"}}"#, "`dialect` of the model"),
        (r#"[get_weather(city="Oslo")]"#, "`dialect` of the model"),
        ("Action: get_weather\nAction Input: {\"city\": \"Oslo\"}", "`dialect` of the model"),
        ("Let me think.\n</think>\nHello.", "`prompt_tail` of the model"),
    ] {
        let script = Script::default();
        script.tell(Told::text(words, 5));
        let running = serve(in_front_of(upstream(&script).await)).await;
        for face in FACES {
            for stream in [false, true] {
                let got = ask(running.address, face, &question(face, stream)).await;
                // No flag of a command: a client has none.
                assert!(got.body.contains(setting) && !got.body.contains("--"), "{face}: {}", got.body);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_says_in_the_place_of_a_correction_is_told() {
    for (reply, said) in [("Which city do you mean?", true), ("", false)] {
        for face in FACES {
            let script = Script::default();
            script.tell(native(&[("get_weather", r#"{"days": 1}"#)]));
            script.tell(Told::text(reply, 4));
            let running = serve(in_front_of(upstream(&script).await)).await;
            let got = ask(running.address, face, &question(face, false)).await;
            assert_eq!(got.body.contains("Which city do you mean?"), said, "{face}: {}", got.body);
            assert!(!got.body.contains("repeated its rejected call"), "{face}: {}", got.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_answer_without_a_reason_is_an_answer() {
    let call = json!({"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}});
    // A list of calls, and one call without its list.
    for calls_as in [json!([call]), call] {
        let told = Told::stream(&[json!({"tool_calls": calls_as})], "stop");
        let body = String::from_utf8(told.body.clone()).unwrap().replace("\"stop\"", "null");
        let script = Script::default();
        script.tell(Told { body: body.into_bytes(), ..told });
        let running = serve(in_front_of(upstream(&script).await)).await;
        for face in FACES {
            let got = ask(running.address, face, &question(face, true)).await;
            let oslo = vec![("get_weather".to_owned(), json!({"city": "Oslo"}))];
            assert_eq!(calls(&read(&got)), oslo, "{face}: {}", got.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_says_nothing_takes_nothing_away() {
    let folder = std::env::temp_dir().join(format!("callgate-asked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("gateway.yml");
    std::fs::write(&file, "limits: {concurrent: 3}\n").unwrap();
    let gateway = Gateway::from_file(file.clone()).await.unwrap();
    for empty in ["", "\n", "# keys: later\n", "---\n"] {
        std::fs::write(&file, empty).unwrap();
        assert!(gateway.reload().await.is_err(), "{empty:?} was taken");
        assert!(Settings::parse(empty).is_err(), "{empty:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A key that looks like none is known all the same: it is the server's own.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_a_late_fault_is_not_told() {
    // Read by the settings, as the keys of a user are.
    let key = std::env::var("PATH").unwrap();
    let script = Script::default();
    let told = json!({"error": {"message": format!("no access for {key}")}});
    script.tell(Told {
        body: format!(
            "data: {}\n\ndata: {told}\n\n",
            json!({"choices": [{"index": 0, "delta": {"content": "a"}}]})
        )
        .into_bytes(),
        ..Told::text("", 1)
    });
    let mut settings = in_front_of(upstream(&script).await);
    settings.upstreams[0].key_env = Some("PATH".to_owned());
    let running = serve(settings).await;
    for face in FACES {
        for stream in [false, true] {
            let got = ask(running.address, face, &question(face, stream)).await;
            assert!(got.body.contains("no access for") && !got.body.contains(&key), "{face}: {}", got.body);
        }
    }
}
