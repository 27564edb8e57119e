//! Repair with a schema: of several readings the valid one, its values fitted by the closed table.

use std::fmt;

use serde_json::Value;

use super::many::{Many, moved, moved_finding};
use super::{Repaired, read, repair};
use crate::effort::Effort;
use crate::finding::{Code, Finding, Span};
use crate::json::{Kind, Reader, Repair, RepairCode, SEVERAL, Safety, Syntax, Tape};
use crate::policy::{Coerce, ExtraArgs};
use crate::registry::{RegistryError, RegistryErrorCode};
use crate::schema::{CompiledSchema, Fit};

/// A JSON Schema, compiled once, that broken texts are repaired with. Any schema will do, not only one of an object.
pub struct Schema {
    compiled: CompiledSchema,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").finish_non_exhaustive()
    }
}

/// How many readings there are of one defect at most, the usual one included.
const READINGS: usize = 3;
/// How many inner and outer objects are compared to find where a closer belongs.
const PAIRS: usize = 8;

impl Schema {
    /// Compiles a schema. Fails on one that is malformed, refers to anything outside itself, has a pattern that cannot run
    /// in linear time, or asks for unbounded work.
    pub fn new(schema: &Value) -> Result<Self, RegistryError> {
        Ok(Schema { compiled: CompiledSchema::compile(&mut schema.clone())? })
    }

    /// Reads a schema from its JSON text and compiles it.
    pub fn from_json(json: &str) -> Result<Self, RegistryError> {
        let schema: Value = serde_json::from_str(json).map_err(|error| {
            let mut fault = RegistryError::new(RegistryErrorCode::BadJson, "the schema is not JSON");
            fault.line_column = Some((error.line(), error.column()));
            fault
        })?;
        Schema::new(&schema)
    }

    /// Reads a whole text as one JSON value that follows the schema, with every repair allowed ([`repair`]). Where the
    /// text has several readings, the only valid one is taken, and [`Repaired::decided`] says so. Values of the wrong
    /// type are changed where the closed table of coercions knows one way, as the arguments of calls are. If the value
    /// does not follow the schema even so, all that is wrong with it is returned.
    ///
    /// ```
    /// let schema = callgate::Schema::new(&serde_json::json!({
    ///     "type": "object",
    ///     "properties": {"area": {"type": "object"}, "limit": {"type": "integer"}},
    ///     "required": ["area", "limit"],
    /// }))?;
    /// let repaired = schema.repair(r#"{"area": {"x": 1, "limit": "5"}"#, 64).map_err(|all| all[0].clone())?;
    /// assert_eq!(repaired.text, r#"{"area": {"x": 1}, "limit": 5}"#);
    /// assert_eq!(repaired.coercions[0].path, "/limit");
    /// assert!(repaired.decided.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair(&self, text: &str, depth: usize) -> Result<Repaired, Vec<Finding>> {
        let usual = match repair(text, depth) {
            Ok(usual) => usual,
            Err(finding) if finding.message == SEVERAL => return self.one_of_several(text, depth, finding),
            Err(finding) => return Err(vec![finding]),
        };
        let others = if usual.is_guessed() { self.other_readings(text, depth, &usual) } else { Vec::new() };
        let read = others.len() + 1;
        let fitted = self.fitted(text, usual.clone());
        let mut valid: Vec<Repaired> =
            others.into_iter().filter_map(|other| self.fitted(text, other).ok()).collect();
        let says = |what: &str| Some(format!("of {read} readings only {what} follows the schema"));
        match (fitted, valid.len()) {
            (Ok(mut usual), 0) if read > 1 => {
                certify(&mut usual, RepairCode::MissingCloser);
                usual.decided = says("the usual one");
                Ok(usual)
            }
            (Ok(usual), _) => Ok(usual),
            (Err(_), 1) => {
                let mut other = valid.remove(0);
                let moved = other.repairs.iter().any(|repair| repair.code == RepairCode::MissingCloser);
                certify(&mut other, RepairCode::MissingCloser);
                other.decided = says(if moved { "one with another closer" } else { "another one" });
                Ok(other)
            }
            (Err(findings), _) => self.unwrapped(text, usual).ok_or(findings),
        }
    }

    /// Reads each value of a text that holds several, as [`repair_many`](crate::repair_many) does, and each as
    /// [`Schema::repair`] does.
    pub fn repair_many<'a>(
        &'a self,
        text: &'a str,
        depth: usize,
    ) -> impl Iterator<Item = Result<Repaired, Vec<Finding>>> + 'a {
        Many::new(text, depth).map(move |(at, _)| match self.repair(&text[at.clone()], depth) {
            Ok(repaired) => Ok(moved(repaired, at.start)),
            Err(findings) => {
                Err(findings.into_iter().map(|finding| moved_finding(finding, at.start)).collect())
            }
        })
    }

    /// The value of several that follows the schema, if only one does.
    fn one_of_several(&self, text: &str, depth: usize, several: Finding) -> Result<Repaired, Vec<Finding>> {
        let mut read = 0;
        let mut valid: Vec<(Span, Repaired)> = Vec::new();
        for (at, value) in Many::new(text, depth) {
            read += 1;
            let Ok(value) = value else { continue };
            if let Ok(value) = self.fitted(&text[at.clone()], value)
                && !valid.iter().any(|(_, known)| known.text.trim() == value.text.trim())
            {
                valid.push((Span::new(at.start, at.end), moved(value, at.start)));
            }
        }
        let follow = match valid.len() {
            1 => {
                let (_, mut value) = valid.remove(0);
                let span = Span::new(0, text.len());
                value.repairs.push(of(RepairCode::OtherValues, Safety::Lossless, span));
                value.decided = Some(format!("of {read} values only one follows the schema"));
                return Ok(value);
            }
            0 => "none of which follows the schema",
            _ => "more than one of which follows the schema",
        };
        let message = format!("{SEVERAL}, {follow}");
        Err(vec![several.message(message)])
    }

    /// Other values that the text can be read as: with closers where the schema has the keys, and as a call is read.
    fn other_readings(&self, text: &str, depth: usize, usual: &Repaired) -> Vec<Repaired> {
        let mut others = self.with_moved_closers(text, usual);
        if let Ok(plain) = read(Reader::new(Syntax::Json).document().with_depth(depth), text) {
            others.push(plain);
        }
        others.retain(|other| other.text.trim() != usual.text.trim());
        others.truncate(READINGS - 1);
        others
    }

    /// The value held against the schema: as it is or with its values fitted, or what is wrong with it.
    fn fitted(&self, written: &str, value: Repaired) -> Result<Repaired, Vec<Finding>> {
        let Some(tape) = Tape::parse(&value.text) else { return Err(vec![Finding::new(Code::BadJson)]) };
        let fit = if self.compiled.fits_at_sight(&value.text, &tape) {
            Fit::default()
        } else {
            let knobs = (Coerce::Lossless, ExtraArgs::Allow, false);
            self.compiled.fit_within(&value.text, &tape, knobs, &mut Effort::default())
        };
        if !fit.findings.is_empty() {
            let is_list = tape.nodes().first().is_some_and(|root| root.kind == Kind::Array);
            let place = |finding: Finding| {
                let found = tape.resolve(&value.text, &finding.path);
                let found = found.and_then(|(node, key)| {
                    tape.find_written(&value.text, (node, key.as_deref()), written, Some(0))
                });
                let span = found.unwrap_or(Span::new(0, written.len()));
                in_a_value(finding, is_list).at(span)
            };
            return Err(fit.findings.into_iter().map(place).collect());
        }
        Ok(Repaired { text: fit.arguments.unwrap_or(value.text), coercions: fit.coercions, ..value })
    }

    /// The value in an object around it that the schema does not have, if it is valid.
    fn unwrapped(&self, written: &str, value: Repaired) -> Option<Repaired> {
        let tape = Tape::parse(&value.text)?;
        let inner = self.compiled.wrapped(&value.text, &tape)?;
        let mut repairs = value.repairs;
        repairs.push(of(RepairCode::ExtraWrapper, Safety::Guess, Span::new(0, written.len())));
        let inner = Repaired::new(tape.raw(&value.text, inner).to_owned(), repairs);
        let mut inner = self.fitted(written, inner).ok()?;
        inner.decided = Some("only the value inside of the outer object follows the schema".to_owned());
        Some(inner)
    }

    /// The value with the closers that were added at its end before a key that an outer object has and the inner one
    /// has not.
    fn with_moved_closers(&self, written: &str, value: &Repaired) -> Vec<Repaired> {
        let is_end = |text: &&str| text.ends_with(['}', ']']);
        let run = |text: &str| {
            let closers = |c: &char| matches!(c, '}' | ']' | ' ' | '\n' | '\r' | '\t');
            text.chars().rev().take_while(closers).filter(|c| matches!(c, '}' | ']')).count()
        };
        let added = run(&value.text).saturating_sub(run(written));
        let is_closed = value.repairs.iter().any(|repair| repair.code == RepairCode::MissingCloser);
        let Some(tape) = Tape::parse(&value.text).filter(|_| is_closed && added > 0) else {
            return Vec::new();
        };
        let text = value.text.as_str();
        // The containers that end together, the outermost first, each with what the schema says of its place.
        let mut open = vec![(0, self.compiled.outline.root())];
        while let Some((node, place)) = open.last()
            && let Some((position, last)) = tape.children(*node).enumerate().last()
            && is_end(&tape.raw(text, last))
            && matches!(tape.nodes()[last].kind, Kind::Object | Kind::Array)
        {
            let inner = match tape.key(text, last) {
                Some(key) => self.compiled.outline.member(place, &key),
                None => self.compiled.outline.item(place, position),
            };
            open.push((last, inner));
        }
        let is_object = |at: &usize| tape.nodes()[open[*at].0].kind == Kind::Object;
        let knows = |at: usize, key: &str| self.compiled.outline.member(&open[at].1, key).types().is_some();
        let inner = (1..open.len()).rev().filter(is_object);
        let pairs = inner.flat_map(|inner| {
            let outer = (inner.saturating_sub(added)..inner).rev().filter(is_object);
            outer.map(move |outer| (outer, inner))
        });
        let with_closers = |(outer, inner): (usize, usize)| {
            let members: Vec<usize> = tape.children(open[inner].0).collect();
            let is_strange = |member: &usize| {
                tape.key(text, *member).is_some_and(|key| !knows(inner, &key) && knows(outer, &key))
            };
            let at = members.iter().skip(1).position(is_strange)?;
            let closed = open[outer + 1..=inner].iter().map(|(node, _)| *node);
            Some(close_behind(value, written, &tape, members[at], closed))
        };
        pairs.take(PAIRS).filter_map(with_closers).take(READINGS - 1).collect()
    }
}

/// The value with these containers, the outermost first, closed behind a member instead of at their ends.
fn close_behind(
    value: &Repaired,
    written: &str,
    tape: &Tape,
    member: usize,
    containers: impl DoubleEndedIterator<Item = usize>,
) -> Repaired {
    let mut text = value.text.clone();
    let at = tape.nodes()[member].end();
    let mut closers = String::new();
    // Outer ends stand behind inner ones, so that what is cut out moves nothing that is still to be cut.
    for container in containers {
        let end = tape.nodes()[container].end() - 1;
        closers.insert(0, text.remove(end));
    }
    text.insert_str(at, &closers);
    let mut repairs = value.repairs.clone();
    let is_same = written.get(..at) == value.text.get(..at);
    for repair in repairs.iter_mut().filter(|repair| repair.code == RepairCode::MissingCloser && is_same) {
        repair.span = Span::new(at, at);
    }
    Repaired::new(text, repairs)
}

/// What the schema has decided has one possible reading.
fn certify(value: &mut Repaired, code: RepairCode) {
    for repair in value.repairs.iter_mut().filter(|repair| repair.code == code) {
        repair.safety = Safety::Lossless;
    }
}

fn of(code: RepairCode, safety: Safety, span: Span) -> Repair {
    Repair { code, safety, span, late: true, count: 1 }
}

/// What is wrong with a value that is no argument of a call, in its own words.
fn in_a_value(finding: Finding, is_list: bool) -> Finding {
    let item = if is_list && !finding.path.is_empty() { "item " } else { "" };
    let message = match finding.message.split_once(": ") {
        Some(("missing required argument", name)) => format!("missing required member: {item}{name}"),
        Some(("unexpected argument", name)) => format!("unexpected member: {item}{name}"),
        Some(("invalid value for the arguments", why)) => format!("invalid value: {why}"),
        _ => finding.message.replacen("value for ", &format!("value for {item}"), 1),
    };
    let meant = finding.help.find("Did you mean").map_or("", |at| &finding.help[at..]);
    let help = format!("Correct the text or the schema. {meant}").trim_end().to_owned();
    finding.message(message).help(help)
}
