//! Counts by name, of which there may be more than anybody wants to keep.

use std::collections::HashMap;

use super::Verdicts;

/// How many names are kept; the rest is counted together.
const MOST: usize = 200;
/// How long a name may be, in characters.
const LENGTH: usize = 100;

/// Names in the order in which they first came, with what was counted for each.
///
/// While a block is worked on, all its names are kept: a block is bounded itself. When blocks are added, the first
/// [`MOST`] names stay, so that it does not matter where blocks end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    list: Vec<(String, Verdicts)>,
    places: HashMap<String, usize>,
    /// What was counted for names that are not kept.
    others: Verdicts,
}

impl Names {
    /// The counts of a name.
    pub(crate) fn at(&mut self, name: &str) -> &mut Verdicts {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => self.place_of_new(name),
        };
        &mut self.list[place].1
    }

    /// Adds what comes behind it in the input.
    pub(crate) fn add(&mut self, next: Names) {
        for (name, counts) in next.list {
            let is_known = self.places.contains_key(&name);
            let into = if is_known || self.list.len() < MOST { self.at(&name) } else { &mut self.others };
            into.add(&counts);
        }
        self.others.add(&next.others);
    }

    /// The names with their counts, the most frequent first.
    pub(crate) fn ranked(&self) -> Vec<(&str, Verdicts)> {
        let mut list: Vec<_> = self.list.iter().map(|(name, counts)| (name.as_str(), *counts)).collect();
        list.sort_by_key(|&(name, counts)| (std::cmp::Reverse(counts.total()), name));
        list
    }

    /// What was counted for the names that are not listed.
    pub(crate) fn others(&self) -> Verdicts {
        self.others
    }

    fn place_of_new(&mut self, name: &str) -> usize {
        let shown = match name.char_indices().nth(LENGTH) {
            Some((end, _)) => format!("{}…", &name[..end]),
            None => name.to_owned(),
        };
        // A long name may be known by its beginning.
        if let Some(place) = self.places.get(&shown) {
            return *place;
        }
        self.list.push((shown.clone(), Verdicts::default()));
        self.places.insert(shown, self.list.len() - 1);
        self.list.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    /// Counts the names in blocks of this many.
    fn counted(names: &[String], block: usize) -> (Vec<(String, u64)>, u64) {
        let mut total = Names::default();
        for block in names.chunks(block) {
            let mut counts = Names::default();
            block.iter().for_each(|name| counts.at(name).note(Verdict::Accepted));
            total.add(counts);
        }
        let ranked = total.ranked().into_iter().map(|(name, counts)| (name.to_owned(), counts.total()));
        (ranked.collect(), total.others().total())
    }

    #[test]
    fn what_is_kept_does_not_depend_on_the_blocks() {
        let names: Vec<String> = (0..5000_usize).map(|n| format!("tool{}", n * n % 997)).collect();
        let (one, others) = counted(&names, 1);
        assert_eq!(one.len(), MOST);
        assert!(others > 0);
        assert_eq!(one.iter().map(|(_, count)| count).sum::<u64>() + others, 5000);
        for block in [7, 100, 5000] {
            assert_eq!(counted(&names, block), (one.clone(), others), "blocks of {block}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        let names = vec!["é".repeat(5000), "é".repeat(6000)];
        let (ranked, _) = counted(&names, 2);
        assert_eq!(ranked, [(format!("{}…", "é".repeat(LENGTH)), 2)]);
    }
}
