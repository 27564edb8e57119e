//! Verifying: a small set of tasks is asked of any endpoint, plain and streamed, and what comes back is judged.

mod ask;
mod baseline;
mod judge;
mod request;
mod tasks;

use std::time::Duration;

use callgate::Gate;
use callgate_agent::model::Address;
use serde::Serialize;

use callgate_agent::report::Part;

pub use baseline::{Baseline, Change, Compared, FIRST_ARGUMENT};
pub use tasks::{Expectation, Task, TaskChoice, TaskFault};

use judge::{Sheet, judge};

/// Which API an endpoint is asked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointApi {
    /// OpenAI's `/v1/chat/completions`.
    Chat,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// Anthropic's `/v1/messages`.
    Messages,
    /// Ollama's `/api/chat`.
    Ollama,
}

impl EndpointApi {
    /// The word that stands for it on the command line and in reports.
    pub fn word(self) -> &'static str {
        match self {
            EndpointApi::Chat => "chat",
            EndpointApi::Responses => "responses",
            EndpointApi::Messages => "messages",
            EndpointApi::Ollama => "ollama",
        }
    }
}

/// What is asked, of whom, how often.
#[derive(Clone, Debug)]
pub struct Inquiry {
    /// The address of the endpoint, without the path of its API.
    pub endpoint: Address,
    /// Its API.
    pub api: EndpointApi,
    /// The model.
    pub model: String,
    /// The key.
    pub key: Option<String>,
    /// What is asked.
    pub tasks: Vec<Task>,
    /// How often each task is asked, plain and streamed.
    pub times: u32,
    /// How long one answer may take.
    pub patience: Duration,
}

/// The report on an endpoint.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The endpoint.
    pub endpoint: String,
    /// The API that it was asked in.
    pub api: &'static str,
    /// The model.
    pub model: String,
    /// How often each task was asked.
    pub times: u32,
    /// The measures, in order.
    pub scores: Vec<Score>,
    /// How long it took until the first argument of a streamed call, where there was any.
    pub first_argument: Option<Waits>,
    /// The tasks, in order.
    pub tasks: Vec<TaskReport>,
}

/// What was found out about one property.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Its name.
    pub measure: &'static str,
    /// How often it held.
    pub held: u32,
    /// How often it was looked at.
    pub of: u32,
    /// The first few times that it did not hold: the task, and what was seen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// How long something took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// The median, in milliseconds.
    pub median_ms: u64,
    /// The longest.
    pub longest_ms: u64,
    /// Of how many.
    pub of: u32,
}

/// What came of one task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// The measures that it was looked at for, without the failures, which stand in the report.
    pub scores: Vec<Score>,
    /// Some of the answers to it.
    #[serde(skip)]
    pub answers: Vec<SeenAnswer>,
}

/// An answer, as far as it is kept to be looked at.
#[derive(Clone, Debug, Default)]
pub struct SeenAnswer {
    /// Whether it was streamed.
    pub streamed: bool,
    /// What did not hold: the measures.
    pub failed: Vec<&'static str>,
    /// Why there is none, if there is none.
    pub fault: Option<String>,
    /// Its text, cut after [`TEXT`] bytes.
    pub text: String,
    /// What the gate would have made of that text.
    pub parts: Vec<Part>,
    /// The structured calls, each with what is wrong with it or was changed.
    pub calls: Vec<SeenCall>,
    /// The server's word for how it ended.
    pub ended: String,
    /// How long it took.
    pub millis: u64,
}

/// A structured call in an answer.
#[derive(Clone, Debug, Default)]
pub struct SeenCall {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: String,
    /// Whether it stands.
    pub stands: bool,
    /// What is wrong with it, or what would have to be repaired; empty if it fits.
    pub remarks: String,
}

/// How much of an answer's text is kept, in bytes.
pub const TEXT: usize = 4 << 10;

/// The properties that are looked at, by name.
pub const MEASURES: &[(&str, &str)] = &[
    ("answered", "the endpoint answered in the form of its API"),
    ("called", "a task that needs a tool got a call"),
    ("expected", "the calls are those that the task names"),
    ("schema", "the arguments of a call fit the schema"),
    ("no leaks", "no markup of calls is left in the text"),
    ("nothing lost", "no call is left in the text, and no answer is empty"),
    ("finish reason", "it says that tools were called exactly when they were"),
    ("ids", "every call has an id, and no two are equal"),
    ("required", "`required` brings a call, and a named tool brings that one"),
    ("none", "`none` brings no call"),
    ("parallel off", "with parallel calls off there is at most one"),
    ("cut off", "an answer that was cut off says so, and holds no half call"),
    ("streamed = whole", "a task brings the same calls streamed and whole, by their names"),
];

/// What a measure means.
pub fn meaning(measure: &str) -> &'static str {
    MEASURES.iter().find(|(known, _)| *known == measure).map_or("", |(_, about)| about)
}

/// Asks every task, and says what held.
pub async fn verify(inquiry: &Inquiry) -> Result<Report, String> {
    let mut sheet = Sheet::default();
    let mut tasks = Vec::with_capacity(inquiry.tasks.len());
    for task in &inquiry.tasks {
        let gate = Gate::builder().tools(task.tools.clone()).build().map_err(|error| error.to_string())?;
        sheet.begin(&task.name);
        for _ in 0..inquiry.times.max(1) {
            let mut seen = Vec::new();
            for stream in [false, true] {
                match ask::ask(inquiry, task, stream).await {
                    Ok(answer) => {
                        sheet.note("answered", true, String::new);
                        seen.push(judge(&gate, inquiry.api, task, answer, &mut sheet));
                    }
                    Err(why) => {
                        sheet.note("answered", false, || why.clone());
                        sheet.keep(SeenAnswer {
                            streamed: stream,
                            fault: Some(why),
                            ..SeenAnswer::default()
                        });
                    }
                }
            }
            if let [whole, streamed] = &seen[..] {
                sheet.note("streamed = whole", whole == streamed, || {
                    format!("whole: {}, streamed: {}", listed(whole), listed(streamed))
                });
            }
        }
        tasks.push(sheet.end());
    }
    let first_argument = sheet.first_argument();
    let scores = MEASURES.iter().map(|(name, _)| sheet.score(name)).collect();
    Ok(Report {
        endpoint: inquiry.endpoint.to_string(),
        api: inquiry.api.word(),
        model: inquiry.model.clone(),
        times: inquiry.times.max(1),
        scores,
        first_argument,
        tasks,
    })
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no call".to_owned() } else { names.join(", ") }
}
