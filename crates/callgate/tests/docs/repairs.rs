//! The page of repairs: the closed list, each with a text that needs it and what that text is read as.

use callgate::{Repair, RepairCode, Repaired, Safety, Schema, repair};

use super::{MADE, block, cell, gate, sentence};

const HEAD: &str = "\
# Repairs

A *repair* is one named change that was made to read a broken call. The list is closed. Valid input is never touched:
bytes that strict JSON accepts are copied, and a repair is a splice between them, listed with its code, its bytes and
its safety class.

- **lossless**: the input has one possible reading.
- **guess**: a choice was made between readings.

The class in the table is the usual one; where the text says so, a single repair may be less safe, never safer. The
policy's knob [`repair`](policy.md#repair) says which are allowed: `off` none, `lossless` the first class, `full` both.
`callgate repair` makes all of the first table, `callgate repair --strict` only the lossless ones. It reads the text for its
own sake: guesses that put back what a missing quote or bracket has swallowed, or drop what belongs to nothing
(`missing-opener`, `extra-opener`, `entity-quotes`, `swapped-quote`, `doubled-quote`, `stray-text`, `half-member`), are never
made in a call. A closer, comma or quote that has a second reading there is a guess in its list, even where a call, whose
frame and schema decide, is read without one. `callgate explain CODE` shows any repair at the terminal.

The examples are run by the tests. `⏎` is a line break.

## In JSON

";

const IN_CALLS: &str = "
## In calls

These need more than a value: the frame around it, the list of tools, or the schema. Read with the profile `standard`,
or `lenient` for a guess, and the tools `look` (`q`: string, required) and `put` (`text`: string).
";

/// A call that needs a repair that no value alone shows.
const CALLS: &[(RepairCode, &str)] = &[
    (RepairCode::WrongOpener, "<start_function_call>call:look(q:<escape>tide<escape>)<end_function_call>"),
    (RepairCode::BlankArguments, "<tool_call>{\"name\": \"put\", \"arguments\": null}</tool_call>"),
    (
        RepairCode::ArgumentsInString,
        "<tool_call>{\"name\": \"look\", \"arguments\": \"{\\\"q\\\": \\\"cats\\\"}\"}</tool_call>",
    ),
    (
        RepairCode::DuplicateKey,
        "<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"cats\", \"q\": \"dogs\"}}</tool_call>",
    ),
    (RepairCode::MissingTag, "<tool_call>\n<function=look>\n<parameter=q>\ncats\n</function>\n</tool_call>"),
    (
        RepairCode::DoubledTag,
        "<tool_call>\n<function=look>\n<parameter=q>\ncats\n</parameter>\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        RepairCode::RespelledMarker,
        "<tool_call>\n<function=look>\n<Parameter=q>\ncats\n</Parameter>\n</function>\n</tool_call>",
    ),
    (RepairCode::ListForm, "<TOOLCALL>{\"name\": \"look\", \"arguments\": {\"q\": \"cats\"}}</TOOLCALL>"),
    (
        RepairCode::AttributeForm,
        "<function_calls>\n<invoke name='look'>\n<parameter name='q'>cats</parameter>\n</invoke>\n</function_calls>",
    ),
    (
        RepairCode::JsonParameters,
        "<tool_call>\n<function=look>\n{\"q\": \"cats\"}\n</function>\n</tool_call>",
    ),
    (
        RepairCode::MangledName,
        "<tool_call>{\"name\": \"look.look\", \"arguments\": {\"q\": \"cats\"}}</tool_call>",
    ),
    (
        RepairCode::RepeatedEnvelope,
        "<tool_call>{\"name\": \"look\", \"arguments\": {\"name\": \"look\", \"arguments\": {\"q\": \"cats\"}}}</tool_call>",
    ),
    (RepairCode::ForeignMembers, "<tool_call>{\"tool\": \"look\", \"args\": {\"q\": \"cats\"}}</tool_call>"),
    (
        RepairCode::ExtraWrapper,
        "<tool_call>{\"name\": \"look\", \"arguments\": {\"input\": {\"q\": \"cats\"}}}</tool_call>",
    ),
];

const WITH_SCHEMA: &str = "
## With a schema

`callgate repair --schema FILE` and `Schema::repair` hold the value against a JSON Schema, of any root. A value of the wrong
type is changed where the closed table of [coercions](policy.md#coerce) knows one way, just as the arguments of calls are.
Where a text has several readings (a missing closer that can stand in several places, several values, a value in one object too
many, a quote that may or may not end its string), the only one that follows the schema is taken, and `decided` says so. A closer
that has only one valid place is then lossless; where several readings are valid, the usual one stays, as a guess. A
value that does not follow the schema even so is rejected, with everything that is wrong with it.
";

/// A text that needs a repair that only a schema allows, with the schema.
const SCHEMAS: &[(RepairCode, &str, &str)] = &[
    (RepairCode::OtherValues, r#"{"required": ["n"]}"#, r#"{"plan": "count"} {"n": 2}"#),
    (
        RepairCode::MissingCloser,
        r#"{"properties": {"area": {"type": "object"}, "limit": {"type": "integer"}}, "required": ["limit"]}"#,
        r#"{"area": {"x": 1, "limit": "5"}"#,
    ),
];

/// The page.
pub(crate) fn page() -> String {
    let mut page =
        format!("{MADE}{HEAD}| code | class | what it does | from | to |\n|---|---|---|---|---|\n");
    for code in RepairCode::ALL.iter().filter(|code| call(**code).is_none() && !code.entry().input.is_empty())
    {
        let entry = code.entry();
        let (from, to) = (cell(entry.input), cell(entry.output));
        page.push_str(&format!("| `{code}` | {} | {} | {from} | {to} |\n", entry.safety, entry.message));
    }
    page.push_str(IN_CALLS);
    for (code, text) in CALLS {
        let entry = code.entry();
        page.push_str(&format!(
            "\n### {code}\n\n{} ({})\n\n{}",
            sentence(entry.message),
            entry.safety,
            block("text", text)
        ));
        if let Some((arguments, _)) = read(*code, text) {
            page.push_str(&format!("\nis read as the arguments `{arguments}`.\n"));
        }
    }
    page.push_str(WITH_SCHEMA);
    page.push_str("\n| code | class | schema | from | to |\n|---|---|---|---|---|\n");
    for (code, schema, text) in SCHEMAS {
        let repaired = with_schema(schema, text);
        let safety = repaired.repairs.iter().find(|repair| repair.code == *code).map(|repair| repair.safety);
        let safety = safety.map_or(String::new(), |safety| safety.to_string());
        let (schema, from, to) = (cell(schema), cell(text), cell(repaired.text.trim()));
        page.push_str(&format!("| `{code}` | {safety} | {schema} | {from} | {to} |\n"));
    }
    page
}

fn with_schema(schema: &str, text: &str) -> Repaired {
    let schema = Schema::from_json(schema).unwrap_or_else(|error| panic!("{error}"));
    schema.repair(text, 64).unwrap_or_else(|findings| panic!("{text}: {findings:?}"))
}

fn call(code: RepairCode) -> Option<&'static str> {
    CALLS.iter().find(|(other, _)| *other == code).map(|(_, text)| *text)
}

/// The arguments and repairs of the call in a text, where it stands.
fn read(code: RepairCode, text: &str) -> Option<(String, Vec<Repair>)> {
    let profile = if code.entry().safety == Safety::Guess { "lenient" } else { "standard" };
    let call = gate(profile).parse(text).calls.into_iter().next()?;
    Some((call.arguments, call.repairs))
}

/// Why the example of a repair does not show it, if it does not.
pub(crate) fn example_fault(code: RepairCode) -> Option<String> {
    let entry = code.entry();
    let with_schema = SCHEMAS.iter().find(|(other, ..)| *other == code && entry.input.is_empty());
    let (text, repairs) = match call(code) {
        None if with_schema.is_some() => {
            let (_, schema, text) = with_schema?;
            let repaired = self::with_schema(schema, text);
            (repaired.text, repaired.repairs)
        }
        Some(text) => match read(code, text) {
            Some(call) => call,
            None => return Some(format!("{code}: the call in {text:?} does not stand")),
        },
        None => match repair(entry.input, 64) {
            Ok(repaired) if repaired.text == entry.output => (repaired.text, repaired.repairs),
            other => return Some(format!("{code}: {:?} gives {other:?}", entry.input)),
        },
    };
    let shown = repairs.iter().find(|repair| repair.code == code);
    match shown {
        Some(repair) if repair.safety == entry.safety => None,
        _ => Some(format!("{code}: reading {text:?} lists {repairs:?}")),
    }
}
