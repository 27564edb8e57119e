//! `callgate scan`: many responses at once, in their order, with bad lines and outputs that fail.

use std::io::Read;

use serde_json::{Value, json};

use super::{BAD, GOOD, Scratch, TOOLS, assert_usage_error, callgate, command, json_lines, run_command};

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
    for args in [&["explain"][..], &["scan"], &["repair"], &["parse", "--text"]] {
        let mut command = command(args);
        command.stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let run = run_command(command, b"{\"id\": 1, \"text\": \"a\"}\n");
        assert_eq!(run.code, 3, "{args:?}: {}", run.stderr);
        assert!(run.stderr.starts_with("callgate: cannot write the output"), "{}", run.stderr);
    }
}

#[test]
fn the_way_out_of_a_bad_line_is_that_of_its_fault() {
    for (line, path, help) in [
        (json!({"text": "a", "policy": {"fencs": "live"}}), "/policy/fencs", "Did you mean fences?"),
        (
            json!({"text": "a", "policy": {"limits": {"depht": 3}}}),
            "/policy/limits/depht",
            "Did you mean limits.depth?",
        ),
        (json!({"text": "a", "policy": {"repair": "of"}}), "/policy/repair", "Did you mean off?"),
        (json!({"text": "a", "finish_reason": "lenght"}), "/finish_reason", "Did you mean length?"),
        (json!({"text": "a", "finish_reason": "zzzzzz"}), "/finish_reason", "tool_calls, length"),
        (json!({"text": "a", "finish_reason": 7}), "/finish_reason", "Correct `finish_reason`"),
        (json!({"text": "a", "profile": "strikt"}), "/profile", "strict"),
        (json!({"text": "a", "profile": "zzzzzz"}), "/profile", "Known are"),
        (json!({"text": "a", "prompt_tail": []}), "/prompt_tail", "Correct `prompt_tail`"),
        (json!({"text": "a", "untrusted": 1}), "/untrusted", "Correct `untrusted`"),
        (json!({"text": 5}), "/text", "Correct `text`"),
        (json!({"chunks": [5]}), "/chunks", "Correct `chunks`"),
        (json!({"of": 5}), "", "--field"),
        (json!({"text": "a", "dialect": "hermez"}), "/dialect", "hermes"),
        (json!({"text": "a", "policy": {"repair": []}}), "/policy/repair", "It is one of off"),
        (json!({"text": "a", "tools": 5}), "/tools", "Give each tool"),
        (json!({"text": "a", "tools": [{"name": "a"}, {"name": "a"}]}), "/tools", "a name of its own"),
        (json!({"choices": []}), "", "Ask the server again"),
    ] {
        let run = callgate(&["scan", "-q"], &line.to_string());
        let error = json_lines(&run.stdout)[0]["error"].clone();
        let said = error["help"].as_str().unwrap();
        assert!(said.contains(help), "{line}: {error}");
        assert_eq!(error["path"].as_str().unwrap_or_default(), path, "{line}: {error}");
    }
}

#[test]
fn a_knob_that_stands_twice_is_an_error() {
    for policy in [
        r#"{"repair": "off", "repair": "full"}"#,
        r#"{"limits": {"depth": 3, "depth": 4}}"#,
        r#"{"limits": {"depth": 3}, "limits": {"depth": 4}}"#,
        r#"{"limits": {"depth": 3}, "limits.depth": 4}"#,
        r#"{"rep\u0061ir": "off", "repair": "off"}"#,
    ] {
        let run = callgate(&["scan", "-q"], &format!("{{\"id\": 7, \"text\": \"a\", \"policy\": {policy}}}"));
        let line = &json_lines(&run.stdout)[0];
        let error = &line["error"];
        assert!(error["message"].as_str().unwrap_or_default().contains("twice"), "{policy}: {line}");
        assert_eq!((&line["id"], &error["path"]), (&json!(7), &json!("/policy")), "{line}");
        let open = format!("{{\"op\": \"open\", \"id\": 1, \"policy\": {policy}}}\n");
        let answer = callgate(&["session"], &open).stdout;
        assert!(answer.contains("twice"), "{answer}");
    }
    for policy in [r#"{"repair": "off", "limits": {"depth": 3, "held": 4096}}"#, "{}", "null"] {
        let run = callgate(&["scan", "-q"], &format!("{{\"text\": \"a\", \"policy\": {policy}}}"));
        assert_eq!(run.code, 0, "{policy}: {}", run.stdout);
    }
}

#[test]
fn what_is_wrong_in_a_line_has_the_place_in_that_line() {
    let run = callgate(&["scan", "-q"], "{\"text\": \"a\"}\n{\"text\": }\n");
    let line = &json_lines(&run.stdout)[1];
    let message = line["error"]["message"].as_str().unwrap();
    assert!(message.contains("at column 10") && !message.contains("at line 1"), "{line}");
    let run = callgate(&["scan", "-q", "--field", "log.txt"], "{\"log\": {\"text\": \"a\", \"by\": 1}}\n");
    let error = &json_lines(&run.stdout)[0]["error"];
    assert!(error["help"].as_str().unwrap().contains("`text`"), "{error}");
    let run = run_command(command(&["scan", "-q"]), b"{\"text\": \"\xff\"}\n");
    assert!(
        json_lines(&run.stdout)[0]["error"]["help"].as_str().unwrap().contains("UTF-8"),
        "{}",
        run.stdout
    );
}
