//! Code spans: the runs of backticks in one paragraph, and which of them can enclose what stands between them.
//!
//! A run opens a code span if another run of its length follows in the paragraph; otherwise it is text, and the next run
//! may open one. So several runs can be open at once, and the first that finds its match was the opener.

/// The most runs of different lengths that are kept apart.
const MOST: usize = 16;

/// The runs of backticks of the paragraph so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    /// The lengths of the runs that have no match yet, in their order. No length stands twice.
    open: Vec<usize>,
    /// Whether there were more of them than are kept: then every run may be a match.
    full: bool,
    tag: Tag,
    /// Whether a backtick that comes now may belong to something that binds as tightly as code.
    doubtful: bool,
    /// Whether one did, so that any two runs of one length may be a pair.
    unsure: bool,
    /// Whether the paragraph may begin with link definitions.
    defines: bool,
    last: Option<char>,
    /// Whether a backslash stands before the next character.
    backslash: bool,
}

/// A tag in a line of text, as far as it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tag {
    #[default]
    None,
    /// After its `<`.
    Opened,
    /// Inside of it, in an attribute with this quote.
    Inside(Option<char>),
}

impl Spans {
    /// A paragraph begins.
    pub(super) fn begin(&mut self, defines: bool) {
        self.end();
        self.defines = defines;
    }

    /// The paragraph is over.
    pub(super) fn end(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        *self = Spans { open, ..Spans::default() };
    }

    pub(super) fn end_line(&mut self) {
        self.backslash = false;
        self.last = None;
    }

    /// Something was passed over that may bind as tightly as code.
    pub(super) fn doubt(&mut self) {
        self.doubtful = true;
    }

    /// How many runs may have opened a code span.
    pub(super) fn open(&self) -> usize {
        self.open.len() + usize::from(self.full)
    }

    /// Whether plain text changes nothing.
    pub(super) fn is_calm(&self) -> bool {
        self.tag == Tag::None && !self.backslash && (!self.defines || self.doubtful)
    }

    /// Whether the next character is escaped.
    pub(super) fn escapes_next(&self) -> bool {
        self.backslash
    }

    /// Passes over text that holds neither backticks nor the start of a tag.
    pub(super) fn pass(&mut self, text: &str) {
        let backslashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
        self.backslash = backslashes % 2 == 1;
    }

    /// The same for text without a backslash.
    #[inline]
    pub(super) fn pass_words(&mut self) {
        self.backslash = false;
    }

    /// Reads a character that is no backtick.
    pub(super) fn read(&mut self, c: char) {
        self.backslash = c == '\\' && !self.backslash;
        self.tag = match (self.tag, c) {
            (Tag::Opened, 'a'..='z' | 'A'..='Z' | '/') => Tag::Inside(None),
            (Tag::Opened, '!' | '?') => {
                // Comments and the like have ends of their own.
                self.doubtful = true;
                Tag::None
            }
            (Tag::None | Tag::Opened, '<') => Tag::Opened,
            (Tag::None | Tag::Opened, _) => Tag::None,
            (Tag::Inside(None), '>') => Tag::None,
            (Tag::Inside(None), '"' | '\'') => Tag::Inside(Some(c)),
            (Tag::Inside(Some(quote)), _) if c == quote => Tag::Inside(None),
            (inside, '<') => {
                // Either of the two may be a tag.
                self.doubtful = true;
                inside
            }
            (inside, _) => inside,
        };
        self.doubtful |= self.defines && c == ':' && self.last == Some(']');
        self.last = Some(c);
    }

    /// Reads a run of backticks, the first of which may be escaped. If it is the match of an open run, says how many
    /// runs were open before that one.
    pub(super) fn run(&mut self, length: usize, escaped: bool) -> Option<usize> {
        self.backslash = false;
        self.last = Some('`');
        self.unsure |= self.doubtful || matches!(self.tag, Tag::Inside(_));
        if self.tag == Tag::Opened {
            self.tag = Tag::None;
        }
        if self.full {
            return Some(0);
        }
        // In code a backslash escapes nothing.
        if let Some(at) = self.open.iter().position(|open| *open == length) {
            if !self.unsure {
                self.open.truncate(at);
            }
            return Some(at);
        }
        let opener = length - usize::from(escaped);
        if opener > 0 && !self.open.contains(&opener) {
            if self.open.len() == MOST {
                self.full = true;
            } else {
                self.open.push(opener);
            }
        }
        None
    }
}
