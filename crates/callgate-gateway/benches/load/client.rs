//! The client: asks for streams, so many at once or so many per second, and takes the times.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;

use super::Failure;

/// How requests come.
#[derive(Clone, Copy)]
pub(crate) enum Load {
    /// As many as this are always open.
    AtOnce(usize),
    /// So many begin each second, however many are open; their times count from when they were due.
    PerSecond(usize),
}

impl Load {
    /// The least number of requests that makes sense.
    pub(crate) fn least(self) -> usize {
        match self {
            Load::AtOnce(number) | Load::PerSecond(number) => number,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::AtOnce(number) => write!(f, "{number} at once"),
            Load::PerSecond(number) => write!(f, "{number}/s"),
        }
    }
}

/// What came of a load.
pub(crate) struct Measured {
    pub(crate) number: usize,
    pub(crate) rate: f64,
    pub(crate) first_p50: Duration,
    pub(crate) first_p99: Duration,
    pub(crate) end_p50: Duration,
    pub(crate) end_p99: Duration,
}

/// From when a request was due until its first byte and its end.
type Times = (Duration, Duration);

/// Asks so many times.
pub(crate) async fn load(address: SocketAddr, load: Load, number: usize) -> Result<Measured, Failure> {
    let started = Instant::now();
    let times = match load {
        Load::AtOnce(at_once) => at_once_each(address, at_once, number).await?,
        Load::PerSecond(rate) => per_second(address, rate, number).await?,
    };
    let rate = times.len() as f64 / started.elapsed().as_secs_f64();
    let (mut firsts, mut ends): (Vec<_>, Vec<_>) = times.into_iter().unzip();
    firsts.sort_unstable();
    ends.sort_unstable();
    let at =
        |times: &[Duration], part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    Ok(Measured {
        number: ends.len(),
        rate,
        first_p50: at(&firsts, 50),
        first_p99: at(&firsts, 99),
        end_p50: at(&ends, 50),
        end_p99: at(&ends, 99),
    })
}

async fn at_once_each(address: SocketAddr, at_once: usize, number: usize) -> Result<Vec<Times>, Failure> {
    let left = Arc::new(AtomicUsize::new(number));
    let mut tasks = Vec::new();
    for _ in 0..at_once {
        let left = left.clone();
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            let mut connection = Connection::open(address).await?;
            while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                times.push(connection.ask(Instant::now()).await?);
            }
            Ok::<_, Failure>(times)
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    Ok(times)
}

async fn per_second(address: SocketAddr, rate: usize, number: usize) -> Result<Vec<Times>, Failure> {
    let idle: Arc<Mutex<Vec<Connection>>> = Arc::default();
    let started = Instant::now();
    let mut tasks = Vec::new();
    for at in 0..number {
        let due = started + Duration::from_secs(1).mul_f64(at as f64 / rate as f64);
        tokio::time::sleep_until(due.into()).await;
        let idle = idle.clone();
        tasks.push(tokio::spawn(async move {
            let found = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut connection = match found {
                Some(connection) => connection,
                None => Connection::open(address).await?,
            };
            let times = connection.ask(due).await?;
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok::<_, Failure>(times)
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.push(task.await??);
    }
    Ok(times)
}

/// A connection that is used again.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    question: Bytes,
    /// The last answer.
    answer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            let _ = connection.await;
        });
        let parameters = json!({"type": "object", "properties": {"q": {"type": "string"}}});
        let question = json!({
            "model": "m", "stream": true, "messages": [{"role": "user", "content": "Look for cats."}],
            "tools": [{"type": "function", "function": {"name": "look", "parameters": parameters}}],
        });
        let question = Bytes::from(question.to_string());
        Ok(Connection { sender, host: address.to_string(), question, answer: Vec::new() })
    }

    async fn ask(&mut self, due: Instant) -> Result<Times, Failure> {
        let request = hyper::Request::post("/v1/chat/completions")
            .header("host", &self.host)
            .header("content-type", "application/json")
            .body(Full::new(self.question.clone()))?;
        let mut answer = self.sender.send_request(request).await?.into_body();
        self.answer.clear();
        let mut first = None;
        while let Some(frame) = answer.frame().await {
            first.get_or_insert_with(|| due.elapsed());
            if let Ok(data) = frame?.into_data() {
                self.answer.extend_from_slice(&data);
            }
        }
        let end = due.elapsed();
        // A fast answer that is wrong is worth nothing.
        let told = std::str::from_utf8(&self.answer)?;
        let is_whole = told.trim_end().ends_with("data: [DONE]");
        let has_call = told.contains("\"look\"") && told.contains("cats");
        if !is_whole || !has_call || told.matches("word").count() < super::roles::WORDS {
            let end: String = told.chars().skip(told.chars().count().saturating_sub(400)).collect();
            return Err(format!("an answer is not what was to be streamed; it ends with {end}").into());
        }
        Ok((first.unwrap_or_default(), end))
    }
}
