//! One question over real HTTP: what a server says, what came of it, what was told and what is on record.

use std::sync::{Arc, Mutex};

use callgate::{Gate, Profile};
use callgate_agent::approval::Grants;
use callgate_agent::audit::{AuditLog, AuditSettings, Style, session_path};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Answered, Chat, ChatEvent, End, LeftOut, Setting};
use callgate_agent::model::{Address, Ollama, Served, Server};
use callgate_agent::tools::Toolbox;
use callgate_agent::tools::files::{FS_READ, FileLimits, FileNames, Root, file_tools};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::scratch::Scratch;
use crate::support::{Act, Record, bytes, chunked, play};

/// What came of one question.
pub(crate) struct Asked {
    pub(crate) answered: Answered,
    pub(crate) requests: Vec<Value>,
    pub(crate) strikes: Vec<usize>,
    /// The tools whose calls were said to be complete.
    pub(crate) complete: Vec<String>,
    /// What the server said about each response, and where it was interrupted.
    pub(crate) served: Vec<(Served, Option<usize>)>,
    pub(crate) left_out: Vec<LeftOut>,
    /// Whether the server noticed that the client went before its answer was over, for each request.
    pub(crate) left: Vec<bool>,
    pub(crate) records: Vec<Value>,
}

/// What the server says, in the only line that both a stream and a whole answer can be.
pub(crate) enum Says {
    Text(&'static str),
    Calls(Value),
    /// Whatever bytes there are, and whether the server then waits for the client to go.
    Stream(Vec<u8>, bool),
}

impl Says {
    fn acts(&self) -> Vec<Act> {
        let message = match self {
            Says::Stream(raw, hangs) => {
                return [bytes(raw)].into_iter().chain(hangs.then_some(Act::Hang)).collect();
            }
            Says::Text(text) => json!({"role": "assistant", "content": text}),
            Says::Calls(calls) => json!({"role": "assistant", "content": "", "tool_calls": calls}),
        };
        let line =
            json!({"model": "m", "message": message, "done": true, "done_reason": "stop"}).to_string() + "\n";
        // Cut where nobody would cut by hand.
        vec![bytes(chunked("application/x-ndjson", &line, 7))]
    }
}

pub(crate) fn calls(name: &str, path: &str) -> Says {
    Says::Calls(json!([{"function": {"name": name, "arguments": {"file_path": path}}}]))
}

/// Asks one question, with settings that the test may change.
pub(crate) async fn ask(profile: &str, says: &[Says], change: impl FnOnce(&mut Setting)) -> Asked {
    let scratch = Scratch::new(&format!("budget-{profile}"));
    scratch.file("a.txt", "alpha");
    scratch.file("long.txt", ("x".repeat(93) + "\n").repeat(30));
    let (address, seen) = serve(says.iter().map(Says::acts).collect()).await;
    let profile = Profile::named(profile).unwrap();
    let mut tools = Toolbox::new();
    let root = Root::open(&scratch.0).unwrap();
    for tool in file_tools(Some(root), FileNames::Underscored, FileLimits::default()) {
        tools.add(tool).unwrap();
    }
    let mut builder = Gate::builder().profile(profile).tools(tools.registry().clone());
    if profile.needs_dialect() {
        builder = builder.dialect("hermes");
    }
    let model = Ollama::new(Server::new(Address::parse(&address).unwrap()));
    let mut setting = Setting::with_gate(Box::new(model), builder.build().unwrap(), tools);
    let mut grants = Grants::new();
    grants.grant(FS_READ, "the test says so");
    setting.grants = grants;
    setting.retry.delay = std::time::Duration::from_millis(1);
    let settings = AuditSettings::new(scratch.path("audit")).keeping(Style::Full);
    setting.audit = Some(AuditLog::create(settings, "s").unwrap());
    change(&mut setting);
    let mut chat = Chat::begin(setting, "").unwrap();
    let (mut strikes, mut complete, mut served, mut left_out) = (vec![], vec![], vec![], vec![]);
    let mut tell = |event: ChatEvent<'_>| match event {
        ChatEvent::Strike { count, .. } => strikes.push(count),
        ChatEvent::CallComplete { name } => complete.push(name.to_owned()),
        ChatEvent::Judged { served: said, interrupted_at, .. } => {
            served.push((said.clone(), interrupted_at));
        }
        ChatEvent::LeftOut(left) => left_out.push(left),
        _ => {}
    };
    let answered = chat.ask("Read it.", &Cancel::new(), &mut tell).await;
    chat.end().unwrap();
    // The server sees a closed connection a moment after it was closed.
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let left = seen.lock().unwrap().iter().map(|seen| seen.lock().unwrap().client_left).collect();
    let requests = seen.lock().unwrap().iter().map(|seen| seen.lock().unwrap().body.clone()).collect();
    let log = std::fs::read_to_string(session_path(&scratch.path("audit"), "s").unwrap()).unwrap();
    let records = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Asked { answered, requests, strikes, complete, served, left_out, left, records }
}

impl Asked {
    /// The code, the words and the cause of a question that ended because of what was rejected.
    pub(crate) fn end(&self) -> (&str, &str, &str) {
        match &self.answered.end {
            End::TooManyStrikes { code, message, cause, .. } => (code, message, cause),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn count(&self, fits: impl Fn(&Value) -> bool) -> usize {
        self.records.iter().filter(|record| fits(record)).count()
    }
}

/// A server on a real socket that answers one connection after the other, the last answer again and again. Returns its
/// address and what it was sent each time.
pub(crate) async fn serve(answers: Vec<Vec<Act>>) -> (String, Arc<Mutex<Vec<Record>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let all: Arc<Mutex<Vec<Record>>> = Arc::default();
    let records = Arc::clone(&all);
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { return };
            let number = records.lock().unwrap().len().min(answers.len() - 1);
            let record = Record::default();
            records.lock().unwrap().push(Arc::clone(&record));
            tokio::spawn(play(stream, answers[number].clone(), record));
        }
    });
    (address, all)
}
