//! How a model comes by its tools is found out from its server, and the settings have the last word.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use callgate_gateway::config::{Api, CallsBy, ModelSettings, UpstreamSettings};
use callgate_gateway::{Gateway, Settings};
use serde_json::{Value, json};
use support::{FACES, Told, ask, calls, question, read, serve};
use tokio::net::TcpListener;

/// A server of a kind, and what it was asked.
#[derive(Clone)]
struct Server {
    kind: &'static str,
    asked: Arc<Mutex<Vec<Value>>>,
}

const TEXT_CALL: &str = "<tool_call>{\"name\": \"NAME\", \"arguments\": ARGUMENTS}</tool_call>";

/// A stream whose prompt had so many tokens.
fn stream(deltas: &[Value], prompt: u64) -> Response {
    let told = Told::stream(deltas, "stop");
    let body = String::from_utf8(told.body)
        .unwrap()
        .replace("\"prompt_tokens\":11", &format!("\"prompt_tokens\":{prompt}"));
    ([("content-type", "text/event-stream")], body).into_response()
}

fn rejection(message: &str) -> Response {
    (axum::http::StatusCode::BAD_REQUEST, json!({"error": {"message": message}}).to_string()).into_response()
}

async fn chat(State(server): State<Server>, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap();
    server.asked.lock().unwrap().push(body.clone());
    let name = body["tools"][0]["function"]["name"].as_str();
    let arguments = if name == Some("current_time") { "{\"zone\": \"UTC\"}" } else { "{\"city\": \"Oslo\"}" };
    let has_tools = body["tools"].is_array();
    let is_none = body["tool_choice"] == "none";
    let text = TEXT_CALL.replace("NAME", name.unwrap_or("get_weather")).replace("ARGUMENTS", arguments);
    let call =
        json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": name, "arguments": arguments}}]});
    // The prompt is longer where the tools are shown to the model.
    let shown = 20 + 100 * u64::from(has_tools);
    match server.kind {
        "structured" if has_tools => stream(&[call], shown),
        "sglang" | "llamacpp" if has_tools => stream(&[json!({"content": text})], shown),
        // As vLLM without a parser.
        "vllm" if has_tools && !is_none => {
            rejection("\"auto\" tool choice requires --enable-auto-tool-choice")
        }
        "vllm" if has_tools => stream(&[json!({"content": text})], shown),
        "no tools" if has_tools => rejection("this model does not support tools"),
        "ignores" => {
            stream(&[json!({"content": if has_tools { "What time?".to_owned() } else { text }})], 20)
        }
        "shy" if has_tools => stream(&[json!({"content": "What time?"})], shown),
        "busy" => (axum::http::StatusCode::TOO_MANY_REQUESTS, "{}").into_response(),
        "slow" => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            stream(&[call], shown)
        }
        // It was taught in the prompt.
        _ => stream(&[json!({"content": text})], shown),
    }
}

async fn models(State(server): State<Server>) -> String {
    json!({"data": [{"id": "m", "owned_by": server.kind}]}).to_string()
}

async fn show(State(server): State<Server>, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap();
    server.asked.lock().unwrap().push(body);
    let shown = match server.kind {
        "ollama with tools" => json!({"capabilities": ["completion", "tools"], "template": "{{ .Prompt }}"}),
        "ollama without" => json!({"capabilities": ["completion"], "template": "{{ .Prompt }}"}),
        "old ollama with tools" => json!({"template": "{{ if .Tools }}{{ .Tools }}{{ end }}"}),
        "old ollama without" => json!({"template": "{{ .Prompt }}"}),
        _ => return axum::http::StatusCode::NOT_FOUND.into_response(),
    };
    shown.to_string().into_response()
}

async fn start(kind: &'static str) -> (Server, Settings) {
    let server = Server { kind, asked: Arc::default() };
    let router = axum::Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/models", get(models))
        .route("/api/show", post(show))
        .with_state(server.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                let io = hyper_util::rt::TokioIo::new(stream);
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
            });
        }
    });
    let mut upstream = UpstreamSettings::at(format!("http://{address}"));
    upstream.api = if kind.contains("ollama") { Api::Ollama } else { Api::Openai };
    let mut settings = Settings::default();
    settings.upstreams = vec![upstream];
    settings.probe = true;
    (server, settings)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_server_is_told_from_the_others() {
    for (kind, wanted, is_sure) in [
        ("structured", CallsBy::Native, true),
        ("sglang", CallsBy::TextSglang, true),
        ("llamacpp", CallsBy::TextLlamaServer, true),
        ("vllm", CallsBy::TextVllm, true),
        ("no tools", CallsBy::Prompt, true),
        ("ignores", CallsBy::Prompt, true),
        ("shy", CallsBy::Native, true),
        ("busy", CallsBy::Native, false),
        ("ollama with tools", CallsBy::Native, true),
        ("ollama without", CallsBy::Prompt, true),
        ("old ollama with tools", CallsBy::Native, true),
        ("old ollama without", CallsBy::Prompt, true),
        ("unknown ollama", CallsBy::Native, false),
    ] {
        let (server, settings) = start(kind).await;
        let running = serve(settings).await;
        let found = running.gateway.situation("m").await.unwrap();
        assert_eq!((found.calls, found.is_sure), (wanted, is_sure), "{kind}: {}", found.why);
        assert!(server.asked.lock().unwrap().len() <= 3, "{kind}");
        // It is found out once.
        let asked = server.asked.lock().unwrap().len();
        assert_eq!(running.gateway.situation("m").await.unwrap(), found);
        assert_eq!(server.asked.lock().unwrap().len(), asked, "{kind}");
        let metrics = support::send(running.address, "GET", "/metrics", &[], Vec::new()).await.body;
        assert!(metrics.contains(&format!("calls=\"{}\"}} 1", wanted.word())), "{kind}: {metrics}");
        if kind.contains("ollama") || kind == "busy" || kind == "shy" {
            continue;
        }
        // And then every face gets its call.
        for face in FACES {
            let got = ask(running.address, face, &question(face, true)).await;
            let wanted = [("get_weather".to_owned(), json!({"city": "Oslo"}))];
            assert_eq!(calls(&read(&got)), wanted, "{kind}, {face}: {}", got.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_request_finds_it_out_and_settings_win() {
    let (server, settings) = start("ignores").await;
    let running = serve(settings.clone()).await;
    let got = ask(running.address, FACES[0], &question(FACES[0], false)).await;
    assert_eq!(calls(&read(&got)).len(), 1, "{}", got.body);
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 3, "two questions to find out, and the client's");
    assert!(asked[2].get("tools").is_none() && asked[2]["messages"][0]["role"] == "system", "{}", asked[2]);

    let mut row = ModelSettings::named("m");
    row.calls = Some(CallsBy::Native);
    for (models, probe) in [(vec![row], true), (Vec::new(), false)] {
        server.asked.lock().unwrap().clear();
        let mut settings = settings.clone();
        (settings.models, settings.probe) = (models, probe);
        let running = serve(settings).await;
        ask(running.address, FACES[0], &question(FACES[0], false)).await;
        let asked = server.asked.lock().unwrap().clone();
        assert!(asked.len() == 1 && asked[0]["tools"].is_array(), "{asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_long_keeps_nobody_for_long() {
    let (_, settings) = start("slow").await;
    let running = serve(settings).await;
    let since = Instant::now();
    assert_eq!(running.gateway.situation("m").await, None);
    assert!(since.elapsed() < Duration::from_secs(6), "{:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_wire_does_not_know_is_a_fault_of_the_settings() {
    let (_, settings) = start("ollama with tools").await;
    for calls in [CallsBy::TextLlamaServer, CallsBy::TextVllm, CallsBy::TextSglang] {
        let mut row = ModelSettings::named("qwen*");
        row.calls = Some(calls);
        let mut settings = settings.clone();
        settings.models = vec![row];
        let error = Gateway::new(settings.clone()).await.err().unwrap();
        assert!(error.faults[0].contains(calls.word()) && error.faults[0].contains("Ollama"), "{error}");
        // A server that is never asked for the model may stay.
        settings.upstreams[0].models = vec!["llama*".to_owned()];
        assert!(Gateway::new(settings).await.is_ok());
    }
}
