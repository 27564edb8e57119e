//! Drives the binary: what each command prints, and how the process ends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

mod bodies;
mod dialects;
mod ends;
mod given;
mod kept;
mod parse;
mod repair;
mod reports;
mod roles;
mod scan;
mod settings;
mod shapes;
mod streams;
mod views;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

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
