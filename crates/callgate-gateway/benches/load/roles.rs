//! Roles: what this program is when it is a process of its own: the scripted server, or the gateway.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::routing::post;
use callgate_gateway::config::{Api, UpstreamSettings};
use callgate_gateway::{Gateway, Settings};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;

use super::Failure;

/// How many tokens of an answer are words; the other two are a call.
pub(crate) const WORDS: usize = 198;

/// Plays a role until the process that asked for it is gone.
pub(crate) async fn be(role: &str, upstream: Option<String>) -> Result<(), Failure> {
    let address = match (role, upstream) {
        ("scripted", _) => scripted().await?,
        ("gateway", Some(upstream)) => gateway(&upstream).await?,
        _ => return Err(format!("there is no role {role:?}").into()),
    };
    println!("{address}");
    let wait = || std::io::stdin().read(&mut [0]);
    tokio::task::spawn_blocking(wait).await??;
    Ok(())
}

async fn gateway(upstream: &str) -> Result<SocketAddr, Failure> {
    let mut settings = Settings::default();
    settings.listen = "127.0.0.1:0".to_owned();
    let mut upstream = UpstreamSettings::at(format!("http://{upstream}/v1"));
    upstream.api = Api::Openai;
    settings.upstreams = vec![upstream];
    let serving = Gateway::new(settings).await?.listen().await?;
    let address = serving.address();
    tokio::spawn(serving.until(std::future::pending(), Duration::from_secs(1)));
    Ok(address)
}

/// A server that streams words and a call at the end.
async fn scripted() -> Result<SocketAddr, Failure> {
    let mut pieces: Vec<Bytes> = Vec::new();
    // What servers send with every token.
    let about =
        json!({"id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1700000000, "model": "m"});
    let mut piece = |delta: serde_json::Value, finish: Option<&str>| {
        let mut chunk = about.clone();
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        pieces.push(format!("data: {chunk}\n\n").into());
    };
    // No two are alike: some gateways give up on a model that repeats itself.
    for number in 0..WORDS {
        piece(json!({"content": format!("word{number} ")}), None);
    }
    let call =
        json!({"index": 0, "id": "a", "type": "function", "function": {"name": "look", "arguments": ""}});
    piece(json!({"tool_calls": [call]}), None);
    piece(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"q\": \"cats\"}"}}]}), None);
    piece(json!({}), Some("tool_calls"));
    pieces.push("data: [DONE]\n\n".into());
    let pieces = Arc::new(pieces);
    let answer = move || {
        let pieces = pieces.clone();
        async move {
            let body = Body::from_stream(Pieces { pieces, at: 0 });
            let mut answer = Response::new(body);
            let kind = axum::http::HeaderValue::from_static("text/event-stream");
            answer.headers_mut().insert("content-type", kind);
            answer
        }
    };
    let router = axum::Router::new().route("/v1/chat/completions", post(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Without it the kernel holds pieces back until others are acknowledged.
            let _ = stream.set_nodelay(true);
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                let connection = hyper::server::conn::http1::Builder::new();
                let _ = connection.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    Ok(address)
}

/// A body in pieces, each of which gives way to others.
struct Pieces {
    pieces: Arc<Vec<Bytes>>,
    at: usize,
}

impl futures_core::Stream for Pieces {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.at += 1;
        // Every other time nothing is there yet, so that each piece is a write of its own.
        if self.at % 2 == 1 {
            context.waker().wake_by_ref();
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(self.pieces.get(self.at / 2 - 1).cloned().map(Ok))
    }
}
