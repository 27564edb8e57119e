//! The table of keys: every key with its type, its range, its default and what it decides. Reading, the command's
//! listing and the page in `docs/` all come from here.

use callgate::Profile;
use callgate::policy::{ExtraArgs, RepairPolicy};

/// The providers that a configuration can set up.
pub const PROVIDERS: &[&str] = &["ollama", "openai", "scripted"];
/// Those that are reached over HTTP.
const SERVERS: &[&str] = &["ollama", "openai"];
/// The longest time that can be set: a day.
const DAY_MS: u64 = 86_400_000;

/// A value of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: whoever uses it does without.
    Unset,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// Any number.
    Number(f64),
    /// Text, or one word of a list.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

impl Value {
    /// The value as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Unset => serde_json::Value::Null,
            Value::Flag(flag) => (*flag).into(),
            Value::Count(count) => (*count).into(),
            Value::Number(number) => (*number).into(),
            Value::Text(text) => text.as_str().into(),
            Value::List(items) => items.as_slice().into(),
        }
    }
}

/// What may stand behind a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number between two bounds, both allowed.
    Count(u64, u64),
    /// A number between two bounds, both allowed.
    Number(f64, f64),
    /// Any text.
    Text,
    /// An `http` or `https` address.
    Address,
    /// One of these words, separated by ` | `.
    Word(&'static str),
    /// A list of texts.
    List,
    /// A list of rules of approval.
    Rules,
}

/// What holds when nobody gives a value.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// Nothing.
    Unset,
    /// This flag.
    Flag(bool),
    /// This number.
    Count(u64),
    /// This text.
    Text(&'static str),
    /// These texts.
    List(&'static [&'static str]),
    /// What the chosen profile says.
    Profile(fn(&Profile) -> Value),
    /// What the policy of the chosen profile says, at the key's own place.
    Policy,
}

/// One key.
#[derive(Clone, Debug)]
pub struct Row {
    /// The key. `*` stands for the name of a provider, or for a name of the user's own.
    pub key: &'static str,
    /// What may stand there.
    pub kind: Kind,
    /// What holds otherwise.
    pub fallback: Fallback,
    /// What it decides.
    pub meaning: &'static str,
}

/// Another spelling of a key, from older configurations.
pub(crate) const ALIASES: &[(&str, &str)] = &[
    ("model.providers.*.tool_call.max_retries", "providers.*.tool_call_retry.max_retry_attempts"),
    ("providers.*.tool_call_retry.max_retries", "providers.*.tool_call_retry.max_retry_attempts"),
    ("model.providers.*.tool_call.", "providers.*.tool_call_retry."),
    ("model.providers.*.tool_call_retry.", "providers.*.tool_call_retry."),
    ("providers.*.tool_call.", "providers.*.tool_call_retry."),
];

/// The switch of an editor's settings file: `true` chooses the profile `strict-xml`.
pub(crate) const STRICT_SWITCH: &str = "accesslint.useStrictXMLParsing";

const TRUSTED: &str = "a PEM file of certificates that are trusted for this server instead of the system's; for a server with a certificate of your own";

/// Every key, in the order of the documentation.
pub const ROWS: &[Row] = &[
    row(
        "profile",
        Kind::Word("standard | strict | lenient | action | structured | fenced | labelled | strict-xml"),
        Fallback::Text("standard"),
        "the bundle of dialects, policy, prompt and error rendering",
    ),
    row(
        "dialects",
        Kind::List,
        Fallback::List(&[]),
        "the dialects that are listened for instead of the profile's; the first is the one that the model is taught",
    ),
    row(
        "dialect_files",
        Kind::List,
        Fallback::List(&[]),
        "files with dialects of your own; they listen beside the others, and `dialects` may name them",
    ),
    row(
        "provider",
        Kind::Word("ollama | openai | scripted"),
        Fallback::Text("scripted"),
        "where the model runs; `scripted` is a few rules that stand in for one, with nothing installed",
    ),
    row("providers.*.model", Kind::Text, Fallback::Unset, "the name of the model"),
    row(
        "providers.*.endpoint",
        Kind::Address,
        Fallback::Unset,
        "the address of the server; unset: its usual one on this machine",
    ),
    row(
        "providers.*.api_key_env",
        Kind::Text,
        Fallback::Unset,
        "the environment variable that holds the key; the key itself never stands in a file",
    ),
    row("providers.*.ca_file", Kind::Text, Fallback::Unset, TRUSTED),
    row(
        "providers.*.temperature",
        Kind::Number(0.0, 2.0),
        Fallback::Unset,
        "how freely the model chooses; unset: the server's default",
    ),
    row(
        "providers.*.max_tokens",
        Kind::Count(1, 10_000_000),
        Fallback::Unset,
        "the most tokens of one response; unset: the server's default",
    ),
    row(
        "providers.*.seed",
        Kind::Count(0, u32::MAX as u64),
        Fallback::Unset,
        "the seed of the model's choices; unset: the server's default",
    ),
    row(
        "providers.*.timeouts.connect_ms",
        Kind::Count(1, DAY_MS),
        Fallback::Count(5_000),
        "how long connecting may take",
    ),
    row(
        "providers.*.timeouts.first_byte_ms",
        Kind::Count(1, DAY_MS),
        Fallback::Count(120_000),
        "how long the first byte of an answer may take; a model may have to be loaded",
    ),
    row(
        "providers.*.timeouts.idle_ms",
        Kind::Count(1, DAY_MS),
        Fallback::Count(60_000),
        "how long a stream may be silent",
    ),
    row(
        "providers.*.timeouts.total_ms",
        Kind::Count(1, DAY_MS),
        Fallback::Count(600_000),
        "how long a whole response may take",
    ),
    row(
        "providers.*.tool_call_retry.max_retry_attempts",
        Kind::Count(0, 10),
        Fallback::Profile(retries),
        "how often the model is asked again after a refused response",
    ),
    row(
        "providers.*.tool_call_retry.retry_delay_ms",
        Kind::Count(0, 60_000),
        Fallback::Count(100),
        "the wait before the first time it is asked again",
    ),
    row(
        "providers.*.tool_call_retry.backoff",
        Kind::Word("exponential | linear | constant"),
        Fallback::Text("exponential"),
        "how the wait grows from one time to the next",
    ),
    row(
        "providers.*.tool_call_retry.max_retry_delay_ms",
        Kind::Count(0, DAY_MS),
        Fallback::Count(60_000),
        "the longest wait",
    ),
    row(
        "providers.*.tool_call_retry.retry_prompt_template",
        Kind::Text,
        Fallback::Unset,
        "the message to the model per refused call, with {error_message}, {error_position}, {malformed_json}, {tool_name} and {schema_example}; unset: the profile's feedback",
    ),
    row(
        "providers.*.tool_call_retry.stop_when_repeated",
        Kind::Flag,
        Fallback::Profile(stops_when_repeated),
        "whether an answer that repeats the refused one exactly ends the attempts",
    ),
    row(
        "providers.*.tool_call_retry.enable_auto_repair",
        Kind::Flag,
        Fallback::Profile(repairs),
        "whether broken calls are repaired; `false` sets the policy's `repair` to `off`",
    ),
    row(
        "providers.*.tool_call_retry.repair_timeout_ms",
        Kind::Count(1, 60_000),
        Fallback::Count(100),
        "how much repair is allowed. Work is counted, not timed: 100 stands for the policy's `limits.repairs`, other values are in proportion",
    ),
    row(
        "providers.*.tool_call_retry.strict_validation",
        Kind::Flag,
        Fallback::Profile(is_strict),
        "whether arguments that a schema does not mention are refused; sets the policy's `extra_args`",
    ),
    row(
        "providers.*.tool_call_retry.max_nesting_depth",
        Kind::Count(1, 128),
        Fallback::Profile(depth),
        "the deepest nesting of arguments; sets the policy's `limits.depth`",
    ),
    row(
        "providers.*.tool_call_retry.max_argument_size",
        Kind::Count(1, 1 << 30),
        Fallback::Profile(size),
        "the largest arguments of one call in bytes; sets the policy's `limits.arguments`",
    ),
    row(
        "providers.*.tool_call_retry.log_repair_details",
        Kind::Flag,
        Fallback::Flag(true),
        "whether the audit lists each repair; otherwise it counts them",
    ),
    row(
        "providers.*.tool_call_retry.log_argument_values",
        Kind::Flag,
        Fallback::Flag(false),
        "whether the audit holds argument values; `true` raises `audit.values` from `none` to `short`",
    ),
    knob(
        "policy.repair",
        Kind::Word("off | backtick | lossless | full"),
        "which repairs may be made to read a broken attempt",
    ),
    knob(
        "policy.coerce",
        Kind::Word("off | text-born | lossless"),
        "whether values may be changed to fit their schema",
    ),
    knob(
        "policy.truncated",
        Kind::Word("reject | complete"),
        "what a call means whose last value runs into the end",
    ),
    knob("policy.fences", Kind::Word("dead | live | sole"), "what a call in a code fence is"),
    knob("policy.quote", Kind::Word("dead | live"), "what a call in inline code or a quotation is"),
    knob("policy.reasoning", Kind::Word("dead | live | sole"), "what a call in the reasoning is"),
    knob(
        "policy.position",
        Kind::Word("anywhere | line-start | trailing"),
        "where in the response a call may stand",
    ),
    knob("policy.max_calls", Kind::Count(1, 10_000), "the most calls of one response"),
    knob("policy.on_excess", Kind::Word("report | reject"), "what more calls mean"),
    knob(
        "policy.partial",
        Kind::Word("keep-good | all-or-nothing"),
        "what one refused call means for the others",
    ),
    knob(
        "policy.extra_args",
        Kind::Word("reject | drop | allow"),
        "what an argument means that the schema does not mention",
    ),
    knob(
        "policy.require_call",
        Kind::Word("never | if-attempted | always"),
        "whether a response without a call is a mistake",
    ),
    knob("policy.on_malformed", Kind::Word("reject | as-text"), "how a refused attempt is shown"),
    knob(
        "policy.foreign",
        Kind::Word("live | reject | ignore"),
        "what a call in a dialect is that was not chosen by name",
    ),
    knob(
        "policy.name_rule.extra",
        Kind::Text,
        "the characters of a name besides ASCII letters, digits and _",
    ),
    knob("policy.name_rule.max", Kind::Count(1, 1_000), "the longest name, in characters"),
    knob("policy.release", Kind::Word("at-end | early"), "when accepted calls come out"),
    knob("policy.echo", Kind::Word("report | reject"), "what a call means that repeats untrusted text"),
    knob(
        "policy.duplicate_keys",
        Kind::Word("reject | keep-last"),
        "what a key means that stands twice in one object",
    ),
    knob("policy.limits.arguments", Kind::Count(1, 1 << 30), "the largest arguments of one call, in bytes"),
    knob("policy.limits.depth", Kind::Count(1, 128), "the deepest nesting; the arguments object is 1"),
    knob(
        "policy.limits.held",
        Kind::Count(1, 1 << 30),
        "the most text held back while it is undecided, in bytes",
    ),
    knob("policy.limits.repairs", Kind::Count(0, 1_000_000), "the most repairs of one call"),
    knob(
        "policy.limits.raw",
        Kind::Count(0, 1 << 20),
        "how much of a refused attempt a refusal quotes, in bytes",
    ),
    row(
        "approval.default",
        Kind::Word("auto | safe | ask | deny"),
        Fallback::Text("auto"),
        "what a call is that no rule names; `auto`: dangerous tools ask, others are safe",
    ),
    row(
        "approval.auto_approve",
        Kind::Flag,
        Fallback::Flag(true),
        "whether safe calls run unasked; `false`: every call asks",
    ),
    row(
        "approval.deny",
        Kind::Rules,
        Fallback::List(&[]),
        "rules for calls that never run; they win over all others",
    ),
    row(
        "approval.ask",
        Kind::Rules,
        Fallback::List(&[]),
        "rules for calls that run only after a yes; they win over `approval.safe`",
    ),
    row("approval.safe", Kind::Rules, Fallback::List(&[]), "rules for calls that run unasked"),
    row(
        "approval.command_tools",
        Kind::List,
        Fallback::List(&["bash_command", "run_command"]),
        "tools whose `command` argument is a command line: known harmless ones are safe, all others ask",
    ),
    row(
        "approval.timeout_ms",
        Kind::Count(1, DAY_MS),
        Fallback::Count(300_000),
        "how long a question waits; silence means no",
    ),
    row(
        "chat.max_turns",
        Kind::Count(1, 10_000),
        Fallback::Count(16),
        "the most responses of the model to one question",
    ),
    row(
        "chat.max_calls",
        Kind::Count(0, 100_000),
        Fallback::Count(64),
        "the most calls that one question runs",
    ),
    row(
        "chat.max_calls_per_turn",
        Kind::Count(1, 10_000),
        Fallback::Count(16),
        "the most calls of one response that are run; the model is told of the others",
    ),
    row(
        "chat.max_same_calls",
        Kind::Count(1, 100_000),
        Fallback::Count(5),
        "how often one question runs the same call with the same arguments",
    ),
    row(
        "chat.time_ms",
        Kind::Count(1, DAY_MS),
        Fallback::Count(1_800_000),
        "how long one question may take, tools and approvals included",
    ),
    row("chat.tool_time_ms", Kind::Count(1, DAY_MS), Fallback::Count(30_000), "how long one call may run"),
    row(
        "chat.max_strikes",
        Kind::Count(1, 100),
        Fallback::Count(3),
        "how many refused responses in a row end a question",
    ),
    row(
        "chat.endless",
        Kind::Flag,
        Fallback::Flag(false),
        "whether the model goes on by itself until a budget is spent, and is never done",
    ),
    row(
        "chat.instructions",
        Kind::Text,
        Fallback::Unset,
        "what the model is told before the description of its tools",
    ),
    row(
        "chat.examples",
        Kind::Count(0, 16),
        Fallback::Count(0),
        "how many tools are shown in use before the first question; small models call only what they have seen called",
    ),
    row(
        "tools.read_limit",
        Kind::Count(1, 1 << 24),
        Fallback::Count(64 << 10),
        "the most bytes of a file that one call reads",
    ),
    row(
        "tools.list_limit",
        Kind::Count(1, 100_000),
        Fallback::Count(1_000),
        "the most entries of a folder that one call lists",
    ),
    row(
        "tools.write_limit",
        Kind::Count(1, 1 << 28),
        Fallback::Count(4 << 20),
        "the largest file that is written or replaced, in bytes",
    ),
    row(
        "mcp.servers.*.command",
        Kind::Text,
        Fallback::Unset,
        "the program of an MCP server, which is started and spoken to over its standard input and output; no shell takes part",
    ),
    row("mcp.servers.*.args", Kind::List, Fallback::List(&[]), "the arguments of the program"),
    row(
        "mcp.servers.*.env.*",
        Kind::Text,
        Fallback::Unset,
        "an environment variable of the program; `${VARIABLE}` in it stands for one of your own",
    ),
    row(
        "mcp.servers.*.url",
        Kind::Address,
        Fallback::Unset,
        "the address of an MCP server that runs elsewhere (streamable HTTP)",
    ),
    row(
        "mcp.servers.*.headers.*",
        Kind::Text,
        Fallback::Unset,
        "a header of every request to it; `${VARIABLE}` in it stands for an environment variable",
    ),
    row("mcp.servers.*.ca_file", Kind::Text, Fallback::Unset, TRUSTED),
    row("audit.enabled", Kind::Flag, Fallback::Flag(true), "whether decisions are recorded"),
    row(
        "audit.folder",
        Kind::Text,
        Fallback::Text(".agent/audit"),
        "where the records are kept, one file per session",
    ),
    row(
        "audit.values",
        Kind::Word("none | summaries | short | long | full"),
        Fallback::Text("none"),
        "how much of argument values is recorded; `none`: only types and sizes. Secrets that are recognised are hidden in all",
    ),
    row("audit.redact", Kind::List, Fallback::List(&[]), "further words that make a key's value a secret"),
    row(
        "audit.sync",
        Kind::Word("decision | interval"),
        Fallback::Text("decision"),
        "when records are forced to the disk: with each decision, or at most once per interval",
    ),
    row("audit.sync_interval_ms", Kind::Count(1, 60_000), Fallback::Count(200), "the interval"),
    row(
        "audit.max_days",
        Kind::Count(0, 36_500),
        Fallback::Count(0),
        "sessions older than this are removed; 0 keeps all",
    ),
    row(
        "audit.max_sessions",
        Kind::Count(0, 1_000_000),
        Fallback::Count(0),
        "more sessions than this are removed, the oldest first; 0 keeps all",
    ),
    row(
        "audit.key_file",
        Kind::Text,
        Fallback::Unset,
        "the file of the key that seals records, 16 to 4096 bytes that nobody else can read; unset: no seals",
    ),
];

const fn row(key: &'static str, kind: Kind, fallback: Fallback, meaning: &'static str) -> Row {
    Row { key, kind, fallback, meaning }
}

const fn knob(key: &'static str, kind: Kind, meaning: &'static str) -> Row {
    Row { key, kind, fallback: Fallback::Policy, meaning }
}

impl Row {
    /// The providers that a key is for; none if it is for no provider.
    pub fn providers(&self) -> &'static [&'static str] {
        match self.key.strip_prefix("providers.*.") {
            None => &[],
            Some(rest) if rest.starts_with("tool_call_retry.") || rest == "model" => PROVIDERS,
            Some(_) => SERVERS,
        }
    }

    /// Whether the key holds names of the user's own, so that nobody can list all its keys.
    pub fn is_open(&self) -> bool {
        self.key.contains('*') && self.providers().is_empty()
    }

    /// Whether a key is one of this row's. A name at the end may hold dots.
    pub fn fits(&self, key: &str) -> bool {
        if !self.is_open() {
            return self.keys().iter().any(|own| own == key);
        }
        let parts: Vec<&str> = self.key.split('.').collect();
        let given: Vec<&str> = key.splitn(parts.len(), '.').collect();
        let fits = |(part, given): (&&str, &&str)| part == given || (*part == "*" && !given.is_empty());
        parts.len() == given.len() && parts.iter().zip(&given).all(fits)
    }

    /// The keys with the providers' names put in; none where names are the user's own.
    pub fn keys(&self) -> Vec<String> {
        match self.providers() {
            [] if self.is_open() => Vec::new(),
            [] => vec![self.key.to_owned()],
            providers => providers.iter().map(|provider| self.key.replacen('*', provider, 1)).collect(),
        }
    }

    /// The value that holds when nobody gives one, and whether it is the profile's.
    pub fn fallback(&self, profile: &Profile) -> (Value, bool) {
        match self.fallback {
            Fallback::Unset => (Value::Unset, false),
            Fallback::Flag(flag) => (Value::Flag(flag), false),
            Fallback::Count(count) => (Value::Count(count), false),
            Fallback::Text(text) => (Value::Text(text.to_owned()), false),
            Fallback::List(items) => {
                (Value::List(items.iter().map(|item| (*item).to_owned()).collect()), false)
            }
            Fallback::Profile(value) => (value(profile), true),
            Fallback::Policy => (self.policy_value(profile), true),
        }
    }

    /// The value of a knob in the profile's policy.
    fn policy_value(&self, profile: &Profile) -> Value {
        let policy = serde_json::to_value(profile.policy()).unwrap_or_default();
        let place = self.key.split('.').skip(1).fold(&policy, |value, key| &value[key]);
        match place {
            serde_json::Value::String(text) => Value::Text(text.clone()),
            other => other.as_u64().map_or(Value::Unset, Value::Count),
        }
    }
}

/// How often each document's system asks again: `action` only suggests it, `strict-xml` counts three strikes.
fn retries(profile: &Profile) -> Value {
    Value::Count(match profile.name() {
        "structured" => 3,
        "action" => 0,
        _ => 2,
    })
}

/// The document behind `structured` spends all its attempts, whatever comes back.
fn stops_when_repeated(profile: &Profile) -> Value {
    Value::Flag(profile.name() != "structured")
}

fn repairs(profile: &Profile) -> Value {
    Value::Flag(profile.policy().repair != RepairPolicy::Off)
}

fn is_strict(profile: &Profile) -> Value {
    Value::Flag(profile.policy().extra_args == ExtraArgs::Reject)
}

fn depth(profile: &Profile) -> Value {
    Value::Count(profile.policy().limits.depth as u64)
}

fn size(profile: &Profile) -> Value {
    Value::Count(profile.policy().limits.arguments as u64)
}
