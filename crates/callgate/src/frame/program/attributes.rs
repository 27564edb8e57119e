//! Attributes in the twin of a frame: a set in any order, in any quotes, with unknown ones among them.

use super::{Compiler, Mark, Op, SHORTEST_SIGN, Slip};
use crate::dialect::{Part, Record, Slot};

/// A tag whose attributes hold slots.
pub(super) struct SlottedTag<'r> {
    /// What stands before the first attribute.
    head: &'r str,
    attributes: Vec<(&'r str, Slot)>,
    /// What follows the last quote.
    rest: &'r str,
    /// The last part of the template that belongs to it.
    pub(super) end: usize,
}

impl<'r> SlottedTag<'r> {
    /// The tag that begins in this part of a template, if one does.
    pub(super) fn at(record: &Record, parts: &'r [Part], i: usize) -> Option<SlottedTag<'r>> {
        let Part::Literal(text) = &parts[i] else { return None };
        let (head, first) = text.rsplit_once(char::is_whitespace)?;
        let head = head.trim_end();
        if !head.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let is_spelled = |(key, _): &(String, Vec<String>)| key.contains('=') && text.contains(key.as_str());
        if record.also.iter().any(is_spelled) {
            return None;
        }
        let mut attributes = Vec::new();
        let (mut name, mut at) = (attribute(first)?, i);
        loop {
            let (Part::Slot(slot), Part::Literal(after)) = (parts.get(at + 1)?, parts.get(at + 2)?) else {
                return None;
            };
            if !slot.is_word() {
                return None;
            }
            attributes.push((name, *slot));
            at += 2;
            let rest = after.strip_prefix('"')?;
            match attribute(rest.trim_start()).filter(|_| rest.starts_with(char::is_whitespace)) {
                Some(next) => name = next,
                None => return Some(SlottedTag { head, attributes, rest, end: at }),
            }
        }
    }

    /// The slots without which there is no tag.
    fn needed(&self) -> impl Iterator<Item = Slot> {
        self.slots().filter(|slot| matches!(slot, Slot::Name | Slot::Key))
    }

    /// The slots that it binds.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.attributes.iter().map(|(_, slot)| *slot)
    }
}

impl Compiler {
    /// A tag with its attributes.
    pub(super) fn tag(&mut self, record: &Record, tag: &SlottedTag<'_>, left_seam: bool, right_seam: bool) {
        self.literal(record, tag.head, left_seam, true);
        if tag.head.len() >= SHORTEST_SIGN {
            self.mark(Mark::Literal);
        }
        for slot in tag.needed() {
            self.mark(Mark::Unbound(slot));
        }
        // As the format writes them, or else as a set.
        let split = self.emit(Op::Split(0, 0));
        for (name, slot) in &tag.attributes {
            self.emit(Op::Space);
            self.attribute(record, name, *slot);
        }
        let jump = self.emit(Op::Jump(0));
        let set = self.here();
        self.patch(split, Op::Split(split + 1, set));
        self.mark(Mark::Slip(Slip::Attribute));
        let again = self.emit(Op::Space);
        for (name, slot) in &tag.attributes {
            self.optional(|compiler| {
                compiler.attribute(record, name, *slot);
                compiler.emit(Op::Jump(again));
            });
        }
        self.optional(|compiler| {
            compiler.emit(Op::Attribute);
            compiler.emit(Op::Jump(again));
        });
        for slot in tag.needed() {
            self.emit(Op::Bound(slot));
        }
        let end = self.here();
        self.patch(jump, Op::Jump(end));
        self.emit(Op::Space);
        let rest = if right_seam { tag.rest } else { tag.rest.trim_end() };
        self.literal(record, rest, true, right_seam);
        if self.in_call && !record.known {
            self.mark(Mark::Commit);
        }
    }

    /// `name="{slot}"`, in any quotes or none.
    fn attribute(&mut self, record: &Record, name: &str, slot: Slot) {
        self.bytes(record, name);
        self.emit(Op::Space);
        self.emit(Op::Byte(b'='));
        self.emit(Op::Space);
        self.quote(true);
        self.word_of(slot);
        self.quote(true);
    }

    /// A quote around a word, if the format writes one; where it writes none, one may be there all the same.
    pub(super) fn quote(&mut self, is_written: bool) {
        let written = if is_written { "\"" } else { "" };
        let quotes = ["\"", "'", ""];
        self.one_of(&quotes, |compiler, quote| {
            for byte in quote.bytes() {
                compiler.emit(Op::Byte(byte));
            }
            if *quote != written {
                compiler.mark(Mark::Slip(Slip::Attribute));
            }
        });
    }
}

/// The name of the attribute whose value follows this text, if it is nothing else.
fn attribute(text: &str) -> Option<&str> {
    let name = text.strip_suffix("=\"")?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '-');
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}
