//! Turns: a request goes to a model, and its answer through the gate as it arrives, to its end or until enough has come.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use callgate::{Collector, Event, FinishReason, Gate, Response};

use super::{ChatRequest, FaultCode, Model, ModelChunk, ModelFault, Served, Usage};
use crate::history::Message;

/// A judged answer and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// What came of it.
    pub response: Response,
    /// What it cost; nothing if it was interrupted, since servers say that in the end.
    pub usage: Usage,
    /// What the server says about it.
    pub served: Served,
    /// How many bytes of its text were read, if it was interrupted because enough had come.
    pub interrupted_at: Option<usize>,
    /// How long the gate took to read and judge it, repairs included: they are made while it is read.
    pub reading: Duration,
}

/// What is heard while an answer arrives.
#[derive(Debug)]
pub enum Heard<'e> {
    /// The gate read something.
    Event(Event<'e>),
    /// The end of a call has been seen. It is judged with the response.
    CallComplete {
        /// The tool that it names.
        name: &'e str,
    },
}

/// How far an answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To its end.
    End,
    /// To the end of its first call in text, or to its own. The connection is closed there, and what there is, is judged as
    /// if the model had stopped.
    Call,
}

/// Asks a model and reads its answer through the gate as it arrives. Events go to the sink at once; an answer that
/// breaks off is a fault, and none of its calls comes out.
pub async fn respond(
    model: &dyn Model,
    request: &ChatRequest,
    gate: &Gate,
    id_prefix: &str,
    sink: &mut (dyn FnMut(Event<'_>) + Send),
) -> Result<Turn, ModelFault> {
    let mut hear = |heard: Heard<'_>| {
        if let Heard::Event(event) = heard {
            sink(event);
        }
    };
    respond_until(Until::End, model, request, gate, id_prefix, &mut hear).await
}

/// The same as far as is wanted, with the ends of calls told as well.
pub async fn respond_until(
    until: Until,
    model: &dyn Model,
    request: &ChatRequest,
    gate: &Gate,
    id_prefix: &str,
    hear: &mut (dyn FnMut(Heard<'_>) + Send),
) -> Result<Turn, ModelFault> {
    let mut chunks = model.chat(request).await?;
    let mut session = gate.session().with_id_prefix(id_prefix);
    // Results and errors of tools are untrusted text: the gate reports a call that repeats one (`echo`).
    for message in &request.messages {
        if let Message::ToolResult { content, .. } | Message::ToolError { content, .. } = message {
            session.untrusted(content);
        }
    }
    // What is left out may live on in what the model said about it.
    request.untrusted.iter().for_each(|text| session.untrusted(text));
    let mut collected = Collected::default();
    let (mut usage, mut served) = (Usage::default(), Served::default());
    let (mut finish, mut is_enough, mut complete, mut length) = (None, false, 0, 0);
    let mut reading = Duration::ZERO;
    while !is_enough && let Some(chunk) = chunks.next().await? {
        let began = Instant::now();
        for piece in pieces(&chunk, until) {
            piece.feed(&mut session, &mut |event| {
                hear(Heard::Event(event.clone()));
                collected.push(event);
            });
            if let ModelChunk::Text(text) = &*piece {
                length += text.len();
            }
            for name in session.completed().skip(complete) {
                complete += 1;
                hear(Heard::CallComplete { name });
                is_enough = until == Until::Call;
            }
            if is_enough {
                break;
            }
        }
        reading += began.elapsed();
        match chunk {
            ModelChunk::Served(said) => served = said,
            ModelChunk::End { reason, usage: cost } => {
                finish = Some(reason);
                usage += cost;
            }
            _ => {}
        }
    }
    drop(chunks);
    let reason = match is_enough {
        true => FinishReason::Stop,
        false => finish.ok_or_else(|| ModelFault::new(FaultCode::EndedEarly, "the answer has no end"))?,
    };
    let began = Instant::now();
    session.finish(reason, &mut |event| {
        hear(Heard::Event(event.clone()));
        collected.push(event);
    });
    Ok(Turn {
        response: collected.finish(reason),
        usage,
        served,
        interrupted_at: is_enough.then_some(length),
        reading: reading + began.elapsed(),
    })
}

/// The pieces in which a chunk is read. Where the end of a call stops the reading, text is read by characters: what stands
/// behind the call in the same chunk is not read, so that it makes no difference how the server cut its answer.
fn pieces(chunk: &ModelChunk, until: Until) -> Vec<Cow<'_, ModelChunk>> {
    match chunk {
        ModelChunk::Text(text) if until == Until::Call => {
            text.chars().map(|c| Cow::Owned(ModelChunk::Text(c.to_string()))).collect()
        }
        whole => vec![Cow::Borrowed(whole)],
    }
}

/// A response that is being collected. Its calls and rejections are numbered by their places, as the gate lets them out:
/// structured calls by the server's index, whichever came first.
#[derive(Debug, Default)]
pub struct Collected {
    collector: Collector,
    places: usize,
}

impl Collected {
    /// Takes the next event.
    pub fn push(&mut self, mut event: Event<'_>) {
        match &mut event {
            Event::Call(call) => call.attempt = self.places,
            Event::Rejected(rejected) => rejected.attempt = self.places,
            _ => return self.collector.push(event),
        }
        self.places += 1;
        self.collector.push(event);
    }

    /// The response, which ended for this reason.
    pub fn finish(self, reason: FinishReason) -> Response {
        self.collector.finish(reason)
    }
}
