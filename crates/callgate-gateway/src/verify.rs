//! Verifying: a small set of tasks is asked of any endpoint, plain and streamed, and what comes back is judged.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use callgate::{Call, FinishReason, Gate, Registry, Response};
use callgate_agent::model::{Address, Body, BodyKind, ModelChunk};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client;

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
    /// How often each task is asked, plain and streamed.
    pub times: u32,
    /// How long one answer may take.
    pub patience: Duration,
}

/// What was found out about one property.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// How often it held.
    pub held: u32,
    /// How often it was looked at.
    pub of: u32,
    /// The first few times that it did not hold: the task, and what was seen.
    pub failures: Vec<String>,
}

/// The report on an endpoint.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The endpoint.
    pub endpoint: String,
    /// The model.
    pub model: String,
    /// The properties, in order.
    pub scores: Vec<(&'static str, Score)>,
    /// The median time to the first bytes of a call, in milliseconds, where calls were streamed.
    pub first_call_ms: Option<u64>,
}

/// How many failures of a property are kept.
const KEPT: usize = 5;

/// The properties that are looked at.
pub const PROPERTIES: &[(&str, &str)] = &[
    ("answered", "the endpoint answered in the form of its API"),
    ("called", "a task that needs a tool got a call"),
    ("schema", "the arguments of a call fit the schema"),
    ("no leaks", "no markup of calls is left in the text"),
    ("nothing lost", "no call stands in the text that should have been structured"),
    ("finish reason", "it says that tools were called exactly when they were"),
    ("ids", "every call has an id, and no two are equal"),
    ("required", "`required` brings a call"),
    ("none", "`none` brings no call"),
    ("parallel off", "with parallel calls off there is at most one"),
    ("cut off", "an answer that was cut off says so, and holds no half call"),
    ("streamed = whole", "a task brings the same tools streamed and whole"),
];

struct Task {
    name: &'static str,
    question: &'static str,
    /// What the tool gave, if the task begins after a call.
    result: Option<&'static str>,
    choice: Option<&'static str>,
    parallel: bool,
    max_tokens: u64,
    needs_call: bool,
}

const TASK: Task = Task {
    name: "",
    question: "",
    result: None,
    choice: None,
    parallel: true,
    max_tokens: 512,
    needs_call: true,
};

const TASKS: &[Task] = &[
    Task { name: "one call", question: "What is the weather in Oslo? Use the tool.", ..TASK },
    Task {
        name: "types",
        question: "Book a table for 4 people on 2031-05-17 at 19:30, outside, tags: birthday and vegan. Use the tool.",
        ..TASK
    },
    Task {
        name: "two calls",
        question: "Compare the weather in Oslo and in Rome. Call the tool once for each city, at the same time.",
        ..TASK
    },
    Task {
        name: "quotes",
        question: "Save a note with exactly this text: He said \"don't\" <b>twice</b>.\nThen {left}. Use the tool.",
        ..TASK
    },
    Task {
        name: "words only",
        question: "Say hello in one short sentence. Do not use a tool.",
        needs_call: false,
        ..TASK
    },
    Task {
        name: "after a result",
        question: "What is the weather in Oslo? Use the tool.",
        result: Some("7 degrees, rain"),
        needs_call: false,
        ..TASK
    },
    Task { name: "required", question: "Hello there.", choice: Some("required"), ..TASK },
    Task {
        name: "none",
        question: "What is the weather in Oslo?",
        choice: Some("none"),
        needs_call: false,
        ..TASK
    },
    Task {
        name: "one at a time",
        question: "Compare the weather in Oslo and in Rome. Use the tool.",
        parallel: false,
        ..TASK
    },
    Task {
        name: "cut off",
        question: "Save a note with a story of five hundred words about a lighthouse. Use the tool.",
        max_tokens: 12,
        needs_call: false,
        ..TASK
    },
];

/// The tools of all tasks: name, description, schema.
fn tools() -> [(&'static str, &'static str, Value); 3] {
    [
        (
            "get_weather",
            "Gives the weather of a city.",
            json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}, "required": ["city"], "additionalProperties": false}),
        ),
        (
            "book_table",
            "Books a table in a restaurant.",
            json!({
                "type": "object",
                "properties": {
                    "date": {"type": "string"},
                    "time": {"type": "string"},
                    "people": {"type": "integer", "minimum": 1, "maximum": 20},
                    "place": {"type": "string", "enum": ["inside", "outside"]},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["date", "people", "place"],
                "additionalProperties": false,
            }),
        ),
        (
            "save_note",
            "Saves a note.",
            json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false}),
        ),
    ]
}

/// Asks every task, and says what held.
pub async fn verify(inquiry: &Inquiry) -> Result<Report, String> {
    let list: Value = tools()
        .into_iter()
        .map(|(name, about, schema)| json!({"name": name, "description": about, "parameters": schema}))
        .collect();
    let registry = Registry::from_value(&list).map_err(|error| error.to_string())?;
    let gate = Gate::builder().tools(registry).build().map_err(|error| error.to_string())?;
    let mut sheet = Sheet::default();
    for task in TASKS {
        for _ in 0..inquiry.times.max(1) {
            let mut seen = Vec::new();
            for stream in [false, true] {
                match ask(inquiry, task, stream).await {
                    Ok(answer) => {
                        sheet.note("answered", task, true, String::new);
                        seen.push(judge(&gate, task, answer, &mut sheet));
                    }
                    Err(why) => sheet.note("answered", task, false, || why),
                }
            }
            if let [whole, streamed] = &seen[..] {
                sheet.note("streamed = whole", task, whole == streamed, || {
                    format!("whole: {whole:?}, streamed: {streamed:?}")
                });
            }
        }
    }
    sheet.first_call.sort_unstable();
    let first_call_ms = sheet.first_call.get(sheet.first_call.len() / 2).copied();
    let scores = PROPERTIES.iter().map(|(name, _)| {
        let score = sheet.scores.iter().find(|(known, _)| known == name).map(|(_, score)| score.clone());
        (*name, score.unwrap_or_default())
    });
    Ok(Report {
        endpoint: inquiry.endpoint.to_string(),
        model: inquiry.model.clone(),
        scores: scores.collect(),
        first_call_ms,
    })
}

#[derive(Default)]
struct Sheet {
    scores: Vec<(&'static str, Score)>,
    first_call: Vec<u64>,
}

impl Sheet {
    fn note(&mut self, property: &'static str, task: &Task, holds: bool, why: impl FnOnce() -> String) {
        let at = self.scores.iter().position(|(known, _)| *known == property).unwrap_or_else(|| {
            self.scores.push((property, Score::default()));
            self.scores.len() - 1
        });
        let score = &mut self.scores[at].1;
        score.of += 1;
        score.held += u32::from(holds);
        if !holds && score.failures.len() < KEPT {
            score.failures.push(format!("{}: {}", task.name, why()));
        }
    }
}

/// What an endpoint answered.
struct Answered {
    body: Body,
    /// When the first bytes of a call came, after the question.
    first_call: Option<Duration>,
}

/// Looks at one answer, and gives the tools that it called.
fn judge(gate: &Gate, task: &Task, answer: Answered, sheet: &mut Sheet) -> BTreeSet<String> {
    let Answered { body, first_call } = answer;
    sheet.first_call.extend(first_call.and_then(|time| u64::try_from(time.as_millis()).ok()));
    let (mut native, mut text) = (Response::collector(), String::new());
    let mut session = gate.session();
    for chunk in &body.chunks {
        match chunk {
            ModelChunk::Text(more) => text.push_str(more),
            other => other.feed(&mut session, &mut |event| native.push(event)),
        }
    }
    session.finish(FinishReason::Stop, &mut |event| native.push(event));
    let native = native.finish(body.reason);
    let in_text = gate.parse(&text);
    let lost = in_text.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>();
    let tried = native.calls.len() + native.rejected.len();
    for rejected in &native.rejected {
        let why =
            || rejected.findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>().join("; ");
        sheet.note("schema", task, false, why);
    }
    for call in &native.calls {
        let is_exact = call.repairs.is_empty() && call.coercions.is_empty();
        sheet.note("schema", task, is_exact, || changes(call));
    }
    sheet.note("nothing lost", task, lost.is_empty(), || format!("{} in the text", lost.join(", ")));
    let is_clean = in_text.calls.is_empty() && in_text.rejected.is_empty() && in_text.findings.is_empty();
    sheet.note("no leaks", task, is_clean, || text.chars().take(80).collect());
    let says_called = body.reason == FinishReason::ToolCalls;
    // Only these have a word for it.
    let has_word = matches!(body.kind, BodyKind::ChatCompletion | BodyKind::Anthropic);
    if has_word && task.name != "cut off" {
        sheet.note("finish reason", task, says_called == (tried > 0), || {
            format!("{} with {tried} calls", body.word.as_deref().unwrap_or("nothing"))
        });
    }
    let ids: BTreeSet<&str> = native.calls.iter().map(|call| call.id.as_str()).collect();
    if !native.calls.is_empty() && body.kind != BodyKind::Ollama {
        sheet.note("ids", task, ids.len() == native.calls.len() && !ids.contains(""), || format!("{ids:?}"));
    }
    match task.name {
        "required" => sheet.note("required", task, tried > 0, || text.chars().take(80).collect()),
        "none" => sheet.note("none", task, tried == 0, || format!("{tried} calls")),
        "one at a time" => sheet.note("parallel off", task, tried <= 1, || format!("{tried} calls")),
        "cut off" => {
            let is_told = body.reason == FinishReason::Length && native.rejected.is_empty();
            // A short answer may have been done in time.
            let is_done = body.reason == FinishReason::Stop && tried == 0;
            sheet.note("cut off", task, is_told || is_done, || {
                format!("{} with {tried} calls", body.word.as_deref().unwrap_or("nothing"))
            });
        }
        _ => {}
    }
    if task.needs_call {
        sheet.note("called", task, tried > 0, || text.chars().take(80).collect());
    }
    native.calls.iter().map(|call| call.name.clone()).collect()
}

fn changes(call: &Call) -> String {
    let repairs = call.repairs.iter().map(|repair| repair.code.word().to_owned());
    let coercions = call.coercions.iter().map(|coercion| coercion.code.to_string());
    repairs.chain(coercions).collect::<Vec<_>>().join(", ")
}

async fn ask(inquiry: &Inquiry, task: &Task, stream: bool) -> Result<Answered, String> {
    let key = inquiry.key.as_ref().and_then(|key| HeaderValue::from_str(&format!("Bearer {key}")).ok());
    let path = match inquiry.api {
        EndpointApi::Chat => "/v1/chat/completions",
        EndpointApi::Responses => "/v1/responses",
        EndpointApi::Messages => "/v1/messages",
        EndpointApi::Ollama => "/api/chat",
    };
    let mut endpoint = inquiry.endpoint.clone();
    endpoint.base = endpoint.base.strip_suffix("/v1").unwrap_or(&endpoint.base).to_owned();
    let body = request(inquiry.api, task, &inquiry.model, stream);
    let started = Instant::now();
    let mut first_call = None;
    let mut note = |piece: &[u8]| {
        let has_call =
            [&b"tool_calls\":["[..], b"tool_calls\": [", b"input_json_delta", b"function_call_arguments"];
        if stream
            && first_call.is_none()
            && has_call.iter().any(|sign| piece.windows(sign.len()).any(|at| at == *sign))
        {
            first_call = Some(started.elapsed());
        }
    };
    let asked = client::post(&endpoint, key.as_ref(), path, body.to_string(), &mut note);
    let (status, text) = tokio::time::timeout(inquiry.patience, asked)
        .await
        .map_err(|_| "no answer in time".to_owned())?
        .map_err(|fault| fault.message)?;
    if !(200..300).contains(&status) {
        return Err(format!("status {status}: {}", text.chars().take(160).collect::<String>()));
    }
    let read = Body::read(&text).map_err(|fault| fault.message)?;
    let body = read.and_then(|bodies| bodies.into_iter().next());
    let body = body.ok_or_else(|| {
        format!("not in the form of this API: {}", text.chars().take(120).collect::<String>())
    })?;
    Ok(Answered { body, first_call })
}

/// A task as the clients of an API ask it.
fn request(api: EndpointApi, task: &Task, model: &str, stream: bool) -> Value {
    let arguments = json!({"city": "Oslo"});
    let openai: Value = tools()
        .into_iter()
        .map(|(name, about, schema)| json!({"type": "function", "function": {"name": name, "description": about, "parameters": schema}}))
        .collect();
    let user = json!({"role": "user", "content": task.question});
    let mut body = match api {
        EndpointApi::Chat | EndpointApi::Ollama => {
            let mut messages = vec![user];
            if let Some(result) = task.result {
                let text = if api == EndpointApi::Chat { json!(arguments.to_string()) } else { arguments };
                messages.push(json!({"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": text}}]}));
                messages.push(json!({"role": "tool", "tool_call_id": "call_1", "tool_name": "get_weather", "content": result}));
            }
            json!({"model": model, "messages": messages, "tools": openai})
        }
        EndpointApi::Responses => {
            let mut input = vec![user];
            if let Some(result) = task.result {
                input.push(json!({"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": arguments.to_string()}));
                input.push(json!({"type": "function_call_output", "call_id": "call_1", "output": result}));
            }
            let tools: Value = tools()
                .into_iter()
                .map(|(name, about, schema)| json!({"type": "function", "name": name, "description": about, "parameters": schema, "strict": false}))
                .collect();
            json!({"model": model, "input": input, "tools": tools, "store": false})
        }
        EndpointApi::Messages => {
            let mut messages = vec![user];
            if let Some(result) = task.result {
                messages.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": arguments}]}));
                messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}]}));
            }
            let tools: Value = tools()
                .into_iter()
                .map(|(name, about, schema)| json!({"name": name, "description": about, "input_schema": schema}))
                .collect();
            json!({"model": model, "messages": messages, "tools": tools})
        }
    };
    body["stream"] = stream.into();
    let limit = match api {
        EndpointApi::Responses => "max_output_tokens",
        _ => "max_tokens",
    };
    match api {
        EndpointApi::Ollama => body["options"] = json!({"num_predict": task.max_tokens, "temperature": 0}),
        _ => {
            body[limit] = task.max_tokens.into();
            body["temperature"] = 0.into();
        }
    }
    match (api, task.choice) {
        (EndpointApi::Messages, Some(choice)) => {
            body["tool_choice"] = json!({"type": if choice == "required" { "any" } else { choice }});
        }
        (_, Some(choice)) => body["tool_choice"] = choice.into(),
        (_, None) => {}
    }
    match (api, task.parallel) {
        (EndpointApi::Messages, false) => {
            body["tool_choice"] = json!({"type": "auto", "disable_parallel_tool_use": true});
        }
        (EndpointApi::Chat | EndpointApi::Responses, false) => body["parallel_tool_calls"] = false.into(),
        _ => {}
    }
    body
}
