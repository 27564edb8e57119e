//! HTTP to one MCP server. Every request goes to the address that was configured; nothing is followed anywhere else.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio::sync::watch;

use super::ANSWER;
use super::size::Size;
use crate::model::{Address, Connect, Network, Secret};

/// The most bytes of a rejection that are told.
const REJECTION: usize = 400;
/// How long connecting, and waiting for the head of an answer, may take.
const CONNECT: Duration = Duration::from_secs(10);
const HEAD: Duration = Duration::from_secs(120);

const SESSION: &str = "mcp-session-id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

type Events = Pin<Box<dyn Stream<Item = Result<Sse, SseError>> + Send>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// A client of one server.
#[derive(Clone)]
pub(super) struct Client {
    address: Arc<Address>,
    network: Network,
    /// What every request holds.
    own: HeaderMap,
    /// Hears of each answer that is larger than is taken.
    too_long: watch::Sender<()>,
}

impl Client {
    pub(super) fn new(
        address: &str,
        headers: &[(String, Secret)],
        ca_file: Option<&Path>,
        too_long: watch::Sender<()>,
    ) -> Result<Self, String> {
        let network = match ca_file {
            Some(path) => Network::trusting(path).map_err(|error| format!("{}: {error}", path.display()))?,
            None => Network::default(),
        };
        let mut own = HeaderMap::new();
        for (name, value) in headers {
            let unfit = || format!("the header `{name}` cannot be sent");
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit())?;
            let mut value = HeaderValue::from_str(value.expose()).map_err(|_| unfit())?;
            value.set_sensitive(true);
            own.insert(header, value);
        }
        Ok(Client { address: Arc::new(Address::parse(address)?), network, own, too_long })
    }

    async fn send(
        &self,
        method: Method,
        session: Option<&str>,
        headers: Headers,
        body: Option<String>,
    ) -> Result<Response<Incoming>, StreamableHttpError<HttpFault>> {
        let unfit = |error: hyper::http::Error| StreamableHttpError::Client(HttpFault(error.to_string()));
        let base = self.address.base.as_str();
        let mut request = Request::builder()
            .method(method)
            .uri(if base.is_empty() { "/" } else { base })
            .header(HOST, self.address.host_header())
            .header(ACCEPT, format!("{EVENTS}, {JSON}"));
        if body.is_some() {
            request = request.header(CONTENT_TYPE, JSON);
        }
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        let mut request = request.body(Full::new(Bytes::from(body.unwrap_or_default()))).map_err(unfit)?;
        request.headers_mut().extend(headers);
        // What the user configured wins over what the protocol's library adds.
        request.headers_mut().extend(self.own.clone());
        self.exchange(request).await.map_err(StreamableHttpError::Client)
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, HttpFault> {
        let late = |_| HttpFault("the server did not answer in time".to_owned());
        let stream =
            tokio::time::timeout(CONNECT, self.network.connect(&self.address)).await.map_err(late)?;
        let stream =
            stream.map_err(|error| HttpFault(format!("no connection to {}: {error}", self.address)))?;
        let broke = |error: hyper::Error| HttpFault(format!("the connection broke: {error}"));
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broke)?;
        // The connection ends with the answer, which also carries its errors.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        tokio::time::timeout(HEAD, sender.send_request(request)).await.map_err(late)?.map_err(broke)
    }
}

impl Client {
    async fn rejected(
        &self,
        status: StatusCode,
        response: Response<Incoming>,
    ) -> StreamableHttpError<HttpFault> {
        let body = whole(response, &self.too_long).await.unwrap_or_default();
        let said: String =
            String::from_utf8_lossy(&body).chars().filter(|c| !c.is_control()).take(REJECTION).collect();
        StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}: {said}")))
    }
}

impl StreamableHttpClient for Client {
    type Error = HttpFault;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<HttpFault>> {
        let body = serde_json::to_string(&message)?;
        let response = self.send(Method::POST, session.as_deref(), headers, Some(body)).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let kind = header(CONTENT_TYPE.as_str()).unwrap_or_default().to_owned();
        let given = header(SESSION).map(str::to_owned);
        if !status.is_success() {
            return Err(self.rejected(status, response).await);
        }
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response, Some(self.too_long.clone())), given));
        }
        let body = whole(response, &self.too_long).await?;
        if !kind.starts_with(JSON) {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        let answer: ServerJsonRpcMessage = serde_json::from_slice(&body)?;
        Ok(StreamableHttpPostResponse::Json(answer, given))
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<HttpFault>> {
        // A server may keep its sessions; nothing here depends on it.
        self.send(Method::DELETE, Some(&session), headers, None).await.map(drop)
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        mut headers: Headers,
    ) -> Result<Events, StreamableHttpError<HttpFault>> {
        if let Some(value) = last_event.and_then(|id| HeaderValue::from_str(&id).ok()) {
            headers.insert(HeaderName::from_static("last-event-id"), value);
        }
        let response = self.send(Method::GET, session.as_deref(), headers, None).await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            status if !status.is_success() => Err(self.rejected(status, response).await),
            // This stream answers no request and stays open for as long as the session.
            _ => Ok(events(response, None)),
        }
    }
}

fn events(response: Response<Incoming>, too_long: Option<watch::Sender<()>>) -> Events {
    let tell = move || {
        if let Some(too_long) = &too_long {
            too_long.send_replace(());
        }
    };
    let (mut size, tell_too) = (Size::default(), tell.clone());
    let body = Limited::new(response.into_body(), ANSWER).map_frame(move |frame| {
        frame.map_data(|data| {
            if size.add(&data) {
                return data;
            }
            tell_too();
            Bytes::new()
        })
    });
    let body = body.map_err(move |error| {
        if error.is::<LengthLimitError>() {
            tell();
        }
        HttpFault(error.to_string())
    });
    Box::pin(SseStream::new(body))
}

async fn whole(
    response: Response<Incoming>,
    too_long: &watch::Sender<()>,
) -> Result<Bytes, StreamableHttpError<HttpFault>> {
    let body = Limited::new(response.into_body(), ANSWER).collect().await;
    let too_large = body.as_ref().is_err_and(|error| error.is::<LengthLimitError>());
    let fault = |message: String| StreamableHttpError::Client(HttpFault(message));
    let body =
        body.map(|body| body.to_bytes()).map_err(|error| fault(format!("the answer broke off: {error}")));
    if too_large || body.as_ref().is_ok_and(|body| !Size::default().add(body)) {
        too_long.send_replace(());
        return Err(fault("the answer is too large".to_owned()));
    }
    body
}

/// What went wrong between here and the server.
#[derive(Debug)]
pub(super) struct HttpFault(String);

impl std::fmt::Display for HttpFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HttpFault {}
