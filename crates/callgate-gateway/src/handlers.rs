//! Handlers: the way of a request through the guards to its answer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use axum::http::{Method, Response, StatusCode};
use axum::middleware::Next;
use callgate_agent::clock;
use callgate_agent::id::random_id;
use callgate_agent::written::Written;
use futures_core::Stream;
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::Sleep;

use crate::answer::{Answer, Out};
use crate::exchange::{Broken, Means, run};
use crate::faces::{Face, Reading, Writer};
use crate::fault::Fault;
use crate::guard::{Client, check_origin};
use crate::models;
use crate::patience::Passing;
use crate::recent::Exchange;
use crate::records::Notes;
use crate::server::{Current, Shared};
use crate::trace::Trace;
use crate::unpack::{too_large, unpack};
use crate::upstream::in_order;
use crate::{client, page};

/// How much of an answer may wait for a slow client, in parts.
const AHEAD: usize = 32;

/// That it lives.
pub(crate) async fn health() -> Response<Body> {
    json_answer(200, &json!({"status": "ok"}))
}

/// The version of Ollama's API that it speaks.
pub(crate) async fn version() -> Response<Body> {
    json_answer(200, &json!({"version": "0.6.4"}))
}

fn response(status: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn json_answer(status: u16, value: &Value) -> Response<Body> {
    response(status, "application/json", value.to_string().into())
}

pub(crate) fn fault_answer(face: Face, fault: &Fault) -> Response<Body> {
    let mut answer = response(fault.status, "application/json", face.fault(fault).into());
    if let Some(seconds) = fault.retry_after {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// The face in whose form a path is answered.
fn face_of(path: &str) -> Face {
    Face::at(path).unwrap_or(match path {
        _ if path.starts_with("/v1/messages") => Face::Messages,
        _ if path.starts_with("/api/") => Face::OllamaChat,
        _ => Face::Chat,
    })
}

/// Who asked, for the handlers behind the guards.
#[derive(Clone)]
struct Asker(Arc<Client>);

/// Checks who asks and from where, before anything else is done.
pub(crate) async fn guarded(
    State(shared): State<Arc<Shared>>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    let face = face_of(request.uri().path());
    let Some(current) = shared.current() else {
        return fault_answer(face, &Fault::new(500, "no-settings", "there are no settings"));
    };
    let admitted = check_origin(&current.settings, request.headers()).and_then(|()| {
        // The page itself holds nothing; what it shows needs the key.
        match request.uri().path() == "/" && matches!(*request.method(), Method::GET | Method::HEAD) {
            true => Ok(None),
            false => shared.keys.admit(&current.settings, request.headers()).map(Some),
        }
    });
    match admitted {
        Ok(client) => {
            if let Some(client) = client {
                request.extensions_mut().insert(Asker(Arc::new(client)));
            }
            next.run(request).await
        }
        Err(fault) => {
            shared.metrics.request(face.word(), fault.status, 0.0);
            shared.records.refused(face.word(), &fault);
            fault_answer(face, &fault)
        }
    }
}

/// The body of a request that no face reads.
pub(crate) async fn request_body(shared: &Shared, request: Request) -> Result<Bytes, Fault> {
    let current = shared.current().ok_or_else(|| Fault::new(500, "no-settings", "there are no settings"))?;
    let (parts, body) = request.into_parts();
    body_of(&current, &parts.headers, body).await
}

/// The body of a request, unpacked, within its limits of size and time.
async fn body_of(current: &Current, headers: &HeaderMap, body: Body) -> Result<Bytes, Fault> {
    let bytes = body_of_packed(current, headers, body).await?;
    Ok(unpack(headers, &bytes, current.settings.limits.body)?.map_or(bytes, Bytes::from))
}

/// The body of a request as it was sent.
async fn body_of_packed(current: &Current, headers: &HeaderMap, body: Body) -> Result<Bytes, Fault> {
    let limits = current.settings.limits;
    // Who says beforehand that it is too large need not send it.
    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|said| said > limits.body as u64) {
        return Err(too_large(limits.body));
    }
    let collecting = Limited::new(body, limits.body).collect();
    let collected = tokio::time::timeout(Duration::from_millis(limits.body_ms), collecting)
        .await
        .map_err(|_| Fault::new(408, "slow-body", "the body of the request did not come in time"))?;
    collected.map(|body| body.to_bytes()).map_err(|error| {
        let is_large = error.downcast_ref::<http_body_util::LengthLimitError>().is_some();
        if is_large { too_large(limits.body) } else { Fault::bad_request("the body broke off") }
    })
}

/// Answers a request of one of the faces.
pub(crate) async fn answer(shared: Arc<Shared>, face: Face, request: Request) -> Response<Body> {
    let started = Instant::now();
    match asked(shared.clone(), face, request, started).await {
        Ok(answer) => answer,
        Err(Unanswered::Refused(fault)) => {
            shared.metrics.request(face.word(), fault.status, started.elapsed().as_secs_f64());
            shared.records.refused(face.word(), &fault);
            fault_answer(face, &fault)
        }
        Err(Unanswered::Failed(fault)) => fault_answer(face, &fault),
    }
}

/// Why a request has no answer.
enum Unanswered {
    /// It did not become an exchange.
    Refused(Fault),
    /// It did, and the exchange counts itself.
    Failed(Fault),
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        Unanswered::Refused(fault)
    }
}

async fn asked(
    shared: Arc<Shared>,
    face: Face,
    request: Request,
    started: Instant,
) -> Result<Response<Body>, Unanswered> {
    let current = shared.current().ok_or_else(|| Fault::new(500, "no-settings", "there are no settings"))?;
    let client = request.extensions().get::<Asker>().map(|asker| asker.0.clone());
    let (parts, body) = request.into_parts();
    let bytes = body_of(&current, &parts.headers, body).await?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| Fault::bad_request(format!("the body is no UTF-8: {error}")))?;
    let body = Written::parse(text).ok_or_else(|| {
        let why = serde_json::from_str::<serde::de::IgnoredAny>(text).err();
        Fault::bad_request(why.map_or_else(
            || "the body is nested too deep".to_owned(),
            |error| format!("the body is no JSON: {error}"),
        ))
    })?;
    let Reading { mut asked, mut writer } = face.read(&body)?;
    asked.trace = Trace::of(&parts.headers, shared.records.has_spans());
    let place = shared.places.take().await?;
    let calls = shared.situations.calls(&shared, &current, &asked).await;
    let mut plan = shared.planner.plan(&current.settings, &asked, calls)?;
    shared.tails.find(&shared.records.log, &current, &asked, &mut plan).await;
    let began = SystemTime::now() - started.elapsed();
    let seen = Exchange {
        id: random_id(),
        time: clock::timestamp(began),
        face: face.word(),
        model: asked.model.clone(),
        client: client.as_ref().map(|client| client.name.clone()).unwrap_or_default(),
        notes: Notes {
            began: Some(began),
            trace: asked.trace.clone(),
            is_stream: asked.stream,
            manner: plan.calls.word(),
            tools: asked.tools.len(),
            ..Notes::default()
        },
        ..Exchange::default()
    };
    let id = seen.id.clone();
    let is_stream = asked.stream;
    let ping = Duration::from_millis(current.settings.limits.ping_ms.max(10));
    let (to, mut from) = mpsc::channel(AHEAD);
    let work = Work { shared: shared.clone(), current, client, _place: place, started };
    tokio::spawn(work.exchange(face, asked, plan, seen, to));
    let mut answer = if is_stream {
        // What fails before anything was said is an answer with a status of its own, unless that takes too long.
        let first = tokio::time::timeout(ping, from.recv()).await.unwrap_or(Some(Out::Ping));
        if let Some(Out::Fault(fault)) = first {
            return Err(Unanswered::Failed(*fault));
        }
        let mut ready = Vec::new();
        writer.begin(&mut ready);
        if let Some(out) = first {
            writer.write(&out, &mut ready);
        }
        let last = tokio::time::Instant::now();
        let silence = Box::pin(tokio::time::sleep_until(last + ping));
        let stream = Streaming { writer, from, ready, ping, last, silence };
        let mut answer = response(200, face.stream_type(), Body::from_stream(stream));
        answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        answer
    } else {
        let mut whole = Answer::default();
        while let Some(out) = from.recv().await {
            whole.push(out).map_err(|fault| Unanswered::Failed(*fault))?;
        }
        let verdict = verdict_word(&whole);
        let mut answer = response(200, "application/json", writer.whole(&whole).into());
        answer
            .headers_mut()
            .insert(HeaderName::from_static("x-callgate-verdict"), HeaderValue::from_static(verdict));
        answer
    };
    if let Ok(id) = HeaderValue::from_str(&id) {
        answer.headers_mut().insert(HeaderName::from_static("x-callgate-id"), id);
    }
    Ok(answer)
}

/// What a header says about a whole answer.
fn verdict_word(answer: &Answer) -> &'static str {
    let has = |key: &str| answer.ending.verdict.as_ref().is_some_and(|verdict| verdict.get(key).is_some());
    match answer.calls.is_empty() {
        _ if has("failure") => "rejected",
        _ if has("retries") => "corrected",
        _ if has("repaired") => "repaired",
        true => "no-call",
        false => "accepted",
    }
}

/// What the task of one exchange holds.
struct Work {
    shared: Arc<Shared>,
    current: Arc<Current>,
    /// Held so that the key counts as busy.
    client: Option<Arc<Client>>,
    _place: OwnedSemaphorePermit,
    started: Instant,
}

impl Work {
    async fn exchange(
        self,
        face: Face,
        asked: crate::asked::Asked,
        plan: crate::plan::Plan,
        mut seen: Exchange,
        to: mpsc::Sender<Out>,
    ) {
        let metrics = &self.shared.metrics;
        metrics.begin();
        let upstreams = in_order(&self.current, &asked.model, &self.shared.turn);
        let records = &self.shared.records;
        let means = Means {
            settings: &self.current.settings,
            metrics,
            records,
            plan: &plan,
            upstreams,
            started: self.started,
        };
        let status = match run(&means, &asked, &to, &mut seen).await {
            Ok(()) => 200,
            Err(Broken::Gone) => {
                seen.fault = Some("the client is gone".to_owned());
                seen.notes.fault = Some("client-gone");
                499
            }
            Err(Broken::Fault(fault)) => {
                let status = fault.status;
                seen.fault = Some(fault.to_string());
                seen.notes.fault = Some(fault.code);
                // The client may be gone by now.
                let _ = to.send(Out::Fault(Box::new(fault))).await;
                status
            }
        };
        drop(to);
        metrics.end();
        metrics.request(face.word(), status, self.started.elapsed().as_secs_f64());
        metrics.served.fetch_add(1, Ordering::Relaxed);
        seen.millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        seen.notes.status = status;
        records.ended(&mut seen).await;
        self.shared.recent.add(seen);
        drop(self.client);
    }
}

/// A stream in the form of its API, with a sign of life where nothing may leave for long.
struct Streaming {
    writer: Box<dyn Writer>,
    from: mpsc::Receiver<Out>,
    ready: Vec<u8>,
    ping: Duration,
    /// When something was sent last.
    last: tokio::time::Instant,
    silence: Pin<Box<Sleep>>,
}

impl Stream for Streaming {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // What has come is sent together: a part of its own costs a write.
        let mut is_over = false;
        while let Poll::Ready(out) = this.from.poll_recv(context) {
            match out {
                Some(out) => this.writer.write(&out, &mut this.ready),
                None => {
                    is_over = true;
                    break;
                }
            }
        }
        while this.ready.is_empty() && !is_over && this.silence.as_mut().poll(context).is_ready() {
            // It is not set again for each part, so it may ring too early.
            let next = this.last + this.ping;
            if tokio::time::Instant::now() < next {
                this.silence.as_mut().reset(next);
            } else {
                this.writer.write(&Out::Ping, &mut this.ready);
            }
        }
        if !this.ready.is_empty() {
            this.last = tokio::time::Instant::now();
            return Poll::Ready(Some(Ok(Bytes::from(std::mem::take(&mut this.ready)))));
        }
        if is_over { Poll::Ready(None) } else { Poll::Pending }
    }
}

/// Answers what a face reads, and passes on what none does.
pub(crate) async fn by_path(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let path = request.uri().path();
    match Face::at(path) {
        Some(face) if request.method() == Method::POST => answer(shared, face, request).await,
        Some(face) => {
            let why = format!("{path} takes POST only");
            let mut answer = fault_answer(face, &Fault::new(405, "method-not-allowed", why));
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            answer
        }
        None => {
            let face = face_of(path);
            pass_through(&shared, request).await.unwrap_or_else(|fault| {
                shared.records.refused(face.word(), &fault);
                fault_answer(face, &fault)
            })
        }
    }
}

/// Passes a request on to the server of the model that it names, or to the first that has an address.
async fn pass_through(shared: &Shared, request: Request) -> Result<Response<Body>, Fault> {
    let path = request.uri().path().to_owned();
    let current = shared.current().ok_or_else(|| Fault::new(500, "no-settings", "there are no settings"))?;
    let client = request.extensions().get::<Asker>().cloned();
    let place = shared.places.take().await?;
    let (parts, body) = request.into_parts();
    let body = body_of_packed(&current, &parts.headers, body).await?;
    let serving = match model_of(&current, &parts.headers, &body) {
        Some(model) => in_order(&current, &model, &shared.turn),
        None => current.upstreams.iter().collect(),
    };
    let found = serving.into_iter().find_map(|upstream| Some((upstream.address()?, upstream.timeouts())));
    let unknown = || Fault::new(404, "no-such-path", format!("there is nothing at {path}"));
    let ((address, key), timeouts) = found.ok_or_else(unknown)?;
    // An address that ends with the version has it in its own paths already.
    let version = address.base.ends_with("/v1");
    let path = path.strip_prefix("/v1").filter(|_| version).unwrap_or(&path);
    let sending = client::pass(address, key, Request::from_parts(parts, Body::from(body)), path);
    let answer = tokio::time::timeout(Duration::from_millis(timeouts.first_byte_ms), sending);
    let late = |_| Fault::new(504, "first-byte-timeout", "the model's server did not answer in time");
    let (parts, body) = answer.await.map_err(late)??.into_parts();
    let idle = Duration::from_millis(timeouts.idle_ms);
    let mut passed = Response::new(Body::new(Passing::new(body, idle, (client, place))));
    *passed.status_mut() = parts.status;
    *passed.headers_mut() = client::passed_on(&parts.headers);
    Ok(passed)
}

/// The model that a request names which no face reads. What cannot be read names none, and is passed on as it is.
fn model_of(current: &Current, headers: &HeaderMap, body: &Bytes) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        model: String,
    }
    let unpacked = unpack(headers, body, current.settings.limits.body).ok()?;
    let named: Named = serde_json::from_slice(unpacked.as_deref().unwrap_or(body)).ok()?;
    Some(named.model)
}

pub(crate) async fn list_models(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let Some(current) = shared.current() else { return json_answer(200, &models::list(&[])) };
    json_answer(200, &models::list(&models::names(&current).await))
}

pub(crate) async fn one_model(State(shared): State<Arc<Shared>>, Path(name): Path<String>) -> Response<Body> {
    let names = match shared.current() {
        Some(current) => models::names(&current).await,
        None => Vec::new(),
    };
    match names.contains(&name) {
        true => json_answer(200, &models::model(&name)),
        false => fault_answer(
            Face::Chat,
            &Fault::new(404, "no-such-model", format!("no server serves the model {name:?}")),
        ),
    }
}

pub(crate) async fn tags(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let Some(current) = shared.current() else { return json_answer(200, &models::tags(&[])) };
    json_answer(200, &models::tags(&models::names(&current).await))
}

pub(crate) async fn show(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let shown = async {
        let bytes = request_body(&shared, request).await?;
        let body: Value =
            serde_json::from_slice(&bytes).map_err(|error| Fault::bad_request(error.to_string()))?;
        let name = body["model"].as_str().or_else(|| body["name"].as_str()).unwrap_or_default().to_owned();
        Ok::<_, Fault>(json_answer(200, &models::show(&name)))
    };
    shown.await.unwrap_or_else(|fault| fault_answer(Face::OllamaChat, &fault))
}

/// How many tokens a request has, about: only the model's own server knows exactly.
pub(crate) async fn count_tokens(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let counted = async {
        let bytes = request_body(&shared, request).await?;
        serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)
            .map_err(|error| Fault::bad_request(error.to_string()))?;
        Ok::<_, Fault>(json_answer(200, &json!({"input_tokens": bytes.len().div_ceil(4)})))
    };
    counted.await.unwrap_or_else(|fault| fault_answer(Face::Messages, &fault))
}

pub(crate) async fn metrics(State(shared): State<Arc<Shared>>) -> Response<Body> {
    response(200, "application/openmetrics-text; version=1.0.0; charset=utf-8", shared.metrics.text().into())
}

pub(crate) async fn exchanges(State(shared): State<Arc<Shared>>) -> Response<Body> {
    response(200, "application/json", shared.recent.json().into())
}

pub(crate) async fn ready(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let served = shared.metrics.served.load(Ordering::Relaxed);
    let seconds = shared.started.elapsed().as_secs();
    json_answer(200, &json!({"status": "ready", "served": served, "seconds": seconds}))
}

/// Exchanges as they end, as events for the page.
pub(crate) async fn live(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let (to, from) = mpsc::channel::<Bytes>(16);
    let mut news = shared.recent.news();
    tokio::spawn(async move {
        loop {
            let told = tokio::select! {
                () = to.closed() => return,
                told = tokio::time::timeout(Duration::from_secs(10), news.recv()) => told,
            };
            let text = match told {
                Ok(Ok(text)) => format!("data: {text}\n\n"),
                // A page that is too slow misses some, and goes on.
                Ok(Err(tokio::sync::broadcast::error::RecvError::Lagged(_))) => continue,
                Ok(Err(tokio::sync::broadcast::error::RecvError::Closed)) => return,
                Err(_) => ": ping\n\n".to_owned(),
            };
            if to.send(text.into()).await.is_err() {
                return;
            }
        }
    });
    let mut answer = response(200, "text/event-stream", Body::from_stream(Received(from)));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    answer
}

struct Received(mpsc::Receiver<Bytes>);

impl Stream for Received {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(Ok))
    }
}

pub(crate) async fn root(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let shows = shared.current().is_some_and(|current| current.settings.page);
    if shows {
        page::page()
    } else {
        response(200, "text/plain; charset=utf-8", "Callgate is running.\n".into())
    }
}
