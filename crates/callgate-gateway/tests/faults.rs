//! What goes wrong ends in a clear error or a correct answer, within its time.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callgate_gateway::Settings;
use callgate_gateway::config::{KeySettings, OnFailure, ReleaseAt, UpstreamSettings};
use serde_json::{Value, json};
use support::{FACES, Got, Script, Told, ask, calls, in_front_of, question, read, send, serve, upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const CALL: &str = "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>";

/// The message of an error in the form of a face, whole or as the last of a stream.
fn error(face: &str, got: &Got) -> String {
    let last = got.body.lines().rev().find(|line| line.contains("error")).unwrap_or(&got.body);
    let value: Value = serde_json::from_str(last.strip_prefix("data: ").unwrap_or(last)).unwrap_or_default();
    let text = match face {
        "/api/chat" => &value["error"],
        "/v1/responses" if value["response"].is_object() => &value["response"]["error"]["message"],
        _ => &value["error"]["message"],
    };
    text.as_str().unwrap_or_else(|| panic!("{face}: no error in {}", got.body)).to_owned()
}

/// A server that writes these bytes after it has read a request, and then does as `ends` says.
async fn raw(bytes: &'static [u8], stays: bool) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            tokio::spawn(async move {
                let mut buffer = [0; 65536];
                let _ = stream.read(&mut buffer).await;
                let _ = stream.write_all(bytes).await;
                if stays {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_does_wrong_is_said_in_the_form_of_each_face() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let rows: [(&'static [u8], bool, &str); 6] = [
        (b"", false, "broke"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"<tool_call>{\\\"name\\\": \\\"get\"}}]}\n\n", false, "stops without saying"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: garbage\n\n", false, "no JSON"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 12\r\n\r\n<html></html", false, "no JSON"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", true, "did not begin in time"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\nxx", false, "compressed"),
    ];
    assert!(rows.iter().any(|(bytes, ..)| bytes.starts_with(HEAD.as_bytes())));
    for (bytes, stays, wanted) in rows {
        for face in FACES {
            for stream in [false, true] {
                let mut settings = in_front_of(raw(bytes, stays).await);
                settings.upstreams[0].timeouts.first_byte_ms = 300;
                settings.upstreams[0].timeouts.idle_ms = 300;
                let running = serve(settings).await;
                let started = Instant::now();
                let got = ask(running.address, face, &question(face, stream)).await;
                let told = error(face, &got);
                assert!(told.contains(wanted), "{face}, {stream}: {told:?} instead of {wanted:?}");
                assert!(started.elapsed() < Duration::from_secs(5), "{face}");
                assert!(!got.body.contains("tool_calls") || face == "/api/chat", "{face}: {}", got.body);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_keeps_its_status_and_another_takes_over() {
    let busy = Script::default();
    let mut told = Told::rejection(429, "slow down");
    told.headers.push(("retry-after", "7"));
    busy.tell(told);
    let alone = serve(in_front_of(upstream(&busy).await)).await;
    let got = ask(alone.address, FACES[0], &question(FACES[0], true)).await;
    assert_eq!((got.status, got.headers["retry-after"].to_str().unwrap()), (429, "7"), "{}", got.body);
    let good = Script::default();
    good.tell(Told::text(CALL, 5));
    let mut settings = in_front_of(upstream(&busy).await);
    settings.upstreams.push(UpstreamSettings::at(format!("http://{}/v1", upstream(&good).await)));
    // Nobody is at the third address.
    settings.upstreams.push(UpstreamSettings::at("http://127.0.0.1:9/v1"));
    let running = serve(settings).await;
    for _ in 0..6 {
        let got = ask(running.address, FACES[0], &question(FACES[0], true)).await;
        assert_eq!(calls(&read(&got)).len(), 1, "{}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_takes_the_question_with_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    let seen = gone.clone();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 65536];
        let _ = stream.read(&mut buffer).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all(head).await.unwrap();
        let piece = b"data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"word \"}}]}\n\n";
        // Nothing more comes: only the end of the connection can be noticed.
        stream.write_all(piece).await.unwrap();
        while stream.read(&mut buffer).await.is_ok_and(|number| number > 0) {}
        seen.store(true, Ordering::SeqCst);
    });
    let running = serve(in_front_of(address)).await;
    let body = question(FACES[0], true).to_string();
    let mut client = TcpStream::connect(running.address).await.unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n{body}",
        FACES[0],
        running.address,
        body.len()
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut buffer = [0; 4096];
    let mut heard = String::new();
    while !heard.contains("word") {
        let number = client.read(&mut buffer).await.unwrap();
        assert!(number > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&buffer[..number]));
    }
    drop(client);
    for _ in 0..100 {
        if gone.load(Ordering::SeqCst) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the model's server still writes");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_does_wrong_is_answered_in_its_own_form() {
    let running = serve(Settings::default()).await;
    let json = ("content-type", "application/json");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![b' '; 64 << 20]).unwrap();
    let bomb = packed.finish().unwrap();
    let mut small = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    small.write_all(question(FACES[0], false).to_string().as_bytes()).unwrap();
    let small = small.finish().unwrap();
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for face in FACES {
        for (name, headers, body, status) in [
            ("no JSON", vec![json], b"{nope".to_vec(), 400),
            ("bad UTF-8", vec![json], b"{\"model\": \"\xff\"}".to_vec(), 400),
            ("too deep", vec![json], format!("{{\"model\": \"m\", \"messages\": {deep}}}").into_bytes(), 400),
            ("a list", vec![json], b"[]".to_vec(), 400),
            ("no model", vec![json], b"{}".to_vec(), 400),
            ("a bomb", vec![json, ("content-encoding", "gzip")], bomb.clone(), 413),
            ("unknown packing", vec![json, ("content-encoding", "br")], b"x".to_vec(), 415),
            ("foreign page", vec![json, ("origin", "https://evil.example")], b"{}".to_vec(), 403),
        ] {
            let got = send(running.address, "POST", face, &headers, body).await;
            assert_eq!(got.status, status, "{face}, {name}: {}", got.body);
            assert!(!error(face, &got).is_empty());
        }
    }
    let got = send(running.address, "POST", FACES[0], &[json, ("content-encoding", "gzip")], small).await;
    assert_eq!(got.status, 200, "{}", got.body);
    for (face, body, place) in [
        (
            FACES[0],
            json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tool_choice": "required"}),
            "tool_choice",
        ),
        (FACES[1], json!({"model": "m", "input": "x", "previous_response_id": "r"}), "previous_response_id"),
    ] {
        let got = ask(running.address, face, &body).await;
        assert_eq!((got.status, got.json()["error"]["param"].as_str()), (400, Some(place)), "{}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_wanted_where_there_are_some_and_never_shown() {
    // The hash of `foo`.
    let row =
        json!({"name": "a", "sha256": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"});
    let key: KeySettings = serde_json::from_value(row).unwrap();
    let mut settings = Settings::default();
    settings.keys = vec![key];
    let running = serve(settings).await;
    for face in FACES {
        let body = question(face, false).to_string().into_bytes();
        let got = send(running.address, "POST", face, &[], body.clone()).await;
        assert_eq!(got.status, 401, "{face}: {}", got.body);
        let got = send(running.address, "POST", face, &[("x-api-key", "foo")], body).await;
        assert_eq!(got.status, 200, "{face}: {}", got.body);
    }
    for path in ["/callgate/exchanges", "/metrics", "/v1/models"] {
        assert_eq!(send(running.address, "GET", path, &[], Vec::new()).await.status, 401, "{path}");
        let got = send(running.address, "GET", path, &[("authorization", "Bearer foo")], Vec::new()).await;
        assert_eq!(got.status, 200, "{path}");
        assert!(!got.body.contains("foo"), "{path}: {}", got.body);
    }
    for path in ["/", "/healthz", "/readyz"] {
        assert_eq!(send(running.address, "GET", path, &[], Vec::new()).await.status, 200, "{path}");
    }
    assert_eq!(send(running.address, "HEAD", "/", &[], Vec::new()).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_not_corrected_is_an_error_where_that_is_wanted() {
    let wrong = "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"town\": 7}}</tool_call>";
    for face in FACES {
        for stream in [false, true] {
            let script = Script::default();
            script.tell(Told::text(wrong, 6));
            let mut settings = in_front_of(upstream(&script).await);
            settings.on_failure = OnFailure::Error;
            settings.retries.attempts = 1;
            let running = serve(settings).await;
            let got = ask(running.address, face, &question(face, stream)).await;
            assert!(error(face, &got).contains("was rejected"), "{face}: {}", got.body);
            assert_eq!(script.asked().len(), 2);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_shown_while_they_are_written_are_whole_or_void() {
    for face in FACES {
        let script = Script::default();
        script.tell(Told::text(&format!("Now.\n{CALL}"), 3));
        let mut settings = in_front_of(upstream(&script).await);
        settings.release = ReleaseAt::Eager;
        let running = serve(settings.clone()).await;
        let got = ask(running.address, face, &question(face, true)).await;
        assert_eq!(
            calls(&read(&got)),
            [("get_weather".to_owned(), json!({"city": "Oslo"}))],
            "{face}: {}",
            got.body
        );
        let script = Script::default();
        script.tell(Told::text(
            "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"town\": 7}}</tool_call>",
            3,
        ));
        settings.upstreams = in_front_of(upstream(&script).await).upstreams;
        settings.retries.attempts = 0;
        let running = serve(settings).await;
        let got = ask(running.address, face, &question(face, true)).await;
        assert!(error(face, &got).contains("rejected"), "{face}: {}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_calls_that_are_written_side_by_side_are_both_whole() {
    let begin = |index: usize| json!({"tool_calls": [{"index": index, "id": format!("c{index}"), "function": {"name": "get_weather", "arguments": "{\"ci"}}]});
    let end = |index: usize, city: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": format!("ty\": \"{city}\"}}")}}]});
    for face in FACES {
        let script = Script::default();
        script.tell(Told::stream(&[begin(0), begin(1), end(0, "Oslo"), end(1, "Rome")], "tool_calls"));
        let mut settings = in_front_of(upstream(&script).await);
        settings.release = ReleaseAt::Eager;
        let running = serve(settings).await;
        let got = ask(running.address, face, &question(face, true)).await;
        let cities: Vec<Value> =
            calls(&read(&got)).into_iter().map(|(_, arguments)| arguments["city"].clone()).collect();
        assert_eq!(cities, ["Oslo", "Rome"], "{face}: {}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_waits_hears_that_somebody_is_there() {
    for face in FACES {
        let address = raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n", true).await;
        let mut settings = in_front_of(address);
        settings.upstreams[0].timeouts.first_byte_ms = 500;
        settings.limits.ping_ms = 50;
        let running = serve(settings).await;
        let got = ask(running.address, face, &question(face, true)).await;
        assert_eq!(got.status, 200, "{face}: {}", got.body);
        let sign = if face == "/api/chat" { "\"content\":\"\"" } else { "ping" };
        assert!(got.body.matches(sign).count() > 2, "{face}: {}", got.body);
        assert!(error(face, &got).contains("did not begin in time"), "{face}: {}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_face_reads_passes_through() {
    let script = Script::default();
    let mut told = Told::rejection(200, "");
    told.body = b"{\"data\": [1, 2.50]}".to_vec();
    script.tell(told);
    let running = serve(in_front_of(upstream(&script).await)).await;
    let got = ask(running.address, "/v1/embeddings", &json!({"input": "x"})).await;
    assert_eq!((got.status, got.body.as_str()), (200, "{\"data\": [1, 2.50]}"));
    assert_eq!(script.asked()[0]["input"], "x");
    assert_eq!(ask(running.address, "/v1/nothing", &json!({})).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_through_goes_to_the_server_of_its_model() {
    let (chat, vectors) = (Script::default(), Script::default());
    let mut settings = in_front_of(upstream(&chat).await);
    settings.upstreams[0].models = vec!["m*".to_owned()];
    let mut second = settings.upstreams[0].clone();
    second.url = format!("http://{}/v1", upstream(&vectors).await);
    second.models = vec!["vectors".to_owned()];
    settings.upstreams.push(second);
    let running = serve(settings).await;
    ask(running.address, "/v1/embeddings", &json!({"model": "vectors", "input": "x"})).await;
    assert_eq!((chat.asked().len(), vectors.asked().len()), (0, 1));
    let got = ask(running.address, "/v1/embeddings", &json!({"model": "unknown", "input": "x"})).await;
    assert_eq!((got.status, chat.asked().len(), vectors.asked().len()), (404, 0, 1), "{}", got.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_shows_who_the_client_is_stays_here() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let told = listener.local_addr().unwrap();
    // It answers with what it was sent.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 65536];
            let number = stream.read(&mut head).await.unwrap();
            let status = "HTTP/1.1 200 OK\r\nset-cookie: a=b\r\nx-told: yes\r\n";
            let answer =
                [format!("{status}content-length: {number}\r\n\r\n").as_bytes(), &head[..number]].concat();
            stream.write_all(&answer).await.unwrap();
        }
    });
    let running = serve(in_front_of(told)).await;
    let headers = [
        ("authorization", "Bearer of-the-client"),
        ("x-api-key", "of-the-client"),
        ("api-key", "of-the-client"),
        ("cookie", "of=the-client"),
        ("connection", "x-hop"),
        ("x-hop", "of-the-client"),
        ("x-kept", "kept"),
    ];
    let got = send(running.address, "GET", "/v1/files", &headers, Vec::new()).await;
    assert_eq!(got.status, 200);
    assert!(got.body.contains("x-kept: kept") && !got.body.contains("the-client"), "{}", got.body);
    assert!(got.headers.contains_key("x-told") && !got.headers.contains_key("set-cookie"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_spelling_of_an_address_passes_by_the_gate() {
    let script = Script::default();
    let running = serve(in_front_of(upstream(&script).await)).await;
    for face in FACES {
        for path in
            [format!("{face}/"), format!("/{face}"), format!("/gate{face}"), face.replace("/v1/", "/v1//")]
        {
            let told = script.asked().len();
            script.tell(Told::text("Hello.", 3));
            let got = ask(running.address, &path, &question(face, false)).await;
            assert_eq!(got.status, 200, "{path}: {}", got.body);
            assert!(got.headers.contains_key("x-callgate-verdict"), "{path}: {:?}", got.headers);
            assert_eq!(script.asked().len(), told + 1);
        }
        let got = send(running.address, "GET", face, &[], Vec::new()).await;
        assert_eq!(got.status, 405, "{face}: {}", got.body);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_out_of_a_question_is_said() {
    let running = serve(Settings::default()).await;
    let messages = json!({
        "model": "scripted",
        "max_tokens": 99,
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "look", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": {}}]},
                {"type": "document", "source": {}},
                {"type": "text", "text": "hello"},
            ]},
        ],
    });
    let responses = json!({
        "model": "scripted",
        "tools": [{"type": "web_search"}],
        "input": [
            {"role": "user", "content": [{"type": "input_file", "file_id": "f"}, {"type": "input_text", "text": "hello"}]},
            {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_image", "image_url": "x"}]},
            {"type": "computer_call", "id": "c"},
        ],
    });
    for (face, body, kinds) in [
        (
            "/v1/messages",
            messages,
            ["web_search", "type image of a tool's result", "type document"].as_slice(),
        ),
        (
            "/v1/responses",
            responses,
            &["web_search", "type input_file", "type input_image of a tool's result", "type computer_call"],
        ),
    ] {
        let got = ask(running.address, face, &body).await;
        let notes = got.json()["callgate"]["notes"].to_string();
        for kind in kinds {
            assert!(notes.contains(kind), "{face}: {kind} is not in {}", got.body);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_can_be_seen_and_counted() {
    let running = serve(Settings::default()).await;
    let body = json!({
        "model": "scripted",
        "messages": [{"role": "user", "content": "call look {\"q\": \"cats\",}"}],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}}],
    });
    let got = ask(running.address, FACES[0], &body).await;
    assert_eq!(got.headers["x-callgate-verdict"], "repaired", "{}", got.body);
    // The answer is sent before the last notes are taken.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let seen = send(running.address, "GET", "/callgate/exchanges", &[], Vec::new()).await.json();
    assert_eq!(
        (&seen[0]["model"], &seen[0]["calls"][0]["name"]),
        (&json!("scripted"), &json!("look")),
        "{seen}"
    );
    let metrics = send(running.address, "GET", "/metrics", &[], Vec::new()).await.body;
    assert!(
        metrics
            .contains("callgate_calls_total{model=\"scripted\",dialect=\"native\",verdict=\"repaired\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("callgate_requests_total{api=\"chat\",status=\"200\"} 1"), "{metrics}");
}
