//! Configuration: any text is errors with a place, or settings that every view can be made of.

#![no_main]

use callgate_agent::config::Config;
use callgate_fuzz::seed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: seed("configuration"), |data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Config::builder().text("config.yml", text).build() {
        Ok(config) => {
            let _ = (config.policy(), config.approval(), config.retry(), config.spending());
            assert!(config.settings().count() > 0);
        }
        Err(errors) => assert!(!errors.to_string().is_empty()),
    }
});
