//! Coercion: fitting values to their schema by a closed table, only where they fail, spliced into the model's text.

use std::collections::{BTreeMap, BTreeSet};

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::graph::Extras;
use super::problem::{self, SchemaProblem, branches, types_of};
use super::types::TypeSet;
use super::{CompiledSchema, CompiledTool, Extent, Validity, text};
use crate::effort::Effort;
use crate::event::{Coercion, CoercionCode};
use crate::finding::{Code, Finding};
use crate::json::{Kind, Tape, escape_into, escape_pointer};
use crate::policy::{Coerce, ExtraArgs, Untyped};
use crate::shortcuts::Shortcut;

/// What became of arguments that were fitted to their schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// The arguments after the changes; absent if there were none.
    pub arguments: Option<String>,
    /// The changes, in the order of the text.
    pub coercions: Vec<Coercion>,
    /// What is wrong with the arguments as they were written; empty if they are valid now.
    pub findings: Vec<Finding>,
}

impl CompiledTool {
    /// Judges arguments, which are an object, and fits them. See [`CompiledSchema::fit_within`].
    pub fn fit(&self, arguments: &str, tape: &Tape, coerce: Coerce, extra: ExtraArgs, untyped: bool) -> Fit {
        if self.fits_at_sight(arguments, tape) {
            return Fit::default();
        }
        self.fit_within(arguments, tape, (coerce, extra, untyped), &mut Effort::default())
    }

    /// The same for arguments that do not fit at sight, as a part of a response with its own budget.
    pub(crate) fn fit_within(
        &self,
        arguments: &str,
        tape: &Tape,
        knobs: (Coerce, ExtraArgs, bool),
        effort: &mut Effort,
    ) -> Fit {
        match tape.nodes().first().map(|root| root.kind) {
            Some(Kind::Object) => (**self).fit_within(arguments, tape, knobs, effort),
            _ => rejected(vec![Finding::new(Code::ArgumentsNotObject)]),
        }
    }
}

impl CompiledSchema {
    /// Whether it can be seen without decoding them that arguments fit the schema as they are, and that no key stands
    /// twice in an object. False says nothing.
    pub(crate) fn fits_at_sight(&self, arguments: &str, tape: &Tape) -> bool {
        Shortcut::Sight.is_on() && self.quick.as_ref().is_some_and(|quick| quick.accepts(arguments, tape))
    }

    /// Judges a value, and fits it to the schema as far as the policy allows, within a budget.
    ///
    /// `arguments` is valid JSON and `tape` its layout; `untyped` says that the format could not say types. Values
    /// are changed only where they fail, only if one change of the closed table makes them valid, and by splicing:
    /// all other bytes stay as they are. If anything remains wrong, nothing is changed and everything that was
    /// wrong is listed.
    pub(crate) fn fit_within(
        &self,
        arguments: &str,
        tape: &Tape,
        (coerce, extra, untyped): (Coerce, ExtraArgs, bool),
        effort: &mut Effort,
    ) -> Fit {
        let count = tape.nodes().len();
        let Some(mut value) = tape.value(arguments, 0) else {
            return rejected(out_of_range(arguments, tape));
        };
        let mut changes = Vec::new();
        if extra == ExtraArgs::Drop {
            let dropped: BTreeSet<String> = self.extra_keys(&value).into_iter().map(str::to_owned).collect();
            if let Some(members) = value.as_object_mut() {
                members.retain(|key, _| !dropped.contains(key));
                // A call of which nothing is left is another call.
                if members.is_empty() && !dropped.is_empty() {
                    let names = dropped.iter().take(problem::LISTED);
                    return rejected(names.map(|key| self.unexpected(key, effort)).collect());
                }
            }
            changes = drop_members(arguments, tape, &dropped);
        }
        let mut unexpected = Vec::new();
        if extra == ExtraArgs::Reject && self.extras == Extras::Silent {
            let names = self.extra_keys(&value);
            unexpected.extend(names.iter().take(problem::LISTED).map(|key| self.unexpected(key, effort)));
        }
        let errors = match self.verdict(&value, count, effort) {
            Validity::Valid if unexpected.is_empty() => return self.accepted(arguments, tape, changes),
            Validity::Valid => return rejected(unexpected),
            Validity::Invalid(errors) => errors,
            Validity::Unexplained(why) => {
                let problems = self.roughly(&value, why);
                return rejected(problems.iter().map(SchemaProblem::finding).chain(unexpected).collect());
            }
        };
        let known: Vec<&str> = self.keys().collect();
        let mut problems = problem::list(&errors, &value, &known, effort);
        let allowed = match coerce {
            Coerce::Off => false,
            Coerce::Untyped => untyped,
            Coerce::Lossless => true,
        };
        let conversions =
            if allowed { convert(arguments, tape, &wanted(&errors, &value)) } else { BTreeMap::new() };
        drop(errors);
        for (path, conversion) in &conversions {
            if let Some(place) = value.pointer_mut(path) {
                place.clone_from(&conversion.value);
            }
        }
        match self.verdict(&value, count, effort) {
            Validity::Valid if unexpected.is_empty() => {
                changes.extend(conversions.into_values().map(|conversion| conversion.change));
                return self.accepted(arguments, tape, changes);
            }
            Validity::Valid => problems.clear(),
            Validity::Invalid(still) => {
                // A value that its conversion made valid is not what the call is rejected for.
                let wrong: BTreeSet<&str> =
                    still.iter().map(|error| error.instance_path().as_str()).collect();
                let stays =
                    |path: &str| wrong.range(path..).next().is_some_and(|next| next.starts_with(path));
                problems.retain(|found| !conversions.contains_key(&found.path) || stays(&found.path));
                if problems.is_empty() {
                    problems = problem::list(&still, &value, &known, effort);
                }
            }
            Validity::Unexplained(_) => {}
        }
        let found = problems.iter().map(SchemaProblem::finding).chain(unexpected).collect();
        rejected(self.judged_exactly(found, arguments, tape))
    }
}

impl CompiledSchema {
    /// The value inside of an object whose only member the schema does not have, while it has all members of that.
    /// Around nothing, or around other words, the member may be a value.
    pub(crate) fn wrapped(&self, outer: &str, tape: &Tape) -> Option<usize> {
        let mut members = tape.children(0);
        let only = members.next().filter(|_| members.next().is_none())?;
        let declares = |member: usize| tape.key(outer, member).is_some_and(|key| self.has_key(&key));
        let mut inner = tape.children(only).peekable();
        let is_wrapper = !declares(only) && tape.nodes()[only].kind == Kind::Object && inner.peek().is_some();
        (is_wrapper && inner.all(declares)).then_some(only)
    }

    /// The same where the only member is a text in which the object stands, as formats that write text have it.
    pub(crate) fn wrapped_in_text(&self, outer: &str, tape: &Tape) -> Option<(String, Tape)> {
        let mut members = tape.children(0);
        let only = members.next().filter(|_| members.next().is_none())?;
        if tape.nodes()[only].kind != Kind::String
            || tape.key(outer, only).is_none_or(|key| self.has_key(&key))
        {
            return None;
        }
        let mut inner = String::new();
        text::type_text(&mut inner, &tape.string(outer, only)?, Some(TypeSet::OBJECT), Untyped::Json).ok()?;
        let tape = Tape::parse(&inner)?;
        let declares = |member: usize| tape.key(&inner, member).is_some_and(|key| self.has_key(&key));
        let is_wrapper = tape.children(0).next().is_some() && tape.children(0).all(declares);
        is_wrapper.then_some((inner, tape))
    }

    fn unexpected(&self, key: &str, effort: &mut Effort) -> Finding {
        SchemaProblem::unexpected("", key, self.keys(), effort).finding()
    }

    /// Arguments that the validator accepted, unless it judged other numbers than those that are written.
    fn accepted(&self, arguments: &str, tape: &Tape, changes: Vec<Splice>) -> Fit {
        let fit = spliced(arguments, changes);
        let findings = match &fit.arguments {
            None => self.inexact(arguments, tape),
            Some(text) => match Tape::parse(text) {
                Some(tape) => self.inexact(text, &tape),
                None => vec![Finding::new(Code::BadJson)],
            },
        };
        if findings.is_empty() { fit } else { rejected(findings) }
    }

    /// What was found, but for what was found about a number that was judged by another value than its own.
    fn judged_exactly(&self, mut found: Vec<Finding>, arguments: &str, tape: &Tape) -> Vec<Finding> {
        for inexact in self.inexact(arguments, tape) {
            if let Some(wrong) = found.iter_mut().find(|finding| finding.path == inexact.path) {
                *wrong = inexact;
            }
        }
        found
    }

    /// The numbers that would be judged by another value than theirs.
    fn inexact(&self, arguments: &str, tape: &Tape) -> Vec<Finding> {
        let unjudged = self.exact.unjudged(arguments, tape).take(problem::LISTED);
        unjudged
            .map(|node| {
                let path = tape.pointer(arguments, node);
                let at = SchemaProblem::at(problem::ProblemKind::Rule, &path, String::new(), String::new());
                let number = problem::shown_text(tape.raw(arguments, node));
                let message = format!(
                    "invalid value for {}: {} has more digits than can be judged",
                    at.place(),
                    number.trim_matches('"')
                );
                Finding::new(Code::NumberNotExact).path(path).message(message)
            })
            .collect()
    }
}

/// One splice of the text, with what it means.
struct Splice {
    start: usize,
    end: usize,
    coercion: Coercion,
}

/// A value that may become another one.
struct Conversion {
    value: Value,
    change: Splice,
}

/// What a failing value is expected to be.
#[derive(Default)]
struct Expected<'e> {
    types: Option<TypeSet>,
    /// Lists of allowed values, and single allowed strings.
    members: Vec<&'e Value>,
}

fn rejected(findings: Vec<Finding>) -> Fit {
    Fit { findings, ..Fit::default() }
}

fn spliced(arguments: &str, mut changes: Vec<Splice>) -> Fit {
    if changes.is_empty() {
        return Fit::default();
    }
    changes.sort_by_key(|change| change.start);
    let mut text = String::with_capacity(arguments.len());
    let mut copied = 0;
    let mut coercions = Vec::with_capacity(changes.len());
    for change in changes {
        text.push_str(&arguments[copied..change.start]);
        text.push_str(&change.coercion.to);
        copied = change.end;
        coercions.push(change.coercion);
    }
    text.push_str(&arguments[copied..]);
    Fit { arguments: Some(text), coercions, findings: Vec::new() }
}

/// The numbers that no tool can hold, since they are not finite in any machine format.
fn out_of_range(arguments: &str, tape: &Tape) -> Vec<Finding> {
    let numbers = tape.nodes().iter().enumerate().filter(|(_, node)| node.kind == Kind::Number);
    let unheld = numbers.filter(|(index, _)| tape.value(arguments, *index).is_none());
    let mut findings: Vec<Finding> = unheld
        .take(problem::LISTED)
        .map(|(index, _)| {
            let problem = SchemaProblem::at(
                problem::ProblemKind::Rule,
                &tape.pointer(arguments, index),
                String::new(),
                String::new(),
            );
            Finding::new(Code::NumberRange)
                .path(problem.path.clone())
                .message(format!("invalid value for {}: the number is out of range", problem.place()))
        })
        .collect();
    if findings.is_empty() {
        findings.push(Finding::new(Code::BadJson));
    }
    findings
}

/// Cuts top-level members out of the text, each with one of the commas beside it.
fn drop_members(arguments: &str, tape: &Tape, dropped: &BTreeSet<String>) -> Vec<Splice> {
    let members: Vec<usize> = tape.children(0).collect();
    let starts: Vec<usize> =
        members.iter().map(|index| tape.nodes()[*index].key().map_or(0, |(start, _)| start)).collect();
    let mut changes = Vec::new();
    let mut any_kept = false;
    for (place, &index) in members.iter().enumerate() {
        let key = tape.key(arguments, index).unwrap_or_default();
        if !dropped.contains(key.as_ref()) {
            any_kept = true;
            continue;
        }
        // After a kept member the comma before goes, else the one after.
        let end = tape.nodes()[index].end();
        let (start, end) = match starts.get(place + 1) {
            _ if any_kept => (tape.nodes()[members[place - 1]].end(), end),
            Some(next) => (starts[place], *next),
            None => (starts[place], end),
        };
        let coercion = Coercion {
            code: CoercionCode::DroppedArgument,
            path: format!("/{}", escape_pointer(&key)),
            from: tape.raw(arguments, index).to_owned(),
            to: String::new(),
        };
        changes.push(Splice { start, end, coercion });
    }
    changes
}

/// The words in which a list is wrapped, beside the name of its argument.
const LIST_WRAPPERS: &[&str] = &["item", "items", "list", "array", "element", "elements", "value", "values"];

/// Whether an object at a path is only a wrapper around a list, by the name of its one member: another name may say what the
/// list is for.
fn wraps_list(path: &str, key: &str) -> bool {
    LIST_WRAPPERS.contains(&key) || path.rsplit_once('/').is_some_and(|(_, own)| own == escape_pointer(key))
}

/// How many alternatives inside alternatives are looked into.
const NESTED_ALTERNATIVES: usize = 4;

/// The failing values that could be changed, by path, with what is expected there.
fn wanted<'e>(errors: &'e [ValidationError<'_>], value: &Value) -> BTreeMap<String, Expected<'e>> {
    let mut all: BTreeMap<String, Expected<'e>> = BTreeMap::new();
    for error in errors {
        for (path, expected) in ways(error, value, NESTED_ALTERNATIVES).into_iter().flatten() {
            all.entry(path).or_default().merge(expected);
        }
    }
    all
}

/// The changes that could mend one error; none if there is no way, or more than one.
fn ways<'e>(
    error: &'e ValidationError<'_>,
    value: &Value,
    levels: usize,
) -> Option<BTreeMap<String, Expected<'e>>> {
    let path = error.instance_path().as_str();
    let found = value.pointer(path)?;
    if matches!(found, Value::String(_) | Value::Number(_)) {
        let expected = Expected::at(error, path);
        return may_become(found, &expected).then(|| BTreeMap::from([(path.to_owned(), expected)]));
    }
    if let Value::Object(members) = found
        && members.len() == 1
        && members.iter().all(|(key, list)| list.is_array() && wraps_list(path, key))
        && matches!(error.kind(), ValidationErrorKind::Type { .. })
    {
        let expected = Expected::at(error, path);
        return expected.accepts(TypeSet::ARRAY).then(|| BTreeMap::from([(path.to_owned(), expected)]));
    }
    if levels == 0 {
        return None;
    }
    let mut only: Option<BTreeMap<String, Expected<'e>>> = None;
    for branch in branches(error)? {
        let mended: Option<Vec<_>> = branch.iter().map(|inner| ways(inner, value, levels - 1)).collect();
        let Some(mended) = mended.filter(|mended| !mended.is_empty()) else { continue };
        let mut way: BTreeMap<String, Expected<'e>> = BTreeMap::new();
        for (path, expected) in mended.into_iter().flatten() {
            way.entry(path).or_default().merge(expected);
        }
        match &mut only {
            None => only = Some(way),
            // Two alternatives that ask for changes at the same places are one way; validating decides the rest.
            Some(first) if first.keys().eq(way.keys()) => {
                for (path, expected) in way {
                    first.entry(path).or_default().merge(expected);
                }
            }
            Some(_) => return None,
        }
    }
    only
}

impl<'e> Expected<'e> {
    /// What an error and the alternatives under it expect at a path.
    fn at(error: &'e ValidationError<'_>, path: &str) -> Self {
        let mut expected = Expected::default();
        let mut pending = vec![error];
        while let Some(error) = pending.pop() {
            if error.instance_path().as_str() != path {
                continue;
            }
            match error.kind() {
                ValidationErrorKind::Type { kind } => expected.allow(types_of(kind)),
                ValidationErrorKind::Enum { options } => {
                    let each = options.as_array().into_iter().flatten();
                    expected.allow(each.fold(TypeSet::NONE, |sum, option| sum.or(TypeSet::of(option))));
                    expected.members.push(options);
                }
                ValidationErrorKind::Constant { expected_value } => {
                    expected.allow(TypeSet::of(expected_value));
                    expected.members.push(expected_value);
                }
                _ => pending.extend(branches(error).into_iter().flatten().flatten()),
            }
        }
        expected
    }

    fn allow(&mut self, types: TypeSet) {
        self.types = Some(self.types.map_or(types, |known| known.or(types)));
    }

    fn merge(&mut self, other: Expected<'e>) {
        if let Some(types) = other.types {
            self.allow(types);
        }
        self.members.extend(other.members);
    }

    fn accepts(&self, types: TypeSet) -> bool {
        self.types.is_some_and(|known| known.contains(types))
    }

    fn has_member(&self, text: &str) -> bool {
        self.members.iter().any(|member| match member {
            Value::Array(options) => options.iter().any(|option| option == text),
            single => *single == text,
        })
    }
}

fn may_become(found: &Value, expected: &Expected<'_>) -> bool {
    match found {
        Value::String(text) => from_text(text, expected, 0).is_some(),
        Value::Number(_) => expected.accepts(TypeSet::STRING),
        _ => false,
    }
}

/// Changes the wanted values in one pass over the tape, since only the text has a number's own digits.
fn convert(
    arguments: &str,
    tape: &Tape,
    wanted: &BTreeMap<String, Expected<'_>>,
) -> BTreeMap<String, Conversion> {
    let mut conversions = BTreeMap::new();
    if wanted.is_empty() {
        return conversions;
    }
    // For each open container: its first node after, the length of its pointer, and the next index if an array.
    let mut open: Vec<(usize, usize, Option<usize>)> = Vec::new();
    let mut pointer = String::new();
    let mut converted_up_to = 0;
    for (index, node) in tape.nodes().iter().enumerate() {
        if index < converted_up_to {
            continue;
        }
        while open.last().is_some_and(|(after, _, _)| *after <= index) {
            open.pop();
        }
        if let Some((_, length, next)) = open.last_mut() {
            pointer.truncate(*length);
            pointer.push('/');
            match next {
                Some(place) => {
                    pointer.push_str(&place.to_string());
                    *place += 1;
                }
                None => {
                    pointer.push_str(&escape_pointer(&tape.key(arguments, index).unwrap_or_default()));
                }
            }
        }
        let raw = tape.raw(arguments, index);
        let converted = match node.kind {
            Kind::Object => {
                let list = wanted.get(&pointer).and_then(|_| tape.children(index).next());
                match list.and_then(|list| Some((tape.raw(arguments, list), tape.value(arguments, list)?))) {
                    Some((raw, value)) => {
                        converted_up_to = node.after();
                        Some((CoercionCode::UnwrappedList, raw.to_owned(), value))
                    }
                    None => {
                        open.push((node.after(), pointer.len(), None));
                        continue;
                    }
                }
            }
            Kind::Array => {
                open.push((node.after(), pointer.len(), Some(0)));
                continue;
            }
            Kind::String => wanted
                .get(&pointer)
                .and_then(|expected| from_text(&tape.string(arguments, index)?, expected, open.len())),
            Kind::Number => wanted
                .get(&pointer)
                .filter(|expected| expected.accepts(TypeSet::STRING))
                .map(|_| (CoercionCode::NumberToString, format!("\"{raw}\""), Value::String(raw.to_owned()))),
            _ => None,
        };
        if let Some((code, to, value)) = converted {
            let coercion = Coercion { code, path: pointer.clone(), from: raw.to_owned(), to };
            let change = Splice { start: node.start(), end: node.end(), coercion };
            conversions.insert(pointer.clone(), Conversion { value, change });
        }
    }
    conversions
}

/// The deepest nesting of the arguments that a structure in a string may lead to.
const DEEPEST: usize = 64;

/// What a string is by the closed table: at most one thing, since no spelling stands in two rows.
fn from_text(string: &str, expected: &Expected<'_>, level: usize) -> Option<(CoercionCode, String, Value)> {
    if let Some(number) = text::number(string).filter(|_| expected.accepts(TypeSet::INTEGER)) {
        return Some((CoercionCode::StringToNumber, string.to_owned(), number));
    }
    if expected.accepts(TypeSet::BOOLEAN) {
        match string {
            "true" | "True" => return Some((CoercionCode::StringToBoolean, "true".to_owned(), true.into())),
            "false" | "False" => {
                return Some((CoercionCode::StringToBoolean, "false".to_owned(), false.into()));
            }
            _ => {}
        }
    }
    if expected.accepts(TypeSet::NULL) && string == "null" {
        return Some((CoercionCode::StringToNull, "null".to_owned(), Value::Null));
    }
    let trimmed = string.trim_ascii();
    let opens = |first: char, types: TypeSet| trimmed.starts_with(first) && expected.accepts(types);
    if opens('[', TypeSet::ARRAY) || opens('{', TypeSet::OBJECT) {
        let value: Value = serde_json::from_str(trimmed).ok()?;
        let twice = Tape::parse(trimmed)?.duplicate(trimmed).is_some();
        let fits = !twice && level + Extent::of(&value).depth <= DEEPEST;
        return fits.then(|| (CoercionCode::StringToStructure, trimmed.to_owned(), value));
    }
    if string.starts_with('"') {
        let inner: String = serde_json::from_str(string).ok()?;
        if expected.has_member(&inner) {
            let mut json = String::from("\"");
            escape_into(&mut json, &inner);
            json.push('"');
            return Some((CoercionCode::QuotedMember, json, Value::String(inner)));
        }
    }
    None
}
