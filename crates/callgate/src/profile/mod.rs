//! Profiles: named bundles of dialects, policy, prompt and error rendering.

pub mod action;
mod feedback;
pub mod labelled;
mod prompt;
pub mod strict_xml;
pub mod structured;

pub use feedback::defuse;

use crate::finding::Code;
use crate::policy::{
    BlankArgs, Coerce, Dangerous, DuplicateKeys, Echo, Endings, Excess, ExtraArgs, Foreign, Members,
    NameRule, OnMalformed, Partial, Policy, Position, Quote, Region, RepairPolicy, RequireCall,
    TruncatedPolicy,
};
use crate::registry::Registry;
use crate::response::Response;

/// A named bundle: which dialects are live, what is allowed, how a model is taught and corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Standard,
    Strict,
    Guarded,
    Lenient,
    Action,
    Structured,
    Fenced,
    Labelled,
    StrictXml,
}

impl Profile {
    /// Every name, the default first.
    pub const NAMES: &'static [&'static str] = &[
        "standard",
        "strict",
        "guarded",
        "lenient",
        "action",
        "structured",
        "fenced",
        "labelled",
        "strict-xml",
    ];

    /// The default: native calls and every unmistakable dialect, lossless repair and coercion.
    pub fn standard() -> Self {
        Profile { kind: Kind::Standard }
    }

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        let kind = match name {
            "standard" => Kind::Standard,
            "strict" => Kind::Strict,
            "guarded" => Kind::Guarded,
            "lenient" => Kind::Lenient,
            "action" => Kind::Action,
            "structured" => Kind::Structured,
            "fenced" => Kind::Fenced,
            "labelled" => Kind::Labelled,
            "strict-xml" => Kind::StrictXml,
            _ => return None,
        };
        Some(Profile { kind })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Standard => "standard",
            Kind::Strict => "strict",
            Kind::Guarded => "guarded",
            Kind::Lenient => "lenient",
            Kind::Action => "action",
            Kind::Structured => "structured",
            Kind::Fenced => "fenced",
            Kind::Labelled => "labelled",
            Kind::StrictXml => "strict-xml",
        }
    }

    /// What it is, in one sentence.
    pub fn summary(&self) -> &'static str {
        match self.kind {
            Kind::Standard => "native calls and every unmistakable dialect; lossless repair and coercion",
            Kind::Strict => "the same formats, no repair, no coercion, all or nothing",
            Kind::Guarded => {
                "for tools that can do harm: one named dialect at line start, nothing repaired, a known good ending"
            }
            Kind::Lenient => "full repair, guesses reported, unmistakable calls in fences are live",
            Kind::Action => {
                "one JSON object with \"type\": \"action\" or \"error\" at the end of the response"
            }
            Kind::Structured => "native calls only, fully repaired, with codes ACODE-TLP-001 and on",
            Kind::Fenced => "only ```json blocks with a top-level \"tool\"; all other JSON is left alone",
            Kind::Labelled => "TOOL_CALL: and ARGS: lines, or the line protocol REPLOID/0; many calls",
            Kind::StrictXml => "<tool>…</tool> with a JSON body or parameter tags; fail fast, three strikes",
        }
    }

    /// Its policy.
    pub fn policy(&self) -> Policy {
        let standard = Policy::default();
        // The five systems of the source documents share their limits and take only their own format for a call.
        let document = || {
            let mut policy = Policy {
                repair: RepairPolicy::Off,
                coerce: Coerce::TextBorn,
                foreign: Foreign::Ignore,
                max_calls: 64,
                ..Policy::default()
            };
            policy.limits.arguments = 1 << 20;
            policy
        };
        let strict = || Policy {
            repair: RepairPolicy::Off,
            coerce: Coerce::Off,
            partial: Partial::AllOrNothing,
            blank_args: BlankArgs::Reject,
            members: Members::Reject,
            foreign: Foreign::Reject,
            indented: Quote::Dead,
            ..Policy::default()
        };
        match self.kind {
            Kind::Standard => standard,
            Kind::Strict => strict(),
            // A repaired call is one that the model did not write, so nothing is repaired here either.
            Kind::Guarded => Policy {
                endings: Endings::Good,
                position: Position::LineStart,
                dangerous: Dangerous::All,
                echo: Echo::Reject,
                ..strict()
            },
            Kind::Lenient => Policy {
                repair: RepairPolicy::Full,
                truncated: TruncatedPolicy::Complete,
                fences: Region::Live,
                extra_args: ExtraArgs::Drop,
                duplicate_keys: DuplicateKeys::KeepLast,
                ..standard
            },
            Kind::Action => Policy {
                fences: Region::Sole,
                position: Position::Trailing,
                max_calls: 1,
                on_excess: Excess::Reject,
                on_malformed: OnMalformed::AsText,
                name_rule: NameRule::ascii("."),
                ..document()
            },
            Kind::Structured => Policy {
                repair: RepairPolicy::Full,
                truncated: TruncatedPolicy::Complete,
                name_rule: NameRule::ascii(""),
                ..document()
            },
            Kind::Fenced => document(),
            Kind::Labelled => Policy {
                repair: RepairPolicy::Backtick,
                extra_args: ExtraArgs::Allow,
                max_calls: 8,
                name_rule: NameRule::ascii(""),
                ..document()
            },
            Kind::StrictXml => Policy {
                partial: Partial::AllOrNothing,
                extra_args: ExtraArgs::Allow,
                require_call: RequireCall::Always,
                name_rule: NameRule::ascii(""),
                ..document()
            },
        }
    }

    /// The dialects it switches on, besides native calls; none where one has to be named.
    pub fn dialects(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Standard | Kind::Strict | Kind::Lenient => &["auto"],
            Kind::Guarded => &[],
            Kind::Action => &["action-json"],
            Kind::Structured => &["native"],
            Kind::Fenced => &["fenced-json"],
            Kind::Labelled => &["tool-call-args", "reploid0", "reploid0-plan"],
            Kind::StrictXml => &["tool-xml"],
        }
    }

    /// The section of a system prompt that teaches a model these tools in this format.
    pub fn prompt(&self, registry: &Registry) -> String {
        prompt::prompt(self, registry)
    }

    /// The calls that the prompt shows, one per tool. Each parses.
    pub fn examples(&self, registry: &Registry) -> Vec<String> {
        prompt::examples(self, registry)
    }

    /// The message that tells the model what to correct; `None` if there is nothing.
    pub fn feedback(&self, response: &Response, registry: Option<&Registry>) -> Option<String> {
        feedback::feedback(self, response, registry)
    }

    /// What the document of this profile calls a finding, where it has a name for it.
    pub fn code(&self, code: Code) -> Option<&'static str> {
        match self.kind {
            Kind::Action => action::code(code),
            Kind::Structured => structured::code(code),
            Kind::StrictXml => strict_xml::code(code),
            _ => None,
        }
    }

    /// Whether unmistakable markers of dialects that were not chosen are listened for.
    pub(crate) fn listens(&self) -> bool {
        matches!(self.kind, Kind::Standard | Kind::Strict | Kind::Guarded | Kind::Lenient | Kind::StrictXml)
    }

    /// Whether exactly one dialect has to be named.
    pub fn needs_dialect(&self) -> bool {
        self.kind == Kind::Guarded
    }

    /// Whether a response of nothing at all is an error.
    pub(crate) fn refuses_empty(&self) -> bool {
        self.kind == Kind::Action
    }
}
