//! The ledger: events on their way out, and the attempts that wait for the end of the response.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::attempt::{Attempt, Meaning};
use crate::echo::Guard;
use crate::effort::Effort;
use crate::ending::FinishReason;
use crate::event::{Call, Choice, Event, Rejected};
use crate::finding::{Code, Finding, Severity, Span};
use crate::gate::Compiled;
use crate::judge::{Verdict, judge};
use crate::policy::{Echo, Endings, Excess, Partial, Policy, Position, Release, RequireCall};

/// How often the same remark is made before it is only counted.
const REPEATS: usize = 16;

/// How often any finding with the same code is listed before it is only counted.
const LISTED: usize = 256;

/// How many bytes of refused text and of reasons one response may hold. What is refused after that keeps the one reason
/// that decides.
const REFUSED: usize = 1 << 20;

/// The most bytes of a message that is kept then.
const SHORT: usize = 160;

/// For how many attempts room is kept for a later response.
const KEPT: usize = 64;

/// Why it is still open whether attempts are calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    /// They may stand in inline code.
    Inline,
    /// They stand in a fence, which counts only if it is the whole response.
    Sole,
    /// They stand in reasoning that may not have ended.
    Thought,
}

/// An event that waits, or the place of an attempt among them.
#[derive(Debug)]
enum Queued {
    Event(Event<'static>),
    Attempt { entry: usize, raw: String, backticks: usize },
}

/// An attempt that was judged, until the response is over.
#[derive(Debug)]
struct Entry {
    verdict: Verdict,
    /// The order in which it comes out: position in the text, or after all text by index.
    order: (usize, usize),
    native: bool,
    closed: bool,
    /// Why it is refused although it was good by itself.
    revoked: Option<Finding>,
    /// Whether it became text instead.
    dropped: bool,
    /// Whether text followed it.
    followed: bool,
}

thread_local! {
    /// The list of an earlier response, emptied: most responses have one call, and would make a list for it.
    static SPARE: Cell<Vec<Entry>> = const { Cell::new(Vec::new()) };
}

/// What one response has brought so far.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// How much of the positions belongs to the end of the prompt.
    pub(crate) base: usize,
    entries: Vec<Entry>,
    /// Markup that may go on.
    markup: Option<Span>,
    pending: Option<Pending>,
    /// How many runs of backticks that may open a code span stand before the attempts that come now.
    backticks: usize,
    /// The most of them that stand before an attempt in the queue.
    deepest: usize,
    queue: Vec<Queued>,
    queued: usize,
    /// Whether too much waited: then nothing is a call until it is clear what was waited for.
    overflowed: bool,
    /// How often each remark was made.
    remarks: Vec<Remarks>,
    has_text: bool,
    /// The ids that are taken, and how generated ones start.
    pub(crate) ids: Ids,
    /// How many calls were released before the end.
    released: usize,
    /// Whether a call was written in a format that is not switched on.
    foreign: bool,
    /// What calls are compared with, where untrusted text was given.
    pub(crate) echo: Option<Box<Guard>>,
    /// What the response has cost.
    pub(crate) effort: Effort,
    /// How many calls were good by themselves, those that became text left out.
    calls: usize,
    /// How many attempts were refused, and how many bytes their refusals hold.
    refused: usize,
    refused_bytes: usize,
    /// What is not judged any more, if a limit was reached, and whether it is not even read.
    rest: Option<Rest>,
    stopped: bool,
}

/// The rest of a response behind a limit: one refusal, whatever is in it.
#[derive(Debug)]
struct Rest {
    code: Code,
    span: Span,
    /// The number that its first attempt would have had.
    attempt: usize,
    /// Whether structured calls are in it.
    native: bool,
    dialect: Arc<str>,
}

impl Ledger {
    /// Whether what stands here belongs to the rest that is not judged.
    fn absorb(&mut self, span: Span) -> bool {
        match &mut self.rest {
            Some(rest) if span.start >= rest.span.start => {
                rest.span.end = rest.span.end.max(span.end);
                true
            }
            _ => false,
        }
    }

    /// Nothing that comes from here on is heard: how much of it the framing has already seen depends on how the text was
    /// cut. It may be text, so where a call must be the last thing, none is.
    fn stop(&mut self) {
        self.stopped = true;
        for entry in &mut self.entries {
            entry.followed = true;
        }
    }

    /// Counts a verdict. A call over the limit is refused at once where nothing can change its number any more, and a
    /// refusal is cut short where there are many. The code says which limit was reached with it.
    fn count(&mut self, policy: &Policy, verdict: &mut Verdict) -> Option<Code> {
        if let Verdict::Call(call) = verdict {
            self.calls += 1;
            let is_excess = self.calls > policy.max_calls && self.pending.is_none();
            if is_excess && policy.on_excess == Excess::Report && policy.release == Release::AtEnd {
                let finding = too_many(self.calls, policy.max_calls);
                *verdict = Verdict::Rejected(Box::new(refused(call, finding)));
            }
        }
        match verdict {
            Verdict::Rejected(rejected) => {
                self.refused += 1;
                let reasons = rejected.findings.iter();
                let held: usize = reasons.map(|f| f.message.len() + f.help.len() + f.path.len()).sum();
                self.refused_bytes += rejected.raw.len() + held;
                if self.refused_bytes > REFUSED {
                    cut_short(rejected);
                }
            }
            Verdict::Call(_) if self.calls <= policy.max_calls => {}
            _ => self.refused += 1,
        }
        if self.effort.is_spent() {
            Some(Code::WorkLimit)
        } else if self.refused >= policy.limits.refusals.max(1) {
            Some(Code::TooManyRefusals)
        } else {
            None
        }
    }

    /// The rest that was not judged becomes refusals: one in the text, and one for structured calls.
    fn end_rest(&mut self) {
        let Some(rest) = self.rest.take() else { return };
        let mut refuse = |span: Option<Span>, order: (usize, usize)| {
            let mut finding = Finding::new(rest.code);
            finding.span = span;
            let rejected = Rejected {
                attempt: rest.attempt,
                id: None,
                name: None,
                raw: String::new(),
                raw_len: span.map_or(0, |span| span.len()),
                dialect: rest.dialect.clone(),
                span,
                findings: vec![finding],
            };
            self.entries.push(Entry {
                verdict: Verdict::Rejected(Box::new(rejected)),
                order,
                native: span.is_none(),
                closed: true,
                revoked: None,
                dropped: false,
                followed: false,
            });
        };
        if !rest.span.is_empty() {
            refuse(Some(rest.span), (rest.span.start.saturating_add(self.base), 0));
        }
        if rest.native {
            refuse(None, (usize::MAX, usize::MAX));
        }
    }

    /// The names of the calls whose end has been seen, in order.
    pub(crate) fn completed(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.verdict.name())
    }
}

/// How often a remark was made, and how often it is listed.
#[derive(Debug)]
struct Remarks {
    code: Code,
    made: usize,
    most: usize,
}

/// The ids of one response.
#[derive(Debug)]
pub(crate) struct Ids {
    pub(crate) prefix: Cow<'static, str>,
    taken: BTreeSet<String>,
    number: usize,
}

impl Default for Ids {
    fn default() -> Self {
        Ids { prefix: Cow::Borrowed("gen_"), taken: BTreeSet::new(), number: 0 }
    }
}

impl Ids {
    fn contains(&self, id: &str) -> bool {
        self.taken.contains(id)
    }

    fn take(&mut self, id: &str) {
        self.taken.insert(id.to_owned());
    }

    /// A new id: the prefix and the next number that is free.
    fn fresh(&mut self) -> String {
        loop {
            self.number += 1;
            let mut id = String::with_capacity(self.prefix.len() + 4);
            id.push_str(&self.prefix);
            push_number(&mut id, self.number);
            if !self.taken.contains(&id) {
                return id;
            }
        }
    }
}

/// The way out: the ledger with the receiver of its events.
pub(crate) struct Out<'a, 's> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) sink: &'a mut (dyn FnMut(Event<'_>) + 's),
    /// The most text that may wait, in bytes.
    pub(crate) limit: usize,
}

impl Out<'_, '_> {
    /// Text or reasoning.
    pub(crate) fn text(&mut self, text: &str, span: Span, reasoning: bool) {
        let Some((span, cut)) = self.clip(span) else { return };
        let text = text.get(cut.min(text.len())..).unwrap_or("");
        if text.is_empty() {
            return;
        }
        self.ledger.has_text = true;
        let is_rest = self.ledger.absorb(span);
        if !reasoning && !self.ledger.entries.is_empty() {
            // The closing line of a fence that is the whole response is no text after the call.
            let words = text.trim();
            let closes_fence =
                self.ledger.pending == Some(Pending::Sole) && words.chars().all(|c| matches!(c, '`' | '~'));
            if !words.is_empty() && !closes_fence {
                // All before the first that is marked are marked.
                for entry in self.ledger.entries.iter_mut().rev().take_while(|entry| !entry.followed) {
                    entry.followed = true;
                }
            }
        }
        if is_rest {
            return;
        }
        let cut = self.room(text);
        if cut < text.len() {
            // The limit falls at the same byte however the text was cut.
            self.send_text(&text[..cut], Span::new(span.start, span.start + cut), reasoning);
            self.overflow();
            self.send_text(&text[cut..], Span::new(span.start + cut, span.end), reasoning);
        } else {
            self.send_text(text, span, reasoning);
        }
    }

    fn send_text(&mut self, text: &str, span: Span, reasoning: bool) {
        if text.is_empty() {
            return;
        }
        let event = if reasoning {
            Event::Reasoning { text: Cow::Borrowed(text), span }
        } else {
            Event::Text { text: Cow::Borrowed(text), span }
        };
        self.send(event, text.len());
    }

    /// How much of a text may still wait.
    fn room(&self, text: &str) -> usize {
        let ledger = &self.ledger;
        if ledger.pending.is_none() || ledger.overflowed {
            return text.len();
        }
        let mut room = self.limit.saturating_sub(ledger.queued).min(text.len());
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        room
    }

    /// Too much waits. What cannot be decided in time is no call, and neither is what comes until it would have been.
    fn overflow(&mut self) {
        if let Some(pending) = self.ledger.pending {
            self.resolve(pending, false);
            self.ledger.pending = Some(pending);
            self.ledger.overflowed = true;
            (self.sink)(Event::Finding(Finding::new(Code::HeldLimit)));
        }
    }

    /// Bytes that only hold the format together.
    pub(crate) fn markup(&mut self, span: Span) {
        let Some((span, _)) = self.clip(span).filter(|(span, _)| !span.is_empty()) else { return };
        self.ledger.has_text = true;
        if self.ledger.absorb(span) {
            return;
        }
        match &mut self.ledger.markup {
            Some(open) if open.end == span.start => open.end = span.end,
            _ => {
                self.flush_markup();
                self.ledger.markup = Some(span);
            }
        }
    }

    /// Markup waits for what follows, so that it comes in one piece however the input was cut.
    fn flush_markup(&mut self) {
        if let Some(span) = self.ledger.markup.take() {
            self.pass(Event::Markup { span }, 0);
        }
    }

    pub(crate) fn started(&mut self, attempt: usize, name: &str, (dialect, choice): (Arc<str>, Choice)) {
        if self.ledger.rest.is_some() {
            return;
        }
        let event = Event::CallStarted { attempt, name: Cow::Borrowed(name), dialect, choice };
        self.send(event, name.len());
    }

    pub(crate) fn delta(&mut self, attempt: usize, delta: &str) {
        if self.ledger.rest.is_some() {
            return;
        }
        // Arguments have a limit of their own.
        self.send(Event::ArgumentsDelta { attempt, delta: Cow::Borrowed(delta) }, 0);
    }

    pub(crate) fn finding(&mut self, finding: Finding) {
        self.list(finding, LISTED);
    }

    /// Lists a finding, unless so many with its code have been listed: then it is counted.
    fn list(&mut self, finding: Finding, most: usize) {
        if self.ledger.stopped {
            return;
        }
        let code = finding.code;
        let made = match self.ledger.remarks.iter_mut().find(|remark| remark.code == code) {
            Some(remark) => {
                remark.made += 1;
                remark.made
            }
            None => {
                self.ledger.remarks.push(Remarks { code, made: 1, most });
                1
            }
        };
        if made <= most {
            let finding = self.place(finding);
            self.send(Event::Finding(finding), 0);
        }
    }

    /// A remark that is only counted when it has been made often enough.
    pub(crate) fn finding_once(&mut self, finding: Finding) {
        self.list(finding, REPEATS);
    }

    /// An attempt has been read: it is judged at once and waits for the end of the response. What is not needed for
    /// that stays in the attempt.
    pub(crate) fn attempt(&mut self, gate: &Compiled, attempt: &mut Attempt) {
        if let (Meaning::Answer(text), Some(span)) = (&attempt.meaning, attempt.span) {
            self.answer(text, &attempt.raw, span);
            return;
        }
        let start = attempt.span.map_or(0, |span| span.start);
        self.admit(gate, attempt, (start, 0), false);
    }

    /// An answer in an object of its own: the string is text, the object around it markup. Where the string is
    /// escaped, its text stands for the whole object.
    fn answer(&mut self, text: &str, raw: &str, span: Span) {
        let mut places = raw.match_indices(text).map(|(at, _)| at).filter(|_| !text.is_empty());
        let inner = match (places.next(), places.next()) {
            (Some(at), None) => Span::new(span.start + at, span.start + at + text.len()),
            _ => span,
        };
        self.markup(Span::new(span.start, inner.start));
        self.text(text, inner, false);
        self.markup(Span::new(inner.end, span.end));
    }

    /// A structured provider call is complete.
    pub(crate) fn native(&mut self, gate: &Compiled, mut attempt: Attempt, index: usize) {
        self.admit(gate, &mut attempt, (usize::MAX, index), true);
    }

    /// There are more structured calls than were taken up.
    pub(crate) fn unread_native(&mut self, attempt: usize) {
        self.give_up(Code::TooManyRefusals, usize::MAX, attempt, Arc::from("native"));
        if let Some(rest) = &mut self.ledger.rest {
            rest.native = true;
        }
    }

    fn admit(&mut self, gate: &Compiled, attempt: &mut Attempt, order: (usize, usize), native: bool) {
        self.ledger.has_text = true;
        if let Some(span) = attempt.span.map(|span| shift(span, self.ledger.base)) {
            if self.ledger.absorb(span) {
                return;
            }
        } else if let Some(rest) = &mut self.ledger.rest {
            rest.native = true;
            return;
        }
        let closed = attempt.closed;
        let raw = if self.ledger.pending.is_some() { attempt.raw.clone() } else { String::new() };
        let (mut verdict, notes) = judge(gate, attempt, &mut self.ledger.effort);
        verdict.shift(self.ledger.base);
        verdict = self.without_echo(gate, attempt, verdict);
        for note in notes {
            self.finding(note);
        }
        let limit = self.ledger.count(&gate.policy, &mut verdict);
        if gate.policy.release == Release::Early && self.ledger.pending.is_none() {
            let ids = &self.ledger.ids;
            verdict = match verdict {
                // A call that waits for others can go only after them.
                Verdict::Call(call) if call.after.iter().all(|id| ids.contains(id)) => {
                    let name = call.name.clone();
                    self.release_early(call, gate.policy.max_calls);
                    Verdict::Released(name)
                }
                other => other,
            };
        }
        let entry = self.ledger.entries.len();
        let overflowed = self.ledger.overflowed && !native;
        if self.ledger.pending.is_some() && !overflowed {
            self.flush_markup();
            // An attempt waits whole: the text after it is what is too much.
            self.ledger.queued += raw.len();
            let backticks = self.ledger.backticks;
            self.ledger.deepest = self.ledger.deepest.max(backticks);
            self.ledger.queue.push(Queued::Attempt { entry, raw, backticks });
        }
        if self.ledger.entries.capacity() == 0 {
            // A thread that is ending has nothing to give.
            self.ledger.entries = SPARE.try_with(Cell::take).unwrap_or_default();
        }
        self.ledger.entries.push(Entry {
            verdict,
            order,
            native,
            closed,
            revoked: overflowed.then(|| Finding::new(Code::HeldLimit)),
            dropped: false,
            followed: false,
        });
        if let Some(code) = limit {
            let end = attempt.span.map(|span| shift(span, self.ledger.base).end);
            self.give_up(code, end.unwrap_or(usize::MAX), attempt.number + 1, attempt.dialect.clone());
            if code == Code::WorkLimit {
                self.ledger.stop();
            }
        }
    }

    /// A limit was reached: what follows is not judged any more. What was still open may be anything, so it is dead.
    fn give_up(&mut self, code: Code, from: usize, attempt: usize, dialect: Arc<str>) {
        if let Some(pending) = self.ledger.pending {
            self.resolve(pending, false);
        }
        self.flush_markup();
        if self.ledger.rest.is_none() {
            let span = Span::new(from, from);
            self.ledger.rest = Some(Rest { code, span, attempt, native: false, dialect });
        }
    }

    /// So much of the response has been read that nothing more is, up to the byte at `end`.
    pub(crate) fn stop_reading(&mut self, end: usize, attempt: usize) {
        self.give_up(Code::WorkLimit, end, attempt, Arc::from(""));
        self.ledger.stop();
    }

    /// Whether nothing more is to be read.
    pub(crate) fn has_stopped(&self) -> bool {
        self.ledger.stopped
    }

    /// The response goes on to the byte at `end`, unread.
    pub(crate) fn pass_over(&mut self, end: usize) {
        if let Some(rest) = self.ledger.rest.as_mut().filter(|rest| rest.span.start <= end) {
            rest.span.end = rest.span.end.max(end);
        }
    }

    /// A call that repeats untrusted text says so, or is refused.
    fn without_echo(&mut self, gate: &Compiled, attempt: &Attempt, verdict: Verdict) -> Verdict {
        let Some(guard) = &mut self.ledger.echo else { return verdict };
        let Verdict::Call(mut call) = verdict else { return verdict };
        let frame = (attempt.raw.len() == attempt.raw_len).then_some(attempt.raw.as_str());
        match guard.judge(&gate.policy, &call, frame) {
            Some(finding) if gate.policy.echo == Echo::Reject => {
                Verdict::Rejected(Box::new(refused(&mut call, finding)))
            }
            finding => {
                call.findings.extend(finding);
                Verdict::Call(call)
            }
        }
    }

    /// Lets a call out before the response is over. Its id is the model's, or new so far.
    fn release_early(&mut self, mut call: Box<Call>, max_calls: usize) {
        self.flush_markup();
        let ids = &mut self.ledger.ids;
        if call.id.is_empty() || ids.contains(&call.id) {
            call.id = ids.fresh();
        }
        ids.take(&call.id);
        self.ledger.released += 1;
        if self.ledger.released > max_calls {
            let finding = Finding::new(Code::TooManyCalls);
            (self.sink)(Event::Rejected(Box::new(refused(&mut call, finding))));
        } else {
            (self.sink)(Event::Call(call));
        }
    }

    // ---- attempts whose place is not decided ----

    pub(crate) fn is_pending(&self) -> bool {
        self.ledger.pending.is_some()
    }

    /// From here on events wait until it is decided whether what follows is a call. So many runs of backticks before it
    /// may open a code span.
    pub(crate) fn pend(&mut self, pending: Pending, backticks: usize) {
        self.flush_markup();
        self.ledger.pending.get_or_insert(pending);
        self.ledger.backticks = backticks;
    }

    /// A code span has closed: attempts behind more than so many runs of backticks stand in it.
    pub(crate) fn close_code(&mut self, behind: usize) {
        if self.ledger.pending != Some(Pending::Inline) || self.ledger.deepest <= behind {
            return;
        }
        self.ledger.deepest = behind;
        self.flush_markup();
        let is_open =
            |queued: &Queued| matches!(queued, Queued::Attempt { backticks, .. } if *backticks <= behind);
        // What stands in the span came last.
        let from = self.ledger.queue.iter().rposition(is_open).map_or(0, |at| at + 1);
        let inside = self.ledger.queue.split_off(from);
        if from > 0 {
            let before = std::mem::take(&mut self.ledger.queue);
            self.settle(inside, Code::DeadRegion, false, false);
            let inside = std::mem::replace(&mut self.ledger.queue, before);
            self.ledger.queue.extend(inside);
        } else {
            self.stop_waiting();
            self.settle(inside, Code::DeadRegion, false, false);
        }
    }

    /// Decides what was pending for this reason.
    pub(crate) fn resolve(&mut self, pending: Pending, live: bool) {
        if self.ledger.pending != Some(pending) {
            return;
        }
        self.flush_markup();
        self.stop_waiting();
        let queue = std::mem::take(&mut self.ledger.queue);
        let (code, reasoning) = match pending {
            Pending::Inline | Pending::Sole => (Code::DeadRegion, false),
            Pending::Thought => (Code::CallInReasoning, true),
        };
        self.settle(queue, code, reasoning, live);
    }

    fn stop_waiting(&mut self) {
        self.ledger.pending = None;
        self.ledger.queued = 0;
        self.ledger.deepest = 0;
        self.ledger.overflowed = false;
    }

    /// Lets go of what was queued, the attempts as calls or as the text that they are.
    fn settle(&mut self, queue: Vec<Queued>, code: Code, reasoning: bool, live: bool) {
        for queued in queue {
            match queued {
                Queued::Attempt { entry, raw, .. } if !live => self.withdraw(entry, raw, code, reasoning),
                Queued::Attempt { .. } => {}
                Queued::Event(Event::CallStarted { .. } | Event::ArgumentsDelta { .. }) if !live => {}
                Queued::Event(Event::Text { text, span }) if !live && reasoning => {
                    self.let_go(Event::Reasoning { text, span });
                }
                Queued::Event(event) => self.let_go(event),
            }
        }
    }

    /// Sends an event that has waited, unless something before it still waits.
    fn let_go(&mut self, event: Event<'static>) {
        if self.ledger.pending.is_some() {
            self.ledger.queue.push(Queued::Event(event));
        } else {
            (self.sink)(event);
        }
    }

    /// An attempt in a dead place: its text is text again. Where not all of it was kept, it is refused instead.
    fn withdraw(&mut self, entry: usize, raw: String, code: Code, reasoning: bool) {
        let Some(entry) = self.ledger.entries.get_mut(entry) else { return };
        let span = entry.verdict.span();
        let finding = Finding::new(code);
        let finding = match span {
            Some(span) => finding.at(span),
            None => finding,
        };
        match span {
            Some(span) if span.len() == raw.len() => {
                entry.dropped = true;
                if matches!(entry.verdict, Verdict::Call(_)) {
                    self.ledger.calls = self.ledger.calls.saturating_sub(1);
                }
                let text = Cow::Owned(raw);
                self.let_go(if reasoning {
                    Event::Reasoning { text, span }
                } else {
                    Event::Text { text, span }
                });
                self.withdrawn(finding);
            }
            _ => entry.revoked = Some(finding),
        }
    }

    /// Says that an attempt became text. Its place is already that in the response.
    fn withdrawn(&mut self, finding: Finding) {
        let base = self.ledger.base;
        let span = finding.span.map(|span| Span::new(span.start + base, span.end + base));
        self.list(Finding { span, ..finding }, LISTED);
    }

    /// The last attempt of the text is refused for what follows it.
    pub(crate) fn revoke_last(&mut self, finding: Finding) {
        if self.ledger.stopped {
            return;
        }
        let finding = self.place(finding);
        if let Some(entry) = self.ledger.entries.iter_mut().rev().find(|entry| !entry.native) {
            entry.revoked.get_or_insert(finding);
        }
    }

    /// A call in a format that is not switched on was left as text.
    pub(crate) fn note_foreign(&mut self) {
        self.ledger.foreign |= !self.ledger.stopped;
    }

    /// Reasoning ended that had never begun: calls before this were thoughts, if no other thought came before.
    pub(crate) fn late_reasoning_end(&mut self, span: Span, is_first: bool) {
        if self.ledger.stopped {
            return;
        }
        for entry in self.ledger.entries.iter_mut().filter(|entry| !entry.native && is_first) {
            entry.revoked.get_or_insert_with(|| Finding::new(Code::CallInReasoning));
        }
        self.finding(Finding::new(Code::LateReasoningEnd).at(span));
    }

    // ---- the end of the response ----

    /// Judges the response as a whole and lets everything out.
    pub(crate) fn finish(&mut self, gate: &Compiled, reason: FinishReason) {
        self.flush_markup();
        self.resolve(Pending::Inline, true);
        self.resolve(Pending::Thought, true);
        let alone = self.only_fence_is_queued();
        self.resolve(Pending::Sole, alone);
        self.ledger.end_rest();
        let mut entries = std::mem::take(&mut self.ledger.entries);
        entries.retain(|entry| !entry.dropped);
        entries.sort_by_key(|entry| entry.order);
        let released = &self.ledger.ids.taken;
        rules(gate, reason, &mut entries, |id| released.contains(id));
        let has_entries = !entries.is_empty();
        let has_calls =
            entries.iter().any(|entry| entry.revoked.is_none() && matches!(entry.verdict, Verdict::Call(_)));
        self.release(&mut entries);
        if entries.capacity() > 0 {
            entries.shrink_to(KEPT);
            let _ = SPARE.try_with(|spare| spare.set(entries));
        }
        for remark in std::mem::take(&mut self.ledger.remarks) {
            if remark.made > remark.most {
                let mut finding = Finding::new(remark.code);
                finding.count = remark.made - remark.most;
                (self.sink)(Event::Finding(finding));
            }
        }
        let required = match gate.policy.require_call {
            RequireCall::Never => false,
            RequireCall::IfAttempted => self.ledger.foreign,
            RequireCall::Always => true,
        };
        if required && !has_calls && !has_entries {
            (self.sink)(Event::Finding(Finding::new(Code::NoCall)));
        }
        if gate.profile.refuses_empty() && !self.ledger.has_text {
            (self.sink)(Event::Finding(Finding::new(Code::EmptyResponse)));
        }
    }

    fn release(&mut self, entries: &mut Vec<Entry>) {
        // The model's own ids come first: a generated one must not take what a later call was given.
        let given: Vec<String> = entries
            .iter()
            .filter_map(|entry| match &entry.verdict {
                Verdict::Call(call) if !call.id.is_empty() => Some(call.id.clone()),
                _ => None,
            })
            .collect();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for id in &given {
            self.ledger.ids.take(id);
        }
        for entry in entries.drain(..) {
            match (entry.verdict, entry.revoked) {
                (Verdict::Call(mut call), None) => {
                    if call.id.is_empty() || !seen.insert(call.id.clone()) {
                        call.id = self.ledger.ids.fresh();
                    }
                    (self.sink)(Event::Call(call));
                }
                (Verdict::Call(mut call), Some(finding)) => {
                    (self.sink)(Event::Rejected(Box::new(refused(&mut call, finding))));
                }
                (Verdict::Rejected(mut rejected), revoked) => {
                    let is_known =
                        |finding: &Finding| rejected.findings.iter().any(|f| f.code == finding.code);
                    let revoked = revoked.filter(|finding| !is_known(finding));
                    rejected.findings.extend(revoked);
                    (self.sink)(Event::Rejected(rejected));
                }
                (Verdict::Error(error), _) => (self.sink)(Event::ModelError(error)),
                (Verdict::Released(_), _) => {}
            }
        }
    }

    /// Whether the text that waits is nothing but the closing line of a fence.
    fn only_fence_is_queued(&self) -> bool {
        let mut rest = String::new();
        for queued in &self.ledger.queue {
            if let Queued::Event(Event::Text { text, .. }) = queued {
                rest.push_str(text);
            }
        }
        rest.trim().chars().all(|c| matches!(c, '`' | '~'))
    }

    // ---- sending ----

    fn send(&mut self, event: Event<'_>, bytes: usize) {
        self.flush_markup();
        self.pass(event, bytes);
    }

    fn pass(&mut self, event: Event<'_>, bytes: usize) {
        if self.ledger.pending.is_none() {
            (self.sink)(event);
            return;
        }
        if self.ledger.overflowed {
            if !matches!(event, Event::CallStarted { .. } | Event::ArgumentsDelta { .. }) {
                (self.sink)(event);
            }
            return;
        }
        self.ledger.queued += bytes;
        self.ledger.queue.push(Queued::Event(event.into_owned()));
    }

    fn place(&self, mut finding: Finding) -> Finding {
        finding.span = finding.span.map(|span| shift(span, self.ledger.base));
        finding
    }

    /// A span in the response, and how many of its bytes belong to the prompt.
    fn clip(&self, span: Span) -> Option<(Span, usize)> {
        let base = self.ledger.base;
        if span.end <= base {
            return None;
        }
        Some((shift(span, base), base.saturating_sub(span.start)))
    }
}

/// A good call that is refused for a reason outside of it.
fn refused(call: &mut Call, finding: Finding) -> Rejected {
    Rejected {
        attempt: call.attempt,
        id: Some(std::mem::take(&mut call.id)).filter(|id| !id.is_empty()),
        name: Some(std::mem::take(&mut call.name)),
        raw: call.arguments.chars().take(512).collect(),
        raw_len: call.arguments.len(),
        dialect: call.dialect.clone(),
        span: call.span,
        findings: vec![finding],
    }
}

fn too_many(number: usize, most: usize) -> Finding {
    Finding::new(Code::TooManyCalls).message(format!("this is call {number}, and {most} are allowed"))
}

/// Leaves nothing of a refusal but its place and the reason that decides.
fn cut_short(rejected: &mut Rejected) {
    rejected.raw = String::new();
    rejected.findings.truncate(1);
    rejected.findings.shrink_to_fit();
    for finding in &mut rejected.findings {
        finding.help = Cow::Borrowed(finding.code.entry().help);
        if finding.message.len() > SHORT {
            finding.message = finding.message.chars().take(SHORT / 4).chain(['…']).collect::<String>().into();
        }
        if finding.path.len() > SHORT {
            finding.path = String::new();
        }
    }
}

/// Writes a number. Every call without an id gets one, and the formatter would be most of its cost.
fn push_number(text: &mut String, number: usize) {
    let mut power = 1;
    while number / power >= 10 {
        power *= 10;
    }
    while power > 0 {
        text.push(char::from(b'0' + (number / power % 10) as u8));
        power /= 10;
    }
}

/// A span counted from the first byte of the response.
pub(crate) fn shift(span: Span, base: usize) -> Span {
    Span::new(span.start.saturating_sub(base), span.end.saturating_sub(base))
}

/// Refuses the calls that wait for something that never comes: a call that was refused, or that is not there, or that
/// waits for them.
fn order_rule(entries: &mut [Entry], is_done: impl Fn(&str) -> bool) {
    let waits = |entry: &Entry| matches!(&entry.verdict, Verdict::Call(call) if !call.after.is_empty());
    if !entries.iter().any(waits) {
        return;
    }
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<usize> = Vec::new();
    for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.revoked.is_none()) {
        match &entry.verdict {
            Verdict::Call(call) if call.after.is_empty() => {
                done.insert(call.id.clone());
            }
            Verdict::Call(_) => open.push(index),
            _ => {}
        }
    }
    // Each round settles at least one call, and the policy bounds how many there are.
    loop {
        let before = open.len();
        open.retain(|index| {
            let Verdict::Call(call) = &entries[*index].verdict else { return false };
            let can_go = call.after.iter().all(|id| done.contains(id) || is_done(id));
            if can_go {
                done.insert(call.id.clone());
            }
            !can_go
        });
        if open.len() == before {
            break;
        }
    }
    for index in open {
        let Verdict::Call(call) = &entries[index].verdict else { continue };
        let awaited = call.after.iter().find(|id| !done.contains(*id) && !is_done(id));
        let message = format!("it waits for `{}`, which does not come", awaited.map_or("", String::as_str));
        entries[index].revoked = Some(Finding::new(Code::Sibling).message(message));
    }
}

/// The rules that look at all attempts together.
fn rules(gate: &Compiled, reason: FinishReason, entries: &mut [Entry], is_released: impl Fn(&str) -> bool) {
    let policy = &gate.policy;
    let stands = |entry: &Entry| entry.revoked.is_none() && matches!(entry.verdict, Verdict::Call(_));
    if reason.is_cut() {
        for entry in entries.iter_mut().filter(|entry| !entry.closed) {
            let message = match reason {
                FinishReason::Length => "the output limit was reached inside the call",
                FinishReason::ContentFilter => "the provider withheld the end of the call",
                _ => "the output was broken off inside the call",
            };
            entry.revoked.get_or_insert_with(|| Finding::new(Code::Truncated).message(message));
        }
    }
    if policy.endings == Endings::Good && !reason.is_good() {
        for entry in entries.iter_mut().filter(|entry| stands(entry)) {
            let message = "the provider did not say that the output is complete";
            entry.revoked = Some(Finding::new(Code::Truncated).message(message));
        }
    }
    if entries.iter().any(|entry| entry.native) {
        for entry in
            entries.iter_mut().filter(|entry| !entry.native && matches!(entry.verdict, Verdict::Call(_)))
        {
            entry.revoked.get_or_insert_with(|| Finding::new(Code::ShadowedByNative));
        }
    }
    if policy.position == Position::Trailing {
        for entry in entries.iter_mut().filter(|entry| entry.followed && !entry.native) {
            if stands(entry) {
                entry.revoked = Some(Finding::new(Code::NotTerminal));
            }
        }
    }
    let calls = entries.iter().filter(|entry| matches!(entry.verdict, Verdict::Call(_))).count();
    if calls > policy.max_calls {
        let mut seen = 0;
        for entry in entries.iter_mut().filter(|entry| matches!(entry.verdict, Verdict::Call(_))) {
            seen += 1;
            let excess = match policy.on_excess {
                Excess::Reject => Finding::new(Code::Ambiguous).message(format!(
                    "{calls} calls in one response, {} allowed; none was run",
                    policy.max_calls
                )),
                Excess::Report if seen > policy.max_calls => too_many(seen, policy.max_calls),
                Excess::Report => continue,
            };
            // What is wrong with a call by its place matters less than that nobody can tell which was meant.
            if policy.on_excess == Excess::Reject {
                entry.revoked = Some(excess);
            } else {
                entry.revoked.get_or_insert(excess);
            }
        }
    }
    order_rule(entries, is_released);
    if policy.partial == Partial::AllOrNothing {
        let refused = entries.iter().any(|entry| match &entry.verdict {
            Verdict::Rejected(rejected) => rejected.findings.iter().any(|f| f.severity() == Severity::Error),
            _ => entry.revoked.is_some(),
        });
        if refused {
            for entry in entries.iter_mut().filter(|entry| stands(entry)) {
                entry.revoked = Some(Finding::new(Code::Sibling));
            }
        }
    }
}
