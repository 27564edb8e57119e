//! The promises of the design, by number, over all fixtures and over soups of everything that dialects are made of.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod judging;
mod reading;
mod settled;
#[path = "../support/mod.rs"]
mod support;
mod teaching;

use std::collections::BTreeSet;

use callgate::Gate;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use support::corpus::{LISTENERS, Listener, OTHER_SAMPLES};
use support::soup::soup;
use support::{hold, obeyed, over_samples, response};

/// A gate of any profile or dialect.
fn any_gate() -> impl Strategy<Value = &'static Listener> {
    any::<Index>().prop_map(|index| &LISTENERS[index.index(LISTENERS.len())])
}

/// Runs a law over soups, each read by some gate.
fn over_soups(cases: u32, law: impl Fn(&Gate, &str) -> Option<String>) {
    hold(cases, (any_gate(), soup(14)), |(listener, input)| obeyed(law(&listener.gate, &input)));
}

#[test]
fn texts_that_once_broke_a_promise_come_out_right() {
    over_samples(OTHER_SAMPLES.iter().filter(|sample| sample.row["outcome"].is_array()), |sample| {
        let response = response(&sample.feed().whole(sample.text.as_bytes()));
        let calls = response.calls.iter().map(|call| format!("call {} {}", call.name, call.arguments));
        let rejections = response.rejected.iter().map(|rejected| {
            let codes: Vec<&str> = rejected.findings.iter().map(|finding| finding.code.word()).collect();
            format!("rejected {} {}", rejected.name.as_deref().unwrap_or("None"), codes.join(","))
        });
        let found: BTreeSet<String> = calls.chain(rejections).collect();
        let expected = sample.row["outcome"].as_array().into_iter().flatten();
        let expected: BTreeSet<String> = expected.filter_map(Value::as_str).map(str::to_owned).collect();
        (found != expected).then(|| format!("expected {expected:?}, found {found:?}"))
    });
}
