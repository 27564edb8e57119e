//! The page that teaches dialects, read as its reader does: its files are written, its commands run, their output compared.
//!
//! `UPDATE=1 cargo test -p callgate-cli --test page` writes what the commands print into the page.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A fenced block: what its first line says, and its lines.
struct Block<'p> {
    language: &'p str,
    file: Option<&'p str>,
    body: &'p str,
}

fn page_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects.md")
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut parts = page.split("```");
    let mut blocks = Vec::new();
    while let (Some(_), Some(block)) = (parts.next(), parts.next()) {
        let (first, body) = block.split_once('\n').unwrap_or((block, ""));
        let (language, file) = first.split_once(' ').map_or((first, None), |(l, file)| (l, Some(file)));
        blocks.push(Block { language, file, body });
    }
    blocks
}

/// A folder with the files of the page, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn with_files(name: &str, blocks: &[Block<'_>]) -> Self {
        let path = std::env::temp_dir().join(format!("callgate-page-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (file, body) in blocks.iter().filter_map(|block| Some((block.file?, block.body))) {
            std::fs::write(path.join(file), body).unwrap();
        }
        Folder(path)
    }

    fn callgate(&self, args: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        let output = command.args(args).current_dir(&self.0).env_remove("CLICOLOR_FORCE").output().unwrap();
        format!("{}{}", String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[test]
fn its_commands_print_what_it_shows() {
    let page = std::fs::read_to_string(page_path()).unwrap();
    let blocks = blocks(&page);
    let folder = Folder::with_files("commands", &blocks);
    let mut fresh = page.clone();
    let mut commands = 0;
    for block in blocks.iter().filter(|block| block.language == "console") {
        let mut shown = String::new();
        for line in block.body.lines().filter(|line| line.starts_with("$ callgate ")) {
            let args: Vec<&str> = line.split_whitespace().skip(2).collect();
            writeln!(shown, "{line}\n{}", folder.callgate(&args).trim_end()).unwrap();
            commands += 1;
        }
        fresh =
            fresh.replacen(&format!("```console\n{}```", block.body), &format!("```console\n{shown}```"), 1);
    }
    assert!(commands >= 7, "only {commands} commands were found in the page");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(page_path(), fresh).unwrap();
        return;
    }
    let stale = page.lines().zip(fresh.lines()).find(|(there, now)| there != now);
    assert!(
        page == fresh,
        "docs/dialects.md does not show what its commands print: {stale:?}; `UPDATE=1` rewrites it"
    );
}

#[test]
fn its_examples_read_their_samples_however_they_are_cut() {
    let page = std::fs::read_to_string(page_path()).unwrap();
    let blocks = blocks(&page);
    let folder = Folder::with_files("examples", &blocks);
    let has = |file: &str| blocks.iter().any(|block| block.file == Some(file));
    let mut examples = 0;
    for name in blocks.iter().filter_map(|block| block.file?.strip_suffix(".toml")) {
        let (dialect, sample) = (format!("{name}.toml"), format!("{name}.txt"));
        if !has(&sample) {
            continue;
        }
        examples += 1;
        let parse = |chunk: &str| {
            let args = ["parse", &sample, "--json", "--tools", "tools.json", "--dialect-file", &dialect];
            folder.callgate(&[&args[..], &["--chunk", chunk]].concat())
        };
        // Display may come in other parts; what is judged may not.
        let judged = |events: &str| -> Vec<Value> {
            let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            events
                .filter(|event| {
                    ["call", "rejected", "finding", "finish"].iter().any(|kind| event["event"] == *kind)
                })
                .collect()
        };
        let whole = judged(&parse("100000"));
        assert_eq!(judged(&parse("1")), whole, "{name}");
        let calls: Vec<&Value> = whole.iter().filter(|event| event["event"] == "call").collect();
        assert!(
            !calls.is_empty() && calls.iter().all(|event| event["call"]["dialect"] == name),
            "{name}: {whole:?}"
        );
        assert!(whole.iter().all(|event| event["event"] != "rejected"), "{name}: {whole:?}");
    }
    assert_eq!(examples, 4, "the page has four worked examples");
}

#[test]
fn the_documentation_names_every_command() {
    let docs =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md")).unwrap();
    for name in [
        "demo",
        "parse",
        "scan",
        "repair",
        "dialects",
        "render",
        "prompt",
        "explain",
        "config",
        "trust",
        "completions",
    ] {
        assert!(docs.contains(&format!("callgate {name}")) || docs.contains(&format!("`{name} ")), "{name}");
    }
}
