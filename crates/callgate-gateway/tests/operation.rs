//! What an operator sees of an exchange: lines of the log, spans at a collector, and the trace passed on.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use callgate_gateway::Settings;
use callgate_gateway::config::{LogFormat, LogLevel};
use serde_json::{Value, json};
use support::{FACES, Running, Script, Told, ask, in_front_of, question, send, serve, upstream};
use tokio::net::TcpListener;

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const BROKEN: &str =
    "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\",}}</tool_call>";

type Lines = Arc<Mutex<Vec<String>>>;

/// The lines that a gateway logs.
fn heard(running: &Running, format: LogFormat) -> Lines {
    let lines = Lines::default();
    let heard = lines.clone();
    running.gateway.log_to(Some(format), Some(LogLevel::Info), move |line| {
        heard.lock().unwrap().push(line.to_owned());
    });
    lines
}

/// Waits for so many lines.
async fn wait(lines: &Lines, number: usize) -> Vec<String> {
    for _ in 0..250 {
        let now = lines.lock().unwrap().clone();
        if now.len() >= number {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("only {:?}", lines.lock().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_exchange_is_one_line_with_its_verdicts_and_no_secret() {
    let script = Script::default();
    script.tell(Told::text(BROKEN, 5));
    let running = serve(in_front_of(upstream(&script).await)).await;
    let lines = heard(&running, LogFormat::Json);
    let headers = [("authorization", "Bearer sk-abcdefghijklmnop0123"), ("traceparent", PARENT)];
    let body = question(FACES[0], true).to_string().into_bytes();
    let got = send(running.address, "POST", FACES[0], &headers, body).await;
    assert_eq!(got.status, 200, "{}", got.body);
    let line: Value = serde_json::from_str(&wait(&lines, 1).await[0]).unwrap();
    for (key, wanted) in [
        ("level", json!("info")),
        ("event", json!("exchange")),
        ("id", json!(got.headers["x-callgate-id"].to_str().unwrap())),
        ("trace", json!("4bf92f3577b34da6a3ce929d0e0e4736")),
        ("api", json!("chat")),
        ("model", json!("m")),
        ("status", json!(200)),
        ("stream", json!(true)),
        ("manner", json!("native")),
        ("accepted", json!(0)),
        ("repaired", json!(1)),
        ("rejected", json!(0)),
        ("dialects", json!(["hermes"])),
        ("prompt_tokens", json!(11)),
        ("completion_tokens", json!(7)),
    ] {
        assert_eq!(line[key], wanted, "{key} in {line}");
    }
    assert!(line["ms"].is_u64() && line["answered_ms"].is_u64(), "{line}");
    assert!(!line.to_string().contains("sk-abc"), "{line}");
    // What never became an exchange is said as well, once.
    let got = send(running.address, "POST", FACES[2], &[], b"{nope".to_vec()).await;
    assert_eq!(got.status, 400);
    let line: Value = serde_json::from_str(&wait(&lines, 2).await[1]).unwrap();
    assert_eq!(
        (&line["event"], &line["level"], &line["status"]),
        (&json!("refused"), &json!("warn"), &json!(400))
    );
    assert_eq!(lines.lock().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_is_counted_once_and_said_with_its_code() {
    let script = Script::default();
    script.tell(Told::rejection(500, "my key is sk-abcdefghijklmnop0123"));
    let running = serve(in_front_of(upstream(&script).await)).await;
    let lines = heard(&running, LogFormat::Text);
    for stream in [false, true] {
        assert!(ask(running.address, FACES[0], &question(FACES[0], stream)).await.status >= 500);
    }
    let lines = wait(&lines, 2).await;
    for line in &lines {
        assert!(line.contains(" error exchange ") && line.contains("code=rejected"), "{line}");
        assert!(!line.contains("sk-abc"), "{line}");
    }
    let metrics = send(running.address, "GET", "/metrics", &[], Vec::new()).await.body;
    assert!(metrics.contains("callgate_requests_total{api=\"chat\",status=\"502\"} 2"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_are_counted_by_model_and_dialect_and_the_time_that_was_added_is_measured() {
    let script = Script::default();
    script
        .tell(Told::text("<tool_call>{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}</tool_call>", 4));
    script.tell(Told::text("<tool_call>{\"name\": \"get_weather\", \"arguments\": {}}</tool_call>", 4));
    let running = serve(in_front_of(upstream(&script).await)).await;
    for model in ["m", "other"] {
        let mut body = question(FACES[0], false);
        body["model"] = model.into();
        ask(running.address, FACES[0], &body).await;
    }
    let metrics = send(running.address, "GET", "/metrics", &[], Vec::new()).await.body;
    let row = |what: &str, model: &str, dialect: &str, code: &str, number: u32| {
        format!("callgate_{what}_total{{model=\"{model}\",dialect=\"{dialect}\",code=\"{code}\"}} {number}")
    };
    assert!(metrics.contains(&row("repairs", "m", "hermes", "single-quotes", 5)), "{metrics}");
    assert!(metrics.contains(&row("findings", "other", "hermes", "missing-argument", 1)), "{metrics}");
    for part in ["before", "answer"] {
        assert!(metrics.contains(&format!("callgate_added_seconds_count{{part=\"{part}\"}} 2")), "{metrics}");
    }
}

/// Headers and bodies that came to a server.
type Came = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

async fn take(State(came): State<Came>, headers: HeaderMap, body: String) -> String {
    came.lock().unwrap().push((headers, serde_json::from_str(&body).unwrap_or_default()));
    let told = Told::text(BROKEN, 5);
    String::from_utf8(told.body).unwrap()
}

/// A server that keeps what it is sent, and answers it as a model's server and as a collector would.
async fn keeper() -> (std::net::SocketAddr, Came) {
    let came = Came::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stream = |body: String| ([("content-type", "text/event-stream")], body);
    let router = axum::Router::new()
        .route(
            "/v1/chat/completions",
            axum::routing::post(move |state, headers, body| async move {
                stream(take(state, headers, body).await)
            }),
        )
        .route(
            "/v1/traces",
            axum::routing::post(|state, headers, body| async move {
                take(state, headers, body).await;
                "{}"
            }),
        )
        .with_state(came.clone());
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { return };
            let service = hyper_util::service::TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                let io = hyper_util::rt::TokioIo::new(stream);
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
            });
        }
    });
    (address, came)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_of_a_client_is_passed_on() {
    let (address, came) = keeper().await;
    let running = serve(in_front_of(address)).await;
    for face in FACES {
        let body = question(face, false).to_string().into_bytes();
        let headers = [("traceparent", PARENT), ("tracestate", "vendor=1")];
        assert_eq!(send(running.address, "POST", face, &headers, body.clone()).await.status, 200);
        let (headers, _) = came.lock().unwrap().pop().unwrap();
        // Nothing is recorded here, so the server hears of the client's span.
        assert_eq!(
            (&headers["traceparent"], &headers["tracestate"]),
            (&PARENT.parse().unwrap(), &"vendor=1".parse().unwrap())
        );
        assert_eq!(send(running.address, "POST", face, &[("traceparent", "junk")], body).await.status, 200);
        let (headers, _) = came.lock().unwrap().pop().unwrap();
        assert!(!headers.contains_key("traceparent"), "{headers:?}");
    }
}

#[cfg(feature = "otlp")]
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_the_span_of_an_exchange() {
    let (address, came) = keeper().await;
    let (collector, spans) = keeper().await;
    let mut settings = in_front_of(address);
    settings.traces = Some(callgate_gateway::config::TraceSettings::at(format!("http://{collector}")));
    let running = serve(settings).await;
    let body = question(FACES[2], true).to_string().into_bytes();
    let got = send(running.address, "POST", FACES[2], &[("traceparent", PARENT)], body).await;
    assert_eq!(got.status, 200, "{}", got.body);
    for _ in 0..250 {
        if !spans.lock().unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (headers, sent) = spans.lock().unwrap().pop().unwrap();
    assert_eq!(headers["content-type"], "application/json");
    let resource = &sent["resourceSpans"][0];
    assert_eq!(
        resource["resource"]["attributes"][0],
        json!({"key": "service.name", "value": {"stringValue": "callgate"}})
    );
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 1, "{sent}");
    let span = &spans[0];
    assert_eq!(
        (&span["traceId"], &span["parentSpanId"]),
        (&json!("4bf92f3577b34da6a3ce929d0e0e4736"), &json!("00f067aa0ba902b7"))
    );
    assert_eq!((&span["name"], &span["kind"], &span["status"]), (&json!("chat m"), &json!(3), &json!({})));
    // The model's server hears of the same span.
    let (asked, _) = came.lock().unwrap().pop().unwrap();
    let told = format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{}-01", span["spanId"].as_str().unwrap());
    assert_eq!(asked["traceparent"].to_str().unwrap(), told);
    let nanos = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"));
    let value = |key: &str| {
        let attributes = span["attributes"].as_array().unwrap();
        attributes.iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("no {key} in {span}"))["value"].clone()
    };
    let text = |text: &str| json!({"stringValue": text});
    for (key, wanted) in [
        ("gen_ai.operation.name", text("chat")),
        ("gen_ai.provider.name", text("openai")),
        ("gen_ai.request.model", text("m")),
        ("gen_ai.usage.input_tokens", json!({"intValue": "11"})),
        ("gen_ai.usage.output_tokens", json!({"intValue": "7"})),
        ("gen_ai.response.finish_reasons", json!({"arrayValue": {"values": [text("tool_calls")]}})),
        ("server.address", text("127.0.0.1")),
        ("server.port", json!({"intValue": address.port().to_string()})),
        ("callgate.exchange.id", text(got.headers["x-callgate-id"].to_str().unwrap())),
        ("callgate.calls.repaired", json!({"intValue": "1"})),
        ("callgate.dialects", json!({"arrayValue": {"values": [text("hermes")]}})),
    ] {
        assert_eq!(value(key), wanted, "{key}");
    }
}

#[cfg(feature = "otlp")]
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_not_there_costs_nobody_an_answer() {
    let settings = Settings::parse("traces: {endpoint: \"http://127.0.0.1:9\"}").unwrap();
    let running = serve(settings).await;
    let lines = heard(&running, LogFormat::Json);
    let got = ask(running.address, FACES[0], &question(FACES[0], false)).await;
    assert_eq!(got.status, 200, "{}", got.body);
    let lines = wait(&lines, 3).await;
    assert!(lines[1].contains("\"traces\"") && lines[2].contains("\"lost\":1"), "{lines:?}");
}

#[test]
fn faults_of_the_settings_of_operation_are_told_with_the_others() {
    let text = "listen: x\naudit: {folder: a, max_records: 5, sync_interval_ms: 0}\ntraces: {endpoint: nowhere, key_env: NO_SUCH_KEY}\n";
    let faults = Settings::parse(text).unwrap_err().faults;
    assert!(faults.len() >= 4, "{faults:?}");
    for word in ["max_records", "sync_interval_ms", "traces.endpoint", "NO_SUCH_KEY"] {
        assert!(faults.iter().any(|fault| fault.contains(word)), "{word}: {faults:?}");
    }
    assert!(Settings::parse("log: {format: json, level: warn}").is_ok());
    assert!(Settings::parse("log: {format: xml}").is_err());
}
