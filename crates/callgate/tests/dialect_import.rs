//! Imported response templates: each becomes a dialect file that loads, reads its samples in every cutting, and writes what it reads.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::RenderCall;
use callgate::internal::dialect::{ImportError, import};
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate::{Gate, Record};
use proptest::prelude::{Strategy, any};
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};
use support::{Feed, calls_fault, fixture, fold, response, text};

fn tools() -> Value {
    json!([
        {"name": "look", "parameters": {"type": "object", "required": ["q"], "properties": {
            "q": {"type": "string"}, "n": {"type": "integer"}}}},
        {"name": "put", "parameters": {"type": "object", "required": ["text"], "properties": {
            "text": {"type": "string"}}}},
    ])
}

/// The file that a template becomes, its record, and the gate that listens to it alone.
fn imported(config: &Value) -> (String, Record, Gate) {
    let file = import(&config.to_string(), "imported").unwrap_or_else(|error| panic!("{error}: {config}"));
    let records = Record::parse(&file).unwrap_or_else(|error| panic!("{error}\n{file}"));
    let [record] = records.as_slice() else { panic!("one dialect was expected:\n{file}") };
    let gate = Gate::builder().tools(support::registry(&tools())).dialects(&[]).record(record.clone());
    let gate = gate.build().unwrap_or_else(|error| panic!("{error}"));
    (file, record.clone(), gate)
}

#[test]
fn every_imported_dialect_reads_its_samples() {
    for row in fixture("response_templates.jsonl") {
        let (file, _, gate) = imported(&row["config"]);
        let samples = row["samples"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(!samples.is_empty(), "{} has no samples", row["case"]);
        for sample in samples {
            let input = text(sample, "text").as_bytes();
            let feed = Feed { prompt_tail: sample["prompt_tail"].as_str(), ..Feed::new(&gate) };
            let whole = feed.whole(input);
            let read = response(&whole);
            let expected = &sample["expect"];
            let fault = calls_fault(&read, &expected["calls"]);
            assert_eq!(fault, None, "{}: {}\n{file}", row["case"], sample["text"]);
            assert_eq!(
                fold(&read.text),
                text(expected, "content"),
                "{}: {}\n{file}",
                row["case"],
                sample["text"]
            );
            assert_eq!(
                fold(&read.reasoning),
                text(expected, "reasoning"),
                "{}: {}\n{file}",
                row["case"],
                sample["text"]
            );
            assert!(read.calls.iter().all(|call| &*call.dialect == "imported"), "{}", row["case"]);
            assert_eq!(feed.bytewise(input), whole, "{}, byte by byte", row["case"]);
            for at in 1..input.len() {
                assert_eq!(feed.cut(input, &[at]), whole, "{}, cut at {at}", row["case"]);
            }
        }
    }
}

#[test]
fn every_imported_dialect_reads_what_it_writes() {
    let arguments = r#"{"q": "a \"b\" </x>", "n": 12}"#;
    for row in fixture("response_templates.jsonl") {
        let (file, record, gate) = imported(&row["config"]);
        let call = RenderCall { id: Some("k1"), name: "look", arguments };
        let written =
            record.render(&[call, RenderCall { id: Some("k2"), ..call }], Some("Text."), Some("Thought."));
        let written = written.unwrap_or_else(|error| panic!("{}: {error}\n{file}", row["case"]));
        let read = gate.parse(&written);
        let twice = json!([{"name": "look", "arguments": {"q": "a \"b\" </x>", "n": 12}}, {"name": "look", "arguments": {"q": "a \"b\" </x>", "n": 12}}]);
        assert_eq!(calls_fault(&read, &twice), None, "{}: {written}", row["case"]);
        assert_eq!(
            (read.text.as_str(), read.reasoning.as_str()),
            ("Text.", "Thought."),
            "{}: {written}",
            row["case"]
        );
    }
}

#[test]
fn what_the_form_cannot_say_is_a_remark() {
    let remarks = |case: &str| {
        let rows = fixture("response_templates.jsonl");
        let row = rows.iter().find(|row| row["case"] == case).unwrap_or_else(|| panic!("no case {case}"));
        // Joined, because a remark may be broken between any two words.
        let file = imported(&row["config"]).0;
        let lines = file.lines().filter_map(|line| line.strip_prefix("# "));
        lines.collect::<Vec<_>>().join(" ")
    };
    for (case, part) in [
        ("json between tags", "ids: the form names none"),
        ("json between tags", "missing closers: only those under `also`"),
        ("json between tags", "calls in it are dead; `ends_thought = true`"),
        ("tags with parameters", "the tool's schema says; the template does not know it"),
        ("tags with parameters", "the usual <think> is read"),
        ("channels", "text outside of every frame is text"),
        ("an envelope with an id, and other keys", "the model's are kept"),
        ("an envelope with an id, and other keys", "Keys without quotes are read as a repair"),
        ("a list as it stands, in a bare template", "two usual shapes are read"),
        ("the template starts in reasoning", "`prompt_tail` says where the prompt opened it"),
        ("the template starts in reasoning", "required fields"),
        ("keys as elements, white space dropped, a group that means nothing", "a repeated key is rejected"),
    ] {
        let said = remarks(case);
        assert!(said.contains(part), "{case}: {said}");
    }
}

/// A template with this field for calls, beside plain text.
fn with_calls(calls: Value) -> Value {
    json!({"response_template": {"fields": {"content": {}, "tool_calls": calls}}})
}

/// A good field for calls with these keys on top; null removes one.
fn changed(changes: Value) -> Value {
    let mut field = json!({"open_pattern": "<c (?P<name>\\w+)>", "close": "</c>", "repeats": true, "content": "json",
        "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}});
    for (key, value) in changes.as_object().into_iter().flatten() {
        match value {
            Value::Null => drop(field.as_object_mut().and_then(|field| field.remove(key))),
            value => field[key] = value.clone(),
        }
    }
    with_calls(field)
}

/// The same for calls with tags.
fn tags(args: Value) -> Value {
    changed(json!({"content": "xml-inline", "content_args": args}))
}

#[test]
fn what_cannot_be_imported_is_told_where_and_why() {
    let function = |name: &str, arguments: Value| json!({"function": {"name": name, "arguments": arguments}});
    let fields = |fields: Value| json!({"response_template": {"fields": fields}});
    let calls = "/response_template/fields/tool_calls";
    let at = |key: &str| format!("{calls}/{key}");
    let good_tag = "<p=(?P<key>[^>]+)>(?P<value>.*?)</p>";
    for (config, code, place, message) in [
        (json!([]), "wrong-type", String::new(), "a list"),
        (json!({}), "no-template", String::new(), "no `response_template`"),
        (json!({"response_schema": {}}), "old-form", "/response_schema".to_owned(), "older form"),
        (json!({"response_template": 1}), "wrong-type", "/response_template".to_owned(), "a number"),
        (json!({"response_template": {}}), "no-calls", "/response_template/fields".to_owned(), "no `fields`"),
        (fields(json!([])), "wrong-type", "/response_template/fields".to_owned(), "a list"),
        (
            fields(json!({"content": {}})),
            "no-calls",
            "/response_template/fields".to_owned(),
            "no field holds calls",
        ),
        (
            json!({"response_template": {"version": 2, "fields": {}}}),
            "version",
            "/response_template/version".to_owned(),
            "version 2",
        ),
        (
            json!({"response_template": {"field": {}}}),
            "unknown-key",
            "/response_template/field".to_owned(),
            "unknown key `field`",
        ),
        (
            fields(json!({"mood": {"open": "<m>"}})),
            "unknown-field",
            "/response_template/fields/mood".to_owned(),
            "no place for the field `mood`",
        ),
        (
            fields(json!({"content": {}, "tool_calls": {"content": "json"}})),
            "two-implicit",
            "/response_template/fields".to_owned(),
            "both have no opener",
        ),
        (
            fields(json!({"content": {"content": "json"}, "tool_calls": {"open": "<c>", "content": "json"}})),
            "content",
            "/response_template/fields/content/content".to_owned(),
            "as `text` only",
        ),
        (
            fields(json!({"content": {"content": "int"}, "tool_calls": {"open": "<c>", "content": "json"}})),
            "content",
            "/response_template/fields/content/content".to_owned(),
            "as `text` only",
        ),
        (
            fields(
                json!({"content": {"transform": {"a": "{content}"}}, "tool_calls": {"open": "<c>", "content": "json"}}),
            ),
            "transform",
            "/response_template/fields/content/transform".to_owned(),
            "cannot be transformed",
        ),
        (
            fields(
                json!({"thinking": {"close": "<|end|>"}, "tool_calls": {"open": "<c>", "content": "json"}}),
            ),
            "no-opener",
            "/response_template/fields/thinking/close".to_owned(),
            "without an opener",
        ),
        (
            fields(
                json!({"thinking": {"open_pattern": "<(?P<kind>\\w+)>"}, "tool_calls": {"open": "<c>", "content": "json"}}),
            ),
            "pattern",
            "/response_template/fields/thinking/open_pattern".to_owned(),
            "`kind` has no place",
        ),
        (
            fields(
                json!({"thinking": {"open": "<t>", "close": ["<e>", "<f>"]}, "reasoning": {"open": "<r>", "close": ["<e>", "<f>", "<g>"]},
                "content": {"open": "<g>", "close": ["<e>", "<f>"]}, "tool_calls": {"open": "<c>", "content": "json"}}),
            ),
            "conflict",
            "/response_template/fields/reasoning/close".to_owned(),
            "closes two fields",
        ),
        (changed(json!({"opne": "<c>"})), "unknown-key", at("opne"), "unknown key `opne`"),
        (changed(json!({"open": "<c>"})), "both-markers", calls.to_owned(), "are both given"),
        (changed(json!({"close": ""})), "empty-marker", at("close"), "empty"),
        (changed(json!({"close": []})), "empty-marker", at("close"), "empty"),
        (changed(json!({"close": [1]})), "wrong-type", at("close"), "a number"),
        (changed(json!({"open_pattern": 1})), "wrong-type", at("open_pattern"), "a number"),
        (
            changed(json!({"open_pattern": "<c (?P<name>\\w+)[^>]*>"})),
            "pattern",
            at("open_pattern"),
            "no group names",
        ),
        (changed(json!({"open_pattern": "(?i)<c (?P<name>\\w+)>"})), "pattern", at("open_pattern"), "flags"),
        (
            changed(json!({"open_pattern": "<c(?: (?P<name>\\w+))?>"})),
            "pattern",
            at("open_pattern"),
            "may be missing",
        ),
        (
            changed(json!({"open_pattern": "<c (?P<nr>\\d+) (?P<of>\\d+) (?P<name>\\w+)>"})),
            "pattern",
            at("open_pattern"),
            "says nothing about the call",
        ),
        (changed(json!({"open_pattern": "<c (?P<name>a|b)>"})), "pattern", at("open_pattern"), "fixed words"),
        (
            changed(
                json!({"open_pattern": "<(?P<id>a) (?P<name>\\w+)>", "transform": {"id": "{id}", "function": {"name": "{name}", "arguments": "{content}"}}}),
            ),
            "pattern",
            at("open_pattern"),
            "fixed words",
        ),
        (
            changed(json!({"open_pattern": "<{name} (?P<name>\\w+)>"})),
            "pattern",
            at("open_pattern"),
            "would be a placeholder",
        ),
        (
            changed(json!({"open_pattern": "<c (?P<name>\\w+)>$x"})),
            "pattern",
            at("open_pattern"),
            "behind the end",
        ),
        (
            changed(json!({"close": null, "close_pattern": "</(?P<x>\\w+)>"})),
            "pattern",
            at("close_pattern"),
            "no place here",
        ),
        (changed(json!({"content": "yaml"})), "content", at("content"), "`yaml`"),
        (changed(json!({"content": 1})), "wrong-type", at("content"), "a number"),
        (changed(json!({"content": "text"})), "content", at("content"), "plain text"),
        (changed(json!({"content": "float"})), "content", at("content"), "plain text"),
        (changed(json!({"content": "kv-lines"})), "content", at("content"), "line break ends a value"),
        (changed(json!({"repeats": "yes"})), "wrong-type", at("repeats"), "a string"),
        (changed(json!({"content_args": []})), "wrong-type", at("content_args"), "a list"),
        (
            changed(json!({"content_args": {"unquoted": true}})),
            "unknown-key",
            at("content_args/unquoted"),
            "unknown key",
        ),
        (
            changed(json!({"content_args": {"unquoted_keys": 1}})),
            "wrong-type",
            at("content_args/unquoted_keys"),
            "a number",
        ),
        (
            changed(json!({"content_args": {"string_delims": []}})),
            "wrong-type",
            at("content_args/string_delims"),
            "a list",
        ),
        (
            changed(json!({"content_args": {"string_delims": ["|"]}})),
            "wrong-type",
            at("content_args/string_delims"),
            "a string",
        ),
        (
            changed(json!({"content_args": {"string_delims": [["«", "»"]]}})),
            "content",
            at("content_args/string_delims"),
            "different marks",
        ),
        (
            changed(json!({"content_args": {"string_delims": [["|", "|"], ["~", "~"]]}})),
            "content",
            at("content_args/string_delims"),
            "several kinds",
        ),
        (
            changed(
                json!({"transform": null, "open_pattern": "<c>", "content_args": {"string_delims": [["|", "|"]]}}),
            ),
            "content",
            at("content_args/string_delims"),
            "the whole call is one object",
        ),
        (
            changed(json!({"transform": null, "transform_each": true})),
            "transform",
            at("transform_each"),
            "no `transform`",
        ),
        (changed(json!({"transform": "{name}"})), "transform", at("transform"), "does not make a call"),
        (changed(json!({"transform": []})), "transform", at("transform"), "not one call"),
        (
            changed(json!({"transform": {"function": {"name": "{name}"}}})),
            "transform",
            at("transform"),
            "no `arguments`",
        ),
        (
            changed(json!({"transform": function("f-{name}", json!("{content}"))})),
            "transform",
            at("transform"),
            "`name` is not one placeholder",
        ),
        (
            changed(json!({"transform": function("{name}", json!({"code": "{content}"}))})),
            "transform",
            at("transform"),
            "`arguments` is not one placeholder",
        ),
        (
            changed(json!({"transform": function("{name}", json!("{content.args}"))})),
            "transform",
            at("transform"),
            "outside of the content",
        ),
        (
            changed(json!({"transform": function("{tool}", json!("{content}"))})),
            "transform",
            at("transform"),
            "no member of the call's object",
        ),
        (
            changed(json!({"transform": function("{content.a.b.c}", json!("{content.d}"))})),
            "transform",
            at("transform"),
            "no member",
        ),
        (
            changed(json!({"open_pattern": "<c>", "transform": "{content}", "transform_each": true})),
            "transform",
            at("transform"),
            "which members",
        ),
        (tags(json!({})), "content", at("content_args/tag_pattern"), "needs `tag_pattern`"),
        (tags(json!({"tag_pattern": 1})), "wrong-type", at("content_args/tag_pattern"), "a number"),
        (
            tags(json!({"tag_pattern": "<p>(?P<value>.*?)</p>"})),
            "pattern",
            at("content_args/tag_pattern"),
            "no group `key`",
        ),
        (
            tags(json!({"tag_pattern": "<(?P<key>\\w+)/>"})),
            "pattern",
            at("content_args/tag_pattern"),
            "no group `value`",
        ),
        (
            tags(json!({"tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)\\n"})),
            "pattern",
            at("content_args/tag_pattern"),
            "nothing visible closes",
        ),
        (
            tags(json!({"tag_pattern": "<(?P<key>\\w+)>\\s*(?P<value>.*?)</p>"})),
            "pattern",
            at("content_args/tag_pattern"),
            "one side of the value only",
        ),
        (
            tags(json!({"tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)=(?P=value)</p>"})),
            "pattern",
            at("content_args/tag_pattern"),
            "the value stands twice",
        ),
        (tags(json!({"tag_pattern": "(?<!a)<"})), "pattern", at("content_args/tag_pattern"), "looks back"),
        (
            tags(json!({"tag_pattern": good_tag, "value_parser": "json"})),
            "wrong-type",
            at("content_args/value_parser"),
            "a string",
        ),
        (
            tags(json!({"tag_pattern": good_tag, "value_parser": {"name": "xml-inline"}})),
            "content",
            at("content_args/value_parser"),
            "tags or lines of their own",
        ),
        (
            changed(
                json!({"content": "xml-inline", "content_args": {"tag_pattern": good_tag}, "transform": null}),
            ),
            "transform",
            at("transform"),
            "the name has to come from the opener",
        ),
        (
            fields(
                json!({"content": {"open": "<t>", "close": "\n"}, "tool_calls": {"open": "<c>", "content": "json"}}),
            ),
            "does-not-load",
            "/response_template".to_owned(),
            "white space only",
        ),
    ] {
        let Err(error) = import(&config.to_string(), "x") else { panic!("{config} was imported") };
        assert_eq!((error.code, error.place.as_str()), (code, place.as_str()), "{config}: {error}");
        assert!(error.message.contains(message), "{config}: {error}");
        assert!(!error.help.is_empty(), "{config}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

/// Pieces of patterns, good and bad.
const FRAGMENTS: &[&str] = &[
    "<a>",
    "</a>",
    "<b ",
    "é｜",
    "x",
    " ",
    "\\n",
    "\\s*",
    "(?:<u>|<v>)",
    "(?:<w>)?",
    "(?P<id>\\d+):",
    "|</c>",
    "|$",
    "<a>",
    "</a>",
    "<d>",
    "(?=<p)",
    "{name}",
    "(",
    ")",
    "?",
    "*",
    "{2}",
    "[^>",
    ".",
    "^",
    "\\",
];

#[test]
fn any_pattern_is_imported_or_rejected_and_what_is_imported_reads_what_it_writes() {
    let soup = || {
        proptest::collection::vec(proptest::sample::select(FRAGMENTS), 0..4)
            .prop_map(|pieces| pieces.concat())
    };
    let imported = AtomicUsize::new(0);
    support::hold(1500, (soup(), soup(), soup(), any::<bool>()), |(open, close, tag, has_tags)| {
        let open = format!("<o {open}(?P<name>\\w+)>");
        let tag = format!("<p (?P<key>\\w+)>{tag}(?P<value>.*?)</p>");
        let calls = json!({"open_pattern": open, "close_pattern": close, "repeats": true,
            "content": if has_tags { "xml-inline" } else { "json" },
            "content_args": if has_tags { json!({"tag_pattern": tag}) } else { json!({}) },
            "transform": {"function": {"name": "{name}", "arguments": "{content}"}}});
        let Ok(file) = import(&with_calls(calls).to_string(), "x") else { return Ok(()) };
        let record =
            Record::parse(&file).map_err(|error| TestCaseError::fail(format!("{error}\n{file}")))?.remove(0);
        imported.fetch_add(1, Ordering::Relaxed);
        let gate =
            Gate::builder().tools(support::registry(&tools())).dialects(&[]).record(record.clone()).build();
        let gate = gate.map_err(|error| TestCaseError::fail(format!("{error}\n{file}")))?;
        let call = RenderCall { id: None, name: "look", arguments: r#"{"q": "rain", "n": 2}"# };
        let Ok(written) = record.render(&[call], None, None) else { return Ok(()) };
        let expected = json!([{"name": "look", "arguments": {"q": "rain", "n": 2}}]);
        let fault = calls_fault(&gate.parse(&written), &expected);
        support::obeyed(fault.map(|fault| format!("{fault}\n{written}\n{file}")))
    });
    let imported = imported.into_inner();
    assert!(imported > 100, "only {imported} patterns were imported");
}

#[test]
fn a_broken_file_and_a_bad_name_are_told() {
    let error: ImportError = import("{\n  \"a\": ,", "x").unwrap_err();
    assert_eq!((error.code, error.place.as_str()), ("not-json", "line 2, column 8"));
    let good = with_calls(json!({"open": "<c>", "content": "json", "repeats": true})).to_string();
    for name in ["", "My dialect", "a]\n[b"] {
        assert_eq!(import(&good, name).unwrap_err().code, "name", "{name:?}");
    }
    assert!(import(&good, "my-dialect-2").is_ok());
}
