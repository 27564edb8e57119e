//! Effort: what one response has cost so far, in counted work, and how much of it may still be explained.

use crate::registry::{Registry, nearest};

/// How often per response names are compared to say what was meant. A reader learns no more from the next hundred, and
/// each comparison goes through all names.
const SUGGESTIONS: usize = 16;

/// The work that one response has made.
#[derive(Debug)]
pub(crate) struct Effort {
    spent: u64,
    limit: u64,
    suggestions: usize,
    /// Names that were looked for, each with the nearest ones.
    looked_for: Vec<(String, Vec<String>)>,
}

impl Default for Effort {
    /// Without a limit.
    fn default() -> Self {
        Effort { spent: 0, limit: u64::MAX, suggestions: SUGGESTIONS, looked_for: Vec::new() }
    }
}

impl Effort {
    /// Sets how much may be spent.
    pub(crate) fn limit_to(&mut self, limit: usize) {
        self.limit = limit as u64;
    }

    /// How much was spent.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }

    /// Spends some work, if there is so much left. What is rejected is not done, but it is the end of the budget.
    pub(crate) fn spend(&mut self, work: u64) -> bool {
        self.spent = self.spent.saturating_add(work);
        self.spent <= self.limit
    }

    /// Whether more was asked for than there was.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent > self.limit
    }

    /// The first of the names that is close to `wanted`, while suggestions are made.
    pub(crate) fn closest<'a>(
        &mut self,
        wanted: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Option<&'a str> {
        self.suggestions = self.suggestions.checked_sub(1)?;
        let mut count = 0;
        let found = nearest(wanted, names.inspect(|_| count += 1)).into_iter().next();
        self.spend(count * COMPARISON);
        found
    }

    /// The names of the registry that are close to one that is not in it; nothing where no more suggestions are made.
    pub(crate) fn nearest(&mut self, wanted: &str, registry: &Registry) -> Option<&[String]> {
        let known = self.looked_for.iter().position(|(name, _)| name == wanted);
        let place = match known {
            Some(place) => place,
            None => {
                self.suggestions = self.suggestions.checked_sub(1)?;
                self.spend(registry.len() as u64 * COMPARISON);
                let found = registry.nearest(wanted).into_iter().map(str::to_owned).collect();
                self.looked_for.push((wanted.to_owned(), found));
                self.looked_for.len() - 1
            }
        };
        self.looked_for.get(place).map(|(_, found)| found.as_slice())
    }
}

/// What the comparison of two names counts for.
const COMPARISON: u64 = 64;
