//! The echo guard: whether a call stands in a text that is not to be trusted, so that somebody else may have written it.
//!
//! A call is an echo if one untrusted text holds its frame word by word, or holds its tool's name, every key and every
//! line of every value, each word by word, within as many words as they have themselves and a few more for each. What a
//! word is, and that escapes, entities and layout make no other, is in [`words`]. Where no value has a word, name and
//! keys alone would be too little, so the call must stand there just as one of the dialects writes it.
//!
//! A path or a word that is taken from a result is therefore no echo: the tool's name and the keys must stand beside it.

mod words;

use std::collections::HashMap;

use crate::bytes::character_start;
use crate::dialect::{Record, RenderCall};
use crate::event::Call;
use crate::finding::{Code, Finding};
use crate::json::{Kind, Tape};
use crate::policy::{Echo, Policy};
use words::{Word, split};

/// How many words of a format may stand beside each key, each value and each line of a value.
const BESIDE_KEY: usize = 4;
const BESIDE_VALUE: usize = 6;
const BESIDE_LINE: usize = 1;

/// The longest arguments without any word of a value that are written in every dialect, in bytes, and the steps that
/// this counts for. Longer ones have keys enough to be told by them.
const WRITTEN: usize = 256;
const WRITING: u64 = 1 << 10;

/// An id that every dialect can write.
const SOME_ID: &str = "0id0id0id";

/// Between two texts.
const BREAK: Word = 0;

/// How many steps of comparing are free, and how many more each word of the texts and the calls pays for. Together they
/// bound the work of any number of calls.
const FREE: u64 = 1 << 18;
const PAID: u64 = 8;

/// The untrusted texts of a session, and what was compared with them.
#[derive(Debug, Default)]
pub(crate) struct EchoGuard {
    /// Texts that no call has been compared with yet: a response without a call needs none of their words.
    texts: Vec<String>,
    /// How many bytes were taken.
    taken: usize,
    /// Whether a text was left out, at least in part, because there were too many bytes.
    is_over: bool,
    index: Index,
    spent: Spent,
}

/// How many words were read, and how many steps comparing took.
#[derive(Debug, Default)]
struct Spent {
    read: u64,
    steps: u64,
}

impl Spent {
    /// Pays for some steps with the words that were read; whether they may be made.
    fn pay(&mut self, steps: u64) -> bool {
        let is_paid = self.steps + steps <= FREE + PAID * self.read;
        self.steps += if is_paid { steps } else { 0 };
        is_paid
    }
}

/// What is known of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sighting {
    Echo,
    None,
    /// Comparing would take too long.
    Unknown,
}

impl EchoGuard {
    /// Takes a text, up to `limit` bytes of all texts.
    pub(crate) fn take(&mut self, text: &str, limit: usize) {
        let room = limit.min(u32::MAX as usize / 2).saturating_sub(self.taken);
        let kept = &text[..character_start(text, room)];
        self.is_over |= kept.len() < text.len();
        self.taken += kept.len();
        if !kept.is_empty() {
            self.texts.push(kept.to_owned());
        }
    }

    /// What is to be said of a call, whose text in the response is `frame` if all of it is known.
    pub(crate) fn judge(&mut self, policy: &Policy, call: &Call, frame: Option<&str>) -> Option<Finding> {
        for text in std::mem::take(&mut self.texts) {
            self.spent.read += self.index.add(&text);
        }
        let (report, reason) = match self.sight(call, frame) {
            Sighting::Echo => (Code::Echo, None),
            Sighting::Unknown => {
                (Code::EchoUnchecked, Some("comparing it with all untrusted text would take too long"))
            }
            Sighting::None if self.is_over => (
                Code::EchoUnchecked,
                Some("there is more untrusted text than the policy's `limits.untrusted`"),
            ),
            Sighting::None => return None,
        };
        let code = if policy.echo == Echo::Reject { Code::EchoedCall } else { report };
        let mut finding = Finding::new(code);
        if let Some(reason) = reason {
            finding = finding.message(format!("{}: {reason}", Code::EchoUnchecked.entry().message));
        }
        finding.span = call.span;
        Some(finding)
    }

    /// How much was read and compared.
    pub(crate) fn work(&self) -> u64 {
        self.spent.read + self.spent.steps
    }

    fn sight(&mut self, call: &Call, frame: Option<&str>) -> Sighting {
        let Some(tape) = Tape::parse(&call.arguments) else { return Sighting::Unknown };
        let mut needle = Needle::default();
        let mut said = words_of(&call.name);
        needle.part(&self.index, &said);
        let mut has_values = false;
        for (node, value) in tape.nodes().iter().enumerate().skip(1) {
            if needle.is_missing {
                break;
            }
            if let Some(key) = tape.key(&call.arguments, node) {
                let words = words_of(&key);
                needle.part(&self.index, &words);
                needle.window += BESIDE_KEY;
                said.extend(words);
            }
            needle.window += BESIDE_VALUE;
            let text = match value.kind {
                Kind::Object | Kind::Array => continue,
                Kind::String => tape.string(&call.arguments, node).unwrap_or_default(),
                Kind::Number | Kind::Bool | Kind::Null => tape.raw(&call.arguments, node).into(),
            };
            for line in text.lines() {
                let words = words_of(line);
                has_values |= !words.is_empty();
                needle.part(&self.index, &words);
                needle.window += BESIDE_LINE;
            }
        }
        self.spent.read += needle.words as u64;
        let seen = match (needle.is_missing, has_values) {
            (true, _) => Sighting::None,
            (false, false) if call.arguments.len() <= WRITTEN => self.find_written(call, &said),
            _ => self.find(&needle),
        };
        let Some(frame) = frame.filter(|_| seen == Sighting::None) else { return seen };
        let words = words_of(frame);
        self.spent.read += words.len() as u64;
        self.find_pieces(&[&words])
    }

    /// Looks for a call as some dialect writes it: from the word before its name to the one behind its last key, since
    /// what is further out may be missing, and an id may be any.
    fn find_written(&mut self, call: &Call, said: &[Word]) -> Sighting {
        let (name, some_id) = (words_of(&call.name), words_of(SOME_ID));
        if name.is_empty() {
            return Sighting::None;
        }
        if !self.spent.pay(WRITING) {
            return Sighting::Unknown;
        }
        for record in Record::builtin() {
            for id in [None, Some(SOME_ID)] {
                let call = RenderCall { id, name: &call.name, arguments: &call.arguments };
                let Ok(text) = record.render(&[call], None, None) else { continue };
                let words = words_of(&text);
                let start = words.windows(name.len()).position(|words| words == name);
                let end = words.iter().rposition(|word| said.contains(word));
                let (Some(start), Some(end)) = (start, end) else { continue };
                let inner = &words[start.saturating_sub(1)..words.len().min(end + 2)];
                let pieces: Vec<&[Word]> = inner.split(|word| some_id.contains(word)).collect();
                match self.find_pieces(&pieces) {
                    Sighting::None => {}
                    seen => return seen,
                }
            }
        }
        Sighting::None
    }

    /// Looks for words in their order; between two pieces an id may stand.
    fn find_pieces(&mut self, pieces: &[&[Word]]) -> Sighting {
        let mut needle = Needle::default();
        for piece in pieces {
            needle.part(&self.index, piece);
        }
        needle.window += BESIDE_VALUE * (pieces.len().saturating_sub(1));
        // One word is no call: any text about the tool has it.
        if needle.words < 2 { Sighting::None } else { self.find(&needle) }
    }

    /// Looks for everything of the needle in one window, around each place of its rarest word.
    fn find(&mut self, needle: &Needle) -> Sighting {
        if needle.is_missing || needle.words == 0 {
            return Sighting::None;
        }
        if !self.spent.pay(u64::from(needle.places)) {
            return Sighting::Unknown;
        }
        let places = self.index.places(needle.rarest);
        let mut search = Search::new(needle, &self.index.words);
        let mut read = 0;
        for place in places {
            let start = place.saturating_sub(needle.window).max(read);
            let end = (place + needle.window).min(self.index.words.len());
            if start > read {
                search.start_at(start);
            }
            if !self.spent.pay(end.saturating_sub(start) as u64) {
                return Sighting::Unknown;
            }
            if (start..end).any(|at| search.step(at)) {
                return Sighting::Echo;
            }
            read = read.max(end);
        }
        Sighting::None
    }
}

fn words_of(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    split(text, &mut |word| words.push(word));
    words
}

/// Where the words of all texts stand.
#[derive(Debug, Default)]
struct Index {
    words: Vec<Word>,
    /// For each place, the place before it that has the same word.
    before: Vec<u32>,
    last: HashMap<Word, Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    place: u32,
    count: u32,
}

impl Index {
    /// Adds a text; how many words it has.
    fn add(&mut self, text: &str) -> u64 {
        let start = self.words.len();
        let Index { words, before, last } = self;
        split(text, &mut |word| {
            // The policy's limit keeps places below 2³¹.
            let place = words.len() as u32;
            words.push(word);
            let entry = last.entry(word).or_insert(Last { place, count: 0 });
            before.push(entry.place);
            *entry = Last { place, count: entry.count + 1 };
        });
        words.push(BREAK);
        before.push(0);
        (self.words.len() - start) as u64
    }

    fn count(&self, word: Word) -> u32 {
        self.last.get(&word).map_or(0, |last| last.count)
    }

    /// Every place of a word, in order.
    fn places(&self, word: Word) -> Vec<usize> {
        let Some(last) = self.last.get(&word) else { return Vec::new() };
        let mut places = Vec::with_capacity(last.count as usize);
        let mut place = last.place as usize;
        for _ in 0..last.count {
            places.push(place);
            place = self.before[place] as usize;
        }
        places.reverse();
        places
    }
}

/// What has to stand together.
#[derive(Debug, Default)]
struct Needle {
    /// Single words, and pairs of neighbours of those parts that have more than one; each with its number.
    items: HashMap<(Word, Word), usize>,
    words: usize,
    /// In how many words it has to stand.
    window: usize,
    /// The word with the fewest places, and how many.
    rarest: Word,
    places: u32,
    /// Whether a word is in none of the texts.
    is_missing: bool,
}

impl Needle {
    /// Adds a part, whose words have to be neighbours.
    fn part(&mut self, index: &Index, words: &[Word]) {
        for word in words {
            let places = index.count(*word);
            self.is_missing |= places == 0;
            if self.words == 0 || places < self.places {
                (self.rarest, self.places) = (*word, places);
            }
            self.words += 1;
        }
        self.window += words.len();
        match words {
            [word] => self.add((BREAK, *word)),
            _ => words.windows(2).for_each(|pair| self.add((pair[0], pair[1]))),
        }
    }

    fn add(&mut self, item: (Word, Word)) {
        let number = self.items.len();
        self.items.entry(item).or_insert(number);
    }
}

/// A window that moves over the words of the texts.
struct Search<'i> {
    needle: &'i Needle,
    words: &'i [Word],
    /// Where the window starts.
    start: usize,
    /// How often each item stands in it, and how many do.
    counts: Vec<u32>,
    present: usize,
    /// One past its last word.
    end: usize,
}

impl<'i> Search<'i> {
    fn new(needle: &'i Needle, words: &'i [Word]) -> Self {
        Search { needle, words, start: 0, counts: vec![0; needle.items.len()], present: 0, end: 0 }
    }

    /// Forgets the window and starts a new one.
    fn start_at(&mut self, start: usize) {
        self.shrink_to(self.end);
        self.start = start;
        self.end = start;
    }

    /// Takes in the next word; whether everything is in the window now.
    fn step(&mut self, at: usize) -> bool {
        self.end = at + 1;
        if self.words[at] == BREAK {
            self.shrink_to(at + 1);
            return false;
        }
        for item in self.items_at(at).into_iter().flatten() {
            self.counts[item] += 1;
            self.present += usize::from(self.counts[item] == 1);
        }
        self.shrink_to((at + 1).saturating_sub(self.needle.window));
        self.present == self.needle.items.len()
    }

    fn shrink_to(&mut self, start: usize) {
        while self.start < start {
            for item in self.items_at(self.start).into_iter().flatten() {
                self.counts[item] -= 1;
                self.present -= usize::from(self.counts[item] == 0);
            }
            self.start += 1;
        }
    }

    /// The items that end with the word at a place: the word itself, and the pair that it makes.
    fn items_at(&self, at: usize) -> [Option<usize>; 2] {
        let word = self.words[at];
        if word == BREAK {
            return [None, None];
        }
        let before = if at == 0 { BREAK } else { self.words[at - 1] };
        let single = self.needle.items.get(&(BREAK, word)).copied();
        let pair = if before == BREAK { None } else { self.needle.items.get(&(before, word)).copied() };
        [single, pair]
    }
}
