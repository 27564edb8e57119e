//! A model's text with every part in the colour of what it became, and marks on what was changed or found wrong.

use crate::visible::{Breaks, visible};

use super::{Html, Part, PartKind};

/// A remark about a stretch of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last; the same where something was missing.
    pub end: usize,
    /// Whether it is about a change, and not about a fault.
    pub is_repair: bool,
    /// What is said.
    pub label: String,
}

/// Writes the text. Parts do not overlap; notes may, and stand in any order.
pub fn coloured(html: &mut Html, text: &str, parts: &[Part], notes: &[Note]) {
    let at = |place: usize| {
        let ends = (0..=place.min(text.len())).rev();
        ends.into_iter().find(|end| text.is_char_boundary(*end)).unwrap_or_default()
    };
    let edges = parts.iter().flat_map(|part| [part.start, part.end]);
    let edges = edges.chain(notes.iter().flat_map(|note| [note.start, note.end])).map(at);
    let mut edges: Vec<usize> = edges.chain([0, text.len()]).collect();
    edges.sort_unstable();
    edges.dedup();
    html.within("pre", &[("class", "raw"), ("tabindex", "0")], |html| {
        for (number, &start) in edges.iter().enumerate() {
            for gap in notes.iter().filter(|note| at(note.start) == start && at(note.end) == start) {
                html.element("mark", &[("class", class_of(gap)), ("title", &gap.label)], "‸");
            }
            let Some(&end) = edges.get(number + 1) else { break };
            let kind =
                parts.iter().find(|part| part.start <= start && start < part.end).map(|part| part.kind);
            let over = notes.iter().filter(|note| at(note.start) <= start && end <= at(note.end));
            // The shortest says most about its place.
            let note = over.min_by_key(|note| note.end - note.start);
            let class = kind.unwrap_or(PartKind::Text).word();
            let shown = visible(&text[start..end], Breaks::Keep);
            match note {
                Some(note) => {
                    let title = format!("{class}; {}", note.label);
                    html.open("span", &[("class", class), ("title", &title)]);
                    html.element("mark", &[("class", class_of(note))], &shown);
                    html.close("span");
                }
                None => html.element("span", &[("class", class), ("title", class)], &shown),
            }
        }
    });
}

/// What the colours mean, as far as they occur; and what notes look like, if there are any.
pub fn legend(html: &mut Html, occurs: impl Fn(PartKind) -> bool, has_notes: bool) {
    html.within("p", &[("class", "legend")], |html| {
        for (kind, name) in PartKind::ALL.into_iter().filter(|(kind, _)| occurs(*kind)) {
            html.open("code", &[("class", "raw")]);
            html.element("span", &[("class", kind.word())], name);
            html.close("code");
        }
        for (class, name) in [("mended", "repaired"), ("fault", "at fault")].into_iter().filter(|_| has_notes)
        {
            html.element("mark", &[("class", class)], name);
        }
    });
}

fn class_of(note: &Note) -> &'static str {
    if note.is_repair { "mended" } else { "fault" }
}
