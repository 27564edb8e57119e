//! What the text ends with, where the end of the response makes a call likely.

use super::super::super::likeness::LOOK_BACK;
use super::{Anchor, Surroundings, UnreadPlace, Watch};
use crate::bytes::character_start;

impl Watch {
    /// Brackets and labels are no punctuation of calls, but those that the text ends with are looked at once.
    #[inline(never)] // Once for a response.
    pub(super) fn note_end(&mut self, surroundings: Surroundings) {
        let text = self.text.as_bytes();
        let colon = memchr::memrchr(b':', text);
        let bracket = memchr::memrchr(b'[', text).filter(|at| text.len() <= at + LOOK_BACK);
        let is_live = !surroundings.is_dead() && surroundings.backticks == 0;
        let ends = text.trim_ascii_end().ends_with(b"]");
        if let Some(bracket) = bracket.filter(|at| ends && is_live && colon.is_none_or(|colon| colon > *at)) {
            self.looked = self.looked.max(self.start + bracket);
            self.anchors.push_back(Anchor { at: self.start + bracket, place: UnreadPlace::Text });
        }
        if let Some(colon) = colon {
            self.note_label(colon, surroundings);
        }
    }

    /// Labels have no punctuation of calls, but the turn ends behind them: the last one of the text is looked at, which ends
    /// with this colon, and those above it in its paragraph.
    #[inline(never)] // Few responses end with one.
    fn note_label(&mut self, colon: usize, surroundings: Surroundings) {
        // As much is looked at as is kept however the text came.
        let is_near = self.text.len() <= colon + LOOK_BACK;
        let from = character_start(&self.text, colon.saturating_sub(LOOK_BACK));
        let (before, after) = (&self.text[from..colon], self.text[colon..].trim_ascii_end());
        let line = before.rsplit('\n').next().unwrap_or(before);
        let is_dead = surroundings.is_dead()
            || surroundings.backticks > 0
            || after.contains(['`', '~'])
            || line.trim_ascii_start().starts_with('>');
        if self.registry.is_some() && is_near && !is_dead && !after.contains("\n\n") {
            let paragraph = before.rfind("\n\n").unwrap_or(0);
            self.looked = self.looked.max(self.start + from + paragraph);
            self.anchors.push_back(Anchor { at: self.start + colon, place: UnreadPlace::Text });
        }
    }
}
