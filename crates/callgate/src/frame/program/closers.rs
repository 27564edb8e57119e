//! Closers in the twin of a frame: each may be missing if one after it is there, or stand twice.

use super::{Compiler, Mark, Op, SHORTEST_SIGN, Slip};
use crate::dialect::{Part, Piece, Record, Slot, Template, markers, pieces};

/// A marker: its text, and what it repeats of what was read before.
type Marker<'r> = Vec<MarkerPart<'r>>;

/// A part of a marker.
#[derive(Clone, Copy)]
enum MarkerPart<'r> {
    Text(&'r str),
    Slot(Slot),
}

/// The end of text that XML takes as it is.
pub(crate) const CDATA_END: &str = "]]>";

impl Compiler {
    /// A template that closes what another one has opened.
    pub(super) fn closing_template(&mut self, record: &Record, template: &Template, fence: bool) {
        if self.forgiving && template.parts.iter().all(is_fixed) {
            self.closers(record, &template.parts, false);
        } else {
            self.template(record, template, fence);
        }
    }

    /// The closers that these parts are, in their order. The end of a value is noted by itself where it is missing.
    pub(super) fn closers(&mut self, record: &Record, parts: &[Part], after_value: bool) {
        let mut is_first = after_value;
        if let [Part::Literal(text)] = parts
            && let Some(rest) = text.trim_start().strip_prefix(CDATA_END).filter(|_| after_value)
        {
            // What is inside of it is data, whatever it shows, so that its end is never missing.
            self.bytes(record, CDATA_END);
            self.mark(Mark::Piece);
            self.mark(Mark::Literal);
            self.closers(record, &[Part::Literal(rest.to_owned())], false);
            return;
        }
        if let [Part::Literal(text)] = parts {
            let pieces = pieces(text, &record.also);
            let is_marked = |piece: &Piece<'_>| is_made_of_markers(piece.text);
            if !pieces.iter().all(is_marked) {
                self.closer(record, after_value, |compiler| {
                    compiler.literal(record, text.trim(), true, true);
                });
                return;
            }
            for piece in pieces {
                match piece.others {
                    // The bracket of a list may be missing by itself, whatever is written behind it.
                    Some(others) if all_end_a_list(piece.text, others) => {
                        self.bracket(b']');
                        self.fence_inside(false);
                        let others: Vec<String> = others.iter().map(|other| other[1..].to_owned()).collect();
                        self.spelled_closer(record, &piece.text[1..], &others, is_first);
                    }
                    Some(others) => self.spelled_closer(record, piece.text, others, is_first),
                    None => self.plain_closers(record, &[MarkerPart::Text(piece.text)], &mut is_first),
                }
                is_first = false;
            }
            return;
        }
        let units: Vec<MarkerPart<'_>> = parts
            .iter()
            .map(|part| match part {
                Part::Literal(text) => MarkerPart::Text(text),
                Part::Slot(slot) => MarkerPart::Slot(*slot),
            })
            .collect();
        self.plain_closers(record, &units, &mut is_first);
    }

    /// A comma that the format does not write.
    pub(super) fn comma(&mut self) {
        if self.forgiving {
            self.slip(|compiler| {
                compiler.emit(Op::Byte(b','));
                compiler.mark(Mark::Slip(Slip::List));
                compiler.emit(Op::Space);
            });
        }
    }

    /// A bracket around calls, which may be missing.
    pub(super) fn bracket(&mut self, bracket: u8) {
        let absent: &[Mark] =
            if bracket == b']' { &[Mark::OwesBracket] } else { &[Mark::Slip(Slip::List), Mark::Unlisted] };
        self.or_absent(absent, |compiler| {
            compiler.emit(Op::Space);
            compiler.emit(Op::Byte(bracket));
        });
    }

    /// What may be absent, which is noted.
    fn or_absent(&mut self, absent: &[Mark], write: impl FnOnce(&mut Self)) {
        let split = self.emit(Op::Split(0, 0));
        write(self);
        let jump = self.emit(Op::Jump(0));
        let without = self.here();
        for mark in absent {
            self.mark(*mark);
        }
        let next = self.here();
        self.patch(split, Op::Split(split + 1, without));
        self.patch(jump, Op::Jump(next));
    }

    fn plain_closers(&mut self, record: &Record, units: &[MarkerPart<'_>], after_value: &mut bool) {
        for marker in closing_markers(units) {
            match marker.as_slice() {
                [MarkerPart::Text(bracket @ ("]" | "["))] => {
                    // The token of which it is a part tells whether the value is closed.
                    self.bracket(bracket.as_bytes()[0]);
                    continue;
                }
                _ if is_telling(&marker) => {
                    self.closer(record, *after_value, |compiler| compiler.units(record, &marker));
                }
                _ => {
                    self.emit(Op::Space);
                    self.units(record, &marker);
                }
            }
            *after_value = false;
        }
    }

    fn spelled_closer(&mut self, record: &Record, key: &str, others: &[String], after_value: bool) {
        let mut spellings: Vec<&str> = others.iter().map(String::as_str).chain([key]).collect();
        spellings.sort_by_key(|spelling| usize::MAX - spelling.len());
        let is_optional = spellings.iter().any(|spelling| spelling.trim().is_empty());
        spellings.retain(|spelling| !spelling.trim().is_empty());
        let write = |compiler: &mut Compiler| {
            compiler.one_of(&spellings, |compiler, spelling| compiler.bytes(record, spelling));
        };
        if is_optional {
            // The format itself lets it be absent.
            let absent: &[Mark] =
                if after_value { &[Mark::Skipped, Mark::Unclosed] } else { &[Mark::Skipped] };
            self.or_absent(absent, |compiler| compiler.read_closer(record, write));
        } else {
            self.closer(record, after_value, write);
        }
    }

    fn closer(&mut self, record: &Record, after_value: bool, write: impl FnOnce(&mut Self)) {
        let absent: &[Mark] = if after_value {
            &[Mark::Skipped, Mark::Unclosed, Mark::OwesCloser]
        } else {
            &[Mark::Skipped, Mark::OwesCloser, Mark::Slip(Slip::Missing)]
        };
        self.or_absent(absent, |compiler| compiler.read_closer(record, write));
    }

    /// A closer that is there, once or more often. Closers of calls in other formats before it say nothing, but where values are
    /// text: there they may be the rest of one. What ends a thought or a turn is never passed over.
    fn read_closer(&mut self, record: &Record, write: impl FnOnce(&mut Self)) {
        let again = self.emit(Op::Space);
        if !record.has_text_values() {
            self.slip(|compiler| {
                for byte in "</".bytes() {
                    compiler.emit(Op::Byte(byte));
                }
                compiler.name_of_calls();
                compiler.emit(Op::Byte(b'>'));
                compiler.mark(Mark::Slip(Slip::Doubled));
                compiler.emit(Op::Jump(again));
            });
        }
        write(self);
        self.mark(Mark::Piece);
        self.mark(Mark::Literal);
        self.slip(|compiler| {
            compiler.mark(Mark::Slip(Slip::Doubled));
            compiler.emit(Op::Jump(again));
        });
    }

    fn units(&mut self, record: &Record, units: &[MarkerPart<'_>]) {
        for unit in units {
            match unit {
                MarkerPart::Text(text) => self.bytes(record, text),
                MarkerPart::Slot(Slot::Suffix) => {
                    self.emit(Op::Suffix);
                }
                MarkerPart::Slot(slot) => {
                    self.emit(Op::Repeat(*slot));
                }
            }
        }
    }
}

/// Whether a part is read the same wherever it stands after a body.
pub(super) fn is_fixed(part: &Part) -> bool {
    matches!(part, Part::Literal(_) | Part::Slot(Slot::Suffix))
}

/// Whether a marker says by itself that something ends.
fn is_telling(marker: &[MarkerPart<'_>]) -> bool {
    let length = |unit: &MarkerPart<'_>| match unit {
        MarkerPart::Text(text) => text.trim().len(),
        MarkerPart::Slot(_) => 2,
    };
    marker.iter().map(length).sum::<usize>() >= SHORTEST_SIGN
}

/// Whether all spellings of a closer begin with the end of a list.
fn all_end_a_list(key: &str, others: &[String]) -> bool {
    key.starts_with(']') && others.iter().all(|other| other.starts_with(']'))
}

/// Whether a literal has nothing but markers.
fn is_made_of_markers(literal: &str) -> bool {
    markers(literal).iter().all(|marker| marker.len() == 1 || marker.ends_with(['>', ']']))
}

/// The markers of a literal one by one, where it is made of nothing else; otherwise all of it.
fn closing_markers<'r>(units: &[MarkerPart<'r>]) -> Vec<Marker<'r>> {
    let mut found: Vec<Marker<'r>> = Vec::new();
    let mut is_open = false;
    for unit in units {
        let MarkerPart::Text(text) = unit else {
            match found.last_mut().filter(|_| is_open) {
                Some(marker) => marker.push(*unit),
                None => return vec![units.to_vec()],
            }
            continue;
        };
        let mut rest = *text;
        if is_open {
            // A marker that repeats something goes on behind it.
            let Some(end) = rest.find('>') else { return vec![units.to_vec()] };
            if let Some(marker) = found.last_mut() {
                marker.push(MarkerPart::Text(&rest[..=end]));
            }
            rest = &rest[end + 1..];
            is_open = false;
        }
        for marker in markers(rest) {
            is_open = marker.starts_with('<') && !marker.ends_with('>');
            if !is_open && marker.len() > 1 && !marker.ends_with(['>', ']']) {
                return vec![units.to_vec()];
            }
            found.push(vec![MarkerPart::Text(marker)]);
        }
    }
    if is_open { vec![units.to_vec()] } else { found }
}
