//! Endings: where a value is over, where it was cut off, and where a broken one would have ended.

use callgate::internal::json::{End, Reader, ReaderState, Syntax};
use callgate::{Code, RepairCode};

use crate::{feed, frame, read};

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
