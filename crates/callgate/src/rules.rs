//! The rules of a gate: its tools, its policy and the dialects that listen. Everything that judges needs these alone.

use std::sync::Arc;

use crate::bytes::LEFT_OVER;
use crate::dialect::{Part, Record, Slot, is_word_character};
use crate::policy::{Dangerous, Policy, RepairPolicy};
use crate::registry::{NAMESPACES, Registry};
use crate::schema::CompiledTool;

/// What calls are held against.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) registry: Option<Registry>,
    pub(crate) policy: Policy,
    pub(crate) dialects: Arc<[ActiveDialect]>,
    /// The codes that a model may give an error that it reports; any if there are none.
    pub(crate) error_codes: &'static [&'static str],
    /// Whether a response with nothing in it is a fault.
    pub(crate) rejects_empty: bool,
}

/// A record that listens, and how.
#[derive(Clone, Debug)]
pub(crate) struct ActiveDialect {
    pub(crate) record: Arc<Record>,
    /// Chosen by name: every opener listens, not only the unmistakable ones.
    pub(crate) chosen: bool,
    /// Whether its calls are live, and not merely noticed.
    pub(crate) live: bool,
}

impl Rules {
    /// The tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&CompiledTool> {
        self.registry.as_ref()?.compiled(name)
    }

    /// The tool of this name, or else of this name in other letters.
    pub(crate) fn meant(&self, name: &str) -> Option<&CompiledTool> {
        let registry = self.registry.as_ref()?;
        registry.compiled(name).or_else(|| registry.respelled(name))
    }

    /// The one registered name that the name of a call in a text was mangled from, if such names are repaired.
    pub(crate) fn unmangled_in_text(&self, name: &str, record: &Record) -> Option<&str> {
        let repairs = self.policy.repair >= RepairPolicy::Lossless;
        repairs.then(|| self.unmangled(without_layout(name), Some(record))).flatten()
    }

    /// The one registered name that a mangled one stands for: in a namespace, doubled, or glued to words of its format and a
    /// number.
    pub(crate) fn unmangled(&self, name: &str, record: Option<&Record>) -> Option<&str> {
        let registry = self.registry.as_ref()?;
        let bare = [name, without_namespace(name)].into_iter().find_map(|name| self.tool(name));
        if let Some(known) = bare {
            return Some(&known.tool.name);
        }
        let affixes = record.map_or_else(Vec::new, affixes);
        let is_gap =
            |text: &str| text.is_empty() || text.chars().all(|c| matches!(c, '.' | ':' | '_' | '-' | '/'));
        // Digits that nothing parts from a name make another name, unless the format writes a number there.
        let is_numbered = record.is_some_and(numbers_names);
        let is_tail = |text: &str| {
            let digits = text.trim_start_matches(['.', ':', '_', '-']);
            let is_parted = is_numbered || text.is_empty() || digits.len() < text.len();
            is_parted && digits.chars().all(|c| c.is_ascii_digit())
        };
        // What another name begins with may be that name, cut off.
        let begins_another = |known: &str| {
            let mut others = registry.names().filter(|other| other.len() > known.len());
            name.find(known).is_some_and(|at| {
                let written = &name[at..];
                written.len() > known.len() && others.any(|other| other.starts_with(written))
            })
        };
        let mut found = registry.names().filter(|known| !begins_another(known)).filter(|known| {
            if let Some(rest) = name.strip_prefix(known)
                && let Some(gap) = rest.strip_suffix(known)
                && !gap.is_empty()
                && is_gap(gap)
            {
                return true;
            }
            affixes.iter().chain([&String::new()]).any(|affix| {
                name.strip_prefix(affix.as_str()).is_some_and(|rest| {
                    let rest =
                        if affix.is_empty() { rest } else { rest.trim_start_matches(['.', ':', '_', '-']) };
                    let tail = rest.strip_prefix(known);
                    tail.is_some_and(|tail| {
                        is_tail(tail) && !(affix.is_empty() && (tail.is_empty() || affixes.is_empty()))
                    })
                })
            })
        });
        let name = found.next()?;
        found.next().is_none().then_some(name)
    }

    /// A name without what it may have been mangled with.
    pub(crate) fn plain_name<'n>(&'n self, name: &'n str, record: &Record) -> &'n str {
        let name = without_layout(name);
        self.unmangled(name, Some(record)).unwrap_or_else(|| without_namespace(name))
    }

    /// Whether nothing may be guessed about a call of this name.
    pub(crate) fn is_dangerous(&self, name: &str) -> bool {
        self.policy.dangerous == Dangerous::All || self.tool(name).is_some_and(|tool| tool.tool.dangerous)
    }

    /// Whether there is a tool of this name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }
}

/// A name without what the layout of a text has put around it.
pub(crate) fn without_layout(name: &str) -> &str {
    name.trim_matches(|c: char| c.is_whitespace() || LEFT_OVER.contains(&c))
}

/// A name without the namespace that stands for having none.
pub(crate) fn without_namespace(name: &str) -> &str {
    NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace)).unwrap_or(name)
}

/// Whether a record writes a number behind the name of a tool.
fn numbers_names(record: &Record) -> bool {
    record.call.iter().any(|call| {
        call.parts.windows(3).any(|parts| {
            matches!(parts, [Part::Slot(Slot::Name), Part::Literal(gap), Part::Slot(Slot::Index)] if matches!(gap.as_str(), ":" | "." | "_" | "-"))
        })
    })
}

/// The words that a record's templates write right before a name, for telling a mangled one.
fn affixes(record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    for (key, others) in &record.also {
        if others.iter().any(String::is_empty) && key.chars().all(is_word_character) {
            found.push(key.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
        }
    }
    found
}
