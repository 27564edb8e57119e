//! Hunks: the parts of a change that were agreed to one by one.

use std::collections::BTreeSet;

use serde::Serialize;

/// Which hunks of a change may be made; they are counted from one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunks {
    of: usize,
    accepted: BTreeSet<usize>,
}

impl Hunks {
    /// These hunks of so many; nothing if one of them does not exist.
    pub fn choose(of: usize, accepted: impl IntoIterator<Item = usize>) -> Option<Self> {
        let accepted: BTreeSet<usize> = accepted.into_iter().collect();
        accepted.iter().all(|hunk| (1..=of).contains(hunk)).then_some(Hunks { of, accepted })
    }

    /// Whether a hunk may be made.
    pub fn accepts(&self, hunk: usize) -> bool {
        self.accepted.contains(&hunk)
    }

    /// The hunks that may be made, in order.
    pub fn accepted(&self) -> Vec<usize> {
        self.accepted.iter().copied().collect()
    }

    /// The hunks that were refused, in order.
    pub fn refused(&self) -> Vec<usize> {
        (1..=self.of).filter(|hunk| !self.accepts(*hunk)).collect()
    }
}
