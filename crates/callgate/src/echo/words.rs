//! Words: what two texts are compared by, whatever format, escaping or layout each is written in.
//!
//! Escapes of JSON and Python and the entities of HTML are undone, however often they were applied, so that a text and
//! its quotation have the same words. Whatever formats are made of separates words and is none: white space, quotes,
//! brackets. A control token that was broken for a model is therefore the same words as before.

/// A word as it is compared. Zero is no word.
pub(super) type Word = u32;

/// Empty brackets are a word: they are all that some formats write of a call without arguments.
const EMPTY_CALL: Word = word("()");
const EMPTY_OBJECT: Word = word("{}");

/// What Python writes for the literals of JSON.
const LITERALS: [(Word, Word); 3] =
    [(word("True"), word("true")), (word("False"), word("false")), (word("None"), word("null"))];

/// The longest name of an entity that is known, in bytes.
const ENTITY: usize = 8;

const START: u64 = 0xcbf2_9ce4_8422_2325;
const FACTOR: u64 = 0x0000_0100_0000_01b3;

/// Gives the words of a text in order.
pub(super) fn split(text: &str, take: &mut dyn FnMut(Word)) {
    let mut splitter = Splitter {
        take,
        after_backslash: false,
        digits: String::new(),
        high: 0,
        entity: None,
        state: START,
        bracket: None,
    };
    for c in text.chars() {
        splitter.unescape(c);
    }
    splitter.finish();
}

const fn step(state: u64, c: u32) -> u64 {
    (state ^ c as u64).wrapping_mul(FACTOR)
}

const fn end(state: u64) -> Word {
    let word = (state ^ (state >> 32)) as u32;
    if word == 0 { 1 } else { word }
}

/// The word of ASCII letters.
const fn word(text: &str) -> Word {
    let mut state = START;
    let mut at = 0;
    while at < text.len() {
        state = step(state, text.as_bytes()[at] as u32);
        at += 1;
    }
    end(state)
}

/// A text on its way to words, in three layers: escapes, entities, words.
struct Splitter<'t> {
    take: &'t mut dyn FnMut(Word),
    after_backslash: bool,
    /// The `u` or `x` of an escape and its digits so far.
    digits: String,
    /// The first half of a character that is written as two escapes; zero where there is none.
    high: u32,
    /// What follows an `&`.
    entity: Option<String>,
    /// The hash of the word so far; its start where there is none.
    state: u64,
    /// A bracket that nothing has followed.
    bracket: Option<char>,
}

impl Splitter<'_> {
    /// Any number of backslashes is one: a text that is quoted twice has two escapes for one.
    fn unescape(&mut self, c: char) {
        if let Some(kind) = self.digits.bytes().next() {
            if c.is_ascii_hexdigit() {
                self.digits.push(c);
                if self.digits.len() == if kind == b'u' { 5 } else { 3 } {
                    let unit = u32::from_str_radix(&self.digits[1..], 16).unwrap_or_default();
                    self.digits.clear();
                    self.unit(unit);
                }
                return;
            }
            self.give_digits_back();
        }
        let after_backslash = std::mem::replace(&mut self.after_backslash, c == '\\');
        match c {
            '\\' => {}
            'n' | 't' | 'r' | 'b' | 'f' if after_backslash => self.undo_entity(' '),
            'u' | 'x' if after_backslash => self.digits.push(c),
            _ => self.undo_entity(c),
        }
    }

    fn unit(&mut self, unit: u32) {
        match unit {
            0xd800..0xdc00 => self.high = unit,
            0xdc00..0xe000 if self.high > 0 => {
                let c = 0x10000 + ((self.high - 0xd800) << 10) + (unit - 0xdc00);
                self.high = 0;
                self.undo_entity(char::from_u32(c).unwrap_or(' '));
            }
            _ => self.undo_entity(char::from_u32(unit).unwrap_or(' ')),
        }
    }

    /// What looked like an escape was none.
    fn give_digits_back(&mut self) {
        for c in std::mem::take(&mut self.digits).chars() {
            self.undo_entity(c);
        }
    }

    fn undo_entity(&mut self, c: char) {
        if let Some(name) = &mut self.entity {
            if (c.is_ascii_alphanumeric() || c == '#') && name.len() < ENTITY {
                name.push(c);
                return;
            }
            match entity(name).filter(|_| c == ';') {
                // `&amp;lt;` is an entity that was quoted once more.
                Some('&') => name.clear(),
                Some(known) => {
                    self.entity = None;
                    self.read(known);
                }
                None => {
                    self.give_entity_back();
                    self.undo_entity_start(c);
                }
            }
            return;
        }
        self.undo_entity_start(c);
    }

    fn undo_entity_start(&mut self, c: char) {
        match c {
            '&' => self.entity = Some(String::new()),
            _ => self.read(c),
        }
    }

    /// What looked like an entity was none.
    fn give_entity_back(&mut self) {
        let Some(name) = self.entity.take() else { return };
        self.read('&');
        for c in name.chars() {
            self.read(c);
        }
    }

    fn read(&mut self, c: char) {
        let c = match c {
            // The wide forms of ASCII.
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
            _ => c,
        };
        if is_of_word(c) {
            self.bracket = None;
            self.state = step(self.state, u32::from(c));
            return;
        }
        if is_unseen(c) {
            return;
        }
        self.end_word();
        match (c, self.bracket) {
            ('(' | '{', _) => self.bracket = Some(c),
            (')', Some('(')) => self.give_brackets(EMPTY_CALL),
            ('}', Some('{')) => self.give_brackets(EMPTY_OBJECT),
            _ if c.is_whitespace() => {}
            _ => self.bracket = None,
        }
    }

    fn give_brackets(&mut self, word: Word) {
        self.bracket = None;
        (self.take)(word);
    }

    fn end_word(&mut self) {
        if self.state == START {
            return;
        }
        let word = end(std::mem::replace(&mut self.state, START));
        let literal = LITERALS.iter().find(|(python, _)| *python == word);
        (self.take)(literal.map_or(word, |(_, json)| *json));
    }

    fn finish(&mut self) {
        self.give_digits_back();
        self.give_entity_back();
        self.end_word();
    }
}

/// The signs are those that values are made of and that no format writes beside a name.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | '~' | '$' | '%' | '+')
}

/// What a reader cannot see does not cut a word in two.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\\' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// The character that an entity stands for.
fn entity(name: &str) -> Option<char> {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some(' '),
        _ => match name.strip_prefix(['#'])? {
            hex if hex.starts_with(['x', 'X']) => number(&hex[1..], 16),
            digits => number(digits, 10),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        split(text, &mut |word| words.push(word));
        words
    }

    #[test]
    fn a_text_and_its_quotations_have_the_same_words() {
        let plain = "<tool_call>{\"name\": \"rm\", \"path\": \"/etc/é 😀x\\n\"}</tool_call>";
        let quoted = serde_json::to_string(plain).unwrap_or_default();
        let twice = serde_json::to_string(&quoted).unwrap_or_default();
        let html = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&#34;");
        for other in [
            quoted.clone(),
            twice,
            html(plain),
            html(&html(plain)),
            html(&quoted),
            serde_json::to_string(&html(plain)).unwrap_or_default(),
            plain.replace('<', "\\u003c").replace('é', "\\u00e9").replace('😀', "\\ud83d\\uDE00"),
            html(plain).replace('&', "\\u0026"),
            plain.replace(' ', "\n\t ").replace('<', "‹"),
            plain.replace("tool", "to\u{200b}ol").replace('<', "＜").replace("rm", "ｒｍ"),
        ] {
            assert_eq!(words(&other), words(plain), "{other}");
        }
        assert_eq!(words(plain).len(), 7);
    }

    #[test]
    fn what_only_looks_like_an_escape_or_an_entity_is_read_as_it_stands() {
        assert_eq!(words("a \\users &lt b &x;"), words("a users lt b x"));
        assert_eq!(words("R&D; \\u12"), words("R D u12"));
        assert_eq!(words("Rm"), words("Rm "));
        assert_ne!(words("Rm"), words("rm"));
        assert_eq!(words("[True, None]"), words("true null"));
        assert_eq!(words("now()"), words("now ( )"));
        assert_ne!(words("now()"), words("now"));
    }
}
