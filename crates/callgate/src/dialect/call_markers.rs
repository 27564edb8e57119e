//! Markers of calls: whether a tag or a token is one that nothing but calls has, however it is written.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::record::Record;
use crate::bytes::character_start;

/// How much of a text tells whether it begins with a marker.
const LONGEST: usize = 160;

/// Whether the text begins with a marker that only calls have, in whatever letters and bars it is written.
pub(crate) fn is_call_marker(text: &str) -> bool {
    static MARKERS: LazyLock<HashSet<String>> = LazyLock::new(call_markers);
    // Behind every such sign of a long text its end may be far.
    let text = &text[..character_start(text, LONGEST)];
    if !has_sign(text) {
        return false;
    }
    let marker = folded(text);
    let without_suffix = marker.rsplit_once(':').map(|(marker, _)| marker);
    MARKERS.contains(&marker) || without_suffix.is_some_and(|marker| MARKERS.contains(marker))
}

/// Whether a tag or token has a sign that every marker of calls has and most tags of documents have not.
fn has_sign(text: &str) -> bool {
    let text = text.get(1..).unwrap_or_default().trim_start_matches([' ', '/']);
    let (word, rest) = text.split_at(text.find(['>', ']', ' ', '\n']).unwrap_or(text.len()));
    let begins =
        |text: &str, with: &str| text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    word.contains(['_', '|', '｜', '▁', '=', ':', '-', '\\'])
        || begins(word, "toolcall")
        || begins(rest, " name=")
}

/// The markers of all dialects that nothing but calls has.
fn call_markers() -> HashSet<String> {
    let mut found = HashSet::new();
    for record in Record::builtin() {
        let templates = record.open.iter().chain(&record.close).chain(&record.call).chain(&record.param);
        let others = record.also.iter().flat_map(|(_, others)| others).map(String::as_str);
        let literals = templates.flat_map(|template| template.literals()).chain(others);
        let starts =
            literals.flat_map(|literal| literal.match_indices(['<', '[']).map(|(at, _)| &literal[at..]));
        found.extend(starts.map(folded).filter(|marker| is_telling(marker)));
    }
    found
}

/// Whether a marker speaks of calls, and is no word that other documents have for a tag.
fn is_telling(marker: &str) -> bool {
    let words: &[&str] = match marker.contains(' ') {
        // Many documents have parameters with names.
        true => &["tool", "call", "func", "invoke"],
        false => &["tool", "call", "func", "invoke", "arg", "param"],
    };
    let speaks = words.iter().any(|word| marker.contains(word));
    speaks && (marker.contains(['_', '|', '=', ':']) || marker.contains("toolcall"))
}

/// A marker up to the end of its first word, or of `name=` behind that, in small letters and ASCII, without what
/// tokenizers leave behind.
fn folded(text: &str) -> String {
    let mut marker = String::new();
    for (at, c) in text.char_indices().take(48) {
        match c {
            '<' | '[' if marker.is_empty() => marker.push(c),
            ' ' if marker.len() == 1 => {}
            'Ġ' | 'Ċ' | '\\' => {}
            '-' | '▁' => marker.push('_'),
            '｜' => marker.push('|'),
            '_' | '|' | '/' | ':' => marker.push(c),
            c if c.is_alphanumeric() => marker.extend(c.to_lowercase()),
            '=' => {
                marker.push(c);
                break;
            }
            ' ' if text.get(at + 1..at + 6).is_some_and(|next| next.eq_ignore_ascii_case("name=")) => {
                marker.push_str(" name=");
                break;
            }
            _ => break,
        }
    }
    marker
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marker_of_calls_has_a_sign() {
        let markers = call_markers();
        assert!(markers.len() > 60, "only {} markers", markers.len());
        assert!(markers.iter().all(|marker| has_sign(marker)), "{markers:?}");
    }

    #[test]
    fn a_marker_of_calls_is_one_in_other_letters_too() {
        for (text, expected) in [
            ("<TOOL_CALL>{", true),
            ("< tool_call>", true),
            ("<tool-call>", true),
            ("<tool\\_call>", true),
            ("</tool_call>", true),
            ("<|tool▁calls▁begin|>", true),
            ("<Function=f>", true),
            ("[tool_calls][", true),
            ("<arg_key>q", true),
            ("<FUNCTION name=\"f\">", true),
            ("<function>", false),
            ("<parameter name=\"q\">", false),
            ("<tool>", false),
            ("[args]", false),
            ("< 4 tool_calls", false),
        ] {
            assert_eq!(is_call_marker(text), expected, "{text}");
        }
    }
}
