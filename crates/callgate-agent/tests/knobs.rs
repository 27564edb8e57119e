//! Knobs: the configuration takes just what the policy itself takes, by the same names, words and bounds.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

use callgate::Policy;
use callgate_agent::config::{Kind, rows};
use serde_json::json;

#[test]
fn every_knob_is_a_key_and_every_key_a_knob_with_the_same_values() {
    let keys: Vec<String> =
        rows().filter_map(|row| row.key.strip_prefix("policy.").map(str::to_owned)).collect();
    let mut knobs = Policy::knobs();
    let mut sorted = keys.clone();
    knobs.sort();
    sorted.sort();
    assert_eq!(sorted, knobs);
    for row in rows() {
        let Some(knob) = row.key.strip_prefix("policy.") else { continue };
        let takes = |value: serde_json::Value| Policy::default().set(knob, &value).is_ok();
        match row.kind {
            Kind::Word(words) => {
                assert!(words.iter().all(|word| takes(json!(word))), "{knob}");
                let error = Policy::default().set(knob, &json!("zzzzz")).unwrap_err();
                let listed = error.split(", ").count();
                assert_eq!(listed, words.len(), "{knob}: {error}");
            }
            Kind::Count(least, most) => {
                assert!(takes(json!(least)) && takes(json!(most)), "{knob}");
                assert!(!takes(json!(most + 1)), "{knob}");
                assert!(least == 0 || !takes(json!(least - 1)), "{knob}");
            }
            Kind::Text => assert!(takes(json!(":"))),
            other => panic!("{knob}: {other:?}"),
        }
    }
}
