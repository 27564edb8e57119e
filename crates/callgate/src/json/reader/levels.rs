//! Levels: the brackets that are open, and which closers could close them.

use super::Reader;
use super::structure::Expects;
use crate::finding::Span;
use crate::json::meter::looked;
use crate::json::repair::RepairCode;
use crate::json::tape::{Kind, Node};

/// So many values are not looked through.
const MANY: usize = 1024;

/// One open bracket.
#[derive(Clone, Debug)]
pub(super) struct Level {
    kind: LevelKind,
    node: usize,
    /// How many values it holds so far.
    pub(super) items: usize,
}

impl Level {
    fn new(kind: LevelKind, node: usize) -> Self {
        Level { kind, node, items: 0 }
    }

    /// Its value on the tape.
    pub(super) fn node(&self) -> usize {
        self.node
    }

    pub(super) fn kind(&self) -> LevelKind {
        self.kind
    }
}

/// What was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LevelKind {
    Brace,
    Bracket,
    Paren,
    /// Values in braces, as Python writes a set.
    Set,
    /// The keyword arguments as a whole.
    Kwargs,
    /// Bare members in parentheses instead of braces.
    Members,
    /// A function around a value, of which nothing is written.
    Wrapper,
}

impl LevelKind {
    /// The bracket that closes it in the input.
    pub(super) fn closer(self) -> u8 {
        match self {
            LevelKind::Brace | LevelKind::Set => b'}',
            LevelKind::Bracket => b']',
            LevelKind::Paren | LevelKind::Kwargs | LevelKind::Members | LevelKind::Wrapper => b')',
        }
    }

    pub(super) fn is_object(self) -> bool {
        matches!(self, LevelKind::Brace | LevelKind::Kwargs | LevelKind::Members)
    }

    /// The brackets that are written for it, and the kind of value they make.
    pub(super) fn written(self) -> Option<(char, char, Kind)> {
        match self {
            LevelKind::Brace | LevelKind::Kwargs | LevelKind::Members => Some(('{', '}', Kind::Object)),
            LevelKind::Bracket | LevelKind::Paren | LevelKind::Set => Some(('[', ']', Kind::Array)),
            LevelKind::Wrapper => None,
        }
    }
}

/// How many levels each closer could close.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenBrackets {
    braces: usize,
    brackets: usize,
    parens: usize,
}

impl OpenBrackets {
    pub(super) fn count(&self, closer: u8) -> usize {
        match closer {
            b'}' => self.braces,
            b']' => self.brackets,
            _ => self.parens,
        }
    }

    /// How many levels are open.
    pub(super) fn total(&self) -> usize {
        self.braces + self.brackets + self.parens
    }

    fn change(&mut self, closer: u8) -> &mut usize {
        match closer {
            b'}' => &mut self.braces,
            b']' => &mut self.brackets,
            _ => &mut self.parens,
        }
    }
}

impl Reader {
    pub(super) fn push_level(&mut self, kind: LevelKind, node: usize) {
        self.levels.push(Level::new(kind, node));
        *self.open_brackets.change(kind.closer()) += 1;
    }

    pub(super) fn pop_level(&mut self) -> Option<Level> {
        let level = self.levels.pop()?;
        *self.open_brackets.change(level.kind.closer()) -= 1;
        Some(level)
    }

    pub(super) fn in_sequence(&self) -> bool {
        matches!(self.level_kind(), Some(LevelKind::Bracket | LevelKind::Paren | LevelKind::Set))
    }

    /// Where braces begin that may yet turn out to be a set: nothing of them is shown before.
    pub(super) fn undecided_braces(&self) -> Option<usize> {
        let level = self.levels.last().filter(|_| self.grammar.python())?;
        let is_open = level.kind == LevelKind::Brace && level.items == 0;
        let is_undecided = is_open && matches!(self.expects, Expects::Key | Expects::Colon);
        is_undecided.then(|| self.output.tape.nodes().get(level.node)).flatten().map(Node::start)
    }

    /// Makes the braces that were opened last a set, where Python has sets and no member was read. False if they are none.
    pub(super) fn becomes_set(&mut self, at: Span) -> bool {
        let Some(level) = self.levels.last_mut() else { return false };
        let is_new = level.items == 0 && level.node + 1 == self.output.tape.nodes().len();
        if !self.grammar.python() || level.kind != LevelKind::Brace || !is_new {
            return false;
        }
        level.kind = LevelKind::Set;
        let start = self.output.tape.nodes()[level.node].start();
        let key = self.output.tape.take_back();
        self.output.text.replace_range(start..=start, "[");
        self.output.tape.open(Kind::Array, key, start);
        self.repair(RepairCode::Tuple, at);
        true
    }

    /// Whether something stands beside the value that is read next: another value, or at least a key.
    pub(super) fn has_items(&self) -> bool {
        self.key.is_some() || self.levels.len() > 1 || self.levels.iter().any(|level| level.items > 0)
    }

    /// Whether there is an object in the value that was read. Of many values that is not asked.
    pub(super) fn holds_objects(&self) -> bool {
        let inside = self.output.tape.nodes().get(1..).unwrap_or_default();
        inside.len() > MANY || has_kind(inside, Some(Kind::Object))
    }

    /// Whether the closer of the innermost level may be missing somewhere else than before this closer of another.
    pub(super) fn may_close_elsewhere(&self, closer: u8) -> bool {
        // Of two that are missing, each may have been meant for another place.
        let below = self.levels.len().checked_sub(2).and_then(|at| self.levels.get(at));
        let is_only = below.is_some_and(|below| below.kind.closer() == closer);
        !is_only
            || self.level_kind() == Some(LevelKind::Paren)
            || self.holds_its_like()
            || self.may_need_no_opener()
    }

    /// Whether what the innermost level holds could stand without its brackets: the opener may be one too many.
    pub(super) fn may_need_no_opener(&self) -> bool {
        let items = self.levels.last().map_or(0, |level| level.items);
        items == 0 || items == 1 && self.in_sequence()
    }

    /// Whether the innermost level holds another of its kind, so that a closer may have been meant for either. Of many
    /// values that is not asked.
    pub(super) fn holds_its_like(&self) -> bool {
        let Some(level) = self.levels.last() else { return false };
        let inside = self.output.tape.nodes().get(level.node().saturating_add(1)..).unwrap_or_default();
        let kind = level.kind.written().map(|(.., kind)| kind);
        inside.len() > MANY || has_kind(inside, kind)
    }

    pub(super) fn level_kind(&self) -> Option<LevelKind> {
        self.levels.last().map(Level::kind)
    }
}

/// Whether one of these values is of this kind.
fn has_kind(nodes: &[Node], kind: Option<Kind>) -> bool {
    let found = nodes.iter().position(|node| Some(node.kind) == kind);
    looked(found.unwrap_or(nodes.len()));
    found.is_some()
}
