//! Records: what a conversation leaves in the log of decisions.

use std::time::Duration;

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

    /// What the user asked, before the model is.
    pub(super) fn record_question(&mut self, question: &str) -> Result<(), AuditError> {
        self.record_all(|log| vec![Entry::question(question, log.settings())])
    }

    /// A response as it came, and everything in it that was rejected. Its text is kept only where everything is.
    pub(super) fn record_response(
        &mut self,
        turn: &Turn,
        recording: &Recording,
        correlation_id: &str,
    ) -> Result<(), AuditError> {
        let Some(log) = &self.setting.audit else { return Ok(()) };
        let Turn { response, usage, served, interrupted_at, reading } = turn;
        let mut entry = Entry::response(&self.setting.gate, response, &recording.text(), log.settings())
            .detail("usage", json!({"prompt": usage.prompt, "completion": usage.completion}))
            .detail("parse_time_ms", json!(whole_millis(*reading)))
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
        let retries = read.asked_again;
        let tokens = read.usage.prompt + read.usage.completion;
        let retry_time = whole_millis(read.asking_again);
        self.record_all(|log| {
            let entry = |call| {
                let mut entry = Entry::accepted(call, log.settings())
                    .detail("retry_count", json!(retries))
                    .detail("total_tokens", json!(tokens));
                if retries > 0 {
                    entry = entry
                        .detail("parse_result", json!("retry"))
                        .detail("retry_time_ms", json!(retry_time));
                }
                entry.tied(&read.correlation_id)
            };
            calls.map(entry).collect()
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

fn whole_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
