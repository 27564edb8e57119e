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

/// How deep the values may be nested into which it looks.
const DEPTH: usize = 8;

/// The longest spelling of a number that is certainly in the range of all types.
const DIGITS: usize = 15;

/// A schema of the simple kind.
#[derive(Debug)]
pub(super) struct Quick {
    /// The subschemas, the root first.
    nodes: Vec<QuickNode>,
}

#[derive(Debug)]
struct QuickNode {
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
            let mut node = QuickNode {
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
            // Keys are compared as they are written, so none may need an escape.
            if node.members.len() > MEMBERS || node.members.iter().any(|(key, _)| key.contains('\\')) {
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

    /// Whether the schema certainly accepts these arguments, and mentions all of them, and no key stands twice in an
    /// object.
    pub(super) fn accepts(&self, text: &str, tape: &Tape) -> bool {
        let nodes = tape.nodes();
        let is_whole = |root: &json::Node| root.kind == Kind::Object && root.after() == nodes.len();
        if !nodes.first().is_some_and(is_whole) {
            return false;
        }
        // The containers around the value at hand, innermost last.
        let mut around: [OpenContainer<'_>; DEPTH] = [const { OpenContainer::NONE }; DEPTH];
        let mut depth = 0;
        for (index, node) in nodes.iter().enumerate() {
            while depth > 0 && around[depth - 1].after == index {
                depth -= 1;
                if !around[depth].ends_well(text, tape) {
                    return false;
                }
            }
            let says = if depth == 0 {
                self.nodes.first()
            } else {
                match around[depth - 1].next(&self.nodes, text, node, depth == 1) {
                    Some(says) => says,
                    None => return false,
                }
            };
            if !is_allowed(says, text, node) {
                return false;
            }
            if matches!(node.kind, Kind::Object | Kind::Array) {
                if depth == DEPTH {
                    return false;
                }
                around[depth] =
                    OpenContainer { says, node: index, after: node.after(), ..OpenContainer::NONE };
                around[depth].is_object = node.kind == Kind::Object;
                depth += 1;
            }
        }
        around[..depth].iter().rev().all(|container| container.ends_well(text, tape))
    }
}

/// Whether a value is certainly right, but for what is inside of it. Where nothing is said, everything is accepted that
/// is a value at all.
fn is_allowed(says: Option<&QuickNode>, text: &str, node: &json::Node) -> bool {
    let raw = || text.get(node.start()..node.end()).unwrap_or_default();
    let allows = |types: TypeSet| says.is_none_or(|says| says.types.contains(types));
    match node.kind {
        Kind::String => allows(TypeSet::STRING) && says.is_none_or(|says| says.allows_string(raw())),
        _ if says.is_some_and(|says| says.choices.is_some()) => false,
        Kind::Number => {
            let raw = raw();
            let is_whole = raw.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9'));
            let types = if is_whole { TypeSet::INTEGER } else { TypeSet::NUMBER };
            allows(types)
                && raw.len() <= DIGITS
                && (is_whole || !raw.contains(['e', 'E']))
                && says.is_none_or(|says| says.allows_number(raw))
        }
        Kind::Bool => allows(TypeSet::BOOLEAN),
        Kind::Null => allows(TypeSet::NULL),
        Kind::Array => allows(TypeSet::ARRAY),
        Kind::Object => allows(TypeSet::OBJECT),
    }
}

/// An object or array that is being looked into.
struct OpenContainer<'q> {
    /// What is said about it, if anything.
    says: Option<&'q QuickNode>,
    is_object: bool,
    /// Its place on the tape, and the first that is not inside of it.
    node: usize,
    after: usize,
    /// One bit for each mentioned member that is there.
    seen: u64,
    /// How many members are not mentioned, or how many elements there are.
    count: usize,
}

impl<'q> OpenContainer<'q> {
    const NONE: OpenContainer<'static> =
        OpenContainer { says: None, is_object: false, node: 0, after: 0, seen: 0, count: 0 };

    /// What is said about the next value in it, if anything; nothing if that is not certain.
    fn next(
        &mut self,
        schemas: &'q [QuickNode],
        text: &str,
        node: &json::Node,
        is_root: bool,
    ) -> Option<Option<&'q QuickNode>> {
        if !self.is_object {
            self.count += 1;
            return Some(self.says.and_then(|says| schemas.get(says.items?)));
        }
        let key = node.written_key(text)?;
        if let Some(says) = self.says
            && let Some(place) = says.members.iter().position(|(member, _)| member.as_bytes() == key)
        {
            let bit = 1 << place;
            if self.seen & bit != 0 {
                return None;
            }
            self.seen |= bit;
            return Some(schemas.get(says.members[place].1));
        }
        // With an escape in it, it may still be one of them. And an argument that is not mentioned is a matter of the
        // policy, too.
        if is_root || key.contains(&b'\\') {
            return None;
        }
        self.count += 1;
        match self.says {
            Some(says) => says.others.map(|schema| schemas.get(schema)),
            None => Some(None),
        }
    }

    /// Whether everything that must be in it is, and no more than may be.
    fn ends_well(&self, text: &str, tape: &Tape) -> bool {
        if !self.is_object {
            let (least, most) = self.says.map_or(ANY_COUNT, |says| says.elements);
            return (least..=most).contains(&self.count);
        }
        self.says.is_none_or(|says| says.required & !self.seen == 0)
            // Of the members that are not mentioned, none has been compared with the others.
            && (self.count < 2 || tape.repeated_member(text, self.node).is_none())
    }
}

impl QuickNode {
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
