//! Quotes: what may open a string, and what may close it.

use super::Grammar;

/// How a string is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `"…"`
    Double,
    /// `'…'`
    Single,
    /// `` `…` ``
    Backtick,
    /// Typographic quotes, with all that may close them.
    Typographic(&'static [char]),
    /// `\"…\"`, in text that was escaped once too often.
    Escaped,
    /// The private delimiter on both sides.
    Private,
    /// `&quot;…&quot;`, in text that was escaped for HTML.
    Entity,
    /// `"""…"""` or `'''…'''`
    Triple(u8),
    /// No quotes.
    Unquoted,
}

/// Whether a string starts somewhere.
pub(super) enum Opening {
    /// It does, with a quote of this many bytes.
    Quote(Style, usize),
    /// It does not.
    None,
    /// That depends on what follows.
    More,
}

/// A double quote as HTML writes it.
pub(super) const ENTITY: &str = "&quot;";

const DOUBLE_CLOSERS: &[char] = &['“', '”', '‟', '＂', '〞', '"'];
const SINGLE_CLOSERS: &[char] = &['‘', '’', '‛', '＇', '´', '\''];

impl Style {
    /// The quote as the tracker of lost values knows it.
    pub(super) fn plain_quote(self) -> Option<u8> {
        match self {
            Style::Double => Some(b'"'),
            Style::Single => Some(b'\''),
            Style::Triple(quote) => Some(quote),
            _ => None,
        }
    }

    /// Whether this one character may close the string.
    pub(super) fn may_close(self, character: char) -> bool {
        match self {
            Style::Double => character == '"',
            Style::Single => character == '\'',
            Style::Backtick => character == '`',
            Style::Typographic(closers) => closers.contains(&character),
            Style::Escaped | Style::Private | Style::Entity | Style::Triple(_) | Style::Unquoted => false,
        }
    }

    /// Whether line breaks are written raw in such strings.
    pub(super) fn takes_raw_lines(self) -> bool {
        matches!(self, Style::Backtick | Style::Private | Style::Triple(_) | Style::Unquoted)
    }
}

impl Grammar {
    /// Whether a string starts at the start of `rest`, after which nothing follows if `last`.
    pub(super) fn opening(&self, rest: &str, last: bool) -> Opening {
        if let Some(quote) = &self.quote {
            if rest.starts_with(&**quote) {
                return Opening::Quote(Style::Private, quote.len());
            }
            if !last && quote.starts_with(rest) {
                return Opening::More;
            }
        }
        let Some(character) = rest.chars().next() else { return Opening::None };
        match character {
            '"' | '\'' => {
                let (style, triple, byte) = match character {
                    '"' => (Style::Double, "\"\"\"", b'"'),
                    _ => (Style::Single, "'''", b'\''),
                };
                if rest.starts_with(triple) {
                    Opening::Quote(Style::Triple(byte), 3)
                } else if !last && triple.starts_with(rest) {
                    Opening::More
                } else {
                    Opening::Quote(style, 1)
                }
            }
            '`' => Opening::Quote(Style::Backtick, 1),
            '&' if self.restores && rest.starts_with(ENTITY) => Opening::Quote(Style::Entity, ENTITY.len()),
            '&' if self.restores && !last && ENTITY.starts_with(rest) => Opening::More,
            '\\' if rest.starts_with("\\\"") => Opening::Quote(Style::Escaped, 2),
            '\\' if rest.len() == 1 && !last => Opening::More,
            _ => match typographic(rest, 0) {
                Some((style, len)) => Opening::Quote(style, len),
                None => Opening::None,
            },
        }
    }
}

/// The typographic quote that stands here and may open a string, and its length.
pub(super) fn typographic(text: &str, at: usize) -> Option<(Style, usize)> {
    let character = text.get(at..)?.chars().next()?;
    let closers: &'static [char] = match character {
        '“' | '”' | '„' | '‟' | '＂' | '〝' => DOUBLE_CLOSERS,
        '‘' | '’' | '‚' | '‛' | '＇' | '´' => SINGLE_CLOSERS,
        '«' => &['»'],
        '»' => &['«'],
        '‹' => &['›'],
        '「' => &['」'],
        '『' => &['』'],
        _ => return None,
    };
    Some((Style::Typographic(closers), character.len_utf8()))
}

/// How far beyond its first byte a quote was looked at to tell one from three.
pub(super) fn looked_behind_quote(bytes: &[u8]) -> usize {
    match bytes {
        [b'"', b'"', _, ..] | [b'\'', b'\'', _, ..] => 2,
        [b'"' | b'\'', _, ..] => 1,
        _ => 0,
    }
}
