//! Parts of a text: what each stretch of a model's output became.

use callgate::Event;
use serde::Serialize;

/// What became of a part of the text, by bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What it became.
    pub kind: PartKind,
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last.
    pub end: usize,
}

/// The kinds of parts. Their words are the classes of the style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// Text for the reader.
    Text,
    /// A thought.
    Reasoning,
    /// What only holds the format together.
    Markup,
    /// A call that stands.
    Call,
    /// One that does not.
    Rejected,
    /// An error that the model reported.
    Error,
}

impl PartKind {
    /// All kinds, with what a legend says of them.
    pub const ALL: [(PartKind, &'static str); 6] = [
        (PartKind::Text, "text"),
        (PartKind::Reasoning, "thought"),
        (PartKind::Markup, "markup"),
        (PartKind::Call, "call"),
        (PartKind::Rejected, "rejected call"),
        (PartKind::Error, "the model's error"),
    ];

    /// The word that JSON and the style have for it.
    pub fn word(self) -> &'static str {
        match self {
            PartKind::Text => "text",
            PartKind::Reasoning => "reasoning",
            PartKind::Markup => "markup",
            PartKind::Call => "call",
            PartKind::Rejected => "rejected",
            PartKind::Error => "error",
        }
    }
}

impl Part {
    /// The part that an event accounts for; none for events without bytes of their own.
    pub fn of(event: &Event<'_>) -> Option<Part> {
        let kind = match event {
            Event::Text { .. } => PartKind::Text,
            Event::Reasoning { .. } => PartKind::Reasoning,
            Event::Markup { .. } => PartKind::Markup,
            Event::Call(_) => PartKind::Call,
            Event::Rejected(_) => PartKind::Rejected,
            Event::ModelError(_) => PartKind::Error,
            _ => return None,
        };
        let span = event.accounts_for().filter(|span| !span.is_empty())?;
        Some(Part { kind, start: span.start, end: span.end })
    }

    /// Adds the part of an event, joined to the last one if it goes on with that: chunks leave no trace.
    pub fn note(parts: &mut Vec<Part>, event: &Event<'_>) {
        let Some(part) = Part::of(event) else { return };
        let goes_on = |last: &&mut Part| {
            last.kind == part.kind
                && last.end == part.start
                && matches!(part.kind, PartKind::Text | PartKind::Reasoning | PartKind::Markup)
        };
        match parts.last_mut().filter(goes_on) {
            Some(last) => last.end = part.end,
            None => parts.push(part),
        }
    }
}
