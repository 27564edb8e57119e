//! Built-in dialects: the data files of `dialects/`, embedded in the library.

use std::sync::LazyLock;

use super::record::Record;

macro_rules! embed {
    ($($name:literal)*) => {
        /// The text of every file. The order is the rank: where two dialects read the same bytes the same way, the
        /// first one gives its name.
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../dialects/", $name, ".toml"))),)*];
    };
}

embed! {
    "hermes"
    "granite4"
    "exaone"
    "ernie45"
    "longcat"
    "internlm2"
    "granite-20b-fc"
    "gigachat3"
    "qwen25-coder-tools"
    "mistral"
    "tool-calls-array"
    "nemotron-toolcall"
    "granite"
    "phi4-mini"
    "apertus"
    "cohere-command"
    "command-r-plus"
    "xlam"
    "sarashina"
    "minimax-m1"
    "mistral-v11"
    "deepseek-v3"
    "deepseek-v31"
    "kimi-k2"
    "functionary-v31"
    "functionary-v32"
    "solar-open"
    "plamo3"
    "glm4-legacy"
    "qwen-fn"
    "react"
    "qwen3-coder"
    "mimo"
    "seed-oss"
    "minimax-m2"
    "minimax-m3"
    "deepseek-v32-dsml"
    "deepseek-v4-dsml"
    "deepseek-v41-dsml"
    "gigachat35"
    "step3"
    "minicpm5"
    "dots"
    "anthropic-xml"
    "anthropic-legacy-xml"
    "cohere-cofl"
    "glm45"
    "glm47"
    "ling3"
    "iquest-q1"
    "xing4"
    "hy-v3"
    "hy-v4"
    "k2-horizon"
    "pythonic"
    "lfm2"
    "olmo3"
    "llama3-builtin"
    "gemma4"
    "functiongemma"
    "harmony"
    "beam"
    "muse-atem"
    "inkling"
    "kimi-k3"
    "llama3-json"
    "json-bare"
    "json-tool-calls-object"
    "cline-xml"
    "bracket-json"
    "action-json"
    "fenced-json"
    "tool-call-args"
    "tool-xml"
}

// A broken file is left out instead of stopping the program; a test makes sure that there is none.
static RECORDS: LazyLock<Vec<Record>> =
    LazyLock::new(|| FILES.iter().flat_map(|(_, toml)| Record::parse(toml).unwrap_or_default()).collect());

/// Every built-in dialect, in order of rank.
pub fn builtin() -> &'static [Record] {
    &RECORDS
}

/// The built-in dialect with this name.
pub fn named(name: &str) -> Option<&'static Record> {
    builtin().iter().find(|record| &*record.name == name)
}

/// The built-in dialect that a model writes, by the patterns of the records.
///
/// Case does not matter. A pattern matches anywhere in the name, and `*` in it stands for any text; the pattern with
/// the most characters wins, so that a family and its exceptions can be listed side by side.
pub fn for_model(model: &str) -> Option<&'static Record> {
    let model = model.to_lowercase();
    let mut best: Option<(usize, &'static Record)> = None;
    for record in builtin() {
        for pattern in record.models.iter().filter(|pattern| matches(&model, pattern)) {
            if best.is_none_or(|(length, _)| pattern.len() > length) {
                best = Some((pattern.len(), record));
            }
        }
    }
    best.map(|(_, record)| record)
}

/// Whether the pieces of the pattern between its `*` occur in this order.
fn matches(model: &str, pattern: &str) -> bool {
    let mut rest = model;
    pattern.to_lowercase().split('*').all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_embedded_and_good() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dialects");
        let mut on_disk: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        on_disk.sort();
        let mut embedded: Vec<String> = FILES.iter().map(|(name, _)| format!("{name}.toml")).collect();
        embedded.sort();
        assert_eq!(on_disk, embedded);
        for (name, toml) in FILES {
            let records = Record::parse(toml).unwrap_or_else(|error| panic!("{name}.toml: {error}"));
            assert_eq!(records.len(), 1, "{name}.toml holds one dialect");
            assert_eq!(&*records[0].name, *name);
            assert_ne!(records[0].family, '-', "{name} says its family");
        }
    }

    #[test]
    fn globs_and_substrings() {
        assert!(matches("qwen/qwen3-coder-30b", "qwen3-coder"));
        assert!(matches("qwen/qwen3-coder-30b", "qwen3*30b"));
        assert!(!matches("qwen/qwen3-coder-30b", "30b*qwen3"));
        assert!(!matches("qwen", "qwen3"));
    }
}
