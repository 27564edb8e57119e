//! The table of keys: every key with who may set it, its type, its range, its default and what it decides. Reading, the command's
//! listing and the page in `docs/` all come from here.

use callgate::Profile;
use callgate::internal::policy::{ExtraArgs, RepairPolicy};

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
    /// Text in which `${NAME}` stands for an environment variable.
    Template,
    /// An `http` or `https` address.
    Address,
    /// One of these words.
    Word(&'static [&'static str]),
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

/// Who may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Anybody, also a file that nobody named.
    Plain,
    /// A file that came with the folder only after a yes; unasked where its value is no looser than the one that holds
    /// without it.
    Trusting(Order),
    /// Only the user: the own file, the environment, flags.
    Own,
}

impl Class {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            Class::Plain => "plain",
            Class::Trusting(_) => "trusting",
            Class::Own => "own",
        }
    }
}

/// Which of two values is the looser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// There is no order: whatever differs is looser.
    Unordered,
    /// The greater number.
    Less,
    /// The word, or flag, behind a later `<`. Words between the same two cannot be compared, so each is looser than the
    /// other.
    Ranks(&'static str),
    /// The one with which another key becomes looser.
    Effect,
}

impl Order {
    /// Whether a value is looser than the one that holds without it.
    pub(super) fn is_looser(self, before: &Value, after: &Value) -> bool {
        let rank = |ranks: &str, value: &Value| {
            let word = match value {
                Value::Text(word) => word.clone(),
                other => other.to_json().to_string(),
            };
            ranks.split(" < ").position(|rank| rank.split(", ").any(|known| known == word))
        };
        let is_tighter = match self {
            Order::Unordered => false,
            Order::Effect => true,
            Order::Less => {
                matches!((before, after), (Value::Count(before), Value::Count(after)) if after < before)
            }
            Order::Ranks(ranks) => {
                rank(ranks, before).zip(rank(ranks, after)).is_some_and(|(before, after)| after < before)
            }
        };
        before != after && !is_tighter
    }
}

/// One key.
#[derive(Clone, Debug)]
pub struct Row {
    /// The key. `*` stands for the name of a provider, or for a name of the user's own.
    pub key: &'static str,
    /// Who may set it.
    pub class: Class,
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

const TRUSTING: Class = Class::Trusting(Order::Unordered);
const LIMIT: Class = Class::Trusting(Order::Less);

/// Every key, in the order of the documentation.
pub const ROWS: &[Row] = &[
    row(
        "profile",
        Class::Trusting(Order::Effect),
        Kind::Word(Profile::NAMES),
        Fallback::Text("standard"),
        "the bundle of dialects, policy, prompt and error rendering",
    ),
    row(
        "dialects",
        TRUSTING,
        Kind::List,
        Fallback::List(&[]),
        "the dialects that are listened for instead of the profile's; the first is the one that the model is taught",
    ),
    row(
        "dialect_files",
        TRUSTING,
        Kind::List,
        Fallback::List(&[]),
        "files with dialects of your own; they listen beside the others, and `dialects` may name them",
    ),
    row(
        "provider",
        TRUSTING,
        Kind::Word(&["ollama", "openai", "scripted"]),
        Fallback::Text("scripted"),
        "where the model runs; `scripted` is a few rules that stand in for one, with nothing installed",
    ),
    row("providers.*.model", TRUSTING, Kind::Text, Fallback::Unset, "the name of the model"),
    row(
        "providers.*.endpoint",
        TRUSTING,
        Kind::Address,
        Fallback::Unset,
        "the address of the server; unset: its usual one on this machine",
    ),
    row(
        "providers.*.api_key_env",
        Class::Own,
        Kind::Text,
        Fallback::Unset,
        "the environment variable that holds the key; the key itself never stands in a file. It goes only to an endpoint that you named yourself",
    ),
    row("providers.*.ca_file", TRUSTING, Kind::Text, Fallback::Unset, TRUSTED),
    row(
        "providers.*.temperature",
        Class::Plain,
        Kind::Number(0.0, 2.0),
        Fallback::Unset,
        "how freely the model chooses; unset: the server's default",
    ),
    row(
        "providers.*.max_tokens",
        LIMIT,
        Kind::Count(1, 10_000_000),
        Fallback::Unset,
        "the most tokens of one response; unset: the server's default",
    ),
    row(
        "providers.*.seed",
        Class::Plain,
        Kind::Count(0, u32::MAX as u64),
        Fallback::Unset,
        "the seed of the model's choices; unset: the server's default",
    ),
    row(
        "providers.*.timeouts.connect_ms",
        LIMIT,
        Kind::Count(1, DAY_MS),
        Fallback::Count(5_000),
        "how long connecting may take",
    ),
    row(
        "providers.*.timeouts.first_byte_ms",
        LIMIT,
        Kind::Count(1, DAY_MS),
        Fallback::Count(120_000),
        "how long the first byte of an answer may take; a model may have to be loaded",
    ),
    row(
        "providers.*.timeouts.idle_ms",
        LIMIT,
        Kind::Count(1, DAY_MS),
        Fallback::Count(60_000),
        "how long a stream may be silent",
    ),
    row(
        "providers.*.timeouts.total_ms",
        LIMIT,
        Kind::Count(1, DAY_MS),
        Fallback::Count(600_000),
        "how long a whole response may take",
    ),
    row(
        "providers.*.tool_call_retry.max_retry_attempts",
        LIMIT,
        Kind::Count(0, 10),
        Fallback::Profile(retries),
        "how often the model is asked again after a refused response",
    ),
    row(
        "providers.*.tool_call_retry.retry_delay_ms",
        LIMIT,
        Kind::Count(0, 60_000),
        Fallback::Count(100),
        "the wait before the first time it is asked again",
    ),
    row(
        "providers.*.tool_call_retry.backoff",
        Class::Plain,
        Kind::Word(&["exponential", "linear", "constant"]),
        Fallback::Text("exponential"),
        "how the wait grows from one time to the next",
    ),
    row(
        "providers.*.tool_call_retry.max_retry_delay_ms",
        LIMIT,
        Kind::Count(0, DAY_MS),
        Fallback::Count(60_000),
        "the longest wait",
    ),
    row(
        "providers.*.tool_call_retry.retry_prompt_template",
        TRUSTING,
        Kind::Text,
        Fallback::Unset,
        "the message to the model per refused call, with {error_message}, {error_position}, {malformed_json}, {tool_name} and {schema_example}; unset: the profile's feedback",
    ),
    row(
        "providers.*.tool_call_retry.stop_when_repeated",
        ranked("true < false"),
        Kind::Flag,
        Fallback::Profile(stops_when_repeated),
        "whether an answer that repeats the refused one exactly ends the attempts",
    ),
    row(
        "providers.*.tool_call_retry.enable_auto_repair",
        ranked("false < true"),
        Kind::Flag,
        Fallback::Profile(repairs),
        "whether broken calls are repaired; `false` sets the policy's `repair` to `off`",
    ),
    row(
        "providers.*.tool_call_retry.repair_timeout_ms",
        LIMIT,
        Kind::Count(1, 60_000),
        Fallback::Count(100),
        "how much repair is allowed. Work is counted, not timed: 100 stands for the policy's `limits.repairs`, other values are in proportion",
    ),
    row(
        "providers.*.tool_call_retry.strict_validation",
        ranked("true < false"),
        Kind::Flag,
        Fallback::Profile(is_strict),
        "whether arguments that a schema does not mention are refused; sets the policy's `extra_args`",
    ),
    row(
        "providers.*.tool_call_retry.max_nesting_depth",
        LIMIT,
        Kind::Count(1, 128),
        Fallback::Profile(depth),
        "the deepest nesting of arguments; sets the policy's `limits.depth`",
    ),
    row(
        "providers.*.tool_call_retry.max_argument_size",
        LIMIT,
        Kind::Count(1, 1 << 30),
        Fallback::Profile(size),
        "the largest arguments of one call in bytes; sets the policy's `limits.arguments`",
    ),
    row(
        "providers.*.tool_call_retry.log_repair_details",
        Class::Own,
        Kind::Flag,
        Fallback::Flag(true),
        "whether the audit lists each repair; otherwise it counts them",
    ),
    row(
        "providers.*.tool_call_retry.log_argument_values",
        Class::Own,
        Kind::Flag,
        Fallback::Flag(false),
        "whether the audit holds argument values; `true` raises `audit.values` from `none` to `short`",
    ),
    row(
        "keys.*",
        Class::Own,
        Kind::Text,
        Fallback::Unset,
        "the environment variable that holds the key for this host (or host:port), and for no other",
    ),
    knob(
        "policy.repair",
        ranked("off < backtick < lossless < full"),
        Kind::Word(&["off", "backtick", "lossless", "full"]),
        "which repairs may be made to read a broken attempt",
    ),
    knob(
        "policy.coerce",
        ranked("off < untyped < lossless"),
        Kind::Word(&["off", "untyped", "lossless"]),
        "whether values may be changed to fit their schema",
    ),
    knob(
        "policy.truncated",
        ranked("reject < complete"),
        Kind::Word(&["reject", "complete"]),
        "what a call means whose last value runs into the end",
    ),
    knob(
        "policy.endings",
        ranked("good < any"),
        Kind::Word(&["any", "good"]),
        "after which endings of a response calls come out",
    ),
    knob(
        "policy.fences",
        ranked("dead < sole < live"),
        Kind::Word(&["dead", "live", "sole"]),
        "what a call in a code fence is",
    ),
    knob(
        "policy.quote",
        ranked("dead < live"),
        Kind::Word(&["dead", "live"]),
        "what a call in inline code or a quotation is",
    ),
    knob(
        "policy.indented",
        ranked("dead < live"),
        Kind::Word(&["dead", "live"]),
        "what a call in a block of code by indentation is",
    ),
    knob(
        "policy.reasoning",
        ranked("dead < live"),
        Kind::Word(&["dead", "live"]),
        "what a call in the reasoning is",
    ),
    knob(
        "policy.position",
        ranked("line-start, trailing < anywhere"),
        Kind::Word(&["anywhere", "line-start", "trailing"]),
        "where in the response a call may stand",
    ),
    knob("policy.max_calls", LIMIT, Kind::Count(1, 10_000), "the most calls of one response"),
    knob(
        "policy.on_excess",
        ranked("reject < report"),
        Kind::Word(&["report", "reject"]),
        "what more calls mean",
    ),
    knob(
        "policy.partial",
        ranked("all-or-nothing < keep-good"),
        Kind::Word(&["keep-good", "all-or-nothing"]),
        "what one refused call means for the others",
    ),
    knob(
        "policy.extra_args",
        ranked("reject < drop < allow"),
        Kind::Word(&["reject", "drop", "allow"]),
        "what an argument means that the schema does not mention",
    ),
    knob(
        "policy.require_call",
        TRUSTING,
        Kind::Word(&["never", "if-attempted", "always"]),
        "whether a response without a call is a mistake",
    ),
    knob(
        "policy.foreign",
        ranked("ignore, reject < live"),
        Kind::Word(&["live", "reject", "ignore"]),
        "what a call in a dialect is that was not chosen by name",
    ),
    knob(
        "policy.name_rule.extra",
        TRUSTING,
        Kind::Text,
        "the characters of a name besides ASCII letters, digits and _",
    ),
    knob(
        "policy.blank_args",
        ranked("reject < empty"),
        Kind::Word(&["reject", "empty"]),
        "what absent, blank or null arguments mean",
    ),
    knob(
        "policy.members",
        ranked("reject < report"),
        Kind::Word(&["reject", "report"]),
        "what unknown members of a call object mean",
    ),
    knob(
        "policy.dangerous",
        ranked("all < marked"),
        Kind::Word(&["marked", "all"]),
        "which tools are dangerous",
    ),
    knob("policy.name_rule.max", LIMIT, Kind::Count(1, 1_000), "the longest name, in characters"),
    knob(
        "policy.release",
        ranked("at-end < early"),
        Kind::Word(&["at-end", "early"]),
        "when accepted calls come out",
    ),
    knob(
        "policy.echo",
        ranked("reject < report"),
        Kind::Word(&["report", "reject"]),
        "what a call means that repeats what a tool gave",
    ),
    knob(
        "policy.duplicate_keys",
        ranked("reject < keep-last"),
        Kind::Word(&["reject", "keep-last"]),
        "what a key means that stands twice in one object",
    ),
    knob(
        "policy.limits.arguments",
        LIMIT,
        Kind::Count(1, 1 << 30),
        "the largest arguments of one call, in bytes",
    ),
    knob("policy.limits.depth", LIMIT, Kind::Count(1, 128), "the deepest nesting; the arguments object is 1"),
    knob(
        "policy.limits.held",
        LIMIT,
        Kind::Count(1, 1 << 30),
        "the most text held back while it is undecided, in bytes",
    ),
    knob("policy.limits.refusals", LIMIT, Kind::Count(1, 1_000_000), "the most refusals of one response"),
    knob("policy.limits.work", LIMIT, Kind::Count(1, 1 << 40), "the most counted work for one response"),
    knob("policy.limits.repairs", LIMIT, Kind::Count(0, 1_000_000), "the most repairs of one call"),
    knob(
        "policy.limits.raw",
        LIMIT,
        Kind::Count(0, 1 << 20),
        "how much of a refused attempt a refusal quotes, in bytes",
    ),
    knob(
        "policy.limits.untrusted",
        TRUSTING,
        Kind::Count(0, 1 << 30),
        "the most untrusted text that calls are compared with, in bytes",
    ),
    row(
        "approval.default",
        Class::Own,
        Kind::Word(&["auto", "safe", "ask", "deny"]),
        Fallback::Text("auto"),
        "what a call is that no rule names; `auto`: dangerous tools ask, others are safe",
    ),
    row(
        "approval.auto_approve",
        Class::Own,
        Kind::Flag,
        Fallback::Flag(true),
        "whether safe calls run unasked; `false`: every call asks",
    ),
    row(
        "approval.deny",
        Class::Plain,
        Kind::Rules,
        Fallback::List(&[]),
        "rules for calls that never run; they win over all others",
    ),
    row(
        "approval.ask",
        Class::Plain,
        Kind::Rules,
        Fallback::List(&[]),
        "rules for calls that run only after a yes; they win over `approval.safe`",
    ),
    row("approval.safe", Class::Own, Kind::Rules, Fallback::List(&[]), "rules for calls that run unasked"),
    row(
        "approval.command_tools",
        Class::Own,
        Kind::List,
        Fallback::List(&["bash_command", "run_command"]),
        "tools whose `command` argument is a command line: those that only start what is known to be harmless are safe, all others ask",
    ),
    row(
        "approval.timeout_ms",
        LIMIT,
        Kind::Count(1, DAY_MS),
        Fallback::Count(300_000),
        "how long a question waits; silence means no",
    ),
    row(
        "chat.max_turns",
        LIMIT,
        Kind::Count(1, 10_000),
        Fallback::Count(16),
        "the most responses of the model to one question",
    ),
    row(
        "chat.max_calls",
        LIMIT,
        Kind::Count(0, 100_000),
        Fallback::Count(64),
        "the most calls that one question runs",
    ),
    row(
        "chat.max_calls_per_turn",
        LIMIT,
        Kind::Count(1, 10_000),
        Fallback::Count(16),
        "the most calls of one response that are run; the model is told of the others",
    ),
    row(
        "chat.max_same_calls",
        LIMIT,
        Kind::Count(1, 100_000),
        Fallback::Count(5),
        "how often one question runs the same call with the same arguments",
    ),
    row(
        "chat.time_ms",
        LIMIT,
        Kind::Count(1, DAY_MS),
        Fallback::Count(1_800_000),
        "how long one question may take, tools and approvals included",
    ),
    row(
        "chat.tool_time_ms",
        LIMIT,
        Kind::Count(1, DAY_MS),
        Fallback::Count(30_000),
        "how long one call may run",
    ),
    row(
        "chat.max_strikes",
        LIMIT,
        Kind::Count(1, 100),
        Fallback::Count(3),
        "how many refused responses in a row end a question",
    ),
    row(
        "chat.endless",
        ranked("false < true"),
        Kind::Flag,
        Fallback::Flag(false),
        "whether the model goes on by itself until a budget is spent, and is never done",
    ),
    row(
        "chat.instructions",
        TRUSTING,
        Kind::Text,
        Fallback::Unset,
        "what the model is told before the description of its tools",
    ),
    row(
        "chat.examples",
        Class::Plain,
        Kind::Count(0, 16),
        Fallback::Count(0),
        "how many tools are shown in use before the first question; small models call only what they have seen called",
    ),
    row(
        "tools.read_limit",
        LIMIT,
        Kind::Count(1, 1 << 24),
        Fallback::Count(64 << 10),
        "the most bytes of a file that one call reads",
    ),
    row(
        "tools.list_limit",
        LIMIT,
        Kind::Count(1, 100_000),
        Fallback::Count(1_000),
        "the most entries of a folder that one call lists",
    ),
    row(
        "tools.write_limit",
        LIMIT,
        Kind::Count(1, 1 << 28),
        Fallback::Count(4 << 20),
        "the largest file that is written or replaced, in bytes",
    ),
    row(
        "mcp.servers.*.command",
        TRUSTING,
        Kind::Text,
        Fallback::Unset,
        "the program of an MCP server, which is started and spoken to over its standard input and output; no shell takes part",
    ),
    row("mcp.servers.*.args", TRUSTING, Kind::List, Fallback::List(&[]), "the arguments of the program"),
    row(
        "mcp.servers.*.env.*",
        TRUSTING,
        Kind::Template,
        Fallback::Unset,
        "an environment variable of the program; `${VARIABLE}` in it stands for one of your own",
    ),
    row(
        "mcp.servers.*.url",
        TRUSTING,
        Kind::Address,
        Fallback::Unset,
        "the address of an MCP server that runs elsewhere (streamable HTTP)",
    ),
    row(
        "mcp.servers.*.headers.*",
        TRUSTING,
        Kind::Template,
        Fallback::Unset,
        "a header of every request to it; `${VARIABLE}` in it stands for an environment variable",
    ),
    row("mcp.servers.*.ca_file", TRUSTING, Kind::Text, Fallback::Unset, TRUSTED),
    row("audit.enabled", Class::Own, Kind::Flag, Fallback::Flag(true), "whether decisions are recorded"),
    row(
        "audit.folder",
        Class::Own,
        Kind::Text,
        Fallback::Text(".agent/audit"),
        "where the records are kept, one file per session",
    ),
    row(
        "audit.values",
        Class::Own,
        Kind::Word(&["none", "summaries", "short", "long", "full"]),
        Fallback::Text("none"),
        "how much of argument values is recorded; `none`: only types and sizes. Secrets that are recognised are hidden in all",
    ),
    row(
        "audit.redact",
        Class::Own,
        Kind::List,
        Fallback::List(&[]),
        "further words that make a key's value a secret",
    ),
    row(
        "audit.sync",
        Class::Own,
        Kind::Word(&["decision", "interval"]),
        Fallback::Text("decision"),
        "when records are forced to the disk: with each decision, or at most once per interval",
    ),
    row("audit.sync_interval_ms", Class::Own, Kind::Count(1, 60_000), Fallback::Count(200), "the interval"),
    row(
        "audit.max_days",
        Class::Own,
        Kind::Count(0, 36_500),
        Fallback::Count(0),
        "sessions older than this are removed; 0 keeps all",
    ),
    row(
        "audit.max_sessions",
        Class::Own,
        Kind::Count(0, 1_000_000),
        Fallback::Count(0),
        "more sessions than this are removed, the oldest first; 0 keeps all",
    ),
    row(
        "audit.key_file",
        Class::Own,
        Kind::Text,
        Fallback::Unset,
        "the file of the key that seals records, 16 to 4096 bytes that nobody else can read; unset: no seals",
    ),
];

const fn row(key: &'static str, class: Class, kind: Kind, fallback: Fallback, meaning: &'static str) -> Row {
    Row { key, class, kind, fallback, meaning }
}

const fn knob(key: &'static str, class: Class, kind: Kind, meaning: &'static str) -> Row {
    Row { key, class, kind, fallback: Fallback::Policy, meaning }
}

const fn ranked(ranks: &'static str) -> Class {
    Class::Trusting(Order::Ranks(ranks))
}

impl Row {
    /// The row of a key.
    pub fn of(key: &str) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.fits(key))
    }

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
        match self.key.split_once('*') {
            None => return self.key == key,
            Some((start, end)) if !self.is_open() => {
                let provider = key.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
                return provider.is_some_and(|provider| self.providers().contains(&provider));
            }
            Some(_) => {}
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
        self.fallback_of(profile, &serde_json::to_value(profile.policy()).unwrap_or_default())
    }

    /// The same, with the profile's policy as JSON.
    pub(super) fn fallback_of(&self, profile: &Profile, policy: &serde_json::Value) -> (Value, bool) {
        match self.fallback {
            Fallback::Unset => (Value::Unset, false),
            Fallback::Flag(flag) => (Value::Flag(flag), false),
            Fallback::Count(count) => (Value::Count(count), false),
            Fallback::Text(text) => (Value::Text(text.to_owned()), false),
            Fallback::List(items) => {
                (Value::List(items.iter().map(|item| (*item).to_owned()).collect()), false)
            }
            Fallback::Profile(value) => (value(profile), true),
            Fallback::Policy => (self.knob(policy), true),
        }
    }

    /// The value of a knob in a policy, which is given as JSON.
    pub(super) fn knob(&self, policy: &serde_json::Value) -> Value {
        let place = self.key.split('.').skip(1).fold(policy, |value, key| &value[key]);
        match place {
            serde_json::Value::String(text) => Value::Text(text.clone()),
            other => other.as_u64().map_or(Value::Unset, Value::Count),
        }
    }
}

/// How often each document's system asks again.
fn retries(profile: &Profile) -> Value {
    Value::Count(u64::from(profile.retries()))
}

fn stops_when_repeated(profile: &Profile) -> Value {
    Value::Flag(profile.stops_when_repeated())
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
