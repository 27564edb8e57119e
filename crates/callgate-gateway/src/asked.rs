//! Requests: what a client asks for, whatever its API, in the one form in which models are asked.

use callgate_agent::written::Written;
use serde_json::{Value, json};

use crate::trace::Trace;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The model, by the client's name for it.
    pub(crate) model: String,
    /// The conversation, in OpenAI's form.
    pub(crate) messages: Vec<Written>,
    /// The tools, in OpenAI's form.
    pub(crate) tools: Vec<Written>,
    /// Whether tools may, must or must not be called.
    pub(crate) choice: ToolChoice,
    /// Whether more than one call may come at once.
    pub(crate) parallel: bool,
    /// Whether the answer comes in chunks.
    pub(crate) stream: bool,
    /// Whether nothing is asked, and the model is only to be loaded.
    pub(crate) is_load: bool,
    /// Everything else, in OpenAI's form, passed on as it is.
    pub(crate) settings: Vec<(String, Written)>,
    /// What was left out of the request, and why.
    pub(crate) notes: Vec<String>,
    /// The trace that the client has it in.
    pub(crate) trace: Option<Trace>,
}

impl Asked {
    /// A request for this model with nothing in it.
    pub(crate) fn of(model: &str) -> Self {
        Asked {
            model: model.to_owned(),
            messages: Vec::new(),
            tools: Vec::new(),
            choice: ToolChoice::Auto,
            parallel: true,
            stream: false,
            is_load: false,
            settings: Vec::new(),
            notes: Vec::new(),
            trace: None,
        }
    }

    /// Adds a setting, if it is given.
    pub(crate) fn set(&mut self, key: &str, value: Option<&Written>) {
        if let Some(value) = value.filter(|value| **value != Written::Null) {
            self.settings.push((key.to_owned(), value.clone()));
        }
    }

    /// What tools gave in the conversation: text that is not to be trusted.
    pub(crate) fn results(&self) -> impl Iterator<Item = String> + '_ {
        self.messages
            .iter()
            .filter(|message| text(message, "role") == Some("tool"))
            .map(|message| message.get("content").map(words).unwrap_or_default())
    }

    /// Whether any of the tools asks for arguments that fit its schema exactly.
    pub(crate) fn is_strict(&self) -> bool {
        let is_strict = |tool: &Written| tool.get("strict") == Some(&Written::Bool(true));
        self.tools.iter().any(|tool| is_strict(tool) || tool.get("function").is_some_and(is_strict))
    }
}

/// Whether tools may, must or must not be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    /// They may.
    #[default]
    Auto,
    /// They must not.
    None,
    /// At least one must.
    Required,
    /// This one must.
    Named(String),
}

impl ToolChoice {
    /// In OpenAI's form; nothing for what every server does unasked.
    pub(crate) fn written(&self) -> Option<Written> {
        match self {
            ToolChoice::Auto => None,
            ToolChoice::None => Some("none".into()),
            ToolChoice::Required => Some("required".into()),
            ToolChoice::Named(name) => Some(json!({"type": "function", "function": {"name": name}}).into()),
        }
    }

    /// From the words of OpenAI's two APIs, and of Ollama; among the tools stay those that it allows. `meant` are the names
    /// of the tools that an entry of such a list stands for.
    pub(crate) fn of_openai(
        choice: Option<&Written>,
        tools: &mut Vec<Written>,
        meant: &dyn Fn(&Written) -> Vec<String>,
    ) -> Result<Self, String> {
        let Some(choice) = choice.filter(|choice| **choice != Written::Null) else {
            return Ok(ToolChoice::Auto);
        };
        match choice.as_str() {
            Some("auto") => return Ok(ToolChoice::Auto),
            Some("none") => return Ok(ToolChoice::None),
            Some("required" | "any") => return Ok(ToolChoice::Required),
            Some(other) => {
                return Err(format!("`tool_choice` is {other:?}, which is none of auto, none and required"));
            }
            None => {}
        }
        let named = choice.get("function").unwrap_or(choice).get("name").and_then(Written::as_str);
        match (named, text(choice, "type")) {
            (Some(name), _) => Ok(ToolChoice::Named(name.to_owned())),
            // A choice among some of the tools: at least one, or none.
            (None, Some("allowed_tools")) => {
                let among = choice.get("allowed_tools").unwrap_or(choice);
                let allowed: Vec<String> = items(among, "tools").iter().flat_map(meant).collect();
                tools.retain(|tool| name_of(tool).is_some_and(|name| allowed.iter().any(|one| one == name)));
                ToolChoice::of_openai(among.get("mode"), tools, meant)
            }
            _ => Err("`tool_choice` names no function".to_owned()),
        }
    }
}

/// The tool that an entry names, where there are no namespaces.
pub(crate) fn by_name(entry: &Written) -> Vec<String> {
    name_of(entry).map(str::to_owned).into_iter().collect()
}

/// The name of a tool, in either of OpenAI's forms.
pub(crate) fn name_of(tool: &Written) -> Option<&str> {
    text(tool.get("function").unwrap_or(tool), "name")
}

/// The text of a member.
pub(crate) fn text<'w>(value: &'w Written, key: &str) -> Option<&'w str> {
    value.get(key).and_then(Written::as_str)
}

/// The items of a list member, none if it is no list.
pub(crate) fn items<'w>(value: &'w Written, key: &str) -> &'w [Written] {
    match value.get(key) {
        Some(Written::Array(items)) => items,
        _ => &[],
    }
}

/// All text of a content, whether it is one text or a list of parts.
pub(crate) fn words(content: &Written) -> String {
    match content {
        Written::String(text) => text.text().to_owned(),
        Written::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.as_str().or_else(|| text(part, "text")));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// The types of the parts of a content that hold no text.
pub(crate) fn wordless(content: &Written) -> impl Iterator<Item = &str> {
    let parts = match content {
        Written::Array(parts) => parts.as_slice(),
        _ => &[],
    };
    let is_wordless = |part: &&Written| part.as_str().is_none() && text(part, "text").is_none();
    parts.iter().filter(is_wordless).map(|part| text(part, "type").unwrap_or("unknown"))
}

/// Whether a member is `true`.
pub(crate) fn is_true(value: &Written, key: &str) -> bool {
    value.get(key) == Some(&Written::Bool(true))
}

/// A function in OpenAI's form, from its parts.
pub(crate) fn function(
    name: &str,
    description: Option<&Written>,
    parameters: Option<&Written>,
    strict: bool,
) -> Written {
    let mut function = Written::object([("name", name.into())]);
    if let Some(description) = description.filter(|text| text.as_str().is_some()) {
        function = function.with("description", description.clone());
    }
    let none = || Written::from(json!({"type": "object", "properties": {}}));
    function = function.with("parameters", parameters.cloned().unwrap_or_else(none));
    if strict {
        function = function.with("strict", Written::Bool(true));
    }
    Written::object([("type", "function".into()), ("function", function)])
}

/// A structured call of an earlier turn, in OpenAI's form.
pub(crate) fn past_call(id: &str, name: &str, arguments: &str) -> Written {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}).into()
}

/// A message with a plain content.
pub(crate) fn message(role: &str, content: impl Into<Value>) -> Written {
    json!({"role": role, "content": content.into()}).into()
}
