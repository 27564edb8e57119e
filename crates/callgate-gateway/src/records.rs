//! Records: what is kept of an exchange for whoever operates the server: a line of the log, verdicts in the audit, a span.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use callgate::{Call, Code, Response};
use callgate_agent::audit::{Entry, EntryKind, Status};
use callgate_agent::model::Usage;
use serde_json::{Value, json};

use crate::audit::Audit;
use crate::config::Settings;
use crate::fault::Fault;
use crate::log::{Log, LogLevel, LogSettings};
use crate::plan::Plan;
use crate::recent::Exchange;
use crate::settle::Outcome;
use crate::spans::Spans;
use crate::trace::Trace;

/// The most verdicts of one exchange that are recorded one by one; the rest are counted.
const VERDICTS: usize = 200;

/// What is noted while an exchange goes on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// When it began.
    pub(crate) began: Option<SystemTime>,
    pub(crate) trace: Option<Trace>,
    pub(crate) is_stream: bool,
    /// How the model was given its tools.
    pub(crate) manner: &'static str,
    pub(crate) tools: usize,
    /// Which server answered: its API, its host and its port.
    pub(crate) provider: &'static str,
    pub(crate) server: Option<(String, u16)>,
    /// When the server began to answer, after the beginning.
    pub(crate) answered: Option<Duration>,
    pub(crate) accepted: usize,
    pub(crate) repaired: usize,
    pub(crate) rejected: usize,
    pub(crate) dialects: Vec<String>,
    /// The codes of all findings, and how often each was found.
    pub(crate) findings: BTreeMap<&'static str, usize>,
    pub(crate) usage: Usage,
    pub(crate) finish: &'static str,
    /// Whether a rejected call was not corrected.
    pub(crate) failed: bool,
    /// The fault that ended it.
    pub(crate) fault: Option<&'static str>,
    pub(crate) status: u16,
    /// What the audit has to be told.
    pub(crate) entries: Vec<Entry>,
}

impl Notes {
    /// Notes that something was found.
    pub(crate) fn found(&mut self, code: Code) {
        *self.findings.entry(code.word()).or_default() += 1;
    }

    fn dialect(&mut self, name: &str) {
        if !self.dialects.iter().any(|known| known == name) && self.dialects.len() < VERDICTS {
            self.dialects.push(name.to_owned());
        }
    }
}

/// Where records go.
pub(crate) struct Records {
    pub(crate) log: Arc<Log>,
    audit: Option<Audit>,
    spans: Option<Spans>,
}

impl Records {
    /// Begins what the settings ask for.
    pub(crate) fn begin(settings: &Settings) -> Result<Self, String> {
        let audit = settings.audit.as_ref().map(Audit::begin).transpose();
        let audit = audit.map_err(|error| format!("audit: {error}"))?;
        let log = Arc::new(Log::default());
        let spans = settings.traces.as_ref().map(|traces| Spans::begin(traces, log.clone())).transpose()?;
        Ok(Records { log, audit, spans })
    }

    /// Sends the lines of the log there.
    pub(crate) fn listen(&self, settings: LogSettings, listener: Box<dyn Fn(&str) + Send + Sync>) {
        self.log.listen(settings, listener);
    }

    /// Whether spans are recorded.
    pub(crate) fn has_spans(&self) -> bool {
        self.spans.is_some()
    }

    /// Whether verdicts go on record, which they have to before a call leaves.
    pub(crate) fn has_audit(&self) -> bool {
        self.audit.is_some()
    }

    /// Takes what the first answer of a model holds, before anything of it is asked for again.
    pub(crate) fn first(&self, plan: &Plan, response: &Response, seen: &mut Exchange) {
        for finding in response.all_findings() {
            seen.notes.found(finding.code);
        }
        self.rejections(plan, response, seen);
    }

    /// Records the verdicts. Where they cannot be recorded the calls must not leave.
    pub(crate) async fn judged(
        &self,
        plan: &Plan,
        outcome: &Outcome,
        seen: &mut Exchange,
    ) -> Result<(), Fault> {
        let response = &outcome.response;
        if outcome.retries > 0 {
            self.rejections(plan, response, seen);
        }
        let notes = &mut seen.notes;
        let is_repaired = |call: &&Call| !call.repairs.is_empty() || !call.coercions.is_empty();
        notes.repaired = response.calls.iter().filter(is_repaired).count();
        notes.accepted = response.calls.len() - notes.repaired;
        notes.usage = outcome.usage;
        notes.finish = response.finish_reason.word();
        notes.failed = outcome.failure.is_some();
        for call in &response.calls {
            notes.dialect(&call.dialect);
        }
        let Some(audit) = &self.audit else { return Ok(()) };
        let settings = audit.settings();
        let room = VERDICTS.saturating_sub(notes.entries.len());
        let calls = response.calls.iter().take(room);
        notes.entries.extend(calls.map(|call| Entry::accepted(call, settings).tied(&seen.id)));
        let whole = Entry::response(&plan.gate, response, &seen.text, settings)
            .detail("verdicts", json!(response.calls.len() + response.rejected.len()))
            .detail("retries", json!(outcome.retries));
        let whole = about(whole, seen);
        seen.notes.entries.push(whole);
        self.write(seen).await
    }

    fn rejections(&self, plan: &Plan, response: &Response, seen: &mut Exchange) {
        let notes = &mut seen.notes;
        notes.rejected += response.rejected.len();
        for rejected in &response.rejected {
            notes.dialect(&rejected.dialect);
        }
        let Some(audit) = &self.audit else { return };
        let room = VERDICTS.saturating_sub(notes.entries.len());
        let profile = plan.gate.profile();
        let rejected = response.rejected.iter().take(room);
        let entries = rejected.map(|one| Entry::rejected(profile, one, audit.settings()).tied(&seen.id));
        notes.entries.extend(entries);
    }

    async fn write(&self, seen: &mut Exchange) -> Result<(), Fault> {
        let Some(audit) = &self.audit else { return Ok(()) };
        let written = audit.record(std::mem::take(&mut seen.notes.entries)).await;
        written.map_err(|why| {
            self.log.say(LogLevel::Error, "audit", || {
                vec![("id", seen.id.clone().into()), ("fault", why.into())]
            });
            let message =
                "what was decided could not be recorded, so nothing leaves; the server's log says why";
            Fault::new(503, "audit-failed", message)
        })
    }

    /// Takes the end of an exchange.
    pub(crate) async fn ended(&self, seen: &mut Exchange) {
        if seen.notes.fault.is_some() && self.audit.is_some() {
            let message = seen.fault.clone().unwrap_or_default();
            let broken = Entry::new(EntryKind::Response, "exchange", Status::Error)
                .message(message.chars().take(400).collect::<String>())
                .detail("error_code", json!(seen.notes.fault))
                .detail("status", json!(seen.notes.status));
            let broken = about(broken, seen);
            seen.notes.entries.push(broken);
            // That it could not be written has been said.
            let _ = self.write(seen).await;
        }
        if let Some(spans) = &self.spans {
            spans.add(seen);
        }
        let notes = &seen.notes;
        let level = match notes.status {
            500.. => LogLevel::Error,
            400.. => LogLevel::Warn,
            _ if notes.failed => LogLevel::Warn,
            _ => LogLevel::Info,
        };
        self.log.say(level, "exchange", || line(seen));
    }

    /// Takes a request that never became an exchange.
    pub(crate) fn refused(&self, api: &'static str, fault: &Fault) {
        let level = if fault.status >= 500 { LogLevel::Error } else { LogLevel::Warn };
        self.log.say(level, "refused", || {
            vec![
                ("api", api.into()),
                ("status", fault.status.into()),
                ("code", fault.code.into()),
                ("fault", fault.message.clone().into()),
            ]
        });
    }

    /// Writes what is still to be written.
    pub(crate) async fn end(&self) {
        if let Some(spans) = &self.spans {
            spans.end().await;
        }
        if let Some(audit) = &self.audit
            && let Err(error) = audit.end()
        {
            self.log.say(LogLevel::Error, "audit", || vec![("fault", error.to_string().into())]);
        }
    }
}

/// Says which exchange a record is about.
fn about(entry: Entry, seen: &Exchange) -> Entry {
    let notes = &seen.notes;
    let short = |text: &str| Value::from(text.chars().take(200).collect::<String>());
    entry
        .tied(&seen.id)
        .detail("model", short(&seen.model))
        .detail("api", json!(seen.face))
        .detail("upstream", short(&seen.upstream))
        .detail("client", short(&seen.client))
        .detail("trace", json!(notes.trace.as_ref().map(|trace| &trace.id)))
}

/// The members of the line about an exchange.
fn line(seen: &Exchange) -> Vec<(&'static str, Value)> {
    let notes = &seen.notes;
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    vec![
        ("id", seen.id.clone().into()),
        ("trace", json!(notes.trace.as_ref().map(|trace| &trace.id))),
        ("api", seen.face.into()),
        ("model", seen.model.clone().into()),
        ("upstream", seen.upstream.clone().into()),
        ("client", seen.client.clone().into()),
        ("status", notes.status.into()),
        ("stream", notes.is_stream.into()),
        ("manner", notes.manner.into()),
        ("tools", notes.tools.into()),
        ("accepted", notes.accepted.into()),
        ("repaired", notes.repaired.into()),
        ("rejected", notes.rejected.into()),
        ("retries", seen.retries.into()),
        ("dialects", json!(notes.dialects)),
        ("findings", json!(notes.findings)),
        ("finish", notes.finish.into()),
        ("prompt_tokens", notes.usage.prompt.into()),
        ("completion_tokens", notes.usage.completion.into()),
        ("answered_ms", json!(notes.answered.map(millis))),
        ("ms", seen.millis.into()),
        ("code", json!(notes.fault)),
        ("fault", json!(seen.fault)),
    ]
}
