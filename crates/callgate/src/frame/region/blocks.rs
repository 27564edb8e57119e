//! Blocks: which block of Markdown a line belongs to, told from its characters one after the other.

use super::containers::{Container, Containers, Continuation};
use super::html::{Head, Html};
use super::line::{Line, Rule};
use super::spans::Spans;
use super::{Change, Fence, Surroundings};

/// The innermost block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    None,
    Paragraph,
    Heading,
    Fence(Fence),
    Html(Html),
    Indented,
}

/// The blocks that are open.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    line: Line,
    containers: Containers,
    leaf: Leaf,
    column: usize,
    /// How many columns of white space came since the last mark of a container.
    indent: usize,
    /// Whether the next blank belongs to the mark of a quotation.
    eats_blank: bool,
    rule: Option<Rule>,
    /// The start of a line that may begin a block of HTML.
    head: Option<Head>,
    spans: Spans,
    change: Change,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks {
            line: Line::Start,
            containers: Containers::default(),
            leaf: Leaf::None,
            column: 0,
            indent: 0,
            eats_blank: false,
            rule: None,
            head: None,
            spans: Spans::default(),
            change: Change::default(),
        }
    }
}

impl Blocks {
    /// Whether the next character is the first of its line, but for at most three spaces.
    pub(super) fn at_line_start(&self) -> bool {
        self.line == Line::Start && self.column <= 3 && self.column == self.indent
    }

    /// Whether nothing but white space and the marks of containers came in this line.
    pub(super) fn is_before_text(&self) -> bool {
        self.line == Line::Start
    }

    /// Whether a character of text changes nothing about the blocks.
    pub(super) fn is_in_text(&self) -> bool {
        self.line == Line::Body
    }

    /// Whether the last character was a backtick or tilde of a run, so that the next one cannot start a run.
    pub(super) fn in_run(&self) -> bool {
        matches!(self.line, Line::Run { .. })
    }

    /// Whether the next character changes nothing unless it ends the line or stands for more than itself.
    pub(super) fn is_calm(&self) -> bool {
        self.line == Line::Body
            && self.head.is_none()
            && self.rule.is_none()
            && !matches!(self.leaf, Leaf::Html(Html::Until(_)))
            && (self.spans.is_calm() || !self.has_spans())
    }

    /// Whether these lines leave the blocks as their last one does, because each goes on with the same block.
    pub(super) fn go_on_with_all(&self, are_plain: bool) -> bool {
        let goes_on = match self.leaf {
            // Nothing in the text can end a fence that no container holds.
            Leaf::Fence(_) => true,
            Leaf::Paragraph => are_plain,
            _ => false,
        };
        goes_on && self.containers.is_empty()
    }

    /// Whether a code fence is open.
    pub(super) fn in_fence(&self) -> bool {
        matches!(self.leaf, Leaf::Fence(_))
    }

    /// Passes over text in a line in which nothing begins.
    pub(super) fn pass(&mut self, text: &str) {
        self.spans.pass(text);
    }

    /// The same for text without a backslash.
    #[inline]
    pub(super) fn pass_words(&mut self) {
        self.spans.pass_words();
    }

    /// A line begins after an empty one, in no container.
    pub(super) fn begin_anew(&mut self) {
        self.end_paragraph();
        self.containers.clear();
        self.leaf = Leaf::None;
        self.begin_line();
    }

    /// The next character is part of a frame, which is no block of HTML.
    pub(super) fn begin_frame(&mut self) {
        self.head = None;
    }

    /// What was found out about text that came before, since this was last asked.
    pub(super) fn take_change(&mut self) -> Change {
        std::mem::take(&mut self.change)
    }

    /// What a frame that begins here stands in, but for values.
    pub(super) fn around(&self) -> Surroundings {
        let fence = match self.leaf {
            Leaf::Fence(fence) => Some(fence),
            _ => None,
        };
        Surroundings {
            fence,
            lost: self.containers.is_lost() || matches!(self.line, Line::Info { .. }),
            quotation: self.containers.has_quotation(),
            indented: self.leaf == Leaf::Indented,
            string: false,
            value: false,
            backticks: if self.has_spans() { self.spans.open() } else { 0 },
        }
    }

    /// What a word that begins here stands in, where that is known without reading it: at the start of a line, in no
    /// container.
    pub(super) fn around_first_word(&self) -> Option<Surroundings> {
        if self.line != Line::Start || self.indent > 3 || !self.containers.is_empty() {
            return None;
        }
        match self.leaf {
            Leaf::Paragraph | Leaf::Fence(_) | Leaf::Html(_) => Some(self.around()),
            // A paragraph begins.
            _ => Some(Surroundings { lost: false, indented: false, backticks: 0, ..self.around() }),
        }
    }

    /// Reads one character of a line.
    pub(super) fn read(&mut self, c: char) {
        if self.rule.as_mut().is_some_and(|rule| !rule.read(c)) {
            self.rule = None;
        }
        while !self.step(c) {}
    }

    /// Reads one character, or changes the state so that it can be read. False if it is still to be read.
    fn step(&mut self, c: char) -> bool {
        match self.line {
            Line::Start => match c {
                ' ' | '\t' => {
                    let width = self.take_blank(c);
                    self.indent += width - usize::from(std::mem::take(&mut self.eats_blank));
                    true
                }
                _ => {
                    self.eats_blank = false;
                    self.begin_block(c)
                }
            },
            Line::Bullet { .. } | Line::Number { .. } | Line::NumberEnd { .. } | Line::ItemGap { .. } => {
                self.step_in_item_mark(c)
            }
            Line::Marks if self.rule.is_some() => true,
            Line::Marks => self.begin_text(c),
            Line::Signs { count } => match c {
                '#' if count < 6 => {
                    self.line = Line::Signs { count: count + 1 };
                    true
                }
                ' ' | '\t' => {
                    self.begin_heading();
                    true
                }
                _ => self.begin_text(c),
            },
            Line::Run { .. } | Line::Info { .. } | Line::Closing => self.step_in_fence_line(c),
            Line::Body => {
                self.read_in_line(c);
                true
            }
        }
    }

    /// The same in what may be the mark of a list item.
    fn step_in_item_mark(&mut self, c: char) -> bool {
        let is_blank = matches!(c, ' ' | '\t');
        match self.line {
            Line::Bullet { mark } if c == mark && mark != '+' => self.line = Line::Marks,
            Line::Bullet { .. } if is_blank => {
                let gap = self.take_blank(c);
                self.line = Line::ItemGap { mark: 1, gap, value: 1 };
            }
            Line::Number { digits, value } => match c.to_digit(10) {
                Some(digit) if digits < 9 => {
                    self.column += 1;
                    self.line = Line::Number { digits: digits + 1, value: value * 10 + digit };
                }
                None if matches!(c, '.' | ')') => {
                    self.column += 1;
                    self.line = Line::NumberEnd { digits, value };
                }
                _ => return self.begin_text(c),
            },
            Line::NumberEnd { digits, value } if is_blank => {
                let gap = self.take_blank(c);
                self.line = Line::ItemGap { mark: digits + 1, gap, value };
            }
            Line::ItemGap { mark, gap, value } if is_blank => {
                let gap = gap + self.take_blank(c);
                self.line = Line::ItemGap { mark, gap, value };
            }
            Line::ItemGap { mark, gap, value } if value == 1 || !self.goes_on() => {
                // Five blanks and more are code by indentation in an item whose text would begin after one.
                let inner = if gap > 4 { gap - 1 } else { 0 };
                self.open(Container::Item { width: self.indent + mark + gap - inner, empty: false });
                self.indent = inner;
                self.line = Line::Start;
                return false;
            }
            _ => return self.begin_text(c),
        }
        true
    }

    /// The same in a run of backticks or tildes, and in what follows it in a line that may open or close a fence.
    fn step_in_fence_line(&mut self, c: char) -> bool {
        match self.line {
            Line::Run { mark, length, at_start, escaped } if c == mark => {
                self.line = Line::Run { mark, length: length + 1, at_start, escaped };
            }
            Line::Run { .. } => {
                self.end_run();
                return false;
            }
            Line::Info { mark: '`', length, escaped } if c == '`' => {
                // No fence has a backtick in its info string: it was code in a line of text.
                self.begin_text(c);
                self.close_run(length, false);
                self.spans.doubt();
                self.line = Line::Run { mark: '`', length: 1, at_start: false, escaped };
            }
            Line::Info { mark, length, escaped } => {
                self.line = Line::Info { mark, length, escaped: c == '\\' && !escaped };
            }
            Line::Closing if matches!(c, ' ' | '\t') => {}
            _ => {
                self.line = Line::Body;
                return false;
            }
        }
        true
    }

    /// The line is over. `is_first` says that nothing but white space came before it. Says whether a code fence opened or
    /// closed with it.
    pub(super) fn end_line(&mut self, is_first: bool) -> bool {
        if self.in_run() {
            self.end_run();
        }
        if let Some(rule) = self.rule.take()
            && self.ends_as_rule(rule)
        {
            self.begin_line();
            return false;
        }
        let at_fence = matches!(self.line, Line::Info { .. } | Line::Closing);
        match self.line {
            Line::Start => self.end_blank_line(),
            Line::Bullet { .. } | Line::NumberEnd { .. } | Line::ItemGap { .. } => self.end_empty_item(),
            Line::Number { .. } | Line::Marks => {
                self.begin_text('x');
            }
            Line::Signs { .. } => self.begin_heading(),
            Line::Info { mark, length, .. } => {
                self.end_paragraph();
                self.containers.close_unmatched();
                self.leaf = Leaf::Fence(Fence { mark, length, first: is_first });
            }
            Line::Closing => self.leaf = Leaf::None,
            Line::Run { .. } | Line::Body => {}
        }
        if let Some(html) = self.head.take().and_then(|head| head.end()) {
            self.begin_html(html);
        }
        match self.leaf {
            Leaf::Heading => self.end_paragraph(),
            Leaf::Html(Html::Until(end)) if end.has_come() => self.leaf = Leaf::None,
            _ => {}
        }
        self.begin_line();
        at_fence
    }

    pub(super) fn end_paragraph(&mut self) {
        if self.has_spans() {
            self.change.paragraph_ended = true;
            self.spans.end();
            self.leaf = Leaf::None;
        }
    }

    /// Whether backticks mean something in the innermost block.
    fn has_spans(&self) -> bool {
        matches!(self.leaf, Leaf::Paragraph | Leaf::Heading)
    }

    fn take_blank(&mut self, c: char) -> usize {
        let width = if c == '\t' { 4 - self.column % 4 } else { 1 };
        self.column += width;
        width
    }

    /// Whether this line goes on with the paragraph of the line before, in all of its containers.
    fn goes_on(&self) -> bool {
        self.leaf == Leaf::Paragraph && !self.containers.is_lazy()
    }

    /// The first character of a line that neither is white space nor goes on with a container. False if it is still to
    /// be read.
    fn begin_block(&mut self, c: char) -> bool {
        if self.containers.go_on(c, &mut self.indent) == Continuation::Mark {
            self.begin_quotation_line();
            return true;
        }
        if !self.containers.is_lazy() {
            match self.leaf {
                Leaf::Fence(fence) if fence.mark == c && self.indent <= 3 => {
                    self.line = Line::Run { mark: c, length: 1, at_start: true, escaped: false };
                    return true;
                }
                Leaf::Fence(_) | Leaf::Html(_) => {
                    self.line = Line::Body;
                    return false;
                }
                _ => {}
            }
        }
        if self.leaf != Leaf::Paragraph {
            // Only a paragraph goes on in a line that lacks the marks of its containers.
            self.containers.close_unmatched();
            self.leaf = Leaf::None;
        }
        if self.indent >= 4 {
            if self.leaf == Leaf::None {
                self.leaf = Leaf::Indented;
                self.line = Line::Body;
                return false;
            }
            return self.begin_text(c);
        }
        match c {
            '>' => {
                self.open(Container::Quotation);
                self.begin_quotation_line();
                true
            }
            '-' | '*' | '_' | '=' => {
                if self.rule.is_none() {
                    self.rule = Some(Rule::new(c, self.containers.matched()));
                }
                self.column += 1;
                self.line = if matches!(c, '-' | '*') { Line::Bullet { mark: c } } else { Line::Marks };
                true
            }
            '+' => {
                self.column += 1;
                self.line = Line::Bullet { mark: c };
                true
            }
            '0'..='9' => {
                self.line = Line::Number { digits: 0, value: 0 };
                false
            }
            '#' => {
                self.line = Line::Signs { count: 1 };
                true
            }
            '`' | '~' => {
                self.line = Line::Run { mark: c, length: 1, at_start: true, escaped: false };
                true
            }
            '<' => {
                self.head = Some(Head::new(!self.goes_on()));
                self.begin_text(c)
            }
            _ => self.begin_text(c),
        }
    }

    fn begin_quotation_line(&mut self) {
        self.column += 1;
        self.indent = 0;
        self.eats_blank = true;
    }

    /// The line is text: it goes on with a paragraph, or begins one. Always false: the character is still to be read.
    fn begin_text(&mut self, c: char) -> bool {
        if self.leaf != Leaf::Paragraph {
            self.containers.begin_paragraph();
            self.leaf = Leaf::Paragraph;
            self.spans.begin(c == '[');
        }
        self.line = Line::Body;
        false
    }

    fn begin_heading(&mut self) {
        self.end_paragraph();
        self.containers.close_unmatched();
        self.leaf = Leaf::Heading;
        self.spans.begin(false);
        self.line = Line::Body;
    }

    /// Opens a container inside of those that this line goes on with.
    fn open(&mut self, container: Container) {
        self.end_paragraph();
        self.containers.open(container);
    }

    /// A run of backticks or tildes has ended.
    fn end_run(&mut self) {
        let Line::Run { mark, length, at_start, escaped } = self.line else { return };
        match self.leaf {
            Leaf::Fence(fence) if !self.containers.is_lazy() => {
                let closes = at_start && fence.mark == mark && length >= fence.length;
                self.line = if closes { Line::Closing } else { Line::Body };
            }
            _ if at_start && length >= 3 => self.line = Line::Info { mark, length, escaped: false },
            _ => {
                if at_start {
                    self.begin_text(mark);
                }
                self.line = Line::Body;
                if mark == '`' {
                    self.close_run(length, escaped);
                }
            }
        }
    }

    /// A run of backticks in text.
    fn close_run(&mut self, length: usize, escaped: bool) {
        if let Some(behind) = self.spans.run(length, escaped) {
            let so_far = self.change.code_behind.unwrap_or(behind);
            self.change.code_behind = Some(so_far.min(behind));
        }
    }

    fn read_in_line(&mut self, c: char) {
        match &mut self.leaf {
            Leaf::Paragraph | Leaf::Heading => {
                if c == '`' {
                    let escaped = self.spans.escapes_next();
                    self.line = Line::Run { mark: '`', length: 1, at_start: false, escaped };
                } else {
                    self.spans.read(c);
                }
                if let Some(mut head) = self.head.take() {
                    match head.read(c) {
                        Some(Some(html)) => self.begin_html(html),
                        Some(None) if !head.may_be_tag() => {}
                        _ => self.head = Some(head),
                    }
                }
            }
            Leaf::Html(Html::Until(end)) => end.read(c),
            _ => {}
        }
    }

    /// What looked like a paragraph so far is a block of HTML.
    fn begin_html(&mut self, html: Html) {
        self.end_paragraph();
        self.containers.close_unmatched();
        self.leaf = Leaf::Html(html);
    }

    /// Whether a line of nothing but marks is a rule, or makes the paragraph above it a heading.
    fn ends_as_rule(&mut self, rule: Rule) -> bool {
        let underlines = rule.may_underline() && self.goes_on();
        if !underlines && !rule.is_enough() {
            return false;
        }
        self.end_paragraph();
        if !underlines {
            self.containers.truncate(rule.base);
        }
        self.leaf = Leaf::None;
        true
    }

    /// A line ends right after the mark of a list item. An empty item cannot stand in the middle of a paragraph.
    fn end_empty_item(&mut self) {
        if self.goes_on() {
            self.begin_text('x');
            return;
        }
        let mark = match self.line {
            Line::NumberEnd { digits, .. } => digits + 1,
            Line::ItemGap { mark, .. } => mark,
            _ => 1,
        };
        self.open(Container::Item { width: self.indent + mark + 1, empty: true });
    }

    fn end_blank_line(&mut self) {
        let closes = self.containers.end_blank_line();
        self.end_paragraph();
        match self.leaf {
            Leaf::Fence(_) | Leaf::Html(Html::Until(_)) if !closes => {}
            _ => self.leaf = Leaf::None,
        }
    }

    fn begin_line(&mut self) {
        self.line = Line::Start;
        self.containers.begin_line();
        self.column = 0;
        self.indent = 0;
        self.eats_blank = false;
        self.rule = None;
        self.head = None;
        self.spans.end_line();
    }
}
