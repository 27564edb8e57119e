//! An endpoint is verified: what a model's server does wrong is seen, and is not seen any more behind the gateway.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use callgate_agent::model::Address;
use callgate_gateway::verify::{EndpointApi, Inquiry, Report, verify};
use support::{Script, Told, in_front_of, serve, upstream};

async fn report(address: SocketAddr, api: EndpointApi) -> Report {
    let inquiry = Inquiry {
        endpoint: Address::parse(&format!("http://{address}")).unwrap(),
        api,
        model: "m".to_owned(),
        key: None,
        times: 1,
        patience: Duration::from_secs(10),
    };
    verify(&inquiry).await.unwrap()
}

/// How often a property held, and how often it was looked at.
fn score(report: &Report, name: &str) -> (u32, u32) {
    let (_, score) = report.scores.iter().find(|(known, _)| *known == name).unwrap();
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
