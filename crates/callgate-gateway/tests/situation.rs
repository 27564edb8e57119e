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
    /// The conversations that its template was shown for.
    rendered: Arc<Mutex<Vec<Value>>>,
}

const THOUGHT: &str = "They want the weather of Oslo.\n</think>\n\n";
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
        // The template has opened a thought already, unless it is told otherwise.
        "llamacpp that thinks" if has_tools || body["reasoning_format"] == "none" => {
            let thinks = body["chat_template_kwargs"]["enable_thinking"] != false;
            stream(&[json!({"content": if thinks { format!("{THOUGHT}{text}") } else { text }})], shown)
        }
        // As before, and the tools are not shown to the model.
        "llamacpp that thinks alone" if body["reasoning_format"] == "none" => {
            stream(&[json!({"content": format!("{THOUGHT}{text}")})], 20)
        }
        "llamacpp that thinks alone" => stream(&[json!({"content": "Hello."})], 20),
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
    let owner = server.kind.split(" that").next();
    json!({"data": [{"id": "m", "owned_by": owner}]}).to_string()
}

/// As llama-server renders its template; others have no such path.
async fn apply_template(State(server): State<Server>, body: String) -> Response {
    if !server.kind.starts_with("llamacpp that") {
        return axum::http::StatusCode::NOT_FOUND.into_response();
    }
    let body: Value = serde_json::from_str(&body).unwrap();
    server.rendered.lock().unwrap().push(body.clone());
    let thinks = body["chat_template_kwargs"]["enable_thinking"] != false;
    let thought = if thinks { "<think>\n" } else { "<think>\n\n</think>\n\n" };
    let question = body["messages"][0]["content"].as_str().unwrap();
    let tools = if server.kind.ends_with("alone") { "" } else { &*body["tools"].to_string() };
    let mut prompt = format!("{tools}<|im_start|>user\n{question}<|im_end|>\n");
    if body["add_generation_prompt"] != false {
        prompt.push_str(&format!("<|im_start|>assistant\n{thought}"));
    }
    json!({"prompt": prompt}).to_string().into_response()
}

async fn ollama_chat(State(server): State<Server>) -> String {
    let text = TEXT_CALL.replace("NAME", "get_weather").replace("ARGUMENTS", "{\"city\": \"Oslo\"}");
    let thought = if server.kind == "ollama that thinks" { THOUGHT } else { "" };
    let said =
        json!({"message": {"role": "assistant", "content": format!("{thought}{text}")}, "done": false});
    format!(
        "{said}\n{}\n",
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"})
    )
}

async fn show(State(server): State<Server>, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap();
    server.asked.lock().unwrap().push(body);
    let shown = match server.kind {
        "ollama with tools" => json!({"capabilities": ["completion", "tools"], "template": "{{ .Prompt }}"}),
        "ollama that thinks" => json!({
            "capabilities": ["completion", "tools"],
            "template": "{{ range .Messages }}{{ .Content }}{{ end }}<|assistant|><think>\n{{ .Response }}",
        }),
        "ollama that knows thoughts" => json!({
            "capabilities": ["completion", "tools", "thinking"],
            "template": "{{ range .Messages }}{{ .Content }}{{ end }}<|assistant|><think>\n{{ .Response }}",
        }),
        "ollama without" => json!({"capabilities": ["completion"], "template": "{{ .Prompt }}"}),
        "old ollama with tools" => json!({"template": "{{ if .Tools }}{{ .Tools }}{{ end }}"}),
        "old ollama without" => json!({"template": "{{ .Prompt }}"}),
        _ => return axum::http::StatusCode::NOT_FOUND.into_response(),
    };
    shown.to_string().into_response()
}

async fn start(kind: &'static str) -> (Server, Settings) {
    let server = Server { kind, asked: Arc::default(), rendered: Arc::default() };
    let router = axum::Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/models", get(models))
        .route("/api/show", post(show))
        .route("/api/chat", post(ollama_chat))
        .route("/apply-template", post(apply_template))
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
        ("llamacpp that thinks", CallsBy::TextLlamaServer, true),
        ("llamacpp that thinks alone", CallsBy::Prompt, true),
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

/// Asks for the weather; what the answer holds is the call, the thought, and no text.
async fn thinks(kind: &str, settings: Settings, thought: &str) {
    let running = serve(settings).await;
    for stream in [false, true] {
        let face = "/v1/chat/completions";
        let got = ask(running.address, face, &question(face, stream)).await;
        let read = read(&got);
        let wanted = [("get_weather".to_owned(), json!({"city": "Oslo"}))];
        assert_eq!(calls(&read), wanted, "{kind}: {}", got.body);
        assert_eq!((read.reasoning.trim(), read.text.trim()), (thought, ""), "{kind}: {}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_begins_a_thought_is_known_by_the_servers_template() {
    let thought = THOUGHT.split('\n').next().unwrap();
    for kind in ["llamacpp that thinks", "llamacpp that thinks alone", "ollama that thinks"] {
        let (server, settings) = start(kind).await;
        thinks(kind, settings.clone(), thought).await;
        assert!(
            server.rendered.lock().unwrap().len() <= 4,
            "{kind}: with and without tools, with and without its end, once"
        );
    }
    // A server that takes thoughts out itself leaves none in the text.
    let (_, settings) = start("ollama that knows thoughts").await;
    thinks("knows thoughts", settings, "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_request_says_about_thinking_and_what_the_settings_say_both_count() {
    let (server, mut settings) = start("llamacpp that thinks").await;
    let mut row = ModelSettings::named("m");
    row.calls = Some(CallsBy::TextLlamaServer);
    settings.models = vec![row.clone()];
    settings.probe = false;
    let running = serve(settings.clone()).await;
    let face = "/v1/chat/completions";
    let mut asked = question(face, false);
    for (thinks, thought) in
        [(true, "They want the weather of Oslo."), (false, ""), (true, "They want the weather of Oslo.")]
    {
        asked["chat_template_kwargs"] = json!({"enable_thinking": thinks});
        let got = ask(running.address, face, &asked).await;
        let read = read(&got);
        assert_eq!((calls(&read).len(), read.reasoning.trim()), (1, thought), "{}", got.body);
    }
    assert_eq!(
        server.rendered.lock().unwrap().len(),
        4,
        "with and without its end, once for each way to ask"
    );
    // What the settings say is not asked for.
    row.prompt_tail = Some("<think>\n".to_owned());
    settings.models = vec![row];
    thinks("settings", settings, "They want the weather of Oslo.").await;
    assert_eq!(server.rendered.lock().unwrap().len(), 4);
}
