//! Arguments as Rust values, and functions as tools.

use callgate::{Call, Code, Gate, Registry, Tool, Tools};
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

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

fn tools() -> Tools<String> {
    let number = json!({"type": "integer"});
    let schema = json!({"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]});
    let mut tools = Tools::new();
    let add = Tool::new("add", "Adds two numbers.", schema);
    tools.add(add, |Add { a, b }| (a + b).to_string()).unwrap();
    tools
        .add(Tool::new("now", "Says when.", json!({"type": "object"})), |_: Value| "noon".to_owned())
        .unwrap();
    tools
}

#[test]
fn functions_are_run_by_the_calls_that_the_gate_lets_out() {
    let tools = tools();
    let gate = Gate::builder().tools(tools.registry().clone()).build().unwrap();
    let response = gate.parse(
        "<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": \"3\"}}</tool_call>\n\
         <tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>\n\
         <tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2}}</tool_call>",
    );
    let results: Vec<String> = response.calls.iter().map(|call| tools.run(call).unwrap()).collect();
    assert_eq!(results, ["5", "noon"]);
    assert_eq!(response.rejected.len(), 1);
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
    assert_eq!(tools.registry().names().collect::<Vec<_>>(), ["add", "now"]);
}

#[test]
fn what_constrains_nothing_is_no_schema_unsaid() {
    let types = json!({"q": "string"});
    let properties = json!({"q": {"type": "string"}});
    let schema = json!({"type": "object", "properties": properties});
    let mut lists = vec![
        json!({"parameters": types}),
        json!({"parameters": properties}),
        json!({"parameters": {"type": "object", "properties": types}}),
        json!({"parameters": {"q": {"description": "what"}}}),
        json!({"input_schema": types}),
    ];
    for word in ["arguments", "args", "params", "schema", "input", "inputs"] {
        lists.extend([&types, &properties, &schema].map(|value| json!({word: value})));
    }
    for word in ["arguments", "inputs"] {
        lists.push(json!({word: [{"name": "q", "type": "string"}]}));
    }
    lists.push(json!({"properties": properties}));
    for mut entry in lists {
        entry["name"] = json!("look");
        for list in [json!([entry]), json!([{"type": "function", "function": entry}])] {
            assert!(Registry::from_value(&list).is_err(), "strict: {list}");
            let tools = Registry::tolerant(&list).unwrap();
            assert!(!tools.notes().is_empty(), "{list}");
            let gate = Gate::builder().tools(tools).build().unwrap();
            let text = "<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": {}}}</tool_call>";
            let is_typed = entry.to_string().contains("\"string\"") && !entry.to_string().contains('[');
            assert_eq!(gate.parse(text).calls.is_empty(), is_typed, "{list}");
        }
    }
    // What says something else about a schema, or nothing at all, is right as it is.
    for parameters in [
        json!({}),
        json!({"title": "Look", "description": "Looks.", "$comment": "x", "x-own": 1}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
        json!({"additionalProperties": {"type": "string"}}),
        json!({"required": ["q"]}),
        json!(null),
    ] {
        let list = json!([{"name": "look", "parameters": parameters, "strict": true}]);
        assert!(Registry::from_value(&list).is_ok(), "{list}: {:?}", Registry::from_value(&list).err());
        assert_eq!(Registry::tolerant(&list).unwrap().notes(), [""; 0], "{list}");
    }
}
