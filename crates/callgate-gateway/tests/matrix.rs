//! The fault matrix, the client's side: whatever a client does, it ends in a clear error or a right answer in its time, and nothing
//! is left of it: no task, no connection, no file.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};

use callgate_gateway::Settings;
use support::watched::{gone, watched};
use support::{FACES, Script, Told, ask, in_front_of, question, send, upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CALL: &str = "<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}</tool_call>";

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_slow_connections_keep_nobody_out_and_are_closed() {
    let mut settings = Settings::default();
    settings.limits.head_ms = 3000;
    let watched = watched(settings).await;
    // Both ends are here: each takes two files of what the process may have open.
    let limit = std::fs::read_to_string("/proc/self/limits").unwrap();
    let limit = limit.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let limit: usize = limit.split_whitespace().nth(3).unwrap().parse().unwrap();
    let number = ((limit - watched.files() - 200) / 2).min(10_000);
    let mut slow = Vec::with_capacity(number);
    for at in 0..number {
        let mut stream = TcpStream::connect(watched.address()).await.unwrap();
        if at % 2 == 0 {
            stream.write_all(b"POST /v1/chat/completions HTTP/1.1\r\nhost: loc").await.unwrap();
        }
        slow.push(stream);
    }
    let since = Instant::now();
    let got = ask(watched.address(), FACES[0], &question(FACES[0], false)).await;
    assert_eq!(got.status, 200, "{}", got.body);
    assert!(since.elapsed() < Duration::from_secs(2), "{:?} beside {number} others", since.elapsed());
    for stream in &mut slow {
        let end = tokio::time::timeout(Duration::from_secs(20), gone(stream)).await;
        assert!(end.is_ok(), "still open");
    }
    drop(slow);
    watched.calm("slow connections").await;
    println!("{number} slow connections");
}

#[tokio::test(flavor = "multi_thread")]
async fn more_connections_than_are_allowed_wait_for_their_turn() {
    let mut settings = Settings::default();
    settings.limits.head_ms = 500;
    settings.limits.connections = 16;
    let watched = watched(settings).await;
    let mut slow = Vec::new();
    for _ in 0..40 {
        slow.push(TcpStream::connect(watched.address()).await.unwrap());
    }
    let got = ask(watched.address(), FACES[0], &question(FACES[0], false)).await;
    assert_eq!(got.status, 200, "{}", got.body);
    drop(slow);
    watched.calm("too many connections").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_too_large_or_too_slow_or_broken_are_answered_and_closed() {
    let mut settings = Settings::default();
    settings.limits.body = 1 << 20;
    settings.limits.body_ms = 400;
    settings.limits.head_ms = 400;
    settings.limits.head = 16 << 10;
    let watched = watched(settings).await;
    let chunk = [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b'x'; 1 << 20], b"\r\n".to_vec()].concat();
    for face in FACES.iter().chain(&["/callgate/parse", "/v1/messages/count_tokens", "/api/show"]) {
        let since = Instant::now();
        // It says that a hundred megabytes come, and is answered before they do.
        let answer = watched.bytes(watched.head(face, "content-length: 104857600\r\n").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("limits.body"), "{face}: {answer}");
        // A body in chunks does not say it: the connection ends on the way.
        let mut stream = TcpStream::connect(watched.address()).await.unwrap();
        stream.write_all(watched.head(face, "transfer-encoding: chunked\r\n").as_bytes()).await.unwrap();
        let (mut from, mut to) = stream.into_split();
        let sending = async {
            for _ in 0..100 {
                if to.write_all(&chunk).await.is_err() {
                    break;
                }
            }
        };
        let mut answer = Vec::new();
        let _ = tokio::join!(sending, from.read_to_end(&mut answer));
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 413"), "{face}: {answer}");
        // Half a body, and silence.
        let answer =
            watched.bytes(watched.head(face, "content-length: 900\r\n\r\n{\"model\":").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("in time"), "{face}: {answer}");
        // Half a body, and the end.
        let mut stream = TcpStream::connect(watched.address()).await.unwrap();
        stream
            .write_all(watched.head(face, "content-length: 900\r\n\r\n{\"model\":").as_bytes())
            .await
            .unwrap();
        drop(stream);
        assert!(since.elapsed() < Duration::from_secs(5), "{face}: {:?}", since.elapsed());
    }
    let many: String = (0..200).map(|at| format!("x-{at}: y\r\n")).collect();
    let long = format!("x: {}\r\n", "y".repeat(1 << 20));
    for head in [many, long] {
        let answer = watched.bytes(watched.head(FACES[0], &head).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    }
    let answer = watched.bytes(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 this is TLS").await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    watched.calm("bodies").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_unpacks_to_too_much_is_turned_away_at_its_limit() {
    let watched = watched(Settings::default()).await;
    // Blocks of a repeated byte: 128 KiB from four bytes each, a gibibyte in all.
    let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for at in 0..8192u32 {
        let header = (131_072 << 3) | (1 << 1) | u32::from(at == 8191);
        zstd.extend_from_slice(&header.to_le_bytes()[..3]);
        zstd.push(b' ');
    }
    let since = Instant::now();
    for face in FACES {
        let got = send(watched.address(), "POST", face, &[("content-encoding", "zstd")], zstd.clone()).await;
        assert_eq!(got.status, 413, "{face}: {}", got.body);
    }
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    let got =
        send(watched.address(), "POST", FACES[0], &[("content-encoding", "zstd")], b"no zstd".to_vec()).await;
    assert_eq!(got.status, 400, "{}", got.body);
    watched.calm("bombs").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_behind_each_other_on_one_connection_are_answered_in_order() {
    let script = Script::default();
    script.tell(Told::text(CALL, 3));
    let watched = watched(in_front_of(upstream(&script).await)).await;
    let one = watched.post(FACES[0], &question(FACES[0], true).to_string());
    let two = watched.post(FACES[0], &question(FACES[0], false).to_string());
    let end = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", watched.address());
    let answer = watched.bytes(format!("{one}{two}{end}").as_bytes()).await;
    let places: Vec<usize> = ["text/event-stream", "x-callgate-verdict: accepted", "{\"status\":\"ok\"}"]
        .iter()
        .map(|word| answer.find(word).unwrap_or_else(|| panic!("no {word} in {answer}")))
        .collect();
    assert!(places.is_sorted(), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 3, "{answer}");
    watched.calm("requests behind each other").await;
}
