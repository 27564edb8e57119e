//! Regions: what Markdown says about the place of a call: code fences, code spans, quotations, indented code.
//!
//! Text is read as CommonMark reads it, one character after the other: quotations and list items hold what stands in
//! them, a fence ends with the block that holds it, a quotation goes on over lazy lines, and a code span may go over the
//! lines of its paragraph. A frame is one word of the text around it. Where CommonMark would need the whole document to
//! decide (a tag with a backtick in an attribute, a link definition, hundreds of levels), more counts as code than is,
//! never less.

mod html;
mod spans;
mod values;

use crate::shortcuts::Shortcut;

use self::html::{Head, Html};
use self::spans::Spans;
use self::values::Values;

/// The most quotations and list items that are told apart, one inside the other.
const DEEPEST: usize = 64;

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

/// A block that holds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Quotation,
    /// A list item: how far its lines are indented, and whether nothing has come in it yet.
    Item {
        width: usize,
        empty: bool,
    },
}

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

/// Where in the line the text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
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

/// A line of which all that has come could be a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    mark: char,
    count: usize,
    /// Whether blanks came after a mark.
    gap: bool,
    /// Whether no mark came after them.
    unbroken: bool,
    /// How many containers held the line when it began.
    base: usize,
}

/// The regions of the text so far.
#[derive(Clone, Debug)]
pub(crate) struct Regions {
    line: Line,
    containers: Vec<Container>,
    leaf: Leaf,
    /// How many containers this line has gone on with.
    matched: usize,
    /// Whether the line lacks the mark of a container, so that it goes on with at most a paragraph.
    lazy: bool,
    column: usize,
    /// How many columns of white space came since the last mark of a container.
    indent: usize,
    /// Whether the next blank belongs to the mark of a quotation.
    eats_blank: bool,
    rule: Option<Rule>,
    /// The start of a line that may begin a block of HTML.
    head: Option<Head>,
    spans: Spans,
    values: Values,
    change: Change,
    /// Whether too many containers are open for their ends to be found.
    lost: bool,
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
            line: Line::Start,
            containers: Vec::new(),
            leaf: Leaf::None,
            matched: 0,
            lazy: false,
            column: 0,
            indent: 0,
            eats_blank: false,
            rule: None,
            head: None,
            spans: Spans::default(),
            values: Values::default(),
            change: Change::default(),
            lost: false,
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
        self.line == Line::Start && self.column <= 3 && self.column == self.indent
    }

    /// Whether a code fence may open here: nothing but white space and the marks of containers came in this line.
    pub(crate) fn may_open_fence(&self) -> bool {
        self.line == Line::Start
    }

    /// Whether the last character was a backtick or tilde of a run, so that the next one cannot start a run.
    pub(crate) fn in_run(&self) -> bool {
        matches!(self.line, Line::Run { .. })
    }

    /// What a frame that begins here stands in.
    pub(crate) fn surroundings(&self) -> Surroundings {
        if self.line == Line::Body {
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
        if !Shortcut::Prose.is_on()
            || self.line != Line::Start
            || self.indent > 3
            || !self.containers.is_empty()
            || !self.values.is_idle()
        {
            return None;
        }
        match self.leaf {
            Leaf::Paragraph | Leaf::Fence(_) | Leaf::Html(_) => Some(self.around()),
            // A paragraph begins.
            _ => Some(Surroundings { lost: false, indented: false, backticks: 0, ..self.around() }),
        }
    }

    /// Whether the next character changes nothing unless it is one of those at which [`Regions::stops_at`] stops, or a
    /// line break.
    pub(crate) fn is_calm(&self) -> bool {
        self.line == Line::Body
            && !self.blank
            && self.head.is_none()
            && self.rule.is_none()
            && self.values.is_idle()
            && !matches!(self.leaf, Leaf::Html(Html::Until(_)))
            && (self.spans.is_calm() || !self.has_spans())
    }

    /// Whether these bytes can begin something that matters to regions, so that they must be read one by one.
    pub(crate) fn stops_at(bytes: &[u8]) -> bool {
        match bytes {
            [b'`' | b'~', ..] => true,
            [b'<', next, ..] => html::may_begin(*next),
            [b'{' | b'[', ..] => !values::is_prose(bytes),
            [b'<', ..] => true,
            _ => false,
        }
    }

    /// Passes over text in which [`Regions::stops_at`] stops nowhere. What came before must be
    /// [calm](Regions::is_calm), and nobody may wait for a change.
    pub(crate) fn pass(&mut self, text: &str) {
        let bytes = text.as_bytes();
        // In a small piece a loop is done before a search by vectors has begun.
        let last = if bytes.len() < 16 {
            bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'))
        } else {
            memchr::memrchr2(b'\n', b'\r', bytes)
        };
        if last.is_none() {
            self.spans.pass(text);
            return;
        }
        let mut rest = text;
        match (self.leaf, lines(bytes)) {
            // Nothing in the text can end a fence that no container holds.
            (Leaf::Fence(_), _) if self.containers.is_empty() => {
                rest = last.map_or(rest, |at| &rest[at..]);
            }
            (Leaf::Fence(_), _) => {}
            // Every line goes on with the paragraph, so the last one stands for all of them.
            (Leaf::Paragraph, Lines::Plain) if self.containers.is_empty() => {
                rest = last.map_or(rest, |at| &rest[at..]);
            }
            (_, Lines::Fresh(at)) => {
                self.end_paragraph();
                self.containers.clear();
                self.lost = false;
                self.leaf = Leaf::None;
                self.begin_line();
                rest = &rest[at..];
            }
            _ => {}
        }
        while let Some(c) = rest.chars().next() {
            if self.is_calm() {
                let end = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
                self.spans.pass(&rest[..end]);
                rest = &rest[end..];
                let Some(end) = rest.chars().next() else { break };
                self.read(end);
                rest = &rest[1..];
            } else {
                self.read(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        self.change = Change::default();
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
            self.note_rule(c);
            while !self.step(c) {}
        }
        std::mem::take(&mut self.change)
    }

    /// Reads a frame, which is one word of the text it stands in.
    pub(crate) fn read_word(&mut self) -> Change {
        self.head = None;
        self.read('x')
    }

    /// A frame stood here. Where it ended with a line break, the next line begins.
    pub(crate) fn pass_frame(&mut self, ended_line: bool) -> Change {
        if ended_line { self.read('\n') } else { Change::default() }
    }

    /// The input is over.
    pub(crate) fn finish(&mut self) -> Change {
        self.end_line();
        self.end_paragraph();
        Change { paragraph_ended: true, ..std::mem::take(&mut self.change) }
    }

    fn around(&self) -> Surroundings {
        let fence = match self.leaf {
            Leaf::Fence(fence) => Some(fence),
            _ => None,
        };
        Surroundings {
            fence,
            lost: self.lost || matches!(self.line, Line::Info { .. }),
            quotation: self.containers.contains(&Container::Quotation),
            indented: self.leaf == Leaf::Indented,
            string: self.values.in_string(),
            value: self.values.is_certain(),
            backticks: if self.has_spans() { self.spans.open() } else { 0 },
        }
    }

    /// Whether backticks mean something in the innermost block.
    fn has_spans(&self) -> bool {
        matches!(self.leaf, Leaf::Paragraph | Leaf::Heading)
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
            Line::Bullet { mark } => match c {
                ' ' | '\t' => {
                    let gap = self.take_blank(c);
                    self.line = Line::ItemGap { mark: 1, gap, value: 1 };
                    true
                }
                _ if c == mark && mark != '+' => {
                    self.line = Line::Marks;
                    true
                }
                _ => self.begin_text(c),
            },
            Line::Number { digits, value } => match c.to_digit(10) {
                Some(digit) if digits < 9 => {
                    self.column += 1;
                    self.line = Line::Number { digits: digits + 1, value: value * 10 + digit };
                    true
                }
                None if matches!(c, '.' | ')') => {
                    self.column += 1;
                    self.line = Line::NumberEnd { digits, value };
                    true
                }
                _ => self.begin_text(c),
            },
            Line::NumberEnd { digits, value } => match c {
                ' ' | '\t' => {
                    let gap = self.take_blank(c);
                    self.line = Line::ItemGap { mark: digits + 1, gap, value };
                    true
                }
                _ => self.begin_text(c),
            },
            Line::ItemGap { mark, gap, value } => match c {
                ' ' | '\t' => {
                    let gap = gap + self.take_blank(c);
                    self.line = Line::ItemGap { mark, gap, value };
                    true
                }
                _ if value != 1 && self.goes_on() => self.begin_text(c),
                _ => {
                    // Five blanks and more are code by indentation in an item whose text would begin after one.
                    let inner = if gap > 4 { gap - 1 } else { 0 };
                    self.open(Container::Item { width: self.indent + mark + gap - inner, empty: false });
                    self.indent = inner;
                    self.line = Line::Start;
                    false
                }
            },
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
            Line::Run { mark, length, at_start, escaped } if c == mark => {
                self.line = Line::Run { mark, length: length + 1, at_start, escaped };
                true
            }
            Line::Run { .. } => {
                self.end_run();
                false
            }
            Line::Info { mark: '`', length, escaped } if c == '`' => {
                // No fence has a backtick in its info string: it was code in a line of text.
                self.begin_text(c);
                self.close_run(length, false);
                self.spans.doubt();
                self.line = Line::Run { mark: '`', length: 1, at_start: false, escaped };
                true
            }
            Line::Info { mark, length, escaped } => {
                self.line = Line::Info { mark, length, escaped: c == '\\' && !escaped };
                true
            }
            Line::Closing if matches!(c, ' ' | '\t') => true,
            Line::Closing => {
                self.line = Line::Body;
                false
            }
            Line::Body => {
                self.read_in_line(c);
                true
            }
        }
    }

    fn take_blank(&mut self, c: char) -> usize {
        let width = if c == '\t' { 4 - self.column % 4 } else { 1 };
        self.column += width;
        width
    }

    /// Whether this line goes on with the paragraph of the line before, in all of its containers.
    fn goes_on(&self) -> bool {
        self.leaf == Leaf::Paragraph && !self.lazy
    }

    /// The first character of a line that neither is white space nor goes on with a container. False if it is still to
    /// be read.
    fn begin_block(&mut self, c: char) -> bool {
        while !self.lazy
            && let Some(container) = self.containers.get(self.matched)
        {
            match *container {
                Container::Item { width, .. } if self.indent >= width => {
                    self.indent -= width;
                    self.matched += 1;
                }
                Container::Quotation if c == '>' && self.indent <= 3 => {
                    self.matched += 1;
                    self.begin_quotation_line();
                    return true;
                }
                _ => self.lazy = true,
            }
        }
        for container in &mut self.containers[..self.matched] {
            if let Container::Item { empty, .. } = container {
                *empty = false;
            }
        }
        if !self.lazy {
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
            self.close_unmatched();
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
                    let base = self.matched;
                    self.rule = Some(Rule { mark: c, count: 1, gap: false, unbroken: true, base });
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
            self.close_unmatched();
            if self.containers.is_empty() {
                self.lost = false;
            }
            self.leaf = Leaf::Paragraph;
            self.spans.begin(c == '[');
        }
        self.line = Line::Body;
        false
    }

    fn begin_heading(&mut self) {
        self.end_paragraph();
        self.close_unmatched();
        self.leaf = Leaf::Heading;
        self.spans.begin(false);
        self.line = Line::Body;
    }

    /// Opens a container inside of those that this line goes on with.
    fn open(&mut self, container: Container) {
        self.end_paragraph();
        self.close_unmatched();
        if self.containers.len() < DEEPEST {
            self.containers.push(container);
        } else {
            self.lost = true;
        }
        self.matched = self.containers.len();
    }

    fn close_unmatched(&mut self) {
        self.containers.truncate(self.matched);
        self.lazy = false;
    }

    fn end_paragraph(&mut self) {
        if self.has_spans() {
            self.change.paragraph_ended = true;
            self.spans.end();
            self.leaf = Leaf::None;
        }
    }

    /// A run of backticks or tildes has ended.
    fn end_run(&mut self) {
        let Line::Run { mark, length, at_start, escaped } = self.line else { return };
        match self.leaf {
            Leaf::Fence(fence) if !self.lazy => {
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
        self.close_unmatched();
        self.leaf = Leaf::Html(html);
    }

    /// Takes a character into account that may belong to a rule.
    fn note_rule(&mut self, c: char) {
        let Some(rule) = &mut self.rule else { return };
        match c {
            _ if c == rule.mark => {
                rule.count += 1;
                rule.unbroken &= !rule.gap;
            }
            ' ' | '\t' => rule.gap = true,
            _ => self.rule = None,
        }
    }

    fn end_line(&mut self) {
        if self.in_run() {
            self.end_run();
        }
        if let Some(rule) = self.rule.take()
            && self.ends_as_rule(rule)
        {
            self.begin_line();
            return;
        }
        match self.line {
            Line::Start => self.end_blank_line(),
            Line::Bullet { .. } | Line::NumberEnd { .. } | Line::ItemGap { .. } => self.end_empty_item(),
            Line::Number { .. } | Line::Marks => {
                self.begin_text('x');
            }
            Line::Signs { .. } => self.begin_heading(),
            Line::Info { mark, length, .. } => {
                self.end_paragraph();
                self.close_unmatched();
                self.leaf = Leaf::Fence(Fence { mark, length, first: self.blank_before_line });
                self.values = Values::default();
            }
            Line::Closing => {
                self.leaf = Leaf::None;
                self.values = Values::default();
            }
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
    }

    /// Whether a line of nothing but marks is a rule, or makes the paragraph above it a heading.
    fn ends_as_rule(&mut self, rule: Rule) -> bool {
        let underlines = matches!(rule.mark, '-' | '=') && rule.unbroken && self.goes_on();
        if !underlines && (rule.count < 3 || rule.mark == '=') {
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
        while !self.lazy
            && let Some(container) = self.containers.get(self.matched)
        {
            match container {
                Container::Item { empty: false, .. } => self.matched += 1,
                // An item may begin with one empty line, not with two.
                Container::Item { .. } | Container::Quotation => self.lazy = true,
            }
        }
        let is_closed = self.lazy;
        self.end_paragraph();
        self.close_unmatched();
        match self.leaf {
            Leaf::Fence(_) | Leaf::Html(Html::Until(_)) if !is_closed => {}
            _ => self.leaf = Leaf::None,
        }
    }

    fn begin_line(&mut self) {
        self.line = Line::Start;
        self.matched = 0;
        self.lazy = false;
        self.column = 0;
        self.indent = 0;
        self.eats_blank = false;
        self.rule = None;
        self.head = None;
        self.spans.end_line();
        self.blank_before_line = self.blank;
    }
}

/// What the lines of a text begin with, the one that goes on from before it left out.
enum Lines {
    /// With letters, all of them.
    Plain,
    /// The line here begins a paragraph in no container: it follows an empty line and starts with a letter. Nothing
    /// before it matters to what follows it.
    Fresh(usize),
    /// With anything.
    Any,
}

fn lines(bytes: &[u8]) -> Lines {
    if memchr::memchr(b'\r', bytes).is_some() {
        return Lines::Any;
    }
    let mut is_plain = true;
    for at in memchr::memrchr_iter(b'\n', bytes) {
        // What the last line begins with may be still to come.
        let Some(byte) = bytes.get(at + 1) else { continue };
        let starts_text = byte.is_ascii_alphabetic() || !byte.is_ascii();
        if starts_text && bytes[..at].ends_with(b"\n") {
            return Lines::Fresh(at + 1);
        }
        is_plain &= starts_text;
    }
    if is_plain { Lines::Plain } else { Lines::Any }
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
            "\\", "x < 1", "{a, b}", "[1]", "é", "\nThe",
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
            if !passed.is_calm() {
                continue;
            }
            let mut read = passed.clone();
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
