//! What a record keeps of everything, and still not of secrets: every form of giving a value to a name, every name, every
//! look of a value, in every nesting; and ordinary values stay.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

mod forms;

use callgate_agent::audit::{REDACTED, Redaction, Style};
use forms::{
    FOUND, LINE_FORMS, LINES, LOOKS, QUOTED, QUOTED_FORMS, SPECIAL, STRONG, STRONG_QUOTED_FORMS, WEAK,
    WORD_FORMS, WORDS,
};
use serde_json::{Value, json};

fn full() -> Redaction {
    Redaction { style: Style::Full, words: Vec::new() }
}

/// The same text as it may stand in a record.
fn nestings(text: &str) -> Vec<(&'static str, Value)> {
    let quoted = json!(text).to_string();
    let command = json!({ "command": text }).to_string();
    vec![
        ("alone", json!(text)),
        ("in an object", json!({"a": {"text": text, "n": 1}})),
        ("in a list", json!(["x", text, 2])),
        ("after a line", json!(format!("Sure, here it is.\n{text}"))),
        ("JSON in a text", json!(format!("see {quoted} there"))),
        ("a call", json!(format!("<tool_call>{{\"name\":\"run\",\"arguments\":{command}}}</tool_call>"))),
        ("JSON in JSON", json!({ "arguments": command })),
        ("JSON in JSON in a text", json!(format!("see {} there", json!({ "arguments": command })))),
    ]
}

/// ModelChunks of a value by which it could be told, as they look in JSON.
fn parts(value: &str) -> Vec<String> {
    value
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| part.len() >= 4 && !matches!(*part, "Bearer" | "Basic"))
        .map(str::to_owned)
        .collect()
}

/// Every case that survives, with its nesting.
fn survivors(text: &str, value: &str) -> Vec<String> {
    let parts = parts(value);
    assert!(!parts.is_empty(), "{value}");
    let survives = |(nesting, nested): (&str, Value)| {
        let kept = full().everything(&json!({ "x": nested }).into()).to_string();
        let left = parts.iter().find(|part| kept.contains(part.as_str()))?;
        Some(format!("{nesting}: {left} of {text:?} is left in {kept}"))
    };
    nestings(text).into_iter().filter_map(survives).collect()
}

fn assert_none(cases: usize, survivors: &[String]) {
    let step = survivors.len() / 30 + 1;
    let shown: Vec<&String> = survivors.iter().step_by(step).collect();
    assert!(survivors.is_empty(), "{} of {cases} survive: {shown:#?}", survivors.len());
}

fn escaped(value: &str) -> String {
    let quoted = json!(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

#[test]
fn a13_no_secret_survives_in_any_form_name_look_and_nesting() {
    let mut left = Vec::new();
    let mut cases = 0;
    let mut check = |form: &str, name: &str, value: &str, written: &str| {
        let text = form.replace('§', name).replace('¤', written);
        cases += nestings("").len();
        left.extend(survivors(&text, value));
    };
    for name in STRONG {
        for value in WORDS {
            WORD_FORMS.iter().for_each(|form| check(form, name, value, value));
        }
        for value in WORDS.iter().chain(LINES).chain(QUOTED) {
            STRONG_QUOTED_FORMS.iter().for_each(|form| check(form, name, value, &escaped(value)));
        }
    }
    for name in STRONG.iter().chain(WEAK) {
        for value in WORDS.iter().chain(LINES) {
            LINE_FORMS.iter().for_each(|form| check(form, name, value, value));
        }
        for value in WORDS.iter().chain(LINES).chain(QUOTED) {
            QUOTED_FORMS.iter().for_each(|form| check(form, name, value, &escaped(value)));
        }
    }
    assert_none(cases, &left);
}

#[test]
fn a13_no_secret_survives_in_headers_commands_files_and_addresses() {
    let mut left = Vec::new();
    let values = ["hunter2xyz", "Zm9vYmFyQmF6Cg==", "b3ta-G4mma_d3lta", "zu.lang.er1"];
    for form in SPECIAL.iter().chain(FOUND) {
        for value in values {
            left.extend(survivors(&form.replace('¤', value), value));
        }
    }
    assert_none((SPECIAL.len() + FOUND.len()) * values.len() * nestings("").len(), &left);
}

#[test]
fn a13_no_secret_survives_that_is_known_by_its_look() {
    let mut left = Vec::new();
    let forms = [
        "¤",
        "use ¤ now",
        "x=¤",
        "(¤)",
        "\"¤\"",
        "a: ¤\nb: c",
        "[¤, ¤]",
        "https://h.example/¤/x",
        "my-¤",
        "¤.",
    ];
    for value in LOOKS {
        for form in forms.iter().filter(|form| !(value.contains(['/', ' ']) && form.contains("h.example"))) {
            left.extend(survivors(&form.replace('¤', value), value));
        }
    }
    assert_none(forms.len() * LOOKS.len() * nestings("").len(), &left);
}

#[test]
fn a13_no_secret_survives_in_values_that_are_not_text() {
    let secret = "hunter2xyz";
    let mut left = Vec::new();
    for name in STRONG.iter().chain(WEAK) {
        for value in [
            json!({ *name: secret }),
            json!({ *name: [secret, secret] }),
            json!({ *name: {"a": {"b": [secret]}} }),
            json!({ *name: 12_345_678 }),
            json!([{"name": name, "value": secret}]),
            json!([{"key": name, "value": [secret]}]),
            json!({"env": [{"value": secret, "name": name}]}),
            json!({"header": name, "val": secret}),
            json!({"Key": name, "Value": secret}),
            json!({"ParameterKey": name, "ParameterValue": secret}),
            json!({"argv": ["tool", format!("--{name}"), secret]}),
            json!({"argv": ["tool", format!("--{name}={secret}")]}),
        ] {
            for nested in
                [value.clone(), json!({"a": [{"b": value.clone()}]}), json!({"text": value.to_string()})]
            {
                let kept = full().everything(&(&nested).into()).to_string();
                if kept.contains(secret) || kept.contains("12345678") {
                    left.push(format!("{nested} -> {kept}"));
                }
            }
        }
    }
    let aws = "abcdefghijABCDEFGHIJabcdefghijABCDEFGHIJ";
    for nested in [
        json!({"id": "AKIAIOSFODNN7EXAMPLE", "s": aws}),
        json!(["AKIAIOSFODNN7EXAMPLE", aws]),
        json!({"t": format!("AKIAIOSFODNN7EXAMPLE {aws}")}),
        json!({"argv": ["curl", "-u", "me:abcdefghij"]}),
        json!({"argv": ["/usr/bin/curl", "--user", "me:abcdefghij"]}),
        json!({"argv": ["sshpass", "-p", "abcdefghij", "ssh"]}),
        json!({"t": "{\"pass\\u0077ord\": \"abcdefghij\"}"}),
    ] {
        let kept = full().everything(&(&nested).into()).to_string();
        if kept.contains("abcdefghij") {
            left.push(format!("{nested} -> {kept}"));
        }
    }
    assert_none(0, &left);
}

#[test]
fn a13_ordinary_values_stay() {
    for text in [
        "task-abcdefghijklmnopqrst",
        "sk-short",
        "the key: be kind",
        "http://host:80/a@b",
        "a monkey=1",
        "eyJ",
        "password: ",
        "see token",
        "the author: Ann",
        "größe=1",
        "-----BEGIN CERTIFICATE-----\nabc",
        "max_tokens: 100",
        "max_tokens=4096",
        "{\"max_tokens\": 100, \"n\": 1}",
        "{\"path\": \"src/main.rs\", \"content\": \"fn main() {}\"}",
        "the monkey keyboard",
        "ssh://git@github.com/a/b.git",
        "mailto:ann@example.com",
        "ssh -p 2222 host",
        "docker run -p 8080:80 image",
        "cp -p a b",
        "grep -u x",
        "curl -s https://example.com/a?b=c",
        "mysql -u root db",
        "tar -xzf a.tgz",
        "12:30:15",
        "0123456789abcdef0123456789abcdef01234567",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "/usr/local/share/doc/some/long/path/to/x",
        "550e8400-e29b-41d4-a716-446655440000",
        "Basic training",
        "bearer of news",
        "reset your password",
        "password policy",
        "a secretary of state: Ann",
        "passwordless: yes",
        "tokenizer: bpe",
        "authority: high",
        "pinned: true",
        "keyboard=qwerty",
        "turkey: 1",
        "compass: north",
        "use the key to open it",
        "fn key(&self) -> u32 { 1 }",
        "name: Ann\nvalue: 5",
        "{\"name\": \"colour\", \"value\": \"red\"}",
        "[\"a\", \"b\"]",
        "git status && git diff",
        "SELECT * FROM t WHERE id = 5",
        "2026-11-15T20:00:00Z",
        "http://[::1]:80/a@b",
        "The quick brown fox: jumps = over | the, lazy; dog.",
    ] {
        assert_eq!(full().text(text), text);
        let nested = json!({"text": text, "list": [text]});
        assert_eq!(full().everything(&(&nested).into()), nested.into());
    }
    for value in [
        json!({"path": "a.txt", "n": 5, "ok": true, "list": [1, "two", null], "max_tokens": 100}),
        json!({"name": "colour", "value": "red"}),
        json!({"argv": ["ls", "-la", "src"]}),
        json!(["look", "put"]),
        json!({"command": "cargo test -p callgate --test laws"}),
    ] {
        assert_eq!(full().everything(&(&value).into()), value.into());
    }
}

#[test]
fn a13_what_stands_around_a_secret_stays() {
    for (text, kept) in [
        ("user: bob\npassword: x1y2z3\nhost: h", "user: bob\npassword: ***\nhost: h"),
        ("curl -u me:x1y2z3 https://h.example", "curl -u *** https://h.example"),
        (
            "{\"user\": \"bob\", \"password\": \"x y\", \"n\": 1} after",
            "{\"user\": \"bob\", \"password\": \"***\", \"n\": 1} after",
        ),
        ("a?token=x1&b=2", "a?token=***&b=2"),
        ("run --password x1y2 --verbose", "run --password *** --verbose"),
        ("Authorization: Bearer x1y2\nAccept: z", "Authorization: Bearer ***\nAccept: z"),
        ("secrets:\n  - a1\n  - b2\nother: c", "secrets:***\nother: c"),
        ("<password>x</password><user>bob</user>", "<password>***</password><user>bob</user>"),
        ("machine h login me password x1y2\n", "machine h login me password ***\n"),
        ("{\\\"password\\\": \\\"x y\\\", \\\"n\\\": 1}", "{\\\"password\\\": \\\"***\\\", \\\"n\\\": 1}"),
        ("postgres://me:x@db/x", "postgres://***@db/x"),
    ] {
        assert_eq!(full().text(text), kept.replace("***", REDACTED), "{text}");
    }
}

#[test]
fn a13_hostile_text_costs_what_its_length_costs() {
    // A quadratic look would not come back.
    for unit in [
        "sk-",
        "eyJ.",
        "password",
        "://a",
        "://a:b/",
        "-----BEGIN ",
        "token=",
        "a_",
        "name: {",
        "\"name\": \"",
        "value: ",
        "\"value\": \"x\", ",
        "password: {",
        "key: [",
        "--password ",
        "curl -u ",
        "\\\"",
        "password: '",
        "x: \\n",
        "token |",
        "<password>",
        "-----BEGIN PRIVATE KEY",
        "password is ",
        "AKIA",
        "AKIA wJalrXUtnFEMI",
        "secret:\n ",
        "[token]\n",
        "-",
        "Basic ",
        "machine login password ",
        "password:\n",
        "password,",
        "(password=",
        "&token=a",
        "a=b&",
    ] {
        let text = unit.repeat(1_000_000 / unit.len());
        assert!(!full().text(&text).is_empty());
    }
}

#[test]
fn a13_no_text_breaks_the_reader() {
    const PARTS: &[&str] = &[
        "password",
        "key",
        "name",
        "value",
        "é",
        "：",
        "→",
        "\u{1f600}",
        "\"",
        "'",
        "`",
        "\\",
        "\\n",
        "\n",
        "\r\n\r\n",
        " ",
        "=",
        ":",
        ": ",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "</",
        "<td>",
        "</td>",
        "-",
        "--",
        "-u",
        "curl ",
        "://",
        "@",
        "|",
        "&",
        ";",
        ",",
        ".",
        "*",
        "$",
        "!",
        "-----BEGIN PRIVATE KEY-----",
        "-----END ",
        "AKIA",
        "Bearer ",
        "Basic ",
        "is ",
        "set ",
        "machine ",
        "login ",
        "identified by ",
        "sk-",
        "eyJ",
        "0123456789abcdefghij",
        "ü",
        "\u{2028}",
        "\t",
        "  ",
        "\"\"\"",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |most: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % most
    };
    for _ in 0..50_000 {
        let text: String = (0..1 + next(24)).map(|_| PARTS[next(PARTS.len())]).collect();
        let once = full().text(&text);
        assert_eq!(once.is_empty(), text.is_empty(), "{text:?}");
        // In a record it stands in JSON, and in a call in JSON in JSON.
        let nested = json!({ "x": json!({ "y": text }).to_string() });
        assert!(full().everything(&nested.into()).to_value().is_object());
    }
}
