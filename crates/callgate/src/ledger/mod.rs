//! The ledger: events on their way out, and the attempts that wait for the end of the response.

mod ids;
mod limits;
mod settled;
mod undecided;
mod whole;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::{Arc, OnceLock};

use crate::attempt::Attempt;
use crate::bytes::holds;
use crate::echo::EchoGuard;
use crate::effort::Effort;
use crate::event::{Call, Choice, Event, Rejected};
use crate::finding::{Code, Finding, Span};
use crate::json::RepairCode;
use crate::policy::{Echo, Policy, Release};
use crate::verdict::Verdict;

use self::ids::Ids;
use self::limits::Rest;
pub(crate) use self::settled::CallDoubts;
use self::undecided::Queued;

/// How often the same remark is made before it is only counted.
const REPEATS: usize = 16;

/// How often any finding with the same code is listed before it is only counted.
const LISTED: usize = 256;

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

/// An attempt that was judged, until the response is over.
#[derive(Debug)]
struct Entry {
    verdict: Verdict,
    /// The order in which it comes out: position in the text, or after all text by index.
    order: (usize, usize),
    native: bool,
    closed: bool,
    /// How strings of JSON show the markers with which calls of its format begin, where values are text.
    shown_openers: Option<Arc<[String]>>,
    /// Whether one of its values shows one of them, once that has been asked.
    shows_call: OnceLock<bool>,
    /// Why it is rejected although it was good by itself.
    revoked: Option<Finding>,
    /// Whether it became text instead.
    dropped: bool,
    /// Whether text followed it.
    followed: bool,
}

impl Entry {
    /// Whether it is a call of the text that lacks a closer, or that may have taken one from a call in its value: closers
    /// which come later may be its own.
    fn may_be_cut(&self) -> bool {
        let Verdict::Call(call) = &self.verdict else { return false };
        let lacks_closer = || call.repairs.iter().any(|repair| repair.code == RepairCode::MissingTag);
        let shows = |openers: &Arc<[String]>| openers.iter().any(|opener| holds(&call.arguments, opener));
        let shows_call = || self.shown_openers.as_ref().is_some_and(shows);
        !self.native && (lacks_closer() || *self.shows_call.get_or_init(shows_call))
    }
}

/// An attempt with the verdict on it.
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// Remarks that reject nothing.
    pub(crate) notes: Vec<Finding>,
    /// The order in which it comes out: position in the text, or after all text by index.
    pub(crate) order: (usize, usize),
    /// Its text, if it may become text again.
    pub(crate) raw: String,
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
    /// How many attempts no end of a thought that comes says anything about.
    before_thought: usize,
    /// Whether a call was written in a format that is not switched on.
    foreign: bool,
    /// What calls are compared with, where untrusted text was given.
    pub(crate) echo: Option<Box<EchoGuard>>,
    /// What the response has cost.
    pub(crate) effort: Effort,
    /// How many calls were good by themselves, those that became text left out.
    calls: usize,
    /// How many attempts were rejected, and how many bytes their rejections hold.
    rejected: usize,
    rejected_bytes: usize,
    /// What is not judged any more, if a limit was reached, and whether it is not even read.
    rest: Option<Rest>,
    stopped: bool,
}

impl Ledger {
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

/// Emits events: the ledger with the receiver of its events.
pub(crate) struct Emitter<'a, 's> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) sink: &'a mut (dyn FnMut(Event<'_>) + 's),
    /// The most text that may wait, in bytes.
    pub(crate) limit: usize,
}

impl Emitter<'_, '_> {
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
    #[inline]
    fn flush_markup(&mut self) {
        if self.ledger.markup.is_some() {
            self.flush_open_markup();
        }
    }

    #[inline(never)] // Little of a response is markup.
    fn flush_open_markup(&mut self) {
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

    /// An answer in an object of its own: the string is text, the object around it markup. Where the string is
    /// escaped, its text stands for the whole object.
    pub(crate) fn answer(&mut self, text: &str, raw: &str, span: Span) {
        let mut places = raw.match_indices(text).map(|(at, _)| at).filter(|_| !text.is_empty());
        let inner = match (places.next(), places.next()) {
            (Some(at), None) => Span::new(span.start + at, span.start + at + text.len()),
            _ => span,
        };
        self.markup(Span::new(span.start, inner.start));
        self.text(text, inner, false);
        self.markup(Span::new(inner.end, span.end));
    }

    /// Whether an attempt that has been read is to be judged: not if a limit has been reached before it.
    pub(crate) fn wants(&mut self, attempt: &Attempt) -> bool {
        self.ledger.has_text = true;
        if let Some(span) = attempt.span.map(|span| span.counted_from(self.ledger.base)) {
            !self.ledger.absorb(span)
        } else if let Some(rest) = &mut self.ledger.rest {
            rest.native = true;
            false
        } else {
            true
        }
    }

    /// The text of an attempt, if it may become text again.
    pub(crate) fn text_of(&self, attempt: &Attempt) -> String {
        if self.ledger.pending.is_some() { attempt.raw.clone() } else { String::new() }
    }

    /// Enters an attempt that has been judged: it waits for the end of the response.
    pub(crate) fn enter(&mut self, policy: &Policy, attempt: &Attempt, judged: Judged) {
        let Judged { mut verdict, notes, order, raw } = judged;
        let native = attempt.span.is_none();
        verdict.shift(self.ledger.base);
        verdict = self.without_echo(policy, attempt, verdict);
        for note in notes {
            self.finding(note);
        }
        let limit = self.ledger.count(policy, &mut verdict);
        if policy.release == Release::Early && self.ledger.pending.is_none() {
            let ids = &self.ledger.ids;
            verdict = match verdict {
                // A call that waits for others can go only after them.
                Verdict::Call(call) if call.after.iter().all(|id| ids.contains(id)) => {
                    let name = call.name.clone();
                    self.release_early(call, policy.max_calls);
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
            // `try_with` fails while this OS thread is torn down; the list is a new one then.
            self.ledger.entries = SPARE.try_with(Cell::take).unwrap_or_default();
        }
        self.ledger.entries.push(Entry {
            verdict,
            order,
            native,
            closed: attempt.closed,
            shown_openers: attempt.shown_openers.clone(),
            shows_call: OnceLock::new(),
            revoked: overflowed.then(|| Finding::new(Code::HeldLimit)),
            dropped: false,
            followed: false,
        });
        if let Some(code) = limit {
            let end = attempt.span.map(|span| span.counted_from(self.ledger.base).end);
            self.give_up(code, end.unwrap_or(usize::MAX), attempt.number + 1, attempt.dialect.clone());
            if code == Code::WorkLimit {
                self.ledger.stop();
            }
        }
    }

    /// A call that repeats untrusted text says so, or is rejected.
    fn without_echo(&mut self, policy: &Policy, attempt: &Attempt, verdict: Verdict) -> Verdict {
        let Some(guard) = &mut self.ledger.echo else { return verdict };
        let Verdict::Call(mut call) = verdict else { return verdict };
        let frame = (attempt.raw.len() == attempt.raw_len).then_some(attempt.raw.as_str());
        match guard.judge(policy, &call, frame) {
            Some(finding) if policy.echo == Echo::Reject => {
                Verdict::Rejected(Box::new(rejected(&mut call, finding)))
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
            (self.sink)(Event::Rejected(Box::new(rejected(&mut call, finding))));
        } else {
            (self.sink)(Event::Call(call));
        }
    }

    /// The last attempt of the text is rejected for what follows it.
    pub(crate) fn revoke_last(&mut self, finding: Finding) {
        if self.ledger.stopped {
            return;
        }
        let finding = self.place(finding);
        if let Some(entry) = self.ledger.entries.iter_mut().rev().find(|entry| !entry.native) {
            entry.revoked.get_or_insert(finding);
        }
    }

    /// A closer behind the last attempt of the text shows that a value was cut. It may be that of a call before it whose value
    /// ended without its closer: then everything since may stand in that value.
    pub(crate) fn revoke_cut(&mut self, finding: Finding) {
        if self.ledger.stopped {
            return;
        }
        let finding = self.place(finding);
        let entries = &mut self.ledger.entries;
        let Some(last) = entries.iter().rposition(|entry| !entry.native) else { return };
        let first = entries[..=last].iter().position(Entry::may_be_cut).unwrap_or(last);
        for entry in entries[first..=last].iter_mut().filter(|entry| !entry.native) {
            entry.revoked.get_or_insert_with(|| finding.clone());
        }
    }

    /// The attempt that is being read may stand in a value of a call before it, if one has ended without its closer.
    pub(crate) fn revoke_unclosed(&mut self, finding: Finding) {
        if self.ledger.entries.iter().any(Entry::may_be_cut) {
            self.revoke_cut(finding);
        }
    }

    /// A call in a format that is not switched on was left as text.
    pub(crate) fn note_foreign(&mut self) {
        self.ledger.foreign |= !self.ledger.stopped;
    }

    /// Reasoning ended that had never begun: calls before this were thoughts, if no other thought came before. Where a thought
    /// began whose end was taken for its end too early, only calls behind its beginning were.
    pub(crate) fn late_reasoning_end(&mut self, span: Span, is_first: bool) {
        if self.ledger.stopped {
            return;
        }
        let reached = self.ledger.entries.iter_mut().skip(self.ledger.before_thought);
        for entry in reached.filter(|entry| !entry.native && is_first) {
            entry.revoked.get_or_insert_with(|| Finding::new(Code::CallInReasoning));
        }
        let finding = Finding::new(Code::LateReasoningEnd).at(span);
        self.finding(match is_first {
            true => finding,
            false => finding.message("the end of a thought that is over already; it means nothing"),
        });
    }

    #[inline] // An event is large: it is made where it goes out.
    fn send(&mut self, event: Event<'_>, bytes: usize) {
        self.flush_markup();
        self.pass(event, bytes);
    }

    #[inline] // As `send`.
    fn pass(&mut self, event: Event<'_>, bytes: usize) {
        if self.ledger.pending.is_none() {
            (self.sink)(event);
        } else {
            self.queue_up(event, bytes);
        }
    }

    #[inline(never)] // Few attempts have to wait for what follows them.
    fn queue_up(&mut self, event: Event<'_>, bytes: usize) {
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
        finding.span = finding.span.map(|span| span.counted_from(self.ledger.base));
        finding
    }

    /// A span in the response, and how many of its bytes belong to the prompt.
    fn clip(&self, span: Span) -> Option<(Span, usize)> {
        let base = self.ledger.base;
        if span.end <= base {
            return None;
        }
        Some((span.counted_from(base), base.saturating_sub(span.start)))
    }
}

/// A good call that is rejected for a reason outside of it.
fn rejected(call: &mut Call, finding: Finding) -> Rejected {
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
