//! Tails: what a server's template writes at the end of a prompt, where that begins the answer.
//!
//! A template that ends with `<think>` leaves the opener out of what the model writes, so the gate must begin there.
//! llama-server renders its template for whoever asks; Ollama shows it. Where the server itself takes thoughts out of the
//! text, nothing may be begun.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use callgate::{Code, Event, FinishReason, Gate};
use callgate_agent::model::Address;
use callgate_agent::written::Written;
use serde_json::{Value, json};

use crate::asked::{Asked, text};
use crate::client;
use crate::config::CallsBy;
use crate::log::{Log, LogLevel};
use crate::plan::Plan;
use crate::server::Current;
use crate::upstream::Upstream;
use crate::wire::Wire;

/// The most templates that are remembered.
const KNOWN: usize = 200;
/// For how long; a server may be started with another template.
const FRESH: Duration = Duration::from_secs(300);
/// How long a request waits for it.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most characters of a template's end in which something is looked for.
const LONGEST: usize = 200;
/// What in a request decides how a template ends.
const DECIDES: &[&str] = &["chat_template_kwargs", "reasoning_effort"];

/// What is known so far.
#[derive(Default)]
pub(crate) struct Tails {
    known: Mutex<BTreeMap<Key, (Instant, Option<String>)>>,
}

/// The server, the model, and what in the request decides.
type Key = (String, String, String);

impl Tails {
    /// Adds to a plan what the prompt ends with, where the settings do not say it and the server does.
    pub(crate) async fn find(&self, log: &Log, current: &Current, asked: &Asked, plan: &mut Plan) {
        let continues = asked.messages.last().and_then(|last| text(last, "role")) == Some("assistant")
            || asked.settings.iter().any(|(key, _)| key == "add_generation_prompt");
        let server = current.upstreams.iter().find(|upstream| current.is_served_by(&asked.model, upstream));
        let Some(upstream) = server.filter(|_| plan.prompt_tail.is_none() && !continues) else { return };
        let is_asked = match (plan.calls, upstream.wire()) {
            (CallsBy::TextLlamaServer, _) => true,
            (CallsBy::Prompt, _) | (CallsBy::Native, Wire::Ollama) => current.settings.probe,
            (CallsBy::Native | CallsBy::TextVllm | CallsBy::TextSglang, _) => false,
        };
        if !is_asked {
            return;
        }
        let told = asked.settings.iter().filter(|(key, _)| DECIDES.contains(&key.as_str()));
        let decides = Written::object(told.map(|(key, value)| (key.as_str(), value.clone())));
        let key = (upstream.name.clone(), plan.model.clone(), decides.to_string());
        let known = self.known(&key);
        let is_new = known.is_none();
        let tail = match known {
            Some(tail) => tail,
            None => {
                let decides = decides.to_value();
                let asking = ask(upstream, &plan.model, &decides);
                let tail = tokio::time::timeout(PATIENCE, asking).await.ok().flatten();
                self.keep(key, tail.clone());
                tail
            }
        };
        let begun = match upstream.wire() {
            Wire::OpenAi => tail.filter(|tail| begins(&plan.gate, tail)),
            Wire::Ollama => tail.and_then(|tail| shortest(&plan.gate, &tail).map(str::to_owned)),
        };
        if let Some(begun) = begun {
            if is_new {
                log.say(LogLevel::Info, "template", || {
                    vec![
                        ("model", asked.model.clone().into()),
                        ("upstream", upstream.name.clone().into()),
                        ("prompt_tail", begun.clone().into()),
                    ]
                });
            }
            plan.keeps_thoughts |= upstream.wire() == Wire::OpenAi;
            plan.prompt_tail = Some(begun);
        }
    }

    fn known(&self, key: &Key) -> Option<Option<String>> {
        let known = self.known.lock().ok()?;
        known.get(key).filter(|(since, _)| since.elapsed() < FRESH).map(|(_, tail)| tail.clone())
    }

    fn keep(&self, key: Key, tail: Option<String>) {
        if let Ok(mut known) = self.known.lock() {
            if known.len() >= KNOWN {
                known.clear();
            }
            known.insert(key, (Instant::now(), tail));
        }
    }
}

/// Whether what follows this belongs to a thought or a call.
fn begins(gate: &Gate, tail: &str) -> bool {
    let (mut is_text, mut is_begun) = (false, false);
    let mut look = |event: Event<'_>| match event {
        Event::Text { text, .. } => is_text |= text.contains('x'),
        Event::Rejected(_) => is_begun = true,
        Event::Finding(finding) => is_begun |= finding.code == Code::StrayMarker,
        _ => {}
    };
    let mut session = gate.session().with_prompt_tail(tail);
    session.push("x", &mut look);
    session.finish(FinishReason::Stop, &mut look);
    is_begun || !is_text
}

/// The shortest end of some words that begins a thought or a call: what stands before it may end another turn.
fn shortest<'w>(gate: &Gate, words: &'w str) -> Option<&'w str> {
    let ends = words.char_indices().rev().take(LONGEST).filter(|(_, c)| !c.is_alphanumeric());
    ends.map(|(at, _)| &words[at..]).find(|end| begins(gate, end))
}

/// The words at the end of a prompt.
async fn ask(upstream: &Upstream, model: &str, decides: &Value) -> Option<String> {
    if upstream.wire() == Wire::Ollama {
        let (address, key) = upstream.address()?;
        let shown = post(address, key, "/api/show", &json!({"model": model})).await?;
        // Of models that it knows to have thoughts it takes them out of the text itself.
        let thinks =
            shown["capabilities"].as_array().is_some_and(|list| list.iter().any(|word| word == "thinking"));
        return shown["template"].as_str().filter(|_| !thinks).map(last_words);
    }
    let mut body = decides.clone();
    body["model"] = model.into();
    body["messages"] = json!([{"role": "user", "content": "Hello."}]);
    let whole = rendered(upstream, &body).await?;
    // The template writes the end only where an answer is to follow.
    body["add_generation_prompt"] = false.into();
    let without = rendered(upstream, &body).await?;
    whole.strip_prefix(&without).map(str::to_owned)
}

/// The prompt that a server makes of a request, if it shows that, as llama-server does.
pub(crate) async fn rendered(upstream: &Upstream, body: &Value) -> Option<String> {
    let (address, key) = upstream.address()?;
    let mut root = address.clone();
    root.base = root.base.strip_suffix("/v1").unwrap_or(&root.base).to_owned();
    let shown = post(&root, key, "/apply-template", body).await?;
    shown["prompt"].as_str().map(str::to_owned)
}

async fn post(address: &Address, key: Option<&HeaderValue>, path: &str, body: &Value) -> Option<Value> {
    let asked = client::post(address, client::keyed(key), path, body.to_string(), &mut |_| {}).await;
    let (status, text) = asked.ok()?;
    serde_json::from_str(&text).ok().filter(|_| status == 200)
}

/// What a template of Ollama writes right before the answer: the words behind its last action, but for those that only end
/// something.
fn last_words(template: &str) -> String {
    let mut rest = match template.rfind(".Response").and_then(|at| template[..at].rfind("{{")) {
        Some(at) => &template[..at],
        None => template,
    };
    let mut trims = template[rest.len()..].starts_with("{{-");
    loop {
        let (before, words) = rest.rsplit_once("}}").unwrap_or(("", rest));
        let (ahead, action) = before.rsplit_once("{{").unwrap_or((before, ""));
        let is_end = action.trim_matches(['-', ' ', '\n', '\t']) == "end";
        if !is_end || !words.trim().is_empty() {
            return if trims { words.trim_end() } else { words }.to_owned();
        }
        trims = action.starts_with('-');
        rest = ahead;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_template_stand_before_the_answer() {
        for (template, wanted) in [
            ("{{ .Prompt }}", ""),
            ("", ""),
            (
                "<|user|>{{ .Prompt }}<|assistant|>\n<think>\n{{ .Response }}<|end|>",
                "<|assistant|>\n<think>\n",
            ),
            (
                "{{- range .Messages }}{{ .Content }}{{- if $last }}<|im_start|>assistant\n<think>\n{{ end }}\n{{- end }}",
                "<|im_start|>assistant\n<think>\n",
            ),
            ("{{ range .Messages }}{{ .Content }}{{ end }}<think>\n{{- /* over */ -}}", ""),
            ("a{{ if .Think }}<think>\n{{- end }}", "<think>"),
            ("{{ end }}{{ end", "{{ end"),
        ] {
            assert_eq!(last_words(template), wanted, "{template}");
        }
    }

    #[test]
    fn only_what_begins_something_counts() {
        let gate = Gate::builder().dialect("auto").build().unwrap();
        for (tail, wanted) in [
            ("<|im_start|>assistant\n", None),
            ("<|im_end|>\n<|im_start|>assistant\n<think>\n", Some("<think>\n")),
            ("<|im_start|>assistant\n<think>\n\n</think>\n\n", None),
            ("<|assistant|><think>", Some("<think>")),
            ("Answer.<|im_end|>\n<|im_start|>assistant\n<tool_call>\n", Some("<tool_call>\n")),
            ("<end_of_turn>\n<start_of_turn>model\n", None),
            ("", None),
        ] {
            assert_eq!(begins(&gate, tail), wanted.is_some(), "{tail:?}");
            assert_eq!(shortest(&gate, tail), wanted, "{tail:?}");
        }
    }
}
