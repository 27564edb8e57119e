//! Spellings: finding a literal in any of the ways a record lets it be written.

/// A literal cut at the rows of `also`: pieces with free white space between them, each with its spellings.
pub(super) struct Spelled {
    pieces: Vec<Vec<String>>,
}

impl Spelled {
    /// Cuts a literal. White space around it and between its pieces is free, so it is left out.
    pub(super) fn new(literal: &str, also: &[(String, Vec<String>)]) -> Spelled {
        let mut pieces = Vec::new();
        let mut plain_start = 0;
        let mut position = 0;
        while position < literal.len() {
            let rest = &literal[position..];
            let rows = also.iter().filter(|(key, _)| rest.starts_with(key.as_str()));
            if let Some((key, others)) = rows.max_by_key(|(key, _)| key.len()) {
                push_plain(&mut pieces, &literal[plain_start..position]);
                let mut spellings = vec![key.trim().to_owned()];
                spellings.extend(others.iter().map(|other| other.trim().to_owned()));
                pieces.push(spellings);
                position += key.len();
                plain_start = position;
            } else {
                position += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        push_plain(&mut pieces, &literal[plain_start..]);
        Spelled { pieces }
    }

    /// Only its beginning: up to the first piece that cannot be absent.
    pub(super) fn beginning(mut self) -> Spelled {
        let required = self.pieces.iter().position(|spellings| !spellings.iter().any(String::is_empty));
        if let Some(index) = required {
            self.pieces.truncate(index + 1);
        }
        self
    }

    /// Whether all of it may be absent.
    pub(super) fn is_optional(&self) -> bool {
        self.pieces.iter().all(|spellings| spellings.iter().any(String::is_empty))
    }

    /// Whether it is white space only.
    pub(super) fn is_blank(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Every place where it can end if it starts at `position`; absent pieces are allowed, but not all of them.
    pub(super) fn ends_at(&self, text: &str, position: usize) -> Vec<usize> {
        let mut ends = vec![position];
        for spellings in &self.pieces {
            let mut next = Vec::new();
            for end in &ends {
                for spelling in spellings {
                    let found = if spelling.is_empty() { Some(*end) } else { eat(text, *end, spelling) };
                    if let Some(found) = found
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
            if spellings.iter().any(|spelling| spelling.starts_with(character)) {
                return true;
            }
            if !spellings.iter().any(String::is_empty) {
                return false;
            }
        }
        false
    }
}

fn push_plain(pieces: &mut Vec<Vec<String>>, text: &str) {
    if !text.trim().is_empty() {
        pieces.push(vec![text.trim().to_owned()]);
    }
}

/// The end of `word` if it stands at `position`, with white space before it and between its words free.
fn eat(text: &str, position: usize, word: &str) -> Option<usize> {
    let mut end = position;
    for run in word.split_whitespace() {
        end += blank(&text[end..]);
        if !text[end..].starts_with(run) {
            return None;
        }
        end += run.len();
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
    fn the_beginning_ends_at_the_first_required_piece() {
        let spelled = Spelled::new("</b><c rest", &also()).beginning();
        assert!(spelled.starts_at("</b><c", 0));
        assert!(spelled.starts_at("<c", 0));
        assert!(!spelled.starts_at("</b>", 0));
    }
}
