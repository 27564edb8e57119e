//! Values: what a value is made of does not depend on slips around it.

use callgate::{Gate, Record, RenderCall};
use serde_json::{Value, json};

use crate::support::{profile, registry, rejections};
use crate::tools;

/// A name in a namespace is that of the tool, also where its schema says what the text of a tag is.
#[test]
fn a_value_is_the_same_whether_its_name_is_mangled_or_not() {
    let mut read = 0;
    for record in Record::builtin().iter().filter(|record| !record.param.is_empty()) {
        let gate = Gate::builder().profile(profile("standard")).tools(registry(&tools()));
        let gate = gate.dialect(&record.name).build().unwrap_or_else(|error| panic!("{error}"));
        for value in ["7", "  7\n", " true ", "{\"a\": 1}", "[1, 2]", "null"] {
            let arguments = json!({"path": value}).to_string();
            let render = |name: &str| {
                let call = |id| RenderCall { id, name, arguments: &arguments };
                let whole = record.render(&[call(None)], None, None);
                whole.or_else(|_| record.render(&[call(Some("a1b2c3d4e"))], None, None)).ok()
            };
            let Some((plain, mangled)) = render("read").zip(render("functions.read")) else { continue };
            let found = |text: &str| -> Vec<Value> {
                gate.parse(text).calls.iter().map(callgate::Call::value).collect()
            };
            assert_eq!(found(&plain), [json!({"path": value})], "{}: {plain}", record.name);
            // Formats with the tools' own names for tags know no other ones.
            if record.known {
                continue;
            }
            assert_eq!(found(&mangled), [json!({"path": value})], "{}: {mangled}", record.name);
            read += 1;
        }
    }
    assert!(read > 100, "only {read} were read");
}

/// Where a format writes a word of its own for a message or a thought, a call to it is none: it stands in that message.
#[test]
fn a_call_to_the_recipient_of_a_message_is_none() {
    let mut tried = Vec::new();
    for record in Record::builtin() {
        let gate = |tools: &Value| {
            let gate = Gate::builder().profile(profile("standard")).tools(registry(tools));
            gate.dialect(&record.name).build().unwrap_or_else(|error| panic!("{error}"))
        };
        let gate = gate(&tools());
        let call = RenderCall { id: None, name: "read", arguments: r#"{"path": "a"}"# };
        let Ok(text) = record.render(&[call], None, None) else { continue };
        let messages = record.text.iter().chain(&record.reasoning).map(ToString::to_string);
        let Some((head, rest)) = text.split_once("read") else { continue };
        let words: Vec<String> = messages
            .filter_map(|message| {
                let rest = message.strip_prefix(&*record.prompt).unwrap_or(&message).strip_prefix(head)?;
                let word = rest.split(|c: char| !c.is_alphanumeric()).next()?;
                Some(word.to_owned()).filter(|word| !word.is_empty())
            })
            .collect();
        for word in words {
            let text = format!("{head}{word}{rest}");
            let response = gate.parse(&text);
            assert!(response.calls.is_empty(), "{}: {text}", record.name);
            assert!(response.rejected.is_empty(), "{}: {text}: {}", record.name, rejections(&response));
            tried.push(record.name.to_string());
        }
    }
    assert!(tried.iter().any(|name| name == "muse-atem"), "{tried:?}");
}

/// A slip in the tags of a value makes no part of them a part of it: a closer in another spelling, one that a tag in the value
/// may have, an opener that stands twice. Where an opener was lost, the closer before it may be data, and is said.
#[test]
fn tags_beside_a_value_are_no_part_of_it() {
    let (mut tried, mut faults) = (0, Vec::new());
    for record in Record::builtin().iter().filter(|record| !record.param.is_empty()) {
        let call = |id| RenderCall { id, name: "read", arguments: r#"{"path": "VALUE", "lines": 42}"# };
        let whole = record.render(&[call(None)], None, None);
        let Ok(text) = whole.or_else(|_| record.render(&[call(Some("a1b2c3d4e"))], None, None)) else {
            continue;
        };
        let Some((head, tail)) = text.split_once("VALUE") else { continue };
        let (Some(open), Some(close)) = (head.rfind('<'), tail.find('>')) else { continue };
        let (open, close) = (&head[open..], &tail[..=close]);
        if !close.trim_start().starts_with("</") || !open.trim_end().ends_with('>') {
            continue;
        }
        let escaped = close.replace('<', "&lt;").replace('>', "&gt;");
        let invisible = close.replacen('<', "<\u{200b}", 1);
        let behind = &tail[close.len()..];
        let at = behind.find("42").unwrap_or(0);
        let own = format!("see {open}loud{close}");
        let damaged = [
            format!("{head}Chez Ana{escaped}{behind}"),
            format!("{head}Chez Ana{invisible}{behind}"),
            format!("{head}Chez Ana{}{behind}", close.to_uppercase()),
            format!("{head}{own}{close}{behind}"),
            format!("{head}{open}Chez Ana{close}{behind}"),
            format!("{head}Chez Ana{close}{}", &behind[at..]),
        ];
        for name in ["strict", "standard", "lenient"] {
            let gate = Gate::builder().profile(profile(name)).tools(registry(&tools()));
            let gate = gate.dialect(&record.name).build().unwrap_or_else(|error| panic!("{error}"));
            for text in &damaged {
                tried += 1;
                let response = gate.parse(text);
                let is_meant = |call: &callgate::Call| {
                    let path = call.value()["path"].as_str().unwrap_or_default().trim().to_owned();
                    path == "Chez Ana" || path == own.trim()
                };
                let is_said = *text == damaged[5] && !response.findings.is_empty();
                if !is_said && !response.calls.iter().all(is_meant) {
                    let calls: Vec<Value> = response.calls.iter().map(callgate::Call::value).collect();
                    faults.push(format!("{}, {name}: {text}: {calls:?}", record.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} of {tried}\n{}", faults.len(), faults.join("\n"));
    assert!(tried > 400, "only {tried} were tried");
}

/// Where only a guess says where a string ends, nothing of it is left out: it is the whole text, or no call comes out.
#[test]
fn a_guess_about_quotes_leaves_nothing_out() {
    let texts = [
        r#"x: "1", y: "2""#,
        r#"<a href="x", title="y">"#,
        r#"x = {"path": "y", "text": "z"}"#,
        r#"say "a", b: "c", path: "d""#,
    ];
    let (mut tried, mut faults) = (0, Vec::new());
    for record in Record::builtin() {
        let arguments = r#"{"lines": 3, "path": "VALUE"}"#;
        let call = |id| RenderCall { id, name: "read", arguments };
        let whole = record.render(&[call(None)], None, None);
        let Ok(text) = whole.or_else(|_| record.render(&[call(Some("a1b2c3d4e"))], None, None)) else {
            continue;
        };
        for name in ["standard", "lenient"] {
            let gate = Gate::builder().profile(profile(name)).tools(registry(&tools()));
            let gate = gate.dialect(&record.name).build().unwrap_or_else(|error| panic!("{error}"));
            for value in texts {
                tried += 1;
                let text = text.replace("VALUE", value);
                let response = gate.parse(&text);
                let is_whole = |call: &callgate::Call| call.value()["path"].as_str() == Some(value);
                if !response.calls.iter().all(is_whole) {
                    let calls: Vec<Value> = response.calls.iter().map(callgate::Call::value).collect();
                    faults.push(format!("{}, {name}: {text}: {calls:?}", record.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} of {tried}\n{}", faults.len(), faults.join("\n"));
    assert!(tried > 500, "only {tried} were tried");
}

/// A value that shows a whole parameter which was not given yet: it is that text, or no call comes out, since the closers
/// say that it ends where the parameter begins as well.
#[test]
fn a_value_that_shows_a_parameter_is_not_cut_there() {
    let (mut tried, mut faults) = (0, Vec::new());
    for record in Record::builtin().iter().filter(|record| !record.param.is_empty()) {
        let render = |arguments: &str| {
            let call = |id| RenderCall { id, name: "read", arguments };
            let whole = record.render(&[call(None)], None, None);
            whole.or_else(|_| record.render(&[call(Some("a1b2c3d4e"))], None, None)).ok()
        };
        // A second parameter whose type tells that it was cut, and one that takes any text.
        for (kind, second) in [("integer", "42"), ("string", "\"42\"")] {
            let mut tools = tools();
            tools[0]["parameters"]["properties"]["lines"]["type"] = json!(kind);
            let both = render(&format!(r#"{{"path": "VALUE", "lines": {second}}}"#));
            let Some((both, text)) = both.zip(render(r#"{"path": "VALUE"}"#)) else { continue };
            let Some((head, tail)) = text.split_once("VALUE") else { continue };
            let Some((_, behind)) = both.split_once("VALUE") else { continue };
            // Behind the value stand its closer, the second parameter as far as its own closer, and what ends the call.
            let Some(second) = behind.strip_suffix(tail) else { continue };
            let shared = second.bytes().zip(tail.bytes()).take_while(|(a, b)| a == b).count();
            let Some(end) = second.get(..shared).and_then(|shared| shared.rfind('>')) else { continue };
            let (closer, opener) = second.split_at(end + 1);
            let other = format!("{opener}{closer}");
            if !other.contains("42") || !other.trim_start().starts_with(['<', '[']) {
                continue;
            }
            for name in ["strict", "standard", "lenient"] {
                let gate = Gate::builder().profile(profile(name)).tools(registry(&tools));
                let gate = gate.dialect(&record.name).build().unwrap_or_else(|error| panic!("{error}"));
                for value in [format!("write{other}now"), other.clone(), format!("a {other}")] {
                    tried += 1;
                    let text = format!("{head}{value}{tail}");
                    let response = gate.parse(&text);
                    let is_whole = |call: &callgate::Call| {
                        call.value()["path"].as_str().map(str::trim) == Some(value.trim())
                    };
                    let is_told = || !response.calls.is_empty() || !rejections(&response).is_empty();
                    if !response.calls.iter().all(is_whole) || !is_told() {
                        let calls: Vec<Value> = response.calls.iter().map(callgate::Call::value).collect();
                        faults.push(format!("{}, {name}: {text}: {calls:?}", record.name));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} of {tried}\n{}", faults.len(), faults.join("\n"));
    assert!(tried > 200, "only {tried} were tried");
}

/// Where the header of a value says that it is JSON, a string in it stands between quotes, which are no part of it.
#[test]
fn a_json_string_that_is_said_to_be_json_is_that_string() {
    let (mut tried, mut faults) = (0, Vec::new());
    for record in Record::builtin() {
        let json_word = record.types.iter().find(|(word, _)| word == "other").map(|(_, spelling)| spelling);
        let string = record.types.iter().find(|(word, _)| word == "string").map(|(_, spelling)| spelling);
        let Some((json_word, string)) = json_word.zip(string) else { continue };
        let call = RenderCall { id: Some("a1b2c3d4e"), name: "read", arguments: r#"{"path": "VALUE"}"# };
        let Ok(text) = record.render(&[call], None, None) else { continue };
        let text = text.replace(&format!("\"{string}\""), &format!("\"{json_word}\""));
        let text = text.replace("VALUE", r#""say \"ls\"""#);
        for name in ["strict", "standard", "lenient"] {
            let gate = Gate::builder().profile(profile(name)).tools(registry(&tools()));
            let gate = gate.dialect(&record.name).build().unwrap_or_else(|error| panic!("{error}"));
            let response = gate.parse(&text);
            let calls: Vec<Value> = response.calls.iter().map(callgate::Call::value).collect();
            tried += 1;
            if calls != [json!({"path": "say \"ls\""})] || !response.calls[0].repairs.is_empty() {
                faults.push(format!("{}, {name}: {text}: {calls:?} {}", record.name, rejections(&response)));
            }
        }
    }
    assert!(faults.is_empty(), "{} of {tried}\n{}", faults.len(), faults.join("\n"));
    assert!(tried >= 15, "only {tried} were tried");
}
