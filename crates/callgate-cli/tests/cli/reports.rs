//! `scan --report` and `verify --report`: pages on which nothing of a model is anything but text, the same on every run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::{BAD, GOOD, Run, Scratch, TOOLS, assert_usage_error, callgate, command, json_lines};

/// Texts that would run, or break a page, were they not written as text.
const HOSTILE: &[&str] = &[
    "<img src=x onerror=window.hit=1>",
    "<script>window.hit=1</script>",
    "\"><svg onload=window.hit=1>",
    "' onmouseover='window.hit=1",
    "javascript:window.hit=1",
    "</pre></details></section><iframe srcdoc='<script>parent.hit=1</script>'>",
    "</style><script>window.hit=1</script>",
    "</title><script>window.hit=1</script>",
    "<!-- --><base href=//evil.example>",
    "{{constructor.constructor('window.hit=1')()}}",
    "&lt;script&gt;&#60;script&#62;",
    "<ScRiPt\u{0}>window.hit=1</sCrIpT>",
    "\u{202e}<b>\u{200b}x</b>\u{2028}",
];

/// Elements and attributes that pages are made of.
const ELEMENTS: &[&str] = &[
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "p", "nav", "a", "main",
    "ul", "li", "b", "span", "section", "div", "i", "table", "thead", "tbody", "tr", "th", "td", "code",
    "details", "summary", "pre", "mark", "footer",
];
const ATTRIBUTES: &[&str] = &[
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "id",
    "href",
    "style",
    "role",
    "aria-label",
    "title",
    "scope",
    "tabindex",
    "open",
];

/// Walks over a page as a browser does, and sees to it that it holds nothing but what it is made of.
fn assert_harmless(page: &str) {
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("default-src &#39;none&#39;"), "the page forbids scripts");
    let (head, rest) = page.split_once("<style>").unwrap();
    let (style, rest) = rest.split_once("</style>").unwrap();
    assert!(!style.contains('<') && !style.contains("url(") && !style.contains("@import"), "{style}");
    let mut rest = format!("{}{rest}", head.strip_prefix("<!doctype html>").unwrap());
    while let Some(at) = rest.find('<') {
        let tag = rest[at + 1..].trim_start_matches('/').to_owned();
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap();
        assert!(ELEMENTS.contains(&&tag[..end]), "<{}", &tag[..tag.floor_char_boundary(80)]);
        let mut inside = &tag[end..];
        // Names and values of attributes, up to the end of the tag; values never hold what could end them.
        while let Some(after) = inside.strip_prefix(' ') {
            let (name, after) = after.split_once("=\"").unwrap();
            assert!(ATTRIBUTES.contains(&name), "{name}");
            let (value, after) = after.split_once('"').unwrap();
            assert!(!value.contains(['<', '>']), "{value}");
            assert!(name != "href" || value.starts_with('#'), "{value}");
            inside = after;
        }
        assert!(inside.starts_with('>'), "<{}", &tag[..tag.floor_char_boundary(80)]);
        rest = inside[1..].to_owned();
    }
    let hidden = ['\u{0}', '\u{202e}', '\u{200b}', '\u{2028}'];
    assert!(!page.contains(hidden), "hidden characters are written out");
}

fn mixed(lines: usize) -> String {
    let mut input: String = (0..lines)
        .map(|id| {
            let texts = [
                GOOD.to_owned(),
                BAD.to_owned(),
                "Just text.".to_owned(),
                format!("<think>Hm.</think>{GOOD}"),
            ];
            let model = ["qwen3", "llama"][id % 2];
            json!({"id": id, "text": texts[id % 4], "model": model}).to_string() + "\n"
        })
        .collect();
    for text in HOSTILE {
        for tool in [text, "look"] {
            let call = json!({"name": tool, "arguments": {"q": text, *text: 1}}).to_string();
            // A comma too many, so that there is something to repair as well.
            let call = call.replacen("}}", ",}}", 1);
            let said = format!("{text}\n<tool_call>{call}</tool_call>");
            input += &(json!({"id": text, "model": text, "text": said}).to_string() + "\n");
        }
        let calls = json!([{"id": text, "type": "function", "function": {"name": text, "arguments": text}}]);
        input += &(json!({"id": text, "model": text, "tool_calls": calls}).to_string() + "\n");
    }
    input + "no JSON\n"
}

fn page_of(args: &[&str], input: &str) -> (Run, String) {
    let page = Scratch::new("page.html", "old and longer than nothing");
    let run = callgate(&[&["scan", "--quiet", "--report", page.path()], args].concat(), input);
    let text = std::fs::read_to_string(page.path()).unwrap();
    (run, text)
}

#[test]
fn the_page_of_a_scan_counts_everything_and_runs_nothing() {
    let tools = Scratch::new("tools.json", TOOLS);
    let (run, page) = page_of(&["--tools", tools.path()], &mixed(400));
    assert_eq!(run.code, 1, "one line is no JSON: {}", run.stderr);
    assert_eq!(
        json_lines(&run.stdout).len(),
        400 + 3 * HOSTILE.len() + 1,
        "results are written as without it"
    );
    assert_harmless(&page);
    assert!(page.contains(&format!("What became of {} responses", 400 + 3 * HOSTILE.len())));
    for part in [
        "unknown-tool",
        "trailing-comma",
        "qwen3",
        "hermes",
        "&lt;script&gt;window.hit=1&lt;/script&gt;",
        "\\u{202e}",
        "<span class=\"reasoning\"",
        "<mark class=\"mended\"",
        "line that cannot be read",
    ] {
        assert!(page.contains(part), "`{part}` is not on the page");
    }
}

#[test]
fn the_page_is_the_same_on_every_run() {
    let input = mixed(5000);
    let file = Scratch::new("in.jsonl", &input);
    let (_, one) = page_of(&["--jobs", "1", file.path()], "");
    for jobs in ["2", "7"] {
        let (_, many) = page_of(&["--jobs", jobs, file.path()], "");
        assert!(one == many, "{jobs} threads");
    }
    // What arrives in small pieces is cut into other blocks.
    let page = Scratch::new("page.html", "");
    let mut slow = command(&["scan", "--quiet", "--report", page.path(), "-"]);
    let mut child = slow.stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for piece in input.as_bytes().chunks(997) {
        stdin.write_all(piece).unwrap();
    }
    drop(stdin);
    child.wait().unwrap();
    let piped = std::fs::read_to_string(page.path()).unwrap();
    assert!(one.replace(file.path(), "standard input") == piped, "from a pipe");
}

#[test]
fn the_page_stays_small_whatever_there_is_to_read() {
    let long = "word ".repeat(100_000);
    let input: String = (0..2000)
        .map(|id| {
            let text = format!(
                "{long}<tool_call>{{\"name\": \"tool{id}\", \"arguments\": {{\"q\": 1,}}}}</tool_call>"
            );
            let text = if id % 500 == 0 { &text } else { &text[long.len()..] };
            json!({"id": id, "text": text, "model": format!("model{id}{}", "x".repeat(id))}).to_string()
                + "\n"
        })
        .collect();
    let (run, page) = page_of(&[], &input);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(page.len() < 400_000, "{} bytes", page.len());
    assert!(page.contains("(all others)") && page.contains("are left out"), "what is not shown is said");
    assert_harmless(&page);
}

#[test]
fn tables_take_the_place_of_the_results() {
    let tools = Scratch::new("tools.json", TOOLS);
    let lines = Scratch::new("out.jsonl", "");
    let input = mixed(40);
    let run = callgate(&["scan", "-q", "--report", "-", "--tools", tools.path(), "-o", lines.path()], &input);
    assert_eq!(run.code, 1);
    let results = json_lines(&std::fs::read_to_string(lines.path()).unwrap());
    assert_eq!(results.len(), 40 + 3 * HOSTILE.len() + 1);
    for part in ["model ", "dialect ", "tool ", "finding ", "repair ", "accepted", "hermes", "unknown-tool"] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}', '\u{0}']), "nothing reaches the terminal raw");
    assert!(!run.stdout.contains("{\"id\""), "{}", run.stdout);
    let rejected = results.iter().filter_map(|line| line["rejected"].as_array()).map(Vec::len).sum::<usize>();
    let row = run.stdout.lines().find(|line| line.starts_with("hermes")).unwrap();
    let of_text: usize =
        row.split_whitespace().filter_map(|word| word.parse::<usize>().ok()).next_back().unwrap();
    let native = results.iter().filter_map(|line| line["rejected"].as_array()).flatten();
    let native = native.filter(|one| one["dialect"] == "native").count();
    assert_eq!(of_text + native, rejected, "{row}");
}

#[test]
fn a_report_destroys_nothing() {
    let input = Scratch::new("in.jsonl", mixed(3));
    for args in [
        vec!["scan", input.path(), "--report", input.path()],
        vec!["scan", input.path(), "--report", "same.html", "-o", "same.html"],
        vec!["scan", input.path(), "--report", "/nonexistent/page.html"],
    ] {
        assert_usage_error(&callgate(&args, ""), &["; "]);
    }
    assert_eq!(std::fs::read_to_string(input.path()).unwrap(), mixed(3));
}

/// A server of chat completions that always says this text, and calls these tools.
fn serve(text: &'static str, calls: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                    length = number.parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let asked: Value = serde_json::from_slice(&body).unwrap();
            let reason = if calls == json!([]) { "stop" } else { "tool_calls" };
            let message = json!({"role": "assistant", "content": text, "tool_calls": calls});
            let (kind, body) = if asked["stream"] == true {
                let event = json!({"choices": [{"index": 0, "delta": message, "finish_reason": reason}]});
                ("text/event-stream", format!("data: {event}\n\ndata: [DONE]\n\n"))
            } else {
                let choice = json!({"index": 0, "message": message, "finish_reason": reason});
                ("application/json", json!({"object": "chat.completion", "choices": [choice]}).to_string())
            };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n");
            drop(write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()));
        }
    });
    address
}

#[test]
fn an_endpoint_is_verified_with_tasks_of_ones_own() {
    let hostile = "<script>window.hit=1</script>";
    let calls = json!([{"index": 0, "id": hostile, "type": "function",
        "function": {"name": "look", "arguments": json!({"q": hostile}).to_string()}}]);
    let address = serve("<img src=x onerror=window.hit=1> <tool_call>{\"name\": \"look\"</tool_call>", calls);
    let tools = Scratch::new("tools.json", TOOLS);
    let tasks = json!([
        {"name": hostile, "question": "Look.", "expect": [{"name": "look", "arguments": {"q": hostile}}]},
        {"question": "Say nothing.", "tool_choice": "none", "expect": "no call"},
    ]);
    let tasks = Scratch::new("tasks.json", tasks.to_string());
    let page = Scratch::new("page.html", "");
    let ask = ["verify", "--endpoint", &address, "--model", hostile];
    let own = ["--requests", tasks.path(), "--tools", tools.path()];
    let run = callgate(&[&ask[..], &own, &["--json", "--report", page.path()]].concat(), "");
    assert_eq!(run.code, 1, "{}", run.stderr);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let score = |name: &str| {
        let scores = report["scores"].as_array().unwrap();
        let score = scores.iter().find(|score| score["measure"] == name).unwrap();
        (score["held"].as_u64().unwrap(), score["of"].as_u64().unwrap())
    };
    assert_eq!(score("answered"), (4, 4));
    assert_eq!(score("expected"), (2, 4), "{report}");
    assert_eq!(score("none"), (0, 2));
    assert_eq!(score("schema"), (4, 4));
    assert_eq!(score("no leaks"), (0, 4));
    assert_eq!(score("streamed = whole"), (2, 2));
    assert_eq!(report["first_argument"]["of"], 2, "{report}");
    let page = std::fs::read_to_string(page.path()).unwrap();
    assert_harmless(&page);
    for part in ["no leaks", "task 2", "&lt;img src=x onerror=window.hit=1&gt;", "<span class=\"rejected\""] {
        assert!(page.contains(part), "`{part}` is not on the page");
    }
}

#[test]
fn a_baseline_says_what_became_better_and_worse() {
    let good = json!([{"index": 0, "id": "c", "type": "function",
        "function": {"name": "look", "arguments": "{\"q\": \"cats\"}"}}]);
    let (well, ill) = (serve("", good), serve("I cannot.", json!([])));
    let tools = Scratch::new("tools.json", TOOLS);
    let tasks =
        Scratch::new("tasks.jsonl", "{\"name\": \"a\", \"question\": \"Look.\", \"expect\": \"call\"}\n");
    let verify = |address: &str, more: &[&str]| {
        let ask = ["verify", "--endpoint", address, "--model", "m"];
        callgate(&[&ask[..], &["--requests", tasks.path(), "--tools", tools.path()], more].concat(), "")
    };
    let before = verify(&ill, &["--json"]);
    assert_eq!(before.code, 1, "what does not hold is code 1 without a baseline");
    let before = Scratch::new("before.json", before.stdout);
    let page = Scratch::new("page.html", "");
    let better = verify(&well, &["--baseline", before.path(), "--report", page.path()]);
    assert_eq!(better.code, 0, "{}", better.stderr);
    assert!(better.stdout.contains("was 0 of 2      better"), "{}", better.stdout);
    assert!(better.stdout.contains("0 worse"), "{}", better.stdout);
    let page = std::fs::read_to_string(page.path()).unwrap();
    assert_harmless(&page);
    assert!(page.contains("word better"));
    let after = Scratch::new("after.json", verify(&well, &["--json"]).stdout);
    let worse = verify(&ill, &["--baseline", after.path(), "--json"]);
    assert_eq!(worse.code, 1);
    let compared: Value = serde_json::from_str(&worse.stdout).unwrap();
    let called = compared["baseline"]["compared"].as_array().unwrap();
    let called = called.iter().find(|one| one["measure"] == "called").unwrap();
    assert_eq!(
        (&called["was"], &called["is"], &called["change"]),
        (&json!([2, 2]), &json!([0, 2]), &json!("worse"))
    );
    assert_eq!(verify(&ill, &["--baseline", before.path()]).code, 0, "as bad as before is no worse");
}

#[test]
fn files_that_cannot_be_used_are_told_before_anybody_is_asked() {
    let ask = ["verify", "--endpoint", "http://127.0.0.1:9", "--model", "m"];
    let tasks = Scratch::new("tasks.jsonl", "{\"question\": \"a\"}\n{\"questoin\": \"b\"}\n");
    let tools = Scratch::new("tools.json", TOOLS);
    let run = callgate(&[&ask[..], &["--requests", tasks.path()]].concat(), "");
    assert_usage_error(&run, &["tasks.jsonl:1: the task has no tools", "--tools"]);
    let run = callgate(&[&ask[..], &["--requests", tasks.path(), "--tools", tools.path()]].concat(), "");
    assert_usage_error(&run, &["tasks.jsonl:2: a task has no `questoin`", "did you mean `question`?"]);
    let run = callgate(&[&ask[..], &["--baseline", tools.path()]].concat(), "");
    assert_usage_error(
        &run,
        &["tools.json:", "no report of `callgate verify --json`", "--json > other.json"],
    );
}
