//! The page of the gateway: the settings that it shows are settings.

use callgate_gateway::Settings;
use callgate_gateway::config::{LogFormat, SyncAt};

use super::{blocks, docs};

#[test]
fn the_settings_on_the_page_are_read() {
    let page = std::fs::read_to_string(docs("gateway.md")).unwrap();
    let blocks = blocks(&page);
    let shown = blocks.iter().find(|block| block.language == "yaml").unwrap().body;
    // Keys and files of this machine are looked for when settings are read.
    let is_elsewhere = |line: &&str| line.contains("key_env:") || line.contains("key_file:");
    let text: Vec<&str> = shown.lines().filter(|line| !is_elsewhere(line)).collect();
    let settings = Settings::parse(&text.join("\n")).unwrap();
    let audit = settings.audit.unwrap();
    assert_eq!(
        (settings.log.format, audit.sync, audit.max_records),
        (LogFormat::Text, SyncAt::Interval, 100_000)
    );
    // What is shown is what holds without it, where that is said.
    let usual = Settings::default();
    assert_eq!(format!("{:?}", settings.limits), format!("{:?}", usual.limits));
    assert_eq!(format!("{:?}", settings.retries), format!("{:?}", usual.retries));
    assert_eq!((settings.listen, settings.probe), (usual.listen, usual.probe));
}
