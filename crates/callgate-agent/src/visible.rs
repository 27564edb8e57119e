//! Making text safe to look at: whatever a terminal might obey, or a reader cannot see, is written out.
//!
//! A person who is asked sees more: in [`quoted`] and [`marked`] text, two blanks or more are `␠×12␠`, and letters that
//! only look alike are escapes.

use std::borrow::Cow;

use crate::script::{is_mark, is_mixed, is_of_word, is_styled};

/// The sign that a run of blanks begins and ends with. Where a text holds it, it is written as an escape.
pub const BLANK: char = '␠';
/// The deepest indentation that stays as it is.
const INDENTATION: usize = 32;
/// How many marks may be drawn onto one character. More than any language needs cover the lines above.
const STACKED: usize = 3;

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

/// The text in double quotes, on one line, so that it can be told from everything around it and nothing in it deceives
/// the eye. No two texts look the same: quotes and backslashes are escaped, and each mark says what stood there.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    out.push('"');
    mark(&text.replace('\\', "\\\\").replace('"', "\\\""), &mut out);
    out.push('"');
    out
}

/// The text on one line, with the marks and escapes of [`quoted`], but without quotes, and with its indentation.
pub fn marked(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 16);
    let text = line.trim_start_matches(' ');
    let (indentation, text) = match line.len() - text.len() {
        depth if depth <= INDENTATION && !text.is_empty() => line.split_at(depth),
        _ => ("", line),
    };
    out.push_str(indentation);
    mark(&text.replace('\\', "\\\\"), &mut out);
    out
}

/// How many words of a text are made of letters that only look as if they belonged together.
pub fn mixed_words(text: &str) -> usize {
    text.split(|c| !is_of_word(c)).filter(|word| is_deceptive(word)).count()
}

/// Control characters, direction overrides, blanks that are no space, and characters without a shape of their own: what
/// hostile text hides behind.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
            | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
        || matches!(u32::from(c) & 0xffff, 0xfffe | 0xffff)
}

fn mark(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (part, behind) = if c == ' ' {
            rest.split_at(rest.len() - rest.trim_start_matches(' ').len())
        } else if is_of_word(c) {
            rest.split_at(rest.len() - rest.trim_start_matches(is_of_word).len())
        } else {
            rest.split_at(c.len_utf8())
        };
        match c {
            ' ' if part.len() > 1 => out.push_str(&format!("{BLANK}×{}{BLANK}", part.len())),
            ' ' => out.push(' '),
            _ if is_of_word(c) => mark_word(part, out),
            _ if c == BLANK || is_hidden(c) => out.extend(c.escape_default()),
            _ => out.push(c),
        }
        rest = behind;
    }
}

fn mark_word(word: &str, out: &mut String) {
    let is_mixed = is_mixed(word);
    // A combining mark without a character before it would be drawn onto what stands outside of the text.
    let mut stacked = STACKED;
    for c in word.chars() {
        stacked = if is_mark(c) { stacked + 1 } else { 0 };
        let is_written_out = is_hidden(c) || is_styled(c) || stacked > STACKED || (is_mixed && !c.is_ascii());
        if is_written_out { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
}

fn is_deceptive(word: &str) -> bool {
    is_mixed(word) || word.contains(is_styled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a06_no_blank_but_a_single_space_is_shown_as_one() {
        for c in "\u{a0}\u{1680}\u{2000}\u{2003}\u{200a}\u{202f}\u{205f}\u{2800}\u{3000}\u{3164}\u{ffa0}\u{180e}\u{85}".chars() {
            let shown = format!("\"a\\u{{{:x}}}b\"", u32::from(c));
            assert_eq!(quoted(&format!("a{c}b")), shown);
            assert_eq!(visible(&format!("a{c}b"), Breaks::Keep), shown.trim_matches('"'));
        }
        for text in ["a  b", "a            b3", " ", "", "  "] {
            let shown = quoted(text);
            assert!(!shown.contains("  "), "{shown}");
        }
        assert_eq!(quoted("a            3"), "\"a␠×12␠3\"");
        assert_eq!(quoted("␠×12␠ \"\\n\n"), "\"\\u{2420}×12\\u{2420} \\\"\\\\n\\n\"");
    }

    #[test]
    fn a06_words_of_two_scripts_and_styled_letters_are_written_out() {
        assert_eq!(quoted("p\u{430}ypal и файл.txt"), "\"p\\u{430}ypal и файл.txt\"");
        assert_eq!(quoted("\u{1d42b}\u{1d426} -rf"), "\"\\u{1d42b}\\u{1d426} -rf\"");
        assert_eq!(quoted("ｒｍ"), "\"\\u{ff52}\\u{ff4d}\"");
        assert_eq!((mixed_words("p\u{430}y файл rm ｒｍ"), mixed_words("plain und schön")), (2, 0));
        assert_eq!(
            quoted("\u{338}a\u{301}\u{301}\u{301}\u{301}"),
            "\"\\u{338}a\u{301}\u{301}\u{301}\\u{301}\""
        );
    }

    #[test]
    fn a06_indentation_stays_and_other_runs_of_blanks_are_counted() {
        assert_eq!(marked("        let x   = '\\n';"), "        let x␠×3␠= '\\\\n';");
        assert_eq!(marked(&" ".repeat(60)), "␠×60␠");
        assert_eq!(marked(&format!("{}x", " ".repeat(33))), "␠×33␠x");
        assert_eq!(marked("\tx \r"), "\\tx \\r");
    }
}
