//! Sessions: one response, fed in chunks of any size, structured provider calls included.

use std::sync::Arc;

use serde_json::Value;

use crate::bytes::character_start;
use crate::ending::FinishReason;
use crate::event::{Call, Event};
use crate::finding::{Code, Finding, Span};
use crate::frame::Compiled;
use crate::frame::machine::Machine;
use crate::ledger::{Emitter, Ledger};
use crate::native::{Native, NativeDelta};
use crate::trial;

/// The reading of one response. Feeding never fails: what is wrong comes out as events.
///
/// Calls come out at the end, when the whole response has been judged, so a session that is dropped without
/// [`Session::finish`] has lost them.
///
/// ```
/// # use callgate::{Event, FinishReason, Gate};
/// let gate = Gate::builder().build()?;
/// let mut names = Vec::new();
/// let mut sink = |event: Event<'_>| {
///     if let Event::Call(call) = event {
///         names.push(call.name);
///     }
/// };
/// let mut session = gate.session();
/// session.push("<tool_call>{\"name\": \"look\", \"argu", &mut sink);
/// session.push("ments\": {}}</tool_call>", &mut sink);
/// session.finish(FinishReason::Stop, &mut sink);
/// assert_eq!(names, ["look"]);
/// # Ok::<(), callgate::GateError>(())
/// ```
#[must_use = "calls come out of `finish`"]
#[derive(Debug)]
pub struct Session {
    gate: Arc<Compiled>,
    machine: Machine,
    ledger: Ledger,
    native: Native,
    /// The first bytes of a character whose last ones are still to come.
    partial: Vec<u8>,
    /// How many bytes of the response have come.
    length: usize,
    /// What the provider sent as reasoning apart from the text, read only to say what stands in it.
    thought: Option<Box<Session>>,
}

/// What one response has cost, counted and not timed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// How many bytes the framing has read, bytes that were read again counted again, and how many words the echo guard.
    /// It is at most a small multiple of the input, whatever the input and however it was cut.
    pub reading: u64,
    /// How much the judging was, as `limits.work` counts it: values times the subschemas that judge each, and names that
    /// were compared. The bytes of the response count beside it.
    pub judging: u64,
}

/// How much is read between two looks at whether to go on.
const STRETCH: usize = 64 << 10;

impl Session {
    pub(crate) fn new(gate: Arc<Compiled>) -> Self {
        let machine = Machine::watching(&gate);
        Session { machine, ..Session::unwatched(gate) }
    }

    /// A session that says nothing about text that looks like calls.
    pub(crate) fn unwatched(gate: Arc<Compiled>) -> Self {
        let mut ledger = Ledger::default();
        ledger.effort.limit_to(gate.rules.policy.limits.work);
        Session {
            gate,
            machine: Machine::default(),
            ledger,
            native: Native::default(),
            partial: Vec::new(),
            length: 0,
            thought: None,
        }
    }

    /// Says what the prompt ended with, where that decides how the response begins (an opened `<think>`).
    pub fn with_prompt_tail(mut self, tail: &str) -> Self {
        let mut ignore = |_: Event<'_>| {};
        self.ledger.base = tail.len();
        let gate = &*self.gate;
        if gate.program.special.is_some() {
            // The template of the prompt wrote it.
            self.machine.note_special(Span::new(0, tail.len()));
        }
        let mut out =
            Emitter { ledger: &mut self.ledger, sink: &mut ignore, limit: gate.rules.policy.limits.held };
        self.machine.run(gate, tail, &mut out);
        self.machine.forget_text();
        self
    }

    /// Sets what generated ids start with.
    pub fn with_id_prefix(mut self, prefix: &str) -> Self {
        self.ledger.ids.prefix = prefix.to_owned().into();
        self
    }

    /// Gives text of the conversation that is not to be trusted: a call that it holds is an echo. It counts for the
    /// calls that are read from here on.
    pub fn untrusted(&mut self, text: &str) {
        self.ledger.echo.get_or_insert_default().take(text, self.gate.rules.policy.limits.untrusted);
    }

    /// Reads a chunk of text, cut anywhere.
    pub fn push(&mut self, chunk: &str, sink: &mut dyn FnMut(Event<'_>)) {
        if !self.partial.is_empty() {
            self.push_bytes(chunk.as_bytes(), sink);
            return;
        }
        let gate = &*self.gate;
        let mut out = Emitter { ledger: &mut self.ledger, sink, limit: gate.rules.policy.limits.held };
        read(gate, &mut self.machine, &mut self.length, chunk, &mut out);
    }

    /// Reads text that came as special tokens of the model's vocabulary, as a server that has the tokens knows it. Under the
    /// policy `special = required` the markers that are such tokens count only here; under `either` this is
    /// [`Session::push`].
    ///
    /// ```
    /// # use callgate::{Event, FinishReason, Gate, Policy};
    /// let gate = Gate::builder().policy(Policy::default().special_required()).build()?;
    /// let mut names = Vec::new();
    /// let mut sink = |event: Event<'_>| {
    ///     if let Event::Call(call) = event {
    ///         names.push(call.name);
    ///     }
    /// };
    /// let mut session = gate.session();
    /// session.push("They write [TOOL_CALLS]forge[ARGS]{} like this.\n", &mut sink);
    /// session.push_special("[TOOL_CALLS]", &mut sink);
    /// session.push("look", &mut sink);
    /// session.push_special("[ARGS]", &mut sink);
    /// session.push("{}", &mut sink);
    /// session.finish(FinishReason::Stop, &mut sink);
    /// assert_eq!(names, ["look"]);
    /// # Ok::<(), callgate::GateError>(())
    /// ```
    pub fn push_special(&mut self, text: &str, sink: &mut dyn FnMut(Event<'_>)) {
        if self.gate.program.special.is_some() {
            let start = self.ledger.base + self.length + self.partial.len();
            self.machine.note_special(Span::new(start, start + text.len()));
        }
        self.push(text, sink);
    }

    /// Reads a chunk of bytes, cut anywhere, even inside a character.
    pub fn push_bytes(&mut self, chunk: &[u8], sink: &mut dyn FnMut(Event<'_>)) {
        let joined;
        let mut rest = chunk;
        if !self.partial.is_empty() {
            let mut bytes = std::mem::take(&mut self.partial);
            bytes.extend_from_slice(chunk);
            joined = bytes;
            rest = &joined;
        }
        let gate = &*self.gate;
        let mut out = Emitter { ledger: &mut self.ledger, sink, limit: gate.rules.policy.limits.held };
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    read(gate, &mut self.machine, &mut self.length, text, &mut out);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    if let Ok(text) = std::str::from_utf8(valid) {
                        read(gate, &mut self.machine, &mut self.length, text, &mut out);
                    }
                    let Some(length) = error.error_len() else {
                        self.partial.extend_from_slice(after);
                        break;
                    };
                    read_invalid(gate, &mut self.machine, &mut self.length, length, &mut out);
                    rest = &after[length..];
                }
            }
        }
    }

    /// Passes on reasoning that the provider sent apart from the text. It is no part of the text, so it takes no bytes of
    /// it and nothing in it is a call; one that stands in it is said at the end.
    pub fn reasoning(&mut self, text: &str, sink: &mut dyn FnMut(Event<'_>)) {
        sink(Event::Reasoning { text: text.into(), span: Span::new(0, 0) });
        let gate = &self.gate;
        let thought = self.thought.get_or_insert_with(|| Box::new(Session::unwatched(gate.clone())));
        thought.push(text, &mut |_| {});
    }

    /// Reads one delta of a structured provider call.
    pub fn native(&mut self, delta: NativeDelta<'_>, sink: &mut dyn FnMut(Event<'_>)) {
        let gate = &*self.gate;
        let mut out = Emitter { ledger: &mut self.ledger, sink, limit: gate.rules.policy.limits.held };
        self.native.delta(&gate.rules, &mut self.machine, delta, &mut out);
    }

    /// Reads a whole list of structured provider calls, as OpenAI and Ollama write it. Where the list is at hand as text,
    /// [`Session::native_calls_text`] keeps more of it: a value has lost the digits of long numbers and the order of keys.
    pub fn native_calls(&mut self, calls: &Value, sink: &mut dyn FnMut(Event<'_>)) {
        self.native_list((calls, None), sink);
    }

    /// Reads a whole list of structured provider calls from its JSON text. A text that is no list holds no calls.
    pub fn native_calls_text(&mut self, calls: &str, sink: &mut dyn FnMut(Event<'_>)) {
        let value: Value = serde_json::from_str(calls).unwrap_or_default();
        self.native_list((&value, Some(calls)), sink);
    }

    pub(crate) fn native_list(&mut self, calls: (&Value, Option<&str>), sink: &mut dyn FnMut(Event<'_>)) {
        let gate = &*self.gate;
        let mut out = Emitter { ledger: &mut self.ledger, sink, limit: gate.rules.policy.limits.held };
        self.native.list(&gate.rules, &mut self.machine, calls, &mut out);
    }

    /// Ends the response: what was held comes out, then every call and rejection in source order.
    #[inline] // So that a session which is at hand is not moved first.
    pub fn finish(mut self, reason: FinishReason, sink: &mut dyn FnMut(Event<'_>)) {
        self.end(reason, sink);
    }

    /// The same, and how much work the whole response has made, for tests that hold it against the input.
    #[doc(hidden)]
    pub fn finish_counted(mut self, reason: FinishReason, sink: &mut dyn FnMut(Event<'_>)) -> Work {
        self.end(reason, sink);
        Work {
            reading: self.machine.work() + self.ledger.echo.as_ref().map_or(0, |guard| guard.work()),
            judging: self.ledger.effort.spent(),
        }
    }

    fn end(&mut self, reason: FinishReason, sink: &mut dyn FnMut(Event<'_>)) {
        let gate = &*self.gate;
        let mut out = Emitter { ledger: &mut self.ledger, sink, limit: gate.rules.policy.limits.held };
        if !self.partial.is_empty() {
            read_invalid(gate, &mut self.machine, &mut self.length, self.partial.len(), &mut out);
        }
        // What was not read to its end is cut off, whatever the provider says.
        let reason = if out.has_stopped() { FinishReason::Length } else { reason };
        self.machine.finish(gate, reason, &mut out);
        let unread = self.machine.unread().filter(|unread| !out.gave_up_before(unread.span));
        if let Some(unread) = unread {
            let reader = trial::reader(&gate.rules, &unread);
            if reader.is_some() {
                out.note_foreign();
            }
            if let Some(finding) = trial::finding(&gate.rules, &unread, reader) {
                out.finding(finding);
            }
        }
        if let Some(finding) = self.thought.take().and_then(|thought| calls_in_thought(*thought)) {
            out.finding(finding);
        }
        out.pass_over(self.length);
        self.native.finish(&gate.rules, reason, &mut out);
        out.finish(&gate.rules, reason);
    }

    /// The name of the call that is being read, if one is; the inner option is empty while the name is unknown.
    pub fn open_call(&self) -> Option<Option<&str>> {
        self.machine.open_call()
    }

    /// Whether text is held back because it may become a call.
    pub fn is_holding(&self) -> bool {
        self.machine.is_holding()
    }

    /// The calls in the text that stand whatever comes next, in order, before the response is over: `finish` will let them
    /// out as they are, with an id where the model gave none. There are none where the policy looks at all calls together (`position: trailing`,
    /// `partial: all-or-nothing`, `endings: good`, `on_excess: reject`). Where no thought has come, its end may, and would
    /// make everything before it a thought; the last call of a format whose values end at closers waits for what follows.
    ///
    /// A structured call takes the place of all that stand in the text: a host that asked for such calls cannot rely on
    /// these before the end.
    pub fn settled(&self) -> impl Iterator<Item = &Call> {
        let is_open = self.native.is_empty();
        self.ledger.settled(&self.gate.rules.policy, self.machine.doubts()).filter(move |_| is_open)
    }

    /// The names of the calls whose end has been seen, in order, until the response is finished.
    pub fn completed(&self) -> impl Iterator<Item = &str> {
        self.ledger.completed()
    }
}

/// What is said of calls in reasoning that came apart from the text. It has no place in the text.
fn calls_in_thought(thought: Session) -> Option<Finding> {
    let mut calls = 0;
    thought.finish(FinishReason::Unknown, &mut |event| match event {
        Event::Call(_) => calls += 1,
        // Without a name it may be something that only looks like the beginning of a call.
        Event::Rejected(rejected) if rejected.name.is_some() => calls += 1,
        _ => {}
    });
    (calls > 0).then(|| Finding { count: calls, ..Finding::new(Code::CallInReasoning) })
}

/// Reads text while there is work left for it. The bytes of a response count as work, so it ends at the byte with which
/// they are too many; what is judged counts where a call ends, so it makes no difference how the text was cut.
#[inline(always)] // It is called for each chunk.
fn read(gate: &Compiled, machine: &mut Machine, length: &mut usize, text: &str, out: &mut Emitter<'_, '_>) {
    let end = *length + text.len();
    // A small chunk that leaves work for others is read in one go.
    if text.len() <= STRETCH && end <= gate.rules.policy.limits.work && !out.has_stopped() {
        *length = end;
        machine.run(gate, text, out);
    } else {
        read_in_stretches(gate, machine, length, text, out);
    }
}

#[inline(never)] // See `read`.
fn read_in_stretches(
    gate: &Compiled,
    machine: &mut Machine,
    length: &mut usize,
    text: &str,
    out: &mut Emitter<'_, '_>,
) {
    let mut rest = text;
    while !rest.is_empty() {
        if out.has_stopped() {
            *length += rest.len();
            return;
        }
        let left = gate.rules.policy.limits.work.saturating_sub(*length);
        let end = character_start(rest, left.min(STRETCH));
        if end == 0 {
            stop(gate, machine, *length, out);
            continue;
        }
        machine.run(gate, &rest[..end], out);
        *length += end;
        rest = &rest[end..];
    }
}

/// The same for bytes that are no text.
fn read_invalid(
    gate: &Compiled,
    machine: &mut Machine,
    length: &mut usize,
    bytes: usize,
    out: &mut Emitter<'_, '_>,
) {
    if !out.has_stopped() && *length + bytes > gate.rules.policy.limits.work {
        stop(gate, machine, *length, out);
    }
    if !out.has_stopped() {
        machine.invalid(gate, bytes, out);
    }
    *length += bytes;
}

/// Ends the reading here, as if the output limit had been reached.
fn stop(gate: &Compiled, machine: &mut Machine, length: usize, out: &mut Emitter<'_, '_>) {
    machine.finish(gate, FinishReason::Length, out);
    let attempt = machine.next_attempt();
    out.stop_reading(length, attempt);
}
