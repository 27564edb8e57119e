//! What reaches the terminal: colours where they are wanted, and hostile characters made visible.

use std::borrow::Cow;
use std::fmt;
use std::io::IsTerminal;

use unicode_width::UnicodeWidthChar;

use crate::args::ColorChoice;

pub(crate) use callgate_agent::visible::{Breaks, is_hidden, visible};

/// What a part of output is, and so how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// The reader's text.
    Plain,
    /// A heading or a name.
    Strong,
    /// Reasoning and remarks.
    Dim,
    /// Markup.
    Grey,
    /// An accepted call.
    Good,
    /// A rejected one.
    Bad,
    /// A repair, a coercion, a warning.
    Changed,
    /// A place, a code, a key.
    Accent,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Tone::Plain => "",
            Tone::Strong => "\x1b[1m",
            Tone::Dim => "\x1b[2;3m",
            Tone::Grey => "\x1b[90m",
            Tone::Good => "\x1b[32m",
            Tone::Bad => "\x1b[31m",
            Tone::Changed => "\x1b[33m",
            Tone::Accent => "\x1b[36m",
        }
    }
}

/// How wide a line may be where there is no terminal to ask: marks far to the right of their text would help nobody.
const COLUMNS: usize = 200;

/// Whether and how standard output is coloured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    colour: bool,
    terminal: bool,
    columns: usize,
}

impl Paint {
    /// For standard output: an explicit choice wins, then `NO_COLOR`, then `CLICOLOR_FORCE`, then whether it is a terminal.
    pub(crate) fn for_stdout(choice: ColorChoice) -> Self {
        let terminal = std::io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let colour = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
            ColorChoice::Auto => set("CLICOLOR_FORCE") || terminal,
        };
        let width = || terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0).max(40));
        Paint { colour, terminal, columns: if terminal { width() } else { COLUMNS } }
    }

    /// For what is no terminal, without colours.
    pub(crate) fn plain(columns: usize) -> Self {
        Paint { colour: false, terminal: false, columns }
    }

    /// `text` in a tone. The text must be safe already.
    pub(crate) fn tone<T: fmt::Display>(&self, tone: Tone, text: T) -> Painted<T> {
        Painted { code: if self.colour { tone.code() } else { "" }, text }
    }

    /// How many columns a line may have.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// How many columns the terminal has at this moment: it may have been made narrower since the start.
    pub(crate) fn columns_now() -> usize {
        terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0))
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Text that a program may want byte for byte: only a terminal gets the visible form.
    pub(crate) fn raw_or_visible<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.terminal { visible(text, Breaks::Keep) } else { Cow::Borrowed(text) }
    }

    /// JSON that a program may want byte for byte: a terminal gets the same value, with hostile characters as `\u` escapes.
    pub(crate) fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        if self.terminal { visible_json(json) } else { Cow::Borrowed(json) }
    }
}

/// A part of text with its colour.
pub(crate) struct Painted<T> {
    code: &'static str,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.code.is_empty() {
            return self.text.fmt(f);
        }
        f.write_str(self.code)?;
        self.text.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}

/// The same JSON value, with hidden characters of its strings as `\u` escapes.
fn visible_json(json: &str) -> Cow<'_, str> {
    let keep = |c: char| matches!(c, '\n' | '\t') || !is_hidden(c);
    if json.chars().all(keep) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            c if keep(c) => out.push(c),
            // Outside of strings it is white space; inside, JSON does not allow it unescaped.
            '\r' => out.push(' '),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    Cow::Owned(out)
}

/// How many columns a character takes.
pub(crate) fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// How many columns a text takes.
pub(crate) fn columns_of_text(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// The text on one line and at most `columns` wide, with `…` where it was cut.
pub(crate) fn one_line(text: &str, columns: usize) -> String {
    // A character takes at most ten times its bytes when written out, so this is far more than enough to fill the line.
    let start: String = text.chars().take(columns.saturating_add(1)).collect();
    let shown = visible(&start, Breaks::Show);
    if columns_of_text(&shown) <= columns && start.len() == text.len() {
        return shown.into_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in shown.chars() {
        used += columns_of(c);
        if used > columns {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// The text padded with spaces to `columns`.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let mut out = text.to_owned();
    out.extend(std::iter::repeat_n(' ', columns.saturating_sub(columns_of_text(text))));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_characters_are_written_out() {
        let hostile = "a\u{1b}[2Jb\u{202e}c\u{200b}d\u{9b}e\u{7f}f\r\u{feff}\u{e0041}";
        let shown = visible(hostile, Breaks::Keep);
        assert_eq!(shown, "a\\u{1b}[2Jb\\u{202e}c\\u{200b}d\\u{9b}e\\u{7f}f\\r\\u{feff}\\u{e0041}");
        assert!(!shown.chars().any(is_hidden));
    }

    #[test]
    fn breaks_stay_or_are_shown() {
        assert_eq!(visible("a\n\tb", Breaks::Keep), "a\n\tb");
        assert_eq!(visible("a\n\tb", Breaks::Show), "a\\n\\tb");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({"a": "x\u{202e}y\u{9b}z\u{e0041}"});
        let text = value.to_string();
        let shown = visible_json(&text);
        assert!(!shown.chars().any(is_hidden));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn lines_are_cut_by_columns() {
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("｜｜｜｜", 6), "｜｜…");
        assert_eq!(padded("｜", 4), "｜  ");
    }
}
