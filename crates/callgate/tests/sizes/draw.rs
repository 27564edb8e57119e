//! Drawing: shapes by their numbers, made of what dialects, JSON, Markdown and tags are made of.

use callgate::internal::dialect::Template;
use callgate::{FinishReason, Profile, Record};
use serde_json::json;

use crate::shape::{Layout, Shape};
use crate::support::calls::{remove, written};
use crate::support::dice::Dice;

/// What JSON, Python, Markdown and tags are made of.
const ATOMS: &[&str] = &[
    "{", "}", "[", "]", "(", ")", "\"", "'", "`", "\\", "\\\"", "\\u0041", "\\u", "“", "”", "‘", ",", ":",
    ";", "=", "<", ">", "</", "/>", "|", "\n", "\r\n", " ", "a", "1", "-", "//", "/*", "*/", "#", "'''",
    "\"\"\"", "```", "~~~", "\n```\n", "\n> ", "\n- ", "\n    ", "\n\n", "<|", "|>", "<｜", "｜>", "{\"",
    "\"}", "{\"a\":", "\"a\":", "[{", "}]", "{}", "[]", "\"\"", "null", "true", "rm", "rm(", "rm(path=",
    "path", "path=", "\"path\"", "<think>", "</think>", "<a>", "</a>", "<rm>", "&amp;", "&#96;", "é",
    "\u{feff}", "\u{200b}", "\0",
];

/// Every literal that a record writes or reads.
fn literals(record: &Record) -> Vec<String> {
    let templates = [
        &record.open,
        &record.close,
        &record.call,
        &record.param,
        &record.text,
        &record.reasoning,
        &record.noise,
    ];
    let templates = templates.into_iter().flatten().chain(&record.item).chain([&record.join]);
    let mut literals: Vec<String> = templates.flat_map(Template::literals).map(str::to_owned).collect();
    for (literal, others) in &record.also {
        literals.push(literal.clone());
        literals.extend(others.iter().cloned());
    }
    literals.extend(record.bare.iter().cloned());
    literals.retain(|literal| !literal.is_empty());
    literals.sort();
    literals.dedup();
    literals
}

/// A word that stands nowhere else, to cut written calls at.
const MARK: &str = "zqmarkqz";

/// The call as this record writes it, up to the middle of its value; nothing where it cannot be written.
pub(crate) fn opened(record: &Record) -> Option<String> {
    around_value(record).map(|(before, _)| before)
}

/// What this record writes before the value of a call, and after it.
pub(crate) fn around_value(record: &Record) -> Option<(String, String)> {
    let call = remove(record, MARK)?;
    call.split_once(MARK).map(|(before, after)| (before.to_owned(), after.to_owned()))
}

/// The states that a text can be in before the repetition starts.
fn states(record: &Record) -> Vec<String> {
    let call = remove(record, "a").unwrap_or_default();
    let rejected = written(record, "no_such_tool", &json!({"path": "a"})).unwrap_or_default();
    let opener = record.openers().first().map(|opener| opener.head().to_owned()).unwrap_or_default();
    let within = opened(record).unwrap_or_default();
    vec![
        String::new(),
        "Some text ".to_owned(),
        opener.clone(),
        within.clone(),
        format!("{within}a\""),
        format!("{within}a\\"),
        format!("```\n{opener}"),
        "```\n".to_owned(),
        "a `".to_owned(),
        format!("a `{opener}"),
        format!("a `{call}"),
        "> ".to_owned(),
        "- ".to_owned(),
        "<think>\n".to_owned(),
        format!("<think>\n{opener}"),
        format!("{rejected}\n"),
        format!("{call}\n"),
        "{\"note\": \"".to_owned(),
        "['".to_owned(),
        "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"a\"".to_owned(),
        "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"".to_owned(),
        "<tool_call>\n<function=rm>\n<parameter=path>\n".to_owned(),
    ]
}

/// A shape by its number.
pub(crate) fn drawn(seed: u64, number: usize) -> Shape {
    let mut dice = Dice::new(seed, number as u64);
    let records = Record::builtin();
    // In turn, so that every dialect comes as often as every other.
    let record = &records[number % records.len()];
    let own = literals(record);
    let other = literals(&records[dice.below(records.len())]);
    let call = remove(record, "a").unwrap_or_default();
    let mut piece = || match dice.below(10) {
        0..4 if !own.is_empty() => own[dice.below(own.len())].clone(),
        4 if !other.is_empty() => other[dice.below(other.len())].clone(),
        5 if !call.is_empty() => call.clone(),
        _ => dice.one(ATOMS).to_owned(),
    };
    let mut unit = vec![piece(), piece(), piece(), piece()];
    unit.truncate(dice.one(&[1, 1, 2, 2, 2, 3, 4]));
    let states = states(record);
    let before = states[dice.below(states.len())].clone();
    // The profiles of the five systems listen to one format each, as they are.
    let alone = dice.percent(10);
    let profile = if alone {
        dice.one(Profile::NAMES)
    } else {
        dice.one(&["standard", "standard", "strict", "lenient"])
    };
    let dialect = match (alone, dice.percent(60)) {
        (true, _) => String::new(),
        (_, true) => record.name.to_string(),
        (_, false) => "auto".to_owned(),
    };
    Shape {
        profile,
        dialect,
        before,
        unit,
        layout: if dice.percent(30) { Layout::Nested } else { Layout::Repeated },
        after: dice.one(&["", "", "}", "\"", "`", "\n", "\n```\n", "</think>", "x"]).to_owned(),
        chunk: dice.one(&[None, None, Some(1), Some(7), Some(64)]),
        finish: dice.one(&[
            FinishReason::Stop,
            FinishReason::Stop,
            FinishReason::Length,
            FinishReason::Unknown,
        ]),
        is_json: false,
        endures: number.is_multiple_of(7),
    }
}

/// What broken JSON is made of.
const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "\"",
    "'",
    "`",
    "\\",
    "\\\"",
    "\\n",
    "\\u0041",
    "“",
    "”",
    "‘",
    "’",
    "«",
    "»",
    "「",
    "„",
    ",",
    ":",
    ";",
    "=",
    "：",
    "，",
    "｛",
    "］",
    "\n",
    " ",
    "\t",
    "a",
    "b ",
    "1",
    "-",
    ".",
    "1.5",
    "true",
    "null",
    "NaN",
    "new ",
    "//",
    "/*",
    "*/",
    "#",
    "...",
    "…",
    "'''",
    "\"\"\"",
    "```",
    "```json\n",
    "~~~",
    "&quot;",
    "&amp;",
    "a:",
    "a: 1,",
    "\"a\"",
    "\"a\":",
    "\"a\": 1,",
    "\"a\": \"",
    "\", \"",
    "\": \"",
    "\"\"",
    "{}",
    "[]",
    "},",
    "],",
    "{\"a\":",
    "[1",
    "f(",
    "+",
    "\"a\" + ",
    "1,000",
    "0x1",
    "é",
    "\u{feff}",
    "\u{200b}",
    "\0",
    "http://a ",
];

/// What stands before the repetition, so that it is met in every state of the reader.
const JSON_STATES: &[&str] = &[
    "",
    "Some text ",
    "{",
    "[",
    "{\"a\": ",
    "{\"a\"",
    "{\"a",
    "{a",
    "{\"a\": \"",
    "{\"a\": \"b",
    "{\"a\": \"b\"",
    "{\"a\": '",
    "{'a",
    "{\"a\": “",
    "{\"a\": 1",
    "{\"a\": b",
    "[\"a\", ",
    "[\"a",
    "[1",
    "[a",
    "[{\"a\": 1, ",
    "{\"a\": [",
    "(",
    "f(",
    "```json\n{",
    "{\"a\": 1}",
    "{} ",
    "{\"a\": &quot;",
    "\\\"",
    "[\"a b, ",
];

/// How many shapes there are with one atom in one state.
pub(crate) const JSON_ALONE: usize = JSON.len() * JSON_STATES.len();

/// A shape of broken JSON by its number: each atom alone in each state, then mixed ones.
pub(crate) fn drawn_json(seed: u64, number: usize) -> Shape {
    let mut dice = Dice::new(seed, number as u64);
    let mut unit: Vec<String> = (0..4).map(|_| dice.one(JSON).to_owned()).collect();
    unit.truncate(dice.one(&[1, 2, 2, 2, 3, 4]));
    let mut before = dice.one(JSON_STATES);
    if number < JSON_ALONE {
        unit = vec![JSON[number % JSON.len()].to_owned()];
        before = JSON_STATES[number / JSON.len()];
    }
    Shape {
        before: before.to_owned(),
        unit,
        layout: if dice.percent(40) { Layout::Nested } else { Layout::Repeated },
        after: dice.one(&["", "", "}", "]", "\"}", "\"", "\n```", " x"]).to_owned(),
        chunk: dice.one(&[None, None, None, Some(1), Some(64)]),
        is_json: true,
        ..Shape::of("")
    }
}
