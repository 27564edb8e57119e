//! Validation: a compiled schema, which judges values and fits them, and a tool, whose arguments one judges.

mod coerce;
mod exact;
mod example;
mod graph;
pub(crate) mod outline;
mod problem;
mod quick;
mod spell_out;
mod text;
mod types;
mod usual;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use crate::effort::Effort;
use crate::finding::Finding;
use crate::policy::ExtraArgs;
use crate::registry::{RegistryError, RegistryErrorCode, Tool, meant_type};
use exact::Exact;
use graph::{Depths, Extras, Graph};
use outline::Outline;
use quick::Quick;

pub use coerce::Fit;
pub(crate) use problem::place_in_words;
pub use problem::{ProblemKind, SchemaProblem};
pub use text::type_text;
pub use types::TypeSet;

/// A schema that has been compiled, so that values can be judged.
pub struct CompiledSchema {
    validator: Validator,
    /// A shorter way to the same answer, for schemas that allow one.
    quick: Option<Quick>,
    keys: BTreeMap<String, TypeSet>,
    others: Option<TypeSet>,
    extras: Extras,
    required: Vec<String>,
    root: TypeSet,
    depths: Depths,
    /// How many subschemas judge one value at most.
    judges: u64,
    /// What the schema says about numbers.
    exact: Exact,
    /// The types inside of the value.
    pub(crate) outline: Outline,
}

/// A tool whose schema has been compiled, so that arguments can be judged.
pub struct CompiledTool {
    /// The tool as it was registered.
    pub tool: Tool,
    schema: CompiledSchema,
    requires_nothing: bool,
}

/// What judges the arguments of a tool is its schema.
impl Deref for CompiledTool {
    type Target = CompiledSchema;

    fn deref(&self) -> &CompiledSchema {
        &self.schema
    }
}

impl CompiledTool {
    /// Compiles the schema of a tool, which must allow an object. See [`CompiledSchema::compile`].
    pub fn compile(tool: Tool) -> Result<Self, RegistryError> {
        let mut tool = tool;
        if !tool.parameters.is_object() {
            return Err(bad_schema("the schema of the arguments must be an object"));
        }
        let schema = CompiledSchema::compile(&mut tool.parameters)?;
        if !schema.root.contains(TypeSet::OBJECT) {
            return Err(bad_schema("the schema of the arguments must allow an object").at("/type"));
        }
        let requires_nothing = schema.validator.is_valid(&Value::Object(serde_json::Map::new()));
        Ok(CompiledTool { tool, schema, requires_nothing })
    }

    /// Whether a call without arguments is valid.
    pub fn requires_nothing(&self) -> bool {
        self.requires_nothing
    }

    /// Arguments that the schema accepts: the required ones and a few more, for prompts and messages. Where no
    /// valid example can be made up (a pattern, a rule between members), it is the nearest attempt.
    pub fn example(&self) -> Value {
        example::of(self)
    }

    /// Arguments that write a whole file, where the tool takes its place and its text.
    pub(crate) fn file_example(&self, path: &str, text: &str) -> Option<Value> {
        example::of_file(self, path, text)
    }
}

impl CompiledSchema {
    /// Compiles a schema, in which `nullable` is spelled out. Fails, and never panics, on a schema that is malformed,
    /// refers to anything outside itself, has a pattern that cannot run in linear time, or asks for unbounded work.
    pub fn compile(schema: &mut Value) -> Result<Self, RegistryError> {
        graph::measure(schema)?;
        spell_out::spell_out(schema);
        if !schema.is_object() && !schema.is_boolean() {
            return Err(bad_schema("a schema must be an object, or true or false"));
        }
        let schema: &Value = schema;
        let graph = Graph::build(schema)?;
        let top = graph.top_level();
        Ok(CompiledSchema {
            validator: compile_schema(schema)?,
            quick: Quick::new(schema),
            keys: top.keys,
            others: top.others,
            extras: top.extras,
            required: top.required,
            root: graph.root_types(),
            depths: graph.depths(),
            judges: graph.judges(),
            exact: Exact::new(schema),
            outline: graph.outline(),
        })
    }

    /// Everything that is wrong with a value, as findings; nothing if it is valid. See [`CompiledSchema::problems`].
    pub fn check(&self, value: &Value, extra: ExtraArgs) -> Vec<Finding> {
        self.problems(value, extra).iter().map(SchemaProblem::finding).collect()
    }

    /// Everything that is wrong with a value, at most 64 problems. Where the policy drops unknown arguments, the
    /// value is judged without them.
    pub fn problems(&self, value: &Value, extra: ExtraArgs) -> Vec<SchemaProblem> {
        let effort = &mut Effort::default();
        let extras = self.extra_keys(value);
        match extra {
            // A call of which nothing is left is another call.
            ExtraArgs::Drop if value.as_object().is_some_and(|members| members.len() == extras.len()) => {
                let listed = extras.iter().take(problem::LISTED);
                let mut problems: Vec<SchemaProblem> =
                    listed.map(|key| SchemaProblem::unexpected("", key, self.keys(), effort)).collect();
                if problems.is_empty() {
                    problems = self.schema_problems(value, effort);
                }
                problems
            }
            ExtraArgs::Drop if !extras.is_empty() => {
                let mut kept = value.clone();
                if let Some(members) = kept.as_object_mut() {
                    members.retain(|key, _| self.has_key(key));
                }
                self.schema_problems(&kept, effort)
            }
            // What the schema itself forbids is among the validator's own errors.
            ExtraArgs::Reject if self.extras == Extras::Silent => {
                let mut problems = self.schema_problems(value, effort);
                let room = problem::LISTED.saturating_sub(problems.len());
                problems.extend(
                    extras
                        .iter()
                        .take(room)
                        .map(|key| SchemaProblem::unexpected("", key, self.keys(), effort)),
                );
                problems
            }
            _ => self.schema_problems(value, effort),
        }
    }

    /// The types that the schema allows for the argument of this name; none for a name that it does not know.
    pub fn types(&self, key: &str) -> Option<TypeSet> {
        self.keys.get(key).copied().or(self.others)
    }

    /// Whether the schema mentions an argument of this name.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// The names of the arguments that the schema mentions, sorted.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// The names of the arguments that every call must have, in the order of the schema.
    pub fn required(&self) -> Vec<&str> {
        self.required.iter().map(String::as_str).collect()
    }

    /// Whether the schema itself allows arguments that it does not mention.
    pub fn is_open(&self) -> bool {
        self.extras == Extras::Allowed
    }

    /// The names at the top level that the schema lists nowhere, unless it allows others.
    fn extra_keys<'v>(&self, value: &'v Value) -> Vec<&'v str> {
        match value.as_object() {
            Some(members) if self.extras != Extras::Allowed => {
                members.keys().map(String::as_str).filter(|key| !self.has_key(key)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn schema_problems(&self, value: &Value, effort: &mut Effort) -> Vec<SchemaProblem> {
        match self.verdict(value, Extent::of(value).count, effort) {
            Validity::Valid => Vec::new(),
            Validity::Invalid(errors) => {
                let known: Vec<&str> = self.keys().collect();
                problem::list(&errors, value, &known, effort)
            }
            Validity::Unexplained(why) => self.roughly(value, why),
        }
    }

    /// What can be said about a value whose errors would cost too much to collect.
    fn roughly(&self, value: &Value, why: Why) -> Vec<SchemaProblem> {
        let actual = match why {
            Why::Deep => "a value nested too deeply to say where it does not",
            Why::Costly => "a value that takes more work to judge than there is left",
            Why::Large => {
                let problems = problem::by_types(&self.outline, value);
                if !problems.is_empty() {
                    return problems;
                }
                "a value too large to say where it does not"
            }
        };
        let expected = "arguments that follow the schema".to_owned();
        vec![SchemaProblem::at(ProblemKind::Rule, "", expected, actual.to_owned())]
    }

    /// Judges a value that is made of `count` values. The answer is cheap; the reasons are collected only where they are
    /// wanted, and only where there cannot be many: a validator collects all of them, for each alternative.
    fn verdict<'v>(&'v self, value: &'v Value, count: usize, effort: &mut Effort) -> Validity<'v> {
        if self.depths.verdict != usize::MAX && Extent::of(value).depth > self.depths.verdict {
            return Validity::Unexplained(Why::Deep);
        }
        let work = self.judges.saturating_mul(count as u64);
        if !effort.spend(work) {
            return Validity::Unexplained(Why::Costly);
        }
        if self.validator.is_valid(value) {
            return Validity::Valid;
        }
        if Extent::of(value).depth > self.depths.reasons {
            Validity::Unexplained(Why::Deep)
        } else if work > EXPLAINED && (self.judges > SINGLE || count > LONGEST) {
            Validity::Unexplained(Why::Large)
        } else {
            effort.spend(work);
            Validity::Invalid(self.validator.iter_errors(value).collect())
        }
    }
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledSchema").finish_non_exhaustive()
    }
}

impl fmt::Debug for CompiledTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledTool").field("tool", &self.tool).finish_non_exhaustive()
    }
}

enum Validity<'v> {
    Valid,
    Invalid(Vec<ValidationError<'v>>),
    /// Invalid, or not judged at all; the reasons cannot be collected in bounded time, and this is why.
    Unexplained(Why),
}

/// Why a value is not explained.
enum Why {
    /// It is nested too deeply.
    Deep,
    /// There would be too many reasons.
    Large,
    /// There is not enough work left to judge it at all.
    Costly,
}

/// The most work, in values times the subschemas that judge each, for which all reasons are collected: there may be as
/// many, and a reason is several times as large as the value that it is about.
const EXPLAINED: u64 = 1 << 14;
/// Where so few subschemas judge a value, each wrong value has few reasons, and as many values are explained.
const SINGLE: u64 = 8;
const LONGEST: usize = 50_000;

/// How large a value is.
struct Extent {
    /// How deep its containers are nested; a scalar is depth 0.
    depth: usize,
    /// How many values it is made of, itself included.
    count: usize,
}

impl Extent {
    fn of(value: &Value) -> Self {
        let mut extent = Extent { depth: 0, count: 0 };
        let mut pending = vec![(value, 1)];
        while let Some((value, depth)) = pending.pop() {
            extent.count += 1;
            match value {
                Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(members) => pending.extend(members.values().map(|member| (member, depth + 1))),
                _ => continue,
            }
            extent.depth = extent.depth.max(depth);
        }
        extent
    }
}

fn bad_schema(message: impl Into<String>) -> RegistryError {
    RegistryError::new(RegistryErrorCode::BadSchema, message)
}

/// The largest compiled pattern, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

fn compile_schema(schema: &Value) -> Result<Validator, RegistryError> {
    let options = jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE).dfa_size_limit(PATTERN_SIZE));
    options.build(schema).map_err(|error| {
        let keyword = error.instance_path().as_str().rsplit('/').next().unwrap_or_default().to_owned();
        explain(&error, &keyword)
    })
}

/// The validator's rejection of a schema, in the words of the registry.
fn explain(error: &ValidationError<'_>, keyword: &str) -> RegistryError {
    let place = error.instance_path().as_str();
    let rejected = error.instance();
    let is_regex = matches!(error.kind(), ValidationErrorKind::Format { format } if format == "regex");
    if let (true, Value::String(pattern)) = (is_regex, rejected.as_ref()) {
        let why = if needs_backtracking(pattern) {
            "needs look-around or a back-reference, which cannot run in linear time"
        } else {
            "is not a regular expression, or is too large"
        };
        let message = format!("the pattern {} {why}", problem::shown_text(pattern));
        return RegistryError::new(RegistryErrorCode::BadPattern, message).at(place);
    }
    if let ValidationErrorKind::Referencing(_) = error.kind() {
        let message = "a reference or the `$schema` of the schema names something that is not known";
        return RegistryError::new(RegistryErrorCode::BadReference, message).at(place);
    }
    let message = match (keyword, rejected.as_ref()) {
        ("type", Value::String(name)) => no_type(name),
        ("type", Value::Array(names)) if unknown_type(names).is_some() => {
            unknown_type(names).map_or_else(String::new, no_type)
        }
        ("type", _) => "`type` must be a type name or a list of type names".to_owned(),
        ("", _) => "the schema is not a valid JSON Schema".to_owned(),
        _ => format!("{} is not what JSON Schema allows here", problem::shown(rejected)),
    };
    bad_schema(message).at(place)
}

/// The first of these names of types that JSON Schema does not have.
fn unknown_type(names: &[Value]) -> Option<&str> {
    let known = ["string", "integer", "number", "boolean", "null", "array", "object"];
    names.iter().filter_map(Value::as_str).find(|name| !known.contains(name))
}

/// What is said of the name of a type that other languages may have.
fn no_type(name: &str) -> String {
    let shown = problem::shown_text(name);
    match meant_type(name) {
        Some(meant) => {
            format!("there is no type {shown}, it is called `{meant}`; tolerant loading reads it so")
        }
        None => format!("there is no type {shown}"),
    }
}

fn needs_backtracking(pattern: &str) -> bool {
    let look_around = ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|opening| pattern.contains(opening));
    let back_reference = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && (pair[1] == b'k' || matches!(pair[1], b'1'..=b'9')));
    look_around || back_reference
}
