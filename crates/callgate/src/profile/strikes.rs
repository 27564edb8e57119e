//! Strikes: how many responses in a row were rejected, and when that is too many.

use super::message;
use crate::finding::{Code, Severity};
use crate::gate::Gate;
use crate::response::Response;

/// A rejected response, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// The first error of the response.
    pub code: Code,
    /// Whether the limit is reached with it.
    pub is_last: bool,
    /// What happened.
    pub message: String,
    /// What to write instead.
    pub details: String,
}

/// When the limit of mistakes is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrikeMode {
    /// With the mistake that makes the limit.
    #[default]
    AtLimit,
    /// With the first mistake after it.
    AfterLimit,
}

/// The counter of rejected responses of one conversation.
#[derive(Clone, Debug)]
pub struct Strikes {
    limit: usize,
    mode: StrikeMode,
    count: usize,
}

impl Default for Strikes {
    fn default() -> Self {
        Strikes::new(3, StrikeMode::AtLimit)
    }
}

impl Strikes {
    /// A counter with this limit.
    pub fn new(limit: usize, mode: StrikeMode) -> Self {
        Strikes { limit, mode, count: 0 }
    }

    /// How many responses in a row were rejected.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Starts anew.
    pub fn reset(&mut self) {
        self.count = 0;
    }

    /// Counts a response: one strike if anything in it was rejected, none and a fresh start if a call stands.
    ///
    /// A response that is only text, where that is allowed, changes nothing: otherwise words between mistakes would
    /// wipe them out.
    pub fn judge(&mut self, response: &Response, gate: &Gate) -> Option<Strike> {
        let row = gate.profile().row;
        let Some((code, message)) = first_error(response, row.sentences) else {
            if !response.calls.is_empty() {
                self.count = 0;
            }
            return None;
        };
        self.count += 1;
        let is_last = match self.mode {
            StrikeMode::AtLimit => self.count >= self.limit,
            StrikeMode::AfterLimit => self.count > self.limit,
        };
        let message = match is_last {
            true => row.last_strike.replace("{limit}", &self.limit.to_string()),
            false => message,
        };
        let details = gate.profile().feedback(response, gate.registry()).unwrap_or_default();
        Some(Strike { code, is_last, message, details })
    }
}

/// The first error of a response and its message.
fn first_error(response: &Response, sentences: &[(Code, &'static str)]) -> Option<(Code, String)> {
    let rejected = response
        .rejected
        .iter()
        .filter_map(|rejected| rejected.findings.first())
        .filter(|finding| finding.code != Code::Sibling);
    let whole = response.findings.iter().filter(|finding| finding.severity() == Severity::Error);
    let finding = rejected.chain(whole).next()?;
    Some((finding.code, message(sentences, finding).to_owned()))
}
