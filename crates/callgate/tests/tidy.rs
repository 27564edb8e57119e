//! What holds for the source itself: no format, tool or profile is named where all are treated alike, modules know only what
//! is below them, no two types have one name, no file is too long, and every dialect has samples.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

#[path = "support/layers.rs"]
mod layers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use callgate::{Profile, Record};
use layers::LAYERS;

/// The most lines of a file.
const LONGEST: usize = 600;

/// Where formats are named because that is what the file is for.
const NAMING: &[&str] = &["callgate/src/dialect/builtin.rs", "callgate/src/profile/table.rs"];

/// Words that are no name of a dialect or tool where they stand.
const ORDINARY: &[(&str, &str)] = &[
    // An English word in the description of a repair.
    ("callgate/src/json/repair.rs", "dots"),
    // Examples that are shown to a user, each of one format.
    ("callgate-cli/src/args/mod.rs", "qwen3-coder"),
    ("callgate-cli/src/demo.rs", "pythonic"),
    // The language of literals: a word of the key `syntax`.
    ("callgate/src/dialect/load.rs", "python"),
    ("callgate/src/dialect/keys.rs", "python"),
    ("callgate-agent/src/config/table/policy.rs", "python"),
    // Who speaks in prompts.
    ("callgate/src/dialect/turn.rs", "python"),
];

/// A Rust file, by its path below `crates`.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// Its lines with their numbers, without comments and without the tests at its end.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
        lines
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(at, line)| (at + 1, line))
    }
}

/// Every Rust file of these folders below `crates`.
fn sources(folders: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    let mut sources = Vec::new();
    while let Some(folder) = open.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let below = path.strip_prefix(&root).unwrap_or(&path);
                sources.push(Source { path: below.display().to_string().replace('\\', "/"), text });
            }
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

const ALL_CODE: &[&str] = &["callgate/src", "callgate-agent/src", "callgate-gateway/src", "callgate-cli/src"];

/// Whether a word stands in a line by itself, not as a part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        !line[..at].ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[test]
fn shared_code_names_no_dialect_and_no_tool() {
    let tools: BTreeSet<String> = Record::builtin()
        .iter()
        .filter(|record| !record.code_tool.is_empty())
        .map(|record| format!("\"{}\"", record.code_tool))
        .collect();
    assert!(!tools.is_empty(), "some dialect sends code to a tool");
    let mut faults = Vec::new();
    for source in sources(ALL_CODE).iter().filter(|source| !NAMING.contains(&source.path.as_str())) {
        for (number, line) in source.code() {
            let dialects = Record::builtin().iter().map(|record| &*record.name);
            let named = dialects.filter(|name| has_word(line, name));
            let tools = tools.iter().filter(|tool| line.contains(*tool)).map(|tool| tool.trim_matches('"'));
            for word in named.chain(tools) {
                if !ORDINARY.contains(&(source.path.as_str(), word)) {
                    faults.push(format!("{}:{number} names `{word}`: {}", source.path, line.trim()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "make it data of the record or of the profile's row:\n{}", faults.join("\n"));
}

#[test]
fn words_that_may_stand_are_still_there() {
    let sources = sources(ALL_CODE);
    for (path, word) in ORDINARY {
        let source =
            sources.iter().find(|source| source.path == *path).unwrap_or_else(|| panic!("no {path}"));
        assert!(source.code().any(|(_, line)| has_word(line, word)), "`{word}` is gone from {path}");
    }
}

#[test]
fn nobody_asks_which_profile_it_is() {
    let mut faults = Vec::new();
    for source in sources(ALL_CODE) {
        for (number, line) in source.code() {
            let asks = |name: &&str| {
                ["== ", "!= "].iter().any(|sign| line.contains(&format!("name() {sign}\"{name}\"")))
            };
            if Profile::NAMES.iter().any(asks) || line.contains("match profile.name()") {
                faults.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "make it a field of the row in profile/table.rs:\n{}", faults.join("\n"));
}

/// The modules that a line names by `crate::module`.
fn named_modules(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("crate::").filter_map(|(at, found)| {
        let rest = &line[at + found.len()..];
        let length = rest.bytes().take_while(|byte| byte.is_ascii_lowercase() || *byte == b'_').count();
        (length > 0).then(|| &rest[..length])
    })
}

#[test]
fn modules_know_only_what_is_below_them() {
    let layer = |module: &str| LAYERS.iter().position(|(_, modules)| modules.contains(&module));
    let mut faults = BTreeSet::new();
    for source in sources(&["callgate/src"]) {
        let inside = source.path.trim_start_matches("callgate/src/");
        let module = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let Some(own) = layer(&module) else {
            faults.insert(format!("{module} is in no layer"));
            continue;
        };
        for (number, line) in source.code() {
            assert!(!line.contains("use crate::{"), "{}:{number}: name one module per line", source.path);
            for other in named_modules(line) {
                match layer(other) {
                    Some(other_layer) if other_layer <= own => {}
                    Some(_) => {
                        faults.insert(format!("{}:{number}: {module} knows {other}", source.path));
                    }
                    None => {
                        faults.insert(format!("{}:{number}: {other} is in no layer", source.path));
                    }
                }
            }
        }
    }
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(faults.is_empty(), "see tests/support/layers.rs:\n{}", faults.join("\n"));
}

/// The name of the type that a line defines, if it does.
fn defined_type(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let public =
        line.strip_prefix("pub").map(|rest| rest.trim_start_matches("(crate)").trim_start_matches("(super)"));
    let item = public.unwrap_or(line).trim_start();
    let kinds = ["struct ", "enum ", "type ", "trait "];
    let name = kinds.iter().find_map(|kind| item.strip_prefix(kind))?;
    Some(name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(name))
}

#[test]
fn no_two_types_of_the_core_have_one_name() {
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources(&["callgate/src"]) {
        for (number, line) in source.code() {
            // What a trait asks for has one name in all that have the trait.
            let is_associated = line.trim_start().starts_with("type ") && line.starts_with(' ');
            if let Some(name) = defined_type(line).filter(|_| !is_associated) {
                known.entry(name.to_owned()).or_default().push(format!("{}:{number}", source.path));
            }
        }
    }
    assert!(known.len() > 200, "only {} types were found", known.len());
    let twice: Vec<(&String, &Vec<String>)> = known.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(twice.is_empty(), "say in the name what sets each apart: {twice:#?}");
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    let folders = ["callgate", "callgate-agent", "callgate-gateway", "callgate-cli"];
    let folders: Vec<String> =
        folders.iter().flat_map(|name| [format!("{name}/src"), format!("{name}/tests")]).collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let sources = sources(&folders);
    let is_long = |source: &&Source| source.text.lines().count() > LONGEST;
    let long: Vec<&str> = sources.iter().filter(is_long).map(|source| source.path.as_str()).collect();
    assert!(long.is_empty(), "longer than {LONGEST} lines; split where the words change: {long:?}");
}

#[test]
fn every_dialect_has_samples() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/dialects");
    let mut names = BTreeSet::new();
    for record in Record::builtin() {
        let path = folder.join(&*record.name).join("samples.jsonl");
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let calls = text.lines().filter(|line| line.contains("\"calls\": [{")).count();
        assert!(calls >= 3, "{}: {calls} samples with a call are too few", record.name);
        names.insert(record.name.to_string());
    }
    let folders = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{error}"));
    for entry in folders.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()) {
        assert!(names.contains(&entry), "fixtures/dialects/{entry} belongs to no dialect");
    }
}
