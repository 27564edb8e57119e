//! Dice that fall the same way in every run: what generated documents and sampled shapes are drawn with.

/// A small generator of numbers (splitmix64), so that a document is known by its seed alone.
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice for the case with this number in the run with this seed.
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        Dice(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Any number.
    pub(crate) fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.any() >> 11) as usize % bound
    }

    /// Yes in this many of a hundred cases.
    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    /// Ascending places to cut a text of this length at.
    pub(crate) fn cuts(&mut self, length: usize, most: usize) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.below(most + 1)).map(|_| self.below(length + 1)).collect();
        places.sort_unstable();
        places
    }
}

/// A number from the environment, for longer runs than the usual one.
pub(crate) fn from_environment(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}
