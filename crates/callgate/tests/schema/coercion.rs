//! Coercion by the closed table: only where a value fails, and only if exactly one change makes it valid.

use callgate::internal::json::Tape;
use callgate::internal::policy::{Coerce, ExtraArgs};
use callgate::{Code, CoercionCode};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::guard::watched;
use crate::{compiled, fit, messages, property};

fn changed(schema: Value, value: &str) -> Option<String> {
    let text = format!("{{ \"v\" :{value}}}");
    let fit = fit(&property(schema), &text);
    let arguments = if fit.findings.is_empty() { fit.arguments.unwrap_or(text) } else { return None };
    let inner = arguments.strip_prefix("{ \"v\" :").unwrap().strip_suffix('}').unwrap();
    Some(inner.to_owned())
}

#[test]
fn the_closed_table() {
    let (integer, number) = (json!({"type": "integer"}), json!({"type": "number"}));
    for (schema, value, expected) in [
        (&integer, r#""3""#, Some("3")),
        (&integer, r#""-3""#, Some("-3")),
        (&integer, r#""123456789012345678901234567890""#, Some("123456789012345678901234567890")),
        (&integer, r#""3.5""#, None),
        (&integer, r#""03""#, None),
        (&integer, r#""+3""#, None),
        (&integer, r#"" 3""#, None),
        (&integer, r#""3 ""#, None),
        (&integer, r#""""#, None),
        (&integer, r#""0x3""#, None),
        (&integer, "true", None),
        (&integer, "3.5", None),
        (&integer, "null", None),
        (&number, r#""1.50""#, Some("1.50")),
        (&number, r#""1e3""#, Some("1e3")),
        (&number, r#""NaN""#, None),
        (&number, r#""Infinity""#, None),
        (&number, r#""1e999""#, None),
        (&number, r#"".5""#, None),
        (&json!({"type": "boolean"}), r#""true""#, Some("true")),
        (&json!({"type": "boolean"}), r#""False""#, Some("false")),
        (&json!({"type": "boolean"}), r#""TRUE""#, None),
        (&json!({"type": "boolean"}), r#""1""#, None),
        (&json!({"type": "boolean"}), "1", None),
        (&json!({"type": "boolean"}), "0", None),
        (&json!({"type": "null"}), r#""null""#, Some("null")),
        (&json!({"type": "null"}), r#""None""#, None),
        (&json!({"type": "string"}), "1.000001", Some(r#""1.000001""#)),
        (&json!({"type": "string"}), "12345678901234567890123", Some(r#""12345678901234567890123""#)),
        (&json!({"type": "string"}), "1E5", Some(r#""1E5""#)),
        (&json!({"type": "string"}), "true", None),
        (&json!({"type": "string"}), "null", None),
        (&json!({"type": "string"}), r#"{"a":1}"#, None),
        (&json!({"type": "string"}), "[1]", None),
        (&json!({"type": "array"}), r#""[1, 2.50]""#, Some("[1, 2.50]")),
        (&json!({"type": "array"}), r#"" [] ""#, Some("[]")),
        (&json!({"type": "array"}), r#""{}""#, None),
        (&json!({"type": "array"}), r#""[1,]""#, None),
        (&json!({"type": "array"}), r#""['a']""#, None),
        (&json!({"type": "array"}), "1", None),
        (&json!({"type": "object"}), r#""{\"a\": \"\\u00e9\"}""#, Some(r#"{"a": "\u00e9"}"#)),
        (&json!({"type": "object"}), r#""{\"a\": 1, \"a\": 2}""#, None),
        (&json!({"type": "object"}), r#""[]""#, None),
        (&json!({"enum": ["edit", "write"]}), r#""\"edit\"""#, Some(r#""edit""#)),
        (&json!({"enum": ["edit", "write"]}), r#""'edit'""#, None),
        (&json!({"enum": ["edit", "write"]}), r#""Edit""#, None),
        (&json!({"const": "a\"b"}), r#""\"a\\\"b\"""#, Some(r#""a\"b""#)),
        (&json!({"enum": [1, 2]}), r#""2""#, Some("2")),
        (&json!({"enum": ["1", "2"]}), "2", Some(r#""2""#)),
        (&json!({"enum": [1, 2]}), r#""3""#, None),
        (&json!({"type": "string", "pattern": "^a"}), r#""\"abc\"""#, None),
        (&json!({"type": "integer", "maximum": 5}), r#""9""#, None),
    ] {
        assert_eq!(changed(schema.clone(), value).as_deref(), expected, "{schema} {value}");
    }
}

#[test]
fn a_valid_value_is_never_changed() {
    for (schema, value) in [
        (json!({"type": "string"}), r#""42""#),
        (json!({"type": "string"}), r#""{oops}""#),
        (json!({"type": ["string", "integer"]}), r#""3""#),
        (json!({"oneOf": [{"type": "integer"}, {"const": "3"}]}), r#""3""#),
        (json!({}), r#""null""#),
        (json!({"type": "number"}), "1.0e+2"),
    ] {
        assert_eq!(changed(schema, value).as_deref(), Some(value));
    }
}

#[test]
fn alternatives_need_exactly_one_way() {
    let optional = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
    assert_eq!(changed(optional.clone(), r#""3""#).as_deref(), Some("3"));
    assert_eq!(changed(optional.clone(), r#""null""#).as_deref(), Some("null"));
    let list = json!({"anyOf": [{"type": "array", "items": optional}, {"type": "null"}]});
    assert_eq!(changed(list, r#"["3", 4, "null"]"#).as_deref(), Some("[3, 4, null]"));
    let model =
        json!({"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]});
    assert_eq!(changed(model.clone(), r#"{"n": "3"}"#).as_deref(), Some(r#"{"n": 3}"#));
    let nested = json!({"anyOf": [{"type": "object", "properties": {"m": model}}, {"type": "null"}]});
    assert_eq!(changed(nested, r#"{"m": {"n": "3"}}"#).as_deref(), Some(r#"{"m": {"n": 3}}"#));
    let shape = |a: &str, b: &str| json!({"properties": {"a": {"type": a}, "b": {"type": b}}});
    let either = json!({"anyOf": [shape("integer", "string"), shape("string", "integer")]});
    assert_eq!(changed(either, r#"{"a": "1", "b": "2"}"#), None, "either could be meant");
    let twice = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
    assert_eq!(changed(twice, r#""3""#), None);
    let chosen = |kind: &str, n: &str| json!({"properties": {"kind": {"const": kind}, "n": {"type": n}}});
    let union = json!({"oneOf": [chosen("a", "integer"), chosen("b", "string")]});
    assert_eq!(changed(union, r#"{"kind": "a", "n": "7"}"#).as_deref(), Some(r#"{"kind": "a", "n": 7}"#));
}

#[test]
fn splices_keep_every_other_byte() {
    let tool = compiled(json!({"properties": {"s": {"type": "string"}, "n": {"type": "integer"},
        "xs": {"type": "array", "items": {"type": "object", "properties": {"b~/": {"type": "boolean"}}}}}}));
    let text = "{\n  \"s\" : \"\\u0041\\/\",\t\"n\":\"7\" , \"xs\":[ {}, {\"b~/\" : \"True\"} ] }";
    let fit = fit(&tool, text);
    assert_eq!(fit.findings, []);
    let expected = "{\n  \"s\" : \"\\u0041\\/\",\t\"n\":7 , \"xs\":[ {}, {\"b~/\" : true} ] }";
    assert_eq!(fit.arguments.as_deref(), Some(expected));
    let listed: Vec<_> = fit.coercions.iter().map(|c| (c.code, &*c.path, &*c.from, &*c.to)).collect();
    assert_eq!(
        listed,
        [
            (CoercionCode::StringToNumber, "/n", "\"7\"", "7"),
            (CoercionCode::StringToBoolean, "/xs/1/b~0~1", "\"True\"", "true"),
        ]
    );
}

#[test]
fn policy_decides_whether() {
    let tool = property(json!({"type": "integer"}));
    let text = r#"{"v": "3"}"#;
    let tape = Tape::parse(text).unwrap();
    for (coerce, untyped, fits) in [
        (Coerce::Off, true, false),
        (Coerce::Untyped, false, false),
        (Coerce::Untyped, true, true),
        (Coerce::Lossless, false, true),
    ] {
        let fit = tool.fit(text, &tape, coerce, ExtraArgs::Reject, untyped);
        assert_eq!(fit.findings.is_empty(), fits, "{coerce:?} {untyped}");
    }
}

#[test]
fn what_stays_wrong_is_listed_as_it_was_written() {
    let tool =
        compiled(json!({"properties": {"a": {"type": "integer"}, "b": {"type": "integer", "maximum": 5},
        "c": {"type": "boolean"}}, "required": ["d"]}));
    let fit = fit(&tool, r#"{"a": "1", "b": "9", "c": 1, "e": 0}"#);
    let mut said = messages(&fit);
    said.sort_unstable();
    assert_eq!(
        said,
        [
            "invalid value for b: expected integer, got string",
            "invalid value for c: expected boolean, got number",
            "missing required argument: d",
            "unexpected argument: e",
        ]
    );
}

#[test]
fn numbers_out_of_range_are_found_wherever_they_are() {
    let fit = fit(&property(json!({})), r#"{"v": [1, {"n": 1e999}], "w": -1e999}"#);
    let found: Vec<_> = fit.findings.iter().map(|f| (f.code, f.path.as_str())).collect();
    assert_eq!(found, [(Code::NumberRange, "/v/1/n"), (Code::NumberRange, "/w")]);
}

#[test]
fn many_coercions_take_linear_time() {
    let tool = property(json!({"type": "array", "items": {"type": "integer"}}));
    let text = format!("{{\"v\": [{}]}}", vec!["\"1\""; 40_000].join(","));
    let fit = watched("40,000 coercions".to_owned(), || fit(&tool, &text));
    assert_eq!(fit.coercions.len(), 40_000);
}

#[test]
fn structures_in_strings_obey_the_depth_limit() {
    let nested = |levels: usize| {
        serde_json::to_string(&format!("{}{}", "[".repeat(levels), "]".repeat(levels))).unwrap()
    };
    assert!(changed(json!({"type": "array"}), &nested(60)).is_some());
    assert!(changed(json!({"type": "array"}), &nested(100)).is_none());
    assert!(changed(json!({"type": "array"}), &nested(100_000)).is_none());
}

proptest! {
    /// Whatever was changed is valid now, and undoing the listed changes gives the text back.
    #[test]
    fn changes_are_exactly_the_listed_ones(values in prop::collection::vec(
        prop::sample::select(vec!["1", "\"1\"", "\"true\"", "true", "\"[1]\"", "[1]", "\"x\"", "1.50", "null", "\"null\""]), 0..6)) {
        let kinds = ["integer", "string", "boolean", "array", "number", "null"];
        let properties: serde_json::Map<String, Value> =
            kinds.iter().enumerate().map(|(i, kind)| (format!("k{i}"), json!({"type": kind}))).collect();
        let tool = compiled(json!({"properties": properties}));
        let members: Vec<String> = values.iter().enumerate().map(|(i, v)| format!(" \"k{i}\" : {v}")).collect();
        let text = format!("{{{} }}", members.join(" ,"));
        let fit = fit(&tool, &text);
        if let Some(arguments) = &fit.arguments {
            let value: Value = serde_json::from_str(arguments).unwrap();
            prop_assert!(tool.check(&value, ExtraArgs::Reject).is_empty());
            let mut undone = arguments.clone();
            for change in fit.coercions.iter().rev() {
                let member = format!(" \"{}\" : ", &change.path[1..]);
                undone = undone.replacen(&format!("{member}{}", change.to), &format!("{member}{}", change.from), 1);
            }
            prop_assert_eq!(undone, text);
        }
    }
}
