//! Near misses: what models write almost right. Whatever is damaged in the markup of a call, no other call comes out, none is
//! lost without a word, and where a class of damage says so, the call is read all the same.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use std::collections::BTreeMap;

use callgate::{Gate, Record, RenderCall, Response};
use serde_json::{Value, json};
use support::guard::in_parallel;
use support::{Feed, excerpt, profile, registry, rejections, response};

/// What has to become of a damaged response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// The calls that were meant, and nothing else.
    Same,
    /// The calls that were meant, or a rejection or finding that says why not.
    Said,
}

/// A way of damaging a response. The next one is a row too.
struct Class {
    name: &'static str,
    want: Want,
    /// Every response that it makes of one.
    damage: fn(&Base) -> Vec<String>,
}

/// A response as its dialect writes it.
struct Base {
    text: String,
    calls: Vec<(&'static str, Value)>,
}

const CLASSES: &[Class] = &[
    Class { name: "unchanged", want: Want::Same, damage: |base| vec![base.text.clone()] },
    Class {
        name: "a line break between two markers",
        want: Want::Same,
        damage: |base| base.between_markers("\n"),
    },
    Class { name: "spaces between two markers", want: Want::Same, damage: |base| base.between_markers("  ") },
    Class { name: "a space before the end of a tag", want: Want::Same, damage: Base::spaced_tags },
    Class {
        name: "arguments under another word",
        want: Want::Same,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"name": name, "arguments": arguments}),
                |name, arguments| json!({"name": name, "parameters": arguments}),
                |name, arguments| json!({"name": name, "args": arguments}),
                |name, arguments| json!({"name": name, "input": arguments}),
                |name, arguments| json!({"name": name, "params": arguments}),
                |name, arguments| json!({"name": name, "kwargs": arguments}),
                |name, arguments| json!({"name": name, "tool_input": arguments}),
                |name, arguments| json!({"name": name, "function_arguments": arguments}),
            ])
        },
    },
    Class {
        name: "the name under another word",
        want: Want::Same,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"tool": name, "arguments": arguments}),
                |name, arguments| json!({"tool_name": name, "arguments": arguments}),
                |name, arguments| json!({"function": name, "arguments": arguments}),
                |name, arguments| json!({"function_name": name, "arguments": arguments}),
                |name, arguments| json!({"action": name, "arguments": arguments}),
                |name, arguments| json!({"func": name, "args": arguments}),
                |name, arguments| json!({"recipient_name": name, "parameters": arguments}),
            ])
        },
    },
    Class {
        name: "name and arguments in an object `function`",
        want: Want::Same,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"function": {"name": name, "arguments": arguments}}),
                |name, arguments| json!({"type": "function", "function": {"name": name, "arguments": arguments}}),
                |name, arguments| {
                    json!({"id": "call_1", "type": "function",
                           "function": {"name": name, "arguments": arguments.to_string()}})
                },
            ])
        },
    },
    Class {
        name: "a name in a namespace or in white space",
        want: Want::Same,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"name": format!("functions.{name}"), "arguments": arguments}),
                |name, arguments| json!({"name": format!("default_api.{name}"), "arguments": arguments}),
                |name, arguments| json!({"name": format!(" {name}\n"), "arguments": arguments}),
            ])
        },
    },
    Class {
        name: "two members of a kind",
        want: Want::Said,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"name": name, "tool": "other", "arguments": arguments}),
                |name, arguments| json!({"tool": name, "args": arguments, "input": {"path": "b"}}),
                |name, arguments| json!({"name": name, "options": arguments}),
                |name, arguments| json!({"name": name, "arguments": {"arguments": arguments}}),
            ])
        },
    },
];

/// Where a class does not hold yet, by class and dialect. What holds again leaves the list, and nothing else enters it.
const OPEN: &[(&str, &str)] = &[
    // Its quotes are tags, which the reader of arguments knows in one spelling.
    ("a space before the end of a tag", "functiongemma"),
];

impl Base {
    /// With this between two markers that follow each other, at each place and at all of them.
    fn between_markers(&self, gap: &str) -> Vec<String> {
        let text = &self.text;
        let ends_tag = |at: usize| {
            let before = &text[..at];
            before.ends_with('>') && before.rfind('<').is_some_and(|open| is_marker(&before[open..]))
        };
        let is_place = |at: usize| {
            let (before, after) = (&text[..at], &text[at..]);
            ends_tag(at) && after.starts_with(['<', '[', '{'])
                || before.ends_with([']', '}']) && after.starts_with('<')
        };
        let places: Vec<usize> =
            (1..text.len()).filter(|at| text.is_char_boundary(*at) && is_place(*at)).collect();
        let with = |places: &[usize]| {
            let mut text = text.clone();
            places.iter().rev().for_each(|at| text.insert_str(*at, gap));
            text
        };
        let all = Some(with(&places)).filter(|_| !places.is_empty());
        places.iter().map(|at| with(&[*at])).chain(all).collect()
    }

    /// With a space before the end of each tag that has a word before it.
    fn spaced_tags(&self) -> Vec<String> {
        let text = &self.text;
        let is_place = |at: usize| {
            text[at..].starts_with('>')
                && text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"'))
                && text[..at].rfind('<').is_some_and(|open| !text[open..at].contains('>'))
        };
        let places = (1..text.len()).filter(|at| text.is_char_boundary(*at) && is_place(*at));
        places.map(|at| format!("{} {}", &text[..at], &text[at..])).collect()
    }

    /// With another object in the place of the one that is the call, where a marker says that it is one.
    fn objects(&self, forms: &[fn(&str, &Value) -> Value]) -> Vec<String> {
        let [(name, arguments)] = &self.calls[..] else { return Vec::new() };
        let Some((start, end)) = call_object(&self.text, name) else { return Vec::new() };
        let (before, after) = (&self.text[..start], &self.text[end..]);
        // A fence or a bracket is no marker: what stands in it is a call by its own words only.
        let is_marked = !before.starts_with("```") && before.contains(char::is_alphanumeric);
        if !is_marked {
            return Vec::new();
        }
        forms.iter().map(|form| format!("{before}{}{after}", form(name, arguments))).collect()
    }
}

/// Whether a text is a tag or a special token.
fn is_marker(text: &str) -> bool {
    let inner = text.trim_start_matches('<').trim_end_matches('>');
    text.matches('<').count() == 1
        && inner.contains(char::is_alphanumeric)
        && !inner.contains(char::is_whitespace)
}

/// The object in a text that has this name as a value, and arguments beside it.
fn call_object(text: &str, name: &str) -> Option<(usize, usize)> {
    let quoted = format!("\"{name}\"");
    text.match_indices('{').find_map(|(start, _)| {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let object = stream.next()?.ok()?;
        let written = &text[start..start + stream.byte_offset()];
        let is_call = object.as_object()?.values().any(|value| {
            value == name || value.as_object().is_some_and(|inner| inner.values().any(|value| value == name))
        });
        (is_call && written.contains(&quoted)).then(|| (start, start + written.len()))
    })
}

fn tools() -> Value {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    json!([
        {"name": "read", "parameters": object(json!({"path": {"type": "string"}, "lines": {"type": "integer"}}), json!(["path"]))},
        {"name": "list", "parameters": object(json!({"deep": {"type": "boolean"}}), json!([]))},
    ])
}

/// What the dialect writes for calls of these tools, as far as it can.
fn bases(record: &Record) -> Vec<Base> {
    let turns: [Vec<(&'static str, Value)>; 4] = [
        vec![("read", json!({"path": "a", "lines": 3}))],
        vec![("read", json!({"path": "some words"}))],
        vec![("list", json!({"deep": true}))],
        vec![("read", json!({"path": "a"})), ("list", json!({"deep": false}))],
    ];
    let write = |calls: &[(&'static str, Value)], id: Option<&str>| {
        let written: Vec<String> = calls.iter().map(|(_, arguments)| arguments.to_string()).collect();
        let calls: Vec<RenderCall<'_>> = calls
            .iter()
            .zip(&written)
            .map(|((name, _), arguments)| RenderCall { id, name, arguments })
            .collect();
        record.render(&calls, None, None).ok()
    };
    let base = |calls: Vec<(&'static str, Value)>| {
        let text = write(&calls, Some("a1b2c3d4e")).or_else(|| write(&calls, None))?;
        Some(Base { text, calls })
    };
    turns.into_iter().filter_map(base).collect()
}

/// Why a response is not what the class wants, if it is not.
fn fault(want: Want, base: &Base, response: &Response) -> Option<String> {
    let found: Vec<(String, Value)> =
        response.calls.iter().map(|call| (call.name.clone(), call.value())).collect();
    let is_meant = |call: &(String, Value)| {
        base.calls.iter().any(|(name, arguments)| call.0 == *name && call.1 == *arguments)
    };
    if let Some(other) = found.iter().find(|call| !is_meant(call)) {
        return Some(format!("a call that was not meant: {} {}", other.0, other.1));
    }
    let is_right = found.len() == base.calls.len();
    let is_said = !response.rejected.is_empty() || !response.findings.is_empty();
    match want {
        _ if is_right => None,
        Want::Said if is_said => None,
        Want::Said => Some("nothing is said".to_owned()),
        Want::Same => Some(format!("not read: {}", rejections(response))),
    }
}

#[test]
fn near_misses_are_read_or_said_in_every_dialect() {
    let tools = tools();
    let check = |record: &&Record| {
        let mut faults = Vec::new();
        for profile_name in ["lenient", "standard"] {
            let gate =
                Gate::builder().profile(profile(profile_name)).tools(registry(&tools)).dialect(&record.name);
            let gate = gate.build().unwrap_or_else(|error| panic!("{}: {error}", record.name));
            for base in bases(record) {
                for class in CLASSES {
                    for text in (class.damage)(&base) {
                        let feed = Feed::new(&gate);
                        let whole = feed.whole(text.as_bytes());
                        let fault = fault(class.want, &base, &response(&whole)).or_else(|| {
                            (feed.bytewise(text.as_bytes()) != whole)
                                .then(|| "cut otherwise, read otherwise".to_owned())
                        });
                        if let Some(fault) = fault {
                            faults.push((
                                class.name,
                                format!("{profile_name} {}: {fault}\n  {}", record.name, excerpt(&text)),
                            ));
                        }
                    }
                }
            }
        }
        faults
    };
    let records: Vec<&Record> = Record::builtin().iter().collect();
    let faults = in_parallel(&records, check);
    let mut by_class: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut open: Vec<(&str, &str)> = OPEN.to_vec();
    for (record, faults) in records.iter().zip(faults) {
        for (class, fault) in faults {
            if OPEN.contains(&(class, &record.name)) {
                open.retain(|row| *row != (class, &record.name));
            } else {
                by_class.entry(class).or_default().push(fault);
            }
        }
    }
    assert!(open.is_empty(), "these hold again; take them out of the list: {open:?}");
    let shown: Vec<String> = by_class
        .iter()
        .map(|(class, faults)| {
            format!(
                "{class}: {} faults\n{}",
                faults.len(),
                faults.iter().take(12).cloned().collect::<Vec<_>>().join("\n")
            )
        })
        .collect();
    assert!(by_class.is_empty(), "{}", shown.join("\n\n"));
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
