//! The meter: how many bytes the reader has looked at, those that a search passes included. Tests hold it against the
//! length of the input, so every search of the reader tells it what it has passed; only the feature `careful` counts.

/// Counts bytes that were looked at.
#[cfg(not(feature = "careful"))]
#[inline(always)]
pub(crate) const fn looked(_bytes: usize) {}

#[cfg(feature = "careful")]
mod counter {
    use std::cell::Cell;

    thread_local! {
        static LOOKED: Cell<u64> = const { Cell::new(0) };
    }

    /// Counts bytes that were looked at.
    pub(crate) fn looked(bytes: usize) {
        LOOKED.set(LOOKED.get() + bytes as u64);
    }

    /// How many bytes were looked at on this thread since the last time.
    pub fn take_looked() -> u64 {
        LOOKED.take()
    }
}

#[cfg(feature = "careful")]
pub(crate) use counter::looked;
#[cfg(feature = "careful")]
pub use counter::take_looked;
