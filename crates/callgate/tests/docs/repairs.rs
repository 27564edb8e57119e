//! The page of repairs: the closed list, each with a text that needs it and what that text is read as.

use callgate::{Repair, RepairCode, Safety, repair};

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

/// The page.
pub(crate) fn page() -> String {
    let mut page =
        format!("{MADE}{HEAD}| code | class | what it does | from | to |\n|---|---|---|---|---|\n");
    for code in RepairCode::ALL.iter().filter(|code| call(**code).is_none()) {
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
    page
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
    let (text, repairs) = match call(code) {
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
