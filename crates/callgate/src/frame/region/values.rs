//! Values: JSON and Python values in text own their strings, whether or not a dialect reads them. What stands in such a
//! string is data.

/// How far a bracket is looked at to see that it is one of prose.
const LOOK_AHEAD: usize = 32;

/// Whether the bracket at the start of these bytes is certainly one of prose: another closes it before it can have had
/// a string, a named part or a bracket of its own.
pub(super) fn is_prose(bytes: &[u8]) -> bool {
    let inside = bytes.get(1..bytes.len().min(LOOK_AHEAD)).unwrap_or_default();
    let mut signs = inside.iter().map(|byte| SIGNS[usize::from(*byte)]);
    signs.find(|sign| *sign != Sign::None) == Some(Sign::Close)
}

/// Whether what follows the parenthesis at the start of these bytes may be the arguments of a call in Python, of which the
/// first is a string or has a name.
pub(super) fn may_be_arguments(bytes: &[u8]) -> bool {
    let inside = bytes.get(1..bytes.len().min(LOOK_AHEAD)).unwrap_or_default().trim_ascii_start();
    let word = inside.iter().take_while(|byte| is_name(char::from(**byte))).count();
    matches!(inside[word..].trim_ascii_start(), [] | [b'=' | b'"' | b'\'' | 128.., ..])
}

/// What a byte says about the bracket that stands before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    None,
    /// It closes the bracket.
    Close,
    /// It may make a value of it.
    Value,
}

const SIGNS: [Sign; 256] = {
    let mut signs = [Sign::None; 256];
    let mut byte = 0;
    while byte < signs.len() {
        signs[byte] = match byte as u8 {
            b'}' | b']' => Sign::Close,
            b'"' | b'\'' | b':' | b'=' | b'(' | b'{' | b'[' | 128.. => Sign::Value,
            _ => Sign::None,
        };
        byte += 1;
    }
    signs
};

/// The value that the text is in, if it is in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    state: ValueState,
    /// How many brackets are open.
    depth: usize,
    /// Whether it is a call in Python, so that parentheses count.
    call: bool,
    /// Whether it has had a string or a named part, so that it is no bracket of prose.
    certain: bool,
    /// The last character, in a value that is no white space.
    last: char,
    /// Whether white space came after it.
    spaced: bool,
    /// How many letters of a word that can stand before a quote have come.
    prefix: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ValueState {
    /// In no value.
    #[default]
    Idle,
    /// Between the parts of a value.
    Between,
    /// After the quote that opens a string.
    Quoted { quote: char },
    /// After two quotes: an empty string, unless a third one follows.
    Doubled { quote: char },
    /// In a string.
    String { close: char, escaped: bool },
    /// In a string between tripled quotes, after so many quotes in a row.
    Tripled { quote: char, run: usize, escaped: bool },
}

impl Values {
    /// Whether the text is in no value.
    pub(super) fn is_idle(&self) -> bool {
        self.state == ValueState::Idle
    }

    /// Whether the text is in a value that is no bracket of prose.
    pub(super) fn is_certain(&self) -> bool {
        !self.is_idle() && self.certain
    }

    /// Whether the next character is in a string.
    pub(super) fn in_string(&self) -> bool {
        matches!(
            self.state,
            ValueState::Quoted { .. } | ValueState::String { .. } | ValueState::Tripled { .. }
        )
    }

    /// Reads one character. Most stand in no value and begin none.
    #[inline]
    pub(super) fn read(&mut self, c: char) {
        match self.is_idle() && !matches!(c, '(' | '{' | '[') {
            true => self.last = c,
            false => self.read_on(c),
        }
    }

    #[inline(never)] // See `read`.
    fn read_on(&mut self, c: char) {
        self.state = match self.state {
            ValueState::Idle => self.idle(c),
            ValueState::Between => self.between(c),
            ValueState::Quoted { quote } if c == quote => ValueState::Doubled { quote },
            ValueState::Quoted { quote } => self.in_text(quote, false, c),
            ValueState::Doubled { quote } if c == quote => {
                ValueState::Tripled { quote, run: 0, escaped: false }
            }
            ValueState::Doubled { quote } => {
                self.last = quote;
                self.between(c)
            }
            ValueState::String { close, escaped } => self.in_text(close, escaped, c),
            ValueState::Tripled { quote, run, .. } if c == quote && run == 2 => {
                self.last = quote;
                ValueState::Between
            }
            ValueState::Tripled { quote, run, escaped } => {
                let run = if c == quote && !escaped { run + 1 } else { 0 };
                ValueState::Tripled { quote, run, escaped: c == '\\' && !escaped }
            }
        };
    }

    /// Passes over text in which no value begins.
    #[inline]
    pub(super) fn pass(&mut self, text: &str) {
        match text.as_bytes().last() {
            Some(byte) if byte.is_ascii() => self.last = char::from(*byte),
            Some(_) => self.last = text.chars().next_back().unwrap_or(self.last),
            None => {}
        }
    }

    fn idle(&mut self, c: char) -> ValueState {
        let is_call = c == '(' && is_word(self.last);
        if is_call || matches!(c, '{' | '[') {
            *self = Values { depth: 1, call: is_call, last: c, ..Values::default() };
            return ValueState::Between;
        }
        self.last = c;
        ValueState::Idle
    }

    fn in_text(&mut self, close: char, escaped: bool, c: char) -> ValueState {
        if c == close && !escaped {
            self.last = close;
            self.spaced = false;
            return ValueState::Between;
        }
        ValueState::String { close, escaped: c == '\\' && !escaped }
    }

    fn between(&mut self, c: char) -> ValueState {
        if c.is_whitespace() {
            self.spaced = true;
            return ValueState::Between;
        }
        let (last, spaced) = (self.last, std::mem::take(&mut self.spaced));
        let begins_part = matches!(last, '{' | '[' | '(' | ',' | ':' | '=');
        if matches!(c, '"' | '\'' | '“') && (begins_part || self.prefix > 0 && !spaced) {
            self.certain = true;
            self.prefix = 0;
            return match c {
                '“' => ValueState::String { close: '”', escaped: false },
                quote => ValueState::Quoted { quote },
            };
        }
        // Python writes letters before some strings.
        let is_prefix = matches!(c, 'r' | 'R' | 'b' | 'B' | 'f' | 'F' | 'u' | 'U')
            && (begins_part || self.prefix == 1 && !spaced);
        self.prefix = if is_prefix { self.prefix + 1 } else { 0 };
        self.last = c;
        // The first argument of a call is a string or has a name, or the parenthesis is one of prose.
        if self.call && !self.certain {
            self.certain = c == '=' && is_name(last);
            let goes_on = self.certain || is_name(c) && (last == '(' || is_name(last) && !spaced);
            if goes_on {
                return ValueState::Between;
            }
            self.last = if spaced { ' ' } else { last };
            return self.idle(c);
        }
        self.certain |= c == '(' && is_word(last);
        match c {
            '{' | '[' => self.depth += 1,
            '(' if self.call => self.depth += 1,
            ')' if !self.call => {}
            '}' | ']' | ')' => {
                self.depth -= 1;
                if self.depth == 0 {
                    return ValueState::Idle;
                }
            }
            ':' | '=' if is_word(last) => self.certain = true,
            // Two words beside each other are prose.
            _ if is_word(c) && is_word(last) && spaced => return ValueState::Idle,
            _ if is_word(c) || matches!(c, ',' | ')' | '(' | ':' | '=') || self.certain => {}
            _ => return ValueState::Idle,
        }
        ValueState::Between
    }
}

/// Whether names of arguments have this character.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+') || !c.is_ascii() && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with a mark before each character that stands in a string.
    fn marked(text: &str) -> String {
        let mut values = Values::default();
        let mut marked = String::new();
        for c in text.chars() {
            if values.in_string() {
                marked.push('·');
            }
            marked.push(c);
            values.read(c);
        }
        marked
    }

    #[test]
    fn strings_of_values_are_told_from_prose() {
        for (text, wanted) in [
            (r#"{"a": "b"}"#, r#"{"·a·": "·b·"}"#),
            (r#"say "a" and [it's] 'c'"#, r#"say "a" and [it's] 'c'"#),
            (r#"[f(x="a\"b", y=r'c')]"#, r#"[f(x="·a·\·"·b·", y=r'·c·')]"#),
            (r#"[link's text](u "t")"#, r#"[link's text](u "t")"#),
            (r#"{a: 'x'} 'y'"#, r#"{a: '·x·'} 'y'"#),
            (r#"["", "a"]"#, r#"["·", "·a·"]"#),
            (r#"{'k': """a"b"""}"#, r#"{'·k·': "·""·a·"·b·"·"·"}"#),
            ("{“a”: 1}", "{“·a·”: 1}"),
            ("[1] 'a'", "[1] 'a'"),
            (r#"f(x="a", y=(1, 'b')) 'c'"#, r#"f(x="·a·", y=(1, '·b·')) 'c'"#),
            (r#"say ("a") and ('80s) or f(it's)"#, r#"say ("a") and ('80s) or f(it's)"#),
            (r#"print('a') 'b'"#, r#"print('·a·') 'b'"#),
        ] {
            assert_eq!(marked(text), wanted, "{text}");
        }
    }
}
