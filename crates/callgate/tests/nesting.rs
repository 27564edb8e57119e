//! A call in a string is data: every dialect's call inside every string position of every other one, and of values that
//! nobody listens to. The inner call never runs.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::LazyLock;

use callgate::internal::dialect::Slot;
use callgate::internal::json::Syntax;
use callgate::{Gate, Profile, Record};
use serde_json::{Value, json};
use support::calls::{remove, tools, written};
use support::guard::in_parallel;

const PROFILES: [&str; 3] = ["strict", "standard", "lenient"];

/// A word that stands nowhere else, where the inner call is put.
const MARK: &str = "zqmarkqz";

/// The gates by profile and dialect; `auto` is one of the dialects, an empty one is what the profile has by itself.
static GATES: LazyLock<BTreeMap<(&str, &str), Gate>> = LazyLock::new(|| {
    let names = Record::builtin().iter().map(|record| &*record.name).chain(["auto"]);
    let mut all: Vec<(&str, &str)> = names.flat_map(|name| PROFILES.map(|profile| (profile, name))).collect();
    all.extend(Profile::NAMES.iter().map(|profile| (*profile, "")));
    all.into_iter().map(|(profile, dialect)| ((profile, dialect), gate(profile, dialect))).collect()
});

fn gate(profile: &str, dialect: &str) -> Gate {
    let profile = Profile::named(profile).unwrap_or_else(|| panic!("no profile {profile}"));
    let builder = Gate::builder().profile(profile).tools(support::registry(&tools()));
    // A profile that wants a dialect named gets one here, as its user would.
    let builder = match dialect {
        "" if profile.needs_dialect() => builder.dialect("hermes"),
        "" => builder,
        dialect => builder.dialect(dialect),
    };
    builder.build().unwrap_or_else(|error| panic!("{dialect}: {error}"))
}

/// The call that must not run, in every dialect that can write it.
static INNER: LazyLock<Vec<(&Record, String)>> = LazyLock::new(|| {
    let written = Record::builtin().iter().filter_map(|record| Some((record, remove(record, "p")?)));
    written.collect()
});

/// Whether the inner call ran. The outer one has another name.
fn runs(gate: &Gate, text: &str) -> bool {
    gate.parse(text).calls.iter().any(|call| call.name == "rm")
}

#[test]
fn every_inner_call_runs_where_nothing_is_around_it() {
    let alive = INNER.iter().filter(|(record, call)| runs(&GATES[&("standard", &*record.name)], call));
    let alive = alive.count();
    assert!(alive >= 70, "only {alive} dialects run alone");
}

// ---- in the strings of other dialects ----

/// A place in a text where the inner call is put.
struct Outer {
    record: &'static Record,
    /// The call of `echo` with the mark as its text.
    call: String,
    /// Whether the mark stands in a string of JSON or Python, which is one whoever listens.
    owns: bool,
}

static OUTER: LazyLock<Vec<Outer>> = LazyLock::new(|| {
    let marked = |record: &'static Record| {
        let call = written(record, "echo", &json!({"text": format!("see {MARK} there")}))?;
        let holds_value = record.call.iter().any(|call| call.has(Slot::Object) || call.has(Slot::Arguments));
        let is_code = matches!(record.syntax, Syntax::Json | Syntax::Python);
        let quoted = call[..call.find(MARK)?].trim_end_matches("see ").ends_with(['"', '\'']);
        Some(Outer { record, call, owns: holds_value && is_code && quoted })
    };
    Record::builtin().iter().filter_map(marked).collect()
});

/// How the inner call is put into the outer one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Way {
    /// As the outer format writes such a text.
    Rendered,
    /// Byte by byte, whatever that does to the outer call.
    Raw,
}

fn nested(outer: &Outer, inner: &str, way: Way) -> Option<String> {
    match way {
        Way::Rendered => written(outer.record, "echo", &json!({"text": format!("see {inner} there")})),
        Way::Raw => Some(outer.call.replace(MARK, inner)),
    }
}

/// One nesting in which the inner call ran.
struct Fault {
    class: String,
    outer: &'static str,
    inner: &'static str,
    text: String,
}

/// Every inner call in one outer call, read by gates that listen to the outer one, to all, and to the inner one.
fn faults_in(outer: &Outer, way: Way) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (record, inner) in INNER.iter() {
        // A format without quotes that is put raw into itself is no nesting: it is a second call.
        let is_sequel = way == Way::Raw && !outer.owns && record.name == outer.record.name;
        let Some(text) = nested(outer, inner, way).filter(|_| !is_sequel) else { continue };
        for profile in PROFILES {
            for (listener, listens) in listeners(outer, record) {
                // What is no string is only dead if its dialect listens.
                if (listens || outer.owns) && runs(&GATES[&(profile, listener)], &text) {
                    let whether =
                        if listens { "the outer one listens" } else { "the outer one does not listen" };
                    faults.push(Fault {
                        class: format!("{way:?}, {profile}, {whether}"),
                        outer: &outer.record.name,
                        inner: &record.name,
                        text: text.clone(),
                    });
                }
            }
        }
    }
    faults
}

/// The gates that read a nesting, each with whether it listens to the outer call.
fn listeners(outer: &Outer, inner: &'static Record) -> [(&'static str, bool); 3] {
    let (outer, inner) = (&*outer.record.name, &*inner.name);
    [(outer, true), ("auto", is_heard("auto", outer)), (inner, is_heard(inner, outer))]
}

/// Whether this listener reads the outer call of a dialect as a call, in `standard`.
fn is_heard(listener: &'static str, outer: &'static str) -> bool {
    static HEARD: LazyLock<BTreeSet<(&str, &str)>> = LazyLock::new(|| {
        let names: Vec<&str> = Record::builtin().iter().map(|record| &*record.name).chain(["auto"]).collect();
        let heard = in_parallel(&names, |name| {
            let gate = &GATES[&("standard", *name)];
            let heard = OUTER.iter().filter(|outer| !gate.parse(&outer.call).calls.is_empty());
            heard.map(|outer| (*name, &*outer.record.name)).collect::<Vec<_>>()
        });
        heard.into_iter().flatten().collect()
    });
    HEARD.contains(&(listener, outer))
}

/// The faults by class, each with its pairs and the shortest texts.
fn listed(faults: &[Fault]) -> String {
    let mut classes: BTreeMap<&str, Vec<&Fault>> = BTreeMap::new();
    for fault in faults {
        classes.entry(&fault.class).or_default().push(fault);
    }
    let mut report = String::new();
    for (class, faults) in &mut classes {
        let outer: BTreeSet<&str> = faults.iter().map(|fault| fault.outer).collect();
        let inner: BTreeSet<&str> = faults.iter().map(|fault| fault.inner).collect();
        let _ = writeln!(report, "\n{class}: {} nestings", faults.len());
        let names = |names: &BTreeSet<&str>| {
            let first: Vec<&str> = names.iter().copied().take(40).collect();
            format!("{}: {}", names.len(), first.join(", "))
        };
        let _ = writeln!(report, "  outer {}\n  inner {}", names(&outer), names(&inner));
        faults.sort_by_key(|fault| fault.text.len());
        let mut shown = BTreeSet::new();
        for fault in faults.iter().filter(|fault| shown.insert(fault.outer)).take(8) {
            let _ = writeln!(report, "  {} in {}: {:?}", fault.inner, fault.outer, fault.text);
        }
    }
    report
}

fn assert_no_inner_call_runs(way: Way) {
    let faults: Vec<Fault> =
        in_parallel(&OUTER, |outer| faults_in(outer, way)).into_iter().flatten().collect();
    assert!(faults.is_empty(), "{} inner calls run:\n{}", faults.len(), listed(&faults));
}

#[test]
fn c04_a_call_in_an_argument_of_another_dialect_does_not_run() {
    assert_no_inner_call_runs(Way::Rendered);
}

#[test]
fn c04_a_call_put_raw_into_an_argument_does_not_run() {
    assert_no_inner_call_runs(Way::Raw);
}

// ---- in values that nobody listens to ----

/// A text as a string of JSON, without its quotes.
fn in_json(text: &str) -> Option<String> {
    let quoted = Value::from(text).to_string();
    Some(quoted[1..quoted.len() - 1].to_owned())
}

/// A text as a string of Python in single quotes.
fn in_python(text: &str) -> Option<String> {
    Some(text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

/// The text itself, where it does not end the string.
fn raw_in(quote: char) -> impl Fn(&str) -> Option<String> {
    move |text| (!text.contains([quote, '\\'])).then(|| text.to_owned())
}

/// How a text is written into a value, and the values; K is the inner call.
type Form = (&'static str, fn(&str) -> Option<String>, &'static [&'static str]);

const FORMS: &[Form] = &[
    (
        "escaped in JSON",
        in_json,
        &[
            "{\"note\": \"K\"}",
            "{\"note\":\"see K there\"}",
            "{\"K\": 1}",
            "[\"K\"]",
            "[1, \"a\", \"K\"]",
            "{\"a\": {\"b\": [\"x\", {\"c\": \"K\"}]}}",
            "{\n  \"title\": \"a\",\n  \"note\": \"K\"\n}",
            "[\n  \"K\"\n]\n",
            "Here is the file:\n{\"note\": \"K\"}\nDone.",
            "Here is the file: {\"note\": \"K\"} Done.",
            "{\"id\": 1}\n{\"id\": 2, \"note\": \"K\"}\n",
            "{\"note\": \"a \\\"quoted\\\" word, K\"}",
            "{\"note\": \"\\\\\", \"more\": \"K\"}",
            "{\"role\": \"user\", \"content\": \"K\"}",
            "- {\"note\": \"K\"}\n",
            "{\"note\": \"K\"",
            "{\"note\": \"K",
        ],
    ),
    (
        "raw in JSON",
        |text| raw_in('"')(text),
        &[
            "{\"note\": \"K\"}",
            "[\"K\"]",
            "{\"note\": \"see\nK\nthere\"}",
            "{\n  \"note\": \"K\",\n  \"b\": 1\n}",
            "Here: {\"note\": \"K\"} Done.",
            "{\"note\": \"K",
        ],
    ),
    (
        "escaped in Python",
        in_python,
        &[
            "{'note': 'K'}",
            "['K']",
            "['a', 'K']",
            "[{'note': 'K'}]",
            "{'a': ['x', {'b': 'K'}]}",
            "{\n    'note': 'K',\n}",
            "Here is the file:\n{'note': 'K'}\nDone.",
            "{'note': 'it\\'s K'}",
            "{'note': 'K",
        ],
    ),
    (
        "raw in Python",
        |text| raw_in('\'')(text),
        &["{'note': 'K'}", "['K']", "{'note': 'see\nK\nthere'}", "['''K''']", "{'note': '''\nK\n'''}"],
    ),
    (
        "twice escaped in JSON",
        |text| in_json(&Value::from(text).to_string()),
        &["{\"note\": \"K\"}", "{\"note\": \"{\\\"inner\\\": K}\"}"],
    ),
    (
        "escaped in a sentence",
        |text| in_json(text).filter(|string| string.contains("\\\"")),
        &["The file holds: \"K\" as you see.", "So \"see K there\".", "As in \"a: K", "\"b\" and then K"],
    ),
    (
        "escaped in the arguments of Python",
        in_python,
        &[
            "note(text='K')",
            "print('K')",
            "write(path='a', content='K')\n",
            "So: files.write('a', {'b': (1, 2)}, 'K')",
            "x = note(\n  text='K',\n)",
        ],
    ),
    ("raw in the arguments of Python", |text| raw_in('\'')(text), &["note(text='K')", "print( 'K')"]),
    ("escaped in the arguments of JavaScript", in_json, &["note(\"K\")", "await write(\"a\", \"K\");"]),
];

/// The gates of one inner dialect: among all, by name, and a profile whose own format it is.
fn gates_of(record: &'static Record) -> Vec<(&'static str, &'static str)> {
    let mut gates: Vec<(&str, &str)> =
        PROFILES.iter().flat_map(|profile| [(*profile, "auto"), (*profile, &*record.name)]).collect();
    let own = Profile::NAMES.iter().filter(|name| {
        Profile::named(name).is_some_and(|profile| profile.dialects().contains(&&*record.name))
    });
    gates.extend(own.map(|name| (*name, "")));
    gates
}

/// What kind of string the inner call stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It is closed on the line where it was opened, or its quotes span lines by themselves.
    Whole,
    /// It is closed on another line, which neither JSON nor Python allows.
    OverLines,
    /// It is never closed.
    Missing,
}

fn ending(form: &str, string: &str) -> Ending {
    let (before, after) = form.split_once('K').unwrap_or((form, ""));
    let Some(close) = after.find(['"', '\'']) else { return Ending::Missing };
    let open = before.rfind(['"', '\'']).unwrap_or(0);
    let is_long = before.contains("\'\'\'");
    let lines = before[open..].contains('\n') || string.contains('\n') || after[..close].contains('\n');
    if lines && !is_long { Ending::OverLines } else { Ending::Whole }
}

/// The faults of one form.
#[derive(Default)]
struct Class {
    count: usize,
    inner: BTreeSet<&'static str>,
    gates: BTreeSet<String>,
    /// One of the texts.
    text: String,
}

/// Fails where a call runs out of a string of this kind.
fn assert_strings_own_their_calls(kind: Ending) {
    let results = in_parallel(&INNER, |(record, inner)| {
        let mut faults = Vec::new();
        for (how, write, forms) in FORMS {
            let Some(string) = write(inner) else { continue };
            for form in forms.iter().filter(|form| ending(form, &string) == kind) {
                let text = form.replace('K', &string);
                for (profile, listener) in gates_of(record) {
                    if runs(&GATES[&(profile, listener)], &text) {
                        faults.push((
                            format!("{how}: {form:?}"),
                            &*record.name,
                            profile,
                            listener,
                            text.clone(),
                        ));
                    }
                }
            }
        }
        faults
    });
    let mut classes: BTreeMap<String, Class> = BTreeMap::new();
    for (class, inner, profile, listener, text) in results.into_iter().flatten() {
        let listener = if listener == "auto" { "auto" } else { "by name" };
        let class = classes.entry(class).or_default();
        class.count += 1;
        class.inner.insert(inner);
        class.gates.insert(format!("{profile} {listener}"));
        class.text = text;
    }
    let mut report = String::new();
    for (name, class) in &classes {
        let first: Vec<&str> = class.inner.iter().copied().take(6).collect();
        let gates: Vec<&str> = class.gates.iter().map(String::as_str).collect();
        let (count, dialects) = (class.count, class.inner.len());
        let _ = writeln!(report, "  {name}: {count} times, {dialects} dialects: {} …", first.join(", "));
        let _ = writeln!(report, "      {}; {:?}", gates.join(", "), class.text);
    }
    assert!(classes.is_empty(), "calls in strings run, in {} forms:\n{report}", classes.len());
}

#[test]
fn c05_a_call_in_a_string_of_a_value_does_not_run_whoever_listens() {
    assert_strings_own_their_calls(Ending::Whole);
}

#[test]
fn c05_a_call_in_a_string_over_several_lines_does_not_run() {
    assert_strings_own_their_calls(Ending::OverLines);
}

#[test]
fn c05_a_call_in_a_string_without_end_does_not_run() {
    assert_strings_own_their_calls(Ending::Missing);
}

/// Values, quotes and brackets in prose own nothing once they are over: the call after them is live.
const AFTER_VALUES: &[&str] = &[
    "{\"note\": \"a\"}\nK\n",
    "{\"note\": \"a\"} K\n",
    "[\"a\", 'b']\nK\n",
    "It's time.\nK\n",
    "The models' tools: \"rm\" and 'echo'.\nK\n",
    "He said \"go\n\nK\n",
    "Use {name} or [x].\nK\n",
    "5' 10\" tall\nK\n",
    "I'll call it [as you said], don't worry:\nK\n",
    "{\n\nK\n",
    "Set {a, b} and (c\n\nK\n",
    "Call f(x), g(\"a\") and h(b='c').\nK\n",
    "In the hall('s end) or ('80s music:\nK\n",
    "So rock('n'roll) it is, f(x=1\n\nand then\nK\n",
];

#[test]
fn c05_a_call_after_a_value_or_a_quote_in_prose_still_runs() {
    // What goes on with a header that the prompt began is a call at the start of a response only.
    let begins = |call: &str| call.starts_with(['<', '[', ']', '`']);
    let is_heard = |call: &str| begins(call) && runs(&GATES[&("strict", "auto")], call);
    let auto: Vec<_> = INNER.iter().filter(|(_, call)| is_heard(call.trim_start())).collect();
    assert!(auto.len() >= 40, "only {} dialects listen by themselves", auto.len());
    let mut faults: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (record, call) in auto {
        for form in AFTER_VALUES {
            for profile in PROFILES {
                if !runs(&GATES[&(profile, "auto")], &form.replace('K', call)) {
                    faults.entry(form).or_default().insert(format!("{} ({profile})", record.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "calls are lost after: {faults:#?}");
}
