//! A model that gives prepared answers in order: for tests of whatever asks a model.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use callgate::FinishReason;

use super::{ChatRequest, FaultCode, Model, ModelFault, Pending, Piece, Pieces, Usage};

/// One answer of the script.
#[derive(Clone, Debug, Default)]
pub struct ScriptedTurn {
    /// What comes, in order. An end is added where there is none.
    pub pieces: Vec<ScriptedPiece>,
    /// What the answer costs.
    pub usage: Usage,
}

/// One thing that happens in an answer.
#[derive(Clone, Debug)]
pub enum ScriptedPiece {
    /// A piece comes.
    Send(Piece),
    /// Time passes.
    Wait(Duration),
    /// The answer breaks off.
    Fail(ModelFault),
}

impl ScriptedTurn {
    /// An answer of text in one piece.
    pub fn text(text: impl Into<String>) -> Self {
        ScriptedTurn::pieces([Piece::Text(text.into())])
    }

    /// An answer of these pieces.
    pub fn pieces(pieces: impl IntoIterator<Item = Piece>) -> Self {
        ScriptedTurn {
            pieces: pieces.into_iter().map(ScriptedPiece::Send).collect(),
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
    fn chat<'a>(&'a self, request: &'a ChatRequest) -> Pending<'a, Result<Box<dyn Pieces>, ModelFault>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let turn = self.turns.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(async move {
            let Some(turn) = turn else {
                return Err(ModelFault::new(FaultCode::Refused, "the script has no further answer"));
            };
            let mut pieces: VecDeque<ScriptedPiece> = turn.pieces.into();
            let ends = matches!(
                pieces.back(),
                Some(ScriptedPiece::Send(Piece::End { .. }) | ScriptedPiece::Fail(_))
            );
            if !ends {
                let end = Piece::End { reason: FinishReason::Stop, usage: turn.usage };
                pieces.push_back(ScriptedPiece::Send(end));
            }
            Ok(Box::new(Playing(pieces)) as Box<dyn Pieces>)
        })
    }
}

/// An answer that is being given.
#[derive(Debug)]
pub(super) struct Playing(pub(super) VecDeque<ScriptedPiece>);

impl Pieces for Playing {
    fn next(&mut self) -> Pending<'_, Result<Option<Piece>, ModelFault>> {
        Box::pin(async move {
            loop {
                match self.0.pop_front() {
                    None => return Ok(None),
                    Some(ScriptedPiece::Send(piece)) => return Ok(Some(piece)),
                    Some(ScriptedPiece::Wait(time)) => tokio::time::sleep(time).await,
                    Some(ScriptedPiece::Fail(fault)) => return Err(fault),
                }
            }
        })
    }
}
