//! Syntaxes beside JSON: Python's literals, keyword arguments, and strings between delimiters of a format's own.

use std::sync::Arc;

use callgate::RepairCode;
use callgate::internal::json::{End, Reader, ReaderState, Syntax};
use serde_json::json;

use crate::read;

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
    // A single value in parentheses is that value and no tuple; it is refused, not taken for a list.
    for single in ["5", "'a' 'b'", "[1]", "{'k': 1}"] {
        assert_eq!(read(&python, &format!("{{'a': ({single})}}")).end, End::Failed, "{single}");
    }
    assert_eq!(read(&python, "['\\N{BULLET}'] x").end, End::Failed);
}

#[test]
fn a_set_of_python_is_a_list() {
    for (text, value) in [
        ("{1, 2, 3}", json!([1, 2, 3])),
        ("{ 'one' }", json!(["one"])),
        ("{'a, b', \"c: d\",}", json!(["a, b", "c: d"])),
        ("{True, None, -1.5}", json!([true, null, -1.5])),
        ("[{1}, {2, 3}, {}]", json!([[1], [2, 3], {}])),
        ("{'k': {1}, 'l': {'m': {'n'}}}", json!({"k": [1], "l": {"m": ["n"]}})),
        ("{(1, 2), (3, 4)}", json!([[1, 2], [3, 4]])),
    ] {
        for (syntax, text) in [(Syntax::Python, text.to_owned()), (Syntax::Kwargs, format!("a={text})"))] {
            let seen = read(&Reader::new(syntax), &text);
            let wanted = if syntax == Syntax::Kwargs { json!({"a": value}) } else { value.clone() };
            assert_eq!(seen.value(), wanted, "{text}");
            assert!(!seen.guessed() && seen.words().iter().all(|word| *word == "tuple"), "{text} {seen:?}");
        }
    }
    for text in ["{'a': 1, 'b'}", "{'a', 'b': 1}", "{1: 2, 3}"] {
        assert_eq!(read(&Reader::new(Syntax::Python), text).end, End::Failed, "{text}");
    }
    assert_eq!(read(&Reader::new(Syntax::Json), "{1, 2}").end, End::Failed);
}

/// Zeros before a number of code: octal in old versions of Python, so that only what is the same there is certain.
#[test]
fn zeros_before_a_number_of_code_are_dropped() {
    for zeros in 1..4 {
        for number in 1..200_u32 {
            let written = format!("{}{number}", "0".repeat(zeros));
            let octal = u32::from_str_radix(&number.to_string(), 8);
            let is_certain = octal.is_err() || octal == Ok(number);
            for (syntax, text, sign) in [
                (Syntax::Kwargs, format!("a={written})"), 1),
                (Syntax::Kwargs, format!("a=-{written})"), -1),
                (Syntax::Python, format!("{{'a': {written}}}"), 1),
            ] {
                let seen = read(&Reader::new(syntax), &text);
                assert_eq!(seen.value(), json!({"a": sign * i64::from(number)}), "{text}");
                assert_eq!((seen.words(), seen.guessed()), (vec!["number-format"], !is_certain), "{text}");
            }
        }
    }
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
