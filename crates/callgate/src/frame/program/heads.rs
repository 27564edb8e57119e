//! Heads: what calls and parameters of a format with text values begin with, which a value does not hold without a doubt.

use super::SHORTEST_SIGN;
use super::calls::spellings;
use crate::dialect::{Part, Record, Slot};
use crate::draft::shown::OwnHeads;

/// The heads of a record whose calls and sections close with these.
pub(super) fn heads(record: &Record, closers: &[&String]) -> OwnHeads {
    let before_params = record.call.iter().flat_map(|call| {
        let end = call.parts.iter().position(|part| *part == Part::Slot(Slot::Params));
        &call.parts[..end.unwrap_or(0)]
    });
    let literals = record.open.iter().flat_map(|open| &open.parts).chain(before_params);
    let literals = literals.filter_map(|part| match part {
        Part::Literal(literal) => Some(literal.as_str()),
        Part::Slot(_) => None,
    });
    // Tags that are closed and opened there tell more than those that only end.
    let middles =
        record.param.iter().flat_map(|param| param.parts.windows(3)).filter_map(|parts| match parts {
            [Part::Slot(Slot::Key), Part::Literal(middle), Part::Slot(Slot::Value)] => Some(middle.trim()),
            _ => None,
        });
    let middles = middles.filter(|middle| middle.starts_with("</") && middle.rfind('<') != Some(0));
    let ends = closers.iter().flat_map(|closer| one_by_one(closer));
    OwnHeads {
        params: shown(record, record.param.iter().map(|param| param.head())),
        middles: middles.flat_map(|middle| spellings(record, middle)).collect(),
        calls: shown(record, literals),
        ends: ends.filter(|end| end.len() >= SHORTEST_SIGN).map(str::to_owned).collect(),
        named: record.known,
    }
}

/// A text as a string of JSON shows it.
pub(super) fn in_json(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The tags of these literals in all spellings, as text and as strings of JSON show them. One that goes on with any name
/// tells nothing.
fn shown<'r>(record: &Record, literals: impl Iterator<Item = &'r str>) -> Vec<String> {
    let is_telling = |tag: &&str| {
        tag.len() >= SHORTEST_SIGN
            && tag.contains(['<', '['])
            && !tag.ends_with('<')
            && !tag.starts_with("</")
    };
    let tags = literals.flat_map(one_by_one).filter(is_telling);
    let mut heads: Vec<String> = tags.flat_map(|tag| spellings(record, tag)).collect();
    let escaped: Vec<String> =
        heads.iter().map(|head| in_json(head)).filter(|head| !heads.contains(head)).collect();
    heads.extend(escaped);
    heads
}

/// The tags of a literal one by one, each with the namespace before it and whatever stands between its words.
fn one_by_one(literal: &str) -> Vec<&str> {
    let is_start =
        |(at, _): &(usize, &str)| literal[..*at].ends_with(|c: char| c == '>' || c.is_whitespace());
    let starts = literal.match_indices('<').filter(is_start).map(|(at, _)| at);
    let mut tags = Vec::new();
    let mut from = 0;
    for at in starts.chain([literal.len()]) {
        tags.push(literal[from..at].trim());
        from = at;
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::one_by_one;

    #[test]
    fn tags_keep_their_namespaces() {
        for (literal, tags) in [
            ("</function>\n</tool_call>", &["</function>", "</tool_call>"][..]),
            ("]<]minimax[>[</invoke>\n", &["]<]minimax[>[</invoke>"]),
            ("<｜DSML｜ parameter name=\"", &["<｜DSML｜ parameter name=\""]),
            ("<|close|>call<|sep|><|close|>tools<|sep|>", &["<|close|>call<|sep|>", "<|close|>tools<|sep|>"]),
        ] {
            let found: Vec<&str> = one_by_one(literal).into_iter().filter(|tag| !tag.is_empty()).collect();
            assert_eq!(found, tags, "{literal}");
        }
    }
}
