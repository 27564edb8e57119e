//! Words: numbers, literals, and bare text that has to become a string.

use super::computed::goes_on;
use super::levels::LevelKind;
use super::probe::ProbeVerdict;
use super::quotes::{Opening, Style};
use super::{Advance, Cursor, Reader};
use crate::finding::{Code, Span};
use crate::json::meter::looked;
use crate::json::repair::{RepairCode, Safety};
use crate::json::tape::Kind;
use crate::json::text::escape_into;

/// The longest number that is taken for stray before a string.
const STRAY: usize = 4;

/// How far a word has been looked at, counted from its start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    /// Where it ends, once that is known.
    pub(super) word: Option<usize>,
    /// Everything before this has been looked at.
    pub(super) len: usize,
}

impl Scan {
    /// Whether nothing has been looked at.
    pub(super) fn is_fresh(&self) -> bool {
        self.len == 0 && self.word.is_none()
    }

    /// Whether so little has been looked at that it may as well be looked at again.
    pub(super) fn is_short(&self) -> bool {
        const SHORT: usize = 16;
        self.len <= SHORT
    }
}

/// A word that is a value.
pub(super) struct Scalar {
    kind: Kind,
    /// The JSON spelling, if it is another than the word itself.
    spelling: Option<String>,
    repair: Option<(RepairCode, Safety)>,
}

impl Scalar {
    /// The same value, written like this.
    pub(super) fn spelled(self, word: String) -> Self {
        Scalar { spelling: Some(word), ..self }
    }
}

impl Reader {
    pub(super) fn read_word(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let Some((len, next)) = self.scan_word(cursor) else { return Advance::More };
        let word = &cursor.text[cursor.at..cursor.at + len];
        let following = cursor.byte_at(next);
        let adjacent = next == cursor.at + len;
        if adjacent && following == Some(b'(') && is_identifier(word) {
            if self.reads_code() && !self.levels.is_empty() {
                self.scan = Scan::default();
                let message = "a function stands around the value: write the value itself";
                return self.reject(cursor, message);
            }
            return match self.read_call(cursor, len) {
                Some(step) => step,
                None => self.open_wrapper(cursor, len),
            };
        }
        if !adjacent
            && self.grammar.restores
            && word.eq_ignore_ascii_case("new")
            && let Some(step) = self.skip_new(cursor, next)
        {
            return step;
        }
        if adjacent
            && matches!(following, Some(b'"' | b'\''))
            && let Some(step) = self.read_prefix(cursor, len)
        {
            return step;
        }
        let touches_end = adjacent && following.is_none();
        let root = self.levels.is_empty();
        if touches_end && !root && !self.closing {
            return Advance::More;
        }
        if !root && let Some(step) = self.join_halves(cursor, len, next) {
            return step;
        }
        let scalar = scalar(word, self.grammar.python());
        if let Some(scalar) = scalar {
            match self.scalar_ends(cursor, len, next) {
                ProbeVerdict::More => return Advance::More,
                ProbeVerdict::Stop(at) => return Advance::Stop(next + at),
                ProbeVerdict::Opens { .. } => {
                    // The value is the string that follows.
                    self.guess(RepairCode::StrayText, cursor.span(len));
                    cursor.at += len;
                    self.scan = Scan::default();
                    return Advance::Go;
                }
                ProbeVerdict::End => {
                    self.cut |= touches_end;
                    self.write_scalar(cursor, len, scalar);
                    // At the root what was looked at belongs to the value; elsewhere it is read as structure.
                    cursor.at = if root && !self.grammar.document { next } else { cursor.at + len };
                    self.scan = Scan::default();
                    self.value_done();
                    return Advance::Go;
                }
                _ => {}
            }
        }
        if touches_end && may_become_scalar(word) {
            return Advance::More;
        }
        if root {
            self.scan = Scan::default();
            self.fail(Code::BadJson, cursor.offset(), "this is not a JSON value");
            // What was looked at to decide belongs to the failure, which is at least one character long.
            cursor.at = next.max(cursor.at + cursor.rest().chars().next().map_or(0, char::len_utf8));
            return Advance::Go;
        }
        if let Some(step) = self.refuse_word(cursor, len, next) {
            if !matches!(step, Advance::More) {
                self.scan = Scan::default();
            }
            return step;
        }
        self.scan = Scan::default();
        // A private quote that is misspelled is no text: the value would have it in it.
        if let Some(quote) = &self.grammar.quote
            && quote.chars().next().is_some_and(|first| cursor.rest().starts_with(first))
        {
            let message = format!("a string begins with `{quote}` here");
            self.fail(Code::BadJson, cursor.offset(), message);
            return Advance::Go;
        }
        self.guess(RepairCode::UnquotedString, cursor.span(len.max(1)));
        self.open_string(cursor, Style::Unquoted, 0)
    }

    /// Drops the word `new` before a function around a value, which begins at `next`: `Some` is what to do then.
    fn skip_new(&mut self, cursor: &mut Cursor<'_>, next: usize) -> Option<Advance> {
        const LONGEST_NAME: usize = 64;
        let rest = cursor.text.as_bytes().get(next..).unwrap_or_default();
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
        let name = rest.iter().take(LONGEST_NAME).take_while(is_name).count();
        match rest.get(name) {
            None if !cursor.last => Some(Advance::More),
            Some(b'(') if name > 0 => {
                self.guess(RepairCode::Wrapper, Span::new(cursor.offset(), cursor.base + next));
                cursor.at = next;
                self.scan = Scan::default();
                Some(Advance::Go)
            }
            _ => None,
        }
    }

    /// Reads a string with letters before its quote: `Some` is what to do then.
    fn read_prefix(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Option<Advance> {
        let (word, rest) = cursor.rest().split_at_checked(len)?;
        let prefix = StringPrefix::of(word)?;
        if self.grammar.restores && !self.grammar.python() {
            match self.next_token(cursor, len + 1) {
                None => return Some(Advance::More),
                // The letters are the string, which has lost its first quote.
                Some(b',' | b'}' | b']') => return None,
                Some(_) => {}
            }
        }
        match self.grammar.opening(rest, cursor.last) {
            Opening::More => Some(Advance::More),
            Opening::Quote(style, quote) if style != Style::Private && style != Style::Escaped => {
                self.scan = Scan::default();
                Some(self.open_prefixed_string(cursor, prefix, style, len, quote))
            }
            _ => None,
        }
    }

    /// The length of the word here and the place of what follows it on its line; `None` if there must be more input.
    pub(super) fn scan_word(&mut self, cursor: &Cursor<'_>) -> Option<(usize, usize)> {
        let mut at = cursor.at + self.scan.len;
        if self.scan.word.is_none() {
            while cursor.byte_at(at).is_some_and(|byte| !ends_word(byte))
                && !self.stops_at(cursor, at)
                && !is_wide_separator(cursor.text, at)
            {
                at += 1;
            }
            self.scan.len = at - cursor.at;
            if cursor.byte_at(at).is_none() && !cursor.last {
                return None;
            }
            self.scan.word = Some(self.scan.len);
        }
        while matches!(cursor.byte_at(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        self.scan.len = at - cursor.at;
        let known = cursor.byte_at(at).is_some() || cursor.last;
        known.then_some((self.scan.word.unwrap_or(0), at))
    }

    /// Whether a number or literal ends before what stands at `next`.
    fn scalar_ends(&mut self, cursor: &Cursor<'_>, len: usize, next: usize) -> ProbeVerdict {
        let adjacent = next == cursor.at + len;
        let exact = self.grammar.restores && is_scalar(&cursor.text[cursor.at..cursor.at + len]);
        let Some(byte) = cursor.byte_at(next) else { return ProbeVerdict::End };
        if self.levels.is_empty() || self.stops_at(cursor, next) {
            return ProbeVerdict::End;
        }
        let data = ProbeVerdict::Data(Safety::Guess);
        let sequence = self.in_sequence();
        if self.reads_code() {
            match goes_on(&cursor.text[next..], cursor.last) {
                None => return ProbeVerdict::More,
                Some(true) => return ProbeVerdict::End,
                Some(false) => {}
            }
        }
        match byte {
            b',' | b';' | b'}' | b']' | b')' | b'\n' | b'\r' | b'#' => ProbeVerdict::End,
            b'/' => match cursor.byte_at(next + 1) {
                None if !cursor.last => ProbeVerdict::More,
                Some(b'/' | b'*') => ProbeVerdict::End,
                _ => data,
            },
            _ if cursor.text[next..].starts_with(['，', '、', '…', '｝', '］']) => ProbeVerdict::End,
            b'\\' => match cursor.byte_at(next + 1) {
                None if !cursor.last => ProbeVerdict::More,
                Some(b'n' | b'r' | b't') => ProbeVerdict::End,
                Some(b'\n' | b'\r') if self.reads_code() => ProbeVerdict::End,
                Some(b',' | b'}' | b']') if exact => ProbeVerdict::End,
                _ => data,
            },
            b'"' if exact && !sequence => match self.look_at_opened(cursor, next + 1) {
                ProbeVerdict::Opens { key: false } if len <= STRAY => ProbeVerdict::Opens { key: false },
                ProbeVerdict::More => ProbeVerdict::More,
                _ => ProbeVerdict::End,
            },
            b'"' if exact => ProbeVerdict::End,
            b'{' | b'[' if exact && sequence => ProbeVerdict::End,
            b'{' if exact && self.is_in_array() => match self.is_item(cursor, next - cursor.at) {
                None => ProbeVerdict::More,
                Some(true) => ProbeVerdict::End,
                Some(false) => data,
            },
            _ if adjacent => data,
            b't' | b'f' | b'n' if sequence => match literal_at(cursor.text, next, cursor.last) {
                Some(true) => ProbeVerdict::End,
                Some(false) => data,
                None => ProbeVerdict::More,
            },
            b'{' | b'[' | b'(' | b'0'..=b'9' | b'-' | b'+' | b'.' if sequence => ProbeVerdict::End,
            _ if !sequence && (byte.is_ascii_alphanumeric() || byte == b'_') => {
                self.look_at_word(cursor, next)
            }
            _ => match self.grammar.opening(&cursor.text[next..], cursor.last) {
                Opening::Quote(..) => ProbeVerdict::End,
                Opening::More => ProbeVerdict::More,
                Opening::None => data,
            },
        }
    }

    /// Takes a function of several values for text, since no single value stands in it: `Some` is what to do then.
    fn read_call(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Option<Advance> {
        if !self.grammar.restores || self.levels.is_empty() {
            return None;
        }
        let len = match in_brackets(&cursor.rest().as_bytes()[len..], cursor.last) {
            None => return Some(Advance::More),
            Some((parens, true)) => len + parens,
            Some((_, false)) => return None,
        };
        match self.next_token(cursor, len) {
            None => return Some(Advance::More),
            Some(b',' | b'}' | b']' | 0) => {}
            Some(_) => return None,
        }
        let mut spelling = String::from('"');
        escape_into(&mut spelling, &cursor.rest()[..len]);
        spelling.push('"');
        let repair = Some((RepairCode::UnquotedString, Safety::Guess));
        self.write_scalar(cursor, len, Scalar { kind: Kind::String, spelling: Some(spelling), repair });
        cursor.at += len;
        self.scan = Scan::default();
        self.value_done();
        Some(Advance::Go)
    }

    pub(super) fn write_scalar(&mut self, cursor: &Cursor<'_>, len: usize, scalar: Scalar) {
        if let Some((code, safety)) = scalar.repair {
            // In a list a comma may stand in the middle of a number.
            let word = &cursor.rest()[..len];
            let is_half =
                self.grammar.restores && self.in_sequence() && (word.starts_with('.') || word.ends_with('.'));
            let safety = if is_half { Safety::Guess } else { safety };
            self.repairs.add(code, safety, cursor.span(len));
        }
        self.flush_gap();
        let node = self.output.open(scalar.kind, self.key.take());
        let spelling = scalar.spelling.as_deref().unwrap_or(&cursor.text[cursor.at..cursor.at + len]);
        self.output.text.push_str(spelling);
        self.output.close(node);
    }

    fn open_wrapper(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Advance {
        self.scan = Scan::default();
        if self.levels.len() >= self.grammar.max_depth {
            self.fail(Code::TooDeep, cursor.offset(), "too many functions stand around the value");
            return Advance::Go;
        }
        let safety = if self.levels.is_empty() { Safety::Lossless } else { Safety::Guess };
        self.repairs.add(RepairCode::Wrapper, safety, cursor.span(len + 1));
        cursor.at += len + 1;
        self.open_level(LevelKind::Wrapper);
        Advance::Go
    }
}

/// The letters before a Python string.
#[derive(Clone, Copy, Debug)]
pub(super) struct StringPrefix {
    /// Backslashes stand for themselves.
    pub(super) raw: bool,
    /// What stands in braces is computed.
    pub(super) formatted: bool,
    /// It stands for bytes.
    pub(super) bytes: bool,
    /// It stands for bytes or is computed, so its text may not be what is meant.
    pub(super) doubtful: bool,
}

impl StringPrefix {
    fn of(word: &str) -> Option<Self> {
        const PREFIXES: [&str; 8] = ["r", "u", "b", "f", "rb", "br", "rf", "fr"];
        let prefix = PREFIXES.iter().find(|prefix| word.eq_ignore_ascii_case(prefix))?;
        let [raw, bytes, formatted] = ['r', 'b', 'f'].map(|letter| prefix.contains(letter));
        Some(StringPrefix { raw, formatted, bytes, doubtful: bytes || formatted })
    }
}

/// Whether a word is shaped like a name, so that it can only be one key.
pub(super) fn is_identifier(word: &str) -> bool {
    let mut characters = word.chars();
    let is_letter = |character: char| {
        character.is_ascii_alphabetic() || !character.is_ascii() && character.is_alphabetic()
    };
    let start = |character: char| is_letter(character) || matches!(character, '_' | '$' | '@');
    let part = |character: char| {
        is_letter(character) || character.is_numeric() || matches!(character, '_' | '$' | '@' | '-' | '.')
    };
    let is_name = characters.next().is_some_and(start) && characters.all(part);
    looked(word.len() - characters.as_str().len());
    is_name
}

/// The value of a word, if it is a number or literal in some spelling.
pub(super) fn scalar(word: &str, python: bool) -> Option<Scalar> {
    let literal = |kind, spelling: &str, code: RepairCode| {
        let written = python && code == RepairCode::PythonLiteral;
        let repair = (!written).then(|| (code, code.entry().safety));
        Some(Scalar { kind, spelling: Some(spelling.to_owned()), repair })
    };
    match word {
        "true" | "false" => return Some(Scalar { kind: Kind::Bool, spelling: None, repair: None }),
        "null" => return Some(Scalar { kind: Kind::Null, spelling: None, repair: None }),
        "True" => return literal(Kind::Bool, "true", RepairCode::PythonLiteral),
        "False" => return literal(Kind::Bool, "false", RepairCode::PythonLiteral),
        "None" => return literal(Kind::Null, "null", RepairCode::PythonLiteral),
        "TRUE" => return literal(Kind::Bool, "true", RepairCode::JavascriptLiteral),
        "FALSE" => return literal(Kind::Bool, "false", RepairCode::JavascriptLiteral),
        "undefined" | "NULL" | "Null" => return literal(Kind::Null, "null", RepairCode::JavascriptLiteral),
        _ => {}
    }
    if matches!(word.trim_start_matches(['+', '-']), "NaN" | "nan" | "Infinity" | "inf") {
        return literal(Kind::Null, "null", RepairCode::NonFinite);
    }
    if number_length(word.as_bytes()) == Some(word.len()) {
        return Some(Scalar { kind: Kind::Number, spelling: None, repair: None });
    }
    if let Some((spelling, safety)) = without_zeros(word).filter(|_| python) {
        let repair = Some((RepairCode::NumberFormat, safety));
        return Some(Scalar { kind: Kind::Number, spelling: Some(spelling), repair });
    }
    let spelling = rewritten_number(word)?;
    let repair = (!python).then_some((RepairCode::NumberFormat, Safety::Lossless));
    Some(Scalar { kind: Kind::Number, spelling: Some(spelling), repair })
}

/// How long what stands in brackets here is, and whether it holds several values. A length of zero says that it is too
/// long or goes on in the next line; `None` that more input decides.
pub(super) fn in_brackets(bytes: &[u8], last: bool) -> Option<(usize, bool)> {
    const LONGEST: usize = 256;
    let (mut depth, mut quote, mut escaped, mut several) = (0_usize, None, false, false);
    for (at, byte) in bytes.iter().take(LONGEST).enumerate() {
        looked(1);
        match (quote, *byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(*byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') if depth <= 1 => return Some((at + 1, several)),
            (None, b')' | b']' | b'}') => depth -= 1,
            (None, b',') => several |= depth == 1,
            (None, b'\n') => return Some((0, false)),
            (None, _) => {}
        }
    }
    (last || bytes.len() >= LONGEST).then_some((0, false))
}

/// Whether a literal starts here; `None` if more input decides.
pub(super) fn literal_at(text: &str, at: usize, last: bool) -> Option<bool> {
    const LITERALS: [&str; 3] = ["true", "false", "null"];
    let rest = &text[at..];
    let is_cut =
        !last && LITERALS.iter().any(|literal| literal.starts_with(rest) && rest.len() < literal.len());
    (!is_cut).then(|| LITERALS.iter().any(|literal| rest.starts_with(literal)))
}

/// Whether a word is a number or literal as JSON writes it.
pub(super) fn is_scalar(word: &str) -> bool {
    matches!(word, "true" | "false" | "null") || number_length(word.as_bytes()) == Some(word.len())
}

/// Whether a word that the end of the input cuts off might have become a number or literal.
fn may_become_scalar(word: &str) -> bool {
    const WORDS: [&str; 7] = ["true", "false", "null", "undefined", "True", "False", "None"];
    let number =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E' | b'_' | b'x');
    WORDS.iter().any(|literal| literal.starts_with(word)) || word.bytes().all(number)
}

/// A number without the zeros before it, which code does not have. Old versions of Python read such a number as octal, so that
/// it is a guess where that is another one.
fn without_zeros(word: &str) -> Option<(String, Safety)> {
    let (sign, digits) = word.strip_prefix('-').map_or(("", word), |digits| ("-", digits));
    let number = digits.trim_start_matches('0');
    let is_whole =
        digits.starts_with('0') && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let is_same = number.len() == 1 || number.contains(['8', '9']);
    let safety = if is_same { Safety::Lossless } else { Safety::Guess };
    is_whole.then(|| (format!("{sign}{number}"), safety))
}

/// The JSON spelling of a number that is written in another way, if it has exactly one value.
fn rewritten_number(word: &str) -> Option<String> {
    if word.contains(|c: char| ('０'..='９').contains(&c)) {
        // Full-width digits stand for the plain ones.
        let plain = |c: char| match c {
            '０'..='９' => char::from_u32(u32::from(c) - u32::from('０') + u32::from('0')).unwrap_or(c),
            '．' => '.',
            '－' => '-',
            _ => c,
        };
        let word: String = word.chars().map(plain).collect();
        return (number_length(word.as_bytes()) == Some(word.len())).then_some(word);
    }
    let (sign, body) = match word.as_bytes().first()? {
        b'-' => ("-", &word[1..]),
        b'+' => ("", &word[1..]),
        _ => ("", word),
    };
    let radix = match body.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => 10,
    };
    let grouped = |digits: &str| {
        // An underscore groups digits, so it stands between two of them.
        !digits.starts_with('_') && !digits.ends_with('_') && !digits.contains("__")
    };
    if radix != 10 {
        let digits = body[2..].strip_prefix('_').unwrap_or(&body[2..]);
        let plain = digits.chars().all(|digit| digit.is_digit(radix) || digit == '_');
        let value = u128::from_str_radix(&digits.replace('_', ""), radix).ok();
        return value.filter(|_| plain && grouped(digits)).map(|value| format!("{sign}{value}"));
    }
    let exponent = body.find(['e', 'E']).unwrap_or(body.len());
    let (mantissa, exponent) = body.split_at(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if (whole.is_empty() && fraction.is_empty()) || !grouped(whole) || !grouped(fraction) {
        return None;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let mut spelling = format!("{sign}{whole}");
    if mantissa.contains('.') {
        spelling.push('.');
        spelling.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    spelling.push_str(exponent);
    spelling.retain(|character| character != '_');
    (number_length(spelling.as_bytes()) == Some(spelling.len())).then_some(spelling)
}

/// How long the number is with which the bytes begin, as JSON writes numbers.
pub(super) fn number_length(bytes: &[u8]) -> Option<usize> {
    // The end of the digits from here on, if there are any.
    let digits = |from: usize| {
        let mut end = from;
        while bytes.get(end).is_some_and(u8::is_ascii_digit) {
            end += 1;
        }
        looked(end - from);
        (end > from).then_some(end)
    };
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let mut end = digits(sign)?;
    if end > sign + 1 && bytes[sign] == b'0' {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        end += 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        end = digits(end)?;
    }
    Some(end)
}

/// Whether full-width punctuation stands here.
fn is_wide_separator(text: &str, at: usize) -> bool {
    !text.as_bytes()[at].is_ascii()
        && text.is_char_boundary(at)
        && text[at..].starts_with(['，', '、', '：', '｝', '］'])
}

/// Whether a word ends before this byte.
fn ends_word(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'\n'
            | b'\r'
            | b','
            | b';'
            | b':'
            | b'='
            | b'"'
            | b'\''
            | b'`'
            | b'/'
            | b'#'
            | b'\\'
            | b'{'
            | b'}'
            | b'['
            | b']'
            | b'('
            | b')'
    )
}
