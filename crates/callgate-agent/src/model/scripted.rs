//! A model that gives prepared answers in order: for tests of whatever asks a model.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use callgate::FinishReason;
use tokio::time::Instant;

use super::{BoxFuture, ChatRequest, FaultCode, Model, ModelChunk, ModelChunks, ModelFault, Usage};

/// One answer of the script.
#[derive(Clone, Debug, Default)]
pub struct ScriptedTurn {
    /// What comes, in order. An end is added where there is none.
    pub chunks: Vec<ScriptedChunk>,
    /// What the answer costs.
    pub usage: Usage,
}

/// One thing that happens in an answer.
#[derive(Clone, Debug)]
pub enum ScriptedChunk {
    /// A chunk comes.
    Send(ModelChunk),
    /// Time passes.
    Wait(Duration),
    /// The answer breaks off.
    Fail(ModelFault),
}

impl ScriptedTurn {
    /// An answer of text in one chunk.
    pub fn text(text: impl Into<String>) -> Self {
        ScriptedTurn::chunks([ModelChunk::Text(text.into())])
    }

    /// An answer of these chunks.
    pub fn chunks(chunks: impl IntoIterator<Item = ModelChunk>) -> Self {
        ScriptedTurn {
            chunks: chunks.into_iter().map(ScriptedChunk::Send).collect(),
            usage: Usage::default(),
        }
    }

    /// Says what it costs.
    pub fn costing(mut self, prompt: u64, completion: u64) -> Self {
        self.usage = Usage { prompt, completion };
        self
    }
}

/// A model that gives its answers in order and remembers what it was asked.
#[derive(Debug, Default)]
pub struct Scripted {
    turns: Mutex<VecDeque<ScriptedTurn>>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl Scripted {
    /// A model with these answers.
    pub fn new(turns: impl IntoIterator<Item = ScriptedTurn>) -> Self {
        Scripted { turns: Mutex::new(turns.into_iter().collect()), requests: Mutex::default() }
    }

    /// What it was asked so far.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Scripted {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let turn = self.turns.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(async move {
            let Some(turn) = turn else {
                return Err(ModelFault::new(FaultCode::Rejected, "the script has no further answer"));
            };
            let mut chunks: VecDeque<ScriptedChunk> = turn.chunks.into();
            let ends = matches!(
                chunks.back(),
                Some(ScriptedChunk::Send(ModelChunk::End { .. }) | ScriptedChunk::Fail(_))
            );
            if !ends {
                let end = ModelChunk::End { reason: FinishReason::Stop, usage: turn.usage };
                chunks.push_back(ScriptedChunk::Send(end));
            }
            Ok(Box::new(Playing::new(chunks)) as Box<dyn ModelChunks>)
        })
    }
}

/// An answer that is being given.
#[derive(Debug)]
pub(super) struct Playing {
    chunks: VecDeque<ScriptedChunk>,
    /// Until when it pauses, if it does: whoever stops waiting may begin again.
    until: Option<Instant>,
}

impl Playing {
    pub(super) fn new(chunks: VecDeque<ScriptedChunk>) -> Self {
        Playing { chunks, until: None }
    }
}

impl ModelChunks for Playing {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<ModelChunk>, ModelFault>> {
        Box::pin(async move {
            loop {
                if let Some(until) = self.until {
                    tokio::time::sleep_until(until).await;
                    self.until = None;
                }
                match self.chunks.pop_front() {
                    None => return Ok(None),
                    Some(ScriptedChunk::Send(chunk)) => return Ok(Some(chunk)),
                    Some(ScriptedChunk::Wait(time)) => self.until = Some(Instant::now() + time),
                    Some(ScriptedChunk::Fail(fault)) => return Err(fault),
                }
            }
        })
    }
}
