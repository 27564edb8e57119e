//! Situations: how a model comes by its tools, found out from its server, once for each model.
//!
//! Ollama says it, and llama-server shows whether its prompts hold tools. Otherwise a server is asked two or three small
//! questions: whether it takes tools, whether a call comes back structured or as text, and whether the prompt is longer with
//! tools than without. A server that takes tools and does not show them to its model is one that knows nothing of tools.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use callgate::{Gate, Registry};
use callgate_agent::model::{FaultCode, ModelChunk, ModelFault};
use callgate_agent::written::Written;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::asked::{Asked, ToolChoice};
use crate::client;
use crate::config::CallsBy;
use crate::log::LogLevel;
use crate::server::{Current, Shared};
use crate::tails::rendered;
use crate::upstream::Upstream;
use crate::wire::Wire;

/// The most models of which this is remembered.
const MODELS: usize = 200;
/// How long a request waits for it; then it goes on as if the server read calls itself, which is right for most.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long finding out may take in all.
const WHOLE: Duration = Duration::from_secs(60);
/// For how long it is not tried again where it was not found out.
const AGAIN: Duration = Duration::from_secs(300);
/// The most tokens that the server is asked for in one question.
const TOKENS: u64 = 200;
const QUESTION: &str = "Call the tool current_time now, and write nothing else.";

/// How a model comes by its tools, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Situation {
    /// How it is asked.
    pub calls: CallsBy,
    /// Whether that was found out; otherwise it is what is right for most.
    pub is_sure: bool,
    /// What was seen.
    pub why: &'static str,
}

impl Situation {
    fn sure(calls: CallsBy, why: &'static str) -> Self {
        Situation { calls, is_sure: true, why }
    }

    fn unsure(why: &'static str) -> Self {
        Situation { calls: CallsBy::Native, is_sure: false, why }
    }
}

/// What is known so far.
#[derive(Default)]
pub(crate) struct Situations {
    known: Mutex<BTreeMap<(String, String), Known>>,
}

struct Known {
    found: watch::Receiver<Option<Situation>>,
    since: Instant,
}

impl Situations {
    /// How a request is asked: as its settings say, else as was found out.
    pub(crate) async fn calls(&self, shared: &Arc<Shared>, current: &Arc<Current>, asked: &Asked) -> CallsBy {
        if let Some(calls) = current.settings.row(&asked.model).and_then(|row| row.calls) {
            return calls;
        }
        // Without tools it makes no difference.
        if !current.settings.probe || asked.tools.is_empty() || asked.choice == ToolChoice::None {
            return CallsBy::default();
        }
        let found = self.find(shared, current, &asked.model).await;
        found.map_or(CallsBy::default(), |situation| situation.calls)
    }

    /// The situation of a model at its first server; nothing if it is not known in time. Servers of one model are taken to
    /// be alike.
    pub(crate) async fn find(
        &self,
        shared: &Arc<Shared>,
        current: &Arc<Current>,
        model: &str,
    ) -> Option<Situation> {
        let at = current.upstreams.iter().position(|upstream| current.is_served_by(model, upstream))?;
        let mut found = self.watch(shared, current, at, model)?;
        let known = tokio::time::timeout(PATIENCE, found.wait_for(Option::is_some)).await;
        known.ok()?.ok().and_then(|found| *found)
    }

    fn watch(
        &self,
        shared: &Arc<Shared>,
        current: &Arc<Current>,
        at: usize,
        model: &str,
    ) -> Option<watch::Receiver<Option<Situation>>> {
        let mut known = self.known.lock().ok()?;
        let key = (current.upstreams[at].name.clone(), model.to_owned());
        let is_sure = |known: &Known| known.found.borrow().is_some_and(|situation| situation.is_sure);
        let is_over = |known: &Known| {
            let is_unsure = known.found.borrow().is_some() && !is_sure(known);
            is_unsure && known.since.elapsed() > AGAIN
        };
        if let Some(known) = known.get(&key).filter(|known| !is_over(known)) {
            return Some(known.found.clone());
        }
        if known.len() >= MODELS {
            // Clients name the models: names that nobody serves must not keep out those that come later.
            let oldest = known.iter().min_by_key(|(_, known)| (is_sure(known), known.since));
            let oldest = oldest.map(|(key, _)| key.clone())?;
            known.remove(&oldest);
        }
        let (to, found) = watch::channel(None);
        known.insert(key, Known { found: found.clone(), since: Instant::now() });
        let (shared, current, model) = (shared.clone(), current.clone(), model.to_owned());
        tokio::spawn(async move {
            let upstream = &current.upstreams[at];
            let since = Instant::now();
            let name = current.settings.upstream_name(&model);
            let asked = tokio::time::timeout(WHOLE, probe(upstream, name)).await;
            let situation = asked.unwrap_or_else(|_| Situation::unsure("its server takes too long"));
            shared.metrics.situation(&model, &upstream.name, situation.calls.word());
            shared.records.log.say(LogLevel::Info, "probe", || {
                vec![
                    ("model", model.clone().into()),
                    ("upstream", upstream.name.clone().into()),
                    ("manner", situation.calls.word().into()),
                    ("sure", situation.is_sure.into()),
                    ("why", situation.why.into()),
                    ("ms", u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX).into()),
                ]
            });
            let _ = to.send(Some(situation));
        });
        Some(found)
    }
}

/// Finds out how a model comes by its tools.
async fn probe(upstream: &Upstream, model: &str) -> Situation {
    match upstream.wire() {
        Wire::Ollama => of_ollama(upstream, model).await,
        Wire::OpenAi if upstream.address().is_none() => {
            Situation::sure(CallsBy::Native, "the model that is built in knows tools")
        }
        Wire::OpenAi => of_openai(upstream, model).await,
    }
}

/// Ollama says what a model can do; older versions show only its template.
async fn of_ollama(upstream: &Upstream, model: &str) -> Situation {
    let unsure = Situation::unsure("its server does not say what it can do");
    let Some((address, key)) = upstream.address() else { return unsure };
    let body = json!({"model": model}).to_string();
    let Ok((200, text)) = client::post(address, client::keyed(key), "/api/show", body, &mut |_| {}).await
    else {
        return unsure;
    };
    let Ok(shown) = serde_json::from_str::<Value>(&text) else { return unsure };
    let has_tools = match (shown["capabilities"].as_array(), shown["template"].as_str()) {
        (Some(list), _) => list.iter().any(|word| word == "tools"),
        (None, Some(template)) => template.contains(".Tools"),
        (None, None) => return unsure,
    };
    match has_tools {
        true => Situation::sure(CallsBy::Native, "its server says that it has tools"),
        false => Situation::sure(CallsBy::Prompt, "its server says that it has no tools"),
    }
}

async fn of_openai(upstream: &Upstream, model: &str) -> Situation {
    if shows_tools(upstream, model).await == Some(false) {
        return Situation::sure(CallsBy::Prompt, "the template of its server does not show it the tools");
    }
    let tools = ("tools", Value::Array(vec![tool()]));
    let none = ("tool_choice", json!("none"));
    let kept = ("skip_special_tokens", json!(false));
    match ask(upstream, model, std::slice::from_ref(&tools), TOKENS).await {
        Ok(answer) if answer.is_structured => {
            Situation::sure(CallsBy::Native, "its server gives back structured calls")
        }
        Ok(answer) if answer.holds_call => {
            Situation::sure(as_text(upstream, model).await, "its calls come as text")
        }
        Ok(answer) => match ask(upstream, model, &[], 1).await {
            Ok(plain) if plain.prompt > 0 && plain.prompt == answer.prompt => {
                Situation::sure(CallsBy::Prompt, "its server takes tools, and does not show them to it")
            }
            Ok(plain) if plain.prompt > 0 && plain.prompt < answer.prompt => {
                Situation::sure(CallsBy::Native, "its server shows it the tools")
            }
            _ => Situation::unsure("its server takes tools, and it did not call one"),
        },
        Err(fault) if !is_about_the_request(&fault) => Situation::unsure("its server does not answer"),
        Err(_) => {
            // Without a parser some servers take tools only where none may be called, and still show them to the model.
            let shown = ask(upstream, model, &[tools, none, kept], 1).await;
            match (shown, ask(upstream, model, &[], 1).await) {
                (Ok(shown), Ok(plain)) if shown.prompt > plain.prompt => Situation::sure(
                    CallsBy::TextVllm,
                    "its server has no parser of calls, and shows it the tools",
                ),
                (_, Ok(_)) => Situation::sure(CallsBy::Prompt, "its server takes no tools"),
                (_, Err(_)) => Situation::unsure("its server does not answer"),
            }
        }
    }
}

/// Whether tools change the prompt; nothing where the server does not show its prompts.
async fn shows_tools(upstream: &Upstream, model: &str) -> Option<bool> {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": QUESTION}]});
    let without = rendered(upstream, &body).await?;
    body["tools"] = json!([tool()]);
    Some(rendered(upstream, &body).await? != without)
}

/// Whether a server rejected what was asked, and not who asked, or for being busy.
fn is_about_the_request(fault: &ModelFault) -> bool {
    let is_other = |status: u16| matches!(status, 401 | 403 | 404 | 408 | 429 | 502..=504);
    fault.code == FaultCode::Rejected && fault.status.is_some_and(|status| !is_other(status))
}

/// How a server is kept from touching calls in text, by what it calls itself; the text is read in any case.
async fn as_text(upstream: &Upstream, model: &str) -> CallsBy {
    let Some((address, key)) = upstream.address() else { return CallsBy::Native };
    let models = client::about(address, key, "/models").await.unwrap_or_default();
    let rows = models["data"].as_array().map_or(&[][..], Vec::as_slice);
    let row = rows.iter().find(|row| row["id"] == model).or(rows.first());
    match row.and_then(|row| row["owned_by"].as_str()) {
        Some("llamacpp") => CallsBy::TextLlamaServer,
        Some("vllm") => CallsBy::TextVllm,
        Some("sglang") => CallsBy::TextSglang,
        _ => CallsBy::Native,
    }
}

/// What an answer showed.
struct Shown {
    is_structured: bool,
    holds_call: bool,
    /// How many tokens the prompt had.
    prompt: u64,
}

async fn ask(
    upstream: &Upstream,
    model: &str,
    members: &[(&'static str, Value)],
    tokens: u64,
) -> Result<Shown, ModelFault> {
    let mut body = json!({
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": tokens,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    for (key, value) in members {
        body[*key] = value.clone();
    }
    let mut chunks = upstream.ask(&Written::from(body), None).await?;
    let mut shown = Shown { is_structured: false, holds_call: false, prompt: 0 };
    let mut text = String::new();
    // A server that writes more than it was asked for has been heard long enough.
    while text.len() < 64 << 10
        && let Some(chunk) = chunks.next().await?
    {
        match chunk {
            ModelChunk::Text(more) => text.push_str(&more),
            ModelChunk::Calls(_) | ModelChunk::Delta { .. } => shown.is_structured = true,
            ModelChunk::End { usage, .. } => shown.prompt = usage.prompt,
            _ => {}
        }
    }
    let registry = Registry::tolerant(&Value::Array(vec![tool()])).unwrap_or_default();
    if let Ok(gate) = Gate::builder().tools(registry).dialect("auto").build() {
        shown.holds_call = !gate.parse(&text).calls.is_empty();
    }
    Ok(shown)
}

/// A tool that every model can call: it takes one word.
fn tool() -> Value {
    json!({"type": "function", "function": {
        "name": "current_time",
        "description": "Tells the current time in a time zone.",
        "parameters": {
            "type": "object",
            "properties": {"zone": {"type": "string", "description": "The time zone, for example UTC"}},
            "required": ["zone"],
        },
    }})
}
