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

/// The most members of an object that are looked at one by one.
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
    required: Vec<String>,
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
                required: Vec::new(),
                others: Some(usize::MAX),
                items: None,
                choices: None,
            };
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
                    ("required", Value::Array(keys)) => {
                        node.required =
                            keys.iter().map(|key| key.as_str().map(str::to_owned)).collect::<Option<_>>()?;
                    }
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
        let mut pending = vec![(0, 0)];
        while let Some((value, schema)) = pending.pop() {
            // Where nothing is said, everything is accepted that is a value at all.
            let (Some(node), schema) = (tape.nodes().get(value), self.nodes.get(schema)) else {
                return false;
            };
            let allows = |types: TypeSet| schema.is_none_or(|schema| schema.types.contains(types));
            let choices = schema.and_then(|schema| schema.choices.as_ref());
            let certain = match node.kind {
                Kind::String => {
                    let raw = tape.raw(text, value);
                    let is_choice = |choice: &String| raw.get(1..raw.len().saturating_sub(1)) == Some(choice);
                    allows(TypeSet::STRING)
                        && choices.is_none_or(|choices| choices.iter().any(is_choice) && !raw.contains('\\'))
                }
                _ if choices.is_some() => false,
                Kind::Number => {
                    let raw = tape.raw(text, value);
                    let types = if raw.contains('.') { TypeSet::NUMBER } else { TypeSet::INTEGER };
                    allows(types) && raw.len() <= DIGITS && !raw.contains(['e', 'E'])
                }
                Kind::Bool => allows(TypeSet::BOOLEAN),
                Kind::Null => allows(TypeSet::NULL),
                Kind::Array => {
                    let items = schema.and_then(|schema| schema.items).unwrap_or(usize::MAX);
                    pending.extend(tape.children(value).map(|item| (item, items)));
                    allows(TypeSet::ARRAY)
                }
                Kind::Object => {
                    allows(TypeSet::OBJECT) && self.accepts_members(text, tape, value, schema, &mut pending)
                }
            };
            if !certain {
                return false;
            }
        }
        true
    }

    /// Whether an object has the members it needs and no others. What they must be is left for later.
    fn accepts_members(
        &self,
        text: &str,
        tape: &Tape,
        object: usize,
        schema: Option<&Node>,
        pending: &mut Vec<(usize, usize)>,
    ) -> bool {
        let mut count = 0;
        for child in tape.children(object) {
            count += 1;
            let Some(schema) = schema else {
                pending.push((child, usize::MAX));
                continue;
            };
            let Some(key) = tape.plain_key(text, child) else { return false };
            let known = schema.members.iter().find(|(member, _)| member == key);
            // An argument that is not mentioned is a matter of the policy, too.
            let others = schema.others.filter(|_| object != 0);
            let Some(member) = known.map(|(_, member)| *member).or(others) else { return false };
            pending.push((child, member));
        }
        let required = schema.map_or(&[][..], |schema| &schema.required);
        let has = |key: &String| tape.children(object).any(|child| tape.plain_key(text, child) == Some(key));
        count <= MEMBERS && required.iter().all(has)
    }
}
