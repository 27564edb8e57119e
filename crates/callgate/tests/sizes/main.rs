//! Work and memory by doubling sizes: whatever is repeated, wherever it stands, twice the input costs about twice, on
//! a stack that leaves no room for recursion.
//!
//! The shapes are read in a process of their own, so that one that ends the process is named and the rest goes on, and
//! so that nothing else allocates meanwhile. Longer runs: `CALLGATE_SHAPES` says how many shapes are drawn,
//! `CALLGATE_LARGEST` up to how many bytes they are doubled, `SIZES_ENDLESS` at how many bytes they are read to their
//! end, `CALLGATE_SEED` which ones; with `CALLGATE_TIMED` time is measured as well, the best of three, on a machine that
//! has nothing else to do.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod draw;
mod growth;
mod process;
mod shape;
#[path = "../support/mod.rs"]
mod support;

use callgate::{FinishReason, Profile, Record};
use draw::{JSON_ALONE, around_value, drawn, drawn_json, opened};
use process::assert_proportional;
use shape::{Layout, Shape};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use support::dice::from_environment;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

#[test]
fn c11_whatever_is_repeated_costs_in_proportion() {
    let count = from_environment("CALLGATE_SHAPES", 1000);
    let seed = from_environment("CALLGATE_SEED", 1) as u64;
    let shapes: Vec<Shape> = (0..count).map(|number| drawn(seed, number)).collect();
    assert_proportional("c11_whatever_is_repeated_costs_in_proportion", &shapes);
}

/// The shape by the name of every dialect, and by each profile's own.
fn for_everybody(shape: &Shape) -> Vec<Shape> {
    let dialects = Record::builtin().iter().map(|record| ("standard", record.name.to_string()));
    let profiles = Profile::NAMES.iter().map(|name| (*name, String::new()));
    profiles.chain(dialects).map(|(profile, dialect)| Shape { profile, dialect, ..shape.clone() }).collect()
}

#[test]
fn c02_brackets_that_open_without_end_neither_recurse_nor_multiply() {
    let mut shapes = Vec::new();
    for unit in ["{", "[{"] {
        shapes.extend(for_everybody(&Shape::of(unit)));
    }
    let bare =
        ["action-json", "json-bare", "llama3-json", "json-tool-calls-object", "granite", "xlam", "pythonic"];
    let units = [
        "{",
        "[",
        "[{",
        "[[{",
        "({",
        "{\"a\":{",
        "{\"name\":",
        "[{\"name\":\"rm\",",
        "{'",
        "rm({",
        "```json\n{",
    ];
    for unit in units {
        for dialect in bare {
            for chunk in [None, Some(1)] {
                shapes.push(Shape { dialect: dialect.to_owned(), chunk, ..Shape::of(unit) });
            }
        }
    }
    assert_proportional("c02_brackets_that_open_without_end_neither_recurse_nor_multiply", &shapes);
}

#[test]
fn c03_closers_after_an_open_call_cost_in_proportion() {
    const CLOSERS: [&str; 9] = ["]", ")", "\"}", "}]", "'", ">", "</", "\n", ","];
    let mut shapes = Vec::new();
    for (number, record) in Record::builtin().iter().enumerate() {
        let Some(within) = opened(record) else { continue };
        // The closer of objects for all dialects, two of the others in turn.
        let closers = ["}", CLOSERS[number % 9], CLOSERS[(number + 4) % 9]];
        for (which, closer) in closers.into_iter().enumerate() {
            let (profile, dialect) = match (number + which) % 4 {
                0 => ("strict", "auto"),
                1 => ("lenient", &*record.name),
                2 => ("standard", "auto"),
                _ => ("standard", &*record.name),
            };
            let value = if within.ends_with('"') { "a\"" } else { "a" };
            shapes.push(Shape {
                profile,
                dialect: dialect.to_owned(),
                before: format!("{within}{value}"),
                chunk: (which == 1).then_some(1),
                endures: which == 0,
                ..Shape::of(closer)
            });
        }
    }
    assert_proportional("c03_closers_after_an_open_call_cost_in_proportion", &shapes);
}

#[test]
fn c11_a_long_value_that_shows_calls_costs_in_proportion() {
    let mut shapes = Vec::new();
    for record in Record::builtin() {
        let Some((opening, closing)) = around_value(record) else { continue };
        // What closes the call without the first line or the first marker of it, so that the value could go on.
        let marker = closing.find('\n').or(closing.find('>')).map_or(0, |at| at + 1);
        let shown = format!("{}a{opening}", &closing[marker..]);
        for filling in ["x", " "] {
            let unit = vec![filling.to_owned(), shown.clone()];
            shapes.push(Shape {
                dialect: record.name.to_string(),
                before: opening.clone(),
                unit,
                layout: Layout::Nested,
                endures: true,
                ..Shape::of("")
            });
        }
    }
    assert_proportional("c11_a_long_value_that_shows_calls_costs_in_proportion", &shapes);
}

#[test]
fn c11_shapes_that_were_once_quadratic() {
    let call = "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>";
    let object = "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":";
    let mut shapes = Vec::new();
    for (before, unit, after) in [
        ("", &*format!("`{call}` "), ""),
        ("", &format!("`{call}`\n"), ""),
        ("a `", call, "` b"),
        ("a `", call, ""),
        ("", "`<tool_call>{", ""),
        ("", "`<tool_call>{\n", ""),
        ("", "[TOOL_CALLS]rm[CALL_ID]x", ""),
        ("", "[TOOL_CALLS]rm", ""),
        ("", "[TOOL_CALLS]rm[ARGS]", ""),
        ("", "[TOOL_CALLS]rm{", ""),
        (object, "“", ""),
        (object, "“”", ""),
        (object, "“", "}}</tool_call>"),
        ("", "<|open|>call tool=\"", ""),
        ("", "<think>", ""),
        ("", "</think>", ""),
        ("> ", "> ", ""),
        ("", "- ", ""),
        ("", "a `b\n", ""),
        ("", "`` ` ", ""),
        ("", "<a title=\"`", ""),
        ("", "```\n```\n", ""),
    ] {
        for (profile, chunk) in
            [("standard", None), ("standard", Some(3)), ("lenient", None), ("strict", Some(64))]
        {
            let (before, after) = (before.to_owned(), after.to_owned());
            let endures = chunk.is_none();
            shapes.push(Shape { profile, before, after, chunk, endures, ..Shape::of(unit) });
        }
    }
    // Buffers that an earlier reading left to its thread once made this look like more than twice.
    let (before, after) = (format!("{object}\""), "\n".to_owned());
    shapes.push(Shape { before, after, finish: FinishReason::Length, ..Shape::of("\"\"\"") });
    // A run that may still become a fence is held while it grows.
    for unit in ["~", "`", "~~~\n", "\n```"] {
        for before in ["", "{\"a\": \"", "<think>\n"] {
            let shape = Shape { before: before.to_owned(), ..Shape::of(unit) };
            let profiles = Profile::NAMES.iter();
            shapes.extend(profiles.map(|profile| Shape {
                profile,
                dialect: String::new(),
                chunk: Some(64),
                ..shape.clone()
            }));
        }
    }
    assert_proportional("c11_shapes_that_were_once_quadratic", &shapes);
}

/// Calls that begin before the one before them has come to anything are not read again for each of them.
#[test]
fn c11_openers_before_a_word_cost_in_proportion() {
    let mut shapes = Vec::new();
    for record in Record::builtin() {
        let calls = record.call.iter().filter_map(|call| call.literals().next());
        let openers = record.openers().into_iter().map(|opener| opener.head().to_owned());
        let openers: Vec<String> = openers.collect();
        let opener = openers.first().cloned().unwrap_or_default();
        let mut units: Vec<String> = openers.into_iter().chain(calls.map(str::to_owned)).collect();
        units.retain(|unit| !unit.is_empty());
        units.sort();
        units.dedup();
        for unit in units {
            let dialect = record.name.to_string();
            let shape = Shape { dialect, ..Shape::of(&format!("{unit}null")) };
            shapes.push(shape.clone());
            shapes.push(Shape {
                profile: "lenient",
                before: opener.clone(),
                chunk: Some(64),
                ..shape.clone()
            });
            shapes.push(Shape { unit: vec![format!("{unit}rm\n")], chunk: Some(7), ..shape });
        }
    }
    assert_proportional("c11_openers_before_a_word_cost_in_proportion", &shapes);
}

#[test]
fn c12_repairing_costs_in_proportion() {
    const UNITS: &[&str] = &[
        "“",
        "”",
        "“”",
        "‘",
        "'",
        "\"",
        "\"a",
        "{",
        "[",
        "}",
        "]",
        "\\",
        "\\\"",
        ",",
        ":",
        "//\n",
        "/*",
        "a ",
        "`",
        "1 ",
        "{\"a",
        "{\"a ",
        "x{\"a\": ",
        "1 2,",
        "1,2 ",
        "C:\\a\\t",
    ];
    let mut shapes = Vec::new();
    for unit in UNITS {
        for (before, after) in [("{", "}"), ("{\"a\":", "}"), ("[", "]"), ("{\"a\": \"", ""), ("", "")] {
            let (before, after) = (before.to_owned(), after.to_owned());
            let shape = Shape { before, after, is_json: true, ..Shape::of(unit) };
            shapes.push(Shape { chunk: Some(1), ..shape.clone() });
            shapes.push(Shape { endures: true, ..shape });
        }
    }
    assert_proportional("c12_repairing_costs_in_proportion", &shapes);
}

/// The bytes that are looked at grow with the input, and no byte is looked at too often, whatever is repeated.
#[test]
fn c12_every_search_in_broken_json_costs_in_proportion() {
    let count = from_environment("CALLGATE_SHAPES", 1000);
    let seed = from_environment("CALLGATE_SEED", 1) as u64;
    let shapes: Vec<Shape> = (0..JSON_ALONE + count).map(|number| drawn_json(seed, number)).collect();
    assert_proportional("c12_every_search_in_broken_json_costs_in_proportion", &shapes);
}
