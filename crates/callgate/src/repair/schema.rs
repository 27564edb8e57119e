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
use crate::schema::outline::OutlinePlace;
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
        let fits = |(other, is_certain)| Some((self.fitted(text, other).ok()?, is_certain));
        let mut valid: Vec<(Repaired, bool)> = others.into_iter().filter_map(fits).collect();
        let says = |what: &str| Some(format!("of {read} readings only {what} follows the schema"));
        match (fitted, valid.len()) {
            (Ok(mut usual), 0) if read > 1 => {
                usual.decided = says("the usual one");
                Ok(usual)
            }
            (Ok(usual), _) => Ok(usual),
            (Err(_), 1) => {
                let (mut other, is_certain) = valid.remove(0);
                let moved = other.repairs.iter().any(|repair| repair.code == RepairCode::MissingCloser);
                if is_certain {
                    certify(&mut other, RepairCode::MissingCloser);
                }
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
    /// The second is whether a missing closer can stand nowhere else then.
    fn other_readings(&self, text: &str, depth: usize, usual: &Repaired) -> Vec<(Repaired, bool)> {
        let mut others = self.with_moved_closers(text, usual);
        if let Ok(plain) = read(Reader::new(Syntax::Json).document().with_depth(depth), text) {
            others.push((plain, false));
        }
        others.retain(|(other, _)| other.text.trim() != usual.text.trim());
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

    /// The value with the closers that were added at its end before the first key that its object does not have in the
    /// schema, while one around it does. The second is whether they could not as well stand one member earlier or later.
    fn with_moved_closers(&self, written: &str, value: &Repaired) -> Vec<(Repaired, bool)> {
        let is_closed = value.repairs.iter().any(|repair| repair.code == RepairCode::MissingCloser);
        let added = closers_at_end(&value.text).saturating_sub(closers_at_end(written));
        let Some(tape) = Tape::parse(&value.text).filter(|_| is_closed && added > 0) else {
            return Vec::new();
        };
        let text = value.text.as_str();
        let unclosed = without_closers(text, added);
        let moves = |behind: usize, closers: &str| {
            let at = tape.nodes()[behind].end();
            let moved = format!("{}{closers}{}", &unclosed[..at], &unclosed[at..]);
            let mut moved = repair(&moved, usize::MAX).ok()?;
            moved.repairs.clone_from(&value.repairs);
            let is_same = written.get(..at) == text.get(..at);
            let is_closer = |repair: &&mut Repair| repair.code == RepairCode::MissingCloser && is_same;
            for repair in moved.repairs.iter_mut().filter(is_closer) {
                repair.span = Span::new(at, at);
            }
            Some(moved)
        };
        let is_valid = |behind: Option<usize>, closers: &str| {
            behind
                .and_then(|behind| moves(behind, closers))
                .is_some_and(|other| self.fitted(written, other).is_ok())
        };
        let Some(strange) = self.first_strange(text, &tape, added) else { return Vec::new() };
        let moved = strange.closers.iter().filter_map(|closers| {
            let other = moves(strange.before, closers)?;
            let has_rival = is_valid(strange.earlier, closers) || is_valid(Some(strange.member), closers);
            Some((other, !has_rival))
        });
        moved.take(READINGS - 1).collect()
    }

    /// The first member whose key the schema does not have where it stands, but in an object at most so many levels
    /// around it.
    fn first_strange(&self, text: &str, tape: &Tape, levels: usize) -> Option<Strange> {
        let outline = &self.compiled.outline;
        let knows = |place: &OutlinePlace, key: &str| outline.member(place, key).types().is_some();
        // The containers around the value at hand, each with its place in the schema and its last two values.
        let mut open: Vec<(usize, OutlinePlace, [Option<usize>; 2], usize)> = Vec::new();
        for (node, here) in tape.nodes().iter().enumerate() {
            while open.last().is_some_and(|(container, ..)| tape.nodes()[*container].after() <= node) {
                open.pop();
            }
            let key = tape.key(text, node);
            let place = match (open.last(), &key) {
                (None, _) => outline.root(),
                (Some((_, place, ..)), Some(key)) => outline.member(place, key),
                (Some((_, place, _, count)), None) => outline.item(place, *count),
            };
            if let (Some((_, around, [earlier, Some(before)], _)), Some(key)) = (open.last(), &key)
                && !knows(around, key)
            {
                let mut closers = String::new();
                let mut found = Vec::new();
                for pair in (1..open.len()).rev().take(levels) {
                    closers.push(if tape.nodes()[open[pair].0].kind == Kind::Object { '}' } else { ']' });
                    let (outer, place, ..) = &open[pair - 1];
                    if tape.nodes()[*outer].kind == Kind::Object && knows(place, key) {
                        found.push(closers.clone());
                    }
                }
                if !found.is_empty() {
                    let (earlier, before) = (*earlier, *before);
                    return Some(Strange { member: node, before, earlier, closers: found });
                }
            }
            if let Some((_, _, [earlier, before], count)) = open.last_mut() {
                (*earlier, *before) = (*before, Some(node));
                *count += 1;
            }
            if matches!(here.kind, Kind::Object | Kind::Array) {
                open.push((node, place, [None, None], 0));
            }
        }
        None
    }
}

/// A member that stands where the schema does not have it.
struct Strange {
    member: usize,
    /// The members before it in its object.
    before: usize,
    earlier: Option<usize>,
    /// What would have to be closed before it, for each object around it that has such a member.
    closers: Vec<String>,
}

/// How many brackets close at the end of a text.
fn closers_at_end(text: &str) -> usize {
    let end = |c: &char| matches!(c, '}' | ']' | ' ' | '\n' | '\r' | '\t');
    text.chars().rev().take_while(end).filter(|c| matches!(c, '}' | ']')).count()
}

/// The text without the last brackets.
fn without_closers(text: &str, count: usize) -> &str {
    (0..count).fold(text, |text, _| {
        let text = text.trim_end();
        text.strip_suffix(['}', ']']).unwrap_or(text)
    })
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
