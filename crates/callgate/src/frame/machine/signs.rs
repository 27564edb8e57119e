//! Signs: which bytes stand beside the names of calls in text, which are parts of names, and which say nothing.

/// The bytes of which one stands beside the name of every call: before it, but for quotes and white space, or behind it, but
/// for a few words.
pub(super) const SIGNS: [u8; 9] = *b"<>=:]{[(`";

/// Per byte, whether it is an ASCII character of names.
pub(super) const NAMES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'-' | b'.');
        byte += 1;
    }
    table
};

/// A byte of a name that may stand right beside punctuation, and a letter or digit of ASCII.
pub(super) const BESIDE: u8 = 1;
pub(super) const ALPHANUMERIC: u8 = 2;

/// Per byte, which of these it is.
pub(super) const NEIGHBOURS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let is_beside = byte as u8 != b'.' && NAMES[byte] || byte >= 128;
        let is_alphanumeric = (byte as u8).is_ascii_alphanumeric();
        table[byte] = (is_beside as u8 * BESIDE) | (is_alphanumeric as u8 * ALPHANUMERIC);
        byte += 1;
    }
    table
};

/// Per byte, whether it is an ASCII character that says nothing by itself.
pub(super) const IGNORED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = !NAMES[byte] && !matches!(byte as u8, b'`' | b'{' | b'<' | b'[');
        byte += 1;
    }
    table
};
