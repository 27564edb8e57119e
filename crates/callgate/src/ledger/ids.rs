//! Ids: what calls are told apart by, the model's own and new ones.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// The ids of one response.
#[derive(Debug)]
pub(crate) struct Ids {
    pub(crate) prefix: Cow<'static, str>,
    pub(super) taken: BTreeSet<String>,
    number: usize,
}

impl Default for Ids {
    fn default() -> Self {
        Ids { prefix: Cow::Borrowed("gen_"), taken: BTreeSet::new(), number: 0 }
    }
}

impl Ids {
    pub(super) fn contains(&self, id: &str) -> bool {
        self.taken.contains(id)
    }

    pub(super) fn take(&mut self, id: &str) {
        self.taken.insert(id.to_owned());
    }

    /// A new id: the prefix and the next number that is free.
    pub(super) fn fresh(&mut self) -> String {
        loop {
            self.number += 1;
            let mut id = String::with_capacity(self.prefix.len() + 4);
            id.push_str(&self.prefix);
            push_number(&mut id, self.number);
            if !self.taken.contains(&id) {
                return id;
            }
        }
    }
}

/// Writes a number. Every call without an id gets one, and the formatter would be most of its cost.
fn push_number(text: &mut String, number: usize) {
    let mut power = 1;
    while number / power >= 10 {
        power *= 10;
    }
    while power > 0 {
        text.push(char::from(b'0' + (number / power % 10) as u8));
        power /= 10;
    }
}
