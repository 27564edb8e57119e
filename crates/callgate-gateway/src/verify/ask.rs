//! Asking: one question over the network, and when the first argument of a call came.

use std::time::{Duration, Instant};

use axum::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use callgate_agent::model::{Body, BodyStream, ModelChunk};

use super::request::request;
use super::{EndpointApi, Inquiry, Task};
use crate::client;

/// The version of Anthropic's API that is spoken.
const ANTHROPIC: HeaderValue = HeaderValue::from_static("2023-06-01");

/// What an endpoint answered.
pub(super) struct Answered {
    pub(super) body: Body,
    pub(super) streamed: bool,
    /// When the first argument of a streamed call came, after the question.
    pub(super) first_argument: Option<Duration>,
    /// When the answer was complete.
    pub(super) took: Duration,
}

pub(super) async fn ask(inquiry: &Inquiry, task: &Task, stream: bool) -> Result<Answered, String> {
    let path = match inquiry.api {
        EndpointApi::Chat => "/v1/chat/completions",
        EndpointApi::Responses => "/v1/responses",
        EndpointApi::Messages => "/v1/messages",
        EndpointApi::Ollama => "/api/chat",
    };
    let mut endpoint = inquiry.endpoint.clone();
    endpoint.base = endpoint.base.strip_suffix("/v1").unwrap_or(&endpoint.base).to_owned();
    let body = request(inquiry.api, task, &inquiry.model, stream);
    let started = Instant::now();
    let mut watch = Watch { started, seen: Vec::new(), stream: None, first_argument: None };
    let mut show = |piece: &[u8]| {
        if stream {
            watch.take(piece);
        }
    };
    let asked = client::post(&endpoint, headers(inquiry), path, body.to_string(), &mut show);
    let (status, text) = tokio::time::timeout(inquiry.patience, asked)
        .await
        .map_err(|_| "no answer in time".to_owned())?
        .map_err(|fault| fault.message)?;
    let took = started.elapsed();
    if !(200..300).contains(&status) {
        return Err(format!("status {status}: {}", text.chars().take(160).collect::<String>()));
    }
    let read = Body::read(&text).map_err(|fault| fault.message)?;
    let body = read.and_then(|bodies| bodies.into_iter().next());
    let body = body.ok_or_else(|| {
        format!("not in the form of this API: {}", text.chars().take(120).collect::<String>())
    })?;
    Ok(Answered { body, streamed: stream, first_argument: watch.first_argument, took })
}

/// What goes along with a question. Anthropic's own servers want the key under another name.
fn headers(inquiry: &Inquiry) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let key = inquiry.key.as_deref().unwrap_or_default();
    if let Ok(value) = HeaderValue::from_str(&format!("Bearer {key}"))
        && !key.is_empty()
    {
        headers.insert(AUTHORIZATION, value);
    }
    if inquiry.api == EndpointApi::Messages {
        headers.insert(HeaderName::from_static("anthropic-version"), ANTHROPIC);
        if let Ok(value) = HeaderValue::from_str(key)
            && !key.is_empty()
        {
            headers.insert(HeaderName::from_static("x-api-key"), value);
        }
    }
    headers
}

/// Reads a stream while it comes, to know when the first argument of a call is there.
struct Watch {
    started: Instant,
    /// What came before it was known whose stream it is.
    seen: Vec<u8>,
    stream: Option<BodyStream>,
    first_argument: Option<Duration>,
}

impl Watch {
    fn take(&mut self, piece: &[u8]) {
        if self.first_argument.is_some() {
            return;
        }
        let chunks = match &mut self.stream {
            Some(stream) => stream.take(piece),
            None => {
                self.seen.extend_from_slice(piece);
                let Some(mut stream) = str::from_utf8(&self.seen).ok().and_then(BodyStream::of) else {
                    return;
                };
                let chunks = stream.take(&std::mem::take(&mut self.seen));
                self.stream = Some(stream);
                chunks
            }
        };
        let is_argument = |chunk: &ModelChunk| match chunk {
            ModelChunk::Calls(_) => true,
            ModelChunk::Delta { arguments, .. } => arguments.as_deref().is_some_and(|text| !text.is_empty()),
            _ => false,
        };
        // A fault of the stream is found when it is read as a whole.
        if chunks.is_ok_and(|chunks| chunks.iter().any(is_argument)) {
            self.first_argument = Some(self.started.elapsed());
        }
    }
}
