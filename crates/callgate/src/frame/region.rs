//! Regions: code fences, inline code and quotations, told apart as text goes by.

/// A code fence that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    mark: char,
    length: usize,
    /// Whether nothing but white space came before it.
    pub(crate) first: bool,
}

/// What a character did to the regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// The fence was closed.
    FenceClosed,
    /// Inline code has ended: its start and end stand on one line.
    InlineClosed,
    /// The line ended, so a lone backtick on it opened nothing.
    LineEnded,
}

/// Where in the line the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// At its start, after at most three spaces.
    Start { indent: usize },
    /// In a run of backticks or tildes.
    Run { mark: char, length: usize, at_start: bool },
    /// In what may be the info string of a fence.
    Info { mark: char, length: usize },
    /// After what may be the closing run of a fence.
    Closing,
    /// In its middle.
    Body,
}

/// The regions of the text so far. Regions do not nest.
#[derive(Clone, Debug)]
pub(crate) struct Regions {
    line: Line,
    /// The open fence.
    pub(crate) fence: Option<Fence>,
    /// The length of a backtick run that may open inline code.
    pub(crate) inline: Option<usize>,
    /// Whether the line is a quotation.
    pub(crate) quotation: bool,
    /// Whether only white space has come so far.
    pub(crate) blank: bool,
    /// Whether only white space had come when the line began.
    blank_before_line: bool,
}

impl Default for Regions {
    fn default() -> Self {
        Regions {
            line: Line::Start { indent: 0 },
            fence: None,
            inline: None,
            quotation: false,
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

    /// Whether the next character is the first of its line, but for spaces.
    pub(crate) fn at_line_start(&self) -> bool {
        matches!(self.line, Line::Start { .. })
    }

    /// Whether what begins here may stand in inline code: a run of backticks right before it counts.
    pub(crate) fn inline_before_frame(&self) -> bool {
        match self.line {
            Line::Run { mark: '`', length, at_start } if self.fence.is_none() => {
                self.inline != Some(length) && (length < 3 || !at_start)
            }
            _ => self.inline.is_some(),
        }
    }

    /// Whether the last character was a backtick or tilde of a run, so that the next one cannot start a run.
    pub(crate) fn in_run(&self) -> bool {
        matches!(self.line, Line::Run { .. })
    }

    /// Whether the next character changes nothing unless it is a line break, a backtick or a tilde.
    pub(crate) fn is_calm(&self) -> bool {
        self.line == Line::Body && !self.blank
    }

    /// Passes over text without backticks and tildes. What came before must be [calm](Regions::is_calm), and nobody may
    /// wait for the end of a line.
    pub(crate) fn pass(&mut self, text: &str) {
        let bytes = text.as_bytes();
        // In a small piece a loop is done before a search by vectors has begun.
        let last = if bytes.len() < 16 {
            bytes.iter().rposition(|byte| *byte == b'\n')
        } else {
            memchr::memrchr(b'\n', bytes)
        };
        let Some(at) = last else { return };
        self.line = self.new_line();
        for c in text[at + 1..].chars() {
            if self.is_calm() {
                break;
            }
            self.read(c);
        }
    }

    /// A frame stood here: the line goes on after it.
    pub(crate) fn pass_frame(&mut self, ended_line: bool) {
        if let Line::Run { mark, length, at_start } = self.line
            && self.fence.is_none()
            && (length < 3 || !at_start)
        {
            self.backticks(mark, length);
        }
        self.blank = false;
        self.line = if ended_line { self.new_line() } else { Line::Body };
    }

    /// Reads one character.
    pub(crate) fn read(&mut self, c: char) -> Change {
        self.blank &= c.is_whitespace();
        // A run that has ended is looked at again with the character that ended it.
        let mut change = Change::None;
        for _ in 0..3 {
            let (line, next) = self.advance(c);
            self.line = line;
            match next {
                Next::Taken(found) => {
                    return if found == Change::None { change } else { found };
                }
                Next::Again(found) => change = if found == Change::None { change } else { found },
            }
        }
        change
    }

    fn advance(&mut self, c: char) -> (Line, Next) {
        use Next::{Again, Taken};
        match self.line {
            Line::Start { indent } => match c {
                '\n' => (self.new_line(), Taken(Change::LineEnded)),
                ' ' if indent < 3 => (Line::Start { indent: indent + 1 }, Taken(Change::None)),
                '>' if self.fence.is_none() => {
                    self.quotation = true;
                    (Line::Body, Taken(Change::None))
                }
                '`' | '~' => (Line::Run { mark: c, length: 1, at_start: true }, Taken(Change::None)),
                _ => (Line::Body, Taken(Change::None)),
            },
            Line::Run { mark, length, at_start } if c == mark => {
                (Line::Run { mark, length: length + 1, at_start }, Taken(Change::None))
            }
            Line::Run { mark, length, at_start } => match self.fence {
                Some(fence) => {
                    let closes = at_start && fence.mark == mark && length >= fence.length;
                    (if closes { Line::Closing } else { Line::Body }, Again(Change::None))
                }
                None if length >= 3 && at_start => (Line::Info { mark, length }, Again(Change::None)),
                None => (Line::Body, Again(self.backticks(mark, length))),
            },
            Line::Info { mark, length } => match c {
                '\n' => {
                    let first = self.blank_before_line;
                    let line = self.new_line();
                    self.fence = Some(Fence { mark, length, first });
                    (line, Taken(Change::None))
                }
                '`' if mark == '`' => {
                    let change = self.backticks(mark, length);
                    (Line::Run { mark, length: 1, at_start: false }, Taken(change))
                }
                _ => (Line::Info { mark, length }, Taken(Change::None)),
            },
            Line::Closing => match c {
                '\n' => {
                    self.fence = None;
                    (self.new_line(), Taken(Change::FenceClosed))
                }
                _ if c.is_whitespace() => (Line::Closing, Taken(Change::None)),
                _ => (Line::Body, Again(Change::None)),
            },
            Line::Body => match c {
                '\n' => (self.new_line(), Taken(Change::LineEnded)),
                '`' if self.fence.is_none() => {
                    (Line::Run { mark: '`', length: 1, at_start: false }, Taken(Change::None))
                }
                _ => (Line::Body, Taken(Change::None)),
            },
        }
    }

    /// The input is over: whether a closing fence was complete but for its line break.
    pub(crate) fn finish(&mut self) -> Change {
        match self.line {
            Line::Closing => {
                self.fence = None;
                Change::FenceClosed
            }
            Line::Run { mark, length, at_start } => match self.fence {
                Some(fence) if at_start && fence.mark == mark && length >= fence.length => {
                    self.fence = None;
                    Change::FenceClosed
                }
                None if length < 3 || !at_start => self.backticks(mark, length),
                _ => Change::LineEnded,
            },
            _ => Change::LineEnded,
        }
    }

    fn backticks(&mut self, mark: char, length: usize) -> Change {
        if mark != '`' {
            return Change::None;
        }
        if self.inline == Some(length) {
            self.inline = None;
            return Change::InlineClosed;
        }
        if self.inline.is_none() {
            self.inline = Some(length);
        }
        Change::None
    }

    fn new_line(&mut self) -> Line {
        self.inline = None;
        self.quotation = false;
        self.blank_before_line = self.blank;
        Line::Start { indent: 0 }
    }
}

enum Next {
    /// The character was read.
    Taken(Change),
    /// The character is looked at again in the new state.
    Again(Change),
}
