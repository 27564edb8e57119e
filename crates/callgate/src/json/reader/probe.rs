//! The look beyond a quote: does it end its string, or was it meant as data?
//!
//! A quote ends a string only if what follows can follow a string in that place. In valid JSON it always can, so
//! the look never changes how valid text is read. It is a small machine of its own, resumed where the input paused.

use super::computed::{OperandPlace, continuation, goes_on};
use super::levels::{Level, LevelKind, OpenBrackets};
use super::passing::PlusComment;
use super::quotes::{Opening, Style, looked_behind_quote};
use super::strings::Doubts;
use super::unquoted::{is_bare, keyword};
use super::{Cursor, Grammar, Reader};
use crate::json::meter::looked;
use crate::json::repair::Safety;

/// What a look found.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProbeVerdict {
    /// The string ends here.
    End,
    /// The string ends here, and what should stand between it and what follows is missing.
    Apart,
    /// The string ends here, and the quote after it is one too many; it ends this far from here.
    Doubled(usize),
    /// The quote is part of the string.
    Data(Safety),
    /// The string goes on in another one, whose quote opens this far from here.
    Join { at: usize, style: Style, plus: bool },
    /// The quote opens a key, or else an item: the string should have ended before.
    Opens { key: bool },
    /// The string is a key, though none is expected here.
    IsKey,
    /// A stop byte comes first, this far from here.
    Stop(usize),
    /// More input is needed.
    More,
}

/// A look in progress.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    pub(super) at: usize,
    pub(super) phase: ProbePhase,
    pub(super) spaced: bool,
    pub(super) newline: bool,
    pub(super) escaped: bool,
    /// Where another string opens, and how.
    pub(super) second: Option<(usize, Style)>,
    overruled: bool,
    /// How far it goes, once it has begun.
    pub(super) limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbePhase {
    /// Right after the quote.
    Next,
    AfterComma,
    /// Inside what should be the next key, or a string beside this one.
    Quoted {
        after_comma: bool,
    },
    AfterQuoted {
        after_comma: bool,
    },
    /// Inside what should be a bare key.
    Word,
    AfterWord,
    /// Inside what should be a plain value of an array.
    Item,
    AfterItem,
    AfterSlash,
    AfterPlus,
    /// Before, inside and behind what an operator takes, if the value is computed.
    Operand(OperandPlace),
    /// Inside of a comment behind a plus sign; only its start and its last byte count.
    PlusComment(PlusComment),
    AfterStrayCloser,
    /// Behind a second quote that touches this one.
    AfterSecond,
    /// Behind an opener or a colon that may belong to nothing.
    AfterOpener,
    AfterColon,
    /// Inside of text that belongs to nothing, or to what follows.
    Stray(Side),
    /// Behind a quote in such text.
    AfterStray(Side),
    /// Behind a comma that follows such text.
    StrayComma,
    /// Inside of what this quote opens, if the string should have ended before.
    Own,
    AfterOwn,
}

/// What text without quotes stands behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Key,
    Value,
    Comma,
}

/// Where the look happens.
pub(super) struct Setting<'r> {
    pub(super) grammar: &'r Grammar,
    pub(super) kind: Option<LevelKind>,
    pub(super) key: bool,
    pub(super) style: Style,
    pub(super) doubts: Doubts,
    /// Whether what the string holds ends so that another string may open here.
    pub(super) may_open: bool,
    /// Whether it is a key that ends with a colon.
    pub(super) has_colon: bool,
    open_brackets: &'r OpenBrackets,
    /// From how far on a stop byte may end the value.
    stops_from: usize,
    pub(super) last: bool,
}

impl Setting<'_> {
    pub(super) fn in_object(&self) -> bool {
        self.kind.is_some_and(LevelKind::is_object)
    }

    pub(super) fn in_sequence(&self) -> bool {
        matches!(self.kind, Some(LevelKind::Bracket | LevelKind::Paren | LevelKind::Set))
    }

    pub(super) fn is_stop(&self, character: char, at: usize) -> bool {
        at >= self.stops_from
            && u8::try_from(character).is_ok_and(|byte| byte < 0x80 && self.grammar.stops.has(byte))
    }

    /// Whether a comma ends the string before it, whatever follows: no quotation is open in it.
    fn ends_before_comma(&self) -> bool {
        self.style != Style::Unquoted && !self.doubts.is_open()
    }

    /// Whether text that belongs to nothing may be dropped here.
    pub(super) fn repairs_freely(&self) -> bool {
        self.grammar.restores
            && self.kind.is_some()
            && !self.doubts.is_open()
            && self.style != Style::Unquoted
    }

    pub(super) fn closes(&self, character: char) -> bool {
        let closer = u8::try_from(character).unwrap_or(0);
        is_closer(character) && self.open_brackets.count(closer) > 0
    }
}

impl Reader {
    /// Looks beyond a quote that ends at `from`.
    pub(super) fn look_beyond_quote(&mut self, cursor: &Cursor<'_>, from: usize) -> ProbeVerdict {
        self.look(cursor, from, ProbePhase::Next)
    }

    /// Looks beyond a comma that ends at `from`.
    pub(super) fn look_beyond_comma(&mut self, cursor: &Cursor<'_>, from: usize) -> ProbeVerdict {
        self.look(cursor, from, ProbePhase::AfterComma)
    }

    /// Looks at a word that starts at `from` and may be a key.
    pub(super) fn look_at_word(&mut self, cursor: &Cursor<'_>, from: usize) -> ProbeVerdict {
        self.look(cursor, from, ProbePhase::Word)
    }

    /// Looks at what a quote opens that ends at `from`.
    pub(super) fn look_at_opened(&mut self, cursor: &Cursor<'_>, from: usize) -> ProbeVerdict {
        self.look(cursor, from, ProbePhase::Own)
    }

    /// Begins to look beyond a quote of which nothing that follows is there yet.
    pub(super) fn begin_look(&mut self) {
        self.probe = Some(Probe::new(ProbePhase::Next));
    }

    fn look(&mut self, cursor: &Cursor<'_>, from: usize, phase: ProbePhase) -> ProbeVerdict {
        if let Some(open) = self.string.as_mut().filter(|open| open.doubts.has_quotes()) {
            open.doubts.look_for_brackets(&self.output.text[open.start..]);
        }
        let open = self.string.as_ref();
        let style = open.map_or(Style::Unquoted, |open| open.style);
        let key = open.is_some_and(|open| open.key);
        let may_open = self.may_open_here(style, key);
        let setting = Setting {
            grammar: &self.grammar,
            kind: self.levels.last().map(Level::kind),
            key,
            style,
            doubts: open.map_or_else(Doubts::default, |open| open.doubts),
            may_open,
            has_colon: key && self.grammar.restores && self.ends_with_colon(),
            open_brackets: &self.open_brackets,
            stops_from: self.stops_from.saturating_sub(cursor.base + from),
            last: cursor.last,
        };
        let probe = self.probe.get_or_insert_with(|| Probe::new(phase));
        probe.begin(self.looks, cursor.base + from);
        let verdict = probe.run(&cursor.text[from..], &setting);
        if !matches!(verdict, ProbeVerdict::More | ProbeVerdict::Stop(_) | ProbeVerdict::End) {
            // Whether one that finds the end of a string is needed depends on the cutting of the input.
            self.looks += probe.at;
        }
        if !matches!(verdict, ProbeVerdict::More | ProbeVerdict::Stop(_)) {
            // What the look has gone past was part of its reading, and may have come in an earlier chunk of input:
            // it is too late to stop there.
            self.stops_from = self.stops_from.max(cursor.base + from + probe.at);
            self.probe = None;
        }
        verdict
    }
}

impl Probe {
    fn new(phase: ProbePhase) -> Self {
        let second = (phase == ProbePhase::Own).then_some((0, Style::Double));
        let (spaced, newline, escaped, overruled) = (false, false, false, false);
        Probe { at: 0, phase, spaced, newline, escaped, second, overruled, limit: None }
    }

    /// Whether it has looked at anything.
    pub(super) fn has_begun(&self) -> bool {
        self.at > 0
    }

    /// Says that the stop byte ahead is part of the value, so that the quote may well have been data.
    pub(super) fn overrule(&mut self) {
        self.overruled = true;
    }

    fn run(&mut self, tail: &str, setting: &Setting<'_>) -> ProbeVerdict {
        loop {
            self.skip_content(tail);
            looked(1);
            let Some(character) = tail[self.at..].chars().next() else { break };
            if self.at >= self.limit() {
                return self.beyond_limit(setting);
            }
            if let Some(verdict) = self.step(character, tail, setting) {
                return match verdict {
                    ProbeVerdict::Data(_) if self.overruled => ProbeVerdict::Data(Safety::Guess),
                    _ => verdict,
                };
            }
            self.at += character.len_utf8();
        }
        match self.phase {
            _ if !setting.last => ProbeVerdict::More,
            ProbePhase::Stray(Side::Value) if self.is_item(tail, setting) => ProbeVerdict::Apart,
            ProbePhase::Own | ProbePhase::Stray(Side::Key | Side::Value) => ProbeVerdict::Data(Safety::Guess),
            ProbePhase::AfterOwn => ProbeVerdict::Opens { key: false },
            ProbePhase::AfterColon => ProbeVerdict::IsKey,
            ProbePhase::AfterSecond => ProbeVerdict::Doubled(self.second_end(tail)),
            _ => ProbeVerdict::End,
        }
    }

    /// What is taken when the look has gone far enough: what valid text would be.
    fn beyond_limit(&self, setting: &Setting<'_>) -> ProbeVerdict {
        match self.phase {
            ProbePhase::Own | ProbePhase::Stray(Side::Key | Side::Value) => ProbeVerdict::Data(Safety::Guess),
            ProbePhase::Quoted { after_comma: false } if !setting.grammar.python() => {
                ProbeVerdict::Data(Safety::Guess)
            }
            _ => ProbeVerdict::End,
        }
    }

    /// Looks at one character; `None` moves on to the next.
    pub(super) fn step(
        &mut self,
        character: char,
        tail: &str,
        setting: &Setting<'_>,
    ) -> Option<ProbeVerdict> {
        let unlikely = Some(ProbeVerdict::Data(Safety::Guess));
        match self.phase {
            ProbePhase::Quoted { .. } | ProbePhase::Own => {
                let style = self.second.map_or(Style::Double, |(_, style)| style);
                if self.escaped {
                    self.escaped = false;
                } else if character == '\\' {
                    self.escaped = true;
                } else if style.may_close(character) {
                    self.phase = match self.phase {
                        ProbePhase::Quoted { after_comma } => ProbePhase::AfterQuoted { after_comma },
                        _ => ProbePhase::AfterOwn,
                    };
                    (self.spaced, self.newline) = (false, false);
                }
                return None;
            }
            ProbePhase::Word if is_bare(character) => return None,
            ProbePhase::Word if matches!(character, '"' | '\'') => {
                self.phase = ProbePhase::AfterQuoted { after_comma: true };
                return None;
            }
            ProbePhase::Word => self.phase = ProbePhase::AfterWord,
            ProbePhase::Item if is_bare(character) || character == '+' => return None,
            ProbePhase::Item if matches!(character, '"' | '\'') => {
                // Letters before a quote belong to the string; more than two are no prefix.
                let letters = self.at - self.second.map_or(0, |(at, _)| at);
                return if letters <= 2 { Some(ProbeVerdict::End) } else { unlikely };
            }
            ProbePhase::Item => self.phase = ProbePhase::AfterItem,
            ProbePhase::Stray(side) => return self.pass_stray(side, character, tail, setting),
            ProbePhase::PlusComment(place) => return self.pass_plus_comment(place, character),
            ProbePhase::Operand(place) => return self.pass_operand(place, character, tail),
            ProbePhase::AfterSlash => {
                return Some(match character {
                    '/' | '*' => ProbeVerdict::End,
                    _ => ProbeVerdict::Data(Safety::Lossless),
                });
            }
            _ => {}
        }
        // Of white space that nobody sees, too, nothing is data.
        if matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}') {
            self.spaced = true;
            self.newline |= character == '\n';
            return None;
        }
        if character == '\\' && setting.grammar.python() && !setting.grammar.restores {
            match continuation(&tail[self.at..], setting.last) {
                None => return Some(ProbeVerdict::More),
                Some(0) => {}
                Some(length) => {
                    self.spaced = true;
                    self.at += length - 1;
                    return None;
                }
            }
        }
        if setting.is_stop(character, self.at) && !self.fits(character, setting) {
            return Some(ProbeVerdict::Stop(self.at));
        }
        match self.phase {
            ProbePhase::Next if setting.key => self.after_key(character, tail, setting),
            ProbePhase::Next => self.after_value(character, tail, setting),
            ProbePhase::AfterComma => self.after_comma(character, tail, setting),
            ProbePhase::AfterQuoted { after_comma: true } if self.is_doubled(character, tail, setting) => {
                self.pass_doubled()
            }
            ProbePhase::AfterQuoted { after_comma: true } | ProbePhase::AfterWord => match character {
                ':' | '：' => Some(ProbeVerdict::End),
                // In prose and markup an equals sign follows many a word.
                '=' if self.phase != ProbePhase::AfterWord => Some(ProbeVerdict::End),
                '=' if matches!(setting.kind, Some(LevelKind::Kwargs | LevelKind::Members)) => {
                    Some(ProbeVerdict::End)
                }
                _ => unlikely,
            },
            ProbePhase::AfterQuoted { after_comma: false } => {
                let ends = character == ',' || setting.closes(character);
                let (at, style) = self.second.unwrap_or((0, Style::Double));
                let joined = ProbeVerdict::Join { at, style, plus: false };
                let is_list = setting.in_sequence() && setting.repairs_freely();
                match self.joins_in_code(tail, setting) {
                    None => return Some(ProbeVerdict::More),
                    Some(true) => return Some(joined),
                    Some(false) => {}
                }
                let apart = self.spaced && (self.newline || setting.grammar.python() || is_list);
                let goes_on = apart
                    && match setting.grammar.opening(&tail[self.at..], setting.last) {
                        Opening::Quote(..) => {
                            // One quote was told from three, which took a look at what follows it.
                            self.at += looked_behind_quote(&tail.as_bytes()[self.at..]);
                            true
                        }
                        Opening::None => false,
                        Opening::More => return Some(ProbeVerdict::More),
                    };
                match character {
                    ':' | '=' | '：' if setting.in_object() => Some(ProbeVerdict::Apart),
                    _ if is_list && self.spaced && starts_scalar(character) => Some(ProbeVerdict::Apart),
                    _ if !(ends || goes_on) => unlikely,
                    _ if setting.in_sequence() && !setting.grammar.python() => Some(ProbeVerdict::Apart),
                    _ => Some(joined),
                }
            }
            ProbePhase::AfterItem => match character {
                ',' => Some(ProbeVerdict::End),
                _ if setting.closes(character) => Some(ProbeVerdict::End),
                _ => unlikely,
            },
            ProbePhase::AfterPlus if character == '/' && setting.grammar.restores => {
                self.phase = ProbePhase::PlusComment(PlusComment::Slash);
                None
            }
            ProbePhase::AfterPlus => match setting.grammar.opening(&tail[self.at..], setting.last) {
                Opening::Quote(style, _) => Some(ProbeVerdict::Join { at: self.at, style, plus: true }),
                Opening::More => Some(ProbeVerdict::More),
                Opening::None if character == '#' && setting.grammar.python() => Some(ProbeVerdict::End),
                Opening::None if self.may_compute(setting) => self.begin_operand(character, tail),
                Opening::None => unlikely,
            },
            ProbePhase::AfterStrayCloser => match character {
                ',' => Some(ProbeVerdict::End),
                _ if is_closer(character) => Some(ProbeVerdict::End),
                _ => unlikely,
            },
            ProbePhase::AfterSecond => self.after_second(character, tail, setting),
            ProbePhase::AfterOpener | ProbePhase::AfterColon => Some(self.after_sign(character, setting)),
            ProbePhase::AfterStray(side) => Some(self.after_stray(side, character, setting)),
            ProbePhase::StrayComma => Some(self.after_stray_comma(character, setting)),
            ProbePhase::AfterOwn => Some(match character {
                ':' => ProbeVerdict::Opens { key: true },
                ',' | '}' | ']' => ProbeVerdict::Opens { key: false },
                _ => ProbeVerdict::Data(Safety::Guess),
            }),
            ProbePhase::Quoted { .. }
            | ProbePhase::Word
            | ProbePhase::Item
            | ProbePhase::AfterSlash
            | ProbePhase::Operand(_)
            | ProbePhase::PlusComment(_)
            | ProbePhase::Stray(_)
            | ProbePhase::Own => unlikely,
        }
    }

    /// Whether a valid value may go on with this character here, so that it is no stop.
    fn fits(&self, character: char, setting: &Setting<'_>) -> bool {
        let closes = setting.closes(character);
        match self.phase {
            ProbePhase::Next if setting.key => character == ':',
            ProbePhase::AfterComma => {
                closes || matches!(character, '"' | '{' | '[' | '-') || character.is_alphanumeric()
            }
            ProbePhase::AfterQuoted { .. } | ProbePhase::AfterWord => {
                closes || matches!(character, ':' | '=' | ',')
            }
            _ => closes || matches!(character, ',' | ':'),
        }
    }

    fn after_key(&mut self, character: char, tail: &str, setting: &Setting<'_>) -> Option<ProbeVerdict> {
        let opens_string = match setting.grammar.opening(&tail[self.at..], setting.last) {
            Opening::Quote(..) => true,
            Opening::None => false,
            Opening::More => return Some(ProbeVerdict::More),
        };
        let value = opens_string || matches!(character, '{' | '[' | '-' | '0'..='9');
        if setting.grammar.python() && !setting.grammar.restores && !setting.doubts.has_quotes() {
            match goes_on(&tail[self.at..], setting.last) {
                None => return Some(ProbeVerdict::More),
                Some(true) => return Some(ProbeVerdict::End),
                Some(false) => {}
            }
        }
        match character {
            ':' | '=' | '：' | ',' | '}' => Some(ProbeVerdict::End),
            '/' if self.is_comment(tail, setting.last) => Some(self.end_before_comment(tail)),
            '{' | '[' if setting.grammar.restores => Some(ProbeVerdict::Apart),
            _ if !self.spaced && setting.style.may_close(character) && !setting.doubts.is_open() => {
                self.begin_second(setting.style)
            }
            _ if setting.may_open && !self.spaced => self.begin_own(setting.style),
            _ if self.spaced && opens_string => Some(ProbeVerdict::Apart),
            _ if setting.grammar.restores && !opens_string => {
                self.begin_stray(Side::Key, character, tail, setting)
            }
            _ if self.spaced && value => Some(ProbeVerdict::Apart),
            _ => Some(ProbeVerdict::Data(Safety::Guess)),
        }
    }

    fn after_value(&mut self, character: char, tail: &str, setting: &Setting<'_>) -> Option<ProbeVerdict> {
        let data = Some(ProbeVerdict::Data(Safety::Lossless));
        let is_open = setting.doubts.is_open();
        if let Some(step) = self.pass_code(character, tail, setting) {
            return step;
        }
        match character {
            _ if setting.kind.is_none() && setting.grammar.many && self.newline => {
                return Some(ProbeVerdict::End);
            }
            ',' if setting.kind.is_none() => return Some(ProbeVerdict::End),
            '`' if setting.repairs_freely() && tail[self.at..].starts_with("```") => {
                return Some(ProbeVerdict::End);
            }
            '`' if setting.repairs_freely() && !setting.last && "```".starts_with(&tail[self.at..]) => {
                return Some(ProbeVerdict::More);
            }
            ';' | '`' if setting.kind.is_none() => return Some(ProbeVerdict::End),
            ',' | '，' | ';' => self.phase = ProbePhase::AfterComma,
            '}' | ']' | ')' if setting.closes(character) || setting.kind.is_none() => {
                return Some(match setting.doubts.holds(character) {
                    true => ProbeVerdict::Data(Safety::Guess),
                    false => ProbeVerdict::End,
                });
            }
            '}' | ']' => self.phase = ProbePhase::AfterStrayCloser,
            ':' if !matches!(setting.kind, Some(LevelKind::Kwargs | LevelKind::Wrapper)) => {
                match setting.doubts.holds('}') {
                    true => return Some(ProbeVerdict::Data(Safety::Guess)),
                    false if setting.repairs_freely() => self.phase = ProbePhase::AfterColon,
                    false => return Some(ProbeVerdict::IsKey),
                }
            }
            ':' if setting.kind == Some(LevelKind::Kwargs) => return Some(ProbeVerdict::Data(Safety::Guess)),
            '/' => self.phase = ProbePhase::AfterSlash,
            '#' if self.spaced && !setting.repairs_freely() => return Some(ProbeVerdict::End),
            '+' => self.phase = ProbePhase::AfterPlus,
            '{' | '[' if self.newline && setting.in_sequence() => return Some(ProbeVerdict::Apart),
            '{' | '[' if setting.repairs_freely() && !setting.may_open => {
                self.phase = ProbePhase::AfterOpener;
            }
            _ if !self.spaced && setting.repairs_freely() && setting.style.may_close(character) => {
                return self.begin_second(setting.style);
            }
            _ if setting.may_open && !is_open && !self.spaced && !starts_scalar(character) => {
                return self.begin_own(setting.style);
            }
            _ if !self.spaced && !setting.repairs_freely() => {
                // The end of the string twice, or another string that touches it: nobody can tell, unless this quote ends
                // a quotation in the text.
                let is_doubtful = setting.style.may_close(character) && !setting.doubts.is_open();
                return if is_doubtful { Some(ProbeVerdict::Data(Safety::Guess)) } else { data };
            }
            _ if setting.kind == Some(LevelKind::Kwargs) && is_bare(character) => {
                return match keyword(&tail[self.at..], setting.last) {
                    Some(true) => Some(ProbeVerdict::End),
                    Some(false) => data,
                    None => Some(ProbeVerdict::More),
                };
            }
            _ if self.newline && setting.in_object() && is_bare(character) && !setting.repairs_freely() => {
                self.phase = ProbePhase::Word;
            }
            _ if !self.spaced => return self.begin_stray(Side::Value, character, tail, setting),
            _ => match self.open_second(tail, setting, false) {
                Some(verdict) => return verdict,
                None if setting.repairs_freely() => {
                    return self.begin_stray(Side::Value, character, tail, setting);
                }
                None => return data,
            },
        }
        None
    }

    fn after_comma(&mut self, character: char, tail: &str, setting: &Setting<'_>) -> Option<ProbeVerdict> {
        let end = Some(ProbeVerdict::End);
        match character {
            ',' | '…' => end,
            '/' | '#' | '.' if setting.in_sequence() => end,
            '}' | ']' | ')' if setting.closes(character) => end,
            '{' | '[' | '(' if setting.in_sequence() => end,
            _ if matches!(setting.kind, Some(LevelKind::Wrapper)) => end,
            '/' => {
                self.phase = ProbePhase::AfterSlash;
                None
            }
            '#' => end,
            '.' if tail[self.at..].starts_with("...") => end,
            '.' if !setting.last && "...".starts_with(&tail[self.at..]) => Some(ProbeVerdict::More),
            _ if setting.in_sequence() => match self.open_second(tail, setting, true) {
                Some(Some(ProbeVerdict::More)) => Some(ProbeVerdict::More),
                Some(_) => end,
                None if setting.ends_before_comma() => end,
                None if is_bare(character) || character == '+' => {
                    self.phase = ProbePhase::Item;
                    self.second = Some((self.at, Style::Unquoted));
                    None
                }
                None => Some(ProbeVerdict::Data(Safety::Guess)),
            },
            _ => match self.open_second(tail, setting, true) {
                Some(Some(ProbeVerdict::More)) => Some(ProbeVerdict::More),
                Some(_) if setting.ends_before_comma() => end,
                Some(verdict) => verdict,
                None if setting.ends_before_comma() && setting.repairs_freely() => {
                    self.begin_stray(Side::Comma, character, tail, setting)
                }
                None if is_bare(character) => {
                    self.phase = ProbePhase::Word;
                    None
                }
                None => Some(ProbeVerdict::Data(Safety::Guess)),
            },
        }
    }
}

/// Whether a number or literal may start with this character.
pub(super) fn starts_scalar(character: char) -> bool {
    matches!(character, '-' | '0'..='9' | 't' | 'f' | 'n')
}

fn is_closer(character: char) -> bool {
    matches!(character, '}' | ']' | ')')
}
