//! Headers and frames with more in them than the format has: a word, a fence. What they hold is read all the same, and text
//! outside of every header is text.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::{Code, Gate, Record, RenderCall, RepairCode, Response};
use serde_json::{Value, json};
use support::guard::in_parallel;
use support::{Feed, dialect_gate, rejections, response};

fn tools() -> Value {
    json!([{"name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}])
}

/// The response to a text, the same whole and byte by byte.
fn read(gate: &Gate, text: &str) -> Response {
    let feed = Feed::new(gate);
    let whole = feed.whole(text.as_bytes());
    assert_eq!(feed.bytewise(text.as_bytes()), whole, "{text:?} depends on how it is cut");
    response(&whole)
}

#[test]
fn a_header_may_hold_any_word() {
    let gate = dialect_gate("harmony", &tools());
    for header in [
        "<|channel|>commentary to=functions.look <|constrain|>json",
        "<|channel|>commentary to=functions.look <|constrain|>code",
        "<|channel|>commentary to=functions.look code",
        "<|channel|>commentary to=functions.look json",
        "<|channel|>commentary to=functions.look",
        "<|channel|>commentary to=look <|constrain|>JSON",
        "<|channel|>analysis to=functions.look code",
        "<|channel|>commentary code to=functions.look",
        "<|channel|>commentary<|channel|>commentary to=functions.look <|constrain|>json",
        "<|channel|>commentary to=functions.look<|channel|>commentary <|constrain|>json",
        "<|channel|>commentary to=functions.look<|channel|>commentary json",
        "<|channel|>commentary to=functions.look <|channel|>commentary",
        "<|channel|>analysis to=functions.look<|channel|>analysis <|constrain|>json",
        "<|start|>assistant to=functions.look<|channel|>commentary <|constrain|>text",
        "<|start|>assistant to=functions.look<|channel|>commentary code",
        "<|start|>assistant to=functions.look<|channel|>analysis code",
    ] {
        let response = read(&gate, &format!("{header}<|message|>{{\"q\": \"a\"}}<|call|>"));
        let [call] = &response.calls[..] else { panic!("{header}: {}", rejections(&response)) };
        assert_eq!(call.value(), json!({"q": "a"}), "{header}");
    }
}

#[test]
fn what_is_said_to_the_user_is_text() {
    for (dialect, text) in [
        ("harmony", "Hello."),
        ("harmony", "<|channel|>final<|message|>Hello."),
        ("harmony", "<|channel|>final <|constrain|>json<|message|>Hello."),
        ("harmony", "<|channel|>commentary <|constrain|>json<|message|>Hello.<|end|>"),
        ("harmony", "<|start|>assistant<|channel|>commentary <|constrain|>json<|message|>Hello.<|call|>"),
        ("harmony", "<|channel|>final to=user<|message|>Hello."),
        ("harmony", "<|channel|>commentary to=user<|message|>Hello.<|end|>"),
        ("harmony", " to=user<|channel|>final<|message|>Hello.<|return|>"),
        ("harmony", "<|channel|>analysis<|message|>So.<|end|>Hello."),
        ("inkling", "Hello."),
        ("inkling", "look<|content_text|>Hello.<|end_message|>"),
        ("kimi-k3", "Hello."),
        ("muse-atem", "Hello."),
        ("beam", "Hello."),
        ("solar-open", "Hello."),
    ] {
        let response = read(&dialect_gate(dialect, &tools()), text);
        assert_eq!(response.text.trim(), "Hello.", "{dialect} {text}: {response:?}");
    }
}

/// JSON in a frame that has a marker may stand in a fence, which is listed; anything else around it is said.
#[test]
fn a_fence_around_the_json_of_a_frame_is_dropped() {
    let check = |record: &&Record| {
        let mut faults = Vec::new();
        let write = |id| {
            let call = RenderCall { id, name: "look", arguments: r#"{"q":"some cats"}"# };
            record.render(&[call], None, None).ok()
        };
        let Some(text) = write(Some("a1b2c3d4e")).or_else(|| write(None)) else { return faults };
        let Some((start, end)) = json_of(&text) else { return faults };
        let (before, json, after) = (&text[..start], &text[start..end], &text[end..]);
        // A tag that is only the name of a tool is no marker.
        let is_marked = before.contains(['<', '|'])
            && !before.starts_with("<look")
            && !before.contains("```")
            && !after.contains("```");
        // Where anything can be the argument, so can a fence.
        if record.call.iter().any(|call| call.to_string().contains("{code}")) {
            return faults;
        }
        let is_list = before.trim_end().ends_with('[') || before.trim_end().ends_with('(');
        let gate = dialect_gate(&record.name, &tools());
        for fence in ["```json", "```"] {
            let fenced = format!("{before}\n{fence}\n{json}\n```\n{after}");
            let response = read(&gate, &fenced);
            let is_read = response.calls.len() == 1 && response.calls[0].value() == json!({"q": "some cats"});
            let lists = |code| {
                response.calls.iter().any(|call| call.repairs.iter().any(|repair| repair.code == code))
            };
            let said = !response.rejected.is_empty() || !response.findings.is_empty();
            if is_marked && !is_list && !(is_read && lists(RepairCode::CodeFence)) {
                faults.push(format!("{fenced:?}: {:?} {}", response.calls, rejections(&response)));
            } else if is_marked && !is_read && !said {
                faults.push(format!("{fenced:?} is silent"));
            }
        }
        for around in [("`", "`"), ("Here it is: ", ""), ("", " That is all.")] {
            let text = format!("{before}{}{json}{}{after}", around.0, around.1);
            let response = read(&gate, &text);
            let said = !response.rejected.is_empty()
                || response.findings.iter().any(|finding| finding.span.is_some());
            if is_marked && response.calls.len() != 1 && !said {
                faults.push(format!("{text:?} is silent"));
            }
        }
        faults.into_iter().map(|fault| format!("{}: {fault}", record.name)).collect()
    };
    let records: Vec<&Record> = Record::builtin().iter().collect();
    let faults: Vec<String> = in_parallel(&records, check).into_iter().flatten().collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// A list of calls behind a marker may stand in a fence as one call may, which is listed; where that is not read it is said.
#[test]
fn a_fence_around_the_list_of_a_frame_is_dropped() {
    let mut read_back = 0;
    for record in Record::builtin() {
        let write = |id| {
            let call = RenderCall { id, name: "look", arguments: r#"{"q":"some cats"}"# };
            record.render(&[call], None, None).ok()
        };
        let Some(text) = write(Some("a1b2c3d4e")).or_else(|| write(None)) else { continue };
        let list = text.match_indices('[').find_map(|(start, _)| {
            let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
            let value = stream.next()?.ok()?;
            value.to_string().contains("some cats").then(|| (start, start + stream.byte_offset()))
        });
        let Some((start, end)) = list else { continue };
        let (before, list, after) = (&text[..start], &text[start..end], &text[end..]);
        if !before.starts_with(['<', '[']) || text.contains("```") {
            continue;
        }
        for fence in ["```json", "```"] {
            let fenced = format!("{before}\n{fence}\n{list}\n```\n{after}");
            let response = read(&dialect_gate(&record.name, &tools()), &fenced);
            let place = format!("{}: {fenced:?}", record.name);
            let [call] = &response.calls[..] else {
                assert!(!response.rejected.is_empty(), "{place} is silent: {response:?}");
                continue;
            };
            assert_eq!(call.value(), json!({"q": "some cats"}), "{place}");
            assert!(call.repairs.iter().any(|repair| repair.code == RepairCode::CodeFence), "{place}");
            read_back += 1;
        }
    }
    assert!(read_back >= 6, "only {read_back}");
}

/// The place of the JSON object that holds the arguments of the call.
fn json_of(text: &str) -> Option<(usize, usize)> {
    text.match_indices('{').find_map(|(start, _)| {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let value = stream.next()?.ok()?;
        value.to_string().contains("some cats").then(|| (start, start + stream.byte_offset()))
    })
}

#[test]
fn a_dialect_that_does_not_read_what_it_writes_is_refused() {
    for record in Record::builtin() {
        let gate = Gate::builder().tools(support::registry(&tools())).record(record.clone()).build();
        assert!(gate.is_ok(), "{}: {gate:?}", record.name);
    }
    // A line takes all that stands on it, so the closer becomes a part of the value.
    let text =
        "[mine]\nauto = false\nlines = true\nsyntax = \"lines\"\ncall = \"CALL {name}\\n{arguments} END\"";
    match Record::parse(text) {
        Err(_) => {}
        Ok(records) => {
            let refused = Gate::builder().record(records[0].clone()).build();
            assert_eq!(refused.map(|_| ()).map_err(|error| error.code), Err("unread-writing"));
        }
    }
}

#[test]
fn a_type_that_is_said_of_one_value_holds_for_no_other() {
    let gate = Gate::builder().dialect("deepseek-v32-dsml").build();
    let gate = gate.unwrap_or_else(|error| panic!("{error}"));
    let parameter = |header: &str, value: &str| {
        format!("<｜DSML｜parameter name=\"{header}>{value}</｜DSML｜parameter>\n")
    };
    for (first, second) in [("a\" string=\"true\"", "b\""), ("a\" string=\"false\"", "b\"")] {
        let parameters = parameter(first, "1") + &parameter(second, "2") + &parameter("c\"", "x");
        let text = format!(
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"look\">\n{parameters}</｜DSML｜invoke>\n</｜DSML｜function_calls>"
        );
        let response = read(&gate, &text);
        let [call] = &response.calls[..] else { panic!("{text}: {}", rejections(&response)) };
        let a = if first.contains("true") { json!("1") } else { json!(1) };
        assert_eq!(call.value(), json!({"a": a, "b": 2, "c": "x"}), "{text}");
    }
}

#[test]
fn a_space_in_the_name_of_a_tool_is_part_of_it_in_every_dialect() {
    let object = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let tools = ["look", "look up", "look up there"].map(|name| json!({"name": name, "parameters": object}));
    let records: Vec<&Record> =
        Record::builtin().iter().filter(|record| record.code_tool.is_empty()).collect();
    let unread = in_parallel(&records, |record| {
        let gate = dialect_gate(&record.name, &json!(tools));
        let names = ["look", "look up", "look up there"].into_iter();
        let written = names.filter_map(|name| {
            let call = |id| [RenderCall { id, name, arguments: r#"{"q": "up a"}"# }];
            let text = record.render(&call(None), None, None);
            Some((name, text.or_else(|_| record.render(&call(Some("a1b2c3d4e")), None, None)).ok()?))
        });
        let is_other = |(name, text): &(&str, String)| {
            let response = read(&gate, text);
            let calls: Vec<_> = response.calls.iter().map(|call| (&*call.name, call.value())).collect();
            calls != [(*name, json!({"q": "up a"}))]
        };
        let unread: Vec<String> = written.filter(is_other).map(|(_, text)| text).collect();
        (record.name.clone(), unread)
    });
    let unread: Vec<_> = unread.into_iter().filter(|(_, texts)| !texts.is_empty()).collect();
    assert!(unread.is_empty(), "{unread:#?}");
}

#[test]
fn a_namespace_alone_names_nothing() {
    let gate = dialect_gate("hermes", &tools());
    for name in ["", " ", "functions.", "default_api. "] {
        let text =
            format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {{\"q\": \"a\"}}}}</tool_call>");
        let response = read(&gate, &text);
        let [rejected] = &response.rejected[..] else { panic!("{text}: {:?}", response.calls) };
        assert!(rejected.findings.iter().any(|finding| finding.code == Code::EmptyName), "{text}");
    }
}

#[test]
fn a_mark_of_the_byte_order_is_no_part_of_a_name() {
    let gate = dialect_gate("python-lines", &tools());
    let response = read(&gate, "\u{feff}look(q=\"a\")");
    let [call] = &response.calls[..] else { panic!("{}", rejections(&response)) };
    assert_eq!((&*call.name, call.value()), ("look", json!({"q": "a"})));
}
