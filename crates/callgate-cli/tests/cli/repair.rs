//! `callgate repair`: broken JSON in, JSON out, and what was done to it.

use serde_json::{Value, json};

use super::{callgate, json_lines};

#[test]
fn repair_prints_json_and_lists_the_repairs() {
    let run = callgate(&["repair"], "{'a': 1,\n b: [True,]}");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(value, json!({"a": 1, "b": [true]}));
    for part in ["1:2  single-quotes", "2:2  unquoted-key", "trailing-comma", "python-literal"] {
        assert!(run.stderr.contains(part), "`{part}` is not in:\n{}", run.stderr);
    }
}

#[test]
fn repair_leaves_valid_json_alone() {
    let valid = "{ \"n\": 12345678901234567890.10, \"s\": \"\\u0041\" }\n";
    let run = callgate(&["repair"], valid);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, valid, ""));
}

#[test]
fn repair_rejects_what_it_cannot_read_and_guesses_if_strict() {
    let run = callgate(&["repair"], "");
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.starts_with("callgate: standard input:1:1: "), "{}", run.stderr);
    let guess = "{\"a\": some words}";
    assert_eq!(callgate(&["repair"], guess).code, 0);
    let strict = callgate(&["repair", "--strict"], guess);
    assert_eq!((strict.code, strict.stdout.as_str()), (1, ""));
    assert!(strict.stderr.contains("--strict"), "{}", strict.stderr);
    let as_json: Value =
        serde_json::from_str(&callgate(&["repair", "--json", "--strict"], guess).stdout).unwrap();
    assert_eq!(as_json["error"]["code"], "repair-refused");
    let as_json: Value = serde_json::from_str(&callgate(&["repair", "--json"], "[1,]").stdout).unwrap();
    assert_eq!(as_json["output"], json!([1]));
    assert_eq!(as_json["repairs"][0]["code"], "trailing-comma");
}

#[test]
fn repair_works_on_lines() {
    let input = "{\"id\": \"a\", \"input\": \"[1,]\"}\nnonsense\n{\"id\": \"c\", \"input\": \"{\\\"a\\\": some words}\"}\n";
    let run = callgate(&["repair", "--jsonl"], input);
    assert_eq!(run.code, 1);
    let lines = json_lines(&run.stdout);
    assert_eq!(lines[0]["id"], "a");
    assert_eq!(lines[0]["output"], json!([1]));
    assert_eq!(lines[1]["line"], 2);
    assert_eq!(lines[2]["output"], json!({"a": "some words"}));
    let strict = json_lines(&callgate(&["repair", "--jsonl", "--strict"], input).stdout);
    assert_eq!(strict[0]["output"], json!([1]));
    assert_eq!((&strict[2]["id"], &strict[2]["error"]["code"]), (&json!("c"), &json!("repair-refused")));
}
