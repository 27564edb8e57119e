//! Validation: messages that say what profiles need, and coercion by the closed table.

#![allow(clippy::unwrap_used)] // A test that cannot get its value should stop there.

mod coercion;
#[path = "../support/guard.rs"]
#[allow(dead_code)] // Only the watch is used here.
mod guard;
mod repair;
mod the_quick_look;

use std::path::{Path, PathBuf};

use callgate::internal::json::Tape;
use callgate::internal::policy::{Coerce, ExtraArgs};
use callgate::internal::schema::{CompiledTool, Fit, ProblemKind, TypeSet};
use callgate::{Code, CoercionCode, Record, Registry, Tool};
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
        assert!(fit.arguments.is_none() && fit.coercions.is_empty(), "a rejection changes nothing");
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
        assert_eq!(optional.example(), json!({"city": "Oslo"}), "by its name");
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
