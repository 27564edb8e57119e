//! Keys of the model: the profile and its dialects, where the model runs, and how often it is asked again.

use callgate::Profile;
use callgate::internal::policy::{ExtraArgs, RepairPolicy};

use super::{DAY_MS, LIMIT, TRUSTED, TRUSTING};
use crate::config::row::{Class, Fallback, Kind, Order, PROVIDERS, Row, Value, ranked, row};

/// The keys in the order of the documentation.
pub(super) const MODEL: &[Row] = &[
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
        Kind::Word(PROVIDERS),
        Fallback::Text("rules"),
        "where the model runs; `rules` is a few rules that stand in for a model, with nothing installed",
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
        "how often the model is asked again after a rejected response",
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
        "the message to the model per rejected call, with {error_message}, {error_position}, {malformed_json}, {tool_name} and {schema_example}; unset: the profile's feedback",
    ),
    row(
        "providers.*.tool_call_retry.stop_when_repeated",
        ranked("true < false"),
        Kind::Flag,
        Fallback::Profile(stops_when_repeated),
        "whether an answer that repeats the rejected one exactly ends the attempts",
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
        "whether arguments that a schema does not mention are rejected; sets the policy's `extra_args`",
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
];

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
