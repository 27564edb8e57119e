//! Pages that teach, read as their reader does: their files are written, their commands run, their output compared.
//!
//! `UPDATE=1 cargo test -p callgate-cli --test page` writes what the commands print into the pages.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

#[cfg(feature = "gateway")]
#[path = "page/gateway.rs"]
mod gateway;
#[path = "page/sidecar.rs"]
mod sidecar;
#[path = "page/systems.rs"]
mod systems;
#[path = "page/tasks.rs"]
mod tasks;
#[path = "page/words.rs"]
mod words;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A fenced block: what its first line says, and its lines.
struct Block<'p> {
    language: &'p str,
    file: Option<&'p str>,
    body: &'p str,
}

fn docs(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page)
}

/// The blocks of a page. A fence ends at one that is as long, so a block may hold shorter ones.
fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, &str, usize)> = None;
    let mut at = 0;
    for line in page.split_inclusive('\n') {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match open {
            None if ticks.len() >= 3 => open = Some((ticks, line[ticks.len()..].trim(), at + line.len())),
            Some((fence, first, start)) if ticks.len() >= fence.len() && line.trim() == ticks => {
                let (language, file) =
                    first.split_once(' ').map_or((first, None), |(l, file)| (l, Some(file)));
                blocks.push(Block { language, file, body: &page[start..at] });
                open = None;
            }
            _ => {}
        }
        at += line.len();
    }
    assert!(open.is_none(), "a block has no end");
    blocks
}

/// A folder with the files of the page, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn with_files(name: &str, blocks: &[Block<'_>]) -> Self {
        let path = std::env::temp_dir().join(format!("callgate-page-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (file, body) in blocks.iter().filter_map(|block| Some((block.file?, block.body))) {
            std::fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            std::fs::write(path.join(file), body).unwrap();
        }
        Folder(path)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.args(args).current_dir(&self.0).env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
        // Whoever runs the tests has a configuration of their own.
        command.env("HOME", self.0.join("home")).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        command
    }

    /// What a command prints: its notes, then its output where it is a conversation, the other way round elsewhere.
    fn callgate(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        let (out, notes) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        if args.first() == Some(&"chat") { notes + &out } else { out + &notes }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The words of a command line, of which some stand in single quotes.
fn split(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').unwrap(),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// A page with what its commands print today, and how many there are.
fn with_output(page: &str, folder: &Folder) -> (String, usize) {
    let mut fresh = page.to_owned();
    let mut commands = 0;
    for block in blocks(page).iter().filter(|block| block.language == "console") {
        let mut shown = String::new();
        for line in block.body.lines() {
            let Some(command) = line.strip_prefix("$ callgate ") else { continue };
            let said = steady(folder.callgate(&split(command)).trim_end());
            writeln!(shown, "{line}\n{said}").unwrap();
            commands += 1;
        }
        let (there, now) = [block.body, &shown].map(|body| format!("console\n{body}```")).into();
        fresh = fresh.replacen(&there, &now, 1);
    }
    (fresh, commands)
}

/// What differs from run to run, such as times and ids, as if it did not.
fn steady(text: &str) -> String {
    let mut steady = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        steady.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..length(|c| c.is_ascii_alphanumeric())];
        let number = &rest[..length(|c| c.is_ascii_digit() || c == '.')];
        let moment = &rest[..length(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.'))];
        let is_id = word.len() == 16 && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_moment = moment.len() == 24 && moment.ends_with('Z') && moment.as_bytes()[10] == b'T';
        let time = number.parse().ok().filter(|_| rest[number.len()..].starts_with(" ms"));
        // What waits shows how long, by and large; what works is quick.
        let time = time.filter(|time| *time < 50.0 || number.contains('.')).map(|time: f64| match time {
            ..50.0 => "0.4".to_owned(),
            _ => format!("{:.1}", (time / 100.0).floor() * 100.0),
        });
        let (there, now) = match (is_id, is_moment, &time) {
            (true, ..) => (word, "6f1d0c2a9b3e4f58"),
            (_, true, _) => (moment, "2025-01-31T12:00:00.000Z"),
            (_, _, Some(time)) => (number, &**time),
            _ => (word, word),
        };
        steady.push_str(now);
        rest = &rest[there.len()..];
    }
    steady + rest
}

/// Compares a page with what its commands print, or writes that into it.
fn assert_shown(name: &str, least: usize) {
    let path = docs(name);
    let page = std::fs::read_to_string(&path).unwrap();
    let folder = Folder::with_files(&name.replace(['/', '.'], "-"), &blocks(&page));
    let (fresh, commands) = with_output(&page, &folder);
    assert!(commands >= least, "only {commands} commands were found in {name}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, fresh).unwrap();
        return;
    }
    let stale = page.lines().zip(fresh.lines()).find(|(there, now)| there != now);
    assert!(
        page == fresh,
        "docs/{name} does not show what its commands print: {stale:?}; `UPDATE=1` rewrites it"
    );
}

#[test]
fn its_commands_print_what_it_shows() {
    assert_shown("dialects.md", 7);
}

#[test]
fn its_examples_read_their_samples_however_they_are_cut() {
    let page = std::fs::read_to_string(docs("dialects.md")).unwrap();
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
    let docs = std::fs::read_to_string(docs("cli.md")).unwrap();
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
