//! What a file is given as: packed and cut off, in another encoding, full of blank lines, or with headers before it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Scratch, assert_usage_error, callgate, command, json_lines, run_command};

const CALL: &str = "<tool_call>{\"name\": \"tide\", \"arguments\": {}}</tool_call>";

#[test]
fn blank_lines_cost_no_more_than_their_number() {
    let event = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n";
    for (before, lines) in [("", 0), (event, 1), ("{\"text\": \"Hi\"}\n", 1)] {
        let input = format!("{before}{}", "\n".repeat(16 << 20));
        let start = Instant::now();
        let run = callgate(&["scan", "-q", "-"], &input);
        assert_eq!(run.stdout.lines().count(), lines, "{}", run.stdout);
        assert!(start.elapsed() < Duration::from_secs(20), "{before}: {:?}", start.elapsed());
    }
    let start = Instant::now();
    assert_eq!(callgate(&["parse", "--stream", "--json"], &"\n".repeat(8 << 20)).code, 0);
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    // Behind fewer of them a whole answer is still one.
    let whole = format!("{}{{\n\"text\": \"Hi\"\n}}\n", "\n".repeat(1000));
    assert_eq!(json_lines(&callgate(&["scan", "-q"], &whole).stdout)[0]["text"], "Hi");
}

#[test]
fn of_a_packed_file_that_was_cut_off_the_whole_lines_are_read() {
    let gz = &include_bytes!("../bodies/lines.gz")[..];
    let zst = &include_bytes!("../bodies/lines.zst")[..];
    for packed in [gz, zst] {
        let mut before = 0;
        for part in [2, 4, 6, 7] {
            let run = run_command(command(&["scan", "-q"]), &packed[..packed.len() * part / 8]);
            assert_eq!(run.code, 2, "{}", run.stderr);
            for part in ["to its end", "the whole lines before are done", "anew"] {
                assert!(run.stderr.contains(part), "{}", run.stderr);
            }
            let ids: Vec<Value> = json_lines(&run.stdout).iter().map(|line| line["id"].clone()).collect();
            assert_eq!(ids, (0..ids.len()).map(Value::from).collect::<Vec<_>>());
            assert!(ids.len() >= before, "{part}: {}", ids.len());
            before = ids.len();
        }
        assert!(before > 1000, "{before}");
    }
}

#[test]
fn text_in_utf_16_is_read_as_what_it_says() {
    let text = format!("Größe 🐈 {CALL}\r\n");
    let line = format!("{}\r\n", json!({"id": 1, "text": text}));
    for to_bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let encoded = |text: &str| {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(to_bytes).collect::<Vec<u8>>()
        };
        let run = run_command(command(&["parse", "--output-format", "callgate"]), &encoded(&text));
        let judged: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(judged["calls"][0]["name"], "tide", "{judged}");
        assert!(judged["text"].as_str().unwrap().starts_with("Größe 🐈"), "{judged}");
        // Over the room of one read, so that characters are cut.
        let many = line.repeat(3000);
        let run = run_command(command(&["scan", "-q"]), &encoded(&many));
        let lines = json_lines(&run.stdout);
        assert_eq!((lines.len(), run.code), (3000, 0));
        assert!(lines.iter().all(|line| line["text"] == lines[0]["text"]));
        let tools = Scratch::new("tools.json", encoded("[{\"name\": \"tide\"}]"));
        assert_eq!(callgate(&["parse", "--tools", tools.path()], CALL).code, 0);
        // Half a unit and half a pair at the end are no characters, and no fault.
        for end in [1, 2, 3] {
            let cut = encoded("a🐈");
            let run = run_command(command(&["parse", "--json"]), &cut[..cut.len() - end]);
            assert!(run.stdout.contains("a\u{fffd}"), "{}", run.stdout);
        }
    }
}

#[test]
fn headers_before_a_body_are_said() {
    let body = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]});
    for version in ["HTTP/1.1 200 OK", "HTTP/2 200 ", "HTTP/1.0 200 OK"] {
        let input = format!("{version}\r\ncontent-type: application/json\r\n\r\n{body}");
        for args in [&["parse"][..], &["parse", "--stream"], &["detect"]] {
            let run = callgate(args, &input);
            assert!(run.stderr.contains("headers of an HTTP answer"), "{args:?}: {}", run.stderr);
        }
    }
}

#[test]
fn detect_says_of_calls_what_parse_says() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let tools = Scratch::new("tools.json", json!([{"name": "tide", "parameters": schema}]).to_string());
    let broken =
        [&b"<tool_call>{\"name\": \"tide\", \"arguments\": {\"a\": \"\xff\"}}</tool_call>"[..]].concat();
    let native = json!({"id": "a", "function": {"name": "tide", "arguments": "{}"}});
    let both = json!({"choices": [{"finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": CALL, "tool_calls": [native]}}]});
    for (input, code) in
        [(broken, "invalid-utf8-call"), (both.to_string().into_bytes(), "shadowed-by-native")]
    {
        let parsed = run_command(command(&["parse", "--json"]), &input);
        assert!(parsed.stdout.contains(code), "{}", parsed.stdout);
        for args in [vec!["detect"], vec!["detect", "--tools", tools.path()]] {
            let run = run_command(command(&args), &input);
            assert!(run.stdout.contains(code) && !run.stdout.contains("without a flag"), "{}", run.stdout);
            let run = run_command(command(&[&args[..], &["--json"]].concat()), &input);
            let rows: Vec<Value> = serde_json::from_str(&run.stdout).unwrap();
            assert!(rows.iter().all(|row| row["dialect"] == "native" || row["calls"] == 0), "{}", run.stdout);
        }
    }
    // Where the answer is can be said.
    let record = json!({"log": [{"said": CALL}]}).to_string();
    let run = callgate(&["detect", "--field", "log.0.said"], &record);
    assert!(run.code == 0 && run.stdout.contains("hermes"), "{}", run.stdout);
    assert_usage_error(&callgate(&["detect", "--field", "log.1"], &record), &["there is no `1`"]);
    assert_usage_error(&callgate(&["detect", "--field", "a"], "no JSON"), &["is not JSON"]);
}

#[test]
fn what_a_command_cannot_use_is_named() {
    assert_usage_error(&callgate(&["parse", "--finish-reason", ""], "Hi"), &["--finish-reason is empty"]);
    let body = json!({"choices": [{"message": {"content": "Hi"}, "finish_reason": "bananas"}]});
    let run = callgate(&["parse"], &body.to_string());
    assert!(run.code == 2 && run.stderr.contains("standard input: nobody knows"), "{}", run.stderr);
    assert_usage_error(&callgate(&["parse", "--chunk", "0"], "Hi"), &["see `callgate parse --help`"]);
}
