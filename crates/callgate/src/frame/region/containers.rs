//! Containers: the quotations and list items that hold a line, and how far the line goes on with them.

/// The most quotations and list items that are told apart, one inside the other.
const DEEPEST: usize = 64;

/// A block that holds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    Quotation,
    /// A list item: how far its lines are indented, and whether nothing has come in it yet.
    Item {
        width: usize,
        empty: bool,
    },
}

/// What a line does with the containers of the line before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continuation {
    /// The character was the mark of a quotation that goes on; others may follow.
    Mark,
    /// It goes on with all that it will, and the character belongs to what stands in them.
    Inside,
}

/// The containers that are open, the outermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct Containers {
    open: Vec<Container>,
    /// How many of them this line has gone on with.
    matched: usize,
    /// Whether the line lacks the mark of a container, so that it goes on with at most a paragraph.
    lazy: bool,
    /// Whether too many containers are open for their ends to be found.
    lost: bool,
}

impl Containers {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn is_lazy(&self) -> bool {
        self.lazy
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    pub(super) fn has_quotation(&self) -> bool {
        self.open.contains(&Container::Quotation)
    }

    /// How many of them this line has gone on with.
    pub(super) fn matched(&self) -> usize {
        self.matched
    }

    pub(super) fn begin_line(&mut self) {
        self.matched = 0;
        self.lazy = false;
    }

    /// The line goes on with the containers that its indentation and this character allow. What belongs to list items
    /// is taken from the indentation.
    pub(super) fn go_on(&mut self, c: char, indent: &mut usize) -> Continuation {
        while !self.lazy
            && let Some(container) = self.open.get(self.matched)
        {
            match *container {
                Container::Item { width, .. } if *indent >= width => {
                    *indent -= width;
                    self.matched += 1;
                }
                Container::Quotation if c == '>' && *indent <= 3 => {
                    self.matched += 1;
                    return Continuation::Mark;
                }
                _ => self.lazy = true,
            }
        }
        for container in &mut self.open[..self.matched] {
            if let Container::Item { empty, .. } = container {
                *empty = false;
            }
        }
        Continuation::Inside
    }

    /// The line is empty. Says whether that closes containers.
    pub(super) fn end_blank_line(&mut self) -> bool {
        while !self.lazy
            && let Some(container) = self.open.get(self.matched)
        {
            match container {
                Container::Item { empty: false, .. } => self.matched += 1,
                // An item may begin with one empty line, not with two.
                Container::Item { .. } | Container::Quotation => self.lazy = true,
            }
        }
        let closes = self.lazy;
        self.close_unmatched();
        closes
    }

    /// Opens a container inside of those that this line goes on with.
    pub(super) fn open(&mut self, container: Container) {
        self.close_unmatched();
        if self.open.len() < DEEPEST {
            self.open.push(container);
        } else {
            self.lost = true;
        }
        self.matched = self.open.len();
    }

    /// Closes what this line does not go on with.
    pub(super) fn close_unmatched(&mut self) {
        self.open.truncate(self.matched);
        self.lazy = false;
    }

    /// Closes all but so many.
    pub(super) fn truncate(&mut self, count: usize) {
        self.open.truncate(count);
    }

    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.lost = false;
    }

    /// A paragraph begins. Outside of all containers their ends are known again.
    pub(super) fn begin_paragraph(&mut self) {
        self.close_unmatched();
        if self.open.is_empty() {
            self.lost = false;
        }
    }
}
