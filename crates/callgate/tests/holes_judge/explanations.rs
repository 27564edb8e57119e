//! Explanations and suggestions: bounded, however large a value or a response is.

use callgate::internal::json::Tape;
use callgate::internal::policy::{Coerce, ExtraArgs};
use callgate::{Code, FinishReason, Gate, Profile, Response};
use serde_json::{Value, json};

use crate::gate;
use crate::numbers::tool_of;
use crate::support;

// ---- C9: explanations ----

#[test]
fn c09_explaining_costs_no_more_than_judging() {
    let branches = |count: usize, of: &dyn Fn(usize) -> Value| Value::Array((0..count).map(of).collect());
    let item =
        json!({"type": "array", "items": {"anyOf": branches(1000, &|n| json!({"const": format!("c{n}")}))}});
    let root = json!({"anyOf": branches(500, &|n| json!({"type": "array", "items": {"const": n}}))});
    let objects = json!({"type": "array", "items": {"oneOf": branches(300, &|n| json!({"type": "object",
        "required": [format!("k{n}")], "properties": {"x": {"const": n}}}))}});
    for (schema, element) in [(item, "7"), (root, "\"a\""), (objects, "{\"x\": \"y\"}")] {
        for count in [1, 10, 4000, 20_000] {
            let parameters = json!({"type": "object", "properties": {"n": schema}, "required": ["n"]});
            let gate = gate("standard", &json!([{"name": "t", "parameters": parameters}]));
            let list = vec![element; count].join(",");
            let mut session = gate.session();
            let mut collector = Response::collector();
            let text =
                format!("<tool_call>{{\"name\": \"t\", \"arguments\": {{\"n\": [{list}]}}}}</tool_call>");
            session.push(&text, &mut |event| collector.push(event));
            let work = session.finish_counted(FinishReason::Stop, &mut |event| collector.push(event));
            let response = collector.finish(FinishReason::Stop);
            assert_eq!((response.calls.len(), response.rejected.len()), (0, 1));
            let findings = &response.rejected[0].findings;
            assert!((1..=64).contains(&findings.len()), "{}", findings.len());
            let bytes: usize = findings.iter().map(|f| f.message.len() + f.help.len() + f.path.len()).sum();
            assert!(bytes < 64 << 10, "{bytes} bytes of reasons");
            // At most each value by each subschema, a few times over.
            let values = 2 * count as u64 + 4;
            assert!(work.judging <= 4 * 1024 * values + (1 << 17), "{work:?} for {count}");
        }
    }
}

#[test]
fn c09_a_large_value_is_still_explained_by_its_types() {
    let branches: Vec<Value> = (0..1000).map(|n| json!({"const": format!("c{n}")})).collect();
    let tool = tool_of(json!({"type": "array", "items": {"anyOf": branches}}));
    let list = ["\"c1\"", "7"].repeat(2000).join(",");
    let arguments = format!("{{\"n\": [{list}]}}");
    let tape = Tape::parse(&arguments).unwrap_or_default();
    let findings = tool.fit(&arguments, &tape, Coerce::Lossless, ExtraArgs::Reject, false).findings;
    assert_eq!((findings[0].code, findings[0].path.as_str()), (Code::WrongType, "/n/1"));
}

// ---- C10: nearest names ----

#[test]
fn c10_suggestions_are_few_per_response() {
    let names: Vec<Value> = (0..1000)
        .map(
            |n| json!({"name": format!("{}_{n:03}", "abcdefgh".repeat(6)), "parameters": {"type": "object"}}),
        )
        .collect();
    let mut policy = Profile::standard().policy();
    policy.limits.rejections = 1 << 20;
    let gate = Gate::builder()
        .tools(support::registry(&Value::Array(names)))
        .policy(policy)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let text: String = (0..2000)
        .map(|n| {
            format!(
                "<tool_call>{{\"name\": \"{}_{n}x\", \"arguments\": {{}}}}</tool_call>",
                "abcdefgi".repeat(6)
            )
        })
        .collect();
    let mut session = gate.session();
    let mut collector = Response::collector();
    session.push(&text, &mut |event| collector.push(event));
    let work = session.finish_counted(FinishReason::Stop, &mut |event| collector.push(event));
    let response = collector.finish(FinishReason::Stop);
    assert_eq!(response.rejected.len(), 2000);
    let suggested = response.rejected.iter().filter(|r| r.findings[0].message.contains("nearest")).count();
    assert!((1..=16).contains(&suggested), "{suggested}");
    assert!(work.judging < 2_000_000, "{work:?}");
    // The same wrong name is looked for once.
    let again = "<tool_call>{\"name\": \"abcdefghabcdefgh\", \"arguments\": {}}</tool_call>".repeat(200);
    let response = gate.parse(&again);
    assert!(response.rejected.iter().all(|r| r.findings[0].message.contains("nearest")));
}
