//! Shortcuts: quick ways of reading what is usual. Each stands for a careful way that reads everything, and with the
//! feature `careful` a test can turn it off to compare the two.

/// A quick way, named after what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "careful"), allow(unreachable_pub))] // Only the switch makes it public.
pub enum Shortcut {
    /// JSON without a fault, many tokens at once, instead of one step per token.
    PlainJson,
    /// The content of strings and quotes that certainly end them, instead of a look beyond each quote.
    Content,
    /// Openers by a table over sets of threads, instead of the threads.
    Openers,
    /// One thread alone, or many that read the same, instead of a step of all threads.
    Threads,
    /// Name and arguments of an object that has nothing else, instead of the claims of all shapes.
    Claims,
    /// Text in which nothing can begin, instead of the regions of each character.
    Prose,
    /// Arguments that fit a simple schema at sight, instead of the validator.
    Sight,
}

#[cfg(not(feature = "careful"))]
impl Shortcut {
    /// Whether it is taken where it can be.
    #[inline(always)]
    pub(crate) const fn is_on(self) -> bool {
        true
    }
}

#[cfg(feature = "careful")]
mod switch {
    use std::cell::Cell;

    use super::Shortcut;

    thread_local! {
        /// One bit for each shortcut that is turned off.
        static OFF: Cell<u8> = const { Cell::new(0) };
    }

    impl Shortcut {
        /// All of them.
        pub const ALL: [Shortcut; 7] = [
            Shortcut::PlainJson,
            Shortcut::Content,
            Shortcut::Openers,
            Shortcut::Threads,
            Shortcut::Claims,
            Shortcut::Prose,
            Shortcut::Sight,
        ];

        /// Whether it is taken where it can be.
        pub(crate) fn is_on(self) -> bool {
            OFF.get() & 1 << self as u8 == 0
        }
    }

    /// Does some work on this thread without these shortcuts.
    pub fn without<T>(shortcuts: &[Shortcut], work: impl FnOnce() -> T) -> T {
        let before = OFF.get();
        OFF.set(shortcuts.iter().fold(before, |off, shortcut| off | 1 << *shortcut as u8));
        let done = work();
        OFF.set(before);
        done
    }
}

#[cfg(feature = "careful")]
pub use switch::without;
