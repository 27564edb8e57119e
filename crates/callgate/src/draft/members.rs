//! Members: which members of a call object belong to its format, and what the others mean.

use crate::attempt::{ARGUING, shortened};
use crate::dialect::{Content, Record, Shape};
use crate::finding::{Code, Finding};
use crate::json::{Kind, Tape};

/// Members that calls of many formats have beside name and arguments, and that are never arguments.
pub(crate) const ENVELOPE: &[&str] = &[
    "id",
    "type",
    "index",
    "call_id",
    "tool_call_id",
    "object",
    "status",
    "extra_content",
    "thought_signature",
];

/// The words under which formats keep the name of a tool.
pub(crate) const NAMING: &[&str] =
    &["name", "tool", "tool_name", "function", "function_name", "func", "action", "recipient_name"];

/// Why the arguments of an object cannot be told from its other members: where they belong is nothing, but something
/// else is there that the shape does not know, or they are there twice.
pub(super) fn misplaced(shape: &Shape, text: &str, tape: &Tape) -> Option<Finding> {
    let member = shape.members.iter().find(|member| member.content == Content::Arguments)?;
    let (spellings, above) = member.path.split_last()?;
    let holder = if above.is_empty() { Some(0) } else { at_path(above, text, tape) };
    let mut written = holder
        .into_iter()
        .flat_map(|holder| tape.children(holder))
        .filter_map(|child| tape.key_among(text, child, spellings));
    if let Some(first) = written.next() {
        let second = written.next().filter(|second| *second != first)?;
        let (first, second) = (&spellings[first], &spellings[second]);
        let message = format!("the arguments stand under both `{first}` and `{second}`");
        return Some(Finding::new(Code::Ambiguous).message(message));
    }
    let known = |level: usize, key: &str| {
        ENVELOPE.contains(&key)
            || shape
                .members
                .iter()
                .any(|m| m.path.get(level).is_some_and(|words| words.iter().any(|w| w == key)))
    };
    let levels = [(0, Some(0)), (above.len(), holder)];
    let (_, stranger) = levels
        .into_iter()
        .filter_map(|(level, node)| Some((level, node?)))
        .flat_map(|(level, node)| tape.children(node).map(move |child| (level, child)))
        .filter_map(|(level, child)| Some((level, tape.key(text, child)?)))
        .find(|(level, key)| !known(*level, key))?;
    let message = format!(
        "the call has no `{}`, but `{}`, which may hold its arguments",
        spellings[0],
        shortened(&stranger)
    );
    Some(Finding::new(Code::MisplacedArguments).message(message))
}

/// The members of a call object that no shape of the record has, on each level of its shapes.
pub(super) fn strangers(record: &Record, text: &str, tape: &Tape) -> Vec<String> {
    let mut found = Vec::new();
    let paths = || record.object.iter().flat_map(|shape| &shape.members).map(|member| &member.path[..]);
    let mut seen: Vec<usize> = Vec::new();
    for path in paths() {
        for level in 0..path.len() {
            let above = &path[..level];
            let holder = if above.is_empty() { Some(0) } else { at_path(above, text, tape) };
            let Some(holder) = holder.filter(|holder| !seen.contains(holder)) else { continue };
            seen.push(holder);
            let is_known = |key: &str| {
                let names = paths().filter(|path| path.len() > level && path[..level] == *above);
                ENVELOPE.contains(&key) || names.flat_map(|path| &path[level]).any(|name| name == key)
            };
            let keys = tape.children(holder).filter_map(|child| tape.key(text, child));
            let unknown = keys.filter(|key| !is_known(key)).take(STRANGERS - found.len());
            found.extend(unknown.map(|key| shortened(&key)).collect::<Vec<_>>());
        }
    }
    found
}

/// The most members that are named as strangers.
pub(crate) const STRANGERS: usize = 8;

/// A rejection if the object names a tool in a second place, and another one.
pub(super) fn second_name(shape: &Shape, name: usize, text: &str, tape: &Tape) -> Option<Finding> {
    let member = shape.members.iter().find(|member| member.content == Content::Name)?;
    let (spellings, above) = member.path.split_last()?;
    let holder = if above.is_empty() { 0 } else { at_path(above, text, tape)? };
    let first = tape.string(text, name);
    let others = tape.children(0).chain(tape.children(holder)).filter(|child| *child != name);
    let mut named = others.filter_map(|child| {
        let key = tape.key(text, child)?;
        let is_other = shape.members.iter().any(|other| {
            other.content != Content::Name && other.path.iter().flatten().any(|word| *word == key)
        });
        let may_name = spellings.iter().any(|word| *word == key) || NAMING.contains(&&*key);
        if !may_name || is_other || above.iter().flatten().any(|word| *word == key) {
            return None;
        }
        let inner = tape.member(text, child, "name");
        tape.string(text, inner.unwrap_or(child))
    });
    named
        .any(|second| Some(second) != first)
        .then(|| Finding::new(Code::Ambiguous).message("the object names two tools, so neither was run"))
}

/// A rejection if another member of the object is one that has arguments of its own.
pub(super) fn second_arguments(shape: &Shape, text: &str, tape: &Tape) -> Option<Finding> {
    let words = || shape.members.iter().filter_map(|member| member.path.first()).flatten();
    let another = tape.children(0).find_map(|child| {
        let key = tape.key(text, child)?;
        let is_call = tape.nodes()[child].kind == Kind::Object
            && ARGUING.iter().any(|word| tape.member(text, child, word).is_some())
            && NAMING.iter().any(|word| tape.member(text, child, word).is_some());
        (is_call && words().all(|word| *word != key)).then_some(key)
    })?;
    let message = format!("`{}` is a call beside the one that the object is", shortened(&another));
    Some(Finding::new(Code::Ambiguous).message(message))
}

/// The value at the end of this path, where the object has it.
pub(super) fn at_path(path: &[Vec<String>], text: &str, tape: &Tape) -> Option<usize> {
    let mut node = 0;
    if tape.nodes().is_empty() || path.is_empty() {
        return None;
    }
    for spellings in path {
        if tape.nodes()[node].kind != Kind::Object {
            return None;
        }
        // Of several spellings the first counts, and of several members with it the last.
        node = spellings.iter().find_map(|key| tape.member(text, node, key))?;
    }
    Some(node)
}
