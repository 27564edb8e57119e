//! Templates: literal text with named holes, the one notation in which a dialect is read and written.

use std::fmt;

macro_rules! slots {
    ($($name:ident $word:literal $doc:literal;)*) => {
        /// A hole of a template: a brace group that is exactly one of these words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Slot {
            $(#[doc = $doc] $name,)*
        }

        impl Slot {
            /// Every slot, in the order of the documentation.
            pub const ALL: &'static [Slot] = &[$(Slot::$name,)*];

            /// The word between the braces.
            pub fn word(self) -> &'static str {
                match self {
                    $(Slot::$name => $word,)*
                }
            }
        }
    };
}

slots! {
    Name "name" "The name of the tool.";
    Key "key" "The name of one parameter.";
    Id "id" "The id that the model gave the call.";
    Index "index" "A number or id that is written but is not the position of the call.";
    Type "type" "The type of a parameter, in the spelling of `types`.";
    Arguments "arguments" "All arguments as one value, in the syntax of the record.";
    Object "object" "One object in the shape of `object`.";
    Params "params" "Parameters, each written with `param`.";
    Value "value" "The value of one parameter, as text.";
    Text "text" "Visible text or reasoning.";
    Skip "skip" "Text that is dropped.";
    Code "code" "Raw program text up to the next opener or the end.";
    Suffix "suffix" "Nothing, or a colon and a word that stays the same through the response.";
    Reason "reason" "The code of an error that the model reports.";
    After "after" "The ids of the calls that must be done before this one.";
}

impl Slot {
    /// The slot with this word, if there is one.
    pub fn from_word(word: &str) -> Option<Slot> {
        Slot::ALL.iter().copied().find(|slot| slot.word() == word)
    }

    /// Whether it takes any text and therefore ends only where a literal (or the end of input) says so.
    pub fn is_raw(self) -> bool {
        matches!(self, Slot::Value | Slot::Text | Slot::Skip | Slot::Code)
    }

    /// Whether it takes one word: a run of [`is_word_character`].
    pub fn is_word(self) -> bool {
        matches!(self, Slot::Name | Slot::Key | Slot::Id | Slot::Index | Slot::Type)
    }
}

/// The mark of the byte order, which may stand before the first word.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Whether a character may be part of a name, key or id.
///
/// White space, quotes and the characters that tags, brackets and lists are made of never are, so a word always
/// ends at the markup that follows it.
pub fn is_word_character(character: char) -> bool {
    if !character.is_ascii() {
        return !(character.is_whitespace() || character.is_control() || character == BYTE_ORDER_MARK);
    }
    character.is_ascii_graphic()
        && !matches!(
            character,
            '"' | '\'' | '`' | '<' | '>' | '[' | ']' | '{' | '}' | '(' | ')' | '|' | '=' | ',' | ';'
        )
}

/// One piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text that stands there as it is. Never empty.
    Literal(String),
    /// A hole.
    Slot(Slot),
}

/// A parsed template: literals and slots in turn, with no two literals side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// The pieces in order. Empty for the empty template.
    pub parts: Vec<Part>,
}

impl Template {
    /// Reads a template. Every brace that is not a placeholder is literal, so nothing can be wrong and nothing needs
    /// to be escaped.
    pub fn parse(source: &str) -> Template {
        let mut parts = Vec::new();
        let mut literal_start = 0;
        let mut position = 0;
        while let Some(found) = source[position..].find('{') {
            let brace = position + found;
            position = brace + 1;
            let word_length = source[position..].bytes().take_while(u8::is_ascii_lowercase).count();
            let word_end = position + word_length;
            if source[word_end..].starts_with('}')
                && let Some(slot) = Slot::from_word(&source[position..word_end])
            {
                if literal_start < brace {
                    parts.push(Part::Literal(source[literal_start..brace].to_owned()));
                }
                parts.push(Part::Slot(slot));
                position = word_end + 1;
                literal_start = position;
            }
        }
        if literal_start < source.len() {
            parts.push(Part::Literal(source[literal_start..].to_owned()));
        }
        Template { parts }
    }

    /// Whether it writes nothing.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether the slot occurs.
    pub fn has(&self, slot: Slot) -> bool {
        self.slots().any(|own| own == slot)
    }

    /// The slots in order, repeats included.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Slot(slot) => Some(*slot),
            Part::Literal(_) => None,
        })
    }

    /// The literals in order.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(literal) => Some(literal.as_str()),
            Part::Slot(_) => None,
        })
    }

    /// The literal it starts with, or nothing if it starts with a slot.
    pub fn head(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(literal)) => literal,
            _ => "",
        }
    }

    /// The literal it ends with, if it ends with one.
    pub(crate) fn tail(&self) -> Option<&str> {
        match self.parts.last() {
            Some(Part::Literal(literal)) => Some(literal),
            _ => None,
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                Part::Literal(literal) => f.write_str(literal)?,
                Part::Slot(slot) => write!(f, "{{{}}}", slot.word())?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_words_are_slots() {
        let template = Template::parse("{{name}{nam}{ name}{arguments}}{");
        let literal = |text: &str| Part::Literal(text.to_owned());
        assert_eq!(
            template.parts,
            [
                literal("{"),
                Part::Slot(Slot::Name),
                literal("{nam}{ name}"),
                Part::Slot(Slot::Arguments),
                literal("}{"),
            ]
        );
    }

    #[test]
    fn display_writes_back_what_was_read() {
        for source in
            ["", "{", "<｜tool▁sep｜>{name}\n{params}</x>", "{object}", r#"{"{name}": {arguments}}"#]
        {
            assert_eq!(Template::parse(source).to_string(), source);
        }
    }
}
