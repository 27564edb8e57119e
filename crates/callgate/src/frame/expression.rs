//! Expressions: text that as a whole is a call, whoever it calls. Where no list says which words are the names of tools, or
//! the tool is not on it, the shape of all of a text tells a call from words.

use super::likeness::{
    NAME_WORDS, begins_with_arguments, ends_with_name, has_several_words, is_call_object, is_name_character,
};

/// How many words a name may be written in that has none but low lines between them.
const MOST_WORDS: usize = 3;

/// How long the label before a name may be.
const LONGEST_LABEL: usize = 32;

/// How long what stands between a name in its line and its object may be: a sentence, or the first line of a code fence.
const LONGEST_GAP: usize = 96;

/// What may stand before an object: a list, or the colon behind a word.
const OPENING: [char; 6] = ['[', ':', ' ', '\t', '\n', '\r'];

/// What a label may end with behind its colon.
const LABEL_END: [char; 3] = ['*', '\n', '\r'];

/// What formats are asked for by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AskedFormats {
    #[default]
    None,
    /// Those whose calls begin with a tag or a token.
    Marked,
    /// One of them has calls that nothing marks.
    Unmarked,
}

/// Text without the signs of a quotation and of code, which are none of a call, and with the white space that a tokenizer
/// shows otherwise.
pub(super) fn bared(text: &str) -> String {
    let text = text.strip_prefix("> ").unwrap_or(text).replace("\n> ", "\n");
    text.replace('`', "").replace('Ċ', "\n").replace('Ġ', " ")
}

/// Whether a text is a call as a whole, by its beginning and its end. The beginning is all of it if it `is_all`.
pub(super) fn is_call(head: &str, is_all: bool, end: &str, asked: AskedFormats) -> bool {
    // Most text ends with no bracket of a call, whatever stands behind that.
    let last = end.trim_end_matches([' ', '\t', '\n', '\r', ';', ',', ']', '`', '>', 'Ċ', 'Ġ']);
    if asked == AskedFormats::None && !last.ends_with(['}', ')']) {
        return false;
    }
    // A code fence may be around it, whose first line says what is in it.
    let lead = head.trim_start_matches(['>', ' ', '\t', '\n', '\r']);
    let head = bared(lead);
    let line = head.split_once('\n').filter(|_| lead.starts_with("```"));
    let head = line.filter(|(info, _)| info.chars().all(is_name_character)).map_or(&*head, |(_, rest)| rest);
    let end = bared(end);
    let end = end.trim_end_matches([' ', '\t', '\n', '\r', ';', ',', ']']);
    let inner = head.trim_start_matches(['[', '>', ' ', '\t', '\n', '\r']);
    let (is_labelled, inner) = without_label(inner.trim_start_matches('*'));
    if end.ends_with('}') && is_object(inner.trim_start_matches(LABEL_END), end) {
        return true;
    }
    if asked != AskedFormats::None && is_keyed(inner, end) {
        return true;
    }
    let (words, rest) = name(inner);
    let is_name = match words {
        // In a list of calls one may have lost its name.
        0 => head.trim_start().starts_with('['),
        1 => true,
        _ => asked != AskedFormats::None,
    };
    if !is_name {
        return false;
    }
    let name = inner[..inner.len() - rest.len()].trim_end();
    let is_telling = asked != AskedFormats::None || is_labelled || has_several_words(name);
    if words == 1 && rest.trim().is_empty() && is_all {
        return asked != AskedFormats::None && name.contains('_');
    }
    is_application(rest, asked) && end.ends_with(')')
        || words > 0 && is_telling && end.ends_with('}') && is_header(rest, is_labelled, words, asked)
}

/// An object that has the name of a tool and arguments, by itself, in a list that is the only member of another, or behind a
/// word: a label or the first line of a code fence, or both.
fn is_object(text: &str, end: &str) -> bool {
    let label = text.trim_start_matches(is_name_character);
    let info = label
        .strip_prefix(':')
        .map_or(label, |info| info.trim_start_matches(OPENING).trim_start_matches(is_name_character));
    let object = info.trim_start_matches(OPENING);
    let inner = || {
        let (key, list) = object.strip_prefix('{')?.trim_start().strip_prefix('"')?.split_once('"')?;
        let list = list.trim_start().strip_prefix(':')?.trim_start_matches(OPENING);
        key.chars().all(is_name_character).then_some(list)
    };
    let is_call = |object| is_call_object(object) || begins_with_arguments(object) && ends_with_name(end);
    is_call(object) || inner().is_some_and(is_call)
}

/// Whether a word between these texts begins a line in which it is called with arguments that have names.
pub(super) fn begins_application(before: &str, after: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    let Some(inside) = after.strip_prefix('(') else { return false };
    line.trim_start_matches(['[', ' ']).is_empty() && has_key(inside, '=')
}

/// What follows a label of tools, as in `Calling tool: X`, and whether there is one.
fn without_label(text: &str) -> (bool, &str) {
    let label = text.split_once(':').filter(|(label, _)| {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_');
        label.len() <= LONGEST_LABEL && label.chars().all(is_plain)
    });
    let speaks = |label: &str| {
        let label = label.to_ascii_lowercase();
        NAME_WORDS.iter().any(|word| label.contains(word))
    };
    match label.filter(|(label, _)| speaks(label)) {
        Some((_, rest)) => (true, rest.trim_start()),
        None => (false, text),
    }
}

/// How many words a text begins with that can be a name, and what follows them.
fn name(text: &str) -> (usize, &str) {
    let (mut words, mut rest) = (0, text);
    while words < MOST_WORDS {
        let next = rest.strip_prefix(' ').filter(|_| words > 0).unwrap_or(rest);
        if words > 0 && next.len() == rest.len() || !begins_word(next) {
            break;
        }
        words += 1;
        rest = next.trim_start_matches(is_name_character);
    }
    (words, rest)
}

fn begins_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// `(key=…`, `({…`, or `()` with nothing but other calls behind it. If it is asked for, also `("…`.
fn is_application(rest: &str, asked: AskedFormats) -> bool {
    let Some(inside) = rest.strip_prefix('(') else { return false };
    let inside = inside.trim_start();
    if let Some(rest) = inside.strip_prefix(')') {
        let rest = rest.trim_start_matches([' ', ',', ';', ']', '\n', '\r']);
        return rest.is_empty() || name(rest).1.starts_with('(');
    }
    has_key(inside, '=')
        || inside.starts_with("{\"")
        || inside.starts_with("{}")
        || asked != AskedFormats::None && inside.starts_with(['"', '\''])
}

/// `{"X": {…}}`.
fn is_keyed(text: &str, end: &str) -> bool {
    let Some(inside) = text.strip_prefix('{') else { return false };
    let Some(quoted) = inside.trim_start().strip_prefix('"') else { return false };
    let Some((key, value)) = quoted.split_once('"') else { return false };
    let is_name = begins_word(key) && key.chars().all(|c| is_name_character(c) || c == ' ');
    let is_object =
        value.trim_start().strip_prefix(':').is_some_and(|value| value.trim_start().starts_with('{'));
    let closes_both = end.strip_suffix('}').is_some_and(|end| end.trim_end().ends_with('}'));
    is_name && is_object && closes_both
}

/// `X{"key": …` and `X⏎{…`; behind a label also `X{key: …`. Where such calls are asked for, the line of the name may be
/// followed by a code fence or a sentence.
fn is_header(rest: &str, is_labelled: bool, words: usize, asked: AskedFormats) -> bool {
    let after = rest.strip_prefix('>').unwrap_or(rest);
    let object = after.trim_start();
    if let Some(inside) = object.strip_prefix('{') {
        let inside = inside.trim_start();
        let gap = after.len() - object.len();
        return gap <= 4
            && (inside.starts_with('"')
                || inside.starts_with('}') && words == 1
                || is_labelled && has_key(inside, ':'));
    }
    let is_line = rest.starts_with(['\n', '\r']) && asked == AskedFormats::Unmarked;
    let object = rest.find('{').filter(|at| is_line && *at <= LONGEST_GAP).map(|at| &rest[at + 1..]);
    object.is_some_and(|inside| inside.trim_start().starts_with(['"', '}']))
}

/// Whether a key begins here, before this sign.
fn has_key(text: &str, sign: char) -> bool {
    let rest = text.trim_start_matches(is_name_character);
    let value = rest.trim_start().strip_prefix(sign);
    rest.len() < text.len() && value.is_some_and(|value| !value.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_a_call_is_told_by_its_shape() {
        use AskedFormats::{Marked, None, Unmarked};
        for (text, least) in [
            ("look_up(q=\"a\")", Some(None)),
            ("[look(q=1), find(r=2)]", Some(None)),
            ("[look(), find(r=2)]", Some(None)),
            ("look(q=1)]", Some(None)),
            ("look()", Some(None)),
            ("look.call(q=1)", Some(None)),
            ("[\nCalling tool: look({\"q\": 1})]", Some(None)),
            ("[CallingĠtool:Ġlook({\"q\": 1})]", Some(None)),
            ("[(q=1), look(r=2)]", Some(None)),
            ("```tool_code\nlook(q=1)\n```", Some(None)),
            ("```tool_codeĊlook(q=1)Ċ```", Some(None)),
            ("```tool_codelook(q=1)```", Some(None)),
            ("> ```tool_code\n> look(q=1)\n> ```", Some(None)),
            ("look_up\n{\"q\": 1}", Some(None)),
            ("call:look{q:1}", Some(None)),
            ("{\"name\": \"look\", \"arguments\": {\"q\": 1}}", Some(None)),
            ("[{\"name\": \"look\", \"arguments\": {\"q\": 1}}]", Some(None)),
            ("functools[{\"name\": \"look\", \"arguments\": {\"q\": 1}}]", Some(None)),
            ("{\"tool_calls\": [{\"name\": \"look\", \"arguments\": {}}]}", Some(None)),
            ("Action:```json\n[{\"tool_name\": \"look\", \"parameters\": {}}]```", Some(None)),
            ("{\"arguments\": {\"q\": 1}, \"name\": \"look\"}", Some(None)),
            ("**Tool Call:**\n```json\n{\"arguments\": {\"q\": 1}, \"name\": \" look\\n\"}\n```", Some(None)),
            ("{\"arguments\": {\"q\": 1}, \"count\": 2}", Option::None),
            ("{\"name\": \"look\", \"parameters\": {\"type\": \"object\"}}", Option::None),
            ("The answer: {\"name\": \"look\", \"arguments\": {}}", Option::None),
            ("look up(q=1)", Some(Marked)),
            ("look(\"a\")", Some(Marked)),
            ("look\n{\"q\": 1}", Some(Marked)),
            ("look>{\"q\": 1}", Some(Marked)),
            ("> >>>look\n> {\"q\": 1}", Some(Marked)),
            ("look up\n{\"q\": 1}", Some(Marked)),
            ("{\"look\": {\"q\": 1}}", Some(Marked)),
            ("[{\"look\": {}}, {\"find\": {}}]", Some(Marked)),
            ("```json\n{\"look\": {\"q\": 1}}\n```", Some(Marked)),
            ("look_up", Some(Marked)),
            ("look\n\n```json\n{\"q\": 1}\n```\n", Some(Unmarked)),
            ("look\n`{}`", Some(Marked)),
            ("look\nHere it is: {\"q\": 1}", Some(Unmarked)),
            ("look", Option::None),
            ("Yes.", Option::None),
            ("look(q=1) is how it is called.", Option::None),
            ("I look (as always)", Option::None),
            ("main(argc, argv)", Option::None),
            ("if (x == 1) y()", Option::None),
            ("{\"rows\": [1, 2]}", Option::None),
            ("{\"user\": {\"id\": 1}, \"rows\": [1]}", Option::None),
            ("body {color: red}", Option::None),
            ("Note: {\"a\": 1}", Option::None),
            ("# Title\n\nlook(q=1)", Option::None),
            ("one\ntwo", Option::None),
        ] {
            for asked in [None, Marked, Unmarked] {
                let expected = least.is_some_and(|least| least as usize <= asked as usize);
                assert_eq!(is_call(text, true, text, asked), expected, "{asked:?}: {text}");
            }
        }
    }

    #[test]
    fn an_application_begins_its_line_and_has_keys() {
        for (before, after, expected) in [
            ("Sure.\n", "(q=1)", true),
            ("[", "(q = 1)", true),
            ("", "(q==1)", false),
            ("x = ", "(q=1)", false),
            ("", "(1)", false),
        ] {
            assert_eq!(begins_application(before, after), expected, "{before}X{after}");
        }
    }
}
