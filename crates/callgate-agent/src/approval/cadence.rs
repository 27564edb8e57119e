//! Cadence: how many calls each `every_n` rule has let pass, so that every n-th asks.

use std::collections::BTreeMap;

use callgate::Tool;
use serde_json::Value;

use super::{EveryNth, Fit};

/// What a session remembers of its `every_n` rules. A rule that is due stays due until somebody says yes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cadence {
    /// The calls that ran unasked since the last yes, by rule.
    passed: BTreeMap<String, u64>,
}

impl Cadence {
    /// Why the next call asks, if it does.
    pub fn due(&self, rules: &[EveryNth], tool: &Tool, arguments: &Value) -> Option<String> {
        let mut fitting = rules.iter().filter(|every| every.rule.fits(tool, arguments, Fit::Strict));
        let due = fitting.find(|every| self.passed(every) + 1 >= every.n)?;
        Some(format!("one call in {} asks, by the rule `{}`", due.n, due.rule))
    }

    /// Counts a call that is permitted.
    pub fn count(&mut self, rules: &[EveryNth], tool: &Tool, arguments: &Value, was_asked: bool) {
        for every in rules.iter().filter(|every| every.rule.fits(tool, arguments, Fit::Strict)) {
            let passed = if was_asked { 0 } else { self.passed(every) + 1 };
            self.passed.insert(every.to_string(), passed);
        }
    }

    fn passed(&self, every: &EveryNth) -> u64 {
        self.passed.get(&every.to_string()).copied().unwrap_or(0)
    }
}
