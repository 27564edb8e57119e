//! A conversation: a question goes to the model, its response through the gate, what stands is run, results go back,
//! until the model answers without a call or something is spent.

mod context;
mod reading;
mod recording;
mod records;
mod setting;

use callgate::internal::profile::{ProfileView, Strike, Strikes};
use callgate::{Code, Event, Registry, Response};
use serde::Serialize;
use serde_json::{Value, json};

pub use context::{ContextBudget, ContextUnit, LeftOut};
pub use recording::{RecordedChunk, Recording};
pub use setting::Setting;

use crate::approval::hash;
use crate::audit::{AuditError, AuditLog, Entry, EntryKind, Status};
use crate::cancel::Cancel;
use crate::history::{Message, PastCall};
use crate::model::{Served, Usage};
use crate::tools::{
    Host, Meter, Outcome, Progress, Queue, QueuedCall, ToolError, ToolReport, Unrecorded, run_calls,
};
use context::Ruler;
use reading::Read;

/// What the model is told where it is to go on by itself.
const GO_ON: &str = "Go on.";
/// What an example gave.
const EXAMPLE: &str = "(an example: nothing was run)";

/// A conversation.
pub struct Chat {
    setting: Setting,
    strikes: Strikes,
    history: Vec<Message>,
    queue: Queue,
    usage: Usage,
    ruler: Ruler,
    /// Where the last question stands in the history.
    asked_at: Option<usize>,
}

/// What happens while a question is answered.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChatEvent<'e> {
    /// The model is asked, and nothing has come yet.
    Asking,
    /// A request is sent without the oldest parts of the conversation, which has grown too long.
    LeftOut(LeftOut),
    /// The gate read something. Only for display until the response is judged.
    Read(Event<'e>),
    /// The end of a call has been seen. It is judged with the response.
    CallComplete {
        /// The tool that it names.
        name: &'e str,
    },
    /// Something in a response was rejected, and the model is asked for it again.
    AskingAgain {
        /// What came of the response so far.
        response: &'e Response,
    },
    /// A response is judged, after it was asked for again as often as that helped.
    Judged {
        /// What came of it.
        response: &'e Response,
        /// How often it was asked for again.
        asked_again: u32,
        /// The same in the words of the profile's document.
        view: &'e ProfileView,
        /// What the server says about it.
        served: &'e Served,
        /// How many bytes of its text were read, if the model was stopped because a call was complete.
        interrupted_at: Option<usize>,
    },
    /// A response was rejected and counts as a mistake.
    Strike {
        /// How many in a row.
        count: usize,
        /// What was wrong with it.
        message: &'e str,
    },
    /// A call that stands came to another state: it waits, runs, or is over.
    Queued(&'e QueuedCall),
    /// A call is over.
    Tool(&'e ToolReport),
    /// The model says by a call that it is done, and this is its answer.
    Completed(&'e str),
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// The model answered.
    Answered,
    /// The model said that it is done.
    Done,
    /// The model said that it cannot go on.
    ModelError {
        /// The code it gave.
        code: String,
        /// What it said.
        message: String,
    },
    /// A budget is spent.
    OverBudget {
        /// Which.
        error: ToolError,
    },
    /// Too many responses in a row were rejected.
    TooManyStrikes {
        /// How many.
        count: usize,
        /// The code of that: the profile's own, where it has one.
        code: String,
        /// What the profile says then.
        message: String,
        /// What was wrong with the last.
        cause: String,
    },
    /// Somebody stopped it.
    Cancelled,
    /// The model could not be reached, or broke off.
    Fault {
        /// What happened.
        message: String,
    },
    /// Decisions could not be recorded, so nothing more runs in this session.
    Unrecorded {
        /// Why.
        error: AuditError,
    },
}

impl From<AuditError> for End {
    fn from(error: AuditError) -> Self {
        End::Unrecorded { error }
    }
}

impl End {
    /// Whether the model came to an end of its own.
    pub fn is_fine(&self) -> bool {
        matches!(self, End::Answered | End::Done)
    }
}

/// What a question came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answered {
    /// How it ended.
    #[serde(flatten)]
    pub end: End,
    /// The last text of the model.
    pub text: String,
    /// What became of every call, in order.
    pub tools: Vec<ToolReport>,
    /// How many responses of the model it took.
    pub turns: usize,
    /// What it cost.
    pub usage: Usage,
}

impl Chat {
    /// Begins a conversation. `instructions` stand before the description of the tools.
    pub fn begin(setting: Setting, instructions: &str) -> Result<Self, AuditError> {
        let profile = *setting.gate.profile();
        let registry = setting.tools.registry();
        let mut text = instructions.trim().to_owned();
        let taught = match &setting.dialect {
            _ if registry.is_empty() || setting.native_tools => String::new(),
            Some(dialect) => dialect.prompt_section(registry),
            None => profile.prompt(registry),
        };
        text = format!("{text}\n\n{taught}").trim().to_owned();
        let strikes = setting.strikes();
        let mut chat = Chat {
            setting,
            strikes,
            history: Vec::new(),
            queue: Queue::new(),
            usage: Usage::default(),
            ruler: Ruler::default(),
            asked_at: None,
        };
        if !text.is_empty() {
            chat.history.push(Message::SystemContext { text });
        }
        chat.show_examples();
        let tools = chat.setting.tools.registry().to_openai();
        let model = chat.setting.parameters.model.clone();
        chat.record(
            Entry::new(EntryKind::Session, "begin", Status::Ok)
                .message("a conversation begins")
                .detail("profile", json!(profile.name()))
                .detail("model", json!(model))
                .detail("tools", tools),
        )?;
        chat.record_grants()?;
        Ok(chat)
    }

    /// Calls that nobody made, as if they had been: small models call only what they have seen called.
    fn show_examples(&mut self) {
        let tools = self.setting.tools.registry().all_compiled().take(self.setting.examples);
        let shown: Vec<(String, Value)> =
            tools.map(|tool| (tool.tool.name.clone(), tool.example())).collect();
        for (number, (name, arguments)) in shown.into_iter().enumerate() {
            let said = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let members = arguments.as_object().into_iter().flatten();
            let pairs: Vec<String> = members.map(|(key, value)| format!("{key} = {}", said(value))).collect();
            let id = format!("example_{number}");
            let call = PastCall { id: id.clone(), name: name.clone(), arguments: arguments.to_string() };
            self.history.extend([
                Message::User { text: format!("Call {name} with {}.", pairs.join(", ")) },
                Message::AssistantAction { text: String::new(), calls: vec![call] },
                Message::ToolResult { call_id: id, name, content: EXAMPLE.to_owned() },
            ]);
        }
    }

    /// The conversation so far.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// Takes the last question back, with everything that came of it, so that it can be asked anew. What ran has run.
    pub fn take_back(&mut self) -> Option<String> {
        let at = self.asked_at.take()?;
        let mut taken = self.history.drain(at..);
        match taken.next() {
            Some(Message::User { text }) => Some(text),
            _ => None,
        }
    }

    /// The tools that the model may call.
    pub fn tools(&self) -> &Registry {
        self.setting.tools.registry()
    }

    /// Every call that was to run, with its state and how it got there; the oldest first.
    pub fn queue(&self) -> &[QueuedCall] {
        self.queue.calls()
    }

    /// How many responses in a row were rejected.
    pub fn strikes(&self) -> usize {
        self.strikes.count()
    }

    /// What all of it cost.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Ends the conversation; everything is on record.
    pub fn end(mut self) -> Result<(), AuditError> {
        self.record(Entry::new(EntryKind::Session, "end", Status::Ok).message("the conversation ends"))?;
        self.setting.audit.as_mut().map_or(Ok(()), |log| log.flush().map(drop))
    }

    /// Asks a question and sees to it until it is answered, or something is spent. A cancelled question leaves a
    /// conversation that can go on.
    pub async fn ask(
        &mut self,
        question: &str,
        cancel: &Cancel,
        tell: &mut (dyn FnMut(ChatEvent<'_>) + Send),
    ) -> Answered {
        self.asked_at = Some(self.history.len());
        self.history.push(Message::User { text: question.to_owned() });
        self.strikes.reset();
        let mut answered = Answered {
            end: End::Answered,
            text: String::new(),
            tools: Vec::new(),
            turns: 0,
            usage: Usage::default(),
        };
        let mut meter = Meter::new(self.setting.spending);
        answered.end = match self.record_question(question) {
            Err(error) => End::Unrecorded { error },
            Ok(()) => loop {
                match self.turn(&mut meter, &mut answered, cancel, tell).await {
                    Ok(None) => {}
                    Ok(Some(end)) | Err(end) => break end,
                }
            },
        };
        answered.turns = meter.taken().0;
        self.usage += answered.usage;
        // Report the first record that could not be written; every later one fails because of it.
        let is_unrecorded = matches!(answered.end, End::Unrecorded { .. });
        if let Some(Err(error)) = self.setting.audit.as_mut().map(AuditLog::flush).filter(|_| !is_unrecorded)
        {
            answered.end = End::Unrecorded { error };
        }
        answered
    }

    /// One response of the model and what follows from it; an end, or nothing if the model is to be asked again.
    async fn turn(
        &mut self,
        meter: &mut Meter,
        answered: &mut Answered,
        cancel: &Cancel,
        tell: &mut (dyn FnMut(ChatEvent<'_>) + Send),
    ) -> Result<Option<End>, End> {
        meter.take_turn().map_err(|error| End::OverBudget { error })?;
        let until = meter.until();
        let read = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(End::Cancelled),
            read = tokio::time::timeout_at(until, self.read(cancel, tell)) => match read {
                Ok(read) => read?,
                // The meter makes the error, so that it reads the same wherever the time runs out.
                Err(_) => return Ok(meter.take_turn().err().map(|error| End::OverBudget { error })),
            },
        };
        answered.usage += read.usage;
        answered.text.clone_from(&read.response.text);
        tell(ChatEvent::Judged {
            response: &read.response,
            asked_again: read.asked_again,
            view: &ProfileView::of(self.setting.gate.profile(), &read.response, &read.response.text),
            served: &read.served,
            interrupted_at: read.interrupted_at,
        });
        self.record_accepted(&read)?;
        self.history.extend(Message::from_response(&read.response));
        if let Some(error) = &read.response.model_error {
            if let Some(Message::Error { said, .. }) = self.history.last_mut() {
                said.clone_from(&read.said);
            }
            return Err(End::ModelError { code: error.code.clone(), message: error.message.clone() });
        }
        let reports = match self.run(&read, meter, cancel, tell).await {
            Ok(reports) => reports,
            Err(Unrecorded { error, reports }) => {
                answered.tools.extend(reports);
                return Err(End::Unrecorded { error });
            }
        };
        let completed = self.completed(&reports).map(str::to_owned);
        answered.tools.extend(reports);
        if cancel.is_cancelled() {
            return Err(End::Cancelled);
        }
        match completed {
            Some(text) if !self.setting.endless => {
                answered.text = text;
                Ok(Some(End::Done))
            }
            _ => self.next(read),
        }
    }

    /// The answer of a model that says it is done. It is not, if another call of the same response did not work.
    fn completed<'r>(&self, reports: &'r [ToolReport]) -> Option<&'r str> {
        let results = reports.iter().map(|report| match &report.outcome {
            Outcome::Ran { result } => Some((report, result.as_str())),
            _ => None,
        });
        let results: Vec<(&ToolReport, &str)> = results.collect::<Option<_>>()?;
        let ends = |(report, _): &(&ToolReport, &str)| {
            self.setting.tools.get(&report.name).is_some_and(|tool| tool.ends())
        };
        results.into_iter().rfind(ends).map(|(_, result)| result)
    }

    /// What is to be done after a response whose calls have run.
    fn next(&mut self, read: Read) -> Result<Option<End>, End> {
        if let Some(Strike { is_last, message, cause, details, .. }) = read.strike {
            if is_last {
                let count = self.strikes.count();
                let code = self.code(Code::MaxMistakes).to_owned();
                return Err(End::TooManyStrikes { count, code, message, cause });
            }
            self.history.push(Message::User { text: details });
            return Ok(None);
        }
        if !read.response.calls.is_empty() {
            return Ok(None);
        }
        if self.setting.endless {
            self.history.push(Message::User { text: GO_ON.to_owned() });
            return Ok(None);
        }
        let done = self.setting.gate.profile().is_done(&read.response);
        Ok(Some(if done { End::Done } else { End::Answered }))
    }

    async fn run(
        &mut self,
        read: &Read,
        meter: &mut Meter,
        cancel: &Cancel,
        tell: &mut (dyn FnMut(ChatEvent<'_>) + Send),
    ) -> Result<Vec<ToolReport>, Unrecorded> {
        let setting = &mut self.setting;
        let mut host = Host {
            tools: &setting.tools,
            approval: &setting.approval,
            approver: &*setting.approver,
            grants: &setting.grants,
            queue: &mut self.queue,
            audit: setting.audit.as_mut(),
            correlation_id: &read.correlation_id,
        };
        let tools = &setting.tools;
        let ends = |report: &ToolReport| tools.get(&report.name).is_some_and(|tool| tool.ends());
        let mut show = |progress: Progress<'_>| match progress {
            Progress::Step(queued) => tell(ChatEvent::Queued(queued)),
            Progress::Over(report) => match &report.outcome {
                Outcome::Ran { result } if ends(report) => tell(ChatEvent::Completed(result)),
                _ => tell(ChatEvent::Tool(report)),
            },
        };
        let reports = run_calls(&read.response.calls, &mut host, meter, cancel, &mut show).await?;
        self.history.extend(reports.iter().map(ToolReport::to_message));
        Ok(reports)
    }
}

/// What a response came to, one line per attempt in the order of the response: what two readings are compared by.
pub fn verdicts(response: &Response) -> Vec<String> {
    let accepted = response.calls.iter().map(|call| {
        let repairs: Vec<&str> = call.repairs.iter().map(|repair| repair.code.word()).collect();
        let repaired = if repairs.is_empty() { String::new() } else { format!(" ({})", repairs.join(", ")) };
        (call.attempt, format!("accepted {}{repaired} {}", call.name, hash(call)))
    });
    let rejected = response.rejected.iter().map(|rejected| {
        let codes: Vec<&str> = rejected.findings.iter().map(|finding| finding.code.word()).collect();
        let name = rejected.name.as_deref().unwrap_or("(no name)");
        (rejected.attempt, format!("rejected {name} ({})", codes.join(", ")))
    });
    let mut all: Vec<(usize, String)> = accepted.chain(rejected).collect();
    all.sort();
    all.into_iter().map(|(_, verdict)| verdict).collect()
}
