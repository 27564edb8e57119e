//! Scripts: which letters belong together, so that a word of letters that only look alike is seen.

/// The letters of one way of writing. Those that mix in everyday text count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Latin,
    /// Han, kana, bopomofo and hangul.
    EastAsian,
    /// Another one, by its number in [`OTHERS`], or by its block where the table does not know it.
    Other(u32),
}

/// Scripts that lie in several blocks of Unicode, or whose blocks are not where their size would put them.
const OTHERS: &[&[(char, char)]] = &[
    // Greek.
    &[('\u{370}', '\u{3ff}'), ('\u{1f00}', '\u{1fff}')],
    // Cyrillic.
    &[('\u{400}', '\u{52f}'), ('\u{1c80}', '\u{1c8f}'), ('\u{2de0}', '\u{2dff}'), ('\u{a640}', '\u{a69f}')],
    // Armenian.
    &[('\u{530}', '\u{58f}'), ('\u{fb13}', '\u{fb17}')],
    // Hebrew.
    &[('\u{590}', '\u{5ff}'), ('\u{fb1d}', '\u{fb4f}')],
    // Arabic.
    &[
        ('\u{600}', '\u{6ff}'),
        ('\u{750}', '\u{77f}'),
        ('\u{870}', '\u{8ff}'),
        ('\u{fb50}', '\u{fdff}'),
        ('\u{fe70}', '\u{fefe}'),
    ],
    // Tibetan, Myanmar, Georgian, Ethiopic, Cherokee, Canadian, Mongolian.
    &[('\u{f00}', '\u{fff}')],
    &[('\u{1000}', '\u{109f}'), ('\u{a9e0}', '\u{a9ff}'), ('\u{aa60}', '\u{aa7f}')],
    &[('\u{10a0}', '\u{10ff}'), ('\u{1c90}', '\u{1cbf}'), ('\u{2d00}', '\u{2d2f}')],
    &[('\u{1200}', '\u{139f}'), ('\u{2d80}', '\u{2ddf}'), ('\u{ab00}', '\u{ab2f}')],
    &[('\u{13a0}', '\u{13ff}'), ('\u{ab70}', '\u{abbf}')],
    &[('\u{1400}', '\u{167f}'), ('\u{18b0}', '\u{18ff}')],
    &[('\u{1800}', '\u{18af}')],
    // Coptic, Tifinagh, Yi, Vai.
    &[('\u{2c80}', '\u{2cff}')],
    &[('\u{2d30}', '\u{2d7f}')],
    &[('\u{a000}', '\u{a4cf}')],
    &[('\u{a500}', '\u{a63f}')],
];
const LATIN: &[(char, char)] = &[
    ('A', 'Z'),
    ('a', 'z'),
    ('\u{aa}', '\u{2af}'),
    ('\u{1d00}', '\u{1dbf}'),
    ('\u{1e00}', '\u{1eff}'),
    ('\u{2070}', '\u{209f}'),
    ('\u{2c60}', '\u{2c7f}'),
    ('\u{a720}', '\u{a7ff}'),
    ('\u{ab30}', '\u{ab6f}'),
    ('\u{fb00}', '\u{fb06}'),
];
const EAST_ASIAN: &[(char, char)] = &[
    ('\u{1100}', '\u{11ff}'),
    ('\u{2e80}', '\u{318f}'),
    ('\u{31a0}', '\u{4dbf}'),
    ('\u{4e00}', '\u{9fff}'),
    ('\u{a960}', '\u{a97f}'),
    ('\u{ac00}', '\u{d7ff}'),
    ('\u{f900}', '\u{faff}'),
    ('\u{ff66}', '\u{ffdc}'),
    ('\u{1b000}', '\u{1b16f}'),
    ('\u{20000}', '\u{3ffff}'),
];
/// Letters and digits that are drawn as those of ASCII in another style: wide, bold, in circles.
const STYLED: &[(char, char)] = &[
    ('\u{2100}', '\u{214f}'),
    ('\u{2460}', '\u{24ff}'),
    ('\u{ff10}', '\u{ff19}'),
    ('\u{ff21}', '\u{ff3a}'),
    ('\u{ff41}', '\u{ff5a}'),
    ('\u{1d400}', '\u{1d7ff}'),
    ('\u{1f100}', '\u{1f1e5}'),
    ('\u{1fbf0}', '\u{1fbf9}'),
];
/// Marks that are drawn onto the character before them.
const MARKS: &[(char, char)] = &[
    ('\u{300}', '\u{36f}'),
    ('\u{483}', '\u{489}'),
    ('\u{591}', '\u{5bd}'),
    ('\u{5bf}', '\u{5c7}'),
    ('\u{610}', '\u{61a}'),
    ('\u{64b}', '\u{65f}'),
    ('\u{670}', '\u{670}'),
    ('\u{6d6}', '\u{6ed}'),
    ('\u{e31}', '\u{e31}'),
    ('\u{e34}', '\u{e3a}'),
    ('\u{e47}', '\u{e4e}'),
    ('\u{eb1}', '\u{eb1}'),
    ('\u{eb4}', '\u{ebc}'),
    ('\u{ec8}', '\u{ece}'),
    ('\u{1ab0}', '\u{1aff}'),
    ('\u{1dc0}', '\u{1dff}'),
    ('\u{20d0}', '\u{20ff}'),
    ('\u{302a}', '\u{302f}'),
    ('\u{3099}', '\u{309a}'),
    ('\u{fe20}', '\u{fe2f}'),
];

/// Whether a character belongs to a word: letters, digits, and what joins or marks them.
pub(crate) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_mark(c)
}

/// Whether a character is drawn onto the one before it.
pub(crate) fn is_mark(c: char) -> bool {
    lies_in(MARKS, c)
}

/// Whether a character is a letter or digit of ASCII in another style.
pub(crate) fn is_styled(c: char) -> bool {
    lies_in(STYLED, c)
}

/// Whether a word is made of letters that do not belong together, such as Latin and Cyrillic ones.
pub(crate) fn is_mixed(word: &str) -> bool {
    let mut first: Option<Script> = None;
    for script in word.chars().filter_map(script) {
        match first {
            None => first = Some(script),
            Some(known) if belong_together(known, script) => {}
            Some(_) => return true,
        }
    }
    false
}

/// Latin names stand in Chinese, Japanese and Korean text without a space; nothing there looks like a Latin letter.
fn belong_together(one: Script, other: Script) -> bool {
    one == other || !matches!((one, other), (Script::Other(_), _) | (_, Script::Other(_)))
}

/// The script of a character; nothing where it fits any word.
fn script(c: char) -> Option<Script> {
    if c.is_ascii_digit() || c == '_' || is_mark(c) {
        None
    } else if lies_in(LATIN, c) {
        Some(Script::Latin)
    } else if lies_in(EAST_ASIAN, c) {
        Some(Script::EastAsian)
    } else {
        let known = OTHERS.iter().zip(0..).find(|(ranges, _)| lies_in(ranges, c)).map(|(_, number)| number);
        // Other scripts have blocks of this size, smaller ones below the supplementary planes.
        let size = if c > '\u{ffff}' { 10 } else { 7 };
        Some(Script::Other(known.unwrap_or((u32::from(c) >> size) + 1_000)))
    }
}

fn lies_in(ranges: &[(char, char)], c: char) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_script_are_whole_and_others_are_mixed() {
        for word in [
            "paypal",
            "naïve",
            "файл",
            "Ελλάδα",
            "שלום",
            "مرحبا",
            "日本語とカナ",
            "使用API",
            "한국어",
            "ไทย",
            "नमस्ते",
            "x2_y",
            "ሰላም",
            "ᏣᎳᎩ",
            "e\u{301}te",
        ] {
            assert!(!is_mixed(word), "{word}");
        }
        for word in [
            "p\u{430}ypal",
            "\u{3bf}k",
            "\u{455}udo",
            "аdmin",
            "\u{561}b",
            "rm\u{13a0}",
            "\u{3bf}\u{43e}",
            "日\u{430}",
            "a_\u{430}",
        ] {
            assert!(is_mixed(word), "{word}");
        }
    }
}
