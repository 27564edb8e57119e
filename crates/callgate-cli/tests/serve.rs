//! `callgate serve` as a user runs it: what it prints, logs and records, and how it ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]
#![cfg(all(unix, feature = "gateway"))]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A folder, removed at the end.
struct Desk(PathBuf);

impl Desk {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("callgate-serve-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Desk(path)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.args(args).current_dir(&self.0).env("XDG_STATE_HOME", self.0.join("state"));
        command
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A server that is ended with the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(desk: &Desk, args: &[&str]) -> Self {
        let mut command = desk.command(&[&["serve"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("it ended")).unwrap();
            if let Some((_, rest)) = line.split_once("http://")
                && line.contains("callgate serves")
            {
                break rest.trim_end_matches(|c: char| !c.is_ascii_digit()).to_owned();
            }
        };
        // What it says besides must not fill the pipe.
        std::thread::spawn(move || lines.count());
        Server { child, address }
    }

    fn post(&self, path: &str, body: &Value) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let body = body.to_string();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Asks it to end; what it wrote to standard error.
    fn end(mut self) -> String {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        let since = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(since.elapsed() < Duration::from_secs(20), "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        log
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn question(text: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({
        "model": "scripted",
        "messages": [{"role": "user", "content": text}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": schema}}],
    })
}

fn records(folder: &Path) -> Vec<Value> {
    let files = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let lines: Vec<String> =
        files.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn verdicts_are_logged_and_recorded_and_the_record_verifies() {
    let desk = Desk::new("audit");
    let server = Server::start(&desk, &["--listen", "127.0.0.1:0", "--audit", "records", "--log", "json"]);
    let good = server.post("/v1/chat/completions", &question("call get_weather {\"city\": \"Oslo\",}"));
    assert!(good.contains("x-callgate-verdict: repaired"), "{good}");
    let bad = server.post("/v1/chat/completions", &question("call get_weather {\"town\": \"secret words\"}"));
    // The model that is built in corrects itself when it is asked again.
    assert!(bad.contains("x-callgate-verdict: corrected"), "{bad}");
    let log = server.end();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert_eq!((&lines[0]["level"], &lines[0]["repaired"]), (&json!("info"), &json!(1)));
    let counts = ["accepted", "rejected", "retries"].map(|key| lines[1][key].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 1], "{log}");

    let folder = desk.0.join("records");
    let records = records(&folder);
    let of = |line: &Value| -> Vec<&Value> {
        records.iter().filter(|record| record["correlation_id"] == line["id"]).collect()
    };
    let first = of(&lines[0]);
    assert_eq!(first[0]["details"]["parse_result"], "repaired", "{first:?}");
    assert_eq!(
        (&first[1]["details"]["model"], &first[1]["details"]["api"]),
        (&json!("scripted"), &json!("chat"))
    );
    let second = of(&lines[1]);
    let verdicts: Vec<&Value> = second.iter().map(|record| &record["details"]["verdict"]).collect();
    assert_eq!(verdicts, [&json!("rejected"), &json!("accepted"), &Value::Null], "{second:?}");
    assert_eq!(second.last().unwrap()["details"]["retries"], 1);
    assert!(!format!("{records:?}").contains("secret words"), "values are not kept unless that is asked for");
    assert_eq!(records.last().unwrap()["action"], "end");

    let verified = desk.command(&["audit", "--folder", "records", "verify"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", said(&verified));
    // A changed verdict is found.
    let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&file).unwrap().replacen("\"rejected\"", "\"accepted\"", 1);
    fs::write(&file, text).unwrap();
    let verified = desk.command(&["audit", "--folder", "records", "verify"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(1), "{}", said(&verified));
}

#[test]
fn what_cannot_be_recorded_does_not_leave() {
    let desk = Desk::new("unrecorded");
    let folder = desk.0.join("records");
    let settings = "listen: 127.0.0.1:0\naudit: {folder: records, max_records: 100}\nlog: {level: error}\n";
    fs::write(desk.0.join("gateway.yaml"), settings).unwrap();
    let server = Server::start(&desk, &["--config", "gateway.yaml"]);
    let ask = || server.post("/v1/chat/completions", &question("call get_weather {\"city\": \"Oslo\"}"));
    assert!(ask().contains("\"tool_calls\":["));
    // There is no place for the next file, once this one is full.
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "a file").unwrap();
    let mut answers = (0..100).map(|_| ask());
    let refused = answers.find(|answer| !answer.starts_with("HTTP/1.1 200")).unwrap();
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("audit-failed"), "{refused}");
    let after = ask();
    for answer in [refused, after] {
        assert!(answer.starts_with("HTTP/1.1 503") && !answer.contains("tool_calls"), "{answer}");
    }
    let log = server.end();
    assert!(log.contains(" error audit ") && log.contains("records"), "{log}");
}

#[test]
fn settings_that_are_wrong_later_are_said_in_the_log_and_the_old_ones_count() {
    let desk = Desk::new("reload");
    let file = desk.0.join("gateway.yaml");
    fs::write(&file, "listen: 127.0.0.1:0\nlog: {format: json, level: warn}\n").unwrap();
    let mut command = desk.command(&["serve", "--config", "gateway.yaml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("callgate serves"), "{first}");
    std::thread::sleep(Duration::from_millis(50));
    fs::write(&file, "listen: 127.0.0.1:0\nmodels: [{name: m, dialect: klingon}]\n").unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["level"], &line["event"]), (&json!("error"), &json!("settings")), "{line}");
    assert!(line["faults"][0].as_str().unwrap().contains("klingon"), "{line}");
}

#[test]
fn a_folder_that_cannot_be_written_stops_it_before_it_serves() {
    let desk = Desk::new("unwritable");
    fs::write(desk.0.join("taken"), "a file").unwrap();
    let output = desk.command(&["serve", "--listen", "127.0.0.1:0", "--audit", "taken"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("audit: taken"), "{}", said(&output));
}

/// What it prints until it has said where its page is.
fn printed(child: &mut Child) -> String {
    let mut said = String::new();
    let mut out = BufReader::new(child.stdout.as_mut().unwrap());
    while !said.contains("The page to watch it is") {
        assert_ne!(out.read_line(&mut said).unwrap(), 0, "it ended: {said}");
    }
    said
}

#[test]
fn every_line_that_it_prints_works_as_it_is() {
    let desk = Desk::new("lines");
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no curl, so the lines are not tried");
        return;
    }
    // The SHA-256 of `foo`.
    let key = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    for settings in [
        "listen: 127.0.0.1:0\n".to_owned(),
        "listen: 0.0.0.0:0\n".to_owned(),
        format!("listen: 127.0.0.1:0\nkeys: [{{name: a, sha256: {key}}}]\n"),
    ] {
        fs::write(desk.0.join("gateway.yaml"), &settings).unwrap();
        let mut command = desk.command(&["serve", "--config", "gateway.yaml"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let said = printed(&mut child);
        let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("curl ")).collect();
        let answers = lines.iter().map(|line| {
            let output = Command::new("sh").args(["-c", line]).env("CALLGATE_KEY", "foo").output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        });
        let answers: Vec<String> = answers.collect();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(lines.len(), 4, "{said}");
        for (line, answer) in lines.iter().zip(&answers) {
            let is_called = answer.contains("get_weather") && answer.contains("Oslo");
            assert!(is_called && answer.contains("trailing-comma"), "{settings}{line}: {answer}");
        }
    }
}

#[test]
fn numbers_that_ask_nothing_are_mistakes() {
    let desk = Desk::new("numbers");
    for (flag, value) in [
        ("-n", "0"),
        ("--times", "-1"),
        ("--n", "1000000"),
        ("--times", "many"),
        ("--patience", "0"),
        ("--patience", "1e3"),
        ("--model", ""),
    ] {
        let mut args = vec!["verify", "--endpoint", "http://127.0.0.1:1", "--model=m"];
        let given = format!("{flag}={value}");
        if flag == "--model" {
            args.pop();
        }
        args.push(&given);
        let output = desk.command(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{given}: {}", said(&output));
        assert!(output.stdout.is_empty() && said(&output).contains("value"), "{given}: {}", said(&output));
    }
}

#[test]
fn knobs_are_set_by_a_flag_and_by_the_settings_and_mistakes_are_told_with_the_nearest() {
    let desk = Desk::new("knobs");
    let settings = |policy: &str| {
        let text = format!("listen: 127.0.0.1:0\nmodels:\n  - name: '*'\n    profile: standard\n{policy}");
        fs::write(desk.0.join("gateway.yaml"), text).unwrap();
    };
    let listen = &["--listen", "127.0.0.1:0"][..];
    let config = &["--config", "gateway.yaml"][..];
    let comma = question("call get_weather {\"city\": \"Oslo\",}");
    for (args, policy, wanted) in [
        (listen.to_vec(), "", "repaired"),
        ([listen, &["--set", "repair=off"]].concat(), "", "corrected"),
        ([listen, &["--set", "policy.repair=off", "--set", "limits.depth=7"]].concat(), "", "corrected"),
        (config.to_vec(), "", "repaired"),
        (config.to_vec(), "    policy: {repair: off, limits: {held: 4 KiB}}\n", "corrected"),
        (config.to_vec(), "    policy:\n      limits.depth: 7\n", "repaired"),
    ] {
        settings(policy);
        let server = Server::start(&desk, &args);
        let answer = server.post("/v1/chat/completions", &comma);
        assert!(answer.contains(&format!("x-callgate-verdict: {wanted}")), "{args:?} {policy}: {answer}");
    }
    // Whoever sends no tools asks for no call.
    let server = Server::start(&desk, &[listen, &["--set", "require_call=always"]].concat());
    let plain = json!({"model": "scripted", "messages": [{"role": "user", "content": "Hello"}]});
    let answer = server.post("/v1/chat/completions", &plain);
    assert!(answer.contains("200 OK") && !answer.contains("\"callgate\":"), "{answer}");
    let stopped = |args: &[&str], parts: &[&str]| {
        let output = desk.command(&[&["serve"], args].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        parts.iter().for_each(|part| assert!(said(&output).contains(part), "{part}: {}", said(&output)));
    };
    stopped(&["--set", "repiar=off"], &["there is no knob `repiar`", "did you mean repair?"]);
    stopped(&["--set", "repair=of"], &["did you mean off?"]);
    stopped(&["--set", "repair"], &["KNOB=VALUE"]);
    stopped(&["--set", "limits.depth=0"], &["from 1 to 128"]);
    stopped(&["--config", "gateway.yaml", "--set", "repair=off"], &["--config"]);
    for (policy, parts) in [
        ("    policy: {repiar: off}\n", ["models[0].policy", "did you mean repair?"]),
        ("    policy: {limits: {depth: 0}}\n", ["models[0].policy", "from 1 to 128"]),
        ("    policy: off\n", ["models[0].policy", "knobs are an object"]),
    ] {
        settings(policy);
        stopped(config, &parts);
    }
}
