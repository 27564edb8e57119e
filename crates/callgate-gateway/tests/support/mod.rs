//! A model's server that says what a test tells it to, a gateway in front of it, and a client.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)] // Each test uses its part; a test may panic.

pub(crate) mod watched;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Response;
use axum::routing::{any, post};
use callgate::{FinishReason, Gate, Response as Judged};
use callgate_agent::model::Body as Kept;
use callgate_gateway::config::{Api, UpstreamSettings};
use callgate_gateway::{Gateway, Settings};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// One answer of the model's server.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// How many bytes are sent at a time; all at once without.
    pub(crate) cut: usize,
    /// What is said besides.
    pub(crate) headers: Vec<(&'static str, &'static str)>,
}

impl Told {
    /// A stream of chat completions with these deltas, ended for this reason.
    pub(crate) fn stream(deltas: &[Value], reason: &str) -> Told {
        let mut body = String::new();
        for delta in deltas {
            body.push_str(&format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]})));
        }
        let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}});
        body.push_str(&format!("data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n"));
        Told {
            status: 200,
            content_type: "text/event-stream",
            body: body.into_bytes(),
            cut: 0,
            headers: Vec::new(),
        }
    }

    /// A stream of this text in pieces of so many characters.
    pub(crate) fn text(text: &str, piece: usize) -> Told {
        let characters: Vec<char> = text.chars().collect();
        let pieces =
            characters.chunks(piece.max(1)).map(|piece| json!({"content": piece.iter().collect::<String>()}));
        Told::stream(&pieces.collect::<Vec<_>>(), "stop")
    }

    /// An answer of Ollama's with this text.
    pub(crate) fn ollama(text: &str) -> Told {
        let said = json!({"message": {"role": "assistant", "content": text}, "done": false});
        let body = format!("{said}\n{}\n", json!({"done": true, "done_reason": "stop"})).into_bytes();
        Told { status: 200, content_type: "application/x-ndjson", body, cut: 0, headers: Vec::new() }
    }

    /// A rejection.
    pub(crate) fn rejection(status: u16, message: &str) -> Told {
        let body = json!({"error": {"message": message}}).to_string().into_bytes();
        Told { status, content_type: "application/json", body, cut: 0, headers: Vec::new() }
    }

    pub(crate) fn cut(mut self, bytes: usize) -> Told {
        self.cut = bytes;
        self
    }
}

#[derive(Clone, Default)]
pub(crate) struct Script {
    told: Arc<Mutex<VecDeque<Told>>>,
    asked: Arc<Mutex<Vec<Value>>>,
    accepted: Arc<AtomicUsize>,
}

impl Script {
    /// How many connections there have been.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// The requests that came.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn tell(&self, told: Told) {
        self.told.lock().unwrap().push_back(told);
    }
}

async fn told(State(script): State<Script>, body: Bytes) -> Response<Body> {
    script.asked.lock().unwrap().push(serde_json::from_slice(&body).unwrap_or_default());
    let mut queue = script.told.lock().unwrap();
    // The last answer is given again and again.
    let told = if queue.len() > 1 { queue.pop_front() } else { queue.front().cloned() };
    drop(queue);
    let told = told.unwrap_or_else(|| Told::rejection(500, "nothing to say"));
    let mut builder = Response::builder().status(told.status).header("content-type", told.content_type);
    for (name, value) in &told.headers {
        builder = builder.header(*name, *value);
    }
    let body = match told.cut {
        0 => Body::from(told.body),
        cut => {
            let (to, from) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(1);
            tokio::spawn(async move {
                for piece in told.body.chunks(cut) {
                    if to.send(Ok(Bytes::copy_from_slice(piece))).await.is_err() {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            });
            Body::new(http_body_util::StreamBody::new(Frames(from)))
        }
    };
    builder.body(body).unwrap()
}

struct Frames(tokio::sync::mpsc::Receiver<Result<Bytes, std::io::Error>>);

impl futures_core::Stream for Frames {
    type Item = Result<hyper::body::Frame<Bytes>, std::io::Error>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|next| next.map(|piece| piece.map(hyper::body::Frame::data)))
    }
}

/// A model's server that follows a script.
pub(crate) async fn upstream(script: &Script) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new()
        .route("/v1/chat/completions", post(told))
        .route("/v1/embeddings", post(told))
        .route("/api/chat", post(told))
        .fallback(any(|| async { Response::builder().status(404).body(Body::empty()).unwrap() }))
        .with_state(script.clone());
    let accepted = script.accepted.clone();
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { return };
            accepted.fetch_add(1, Ordering::Relaxed);
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    address
}

/// A gateway that is served until this is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) gateway: Gateway,
    _stop: oneshot::Sender<()>,
}

pub(crate) async fn serve(mut settings: Settings) -> Running {
    settings.listen = "127.0.0.1:0".to_owned();
    let gateway = Gateway::new(settings).await.unwrap();
    let serving = gateway.listen().await.unwrap();
    let address = serving.address();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(serving.until(
        async {
            let _ = stopped.await;
        },
        Duration::from_secs(5),
    ));
    Running { address, gateway, _stop: stop }
}

/// Settings with this model's server.
pub(crate) fn in_front_of(upstream: SocketAddr) -> Settings {
    let mut settings = Settings::default();
    let mut upstream = UpstreamSettings::at(format!("http://{upstream}/v1"));
    upstream.api = Api::Openai;
    settings.upstreams = vec![upstream];
    settings
}

/// An answer to a client.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) body: String,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Sends a request.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Vec<u8>,
) -> Got {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(async move {
        let _ = connection.await;
    });
    let mut request = hyper::Request::builder().method(method).uri(path).header("host", address.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = sender.send_request(request.body(Full::new(Bytes::from(body))).unwrap()).await.unwrap();
    let (parts, body) = answer.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Got {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

pub(crate) async fn ask(address: SocketAddr, path: &str, body: &Value) -> Got {
    send(address, "POST", path, &[("content-type", "application/json")], body.to_string().into_bytes()).await
}

/// The faces, by their paths.
pub(crate) const FACES: [&str; 4] = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"];

/// A question with a tool, as the clients of a face ask it.
pub(crate) fn question(face: &str, stream: bool) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    });
    let openai = json!([{"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": schema}}]);
    let messages = json!([{"role": "user", "content": "What is the weather in Oslo?"}]);
    match face {
        "/v1/responses" => json!({
            "model": "m", "input": "What is the weather in Oslo?", "stream": stream,
            "tools": [{"type": "function", "name": "get_weather", "parameters": schema}],
        }),
        "/v1/messages" => json!({
            "model": "m", "max_tokens": 500, "messages": messages, "stream": stream,
            "tools": [{"name": "get_weather", "input_schema": schema}],
        }),
        _ => json!({"model": "m", "messages": messages, "tools": openai, "stream": stream}),
    }
}

/// What an answer holds, read as the clients of its API read it.
pub(crate) fn read(got: &Got) -> Judged {
    let bodies = Kept::read(&got.body).unwrap_or_else(|fault| panic!("{fault:?}: {}", got.body));
    let body = bodies.and_then(|bodies| bodies.into_iter().next());
    let body = body.unwrap_or_else(|| panic!("no body: {}", got.body));
    let gate = Gate::builder().dialects(&[]).build().unwrap();
    let mut collector = Judged::collector();
    let mut session = gate.session();
    let mut text = String::new();
    for chunk in &body.chunks {
        // Text of a face is text: a call in it would be one that got through unread.
        match chunk {
            callgate_agent::model::ModelChunk::Text(more) => text.push_str(more),
            other => other.feed(&mut session, &mut |event| collector.push(event)),
        }
    }
    session.finish(FinishReason::Stop, &mut |event| collector.push(event));
    let mut response = collector.finish(body.reason);
    response.text = text;
    response
}

/// Names and arguments of the calls.
pub(crate) fn calls(response: &Judged) -> Vec<(String, Value)> {
    response.calls.iter().map(|call| (call.name.clone(), call.value())).collect()
}
