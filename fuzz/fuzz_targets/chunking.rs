//! Chunking: pieces give the events of the whole, spans are a partition, `strict` takes no call that `standard` does not, and a fence stays dead.

#![no_main]

use callgate::FinishReason;
use callgate_fuzz::{calls, check_partition, controlled, cut, events, gate, profile, response, seed, text};
use libfuzzer_sys::fuzz_target;

/// Longer than any run of backticks in what is put between.
const FENCE: &str = "````````````````";

fuzz_target!(init: seed("chunking"), |data: &[u8]| {
    let Some((input, [number, reason, a, b, c, d, ..])) = controlled(data) else { return };
    let reason = match reason % 4 {
        0 => FinishReason::Stop,
        1 => FinishReason::Length,
        2 => FinishReason::ToolCalls,
        _ => FinishReason::Unknown,
    };
    let whole = events(gate(number), [input], reason);
    check_partition(&whole, input.len());
    let pieces = events(gate(number), cut(input, [a, b, c, d]), reason);
    assert_eq!(pieces, whole, "the events depend on how the input is cut");

    let text = text(input);
    let read = |name: &str, text: &str| calls(&response(&events(profile(name), [text.as_bytes()], reason)));
    let standard = read("standard", &text);
    for call in read("strict", &text) {
        assert!(standard.contains(&call), "strict takes {call:?}, standard does not");
    }
    if !text.contains(FENCE) {
        let shown = read("strict", &format!("{FENCE}\n{text}\n{FENCE}\n"));
        assert!(shown.is_empty(), "{shown:?} stands in a fence");
    }
});
