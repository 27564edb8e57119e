//! Balance: whether the tags in a value close what the value itself has opened. One that does not may be the value's own
//! closer, or a slip of it.

use std::borrow::Cow;

use crate::bytes::{holds, places_of};
use crate::nearest::is_within;

/// The most bytes of a tag at the end of a value.
const LONGEST_TAG: usize = 64;

/// How many slips a bent closer has at most.
const SLIPS: usize = 2;

/// The most bytes that a slip adds to a closer.
const LONGEST_SLIP: usize = 16;

/// Whether a value shows nothing of its own markup: neither one of these closers nor what they would close, which also begins
/// with one of these heads. Most values do not, and where all of it has the name of one tag, one look tells.
pub(crate) fn shows_nothing(value: &str, closers: &[Cow<'_, str>], heads: &[String]) -> bool {
    let tag = closers.first().map_or("", |closer| tag_of(closer));
    !tag.is_empty()
        && closers.iter().map(|closer| tag_of(closer)).all(|other| other.contains(tag))
        && heads.iter().all(|head| head.contains(tag))
        && !holds(value, tag)
}

/// Whether the value's own closer stands in it before anything was opened, and the frame seems to go on behind that: with a
/// tag, on a new line, or with the value's tag once more, if only its name. Then it may be two values, with a slip between them.
/// Where values stand between tokens and not in a tag, `heads` are what opens one.
pub(crate) fn reopens(value: &str, closer: &str, heads: &[String]) -> bool {
    let tag = tag_of(closer);
    unopened(value, closer, heads).is_some_and(|rest| {
        let behind = rest.trim_start_matches([' ', '\t']);
        // A line break of a value that is being written is escaped.
        behind.starts_with(['<', '\n', '\r'])
            || behind.starts_with("\\n")
            || behind.starts_with("\\r")
            || behind.starts_with(if tag.is_empty() { "|" } else { tag })
            || openings(rest, tag) > 0
            || tag.is_empty() && heads.iter().any(|head| holds(rest, head))
    })
}

/// What stands behind the first of the value's own closers that closes nothing in it.
pub(crate) fn unopened<'v>(value: &'v str, closer: &str, heads: &[String]) -> Option<&'v str> {
    let tag = tag_of(closer);
    let opened = |text: &str| match tag {
        "" => heads.iter().map(|head| places_of(text, head).count()).max().unwrap_or_default(),
        tag => openings(text, tag),
    };
    let mut depth = 0_usize;
    let mut rest = value;
    while !closer.is_empty()
        && let Some(at) = places_of(rest, closer).next()
    {
        depth += opened(&rest[..at]);
        rest = &rest[at + closer.len()..];
        match depth.checked_sub(1) {
            Some(less) => depth = less,
            None => return Some(rest),
        }
    }
    None
}

/// Whether the value opens its own tag and does not close it, at its start or, with slips, anywhere: its closer may be that of
/// the inner one.
pub(crate) fn leaves_open(value: &str, closer: &str, with_slips: bool) -> bool {
    let tag = tag_of(closer);
    let opened = openings(value, tag);
    let begins = || {
        let behind = value.trim_start().strip_prefix('<').and_then(|inner| inner.strip_prefix(tag));
        behind.is_some_and(|behind| !behind.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    opened > 0 && opened > places_of(value, closer).count() && (with_slips || begins())
}

/// Whether a value whose closer is missing ends with a tag that closes nothing in it: a slip of the closer, or what it was
/// cut in.
pub(crate) fn ends_in_stray_tag(value: &str, closers: &[Cow<'_, str>]) -> bool {
    let value = value.trim_end();
    let is_cut = |closer: &Cow<'_, str>| {
        let (first, last) =
            (closer.get(1..), closer.len().checked_sub(1).and_then(|last| closer.get(..last)));
        [first, last].into_iter().flatten().any(|part| part.len() > 3 && value.ends_with(part))
    };
    if closers
        .iter()
        .any(|closer| is_cut(closer) || ends_in_respelled(value, closer) || ends_near(value, closer))
        || ends_in_stray_bracket(value)
    {
        return true;
    }
    let from = (value.len().saturating_sub(LONGEST_TAG)..value.len()).find(|at| value.is_char_boundary(*at));
    let Some(start) = from.and_then(|from| value[from..].rfind('<').map(|at| from + at)) else {
        return false;
    };
    // A closing tag with something in it that begins another one.
    let is_broken = |(at, _): (usize, &str)| {
        let name = &value[at + 2..];
        let end = name.find(['<', '>']).unwrap_or(name.len());
        name[end..].starts_with('<')
            && end > 0
            && name[..end].chars().all(|c| c.is_alphanumeric() || "_:-".contains(c))
    };
    if from.is_some_and(|from| {
        value[from..].match_indices("</").map(|(at, tag)| (from + at, tag)).any(is_broken)
    }) {
        return true;
    }
    let tag = &value[start..];
    match tag.strip_prefix("</") {
        Some(name) if tag.ends_with('>') => openings(&value[..start], name.trim_end_matches('>').trim()) == 0,
        // A closing tag that has lost its end is the last word of the value.
        Some(name) => !name.contains(|c: char| c == '>' || c.is_whitespace()),
        // A tag that a value ends with and that closes nothing may be the closer that is missing.
        None => tag.ends_with('>') || tag.starts_with("<|") && !tag.contains(char::is_whitespace),
    }
}

/// Whether a value ends with something that is a slip or two away from the closer.
fn ends_near(value: &str, closer: &str) -> bool {
    let starts = value.char_indices().rev().map(|(at, _)| at).take(closer.len() + SLIPS);
    let mut near = starts.filter(|at| (value.len() - at).abs_diff(closer.len()) <= SLIPS);
    // Of a short closer, a slip leaves a word of any text.
    closer.len() > 4 * SLIPS && near.any(|at| is_within(&value[at..], closer, SLIPS))
}

/// Whether a value ends with a bracket that closes nothing in it, as what is left of a string in an object.
fn ends_in_stray_bracket(value: &str) -> bool {
    let count = |bracket: char| value.matches(bracket).count();
    value.ends_with('}') && count('}') > count('{') || value.ends_with(']') && count(']') > count('[')
}

/// Whether the closer stands at the end of a value in another spelling: in other letters, escaped, with something in it.
fn ends_in_respelled(value: &str, closer: &str) -> bool {
    let tag = tag_of(closer);
    let at_most = tag.len() + LONGEST_SLIP;
    let from = (value.len().saturating_sub(at_most)..value.len()).find(|at| value.is_char_boundary(*at));
    let end = from.map_or("", |from| &value[from..]).to_lowercase();
    !tag.is_empty() && end.contains(&format!("/{}", tag.to_lowercase())) && openings(value, tag) == 0
}

/// Whether what this closer would close is opened in the value before it, at least as often as it is closed.
pub(crate) fn is_opened(value: &str, closer: &str) -> bool {
    openings(value, tag_of(closer)) >= places_of(value, closer).count()
}

/// Whether a tag with such a name is opened in a text.
pub(crate) fn opens_any(text: &str, is_name: impl Fn(&str) -> bool) -> bool {
    text.match_indices('<').any(|(at, _)| {
        let inner = &text[at + 1..];
        let end = inner
            .find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | ':'))
            .unwrap_or(inner.len());
        end > 0
            && inner[end..].starts_with(|c: char| ">=/".contains(c) || c.is_whitespace())
            && is_name(&inner[..end])
    })
}

/// The name of the tag that a closer closes; nothing if it is a token.
fn tag_of(closer: &str) -> &str {
    closer.rsplit_once("</").map_or("", |(_, tag)| tag.trim_end_matches('>'))
}

/// How often a tag is opened in a text, whatever stands in it.
fn openings(text: &str, tag: &str) -> usize {
    let is_opening = |at: &usize| {
        let behind = text[at + tag.len()..].chars().next();
        text[..*at].ends_with('<') && behind.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    };
    if tag.is_empty() { 0 } else { places_of(text, tag).filter(is_opening).count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_value_opens_it_may_close() {
        let reopens = |value| reopens(value, "</parameter>", &[]);
        assert!(reopens("ls\n</parameter>\n<parameter name=\"timeout\">\n5"));
        assert!(reopens("<parameter=a>1</parameter>2</parameter><parameter=b>"));
        assert!(!reopens("<parameter=a>1</parameter>\n<parameter=b>2</parameter>"));
        assert!(!reopens("grep '</parameter>' *.xml"));
        assert!(reopens("ls</parameter>\n<paraeter=timeout>5"));
        assert!(reopens("ls</parameter>\nparameter=timeout>5"));
        assert!(!reopens("ls</parameter>5"));
        assert!(!reopens("</parameters><parameters>"));
    }

    #[test]
    fn what_tokens_open_tokens_close() {
        let heads = ["<|open|>argument key=\"".to_owned()];
        let reopens = |value| reopens(value, "<|close|>argument<|sep|>", &heads);
        assert!(reopens("/<|close|>argument<|sep|>no<|open|>argument key=\"path\"<|sep|>/tmp"));
        assert!(!reopens("see <|open|>argument key=\"path\"<|sep|>/tmp<|close|>argument<|sep|> there"));
        assert!(!reopens("/<|close|>argument<|sep|>no"));
    }

    #[test]
    fn what_a_value_leaves_open_may_have_its_closer() {
        let open = |value, with_slips| leaves_open(value, "</parameter>", with_slips);
        assert!(open("see <parameter=tone>loud", true));
        assert!(!open("see <parameter=tone>loud", false));
        assert!(open("<parameter=tone>loud", false));
        assert!(!open("<parameter=tone>loud</parameter>", true));
        assert!(!open("<parameters>", true));
    }

    #[test]
    fn the_last_tag_closes_something_or_is_stray() {
        let closers = ["</parameter>".into()];
        let stray = |value| ends_in_stray_tag(value, &closers);
        assert!(stray("ls\n</paramter>\n"));
        assert!(stray("ls</parameter"));
        assert!(stray("ls/parameter>"));
        assert!(stray("ls<|tool_end|>"));
        assert!(stray("ls<parameter>"));
        assert!(stray("ls<br>"));
        assert!(stray("ls&lt;/parameter&gt;"));
        assert!(stray("ls<\u{200b}/PARAMETER>"));
        assert!(!stray("a list of /parameters and more words behind them"));
        assert!(!stray("<b>bold</b>"));
        assert!(!stray("if a < b"));
    }
}
