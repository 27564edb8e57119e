//! How a conversation looks: text at once, a forming call as a block, then the verdicts, repairs and results.

use std::io::{self, IsTerminal, Write};

use callgate::{Call, Event, Rejected, Response, Severity};
use callgate_agent::approval::DenialReason;
use callgate_agent::chat::{Answered, ChatEvent, End, LeftOut};
use callgate_agent::tools::{CallState, Outcome, ToolReport};

use crate::paint::{Breaks, Paint, Tone, one_line, visible};

/// How much of the arguments of a forming call is shown, in characters.
const FORMING: usize = 2_000;
/// The sign that the model is waited for.
const WAITING: &str = "… waiting for the model";
/// How many lines of a result are shown.
const RESULT_LINES: usize = 8;

/// Shows what happens. A write that fails is kept and told at the end.
pub(crate) struct View {
    paint: Paint,
    /// Where text goes, and where everything else goes.
    text: Sink,
    notes: Sink,
    /// Whether the last thing written was text that did not end its line.
    is_open: bool,
    /// The attempt that is being shown, and how much of its arguments.
    forming: Option<(usize, usize)>,
    /// Whether the sign that the model is waited for stands there.
    is_waiting: bool,
    failed: Option<io::Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sink {
    Out,
    Err,
    Nowhere,
}

impl View {
    /// Everything on standard output.
    pub(crate) fn whole(paint: Paint) -> Self {
        View::new(paint, Sink::Out, Sink::Out)
    }

    /// The text on standard output, everything else on standard error.
    pub(crate) fn split(paint: Paint) -> Self {
        View::new(paint, Sink::Out, Sink::Err)
    }

    /// Nothing anywhere.
    pub(crate) fn silent(paint: Paint) -> Self {
        View::new(paint, Sink::Nowhere, Sink::Nowhere)
    }

    fn new(paint: Paint, text: Sink, notes: Sink) -> Self {
        View { paint, text, notes, is_open: false, forming: None, is_waiting: false, failed: None }
    }

    pub(crate) fn show(&mut self, event: &ChatEvent<'_>) {
        self.wait_no_more();
        match event {
            ChatEvent::Asking => self.wait(),
            ChatEvent::Read(event) => self.read(event),
            ChatEvent::AskingAgain { response } => {
                self.close();
                self.forming = None;
                response.rejected.iter().for_each(|rejected| self.rejected(rejected));
                self.note(Tone::Changed, "↻ asking again");
            }
            ChatEvent::LeftOut(left) => self.note(Tone::Changed, &left_out(left)),
            ChatEvent::Judged { response, asked_again, interrupted_at, .. } => {
                self.judged(response, *asked_again);
                if interrupted_at.is_some() {
                    self.note(Tone::Dim, "the model was stopped: its call is complete");
                }
            }
            ChatEvent::Strike { count, message } => {
                let said = visible(message, Breaks::Show);
                self.note(Tone::Bad, &format!("strike {count}: {said}"));
            }
            ChatEvent::Queued(call) if call.state == CallState::Pending && call.attempts > 0 => {
                let name = visible(&call.name, Breaks::Show).into_owned();
                self.note(Tone::Changed, &format!("↻ {name} failed and is run again"));
            }
            ChatEvent::Tool(report) => self.tool(report),
            ChatEvent::Completed(text) => self.completed(text),
            _ => {}
        }
    }

    /// Ends the answer, and says how it ended if it is not by an answer.
    pub(crate) fn end(&mut self, answered: &Answered) -> io::Result<()> {
        self.wait_no_more();
        self.close();
        let said = match &answered.end {
            End::Answered => None,
            End::Done => Some((Tone::Good, "done".to_owned())),
            End::ModelError { code, message } => Some((Tone::Bad, format!("LLM Error: {message} ({code})"))),
            End::OverBudget { error } => Some((Tone::Bad, error.to_string())),
            End::TooManyStrikes { code, message, cause, .. } => {
                Some((Tone::Bad, format!("{code}: {message}\n  the last one: {cause}")))
            }
            End::Cancelled => Some((Tone::Changed, "stopped".to_owned())),
            End::Fault { message } => Some((Tone::Bad, message.clone())),
            End::Unrecorded { error } => Some((Tone::Bad, error.to_string())),
            other => Some((Tone::Bad, format!("{other:?}"))),
        };
        if let Some((tone, said)) = said {
            said.lines().for_each(|line| self.note(tone, &visible(line, Breaks::Show)));
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Shows that the model is waited for, where somebody watches.
    fn wait(&mut self) {
        let is_watched = match self.notes {
            Sink::Out => io::stdout().is_terminal(),
            Sink::Err => io::stderr().is_terminal(),
            Sink::Nowhere => false,
        };
        if is_watched {
            self.close();
            self.is_waiting = true;
            self.write(self.notes, &self.paint.tone(Tone::Dim, WAITING).to_string());
        }
    }

    /// Takes the sign away.
    fn wait_no_more(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            let blank = " ".repeat(WAITING.chars().count());
            self.write(self.notes, &format!("\r{blank}\r"));
        }
    }

    fn read(&mut self, event: &Event<'_>) {
        match event {
            Event::Text { text, .. } => {
                let shown = visible(text, Breaks::Keep).into_owned();
                self.is_open = !shown.ends_with('\n');
                self.write(self.text, &shown);
            }
            Event::Reasoning { text, .. } => {
                let shown = visible(text, Breaks::Keep).into_owned();
                self.is_open = !shown.ends_with('\n');
                self.write(self.notes, &self.paint.tone(Tone::Dim, shown).to_string());
            }
            Event::CallStarted { attempt, name, dialect, .. } => {
                self.close();
                let name = visible(name, Breaks::Show);
                let head = self.paint.tone(Tone::Accent, format!("┌ {name}")).to_string();
                let dialect = self.paint.tone(Tone::Grey, format!(" ({dialect}) ")).to_string();
                self.write(self.notes, &format!("{head}{dialect}"));
                (self.forming, self.is_open) = (Some((*attempt, 0)), true);
            }
            Event::ArgumentsDelta { attempt, delta, .. } => self.arguments(*attempt, delta),
            _ => {}
        }
    }

    fn arguments(&mut self, attempt: usize, delta: &str) {
        let Some((_, shown)) =
            self.forming.filter(|(forming, shown)| *forming == attempt && *shown < FORMING)
        else {
            return;
        };
        let part: String = delta.chars().take(FORMING - shown).collect();
        let shown = shown + part.chars().count();
        let mut text = self.paint.tone(Tone::Grey, visible(&part, Breaks::Show)).to_string();
        if shown == FORMING {
            text.push('…');
        }
        self.forming = Some((attempt, shown));
        self.write(self.notes, &text);
    }

    fn judged(&mut self, response: &Response, asked_again: u32) {
        self.close();
        self.forming = None;
        if asked_again > 1 {
            self.note(Tone::Changed, &format!("↻ asked again {asked_again} times"));
        }
        for call in &response.calls {
            self.accepted(call);
        }
        for rejected in &response.rejected {
            self.rejected(rejected);
        }
        for finding in response.findings.iter().filter(|finding| finding.severity() != Severity::Info) {
            self.note(Tone::Changed, &format!("! {}", visible(&finding.to_string(), Breaks::Show)));
        }
    }

    fn accepted(&mut self, call: &Call) {
        let name = visible(&call.name, Breaks::Show).into_owned();
        let arguments = one_line(&call.arguments, self.paint.columns().saturating_sub(name.len() + 16));
        self.note(Tone::Good, &format!("✓ {name} {arguments}"));
        let repairs = call.repairs.iter().map(|repair| format!("repaired: {}", repair.code.word()));
        let coercions =
            call.coercions.iter().map(|coercion| format!("coerced: {} at {}", coercion.code, coercion.path));
        let findings = call.findings.iter().map(ToString::to_string);
        for change in repairs.chain(coercions).chain(findings) {
            self.note(Tone::Changed, &format!("  {}", visible(&change, Breaks::Show)));
        }
    }

    fn rejected(&mut self, rejected: &Rejected) {
        let name = rejected.name.as_deref().unwrap_or("a call");
        self.note(Tone::Bad, &format!("✗ {} was rejected", visible(name, Breaks::Show)));
        for finding in &rejected.findings {
            self.note(Tone::Bad, &format!("  {}", visible(&finding.to_string(), Breaks::Show)));
        }
    }

    fn tool(&mut self, report: &ToolReport) {
        let name = visible(&report.name, Breaks::Show).into_owned();
        match &report.outcome {
            Outcome::Ran { result } => {
                self.note(Tone::Strong, &format!("→ {name} gave {} bytes", result.len()));
                let shown = visible(result, Breaks::Keep).into_owned();
                let count = shown.lines().count();
                for line in shown.lines().take(RESULT_LINES) {
                    let line = one_line(line, self.paint.columns().saturating_sub(4));
                    self.note(Tone::Grey, &format!("  {line}"));
                }
                if count > RESULT_LINES {
                    self.note(Tone::Grey, &format!("  … {} more lines", count - RESULT_LINES));
                }
            }
            Outcome::Failed { error } => self.outcome(&name, "failed", &error.to_string()),
            Outcome::NotRun { error } => self.outcome(&name, "was not run", &error.to_string()),
            Outcome::Denied { denial } => {
                self.outcome(&name, "was not run", &denial.to_string());
                if denial.reason == DenialReason::Nobody && denial.rule_helps {
                    let rule = format!("  a rule can allow it, as in --set 'approval.safe={name}'");
                    self.note(Tone::Grey, &rule);
                }
            }
        }
    }

    /// The answer of a model that ends by a call: text like any other.
    fn completed(&mut self, text: &str) {
        self.close();
        let shown = visible(text, Breaks::Keep).into_owned();
        self.is_open = !shown.ends_with('\n');
        self.write(self.text, &shown);
    }

    fn outcome(&mut self, name: &str, what: &str, why: &str) {
        self.note(Tone::Bad, &format!("→ {name} {what}: {}", visible(why, Breaks::Show)));
    }

    /// A line of its own. The text must be safe already.
    fn note(&mut self, tone: Tone, text: &str) {
        self.close();
        self.write(self.notes, &format!("{}\n", self.paint.tone(tone, text)));
    }

    /// Ends a line that is still open.
    fn close(&mut self) {
        if self.is_open {
            self.is_open = false;
            self.write(if self.forming.is_some() { self.notes } else { self.text }, "\n");
        }
    }

    /// Writes at once: whoever watches sees it as it comes.
    fn write(&mut self, sink: Sink, text: &str) {
        let written = match sink {
            Sink::Out => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
            Sink::Err => io::stderr().write_all(text.as_bytes()),
            Sink::Nowhere => Ok(()),
        };
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}

/// What a request was sent without.
fn left_out(left: &LeftOut) -> String {
    let mut said = format!(
        "the conversation is long: {} results and {} messages are left out of the request",
        left.results, left.messages
    );
    if left.is_over {
        said.push_str(", which is still more than chat.context");
    }
    said
}
