//! Labels: whether a name stands behind the label of a call, or before that of arguments, as in `Action: X`.

use super::likeness::NAME_WORDS;

/// How long a label may be.
const LONGEST_LABEL: usize = 32;

/// The label of a name behind which nothing need follow.
const LAST_LABEL: &str = "action";

/// How many words the label of arguments may have that stands below a name.
pub(super) const LABEL_WORDS: usize = 2;

/// `Action: X` with arguments in the next line, or right behind it, or last of all; the name may stand in quotes or brackets.
pub(super) fn is_labelled(before: &str, after: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before).trim_end_matches(['"', '\'', '`', '[']);
    let after = after.trim_start_matches(['"', '\'', '`', ']']);
    let Some(label) = label_of(line) else { return false };
    let Some(rest) = after.trim_start_matches([' ', '\t', '\r', '*']).strip_prefix('\n') else {
        let is_bracketed = || after.starts_with('[') && label == LAST_LABEL;
        return after.trim_start().starts_with('{')
            || is_bracketed()
            || label == LAST_LABEL && after.trim().is_empty();
    };
    let next = rest.trim_start();
    next.starts_with('{')
        || label == LAST_LABEL && next.is_empty()
        || next.lines().next().is_some_and(|line| {
            line.split_once(':').is_some_and(|(label, value)| {
                let label = label.to_ascii_lowercase();
                let begins_below = || next[line.len()..].trim_start().starts_with('{');
                speaks_of_arguments(&label)
                    && (value.trim_start().starts_with(['{', '[', '"']) || begins_below())
                    || label.contains("arg") && value.trim().is_empty()
                    || label.ends_with("action input")
            })
        })
        || is_line_of_argument(rest)
}

/// The words of the label that ends this line, if they speak of calls.
pub(super) fn label_of(line: &str) -> Option<String> {
    let label = line.trim_end_matches([' ', '\t', '*']).strip_suffix(':')?;
    let label = label.trim().trim_matches(|c: char| !c.is_alphanumeric());
    let is_short = !label.is_empty() && label.len() <= LONGEST_LABEL && !label.contains(['<', '{', '"']);
    is_short.then(|| label.to_ascii_lowercase()).filter(|label| speaks_of_calls(label))
}

/// `key: value` or `key <<END`, as the lines of arguments begin.
fn is_line_of_argument(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    rest.len() < line.len() && (rest.starts_with(": ") || rest.starts_with(" <<"))
}

/// `X` at the end of a short line, and `Action Input: {"…` below it: the label of arguments tells, whatever became of that
/// of the name.
pub(super) fn before_label(before: &str, after: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    let after = after.trim_start_matches(['"', '\'', '`', ']', '*', ' ', '\t', '\r']);
    let Some(next) = after.strip_prefix('\n') else { return false };
    let Some((label, inside)) = next.split_once('{') else { return false };
    let plain =
        |c: char| c.is_ascii_lowercase() || !c.is_ascii() || matches!(c, ' ' | '_' | ':' | '*' | '\n');
    let label = label.trim().to_ascii_lowercase();
    line.len() <= LONGEST_LABEL
        && label.len() <= LONGEST_LABEL
        && label.split_whitespace().count() <= LABEL_WORDS
        && label.chars().all(plain)
        && speaks_of_arguments(&label)
        && inside.trim_start().starts_with(['"', '}'])
}

/// Whether words in small letters tell that what they stand before is called.
pub(super) fn speaks_of_calls(words: &str) -> bool {
    NAME_WORDS.iter().any(|word| words.contains(word))
}

/// Whether words in small letters tell that what they stand before is given to a call.
pub(super) fn speaks_of_arguments(words: &str) -> bool {
    ["input", "arg", "param"].iter().any(|word| words.contains(word))
}
