//! The systems that the seed cases come from, and the profiles that stand for them.

/// The profile of a system; panics where there is none, so that a new one is noticed.
pub(crate) fn profile_of(system: &str) -> &'static str {
    match system {
        "goshi" => "action",
        "acode" => "structured",
        "windlass" => "fenced",
        "reploid" => "labelled",
        "accesslint" => "strict-xml",
        other => panic!("unknown system {other}"),
    }
}
