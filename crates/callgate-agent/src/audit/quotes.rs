//! Quotes and brackets: where what they open ends, at any depth of escapes.

/// Whether a character opens and closes strings.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}

/// The place of the quote that closes a string which was opened by one with this many backslashes before it.
pub(super) fn closer(text: &str, open: usize, quote: char, slashes: usize) -> Option<usize> {
    let mut run = 0;
    for (at, c) in text[open..].char_indices() {
        match c {
            '\\' => run += 1,
            _ if c == quote && closes(run, slashes) => return Some(open + at - run.min(slashes)),
            _ => run = 0,
        }
    }
    None
}

/// How long what a bracket opens is at the start of a text, with the bracket that closes it; all of it if there is none.
pub(super) fn balanced(text: &str, opens: &str, closing: &str) -> usize {
    let mut depth = 0_usize;
    let mut quote: Option<(char, usize)> = None;
    let mut run = 0;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (_, '\\') => {
                run += 1;
                continue;
            }
            (Some((open, slashes)), _) if c == open && closes(run, slashes) => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some((c, run)),
            (None, _) if opens.contains(c) => depth += 1,
            (None, _) if closing.contains(c) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        run = 0;
    }
    text.len()
}

/// Whether a quote with `run` backslashes before it ends a string whose own quotes have `slashes`. A deeper string has
/// more of them; the string around has fewer, and its end is one for this too.
fn closes(run: usize, slashes: usize) -> bool {
    run % (2 * slashes + 2) <= slashes
}
