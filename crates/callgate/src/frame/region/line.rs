//! Lines: where in its line the text stands, and whether the line could be a rule.

/// Where in the line the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Before its first character that neither is white space nor marks a container.
    Start,
    /// After a character that marks a list item if a blank follows.
    Bullet { mark: char },
    /// In a number that may mark a list item.
    Number { digits: usize, value: u32 },
    /// After the number and its point or bracket.
    NumberEnd { digits: usize, value: u32 },
    /// In the blanks after the mark of a list item.
    ItemGap { mark: usize, gap: usize, value: u32 },
    /// In a line that has only had one kind of mark so far: a rule, or the line under a heading.
    Marks,
    /// In the number signs before a heading.
    Signs { count: usize },
    /// In a run of backticks or tildes.
    Run { mark: char, length: usize, at_start: bool, escaped: bool },
    /// In what may be the info string of a fence; a backslash may stand before its next character.
    Info { mark: char, length: usize, escaped: bool },
    /// After what may be the closing run of a fence.
    Closing,
    /// In its middle.
    Body,
}

/// A line of which all that has come could be a rule, or the line under a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    mark: char,
    count: usize,
    /// Whether blanks came after a mark.
    gap: bool,
    /// Whether no mark came after them.
    unbroken: bool,
    /// How many containers held the line when it began.
    pub(super) base: usize,
}

impl Rule {
    pub(super) fn new(mark: char, base: usize) -> Self {
        Rule { mark, count: 1, gap: false, unbroken: true, base }
    }

    /// Reads the next character of the line. False if it is no rule after all.
    pub(super) fn read(&mut self, c: char) -> bool {
        match c {
            _ if c == self.mark => {
                self.count += 1;
                self.unbroken &= !self.gap;
            }
            ' ' | '\t' => self.gap = true,
            _ => return false,
        }
        true
    }

    /// Whether it would make a paragraph above it a heading.
    pub(super) fn may_underline(&self) -> bool {
        matches!(self.mark, '-' | '=') && self.unbroken
    }

    /// Whether it is a rule where there is no such paragraph.
    pub(super) fn is_enough(&self) -> bool {
        self.count >= 3 && self.mark != '='
    }
}
