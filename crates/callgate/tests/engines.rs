//! Forms that other engines read: generated in every dialect that can write them.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::internal::dialect::Slot;
use callgate::{Gate, Profile, Record, Response};
use serde_json::{Value, json};
use support::calls::written;
use support::registry;

fn read(profile: &str, record: &Record, tools: &Value, text: &str) -> Response {
    let profile = Profile::named(profile).unwrap_or_else(|| panic!("no profile {profile}"));
    let builder = Gate::builder().profile(profile).tools(registry(tools)).dialect(&record.name);
    builder.build().unwrap_or_else(|error| panic!("{}: {error}", record.name)).parse(text)
}

/// The only call that came out, with its arguments.
fn only(response: &Response, about: &str) -> (String, Value) {
    let [call] = response.calls.as_slice() else { panic!("{about}: {:?}", response.rejected) };
    let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|error| panic!("{error}"));
    (call.name.to_string(), arguments)
}

fn tool(properties: &Value) -> Value {
    json!([{"name": "plan", "parameters": {"type": "object", "properties": properties}}])
}

#[test]
fn white_space_between_the_elements_of_a_value_is_layout() {
    let properties = json!({
        "days": {"type": "array", "items": {"type": "object", "properties": {
            "name": {"type": "string"}, "hours": {"type": "array", "items": {"type": "integer"}}}}},
        "place": {"type": "object", "properties": {"city": {"type": "string"}}},
    });
    let arguments = json!({"days": [{"name": "Sat", "hours": [9, 17]}, {"name": "Sun", "hours": [10]}], "place": {"city": "Oslo"}});
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| record.item.is_some()) {
        let Some(text) = written(record, "plan", &arguments) else { continue };
        let token = record.item.as_ref().map_or("", |item| item.head()).trim_end_matches("<item>").to_owned();
        if token.is_empty() || token.contains('=') {
            continue;
        }
        count += 1;
        for space in ["\n", "\n    ", " ", "\r\n\t"] {
            let pretty = text.replace(&format!(">{token}"), &format!(">{space}{token}"));
            assert_ne!(pretty, text);
            for profile in ["strict", "standard", "lenient"] {
                let response = read(profile, record, &tool(&properties), &pretty);
                assert_eq!(only(&response, &pretty), ("plan".to_owned(), arguments.clone()), "{pretty}");
            }
        }
    }
    assert!(count > 0);
}

#[test]
fn where_the_header_of_a_value_and_the_schema_disagree_the_schema_decides() {
    let types_a_value = |record: &&Record| record.param.iter().any(|param| param.has(Slot::Type));
    let mut count = 0;
    for record in Record::builtin().iter().filter(types_a_value) {
        let (string, number) = (record.type_spelling("string"), record.type_spelling("null"));
        for (allowed, value) in [
            (json!(["string", "null"]), "hello"),
            (json!("string"), "null"),
            (json!("string"), "[1, 2"),
            (json!(["string", "integer"]), "about 3"),
        ] {
            let tools = tool(&json!({"note": {"type": allowed}}));
            let Some(text) = written(record, "plan", &json!({"note": value})) else { continue };
            let Some(at) = text.find("note").and_then(|key| Some(key + text[key..].find(string)?)) else {
                continue;
            };
            let text = format!("{}{number}{}", &text[..at], &text[at + string.len()..]);
            count += 1;
            let response = read("standard", record, &tools, &text);
            assert_eq!(only(&response, &text).1, json!({"note": value}), "{text}");
            let repairs: Vec<String> =
                response.calls[0].repairs.iter().map(|repair| repair.code.to_string()).collect();
            assert_eq!(repairs, ["unquoted-string"], "{text}");
            assert!(read("strict", record, &tools, &text).calls.is_empty(), "{text}");
        }
        // What the schema has no text for is no text.
        let tools = tool(&json!({"note": {"type": "integer"}}));
        let Some(text) = written(record, "plan", &json!({"note": 3})) else { continue };
        let broken = text.replacen('3', "three", 1);
        assert!(broken != text && read("lenient", record, &tools, &broken).calls.is_empty(), "{broken}");
    }
    assert!(count >= 8, "only {count}");
}

#[test]
fn arguments_in_the_text_of_an_undeclared_parameter_are_unwrapped() {
    let tools = tool(&json!({"city": {"type": "string"}, "days": {"type": "integer"}}));
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| !record.param.is_empty() && !record.known) {
        for (inner, wanted) in [
            (r#"{"city": "Oslo", "days": 3}"#, Some(json!({"city": "Oslo", "days": 3}))),
            ("{'city': 'Oslo'}", Some(json!({"city": "Oslo"}))),
            (r#"{"city": "Oslo", "week": 3}"#, None),
            (r#"{"city": "Oslo", "days": "soon"}"#, None),
            ("{}", None),
            ("Oslo", None),
        ] {
            let Some(text) = written(record, "plan", &json!({"input": inner})) else { continue };
            count += 1;
            let response = read("lenient", record, &tools, &text);
            let got = response.calls.first().map(|_| only(&response, &text).1);
            assert_eq!(got, wanted, "{text}");
            let standard = read("standard", record, &tools, &text);
            assert!(standard.calls.is_empty() && !standard.rejected.is_empty(), "{text}");
        }
    }
    assert!(count >= 60, "only {count}");
}

#[test]
fn a_suffix_may_have_hyphens() {
    let tools = tool(&json!({"city": {"type": "string"}}));
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| !record.suffix.is_empty()) {
        let Some(text) = written(record, "plan", &json!({"city": "Oslo"})) else { continue };
        for suffix in [":night-build-7", ":a-b", ":2026-11_x"] {
            let text = text.replace(&record.suffix, suffix);
            let response = read("strict", record, &tools, &text);
            assert_eq!(only(&response, &text).1, json!({"city": "Oslo"}), "{text}");
            count += 1;
        }
    }
    assert!(count >= 3);
}

#[test]
fn tokens_of_turns_are_no_text() {
    for (before, after) in [
        ("", "<|role_end|>"),
        ("<|CHATBOT_TOKEN|>", ""),
        ("<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
    ] {
        let gate = Gate::builder().build().unwrap_or_else(|error| panic!("{error}"));
        let response = gate.parse(&format!("{before}Nothing to do.{after}"));
        assert_eq!(response.text, "Nothing to do.");
        assert!(response.findings.iter().any(|finding| finding.code.to_string() == "control-token"));
    }
}
