//! Near misses: what models write almost right. Whatever is damaged in the markup of a call, no other call comes out, none is
//! lost without a word, and where a class of damage says so, the call is read all the same.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod bent;
mod beside;
mod classes;
mod cut;
mod damage;
mod given_up;
mod lost;
mod mentioned;
mod shown;
#[path = "../support/mod.rs"]
mod support;
mod values;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use callgate::{Call, Gate, Record, RenderCall, RepairCode, Response};
use classes::{CLASSES, Class, OPEN, Want};
use damage::{Base, bases};
use serde_json::{Value, json};
use support::guard::in_parallel;
use support::{Feed, excerpt, profile, registry, rejections, response};

/// A gate that reads what is damaged.
struct Reading {
    /// What stands above its column.
    title: &'static str,
    profile: &'static str,
    /// Whether the dialect is asked for by name.
    is_named: bool,
    /// Whether there is a list of tools.
    is_listed: bool,
}

const fn reading(title: &'static str, profile: &'static str, is_named: bool, is_listed: bool) -> Reading {
    Reading { title, profile, is_named, is_listed }
}

const READINGS: &[Reading] = &[
    reading("`lenient`", "lenient", true, true),
    reading("`standard`", "standard", true, true),
    reading("`strict`", "strict", true, true),
    reading("by its marker", "standard", false, true),
    reading("no tool list", "lenient", true, false),
];

impl Reading {
    fn gate(&self, record: &Record) -> Gate {
        let gate = Gate::builder().profile(profile(self.profile));
        let gate = if self.is_listed { gate.tools(registry(&tools())) } else { gate };
        let gate = if self.is_named { gate.dialect(&record.name) } else { gate };
        gate.build().unwrap_or_else(|error| panic!("{}: {error}", record.name))
    }

    /// What a class wants here: a strict profile may reject what others forgive, by its marker alone a format is not
    /// always heard, and without a list of tools not everything can be told.
    fn want(&self, class: &Class) -> Want {
        let may_reject = self.profile == "strict" || !self.is_named || !self.is_listed;
        match class.want {
            Want::Same if may_reject => Want::Said,
            Want::Dead if !self.is_named => Want::Silent,
            want => want,
        }
    }
}

/// How many responses were read, rejected, only spoken of, not heard, and read as other calls.
#[derive(Clone, Copy, Default)]
struct Tally([usize; 5]);

impl Tally {
    fn add(&mut self, response: &Response, base: &Base) {
        let is_meant = |call: &Call| {
            base.calls.iter().any(|(name, arguments)| call.name == *name && call.value() == *arguments)
        };
        let outcome = if !response.calls.iter().all(is_meant) {
            4
        } else if response.calls.len() == base.calls.len() {
            0
        } else if !response.rejected.is_empty() {
            1
        } else if !response.findings.is_empty() {
            2
        } else {
            3
        };
        self.0[outcome] += 1;
    }

    /// The shares that are not nothing, as a cell of a table.
    fn cell(self) -> String {
        let all: usize = self.0.iter().sum();
        let share = |(word, count): (&str, usize)| match count * 100 {
            0 => None,
            hundredfold if hundredfold / all == 100 => Some(word.to_owned()),
            hundredfold if hundredfold < all => Some(format!("{word} < 1 %")),
            hundredfold => Some(format!("{word} {} %", hundredfold / all)),
        };
        let words = ["read", "rejected", "said", "not heard", "another call"];
        words.into_iter().zip(self.0).filter_map(share).collect::<Vec<_>>().join(", ")
    }
}

fn tools() -> Value {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    json!([
        {"name": "read", "parameters": object(json!({"path": {"type": "string"}, "lines": {"type": "integer"}}), json!(["path"]))},
        {"name": "list", "parameters": object(json!({"deep": {"type": "boolean"}}), json!([]))},
    ])
}

/// Why a response is not what is wanted, if it is not.
fn fault(want: Want, base: &Base, response: &Response) -> Option<String> {
    let found: Vec<(String, Value)> =
        response.calls.iter().map(|call| (call.name.clone(), call.value())).collect();
    let is_meant = |call: &(String, Value)| {
        base.calls.iter().any(|(name, arguments)| call.0 == *name && call.1 == *arguments)
    };
    if let Some(other) = found.iter().find(|call| !is_meant(call)) {
        return Some(format!("a call that was not meant: {} {}", other.0, other.1));
    }
    if found.len() > base.calls.len() {
        return Some(format!("{} calls for {}", found.len(), base.calls.len()));
    }
    let is_right = found.len() == base.calls.len();
    let is_said = !response.rejected.is_empty() || !response.findings.is_empty();
    match want {
        Want::Dead | Want::Silent if !found.is_empty() => Some("it runs".to_owned()),
        Want::Silent => None,
        Want::Dead | Want::Said if is_said => None,
        Want::Same | Want::Said if is_right => None,
        Want::Dead | Want::Said => Some("nothing is said".to_owned()),
        Want::Same => Some(format!("not read: {}", rejections(response))),
    }
}

/// What has become of everything that a dialect writes.
#[derive(Default)]
struct Outcome {
    /// By class and gate.
    tallies: BTreeMap<(usize, usize), Tally>,
    /// By class.
    faults: Vec<(&'static str, String)>,
}

fn outcome(record: &Record) -> Outcome {
    let mut outcome = Outcome::default();
    // Some formats have the tools' own names for markers, and listen only with a list.
    let can_read = |reading: &Reading| reading.is_listed || !record.known;
    for (column, reading) in READINGS.iter().enumerate().filter(|(_, reading)| can_read(reading)) {
        let gate = reading.gate(record);
        for base in bases(record) {
            for (row, class) in CLASSES.iter().enumerate() {
                // What takes a list to know is shown without one, and held to nothing.
                let is_held = reading.is_listed || class.by_tools.is_none();
                for text in (class.damage)(&base) {
                    let feed = Feed::new(&gate);
                    let whole = feed.whole(text.as_bytes());
                    let response = response(&whole);
                    outcome.tallies.entry((row, column)).or_default().add(&response, &base);
                    let fault =
                        fault(reading.want(class), &base, &response).filter(|_| is_held).or_else(|| {
                            (feed.bytewise(text.as_bytes()) != whole)
                                .then(|| "cut otherwise, read otherwise".to_owned())
                        });
                    if let Some(fault) = fault {
                        let place =
                            format!("{} {}: {fault}\n  {}", reading.title, record.name, excerpt(&text));
                        outcome.faults.push((class.name, place));
                    }
                }
            }
        }
    }
    outcome
}

#[test]
fn near_misses_are_read_or_said_in_every_dialect() {
    let records: Vec<&Record> = Record::builtin().iter().collect();
    let outcomes = in_parallel(&records, |record| outcome(record));
    let mut by_class: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut open: Vec<(&str, &str)> = OPEN.to_vec();
    let mut tallies: BTreeMap<(usize, usize), Tally> = BTreeMap::new();
    for (record, outcome) in records.iter().zip(outcomes) {
        for (class, fault) in outcome.faults {
            if OPEN.contains(&(class, &record.name)) {
                open.retain(|row| *row != (class, &record.name));
            } else {
                by_class.entry(class).or_default().push(fault);
            }
        }
        for (place, tally) in outcome.tallies {
            let sum = tallies.entry(place).or_default();
            sum.0.iter_mut().zip(tally.0).for_each(|(sum, count)| *sum += count);
        }
    }
    let shown: Vec<String> = by_class
        .iter()
        .map(|(class, faults)| {
            let some: Vec<&str> = faults.iter().take(40).map(String::as_str).collect();
            format!("{class}: {} faults\n{}", faults.len(), some.join("\n"))
        })
        .collect();
    assert!(by_class.is_empty(), "{}", shown.join("\n\n"));
    assert!(open.is_empty(), "these hold again; take them out of the list: {open:?}");
    assert_fresh(&page(&tallies));
}

/// The page that shows what becomes of each class.
fn page(tallies: &BTreeMap<(usize, usize), Tally>) -> String {
    let mut page = String::from(INTRODUCTION);
    let titles: Vec<&str> = READINGS.iter().map(|reading| reading.title).collect();
    let _ = writeln!(page, "| what is damaged | wanted | {} |", titles.join(" | "));
    let _ = writeln!(page, "|---|---|{}", "---|".repeat(titles.len()));
    for (row, class) in CLASSES.iter().enumerate() {
        let cell = |column| tallies.get(&(row, column)).map_or_else(|| "–".to_owned(), |tally| tally.cell());
        let cells: Vec<String> = (0..READINGS.len()).map(cell).collect();
        let want = match class.want {
            Want::Same => "read",
            Want::Said => "read or said",
            Want::Dead | Want::Silent => "dead, and said",
        };
        let _ = writeln!(page, "| {} | {want} | {} |", class.name, cells.join(" | "));
    }
    let _ = writeln!(page, "\n## Without a list of tools\n\n{OPEN_GATE}\n");
    for class in CLASSES {
        let Some(reason) = class.by_tools else { continue };
        let _ = writeln!(page, "- {}: {reason}.", class.name);
    }
    let _ = writeln!(page, "\nWhere a class does not hold yet: {}.", open_rows());
    page
}

/// The list of what does not hold yet, by class.
fn open_rows() -> String {
    let mut by_class: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (class, dialect) in OPEN {
        by_class.entry(class).or_default().push(dialect);
    }
    let rows: Vec<String> =
        by_class.iter().map(|(class, dialects)| format!("{class} (`{}`)", dialects.join("`, `"))).collect();
    rows.join("; ")
}

const INTRODUCTION: &str = "\
<!-- Made by `UPDATE=1 cargo test -p callgate --test near_misses`. -->
# Near misses

What models write almost right, and what becomes of it. Each row damages the markup of calls that every built-in dialect has
written; each column is a gate that reads the result, whole and byte by byte: by the name of the dialect in the three
profiles, by its marker alone in `standard`, and by name without a list of tools in `lenient`.

- **read**: the calls that were meant come out, and a repair or finding says what was forgiven (white space needs none).
- **rejected**: a rejection says why, with what to write instead.
- **said**: nothing was attempted, and a finding says that this may have been a call.
- **not heard**: a call that would be dead anyway, in a format that listens only by name; without a list of tools, also a word that may be a name.
- **another call**: without a list of tools alone, and only in the rows that are named below the table.

Outside of the list at the end, no call comes out that was not meant, and none is lost without a word.

";

/// What the page says about gates without a list of tools.
const OPEN_GATE: &str = "\
A gate without a list checks less, and says so (`checked: false`): every name is a name, every member an argument, and the
text of a tag is JSON if it reads as JSON and text otherwise, so that `True` is a word. A sentence behind a value that only
its line ends is a part of it. What looks like a call as a whole, in whatever format, is said all the same. In these rows it
takes a list to know what was meant:";

fn assert_fresh(fresh: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/near-misses.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, fresh).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = there.lines().zip(fresh.lines()).find(|(old, new)| old != new);
    assert!(
        there == fresh,
        "docs/near-misses.md is stale, first {stale:?}; \
         `UPDATE=1 cargo test -p callgate --test near_misses` rewrites it"
    );
}

#[test]
fn what_is_changed_inside_of_a_wrapper_is_listed_too() {
    let gate =
        Gate::builder().profile(profile("lenient")).tools(registry(&tools())).dialect("hermes").build();
    let gate = gate.unwrap_or_else(|error| panic!("{error}"));
    for inner in [
        r#"{"input": {"path": "a", "lines": "3"}}"#,
        r#"{"name": "read", "arguments": {"path": "a", "lines": "3"}}"#,
    ] {
        let text = format!("<tool_call>{{\"name\": \"read\", \"arguments\": {inner}}}</tool_call>");
        let response = gate.parse(&text);
        let [call] = &response.calls[..] else { panic!("{text}: {}", rejections(&response)) };
        assert_eq!(call.value(), json!({"path": "a", "lines": 3}), "{text}");
        assert_eq!((call.repairs.len(), call.coercions.len()), (1, 1), "{text}");
    }
}

/// A list in an object that is only a wrapper around it is the list in every dialect that can write such a thing, and it is
/// listed. Under a word that may say what the list is for it is not, nor where the tool takes an object.
#[test]
fn a_list_in_a_wrapper_is_the_list_in_every_dialect() {
    let tools = |names: Value| {
        json!([{"name": "read", "parameters": {"type": "object", "additionalProperties": false,
            "properties": {"names": names}, "required": ["names"]}}])
    };
    let list = tools(json!({"type": "array", "items": {"type": "string"}}));
    let either = tools(json!({"type": ["array", "object"]}));
    let mut read = 0;
    for record in Record::builtin() {
        let gate = |tools: &Value| {
            let gate = Gate::builder().profile(profile("standard")).tools(registry(tools));
            gate.dialect(&record.name).build().unwrap_or_else(|error| panic!("{}: {error}", record.name))
        };
        let (list, either) = (gate(&list), gate(&either));
        for (word, wraps) in [("item", true), ("values", true), ("names", true), ("except", false)] {
            let meant = json!({"names": {word: ["a", "b"]}});
            let arguments = meant.to_string();
            let call = RenderCall { id: Some("a1b2c3d4e"), name: "read", arguments: &arguments };
            let bare = RenderCall { id: None, name: "read", arguments: &arguments };
            let text = record.render(&[call], None, None).or_else(|_| record.render(&[bare], None, None));
            let Ok(text) = text else { continue };
            let [untouched] = &either.parse(&text).calls[..] else { continue };
            assert_eq!(untouched.value(), meant, "{}: {text}: a valid call was changed", record.name);
            let response = list.parse(&text);
            match &response.calls[..] {
                [call] if wraps => {
                    assert_eq!(call.value(), json!({"names": ["a", "b"]}), "{}: {text}", record.name);
                    assert_eq!(call.coercions.len(), 1, "{}: {text}", record.name);
                    read += 1;
                }
                // Where lists have tags of their own, what is in other tags is none.
                [] if !wraps || text.contains("<item>") => {
                    assert!(!response.rejected.is_empty(), "{}: {text}", record.name)
                }
                _ => panic!("{}: {text}: {}", record.name, rejections(&response)),
            }
        }
    }
    assert!(read > 200, "{read}");
}

/// Arguments in one wrapper too many are unwrapped in every dialect that can write such a thing, and it is listed. Under a word
/// that is no other word for arguments only `lenient` does that. A tool that takes such a parameter gets it as it is.
#[test]
fn one_wrapper_too_many_is_unwrapped_in_every_dialect() {
    let open = json!([{"name": "read", "parameters": {"type": "object", "additionalProperties": true,
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}}]);
    let mut read = 0;
    for record in Record::builtin() {
        let gate = |name: &str, tools: &Value| {
            let gate = Gate::builder().profile(profile(name)).tools(registry(tools)).dialect(&record.name);
            gate.build().unwrap_or_else(|error| panic!("{}: {error}", record.name))
        };
        let (lenient, standard) = (gate("lenient", &tools()), gate("standard", &tools()));
        let open = gate("lenient", &open);
        for word in ["arguments", "parameters", "args", "input", "params", "kwargs", "properties", "payload"]
        {
            let arguments = format!(r#"{{"{word}": {{"path": "a", "lines": 3}}}}"#);
            let call = RenderCall { id: Some("a1b2c3d4e"), name: "read", arguments: &arguments };
            let bare = RenderCall { id: None, name: "read", arguments: &arguments };
            let text = record.render(&[call], None, None).or_else(|_| record.render(&[bare], None, None));
            let Ok(text) = text else { continue };
            // Where the tags are the keys themselves, only declared ones are tags.
            let [untouched] = &open.parse(&text).calls[..] else { continue };
            let is_there = untouched.value().get(word).is_some();
            assert!(is_there, "{}: {text}: a valid call was changed", record.name);
            for gate in [&lenient, &standard] {
                let response = gate.parse(&text);
                if word == "payload" && std::ptr::eq(gate, &standard) {
                    assert!(response.calls.is_empty(), "{}: {text}: a guess was made", record.name);
                    continue;
                }
                let [call] = &response.calls[..] else {
                    panic!("{}: {text}: {}", record.name, rejections(&response))
                };
                assert_eq!(call.value(), json!({"path": "a", "lines": 3}), "{}: {text}", record.name);
                let is_listed = call.repairs.iter().any(|repair| repair.code == RepairCode::ExtraWrapper);
                assert!(is_listed, "{}: {text}", record.name);
                read += 1;
            }
        }
    }
    assert!(read > 600, "only {read} were read");
}

/// A call whose own closer was read stands, whatever words follow it in its section. Where a value is text, words behind it may
/// still be the value.
#[test]
fn a_closed_call_stands_whatever_follows_it() {
    let (first, second) = (json!({"path": "a", "lines": 3}), json!({"deep": true}));
    let (mut stood, mut fell) = (0, Vec::new());
    for record in Record::builtin() {
        let gate = Gate::builder().tools(registry(&tools())).dialect(&record.name).build();
        let gate = gate.unwrap_or_else(|error| panic!("{}: {error}", record.name));
        let (path, deep) = (first.to_string(), second.to_string());
        let calls = |id: Option<&'static str>, other: Option<&'static str>| {
            let calls = [
                RenderCall { id, name: "read", arguments: &path },
                RenderCall { id: other, name: "list", arguments: &deep },
            ];
            record.render(&calls, None, None)
        };
        let Ok(text) = calls(Some("a1b2c3d4e"), Some("b1b2c3d4e")).or_else(|_| calls(None, None)) else {
            continue;
        };
        let [read, _] = &gate.parse(&text).calls[..] else { continue };
        // Without markers, words behind a value are more of it.
        let Some(end) = read.span.map(|span| span.end).filter(|_| text.starts_with(['<', '['])) else {
            continue;
        };
        let is_marked = text.starts_with('<') && text[..end].ends_with('>') && record.param.is_empty();
        for words in [" and so on ", "\njunk\n"] {
            let damaged = format!("{}{words}{}", &text[..end], &text[end..]);
            let response = gate.parse(&damaged);
            let is_meant = |call: &callgate::Call| call.value() == first || call.value() == second;
            assert!(response.calls.iter().all(is_meant), "{}: {damaged}: another call", record.name);
            let is_said = !response.rejected.is_empty() || !response.findings.is_empty();
            assert!(response.calls.len() == 2 || is_said, "{}: {damaged}: silence", record.name);
            if response.calls.iter().any(|call| call.value() == first) {
                stood += 1;
            } else if is_marked {
                fell.push(format!("{}: {damaged}: {}", record.name, rejections(&response)));
            }
        }
    }
    assert!(fell.is_empty(), "{stood} stood\n{}", fell.join("\n"));
    assert!(stood > 20, "only {stood} stood");
}

/// A text value that shows one of the tags behind it, with words after the tag, is that value in every dialect that can write
/// it.
#[test]
fn a_value_that_shows_a_tag_behind_it_is_that_value() {
    let (mut read, mut faults) = (0, Vec::new());
    for record in Record::builtin().iter().filter(|record| !record.param.is_empty()) {
        let gate = Gate::builder().tools(registry(&tools())).dialect(&record.name).build();
        let gate = gate.unwrap_or_else(|error| panic!("{}: {error}", record.name));
        let write = |value: &str| {
            let arguments = json!({"path": value}).to_string();
            record.render(&[RenderCall { id: None, name: "read", arguments: &arguments }], None, None)
        };
        let Some(behind) = write("VALUE").ok().and_then(|text| Some(text.split_once("VALUE")?.1.to_owned()))
        else {
            continue;
        };
        let tags = behind.match_indices('<').filter_map(|(at, _)| behind[at..].split_inclusive('>').next());
        for tag in tags {
            let value = format!("It ends with {tag} here.");
            let Ok(text) = write(&value) else { continue };
            let response = gate.parse(&text);
            let is_read = response.calls.iter().any(|call| call.value() == json!({"path": value}));
            if is_read && response.calls.len() == 1 && response.text.trim().is_empty() {
                read += 1;
            } else {
                faults.push(format!("{}: {text}: {}", record.name, rejections(&response)));
            }
        }
    }
    assert!(faults.is_empty(), "{read} were read\n{}", faults.join("\n"));
    assert!(read > 40, "only {read} were read");
}

/// Two calls in one wrapper are two calls, where each of them stands in tags of its own.
#[test]
fn two_calls_in_one_wrapper_are_both_read() {
    let mut read = Vec::new();
    for record in Record::builtin() {
        let [call] = &record.call[..] else { continue };
        let Some(head) = call.literals().next().filter(|head| head.trim_end().ends_with('=')) else {
            continue;
        };
        let Some((wrapper, _)) =
            head.rsplit_once('<').filter(|(wrapper, _)| wrapper.trim_end().ends_with('>'))
        else {
            continue;
        };
        let gate = Gate::builder().tools(registry(&tools())).dialect(&record.name).build();
        let gate = gate.unwrap_or_else(|error| panic!("{}: {error}", record.name));
        let write = |name: &str, arguments: &str| {
            record.render(&[RenderCall { id: None, name, arguments }], None, None).unwrap_or_default()
        };
        let (first, second) = (write("read", r#"{"path": "a"}"#), write("list", r#"{"deep": true}"#));
        let closer = &first[first.trim_end().rfind("</").unwrap_or(first.len())..];
        let first = first.strip_suffix(closer).unwrap_or(&first);
        let text = format!("{first}{}", second.strip_prefix(wrapper).unwrap_or(&second));
        let response = gate.parse(&text);
        let found: Vec<Value> = response.calls.iter().map(Call::value).collect();
        assert_eq!(found, [json!({"path": "a"}), json!({"deep": true})], "{}: {text}", record.name);
        assert_eq!(response.text.trim(), "", "{}: {text}", record.name);
        read.push(&*record.name);
    }
    assert_eq!(read, ["qwen3-coder", "mimo", "seed-oss"]);
}

/// A call whose inner opener stands for itself keeps its own closer; only that of its wrapper may be absent, if there is one.
#[test]
fn without_its_wrapper_a_call_keeps_its_own_closer() {
    let written = "<fn=look><a=q>1</a>";
    for tail in ["</fn>\n</run>", "</fn>", "\n"] {
        let call = json!(format!("<run>\n<fn={{name}}>{{params}}{tail}"));
        let source = format!("[run]\ncall = {call}\nparam = '<a={{key}}>{{value}}</a>'\nbare = ['<fn=']\n");
        let record = Record::parse(&source).unwrap_or_else(|error| panic!("{error}")).remove(0);
        let gate = Gate::builder().dialects(&[]).record(record).dialect("run").build();
        let gate = gate.unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(gate.parse(&format!("<run>\n{written}{tail}")).calls.len(), 1, "{source}");
        assert_eq!(gate.parse(&format!("{written}</fn> and so on")).calls.len(), 1, "{source}");
        assert!(gate.parse(&format!("{written} and so on")).calls.is_empty(), "{source}");
    }
}

/// A text value that shows a call of its own format, or its own closers and a call behind them, is that value or rejected: no
/// call comes out that is cut there, and none that stands in it.
#[test]
fn a_value_that_shows_a_call_is_not_cut_there() {
    let results = in_parallel(Record::builtin(), |record| {
        let render = |name: &str, arguments: &str| {
            let call = |id| RenderCall { id, name, arguments };
            let whole = record.render(&[call(None)], None, None);
            whole.or_else(|_| record.render(&[call(Some("a1b2c3d4e"))], None, None)).ok()
        };
        let (mut shown, mut faults) = (0, Vec::new());
        let (Some(outer), Some(inner)) =
            (render("read", r#"{"path": "VALUE"}"#), render("list", r#"{"deep": true}"#))
        else {
            return (shown, faults);
        };
        let Some((_, closers)) = outer.split_once("VALUE").filter(|_| !record.param.is_empty()) else {
            return (shown, faults);
        };
        let inner = inner.trim();
        let values = [
            (format!("Doc:\n{inner}\nend"), false),
            (format!("Doc: {inner} end"), false),
            (inner.to_owned(), false),
            (format!("{inner}\n{inner}"), false),
            (format!("a\n{inner}\nb\n{inner}\nc"), false),
            // Where the value shows all of its closers, what stands before them is a call by itself.
            (format!("x{closers}\n{inner}\ny"), true),
        ];
        for reading in READINGS.iter().filter(|reading| reading.is_listed && reading.is_named) {
            let gate = reading.gate(record);
            for (value, is_closed) in &values {
                let text = outer.replace("VALUE", value);
                let feed = Feed::new(&gate);
                for events in [feed.whole(text.as_bytes()), feed.bytewise(text.as_bytes())] {
                    shown += 1;
                    let response = response(&events);
                    let is_value = |call: &Call| {
                        let path = call.value()["path"].as_str().map(|path| path.trim().to_owned());
                        call.name == "read"
                            && path.is_some_and(|path| path == *value || *is_closed && path == "x")
                    };
                    if !response.calls.iter().all(is_value) {
                        let calls: Vec<Value> = response.calls.iter().map(Call::value).collect();
                        faults.push(format!("{}, {}: {text}: {calls:?}", record.name, reading.title));
                    }
                }
            }
        }
        (shown, faults)
    });
    let shown: usize = results.iter().map(|(shown, _)| shown).sum();
    let faults: Vec<&String> = results.iter().flat_map(|(_, faults)| faults).collect();
    let list: Vec<&str> = faults.iter().take(12).map(|fault| fault.as_str()).collect();
    assert!(faults.is_empty(), "{} of {shown}\n{}", faults.len(), list.join("\n"));
    assert!(shown > 500, "only {shown} were shown");
}
