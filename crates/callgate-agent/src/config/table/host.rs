//! Keys of the host: what is asked before it runs, what a question may cost, tools and servers, and what is recorded.

use callgate::Profile;
use callgate::internal::profile::StrikeLimit;

use super::{DAY_MS, LIMIT, TRUSTED, TRUSTING};
use crate::config::row::{Class, Fallback, Kind, Row, Value, ranked, row};

/// How many rejected responses each document's system puts up with, where that is a number of its own.
fn strikes(profile: &Profile) -> Value {
    match StrikeLimit::of(profile) {
        StrikeLimit::Count(count) => Value::Count(count as u64),
        StrikeLimit::Retries | StrikeLimit::Turns => Value::Unset,
    }
}

fn is_native(profile: &Profile) -> Value {
    Value::Flag(profile.is_native())
}

fn interrupts(profile: &Profile) -> Value {
    Value::Flag(profile.interrupts())
}

/// The keys in the order of the documentation.
pub(super) const HOST: &[Row] = &[
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
    row(
        "approval.every_n",
        Class::Plain,
        Kind::EveryNth,
        Fallback::List(&[]),
        "rules by which every n-th call asks, counted from the last yes, whatever `approval.safe` allows: a number (1 to 100, 5 if it is left out) and a rule",
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
        Fallback::Profile(strikes),
        "how many rejected responses in a row end a question, those that were asked for again at once included; unset: `max_retry_attempts` and one, or where the profile puts an error into the next turn, `chat.max_turns`",
    ),
    row(
        "chat.strike_mode",
        ranked("at_limit < after_limit"),
        Kind::Word(&["at_limit", "after_limit"]),
        Fallback::Text("at_limit"),
        "whether the response that makes `chat.max_strikes` ends the question, or the one after it",
    ),
    row(
        "chat.native_tools",
        TRUSTING,
        Kind::Flag,
        Fallback::Profile(is_native),
        "whether tools are sent as a list, for the server's own template, and not taught in the prompt; text dialects are listened for all the same",
    ),
    row(
        "chat.stop_after_call",
        TRUSTING,
        Kind::Flag,
        Fallback::Profile(interrupts),
        "whether the model is stopped once a call is complete; what it would have written after it is neither waited for nor judged",
    ),
    row(
        "chat.context",
        LIMIT,
        Kind::Count(1_000, 100_000_000),
        Fallback::Count(400_000),
        "how much of the conversation is sent to the model; the oldest results of tools are left out first, then the oldest exchanges, never the last question",
    ),
    row(
        "chat.context_unit",
        Class::Plain,
        Kind::Word(&["characters", "tokens"]),
        Fallback::Text("characters"),
        "in what `chat.context` is counted; tokens as the server counted them in its last answer, four characters each until there is one",
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
        "chat.one_session",
        ranked("true < false"),
        Kind::Flag,
        Fallback::Flag(true),
        "whether a second session in the same folder is rejected for as long as the first runs; those that run with `false` do not count",
    ),
    row(
        "tools.rerun",
        ranked("off < transport < timeout"),
        Kind::Word(&["off", "transport", "timeout"]),
        Fallback::Text("off"),
        "after which failures a call that ran unasked is run once more: if what it needs could not be reached, or also if it took too long",
    ),
    row(
        "tools.max_reruns",
        LIMIT,
        Kind::Count(1, 10),
        Fallback::Count(2),
        "how often at most; before each time 100 ms more are waited",
    ),
    row(
        "tools.shell",
        Class::Own,
        Kind::Flag,
        Fallback::Flag(false),
        "whether the model gets `bash_command`, a shell in the workspace; every command asks, whatever a rule allows",
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
