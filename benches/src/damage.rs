//! Damage: documents made from a fixed seed, one character of each deleted, inserted or swapped, and how far what a
//! repairer makes of it is from the document.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::workload::Random;

/// A JSON value. Members are in the order of their keys, whatever that was in the text: some repairers sort them, and that
/// is no damage.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    Members(Vec<(String, Tree)>),
}

/// A damaged document.
pub struct Damaged {
    pub text: String,
    /// What the document was.
    pub right: Tree,
    /// What was done to it, in a few words.
    pub kind: &'static str,
}

/// What a repairer made of a damaged document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// The value that was there.
    Right,
    /// All but one value, key or spurious item of a list is intact.
    Contained,
    /// More is lost, moved or changed, or the result is no JSON.
    Spread,
    /// There is no result.
    Refused,
}

impl Grade {
    pub const ALL: [Grade; 4] = [Grade::Right, Grade::Contained, Grade::Spread, Grade::Refused];

    /// How a result is to be graded, where there is one.
    pub fn of(right: &Tree, result: Option<&str>) -> Grade {
        let Some(result) = result.filter(|result| !result.trim().is_empty()) else { return Grade::Refused };
        match parse(result) {
            None => Grade::Spread,
            Some(value) if value == *right => Grade::Right,
            Some(value) if differences(right, &value) < 2 => Grade::Contained,
            Some(_) => Grade::Spread,
        }
    }
}

pub fn parse(text: &str) -> Option<Tree> {
    serde_json::from_str(text).ok()
}

/// How many places differ; two for more than one.
fn differences(right: &Tree, value: &Tree) -> usize {
    match (right, value) {
        (Tree::Members(right), Tree::Members(value)) if right.len() == value.len() => {
            let of =
                |members: &[(String, Tree)], key: &str| members.iter().position(|(known, _)| known == key);
            let lost: Vec<&Tree> =
                right.iter().filter(|(key, _)| of(value, key).is_none()).map(|(_, tree)| tree).collect();
            let new = value.iter().filter(|(key, _)| of(right, key).is_none()).map(|(_, tree)| tree);
            let renamed = lost.iter().copied().zip(new);
            let same = right.iter().filter_map(|(key, tree)| Some((tree, &value[of(value, key)?].1)));
            renamed.chain(same).fold(lost.len().min(2), |sum, (a, b)| {
                if sum > 1 { 2 } else { (sum + differences(a, b)).min(2) }
            })
        }
        (Tree::List(right), Tree::List(value)) if value.len() == right.len() + 1 => {
            let is_plain = |tree: &Tree| !matches!(tree, Tree::List(_) | Tree::Members(_));
            let without = |at: usize| value[..at] == right[..at] && value[at + 1..] == right[at..];
            if (0..value.len()).any(|at| is_plain(&value[at]) && without(at)) { 1 } else { 2 }
        }
        (Tree::List(right), Tree::List(value)) if right.len() == value.len() => {
            let pairs = right.iter().zip(value);
            pairs.fold(0, |sum, (a, b)| if sum > 1 { 2 } else { (sum + differences(a, b)).min(2) })
        }
        _ if right == value => 0,
        (Tree::List(_) | Tree::Members(_), _) | (_, Tree::List(_) | Tree::Members(_)) => 2,
        _ => 1,
    }
}

/// So many damaged documents that are no JSON any more. Rich strings hold quotes, escapes and code; plain ones words.
pub fn corpus(rich: bool, count: usize) -> Vec<Damaged> {
    let mut maker = Maker { random: Random::new(if rich { 411 } else { 977 }), rich };
    let documents: Vec<String> = (0..DOCUMENTS).map(|place| maker.document(place)).collect();
    let mut corpus = Vec::with_capacity(count);
    let mut turn = 0;
    while corpus.len() < count {
        let document = &documents[turn % DOCUMENTS];
        let (text, kind) = maker.damaged(document, turn / DOCUMENTS % 3);
        turn += 1;
        if let (None, Some(right)) = (parse(&text), parse(document)) {
            corpus.push(Damaged { text, right, kind });
        }
    }
    corpus
}

/// How many documents are damaged.
const DOCUMENTS: usize = 200;

const WORDS: [&str; 16] = [
    "harbour", "tide", "copper", "ash", "north", "ledger", "ferry", "basil", "quartz", "the", "of", "under",
    "seven", "ring", "lantern", "salt",
];

struct Maker {
    random: Random,
    rich: bool,
}

impl Maker {
    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| WORDS[self.random.below(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }

    fn text(&mut self) -> String {
        let (few, many) = (1 + self.random.below(3), 6 + self.random.below(12));
        match self.random.below(if self.rich { 10 } else { 5 }) {
            0..=1 => self.words(few),
            2 => format!("{}.", self.words(many)),
            3 => format!("https://{}.example/{}?q={}", self.words(1), self.words(1), self.random.below(99)),
            4 => format!("2026-{:02}-{:02}T08:30:00Z", 1 + self.random.below(12), 1 + self.random.below(28)),
            5 => format!(
                "She wrote \"{}\", then left; see [{}] {{{}}}: (ok)",
                self.words(2),
                few,
                self.words(1)
            ),
            6 => format!("{}'s {}\n\t- {}, {}\n", self.words(1), self.words(2), self.words(1), self.words(1)),
            7 => format!("D:\\{}\\{}.txt", self.words(1), self.words(1)),
            8 => {
                format!("fn f(x) {{ return {{\"{}\": x, 'n': [1, 2]}} }} // {}", self.words(1), self.words(1))
            }
            _ => ["Zürich – Łódź", "潮が満ちた", "😀 on the pier", ""][self.random.below(4)].to_owned(),
        }
    }

    /// Writes a value of at most this depth.
    fn value(&mut self, depth: usize, layout: Layout, level: usize, out: &mut String) {
        match self.random.below(if depth == 0 { 7 } else { 12 }) {
            0..=2 => out.push_str(&layout.quoted(&self.text())),
            3 => out.push_str(&format!("{}", self.random.below(100_000) as i64 - 9)),
            4 => out.push_str(&format!("{}.{}", self.random.below(500), 1 + self.random.below(98))),
            5 => out.push_str(&format!("-{}e{}", 1 + self.random.below(9), self.random.below(12))),
            6 => out.push_str(["true", "false", "null"][self.random.below(3)]),
            7..=9 => {
                let count = 1 + self.random.below(5);
                self.members(count, depth - 1, layout, level, out);
            }
            _ => {
                let count = self.random.below(6);
                self.items(count, depth - 1, layout, level, out);
            }
        }
    }

    fn members(&mut self, count: usize, depth: usize, layout: Layout, level: usize, out: &mut String) {
        out.push('{');
        for place in 0..count {
            layout.begin(place, level + 1, out);
            let ending = ["", "_id", "Name", "-no", " of day"][self.random.below(5)];
            // Keys are different by their number, so that none stands twice.
            out.push_str(&layout.quoted(&format!("{}{ending}{place}", self.words(1))));
            out.push_str(layout.colon());
            self.value(depth, layout, level + 1, out);
        }
        layout.end(count, level, out);
        out.push('}');
    }

    fn items(&mut self, count: usize, depth: usize, layout: Layout, level: usize, out: &mut String) {
        out.push('[');
        for place in 0..count {
            layout.begin(place, level + 1, out);
            self.value(depth, layout, level + 1, out);
        }
        layout.end(count, level, out);
        out.push(']');
    }

    fn document(&mut self, place: usize) -> String {
        let layout = [Layout::Spaced, Layout::Indented, Layout::Compact][place % 3];
        loop {
            let mut out = String::new();
            let (count, depth) = (2 + self.random.below(5), 1 + self.random.below(3));
            match place % 5 {
                0 => self.items(count, depth, layout, 0, &mut out),
                _ => self.members(count, depth, layout, 0, &mut out),
            }
            if (60..=3000).contains(&out.len()) {
                return out;
            }
        }
    }

    /// The document with one character deleted, inserted or swapped with the next, and what that was.
    fn damaged(&mut self, document: &str, way: usize) -> (String, &'static str) {
        let mut characters: Vec<char> = document.chars().collect();
        let roles = roles(&characters);
        let at = self.random.below(characters.len() - 1);
        let kind = match way {
            0 => {
                characters.remove(at);
                match roles[at] {
                    Role::Opener => "opening bracket deleted",
                    Role::Closer => "closing bracket deleted",
                    Role::Comma => "comma deleted",
                    Role::Colon => "colon deleted",
                    Role::OpenQuote => "opening quote deleted",
                    Role::CloseQuote => "closing quote deleted",
                    Role::Content => "deleted in a string",
                    Role::Plain | Role::Space => "deleted in a number or literal",
                }
            }
            1 => {
                let character = characters[self.random.below(characters.len())];
                let inside = matches!(roles[at], Role::Content | Role::CloseQuote);
                characters.insert(at, character);
                match (character, inside) {
                    ('"', true) => "quote inserted in a string",
                    ('"', false) => "quote inserted outside",
                    ('{' | '}' | '[' | ']', false) => "bracket inserted outside",
                    (',' | ':', false) => "comma or colon inserted outside",
                    (_, true) => "other inserted in a string",
                    (_, false) => "other inserted outside",
                }
            }
            _ => {
                characters.swap(at, at + 1);
                let both = [roles[at], roles[at + 1]];
                let has = |role: Role| both.contains(&role);
                match (has(Role::OpenQuote) || has(Role::CloseQuote), has(Role::Content)) {
                    (true, true) => "quote and content swapped",
                    (true, false) => "quote and sign swapped",
                    (false, true) => "swapped in a string",
                    (false, false) => "swapped outside",
                }
            }
        };
        (characters.into_iter().collect(), kind)
    }
}

/// How a document is laid out.
#[derive(Clone, Copy)]
enum Layout {
    Spaced,
    Indented,
    Compact,
}

impl Layout {
    fn quoted(self, text: &str) -> String {
        serde_json::Value::from(text).to_string()
    }

    fn colon(self) -> &'static str {
        if matches!(self, Layout::Compact) { ":" } else { ": " }
    }

    fn begin(self, place: usize, level: usize, out: &mut String) {
        out.push_str(if place > 0 { "," } else { "" });
        match self {
            Layout::Indented => out.push_str(&format!("\n{}", "  ".repeat(level))),
            Layout::Spaced if place > 0 => out.push(' '),
            _ => {}
        }
    }

    fn end(self, count: usize, level: usize, out: &mut String) {
        if matches!(self, Layout::Indented) && count > 0 {
            out.push_str(&format!("\n{}", "  ".repeat(level)));
        }
    }
}

/// What a character of valid JSON is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Opener,
    Closer,
    Comma,
    Colon,
    OpenQuote,
    CloseQuote,
    Content,
    Plain,
    Space,
}

fn roles(characters: &[char]) -> Vec<Role> {
    let (mut inside, mut escaped) = (false, false);
    let role = |character: &char| match character {
        '"' if inside && !escaped => {
            inside = false;
            Role::CloseQuote
        }
        _ if inside => {
            escaped = *character == '\\' && !escaped;
            Role::Content
        }
        '"' => {
            inside = true;
            Role::OpenQuote
        }
        '{' | '[' => Role::Opener,
        '}' | ']' => Role::Closer,
        ',' => Role::Comma,
        ':' => Role::Colon,
        ' ' | '\n' => Role::Space,
        _ => Role::Plain,
    };
    characters.iter().map(role).collect()
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut list: Vec<(String, Tree)> = Vec::new();
        while let Some((key, value)) = members.next_entry::<String, Tree>()? {
            match list.iter_mut().find(|(known, _)| *known == key) {
                Some(known) => known.1 = value,
                None => list.push((key, value)),
            }
        }
        list.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Tree::Members(list))
    }
}
