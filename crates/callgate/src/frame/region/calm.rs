//! Calm: text in which no region begins or ends is passed over without reading its characters.

use super::{Regions, html, values};

impl Regions {
    /// Whether the next character changes nothing unless it is one of those at which [`Regions::stops_at`] stops, or a
    /// line break.
    pub(crate) fn is_calm(&self) -> bool {
        !self.blank && self.values.is_idle() && self.blocks.is_calm()
    }

    /// Whether these bytes can begin something that matters to regions, so that they must be read one by one.
    pub(crate) fn stops_at(bytes: &[u8]) -> bool {
        match bytes {
            [b'`' | b'~', ..] => true,
            [b'<', next, ..] => html::may_begin(*next),
            [b'{' | b'[', ..] => !values::is_prose(bytes),
            [b'<', ..] => true,
            [b'(', ..] => values::may_be_arguments(bytes),
            _ => false,
        }
    }

    /// Passes over text in the middle of a line in which nothing stops, as [`Regions::pass`] does, without a backslash.
    #[inline]
    pub(crate) fn pass_words(&mut self, words: &str) {
        self.values.pass(words);
        self.blocks.pass_words();
    }

    /// Passes over text in which [`Regions::stops_at`] stops nowhere. What came before must be
    /// [calm](Regions::is_calm), and nobody may wait for a change.
    pub(crate) fn pass(&mut self, text: &str) {
        let bytes = text.as_bytes();
        // In a small chunk a loop is done before a search by vectors has begun.
        let last = if bytes.len() < 16 {
            bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'))
        } else {
            memchr::memrchr2(b'\n', b'\r', bytes)
        };
        let Some(last) = last else {
            self.values.pass(text);
            self.blocks.pass(text);
            return;
        };
        let lines = LineStarts::of(bytes);
        let mut rest = match lines {
            // The last line stands for all of them.
            _ if self.blocks.go_on_with_all(lines == LineStarts::Plain) => &text[last..],
            LineStarts::Fresh(at) if !self.blocks.in_fence() => {
                self.blocks.begin_anew();
                self.blank_before_line = self.blank;
                &text[at..]
            }
            _ => text,
        };
        while let Some(c) = rest.chars().next() {
            if self.is_calm() {
                let end = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
                self.values.pass(&rest[..end]);
                self.blocks.pass(&rest[..end]);
                rest = &rest[end..];
                let Some(end) = rest.chars().next() else { break };
                self.read(end);
                rest = &rest[1..];
            } else {
                self.read(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        self.blocks.take_change();
    }
}

/// What the lines of a text begin with, the one that goes on from before it left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineStarts {
    /// With letters, all of them.
    Plain,
    /// The line here begins a paragraph in no container: it follows an empty line and starts with a letter. Nothing
    /// before it matters to what follows it.
    Fresh(usize),
    /// With anything.
    Any,
}

impl LineStarts {
    fn of(bytes: &[u8]) -> Self {
        if memchr::memchr(b'\r', bytes).is_some() {
            return LineStarts::Any;
        }
        let mut is_plain = true;
        for at in memchr::memrchr_iter(b'\n', bytes) {
            // What the last line begins with may be still to come.
            let Some(byte) = bytes.get(at + 1) else { continue };
            let starts_text = byte.is_ascii_alphabetic() || !byte.is_ascii();
            if starts_text && bytes[..at].ends_with(b"\n") {
                return LineStarts::Fresh(at + 1);
            }
            is_plain &= starts_text;
        }
        if is_plain { LineStarts::Plain } else { LineStarts::Any }
    }
}
