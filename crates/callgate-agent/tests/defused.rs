//! Text of strangers, tried on all samples of the core: the repository has them, the archive of this crate has not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use callgate::{Gate, Profile};
use callgate_agent::tools::defused;

#[test]
fn no_marker_of_any_dialect_is_left_to_start_a_call() {
    let gate = Gate::builder().profile(Profile::named("lenient").unwrap()).build().unwrap();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../callgate/fixtures/dialects");
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = folders.filter_map(|folder| std::fs::read_to_string(folder.join("samples.jsonl")).ok());
    let samples: String = files.collect();
    let mut checked = 0;
    for line in samples.lines() {
        let sample: serde_json::Value = serde_json::from_str(line).unwrap();
        let Some(text) = sample["text"].as_str() else { continue };
        let before = gate.parse(text);
        if before.calls.iter().all(|call| *call.dialect == *"fenced-json") {
            continue;
        }
        let after = gate.parse(&defused(text));
        assert!(after.calls.is_empty(), "{}: {:?}", sample["dialect"], defused(text));
        checked += 1;
    }
    assert!(checked > 200, "{checked} samples were calls before");
}
