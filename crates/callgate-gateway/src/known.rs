//! What is known of models: how they come by their tools, in which format they write, and what is allowed.

use callgate::internal::policy;
use callgate::{Gate, Policy, Profile, Record};
use serde::Deserialize;
use serde_json::{Value, json};

/// What is known of a model.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ModelSettings {
    /// Its name, with `*` for any letters.
    pub name: String,
    /// How it comes by its tools and writes its calls; found out without it where `probe` is set, else `native`.
    #[serde(default)]
    pub calls: Option<CallsBy>,
    /// The format in which it writes calls as text; by its name without one.
    #[serde(default)]
    pub dialect: Option<String>,
    /// What is allowed: `standard`, `strict` or `lenient`.
    #[serde(default)]
    pub profile: Option<String>,
    /// Knobs of the policy above the profile's, by their names.
    #[serde(default)]
    pub policy: Value,
    /// What its prompt ends with, where that begins the answer: `<think>\n`.
    #[serde(default)]
    pub prompt_tail: Option<String>,
    /// What the server calls it, if that is another name.
    #[serde(default)]
    pub upstream_name: Option<String>,
}

impl ModelSettings {
    /// Models of this name, and nothing else known of them.
    pub fn named(name: impl Into<String>) -> Self {
        ModelSettings {
            name: name.into(),
            calls: None,
            dialect: None,
            profile: None,
            policy: Value::Null,
            prompt_tail: None,
            upstream_name: None,
        }
    }

    /// Sets a knob of the policy as a flag does: `KNOB=VALUE`.
    pub fn set(&mut self, flag: &str) -> Result<(), String> {
        let (knob, value) = policy::flag(flag)?;
        Policy::default().set(knob, &value)?;
        if !self.policy.is_object() {
            self.policy = json!({});
        }
        self.policy[knob] = value;
        Ok(())
    }

    /// What is wrong with it, each with its key.
    pub(crate) fn faults(&self) -> impl Iterator<Item = (&'static str, String)> {
        let unknown = self.dialect.as_deref().filter(|name| Record::named(name).is_none());
        let dialect = unknown
            .map(|name| ("dialect", format!("there is no dialect {name:?}; `callgate dialects` lists them")));
        let name = self.profile.as_deref().unwrap_or(Profile::standard().name());
        let rules = match Profile::named(name) {
            None => Some(("profile", format!("there is no profile {name:?}"))),
            Some(_) if self.policy.is_null() => None,
            // Knobs may contradict each other, which nobody should hear of only when a client asks.
            Some(profile) => policy_of(&profile, &self.policy)
                .and_then(|policy| {
                    let built = Gate::builder().profile(profile).policy(policy).dialect("auto").build();
                    built.map_err(|error| error.to_string())
                })
                .err()
                .map(|why| ("policy", why)),
        };
        dialect.into_iter().chain(rules)
    }
}

/// The policy of a profile with these knobs above it.
pub(crate) fn policy_of(profile: &Profile, knobs: &Value) -> Result<Policy, String> {
    let mut policy = profile.policy();
    if !knobs.is_null() {
        policy.set_all(knobs)?;
    }
    Ok(policy)
}

/// How a model comes by its tools and writes its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallsBy {
    /// The server is given the tools and may read the calls; text is read here as well.
    #[default]
    Native,
    /// The server writes the tools into the prompt and leaves the calls alone, as llama-server does.
    TextLlamaServer,
    /// The same, as vLLM does without a parser.
    TextVllm,
    /// The same, as SGLang does without a parser.
    TextSglang,
    /// The server knows nothing of tools: they are written into the prompt here, and results too.
    Prompt,
}

impl CallsBy {
    /// Whether only servers with OpenAI's API can be asked so.
    pub(crate) fn is_recipe(self) -> bool {
        matches!(self, CallsBy::TextLlamaServer | CallsBy::TextVllm | CallsBy::TextSglang)
    }

    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            CallsBy::Native => "native",
            CallsBy::TextLlamaServer => "text-llama-server",
            CallsBy::TextVllm => "text-vllm",
            CallsBy::TextSglang => "text-sglang",
            CallsBy::Prompt => "prompt",
        }
    }
}
