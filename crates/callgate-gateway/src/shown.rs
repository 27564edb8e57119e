//! Shown calls: what of the calls left before the response was over, and whether it is what stands.

use callgate::{Call, Event};
use callgate_agent::id::random_id;
use serde::de::IgnoredAny;

use crate::answer::{Out, OutCall};
use crate::asked::ToolChoice;
use crate::config::ReleaseAt;

/// From how many bytes on a text is not joined with the next.
const LONG: usize = 16 << 10;

/// What of the calls left before the response was over.
#[derive(Default)]
pub(crate) struct Shown {
    release: ReleaseAt,
    calls: Vec<ShownCall>,
    /// Words that came while the arguments of the last call were written. They leave when those are whole: most APIs
    /// have one thing after the other.
    held: Vec<Out>,
}

/// A call of which something left before the response was over.
struct ShownCall {
    /// The number of its attempt.
    attempt: usize,
    /// Its place among the calls and rejections of the response, once that is over.
    place: Option<usize>,
    /// Whether it stood when the response was judged. Another one in its place, asked for later, is not what was shown.
    stands: bool,
    id: String,
    name: String,
    /// What left of its arguments, as the model wrote them.
    arguments: String,
    /// Whether all of it left, judged.
    is_whole: bool,
    /// Whether nothing more of its arguments may leave.
    is_closed: bool,
}

impl ShownCall {
    /// Whether its arguments are written to their end.
    fn is_written(&self) -> bool {
        self.is_closed || serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok()
    }

    /// Whether a client that has read what was shown makes the call that stands. Values that were fitted to their schema
    /// differ, another tool and arguments that nobody can read do not stand.
    fn is(&self, call: &Call) -> bool {
        let is_read = self.is_whole
            || self.name == call.name && serde_json::from_str::<IgnoredAny>(&self.arguments).is_ok();
        self.stands && self.place == Some(call.attempt) && is_read
    }
}

impl Shown {
    pub(crate) fn new(release: ReleaseAt) -> Self {
        Shown { release, ..Shown::default() }
    }

    /// How many calls something left of.
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether a call was shown that the judged response does not have. No correction takes that back.
    pub(crate) fn is_void(&self) -> bool {
        self.calls.iter().any(|call| !call.stands)
    }

    /// The place of the first call that was shown and is none of these; without one if it never was a call.
    pub(crate) fn void(&self, calls: &[Call]) -> Option<Option<usize>> {
        let is_there = |shown: &&ShownCall| calls.iter().any(|call| shown.is(call));
        self.calls.iter().find(|shown| !is_there(shown)).map(|shown| shown.place)
    }

    /// Which of the shown calls has this place in the response, its id, and whether all of it left.
    pub(crate) fn at(&self, place: usize) -> Option<(usize, &str, bool)> {
        let at = self.calls.iter().position(|call| call.place == Some(place))?;
        let call = &self.calls[at];
        Some((at, &call.id, call.is_whole))
    }

    /// Lets out what of an event may leave at once. Calls leave when they are settled or the response is judged.
    pub(crate) fn take(&mut self, event: &Event<'_>, choice: &ToolChoice, outs: &mut Vec<Out>) {
        match event {
            Event::Text { .. } | Event::Reasoning { .. } => match self.is_writing() {
                true => say(event, &mut self.held),
                false => say(event, outs),
            },
            Event::CallStarted { attempt, name, .. }
                if self.release == ReleaseAt::Eager && *choice != ToolChoice::None =>
            {
                // One at a time: no API has room for two calls that are written side by side. The second comes whole.
                if self.is_writing() {
                    return;
                }
                let id = format!("call_{}", random_id());
                outs.push(Out::CallBegun { place: self.calls.len(), id: id.clone(), name: name.to_string() });
                self.calls.push(ShownCall {
                    attempt: *attempt,
                    place: None,
                    stands: false,
                    id,
                    name: name.to_string(),
                    arguments: String::new(),
                    is_whole: false,
                    is_closed: false,
                });
            }
            Event::ArgumentsDelta { attempt, delta, .. } => {
                let Some(at) = self.calls.len().checked_sub(1) else { return };
                let last = &mut self.calls[at];
                if last.is_closed || last.attempt != *attempt {
                    return;
                }
                last.arguments.push_str(delta);
                outs.push(Out::CallArguments { place: at, delta: delta.to_string() });
                if !self.held.is_empty() && delta.contains('}') && !self.is_writing() {
                    outs.append(&mut self.held);
                }
            }
            _ => {}
        }
    }

    /// Notes the place of a call or a rejection, as the judged response has them.
    pub(crate) fn judged(&mut self, event: &Event<'_>, place: usize, outs: &mut Vec<Out>) {
        let (attempt, call) = match event {
            Event::Call(call) => (call.attempt, Some(call)),
            Event::Rejected(rejected) => (rejected.attempt, None),
            _ => return,
        };
        let last = self.calls.len().saturating_sub(1);
        let Some(at) = self.calls.iter().position(|shown| shown.attempt == attempt) else { return };
        let shown = &mut self.calls[at];
        shown.place = Some(place);
        let Some(call) = call else { return };
        shown.stands = true;
        if at == last && !shown.is_written() {
            // The end that the model left out, such as all of no arguments.
            if let Some(rest) = call.arguments.strip_prefix(shown.arguments.as_str()) {
                outs.push(Out::CallArguments { place: at, delta: rest.to_owned() });
                shown.arguments.push_str(rest);
            }
            shown.is_closed = true;
            outs.append(&mut self.held);
        }
    }

    /// Lets out the calls that stand whatever comes next.
    pub(crate) fn settle<'c>(&mut self, settled: impl Iterator<Item = &'c Call>, outs: &mut Vec<Out>) {
        if self.release != ReleaseAt::Settled {
            return;
        }
        for call in settled.skip(self.calls.len()) {
            let is_taken = |id: &str| self.calls.iter().any(|other| other.id == id);
            let given = Some(&call.id).filter(|id| !id.is_empty() && !is_taken(id)).cloned();
            let id = given.unwrap_or_else(|| format!("call_{}", random_id()));
            let (place, name, arguments) = (self.calls.len(), call.name.clone(), call.arguments.clone());
            self.calls.push(ShownCall {
                attempt: call.attempt,
                place: None,
                stands: false,
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
                is_whole: true,
                is_closed: true,
            });
            outs.push(Out::Call(OutCall { place, id, name, arguments, begun: false }));
        }
    }

    /// Whether the arguments of a call are being written. Those that are written to their end are closed by this: what
    /// leaves next stands behind the call.
    fn is_writing(&mut self) -> bool {
        let Some(last) = self.calls.last_mut() else { return false };
        last.is_closed = last.is_written();
        !last.is_closed
    }
}

/// Adds words, to the last ones where they are of the same kind.
fn say(event: &Event<'_>, outs: &mut Vec<Out>) {
    match (event, outs.last_mut()) {
        (Event::Text { text, .. }, Some(Out::Text(last))) if last.len() < LONG => last.push_str(text),
        (Event::Reasoning { text, .. }, Some(Out::Reasoning(last))) if last.len() < LONG => {
            last.push_str(text)
        }
        (Event::Text { text, .. }, _) => outs.push(Out::Text(text.to_string())),
        (Event::Reasoning { text, .. }, _) => outs.push(Out::Reasoning(text.to_string())),
        _ => {}
    }
}
