//! Sessions: one response, fed in chunks; each chunk crosses the border once and comes back as a list of events.

use callgate::{Event, NativeDelta, Session as CoreSession};
use serde::Deserialize;
use wasm_bindgen::prelude::*;

use crate::errors::Told;
use crate::units::Units;
use crate::wire::{self, Events};

/// The reading of one response.
#[wasm_bindgen]
pub struct Session {
    /// Empty once the response is finished.
    session: Option<CoreSession>,
    units: Units,
}

/// One delta of a structured call.
#[derive(Deserialize)]
struct Delta {
    index: Option<usize>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    #[serde(default)]
    done: bool,
}

impl Session {
    pub(crate) fn new(session: CoreSession) -> Self {
        Session { session: Some(session), units: Units::default() }
    }

    fn feed(
        &mut self,
        feed: impl FnOnce(&mut CoreSession, &mut dyn FnMut(Event<'_>)),
    ) -> Result<String, JsValue> {
        let Some(session) = &mut self.session else { return Err(closed()) };
        let mut events = Events::new();
        let units = &self.units;
        feed(session, &mut |event| events.push(&event, units));
        Ok(events.finish())
    }
}

fn closed() -> JsValue {
    let help = "make a session for each response: gate.session()";
    Told::new("session-closed", "this session is finished", help).thrown()
}

#[wasm_bindgen]
impl Session {
    /// Reads a chunk of text.
    pub fn push(&mut self, chunk: &str) -> Result<String, JsValue> {
        self.units.push(chunk);
        self.feed(|session, sink| session.push(chunk, sink))
    }

    /// Reads a chunk of bytes, cut anywhere.
    pub fn push_bytes(&mut self, chunk: &[u8]) -> Result<String, JsValue> {
        self.units.push_bytes(chunk);
        self.feed(|session, sink| session.push_bytes(chunk, sink))
    }

    /// Reads text that came as special tokens of the model's vocabulary.
    pub fn push_special(&mut self, text: &str) -> Result<String, JsValue> {
        self.units.push(text);
        self.feed(|session, sink| session.push_special(text, sink))
    }

    /// Reads one delta of a structured provider call.
    pub fn native(&mut self, delta: &str) -> Result<String, JsValue> {
        let delta: Delta =
            serde_json::from_str(delta).map_err(|error| Told::not_json("delta", &error).thrown())?;
        let delta = NativeDelta {
            index: delta.index,
            id: delta.id.as_deref(),
            name: delta.name.as_deref(),
            arguments: delta.arguments.as_deref(),
            done: delta.done,
        };
        self.feed(|session, sink| session.native(delta, sink))
    }

    /// Reads a whole list of structured provider calls.
    pub fn native_calls(&mut self, calls: &str) -> Result<String, JsValue> {
        self.feed(|session, sink| session.native_calls_text(calls, sink))
    }

    /// Passes on reasoning that the provider sent apart from the text.
    pub fn reasoning(&mut self, text: &str) -> Result<String, JsValue> {
        self.feed(|session, sink| session.reasoning(text, sink))
    }

    /// Gives text of the conversation that is not to be trusted.
    pub fn untrusted(&mut self, text: &str) -> Result<(), JsValue> {
        self.feed(|session, _| session.untrusted(text)).map(drop)
    }

    /// Ends the response.
    pub fn finish(&mut self, reason: &str) -> Result<String, JsValue> {
        let reason = wire::reason(reason).map_err(Told::thrown)?;
        let Some(session) = self.session.take() else { return Err(closed()) };
        self.units.finish();
        let mut events = Events::new();
        session.finish(reason, &mut |event| events.push(&event, &self.units));
        Ok(events.finish())
    }

    /// Whether text is held back because it may become a call.
    pub fn is_holding(&self) -> bool {
        self.session.as_ref().is_some_and(CoreSession::is_holding)
    }

    /// Whether a call is being read.
    pub fn is_calling(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.open_call().is_some())
    }

    /// The name of the call that is being read, as far as it is known.
    pub fn open_call(&self) -> Option<String> {
        self.session.as_ref().and_then(CoreSession::open_call).flatten().map(str::to_owned)
    }

    /// The names of the calls whose end has been seen, in order, as JSON.
    pub fn completed(&self) -> String {
        wire::text(&self.session.iter().flat_map(CoreSession::completed).collect::<Vec<_>>())
    }
}
