//! Native calls: what providers send as structured calls, whole or in deltas, read on the same path as text.

use serde_json::Value;

use crate::ending::{FinishReason, Lacks, closing};
use crate::event::Choice;
use crate::finding::{Code, Finding, Span};
use crate::frame::draft::{Arguments, Attempt, Meaning, Name};
use crate::frame::machine::Machine;
use crate::frame::members::{ENVELOPE, NAMING, STRANGERS, shortened};
use crate::gate::Compiled;
use crate::json::{End, Reader, Safety, Syntax, Tape};
use crate::ledger::Out;
use crate::policy::Release;

/// A piece of a structured provider call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeDelta<'a> {
    /// Which call of the response, as the provider counts; without it the id or the order decides.
    pub index: Option<usize>,
    /// The id, usually in the first piece only.
    pub id: Option<&'a str>,
    /// The name or a piece of it.
    pub name: Option<&'a str>,
    /// A piece of the arguments.
    pub arguments: Option<&'a str>,
    /// Whether this is the last piece.
    pub done: bool,
}

/// The structured calls of one response.
#[derive(Debug, Default)]
pub(crate) struct Native {
    open: Vec<Open>,
    order: usize,
    /// How many calls were not taken up, since there are more than could be listed.
    unread: usize,
}

/// A structured call that has begun.
#[derive(Debug)]
struct Open {
    index: Option<usize>,
    /// Its place among the calls with this index.
    order: usize,
    number: usize,
    id: Option<String>,
    name: String,
    has_function: bool,
    has_name: bool,
    reader: Box<Reader>,
    raw: String,
    length: usize,
    started: bool,
    shown: usize,
    done: bool,
    /// Why its arguments cannot be told from its other members, or its name from another.
    misplaced: Option<Finding>,
    /// Members that structured calls do not have.
    strangers: Vec<String>,
}

impl Native {
    pub(crate) fn delta(
        &mut self,
        gate: &Compiled,
        machine: &mut Machine,
        delta: NativeDelta<'_>,
        out: &mut Out<'_, '_>,
    ) {
        let Some(at) = self.find(gate, machine, &delta) else {
            self.unread += 1;
            return;
        };
        let Some(call) = self.open.get_mut(at) else { return };
        call.has_function = true;
        if let Some(id) = delta.id.filter(|id| !id.trim().is_empty()) {
            call.id.get_or_insert_with(|| id.to_owned());
        }
        if let Some(name) = delta.name {
            call.has_name = true;
            // A provider that repeats the header repeats the id with it.
            let repeats = delta.id.is_some() && call.name == name && !call.name.is_empty();
            if !repeats {
                call.name.push_str(name);
            }
        }
        if let Some(arguments) = delta.arguments {
            call.read(gate, arguments, out);
        }
        if delta.done {
            call.done = true;
            self.release(gate, out);
        }
    }

    /// Calls that are complete come out at once where the policy says so.
    fn release(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        if gate.policy.release != Release::Early {
            return;
        }
        let mut at = 0;
        while at < self.open.len() {
            if !self.open[at].done {
                at += 1;
                continue;
            }
            let call = self.open.remove(at);
            let index = call.order;
            out.native(gate, call.finish(gate, FinishReason::Unknown), index);
        }
    }

    /// Reads a whole list; `text` is the list as it was written, where that is known, for the digits and the order that a
    /// value does not keep.
    pub(crate) fn list(
        &mut self,
        gate: &Compiled,
        machine: &mut Machine,
        (calls, text): (&Value, Option<&str>),
        out: &mut Out<'_, '_>,
    ) {
        let Value::Array(calls) = calls else { return };
        let text = text.and_then(|text| Some((text, Tape::parse(text)?)));
        let places: Vec<usize> = text.as_ref().map_or_else(Vec::new, |(_, tape)| tape.children(0).collect());
        for (index, call) in calls.iter().enumerate() {
            if self.is_full(gate) {
                self.unread += 1;
                continue;
            }
            let id = call.get("id").and_then(Value::as_str);
            let function = call.get("function").filter(|function| function.is_object()).or_else(|| {
                // Some providers put the name beside the id.
                (call.get("function").is_none() && call.get("name").is_some()).then_some(call)
            });
            self.order += 1;
            let mut open = Open::new(gate, machine, None, self.order);
            open.id = id.filter(|id| !id.trim().is_empty()).map(str::to_owned);
            if let Some(function) = function {
                open.has_function = true;
                match function.get("name") {
                    Some(Value::String(name)) => {
                        open.has_name = true;
                        open.name.push_str(name);
                    }
                    Some(Value::Null) | None => {}
                    Some(other) => {
                        open.has_name = true;
                        open.name.push_str(&other.to_string());
                    }
                }
                open.misplaced = misplaced(function).or_else(|| second_name(call, function));
                if open.misplaced.is_none() {
                    open.strangers = strangers(call, function);
                }
                match function.get("arguments").or_else(|| function.get("parameters")) {
                    None | Some(Value::Null) => {}
                    Some(Value::String(text)) => open.read(gate, text, out),
                    Some(other) => {
                        let place = places.get(index).copied();
                        match text.as_ref().and_then(|(text, tape)| written_arguments(text, tape, place?)) {
                            Some(written) => open.read(gate, written, out),
                            None => open.read(gate, &other.to_string(), out),
                        }
                    }
                }
            }
            open.done = true;
            self.open.push(open);
        }
        self.release(gate, out);
    }

    /// Judges all calls, in the order of their indices.
    pub(crate) fn finish(&mut self, gate: &Compiled, reason: FinishReason, out: &mut Out<'_, '_>) {
        let mut calls = std::mem::take(&mut self.open);
        calls.sort_by_key(|call| (call.index.unwrap_or(0), call.order));
        for (position, call) in calls.into_iter().enumerate() {
            out.native(gate, call.finish(gate, reason), position);
        }
        if self.unread > 0 {
            out.unread_native(self.order);
        }
    }

    /// Whether there are as many calls as can be let out and refused.
    fn is_full(&self, gate: &Compiled) -> bool {
        self.open.len() > gate.policy.max_calls.saturating_add(gate.policy.limits.refusals)
    }

    /// The call that a delta belongs to: by index, else by id, else the last; a new id at a used index is a new call.
    fn find(&mut self, gate: &Compiled, machine: &mut Machine, delta: &NativeDelta<'_>) -> Option<usize> {
        let id = delta.id.filter(|id| !id.trim().is_empty());
        if self.unread > 0 && id.is_none() && delta.index.is_none() {
            // It goes on with a call that was not taken up.
            return None;
        }
        let same_place = |call: &Open| match delta.index {
            Some(index) => call.index == Some(index),
            None => true,
        };
        let last = self.open.iter().rposition(same_place);
        if let Some(at) = last {
            let call = &self.open[at];
            let is_new = match (id, &call.id) {
                (Some(new), Some(old)) => new != old,
                _ => false,
            };
            // Without an index, a second name after the arguments begins a new call.
            let named_again = delta.index.is_none()
                && id.is_none()
                && delta.name.is_some_and(|n| !n.is_empty())
                && call.length > 0;
            if !is_new && !named_again {
                return Some(at);
            }
            if is_new
                && delta.index.is_none()
                && let Some(at) = self.open.iter().rposition(|call| call.id.as_deref() == id)
            {
                return Some(at);
            }
        }
        if self.is_full(gate) {
            return None;
        }
        self.order += 1;
        self.open.push(Open::new(gate, machine, delta.index, self.order));
        Some(self.open.len() - 1)
    }
}

impl Open {
    fn new(gate: &Compiled, machine: &mut Machine, index: Option<usize>, order: usize) -> Self {
        let reader = Reader::new(Syntax::Json).with_depth(gate.policy.limits.depth).document();
        Open {
            index,
            order,
            number: machine.next_attempt(),
            id: None,
            name: String::new(),
            has_function: false,
            has_name: false,
            reader: Box::new(reader),
            raw: String::new(),
            length: 0,
            started: false,
            shown: 0,
            done: false,
            misplaced: None,
            strangers: Vec::new(),
        }
    }

    fn read(&mut self, gate: &Compiled, arguments: &str, out: &mut Out<'_, '_>) {
        if arguments.is_empty() {
            return;
        }
        let limits = &gate.policy.limits;
        let room = limits.arguments.saturating_sub(self.length);
        self.length += arguments.len();
        let keep = limits.raw.saturating_sub(self.raw.len()).min(arguments.len());
        self.raw.push_str(arguments.get(..keep).unwrap_or(arguments));
        let mut cut = room.min(arguments.len());
        while !arguments.is_char_boundary(cut) {
            cut -= 1;
        }
        self.reader.push(&arguments[..cut]);
        if cut < arguments.len() && self.reader.failure().is_none() {
            let message = format!("the arguments are longer than {} bytes", limits.arguments);
            self.reader.abort(Code::TooLarge, limits.arguments, message);
        }
        if !self.name.trim().is_empty() {
            if !std::mem::replace(&mut self.started, true) {
                out.started(self.number, &self.name, ("native".into(), Choice::Provider));
            }
            let text = self.reader.text();
            if let Some(new) = text.get(self.shown..).filter(|new| !new.is_empty()) {
                out.delta(self.number, new);
                self.shown = text.len();
            }
        }
    }

    fn finish(mut self, gate: &Compiled, reason: FinishReason) -> Attempt {
        let mut findings: Vec<Finding> = self.misplaced.take().into_iter().collect();
        if !self.has_function {
            findings.push(Finding::new(Code::MissingFunction));
        }
        let end = self.reader.finish();
        let at = Span::new(self.length, self.length);
        let lacks = match end {
            End::Whole => None,
            // What could not be read says why by itself, unless the rest was never written.
            End::Failed if !(reason.is_cut() && self.reader.in_string()) => None,
            // A call that came whole has no arguments; of any other they may have been going to come.
            End::Blank if self.done => None,
            End::Blank | End::Closable => Some(Lacks::Closers),
            End::CutOff | End::Failed => Some(Lacks::Rest),
        };
        let may_close = lacks.and_then(|lacks| closing(gate, reason, Some(&self.name), lacks));
        let whole = match lacks {
            None => true,
            Some(_) if may_close.is_none() => false,
            Some(_) => end == End::Blank || self.reader.close(),
        };
        if !whole {
            findings
                .push(Finding::new(Code::Truncated).at(at).message("the output ends inside the arguments"));
        }
        let failure = self.reader.failure().cloned();
        let mut attempt = Attempt {
            number: self.number,
            dialect: "native".into(),
            span: None,
            name: if self.has_name { Name::Written(self.name) } else { Name::Missing },
            id: self.id,
            after: Vec::new(),
            arguments: Arguments::Blank,
            tape: Tape::default(),
            repairs: Vec::new(),
            findings,
            notes: Vec::new(),
            strangers: self.strangers,
            raw: self.raw,
            raw_len: self.length,
            text_born: false,
            closed: true,
            unmarked: false,
            meaning: Meaning::Call,
            body_start: Some(0),
        };
        if let Some(failure) = failure {
            let at = Span::new(failure.at, failure.at);
            attempt.findings.push(Finding::new(failure.code).at(at).message(failure.message));
            attempt.arguments = Arguments::Broken;
        } else if end != End::Blank && whole {
            let (text, tape, repairs) = self.reader.into_parts();
            attempt.repairs = repairs;
            if may_close == Some(Safety::Guess) {
                let last = attempt.repairs.iter_mut().filter(|repair| repair.span.end >= at.end);
                last.for_each(|repair| repair.safety = Safety::Guess);
            }
            attempt.arguments = if text.trim() == "null" { Arguments::Blank } else { Arguments::Json(text) };
            attempt.tape = tape;
        } else if !whole {
            attempt.arguments = Arguments::Broken;
        }
        attempt
    }
}

/// The arguments of a call in a list, as they are written.
fn written_arguments<'t>(text: &'t str, tape: &Tape, call: usize) -> Option<&'t str> {
    let function = tape.member(text, call, "function").unwrap_or(call);
    let arguments =
        tape.member(text, function, "arguments").or_else(|| tape.member(text, function, "parameters"))?;
    Some(tape.raw(text, arguments))
}

/// A refusal if a whole call names another tool beside its function.
fn second_name(call: &Value, function: &Value) -> Option<Finding> {
    let name = function.get("name").and_then(Value::as_str);
    let mut named = NAMING.iter().flat_map(|key| [call.get(*key), function.get(*key)]).flatten();
    named
        .any(|other| other.is_string() && other.as_str() != name)
        .then(|| Finding::new(Code::Ambiguous).message("the call names two tools, so neither was run"))
}

/// The members of a whole call that no provider writes.
fn strangers(call: &Value, function: &Value) -> Vec<String> {
    let is_nested = !std::ptr::eq(call, function);
    let outer = call.as_object().filter(|_| is_nested).into_iter().flatten();
    let outer = outer.map(|(key, _)| key).filter(|key| *key != "function");
    let inner = function.as_object().into_iter().flatten().map(|(key, _)| key);
    let inner = inner.filter(|key| !matches!(key.as_str(), "name" | "arguments" | "parameters"));
    let unknown = outer.chain(inner).filter(|key| !ENVELOPE.contains(&key.as_str()));
    unknown.take(STRANGERS).map(|key| shortened(key)).collect()
}

/// Why the arguments of a whole call cannot be told from its other members, as in text.
fn misplaced(function: &Value) -> Option<Finding> {
    let members = function.as_object()?;
    match (members.get("arguments"), members.get("parameters")) {
        (Some(_), Some(_)) => Some(
            Finding::new(Code::Ambiguous)
                .message("the arguments stand under both `arguments` and `parameters`"),
        ),
        (None, None) => {
            let stranger = members.keys().find(|key| *key != "name" && !ENVELOPE.contains(&key.as_str()))?;
            let stranger = shortened(stranger);
            let message = format!("the call has no `arguments`, but `{stranger}`, which may hold them");
            Some(Finding::new(Code::MisplacedArguments).message(message))
        }
        _ => None,
    }
}
