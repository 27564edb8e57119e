//! Faults: what keeps a client from an answer, each with a status, a code and a way out.

use std::fmt;

use callgate_agent::audit::Redaction;
use callgate_agent::model::{FaultCode, ModelFault};

/// A fault as a client is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The status of the answer, where it has not begun.
    pub(crate) status: u16,
    /// The stable word.
    pub(crate) code: &'static str,
    /// What is wrong, and what helps.
    pub(crate) message: String,
    /// Which part of the request.
    pub(crate) place: Option<String>,
    /// After how many seconds it is worth another try.
    pub(crate) retry_after: Option<u64>,
}

impl Fault {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Fault { status, code, message: message.into(), place: None, retry_after: None }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Fault::new(400, "bad-request", message)
    }

    /// The part of the request that is wrong.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// After how many seconds it is worth another try.
    pub(crate) fn after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// What a model's server did, in the words of a gateway: a rejection keeps its status where it is the client's to mend
    /// or the server is busy; everything else is a bad gateway, or one that waited too long.
    pub(crate) fn of_model(fault: &ModelFault) -> Self {
        let status = match fault.code {
            FaultCode::Rejected => {
                let is_theirs = |status: &u16| {
                    (400..500).contains(status) && ![401, 403].contains(status) || *status == 503
                };
                fault.status.filter(is_theirs).unwrap_or(502)
            }
            FaultCode::FirstByteTimeout
            | FaultCode::IdleTimeout
            | FaultCode::TotalTimeout
            | FaultCode::ConnectTimeout => 504,
            FaultCode::BadRequest => 400,
            _ => 502,
        };
        // Servers quote keys when they reject them.
        let said = Redaction::default().text(&fault.message);
        let message = format!("the model's server: {said} ({})", fault.code.help());
        Fault {
            retry_after: fault.retry_after.map(u64::from),
            ..Fault::new(status, fault.code.word(), message)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}
