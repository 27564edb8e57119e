//! Near misses: how far a text follows the header of a call that it does not hold, and what stands there instead.

use super::record::Record;
use super::template::{Part, Slot, Template, is_word_character};
use crate::json::Syntax;

/// How far a sample follows one form of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The form, as a template.
    pub form: String,
    /// Where the sample follows it the furthest; none if the form has no opener, or its first character is nowhere.
    pub closest: Option<Progress>,
    /// Whether the form starts with a placeholder, so that there is no opener to compare.
    pub has_no_opener: bool,
}

/// A place where a sample follows a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Where it begins to fit.
    pub start: usize,
    /// Where it stops fitting.
    pub end: usize,
    /// How many visible characters fit.
    pub matched: usize,
    /// What was expected there; nothing if the whole header stands in the sample.
    pub missing: Option<Missing>,
}

/// What a header has where a sample has something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The rest of a literal.
    Literal(String),
    /// A word, in place of this slot.
    Word(Slot),
}

impl Record {
    /// Where a sample that holds no call of this dialect follows the header of each of its forms the furthest, the
    /// closest first.
    #[doc(hidden)]
    pub fn nearest_misses(&self, sample: &str) -> Vec<Miss> {
        let mut misses: Vec<Miss> = headers(self).iter().map(|header| header.nearest(sample)).collect();
        misses.sort_by_key(|miss| std::cmp::Reverse(miss.closest.as_ref().map_or(0, |found| found.matched)));
        misses
    }
}

/// What has to stand before the body of a call: until it is there, nothing is an attempt.
struct Header {
    form: String,
    steps: Vec<Step>,
}

enum Step {
    /// One of these spellings.
    Literal(Vec<String>),
    /// A word, in place of this slot.
    Word(Slot),
    /// Nothing, or a colon and a word.
    Suffix,
}

/// The header of each form of a call: the opener of its section, and the call up to its body.
fn headers(record: &Record) -> Vec<Header> {
    let none = [Template::default()];
    let opens = if record.open.is_empty() { &none[..] } else { &record.open[..] };
    let has_brace = |slot: Slot| match slot {
        Slot::Object => true,
        Slot::Arguments => !matches!(record.syntax, Syntax::Kwargs | Syntax::Lines),
        _ => false,
    };
    let mut headers = Vec::new();
    for open in opens {
        for call in &record.call {
            let mut steps = Vec::new();
            for part in open.parts.iter().chain(&call.parts) {
                match part {
                    Part::Literal(literal) => steps.push(Step::Literal(spellings(record, literal))),
                    Part::Slot(Slot::Suffix) => steps.push(Step::Suffix),
                    Part::Slot(slot) if slot.is_word() => steps.push(Step::Word(*slot)),
                    Part::Slot(slot) => {
                        // The body; nothing behind it is a header.
                        steps.extend(has_brace(*slot).then(|| Step::Literal(vec!["{".to_owned()])));
                        break;
                    }
                }
            }
            headers.push(Header { form: format!("{open}{call}"), steps });
        }
    }
    headers
}

/// A literal in all the ways in which `also` lets it be written, the written one first.
fn spellings(record: &Record, literal: &str) -> Vec<String> {
    let mut spellings = vec![literal.to_owned()];
    for (row, others) in record.also.iter().filter(|(row, _)| literal.contains(row.as_str())) {
        for spelling in spellings.clone() {
            spellings.extend(others.iter().map(|other| spelling.replace(row.as_str(), other)));
        }
    }
    spellings
}

impl Header {
    fn nearest(&self, sample: &str) -> Miss {
        let form = self.form.clone();
        let Some(Step::Literal(heads)) = self.steps.first() else {
            return Miss { form, closest: None, has_no_opener: true };
        };
        let firsts: Vec<char> = heads.iter().filter_map(|head| head.trim_start().chars().next()).collect();
        let starts = sample.char_indices().filter(|(_, character)| firsts.contains(character));
        let tries = starts.map(|(start, _)| self.follow(sample, start));
        let closest = tries.max_by_key(|progress| (progress.matched, usize::MAX - progress.start));
        Miss { form, closest, has_no_opener: false }
    }

    fn follow(&self, sample: &str, start: usize) -> Progress {
        let mut progress = Progress { start, matched: 0, end: start, missing: None };
        for step in &self.steps {
            // Between the parts of a header white space is free.
            let rest = sample[progress.end..].trim_start();
            let at = sample.len() - rest.len();
            let (matched, length, missing) = match step {
                Step::Literal(spellings) => fit(spellings, rest),
                Step::Word(slot) => {
                    let word: usize =
                        rest.chars().take_while(|c| is_word_character(*c)).map(char::len_utf8).sum();
                    (word, word, (word == 0).then_some(Missing::Word(*slot)))
                }
                Step::Suffix => {
                    let word = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                    let suffix = rest.strip_prefix(':').map(|rest| rest.chars().take_while(word).count());
                    let length = suffix.filter(|count| *count > 0).map_or(0, |count| count + 1);
                    (length, length, None)
                }
            };
            progress.matched += matched;
            progress.end = at + length;
            if missing.is_some() {
                progress.missing = missing;
                break;
            }
        }
        progress
    }
}

/// How far the text follows one of the spellings: visible characters that fit, bytes, and what is missing.
fn fit(spellings: &[String], text: &str) -> (usize, usize, Option<Missing>) {
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
                let missing = Missing::Literal(spelling[at..].to_owned());
                return (matched, text.len() - rest.len(), Some(missing));
            }
        }
        (matched, text.len() - rest.len(), None)
    });
    // A spelling that fits as a whole beats one that got further and failed; the written one wins among equals.
    let best = tries.max_by_key(|(matched, _, missing)| (missing.is_none(), *matched));
    best.unwrap_or((0, 0, None))
}
