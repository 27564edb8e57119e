//! Places: what a finding about the arguments points at: the value itself, or what lacks one, wherever that can be told.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

use callgate::{Code, Gate, Policy, Record, Registry, RenderCall};

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
    let response = gate().parse(text);
    let message = &response.rejected[0].findings[0].message;
    assert!(message.starts_with("invalid value for days: expected integer"), "{message}");
}

#[test]
fn an_empty_list_of_tools_is_said_to_be_empty() {
    let gate = Gate::builder().tools(Registry::from_json("[]").unwrap()).build().unwrap();
    let response = gate.parse("<tool_call>{\"name\": \"lend\", \"arguments\": {}}</tool_call>");
    let help = &response.rejected[0].findings[0].help;
    assert!(help.contains("the list of tools is empty") && !help.contains("Available"), "{help}");
}

#[test]
fn what_cannot_be_told_is_the_frame() {
    // The same text stands twice behind the key, in a value that was put together.
    let text = "<tool_call>\n<function=lend>\n<parameter=days>\nten\n</parameter>\n<parameter=book>\nten\n</parameter>\n</function>\n</tool_call>";
    let found = pointed(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("ten"), "{found:?}");
}

/// A call in a dialect, as text.
fn written(record: &Record, name: &str, arguments: &str) -> String {
    let call = RenderCall { id: None, name, arguments };
    let with_id = RenderCall { id: Some("call_1"), ..call };
    record.render(&[call], None, None).or_else(|_| record.render(&[with_id], None, None)).unwrap()
}

#[test]
fn in_every_dialect_a_value_is_pointed_at_and_not_its_frame() {
    let tools = r#"[{"name": "lend", "parameters": {"type": "object", "required": ["book"], "properties": {
        "book": {"type": "string"}, "days": {"type": "integer"}, "to": {"type": "object", "properties": {
        "card": {"type": "integer"}, "ways": {"type": "array", "items": {"type": "integer"}}}}}}}]"#;
    let cases = [
        (r#"{"book": "Øre \"q\" <b>", "days": "soon€"}"#, "/days", "soon€"),
        (r#"{"book": "soon", "days": "soon"}"#, "/days", "soon"),
        (r#"{"book": "Emma", "days": {"x9": 17}}"#, "/days", "x9"),
        (r#"{"book": "Emma", "to": {"card": "zz9", "ways": [1]}}"#, "/to/card", "zz9"),
        (r#"{"book": "Emma", "to": {"card": 1, "ways": [1, "q7"]}}"#, "/to/ways/1", "q7"),
    ];
    let mut faults = Vec::new();
    for record in Record::builtin() {
        let gate = Gate::builder().tools(Registry::from_json(tools).unwrap()).dialect(&record.name);
        let gate = gate.build().unwrap();
        for (arguments, path, value) in cases {
            let text = written(record, "lend", arguments);
            let response = gate.parse(&text);
            // Elements that are read by their schema alone are not always told from text.
            let findings =
                response.rejected.first().map(|rejected| &rejected.findings[..]).unwrap_or_default();
            let Some(finding) = findings.iter().find(|finding| finding.path == path) else { continue };
            let at = finding.span.map_or("", |span| &text[span.start..span.end]);
            if !at.contains(value) || at.len() > value.len() + 40 {
                faults.push(format!("{} {path}: {at:?} in {text:?}", record.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn in_every_dialect_an_unknown_name_is_pointed_at() {
    let mut count = 0;
    for record in Record::builtin() {
        let tools = r#"[{"name": "lend", "parameters": {"type": "object"}}]"#;
        let gate = Gate::builder().tools(Registry::from_json(tools).unwrap()).dialect(&record.name);
        let text = written(record, "lendd", r#"{"name": "lendd"}"#);
        let response = gate.build().unwrap().parse(&text);
        let Some(rejected) = response.rejected.first() else { continue };
        let Some(finding) = rejected.findings.iter().find(|one| one.code == Code::UnknownTool) else {
            continue;
        };
        let span = finding.span.unwrap();
        assert_eq!(
            (&text[span.start..span.end], span.start),
            ("lendd", text.find("lendd").unwrap()),
            "{text}"
        );
        count += 1;
    }
    assert!(count > 60, "{count}");
}

#[test]
fn names_keys_and_repaired_values_are_pointed_at() {
    let call = |object: &str| format!("Øn it.\n<tool_call>{object}</tool_call>");
    let repaired = r#"{name: "lend", arguments: {book: "Emma", /* Ø */ days: True}}"#;
    assert_pointed(&call(repaired), &[("wrong-type", "True")]);
    let other = r#"{"name": 5, "arguments": {"book": "5"}}"#;
    assert_pointed(&call(other), &[("bad-name", "5")]);
    assert_pointed(&call(r#"{"name": "lend", "arguments": [1]}"#), &[("args-not-object", "[1]")]);
    let text = call(r#"{"name": "lend", "arguments": {"book": "x"}, "arguments": {"book": "y"}}"#);
    let response = gate().parse(&text);
    let span = response.rejected[0].findings[0].span.unwrap();
    assert_eq!((&text[span.start..span.end], span.start), ("arguments", text.rfind("arguments").unwrap()));
}

#[test]
fn repairs_of_names_point_at_them() {
    for object in [
        r#"{"name": "functions.lend", "arguments": {"book": "x"}}"#,
        r#"{"tool": "lend", "args": {"book": "x"}}"#,
    ] {
        let text = format!("Øn it.\n<tool_call>{object}</tool_call>");
        let call = &gate().parse(&text).calls[0];
        let at: Vec<&str> =
            call.repairs.iter().map(|repair| &text[repair.span.start..repair.span.end]).collect();
        assert!(at.len() == 1 && at[0].contains("lend") && at[0].len() < 16, "{at:?}");
    }
}

#[test]
fn findings_of_a_structured_call_point_into_its_arguments() {
    let arguments = r#"{"book": "Ø", "days": "ten"}"#;
    let mut session = gate().session();
    let mut response = callgate::Response::collector();
    let calls = serde_json::json!([{"id": "c", "function": {"name": "lend", "arguments": arguments}}]);
    session.native_calls(&calls, &mut |event| response.push(event));
    session.finish(callgate::FinishReason::ToolCalls, &mut |event| response.push(event));
    let response = response.finish(callgate::FinishReason::ToolCalls);
    let rejected = &response.rejected[0];
    let span = rejected.findings[0].span.unwrap();
    assert_eq!((rejected.span, &arguments[span.start..span.end]), (None, "\"ten\""));
}

#[test]
fn a_parameter_that_is_given_twice_is_told_of_once_and_the_last_one_may_be_kept() {
    for record in Record::builtin().iter().filter(|record| record.auto) {
        let text = written(record, "lend", r#"{"book": "Emma", "zook": "Emma"}"#).replace("zook", "book");
        let tools = gate().registry().unwrap().clone();
        let builder = || Gate::builder().tools(tools.clone()).dialect(&record.name);
        let response = builder().build().unwrap().parse(&text);
        let rejected = response.rejected.first().unwrap_or_else(|| panic!("{}: {response:?}", record.name));
        let twice = rejected.findings.iter().filter(|finding| finding.code == Code::DuplicateKey);
        let at: Vec<&str> =
            twice.filter_map(|one| one.span).map(|span| &text[span.start..span.end]).collect();
        assert!(at.len() == 1 && at[0].contains("Emma"), "{}: {at:?} in {text}", record.name);
        assert!(at[0].len() < 16, "{}: {at:?} in {text}", record.name);
        // Which one counts is said by a knob of its own, whatever else may be repaired.
        let policy = Policy::default().duplicate_keys_keep_last().repair_off();
        let response = builder().policy(policy).build().unwrap().parse(&text);
        let kept = response.calls.first().unwrap_or_else(|| panic!("{}: {response:?}", record.name));
        assert_eq!(kept.repairs[0].code.word(), "duplicate-key", "{}", record.name);
    }
}
