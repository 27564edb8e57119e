//! Upstreams: the servers of the models, how each is asked, and which of them comes first.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use callgate::Registry;
use callgate_agent::audit::REDACTED;
use callgate_agent::history::{CallStyle, Message};
use callgate_agent::model::{
    Address, ChatRequest, FaultCode, Model, ModelChunk, ModelChunks, ModelFault, Ollama, OpenAi, Parameters,
    RuleModel, Secret, Server,
};
use callgate_agent::written::Written;
use serde_json::Value;

use crate::asked::{text, words};
use crate::client;
use crate::config::{Api, SCRIPTED, TimeoutSettings, UpstreamSettings, fits};
use crate::server::Current;
use crate::trace::Trace;
use crate::wire::Wire;

/// For how long a server that did not answer comes last.
const REST: Duration = Duration::from_secs(10);

/// A server of models.
pub(crate) struct Upstream {
    /// What logs and metrics call it.
    pub(crate) name: String,
    settings: UpstreamSettings,
    kind: Kind,
    /// Its key as a header.
    key: Option<HeaderValue>,
    /// When it did not answer last, in milliseconds after the start; zero for never.
    failed: AtomicU64,
    started: Instant,
}

enum Kind {
    OpenAi(OpenAi, Address),
    Ollama(Ollama, Address),
    Scripted,
}

/// The chunks of an answer, whose faults do not hold the server's key.
pub(crate) struct Chunks {
    chunks: Box<dyn ModelChunks>,
    key: Option<String>,
}

impl Chunks {
    /// The next chunk; nothing after the end. Whoever stops waiting for it loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<ModelChunk>, ModelFault> {
        self.chunks.next().await.map_err(|fault| without_key(self.key.as_deref(), fault))
    }
}

/// A fault whose message does not hold the key, whatever the server says.
fn without_key(key: Option<&str>, mut fault: ModelFault) -> ModelFault {
    if let Some(key) = key {
        fault.message = fault.message.replace(key, REDACTED);
    }
    fault
}

impl Upstream {
    /// A server by its settings, which have been checked; which API it speaks is found out where they do not say.
    pub(crate) async fn new(settings: &UpstreamSettings) -> Result<Self, String> {
        let secret = settings.key_env.as_ref().and_then(|name| std::env::var(name).ok());
        let key = secret.as_ref().and_then(|key| HeaderValue::from_str(&format!("Bearer {key}")).ok()).map(
            |mut key| {
                key.set_sensitive(true);
                key
            },
        );
        let started = Instant::now();
        let failed = AtomicU64::new(0);
        if settings.url == SCRIPTED {
            let name = "scripted".to_owned();
            return Ok(Upstream {
                name,
                settings: settings.clone(),
                kind: Kind::Scripted,
                key,
                failed,
                started,
            });
        }
        let mut address = Address::parse(&settings.url)?;
        for end in ["/chat/completions", "/api/chat", "/api"] {
            address.base = address.base.strip_suffix(end).unwrap_or(&address.base).to_owned();
        }
        let api = match settings.api {
            Api::Auto => found_api(&address, key.as_ref()).await,
            api => api,
        };
        let mut server = Server::new(address.clone()).timeouts(settings.timeouts.into());
        if let Some(secret) = secret {
            server = server.key(Secret::new(secret));
        }
        let name = address.host_header();
        let kind = match api {
            Api::Ollama => {
                address.base = address.base.strip_suffix("/v1").unwrap_or(&address.base).to_owned();
                Kind::Ollama(Ollama::new(server), address)
            }
            Api::Auto | Api::Openai => {
                if address.base.is_empty() {
                    "/v1".clone_into(&mut address.base);
                }
                Kind::OpenAi(OpenAi::new(server), address)
            }
        };
        Ok(Upstream { name, settings: settings.clone(), kind, key, failed, started })
    }

    /// In which form it is asked.
    pub(crate) fn wire(&self) -> Wire {
        match self.kind {
            Kind::OpenAi(..) | Kind::Scripted => Wire::OpenAi,
            Kind::Ollama(..) => Wire::Ollama,
        }
    }

    /// Its address, and the key it is sent; nothing for the one that is built in.
    pub(crate) fn address(&self) -> Option<(&Address, Option<&HeaderValue>)> {
        match &self.kind {
            Kind::OpenAi(_, address) | Kind::Ollama(_, address) => Some((address, self.key.as_ref())),
            Kind::Scripted => None,
        }
    }

    /// How long each part of its answers may take.
    pub(crate) fn timeouts(&self) -> TimeoutSettings {
        self.settings.timeouts
    }

    /// Whether it serves this model.
    pub(crate) fn serves(&self, model: &str) -> bool {
        self.settings.models.is_empty() || self.settings.models.iter().any(|pattern| fits(pattern, model))
    }

    /// Whether it may be asked for models of this pattern.
    pub(crate) fn may_serve(&self, pattern: &str) -> bool {
        let both = |own: &String| fits(own, pattern) || fits(pattern, own);
        self.settings.models.is_empty() || self.settings.models.iter().any(both)
    }

    /// Sends a request.
    pub(crate) async fn ask(&self, body: &Written, trace: Option<&Trace>) -> Result<Chunks, ModelFault> {
        let headers = trace.map(Trace::headers).unwrap_or_default();
        let asked = match &self.kind {
            Kind::OpenAi(server, _) => server.ask(body.to_string().into_bytes(), &headers).await,
            Kind::Ollama(server, _) => server.ask(body.to_string().into_bytes(), &headers).await,
            Kind::Scripted => scripted(body).await,
        };
        let asked = asked.map_err(|fault| without_key(self.secret(), fault)).map(|chunks| {
            let key = self.secret().map(str::to_owned);
            Chunks { chunks, key }
        });
        let is_down = asked.as_ref().is_err_and(is_another_worth);
        let since = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        self.failed.store(if is_down { since } else { 0 }, Ordering::Relaxed);
        asked
    }

    /// Its key as it is written.
    fn secret(&self) -> Option<&str> {
        let key = self.key.as_ref()?.to_str().ok()?.strip_prefix("Bearer ")?;
        (!key.is_empty()).then_some(key)
    }

    fn is_resting(&self) -> bool {
        let failed = self.failed.load(Ordering::Relaxed);
        failed > 0 && self.started.elapsed() < Duration::from_millis(failed) + REST
    }

    /// The names of the models that it serves.
    pub(crate) async fn models(&self) -> Vec<String> {
        let names = |value: &Value, list: &str, key: &str| -> Vec<String> {
            let items = value[list].as_array().into_iter().flatten();
            items.filter_map(|item| item[key].as_str().map(str::to_owned)).collect()
        };
        let listed = match &self.kind {
            Kind::Scripted => vec!["scripted".to_owned()],
            Kind::OpenAi(_, address) => client::about(address, self.key.as_ref(), "/models")
                .await
                .map_or_else(Vec::new, |value| names(&value, "data", "id")),
            Kind::Ollama(_, address) => client::about(address, self.key.as_ref(), "/api/tags")
                .await
                .map_or_else(Vec::new, |value| names(&value, "models", "name")),
        };
        listed.into_iter().filter(|name| self.serves(name)).collect()
    }

    /// Which API it speaks, in a word.
    pub(crate) fn api(&self) -> &'static str {
        match self.kind {
            Kind::OpenAi(..) => "openai",
            Kind::Ollama(..) => "ollama",
            Kind::Scripted => "scripted",
        }
    }
}

/// Whether another server may do better: this one is not there, is too busy, or broke.
pub(crate) fn is_another_worth(fault: &ModelFault) -> bool {
    match fault.code {
        FaultCode::Rejected => fault.status.is_some_and(|status| status == 429 || status >= 500),
        FaultCode::BadRequest | FaultCode::TooLarge => false,
        _ => true,
    }
}

/// The servers of a model in the order in which they are tried: by weight and turn, those that failed lately last.
pub(crate) fn in_order<'u>(current: &'u Current, model: &str, turn: &AtomicUsize) -> Vec<&'u Upstream> {
    let is_serving = |upstream: &&Upstream| current.is_served_by(model, upstream);
    let serving: Vec<&Upstream> = current.upstreams.iter().filter(is_serving).collect();
    let total: usize = serving.iter().map(|upstream| upstream.settings.weight.max(1) as usize).sum();
    if total == 0 {
        return Vec::new();
    }
    let mut at = turn.fetch_add(1, Ordering::Relaxed) % total;
    let first = serving.iter().position(|upstream| {
        let weight = upstream.settings.weight.max(1) as usize;
        let is_here = at < weight;
        at = at.saturating_sub(weight);
        is_here
    });
    let mut order = serving;
    order.rotate_left(first.unwrap_or(0));
    order.sort_by_key(|upstream| upstream.is_resting());
    order
}

/// What was found out about a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Found {
    /// Which API it speaks.
    pub api: &'static str,
    /// The models that it serves.
    pub models: Vec<String>,
}

/// Finds out what a server is and which models it serves.
pub async fn probe(settings: &UpstreamSettings) -> Result<Found, String> {
    let upstream = Upstream::new(settings).await?;
    Ok(Found { api: upstream.api(), models: upstream.models().await })
}

async fn found_api(address: &Address, key: Option<&HeaderValue>) -> Api {
    let mut root = address.clone();
    root.base = root.base.strip_suffix("/v1").unwrap_or(&root.base).to_owned();
    match client::about(&root, key, "/api/version").await {
        Some(value) if value["version"].is_string() => Api::Ollama,
        _ => Api::Openai,
    }
}

/// Asks the model that is built in.
async fn scripted(body: &Written) -> Result<Box<dyn ModelChunks>, ModelFault> {
    let mut messages = Vec::new();
    let mut names: Vec<(String, String)> = Vec::new();
    let told = match body.get("messages") {
        Some(Written::Array(told)) => told.as_slice(),
        _ => &[],
    };
    for message in told {
        let content = message.get("content").map(words).unwrap_or_default();
        match text(message, "role") {
            Some("system") => messages.push(Message::SystemContext { text: content }),
            Some("assistant") => {
                for call in crate::asked::items(message, "tool_calls") {
                    let name = call.get("function").and_then(|function| text(function, "name"));
                    names.extend(
                        text(call, "id").zip(name).map(|(id, name)| (id.to_owned(), name.to_owned())),
                    );
                }
                messages.push(Message::AssistantText { text: content });
            }
            Some("tool") => {
                let call_id = text(message, "tool_call_id").unwrap_or_default().to_owned();
                let name =
                    names.iter().find(|(id, _)| *id == call_id).map_or("the tool", |(_, name)| name.as_str());
                messages.push(Message::ToolResult { name: name.to_owned(), call_id, content });
            }
            _ => messages.push(Message::User { text: content }),
        }
    }
    let tools = body.get("tools").map(Written::to_value);
    let registry = tools.as_ref().and_then(|tools| Registry::tolerant(tools).ok()).unwrap_or_default();
    let request = ChatRequest {
        messages,
        untrusted: Vec::new(),
        tools,
        style: CallStyle::Native,
        parameters: Parameters { model: "scripted".to_owned(), ..Parameters::default() },
        stream: true,
    };
    RuleModel::new(registry).chat(&request).await
}
