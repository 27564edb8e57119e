//! Model streams: what a server sends, as events, lines or one document, gives the same chunks or fault however it is cut.

#![no_main]

use callgate_agent::history::{CallStyle, Message};
use callgate_agent::model::{
    Address, BoxFuture, ChatRequest, Connect, Connection, Model, ModelChunk, Ollama, OpenAi, Parameters,
    Server,
};
use callgate_fuzz::{controlled, cut, seed};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A server that sends these chunks whatever it is asked.
#[derive(Clone)]
struct Sends(Vec<Vec<u8>>);

impl Connect for Sends {
    fn connect<'a>(&'a self, _: &'a Address) -> BoxFuture<'a, std::io::Result<Box<dyn Connection>>> {
        let (client, mut server) = tokio::io::duplex(1 << 16);
        let chunks = self.0.clone();
        tokio::spawn(async move {
            let mut request = [0; 4096];
            let _ = server.read(&mut request).await;
            for chunk in chunks {
                if server.write_all(&chunk).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
            let _ = server.shutdown().await;
            while server.read(&mut request).await.is_ok_and(|count| count > 0) {}
        });
        Box::pin(std::future::ready(Ok(Box::new(client) as Box<dyn Connection>)))
    }
}

/// What a client makes of these chunks of a body.
fn read(kind: u8, chunks: &[&[u8]]) -> Result<Vec<ModelChunk>, String> {
    let types = ["application/x-ndjson", "text/event-stream", "application/json"];
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nConnection: close\r\n\r\n",
        types[usize::from(kind) % types.len()]
    );
    let sent = [head.as_bytes()].into_iter().chain(chunks.iter().copied()).map(<[u8]>::to_vec);
    let address = Address::parse("http://127.0.0.1:1")?;
    let server = Server::new(address).reached_by(Sends(sent.collect()));
    let model: Box<dyn Model> = match kind % 3 {
        0 => Box::new(Ollama::new(server)),
        _ => Box::new(OpenAi::new(server)),
    };
    let request = ChatRequest {
        messages: vec![Message::User { text: "Hi.".to_owned() }],
        untrusted: Vec::new(),
        tools: None,
        style: CallStyle::Native,
        parameters: Parameters::default(),
        stream: kind % 3 != 2,
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|e| e.to_string())?;
    runtime.block_on(async {
        let mut chunks = model.chat(&request).await.map_err(|fault| format!("{:?}", fault.code))?;
        let mut read = Vec::new();
        while let Some(chunk) = chunks.next().await.map_err(|fault| format!("{:?}", fault.code))? {
            join(&mut read, chunk);
        }
        Ok(read)
    })
}

/// Neighbours of text are one.
fn join(chunks: &mut Vec<ModelChunk>, chunk: ModelChunk) {
    match (chunks.last_mut(), chunk) {
        (Some(ModelChunk::Text(text)), ModelChunk::Text(more)) => text.push_str(&more),
        (Some(ModelChunk::Reasoning(text)), ModelChunk::Reasoning(more)) => text.push_str(&more),
        (_, chunk) => chunks.push(chunk),
    }
}

fuzz_target!(init: seed("model_stream"), |data: &[u8]| {
    let Some((input, [kind, a, b, c, d, ..])) = controlled(data) else { return };
    let whole = read(kind, &[input]);
    assert_eq!(read(kind, &cut(input, [a, b, c, d])), whole, "the chunks depend on how the bytes come");
});
