//! The quick look: most schemas only name types, members, choices and limits, and whether such a schema accepts
//! arguments can be read off their tape, without decoding a value.
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
    /// From where to where a number may be, how many characters a string may have, and how many elements an array.
    range: (i64, i64),
    characters: (usize, usize),
    elements: (usize, usize),
}

/// No limits.
const ANY_NUMBER: (i64, i64) = (i64::MIN, i64::MAX);
const ANY_COUNT: (usize, usize) = (0, usize::MAX);

/// A character of a JSON string takes at most so many bytes: two halves of a pair, each as an escape.
const LONGEST_CHARACTER: usize = 12;

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
                range: ANY_NUMBER,
                characters: ANY_COUNT,
                elements: ANY_COUNT,
            };
            let count = |says: &Value| usize::try_from(says.as_u64()?).ok();
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
                    ("minimum", least) => node.range.0 = least.as_i64()?,
                    ("maximum", most) => node.range.1 = most.as_i64()?,
                    ("minLength", least) => node.characters.0 = count(least)?,
                    ("maxLength", most) => node.characters.1 = count(most)?,
                    ("minItems", least) => node.elements.0 = count(least)?,
                    ("maxItems", most) => node.elements.1 = count(most)?,
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
        let is_whole = |root: &json::Node| root.kind == Kind::Object && root.after() == tape.nodes().len();
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

impl Node {
    /// Whether a string, as it is written, is certainly one of the choices and of the right length.
    fn allows_string(&self, raw: &str) -> bool {
        if self.choices.is_none() && self.characters == ANY_COUNT {
            return true;
        }
        let Some(content) = raw.get(1..raw.len().saturating_sub(1)) else { return false };
        let (least, most) = self.characters;
        if self.choices.is_none() && most == usize::MAX && content.len().div_ceil(LONGEST_CHARACTER) >= least
        {
            return true;
        }
        // What is written with escapes is left to the validator.
        !content.contains('\\')
            && self.choices.as_ref().is_none_or(|choices| choices.iter().any(|choice| choice == content))
            && (least..=most).contains(&content.chars().count())
    }

    /// Whether a number, as it is written, is certainly in the range.
    fn allows_number(&self, raw: &str) -> bool {
        let (least, most) = self.range;
        self.range == ANY_NUMBER || raw.parse().is_ok_and(|number: i64| (least..=most).contains(&number))
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
        match node.kind {
            Kind::String => {
                allows(TypeSet::STRING)
                    && says.is_none_or(|says| says.allows_string(self.tape.raw(self.text, value)))
            }
            _ if says.is_some_and(|says| says.choices.is_some()) => false,
            Kind::Number => {
                let raw = self.tape.raw(self.text, value);
                let is_whole = raw.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9'));
                let types = if is_whole { TypeSet::INTEGER } else { TypeSet::NUMBER };
                allows(types)
                    && raw.len() <= DIGITS
                    && !raw.contains(['e', 'E'])
                    && says.is_none_or(|says| says.allows_number(raw))
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
            let (least, most) = says.map_or(ANY_COUNT, |says| says.elements);
            let mut count = 0;
            for item in tape.children(value) {
                count += 1;
                if !self.accepts(item, items) {
                    return false;
                }
            }
            return (least..=most).contains(&count);
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
