//! Slips: what models write almost as their format has it, and how each is read and listed.

use crate::draft::Draft;
use crate::finding::Span;
use crate::json::RepairCode;

/// A way in which what was read differs from what the format writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slip {
    /// A closer is missing before one that is there.
    Missing,
    /// A marker stands twice, or a closer where nothing is open for it.
    Doubled,
    /// A marker in other letters, bars or low lines.
    Respelled,
    /// A list where one call is written, one call where a list is, or a comma too many.
    List,
    /// Attributes that the format does not have, or not in this order or these quotes.
    Attribute,
    /// A code fence around JSON inside of the frame.
    Fence,
    /// A JSON object in the place of parameters.
    Json,
}

impl Slip {
    const ALL: [Slip; 7] =
        [Slip::Missing, Slip::Doubled, Slip::Respelled, Slip::List, Slip::Attribute, Slip::Fence, Slip::Json];

    /// How it is listed.
    fn repair(self) -> RepairCode {
        match self {
            Slip::Missing => RepairCode::MissingTag,
            Slip::Doubled => RepairCode::DoubledTag,
            Slip::Respelled => RepairCode::RespelledMarker,
            Slip::List => RepairCode::ListForm,
            Slip::Attribute => RepairCode::AttributeForm,
            Slip::Fence => RepairCode::CodeFence,
            Slip::Json => RepairCode::JsonParameters,
        }
    }
}

/// The bit that tells that a list lacks its opening bracket. A bit, since a larger thread is slower to copy.
const UNLISTED: u8 = 1 << 7;

/// The slips of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Slips(u8);

impl Slips {
    pub(crate) fn add(&mut self, slip: Slip) {
        self.0 |= 1 << slip as u8;
    }

    pub(crate) fn has(self, slip: Slip) -> bool {
        self.0 & 1 << slip as u8 != 0
    }

    pub(crate) fn count(self) -> u32 {
        (self.0 & !UNLISTED).count_ones()
    }

    /// The bracket that opens the list of calls was left out: one call is no list, which nothing need close. This holds for
    /// all of the frame.
    pub(super) fn unlist(&mut self) {
        self.0 |= UNLISTED;
    }

    pub(super) fn is_unlisted(self) -> bool {
        self.0 & UNLISTED != 0
    }

    /// What holds behind a body.
    pub(super) fn past_body(self) -> Slips {
        Slips(self.0 & UNLISTED)
    }

    /// Lists them among the repairs of a call.
    pub(crate) fn list(self, draft: &mut Draft, span: Span) {
        if self.count() == 0 {
            return;
        }
        for slip in Slip::ALL.into_iter().filter(|slip| self.has(*slip)) {
            draft.repaired(slip.repair(), span.start, span.end);
        }
    }
}

/// A character of a marker that is written in more than one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loose {
    /// A letter, in either case.
    Letter(u8),
    /// A low line, as ASCII or as the tokenizer's own; a hyphen in its place, or a backslash before it.
    LowLine { ascii: bool },
    /// A bar, as ASCII or full width.
    Bar { ascii: bool },
}

/// Where reading a loose character has come to.
pub(crate) enum LooseRead {
    /// It has been read; whether it is written otherwise than the format has it.
    Read { respelled: bool },
    /// More bytes of it follow; the number goes into the next step.
    More(u32),
    /// It is another character.
    Other,
}

/// After a backslash, a low line must follow.
const ESCAPED: u32 = 3;

impl Loose {
    /// How a character is read loosely, if it is.
    pub(crate) fn of(c: char) -> Option<Loose> {
        Some(match c {
            '_' | '▁' => Loose::LowLine { ascii: c == '_' },
            '|' | '｜' => Loose::Bar { ascii: c == '|' },
            c if c.is_ascii_alphabetic() => Loose::Letter(c as u8),
            _ => return None,
        })
    }

    /// The first byte of the character as the format has it.
    pub(crate) fn first(self) -> u8 {
        match self {
            Loose::Letter(letter) => letter,
            Loose::LowLine { ascii: true } => b'_',
            Loose::LowLine { ascii: false } => "▁".as_bytes()[0],
            Loose::Bar { ascii: true } => b'|',
            Loose::Bar { ascii: false } => "｜".as_bytes()[0],
        }
    }

    /// Reads one byte; `come` is what the last step of the same character said.
    pub(crate) fn read(self, come: u32, byte: u8) -> LooseRead {
        let (wide, ascii) = match self {
            Loose::Letter(letter) if letter.eq_ignore_ascii_case(&byte) => {
                return LooseRead::Read { respelled: letter != byte };
            }
            Loose::Letter(_) => return LooseRead::Other,
            Loose::LowLine { ascii } => ("▁".as_bytes(), ascii),
            Loose::Bar { ascii } => ("｜".as_bytes(), ascii),
        };
        let is_low_line = matches!(self, Loose::LowLine { .. });
        match (come, byte) {
            (0 | ESCAPED, b'_') if is_low_line => LooseRead::Read { respelled: !ascii || come == ESCAPED },
            (0 | ESCAPED, b'-') if is_low_line => LooseRead::Read { respelled: true },
            (0, b'\\') if is_low_line => LooseRead::More(ESCAPED),
            (0, b'|') if !is_low_line => LooseRead::Read { respelled: !ascii },
            (ESCAPED, byte) if byte == wide[0] => LooseRead::More(1),
            (0..ESCAPED, byte) if byte == wide[come as usize] => match come {
                2 => LooseRead::Read { respelled: ascii },
                _ => LooseRead::More(come + 1),
            },
            _ => LooseRead::Other,
        }
    }
}
