//! Texts that are read for their own sake: what a missing quote or bracket swallowed, what belongs to nothing, and that
//! `lossless` is never said of a reading that has a rival.

use std::collections::BTreeSet;

use callgate::{Repaired, Safety, repair};
use proptest::prelude::*;
use serde_json::Value;

use crate::laws::{any_value, config};
use crate::{document, read};

/// Asserts what a text becomes, by which repairs, and whether that is a guess. The reader must agree in any cutting.
fn becomes(input: &str, output: &str, words: &[&str], safety: Safety) {
    let repaired = repair(input, 64).unwrap_or_else(|finding| panic!("{input:?}: {finding}"));
    assert_eq!(repaired.text.trim(), output, "{input:?} {:?}", repaired.repairs);
    let mut made: Vec<&str> = repaired.repairs.iter().map(|repair| repair.code.word()).collect();
    made.dedup();
    assert_eq!(made, words, "{input:?}");
    assert_eq!(is_lossless(&repaired), safety == Safety::Lossless, "{input:?} {:?}", repaired.repairs);
    read(&document().restoring(), input);
}

fn guess(input: &str, output: &str, words: &[&str]) {
    becomes(input, output, words, Safety::Guess);
}

fn lossless(input: &str, output: &str, words: &[&str]) {
    becomes(input, output, words, Safety::Lossless);
}

fn fails(input: &str) {
    assert!(repair(input, 64).is_err(), "{input:?} became {:?}", repair(input, 64));
    read(&document().restoring(), input);
}

fn is_lossless(repaired: &Repaired) -> bool {
    repaired.repairs.iter().all(|repair| repair.safety == Safety::Lossless)
}

#[test]
fn a_quote_before_a_comma_or_closer_ends_its_string_whatever_follows() {
    guess(r#"["oak", null true, "elm"]"#, r#"["oak", null, true, "elm"]"#, &["missing-comma"]);
    guess(r#"["oak" 7]"#, r#"["oak", 7]"#, &["missing-comma"]);
    guess(r#"["oak" "elm" "ash"]"#, r#"["oak", "elm", "ash"]"#, &["missing-comma"]);
    lossless(r#"{"a": "x", "b" "y", "c": 1}"#, r#"{"a": "x", "b": "y", "c": 1}"#, &["missing-colon"]);
    guess(r#"["oak", elm", "ash"]"#, r#"["oak", "elm", "ash"]"#, &["unquoted-string", "missing-quote"]);
    guess(r#"{"a": "x", k"ey": 1}"#, r#"{"a": "x", "ey": 1}"#, &["stray-text"]);
    // A quotation that is open in the string is closed first.
    guess(
        r#"{"t": "he said "yes", then left", "n": 1}"#,
        r#"{"t": "he said \"yes\", then left", "n": 1}"#,
        &["unescaped-quote"],
    );
    guess(r#"{"t": "Hello", world", "n": 1}"#, r#"{"t": "Hello\", world", "n": 1}"#, &["unescaped-quote"]);
}

#[test]
fn words_before_keys_and_letters_before_quotes_belong_to_what_fits() {
    for word in ["note", "COMMENT", "should_not_exist", "été"] {
        for (before, key) in [("\"a\": 1, ", "\"b\""), ("\"a\": [1], ", "'b'"), ("", "\"b\"")] {
            let words: &[&str] =
                if key.starts_with('"') { &["stray-text"] } else { &["stray-text", "single-quotes"] };
            let output = format!("{{{before} \"b\": 2}}");
            guess(&format!("{{{before}{word} {key}: 2}}"), &output, words);
        }
    }
    // A word that a string follows which is no key is a key without its colon.
    guess(r#"{"a": 1, note "b"}"#, r#"{"a": 1, "note": "b"}"#, &["unquoted-key", "missing-colon"]);
    // Letters that may stand before a Python string are the string where nothing follows the quote.
    for letters in ["r", "u", "b", "f", "rb", "Br"] {
        for (before, after) in [("[", "]"), ("[1, ", ", 2]"), ("{\"a\": ", "}"), ("{\"a\": ", ", \"b\": 1}")]
        {
            let output = format!("{before}\"{letters}\"{after}");
            guess(&format!("{before}{letters}\"{after}"), &output, &["unquoted-string", "missing-quote"]);
        }
    }
    guess(
        r#"[a",b"]"#,
        r#"["a","b"]"#,
        &["unquoted-string", "missing-quote", "unquoted-string", "missing-quote"],
    );
    guess(r#"[r"a\b", 1]"#, r#"["a\\b", 1]"#, &["string-prefix"]);
}

#[test]
fn comments_between_joined_strings_and_quotes_escaped_once_too_little() {
    for comment in ["/* c */", "/**/", "/* * \" */", "// c\n", "//\n // c \"\n", ""] {
        for (before, after) in [("", ""), ("[", "]"), ("{\"a\": ", ", \"b\": 1}")] {
            guess(
                &format!("{before}\"one\" + {comment} \"two\"{after}"),
                &format!("{before}\"onetwo\"{after}"),
                &["joined-strings"],
            );
        }
    }
    let words = ["escaped-quotes"];
    guess(r#"{\"a\": \"say \\"hi\\" now\"}"#, r#"{"a": "say \"hi\" now"}"#, &words);
    lossless(r#"{\"a\": \"say \\\"hi\\\" now\"}"#, r#"{"a": "say \"hi\" now"}"#, &words);
}

#[test]
fn smaller_slips_of_those_who_write_by_hand() {
    // Of two backslashes before a quote that ends nothing, one was to escape it.
    guess(r#"{"t": "f {\\"k\": x} g", "n": 1}"#, r#"{"t": "f {\"k\": x} g", "n": 1}"#, &["escaped-quotes"]);
    guess(r#"{"t": "say \\"hi\\" now"}"#, r#"{"t": "say \"hi\" now"}"#, &["escaped-quotes"]);
    guess(r#"["oak" 7"#, r#"["oak", 7]"#, &["missing-comma", "missing-closer"]);
    lossless(
        "{b: 'oak' c: True}",
        r#"{"b": "oak", "c": true}"#,
        &["unquoted-key", "single-quotes", "missing-comma", "unquoted-key", "python-literal"],
    );
    guess("{'a': ''x''}", r#"{"a": "x"}"#, &["single-quotes", "doubled-quote"]);
    guess(r#"{"n": new Date("2020")}"#, r#"{"n": "2020"}"#, &["wrapper"]);
    guess(r#"{"n": new thing}"#, r#"{"n": "new thing"}"#, &["unquoted-string"]);
    guess(
        "{a 'b', c: 1}",
        r#"{"a": "b", "c": 1}"#,
        &["unquoted-key", "missing-colon", "single-quotes", "unquoted-key"],
    );
    lossless(
        r#"{"a" .5, "b" +2}"#,
        r#"{"a": 0.5, "b": 2}"#,
        &["missing-colon", "number-format", "missing-colon", "number-format"],
    );
    guess(
        r#"{"n": 1, "key: some words}"#,
        r#"{"n": 1, "key": "some words"}"#,
        &["missing-quote", "unquoted-string"],
    );
    guess("{\"key\": \"value}\n```", "{\"key\": \"value\"}", &["missing-quote", "code-fence"]);
    lossless("4 ,\n", "4", &["trailing-comma"]);
    lossless("true;", "true", &["trailing-comma"]);
    // Before a sign or number a backslash belongs to nothing.
    guess(r"[\1, \-2]", "[1, -2]", &["stray-text"]);
    guess(r"[1\, \[2\]]", "[1, [2]]", &["stray-text"]);
    fails(r"\[1, 2\]");
    guess(r#"{"a": \{"b"\: \-8\}, "c": 1\}"#, r#"{"a": {"b": -8}, "c": 1}"#, &["stray-text"]);
    fails("4,,");
    fails("4, and more");
}

#[test]
fn quotes_of_two_kinds_around_one_string() {
    // What an escaped quote opens may end with a plain one, and what a backtick opens with an accent.
    for (open, close, word) in [("\\\"", "\"", "escaped-quotes"), ("`", "´", "backtick-quotes")] {
        for (before, after) in
            [("[", "]"), ("[1, ", ", 2]"), ("{\"a\": ", "}"), ("{\"a\": [", "], \"b\": 1}")]
        {
            for text in ["x", "one two", "it´s", "a: b", ""] {
                // A backslash behind plain strings is stray.
                if open.starts_with('\\') && before.contains('"') {
                    continue;
                }
                let output = format!("{before}\"{text}\"{after}");
                guess(&format!("{before}{open}{text}{close}{after}"), &output, &[word]);
            }
        }
    }
    guess(r#"\"hello""#, r#""hello""#, &["escaped-quotes"]);
    guess(r#"{\"a": \"b", \"c\": 1}"#, r#"{"a": "b", "c": 1}"#, &["escaped-quotes"]);
    guess("{`a´: `b´}", r#"{"a": "b"}"#, &["backtick-quotes"]);
    // A quotation in the text is closed first.
    guess(
        r#"{\"t\": \"say "hi", then\"}"#,
        r#"{"t": "say \"hi\", then"}"#,
        &["escaped-quotes", "unescaped-quote"],
    );
    lossless("{\"a\": `it´s, no`}", r#"{"a": "it´s, no"}"#, &["backtick-quotes"]);
}

#[test]
fn bare_keys_before_strings_and_doubled_quotes_behind_bare_text() {
    for (open, close, word) in
        [("“", "”", "typographic-quotes"), ("‘", "’", "typographic-quotes"), ("`", "`", "backtick-quotes")]
    {
        guess(&format!("{{a {open}b{close}}}"), r#"{"a": "b"}"#, &["unquoted-key", "missing-colon", word]);
        guess(&format!("{{a {open}b{close}: 1}}"), r#"{ "b": 1}"#, &["stray-text", word]);
    }
    for text in ["x", "some words", "aged 60+"] {
        for (quote, style) in [("\"", &[][..]), ("'", &["single-quotes"][..])] {
            let words = [&["unquoted-string"][..], style, &["doubled-quote"]].concat();
            let input = format!("{{\"t\": {text},{quote}{quote}n{quote}{quote}: 5}}");
            guess(&input, &format!("{{\"t\": \"{text}\",\"n\": 5}}"), &words);
        }
    }
}

#[test]
fn functions_of_several_values_are_text() {
    for call in ["f(1, 2)", "rgb(0,128,255)", "max(a, b)", "Date(2020, 1, [2, 3])", "f('x', \\\"y\\\")"] {
        let input = call.replace('\\', "");
        for (before, after) in [("[", "]"), ("[", ", 3]"), ("{\"a\": ", "}"), ("{\"a\": ", ", \"b\": 1}")] {
            let output = format!("{before}\"{call}\"{after}");
            guess(&format!("{before}{input}{after}"), &output, &["unquoted-string"]);
        }
        // As a whole document they are code.
        fails(&input);
    }
    guess(r#"{"a": f(1)}"#, r#"{"a": 1}"#, &["wrapper"]);
    guess(r#"{"a": f([1, 2])}"#, r#"{"a": [1, 2]}"#, &["wrapper"]);
    fails(r#"{"a": f()}"#);
}

#[test]
fn objects_that_run_into_the_next() {
    for value in ["1", "-2.5", "true", "null", "[1]", "{}"] {
        for space in ["", " ", "\n"] {
            guess(
                &format!("[{{\"i\":{value}{space}{{\"i\":2}}]"),
                &format!("[{{\"i\":{value}}},{space}{{\"i\":2}}]"),
                &["missing-closer", "missing-comma"],
            );
        }
    }
    // Where the brackets come out even, the number belongs to nothing.
    guess(r#"[{"i":7{"j":2}}]"#, r#"[{"i":{"j":2}}]"#, &["stray-text"]);
}

#[test]
fn comments_that_hide_the_rest_of_a_line() {
    for sign in ["//", "#"] {
        for (input, output) in [
            (r#"{"k": {"n": 1 S one }, "m": 2}"#, r#"{"k": {"n": 1 }, "m": 2}"#),
            (r#"{"k": "v" S one }, "m": 2}"#, r#"{"k": "v" , "m": 2}"#),
            (r#"{"k": 1, S one, two "m": 2}"#, r#"{"k": 1, "m": 2}"#),
            (r#"[1 S one , "b"]"#, r#"[1 , "b"]"#),
            (r#"{"k": [1, 2], S see [3] "m": 2}"#, r#"{"k": [1, 2], "m": 2}"#),
        ] {
            let input = input.replace('S', sign);
            let value: Value = serde_json::from_str(output).unwrap();
            let repaired = repair(&input, 64).unwrap_or_else(|finding| panic!("{input:?}: {finding}"));
            assert_eq!(serde_json::from_str::<Value>(&repaired.text).unwrap(), value, "{input:?}");
            assert!(!is_lossless(&repaired), "{input:?}");
            read(&document().restoring(), &input);
        }
        // A line break ends a comment, whatever it holds.
        guess(&format!("{{\"a\": 1, {sign} \"b\": 2}}\n\"c\": 3}}"), "{\"a\": 1, \n\"c\": 3}", &["comment"]);
    }
}

#[test]
fn fences_inside_of_brackets_and_lists_in_prose() {
    for word in ["", "json", "JSON"] {
        guess(
            &format!("{{```{word}\n{{\"a\": 1}}\n```}}"),
            "{\n\"a\": 1}",
            &["code-fence", "extra-opener", "code-fence", "extra-closer"],
        );
        let words = ["code-fence", "missing-closer", "code-fence", "extra-closer"];
        guess(&format!("[```{word}\n{{\"a\": 1}}\n```]"), "[\n{\"a\": 1}\n]", &words);
    }
    for list in ["[1, 2]", "[-1.5,2,3]", "[true, false]", "[null,1]"] {
        for before in ["Result: ", "Result:", "The numbers.\n", "See [1].\n\n"] {
            lossless(&format!("{before}{list}"), list, &["prose"]);
        }
        // In the middle of a sentence they are a reference.
        fails(&format!("as in {list}"));
        lossless(&format!("as in {list}, so: {{\"a\": 1}}"), r#"{"a": 1}"#, &["prose"]);
    }
    fails("Notes:\n[1] one\n[2] two");
    // Words behind a value and its comma are prose, whatever letter they begin with.
    for word in ["thanks", "fine", "no", "bye"] {
        lossless(&format!("{{\"a\": 1}}, {word}"), r#"{"a": 1}"#, &["trailing-comma", "prose"]);
    }
}

#[test]
fn a_string_without_its_end_gives_back_what_it_swallowed() {
    let quote = &["missing-quote"][..];
    guess(r#"{"room": "hall}"#, r#"{"room": "hall"}"#, quote);
    guess(r#"{"a": [{"room": "hall}]}"#, r#"{"a": [{"room": "hall"}]}"#, quote);
    guess(r#"{"room": "hall, "level": 3}"#, r#"{"room": "hall", "level": 3}"#, quote);
    guess("{\n \"room\": \"hall,\n \"level\": 3\n}", "{\n \"room\": \"hall\",\n \"level\": 3\n}", quote);
    guess(r#"["hall, 5, true, "oak"]"#, r#"["hall", 5, true, "oak"]"#, quote);
    guess(r#"{"a": ["oak], "b": 1}"#, r#"{"a": ["oak"], "b": 1}"#, quote);
    guess(r#"[{"a": "oak}, {"b": 1}]"#, r#"[{"a": "oak"}, {"b": 1}]"#, quote);
    guess(r#"{"room: 3}"#, r#"{"room": 3}"#, quote);
    guess(r#"{"a b:-3e2,"c":{}}"#, r#"{"a b":-3e2,"c":{}}"#, quote);
    guess(r#"{"of day: "oak", "n": 1}"#, r#"{"of day":"oak", "n": 1}"#, quote);
    guess(r#"{"lamp": "on”, "n": 1}"#, r#"{"lamp": "on", "n": 1}"#, quote);
    guess(
        r#"{'lamp': "hall", "room': 'x'}"#,
        r#"{"lamp": "hall", "room": "x"}"#,
        &["single-quotes", "missing-quote", "single-quotes"],
    );
    guess(r#"{"n": "[1, 2, "oak"]}"#, r#"{"n": [1, 2, "oak"]}"#, &["stray-text"]);
    // Text that ends like structure is text.
    guess(r#"{"t": "see [7], "x" y"}"#, r#"{"t": "see [7], \"x\" y"}"#, &["unescaped-quote"]);
    fails(r#"{"title": "The year at se"rating": 4}"#);
}

#[test]
fn json_inside_of_a_string_stays_there() {
    let quote = &["unescaped-quote"][..];
    guess(r#"{"t": "got {"k": "v"}, fine", "n": 1}"#, r#"{"t": "got {\"k\": \"v\"}, fine", "n": 1}"#, quote);
    guess(r#"{"t": "use {"k": 1} here"}"#, r#"{"t": "use {\"k\": 1} here"}"#, quote);
    guess(r#"{"args": "{"k": 1}", "n": 2}"#, r#"{"args": "{\"k\": 1}", "n": 2}"#, quote);
    guess(
        r#"{"args": "{"q": "rust", "n": [3, 4]}", "m": 1}"#,
        r#"{"args": "{\"q\": \"rust\", \"n\": [3, 4]}", "m": 1}"#,
        quote,
    );
    guess(
        "[{\"body\": \"[\n {\"t\": \"a\\nb\", \"ok\": true},\n {}\n]\"}, 5]",
        r#"[{"body": "[\n {\"t\": \"a\\nb\", \"ok\": true},\n {}\n]"}, 5]"#,
        &["raw-control-char", "unescaped-quote"],
    );
    guess(
        r#"{"code": "s = "x";\no = {"a": 1, "b": [1,2]};\nlog(o)", "lang": "js"}"#,
        r#"{"code": "s = \"x\";\no = {\"a\": 1, \"b\": [1,2]};\nlog(o)", "lang": "js"}"#,
        quote,
    );
    guess(r#"{"t": "use {"k": 1, "m": 2}", "n": 1}"#, r#"{"t": "use {\"k\": 1, \"m\": 2}", "n": 1}"#, quote);
    lossless(r#"["{", "}"]"#, r#"["{", "}"]"#, &[]);
    lossless(r#"{"{": "{", "a": "}"}"#, r#"{"{": "{", "a": "}"}"#, &[]);
    guess(r#""a 5" plank (6") long""#, r#""a 5\" plank (6\") long""#, quote);
    guess("{note:see {hall} first}", r#"{"note":"see {hall} first"}"#, &["unquoted-key", "unquoted-string"]);
}

#[test]
fn quotes_that_are_doubled_swapped_or_stray() {
    guess(r#"{""lamp"": ""on""}"#, r#"{"lamp": "on"}"#, &["doubled-quote"]);
    guess(r#"{"lamp"": 1}"#, r#"{"lamp": 1}"#, &["doubled-quote"]);
    guess(r#"["a"", "b"]"#, r#"["a", "b"]"#, &["doubled-quote"]);
    guess(r#"{"room:" "hall"}"#, r#"{"room": "hall"}"#, &["swapped-quote"]);
    guess(r#"{"room:" 5}"#, r#"{"room": 5}"#, &["swapped-quote"]);
    guess(r#"{"room": "hall," "n": 1}"#, r#"{"room": "hall", "n": 1}"#, &["swapped-quote"]);
    guess("[\"oak,\"\n 5]", "[\"oak\",\n 5]", &["swapped-quote"]);
    guess("{\"a\": \"oak\n\", \"b\": 1}", "{\"a\": \"oak\", \"b\": 1}", &["swapped-quote"]);
    guess(r#"{"a": "{b": 1}}"#, r#"{"a": {"b": 1}}"#, &["swapped-quote"]);
    guess(r#"{"p": "C:\\dir\\\and"}"#, r#"{"p": "C:\\dir\\and"}"#, &["invalid-escape"]);
    // Text of several lines may end with one.
    lossless("{\"a\": \"one\ntwo\n\"}", r#"{"a": "one\ntwo\n"}"#, &["raw-control-char"]);
    guess(r#"{"n": 5", "m": 1}"#, r#"{"n": 5, "m": 1}"#, &["stray-text"]);
    guess(r#"{"n": [1]", "m": 1}"#, r#"{"n": [1], "m": 1}"#, &["stray-text"]);
    guess(r#"{"r": r"iver bank"}"#, r#"{"r": "iver bank"}"#, &["string-prefix"]);
    guess("{&quot;t&quot;: &quot;a &amp; b&quot;}", r#"{"t": "a & b"}"#, &["entity-quotes"]);
    lossless(r#"{"t": "a &amp; b &quot;"}"#, r#"{"t": "a &amp; b &quot;"}"#, &[]);
    guess(r#"{"a": 1, \"b": 2}"#, r#"{"a": 1, "b": 2}"#, &["stray-text"]);
}

#[test]
fn what_belongs_to_nothing() {
    let stray = &["stray-text"][..];
    guess(r#"{"a": 1, x "b": 2}"#, r#"{"a": 1,  "b": 2}"#, stray);
    guess(r#"{"a"x: 1}"#, r#"{"a": 1}"#, stray);
    guess(r#"{"a": "oak"x, "b": 1}"#, r#"{"a": "oak", "b": 1}"#, stray);
    guess("{\"a\": {\"b\": 1}\n x }", "{\"a\": {\"b\": 1}\n  }", stray);
    guess(r#"{"a": 4 {"b": 1}}"#, r#"{"a":  {"b": 1}}"#, stray);
    guess(r#"[1, #2, 3]"#, r#"[1, 2, 3]"#, stray);
    lossless(r#"{"a":: 1}"#, r#"{"a": 1}"#, &["extra-colon"]);
    guess(r#"{"a", : 1}"#, r#"{"a" : 1}"#, &["extra-comma"]);
    guess(r#"{"a":, 5, "b": 1}"#, r#"{"a": 5, "b": 1}"#, &["extra-comma"]);
    guess("{\"m\": \"done\"```", r#"{"m": "done"}"#, &["missing-closer", "code-fence"]);
    fails("{x}");
    fails("{1, 2}");
    fails(r#"{"a", "b"}"#);
}

#[test]
fn brackets() {
    guess(r#"{"n": 1}, "level": 3}"#, r#"{"n": 1,"level": 3}"#, &["extra-closer"]);
    guess(r#"[{"n":1}},{"n":2}]"#, r#"[{"n":1},{"n":2}]"#, &["extra-closer"]);
    guess(
        r#"{"a": [1, 2}, "b": 3]"#,
        r#"{"a": [1, 2],"b": 3}"#,
        &["missing-closer", "extra-closer", "wrong-closer"],
    );
    guess(r#"[{"n":1,{"n":2}]"#, r#"[{"n":1},{"n":2}]"#, &["missing-closer"]);
    guess(r#"[{"n":1, "oak", 5]"#, r#"[{"n":1}, "oak", 5]"#, &["missing-closer"]);
    guess(r#"{"xs": [1, 2, "n": 3}"#, r#"{"xs": [1, 2], "n": 3}"#, &["missing-closer"]);
    guess(r#""a": 1, "b": 2}"#, r#"{"a": 1, "b": 2}"#, &["missing-opener"]);
    guess(r#"{"a": "b": 1}}"#, r#"{"a": {"b": 1}}"#, &["missing-opener"]);
    guess(r#"{{"a": 1}}"#, r#"{"a": 1}"#, &["extra-opener", "extra-closer"]);
    lossless("(4, 5)", "[4, 5]", &["tuple"]);
    guess(r#"{"n": (4)}"#, r#"{"n": 4}"#, &["tuple"]);
    lossless("｛\"n\"：［1，2］｝", r#"{"n":[1,2]}"#, &["odd-separator"]);
    lossless(
        "｛“级别”：３｝",
        r#"{"级别":3}"#,
        &["odd-separator", "typographic-quotes", "odd-separator", "number-format", "odd-separator"],
    );
    // A closer that may have been meant for another bracket.
    guess(r#"{"f": {"x": 1, "limit": 5}"#, r#"{"f": {"x": 1, "limit": 5}}"#, &["missing-closer"]);
    guess("[1, 2]]", "[1, 2]", &["extra-closer"]);
    guess(r#"{"a": [1}"#, r#"{"a": [1]}"#, &["missing-closer"]);
    lossless(r#"{"a": [1, 2}"#, r#"{"a": [1, 2]}"#, &["missing-closer"]);
    lossless(r#"{"a": [1, 2 "#, r#"{"a": [1, 2 ]}"#, &["missing-closer"]);
}

#[test]
fn backslashes_of_paths_and_of_quotes() {
    let path = &["invalid-escape"][..];
    guess(r#"{"p": "C:\Users\tom\new.txt"}"#, r#"{"p": "C:\\Users\\tom\\new.txt"}"#, path);
    guess(r#"{"p": "cd C:\temp\Users & dir"}"#, r#"{"p": "cd C:\\temp\\Users & dir"}"#, path);
    lossless(r#"{"p": "C:\temp\new"}"#, r#"{"p": "C:\temp\new"}"#, &[]);
    guess(r#"{"re": "\d+ \w\nnext"}"#, r#"{"re": "\\d+ \\w\nnext"}"#, path);
    lossless(
        r#"{"arguments": {\"city\": \"Paris\"}}"#,
        r#"{"arguments": {"city": "Paris"}}"#,
        &["escaped-quotes"],
    );
}

#[test]
fn numbers_that_a_space_or_comma_cuts() {
    let one = &["stray-text"];
    guess("[7,28 0.5,9]", "[7,280.5,9]", one);
    guess("[12 34,5]", "[1234,5]", one);
    guess("[\n  2 291,\n  8\n]", "[\n  2291,\n  8\n]", one);
    guess("[\n  8,\n 4 4063\n]", "[\n  8,\n 44063\n]", one);
    guess("[0,6 4342, 8]", "[0,64342, 8]", one);
    // Spaces like those between the other items are what a comma left behind.
    let two = &["missing-comma"];
    guess("[12 34, 5]", "[12, 34, 5]", two);
    guess("[5, 12 34, 6]", "[5, 12, 34, 6]", two);
    guess("[1 2 3]", "[1, 2, 3]", two);
    guess("[12 34]", "[12, 34]", two);
    guess("[\n 1 2\n 3 4\n]", "[\n 1, 2,\n 3, 4\n]", two);
    guess("[\n  8\n  9,\n  7\n]", "[\n  8,\n  9,\n  7\n]", two);
    let moved = &["extra-comma", "missing-comma"];
    guess(r#"[true, 2667,1 "elm"]"#, r#"[true, 26671, "elm"]"#, moved);
    guess("[\n  5,\n  -306.6,9\n  2\n]", "[\n  5,\n  -306.69,\n  2\n]", moved);
    guess(r#"[4, 5,6"elm"]"#, r#"[4, 5,6,"elm"]"#, two);
    guess("[1.,2.,3.5]", "[1.0,2.0,3.5]", &["number-format"]);
    guess("[4, 1.,25]", "[4, 1.25]", &["extra-comma"]);
    guess(r#"[true,108.,3"elm"]"#, r#"[true,108.3,"elm"]"#, moved);
}

#[test]
fn words_lines_and_numbers() {
    guess(
        r#"{"room": hall "level": 3}"#,
        r#"{"room": "hall", "level": 3}"#,
        &["unquoted-string", "missing-comma"],
    );
    guess(
        "[\noak\nelm\n]",
        "[\n\"oak\",\n\"elm\"\n]",
        &["unquoted-string", "missing-comma", "unquoted-string"],
    );
    guess(r#"{"n": 1,250, "m": 2}"#, r#"{"n": 1250, "m": 2}"#, &["number-format"]);
    guess(r#"{"n": 1,234,567}"#, r#"{"n": 1234567}"#, &["number-format"]);
    guess(r#"{"n": 12,3456, "m": 2}"#, r#"{"n": "12,3456", "m": 2}"#, &["unquoted-string"]);
    lossless(r#"[1,250]"#, r#"[1,250]"#, &[]);
    guess("[tru,e, 5]", "[true, 5]", &["extra-comma"]);
    guess("[- 5, 6]", "[-5, 6]", &["stray-text"]);
    guess(r#"{"n": 12"34, "m": 1}"#, r#"{"n": 1234, "m": 1}"#, &["stray-text"]);
    lossless(r#"{"n": 5"m": 1}"#, r#"{"n": 5,"m": 1}"#, &["missing-comma"]);
    guess("{\"a\": 'b\\\nc'}", r#"{"a": "bc"}"#, &["single-quotes", "invalid-escape"]);
    guess(r#"{"n": 4728}7"#, r#"{"n": 4728}"#, &["prose"]);
    guess(
        r#"{"a": He said \"hi\", ok", "n": 1}"#,
        r#"{"a": "He said \"hi\", ok", "n": 1}"#,
        &["unquoted-string", "missing-quote"],
    );
}

/// Arguments of calls are not read with these guesses, whatever the policy says.
#[test]
fn calls_are_not_restored() {
    for input in [
        r#"{"room": "hall, "level": 3}"#,
        r#"{"a": "b": 1}}"#,
        r#"{"a": 1, x "b": 2}"#,
        r#"{"n": 1}, "level": 3}"#,
        r#"{"n": 1, "roo"#,
        r#"{"room:" "hall"}"#,
        r#"{"room": "hall," "n": 1}"#,
    ] {
        assert!(!read(&document(), input).closed, "{input:?}");
    }
}

/// The values of all valid texts that one edit makes of a text: one character less, two swapped, or a sign more.
fn originals(text: &str) -> BTreeSet<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut values = BTreeSet::new();
    let mut try_one = |edited: Vec<char>| {
        let edited: String = edited.into_iter().collect();
        if let Ok(value) = serde_json::from_str::<Value>(&edited) {
            values.insert(value.to_string());
        }
    };
    for at in 0..=characters.len() {
        for sign in ['"', '{', '}', '[', ']', ',', ':'] {
            let mut edited = characters.clone();
            edited.insert(at, sign);
            try_one(edited);
        }
        if at < characters.len() {
            let mut edited = characters.clone();
            edited.remove(at);
            try_one(edited);
        }
        if at + 1 < characters.len() {
            let mut edited = characters.clone();
            edited.swap(at, at + 1);
            try_one(edited);
        }
    }
    values
}

/// In how many places two values differ, 2 for more than one: a plain value, or a key.
fn differences(a: &Value, b: &Value) -> usize {
    let many = match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => {
            let keys = a.keys().filter(|key| !b.contains_key(*key)).count();
            let values = a.iter().filter_map(|(key, a)| b.get(key).map(|b| differences(a, b)));
            keys + values.sum::<usize>()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).map(|(a, b)| differences(a, b)).sum()
        }
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => 2,
        _ => usize::from(a != b),
    };
    many.min(2)
}

proptest! {
    #![proptest_config(config())]

    /// What is called lossless is what was there, or differs from it in the one text, number or key that was damaged;
    /// otherwise the damage has one undamaged original within one edit, and that is it.
    #[test]
    fn lossless_repairs_have_no_rival(
        value in any_value(),
        pretty in any::<bool>(),
        place in any::<prop::sample::Index>(),
        kind in 0..3,
        inserted in prop::sample::select(r#""{}[],: a1\'-."#.chars().collect::<Vec<_>>()),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let mut characters: Vec<char> = text.chars().collect();
        let at = place.index(characters.len());
        match kind {
            0 => drop(characters.remove(at)),
            1 => characters.insert(at, inserted),
            _ if at + 1 < characters.len() => characters.swap(at, at + 1),
            _ => {}
        }
        let damaged: String = characters.into_iter().collect();
        if serde_json::from_str::<Value>(&damaged).is_ok() {
            return Ok(());
        }
        let Ok(repaired) = repair(&damaged, 64) else { return Ok(()) };
        if !is_lossless(&repaired) {
            return Ok(());
        }
        let read: Value = serde_json::from_str(&repaired.text).unwrap();
        if differences(&value, &read) < 2 {
            return Ok(());
        }
        let originals = originals(&damaged);
        let only = originals.len() == 1 && originals.contains(&read.to_string());
        prop_assert!(only, "{} became {} by {:?}, but may be any of {:?}", damaged, repaired.text, repaired.repairs, originals);
    }

    /// Valid text comes back byte for byte, unless a key stands twice.
    #[test]
    fn valid_text_is_untouched(value in any_value(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let repaired = repair(&text, 64).unwrap();
        prop_assert_eq!((repaired.text.as_str(), repaired.repairs.len()), (text.as_str(), 0));
    }
}
