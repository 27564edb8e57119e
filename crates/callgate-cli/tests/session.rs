//! `callgate session` as a program uses it: many conversations, bad lines, limits, and the same events as `parse`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};

/// A sidecar that is running.
struct Sidecar {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Sidecar {
    fn start(flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.arg("session").args(flags).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Sidecar { requests: child.stdin.take(), answers, child }
    }

    /// Sends bytes and waits for one line: an answer that waits in a buffer never comes.
    fn raw(&mut self, bytes: &[u8]) -> Value {
        self.requests.as_mut().unwrap().write_all(bytes).unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, request: Value) -> Value {
        let answer = self.raw(format!("{request}\n").as_bytes());
        assert_eq!((&answer["id"], &answer["op"]), (&request["id"], &request["op"]), "{answer}");
        answer
    }

    /// The events that a request causes.
    fn events(&mut self, request: Value) -> Vec<Value> {
        let answer = self.ask(request);
        answer["events"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    }

    /// Ends the input; how the process ended, and what it still said.
    fn end(mut self) -> (ExitStatus, String) {
        drop(self.requests.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.answers, &mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}

fn tools() -> Value {
    json!([{"name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}])
}

fn code(answer: &Value) -> (&str, &str) {
    let error = &answer["error"];
    assert!(!error["help"].as_str().unwrap_or_default().is_empty(), "no way out: {answer}");
    (error["code"].as_str().unwrap_or_default(), error["path"].as_str().unwrap_or_default())
}

const TEXT: &str = "Sure.\n<tool_call>\n{\"name\": \"look\",\n \"arguments\": {\"q\":\n\"a\u{2028}b\", }}\n</tool_call>\nDone <tool_call>{\"name\": 3}</tool_call>";

#[test]
fn conversations_side_by_side_do_not_touch_each_other() {
    let mut sidecar = Sidecar::start(&[]);
    let ids: Vec<Value> = (0..20).map(|n| if n % 2 == 0 { json!(n) } else { json!(n.to_string()) }).collect();
    for id in &ids {
        sidecar.ask(json!({"op": "open", "id": id, "tools": tools(), "dialect": "hermes"}));
    }
    let chunks: Vec<String> = TEXT.chars().map(String::from).collect();
    let mut all: Vec<Vec<Value>> = vec![Vec::new(); ids.len()];
    for chunk in &chunks {
        for (id, events) in ids.iter().zip(&mut all) {
            events.extend(sidecar.events(json!({"op": "push", "id": id, "text": chunk})));
        }
    }
    for (id, events) in ids.iter().zip(&mut all) {
        events.extend(sidecar.events(json!({"op": "finish", "id": id, "finish_reason": "stop"})));
        assert_eq!(sidecar.ask(json!({"op": "close", "id": id})), json!({"id": id, "op": "close"}));
    }
    assert!(all.iter().all(|events| *events == all[0]));
    let kinds: Vec<&str> = all[0].iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"call") && kinds.contains(&"rejected"), "{kinds:?}");
    let (status, rest) = sidecar.end();
    assert!(status.success() && rest.is_empty(), "{status} {rest}");
}

#[test]
fn events_are_those_that_parse_writes() {
    let folder = std::env::temp_dir().join(format!("callgate-session-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("text"), TEXT).unwrap();
    std::fs::write(folder.join("tools.json"), tools().to_string()).unwrap();
    for size in [1, 5, 1000] {
        let mut parse = Command::new(env!("CARGO_BIN_EXE_callgate"));
        parse.args(["parse", "text", "--json", "--stream", "--dialect", "hermes", "--tools", "tools.json"]);
        parse.args(["--finish-reason", "stop", "--chunk", &size.to_string()]).current_dir(&folder);
        let printed = String::from_utf8(parse.output().unwrap().stdout).unwrap();
        let expected: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut sidecar = Sidecar::start(&["--dialect", "hermes"]);
        sidecar.ask(json!({"op": "open", "id": 1, "tools": tools()}));
        let mut events = Vec::new();
        // `parse` cuts at bytes, which JSON cannot: only pieces of whole characters are compared.
        let mut rest = TEXT;
        while !rest.is_empty() {
            let end = (size.min(rest.len())..).find(|at| rest.is_char_boundary(*at)).unwrap();
            events.extend(sidecar.events(json!({"op": "push", "id": 1, "text": rest[..end]})));
            rest = &rest[end..];
        }
        events.extend(sidecar.events(json!({"op": "finish", "id": 1, "finish_reason": "stop"})));
        let judged = |events: &[Value]| -> Vec<Value> {
            let is_judged = |event: &&Value| {
                ["call", "rejected", "finding", "finish"].iter().any(|kind| event["event"] == *kind)
            };
            events.iter().filter(is_judged).cloned().collect()
        };
        assert_eq!(judged(&events), judged(&expected), "pieces of {size}");
        if size == 1000 {
            assert_eq!(events, expected);
        }
        sidecar.end();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn nothing_that_is_sent_ends_the_process_or_harms_a_conversation() {
    let mut sidecar = Sidecar::start(&["--max-sessions", "2", "--max-line", "300"]);
    sidecar.ask(json!({"op": "open", "id": "a"}));
    sidecar.events(json!({"op": "push", "id": "a", "text": "<tool_call>{\"name\": "}));

    let bad_lines: &[&[u8]] = &[
        b"push it\n",
        b"[1]\n",
        b"{}\n",
        b"{\"op\": \"push\"}\n",
        b"{\"op\": \"push\", \"id\": 1.5, \"text\": \"\"}\n",
        b"{\"op\": \"push\", \"id\": \"a\", \"text\": \"\xff\"}\n",
        b"{\"op\": \"push\", \"id\": \"a\", \"text\": \"\\ud800\"}\n",
        b"{\"op\": \"push\", \"id\": \"a\", \"text\": null}\n",
        b"{\"op\": \"push\", \"id\": \"a\", \"text\": {}}\n",
        b"{\"op\": \"finish\", \"id\": \"a\", \"finish_reason\": \"becuase\"}\n",
        b"{\"op\": \"native\", \"id\": \"a\"}\n",
        b"{\"op\": \"native\", \"id\": \"a\", \"delta\": [], \"calls\": {}}\n",
        b"{\"op\": \"native\", \"id\": \"a\", \"delta\": {\"nam\": \"x\"}}\n",
        b"{\"op\": \"native\", \"id\": \"a\", \"delta\": {\"index\": -1}}\n",
        b"{\"op\": \"open\", \"id\": \"b\", \"tools\": 3}\n",
        b"{\"op\": \"open\", \"id\": \"b\", \"policy\": {\"repiar\": \"off\"}}\n",
        b"{\"op\": \"open\", \"id\": \"b\", \"profile\": \"strikt\"}\n",
        b"{\"op\": \"open\", \"id\": \"b\", \"untrusted\": [3]}\n",
        b"{\"op\": \"open\", \"id\": \"b\", \"strikes\": 0}\n",
        b"{\"op\": 3, \"id\": \"a\"}\n",
    ];
    for line in bad_lines {
        let answer = sidecar.raw(line);
        assert_eq!(code(&answer).0, "bad-request", "{} {answer}", String::from_utf8_lossy(line));
    }
    let long = format!("{{\"op\": \"push\", \"id\": \"a\", \"text\": \"{}\"}}\n", "x".repeat(100_000));
    assert!(sidecar.raw(long.as_bytes())["error"]["message"].as_str().unwrap().contains("300 bytes"));

    assert_eq!(code(&sidecar.ask(json!({"op": "push", "id": "c", "text": ""}))), ("unknown-session", "/id"));
    assert_eq!(code(&sidecar.ask(json!({"op": "open", "id": "a"}))), ("session-open", "/id"));
    sidecar.ask(json!({"op": "open", "id": "b"}));
    assert_eq!(code(&sidecar.ask(json!({"op": "open", "id": "c"}))), ("too-many-sessions", "/op"));
    assert_eq!(code(&sidecar.ask(json!({"op": "feedback", "id": "b"}))), ("no-response", "/op"));
    sidecar.ask(json!({"op": "close", "id": "b"}));
    sidecar.ask(json!({"op": "open", "id": "c"}));

    // Blank lines are passed over, and a line may end as on Windows.
    let rest = sidecar.raw(b"\n  \r\n{\"op\": \"push\", \"id\": \"a\", \"text\": \"\\\"look\\\", \\\"arguments\\\": {}}</tool_call>\"}\r\n");
    assert!(rest["events"].is_array(), "{rest}");
    let events = sidecar.events(json!({"op": "finish", "id": "a", "finish_reason": "stop"}));
    assert!(events.iter().any(|event| event["call"]["name"] == "look"), "{events:?}");
    let (status, _) = sidecar.end();
    assert!(status.success());
}

#[test]
fn the_last_line_needs_no_end_and_a_mistake_in_the_flags_is_said_at_once() {
    let mut sidecar = Sidecar::start(&[]);
    sidecar.requests.as_mut().unwrap().write_all(b"{\"op\": \"open\", \"id\": 1}").unwrap();
    let (status, rest) = sidecar.end();
    assert_eq!((status.code(), rest.as_str()), (Some(0), "{\"id\":1,\"op\":\"open\",\"notes\":[]}\n"));
    let mut wrong = Command::new(env!("CARGO_BIN_EXE_callgate"));
    let output = wrong.args(["session", "--dialect", "hermez"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
