//! What the gateway adds: streams of 200 tokens, straight from a scripted server and through the gateway, in one run.
//!
//! `cargo bench -p callgate-gateway --bench load [-- REQUESTS]`

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::routing::post;
use callgate_gateway::config::{Api, UpstreamSettings};
use callgate_gateway::{Gateway, Settings};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How many tokens an answer has.
const TOKENS: usize = 200;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    // Cargo says `--bench` besides.
    let number = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let requests: usize = number.map_or(Ok(2000), |text| text.parse())?;
    let server = scripted().await?;
    let mut settings = Settings::default();
    settings.listen = "127.0.0.1:0".to_owned();
    let mut upstream = UpstreamSettings::at(format!("http://{server}/v1"));
    upstream.api = Api::Openai;
    settings.upstreams = vec![upstream];
    let serving = Gateway::new(settings).await?.listen().await?;
    let gateway = serving.address();
    tokio::spawn(serving.until(std::future::pending(), Duration::from_secs(1)));
    println!(
        "| at once | requests/s direct | through | first byte p50 direct | through | end p50 direct | through | end p99 direct | through |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for at_once in [1, 64, 512] {
        let number = if at_once == 1 { requests / 10 } else { requests }.max(at_once);
        // The first requests open what later ones use again.
        load(gateway, at_once.min(8), 16).await?;
        let direct = load(server, at_once, number).await?;
        let through = load(gateway, at_once, number).await?;
        println!(
            "| {at_once} | {:.0} | {:.0} | {} | {} | {} | {} | {} | {} |",
            direct.rate,
            through.rate,
            shown(direct.first_p50),
            shown(through.first_p50),
            shown(direct.end_p50),
            shown(through.end_p50),
            shown(direct.end_p99),
            shown(through.end_p99),
        );
    }
    Ok(())
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}

/// A server that streams words and a call at the end.
async fn scripted() -> Result<SocketAddr, Failure> {
    let mut pieces: Vec<Bytes> = Vec::new();
    let mut piece = |delta: serde_json::Value| {
        pieces.push(format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]})).into());
    };
    for _ in 0..TOKENS - 2 {
        piece(json!({"content": "word "}));
    }
    piece(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": ""}}]}));
    piece(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"q\": \"cats\"}"}}]}));
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    pieces.push(format!("data: {end}\n\ndata: [DONE]\n\n").into());
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

struct Measured {
    rate: f64,
    first_p50: Duration,
    end_p50: Duration,
    end_p99: Duration,
}

async fn load(address: SocketAddr, at_once: usize, number: usize) -> Result<Measured, Failure> {
    let left = Arc::new(AtomicUsize::new(number));
    let started = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..at_once {
        let left = left.clone();
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(async move {
                let _ = connection.await;
            });
            let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}});
            let body = json!({
                "model": "m", "stream": true, "messages": [{"role": "user", "content": "Look for cats."}],
                "tools": [{"type": "function", "function": {"name": "look", "parameters": parameters}}],
            });
            let body = Bytes::from(body.to_string());
            while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                let request =
                    hyper::Request::post("/v1/chat/completions").header("host", address.to_string());
                let begun = Instant::now();
                let mut answer =
                    sender.send_request(request.body(Full::new(body.clone()))?).await?.into_body();
                let mut first = None;
                let mut length = 0;
                while let Some(frame) = answer.frame().await {
                    first.get_or_insert_with(|| begun.elapsed());
                    length += frame?.into_data().map_or(0, |data| data.len());
                }
                if length < 1000 {
                    return Err("an answer is too short".into());
                }
                times.push((first.unwrap_or_default(), begun.elapsed()));
            }
            Ok::<_, Failure>(times)
        }));
    }
    let (mut firsts, mut ends) = (Vec::new(), Vec::new());
    for task in tasks {
        for (first, end) in task.await?? {
            firsts.push(first);
            ends.push(end);
        }
    }
    let rate = ends.len() as f64 / started.elapsed().as_secs_f64();
    firsts.sort_unstable();
    ends.sort_unstable();
    let at =
        |times: &[Duration], part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    Ok(Measured { rate, first_p50: at(&firsts, 50), end_p50: at(&ends, 50), end_p99: at(&ends, 99) })
}
