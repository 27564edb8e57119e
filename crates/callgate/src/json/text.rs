//! The bodies of JSON strings: escaping, unescaping, and what a hexadecimal escape names.

use std::borrow::Cow;

use super::meter::looked;
use crate::bytes::character_start;

/// How many bytes are escaped at once where there is much to escape.
const BLOCK: usize = 512;

/// A run with nothing to escape is short if it is shorter than this.
const SHORT: usize = 32;

/// After so many short runs the next ones will be short as well.
const MANY: usize = 8;

/// Writes `text` as the body of a JSON string, without quotes, escaping only what must be.
pub fn escape_into(out: &mut String, text: &str) {
    out.reserve(text.len());
    let mut rest = text;
    let mut short_runs = 0;
    loop {
        let plain = plain_length(rest.as_bytes(), b'"');
        out.push_str(&rest[..plain]);
        let Some(byte) = rest.as_bytes().get(plain) else { return };
        escape_byte(out, *byte);
        rest = &rest[plain + 1..];
        short_runs = if plain < SHORT { short_runs + 1 } else { 0 };
        if short_runs >= MANY && rest.len() > BLOCK {
            rest = escape_block(out, rest);
            short_runs = MANY / 2;
        }
    }
}

/// Writes the first block of a text as the body of a JSON string, and says what is left.
///
/// Program text has something to escape every ten bytes or so, at places that no processor foresees. So every byte is
/// written in the same way, as a word of eight bytes of which the first ones count.
fn escape_block<'t>(out: &mut String, text: &'t str) -> &'t str {
    let end = character_start(text, BLOCK);
    let mut written = [0; BLOCK * 6 + 8];
    let mut length = 0;
    for byte in text[..end].bytes() {
        let word = ESCAPED[usize::from(byte)];
        if let Some(place) = written.get_mut(length..length + 8) {
            place.copy_from_slice(&word);
        }
        length += usize::from(word[7]);
    }
    // Whole characters and escapes make valid text.
    if let Some(Ok(block)) = written.get(..length).map(std::str::from_utf8) {
        out.push_str(block);
    }
    &text[end..]
}

/// For each byte how it stands in a JSON string, and last how long that is.
static ESCAPED: [[u8; 8]; 256] = escaped_bytes();

const fn escaped_bytes() -> [[u8; 8]; 256] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < table.len() {
        let short = match byte as u8 {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => 0,
        };
        table[byte] = if short != 0 {
            [b'\\', short, 0, 0, 0, 0, 0, 2]
        } else if byte < 0x20 {
            [b'\\', b'u', b'0', b'0', HEX[byte >> 4], HEX[byte & 15], 0, 6]
        } else {
            [byte as u8, 0, 0, 0, 0, 0, 0, 1]
        };
        byte += 1;
    }
    table
}

/// From this length on a text grows by an eighth of it where it would otherwise double: what is large is moved by the
/// system without copying it, and half of its room would stay empty.
const LARGE: usize = 256 << 10;

/// Makes room for about so many more bytes in a text that goes on growing.
pub(crate) fn make_room(text: &mut String, more: usize) {
    if text.len() >= LARGE && text.capacity() - text.len() < more {
        text.reserve_exact(more.max(text.len() / 8));
    }
}

/// How many bytes are looked at one word at a time before whole blocks of as many are.
const LONG: usize = 32;

/// How many bytes come before the first double quote, backslash, control character or `quote`, which is ASCII.
#[inline]
pub(super) fn plain_length(bytes: &[u8], quote: u8) -> usize {
    // Most keys and many strings end within the first word.
    let length = match bytes.first_chunk() {
        Some(word) => match specials(word, quote) {
            0 => plain_length_beyond(bytes, size_of_val(word), quote),
            special => first_marked(special),
        },
        None => plain_length_at_end(bytes, 0, quote),
    };
    looked(length);
    length
}

/// The same if the first bytes are plain. It is kept out of line so that the first word stays cheap to look at.
#[inline(never)]
fn plain_length_beyond(bytes: &[u8], mut plain: usize, quote: u8) -> usize {
    while let Some(word) = bytes.get(plain..).and_then(<[u8]>::first_chunk) {
        let special = specials(word, quote);
        if special != 0 {
            return plain + first_marked(special);
        }
        plain += size_of_val(word);
        if plain == LONG {
            return plain_length_in_blocks(bytes, plain, quote);
        }
    }
    plain_length_at_end(bytes, plain, quote)
}

/// The same for many bytes.
#[inline(never)]
fn plain_length_in_blocks(bytes: &[u8], plain: usize, quote: u8) -> usize {
    let is_plain = |block: &&[u8; LONG]| {
        // Every byte is looked at, without a branch between them, so that it is done for many at once.
        block.iter().fold(0, |found, byte| found | u8::from(is_special(*byte, quote))) == 0
    };
    let (blocks, tail) = bytes[plain..].as_chunks();
    let count = blocks.iter().take_while(is_plain).count();
    let last = blocks.get(count).map_or(tail, |block| block);
    let length = last.iter().position(|byte| is_special(*byte, quote)).unwrap_or(last.len());
    plain + count * LONG + length
}

/// The same where less than a word is left.
#[inline(never)]
fn plain_length_at_end(bytes: &[u8], plain: usize, quote: u8) -> usize {
    let rest = &bytes[plain..];
    if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        // The two halves of a word overlap, and what is missing at its end is zero, which is special.
        let last = u64::from(u32::from_le_bytes(*last)) << (8 * (rest.len() - last.len()));
        let word = u64::from(u32::from_le_bytes(*first)) | last;
        return plain + first_marked(specials(&word.to_le_bytes(), quote));
    }
    plain + rest.iter().position(|byte| is_special(*byte, quote)).unwrap_or(rest.len())
}

/// Whether plain text ends before this byte.
pub(super) fn is_special(byte: u8, quote: u8) -> bool {
    // `byte ^ 2` maps the double quote (0x22) to 0x20 and control characters to each other, so that one comparison finds
    // both. The space (0x20) becomes 0x22, which is none of them.
    let is_control_or_quote = byte ^ 2 < b'!';
    is_control_or_quote | (byte == b'\\') | (byte == quote)
}

/// Marks the high bit of each byte of a word that is special, for all bytes at once: where a byte is less than a bound,
/// subtracting the bound borrows and sets its high bit. The borrow may mark the bytes after it falsely, never one before
/// the first that is special.
#[inline]
fn specials(word: &[u8; 8], quote: u8) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // The double quote is found with the control characters (see `is_special`), so any other special byte may be looked
    // for in its place.
    let quote = if quote == b'"' { b'\\' } else { quote };
    let word = u64::from_le_bytes(*word);
    let changed = |by: u8| word ^ (ONES * u64::from(by));
    // Bytes beyond ASCII have their high bit set from the start; `!word` takes their marks out.
    let less = |word: u64, than: u8| word.wrapping_sub(ONES * u64::from(than));
    (less(changed(2), b'!') | less(changed(b'\\'), 1) | less(changed(quote), 1)) & !word & HIGHS
}

/// The place of the first byte that is marked.
fn first_marked(specials: u64) -> usize {
    specials.trailing_zeros() as usize / 8
}

/// A key as one step of a JSON pointer.
pub fn escape_pointer(key: &str) -> String {
    if memchr::memchr2(b'~', b'/', key.as_bytes()).is_none() {
        return key.to_owned();
    }
    key.replace('~', "~0").replace('/', "~1")
}

/// A step of a JSON pointer as the key it stands for.
pub(crate) fn unescape_pointer(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Writes one quote, backslash or control character as an escape.
pub(super) fn escape_byte(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\t' => out.push_str("\\t"),
        _ => {
            let word = ESCAPED[usize::from(byte)];
            out.extend(word.iter().take(usize::from(word[7])).map(|byte| char::from(*byte)));
        }
    }
}

/// The text that a JSON string (with its quotes) stands for. Anything that is not a valid escape stands for itself,
/// and half a surrogate pair for U+FFFD.
pub fn unescape(json_string: &str) -> Cow<'_, str> {
    let body = json_string.strip_prefix('"').unwrap_or(json_string);
    let body = body.strip_suffix('"').unwrap_or(body);
    match memchr::memchr(b'\\', body.as_bytes()) {
        Some(plain) => Cow::Owned(unescape_body(body, plain)),
        None => Cow::Borrowed(body),
    }
}

/// The same without the quotes, if no escape is among the first `plain` bytes.
pub(super) fn unescape_body(body: &str, plain: usize) -> String {
    let bytes = body.as_bytes();
    let mut out = String::with_capacity(body.len());
    // How much is written, and how much is known to hold no further escape.
    let (mut written, mut looked) = (0, plain);
    while let Some(at) = next_backslash(bytes, looked) {
        out.push_str(&body[written..at]);
        let character = match bytes.get(at + 1) {
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') => {
                let (character, length) = unescape_unicode(bytes, at);
                (written, looked) = (at + length, at + length.max(2));
                out.extend(character);
                continue;
            }
            Some(b'"' | b'\\' | b'/') => {
                // What is escaped is written with what follows it.
                (written, looked) = (at + 1, at + 2);
                continue;
            }
            _ => {
                // So is a backslash that stands for itself.
                (written, looked) = (at, at + 1);
                continue;
            }
        };
        out.push(character);
        (written, looked) = (at + 2, at + 2);
    }
    out.push_str(&body[written..]);
    out
}

/// The character of the hexadecimal escape here and how long the escape is; none if it is no valid one.
fn unescape_unicode(bytes: &[u8], at: usize) -> (Option<char>, usize) {
    let Some(unit) = code_unit(bytes, at + 2) else { return (None, 0) };
    if let Some(character) = char::from_u32(unit) {
        return (Some(character), 6);
    }
    let low = bytes.get(at + 6..at + 8).filter(|next| next == b"\\u");
    match low.and_then(|_| code_unit(bytes, at + 8)).and_then(|low| pair(unit, low)) {
        Some(character) => (Some(character), 12),
        None => (Some('\u{fffd}'), 6),
    }
}

/// Where the next backslash is, from here on.
fn next_backslash(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        // In a valid string nothing else is special.
        at += plain_length(bytes.get(at..)?, b'\\');
        match bytes.get(at)? {
            b'\\' => return Some(at),
            _ => at += 1,
        }
    }
}

/// The value of four hexadecimal digits, if that is what stands there.
pub(super) fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    hex(bytes.get(at..at + 4)?)
}

/// The value of hexadecimal digits, if they all are.
pub(super) fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)?))
}

/// The character of two halves of a surrogate pair.
pub(super) fn pair(high: u32, low: u32) -> Option<char> {
    if (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low) {
        char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_is_minimal_and_reversible() {
        let text = "a\"b\\c\n\r\t\u{8}\u{c}\u{1}é😀/\u{7f}";
        let mut out = String::from("\"");
        escape_into(&mut out, text);
        out.push('"');
        assert_eq!(out, "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001é😀/\u{7f}\"");
        assert_eq!(unescape(&out), text);
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }

    #[test]
    fn much_to_escape_is_escaped_like_little() {
        for seed in 0..64 {
            // Runs of all lengths between things to escape, more and less of them, across the edges of blocks.
            let run = |i: usize| "é~xyz東 ".chars().cycle().skip(i).take((i * 7 + seed) % (seed + 3));
            let special = |i: usize| ['"', '\\', '\n', '\u{1}', '\t', '\u{1f}'][(i + seed) % 6];
            let text: String = (0..400).flat_map(|i| run(i).chain([special(i)])).collect();
            let mut out = String::from("\"");
            escape_into(&mut out, &text);
            out.push('"');
            assert_eq!(out, serde_json::to_string(&text).unwrap(), "{seed}");
        }
    }

    #[test]
    fn plain_text_ends_at_each_special_byte_wherever_it_stands() {
        // Up to several blocks, words and single bytes.
        for length in 0..150 {
            for special in ["\"", "\\", "\n", "\u{1f}", "\0", "'"] {
                for rest in ["", "x", "\"\"\"", "\u{80}\u{1}"] {
                    let text =
                        format!("{}{special}{rest}", "é~ \u{7f}".repeat(30).get(..length).unwrap_or("a"));
                    let expected = text.find(|c: char| c < ' ' || matches!(c, '"' | '\\' | '\''));
                    assert_eq!(Some(plain_length(text.as_bytes(), b'\'')), expected, "{text:?}");
                }
            }
        }
        assert_eq!(plain_length("it's plain, é".as_bytes(), b'"'), 14);
    }

    #[test]
    fn unescaping_reads_pairs_and_survives_halves() {
        assert_eq!(unescape(r#""\ud83d\ude00\u00e9\/""#), "😀é/");
        assert_eq!(unescape(r#""\ud83dx\ude00""#), "\u{fffd}x\u{fffd}");
        assert_eq!(unescape(r#""\ud83d\u0041\n\\n\"\"""#), "\u{fffd}A\n\\n\"\"");
        // What is no escape stands for itself.
        assert_eq!(unescape(r#""\q\u12\é\\""#), r"\q\u12\é\");
        assert_eq!(unescape(r#""\u00e9 "raw" \"#), "é \"raw\" \\");
        assert_eq!(unescape(r#""plain""#), "plain");
        assert!(matches!(unescape("\"plain\""), Cow::Borrowed(_)));
    }
}
