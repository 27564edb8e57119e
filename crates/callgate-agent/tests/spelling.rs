//! Arguments as the model wrote them: from the server through the gate into the log, out of the log again, and back to
//! the server.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "support/scratch.rs"]
mod scratch;
// Only the server inside the process is used here.
#[allow(dead_code)]
mod support;

use std::sync::atomic::{AtomicBool, Ordering};

use callgate::{Call, Gate, Profile, Response, Tool};
use callgate_agent::audit::{AuditLog, AuditSettings, Known, Style, session_path, verify_file};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Chat, RecordedChunk, Recording, Setting, verdicts};
use callgate_agent::history::{CallStyle, Message, Wire, to_wire};
use callgate_agent::model::{
    Address, BoxFuture, ChatRequest, Model, ModelChunks, ModelFault, Ollama, OpenAi, Scripted, ScriptedTurn,
    Server,
};
use callgate_agent::tools::Toolbox;
use scratch::Scratch;
use serde_json::{Value, json};
use support::{Piped, bytes, head};

/// What a `serde_json::Value` would round, sort, unify or leave out.
const ARGUMENTS: &str =
    "{\"n\": 12345678901234567890123, \"b\": 1.0, \"a\": 1, \"c\": 1.10, \"s\": \"caf\\u00e9\"}";
const TWICE: &str = "{\"a\": 1, \"a\": 2}";

/// A list of calls as a server writes it, with arguments as an object.
fn list(arguments: &str) -> String {
    format!("[ {{\"id\": \"c1\", \"function\": {{\"name\": \"keep\", \"arguments\": {arguments}}}}} ]")
}

/// How a server sends calls: its client, the type of its answer, and the answer.
fn servers(arguments: &str) -> Vec<(&'static str, &'static str, String)> {
    let calls = list(arguments);
    vec![
        (
            "Ollama",
            "application/x-ndjson",
            format!("{{\"message\": {{\"content\": \"\", \"tool_calls\": {calls}}}, \"done\": true}}\n"),
        ),
        (
            "OpenAi",
            "application/json",
            format!(
                "{{\"choices\": [{{\"index\": 1}}, {{\"index\": 0, \"message\": {{\"content\": null, \"tool_calls\": {calls}}}, \
                 \"finish_reason\": \"tool_calls\"}}]}}"
            ),
        ),
        (
            "OpenAi",
            "text/event-stream",
            format!(
                "data: {{\"choices\": [{{\"index\": 0, \"delta\": {{\"tool_calls\": {calls}}}, \
                 \"finish_reason\": \"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
            ),
        ),
    ]
}

/// A server that answers once; after that the model has nothing more to say.
struct Once {
    server: Box<dyn Model>,
    after: Scripted,
    has_answered: AtomicBool,
}

impl Model for Once {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        match self.has_answered.swap(true, Ordering::SeqCst) {
            false => self.server.chat(request),
            true => self.after.chat(request),
        }
    }
}

fn tools() -> Toolbox {
    let mut tools = Toolbox::new();
    let schema = json!({"type": "object", "additionalProperties": true});
    let keep = Tool::new("keep", "Keeps a number.", schema);
    tools.add_function(keep, |_: Value| async { Ok("kept".to_owned()) }).unwrap();
    tools
}

fn gate() -> Gate {
    let profile = Profile::named("structured").unwrap();
    Gate::builder().profile(profile).tools(tools().registry().clone()).build().unwrap()
}

/// What one answer of a server came to: its log, line by line, and the history after it.
async fn recorded(
    (client, kind, body): &(&'static str, &'static str, String),
) -> (Vec<String>, Vec<Message>) {
    let folder = Scratch::new("spelling");
    folder.file("mark", "");
    let settings = AuditSettings::new(folder.path("audit")).keeping(Style::Full);
    let piped = Piped::new([bytes(head(kind)), bytes(body)]);
    let server = Server::new(Address::parse("http://model.test").unwrap()).reached_by(piped);
    let server: Box<dyn Model> = match *client {
        "Ollama" => Box::new(Ollama::new(server)),
        _ => Box::new(OpenAi::new(server)),
    };
    let after = Scripted::new([ScriptedTurn::text("Done.")]);
    let model = Once { server, after, has_answered: AtomicBool::new(false) };
    let mut setting = Setting::with_gate(Box::new(model), gate(), tools());
    setting.retry.max_attempts = 0;
    setting.audit = Some(AuditLog::create(settings, "s1").unwrap());
    let mut chat = Chat::begin(setting, "Be brief.").unwrap();
    chat.ask("Keep it.", &Cancel::new(), &mut |_| {}).await;
    let history = chat.history().to_vec();
    chat.end().unwrap();
    let path = session_path(&folder.path("audit"), "s1").unwrap();
    assert_eq!(verify_file(&path, &Known::default()).unwrap().fault, None);
    let text = std::fs::read_to_string(&path).unwrap();
    (text.lines().map(str::to_owned).collect(), history)
}

/// The recorded response, as it is read again, and the verdicts that are on record.
fn replayed(lines: &[String]) -> (Recording, Response, Vec<String>) {
    let records = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let record = records.into_iter().find(|record| record["details"].get("recording").is_some()).unwrap();
    let recording: Recording = serde_json::from_value(record["details"]["recording"].clone()).unwrap();
    let response = recording.replay(&gate());
    let then = serde_json::from_value(record["details"]["verdicts"].clone()).unwrap();
    (recording, response, then)
}

#[tokio::test]
async fn arguments_keep_their_spelling_from_the_server_to_the_replay() {
    for server in servers(ARGUMENTS) {
        let what = format!("{} {}", server.0, server.1);
        let (lines, history) = recorded(&server).await;
        let (recording, response, then) = replayed(&lines);
        let calls: Vec<&Call> = response.calls.iter().collect();
        assert_eq!(calls.len(), 1, "{what}: {response:?}");
        assert_eq!(calls[0].arguments, ARGUMENTS, "{what}");
        assert_eq!(verdicts(&response), then, "{what}");
        if let [RecordedChunk::Calls(calls)] = &recording.chunks[..] {
            assert_eq!(*calls, list(ARGUMENTS), "{what}: white space included");
        }
        // In the records of the verdict and of what became of it the arguments are JSON, without white space.
        let compact = ARGUMENTS.replace(": ", ":").replace(", ", ",");
        let wanted = format!("\"arguments\":{compact}");
        assert!(lines.iter().filter(|line| line.contains(&wanted)).count() >= 2, "{what}: {lines:#?}");
        // The server gets its own words back.
        for wire in [Wire::Ollama, Wire::OpenAi] {
            let sent = to_wire(&history, &CallStyle::Native, wire);
            let sent: String = sent.iter().map(ToString::to_string).collect();
            assert!(sent.contains("12345678901234567890123") && sent.contains("1.10"), "{what}: {sent}");
        }
    }
}

/// A value holds a key once, so a list that was read as one would hide that the model wrote it twice.
#[tokio::test]
async fn a_key_that_comes_twice_is_seen_and_recorded() {
    for server in servers(TWICE) {
        let what = format!("{} {}", server.0, server.1);
        let (lines, _) = recorded(&server).await;
        let (_, response, then) = replayed(&lines);
        assert_eq!(response.calls, [], "{what}");
        assert_eq!(response.rejected[0].raw, TWICE, "{what}");
        assert!(then[0].contains("duplicate-key"), "{what}: {then:?}");
        assert_eq!(verdicts(&response), then, "{what}");
    }
}

#[test]
fn a_log_of_an_earlier_version_is_still_read() {
    let calls = json!([{"function": {"name": "keep", "arguments": {"n": 1}}}]);
    let recording = json!({"pieces": [{"calls": calls}], "finish_reason": "tool_calls"});
    let recording: Recording = serde_json::from_value(recording).unwrap();
    assert_eq!(recording.replay(&gate()).calls[0].value(), json!({"n": 1}));
}

/// Secrets that only a reader of JSON sees, where a value would have dropped the first of two keys.
#[tokio::test]
async fn a_secret_behind_an_escape_and_a_second_key_is_not_recorded() {
    for arguments in [
        "{\"pass\\u0077ord\": \"hunter2zzz\", \"n\": 1}",
        "{\"pass\\u0077ord\": \"hunter2zzz\", \"password\": \"x\"}",
        "{\"password\": \"x\", \"pass\\u0077ord\": \"hunter2zzz\"}",
        "{\"name\": \"API_KEY\", \"value\": \"hunter2zzz\", \"value\": \"x\"}",
        "{\"name\": \"API_KEY\", \"value\": \"hunter2zzz\", \"name\": \"colour\"}",
        "{\"n\": 12345678901234567890123, \"password\": 12345678901234567890123}",
    ] {
        for server in servers(arguments) {
            let (lines, _) = recorded(&server).await;
            let log = lines.concat();
            assert!(!log.contains("hunter2zzz"), "{}: {log}", server.1);
            assert!(!log.contains("12345678901234567890123}"), "{}: {log}", server.1);
        }
    }
}
