//! The registry: tool lists of every form, rejections that teach, and schemas that are treated as untrusted input.

#![allow(clippy::unwrap_used)] // A test that cannot get its value should stop there.

#[path = "support/guard.rs"]
#[allow(dead_code)] // Only the watch is used here.
mod guard;

use callgate::internal::json::Tape;
use callgate::internal::policy::{Coerce, ExtraArgs};
use callgate::internal::schema::{CompiledTool, TypeSet};
use callgate::{Code, Registry, RegistryError, RegistryErrorCode, Tool};
use guard::watched;
use proptest::prelude::*;
use serde_json::{Value, json};

fn compiled(schema: Value) -> CompiledTool {
    CompiledTool::compile(Tool::new("t", "d", schema)).unwrap()
}

fn property(schema: Value) -> CompiledTool {
    compiled(json!({"type": "object", "properties": {"v": schema}, "required": ["v"]}))
}

fn rejection(schema: Value) -> (&'static str, String) {
    let error = CompiledTool::compile(Tool::new("t", "d", schema)).unwrap_err();
    (error.code.word(), error.to_string())
}

mod lists {
    use super::*;

    #[test]
    fn every_form_of_list_gives_the_same_tool() {
        let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
        let forms = [
            json!([{"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": schema}}]),
            json!([{"type": "function", "name": "look", "description": "Looks.", "parameters": schema, "strict": true}]),
            json!([{"name": "look", "description": "Looks.", "input_schema": schema}]),
            json!([{"name": "look", "description": "Looks.", "inputSchema": schema, "annotations": {}}]),
            json!({"tools": [{"name": "look", "description": "Looks.", "inputSchema": schema}]}),
            json!([{"name": "look", "description": "Looks.", "parameters": schema}]),
        ];
        for form in forms {
            let registry = Registry::from_value(&form).unwrap();
            assert_eq!(*registry.get("look").unwrap(), Tool::new("look", "Looks.", schema.clone()));
        }
    }

    #[test]
    fn lists_of_other_services_give_the_same_tool() {
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let plain = json!({"name": "look", "description": "Looks.", "parameters": schema});
        let group = json!({"functionDeclarations": [plain]});
        let spec = json!({"toolSpec": {"name": "look", "inputSchema": {"json": schema}}});
        for list in [
            json!([group]),
            json!({"tools": [group]}),
            group.clone(),
            json!({"tools": [{"function_declarations": [{"name": "look", "parametersJsonSchema": schema}]}]}),
            json!({"toolConfig": {"tools": [spec]}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "look", "inputSchema": schema}]}}),
            json!({"functions": [plain]}),
        ] {
            for registry in [Registry::from_value(&list), Registry::tolerant(&list)] {
                let registry = registry.unwrap_or_else(|error| panic!("{list}: {error}"));
                assert_eq!(registry.get("look").map(|tool| &tool.parameters), Some(&schema), "{list}");
                assert!(registry.notes().is_empty(), "{list}: {:?}", registry.notes());
            }
        }
    }

    #[test]
    fn a_schema_in_an_odd_place_is_an_error_or_a_note() {
        let properties = json!({"city": {"type": "string"}, "days": {"type": "integer"}});
        let schema = json!({"type": "object", "properties": properties});
        for tool in [
            json!({"name": "look", "parameters": properties}),
            json!({"name": "look", "paramters": schema}),
            json!({"name": "look", "parameters": schema, "input_schema": {"type": "object"}}),
        ] {
            let error = Registry::from_value(&json!([tool])).err().unwrap_or_else(|| panic!("{tool}"));
            assert_eq!(error.tool.as_deref(), Some("look"), "{tool}");
            let registry =
                Registry::tolerant(&json!([tool])).unwrap_or_else(|error| panic!("{tool}: {error}"));
            assert_eq!(registry.notes().len(), 1, "{tool}: {:?}", registry.notes());
            let compiled = registry.compiled("look").unwrap_or_else(|| panic!("{tool}"));
            assert!(compiled.check(&json!({"city": "Oslo"}), ExtraArgs::Reject).is_empty(), "{tool}");
            assert_eq!(compiled.check(&json!({"city": 7}), ExtraArgs::Reject).len(), 1, "{tool}");
        }
        // A keyword with one subschema is no property.
        let list = json!([{"name": "look", "parameters": {"additionalProperties": {"type": "string"}}}]);
        assert!(Registry::from_value(&list).is_ok());
    }

    #[test]
    fn own_fields_and_missing_ones() {
        let list = r#"[{"name": "rm", "dangerous": true, "permission": "FS_WRITE"}, {"name": "now", "parameters": null}]"#;
        let registry = Registry::from_json(list).unwrap();
        let remove = registry.compiled("rm").unwrap();
        assert!(remove.tool.dangerous && remove.requires_nothing() && !remove.is_open());
        assert_eq!(remove.tool.permission.as_deref(), Some("FS_WRITE"));
        assert!(!registry.get("now").unwrap().dangerous);
        assert_eq!(registry.names().collect::<Vec<_>>(), ["rm", "now"]);
    }

    #[test]
    fn a05_a_taken_name_is_rejected_and_clones_are_independent() {
        let mut registry = Registry::new();
        registry.register(Tool::new("a", "first", json!({}))).unwrap();
        let before = registry.clone();
        registry.register(Tool::new("b", "other", json!({}))).unwrap();
        let error = registry.register(Tool::new("a", "second", json!({}))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tool `a`: the name is taken by tool 0 (tool-name-taken). Give each tool a name of its own."
        );
        assert_eq!(registry.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(registry.get("a").unwrap().description, "first");
        assert_eq!((before.len(), registry.len(), registry.is_empty()), (1, 2, false));
    }

    #[test]
    fn a05_a_name_that_stands_twice_in_a_list_is_an_error_with_both_places() {
        let names = |names: &[&str]| names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>();
        let mixed = json!([{"type": "function", "function": {"name": "b"}}, {"name": "a"}, {"name": "b"}]);
        for (list, index, first) in [
            (json!(names(&["look", "look", "wipe"])), 1, 0),
            (json!({"tools": names(&["a", "b", "c", "b"])}), 3, 1),
            (mixed, 2, 0),
        ] {
            let error = Registry::from_value(&list).unwrap_err();
            assert_eq!((error.code.word(), error.index), ("tool-name-taken", Some(index)), "{list}");
            assert!(error.message.ends_with(&format!("taken by tool {first}")), "{error}");
        }
    }

    #[test]
    fn a05_a_batch_line_with_a_name_twice_is_an_error_line_and_the_next_line_is_read() {
        let mut gates = callgate::internal::batch::Gates::default();
        let twice = r#"{"id": 7, "text": "x", "tools": [{"name": "a"}, {"name": "a"}]}"#;
        for _ in 0..2 {
            let outcome = callgate::internal::batch::scan_line(twice, &mut gates);
            assert!(outcome.failed && outcome.line.contains("tool-name-taken"), "{}", outcome.line);
            assert!(outcome.line.contains("\"id\":7"), "{}", outcome.line);
            let next = callgate::internal::batch::scan_line(
                r#"{"id": 8, "text": "x", "tools": [{"name": "a"}]}"#,
                &mut gates,
            );
            assert!(!next.failed, "{}", next.line);
        }
    }

    #[test]
    fn registering_asks_for_name_and_description() {
        let mut registry = Registry::new();
        let code = |result: Result<(), RegistryError>| result.unwrap_err().code.word();
        assert_eq!(code(registry.register(Tool::new("", "d", json!({})))), "tool-without-name");
        assert_eq!(code(registry.register(Tool::new("a", " ", json!({})))), "tool-without-description");
        assert_eq!(code(registry.register(Tool::new("a", "d", json!([])))), "tool-bad-schema");
        assert!(registry.is_empty());
    }

    #[test]
    fn errors_say_where() {
        let error = Registry::from_json("[{\"name\": \"a\"},\n {\"name\" 1}]").unwrap_err();
        assert_eq!((error.code.word(), error.line_column), ("tools-bad-json", Some((2, 10))));
        assert!(error.to_string().contains("line 2, column 10"), "{error}");

        let list = json!([{"name": "a"}, {"type": "function", "function": {"name": "b", "parameters":
            {"type": "object", "properties": {"x": {"type": "strin"}}}}}]);
        let error = Registry::from_value(&list).unwrap_err();
        assert_eq!((error.index, error.tool.as_deref()), (Some(1), Some("b")));
        assert_eq!(error.pointer, "/properties/x/type");
        assert_eq!(
            error.to_string(),
            "tool 1 `b`: there is no type \"strin\" at /properties/x/type (tool-bad-schema). \
             Correct the JSON Schema."
        );

        for (list, code) in [
            (json!("x"), "tools-bad-shape"),
            (json!({"tools": 1}), "tools-bad-shape"),
            (json!([1]), "tools-bad-shape"),
            (json!([{"function": 1}]), "tools-bad-shape"),
            (json!([{"name": 5}]), "tools-bad-shape"),
            (json!([{"name": "a", "dangerous": "no"}]), "tools-bad-shape"),
            (json!([{"type": "web_search"}]), "tool-without-name"),
            (json!([{"name": "a", "parameters": true}]), "tool-bad-schema"),
        ] {
            assert_eq!(Registry::from_value(&list).unwrap_err().code.word(), code, "{list}");
        }
    }

    #[test]
    fn the_list_comes_back_in_openai_form() {
        let list = json!([{"type": "function", "function":
            {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}]);
        assert_eq!(Registry::from_value(&list).unwrap().to_openai(), list);
    }

    #[test]
    fn near_names_are_found() {
        let list = json!([{"name": "read_file"}, {"name": "write_file"}, {"name": "search"}]);
        let registry = Registry::from_value(&list).unwrap();
        assert_eq!(registry.nearest("ReadFile"), ["read_file"]);
        assert_eq!(registry.nearest("read_fil")[0], "read_file");
        assert!(registry.nearest("quux").is_empty());
    }

    #[cfg(feature = "schemars")]
    #[test]
    fn a_rust_type_is_a_schema() {
        #[derive(schemars::JsonSchema)]
        #[allow(dead_code)]
        struct Look {
            /// What to look for.
            query: String,
            limit: Option<u8>,
        }
        let mut registry = Registry::new();
        registry.register(Tool::from_type::<Look>("look", "Looks.")).unwrap();
        let tool = registry.compiled("look").unwrap();
        assert_eq!(tool.required(), ["query"]);
        assert_eq!(tool.types("limit"), Some(TypeSet::INTEGER.or(TypeSet::NULL)));
        assert!(tool.check(&json!({"query": "cats", "limit": 3}), ExtraArgs::Reject).is_empty());
    }
}

mod schemas_are_untrusted {
    use super::*;

    #[test]
    fn malformed_schemas_are_rejected_by_code() {
        for schema in [
            json!({"type": "strin"}),
            json!({"type": "string"}),
            json!({"type": 5}),
            json!({"properties": ["a"]}),
            json!({"properties": {"a": {"type": "string", "required": true}}}),
            json!({"properties": {"a": {"minimum": "1"}}}),
            json!({"required": [1]}),
            json!({"enum": {"a": 1}}),
        ] {
            assert_eq!(rejection(schema.clone()).0, "tool-bad-schema", "{schema}");
        }
    }

    #[test]
    fn patterns_run_in_linear_time_or_not_at_all() {
        for pattern in ["(?=x)y", "(?!x)", "(?<=a)b", "(x)\\1", "(x", "(((a{1000}){1000}){1000})"] {
            let (code, message) = rejection(json!({"properties": {"a": {"pattern": pattern}}}));
            assert_eq!(code, "tool-bad-pattern", "{message}");
            assert!(message.contains("/properties/a/pattern"), "{message}");
        }
        assert!(rejection(json!({"properties": {"a": {"pattern": "(?=x)y"}}})).1.contains("look-around"));
        let (code, _) = rejection(json!({"patternProperties": {"(?=x)": {}}}));
        assert_eq!(code, "tool-bad-pattern");
        let tool = property(json!({"type": "string", "pattern": "^(a+)+$"}));
        let hostile = json!({"v": format!("{}!", "a".repeat(100_000))});
        let found = watched("a pattern that backtracks elsewhere".to_owned(), || {
            tool.check(&hostile, ExtraArgs::Reject)
        });
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn references_stay_inside() {
        for reference in [
            "https://example.com/x.json",
            "file:///etc/passwd",
            "other.json#/a",
            "#/$defs/nope",
            "#nope",
            "urn:x:y",
        ] {
            let (code, message) = rejection(json!({"properties": {"a": {"$ref": reference}}}));
            assert_eq!(code, "tool-bad-reference", "{message}");
        }
        assert_eq!(rejection(json!({"$schema": "http://x.y/z"})).0, "tool-bad-reference");
        let nested = json!({"properties": {"a": {"$id": "https://x/y", "$ref": "#/z"}}});
        assert_eq!(rejection(nested).0, "tool-bad-reference");
    }

    #[test]
    fn a_schema_that_is_itself_is_rejected() {
        for schema in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}},
                "properties": {"x": {"$ref": "#/$defs/a"}}}),
        ] {
            assert_eq!(rejection(schema).0, "tool-bad-reference");
        }
    }

    #[test]
    fn size_nesting_and_entanglement_are_capped() {
        let mut deep = json!({"type": "string"});
        for _ in 0..70 {
            deep = json!({"type": "array", "items": deep});
        }
        assert_eq!(rejection(json!({"properties": {"a": deep}})).0, "tool-too-complex");
        let large = "x".repeat(300 << 10);
        assert_eq!(rejection(json!({"description": large})).0, "tool-too-complex");
        for (body, length) in [("twice", 11), ("once", 5000)] {
            let mut definitions = serde_json::Map::new();
            for i in 0..length {
                let next = json!({"$ref": format!("#/$defs/a{}", i + 1)});
                let schema = if body == "twice" { json!({"allOf": [next, next]}) } else { next };
                definitions.insert(format!("a{i}"), schema);
            }
            definitions.insert(format!("a{length}"), json!({"type": "string"}));
            let schema = json!({"$defs": definitions, "properties": {"x": {"$ref": "#/$defs/a0"}}});
            assert_eq!(rejection(schema).0, "tool-too-complex");
        }
    }

    #[test]
    fn a_long_chain_of_members_neither_overflows_nor_explodes() {
        let mut definitions = serde_json::Map::new();
        for i in 0..2000 {
            let next = json!({"$ref": format!("#/$defs/a{}", i + 1)});
            definitions.insert(
                format!("a{i}"),
                json!({"anyOf": [{"properties": {"x": next}}, {"properties": {"x": next}}]}),
            );
        }
        definitions.insert("a2000".to_owned(), json!({"type": "string"}));
        let tool = CompiledTool::compile(Tool::new(
            "t",
            "d",
            json!({"$defs": definitions, "properties": {"x": {"$ref": "#/$defs/a0"}}}),
        ));
        let Ok(tool) = tool else { return };
        let mut value = json!(5);
        for _ in 0..100 {
            value = json!({"x": value});
        }
        let _ = tool.check(&value, ExtraArgs::Allow);
    }

    /// Reasons would double with every level; the verdict must not.
    #[test]
    fn recursive_alternatives_are_judged_in_bounded_time() {
        let form = |op: &str| {
            json!({"type": "object", "required": ["op", "args"],
                "properties": {"op": {"const": op}, "args": {"type": "array", "items": {"$ref": "#/$defs/E"}}}})
        };
        let tool = compiled(json!({
            "$defs": {"E": {"anyOf": [{"type": "string"}, form("and"), form("or"), form("not")]}},
            "properties": {"e": {"$ref": "#/$defs/E"}},
        }));
        let nest = |leaf: Value, levels: usize| {
            let inner = (0..levels).fold(leaf, |inner, _| json!({"op": "or", "args": [inner]}));
            json!({"e": inner})
        };
        let check = |value: &Value| watched(format!("{value}"), || tool.check(value, ExtraArgs::Reject));
        assert!(check(&nest(json!("x"), 30)).is_empty());
        let shallow = check(&nest(json!(5), 1));
        assert_eq!(shallow[0].path, "/e/args/0");
        let deep = check(&nest(json!(5), 30));
        assert_eq!((deep.len(), deep[0].code), (1, Code::SchemaMismatch));
    }

    #[test]
    fn a_recursive_schema_keeps_its_reasons_and_the_stack() {
        let mut chain = json!({"$ref": "#"});
        for _ in 0..20 {
            chain = json!({"allOf": [chain]});
        }
        for items in [json!({"$ref": "#"}), chain] {
            let tool = compiled(json!({"type": "object", "properties":
                {"n": {"type": "integer"}, "below": {"type": "array", "items": items}}}));
            let nest =
                |levels: usize| (0..levels).fold(json!({"n": "x"}), |inner, _| json!({"below": [inner]}));
            let found = tool.check(&nest(20), ExtraArgs::Reject);
            assert_eq!((found.len(), found[0].code), (1, Code::WrongType));
            let found = tool.check(&nest(500), ExtraArgs::Reject);
            assert_eq!((found.len(), found[0].code), (1, Code::SchemaMismatch));
        }
    }

    #[test]
    fn older_drafts_are_understood() {
        let tool = property(json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}));
        assert_eq!(tool.check(&json!({"v": 0}), ExtraArgs::Reject).len(), 1);
        let tool = property(json!({"type": "array", "items": [{"type": "string"}]}));
        assert_eq!(tool.check(&json!({"v": [1]}), ExtraArgs::Reject)[0].path, "/v/0");
        let tool = compiled(json!({"$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"A": {"type": "integer"}}, "properties": {"v": {"$ref": "#/definitions/A"}}}));
        assert_eq!(tool.types("v"), Some(TypeSet::INTEGER));
    }

    #[test]
    fn a_word_of_an_older_draft_takes_no_other_word_away() {
        let older = [
            json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
            json!({"type": "array", "items": [{"type": "string"}], "additionalItems": false}),
        ];
        for (older, wrong) in older.iter().flat_map(|older| {
            let wrong = [
                (json!({"const": "dry"}), json!("wet")),
                (json!({"type": "array", "contains": {"enum": ["q"]}}), json!(["a"])),
                (json!({"propertyNames": {"maxLength": 1}}), json!({"long": 1})),
                (json!({"if": {"enum": ["a"]}, "then": {"maxLength": 0}}), json!("a")),
                (json!({"type": "integer", "exclusiveMaximum": 5}), json!(7)),
                (json!({"prefixItems": [true], "items": false}), json!([1, 2])),
            ];
            wrong.map(|wrong| (older, wrong))
        }) {
            let (schema, value) = wrong;
            let tool = compiled(json!({"type": "object", "properties": {"x": older, "v": schema}}));
            assert!(
                !tool.check(&json!({"v": value}), ExtraArgs::Reject).is_empty(),
                "{older} beside {schema}"
            );
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(true)),
            Just(json!(null)),
            (-3i64..4).prop_map(Value::from),
            Just(json!(0.5)),
            prop::sample::select(vec![
                "string",
                "integer",
                "object",
                "array",
                "#",
                "#/a",
                "#/properties/b",
                "a",
                "(",
                "^a$",
                "x*"
            ])
            .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            let key = prop::sample::select(vec![
                "type",
                "properties",
                "a",
                "b",
                "items",
                "anyOf",
                "oneOf",
                "allOf",
                "not",
                "if",
                "then",
                "else",
                "$ref",
                "$defs",
                "enum",
                "const",
                "required",
                "pattern",
                "minimum",
                "additionalProperties",
                "patternProperties",
                "dependentSchemas",
                "prefixItems",
                "contains",
                "propertyNames",
                "default",
                "$id",
                "$anchor",
                "minItems",
                "uniqueItems",
                "unevaluatedProperties",
                "$dynamicRef",
                "$recursiveRef",
                "multipleOf",
                "maxLength",
            ]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key.prop_map(str::to_owned), inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Any schema compiles or is rejected, and any value is judged the same by every way in.
        #[test]
        fn nothing_panics(schema in any_json(), value in any_json()) {
            let Ok(tool) = CompiledTool::compile(Tool::new("t", "d", schema)) else { return Ok(()) };
            let _ = tool.example();
            let text = value.to_string();
            let Some(tape) = Tape::parse(&text) else { return Ok(()) };
            for extra in [ExtraArgs::Allow, ExtraArgs::Reject, ExtraArgs::Drop] {
                let findings = tool.check(&value, extra);
                let fitted = tool.fit(&text, &tape, Coerce::Off, extra, false);
                if value.is_object() {
                    prop_assert_eq!(findings.is_empty(), fitted.findings.is_empty());
                }
                let fitted = tool.fit(&text, &tape, Coerce::Lossless, extra, false);
                if let Some(changed) = fitted.arguments {
                    let changed: Value = serde_json::from_str(&changed).unwrap();
                    prop_assert!(tool.check(&changed, extra).is_empty());
                }
            }
        }
    }
}

#[test]
fn tolerant_loading_reads_lists_as_people_write_them() {
    let list = json!([
        {"name": "lend", "parameters": {"type": "dict", "required": ["book"], "properties": {
            "book": {"type": "str"}, "days": {"type": "uint"}, "late": {"type": "bool"}, "tags": {"type": "list"},
            "fee": {"type": "float"}, "of": {"type": ["int", "none"]}, "any": {"type": "any"}, "odd": {"type": "frob"},
            "note": {"type": "STRING", "nullable": true}, "code": {"type": "string", "pattern": "(?=a)b"},
            "far": {"$ref": "https://example.org/far.json"}, "lost": {"$ref": "#/$defs/lost"},
            "type": {"enum": [{"type": "int"}]}}}},
        {"name": "bare"},
        {"type": "web_search"},
        "no tool",
        {"name": "words", "parameters": "any"},
        {"name": "text", "parameters": {"type": "string"}},
    ]);
    assert!(Registry::from_value(&list).is_err());
    let tools = Registry::tolerant(&list).unwrap();
    assert_eq!(tools.names().collect::<Vec<_>>(), ["lend", "bare", "words", "text"]);
    for part in
        ["`dict`", "uint", "frob", "far.json", "#/$defs/lost", "(?=a)b", "tool 2: ", "tool 3: ", "no schema"]
    {
        let part = part.trim_matches('`');
        assert!(tools.notes().iter().any(|note| note.contains(part)), "{part}: {:#?}", tools.notes());
    }
    let lend = tools.compiled("lend").unwrap();
    let problems = |arguments: Value| lend.check(&arguments, ExtraArgs::Reject);
    let all = json!({"book": "Emma", "days": 3, "late": true, "tags": [], "fee": 1.5, "of": null, "any": {}, "odd": 1,
        "note": null, "code": "zz", "far": 1, "lost": [], "type": {"type": "int"}});
    assert_eq!(problems(all), []);
    for wrong in [
        json!({}),
        json!({"book": 1}),
        json!({"book": "a", "days": -1}),
        json!({"book": "a", "late": "x"}),
        json!({"book": "a", "of": "x"}),
        json!({"book": "a", "note": 1}),
        json!({"book": "a", "type": {"type": "integer"}}),
    ] {
        assert_ne!(problems(wrong.clone()), [], "{wrong}");
    }
    let twice = json!([{"name": "a"}, {"name": "a"}]);
    assert_eq!(Registry::tolerant(&twice).unwrap_err().code, RegistryErrorCode::NameTaken);
    assert!(Registry::tolerant(&json!(3)).is_err() && Registry::tolerant_json("[").is_err());
    assert_eq!(Registry::tolerant_json("[]").unwrap().notes(), [""; 0]);
}

#[test]
fn a_schema_that_cannot_be_used_at_all_constrains_nothing() {
    let mut deep = json!({"type": "integer"});
    for _ in 0..100 {
        deep = json!({"properties": {"a": deep}});
    }
    let tools = Registry::tolerant(&json!([{"name": "deep", "parameters": deep}, {"name": "next"}])).unwrap();
    assert_eq!(tools.names().collect::<Vec<_>>(), ["deep", "next"]);
    assert!(!tools.notes().is_empty());
    let compiled = tools.compiled("deep").unwrap();
    assert_eq!(compiled.check(&json!({"a": 1}), ExtraArgs::Reject), []);
}

#[test]
fn a_subschema_that_cannot_be_used_excludes_nothing() {
    let missing = json!({"$ref": "#/$defs/Missing"});
    for (schema, right) in [
        (json!({"not": missing}), vec![json!("a"), json!(null), json!(3)]),
        (json!({"type": "string", "not": {"anyOf": [missing]}}), vec![json!("a")]),
        (json!({"oneOf": [{"type": "null"}, missing]}), vec![json!("a"), json!(null)]),
        (json!({"if": missing, "then": {"type": "string"}}), vec![json!("a"), json!(3)]),
        (json!({"properties": {"not": missing}}), vec![json!({"not": 3}), json!({"not": "a"})]),
    ] {
        let parameters = json!({"type": "object", "properties": {"x": schema}});
        let tools = Registry::tolerant(&json!([{"name": "set", "parameters": parameters}])).unwrap();
        let compiled = tools.compiled("set").unwrap();
        for value in right {
            assert_eq!(compiled.check(&json!({"x": value}), ExtraArgs::Reject), [], "{schema}");
        }
        assert!(!tools.notes().is_empty(), "{schema}");
    }
}
