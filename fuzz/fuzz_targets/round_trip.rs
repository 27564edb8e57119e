//! Round trip: what a dialect writes it reads back, the same calls with the same arguments.

#![no_main]

use arbitrary::Arbitrary;
use callgate::internal::json::canonical;
use callgate::{Record, Registry, RenderCall};
use callgate_fuzz::{calls, dialect_gate};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

/// A value with a type of its own, as far as a schema can say it.
#[derive(Arbitrary, Debug)]
enum Leaf {
    Text(String),
    Number(i64),
    Truth(bool),
    Nothing,
    Texts(Vec<String>),
    Numbers(Vec<i32>),
    Map(Vec<(u8, String)>),
}

#[derive(Arbitrary, Debug)]
struct Turn {
    dialect: u8,
    name: u8,
    with_id: bool,
    arguments: Vec<(u8, Leaf)>,
}

const NAMES: [&str; 6] = ["look", "fs.read", "read-file", "python", "a", "x_1"];
const KEYS: [&str; 8] = ["q", "path", "content", "name", "arguments", "file-path", "two words", "n"];

impl Leaf {
    fn parts(&self) -> (Value, Value) {
        match self {
            Leaf::Text(text) => (json!(text), json!({"type": "string"})),
            Leaf::Number(number) => (json!(number), json!({"type": "integer"})),
            Leaf::Truth(truth) => (json!(truth), json!({"type": "boolean"})),
            Leaf::Nothing => (Value::Null, json!({"type": "null"})),
            Leaf::Texts(texts) => (json!(texts), json!({"type": "array", "items": {"type": "string"}})),
            Leaf::Numbers(numbers) => {
                (json!(numbers), json!({"type": "array", "items": {"type": "integer"}}))
            }
            Leaf::Map(members) => {
                let of = |(key, text): &(u8, String)| (key_of(*key), Value::from(text.as_str()));
                let value: Map<String, Value> = members.iter().map(of).collect();
                let kinds: Map<String, Value> =
                    value.keys().map(|key| (key.clone(), json!({"type": "string"}))).collect();
                (Value::Object(value), json!({"type": "object", "properties": kinds}))
            }
        }
    }
}

fn key_of(key: u8) -> String {
    KEYS[usize::from(key) % KEYS.len()].to_owned()
}

fuzz_target!(|turn: Turn| {
    let rank = usize::from(turn.dialect) % Record::builtin().len();
    let record = &Record::builtin()[rank];
    let name = NAMES[usize::from(turn.name) % NAMES.len()];
    let (mut values, mut schemas) = (Map::new(), Map::new());
    for (key, leaf) in &turn.arguments {
        let (value, schema) = leaf.parts();
        values.insert(key_of(*key), value);
        schemas.insert(key_of(*key), schema);
    }
    let arguments = Value::Object(values).to_string();
    let id = turn.with_id.then_some("abc123def");
    let Ok(written) = record.render(&[RenderCall { id, name, arguments: &arguments }], None, None) else {
        return;
    };
    let tool = json!([{"name": name, "parameters": {"type": "object", "properties": schemas}}]);
    let Ok(tools) = Registry::from_json(&tool.to_string()) else { return };
    let gate = dialect_gate(rank).with_tools(tools);
    assert_eq!(calls(&gate.parse(&written)), [(name.to_owned(), canonical(&arguments))], "{written:?}");
});
