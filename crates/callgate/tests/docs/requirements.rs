//! The table of what the five systems ask for: every row with its state and the tests that show it, each of which exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{read, root};

const ROWS: &str = "crates/callgate/fixtures/requirements.toml";

/// The systems, the letter of their rows, how many there are, and the profile that makes the system work.
const SYSTEMS: &[(&str, &str, char, usize, &str)] = &[
    ("goshi", "goshi", 'G', 60, "action"),
    ("acode", "Acode", 'A', 98, "structured"),
    ("windlass", "Windlass", 'W', 34, "fenced"),
    ("reploid", "Reploid", 'R', 41, "labelled"),
    ("accesslint", "AccessLint", 'X', 72, "strict-xml"),
];

/// Where the cases of the documents stand.
const CASES: &[&str] =
    &["crates/callgate/fixtures/seed_cases.jsonl", "crates/callgate-agent/fixtures/seed_cases.jsonl"];

const HEAD: &str = "\
# What the five systems ask for

Callgate does what five systems do that let a model call tools: goshi, Acode, Windlass, Reploid and AccessLint. What their documents ask for was written down as rows; this page says for
each row whether it holds here, and names the tests that show it. How each system is used is on [its own page](systems.md).

- **works**: the tests named in the last column fail if it does not.
- **differs**: Callgate deliberately does something else, for the reason given. Promises are those of [ARCHITECTURE.md](../ARCHITECTURE.md#what-always-holds), rulings are numbered decisions of the design.
- **open**: a part is missing, which is said.

`GT-001` and the like are cases of [one](../crates/callgate/fixtures/seed_cases.jsonl) or [the other](../crates/callgate-agent/fixtures/seed_cases.jsonl) list, each of which names the rows it is for; all
others are test functions. That they exist, and that no row is missing, is a test too.

";

/// One row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    asks: String,
    by: Vec<String>,
    but: Option<String>,
    open: Option<String>,
}

impl Row {
    /// How it differs, or what is open.
    fn reason(&self) -> &str {
        self.open.as_ref().or(self.but.as_ref()).map_or("", String::as_str)
    }

    fn state(&self) -> &'static str {
        match (&self.but, &self.open) {
            (_, Some(_)) => "open",
            (Some(_), None) => "differs",
            (None, None) => "works",
        }
    }
}

type Rows = BTreeMap<String, BTreeMap<String, Row>>;

fn rows() -> Rows {
    // A row that stands twice is an error of the reader.
    toml::from_str(&read(ROWS)).unwrap_or_else(|error| panic!("{ROWS}: {error}"))
}

/// Everything a row can refer to.
struct Proofs {
    /// The rows that each case is for.
    cases: BTreeMap<String, BTreeSet<String>>,
    /// The files of each test function, by `file::function`.
    tests: BTreeMap<String, Vec<String>>,
}

impl Proofs {
    fn gather() -> Self {
        let mut cases = BTreeMap::new();
        for path in CASES {
            for line in read(path).lines() {
                let case: Value =
                    serde_json::from_str(line).unwrap_or_else(|error| panic!("{path}: {error}"));
                let rows = case["req"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let id = case["id"].as_str().unwrap_or_default().to_owned();
                cases.insert(id, rows.map(str::to_owned).collect());
            }
        }
        let mut tests: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut open: Vec<PathBuf> = vec![root("crates")];
        while let Some(folder) = open.pop() {
            let entries =
                std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            for path in entries.flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path).unwrap_or_default();
                    let below = path.strip_prefix(root("")).unwrap_or(&path).display().to_string();
                    for name in functions(&text) {
                        tests.entry(format!("{}::{name}", stem(&path))).or_default().push(below.clone());
                    }
                }
            }
        }
        Proofs { cases, tests }
    }

    /// Why a proof proves nothing about a row, if so.
    fn fault(&self, row: &str, proof: &str) -> Option<String> {
        if !proof.contains("::") {
            return match self.cases.get(proof) {
                None => Some(format!("{row}: there is no case {proof}")),
                Some(rows) if !rows.contains(row) => {
                    Some(format!("{row}: the case {proof} is not for this row"))
                }
                Some(_) => None,
            };
        }
        match self.tests.get(proof).map(Vec::as_slice) {
            None | Some([]) => Some(format!("{row}: there is no test {proof}")),
            Some([_]) => None,
            Some(files) => Some(format!("{row}: {proof} may be in any of {files:?}")),
        }
    }

    /// How the page shows a proof.
    fn shown(&self, proof: &str) -> String {
        match (proof.split_once("::"), self.tests.get(proof).and_then(|files| files.first())) {
            (Some((_, name)), Some(file)) => format!("[{}](../{file})", name.replace('_', " ")),
            _ => proof.to_owned(),
        }
    }
}

/// What a file is called by: its name, or that of its folder where every folder has such a file.
fn stem(path: &Path) -> String {
    let name =
        |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match name(path).as_str() {
        "main" | "mod" => path.parent().map(name).unwrap_or_default(),
        own => own.to_owned(),
    }
}

/// The names of the tests of a file that are run whenever tests are.
fn functions(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if line.starts_with("#[ignore") {
            is_test = false;
        } else if !line.starts_with("#[") && !line.starts_with("//") {
            let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            names.extend(name.filter(|_| is_test).and_then(|rest| Some(rest.split_once('(')?.0.to_owned())));
            is_test = false;
        }
    }
    names
}

/// Why the table of rows is not what it should be.
pub(crate) fn faults() -> Vec<String> {
    let (rows, proofs) = (rows(), Proofs::gather());
    let mut faults = Vec::new();
    let known: BTreeSet<&str> = SYSTEMS.iter().map(|system| system.0).collect();
    faults.extend(
        rows.keys()
            .filter(|key| !known.contains(key.as_str()))
            .map(|key| format!("no system is called {key}")),
    );
    for (key, _, letter, count, _) in SYSTEMS {
        let wanted: BTreeSet<String> = (1..=*count).map(|number| format!("{letter}-{number:02}")).collect();
        let Some(there) = rows.get(*key) else {
            faults.push(format!("{key} has no rows"));
            continue;
        };
        let found: BTreeSet<String> = there.keys().cloned().collect();
        faults.extend(wanted.difference(&found).map(|row| format!("{row} is missing")));
        faults.extend(found.difference(&wanted).map(|row| format!("there is no row {row}")));
        for (id, row) in there {
            faults.extend(row.by.is_empty().then(|| format!("{id} is shown by nothing")));
            faults.extend(row.by.iter().filter_map(|proof| proofs.fault(id, proof)));
            let twice = row.by.iter().collect::<BTreeSet<_>>().len() < row.by.len();
            faults.extend(twice.then(|| format!("{id} names a proof twice")));
        }
    }
    faults
}

/// The page.
pub(crate) fn page() -> String {
    let (rows, proofs) = (rows(), Proofs::gather());
    let mut page = format!("{}{HEAD}", super::MADE);
    page.push_str("| system | profile | rows | works | differs | open |\n|---|---|---|---|---|---|\n");
    let mut sums = [0; 4];
    for (key, name, _, _, profile) in SYSTEMS {
        let there = &rows[*key];
        let of = |state| there.values().filter(|row| row.state() == state).count();
        let counts = [there.len(), of("works"), of("differs"), of("open")];
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        let [all, works, differs, open] = counts;
        page.push_str(&format!(
            "| [{name}](#{key}) | [`{profile}`](systems/{key}.md) | {all} | {works} | {differs} | {open} |\n"
        ));
    }
    let [all, works, differs, open] = sums;
    page.push_str(&format!("| all | | {all} | {works} | {differs} | {open} |\n"));
    for (state, title) in [("differs", "Where it differs"), ("open", "What is open")] {
        let all = SYSTEMS.iter().flat_map(|system| &rows[system.0]).filter(|(_, row)| row.state() == state);
        let lines: Vec<String> =
            all.map(|(id, row)| format!("- **{id}** {} *Here:* {}\n", row.asks, row.reason())).collect();
        if !lines.is_empty() {
            page.push_str(&format!("\n## {title}\n\n{}", lines.concat()));
        }
    }
    for (key, name, ..) in SYSTEMS {
        page.push_str(&format!(
            "\n## {name}\n\n| row | what is asked | state | shown by |\n|---|---|---|---|\n"
        ));
        for (id, row) in &rows[*key] {
            let state = match row.reason() {
                "" => row.state().to_owned(),
                why => format!("**{}**: {why}", row.state()),
            };
            let by: Vec<String> = row.by.iter().map(|proof| proofs.shown(proof)).collect();
            let cells = [row.asks.as_str(), &state].map(|cell| cell.replace('|', "\\|"));
            page.push_str(&format!("| {id} | {} | {} | {} |\n", cells[0], cells[1], by.join(", ")));
        }
    }
    page
}
