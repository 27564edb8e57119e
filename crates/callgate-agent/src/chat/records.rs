//! Records: what a conversation leaves in the log of decisions.

use callgate::internal::profile::Strike;
use callgate::{Code, Response, Tool};
use serde_json::json;

use super::reading::Read;
use super::{Chat, Recording, Setting, verdicts};
use crate::approval::Grant;
use crate::audit::{AuditError, AuditLog, Entry, Style};
use crate::model::Turn;

impl Chat {
    /// What the session may do, before it does anything.
    pub(super) fn record_grants(&mut self) -> Result<(), AuditError> {
        let Setting { tools, grants, .. } = &self.setting;
        let entry = |grant: &Grant| {
            let needs = |tool: &&Tool| tool.permission.as_deref() == Some(grant.permission.as_str());
            let tools: Vec<&str> =
                tools.registry().tools().filter(needs).map(|tool| tool.name.as_str()).collect();
            Entry::granted(grant, &tools)
        };
        let entries: Vec<Entry> = grants.given().iter().map(entry).collect();
        self.record_all(|_| entries)
    }

    /// A response as it came, and everything in it that was rejected. Its text is kept only where everything is.
    pub(super) fn record_response(
        &mut self,
        turn: &Turn,
        recording: &Recording,
        correlation_id: &str,
    ) -> Result<(), AuditError> {
        let Some(log) = &self.setting.audit else { return Ok(()) };
        let Turn { response, usage, served, interrupted_at } = turn;
        let mut entry = Entry::response(&self.setting.gate, response, &recording.text(), log.settings())
            .detail("usage", json!({"prompt": usage.prompt, "completion": usage.completion}))
            .detail("served", json!(served))
            .detail("interrupted_at", json!(interrupted_at));
        if log.settings().redaction.style == Style::Full {
            entry = entry.detail("recording", json!(recording)).detail("verdicts", json!(verdicts(response)));
        }
        self.record(entry.tied(correlation_id))?;
        self.record_rejected(response, correlation_id)
    }

    /// Everything that was rejected in a response, whether it is asked for again or not.
    pub(super) fn record_rejected(
        &mut self,
        response: &Response,
        correlation_id: &str,
    ) -> Result<(), AuditError> {
        let rejected = response.rejected.iter();
        let profile = *self.setting.gate.profile();
        self.record_all(|log| {
            let entry = |rejected| Entry::rejected(&profile, rejected, log.settings()).tied(correlation_id);
            rejected.map(entry).collect()
        })
    }

    /// The calls that stand in the end.
    pub(super) fn record_accepted(&mut self, read: &Read) -> Result<(), AuditError> {
        let calls = read.response.calls.iter();
        self.record_all(|log| {
            calls.map(|call| Entry::accepted(call, log.settings()).tied(&read.correlation_id)).collect()
        })
    }

    /// A rejected response, counted.
    pub(super) fn record_strike(
        &mut self,
        strike: &Strike,
        count: usize,
        correlation_id: &str,
    ) -> Result<(), AuditError> {
        let code = self.code(strike.code);
        let end = strike.is_last.then(|| self.code(Code::MaxMistakes));
        self.record_all(|log| {
            let mut entry = Entry::strike(strike, count, log.settings()).detail("code", json!(code));
            if let Some(end) = end {
                entry = entry.detail("end", json!(end));
            }
            vec![entry.tied(correlation_id)]
        })
    }

    /// What the document of the profile calls a finding, or else its own word.
    pub(super) fn code(&self, code: Code) -> &'static str {
        self.setting.gate.profile().code(code).unwrap_or(code.word())
    }

    pub(super) fn record(&mut self, entry: Entry) -> Result<(), AuditError> {
        self.record_all(|_| vec![entry])
    }

    fn record_all(&mut self, entries: impl FnOnce(&AuditLog) -> Vec<Entry>) -> Result<(), AuditError> {
        let Some(log) = &mut self.setting.audit else { return Ok(()) };
        for entry in entries(log) {
            log.record(entry)?;
        }
        Ok(())
    }
}
