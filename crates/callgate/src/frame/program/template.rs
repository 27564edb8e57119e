//! Templates: one string of a record, compiled part by part.

use super::attributes::SlottedTag;
use super::{Body, Compiler, FrameKind, Mark, Op, Pc, SHORTEST_SIGN, Slip, WordPattern};
use crate::dialect::{Part, Record, Slot, Template, is_word_character};
use crate::json::Syntax;

/// What the parts of a template that are compiled so far mean for those that follow.
#[derive(Default)]
struct Passed {
    /// The slots that are bound. After a body they are not read again, but repeated.
    bound: Vec<Slot>,
    has_body: bool,
    /// How many bytes the literal has so far that may go on in the next part.
    literal: usize,
}

impl Passed {
    /// Whether a part after a body can belong to a closer.
    fn closes(&self, part: &Part) -> bool {
        match part {
            Part::Slot(slot) => *slot == Slot::Suffix || self.repeats(*slot),
            Part::Literal(_) => true,
        }
    }

    fn repeats(&self, slot: Slot) -> bool {
        self.has_body && slot.is_word() && self.bound.contains(&slot)
    }
}

impl Compiler {
    /// One template. In a `fence` the literals with backticks are the lines of the fence.
    pub(super) fn template(&mut self, record: &Record, template: &Template, fence: bool) {
        let parts = &template.parts;
        let mut passed = Passed::default();
        let mut i = 0;
        while i < parts.len() {
            if self.forgiving
                && !passed.has_body
                && let Some(tag) = SlottedTag::at(record, parts, i)
            {
                let left_seam = i.checked_sub(1).is_none_or(|before| !is_raw(&parts[before]));
                let right_seam = parts.get(tag.end + 1).is_some_and(|next| !is_raw(next));
                self.tag(record, &tag, left_seam, right_seam);
                passed.bound.extend(tag.slots());
                i = tag.end + 1;
                continue;
            }
            match &parts[i] {
                Part::Literal(_) if self.forgiving && passed.has_body => {
                    let end = (i..parts.len()).find(|at| !passed.closes(&parts[*at])).unwrap_or(parts.len());
                    let after_value = parts[i - 1] == Part::Slot(Slot::Value);
                    self.closers(record, &parts[i..end], after_value);
                    i = end - 1;
                }
                Part::Literal(text) => {
                    passed.literal += self.literal_part(record, parts, i, text, fence);
                }
                Part::Slot(Slot::Suffix) => {
                    self.emit(Op::Suffix);
                }
                Part::Slot(slot) if passed.repeats(*slot) => {
                    self.emit(Op::Repeat(*slot));
                    passed.literal += 2;
                }
                Part::Slot(slot) if slot.is_word() => {
                    i = self.word(record, parts, i, &mut passed.bound);
                }
                Part::Slot(Slot::Params) => {
                    self.params(record);
                    passed.has_body = true;
                }
                Part::Slot(slot) => {
                    self.body_part(record, parts, i, *slot, fence);
                    passed.has_body = true;
                }
            }
            i += 1;
            // A literal may be made of several parts; what counts is its end, and whether it can be mistaken.
            let goes_on = match parts.get(i) {
                Some(Part::Literal(_) | Part::Slot(Slot::Suffix)) => true,
                Some(Part::Slot(slot)) => passed.repeats(*slot),
                None => false,
            };
            if !goes_on {
                if passed.literal >= SHORTEST_SIGN {
                    self.mark(Mark::Literal);
                }
                passed.literal = 0;
            }
        }
    }

    /// A literal between the parts around it. Says how many visible bytes it has in any case.
    fn literal_part(&mut self, record: &Record, parts: &[Part], i: usize, text: &str, fence: bool) -> usize {
        let before = i.checked_sub(1).map(|before| &parts[before]);
        let left_raw = before.is_some_and(is_raw);
        let right_raw = parts.get(i + 1).is_some_and(|next| is_raw(next) || reads_lines(record, next));
        let is_last = i + 1 == parts.len();
        let mut text = if fence && self.pieces == 0 { self.fence_line(text) } else { text };
        let closes_fence = fence && is_last && text.ends_with("```");
        if closes_fence {
            text = text.trim_end_matches('`').trim_end();
        }
        // White space next to a raw slot belongs to the slot; at the end of a frame it is layout.
        if left_raw {
            text = text.trim_start();
        }
        if right_raw || is_last {
            text = text.trim_end();
        }
        // A list may lack its bracket.
        let is_list = self.forgiving && is_last && text.len() > 1 && text.ends_with('[');
        if is_list {
            text = text[..text.len() - 1].trim_end();
        }
        let pieces = self.pieces;
        // White space at the end comes after what the literal means, so that the meaning does not wait.
        let (text, gap) = text.split_at(text.trim_end().len());
        let is_optional = self.literal(record, text, !left_raw, !right_raw);
        if before == Some(&Part::Slot(Slot::Suffix)) {
            self.pieces = pieces;
        } else if self.pieces > 1 && self.in_call && !record.known && !text.is_empty() {
            self.mark(Mark::Commit);
        }
        if !gap.is_empty() {
            self.bytes(record, gap);
        }
        if is_list {
            if !fence {
                self.fence_inside(true);
            }
            self.bracket(b'[');
        }
        if closes_fence {
            self.emit(Op::FenceEnd);
            self.mark(Mark::Literal);
        }
        if is_optional { 0 } else { text.trim().len() }
    }

    /// The opening line of a fence, if the literal has one. Returns what follows it.
    fn fence_line<'t>(&mut self, text: &'t str) -> &'t str {
        let Some((info, rest)) = fence_info(text) else { return text };
        self.program.infos.push(info.to_ascii_lowercase());
        self.emit(Op::Fence((self.program.infos.len() - 1) as u16));
        self.mark(Mark::Piece);
        self.pieces = 1;
        self.first_literal = false;
        rest
    }

    /// A slot that a reader of its own reads.
    fn body_part(&mut self, record: &Record, parts: &[Part], i: usize, slot: Slot, fence: bool) {
        let body = self.body_of(record, parts, i, slot);
        let number = self.program.bodies.len() as u16;
        self.program.bodies.push(body);
        self.places.push(((parts.as_ptr() as usize, i), number));
        let is_json = self.forgiving && !fence && matches!(slot, Slot::Object | Slot::Arguments);
        if !slot.is_raw() && !reads_lines(record, &parts[i]) {
            self.emit(Op::Space);
        }
        if is_json && slot == Slot::Object {
            self.slip(|compiler| {
                compiler.emit(Op::Byte(b'['));
                compiler.mark(Mark::Slip(Slip::List));
                compiler.emit(Op::Space);
            });
        }
        let start = self.here();
        if is_json {
            self.fence_inside(true);
        }
        self.emit(Op::Body(number));
        if self.forgiving && slot == Slot::Value {
            self.reopened(record, &parts[..i]);
        }
        if is_json {
            self.fence_inside(false);
        }
        if is_json && slot == Slot::Object {
            self.more_objects(start);
        }
        // The closing line of a fence reads the white space before it, to see the line break.
        let fence_next = fence && matches!(parts.get(i + 1), Some(Part::Literal(l)) if l.trim() == "```");
        if !slot.is_raw() && !fence_next && i + 1 < parts.len() {
            self.emit(Op::Space);
        }
    }

    fn body_of(&self, record: &Record, parts: &[Part], i: usize, slot: Slot) -> Body {
        let lead = match i.checked_sub(1).map(|before| &parts[before]) {
            Some(Part::Literal(l)) => l[l.trim_end().len()..].to_owned(),
            _ => String::new(),
        };
        let trail = match parts.get(i + 1) {
            Some(Part::Literal(l)) => l[..l.len() - l.trim_start().len()].to_owned(),
            _ => String::new(),
        };
        let kind = self.program.frames.last().map(|frame| frame.kind);
        match slot {
            Slot::Object => Body::Object,
            Slot::Arguments if record.syntax == Syntax::Lines => Body::Lines(self.marks.clone()),
            Slot::Arguments => Body::Arguments { kwargs: record.syntax == Syntax::Kwargs },
            Slot::Value => Body::Value { lead, trail },
            Slot::Code => Body::Code,
            Slot::Text if kind == Some(FrameKind::Reasoning) => Body::Reasoning { lead, trail },
            Slot::Text => Body::Text,
            _ => Body::Skip,
        }
    }

    /// A code fence that the format does not write: its first line, or its last.
    pub(super) fn fence_inside(&mut self, opens: bool) {
        self.slip(|compiler| {
            compiler.emit(Op::Space);
            for byte in FENCE.bytes() {
                compiler.emit(Op::Byte(byte));
            }
            if opens {
                compiler.optional(|compiler| compiler.word_of(Slot::Skip));
            }
            compiler.mark(Mark::Slip(Slip::Fence));
            compiler.emit(Op::Space);
        });
    }

    /// The marker right before a value, which a value does not begin with unless it was written twice.
    fn reopened(&mut self, record: &Record, before: &[Part]) {
        let is_start = |part: &Part| matches!(part, Part::Literal(text) if text.contains('<'));
        let Some(from) = before.iter().rposition(is_start) else { return };
        self.optional(|compiler| {
            compiler.emit(Op::Space);
            for (at, part) in before[from..].iter().enumerate() {
                match part {
                    Part::Literal(text) if at == 0 => {
                        compiler.bytes(record, &text[text.rfind('<').unwrap_or(0)..])
                    }
                    Part::Literal(text) => compiler.bytes(record, text.trim_end()),
                    Part::Slot(Slot::Suffix) => {
                        compiler.emit(Op::Suffix);
                    }
                    Part::Slot(slot) => {
                        compiler.emit(Op::Repeat(*slot));
                    }
                }
            }
            compiler.emit(Op::Reopened);
        });
    }

    /// More objects where the format writes one, each a call, and the end of the list that they may stand in.
    fn more_objects(&mut self, start: Pc) {
        self.emit(Op::Space);
        self.slip(|compiler| {
            compiler.mark(Mark::CallEnd);
            compiler.mark(Mark::Slip(Slip::List));
            compiler.comma();
            compiler.mark(Mark::CallStart);
            compiler.emit(Op::Jump(start));
        });
        self.comma();
        self.slip(|compiler| {
            compiler.emit(Op::Byte(b']'));
        });
    }

    /// `param*`: after each parameter either another or what follows.
    fn params(&mut self, record: &Record) {
        let json = self.forgiving.then(|| self.emit(Op::Split(0, 0)));
        let again = self.emit(Op::Space);
        for param in &record.param {
            self.optional(|compiler| {
                compiler.template(record, param, false);
                compiler.emit(Op::Jump(again));
            });
        }
        let Some(json) = json else { return };
        // One object instead of all parameters: only where none has come yet.
        let jump = self.emit(Op::Jump(0));
        let object = self.here();
        self.mark(Mark::Slip(Slip::Json));
        self.emit(Op::Space);
        self.fence_inside(true);
        let number = self.program.bodies.len() as u16;
        self.program.bodies.push(Body::Arguments { kwargs: false });
        self.emit(Op::Body(number));
        self.fence_inside(false);
        let next = self.here();
        self.patch(json, Op::Split(json + 1, object));
        self.patch(jump, Op::Jump(next));
    }

    /// A word: one slot, or several with literals of word characters between them. Returns the last part it took.
    fn word(&mut self, record: &Record, parts: &[Part], mut i: usize, bound: &mut Vec<Slot>) -> usize {
        let mut slots = Vec::new();
        while let Some(Part::Slot(slot)) = parts.get(i) {
            bound.push(*slot);
            let literal = match parts.get(i + 1) {
                Some(Part::Literal(text)) => text.as_str(),
                _ => "",
            };
            let inner: usize =
                literal.chars().take_while(|c| is_word_character(*c)).map(char::len_utf8).sum();
            if inner == 0 {
                slots.push((*slot, String::new()));
                break;
            }
            slots.push((*slot, literal[..inner].to_owned()));
            let next_is_word = matches!(parts.get(i + 2), Some(Part::Slot(s)) if s.is_word());
            if inner == literal.len() && next_is_word {
                i += 2;
                continue;
            }
            // White space may stand before what only looks like a part of the word, as in `{name} .call(`.
            let is_apart =
                slots.len() == 1 && !literal.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let split = is_apart.then(|| self.emit(Op::Split(0, 0)));
            self.pattern(record, slots, false);
            if let Some(split) = split {
                let jump = self.emit(Op::Jump(0));
                let other = self.here();
                self.pattern(record, vec![(*slot, String::new())], false);
                for byte in literal[..inner].bytes() {
                    self.emit(Op::Byte(byte));
                }
                let next = self.here();
                self.patch(split, Op::Split(split + 1, other));
                self.patch(jump, Op::Jump(next));
            }
            // What is left of the literal after its word characters.
            for byte in literal[inner..].trim_start().bytes() {
                self.emit(Op::Byte(byte));
            }
            self.mark(Mark::Piece);
            self.mark(Mark::Commit);
            return i + 1;
        }
        let is_attribute = matches!(i.checked_sub(1).map(|before| &parts[before]), Some(Part::Literal(l)) if l.ends_with('='));
        self.pattern(record, slots, self.forgiving && is_attribute);
        i
    }

    /// One word, bound to a slot.
    pub(super) fn word_of(&mut self, slot: Slot) {
        self.read_word(WordPattern { slots: vec![(slot, String::new())], of_calls: false });
    }

    /// The name of a tag around calls or their parts, of any family.
    pub(super) fn name_of_calls(&mut self) {
        self.read_word(WordPattern { slots: vec![(Slot::Skip, String::new())], of_calls: true });
    }

    fn read_word(&mut self, pattern: WordPattern) {
        self.program.patterns.push(pattern);
        self.emit(Op::Word((self.program.patterns.len() - 1) as u16));
    }

    fn pattern(&mut self, record: &Record, slots: Vec<(Slot, String)>, may_be_quoted: bool) {
        self.seam(record);
        if may_be_quoted {
            if slots.iter().any(|(slot, _)| *slot == Slot::Key) {
                // The key before it is that of another tag.
                self.mark(Mark::Unbound(Slot::Key));
            }
            self.quote(false);
        }
        self.read_word(WordPattern { slots, of_calls: false });
        if may_be_quoted {
            self.quote(false);
        }
        self.seam(record);
    }
}

/// The marks of a code fence.
const FENCE: &str = "```";

/// Whether a literal opens a code fence.
pub(super) fn opens_fence(literal: &str) -> bool {
    fence_info(literal).is_some()
}

/// The info string of the code fence that a literal opens, and what follows its line.
fn fence_info(literal: &str) -> Option<(&str, &str)> {
    let (info, rest) = literal.strip_prefix("```")?.split_once('\n')?;
    Some((info.trim(), rest))
}

/// Whether this part is read line by line, white space included.
fn reads_lines(record: &Record, part: &Part) -> bool {
    record.syntax == Syntax::Lines && *part == Part::Slot(Slot::Arguments)
}

fn is_raw(part: &Part) -> bool {
    matches!(part, Part::Slot(slot) if slot.is_raw())
}
