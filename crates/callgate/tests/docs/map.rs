//! The code map: every source file with what its first lines say it is for.

use std::path::Path;

use super::{layers, replaced, root};

/// The parts of the map, each a folder of the repository.
const PARTS: &[(&str, &str)] = &[
    ("core", "crates/callgate/src"),
    ("core tests", "crates/callgate/tests"),
    ("agent", "crates/callgate-agent/src"),
    ("agent tests", "crates/callgate-agent/tests"),
    ("gateway", "crates/callgate-gateway/src"),
    ("gateway tests", "crates/callgate-gateway/tests"),
    ("command", "crates/callgate-cli/src"),
    ("command tests", "crates/callgate-cli/tests"),
];

/// The page with its maps fresh.
pub(crate) fn page(there: &str) -> String {
    let page = replaced(there, "layers", &layers::table());
    PARTS.iter().fold(page, |page, (part, folder)| replaced(&page, part, &table(folder)))
}

fn table(folder: &str) -> String {
    let mut table = format!("| `{folder}/` | what it is for |\n|---|---|\n");
    for path in sources(&root(folder)) {
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.strip_prefix(root(folder)).unwrap_or(&path).display().to_string();
        let purpose = purpose(&text);
        assert!(!purpose.is_empty(), "{name} does not say in its first line what it is for");
        table.push_str(&format!("| `{name}` | {} |\n", purpose.replace('|', "\\|")));
    }
    table
}

/// The Rust files of a folder and of those inside it, a module before its parts.
fn sources(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let rank = |path: &Path| {
        let leads =
            path.file_name().is_some_and(|name| name == "mod.rs" || name == "lib.rs" || name == "main.rs");
        let module = if leads { path.parent().unwrap_or(path).to_owned() } else { path.with_extension("") };
        (module, !leads)
    };
    found.sort_by_key(|path| rank(path));
    found
}

/// The first paragraph of a file's comment on itself.
fn purpose(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//! "));
    let words = lines.collect::<Vec<_>>().join(" ");
    words.replace("[`", "`").replace("`]", "`")
}
