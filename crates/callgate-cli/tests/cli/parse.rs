//! `callgate parse`: calls, rejections and events as a user sees them, whatever the text holds.

use serde_json::json;

use super::{BAD, GOOD, Scratch, TOOLS, callgate, command, json_lines, run_command};

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
        "1 call, 0 rejected",
    ] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
}

#[test]
fn parse_shows_a_rejection_with_its_way_out() {
    let tools = Scratch::new("tools.json", TOOLS);
    let run = callgate(&["parse", "--tools", tools.path()], BAD);
    assert_eq!(run.code, 1);
    for part in ["~ rejected: unknown-tool", "✗ lok", "look", "0 calls, 1 rejected"] {
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
    for part in ["chunk 1", "text ", "call started", "arguments", "finish ", "call ", "1 call, 0 rejected"] {
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
