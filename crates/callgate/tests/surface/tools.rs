//! Arguments as Rust values, and functions as tools.

use callgate::{Call, Code, Gate, Tool, Tools};
use serde::Deserialize;
use serde_json::{Value, json};

fn call(name: &str, arguments: &str) -> Call {
    let gate = Gate::builder().build().unwrap();
    let text = format!("Now. <tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>");
    gate.parse(&text).calls.remove(0)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    id: u128,
    lines: Vec<Line>,
    exact: Option<Box<serde_json::value::RawValue>>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Line {
    item: String,
    count: u8,
}

#[test]
fn arguments_are_read_from_their_text() {
    let call = call(
        "order",
        r#"{"id": 340282366920938463463374607431768211455, "lines": [{"item": "caf\u00e9", "count": 3}], "exact": 1.10}"#,
    );
    let order: Order = call.arguments_as().unwrap();
    assert_eq!(order.id, u128::MAX);
    assert_eq!(order.lines, [Line { item: "café".to_owned(), count: 3 }]);
    assert_eq!(order.exact.as_ref().map(|raw| raw.get()), Some("1.10"));
    assert_eq!(call.arguments_as::<Value>().unwrap(), call.value());
}

#[test]
fn what_does_not_fit_is_a_finding_with_its_place() {
    for (arguments, path, why) in [
        (r#"{"id": 1, "lines": [{"item": "a", "count": 300}]}"#, "/lines/0/count", "300"),
        ("{\"id\": 1,\n \"lines\":\n [{\"item\": [], \"count\": 1}]}", "/lines/0/item", "expected a string"),
        (
            r#"{"id": 1, "lines": [{"item": "a", "count": 1}, {"item": "b"}]}"#,
            "/lines/1",
            "missing field `count`",
        ),
        (r#"{"id": "x", "lines": []}"#, "/id", "invalid number"),
        (r#"{"id": 1, "lines": {"a/b": 1}}"#, "/lines", "expected a sequence"),
        (r#"{"id": 1}"#, "", "missing field `lines`"),
        (r#"{"id": 1, "lines": [], "more": true}"#, "", "unknown field `more`"),
    ] {
        let call = call("order", arguments);
        let finding = call.arguments_as::<Order>().unwrap_err();
        assert_eq!(
            (finding.code, finding.path.as_str()),
            (Code::SchemaMismatch, path),
            "{arguments}: {finding}"
        );
        assert!(finding.message.contains(why) && !finding.message.contains("column"), "{finding}");
        assert_eq!(finding.span, call.span);
        assert!(!finding.help.is_empty());
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    b: i64,
}

/// What a stranger means.
#[derive(Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Soft,
    Loud,
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Say {
    text: String,
    tone: Tone,
    #[serde(default)]
    times: Option<u8>,
}

fn tools() -> Tools<String> {
    let mut tools = Tools::new();
    tools.add_function("add", "Adds two numbers.", |Add { a, b }| (a + b).to_string()).unwrap();
    let say = |Say { text, tone, times }: Say| {
        let text = if matches!(tone, Tone::Loud) { text.to_uppercase() } else { text };
        text.repeat(usize::from(times.unwrap_or(1)))
    };
    tools.add_function("say", "Says something.", say).unwrap();
    tools
}

#[test]
fn functions_are_run_by_the_calls_that_the_gate_lets_out() {
    let tools = tools();
    let gate = Gate::builder().tools(tools.registry().clone()).build().unwrap();
    let response = gate.parse(
        "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": \"3\"}}</tool_call>\n\
         <tool_call>{\"name\": \"say\", \"arguments\": {\"text\": \"hi\", \"tone\": \"loud\", \"times\": 2}}</tool_call>\n\
         <tool_call>{\"name\": \"say\", \"arguments\": {\"text\": \"hi\", \"tone\": \"flat\"}}</tool_call>",
    );
    let results: Vec<String> = response.calls.iter().map(|call| tools.run(call).unwrap()).collect();
    assert_eq!(results, ["5", "HIHI"]);
    assert_eq!(response.rejected[0].findings[0].code, Code::NotInEnum, "the schema is that of the type");
}

#[test]
fn a_schema_has_nothing_that_does_not_help() {
    let tools = tools();
    assert_eq!(
        tools.registry().get("add").unwrap().parameters,
        json!({
            "type": "object",
            "properties": {
                "a": {"type": "integer", "format": "int64", "description": "The first number."},
                "b": {"type": "integer", "format": "int64"},
            },
            "required": ["a", "b"],
        })
    );
    let say = tools.registry().get("say").unwrap().parameters.to_string();
    assert!(
        say.contains("What a stranger means.") && !say.contains("$schema") && !say.contains("title"),
        "{say}"
    );
}

#[test]
fn what_cannot_run_is_a_finding() {
    let tools = tools();
    let unchecked = call("add", r#"{"a": 1, "b": 2}"#);
    let finding = tools.run(&unchecked).unwrap_err();
    assert_eq!((finding.code, finding.span), (Code::UncheckedCall, unchecked.span));

    // Calls of a gate with another list.
    let other = json!([{"name": "ad", "parameters": {}}, {"name": "add", "parameters": {}}]);
    let gate = Gate::builder().tools(callgate::Registry::from_value(&other).unwrap()).build().unwrap();
    let response = gate.parse(
        "<tool_call>{\"name\": \"ad\", \"arguments\": {}}</tool_call>\
         <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}</tool_call>",
    );
    let codes: Vec<Code> = response.calls.iter().map(|call| tools.run(call).unwrap_err().code).collect();
    assert_eq!(codes, [Code::UnknownTool, Code::SchemaMismatch]);
    assert!(tools.run(&response.calls[0]).unwrap_err().message.contains("the nearest is add"));
}

#[test]
fn a_name_is_taken_once() {
    let mut tools = tools();
    let again = Tool::new("add", "Adds again.", json!({"type": "object"}));
    let error = tools.add(again, |_: Value| String::new()).unwrap_err();
    assert_eq!(error.code.word(), "tool-name-taken");
    assert_eq!(tools.registry().names().collect::<Vec<_>>(), ["add", "say"]);
}
