//! What `callgate scan --report` gathers while it judges: counts and a few examples, however much there is to read.
//!
//! Threads gather by block, and blocks are added in the order of the input. What is kept does not depend on where blocks
//! end: names are kept in the order in which they first came, and an example is kept as long as one of its kinds has room.

mod examples;
mod html;
mod names;
mod tables;

use std::collections::BTreeMap;

use callgate::{Code, RepairCode, Response};

pub(crate) use examples::{Example, Examples, Judged};
pub(crate) use html::page;
pub(crate) use names::Names;
pub(crate) use tables::tables;

/// The name that stands for a call without one.
const NAMELESS: &str = "(without a name)";
/// The name that stands for a model that nobody named.
const UNKNOWN_MODEL: &str = "(not said)";

/// What became of a response as a whole, or of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Accepted,
    Repaired,
    Rejected,
    NoCall,
}

impl Verdict {
    pub(crate) const ALL: [Verdict; 4] =
        [Verdict::Accepted, Verdict::Repaired, Verdict::Rejected, Verdict::NoCall];

    pub(crate) fn of(response: &Response) -> Verdict {
        let is_changed = |call: &callgate::Call| !call.repairs.is_empty() || !call.coercions.is_empty();
        if !response.rejected.is_empty() || response.has_errors() {
            Verdict::Rejected
        } else if response.calls.iter().any(is_changed) {
            Verdict::Repaired
        } else if response.calls.is_empty() {
            Verdict::NoCall
        } else {
            Verdict::Accepted
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Verdict::Accepted => "accepted",
            Verdict::Repaired => "repaired",
            Verdict::Rejected => "rejected",
            Verdict::NoCall => "no call",
        }
    }

    /// Its class in the style of the pages.
    fn class(self) -> &'static str {
        match self {
            Verdict::NoCall => "none",
            other => other.word(),
        }
    }
}

/// How often there was each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdicts([u64; 4]);

impl Verdicts {
    pub(crate) fn note(&mut self, verdict: Verdict) {
        self.0[verdict as usize] += 1;
    }

    pub(crate) fn add(&mut self, other: &Verdicts) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
    }

    pub(crate) fn get(&self, verdict: Verdict) -> u64 {
        self.0[verdict as usize]
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Everything that a report says.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScanReport {
    /// Lines that could not be read.
    pub(crate) unreadable: u64,
    pub(crate) responses: Verdicts,
    pub(crate) calls: Verdicts,
    /// Responses by model.
    pub(crate) models: Names,
    /// Calls by dialect.
    pub(crate) dialects: Names,
    /// Calls by tool.
    pub(crate) tools: Names,
    pub(crate) findings: BTreeMap<Code, u64>,
    pub(crate) repairs: BTreeMap<RepairCode, u64>,
    /// Coercions by their word.
    pub(crate) coercions: BTreeMap<String, u64>,
    pub(crate) examples: Examples,
}

impl ScanReport {
    /// Takes a response that was judged.
    pub(crate) fn note(&mut self, judged: &Judged<'_>) {
        let response = judged.response;
        let verdict = Verdict::of(response);
        self.responses.note(verdict);
        self.models.at(judged.model.unwrap_or(UNKNOWN_MODEL)).note(verdict);
        for call in &response.calls {
            let is_exact = call.repairs.is_empty() && call.coercions.is_empty();
            let verdict = if is_exact { Verdict::Accepted } else { Verdict::Repaired };
            self.call(&call.name, &call.dialect, verdict);
            for repair in &call.repairs {
                *self.repairs.entry(repair.code).or_default() += repair.count as u64;
            }
            for coercion in &call.coercions {
                *self.coercions.entry(coercion.code.to_string()).or_default() += 1;
            }
        }
        for rejected in &response.rejected {
            let name = rejected.name.as_deref().unwrap_or(NAMELESS);
            self.call(name, &rejected.dialect, Verdict::Rejected);
        }
        for finding in response.all_findings() {
            *self.findings.entry(finding.code).or_default() += finding.count as u64;
        }
        self.examples.offer(judged, verdict);
    }

    fn call(&mut self, tool: &str, dialect: &str, verdict: Verdict) {
        self.calls.note(verdict);
        self.tools.at(tool).note(verdict);
        self.dialects.at(dialect).note(verdict);
    }

    /// Adds what comes behind it in the input.
    pub(crate) fn add(&mut self, next: ScanReport) {
        self.unreadable += next.unreadable;
        self.responses.add(&next.responses);
        self.calls.add(&next.calls);
        self.models.add(next.models);
        self.dialects.add(next.dialects);
        self.tools.add(next.tools);
        for (code, count) in next.findings {
            *self.findings.entry(code).or_default() += count;
        }
        for (code, count) in next.repairs {
            *self.repairs.entry(code).or_default() += count;
        }
        for (code, count) in next.coercions {
            *self.coercions.entry(code).or_default() += count;
        }
        self.examples.add(next.examples);
    }
}

/// What was read, for the head of a report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heading {
    /// The files.
    pub(crate) files: Vec<String>,
    pub(crate) profile: String,
    /// How many tools the flags gave, if they did.
    pub(crate) tools: Option<usize>,
}

/// The counts of a list, the most frequent first.
fn ranked<K: Copy + Ord>(counts: &BTreeMap<K, u64>) -> Vec<(K, u64)> {
    let mut list: Vec<(K, u64)> = counts.iter().map(|(key, count)| (*key, *count)).collect();
    list.sort_by_key(|&(key, count)| (std::cmp::Reverse(count), key));
    list
}

/// A share in percent, honest at its ends: only all is 100, and only nothing is 0.
fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let share = part as f64 * 100.0 / whole as f64;
    match share {
        _ if part > 0 && share < 0.1 => "< 0.1 %".to_owned(),
        _ if part < whole && share > 99.9 => "> 99.9 %".to_owned(),
        _ if part == 0 || part == whole => format!("{share:.0} %"),
        _ => format!("{share:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_is_a_hundred_percent() {
        assert_eq!(percent(1_000_000, 1_000_000), "100 %");
        assert_eq!(percent(999_999, 1_000_000), "> 99.9 %");
        assert_eq!(percent(1, 1_000_000), "< 0.1 %");
        assert_eq!(percent(0, 7), "0 %");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(0, 0), "–");
    }
}
