//! Functions whose schema is that of their argument.

use callgate::{Code, Gate, Tools};
use serde::Deserialize;
use serde_json::json;

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
