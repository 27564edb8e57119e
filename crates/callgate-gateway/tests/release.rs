//! When calls leave: what a client has seen before the response is over, in every face.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Bytes;
use callgate_gateway::Settings;
use callgate_gateway::config::{CallsBy, ModelSettings, ReleaseAt};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use support::{FACES, Got, Script, Told, ask, calls, in_front_of, question, read, serve, upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const FIRST: &str = "<think>Hm.</think>\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": \"2\"}}</tool_call>";
const SECOND: &str =
    "\nAnd.\n<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}</tool_call>";

/// A model's server that says something, and the rest when it is told to.
async fn in_two_parts(first: Vec<u8>, rest: Vec<u8>) -> (SocketAddr, oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (go_on, told) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 65536]).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(&[&head[..], &first].concat()).await.unwrap();
        let _ = told.await;
        let _ = stream.write_all(&rest).await;
    });
    (address, go_on)
}

/// A stream of text as a server sends it, cut behind so many characters.
fn cut(text: &str, place: usize) -> (Vec<u8>, Vec<u8>) {
    let body = Told::text(text, place).body;
    let end = body.windows(2).position(|two| two == b"\n\n").unwrap() + 2;
    (body[..end].to_vec(), body[end..].to_vec())
}

/// Settings for a server whose calls are text.
fn in_text(address: SocketAddr, release: ReleaseAt) -> Settings {
    let mut settings = in_front_of(address);
    let mut model = ModelSettings::named("*");
    model.calls = Some(CallsBy::Prompt);
    settings.models.push(model);
    settings.release = release;
    settings
}

/// Asks, and reads until the answer holds a text or nothing comes for so long.
async fn until(
    address: SocketAddr,
    face: &str,
    text: &str,
    patience: Duration,
) -> (String, hyper::body::Incoming) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let request = hyper::Request::post(face).header("host", address.to_string());
    let body = Full::new(Bytes::from(question(face, true).to_string()));
    let mut answer = sender.send_request(request.body(body).unwrap()).await.unwrap().into_body();
    let mut seen = String::new();
    while !seen.contains(text) {
        let Ok(Some(frame)) = tokio::time::timeout(patience, answer.frame()).await else { break };
        seen.push_str(std::str::from_utf8(&frame.unwrap().into_data().unwrap()).unwrap());
    }
    (seen, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_settled_leaves_before_the_response_is_over() {
    for face in FACES {
        let (first, rest) = cut(&format!("{FIRST}{SECOND}"), FIRST.len());
        let (server, go_on) = in_two_parts(first, rest).await;
        let running = serve(in_text(server, ReleaseAt::Settled)).await;
        let (mut seen, answer) = until(running.address, face, "Oslo", Duration::from_secs(20)).await;
        assert!(seen.contains("Oslo"), "{face}: {seen}");
        go_on.send(()).unwrap();
        seen.push_str(std::str::from_utf8(&answer.collect().await.unwrap().to_bytes()).unwrap());
        let got = Got { status: 200, headers: hyper::HeaderMap::new(), body: seen };
        let response = read(&got);
        let expected: Vec<Value> = vec![json!({"city": "Oslo", "days": 2}), json!({"city": "Rome"})];
        let found: Vec<Value> = calls(&response).into_iter().map(|(_, arguments)| arguments).collect();
        assert_eq!(found, expected, "{face}: {}", got.body);
        assert_eq!(response.text.trim(), "And.", "{face}: {}", got.body);
        assert_ne!(response.calls[0].id, response.calls[1].id, "{face}: {}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_verified_leaves_when_the_response_is_over() {
    for face in FACES {
        let (first, rest) = cut(&format!("{FIRST}{SECOND}"), FIRST.len());
        let (server, go_on) = in_two_parts(first, rest).await;
        let running = serve(in_text(server, ReleaseAt::Verified)).await;
        let asked =
            tokio::spawn(
                async move { until(running.address, face, "Oslo", Duration::from_millis(300)).await.0 },
            );
        tokio::time::sleep(Duration::from_millis(300)).await;
        // Some faces say nothing before there is something to say, not even the head.
        let is_waiting = !asked.is_finished();
        go_on.send(()).unwrap();
        let seen = asked.await.unwrap();
        assert!(is_waiting || !seen.contains("Oslo"), "{face}: {seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_thought_came_and_where_calls_are_structured_nothing_is_settled_before_the_end() {
    let bare = FIRST.replace("<think>Hm.</think>\n", "");
    for (text, by) in [(bare.as_str(), CallsBy::Prompt), (FIRST, CallsBy::Native)] {
        let (first, rest) = cut(&format!("{text}{SECOND}</think>\nSo."), text.len());
        let (server, go_on) = in_two_parts(first, rest).await;
        let mut settings = in_text(server, ReleaseAt::Settled);
        settings.models[0].calls = Some(by);
        settings.retries.attempts = 0;
        let running = serve(settings).await;
        go_on.send(()).unwrap();
        let got = ask(running.address, FACES[0], &question(FACES[0], true)).await;
        // What was only a thought never left, and the answer is no error.
        let number = if by == CallsBy::Native { 2 } else { 0 };
        assert_eq!(calls(&read(&got)).len(), number, "{}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_structured_call_that_nobody_asked_for_makes_an_answer_void_if_a_call_has_left() {
    let structured = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "get_weather", "arguments": "{\"city\": \"Rome\"}"}}]});
    for face in FACES {
        let script = Script::default();
        script.tell(Told::stream(&[json!({"content": FIRST}), structured.clone()], "tool_calls"));
        let mut settings = in_text(upstream(&script).await, ReleaseAt::Settled);
        settings.retries.attempts = 0;
        let running = serve(settings).await;
        let got = ask(running.address, face, &question(face, true)).await;
        assert!(got.body.contains("error") && got.body.contains("rejected"), "{face}: {}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_only_a_thought_does_not_make_an_answer_void() {
    let text = format!("I will {}</think>{SECOND}\nok", FIRST.replace("<think>Hm.</think>\n", ""));
    for by in [CallsBy::Prompt, CallsBy::TextVllm] {
        for face in FACES {
            let script = Script::default();
            script.tell(Told::text(&text, 4));
            let mut settings = in_text(upstream(&script).await, ReleaseAt::Settled);
            settings.models[0].calls = Some(by);
            let running = serve(settings).await;
            let got = ask(running.address, face, &question(face, true)).await;
            let found: Vec<Value> = calls(&read(&got)).into_iter().map(|(_, arguments)| arguments).collect();
            assert_eq!(found, [json!({"city": "Rome"})], "{face}: {}", got.body);
            assert!(!got.body.contains("does not stand"), "{face}: {}", got.body);
        }
    }
}
