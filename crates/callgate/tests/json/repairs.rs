//! Repairs: every kind of damage, what it is read as, and whether that is certain, a guess or rejected.

use callgate::Code;

use crate::{document, fails, guess, lossless, read};

#[test]
fn commas_and_colons() {
    lossless(r#"{"a":1,"#, r#"{"a":1}"#, &["trailing-comma", "missing-closer"]);
    lossless("[1,2 , ]", "[1,2  ]", &["trailing-comma"]);
    lossless(r#"{,"a":1}"#, r#"{"a":1}"#, &["extra-comma"]);
    guess("[,1]", "[1]", &["extra-comma"]);
    guess("[1,,,2]", "[1,2]", &["extra-comma"]);
    lossless("[{\"a\":1} {\"b\":2}]", "[{\"a\":1}, {\"b\":2}]", &["missing-comma"]);
    guess("[1 2 3]", "[1, 2, 3]", &["missing-comma"]);
    guess(r#"["a" "b"]"#, r#"["a", "b"]"#, &["missing-comma"]);
    guess("[\"a\"\n\"b\"\n\"c\"]", "[\"a\",\n\"b\",\n\"c\"]", &["missing-comma"]);
    lossless("{\"a\":\"x\"\n\"b\":\"y\"}", "{\"a\":\"x\",\n\"b\":\"y\"}", &["missing-comma"]);
    lossless("{\"a\":true b:2}", "{\"a\":true, \"b\":2}", &["missing-comma", "unquoted-key"]);
    lossless(r#"{"a" "b"}"#, r#"{"a": "b"}"#, &["missing-colon"]);
    lossless(r#"{"a": "x"; "b": 2}"#, r#"{"a": "x", "b": 2}"#, &["odd-separator"]);
    lossless(
        "{“a”：1，“b”：2}",
        r#"{"a":1,"b":2}"#,
        &["typographic-quotes", "odd-separator", "typographic-quotes", "odd-separator"],
    );
    lossless(
        "{a=1, 'b'=>2}",
        r#"{"a":1, "b":2}"#,
        &["unquoted-key", "wrong-colon", "single-quotes", "wrong-colon"],
    );
    // A comment may stand wherever white space may.
    for comment in ["/* c */", "/**/", "// c\n"] {
        let comments = &["comment"][..];
        for key in ["\"a\"", "'a'", "`a`", "“a”", "a"] {
            let style: &[&str] = match key {
                "\"a\"" => &[],
                "'a'" => &["single-quotes"],
                "`a`" => &["backtick-quotes"],
                "a" => &["unquoted-key"],
                _ => &["typographic-quotes"],
            };
            let break_of = if comment.ends_with('\n') { "\n" } else { "" };
            let words = [style, comments].concat();
            lossless(&format!("{{{key}{comment}:1}}"), &format!("{{\"a\"{break_of}:1}}"), &words);
            lossless(&format!("{{{key} {comment} : [2]}}"), &format!("{{\"a\" {break_of} : [2]}}"), &words);
        }
    }
    fails(r#"{"a"}"#, Code::RepairRefused);
    fails(r#"{"a":}"#, Code::RepairRefused);
    fails(r#"{"a":,"b":1}"#, Code::RepairRefused);
    fails(r#"{"a", "b"}"#, Code::RepairRefused);
    fails("{1, 2}", Code::RepairRefused);
    fails(r#"["a": 1]"#, Code::RepairRefused);
}

#[test]
fn closers() {
    lossless(r#"{"a":[{"b":[1,2}]}"#, r#"{"a":[{"b":[1,2]}]}"#, &["missing-closer"]);
    lossless(r#"{"a":[{"b":1]}"#, r#"{"a":[{"b":1}]}"#, &["missing-closer"]);
    lossless(r#"{"a":"x"]"#, r#"{"a":"x"}"#, &["wrong-closer"]);
    lossless(r#"{"a":1]}"#, r#"{"a":1}"#, &["extra-closer"]);
    lossless(r#"{"a":1}}]"#, r#"{"a":1}"#, &["extra-closer"]);
    lossless(r#"["x"}"#, r#"["x"]"#, &["wrong-closer"]);
    lossless(r#"{"xs":["a","b"}"#, r#"{"xs":["a","b"]}"#, &["missing-closer"]);
    guess("{", "{}", &["missing-closer"]);
    fails("{{{{", Code::RepairRefused);
    fails(r#"{"a":1},"b":2}"#, Code::RepairRefused);
}

#[test]
fn quotes() {
    lossless("{'a': 'it\\'s \"x\"'}", r#"{"a": "it's \"x\""}"#, &["single-quotes"]);
    lossless("{'a': 'it's'}", r#"{"a": "it's"}"#, &["single-quotes", "unescaped-quote"]);
    lossless("{'a\": 1}", r#"{"a": 1}"#, &["single-quotes"]);
    lossless("{`a`: `b\\`c`}", r#"{"a": "b`c"}"#, &["backtick-quotes"]);
    lossless("{‘a’: «b», \"c\": 「d」}", r#"{"a": "b", "c": "d"}"#, &["typographic-quotes"]);
    lossless("{“a\": “b “c” d”}", r#"{"a": "b “c” d"}"#, &["typographic-quotes", "unescaped-quote"]);
    lossless("{'a': '''x'y'''}", r#"{"a": "x'y"}"#, &["single-quotes", "triple-quotes"]);
    guess(r#"{"a": u"x", "b": r'\n'}"#, r#"{"a": "x", "b": "\\n"}"#, &["string-prefix", "single-quotes"]);
    guess(r#"{"a": f"xy"}"#, r#"{"a": "xy"}"#, &["string-prefix"]);
    // Nothing is computed, and what cannot be read does not swallow what follows.
    fails(r#"{"a": f"x{y}"}"#, Code::RepairRefused);
    fails(r#"{"a": "x" + y, "b": 1}"#, Code::RepairRefused);
    guess(r#"{"a": "5" + 3" of it"}"#, r#"{"a": "5\" + 3\" of it"}"#, &["unescaped-quote"]);
    lossless(
        r#"{harbour": "Turku", unit": "m"}"#,
        r#"{"harbour": "Turku", "unit": "m"}"#,
        &["missing-quote"],
    );
    guess(r#"{"harbour: "Turku"}"#, r#"{"harbour":"Turku"}"#, &["missing-quote"]);
    guess(r#"{"a": hello", "b": 1}"#, r#"{"a": "hello", "b": 1}"#, &["unquoted-string", "missing-quote"]);
    lossless(
        "{@timestamp: 1, $ref: 2, a.b: 3}",
        r#"{"@timestamp": 1, "$ref": 2, "a.b": 3}"#,
        &["unquoted-key"],
    );
    guess("{first name: 1}", r#"{"first name": 1}"#, &["unquoted-key"]);
    guess("{5: 1}", r#"{"5": 1}"#, &["unquoted-key"]);
    lossless(r#"{\"a\": \"x \\\"y\\\" \\n\\\\z\"}"#, r#"{"a": "x \"y\" \n\\z"}"#, &["escaped-quotes"]);
    lossless(r#"{\n  \"a\": [1, \"b\"]\n}"#, r#"{  "a": [1, "b"]}"#, &["escaped-quotes"]);
}

#[test]
fn quotes_inside_strings() {
    lossless(r#"{"say":"say "hi""}"#, r#"{"say":"say \"hi\""}"#, &["unescaped-quote"]);
    lossless(
        "{\n\"html\": \"<h3 id=\"top\">More than 20 - \"works\"?</h3>\"}",
        "{\n\"html\": \"<h3 id=\\\"top\\\">More than 20 - \\\"works\\\"?</h3>\"}",
        &["unescaped-quote"],
    );
    guess(
        r#"{"t": "He said "hello", "bye" and left", "n": 1}"#,
        r#"{"t": "He said \"hello\", \"bye\" and left", "n": 1}"#,
        &["unescaped-quote"],
    );
    guess(r#"{"t": "a "b", c", "n": 1}"#, r#"{"t": "a \"b\", c", "n": 1}"#, &["unescaped-quote"]);
    guess(r#"["x "y", z w", "v"]"#, r#"["x \"y\", z w", "v"]"#, &["unescaped-quote"]);
    fails(r#"{"title": "The year at se"rating": 4}"#, Code::RepairRefused);
    guess(r#"{"a": "b" + "c" + 'd'}"#, r#"{"a": "bcd"}"#, &["joined-strings", "single-quotes"]);
    guess(r#"{"a": "b" "c"}"#, r#"{"a": "bc"}"#, &["joined-strings"]);
    lossless(r#""say "hi" now""#, r#""say \"hi\" now""#, &["unescaped-quote"]);
}

/// A repair that leaves a doubt says so, even if each of its steps has one reading.
#[test]
fn doubts_make_a_guess() {
    let quote = &["unescaped-quote"][..];
    guess(r#"{"q": "5 " pipe"}"#, r#"{"q": "5 \" pipe"}"#, quote);
    guess(
        r#"{"h": "<a href="x", title="y">z</a>", "n": 1}"#,
        r#"{"h": "<a href=\"x\", title=\"y\">z</a>", "n": 1}"#,
        quote,
    );
    guess(r#"{"c": "x = "a" + "b" + c"}"#, r#"{"c": "x = \"a\" + \"b\" + c"}"#, quote);
    guess(r#"["a""b"]"#, r#"["a\"\"b"]"#, quote);
    guess(r#"{"p": "C:\new\dir"}"#, r#"{"p": "C:\new\\dir"}"#, &["invalid-escape"]);
    guess("{\"c\": \"one\ntwo\\nthree\"}", r#"{"c": "one\ntwo\nthree"}"#, &["raw-control-char"]);
    guess("{\"c\": \"a\" # say \"b\"\n}", "{\"c\": \"a\" \n}", &["comment"]);
    lossless(
        "{'a': 'can't', 'b': 'won't'}",
        r#"{"a": "can't", "b": "won't"}"#,
        &["single-quotes", "unescaped-quote", "single-quotes", "unescaped-quote"],
    );
    fails(r#""a": 1, "b": 2}"#, Code::RepairRefused);
}

#[test]
fn string_contents() {
    lossless(r#"{"a": "\d\s \'"}"#, r#"{"a": "\\d\\s '"}"#, &["invalid-escape"]);
    // A command or a pattern may have meant the escape itself.
    guess(r#"{"a": "\x41"}"#, r#"{"a": "A"}"#, &["invalid-escape"]);
    guess(r#"{"a": "\`date\`"}"#, r#"{"a": "`date`"}"#, &["invalid-escape"]);
    lossless("{\"a\": \"\t\r\n\u{0}\u{7f}\"}", "{\"a\": \"\\t\\r\\n\\u0000\u{7f}\"}", &["raw-control-char"]);
    guess(r#"{"a": "\u12G4 \uZ"}"#, r#"{"a": "\\u12G4 \\uZ"}"#, &["invalid-escape"]);
    guess(r#"{"a": "\ud83d\u0041 \ude00"}"#, r#"{"a": "\ufffd\u0041 \ufffd"}"#, &["lone-surrogate"]);
    guess(r#"{"a": "\ud83d\ud83d\ude00"}"#, r#"{"a": "\ufffd\ud83d\ude00"}"#, &["lone-surrogate"]);
}

#[test]
fn words_and_numbers() {
    lossless(
        "[True, None, undefined, NULL]",
        "[true, null, null, null]",
        &["python-literal", "javascript-literal"],
    );
    guess("[NaN, -Infinity]", "[null, null]", &["non-finite"]);
    lossless("[+1, .5, 5., -.5e3, 1_000, 0xff]", "[1, 0.5, 5.0, -0.5e3, 1000, 255]", &["number-format"]);
    guess("[007, 10px, 1.2.3]", r#"["007", "10px", "1.2.3"]"#, &["unquoted-string"]);
    guess(
        "{a: 2024-01-01T10:30:00, b: https://x.y/z?q=1}",
        r#"{"a": "2024-01-01T10:30:00", "b": "https://x.y/z?q=1"}"#,
        &["unquoted-key", "unquoted-string", "unquoted-key", "unquoted-string"],
    );
    guess(
        "{where: London, UK, unit: m}",
        r#"{"where": "London, UK", "unit": "m"}"#,
        &["unquoted-key", "unquoted-string", "unquoted-key", "unquoted-string"],
    );
    guess("{\"a\": 10 px\n}", "{\"a\": \"10 px\"\n}", &["unquoted-string"]);
    guess("{\"path\": /usr/bin}", r#"{"path": "/usr/bin"}"#, &["unquoted-string"]);
    guess(r#"{"id": ObjectId("5f"), "d": Date(5)}"#, r#"{"id": "5f", "d": 5}"#, &["wrapper"]);
    lossless("{\"a\": (1, 2), 'b': ()}", r#"{"a": [1, 2], "b": []}"#, &["tuple", "single-quotes", "tuple"]);
    lossless("True", "true", &["python-literal"]);
    fails("hello there", Code::BadJson);
    fails("tru", Code::BadJson);
}

#[test]
fn comments_and_dots() {
    lossless("{\"a\": 1, /* x */ \"b\": 2 # y\n}", "{\"a\": 1,  \"b\": 2 \n}", &["comment"]);
    lossless("// config\n{\"a\": \"b\" // c\n}", "\n{\"a\": \"b\" \n}", &["comment"]);
    guess("[1, 2, ...]", "[1, 2]", &["ellipsis"]);
    guess("{\"a\": 1, ...}", "{\"a\": 1}", &["ellipsis"]);
    guess("[1, …, 3]", "[1, 3]", &["ellipsis"]);
    guess("[\"a\", ...]", "[\"a\"]", &["ellipsis"]);
}

#[test]
fn documents() {
    lossless("Sure:\n```json\n{\"a\":1}\n```\nDone.", "{\"a\":1}\n\n", &["prose", "code-fence", "prose"]);
    lossless("```{\"a\":1}```", "{\"a\":1}", &["code-fence"]);
    lossless("\u{feff} {\"a\":1} ", " {\"a\":1} ", &["byte-order-mark"]);
    lossless("1. Take [this]: {\"a\":1} please", "{\"a\":1} ", &["prose"]);
    guess("{\"a\":1} or {x}", "{\"a\":1} ", &["prose"]);
    lossless("{}{\"t\":1}", "{\"t\":1}", &["empty-placeholder"]);
    lossless("{\"t\":1}\n{}", "{\"t\":1}\n", &["empty-placeholder"]);
    lossless("{\"t\":1}{\"t\":1}{\"t\":1}", "{\"t\":1}", &["repeated-value"]);
    lossless("print({\"a\": [1]})", "{\"a\": [1]}", &["wrapper"]);
    fails("{\"a\":1}{\"b\":2}", Code::RepairRefused);
    fails("", Code::Truncated);
    fails(" \n ", Code::Truncated);
    fails("nothing like json {{{{", Code::RepairRefused);
    let seen = read(&document().object_root(), "\"{ \\\"n\\\": 2, }\"");
    assert_eq!(
        (seen.text.as_str(), seen.words()),
        ("{ \"n\": 2 }", vec!["arguments-in-string", "trailing-comma"])
    );
    assert!(seen.repairs.iter().all(|repair| repair.late));
    // A string is a string, unless an object is asked for.
    lossless("\"{ \\\"n\\\": 2 }\"", "\"{ \\\"n\\\": 2 }\"", &[]);
}
