//! Generators: hostile soups of marker fragments, and calls with arguments of known type to render and read back.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use callgate::Record;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

use super::{dialect_fixtures, text};

/// The tools that soups are read with: some of their own, and those of the samples that pieces are cut from, so that
/// a part of what is thrown together is a call.
pub(crate) static TOOLS: LazyLock<Value> = LazyLock::new(|| {
    let own = json!([
        {"name": "look", "parameters": {"type": "object", "properties": {
            "q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"]}},
        {"name": "put", "dangerous": true, "parameters": {"type": "object", "properties": {
            "path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path", "text"]}},
        {"name": "beat", "parameters": {"type": "object", "properties": {}}},
        {"name": "free", "parameters": {"type": "object"}}
    ]);
    let rows = dialect_fixtures();
    let of_samples = rows.iter().flat_map(|row| row["tools"].as_array()).flatten();
    let mut names = BTreeSet::new();
    let own = own.as_array().into_iter().flatten();
    own.chain(of_samples)
        .map(|tool| tool.get("function").unwrap_or(tool))
        .filter(|tool| names.insert(text(tool, "name").to_owned()))
        .cloned()
        .collect()
});

/// Every literal that any built-in dialect writes or reads, once.
pub(crate) static LITERALS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut literals = BTreeSet::new();
    for record in Record::builtin() {
        let templates =
            [&record.open, &record.close, &record.call, &record.param, &record.text, &record.reasoning];
        for template in templates.into_iter().flatten().chain(&record.noise).chain(&record.item) {
            literals.extend(template.literals().map(str::to_owned));
        }
        for (literal, others) in &record.also {
            literals.insert(literal.clone());
            literals.extend(others.iter().cloned());
        }
    }
    literals.into_iter().filter(|literal| !literal.trim().is_empty()).collect()
});

/// The texts of the dialect samples, to cut pieces from.
static SAMPLES: LazyLock<Vec<String>> =
    LazyLock::new(|| dialect_fixtures().iter().map(|row| text(row, "text").to_owned()).collect());

/// The first literals of a record's unmistakable openers.
pub(crate) fn openers(record: &Record) -> Vec<&str> {
    let openers = record.openers().into_iter().filter(|opener| Record::is_unmistakable(opener));
    openers.map(|opener| opener.head().trim()).filter(|head| !head.is_empty()).collect()
}

/// What is neither a marker nor a word, and confuses readers all the same.
const PIECES: &[&str] = &[
    "{\"name\": \"look\", \"arguments\": {\"q\": \"cats\"}}",
    "{\"name\": \"look\", \"arguments\": {\"q\": \"ca",
    "{\"name\": \"beat\", \"arguments\": {}}",
    "{\"arguments\": {\"path\": \"a\", \"text\": \"b\"}, \"name\": \"put\"}",
    "{\"name\": \"fly\", \"arguments\": {}}",
    "{\"type\": \"action\", \"tool\": \"look\", \"args\": {\"q\": \"a\"}}",
    "{\"type\": \"error\", \"code\": \"invalid_args\", \"message\": \"m\"}",
    "{\"tool\": \"look\", \"arguments\": {\"q\": \"a\"}}",
    "TOOL_CALL: look\nARGS: {\"q\": \"a\"}",
    "TOOL_CALL: put\nARGS: {\"path\": `a\nb`, \"text\": \"}\"}",
    "<look>{\"q\": \"a\"}</look>",
    "<put><path>a</path><text>b</text></put>",
    "[look(q=\"cats\", n=3), beat()]",
    "look",
    "put",
    "functions.look:0",
    "q",
    "path",
    "\"q\": ",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    "=",
    "\"",
    "'",
    "\\",
    "\\\"",
    "\\u00",
    "\\ud83d",
    "`",
    "``",
    "```",
    "```\n",
    "\n```\n",
    "\n```json\n",
    "\n~~~~\n",
    "\n> ",
    "<",
    ">",
    "</",
    "/>",
    "<|",
    "|>",
    "<｜",
    "｜>",
    "<think>",
    "</think>",
    "<think>\n",
    "\n</think>\n\n",
    "<thinking>",
    "</thinking>",
    "\n",
    "\r\n",
    "\n\n",
    " ",
    "\t",
    "I will look that up.",
    "the tide at Kiel",
    "3",
    "-1.5e3",
    "true",
    "None",
    "naïve 東京 🚀",
    "\u{200b}",
    "\u{feff}",
    "\0",
];

/// One fragment: a marker of any dialect, a piece of a sample, or something else that confuses readers.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(LITERALS.as_slice()),
        6 => select(PIECES).prop_map(str::to_owned),
        2 => (select(SAMPLES.as_slice()), any::<Index>(), any::<Index>()).prop_map(|(sample, a, b)| {
            let places: Vec<usize> = sample.char_indices().map(|(at, _)| at).chain([sample.len()]).collect();
            let (a, b) = (*a.get(&places), *b.get(&places));
            sample[a.min(b)..a.max(b)].to_owned()
        }),
        3 => select(SAMPLES.as_slice()),
    ]
}

/// A random concatenation of everything that any dialect, region or quotation is made of.
pub(crate) fn soup(fragments: usize) -> impl Strategy<Value = String> {
    vec(fragment(), 0..fragments).prop_map(|fragments| fragments.concat())
}

/// Bytes that can be read when a test shows them.
#[derive(Clone)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// Bytes that are mostly a soup, with bytes thrown in that are not UTF-8.
pub(crate) fn byte_soup(fragments: usize) -> impl Strategy<Value = Bytes> {
    (soup(fragments), vec((any::<Index>(), any::<u8>()), 0..6)).prop_map(|(soup, thrown)| {
        let mut bytes = soup.into_bytes();
        for (place, byte) in thrown {
            let place = place.index(bytes.len() + 1);
            bytes.insert(place, byte);
        }
        Bytes(bytes)
    })
}

/// Places to cut at, as fractions of a length that is not known yet.
pub(crate) fn cuts(most: usize) -> impl Strategy<Value = Vec<Index>> {
    vec(any::<Index>(), 0..most)
}

/// The cuts as ascending places in an input of this length.
pub(crate) fn places(cuts: &[Index], length: usize) -> Vec<usize> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(length + 1)).collect();
    places.sort_unstable();
    places
}

/// The type of a value, exact to the leaves, so that a format without types can be read back.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    String,
    Integer,
    Number,
    Boolean,
    Null,
    List(Box<Shape>),
    Map(Vec<(String, Shape)>),
}

impl Shape {
    /// The JSON Schema that admits this type and no other.
    pub(crate) fn schema(&self) -> Value {
        match self {
            Shape::String => json!({"type": "string"}),
            Shape::Integer => json!({"type": "integer"}),
            Shape::Number => json!({"type": "number"}),
            Shape::Boolean => json!({"type": "boolean"}),
            Shape::Null => json!({"type": "null"}),
            Shape::List(item) => json!({"type": "array", "items": item.schema()}),
            Shape::Map(members) => {
                let properties: Map<String, Value> =
                    members.iter().map(|(key, shape)| (key.clone(), shape.schema())).collect();
                let required: Vec<&String> = properties.keys().collect();
                json!({"type": "object", "required": required, "properties": properties.clone()})
            }
        }
    }

    /// A value of this type, as JSON text.
    fn value(&self) -> BoxedStrategy<String> {
        match self {
            Shape::String => hostile_string().prop_map(|s| Value::from(s).to_string()).boxed(),
            Shape::Integer => prop_oneof![
                any::<i64>().prop_map(|n| n.to_string()),
                (-9i64..100).prop_map(|n| n.to_string()),
                Just("12345678901234567890".to_owned()),
            ]
            .boxed(),
            Shape::Number => {
                select(&["0.5", "-2.25", "1e5", "0.10", "1.0", "-0.0", "3", "1234567890.0123456789"][..])
                    .prop_map(str::to_owned)
                    .boxed()
            }
            Shape::Boolean => any::<bool>().prop_map(|b| b.to_string()).boxed(),
            Shape::Null => Just("null".to_owned()).boxed(),
            Shape::List(item) => {
                vec(item.value(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))).boxed()
            }
            Shape::Map(members) => members
                .iter()
                .map(|(key, shape)| {
                    let key = Value::from(key.as_str()).to_string();
                    shape.value().prop_map(move |value| format!("{key}: {value}"))
                })
                .collect::<Vec<_>>()
                .prop_map(|members| format!("{{{}}}", members.join(", ")))
                .boxed(),
        }
    }
}

/// Strings that a format may mistake for something else: other types, its own markers, white space at the ends.
fn hostile_string() -> impl Strategy<Value = String> {
    let plain = &[
        "cats",
        "two words",
        "",
        "7",
        "007",
        "true",
        "None",
        "null",
        "[1, 2]",
        "{\"a\": 1}",
        " padded ",
        "\n",
        "a\nb",
        "\nframed\n",
        "say \"hi\"",
        "it's",
        "C:\\new\\table",
        "\\",
        "ends with \\",
        "a & b &amp; <c>",
        "]]>",
        "tab\there",
        "naïve 東京 🚀",
        "\u{1}",
        "`code`",
        "```\nfence\n```",
        "</",
        "<think>",
        "{name}",
        "{value}",
    ][..];
    prop_oneof![
        4 => select(plain).prop_map(str::to_owned),
        2 => select(LITERALS.as_slice()),
        2 => vec(prop_oneof![select(LITERALS.as_slice()), select(plain).prop_map(str::to_owned)], 0..4)
            .prop_map(|parts| parts.concat()),
        1 => "[ -~]{0,12}",
        1 => "\\PC{0,8}",
    ]
}

/// Keys: mostly identifiers, some that a format cannot write or that mean something elsewhere.
fn key() -> impl Strategy<Value = String> {
    let odd = &[
        "file-path",
        "a.b",
        "ключ",
        "two words",
        "item",
        "name",
        "arguments",
        "parameters",
        "id",
        "from",
        "@t",
    ][..];
    prop_oneof![5 => "[a-z][a-z0-9_]{0,6}", 1 => select(odd).prop_map(str::to_owned)]
}

fn members(shape: impl Strategy<Value = Shape>, most: usize) -> impl Strategy<Value = Vec<(String, Shape)>> {
    vec((key(), shape), 0..most).prop_map(|mut members| {
        let mut seen = BTreeSet::new();
        members.retain(|(key, _)| seen.insert(key.clone()));
        members
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![
        4 => Just(Shape::String),
        1 => Just(Shape::Integer),
        1 => Just(Shape::Number),
        1 => Just(Shape::Boolean),
        1 => Just(Shape::Null),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|item| Shape::List(Box::new(item))),
            members(inner, 3).prop_map(Shape::Map),
        ]
    })
}

/// A call to be written: a tool made for it, and arguments that the tool accepts.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) schema: Value,
    pub(crate) arguments: String,
}

/// A call with a name, keys and values that go to the edge of what formats can write.
pub(crate) fn written() -> impl Strategy<Value = Written> {
    let odd_names = &["fs.read", "read-file", "all", "python", "a", "functions", "x1"][..];
    let name =
        prop_oneof![4 => "[A-Za-z_][A-Za-z0-9_]{0,10}", 1 => select(odd_names).prop_map(str::to_owned)];
    ("[a-zA-Z0-9]{9}", name, members(shape(), 4)).prop_flat_map(|(id, name, members)| {
        let shape = Shape::Map(members);
        let schema = shape.schema();
        shape.value().prop_map(move |arguments| Written {
            id: id.clone(),
            name: name.clone(),
            schema: schema.clone(),
            arguments,
        })
    })
}

/// An arbitrary JSON value as text, laid out in some legal way.
pub(crate) fn any_json() -> impl Strategy<Value = String> {
    let shape = prop_oneof![1 => shape(), 3 => members(shape(), 5).prop_map(Shape::Map)];
    (shape.prop_flat_map(|shape| shape.value()), 0..3u8).prop_map(|(json, layout)| match layout {
        0 => json,
        1 => serde_json::from_str::<Value>(&json).map_or(json, |value| format!("{value:#}")),
        _ => format!(" \n{json}\t"),
    })
}

/// JSON with some characters taken out, doubled or put in: what a model under pressure writes.
pub(crate) fn broken_json() -> impl Strategy<Value = String> {
    let thrown = &[
        "\"", "'", ",", ":", "{", "}", "[", "]", "\\", "//x\n", "True", "`", " ", "x", "…", "\n", "1", "```",
    ][..];
    (any_json(), vec((any::<Index>(), 0..3u8, select(thrown)), 0..4)).prop_map(|(json, edits)| {
        let mut chars: Vec<char> = json.chars().collect();
        for (place, edit, piece) in edits {
            let at = place.index(chars.len() + 1);
            match edit {
                0 if at < chars.len() => drop(chars.remove(at)),
                1 => chars.truncate(at.max(1)),
                _ => drop(chars.splice(at..at, piece.chars())),
            }
        }
        chars.into_iter().collect()
    })
}
