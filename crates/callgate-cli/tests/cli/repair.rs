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

#[test]
fn repair_reads_the_start_of_a_value() {
    let run = callgate(&["repair", "--partial"], "{\"a\": [1, 2], \"b\": 12");
    assert_eq!((run.code, run.stdout.as_str()), (0, "{\"a\": [1, 2]}\n"), "{}", run.stderr);
    assert!(run.stderr.contains("half-member (guess)"), "{}", run.stderr);
    let lines = callgate(&["repair", "--jsonl", "--partial"], "{\"id\": 1, \"input\": \"{\\\"a\\\": tr\"}\n");
    assert_eq!(json_lines(&lines.stdout)[0]["output"], json!({}));
    // What is not there yet is not made up, and a start is a guess by nature.
    assert_eq!(callgate(&["repair", "--partial"], "12").code, 1);
    assert_eq!(callgate(&["repair", "--partial", "--strict"], "{}").code, 2);
}

#[test]
fn repair_reads_many_values_as_a_list() {
    let several = "{\"n\": 1}\n{'n': 2}\n";
    let refused = callgate(&["repair"], several);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    assert!(refused.stderr.contains("2:1: there are several different values"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--many"), "{}", refused.stderr);
    let run = callgate(&["repair", "--many"], several);
    assert_eq!((run.code, run.stdout.as_str()), (0, "[\n{\"n\": 1},\n{\"n\": 2}\n]\n"), "{}", run.stderr);
    assert!(run.stderr.contains("2:2  single-quotes"), "{}", run.stderr);
    let as_json: Value =
        serde_json::from_str(&callgate(&["repair", "--many", "--json"], several).stdout).unwrap();
    assert_eq!(as_json["output"], json!([{"n": 1}, {"n": 2}]));
    // A list is whole or not at all; the place of the fault is that of the whole text.
    let broken = callgate(&["repair", "--many"], "{\"n\": 1}\n{1, 2}\n");
    assert_eq!((broken.code, broken.stdout.as_str()), (1, ""));
    assert!(broken.stderr.contains("standard input:2:2: "), "{}", broken.stderr);
    assert_eq!(callgate(&["repair", "--many"], "").stdout, "[]\n");
    assert_eq!(callgate(&["repair", "--many", "--partial"], "").code, 2);
    let strict = callgate(&["repair", "--many", "--strict"], "{\"n\": 1}\n{\"n\": some words}\n");
    assert_eq!((strict.code, strict.stdout.as_str()), (1, ""));
}
