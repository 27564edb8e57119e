//! What nothing reads: text that looks like a call is said to, whatever the profile, and text that only speaks of tools is not.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::{Code, Event, Finding, Gate, Profile, Record, RenderCall, Response};
use serde_json::{Value, json};
use support::guard::in_parallel;
use support::{Feed, dialect_gate, excerpt, gate, profile, registry, response};

fn tools() -> Value {
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    json!([
        {"name": "book_room", "parameters": object(json!({"room": {"type": "string"}, "guests": {"type": "integer"}}))},
        {"name": "save_note", "parameters": object(json!({"text": {"type": "string"}}))},
        {"name": "ping", "parameters": object(json!({}))},
    ])
}

fn looks(response: &Response) -> Vec<&Finding> {
    response.findings.iter().filter(|finding| finding.code == Code::LooksLikeACall).collect()
}

/// What is said about a text that is fed whole and byte by byte.
fn said(gate: &Gate, text: &str) -> Option<(String, String)> {
    let feed = Feed::new(gate);
    let whole = feed.whole(text.as_bytes());
    assert_eq!(feed.bytewise(text.as_bytes()), whole, "cut otherwise, read otherwise: {text}");
    let response = response(&whole);
    assert!(response.calls.is_empty(), "{text} was read: {:?}", response.calls);
    let looks = looks(&response);
    assert!(looks.len() <= 1, "{text}: {looks:?}");
    let span = looks.first()?.span.unwrap_or_else(|| panic!("{text}: no place"));
    Some((looks[0].message.clone().into_owned(), text[span.start..span.end].to_owned()))
}

#[test]
fn the_dialect_that_would_read_it_is_named() {
    let gate = gate("standard", &tools());
    for (text, dialect, place) in [
        (r#"{"name": "book_room", "arguments": {"room": "blue"}}"#, "json-bare", "book_room"),
        (r#"Sure. {"name": "book_room", "arguments": {"room": "blue"}}"#, "json-bare", "book_room"),
        (r#"{"name": "book_room", "parameters": {"room": "blue"}}"#, "llama3-json", "book_room"),
        ("[book_room(room=\"blue\", guests=3)]", "pythonic", "book_room"),
        ("Action: book_room\nAction Input: {\"room\": \"blue\"}", "react", "book_room"),
        ("TOOL_CALL: book_room\nARGS: {\"room\": \"blue\"}", "tool-call-args", "book_room"),
        ("```json\n{\"tool\": \"book_room\", \"arguments\": {}}\n```", "fenced-json", "book_room"),
    ] {
        let wanted = format!("looks like a call of {dialect}, a dialect that does not listen");
        assert_eq!(said(&gate, text), Some((wanted, place.to_owned())), "{text}");
    }
    let two = "{\"name\": \"book_room\", \"arguments\": {\"room\": \"a\"}}\n{\"name\": \"ping\", \"arguments\": {}}";
    let response = gate.parse(two);
    assert_eq!(looks(&response)[0].count, 2);
    assert!(
        said(&gate, two).is_some_and(|(_, place)| place.starts_with("book_room") && place.ends_with("ping"))
    );
}

#[test]
fn a_name_that_heads_a_response_is_said() {
    let gate = |dialect: &str| dialect_gate(dialect, &tools());
    for (dialect, text, expected) in [
        ("functionary-v32", "ping\n```json\n{\"q\": 1}\n```", true),
        ("functionary-v32", "ping\nHere it is: {\"q\": 1}", true),
        ("functionary-v32", "ping at this\n{\"q\": 1}", false),
        ("glm45", "ping", true),
        ("glm45", "ping\n", true),
        ("glm45", "ping\nout", false),
        ("glm45", "I ping you", false),
    ] {
        assert_eq!(said(&gate(dialect), text).is_some(), expected, "{dialect}: {text:?}");
    }
}

#[test]
fn what_no_dialect_reads_is_said_too() {
    let gate = gate("standard", &tools());
    for text in [
        "<go book_room=\"1\"><use=save_note>",
        "{{\"tool\": \"save_note\"",
        "call:save_note{text:a}",
        "[Running tool=\"book_room\" room=\"blue\"]",
        "{\"name\": \"functions.book_room:0\", \"arguments\": {\"room\": \"blue\"}}",
        "{\"name\": \"book_room()\", \"arguments\": {\"room\": \"blue\"}}",
        "{\"name\": \"book_room\", \"description\": \"Books.\", \"arguments\": {\"room\": \"blue\"}}",
        "ToolCall(id='call_1', function=Function(arguments='{}', name='book_room'), type='function')",
    ] {
        assert!(said(&gate, text).is_some(), "{text}");
    }
}

/// A token of a format right behind the name of a tool says that it was called.
#[test]
fn a_name_before_a_token_of_its_format_is_said() {
    for (dialect, text, place) in [
        ("mistral-v11", "book_room[ARGS]{\"room\": \"blue\"}", "book_room"),
        ("harmony", "commentary to=functions.book_room <|constrain|>json<|message|>{}<|call|>", "book_room"),
        ("harmony", "I ask book_room.<|end|>", ""),
    ] {
        let said = said(&dialect_gate(dialect, &tools()), text).map(|(_, place)| place);
        assert_eq!(said.is_some(), !place.is_empty(), "{dialect}: {text}");
        assert!(said.unwrap_or_default().ends_with(place), "{dialect}: {text}");
    }
}

/// The forms of a call that no opener is left of, with a name that is registered.
fn forms() -> Vec<String> {
    let mut forms = Vec::new();
    for key in ["name", "tool", "tool_name", "function", "action", "nme"] {
        for arguing in ["arguments", "parameters", "args", "input"] {
            forms.push(format!("\"{key}\": \"book_room\", \"{arguing}\": {{\"room\": \"blue\"}}}}"));
        }
    }
    let labels = ["Action: ", "ction: ", "Action ", "✿FUNCTION✿ ", "TOOL_CALL ", "xOOL: ", "Action: `"];
    for label in labels {
        for below in ["Action Input: ", "✿ARGS✿ ", "ARGS: ", "Parameters:\n"] {
            let end = if label.ends_with('`') { "`" } else { "" };
            forms.push(format!("{label}book_room{end}\n{below}{{\"room\": \"blue\"}}"));
        }
    }
    for (before, after) in [
        ("function name=\"", "\"><param name=\"room\">blue</param></function>"),
        ("call ", "{\"room\": \"blue\"}"),
        ("tool: ", ">{\"room\": \"blue\"}</tool>"),
        ("<tool ", ">{\"room\": \"blue\"}</tool>"),
        ("TOOL_CALLS]", "[ARGS]{\"room\": \"blue\"}"),
        ("[TOOL_ CALLS]", "[ARGS]{\"room\": \"blue\"}"),
        ("<|python_tag|", ".call(room=\"blue\")"),
    ] {
        forms.push(format!("{before}book_room{after}"));
    }
    forms
}

/// Whether a finding or rejection touches the name, or a call of it came out.
fn is_answered(response: &Response, text: &str) -> bool {
    let name = text.rfind("book_room").unwrap_or_default();
    // What follows it may be a marker that is said by itself.
    let touches = |start: usize, end: usize| start <= name + "book_room".len() && name <= end;
    response.calls.iter().any(|call| call.name == "book_room")
        || response
            .rejected
            .iter()
            .any(|rejected| rejected.span.is_some_and(|span| touches(span.start, span.end)))
        || response
            .findings
            .iter()
            .any(|finding| finding.span.is_some_and(|span| touches(span.start, span.end)))
}

/// Says so if a text is read otherwise byte by byte than as a whole.
fn read_otherwise(record: &Record, feed: &Feed<'_>, text: &str, whole: &[Event<'static>]) -> Option<String> {
    let is_other = feed.bytewise(text.as_bytes()) != whole;
    is_other.then(|| format!("{} reads otherwise when cut: {}", record.name, excerpt(text)))
}

fn assert_none(faults: Vec<Vec<String>>) {
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_call_without_its_opener_is_said_whatever_dialect_is_asked_for() {
    let faults = in_parallel(Record::builtin(), |record| {
        let gate = dialect_gate(&record.name, &tools());
        let feed = Feed::new(&gate);
        let mut faults = Vec::new();
        for form in forms() {
            for text in [form.clone(), format!("Well.\n\n{form}\n")] {
                let whole = feed.whole(text.as_bytes());
                if !is_answered(&response(&whole), &text) {
                    faults.push(format!("{} says nothing about {}", record.name, excerpt(&text)));
                }
                faults.extend(read_otherwise(record, &feed, &text, &whole));
            }
        }
        faults
    });
    assert_none(faults);
}

#[test]
fn a_second_call_behind_a_comma_is_said_where_it_stands() {
    let text = "[TOOL_CALLS]ping[ARGS]{}, book_room[ARGS]{\"room\": \"blue\"}";
    let response = gate("standard", &tools()).parse(text);
    assert!(is_answered(&response, text), "{response:?}");
}

#[test]
fn a_call_that_a_code_fence_shows_is_said_in_every_form() {
    let gate = gate("standard", &tools());
    let mut shown = Vec::new();
    for key in ["name", "tool", "tool_name", "function", "action"] {
        for arguing in ["arguments", "parameters", "args", "input"] {
            let object = format!("{{\"{key}\": \"book_room\", \"{arguing}\": {{\"room\": \"blue\"}}}}");
            shown.extend([format!("json\n[{object}]"), format!("json\n{object}")]);
        }
    }
    for code in [
        "book_room(room=\"blue\")",
        "[book_room(room=\"blue\")]",
        "print(book_room(room=\"blue\"))",
        "Action: book_room\nAction Input: {\"room\": \"blue\"}",
        "book_room{\"room\": \"blue\"}",
    ] {
        shown.push(format!("python\n{code}"));
    }
    for shown in shown {
        for text in [format!("```{shown}\n```"), format!("So:\n\n```{shown}\n```\nDone.")] {
            let (_, place) = said(&gate, &text).unwrap_or_else(|| panic!("nothing is said about {text}"));
            assert_eq!(place, "book_room", "{text}");
        }
    }
    for text in [
        "```json\n{\"name\": \"book_room\", \"version\": \"1\"}\n```",
        "```python\nimport rooms\nbook_room(room)\n```",
        "```python\nbook_room(room)\n```",
        "```rust\nfn book_room(room: &str) {}\n```",
    ] {
        assert_eq!(said(&gate, text), None, "{text}");
    }
}

#[test]
fn who_only_speaks_of_a_tool_calls_none() {
    let gate = gate("standard", &tools());
    for text in [
        "I could call book_room next.",
        "I could call book_room() next, or book_room(room).",
        "The tool \"book_room\" takes a name: \"blue\".",
        "{\"title\": \"book_room\", \"text\": \"a\"}",
        "{\"name\": \"book_room\", \"description\": \"Books.\", \"parameters\": {\"type\": \"object\"}}",
        "Use <b>book_room</b> (or save_note) {later}.",
        "`book_room(room=\"blue\")` books it.",
        "```js\nbook_room({\"name\": \"book_room\"})\n```",
        "> {\"name\": \"book_room\", \"arguments\": {}}",
        "{a}\n```\n{\"name\": \"book_room\", \"arguments\": {}}\n```",
        "<think>{\"name\": \"book_room\", \"arguments\": {}}</think>Done.",
    ] {
        assert_eq!(said(&gate, text), None, "{text}");
    }
}

#[test]
fn without_a_tool_list_only_an_unmistakable_call_is_said() {
    let gate = Gate::builder().build().unwrap_or_else(|error| panic!("{error}"));
    for (text, expected) in [
        (r#"{"name": "fly", "arguments": {"to": "Oslo"}}"#, true),
        (r#"{"name": "fly", "parameters": {"type": "object"}}"#, false),
        (r#"{"name": "Ann", "age": 3}"#, false),
        ("fly(to=\"Oslo\")", true),
        ("fly(to=\"Oslo\") is how it is written.", false),
        ("fly (to Oslo)", false),
    ] {
        assert_eq!(said(&gate, text).is_some(), expected, "{text}");
    }
}

#[test]
fn a_call_that_came_out_is_not_said_again() {
    let gate = gate("standard", &tools());
    for text in [
        "<tool_call>{\"name\": \"book_room\", \"arguments\": {\"room\": \"a\"}}</tool_call>",
        "<tool_call>{\"name\": \"book_room\", \"arguments\": {\"room\": 1, \"x\": {}}}</tool_call>",
    ] {
        let response = gate.parse(text);
        assert_eq!(looks(&response), Vec::<&Finding>::new(), "{text}");
    }
}

#[test]
fn the_second_of_two_calls_in_one_line_is_read_or_said() {
    let call = |room: &str| format!("{{\"name\": \"book_room\", \"arguments\": {{\"room\": \"{room}\"}}}}");
    for join in ["; ", ";", " ", "", ", "] {
        let text = format!("{}{join}{}", call("a"), call("b"));
        for record in Record::builtin() {
            let builder = Gate::builder().tools(registry(&tools())).dialect(&record.name);
            let response = builder.build().unwrap_or_else(|error| panic!("{error}")).parse(&text);
            let outcomes = response.calls.len() + response.rejected.len();
            let said = response
                .findings
                .iter()
                .any(|finding| finding.span.is_some_and(|span| span.end > text.len() / 2));
            assert!(outcomes == 2 || said, "{} is silent about {text}: {response:?}", record.name);
        }
    }
}

/// What a dialect writes for some calls.
fn written(record: &Record) -> Vec<String> {
    let turns: [&[(&str, Value)]; 4] = [
        &[("book_room", json!({"room": "blue", "guests": 3}))],
        &[("save_note", json!({"text": "two\nlines, \"quoted\" <b>"}))],
        &[("ping", json!({}))],
        &[("book_room", json!({"room": "red"})), ("save_note", json!({"text": "keys"}))],
    ];
    let write = |calls: &[(&str, Value)], id: Option<&str>| {
        let arguments: Vec<String> = calls.iter().map(|(_, arguments)| arguments.to_string()).collect();
        let calls = calls.iter().zip(&arguments);
        let calls: Vec<RenderCall<'_>> =
            calls.map(|((name, _), arguments)| RenderCall { id, name, arguments }).collect();
        record.render(&calls, None, None).ok()
    };
    turns.iter().filter_map(|calls| write(calls, Some("a1b2c3d4e")).or_else(|| write(calls, None))).collect()
}

/// A call in any format is a call, a rejection or a finding in every profile, and nothing but the profile's own formats is
/// a call in those that have one.
#[test]
fn no_profile_is_silent_about_a_foreign_call() {
    let tools = tools();
    let gates: Vec<(&str, Gate)> = Profile::NAMES
        .iter()
        .map(|name| {
            let builder = Gate::builder().profile(profile(name)).tools(registry(&tools));
            let builder = if profile(name).needs_dialect() { builder.dialect("native") } else { builder };
            (*name, builder.build().unwrap_or_else(|error| panic!("{name}: {error}")))
        })
        .collect();
    let check = |record: &&Record| {
        let mut faults = Vec::new();
        for (name, gate) in &gates {
            for text in written(record) {
                let feed = Feed::new(gate);
                let whole = feed.whole(text.as_bytes());
                let response = response(&whole);
                let is_said = response.findings.iter().any(|finding| finding.span.is_some());
                if response.calls.is_empty() && response.rejected.is_empty() && !is_said {
                    faults.push(format!("{name} says nothing about {}: {}", record.name, excerpt(&text)));
                }
                if feed.bytewise(text.as_bytes()) != whole {
                    faults.push(format!(
                        "{name} reads {} otherwise when cut: {}",
                        record.name,
                        excerpt(&text)
                    ));
                }
            }
        }
        faults
    };
    let records: Vec<&Record> = Record::builtin().iter().collect();
    let faults: Vec<String> = in_parallel(&records, check).into_iter().flatten().collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// A call of a name that no tool has, or that one has in other letters, is neither run nor lost.
#[test]
fn a_name_that_is_not_the_tools_own_is_said_in_every_format() {
    let named = |name: &str| {
        let mut tools = tools();
        tools[0]["name"] = json!(name);
        registry(&tools)
    };
    let meant = [
        ("Book_Room", "book_room"),
        ("book-room", "book_room"),
        ("bookRoom", "book_room"),
        ("cook_food", "book_room"),
        ("Ping_All", "ping_all"),
    ];
    let tried = in_parallel(Record::builtin(), |record| {
        let mut tried = 0;
        for (written, registered) in meant {
            let arguments = r#"{"room": "blue", "guests": 3}"#;
            let render = |id| record.render(&[RenderCall { id, name: written, arguments }], None, None);
            let Ok(text) = render(None).or_else(|_| render(Some("a1b2c3d4e"))) else { continue };
            let gate = Gate::builder().profile(profile("standard")).tools(named(registered));
            let gate = gate.dialect(&record.name).build().unwrap_or_else(|error| panic!("{error}"));
            let response = gate.parse(&text);
            let place = format!("{}: {}", record.name, excerpt(&text));
            assert!(response.calls.is_empty(), "{place}: {:?}", response.calls);
            assert!(
                !response.rejected.is_empty() || !response.findings.is_empty(),
                "nothing is said: {place}"
            );
            tried += 1;
        }
        tried
    });
    assert!(tried.into_iter().sum::<usize>() > 300);
}

/// The names of some lists have spaces, which formats cannot have whose markers they are.
#[test]
fn a_name_with_spaces_is_read_or_said_in_every_format() {
    let mut tools = tools();
    tools[0]["name"] = json!("book room");
    in_parallel(Record::builtin(), |record| {
        let arguments = r#"{"room": "blue", "guests": 3}"#;
        let render = |name, id| record.render(&[RenderCall { id, name, arguments }], None, None);
        let write = |id| {
            render("book room", id).or_else(|_| {
                Ok::<_, ()>(render("book_room", id).map_err(|_| ())?.replace("book_room", "book room"))
            })
        };
        let Ok(text) = write(None).or_else(|()| write(Some("a1b2c3d4e"))) else { return };
        let response = dialect_gate(&record.name, &tools).parse(&text);
        let place = format!("{}: {}", record.name, excerpt(&text));
        assert!(response.calls.iter().all(|call| call.name == "book room"), "{place}: {:?}", response.calls);
        let is_said = !response.rejected.is_empty() || !response.findings.is_empty();
        assert!(!response.calls.is_empty() || is_said, "nothing is said: {place}");
    });
}

/// What stands where arguments belong and cannot be read is never left out of a call that runs: not even of one whose
/// arguments are all optional, so that nothing else would hold it back.
#[test]
fn no_call_runs_without_the_arguments_that_were_written() {
    let gates = |record: &Record| {
        let tooled = ["standard", "strict", "lenient"].map(|name| {
            let builder = Gate::builder().profile(profile(name)).tools(registry(&tools()));
            builder.dialect(&record.name)
        });
        let open = Gate::builder().profile(profile("lenient")).dialect(&record.name);
        // Without a list of tools, formats whose markers are their names read nothing.
        let open = (!record.known).then_some(open);
        let build =
            |builder: callgate::GateBuilder| builder.build().unwrap_or_else(|error| panic!("{error}"));
        tooled.into_iter().chain(open).map(build)
    };
    let faults = in_parallel(Record::builtin(), |record| {
        let mut faults = Vec::new();
        let render = |arguments: &str| {
            let write = |id| record.render(&[RenderCall { id, name: "book_room", arguments }], None, None);
            write(None).or_else(|_| write(Some("a1b2c3d4e"))).ok()
        };
        let (Some(with), Some(without)) = (render(r#"{"room": "blue"}"#), render("{}")) else {
            return faults;
        };
        let same = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| -> usize {
            a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
        };
        let alike = same(&mut with.chars(), &mut without.chars());
        // A marker behind them may begin as theirs do.
        let start = with[..alike].trim_end_matches(['<', '[', '|']).len();
        let end = same(&mut with[start..].chars().rev(), &mut without[start..].chars().rev());
        let (head, tail) = (&with[..start], &with[with.len() - end..]);
        let arguments = &with[start..with.len() - end];
        let damaged = [
            r#"{"room": "blue"}"#.to_owned(),
            "The blue room.".to_owned(),
            "room: blue".to_owned(),
            "<room>blue</room>".to_owned(),
            "<arg name=\"room\">blue</arg>".to_owned(),
            arguments.to_uppercase(),
            arguments.chars().skip(1).collect(),
        ];
        for gate in gates(record) {
            for middle in &damaged {
                let text = format!("{head}{middle}{tail}");
                let feed = Feed::new(&gate);
                let whole = feed.whole(text.as_bytes());
                let is_lost = |arguments: &str| !arguments.to_lowercase().contains("blue");
                if let Some(call) = response(&whole).calls.iter().find(|call| is_lost(&call.arguments)) {
                    faults.push(format!("{} runs {} from {}", record.name, call.arguments, excerpt(&text)));
                }
                faults.extend(read_otherwise(record, &feed, &text, &whole));
            }
        }
        faults
    });
    assert_none(faults);
}

#[test]
fn a_fence_without_a_line_of_its_own_is_said() {
    let gate = dialect_gate("tool-code", &tools());
    for text in [
        "```tool_codebook_room(room=\"blue\")```",
        "```tool_code book_room(room=\"blue\")\n```",
        "```tool_codeping()```",
        "```tool_codeĊping()Ċ```",
    ] {
        assert!(said(&gate, text).is_some(), "{text}");
    }
}

#[test]
fn a_list_in_a_tag_is_read_and_nothing_looks_like_a_call_beside_it() {
    let list = r#"[{"name": "ping", "arguments": {}}, {"name": "book_room", "arguments": {"room": "blue"}}]"#;
    let text = format!("<tool_call>{list}</tool_call>");
    for gate in [gate("standard", &tools()), dialect_gate("hermes", &tools())] {
        let response = gate.parse(&text);
        assert_eq!((response.calls.len(), &*response.text), (2, ""), "{response:?}");
        assert!(response.findings.is_empty(), "{:?}", response.findings);
    }
}
