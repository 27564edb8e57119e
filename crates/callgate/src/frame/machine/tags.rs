//! Tags in the text: which of them may belong to a call.

/// How long a word is read to its end. Longer ones are no tags of documents.
const LONGEST: usize = 48;

/// How the words begin that tags of calls are made of: tool, call, function, invoke, name, action, plugin, tag, argument,
/// parameter.
const STEMS: [[u8; 3]; 10] =
    [*b"too", *b"cal", *b"fun", *b"inv", *b"nam", *b"act", *b"plu", *b"tag", *b"arg", *b"par"];

/// Whether what begins with this `<` is a tag as any document has them: one word that neither speaks of calls nor is the
/// name of a tool. Where it has not come to its end, nothing is said of it.
pub(super) fn is_of_document(bytes: &[u8], is_tool: impl FnOnce(&[u8]) -> bool) -> bool {
    let inside = match bytes {
        [_, b'/', inside @ ..] | [_, inside @ ..] => inside,
        [] => return false,
    };
    let word = inside.iter().take(LONGEST).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let (word, rest) = inside.split_at(word);
    let is_closed = matches!(rest, [b'>', ..] | [b'/', b'>', ..]);
    is_closed && !word.is_empty() && !word.windows(STEMS[0].len()).any(is_stem) && !is_tool(word)
}

fn is_stem(letters: &[u8]) -> bool {
    STEMS.iter().any(|stem| letters.eq_ignore_ascii_case(stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_of_one_word_is_a_documents_unless_it_speaks_of_calls() {
        for (text, expected) in [
            ("<b>", true),
            ("</b>", true),
            ("<br/>", true),
            ("<String>", true),
            ("<h1>x", true),
            ("<look>", false),
            ("</LOOK>", false),
            ("<tool>", false),
            ("<FunctionCall>", false),
            ("</invoke>", false),
            ("<parameter>", false),
            ("<args>", false),
            ("<tool_call>", false),
            ("<a_b>", false),
            ("<b c=\"look\">", false),
            ("<b", false),
            ("<b ", false),
            ("<b/", false),
            ("<>", false),
            ("<|b|>", false),
            ("<", false),
        ] {
            let found = is_of_document(text.as_bytes(), |word| word.eq_ignore_ascii_case(b"look"));
            assert_eq!(found, expected, "{text}");
        }
    }
}
