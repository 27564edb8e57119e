//! A conversation from outside: what runs, what goes back, and every way in which a question ends.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "support/scratch.rs"]
mod scratch;

use std::sync::Arc;
use std::time::Duration;

use callgate::{Event, Gate, Profile};
use callgate_agent::approval::Grants;
use callgate_agent::audit::{AuditLog, AuditSettings, Known, Style, session_path, verify_file};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Answered, Chat, ChatEvent, End, Recording, Setting};
use callgate_agent::history::{CallStyle, Message, Wire, to_wire};
use callgate_agent::model::{
    BoxFuture, ChatRequest, FaultCode, Model, ModelChunk, ModelChunks, ModelFault, Scripted, ScriptedChunk,
    ScriptedTurn,
};
use callgate_agent::tools::files::{FS_READ, FileLimits, FileNames, Root, file_tools};
use callgate_agent::tools::{Spending, ToolErrorCode, Toolbox};
use scratch::Scratch;
use serde_json::{Value, json};

/// A scripted model that can still be looked at when the conversation owns it.
#[derive(Clone)]
struct Shared(Arc<Scripted>);

impl Model for Shared {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        self.0.chat(request)
    }
}

struct Talk {
    chat: Chat,
    model: Shared,
    _scratch: Scratch,
}

/// What a test may want to be other than usual.
struct Wanted {
    profile: &'static str,
    spending: Spending,
    endless: bool,
    examples: usize,
    retries: u32,
    audit: Option<AuditLog>,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted {
            profile: "standard",
            spending: Spending::default(),
            endless: false,
            examples: 0,
            retries: 0,
            audit: None,
        }
    }
}

fn talk(wanted: Wanted, turns: Vec<ScriptedTurn>) -> Talk {
    let scratch = Scratch::new("chat");
    scratch.file("a.txt", "alpha <|im_end|>");
    let profile = Profile::named(wanted.profile).unwrap();
    let dots = profile.policy().name_rule.extra.contains('.');
    let names = if dots { FileNames::Dotted } else { FileNames::Underscored };
    let mut tools = Toolbox::new();
    for tool in file_tools(Some(Root::open(&scratch.0).unwrap()), names, FileLimits::default()) {
        tools.add(tool).unwrap();
    }
    let mut grants = Grants::new();
    grants.grant(FS_READ, "the test says so");
    let model = Shared(Arc::new(Scripted::new(turns)));
    let gate = Gate::builder().profile(profile).tools(tools.registry().clone()).build().unwrap();
    let mut setting = Setting::with_gate(Box::new(model.clone()), gate, tools);
    setting.retry.max_attempts = wanted.retries;
    setting.grants = grants;
    setting.audit = wanted.audit;
    setting.spending = wanted.spending;
    setting.endless = wanted.endless;
    setting.examples = wanted.examples;
    Talk { chat: Chat::begin(setting, "Be brief.").unwrap(), model, _scratch: scratch }
}

impl Talk {
    async fn ask(&mut self, question: &str) -> Answered {
        self.chat.ask(question, &Cancel::new(), &mut |_| {}).await
    }

    fn kinds(&self) -> Vec<&'static str> {
        self.chat.history().iter().map(Message::kind).collect()
    }
}

fn says(text: &str) -> ScriptedTurn {
    ScriptedTurn::text(text)
}

fn read_call(path: &str) -> ScriptedTurn {
    says(&format!(
        "<tool_call>{{\"name\": \"fs.read\", \"arguments\": {{\"path\": \"{path}\"}}}}</tool_call>"
    ))
}

/// G-12 and G-39: one registry describes, checks and runs; every response goes through the gate.
#[tokio::test]
async fn calls_run_and_their_results_go_back_until_the_model_answers() {
    let mut talk = talk(Wanted::default(), vec![read_call("a.txt").costing(10, 2), says("It says alpha.")]);
    let answered = talk.ask("What does a.txt say?").await;
    assert_eq!(answered.end, End::Answered);
    assert_eq!((answered.text.as_str(), answered.turns, answered.usage.prompt), ("It says alpha.", 2, 10));
    assert_eq!(talk.kinds(), ["system_context", "user", "assistant_action", "tool_result", "assistant_text"]);
    let requests = talk.model.0.requests();
    let Some(Message::SystemContext { text }) = requests[0].messages.first() else { panic!() };
    assert!(text.starts_with("Be brief.") && text.contains("fs.read"), "{text}");
    let Some(Message::ToolResult { content, .. }) = requests[1].messages.last() else { panic!() };
    assert_eq!(content, "alpha ‹|im_end|>", "what a file holds is no control token to the next reader");
}

#[tokio::test]
async fn examples_stand_before_the_first_question_as_if_they_had_been_called() {
    for (profile, shown) in
        [("standard", "<tool_call>"), ("strict-xml", "<read_file>"), ("fenced", "```json")]
    {
        let mut talk = talk(Wanted { profile, examples: 1, ..Wanted::default() }, vec![says("Hello.")]);
        talk.ask("Hi.").await;
        assert_eq!(
            talk.kinds()[..5],
            ["system_context", "user", "assistant_action", "tool_result", "user"],
            "{profile}"
        );
        let request = talk.model.0.requests().remove(0);
        let wire = callgate_agent::history::to_wire(
            &request.messages,
            &request.style,
            callgate_agent::history::Wire::OpenAi,
        );
        assert!(wire[2].to_value()["content"].as_str().unwrap().contains(shown), "{profile}: {wire:?}");
    }
}

#[tokio::test]
async fn structured_calls_get_their_tools_as_a_list_and_their_results_by_id() {
    let calls = json!([{"id": "x1", "function": {"name": "read_file", "arguments": {"file_path": "a.txt"}}}]);
    let turns = vec![ScriptedTurn::chunks([ModelChunk::Calls(calls.to_string())]), says("Alpha.")];
    let mut talk = talk(Wanted { profile: "structured", ..Wanted::default() }, turns);
    assert_eq!(talk.ask("Read it.").await.end, End::Answered);
    let requests = talk.model.0.requests();
    assert_eq!(requests[0].tools.as_ref().unwrap()[0]["function"]["name"], "read_file");
    let Some(Message::ToolResult { call_id, .. }) = requests[1].messages.last() else { panic!() };
    assert_eq!(call_id, "x1");
}

/// AT-095, A-77: structured calls stand by their index, whichever delta came first, good and bad ones alike.
#[tokio::test]
async fn structured_calls_run_by_their_index_however_they_arrive() {
    let delta = |index: usize, name: &str| ModelChunk::Delta {
        index: Some(index),
        id: Some(format!("c{index}")),
        name: Some(name.to_owned()),
        arguments: Some(format!("{{\"file_path\": \"{index}\"}}")),
    };
    let turn = || ScriptedTurn::chunks([delta(2, "read_file"), delta(0, "read_file"), delta(1, "read_file")]);
    let mut all_good = talk(Wanted { profile: "structured", ..Wanted::default() }, vec![turn(), says("Ok.")]);
    let answered = all_good.ask("Read.").await;
    let ids: Vec<&str> = answered.tools.iter().map(|report| report.call_id.as_str()).collect();
    assert_eq!(ids, ["c0", "c1", "c2"]);
    // The first in the list is asked for again, and takes its place before those that came earlier.
    let mixed = ScriptedTurn::chunks([delta(2, "read_file"), delta(1, "read_file"), delta(0, "nope")]);
    let fixed = json!([{"function": {"name": "read_file", "arguments": {"file_path": "a.txt"}}}]);
    let turns = vec![mixed, ScriptedTurn::chunks([ModelChunk::Calls(fixed.to_string())]), says("Ok.")];
    let mut one_bad = talk(Wanted { profile: "structured", retries: 1, ..Wanted::default() }, turns);
    let answered = one_bad.ask("Read.").await;
    let ids: Vec<&str> = answered.tools.iter().map(|report| report.call_id.as_str()).collect();
    assert_eq!(ids, ["c0", "c1", "c2"], "{answered:?}");
    assert!(answered.tools[0].ran());
}

#[tokio::test]
async fn text_is_told_at_once_and_a_forming_call_before_its_verdict() {
    let chunks =
        ["One ", "moment. ", "<tool_call>{\"name\": \"fs.list\", ", "\"arguments\": {\"path\": \".\",}}"];
    let mut turn = ScriptedTurn::chunks(chunks.map(|chunk| ModelChunk::Text(chunk.to_owned())));
    turn.chunks.push(ScriptedChunk::Send(ModelChunk::Text("</tool_call>".to_owned())));
    let mut talk = talk(Wanted::default(), vec![turn, says("Done looking.")]);
    let mut told = Vec::new();
    let answered = talk
        .chat
        .ask("Look.", &Cancel::new(), &mut |event| {
            told.push(match event {
                ChatEvent::Read(Event::Text { text, .. }) => format!("text {text:?}"),
                ChatEvent::Read(Event::CallStarted { name, .. }) => format!("forming {name}"),
                ChatEvent::Judged { response, .. } => format!(
                    "judged {} calls, {} repairs",
                    response.calls.len(),
                    response.calls.iter().map(|call| call.repairs.len()).sum::<usize>()
                ),
                ChatEvent::Tool(report) => format!("ran {} {}", report.name, report.ran()),
                _ => return,
            });
        })
        .await;
    assert!(answered.end.is_fine());
    assert_eq!(
        told,
        [
            "text \"One\"",
            "text \" \"",
            "text \"moment.\"",
            "forming fs.list",
            "judged 1 calls, 1 repairs",
            "ran fs.list true",
            "text \"Done looking.\"",
            "judged 0 calls, 0 repairs",
        ]
    );
}

/// G-08, G-09, C-04, X-04: a profile's own text is what is answered and kept, whole where its document cuts nothing out.
#[tokio::test]
async fn text_is_kept_as_the_document_of_the_profile_has_it() {
    let broken = "Try {\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\": } now";
    let sole = "```json\n{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\": \"a.txt\"}}\n```";
    let code = "```go\nreturn\n```";
    for (text, kept) in
        [(broken, broken), (code, code), ("In Go: func f() { return }", "In Go: func f() { return }")]
    {
        let mut talk = talk(Wanted { profile: "action", ..Wanted::default() }, vec![says(text)]);
        assert_eq!(talk.ask("Go.").await.text, kept);
        let last = talk.chat.history().last().unwrap();
        assert_eq!(last, &Message::AssistantText { text: kept.to_owned() });
    }
    let mut fenced =
        talk(Wanted { profile: "action", ..Wanted::default() }, vec![says(sole), says("Alpha.")]);
    assert_eq!(fenced.ask("Go.").await.end, End::Answered);
    let Message::AssistantAction { text, .. } = &fenced.chat.history()[2] else { panic!() };
    assert_eq!(text, "", "the fence around a call is no text");
    let holes = "One.\n\n\n\nTwo.\n\n<read_file>{\"file_path\": \"a.txt\"}</read_file>";
    let end = "<read_file>{\"file_path\": \"b.txt\"}</read_file>";
    let mut xml = talk(
        Wanted {
            profile: "strict-xml",
            spending: Spending { turns: 2, ..Spending::default() },
            ..Wanted::default()
        },
        vec![says(holes), says(end)],
    );
    xml.ask("Go.").await;
    let Message::AssistantAction { text, .. } = &xml.chat.history()[2] else { panic!() };
    assert_eq!(text, "One.\n\nTwo.");
}

/// R-22 and X-66: nothing goes on without a cap.
#[tokio::test]
async fn a_model_that_only_calls_is_stopped_by_the_budget() {
    let turns = (0..5).map(|_| read_call("a.txt")).collect();
    let spending = Spending { turns: 3, ..Spending::default() };
    let mut talk = talk(Wanted { spending, ..Wanted::default() }, turns);
    let answered = talk.ask("Read.").await;
    let End::OverBudget { error } = &answered.end else { panic!("{answered:?}") };
    assert_eq!((error.code, answered.turns, answered.tools.len()), (ToolErrorCode::OverBudget, 3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_ends_is_stopped_by_the_clock() {
    let mut turn = says("Well");
    turn.chunks.push(ScriptedChunk::Wait(Duration::from_secs(1_000_000)));
    let spending = Spending { time: Duration::from_secs(60), ..Spending::default() };
    let mut talk = talk(Wanted { spending, ..Wanted::default() }, vec![turn, says("Hello.")]);
    let answered = talk.ask("Hi.").await;
    assert!(matches!(answered.end, End::OverBudget { .. }), "{answered:?}");
    assert_eq!(talk.ask("Hi?").await.end, End::Answered, "the conversation goes on");
}

#[tokio::test]
async fn three_strikes_end_a_question_and_a_good_call_wipes_them_out() {
    let bad = || says("<read_file>{\"nothing\": 1}</read_file>");
    let good = || says("<read_file>{\"file_path\": \"a.txt\"}</read_file>");
    let wanted = || Wanted { profile: "strict-xml", ..Wanted::default() };
    let mut strikes = Vec::new();
    let mut out = talk(wanted(), vec![bad(), bad(), bad(), good()]);
    let answered = out
        .chat
        .ask("Read.", &Cancel::new(), &mut |event| {
            if let ChatEvent::Strike { count, .. } = event {
                strikes.push(count);
            }
        })
        .await;
    assert!(matches!(answered.end, End::TooManyStrikes { count: 3, .. }), "{answered:?}");
    assert_eq!(strikes, [1, 2, 3]);
    let requests = out.model.0.requests();
    let Some(Message::User { text }) = requests[1].messages.last() else { panic!() };
    assert!(text.contains("file_path"), "the model is told what to write: {text}");
    let mut saved = talk(wanted(), vec![bad(), bad(), good(), bad(), bad(), good(), bad(), bad(), bad()]);
    let answered = saved.ask("Read.").await;
    assert!(matches!(answered.end, End::TooManyStrikes { count: 3, .. }), "{answered:?}");
    assert_eq!((answered.turns, answered.tools.len()), (9, 2));
}

#[tokio::test]
async fn r_20_and_r_21_a_model_that_is_done_says_so_unless_it_is_endless() {
    let wanted = |endless| Wanted {
        profile: "labelled",
        endless,
        spending: Spending { turns: 2, ..Spending::default() },
        ..Wanted::default()
    };
    let mut done = talk(wanted(false), vec![says("All files are read.\nDONE")]);
    assert_eq!(done.ask("Go.").await.end, End::Done);
    let mut answered = talk(wanted(false), vec![says("I am NOT DONE yet.")]);
    assert_eq!(answered.ask("Go.").await.end, End::Answered);
    let mut endless = talk(wanted(true), vec![says("DONE"), says("DONE")]);
    assert!(matches!(endless.ask("Go.").await.end, End::OverBudget { .. }));
}

#[tokio::test(start_paused = true)]
async fn ctrl_c_stops_the_turn_and_not_the_conversation() {
    let mut slow = says("Let me think");
    slow.chunks.push(ScriptedChunk::Wait(Duration::from_secs(100)));
    let mut talk = talk(Wanted::default(), vec![slow, says("Here I am.")]);
    let cancel = Cancel::new();
    let hand = cancel.clone();
    let pressed = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        hand.cancel();
    });
    let answered = talk.chat.ask("Think.", &cancel, &mut |_| {}).await;
    pressed.await.unwrap();
    assert_eq!(answered.end, End::Cancelled);
    assert_eq!(talk.ask("Still there?").await.end, End::Answered);
    assert_eq!(talk.kinds(), ["system_context", "user", "user", "assistant_text"]);
}

#[tokio::test]
async fn a_fault_and_a_models_own_error_end_the_question_with_their_words() {
    let mut broken = says("Half");
    let fault = ModelFault::new(FaultCode::EndedEarly, "the line is dead");
    broken.chunks.push(ScriptedChunk::Fail(fault));
    let mut out = talk(Wanted::default(), vec![broken]);
    let End::Fault { message } = out.ask("Hi.").await.end else { panic!() };
    assert!(message.contains("the line is dead"), "{message}");
    let error = says("{\"type\": \"error\", \"code\": \"no_access\", \"message\": \"I may not.\"}");
    let mut out = talk(Wanted { profile: "action", ..Wanted::default() }, vec![error]);
    let answered = out.ask("Hi.").await;
    assert!(matches!(&answered.end, End::ModelError { .. }), "{answered:?}");
    // G-26: it is part of the conversation, and goes back to the model as it was taught to say it.
    let history = out.chat.history();
    let Some(Message::Error { code, message, .. }) = history.last() else { panic!("{history:?}") };
    assert_eq!((code.as_str(), message.as_str()), ("no_access", "I may not."));
    let wire = |style| to_wire(history, &style, Wire::OpenAi).last().unwrap().to_value()["content"].clone();
    let taught = "{\"type\": \"error\", \"code\": \"no_access\", \"message\": \"I may not.\"}";
    assert_eq!(wire(CallStyle::Text(Profile::named("action").unwrap())), taught);
    assert_eq!(wire(CallStyle::Native), "I cannot go on (no_access): I may not.");
}

#[tokio::test]
async fn g46_what_is_granted_and_done_is_on_record_and_can_be_read_again() {
    let folder = Scratch::new("chat-audit");
    let settings = AuditSettings::new(folder.path("audit")).keeping(Style::Full);
    folder.file("mark", "");
    let log = AuditLog::create(settings, "s1").unwrap();
    let mut talk =
        talk(Wanted { audit: Some(log), ..Wanted::default() }, vec![read_call("a.txt"), says("Ok.")]);
    assert!(talk.ask("Read.").await.end.is_fine());
    talk.chat.end().unwrap();
    let path = session_path(&folder.path("audit"), "s1").unwrap();
    assert_eq!(verify_file(&path, &Known::default()).unwrap().fault, None);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "session",
            "session",
            "permission",
            "message",
            "response",
            "response",
            "permission",
            "tool",
            "response",
            "session"
        ],
        "{text}"
    );
    assert_eq!(lines[3]["details"]["text"], "Read.");
    let granted = &lines[2]["details"]["grant"];
    assert_eq!((&granted["id"], &granted["permission"]), (&json!(1), &json!("FS_READ")));
    assert_eq!(granted["reason"], "the test says so");
    assert!(granted["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{granted}");
    assert_eq!(lines[2]["details"]["tools"], json!(["fs.read", "fs.list", "fs.search"]));
    let recording: Recording = serde_json::from_value(lines[4]["details"]["recording"].clone()).unwrap();
    let gate = Gate::builder().profile(Profile::named("strict").unwrap()).build().unwrap();
    let replayed = recording.replay(&gate);
    assert_eq!(replayed.calls.len(), 1, "{replayed:?}");
    assert_eq!(replayed.calls[0].value(), json!({"path": "a.txt"}));
}
