//! A server that does what a script says, byte by byte, over a real socket or inside the process.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_agent::model::{Address, BoxFuture, Connect, Connection};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

/// One thing that the server does after it has read the request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Lets time pass.
    Pause(Duration),
    /// Keeps the connection open and says nothing, until the client goes.
    Hang,
}

/// What the server was sent, and whether it noticed that the client went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Value,
    pub(crate) client_left: bool,
}

pub(crate) type Record = Arc<Mutex<Seen>>;

pub(crate) fn bytes(text: impl AsRef<[u8]>) -> Act {
    Act::Send(text.as_ref().to_vec())
}

/// The head of an answer whose body ends with the connection.
pub(crate) fn head(kind: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n")
}

/// A whole answer of this status.
pub(crate) fn status(line: &str, body: &str) -> String {
    format!("HTTP/1.1 {line}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// A body in HTTP chunks of this size, with its end.
pub(crate) fn chunked(kind: &str, body: &str, size: usize) -> Vec<u8> {
    let mut out =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.as_bytes().chunks(size) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// A server inside the process: the connection is a pipe, so that a clock that stands still stays exact.
#[derive(Clone)]
pub(crate) struct Piped {
    acts: Vec<Act>,
    pub(crate) seen: Record,
    /// How long connecting takes.
    delay: Duration,
}

impl Piped {
    pub(crate) fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Piped { acts: acts.into_iter().collect(), seen: Record::default(), delay: Duration::ZERO }
    }

    pub(crate) fn slow_to_connect(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

impl Connect for Piped {
    fn connect<'a>(&'a self, _: &'a Address) -> BoxFuture<'a, std::io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            tokio::time::sleep(self.delay).await;
            let (client, server) = tokio::io::duplex(1 << 16);
            tokio::spawn(play(server, self.acts.clone(), self.seen.clone()));
            Ok(Box::new(client) as Box<dyn Connection>)
        })
    }
}

/// A server that takes connections and never reads: its end of the last one.
#[derive(Clone, Default)]
pub(crate) struct Deaf(pub(crate) Arc<Mutex<Option<tokio::io::DuplexStream>>>);

impl Connect for Deaf {
    fn connect<'a>(&'a self, _: &'a Address) -> BoxFuture<'a, std::io::Result<Box<dyn Connection>>> {
        let (client, server) = tokio::io::duplex(1 << 16);
        *self.0.lock().unwrap() = Some(server);
        Box::pin(std::future::ready(Ok(Box::new(client) as Box<dyn Connection>)))
    }
}

/// A server on a real socket of this machine that answers one connection. Returns its address.
pub(crate) async fn listen(acts: impl IntoIterator<Item = Act>) -> (String, Record) {
    let acts: Vec<Act> = acts.into_iter().collect();
    let seen = Record::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let record = seen.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        play(stream, acts, record).await;
    });
    (address, seen)
}

/// Reads one request and does what the script says.
pub(crate) async fn play(mut stream: impl AsyncRead + AsyncWrite + Unpin, acts: Vec<Act>, seen: Record) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    let (head_end, length) = loop {
        let Ok(count @ 1..) = stream.read(&mut buffer).await else { return };
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
            break (end + 4, length.and_then(|length| length.parse::<usize>().ok()).unwrap_or(0));
        }
    };
    while request.len() < head_end + length {
        let Ok(count @ 1..) = stream.read(&mut buffer).await else { return };
        request.extend_from_slice(&buffer[..count]);
    }
    {
        let mut seen = seen.lock().unwrap();
        seen.head = String::from_utf8_lossy(&request[..head_end]).into_owned();
        seen.body = serde_json::from_slice(&request[head_end..]).unwrap_or_default();
    }
    for act in acts {
        match act {
            Act::Send(bytes) => {
                if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                    seen.lock().unwrap().client_left = true;
                    return;
                }
            }
            Act::Pause(time) => tokio::time::sleep(time).await,
            Act::Hang => {
                // Nothing more is sent, so the only thing that can come is the client's end.
                while matches!(stream.read(&mut buffer).await, Ok(1..)) {}
                seen.lock().unwrap().client_left = true;
                return;
            }
        }
    }
    let _ = stream.shutdown().await;
}
