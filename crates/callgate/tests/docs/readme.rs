//! The parts of the README that are made: the library example, the profiles and the dialects.

use callgate::{Profile, Record};

use super::{block, dialects, profile, replaced};

const EXAMPLE: &str = include_str!("readme_example.rs");

/// How the dialects of each family write a call.
const FAMILIES: &[(char, &str)] = &[
    ('A', "a marker and a JSON object"),
    ('B', "a marker and a list"),
    ('C', "name, marker, arguments"),
    ('D', "tags with named parameters"),
    ('E', "tags for keys and values"),
    ('F', "Python calls"),
    ('G', "private literals"),
    ('H', "channels"),
    ('I', "nothing but the shape"),
];

/// The README with its made parts fresh.
pub(crate) fn page(there: &str) -> String {
    let mut page = there.to_owned();
    for (part, text) in [("example", example()), ("profiles", profiles()), ("dialects", families())] {
        page = replaced(&page, part, &text);
    }
    page
}

fn example() -> String {
    let (_, code) = EXAMPLE.split_once("\n\n").unwrap_or(("", EXAMPLE));
    block("rust", &code.replace("pub(crate) fn main", "fn main"))
}

fn profiles() -> String {
    let mut table = String::from("| profile | what it is |\n|---|---|\n");
    for name in Profile::NAMES {
        let summary = profile(name)
            .summary()
            .replace('|', "\\|")
            .replace("```json", "fenced `json`")
            .replace('<', "&lt;");
        table.push_str(&format!("| `{name}` | {summary} |\n"));
    }
    table
}

fn families() -> String {
    let records = Record::builtin();
    let mut table = format!(
        "{} dialects are built in:\n\n| family | number | among them |\n|---|---|---|\n",
        records.len()
    );
    let mut counted = 0;
    for (family, words) in FAMILIES {
        let names: Vec<&str> = records.iter().filter(|r| r.family == *family).map(|r| &*r.name).collect();
        counted += names.len();
        let some: Vec<String> = names.iter().take(4).map(|name| format!("`{name}`")).collect();
        table.push_str(&format!("| {words} | {} | {} |\n", names.len(), some.join(", ")));
    }
    assert_eq!(counted, records.len(), "a built-in dialect has no family");
    let all = dialects::table();
    table.push_str(&format!("\n<details>\n<summary>All of them</summary>\n\n{all}\n</details>\n"));
    table
}
