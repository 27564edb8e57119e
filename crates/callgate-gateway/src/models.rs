//! Models: which there are, in one form that the clients of every API read.

use callgate_agent::clock;
use serde_json::{Value, json};

use crate::upstream::Upstream;

/// The names of all models of all servers, each once.
pub(crate) async fn names(upstreams: &[Upstream]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for upstream in upstreams {
        for name in upstream.models().await {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// A list of models: OpenAI's members, Anthropic's and those that coding agents look for.
pub(crate) fn list(names: &[String]) -> Value {
    let data: Vec<Value> = names.iter().map(|name| model(name)).collect();
    let slugs: Vec<Value> = names.iter().map(|name| json!({"slug": name, "display_name": name})).collect();
    json!({
        "object": "list",
        "data": data,
        "has_more": false,
        "first_id": names.first(),
        "last_id": names.last(),
        "models": slugs,
    })
}

/// One model.
pub(crate) fn model(name: &str) -> Value {
    json!({
        "id": name,
        "object": "model",
        "type": "model",
        "display_name": name,
        "created": 0,
        "created_at": "1970-01-01T00:00:00Z",
        "owned_by": "callgate",
    })
}

/// A list of models as Ollama writes it.
pub(crate) fn tags(names: &[String]) -> Value {
    let now = clock::timestamp(std::time::SystemTime::now());
    let models: Vec<Value> = names
        .iter()
        .map(|name| {
            json!({
                "name": name,
                "model": name,
                "modified_at": now,
                "size": 0,
                "digest": "",
                "details": {"format": "", "family": "", "families": [], "parameter_size": "", "quantization_level": ""},
            })
        })
        .collect();
    json!({"models": models})
}

/// What is known of one model, as Ollama writes it: that it has tools, which is what clients look for.
pub(crate) fn show(name: &str) -> Value {
    json!({
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": {"format": "", "family": "", "families": [], "parameter_size": "", "quantization_level": ""},
        "model_info": {"general.basename": name},
        "capabilities": ["completion", "tools"],
    })
}
