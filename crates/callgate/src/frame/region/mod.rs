//! Regions: what Markdown says about the place of a call: code fences, code spans, quotations, indented code.
//!
//! Text is read as CommonMark reads it, one character after the other: quotations and list items hold what stands in
//! them, a fence ends with the block that holds it, a quotation goes on over lazy lines, and a code span may go over the
//! lines of its paragraph. A frame is one word of the text around it. Where CommonMark would need the whole document to
//! decide (a tag with a backtick in an attribute, a link definition, hundreds of levels), more counts as code than is,
//! never less.

mod blocks;
mod calm;
mod containers;
mod html;
mod line;
mod spans;
mod values;

use self::blocks::Blocks;
use self::values::Values;
use crate::shortcuts::Shortcut;

/// A code fence that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    mark: char,
    length: usize,
    /// Whether nothing but white space came before it.
    pub(crate) first: bool,
}

/// What a character told about text that came before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// A code span has closed: whatever stands behind more than so many open runs of backticks was in it.
    pub(crate) code_behind: Option<usize>,
    /// The paragraph is over: the runs of backticks that were still open were none.
    pub(crate) paragraph_ended: bool,
}

/// What a frame stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// The code fence around it.
    pub(crate) fence: Option<Fence>,
    /// Whether it stands in the line that opens a fence, or where the structure of the text was given up.
    pub(crate) lost: bool,
    /// Whether it stands in a quotation.
    pub(crate) quotation: bool,
    /// Whether it stands in a block of code by indentation.
    pub(crate) indented: bool,
    /// Whether it stands in a string of a JSON or Python value.
    pub(crate) string: bool,
    /// Whether it stands in such a value, in a string or not.
    pub(crate) value: bool,
    /// How many runs of backticks before it in its paragraph may open a code span.
    pub(crate) backticks: usize,
}

impl Surroundings {
    /// Whether nothing in this place is a call, whatever follows.
    pub(crate) fn is_dead(&self) -> bool {
        self.fence.is_some() || self.lost || self.quotation || self.string
    }
}

/// The regions of the text so far.
#[derive(Clone, Debug)]
pub(crate) struct Regions {
    blocks: Blocks,
    values: Values,
    after_return: bool,
    /// Whether nothing but marks of the byte order has come so far.
    fresh: bool,
    /// Whether only white space has come so far.
    pub(crate) blank: bool,
    /// Whether only white space had come when the line began.
    blank_before_line: bool,
}

impl Default for Regions {
    fn default() -> Self {
        Regions {
            blocks: Blocks::default(),
            values: Values::default(),
            after_return: false,
            fresh: true,
            blank: true,
            blank_before_line: true,
        }
    }
}

impl Regions {
    /// Starts anew, as after the end of reasoning.
    pub(crate) fn reset(&mut self) {
        *self = Regions::default();
    }

    /// Whether the next character is the first of its line, but for at most three spaces.
    pub(crate) fn at_line_start(&self) -> bool {
        self.blocks.at_line_start()
    }

    /// Whether a code fence may open here: nothing but white space and the marks of containers came in this line.
    pub(crate) fn may_open_fence(&self) -> bool {
        self.blocks.is_before_text()
    }

    /// Whether the last character was a backtick or tilde of a run, so that the next one cannot start a run.
    pub(crate) fn in_run(&self) -> bool {
        self.blocks.in_run()
    }

    /// What a frame that begins here stands in.
    pub(crate) fn surroundings(&self) -> Surroundings {
        if self.blocks.is_in_text() {
            return self.around();
        }
        self.around_first_word().unwrap_or_else(|| self.around_word())
    }

    /// What a word that is read here stands in.
    fn around_word(&self) -> Surroundings {
        let mut regions = self.clone();
        regions.read_word();
        regions.around()
    }

    /// The same without reading it, where most frames begin: at the start of a line, in no container and no value.
    fn around_first_word(&self) -> Option<Surroundings> {
        if !Shortcut::Prose.is_on() || !self.values.is_idle() {
            return None;
        }
        self.blocks.around_first_word()
    }

    fn around(&self) -> Surroundings {
        let (string, value) = (self.values.in_string(), self.values.is_certain());
        Surroundings { string, value, ..self.blocks.around() }
    }

    /// Reads one character.
    pub(crate) fn read(&mut self, c: char) -> Change {
        // Some readers skip one mark of the byte order, some all of them.
        self.fresh &= c == '\u{FEFF}';
        let after_return = std::mem::replace(&mut self.after_return, c == '\r');
        if self.fresh || c == '\n' && after_return {
            return Change::default();
        }
        self.blank &= c.is_whitespace();
        if matches!(c, '\n' | '\r') {
            self.values.read('\n');
            self.end_line();
        } else {
            self.values.read(c);
            self.blocks.read(c);
        }
        self.blocks.take_change()
    }

    /// Reads a frame, which is one word of the text it stands in.
    pub(crate) fn read_word(&mut self) -> Change {
        self.blocks.begin_frame();
        self.read('x')
    }

    /// A frame stood here. Where it ended with a line break, the next line begins.
    pub(crate) fn pass_frame(&mut self, ended_line: bool) -> Change {
        if ended_line { self.read('\n') } else { Change::default() }
    }

    /// The input is over.
    pub(crate) fn finish(&mut self) -> Change {
        self.end_line();
        self.blocks.end_paragraph();
        Change { paragraph_ended: true, ..self.blocks.take_change() }
    }

    fn end_line(&mut self) {
        if self.blocks.end_line(self.blank_before_line) {
            // No value goes on over the line of a fence.
            self.values = Values::default();
        }
        self.blank_before_line = self.blank;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passing over text leaves the regions as reading it does, as far as a frame that follows can tell; and the quick
    /// look at what a frame stands in sees what reading a word shows.
    #[test]
    fn passing_is_reading() {
        let pieces = [
            "word", " ", "\n", "\n\n", "\r\n", "    ", "\t", "> ", "- ", "1. ", "# ", "---", "=", "a\nb",
            "\\", "x < 1", "{a, b}", "[1]", "é", "\nThe", "(a", "f(x)", ")",
        ];
        let openings = ["So", "- a", "> a", "a `b", "```\nx", "- ```\n  x", "# a", "1. a\n\n   b", "<b> c"];
        let mut seed = 1_u64;
        for number in 0..20_000 {
            let mut text = String::new();
            for _ in 0..number % 12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(seed >> 33) as usize % pieces.len()]);
            }
            let mut passed = Regions::default();
            for c in openings[number % openings.len()].chars() {
                passed.read(c);
            }
            let mut rest = (0..text.len()).filter_map(|at| text.as_bytes().get(at..));
            if !passed.is_calm() || rest.any(Regions::stops_at) {
                continue;
            }
            let mut read = passed.clone();
            let mut words = passed.clone();
            passed.pass(&text);
            for c in text.chars() {
                read.read(c);
            }
            let after = |mut regions: Regions| {
                let here = regions.surroundings();
                for c in "`c`\n- d\n".chars() {
                    regions.read(c);
                }
                (here, regions.surroundings())
            };
            if let Some(quick) = read.around_first_word() {
                assert_eq!(
                    quick,
                    read.around_word(),
                    "{:?} then {text:?}",
                    openings[number % openings.len()]
                );
            }
            if !text.contains(['\n', '\r', '\\']) {
                words.pass_words(&text);
                assert_eq!(after(words), after(read.clone()), "words {text:?}");
            }
            assert_eq!(after(passed), after(read), "{:?} then {text:?}", openings[number % openings.len()]);
        }
    }

    #[test]
    fn marks_of_the_byte_order_do_not_hide_indentation() {
        for marks in ["", "\u{FEFF}", "\u{FEFF}\u{FEFF}"] {
            let mut regions = Regions::default();
            for c in format!("{marks}      ").chars() {
                regions.read(c);
            }
            assert!(regions.surroundings().indented, "{} marks", marks.chars().count());
        }
    }

    #[test]
    fn a_backslash_in_what_is_no_fence_escapes_a_backtick() {
        for (opening, closes) in [("`````\\`` a", true), ("````` `` a", false), ("`````\\\\` a", true)] {
            let mut regions = Regions::default();
            for c in opening.chars() {
                regions.read(c);
            }
            regions.read('`');
            assert_eq!(regions.read(' ').code_behind.is_some(), closes, "{opening}");
        }
    }
}
