//! What can go wrong between here and a model: a code, a place and a way out for each.

use std::fmt;

use serde::Serialize;

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultCode {
    /// The request cannot be sent as it is.
    BadRequest,
    /// Nobody answers at the address.
    ConnectFailed,
    /// Connecting took too long.
    ConnectTimeout,
    /// The answer did not begin in time.
    FirstByteTimeout,
    /// The answer stopped coming.
    IdleTimeout,
    /// The answer took too long as a whole.
    TotalTimeout,
    /// The connection broke inside the answer.
    Disconnected,
    /// The answer stopped without saying that it was over.
    EndedEarly,
    /// A part of the answer is not in the server's format.
    BadLine,
    /// A part of the answer is larger than allowed.
    TooLarge,
    /// The server rejected the request.
    Rejected,
    /// The server reported an error inside the answer.
    ServerError,
}

impl FaultCode {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            FaultCode::BadRequest => "bad-request",
            FaultCode::ConnectFailed => "connect-failed",
            FaultCode::ConnectTimeout => "connect-timeout",
            FaultCode::FirstByteTimeout => "first-byte-timeout",
            FaultCode::IdleTimeout => "idle-timeout",
            FaultCode::TotalTimeout => "total-timeout",
            FaultCode::Disconnected => "disconnected",
            FaultCode::EndedEarly => "ended-early",
            FaultCode::BadLine => "bad-line",
            FaultCode::TooLarge => "too-large",
            FaultCode::Rejected => "rejected",
            FaultCode::ServerError => "server-error",
        }
    }

    /// The way out.
    pub fn help(self) -> &'static str {
        match self {
            FaultCode::BadRequest => "check the name of the model and the key in the configuration",
            FaultCode::ConnectFailed => "is the server running, and is `endpoint` its address?",
            FaultCode::ConnectTimeout => "is the server reachable? `timeouts.connect_ms` sets the limit",
            FaultCode::FirstByteTimeout => {
                "the model may still be loading; `timeouts.first_byte_ms` sets the limit"
            }
            FaultCode::IdleTimeout => "the server hangs; `timeouts.idle_ms` sets the limit",
            FaultCode::TotalTimeout => "lower `max_tokens`, or raise `timeouts.total_ms`",
            FaultCode::Disconnected | FaultCode::EndedEarly => {
                "ask again; nothing of the unfinished answer was run"
            }
            FaultCode::BadLine => "is `provider` the kind of server at this address?",
            FaultCode::TooLarge => "the server sends more than any answer needs; look at its log",
            FaultCode::Rejected => "the message is the server's own; check model, key and request",
            FaultCode::ServerError => "the message is the server's own; look at its log",
        }
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// An answer that did not come, or not to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelFault {
    /// What kind of fault.
    pub code: FaultCode,
    /// What happened.
    pub message: String,
    /// Whom it happened with: the address of the server.
    pub server: String,
    /// The HTTP status, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How many seconds the server asks to be left alone, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// How many bytes of the answer had come.
    pub received: usize,
}

impl ModelFault {
    /// A fault with its message.
    pub fn new(code: FaultCode, message: impl Into<String>) -> Self {
        let (server, message) = (String::new(), message.into());
        ModelFault { code, message, server, status: None, retry_after: None, received: 0 }
    }

    /// Says how much of the answer had come.
    pub fn after(mut self, received: usize) -> Self {
        self.received = received;
        self
    }
}

impl fmt::Display for ModelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if let Some(status) = self.status {
            write!(f, " (status {status})")?;
        }
        if let Some(seconds) = self.retry_after {
            write!(f, ", and asks to wait {seconds} s")?;
        }
        if !self.server.is_empty() {
            write!(f, ", from {}", self.server)?;
        }
        if self.received > 0 {
            write!(f, ", after {} bytes", self.received)?;
        }
        write!(f, "; {}", self.code.help())
    }
}

impl std::error::Error for ModelFault {}
