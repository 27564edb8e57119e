//! The fault matrix, the servers' side: whatever a model's server does, the client gets a clear error or a right answer in
//! time, the server is left when the client is gone, and nothing else is left behind.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use callgate_gateway::Settings;
use serde_json::{Value, json};
use support::watched::{Watched, gone, raw, watched};
use support::{FACES, Got, Script, Told, ask, calls, in_front_of, question, read, send, upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

const CALL: &str = "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>";
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const WORD: &str = "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"word \"}}]}\n\n";

/// The message of an error in the form of a face, whole or as the last of a stream.
fn error(face: &str, got: &Got) -> String {
    let last = got.body.lines().rev().find(|line| line.contains("error")).unwrap_or(&got.body);
    let value: Value = serde_json::from_str(last.strip_prefix("data: ").unwrap_or(last)).unwrap_or_default();
    let text = match face {
        "/api/chat" => &value["error"],
        "/v1/responses" if value["response"].is_object() => &value["response"]["error"]["message"],
        _ => &value["error"]["message"],
    };
    let shown: String = got.body.chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect();
    text.as_str().unwrap_or_else(|| panic!("{face}: no error in …{shown}")).to_owned()
}

/// Settings in front of a server that have little patience.
fn hasty(address: std::net::SocketAddr) -> Settings {
    let mut settings = in_front_of(address);
    let timeouts = &mut settings.upstreams[0].timeouts;
    (timeouts.connect_ms, timeouts.first_byte_ms, timeouts.idle_ms, timeouts.total_ms) =
        (500, 400, 400, 1000);
    settings
}

/// What a server that is at fault is said to have done, for every face, plain and streamed, all at once.
async fn told(watched: &Watched, wanted: &str) {
    let address = watched.address();
    let asked = FACES.iter().flat_map(|face| [(*face, false), (*face, true)]).map(|(face, stream)| {
        tokio::spawn(async move {
            let since = Instant::now();
            let got = ask(address, face, &question(face, stream)).await;
            (face, stream, error(face, &got), since.elapsed())
        })
    });
    for asked in asked.collect::<Vec<_>>() {
        let (face, stream, told, time) = asked.await.unwrap();
        assert!(told.contains(wanted), "{face}, {stream}: {told:?} instead of {wanted:?}");
        assert!(time < Duration::from_secs(5), "{face}: {time:?}");
    }
    watched.calm(wanted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_not_waited_for() {
    let silent = raw(|mut stream| async move { gone(&mut stream).await }).await;
    told(&watched(hasty(silent)).await, "did not begin in time").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_drips_is_read_for_as_long_as_an_answer_may_take() {
    let drips = |pause: u64, text: String| {
        raw(move |mut stream| {
            let text = text.clone();
            async move {
                stream.write_all(HEAD.as_bytes()).await.unwrap();
                for byte in text.as_bytes() {
                    if stream.write_all(&[*byte]).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
            }
        })
    };
    let endless = WORD.repeat(100);
    told(&watched(hasty(drips(30, endless).await)).await, "took too long").await;
    // What comes in time is read, however small its pieces are.
    let answer = String::from_utf8(Told::text(CALL, 40).body).unwrap();
    let mut settings = hasty(drips(0, answer).await);
    settings.upstreams[0].timeouts.total_ms = 20_000;
    let watched = watched(settings).await;
    for face in FACES {
        let got = ask(watched.address(), face, &question(face, true)).await;
        assert_eq!(calls(&read(&got)), [("get_weather".to_owned(), json!({"city": "Oslo"}))], "{}", got.body);
    }
    watched.calm("drips").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_ends_is_left() {
    let endless = |text: &'static str, pause: u64| {
        raw(move |mut stream| async move {
            let _ = stream.write_all(HEAD.as_bytes()).await;
            while stream.write_all(text.as_bytes()).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        })
    };
    told(&watched(hasty(endless(WORD, 5).await)).await, "took too long").await;
    // Signs of life alone are no answer.
    told(&watched(hasty(endless(": ping\n\n", 5).await)).await, "took too long").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_answer_are_said_to_be_none() {
    let says = |bytes: &'static [u8]| {
        raw(move |mut stream| async move {
            // Closed while a part of the question is unread, the connection would take the answer with it.
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
            gone(&mut stream).await;
        })
    };
    let deep: &'static str = Box::leak(format!("{HEAD}data: {}\n\n", "[".repeat(100_000)).into_boxed_str());
    for (bytes, wanted) in [
        (&b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"choices\": \"\xff\xfe\"}\n\n"[..], "UTF-8"),
        (deep.as_bytes(), "no JSON"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\ndata: {\"choices\": []}\n\n", "no JSON"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]", "no object"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\": [", "broke"),
        (b"220 mail.example ESMTP\r\n", "broke"),
        (b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n", "rejected"),
    ] {
        told(&watched(hasty(says(bytes).await)).await, wanted).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_busy_or_broken_says_when_to_come_again() {
    for (status, key, told) in [(429, "7", 429), (500, "9", 502), (503, "11", 503)] {
        let script = Script::default();
        let mut rejection =
            Told::rejection(status, "not now, and the key sk-abcdefghijklmnop0123 is not yours");
        rejection.headers.push(("retry-after", key));
        script.tell(rejection);
        let watched = watched(hasty(upstream(&script).await)).await;
        for face in FACES {
            for stream in [false, true] {
                let got = ask(watched.address(), face, &question(face, stream)).await;
                let after = got.headers.get("retry-after").map(|value| value.to_str().unwrap());
                assert_eq!((got.status, after), (told, Some(key)), "{face}: {}", got.body);
                assert!(error(face, &got).contains("not now"), "{}", got.body);
                assert!(!got.body.contains("sk-abc"), "{}", got.body);
            }
        }
        watched.calm("busy").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_megabytes_come_through_and_are_not_kept() {
    // A mebibyte at a time; a client reads it all.
    let piece = format!(
        "data: {}\n\n",
        json!({"choices": [{"index": 0, "delta": {"content": "x".repeat(1 << 20)}}]})
    );
    let end = "data: {\"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": \"stop\"}]}\n\ndata: [DONE]\n\n";
    let address = raw(move |mut stream| {
        let piece = piece.clone();
        async move {
            let _ = stream.write_all(HEAD.as_bytes()).await;
            for _ in 0..100 {
                if stream.write_all(piece.as_bytes()).await.is_err() {
                    return;
                }
            }
            let _ = stream.write_all(end.as_bytes()).await;
        }
    })
    .await;
    let watched = watched(in_front_of(address)).await;
    let since = Instant::now();
    let got = ask(watched.address(), FACES[0], &question(FACES[0], true)).await;
    assert!(got.body.len() > 100 << 20 && got.body.contains("[DONE]"), "{} bytes", got.body.len());
    println!("a hundred megabytes in {:?}", since.elapsed());
    watched.calm("a hundred megabytes").await;
    let kept = send(watched.address(), "GET", "/callgate/exchanges", &[], Vec::new()).await.body;
    assert!(kept.len() < 1 << 20, "{} bytes", kept.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_not_waited_for() {
    let address = raw(|mut stream| async move {
        let _ = stream.write_all(HEAD.as_bytes()).await;
        let many = WORD.repeat(1000);
        while stream.write_all(many.as_bytes()).await.is_ok() {}
    })
    .await;
    let mut settings = in_front_of(address);
    settings.limits.write_ms = 500;
    let watched = watched(settings).await;
    let mut stream = TcpStream::connect(watched.address()).await.unwrap();
    stream.write_all(watched.post(FACES[0], &question(FACES[0], true).to_string()).as_bytes()).await.unwrap();
    // It is still connected, and reads nothing.
    let since = Instant::now();
    while watched.gauge("callgate_active_requests").await > 0 || since.elapsed() < Duration::from_millis(300)
    {
        // How long it takes until nothing more fits on the way depends on the machine.
        assert!(since.elapsed() < Duration::from_secs(60), "it is still waited for");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(since.elapsed() >= Duration::from_millis(450), "{:?}", since.elapsed());
    drop(stream);
    watched.calm("a client that does not read").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_is_followed_by_the_question_within_a_tenth_of_a_second() {
    // Before the server answers, and in the middle of its answer.
    for says in ["", HEAD, &format!("{HEAD}{WORD}")] {
        let says = says.to_owned();
        let (to, mut ends) = mpsc::unbounded_channel();
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = begun.clone();
        let address = raw(move |mut stream| {
            let (says, to, counted) = (says.clone(), to.clone(), counted.clone());
            async move {
                let _ = stream.write_all(says.as_bytes()).await;
                counted.fetch_add(1, Ordering::SeqCst);
                gone(&mut stream).await;
                let _ = to.send(Instant::now());
            }
        })
        .await;
        let watched = watched(in_front_of(address)).await;
        for (path, stream) in
            FACES.iter().flat_map(|face| [(*face, true), (*face, false)]).chain([("/v1/embeddings", false)])
        {
            let mut best = Duration::MAX;
            // The machine may be busy with something else; the best of a few counts.
            for _ in 0..5 {
                let before = begun.load(Ordering::SeqCst);
                let body = match path {
                    "/v1/embeddings" => json!({"input": "x"}),
                    face => question(face, stream),
                };
                let mut client = TcpStream::connect(watched.address()).await.unwrap();
                client.write_all(watched.post(path, &body.to_string()).as_bytes()).await.unwrap();
                while begun.load(Ordering::SeqCst) == before {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
                drop(client);
                let went = Instant::now();
                let end = tokio::time::timeout(Duration::from_secs(5), ends.recv()).await;
                let end =
                    end.unwrap_or_else(|_| panic!("{path}, {stream}: the server is still asked")).unwrap();
                best = best.min(end.saturating_duration_since(went));
                if best < Duration::from_millis(100) {
                    break;
                }
            }
            assert!(best < Duration::from_millis(100), "{path}, {stream}: {best:?}");
        }
        watched.calm("clients that went").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_passes_through_has_its_limits_too() {
    let address = raw(|mut stream| async move {
        let mut buffer = [0; 16];
        // The first line of what is left decides; most of the request has been read.
        let _ = tokio::time::timeout(Duration::from_millis(1), stream.read(&mut buffer)).await;
        gone(&mut stream).await;
    })
    .await;
    let mut settings = hasty(address);
    settings.limits.body = 1000;
    let silent = watched(settings).await;
    let got = ask(silent.address(), "/v1/embeddings", &json!({"input": "x"})).await;
    assert_eq!(got.status, 504, "{}", got.body);
    let got = ask(silent.address(), "/v1/embeddings", &json!({"input": "x".repeat(2000)})).await;
    assert_eq!(got.status, 413, "{}", got.body);
    silent.calm("a server that does not answer what is passed").await;
    drop(silent);
    let half = raw(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await;
        gone(&mut stream).await;
    })
    .await;
    let half = watched(hasty(half)).await;
    let since = Instant::now();
    let answer = half.bytes(half.post("/v1/embeddings", "{}").as_bytes()).await;
    assert!(answer.ends_with("half") && since.elapsed() < Duration::from_secs(3), "{answer}");
    half.calm("half of what is passed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_answer_comes_to_its_end_when_the_server_is_told_to_stop() {
    let script = Script::default();
    script.tell(Told::text(&format!("{} {CALL}", "word ".repeat(200)), 2).cut(40));
    let watched = watched(in_front_of(upstream(&script).await)).await;
    let address = watched.address();
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(watched.post(FACES[0], &question(FACES[0], true).to_string()).as_bytes()).await.unwrap();
    let mut first = [0; 32];
    client.read_exact(&mut first).await.unwrap();
    drop(watched);
    let mut rest = String::new();
    client.read_to_string(&mut rest).await.unwrap();
    assert!(rest.contains("get_weather") && rest.contains("[DONE]"), "{rest}");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(TcpStream::connect(address).await.is_err(), "it takes no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_serves_one_request_after_the_other() {
    for cut in [0, 7] {
        let script = Script::default();
        script.tell(Told::text(CALL, 5).cut(cut));
        let watched = watched(in_front_of(upstream(&script).await)).await;
        for number in 0..5 {
            for face in FACES {
                let got = ask(watched.address(), face, &question(face, number % 2 == 0)).await;
                assert_eq!(calls(&read(&got)).len(), 1, "{face}: {}", got.body);
            }
        }
        // The end of a body may be on its way when the next request comes.
        assert!(script.accepted() <= 4, "{} connections for 20 requests", script.accepted());
        watched.calm("connections that waited").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_the_server_closed_costs_nobody_an_answer() {
    let body = String::from_utf8(Told::text(CALL, 5).body).unwrap();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    for waits in [true, false] {
        let answer = answer.clone();
        let server = raw(move |mut stream| {
            let answer = answer.clone();
            async move {
                stream.write_all(answer.as_bytes()).await.unwrap();
                // It closes after a moment, or as soon as a second request is there.
                match waits {
                    true => tokio::time::sleep(Duration::from_millis(20)).await,
                    false => {
                        let _ = stream.read(&mut [0; 4096]).await;
                    }
                }
            }
        })
        .await;
        let watched = watched(in_front_of(server)).await;
        for _ in 0..4 {
            let got = ask(watched.address(), FACES[0], &question(FACES[0], false)).await;
            assert_eq!(calls(&read(&got)).len(), 1, "{waits}: {}", got.body);
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        watched.calm("connections that were closed").await;
    }
}
