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
