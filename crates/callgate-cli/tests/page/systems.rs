//! The pages of the five systems: every command on them is run, every configuration read, and no part is missing.

use serde_json::Value;

use super::{Folder, assert_shown, blocks, docs};

/// The pages, and the fewest commands on each.
const PAGES: [(&str, usize); 5] = [
    ("systems/goshi.md", 10),
    ("systems/acode.md", 6),
    ("systems/windlass.md", 6),
    ("systems/reploid.md", 7),
    ("systems/accesslint.md", 10),
];

/// and goshi's wish for documented formats: each page shows what the program does.
#[test]
fn the_pages_show_what_their_commands_print() {
    for (page, least) in PAGES {
        assert_shown(page, least);
    }
}

/// Every configuration on the pages is taken, and chooses the profile of its page.
#[test]
fn the_configurations_of_the_pages_hold() {
    for (page, _) in PAGES {
        let text = std::fs::read_to_string(docs(page)).unwrap();
        let blocks = blocks(&text);
        let folder = Folder::with_files(&page.replace(['/', '.'], "-config-"), &blocks);
        let is_settings = |file: &&str| matches!(*file, "config.yml" | "settings.json");
        for file in blocks.iter().filter_map(|block| block.file).filter(is_settings) {
            let output = folder.command(&["config", "show", "--json", "--config", file]).output().unwrap();
            let notes = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(0), "{page}: {file}: {notes}");
            let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
            let profile = shown["profile"].as_str().unwrap();
            assert!(text.starts_with(&first_line(&text, profile)), "{page}: {file} chooses {profile}");
        }
    }
}

/// The first line of the page of a profile, with the name that the page gives its system.
fn first_line(text: &str, profile: &str) -> String {
    let name = text.trim_start_matches("# ").split(':').next().unwrap_or_default();
    format!("# {name}: the profile `{profile}`\n")
}

#[test]
fn every_page_has_every_part() {
    for (page, _) in PAGES {
        let text = std::fs::read_to_string(docs(page)).unwrap();
        for part in [
            "## Format",
            "## Configuration",
            "## When something is wrong",
            "## Every error",
            "## Coming from ",
        ] {
            assert!(text.contains(part), "{page} has no {part}");
        }
        assert!(text.contains("──►"), "{page} has no diagram");
        let configured = blocks(&text).iter().any(|block| block.file == Some("config.yml"));
        assert!(configured, "{page} shows no configuration");
    }
}
