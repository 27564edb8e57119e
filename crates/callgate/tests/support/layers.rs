//! The layers of the core: which module may know which. The page on architecture shows them, and a test checks them.

/// The modules by layer, the lowest first. A module knows its own layer and those below it.
pub(crate) const LAYERS: &[(&str, &[&str])] = &[
    ("words: what is said and what is allowed", &["bytes", "finding", "nearest", "policy", "shortcuts"]),
    ("decoding: JSON of any kind", &["json"]),
    ("events and validation", &["effort", "event", "registry", "repair", "schema"]),
    ("formats as data", &["dialect"]),
    ("what calls are held against, and how they end", &["ending", "rules"]),
    ("what becomes of events", &["echo", "response"]),
    ("attempts, and what became of them", &["attempt", "verdict"]),
    ("the whole response", &["ledger"]),
    ("judging", &["judge"]),
    ("calls while they are read, and once they are", &["draft", "reception"]),
    ("framing, and structured calls", &["frame", "native"]),
    ("the way in", &["chunk", "gate", "profile", "session", "tools", "trial"]),
    ("around it", &["batch", "detect", "internal"]),
];

/// The layers as a page shows them.
#[allow(dead_code)] // The test of the arrows shows no page.
pub(crate) fn table() -> String {
    let words = |list: &[&str]| list.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let mut table = "| layer, the lowest first | modules |\n|---|---|\n".to_owned();
    for (layer, modules) in LAYERS {
        table.push_str(&format!("| {layer} | {} |\n", words(modules)));
    }
    table
}
