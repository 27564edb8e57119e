//! The JSON reader, from outside: the specification's repair cases and every kind of damage, in every cutting.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used, clippy::expect_used)]

#[path = "../support/guard.rs"]
#[allow(dead_code)] // Only the watch is used here.
mod guard;
mod laws;

use std::sync::Arc;

use callgate::internal::json::{End, Failure, Reader, ReaderState, Syntax, Tape, canonical, unescape};
use callgate::{Code, Repair, RepairCode, Safety, repair};
use serde_json::{Value, json};

/// Everything that may be seen of a reader after some input.
#[derive(Debug, PartialEq)]
struct Seen {
    consumed: usize,
    state: ReaderState,
    end: End,
    closed: bool,
    text: String,
    tape: Tape,
    repairs: Vec<Repair>,
    failure: Option<Failure>,
}

impl Seen {
    fn words(&self) -> Vec<&'static str> {
        let mut words: Vec<_> = self.repairs.iter().map(|repair| repair.code.word()).collect();
        words.dedup();
        words
    }

    fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    fn guessed(&self) -> bool {
        self.repairs.iter().any(|repair| repair.safety == Safety::Guess)
    }
}

/// Feeds pieces up to the end of the value or the first stop, then finishes and closes.
fn feed<'t>(reader: Reader, pieces: impl IntoIterator<Item = &'t str>) -> Seen {
    feed_through(reader, 0, pieces)
}

/// Feeds pieces like [`feed`], but takes the first stops for part of the value.
fn feed_through<'t>(
    mut reader: Reader,
    mut passes: usize,
    pieces: impl IntoIterator<Item = &'t str>,
) -> Seen {
    let mut consumed = 0;
    let mut shown = String::new();
    for piece in pieces {
        let mut taken = reader.push(piece);
        while reader.state() == ReaderState::Stopped && passes > 0 {
            passes -= 1;
            reader.resume();
            taken += reader.push(&piece[taken..]);
        }
        consumed += taken;
        assert!(reader.text().starts_with(&shown), "{:?} was shown, then {:?}", shown, reader.text());
        shown = reader.text().to_owned();
        if reader.state() != ReaderState::Reading {
            break;
        }
        assert_eq!(taken, piece.len());
    }
    let state = reader.state();
    let end = reader.finish();
    let closed = reader.close();
    let failure = reader.failure().cloned();
    let late = reader.repairs().iter().any(|repair| repair.late);
    assert!(late || reader.text().starts_with(&shown), "{:?} was shown, then {:?}", shown, reader.text());
    let (text, tape, repairs) = reader.into_parts();
    Seen { consumed, state, end, closed, text, tape, repairs, failure }
}

/// Feeds the input whole, by characters and in every cutting in three, and says what was seen if it is always the same.
fn read(reader: &Reader, input: &str) -> Seen {
    let whole = feed(reader.clone(), [input]);
    let characters = input.char_indices().map(|(at, c)| &input[at..at + c.len_utf8()]);
    assert_eq!(feed(reader.clone(), characters), whole, "{input:?} by characters");
    let cuts: Vec<usize> = input.char_indices().map(|(at, _)| at).collect();
    if cuts.len() <= 120 {
        for (index, first) in cuts.iter().enumerate() {
            for second in &cuts[index..] {
                let pieces = [&input[..*first], &input[*first..*second], &input[*second..]];
                assert_eq!(feed(reader.clone(), pieces), whole, "{pieces:?}");
            }
        }
    }
    if whole.closed {
        assert_eq!(whole.tape, tape_of(&whole.text), "tape of {:?}", whole.text);
        let again = feed(Reader::new(Syntax::Json).document(), [whole.text.as_str()]);
        assert_eq!(
            (again.text.as_str(), &again.repairs[..], again.end),
            (&whole.text[..], &[][..], End::Whole)
        );
    }
    whole
}

fn tape_of(text: &str) -> Tape {
    Tape::parse(text).unwrap_or_else(|| panic!("not valid: {text:?}"))
}

fn document() -> Reader {
    Reader::new(Syntax::Json).document()
}

fn frame() -> Reader {
    Reader::new(Syntax::Json).with_stops(b"<")
}

/// Asserts what a document is read as, and by which repairs.
fn reads(input: &str, output: &str, words: &[&str]) -> Seen {
    let seen = read(&document(), input);
    assert!(seen.closed, "{input:?}: {:?} {:?}", seen.end, seen.failure);
    assert_eq!(seen.text, output, "{input:?} {:?}", seen.repairs);
    assert_eq!(seen.words(), words, "{input:?}");
    seen
}

fn lossless(input: &str, output: &str, words: &[&str]) {
    let seen = reads(input, output, words);
    assert!(!seen.guessed(), "{input:?} {:?}", seen.repairs);
}

fn guess(input: &str, output: &str, words: &[&str]) {
    let seen = reads(input, output, words);
    assert!(seen.guessed(), "{input:?} {:?}", seen.repairs);
}

fn fails(input: &str, code: Code) {
    let seen = read(&document(), input);
    assert!(!seen.closed, "{input:?} became {:?}", seen.text);
    if code != Code::Truncated {
        assert_eq!(seen.failure.as_ref().map(|failure| failure.code), Some(code), "{input:?} {seen:?}");
    } else {
        assert!(matches!(seen.end, End::CutOff | End::Blank), "{input:?} {seen:?}");
    }
}

fn fixture(name: &str) -> Vec<Value> {
    let path = format!("{}/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_table_of_repairs_shows_what_it_says() {
    for code in RepairCode::ALL.iter().copied() {
        let entry = code.entry();
        assert_eq!(RepairCode::from_word(entry.word), Some(code));
        let reader = match code {
            _ if entry.output.is_empty() => continue,
            // These are made by whoever knows what the value is for.
            RepairCode::BlankArguments | RepairCode::DuplicateKey => continue,
            RepairCode::ArgumentsInString => document().object_root(),
            RepairCode::WrongOpener => Reader::new(Syntax::Bare),
            _ => document(),
        };
        let seen = read(&reader, entry.input);
        assert!(seen.closed, "{code}: {:?}", seen.failure);
        assert_eq!(seen.text, entry.output, "{code}: {:?}", seen.repairs);
        let own = seen.repairs.iter().find(|repair| repair.code == code);
        assert_eq!(own.map(|repair| repair.safety), Some(entry.safety), "{code}: {:?}", seen.repairs);
    }
}

#[test]
fn the_repair_cases_of_the_seeds() {
    let mut count = 0;
    for case in fixture("seed_cases.jsonl") {
        let (input, expect, id) = (&case["input"], &case["expect"], &case["id"]);
        let mut texts: Vec<String> = Vec::new();
        if let Some(text) = input["repair"].as_str() {
            texts.push(text.to_owned());
        } else if let Some(list) = input["repair_twice"].as_array() {
            texts.extend(list.iter().map(|text| text.as_str().unwrap().to_owned()));
        } else if let Some(unit) = input["repair_gen"]["unit"].as_str() {
            texts.push(unit.repeat(input["repair_gen"]["times"].as_u64().unwrap() as usize));
        }
        for text in texts {
            count += 1;
            let result = repair(&text, 64);
            if expect["kind"] == "repair_failed" {
                let failure = result.expect_err(id.as_str().unwrap());
                if let Some(kinds) = expect["error_kind_any"].as_array() {
                    assert!(kinds.contains(&json!(failure.code.kind())), "{id} {failure}");
                }
                continue;
            }
            let repaired = result.unwrap_or_else(|failure| panic!("{id}: {failure}"));
            if let Some(value) = expect.get("value") {
                assert_eq!(&serde_json::from_str::<Value>(&repaired.text).unwrap(), value, "{id}");
            }
            if let Some(exact) = expect["text"].as_str() {
                assert_eq!(repaired.text, exact, "{id}");
            }
            if let Some(words) = expect["repairs"].as_array() {
                let words: Vec<String> =
                    words.iter().map(|word| word.as_str().unwrap().replace('_', "-")).collect();
                let mut made: Vec<&str> = Vec::new();
                for repair in &repaired.repairs {
                    if !made.contains(&repair.code.word()) {
                        made.push(repair.code.word());
                    }
                }
                assert_eq!(made, words, "{id}");
            }
            let again = repair(&repaired.text, 64).unwrap();
            assert_eq!((again.text, again.repairs), (repaired.text, Vec::new()), "{id}");
            read(&document(), &text);
        }
    }
    assert!(count >= 33, "only {count} cases were found");
}

#[test]
fn the_argument_cases_of_real_models() {
    for case in fixture("failures.jsonl") {
        if case["input_kind"] != "arguments" {
            continue;
        }
        let (id, raw) = (case["id"].as_str().unwrap(), case["raw"].as_str().unwrap());
        let seen = read(&document().object_root(), raw);
        let lossless = seen.end == End::Whole && !seen.guessed();
        let right = &case["right_answer"]["calls"][0]["arguments"];
        match id {
            // Accepted or rejected by what the schema says, not by how they are read.
            "f150" | "f153" | "f154" | "f157" | "f158" | "f164" | "f166" | "d149" | "d156" => {
                assert!(lossless && seen.repairs.is_empty(), "{id} {seen:?}");
            }
            "f146" => assert!(seen.tape.duplicate(&seen.text).is_some(), "{id}"),
            "d167" => assert_eq!(seen.end, End::Blank),
            _ if right.is_object() => {
                assert!(lossless, "{id} {seen:?}");
                assert_eq!(&seen.value(), right, "{id}");
            }
            "f126" => assert_eq!(seen.end, End::Closable, "{id}"),
            _ => assert!(!lossless, "{id} {seen:?}"),
        }
    }
}

#[test]
fn valid_json_is_copied() {
    let texts = [
        "{}",
        " [ ] ",
        "\"\"",
        "\"a\\\"b\\u00e9\\ud83d\\ude00\\/\"",
        "0",
        "-0.5e+10",
        "12 ",
        "\t true\n",
        "null",
        r#"{ "a" : [ 1 , 2.50 , { "b" : "" } ] , "c" : null , "" : "x" }"#,
        r#"{"a":"x,}","b":"y\", \"c\": 1","c":"[{","d":"it's `ok` “q”"}"#,
        r#"["a","b",1,true,"",[],{},"c d"]"#,
        r#"{"cmd":"x\nundo: (reg: Registry, s: Snap) => void;","n":2512292042121000001}"#,
        "{\"k\":\"v\"\n\n  ,\r\n \"l\" \t:\n\"w\" }",
        r#"{"a":"\\","b":"\\\\"}"#,
        r##"["// no comment", "# none", "/* none */", "..."]"##,
    ];
    for text in texts {
        lossless(text, text, &[]);
        let bare = read(&frame(), text.trim());
        assert_eq!(
            (bare.text.as_str(), bare.words(), bare.consumed),
            (text.trim(), vec![], text.trim().len())
        );
    }
}

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
    lossless(r#"{"a": u"x", "b": r'\n'}"#, r#"{"a": "x", "b": "\\n"}"#, &["string-prefix", "single-quotes"]);
    guess(r#"{"a": f"x{y}"}"#, r#"{"a": "x{y}"}"#, &["string-prefix"]);
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
    lossless(r#"{"a": "\d\s \x41 \'"}"#, r#"{"a": "\\d\\s A '"}"#, &["invalid-escape"]);
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

#[test]
fn truncation_at_every_place() {
    let text = r#"{"a": "x y", "b": [1, 2.5, true], "c": {"d": null}, "e": "\u00e9\n"}"#;
    for cut in 1..text.len() {
        let seen = read(&Reader::new(Syntax::Json), &text[..cut]);
        let before = &text[..cut];
        assert_eq!(seen.state, ReaderState::Reading);
        let complete = before.trim_end().ends_with([']', '}', ',', '"'])
            || (before.ends_with(' ') && !before.trim_end().ends_with([':', '{', '[']));
        if seen.end == End::Closable {
            assert!(complete, "{before:?}");
            assert!(seen.closed && !seen.guessed(), "{before:?} {seen:?}");
        } else {
            assert_eq!(seen.end, End::CutOff, "{before:?}");
            assert!(!seen.closed || seen.guessed(), "{before:?} {seen:?}");
        }
        if seen.closed {
            seen.value();
        }
    }
    for (text, end, closed) in [
        (r#"{"a":"#, End::CutOff, false),
        (r#"{"a""#, End::CutOff, false),
        (r#"{"a"#, End::CutOff, false),
        (r#"{"a": "b"#, End::CutOff, true),
        (r#"{"a": "b""#, End::Closable, true),
        (r#"{"a": "b", "#, End::Closable, true),
        (r#"{"a": "b", "c"#, End::CutOff, false),
        (r#"{"a": "b", "c":"#, End::CutOff, false),
        (r#"{"a": 1"#, End::CutOff, true),
        (r#"{"a": 1 "#, End::Closable, true),
        (r#"{"a": -"#, End::CutOff, false),
        (r#"{"a": tru"#, End::CutOff, false),
        (r#"{"a": "x\"#, End::CutOff, true),
        (r#"{"a": "x\ud83d"#, End::CutOff, true),
        (r#"{"a": [[1], "#, End::Closable, true),
        ("  ", End::Blank, false),
    ] {
        let seen = read(&Reader::new(Syntax::Json), text);
        assert_eq!((seen.end, seen.closed), (end, closed), "{text:?} {seen:?}");
    }
}

#[test]
fn frames_end_exactly() {
    for (text, len) in [
        (r#"{"a": "</tool_call>"}</tool_call>"#, 21),
        (r#"[1, 2] and so on"#, 6),
        (r#"{"a": {"b": "}"}}}"#, 17),
    ] {
        let seen = read(&frame(), text);
        assert_eq!((seen.state, seen.consumed, seen.text.as_str()), (ReaderState::Done, len, &text[..len]));
        assert!(seen.repairs.is_empty());
    }
    for (text, at, output) in [
        (r#"{"a": {"b": "x"}</tool_call>"#, 16, r#"{"a": {"b": "x"}}"#),
        (r#"{"a": "x" </tool_call>"#, 10, r#"{"a": "x" }"#),
        (r#"{"a": "x", </tool_call>"#, 11, r#"{"a": "x" }"#),
        (r#"{"a": 15</tool_call>"#, 8, r#"{"a": 15}"#),
        (r#"{"a": [1, 2</tool_call>"#, 11, r#"{"a": [1, 2]}"#),
    ] {
        let seen = read(&frame(), text);
        assert_eq!((seen.state, seen.consumed), (ReaderState::Stopped, at), "{text:?}");
        assert!(seen.closed && !seen.guessed(), "{text:?} {seen:?}");
        assert_eq!(seen.text, output, "{text:?}");
    }
    // A quote that may start what follows is no quote, wherever it stands.
    for (text, at) in [("{'a': 1}", 1), ("{\"a\": 'x'}", 6), ("[\"x\", 'y']", 6)] {
        let seen = feed(Reader::new(Syntax::Json).with_stops(b"'"), [text]);
        assert_eq!((seen.state, seen.consumed), (ReaderState::Stopped, at), "{text:?}");
    }
    // The frame says that the stop was not its end, so the quote before it was data.
    let text = r#"{"a": "x" <b> "y""#;
    let mut reader = frame();
    assert_eq!((reader.push(text), reader.state()), (10, ReaderState::Stopped));
    reader.resume();
    assert_eq!(reader.push(&text[10..]), text.len() - 10);
    assert_eq!((reader.push("}"), reader.state()), (1, ReaderState::Done));
    assert_eq!(reader.text(), r#"{"a": "x\" <b> \"y"}"#);
    assert!(reader.repairs().iter().all(|repair| repair.code == RepairCode::UnescapedQuote));
}

#[test]
fn failures_are_tracked_to_the_end() {
    for (text, len) in [
        (r#"{"title": "The year at se"rating": 4, "f": "}"} tail"#, 47),
        (r#"{"a": {1, 2, "}"}, "b": ["]"]} tail"#, 30),
        (r#"{a, b, "\"}"} tail"#, 13),
    ] {
        let seen = read(&frame(), text);
        assert_eq!((seen.state, seen.end, seen.consumed), (ReaderState::Done, End::Failed, len), "{text:?}");
    }
    let seen = read(&frame(), r#"{a, b, "<" <x"#);
    assert_eq!((seen.state, seen.consumed), (ReaderState::Stopped, 11));
    let deep = "[".repeat(70) + &"]".repeat(70) + "x";
    let seen = read(&Reader::new(Syntax::Json), &deep);
    assert_eq!((seen.state, seen.consumed), (ReaderState::Done, 140));
    let failure = seen.failure.unwrap();
    assert_eq!((failure.code, failure.at), (Code::TooDeep, 64));
    let fitting = "[".repeat(64) + &"]".repeat(64);
    assert_eq!(read(&Reader::new(Syntax::Json), &fitting).end, End::Whole);
}

#[test]
fn python_literals() {
    let python = Reader::new(Syntax::Python);
    for (text, output) in [
        ("{'a': True, 'b': None, 'c': (1, 2,), }", r#"{"a": true, "b": null, "c": [1, 2] }"#),
        (
            r#"['it\'s', "x\x41\u00e9", 'a' 'b', r'\d', '\d\/']"#,
            r#"["it's", "xA\u00e9", "ab", "\\d", "\\d\\/"]"#,
        ),
        ("['''a\n'b' ''', 0x10, 1_0, .5, # c\n true]", "[\"a\\n'b' \", 16, 10, 0.5, \n true]"),
        ("{'t': '\\a\\101\\U0001F600'}", r#"{"t": "\u0007A😀"}"#),
    ] {
        let seen = read(&python, text);
        assert!(seen.repairs.is_empty() && seen.end == End::Whole, "{text:?} {seen:?}");
        assert_eq!(seen.text, output);
    }
    let seen = read(&python, "{'a': (5)}");
    assert!(seen.guessed());
    assert_eq!(read(&python, "['\\N{BULLET}'] x").end, End::Failed);
}

#[test]
fn keyword_arguments() {
    let kwargs = Reader::new(Syntax::Kwargs);
    for (text, output) in [
        (")", "{}"),
        ("table=\"a\", cols=[\"x\", 'y'], limit=5)", r#"{"table":"a", "cols":["x", "y"], "limit":5}"#),
        ("cmd='grep -F \"]\" a.log')]", r#"{"cmd":"grep -F \"]\" a.log"}"#),
        ("lon=-71.25, size=(640, 480))", r#"{"lon":-71.25, "size":[640, 480]}"#),
        ("from=2)", r#"{"from":2}"#),
        ("path='a', body='ends with \\\\')", r#"{"path":"a", "body":"ends with \\"}"#),
        (
            " path = \"a.md\" , on=true, note=null,\n)",
            "{ \"path\" : \"a.md\" , \"on\":true, \"note\":null\n}",
        ),
        ("a={'b': {'c': (1,)}})", r#"{"a":{"b": {"c": [1]}}}"#),
    ] {
        let seen = read(&kwargs, text);
        assert_eq!((seen.state, seen.words()), (ReaderState::Done, vec![]), "{text:?} {seen:?}");
        assert_eq!(seen.text, output);
        assert_eq!(&text[seen.consumed..seen.consumed + 1], ")");
    }
    let seen = read(&kwargs, "cmd='echo 'hi' (x)', n=1)");
    assert_eq!(
        (seen.value(), seen.words()),
        (json!({"cmd": "echo 'hi' (x)", "n": 1}), vec!["unescaped-quote"])
    );
    for text in ["'x')", "5, a=1)", "*args)", "{'a': 1})"] {
        let seen = read(&kwargs, text);
        assert_eq!((seen.end, seen.state), (End::Failed, ReaderState::Done), "{text:?} {seen:?}");
        assert_eq!(&text[seen.consumed..], ")", "{text:?}");
    }
    let seen = read(&kwargs, "a=1, b='x'");
    assert_eq!((seen.end, seen.text.as_str()), (End::Closable, r#"{"a":1, "b":"x"}"#));
    let seen = read(&kwargs, "xs=[1, 2)");
    assert_eq!((seen.text.as_str(), seen.words()), (r#"{"xs":[1, 2]}"#, vec!["missing-closer"]));
}

#[test]
fn private_quotes() {
    let bare = Reader::new(Syntax::Bare).with_quote(Arc::from("<|\"|>"));
    for (text, output) in [
        (
            "{body:{sort:[{@timestamp:<|\"|>desc<|\"|>}],size:5}}",
            r#"{"body":{"sort":[{"@timestamp":"desc"}],"size":5}}"#,
        ),
        ("{a:<|\"|>x\n\"y\" \\n <b> <|\"|>,b:null}", r#"{"a":"x\n\"y\" \\n <b> ","b":null}"#),
        ("{harbour: \"Malaga\", unit: \"m\"}", r#"{"harbour": "Malaga", "unit": "m"}"#),
        ("{a:<|\"|><|\"|>}", r#"{"a":""}"#),
    ] {
        let seen = read(&bare, text);
        assert_eq!(
            (seen.state, seen.words(), seen.text.as_str()),
            (ReaderState::Done, vec![], output),
            "{text:?} {seen:?}"
        );
    }
    // A delimiter that starts like what follows the value stops the reader, which then goes on with it.
    let text = "{a:<|\"|>x<|\"|>,b:\"y\",<|\"|>c<|\"|>:[<|\"|><tool_call|><|\"|>]<tool_call|>";
    let mut reader = bare.clone().with_stops(b"<");
    let (mut at, mut stops) = (0, Vec::new());
    loop {
        at += reader.push(&text[at..(at + 1).max(at + text[at..].len() / 2)]);
        if reader.state() == ReaderState::Stopped {
            stops.push(at);
            if text[at..].starts_with("<tool") {
                break;
            }
            reader.resume();
        }
    }
    assert_eq!(stops, [3, 21, 34, 57]);
    assert!(reader.close());
    assert_eq!(reader.text(), r#"{"a":"x","b":"y","c":["<tool_call|>"]}"#);
    assert_eq!(
        reader.repairs().iter().map(|repair| repair.code).collect::<Vec<_>>(),
        [RepairCode::MissingCloser]
    );
    let seen = read(&bare, "{where:London, UK,unit:<|\"|>m<|\"|>}<tool_call|>");
    assert_eq!(seen.value(), json!({"where": "London, UK", "unit": "m"}));
    assert!(seen.guessed());
    let seen = read(&bare, "{a:<|\"|>x<tool_call|>");
    assert_eq!((seen.end, seen.state), (End::CutOff, ReaderState::Reading));
    let call = Reader::new(Syntax::Kwargs).with_quote(Arc::from("<|\"|>"));
    let seen = read(&call, "table=<|\"|>orders<|\"|>, limit=20)");
    assert_eq!((seen.words(), seen.value()), (vec![], json!({"table": "orders", "limit": 20})));
    for text in ["(cmd:<|\"|>ls (a)<|\"|>, n:2)", "(cmd=<|\"|>ls (a)<|\"|>, n = 2)"] {
        let seen = read(&bare, text);
        assert_eq!(
            (seen.state, seen.consumed, seen.guessed()),
            (ReaderState::Done, text.len(), false),
            "{seen:?}"
        );
        assert_eq!(seen.value(), json!({"cmd": "ls (a)", "n": 2}));
    }
    let escape = Reader::new(Syntax::Bare).with_quote(Arc::from("<escape>"));
    let seen = read(&escape, "{q:<escape>a}b<escape>}");
    assert_eq!((seen.words(), seen.value()), (vec![], json!({"q": "a}b"})));
}

#[test]
fn a_reader_can_be_used_again() {
    let mut reader = frame();
    reader.push("{'a': [1, 2");
    reader.reset();
    assert_eq!((reader.push("{\"b\": 1}"), reader.finish()), (8, End::Whole));
    assert_eq!((reader.text(), reader.repairs().len()), ("{\"b\": 1}", 0));
}

#[test]
fn many_repairs_are_counted() {
    let text = format!("[{}]", "'a', ".repeat(1000) + "1");
    let seen = feed(document(), [text.as_str()]);
    assert_eq!(seen.repairs.len(), 256);
    assert_eq!(seen.repairs.iter().map(|repair| repair.count).sum::<usize>(), 1000);
}

#[test]
fn tapes_and_canonical_texts() {
    let text = r#" {"b/~": [1, {"x": "\u0041"}], "a": 1.50, "a": "é\n"} "#;
    let tape = tape_of(text);
    assert_eq!(
        tape.children(0).map(|node| tape.raw(text, node)).collect::<Vec<_>>(),
        [r#"[1, {"x": "\u0041"}]"#, "1.50", r#""é\n""#]
    );
    let letter = tape
        .nodes()
        .iter()
        .position(|node| node.key().is_some_and(|(start, end)| &text[start..end] == "\"x\""))
        .unwrap();
    assert_eq!(tape.pointer(text, letter), "/b~1~0/1/x");
    assert_eq!(tape.string(text, letter).unwrap(), "A");
    assert_eq!(tape.raw(text, tape.member(text, 0, "a").unwrap()), r#""é\n""#);
    assert_eq!(tape.duplicate(text), tape.member(text, 0, "a"));
    assert_eq!(tape.value(text, 0), serde_json::from_str(text).ok());
    assert_eq!(Tape::parse("[1e999]").unwrap().value("[1e999]", 0), None);
    assert!(Tape::parse("[1,]").is_none());
    assert_eq!(
        canonical(r#"{ "b": [1.0, "\u0041\/"], "a": {"d":{}, "c":[]} }"#),
        r#"{"a":{"c":[],"d":{}},"b":[1.0,"A/"]}"#
    );
    assert_eq!(unescape("\"a\\nb\""), "a\nb");
}
