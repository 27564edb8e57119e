//! A plain HTTP client for what passes through untouched and for what a server is asked about itself.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, Request, Response, Uri};
use callgate_agent::model::{Address, Connect, Network};
use http_body_util::{BodyExt, Empty, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::Value;

use crate::fault::Fault;

/// What belongs to one connection or shows who the client is, and is not passed on: the server gets its own key.
const HELD_BACK: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
    "authorization",
    "x-api-key",
    "api-key",
    "cookie",
    "set-cookie",
    "expect",
];

/// The most bytes of an answer about a server itself.
const ABOUT: usize = 4 << 20;

/// Sends a request on, and gives back the answer as it arrives.
pub(crate) async fn pass(
    address: &Address,
    key: Option<&HeaderValue>,
    request: Request<Body>,
    path: &str,
) -> Result<Response<Incoming>, Fault> {
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let uri: Uri = format!("{}{path}{query}", address.base)
        .parse()
        .map_err(|_| Fault::bad_request("this path cannot be passed on"))?;
    let mut passed = Request::new(body);
    *passed.method_mut() = parts.method;
    *passed.uri_mut() = uri;
    *passed.headers_mut() = passed_on(&parts.headers);
    send(address, key, passed).await
}

/// The headers of a request or an answer that may be passed on.
pub(crate) fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let listed: Vec<&str> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(',').map(str::trim))
        .collect();
    let is_kept = |name: &HeaderName| {
        !HELD_BACK.contains(&name.as_str())
            && !listed.iter().any(|listed| listed.eq_ignore_ascii_case(name.as_str()))
    };
    let kept = headers.iter().filter(|(name, _)| is_kept(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What a server says at a path, if it is JSON and comes soon.
pub(crate) async fn about(address: &Address, key: Option<&HeaderValue>, path: &str) -> Option<Value> {
    let uri: Uri = format!("{}{path}", address.base).parse().ok()?;
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = uri;
    let asked = async {
        let answer = send(address, key, request).await.ok()?;
        if !answer.status().is_success() {
            return None;
        }
        let body = Limited::new(answer.into_body(), ABOUT).collect().await.ok()?;
        serde_json::from_slice(&body.to_bytes()).ok()
    };
    tokio::time::timeout(Duration::from_secs(5), asked).await.ok().flatten()
}

/// A server's key as the header that carries it.
pub(crate) fn keyed(key: Option<&HeaderValue>) -> HeaderMap {
    key.map(|key| (AUTHORIZATION, key.clone())).into_iter().collect()
}

/// Sends JSON to a path, and gives back the status and the whole answer; each piece of it is shown as it comes.
pub(crate) async fn post(
    address: &Address,
    headers: HeaderMap,
    path: &str,
    json: String,
    show: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<(u16, String), Fault> {
    let unfit = |_| Fault::bad_request("this path cannot be asked");
    let mut request = Request::new(Full::new(Bytes::from(json)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = format!("{}{path}", address.base).parse().map_err(unfit)?;
    *request.headers_mut() = headers;
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let answer = send(address, None, request).await?;
    let status = answer.status().as_u16();
    let mut body = Limited::new(answer.into_body(), ABOUT);
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| Fault::new(502, "disconnected", format!("the answer broke off: {error}")))?;
        if let Ok(piece) = frame.into_data() {
            show(&piece);
            whole.extend_from_slice(&piece);
        }
    }
    Ok((status, String::from_utf8_lossy(&whole).into_owned()))
}

async fn send<B>(
    address: &Address,
    key: Option<&HeaderValue>,
    mut request: Request<B>,
) -> Result<Response<Incoming>, Fault>
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let broke = |error: &dyn std::fmt::Display| {
        Fault::new(502, "connect-failed", format!("the model's server does not answer: {error}"))
    };
    if let Ok(host) = HeaderValue::from_str(&address.host_header()) {
        request.headers_mut().insert(HOST, host);
    }
    if let Some(key) = key {
        request.headers_mut().insert(AUTHORIZATION, key.clone());
    }
    let network = Network::default();
    let connecting = network.connect(address);
    let stream = tokio::time::timeout(Duration::from_secs(5), connecting)
        .await
        .map_err(|_| Fault::new(504, "connect-timeout", "connecting to the model's server took too long"))?
        .map_err(|error| broke(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| broke(&error))?;
    // It ends with the answer, or when the answer is dropped.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    sender.send_request(request).await.map_err(|error| broke(&error))
}
