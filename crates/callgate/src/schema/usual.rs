//! What arguments are usually given: by the example in their description, by their name, and by their type.

use serde_json::{Value, json};

/// What arguments are called that say where a file is.
const FILES: &[&str] =
    &["path", "file", "filename", "filepath", "file_name", "src", "source", "destination", "dest"];
/// What arguments are called that are the text of a file.
const TEXTS: &[&str] = &["content", "contents", "file_text", "text"];

/// What is usually given to an argument of type string, by its last words; the first row that fits counts.
const STRINGS: &[(&[&str], &str)] = &[
    (&["file_pattern", "glob", "include", "exclude"], "*.txt"),
    (&["pattern", "regex", "regexp"], "TODO"),
    (&["source_code", "code", "script", "snippet"], "print('hello')"),
    (&["old_string", "old_text", "old", "find"], "the old words"),
    (&["new_string", "new_text", "new", "replacement"], "the new words"),
    (FILES, "relative/path/to/file.txt"),
    (&["directory", "dir", "folder", "cwd", "root", "workspace"], "."),
    (&["url", "uri", "link", "href", "endpoint"], "https://example.com/"),
    (&["host", "hostname", "domain"], "example.com"),
    (&["email", "mail", "recipient"], "ann@example.com"),
    (&["phone"], "+47 22 00 00 00"),
    (&["command", "cmd", "shell"], "ls"),
    (&["city", "location", "place"], "Oslo"),
    (&["address"], "1 Main Street, Oslo"),
    (&["country"], "Norway"),
    (&["language", "lang"], "English"),
    (&["currency"], "EUR"),
    (&["timezone", "time_zone", "tz"], "Europe/Oslo"),
    (&["query", "search", "q", "keyword", "term", "topic"], "words to look for"),
    (&["question", "prompt"], "What is the capital of Norway?"),
    (&["datetime", "timestamp"], "2025-01-31T12:00:00Z"),
    (&["date", "day"], "2025-01-31"),
    (&["time"], "12:00"),
    (&["month"], "January"),
    (&["year"], "2025"),
    (&["color", "colour"], "#336699"),
    (&["branch"], "main"),
    (&["user", "username", "author", "owner", "person", "first_name", "full_name"], "Ann"),
    (&["title", "subject", "heading", "label"], "A short title"),
    (
        &["message", "body", "comment", "note", "description", "summary", "reason", "result", "answer"],
        "A sentence or two.",
    ),
    (TEXTS, "Hello, world!"),
    (&["name"], "example"),
    (&["id", "key"], "abc123"),
];

/// The same for numbers.
const NUMBERS: &[(&[&str], f64)] = &[
    (&["limit", "count", "max", "max_results", "results", "size", "top_k", "length", "quantity"], 10.0),
    (&["port"], 8080.0),
    (&["timeout_ms", "delay_ms", "duration_ms"], 30_000.0),
    (&["timeout", "delay", "duration", "seconds"], 30.0),
    (&["days", "hours", "minutes"], 3.0),
    (&["year"], 2025.0),
    (&["latitude", "lat"], 59.9),
    (&["longitude", "lon", "lng"], 10.7),
    (&["temperature"], 0.7),
    (&["amount", "price", "cost", "total"], 9.5),
    (&["percent", "percentage"], 50.0),
    (&["width", "height"], 100.0),
];

/// The longest example that is taken out of a description.
const LONGEST: usize = 60;

/// What a string argument of this tool is usually given. Without a hint it says what it is.
pub(super) fn string(tool: &str, name: &str, description: &str) -> Vec<String> {
    let usual = STRINGS.iter().find(|(words, _)| is_named(name, words)).map(|(_, text)| *text);
    let usual = match usual {
        Some(_) if is_place_of_file(name) && is_about_folders(tool, description) => Some("."),
        Some(_) if has_word(description, &["sql"]) => Some("SELECT name FROM users LIMIT 10"),
        usual => usual,
    };
    let plain = || format!("some {}", folded(name).replace('_', " "));
    let usual = usual.map_or_else(plain, str::to_owned);
    quoted(description).map(str::to_owned).into_iter().chain([usual]).collect()
}

/// Whether a path is that of a folder: its description speaks of one and of no file, or the tool lists.
fn is_about_folders(tool: &str, description: &str) -> bool {
    const FOLDERS: &[&str] = &["directory", "folder", "dir", "directories", "folders"];
    match (has_word(description, FOLDERS), has_word(description, &["file", "files"])) {
        (folder, file) if folder != file => folder,
        _ => has_word(tool, FOLDERS) || has_word(tool, &["list", "ls", "tree"]),
    }
}

fn has_word(text: &str, words: &[&str]) -> bool {
    folded(text).split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
}

/// What a numeric argument is usually given.
pub(super) fn number(name: &str, description: &str) -> Vec<Value> {
    let told = quoted(description)
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .filter(Value::is_number);
    let usual = NUMBERS.iter().find(|(words, _)| is_named(name, words)).map(|(_, number)| *number);
    let usual = usual.into_iter().flat_map(|number| [whole(number), json!(number)]);
    told.into_iter().chain(usual).collect()
}

fn whole(number: f64) -> Value {
    json!(number.ceil() as i64)
}

/// Whether an argument of this name says where a file is.
pub(super) fn is_place_of_file(name: &str) -> bool {
    is_named(name, FILES)
}

/// Whether an argument of this name is the text of a file.
pub(super) fn is_text_of_file(name: &str) -> bool {
    is_named(name, TEXTS)
}

/// Whether a name ends in one of these words, in the singular or the plural, so that `file_path` and `filePaths` are paths.
fn is_named(name: &str, words: &[&str]) -> bool {
    let name = folded(name);
    let ends = |name: &str, word: &str| {
        name.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    };
    let single = name.strip_suffix('s').unwrap_or(&name);
    words.iter().any(|word| ends(&name, word) || ends(single, word))
}

/// A name in lower case, its words separated by low lines.
fn folded(name: &str) -> String {
    let mut folded = String::with_capacity(name.len() + 4);
    let mut was_lower = false;
    for c in name.chars() {
        if was_lower && c.is_uppercase() {
            folded.push('_');
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        folded.extend(c.to_lowercase().map(|c| if matches!(c, '-' | '.' | ' ' | '/') { '_' } else { c }));
    }
    folded
}

/// The example that a description gives: `e.g. 'Oslo'`, `for example Oslo`, `such as "Oslo"`, `one of Oslo, Bergen`.
fn quoted(description: &str) -> Option<&str> {
    const LEADS: &[&str] =
        &["e.g.", "for example", "such as", "example:", "one of the following", "one of these", "one of"];
    let small = description.to_ascii_lowercase();
    let found = LEADS.iter().filter_map(|lead| Some((small.find(lead)?, lead.len())));
    // The first of them; where two begin there, the longer one.
    let (at, length) = found.min_by_key(|(at, length)| (*at, usize::MAX - length))?;
    let rest = description.get(at + length..)?;
    let rest = rest.trim_start_matches([' ', ',', ':', '(']);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let text = match quote {
        Some(quote) => rest.get(1..)?.split_once(quote)?.0,
        None => {
            let end = rest.char_indices().find(|(at, c)| {
                let behind = rest.get(at + c.len_utf8()..).unwrap_or_default();
                matches!(c, ',' | ';' | ')' | '(' | '\n')
                    || (*c == '.' && behind.chars().next().is_none_or(char::is_whitespace))
            });
            let text = rest.get(..end.map_or(rest.len(), |(at, _)| at))?.trim();
            let text = text.split(" or ").next().unwrap_or(text);
            // What begins like this says what kind of thing it is, and is none itself.
            const KINDS: &[&str] =
                &["a", "an", "the", "your", "any", "its", "these", "those", "when", "if", "for", "to"];
            let first = text.split(' ').next().unwrap_or_default().to_ascii_lowercase();
            if KINDS.contains(&first.as_str()) && text.contains(' ') {
                return None;
            }
            text
        }
    };
    // What could be taken for markup, and what is rather a sentence, shows nothing.
    let is_plain = |c: char| !c.is_control() && !"<>{}[]|`\\".contains(c);
    (!text.trim().is_empty() && text.len() <= LONGEST && text.chars().all(is_plain)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{is_place_of_file, is_text_of_file, number, quoted, string};
    use serde_json::json;

    #[test]
    fn names_say_what_is_given() {
        for (name, text) in [
            ("path", "relative/path/to/file.txt"),
            ("filePath", "relative/path/to/file.txt"),
            ("file-paths", "relative/path/to/file.txt"),
            ("file_pattern", "*.txt"),
            ("working_directory", "."),
            ("baseURL", "https://example.com/"),
            ("newString", "the new words"),
            ("departure_city", "Oslo"),
            ("gizmo_kind", "some gizmo kind"),
            ("pathology", "some pathology"),
        ] {
            assert_eq!(string("tool", name, ""), [text], "{name}");
        }
        for (tool, description, text) in [
            ("fs.list", "", "."),
            ("listDirectory", "Where to look.", "."),
            ("read_file", "", "relative/path/to/file.txt"),
            ("scan", "The folder to scan.", "."),
            ("list", "A file of names.", "relative/path/to/file.txt"),
            ("enlist", "", "relative/path/to/file.txt"),
        ] {
            assert_eq!(string(tool, "path", description), [text], "{tool}: {description}");
        }
        assert_eq!(string("run", "query", "The SQL to run.")[0], "SELECT name FROM users LIMIT 10");
        assert_eq!(number("max_results", "")[0], json!(10));
        assert_eq!(number("latitude", ""), [json!(60), json!(59.9)]);
        assert!(number("gizmos", "").is_empty());
        assert!(is_place_of_file("file_path") && is_text_of_file("content") && !is_text_of_file("context"));
    }

    #[test]
    fn descriptions_give_their_own_example() {
        for (description, example) in [
            ("The city and state, e.g. San Francisco, CA", Some("San Francisco")),
            ("A unit (for example 'kg' or 'lb').", Some("kg")),
            ("The ticker, such as \"AAPL\".", Some("AAPL")),
            ("Number of days, e.g. 7", Some("7")),
            ("Example: https://example.org/a.html", Some("https://example.org/a.html")),
            ("A date, e.g. 2024-05-01. Later ones are rejected.", Some("2024-05-01")),
            ("Tags, e.g. <b>bold</b>", None),
            ("One of add, subtract", Some("add")),
            ("Must be one of: 'asc' or 'desc'", Some("asc")),
            ("One of the following: low, high.", Some("low")),
            ("What to look for.", None),
            ("What to read, for example a path or an address.", None),
            ("One of the available names.", None),
            ("e.g.", None),
            ("e.g. 'never closed", None),
        ] {
            assert_eq!(quoted(description), example, "{description}");
        }
        assert_eq!(string("tool", "unit", "e.g. kg")[0], "kg");
        assert_eq!(number("days", "Number of days, e.g. 7")[0], json!(7));
    }
}
