//! Entries: what is recorded about each decision, from the values in which it was made.

use std::collections::BTreeMap;
use std::time::Duration;

use callgate::internal::policy::RepairPolicy;
use callgate::internal::profile::Strike;
use callgate::{Call, Code, Gate, Profile, Rejected, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{AuditSettings, Style};
use crate::approval::{Decision, Grant, hash};
use crate::hex;
use crate::id::random_id;
use crate::retry::AttemptRecord;
use crate::tools::ToolError;
use crate::written::Written;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A permission that was given or denied.
    Permission,
    /// A tool that ran or did not.
    Tool,
    /// A call that was rejected, or a rule that applied.
    Safety,
    /// The log itself.
    Diagnostic,
    /// The beginning or the end of a session.
    Session,
    /// A message of the conversation.
    Message,
    /// A response of the model.
    Response,
}

impl EntryKind {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            EntryKind::Permission => "permission",
            EntryKind::Tool => "tool",
            EntryKind::Safety => "safety",
            EntryKind::Diagnostic => "diagnostic",
            EntryKind::Session => "session",
            EntryKind::Message => "message",
            EntryKind::Response => "response",
        }
    }
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Well.
    Ok,
    /// Well, with something to note.
    Warn,
    /// Not.
    Error,
}

impl Status {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Error => "error",
        }
    }
}

/// One record before it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub(super) kind: EntryKind,
    pub(super) action: String,
    pub(super) status: Status,
    pub(super) message: String,
    pub(super) correlation_id: Option<String>,
    pub(super) details: BTreeMap<String, Written>,
}

impl Entry {
    /// A record of this kind about this action.
    pub fn new(kind: EntryKind, action: &str, status: Status) -> Self {
        Entry {
            kind,
            action: action.to_owned(),
            status,
            message: String::new(),
            correlation_id: None,
            details: BTreeMap::new(),
        }
    }

    /// Says what happened.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// Ties it to others of the same response.
    pub fn tied(mut self, correlation_id: &str) -> Self {
        self.correlation_id = Some(correlation_id.to_owned());
        self
    }

    /// Adds one detail.
    pub fn detail(mut self, key: &str, value: impl Into<Written>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The verdict on a call that stands.
    pub fn accepted(call: &Call, settings: &AuditSettings) -> Self {
        let repairs = match settings.repair_details {
            true => json!(call.repairs),
            false => json!(call.repairs.iter().map(|repair| repair.count).sum::<usize>()),
        };
        let coercions: Vec<String> =
            call.coercions.iter().map(|coercion| format!("{} at {}", coercion.code, coercion.path)).collect();
        let is_plain = call.repairs.is_empty() && call.findings.is_empty();
        let findings: Vec<&str> = call.findings.iter().map(|finding| finding.code.word()).collect();
        let status = if is_plain { Status::Ok } else { Status::Warn };
        Entry::new(EntryKind::Response, &call.name, status)
            .message("the call was accepted")
            .detail("verdict", json!("accepted"))
            .detail("parse_result", json!(if call.repairs.is_empty() { "success" } else { "repaired" }))
            .detail("repairs", repairs)
            .detail("coercions", json!(coercions))
            .detail("findings", json!(findings))
            .about(call, settings)
    }

    /// The verdict on an attempt that was rejected, with everything that was found.
    pub fn rejected(profile: &Profile, rejected: &Rejected, settings: &AuditSettings) -> Self {
        let name = rejected.name.as_deref().unwrap_or("(no name)");
        let first = rejected.findings.first().map(|finding| finding.message.to_string()).unwrap_or_default();
        // A finding's message may quote the model, so it counts as a value.
        let message = if settings.redaction.style == Style::None {
            rejected.findings.first().map(|finding| finding.code.message().to_owned()).unwrap_or_default()
        } else {
            first
        };
        let codes: Vec<&str> = rejected.findings.iter().map(|finding| finding.code.word()).collect();
        let first = rejected.findings.first();
        let code = first.map(|finding| profile.code(finding.code).unwrap_or(finding.code.word()));
        let position = first.and_then(|finding| finding.span).map(|span| span.start);
        let is_schema = |finding: &&callgate::Finding| finding.code.kind() == "schema";
        let unfit = rejected.findings.iter().filter(is_schema).map(|finding| finding.path.to_string());
        let spans: Vec<Value> = rejected.findings.iter().map(|finding| json!(finding.span)).collect();
        Entry::new(EntryKind::Safety, name, Status::Error)
            .message(message)
            .detail("verdict", json!("rejected"))
            .detail("parse_result", json!("fail"))
            .detail("error_code", json!(code))
            .detail("error_position", json!(position))
            .detail("validation_errors", json!(unfit.collect::<Vec<_>>()))
            .detail("repair_attempted", json!(was_repair_tried(profile, rejected)))
            .detail("findings", json!(codes))
            .detail("places", json!(spans))
            .detail("dialect", json!(&*rejected.dialect))
            .detail("span", json!(rejected.span))
            .detail("raw_bytes", json!(rejected.raw_len))
            .detail("raw", settings.redaction.arguments(&rejected.raw.as_str().into()))
    }

    /// A response as a whole: what came of it, and what the host was told to do about it.
    pub fn response(gate: &Gate, response: &Response, input: &str, settings: &AuditSettings) -> Self {
        let is_good = !response.has_errors() && response.model_error.is_none();
        let status = if is_good { Status::Ok } else { Status::Error };
        let mut entry = Entry::new(EntryKind::Response, gate.profile().name(), status)
            .message(format!("calls: {} stand, {} rejected", response.calls.len(), response.rejected.len()))
            .detail("finish_reason", json!(response.finish_reason.word()))
            .detail("text_bytes", json!(response.text.len()))
            .detail(
                "findings",
                json!(response.all_findings().map(|finding| finding.code.word()).collect::<Vec<_>>()),
            );
        if let Some(error) = &response.model_error {
            // The message is the model's own text, so it counts as a value.
            let message = settings.redaction.arguments(&error.message.as_str().into());
            entry = entry.detail("model_error", json!(error.code)).detail("model_error_message", message);
        }
        if let Some(suggestion) = gate.profile().suggestion(response, input) {
            entry = entry.detail("suggestion", json!(suggestion));
        }
        entry
    }

    /// Each time a rejected response was asked for again, and how it ended.
    pub fn attempts(log: &[AttemptRecord], outcome: &str, correlation_id: &str) -> Vec<Self> {
        let last = log.len();
        let entry = |(number, attempt): (usize, &AttemptRecord)| {
            let codes: Vec<&str> = attempt.findings.iter().map(|finding| finding.code.word()).collect();
            let status = if codes.is_empty() { Status::Ok } else { Status::Warn };
            let entry = Entry::new(EntryKind::Response, "retry", status)
                .message(format!("asked again, time {}: corrected {}", attempt.attempt, attempt.corrected))
                .tied(correlation_id)
                .detail("attempt", json!(attempt.attempt))
                .detail("waited_ms", json!(attempt.waited_ms))
                .detail("corrected", json!(attempt.corrected))
                .detail("unasked", json!(attempt.unasked))
                .detail("findings", json!(codes));
            if number + 1 == last { entry.detail("outcome", json!(outcome)) } else { entry }
        };
        log.iter().enumerate().map(entry).collect()
    }

    /// A rejected response, counted; the last one ends a question.
    pub fn strike(strike: &Strike, count: usize, settings: &AuditSettings) -> Self {
        let status = if strike.is_last { Status::Error } else { Status::Warn };
        // The cause may quote the model, so it counts as a value.
        let message = match settings.redaction.style {
            Style::None => strike.code.message(),
            _ => &strike.cause,
        };
        Entry::new(EntryKind::Safety, "strike", status)
            .message(message)
            .detail("count", json!(count))
            .detail("is_last", json!(strike.is_last))
            .detail("finding", json!(strike.code.word()))
    }

    /// A message that no response and no tool made: what the user asked.
    pub fn question(text: &str, settings: &AuditSettings) -> Self {
        Entry::new(EntryKind::Message, "user", Status::Ok)
            .message("the user asked")
            .detail("message_id", json!(random_id()))
            .detail("bytes", json!(text.len()))
            .detail("sha256", json!(hex(&Sha256::digest(text.as_bytes()))))
            .detail("text", settings.redaction.arguments(&text.into()))
    }

    /// A permission that the session has, and the tools that need it.
    pub fn granted(grant: &Grant, tools: &[&str]) -> Self {
        Entry::new(EntryKind::Permission, &grant.permission, Status::Ok)
            .message(format!("granted: {}", grant.reason))
            .detail("grant", json!(grant))
            .detail("tools", json!(tools))
    }

    /// What was decided about running a call.
    pub fn decision(call: &Call, decision: &Decision, settings: &AuditSettings) -> Self {
        let entry = match decision {
            Decision::Permitted(permit) => {
                let message = match (permit.was_asked(), permit.hunks()) {
                    (_, Some(_)) => "approved in part",
                    (true, None) => "approved",
                    (false, None) => "safe by policy",
                };
                let mut approval = json!({"permitted": true, "asked": permit.was_asked()});
                if let Some(hunks) = permit.hunks() {
                    approval["hunks"] = json!({"accepted": hunks.accepted(), "refused": hunks.refused()});
                }
                Entry::new(EntryKind::Permission, &call.name, Status::Ok)
                    .message(message)
                    .detail("approval", approval)
            }
            Decision::Denied(denial) => Entry::new(EntryKind::Permission, &call.name, Status::Error)
                .message(match settings.redaction.style {
                    Style::None => denial.to_model(),
                    _ => denial.to_string(),
                })
                .detail("approval", json!({"permitted": false, "reason": denial.reason})),
        };
        entry.about(call, settings)
    }

    /// What a tool gave: its size and hash, and the error if it is one. The result itself is not kept.
    pub fn result(call: &Call, result: Result<&str, &ToolError>, settings: &AuditSettings) -> Self {
        let (status, text, message) = match result {
            Ok(text) => (Status::Ok, text.to_owned(), "the tool ran".to_owned()),
            Err(error) => {
                let message = format!("the tool failed: {}", told(error, settings));
                (Status::Error, error.to_string(), message)
            }
        };
        Entry::new(EntryKind::Tool, &call.name, status)
            .message(message)
            .detail("result", json!({"bytes": text.len(), "sha256": hex(&Sha256::digest(text.as_bytes()))}))
            .about(call, settings)
    }

    /// Says how long it took.
    pub fn took(self, time: Duration) -> Self {
        self.detail("duration_ms", json!(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }

    /// That a tool was never started, and why.
    pub fn not_run(call: &Call, error: &ToolError, settings: &AuditSettings) -> Self {
        Entry::new(EntryKind::Tool, &call.name, Status::Error)
            .message(format!("the tool was not run: {}", told(error, settings)))
            .detail("error", json!(error.code))
            .about(call, settings)
    }

    /// Which call it is about.
    fn about(self, call: &Call, settings: &AuditSettings) -> Self {
        // As the model wrote them. A text that other readers of JSON do not take is recorded by its value.
        let arguments = Written::parse(&call.arguments).unwrap_or_else(|| call.value().into());
        self.detail("call_id", json!(call.id))
            .detail("dialect", json!(&*call.dialect))
            .detail("span", json!(call.span))
            .detail("arguments", settings.redaction.arguments(&arguments))
            .detail("arguments_sha256", json!(hash(call)))
    }
}

/// Whether a rejected call went through repair: those with unreadable JSON did, where anything is repaired.
fn was_repair_tried(profile: &Profile, rejected: &Rejected) -> bool {
    let code = rejected.findings.first().map(|finding| finding.code);
    matches!(code, Some(Code::BadJson | Code::RepairBudget | Code::Truncated | Code::LoneSurrogate))
        && profile.policy().repair != RepairPolicy::Off
}

/// What a record says about an error. Its message may quote arguments, so it counts as a value.
fn told(error: &ToolError, settings: &AuditSettings) -> String {
    match settings.redaction.style {
        Style::None => error.code.word().to_owned(),
        _ => error.to_string().chars().take(200).collect(),
    }
}
