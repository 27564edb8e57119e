//! Making text safe to look at: whatever a terminal might obey, or a reader cannot see, is written out.

use std::borrow::Cow;

/// What line breaks and tabs become in [`visible`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// They stay.
    Keep,
    /// They are written as `\n` and `\t`, so that the text stays on its line.
    Show,
}

/// The text with every character that a terminal might obey, or that a reader cannot see, written out as an escape.
pub fn visible(text: &str, breaks: Breaks) -> Cow<'_, str> {
    let keep = |c: char| match c {
        '\n' | '\t' => breaks == Breaks::Keep,
        _ => !is_hidden(c),
    };
    if text.chars().all(keep) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if keep(c) { out.push(c) } else { out.extend(c.escape_default()) }
    }
    Cow::Owned(out)
}

/// Control characters, direction overrides, and characters without a shape of their own: what hostile text hides behind.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
