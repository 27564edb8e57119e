//! The wire: a request as each kind of server takes it.

use callgate::{Record, Registry, RenderCall};
use callgate_agent::written::Written;
use serde_json::json;

use crate::asked::{Asked, ToolChoice, items, message, text, wordless, words};
use crate::config::CallsBy;

/// In which form a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    OpenAi,
    Ollama,
}

/// How a model is asked.
pub(crate) struct Manner<'a> {
    pub(crate) calls: CallsBy,
    /// What the server calls the model.
    pub(crate) model: &'a str,
    /// The dialect in which tools are taught where the server knows none.
    pub(crate) record: &'a Record,
    pub(crate) registry: Option<&'a Registry>,
    /// Whether llama-server is to leave thoughts in the text.
    pub(crate) keeps_thoughts: bool,
}

/// The body of a request for a stream.
pub(crate) fn body(asked: &Asked, manner: &Manner<'_>, wire: Wire) -> Written {
    let mut messages = match (manner.calls, manner.registry) {
        (CallsBy::Prompt, Some(registry)) if !asked.is_load => taught(asked, manner.record, registry),
        _ => asked.messages.clone(),
    };
    let tools = match manner.calls {
        CallsBy::Prompt => &[][..],
        _ => &asked.tools[..],
    };
    match wire {
        Wire::OpenAi => {
            let mut body = Written::object([
                ("model", manner.model.into()),
                ("messages", Written::Array(messages)),
                ("stream", Written::Bool(true)),
                ("stream_options", json!({"include_usage": true}).into()),
            ]);
            for (key, value) in asked.settings.iter().filter(|(key, _)| !is_ollamas(key)) {
                body = body.with(key, value.clone());
            }
            if manner.keeps_thoughts {
                body = body.with("reasoning_format", "none".into());
            }
            if !tools.is_empty() {
                body = body.with("tools", Written::Array(tools.to_vec()));
                for (key, value) in recipe(asked, manner.calls) {
                    body = body.with(key, value);
                }
            }
            body
        }
        Wire::Ollama => {
            let names = names(&messages);
            messages = messages.iter().map(|message| ollama_message(message, &names)).collect();
            let mut options = Written::object([]);
            let mut body = Written::object([
                ("model", manner.model.into()),
                ("messages", Written::Array(messages)),
                ("stream", Written::Bool(true)),
            ]);
            for (key, value) in &asked.settings {
                match ollama_place(key) {
                    Place::Option(name) => options = options.with(name, value.clone()),
                    Place::Member => body = body.with(key, value.clone()),
                    Place::Format => {
                        if let Some(format) = ollama_format(value) {
                            body = body.with("format", format);
                        }
                    }
                    Place::Nowhere => {}
                }
            }
            if options != Written::object([]) {
                body = body.with("options", options);
            }
            if !tools.is_empty() && asked.choice != ToolChoice::None {
                body = body.with("tools", Written::Array(tools.to_vec()));
            }
            body
        }
    }
}

/// What of a request a server of this kind has no room for, in words.
pub(crate) fn lost(asked: &Asked, wire: Wire) -> Vec<String> {
    if wire == Wire::OpenAi {
        return Vec::new();
    }
    let mut lost = Vec::new();
    for part in asked.messages.iter().flat_map(|message| items(message, "content")) {
        let picture = part.get("image_url").and_then(|image| text(image, "url"));
        match picture {
            Some(url) if data(url).is_some() => {}
            Some(_) => lost.push("a picture was left out: Ollama takes none by its address".to_owned()),
            None if part.as_str().or_else(|| text(part, "text")).is_some() => {}
            None => {
                let kind = text(part, "type").unwrap_or("unknown");
                lost.push(format!("a part of type {kind} was left out: Ollama takes none"));
            }
        }
    }
    for (key, _) in asked.settings.iter().filter(|(key, _)| ollama_place(key) == Place::Nowhere) {
        lost.push(format!("`{key}` was left out: Ollama has no such setting"));
    }
    lost
}

/// Where a setting stands in a request to Ollama.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Among the options, by this name.
    Option(&'static str),
    /// A member of the request.
    Member,
    /// The form of the answer.
    Format,
    Nowhere,
}

fn ollama_place(key: &str) -> Place {
    const OPTIONS: &[&str] = &[
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "stop",
        "num_ctx",
        "frequency_penalty",
        "presence_penalty",
        "repeat_penalty",
    ];
    match key {
        "max_tokens" | "max_completion_tokens" => Place::Option("num_predict"),
        "think" | "keep_alive" => Place::Member,
        "response_format" => Place::Format,
        _ => OPTIONS
            .iter()
            .find(|option| **option == key)
            .map_or(Place::Nowhere, |option| Place::Option(option)),
    }
}

/// Settings that only Ollama knows.
fn is_ollamas(key: &str) -> bool {
    matches!(key, "think" | "keep_alive" | "num_ctx")
}

/// What makes a server leave the calls of its model alone, or read them as it is asked to.
fn recipe(asked: &Asked, calls: CallsBy) -> Vec<(&'static str, Written)> {
    let none = || ("tool_choice", Written::from("none"));
    match calls {
        CallsBy::Native => {
            let mut members: Vec<(&str, Written)> = Vec::new();
            members.extend(asked.choice.written().map(|choice| ("tool_choice", choice)));
            if !asked.parallel {
                members.push(("parallel_tool_calls", Written::Bool(false)));
            }
            members
        }
        CallsBy::TextLlamaServer => vec![none()],
        CallsBy::TextVllm => vec![none(), ("skip_special_tokens", Written::Bool(false))],
        CallsBy::TextSglang => vec![("skip_special_tokens", Written::Bool(false))],
        CallsBy::Prompt => Vec::new(),
    }
}

/// The conversation for a server that knows nothing of tools: they stand in the system message, calls of earlier turns
/// in the text of the model, and results in messages of the user.
fn taught(asked: &Asked, record: &Record, registry: &Registry) -> Vec<Written> {
    let mut section = record.prompt_section(registry);
    match &asked.choice {
        ToolChoice::Required => section.push_str("\n\nYou must call one of the tools now."),
        ToolChoice::Named(name) => section.push_str(&format!("\n\nYou must call {name} now.")),
        ToolChoice::Auto | ToolChoice::None => {}
    }
    if !asked.parallel {
        section.push_str("\n\nCall at most one tool at a time.");
    }
    let names = names(&asked.messages);
    let mut messages = Vec::new();
    let mut is_taught = asked.choice == ToolChoice::None || registry.is_empty();
    for told in &asked.messages {
        let content = told.get("content").map(words).unwrap_or_default();
        let calls = items(told, "tool_calls");
        let next = match text(told, "role") {
            Some("system" | "developer") if !is_taught => {
                is_taught = true;
                message("system", format!("{content}\n\n{section}"))
            }
            Some("assistant") if !calls.is_empty() => message("assistant", past(record, &content, calls)),
            Some("tool") => {
                let name =
                    text(told, "tool_call_id").and_then(|id| name_of(&names, id)).unwrap_or("the tool");
                let result = message("user", format!("Result of {name}:\n{content}"));
                let pictures = items(told, "content").iter().filter(|part| part.get("image_url").is_some());
                match Written::Array(pictures.cloned().collect()) {
                    Written::Array(none) if none.is_empty() => result,
                    pictures => {
                        let both = joined(result.get("content"), Some(&pictures));
                        Written::object([("role", "user".into()), ("content", both)])
                    }
                }
            }
            _ => told.clone(),
        };
        // Many templates want user and model to take turns.
        let is_user = |message: &Written| text(message, "role") == Some("user");
        match messages.last_mut().filter(|last| is_user(last) && is_user(&next)) {
            Some(last) => {
                let both = joined(last.get("content"), next.get("content"));
                *last = Written::object([("role", "user".into()), ("content", both)]);
            }
            None => messages.push(next),
        }
    }
    if !is_taught {
        messages.insert(0, message("system", section));
    }
    messages
}

/// Two contents as one: one text, or a list where there is more than text.
fn joined(first: Option<&Written>, second: Option<&Written>) -> Written {
    let both: Vec<&Written> = first.into_iter().chain(second).collect();
    if both.iter().all(|content| wordless(content).next().is_none()) {
        let texts: Vec<String> = both.into_iter().map(words).collect();
        return texts.join("\n\n").as_str().into();
    }
    let parts = both.into_iter().flat_map(|content| match content {
        Written::Array(parts) => parts.clone(),
        _ => vec![json!({"type": "text", "text": words(content)}).into()],
    });
    Written::Array(parts.collect())
}

/// Calls of an earlier turn as the model writes them.
fn past(record: &Record, content: &str, calls: &[Written]) -> String {
    let parts: Vec<(&str, &str, &str)> = calls
        .iter()
        .filter_map(|call| {
            let function = call.get("function")?;
            let arguments = text(function, "arguments").unwrap_or("{}");
            Some((text(call, "id").unwrap_or_default(), text(function, "name")?, arguments))
        })
        .collect();
    let rendered: Vec<RenderCall<'_>> =
        parts.iter().map(|(id, name, arguments)| RenderCall { id: Some(id), name, arguments }).collect();
    record.render(&rendered, Some(content).filter(|content| !content.is_empty()), None).unwrap_or_else(|_| {
        let names: Vec<&str> = parts.iter().map(|(_, name, _)| *name).collect();
        format!("{content}\n(I called {}.)", names.join(", ")).trim().to_owned()
    })
}

/// The names of all calls of a conversation, by their ids.
fn names(messages: &[Written]) -> Vec<(&str, &str)> {
    let calls = messages.iter().flat_map(|message| items(message, "tool_calls"));
    calls.filter_map(|call| text(call, "id").zip(text(call.get("function")?, "name"))).collect()
}

fn name_of<'n>(names: &[(&'n str, &'n str)], id: &str) -> Option<&'n str> {
    names.iter().rev().find(|(known, _)| *known == id).map(|(_, name)| *name)
}

/// A message as Ollama takes it: arguments are objects, results name the tool, pictures stand apart.
fn ollama_message(told: &Written, names: &[(&str, &str)]) -> Written {
    let role = match text(told, "role") {
        Some("developer") => "system",
        Some(role) => role,
        None => "user",
    };
    let content = told.get("content").map(words).unwrap_or_default();
    let mut said = message(role, content);
    if role == "tool" {
        let name = text(told, "tool_call_id").and_then(|id| name_of(names, id));
        if let Some(name) = name.or_else(|| text(told, "name")) {
            said = said.with("tool_name", name.into());
        }
    }
    let calls: Vec<Written> = items(told, "tool_calls")
        .iter()
        .filter_map(|call| {
            let function = call.get("function")?;
            let arguments = text(function, "arguments").and_then(Written::parse);
            let arguments = arguments.unwrap_or_else(|| json!({}).into());
            let function =
                Written::object([("name", text(function, "name")?.into()), ("arguments", arguments)]);
            Some(Written::object([("function", function)]))
        })
        .collect();
    if !calls.is_empty() {
        said = said.with("tool_calls", Written::Array(calls));
    }
    let pictures = items(told, "content").iter().filter_map(|part| text(part.get("image_url")?, "url"));
    let pictures: Vec<Written> = pictures.filter_map(|url| data(url).map(Into::into)).collect();
    if !pictures.is_empty() {
        said = said.with("images", Written::Array(pictures));
    }
    said
}

/// What a picture is made of, if its address holds it.
fn data(url: &str) -> Option<&str> {
    url.strip_prefix("data:")?.split_once(";base64,").map(|(_, data)| data)
}

/// The form of the answer as Ollama takes it.
fn ollama_format(format: &Written) -> Option<Written> {
    match text(format, "type")? {
        "json_object" => Some("json".into()),
        "json_schema" => format.get("json_schema")?.get("schema").cloned(),
        _ => None,
    }
}
