//! Places: what a finding about the arguments points at: the value itself, or what lacks one, wherever that can be told.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

use callgate::{Gate, Registry};

fn gate() -> Gate {
    let tools = r#"[{"name": "lend", "parameters": {"type": "object", "required": ["book"], "properties": {
        "book": {"type": "string"}, "days": {"type": "integer"}, "to": {"type": "object", "required": ["card"],
            "properties": {"card": {"type": "integer"}}}, "shelf": {"enum": ["a", "b"]}}}}]"#;
    Gate::builder().tools(Registry::from_json(tools).unwrap()).build().unwrap()
}

/// The codes of the rejection with the text that each points at.
fn pointed(text: &str) -> Vec<(&'static str, String)> {
    let response = gate().parse(text);
    let findings = &response.rejected.first().unwrap_or_else(|| panic!("{text}: {response:?}")).findings;
    let at = |span: Option<callgate::Span>| span.map_or(String::new(), |s| text[s.start..s.end].to_owned());
    findings.iter().map(|finding| (finding.code.word(), at(finding.span))).collect()
}

fn assert_pointed(text: &str, wanted: &[(&str, &str)]) {
    let found = pointed(text);
    let found: Vec<(&str, &str)> = found.iter().map(|(code, at)| (*code, at.as_str())).collect();
    assert_eq!(found, wanted, "{text}");
}

#[test]
fn findings_point_at_the_value() {
    let call = |arguments: &str| {
        format!("On it.\n<tool_call>{{\"name\": \"lend\", \"arguments\": {arguments}}}</tool_call>")
    };
    assert_pointed(&call(r#"{"book": "Emma", "days": "ten"}"#), &[("wrong-type", "\"ten\"")]);
    assert_pointed(&call(r#"{"days": 3}"#), &[("missing-argument", "{\"days\": 3}")]);
    assert_pointed(&call(r#"{"book": "Emma", "to": {"desk": 1}}"#), &[("missing-argument", "{\"desk\": 1}")]);
    assert_pointed(&call(r#"{"book": "Emma", "book": "Ida"}"#), &[("duplicate-key", "\"Ida\"")]);
    // A repair before the value moves it; behind it, it does not.
    assert_pointed(&call(r#"{"book": "Emma", "days": "ten",}"#), &[("wrong-type", "\"ten\"")]);
    assert_pointed(&call(r#"{'book': 'Emma', "days": "ten"}"#), &[("wrong-type", "\"ten\"")]);
}

#[test]
fn values_in_tags_are_pointed_at_once() {
    let text = "<tool_call>\n<function=lend>\n<parameter=book>\nEmma\n</parameter>\n<parameter=days>\nten\n</parameter>\n</function>\n</tool_call>";
    assert_pointed(text, &[("wrong-type", "ten")]);
}

#[test]
fn what_cannot_be_told_is_the_frame() {
    // The same text stands twice behind the key, in a value that was put together.
    let text = "<tool_call>\n<function=lend>\n<parameter=days>\nten\n</parameter>\n<parameter=book>\nten\n</parameter>\n</function>\n</tool_call>";
    let found = pointed(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("ten"), "{found:?}");
}
