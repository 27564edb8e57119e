//! Thoughts and tokens: what a chat template puts around a response is markup in every dialect, and a thought ends where its
//! family ends it.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::{Code, FinishReason, Gate, Record, RenderCall, Response};
use serde_json::{Value, json};
use support::guard::in_parallel;
use support::{Feed, dialect_gate, gate, response};

/// Tokens of all families, as they are left in the output.
const TOKENS: &[&str] = &[
    "<|im_end|>",
    "<|eot_id|>",
    "</s>",
    "<|endoftext|>",
    "<|end|>",
    "<end_of_turn>",
    "<eos>",
    "<｜end▁of▁sentence｜>",
    "<|eom_id|>",
    "<|END_OF_TURN_TOKEN|>",
    "[EOS]",
    "<|return|>",
    "<|eot|>",
    "<turn|>",
    "<｜tool▁output▁begin｜>",
    "<｜tool▁outputs▁end｜>",
    "<|user|>",
    "<|observation|>",
    "[/INST]",
    "<|im_start|>user",
    "<|im_start|>assistant",
];

/// Closing tags of calls of all families, as they are written too often or in the place of others.
const CLOSERS: &[&str] = &[
    "</tool_call>",
    "</tool_calls>",
    "</function>",
    "</function_call>",
    "</ tool_call>",
    "</tool-call >",
    "</minimax:tool_call>",
    "</TOOLCALL>",
    "</invoke>",
    "<|/tool_call|>",
    "[/FUNCTION_CALL]",
];

fn tools() -> Value {
    json!([{"name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}])
}

/// What a dialect writes for a call, with the prompt that it always follows.
fn call(record: &Record) -> Option<String> {
    let write = |id| {
        let call = RenderCall { id, name: "look", arguments: r#"{"q": "cats"}"# };
        record.render(&[call], None, None).ok()
    };
    write(Some("a1b2c3d4e")).or_else(|| write(None))
}

fn prompted(record: &Record, text: &str) -> String {
    let prompt = record.keys().into_iter().find(|(key, _)| *key == "prompt");
    let prompt = prompt.and_then(|(_, value)| value.as_str().map(str::to_owned)).unwrap_or_default();
    if text.starts_with(&prompt) { text.to_owned() } else { prompt + text }
}

/// Whether arguments are lines, so that a token after them is one.
fn has_lines(record: &Record) -> bool {
    record.keys().iter().any(|(key, value)| *key == "syntax" && value == "lines")
}

/// What is wrong in some dialect, by its name.
fn over_dialects(law: impl Fn(&Record, &Gate) -> Vec<String> + Sync) {
    let records: Vec<&Record> = Record::builtin().iter().collect();
    let check = |record: &&Record| law(record, &dialect_gate(&record.name, &tools()));
    let faults = in_parallel(&records, check);
    let faults: Vec<String> = records
        .iter()
        .zip(faults)
        .flat_map(|(record, faults)| faults.into_iter().map(move |fault| format!("{}: {fault}", record.name)))
        .collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// The response to a text, the same whole and byte by byte.
fn read(gate: &Gate, text: &str) -> Result<Response, String> {
    let feed = Feed::new(gate);
    let whole = feed.whole(text.as_bytes());
    if feed.bytewise(text.as_bytes()) == whole {
        Ok(response(&whole))
    } else {
        Err(format!("{text:?} depends on how it is cut"))
    }
}

#[test]
fn tokens_of_a_chat_template_are_markup_and_said() {
    over_dialects(|record, gate| {
        let Some(call) = call(record) else { return Vec::new() };
        let is_own = |token: &str| record.markers().any(|marker| marker.contains(token));
        // What ends no line of arguments is a line of them, and rejects the call.
        let has_lines = has_lines(record);
        let mut faults = Vec::new();
        for token in TOKENS.iter().filter(|token| !is_own(token)) {
            for text in [format!("Done.\n{token}"), format!("{}\n{token}", call.trim_end())] {
                let response = match read(gate, &text) {
                    Ok(response) => response,
                    Err(fault) => {
                        faults.push(fault);
                        continue;
                    }
                };
                let is_said = response.findings.iter().any(|finding| finding.code == Code::ControlToken);
                let is_said = is_said || !response.rejected.is_empty();
                if response.text.contains(token) || !is_said {
                    faults.push(format!("{text:?} leaves {:?} {:?}", response.text, response.findings));
                }
                if text.starts_with(call.trim_end()) && response.calls.len() != 1 && !has_lines {
                    faults.push(format!("{text:?}: {:?}", response.rejected));
                }
            }
        }
        faults
    });
}

#[test]
fn what_closes_nothing_behind_a_call_is_markup_and_said() {
    over_dialects(|record, gate| {
        let Some(call) = call(record).filter(|_| !has_lines(record)) else { return Vec::new() };
        let call = prompted(record, &call);
        let own = record.markers().filter(|marker| marker.starts_with("</") && marker.ends_with('>'));
        let own: Vec<&str> = own.filter(|marker| call.trim_end().ends_with(marker)).collect();
        let mut faults = Vec::new();
        // What the format itself may have there says nothing, but once more it closes nothing.
        let has = |closer: &&str| record.keys().iter().any(|(_, value)| value.to_string().contains(*closer));
        for closer in CLOSERS.iter().copied().filter(|closer| !has(closer)).chain(own) {
            let text = format!("{}\n{closer}\nDone.", call.trim_end());
            let response = match read(gate, &text) {
                Ok(response) => response,
                Err(fault) => {
                    faults.push(fault);
                    continue;
                }
            };
            // A closer of its own may show that a value was cut: then the call is rejected, which says it.
            let is_said = response.findings.iter().any(|finding| finding.code == Code::ControlToken)
                || !response.rejected.is_empty();
            if response.text.contains(closer) || !response.text.contains("Done.") || !is_said {
                faults.push(format!("{text:?}: {response:?}"));
            }
        }
        faults
    });
}

/// What may be the arguments of another call, and has no name.
#[test]
fn an_object_right_behind_the_arguments_is_said() {
    over_dialects(|record, gate| {
        let Some(call) = call(record) else { return Vec::new() };
        let call = prompted(record, &call);
        let Some(before) = call.rfind('}').map(|end| &call[..=end]) else { return Vec::new() };
        let after = &call[before.len()..];
        let texts = ["", ", ", "\n"].map(|gap| format!("{before}{gap}{{\"q\": \"dogs\"}}{after}"));
        let is_unsaid = |text: &String| match read(gate, text) {
            Ok(response) => response.rejected.is_empty() && response.findings.is_empty(),
            Err(_) => true,
        };
        texts.into_iter().filter(is_unsaid).collect()
    });
}

#[test]
fn what_may_close_something_is_text() {
    let gate = gate("standard", &tools());
    let call = "<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"cats\"}}</tool_call>";
    for text in [
        "</b>",
        "</",
        "</tool",
        "</tool_call",
        "< /tool_call>",
        "[/b]",
        "<|/",
        "<b></tool_call>",
        "x</tool_call>",
    ] {
        let response = read(&gate, &format!("{call}{text}")).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!((response.text.as_str(), response.calls.len()), (text, 1));
    }
    assert_eq!(gate.parse("It ends with </tools> there.").text, "It ends with </tools> there.");
}

#[test]
fn tokens_in_code_are_text() {
    let gate = gate("standard", &tools());
    for text in ["`<|im_end|>` ends it.", "```\n<|im_end|>\n```", "> <|im_end|>\n", "It is <s>old</s> new."] {
        assert_eq!(gate.parse(text).text, text);
    }
    assert_eq!(gate.parse("<s>Done.</s>").text, "Done.");
}

#[test]
fn a_second_end_of_a_thought_is_markup_and_calls_before_it_stand() {
    over_dialects(|record, gate| {
        let Some(call) = call(record).filter(|_| !has_lines(record)) else { return Vec::new() };
        let call = prompted(record, &call);
        let mut faults = Vec::new();
        for text in [
            format!("<think>So.</think>\n{}\n</think>\nDone.", call.trim_end()),
            format!("So.</think>\n{}\n</think>\nDone.", call.trim_end()),
        ] {
            match read(gate, &text) {
                Ok(response) => {
                    let is_said =
                        response.findings.iter().any(|finding| finding.code == Code::LateReasoningEnd);
                    if response.calls.len() != 1 || response.text.contains("</think>") || !is_said {
                        faults.push(format!("{text:?}: {response:?}"));
                    }
                }
                Err(fault) => faults.push(fault),
            }
        }
        faults
    });
}

#[test]
fn a_prompt_that_closed_the_thought_counts() {
    let gate = gate("standard", &tools());
    let text = "<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"a\"}}</tool_call>\n</think>\nDone.";
    for (tail, calls) in [("<think>\n\n</think>\n\n", 1), ("</think>\n\n", 1), ("", 0)] {
        let mut names = Vec::new();
        let mut sink = |event: callgate::Event<'_>| {
            if let callgate::Event::Call(call) = event {
                names.push(call.name);
            }
        };
        let mut session = gate.session().with_prompt_tail(tail);
        session.push(text, &mut sink);
        session.finish(FinishReason::Stop, &mut sink);
        assert_eq!(names.len(), calls, "{tail:?}");
    }
}

#[test]
fn a_call_ends_the_thought_where_the_family_does_that() {
    for name in ["hermes", "qwen3-coder", "minimax-m2", "mimo", "ling3", "kimi-k3", "glm45"] {
        let record = Record::named(name).unwrap_or_else(|| panic!("{name}"));
        let gate = dialect_gate(name, &tools());
        let call = call(record).unwrap_or_else(|| panic!("{name}"));
        let open = read(&gate, &format!("<think>I look.\n{call}")).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(open.calls.len(), 1, "{name}: {open:?}");
        assert_eq!(open.reasoning.trim(), "I look.", "{name}");
        let closed = read(&gate, &format!("<think>I look.\n{call}</think>Done."))
            .unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(closed.calls.len(), 0, "{name}: {closed:?}");
    }
}

/// The tokens or tags around a thought of a dialect, where they are its own and end nothing else.
fn own_thoughts(record: &Record) -> Vec<(String, String)> {
    let reasoning = record.keys().into_iter().find(|(key, _)| *key == "reasoning").map(|(_, value)| value);
    let templates: Vec<String> = match reasoning {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let pairs = templates.iter().filter_map(|template| template.split_once("{text}"));
    let pairs = pairs.map(|(open, close)| {
        (open.replace("{suffix}", "").trim().to_owned(), close.replace("{suffix}", "").trim().to_owned())
    });
    pairs
        .filter(|(open, close)| {
            open.starts_with(['<', '['])
                && close.starts_with(['<', '['])
                && !open.contains("assistant")
                && !open.contains("message_model")
        })
        .collect()
}

#[test]
fn every_dialect_gives_its_own_thoughts_the_same_rules() {
    over_dialects(|record, gate| {
        let mut faults = Vec::new();
        for (open, close) in own_thoughts(record) {
            let cases = [
                // (text, visible, thought, whether the end came late)
                (format!("{open}So.{close}Done."), "Done.", "So.", false),
                (format!("So.{close}Done."), "So.Done.", "", true),
                (format!("{open}So.{close}Done.{close}"), "Done.", "So.", true),
            ];
            for (text, visible, thought, late) in cases {
                match read(gate, &text) {
                    Ok(response) => {
                        let is_late =
                            response.findings.iter().any(|finding| finding.code == Code::LateReasoningEnd);
                        if response.text.trim() != visible
                            || response.reasoning.trim() != thought
                            || is_late != late
                        {
                            faults.push(format!(
                                "{text:?}: {:?} {:?} {:?}",
                                response.text, response.reasoning, response.findings
                            ));
                        }
                    }
                    Err(fault) => faults.push(fault),
                }
            }
            let is_token = open.contains('|') && open.ends_with('>');
            if is_token {
                let response = gate.parse(&format!("Well, {open}So.{close} done."));
                if response.reasoning != "So." {
                    faults.push(format!("{open} in a line: {response:?}"));
                }
            }
        }
        faults
    });
}

#[test]
fn a_token_of_calls_where_no_call_is_open_is_said() {
    for (dialect, text) in [
        ("harmony", "commentary to=functions.look <|constrain|>json<|message|>{\"q\": \"cats\"}"),
        ("gemma4", "call:look{q:<|\"|>cats<|\"|>}<tool_call|>"),
        ("deepseek-v31", "look<｜tool▁sep｜>{\"q\": \"cats\"}"),
    ] {
        let gate = Gate::builder().dialect(dialect).build().unwrap_or_else(|error| panic!("{error}"));
        let feed = Feed::new(&gate);
        let whole = feed.whole(text.as_bytes());
        assert_eq!(feed.bytewise(text.as_bytes()), whole, "{text:?} depends on how it is cut");
        let response = response(&whole);
        let is_token = |finding: &callgate::Finding| finding.code == Code::ControlToken;
        assert!(
            response.calls.is_empty() && response.findings.iter().any(is_token),
            "{dialect}: {response:?}"
        );
    }
}

#[test]
fn program_text_ends_with_its_last_line_and_shows_no_marker_of_its_own() {
    let gate = Gate::builder().dialect("llama3-builtin").build().unwrap_or_else(|error| panic!("{error}"));
    let read = |text: &str| {
        let feed = Feed::new(&gate);
        let whole = feed.whole(text.as_bytes());
        assert_eq!(feed.bytewise(text.as_bytes()), whole, "{text:?} depends on how it is cut");
        response(&whole)
    };
    for text in ["<|python_tag|>print(1)", "<|python_tag|>print(1)\n\n"] {
        let response = read(text);
        let [call] = &response.calls[..] else { panic!("{text:?}: {response:?}") };
        assert_eq!(call.value(), json!({"code": "print(1)"}), "{text:?}");
    }
    for text in ["<|python_tag|><|python_tag|>print(1)", "<|python_tag|>print(1)<|python_tag|>print(2)"] {
        let response = read(text);
        let codes = response.rejected.iter().flat_map(|rejected| &rejected.findings);
        let mut codes = codes.map(|finding| finding.code);
        assert!(response.calls.is_empty() && codes.any(|code| code == Code::SuspectValueEnd), "{response:?}");
    }
}
