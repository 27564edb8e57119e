//! `--view`: a response in the words of its profile's document, with the document's own codes, wherever a user looks.

use serde_json::{Value, json};

use super::{Scratch, TOOLS, callgate, json_lines};

fn view(profile: &str, line: Value) -> Value {
    let tools = Scratch::new("tools.json", TOOLS);
    let run =
        callgate(&["scan", "--profile", profile, "--view", "--tools", tools.path()], &format!("{line}\n"));
    json_lines(&run.stdout)[0]["view"].clone()
}

fn native(name: Value, arguments: &str) -> Value {
    json!({"id": 1, "tool_calls": [{"id": "c", "function": {"name": name, "arguments": arguments}}]})
}

/// D6: the codes of the structured document.
#[test]
fn structured_calls_have_the_codes_of_their_document() {
    let deep = format!("{}1{}", "{\"q\":".repeat(80), "}".repeat(80));
    for (line, code, kind) in [
        (json!({"tool_calls": [{"id": "c"}]}), "ACODE-TLP-001", "missing_function"),
        (native(json!(""), "{}"), "ACODE-TLP-002", "empty_name"),
        (native(json!("lo ok"), "{}"), "ACODE-TLP-003", "bad_name"),
        (native(json!("look"), "@@ {{"), "ACODE-TLP-004", "bad_json"),
        (native(json!("x".repeat(65)), "{}"), "ACODE-TLP-005", "name_too_long"),
        (native(json!("look"), "[1]"), "ACODE-TLP-006", "args_not_object"),
        (native(json!("nope"), "{}"), "ACODE-TLP-101", "unknown_tool"),
        (native(json!("look"), "{}"), "ACODE-TLP-102", "schema"),
        (native(json!("look"), &deep), "ACODE-TLP-104", "too_deep"),
    ] {
        let view = view("structured", line);
        let error = &view["errors"][0];
        assert_eq!((error["code"].as_str(), error["kind"].as_str()), (Some(code), Some(kind)), "{view}");
        assert_eq!((&view["parse_result"], &view["needs_retry"]), (&json!("fail"), &json!(true)), "{view}");
        let explained = callgate(&["explain", code], "");
        assert_eq!(explained.code, 0, "{code}: {}", explained.stderr);
    }
    let repaired = view("structured", native(json!("look"), "{\"q\": \"x\",}"));
    assert_eq!((&repaired["kind"], &repaired["parse_result"]), (&json!("action"), &json!("repaired")));
}

/// G-08, G-09, G-16 and the codes of goshi.
#[test]
fn actions_have_kind_code_and_suggestion() {
    let text = |text: &str| view("action", json!({"id": 1, "text": text}));
    let unknown = text("{\"type\": \"action\", \"tool\": \"nope\", \"args\": {}}");
    assert_eq!(
        (&unknown["kind"], &unknown["errors"][0]["code"]),
        (&json!("error"), &json!("tool_not_found"))
    );
    let unfit = text("{\"type\": \"action\", \"tool\": \"look\", \"args\": {}}");
    assert_eq!(unfit["errors"][0]["code"], "invalid_args");
    assert!(
        unfit["errors"][0]["message"].as_str().unwrap().starts_with("invalid args for look: "),
        "{unfit}"
    );
    let whole = "Try {\"type\": \"action\", \"tool\": \"look\", \"args\": {\"q\": } now";
    let broken = text(whole);
    assert_eq!(
        (&broken["kind"], &broken["text"]),
        (&json!("text"), &json!(whole)),
        "nothing is cut out: {broken}"
    );
    assert!(broken["errors"][0]["message"].as_str().unwrap().starts_with("invalid JSON: "), "{broken}");
    let suggestion = "The response couldn't be parsed. Ask the LLM to clarify or retry.";
    assert_eq!(broken["suggestion"], suggestion);
    let error = text("{\"type\": \"error\", \"code\": \"permission_denied\", \"message\": \"no\"}");
    assert_eq!((&error["kind"], &error["errors"][0]["kind"]), (&json!("error"), &json!("model_error")));
    assert_eq!((&error["needs_retry"], &error["suggestion"]), (&json!(false), &Value::Null));
    let fine = text("Hello.");
    assert_eq!((&fine["kind"], &fine["parse_result"]), (&json!("text"), &json!("success")));
}

/// The types of AccessLint, and what Reploid calls done.
#[test]
fn other_documents_have_their_words_too() {
    let xml = |text: &str| view("strict-xml", json!({"id": 1, "text": text}))["errors"][0]["code"].clone();
    assert_eq!(xml("Let me read it."), "NO_XML_BLOCKS");
    assert_eq!(xml("<look>{\"n\": 1}</look>"), "SCHEMA_VALIDATION");
    assert_eq!(xml("<look>{\"q\": }</look>"), "MALFORMED_XML");
    // X-54: what a parameter should be, whether it came as JSON or between tags.
    let said = |profile: &str, text: &str| {
        view(profile, json!({"id": 1, "text": text}))["errors"][0]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        said("strict-xml", "<look>{\"q\": 1}</look>"),
        "Tool look parameters invalid: Parameter q should be a string, got number"
    );
    assert_eq!(
        said("strict-xml", "<look><q>a</q><n>many</n></look>"),
        "Tool look parameters invalid: Parameter n should be an integer, got the text \"many\""
    );
    // R-15: how Reploid speaks of broken JSON.
    let broken = said("labelled", "TOOL_CALL: look\nARGS: {\"q\": 'a'}");
    assert!(broken.starts_with("JSON Parse Error: "), "{broken}");
    // A line break is one only in backticks; elsewhere it is said to be the cause.
    let broken = said("labelled", "TOOL_CALL: look\nARGS: {\"q\": \"a\nb\"}");
    assert!(broken.starts_with("JSON Parse Error: ") && broken.contains("raw-control-char"), "{broken}");
    let fine = view("labelled", json!({"id": 1, "text": "TOOL_CALL: look\nARGS: {\"q\": `a\nb`}"}));
    assert_eq!((&fine["kind"], &fine["parse_result"]), (&json!("action"), &json!("repaired")));
    assert_eq!(view("labelled", json!({"id": 1, "text": "All read.\nDONE"}))["done"], true);
    assert_eq!(view("labelled", json!({"id": 1, "text": "I am NOT DONE yet."}))["done"], false);
}

#[test]
fn parse_prints_the_view_alone() {
    let tools = Scratch::new("tools.json", TOOLS);
    let run = callgate(
        &["parse", "--profile", "fenced", "--view", "--tools", tools.path(), "-"],
        "```json\n{\"tool\": \"nope\", \"arguments\": {}}\n```",
    );
    let view: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (run.code, &view["profile"], &view["errors"][0]["kind"]),
        (1, &json!("fenced"), &json!("unknown_tool"))
    );
    assert_eq!(callgate(&["parse", "--view", "--json", "-"], "x").code, 2, "one form at a time");
}
