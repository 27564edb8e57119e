//! Recorded streams: told by the first event that says whose they are, and never taken for the model's own text in silence.

use serde_json::Value;

use super::{Scratch, assert_usage_error, callgate};

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
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr))
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
