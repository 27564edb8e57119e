//! Shortcuts: every quick way of reading gives the events of the careful way that it stands for.

#![cfg(feature = "careful")]
// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::internal::shortcuts::{Shortcut, without};
use callgate::{Event, FinishReason};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use support::corpus::{LISTENERS, samples};
use support::soup::{byte_soup, cuts, places};
use support::{Feed, difference, hold, obeyed, over_samples};

/// Turned off one by one, and all at once: two that are wrong in the same way may hide each other.
fn fault(read: impl Fn() -> Vec<Event<'static>>) -> Option<String> {
    let quick = read();
    let each = Shortcut::ALL.iter().map(std::slice::from_ref).chain([&Shortcut::ALL[..]]);
    each.into_iter().find_map(|off| {
        let careful = without(off, &read);
        difference(&careful, &quick).map(|difference| format!("without {off:?}: {difference}"))
    })
}

#[test]
fn samples_are_read_with_and_without_shortcuts() {
    over_samples(samples(), |sample| {
        let (feed, input) = (sample.feed(), sample.text.as_bytes());
        fault(|| feed.whole(input)).or_else(|| fault(|| feed.bytewise(input)))
    });
}

#[test]
fn soups_are_read_with_and_without_shortcuts() {
    let listener = any::<Index>().prop_map(|index| &LISTENERS[index.index(LISTENERS.len())]);
    let finish = select(vec![FinishReason::Stop, FinishReason::Length, FinishReason::Unknown]);
    hold(1500, (listener, byte_soup(14), cuts(6), finish), |(listener, input, cuts, finish)| {
        let feed = Feed { finish, ..Feed::new(&listener.gate) };
        let places = places(&cuts, input.0.len());
        obeyed(fault(|| feed.whole(&input.0)).or_else(|| fault(|| feed.cut(&input.0, &places))))
    });
}
