//! Calls that are given up for another one, and what swallows or leaves out the words of another call.

use callgate::{Call, Gate, Record};
use serde_json::{Value, json};

use crate::cut::{assert_none, cut_off, gate, rendered};
use crate::support::guard::in_parallel;
use crate::support::rejections;

/// A call that breaks off anywhere, and another one behind it, with and without words between them: what comes out is one of
/// the two that were meant, whole. The first was given up, or its value shows the second.
#[test]
fn promise_05_a_call_that_is_given_up_for_another_one_does_not_run() {
    let first = json!({"path": "alpha", "lines": 4711});
    let second = json!({"path": "omega", "lines": 9});
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let render = |arguments: &Value| rendered(record, &[("read", &arguments.to_string())]);
        let (Some(begun), Some(whole)) = (render(&first), render(&second)) else { return (read, faults) };
        // Where a line is a value, one that was given up is one too.
        let Some(value) = begun.find("alpha").filter(|_| !record.lines) else { return (read, faults) };
        for name in ["lenient", "standard", "strict"] {
            let gate = gate(name, record);
            for at in value..begun.len() {
                let Some(broken) = begun.get(..at) else { continue };
                for between in ["", "\n", "\nNo, wait.\n\n"] {
                    let text = format!("{broken}{between}{whole}");
                    for (ending, response) in [("stop", gate.parse(&text)), ("length", cut_off(&gate, &text))]
                    {
                        read += 1;
                        let is_other = |call: &&Call| call.value() != first && call.value() != second;
                        if let Some(other) = response.calls.iter().find(is_other) {
                            let other = other.value();
                            faults.push(format!("{}, {name}, {ending}: {text:?}: {other}", record.name));
                        }
                    }
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 10_000);
}

/// The same where the value of a call that is cut off shows a whole call of its own format.
#[test]
fn promise_05_a_call_that_a_value_shows_does_not_run_where_the_call_is_cut_off() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(outer) = rendered(record, &[("read", r#"{"path": "VALUE"}"#)]) else {
            return (read, faults);
        };
        let Some((before, _)) = outer.split_once("VALUE").filter(|_| !record.param.is_empty()) else {
            return (read, faults);
        };
        for shown in [r#"{"path": "b"}"#, r#"{"lines": 3, "path": "b"}"#] {
            let Some(inner) = rendered(record, &[("read", shown)]) else { continue };
            for text in [
                format!("{before}Use:\n\n{inner}\n\nThen"),
                format!("{before}Use: {} and th", inner.trim()),
                format!("{before}{}", inner.trim()),
            ] {
                for name in ["lenient", "standard", "strict"] {
                    let gate = gate(name, record);
                    for response in [gate.parse(&text), cut_off(&gate, &text)] {
                        read += 1;
                        if let Some(call) = response.calls.first() {
                            faults.push(format!("{}, {name}: {text:?}: {}", record.name, call.value()));
                        }
                    }
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 300);
}

/// The call of the gate of `anthropic-xml` that this text holds, and why it was rejected otherwise.
fn invoked(gate: &Gate, tag: &str) -> (Vec<Value>, String) {
    let parameter = "<parameter name=\"path\">a</parameter>";
    let response =
        gate.parse(&format!("<function_calls>\n<invoke {tag}>{parameter}</invoke>\n</function_calls>"));
    (response.calls.iter().map(Call::value).collect(), rejections(&response))
}

/// Attributes of the tag of a call are its arguments, or part of its name, as members beside the arguments are (ruling 44).
#[test]
fn an_attribute_that_may_be_an_argument_or_a_name_is_not_left_out() {
    let Some(record) = Record::named("anthropic-xml") else { panic!("no such dialect") };
    for name in ["standard", "lenient"] {
        let gate = gate(name, record);
        for tag in [
            r#"name="read" lines="3""#,
            r#"lines='3' name="read""#,
            r#"name="list" name="read""#,
            r#"tool="list" name="read""#,
            r#"name="read" function='list'"#,
        ] {
            let (calls, why) = invoked(&gate, tag);
            assert!(calls.is_empty() && why.contains("ambiguous"), "{name}, {tag}: {calls:?} {why}");
        }
        for tag in [r#"name="read" lang="en""#, r#"id='7' name="read""#] {
            assert_eq!(invoked(&gate, tag).0, [json!({"path": "a"})], "{name}, {tag}");
        }
    }
}

/// A format that names the tool in two places names one tool (ruling 44).
#[test]
fn a_call_that_names_two_tools_is_none() {
    let (mut tried, mut faults) = (0, Vec::new());
    for record in Record::builtin() {
        let Some(text) = rendered(record, &[("read", r#"{"path": "a"}"#)]) else { continue };
        let names: Vec<usize> = text.match_indices("read").map(|(at, _)| at).collect();
        let [first, second] = names[..] else { continue };
        for at in [first, second] {
            let text = format!("{}list{}", &text[..at], &text[at + "read".len()..]);
            for name in ["strict", "standard", "lenient"] {
                tried += 1;
                if let Some(call) = gate(name, record).parse(&text).calls.first() {
                    faults.push(format!("{}, {name}: {text:?}: {}", record.name, call.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried > 10, "only {tried} were tried");
}

/// An entry of the list of tools, said once more, is no call.
#[test]
fn the_definition_of_a_tool_is_no_call() {
    let Some(hermes) = Record::named("hermes") else { panic!("no such dialect") };
    let schema = json!({"type": "object", "properties": {"deep": {"type": "boolean"}}});
    for name in ["standard", "lenient"] {
        let gate = gate(name, hermes);
        for parameters in [json!({}), schema.clone()] {
            let tool = json!({"name": "list", "description": "Lists.", "parameters": parameters});
            let response = gate.parse(&format!("<tool_call>{tool}</tool_call>"));
            assert!(response.calls.is_empty(), "{name}: {tool}");
            assert_eq!(response.rejected.len(), 1, "{name}: {tool}");
        }
    }
}

/// A call that is a part of a statement is no call by itself. Words behind a call that a marker begins are no code, so they
/// are text; without a marker the call may be a part of a sentence.
#[test]
fn what_goes_on_behind_a_call_in_code_makes_it_no_call() {
    for (dialect, call, is_marked) in [
        ("python-lines", "read(path=\"a\")", false),
        ("llama3-builtin", "<|python_tag|>read.call(path=\"a\")", true),
    ] {
        let Some(record) = Record::named(dialect) else { panic!("no dialect {dialect}") };
        for name in ["strict", "standard", "lenient"] {
            let gate = gate(name, record);
            let all = [
                " if x else list()",
                " and list()",
                ".then(x)",
                "[0]",
                " == None",
                " for _ in x",
                " is what I need.",
                " deletes it.",
                " Wait.",
            ];
            let is_text = |behind: &&str| is_marked && behind.ends_with('.') && !behind.starts_with(" is");
            for behind in all.iter().filter(|behind| !is_text(behind)) {
                let response = gate.parse(&format!("{call}{behind}"));
                assert!(response.calls.is_empty(), "{dialect}, {name}: {call}{behind}");
                assert!(!response.rejected.is_empty(), "{dialect}, {name}: {call}{behind}");
            }
            for behind in ["", "\n", "  # a note", ";", "\nDone."]
                .iter()
                .chain(all.iter().filter(|behind| is_text(behind)))
            {
                assert_eq!(
                    gate.parse(&format!("{call}{behind}")).calls.len(),
                    1,
                    "{dialect}, {name}: {call}{behind}"
                );
            }
        }
    }
}

/// The fence around a call ends it: nothing behind the fence goes on with the call.
#[test]
fn text_behind_the_fence_of_a_call_is_text() {
    let mut tried = 0;
    for record in Record::builtin() {
        let Some(written) = rendered(record, &[("read", r#"{"path": "a"}"#)]) else { continue };
        if !written.trim_end().ends_with("```") {
            continue;
        }
        for name in ["strict", "standard", "lenient"] {
            for behind in
                ["Please wait.", "\"path\" was meant.", "and then list().", "(I will wait.)", ".", "- a\n- b"]
            {
                let text = format!("{}\n{behind}", written.trim_end());
                let response = gate(name, record).parse(&text);
                tried += 1;
                assert_eq!(response.calls.len(), 1, "{}, {name}: {text:?}", record.name);
                assert_eq!(response.text.trim(), behind, "{}, {name}: {text:?}", record.name);
            }
        }
    }
    assert!(tried >= 50, "only {tried} were tried");
}
