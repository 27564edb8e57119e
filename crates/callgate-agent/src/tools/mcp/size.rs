//! The size of an answer while it comes: its bytes, and the values that it is made of.

use super::ANSWER;

/// The most values of one answer. Each takes far more memory than it has bytes, so that bytes alone say little.
const VALUES: usize = 1 << 19;

/// How large a JSON text is so far.
#[derive(Debug, Default)]
pub(super) struct Size {
    bytes: usize,
    values: usize,
    is_string: bool,
    is_escaped: bool,
}

impl Size {
    /// Counts what came, and says whether the whole is still within the limits.
    pub(super) fn add(&mut self, bytes: &[u8]) -> bool {
        self.bytes = self.bytes.saturating_add(bytes.len());
        for byte in bytes {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_string => self.is_escaped = true,
                b'"' => self.is_string = !self.is_string,
                b',' | b':' | b'[' | b'{' if !self.is_string => self.values += 1,
                _ => {}
            }
        }
        self.bytes <= ANSWER && self.values <= VALUES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_values_count_wherever_the_text_is_cut_and_strings_do_not() {
        let many = format!("[{}0]", "0,".repeat(VALUES - 1));
        for (text, wanted) in [
            (many.clone(), true),
            (format!("[{many}"), false),
            (format!("\"{}\"", ",\\\",[{".repeat(VALUES)), true),
            ("x".repeat(ANSWER), true),
            ("x".repeat(ANSWER + 1), false),
        ] {
            assert_eq!(Size::default().add(text.as_bytes()), wanted);
            let mut size = Size::default();
            let chunks = text.as_bytes().chunks(4095).map(|chunk| size.add(chunk));
            assert_eq!(chunks.last(), Some(wanted));
        }
    }
}
