//! The tools of the documents: lines of a file, lists beneath a folder, search, edits and a shell, and what they keep to.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]
#![cfg(unix)]

#[path = "support/scratch.rs"]
mod scratch;

use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use callgate::{Call, Gate};
use callgate_agent::approval::{
    Answer, ApprovalPolicy, Approver, Case, Decision, DefaultStanding, DenialReason, NobodyThere,
    Remembering, Request, Rule, Standing,
};
use callgate_agent::model::BoxFuture;
use callgate_agent::tools::files::{FileLimits, FileNames, Root, file_tools};
use callgate_agent::tools::{Prepared, RunTool, ShellTool, ToolError, ToolErrorCode, Toolbox};
use scratch::Scratch;
use serde_json::{Value, json};

struct Workspace {
    tools: Vec<Arc<dyn RunTool>>,
    scratch: Scratch,
}

impl Workspace {
    fn new(what: &str) -> Self {
        Workspace::with(what, FileLimits::default())
    }

    fn with(what: &str, limits: FileLimits) -> Self {
        let scratch = Scratch::new(what);
        std::fs::create_dir_all(scratch.path("in")).unwrap();
        let root = Root::open(&scratch.path("in")).unwrap();
        let tools = file_tools(Some(root), FileNames::Underscored, limits);
        Workspace { tools, scratch }
    }

    fn file(&self, path: &str, text: &str) {
        self.scratch.file(&format!("in/{path}"), text);
    }

    fn held(&self, path: &str) -> String {
        std::fs::read_to_string(self.scratch.path("in").join(path)).unwrap()
    }

    async fn prepare(&self, name: &str, arguments: Value) -> Result<Prepared, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.tool().name == name).unwrap();
        tool.prepare(&arguments).await
    }

    async fn run(&self, name: &str, arguments: Value) -> Result<String, ToolError> {
        self.prepare(name, arguments).await?.run(None).await
    }

    async fn code(&self, name: &str, arguments: Value) -> ToolErrorCode {
        match self.run(name, arguments.clone()).await {
            Ok(given) => panic!("{name} {arguments}: {given}"),
            Err(error) => error.code,
        }
    }
}

/// X-49: lines are numbered from one, and what is left out is said.
#[tokio::test]
async fn a_file_is_read_by_lines() {
    let work = Workspace::new("lines");
    work.file("a.txt", "one\r\ntwo\n\nfour");
    let read = |arguments: Value| work.run("read_file", arguments);
    let whole = read(json!({"file_path": "a.txt"})).await.unwrap();
    assert_eq!(whole, "     1\tone\n     2\ttwo\n     3\t\n     4\tfour\n");
    let part = read(json!({"file_path": "a.txt", "offset": 2, "limit": 1})).await.unwrap();
    assert_eq!(part, "     2\ttwo\n[truncated: lines 2 to 2; go on with offset 3]");
    assert_eq!(
        work.code("read_file", json!({"file_path": "a.txt", "offset": 9})).await,
        ToolErrorCode::BadArguments
    );
    work.file("long.txt", &"x".repeat(5_000));
    let long = read(json!({"file_path": "long.txt"})).await.unwrap();
    assert!(long.ends_with(" … 3000 more characters\n") && long.len() < 2_100, "{}", long.len());
    work.file("many.txt", &"line\n".repeat(3_000));
    let many = read(json!({"file_path": "many.txt"})).await.unwrap();
    assert!(many.ends_with("[truncated: lines 1 to 2000; go on with offset 2001]"), "{many}");
    work.file("zero", "a\0b");
    assert_eq!(work.code("read_file", json!({"file_path": "zero"})).await, ToolErrorCode::NotText);
    let tight = Workspace::with("tight", FileLimits { read: 40, ..FileLimits::default() });
    tight.file("a.txt", &"123456789\n".repeat(9));
    let cut = tight.run("read_file", json!({"file_path": "a.txt"})).await.unwrap();
    assert!(cut.ends_with("[truncated: lines 1 to 2; go on with offset 3]"), "{cut}");
}

/// X-51: hidden entries are passed over and counted; what is beneath is listed if it is asked for; no link is entered.
#[tokio::test]
async fn folders_are_listed_with_what_is_beneath_them() {
    let work = Workspace::new("list");
    work.file("b/c/d.txt", "1234");
    work.file("a.txt", "");
    work.file(".env", "KEY=1");
    work.scratch.file("out/secret.txt", "s");
    symlink(work.scratch.path("out"), work.scratch.path("in/link")).unwrap();
    let list = |arguments: Value| work.run("list_directory", arguments);
    let hidden = "[1 hidden entries are not listed; ask with hidden: true]";
    let flat = list(json!({"path": "."})).await.unwrap();
    assert_eq!(flat, format!("a.txt (0 bytes)\nb/\nlink (link)\n{hidden}"));
    let deep = list(json!({"path": ".", "recursive": true})).await.unwrap();
    assert_eq!(deep, format!("a.txt (0 bytes)\nb/\nb/c/\nb/c/d.txt (4 bytes)\nlink (link)\n{hidden}"));
    assert_eq!(list(json!({"path": "b", "recursive": true})).await.unwrap(), "c/\nc/d.txt (4 bytes)");
    let all = list(json!({"path": ".", "hidden": true})).await.unwrap();
    assert!(all.starts_with(".env (5 bytes)\na.txt"), "{all}");
    let tight = Workspace::with("tight-list", FileLimits { list: 2, ..FileLimits::default() });
    (0..5).for_each(|number| tight.file(&format!("d/{number}"), ""));
    let cut = tight.run("list_directory", json!({"path": ".", "recursive": true})).await.unwrap();
    assert_eq!(cut, "d/\nd/0 (0 bytes)\n[truncated: 4 more entries]");
}

/// X-52: lines with their files and numbers; nothing that `.gitignore` leaves out, nothing hidden, nothing through a link.
#[tokio::test]
async fn search_finds_lines_and_keeps_to_the_work() {
    let work = Workspace::new("search");
    work.file(".gitignore", "target/\n*.log\n!keep.log\n");
    work.file("src/.gitignore", "generated.rs\n");
    work.file("src/main.rs", "fn main() {\n    find_me();\n}\n");
    work.file("src/generated.rs", "find_me");
    work.file("src/deep/x.rs", "// find_me too\n");
    work.file("target/out.rs", "find_me");
    work.file("a.log", "find_me");
    work.file("keep.log", "find_me");
    work.file(".env", "find_me");
    work.file("binary", "find_me\0");
    work.scratch.file("out/secret.rs", "find_me");
    symlink(work.scratch.path("out"), work.scratch.path("in/link")).unwrap();
    symlink(work.scratch.path("out/secret.rs"), work.scratch.path("in/link.rs")).unwrap();
    let search = |arguments: Value| work.run("grep_search", arguments);
    let all = search(json!({"path": ".", "pattern": "find_me"})).await.unwrap();
    assert_eq!(all, "keep.log:1: find_me\nsrc/deep/x.rs:1: // find_me too\nsrc/main.rs:2:     find_me();");
    // The rules of the folders around hold where a folder inside is searched.
    let inside =
        search(json!({"path": "src", "pattern": r"find_\w+\(", "file_pattern": "*.rs"})).await.unwrap();
    assert_eq!(inside, "src/main.rs:2:     find_me();");
    assert_eq!(search(json!({"path": ".", "pattern": "nowhere"})).await.unwrap(), "no line fits");
    let bad = json!({"path": ".", "pattern": "("});
    assert_eq!(work.code("grep_search", bad).await, ToolErrorCode::BadArguments);
    let huge = json!({"path": ".", "pattern": r"\w{1000}{1000}"});
    assert_eq!(work.code("grep_search", huge).await, ToolErrorCode::BadArguments, "a pattern has a size");
    assert_eq!(
        work.code("grep_search", json!({"path": "../out", "pattern": "x"})).await,
        ToolErrorCode::PathOutsideRoot
    );
}

/// X-52: an edit is a change like any other: shown first, made to what was shown, and only where its text is found once.
#[tokio::test]
async fn edits_change_what_was_shown_and_nothing_else() {
    let work = Workspace::new("edit");
    work.file("a.txt", "one\ntwo\ntwo\nthree\n");
    let edit = |edits: Value| json!({"file_path": "a.txt", "edits": edits});
    let good = json!([
        {"old_string": "one\n", "new_string": "ONE\n"},
        {"old_string": "two\nthree", "new_string": "2\n3"},
        {"old_string": "ONE\ntwo", "new_string": "1\ntwo"},
    ]);
    let prepared = work.prepare("edit_file", edit(good.clone())).await.unwrap();
    let change = prepared.preview().change.clone();
    assert!(change.contains("- one\n+ 1\n  two\n- two\n- three\n+ 2\n+ 3"), "{change}");
    assert_eq!(work.held("a.txt"), "one\ntwo\ntwo\nthree\n", "nothing has happened yet");
    prepared.run(None).await.unwrap();
    assert_eq!(work.held("a.txt"), "1\ntwo\n2\n3\n");
    for (edits, what) in [
        (json!([{"old_string": "nowhere", "new_string": "x"}]), "not there"),
        (json!([{"old_string": "\n", "new_string": "x"}]), "more than once"),
        (json!([{"old_string": "", "new_string": "x"}]), "empty"),
        (json!([{"old_string": "two", "new_string": "two"}]), "no change"),
        (json!([]), "none"),
        (
            json!([{"old_string": "1", "new_string": "one"}, {"old_string": "gone", "new_string": "x"}]),
            "the second",
        ),
    ] {
        assert_eq!(work.code("edit_file", edit(edits)).await, ToolErrorCode::BadArguments, "{what}");
    }
    assert_eq!(work.held("a.txt"), "1\ntwo\n2\n3\n", "all of an edit or nothing");
    let stale = json!([{"old_string": "two", "new_string": "TWO"}]);
    let prepared = work.prepare("edit_file", edit(stale.clone())).await.unwrap();
    work.file("a.txt", "1\ntwo\nchanged meanwhile\n");
    assert_eq!(prepared.run(None).await.unwrap_err().code, ToolErrorCode::Changed);
    let missing = json!({"file_path": "b.txt", "edits": stale});
    assert_eq!(work.code("edit_file", missing).await, ToolErrorCode::NotFound);
    work.scratch.file("out/a.txt", "two");
    symlink(work.scratch.path("out/a.txt"), work.scratch.path("in/link.txt")).unwrap();
    for path in ["link.txt", "../out/a.txt", ".agent/config.yml"] {
        let edits = json!({"file_path": path, "edits": [{"old_string": "two", "new_string": "x"}]});
        assert!(work.run("edit_file", edits).await.is_err(), "{path}");
    }
    assert_eq!(std::fs::read_to_string(work.scratch.path("out/a.txt")).unwrap(), "two");
}

fn shell(scratch: &Scratch, time: Duration) -> ShellTool {
    ShellTool::new(scratch.0.clone(), time, &["CALLGATE_TEST_SECRET".to_owned()])
}

async fn sh(tool: &ShellTool, arguments: Value) -> Result<String, ToolError> {
    tool.prepare(&arguments).await?.run(None).await
}

/// X-52: a command runs in the workspace, within its time, with a bounded result and no variables of the user's own.
#[tokio::test]
async fn a_shell_is_bounded_in_place_time_output_and_environment() {
    let scratch = Scratch::new("shell");
    let tool = shell(&scratch, Duration::from_secs(20));
    let here = scratch.0.canonicalize().unwrap();
    assert_eq!(sh(&tool, json!({"command": "pwd -P"})).await.unwrap().trim(), here.to_str().unwrap());
    let variables = sh(&tool, json!({"command": "env"})).await.unwrap();
    assert!(variables.contains("PATH=") && !variables.contains("CARGO"), "{variables}");
    let failed = sh(&tool, json!({"command": "echo no >&2; exit 3"})).await.unwrap_err();
    assert!(failed.code == ToolErrorCode::Failed && failed.message.contains("no"), "{failed}");
    let many = sh(&tool, json!({"command": "head -c 3000000 /dev/zero | tr '\\0' x"})).await.unwrap();
    assert!(many.len() < 300_000 && many.contains("[truncated: "), "{}", many.len());
    let begun = Instant::now();
    let mark = scratch.path("mark");
    let slow = format!("(sleep 1; touch {}) & sleep 30", mark.display());
    let stopped = sh(&tool, json!({"command": slow, "timeout_ms": 100})).await.unwrap_err();
    assert_eq!(stopped.code, ToolErrorCode::Timeout, "{stopped}");
    assert!(begun.elapsed() < Duration::from_secs(10));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(!mark.exists(), "what it started ended with it");
}

/// Says always, and keeps what it was asked.
#[derive(Default, Clone)]
struct Always(Arc<Mutex<Vec<Request>>>);

impl Approver for Always {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        self.0.lock().unwrap().push(request.clone());
        Box::pin(std::future::ready(Answer::ApproveAlways { hash: request.hash.clone() }))
    }
}

fn call(tools: &Toolbox, name: &str, arguments: &Value) -> Call {
    let gate = Gate::builder().tools(tools.registry().clone()).build().unwrap();
    let response =
        gate.parse(&format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>"));
    response.calls.into_iter().next().unwrap()
}

/// Whatever rules allow, a command for a shell asks, even one that only reads.
#[tokio::test]
async fn every_command_of_the_shell_asks_whatever_rules_allow() {
    let scratch = Scratch::new("shell-asks");
    let tool = Arc::new(shell(&scratch, Duration::from_secs(5)));
    let mut tools = Toolbox::new();
    tools.add(tool.clone()).unwrap();
    let loose = ApprovalPolicy {
        safe: vec![Rule::parse("*").unwrap()],
        default: DefaultStanding::Always(Standing::Safe),
        ..ApprovalPolicy::default()
    };
    for line in ["ls", "rm -rf /", "echo $(id)"] {
        let arguments = json!({"command": line});
        let call = call(&tools, "bash_command", &arguments);
        let prepared = tool.prepare(&arguments).await.unwrap();
        let case = Case { id: "r", call: &call, tool: tool.tool(), preview: prepared.preview() };
        let decided = loose.decide(&case, &NobodyThere).await;
        let Decision::Denied(denial) = decided else { panic!("{line} ran unasked") };
        assert_eq!((denial.reason, denial.rule_helps), (DenialReason::Nobody, false), "{line}");
    }
}

/// A yes for always is for that very request: the same call of which anything else is shown asks again.
#[tokio::test]
async fn always_is_for_one_very_request() {
    let work = Workspace::new("always");
    work.file("a.txt", "old");
    let mut tools = Toolbox::new();
    work.tools.iter().for_each(|tool| tools.add(Arc::clone(tool)).unwrap());
    let asked = Always::default();
    let approver = Remembering::new(asked.clone());
    let policy = ApprovalPolicy::default();
    let write = json!({"file_path": "a.txt", "content": "new"});
    let decide = async |arguments: &Value| {
        let call = call(&tools, "write_file", arguments);
        let prepared = work.prepare("write_file", arguments.clone()).await.unwrap();
        let tool = tools.get("write_file").unwrap();
        let case = Case { id: "r", call: &call, tool: tool.tool(), preview: prepared.preview() };
        let decided = policy.decide(&case, &approver).await;
        assert!(matches!(decided, Decision::Permitted(_)));
        asked.0.lock().unwrap().len()
    };
    assert_eq!(decide(&write).await, 1);
    assert_eq!(decide(&write).await, 1, "the very same is not asked again");
    assert_eq!(decide(&json!({"file_path": "a.txt", "content": "newer"})).await, 2);
    work.file("a.txt", "something else");
    assert_eq!(decide(&write).await, 3, "it would change something else now");
}
