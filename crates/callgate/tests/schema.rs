//! Validation: messages that say what profiles need, and coercion by the closed table.

#![allow(clippy::unwrap_used)] // A test that cannot get its value should stop there.

#[path = "support/guard.rs"]
#[allow(dead_code)] // Only the watch is used here.
mod guard;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use callgate::internal::json::Tape;
use callgate::internal::policy::{Coerce, ExtraArgs};
use callgate::internal::schema::{CompiledTool, Fit, ProblemKind, TypeSet};
use callgate::{Code, CoercionCode, Gate, Record, Registry, Tool};
use guard::watched;
use proptest::prelude::*;
use serde_json::{Value, json};

fn compiled(schema: Value) -> CompiledTool {
    CompiledTool::compile(Tool::new("t", "d", schema)).unwrap()
}

fn fit(tool: &CompiledTool, arguments: &str) -> Fit {
    fit_with(tool, arguments, Coerce::Lossless, ExtraArgs::Reject)
}

fn fit_with(tool: &CompiledTool, arguments: &str, coerce: Coerce, extra: ExtraArgs) -> Fit {
    let tape = Tape::parse(arguments).unwrap();
    let fit = tool.fit(arguments, &tape, coerce, extra, false);
    if !fit.findings.is_empty() {
        assert!(fit.arguments.is_none() && fit.coercions.is_empty(), "a refusal changes nothing");
    }
    assert_eq!(fit.arguments.is_some(), !fit.coercions.is_empty(), "every change is listed");
    fit
}

fn messages(fit: &Fit) -> Vec<&str> {
    fit.findings.iter().map(|finding| finding.message.as_ref()).collect()
}

fn property(schema: Value) -> CompiledTool {
    compiled(json!({"type": "object", "properties": {"v": schema}, "required": ["v"]}))
}

fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/{name}.jsonl"))
}

fn fixture_lines(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(fixture_path(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

mod messages_say_what_profiles_need {
    use super::*;

    fn file_tool() -> CompiledTool {
        compiled(json!({"type": "object", "properties": {
            "path": {"type": "string"},
            "mode": {"type": "string", "enum": ["read", "write"]},
            "lines": {"type": "array", "items": {"type": "integer", "maximum": 100}},
        }, "required": ["path"]}))
    }

    #[test]
    fn all_errors_at_once_with_path_expected_and_actual() {
        let value = json!({"mode": "wirte", "lines": [1, "x", 1000], "paht": 1});
        let findings = file_tool().check(&value, ExtraArgs::Reject);
        let said: Vec<(Code, &str, &str)> =
            findings.iter().map(|f| (f.code, f.path.as_str(), f.message.as_ref())).collect();
        for expected in [
            (Code::MissingArgument, "/path", "missing required argument: path"),
            (
                Code::NotInEnum,
                "/mode",
                "invalid value for mode: expected one of \"read\", \"write\", got \"wirte\"",
            ),
            (Code::WrongType, "/lines/1", "invalid value for lines[1]: expected integer, got string"),
            (Code::SchemaMismatch, "/lines/2", "invalid value for lines[2]: expected at most 100, got 1000"),
            (Code::UnexpectedArgument, "/paht", "unexpected argument: paht"),
        ] {
            assert!(said.contains(&expected), "{expected:?} in {said:#?}");
        }
        assert_eq!(said.len(), 5);
        let help = |code| findings.iter().find(|f| f.code == code).unwrap().help.to_string();
        assert!(help(Code::UnexpectedArgument).contains("`path`"));
        assert!(help(Code::NotInEnum).contains("\"write\""));
    }

    #[test]
    fn problems_are_data() {
        let problems = file_tool().problems(&json!({"path": 5}), ExtraArgs::Reject);
        assert_eq!(problems.len(), 1);
        let problem = &problems[0];
        assert_eq!((problem.kind, problem.key.as_str()), (ProblemKind::Type, "path"));
        assert_eq!((problem.expected.as_str(), problem.actual.as_str()), ("string", "number"));
        assert_eq!(problem.finding().message, "invalid value for path: expected string, got number");
    }

    #[test]
    fn alternatives_read_as_one_sentence() {
        let said = |schema: Value, value: Value| {
            let findings = property(schema).check(&json!({"v": value}), ExtraArgs::Reject);
            assert_eq!(findings.len(), 1, "{findings:?}");
            (findings[0].path.clone(), findings[0].message.to_string())
        };
        let optional = json!({"anyOf": [{"type": "integer"}, {"type": "null"}]});
        assert_eq!(said(optional, json!("x")).1, "invalid value for v: expected integer or null, got string");
        let constants = json!({"oneOf": [{"const": "a"}, {"const": "b"}]});
        assert_eq!(
            said(constants, json!("c")).1,
            "invalid value for v: expected one of \"a\", \"b\", got \"c\""
        );
        let mixed = json!({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]});
        assert_eq!(said(mixed, json!("x")).1, "invalid value for v: expected \"auto\" or integer, got \"x\"");
        let shape = |kind: &str, member: &str| {
            json!({"type": "object", "required": ["kind", member],
                "properties": {"kind": {"const": kind}, member: {"type": "string"}}})
        };
        let union = json!({"anyOf": [shape("file", "path"), shape("url", "href"), {"type": "null"}]});
        let meant = said(union.clone(), json!({"kind": "url", "href": 5}));
        assert_eq!(
            meant,
            ("/v/href".to_owned(), "invalid value for v.href: expected string, got number".to_owned())
        );
        assert!(said(union, json!({"kind": "tape"})).1.contains("one of the 3 allowed forms"));
    }

    #[test]
    fn long_lists_and_hostile_names_are_capped() {
        let many: Vec<String> = (0..500).map(|i| format!("m{i}")).collect();
        let findings =
            property(json!({"enum": many})).check(&json!({"v": "x".repeat(10_000)}), ExtraArgs::Reject);
        assert!(findings[0].message.len() < 400 && findings[0].message.contains("500 in all"));
        let name = format!("\u{1b}[2J\u{202e}{}", "y".repeat(10_000));
        let findings = file_tool().check(&json!({"path": "a", name: 1}), ExtraArgs::Reject);
        assert!(findings[0].message.len() < 200 && !findings[0].message.contains('\u{1b}'));
        assert!(!findings[0].message.contains('\u{202e}'));
        for (wrong, listed) in [(1_000, 64), (1_000_000, 63)] {
            let lines = vec![json!("x"); wrong];
            let findings = file_tool().check(&json!({"path": "a", "lines": lines}), ExtraArgs::Reject);
            assert_eq!(findings.len(), listed);
        }
    }
}

mod top_level {
    use super::*;

    #[test]
    fn types_follow_references_and_alternatives() {
        let tool = compiled(json!({
            "$defs": {"Count": {"type": "integer"}, "Maybe": {"anyOf": [{"$ref": "#/$defs/Count"}, {"type": "null"}]}},
            "type": "object",
            "properties": {
                "a": {"$ref": "#/$defs/Maybe"},
                "b": {"enum": ["x", 1]},
                "c": {"const": true},
                "d": {},
                "e": {"type": ["string", "null"]},
                "f": {"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]},
                "g": {"type": "string"},
                "h": {"$ref": "#/$defs/C%6Funt"},
            },
        }));
        for (key, types) in [
            ("a", TypeSet::INTEGER.or(TypeSet::NULL)),
            ("b", TypeSet::STRING.or(TypeSet::INTEGER)),
            ("c", TypeSet::BOOLEAN),
            ("d", TypeSet::ANY),
            ("e", TypeSet::STRING.or(TypeSet::NULL)),
            ("f", TypeSet::INTEGER),
            ("g", TypeSet::STRING),
            ("h", TypeSet::INTEGER),
        ] {
            assert_eq!(tool.types(key), Some(types), "{key}");
        }
        assert_eq!(tool.types("zz"), None);
        let open = compiled(json!({"type": "object", "additionalProperties": {"type": "number"}}));
        assert_eq!(open.types("any"), Some(TypeSet::NUMBER));
    }

    #[test]
    fn required_and_open() {
        let tool = compiled(json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object",
            "properties": {"b": {}, "a": {}}, "required": ["b", "a"]}}}));
        assert_eq!(tool.required(), ["b", "a"]);
        assert!(tool.has_key("a") && !tool.has_key("c") && !tool.is_open() && !tool.requires_nothing());
        for (schema, open) in [
            (json!({}), true),
            (json!({"type": "object"}), true),
            (json!({"properties": {}}), false),
            (json!({"properties": {"a": {}}, "additionalProperties": true}), true),
            (json!({"properties": {"a": {}}, "additionalProperties": false}), false),
            (json!({"properties": {"a": {}}, "patternProperties": {"^x": {}}}), true),
        ] {
            assert_eq!(compiled(schema.clone()).is_open(), open, "{schema}");
        }
    }

    #[test]
    fn extra_arguments_follow_the_policy() {
        let silent = json!({"properties": {"a": {"type": "integer"}}});
        let forbidden = json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": false});
        let allowed = json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": true});
        let text = r#"{"a": 1, "b": 2}"#;
        let count = |schema: &Value, extra| {
            fit_with(&compiled(schema.clone()), text, Coerce::Lossless, extra).findings.len()
        };
        for (schema, reject, drop, allow) in [(&silent, 1, 0, 0), (&forbidden, 1, 0, 1), (&allowed, 0, 0, 0)]
        {
            assert_eq!(count(schema, ExtraArgs::Reject), reject, "{schema}");
            assert_eq!(count(schema, ExtraArgs::Drop), drop, "{schema}");
            assert_eq!(count(schema, ExtraArgs::Allow), allow, "{schema}");
        }
        let nested = property(json!({"type": "object", "properties": {"x": {}}}));
        assert!(fit(&nested, r#"{"v": {"y": 1}}"#).findings.is_empty(), "only the top level is closed");
    }

    #[test]
    fn dropping_cuts_the_text_and_nothing_else() {
        let tool = compiled(json!({"properties": {"a": {}, "b": {}}}));
        for (text, expected) in [
            (r#"{"x":1, "a": 1.50}"#, r#"{"a": 1.50}"#),
            (r#"{"a": 1.50 , "x":{"a":1}}"#, r#"{"a": 1.50}"#),
            (r#"{"x":0, "a":1, "y":2, "b":3, "z":4, "w":5}"#, r#"{"a":1, "b":3}"#),
        ] {
            let fit = fit_with(&tool, text, Coerce::Off, ExtraArgs::Drop);
            assert_eq!(fit.arguments.as_deref(), Some(expected));
            assert!(fit.coercions.iter().all(|c| c.code == CoercionCode::DroppedArgument && c.to.is_empty()));
        }
        assert_eq!(fit_with(&tool, r#"{"a":1}"#, Coerce::Off, ExtraArgs::Drop), Fit::default());
        // A call of which nothing would be left is another call.
        for text in [r#"{"x":1}"#, r#"{ "x" : 1 }"#, r#"{"x":1, "y": [2, 3]}"#] {
            let fit = fit_with(&tool, text, Coerce::Off, ExtraArgs::Drop);
            assert_eq!((fit.arguments, fit.findings[0].code), (None, Code::UnexpectedArgument));
        }
    }
}

mod coercion {
    use super::*;

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
        let model = json!({"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]});
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
}

mod fixtures {
    use super::*;

    #[test]
    fn every_tool_compiles_and_its_example_is_valid() {
        let mut tools = 0;
        let of_dialects = Record::builtin().iter().map(|record| format!("dialects/{}/samples", record.name));
        let with_tools: Vec<String> = of_dialects.filter(|name| fixture_path(name).exists()).collect();
        let others = ["seed_cases", "failures", "real_model_outputs"].map(str::to_owned);
        for name in others.iter().chain(&with_tools) {
            for line in fixture_lines(name) {
                let Some(list) = line.get("tools").filter(|list| list.is_array()) else { continue };
                let registry = Registry::from_value(list).unwrap_or_else(|error| panic!("{error}"));
                for tool in registry.all_compiled() {
                    tools += 1;
                    let example = tool.example();
                    let findings = tool.check(&example, ExtraArgs::Reject);
                    assert!(findings.is_empty(), "{} {example} {findings:?}", tool.tool.parameters);
                }
            }
        }
        assert!(tools > 2000);
    }

    #[test]
    fn examples_meet_ranges_patterns_and_choices() {
        for schema in [
            json!({"type": "integer", "minimum": 7, "multipleOf": 5}),
            json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            json!({"type": "integer", "maximum": -5}),
            json!({"type": "string", "minLength": 40}),
            json!({"type": "string", "maxLength": 3}),
            json!({"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"}),
            json!({"type": "string", "pattern": "^[^/].*$"}),
            json!({"type": "array", "items": {"type": "boolean"}, "minItems": 3}),
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}),
            json!({"type": ["null", "string"]}),
            json!({"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}),
            json!({"allOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}),
            json!({"type": "object", "properties": {"x": {"enum": [3]}}, "required": ["x", "y"]}),
            json!({"type": "null"}),
        ] {
            let tool = property(schema.clone());
            let findings = tool.check(&tool.example(), ExtraArgs::Reject);
            assert!(findings.is_empty(), "{schema} {} {findings:?}", tool.example());
        }
        let endless = compiled(json!({"type": "object", "properties": {"below": {"$ref": "#"}}}));
        assert!(endless.example().is_object());
        let optional = compiled(json!({"type": "object", "properties": {"city": {"type": "string"}}}));
        assert_eq!(optional.example(), json!({"city": "some city"}));
    }

    #[test]
    fn the_coercion_cases_of_the_field() {
        let ids = ["f150", "f151", "f153", "f154", "f157", "f158", "d149", "d152", "d156"];
        let mut run = 0;
        for case in fixture_lines("failures") {
            let id = case["id"].as_str().unwrap();
            if !ids.contains(&id) {
                continue;
            }
            run += 1;
            let registry = Registry::from_value(&case["tools"]).unwrap();
            let tool = registry.compiled(case["call_name"].as_str().unwrap()).unwrap();
            let raw = case["raw"].as_str().unwrap();
            let fit = fit(tool, raw);
            match &case["right_answer"] {
                Value::String(_) => assert!(!fit.findings.is_empty(), "{id}"),
                answer => {
                    assert!(fit.findings.is_empty(), "{id} {:?}", fit.findings);
                    let arguments = fit.arguments.as_deref().unwrap_or(raw);
                    let value: Value = serde_json::from_str(arguments).unwrap();
                    assert_eq!(value, answer["calls"][0]["arguments"], "{id}");
                }
            }
        }
        assert_eq!(run, ids.len());
    }
}

mod the_quick_look {
    use super::*;

    /// Schemas of the simple kind, which are judged without the validator, and some that are just beyond it.
    fn schemas() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(json!({"type": "string"})),
            Just(json!({"type": "integer"})),
            Just(json!({"type": "number", "description": "any"})),
            Just(json!({"type": ["boolean", "null"]})),
            Just(json!({"enum": ["a", "b\"", "é"]})),
            Just(json!({"type": "string", "enum": ["a", "ab"], "default": "a"})),
            Just(json!({"type": "integer", "enum": ["a"]})),
            Just(json!({"type": "string", "minLength": 2})),
            Just(json!({"minLength": 1, "maxLength": 1})),
            Just(json!({"type": "string", "minLength": 1, "enum": ["", "a", "ab"]})),
            Just(json!({"maxLength": 1, "minimum": 3})),
            Just(json!({"type": "integer", "minimum": 0, "maximum": 3})),
            Just(json!({"type": "number", "minimum": -1})),
            Just(json!({"type": ["integer", "string"], "maximum": 2.5})),
            Just(json!({"type": "string", "pattern": "^a"})),
            Just(json!(true)),
            Just(json!({})),
        ];
        scalar.prop_recursive(3, 16, 4, |inner| {
            let members =
                prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), inner.clone(), 0..3);
            let required = prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c"]), 0..3);
            let others = prop_oneof![
                Just(json!(null)),
                Just(json!(true)),
                Just(json!(false)),
                Just(json!({"type": "string"}))
            ];
            prop_oneof![
                inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
                inner.prop_map(|items| json!({"items": items, "minItems": 1, "maxItems": 2})),
                (members, required, others).prop_map(|(members, required, others)| {
                    let mut schema = json!({"type": "object", "properties": members, "required": required});
                    if !others.is_null() {
                        schema["additionalProperties"] = others;
                    }
                    schema
                }),
            ]
        })
    }

    fn values() -> impl Strategy<Value = String> {
        let scalar = prop::sample::select(vec![
            "\"a\"",
            "\"ab\"",
            "\"b\\\"\"",
            "\"\\u00e9\"",
            "\"é\"",
            "\"\"",
            "\"\\ud83d\\ude00\"",
            "\"\\n\"",
            "\"東京😀\"",
            "3",
            "4",
            "-1",
            "-0",
            "2.0",
            "3.5",
            "2.5",
            "1e2",
            "1e999",
            "12345678901234567890",
            "true",
            "null",
            "[]",
            "{}",
        ])
        .prop_map(str::to_owned);
        scalar.prop_recursive(3, 16, 4, |inner| {
            let key = prop::sample::select(vec!["a", "b", "c", "d", "\\u0061"]);
            let member = (key, inner.clone()).prop_map(|(key, value)| format!("\"{key}\": {value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..3).prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(", "))),
            ]
        })
    }

    /// A gate that is compiled once, and gets the tool of each case.
    static OPEN: LazyLock<Gate> = LazyLock::new(|| Gate::builder().build().unwrap());

    proptest! {
        /// What is let through without the validator is what the validator lets through, and nothing else.
        #[test]
        fn lets_through_what_the_validator_does(schema in schemas(), value in values()) {
            let tool = compiled(json!({"type": "object", "properties": {"v": schema}, "required": ["v"]}));
            for arguments in [format!("{{\"v\": {value}}}"), format!("{{\"v\": {value}, \"w\": 1}}"), "{}".to_owned()] {
                let tape = Tape::parse(&arguments).unwrap();
                for extra in [ExtraArgs::Reject, ExtraArgs::Drop, ExtraArgs::Allow] {
                    let fit = tool.fit(&arguments, &tape, Coerce::Off, extra, false);
                    let is_valid = tape.value(&arguments, 0).is_some_and(|value| tool.check(&value, extra).is_empty());
                    prop_assert_eq!(fit.findings.is_empty(), is_valid, "{} {:?}", arguments, extra);
                }
            }
        }

        /// The look that lets arguments through also has to see a key that stands twice, at any depth and in any spelling.
        #[test]
        fn promise_11_a_key_that_stands_twice_is_refused(schema in schemas(), value in values()) {
            let schema = json!({"type": "object", "properties": {"v": schema}, "required": ["v"]});
            let mut registry = Registry::new();
            registry.register(Tool::new("t", "d", schema)).unwrap();
            let gate = OPEN.with_tools(registry);
            // Once as it comes, then twice in the arguments, in an object and in an object of a list.
            let inner = format!("{{\"d\": 1, \"d\": {value}}}");
            for arguments in [
                format!("{{\"v\": {value}}}"),
                format!("{{\"v\": 1, \"v\": {value}}}"),
                format!("{{\"v\": {inner}}}"),
                format!("{{\"v\": [{inner}]}}"),
            ] {
                let is_twice = Tape::parse(&arguments).unwrap().duplicate(&arguments).is_some();
                let response =
                    gate.parse(&format!("<tool_call>{{\"name\": \"t\", \"arguments\": {arguments}}}</tool_call>"));
                let mut findings = response.rejected.iter().flat_map(|rejected| &rejected.findings);
                prop_assert_eq!(findings.any(|finding| finding.code == Code::DuplicateKey), is_twice, "{}", arguments);
            }
        }
    }
}
