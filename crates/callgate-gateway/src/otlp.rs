//! OTLP: spans of exchanges by the conventions for generative AI, as JSON over HTTP to a collector. Nothing waits for it:
//! what the collector does not take in time is lost, and counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::HeaderValue;
use callgate_agent::model::Address;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::client;
use crate::log::{Log, LogLevel};
use crate::recent::Exchange;
use crate::spans::TraceSettings;

/// How many spans may wait to be sent.
const WAITING: usize = 2048;
/// How many are sent at once.
const BATCH: usize = 256;
/// How long spans wait for others.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the collector may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The spans on their way.
pub(crate) struct Spans {
    /// Nothing once it has ended.
    to: Mutex<Option<mpsc::Sender<Value>>>,
    task: Mutex<Option<JoinHandle<()>>>,
    lost: Arc<AtomicU64>,
}

impl Spans {
    /// Begins to send.
    pub(crate) fn begin(settings: &TraceSettings, log: Arc<Log>) -> Result<Self, String> {
        let address = Address::parse(&settings.endpoint).map_err(|why| format!("traces.endpoint: {why}"))?;
        let key = settings.key_env.as_ref().and_then(|name| std::env::var(name).ok());
        let key = key.and_then(|key| HeaderValue::from_str(&format!("Bearer {key}")).ok()).map(|mut key| {
            key.set_sensitive(true);
            key
        });
        let lost = Arc::new(AtomicU64::new(0));
        let (to, from) = mpsc::channel(WAITING);
        let sending = Sending { address, key, service: settings.service.clone(), lost: lost.clone(), log };
        let task = tokio::spawn(sending.run(from));
        Ok(Spans { to: Mutex::new(Some(to)), task: Mutex::new(Some(task)), lost })
    }

    /// Takes the span of an exchange, if one is recorded.
    pub(crate) fn add(&self, seen: &Exchange) {
        let Some(span) = span(seen) else { return };
        let to = self.to.lock().ok().and_then(|to| to.clone());
        if to.is_none_or(|to| to.try_send(span).is_err()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sends what waits, if the collector takes it in time.
    pub(crate) async fn end(&self) {
        drop(self.to.lock().ok().and_then(|mut to| to.take()));
        let task = self.task.lock().ok().and_then(|mut task| task.take());
        if let Some(task) = task {
            // After that it has been said what was lost.
            let _ = tokio::time::timeout(PATIENCE * 2, task).await;
        }
    }
}

struct Sending {
    address: Address,
    key: Option<HeaderValue>,
    service: String,
    lost: Arc<AtomicU64>,
    log: Arc<Log>,
}

impl Sending {
    async fn run(self, mut from: mpsc::Receiver<Value>) {
        let mut batch = Vec::new();
        while from.recv_many(&mut batch, BATCH).await > 0 {
            // Others come soon; the end is not waited for.
            let until = tokio::time::Instant::now() + PAUSE;
            while batch.len() < BATCH {
                match tokio::time::timeout_at(until, from.recv()).await {
                    Ok(Some(span)) => batch.push(span),
                    Ok(None) | Err(_) => break,
                }
            }
            let number = batch.len();
            if let Err(why) = self.send(std::mem::take(&mut batch)).await {
                self.lost.fetch_add(number as u64, Ordering::Relaxed);
                self.log.say(LogLevel::Warn, "traces", || vec![("fault", why.into())]);
            }
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                self.log.say(LogLevel::Warn, "traces", || vec![("lost", lost.into())]);
            }
        }
    }

    async fn send(&self, spans: Vec<Value>) -> Result<(), String> {
        let version = env!("CARGO_PKG_VERSION");
        let resource = [
            text("service.name", &self.service),
            text("service.version", version),
            text("telemetry.sdk.language", "rust"),
            text("telemetry.sdk.name", "callgate"),
        ];
        let scope = json!({"name": "callgate-gateway", "version": version});
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": resource},
            "scopeSpans": [{"scope": scope, "spans": spans}],
        }]});
        let mut ignore = |_: &[u8]| {};
        let posted = client::post(
            &self.address,
            client::keyed(self.key.as_ref()),
            "/v1/traces",
            body.to_string(),
            &mut ignore,
        );
        match tokio::time::timeout(PATIENCE, posted).await {
            Err(_) => Err("the collector did not answer in time".to_owned()),
            Ok(Err(fault)) => Err(format!("the collector: {}", fault.message)),
            Ok(Ok((status, _))) if (200..300).contains(&status) => Ok(()),
            Ok(Ok((status, said))) => Err(format!(
                "the collector answered {status}: {}",
                said.chars().take(100).collect::<String>()
            )),
        }
    }
}

/// The span of an exchange as OTLP writes it in JSON; nothing if none is recorded.
fn span(seen: &Exchange) -> Option<Value> {
    let notes = &seen.notes;
    let trace = notes.trace.as_ref()?;
    let id = trace.span.as_ref()?;
    let began = notes.began.unwrap_or_else(SystemTime::now);
    let nanos =
        |moment: SystemTime| moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
    let short = |text: &str| text.chars().take(200).collect::<String>();
    let model = short(&seen.model);
    let mut attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", notes.provider),
        text("gen_ai.request.model", &model),
        number("gen_ai.usage.input_tokens", notes.usage.prompt),
        number("gen_ai.usage.output_tokens", notes.usage.completion),
        number("http.response.status_code", u64::from(notes.status)),
        text("callgate.exchange.id", &seen.id),
        text("callgate.api", seen.face),
        text("callgate.manner", notes.manner),
        number("callgate.calls.accepted", notes.accepted as u64),
        number("callgate.calls.repaired", notes.repaired as u64),
        number("callgate.calls.rejected", notes.rejected as u64),
        number("callgate.retries", u64::from(seen.retries)),
        texts("callgate.dialects", notes.dialects.iter().map(String::as_str)),
        texts("callgate.findings", notes.findings.keys().copied()),
    ];
    if !notes.finish.is_empty() {
        attributes.push(texts("gen_ai.response.finish_reasons", [notes.finish].into_iter()));
    }
    if let Some((host, port)) = &notes.server {
        attributes.push(text("server.address", host));
        attributes.push(number("server.port", u64::from(*port)));
    }
    let mut status = json!({});
    if let Some(code) = notes.fault {
        attributes.push(text("error.type", code));
        status = json!({"code": 2, "message": code});
    }
    let mut span = json!({
        "traceId": trace.id,
        "spanId": id,
        "name": format!("chat {model}"),
        // That of a client: the conventions look at it from the side of whoever asks a model.
        "kind": 3,
        "startTimeUnixNano": nanos(began),
        "endTimeUnixNano": nanos(began + Duration::from_millis(seen.millis)),
        "attributes": attributes,
        "status": status,
    });
    if let Some(parent) = &trace.parent {
        span["parentSpanId"] = parent.as_str().into();
    }
    Some(span)
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Numbers of 64 bits are texts in this form.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn texts<'t>(key: &str, values: impl Iterator<Item = &'t str>) -> Value {
    let values: Vec<Value> = values.map(|value| json!({"stringValue": value})).collect();
    json!({"key": key, "value": {"arrayValue": {"values": values}}})
}
