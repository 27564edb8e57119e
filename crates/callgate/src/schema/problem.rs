//! What is wrong with a value: the validator's errors as data that every profile can put into its own words.

use std::collections::VecDeque;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use super::outline::Outline;
use super::types::{TypeSet, type_word};
use crate::effort::Effort;
use crate::finding::{Code, Finding};
use crate::json::{escape_pointer, unescape_pointer};

/// One thing about a value that its schema does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaProblem {
    /// What kind of thing it is.
    pub kind: ProblemKind,
    /// Where, as a JSON pointer; for a missing argument, where it should be.
    pub path: String,
    /// The name of the argument, or of the member of an argument; empty for the arguments as a whole.
    pub key: String,
    /// What the schema asks for, in words: `string`, `one of "a", "b"`, `at most 100`.
    pub expected: String,
    /// What was there instead, in words; empty where nothing was.
    pub actual: String,
    /// What was probably meant, where a name or a value comes close.
    pub meant: Option<String>,
}

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A required argument is missing.
    Missing,
    /// There is no such argument.
    Unexpected,
    /// The value has the wrong type.
    Type,
    /// The value is none of the allowed ones.
    Enum,
    /// The value breaks another rule: a range, a length, a pattern, a choice of forms.
    Rule,
}

/// A JSON pointer in the way people write places: `hunks[0].from`.
pub(crate) fn place_in_words(pointer: &str) -> String {
    let mut place = String::new();
    for step in pointer.split('/').skip(1) {
        let is_index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        if is_index && !place.is_empty() {
            place.push_str(&format!("[{step}]"));
            continue;
        }
        if !place.is_empty() {
            place.push('.');
        }
        place.push_str(&shortened(&unescape_pointer(step)));
    }
    if place.is_empty() { "the arguments".to_owned() } else { place }
}

impl SchemaProblem {
    /// The place in the way people write it: `hunks[0].from`.
    pub fn place(&self) -> String {
        place_in_words(&self.path)
    }

    /// The problem as a finding, in the general wording.
    pub fn finding(&self) -> Finding {
        let place = self.place();
        let (code, message) = match self.kind {
            ProblemKind::Missing => (Code::MissingArgument, format!("missing required argument: {place}")),
            ProblemKind::Unexpected => (Code::UnexpectedArgument, format!("unexpected argument: {place}")),
            ProblemKind::Type => (Code::WrongType, self.mismatch(&place)),
            ProblemKind::Enum => (Code::NotInEnum, self.mismatch(&place)),
            ProblemKind::Rule => (Code::SchemaMismatch, self.mismatch(&place)),
        };
        let finding = Finding::new(code).path(self.path.clone()).message(message);
        match &self.meant {
            Some(meant) => {
                let help = format!("{} Did you mean {meant}?", finding.help);
                finding.help(help)
            }
            None => finding,
        }
    }

    fn mismatch(&self, place: &str) -> String {
        format!("invalid value for {place}: expected {}, got {}", self.expected, self.actual)
    }

    pub(super) fn unexpected<'a>(
        base: &str,
        key: &str,
        known: impl Iterator<Item = &'a str>,
        effort: &mut Effort,
    ) -> Self {
        let meant = effort.closest(key, known).map(|name| format!("`{name}`"));
        SchemaProblem {
            kind: ProblemKind::Unexpected,
            path: format!("{base}/{}", escape_pointer(key)),
            key: key.to_owned(),
            expected: "no such argument".to_owned(),
            actual: String::new(),
            meant,
        }
    }

    fn missing(base: &str, key: &str) -> Self {
        SchemaProblem {
            kind: ProblemKind::Missing,
            path: format!("{base}/{}", escape_pointer(key)),
            key: key.to_owned(),
            expected: "a value".to_owned(),
            actual: String::new(),
            meant: None,
        }
    }

    pub(super) fn at(kind: ProblemKind, path: &str, expected: String, actual: String) -> Self {
        let key = path.rsplit_once('/').map_or(String::new(), |(_, step)| unescape_pointer(step));
        SchemaProblem { kind, path: path.to_owned(), key, expected, actual, meant: None }
    }
}

/// The most problems listed for one value: more would help neither a reader nor a model.
pub(super) const LISTED: usize = 64;
/// The most allowed values listed.
const LISTED_VALUES: usize = 16;
/// The most characters of a value or name that are shown.
const SHOWN: usize = 64;

/// The validator's errors about `value`, each once, in their order.
pub(super) fn list(
    errors: &[ValidationError<'_>],
    value: &Value,
    known: &[&str],
    effort: &mut Effort,
) -> Vec<SchemaProblem> {
    let mut problems = Vec::new();
    let mut pending: VecDeque<&ValidationError<'_>> = errors.iter().collect();
    while let Some(error) = pending.pop_front() {
        match narrowed(error) {
            Narrowed::Branch(branch) => {
                for inner in branch.iter().rev() {
                    pending.push_front(inner);
                }
            }
            Narrowed::Leaf => {
                for problem in leaf(error, value, known, effort) {
                    if !problems.contains(&problem) {
                        problems.push(problem);
                    }
                }
            }
        }
        if problems.len() >= LISTED {
            problems.truncate(LISTED);
            break;
        }
    }
    problems
}

/// The most subschemas that are met while a large value is looked through for wrong types.
const LOOKED_AT: usize = 1 << 16;

/// The values of a wrong type, as far as the schema tells types by the place alone: what can be said about a value that
/// is too large for its alternatives to be gone through.
pub(super) fn by_types(outline: &Outline, value: &Value) -> Vec<SchemaProblem> {
    let mut problems = Vec::new();
    let mut met = 0;
    let mut pending = VecDeque::from([(value, outline.root(), String::new())]);
    while let Some((value, place, path)) = pending.pop_front() {
        met += 1 + place.judges();
        if met > LOOKED_AT || problems.len() >= LISTED {
            break;
        }
        let Some(types) = place.types() else { continue };
        // A float may still be whole, and that is not told by its type.
        let is_wrong = match value {
            Value::Number(_) => !types.contains(TypeSet::INTEGER),
            other => !types.contains(TypeSet::of(other)),
        };
        if is_wrong {
            let actual = type_word(value).to_owned();
            problems.push(SchemaProblem::at(ProblemKind::Type, &path, types.to_string(), actual));
            continue;
        }
        let room = LISTED.saturating_sub(pending.len());
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate().take(room) {
                    pending.push_back((item, outline.item(&place, index), format!("{path}/{index}")));
                }
            }
            Value::Object(members) => {
                for (key, member) in members.iter().take(room) {
                    let path = format!("{path}/{}", escape_pointer(key));
                    pending.push_back((member, outline.member(&place, key), path));
                }
            }
            _ => {}
        }
    }
    problems
}

enum Narrowed<'a> {
    /// Only this alternative was meant, so its errors say more.
    Branch(&'a [ValidationError<'static>]),
    /// The error speaks for itself.
    Leaf,
}

/// Finds the one alternative that the value was meant for: the one that did not fail by the type or the fixed
/// value of the very thing that chooses between them.
fn narrowed<'a>(error: &'a ValidationError<'_>) -> Narrowed<'a> {
    let Some(branches) = branches(error) else { return Narrowed::Leaf };
    let depth = error.instance_path().as_str().matches('/').count();
    let chooses = |inner: &ValidationError<'_>| {
        let steps = inner.instance_path().as_str().matches('/').count().saturating_sub(depth);
        match inner.kind() {
            ValidationErrorKind::Type { .. } => steps == 0,
            ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => steps <= 1,
            _ => false,
        }
    };
    let mut meant = branches.iter().filter(|branch| !branch.iter().any(chooses));
    match (meant.next(), meant.next()) {
        (Some(only), None) if !only.is_empty() => Narrowed::Branch(only),
        _ => Narrowed::Leaf,
    }
}

/// The errors of each alternative, where none of them holds.
pub(super) fn branches<'a>(error: &'a ValidationError<'_>) -> Option<&'a [Vec<ValidationError<'static>>]> {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            Some(context)
        }
        _ => None,
    }
}

/// One error as problems: one for each name where it is about names.
fn leaf(
    error: &ValidationError<'_>,
    value: &Value,
    known: &[&str],
    effort: &mut Effort,
) -> Vec<SchemaProblem> {
    let path = error.instance_path().as_str();
    let found = value.pointer(path).unwrap_or(&Value::Null);
    let rule = |expected: String| vec![SchemaProblem::at(ProblemKind::Rule, path, expected, shown(found))];
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![SchemaProblem::missing(path, property.as_str().unwrap_or_default())]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let names: &[&str] = if path.is_empty() { known } else { &[] };
            unexpected
                .iter()
                .take(LISTED)
                .map(|key| SchemaProblem::unexpected(path, key, names.iter().copied(), effort))
                .collect()
        }
        ValidationErrorKind::Type { kind } => {
            let expected = types_of(kind).to_string();
            vec![SchemaProblem::at(ProblemKind::Type, path, expected, type_word(found).to_owned())]
        }
        ValidationErrorKind::Enum { options } => {
            let options = options.as_array().map_or(&[][..], Vec::as_slice);
            vec![not_in(path, &options.iter().collect::<Vec<_>>(), found, effort)]
        }
        ValidationErrorKind::Constant { expected_value } => {
            vec![not_in(path, &[expected_value], found, effort)]
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            vec![no_alternative(path, context, found, effort)]
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => rule("exactly one of the allowed forms".to_owned()),
        ValidationErrorKind::Minimum { limit } => rule(format!("at least {limit}")),
        ValidationErrorKind::Maximum { limit } => rule(format!("at most {limit}")),
        ValidationErrorKind::ExclusiveMinimum { limit } => rule(format!("more than {limit}")),
        ValidationErrorKind::ExclusiveMaximum { limit } => rule(format!("less than {limit}")),
        ValidationErrorKind::MultipleOf { multiple_of } => rule(format!("a multiple of {multiple_of}")),
        ValidationErrorKind::MinLength { limit } => rule(format!("at least {}", count(*limit, "character"))),
        ValidationErrorKind::MaxLength { limit } => rule(format!("at most {}", count(*limit, "character"))),
        ValidationErrorKind::MinItems { limit } => rule(format!("at least {}", count(*limit, "item"))),
        ValidationErrorKind::MaxItems { limit } => rule(format!("at most {}", count(*limit, "item"))),
        ValidationErrorKind::MinProperties { limit } => rule(format!("at least {}", count(*limit, "member"))),
        ValidationErrorKind::MaxProperties { limit } => rule(format!("at most {}", count(*limit, "member"))),
        ValidationErrorKind::AdditionalItems { limit } => {
            rule(format!("at most {}", count(*limit as u64, "item")))
        }
        ValidationErrorKind::Pattern { pattern } => {
            rule(format!("text that matches {}", shown_text(pattern)))
        }
        ValidationErrorKind::UniqueItems => rule("items that are all different".to_owned()),
        ValidationErrorKind::FalseSchema => rule("nothing here".to_owned()),
        ValidationErrorKind::Not { .. } => rule("a value that the schema does not exclude".to_owned()),
        ValidationErrorKind::PropertyNames { .. } => rule("other member names".to_owned()),
        other => rule(format!("a value that keeps the rule `{}`", other.keyword())),
    }
}

/// The problem of a value that fits none of the alternatives.
fn no_alternative(
    path: &str,
    branches: &[Vec<ValidationError<'static>>],
    found: &Value,
    effort: &mut Effort,
) -> SchemaProblem {
    // Alternatives that only differ by type or by fixed values read as one list.
    let mut types = TypeSet::NONE;
    let mut options: Vec<&Value> = Vec::new();
    let mut plain = true;
    for error in branches.iter().flatten().filter(|error| error.instance_path().as_str() == path) {
        match error.kind() {
            ValidationErrorKind::Type { kind } => types = types.or(types_of(kind)),
            ValidationErrorKind::Constant { expected_value } => options.push(expected_value),
            ValidationErrorKind::Enum { options: more } => {
                options.extend(more.as_array().into_iter().flatten())
            }
            _ => plain = false,
        }
    }
    plain &= branches.iter().flatten().all(|error| error.instance_path().as_str() == path);
    if plain && options.is_empty() && !types.is_empty() {
        return SchemaProblem::at(ProblemKind::Type, path, types.to_string(), type_word(found).to_owned());
    }
    if plain && !options.is_empty() {
        let mut problem = not_in(path, &options, found, effort);
        let others = options.iter().fold(TypeSet::NONE, |sum, option| sum.or(TypeSet::of(option)));
        if !others.contains(types) {
            problem.expected = format!("{} or {types}", problem.expected);
        }
        return problem;
    }
    let expected = format!("one of the {} allowed forms", branches.len());
    SchemaProblem::at(ProblemKind::Rule, path, expected, shown(found))
}

fn not_in(path: &str, options: &[&Value], found: &Value, effort: &mut Effort) -> SchemaProblem {
    let mut listed: Vec<String> = options.iter().take(LISTED_VALUES).map(|option| shown(option)).collect();
    if options.len() > LISTED_VALUES {
        listed.push(format!("… ({} in all)", options.len()));
    }
    let expected = match listed.as_slice() {
        [only] => only.clone(),
        _ => format!("one of {}", listed.join(", ")),
    };
    let mut problem = SchemaProblem::at(ProblemKind::Enum, path, expected, shown(found));
    if let Some(text) = found.as_str() {
        let names = options.iter().filter_map(|option| option.as_str());
        problem.meant = effort.closest(text, names).map(shown_text);
    }
    problem
}

pub(super) fn types_of(kind: &TypeKind) -> TypeSet {
    match kind {
        TypeKind::Single(single) => TypeSet::of_keyword(&Value::from(single.as_str())),
        TypeKind::Multiple(several) => several
            .iter()
            .fold(TypeSet::NONE, |sum, single| sum.or(TypeSet::of_keyword(&Value::from(single.as_str())))),
    }
}

fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A value in a message: small ones as JSON, large ones by their size.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shown_text(text),
        Value::Array(items) => format!("an array of {}", count(items.len() as u64, "item")),
        Value::Object(members) => format!("an object of {}", count(members.len() as u64, "member")),
        other => other.to_string(),
    }
}

/// A string in a message: in quotes, shortened, with nothing in it that could act on a terminal.
pub(super) fn shown_text(text: &str) -> String {
    format!("\"{}\"", shortened(text))
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        short.push('…');
    }
    short
}
