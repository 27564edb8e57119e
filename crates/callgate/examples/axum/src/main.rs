//! A handler that judges a model's output while it is being sent: `POST /judge`, any format, in any chunks.
//!
//! Calls that stand come back with 200. If any was rejected the answer is 422 and holds the message for the model.
//! To show itself, the program asks its own server twice and ends.
//!
//! ```console
//! $ cargo run -q -p callgate-example-axum
//! 200 OK {"calls":[{"arguments":{"city":"Oslo"},"name":"get_weather"}]}
//! 422 Unprocessable Entity One call was rejected. Nothing of it was run.
//! ```

use std::error::Error;
use std::net::SocketAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use callgate::{FinishReason, Gate, Registry, Response};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The largest output that is read, in bytes.
const LARGEST: usize = 16 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve_and_ask())
}

/// Judges the body chunk by chunk. A gate is made once and shared; each response has a session of its own.
async fn judge(State(gate): State<Gate>, mut body: Body) -> Result<(StatusCode, String), StatusCode> {
    let mut session = gate.session();
    let mut collector = Response::collector();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| StatusCode::BAD_REQUEST)?;
        let Some(chunk) = frame.data_ref() else { continue };
        length += chunk.len();
        if length > LARGEST {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        session.push_bytes(chunk, &mut |event| collector.push(event));
    }
    session.finish(FinishReason::Stop, &mut |event| collector.push(event));
    let response = collector.finish(FinishReason::Stop);
    Ok(match gate.profile().feedback(&response, gate.registry()) {
        None => {
            let calls = response.calls.iter();
            let calls = calls.map(|call| json!({"name": call.name, "arguments": call.raw_arguments()}));
            (StatusCode::OK, json!({"calls": calls.collect::<Vec<_>>()}).to_string())
        }
        Some(feedback) => (StatusCode::UNPROCESSABLE_ENTITY, feedback),
    })
}

async fn serve_and_ask() -> Result<(), Box<dyn Error>> {
    let tools = Registry::from_json(
        r#"[{"name": "get_weather", "parameters": {"type": "object", "required": ["city"],
             "properties": {"city": {"type": "string"}}}}]"#,
    )?;
    let gate = Gate::builder().tools(tools).build()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/judge", post(judge)).with_state(gate);
    let server = tokio::spawn(async move { axum::serve(listener, router).await });

    let whole = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>"#;
    let cut = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Os"#;
    for output in [whole, cut] {
        println!("{}", ask(address, output).await?);
    }
    server.abort();
    Ok(())
}

/// Sends an output in chunks of seven bytes, and gives the status and the first line of the answer.
async fn ask(address: SocketAddr, output: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address).await?;
    let head =
        "POST /judge HTTP/1.1\r\nhost: example\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    for chunk in output.as_bytes().chunks(7) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
        stream.write_all(chunk).await?;
        stream.write_all(b"\r\n").await?;
    }
    stream.write_all(b"0\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the server sent no answer")?;
    let status = head.lines().next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).unwrap_or(head);
    Ok(format!("{status} {}", body.lines().next().unwrap_or_default()))
}
