//! Misses: how far a text follows the header of a call, and what stands there instead of what is missing.

use std::ops::Range;

use super::record::Record;
use super::spelling::blank;
use super::steps::{Start, Step};
use super::template::{Slot, is_word_character};
use crate::json::Syntax;

/// How far a text follows a header: the opener of a section, and the call up to its body. Until a header is there, nothing
/// is an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The templates of the section opener and of the call.
    pub header: String,
    /// How many visible characters fit.
    pub matched: usize,
    /// Where the text follows the header, from its start to where it stops; nothing if it never starts to.
    pub range: Option<Range<usize>>,
    /// What the header has at that place; nothing if all of it is there, or if it has no literal to start with.
    pub expected: Option<String>,
}

impl Record {
    /// The places where a text follows the headers of this dialect the furthest, one per header, the best first.
    #[doc(hidden)]
    pub fn misses(&self, text: &str) -> Vec<Miss> {
        let mut misses: Vec<Miss> = self.starts().iter().map(|start| nearest(self, start, text)).collect();
        misses.sort_by_key(|miss| std::cmp::Reverse(miss.matched));
        misses
    }
}

/// How far a text follows a header from one place.
struct HeaderMatch {
    start: usize,
    matched: usize,
    end: usize,
    expected: Option<String>,
}

fn nearest(record: &Record, start: &Start<'_>, text: &str) -> Miss {
    let open = start.open.map_or_else(String::new, ToString::to_string);
    let header = format!("{open}{}", start.call);
    let Some(Step::Literal(head)) = start.steps.first() else {
        return Miss { header, matched: 0, range: None, expected: None };
    };
    let spellings = |step: &Step| match step {
        Step::Literal(spelled) => spelled.spellings(),
        _ => Vec::new(),
    };
    let spellings: Vec<Vec<String>> = start.steps.iter().map(spellings).collect();
    let steps: Vec<(&Step, &[String])> =
        start.steps.iter().zip(spellings.iter().map(Vec::as_slice)).collect();
    let starts = text.char_indices().filter(|(_, character)| head.can_start_with(*character));
    let tries = starts.map(|(at, _)| follow(record, &steps, text, at));
    match tries.max_by_key(|progress| (progress.matched, usize::MAX - progress.start)) {
        None => Miss { header, matched: 0, range: None, expected: Some(head.written()) },
        Some(HeaderMatch { start, matched, end, expected }) => {
            Miss { header, matched, range: Some(start..end), expected }
        }
    }
}

/// Each step comes with its spellings, if it has any: they are the same wherever the text is tried.
fn follow(record: &Record, steps: &[(&Step, &[String])], text: &str, start: usize) -> HeaderMatch {
    let mut progress = HeaderMatch { start, matched: 0, end: start, expected: None };
    for (step, spellings) in steps {
        // Between the parts of a header white space is free.
        let at = progress.end + blank(&text[progress.end..]);
        let rest = &text[at..];
        let (matched, length, expected) = match step {
            Step::Literal(_) => fit(spellings, rest),
            Step::Word(slot) => {
                let word: usize =
                    rest.chars().take_while(|c| is_word_character(*c)).map(char::len_utf8).sum();
                (word, word, (word == 0).then(|| format!("{{{}}}", slot.word())))
            }
            Step::Suffix => {
                let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                let suffix = rest.strip_prefix(':').map(|rest| rest.chars().take_while(word).count());
                let length = suffix.filter(|count| *count > 0).map_or(0, |count| count + 1);
                (length, length, None)
            }
            Step::Body(slot) if !starts_with_brace(record, *slot) || rest.starts_with('{') => {
                progress.matched += usize::from(starts_with_brace(record, *slot));
                return progress;
            }
            Step::Body(_) => (0, 0, Some("{".to_owned())),
        };
        progress.matched += matched;
        progress.end = at + length;
        if expected.is_some() {
            progress.expected = expected;
            return progress;
        }
    }
    progress
}

/// Whether a body shows its start by a brace.
fn starts_with_brace(record: &Record, slot: Slot) -> bool {
    match slot {
        Slot::Object => true,
        Slot::Arguments => !matches!(record.syntax, Syntax::Kwargs | Syntax::Lines),
        _ => false,
    }
}

/// How far a text follows one of the spellings: visible characters that fit, bytes, and what is missing.
fn fit(spellings: &[String], text: &str) -> (usize, usize, Option<String>) {
    let tries = spellings.iter().rev().map(|spelling| {
        let mut rest = text;
        let mut matched = 0;
        for (at, expected) in spelling.char_indices() {
            if expected.is_whitespace() {
                rest = rest.trim_start();
            } else if let Some(after) = rest.strip_prefix(expected) {
                rest = after;
                matched += 1;
            } else {
                return (matched, text.len() - rest.len(), Some(spelling[at..].to_owned()));
            }
        }
        (matched, text.len() - rest.len(), None)
    });
    // A spelling that fits as a whole beats one that got further and failed; the written one wins among equals.
    let best = tries.max_by_key(|(matched, _, missing)| (missing.is_none(), *matched));
    best.unwrap_or((0, 0, None))
}
