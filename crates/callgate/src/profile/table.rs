//! The table of profiles: one row each, with everything that makes it differ from the others.

use super::{StrikeLimit, action, fenced, labelled, messages, strict_xml, structured, view};
use crate::dialect::Record;
use crate::event::Rejected;
use crate::finding::{Code, Finding};
use crate::policy::{
    BlankArgs, Coerce, Dangerous, DuplicateKeys, Echo, Endings, Excess, ExtraArgs, Foreign, Members,
    NameRule, Partial, Policy, Position, Quote, Region, RepairPolicy, RequireCall, TruncatedPolicy,
};
use crate::registry::Registry;
use crate::response::Response;
use crate::schema::CompiledTool;

/// Everything about one profile.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    /// What it is, in one sentence.
    pub(super) summary: &'static str,
    /// The dialects it switches on, besides native calls; none where one has to be named.
    pub(super) dialects: &'static [&'static str],
    /// The dialect of its prompt; none where calls come only through the structured channel.
    pub(super) teaches: Option<&'static str>,
    /// Whether exactly one dialect has to be named.
    pub(super) needs_dialect: bool,
    /// Whether unmistakable markers of dialects that were not chosen are listened for.
    pub(super) listens: bool,
    /// Whether a response of nothing at all is an error.
    pub(super) rejects_empty: bool,
    pub(super) policy: fn() -> Policy,
    /// What its prompt says about the format, before the examples; `{tool}` stands for the first tool, `{arguments}` for
    /// its example.
    pub(super) rules: &'static str,
    /// What its prompt says after the examples.
    pub(super) ending: &'static str,
    /// Whole files, place and text, that the prompt shows being written where a tool does that.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// The codes that a model may give an error that it reports; any if there are none.
    pub(super) reasons: &'static [&'static str],
    /// What its document calls a finding.
    pub(super) code: fn(Code) -> Option<&'static str>,
    /// The sentences of its document for findings that it has a sentence for.
    pub(super) sentences: &'static [(Code, &'static str)],
    pub(super) feedback: Feedback,
    /// What a response is, `text`, `action` or `error`, given the input.
    pub(super) kind: fn(&Response, &str) -> &'static str,
    /// What is wrong with a rejected call, all of it, given the sentences of the document.
    pub(super) error: fn(&[(Code, &'static str)], &Rejected) -> String,
    /// What a host is told to do about a response, where its document says something about every response.
    pub(super) suggestion: fn(&Response, &str) -> Option<String>,
    /// The text of a response as its document shows and keeps it, given the input.
    pub(super) text: fn(&Response, &str) -> String,
    /// Whether a text without a call says that the work is finished.
    pub(super) says_done: fn(&str) -> bool,
    /// What is said at the last of too many rejected responses in a row; `{limit}` stands for their number,
    /// `{retries}` for how often it was asked again.
    pub(super) last_strike: &'static str,
    /// How many rejected responses in a row end a question in its document's system.
    pub(super) strikes: StrikeLimit,
    /// How often its document's system asks again at once for what was rejected, before anything runs.
    pub(super) retries: u32,
    /// What asks again for one rejected call, where that is not the feedback.
    pub(super) retry_template: Option<&'static str>,
    /// Whether the model is stopped once a call is complete.
    pub(super) interrupts: bool,
    /// Whether it stops asking when the same mistake comes back.
    pub(super) stops_when_repeated: bool,
}

/// How a profile words its feedback to a model.
#[derive(Clone, Copy)]
pub(super) struct Feedback {
    /// How it begins; `{calls}` stands for "One call was rejected" or "Some calls were rejected".
    pub(super) opening: &'static str,
    /// What stands before the message of a finding, about the tool of this name.
    pub(super) lead: fn(&Finding, &str) -> String,
    /// The message in the words of the document, where the finding has made one of its own.
    pub(super) rewords: fn(&Finding) -> Option<String>,
    /// What is said about a tool besides its schema and an example.
    pub(super) expects: fn(&CompiledTool) -> Option<String>,
    /// What is said about the format in the end, which is written in the dialect that the profile teaches.
    pub(super) format: fn(&Record, &[&Rejected], &Registry) -> Option<String>,
}

/// The rules where the examples say the rest.
pub(super) const BLOCKS: &str = "To call a tool, write one block like those below, outside of code fences. Several blocks may follow each other.\n";

/// What a profile is if its row says nothing else: the default itself.
const STANDARD: Row = Row {
    name: "standard",
    summary: "native calls and every unmistakable dialect; lossless repair and coercion",
    dialects: &["auto"],
    teaches: Some("hermes"),
    needs_dialect: false,
    listens: true,
    rejects_empty: false,
    policy: Policy::default,
    rules: BLOCKS,
    ending: "",
    files: &[],
    reasons: &[],
    code: |_| None,
    sentences: &[],
    feedback: Feedback {
        opening: "{calls}. Nothing of it was run.",
        lead: |_, _| String::new(),
        rewords: |_| None,
        expects: |_| None,
        format: |_, _, _| None,
    },
    kind: view::kind,
    error: |sentences, rejected| messages(sentences, &rejected.findings).join("; "),
    suggestion: |_, _| None,
    text: |response, _| response.text.clone(),
    says_done: |_| false,
    last_strike: "The limit of rejected responses in a row is reached ({limit}).",
    strikes: StrikeLimit::Retries,
    retries: 2,
    retry_template: None,
    interrupts: false,
    stops_when_repeated: true,
};

/// Every profile, the default first.
pub(super) const PROFILES: &[Row] = &[
    STANDARD,
    Row {
        name: "strict",
        summary: "the same formats, no repair, no coercion, all or nothing",
        policy: strict,
        ..STANDARD
    },
    Row {
        name: "guarded",
        summary: "for tools that can do harm: one named dialect at line start, nothing repaired, a known good ending",
        dialects: &[],
        needs_dialect: true,
        // A repaired call is one that the model did not write, so nothing is repaired here either.
        policy: || Policy {
            endings: Endings::Good,
            position: Position::LineStart,
            dangerous: Dangerous::All,
            echo: Echo::Reject,
            ..strict()
        },
        ..STANDARD
    },
    Row {
        name: "lenient",
        summary: "full repair, guesses reported, unmistakable calls in fences are live",
        policy: || Policy {
            repair: RepairPolicy::Full,
            truncated: TruncatedPolicy::Complete,
            fences: Region::Live,
            extra_args: ExtraArgs::Drop,
            duplicate_keys: DuplicateKeys::KeepLast,
            ..Policy::default()
        },
        ..STANDARD
    },
    Row {
        name: "action",
        summary: "one JSON object with \"type\": \"action\" or \"error\" at the end of the response",
        dialects: &["action-json"],
        teaches: Some("action-json"),
        listens: false,
        rejects_empty: true,
        policy: || Policy {
            fences: Region::Sole,
            position: Position::Trailing,
            max_calls: 1,
            on_excess: Excess::Reject,
            name_rule: NameRule::ascii("."),
            ..document()
        },
        rules: "Structured output is mandatory. To call a tool, answer with one JSON object and nothing after it:\n\
             - always say \"type\": \"action\", name the tool, and put its arguments in \"args\";\n\
             - call one tool at a time;\n\
             - paths are relative and stay inside the repository;\n\
             - never invent the contents of a file.\n",
        ending: "If you cannot go on, answer with an error object instead:\n\n\
             {\"type\": \"error\", \"code\": \"permission_denied\", \"message\": \"why\"}\n\n\
             The code is one of permission_denied, invalid_args, tool_not_found.\n",
        reasons: &["permission_denied", "invalid_args", "tool_not_found"],
        code: action::code,
        sentences: action::SENTENCES,
        suggestion: action::suggestion,
        kind: action::kind,
        error: action::error,
        text: action::text,
        last_strike: action::SUGGESTION,
        retry_template: Some(action::RETRY),
        retries: 0,
        ..STANDARD
    },
    Row {
        name: "structured",
        summary: "native calls only, fully repaired, with codes ACODE-TLP-001 and on",
        dialects: &["native"],
        teaches: None,
        listens: false,
        policy: || Policy {
            repair: RepairPolicy::Full,
            truncated: TruncatedPolicy::Complete,
            name_rule: NameRule::ascii(""),
            ..document()
        },
        rules: "Call tools through the structured tool_calls channel only. Arguments are one JSON object.\n",
        code: structured::code,
        sentences: structured::SENTENCES,
        error: structured::error,
        last_strike: "Failed to parse tool calls after {retries} retry attempts",
        retries: 3,
        retry_template: Some(structured::RETRY),
        stops_when_repeated: false,
        ..STANDARD
    },
    Row {
        name: "fenced",
        summary: "only ```json blocks with a top-level \"tool\"; all other JSON is left alone",
        dialects: &["fenced-json"],
        teaches: Some("fenced-json"),
        listens: false,
        policy: document,
        rules: "To call a tool, write a ```json block with the keys \"tool\" and \"arguments\", starting on a line of its \
             own. JSON without a \"tool\" key is taken as data.\n",
        feedback: Feedback { opening: "{calls} and not run.", lead: fenced::lead, ..STANDARD.feedback },
        error: fenced::error,
        strikes: StrikeLimit::Turns,
        retries: 0,
        ..STANDARD
    },
    Row {
        name: "labelled",
        summary: "TOOL_CALL: and ARGS: lines, or the line protocol REPLOID/0; many calls",
        dialects: &["tool-call-args", "reploid0", "reploid0-plan"],
        teaches: Some("tool-call-args"),
        listens: false,
        policy: || Policy {
            repair: RepairPolicy::Backtick,
            extra_args: ExtraArgs::Allow,
            max_calls: 8,
            name_rule: NameRule::ascii(""),
            ..document()
        },
        rules: "To call a tool, write a line TOOL_CALL: with its name and a line ARGS: with its arguments as JSON, both \
             at the start of a line. Several calls may follow each other.\n",
        feedback: Feedback {
            opening: "TOOL_CALL_PARSE_ERROR\n{calls}. The tool was not executed.",
            lead: labelled::lead,
            rewords: labelled::rewords,
            ..STANDARD.feedback
        },
        error: labelled::error,
        says_done: labelled::says_done,
        strikes: StrikeLimit::Turns,
        retries: 0,
        ..STANDARD
    },
    Row {
        name: "strict-xml",
        summary: "<tool>…</tool> with a JSON body or parameter tags; fail fast, three strikes",
        dialects: &["tool-xml"],
        teaches: Some("tool-xml"),
        listens: false,
        policy: || Policy {
            partial: Partial::AllOrNothing,
            extra_args: ExtraArgs::Allow,
            require_call: RequireCall::Always,
            name_rule: NameRule::ascii(""),
            ..document()
        },
        rules: strict_xml::RULES,
        ending: strict_xml::RIGHT,
        files: strict_xml::FILES,
        code: strict_xml::code,
        error: strict_xml::error,
        text: strict_xml::text,
        feedback: Feedback {
            lead: strict_xml::lead,
            rewords: strict_xml::rewords,
            expects: strict_xml::expects,
            format: strict_xml::format,
            ..STANDARD.feedback
        },
        last_strike: "Maximum mistakes reached ({limit}). Please follow the strict XML format.",
        strikes: StrikeLimit::Count(3),
        interrupts: true,
        retries: 0,
        ..STANDARD
    },
];

fn strict() -> Policy {
    Policy {
        repair: RepairPolicy::Off,
        coerce: Coerce::Off,
        partial: Partial::AllOrNothing,
        blank_args: BlankArgs::Reject,
        members: Members::Reject,
        foreign: Foreign::Reject,
        indented: Quote::Dead,
        ..Policy::default()
    }
}

/// The five systems of the source documents share their limits and take only their own format for a call.
fn document() -> Policy {
    let mut policy = Policy {
        repair: RepairPolicy::Off,
        coerce: Coerce::Untyped,
        foreign: Foreign::Ignore,
        max_calls: 64,
        ..Policy::default()
    };
    policy.limits.arguments = 1 << 20;
    policy
}
