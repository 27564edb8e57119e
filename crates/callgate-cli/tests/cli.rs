//! Drives the binary: what each command prints, and how the process ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_agent::audit::{AuditLog, AuditSettings, Entry, EntryKind, Redaction, Status, Sync};
use callgate_agent::written::Written;
use serde_json::{Value, json};

const TOOLS: &str = r#"[
  {"name": "look", "description": "Looks something up.", "parameters": {"type": "object", "required": ["q"],
    "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}}},
  {"name": "put", "description": "Stores a text.", "parameters": {"type": "object", "required": ["text"],
    "properties": {"text": {"type": "string"}}}}
]"#;
const GOOD: &str =
    "Let me see.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"q\": \"cats\",}}\n</tool_call>";
const BAD: &str = "<tool_call>{\"name\": \"lok\", \"arguments\": {\"q\": \"cats\"}}</tool_call>";

struct Run {
    code: i32,
    stdout: String,
    stderr: String,
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
    command.args(args).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    // Whoever runs the tests has a configuration of their own.
    command.env("HOME", "/nonexistent").env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run_command(mut command: Command, stdin: &[u8]) -> Run {
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    // The command may end without reading everything, so a failing write is no mistake.
    let writer = std::thread::spawn(move || drop(input.write_all(&stdin)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn callgate(args: &[&str], stdin: &str) -> Run {
    run_command(command(args), stdin.as_bytes())
}

/// A file that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, content: impl AsRef<[u8]>) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let path = std::env::temp_dir().join(format!("callgate-{}-{number}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Scratch(path)
    }

    /// A folder that is not there yet, removed at the end of the test.
    fn folder(name: &str) -> Self {
        let scratch = Scratch::new(name, "");
        std::fs::remove_file(&scratch.0).unwrap();
        scratch
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One line that starts with the name of the program, and the code of a mistake of the user.
fn assert_usage_error(run: &Run, parts: &[&str]) {
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.starts_with("callgate: "), "{}", run.stderr);
    for part in parts {
        assert!(run.stderr.contains(part), "`{part}` is not in: {}", run.stderr);
    }
}

#[test]
fn help_lists_the_exit_codes_and_every_command_has_help() {
    let help = callgate(&["--help"], "");
    assert_eq!(help.code, 0);
    assert!(help.stdout.contains("Exit codes:"));
    for name in [
        "demo",
        "parse",
        "scan",
        "repair",
        "dialects",
        "render",
        "prompt",
        "explain",
        "audit",
        "config",
        "trust",
        "completions",
    ] {
        assert!(help.stdout.contains(name), "{name}");
        let own = callgate(&[name, "--help"], "");
        assert_eq!(own.code, 0, "{name}");
        assert!(own.stdout.contains("Usage: callgate"), "{name}");
    }
}

#[test]
fn wrong_command_lines_give_one_line_with_a_way_out() {
    assert_usage_error(&callgate(&["prase"], ""), &["prase", "'parse'"]);
    assert_usage_error(&callgate(&["parse", "--jsno"], ""), &["--jsno", "--json"]);
    assert_usage_error(&callgate(&["parse", "--chunk", "0"], ""), &["--chunk"]);
    assert_usage_error(&callgate(&["prompt"], ""), &["--tools", "callgate prompt --help"]);
    assert_eq!(callgate(&[], "").code, 2);
}

#[test]
fn bad_input_gives_one_line_with_its_place() {
    let broken = Scratch::new("tools.json", "[\n  {\"name\": \"look\",}\n]");
    let binary = Scratch::new("binary", [b'[', 0xff, 0xfe]);
    let nameless = Scratch::new("nameless.json", r#"[{"parameters": {}}]"#);
    let missing = "/nonexistent/out.txt";
    assert_usage_error(&callgate(&["parse", missing], ""), &[missing, "check the path"]);
    assert_usage_error(&callgate(&["scan", missing], ""), &[missing]);
    assert_usage_error(&callgate(&["repair", missing], ""), &[missing]);
    assert_usage_error(&callgate(&["parse", "/"], ""), &["is a directory"]);
    assert_usage_error(&callgate(&["parse", "--tools", broken.path()], ""), &["tools.json", "line 2"]);
    assert_usage_error(&callgate(&["parse", "--tools", binary.path()], ""), &[":1:2", "0xff"]);
    assert_usage_error(&callgate(&["parse", "--tools", nameless.path()], ""), &["name"]);
    assert_usage_error(&callgate(&["parse", "--dialect", "hermse"], ""), &["hermse", "hermes"]);
    assert_usage_error(&callgate(&["parse", "--profile", "strickt"], ""), &["strickt", "strict"]);
    assert_usage_error(&callgate(&["config", "show", "--profile", "zzzzzzzz"], ""), &["standard", "lenient"]);
    assert_usage_error(&callgate(&["dialects", "show", "qwen3-codre"], ""), &["qwen3-coder"]);
    assert_usage_error(&callgate(&["explain", "unknwon-tool"], ""), &["unknown-tool"]);
    let dialect = Scratch::new("mine.toml", "[mine]\ncal = \"<x>{object}</x>\"\n");
    assert_usage_error(
        &callgate(&["dialects", "test", dialect.path()], ""),
        &["mine.toml", "line 2", "call"],
    );
    assert_usage_error(
        &callgate(&["render", "--dialect", "hermes"], "{\"calls\": [{}]}"),
        &["call 1", "name"],
    );
    assert_usage_error(&callgate(&["render", "--dialect", "hermes"], "{"), &["line 1"]);
}

#[test]
fn hostile_file_names_are_escaped() {
    let run = callgate(&["parse", "no\u{1b}[31mfile"], "");
    assert_usage_error(&run, &["no\\u{1b}[31mfile"]);
}

#[test]
fn parse_shows_a_repaired_call() {
    let tools = Scratch::new("tools.json", TOOLS);
    let run = callgate(&["parse", "--tools", tools.path()], GOOD);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stderr, "");
    for part in [
        "  1 │ Let me see.",
        "^ repaired: trailing-comma",
        "✓ look",
        "{\"q\": \"cats\"}",
        "1 call, 0 refused",
    ] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
}

#[test]
fn parse_shows_a_refusal_with_its_way_out() {
    let tools = Scratch::new("tools.json", TOOLS);
    let run = callgate(&["parse", "--tools", tools.path()], BAD);
    assert_eq!(run.code, 1);
    for part in ["~ refused: unknown-tool", "✗ lok", "look", "0 calls, 1 refused"] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
}

#[test]
fn parse_without_tools_says_that_nothing_was_checked() {
    let run = callgate(&["parse"], GOOD);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("not checked"), "{}", run.stdout);
}

#[test]
fn parse_prints_events_as_json_lines() {
    let tools = Scratch::new("tools.json", TOOLS);
    let run = callgate(&["parse", "--json", "--tools", tools.path()], GOOD);
    let events = json_lines(&run.stdout);
    let call = events.iter().find(|event| event["event"] == "call").unwrap();
    assert_eq!(call["call"]["arguments"], json!({"q": "cats"}));
    assert_eq!(call["call"]["checked"], true);
    let last = events.last().unwrap();
    assert_eq!(*last, json!({"event": "finish", "finish_reason": "tool_calls", "calls": 1, "rejected": 0}));
}

#[test]
fn chunks_do_not_matter() {
    let tools = Scratch::new("tools.json", TOOLS);
    for text in [GOOD, BAD] {
        let whole = callgate(&["parse", "--tools", tools.path()], text);
        let bytes = callgate(&["parse", "--tools", tools.path(), "--chunk", "1"], text);
        assert_eq!(whole.stdout, bytes.stdout);
        assert_eq!(whole.code, bytes.code);
    }
}

#[test]
fn stream_shows_each_chunk_and_its_events() {
    let file = Scratch::new("out.txt", GOOD);
    let run = callgate(&["parse", "--stream", "--chunk", "20", file.path()], "");
    assert_eq!(run.code, 0);
    for part in ["chunk 1", "text ", "call started", "arguments", "finish ", "call ", "1 call, 0 refused"] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
    let events =
        json_lines(&callgate(&["parse", "--stream", "--json", "--chunk", "1", file.path()], "").stdout);
    assert!(
        events.iter().filter(|event| event["event"] == "text").count() > 1,
        "they come as they are known"
    );
}

#[test]
fn feedback_is_only_the_message() {
    let tools = Scratch::new("tools.json", TOOLS);
    let bad = callgate(&["parse", "--feedback", "--tools", tools.path()], BAD);
    assert_eq!(bad.code, 1);
    assert!(bad.stdout.contains("lok"), "{}", bad.stdout);
    let good = callgate(&["parse", "--feedback", "--tools", tools.path()], GOOD);
    assert_eq!((good.code, good.stdout.as_str()), (0, ""));
}

#[test]
fn hostile_text_is_never_raw() {
    let hostile = "a\u{1b}[2J\u{1b}]0;x\u{7}b\u{202e}c\u{200b}d\u{9b}31m\r\n<tool_call>{\"name\": \"l\u{202e}k\", \"arguments\": {\"\u{1b}q\": \"\u{9b}\u{200b}\"}}</tool_call>";
    for args in
        [&["parse"][..], &["parse", "--stream"], &["parse", "--color", "never", "--profile", "lenient"]]
    {
        let run = callgate(args, hostile);
        let raw =
            run.stdout.chars().find(|&c| c != '\n' && (c.is_control() || "\u{202e}\u{200b}".contains(c)));
        assert_eq!(raw, None, "{args:?}: {}", run.stdout);
        assert!(run.stdout.contains("\\u{1b}"), "{}", run.stdout);
    }
}

#[test]
fn bytes_that_are_not_utf8_are_shown_and_survived() {
    let run = run_command(command(&["parse"]), b"caf\xe9 \xff\xfe and \x00 on");
    assert!(run.stdout.contains("caf\\xe9 \\xff\\xfe and \\u{0} on"), "{}", run.stdout);
    assert!(run.stdout.contains("invalid-utf8"), "{}", run.stdout);
}

#[test]
fn colours_follow_the_flag_and_the_environment() {
    let coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = command(args);
        command.envs(variables.iter().copied());
        run_command(command, GOOD.as_bytes()).stdout.contains('\u{1b}')
    };
    assert!(!coloured(&["parse"], &[]));
    assert!(coloured(&["parse", "--color", "always"], &[]));
    assert!(coloured(&["parse"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&["parse"], &[("CLICOLOR_FORCE", "0")]));
    assert!(!coloured(&["parse"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(coloured(&["parse", "--color", "always"], &[("NO_COLOR", "1")]));
}

fn scan_input(lines: usize) -> String {
    (0..lines)
        .map(|id| {
            let text = match id % 3 {
                0 => GOOD,
                1 => BAD,
                _ => "Just text.",
            };
            json!({ "id": id, "text": text }).to_string() + "\n"
        })
        .collect()
}

#[test]
fn scan_keeps_the_order_whatever_the_number_of_threads() {
    let tools = Scratch::new("tools.json", TOOLS);
    let input = scan_input(3000);
    let one = callgate(&["scan", "--jobs", "1", "--tools", tools.path()], &input);
    let many = callgate(&["scan", "--jobs", "7", "--tools", tools.path(), "-"], &input);
    assert_eq!(one.code, 0, "{}", one.stderr);
    assert_eq!(one.stdout, many.stdout);
    let lines = json_lines(&one.stdout);
    assert_eq!(lines.len(), 3000);
    for (id, line) in lines.iter().enumerate() {
        assert_eq!(line["id"], id);
        let counts = (line["calls"].as_array().unwrap().len(), line["rejected"].as_array().unwrap().len());
        assert_eq!(counts, [(1, 0), (0, 1), (0, 0)][id % 3]);
    }
    for part in ["lines", "3,000", "unknown-tool", "MB/s"] {
        assert!(one.stderr.contains(part), "`{part}` is not in:\n{}", one.stderr);
    }
    assert!(!one.stderr.contains('\u{1b}'), "no progress without a terminal");
}

#[test]
fn a_bad_line_gives_an_error_line_and_the_run_goes_on() {
    let mut input = b"{\"id\": 1, \"text\": \"a\"}\nnot json\n".to_vec();
    input.extend(b"{\"id\": 3, \"text\": \"\xff\"}\n[]\n{\"id\": 5, \"text\": \"b\"}");
    let run = run_command(command(&["scan", "--quiet"]), &input);
    assert_eq!(run.code, 1);
    assert_eq!(run.stderr, "");
    let lines = json_lines(&run.stdout);
    assert_eq!(lines.len(), 5);
    assert_eq!((&lines[0]["id"], &lines[4]["id"]), (&json!(1), &json!(5)));
    for (index, number) in [(1, 2), (2, 3), (3, 4)] {
        let line = &lines[index];
        assert_eq!((&line["line"], &line["id"]), (&json!(number), &Value::Null), "{line}");
        assert!(line["error"]["code"].is_string(), "{line}");
        assert!(line["error"]["help"].is_string(), "{line}");
    }
}

#[test]
fn what_a_line_says_wins_over_the_flags() {
    let tools = Scratch::new("tools.json", TOOLS);
    let own = json!({"id": 1, "text": BAD, "tools": [{"type": "function", "function": {"name": "lok", "parameters": {}}}]});
    let flags = json!({"id": 2, "text": BAD});
    let input = format!("{own}\n{flags}\n");
    let run = callgate(
        &["scan", "-q", "--tools", tools.path(), "--profile", "lenient", "--dialect", "auto"],
        &input,
    );
    assert_eq!(run.code, 0, "{}", run.stdout);
    let lines = json_lines(&run.stdout);
    assert_eq!(lines[0]["calls"][0]["name"], "lok", "{}", lines[0]);
    assert_eq!(lines[1]["rejected"][0]["name"], "lok", "{}", lines[1]);
}

#[test]
fn scan_writes_files_and_protects_its_input() {
    let input = Scratch::new("in.jsonl", scan_input(10));
    let output = Scratch::new("out.jsonl", "");
    let run = callgate(&["scan", "-q", input.path(), "-o", output.path()], "");
    assert_eq!((run.code, run.stdout.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(output.path()).unwrap().lines().count(), 10);
    assert_usage_error(
        &callgate(&["scan", input.path(), "-o", input.path()], ""),
        &["both the input and the output"],
    );
    assert_eq!(std::fs::read_to_string(input.path()).unwrap().lines().count(), 10);
    #[cfg(unix)]
    {
        let (hard, soft) = (format!("{}.hard", input.path()), format!("{}.soft", input.path()));
        std::fs::hard_link(input.path(), &hard).unwrap();
        std::os::unix::fs::symlink(input.path(), &soft).unwrap();
        for name in [&hard, &soft] {
            let run = callgate(&["scan", input.path(), "-o", name], "");
            assert_usage_error(&run, &["both the input and the output"]);
        }
        // The shell may have opened it as standard input.
        let run = std::process::Command::new(env!("CARGO_BIN_EXE_callgate"))
            .args(["scan", "-", "-o", &hard])
            .stdin(std::fs::File::open(input.path()).unwrap())
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        std::fs::remove_file(hard).unwrap();
        std::fs::remove_file(soft).unwrap();
        let tools = Scratch::new("tools.json", "[]");
        let run = callgate(&["scan", input.path(), "--tools", tools.path(), "-o", tools.path()], "");
        assert_usage_error(&run, &["both the input and the output"]);
        assert_eq!(std::fs::read_to_string(tools.path()).unwrap(), "[]");
        let device = callgate(&["scan", "-q", input.path(), "-o", "/dev/null"], "");
        assert_eq!(device.code, 0, "{}", device.stderr);
    }
    assert_eq!(std::fs::read_to_string(input.path()).unwrap().lines().count(), 10);
    let nowhere = "/nonexistent/directory/out.jsonl";
    assert_usage_error(&callgate(&["scan", input.path(), "-o", nowhere], ""), &["cannot create"]);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let input = Scratch::new("in.jsonl", scan_input(50_000));
    for args in [&["scan", input.path()][..], &["explain"], &["repair", "--jsonl", input.path()]] {
        let mut child = command(args).spawn().unwrap();
        let mut few = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut few).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("callgate:") && !stderr.contains("panic"), "{args:?}: {stderr}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_output_that_cannot_be_written_is_code_3() {
    for args in [&["explain"][..], &["scan"], &["repair"], &["parse"]] {
        let mut command = command(args);
        command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let run = run_command(command, b"{\"id\": 1, \"text\": \"a\"}\n");
        assert_eq!(run.code, 3, "{args:?}: {}", run.stderr);
        assert!(run.stderr.starts_with("callgate: cannot write the output"), "{}", run.stderr);
    }
}

#[test]
fn repair_prints_json_and_lists_the_repairs() {
    let run = callgate(&["repair"], "{'a': 1,\n b: [True,]}");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value, json!({"a": 1, "b": [true]}));
    for part in ["1:2  single-quotes", "2:2  unquoted-key", "trailing-comma", "python-literal"] {
        assert!(run.stderr.contains(part), "`{part}` is not in:\n{}", run.stderr);
    }
}

#[test]
fn repair_leaves_valid_json_alone() {
    let valid = "{ \"n\": 12345678901234567890.10, \"s\": \"\\u0041\" }\n";
    let run = callgate(&["repair"], valid);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, valid, ""));
}

#[test]
fn repair_refuses_what_it_cannot_read_and_guesses_if_strict() {
    let run = callgate(&["repair"], "");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.starts_with("callgate: standard input:1:1: "), "{}", run.stderr);
    let guess = "{\"a\": some words}";
    assert_eq!(callgate(&["repair"], guess).code, 0);
    let strict = callgate(&["repair", "--strict"], guess);
    assert_eq!((strict.code, strict.stdout.as_str()), (1, ""));
    assert!(strict.stderr.contains("--strict"), "{}", strict.stderr);
    let as_json: Value =
        serde_json::from_str(&callgate(&["repair", "--json", "--strict"], guess).stdout).unwrap();
    assert_eq!(as_json["error"]["code"], "repair-refused");
    let as_json: Value = serde_json::from_str(&callgate(&["repair", "--json"], "[1,]").stdout).unwrap();
    assert_eq!(as_json["output"], json!([1]));
    assert_eq!(as_json["repairs"][0]["code"], "trailing-comma");
}

#[test]
fn repair_works_on_lines() {
    let input = "{\"id\": \"a\", \"input\": \"[1,]\"}\nnonsense\n{\"id\": \"c\", \"input\": \"{\\\"a\\\": some words}\"}\n";
    let run = callgate(&["repair", "--jsonl"], input);
    assert_eq!(run.code, 1);
    let lines = json_lines(&run.stdout);
    assert_eq!(lines[0]["id"], "a");
    assert_eq!(lines[0]["output"], json!([1]));
    assert_eq!(lines[1]["line"], 2);
    assert_eq!(lines[2]["output"], json!({"a": "some words"}));
    let strict = json_lines(&callgate(&["repair", "--jsonl", "--strict"], input).stdout);
    assert_eq!(strict[0]["output"], json!([1]));
    assert_eq!((&strict[2]["id"], &strict[2]["error"]["code"]), (&json!("c"), &json!("repair-refused")));
}

#[test]
fn dialects_are_listed_and_each_can_be_shown() {
    let table = callgate(&["dialects"], "");
    assert_eq!(table.code, 0);
    assert_eq!(table.stdout, callgate(&["dialects", "list"], "").stdout);
    let all: Value = serde_json::from_str(&callgate(&["dialects", "list", "--json"], "").stdout).unwrap();
    for dialect in all.as_array().unwrap() {
        let name = dialect["name"].as_str().unwrap();
        assert!(table.stdout.contains(name), "{name}");
        let shown = callgate(&["dialects", "show", name], "");
        assert_eq!(shown.code, 0, "{name}");
        assert!(shown.stdout.contains(&format!("[{name}]\n")), "{name}");
        let as_json: Value =
            serde_json::from_str(&callgate(&["dialects", "show", name, "--json"], "").stdout).unwrap();
        assert!(as_json["record"]["call"].is_string() || as_json["record"]["call"].is_array(), "{name}");
    }
}

#[test]
fn a_dialect_of_ones_own_is_tried_on_a_sample() {
    let dialect = Scratch::new("mine.toml", "[mine]\ncall = \"<my_call>{object}</my_call>\"\n");
    let tools = Scratch::new("tools.json", TOOLS);
    let sample =
        Scratch::new("good.txt", "<my_call>{\"name\": \"look\", \"arguments\": {\"q\": \"a\"}}</my_call>");
    let args = |sample: &str| {
        let run =
            callgate(&["dialects", "test", dialect.path(), "--sample", sample, "--tools", tools.path()], "");
        (run.code, run.stdout)
    };
    let (code, stdout) = args(sample.path());
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("✓ look"), "{stdout}");
    let near = Scratch::new("near.txt", "Well:\n<my_tool>{\"name\": \"look\"}</my_tool>");
    let (code, stdout) = args(near.path());
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("fits from 2:1 to 2:5; there `call>` was expected, but `tool>"), "{stdout}");
    assert!(stdout.contains("1:1      text       Well:"), "{stdout}");
    for (sample, closest) in [
        ("<my_call>look()</my_call>", "fits from 1:1 to 1:10; there `{` was expected, but `look()"),
        ("Well: <my_c", "fits from 1:7 to 1:12; there `all>` was expected, but the sample ends"),
        ("Nothing.", "not even its first character is in the sample"),
        (
            "```\n<my_call>{\"name\": \"look\", \"arguments\": {\"q\": \"a\"}}</my_call>\n```",
            "begins at 2:1, but not as a live call",
        ),
    ] {
        let file = Scratch::new("sample.txt", sample);
        let (code, stdout) = args(file.path());
        assert_eq!(code, 1, "{stdout}");
        assert!(stdout.contains(closest), "{sample}: {stdout}");
    }
    assert_eq!(callgate(&["dialects", "test", dialect.path()], "").code, 0);
    let run =
        callgate(&["parse", "--dialect-file", dialect.path(), "--tools", tools.path(), sample.path()], "");
    assert!(run.stdout.contains("✓ look"), "{}", run.stdout);
}

#[test]
fn a_model_chooses_its_dialect() {
    // A bare list of calls means something only to those who ask for it.
    let text = "[look(q='cats')]";
    let dialects = |args: &[&str], stdin: &str| {
        let run = callgate(args, stdin);
        let calls = json_lines(&run.stdout);
        let dialect = |line: &Value| {
            line["call"]["dialect"].as_str().or(line["calls"][0]["dialect"].as_str()).map(str::to_owned)
        };
        (calls.iter().find_map(dialect), run.stderr)
    };
    let line = json!({"id": 1, "text": text}).to_string();
    for (args, stdin) in [(&["parse", "--json", "--model"][..], text), (&["scan", "-q", "--model"], &line)] {
        let with = |model: &str| dialects(&[args, &[model]].concat(), stdin);
        assert_eq!(
            with("meta-llama/Llama-4-Scout-17B-16E-Instruct"),
            (Some("pythonic".to_owned()), String::new())
        );
        let (found, stderr) = with("my-own-\u{1b}model");
        assert_eq!((found, stderr.lines().count()), (None, 1), "{stderr}");
        assert!(stderr.contains("no dialect is known for the model `my-own-\\u{1b}model`"), "{stderr}");
        assert!(stderr.contains("--dialect"), "{stderr}");
    }
    // Without a table the unmistakable dialects still listen.
    let (found, _) = dialects(&["parse", "--json", "--model", "my-own"], GOOD);
    assert_eq!(found.as_deref(), Some("hermes"));
    assert_usage_error(&callgate(&["parse", "--model", "qwen3", "--dialect", "hermes"], ""), &["--dialect"]);
}

#[test]
fn what_came_closest_knows_sections_words_and_spellings() {
    let section = "[mine]\nopen = \"<run>\\n\"\ncall = \"<fn={name} nr={index}>{params}</fn>\"\nclose = \"</run>\"\n\
                   param = \"<a {key}>{value}</a>\"\nalso = [[\"<run>\", \"<go>\"]]\n";
    let word = "[mine]\ncall = \"@@{name}({arguments})\"\nsyntax = \"kwargs\"\n";
    for (dialect, sample, closest) in [
        (
            section,
            "<go>\n<fn:look nr=1></fn></go>",
            "fits from 1:1 to 2:4; there `=` was expected, but `:look",
        ),
        (section, "<run> look", "fits from 1:1 to 1:7; there `<fn=` was expected, but `look` stands"),
        (word, "See @@(1).", "fits from 1:5 to 1:7; there `{name}` was expected, but `(1).` stands"),
    ] {
        let dialect = Scratch::new("mine.toml", dialect);
        let file = Scratch::new("sample.txt", sample);
        let run = callgate(&["dialects", "test", dialect.path(), "--sample", file.path()], "");
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(run.stdout.contains(closest), "{sample}: {}", run.stdout);
    }
}

#[test]
fn a_dialect_file_works_in_every_command() {
    let dialect = Scratch::new("mine.toml", "[mine]\ncall = \"!{name}{arguments}!\"\n");
    let tools = Scratch::new("tools.json", TOOLS);
    let sample = "!look{\"q\": \"a\"}!";
    let flags = ["--dialect-file", dialect.path(), "--tools", tools.path()];
    let with = |args: &[&str], stdin: &str| callgate(&[args, &flags[..]].concat(), stdin);
    // By itself it is live beside the profile's dialects; by name it is the only one.
    for (name, sample, calls) in
        [(None, sample, 1), (None, GOOD, 1), (Some("mine"), sample, 1), (Some("hermes"), sample, 1)]
    {
        let named = name.map_or(vec![], |name| vec!["--dialect", name]);
        let run = with(&[&["parse", "--json"], &named[..]].concat(), sample);
        let found = json_lines(&run.stdout).iter().filter(|event| event["event"] == "call").count();
        assert_eq!(found, calls, "{name:?} {sample}: {}{}", run.stdout, run.stderr);
    }
    let lines = format!(
        "{}\n{}\n",
        json!({"id": 1, "text": sample}),
        json!({"id": 2, "text": sample, "dialect": "mine"})
    );
    let judged = json_lines(&with(&["scan", "-q"], &lines).stdout);
    assert!(judged.iter().all(|line| line["calls"][0]["dialect"] == "mine"), "{judged:?}");
    let prompt = with(&["prompt"], "");
    assert!(prompt.stdout.contains("!look{\"q\":"), "{}{}", prompt.stdout, prompt.stderr);
    let builtin = callgate(&["prompt", "--dialect", "qwen3-coder", "--tools", tools.path()], "");
    assert!(builtin.stdout.contains("<function=look>"), "{}", builtin.stdout);
    assert_usage_error(&with(&["parse", "--dialect", "mien"], sample), &["no dialect `mien`", "mine"]);
    assert_usage_error(&with(&["prompt", "--dialect", "mien"], ""), &["no dialect `mien`", "mine"]);
    assert_usage_error(
        &with(&["parse", "--dialect-file", dialect.path()], sample),
        &["`mine` was added twice", "another name"],
    );

    let broken = Scratch::new("broken.toml", "[mine]\ncall = \"<c>{object}</c>\"\nsuffix = 7\n");
    for args in [
        &["parse", "--dialect-file", broken.path()][..],
        &["scan", "--dialect-file", broken.path()],
        &["render", "--dialect-file", broken.path()],
        &["prompt", "--dialect-file", broken.path(), "--tools", tools.path()],
        &["dialects", "test", broken.path()],
    ] {
        assert_usage_error(&callgate(args, "{}"), &["broken.toml: line 3, column 10: ", "Make it a string."]);
    }
}

#[test]
fn a_response_template_becomes_a_dialect_file() {
    let config = Scratch::new(
        "tokenizer_config.json",
        r#"{"response_template": {"start_anchor": "<|assistant|>", "fields": {"content": {"close": "<|end|>"},
            "tool_calls": {"open_pattern": "<use (?P<name>\\w+)>", "close": "</use>", "repeats": true,
            "content": "json", "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}}"#,
    );
    let printed = callgate(&["dialects", "import", config.path(), "--name", "use-tags"], "");
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    assert!(printed.stdout.contains("[use-tags]\n"), "{}", printed.stdout);
    assert!(printed.stdout.contains("call = \"<use {name}>{arguments}</use>\"\n"), "{}", printed.stdout);
    let file = Scratch::new("use-tags.toml", "");
    let quiet = callgate(&["dialects", "import", config.path(), "--name", "use-tags", "-o", file.path()], "");
    assert_eq!((quiet.code, quiet.stdout.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), printed.stdout);

    let tools = Scratch::new("tools.json", TOOLS);
    let sample = Scratch::new("out.txt", "Wait. <use look>{\"q\": \"a\"}</use><|end|>");
    let test = ["dialects", "test", file.path(), "--sample", sample.path(), "--tools", tools.path()];
    let run = callgate(&test, "");
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains("✓ look"), "{}", run.stdout);

    let from_stdin =
        callgate(&["dialects", "import", "-"], "{\"response_template\": {\"fields\": {\"mood\": {}}}}");
    assert_usage_error(
        &from_stdin,
        &["standard input: /response_template/fields/mood: ", "`mood`", "tool_calls"],
    );
    let onto_itself = callgate(&["dialects", "import", config.path(), "-o", config.path()], "");
    assert_usage_error(&onto_itself, &["both the input and the output"]);
    let bad_name = callgate(&["dialects", "import", config.path(), "--name", "My Model"], "");
    assert_usage_error(&bad_name, &["no name for a dialect", "lower-case"]);
}

#[test]
fn what_is_rendered_parses_back() {
    let tools = Scratch::new("tools.json", TOOLS);
    let message =
        json!({"text": "Let me see.", "calls": [{"name": "look", "arguments": {"q": "c</x>ats", "n": 3}}]});
    for dialect in ["hermes", "qwen3-coder", "deepseek-v31", "pythonic", "mistral"] {
        let rendered = callgate(&["render", "--dialect", dialect], &message.to_string());
        assert_eq!(rendered.code, 0, "{dialect}: {}", rendered.stderr);
        let run =
            callgate(&["parse", "--json", "--dialect", dialect, "--tools", tools.path()], &rendered.stdout);
        let events = json_lines(&run.stdout);
        let call = events.iter().find(|event| event["event"] == "call");
        assert_eq!(call.unwrap()["call"]["arguments"], json!({"q": "c</x>ats", "n": 3}), "{dialect}");
    }
    let own = Scratch::new("mine.toml", "[mine]\ncall = \"<my_call>{object}</my_call>\"\n");
    let exact = "{\"calls\": [{\"name\": \"look\", \"arguments\": {\"n\": 1.00}}]}";
    let rendered = callgate(&["render", "--dialect-file", own.path()], exact);
    assert_eq!(rendered.stdout, "<my_call>{\"name\": \"look\", \"arguments\": {\"n\": 1.00}}</my_call>");
}

#[test]
fn every_profile_has_a_prompt_and_a_policy() {
    let tools = Scratch::new("tools.json", TOOLS);
    for profile in
        ["action", "structured", "fenced", "labelled", "strict-xml", "standard", "strict", "lenient"]
    {
        let prompt = callgate(&["prompt", "--profile", profile, "--tools", tools.path()], "");
        assert_eq!(prompt.code, 0, "{profile}: {}", prompt.stderr);
        assert!(
            prompt.stdout.contains("look") && prompt.stdout.contains("put"),
            "{profile}: {}",
            prompt.stdout
        );
        let config = callgate(&["config", "show", "--profile", profile], "");
        assert_eq!(config.code, 0);
        assert!(config.stdout.contains("max_calls"), "{profile}");
        let config: Value =
            serde_json::from_str(&callgate(&["config", "show", "--json", "--profile", profile], "").stdout)
                .unwrap();
        assert_eq!(config["profile"], profile);
    }
}

#[test]
fn config_shows_what_holds_and_who_said_so() {
    let file =
        Scratch::new("config.yml", "provider: ollama\nproviders:\n  ollama:\n    model: \"a\\e[31mb\"\n");
    let args = ["config", "show", "--config", file.path(), "--set", "policy.max_calls=7"];
    let mut shown = command(&args);
    shown.env("CALLGATE_AUDIT_VALUES", "short");
    let shown = run_command(shown, b"").stdout;
    let line = |key: &str| {
        let found = shown.lines().find(|line| line.starts_with(&format!("{key} ")));
        found.unwrap_or_else(|| panic!("no {key} in {shown}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(line("policy.max_calls")[1..3], ["7", "--set"]);
    assert_eq!(line("audit.values")[1..3], ["short", "$CALLGATE_AUDIT_VALUES"]);
    assert_eq!(line("approval.auto_approve")[1..3], ["true", "default"]);
    assert_eq!(line("policy.repair")[1..3], ["lossless", "profile"]);
    assert_eq!(line("providers.ollama.model")[1..3], ["a\\u{1b}[31mb", &format!("{}:4", file.path())]);
    assert!(!shown.contains("providers.openai.model"), "the other providers are for --all");
    assert!(callgate(&[&args[..], &["--all"]].concat(), "").stdout.contains("providers.openai.model"));
    let json: Value = serde_json::from_str(&callgate(&[&args[..], &["--json"]].concat(), "").stdout).unwrap();
    assert_eq!(json["settings"]["policy.max_calls"]["origin"], "--set");
    assert_eq!(json["policy"]["max_calls"], 7);
}

#[test]
fn a_wrong_configuration_is_refused_with_file_line_key_and_nearest_key() {
    let file = Scratch::new("config.yml", "policy:\n  repare: full\n");
    let said = format!("{}:2", file.path());
    assert_usage_error(
        &callgate(&["config", "show", "--config", file.path()], ""),
        &[&said, "policy.repare", "`policy.repair`"],
    );
    assert_usage_error(&callgate(&["config", "show", "--set", "nothing"], ""), &["--set KEY=VALUE"]);
}

#[test]
fn audit_lists_shows_counts_and_verifies_what_the_agent_recorded() {
    let folder = Scratch::folder("audit");
    let settings = AuditSettings {
        folder: folder.0.clone(),
        sync: Sync::Decision,
        redaction: Redaction::default(),
        repair_details: true,
        max_age: None,
        max_sessions: None,
        key_file: None,
        state: None,
    };
    let mut log = AuditLog::create(settings.clone(), "one").unwrap();
    let repairs = serde_json::json!([{"code": "trailing-comma"}]);
    let accepted = Entry::new(EntryKind::Response, "look", Status::Warn)
        .message("fine \u{1b}[31mred")
        .tied("corr-1")
        .detail("verdict", "accepted")
        .detail("arguments", Written::parse("{\"n\": 12345678901234567890123, \"b\": 1.0}").unwrap())
        .detail("repairs", repairs);
    log.record(accepted).unwrap();
    let refused = Entry::new(EntryKind::Safety, "put", Status::Error)
        .detail("verdict", "refused")
        .detail("findings", serde_json::json!(["unknown-tool"]));
    log.record(refused).unwrap();
    let audit = |rest: &[&str]| callgate(&[&["audit", "--folder", folder.path()], rest].concat(), "");

    let list = audit(&["list"]).stdout;
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(list.contains("fine \\u{1b}[31mred") && !list.contains('\u{1b}'), "{list}");
    for (filter, count) in [
        (vec!["--status", "error"], 1),
        (vec!["--type", "response"], 1),
        (vec!["--limit", "1"], 1),
        (vec!["--since", "2999"], 0),
        (vec!["--since", "1999-01-01"], 3),
    ] {
        let found = audit(&[&["list", "--json"], &filter[..]].concat()).stdout;
        assert_eq!(json_lines(&found).len(), count, "{filter:?}: {found}");
    }
    assert!(audit(&["show", "corr-1"]).stdout.contains("\"action\": \"look\""));
    assert!(audit(&["show", "2"]).stdout.contains("\"n\": 12345678901234567890123"), "every digit");
    assert!(audit(&["show", "2", "--json"]).stdout.contains("\"b\":1.0"), "a float stays one");
    assert!(audit(&["list", "--json"]).stdout.contains("12345678901234567890123"));
    assert!(audit(&["show", "3"]).stdout.contains("\"action\": \"put\""));
    assert_usage_error(&audit(&["show", "corr-9"]), &["corr-9", "audit list"]);
    let stats: Value = serde_json::from_str(&audit(&["stats", "--json"]).stdout).unwrap();
    assert_eq!(stats["counts"]["verdict"], serde_json::json!({"refused": 1, "repaired": 1}));
    assert_eq!(stats["counts"]["finding"], serde_json::json!({"unknown-tool": 1}));
    assert!(audit(&["stats"]).stdout.contains("trailing-comma"));

    let running = audit(&["verify"]);
    assert_eq!(running.code, 0, "{}", running.stdout);
    assert!(running.stdout.contains("3 records, running"), "{}", running.stdout);
    log.record(Entry::new(EntryKind::Session, "end", Status::Ok)).unwrap();
    let checkpoint = log.flush().unwrap();
    let checkpoint = format!("{}:{}", checkpoint.seq, checkpoint.hash);
    drop(log);
    let sound = audit(&["verify"]);
    assert_eq!(sound.code, 0, "{}", sound.stdout);
    assert!(sound.stdout.contains("4 records, whole\n"), "{}", sound.stdout);
    assert!(sound.stdout.contains("unkeyed: a rewrite cannot be seen"), "{}", sound.stdout);
    assert!(sound.stdout.contains(&checkpoint), "{}", sound.stdout);
    let file = folder.0.join("session-one.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    let torn = audit(&["verify"]);
    assert_eq!(torn.code, 4, "{}", torn.stdout);
    assert!(torn.stdout.contains("cannot tell a crash from a cut"), "{}", torn.stdout);
    let cut = audit(&["verify", "--session", "one", "--checkpoint", &checkpoint]);
    assert_eq!(cut.code, 1);
    assert!(cut.stdout.contains("the log ends at record 3"), "{}", cut.stdout);
    std::fs::write(&file, whole.replace("\"put\"", "\"get\"")).unwrap();
    let changed = audit(&["verify", "--json", "--latest"]);
    assert_eq!(changed.code, 1);
    assert_eq!(json_lines(&changed.stdout)[0]["report"]["fault"]["kind"], "changed");
    assert_usage_error(&audit(&["verify", "--checkpoint", "x"]), &["NUMBER:HASH"]);
    assert_usage_error(&audit(&["list", "--session", "../x"]), &["letters"]);
    assert_usage_error(&callgate(&["audit", "list", "--folder", "/nonexistent"], ""), &["--folder"]);
}

#[test]
fn explain_lists_all_codes_and_runs_their_examples() {
    let list = callgate(&["explain"], "").stdout;
    let codes: Vec<&str> =
        list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert!(codes.len() > 40, "{list}");
    for code in codes {
        let run = callgate(&["explain", code], "");
        assert_eq!(run.code, 0, "{code}: {}", run.stderr);
        assert!(run.stdout.starts_with(code), "{}", run.stdout);
    }
    let shown = callgate(&["explain", "unknown-tool"], "").stdout;
    assert!(shown.contains("✗ lok"), "{shown}");
}

#[test]
fn the_demo_runs_without_files() {
    let run = callgate(&["demo"], "");
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains("1-byte chunks give the same events: yes"), "{}", run.stdout);
    assert!(run.stdout.lines().count() < 100);
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = callgate(&["completions", shell], "");
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("callgate"), "{shell}");
    }
}
