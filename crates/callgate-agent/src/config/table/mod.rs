//! The table of keys: every key with who may set it, its type, its range, its default and what it decides. Reading, the command's
//! listing and the page in `docs/` all come from here.

mod host;
mod model;
mod policy;

use super::row::{Class, Order, Row};

/// Every key, in the order of the documentation.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [model::MODEL, policy::POLICY, host::HOST].into_iter().flatten()
}

/// The longest time that can be set: a day.
const DAY_MS: u64 = 86_400_000;

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
