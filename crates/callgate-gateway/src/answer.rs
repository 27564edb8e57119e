//! Answers: what goes to a client, in the order in which it may leave, before any API's form.

use callgate::FinishReason;
use callgate_agent::model::Usage;
use serde_json::Value;

use crate::fault::Fault;

/// One thing that leaves.
#[derive(Clone, Debug)]
pub(crate) enum Out {
    /// A thought.
    Reasoning(String),
    /// Text for the reader.
    Text(String),
    /// A call has begun that nothing has judged yet; only where calls are shown while they are written.
    CallBegun {
        /// Which call of the answer.
        place: usize,
        id: String,
        name: String,
    },
    /// More of the arguments of a call that has begun.
    CallArguments { place: usize, delta: String },
    /// A call that stands.
    Call(OutCall),
    /// Nothing may leave yet, and the client is told that somebody is there.
    Ping,
    /// The end.
    End(Box<Ending>),
    /// The answer cannot go on.
    Fault(Box<Fault>),
}

/// A call that stands.
#[derive(Clone, Debug)]
pub(crate) struct OutCall {
    /// Which call of the answer.
    pub(crate) place: usize,
    pub(crate) id: String,
    pub(crate) name: String,
    /// The arguments as JSON text.
    pub(crate) arguments: String,
    /// Whether it was shown while it was written.
    pub(crate) begun: bool,
}

/// How an answer ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) reason: FinishReason,
    pub(crate) usage: Usage,
    /// What the gate has to say about it, for the extension field of each API; nothing if it has nothing to say.
    pub(crate) verdict: Option<Value>,
}

/// A whole answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) reasoning: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<OutCall>,
    pub(crate) ending: Ending,
}

impl Answer {
    /// Takes what leaves next; what was only shown is left out of a whole answer.
    pub(crate) fn push(&mut self, out: Out) -> Result<(), Box<Fault>> {
        match out {
            Out::Reasoning(text) => self.reasoning.push_str(&text),
            Out::Text(text) => self.text.push_str(&text),
            Out::Call(call) => self.calls.push(call),
            Out::End(ending) => self.ending = *ending,
            Out::Fault(fault) => return Err(fault),
            Out::CallBegun { .. } | Out::CallArguments { .. } | Out::Ping => {}
        }
        Ok(())
    }
}
