//! The quick look: most schemas only name types, members and choices, and whether such a schema accepts arguments can
//! be read off their tape, without decoding a value.
//!
//! It only ever says yes. Wherever it is not certain (another keyword, an escape in a key, a number in an unusual
//! spelling, an argument that the schema does not mention) the validator decides.

use serde_json::Value;

use super::types::TypeSet;
use crate::json::{self, Kind, Tape};

/// Keywords that say nothing about which values are valid.
const REMARKS: &[&str] = &["$comment", "$schema", "default", "description", "examples", "format", "title"];

/// The most members that a schema of the simple kind names: they are looked at one by one, and each has a bit.
const MEMBERS: usize = 64;

/// The longest spelling of a number that is certainly in the range of all types.
const DIGITS: usize = 15;

/// A schema of the simple kind.
#[derive(Debug)]
pub(super) struct Quick {
    /// The subschemas, the root first.
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    types: TypeSet,
    members: Vec<(String, usize)>,
    /// One bit for each member that must be there.
    required: u64,
    /// What members must be that are not mentioned; absent if they are forbidden.
    others: Option<usize>,
    /// What elements must be.
    items: Option<usize>,
    /// The strings that are allowed, where not all are.
    choices: Option<Vec<String>>,
}

impl Quick {
    /// The quick look for a schema, if it is of the simple kind.
    pub(super) fn new(schema: &Value) -> Option<Self> {
        let mut pending = vec![schema];
        let mut nodes = Vec::new();
        while let Some(schema) = pending.get(nodes.len()).copied() {
            let mut later = |schema| {
                pending.push(schema);
                pending.len() - 1
            };
            let mut node = Node {
                types: TypeSet::ANY,
                members: Vec::new(),
                required: 0,
                others: Some(usize::MAX),
                items: None,
                choices: None,
            };
            let mut required: &[Value] = &[];
            let keywords = match schema {
                Value::Bool(true) => None,
                Value::Object(keywords) => Some(keywords),
                _ => return None,
            };
            for (keyword, says) in keywords.into_iter().flatten() {
                match (keyword.as_str(), says) {
                    ("type", types) => node.types = TypeSet::of_keyword(types),
                    ("properties", Value::Object(members)) => {
                        node.members =
                            members.iter().map(|(key, schema)| (key.clone(), later(schema))).collect();
                    }
                    ("required", Value::Array(keys)) => required = keys,
                    ("additionalProperties", Value::Bool(false)) => node.others = None,
                    ("additionalProperties", schema) => node.others = Some(later(schema)),
                    ("items", schema @ (Value::Object(_) | Value::Bool(true))) => {
                        node.items = Some(later(schema))
                    }
                    ("enum", Value::Array(choices)) => {
                        let words = choices.iter().map(|choice| choice.as_str().map(str::to_owned));
                        node.choices = Some(words.collect::<Option<_>>()?);
                    }
                    (keyword, _) if REMARKS.contains(&keyword) => {}
                    _ => return None,
                }
            }
            if node.members.len() > MEMBERS {
                return None;
            }
            for key in required {
                let place =
                    node.members.iter().position(|(member, _)| Some(member.as_str()) == key.as_str())?;
                node.required |= 1 << place;
            }
            nodes.push(node);
        }
        Some(Quick { nodes })
    }

    /// Whether the schema certainly accepts these arguments, and mentions all of them.
    pub(super) fn accepts(&self, text: &str, tape: &Tape) -> bool {
        let is_whole = |root: &json::Node| root.kind == Kind::Object && root.after == tape.nodes().len();
        if !tape.nodes().first().is_some_and(is_whole) {
            return false;
        }
        let mut look = Look { schemas: &self.nodes, text, tape, open: Vec::new() };
        let allows_objects = |says: &Node| says.types.contains(TypeSet::OBJECT) && says.choices.is_none();
        if !self.nodes.first().is_some_and(allows_objects) {
            return false;
        }
        let mut next = Some((0, 0));
        while let Some((value, schema)) = next {
            if !look.accepts_inside(value, schema) {
                return false;
            }
            next = look.open.pop();
        }
        true
    }
}

/// One look at arguments.
struct Look<'a> {
    schemas: &'a [Node],
    text: &'a str,
    tape: &'a Tape,
    /// Objects and arrays that still have to be looked into, with their schemas.
    open: Vec<(usize, usize)>,
}

impl Look<'_> {
    /// Whether a value is certainly right, but for what is inside of it, which is left for later.
    fn accepts(&mut self, value: usize, schema: usize) -> bool {
        let Some(node) = self.tape.nodes().get(value) else { return false };
        // Where nothing is said, everything is accepted that is a value at all.
        let says = self.schemas.get(schema);
        let allows = |types: TypeSet| says.is_none_or(|says| says.types.contains(types));
        let choices = says.and_then(|says| says.choices.as_ref());
        match node.kind {
            Kind::String => {
                allows(TypeSet::STRING)
                    && choices.is_none_or(|choices| {
                        let raw = self.tape.raw(self.text, value);
                        let word = raw.get(1..raw.len().saturating_sub(1));
                        // A choice that is written with escapes is left to the validator.
                        choices.iter().any(|choice| word == Some(choice)) && !raw.contains('\\')
                    })
            }
            _ if choices.is_some() => false,
            Kind::Number => {
                let raw = self.tape.raw(self.text, value).as_bytes();
                let is_whole = raw.iter().all(|byte| matches!(byte, b'-' | b'0'..=b'9'));
                let is_plain = is_whole || !raw.iter().any(|byte| matches!(byte, b'e' | b'E'));
                let types = if is_whole { TypeSet::INTEGER } else { TypeSet::NUMBER };
                allows(types) && raw.len() <= DIGITS && is_plain
            }
            Kind::Bool => allows(TypeSet::BOOLEAN),
            Kind::Null => allows(TypeSet::NULL),
            Kind::Array | Kind::Object => {
                self.open.push((value, schema));
                allows(if node.kind == Kind::Array { TypeSet::ARRAY } else { TypeSet::OBJECT })
            }
        }
    }

    /// Whether everything that is directly inside of an object or array is certainly right.
    fn accepts_inside(&mut self, value: usize, schema: usize) -> bool {
        let tape = self.tape;
        let says = self.schemas.get(schema);
        if tape.nodes().get(value).is_some_and(|node| node.kind == Kind::Array) {
            let items = says.and_then(|says| says.items).unwrap_or(usize::MAX);
            return tape.children(value).all(|item| self.accepts(item, items));
        }
        let Some(says) = says else {
            return tape.children(value).all(|member| self.accepts(member, usize::MAX));
        };
        let mut missing = says.required;
        for child in tape.children(value) {
            let Some(key) = tape.plain_key(self.text, child) else { return false };
            let known = says.members.iter().position(|(member, _)| member == key);
            let schema = match known {
                Some(place) => {
                    missing &= !(1 << place);
                    Some(says.members[place].1)
                }
                // An argument that is not mentioned is a matter of the policy, too.
                None => says.others.filter(|_| value != 0),
            };
            if !schema.is_some_and(|schema| self.accepts(child, schema)) {
                return false;
            }
        }
        missing == 0
    }
}
