//! Parameters: arguments written one by one, each between its own markers.

use std::rc::Rc;

use super::super::guard::{Guard, GuardKind, RenderedPart};
use super::super::spelling::Spelled;
use super::super::template::{Part, Slot, Template};
use super::{Filling, Unrepresentable, Writer, reject};
use crate::json::{Kind, Tape};

/// What is still to be written: a value, or the closer of a value whose members come first.
enum Unwritten {
    Value { node: usize, is_nested: bool },
    Closer(String),
}

impl<'r> Writer<'r> {
    /// Writes each argument with `param`, and where the record has `item`, what is inside of it too.
    pub(super) fn params(&mut self, filling: &Filling<'_>, after: &[Part]) -> Result<(), Unrepresentable> {
        let followers = self.followers(after);
        let mut pending: Vec<Unwritten> = reversed_children(&filling.tape, 0, false);
        while let Some(next) = pending.pop() {
            match next {
                Unwritten::Closer(closer) => self.out.push_str(&closer),
                Unwritten::Value { node, is_nested } => {
                    let closer = self.param_opener(filling, node, is_nested)?;
                    let is_container = matches!(filling.tape.nodes()[node].kind, Kind::Object | Kind::Array);
                    if is_container && self.record.item.is_some() {
                        pending.push(Unwritten::Closer(closer));
                        pending.extend(reversed_children(&filling.tape, node, true));
                    } else {
                        self.value(filling, node, closer, Rc::clone(&followers))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes what stands before the value of a parameter or list element, and returns what stands behind it.
    fn param_opener(
        &mut self,
        filling: &Filling<'_>,
        node: usize,
        is_nested: bool,
    ) -> Result<String, Unrepresentable> {
        let json = filling.call.arguments;
        let path = || filling.argument_path(node);
        let key = filling.tape.key(json, node);
        let template = if key.is_some() { self.record.param.first() } else { self.record.item.as_ref() };
        let Some(template) = template else {
            return reject(path(), "", "this dialect has no list elements");
        };
        let start = self.out.len();
        let mut opener_end = None;
        for (index, part) in template.parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => self.out.push_str(literal),
                Part::Slot(Slot::Key) => {
                    self.word(&key.clone().unwrap_or_default(), template.parts.get(index + 1), path)?;
                }
                Part::Slot(Slot::Type) => {
                    let spelling = self.record.type_spelling(json_type(&filling.tape, json, node));
                    self.out.push_str(spelling);
                }
                Part::Slot(Slot::Value) => opener_end = Some(self.out.len()),
                Part::Slot(_) => self.out.push_str(&self.record.suffix),
            }
        }
        let closer = opener_end.map(|end| self.out.split_off(end)).unwrap_or_default();
        // Inside a value, a member that opens like a list element would be read as one.
        if let (Some(key), Some(item), true) = (&key, &self.record.item, is_nested)
            && self.out[start..].starts_with(item.head())
        {
            return reject(path(), key, "the key means a list element in this dialect");
        }
        Ok(closer)
    }

    fn value(
        &mut self,
        filling: &Filling<'_>,
        node: usize,
        closer: String,
        followers: Rc<[Spelled]>,
    ) -> Result<(), Unrepresentable> {
        let json = filling.call.arguments;
        let path = || filling.argument_path(node);
        let string = filling.tape.string(json, node);
        let start = self.out.len();
        match &string {
            Some(text) => {
                if self.record.trim && text.trim().len() < text.len() {
                    return reject(path(), text, "white space around a value is dropped in this dialect");
                }
                self.raw(Slot::Value, text);
            }
            None => self.raw(Slot::Value, filling.tape.raw(json, node)),
        }
        let written = self.out[start..].trim_start();
        let openers = self.record.param.iter().chain(&self.record.item).map(Template::head);
        let is_element = |head: &str| !head.trim().is_empty() && written.starts_with(head.trim());
        if self.record.item.is_some() && openers.into_iter().any(is_element) {
            return reject(path(), written, "the value starts like an element of this dialect");
        }
        if self.rival_openings().any(|literal| written.starts_with(literal)) {
            return reject(path(), written, "the value starts like another form of a parameter");
        }
        if closer.starts_with('\n') && written.ends_with('\r') {
            return reject(path(), written, "the value ends like the line break behind it");
        }
        let range = start..self.out.len();
        self.out.push_str(&closer);
        let place = RenderedPart::Argument { call: filling.position, node };
        self.guards.push(Guard { range, place, kind: GuardKind::Value { closer, followers } });
        Ok(())
    }

    /// What other templates of `param` write between the same opener and their value.
    fn rival_openings(&self) -> impl Iterator<Item = &'r str> {
        let (first, others) = self.record.param.split_first().unzip();
        let parts = first.map(|first: &Template| first.parts.as_slice()).unwrap_or_default();
        others.unwrap_or_default().iter().filter_map(move |other| {
            let shared = parts.iter().zip(&other.parts).take_while(|(one, two)| one == two).count();
            match (parts.get(shared), parts.get(shared + 1), other.parts.get(shared)) {
                (Some(Part::Literal(own)), Some(Part::Slot(Slot::Value)), Some(Part::Literal(longer))) => {
                    longer.strip_prefix(own.as_str()).map(str::trim).filter(|rest| !rest.is_empty())
                }
                _ => None,
            }
        })
    }

    /// The literals that can stand behind a parameter: the next one, the closers of what it is in, and if those may be
    /// absent, whatever comes after the call.
    fn followers(&self, after: &[Part]) -> Rc<[Spelled]> {
        let record = self.record;
        let mut followers: Vec<String> =
            record.param.iter().map(|param| self.opening(&param.parts)).collect();
        if let Some(item) = &record.item {
            followers.push(self.opening(&item.parts));
            for template in record.param.iter().chain([item]) {
                let value = template.parts.iter().position(|part| *part == Part::Slot(Slot::Value));
                followers.push(self.opening(&template.parts[value.map_or(0, |index| index + 1)..]));
            }
        }
        let tail = self.opening(after);
        if tail.trim().is_empty() || Spelled::new(&tail, &record.also).is_optional() {
            let outside = record.call.iter().chain(&record.open).chain(&record.close).chain([&record.join]);
            followers.extend(outside.map(|template| self.opening(&template.parts)));
        }
        followers.push(tail);
        followers.retain(|literal| !literal.trim().is_empty());
        followers.iter().map(|literal| Spelled::new(literal, &record.also).beginning()).collect()
    }

    /// The literal that some parts start with, its suffix filled in.
    fn opening(&self, parts: &[Part]) -> String {
        let mut opening = String::new();
        for part in parts {
            match part {
                Part::Literal(literal) => opening.push_str(literal),
                Part::Slot(Slot::Suffix) => opening.push_str(&self.record.suffix),
                Part::Slot(_) => break,
            }
        }
        opening
    }
}

fn reversed_children(tape: &Tape, parent: usize, is_nested: bool) -> Vec<Unwritten> {
    let mut children: Vec<Unwritten> =
        tape.children(parent).map(|node| Unwritten::Value { node, is_nested }).collect();
    children.reverse();
    children
}

fn json_type(tape: &Tape, json: &str, node: usize) -> &'static str {
    match tape.nodes()[node].kind {
        Kind::Object => "object",
        Kind::Array => "array",
        Kind::String => "string",
        Kind::Bool => "boolean",
        Kind::Null => "null",
        Kind::Number if tape.raw(json, node).contains(['.', 'e', 'E']) => "number",
        Kind::Number => "integer",
    }
}
