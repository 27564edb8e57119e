//! What stands beside a call, or in its values, and may belong to it: a call that would run without it is none.

use callgate::Record;
use serde_json::{Value, json};

use crate::cut::gate;
use crate::support::rejections;

/// A call of a dialect, damaged so that a part of what was meant stands elsewhere.
const PARTED: &[(&str, &str)] = &[
    // In a second object, which has no name.
    ("hermes", "<tool_call>\n{\"name\": \"list\"}\n{\"deep\": true}\n</tool_call>"),
    ("hermes", "<tool_call>\n{\"name\": \"list\", \"arguments\": {}}{\"deep\": true}\n</tool_call>"),
    ("mistral", "[TOOL_CALLS][{\"name\": \"list\"}, {\"arguments\": {\"deep\": true}}]"),
    ("mistral-v11", "[TOOL_CALLS]list[ARGS]{}{\"deep\": true}"),
    ("mistral-v11", "[TOOL_CALLS]read[ARGS]{\"path\": \"a\"}{\"lines\": 3}"),
    // Behind a list that was closed in the middle of an object.
    ("mistral", "[TOOL_CALLS][{\"name\":\"read\",\"arguments\":{\"path\":\"a\",] \"lines\": 3}}]"),
    ("granite", "<|tool_call|>[{\"name\":\"read\",\"arguments\":{\"path\":\"a\",] \"lines\": 3}}]"),
    // Before the call, or between its end and that of its wrapper.
    (
        "qwen3-coder",
        "<tool_call>\n<parameter=deep>\ntrue\n</parameter>\n<function=list>\n</function>\n</tool_call>",
    ),
    ("qwen3-coder", "<tool_call>\n<function=list>\n</function>\n{\"deep\": true}\n</tool_call>"),
    // In an attribute of a parameter that has nothing between its tags.
    (
        "minimax-m2",
        "<minimax:tool_call>\n<invoke name=\"read\">\n<parameter name=\"path\" value=\"a\"></parameter>\n</invoke>\n</minimax:tool_call>",
    ),
    // What is taken from a result, or computed with it, is a part of something larger.
    ("pythonic", "[list()](deep=True)"),
    ("pythonic", "[list().deep(True)]"),
    ("lfm2", "<|tool_call_start|>[list().x() if False else 1]<|tool_call_end|>"),
    // A value that begins with a parameter of its own, that breaks off as data of XML, or whose closer is bent.
    (
        "glm47",
        "<tool_call>read<arg_key>path</arg_key><arg_value><arg_key>path</arg_key><arg_value>a</arg_value></tool_call>",
    ),
    (
        "anthropic-xml",
        "<function_calls><invoke name=\"read\"><parameter name=\"path\"><![CDATA[</parameter></invoke></function_calls>",
    ),
    (
        "glm45",
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_val<ue>\n<arg_key>lines</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
    ),
    (
        "qwen3-coder",
        "<tool_call>\n<function=read>\n<parameter=path>\na\n</para<meter>\n<parameter=lines>\n3\n</parameter>\n</function>\n</tool_call>",
    ),
    // A string that ends twice, or two that touch.
    ("hermes", "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a\"\"b\",\"lines\":3}}</tool_call>"),
    // Behind brackets that were closed too early, or behind a call that was given nothing.
    ("hermes", "<tool_call>{\"name\":\"list\",\"arguments\":{}}}, {\"deep\": true}</tool_call>"),
    ("xlam", "[{\"name\": \"list\"}, {\"arguments\": {\"deep\": true}}]"),
    ("json-bare", "{\"name\": \"list\", \"arguments\": {}}, {\"deep\": true}"),
    ("functionary-v32", "read\n{\"path\": \"x\", \"tags\": [\"a\"}, \"c\"], \"lines\": 1}"),
    ("react", "Action: read\nAction Input: {\"path\": \"a\"),( \"lines\": 3}"),
    (
        "deepseek-v31",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>list<｜tool▁sep｜><｜tool▁call▁end｜>{\"deep\": true}<｜tool▁calls▁end｜>",
    ),
    // The end of the output in the markup of a parameter.
    ("beam", " to=list<|channel|>analysis <|constrain|>xml<|message|><rfl:parameter name=\""),
    // What is left of another format in a value whose closer is missing.
    ("qwen3-coder", "<tool_call>\n<function=read>\n<parameter=path>\na\"}}\n</tool_call>"),
    ("mimo", "<tool_call><function=read><parameter=path>a<parameer></function></tool_call>"),
    // The middle of a parameter whose start is bent, and the end of the value before it.
    (
        "glm47",
        "<tool_call>read<arg_key>path</arg_key><arg_value>a</arg_alue><ag_key>lines</arg_key><arg_value>3</arg_value></tool_call>",
    ),
    // Digits that nothing parts from a name make another one.
    ("harmony", "<|channel|>commentary to=functions.list2 <|constrain|>json<|message|>{}<|call|>"),
];

#[test]
fn promise_05_a_call_does_not_run_without_what_stands_beside_it() {
    for (dialect, text) in PARTED {
        let Some(record) = Record::named(dialect) else { panic!("no dialect {dialect}") };
        for name in ["strict", "standard"] {
            let response = gate(name, record).parse(text);
            assert!(response.calls.is_empty(), "{name}, {text}: {:?}", response.calls);
            assert!(!rejections(&response).is_empty(), "{name}, {text}: nothing is said");
        }
    }
}

/// An argument behind a value in quotes is one, whatever became of the comma between them; no string takes the next call into it.
#[test]
fn a_comma_that_is_lost_between_arguments_swallows_no_call() {
    let wanted = [json!({"path": "a", "lines": 3}), json!({"path": "b", "lines": 9})];
    for (dialect, before, between, behind) in [
        ("pythonic", "[", ", ", "]"),
        ("lfm2", "<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
        ("olmo3", "<function_calls>\n", "\n", "\n</function_calls>"),
        ("python-lines", "", "\n", ""),
    ] {
        let Some(record) = Record::named(dialect) else { panic!("no dialect {dialect}") };
        for comma in [" ", "\u{200B}, ", "\n", ", "] {
            let call = |path: &str, lines: u8| format!("read(path=\"{path}\"{comma}lines={lines})");
            let text = format!("{before}{}{between}{}{behind}", call("a", 3), call("b", 9));
            let response = gate("standard", record).parse(&text);
            let calls: Vec<Value> = response.calls.iter().map(callgate::Call::value).collect();
            let is_told = || calls.is_empty() && !rejections(&response).is_empty();
            assert!(calls == wanted || is_told(), "{text}: {calls:?}");
        }
    }
}

/// White space at the end of a value whose closer was left out is the value's own, but for what a closer stands between.
#[test]
fn a_value_without_its_closer_keeps_its_white_space() {
    let written = |value: &str| {
        format!(
            "<tool_call>\n<function=read>\n<parameter=path>\n{value}<parameter=lines>\n3\n</parameter>\n</function>\n</tool_call>"
        )
    };
    let Some(record) = Record::named("qwen3-coder") else { panic!("no such dialect") };
    for (value, path) in
        [("a\n", "a"), ("a\n\n", "a"), ("a  \n\n", "a  "), ("a\n\n\n", "a\n"), ("a\n  ", "a")]
    {
        let response = gate("standard", record).parse(&written(value));
        let calls: Vec<Value> = response.calls.iter().map(callgate::Call::value).collect();
        assert_eq!(calls, [json!({"path": path, "lines": 3})], "{value:?}: {}", rejections(&response));
    }
}
