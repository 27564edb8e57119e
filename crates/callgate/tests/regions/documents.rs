//! Documents as models and attackers write them: Markdown of every kind, right and wrong, with calls in random places.

use super::support::dice::Dice;

/// A call stands in a document as one character of the private area, until its bytes or its placeholder are put there.
const FIRST_SLOT: u32 = 0xe000;

/// The most calls of one document.
pub(crate) const CALLS: usize = 5;

/// A document: lines with their ends, and slots where calls stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    pub(crate) lines: Vec<String>,
}

impl Document {
    /// The document whose text this is.
    pub(crate) fn of(text: &str) -> Self {
        let mut lines = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest
                .find(['\n', '\r'])
                .map_or(rest.len(), |at| if rest[at..].starts_with("\r\n") { at + 2 } else { at + 1 });
            lines.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        Document { lines }
    }

    /// The text with something in the place of each call, and where each of them stands.
    pub(crate) fn filled(&self, filling: impl Fn(usize) -> String) -> (String, Vec<(usize, usize, usize)>) {
        let mut text = String::new();
        let mut places = Vec::new();
        for character in self.lines.iter().flat_map(|line| line.chars()) {
            match slot(character) {
                Some(number) => {
                    let start = text.len();
                    text.push_str(&filling(number));
                    places.push((number, start, text.len()));
                }
                None => text.push(character),
            }
        }
        (text, places)
    }
}

/// The number of the call that this character stands for.
pub(crate) fn slot(character: char) -> Option<usize> {
    let number = u32::from(character).checked_sub(FIRST_SLOT)? as usize;
    (number < CALLS).then_some(number)
}

/// The character of a call.
pub(crate) fn slot_of(number: usize) -> char {
    char::from_u32(FIRST_SLOT + number as u32).unwrap_or('?')
}

/// What a line stands in.
#[derive(Clone)]
enum Container {
    Quote,
    /// A list item whose content starts at this column.
    Item(usize),
}

const MARKERS: &[&str] = &["-", "*", "+", "1.", "10)", "3)", "007."];
const INFO: &[&str] = &["", "", "", "xml", " json", "xml title=a", " ", "\t", "a`b", "~~~", "\u{a0}"];
const RUNS: &[&str] = &["```", "```", "```", "````", "~~~", "~~~", "~~~~", "``", "~~", "`````"];
const AFTER: &[&str] =
    &["", "", "", "", " ", "\t ", "\u{a0}", "\u{c}", "\u{2028}", " x", "\u{b}", "\u{3000}"];
const INDENTS: &[&str] =
    &["", "", "", "", "", "", " ", "  ", "   ", "    ", "     ", "\t", " \t", "        ", "\u{a0}", "\u{c}"];
const WORDS: &[&str] = &["so", "one", "the list", "is it", "then,", "x.", "naïve", "2 > 1", "a - b", "C#"];
const MARKS: &[&str] = &[
    "`", "`", "`", "`", "`", "``", "``", "```", "\\`", "\\\\`", "\\``", " ` ", "`` ` ``", "`a`", "` `",
    "&#96;", "*", "**", "_", "~~", "\\", "\u{a0}", "\t", "\u{2028}", "\u{c}", "|", "!", "[", "]", "](", ")",
    "(",
];
const TAGS: &[&str] = &[
    "<b>",
    "</b>",
    "<br/>",
    "<a title=\"`\">",
    "<a title='",
    "'>",
    "<!-- ` -->",
    "<!--",
    "-->",
    "<?`?>",
    "<!X `>",
    "<![CDATA[`]]>",
    "<http://a.b/`>",
    "<a.b`c@d.e>",
    "<i",
    ">",
    "<",
    "</",
    "<kbd>`</kbd>",
];
const BLOCKS: &[&str] = &[
    "# heading",
    "###### ` heading",
    "####### none",
    "#",
    "---",
    "***",
    "_ _ _",
    "===",
    "--",
    "| a | b |",
    "|---|---|",
    "| ` | ` |",
    "[ref]: /url",
    "[ref]: /url \"a `",
    "[ref]: <`> '`'",
    "[ref]:",
    "[^1]: note",
    "Term",
    ": definition",
    "- [ ] task",
    "\\",
    "&nbsp;",
    "<!-- a",
    "-->",
    "<div>",
    "</div>",
    "<div",
    "<pre>",
    "</pre>",
    "<pre><code>",
    "</code></pre>",
    "<script>",
    "</script>",
    "<style>",
    "</style>",
    "<textarea>",
    "<b>",
    "<b x=`1`>",
    "</b>",
    "<?php",
    "?>",
    "<!DOCTYPE `",
    "<![CDATA[",
    "]]>",
    "<table><tr><td>",
    "$$",
    "+++",
];

/// A document by its number.
pub(crate) fn document(dice: &mut Dice) -> Document {
    let mut writer = Writer { calls: 0, inside: Vec::new(), fence: None };
    let endings: &[&str] = match dice.below(10) {
        0 => &["\r\n"],
        1 => &["\n", "\r\n", "\r"],
        2 => &["\r"],
        _ => &["\n"],
    };
    let count = 1 + dice.below(13);
    let mut text = if dice.percent(3) { "\u{feff}".to_owned() } else { String::new() };
    for number in 0..count {
        let line = writer.line(dice);
        text.push_str(&line);
        if number + 1 < count || dice.percent(70) {
            text.push_str(dice.one(endings));
        }
    }
    if writer.calls == 0 {
        text.push(slot_of(0));
    }
    Document::of(&text)
}

struct Writer {
    calls: usize,
    inside: Vec<Container>,
    /// The run that opened a fence, as far as the writer cares.
    fence: Option<&'static str>,
}

impl Writer {
    fn line(&mut self, dice: &mut Dice) -> String {
        if dice.percent(12) {
            return dice.one(&["", "", "", " ", "\t", "     ", "\u{a0}", "\u{c}"]).to_owned();
        }
        if dice.percent(14) {
            self.inside.truncate(dice.below(self.inside.len() + 1));
        }
        let mut line = self.prefix(dice);
        if dice.percent(18) && self.inside.len() < 4 {
            line.push_str(&self.enter(dice));
            if dice.percent(20) {
                line.push_str(&self.enter(dice));
            }
        }
        line.push_str(dice.one(INDENTS));
        line.push_str(&self.content(dice));
        line
    }

    /// What a line repeats of the containers it stands in; sometimes less, sometimes nothing.
    fn prefix(&self, dice: &mut Dice) -> String {
        let mut prefix = String::new();
        let lazy = dice.percent(18);
        let kept = if lazy { dice.below(self.inside.len() + 1) } else { self.inside.len() };
        for container in &self.inside[..kept] {
            match container {
                Container::Quote => prefix.push_str(dice.one(&["> ", "> ", ">", " > ", "   >", ">\t"])),
                Container::Item(_) if dice.percent(6) => prefix.push('\t'),
                Container::Item(width) => {
                    let width =
                        if dice.percent(8) { width.saturating_sub(1 + dice.below(2)) } else { *width };
                    prefix.push_str(&" ".repeat(width));
                }
            }
        }
        prefix
    }

    fn enter(&mut self, dice: &mut Dice) -> String {
        if dice.percent(40) {
            self.inside.push(Container::Quote);
            return dice.one(&["> ", "> ", ">", ">> ", " > ", "> > ", "    > ", ">\t", ">     "]).to_owned();
        }
        let marker = dice.one(MARKERS);
        let after = dice.one(&[" ", " ", " ", "  ", "    ", "     ", "\t", ""]);
        let width = if after == "\t" { 4 } else { after.len().clamp(1, 4) };
        self.inside.push(Container::Item(marker.len() + width));
        format!("{marker}{after}")
    }

    fn content(&mut self, dice: &mut Dice) -> String {
        if let Some(run) = self.fence
            && dice.percent(75)
        {
            if dice.percent(30) {
                self.fence = None;
                let longer = dice.one(&["", "", "", "`", "~"]);
                return format!("{run}{longer}{}", dice.one(AFTER));
            }
            return self.inline(dice);
        }
        match dice.below(100) {
            0..22 => {
                let run = dice.one(RUNS);
                self.fence = Some(run);
                let mut opener = format!("{run}{}", dice.one(INFO));
                if dice.percent(6) {
                    self.call(dice, &mut opener);
                }
                opener
            }
            22..36 => {
                let mut block = dice.one(BLOCKS).to_owned();
                if dice.percent(20) {
                    block.push(' ');
                    self.call(dice, &mut block);
                }
                block
            }
            _ => self.inline(dice),
        }
    }

    fn inline(&mut self, dice: &mut Dice) -> String {
        let mut line = String::new();
        for _ in 0..=dice.below(6) {
            match dice.below(100) {
                0..34 => self.call(dice, &mut line),
                34..62 => line.push_str(dice.one(WORDS)),
                62..92 => line.push_str(dice.one(MARKS)),
                _ => line.push_str(dice.one(TAGS)),
            }
            if dice.percent(40) {
                line.push(' ');
            }
        }
        line
    }

    fn call(&mut self, dice: &mut Dice, line: &mut String) {
        if self.calls < CALLS && !dice.percent(20) {
            line.push(slot_of(self.calls));
            self.calls += 1;
        }
    }
}
