//! Rejections: few, short, and together they account for every byte.

use callgate::{Code, FinishReason, Gate, Policy, Profile, Record, Response};
use serde_json::{Value, json};

use crate::support;
use crate::support::corpus::DIALECT_SAMPLES;
use crate::support::{Feed, ended, partition_fault};
use crate::{codes, gate, tools};

#[test]
fn c12_rejections_are_few_and_account_for_every_byte() {
    let call = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>";
    let shapes = [
        ("muse-atem", "<|open|>call tool=\""),
        ("pythonic", "[now()]\n"),
        ("hermes", "<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>"),
        ("hermes", " x <tool_call>{\"name\": \"fly\", \"arguments\": {\"a\": 1}}</tool_call>"),
        ("hermes", call),
        ("json-bare", "{\"name\": \"fly\", \"arguments\": {}}\n"),
    ];
    for (dialect, shape) in shapes {
        if Record::named(dialect).is_none() {
            continue;
        }
        let gate = support::dialect_gate(dialect, &tools());
        let most = gate.policy().max_calls + gate.policy().limits.rejections;
        for text in [
            shape.repeat(400_000 / shape.len()),
            format!("{call}{}{call}", shape.repeat(20_000 / shape.len() + 2000)),
        ] {
            let events = Feed::new(&gate).whole(text.as_bytes());
            assert_eq!(partition_fault(&events, text.len()), None, "{dialect}: {shape}");
            let response = ended(&events, FinishReason::Stop);
            assert!(response.rejected.len() <= most + 1, "{dialect}: {}", response.rejected.len());
            assert!(response.calls.len() <= gate.policy().max_calls);
            let out = serde_json::to_string(&response).unwrap_or_default();
            assert!(out.len() <= 3 * text.len() + (1 << 20), "{dialect}: {} from {}", out.len(), text.len());
            let bytes = Feed::new(&gate).pieces(text.as_bytes().chunks(7));
            assert_eq!(support::difference(&events, &bytes), None, "{dialect}: {shape}");
        }
    }
}

#[test]
fn c12_a_list_of_calls_without_end_is_bounded() {
    let gate = support::dialect_gate("pythonic", &tools());
    let text = format!("[{}]", vec!["now()"; 60_000].join(", "));
    let events = Feed::new(&gate).whole(text.as_bytes());
    assert_eq!(partition_fault(&events, text.len()), None);
    let response = ended(&events, FinishReason::Stop);
    assert_eq!(response.calls.len(), gate.policy().max_calls);
    assert_eq!(response.rejected[0].findings[0].code, Code::TooManyCalls);
    let last = response.rejected.last().map(|rejected| rejected.findings[0].code);
    assert_eq!(last, Some(Code::TooManyRefusals));
    assert!(serde_json::to_string(&response).unwrap_or_default().len() < 2 * text.len());
}

#[test]
fn c12_structured_rejections_are_bounded_too() {
    let gate = gate("standard", &tools());
    let calls = Value::Array(vec![json!({"function": {"name": "fly", "arguments": "{}"}}); 20_000]);
    let mut session = gate.session();
    let mut collector = Response::collector();
    session.native_calls(&calls, &mut |event| collector.push(event));
    session.finish(FinishReason::ToolCalls, &mut |event| collector.push(event));
    let response = collector.finish(FinishReason::ToolCalls);
    assert!(response.rejected.len() <= gate.policy().limits.rejections + 1, "{}", response.rejected.len());
    assert!(codes(&response).contains(&Code::TooManyRefusals));
}

#[test]
fn c12_large_rejections_are_cut_short() {
    let gate = gate("standard", &tools());
    let shape = format!(
        "<tool_call>{{\"name\": \"fly\", \"arguments\": {{\"a\": \"{}\"}}}}</tool_call>\n",
        "x".repeat(8000)
    );
    let response = gate.parse(&shape.repeat(500));
    assert_eq!(response.rejected.len(), 500);
    let held: usize = response.rejected.iter().map(|rejected| rejected.raw.len()).sum();
    assert!(held <= 1 << 20, "{held}");
    assert!(response.rejected.iter().all(|rejected| rejected.findings[0].code == Code::UnknownTool));
}

fn with_work(work: usize) -> Gate {
    let mut policy = Profile::standard().policy();
    policy.limits.work = work;
    Gate::builder()
        .tools(support::registry(&tools()))
        .policy(policy)
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn c12_the_budget_of_work_ends_the_reading() {
    let call = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>\n";
    let text = format!("é{}", call.repeat(50));
    for work in [1, 2, 40, 200, 1000, 2999, 3000] {
        let gate = with_work(work);
        let events = Feed::new(&gate).whole(text.as_bytes());
        assert_eq!(partition_fault(&events, text.len()), None, "{work}");
        let response = ended(&events, FinishReason::Stop);
        assert!(response.calls.len() <= work / (call.len() - 1), "{work}: {}", response.calls.len());
        assert!(codes(&response).contains(&Code::WorkLimit), "{work}");
        for size in [1, 3, 64] {
            let pieces = Feed::new(&gate).pieces(text.as_bytes().chunks(size));
            assert_eq!(support::difference(&events, &pieces), None, "{work}");
        }
    }
    // What is judged counts where the call ends that was judged.
    let wide: Vec<Value> = (0..1000).map(|n| json!({"const": n})).collect();
    let tools = json!([{"name": "t", "parameters": {"type": "object", "properties": {"n": {"type": "array", "items": {"anyOf": wide}}}}}]);
    let mut policy = Policy::default();
    policy.limits.work = 3_000_000;
    let gate = Gate::builder()
        .tools(support::registry(&tools))
        .policy(policy)
        .build()
        .unwrap_or_else(|e| panic!("{e}"));
    let one = format!(
        "<tool_call>{{\"name\": \"t\", \"arguments\": {{\"n\": [{}]}}}}</tool_call>\n",
        vec!["5"; 1000].join(",")
    );
    let text = one.repeat(20);
    let events = Feed::new(&gate).whole(text.as_bytes());
    let response = ended(&events, FinishReason::Stop);
    assert_eq!(partition_fault(&events, text.len()), None);
    assert!((1..4).contains(&response.calls.len()), "{}", response.calls.len());
    assert!(codes(&response).contains(&Code::WorkLimit));
    assert_eq!(support::difference(&events, &Feed::new(&gate).pieces(text.as_bytes().chunks(11))), None);
}

#[test]
fn c12_limits_cut_no_byte_and_no_chunk_apart() {
    for (rejections, work) in [(1, 1 << 30), (2, 1 << 30), (512, 60), (512, 300), (1, 200)] {
        let mut policy = Profile::named("lenient").unwrap_or_else(Profile::standard).policy();
        policy.limits.rejections = rejections;
        policy.limits.work = work;
        policy.quote = callgate::internal::policy::Quote::Dead;
        let gate = Gate::builder()
            .tools(support::registry(&tools()))
            .policy(policy)
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        let feed = Feed::new(&gate);
        for sample in DIALECT_SAMPLES.iter().filter(|sample| sample.text.len() < 2000) {
            let text = format!("`a` {}\n`{}`\n{} é", sample.text, sample.text, sample.text);
            let events = feed.whole(text.as_bytes());
            assert_eq!(partition_fault(&events, text.len()), None, "{rejections}, {work}: {}", sample.id);
            let bytes = feed.bytewise(text.as_bytes());
            assert_eq!(support::difference(&events, &bytes), None, "{rejections}, {work}: {}", sample.id);
        }
    }
}
