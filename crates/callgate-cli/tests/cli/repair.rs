//! `callgate repair`: broken JSON in, JSON out, and what was done to it.

use serde_json::{Value, json};

use super::{Scratch, callgate, json_lines};

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
fn repair_writes_to_a_file_and_says_only_what_is_wanted() {
    let (broken, whole) = (Scratch::new("broken.json", "{'a': 1}"), Scratch::new("whole.json", "[2]\n"));
    let output = Scratch::new("output.json", "");
    let (broken, whole, output) = (broken.path(), whole.path(), output.path());
    for flag in ["-o", "--output"] {
        let run = callgate(&["repair", flag, output, broken, whole], "");
        assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
        assert!(run.stderr.contains("single-quotes"), "{}", run.stderr);
        assert_eq!(std::fs::read_to_string(output).unwrap(), "{\"a\": 1}\n[2]\n");
    }
    callgate(&["repair", "--diff", "-o", output, broken], "");
    assert!(std::fs::read_to_string(output).unwrap().contains("+{\"a\": 1}"));
    // What is read is not written over, and a file that is written back needs no other.
    assert_eq!(callgate(&["repair", "-o", broken, broken], "").code, 2);
    assert_eq!(std::fs::read_to_string(broken).unwrap(), "{'a': 1}");
    assert_eq!(callgate(&["repair", "--inline", "-o", output, broken], "").code, 2);
    let quiet = callgate(&["repair", "-q", broken], "");
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("{\"a\": 1}\n", ""));
    assert!(callgate(&["repair", "-q"], "{1}").stderr.contains("Correct the text"), "errors are said");
    // The way out is one for a text, not for a model that calls.
    for (input, words) in
        [("", "holds a JSON value"), ("just words", "holds a JSON value"), ("{\"a\":", "--partial")]
    {
        let refused = callgate(&["repair"], input);
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains(words) && !refused.stderr.contains("Send"), "{}", refused.stderr);
    }
    assert!(callgate(&["repair", "--jsonl"], "{}\n").stdout.contains("with `id` and `input`"));
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

#[test]
fn repair_takes_several_files() {
    let (good, bad) = (Scratch::new("good.json", "{'a': 1}"), Scratch::new("bad.json", "{1, 2}"));
    let run = callgate(&["repair", good.path(), bad.path(), good.path()], "");
    assert_eq!((run.code, run.stdout.as_str()), (1, "{\"a\": 1}\n{\"a\": 1}\n"));
    assert!(run.stderr.contains(&format!("{}:1:2  single-quotes", good.path())), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("callgate: {}:1:2: ", bad.path())), "{}", run.stderr);
    let lines = json_lines(&callgate(&["repair", "--json", good.path(), bad.path()], "").stdout);
    assert_eq!((&lines[0]["file"], &lines[0]["output"]), (&json!(good.path()), &json!({"a": 1})));
    assert_eq!(
        (&lines[1]["file"], &lines[1]["error"]["code"]),
        (&json!(bad.path()), &json!("repair-refused"))
    );
    // A file that is not there is found before anything is written.
    let missing = callgate(&["repair", good.path(), "no-such-file.json"], "");
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
}

#[test]
fn repair_shows_what_it_changed() {
    let run = callgate(&["repair", "--view"], "{'a': some words}");
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for part in ["single-quotes (lossless)", "unquoted-string (guess)", "^", "\n{\"a\": \"some words\"}\n"] {
        assert!(run.stdout.contains(part), "`{part}` is not in:\n{}", run.stdout);
    }
    assert_eq!(callgate(&["repair", "--view"], "{\"a\": 1}").stdout, "{\"a\": 1}\n");
    let failed = callgate(&["repair", "--view"], "{1, 2}");
    assert_eq!(failed.code, 1);
    assert!(failed.stdout.contains("~ a key and its colon are missing here"), "{}", failed.stdout);
    let file = Scratch::new("diff.json", "{\n 'a': 1,\n \"b\": 2\n}\n");
    let diff = callgate(&["repair", "--diff", file.path()], "");
    assert_eq!(diff.code, 0, "{}", diff.stderr);
    for part in ["--- ", "(repaired)", "\n {\n- 'a': 1,\n+ \"a\": 1,\n  \"b\": 2\n }\n"] {
        assert!(diff.stdout.contains(part), "`{part}` is not in:\n{}", diff.stdout);
    }
    assert_eq!(callgate(&["repair", "--diff"], "{}").stdout, "");
    // A kind of repair is explained once.
    let twice = callgate(&["repair", "--view"], "['a', 'b']").stdout;
    assert_eq!(twice.matches("a string in single quotes").count(), 1, "{twice}");
    assert!(twice.contains("single-quotes (lossless) ×2 a string"), "{twice}");
    // The line break at the end of a file stays there, wherever closers are added.
    let cut = callgate(&["repair", "--diff"], "[1, 2\n").stdout;
    assert!(cut.ends_with("]\n") && !cut.contains("No newline"), "{cut}");
}

#[test]
fn repair_writes_back() {
    let file = Scratch::new("inline.json", "{'a': 1}");
    let run = callgate(&["repair", "--inline", "--backup", ".orig", file.path()], "");
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert!(run.stderr.contains("single-quotes"), "{}", run.stderr);
    let backup = format!("{}.orig", file.path());
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    assert_eq!((read(file.path()), read(&backup)), ("{\"a\": 1}".to_owned(), "{'a': 1}".to_owned()));
    std::fs::remove_file(&backup).unwrap();
    // What is valid is not written, and so not kept either.
    assert_eq!(callgate(&["repair", "--inline", "--backup", ".orig", file.path()], "").code, 0);
    assert!(!std::path::Path::new(&backup).exists());
    // What cannot be repaired, or only by a guess under --strict, stays as it is.
    for (text, flags) in
        [("{1, 2}", &["repair", "--inline"][..]), ("{\"a\": b c}", &["repair", "--inline", "--strict"])]
    {
        let broken = Scratch::new("broken.json", text);
        assert_eq!(callgate(&[flags, &[broken.path()]].concat(), "").code, 1, "{text}");
        assert_eq!(read(broken.path()), text);
    }
    assert_eq!(callgate(&["repair", "--inline"], "{}").code, 2);
    assert_eq!(callgate(&["repair", "--backup", ".orig"], "{}").code, 2);
}

#[test]
fn repair_takes_no_backup_that_is_not_a_file_beside() {
    for suffix in ["", "/", "/kept", "/../kept", ".orig/"] {
        let file = Scratch::new("unkept.json", "{'a': 1}");
        let run = callgate(&["repair", "--inline", "--backup", suffix, file.path()], "");
        assert_eq!(run.code, 2, "{suffix:?} {}", run.stderr);
        assert!(run.stderr.contains("give an end such as .orig"), "{suffix:?} {}", run.stderr);
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "{'a': 1}", "{suffix:?}");
    }
}

#[test]
fn repair_reads_standard_input_once() {
    let file = Scratch::new("once.json", "{'a': 1}");
    for files in [&["-", "-"][..], &["-", file.path(), "-"]] {
        for flag in ["--json", "--diff", "--strict"] {
            let run = callgate(&[&["repair", flag], files].concat(), "{b: 2}");
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{files:?} {flag}");
            assert!(run.stderr.contains("only once"), "{}", run.stderr);
        }
    }
    assert_eq!(callgate(&["repair", "-", file.path()], "{b: 2}").code, 0);
}

#[test]
fn repair_reads_packed_files_and_does_not_write_them_back() {
    let packed = include_bytes!("../bodies/lines.gz");
    let file = Scratch::new("lines.gz", "");
    std::fs::write(file.path(), packed).unwrap();
    let run = callgate(&["repair", "--many", "--json", file.path()], "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(value["output"].as_array().is_some_and(|values| !values.is_empty()), "{value}");
    // As one list it would change, and a packed file is not written unpacked.
    let inline = callgate(&["repair", "--many", "--inline", file.path()], "");
    assert_eq!(inline.code, 2, "{}", inline.stderr);
    assert_eq!(std::fs::read(file.path()).unwrap(), packed);
}

#[test]
fn repair_follows_a_schema() {
    let area = r#"{"properties": {"area": {"type": "object"}, "limit": {"type": "integer"}}, "required": ["limit"]}"#;
    let schema = Scratch::new("schema.json", area);
    let text = "{\"area\": {\"x\": 1, \"limit\": \"5\"}";
    let run = callgate(&["repair", "--schema", schema.path(), "--strict"], text);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "{\"area\": {\"x\": 1}, \"limit\": 5}\n"),
        "{}",
        run.stderr
    );
    for part in
        ["1:17  missing-closer (lossless)", "string-to-number: /limit: \"5\" → 5", "schema: of 2 readings"]
    {
        assert!(run.stderr.contains(part), "`{part}` is not in:\n{}", run.stderr);
    }
    let as_json: Value =
        serde_json::from_str(&callgate(&["repair", "--json", "--schema", schema.path()], text).stdout)
            .unwrap();
    assert_eq!(as_json["coercions"][0]["path"], "/limit");
    assert!(as_json["decided"].as_str().is_some_and(|decided| decided.contains("schema")), "{as_json}");
    let view = callgate(&["repair", "--view", "--schema", schema.path()], text).stdout;
    for part in ["string-to-number /limit: \"5\" → 5", "schema of 2 readings", "missing-closer (lossless)"]
    {
        assert!(view.contains(part), "`{part}` is not in:\n{view}");
    }
    // All that is wrong is told, each with its place.
    let wrong = "{\"area\": 3,\n\"limit\": \"x\"}";
    let run = callgate(&["repair", "--schema", schema.path()], wrong);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    for part in
        ["standard input:1:10: invalid value for area", "standard input:2:10: invalid value for limit"]
    {
        assert!(run.stderr.contains(part), "`{part}` is not in:\n{}", run.stderr);
    }
    let lines = callgate(
        &["repair", "--jsonl", "--schema", schema.path()],
        "{\"id\": 1, \"input\": \"{limit: '5'}\"}\n{\"id\": 2, \"input\": \"{area: 3}\"}\n",
    );
    let lines = json_lines(&lines.stdout);
    assert_eq!(
        (&lines[0]["output"], &lines[0]["coercions"][0]["code"]),
        (&json!({"limit": 5}), &json!("string-to-number"))
    );
    assert_eq!(
        (&lines[1]["error"]["code"], lines[1]["errors"].as_array().map(Vec::len)),
        (&json!("missing-argument"), Some(2))
    );
}

#[test]
fn repair_holds_each_value_and_each_file_against_the_schema() {
    let schema = Scratch::new("list.json", r#"{"type": "array", "items": {"type": "integer"}}"#);
    let run = callgate(&["repair", "--many", "--json", "--schema", schema.path()], "[1,]\n[\"2\"]");
    let value: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&value["output"], &value["coercions"][0]["path"]), (&json!([[1], [2]]), &json!("/1/0")));
    let wrong = callgate(&["repair", "--many", "--schema", schema.path()], "[1]\n[\"x\"]\n[{}]");
    assert_eq!((wrong.code, wrong.stdout.as_str()), (1, ""));
    assert!(wrong.stderr.contains(":2:2: ") && wrong.stderr.contains(":3:2: "), "{}", wrong.stderr);
    let (good, bad) = (Scratch::new("a.json", "['1',]"), Scratch::new("b.json", "['x']"));
    let files = callgate(&["repair", "--schema", schema.path(), good.path(), bad.path()], "");
    assert_eq!((files.code, files.stdout.as_str()), (1, "[1]\n"), "{}", files.stderr);
    // What may still come cannot be judged.
    assert_eq!(callgate(&["repair", "--partial", "--schema", schema.path()], "[1").code, 2);
    for (text, says) in [
        ("{\"type\": 5}", "/type (tool-bad-schema)"),
        ("{", "line 1, column 1"),
        ("{\"$ref\": \"http://x/y\"}", "/$ref (tool-bad-reference)"),
    ] {
        let broken = Scratch::new("broken-schema.json", text);
        let run = callgate(&["repair", "--schema", broken.path()], "[1]");
        assert_eq!((run.code, run.stdout.as_str()), (2, ""));
        assert!(run.stderr.contains(broken.path()) && run.stderr.contains(says), "{}", run.stderr);
    }
}
