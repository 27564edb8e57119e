//! The configuration as the parts of the agent take it: typed settings instead of keys.

use std::path::Path;

use callgate::internal::policy::Dangerous;
use callgate::internal::profile::StrikeMode;
use callgate::{Policy, Registry};

use super::secrets::SECTION;
use super::servers::below;
use super::{Config, PROVIDERS, Value};
use crate::approval::{ApprovalPolicy, DefaultStanding, EveryNth, Rule, Standing};
use crate::audit::{AuditSettings, Redaction, Style, Sync};
use crate::chat::{ContextBudget, ContextUnit};
use crate::model::{
    FaultCode, Model, ModelFault, Network, Ollama, OpenAi, Parameters, RuleModel, Secret, Server, Timeouts,
};
use crate::retry::{Backoff, RetrySettings};
use crate::tools::files::{FileLimits, FileNames};
use crate::tools::{Rerun, Spending};

impl Config {
    /// The name of the chosen provider.
    pub fn provider(&self) -> &str {
        self.text("provider").unwrap_or_default()
    }

    /// The policy of the profile, with what was set above it.
    pub fn policy(&self) -> Policy {
        let mut policy = self.profile().policy();
        let retry = |key: &str| format!("providers.{}.tool_call_retry.{key}", self.provider());
        let given = |key: &str| self.origin(&retry(key)).is_given();
        let count = |key: &str| usize::try_from(self.count(&retry(key))).unwrap_or(usize::MAX);
        if given("enable_auto_repair") && !self.flag(&retry("enable_auto_repair")) {
            policy.repair = callgate::internal::policy::RepairPolicy::Off;
        }
        if given("strict_validation") {
            policy.extra_args = match self.flag(&retry("strict_validation")) {
                true => callgate::internal::policy::ExtraArgs::Reject,
                false => callgate::internal::policy::ExtraArgs::Allow,
            };
        }
        if given("max_nesting_depth") {
            policy.limits.depth = count("max_nesting_depth");
        }
        if given("max_argument_size") {
            policy.limits.arguments = count("max_argument_size");
        }
        if given("repair_timeout_ms") {
            policy.limits.repairs = policy.limits.repairs.saturating_mul(count("repair_timeout_ms")) / 100;
        }
        self.with_knobs(policy)
    }

    /// How a rejected response is asked for again.
    pub fn retry(&self) -> RetrySettings {
        let key = |key: &str| format!("providers.{}.tool_call_retry.{key}", self.provider());
        RetrySettings {
            max_attempts: u32::try_from(self.count(&key("max_retry_attempts"))).unwrap_or(u32::MAX),
            delay: self.millis(&key("retry_delay_ms")),
            max_delay: self.millis(&key("max_retry_delay_ms")),
            backoff: match self.text(&key("backoff")) {
                Some("linear") => Backoff::Linear,
                Some("constant") => Backoff::Constant,
                _ => Backoff::Exponential,
            },
            template: self.text(&key("retry_prompt_template")).map(str::to_owned),
            stop_when_repeated: self.flag(&key("stop_when_repeated")),
        }
    }

    /// Which model is asked, and how it answers.
    pub fn parameters(&self) -> Parameters {
        let key = |key: &str| format!("providers.{}.{key}", self.provider());
        let count = |key: &str| match self.value(key) {
            Value::Count(count) => Some(*count),
            _ => None,
        };
        Parameters {
            model: self.text(&key("model")).unwrap_or_default().to_owned(),
            temperature: match self.value(&key("temperature")) {
                Value::Number(number) => Some(*number),
                _ => None,
            },
            max_tokens: count(&key("max_tokens")),
            seed: count(&key("seed")),
        }
    }

    /// How long each part of an answer may take.
    pub fn timeouts(&self) -> Timeouts {
        let time = |key: &str| self.millis(&format!("providers.{}.timeouts.{key}", self.provider()));
        Timeouts {
            connect: time("connect_ms"),
            first_byte: time("first_byte_ms"),
            idle: time("idle_ms"),
            total: time("total_ms"),
        }
    }

    /// A client of the chosen provider. `tools` are for the one that is made of rules; `variable` looks up the
    /// environment variable that holds the key.
    pub fn model(
        &self,
        tools: &Registry,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Box<dyn Model>, ModelFault> {
        let provider = self.provider();
        let Some(address) = self.address() else { return Ok(Box::new(RuleModel::new(tools.clone()))) };
        let unfit = |message: String| ModelFault::new(FaultCode::BadRequest, message);
        let mut server = Server::new(address).timeouts(self.timeouts());
        if let Some(path) = self.text(&format!("providers.{provider}.ca_file")) {
            let network =
                Network::trusting(Path::new(path)).map_err(|error| unfit(format!("{path}: {error}")))?;
            server = server.reached_by(network);
        }
        if let Some(name) = self.key_variable() {
            let key = variable(name).filter(|key| !key.is_empty());
            let key = key.ok_or_else(|| unfit(format!("the environment variable `{name}` holds no key")))?;
            server = server.key(Secret::new(key.trim()));
        }
        Ok(match provider {
            "ollama" => Box::new(Ollama::new(server)),
            _ => Box::new(OpenAi::new(server)),
        })
    }

    /// Which calls run unasked, which ask, which never run.
    pub fn approval(&self) -> ApprovalPolicy {
        // What is no rule was rejected when the file was read.
        let rules = |key: &str| self.list(key).iter().filter_map(|rule| Rule::parse(rule).ok()).collect();
        ApprovalPolicy {
            deny: rules("approval.deny"),
            ask: rules("approval.ask"),
            every_n: self
                .list("approval.every_n")
                .iter()
                .filter_map(|rule| EveryNth::parse(rule).ok())
                .collect(),
            safe: rules("approval.safe"),
            default: match self.text("approval.default") {
                Some("safe") => DefaultStanding::Always(Standing::Safe),
                Some("ask") => DefaultStanding::Always(Standing::Ask),
                Some("deny") => DefaultStanding::Always(Standing::Deny),
                _ => DefaultStanding::Auto,
            },
            // Where every tool is dangerous, every call asks.
            auto_approve: self.flag("approval.auto_approve") && self.policy().dangerous == Dangerous::Marked,
            command_tools: self.list("approval.command_tools").to_vec(),
            timeout: self.millis("approval.timeout_ms"),
        }
    }

    /// How much one question may cost.
    pub fn spending(&self) -> Spending {
        let count = |key: &str| usize::try_from(self.count(key)).unwrap_or(usize::MAX);
        Spending {
            turns: count("chat.max_turns"),
            calls: count("chat.max_calls"),
            calls_per_turn: count("chat.max_calls_per_turn"),
            same_calls: count("chat.max_same_calls"),
            time: self.millis("chat.time_ms"),
            call_time: self.millis("chat.tool_time_ms"),
            rerun: match self.text("tools.rerun") {
                Some("transport") => Rerun::Transport,
                Some("timeout") => Rerun::Timeout,
                _ => Rerun::Off,
            },
            max_reruns: u32::try_from(self.count("tools.max_reruns")).unwrap_or(u32::MAX),
        }
    }

    /// How many rejected responses in a row end a question, where that is a number of its own.
    pub fn max_strikes(&self) -> Option<usize> {
        match self.value("chat.max_strikes") {
            Value::Count(count) => usize::try_from(*count).ok(),
            _ => None,
        }
    }

    /// Whether the response that makes that number ends a question, or the one after.
    pub fn strike_mode(&self) -> StrikeMode {
        match self.text("chat.strike_mode") {
            Some("after_limit") => StrikeMode::AfterLimit,
            _ => StrikeMode::AtLimit,
        }
    }

    /// Whether tools are sent as a list. A dialect that is to be taught is taught, unless the list was asked for.
    pub fn native_tools(&self, has_dialect: bool) -> bool {
        let is_asked_for = self.origin("chat.native_tools").is_given();
        self.flag("chat.native_tools") && (is_asked_for || !has_dialect)
    }

    /// Whether the model is stopped once a call is complete.
    pub fn stop_after_call(&self) -> bool {
        self.flag("chat.stop_after_call")
    }

    /// How much of the conversation is sent.
    pub fn context(&self) -> ContextBudget {
        ContextBudget {
            most: usize::try_from(self.count("chat.context")).unwrap_or(usize::MAX),
            unit: match self.text("chat.context_unit") {
                Some("tokens") => ContextUnit::Tokens,
                _ => ContextUnit::Characters,
            },
        }
    }

    /// Whether the model goes on by itself.
    pub fn endless(&self) -> bool {
        self.flag("chat.endless")
    }

    /// How many tools are shown in use before the first question.
    pub fn examples(&self) -> usize {
        usize::try_from(self.count("chat.examples")).unwrap_or(usize::MAX)
    }

    /// What the model is told before the description of its tools.
    pub fn instructions(&self) -> &str {
        self.text("chat.instructions").unwrap_or_default()
    }

    /// Whether only one session at a time works in a folder.
    pub fn one_session(&self) -> bool {
        self.flag("chat.one_session")
    }

    /// Whether the model gets a shell.
    pub fn has_shell(&self) -> bool {
        self.flag("tools.shell")
    }

    /// How much one call of a file tool may read, list or write.
    pub fn file_limits(&self) -> FileLimits {
        let count = |key: &str| usize::try_from(self.count(key)).unwrap_or(usize::MAX);
        FileLimits {
            read: count("tools.read_limit"),
            list: count("tools.list_limit"),
            write: count("tools.write_limit"),
        }
    }

    /// The environment variables that hold secrets: keys of providers, and what settings of MCP servers name.
    pub fn secret_variables(&self) -> Vec<String> {
        let keys = PROVIDERS.iter().map(|provider| format!("providers.{provider}.api_key_env"));
        let bound = below(&self.settings, SECTION).map(|(key, _)| key.to_owned());
        let keys = keys.chain(bound).filter_map(|key| self.text(&key).map(str::to_owned));
        keys.chain(self.server_variables()).collect()
    }

    /// The dialects that are listened for instead of the profile's.
    pub fn dialects(&self) -> &[String] {
        self.list("dialects")
    }

    /// The files with dialects of the user's own.
    pub fn dialect_files(&self) -> &[String] {
        self.list("dialect_files")
    }

    /// Whether the model has to be given a way to say that it is done, because its every response has to be a call.
    pub fn needs_completion(&self) -> bool {
        self.policy().require_call == callgate::internal::policy::RequireCall::Always
    }

    /// What file tools are called: dots only where the profile's names may have them.
    pub fn file_names(&self) -> FileNames {
        match self.policy().name_rule.extra.contains('.') {
            true => FileNames::Dotted,
            false => FileNames::Underscored,
        }
    }

    /// How decisions are recorded; nothing where they are not.
    pub fn audit(&self) -> Option<AuditSettings> {
        if !self.flag("audit.enabled") {
            return None;
        }
        let retry = |key: &str| format!("providers.{}.tool_call_retry.{key}", self.provider());
        let style = match self.text("audit.values") {
            Some("summaries") => Style::Summaries,
            Some("short") => Style::Short,
            Some("long") => Style::Long,
            Some("full") => Style::Full,
            _ if self.flag(&retry("log_argument_values")) => Style::Short,
            _ => Style::None,
        };
        let limit = |key: &str| Some(self.count(key)).filter(|limit| *limit > 0);
        Some(AuditSettings {
            folder: self.text("audit.folder").unwrap_or_default().into(),
            sync: match self.text("audit.sync") {
                Some("interval") => Sync::Interval(self.millis("audit.sync_interval_ms")),
                _ => Sync::Decision,
            },
            redaction: Redaction { style, words: self.list("audit.redact").to_vec() },
            repair_details: self.flag(&retry("log_repair_details")),
            max_age: limit("audit.max_days").map(|days| std::time::Duration::from_secs(days * 86_400)),
            max_sessions: limit("audit.max_sessions").map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
            key_file: self.text("audit.key_file").map(Into::into),
            state: crate::audit::state_folder(),
        })
    }

    /// The knobs that were set, put into a policy.
    fn with_knobs(&self, policy: Policy) -> Policy {
        let Ok(mut value) = serde_json::to_value(&policy) else { return policy };
        for (key, setting) in self.settings().filter(|(_, setting)| setting.origin.is_given()) {
            let Some(path) = key.strip_prefix("policy.") else { continue };
            let place = path.split('.').try_fold(&mut value, |value, key| value.get_mut(key));
            if let Some(place) = place {
                *place = setting.value.to_json();
            }
        }
        serde_json::from_value(value).unwrap_or(policy)
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn list(&self, key: &str) -> &[String] {
        match self.value(key) {
            Value::List(items) => items,
            _ => &[],
        }
    }

    fn flag(&self, key: &str) -> bool {
        self.value(key) == &Value::Flag(true)
    }

    fn count(&self, key: &str) -> u64 {
        match self.value(key) {
            Value::Count(count) => *count,
            _ => 0,
        }
    }

    fn millis(&self, key: &str) -> std::time::Duration {
        std::time::Duration::from_millis(self.count(key))
    }
}
