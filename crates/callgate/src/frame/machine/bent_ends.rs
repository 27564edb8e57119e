//! Bent ends of thoughts: what may have been meant to end a thought in which a call stands, so that the call was thought.

use crate::bytes::character_start;
use crate::dialect::turn;
use crate::nearest::is_within;

/// How much of the text before and behind a stroke is looked at.
const REACH: usize = 32;

/// Looks for what may be the end of a thought in the text of one.
#[derive(Debug, Default)]
pub(super) struct BentEnds {
    /// The end of the text so far, with all that has not been looked at.
    text: String,
    /// How much of it has been looked at.
    looked: usize,
    /// Whether one was found.
    found: bool,
}

impl BentEnds {
    /// Reads the next piece of the text.
    pub(super) fn read(&mut self, text: &str) {
        if self.found {
            return;
        }
        self.text.push_str(text);
        let limit = self.text.len().saturating_sub(REACH);
        self.look(limit);
        let kept = character_start(&self.text, self.looked.saturating_sub(REACH));
        if kept > 4 * REACH {
            self.text.drain(..kept);
            self.looked -= kept;
        }
    }

    /// Whether there was one, now that all of the text has come.
    pub(super) fn finish(&mut self) -> bool {
        self.look(self.text.len());
        self.found
    }

    fn look(&mut self, limit: usize) {
        let limit = character_start(&self.text, limit);
        let Some(new) = self.text.get(self.looked..limit) else { return };
        let bent = |at: usize| {
            let from = character_start(&self.text, at.saturating_sub(REACH));
            let to = character_start(&self.text, at + REACH);
            is_bent_end(&self.text[from..at], &self.text[at + 1..to.max(at + 1)])
        };
        self.found |= memchr::memchr_iter(b'/', new.as_bytes()).any(|at| bent(self.looked + at));
        self.looked = limit;
    }
}

/// Whether a stroke between these texts is that of the end of a thought, however it is spelt: with white space, escapes or
/// signs that do not show in it, in other brackets, without its last one, or with a slip in its name.
fn is_bent_end(before: &str, after: &str) -> bool {
    let is_hidden = |c: char| matches!(c, '\\' | '\u{200b}'..='\u{200d}' | '\u{feff}');
    let before = before.trim_end_matches(|c: char| c.is_whitespace() || is_hidden(c));
    let is_opened =
        before.ends_with(['<', '[', '{', '(', '＜', '‹', '◁', '|', '｜']) || before.ends_with("&lt;");
    let name: String = after
        .chars()
        .filter(|c| !is_hidden(*c))
        .skip_while(|c| c.is_whitespace())
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect();
    is_opened
        && turn::THOUGHTS.iter().any(|thought| is_within(&name, thought, usize::from(thought.len() > 3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_thoughts_are_found_however_they_are_bent() {
        for (text, expected) in [
            ("no.\n</ think>\nYes", true),
            ("no <\\/think> yes", true),
            ("no </thnk> yes", true),
            ("no </think", true),
            ("no </think\nI go on", true),
            ("no ＜/think＞ yes", true),
            ("no &lt;/think&gt; yes", true),
            ("no </\u{200b}think>", true),
            ("no < / thinking >", true),
            ("no ◁/think▷", true),
            ("I look into a/think and </b>", false),
            ("see </parameter> and </tool_call>", false),
            ("km/h", false),
        ] {
            let mut whole = BentEnds::default();
            whole.read(text);
            let mut cut = BentEnds::default();
            for (at, c) in text.char_indices() {
                cut.read(&text[at..at + c.len_utf8()]);
            }
            assert_eq!((whole.finish(), cut.finish()), (expected, expected), "{text}");
        }
    }
}
