//! What a model sent, kept as it came, so that a response can be read again under other rules.

use std::sync::{Arc, Mutex, PoisonError};

use callgate::{FinishReason, Gate, NativeDelta, Response};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::model::{ChatRequest, Model, ModelFault, Pending, Piece, Pieces};

/// A response as it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard {
    /// The pieces in order; text that came in many pieces is one, and so are the arguments of a call.
    pub pieces: Vec<HeardPiece>,
    /// Why it ended.
    pub finish_reason: String,
}

/// One piece of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeardPiece {
    /// Text.
    Text(String),
    /// Whole structured calls: the JSON text of the list. Logs of earlier versions hold the list itself.
    #[serde(deserialize_with = "text_of_calls")]
    Calls(String),
    /// A piece of one structured call.
    Delta {
        /// Which call.
        index: Option<usize>,
        /// Its id.
        id: Option<String>,
        /// Its name or a piece of it.
        name: Option<String>,
        /// A piece of its arguments.
        arguments: Option<String>,
    },
}

impl Heard {
    /// The text of it.
    pub fn text(&self) -> String {
        let text = |piece: &HeardPiece| match piece {
            HeardPiece::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.pieces.iter().filter_map(text).collect()
    }

    /// Reads it through a gate, as if it came now.
    pub fn replay(&self, gate: &Gate) -> Response {
        let mut session = gate.session().with_id_prefix("replay_");
        let mut collector = Response::collector();
        for piece in &self.pieces {
            let mut take = |event: callgate::Event<'_>| collector.push(event);
            match piece {
                HeardPiece::Text(text) => session.push(text, &mut take),
                HeardPiece::Calls(calls) => session.native_calls_text(calls, &mut take),
                HeardPiece::Delta { index, id, name, arguments } => {
                    let delta = NativeDelta {
                        index: *index,
                        id: id.as_deref(),
                        name: name.as_deref(),
                        arguments: arguments.as_deref(),
                        done: false,
                    };
                    session.native(delta, &mut take);
                }
            }
        }
        let reason = FinishReason::from_word(&self.finish_reason);
        session.finish(reason, &mut |event| collector.push(event));
        collector.finish(reason)
    }

    /// Adds to the arguments of a call that already has some; false if there is none to add to. In pieces a secret could
    /// not be told from other text.
    fn go_on(&mut self, wanted: Option<usize>, again: Option<&String>, more: &str) -> bool {
        let mut last = self.pieces.iter_mut().rev().map_while(|piece| match piece {
            HeardPiece::Delta { index, id, arguments, .. } => Some((*index, id, arguments)),
            _ => None,
        });
        let found = match wanted {
            // Without a number it is the call before.
            None => last.next().filter(|(index, ..)| index.is_none()),
            Some(_) => last.find(|(index, ..)| *index == wanted),
        };
        let same = found.filter(|(_, id, _)| again.is_none() || again == id.as_ref());
        same.map(|(_, _, arguments)| arguments.get_or_insert_default().push_str(more)).is_some()
    }

    fn take(&mut self, piece: &Piece) {
        match piece {
            Piece::Text(text) => match self.pieces.last_mut() {
                Some(HeardPiece::Text(before)) => before.push_str(text),
                _ => self.pieces.push(HeardPiece::Text(text.clone())),
            },
            // A thought that the server keeps apart is no part of what is judged.
            Piece::Reasoning(_) => {}
            Piece::Calls(calls) => self.pieces.push(HeardPiece::Calls(calls.clone())),
            Piece::Delta { index, id, name: None, arguments: Some(more) }
                if self.go_on(*index, id.as_ref(), more) => {}
            Piece::Delta { index, id, name, arguments } => self.pieces.push(HeardPiece::Delta {
                index: *index,
                id: id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
            }),
            // What nobody said must not become a good ending when it is read again.
            Piece::End { reason: FinishReason::Unknown, .. } => self.finish_reason.clear(),
            Piece::End { reason, .. } => self.finish_reason = reason.word().to_owned(),
        }
    }
}

/// A list of calls, written as text or as the list itself.
fn text_of_calls<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => text,
        list => list.to_string(),
    })
}

/// A model that is listened to.
pub(super) struct Listening<'m> {
    model: &'m dyn Model,
    heard: Arc<Mutex<Heard>>,
}

impl<'m> Listening<'m> {
    pub(super) fn new(model: &'m dyn Model) -> Self {
        Listening { model, heard: Arc::default() }
    }

    /// What was heard of the last response.
    pub(super) fn heard(&self) -> Heard {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Listening<'_> {
    fn chat<'a>(&'a self, request: &'a ChatRequest) -> Pending<'a, Result<Box<dyn Pieces>, ModelFault>> {
        Box::pin(async move {
            let pieces = self.model.chat(request).await?;
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Heard::default();
            Ok(Box::new(Overheard { pieces, heard: Arc::clone(&self.heard) }) as Box<dyn Pieces>)
        })
    }
}

struct Overheard {
    pieces: Box<dyn Pieces>,
    heard: Arc<Mutex<Heard>>,
}

impl Pieces for Overheard {
    fn next(&mut self) -> Pending<'_, Result<Option<Piece>, ModelFault>> {
        Box::pin(async move {
            let piece = self.pieces.next().await?;
            if let Some(piece) = &piece {
                self.heard.lock().unwrap_or_else(PoisonError::into_inner).take(piece);
            }
            Ok(piece)
        })
    }
}
