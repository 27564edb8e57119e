//! The page of the sidecar: its requests are sent to one process in their order, and its answers compared.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use super::{blocks, docs};

/// What one process answers to these lines.
fn answers(requests: &str) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
    let mut child = command.arg("session").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(requests.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_answers_of_the_sidecar_are_those_of_its_page() {
    let path = docs("sidecar.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let shown = blocks(&page);
    let talks: Vec<&str> =
        shown.iter().filter(|block| block.language == "jsonl").map(|block| block.body).collect();
    let requests: String = talks
        .iter()
        .flat_map(|talk| talk.lines())
        .filter_map(|line| line.strip_prefix("> "))
        .fold(String::new(), |mut all, line| {
            writeln!(all, "{line}").unwrap();
            all
        });
    let asked = requests.lines().count();
    assert!(asked >= 15, "only {asked} requests were found");
    let answers = answers(&requests);
    assert_eq!(answers.len(), asked, "each request has an answer: {answers:#?}");
    let mut answers = answers.iter();
    let mut fresh = page.clone();
    for talk in talks {
        let mut now = String::new();
        for request in talk.lines().filter(|line| line.starts_with("> ")) {
            writeln!(now, "{request}\n< {}", answers.next().unwrap()).unwrap();
        }
        fresh = fresh.replacen(talk, &now, 1);
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, fresh).unwrap();
        return;
    }
    let stale = page.lines().zip(fresh.lines()).find(|(there, now)| there != now);
    assert!(page == fresh, "docs/sidecar.md is not fresh: {stale:?}; `UPDATE=1` rewrites it");
}
