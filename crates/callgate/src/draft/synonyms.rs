//! Synonyms: a call in a frame that only calls have, with its name or its arguments under the words of another format.

use crate::attempt::{ARGUING, shortened};
use crate::dialect::{Content, Record};
use crate::json::{Kind, Tape};

use super::members::{ENVELOPE, NAMING, STRANGERS, at_path};

/// A call as another format would write it, by the places of its parts.
pub(super) struct Synonyms {
    pub(super) name: usize,
    pub(super) arguments: Option<usize>,
    pub(super) id: Option<usize>,
    /// Members that no format has.
    pub(super) strangers: Vec<String>,
}

/// Reads an object as a call by all the words that formats have: one of them for the name and at most one for the
/// arguments, so that nothing has to be chosen; both may stand in an object `function`. None if that is not what it is, if
/// it says by a member of its own format that it is something else, or if it is still being written.
pub(super) fn synonyms(record: &Record, text: &str, tape: &Tape) -> Option<Synonyms> {
    let root = tape.nodes().first()?;
    if root.kind != Kind::Object || root.end() > text.len() || is_something_else(record, text, tape) {
        return None;
    }
    let is_object = |node: &usize| tape.nodes()[*node].kind == Kind::Object;
    let holder = tape.member(text, 0, "function").filter(is_object);
    let mut found = Found::default();
    for child in tape.children(0).filter(|child| Some(*child) != holder) {
        found.add(child, text, tape)?;
    }
    for child in holder.into_iter().flat_map(|holder| tape.children(holder)) {
        found.add(child, text, tape)?;
    }
    // Members that no format has may be the arguments, where there are no others.
    if found.arguments.is_none() && !found.strangers.is_empty() {
        return None;
    }
    Some(Synonyms { name: found.name?, arguments: found.arguments, id: found.id, strangers: found.strangers })
}

/// What has been found of a call.
#[derive(Default)]
struct Found {
    name: Option<usize>,
    arguments: Option<usize>,
    id: Option<usize>,
    strangers: Vec<String>,
}

impl Found {
    /// Takes a member for what its key says. None if there are two of a kind.
    fn add(&mut self, node: usize, text: &str, tape: &Tape) -> Option<()> {
        let key = tape.key(text, node)?;
        let part = if NAMING.contains(&&*key) && tape.nodes()[node].kind == Kind::String {
            &mut self.name
        } else if ARGUING.contains(&&*key) {
            &mut self.arguments
        } else if matches!(&*key, "id" | "call_id" | "tool_call_id") {
            &mut self.id
        } else {
            if !ENVELOPE.contains(&&*key) && self.strangers.len() < STRANGERS {
                self.strangers.push(shortened(&key));
            }
            return Some(());
        };
        part.replace(node).is_none().then_some(())
    }
}

/// Whether a member that is always the same in calls of the record is there, but another.
fn is_something_else(record: &Record, text: &str, tape: &Tape) -> bool {
    let calls = record.object.iter().filter(|shape| shape.is_call());
    calls.flat_map(|shape| &shape.members).any(|member| match &member.content {
        Content::Constant(wanted) => {
            at_path(&member.path, text, tape).is_some_and(|node| tape.raw(text, node) != wanted)
        }
        _ => false,
    })
}
