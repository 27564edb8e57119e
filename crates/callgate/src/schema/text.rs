//! Typing text: formats that write arguments as plain text (tags, lines) cannot say the type, so the schema does.

use std::borrow::Cow;

use serde_json::Value;

use super::problem::shown_text;
use super::types::TypeSet;
use crate::finding::{Code, Finding};
use crate::json::{End, Kind, Reader, RepairCode, Syntax, Tape, escape_into};
use crate::policy::Untyped;

/// Appends a text value to `out` as JSON of a type that the schema allows.
///
/// A plain string stays text, whatever it looks like. Other types are read as JSON, then as a Python literal, and
/// booleans in any case. If a string is allowed beside other types, the text is one of those if it reads as one, else
/// text. Without types (an argument that the schema does not know, or no schema) or with all of them, `untyped` says
/// what is read: strict JSON other than a string, that and Python, or nothing but text. Nothing is ever evaluated.
///
/// Fails, leaving `out` as it was, if the text is of none of the types; the finding has no path.
pub fn type_text(
    out: &mut String,
    text: &str,
    types: Option<TypeSet>,
    untyped: Untyped,
) -> Result<(), Finding> {
    let types = types.unwrap_or(TypeSet::ANY);
    if types.only_string() || types.any() && untyped == Untyped::Text {
        append_string(out, text);
        return Ok(());
    }
    // With every type allowed, nothing says that a Python spelling is more than a word.
    let python = !types.any() || untyped == Untyped::Python;
    if let Some(json) = reading(text.trim_ascii(), types, python) {
        out.push_str(&json);
        return Ok(());
    }
    if types.contains(TypeSet::STRING) {
        append_string(out, text);
        return Ok(());
    }
    let message = format!("invalid value: expected {types}, got the text {}", shown_text(text));
    Err(Finding::new(Code::WrongType).message(message))
}

/// The deepest structure that is read from a text.
const DEEPEST: usize = 64;

/// The text as JSON of one of the types, a string apart.
fn reading(text: &str, types: TypeSet, python: bool) -> Option<Cow<'_, str>> {
    let word = |word: &str| text == word || (python && text.eq_ignore_ascii_case(word));
    if types.contains(TypeSet::BOOLEAN) {
        for boolean in ["true", "false"] {
            if word(boolean) {
                return Some(Cow::Borrowed(boolean));
            }
        }
    }
    if types.contains(TypeSet::NULL) && (text == "null" || (python && text == "None")) {
        return Some(Cow::Borrowed("null"));
    }
    match text.bytes().next()? {
        b'-' | b'0'..=b'9' if types.contains(TypeSet::INTEGER) => {
            let whole_or_not = types.contains(TypeSet::NUMBER);
            number(text).filter(|number| whole_or_not || is_whole(number)).map(|_| Cow::Borrowed(text))
        }
        b'{' if types.contains(TypeSet::OBJECT) => structure(text, python),
        // An object around a list: whether it is only a wrapper, its name says.
        b'{' if types.contains(TypeSet::ARRAY) => {
            structure(text, python).filter(|json| holds_only_list(json))
        }
        b'[' if types.contains(TypeSet::ARRAY) => structure(text, python),
        b'(' if types.contains(TypeSet::ARRAY) && python => structure(text, python),
        _ => None,
    }
}

fn holds_only_list(json: &str) -> bool {
    let Some(tape) = Tape::parse(json) else { return false };
    let mut members = tape.children(0).map(|member| tape.nodes()[member].kind);
    members.next() == Some(Kind::Array) && members.next().is_none()
}

/// The number that a text is in the spelling of JSON: no leading zero or plus, nothing around it, finite.
pub(super) fn number(text: &str) -> Option<Value> {
    let spelled = text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit());
    if !spelled {
        return None;
    }
    serde_json::from_str(text).ok().filter(Value::is_number)
}

fn is_whole(number: &Value) -> bool {
    number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn structure(text: &str, python: bool) -> Option<Cow<'_, str>> {
    if written(text, Syntax::Json).is_some() {
        return Some(Cow::Borrowed(text));
    }
    let is_read = python && !is_broken_json(text);
    is_read.then(|| written(text, Syntax::Python).map(Cow::Owned)).flatten()
}

/// Whether what Python would read is JSON with a fault that Python makes something else of: a comma that is missing between
/// two strings joins them, and beside a backslash that escapes nothing others may be meant as they stand.
fn is_broken_json(text: &str) -> bool {
    const TELLING: [RepairCode; 4] = [
        RepairCode::MissingComma,
        RepairCode::JoinedStrings,
        RepairCode::UnescapedQuote,
        RepairCode::InvalidEscape,
    ];
    let mut reader = Reader::new(Syntax::Json).with_depth(DEEPEST);
    reader.push(text);
    let _ = reader.finish();
    reader.repairs().iter().any(|repair| TELLING.contains(&repair.code))
}

/// The text as JSON if it is one value of the syntax from end to end, with nothing to repair.
fn written(text: &str, syntax: Syntax) -> Option<String> {
    let mut reader = Reader::new(syntax).with_depth(DEEPEST);
    let read = reader.push(text);
    let whole = read == text.len() && matches!(reader.finish(), End::Whole);
    if !whole || reader.failure().is_some() || !reader.repairs().is_empty() {
        return None;
    }
    Some(reader.into_parts().0)
}

fn append_string(out: &mut String, text: &str) {
    out.push('"');
    escape_into(out, text);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, types: Option<TypeSet>) -> String {
        typed_as(text, types, Untyped::Json)
    }

    fn typed_as(text: &str, types: Option<TypeSet>, untyped: Untyped) -> String {
        let mut out = String::new();
        match type_text(&mut out, text, types, untyped) {
            Ok(()) => out,
            Err(finding) => {
                assert_eq!((finding.code, finding.path.as_str(), out.as_str()), (Code::WrongType, "", ""));
                "refused".to_owned()
            }
        }
    }

    #[test]
    fn a_plain_string_stays_text() {
        for text in ["5", "true", "null", "None", "{\"a\": 1}", "007", " x ", "\"q\"", ""] {
            let json = serde_json::to_string(text).unwrap();
            assert_eq!(typed(text, Some(TypeSet::STRING)), json);
        }
    }

    #[test]
    fn other_types_are_read_as_json_or_python() {
        let number = Some(TypeSet::NUMBER);
        let integer = Some(TypeSet::INTEGER);
        assert_eq!(typed("5", integer), "5");
        assert_eq!(typed(" 12345678901234567890123 ", integer), "12345678901234567890123");
        assert_eq!(typed("1.50", number), "1.50");
        for text in ["1.5", "+5", "007", "5px", "", "NaN", "0x10", "1_000"] {
            assert_eq!(typed(text, integer), "refused", "{text}");
        }
        for text in ["NaN", "Infinity", "-", "1e999", ".5"] {
            assert_eq!(typed(text, number), "refused", "{text}");
        }
        for (text, json) in [("TRUE", "true"), ("False", "false"), ("1", "refused"), ("yes", "refused")] {
            assert_eq!(typed(text, Some(TypeSet::BOOLEAN)), json);
        }
        assert_eq!(typed("None", Some(TypeSet::NULL)), "null");
        assert_eq!(typed("[1, 2.0,\"a\"]", Some(TypeSet::ARRAY)), "[1, 2.0,\"a\"]");
        assert_eq!(typed("{\"a\": [1]}", Some(TypeSet::OBJECT)), "{\"a\": [1]}");
        assert_eq!(typed("{\"a\": 1}", Some(TypeSet::ARRAY)), "refused");
        assert_eq!(typed("[1] and", Some(TypeSet::ARRAY)), "refused");
        assert_eq!(typed("[1", Some(TypeSet::ARRAY)), "refused");
    }

    #[test]
    fn python_structures_are_read() {
        let value: Value = serde_json::from_str(&typed("['a', True, None]", Some(TypeSet::ARRAY))).unwrap();
        assert_eq!(value, serde_json::json!(["a", true, null]));
        let value: Value = serde_json::from_str(&typed("{'a': (1, 2)}", Some(TypeSet::OBJECT))).unwrap();
        assert_eq!(value, serde_json::json!({"a": [1, 2]}));
        // A fault of JSON is no Python.
        for text in [r#"["a" "b"]"#, "[\"a\"\n \"b\"]", r#"["C:\dir\new"]"#, r#"["\d+\b"]"#] {
            assert_eq!(typed(text, Some(TypeSet::ARRAY)), "refused", "{text}");
        }
        assert_eq!(typed(r#"{"a": "x" "y"}"#, Some(TypeSet::OBJECT)), "refused");
    }

    #[test]
    fn a_union_with_string_is_the_other_type_if_it_reads_as_one() {
        let nullable = Some(TypeSet::STRING.or(TypeSet::NULL));
        assert_eq!(typed("null", nullable), "null");
        assert_eq!(typed("None", nullable), "null");
        assert_eq!(typed("nothing", nullable), "\"nothing\"");
        assert_eq!(typed("5", nullable), "\"5\"");
        let either = Some(TypeSet::STRING.or(TypeSet::INTEGER));
        assert_eq!(typed("5", either), "5");
        assert_eq!(typed("007", either), "\"007\"");
        assert_eq!(typed("{oops}", Some(TypeSet::STRING.or(TypeSet::OBJECT))), "\"{oops}\"");
    }

    #[test]
    fn unknown_arguments_are_strict_json_or_text() {
        for text in ["5", "true", "null", "[1]", "{\"a\":1}"] {
            assert_eq!(typed(text, None), text);
        }
        for text in ["True", "None", "\"quoted\"", "['a']", "(1, 2)", "007", "1e999", "hello", "{oops}"] {
            assert_eq!(typed(text, None), serde_json::to_string(text).unwrap());
        }
    }

    #[test]
    fn a_knob_says_what_unknown_arguments_are() {
        for (text, json, python) in
            [("5", "5", "5"), ("True", "\"True\"", "true"), ("None", "\"None\"", "null")]
        {
            for types in [None, Some(TypeSet::ANY)] {
                assert_eq!(typed_as(text, types, Untyped::Json), json);
                assert_eq!(typed_as(text, types, Untyped::Python), python);
                assert_eq!(typed_as(text, types, Untyped::Text), format!("\"{text}\""));
            }
        }
        assert_eq!(typed_as("['a']", None, Untyped::Python), "[\"a\"]");
        // What the schema says stands.
        assert_eq!(typed_as("5", Some(TypeSet::INTEGER), Untyped::Text), "5");
        assert_eq!(typed_as("5", Some(TypeSet::STRING), Untyped::Python), "\"5\"");
    }
}
