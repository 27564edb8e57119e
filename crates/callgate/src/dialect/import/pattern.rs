//! Patterns: the part of a regular expression that a template can say, spread into its alternatives.

use std::collections::BTreeSet;

/// More alternatives than this are not a few spellings of a marker but a language of their own.
const MOST_ALTERNATIVES: usize = 32;

/// One piece of an alternative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatternPiece {
    /// Text that stands there as it is. Never empty.
    Literal(String),
    /// White space of any amount, or none.
    Space,
    /// A named group that takes any text of some class, or a reference back to it.
    Capture(String),
    /// Any text that no group names.
    Wild,
    /// The end of the response.
    End,
    /// A look at what follows, which takes nothing.
    Ahead,
}

/// A pattern as the list of what it can match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pattern {
    /// What it matches, in order of preference. Never empty for a pattern that was read.
    pub(super) alternatives: Vec<Vec<PatternPiece>>,
    /// The named groups that take fixed text only, and so tell nothing about a call.
    pub(super) fixed: BTreeSet<String>,
}

impl Pattern {
    /// A pattern of these literals, in this order.
    pub(super) fn of_literals(literals: &[String]) -> Pattern {
        let alternatives =
            literals.iter().map(|literal| vec![PatternPiece::Literal(literal.clone())]).collect();
        Pattern { alternatives, fixed: BTreeSet::new() }
    }

    /// Reads a regular expression; the error says what in it no template can say.
    pub(super) fn parse(source: &str) -> Result<Pattern, String> {
        let mut reader = PatternReader {
            rest: source,
            groups: vec![Group::new(GroupKind::Whole)],
            fixed: BTreeSet::new(),
        };
        while !reader.rest.is_empty() {
            reader.step()?;
        }
        match reader.groups.pop() {
            Some(group) if reader.groups.is_empty() => {
                Ok(Pattern { alternatives: group.alternatives(), fixed: reader.fixed })
            }
            _ => Err("a group is not closed".to_owned()),
        }
    }

    /// The names of the groups that take text.
    pub(super) fn captures(&self) -> BTreeSet<&str> {
        let pieces = self.alternatives.iter().flatten();
        pieces
            .filter_map(|piece| match piece {
                PatternPiece::Capture(name) => Some(name.as_str()),
                _ => None,
            })
            .collect()
    }
}

enum GroupKind {
    Whole,
    Plain,
    Named(String),
    Ahead,
}

/// An open group: the alternatives that are complete, and all ways to read the one that is not.
struct Group {
    kind: GroupKind,
    complete: Vec<Vec<PatternPiece>>,
    current: Vec<Vec<PatternPiece>>,
}

impl Group {
    fn new(kind: GroupKind) -> Self {
        Group { kind, complete: Vec::new(), current: vec![Vec::new()] }
    }

    fn alternatives(mut self) -> Vec<Vec<PatternPiece>> {
        self.complete.append(&mut self.current);
        self.complete
    }
}

/// Spreads the pattern as it is read. Groups are kept on a list, so depth costs no stack.
struct PatternReader<'s> {
    rest: &'s str,
    groups: Vec<Group>,
    fixed: BTreeSet<String>,
}

impl<'s> PatternReader<'s> {
    fn step(&mut self) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            return self.open();
        }
        if let Some(rest) = self.rest.strip_prefix('|') {
            self.rest = rest;
            if let Some(group) = self.groups.last_mut() {
                let mut current = std::mem::replace(&mut group.current, vec![Vec::new()]);
                group.complete.append(&mut current);
            }
            return Ok(());
        }
        let atom = if let Some(rest) = self.rest.strip_prefix(')') {
            self.rest = rest;
            self.close()?
        } else {
            vec![vec![self.single()?]]
        };
        let atom = self.repeated(atom)?;
        self.append(&atom)
    }

    /// Opens a group, or reads a reference back to one.
    fn open(&mut self) -> Result<(), String> {
        let Some(rest) = self.rest.strip_prefix('?') else {
            self.groups.push(Group::new(GroupKind::Plain));
            return Ok(());
        };
        let named = rest.strip_prefix("P<").or_else(|| rest.strip_prefix('<'));
        let kind = if let Some(rest) = rest.strip_prefix(':') {
            self.rest = rest;
            GroupKind::Plain
        } else if let Some(rest) = rest.strip_prefix('=') {
            self.rest = rest;
            GroupKind::Ahead
        } else if let Some((name, rest)) = rest.strip_prefix("P=").and_then(|rest| rest.split_once(')')) {
            self.rest = rest;
            let piece = PatternPiece::Capture(name.to_owned());
            return self.append(&[vec![piece]]);
        } else if rest.starts_with('!') {
            return Err("it looks ahead for what must not follow".to_owned());
        } else if rest.starts_with("<=") || rest.starts_with("<!") {
            return Err("it looks back".to_owned());
        } else if let Some((name, rest)) = named.and_then(|rest| rest.split_once('>')) {
            self.rest = rest;
            GroupKind::Named(name.to_owned())
        } else {
            return Err("it sets flags or uses a kind of group that no template has".to_owned());
        };
        self.groups.push(Group::new(kind));
        Ok(())
    }

    fn close(&mut self) -> Result<Vec<Vec<PatternPiece>>, String> {
        let group = match self.groups.pop() {
            Some(group) if !self.groups.is_empty() => group,
            _ => return Err("a group is closed that was not opened".to_owned()),
        };
        let name = match &group.kind {
            GroupKind::Ahead => return Ok(vec![vec![PatternPiece::Ahead]]),
            GroupKind::Named(name) => Some(name.clone()),
            GroupKind::Whole | GroupKind::Plain => None,
        };
        let alternatives = group.alternatives();
        let Some(name) = name else { return Ok(alternatives) };
        let has = |test: fn(&PatternPiece) -> bool| alternatives.iter().flatten().any(test);
        if has(|piece| matches!(piece, PatternPiece::Capture(_) | PatternPiece::End | PatternPiece::Ahead)) {
            return Err(format!("the group `{name}` holds another group, the end or a look ahead"));
        }
        if has(|piece| *piece == PatternPiece::Wild) {
            return Ok(vec![vec![PatternPiece::Capture(name)]]);
        }
        self.fixed.insert(name);
        Ok(alternatives)
    }

    /// One character, class or escape.
    fn single(&mut self) -> Result<PatternPiece, String> {
        let mut characters = self.rest.chars();
        let first = characters.next();
        let after_first = characters.as_str();
        let piece = match first {
            Some('\\') => return self.escape(after_first),
            Some('[') => return self.class(after_first),
            Some('.') => PatternPiece::Wild,
            Some('$') => PatternPiece::End,
            Some('^') => return Err("it asks for the start of the text or of a line".to_owned()),
            Some(sign @ ('*' | '+' | '?')) => return Err(format!("`{sign}` repeats nothing")),
            Some(character) => PatternPiece::Literal(character.to_string()),
            None => return Err("it ends too early".to_owned()),
        };
        self.rest = after_first;
        Ok(piece)
    }

    fn escape(&mut self, after_backslash: &str) -> Result<PatternPiece, String> {
        let Some(letter) = after_backslash.chars().next() else {
            return Err("it ends with a backslash".to_owned());
        };
        let piece = match letter {
            's' => PatternPiece::Space,
            'w' | 'd' | 'S' | 'W' | 'D' => PatternPiece::Wild,
            'n' => PatternPiece::Literal("\n".to_owned()),
            't' => PatternPiece::Literal("\t".to_owned()),
            'r' => PatternPiece::Literal("\r".to_owned()),
            'Z' | 'z' => PatternPiece::End,
            other if other.is_ascii_alphanumeric() => {
                return Err(format!("`\\{other}` has no counterpart in a template"));
            }
            other => PatternPiece::Literal(other.to_string()),
        };
        self.rest = self.rest.get(1 + letter.len_utf8()..).unwrap_or_default();
        Ok(piece)
    }

    /// A class in brackets: white space if it holds nothing else, otherwise any text.
    fn class(&mut self, after_bracket: &'s str) -> Result<PatternPiece, String> {
        let negated = after_bracket.starts_with('^');
        let mut is_space = !negated;
        let mut escaped = false;
        let body_start = usize::from(negated);
        for (at, character) in after_bracket.char_indices().skip(body_start) {
            match character {
                ']' if !escaped && at > body_start => {
                    self.rest = &after_bracket[at + 1..];
                    return Ok(if is_space { PatternPiece::Space } else { PatternPiece::Wild });
                }
                '\\' if !escaped => escaped = true,
                's' | 'n' | 't' | 'r' if escaped => escaped = false,
                other => {
                    escaped = false;
                    is_space &= other.is_whitespace();
                }
            }
        }
        Err("a class is not closed".to_owned())
    }

    /// The atom with the sign of repetition that follows it, if one does.
    fn repeated(&mut self, atom: Vec<Vec<PatternPiece>>) -> Result<Vec<Vec<PatternPiece>>, String> {
        let (many, length) = match self.rest.chars().next() {
            Some('?') => (false, 1),
            Some('*' | '+') => (true, 1),
            Some('{') => match counted(self.rest) {
                Some(length) => (true, length),
                None => return Ok(atom),
            },
            _ => return Ok(atom),
        };
        self.rest = &self.rest[length..];
        // Greed decides between matches of the same text; a template has no such choice.
        self.rest = self.rest.strip_prefix(['?', '+']).unwrap_or(self.rest);
        let all = |test: fn(&PatternPiece) -> bool| atom.iter().flatten().all(test);
        if all(|piece| *piece == PatternPiece::Space) {
            return Ok(vec![vec![PatternPiece::Space]]);
        }
        if many {
            let is_blank = |piece: &PatternPiece| match piece {
                PatternPiece::Literal(text) => text.trim().is_empty(),
                other => *other == PatternPiece::Space,
            };
            if all(is_blank) {
                return Ok(vec![vec![PatternPiece::Space]]);
            }
            if atom.iter().flatten().any(|piece| *piece == PatternPiece::Wild) {
                return Ok(vec![vec![PatternPiece::Wild]]);
            }
            return Err("it repeats a literal or a group".to_owned());
        }
        let mut atom = atom;
        if !atom.contains(&Vec::new()) {
            atom.push(Vec::new());
        }
        Ok(atom)
    }

    /// Puts every alternative of the atom behind every way to read what came before it.
    fn append(&mut self, atom: &[Vec<PatternPiece>]) -> Result<(), String> {
        let Some(group) = self.groups.last_mut() else { return Ok(()) };
        if group.current.len() * atom.len() > MOST_ALTERNATIVES {
            return Err(format!("it has more than {MOST_ALTERNATIVES} alternatives"));
        }
        let ways = std::mem::take(&mut group.current);
        for way in ways {
            for alternative in atom {
                let mut longer = way.clone();
                alternative.iter().for_each(|piece| push(&mut longer, piece));
                group.current.push(longer);
            }
        }
        Ok(())
    }
}

/// The length of a count in braces, if one stands here; otherwise the brace is a literal.
fn counted(rest: &str) -> Option<usize> {
    let (count, _) = rest.strip_prefix('{')?.split_once('}')?;
    let is_count = count.bytes().any(|byte| byte.is_ascii_digit())
        && count.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    is_count.then_some(count.len() + 2)
}

/// Appends a piece; literals side by side become one, and so does text of any kind.
fn push(pieces: &mut Vec<PatternPiece>, piece: &PatternPiece) {
    match (pieces.last_mut(), piece) {
        (Some(PatternPiece::Literal(text)), PatternPiece::Literal(more)) => text.push_str(more),
        (Some(PatternPiece::Wild), PatternPiece::Wild) | (Some(PatternPiece::Space), PatternPiece::Space) => {
        }
        _ => pieces.push(piece.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The alternatives in a short notation: `_` space, `<name>` a group, `*` any text, `$` the end, `>` a look ahead.
    fn spread(source: &str) -> Vec<String> {
        let pattern = Pattern::parse(source).unwrap();
        let piece = |piece: &PatternPiece| match piece {
            PatternPiece::Literal(text) => text.clone(),
            PatternPiece::Space => "_".to_owned(),
            PatternPiece::Capture(name) => format!("<{name}>"),
            PatternPiece::Wild => "*".to_owned(),
            PatternPiece::End => "$".to_owned(),
            PatternPiece::Ahead => ">".to_owned(),
        };
        pattern.alternatives.iter().map(|pieces| pieces.iter().map(piece).collect()).collect()
    }

    #[test]
    fn literals_groups_and_space() {
        assert_eq!(spread(r"<\|call\|>"), ["<|call|>"]);
        assert_eq!(spread(r"<fn=(?P<name>[^>\]]+)>\s*"), ["<fn=<name>>_"]);
        assert_eq!(spread(r"(?<name>\w+(?:\.\w+)*)\("), ["<name>("]);
        assert_eq!(spread(r"<(?P<key>\w{1,64})>(?P<value>.*?)</(?P=key)>"), ["<<key>><value></<key>>"]);
        assert_eq!(spread("a\\n* {b} {2}"), ["a_ {b}_"]);
        assert_eq!(spread(r"[\s\n ]+x[]a]"), ["_x*"]);
    }

    #[test]
    fn alternatives_are_spread_in_order() {
        assert_eq!(spread(r"<end>|<stop>|$"), ["<end>", "<stop>", "$"]);
        assert_eq!(spread(r"(?:a|b)?c(d|e)"), ["acd", "ace", "bcd", "bce", "cd", "ce"]);
        assert_eq!(spread(r"</p>|(?=<p>)"), ["</p>", ">"]);
        let fixed = Pattern::parse("(?P<kind>a|b)c").unwrap();
        assert!(fixed.fixed.contains("kind") && fixed.captures().is_empty());
        assert_eq!(fixed.alternatives.len(), 2);
    }

    #[test]
    fn what_no_template_can_say_is_rejected() {
        for (source, why) in [
            ("(a", "not closed"),
            ("a)", "not opened"),
            ("[a", "class is not closed"),
            ("a\\", "backslash"),
            ("*a", "repeats nothing"),
            ("(?:ab)+", "repeats a literal"),
            ("a{2}", "repeats a literal"),
            ("(?!a)", "must not follow"),
            ("(?<=a)b", "looks back"),
            ("(?i)a", "flags"),
            ("^a", "start"),
            (r"\ba", "no counterpart"),
            (r"(a)\1", "no counterpart"),
            ("(?P<a>(?P<b>.))", "holds another group"),
            ("(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)", "more than 32"),
        ] {
            let message = Pattern::parse(source).unwrap_err();
            assert!(message.contains(why), "{source}: {message}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}a{}", "(".repeat(200_000), ")".repeat(200_000));
        assert_eq!(Pattern::parse(&deep).unwrap().alternatives, [[PatternPiece::Literal("a".to_owned())]]);
    }
}
