//! Models: which there are, in one form that the clients of every API read.

use std::collections::HashSet;

use callgate_agent::clock;
use serde_json::{Value, json};

use crate::config::ModelSettings;
use crate::server::Current;

/// The names of all models of all servers, each once, and those that only the settings give them: clients look for the one
/// that they were told.
pub(crate) async fn names(current: &Current) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for upstream in &current.upstreams {
        names.extend(upstream.models().await);
    }
    let is_name = |row: &&ModelSettings| row.upstream_name.is_some() && !row.name.contains('*');
    names.extend(current.settings.models.iter().filter(is_name).map(|row| row.name.clone()));
    let mut known = HashSet::new();
    names.retain(|name| known.insert(name.clone()));
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
