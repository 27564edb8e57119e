//! Cutting a stream of bytes into lines, however the bytes arrive.

use super::{FaultCode, ModelFault};

/// The longest line: room for the largest arguments that a policy allows, written out in one line.
const LINE: usize = 64 << 20;

/// Bytes in, whole lines out.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// How much of `bytes` has been given out.
    used: usize,
    /// How much has been searched without finding an end, so that no byte is searched twice.
    searched: usize,
}

impl Lines {
    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), ModelFault> {
        if self.used > 0 {
            self.bytes.drain(..self.used);
            self.searched -= self.used;
            self.used = 0;
        }
        if self.bytes.len() + bytes.len() > LINE {
            return Err(ModelFault::new(FaultCode::TooLarge, format!("a line is longer than {LINE} bytes")));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole line, without its end.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, ModelFault> {
        let Some(length) = self.bytes[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return Ok(None);
        };
        let end = self.searched + length;
        let start = std::mem::replace(&mut self.used, end + 1);
        self.searched = self.used;
        text(&self.bytes[start..end]).map(Some)
    }

    /// What is left at the end of the stream: a line that was never ended.
    pub(crate) fn rest(&mut self) -> Result<String, ModelFault> {
        let Lines { bytes, used, .. } = std::mem::take(self);
        text(&bytes[used..]).map(str::to_owned)
    }
}

fn text(line: &[u8]) -> Result<&str, ModelFault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(text) => Ok(text),
        Err(error) => {
            let message = format!("a line is no UTF-8 (from its byte {})", error.valid_up_to());
            Err(ModelFault::new(FaultCode::BadLine, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of a text fed in chunks of this size, and what was left.
    fn cut(text: &str, size: usize) -> (Vec<String>, String) {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for chunk in text.as_bytes().chunks(size) {
            lines.push(chunk).unwrap();
            while let Some(line) = lines.next().unwrap() {
                found.push(line.to_owned());
            }
        }
        (found, lines.rest().unwrap())
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_come() {
        let text = "eins\n\nzwölf\r\n🐈\nrest";
        let whole = (["eins", "", "zwölf", "🐈"].map(str::to_owned).to_vec(), "rest".to_owned());
        for size in 1..=text.len() {
            assert_eq!(cut(text, size), whole, "chunks of {size}");
        }
    }

    #[test]
    fn a_line_that_is_no_text_is_a_fault() {
        let mut lines = Lines::default();
        lines.push(b"ab\xff\n").unwrap();
        let fault = lines.next().unwrap_err();
        assert_eq!(fault.code, FaultCode::BadLine);
        assert!(fault.message.contains("byte 2"), "{fault}");
    }

    #[test]
    fn a_line_without_end_is_a_fault_before_it_fills_the_memory() {
        let mut lines = Lines::default();
        let chunk = vec![b'x'; 1 << 20];
        let fault = (0..=64).find_map(|_| lines.push(&chunk).err());
        assert_eq!(fault.map(|fault| fault.code), Some(FaultCode::TooLarge));
    }
}
