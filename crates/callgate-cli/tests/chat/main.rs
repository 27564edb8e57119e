//! `callgate chat` as a user runs it: one question in a script, a conversation over pipes, and one at a terminal.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

mod people;
#[cfg(unix)]
mod terminal;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder to talk about, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("callgate-chat-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("a.txt"), "alpha \u{1b}[2J\n").unwrap();
        Folder(path)
    }

    fn chat(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.arg("chat").args(args).current_dir(&self.0).env_remove("CLICOLOR_FORCE");
        // Whoever runs the tests has a configuration and a history, which are not theirs to see.
        command.env("HOME", &self.0).env_remove("XDG_CONFIG_HOME").env("XDG_STATE_HOME", self.state());
        command.env_remove("OPENAI_BASE_URL").env_remove("OLLAMA_HOST");
        command.stdin(Stdio::null());
        command
    }

    /// The user's state folder, beside the one that is talked about.
    fn state(&self) -> PathBuf {
        self.0.with_extension("state")
    }

    fn once(&self, prompt: &str, args: &[&str]) -> Output {
        self.chat(&["--once", prompt]).args(args).output().unwrap()
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.0.join(path)).unwrap_or_default()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
        drop(std::fs::remove_dir_all(self.state()));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn one_question_runs_a_tool_and_prints_the_answer() {
    let folder = Folder::new("once");
    let output = folder.once("call fs.read {\"path\": \"a.txt\",}", &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let (out, notes) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "fs.read says: alpha \\u{1b}[2J\n", "the text alone is on standard output");
    for wanted in ["┌ fs.read", "✓ fs.read", "repaired: trailing-comma", "→ fs.read gave"] {
        assert!(notes.contains(wanted), "{wanted} is missing in {notes}");
    }
    assert!(!notes.contains('\u{1b}'), "{notes}");
    let audit = Command::new(env!("CARGO_BIN_EXE_callgate"))
        .args(["audit", "verify"])
        .current_dir(&folder.0)
        .env("XDG_STATE_HOME", folder.state())
        .output()
        .unwrap();
    assert_eq!(audit.status.code(), Some(0), "{audit:?}");
}

#[test]
fn one_question_as_json_says_all_that_happened() {
    let folder = Folder::new("json");
    let output = folder.once("call fs.list {\"path\": \".\"}", &["--json", "--set", "audit.enabled=false"]);
    let all = json(&output);
    assert_eq!((output.status.code(), all["end"].as_str()), (Some(0), Some("answered")), "{all}");
    assert_eq!(all["tools"][0]["outcome"]["outcome"], "ran");
    assert_eq!(all["tools"][0]["outcome"]["result"], "a.txt (11 bytes)");
    assert_eq!(all["responses"][0]["response"]["calls"][0]["name"], "fs.list");
    assert_eq!(all["turns"], 2);
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_script_writes_nothing_without_a_rule_that_allows_it() {
    let folder = Folder::new("write");
    let call = "call fs.write {\"path\": \"b.txt\", \"content\": \"beta\"}";
    let all = json(&folder.once(call, &["--json"]));
    assert_eq!(all["tools"][0]["outcome"]["outcome"], "denied", "{all}");
    assert_eq!(all["tools"][0]["outcome"]["denial"]["reason"], "nobody");
    assert_eq!(folder.read("b.txt"), "");
    let allowed = ["--json", "--set", "approval.safe=fs.write path=*.txt"];
    assert_eq!(json(&folder.once(call, &allowed))["tools"][0]["outcome"]["outcome"], "ran");
    assert_eq!(folder.read("b.txt"), "beta");
    let read_only = [&allowed[..], &["--read-only"]].concat();
    let all = json(&folder.once(call, &read_only));
    assert_eq!(all["tools"][0]["outcome"]["denial"]["reason"], "permission", "{all}");
    for path in ["../x", "/tmp/x", ".agent/config.yml"] {
        let call = format!("call fs.write {{\"path\": \"{path}\", \"content\": \"x\"}}");
        let safe = ["--json", "--set", "approval.default=safe", "--set", "approval.safe=fs.write"];
        let all = json(&folder.once(&call, &safe));
        assert_ne!(all["tools"][0]["outcome"]["outcome"], "ran", "{path}: {all}");
    }
}

#[test]
fn every_profile_answers_one_question() {
    let folder = Folder::new("profiles");
    for profile in
        ["standard", "strict", "lenient", "action", "structured", "fenced", "labelled", "strict-xml"]
    {
        for (name, path) in [("fs.read", "path"), ("read_file", "file_path")] {
            let prompt = format!("call {name} {{\"{path}\": \"a.txt\"}}");
            // One profile wants a call in every response; an answer in words is what is tried here.
            let all = json(&folder.once(
                &prompt,
                &[
                    "--json",
                    "--profile",
                    profile,
                    "--set",
                    "audit.enabled=false",
                    "--set",
                    "policy.require_call=never",
                ],
            ));
            if all["tools"][0]["outcome"]["outcome"] == "ran" {
                assert_eq!(all["end"], "answered", "{profile}: {all}");
                break;
            }
            assert_eq!(name, "fs.read", "{profile} ran neither: {all}");
        }
    }
}

#[test]
fn tools_that_are_only_described_are_judged_and_said_to_have_no_runner() {
    let folder = Folder::new("tools");
    let tools = r#"[{"name": "send", "description": "Sends.", "parameters": {"type": "object",
        "properties": {"to": {"type": "string"}}, "required": ["to"]}}]"#;
    std::fs::write(folder.0.join("tools.json"), tools).unwrap();
    let all =
        json(&folder.once("call send {\"to\": \"you\"}", &["--json", "--tools", "tools.json", "--no-files"]));
    assert_eq!(all["responses"][0]["response"]["calls"][0]["arguments"]["to"], "you", "{all}");
    assert_eq!(all["tools"][0]["outcome"]["error"]["code"], "no_runner", "{all}");
    assert!(all["text"].as_str().unwrap().contains("nothing here runs it"), "the model is told: {all}");
    let wrong = folder.once("hi", &["--tools", "none.json"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

#[cfg(unix)]
#[test]
fn tools_with_a_program_run_it_with_the_arguments_on_its_input() {
    let folder = Folder::new("programs");
    let parameters = r#"{"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}"#;
    let tool = |name: &str, more: &str| {
        format!(r#"{{"name": "{name}", "description": "Does it.", "parameters": {parameters}, {more}}}"#)
    };
    let tools = [
        tool("send", r#""command": ["cat"]"#),
        tool(
            "harmless",
            r#""dangerous": false, "command": ["sh", "-c", "echo \"$0: $(cat)\"; echo $KEY", "said"]"#,
        ),
        tool("fails", r#""dangerous": false, "command": ["sh", "-c", "echo no luck >&2; exit 3"]"#),
        tool("missing", r#""dangerous": false, "command": ["/no/such/program"]"#),
        tool("endless", r#""dangerous": false, "command": ["yes", "x"]"#),
        tool("binary", r#""dangerous": false, "command": ["printf", "a\\377"]"#),
    ];
    std::fs::write(folder.0.join("tools.json"), format!("[{}]", tools.join(","))).unwrap();
    let run = |name: &str, more: &[&str]| {
        let prompt = format!("call {name} {{\"to\": \"$(id) ; you\"}}");
        let args = [&["--json", "--tools", "tools.json", "--no-files"], more].concat();
        json(&folder.chat(&["--once", &prompt]).args(args).env("KEY", "sk-secret").output().unwrap())["tools"]
            [0]["outcome"]
            .clone()
    };
    assert_eq!(
        run("send", &[])["denial"]["reason"],
        "nobody",
        "a program asks unless its entry says otherwise"
    );
    let given = run("send", &["--set", "approval.safe=send"])["result"].clone();
    assert_eq!(given, r#"{"to":"$(id) ; you"}"#, "the arguments are data, and no shell sees them");
    let kept = ["--set", "providers.openai.api_key_env=KEY"];
    assert_eq!(run("harmless", &kept)["result"], "said: {\"to\":\"$(id) ; you\"}\n\n", "no key is handed on");
    let failed = run("fails", &[]);
    assert_eq!(
        (&failed["outcome"], &failed["error"]["code"]),
        (&"failed".into(), &"failed".into()),
        "{failed}"
    );
    assert!(failed["error"]["message"].as_str().unwrap().contains("exit status: 3: no luck"), "{failed}");
    assert!(run("missing", &[])["error"]["message"].as_str().unwrap().contains("cannot be started"));
    assert_eq!(run("endless", &["--set", "chat.tool_time_ms=50"])["error"]["code"], "timeout");
    assert!(run("binary", &[])["error"]["message"].as_str().unwrap().contains("no UTF-8 text from byte 1"));
    for command in ["\"cat\"", "[]", "[1]", "[\"\"]"] {
        let list = format!("[{}]", tool("send", &format!("\"command\": {command}")));
        std::fs::write(folder.0.join("tools.json"), list).unwrap();
        let output = folder.once("hi", &["--tools", "tools.json"]);
        assert_eq!(output.status.code(), Some(2), "{command}: {output:?}");
        assert!(text(&output.stderr).contains("`command` must be a list"), "{output:?}");
    }
}

#[cfg(unix)]
#[test]
fn a05_a_name_that_stands_twice_is_rejected_before_anything_runs() {
    let folder = Folder::new("twice");
    let tool = |name: &str, file: &str, more: &str| {
        format!(
            r#"{{"name": "{name}", "description": "Does it.", "parameters": {{}}, "command": ["touch", "{file}"]{more}}}"#
        )
    };
    let harmless = r#", "dangerous": false"#;
    let list = [tool("look", "one", harmless), tool("look", "two", harmless), tool("wipe", "three", "")];
    std::fs::write(folder.0.join("tools.json"), format!("[{}]", list.join(","))).unwrap();
    let output = folder.once("call wipe {}", &["--tools", "tools.json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    for wanted in ["tools.json", "tool 1 `look`", "taken by tool 0", "tool-name-taken", "name of its own"] {
        assert!(said.contains(wanted), "{wanted} is missing in {said}");
    }
    // The input is a file: a program that stops at its tool list may be gone before a pipe is written to.
    for (command, stdin) in
        [(&["parse", "-"][..], ""), (&["scan", "-"], "{\"text\": \"x\"}\n"), (&["prompt"], "")]
    {
        let input = folder.0.join("input");
        std::fs::write(&input, stdin).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_callgate"))
            .args(command)
            .args(["--tools", "tools.json"])
            .current_dir(&folder.0)
            .stdin(std::fs::File::open(&input).unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {output:?}");
        assert!(text(&output.stderr).contains("tool-name-taken"), "{command:?}: {output:?}");
    }
    // Names are looked up, so a tool gets its own program wherever it stands, whatever form the entries have.
    let mixed = format!(
        r#"{{"tools": [{{"type": "function", "function": {}}}, {}, {}]}}"#,
        tool("look", "one", harmless),
        tool("wipe", "three", ""),
        tool("peek", "two", harmless)
    );
    std::fs::write(folder.0.join("tools.json"), mixed).unwrap();
    let all = json(&folder.once("call wipe {}", &["--json", "--tools", "tools.json"]));
    assert_eq!(all["tools"][0]["outcome"]["denial"]["reason"], "nobody", "{all}");
    let all = json(&folder.once("call peek {}", &["--json", "--tools", "tools.json"]));
    assert_eq!(all["tools"][0]["outcome"]["outcome"], "ran", "{all}");
    let made: Vec<bool> = ["one", "two", "three"].iter().map(|name| folder.0.join(name).exists()).collect();
    assert_eq!(made, [false, true, false]);
    // What is built in has its names already.
    std::fs::write(folder.0.join("tools.json"), format!("[{}]", tool("fs.read", "four", harmless))).unwrap();
    let output = folder.once("call fs.read {\"path\": \"a.txt\"}", &["--tools", "tools.json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("tool-name-taken"), "{output:?}");
    assert!(!folder.0.join("four").exists());
}

#[cfg(unix)]
#[test]
fn a07_a_server_whose_name_is_taken_is_not_even_started() {
    let folder = Folder::new("a07");
    let tools = r#"[{"name": "mail.send", "description": "Sends.", "parameters": {}}]"#;
    std::fs::write(folder.0.join("tools.json"), tools).unwrap();
    for args in [
        &["--mcp", "fs=touch started"][..],
        &["--mcp", "mail=touch started", "--tools", "tools.json"],
        &["--mcp", "far=touch started", "--mcp", "far=touch started"],
        &["--profile", "strict-xml", "--mcp", "far=touch started", "--mcp", "far__x=touch started"],
    ] {
        let output = folder.once("hi", args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
        let said = text(&output.stderr);
        assert!(said.contains("name_taken") && said.contains("a name of its own"), "{args:?}: {said}");
        assert!(!folder.0.join("started").exists(), "{args:?}");
    }
}

#[cfg(unix)]
#[test]
fn a09_a_program_gets_a_few_variables_and_those_that_its_entry_names() {
    let folder = Folder::new("a09");
    let list = |env: &str| {
        format!(
            r#"[{{"name": "show", "description": "Shows.", "parameters": {{}}, "dangerous": false, "command": ["env"]{env}}}]"#
        )
    };
    let run = |env: &str, more: &[&str]| {
        std::fs::write(folder.0.join("tools.json"), list(env)).unwrap();
        let args = [&["--json", "--tools", "tools.json", "--no-files"], more].concat();
        let mut command = folder.chat(&["--once", "call show {}"]);
        command.args(args).env("GITHUB_TOKEN", "canary-1").env("AWS_SECRET_ACCESS_KEY", "canary-2");
        command.env("LC_ALL", "C").env("LC_SECRET", "canary-3").env("TZ", "UTC").env("MINE", "for the tool");
        command.output().unwrap()
    };
    let given = |output: &Output| json(output)["tools"][0]["outcome"]["result"].as_str().unwrap().to_owned();
    let shown = given(&run("", &[]));
    assert!(!shown.contains("canary") && !shown.contains("MINE"), "{shown}");
    for wanted in ["PATH=", "LC_ALL=C", "TZ=UTC"] {
        assert!(shown.lines().any(|line| line.starts_with(wanted)), "{wanted} is missing in {shown}");
    }
    let shown = given(&run(r#", "env": ["MINE", "NOT_SET"]"#, &[]));
    assert!(shown.contains("MINE=for the tool\n") && !shown.contains("canary"), "{shown}");
    let secret = run(r#", "env": ["MINE"]"#, &["--set", "providers.openai.api_key_env=MINE"]);
    assert_eq!(secret.status.code(), Some(2), "{secret:?}");
    for wrong in
        [r#", "env": "MINE""#, r#", "env": {"MINE": "x"}"#, r#", "env": ["A=b"]"#, r#", "env": [""]"#]
    {
        let output = run(wrong, &[]);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {output:?}");
        assert!(text(&output.stderr).contains("`env` must be a list"), "{output:?}");
    }
}

#[test]
fn x_52_where_every_response_is_a_call_the_model_ends_by_one() {
    let folder = Folder::new("completion");
    let output = folder.once("read a.txt", &["--profile", "strict-xml"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stdout);
    assert!(said.starts_with("read_file says: ") && said.contains("alpha \\u{1b}[2J"), "{said}");
    assert!(text(&output.stderr).contains("done"), "{output:?}");
    // Whoever allows nothing still gets an answer: to be done changes nothing.
    let all =
        json(&folder.once("hello", &["--json", "--profile", "strict-xml", "--set", "approval.default=deny"]));
    assert_eq!((all["end"].as_str(), all["turns"].as_u64()), (Some("done"), Some(1)), "{all}");
    assert!(all["text"].as_str().unwrap().contains("attempt_completion"), "{all}");
    let chatting = ["--json", "--profile", "strict-xml", "--set", "policy.require_call=if-attempted"];
    assert_eq!(json(&folder.once("hello", &chatting))["end"], "answered");
}

#[test]
fn a_dialect_of_your_own_is_taught_and_read() {
    let folder = Folder::new("dialect");
    let record = "[mine]\ncall = \"@@{name} {arguments}@@\"\n";
    std::fs::write(folder.0.join("mine.toml"), record).unwrap();
    let prompt = "call fs.read {\"path\": \"a.txt\"}";
    let all = json(&folder.once(prompt, &["--json", "--dialect-file", "mine.toml"]));
    assert_eq!(all["responses"][0]["response"]["calls"][0]["dialect"], "mine", "{all}");
    assert_eq!(all["end"], "answered", "{all}");
    std::fs::create_dir_all(folder.0.join(".agent")).unwrap();
    std::fs::write(
        folder.0.join(".agent/config.yml"),
        "dialect_files: [mine.toml]\ndialects: [qwen3-coder]\n",
    )
    .unwrap();
    let named = ["--json", "--config", ".agent/config.yml"];
    let all = json(&folder.once(prompt, &named));
    assert_eq!(all["responses"][0]["response"]["calls"][0]["dialect"], "qwen3-coder", "{all}");
    let all = json(&folder.once(prompt, &[&named[..], &["--dialect", "mine"]].concat()));
    assert_eq!(all["responses"][0]["response"]["calls"][0]["dialect"], "mine", "{all}");
    for wrong in [["--dialect", "qwen3-codr"], ["--dialect-file", "none.toml"]] {
        let output = folder.once("hi", &wrong);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

#[test]
fn programs_of_a_file_that_nobody_named_are_not_started() {
    let folder = Folder::new("trust");
    std::fs::create_dir_all(folder.0.join(".agent")).unwrap();
    let config = "mcp:\n  servers:\n    evil:\n      command: touch\n      args: [started]\n";
    std::fs::write(folder.0.join(".agent/config.yml"), config).unwrap();
    let output = folder.once("hi", &[]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("callgate trust allow"), "{output:?}");
    assert!(!folder.0.join("started").exists());
    let output = folder.once("hi", &["--config", ".agent/config.yml"]);
    assert!(folder.0.join("started").exists(), "whoever names the file agrees to it: {output:?}");
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_missing() {
    let folder = Folder::new("fault");
    let output = folder.once(
        "hi",
        &["--provider", "ollama", "--model", "m", "--set", "providers.ollama.endpoint=http://127.0.0.1:1"],
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stderr).contains("127.0.0.1:1"), "{output:?}");
}

#[test]
fn a_conversation_over_pipes_goes_on_until_its_input_ends() {
    let folder = Folder::new("pipes");
    let mut child = folder.chat(&[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut typed = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains("rules, profile standard"));
    writeln!(typed, "call fs.list {{\"path\": \".\"}}").unwrap();
    assert!(lines.any(|line| line.contains("fs.list says: a.txt")), "the first question was answered");
    writeln!(typed, "\ncall fs.write {{\"path\": \"b\", \"content\": \"x\"}}").unwrap();
    assert!(lines.any(|line| line.contains("there is nobody to ask")), "a pipe is nobody who could be asked");
    drop(typed);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.read("b"), "");
}

/// A-95: one response, looked at again by its correlation id.
#[test]
fn a_recorded_response_is_read_again_under_other_rules() {
    let folder = Folder::new("replay");
    folder.once("call fs.read {\"path\": \"a.txt\",}", &["--set", "audit.values=full"]);
    let audit = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.arg("audit").args(args).current_dir(&folder.0).output().unwrap()
    };
    let same = audit(&["replay"]);
    assert_eq!(same.status.code(), Some(0), "{same:?}");
    assert!(text(&same.stdout).lines().all(|line| line.ends_with("same")), "{same:?}");
    let other = audit(&["replay", "--profile", "strict"]);
    assert_eq!(other.status.code(), Some(1), "{other:?}");
    let said = text(&other.stdout);
    assert!(said.contains("- accepted fs.read (trailing-comma)"), "{said}");
    assert!(said.contains("+ rejected fs.read"), "{said}");
    let lines = text(&audit(&["replay", "--profile", "strict", "--json"]).stdout);
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["same"], false, "{first}");
    let id = first["correlation_id"].as_str().unwrap();
    assert_eq!(text(&audit(&["replay", id]).stdout).lines().count(), 1);
    assert_eq!(audit(&["replay", "nothing"]).status.code(), Some(2));
    let set = audit(&["replay", "--set", "policy.repair=off"]);
    assert!(text(&set.stdout).contains("+ rejected fs.read"), "{set:?}");
    std::fs::write(folder.0.join(".agent/config.yml"), "policy:\n  repair: off\n").unwrap();
    let configured = audit(&["replay"]);
    assert_eq!(
        configured.status.code(),
        Some(1),
        "today's rules are those of the configuration: {configured:?}"
    );
    assert!(text(&configured.stdout).contains("+ rejected fs.read"), "{configured:?}");
}

#[test]
fn g_53_and_a_92_records_are_listed_by_what_they_are_about() {
    let folder = Folder::new("list");
    folder.once("read a.txt", &[]);
    folder.once("call fs.reed {\"path\": \"a.txt\"}", &["--model", "rules"]);
    let list = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        let output =
            command.args(["audit", "list", "--json"]).args(args).current_dir(&folder.0).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let lines = text(&output.stdout);
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    assert_eq!(list(&["--latest", "--type", "session"])[1]["details"]["model"], "rules");
    let rejected = list(&["--latest", "--status", "error"]);
    assert_eq!(rejected[0]["details"]["findings"][0], "unknown-tool", "{rejected:?}");
    assert!(rejected[0]["correlation_id"].is_string() && rejected[0]["ts"].is_string(), "{rejected:?}");
    let again = list(&["--latest", "--type", "response"]);
    assert!(
        again.iter().any(|record| record["action"] == "retry" && record["details"]["outcome"] == "settled")
    );
    let all = list(&[]);
    assert!(all.len() > list(&["--latest"]).len(), "two sessions are more than one");
    assert_eq!(list(&["--limit", "1"]).len(), 1);
    assert_eq!(list(&["--since", "9999"]).len(), 0);
    let session = all[0]["session_id"].as_str().unwrap();
    assert!(list(&["--session", session]).iter().all(|record| record["session_id"] == session));
}
