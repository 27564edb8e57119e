//! The pages of the five systems: every command on them is run, and what no command shows is asked of a server.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::{Folder, assert_shown, blocks, docs};

/// The pages, and the fewest commands on each.
const PAGES: [(&str, usize); 5] = [
    ("systems/goshi.md", 10),
    ("systems/acode.md", 6),
    ("systems/windlass.md", 6),
    ("systems/reploid.md", 7),
    ("systems/accesslint.md", 10),
];

/// and goshi's wish for documented formats: each page shows what the program does.
#[test]
fn the_pages_show_what_their_commands_print() {
    for (page, least) in PAGES {
        assert_shown(page, least);
    }
}

/// Every configuration on the pages is taken, and chooses the profile of its page.
#[test]
fn the_configurations_of_the_pages_hold() {
    for (page, _) in PAGES {
        let text = std::fs::read_to_string(docs(page)).unwrap();
        let blocks = blocks(&text);
        let folder = Folder::with_files(&page.replace(['/', '.'], "-config-"), &blocks);
        let is_settings = |file: &&str| matches!(*file, "config.yml" | "settings.json");
        for file in blocks.iter().filter_map(|block| block.file).filter(is_settings) {
            let output = folder.command(&["config", "show", "--json", "--config", file]).output().unwrap();
            let notes = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{page}: {file}: {notes}");
            let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
            let profile = shown["profile"].as_str().unwrap();
            assert!(text.starts_with(&first_line(&text, profile)), "{page}: {file} chooses {profile}");
        }
    }
}

/// The first line of the page of a profile, with the name that the page gives its system.
fn first_line(text: &str, profile: &str) -> String {
    let name = text.trim_start_matches("# ").split(':').next().unwrap_or_default();
    format!("# {name}: the profile `{profile}`\n")
}

#[test]
fn every_page_has_every_part() {
    for (page, _) in PAGES {
        let text = std::fs::read_to_string(docs(page)).unwrap();
        for part in [
            "## Format",
            "## Configuration",
            "## When something is wrong",
            "## Every error",
            "## Coming from ",
        ] {
            assert!(text.contains(part), "{page} has no {part}");
        }
        assert!(text.contains("──►"), "{page} has no diagram");
        let configured = blocks(&text).iter().any(|block| block.file == Some("config.yml"));
        assert!(configured, "{page} shows no configuration");
    }
}

/// G-26: an error that the model reports is shown in the words of the document, and the run says that it failed.
#[test]
fn the_model_of_goshi_reports_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        // The request is over when its length is reached.
        loop {
            let count = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&request).to_lowercase();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() >= length.parse::<usize>().unwrap() {
                break;
            }
        }
        let error = json!({"type": "error", "code": "invalid_args", "message": "Which file?"}).to_string();
        let delta = json!({"choices": [{"index": 0, "delta": {"content": error}, "finish_reason": "stop"}]});
        let body = format!("data: {delta}\n\ndata: [DONE]\n\n");
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n";
        write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    let folder = Folder::with_files("model-error", &[]);
    let args = ["chat", "--once", "Read it.", "--profile", "action", "--endpoint", &endpoint];
    let output = folder.command(&args).output().unwrap();
    server.join().unwrap();
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("LLM Error: Which file?"), "{notes}");
    assert_eq!(output.status.code(), Some(1), "{notes}");
}
