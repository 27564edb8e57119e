//! Recording: what a model sent, kept as it came, so that a response can be read again under other rules.

use std::sync::{Arc, Mutex, PoisonError};

use callgate::{FinishReason, Gate, Response};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::model::{BoxFuture, ChatRequest, Collected, Model, ModelChunk, ModelChunks, ModelFault};

/// A response as it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The chunks in order. Text that came in many chunks is one here, and so are the arguments of a call. Logs of earlier
    /// versions call them `pieces`.
    #[serde(alias = "pieces")]
    pub chunks: Vec<RecordedChunk>,
    /// Why it ended.
    pub finish_reason: String,
}

/// One chunk of a response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedChunk {
    /// Text.
    Text(String),
    /// Whole structured calls: the JSON text of the list. Logs of earlier versions hold the list itself.
    #[serde(deserialize_with = "text_of_calls")]
    Calls(String),
    /// A chunk of one structured call.
    Delta {
        /// Which call.
        index: Option<usize>,
        /// Its id.
        id: Option<String>,
        /// Its name or a chunk of it.
        name: Option<String>,
        /// A chunk of its arguments.
        arguments: Option<String>,
    },
}

impl Recording {
    /// The text of it.
    pub fn text(&self) -> String {
        let text = |chunk: &RecordedChunk| match chunk {
            RecordedChunk::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.chunks.iter().filter_map(text).collect()
    }

    /// Reads it through a gate, as if it came now.
    pub fn replay(&self, gate: &Gate) -> Response {
        let mut session = gate.session().with_id_prefix("replay_");
        let mut collected = Collected::default();
        for chunk in &self.chunks {
            chunk.clone().into_chunk().feed(&mut session, &mut |event| collected.push(event));
        }
        let reason = FinishReason::from_word(&self.finish_reason);
        session.finish(reason, &mut |event| collected.push(event));
        collected.finish(reason)
    }

    /// Adds to the arguments of a call that already has some; false if there is none to add to. In chunks a secret could
    /// not be told from other text.
    fn go_on(&mut self, wanted: Option<usize>, again: Option<&String>, more: &str) -> bool {
        let mut last = self.chunks.iter_mut().rev().map_while(|chunk| match chunk {
            RecordedChunk::Delta { index, id, arguments, .. } => Some((*index, id, arguments)),
            _ => None,
        });
        let found = match wanted {
            // A delta without an index continues the last call.
            None => last.next().filter(|(index, ..)| index.is_none()),
            Some(_) => last.find(|(index, ..)| *index == wanted),
        };
        let same = found.filter(|(_, id, _)| again.is_none() || again == id.as_ref());
        same.map(|(_, _, arguments)| arguments.get_or_insert_default().push_str(more)).is_some()
    }

    /// Says that the model was stopped because enough had come, after this many bytes of text. What came behind them was
    /// not read, so a replay is not to read it either.
    pub(super) fn interrupt(&mut self, at: usize) {
        self.finish_reason = FinishReason::Stop.word().to_owned();
        let mut left = at;
        for chunk in &mut self.chunks {
            if let RecordedChunk::Text(text) = chunk {
                // Whole characters were read, so the place is one between two.
                let kept = left.min(text.len());
                *text = text.get(..kept).unwrap_or_default().to_owned();
                left -= kept;
            }
        }
    }

    fn take(&mut self, chunk: &ModelChunk) {
        match chunk {
            ModelChunk::Text(text) => match self.chunks.last_mut() {
                Some(RecordedChunk::Text(before)) => before.push_str(text),
                _ => self.chunks.push(RecordedChunk::Text(text.clone())),
            },
            // Reasoning that the server sends apart is not judged, so a replay does not need it.
            ModelChunk::Reasoning(_) | ModelChunk::Served(_) => {}
            ModelChunk::Calls(calls) => self.chunks.push(RecordedChunk::Calls(calls.clone())),
            ModelChunk::Delta { index, id, name: None, arguments: Some(more) }
                if self.go_on(*index, id.as_ref(), more) => {}
            ModelChunk::Delta { index, id, name, arguments } => self.chunks.push(RecordedChunk::Delta {
                index: *index,
                id: id.clone(),
                name: name.clone(),
                arguments: arguments.clone(),
            }),
            // An unknown reason stays empty, so that a replay does not take it for a good ending.
            ModelChunk::End { reason: FinishReason::Unknown, .. } => self.finish_reason.clear(),
            ModelChunk::End { reason, .. } => self.finish_reason = reason.word().to_owned(),
        }
    }
}

impl RecordedChunk {
    /// The chunk as it came from the model.
    fn into_chunk(self) -> ModelChunk {
        match self {
            RecordedChunk::Text(text) => ModelChunk::Text(text),
            RecordedChunk::Calls(calls) => ModelChunk::Calls(calls),
            RecordedChunk::Delta { index, id, name, arguments } => {
                ModelChunk::Delta { index, id, name, arguments }
            }
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

/// A model whose answers are recorded while they are read.
pub(super) struct Recorder<'m> {
    model: &'m dyn Model,
    recording: Arc<Mutex<Recording>>,
}

impl<'m> Recorder<'m> {
    pub(super) fn new(model: &'m dyn Model) -> Self {
        Recorder { model, recording: Arc::default() }
    }

    /// The last response, as far as it came.
    pub(super) fn recording(&self) -> Recording {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Recorder<'_> {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        Box::pin(async move {
            let chunks = self.model.chat(request).await?;
            *self.recording.lock().unwrap_or_else(PoisonError::into_inner) = Recording::default();
            Ok(Box::new(RecordingChunks { chunks, recording: Arc::clone(&self.recording) })
                as Box<dyn ModelChunks>)
        })
    }
}

/// The chunks of an answer, each recorded before it is handed on.
struct RecordingChunks {
    chunks: Box<dyn ModelChunks>,
    recording: Arc<Mutex<Recording>>,
}

impl ModelChunks for RecordingChunks {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<ModelChunk>, ModelFault>> {
        Box::pin(async move {
            let chunk = self.chunks.next().await?;
            if let Some(chunk) = &chunk {
                self.recording.lock().unwrap_or_else(PoisonError::into_inner).take(chunk);
            }
            Ok(chunk)
        })
    }
}
