//! Calls that are shown while they are written: what a client has seen is what stands, or the answer is void.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use callgate_gateway::config::ReleaseAt;
use serde_json::{Value, json};
use support::{FACES, Running, Script, Told, ask, calls, in_front_of, question, read, send, serve, upstream};

/// What a server sends, and what a client has to see: the arguments of the calls, or nothing where the answer is void.
struct Row {
    name: &'static str,
    told: Vec<Told>,
    calls: Option<Vec<Value>>,
    text: &'static str,
}

fn begun(index: usize, name: &str, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    json!({"tool_calls": [{"index": index, "id": format!("c{index}"), "type": "function", "function": function}]})
}

fn more(index: usize, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
}

fn weather(arguments: &str) -> Told {
    let (first, rest) = arguments.split_at(arguments.len() / 2);
    Told::stream(&[begun(0, "get_weather", first), more(0, rest)], "tool_calls")
}

fn rows() -> Vec<Row> {
    let oslo = || json!({"city": "Oslo"});
    let between = |said: Value| {
        let deltas = [begun(0, "get_weather", "{\"city\":"), said, more(0, " \"Oslo\"}"), more(0, "\n")];
        vec![Told::stream(&deltas, "tool_calls")]
    };
    vec![
        Row {
            name: "good",
            told: vec![weather("{\"city\": \"Oslo\"}")],
            calls: Some(vec![oslo()]),
            text: "",
        },
        Row {
            name: "rejected, and corrected if it is asked for again",
            told: vec![weather("{\"days\": 1}"), weather("{\"city\": \"Oslo\"}")],
            calls: None,
            text: "",
        },
        Row {
            name: "broken, and mended",
            told: vec![weather("{'city': 'Oslo',}")],
            calls: Some(vec![oslo()]),
            text: "",
        },
        Row {
            name: "a wrong name, whether it is mended or not",
            told: vec![Told::stream(&[begun(0, "get_wether", "{\"city\": \"Oslo\"}")], "tool_calls")],
            calls: None,
            text: "",
        },
        Row {
            name: "two calls",
            told: vec![Told::stream(
                &[
                    begun(0, "get_weather", "{\"city\":"),
                    more(0, " \"Oslo\"}"),
                    begun(1, "get_weather", "{\"city\":"),
                    more(1, " \"Rome\"}"),
                ],
                "tool_calls",
            )],
            calls: Some(vec![oslo(), json!({"city": "Rome"})]),
            text: "",
        },
        Row {
            name: "two calls with words between",
            told: vec![Told::stream(
                &[
                    begun(0, "get_weather", "{\"city\": \"Oslo\"}"),
                    json!({"content": "And."}),
                    begun(1, "get_weather", "{\"city\": \"Rome\"}"),
                ],
                "tool_calls",
            )],
            calls: Some(vec![oslo(), json!({"city": "Rome"})]),
            text: "And.",
        },
        Row {
            name: "words between arguments",
            told: between(json!({"content": "Hm."})),
            calls: Some(vec![oslo()]),
            text: "Hm.",
        },
        Row {
            name: "a thought between arguments",
            told: between(json!({"reasoning_content": "Hm."})),
            calls: Some(vec![oslo()]),
            text: "",
        },
    ]
}

/// A gateway that shows calls while they are written.
async fn eager(script: &Script) -> Running {
    let mut settings = in_front_of(upstream(script).await);
    settings.release = ReleaseAt::Eager;
    serve(settings).await
}

/// The events of a stream of server-sent events.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

/// One block after the other, and nothing in a block that is not its own.
fn check_blocks(events: &[Value], place: &str) {
    let (mut open, mut number): (Option<&str>, u64) = (None, 0);
    for event in events {
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert!(open.is_none() && event["index"] == number, "{place}");
                open = event["content_block"]["type"].as_str();
            }
            "content_block_delta" => {
                let kind = match open {
                    Some("tool_use") => "input_json_delta",
                    Some("text") => "text_delta",
                    _ => "thinking_delta",
                };
                assert!(event["index"] == number && event["delta"]["type"] == kind, "{place}");
            }
            "content_block_stop" => {
                assert!(open.take().is_some() && event["index"] == number, "{place}");
                number += 1;
            }
            _ => {}
        }
    }
}

/// What was added to an item is what it ends with, and only the last item is added to.
fn check_items(events: &[Value], place: &str) {
    let mut items: Vec<String> = Vec::new();
    for event in events {
        let last = items.len().saturating_sub(1);
        match event["type"].as_str().unwrap() {
            "response.output_item.added" => items.push(String::new()),
            kind if kind.ends_with(".delta") => {
                assert_eq!(event["output_index"], last, "{place}");
                items[last].push_str(event["delta"].as_str().unwrap());
            }
            "response.output_item.done" => {
                let item = &event["item"];
                let at = usize::try_from(event["output_index"].as_u64().unwrap()).unwrap();
                let whole = item.get("arguments").unwrap_or(&item["content"][0]["text"]);
                assert_eq!(whole.as_str().unwrap().trim(), items[at].trim(), "{place}");
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_shown_is_what_stands_or_the_answer_is_void() {
    for row in rows() {
        for face in FACES {
            let script = Script::default();
            for told in &row.told {
                script.tell(told.clone().cut(41));
            }
            let running = eager(&script).await;
            let mut body = question(face, true);
            if face == "/v1/messages" {
                body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
            }
            let got = ask(running.address, face, &body).await;
            let place = format!("{}, {face}: {}", row.name, got.body);
            match face {
                "/v1/messages" => check_blocks(&events(&got.body), &place),
                "/v1/responses" => check_items(&events(&got.body), &place),
                _ => {}
            }
            // Nobody is asked for what cannot be shown any more.
            assert_eq!(script.asked().len(), 1, "{place}");
            let kept = send(running.address, "GET", "/callgate/exchanges", &[], Vec::new()).await.body;
            let Some(wanted) = &row.calls else {
                assert!(got.body.contains("error") && got.body.contains("call"), "{place}");
                for end in [
                    "[DONE]",
                    "message_stop",
                    "response.completed",
                    "\"status\":\"completed\"",
                    "done_reason",
                ] {
                    assert!(!got.body.contains(end), "{end} in {place}");
                }
                continue;
            };
            let response = read(&got);
            let found: Vec<Value> = calls(&response).into_iter().map(|(_, arguments)| arguments).collect();
            assert_eq!((&found, response.text.trim()), (wanted, row.text), "{place}");
            for call in wanted {
                assert!(kept.contains(call["city"].as_str().unwrap()), "{}: {kept}", row.name);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_were_left_out_are_shown_before_what_follows() {
    let script = Script::default();
    script.tell(Told::stream(&[begun(0, "now", ""), json!({"content": "Hm."})], "tool_calls"));
    let running = eager(&script).await;
    let mut body = question(FACES[0], true);
    body["tools"] = json!([{"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}]);
    let got = ask(running.address, FACES[0], &body).await;
    let events = events(&got.body);
    let deltas = events.iter().map(|event| &event["choices"][0]["delta"]);
    let arguments =
        deltas.clone().filter_map(|delta| delta["tool_calls"][0]["function"]["arguments"].as_str());
    assert_eq!(arguments.collect::<String>(), "{}", "{}", got.body);
    let last = deltas.clone().rposition(|delta| delta.get("tool_calls").is_some());
    assert!(last < deltas.clone().position(|delta| delta["content"] == "Hm."), "{}", got.body);
}
