//! Attributes of the tag that names the tool of a call: which of them the format does not have.

use super::members::{ENVELOPE, NAMING, STRANGERS};
use crate::attempt::{Attempt, Name, shortened};
use crate::dialect::{Part, Record};
use crate::finding::{Code, Finding};
use crate::json::RepairCode;

/// Notes the attributes that the format does not have, which may have been meant for arguments, as members of an object may.
/// One that it has and that stands twice names two tools.
pub(crate) fn note_attributes(attempt: &mut Attempt, record: &Record) {
    let has_slip = attempt.repairs.iter().any(|repair| repair.code == RepairCode::AttributeForm);
    let Name::Written(name) = &attempt.name else { return };
    if !has_slip {
        return;
    }
    // A header before the tag may have the name as well.
    let mut places = attempt.raw.match_indices(name.as_str()).map(|(at, _)| at);
    let tag =
        |at: &usize| attempt.raw[..*at].rfind(['<', '>']).filter(|at| attempt.raw[*at..].starts_with('<'));
    let Some(at) = places.clone().find(|at| tag(at).is_some()).or_else(|| places.next()) else { return };
    let start = tag(&at).unwrap_or(0);
    let end = attempt.raw[at..].find('>').map_or(attempt.raw.len(), |end| at + end);
    // What is written in a slot stands between the quotes around it.
    let written = record.call.iter().flat_map(|call| &call.parts).map(|part| match part {
        Part::Literal(literal) => literal.as_str(),
        Part::Slot(_) => "",
    });
    let written: String = written.collect();
    let known: Vec<&str> = attributes(&written).collect();
    let mut seen: Vec<&str> = Vec::new();
    let mut is_doubled = false;
    for attribute in attributes(&attempt.raw[start..end]) {
        is_doubled |= known.contains(&attribute) && seen.contains(&attribute);
        seen.push(attribute);
    }
    let unknown = || seen.iter().filter(|one| !known.contains(one) && !ENVELOPE.contains(one));
    let names_another = unknown().any(|one| NAMING.contains(one));
    attempt.strangers.extend(unknown().take(STRANGERS).map(|one| shortened(one)));
    let params = || record.param.iter().flat_map(|param| &param.parts);
    if !is_doubled && holds_value(&attempt.raw[end..], params()) {
        let message =
            "an attribute that the format does not have may be the value of a parameter that has none";
        attempt.findings.push(Finding::new(Code::Ambiguous).message(message));
    }
    if names_another {
        let message = "an attribute that the format does not have names a tool as well";
        attempt.findings.push(Finding::new(Code::Ambiguous).message(message));
    }
    if is_doubled {
        let message = "an attribute of the call stands twice, so that nobody can tell which is meant";
        attempt.findings.push(Finding::new(Code::Ambiguous).message(message));
    }
}

/// Whether a tag of parameters, which these parts write, has an attribute that the format does not have, and nothing behind it.
fn holds_value<'r>(raw: &str, parts: impl Iterator<Item = &'r Part> + Clone) -> bool {
    let literals = || {
        parts.clone().filter_map(|part| match part {
            Part::Literal(literal) => Some(literal.as_str()),
            Part::Slot(_) => None,
        })
    };
    let mut words = literals().filter_map(|literal| literal.trim_start().strip_prefix('<')).filter_map(word);
    let known: Vec<&str> = literals().flat_map(attributes).collect();
    words.any(|own| {
        raw.match_indices('<').any(|(at, _)| {
            let tag = &raw[at + 1..];
            let Some((tag, behind)) = tag.split_once('>') else { return false };
            let is_stranger = |one: &str| !known.contains(&one) && !ENVELOPE.contains(&one);
            word(tag) == Some(own)
                && behind.trim_start().starts_with("</")
                && attributes(tag).any(is_stranger)
        })
    })
}

/// The word that a tag begins with.
fn word(tag: &str) -> Option<&str> {
    tag.split(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/'))
        .next()
        .filter(|word| !word.is_empty())
}

/// The names before the equals signs of a tag, outside of quotes.
fn attributes(tag: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.');
    let mut quote = None;
    tag.char_indices().filter_map(move |(at, c)| {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == '=' => {
                let before = tag[..at].trim_end();
                let name = &before[before.rfind(|c| !is_name(c)).map_or(0, |at| at + 1)..];
                return Some(name).filter(|name| !name.is_empty());
            }
            _ => {}
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::attributes;

    #[test]
    fn attributes_stand_before_equals_signs() {
        let all = |tag| attributes(tag).collect::<Vec<_>>();
        assert_eq!(all("<invoke name=\"a=b\" limit = '5' id=x>"), ["name", "limit", "id"]);
        assert_eq!(all("<invoke name=\""), ["name"]);
        assert_eq!(all("<function=look>"), ["function"]);
    }
}
