//! Examples: made-up arguments that a schema accepts, so that a prompt or a message can show instead of tell.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::graph::{measure, resolve};
use super::types::TypeSet;
use super::{CompiledTool, compile_schema, usual};

/// The first made-up value that the schema accepts, else the one with what is required.
pub(super) fn of(compiled: &CompiledTool) -> Value {
    let root = &compiled.tool.parameters;
    let anchors = measure(root).unwrap_or_default();
    let mut attempt = None;
    for alternative in 0..ALTERNATIVES {
        for optional in [OPTIONAL, 0, usize::MAX] {
            let maker = Maker { tool: &compiled.tool.name, root, anchors: &anchors, alternative, optional };
            let value = maker.make(root, "value", DEEPEST);
            if value.is_object() && compiled.schema.validator.is_valid(&value) {
                return value;
            }
            attempt.get_or_insert(value);
        }
    }
    attempt.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

/// Arguments that write a whole file, where the tool takes its place and its text and nothing more has to be known.
pub(super) fn of_file(compiled: &CompiledTool, path: &str, text: &str) -> Option<Value> {
    let required = compiled.required();
    let place = required.iter().find(|key| usual::is_place_of_file(key))?;
    let body = required.iter().find(|key| usual::is_text_of_file(key))?;
    let mut arguments = of(compiled);
    let members = arguments.as_object_mut()?;
    members.insert((*place).to_owned(), path.into());
    members.insert((*body).to_owned(), text.into());
    compiled.validator.is_valid(&arguments).then_some(arguments)
}

/// The deepest structure that is made up; below it, containers stay empty.
const DEEPEST: usize = 6;
/// How many optional members are shown in an object that requires none.
const OPTIONAL: usize = 2;
/// How many members of a choice are tried.
const ALTERNATIVES: usize = 4;
/// How many subschemas are read together as one.
const MERGED: usize = 64;
/// The most items of an array that are made up.
const ITEMS: u64 = 16;

struct Maker<'a> {
    tool: &'a str,
    root: &'a Value,
    anchors: &'a HashMap<&'a str, &'a Value>,
    /// Which of several alternatives is taken; the last one where there are fewer.
    alternative: usize,
    /// How many optional members are shown in an object that requires none; `usize::MAX`: all, in every object.
    optional: usize,
}

/// A schema together with what it refers to and one of its alternatives, as if they were written in one place.
#[derive(Default)]
struct View<'a> {
    keywords: BTreeMap<&'a str, &'a Value>,
    properties: BTreeMap<&'a str, &'a Value>,
    required: Vec<&'a str>,
}

impl<'a> View<'a> {
    fn list(&self, keyword: &str) -> &'a [Value] {
        self.keywords.get(keyword).and_then(|list| list.as_array()).map_or(&[], Vec::as_slice)
    }

    fn description(&self) -> &'a str {
        self.keywords.get("description").and_then(|text| text.as_str()).unwrap_or_default()
    }
}

impl<'a> Maker<'a> {
    /// A value for one schema. It goes into members for at most `levels` levels, whatever the schema says.
    fn make(&self, schema: &'a Value, name: &str, levels: usize) -> Value {
        let view = self.view(schema);
        let fixed = ["const", "default"].iter().find_map(|keyword| view.keywords.get(keyword).copied());
        let given = fixed.or_else(|| view.list("examples").first()).or_else(|| view.list("enum").first());
        if let Some(value) = given.filter(|value| !value.is_null()) {
            return value.clone();
        }
        let types = view.keywords.get("type").map_or(TypeSet::ANY, |types| TypeSet::of_keyword(types));
        let looks_like_object = !view.properties.is_empty() || !view.required.is_empty();
        let looks_like_array = view.keywords.contains_key("items");
        if types.contains(TypeSet::OBJECT) && (!types.any() || looks_like_object) {
            self.object(&view, levels)
        } else if types.contains(TypeSet::ARRAY) && (!types.any() || looks_like_array) {
            self.array(&view, name, levels)
        } else if types.contains(TypeSet::STRING) {
            first_valid(&view, strings(self.tool, &view, name))
        } else if types.contains(TypeSet::INTEGER) {
            first_valid(&view, numbers(&view, name))
        } else if types.contains(TypeSet::BOOLEAN) {
            Value::Bool(true)
        } else {
            Value::Null
        }
    }

    fn object(&self, view: &View<'a>, levels: usize) -> Value {
        let mut members = Map::new();
        if levels == 0 {
            return Value::Object(members);
        }
        let shown = if view.required.is_empty() || self.optional == usize::MAX { self.optional } else { 0 };
        let optional = view.properties.keys().filter(|key| !view.required.contains(key)).take(shown);
        for key in view.required.iter().chain(optional) {
            let value = match view.properties.get(key) {
                Some(schema) => self.make(schema, key, levels - 1),
                None => usual::string(self.tool, key, "").swap_remove(0).into(),
            };
            members.insert((*key).to_owned(), value);
        }
        Value::Object(members)
    }

    fn array(&self, view: &View<'a>, name: &str, levels: usize) -> Value {
        if levels == 0 {
            return Value::Array(Vec::new());
        }
        let first = view.list("prefixItems").iter().chain(view.list("items"));
        let mut items: Vec<Value> = first.map(|schema| self.make(schema, name, levels - 1)).collect();
        let least =
            view.keywords.get("minItems").and_then(|least| least.as_u64()).unwrap_or(1).clamp(1, ITEMS);
        if let Some(schema) = view.keywords.get("items").filter(|items| !items.is_array()) {
            while (items.len() as u64) < least {
                items.push(self.make(schema, name, levels - 1));
            }
        }
        Value::Array(items)
    }

    fn view(&self, schema: &'a Value) -> View<'a> {
        let mut view = View::default();
        let mut pending = vec![schema];
        for _ in 0..MERGED {
            let Some(fields) = pending.pop().map(Value::as_object) else { break };
            for (keyword, argument) in fields.into_iter().flatten() {
                match (keyword.as_str(), argument) {
                    ("$ref" | "$dynamicRef" | "$recursiveRef", _) => {
                        pending.extend(resolve(self.root, self.anchors, argument).map(|(target, _)| target));
                    }
                    ("allOf", Value::Array(all)) => pending.extend(all),
                    ("anyOf" | "oneOf", Value::Array(choice)) => pending.extend(self.choose(choice)),
                    ("properties", Value::Object(properties)) => {
                        for (key, schema) in properties {
                            view.properties.entry(key).or_insert(schema);
                        }
                    }
                    ("required", Value::Array(names)) => {
                        for name in names.iter().filter_map(Value::as_str) {
                            if !view.required.contains(&name) {
                                view.required.push(name);
                            }
                        }
                    }
                    (keyword, _) => {
                        view.keywords.entry(keyword).or_insert(argument);
                    }
                }
            }
        }
        view
    }

    /// One of several alternatives, null last, since it shows nothing.
    fn choose(&self, choice: &'a [Value]) -> Option<&'a Value> {
        let is_null = |schema: &Value| schema.get("type").is_some_and(|types| types == "null");
        let (nulls, others): (Vec<&Value>, Vec<&Value>) = choice.iter().partition(|schema| is_null(schema));
        let all: Vec<&Value> = others.into_iter().chain(nulls).collect();
        all.get(self.alternative.min(all.len().saturating_sub(1))).copied()
    }
}

/// The keywords that decide which of several made-up scalars is valid.
const SCALAR_RULES: [&str; 9] = [
    "type",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

/// The first candidate that keeps the rules, else the first.
fn first_valid(view: &View<'_>, candidates: Vec<Value>) -> Value {
    let rules: Map<String, Value> = SCALAR_RULES
        .iter()
        .filter_map(|rule| Some(((*rule).to_owned(), (*view.keywords.get(rule)?).clone())))
        .collect();
    let validator = compile_schema(&Value::Object(rules)).ok();
    let valid = |candidate: &&Value| validator.as_ref().is_none_or(|validator| validator.is_valid(candidate));
    candidates.iter().find(valid).or(candidates.first()).cloned().unwrap_or_default()
}

fn strings(tool: &str, view: &View<'_>, name: &str) -> Vec<Value> {
    let format = view.keywords.get("format").and_then(|format| format.as_str()).unwrap_or_default();
    let formatted = FORMATS.iter().find(|(known, _)| *known == format).map(|(_, text)| *text);
    let mut candidates: Vec<String> = formatted.into_iter().map(str::to_owned).collect();
    let usual = usual::string(tool, name, view.description());
    candidates.extend(usual.iter().cloned());
    // A pattern cannot be turned round, but most are met by something everyday.
    candidates.extend(FORMATS.iter().map(|(_, text)| (*text).to_owned()));
    candidates.extend(EVERYDAY.iter().map(|text| (*text).to_owned()));
    let limit = |keyword| view.keywords.get(keyword).and_then(|limit| limit.as_u64());
    if let Some(least) = limit("minLength").filter(|least| *least <= 4096) {
        candidates.push("a".repeat(least as usize));
        candidates.push("0".repeat(least as usize));
    }
    if let Some(most) = limit("maxLength") {
        candidates.extend(usual.iter().map(|text| text.chars().take(most as usize).collect()));
    }
    candidates.into_iter().map(Value::String).collect()
}

const FORMATS: [(&str, &str); 7] = [
    ("date", "2025-01-31"),
    ("date-time", "2025-01-31T12:00:00Z"),
    ("time", "12:00:00Z"),
    ("email", "someone@example.com"),
    ("uri", "https://example.com/"),
    ("uuid", "123e4567-e89b-42d3-a456-426614174000"),
    ("ipv4", "192.0.2.1"),
];

const EVERYDAY: [&str; 10] = ["a", "A", "1", "abc", "ABC", "12", "123", "1234", "a1", "a/b"];

fn numbers(view: &View<'_>, name: &str) -> Vec<Value> {
    let limit = |keyword| view.keywords.get(keyword).copied().filter(|limit| limit.is_number());
    let mut candidates = usual::number(name, view.description());
    candidates.extend([json!(1), json!(0), json!(10)]);
    for keyword in ["minimum", "maximum", "multipleOf"] {
        candidates.extend(limit(keyword).cloned());
    }
    for (keyword, step) in [("exclusiveMinimum", 1.0), ("exclusiveMaximum", -1.0), ("minimum", 1.0)] {
        if let Some(bound) = limit(keyword) {
            candidates
                .extend(bound.as_i64().and_then(|whole| whole.checked_add(step as i64)).map(Value::from));
            candidates.extend(bound.as_f64().map(|bound| json!(bound + step / 16.0)));
        }
    }
    if let (Some(least), Some(part)) =
        (limit("minimum").and_then(Value::as_f64), limit("multipleOf").and_then(Value::as_f64))
    {
        candidates.push(json!((least / part).ceil() * part));
        candidates.push(json!(((least / part).ceil() * part) as i64));
    }
    candidates
}
