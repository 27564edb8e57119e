//! Profiles: named bundles of dialects, policy, prompt and error rendering.

pub mod action;
mod feedback;
mod fenced;
mod labelled;
mod prompt;
pub mod strict_xml;
mod strikes;
pub mod structured;
mod table;
mod view;

use std::fmt;

pub use feedback::defuse;
pub use strikes::{Strike, StrikeLimit, StrikeMode, Strikes};
pub use view::{ProfileView, ViewError};

use crate::dialect::Record;
use crate::finding::{Code, Finding};
use crate::policy::Policy;
use crate::registry::Registry;
use crate::response::Response;
use table::{PROFILES, Row};

/// A named bundle: which dialects are live, what is allowed, how a model is taught and corrected.
#[derive(Clone, Copy)]
pub struct Profile {
    row: &'static Row,
}

impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Profile {}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Profile").field(&self.name()).finish()
    }
}

impl Profile {
    /// Every name, the default first.
    pub const NAMES: &'static [&'static str] = &{
        let mut names = [""; PROFILES.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = PROFILES[at].name;
            at += 1;
        }
        names
    };

    /// The default: native calls and every unmistakable dialect, lossless repair and coercion.
    pub fn standard() -> Self {
        Profile { row: &PROFILES[0] }
    }

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        PROFILES.iter().find(|row| row.name == name).map(|row| Profile { row })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.row.name
    }

    /// What it is, in one sentence.
    pub fn summary(&self) -> &'static str {
        self.row.summary
    }

    /// Its policy.
    pub fn policy(&self) -> Policy {
        (self.row.policy)()
    }

    /// The dialects it switches on, besides native calls; none where one has to be named.
    pub fn dialects(&self) -> &'static [&'static str] {
        self.row.dialects
    }

    /// Whether exactly one dialect has to be named.
    pub fn needs_dialect(&self) -> bool {
        self.row.needs_dialect
    }

    /// Whether calls come only through the structured channel, so that no dialect is taught.
    pub fn is_native(&self) -> bool {
        self.row.teaches.is_none()
    }

    /// The dialect that its prompt teaches, and in which a host writes earlier calls.
    pub fn teaches(&self) -> Option<&'static Record> {
        self.row.teaches.and_then(Record::named)
    }

    /// The section of a system prompt that teaches a model these tools in this format.
    pub fn prompt(&self, registry: &Registry) -> String {
        prompt::prompt(self, registry)
    }

    /// The calls that the prompt shows, one per tool. Each parses.
    pub fn examples(&self, registry: &Registry) -> Vec<String> {
        self.teaches().map_or_else(Vec::new, |record| record.examples(registry))
    }

    /// The message that tells the model what to correct; `None` if there is nothing.
    pub fn feedback(&self, response: &Response, registry: Option<&Registry>) -> Option<String> {
        feedback::feedback(self, response, registry)
    }

    /// What the document of this profile calls a finding, where it has a name for it.
    pub fn code(&self, code: Code) -> Option<&'static str> {
        (self.row.code)(code)
    }

    /// What findings of this code say in this profile.
    pub fn sentence(&self, code: Code) -> &'static str {
        sentence(self.row.sentences, code)
    }

    /// What a finding says in this profile: its document's sentence, unless something was said about this very input.
    pub fn message<'f>(&self, finding: &'f Finding) -> &'f str {
        message(self.row.sentences, finding)
    }

    /// The text of a response to this `input` as a host shows and keeps it. Where a document leaves text as it came, it is
    /// [`Response::text`].
    pub fn text(&self, response: &Response, input: &str) -> String {
        (self.row.text)(response, input)
    }

    /// What a host is told to do about a response to this `input`, where the document of this profile says something
    /// about every response.
    pub fn suggestion(&self, response: &Response, input: &str) -> Option<String> {
        (self.row.suggestion)(response, input)
    }

    /// Whether a response says, in the words of this profile, that the work is finished. Never while it calls tools.
    pub fn is_done(&self, response: &Response) -> bool {
        response.calls.is_empty() && response.rejected.is_empty() && (self.row.says_done)(&response.text)
    }

    /// How often a host asks again at once for what was rejected, unless it is told otherwise.
    pub fn retries(&self) -> u32 {
        self.row.retries
    }

    /// What a host asks again with for each rejected call, unless it is told otherwise; `None` if that is the feedback.
    pub fn retry_template(&self) -> Option<&'static str> {
        self.row.retry_template
    }

    /// Whether a host stops asking when the same mistake comes back, unless it is told otherwise.
    pub fn stops_when_repeated(&self) -> bool {
        self.row.stops_when_repeated
    }

    /// Whether a host stops the model once a call is complete, unless it is told otherwise.
    pub fn interrupts(&self) -> bool {
        self.row.interrupts
    }

    /// Whether unmistakable markers of dialects that were not chosen are listened for.
    pub(crate) fn listens(&self) -> bool {
        self.row.listens
    }

    /// Whether a response of nothing at all is an error.
    pub(crate) fn rejects_empty(&self) -> bool {
        self.row.rejects_empty
    }

    /// The codes that a model may give an error that it reports; any if there are none.
    pub(crate) fn reasons(&self) -> &'static [&'static str] {
        self.row.reasons
    }
}

/// What findings of a code say, given the sentences of a document.
fn sentence(sentences: &[(Code, &'static str)], code: Code) -> &'static str {
    sentences.iter().find(|(own, _)| *own == code).map_or(code.entry().message, |(_, sentence)| sentence)
}

/// The messages of findings, given the sentences of a document.
fn messages<'f>(sentences: &[(Code, &'static str)], findings: &'f [Finding]) -> Vec<&'f str> {
    findings.iter().map(|finding| message(sentences, finding)).collect()
}

/// The message of a finding: the document's own sentence, unless something was said about this very input.
fn message<'f>(sentences: &[(Code, &'static str)], finding: &'f Finding) -> &'f str {
    match finding.message == finding.code.entry().message {
        true => sentence(sentences, finding.code),
        false => &finding.message,
    }
}
