//! The layers of the core: which module may know which. The page on architecture shows them, and a test checks them.

/// The modules by layer, the lowest first. A module knows its own layer and those below it.
pub(crate) const LAYERS: &[(&str, &[&str])] = &[
    ("words: what is said and what is allowed", &["bytes", "finding", "policy", "shortcuts"]),
    ("decoding: JSON of any kind", &["json"]),
    ("events and validation", &["effort", "event", "registry", "schema"]),
    ("formats as data, endings", &["dialect", "ending"]),
    ("what becomes of events", &["echo", "response"]),
    ("attempts, and what they are judged to be", &["attempt", "judge"]),
    ("the whole response", &["ledger"]),
    ("calls while they are read", &["draft"]),
    ("framing, and structured calls", &["frame", "native"]),
    ("the way in", &["chunk", "gate", "profile", "session", "tools"]),
    ("around it", &["batch", "internal"]),
];

/// The arrows that go up, each to be taken out: whoever does so removes it here.
///
/// All that lead to `gate` want what a gate was compiled to, which stands in the same file as its builder.
pub(crate) const UPWARD: &[(&str, &str)] = &[
    ("draft", "gate"),
    ("ending", "gate"),
    ("frame", "gate"),
    ("judge", "gate"),
    ("ledger", "gate"),
    ("native", "gate"),
];

/// Both as a page shows them.
#[allow(dead_code)] // The test of the arrows shows no page.
pub(crate) fn table() -> String {
    let words = |list: &[&str]| list.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let mut table = "| layer, the lowest first | modules |\n|---|---|\n".to_owned();
    for (layer, modules) in LAYERS {
        table.push_str(&format!("| {layer} | {} |\n", words(modules)));
    }
    let upward: Vec<String> = UPWARD.iter().map(|(from, to)| format!("`{from}` → `{to}`")).collect();
    table + &format!("\nArrows that still go up: {}.\n", upward.join(", "))
}
