//! The echo guard: whatever call a response makes is an echo after a text that holds the response, and work stays linear.

#![no_main]

use callgate::{Code, Event, FinishReason};
use callgate_fuzz::{controlled, gate, seed, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: seed("echo"), |data: &[u8]| {
    let Some((input, [number, noise, ..])) = controlled(data) else { return };
    let text = text(input);
    let shown = match noise % 3 {
        0 => text.to_string(),
        1 => serde_json::Value::from(text.as_ref()).to_string(),
        _ => text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;"),
    };
    let mut session = gate(number).session();
    session.untrusted("words before");
    session.untrusted(&format!("{} {shown} ", "words ".repeat(usize::from(noise))));
    let mut check = |event: Event<'_>| {
        if let Event::Call(call) = event {
            let codes: Vec<Code> = call.findings.iter().map(|finding| finding.code).collect();
            assert_eq!(codes, [Code::Echo], "{} {} is in {shown:?}", call.name, call.arguments);
        }
    };
    session.push(&text, &mut check);
    let work = session.finish_counted(FinishReason::Stop, &mut check).reading;
    let bytes = (input.len() + shown.len() + 2048) as u64;
    assert!(work < (1 << 18) + 32 * bytes, "{work} steps for {bytes} bytes");
});
