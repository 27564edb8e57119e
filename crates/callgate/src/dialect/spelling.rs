//! Spellings: finding a literal in any of the ways a record lets it be written.

use std::borrow::Cow;

/// A stretch of a literal.
pub(crate) struct Piece<'r> {
    /// What is written.
    pub(crate) text: &'r str,
    /// What else is read in its place, if a row of `also` names it.
    pub(crate) others: Option<&'r [String]>,
}

/// What a closer may repeat of what stands before it, besides the name of the call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Repeats<'w> {
    pub(crate) key: &'w str,
    pub(crate) suffix: &'w str,
}

impl Repeats<'_> {
    /// A closer whose placeholders are filled in.
    pub(crate) fn fill<'c>(&self, closer: &'c str, name: &str) -> Cow<'c, str> {
        if memchr::memchr(b'{', closer.as_bytes()).is_none() {
            return Cow::Borrowed(closer);
        }
        let filled = closer.replace("{name}", name).replace("{key}", self.key);
        Cow::Owned(filled.replace("{suffix}", self.suffix))
    }
}

/// Cuts a literal at the rows of `also`, of which the longest counts where several begin.
pub(crate) fn pieces<'r>(literal: &'r str, also: &'r [(String, Vec<String>)]) -> Vec<Piece<'r>> {
    let mut pieces = Vec::new();
    let mut rest = literal;
    while !rest.is_empty() {
        let found = also
            .iter()
            .filter_map(|(key, others)| rest.find(key.as_str()).map(|at| (at, key, others)))
            .min_by_key(|(at, key, _)| (*at, usize::MAX - key.len()));
        let plain_end = found.as_ref().map_or(rest.len(), |(at, _, _)| *at);
        if plain_end > 0 {
            pieces.push(Piece { text: &rest[..plain_end], others: None });
        }
        let Some((at, key, others)) = found else { break };
        pieces.push(Piece { text: key, others: Some(others) });
        rest = &rest[at + key.len()..];
    }
    pieces
}

/// Cuts a literal into its tokens, between which white space is free: tags and special tokens as wholes, brackets and the
/// punctuation of JSON by themselves, and words. Inside of a tag white space is free before its end and around `=`.
pub(crate) fn tokens(literal: &str) -> Vec<&str> {
    literal.split_whitespace().flat_map(run_tokens).collect()
}

/// Cuts a literal into its markers (tags, special tokens, words in brackets), and what stands between them.
pub(crate) fn markers(literal: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for run in literal.split_whitespace() {
        let (mut rest, mut between) = (run, 0);
        while between < rest.len() {
            let length = match marker_length(&rest[between..]) {
                0 if rest[between..].starts_with(['[', ']']) => 1,
                length => length,
            };
            if length == 0 {
                between += rest[between..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            if between > 0 {
                found.push(&rest[..between]);
            }
            found.push(&rest[between..between + length]);
            rest = &rest[between + length..];
            between = 0;
        }
        if !rest.is_empty() {
            found.push(rest);
        }
    }
    found
}

/// The tokens of a literal without white space.
fn run_tokens(run: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let (mut start, mut marker_end) = (0, 0);
    let mut before = None;
    for (at, c) in run.char_indices() {
        let is_inside = at < marker_end;
        let is_cut = if is_inside { is_seam_in_tag(before, c) } else { is_seam(before, &run[at..], c) };
        if at > start && (is_cut || at == marker_end) {
            tokens.push(&run[start..at]);
            start = at;
        }
        if !is_inside {
            marker_end = at + marker_length(&run[at..]);
        }
        before = Some(c);
    }
    if start < run.len() {
        tokens.push(&run[start..]);
    }
    tokens
}

/// How long the tag, the special token or the word in brackets is that begins here; nothing if none does.
fn marker_length(text: &str) -> usize {
    let mut chars = text.chars();
    // A tag may go on in the next part of a template; a bracket that nothing closes is one by itself.
    match (chars.next(), chars.next()) {
        (Some('<'), _) => text.find('>').map_or(text.len(), |at| at + 1),
        (Some('['), Some(c)) if c.is_alphanumeric() || c == '/' => text.find(']').map_or(0, |at| at + 1),
        _ => 0,
    }
}

/// Whether white space is free before this character of a tag.
fn is_seam_in_tag(before: Option<char>, c: char) -> bool {
    let ends_word = before.is_some_and(|before| before.is_alphanumeric() || before == '_');
    let quotes = |c: char| matches!(c, '"' | '\'');
    match c {
        '>' => ends_word || before.is_some_and(quotes),
        '=' => ends_word,
        _ => before == Some('=') && quotes(c),
    }
}

/// Whether white space is free between these two characters of a literal, where no marker is open. A literal may begin
/// inside of a tag.
fn is_seam(before: Option<char>, text: &str, c: char) -> bool {
    let Some(before) = before else { return false };
    let is_bracket = |c: char| matches!(c, '[' | ']' | '{' | '}' | '(' | ')');
    let quotes = |c: char| matches!(c, '"' | '\'');
    is_bracket(before)
        || is_bracket(c)
        || marker_length(text) > 1 && c == '<'
        || quotes(before) && matches!(c, ':' | ',')
        || matches!(before, ':' | ',') && quotes(c)
        || is_seam_in_tag(Some(before), c)
}

/// A literal in all the ways in which it is read: pieces with free white space between them, each with its spellings.
#[derive(Clone, Debug)]
pub(super) struct Spelled {
    /// Per piece what is read there, the written spelling first.
    pieces: Vec<Vec<String>>,
}

impl Spelled {
    /// Cuts a literal.
    pub(super) fn new(literal: &str, also: &[(String, Vec<String>)]) -> Spelled {
        let spellings = |piece: Piece<'_>| {
            let others = piece.others.unwrap_or_default().iter().cloned();
            std::iter::once(piece.text.to_owned()).chain(others).collect()
        };
        Spelled { pieces: pieces(literal, also).into_iter().map(spellings).collect() }
    }

    /// The literal as it is written.
    pub(super) fn written(&self) -> String {
        self.pieces.iter().filter_map(|spellings| spellings.first()).map(String::as_str).collect()
    }

    /// Every way of writing it, the written one first.
    pub(super) fn spellings(&self) -> Vec<String> {
        let mut all = vec![String::new()];
        for piece in &self.pieces {
            let longer = piece.iter().flat_map(|spelling| {
                let all = &all;
                all.iter().map(move |start| format!("{start}{spelling}"))
            });
            all = longer.collect();
        }
        all
    }

    /// Only its beginning: up to the first piece that cannot be absent.
    pub(super) fn beginning(mut self) -> Spelled {
        let required = self.pieces.iter().position(|spellings| !may_be_absent(spellings));
        if let Some(index) = required {
            self.pieces.truncate(index + 1);
        }
        self
    }

    /// Whether all of it may be absent.
    pub(super) fn is_optional(&self) -> bool {
        self.pieces.iter().all(|spellings| may_be_absent(spellings))
    }

    /// Whether it is white space only.
    pub(super) fn is_blank(&self) -> bool {
        self.pieces.iter().flatten().all(|spelling| spelling.trim().is_empty())
    }

    /// Every place where it can end if it starts at `position`; absent pieces are allowed, but not all of them.
    pub(super) fn ends_at(&self, text: &str, position: usize) -> Vec<usize> {
        let mut ends = vec![position];
        for spellings in &self.pieces {
            let mut next = Vec::new();
            for end in &ends {
                for spelling in spellings {
                    if let Some(found) = eat(text, *end, spelling)
                        && !next.contains(&found)
                    {
                        next.push(found);
                    }
                }
            }
            ends = next;
        }
        ends.retain(|end| *end > position);
        ends
    }

    /// Whether it stands at `position`, after white space if `position` is a seam.
    pub(super) fn starts_at(&self, text: &str, position: usize) -> bool {
        !self.ends_at(text, position).is_empty()
    }

    /// Whether a place where it can start has this character.
    pub(super) fn can_start_with(&self, character: char) -> bool {
        for spellings in &self.pieces {
            if spellings.iter().any(|spelling| spelling.trim_start().starts_with(character)) {
                return true;
            }
            if !may_be_absent(spellings) {
                return false;
            }
        }
        false
    }
}

/// Whether a piece with these spellings need not be there: white space is free.
fn may_be_absent(spellings: &[String]) -> bool {
    spellings.iter().any(|spelling| spelling.trim().is_empty())
}

/// The end of `word` if it stands at `position`, with white space before it and between its tokens free.
fn eat(text: &str, position: usize, word: &str) -> Option<usize> {
    let mut end = position;
    for token in tokens(word) {
        end += blank(&text[end..]);
        if !text[end..].starts_with(token) {
            return None;
        }
        end += token.len();
    }
    Some(end)
}

/// How many bytes of white space a text starts with.
pub(super) fn blank(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn also() -> Vec<(String, Vec<String>)> {
        vec![("</b>".to_owned(), vec![String::new()]), ("<c ".to_owned(), vec!["<d".to_owned()])]
    }

    #[test]
    fn pieces_may_be_absent_or_spelled_otherwise() {
        let spelled = Spelled::new("\n</b>\n<c x>", &also());
        for text in ["</b><c x>", "</b> \n <c  x>", "<c x>", "<d x>", "</b><dx>"] {
            assert!(spelled.starts_at(text, 0), "{text}");
        }
        for text in ["</b>", "<e x>", "</b><e x>"] {
            assert!(!spelled.starts_at(text, 0), "{text}");
        }
        assert!(!spelled.is_optional());
        assert!(Spelled::new("</b>", &also()).is_optional());
        assert!(spelled.can_start_with('<') && !spelled.can_start_with('x'));
    }

    #[test]
    fn tokens_are_markers_brackets_and_words() {
        for (literal, wanted) in [
            ("<TOOLCALL>[", &["<TOOLCALL", ">", "["][..]),
            ("]</TOOLCALL>", &["]", "</TOOLCALL", ">"]),
            ("<|tool_call_start|>[", &["<|tool_call_start|>", "["]),
            (
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>",
                &["<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"],
            ),
            ("[TOOL_CALLS][", &["[TOOL_CALLS]", "["]),
            ("{\"tool_calls\": [", &["{", "\"tool_calls\"", ":", "["]),
            ("<invoke name=\"", &["<invoke", "name", "=", "\""]),
            ("\">", &["\"", ">"]),
            ("<parameter=", &["<parameter", "="]),
            ("[Calling tool:", &["[", "Calling", "tool:"]),
            ("Action:", &["Action:"]),
            ("✿FUNCTION✿:", &["✿FUNCTION✿:"]),
            ("-->", &["-->"]),
        ] {
            assert_eq!(tokens(literal), wanted, "{literal}");
        }
    }

    #[test]
    fn every_way_of_writing_it_begins_with_the_written_one() {
        let spelled = Spelled::new("\n</b>\n<c x>", &also());
        assert_eq!(spelled.written(), "\n</b>\n<c x>");
        assert_eq!(spelled.spellings(), ["\n</b>\n<c x>", "\n\n<c x>", "\n</b>\n<dx>", "\n\n<dx>"]);
    }

    #[test]
    fn the_beginning_ends_at_the_first_required_piece() {
        let spelled = Spelled::new("</b><c rest", &also()).beginning();
        assert!(spelled.starts_at("</b><c", 0));
        assert!(spelled.starts_at("<c", 0));
        assert!(!spelled.starts_at("</b>", 0));
    }
}
