//! JSON: what serde_json reads is left as it is, what was repaired is JSON and needs no more repair.

#![no_main]

use callgate::{Repair, RepairCode, repair};
use callgate_fuzz::seed;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Less than the depth at which serde_json gives up.
const DEPTH: usize = 64;

fuzz_target!(init: seed("json"), |data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let valid = serde_json::from_str::<Value>(text).is_ok();
    let Ok(repaired) = repair(text, DEPTH) else { return };
    // Keys that stand twice are valid to serde_json and a guess here.
    let guessed = repaired.repairs.iter().any(|repair| repair.code == RepairCode::DuplicateKey);
    if valid && !guessed {
        assert_eq!(repaired.repairs, Vec::<Repair>::new(), "valid JSON was repaired");
        assert_eq!(repaired.text.trim(), text.trim(), "valid JSON was changed");
    }
    assert!(serde_json::from_str::<serde::de::IgnoredAny>(&repaired.text).is_ok(), "{:?}", repaired.text);
    let again = repair(&repaired.text, DEPTH);
    let again = again.map(|again| (again.text, again.repairs));
    assert_eq!(again.ok(), Some((repaired.text.clone(), Vec::new())), "repaired twice");
});
