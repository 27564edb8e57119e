//! Literals to look for byte by byte: the ends of a rejected call, and closers after a call.

/// What a literal tells about where reading can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resync {
    /// The call ends, its frame goes on.
    CallEnd,
    /// The frame ends.
    FrameEnd,
    /// The next call begins.
    Opener,
}

/// A search for several literals at once.
#[derive(Debug)]
pub(super) struct LiteralMatcher {
    literals: Vec<(String, Resync)>,
    /// Literals of which a part has come: which, and how many of its bytes.
    partial: Vec<(usize, usize)>,
}

impl LiteralMatcher {
    pub(super) fn new(literals: Vec<(String, Resync)>) -> Self {
        LiteralMatcher { literals, partial: Vec::new() }
    }

    pub(super) fn literals(&self) -> impl Iterator<Item = &str> {
        self.literals.iter().map(|(literal, _)| literal.as_str())
    }

    /// Reads one byte; the literal that is complete with it, the longest first.
    pub(super) fn read(&mut self, byte: u8) -> Option<(&str, Resync)> {
        let literals = &self.literals;
        self.partial.retain_mut(|(index, length)| {
            let fits = literals[*index].0.as_bytes().get(*length) == Some(&byte);
            *length += 1;
            fits
        });
        for (index, (literal, _)) in literals.iter().enumerate() {
            if literal.as_bytes().first() == Some(&byte) {
                self.partial.push((index, 1));
            }
        }
        let complete = self.partial.iter().filter(|(index, length)| literals[*index].0.len() == *length);
        let (index, _) = *complete.max_by_key(|(_, length)| *length)?;
        self.partial.clear();
        let (literal, resync) = &literals[index];
        Some((literal, *resync))
    }

    /// The length of the longest opener with which the text begins.
    pub(super) fn opener_length(&self, text: &str) -> usize {
        let openers = self.literals.iter().filter(|(_, resync)| *resync == Resync::Opener);
        let begun = openers.filter(|(literal, _)| text.starts_with(literal.as_str()));
        begun.map(|(literal, _)| literal.len()).max().unwrap_or(0)
    }
}
