//! Places: where in what was written the name, the keys and the values of an attempt stand, however they are spelled there.

use super::{Attempt, Name};
use crate::finding::Span;
use crate::json::{Kind, Tape};

/// How many keys and values may be spelled in ways that are not known here before nothing is told of those behind them.
const UNFOUND: usize = 16;

impl Attempt {
    /// Where the value at a JSON pointer of the arguments stands in the input, or what should have held it, if that can
    /// be told. In a structured call it is a place in its arguments.
    pub(crate) fn place(&self, text: &str, tape: &Tape, pointer: &str) -> Option<Span> {
        let (node, key) = tape.resolve(text, pointer)?;
        self.place_of(text, tape, node, key.as_deref())
    }

    /// The same for a value of the tape.
    pub(crate) fn place_of(&self, text: &str, tape: &Tape, node: usize, key: Option<&str>) -> Option<Span> {
        let body = self.body();
        let (value, written) = ((node, None), &self.raw[..]);
        // As it is, in its order among the others, or as the only text of its kind behind its key.
        let found = tape
            .find_written(text, value, written, body)
            .or_else(|| {
                let mut starts = body.into_iter().chain([0]);
                starts.find_map(|from| in_order(text, tape, node, (written, from)))
            })
            .or_else(|| tape.find_written(text, (node, key), written, body))?;
        Some(self.in_input(found))
    }

    /// Where the name stands that was written.
    pub(crate) fn place_of_name(&self, name: &Name) -> Option<Span> {
        Some(self.in_input(self.found_name(name.text()?)?))
    }

    /// Where this key of the call itself stands for the second time.
    pub(crate) fn place_of_second(&self, key: &str) -> Option<Span> {
        let found = occurrences(&self.raw, 0, key).filter(|found| !self.is_in_body(found));
        let is_key = |found: &Span| {
            let behind = self.raw[found.end..].trim_start_matches(['"', '\'', '\\']).trim_start();
            behind.starts_with([':', '='])
        };
        Some(self.in_input(found.filter(is_key).nth(1)?))
    }

    /// Where a name stands in the text of the frame, and not in its markup or arguments, if it stands anywhere else.
    fn found_name(&self, name: &str) -> Option<Span> {
        let is_name = |found: &Span| {
            let before = self.raw[..found.start].trim_end_matches(['"', '\'', '\\']);
            let behind = self.raw[found.end..].trim_start_matches(['"', '\'', '\\']);
            !before.ends_with(['<', '/']) && !behind.trim_start().starts_with([':', '='])
        };
        let all = || occurrences(&self.raw, 0, name).filter(|found| !self.is_in_body(found));
        all().find(is_name).or_else(|| all().next())
    }

    /// Where the arguments begin in the text of the frame.
    fn body(&self) -> Option<usize> {
        let start = self.span.map_or(0, |span| span.start);
        self.body_start.and_then(|body| body.checked_sub(start))
    }

    fn is_in_body(&self, found: &Span) -> bool {
        let length = self.tape.nodes().first().map_or(0, |root| root.end());
        // What has not ended goes on for ever.
        self.body().is_some_and(|body| (body..body.saturating_add(length)).contains(&found.start))
    }

    fn in_input(&self, found: Span) -> Span {
        let start = self.span.map_or(0, |span| span.start);
        Span::new(start + found.start, start + found.end)
    }
}

/// Where a value stands, going through all keys and values before it in their order. What is spelled in another way than it
/// was read, as with escapes, is passed over.
fn in_order(text: &str, tape: &Tape, node: usize, (written, from): (&str, usize)) -> Option<Span> {
    let (mut at, mut behind_key, mut first, mut unfound) = (from, from, None, 0);
    let last = tape.nodes().get(node)?.after();
    for (index, one) in tape.nodes().iter().enumerate().take(last).skip(1) {
        if let Some(key) = tape.key(text, index) {
            let found = first_of(written, at, &key);
            first = first.or(found.filter(|_| index > node).map(|found| found.start));
            match found {
                Some(found) => at = found.end,
                None if index >= node => return None,
                None => unfound += 1,
            }
        }
        if index == node {
            behind_key = at;
        }
        if !matches!(one.kind, Kind::Object | Kind::Array) {
            let found = spelled(text, tape, index, (written, at));
            if index == node {
                let number = || (one.kind != Kind::String).then(|| word_behind(written, at)).flatten();
                return found.map(|found| with_quotes(written, found)).or_else(number);
            }
            first = first.or(found.filter(|_| index > node).map(|found| found.start));
            match found {
                Some(found) => at = with_quotes(written, found).end,
                None => unfound += 1,
            }
        }
        if unfound > UNFOUND {
            return None;
        }
    }
    let Some(first) = first else {
        let empty = tape.raw(text, node);
        return first_of(written, behind_key, empty).filter(|_| node > 0);
    };
    let found = with_brackets(written, with_quotes(written, Span::new(first, at)));
    // All arguments together are a value only where they are written as one.
    (node > 0 || written[found.start..].starts_with(['{', '['])).then_some(found)
}

/// Where a text stands in what was written, from a place on, and not inside of a word or a number.
fn occurrences<'w>(written: &'w str, from: usize, text: &'w str) -> impl Iterator<Item = Span> + use<'w> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let is_word = move |c: char| c.is_alphanumeric() || c == '_' || is_number && matches!(c, '.' | '-');
    let rest = written.get(from..).filter(|_| !text.is_empty()).unwrap_or_default();
    rest.match_indices(text).map(move |(at, text)| Span::new(from + at, from + at + text.len())).filter(
        move |found| {
            let goes_on = |before: Option<char>, behind: Option<char>| {
                before.is_some_and(is_word) && behind.is_some_and(is_word)
            };
            !goes_on(written[..found.start].chars().next_back(), text.chars().next())
                && !goes_on(text.chars().next_back(), written[found.end..].chars().next())
        },
    )
}

/// Where a single value stands, as it was read, as the text in it, or as the word that Python has for it.
fn spelled(text: &str, tape: &Tape, node: usize, (written, from): (&str, usize)) -> Option<Span> {
    let raw = tape.raw(text, node);
    let content = tape.string(text, node);
    let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let in_python = match raw {
        "true" => Some("True"),
        "false" => Some("False"),
        "null" => Some("None"),
        _ => None,
    };
    let spellings = [inner.or(Some(raw)), content.as_deref(), in_python];
    spellings.into_iter().flatten().find_map(|spelling| first_of(written, from, spelling))
}

fn first_of(written: &str, from: usize, text: &str) -> Option<Span> {
    occurrences(written, from, text).next()
}

/// The word behind a key, which was read as something else.
fn word_behind(written: &str, from: usize) -> Option<Span> {
    let rest = written.get(from..)?;
    let start =
        rest.find(|c: char| !c.is_whitespace() && !matches!(c, ':' | '=' | '"' | '\'' | '\\' | '>'))?;
    let word = &rest[start..];
    let length = word.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '+' | '-'));
    let length = length.unwrap_or(word.len());
    (length > 0).then_some(Span::new(from + start, from + start + length))
}

/// The span with the quotes around it.
fn with_quotes(written: &str, found: Span) -> Span {
    let before = written[..found.start].chars().next_back();
    let is_quoted = matches!(before, Some('"' | '\'')) && written[found.end..].chars().next() == before;
    let width = usize::from(is_quoted);
    Span::new(found.start - width, found.end + width)
}

/// The span with the brackets around it.
fn with_brackets(written: &str, found: Span) -> Span {
    let is_gap = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\');
    let (before, behind) = (written[..found.start].trim_end_matches(is_gap), &written[found.end..]);
    let gap = behind.len() - behind.trim_start_matches(is_gap).len();
    match (before.chars().next_back(), behind[gap..].chars().next()) {
        (Some('{'), Some('}')) | (Some('['), Some(']')) => Span::new(before.len() - 1, found.end + gap + 1),
        _ => found,
    }
}
