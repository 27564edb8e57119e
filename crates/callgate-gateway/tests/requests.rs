//! What a client says reaches the model, what comes back is in the client's words, and what is left out is noted.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::net::SocketAddr;

use callgate_gateway::Settings;
use callgate_gateway::config::{Api, CallsBy, ModelSettings, UpstreamSettings};
use serde_json::{Value, json};
use support::{FACES, Script, Told, ask, calls, in_front_of, question, read, send, serve, upstream};

const RESPONSES: &str = "/v1/responses";
const CHAT: &str = "/v1/chat/completions";

fn native(calls: &[(&str, &str, Value)]) -> Told {
    let deltas: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, (id, name, arguments))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
        })
        .collect();
    Told::stream(&deltas, "tool_calls")
}

/// Settings for a server whose model comes by its tools like this.
fn with_calls(mut settings: Settings, by: CallsBy) -> Settings {
    let mut model = ModelSettings::named("*");
    model.calls = Some(by);
    settings.models.push(model);
    settings
}

fn ollama(address: SocketAddr) -> Settings {
    let mut upstream = UpstreamSettings::at(format!("http://{address}"));
    upstream.api = Api::Ollama;
    let mut settings = Settings::default();
    settings.upstreams = vec![upstream];
    with_calls(settings, CallsBy::Native)
}

/// The events of a stream, or the one document.
fn documents(body: &str) -> Vec<Value> {
    let lines = body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    lines.filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_namespaces_are_told_apart_and_given_back_as_the_client_knows_them() {
    let query = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let search = json!({"type": "function", "name": "search", "parameters": query});
    let note = json!({"type": "custom", "name": "note"});
    let tools = json!([
        {"type": "namespace", "name": "mcp__crm__", "tools": [search, note]},
        {"type": "namespace", "name": "mail", "tools": [search]},
        {"type": "function", "name": "mail__search", "parameters": query},
        search,
    ]);
    let past = json!([
        {"type": "message", "role": "user", "content": "Search."},
        {"type": "function_call", "call_id": "a", "namespace": "mail", "name": "search", "arguments": "{\"q\": \"x\"}"},
        {"type": "function_call_output", "call_id": "a", "output": "Nothing."},
    ]);
    let wanted = [
        ("mcp__crm__search", json!({"q": "a"}), "function_call", "search", json!("mcp__crm__")),
        ("mcp__crm__note", json!({"input": "b"}), "custom_tool_call", "note", json!("mcp__crm__")),
        ("mail__search_2", json!({"q": "c"}), "function_call", "search", json!("mail")),
        ("mail__search", json!({"q": "d"}), "function_call", "mail__search", Value::Null),
        ("search", json!({"q": "e"}), "function_call", "search", Value::Null),
    ];
    for stream in [false, true] {
        let script = Script::default();
        let ids = ["c0", "c1", "c2", "c3", "c4"];
        let calls: Vec<(&str, &str, Value)> =
            ids.iter().zip(&wanted).map(|(id, row)| (*id, row.0, row.1.clone())).collect();
        script.tell(native(&calls));
        let running = serve(in_front_of(upstream(&script).await)).await;
        let mut body = json!({"model": "m", "input": past, "tools": tools, "stream": stream});
        let got = ask(running.address, RESPONSES, &body).await;
        assert_eq!(got.status, 200, "{}", got.body);
        let asked = &script.asked()[0];
        let names =
            asked["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap());
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        assert_eq!(names, ["mail__search", "mail__search_2", "mcp__crm__note", "mcp__crm__search", "search"]);
        assert_eq!(asked["messages"][1]["tool_calls"][0]["function"]["name"], "mail__search_2", "{asked}");
        let last = documents(&got.body).pop().unwrap();
        let output = if stream { &last["response"]["output"] } else { &last["output"] };
        let found: Vec<(&Value, &Value, &Value)> = output
            .as_array()
            .unwrap()
            .iter()
            .map(|item| (&item["type"], &item["name"], &item["namespace"]))
            .collect();
        for ((_, _, kind, name, namespace), found) in wanted.iter().zip(&found) {
            assert_eq!(*found, (&json!(kind), &json!(name), namespace), "{}", got.body);
        }
        assert_eq!(found.len(), wanted.len(), "{}", got.body);
        // A choice that names a tool means the same one.
        body["tool_choice"] = json!({"type": "function", "namespace": "mail", "name": "search"});
        ask(running.address, RESPONSES, &body).await;
        let asked = &script.asked()[1];
        assert_eq!(asked["tool_choice"]["function"]["name"], "mail__search_2", "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn allowed_tools_may_stand_in_namespaces() {
    let query = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let tool = |name: &str| json!({"type": "function", "name": name, "parameters": query});
    let tools = json!([
        {"type": "namespace", "name": "crm", "tools": [tool("search"), tool("find")]},
        {"type": "namespace", "name": "mail", "tools": [tool("search"), tool("post")]},
        tool("search"),
        tool("add"),
    ]);
    for (allowed, wanted) in [
        (json!([{"type": "function", "name": "search"}]), vec!["search"]),
        (json!([{"type": "function", "name": "search", "namespace": "crm"}]), vec!["crm__search"]),
        // The namespace may be left out where that leaves no doubt.
        (json!([{"type": "function", "name": "post"}]), vec!["mail__post"]),
        (json!([{"type": "namespace", "name": "crm"}]), vec!["crm__find", "crm__search"]),
        (
            json!([{"type": "namespace", "name": "mail", "tools": [{"type": "function", "name": "search"}]}, {"type": "function", "name": "add"}]),
            vec!["add", "mail__search"],
        ),
        (json!([{"type": "function", "name": "fly", "namespace": "crm"}]), vec![]),
    ] {
        for stream in [false, true] {
            let script = Script::default();
            script.tell(native(&[("c", "mail__post", json!({"q": "x"}))]));
            let running = serve(in_front_of(upstream(&script).await)).await;
            let choice = json!({"type": "allowed_tools", "mode": "auto", "tools": allowed});
            let body = json!({"model": "m", "input": "Go.", "tools": tools, "tool_choice": choice, "stream": stream});
            let got = ask(running.address, RESPONSES, &body).await;
            let asked = &script.asked()[0];
            let names = asked["tools"].as_array().into_iter().flatten();
            let mut names: Vec<&str> = names.map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
            names.sort_unstable();
            assert_eq!(names, wanted, "{allowed}");
            let is_called = got.body.contains("\"name\":\"post\",\"namespace\":\"mail\"");
            assert_eq!(is_called, wanted == ["mail__post"], "{allowed}: {}", got.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_come_back_as_the_server_gave_them() {
    let given = ["x", "toolu_x", "toolu_toolu_x", "-x", "_x", "f.x:0", "f-2ex", "f x-", "ä", "call_1"];
    for stream in [false, true] {
        let script = Script::default();
        let oslo = json!({"city": "Oslo"});
        script.tell(native(&given.map(|id| (id, "get_weather", oslo.clone()))));
        let running = serve(in_front_of(upstream(&script).await)).await;
        let mut body = question("/v1/messages", stream);
        let got = ask(running.address, "/v1/messages", &body).await;
        let documents = documents(&got.body);
        let blocks = documents.iter().flat_map(|document| match document["content"].as_array() {
            Some(blocks) => blocks.iter().collect(),
            None => vec![&document["content_block"]],
        });
        let ids: Vec<&str> = blocks.filter_map(|block| block["id"].as_str()).collect();
        let apart: std::collections::BTreeSet<&&str> = ids.iter().collect();
        assert_eq!((ids.len(), apart.len()), (given.len(), given.len()), "{}", got.body);
        let uses =
            ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "get_weather", "input": oslo}));
        let results =
            ids.iter().map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "Rain."}));
        body["messages"] = json!([
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": uses.collect::<Vec<_>>()},
            {"role": "user", "content": results.collect::<Vec<_>>()},
        ]);
        ask(running.address, "/v1/messages", &body).await;
        let asked = &script.asked()[1]["messages"];
        let calls =
            asked[1]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap());
        assert_eq!(calls.collect::<Vec<_>>(), given, "{asked}");
        let results =
            asked.as_array().unwrap()[2..].iter().map(|result| result["tool_call_id"].as_str().unwrap());
        assert_eq!(results.collect::<Vec<_>>(), given, "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_differ_in_foreign_characters_stay_apart() {
    for stream in [false, true] {
        let script = Script::default();
        let oslo = json!({"city": "Oslo"});
        let ids = ["f.x:0", "f.x.0", "f_x_0"];
        script.tell(native(&ids.map(|id| (id, "get_weather", oslo.clone()))));
        let running = serve(in_front_of(upstream(&script).await)).await;
        let got = ask(running.address, "/v1/messages", &question("/v1/messages", stream)).await;
        let documents = documents(&got.body);
        let blocks = documents.iter().flat_map(|document| match document["content"].as_array() {
            Some(blocks) => blocks.iter().collect(),
            None => vec![&document["content_block"]],
        });
        let mut ids: Vec<&str> = blocks.filter_map(|block| block["id"].as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3, "{}", got.body);
        let is_own = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        assert!(ids.iter().all(|id| id.starts_with("toolu_") && id.chars().all(is_own)), "{ids:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_only_the_settings_give_is_listed_served_and_read_as_the_model_that_it_is() {
    for face in FACES {
        for stream in [false, true] {
            let script = Script::default();
            script.tell(Told::text(r#"{"name": "get_weather", "parameters": {"city": "Oslo"}}"#, 6));
            let mut settings = in_front_of(upstream(&script).await);
            settings.upstreams[0].models = vec!["llama3.1*".to_owned()];
            let mut model = ModelSettings::named("fast");
            model.upstream_name = Some("llama3.1:8b".to_owned());
            settings.models.push(model);
            let running = serve(settings).await;
            let mut body = question(face, stream);
            body["model"] = "fast".into();
            let got = ask(running.address, face, &body).await;
            let oslo = vec![("get_weather".to_owned(), json!({"city": "Oslo"}))];
            assert_eq!(calls(&read(&got)), oslo, "{face}: {}", got.body);
            assert_eq!(script.asked()[0]["model"], "llama3.1:8b", "{face}");
            for path in ["/v1/models", "/v1/models/fast", "/api/tags"] {
                let listed = send(running.address, "GET", path, &[], Vec::new()).await;
                assert!(listed.status == 200 && listed.body.contains("\"fast\""), "{path}: {}", listed.body);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_called_in_the_form_that_came_before_lists_of_tools() {
    let call = json!({"name": "get_weather", "arguments": "{\"city\": \"Rome\"}"});
    let mut body = question(CHAT, false);
    body["functions"] = json!([body["tools"][0]["function"]]);
    body.as_object_mut().unwrap().remove("tools");
    body["messages"] = json!([
        {"role": "user", "content": "Rome?"},
        {"role": "assistant", "content": null, "function_call": call},
        {"role": "function", "name": "get_weather", "content": "Rain."},
        {"role": "user", "content": "Oslo?"},
    ]);
    let oslo = json!({"city": "Oslo"});
    for stream in [false, true] {
        let script = Script::default();
        // One call has room.
        script.tell(native(&[
            ("a", "get_weather", oslo.clone()),
            ("b", "get_weather", json!({"city": "Bonn"})),
        ]));
        let running = serve(in_front_of(upstream(&script).await)).await;
        body["stream"] = stream.into();
        let got = ask(running.address, CHAT, &body).await;
        let documents = documents(&got.body);
        let said = documents.iter().map(|document| {
            let choice = &document["choices"][0];
            if stream { &choice["delta"] } else { &choice["message"] }
        });
        assert!(!got.body.contains("tool_calls"), "{}", got.body);
        let of = |member: &str| -> String {
            said.clone().filter_map(|said| said["function_call"][member].as_str()).collect()
        };
        assert_eq!(of("name"), "get_weather", "{}", got.body);
        assert_eq!(serde_json::from_str::<Value>(&of("arguments")).unwrap(), oslo, "{}", got.body);
        assert!(got.body.contains("\"finish_reason\":\"function_call\""), "{}", got.body);
        let told = &script.asked()[0]["messages"];
        assert_eq!(told[1]["tool_calls"][0]["function"], call, "{told}");
        assert_eq!(told[1].get("function_call"), None, "{told}");
        assert_eq!(told[2]["role"], "tool", "{told}");
        assert_eq!(told[2]["tool_call_id"], told[1]["tool_calls"][0]["id"], "{told}");
    }
    body["stream"] = false.into();
    let script = Script::default();
    script.tell(Told::text("Fine.", 9));
    let running = serve(with_calls(in_front_of(upstream(&script).await), CallsBy::Prompt)).await;
    ask(running.address, CHAT, &body).await;
    let told = script.asked()[0]["messages"].to_string();
    assert!(!told.contains("function_call") && !told.contains("\"function\""), "{told}");
    assert!(told.contains("Result of get_weather:\\nRain.") && told.contains("<tool_call>"), "{told}");
    let script = Script::default();
    script.tell(Told::ollama("Fine."));
    let running = serve(ollama(upstream(&script).await)).await;
    ask(running.address, CHAT, &body).await;
    let told = &script.asked()[0]["messages"];
    let function = json!({"name": "get_weather", "arguments": {"city": "Rome"}});
    assert_eq!(told[1]["tool_calls"][0]["function"], function, "{told}");
    assert_eq!((&told[2]["role"], &told[2]["tool_name"]), (&json!("tool"), &json!("get_weather")), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_turns_that_become_one_are_kept() {
    let picture = |name: &str| json!({"type": "image_url", "image_url": {"url": format!("https://a.example/{name}.png")}});
    let script = Script::default();
    script.tell(Told::text("Fine.", 9));
    let running = serve(with_calls(in_front_of(upstream(&script).await), CallsBy::Prompt)).await;
    let mut body = question(CHAT, false);
    body["messages"] = json!([
        {"role": "user", "content": [{"type": "text", "text": "One."}, picture("one")]},
        {"role": "user", "content": "Two."},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "Rain."}, picture("three")]},
        {"role": "user", "content": "Four."},
    ]);
    ask(running.address, CHAT, &body).await;
    let told = &script.asked()[0]["messages"];
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(told[1]["content"], json!([text("One."), picture("one"), text("Two.")]), "{told}");
    let result = text("Result of get_weather:\nRain.");
    assert_eq!(told[3]["content"], json!([result, picture("three"), text("Four.")]), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_out_of_a_request_is_noted() {
    let part = |part: Value| json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi."}, part]}]});
    let data = "data:image/png;base64,AAAA";
    let generate = |member: Value| {
        let mut body = json!({"prompt": "Hi."});
        body.as_object_mut().unwrap().extend(member.as_object().unwrap().clone());
        body
    };
    // The path, whether Ollama is behind it, the request, and a word of the note.
    let rows: Vec<(&str, bool, Value, Option<&str>)> = vec![
        (
            CHAT,
            true,
            part(json!({"type": "image_url", "image_url": {"url": "https://a.example/a.png"}})),
            Some("picture"),
        ),
        (CHAT, true, part(json!({"type": "image_url", "image_url": {"url": data}})), None),
        (
            CHAT,
            false,
            part(json!({"type": "image_url", "image_url": {"url": "https://a.example/a.png"}})),
            None,
        ),
        (
            CHAT,
            true,
            part(json!({"type": "input_audio", "input_audio": {"data": "AAAA"}})),
            Some("input_audio"),
        ),
        (CHAT, true, json!({"logit_bias": {"1": 2}}), Some("logit_bias")),
        (CHAT, true, json!({"logprobs": true}), Some("logprobs")),
        (CHAT, true, json!({"reasoning_effort": "low"}), Some("reasoning_effort")),
        (CHAT, false, json!({"reasoning_effort": "low"}), None),
        (CHAT, true, json!({"temperature": 0.5, "max_tokens": 9}), None),
        ("/api/generate", true, generate(json!({"raw": true})), Some("raw")),
        ("/api/generate", true, generate(json!({"suffix": "}"})), Some("suffix")),
        ("/api/generate", true, generate(json!({"template": "{{ .Prompt }}"})), Some("template")),
        ("/api/generate", true, generate(json!({"context": [1, 2]})), Some("context")),
        ("/api/generate", true, generate(json!({"raw": false, "suffix": ""})), None),
        (
            RESPONSES,
            false,
            json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "Hi."}, {"type": "input_image", "file_id": "f"}, {"type": "input_image", "image_url": data}]}]}),
            Some("input_image"),
        ),
    ];
    for (path, is_ollama, more, note) in rows {
        let script = Script::default();
        script.tell(if is_ollama { Told::ollama("Fine.") } else { Told::text("Fine.", 9) });
        let address = upstream(&script).await;
        let running = serve(if is_ollama { ollama(address) } else { in_front_of(address) }).await;
        let mut body = if path == "/api/generate" {
            json!({"model": "m", "stream": false})
        } else {
            question(path, false)
        };
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let got = ask(running.address, path, &body).await;
        assert_eq!(got.status, 200, "{more}: {}", got.body);
        let notes = got.json()["callgate"]["notes"].clone();
        match note {
            Some(word) => {
                assert_eq!(notes.as_array().map(Vec::len), Some(1), "{more}: {}", got.body);
                assert!(notes[0].as_str().unwrap().contains(word), "{more}: {}", got.body);
            }
            None => assert!(notes.is_null(), "{more}: {}", got.body),
        }
        let asked = script.asked()[0].to_string();
        assert!(!asked.contains("\"text\":\"\"") && !asked.contains("\"url\":\"\""), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_loaded_without_a_question() {
    let requests = [
        ("/api/generate", json!({"model": "m"}), "load"),
        ("/api/generate", json!({"model": "m", "stream": false, "keep_alive": 0}), "unload"),
        (FACES[3], json!({"model": "m", "messages": [], "stream": false}), "load"),
    ];
    for (path, body, word) in requests {
        for is_ollama in [false, true] {
            let script = Script::default();
            script.tell(Told::ollama(""));
            let address = upstream(&script).await;
            let running = serve(if is_ollama { ollama(address) } else { in_front_of(address) }).await;
            let got = ask(running.address, path, &body).await;
            let last = documents(&got.body).pop().unwrap();
            assert_eq!((&last["done"], &last["done_reason"]), (&json!(true), &json!(word)), "{}", got.body);
            assert!(last.get("callgate").is_none(), "{}", got.body);
            let asked = script.asked();
            assert_eq!(asked.len(), usize::from(is_ollama), "{asked:?}");
            for asked in asked {
                assert_eq!(
                    (&asked["messages"], asked.get("keep_alive")),
                    (&json!([]), body.get("keep_alive"))
                );
            }
        }
    }
}
