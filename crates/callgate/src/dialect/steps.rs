//! Steps: the one form in which templates are walked: literals with their spellings, words, suffixes and bodies.

use super::record::Record;
use super::spelling::Spelled;
use super::template::{Part, Slot, Template};

/// One step of a template.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A literal.
    Literal(Spelled),
    /// One word.
    Word(Slot),
    /// Nothing, or a colon and a word.
    Suffix,
    /// Whatever has an end of its own: arguments, an object, parameters, a value, text, code.
    Body(Slot),
}

/// What two templates are told apart by, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Character(char),
    Slot(Slot),
}

/// How a call starts from outside.
pub(super) struct Start<'r> {
    /// The opener of its section, if it has one.
    pub(super) open: Option<&'r Template>,
    pub(super) call: &'r Template,
    /// The steps of both.
    pub(super) steps: Vec<Step>,
}

impl Step {
    fn new(record: &Record, part: &Part) -> Step {
        match part {
            Part::Literal(literal) => Step::Literal(Spelled::new(literal, &record.also)),
            Part::Slot(Slot::Suffix) => Step::Suffix,
            Part::Slot(slot) if slot.is_word() => Step::Word(*slot),
            Part::Slot(slot) => Step::Body(*slot),
        }
    }

    /// Whether it is layout only, which is free.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, Step::Literal(spelled) if spelled.is_blank())
    }
}

impl Record {
    /// Every template with the key it stands under, in the order in which a response has them.
    #[doc(hidden)]
    pub fn templates(&self) -> [(&'static str, Vec<&Template>); 9] {
        [
            ("open", self.open.iter().collect()),
            ("call", self.call.iter().collect()),
            ("param", self.param.iter().collect()),
            ("item", self.item.iter().collect()),
            ("join", vec![&self.join]),
            ("close", self.close.iter().collect()),
            ("text", self.text.iter().collect()),
            ("reasoning", self.reasoning.iter().collect()),
            ("noise", self.noise.iter().collect()),
        ]
    }

    /// Every way in which a call can start: each section opener with each call, or the calls alone.
    pub(super) fn starts(&self) -> Vec<Start<'_>> {
        let opens: Vec<Option<&Template>> = match self.open.as_slice() {
            [] => vec![None],
            open => open.iter().map(Some).collect(),
        };
        let mut starts = Vec::new();
        for open in opens {
            for call in &self.call {
                let parts = open.into_iter().chain([call]).flat_map(|template| &template.parts);
                let steps = parts.map(|part| Step::new(self, part)).collect();
                starts.push(Start { open, call, steps });
            }
        }
        starts
    }
}

/// A template as single characters and slots, without white space.
pub(super) fn units(template: &Template) -> Vec<Unit> {
    let mut units = Vec::new();
    for part in &template.parts {
        match part {
            Part::Literal(literal) => {
                units.extend(literal.chars().filter(|c| !c.is_whitespace()).map(Unit::Character));
            }
            Part::Slot(slot) => units.push(Unit::Slot(*slot)),
        }
    }
    units
}
