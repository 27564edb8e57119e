//! Literals: the fixed text of templates, with free white space in it and with its other spellings.

use super::super::slips::Loose;
use super::{Compiler, Mark, Op, SHORTEST_SIGN, Slip};
use crate::dialect::turn::special_part;
use crate::dialect::{Piece, Record, markers, pieces, tokens};

impl Compiler {
    /// A literal with its other spellings. Seams are free white space, except next to a raw slot. Whether all of it may be
    /// absent, so that it is counted where it is there.
    pub(super) fn literal(&mut self, record: &Record, text: &str, left_seam: bool, right_seam: bool) -> bool {
        let mut rest = text;
        // What the prompt already ends with may be left out at the start of a frame.
        if self.first_literal && !record.prompt.is_empty() && rest.starts_with(&record.prompt) {
            let skip = self.emit(Op::Prompt(0));
            // Elsewhere than at the very start, what follows the prompt must be a marker by itself.
            let after_prompt = rest[record.prompt.len()..].trim_start();
            let is_marker = after_prompt.starts_with(['<', '[']);
            match tokens(&record.prompt)[..] {
                // Then its token needs no role behind it.
                [token, role] if is_marker => {
                    self.bytes(record, token);
                    self.optional(|compiler| compiler.bytes(record, role));
                    self.count(&record.prompt);
                }
                _ => self.plain_text(record, &record.prompt),
            }
            let next = self.here();
            self.patch(skip, if is_marker { Op::Prompt(next) } else { Op::Jump(skip + 1) });
            // Only a dialect that was chosen may take for granted what its prompt ends with. Where none was, so may one whose
            // own words follow that: so no other response begins.
            let is_told = self.none_chosen && !is_marker && Record::is_told_by(after_prompt);
            if let Some(frame) = self.program.frames.last_mut().filter(|frame| frame.chosen || is_told) {
                frame.after_prompt.push(next);
                if !self.forgiving {
                    self.program.prompt_starts.push(next);
                }
            }
            rest = &rest[record.prompt.len()..];
        }
        let opens = std::mem::take(&mut self.first_literal) && self.forgiving;
        let pieces = pieces(rest, &record.also);
        let may_be_absent = |piece: &Piece<'_>| match piece.others {
            Some(others) => others.iter().any(|other| other.trim().is_empty()),
            None => piece.text.trim().is_empty(),
        };
        let is_optional = !rest.trim().is_empty() && pieces.iter().all(may_be_absent);
        for (at, piece) in pieces.iter().enumerate() {
            let is_seam = at > 0 || left_seam;
            let Some(others) = piece.others else {
                if is_seam {
                    self.seam(record);
                }
                match opens && at == 0 {
                    true => self.opening_text(record, piece.text),
                    false => self.plain_text(record, piece.text),
                }
                continue;
            };
            if is_seam {
                self.emit(Op::Space);
            }
            self.spelled(record, piece.text, others, at == 0 && !left_seam, is_optional);
            if at + 1 < pieces.len() && right_seam {
                self.emit(Op::Space);
            }
        }
        is_optional
    }

    /// One literal with its other spellings, the longest first; an empty one means that it may be absent.
    fn spelled(&mut self, record: &Record, key: &str, others: &[String], after_value: bool, counts: bool) {
        let mut spellings: Vec<&str> = others.iter().map(String::as_str).chain([key]).collect();
        spellings.sort_by_key(|s| usize::MAX - s.len());
        self.one_of(&spellings, |compiler, spelling| {
            if spelling.trim().is_empty() {
                compiler.mark(Mark::Skipped);
                if after_value {
                    compiler.mark(Mark::Unclosed);
                }
                return;
            }
            compiler.bytes(record, spelling);
            if spelling.trim().len() >= SHORTEST_SIGN {
                compiler.mark(Mark::Piece);
                if counts {
                    compiler.mark(Mark::Literal);
                }
            }
        });
        self.pieces += 1;
    }

    pub(super) fn plain_text(&mut self, record: &Record, text: &str) {
        self.bytes(record, text);
        self.count(text);
    }

    /// The start of a frame that is read with slips: its first marker may stand twice.
    fn opening_text(&mut self, record: &Record, text: &str) {
        let first = markers(text).first().copied().unwrap_or_default();
        let is_whole =
            first.len() >= SHORTEST_SIGN && first.starts_with(['<', '[']) && first.ends_with(['>', ']']);
        let Some(rest) = text.strip_prefix(first).filter(|_| is_whole) else {
            return self.plain_text(record, text);
        };
        self.bytes(record, first);
        // Once more, and not as often as it likes: rows of it would be read again from each.
        self.slip(|compiler| {
            compiler.mark(Mark::Slip(Slip::Doubled));
            compiler.emit(Op::Space);
            compiler.bytes(record, first);
        });
        if !rest.is_empty() {
            self.seam(record);
        }
        if record.bare.iter().any(|bare| rest.trim_start().starts_with(bare.as_str())) {
            self.inner_call = Some(self.here());
        }
        self.bytes(record, rest);
        self.count(text);
    }

    /// Counts a piece of a literal.
    fn count(&mut self, text: &str) {
        if text.trim().len() >= SHORTEST_SIGN {
            self.mark(Mark::Piece);
        }
        self.pieces += usize::from(!text.trim().is_empty());
    }

    /// Bytes, with white space made free between any two tokens, but some of it needed between two words.
    pub(super) fn bytes(&mut self, record: &Record, text: &str) {
        let (mut rest, mut before) = (text, None);
        for token in tokens(text) {
            let gap = &rest[..rest.len() - rest.trim_start().len()];
            self.white_space(record, gap, (before, token.chars().next()));
            if gap.is_empty() && rest.len() < text.len() {
                self.seam(record);
            }
            self.token_bytes(token);
            before = token.chars().next_back();
            rest = &rest[gap.len() + token.len()..];
        }
        self.white_space(record, rest, (before, None));
    }

    /// A run of white space of a literal, between these characters.
    fn white_space(&mut self, record: &Record, gap: &str, (before, after): (Option<char>, Option<char>)) {
        if gap.is_empty() {
            return;
        }
        let between_words =
            before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
        // What is needed once is followed by free space.
        if record.lines && gap.contains('\n') && self.in_call {
            self.emit(Op::Line);
        } else if between_words {
            self.emit(Op::Space1);
        }
        self.emit(Op::Space);
    }

    /// A token: byte by byte, or in the twin of a frame in any spelling, its first character aside.
    fn token_bytes(&mut self, token: &str) {
        let special = self.program.special.as_ref().and_then(|named| special_part(token, named));
        if !self.forgiving {
            for (at, byte) in token.bytes().enumerate() {
                self.byte(byte);
                if let Some(part) = special.as_ref().filter(|part| part.end == at + 1) {
                    self.emit(Op::Special(part.len() as u16));
                }
            }
            return;
        }
        for (at, c) in token.char_indices() {
            match Loose::of(c).filter(|_| at > 0) {
                Some(loose) => {
                    self.emit(Op::Loose(loose));
                }
                None => {
                    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                        self.emit(Op::Byte(byte));
                    }
                }
            }
            if matches!(&token[..at + c.len_utf8()], "<" | "</") {
                self.emit(Op::Space);
            }
            // In other spellings the token may have other bytes, but hardly fewer than it has characters.
            if let Some(part) = special.as_ref().filter(|part| part.end == at + c.len_utf8()) {
                self.emit(Op::Special(token[part.clone()].chars().count() as u16));
            }
        }
    }

    fn byte(&mut self, byte: u8) {
        if !self.any_case || !byte.is_ascii_alphabetic() {
            self.emit(Op::Byte(byte));
            return;
        }
        let split = self.emit(Op::Split(0, 0));
        self.emit(Op::Byte(byte.to_ascii_lowercase()));
        let jump = self.emit(Op::Jump(0));
        let other = self.emit(Op::Byte(byte.to_ascii_uppercase()));
        self.patch(split, Op::Split(split + 1, other));
        self.patch(jump, Op::Jump(other + 1));
    }

    /// Free white space, except where line breaks mean something.
    pub(super) fn seam(&mut self, record: &Record) {
        if !record.lines {
            self.emit(Op::Space);
        }
    }
}
