//! Strikes: how many responses in a row were rejected, and when that is too many.

use super::{Profile, message};
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
    /// What happened: the cause, or at the last one what the profile says then.
    pub message: String,
    /// The message of the first error.
    pub cause: String,
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

/// When a host stops asking for what was rejected, unless it is told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrikeLimit {
    /// When it has asked again at once as often as it may.
    Retries,
    /// With this many rejected responses in a row.
    Count(usize),
    /// Never by itself: the error goes into the next turn, and turns have a limit of their own.
    Turns,
}

impl StrikeLimit {
    /// When a host of this profile stops.
    pub fn of(profile: &Profile) -> Self {
        profile.row.strikes
    }
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

    /// How many more rejected responses it takes to reach the limit.
    pub fn left(&self) -> usize {
        self.end().saturating_sub(self.count)
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
        if first_error(response, gate.profile().row.sentences).is_some() {
            return Some(self.strike(response, gate));
        }
        if !response.calls.is_empty() {
            self.count = 0;
        }
        None
    }

    /// Counts a response that was rejected. One without an error of its own holds words where a call was asked for.
    pub fn strike(&mut self, response: &Response, gate: &Gate) -> Strike {
        let row = gate.profile().row;
        let error = first_error(response, row.sentences);
        let (code, cause) =
            error.unwrap_or_else(|| (Code::NoCall, gate.profile().sentence(Code::NoCall).to_owned()));
        self.count += 1;
        let is_last = self.count >= self.end();
        let message = match is_last {
            true => row
                .last_strike
                .replace("{limit}", &self.limit.to_string())
                .replace("{retries}", &(self.count - 1).to_string()),
            false => cause.clone(),
        };
        let details = gate.profile().feedback(response, gate.registry()).unwrap_or_default();
        Strike { code, is_last, message, cause, details }
    }

    /// The number of the strike that is the last.
    fn end(&self) -> usize {
        match self.mode {
            StrikeMode::AtLimit => self.limit.max(1),
            StrikeMode::AfterLimit => self.limit.saturating_add(1),
        }
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
