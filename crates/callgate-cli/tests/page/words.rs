//! What a user of each system sees at the end of a question: `callgate chat` against a server that speaks OpenAI's API.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Block, Folder};

/// What the server says to one request.
#[derive(Clone)]
enum Says {
    Words(&'static str),
    /// A structured call of this tool with these arguments.
    Call(&'static str, &'static str),
}

impl Says {
    /// The body of the answer: a stream, cut after every second character, or whole, as it was asked for.
    fn body(&self, is_stream: bool) -> String {
        let event = |delta: Value, finish: Option<&str>| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
            format!("data: {}\n\n", json!({"choices": [choice]}))
        };
        let calls = |name: &str, arguments: &str| json!([{"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]);
        if !is_stream {
            let message = match self {
                Says::Words(text) => json!({"role": "assistant", "content": text}),
                Says::Call(name, arguments) => {
                    json!({"role": "assistant", "content": null, "tool_calls": calls(name, arguments)})
                }
            };
            return json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
                .to_string();
        }
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        let piece = |piece: &[char]| piece.iter().collect::<String>();
        let mut body = String::new();
        match self {
            Says::Words(text) => {
                for part in letters(text).chunks(2) {
                    body += &event(json!({"content": piece(part)}), None);
                }
            }
            Says::Call(name, arguments) => {
                body += &event(json!({"tool_calls": calls(name, "")}), None);
                for part in letters(arguments).chunks(2) {
                    let part = json!([{"index": 0, "function": {"arguments": piece(part)}}]);
                    body += &event(json!({"tool_calls": part}), None);
                }
            }
        }
        body + &event(json!({}), Some("stop")) + "data: [DONE]\n\n"
    }
}

/// Starts a server that says these things, the last again and again. Returns its address and what it was sent.
fn serve(says: &[Says]) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (says, seen) = (says.to_vec(), Arc::<Mutex<Vec<Value>>>::default());
    let requests = Arc::clone(&seen);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let request = request(&mut stream);
            let number = requests.lock().unwrap().len().min(says.len() - 1);
            let is_stream = request["stream"] == true;
            requests.lock().unwrap().push(request);
            let body = says[number].body(is_stream);
            let kind = if is_stream { "text/event-stream" } else { "application/json" };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n");
            // A client that has its call may be gone before everything is sent.
            drop(write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()));
        }
    });
    (endpoint, seen)
}

fn request(stream: &mut TcpStream) -> Value {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).unwrap();
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() >= length.parse::<usize>().unwrap() {
            return serde_json::from_str(body).unwrap();
        }
    }
}

/// One question to a server that says these things.
fn ask(profile: &str, says: &[Says], flags: &[&str]) -> (Output, Vec<Value>) {
    let (endpoint, seen) = serve(says);
    let notes = [Block { language: "text", file: Some("notes.txt"), body: "Buy milk.\n" }];
    let folder = Folder::with_files(&format!("words-{profile}-{}", endpoint.replace(['/', ':'], "")), &notes);
    let args = ["chat", "--once", "Read it.", "--profile", profile, "--endpoint", &endpoint];
    let quick =
        ["--set", "providers.openai.tool_call_retry.retry_delay_ms=0", "--set", "providers.openai.model=m"];
    let output = folder.command(&[&args[..], &quick, flags].concat()).output().unwrap();
    let requests = seen.lock().unwrap().clone();
    (output, requests)
}

/// The last message that a server was sent.
fn told(request: &Value) -> &str {
    request["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
}

/// Every system with a model that never gets it right: exit code 1, and the code and the words of its document.
#[test]
fn each_system_fails_in_its_own_words() {
    let file = "{\"nothing\": 1}";
    for (profile, says, words, requests) in [
        (
            "action",
            Says::Words("{\"type\": \"action\", \"tool\": \"fs.delete\", \"args\": {}}"),
            "The response couldn't be parsed. Ask the LLM to clarify or retry.",
            1,
        ),
        (
            "structured",
            Says::Call("read_file", file),
            "ACODE-TLP-106: Failed to parse tool calls after 3 retry attempts",
            4,
        ),
        (
            "strict-xml",
            Says::Words("Let me read file notes.txt."),
            "MAX_MISTAKES: Maximum mistakes reached (3). Please follow the strict XML format.",
            3,
        ),
        (
            "fenced",
            Says::Words("```json\n{\"tool\": \"fs.read\", \"arguments\": {}}}}\n```"),
            "the 5 responses of one question are spent",
            5,
        ),
        (
            "labelled",
            Says::Words("TOOL_CALL: read_file\nARGS: { oops }"),
            "the 5 responses of one question are spent",
            5,
        ),
    ] {
        let (output, seen) = ask(profile, std::slice::from_ref(&says), &["--set", "chat.max_turns=5"]);
        let notes = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), seen.len()), (Some(1), requests), "{profile}: {notes}");
        assert!(notes.contains(words), "{profile}: {notes}");
        let (output, _) = ask(profile, &[says], &["--set", "chat.max_turns=5", "--json"]);
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_ne!(all["end"], "answered", "{profile}: {all}");
        assert_eq!(all["responses"][0]["view"]["parse_result"], "fail", "{profile}: {all}");
        assert_eq!(all["tools"], json!([]), "{profile}: nothing ran");
        // Where errors go into the next turn, the words of the document do.
        match profile {
            "fenced" => {
                assert!(told(&seen[1]).contains("Tool call JSON is malformed: "), "{}", told(&seen[1]))
            }
            "labelled" => assert!(told(&seen[1]).contains("TOOL_CALL_PARSE_ERROR"), "{}", told(&seen[1])),
            _ => {}
        }
    }
}

/// Every system with a model that gets it right, the second time where its document has a second time.
#[test]
fn each_system_reads_a_file_and_answers() {
    let answer = Says::Words("It says to buy milk.");
    for (profile, says) in [
        (
            "action",
            vec![
                Says::Words(
                    "{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\": \"notes.txt\"}}",
                ),
                answer.clone(),
            ],
        ),
        (
            "structured",
            vec![
                Says::Call("read_file", "@@ {{"),
                Says::Call("read_file", "{file_path: 'notes.txt',}"),
                answer.clone(),
            ],
        ),
        (
            "fenced",
            vec![
                Says::Words(
                    "```json\n{\"tool\": \"fs.read\", \"arguments\": {\"path\": \"notes.txt\"}}}}\n```",
                ),
                Says::Words(
                    "```json\n{\"tool\": \"fs.read\", \"arguments\": {\"path\": \"notes.txt\"}}\n```",
                ),
                answer.clone(),
            ],
        ),
        (
            "labelled",
            vec![Says::Words("TOOL_CALL: read_file\nARGS: {\"file_path\": `notes.txt`}"), answer.clone()],
        ),
        (
            "strict-xml",
            vec![
                Says::Words("<read_file>{\"path\": \"notes.txt\"}</read_file>"),
                Says::Words("<read_file><file_path>notes.txt</file_path></read_file>"),
                Says::Words(
                    "<attempt_completion>{\"result\": \"It says to buy milk.\"}</attempt_completion>",
                ),
            ],
        ),
    ] {
        let (output, seen) = ask(profile, &says, &["--json"]);
        let all: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{profile}: {all}");
        assert_eq!(
            (all["text"].as_str(), seen.len()),
            (Some("It says to buy milk."), says.len()),
            "{profile}"
        );
        let results: Vec<&Value> = all["tools"].as_array().unwrap().iter().collect();
        assert_eq!(results[0]["outcome"]["outcome"], "ran", "{profile}: {all}");
        let result = results[0]["outcome"]["result"].as_str().unwrap();
        assert!(result.contains("Buy milk."), "{profile}: {result}");
    }
}

/// G-26: an error that the model reports is shown in the words of the document, and the run says that it failed.
#[test]
fn the_model_of_goshi_reports_an_error() {
    let error =
        Says::Words("{\"type\": \"error\", \"code\": \"invalid_args\", \"message\": \"Which file?\"}");
    let (output, seen) = ask("action", &[error], &[]);
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("LLM Error: Which file?"), "{notes}");
    assert_eq!((output.status.code(), seen.len()), (Some(1), 1), "{notes}");
}
