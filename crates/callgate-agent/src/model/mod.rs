//! Models: what is asked, what comes back in chunks, and how the chunks go through the gate.

mod address;
mod anthropic;
mod body;
mod conversation;
mod fault;
mod http;
mod json;
mod lines;
mod message;
mod ollama;
mod openai;
mod place;
mod pool;
mod reading;
mod responses;
mod results;
mod role;
mod rules;
mod scripted;
mod served;
mod stream;
mod turn;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use callgate::{Event, FinishReason, NativeDelta, Session};
use serde::Serialize;
use serde_json::Value;

pub use address::Address;
pub use body::{Body, BodyKind};
pub use fault::{FaultCode, ModelFault};
use http::Http;
pub use http::{Connect, Connection, Network, Secret, Timeouts};
pub use ollama::{OLLAMA, Ollama};
pub use openai::{OPENAI, OpenAi};
pub use place::second_answer;
pub use results::results_beside;
pub use role::foreign_line;
pub use rules::RuleModel;
pub use scripted::{Scripted, ScriptedChunk, ScriptedTurn};
pub use served::Served;
pub use stream::{Beginning, BodyStream};
pub use turn::{Collected, Heard, Turn, Until, respond, respond_until};

use crate::history::{CallStyle, Message};

/// A future on the heap, so that traits with asynchronous methods can be used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// The conversation; it is made valid before it is sent.
    pub messages: Vec<Message>,
    /// Results of tools that are not among the messages any more. They are not sent, and still not trusted.
    pub untrusted: Vec<String>,
    /// The tools in OpenAI's form; none where the prompt teaches them.
    pub tools: Option<Value>,
    /// How calls of earlier turns are written.
    pub style: CallStyle,
    /// What the model is told about how to answer.
    pub parameters: Parameters,
    /// Whether the answer comes in chunks.
    pub stream: bool,
}

/// Which model, and how it answers. What is not given is left to the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// The name of the model.
    pub model: String,
    /// How freely it chooses.
    pub temperature: Option<f64>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// The seed of its choices.
    pub seed: Option<u64>,
}

/// Where a server is and how it is reached.
#[derive(Clone)]
pub struct Server {
    http: Http,
}

impl Server {
    /// A server on the network, with the usual time-outs and no key.
    pub fn new(address: Address) -> Self {
        Server {
            http: Http {
                address,
                timeouts: Timeouts::default(),
                key: None,
                connect: Arc::new(Network::default()),
                pool: Arc::default(),
            },
        }
    }

    /// Sets how long each part of an answer may take.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.http.timeouts = timeouts;
        self
    }

    /// Sets the key that this server, and no other, is sent.
    pub fn key(mut self, key: Secret) -> Self {
        self.http.key = Some(key);
        self
    }

    /// Reaches it another way than over the network.
    pub fn reached_by(mut self, connect: impl Connect + 'static) -> Self {
        self.http.connect = Arc::new(connect);
        self.http.pool = Arc::default();
        self
    }

    fn into_http(self) -> Http {
        self.http
    }
}

/// Tokens that a response cost, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt: u64,
    /// Tokens of the answer.
    pub completion: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.completion = self.completion.saturating_add(other.completion);
    }
}

/// A chunk of an answer, whatever the server's format.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelChunk {
    /// Text; calls in text dialects are in here.
    Text(String),
    /// A thought that the server keeps apart from the text.
    Reasoning(String),
    /// Whole structured calls: the JSON text of the list, as the server wrote it.
    Calls(String),
    /// A chunk of one structured call.
    Delta {
        /// Which call, as the server counts.
        index: Option<usize>,
        /// Its id.
        id: Option<String>,
        /// Its name or a chunk of it.
        name: Option<String>,
        /// A chunk of its arguments.
        arguments: Option<String>,
    },
    /// What the server says about the answer besides.
    Served(Served),
    /// The end. Only an answer that has one is judged.
    End {
        /// Why it ended.
        reason: FinishReason,
        /// What it cost.
        usage: Usage,
    },
}

impl ModelChunk {
    /// Lets a session read the chunk. What the server says about the answer is not read, nor is the end, which is what the
    /// session is finished with.
    pub fn feed(&self, session: &mut Session, sink: &mut dyn FnMut(Event<'_>)) {
        match self {
            ModelChunk::Text(text) => session.push(text, sink),
            ModelChunk::Reasoning(text) => session.reasoning(text, sink),
            ModelChunk::Calls(calls) => session.native_calls_text(calls, sink),
            ModelChunk::Delta { index, id, name, arguments } => {
                let delta = NativeDelta {
                    index: *index,
                    id: id.as_deref(),
                    name: name.as_deref(),
                    arguments: arguments.as_deref(),
                    done: false,
                };
                session.native(delta, sink);
            }
            ModelChunk::Served(_) | ModelChunk::End { .. } => {}
        }
    }
}

/// A model that can be asked.
pub trait Model: Send + Sync {
    /// Sends a request; the answer comes in chunks.
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>>;
}

/// The chunks of one answer. Dropping it ends the connection.
pub trait ModelChunks: Send {
    /// The next chunk; nothing after the end. Whoever stops waiting for it loses nothing: the next call goes on.
    fn next(&mut self) -> BoxFuture<'_, Result<Option<ModelChunk>, ModelFault>>;
}
