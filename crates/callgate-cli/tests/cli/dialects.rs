//! `callgate dialects` and `render`: formats listed, shown, tried, imported and written.

use serde_json::{Value, json};

use super::{BAD, GOOD, Scratch, TOOLS, assert_usage_error, callgate, json_lines};

#[test]
fn dialects_are_listed_and_each_can_be_shown() {
    let table = callgate(&["dialects"], "");
    assert_eq!(table.code, 0);
    assert_eq!(table.stdout, callgate(&["dialects", "list"], "").stdout);
    let all: Value = serde_json::from_str(&callgate(&["dialects", "list", "--json"], "").stdout).unwrap();
    for dialect in all.as_array().unwrap() {
        let name = dialect["name"].as_str().unwrap();
        assert!(table.stdout.contains(name), "{name}");
        let shown = callgate(&["dialects", "show", name], "");
        assert_eq!(shown.code, 0, "{name}");
        assert!(shown.stdout.contains(&format!("[{name}]\n")), "{name}");
        let as_json: Value =
            serde_json::from_str(&callgate(&["dialects", "show", name, "--json"], "").stdout).unwrap();
        assert!(as_json["record"]["call"].is_string() || as_json["record"]["call"].is_array(), "{name}");
    }
}

#[test]
fn a_dialect_of_ones_own_is_tried_on_a_sample() {
    let dialect = Scratch::new("mine.toml", "[mine]\ncall = \"<my_call>{object}</my_call>\"\n");
    let tools = Scratch::new("tools.json", TOOLS);
    let sample =
        Scratch::new("good.txt", "<my_call>{\"name\": \"look\", \"arguments\": {\"q\": \"a\"}}</my_call>");
    let args = |sample: &str| {
        let run =
            callgate(&["dialects", "test", dialect.path(), "--sample", sample, "--tools", tools.path()], "");
        (run.code, run.stdout)
    };
    let (code, stdout) = args(sample.path());
    assert_eq!(code, 0, "{stdout}");
    assert!(stdout.contains("✓ look"), "{stdout}");
    let near = Scratch::new("near.txt", "Well:\n<my_tool>{\"name\": \"look\"}</my_tool>");
    let (code, stdout) = args(near.path());
    assert_eq!(code, 1, "{stdout}");
    assert!(stdout.contains("fits from 2:1 to 2:5; there `call>` was expected, but `tool>"), "{stdout}");
    assert!(stdout.contains("1:1      text       Well:"), "{stdout}");
    for (sample, closest) in [
        ("<my_call>look()</my_call>", "fits from 1:1 to 1:10; there `{` was expected, but `look()"),
        ("Well: <my_c", "fits from 1:7 to 1:12; there `all>` was expected, but the sample ends"),
        ("Nothing.", "not even its first character is in the sample"),
        (
            "```\n<my_call>{\"name\": \"look\", \"arguments\": {\"q\": \"a\"}}</my_call>\n```",
            "begins at 2:1, but not as a live call",
        ),
    ] {
        let file = Scratch::new("sample.txt", sample);
        let (code, stdout) = args(file.path());
        assert_eq!(code, 1, "{stdout}");
        assert!(stdout.contains(closest), "{sample}: {stdout}");
    }
    assert_eq!(callgate(&["dialects", "test", dialect.path()], "").code, 0);
    let run =
        callgate(&["parse", "--dialect-file", dialect.path(), "--tools", tools.path(), sample.path()], "");
    assert!(run.stdout.contains("✓ look"), "{}", run.stdout);
}

#[test]
fn a_model_chooses_its_dialect() {
    // A bare list of calls means something only to those who ask for it.
    let text = "[look(q='cats')]";
    let dialects = |args: &[&str], stdin: &str| {
        let run = callgate(args, stdin);
        let calls = json_lines(&run.stdout);
        let dialect = |line: &Value| {
            line["call"]["dialect"].as_str().or(line["calls"][0]["dialect"].as_str()).map(str::to_owned)
        };
        (calls.iter().find_map(dialect), run.stderr)
    };
    let line = json!({"id": 1, "text": text}).to_string();
    for (args, stdin) in [(&["parse", "--json", "--model"][..], text), (&["scan", "-q", "--model"], &line)] {
        let with = |model: &str| dialects(&[args, &[model]].concat(), stdin);
        assert_eq!(
            with("meta-llama/Llama-4-Scout-17B-16E-Instruct"),
            (Some("pythonic".to_owned()), String::new())
        );
        let (found, stderr) = with("my-own-\u{1b}model");
        assert_eq!((found, stderr.lines().count()), (None, 1), "{stderr}");
        assert!(stderr.contains("no dialect is known for the model `my-own-\\u{1b}model`"), "{stderr}");
        assert!(stderr.contains("--dialect"), "{stderr}");
    }
    // Without a table the unmistakable dialects still listen.
    let (found, _) = dialects(&["parse", "--json", "--model", "my-own"], GOOD);
    assert_eq!(found.as_deref(), Some("hermes"));
    assert_usage_error(&callgate(&["parse", "--model", "qwen3", "--dialect", "hermes"], ""), &["--dialect"]);
}

#[test]
fn what_came_closest_knows_sections_words_and_spellings() {
    let section = "[mine]\nopen = \"<run>\\n\"\ncall = \"<fn={name} nr={index}>{params}</fn>\"\nclose = \"</run>\"\n\
                   param = \"<a {key}>{value}</a>\"\nalso = [[\"<run>\", \"<go>\"]]\n";
    let word = "[mine]\ncall = \"@@{name}({arguments})\"\nsyntax = \"kwargs\"\n";
    for (dialect, sample, closest) in [
        (
            section,
            "<go>\n<fn:look nr=1></fn></go>",
            "fits from 1:1 to 2:4; there `=` was expected, but `:look",
        ),
        (section, "<run> look", "fits from 1:1 to 1:7; there `<fn=` was expected, but `look` stands"),
        (word, "See @@(1).", "fits from 1:5 to 1:7; there `{name}` was expected, but `(1).` stands"),
    ] {
        let dialect = Scratch::new("mine.toml", dialect);
        let file = Scratch::new("sample.txt", sample);
        let run = callgate(&["dialects", "test", dialect.path(), "--sample", file.path()], "");
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(run.stdout.contains(closest), "{sample}: {}", run.stdout);
    }
}

#[test]
fn a_dialect_file_works_in_every_command() {
    let dialect = Scratch::new("mine.toml", "[mine]\ncall = \"!{name}{arguments}!\"\n");
    let tools = Scratch::new("tools.json", TOOLS);
    let sample = "!look{\"q\": \"a\"}!";
    let flags = ["--dialect-file", dialect.path(), "--tools", tools.path()];
    let with = |args: &[&str], stdin: &str| callgate(&[args, &flags[..]].concat(), stdin);
    // By itself it is live beside the profile's dialects; by name it is the only one.
    for (name, sample, calls) in
        [(None, sample, 1), (None, GOOD, 1), (Some("mine"), sample, 1), (Some("hermes"), sample, 1)]
    {
        let named = name.map_or(vec![], |name| vec!["--dialect", name]);
        let run = with(&[&["parse", "--json"], &named[..]].concat(), sample);
        let found = json_lines(&run.stdout).iter().filter(|event| event["event"] == "call").count();
        assert_eq!(found, calls, "{name:?} {sample}: {}{}", run.stdout, run.stderr);
    }
    let lines = format!(
        "{}\n{}\n",
        json!({"id": 1, "text": sample}),
        json!({"id": 2, "text": sample, "dialect": "mine"})
    );
    let judged = json_lines(&with(&["scan", "-q"], &lines).stdout);
    assert!(judged.iter().all(|line| line["calls"][0]["dialect"] == "mine"), "{judged:?}");
    let prompt = with(&["prompt"], "");
    assert!(prompt.stdout.contains("!look{\"q\":"), "{}{}", prompt.stdout, prompt.stderr);
    let builtin = callgate(&["prompt", "--dialect", "qwen3-coder", "--tools", tools.path()], "");
    assert!(builtin.stdout.contains("<function=look>"), "{}", builtin.stdout);
    assert_usage_error(&with(&["parse", "--dialect", "mien"], sample), &["no dialect `mien`", "mine"]);
    assert_usage_error(&with(&["prompt", "--dialect", "mien"], ""), &["no dialect `mien`", "mine"]);
    assert_usage_error(
        &with(&["parse", "--dialect-file", dialect.path()], sample),
        &["`mine` was added twice", "another name"],
    );

    let broken = Scratch::new("broken.toml", "[mine]\ncall = \"<c>{object}</c>\"\nsuffix = 7\n");
    for args in [
        &["parse", "--dialect-file", broken.path()][..],
        &["scan", "--dialect-file", broken.path()],
        &["render", "--dialect-file", broken.path()],
        &["prompt", "--dialect-file", broken.path(), "--tools", tools.path()],
        &["dialects", "test", broken.path()],
    ] {
        assert_usage_error(&callgate(args, "{}"), &["broken.toml: line 3, column 10: ", "Make it a string."]);
    }
}

#[test]
fn a_response_template_becomes_a_dialect_file() {
    let config = Scratch::new(
        "tokenizer_config.json",
        r#"{"response_template": {"start_anchor": "<|assistant|>", "fields": {"content": {"close": "<|end|>"},
            "tool_calls": {"open_pattern": "<use (?P<name>\\w+)>", "close": "</use>", "repeats": true,
            "content": "json", "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}}"#,
    );
    let printed = callgate(&["dialects", "import", config.path(), "--name", "use-tags"], "");
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    assert!(printed.stdout.contains("[use-tags]\n"), "{}", printed.stdout);
    assert!(printed.stdout.contains("call = \"<use {name}>{arguments}</use>\"\n"), "{}", printed.stdout);
    let file = Scratch::new("use-tags.toml", "");
    let quiet = callgate(&["dialects", "import", config.path(), "--name", "use-tags", "-o", file.path()], "");
    assert_eq!((quiet.code, quiet.stdout.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), printed.stdout);

    let tools = Scratch::new("tools.json", TOOLS);
    let sample = Scratch::new("out.txt", "Wait. <use look>{\"q\": \"a\"}</use><|end|>");
    let test = ["dialects", "test", file.path(), "--sample", sample.path(), "--tools", tools.path()];
    let run = callgate(&test, "");
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains("✓ look"), "{}", run.stdout);

    let from_stdin =
        callgate(&["dialects", "import", "-"], "{\"response_template\": {\"fields\": {\"mood\": {}}}}");
    assert_usage_error(
        &from_stdin,
        &["standard input: /response_template/fields/mood: ", "`mood`", "tool_calls"],
    );
    let onto_itself = callgate(&["dialects", "import", config.path(), "-o", config.path()], "");
    assert_usage_error(&onto_itself, &["both the input and the output"]);
    let bad_name = callgate(&["dialects", "import", config.path(), "--name", "My Model"], "");
    assert_usage_error(&bad_name, &["no name for a dialect", "lower-case"]);
}

#[test]
fn what_is_rendered_parses_back() {
    let tools = Scratch::new("tools.json", TOOLS);
    let message =
        json!({"text": "Let me see.", "calls": [{"name": "look", "arguments": {"q": "c</x>ats", "n": 3}}]});
    for dialect in ["hermes", "qwen3-coder", "deepseek-v31", "pythonic", "mistral"] {
        let rendered = callgate(&["render", "--dialect", dialect], &message.to_string());
        assert_eq!(rendered.code, 0, "{dialect}: {}", rendered.stderr);
        let run =
            callgate(&["parse", "--json", "--dialect", dialect, "--tools", tools.path()], &rendered.stdout);
        let events = json_lines(&run.stdout);
        let call = events.iter().find(|event| event["event"] == "call");
        assert_eq!(call.unwrap()["call"]["arguments"], json!({"q": "c</x>ats", "n": 3}), "{dialect}");
    }
    let own = Scratch::new("mine.toml", "[mine]\ncall = \"<my_call>{object}</my_call>\"\n");
    let exact = "{\"calls\": [{\"name\": \"look\", \"arguments\": {\"n\": 1.00}}]}";
    let rendered = callgate(&["render", "--dialect-file", own.path()], exact);
    assert_eq!(rendered.stdout, "<my_call>{\"name\": \"look\", \"arguments\": {\"n\": 1.00}}</my_call>");
}

#[test]
fn the_table_says_which_openers_are_heard_without_being_named() {
    let run = callgate(&["dialects", "--json"], "");
    let all: Value = serde_json::from_str(&run.stdout).unwrap();
    let mut heard = 0;
    for dialect in all.as_array().unwrap() {
        let name = dialect["name"].as_str().unwrap();
        let openers = dialect["openers"].as_array().unwrap();
        let listening = openers.iter().filter(|opener| opener["listens"] == true).count();
        let word = if listening == 0 {
            "by name"
        } else if listening == openers.len() {
            "yes"
        } else {
            "some"
        };
        assert_eq!(dialect["listens"], word, "{name}");
        // What is written with an opener that listens is read where nothing is named.
        let input = r#"{"calls": [{"name": "look", "arguments": {"q": "cats"}, "id": "c1"}]}"#;
        let written = callgate(&["render", "--dialect", name], input);
        if word != "yes" || written.code != 0 {
            continue;
        }
        let read = callgate(&["parse", "--output-format", "callgate"], &written.stdout);
        let response: Value = serde_json::from_str(&read.stdout).unwrap();
        assert_eq!(response["calls"][0]["name"], "look", "{name}: {} {response}", written.stdout);
        heard += 1;
    }
    assert!(heard > 40, "{heard}");
}

#[test]
fn detect_ranks_the_dialects_and_names_the_flag() {
    let tools = Scratch::new("tools.json", TOOLS);
    let bare = r#"{"name": "look", "parameters": {"q": "cats"}}"#;
    let run = callgate(&["detect", "--tools", tools.path(), "--json"], bare);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let rows: Value = serde_json::from_str(&run.stdout).unwrap();
    let flag = rows[0]["flag"].as_str().unwrap();
    assert_eq!(
        (&rows[0]["calls"], &rows[0]["valid"], &rows[0]["heard"]),
        (&json!(1), &json!(1), &json!(false))
    );
    let shown = callgate(&["detect", "--tools", tools.path()], bare);
    assert!(shown.stdout.contains(&format!("Read it with: {flag}")), "{}", shown.stdout);
    // The hints of `parse` and `scan` give the same flag, and it reads the call.
    let run = callgate(&["parse", "--tools", tools.path()], bare);
    assert!(run.stdout.contains(flag) && run.stdout.contains("0 calls"), "{}", run.stdout);
    let run = callgate(&["parse", "--tools", tools.path(), "--json"], bare);
    let last = json_lines(&run.stdout).pop().unwrap();
    assert_eq!(format!("--dialect {}", last["hint"]["dialect"].as_str().unwrap()), flag);
    let line = json!({"id": 1, "text": bare}).to_string();
    let run = callgate(&["scan", "--tools", tools.path()], &line);
    let result = &json_lines(&run.stdout)[0];
    assert_eq!((&result["calls"], &result["hint"]["dialect"]), (&json!([]), &rows[0]["dialect"]));
    assert!(
        run.stderr.contains(&format!("1 line without a call would be read with {flag}")),
        "{}",
        run.stderr
    );
    let words: Vec<&str> = flag.split(' ').collect();
    let run = callgate(&[&["scan", "-q", "--tools", tools.path()], &words[..]].concat(), &line);
    let result = &json_lines(&run.stdout)[0];
    assert_eq!((result["calls"][0]["name"].as_str(), result.get("hint")), (Some("look"), None));
}

#[test]
fn detect_says_what_is_heard_anyway_and_when_there_is_nothing() {
    let tools = Scratch::new("tools.json", TOOLS);
    let run = callgate(&["detect", "--tools", tools.path()], GOOD);
    assert!(run.stdout.starts_with("hermes"), "{}", run.stdout);
    assert!(run.stdout.contains("It is read without a flag"), "{}", run.stdout);
    let run = callgate(&["detect", "--tools", tools.path()], BAD);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("no name is in the tool list"), "{}", run.stdout);
    let run = callgate(&["detect"], "Just text.");
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("No dialect reads a call"), "{}", run.stdout);
    assert_eq!(callgate(&["detect", "--json"], "Just text.").stdout, "[]\n");
    let body = json!({"choices": [{"message": {"content": GOOD}}]}).to_string();
    assert!(callgate(&["detect"], &body).stdout.starts_with("hermes"));
    assert_usage_error(&callgate(&["detect", "/nonexistent/x"], ""), &["there is no file"]);
}
