//! What the five documents say in so many words, where a list of cases cannot ask: results, prompts, sentences, tables.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

use std::time::{Duration, Instant};

use callgate::internal::profile::ProfileView;
use callgate::internal::profile::action::ActionResult;
use callgate::internal::profile::structured::StructuredResult;
use callgate::{FinishReason, Gate, Profile, Registry, Response, repair};
use serde_json::{Value, json};

fn profile(name: &str) -> Profile {
    Profile::named(name).unwrap_or_else(|| panic!("no profile {name}"))
}

/// The file tools, in the names that a profile can say, and one with a choice and a default.
fn tools(read: &str, write: &str, path: &str) -> Registry {
    let text = json!({"type": "string"});
    let list = json!([
        {"name": read, "description": "Reads a file.", "parameters": {"type": "object",
            "properties": {path: text, "limit": {"type": "integer", "default": 100}}, "required": [path]}},
        {"name": write, "description": "Writes a file.", "parameters": {"type": "object",
            "properties": {path: text, "content": text}, "required": [path, "content"]}},
        {"name": "look", "description": "Looks something up.", "parameters": {"type": "object",
            "properties": {"q": text, "mode": {"enum": ["exact", "near"]}}, "required": ["q"]}},
    ]);
    Registry::from_value(&list).unwrap_or_else(|error| panic!("{error}"))
}

fn gate(name: &str) -> Gate {
    let tools = match name {
        "action" => tools("fs.read", "fs.write", "path"),
        "strict-xml" => tools("read_file", "write_file", "file_path"),
        _ => tools("read_file", "write_file", "path"),
    };
    let gate = Gate::builder().profile(profile(name)).tools(tools).build();
    gate.unwrap_or_else(|error| panic!("{error}"))
}

/// A response with these structured calls.
fn native(gate: &Gate, calls: Value) -> Response {
    let mut collector = Response::collector();
    let mut session = gate.session();
    session.native_calls(&calls, &mut |event| collector.push(event));
    session.finish(FinishReason::Stop, &mut |event| collector.push(event));
    collector.finish(FinishReason::Stop)
}

fn call(name: &str, arguments: &str) -> Value {
    json!([{"id": "c", "function": {"name": name, "arguments": arguments}}])
}

// ---- goshi ----

fn goshi(text: &str) -> ActionResult {
    ActionResult::from_response(&gate("action").parse(text), text)
}

/// G-01, G-07, G-14, G-17, G-18: every member of the result, for each of the three kinds and for both kinds of failure.
#[test]
fn a_goshi_result_carries_every_field() {
    let text = |text: &str| serde_json::to_value(goshi(text)).unwrap_or_default();
    let call = "Reading.\n{\"type\":\"action\",\"tool\":\"fs.read\",\"args\":{\"path\":\"a\"}}";
    let action = text(call);
    assert_eq!((&action["kind"], &action["text"]), (&json!("action"), &json!("Reading.")));
    assert_eq!((&action["calls"][0]["name"], &action["raw"]), (&json!("fs.read"), &json!(call)));
    let words = text("Hello.");
    assert_eq!((&words["kind"], &words["text"]), (&json!("text"), &json!("Hello.")));
    for fine in [&action, &words] {
        assert_eq!((&fine["success"], &fine["parse_error"]), (&json!(true), &Value::Null), "{fine}");
        assert_eq!((&fine["suggestion"], &fine["errors"]), (&json!(""), &json!([])), "{fine}");
    }
    let own = text("{\"type\":\"error\",\"code\":\"invalid_args\",\"message\":\"Which?\"}");
    assert_eq!((&own["kind"], &own["success"]), (&json!("error"), &json!(false)));
    assert_eq!(own["errors"], json!([{"code": "invalid_args", "message": "Which?"}]));
    assert_eq!((&own["needs_retry"], &own["parse_error"]), (&json!(false), &Value::Null));
    // Told apart by data: what could not be read is text without a code, what does not fit is an error with one.
    let broken = text("{\"type\":\"action\",\"tool\":\"fs.read\",\"args\":{\"path\" \"a\"}}");
    let unfit = text("{\"type\":\"action\",\"tool\":\"fs.read\",\"args\":{}}");
    assert_eq!((&broken["kind"], &broken["errors"][0]["code"]), (&json!("text"), &Value::Null));
    assert_eq!((&unfit["kind"], &unfit["errors"][0]["code"]), (&json!("error"), &json!("invalid_args")));
    assert!(broken["needs_retry"] == true && unfit["needs_retry"] == true);
}

/// G-09, G-40, G-55, G-56: the sentences of the document.
#[test]
fn goshi_says_what_its_document_says() {
    let action = |tool: &str, args: Value| json!({"type": "action", "tool": tool, "args": args}).to_string();
    for (text, message) in [
        (json!({"type": "call", "tool": "fs.read", "args": {}}).to_string(), "unknown response type: call"),
        (action("fs.delete", json!({})), "unknown tool: fs.delete"),
        (action("fs.read", json!({})), "invalid args for fs.read: missing required argument: path"),
        (
            action("fs.read", json!({"path": "a", "extra": 1})),
            "invalid args for fs.read: unexpected argument: extra",
        ),
        (
            action("fs.read", json!({"path": 7})),
            "invalid args for fs.read: invalid value for path: expected string, got number",
        ),
        (action("", json!({})), "action must have a tool name"),
        (String::new(), "empty response from LLM"),
    ] {
        let result = goshi(&text);
        assert_eq!(result.parse_error.as_deref(), Some(message), "{text}");
        assert!(!result.success && result.calls.is_empty(), "{text}");
    }
    let blanks = "  Two lines,\n and blanks.  \n";
    assert_eq!(goshi(blanks).text, blanks, "G-02: byte for byte");
    let whole = "See {\"type\": \"call\", \"tool\": \"fs.read\", \"args\": {}} there.";
    assert_eq!(goshi(whole).text, whole, "nothing is cut out of the text");
}

/// G-06, G-19 to G-22: the section of the prompt.
#[test]
fn the_prompt_of_goshi_says_its_rules() {
    let gate = gate("action");
    let registry = gate.registry().unwrap_or_else(|| panic!("no tools"));
    let prompt = gate.profile().prompt(registry);
    for said in [
        "Structured output is mandatory",
        "one JSON object and nothing after it",
        "always say \"type\": \"action\"",
        "paths are relative and stay inside the repository",
        "never invent the contents of a file",
        "{\"type\": \"error\", \"code\": \"permission_denied\", \"message\": \"why\"}",
        "permission_denied, invalid_args, tool_not_found",
        "\"path\":\"relative/path/to/file.txt\"",
    ] {
        assert!(prompt.contains(said), "{said:?} is missing in\n{prompt}");
    }
    let examples = gate.profile().examples(registry);
    assert_eq!(examples.len(), 3);
    for (tool, example) in registry.tools().zip(&examples) {
        assert!(prompt.contains(&format!("- `{}`: {}", tool.name, tool.description)), "{prompt}");
        assert!(prompt.contains(example.as_str()));
        assert_eq!(gate.parse(example).calls[0].name, tool.name, "{example}");
    }
}

/// G-43: a path that must not be absolute, said by the schema.
#[test]
fn a_path_may_be_held_to_a_pattern() {
    let list = json!([{"name": "fs.read", "parameters": {"type": "object", "required": ["path"],
        "properties": {"path": {"type": "string", "pattern": "^[^/].*$"}}}}]);
    let tools = Registry::from_value(&list).unwrap_or_else(|error| panic!("{error}"));
    let gate = Gate::builder().profile(profile("action")).tools(tools).build();
    let gate = gate.unwrap_or_else(|error| panic!("{error}"));
    let ask = |path: &str| {
        gate.parse(&json!({"type": "action", "tool": "fs.read", "args": {"path": path}}).to_string())
    };
    assert_eq!((ask("a/b").calls.len(), ask("/etc/hosts").calls.len()), (1, 0));
    assert_eq!(gate.profile().code(ask("/etc/hosts").rejected[0].findings[0].code), Some("invalid_args"));
}

// ---- Acode ----

/// A-03, A-04, A-09: sentences and the order of the checks, each row wrong in everything that is checked later.
#[test]
fn acode_codes_have_their_sentences() {
    let gate = gate("structured");
    let long = "x".repeat(70);
    for (calls, code, sentence) in [
        (json!([{"id": "c"}]), "ACODE-TLP-001", "Tool call missing function definition"),
        (call(" ", "@@ {{"), "ACODE-TLP-002", "Tool call has empty function name"),
        (call(&format!("{long}-"), "@@ {{"), "ACODE-TLP-003", "holds '-'"),
        (call(&long, "@@ {{"), "ACODE-TLP-005", "at most 64"),
        (call("read_file", "@@ {{"), "ACODE-TLP-004", ""),
        (call("read_file", "[1]"), "ACODE-TLP-006", "object"),
        (call("fly", "{}"), "ACODE-TLP-101", "unknown tool: fly"),
        (call("read_file", "{}"), "ACODE-TLP-102", "missing required argument: path"),
    ] {
        let result = StructuredResult::from_response(&native(&gate, calls));
        let [error] = &result.errors[..] else { panic!("{result:?}") };
        assert_eq!(error.code, code, "{error:?}");
        assert!(error.message.contains(sentence), "{error:?}");
    }
}

/// A-12: ids of the host's own, where the model gave none.
#[test]
fn ids_of_acode_are_made_by_the_host() {
    let gate = gate("structured");
    let mut session = gate.session().with_id_prefix("custom_");
    let mut collector = Response::collector();
    let bare = json!({"function": {"name": "read_file", "arguments": "{\"path\": \"a\"}"}});
    session.native_calls(&json!([bare, bare]), &mut |event| collector.push(event));
    session.finish(FinishReason::Stop, &mut |event| collector.push(event));
    let ids: Vec<String> =
        collector.finish(FinishReason::Stop).calls.iter().map(|call| call.id.clone()).collect();
    assert_eq!(ids, ["custom_1", "custom_2"]);
}

/// A-42: what looks like code stays the text that it is, or fails.
#[test]
fn acode_repairs_and_evaluates_nothing() {
    for (text, read) in [
        ("{a: '__import__(\"os\").system(\"id\")',}", Some("__import__(\"os\").system(\"id\")")),
        ("{a: \"${process.exit()}\",}", Some("${process.exit()}")),
        ("{a: 1 + 1}", None),
        ("{a: system('id')}", None),
        ("{a: `id`,}", None),
    ] {
        let value = repair(text, 64).ok().and_then(|fixed| serde_json::from_str::<Value>(&fixed.text).ok());
        let value = value.map(|value| value["a"].clone());
        match read {
            Some(read) => assert_eq!(value, Some(json!(read)), "{text}"),
            None => {
                let is_text = value.as_ref().is_none_or(|value| value.is_string());
                assert!(is_text, "{text} became {value:?}");
            }
        }
    }
}

/// A-82, A-83, A-86, A-87: errors of reading have a place, errors of validation a path, an expectation and a count.
#[test]
fn errors_of_acode_carry_what_is_needed_to_act() {
    let gate = gate("structured");
    let of = |arguments: &str| {
        let response = native(&gate, call("look", arguments));
        let result = StructuredResult::from_response(&response);
        (response.rejected[0].findings.clone(), result.errors[0].clone())
    };
    let (_, unread) = of("@@ {{");
    assert_eq!((unread.code, unread.tool.as_deref()), ("ACODE-TLP-004", Some("look")));
    assert_eq!((unread.position, unread.raw_arguments.as_deref()), (Some(4), Some("@@ {{")));
    let (findings, unfit) = of("{\"q\": 7, \"mode\": \"Exact\"}");
    assert_eq!(unfit.code, "ACODE-TLP-102");
    assert!(unfit.message.starts_with("2 validation errors: "), "{unfit:?}");
    assert!(unfit.message.contains("expected string, got number"), "{unfit:?}");
    let paths: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths.len(), 2);
    assert!(paths.contains(&"/q") && paths.contains(&"/mode"), "an enum matches by case: {findings:?}");
}

/// A-88, ruling 7: a default of the schema is the tool's business.
#[test]
fn acode_fills_in_no_default() {
    let response = native(&gate("structured"), call("read_file", "{\"path\": \"a\"}"));
    assert_eq!(response.calls[0].arguments, "{\"path\": \"a\"}");
}

/// A-96: as many tests as the document counts, by the rows that the cases are for.
#[test]
fn acode_has_the_tests_that_its_document_counts() {
    let lists = ["callgate", "callgate-agent"].map(|name| {
        let path = format!("{}/../{name}/fixtures/seed_cases.jsonl", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    });
    let cases = lists.iter().flat_map(|list| list.lines()).map(|line| {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}"))["req"].clone()
    });
    let rows: Vec<u32> =
        cases.filter_map(|rows| rows[0].as_str()?.strip_prefix("A-")?.parse().ok()).collect();
    let count = |wanted: &[std::ops::RangeInclusive<u32>]| {
        rows.iter().filter(|row| wanted.iter().any(|range| range.contains(row))).count()
    };
    for (what, wanted, least) in [
        ("parser", &[1..=19][..], 18),
        ("response mapping", &[10..=10, 14..=14, 20..=25], 8),
        ("repairer", &[26..=44], 15),
        ("retry", &[45..=64], 10),
        ("streaming", &[71..=81], 6),
    ] {
        assert!(count(wanted) >= least, "{what}: {} of {least}", count(wanted));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../callgate-agent/tests/over_http.rs");
    let whole = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(whole.matches("#[tokio::test]\nasync fn acode_").count() >= 5, "end to end");
    assert!(rows.len() >= 62, "{}", rows.len());
}

/// A-97: the times of the document, the quickest of several runs so that a busy machine changes nothing.
#[test]
fn a_call_is_read_checked_and_repaired_in_time() {
    let gate = gate("structured");
    let good = call("read_file", "{\"path\": \"src/main.rs\"}");
    let long = format!("{{path: 'src/main.rs', content: '{}',}}", "line of text\\n".repeat(4000));
    let broken = call("write_file", &long);
    let quickest = |run: &dyn Fn()| {
        let times = (0..10).map(|_| {
            let started = Instant::now();
            run();
            started.elapsed()
        });
        times.min().unwrap_or_default()
    };
    assert_eq!(native(&gate, broken.clone()).calls.len(), 1);
    let read = quickest(&|| drop(native(&gate, good.clone())));
    assert!(read < Duration::from_millis(1), "reading and checking took {read:?}");
    let repaired = quickest(&|| drop(native(&gate, broken.clone())));
    assert!(repaired < Duration::from_millis(100), "repairing took {repaired:?}");
}

/// A-98: nothing is left for later in the code that is shipped.
#[test]
fn nothing_is_left_unwritten() {
    let mut open = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))];
    let mut files = 0;
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && path.iter().any(|part| part == "src") {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                files += 1;
                for word in ["todo!(", "unimplemented!(", "TODO:", "FIXME", "not implemented yet"] {
                    assert!(!text.contains(word), "{} says {word}", path.display());
                }
            }
        }
    }
    assert!(files > 100, "{files}");
}

// ---- Windlass ----

/// W-08, W-09, W-22, W-34: the table of the document, and that neither a call nor an error is normal.
#[test]
fn the_table_of_windlass_is_reproduced() {
    let gate = gate("fenced");
    let fenced = |body: &str| format!("Here it is:\n```json\n{body}\n```\n");
    let valid = "{\"tool\":\"look\",\"arguments\":{\"q\":\"print('hello')\"}}";
    for (what, text, calls, errors) in [
        ("a valid tool call", fenced(valid), 1, 0),
        ("a malformed tool call", fenced("{\"tool\":\"look\",\"arguments\":{\"q\":\"...\"}}}}"), 0, 1),
        ("JSON that is no tool call", fenced("{\"fibonacci\":[0,1,1],\"sum\":42}"), 0, 0),
        ("Python with braces", "for i in x: {i: {...}}\nd = {'tool': 'look'}".to_owned(), 0, 0),
        ("malformed JSON that is no tool call", fenced("{\"result\":42,\"note\":\"x\"}}"), 0, 0),
        ("the call outside of a fence", valid.to_owned(), 0, 0),
        ("words alone", "The answer is 4.".to_owned(), 0, 0),
    ] {
        let response = gate.parse(&text);
        assert_eq!((response.calls.len(), response.rejected.len()), (calls, errors), "{what}: {response:?}");
        let feedback = gate.profile().feedback(&response, gate.registry());
        assert_eq!(feedback.is_some(), errors > 0, "{what}: only an attempt is answered");
    }
}

/// W-10, W-22: the beginning of the error, and the reason with its place.
#[test]
fn the_error_of_windlass_begins_as_its_document_says() {
    let gate = gate("fenced");
    let response = gate.parse("```json\n{\"tool\":\"look\",\"arguments\":{\"q\":\"...\"}}}}\n```");
    let said = gate.profile().feedback(&response, gate.registry()).unwrap_or_default();
    let line =
        said.lines().find_map(|line| line.split_once("Tool call JSON is malformed: ")).map(|(_, why)| why);
    let why = line.unwrap_or_else(|| panic!("{said}"));
    let view = ProfileView::of(gate.profile(), &response, "");
    assert!(view.errors[0].message.starts_with("Tool call JSON is malformed: "), "{view:?}");
    assert!(why.contains("(line 2, column "), "the reason says where: {why}");
    assert!(said.contains("\"tool\""), "and what would be right: {said}");
}

// ---- Reploid ----

/// R-01, R-18, R-19, R-20, R-22: parseToolCalls, isDone and validateToolCall.
#[test]
fn the_three_functions_of_reploid() {
    let gate = gate("labelled");
    let parse_tool_calls = |text: &str| gate.parse(text).calls;
    let calls = parse_tool_calls(
        "TOOL_CALL: read_file\nARGS: {\"path\": \"/a\"}\n\nTOOL_CALL: look\nARGS: {\"q\": \"b\"}",
    );
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["read_file", "look"]);
    assert!(parse_tool_calls("").is_empty());
    let validate = |name: &str, arguments: Value| {
        let tool = gate.registry().and_then(|registry| registry.compiled(name));
        tool.is_some_and(|tool| tool.check(&arguments, gate.policy().extra_args).is_empty())
    };
    assert!(validate("read_file", json!({"path": "/a"})) && !validate("read_file", json!({"path": 1})));
    assert!(!validate("fly", json!({})));
    let is_done = |text: &str| gate.profile().is_done(&gate.parse(text));
    for done in
        ["DONE", "Well.\nGOAL_ACHIEVED", "GOAL_COMPLETE\n", "DONE: all", "IDLE: nothing", "PARK: later"]
    {
        assert!(is_done(done), "{done}");
    }
    for open in
        ["", "done", "I am NOT DONE yet", "It is DONE.", "TOOL_CALL: look\nARGS: {\"q\": \"x\"}\nDONE"]
    {
        assert!(!is_done(open), "{open}");
    }
    assert_eq!(gate.policy().max_calls, 8, "a response has a cap, whatever the mode");
}

/// R-29, R-36: the words of the document for what is wrong in its lines.
#[test]
fn reploid_says_what_its_document_says() {
    let gate = gate("labelled");
    for (lines, message) in [
        ("path /oops", "Invalid argument line: path /oops"),
        ("path <<END\nhalf", "Unterminated block for path"),
    ] {
        let text = format!("REPLOID/0\n\nTOOL: read_file\n{lines}");
        let response = gate.parse(&text);
        let view = ProfileView::of(gate.profile(), &response, &text);
        assert!(view.errors[0].message.starts_with(message), "{view:?}");
        let said = gate.profile().feedback(&response, gate.registry()).unwrap_or_default();
        assert!(said.contains(&format!("- {message}")), "{said}");
    }
}

// ---- AccessLint ----

/// X-08, X-12, X-47: the type, the sentence, the schema, and both forms of a block, for the tool that was meant.
#[test]
fn the_error_of_accesslint_shows_both_forms() {
    let gate = gate("strict-xml");
    let said = |text: &str| gate.profile().feedback(&gate.parse(text), gate.registry()).unwrap_or_default();
    let schema = said("<write_file>{\"content\":\"html\"}</write_file>");
    for part in [
        "SCHEMA_VALIDATION: Tool write_file parameters invalid: Missing required parameter: file_path",
        "Expected schema for write_file: {",
        "Required parameters: file_path, content",
        "<write_file>\n{",
        "  <file_path>relative/path/to/file.txt</file_path>\n",
    ] {
        assert!(schema.contains(part), "{part:?} is missing in\n{schema}");
    }
    let text = "<write_file>{\"content\": 7}</write_file>";
    let view = ProfileView::of(gate.profile(), &gate.parse(text), text);
    let all = "Tool write_file parameters invalid: Missing required parameter: file_path, Parameter content should be a string";
    assert!(view.errors[0].message.starts_with(all), "{view:?}");
    let old = said("TOOL_CALL: read_file\nINPUT: {\"file_path\": \"a\"}");
    assert!(old.contains("NO_XML_BLOCKS: ") && old.contains("<read_file>\n{\"file_path\":"), "{old}");
}

/// X-23, X-53: the prompt teaches by examples that are accepted, names by the schema, and shows what is not.
#[test]
fn the_prompt_of_accesslint_shows_and_forbids() {
    let gate = gate("strict-xml");
    let prompt = gate.profile().prompt(gate.registry().unwrap_or_else(|| panic!("no tools")));
    for said in [
        "the only one that is accepted",
        "will be rejected",
        "✗ TOOL_CALL: read_file",
        "✗ \"Let me call read_file",
    ] {
        assert!(prompt.contains(said), "{said:?} is missing in\n{prompt}");
    }
    // Every block of the prompt that is not behind a ✗ is a call that would be accepted.
    let (wrong, taught) = prompt.split_once("✗ a call in a code block").unwrap_or_else(|| panic!("{prompt}"));
    let (taught, _) = taught.split_once("✓ ").unwrap_or_else(|| panic!("{prompt}"));
    let response = gate.parse(taught);
    assert!(response.rejected.is_empty(), "{response:?}");
    let written: Vec<Value> =
        response.calls.iter().filter(|call| call.name == "write_file").map(|call| call.value()).collect();
    let files: Vec<&str> = written.iter().filter_map(|call| call["file_path"].as_str()).collect();
    assert_eq!(files, ["site/index.html", "site/styles.css", "relative/path/to/file.txt"]);
    let has =
        |file: usize, part: &str| written[file]["content"].as_str().is_some_and(|text| text.contains(part));
    assert!(has(0, "<!DOCTYPE html>") && has(0, "</html>") && has(1, "color: #222;"));
    // And nothing behind a ✗ is.
    let wrong = wrong.split_once("# Format").map_or("", |(_, rules)| rules);
    assert_eq!((gate.parse(wrong).calls.len(), wrong.matches('✗').count()), (0, 4));
    assert!(!prompt.contains("\"path\""), "parameters have the names of the schema");
}
