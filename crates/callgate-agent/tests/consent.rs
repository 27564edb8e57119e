//! Consent in its finer forms: every n-th call, permissions, hunks of a change, the queue that calls wait in, and calls that
//! are run once more.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "support/lines.rs"]
mod lines;
#[path = "support/scratch.rs"]
mod scratch;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate::{Gate, Tool};
use callgate_agent::approval::{
    Answer, ApprovalPolicy, Approver, DenialReason, EXECUTE, EveryNth, Grants, Request, Rule,
};
use callgate_agent::audit::{AuditLog, Style};
use callgate_agent::cancel::Cancel;
use callgate_agent::model::BoxFuture;
use callgate_agent::tools::files::{FS_READ, FS_WRITE, FileLimits, FileNames, Root, file_tools};
use callgate_agent::tools::{
    CallState, Host, Meter, Outcome, Prepared, Progress, Queue, Rerun, RunTool, ShellTool, Spending,
    ToolError, ToolErrorCode, ToolReport, Toolbox, run_calls,
};
use lines::Lines;
use scratch::Scratch;
use serde_json::{Value, json};

/// A tool that fails with a code as often as it is told to, and then works; `slow` takes longer than any call may, and one
/// that is `gone` cannot be prepared a second time.
struct Shaky {
    tool: Tool,
    code: ToolErrorCode,
    fails: usize,
    slow: bool,
    gone: bool,
    ran: Arc<AtomicUsize>,
}

impl RunTool for Shaky {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        if self.gone && self.ran.load(Ordering::Relaxed) > 0 {
            let error = ToolError::new(ToolErrorCode::NotFound, "far", "it is gone");
            return Box::pin(std::future::ready(Err(error)));
        }
        let (ran, code, fails, slow) = (Arc::clone(&self.ran), self.code, self.fails, self.slow);
        Box::pin(std::future::ready(Ok(Prepared::new(move || async move {
            let before = ran.fetch_add(1, Ordering::Relaxed);
            match before < fails {
                true if slow => std::future::pending().await,
                true => Err(ToolError::new(code, "far", "it did not answer")),
                false => Ok("there".to_owned()),
            }
        }))))
    }
}

/// How often a tool fails that is gone after the first time.
const GONE: usize = 1_000;

type Says = fn(&Request) -> Answer;

/// Somebody who answers one after the other, the last answer again and again, and keeps what they were shown.
struct Answers(Vec<Says>, Mutex<Vec<Request>>);

impl Approver for Answers {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        let mut asked = self.1.lock().unwrap();
        let answer = self.0[asked.len().min(self.0.len() - 1)](request);
        asked.push(request.clone());
        Box::pin(std::future::ready(answer))
    }
}

fn yes(request: &Request) -> Answer {
    Answer::Approve { hash: request.hash.clone() }
}

fn no(_: &Request) -> Answer {
    Answer::Deny
}

/// A session: what it can run, who is asked, and what is on record of it.
struct Session {
    scratch: Scratch,
    tools: Toolbox,
    approval: ApprovalPolicy,
    answers: Answers,
    grants: Grants,
    queue: Queue,
    spending: Spending,
    lines: Lines,
    log: AuditLog,
    /// Every state that was told, with the tool.
    told: Vec<(String, CallState, u32)>,
}

impl Session {
    fn new(what: &str, answers: &[Says]) -> Self {
        let scratch = Scratch::new(what);
        scratch.file("root/a.txt", thirty("line").concat());
        let mut tools = Toolbox::new();
        let root = Root::open(&scratch.path("root")).unwrap();
        for tool in file_tools(Some(root), FileNames::Dotted, FileLimits::default()) {
            tools.add(tool).unwrap();
        }
        let shell = ShellTool::new(scratch.path("root"), Duration::from_secs(5), &[]);
        tools.add(Arc::new(shell)).unwrap();
        let mut grants = Grants::new();
        for permission in [FS_READ, FS_WRITE, EXECUTE] {
            grants.grant(permission, "the test says so");
        }
        let lines = Lines::default();
        let log = lines.log(Style::default());
        Session {
            scratch,
            tools,
            approval: ApprovalPolicy::default(),
            answers: Answers(answers.to_vec(), Mutex::default()),
            grants,
            queue: Queue::new(),
            spending: Spending::default(),
            lines,
            log,
            told: Vec::new(),
        }
    }

    /// Adds a tool that fails so often before it works. Returns how often it ran.
    fn shaky(&mut self, code: ToolErrorCode, fails: usize, is_dangerous: bool) -> Arc<AtomicUsize> {
        let ran = Arc::new(AtomicUsize::new(0));
        let mut tool = Tool::new("look", "Looks.", json!({"type": "object"}));
        tool.dangerous = is_dangerous;
        let slow = code == ToolErrorCode::Timeout;
        let gone = fails == GONE;
        self.tools.add(Arc::new(Shaky { tool, code, fails, slow, gone, ran: Arc::clone(&ran) })).unwrap();
        ran
    }

    async fn run(&mut self, name: &str, arguments: &Value) -> ToolReport {
        let gate = Gate::builder().tools(self.tools.registry().clone()).build().unwrap();
        let call = json!({"name": name, "arguments": arguments});
        let calls = gate.parse(&format!("<tool_call>{call}</tool_call>")).calls;
        let mut host = Host {
            tools: &self.tools,
            approval: &self.approval,
            approver: &self.answers,
            grants: &self.grants,
            queue: &mut self.queue,
            audit: Some(&mut self.log),
            correlation_id: "c",
        };
        let mut meter = Meter::new(self.spending);
        let told = &mut self.told;
        let mut tell = |progress: Progress<'_>| {
            if let Progress::Step(call) = progress {
                told.push((call.request_id.clone(), call.state, call.attempts));
            }
        };
        let reports = run_calls(&calls, &mut host, &mut meter, &Cancel::new(), &mut tell).await;
        reports.unwrap().remove(0)
    }

    fn asked(&self) -> Vec<Request> {
        self.answers.1.lock().unwrap().clone()
    }

    fn states(&self) -> Vec<(CallState, u32)> {
        self.told.iter().map(|(_, state, attempts)| (*state, *attempts)).collect()
    }

    fn records(&self) -> Vec<Value> {
        self.lines.records()
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.scratch.path("root/a.txt")).unwrap()
    }
}

fn thirty(word: &str) -> Vec<String> {
    (0..30).map(|number| format!("{word} {number}\n")).collect()
}

/// A whole new text with three changes far from each other.
fn three_changes() -> Value {
    let mut lines = thirty("line");
    lines[1] = "one\n".to_owned();
    lines[14] = "fourteen\n".to_owned();
    lines[28] = "twenty-eight\n".to_owned();
    json!({"path": "a.txt", "content": lines.concat()})
}

fn was_denied(report: &ToolReport) -> Option<DenialReason> {
    match &report.outcome {
        Outcome::Denied { denial } => Some(denial.reason),
        _ => None,
    }
}

#[tokio::test]
async fn r39_every_nth_call_asks_and_stays_due_until_a_yes() {
    let mut session = Session::new("every", &[no, no, yes, no]);
    session.approval.every_n = vec![EveryNth::parse("3 fs.list").unwrap()];
    let list = json!({"path": "."});
    let mut denied = Vec::new();
    for _ in 0..8 {
        denied.push(was_denied(&session.run("fs.list", &list).await).is_some());
        // Other calls do not count.
        assert_eq!(was_denied(&session.run("fs.read", &json!({"path": "a.txt"})).await), None);
    }
    // Two pass, two are refused, the fifth gets a yes, two pass, and the next one asks again.
    assert_eq!(denied, [false, false, true, true, false, false, false, true]);
    assert_eq!(session.asked().len(), 4);
    assert_eq!(session.asked()[0].why, "one call in 3 asks, by the rule `fs.list`");
}

#[tokio::test]
async fn r39_the_strictest_rule_wins_and_nothing_weakens_a_shell() {
    let rules = |texts: &[&str]| texts.iter().map(|text| Rule::parse(text).unwrap()).collect::<Vec<_>>();
    let every = |text: &str| vec![EveryNth::parse(text).unwrap()];
    let write = json!({"path": "b.txt", "content": "b"});
    let shell = json!({"command": "true"});
    // What a permission allows runs unasked, but for a shell.
    let mut session = Session::new("strictest", &[no]);
    session.approval.safe = rules(&["@*"]);
    session.approval.every_n = every("100 @*");
    assert_eq!(was_denied(&session.run("fs.write", &write).await), None);
    assert_eq!(session.asked().len(), 0);
    assert_eq!(was_denied(&session.run("bash_command", &shell).await), Some(DenialReason::User));
    // To ask is stricter than to ask sometimes, and to deny than both.
    session.approval.ask = rules(&["@FS_WRITE"]);
    assert_eq!(was_denied(&session.run("fs.write", &write).await), Some(DenialReason::User));
    session.approval.deny = rules(&["@EXECUTE", "@FS_WRITE path=b.*"]);
    for (name, arguments) in [("bash_command", &shell), ("fs.write", &write)] {
        assert_eq!(was_denied(&session.run(name, arguments).await), Some(DenialReason::Rule), "{name}");
    }
    assert_eq!(session.asked().len(), 2, "what never runs is not asked about");
    // What would run unasked asks where it is due, although a rule that allows it would not have helped.
    session.approval =
        ApprovalPolicy { safe: rules(&["fs.*"]), every_n: every("1 @FS_READ"), ..Default::default() };
    let report = session.run("fs.list", &json!({"path": "."})).await;
    let Outcome::Denied { denial } = report.outcome else { panic!("{report:?}") };
    assert!(!denial.rule_helps);
}

#[tokio::test]
async fn x41_only_the_accepted_hunks_are_written_and_the_model_is_told() {
    let mut session = Session::new(
        "hunks",
        &[|request| Answer::ApproveHunks { hash: request.hash.clone(), hunks: vec![3, 1, 3] }],
    );
    let report = session.run("fs.write", &three_changes()).await;
    let mut wanted = thirty("line");
    wanted[1] = "one\n".to_owned();
    wanted[28] = "twenty-eight\n".to_owned();
    assert_eq!(session.file(), wanted.concat());
    let Outcome::Ran { result } = &report.outcome else { panic!("{report:?}") };
    assert!(result.contains("The user refused parts of this change (hunks 2 of 3)"), "{result}");
    assert!(result.contains("\n- line 14\n+ fourteen\n") && !result.contains("twenty-eight"), "{result}");
    assert_eq!(session.asked()[0].hunks, 3);
    let record = session.records().into_iter().find(|record| record["type"] == "permission").unwrap();
    assert_eq!(record["message"], "approved in part");
    assert_eq!(record["details"]["approval"]["hunks"], json!({"accepted": [1, 3], "refused": [2]}));
}

#[tokio::test]
async fn x41_an_edit_has_hunks_too_and_other_numbers_are_no_yes() {
    let edits = json!({"path": "a.txt", "edits": [
        {"old_string": "line 1\n", "new_string": "one\n"},
        {"old_string": "line 20\n", "new_string": ""},
    ]});
    let choose: [(Says, Option<DenialReason>); 5] = [
        (
            |request| Answer::ApproveHunks { hash: request.hash.clone(), hunks: vec![] },
            Some(DenialReason::User),
        ),
        (
            |request| Answer::ApproveHunks { hash: request.hash.clone(), hunks: vec![1, 3] },
            Some(DenialReason::OtherCall),
        ),
        (
            |_| Answer::ApproveHunks { hash: "another".to_owned(), hunks: vec![1] },
            Some(DenialReason::OtherCall),
        ),
        (|request| Answer::ApproveHunks { hash: request.hash.clone(), hunks: vec![2] }, None),
        (|request| Answer::ApproveHunks { hash: request.hash.clone(), hunks: vec![1, 2] }, None),
    ];
    for (number, (answer, denied)) in choose.into_iter().enumerate() {
        let mut session = Session::new("edits", &[answer]);
        let report = session.run("fs.edit", &edits).await;
        assert_eq!(was_denied(&report), denied, "{number}: {report:?}");
        let file = session.file();
        let made = (file.contains("one\n"), !file.contains("line 20\n"));
        assert_eq!(
            made,
            [(false, false), (false, false), (false, false), (false, true), (true, true)][number]
        );
    }
    // A change in one place is all or nothing.
    let mut session = Session::new(
        "whole",
        &[|request| Answer::ApproveHunks { hash: request.hash.clone(), hunks: vec![1] }],
    );
    let report = session.run("fs.write", &json!({"path": "new.txt", "content": "new"})).await;
    assert_eq!(was_denied(&report), Some(DenialReason::OtherCall));
    assert_eq!(session.asked()[0].hunks, 0);
}

#[tokio::test]
async fn x44_a_call_has_one_request_id_wherever_it_is_seen_and_goes_through_its_states() {
    let mut session = Session::new("queue", &[yes, no]);
    let written = session.run("fs.write", &three_changes()).await;
    let denied = session.run("fs.write", &json!({"path": "b", "content": "b"})).await;
    let missing = session.run("fs.read", &json!({"path": "none"})).await;
    let calls = session.queue.calls().to_vec();
    assert_eq!(calls.len(), 3);
    let states: Vec<Vec<CallState>> =
        calls.iter().map(|call| call.steps.iter().map(|step| step.state).collect()).collect();
    use CallState::{Completed, Pending, Rejected, Running};
    assert_eq!(states[0], [Pending, Running, Completed]);
    assert_eq!(states[1], [Pending, Rejected]);
    assert_eq!(states[2], [Pending, Rejected], "a file that is not there is found before anything runs");
    assert!(calls.iter().all(|call| call.attempts == u32::from(call.steps.len() == 3)), "{calls:?}");
    for (call, report) in calls.iter().zip([&written, &denied]) {
        assert_eq!((&call.request_id, &call.call_id), (&report.request_id, &report.call_id));
    }
    assert_eq!(calls[2].request_id, missing.request_id);
    let asked: Vec<String> = session.asked().into_iter().map(|request| request.id).collect();
    assert_eq!(asked, [calls[0].request_id.clone(), calls[1].request_id.clone()]);
    let of = |id: &String| {
        let records = session.records().into_iter().filter(|record| record["details"]["request_id"] == **id);
        records.map(|record| record["details"]["state"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of(&calls[0].request_id), ["pending", "completed"]);
    assert_eq!(of(&calls[1].request_id), ["rejected"]);
    assert_eq!(session.states()[..3], [(Pending, 0), (Running, 1), (Completed, 1)]);
    let text = serde_json::to_value(&calls[0]).unwrap();
    assert_eq!((&text["state"], &text["attempts"]), (&json!("completed"), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn r37_a_safe_call_that_may_pass_is_run_again_and_no_other() {
    use ToolErrorCode::{Failed, Timeout, Unreachable};
    // What fails, how often, whether it asks, what may be run again: how often it ran, and whether it worked.
    for (code, fails, asks, rerun, ran, works) in [
        (Unreachable, 1, false, Rerun::Off, 1, false),
        (Unreachable, 1, false, Rerun::Transport, 2, true),
        (Unreachable, 2, false, Rerun::Transport, 3, true),
        (Unreachable, 9, false, Rerun::Transport, 3, false),
        (Unreachable, 1, true, Rerun::Timeout, 1, false),
        (Timeout, 1, false, Rerun::Transport, 1, false),
        (Timeout, 1, false, Rerun::Timeout, 2, true),
        (Timeout, 1, true, Rerun::Timeout, 1, false),
        (Failed, 1, false, Rerun::Timeout, 1, false),
    ] {
        let mut session = Session::new("rerun", &[yes]);
        session.spending.rerun = rerun;
        let count = session.shaky(code, fails, asks);
        let report = session.run("look", &json!({})).await;
        let case = format!("{code:?} {fails} {asks} {rerun:?}: {report:?}");
        assert_eq!(count.load(Ordering::Relaxed), ran, "{case}");
        assert_eq!(matches!(report.outcome, Outcome::Ran { .. }), works, "{case}");
        assert_eq!(session.asked().len(), usize::from(asks), "{case}");
        let attempts = u64::try_from(ran).unwrap();
        assert_eq!(u64::from(session.queue.calls()[0].attempts), attempts, "{case}");
        // Every start is on record, with its number, and so is that it goes on.
        let records = session.records();
        let results: Vec<&Value> = records.iter().filter(|record| record["type"] == "tool").collect();
        let numbers: Vec<u64> =
            results.iter().map(|record| record["details"]["attempts"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=attempts).collect::<Vec<_>>(), "{case}");
        let pauses: Vec<u64> =
            results.iter().filter_map(|record| record["details"]["runs_again_in_ms"].as_u64()).collect();
        assert_eq!(pauses, (1..attempts).map(|number| number * 100).collect::<Vec<_>>(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn r37_no_time_is_left_to_run_again_once_the_question_is_over() {
    let mut session = Session::new("rerun-late", &[yes]);
    session.spending =
        Spending { rerun: Rerun::Transport, time: Duration::from_millis(50), ..session.spending };
    let count = session.shaky(ToolErrorCode::Unreachable, 1, false);
    session.run("look", &json!({})).await;
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(session.states(), [(CallState::Pending, 0), (CallState::Running, 1), (CallState::Failed, 1)]);
}

#[tokio::test(start_paused = true)]
async fn r37_a_call_that_cannot_be_started_again_has_run_all_the_same() {
    let mut session = Session::new("rerun-gone", &[yes]);
    session.spending.rerun = Rerun::Transport;
    let count = session.shaky(ToolErrorCode::Unreachable, GONE, false);
    let report = session.run("look", &json!({})).await;
    assert!(matches!(&report.outcome, Outcome::Failed { error } if error.code == ToolErrorCode::NotFound));
    assert!(report.ran() && count.load(Ordering::Relaxed) == 1);
    assert_eq!(session.queue.calls()[0].state, CallState::Failed);
}

/// G-45: what a call came to is a result or an error, also as JSON.
#[tokio::test]
async fn g45_a_call_comes_to_a_result_or_an_error() {
    let mut session = Session::new("outcome", &[yes]);
    let came = |report: ToolReport| serde_json::to_value(report).unwrap()["outcome"].clone();
    let read = came(session.run("fs.read", &json!({"path": "a.txt", "limit": 4})).await);
    assert!(read["result"].as_str().is_some_and(|text| text.starts_with("line")), "{read}");
    let missing = came(session.run("fs.read", &json!({"path": "none"})).await);
    assert_eq!(missing["error"]["code"], "not_found", "{missing}");
}
