//! The parts of the page on dialects that are made, and the table of all dialects: names, models, and how they behave.

use callgate::{Event, FinishReason, Gate, Record, Registry, RenderCall};
use serde_json::json;

use super::{block, read, replaced};

const EXAMPLE: &str = include_str!("dialect_example.rs");

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

/// The page on dialects with its made parts fresh.
pub(crate) fn page(there: &str) -> String {
    let (_, code) = EXAMPLE.split_once("\n\n").unwrap_or(("", EXAMPLE));
    let library = block("rust", &code.replace("pub(crate) fn main", "fn main"));
    let page = replaced(there, "library", &library);
    let page = replaced(&page, "families", &families());
    replaced(&page, "dialects", &table())
}

/// The families of the built-in dialects, with the first few of each.
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
    table
}

/// Every built-in dialect in order of rank.
fn table() -> String {
    let mut table = String::from(
        "| dialect | family | listens | streams | models | what it is |\n|---|---|---|---|---|---|\n",
    );
    for record in Record::builtin() {
        let models: Vec<String> = record.models.iter().map(|model| format!("`{model}`")).collect();
        table.push_str(&format!(
            "| `{}` | {} | {} | {} | {} | {} |\n",
            record.name,
            record.family,
            if record.auto { "by itself" } else { "by name" },
            streaming(record),
            if models.is_empty() { "–".to_owned() } else { models.join(" ") },
            what_it_is(&record.name),
        ));
    }
    table
}

/// What the first line of a dialect's file says about it.
fn what_it_is(name: &str) -> String {
    let file = read(&format!("crates/callgate/dialects/{name}.toml"));
    let first = file.lines().next().unwrap_or_default();
    let Some(said) = first.strip_prefix(&format!("# {name}: ")) else {
        panic!("{name}.toml does not start with what it is: {first}")
    };
    said.trim_end_matches('.').replace('|', "\\|").replace('<', "&lt;")
}

/// When arguments are shown, found out by feeding a call byte by byte.
fn streaming(record: &Record) -> &'static str {
    let tools = json!([{"name": "put", "parameters": {"type": "object", "properties": {
        "text": {"type": "string"}, "more": {"type": "string"}, "code": {"type": "string"}}}}]);
    let registry = Registry::from_value(&tools).unwrap_or_else(|error| panic!("{error}"));
    let gate = Gate::builder().tools(registry).dialect(&record.name).build();
    let gate = gate.unwrap_or_else(|error| panic!("{}: {error}", record.name));
    let arguments = r#"{"text": "a rather long text with many words in it", "more": "another"}"#;
    let call = RenderCall { id: Some("k1"), name: "put", arguments };
    let written =
        record.render(&[call], None, None).unwrap_or_else(|error| panic!("{}: {error}", record.name));
    let mut deltas = Vec::new();
    let mut session = gate.session();
    let mut see = |event: Event<'_>| {
        if let Event::ArgumentsDelta { delta, .. } = event {
            deltas.push(delta.into_owned());
        }
    };
    for byte in written.bytes() {
        session.push_bytes(&[byte], &mut see);
    }
    let before_end = deltas.len();
    session.finish(FinishReason::Stop, &mut |_| {});
    // The text alone has over forty characters: more pieces than values means that it came in pieces.
    match before_end {
        0 => "at its end",
        1..=8 => "value by value",
        _ => "as they come",
    }
}
