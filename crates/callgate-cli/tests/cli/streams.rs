//! Recorded streams: told by the first event that says whose they are, and never taken for the model's own text in silence.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use super::{Scratch, assert_usage_error, callgate, command, json_lines};

/// The stream of each form.
const STREAMS: &[&str] = &[
    include_str!("../bodies/openai.sse"),
    include_str!("../bodies/anthropic.sse"),
    include_str!("../bodies/responses.sse"),
    include_str!("../bodies/ollama.ndjson"),
    include_str!("../bodies/generate.ndjson"),
];

/// Events that servers send before the answer, and that say nothing of it.
const SILENT: &[&str] = &[
    r#"{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}"#,
    r#"{"choices":[],"usage":null}"#,
    r#"{"type":"ping"}"#,
];

fn parsed(args: &[&str], input: &str) -> Value {
    let run = callgate(&[&["parse", "--output-format", "callgate"], args].concat(), input);
    assert!(run.code < 2, "{}{}", run.stdout, run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn the_first_event_that_says_whose_it_is_decides() {
    for stream in STREAMS {
        let wanted = parsed(&[], stream);
        assert_ne!((wanted["calls"].as_array(), wanted["rejected"].as_array()), (Some(&Vec::new()), None));
        for silent in SILENT.iter().filter(|silent| silent.contains("ping") || stream.contains("choices")) {
            let events = if stream.starts_with('{') {
                vec![format!("{silent}\n"), format!("{silent}\n{silent}\n\n")]
            } else {
                vec![
                    format!("data: {silent}\n\n"),
                    format!("event: ping\ndata: {silent}\n\n: wait\n\nid: 1\ndata: {silent}\n\n"),
                    format!("data: {silent}\ndata: {silent}\n"),
                    format!("data: {}\n\n", silent.replacen(',', ",\ndata: ", 1)),
                ]
            };
            for before in events {
                let input = format!("{before}{stream}");
                assert_eq!(parsed(&[], &input), wanted, "{before}");
                assert_eq!(parsed(&[], &input.replace('\n', "\r\n")), wanted, "{before}");
                let run = callgate(&["parse", "--stream", "--json"], &input);
                let calls = wanted["calls"].as_array().map(Vec::len);
                let last: Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
                assert_eq!(
                    last["calls"].as_u64().map(|count| count as usize),
                    calls,
                    "{before}{}",
                    run.stderr
                );
            }
        }
    }
}

#[test]
fn a_stream_that_begins_with_an_error_holds_no_answer() {
    let errors = [
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"out of tar\"}}\n\n",
        "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"out of tar\",\"sequence_number\":1}\n\n",
        "data: {\"error\":{\"message\":\"out of tar\",\"code\":502,\"metadata\":{}}}\n\ndata: [DONE]\n\n",
        "data: {\"error\":\"out of tar\"}",
        ": wait\n\nretry: 3\nevent: error\ndata: out of tar\n\n",
        "event: error\ndata: {\"detail\":\n data: 1}\ndata: \"out of tar\"\n\n",
    ];
    for error in errors {
        for before in ["", "event: ping\ndata: {\"type\": \"ping\"}\n\n", "data: {\"choices\": []}\n\n"] {
            let input = format!("{before}{error}");
            for args in [&["parse"][..], &["parse", "--stream"]] {
                assert_usage_error(
                    &callgate(args, &input),
                    &["no answer but an error of the server", "out of tar"],
                );
            }
        }
    }
}

#[test]
fn streams_of_no_known_form_are_said() {
    let note = "looks like the stream of a server";
    let all_lines = format!("data: {}\n\n", SILENT[0]).repeat(2000);
    for input in [
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ok\"}],\"role\":\"model\"}}]}\n\n",
        "data: [DONE]\n\n",
        "data: [DONE]",
        ": keep-alive\n\n",
        "event: token\ndata: {\"t\": \"a\"}\n\nevent: token\ndata: {\"t\": \"b\"}\n\n",
        "{\"event_type\":\"x\",\"is_finished\":false}\n{\"event_type\":\"y\",\"is_finished\":true}\n",
        "{\"type\":\"ping\"}\n{\"type\":\"ping\"}\n",
        &all_lines,
    ] {
        for args in [&["parse", "--json"][..], &["parse", "--json", "--stream"]] {
            let run = callgate(args, input);
            assert!(run.stderr.contains(note), "{args:?} {}: {}", &input[..20.min(input.len())], run.stderr);
        }
        let file = Scratch::new("recorded", input);
        assert!(callgate(&["parse", file.path()], "").stderr.contains(note));
        assert_eq!(callgate(&["parse", "--text", file.path()], "").stderr, "");
    }
    // A model may write all of this.
    for text in [
        "data: the numbers of last year\n",
        "data: 5\n\nevent: none\n",
        "{\"name\": \"a\", \"arguments\": {}}\n{\"name\": \"b\", \"arguments\": {}}\n",
        "{\"a\": 1}\n{\"b\": 2}\n",
        "Sure: let me look.",
        "",
    ] {
        let run = callgate(&["parse", "--json"], text);
        assert_eq!(run.stderr, "", "{text}");
    }
}

/// One body in each form, written over many lines.
const BODIES: &[&str] = &[
    include_str!("../bodies/openai.json"),
    include_str!("../bodies/anthropic.json"),
    include_str!("../bodies/responses.json"),
    include_str!("../bodies/ollama.json"),
    include_str!("../bodies/generate.json"),
];

fn scanned(args: &[&str], input: &str) -> Vec<Value> {
    let run = callgate(&[&["scan", "-q"], args].concat(), input);
    assert_eq!(run.stderr, "", "{}", &input[..40.min(input.len())]);
    json_lines(&run.stdout)
}

#[test]
fn scan_judges_a_file_that_is_one_answer_as_parse_does() {
    let pretty = |body: &&str| format!("{:#}", serde_json::from_str::<Value>(body).unwrap());
    for whole in BODIES.iter().map(pretty).chain(STREAMS.iter().map(|stream| (*stream).to_owned())) {
        for input in [whole.clone(), whole.replace('\n', "\r\n"), format!("\u{feff}\n{whole}\n\n")] {
            let wanted = parsed(&[], &input);
            let file = Scratch::new("whole", &input);
            for mut lines in [scanned(&[], &input), scanned(&[file.path()], "")] {
                assert_eq!(lines.len(), 1, "{input}");
                lines[0].as_object_mut().unwrap().remove("id");
                assert_eq!(lines[0], wanted, "{input}");
            }
        }
        // Among several files each is what it is.
        let (one, two) =
            (Scratch::new("one", &whole), Scratch::new("two.jsonl", "{\"id\": 7, \"text\": \"a\"}\nx\n"));
        let lines = scanned(&[one.path(), two.path(), one.path()], "");
        assert_eq!((lines.len(), &lines[1]["id"], &lines[2]["line"]), (4, &json!(7), &json!(2)));
        assert_eq!((&lines[0], lines[0].get("error")), (&lines[3], None));
    }
}

#[test]
fn scan_judges_every_choice_of_a_recorded_stream() {
    let chunk = |index: u32, text: &str| {
        let delta = json!({"index": index, "delta": {"content": text}, "finish_reason": "stop"});
        format!("data: {}\n\n", json!({"object": "chat.completion.chunk", "choices": [delta]}))
    };
    let stream = format!("{}{}data: [DONE]\n\n", chunk(1, "One."), chunk(0, "Naught."));
    assert!(callgate(&["parse"], &stream).stderr.contains("2 choices"));
    let lines = scanned(&[], &stream);
    let found: Vec<_> = lines.iter().map(|line| (&line["choice"], &line["text"])).collect();
    assert_eq!(found, [(&json!(0), &json!("Naught.")), (&json!(1), &json!("One."))]);
}

#[test]
fn lines_stay_lines_whatever_the_first_one_is() {
    let event = r#"{"model":"m","message":{"role":"assistant","content":"a"},"done":false}"#;
    let good = r#"{"id": 9, "text": "a"}"#;
    for (first, problem) in [
        (event, "one event of a stream"),
        (r#"{"text": "cut off"#, "not JSON"),
        (r#"{"id": 1,"#, "not JSON"),
        ("{", "not JSON"),
        ("[", "not JSON"),
        ("[1, 2]", "not a JSON object"),
        (r#"{"choices": []}"#, "`choices` are empty"),
        (r#"{"type": "ping"}"#, "--field"),
        ("data: {}", "line of a recorded stream"),
    ] {
        let lines = scanned(&[], &format!("{first}\n{good}\n{good}"));
        let message = lines[0]["error"]["message"].as_str().unwrap().to_owned()
            + &lines[0]["error"]["help"].to_string();
        assert!(message.contains(problem), "{first}: {message}");
        assert_eq!((lines.len(), &lines[1]["id"], &lines[2]["text"]), (3, &json!(9), &json!("a")), "{first}");
    }
    for line in [good, r#"{"messages":[{"role":"assistant","content":"a"}]}"#, BODIES[0].trim()] {
        let line = line.replace('\n', " ");
        assert_eq!(scanned(&[], &format!("{line}\n{line}\n{line}\n")).len(), 3, "{line}");
    }
}

#[test]
fn the_first_line_of_a_pipe_is_answered_before_the_second_comes() {
    let mut child = command(&["scan", "-q"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    for id in 1..4 {
        writeln!(input, "{}", json!({"id": id, "text": "a"})).unwrap();
        input.flush().unwrap();
        let line: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["id"], id);
    }
    drop(input);
    child.wait().unwrap();
}

#[test]
fn detect_says_what_it_was_given_where_that_is_no_answer() {
    for (input, part) in [
        ("{\"error\": {\"message\": \"out of tar\"}}", "an error of the server"),
        ("data: {\"error\": {\"message\": \"out of tar\"}}\n\n", "an error of the server"),
        ("{\"candidates\": [{\"content\": {\"parts\": []}}]}", "looks like the body of a server"),
        ("data: {\"candidates\": []}\n\n", "looks like the stream of a server"),
    ] {
        let run = callgate(&["detect"], input);
        assert!(run.code == 1 && run.stderr.contains(part), "{input}: {}", run.stderr);
    }
    let lines = "{\"text\": \"<tool_call>{\\\"name\\\": 5}</tool_call>\"}\n{\"text\": \"a\"}\n";
    let run = callgate(&["detect"], lines);
    assert!(run.stdout.contains("lines of JSON"), "{}", run.stdout);
    assert_eq!(callgate(&["detect"], "No call.").stderr, "");
}

#[test]
fn a_call_that_only_a_list_of_tools_can_tell_names_the_flag() {
    let text = "get_weather(city=\"Oslo\")";
    let run = callgate(&["parse"], text);
    assert!(
        run.stdout.contains("looks-like-a-call") && run.stdout.contains("--tools FILE"),
        "{}",
        run.stdout
    );
    let tools = Scratch::new(
        "tools.json",
        r#"[{"name": "get_weather", "description": "It.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]"#,
    );
    let run = callgate(&["parse", "--tools", tools.path()], text);
    assert!(
        run.stdout.contains("read it with --dialect") && !run.stdout.contains("--tools FILE"),
        "{}",
        run.stdout
    );
    assert!(!callgate(&["parse"], "No call.").stdout.contains("--tools"));
}
