//! Templates: any text is an error with a way out, or records that make a gate; the gate reads what they write to its last byte.

#![no_main]

use callgate::{FinishReason, Gate, Record, RenderCall};
use callgate_fuzz::{check_partition, events, seed, tools};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: seed("template"), |data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let records = match Record::parse(text) {
        Ok(records) => records,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for record in records {
        let call = RenderCall { id: None, name: "look", arguments: "{\"q\": \"cats\"}" };
        let written = record.render(&[call], None, None).unwrap_or_default();
        assert!(written.is_empty() || written.contains("cats"), "{} writes no arguments: {written}", record.name);
        let name = record.name.clone();
        match Gate::builder().tools(tools()).record(record).dialect(&name).build() {
            Ok(gate) => {
                check_partition(&events(&gate, [written.as_bytes()], FinishReason::Stop), written.len());
            }
            Err(error) => assert!(!error.help.is_empty()),
        }
    }
});
