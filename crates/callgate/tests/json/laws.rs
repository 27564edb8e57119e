//! What holds for any input: linear time, no recursion, the same result in any cutting, valid text untouched.

use std::sync::Arc;

use callgate::internal::json::{End, Reader, Syntax, Tape, canonical};
#[cfg(feature = "careful")]
use callgate::internal::shortcuts::{Shortcut, without};
use callgate::{Code, repair};
use proptest::prelude::*;
use serde_json::Value;

use crate::guard::watched;
use crate::{document, feed, feed_through, frame, tape_of};

#[test]
fn deep_input_is_no_recursion() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let tape = tape_of(&deep);
    assert_eq!(tape.nodes().len(), 200_000);
    assert_eq!(canonical(&deep), deep);
    assert_eq!(repair(&"{\"a\":".repeat(200_000), 64).unwrap_err().code, Code::TooDeep);
}

/// Work grows with the input, not with its square, even in single characters.
#[test]
fn reading_is_linear() {
    let large = 400_000;
    let inputs = [
        "{\"a\": \"".to_owned() + &"\" , ".repeat(large / 4),
        "{\"a\": \"".to_owned() + &"\n".repeat(large),
        "{\"a\": ".to_owned() + &"1".repeat(large),
        "{\"a\": ".to_owned() + &"x, y".repeat(large / 4),
        "{".to_owned() + &"k".repeat(large),
        "{k\"".to_owned() + &" ".repeat(large),
        "{\"a\": 1]".to_owned() + &" ".repeat(large),
        "{\"a\": \"b\"".to_owned() + &" ".repeat(large),
        "{\"a\": \"b\", \"".to_owned() + &"c".repeat(large),
        "[".to_owned() + &"\"a\" ".repeat(large / 4),
        "[".to_owned() + &"'".repeat(large),
        "5".to_owned() + &"\n".repeat(large),
        "{}".repeat(large / 2),
        "{\"a\": 1".to_owned() + &" ".repeat(large),
        "/*".to_owned() + &"*".repeat(large),
        "words ".repeat(large / 6),
        "[\"".to_owned() + &"a, \"b".repeat(large / 5),
        "{\"a\": \"".to_owned() + &"x, \"b\": \"".repeat(large / 9),
        "{\"a\": \"x".to_owned() + &"}, 1".repeat(large / 4),
        "{\"a\": \"x".to_owned() + &", ".repeat(large / 2) + "\"b\": 1}",
        "[".to_owned() + &"{\"a\": 1, ".repeat(large / 9),
        "[1".to_owned() + &", \"a\" x".repeat(large / 7),
        "{\"a\": 1}".to_owned() + &", \"b\": 2}".repeat(large / 9),
        "{\"a\": x".to_owned() + &"\\\" (".repeat(large / 4),
        "{\"a\": &quot;".to_owned() + &"&am".repeat(large / 3),
        "[\"a\"".to_owned() + &", \\\"b\"".repeat(large / 6),
        "{\"a\"".to_owned() + &" : ".repeat(large / 3),
        "[".to_owned() + &"1\"2, ".repeat(large / 5),
        "{\"a\": {\"b\": 1, ".to_owned() + &"\"k\": {}".repeat(large / 7),
    ];
    for input in inputs {
        let characters = input.char_indices().map(|(at, c)| &input[at..at + c.len_utf8()]);
        for mut reader in [document(), document().restoring()] {
            // Were it quadratic, the watch would end the test long before the input ended.
            watched(format!("{:?}…", &input[..12]), || {
                for character in characters.clone() {
                    reader.push(character);
                }
                reader.finish();
                reader.close();
            });
        }
    }
}

pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
        "[ -~\\n\\t\"',:{}\\[\\]éλ😀“”`]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-z\":, ]{0,5}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A string as models write them, with what is hostile to a reader in it.
fn broken_string() -> impl Strategy<Value = String> {
    let content = r#"([a-z ]{0,6}|["'`,:{}\[\]#/<]|it's|\\[nu'"\\dx/]|\\u00e9|C:\\|', |", |': |é|\n){0,3}"#;
    let quotes = vec!["'", "'", "'", "\"", "\"", "'''", "\"\"\"", "`", "“", ""];
    let plain = r#"[a-z ,:"]{0,8}"#.prop_map(|content| format!("'{content}'"));
    let odd = (prop::sample::select(quotes), content)
        .prop_map(|(quote, content)| format!("{quote}{content}{quote}"));
    prop_oneof![2 => plain, 1 => odd]
}

/// A key as models write them.
fn broken_key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z_$@][a-zA-Z0-9_.$@-]{0,5}",
        2 => "'[a-z ,:]{0,4}'",
        2 => "\"[a-z ,:]{0,4}\"",
        1 => broken_string(),
        1 => "[0-9é. -]{1,3}",
    ]
}

/// One of these, most often the first.
fn mostly(usual: &'static str, others: &[&'static str]) -> impl Strategy<Value = &'static str> + use<> {
    prop_oneof![6 => Just(usual), 1 => prop::sample::select(others.to_vec())]
}

/// Values that are broken in the common ways, and now and then in others.
fn broken_value() -> impl Strategy<Value = String> {
    let join = || mostly(", ", &[",", " ,", ",\n", ",,", " ", "\n", ";", ", // '\n", ",/*x*/", ", ...", "<"]);
    let colon = || mostly(": ", &[":", " : ", "\n:", "=", " ", "：", "<"]);
    let last = || prop_oneof![1 => Just(""), 1 => mostly(",", &[", ", ",\n", ",,", ";", "<"])];
    let scalar = r"-?[0-9]{1,3}(\.5|e3|)|true|null|None|word|1x|\.5";
    let leaf = prop_oneof![3 => broken_string(), 1 => scalar];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let member =
            (broken_key(), colon(), inner.clone()).prop_map(|(key, colon, value)| key + colon + &value);
        let closer = |right| mostly(right, &["", "}", "]", "}]"]);
        let object = (Just("{"), prop::collection::vec((member, join()), 0..5), last(), closer("}"));
        let array = (Just("["), prop::collection::vec((inner, join()), 0..5), last(), closer("]"));
        prop_oneof![2 => object, 1 => array].prop_map(|(opener, items, last, closer)| {
            let mut text = String::from(opener);
            for (index, (item, join)) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { join });
                text.push_str(item);
            }
            text + last + closer
        })
    })
}

/// Whether two values are the same, apart from the last bit of a float, which `serde_json` may round away.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (x, y) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            a == b || (x - y).abs() <= x.abs() * 1e-15
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && alike(a, b))
        }
        _ => a == b,
    }
}

/// Reads a text in these cuts and without shortcuts; the reader must agree with itself and with `serde_json`.
fn check_any(text: &str, cuts: &[prop::sample::Index]) -> Result<(), TestCaseError> {
    let private = Reader::new(Syntax::Bare).with_quote(Arc::from("<|\"|>")).with_stops(b"<`");
    let python = Reader::new(Syntax::Python).with_stops(b"[<");
    let kwargs = Reader::new(Syntax::Kwargs).with_stops(b"]");
    let stopped = Reader::new(Syntax::Json).with_stops(b"_b]");
    for reader in [
        document().restoring(),
        document().restoring().partial(),
        document(),
        frame(),
        document().object_root(),
        stopped,
        python,
        kwargs,
        private,
    ] {
        let whole = feed(reader.clone(), [text]);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.retain(|at| text.is_char_boundary(*at));
        places.extend([0, text.len()]);
        places.sort();
        let pieces = places.windows(2).map(|pair| &text[pair[0]..pair[1]]);
        prop_assert_eq!(&feed(reader.clone(), pieces), &whole, "{:?} cut at {:?}", text, places);
        let characters = text.char_indices().map(|(at, c)| &text[at..at + c.len_utf8()]);
        prop_assert_eq!(&feed(reader.clone(), characters.clone()), &whole, "{:?} by characters", text);
        let through = feed_through(reader.clone(), 3, [text]);
        #[cfg(feature = "careful")]
        {
            let careful = without(&Shortcut::ALL, || feed(reader.clone(), [text]));
            prop_assert_eq!(&careful, &whole, "{:?} without shortcuts", text);
            let careful = without(&Shortcut::ALL, || feed_through(reader.clone(), 3, [text]));
            prop_assert_eq!(&careful, &through, "{:?} with stops, without shortcuts", text);
        }
        prop_assert_eq!(&feed_through(reader, 3, characters), &through, "{:?} with stops", text);
        if whole.closed {
            let parsed = serde_json::from_str::<Value>(&whole.text);
            let large = parsed.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
            prop_assert!(parsed.is_ok() || large, "{:?} became {:?}: {:?}", text, whole.text, parsed);
            let tape = Tape::parse(&whole.text);
            prop_assert_eq!(tape.as_ref(), Some(&whole.tape));
            let again = feed(document(), [whole.text.as_str()]);
            prop_assert_eq!((again.text.as_str(), again.repairs.len()), (whole.text.as_str(), 0));
            if let Ok(parsed) = parsed {
                let value = whole.tape.value(&whole.text, 0);
                prop_assert!(
                    value.as_ref().is_some_and(|value| alike(value, &parsed)),
                    "{:?} {:?}",
                    value,
                    parsed
                );
            }
        }
    }
    let strict = serde_json::from_str::<Value>(text);
    if strict.is_ok() {
        let seen = feed(document(), [text]);
        prop_assert_eq!((seen.text.as_str(), seen.repairs.len(), seen.end), (text, 0, End::Whole));
    }
    Ok(())
}

/// Texts that were once read in two ways, or became no JSON, found by the laws below.
#[test]
fn what_once_broke_a_law() {
    for text in [
        "{a: ''<0: {a: ' \"', -: ''}, \" \": ''}",
        "[ull],null,-2,0000000000000000]",
        "{\"a\":1\n[00000},\"b\":[null]}",
        "[\"{,\"a\":\"\"é\"},[1,\"#\",null],null]",
        "[{'\nC:\\\\n': ''}]",
    ] {
        check_any(text, &[]).unwrap();
    }
}

/// How many cases each law is tried with; `PROPTEST_CASES` changes it.
pub(crate) fn config() -> ProptestConfig {
    let chosen = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => chosen,
        None => ProptestConfig { cases: 400, ..chosen },
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn valid_values_are_untouched(value in any_value(), pretty in any::<bool>(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        check_any(&text, &cuts)?;
        let tape = Tape::parse(&text).unwrap();
        prop_assert_eq!(tape.value(&text, 0), Some(value.clone()));
        let sorted = canonical(&text);
        prop_assert_eq!(serde_json::from_str::<Value>(&sorted).unwrap(), value);
        prop_assert_eq!(canonical(&sorted), sorted);
    }

    #[test]
    fn damaged_values_are_read_the_same_way_in_any_cutting(
        value in any_value(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..4usize, "[\"'`\\\\,:{}()\\[\\] \\n<#/.+=;a1“”u-]{0,3}"), 1..4),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut text: Vec<char> = serde_json::to_string(&value).unwrap().chars().collect();
        for (place, drop, insert) in damage {
            let at = place.index(text.len() + 1);
            let end = (at + drop).min(text.len());
            text.splice(at..end, insert.chars());
        }
        check_any(&text.into_iter().collect::<String>(), &cuts)?;
    }

    #[test]
    fn broken_values_are_read_the_same_way_in_any_cutting(
        text in broken_value(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        check_any(&text, &cuts)?;
    }

    #[test]
    fn any_text_is_read_the_same_way_in_any_cutting(
        text in "([\"'{}\\[\\]():,=\\\\ \\n<`~#/*.+;]|[a-z0-9]|true|None|\\\\u[dD]8|\\.\\.\\.|\"a\":|```|“|”|，|｛|｝|：|&quot;|&amp;|\\\\\"|\", \"|r'|<\\|\"\\|>|\\{a:){0,24}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        check_any(&text, &cuts)?;
    }

    #[test]
    fn keyword_arguments_are_read_the_same_way_in_any_cutting(
        members in prop::collection::vec(
            ("[a-c_]{1,3}", "'[a-z \"é]{0,4}'|\"[a-z ']{0,4}\"|'''x'''|r'a'|-?[0-9]{1,3}(\\.5|e3|\\.|)|True|None|null|Nonex|\\[1\\]"),
            0..5,
        ),
        joins in prop::collection::vec(prop::sample::select(vec![", ", ",", " , ", "  ", ",,", ",\n", "; "]), 5),
        equals in prop::sample::select(vec!["=", "=", "=", " = ", "=>", ":"]),
        end in prop::sample::select(vec![")", ")", " )", ",)", ")]", "]", "", "<"]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut text = String::new();
        for ((key, value), join) in members.iter().zip(&joins) {
            let join = if text.is_empty() { "" } else { join };
            text.push_str(&format!("{join}{key}{equals}{value}"));
        }
        text.push_str(end);
        check_any(&text, &cuts)?;
    }
}
