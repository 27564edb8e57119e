//! An endpoint is verified: what a model's server does wrong is seen, and is not seen any more behind the gateway.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use callgate_agent::model::Address;
use callgate_gateway::verify::{Baseline, Change, EndpointApi, Inquiry, Report, Task, verify};
use support::{Script, Told, in_front_of, serve, upstream};

async fn report(address: SocketAddr, api: EndpointApi) -> Report {
    report_on(address, api, Task::built_in().unwrap()).await
}

async fn report_on(address: SocketAddr, api: EndpointApi, tasks: Vec<Task>) -> Report {
    let inquiry = Inquiry {
        endpoint: Address::parse(&format!("http://{address}")).unwrap(),
        api,
        model: "m".to_owned(),
        key: None,
        tasks,
        times: 1,
        patience: Duration::from_secs(10),
    };
    verify(&inquiry).await.unwrap()
}

/// How often a property held, and how often it was looked at.
fn score(report: &Report, name: &str) -> (u32, u32) {
    let score = report.scores.iter().find(|score| score.measure == name).unwrap();
    (score.held, score.of)
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_left_in_the_text_are_seen_and_gone_behind_the_gateway() {
    let script = Script::default();
    let call = "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\",}}</tool_call>";
    script.tell(Told::text(call, 9));
    let address = upstream(&script).await;
    let direct = report(address, EndpointApi::Chat).await;
    assert_eq!(score(&direct, "answered"), (20, 20), "{direct:?}");
    assert_eq!(score(&direct, "nothing lost"), (0, 20), "{direct:?}");
    assert_eq!(score(&direct, "no leaks"), (0, 20), "{direct:?}");
    assert_eq!(score(&direct, "called"), (0, 12), "{direct:?}");
    assert_eq!(score(&direct, "required"), (0, 2), "{direct:?}");
    let running = serve(in_front_of(address)).await;
    for api in [EndpointApi::Chat, EndpointApi::Responses, EndpointApi::Messages, EndpointApi::Ollama] {
        let gated = report(running.address, api).await;
        for name in [
            "answered",
            "called",
            "schema",
            "no leaks",
            "nothing lost",
            "finish reason",
            "ids",
            "required",
            "none",
            "parallel off",
            "streamed = whole",
        ] {
            let (held, of) = score(&gated, name);
            assert_eq!(held, of, "{api:?}, {name}: {gated:?}");
        }
        assert_eq!(score(&gated, "called"), (12, 12), "{api:?}: {gated:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_does_not_answer_is_reported_as_that() {
    let report = report("127.0.0.1:9".parse().unwrap(), EndpointApi::Chat).await;
    assert_eq!(score(&report, "answered"), (0, 20));
    assert_eq!(score(&report, "called"), (0, 0));
}

fn tasks(text: &str) -> Vec<Task> {
    let tools = r#"[{"name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"], "additionalProperties": false}}, {"name": "put", "parameters": {"type": "object"}}]"#;
    Task::read_all(text, Some(&callgate::Registry::from_json(tools).unwrap())).unwrap()
}

fn called(name: &str, id: &str, arguments: &str) -> serde_json::Value {
    serde_json::json!({"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[tokio::test(flavor = "multi_thread")]
async fn every_measure_sees_its_fault() {
    let two = r#"{"question": "q", "tool_choice": {"type": "function", "function": {"name": "put"}}, "parallel_tool_calls": false, "expect": ["look", {"name": "look", "arguments": {"q": "b"}}]}"#;
    let faulty = |calls: serde_json::Value, reason: &str| {
        Told::stream(&[serde_json::json!({"tool_calls": calls})], reason)
    };
    let mut second = called("look", "same", "{\"q\": \"b\"}");
    second["index"] = 1.into();
    let both = serde_json::json!([called("look", "same", "{\"q\": \"a\"}"), second]);
    let wrong = serde_json::json!([called("look", "c", "{\"p\": 1}")]);
    for (tasks_text, told, failing, holding) in [
        (
            two,
            faulty(both, "stop"),
            &["ids", "finish reason", "required", "parallel off"][..],
            &["expected", "schema"][..],
        ),
        (
            two,
            faulty(wrong, "tool_calls"),
            &["schema", "expected", "required"],
            &["finish reason", "parallel off", "called"],
        ),
        (
            r#"{"question": "q", "expect": "no call"}"#,
            Told::stream(&[], "stop"),
            &["nothing lost"],
            &["expected", "no leaks"],
        ),
        (
            r#"{"question": "q", "expect": "cut off"}"#,
            faulty(serde_json::json!([called("look", "c", "{\"q\": \"b")]), "tool_calls"),
            &["cut off"],
            &["nothing lost"],
        ),
        (
            r#"{"question": "q", "expect": "cut off"}"#,
            Told::stream(&[serde_json::json!({"content": "Once"})], "length"),
            &[],
            &["cut off"],
        ),
    ] {
        let script = Script::default();
        script.tell(told);
        let report = report_on(upstream(&script).await, EndpointApi::Chat, tasks(tasks_text)).await;
        for name in failing {
            let (held, of) = score(&report, name);
            assert!(held < of, "{name} holds: {report:?}");
        }
        for name in holding {
            let (held, of) = score(&report, name);
            assert!(held == of && of > 0, "{name} does not hold: {report:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_measure_is_better_behind_the_gateway_and_worse_without() {
    let script = Script::default();
    script.tell(Told::text("<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"a\"}}</tool_call>", 3));
    let address = upstream(&script).await;
    let tasks = tasks(r#"{"question": "q", "expect": ["look"]}"#);
    let direct = report_on(address, EndpointApi::Chat, tasks.clone()).await;
    let running = serve(in_front_of(address)).await;
    let gated = report_on(running.address, EndpointApi::Chat, tasks).await;
    assert!(direct.first_argument.is_none() && gated.first_argument.is_some(), "{gated:?}");
    let then = |report: &Report| Baseline::read(&serde_json::to_string(report).unwrap()).unwrap();
    let compared = then(&direct).compare(&gated);
    let change = |name: &str| compared.iter().find(|one| one.measure == name).unwrap().change;
    assert_eq!(
        (change("called"), change("answered"), change("schema")),
        (Change::Better, Change::Same, Change::Unknown)
    );
    assert!(!Baseline::is_worse(&compared));
    assert!(Baseline::is_worse(&then(&gated).compare(&direct)));
    assert!(!then(&gated).is_about_other_tasks(&direct));
}
