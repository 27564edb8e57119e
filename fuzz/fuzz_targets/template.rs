//! Templates: any text is an error with a way out or records that make a gate, and what they write they read.

#![no_main]

use callgate::dialect::RenderCall;
use callgate::{Gate, Record};
use callgate_fuzz::{calls, seed, tools};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: seed("template"), |data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let records = match Record::parse(text) {
        Ok(records) => records,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for record in records {
        let call = RenderCall { id: None, name: "look", arguments: "{\"q\": \"cats\"}" };
        let written = record.render(&[call], None, None);
        let name = record.name.clone();
        let gate = match Gate::builder().tools(tools()).record(record).dialect(&name).build() {
            Ok(gate) => gate,
            Err(error) => return assert!(!error.help.is_empty()),
        };
        if let Ok(written) = written {
            let read = calls(&gate.parse(&written));
            assert_eq!(read, [("look".to_owned(), "{\"q\":\"cats\"}".to_owned())], "{written:?}");
        }
    }
});
