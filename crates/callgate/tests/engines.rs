//! Forms that other engines read: generated in every dialect that can write them.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::internal::dialect::Slot;
use callgate::{Gate, Profile, Record, RenderCall, Response};
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
            let got = standard.calls.first().map(|_| only(&standard, &text).1);
            assert_eq!(got, wanted, "{text}");
            assert!(got.is_some() || !standard.rejected.is_empty(), "{text}");
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

/// A lenient gate, with these tools or without a list of them.
fn lenient(record: &Record, tools: Option<&Value>) -> Gate {
    let profile = Profile::named("lenient").unwrap_or_else(|| panic!("no such profile"));
    let builder = Gate::builder().profile(profile).dialect(&record.name);
    let builder = match tools {
        Some(tools) => builder.tools(registry(tools)),
        None => builder,
    };
    builder.build().unwrap_or_else(|error| panic!("{}: {error}", record.name))
}

/// Two calls as this dialect writes them.
fn two(record: &Record, arguments: [&str; 2]) -> Option<String> {
    let write = |ids: [Option<&str>; 2]| {
        let call = |i: usize| RenderCall { id: ids[i], name: "plan", arguments: arguments[i] };
        record.render(&[call(0), call(1)], None, None).ok()
    };
    write([Some("a1b2c3d4e"), Some("f5g6h7i8j")]).or_else(|| write([None, None]))
}

fn values(response: &Response) -> Vec<Value> {
    response.calls.iter().map(|call| serde_json::from_str(&call.arguments).unwrap_or_default()).collect()
}

#[test]
fn a_cut_off_value_that_shows_the_end_of_its_frame_is_no_call() {
    let tools = tool(&json!({"note": {"type": "string"}}));
    let mut count = 0;
    for record in Record::builtin() {
        let Some(text) = written(record, "plan", &json!({"note": "QQQ"})) else { continue };
        let Some((head, tail)) = text.split_once("QQQ") else { continue };
        let Some(marker) = tail.rfind('<').map(|at| tail[at..].trim()) else { continue };
        if record.lines || record.known || !marker.ends_with('>') || marker.len() < 4 {
            continue;
        }
        let gates = [lenient(record, Some(&tools)), lenient(record, None)];
        for rest in ["", " and more", "\nand\nmore\n"] {
            let cut = format!("{head}QQQ{marker}{rest}");
            count += 1;
            for response in gates.iter().map(|gate| gate.parse(&cut)) {
                let wrong = response.calls.iter().find(|call| call.arguments.contains(marker));
                assert!(wrong.is_none(), "{}: {cut:?} {wrong:?}", record.name);
                let is_said = !response.rejected.is_empty() || !response.findings.is_empty();
                assert!(is_said || !response.calls.is_empty(), "{}: {cut:?}", record.name);
            }
        }
    }
    assert!(count >= 100, "only {count}");
}

#[test]
fn without_a_list_of_tools_a_bare_word_is_no_name() {
    let tools = tool(&json!({"note": {"type": "string"}}));
    let mut count = 0;
    for record in Record::builtin() {
        let Some(text) = written(record, "plan", &json!({"note": "x"})) else { continue };
        let bare = text.replacen("\"plan\"", "plan", 1);
        // Elsewhere the quotes belong to a tag.
        let is_key = text.contains("\"plan\":");
        if bare == text || is_key || record.known || !text.contains("{\"") || text.contains("=\"plan\"") {
            continue;
        }
        count += 1;
        let open = lenient(record, None).parse(&bare);
        assert!(open.calls.is_empty(), "{}: {bare} {:?}", record.name, open.calls);
        for call in read("lenient", record, &tools, &bare).calls {
            assert_eq!((&*call.name, call.repairs.is_empty()), ("plan", false), "{bare}");
        }
    }
    assert!(count >= 15, "only {count}");
}

#[test]
fn an_element_that_is_no_call_takes_none_with_it() {
    let tools = tool(&json!({"note": {"type": "string"}}));
    let (one, other) = (r#"{"note":"a"}"#, r#"{"note":"b"}"#);
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| record.join.to_string().trim() == ",") {
        let Some(text) = two(record, [one, other]) else { continue };
        // Without a marker a list is data.
        let is_list = text.contains('[') && !text.starts_with("[{");
        let Some(at) = text.rfind(", {").filter(|_| is_list) else { continue };
        let gate = lenient(record, Some(&tools));
        for stranger in ["\"nothing\"", "\"a, {b\"", "12", "-1.5"] {
            let text = format!("{}, {stranger}{}", &text[..at], &text[at..]);
            count += 1;
            let response = gate.parse(&text);
            assert_eq!(values(&response), [json!({"note": "a"}), json!({"note": "b"})], "{text}");
            assert_eq!(response.rejected.len(), 1, "{text}");
        }
    }
    assert!(count >= 8, "only {count}");
}

#[test]
fn two_calls_may_stand_between_one_pair_of_tokens() {
    let tools = tool(&json!({"note": {"type": "string"}, "days": {"type": "integer"}}));
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| record.suffix.is_empty()) {
        let [call] = &record.call[..] else { continue };
        if call.has(Slot::Index) {
            continue;
        }
        let Some((token, word)) = call.head().split_once('>') else { continue };
        let closer = call.literals().last().unwrap_or_default().trim();
        if !token.contains('|') || word.trim().is_empty() || word.contains('<') || !closer.ends_with('>') {
            continue;
        }
        let Some(text) = two(record, [r#"{"note":"a"}"#, r#"{"days":3,"note":"b"}"#]) else { continue };
        let Some((first, second)) = text.split_once(closer) else { continue };
        let Some(second) = second.trim_start().strip_prefix(&format!("{token}>")) else { continue };
        for between in ["", " ", "\n", ", "] {
            let joined = format!("{first}{between}{second} So.");
            count += 1;
            for profile in ["standard", "lenient"] {
                let response = read(profile, record, &tools, &joined);
                let wanted = [json!({"note": "a"}), json!({"days": 3, "note": "b"})];
                assert_eq!(values(&response), wanted, "{joined}");
                assert_eq!(response.text.trim(), "So.", "{joined}");
                assert!(response.calls.iter().any(|call| !call.repairs.is_empty()), "{joined}");
            }
        }
    }
    assert!(count >= 4, "only {count}");
}

#[test]
fn what_the_schema_accepts_as_text_alone_is_text() {
    let but = |kind: &str| json!({"type": ["string", kind], "not": {"type": kind}});
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| !record.param.is_empty()) {
        for (schema, value) in [
            (but("null"), "null"),
            (but("boolean"), "true"),
            (but("integer"), "5"),
            (json!({"oneOf": [{"type": "null"}, {}]}), "null"),
        ] {
            let tools = tool(&json!({"note": schema, "city": {"type": "string"}}));
            let Some(text) = written(record, "plan", &json!({"note": value, "city": "Oslo"})) else {
                continue;
            };
            let response = read("standard", record, &tools, &text);
            assert_eq!(only(&response, &text).1, json!({"note": value, "city": "Oslo"}), "{text}");
            assert!(response.calls[0].coercions.len() <= 1, "{text}");
            count += 1;
        }
    }
    assert!(count >= 40, "only {count}");
}

#[test]
fn character_data_ends_at_its_end_and_nowhere_else() {
    let tools = tool(&json!({"note": {"type": "string"}, "city": {"type": "string"}}));
    let mut count = 0;
    for record in Record::builtin() {
        let has_data = |literal: &str| literal.contains("<![CDATA[");
        if !record.param.iter().any(|param| param.literals().any(has_data)) {
            continue;
        }
        let Some(text) = written(record, "plan", &json!({"note": "QQQ"})) else { continue };
        let Some((head, tail)) = text.split_once("QQQ") else { continue };
        let next = written(record, "plan", &json!({"city": "Rome"})).unwrap_or_default();
        let swallowed = next.split_once("Rome").map_or("", |(head, _)| &head[head.rfind('<').unwrap_or(0)..]);
        let closer = tail.split_inclusive('>').next().unwrap_or_default();
        for data in [
            closer.to_owned(),
            format!("a {closer}"),
            format!("a{closer}{swallowed}b"),
            format!("a{tail}b"),
            tail.to_owned(),
            "a]]b > c".to_owned(),
        ] {
            let text = format!("{head}<![CDATA[{data}]]>{tail}");
            count += 1;
            for response in [read("standard", record, &tools, &text), lenient(record, None).parse(&text)] {
                assert_eq!(only(&response, &text).1, json!({"note": data}), "{text}");
            }
        }
    }
    assert!(count >= 6, "only {count}");
}

#[test]
fn the_closer_of_what_holds_a_value_may_stand_without_its_own() {
    let properties = json!({
        "place": {"type": "object", "properties": {
            "city": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}},
        "days": {"type": "integer"},
    });
    let tools = tool(&properties);
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| record.item.is_some() && !record.known) {
        let gate = lenient(record, Some(&tools));
        for (arguments, value) in [
            (json!({"place": {"city": "Oslo"}}), "Oslo"),
            (json!({"place": {"city": "Oslo"}, "days": 3}), "Oslo"),
            (json!({"place": {"tags": ["a", "QQ"]}, "days": 3}), "QQ"),
            (json!({"place": {"city": "Oslo", "tags": []}, "days": 3}), ""),
        ] {
            let Some(text) = written(record, "plan", &arguments) else { continue };
            // Where all closers are alike, nothing tells which one is missing.
            if !text.contains("</place>") {
                continue;
            }
            let head = if value.is_empty() { "<tags>" } else { value };
            let Some(at) = text.find(head).map(|at| at + head.len()) else { continue };
            let Some(end) =
                text[at..].find("</").and_then(|start| Some(start + text[at + start..].find('>')?))
            else {
                continue;
            };
            let lacking = format!("{}{}", &text[..at], &text[at + end + 1..]);
            let response = gate.parse(&lacking);
            assert_eq!(only(&response, &lacking).1, arguments, "{lacking}");
            assert!(!response.calls[0].repairs.is_empty(), "{lacking}");
            count += 1;
        }
    }
    assert!(count >= 4, "only {count}");
}

#[test]
fn a_held_value_of_which_neither_text_nor_end_was_written_is_none() {
    let arguments = json!({"place": {"city": "QQQ"}, "days": 3});
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| record.item.is_some() && !record.known) {
        let Some(text) = written(record, "plan", &arguments).filter(|text| text.contains("</place>")) else {
            continue;
        };
        let Some((head, tail)) = text.split_once("QQQ") else { continue };
        let Some(end) = tail.find("</city>") else { continue };
        let lacking = format!("{head}{}", &tail[end + "</city>".len()..]);
        for (kind, wanted) in [
            (json!({"type": "string"}), None),
            (json!({}), None),
            (json!({"type": ["string", "array"]}), None),
            (json!({"type": "array"}), Some(json!([]))),
            (json!({"type": "object"}), Some(json!({}))),
        ] {
            let place = json!({"type": "object", "properties": {"city": kind}});
            let response = read(
                "lenient",
                record,
                &tool(&json!({"place": place, "days": {"type": "integer"}})),
                &lacking,
            );
            let got = values(&response).first().map(|call| call["place"]["city"].clone());
            assert_eq!(got, wanted, "{lacking}");
            assert!(wanted.is_some() || !response.rejected.is_empty(), "{lacking}");
            count += 1;
        }
    }
    assert!(count >= 5, "only {count}");
}

#[test]
fn without_a_list_of_tools_letters_of_any_language_make_a_name() {
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| !record.object.is_empty() && !record.known) {
        for (name, is_name) in
            [("获取天气", true), ("größe_2", true), ("погода", true), ("a b", false), ("x🦀", false)]
        {
            let Some(text) = written(record, "plan", &json!({"note": "x"})) else { continue };
            let renamed = text.replacen("\"plan\"", &format!("\"{name}\""), 1);
            // In a header a name is a word of the format.
            if renamed == text || renamed.contains("plan") || renamed.contains(&format!("=\"{name}\"")) {
                continue;
            }
            count += 1;
            let names: Vec<String> = lenient(record, None)
                .parse(&renamed)
                .calls
                .iter()
                .map(|call| call.name.to_string())
                .collect();
            assert_eq!(names.contains(&name.to_owned()), is_name, "{}: {renamed}", record.name);
        }
    }
    assert!(count >= 40, "only {count}");
}

#[test]
fn a_value_that_had_only_begun_is_not_closed() {
    let tools = tool(&json!({"note": {"type": "string"}}));
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| !record.param.is_empty() && !record.known) {
        let Some(text) = written(record, "plan", &json!({"note": "QQQ"})) else { continue };
        let Some((head, _)) = text.split_once("QQQ").filter(|_| !record.lines) else { continue };
        let gate = lenient(record, Some(&tools));
        for blank in ["", "\n", "  \n"] {
            let cut = format!("{}{blank}", head.trim_end());
            let response = gate.parse(&cut);
            assert!(response.calls.is_empty(), "{}: {cut:?} {:?}", record.name, response.calls);
            count += 1;
        }
    }
    assert!(count >= 30, "only {count}");
}

#[test]
fn what_follows_the_end_of_a_value_may_be_the_rest_of_it() {
    let tools = tool(&json!({"note": {"type": "string"}}));
    let mut count = 0;
    for record in Record::builtin().iter().filter(|record| !record.param.is_empty() && !record.known) {
        let Some(text) = written(record, "plan", &json!({"note": "QQQ"})) else { continue };
        let Some((_, tail)) = text.split_once("QQQ").filter(|_| !record.lines) else { continue };
        let call_end = record.call[0].literals().last().unwrap_or_default();
        let Some(end) = tail.find(call_end.trim()).filter(|_| call_end.trim().len() > 3) else { continue };
        let shown = &tail[..end + call_end.trim().len()];
        let text = text.replacen("QQQ", &format!("QQQ{shown} and the rest"), 1);
        if record.close.iter().all(|close| close.is_empty()) {
            continue;
        }
        count += 1;
        for call in lenient(record, Some(&tools)).parse(&text).calls {
            assert!(call.arguments.contains("and the rest"), "{}: {text}", record.name);
        }
    }
    assert!(count >= 5, "only {count}");
}
