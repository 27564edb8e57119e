//! The headline scenario of each of the five documents, end to end over real HTTP and however the stream is cut: a model
//! that gets it right, one that has to be corrected, and one that never gets it right.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "support/scratch.rs"]
mod scratch;
// Other tests need more of the server.
#[allow(dead_code)]
mod support;
// Other tests ask otherwise.
#[allow(dead_code)]
#[path = "support/asked.rs"]
mod asked;

use std::sync::{Arc, Mutex};

use asked::serve;
use callgate::{Gate, Profile};
use callgate_agent::approval::{Answer, Approver, Grants, Request};
use callgate_agent::audit::{AuditLog, EntryKind, Status, session_path};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Answered, Chat, ChatEvent, End, Setting};
use callgate_agent::config::Config;
use callgate_agent::history::Message;
use callgate_agent::model::{Address, BoxFuture, Ollama, Server};
use callgate_agent::tools::Toolbox;
use callgate_agent::tools::files::{FS_READ, FS_WRITE, FileLimits, FileNames, Root, file_tools};
use callgate_agent::tools::{Completion, ToolErrorCode};
use scratch::Scratch;
use serde_json::{Value, json};
use support::{Act, Record, bytes, chunked};

/// How many characters a message of the model has, and how many bytes an HTTP chunk: cut everywhere, cut in odd places,
/// not cut at all.
const CUTS: [(usize, usize); 4] = [(1, 1), (3, 7), (11, 64), (usize::MAX, usize::MAX)];

/// What the server says to one request.
enum Says {
    /// Words, in a stream.
    Words(&'static str),
    /// Structured calls, in a stream, whole.
    Calls(Value),
    /// Structured calls, where no stream was asked for.
    Whole(Value),
}

impl Says {
    fn acts(&self, (characters, size): (usize, usize)) -> Vec<Act> {
        let line = |message: Value, done: bool| {
            json!({"model": "m", "message": message, "done": done, "done_reason": done.then_some("stop")})
                .to_string()
                + "\n"
        };
        let said = |text: &str| line(json!({"role": "assistant", "content": text}), false);
        let called = |calls: &Value, done| {
            line(json!({"role": "assistant", "content": "", "tool_calls": calls}), done)
        };
        let body = match self {
            Says::Words(text) => {
                let letters: Vec<char> = text.chars().collect();
                letters.chunks(characters).map(|piece| said(&piece.iter().collect::<String>())).collect()
            }
            Says::Calls(calls) => called(calls, false),
            Says::Whole(calls) => {
                return vec![bytes(chunked("application/json", &called(calls, true), size))];
            }
        };
        let end = line(json!({"role": "assistant", "content": ""}), true);
        vec![bytes(chunked("application/x-ndjson", &format!("{body}{end}"), size))]
    }
}

/// Somebody who gives one answer, and counts how often.
#[derive(Clone)]
struct Person(bool, Arc<Mutex<Vec<String>>>);

impl Approver for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        self.1.lock().unwrap().push(request.tool.clone());
        let answer = match self.0 {
            true => Answer::Approve { hash: request.hash.clone() },
            false => Answer::Deny,
        };
        Box::pin(std::future::ready(answer))
    }
}

/// A conversation with a server that was told what to say.
struct Talk {
    chat: Chat,
    seen: Arc<Mutex<Vec<Record>>>,
    /// Text as the user saw it.
    shown: String,
    scratch: Scratch,
}

async fn talk(profile: &str, says: &[Says], cut: (usize, usize), change: impl FnOnce(&mut Setting)) -> Talk {
    let scratch = Scratch::new(&format!("http-{profile}"));
    for (name, text) in [("a.txt", "alpha"), ("b.txt", "beta")] {
        scratch.file(&format!("root/{name}"), text);
    }
    let (address, seen) = serve(says.iter().map(|says| says.acts(cut)).collect()).await;
    let profile = Profile::named(profile).unwrap();
    let dots = profile.policy().name_rule.extra.contains('.');
    let names = if dots { FileNames::Dotted } else { FileNames::Underscored };
    let mut tools = Toolbox::new();
    let root = Root::open(&scratch.path("root")).unwrap();
    for tool in file_tools(Some(root), names, FileLimits::default()) {
        tools.add(tool).unwrap();
    }
    if profile.name() == "strict-xml" {
        tools.add(Arc::new(Completion::new())).unwrap();
    }
    let gate = Gate::builder().profile(profile).tools(tools.registry().clone()).build().unwrap();
    let model = Ollama::new(Server::new(Address::parse(&address).unwrap()));
    let mut setting = Setting::with_gate(Box::new(model), gate, tools);
    let mut grants = Grants::new();
    for permission in [FS_READ, FS_WRITE] {
        grants.grant(permission, "the test says so");
    }
    setting.grants = grants;
    setting.retry.delay = std::time::Duration::from_millis(1);
    let config = Config::builder().flag("--set", "audit.values", "full").build().unwrap();
    let mut settings = config.audit().unwrap();
    (settings.folder, settings.state) = (scratch.path("audit"), None);
    setting.audit = Some(AuditLog::create(settings, "s").unwrap());
    change(&mut setting);
    Talk { chat: Chat::begin(setting, "").unwrap(), seen, shown: String::new(), scratch }
}

impl Talk {
    async fn ask(&mut self, question: &str) -> Answered {
        let shown = &mut self.shown;
        let mut tell = |event: ChatEvent<'_>| {
            if let ChatEvent::Read(callgate::Event::Text { text, .. }) = event {
                shown.push_str(&text);
            }
        };
        self.chat.ask(question, &Cancel::new(), &mut tell).await
    }

    fn requests(&self) -> Vec<Value> {
        self.seen.lock().unwrap().iter().map(|seen| seen.lock().unwrap().body.clone()).collect()
    }

    /// The last message of a request: its role and its content.
    fn last(&self, request: usize) -> (String, String) {
        let requests = self.requests();
        let message = requests[request]["messages"].as_array().unwrap().last().unwrap().clone();
        let word = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        (word("role"), word("content"))
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.chat.history().iter().map(Message::kind).collect()
    }

    fn records(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(session_path(&self.scratch.path("audit"), "s").unwrap()).unwrap();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn count(&self, fits: impl Fn(&Value) -> bool) -> usize {
        self.records().iter().filter(|record| fits(record)).count()
    }
}

/// Code, words and cause of a question that ended because of what was rejected.
fn end(answered: &Answered) -> (&str, &str, &str) {
    match &answered.end {
        End::TooManyStrikes { code, message, cause, .. } => (code, message, cause),
        other => panic!("{other:?}"),
    }
}

/// The tools that ran, with their results.
fn ran(answered: &Answered) -> Vec<(&str, String)> {
    let ran = answered.tools.iter().filter(|report| report.ran());
    ran.map(|report| match report.to_message() {
        Message::ToolResult { content, .. } => (report.name.as_str(), content),
        other => panic!("{other:?}"),
    })
    .collect()
}

// ---- goshi ----

/// G-24, G-25: text is shown as it comes, the action runs, its result goes back, and the model answers.
#[tokio::test]
async fn goshi_reads_a_file_and_answers() {
    let call =
        "Let me look.\n\n{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\": \"a.txt\"}}";
    for cut in CUTS {
        let mut talk = talk("action", &[Says::Words(call), Says::Words("It says alpha.")], cut, |_| {}).await;
        let answered = talk.ask("What does a.txt say?").await;
        assert_eq!((&answered.end, answered.text.as_str()), (&End::Answered, "It says alpha."), "{cut:?}");
        assert_eq!(ran(&answered), [("fs.read", "alpha".to_owned())], "{cut:?}");
        let kinds = ["user", "assistant_action", "tool_result", "assistant_text"];
        assert_eq!(talk.kinds()[talk.kinds().len() - 4..], kinds, "{cut:?}");
        assert_eq!(talk.requests().len(), 2, "{cut:?}");
        assert!(talk.requests()[0].to_string().contains("Structured output is mandatory"));
        assert!(talk.last(1).1.contains("alpha"), "{:?}", talk.last(1));
        assert!(talk.shown.starts_with("Let me look."), "{cut:?}: {}", talk.shown);
        assert!(!talk.shown.contains("action"), "a forming call is not shown as text: {}", talk.shown);
    }
}

/// G-10, G-11, G-16, G-26, G-27, G-32: what cannot be used ends in the words of the document, and is on record.
#[tokio::test]
async fn goshi_ends_in_its_own_words() {
    let suggestion = "The response couldn't be parsed. Ask the LLM to clarify or retry.";
    for cut in CUTS {
        for (says, code, cause) in [
            (
                "{\"type\": \"action\", \"tool\": \"fs.delete\", \"args\": {}}",
                "tool_not_found",
                "unknown tool: fs.delete",
            ),
            (
                "{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {}}",
                "invalid_args",
                "missing required argument: path",
            ),
            ("{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\" \"a\"}}", "", ""),
        ] {
            let mut talk = talk("action", &[Says::Words(says)], cut, |_| {}).await;
            let answered = talk.ask("Go.").await;
            let (_, words, why) = end(&answered);
            assert_eq!((words, talk.requests().len()), (suggestion, 1), "{cut:?}: {says}");
            assert!(why.contains(cause) && answered.tools.is_empty(), "{why}");
            let suggested = talk.count(|record| record["details"]["suggestion"] == suggestion);
            assert_eq!(suggested, 1, "{says}: the suggestion is on record");
            let coded = talk.count(|record| {
                record["details"]["verdict"] == "rejected" && record["details"]["error_code"] == code
            });
            assert!(code.is_empty() || coded == 1, "{says}: {:?}", talk.records());
        }
        let own = "{\"type\": \"error\", \"code\": \"permission_denied\", \"message\": \"Not that folder.\"}";
        let mut talk = talk("action", &[Says::Words(own)], cut, |_| {}).await;
        let answered = talk.ask("Go.").await;
        let End::ModelError { code, message } = &answered.end else { panic!("{answered:?}") };
        assert_eq!((code.as_str(), message.as_str()), ("permission_denied", "Not that folder."));
        assert_eq!((talk.kinds().last().copied(), talk.requests().len()), (Some("error"), 1));
    }
}

/// G-49: the words of records, all of them.
#[tokio::test]
async fn types_and_statuses_of_records_are_those_of_goshi() {
    use EntryKind::{Diagnostic, Message, Permission, Response, Safety, Session, Tool};
    let kinds = [Permission, Tool, Safety, Diagnostic, Session, Message, Response].map(EntryKind::word);
    assert_eq!(kinds, ["permission", "tool", "safety", "diagnostic", "session", "message", "response"]);
    let statuses = [Status::Ok, Status::Warn, Status::Error].map(Status::word);
    assert_eq!(statuses, ["ok", "warn", "error"]);
    let call = "{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\": \"a.txt\"}}";
    let bad = "{\"type\": \"action\", \"tool\": \"fs.delete\", \"args\": {}}";
    let mut talk = talk("action", &[Says::Words(call), Says::Words(bad)], CUTS[3], |_| {}).await;
    talk.ask("Go.").await;
    for record in talk.records() {
        assert!(kinds.contains(&record["type"].as_str().unwrap()), "{record}");
        assert!(statuses.contains(&record["status"].as_str().unwrap()), "{record}");
    }
}

/// G-27, X-22: a failure ends the question, not the conversation, and what is right afterwards is taken.
#[tokio::test]
async fn after_a_failure_the_conversation_goes_on() {
    let bad = || Says::Words("{\"type\": \"action\", \"tool\": \"fs.delete\", \"args\": {}}");
    let mut goshi = talk("action", &[bad(), Says::Words("Then not.")], CUTS[1], |_| {}).await;
    assert!(!goshi.ask("Go.").await.end.is_fine());
    assert_eq!(goshi.ask("And now?").await.text, "Then not.");
    let bad = || Says::Words("<write_file>{\"content\": \"html\"}</write_file>");
    let good = Says::Words("<attempt_completion>{\"result\": \"Here it is.\"}</attempt_completion>");
    let mut xml = talk("strict-xml", &[bad(), bad(), bad(), good], CUTS[1], |_| {}).await;
    assert_eq!(end(&xml.ask("Go.").await).0, "MAX_MISTAKES");
    let answered = xml.ask("And now?").await;
    assert_eq!((answered.end.is_fine(), answered.text.as_str()), (true, "Here it is."), "{answered:?}");
    assert_eq!(xml.chat.strikes(), 0, "the host can read the count, and a success clears it");
}

// ---- Acode ----

/// A call as Ollama sends it, its arguments as text.
fn call(path: &str) -> Value {
    json!({"function": {"name": "read_file", "arguments": path}})
}

/// A-47, A-59, A-15 and Gap 12: a stream from Ollama, read, asked for again twice, and run.
#[tokio::test]
async fn acode_asks_again_until_the_call_is_right() {
    for cut in CUTS {
        let right = json!([{"function": {"name": "read_file", "arguments": {"file_path": "a.txt"}}}]);
        let says = [
            Says::Calls(json!([call("@@ {{")])),
            Says::Whole(json!([call("{\"nothing\": 1}")])),
            Says::Whole(right),
            Says::Words("It says alpha."),
        ];
        let mut talk = talk("structured", &says, cut, |_| {}).await;
        let answered = talk.ask("What does a.txt say?").await;
        assert_eq!((&answered.end, answered.text.as_str()), (&End::Answered, "It says alpha."), "{cut:?}");
        assert_eq!(ran(&answered).len(), 1);
        assert!(ran(&answered)[0].1.contains("alpha"));
        let requests = talk.requests();
        let streams: Vec<bool> = requests.iter().map(|request| request["stream"] == true).collect();
        assert_eq!(streams, [true, false, false, true], "{cut:?}: a retry is not streamed");
        for (retry, wanted) in [(1, "@@ {{"), (2, "missing required argument: file_path")] {
            let (role, prompt) = talk.last(retry);
            assert_eq!(role, "user");
            assert!(prompt.contains(wanted) && prompt.contains("read_file"), "{prompt}");
            assert!(prompt.contains("Write only the corrected JSON object"), "{prompt}");
            assert_eq!(requests[retry]["tools"], requests[0]["tools"], "the tools are kept");
        }
        assert_eq!(talk.last(3).0, "tool", "the result goes back by its role");
    }
}

/// A-50, A-82: three retries, the sentence and the code of the document, and every attempt on record.
#[tokio::test]
async fn acode_gives_up_with_its_own_code() {
    for cut in CUTS {
        let says = [Says::Calls(json!([call("@@ {{")])), Says::Whole(json!([call("@@ {{")]))];
        let mut talk = talk("structured", &says, cut, |_| {}).await;
        let answered = talk.ask("Go.").await;
        let (code, words, cause) = end(&answered);
        assert_eq!((code, words), ("ACODE-TLP-106", "Failed to parse tool calls after 3 retry attempts"));
        assert!(!cause.is_empty() && answered.tools.is_empty());
        assert_eq!(talk.requests().len(), 4, "{cut:?}");
        let coded = talk.count(|record| record["details"]["error_code"] == "ACODE-TLP-004");
        assert_eq!(coded, 4, "{:?}", talk.records());
    }
}

/// A-19, A-46: two calls, one of them repaired, run in order without another request.
#[tokio::test]
async fn acode_runs_several_calls_of_a_stream_in_order() {
    for cut in CUTS {
        let both = json!([call("{\"file_path\": \"b.txt\"}"), call("{file_path: 'a.txt',}")]);
        let says = [Says::Calls(both), Says::Words("Beta, then alpha.")];
        let mut talk = talk("structured", &says, cut, |_| {}).await;
        let answered = talk.ask("Read both.").await;
        assert_eq!(answered.end, End::Answered, "{cut:?}");
        let results: Vec<bool> = ran(&answered)
            .iter()
            .zip(["beta", "alpha"])
            .map(|((_, text), wanted)| text.contains(wanted))
            .collect();
        assert_eq!((results, talk.requests().len()), (vec![true, true], 2), "{cut:?}");
        assert_eq!(
            talk.count(|record| record["details"]["repairs"].as_array().is_some_and(|r| r.len() == 3)),
            1
        );
    }
}

/// A-44: what is not repaired is asked for again, and the retries of the settings are what is asked.
#[tokio::test]
async fn acode_without_repair_asks_as_often_as_it_may() {
    for (retries, requests) in [(0, 1), (1, 2)] {
        let broken = || json!([call("{file_path: 'a.txt',}")]);
        let says = [Says::Calls(broken()), Says::Whole(broken())];
        let change = |setting: &mut Setting| {
            let policy = setting.gate.policy().clone().repair_off();
            let tools = setting.tools.registry().clone();
            let gate = Gate::builder().profile(*setting.gate.profile()).tools(tools).policy(policy).build();
            setting.gate = gate.unwrap();
            setting.retry.max_attempts = retries;
        };
        let mut talk = talk("structured", &says, CUTS[2], change).await;
        let answered = talk.ask("Go.").await;
        let words = format!("Failed to parse tool calls after {retries} retry attempts");
        assert_eq!((end(&answered).0, end(&answered).1), ("ACODE-TLP-106", words.as_str()));
        assert_eq!((talk.requests().len(), answered.tools.len()), (requests, 0));
    }
}

/// A-54: what was right is neither asked for again nor moved.
#[tokio::test]
async fn acode_asks_again_only_for_what_failed() {
    let both = json!([call("{\"file_path\": \"b.txt\"}"), call("@@ {{")]);
    let says =
        [Says::Calls(both), Says::Whole(json!([call("{\"file_path\": \"a.txt\"}")])), Says::Words("Both.")];
    let mut talk = talk("structured", &says, CUTS[1], |_| {}).await;
    let answered = talk.ask("Read both.").await;
    let results: Vec<String> = ran(&answered).into_iter().map(|(_, text)| text).collect();
    assert!(results[0].contains("beta") && results[1].contains("alpha"), "{results:?}");
    assert_eq!((results.len(), talk.requests().len()), (2, 3));
    assert!(!talk.last(1).1.contains("b.txt"), "only the failed one is spoken of: {}", talk.last(1).1);
}

// ---- Windlass ----

/// W-06, W-17: the error goes into the next turn, the corrected block runs, and the model goes on.
#[tokio::test]
async fn windlass_sends_the_error_back_and_runs_the_corrected_block() {
    let broken = "On it.\n```json\n{\"tool\": \"fs.read\", \"arguments\": {\"path\": \"a.txt\"}}}}\n```\n";
    let right = "```json\n{\"tool\": \"fs.read\", \"arguments\": {\"path\": \"a.txt\"}}\n```\n";
    for cut in CUTS {
        let says = [Says::Words(broken), Says::Words(right), Says::Words("It says alpha.")];
        let mut talk = talk("fenced", &says, cut, |_| {}).await;
        let answered = talk.ask("What does a.txt say?").await;
        assert_eq!((&answered.end, answered.text.as_str()), (&End::Answered, "It says alpha."), "{cut:?}");
        assert_eq!((ran(&answered).len(), talk.requests().len()), (1, 3), "{cut:?}");
        let (role, error) = talk.last(1);
        assert_eq!(role, "user");
        assert!(error.contains("Tool call JSON is malformed: "), "{error}");
    }
}

/// W-18, W-19: code, data and examples are an answer, and the model hears nothing of them.
#[tokio::test]
async fn windlass_leaves_code_and_data_alone() {
    let code = "Here:\n```python\nd = {'tool': 'read_file', 'n': {1, 2}}\n```\nIt returns:\n```json\n{\"status\": \"ok\", \"rows\": [...]}\n```\n";
    for cut in CUTS {
        let mut talk = talk("fenced", &[Says::Words(code)], cut, |_| {}).await;
        let answered = talk.ask("Write it.").await;
        assert_eq!((&answered.end, talk.requests().len()), (&End::Answered, 1), "{cut:?}");
        assert_eq!(answered.text.trim(), code.trim(), "{cut:?}");
        assert!(answered.tools.is_empty() && talk.chat.strikes() == 0);
    }
}

// ---- Reploid ----

/// R-03, R-20: every block runs, in order, and `DONE` ends it.
#[tokio::test]
async fn reploid_runs_every_block_and_is_done_when_it_says_so() {
    let blocks = "First both.\n\nTOOL_CALL: read_file\nARGS: {\n  \"file_path\": \"b.txt\"\n}\n\nTOOL_CALL: read_file\nARGS: {\"file_path\": `a.txt`}\n";
    for cut in CUTS {
        let says = [Says::Words(blocks), Says::Words("Both were read.\nDONE")];
        let mut talk = talk("labelled", &says, cut, |_| {}).await;
        let answered = talk.ask("Read both.").await;
        assert_eq!(answered.end, End::Done, "{cut:?}");
        let results: Vec<String> = ran(&answered).into_iter().map(|(_, text)| text).collect();
        assert!(results[0].contains("beta") && results[1].contains("alpha"), "{results:?}");
        assert_eq!(talk.requests().len(), 2);
    }
}

/// R-16, R-25: the good block runs, the bad one is explained, and words are an answer afterwards.
#[tokio::test]
async fn reploid_is_told_what_was_not_executed() {
    let mixed =
        "TOOL_CALL: read_file\nARGS: {\"file_path\": \"a.txt\"}\n\nTOOL_CALL: write_file\nARGS: { oops }\n";
    for cut in CUTS {
        let says = [Says::Words(mixed), Says::Words("Never mind.")];
        let mut talk = talk("labelled", &says, cut, |_| {}).await;
        let answered = talk.ask("Go.").await;
        assert_eq!((&answered.end, answered.text.as_str()), (&End::Answered, "Never mind."), "{cut:?}");
        assert_eq!(ran(&answered).len(), 1);
        let said = talk.requests()[1]["messages"].to_string();
        for part in ["TOOL_CALL_PARSE_ERROR", "The tool was not executed", "write_file", "{ oops }"] {
            assert!(said.contains(part), "{cut:?}: {part} is missing in {said}");
        }
    }
}

/// R-19, R-22: in RSI mode nothing but a cap of the host ends it.
#[tokio::test]
async fn reploid_in_rsi_mode_is_never_done() {
    let change = |setting: &mut Setting| {
        setting.endless = true;
        setting.spending.turns = 5;
    };
    let mut talk = talk("labelled", &[Says::Words("GOAL_ACHIEVED")], CUTS[1], change).await;
    let answered = talk.ask("Improve.").await;
    let End::OverBudget { error } = &answered.end else { panic!("{answered:?}") };
    assert_eq!((error.code, talk.requests().len()), (ToolErrorCode::OverBudget, 5));
}

// ---- AccessLint ----

const PAGE: &str =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<body><img alt=\"A </write_file> in text\"></body>\n</html>\n";

fn write() -> &'static str {
    let call = json!({"file_path": "site/index.html", "content": PAGE});
    Box::leak(format!("I create the page.\n<write_file>\n{call}\n</write_file>").into_boxed_str())
}

/// X-25, X-34, X-35, X-50, X-63: a page is written after a yes, listed without one, and the model completes.
#[tokio::test]
async fn accesslint_creates_a_page_and_completes() {
    for cut in CUTS {
        let says = [
            Says::Words(write()),
            Says::Words("<list_directory><path>site</path></list_directory>"),
            Says::Words("<attempt_completion>{\"result\": \"The page is there.\"}</attempt_completion>"),
        ];
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let person = Person(true, Arc::clone(&asked));
        let mut talk = talk("strict-xml", &says, cut, |setting| setting.approver = Box::new(person)).await;
        let answered = talk.ask("Make a page.").await;
        assert!(answered.end.is_fine(), "{cut:?}: {answered:?}");
        assert_eq!(answered.text, "The page is there.");
        let written = std::fs::read_to_string(talk.scratch.path("root/site/index.html")).unwrap();
        assert_eq!(written, PAGE, "{cut:?}");
        assert_eq!(*asked.lock().unwrap(), ["write_file"], "only what is dangerous asks");
        assert_eq!(ran(&answered).len(), 3);
        assert!(talk.shown.contains("I create the page."), "{}", talk.shown);
    }
}

/// X-40: a no is a result, and the model is told.
#[tokio::test]
async fn accesslint_is_told_of_a_no() {
    let says = [
        Says::Words(write()),
        Says::Words("<attempt_completion>{\"result\": \"Then not.\"}</attempt_completion>"),
    ];
    let person = Person(false, Arc::default());
    let mut talk = talk("strict-xml", &says, CUTS[1], |setting| setting.approver = Box::new(person)).await;
    let answered = talk.ask("Make a page.").await;
    assert!(answered.end.is_fine(), "{answered:?}");
    assert!(!talk.scratch.path("root/site").exists());
    assert!(talk.last(1).1.contains("denied"), "{:?}", talk.last(1));
}

/// X-06, X-07, X-10, X-18: three rejected responses in a row, each with its type, and the sentence of the document.
#[tokio::test]
async fn accesslint_stops_at_the_third_mistake() {
    for cut in CUTS {
        let says = [
            Says::Words("<summon_cat>{\"name\": \"Tom\"}</summon_cat>"),
            Says::Words("<read_file>{\"file_path\": \"a.txt\"</read_file>"),
            Says::Words("TOOL_CALL: read_file\nINPUT: {\"file_path\": \"a.txt\"}"),
        ];
        let mut talk = talk("strict-xml", &says, cut, |_| {}).await;
        let answered = talk.ask("Go.").await;
        let (code, words, _) = end(&answered);
        let sentence = "Maximum mistakes reached (3). Please follow the strict XML format.";
        assert_eq!((code, words), ("MAX_MISTAKES", sentence), "{cut:?}");
        assert_eq!((talk.requests().len(), talk.chat.strikes(), answered.tools.len()), (3, 3, 0), "{cut:?}");
        let told = [talk.last(1).1, talk.last(2).1];
        assert!(told[0].contains("UNKNOWN_TOOL: ") && told[0].contains("list_directory"), "{}", told[0]);
        assert!(told[1].contains("MALFORMED_XML: ") && told[1].contains("<read_file>"), "{}", told[1]);
        let codes: Vec<Value> = talk
            .records()
            .iter()
            .filter(|record| record["action"] == "strike")
            .map(|record| record["details"]["code"].clone())
            .collect();
        assert_eq!(codes, ["UNKNOWN_TOOL", "MALFORMED_XML", "NO_XML_BLOCKS"], "{cut:?}");
    }
}
