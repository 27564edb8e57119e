//! The list of public types, held against the sources: none comes or goes unseen, and none that is hidden is needed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All that a user can name outside of the hidden module. At most 36: a new one has to be worth it, or one has to go.
const TYPES: &[&str] = &[
    "Call",
    "Choice",
    "Chunk",
    "Code",
    "Coercion",
    "CoercionCode",
    "Collector",
    "Event",
    "Finding",
    "FinishReason",
    "Gate",
    "GateBuilder",
    "GateError",
    "ModelError",
    "NativeDelta",
    "Policy",
    "Profile",
    "Record",
    "RecordError",
    "Registry",
    "RegistryError",
    "RegistryErrorCode",
    "Rejected",
    "RenderCall",
    "Repair",
    "RepairCode",
    "Repaired",
    "Response",
    "Safety",
    "Schema",
    "Session",
    "Severity",
    "Span",
    "Tool",
    "Tools",
    "Unrepresentable",
];

/// What signatures name besides: the standard library, `serde_json`, features, parameters and variants.
const OTHERS: &[&str] = &[
    // The standard library.
    "Arc",
    "AsRef",
    "Box",
    "Cow",
    "ExactSizeIterator",
    "F",
    "Fn",
    "FnMut",
    "Into",
    "IntoIterator",
    "Item",
    "Iterator",
    "Option",
    "Result",
    "Self",
    "Send",
    "Some",
    "String",
    "Sync",
    "Vec",
    // Data.
    "DeserializeOwned",
    "JsonSchema",
    "RawValue",
    "Stream",
    "Value",
    // Parameters.
    "A",
    "I",
    "R",
    "S",
    "T",
];

#[test]
fn the_root_has_the_types_of_the_list_and_hides_the_rest() {
    let root = read(Path::new("lib.rs"));
    let modules: Vec<&str> = root.lines().filter_map(|line| line.strip_prefix("pub mod ")).collect();
    assert_eq!(modules, ["internal;"], "what is public stands at the root");
    assert!(root.contains("#[doc(hidden)]\npub mod internal;"), "the module of the engine is hidden");
    assert!(!root.contains("::*"), "what is public is listed by name");
    let exports = root.lines().filter_map(|line| line.strip_prefix("pub use "));
    let exported: BTreeSet<&str> = exports.flat_map(names).filter(|name| is_type(name)).collect();
    assert_eq!(exported, TYPES.iter().copied().collect(), "a public type came or went");
    assert!(TYPES.len() <= 36, "{} types", TYPES.len());
}

#[test]
fn public_signatures_name_public_types_only() {
    let known: BTreeSet<&str> = TYPES.iter().chain(OTHERS).copied().collect();
    let mut seen = BTreeSet::new();
    for path in sources() {
        let source = read(&path);
        for (owner, signature) in signatures(&source) {
            seen.insert(owner.clone());
            for name in names(&signature).filter(|name| is_type(name)) {
                assert!(
                    known.contains(name),
                    "{}: `{owner}` shows `{name}`, which is hidden:\n{signature}",
                    path.display()
                );
            }
        }
    }
    // What has neither a public field nor a public method would not be looked at.
    let opaque: Vec<&&str> = TYPES.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(opaque.is_empty(), "nothing was found of {opaque:?}");
}

/// The public fields, variants and methods of the public types, hidden ones left out. The sources are formatted, so an
/// item begins and ends at the margin.
fn signatures(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let (owner, is_enum, is_impl) = if let Some(rest) = line.strip_prefix("pub struct ") {
            (rest, false, false)
        } else if let Some(rest) =
            line.strip_prefix("pub enum ").or_else(|| line.trim().strip_prefix("pub enum "))
        {
            (rest, true, false)
        } else if let Some(rest) = line.strip_prefix("impl") {
            if rest.contains(" for ") {
                continue;
            }
            (rest.trim_start_matches("<R>").trim_start(), false, true)
        } else {
            continue;
        };
        let Some(owner) = names(owner).next().filter(|name| TYPES.contains(name)) else { continue };
        if !line.ends_with('{') {
            continue;
        }
        let margin = line.len() - line.trim_start().len();
        let end = format!("{}}}", " ".repeat(margin));
        let mut hidden = false;
        let mut signature = String::new();
        for line in lines.by_ref().take_while(|line| *line != end) {
            let inner = line.trim();
            let is_member = line.len() - line.trim_start().len() == margin + 4;
            if inner.starts_with("//") || inner.starts_with("#[") {
                hidden |= is_member && inner.contains("doc(hidden)");
                continue;
            }
            if is_enum {
                // The name of a variant is none of a type.
                let name = if is_member { inner.find(['(', '{']).unwrap_or(inner.len()) } else { 0 };
                found.push((owner.to_owned(), inner[name..].to_owned()));
                continue;
            }
            if is_member && inner.starts_with("pub ") && !hidden {
                // What a constant is says nothing about its type.
                signature = inner.split(" = ").next().unwrap_or_default().to_owned();
            } else if !signature.is_empty() {
                signature.push_str(inner);
            }
            hidden &= !is_member;
            // A field or a constant stands in one line; of a method only what comes before its body counts.
            let is_whole = !is_impl || inner.contains(" = ") || inner.ends_with('{');
            if !signature.is_empty() && is_whole {
                found.push((owner.to_owned(), std::mem::take(&mut signature)));
            }
        }
        found.push((owner.to_owned(), String::new()));
    }
    found
}

/// The identifiers of a text. What stands in quotes or in a path of a module is none.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty())
}

/// Whether an identifier is one of a type, and no constant.
fn is_type(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && (name.len() == 1 || name.contains(char::is_lowercase))
}

fn read(path: &Path) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file of the sources.
fn sources() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}
