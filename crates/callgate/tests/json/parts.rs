//! Starts of values, and several values in one text: what `repair_partial` and `repair_many` give.

use callgate::{Code, repair, repair_many, repair_partial};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::laws::{any_value, config};

/// Whether everything that the first value holds is in the second one too: members by their keys, items by their
/// places, texts as far as they go.
fn is_start_of(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(key, a)| b.get(key).is_some_and(|b| is_start_of(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| is_start_of(a, b))
        }
        (Value::String(a), Value::String(b)) => b.starts_with(a.as_str()),
        _ => a == b,
    }
}

fn partial(text: &str) -> Option<Value> {
    let repaired = repair_partial(text, 64).ok()?;
    Some(serde_json::from_str(&repaired.text).unwrap_or_else(|error| panic!("{text:?}: {error}")))
}

#[test]
fn a_start_gives_what_is_certain() {
    for (text, value) in [
        ("{", json!({})),
        (r#"{"a"#, json!({})),
        (r#"{"a":"#, json!({})),
        (r#"{"a": 1"#, json!({})),
        (r#"{"a": 1 "#, json!({"a": 1})),
        (r#"{"a": 1, "b": tr"#, json!({"a": 1})),
        (r#"{"a": 1, "b": "ha"#, json!({"a": 1, "b": "ha"})),
        (r#"{"a": "x\"#, json!({"a": "x"})),
        (r#"{"a": "x\u00"#, json!({"a": "x"})),
        (r#"{"a": "x\ud83d"#, json!({"a": "x"})),
        (r#"{"a": "x}"#, json!({"a": "x}"})),
        (r#"[[1, 2], [3"#, json!([[1, 2], []])),
        (r#"[-"#, json!([])),
        (r#""ha"#, json!("ha")),
        ("{'a': 1,}", json!({"a": 1})),
    ] {
        assert_eq!(partial(text), Some(value), "{text:?}");
    }
    for text in ["", "  ", "12", "tr", "words"] {
        assert!(repair_partial(text, 64).is_err(), "{text:?}");
    }
    // A text that is taken for whole may close with what a start leaves out, but not with nothing at all.
    assert_eq!(repair(r#"{"n": 1, "roo"#, 64).unwrap().text, r#"{"n": 1}"#);
    assert_eq!(repair(r#"{"n": 12"#, 64).unwrap().text, r#"{"n": 12}"#);
    assert_eq!(repair(r#"{"a":"#, 64).unwrap_err().code, Code::Truncated);
}

proptest! {
    #![proptest_config(config())]

    /// Every start of a valid document gives a value; it holds nothing that the document does not, and a longer start
    /// takes nothing back.
    #[test]
    fn every_start_is_sound_and_monotone(value in any_value(), pretty in any::<bool>()) {
        let value = json!([value]);
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let mut before = json!([]);
        for (at, character) in text.char_indices() {
            let start = &text[..at + character.len_utf8()];
            let now = partial(start);
            prop_assert!(now.is_some(), "{start:?}: {:?}", repair_partial(start, 64));
            let now = now.unwrap_or_default();
            prop_assert!(is_start_of(&now, &value), "{start:?} gives {now}");
            prop_assert!(is_start_of(&before, &now), "{start:?} gives {now} after {before}");
            before = now;
        }
        prop_assert_eq!(before, value);
    }

    /// Values one behind the other, or in lines, come back one by one.
    #[test]
    fn many_values_come_back_one_by_one(
        values in prop::collection::vec(any_value().prop_filter("a bracket", |v| v.is_object() || v.is_array()), 0..5),
        join in prop::sample::select(vec!["", "\n", "\r\n", " ", ",\n", "\n\n"]),
        pretty in any::<bool>(),
    ) {
        let write = |value: &Value| if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        let texts: Vec<String> = values.iter().map(|value| write(value).unwrap()).collect();
        let read: Result<Vec<_>, _> = repair_many(&texts.join(join), 64).collect();
        let read: Vec<Value> = read.unwrap().iter().map(|one| serde_json::from_str(&one.text).unwrap()).collect();
        prop_assert_eq!(read, values);
    }
}

#[test]
fn many_values() {
    let many = |text: &str| -> Vec<Value> {
        repair_many(text, 64).map(|one| serde_json::from_str(&one.unwrap().text).unwrap()).collect()
    };
    assert_eq!(
        many("{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}\n"),
        [json!({"n": 1}), json!({"n": 2}), json!({"n": 3})]
    );
    assert_eq!(many("{\"n\": 1}{\"n\": 2}"), [json!({"n": 1}), json!({"n": 2})]);
    assert_eq!(many("{\"n\": 1},\n{'n': 2,}"), [json!({"n": 1}), json!({"n": 2})]);
    assert_eq!(many("[1, 2]\n[3]"), [json!([1, 2]), json!([3])]);
    assert_eq!(many("1\n\"a\"\n\"b\"\ntrue\n"), [json!(1), json!("a"), json!("b"), json!(true)]);
    assert_eq!(many("{\"n\": 1}\n{\"n\": 1}"), [json!({"n": 1}), json!({"n": 1})]);
    assert_eq!(many("First:\n{\"n\": 1}\nthen:\n{\"n\": 2}"), [json!({"n": 1}), json!({"n": 2})]);
    // Plain values in one line, and values in the middle of prose or in fences of their own.
    assert_eq!(many("1,2.5, true"), [json!(1), json!(2.5), json!(true)]);
    assert_eq!(many("1 null false"), [json!(1), json!(null), json!(false)]);
    assert_eq!(many("{\"n\": 1} and {\"n\": 2}, thanks"), [json!({"n": 1}), json!({"n": 2})]);
    assert_eq!(many("a ```json {\"n\": 1} ``` b ```\n[2, 3]\n``` c ```"), [json!({"n": 1}), json!([2, 3])]);
    assert_eq!(many("{\"n\": 1} thanks, see [1] and {this}"), [json!({"n": 1})]);
    assert_eq!(many(""), [] as [Value; 0]);
    assert_eq!(many(" \n"), [] as [Value; 0]);
    // A line that cannot be read costs no other, and its place is that of the whole text.
    let lines: Vec<_> = repair_many("{\"n\": 1}\n{1, 2}\n{\"n\": 3,}", 64).collect();
    assert_eq!(lines.len(), 3);
    let broken = lines[1].as_ref().unwrap_err();
    assert_eq!((broken.code, broken.span.map(|span| span.start)), (Code::RepairRefused, Some(10)));
    assert_eq!(lines[2].as_ref().unwrap().repairs[0].span.start, 23);
    // The refusal of one value says how many are read.
    let refused = repair("{\"n\": 1}\n{\"n\": 2}", 64).unwrap_err();
    assert!(refused.help.contains("--many") && refused.help.contains("repair_many"), "{refused}");
}
