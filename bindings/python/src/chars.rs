//! Characters: where the bytes of a response stand when it is counted in characters, as Python counts.

use callgate::Span;

/// The bytes for which one sum is kept.
const BLOCK: usize = 512;

/// Which bytes of a response start no character, as they come. A text of ASCII alone costs nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chars {
    /// How many bytes have come.
    len: usize,
    /// A bit for each byte that starts no character; what is missing at the end is zero. Empty for ASCII.
    bits: Vec<u64>,
    /// For each block that has begun, how many such bytes come before it.
    sums: Vec<usize>,
    total: usize,
    /// The first bytes of a character whose last ones are still to come.
    partial: Vec<u8>,
}

/// A place in characters: the first, and one past the last.
pub(crate) type Pair = (usize, usize);

impl Chars {
    /// The characters of a whole text.
    pub(crate) fn of(text: &str) -> Self {
        let mut chars = Chars::default();
        chars.push(text);
        chars
    }

    /// How many bytes have come.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether every byte is a character.
    pub(crate) fn is_plain(&self) -> bool {
        self.bits.is_empty()
    }

    pub(crate) fn push(&mut self, text: &str) {
        match self.partial.is_empty() {
            true => self.add(text.as_bytes(), |byte| byte & 0xc0 == 0x80),
            false => self.push_bytes(text.as_bytes()),
        }
    }

    /// Bytes as the session reads them: what is no UTF-8 is one character for each place where decoding fails.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        let mut all = std::mem::take(&mut self.partial);
        all.extend_from_slice(bytes);
        let mut rest = all.as_slice();
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, after) = rest.split_at(error.valid_up_to());
            self.add(valid, |byte| byte & 0xc0 == 0x80);
            let Some(length) = error.error_len() else {
                self.partial = after.to_vec();
                return;
            };
            self.add_invalid(length);
            rest = &after[length..];
        }
        self.add(rest, |byte| byte & 0xc0 == 0x80);
    }

    /// The response is over: a character that never ended is one that is no UTF-8.
    pub(crate) fn finish(&mut self) {
        let length = std::mem::take(&mut self.partial).len();
        self.add_invalid(length);
    }

    fn add_invalid(&mut self, length: usize) {
        let bytes: Vec<u8> = (0..length).map(|at| u8::from(at > 0) << 7).collect();
        self.add(&bytes, |byte| byte != 0);
    }

    #[inline]
    fn add(&mut self, bytes: &[u8], is_inside: impl Fn(u8) -> bool) {
        if bytes.is_ascii() && self.bits.is_empty() {
            self.len += bytes.len();
            return;
        }
        if self.sums.is_empty() {
            self.sums = vec![0; self.len.div_ceil(BLOCK).max(1)];
        }
        for (at, &byte) in (self.len..).zip(bytes) {
            if at / BLOCK == self.sums.len() {
                self.sums.push(self.total);
            }
            if is_inside(byte) {
                let word = at / 64;
                if self.bits.len() <= word {
                    self.bits.resize(word + 1, 0);
                }
                self.bits[word] |= 1 << (at % 64);
                self.total += 1;
            }
        }
        self.len += bytes.len();
    }

    /// How many characters start before a byte.
    fn before(&self, byte: usize) -> usize {
        let byte = byte.min(self.len);
        let block = (byte / BLOCK).min(self.sums.len().saturating_sub(1));
        let mut inside = self.sums.get(block).copied().unwrap_or_default();
        let first = block * (BLOCK / 64);
        for word in first..=byte / 64 {
            let bits = self.bits.get(word).copied().unwrap_or_default();
            let kept = if word == byte / 64 { bits & !(u64::MAX << (byte % 64)) } else { bits };
            inside += kept.count_ones() as usize;
        }
        byte - inside
    }

    /// A span, counted in characters.
    pub(crate) fn pair(&self, span: Span) -> Pair {
        match self.is_plain() {
            true => (span.start, span.end),
            false => (self.before(span.start), self.before(span.end)),
        }
    }
}
