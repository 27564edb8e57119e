//! One HTTP request and its answer, byte by byte, with a limit on every wait: connecting, the first byte, silence, and
//! the whole.
//!
//! A connection carries one request at a time and is kept for the next when the answer has come to its end. When an answer
//! is dropped before that, its connection ends: that is how a server learns that nobody listens any more. It is no task of
//! its own: whoever waits for the answer moves its bytes, so that all that one look at the network brought is there at once.
//! Nothing is followed, cached or decompressed.

use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

use super::pool::{Line, Pool};
use super::{Address, BoxFuture, FaultCode, ModelFault};

/// The most bytes of one answer: far more than any model writes, and little enough to survive.
const ANSWER: usize = 256 << 20;
/// The most bytes of a rejection that are read for its message.
const REJECTION: usize = 16 << 10;
/// How long a connection whose answer has been read may take until it is at its end.
const LAST: Duration = Duration::from_secs(1);

/// How long each part of an answer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// From sending the request until the first byte of the answer's body.
    pub first_byte: Duration,
    /// Between two chunks of the body.
    pub idle: Duration,
    /// From the beginning to the end.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
        }
    }
}

/// Text that is never shown: it has no way to be printed.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes the text.
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// The text, for whoever it is meant for.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// A connection to a server.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// A way to reach a server. [`Network`] is the usual one; another may go through a socket file or a tunnel.
pub trait Connect: Send + Sync {
    /// Connects.
    fn connect<'a>(&'a self, address: &'a Address) -> BoxFuture<'a, io::Result<Box<dyn Connection>>>;
}

/// TCP, and TLS where the address asks for it.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// What TLS trusts, if it is not what the system trusts.
    tls: Option<Arc<ClientConfig>>,
}

impl Network {
    /// Trusts the certificates of a PEM file, and no others.
    pub fn trusting(path: &Path) -> io::Result<Self> {
        let certificates = CertificateDer::pem_file_iter(path).map_err(io::Error::other)?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates {
            roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
        }
        if roots.is_empty() {
            return Err(io::Error::other("the file holds no certificate in PEM form"));
        }
        Ok(Network { tls: Some(trusting(roots)?) })
    }
}

impl Connect for Network {
    fn connect<'a>(&'a self, address: &'a Address) -> BoxFuture<'a, io::Result<Box<dyn Connection>>> {
        Box::pin(async move {
            let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
            // A request is one small write; waiting for more to send would only delay it.
            stream.set_nodelay(true)?;
            if !address.is_https {
                return Ok(Box::new(stream) as Box<dyn Connection>);
            }
            let name = ServerName::try_from(address.host.clone()).map_err(io::Error::other)?;
            let tls = match &self.tls {
                Some(tls) => Arc::clone(tls),
                None => systems()?,
            };
            let stream = TlsConnector::from(tls).connect(name, stream).await?;
            Ok(Box::new(stream) as Box<dyn Connection>)
        })
    }
}

/// TLS with the certificates that the system trusts, made once: reading them takes a while.
fn systems() -> io::Result<Arc<ClientConfig>> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let mut roots = RootCertStore::empty();
    let (_, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = trusting(roots)?;
    Ok(CONFIG.get_or_init(|| config).clone())
}

fn trusting(roots: RootCertStore) -> io::Result<Arc<ClientConfig>> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// A server that takes requests.
#[derive(Clone)]
pub(crate) struct Http {
    pub(crate) address: Address,
    pub(crate) timeouts: Timeouts,
    pub(crate) key: Option<Secret>,
    pub(crate) connect: Arc<dyn Connect>,
    /// The connections that wait for a request.
    pub(super) pool: Arc<Pool>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("address", &self.address).field("timeouts", &self.timeouts).finish()
    }
}

impl Http {
    /// Sends JSON to a path, with further headers, and waits for the head of the answer. A status other than success is a
    /// fault.
    pub(crate) async fn post(
        &self,
        path: &str,
        json: Vec<u8>,
        headers: &[(&'static str, String)],
    ) -> Result<HttpAnswer, ModelFault> {
        let end = Instant::now() + self.timeouts.total;
        let sent = self.send(path, json, headers, end).await;
        let (response, line, first) = sent.map_err(|fault| self.named(fault))?;
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let encoding = header(CONTENT_ENCODING).filter(|encoding| *encoding != "identity");
        let encoding = encoding.map(str::to_owned);
        let retry_after = header(RETRY_AFTER).and_then(|text| text.trim().parse().ok());
        let is_event_stream = header(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/event-stream"));
        let mut answer = HttpAnswer {
            flow: Some(Flow { body: response.into_body(), line }),
            pool: Arc::clone(&self.pool),
            alarm: Box::pin(sleep_until(first.min(end))),
            first: Some(first),
            end,
            idle: self.timeouts.idle,
            received: 0,
            server: self.address.to_string(),
            is_event_stream,
        };
        if let Some(encoding) = encoding {
            let message = format!("the server compressed its answer ({encoding}), which was not asked for");
            return Err(self.named(ModelFault::new(FaultCode::BadLine, message)));
        }
        if !status.is_success() {
            let mut fault = ModelFault::new(FaultCode::Rejected, answer.rejection().await);
            fault.status = Some(status.as_u16());
            fault.retry_after = retry_after;
            return Err(self.named(fault));
        }
        Ok(answer)
    }

    async fn send(
        &self,
        path: &str,
        json: Vec<u8>,
        headers: &[(&'static str, String)],
        end: Instant,
    ) -> Result<(Response<Incoming>, Line, Instant), ModelFault> {
        let mut request = self.request(path, json)?;
        for (name, value) in headers {
            // What cannot be a header is not worth the request.
            if let Ok(value) = HeaderValue::from_str(value) {
                request.headers_mut().insert(*name, value);
            }
        }
        // A server may close a connection while a request is on its way; then nothing of an answer has come, and a new
        // connection is tried.
        if let Some(mut line) = self.pool.take() {
            let first = Instant::now() + self.timeouts.first_byte;
            match timeout_at(first.min(end), line.send(request.clone())).await {
                Ok(Ok(response)) => return Ok((response, line, first)),
                Ok(Err(_)) => self.pool.clear(),
                Err(_) => return Err(late(FaultCode::FirstByteTimeout, first, end)),
            }
        }
        let mut line = self.open((Instant::now() + self.timeouts.connect).min(end), end).await?;
        let first = Instant::now() + self.timeouts.first_byte;
        match timeout_at(first.min(end), line.send(request)).await {
            Ok(Ok(response)) => Ok((response, line, first)),
            Ok(Err(error)) => Err(broke(&error)),
            Err(_) => Err(late(FaultCode::FirstByteTimeout, first, end)),
        }
    }

    async fn open(&self, until: Instant, end: Instant) -> Result<Line, ModelFault> {
        let stream = match timeout_at(until, self.connect.connect(&self.address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                return Err(ModelFault::new(FaultCode::ConnectFailed, format!("no connection: {error}")));
            }
            Err(_) => return Err(late(FaultCode::ConnectTimeout, until, end)),
        };
        let opened = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(|error| broke(&error))?;
        let driver = Box::pin(async move {
            // The connection's own result adds nothing: every error also reaches the body.
            let _ = connection.await;
        });
        Ok(Line::new(sender, driver))
    }

    fn request(&self, path: &str, json: Vec<u8>) -> Result<Request<Full<Bytes>>, ModelFault> {
        let unfit = |what: &str| ModelFault::new(FaultCode::BadRequest, format!("{what} cannot be sent"));
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}{path}", self.address.base))
            .header(HOST, self.address.host_header())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(json)))
            .map_err(|_| unfit("the path"))?;
        if let Some(Secret(key)) = &self.key {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| unfit("the key"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        Ok(request)
    }

    /// The fault with the name of the server.
    fn named(&self, mut fault: ModelFault) -> ModelFault {
        fault.server = self.address.to_string();
        fault
    }
}

/// The body of an answer, as it arrives.
pub(crate) struct HttpAnswer {
    /// Nothing once it is over.
    flow: Option<Flow>,
    pool: Arc<Pool>,
    /// Rings when something may have taken too long; it is set again only then, and not for each chunk.
    alarm: Pin<Box<Sleep>>,
    /// Until when the first byte has to come, while none has.
    first: Option<Instant>,
    end: Instant,
    idle: Duration,
    received: usize,
    server: String,
    /// Whether the server says that it sends events.
    pub(crate) is_event_stream: bool,
}

/// A body that arrives, and what it arrives by.
struct Flow {
    body: Incoming,
    line: Line,
}

/// That something took too long.
struct Late;

impl HttpAnswer {
    /// The next bytes; nothing at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ModelFault> {
        loop {
            let (code, until) = match self.first {
                Some(first) => (FaultCode::FirstByteTimeout, first),
                None => (FaultCode::IdleTimeout, Instant::now() + self.idle),
            };
            let frame = match self.frame(until.min(self.end)).await {
                Err(Late) => return Err(self.fault(late(code, until, self.end))),
                Ok(None) => {
                    if let Some(flow) = self.flow.take() {
                        self.pool.keep(flow.line);
                    }
                    return Ok(None);
                }
                Ok(Some(Err(error))) => {
                    let message = format!("the connection broke inside the answer: {error}");
                    return Err(self.fault(ModelFault::new(FaultCode::Disconnected, message)));
                }
                Ok(Some(Ok(frame))) => frame,
            };
            // Anything else is a trailer, which says nothing here.
            let Ok(bytes) = frame.into_data() else { continue };
            if bytes.is_empty() {
                continue;
            }
            self.first = None;
            self.received = self.received.saturating_add(bytes.len());
            if self.received > ANSWER {
                let message = format!("the answer is larger than {ANSWER} bytes");
                return Err(self.fault(ModelFault::new(FaultCode::TooLarge, message)));
            }
            return Ok(Some(bytes));
        }
    }

    /// The next frame of the body, if it comes in time.
    async fn frame(&mut self, until: Instant) -> Result<Option<hyper::Result<Frame<Bytes>>>, Late> {
        let HttpAnswer { flow, alarm, .. } = self;
        let Some(Flow { body, line }) = flow else { return Ok(None) };
        if alarm.deadline() > until {
            alarm.as_mut().reset(until);
        }
        let mut frame = pin!(line.until(body.frame()));
        poll_fn(|context| {
            if let Poll::Ready(frame) = frame.as_mut().poll(context) {
                return Poll::Ready(Ok(frame));
            }
            while alarm.as_mut().poll(context).is_ready() {
                if Instant::now() >= until {
                    return Poll::Ready(Err(Late));
                }
                alarm.as_mut().reset(until);
            }
            Poll::Pending
        })
        .await
    }

    /// Lets go of an answer that said itself that it is over. Its connection is kept if it comes to its end soon, as it does
    /// where nothing but the end of the body is left.
    pub(crate) fn leave(&mut self) {
        let (Some(Flow { mut body, mut line }), pool) = (self.flow.take(), Arc::clone(&self.pool)) else {
            return;
        };
        tokio::spawn(async move {
            let rest = async {
                let mut left = REJECTION;
                while let Some(frame) = line.until(body.frame()).await {
                    let length = frame.ok()?.into_data().map_or(0, |bytes| bytes.len());
                    left = left.checked_sub(length)?;
                }
                Some(())
            };
            if let Ok(Some(())) = tokio::time::timeout(LAST, rest).await {
                pool.keep(line);
            }
        });
    }

    /// A fault of this answer: from whom, and after how much.
    pub(crate) fn fault(&self, mut fault: ModelFault) -> ModelFault {
        fault.server.clone_from(&self.server);
        fault.after(self.received)
    }

    /// What a server says when it rejects.
    async fn rejection(&mut self) -> String {
        let mut text = Vec::new();
        while text.len() < REJECTION {
            match self.next().await {
                Ok(Some(bytes)) => text.extend_from_slice(&bytes),
                // The message is over, or broke off: report what came of it.
                Ok(None) | Err(_) => break,
            }
        }
        text.truncate(REJECTION);
        let text = String::from_utf8_lossy(&text);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let said = error_message(&value).unwrap_or_else(|| plain(&text));
        if said.is_empty() { "the server rejected the request without a reason".to_owned() } else { said }
    }
}

fn broke(error: &hyper::Error) -> ModelFault {
    ModelFault::new(FaultCode::Disconnected, format!("the connection broke before the answer: {error}"))
}

/// The error that an answer of JSON reports, in the forms that servers use.
fn error_message(value: &serde_json::Value) -> Option<String> {
    let error = value.get("error").filter(|error| !error.is_null())?;
    let text = error.as_str().or_else(|| error["message"].as_str());
    Some(text.map_or_else(|| plain(&error.to_string()), plain))
}

/// Text of a server as one short line without control characters.
pub(super) fn plain(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).take(400).collect()
}

/// The fault of a wait that ended: its own, or that of the whole if that ended first.
fn late(code: FaultCode, until: Instant, end: Instant) -> ModelFault {
    let code = if end <= until { FaultCode::TotalTimeout } else { code };
    let message = match code {
        FaultCode::ConnectTimeout => "connecting took too long",
        FaultCode::FirstByteTimeout => "the answer did not begin in time",
        FaultCode::IdleTimeout => "the answer stopped coming",
        _ => "the answer took too long",
    };
    ModelFault::new(code, message)
}
