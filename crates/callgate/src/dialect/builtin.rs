//! Built-in dialects: the data files of `dialects/`, embedded in the library.

use std::cmp::Reverse;
use std::sync::LazyLock;

use super::record::Record;

macro_rules! embed {
    ($($name:literal)*) => {
        /// The text of every file. The order is the rank: where two dialects read the same bytes the same way, the
        /// first one gives its name.
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../dialects/", $name, ".toml"))),)*];
    };
}

embed! {
    "hermes"
    "granite4"
    "exaone"
    "ernie45"
    "longcat"
    "longcat-kv"
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
    "hyperclovax"
    "minimax-m1"
    "openpangu"
    "mistral-v11"
    "deepseek-v3"
    "deepseek-v31"
    "kimi-k2"
    "functionary-v31"
    "functionary-v32"
    "solar-open"
    "solar-open2"
    "plamo3"
    "tool-call-attributes"
    "glm4-legacy"
    "qwen-fn"
    "react"
    "qwen3-coder"
    "mimo"
    "seed-oss"
    "minimax-m2"
    "minimax-m3"
    "rwkv"
    "deepseek-v32-dsml"
    "deepseek-v4-dsml"
    "deepseek-v41-dsml"
    "gigachat35"
    "step3"
    "minicpm5"
    "dots"
    "anthropic-xml"
    "anthropic-legacy-xml"
    "use-mcp-tool"
    "cohere-cofl"
    "toolcall-xml"
    "glm45"
    "glm47"
    "glm53"
    "ling3"
    "iquest-q1"
    "xing4"
    "hy-v3"
    "hy-v4"
    "k2-horizon"
    "pythonic"
    "lfm2"
    "olmo3"
    "openpangu-v2"
    "llama3-builtin"
    "tool-code"
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
    "calling-tool"
    "action-json"
    "fenced-json"
    "fenced-call"
    "tool-call-heading"
    "cwm"
    "python-lines"
    "tool-call-args"
    "reploid0"
    "reploid0-plan"
    "tool-xml"
}

// A broken file is left out instead of stopping the program; a test makes sure that there is none.
static RECORDS: LazyLock<Vec<Record>> =
    LazyLock::new(|| FILES.iter().flat_map(|(_, toml)| Record::parse(toml).unwrap_or_default()).collect());

impl Record {
    /// Every built-in dialect, in order of rank.
    pub fn builtin() -> &'static [Record] {
        &RECORDS
    }

    /// The built-in dialect with this name.
    pub fn named(name: &str) -> Option<&'static Record> {
        Record::builtin().iter().find(|record| &*record.name == name)
    }

    /// The built-in dialect that a model writes, by the patterns of the records.
    ///
    /// ```
    /// let record = callgate::Record::for_model("Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8");
    /// assert_eq!(record.map(|record| &*record.name), Some("qwen3-coder"));
    /// ```
    ///
    /// The name may be that of a repository, a file or a tag: `Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8`, `qwen3-coder:30b`.
    /// The pattern with the most characters wins, so that a family and its exceptions can be listed side by side; among
    /// equals the one that stands first in the name, because a model that is made from another is named before it. A version
    /// that no pattern has (`qwen3.7`) is like the newest before it that one has (`qwen3.6`).
    pub fn for_model(model: &str) -> Option<&'static Record> {
        let model: Vec<char> = model.to_lowercase().chars().collect();
        let candidates = Record::builtin().iter().flat_map(|record| {
            let matches = record.models.iter().filter_map(|pattern| {
                let length = pattern.chars().filter(|character| *character != '*').count();
                let (at, newer) = match find(&model, pattern) {
                    Some(at) => (at, 0),
                    None => find_newer(&model, pattern)?,
                };
                Some((Reverse(length), newer, at))
            });
            matches.map(move |quality| (quality, record))
        });
        // `min_by_key` keeps the first of equals: the order of the files is the rank.
        candidates.min_by_key(|(quality, _)| *quality).map(|(_, record)| record)
    }
}

/// Where a name has a later version of what a pattern ends with (`4.2` for `4.1`), and by how much it is later.
fn find_newer(model: &[char], pattern: &str) -> Option<(usize, u32)> {
    let (stem, minor) = pattern.rsplit_once('.')?;
    let minor: u32 = minor.parse().ok()?;
    let is_version = stem.ends_with(|c: char| c.is_ascii_digit());
    let later = is_version.then_some(minor + 1..minor + 10)?;
    later.into_iter().find_map(|later| Some((find(model, &format!("{stem}.{later}"))?, later - minor)))
}

/// Where a pattern matches a name in lower case, if it does.
///
/// The pattern starts where a word of the name starts, and a number at its end is the whole number and no size: `llama-3` is
/// in `meta-llama-3.1`, not in `llama-30b` or `open_llama_3b`. `*` stands for any text.
fn find(model: &[char], pattern: &str) -> Option<usize> {
    let pattern = pattern.to_lowercase();
    let pieces: Vec<Vec<char>> = pattern.split('*').map(|piece| piece.chars().collect()).collect();
    let is_word_start = |at: usize| at == 0 || !model[at - 1].is_alphanumeric();
    (0..model.len()).filter(|at| is_word_start(*at)).find(|start| {
        let mut at = *start;
        pieces.iter().enumerate().all(|(index, piece)| {
            let is_last = index + 1 == pieces.len();
            let candidates = if index == 0 { at..at + 1 } else { at..model.len() + 1 };
            let end = candidates
                .filter_map(|from| piece_end(model, from, piece))
                .find(|end| !is_last || is_whole(model, *end, piece));
            at = end.unwrap_or(at);
            end.is_some()
        })
    })
}

/// Where a piece of a pattern ends if it stands here. A hyphen is any separator or none, since names are written as
/// `llama-3`, `llama_3` and `llama3`; a dot is one, but never a hyphen: `qwen3.8` is not `qwen3-8b`.
fn piece_end(model: &[char], start: usize, piece: &[char]) -> Option<usize> {
    let mut at = start;
    for wanted in piece {
        let found = model.get(at);
        at += match (wanted, found) {
            ('-', Some('-' | '_' | ':' | '/' | ' ')) => 1,
            ('-', _) => 0,
            ('.', Some('.' | '_')) => 1,
            (wanted, Some(found)) if wanted == found => 1,
            _ => return None,
        };
    }
    Some(at)
}

/// Whether a number at the end of a piece is the whole number, and no size such as `3b`.
fn is_whole(model: &[char], end: usize, piece: &[char]) -> bool {
    let ends_with_digit = piece.last().is_some_and(char::is_ascii_digit);
    let is_size =
        || model.get(end) == Some(&'b') && model.get(end + 1).is_none_or(|next| !next.is_alphanumeric());
    !ends_with_digit || !(model.get(end).is_some_and(char::is_ascii_digit) || is_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_embedded_and_good() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/dialects");
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
    fn patterns_match_whole_words_and_numbers() {
        let matches =
            |model: &str, pattern: &str| find(&model.chars().collect::<Vec<_>>(), pattern).is_some();
        for (model, pattern, expected) in [
            ("qwen/qwen3-coder-30b", "qwen3-coder", true),
            ("qwen/qwen3-coder-30b", "qwen3*30b", true),
            ("qwen/qwen3-coder-30b", "30b*qwen3", false),
            ("qwen", "qwen3", false),
            ("", "qwen", false),
            ("meta-llama-3.1-8b", "llama-3", true),
            ("llama3:8b", "Llama-3", true),
            ("llama_3_1", "llama-3.1", true),
            ("llama-30b", "llama-3", false),
            ("open_llama_3b", "llama-3", false),
            ("open_llama_3b-v2", "llama-3", false),
            ("open_llama_3beta", "llama-3", true),
            ("qwen3-8b", "qwen3.8", false),
            ("qwen3.8-max", "qwen3.8", true),
            ("sunbeam", "beam", false),
            ("sunbeam/beam-1", "beam", true),
            ("a-b-c1-b-c", "b*c", true),
            ("a-b-c10", "b*c1", false),
            ("a-b-c10-c1", "b*c1", true),
        ] {
            assert_eq!(matches(model, pattern), expected, "{model} {pattern}");
        }
    }
}
