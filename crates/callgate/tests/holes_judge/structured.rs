//! Structured calls and lines: what stands twice, what was never written, what has the wrong type, what a thought shows.

use callgate::{Code, Event, FinishReason, NativeDelta, Response};
use serde_json::{Value, json};

use crate::endings::{CUT, GOOD};
use crate::support::rejections;
use crate::{codes, gate, scan, scan_text, tools};

/// A whole call, with these members for its function, as they are written.
fn listed(function: &str) -> String {
    format!("[{{\"id\": \"a\", \"type\": \"function\", \"function\": {{{function}}}}}]")
}

fn judged(profile: &str, calls: &str, reason: FinishReason) -> Response {
    let mut collector = Response::collector();
    let mut session = gate(profile, &tools()).session();
    session.native_calls_text(calls, &mut |event| collector.push(event));
    session.finish(reason, &mut |event| collector.push(event));
    collector.finish(reason)
}

/// Every member of a structured call, twice: with the same key, and with a key that is only written otherwise.
#[test]
fn no_member_of_a_structured_call_stands_twice_unsaid() {
    let (name, read) = ("\"name\": \"read\"", "\"arguments\": \"{\\\"path\\\": \\\"a\\\"}\"");
    let function = format!("\"function\": {{{name}, {read}}}");
    let calls = [
        listed(&format!("{name}, {name}, {read}")),
        listed(&format!("{name}, \"n\\u0061me\": \"read\", {read}")),
        listed(&format!("{name}, \"arguments\": \"{{}}\", {read}")),
        listed(&format!("{name}, \"arguments\": {{}}, {read}")),
        format!("[{{{function}, {function}}}]"),
        format!("[{{{name}, {name}, {read}}}]"),
        format!("[{{\"id\": \"a\", \"id\": \"b\", {function}}}]"),
    ];
    for call in calls {
        for profile in ["standard", "strict", "structured"] {
            let response = judged(profile, &call, FinishReason::ToolCalls);
            assert!(response.calls.is_empty(), "{profile}: {call}");
            assert!(
                codes(&response).contains(&Code::DuplicateKey),
                "{profile}: {call}: {}",
                rejections(&response)
            );
        }
        let response = judged("lenient", &call, FinishReason::ToolCalls);
        assert_eq!(response.calls.len(), 1, "{call}: {}", rejections(&response));
        assert_eq!(response.calls[0].value(), json!({"path": "a"}), "{call}");
        assert_eq!(response.calls[0].repairs[0].code.word(), "duplicate-key", "{call}");
        let line =
            format!("{{\"profile\": \"standard\", \"finish_reason\": \"stop\", \"tool_calls\": {call}}}");
        assert_eq!(scan_text(&line)["calls"], json!([]), "{line}");
    }
    // Two tools are never one, whoever lets the last count.
    for two in [
        listed(&format!("\"name\": \"now\", {name}, {read}")),
        format!("[{{\"function\": {{\"name\": \"now\", \"arguments\": \"{{}}\"}}, {function}}}]"),
    ] {
        for profile in ["standard", "strict", "structured", "lenient"] {
            let response = judged(profile, &two, FinishReason::ToolCalls);
            assert!(response.calls.is_empty(), "{profile}: {two}");
            assert!(codes(&response).contains(&Code::Ambiguous), "{profile}: {two}");
        }
    }
}

#[test]
fn members_of_a_call_in_the_text_that_stand_twice_are_a_guess_where_the_last_counts() {
    let text = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}, \"arguments\": {\"path\": \"b\"}}</tool_call>";
    for (profile, calls) in [("standard", 0), ("strict", 0), ("lenient", 1)] {
        let response = gate(profile, &tools()).parse(text);
        assert_eq!(response.calls.len(), calls, "{profile}: {}", rejections(&response));
        for call in &response.calls {
            let listed: Vec<_> =
                call.repairs.iter().map(|repair| (repair.code.word(), repair.late)).collect();
            assert_eq!((call.value(), listed), (json!({"path": "b"}), vec![("duplicate-key", true)]));
        }
    }
}

/// Whether a call comes in a list or in deltas, arguments that were never written are none only at a good end.
#[test]
fn blank_arguments_of_a_cut_answer_are_cut_off_whole_and_streamed() {
    let streamed = |profile: &str, arguments: Option<&str>, reason: FinishReason| {
        let mut collector = Response::collector();
        let mut session = gate(profile, &tools()).session();
        let delta = NativeDelta { index: Some(0), id: Some("a"), name: Some("now"), arguments, done: false };
        session.native(delta, &mut |event| collector.push(event));
        session.finish(reason, &mut |event| collector.push(event));
        collector.finish(reason)
    };
    for profile in ["standard", "structured", "lenient"] {
        for (written, text) in [
            ("", None),
            (", \"arguments\": null", None),
            (", \"arguments\": \"\"", Some("")),
            (", \"arguments\": \" \"", Some(" ")),
        ] {
            let whole = listed(&format!("\"name\": \"now\"{written}"));
            for word in CUT.iter().chain(GOOD) {
                let reason = FinishReason::from_word(word);
                for response in [judged(profile, &whole, reason), streamed(profile, text, reason)] {
                    let is_good = GOOD.contains(word);
                    assert_eq!(response.calls.len(), usize::from(is_good), "{profile}, {word}: {whole}");
                    let listed = response.calls.iter().flat_map(|call| &call.repairs);
                    assert_eq!(listed.count(), usize::from(is_good), "{profile}, {word}: {whole}");
                    assert_eq!(
                        codes(&response).contains(&Code::Truncated),
                        !is_good,
                        "{profile}, {word}: {whole}"
                    );
                }
            }
        }
        // What was written stands.
        let whole = listed("\"name\": \"now\", \"arguments\": \"{}\"");
        assert_eq!(judged(profile, &whole, FinishReason::Length).calls.len(), 1, "{profile}");
    }
}

#[test]
fn a_member_of_a_line_that_is_passed_over_is_an_error() {
    let text = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
    for (key, value) in [
        ("prompt_tail", json!(["<think>\n"])),
        ("prompt_tail", json!(5)),
        ("model", json!(5)),
        ("model", json!({"name": "x"})),
        ("finish_reason", json!(7)),
        ("dialect", json!(["hermes"])),
        ("profile", json!(1)),
        ("policy", json!("lenient")),
        ("untrusted", json!({"a": "b"})),
        ("tools", json!("now")),
    ] {
        let mut line = json!({"id": 1, "text": text});
        line[key] = value;
        let result = scan(&line);
        assert_eq!(
            (&result["error"]["code"], &result["id"]),
            (&json!("bad-line"), &json!(1)),
            "{line}: {result}"
        );
        line[key] = Value::Null;
        assert_eq!(scan(&line)["calls"][0]["name"], "now", "{line}");
    }
    for key in ["text", "tool_calls", "tools", "t\\u0065xt"] {
        let line = format!("{{\"text\": \"a\", \"tool_calls\": [], \"tools\": [], \"{key}\": null}}");
        let result = scan_text(&line);
        assert!(
            result["error"]["message"].as_str().unwrap_or_default().contains("two members"),
            "{line}: {result}"
        );
    }
}

#[test]
fn a_call_in_a_thought_that_came_apart_is_said() {
    let thought = "I could <tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>, or not.";
    for profile in ["standard", "strict", "lenient"] {
        for size in [1, 7, thought.len()] {
            let mut collector = Response::collector();
            let mut sink = |event: Event<'_>| collector.push(event);
            let mut session = gate(profile, &tools()).session();
            for piece in thought.as_bytes().chunks(size) {
                session.reasoning(&String::from_utf8_lossy(piece), &mut sink);
            }
            session.push("No.", &mut sink);
            session.finish(FinishReason::Stop, &mut sink);
            let response = collector.finish(FinishReason::Stop);
            assert_eq!((response.text.as_str(), response.reasoning.as_str()), ("No.", thought), "{profile}");
            assert!(response.calls.is_empty() && response.rejected.is_empty(), "{profile}");
            assert!(codes(&response).contains(&Code::CallInReasoning), "{profile}: {:?}", response.findings);
        }
        let mut collector = Response::collector();
        let mut session = gate(profile, &tools()).session();
        session.reasoning("Is it `now`, or read?", &mut |event| collector.push(event));
        session.finish(FinishReason::Stop, &mut |event| collector.push(event));
        assert!(!codes(&collector.finish(FinishReason::Stop)).contains(&Code::CallInReasoning), "{profile}");
    }
}

#[test]
fn a_call_that_was_cut_ended_the_answer_where_nobody_says_how_it_ended() {
    let cut = "<tool_call>{\"name\": \"read\", \"arguments\": {\"pa";
    assert_eq!(scan(&json!({"text": cut}))["finish_reason"], "length");
    assert_eq!(scan(&json!({"text": cut, "finish_reason": "max_tokens"}))["finish_reason"], "length");
    assert_eq!(scan(&json!({"text": cut, "finish_reason": "stop"}))["finish_reason"], "stop");
    assert_eq!(scan(&json!({"text": "Hi"}))["finish_reason"], "stop");
}
