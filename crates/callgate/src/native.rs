//! Native calls: what providers send as structured calls, whole or in deltas, read on the same path as text.

use serde_json::Value;

use crate::attempt::{Attempt, shortened};
use crate::draft::Draft;
use crate::draft::ending::Source;
use crate::draft::members::{ENVELOPE, NAMING, STRANGERS};
use crate::ending::{FinishReason, Lacks};
use crate::event::Choice;
use crate::finding::{Code, Finding};
use crate::frame::machine::Machine;
use crate::json::{Reader, Syntax, Tape};
use crate::ledger::Emitter;
use crate::policy::Release;
use crate::reception::receive_structured;
use crate::rules::Rules;

/// A delta of a structured provider call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeDelta<'a> {
    /// Which call of the response, as the provider counts; without it the id or the order decides.
    pub index: Option<usize>,
    /// The id, usually in the first delta only.
    pub id: Option<&'a str>,
    /// The name or a part of it.
    pub name: Option<&'a str>,
    /// A part of the arguments.
    pub arguments: Option<&'a str>,
    /// Whether this is the last delta.
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
    draft: Draft,
    has_function: bool,
    /// Whether its end was seen.
    done: bool,
    /// Whether it came in a list of whole calls.
    is_listed: bool,
    /// Members that structured calls do not have.
    strangers: Vec<String>,
}

impl Native {
    pub(crate) fn delta(
        &mut self,
        rules: &Rules,
        machine: &mut Machine,
        delta: NativeDelta<'_>,
        out: &mut Emitter<'_, '_>,
    ) {
        let Some(at) = self.find(rules, machine, &delta) else {
            self.unread += 1;
            return;
        };
        let Some(call) = self.open.get_mut(at) else { return };
        call.has_function = true;
        let draft = &mut call.draft;
        if let Some(id) = delta.id.filter(|id| !id.trim().is_empty()) {
            draft.id.get_or_insert_with(|| id.to_owned());
        }
        if let Some(name) = delta.name {
            let so_far = draft.name.get_or_insert_default();
            // A provider that repeats the header repeats the id with it.
            let repeats = delta.id.is_some() && so_far == name && !so_far.is_empty();
            if !repeats {
                so_far.push_str(name);
            }
        }
        if let Some(arguments) = delta.arguments {
            call.read(rules, arguments, out);
        }
        if delta.done {
            call.done = true;
            self.release(rules, out);
        }
    }

    /// Whether no structured call has come.
    pub(crate) fn is_empty(&self) -> bool {
        self.order == 0
    }

    /// Calls that are complete come out at once where the policy says so.
    fn release(&mut self, rules: &Rules, out: &mut Emitter<'_, '_>) {
        if rules.policy.release != Release::Early {
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
            receive_structured(rules, call.finish(rules, FinishReason::Unknown), index, out);
        }
    }

    /// Reads a whole list; `text` is the list as it was written, where that is known, for the digits and the order that a
    /// value does not keep.
    pub(crate) fn list(
        &mut self,
        rules: &Rules,
        machine: &mut Machine,
        (calls, text): (&Value, Option<&str>),
        out: &mut Emitter<'_, '_>,
    ) {
        let Value::Array(calls) = calls else { return };
        let text = text.and_then(|text| Some((text, Tape::parse(text)?)));
        let places: Vec<usize> = text.as_ref().map_or_else(Vec::new, |(_, tape)| tape.children(0).collect());
        for (index, call) in calls.iter().enumerate() {
            if self.is_full(rules) {
                self.unread += 1;
                continue;
            }
            let id = call.get("id").and_then(Value::as_str);
            let function = call.get("function").filter(|function| function.is_object()).or_else(|| {
                // Some providers put the name beside the id.
                (call.get("function").is_none() && call.get("name").is_some()).then_some(call)
            });
            self.order += 1;
            let mut open = Open::new(rules, machine, None, self.order);
            open.draft.id = id.filter(|id| !id.trim().is_empty()).map(str::to_owned);
            if let Some(function) = function {
                open.has_function = true;
                open.draft.name = match function.get("name") {
                    Some(Value::String(name)) => Some(name.clone()),
                    Some(Value::Null) | None => None,
                    Some(other) => Some(other.to_string()),
                };
                let written = || Some((text.as_ref()?, *places.get(index)?));
                if let Some(((text, tape), place)) = written() {
                    open.draft.findings.extend(repeated(text, tape, place));
                }
                match misplaced(function).or_else(|| second_name(call, function)) {
                    Some(finding) => open.draft.findings.push(finding),
                    None => open.strangers = strangers(call, function),
                }
                let arguments = function.get("arguments").or_else(|| function.get("parameters"));
                open.done = arguments.is_some_and(says_something);
                match arguments {
                    None | Some(Value::Null) => {}
                    Some(Value::String(text)) => open.read(rules, text, out),
                    Some(other) => {
                        match written().and_then(|((text, tape), place)| written_arguments(text, tape, place))
                        {
                            Some(written) => open.read(rules, written, out),
                            None => open.read(rules, &other.to_string(), out),
                        }
                    }
                }
            }
            open.is_listed = true;
            self.open.push(open);
        }
        self.release(rules, out);
    }

    /// Judges all calls, in the order of their indices.
    pub(crate) fn finish(&mut self, rules: &Rules, reason: FinishReason, out: &mut Emitter<'_, '_>) {
        let mut calls = std::mem::take(&mut self.open);
        calls.sort_by_key(|call| (call.index.unwrap_or(0), call.order));
        for (position, call) in calls.into_iter().enumerate() {
            receive_structured(rules, call.finish(rules, reason), position, out);
        }
        if self.unread > 0 {
            out.unread_native(self.order);
        }
    }

    /// Whether there are as many calls as can be let out and rejected.
    fn is_full(&self, rules: &Rules) -> bool {
        self.open.len() > rules.policy.max_calls.saturating_add(rules.policy.limits.rejections)
    }

    /// The call that a delta belongs to: by index, else by id, else the last; a new id at a used index is a new call.
    fn find(&mut self, rules: &Rules, machine: &mut Machine, delta: &NativeDelta<'_>) -> Option<usize> {
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
            let is_new = match (id, &call.draft.id) {
                (Some(new), Some(old)) => new != old,
                _ => false,
            };
            // Without an index, a second name after the arguments begins a new call.
            let named_again = delta.index.is_none()
                && id.is_none()
                && delta.name.is_some_and(|n| !n.is_empty())
                && call.draft.raw_len > 0;
            if !is_new && !named_again {
                return Some(at);
            }
            if is_new
                && delta.index.is_none()
                && let Some(at) = self.open.iter().rposition(|call| call.draft.id.as_deref() == id)
            {
                return Some(at);
            }
        }
        if self.is_full(rules) {
            return None;
        }
        self.order += 1;
        self.open.push(Open::new(rules, machine, delta.index, self.order));
        Some(self.open.len() - 1)
    }
}

impl Open {
    fn new(rules: &Rules, machine: &mut Machine, index: Option<usize>, order: usize) -> Self {
        let reader = Reader::new(Syntax::Json).with_depth(rules.policy.limits.depth).document();
        let mut draft = Draft::new(machine.next_attempt(), 1, 0);
        draft.begin_json(Box::new(reader), false, 0);
        Open {
            index,
            order,
            draft,
            has_function: false,
            done: false,
            is_listed: false,
            strangers: Vec::new(),
        }
    }

    fn read(&mut self, rules: &Rules, arguments: &str, out: &mut Emitter<'_, '_>) {
        let limits = &rules.policy.limits;
        let draft = &mut self.draft;
        let mut rest = arguments;
        while !rest.is_empty()
            && let Some((reader, room)) = draft.json_with_room(rest, draft.raw_len, limits.arguments)
        {
            let (now, later) = rest.split_at(room);
            reader.push(now);
            draft.keep(now, limits.raw);
            rest = later;
        }
        draft.announce(|| ("native".into(), Choice::Provider), out);
        draft.show(out);
    }

    fn finish(mut self, rules: &Rules, reason: FinishReason) -> Attempt {
        if !self.has_function {
            self.draft.findings.push(Finding::new(Code::MissingFunction));
        }
        // A call that came whole has no arguments, unless the output was cut: what a server has of a call by then is
        // listed like a whole one. Of any other call they may have been going to come.
        let is_over = self.done || self.is_listed && !reason.is_cut();
        let unwritten = (!is_over).then_some(Lacks::Closers);
        let is_whole = self.draft.end_json(rules, reason, self.draft.raw_len, unwritten);
        let (attempt, _) =
            self.draft.finish(Source::Provider { closed: self.done || self.is_listed || is_whole });
        Attempt { strangers: self.strangers, ..attempt }
    }
}

/// The arguments of a call in a list, as they are written.
fn written_arguments<'t>(text: &'t str, tape: &Tape, call: usize) -> Option<&'t str> {
    let function = tape.member(text, call, "function").unwrap_or(call);
    let arguments =
        tape.member(text, function, "arguments").or_else(|| tape.member(text, function, "parameters"))?;
    Some(tape.raw(text, arguments))
}

/// Whether something was written for the arguments.
fn says_something(arguments: &Value) -> bool {
    match arguments {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        _ => true,
    }
}

/// What is said of a whole call with members that stand twice. A policy may let the last of them count, but two tools are
/// named by a call of none.
fn repeated(text: &str, tape: &Tape, call: usize) -> Vec<Finding> {
    let is = |child: &usize, word: &str| tape.key(text, *child).is_some_and(|key| key == word);
    let functions = tape.children(call).filter(|child| is(child, "function"));
    let objects: Vec<usize> = std::iter::once(call).chain(functions).collect();
    let Some(node) = objects.iter().find_map(|object| tape.repeated_member(text, *object)) else {
        return Vec::new();
    };
    let key = tape.key(text, node).unwrap_or_default();
    let message = format!("the member `{}` stands twice in one call", shortened(&key));
    let mut findings = vec![Finding::new(Code::DuplicateKey).message(message)];
    let members = objects.iter().flat_map(|object| tape.children(*object));
    let mut names = members.filter(|child| is(child, "name")).filter_map(|name| tape.string(text, name));
    let first = names.next();
    if names.any(|name| Some(&name) != first.as_ref()) {
        findings.push(two_tools());
    }
    findings
}

/// A rejection if a whole call names another tool beside its function.
fn second_name(call: &Value, function: &Value) -> Option<Finding> {
    let name = function.get("name").and_then(Value::as_str);
    let mut named = NAMING.iter().flat_map(|key| [call.get(*key), function.get(*key)]).flatten();
    named.any(|other| other.is_string() && other.as_str() != name).then(two_tools)
}

fn two_tools() -> Finding {
    Finding::new(Code::Ambiguous).message("the call names two tools, so neither was run")
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
