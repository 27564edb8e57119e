//! Policy: what the gate allows. Strictness is data, not code.

mod knobs;
mod setting;

pub use setting::{bytes, flag};

use serde::{Deserialize, Serialize};

/// Which repairs may be made to read a broken attempt, from none to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepairPolicy {
    /// None: what strict reading rejects is rejected.
    Off,
    /// Only strings in backticks, as the labelled format writes them.
    Backtick,
    /// Those with one possible reading.
    Lossless,
    /// All of the closed list; guesses are reported as such.
    Full,
}

/// Whether values may be changed to fit their schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coerce {
    /// Never. The text of a tag has the type that its schema gives all the same.
    Off,
    /// Only values of a format that cannot say a type: text in tags, or lines.
    Untyped,
    /// Any value, by the closed table, where exactly one change makes it valid.
    Lossless,
}

/// What happens to a call whose last value runs into the end of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TruncatedPolicy {
    /// It is rejected.
    Reject,
    /// The value is closed, as a guess, if the provider said that the model came to its end and the tool is not
    /// dangerous. Where nobody said, only a call whose values are all complete is closed, as a guess too.
    Complete,
}

/// Which endings of a response let calls out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endings {
    /// All, for calls that are closed.
    Any,
    /// Only those by which the provider said that the model came to its end.
    Good,
}

/// What members of a call object mean that its format does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Members {
    /// The call is rejected.
    Reject,
    /// The call stands and they are reported, unless the tool is dangerous: then it is rejected.
    Report,
}

/// Which tools are dangerous, so that nothing about their calls may be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dangerous {
    /// Those that say so.
    Marked,
    /// All.
    All,
}

/// What a call inside a code fence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// Not a call.
    Dead,
    /// A call.
    Live,
    /// A call only if the region is the whole response.
    Sole,
}

/// Where in the response a call may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Position {
    /// Anywhere.
    Anywhere,
    /// At the start of a line.
    LineStart,
    /// Nothing but white space may follow the last call.
    Trailing,
}

/// What more calls than `max_calls` mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Excess {
    /// Each call over the limit is rejected.
    Report,
    /// All calls are rejected as ambiguous.
    Reject,
}

/// What one rejected call means for the others of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partial {
    /// The good ones stand.
    KeepGood,
    /// None stands.
    AllOrNothing,
}

/// What an argument that the schema does not mention means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtraArgs {
    /// The call is rejected.
    Reject,
    /// The argument is dropped, listed as a coercion.
    Drop,
    /// The argument is passed on.
    Allow,
}

/// What a call without arguments means, where its format has a place for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlankArgs {
    /// The call is rejected.
    Reject,
    /// It has an empty object, listed as a repair, if it is complete and the tool requires nothing.
    Empty,
}

/// Whether a response without a call is a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequireCall {
    /// Never.
    Never,
    /// If the response tries to call in a format that is not switched on.
    IfAttempted,
    /// Always.
    Always,
}

/// What calls in a quotation, in inline code, in indented code or in reasoning are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quote {
    /// Calls inside are not calls.
    Dead,
    /// Calls inside are calls.
    Live,
}

/// When accepted calls come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// At the end of the response, when nothing can revoke them any more.
    AtEnd,
    /// As soon as each is judged. Not to be combined with a rule that can still revoke a call.
    Early,
}

/// What a call is that repeats untrusted text of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Echo {
    /// A call with the finding `echo`.
    Report,
    /// Rejected as `echoed-call`.
    Reject,
}

/// Which names are names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct NameRule {
    /// The characters allowed besides ASCII letters, digits and `_`.
    pub extra: String,
    /// The longest name, in characters.
    pub max: usize,
}

impl NameRule {
    /// ASCII letters, digits, `_` and the characters of `extra`, at most 64.
    pub fn ascii(extra: &str) -> Self {
        NameRule { extra: extra.to_owned(), max: 64 }
    }

    /// Whether a character may stand in a name.
    pub fn allows(&self, c: char) -> bool {
        c.is_ascii_alphanumeric() || c == '_' || self.extra.contains(c)
    }
}

impl Default for NameRule {
    fn default() -> Self {
        NameRule::ascii(".-")
    }
}

/// Limits count input bytes and fire at exact offsets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// The largest arguments of one call, in bytes.
    pub arguments: usize,
    /// The deepest nesting; the arguments object is depth 1.
    pub depth: usize,
    /// The most text that may be held back while it is undecided, in bytes.
    pub held: usize,
    /// The most repairs of one call: a deterministic stand-in for a time limit, since the work is linear anyway.
    pub repairs: usize,
    /// How much of a rejected attempt is copied into the rejection, in bytes.
    pub raw: usize,
    /// The most rejections of one response: what follows them is one more rejection, to its end.
    pub rejections: usize,
    /// The most work for one response, counted and not timed: its bytes, the values that schemas look at, and the names
    /// that are compared. What follows is not read.
    pub work: usize,
    /// The most untrusted text that calls are compared with, in bytes.
    pub untrusted: usize,
}

/// Everything the gate allows or rejects, as data. What is left out of the data is as in the profile `standard`; a knob
/// that there is not is an error.
///
/// ```
/// use callgate::{Gate, Policy, Profile};
///
/// let strict = Profile::standard().policy().repair_off().partial_all_or_nothing().max_calls(4);
/// let same: Policy =
///     serde_json::from_str(r#"{"repair": "off", "partial": "all-or-nothing", "max_calls": 4}"#)?;
/// assert_eq!(strict, same);
/// let gate = Gate::builder().policy(strict).build()?;
/// let broken = gate.parse("<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": 1,}}</tool_call>");
/// assert_eq!(broken.rejected[0].findings[0].code.word(), "bad-json");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// Which repairs may be made.
    #[doc(hidden)]
    pub repair: RepairPolicy,
    /// Whether values may be fitted to their schema.
    #[doc(hidden)]
    pub coerce: Coerce,
    /// What a cut-off value means.
    #[doc(hidden)]
    pub truncated: TruncatedPolicy,
    /// Which endings let calls out.
    #[doc(hidden)]
    pub endings: Endings,
    /// What a call in a code fence is.
    #[doc(hidden)]
    pub fences: Region,
    /// What a call in inline code or a quotation is.
    #[doc(hidden)]
    pub quote: Quote,
    /// What a call in a block of code by indentation is.
    #[doc(hidden)]
    pub indented: Quote,
    /// What a call inside reasoning is.
    #[doc(hidden)]
    pub reasoning: Quote,
    /// Where a call may stand.
    #[doc(hidden)]
    pub position: Position,
    /// The most calls of one response.
    #[doc(hidden)]
    pub max_calls: usize,
    /// What more calls mean.
    #[doc(hidden)]
    pub on_excess: Excess,
    /// What one rejection means for the rest.
    #[doc(hidden)]
    pub partial: Partial,
    /// What unknown arguments mean.
    #[doc(hidden)]
    pub extra_args: ExtraArgs,
    /// What absent, blank or null arguments mean.
    #[doc(hidden)]
    pub blank_args: BlankArgs,
    /// What unknown members of a call object mean.
    #[doc(hidden)]
    pub members: Members,
    /// Which tools are dangerous.
    #[doc(hidden)]
    pub dangerous: Dangerous,
    /// Whether a call is required.
    #[doc(hidden)]
    pub require_call: RequireCall,
    /// Whether a format that was not chosen by name is live.
    #[doc(hidden)]
    pub foreign: Foreign,
    /// Which names are names.
    #[doc(hidden)]
    pub name_rule: NameRule,
    /// When calls come out.
    #[doc(hidden)]
    pub release: Release,
    /// What an echo of untrusted text means.
    #[doc(hidden)]
    pub echo: Echo,
    /// Whether keys that stand twice keep the last value, as a guess.
    #[doc(hidden)]
    pub duplicate_keys: DuplicateKeys,
    /// What a text value is of which no schema says the type.
    #[doc(hidden)]
    pub untyped: Untyped,
    /// How a marker must come that is a special token of the model's vocabulary: between bars (`<|call|>`), as a label
    /// (`[TOOL_CALLS]`), or named by the dialect (`<tool_call>` of Qwen). Marks inside of a body, as private quotes are, count however they came.
    /// A call that lacks the wrapper which is such a token is none.
    #[doc(hidden)]
    pub special: Special,
    /// Limits.
    #[doc(hidden)]
    pub limits: Limits,
}

/// How the marker of a call must come, where it is a special token of the model's vocabulary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Special {
    /// As special tokens or as text with the same letters.
    #[default]
    Either,
    /// As special tokens: the same letters in text are text.
    Required,
}

/// What a key that stands twice in one object means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateKeys {
    /// The call is rejected.
    Reject,
    /// The last one wins, as a guess, whatever else may be repaired.
    KeepLast,
}

/// What a value is that its format writes as text, where no schema says its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Untyped {
    /// JSON if it reads as such and is no string, else text.
    #[default]
    Json,
    /// Text.
    Text,
    /// JSON or a Python literal if it reads as such and is no string, else text.
    Python,
}

/// What a call in a dialect that was not chosen by name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Foreign {
    /// A call, if its marker is unmistakable.
    Live,
    /// Rejected, and said so.
    Reject,
    /// Text.
    Ignore,
}

impl Default for Policy {
    /// The policy of the profile `standard`.
    fn default() -> Self {
        Policy {
            repair: RepairPolicy::Lossless,
            coerce: Coerce::Lossless,
            truncated: TruncatedPolicy::Reject,
            endings: Endings::Any,
            fences: Region::Dead,
            quote: Quote::Dead,
            indented: Quote::Live,
            reasoning: Quote::Dead,
            position: Position::Anywhere,
            max_calls: 128,
            on_excess: Excess::Report,
            partial: Partial::KeepGood,
            extra_args: ExtraArgs::Reject,
            blank_args: BlankArgs::Empty,
            members: Members::Report,
            dangerous: Dangerous::Marked,
            require_call: RequireCall::Never,
            foreign: Foreign::Live,
            name_rule: NameRule::default(),
            release: Release::AtEnd,
            echo: Echo::Report,
            duplicate_keys: DuplicateKeys::Reject,
            untyped: Untyped::Json,
            special: Special::Either,
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            arguments: 16 << 20,
            depth: 64,
            held: 64 << 10,
            repairs: 4096,
            raw: 4096,
            rejections: 512,
            work: 1 << 30,
            untrusted: 16 << 20,
        }
    }
}
