//! The model clients against servers that stream, dawdle, break and hang up: on real sockets, and on pipes where time
//! has to be exact.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "support/scratch.rs"]
mod scratch;
mod support;

use std::sync::OnceLock;
use std::time::Duration;

use callgate::{FinishReason, Gate, Registry};
use callgate_agent::history::{CallStyle, Message};
use callgate_agent::model::{
    Address, ChatRequest, Connect, FaultCode, Model, ModelFault, Ollama, OpenAi, Parameters, Secret, Server,
    Timeouts, Turn, Usage, respond,
};
use scratch::Scratch;
use serde_json::{Value, json};
use support::{Act, Deaf, Piped, bytes, chunked, head, listen, status};
use tokio::time::Instant;

const NDJSON: &str = "application/x-ndjson";
const SSE: &str = "text/event-stream; charset=utf-8";

/// Thought, text that holds a call in a text dialect, and the end, as Ollama streams it.
const OLLAMA_TEXT: &str = concat!(
    "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"Hm…\"},\"done\":false}\n",
    "{\"message\":{\"role\":\"assistant\",\"content\":\"Größe? <tool\"},\"done\":false}\n",
    "\n",
    "{\"message\":{\"role\":\"assistant\",\"content\":\"_call>{\\\"name\\\": \\\"look\\\", \"},\"done\":false}\r\n",
    "{\"message\":{\"role\":\"assistant\",\"content\":\"\\\"arguments\\\": {\\\"q\\\": \\\"🐈\\\"}}</tool_call>\"},\"done\":false}\n",
    "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":11,\"eval_count\":7}\n",
);

/// The same as server-sent events, the call structured and in deltas.
const OPENAI_CALL: &str = concat!(
    ": keep-alive\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"Hm…\"}}]}\n\n",
    "event: message\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Größe?\"}}]}\r\n\r\n",
    "data:{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"look\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"q\\\": \"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"🐈\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":7}}\n\n",
    "data: [DONE]\n\n",
);

fn gate() -> Gate {
    static GATE: OnceLock<Gate> = OnceLock::new();
    let build = || {
        let tools = json!([{"name": "look", "description": "Looks.", "parameters":
            {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}]);
        Gate::builder().tools(Registry::from_value(&tools).unwrap()).build().unwrap()
    };
    GATE.get_or_init(build).clone()
}

fn request() -> ChatRequest {
    ChatRequest {
        untrusted: Vec::new(),
        messages: vec![Message::User { text: "Which cat?".to_owned() }],
        tools: gate().registry().map(Registry::to_openai),
        style: CallStyle::Native,
        parameters: Parameters {
            model: "m".to_owned(),
            temperature: Some(0.25),
            max_tokens: Some(9),
            seed: Some(3),
        },
        stream: true,
    }
}

/// Which client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Ollama,
    OpenAi,
}

const KINDS: [(Kind, &str, &str); 2] =
    [(Kind::Ollama, NDJSON, OLLAMA_TEXT), (Kind::OpenAi, SSE, OPENAI_CALL)];

fn client(kind: Kind, server: Server) -> Box<dyn Model> {
    match kind {
        Kind::Ollama => Box::new(Ollama::new(server)),
        Kind::OpenAi => Box::new(OpenAi::new(server)),
    }
}

fn piped(connect: impl Connect + 'static) -> Server {
    Server::new(Address::parse("http://model.test").unwrap()).reached_by(connect)
}

async fn ask(model: &dyn Model) -> Result<Turn, ModelFault> {
    respond(model, &request(), &gate(), "t_", &mut |_| {}).await
}

/// What both streams say.
fn assert_is_the_answer(turn: &Turn, what: &str) {
    assert_eq!(turn.response.reasoning, "Hm…", "{what}");
    assert_eq!(turn.response.text.trim(), "Größe?", "{what}");
    assert_eq!(turn.response.calls.len(), 1, "{what}: {:?}", turn.response);
    assert_eq!(turn.response.calls[0].value(), json!({"q": "🐈"}), "{what}");
    assert!(turn.response.calls[0].checked, "{what}");
    assert_eq!(turn.response.finish_reason, FinishReason::ToolCalls, "{what}");
    assert_eq!(turn.usage, Usage { prompt: 11, completion: 7 }, "{what}");
}

async fn fault_of(kind: Kind, acts: impl IntoIterator<Item = Act>) -> ModelFault {
    let acts: Vec<Act> = acts.into_iter().collect();
    match ask(&*client(kind, piped(Piped::new(acts.clone())))).await {
        Ok(turn) => panic!("{kind:?} took {acts:?} for an answer: {turn:?}"),
        Err(fault) => fault,
    }
}

/// characters cut in two are joined, and deltas are kept apart by index.
#[tokio::test(start_paused = true)]
async fn streams_read_the_same_however_they_are_cut() {
    for (kind, content, body) in KINDS {
        for size in 1..=body.len() {
            let model = client(kind, piped(Piped::new([bytes(chunked(content, body, size))])));
            assert_is_the_answer(&ask(&*model).await.unwrap(), &format!("{kind:?} in chunks of {size}"));
        }
    }
}

#[tokio::test]
async fn streams_come_over_a_real_socket_in_chunks_of_any_size() {
    for (kind, content, body) in KINDS {
        for size in [1, 2, 3, 7, 64, 1024] {
            let raw = chunked(content, body, size);
            let (address, _) = listen(raw.chunks(size + 3).map(bytes)).await;
            let model = client(kind, Server::new(Address::parse(&address).unwrap()));
            assert_is_the_answer(&ask(&*model).await.unwrap(), &format!("{kind:?} in chunks of {size}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_up_at_any_byte_is_a_fault_and_no_call_comes_out() {
    for (kind, content, body) in KINDS {
        // One chunk that holds everything, so that the place of its last line in the answer is known.
        let raw = chunked(content, body, body.len());
        let start = raw.len() - b"\r\n0\r\n\r\n".len() - body.len();
        let enough = start + body.trim_end().len() + 1;
        for length in 0..raw.len() {
            let answer = ask(&*client(kind, piped(Piped::new([bytes(&raw[..length])])))).await;
            let what = format!("{kind:?} after {length} bytes");
            match answer {
                Ok(turn) => {
                    assert!(length >= enough, "{what} is no answer");
                    assert_is_the_answer(&turn, &what);
                }
                Err(fault) => {
                    assert!(length < enough, "{what} everything had come: {fault}");
                    assert_eq!(fault.code, FaultCode::Disconnected, "{what}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_just_stops_is_no_answer() {
    // Without a length and without chunks the end of the connection looks like the end of the body.
    for (kind, content, body) in KINDS {
        let ends = if kind == Kind::Ollama { "\"done\":true" } else { "\"finish_reason\"" };
        let end = body.find(ends).unwrap();
        for length in 0..end {
            let body = &body.as_bytes()[..length];
            let fault = fault_of(kind, [bytes(head(content)), bytes(body)]).await;
            assert_eq!(fault.code, FaultCode::EndedEarly, "{kind:?} after {length} bytes: {fault}");
            assert_eq!(fault.received, length, "{kind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_without_its_last_line_break_or_done_mark_still_counts() {
    let ollama = OLLAMA_TEXT.trim_end();
    let openai = OPENAI_CALL.strip_suffix("data: [DONE]\n\n").unwrap();
    for (kind, content, body) in [
        (Kind::Ollama, NDJSON, ollama),
        (Kind::OpenAi, SSE, openai),
        (Kind::OpenAi, SSE, OPENAI_CALL.trim_end()),
    ] {
        let model = client(kind, piped(Piped::new([bytes(head(content)), bytes(body)])));
        assert_is_the_answer(&ask(&*model).await.unwrap(), &format!("{kind:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_in_the_servers_format_gives_up_the_answer() {
    let good = OLLAMA_TEXT.lines().next().unwrap();
    for (kind, content, body) in [
        (Kind::Ollama, NDJSON, format!("{good}\n{{\"message\": {{\"content\": \"x\"\n{OLLAMA_TEXT}")),
        (Kind::Ollama, NDJSON, format!("{good}\nnot json\n{OLLAMA_TEXT}")),
        (Kind::Ollama, NDJSON, format!("[1]\n{OLLAMA_TEXT}")),
        (Kind::Ollama, "text/html", "<html>hello</html>\n".to_owned()),
        (Kind::OpenAi, SSE, format!("data: {{\"choices\": [}}\n\n{OPENAI_CALL}")),
        (Kind::OpenAi, SSE, format!("dta: {{}}\n\n{OPENAI_CALL}")),
        (Kind::OpenAi, "text/html", "<html>hello</html>".to_owned()),
    ] {
        let fault = fault_of(kind, [bytes(chunked(content, &body, 9))]).await;
        assert_eq!(fault.code, FaultCode::BadLine, "{kind:?} {body:?}: {fault}");
        assert!(fault.server.starts_with("http://model.test"), "{fault}");
    }
    let invalid = [head(NDJSON).as_bytes(), b"{\"message\": {\"content\": \"\xff\"}}\n"].concat();
    assert_eq!(fault_of(Kind::Ollama, [bytes(invalid)]).await.code, FaultCode::BadLine);
}

#[tokio::test(start_paused = true)]
async fn errors_that_a_server_reports_are_told_in_its_words() {
    for (kind, raw, code, said) in [
        (
            Kind::Ollama,
            status("404 Not Found", "{\"error\":\"model 'm' not found\"}"),
            FaultCode::Rejected,
            "model 'm' not found",
        ),
        (
            Kind::OpenAi,
            status("401 Unauthorized", "{\"error\":{\"message\":\"bad key\"}}"),
            FaultCode::Rejected,
            "bad key",
        ),
        (
            Kind::OpenAi,
            status("500 Internal Server Error", "oh\u{1b}[31m no"),
            FaultCode::Rejected,
            "oh[31m no",
        ),
        (Kind::OpenAi, status("503 Busy", ""), FaultCode::Rejected, "without a reason"),
        (
            Kind::OpenAi,
            status("200 OK", "{\"error\":{\"message\":\"no room\"}}"),
            FaultCode::ServerError,
            "no room",
        ),
        (
            Kind::Ollama,
            format!("{}{}", head(NDJSON), "{\"error\":\"out of memory\"}\n"),
            FaultCode::ServerError,
            "out of memory",
        ),
        (
            Kind::OpenAi,
            format!("{}{}", head(SSE), "data: {\"error\":\"stopped\"}\n\n"),
            FaultCode::ServerError,
            "stopped",
        ),
    ] {
        let fault = fault_of(kind, [bytes(raw)]).await;
        assert_eq!(fault.code, code, "{fault}");
        assert!(fault.message.contains(said), "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_followed_and_nothing_is_unpacked() {
    let moved = "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.test/\r\nContent-Length: 0\r\n\r\n";
    let fault = fault_of(Kind::OpenAi, [bytes(moved)]).await;
    assert_eq!((fault.code, fault.status), (FaultCode::Rejected, Some(302)));
    let packed = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(fault_of(Kind::Ollama, [bytes(packed)]).await.code, FaultCode::BadLine);
}

#[tokio::test(start_paused = true)]
async fn every_wait_has_its_limit() {
    let timeouts = Timeouts {
        connect: Duration::from_secs(1),
        first_byte: Duration::from_secs(10),
        idle: Duration::from_secs(3),
        total: Duration::from_secs(60),
    };
    for (kind, content, body) in KINDS {
        let line = body.lines().nth(if kind == Kind::Ollama { 0 } else { 2 }).unwrap();
        let line = format!("{line}\n\n");
        let drip = (0..100).flat_map(|_| [bytes(&line), Act::Pause(Duration::from_secs(2))]);
        for (server, code, seconds) in [
            (Piped::new([]).slow_to_connect(Duration::from_secs(100)), FaultCode::ConnectTimeout, 1),
            (Piped::new([Act::Hang]), FaultCode::FirstByteTimeout, 10),
            (Piped::new([bytes("HTTP/1.1 200"), Act::Hang]), FaultCode::FirstByteTimeout, 10),
            (Piped::new([bytes(head(content)), Act::Hang]), FaultCode::FirstByteTimeout, 10),
            (Piped::new([bytes(head(content)), bytes(&line), Act::Hang]), FaultCode::IdleTimeout, 3),
            (
                Piped::new([
                    bytes(head(content)),
                    Act::Pause(Duration::from_secs(4)),
                    bytes(&line),
                    Act::Hang,
                ]),
                FaultCode::IdleTimeout,
                7,
            ),
            (Piped::new([bytes(head(content))].into_iter().chain(drip)), FaultCode::TotalTimeout, 60),
        ] {
            let started = Instant::now();
            let fault = ask(&*client(kind, piped(server).timeouts(timeouts))).await.unwrap_err();
            assert_eq!(fault.code, code, "{kind:?}: {fault}");
            // The runtime's clock counts in milliseconds and rounds up.
            let late = started.elapsed().saturating_sub(Duration::from_secs(seconds));
            assert!(
                started.elapsed() >= Duration::from_secs(seconds) && late <= Duration::from_millis(5),
                "{code}: {late:?} late"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_total_limit_wins_over_the_others() {
    let limits = Timeouts { total: Duration::from_millis(500), ..Timeouts::default() };
    for server in [Piped::new([]).slow_to_connect(Duration::from_secs(9)), Piped::new([Act::Hang])] {
        let fault = ask(&*client(Kind::Ollama, piped(server).timeouts(limits))).await.unwrap_err();
        assert_eq!(fault.code, FaultCode::TotalTimeout);
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_a_fault_at_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    drop(listener);
    let fault = ask(&Ollama::new(Server::new(address))).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ConnectFailed, "{fault}");
}

#[tokio::test]
async fn a_server_without_encryption_is_not_taken_for_one_with_it() {
    let (address, seen) = listen([bytes(status("200 OK", "{}"))]).await;
    let address = Address::parse(&address.replace("http:", "https:")).unwrap();
    let server = Server::new(address).key(Secret::new("sk-canary"));
    let fault = ask(&OpenAi::new(server)).await.unwrap_err();
    assert!(matches!(fault.code, FaultCode::ConnectFailed | FaultCode::ConnectTimeout), "{fault}");
    assert!(!seen.lock().unwrap().head.contains("canary"));
}

/// A server with a certificate of its own for `localhost`, the file of that certificate, and its address.
async fn with_certificate(scratch: &Scratch) -> (std::path::PathBuf, Address) {
    use tokio_rustls::rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = scratch.file("ca.pem", made.cert.pem());
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(std::sync::Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not trust the certificate goes away here.
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            support::play(stream, vec![bytes(chunked(SSE, OPENAI_CALL, 7))], support::Record::default())
                .await;
        }
    });
    (file, Address::parse(&format!("https://localhost:{port}")).unwrap())
}

#[tokio::test]
async fn a_server_with_a_trusted_certificate_is_reached_and_no_other() {
    let scratch = Scratch::new("tls");
    let (file, address) = with_certificate(&scratch).await;
    let endpoint = format!("provider: openai\nproviders: {{openai: {{endpoint: '{address}'");
    let config = |more: &str| {
        let text = format!("{endpoint}{more}}}}}\n");
        callgate_agent::config::Config::builder().text("config.yml", &text).build().unwrap()
    };
    let model = |more: &str| config(more).model(&Registry::new(), |_| None);
    let trusting = format!(", ca_file: '{}'", file.display());
    assert_is_the_answer(&ask(&*model(&trusting).unwrap()).await.unwrap(), "tls");
    // The system does not trust it, and another certificate for the same name is another one.
    let fault = ask(&*model("").unwrap()).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ConnectFailed, "{fault}");
    let foreign = scratch
        .file("other.pem", rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap().cert.pem());
    let fault = ask(&*model(&format!(", ca_file: '{}'", foreign.display())).unwrap()).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ConnectFailed, "{fault}");
    // A certificate for a name is none for a number.
    let number = format!(", ca_file: '{}'", file.display());
    let text = format!("{endpoint}{number}}}}}\n").replace("localhost", "127.0.0.1");
    let config = callgate_agent::config::Config::builder().text("config.yml", &text).build().unwrap();
    let fault = ask(&*config.model(&Registry::new(), |_| None).unwrap()).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::ConnectFailed, "{fault}");
    for (name, content) in [("empty.pem", ""), ("no.pem", "no certificate")] {
        let file = scratch.file(name, content);
        let fault = model(&format!(", ca_file: '{}'", file.display())).err().unwrap();
        assert!(fault.to_string().contains(name), "{fault}");
    }
    assert!(model(", ca_file: /no/such/file").is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_to_wait_is_told_with_its_wait() {
    for (line, wait) in [
        ("429 Too Many Requests\r\nRetry-After: 7", Some(7)),
        ("503 Service Unavailable\r\nRetry-After: 0120", Some(120)),
        ("503 Service Unavailable\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("429 No\r\nRetry-After: -1", None),
        ("429 No\r\nRetry-After: 99999999999999999999", None),
    ] {
        let fault = fault_of(Kind::OpenAi, [bytes(status(line, "{\"error\": \"busy\"}"))]).await;
        assert_eq!((fault.code, fault.retry_after), (FaultCode::Rejected, wait), "{line}");
        assert_eq!(fault.to_string().contains("asks to wait"), wait.is_some(), "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_an_answer_tells_the_server_at_every_stage() {
    let line = OLLAMA_TEXT.lines().next().unwrap().to_owned() + "\n";
    for acts in [
        vec![Act::Hang],
        vec![bytes(head(NDJSON)), Act::Hang],
        vec![bytes(head(NDJSON)), bytes(line), Act::Hang],
    ] {
        let server = Piped::new(acts);
        let seen = server.seen.clone();
        let model = client(Kind::Ollama, piped(server));
        let asked = tokio::time::timeout(Duration::from_secs(1), ask(&*model)).await;
        assert!(asked.is_err(), "the server never ends its answer");
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(seen.lock().unwrap().client_left);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_nobody_reads_is_not_sent_on_after_its_answer_was_dropped() {
    let deaf = Deaf::default();
    let pipe = deaf.0.clone();
    let long = Message::User { text: "x".repeat(1 << 20) };
    let request = ChatRequest { messages: vec![long], ..request() };
    let model = client(Kind::Ollama, piped(deaf));
    let mut unseen = |_: callgate::Event<'_>| {};
    let gate = gate();
    let answer = respond(&*model, &request, &gate, "t_", &mut unseen);
    assert!(tokio::time::timeout(Duration::from_secs(1), answer).await.is_err());
    let mut pipe = pipe.lock().unwrap().take().unwrap();
    let mut sent = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut pipe, &mut sent).await.unwrap();
    assert!(!sent.is_empty() && sent.len() < 1 << 18, "{} bytes were sent", sent.len());
}

#[tokio::test(start_paused = true)]
async fn a_81_whole_answers_give_the_same_calls_as_streams() {
    let call = json!([{"id": "c1", "function": {"name": "look", "arguments": {"q": "🐈"}}}]);
    let message = json!({"role": "assistant", "content": "Größe?", "thinking": "Hm…", "tool_calls": call});
    let ollama = json!({"message": message, "done": true, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 7});
    let openai = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7}});
    for (kind, body) in [(Kind::Ollama, ollama), (Kind::OpenAi, openai)] {
        for body in [body.to_string(), format!("{body:#}\n")] {
            let server = piped(Piped::new([bytes(status("200 OK", &body))]));
            let whole = ChatRequest { stream: false, ..request() };
            let turn = respond(&*client(kind, server), &whole, &gate(), "t_", &mut |_| {}).await.unwrap();
            assert_is_the_answer(&turn, &format!("{kind:?}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_say_what_was_asked_and_nothing_else() {
    let sent = |kind: Kind, key: bool| async move {
        let server = Piped::new([Act::Hang]);
        let seen = server.seen.clone();
        let mut server = piped(server);
        if key {
            server = server.key(Secret::new("sk-canary"));
        }
        let model = client(kind, server);
        let _ = tokio::time::timeout(Duration::from_secs(1), ask(&*model)).await;
        let seen = seen.lock().unwrap().clone();
        (seen.head, seen.body)
    };
    let (head, body) = sent(Kind::Ollama, false).await;
    assert!(head.starts_with("POST /api/chat HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("host: model.test\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("authorization"), "{head}");
    let tools = request().tools.unwrap();
    assert_eq!(
        body,
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Which cat?"}],
            "options": {"temperature": 0.25, "num_predict": 9, "seed": 3}, "tools": tools})
    );
    let (head, body) = sent(Kind::OpenAi, true).await;
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer sk-canary\r\n"), "{head}");
    assert_eq!(
        body,
        json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}, "temperature": 0.25,
            "max_tokens": 9, "seed": 3, "messages": [{"role": "user", "content": "Which cat?"}], "tools": tools})
    );
}

#[tokio::test(start_paused = true)]
async fn the_key_is_in_no_message() {
    let server = piped(Piped::new([bytes(status("401 Unauthorized", "{}"))])).key(Secret::new("sk-canary"));
    let model = OpenAi::new(server);
    assert!(!format!("{model:?}").contains("canary"));
    let fault = ask(&model).await.unwrap_err();
    assert!(!format!("{fault:?} {fault}").contains("canary"));
    let odd = piped(Piped::new([])).key(Secret::new("sk-canary\n"));
    let fault = ask(&OpenAi::new(odd)).await.unwrap_err();
    assert_eq!(fault.code, FaultCode::BadRequest);
    assert!(!format!("{fault:?} {fault}").contains("canary"));
}

#[tokio::test(start_paused = true)]
async fn structured_calls_come_out_by_index_with_chunks_in_any_order() {
    let chunk = |delta: Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"tool_calls": delta}}]}))
    };
    let body = [
        chunk(json!([{"index": 1, "id": "b", "function": {"name": "look", "arguments": "{\"q\":"}},
            {"index": 0, "id": "a", "function": {"name": "look", "arguments": "{\"q\":"}}])),
        chunk(json!([{"index": 0, "function": {"arguments": "\"1\"}"}}])),
        chunk(json!([{"index": 1, "function": {"arguments": "\"2\"}"}}])),
        "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"another answer\"}}]}\n\n".to_owned(),
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
            .to_owned(),
    ]
    .concat();
    let model = client(Kind::OpenAi, piped(Piped::new([bytes(chunked(SSE, &body, 11))])));
    let response = ask(&*model).await.unwrap().response;
    let calls: Vec<_> =
        response.calls.iter().map(|call| (call.id.as_str(), call.value()["q"].clone())).collect();
    assert_eq!(calls, [("a", json!("1")), ("b", json!("2"))]);
    assert_eq!(response.text, "", "a second choice was not asked for");
    assert_eq!(response.finish_reason, FinishReason::ToolCalls, "whatever the server says");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_limit_cut_is_rejected_and_said_to_be_cut() {
    let body = concat!(
        "{\"message\":{\"content\":\"<tool_call>{\\\"name\\\": \\\"look\\\", \\\"arguments\\\": {\\\"q\\\": \\\"ca\"},\"done\":false}\n",
        "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"length\"}\n",
    );
    let model = client(Kind::Ollama, piped(Piped::new([bytes(chunked(NDJSON, body, 40))])));
    let response = ask(&*model).await.unwrap().response;
    assert_eq!((response.calls.len(), response.rejected.len()), (0, 1));
    assert_eq!(response.finish_reason, FinishReason::Length);
}
