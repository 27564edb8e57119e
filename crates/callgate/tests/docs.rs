//! The documents that are made from the library's own tables: rendered, compared with the files, their examples run.
//!
//! `UPDATE=1 cargo test -p callgate --test docs` rewrites them.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

#[path = "docs/dialect_example.rs"]
mod dialect_example;
#[path = "docs/dialects.rs"]
mod dialects;
#[path = "docs/findings.rs"]
mod findings;
#[path = "support/layers.rs"]
mod layers;
#[path = "docs/map.rs"]
mod map;
#[path = "docs/policy.rs"]
mod policy;
#[path = "docs/readme.rs"]
mod readme;
#[path = "docs/readme_example.rs"]
mod readme_example;
#[path = "docs/repairs.rs"]
mod repairs;
#[path = "docs/requirements.rs"]
mod requirements;
#[path = "docs/situations.rs"]
mod situations;
#[path = "docs/systems.rs"]
mod systems;

use std::path::{Path, PathBuf};

use callgate::{Code, Finding, Gate, Policy, Profile, Registry, Response};
use serde_json::json;

/// The first line of a page that is made as a whole.
const MADE: &str =
    "<!-- Made from the library's tables by `UPDATE=1 cargo test -p callgate --test docs`. -->\n";

#[test]
fn the_page_of_findings_is_fresh() {
    assert_fresh("docs/findings.md", &findings::page());
}

#[test]
fn the_page_of_repairs_is_fresh() {
    assert_fresh("docs/repairs.md", &repairs::page());
}

#[test]
fn the_page_of_the_policy_is_fresh() {
    assert_fresh("docs/policy.md", &policy::page());
}

#[test]
fn the_readme_is_fresh() {
    assert_fresh("README.md", &readme::page(&read("README.md")));
}

#[test]
fn the_page_on_dialects_is_fresh() {
    assert_fresh("docs/dialects.md", &dialects::page(&read("docs/dialects.md")));
}

#[test]
fn the_example_of_the_page_on_dialects_runs() {
    dialect_example::main().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_map_of_the_code_is_fresh() {
    assert_fresh("ARCHITECTURE.md", &map::page(&read("ARCHITECTURE.md")));
}

#[test]
fn the_table_of_requirements_is_fresh() {
    assert_fresh("docs/requirements.md", &requirements::page());
}

#[test]
fn every_requirement_is_shown_by_a_test_that_exists() {
    let faults = requirements::faults();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A-93, A-98, X-72: every code of every document with its causes and an example, as the gate says it today.
#[test]
fn the_pages_of_the_systems_are_fresh() {
    for system in systems::SYSTEMS {
        assert_fresh(system.page, &system.page(&read(system.page)));
    }
}

#[test]
fn every_code_of_the_systems_is_shown_by_an_example() {
    let faults: Vec<String> = systems::SYSTEMS.iter().flat_map(systems::System::faults).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_example_of_the_readme_runs() {
    readme_example::main().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn every_example_of_a_finding_shows_it() {
    let faults: Vec<String> = Code::ALL.iter().filter_map(|code| findings::example_fault(*code)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_finding_without_an_example_is_shown_by_a_situation() {
    for code in Code::ALL {
        let has_example = !code.entry().example.profile.is_empty();
        assert_ne!(has_example, situations::of(*code).is_some(), "{code} needs one of the two");
    }
    let faults: Vec<String> = situations::ALL
        .iter()
        .filter(|situation| !(situation.codes)().contains(&situation.code))
        .map(|situation| format!("{}: {} gives {:?}", situation.code, situation.words, (situation.codes)()))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_example_of_a_repair_needs_it() {
    let faults: Vec<String> = callgate::internal::json::RepairCode::ALL
        .iter()
        .filter_map(|code| repairs::example_fault(*code))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    let pages = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map(root);
    let docs = ["docs", "docs/systems"]
        .map(|folder| std::fs::read_dir(root(folder)).unwrap_or_else(|error| panic!("{folder}: {error}")));
    let docs = docs
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"));
    let faults: Vec<String> = pages.into_iter().chain(docs).flat_map(|page| dead_links(&page)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The targets of a page's links that are no files of this repository.
fn dead_links(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    let folder = page.parent().unwrap_or(page);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets
        .filter(|target| {
            !target.contains("://") && !target.starts_with('#') && !target.contains(char::is_whitespace)
        })
        .filter(|target| !folder.join(target.split('#').next().unwrap_or(target)).exists())
        .map(|target| format!("{} links to {target}, which is not there", page.display()))
        .collect()
}

/// A file of the repository.
fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares a file with what it should be, or makes it so.
fn assert_fresh(path: &str, fresh: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root(path), fresh).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    let there = std::fs::read_to_string(root(path)).unwrap_or_default();
    if there == fresh {
        return;
    }
    let lines = there.lines().chain([""]).zip(fresh.lines().chain([""]));
    let (number, (old, new)) =
        (1..).zip(lines).find(|(_, (old, new))| old != new).unwrap_or((0, ("its length", "another length")));
    panic!(
        "{path} is stale, first in line {number}:\n  there  {old}\n  fresh  {new}\n\
         `UPDATE=1 cargo test -p callgate --test docs` rewrites it"
    );
}

/// A page with the text between the marks of a part replaced.
fn replaced(page: &str, part: &str, text: &str) -> String {
    let (start, end) = (format!("<!-- made: {part} -->\n"), "<!-- end -->");
    let found = page.split_once(&start).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let Some((before, after)) = found else { panic!("no part `{part}` is marked in the page") };
    format!("{before}{start}{text}{end}{after}")
}

/// The tools that the examples call.
fn tools() -> Registry {
    let tools = json!([
        {"name": "look", "parameters": {"type": "object", "required": ["q"], "properties": {
            "q": {"type": "string"}, "n": {"type": "integer", "maximum": 100}, "mode": {"enum": ["exact", "near"]}}}},
        {"name": "put", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
    ]);
    Registry::from_value(&tools).unwrap_or_else(|error| panic!("{error}"))
}

fn profile(name: &str) -> Profile {
    Profile::named(name).unwrap_or_else(|| panic!("no profile {name}"))
}

/// The gate of a profile for these tools.
fn gate(name: &str) -> Gate {
    gate_with(name, |_| {})
}

/// The gate of a profile whose policy was changed.
fn gate_with(name: &str, change: impl FnOnce(&mut Policy)) -> Gate {
    let profile = profile(name);
    let mut policy = profile.policy();
    change(&mut policy);
    let gate = Gate::builder().profile(profile).tools(tools()).policy(policy).build();
    gate.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every code that a response says, rejections first.
fn said(response: &Response) -> Vec<&Finding> {
    let calls = response.calls.iter().flat_map(|call| &call.findings);
    let rejected = response.rejected.iter().flat_map(|rejected| &rejected.findings);
    rejected.chain(&response.findings).chain(calls).collect()
}

/// A text as a block of Markdown, fenced so that fences inside do no harm.
fn block(info: &str, text: &str) -> String {
    let fence = if text.contains("```") { "````" } else { "```" };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{info}\n{text}{end}{fence}\n")
}

/// A text as inline code of a table cell.
fn cell(text: &str) -> String {
    let shown: String = text
        .chars()
        .map(|c| match c {
            '\n' => "⏎".to_owned(),
            '|' => "\\|".to_owned(),
            '\u{a0}' | '\u{feff}' => format!("⟨U+{:04X}⟩", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    if shown.contains('`') { format!("`` {shown} ``") } else { format!("`{shown}`") }
}

/// A sentence of the tables with a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
