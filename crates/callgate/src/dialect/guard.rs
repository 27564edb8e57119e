//! Guards: the checks that make a rendered text read back, run over the finished text where its end is known.

use std::ops::Range;
use std::rc::Rc;

use super::balance;
use super::record::Record;
use super::spelling::{Spelled, blank, markers};
use super::steps::Step;
use super::template::{Part, Slot, Template, is_word_character};
use crate::json::Syntax;

/// A piece of rendered text that must be read back as it is.
pub(super) struct Guard {
    /// Where it stands in the rendered text.
    pub(super) range: Range<usize>,
    /// What it is.
    pub(super) place: RenderedPart,
    pub(super) kind: GuardKind,
}

/// Which part of the input a piece is. Only an error turns it into a path, because that takes a search.
pub(super) enum RenderedPart {
    Text,
    Reasoning,
    Argument { call: usize, node: usize },
}

/// A piece that does not read back: what and where in the rendered text.
pub(super) struct Breach<'g> {
    pub(super) place: &'g RenderedPart,
    pub(super) position: usize,
    pub(super) message: &'static str,
}

pub(super) enum GuardKind {
    /// A raw value: it ends at its closer, if one of the followers comes after it.
    Value { closer: String, followers: Rc<[Spelled]> },
    /// Visible text: it must not open anything, nor hold the closer of its frame.
    Text { closer: String },
    /// Reasoning: it must not hold its closer; without one it ends where anything opens.
    Reasoning { closer: String },
}

impl Guard {
    /// Checks the piece inside the whole rendered text.
    pub(super) fn check(&self, record: &Record, rendered: &str) -> Result<(), Breach<'_>> {
        let found = match &self.kind {
            GuardKind::Value { closer, followers } => {
                let value = &rendered[self.range.clone()];
                let slip = || {
                    let is_loose = loose_end(record, value) || balance::reopens(value, closer.trim(), &[]);
                    is_loose.then_some(self.range.start)
                };
                self.early_end(record, rendered, closer, followers).or_else(slip)
            }
            GuardKind::Text { closer } => {
                let marks = OuterMarks::of(record, closer, true);
                // Text without a frame stands right behind the prompt, and could complete an opener that it began.
                let behind_prompt = !record.prompt.is_empty() && self.range.start == record.prompt.len();
                let from_prompt = behind_prompt && marks.open_at(record, rendered, 0);
                let inside = || marks.first_in(record, rendered, self.range.clone());
                from_prompt.then_some(self.range.start).or_else(inside)
            }
            GuardKind::Reasoning { closer } => {
                let marks = OuterMarks::of(record, closer, closer.trim().is_empty());
                marks.first_in(record, rendered, self.range.clone())
            }
        };
        match found {
            None => Ok(()),
            Some(position) => {
                let message = match &self.kind {
                    GuardKind::Value { .. } => "the value holds what ends it in this dialect",
                    _ => "the text holds a marker of this dialect",
                };
                Err(Breach { place: &self.place, position, message })
            }
        }
    }

    /// Where a value would end too early: at its closer followed by what can follow, or at that alone if the closer
    /// may be absent.
    fn early_end(
        &self,
        record: &Record,
        rendered: &str,
        closer: &str,
        followers: &[Spelled],
    ) -> Option<usize> {
        let closer = Spelled::new(closer, &record.also);
        // Where all that follows may be absent, the call can be over with the closer.
        let may_be_over = followers.iter().any(Spelled::is_optional);
        let follows = |position: usize| followers.iter().any(|one| one.starts_at(rendered, position));
        visible_positions(rendered, self.range.clone())
            .find(|(position, character)| {
                let is_end = closer.can_start_with(*character)
                    && closer.ends_at(rendered, *position).into_iter().any(|end| may_be_over || follows(end));
                is_end || closer.is_optional() && follows(*position)
            })
            .map(|(position, _)| position)
    }
}

/// Whether a value holds what a reader that forgives slips could take for its end: how parameters begin, or how calls
/// end, in any spelling.
fn loose_end(record: &Record, value: &str) -> bool {
    let written = value.trim_end();
    // White space is escaped in a string of JSON.
    let spaced =
        ["\\n", "\\r", "\\t"].iter().fold(value.to_owned(), |value, space| value.replace(space, " "));
    let (value, spaced) = (loosely(value), loosely(&spaced));
    let holds = |text: &str| text.len() >= 4 && value.contains(text);
    let mut ends = record.call.iter().chain(&record.close).filter_map(Template::tail).map(loosely);
    let opens = |param: &Template| {
        let before = param.parts.iter().position(|part| *part == Part::Slot(Slot::Value)).unwrap_or(0);
        let again = param.parts[..before].iter().rev().find_map(|part| match part {
            Part::Literal(text) => text.rfind('<').map(|at| loosely(&text[at..])),
            Part::Slot(_) => None,
        });
        let mut middles = param.parts.windows(3).filter_map(|parts| match parts {
            [Part::Slot(Slot::Key), Part::Literal(middle), Part::Slot(Slot::Value)] => Some(middle.trim()),
            _ => None,
        });
        holds(&loosely(param.head()))
            || middles.any(|middle| middle.starts_with("</") && spaced.contains(&loosely(middle)))
            || again.is_some_and(|again| again.len() >= 4 && value.starts_with(&again))
    };
    let doubles = |param: &Template| {
        let closer = param.tail().map(loosely).unwrap_or_default();
        let ends = |marker: &&str| {
            marker.starts_with(['<', '[']) && marker.len() >= 4 && value.ends_with(&loosely(marker))
        };
        holds(&format!("{closer}{closer}")) || param.tail().is_some_and(|tail| markers(tail).iter().any(ends))
    };
    // What closes the call or its section closes nothing in the value.
    let tails = record.call.iter().chain(&record.close).filter_map(Template::tail);
    let mut last = tails.flat_map(markers).filter(|mark| mark.len() >= 4 && mark.starts_with(['<', '[']));
    ends.any(|end| holds(&end))
        || last.any(|mark| written.ends_with(mark) && !balance::is_opened(written, mark))
        || record.param.iter().any(|param| opens(param) || doubles(param))
}

/// A text in the form in which all its spellings are the same.
fn loosely(text: &str) -> String {
    let same = |c: char| match c {
        '-' | '▁' => '_',
        '｜' => '|',
        c => c.to_ascii_lowercase(),
    };
    text.chars().filter(|c| !c.is_whitespace() && *c != '\\').map(same).collect()
}

/// The positions of characters that are not white space: no marker starts with any.
fn visible_positions(text: &str, range: Range<usize>) -> impl Iterator<Item = (usize, char)> {
    let start = range.start;
    text[range]
        .char_indices()
        .filter(|(_, character)| !character.is_whitespace())
        .map(move |(offset, character)| (start + offset, character))
}

/// Everything of a record that means something outside of calls.
struct OuterMarks {
    literals: Vec<Spelled>,
    openers: Vec<Vec<Step>>,
}

impl OuterMarks {
    /// The marks that a text must not hold: its own closer, noise, and with `opening` whatever opens or closes.
    fn of(record: &Record, closer: &str, opening: bool) -> OuterMarks {
        let spell = |literal: &str| Spelled::new(literal, &record.also);
        let mut literals = vec![closer.trim().to_owned()];
        literals.extend(record.noise.iter().map(|noise| noise.head().to_owned()));
        if opening {
            for frame in record.reasoning.iter().chain(&record.text) {
                literals.push(frame.head().to_owned());
            }
            // A reasoning closer without its opener would turn what stands before it into reasoning.
            let closers = record.reasoning.iter().filter_map(|frame| match frame.parts.last() {
                Some(Part::Literal(literal)) if frame.parts.len() > 2 => Some(literal.clone()),
                _ => None,
            });
            literals.extend(closers);
            literals.extend(record.bare.iter().cloned());
        }
        literals.retain(|literal| !literal.trim().is_empty());
        let starts = if opening { record.starts() } else { Vec::new() };
        let openers = starts.into_iter().map(|start| start.steps).collect();
        OuterMarks { literals: literals.iter().map(|literal| spell(literal)).collect(), openers }
    }

    fn first_in(&self, record: &Record, rendered: &str, range: Range<usize>) -> Option<usize> {
        visible_positions(rendered, range)
            .find(|(position, character)| {
                let stands = |literal: &Spelled| {
                    literal.can_start_with(*character) && literal.starts_at(rendered, *position)
                };
                self.literals.iter().any(stands) || self.open_at(record, rendered, *position)
            })
            .map(|(position, _)| position)
    }

    fn open_at(&self, record: &Record, rendered: &str, position: usize) -> bool {
        // A call that starts with a word starts where the word does, so long words are looked at once.
        let inside_word = rendered[..position].ends_with(is_word_character);
        self.openers.iter().any(|steps| {
            let starts_with_word = matches!(steps.first(), Some(Step::Word(_)));
            !(starts_with_word && inside_word) && opens_at(record, steps, rendered, position)
        })
    }
}

/// Whether a call starts here: its literals, and behind them the first shape that only a call has.
fn opens_at(record: &Record, steps: &[Step], text: &str, position: usize) -> bool {
    let mut ends = vec![position];
    let mut is_marked = false;
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Literal(spelled) => {
                let next = ends.iter().flat_map(|end| spelled.ends_at(text, *end));
                let mut next: Vec<usize> = next.collect();
                if spelled.is_optional() {
                    next.extend(&ends);
                }
                if next.is_empty() {
                    return false;
                }
                ends = next;
                is_marked |= spelled.written().trim().len() >= 4;
            }
            step => {
                let shows = |end: &usize| {
                    let rest = text[*end..].trim_start();
                    shows_call(record, step, &steps[index + 1..], rest, is_marked)
                };
                return ends.iter().any(shows);
            }
        }
    }
    true
}

/// Whether the text behind an opener has the shape of the step that follows it.
fn shows_call(record: &Record, step: &Step, after: &[Step], rest: &str, is_marked: bool) -> bool {
    match step {
        Step::Body(Slot::Arguments) if matches!(record.syntax, Syntax::Kwargs | Syntax::Lines) => true,
        Step::Body(Slot::Arguments) => rest.starts_with('{'),
        Step::Body(Slot::Object) => {
            rest.strip_prefix('{').is_some_and(|inside| is_marked || starts_member(record, inside))
        }
        Step::Body(Slot::Params) => {
            let begins = |head: &str| Spelled::new(head, &record.also).beginning().starts_at(rest, 0);
            record.param.iter().any(|param| begins(param.head())) || continues(after, rest)
        }
        Step::Word(_) => {
            let length = rest.find(|character| !is_word_character(character)).unwrap_or(rest.len());
            let behind = &rest[length..];
            length > 0
                && match after.iter().position(|step| !step.is_blank()).map(|index| &after[index..]) {
                    Some([Step::Literal(spelled), ..]) => {
                        // A literal that starts like a word is inside the run, so only its reader can tell.
                        spelled.starts_at(behind, 0)
                            || rest[..length].chars().any(|c| spelled.can_start_with(c))
                    }
                    Some([next, later @ ..]) => {
                        shows_call(record, next, later, behind.trim_start(), is_marked)
                    }
                    _ => true,
                }
        }
        _ => true,
    }
}

fn continues(after: &[Step], rest: &str) -> bool {
    match after.first() {
        Some(Step::Literal(spelled)) => spelled.starts_at(rest, 0),
        _ => true,
    }
}

/// Whether an object starts with a member that its shapes name.
fn starts_member(record: &Record, inside: &str) -> bool {
    let inside = &inside[blank(inside)..];
    let mut shapes = record.object.iter().chain(&record.error);
    inside.strip_prefix(['"', '\'']).is_some_and(|key| {
        shapes.any(|shape| {
            shape.members.iter().any(|member| match member.path.first() {
                Some(spellings) => spellings.iter().any(|word| key.starts_with(word.as_str())),
                None => true,
            })
        })
    })
}

/// Whether a text ends inside a code fence, where a call that follows it would be dead.
pub(super) fn ends_in_fence(text: &str) -> bool {
    let mut fence: Option<(char, usize)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let body = line.trim_start_matches(' ');
        let Some(mark @ ('`' | '~')) = body.chars().next() else { continue };
        let length = body.chars().take_while(|character| *character == mark).count();
        if length < 3 || indent > 3 {
            continue;
        }
        let info = &body[length..];
        fence = match fence {
            Some((open, least)) if open == mark && length >= least && info.trim().is_empty() => None,
            None if mark == '~' || !info.contains('`') => Some((mark, length)),
            unchanged => unchanged,
        };
    }
    fence.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_open_and_close() {
        assert!(ends_in_fence("a\n```rust\nlet x;"));
        assert!(!ends_in_fence("a\n```rust\nlet x;\n```\n"));
        assert!(ends_in_fence("````\n```\n"));
        assert!(!ends_in_fence("``` inline ``` code"));
        assert!(!ends_in_fence("    ```"));
    }
}
