//! The quick look: arguments that it lets through are those that the validator lets through.

use callgate::internal::json::Tape;
use callgate::internal::policy::{Coerce, ExtraArgs};
use callgate::{Code, Gate, Registry, Tool};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

use crate::compiled;

/// Schemas of the simple kind, which are judged without the validator, and some that are just beyond it.
fn schemas() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "number", "description": "any"})),
        Just(json!({"type": ["boolean", "null"]})),
        Just(json!({"enum": ["a", "b\"", "é"]})),
        Just(json!({"type": "string", "enum": ["a", "ab"], "default": "a"})),
        Just(json!({"type": "integer", "enum": ["a"]})),
        Just(json!({"type": "string", "minLength": 2})),
        Just(json!({"minLength": 1, "maxLength": 1})),
        Just(json!({"type": "string", "minLength": 1, "enum": ["", "a", "ab"]})),
        Just(json!({"maxLength": 1, "minimum": 3})),
        Just(json!({"type": "integer", "minimum": 0, "maximum": 3})),
        Just(json!({"type": "number", "minimum": -1})),
        Just(json!({"type": ["integer", "string"], "maximum": 2.5})),
        Just(json!({"type": "string", "pattern": "^a"})),
        Just(json!(true)),
        Just(json!({})),
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        let members =
            prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), inner.clone(), 0..3);
        let required = prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c"]), 0..3);
        let others = prop_oneof![
            Just(json!(null)),
            Just(json!(true)),
            Just(json!(false)),
            Just(json!({"type": "string"}))
        ];
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|items| json!({"items": items, "minItems": 1, "maxItems": 2})),
            (members, required, others).prop_map(|(members, required, others)| {
                let mut schema = json!({"type": "object", "properties": members, "required": required});
                if !others.is_null() {
                    schema["additionalProperties"] = others;
                }
                schema
            }),
        ]
    })
}

fn values() -> impl Strategy<Value = String> {
    let scalar = prop::sample::select(vec![
        "\"a\"",
        "\"ab\"",
        "\"b\\\"\"",
        "\"\\u00e9\"",
        "\"é\"",
        "\"\"",
        "\"\\ud83d\\ude00\"",
        "\"\\n\"",
        "\"東京😀\"",
        "3",
        "4",
        "-1",
        "-0",
        "2.0",
        "3.5",
        "2.5",
        "1e2",
        "1e999",
        "12345678901234567890",
        "true",
        "null",
        "[]",
        "{}",
    ])
    .prop_map(str::to_owned);
    scalar.prop_recursive(3, 16, 4, |inner| {
        let key = prop::sample::select(vec!["a", "b", "c", "d", "\\u0061"]);
        let member = (key, inner.clone()).prop_map(|(key, value)| format!("\"{key}\": {value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(", "))),
        ]
    })
}

/// A gate that is compiled once, and gets the tool of each case.
static OPEN: LazyLock<Gate> = LazyLock::new(|| Gate::builder().build().unwrap());

proptest! {
    /// What is let through without the validator is what the validator lets through, and nothing else.
    #[test]
    fn lets_through_what_the_validator_does(schema in schemas(), value in values()) {
        let tool = compiled(json!({"type": "object", "properties": {"v": schema}, "required": ["v"]}));
        for arguments in [format!("{{\"v\": {value}}}"), format!("{{\"v\": {value}, \"w\": 1}}"), "{}".to_owned()] {
            let tape = Tape::parse(&arguments).unwrap();
            for extra in [ExtraArgs::Reject, ExtraArgs::Drop, ExtraArgs::Allow] {
                let fit = tool.fit(&arguments, &tape, Coerce::Off, extra, false);
                let is_valid = tape.value(&arguments, 0).is_some_and(|value| tool.check(&value, extra).is_empty());
                prop_assert_eq!(fit.findings.is_empty(), is_valid, "{} {:?}", arguments, extra);
            }
        }
    }

    /// The look that lets arguments through also has to see a key that stands twice, at any depth and in any spelling.
    #[test]
    fn promise_11_a_key_that_stands_twice_is_rejected(schema in schemas(), value in values()) {
        let schema = json!({"type": "object", "properties": {"v": schema}, "required": ["v"]});
        let mut registry = Registry::new();
        registry.register(Tool::new("t", "d", schema)).unwrap();
        let gate = OPEN.with_tools(registry);
        // Once as it comes, then twice in the arguments, in an object and in an object of a list.
        let inner = format!("{{\"d\": 1, \"d\": {value}}}");
        for arguments in [
            format!("{{\"v\": {value}}}"),
            format!("{{\"v\": 1, \"v\": {value}}}"),
            format!("{{\"v\": {inner}}}"),
            format!("{{\"v\": [{inner}]}}"),
        ] {
            let is_twice = Tape::parse(&arguments).unwrap().duplicate(&arguments).is_some();
            let response =
                gate.parse(&format!("<tool_call>{{\"name\": \"t\", \"arguments\": {arguments}}}</tool_call>"));
            let mut findings = response.rejected.iter().flat_map(|rejected| &rejected.findings);
            prop_assert_eq!(findings.any(|finding| finding.code == Code::DuplicateKey), is_twice, "{}", arguments);
        }
    }
}
