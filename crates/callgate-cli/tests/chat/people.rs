//! `callgate chat` as people expect it: a question as an argument, commands behind a slash, servers by address or
//! variable, and a clear word where something is missing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Folder, json, text};

/// A server that says the same to everybody, in the form that it is asked in.
struct Served {
    port: u16,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Served {
    fn start(says: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = seen.lock().unwrap().len().min(says.len() - 1);
                answer(stream, says[number], &seen);
            }
        });
        Served { port, requests }
    }

    fn paths(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|(path, _)| path.clone()).collect()
    }
}

fn answer(mut stream: TcpStream, says: &str, seen: &Mutex<Vec<(String, Value)>>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    let (path, asked) = loop {
        let count = stream.read(&mut buffer).unwrap();
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        if body.len() >= length.unwrap().parse::<usize>().unwrap() {
            break (head.split(' ').nth(1).unwrap().to_owned(), serde_json::from_str::<Value>(body).unwrap());
        }
    };
    let (kind, body) = match path.starts_with("/api/") {
        true => {
            let line =
                json!({"model": "m", "message": {"content": says}, "done": true, "done_reason": "stop"});
            ("application/x-ndjson", format!("{line}\n"))
        }
        false => {
            let delta =
                json!({"choices": [{"index": 0, "delta": {"content": says}, "finish_reason": "stop"}]});
            ("text/event-stream", format!("data: {delta}\n\ndata: [DONE]\n\n"))
        }
    };
    seen.lock().unwrap().push((path, asked));
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
}

/// Runs a conversation over pipes.
fn converse(folder: &Folder, args: &[&str], lines: &str) -> Output {
    let mut child = folder
        .chat(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Where it ended before it read, its output says why.
    drop(child.stdin.take().unwrap().write_all(lines.as_bytes()));
    child.wait_with_output().unwrap()
}

#[test]
fn a_question_as_an_argument_is_answered() {
    let folder = Folder::new("argument");
    let output = folder.chat(&["read a.txt"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).starts_with("fs.read says: alpha"), "{output:?}");
    let all = json(&folder.chat(&["list", "--json"]).output().unwrap());
    assert_eq!(all["end"], "answered");
    let both = folder.chat(&["list", "--once", "list"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2), "{both:?}");
    let write = folder.chat(&["call fs.write {\"path\": \"b.txt\", \"content\": \"b\"}"]).output().unwrap();
    assert!(text(&write.stderr).contains("was not run"), "nobody is at a terminal: {write:?}");
    assert_eq!(folder.read("b.txt"), "");
}

#[test]
fn a_word_behind_a_slash_is_a_command() {
    let folder = Folder::new("slash");
    let lines = "/help\n/tools\n/retry\nread a.txt\n/retry\n/audit\n/tols\n /exit\n/exit\nread b.txt\n";
    let output = converse(&folder, &[], lines);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = text(&output.stdout);
    for wanted in [
        "/audit   show",
        "fs.write content path",
        "(FS_WRITE, dangerous)",
        "nothing was asked yet",
        "the tool ran",
        "perhaps /tools",
    ] {
        assert!(out.contains(wanted), "{wanted} is missing in {out}");
    }
    assert_eq!(out.matches("fs.read says: alpha").count(), 2, "the question and once more: {out}");
    assert!(!out.contains("b.txt"), "nothing is asked after /exit: {out}");
    let without = converse(&folder, &["--set", "audit.enabled=false"], "/audit\n");
    assert!(text(&without.stdout).contains("nothing is recorded"), "{without:?}");
}

#[test]
fn a_retried_question_leaves_no_trace_of_the_first_time() {
    let folder = Folder::new("retry");
    let server = Served::start(&["Blue.", "Green."]);
    let endpoint = format!("http://127.0.0.1:{}", server.port);
    let output = converse(&folder, &["--endpoint", &endpoint], "Which colour?\n/retry\n");
    assert!(text(&output.stdout).contains("Green."), "{output:?}");
    let requests = server.requests.lock().unwrap();
    let last = requests.last().unwrap().1.to_string();
    assert!(last.matches("Which colour?").count() == 1 && !last.contains("Blue"), "{last}");
}

#[test]
fn servers_are_found_by_address_and_by_the_variables_of_other_programs() {
    let folder = Folder::new("endpoint");
    let server = Served::start(&["Hello."]);
    let bare = format!("http://127.0.0.1:{}", server.port);
    let (v1, whole) = (format!("{bare}/v1"), format!("{bare}/v1/chat/completions"));
    let host = format!("127.0.0.1:{}", server.port);
    let ollama = ["--provider", "ollama", "--model", "m"];
    let openai = ["--provider", "openai"];
    for (args, variable, path) in [
        (vec!["--endpoint", &bare], None, "/v1/chat/completions"),
        (vec!["--endpoint", &v1], None, "/v1/chat/completions"),
        (vec!["--endpoint", &whole], None, "/v1/chat/completions"),
        ([&ollama[..], &["--endpoint", &bare]].concat(), None, "/api/chat"),
        ([&ollama[..], &["--endpoint", &v1]].concat(), None, "/api/chat"),
        (openai.to_vec(), Some(("OPENAI_BASE_URL", v1.as_str())), "/v1/chat/completions"),
        (openai.to_vec(), Some(("OPENAI_BASE_URL", bare.as_str())), "/v1/chat/completions"),
        (ollama.to_vec(), Some(("OLLAMA_HOST", host.as_str())), "/api/chat"),
        (ollama.to_vec(), Some(("OLLAMA_HOST", bare.as_str())), "/api/chat"),
        // What is said to this program counts before what is said to others.
        (
            [&openai[..], &["--endpoint", &v1]].concat(),
            Some(("OPENAI_BASE_URL", "http://127.0.0.1:1")),
            "/v1/chat/completions",
        ),
    ] {
        let mut command = folder.chat(&args);
        command.args(["--once", "Hi", "--set", "audit.enabled=false"]);
        command.envs(variable);
        let output = command.output().unwrap();
        assert_eq!(text(&output.stdout), "Hello.\n", "{args:?} {variable:?}: {output:?}");
        assert_eq!(server.paths().last().unwrap(), path, "{args:?} {variable:?}");
    }
    let mut command = folder.chat(&["--provider", "openai", "--once", "Hi"]);
    let output = command.env("OPENAI_BASE_URL", "not an address").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("$OPENAI_BASE_URL"), "{output:?}");
}

#[test]
fn a_missing_model_is_said_before_anything_is_sent() {
    let folder = Folder::new("model");
    let output = folder.once("Hi", &["--provider", "ollama"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("no model is named") && said.contains("--model"), "{said}");
    assert!(!folder.0.join(".agent/audit").exists(), "nothing has begun");
}

/// Tools go as a list, and a call that comes in a text dialect is heard all the same.
#[test]
fn tools_are_sent_natively_while_text_dialects_listen() {
    let folder = Folder::new("native");
    let call = "<tool_call>{\"name\": \"fs.read\", \"arguments\": {\"path\": \"a.txt\"}}</tool_call>";
    let server = Served::start(Box::leak(Box::new([call, "Done."])));
    let endpoint = format!("http://127.0.0.1:{}", server.port);
    let all =
        json(&folder.once("Read.", &["--json", "--endpoint", &endpoint, "--set", "chat.native_tools=true"]));
    assert_eq!(all["tools"][0]["outcome"]["outcome"], "ran", "{all}");
    let requests = server.requests.lock().unwrap();
    let first = &requests[0].1;
    assert_eq!(first["tools"][0]["function"]["name"], "fs.read", "{first}");
    assert!(!first["messages"].to_string().contains("tool_call"), "nothing is taught twice: {first}");
    let second = &requests[1].1["messages"];
    assert_eq!(second[1]["tool_calls"][0]["function"]["name"], "fs.read", "{second}");
    assert_eq!(second[2]["role"], "tool", "{second}");
}

#[test]
fn an_editors_settings_are_read_for_our_keys_only() {
    let folder = Folder::new("editor");
    let settings = "{\n  // mine\n  \"editor.tabSize\": 2,\n  \"accesslint.useStrictXMLParsing\": true,\n  \"callgate.audit.enabled\": false,\n}\n";
    let path = folder.state().join("settings.json");
    std::fs::create_dir_all(folder.state()).unwrap();
    std::fs::write(&path, settings).unwrap();
    let path = path.to_str().unwrap();
    let output = folder.once("read a.txt", &["--config", path, "--set", "policy.require_call=never"]);
    assert!(text(&output.stderr).contains("(tool-xml)"), "{output:?}");
    assert!(!folder.0.join(".agent/audit").exists(), "{output:?}");
    std::fs::write(path, settings.replace("audit.enabled\": false", "audit.enable\": 3")).unwrap();
    let output = folder.once("read a.txt", &["--config", path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("settings.json:5"), "{output:?}");
}

/// every rejected call is a line for monitoring, and the counts know what was asked again.
#[test]
fn rejected_calls_are_lines_for_monitoring_and_counted() {
    let folder = Folder::new("errors");
    let call = "<tool_call>{\"name\": \"nope\", \"arguments\": {\"key\": \"s3cret\"}}</tool_call>";
    let server = Served::start(Box::leak(Box::new([call])));
    let endpoint = format!("http://127.0.0.1:{}", server.port);
    let never = "providers.openai.tool_call_retry.stop_when_repeated=false";
    let all = json(&folder.once("Go.", &["--json", "--endpoint", &endpoint, "--set", never]));
    assert_eq!((&all["end"], &all["strikes"]), (&json!("too_many_strikes"), &json!(3)), "{all}");
    assert_eq!(all["responses"][0]["view"]["errors"][0]["kind"], "unknown_tool", "{all}");
    let audit = |args: &[&str]| {
        let mut command = folder.chat(&[]);
        command = std::process::Command::new(command.get_program());
        let output =
            command.arg("audit").args(args).current_dir(&folder.0).env("HOME", &folder.0).output().unwrap();
        text(&output.stdout)
    };
    let lines: Vec<Value> =
        audit(&["errors"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for field in ["timestamp", "level", "component", "error_code", "message", "tool_name", "request_id"] {
        assert!(lines[0][field].is_string(), "{field}: {}", lines[0]);
    }
    assert!(!lines[0].to_string().contains("s3cret"), "values are not kept: {}", lines[0]);
    let stats: Value = serde_json::from_str(&audit(&["stats", "--json"])).unwrap();
    let counts = &stats["counts"];
    assert_eq!(
        (&counts["finding"]["unknown-tool"], &counts["code"]["unknown-tool"]),
        (&json!(3), &json!(3)),
        "{stats}"
    );
    assert_eq!(
        (&counts["strike"]["max-mistakes"], &counts["retry"]["retry_exhausted"]),
        (&json!(1), &json!(1)),
        "{stats}"
    );
    assert!(stats["mean_ms"]["wait before asking again"].is_f64(), "{stats}");
    assert!(stats["mean_ms"]["reading a response"].is_f64(), "{stats}");
    assert_eq!(stats["rates"]["rejected as unknown-tool"], 1.0, "{stats}");
}

/// what became of each call, and that a safe one that took too long was run again.
#[cfg(unix)]
#[test]
fn the_queue_is_part_of_the_json_and_counted() {
    let folder = Folder::new("queue");
    let tool = |name: &str, dangerous: bool| {
        json!({"name": name, "description": "Waits.", "dangerous": dangerous, "parameters": {"type": "object"},
               "command": ["sh", "-c", "echo ran >> marks; sleep 9"]})
    };
    let list = json!([tool("wait", false), tool("risk", true)]);
    std::fs::write(folder.0.join("tools.json"), list.to_string()).unwrap();
    let ask = |name: &str, rerun: &str| {
        let args = ["--json", "--tools", "tools.json", "--set", "chat.tool_time_ms=200", "--set", rerun];
        let mut all = super::json(&folder.once(&format!("call {name} {{}}"), &args));
        let queue = all["queue"].take();
        let steps = queue[0]["steps"].as_array().unwrap();
        let states: Vec<String> =
            steps.iter().map(|step| step["state"].as_str().unwrap().to_owned()).collect();
        assert_eq!(queue[0]["request_id"], all["tools"][0]["request_id"]);
        (queue[0]["attempts"].as_u64().unwrap(), states.join(" "))
    };
    assert_eq!(ask("wait", "tools.rerun=transport"), (1, "pending running failed".to_owned()));
    let again = "pending running pending running pending running failed";
    assert_eq!(ask("wait", "tools.rerun=timeout"), (3, again.to_owned()));
    assert_eq!(ask("risk", "tools.rerun=timeout"), (0, "pending rejected".to_owned()));
    assert_eq!(folder.read("marks").lines().count(), 4);
    let stats = std::process::Command::new(env!("CARGO_BIN_EXE_callgate"))
        .args(["audit", "stats", "--json"])
        .current_dir(&folder.0)
        .env("XDG_STATE_HOME", folder.state())
        .output()
        .unwrap();
    let calls = super::json(&stats)["counts"]["call"].take();
    assert_eq!(calls, json!({"failed": 2, "rejected": 1, "run again": 2}));
}

/// A list of tools grants what its tools need, but not what a flag does not permit.
#[cfg(unix)]
#[test]
fn a_tool_list_does_not_overrule_read_only() {
    let folder = Folder::new("read-only");
    let list = json!([{"name": "put", "description": "Puts.", "dangerous": false, "permission": "FS_WRITE",
        "parameters": {"type": "object"}, "command": ["sh", "-c", "echo ran"]}]);
    std::fs::write(folder.0.join("tools.json"), list.to_string()).unwrap();
    for (flags, says) in
        [(&[][..], "put says: ran"), (&["--read-only"][..], "permission denied for tool: put")]
    {
        let args = [&["--tools", "tools.json"][..], flags].concat();
        let output = folder.once("call put {}", &args);
        assert!(text(&output.stdout).contains(says), "{output:?}");
    }
}
