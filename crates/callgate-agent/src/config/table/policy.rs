//! Keys of the policy: a row for every knob, with which of its positions is the looser one.

use super::{LIMIT, TRUSTING};
use crate::config::row::{Kind, Row, knob, ranked};

/// The keys in the order of the documentation.
pub(super) const POLICY: &[Row] = &[
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
        "what one rejected call means for the others",
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
        "policy.untyped",
        TRUSTING,
        Kind::Word(&["json", "text", "python"]),
        "what a text value is of which no schema says the type",
    ),
    knob(
        "policy.special",
        ranked("required < either"),
        Kind::Word(&["either", "required"]),
        "how a marker must come that is a special token",
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
    knob("policy.limits.rejections", LIMIT, Kind::Count(1, 1_000_000), "the most rejections of one response"),
    knob("policy.limits.work", LIMIT, Kind::Count(1, 1 << 40), "the most counted work for one response"),
    knob("policy.limits.repairs", LIMIT, Kind::Count(0, 1_000_000), "the most repairs of one call"),
    knob(
        "policy.limits.raw",
        LIMIT,
        Kind::Count(0, 1 << 20),
        "how much of a rejected attempt a rejection quotes, in bytes",
    ),
    knob(
        "policy.limits.untrusted",
        TRUSTING,
        Kind::Count(0, 1 << 30),
        "the most untrusted text that calls are compared with, in bytes",
    ),
];
