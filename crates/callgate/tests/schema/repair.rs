//! Broken texts held against a schema: which reading is taken, what is fitted, and what is rejected.

use callgate::{Code, CoercionCode, RegistryErrorCode, RepairCode, Repaired, Safety, Schema};
use serde_json::{Value, json};

fn schema(schema: Value) -> Schema {
    Schema::new(&schema).unwrap()
}

/// An object in which an open object and a number stand side by side.
fn area() -> Schema {
    let area = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    schema(json!({
        "type": "object",
        "properties": {"area": area, "limit": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["area", "limit"],
    }))
}

fn codes(repaired: &Repaired) -> Vec<(RepairCode, Safety)> {
    repaired.repairs.iter().map(|repair| (repair.code, repair.safety)).collect()
}

#[test]
fn what_follows_the_schema_is_not_touched() {
    let text = "{ \"area\": {}, \"limit\": 12345678901234567890 }";
    let repaired = area().repair(text, 64).unwrap();
    assert_eq!((repaired.text.as_str(), repaired.repairs.len(), repaired.coercions.len()), (text, 0, 0));
    assert_eq!(repaired.decided, None);
}

#[test]
fn a_missing_closer_stands_where_the_schema_has_the_keys() {
    let repaired = area().repair("{\"area\": {\"x\": 1, \"limit\": 5, \"note\": \"n\"}", 64).unwrap();
    assert_eq!(repaired.text, "{\"area\": {\"x\": 1}, \"limit\": 5, \"note\": \"n\"}");
    assert_eq!(codes(&repaired), [(RepairCode::MissingCloser, Safety::Lossless)]);
    assert_eq!(repaired.repairs[0].span.start, 16);
    assert!(repaired.decided.is_some_and(|decided| decided.contains("2 readings")));
    // Two closers at once, and a list between the objects.
    let deep = schema(json!({
        "properties": {"rows": {"items": {"properties": {"n": {"type": "integer"}}}}, "total": {"type": "integer"}},
        "required": ["total"],
    }));
    let repaired = deep.repair("{\"rows\": [{\"n\": 1}, {\"n\": 2, \"total\": 3", 64).unwrap();
    assert_eq!(repaired.text, "{\"rows\": [{\"n\": 1}, {\"n\": 2}], \"total\": 3}");
}

#[test]
fn a_closer_is_missing_in_the_middle() {
    let inner =
        json!({"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": false});
    let middle = json!({"type": "object", "properties": {"inner": inner, "y": {"type": "integer"}}, "additionalProperties": false});
    let outer =
        schema(json!({"properties": {"middle": middle, "z": {"type": "integer"}}, "required": ["z"]}));
    let repaired = outer.repair("{\"middle\": {\"inner\": {\"x\": 1, \"y\": 2}, \"z\": 3}", 64).unwrap();
    assert_eq!(repaired.text, "{\"middle\": {\"inner\": {\"x\": 1}, \"y\": 2}, \"z\": 3}");
    assert_eq!(codes(&repaired), [(RepairCode::MissingCloser, Safety::Lossless)]);
    // Where the member before could stand outside as well, the place stays a guess.
    let open = schema(json!({
        "properties": {"area": {"type": "object", "properties": {"x": {}}}, "x": {}, "limit": {"type": "integer"}},
        "required": ["limit"],
    }));
    let repaired = open.repair("{\"area\": {\"w\": 0, \"x\": 1, \"limit\": 5}", 64).unwrap();
    assert_eq!(repaired.text, "{\"area\": {\"w\": 0, \"x\": 1}, \"limit\": 5}");
    assert_eq!(codes(&repaired), [(RepairCode::MissingCloser, Safety::Guess)]);
}

#[test]
fn where_both_readings_are_valid_nothing_is_decided() {
    let open = schema(json!({"properties": {"area": {"type": "object"}, "limit": {"type": "integer"}}}));
    let repaired = open.repair("{\"area\": {\"x\": 1, \"limit\": 5}", 64).unwrap();
    assert_eq!(repaired.text, "{\"area\": {\"x\": 1, \"limit\": 5}}");
    assert_eq!(
        (codes(&repaired), repaired.decided),
        (vec![(RepairCode::MissingCloser, Safety::Guess)], None)
    );
    // Where the inner object is closed to other members, or they are required there, it is decided either way.
    let inner =
        json!({"type": "object", "properties": {"limit": {"type": "integer"}}, "required": ["limit"]});
    let inner = schema(json!({"properties": {"area": inner}, "additionalProperties": false}));
    let repaired = inner.repair("{\"area\": {\"x\": 1, \"limit\": 5}", 64).unwrap();
    assert_eq!(repaired.text, "{\"area\": {\"x\": 1, \"limit\": 5}}");
}

#[test]
fn of_several_values_the_valid_one_is_taken() {
    let text = "{\"plan\": 1} {\"area\": {}, \"limit\": \"5\"} [3]";
    let repaired = area().repair(text, 64).unwrap();
    assert_eq!(repaired.text.trim(), "{\"area\": {}, \"limit\": 5}");
    assert_eq!(codes(&repaired), [(RepairCode::OtherValues, Safety::Lossless)]);
    assert_eq!(repaired.coercions[0].code, CoercionCode::StringToNumber);
    assert!(repaired.decided.is_some_and(|decided| decided.contains("3 values")));
    for (text, says) in [
        ("{\"plan\": 1} [3]", "none of which"),
        ("{\"area\": {}, \"limit\": 5} {\"area\": {}, \"limit\": 6}", "more than one"),
    ] {
        let findings = area().repair(text, 64).unwrap_err();
        assert!(findings[0].message.contains(says), "{}", findings[0]);
    }
}

#[test]
fn a_value_in_an_object_too_many_is_unwrapped() {
    let repaired = area().repair("{\"result\": {\"area\": {}, \"limit\": 5,}}", 64).unwrap();
    assert_eq!(repaired.text, "{\"area\": {}, \"limit\": 5}");
    assert!(codes(&repaired).contains(&(RepairCode::ExtraWrapper, Safety::Guess)));
}

#[test]
fn any_root_will_do() {
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": ["integer", "null"]}}});
    for (schema_of, text, value) in [
        (list.clone(), "[\"1\", 2, \"null\",]", "[1, 2, null]"),
        (list.clone(), "\"[1, 2]\"", "[1, 2]"),
        (json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "string"}}}), "7.50", "\"7.50\""),
        (json!({"anyOf": [{"type": "boolean"}, {"type": "array"}]}), "\"True\"", "true"),
        (json!({"enum": ["on", "off"]}), "'on'", "\"on\""),
        (json!(true), "{a: 1}", "{\"a\": 1}"),
    ] {
        let repaired = schema(schema_of.clone()).repair(text, 64);
        assert_eq!(repaired.map(|repaired| repaired.text).as_deref(), Ok(value), "{schema_of} {text}");
    }
    let findings = schema(list).repair("[1, \"x\", {},]", 64).unwrap_err();
    let found: Vec<_> =
        findings.iter().map(|one| (one.code, one.path.as_str(), one.span.unwrap().start)).collect();
    assert_eq!(found, [(Code::WrongType, "/1", 4), (Code::WrongType, "/2", 9)]);
    assert!(findings[0].message.contains("item 1"), "{}", findings[0]);
    assert!(schema(json!(false)).repair("1", 64).is_err());
}

#[test]
fn what_is_wrong_is_told_in_the_words_of_a_value() {
    let findings = area().repair("{\"area\": {\"x\": \"one\"}, \"limit\": 5}", 64).unwrap_err();
    assert_eq!(
        (findings.len(), findings[0].code, findings[0].path.as_str()),
        (1, Code::WrongType, "/area/x")
    );
    let missing = area().repair("{}", 64).unwrap_err();
    assert_eq!(missing.len(), 2);
    assert!(missing.iter().all(|one| one.code == Code::MissingArgument && one.message.contains("member")));
    // What cannot be read at all is said as without a schema.
    assert_eq!(area().repair("{1, 2}", 64).unwrap_err(), [callgate::repair("{1, 2}", 64).unwrap_err()]);
}

#[test]
fn each_of_many_values_follows_the_schema() {
    let list = schema(json!({"type": "array", "items": {"type": "integer"}}));
    let all: Vec<_> = list.repair_many("[1,]\n[\"x\"]\n[\"3\"]", 64).collect();
    assert_eq!(all.len(), 3);
    assert_eq!(all[0].as_ref().unwrap().text.trim(), "[1]");
    assert_eq!(all[1].as_ref().unwrap_err()[0].span.unwrap().start, 6);
    assert_eq!(all[2].as_ref().unwrap().text, "[3]");
}

#[test]
fn a_bad_schema_is_rejected_with_its_place() {
    for (text, code, pointer) in [
        ("{\"items\": {\"type\": 5}}", RegistryErrorCode::BadSchema, "/items/type"),
        ("{\"$ref\": \"#/no\"}", RegistryErrorCode::BadReference, "/$ref"),
        ("{\"pattern\": \"(?=a)\"}", RegistryErrorCode::BadPattern, "/pattern"),
        ("3", RegistryErrorCode::BadSchema, ""),
        ("{", RegistryErrorCode::BadJson, ""),
    ] {
        let error = Schema::from_json(text).unwrap_err();
        assert_eq!((error.code, error.pointer.as_str()), (code, pointer), "{text}");
    }
}
