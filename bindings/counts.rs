//! Counts: where the bytes of a response stand when it is counted as a language counts. A part of several bindings, each of
//! which is built by itself, so they share the file.

use callgate::Span;

/// The bytes for which one sum is kept.
const BLOCK: usize = 512;

/// A place in units: the first, and one past the last.
pub(crate) type Pair = (usize, usize);

/// Which bytes of a response start no unit, as they come: of UTF-16, or else characters. A text of ASCII alone costs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts<const UTF16: bool> {
    /// How many bytes have come.
    pub(super) len: usize,
    /// A bit for each byte that starts no unit; what is missing at the end is zero. Empty for ASCII.
    bits: Vec<u64>,
    /// For each block that has begun, how many such bytes come before it.
    sums: Vec<usize>,
    total: usize,
    /// The first bytes of a character whose last ones are still to come.
    partial: Vec<u8>,
}

impl<const UTF16: bool> Counts<UTF16> {
    /// The units of a whole text.
    pub(crate) fn of(text: &str) -> Self {
        let mut counts = Counts::default();
        counts.push(text);
        counts
    }

    /// Whether every byte is a unit.
    pub(crate) fn is_plain(&self) -> bool {
        self.bits.is_empty()
    }

    pub(crate) fn push(&mut self, text: &str) {
        match self.partial.is_empty() {
            true => self.add(text),
            false => self.push_bytes(text.as_bytes()),
        }
    }

    /// Bytes as the session reads them: what is no UTF-8 is one unit for each place where decoding fails.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.add(text),
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    self.add(std::str::from_utf8(valid).unwrap_or_default());
                    let Some(length) = error.error_len() else {
                        self.partial = after.to_vec();
                        return;
                    };
                    self.add_invalid(length);
                    rest = &after[length..];
                }
            }
        }
    }

    /// The response is over: a character that never ended is one that is no UTF-8.
    pub(crate) fn finish(&mut self) {
        let length = std::mem::take(&mut self.partial).len();
        self.add_invalid(length);
    }

    fn add_invalid(&mut self, length: usize) {
        if length == 1 && self.is_plain() {
            self.len += 1;
        } else if length > 0 {
            self.char(length, 1);
        }
    }

    fn add(&mut self, text: &str) {
        if text.is_ascii() && self.is_plain() {
            self.len += text.len();
            return;
        }
        for char in text.chars() {
            self.char(char.len_utf8(), if UTF16 { char.len_utf16() } else { 1 });
        }
    }

    /// One character: its first bytes start a unit each, the others none.
    fn char(&mut self, bytes: usize, units: usize) {
        if self.sums.is_empty() {
            self.sums = vec![0; self.len.div_ceil(BLOCK).max(1)];
        }
        for at in 0..bytes {
            let place = self.len + at;
            if place / BLOCK == self.sums.len() {
                self.sums.push(self.total);
            }
            if at >= units {
                let word = place / 64;
                if self.bits.len() <= word {
                    self.bits.resize(word + 1, 0);
                }
                self.bits[word] |= 1 << (place % 64);
                self.total += 1;
            }
        }
        self.len += bytes;
    }

    /// How many units start before a byte.
    fn before(&self, byte: usize) -> usize {
        let byte = byte.min(self.len);
        let block = (byte / BLOCK).min(self.sums.len().saturating_sub(1));
        let mut inside = self.sums.get(block).copied().unwrap_or_default();
        for word in block * (BLOCK / 64)..=byte / 64 {
            let bits = self.bits.get(word).copied().unwrap_or_default();
            let kept = if word == byte / 64 { bits & !(u64::MAX << (byte % 64)) } else { bits };
            inside += kept.count_ones() as usize;
        }
        byte - inside
    }

    /// A span, counted in units.
    pub(crate) fn pair(&self, span: Span) -> Pair {
        match self.is_plain() {
            true => (span.start, span.end),
            false => (self.before(span.start), self.before(span.end)),
        }
    }
}
