//! What stands around calls and is none: markers that a sentence speaks of, labels that stand twice, what goes on behind a
//! call that was repaired, and ends of the turn behind a call whose inner closers are missing.

use callgate::internal::dialect::Template;
use callgate::{FinishReason, Record, Response};
use serde_json::{Value, json};

use crate::cut::{assert_none, gate, rendered};
use crate::support::guard::in_parallel;
use crate::support::rejections;

/// The paths of the calls that came out.
fn paths(response: &Response) -> Vec<Value> {
    response.calls.iter().map(|call| call.value()["path"].clone()).collect()
}

/// A header of no tool, or the tag of a value, that stands in a sentence takes no call with it that stands below.
#[test]
fn what_a_sentence_speaks_of_takes_no_call_with_it() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &[("read", r#"{"path": "alpha", "lines": 4711}"#)]) else {
            return (read, faults);
        };
        for name in ["standard", "lenient"] {
            let gate = gate(name, record);
            // Where only the start of a response or an own frame around text leaves room for words, there are none.
            let plain = format!("It goes in here, please.\n{call}");
            if gate.parse(&plain).calls.len() != 1 {
                continue;
            }
            for words in
                ["Not <function=fetch> but this", "It goes in <parameter=body> here", "Say <arg_value> first"]
            {
                let text = format!("{words}, please.\n{call}");
                let response = gate.parse(&text);
                read += 1;
                if paths(&response) != [json!("alpha")] {
                    let why = rejections(&response);
                    faults.push(format!("{}, {name}: {text:?}: {why}", record.name));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 300);
}

/// Behind a header of no tool, the tag of a value opens one, whatever stands before both: what it holds does not run.
#[test]
fn promise_07_a_value_of_no_call_holds_no_call() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &[("read", r#"{"path": "alpha", "lines": 4711}"#)]) else {
            return (read, faults);
        };
        for name in ["strict", "standard", "lenient"] {
            let gate = gate(name, record);
            for before in ["", "Sure: ", "It is <b>this</b>: "] {
                for header in ["<function=fetch>", "<function=fetch> ", "<invoke name=\"fetch\">\n"] {
                    let text =
                        format!("{before}{header}<parameter=body>see\n{call}\n</parameter></function>");
                    let response = gate.parse(&text);
                    read += 1;
                    if !response.calls.is_empty() {
                        faults.push(format!("{}, {name}: {text:?}: {:?}", record.name, paths(&response)));
                    }
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 1000);
}

/// Names and keys in quotes where the format writes none, in every tag of a call, are read.
#[test]
fn quotes_around_the_names_of_tags_are_read() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &[("read", r#"{"path": "alpha", "lines": 4711}"#)]) else {
            return (read, faults);
        };
        let quoted = ["read", "path", "lines"]
            .iter()
            .fold(call.clone(), |text, word| text.replace(&format!("={word}>"), &format!("=\"{word}\">")));
        if quoted == call {
            return (read, faults);
        }
        for name in ["standard", "lenient"] {
            let response = gate(name, record).parse(&quoted);
            read += 1;
            if response.calls.first().map(|call| call.value())
                != Some(json!({"path": "alpha", "lines": 4711}))
            {
                let why = rejections(&response);
                faults.push(format!("{}, {name}: {quoted:?}: {why}", record.name));
            }
        }
        (read, faults)
    });
    assert_none(results, 8);
}

/// The label of arguments stands twice: which of the two objects is meant, nobody knows.
#[test]
fn promise_05_a_second_label_of_arguments_makes_a_call_ambiguous() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let arguments = r#"{"path": "alpha", "lines": 4711}"#;
        let Some(call) = rendered(record, &[("read", arguments)]) else { return (read, faults) };
        let Some((before, "")) = call.trim_end().split_once(arguments) else { return (read, faults) };
        let label = before.rsplit('\n').next().unwrap_or(before);
        if !label.trim_end().ends_with(':') {
            return (read, faults);
        }
        for name in ["strict", "standard", "lenient"] {
            let gate = gate(name, record);
            for between in ["\n", "\n\n", " "] {
                let text = format!("{}{between}{label}{{\"path\": \"omega\"}}", call.trim_end());
                let response = gate.parse(&text);
                read += 1;
                if !response.calls.is_empty() || response.rejected.is_empty() {
                    faults.push(format!("{}, {name}: {text:?}: {:?}", record.name, paths(&response)));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 18);
}

/// Code with quotes and brackets that nobody escaped, as the value of an argument: the call comes out with all of it, or not.
#[test]
fn promise_05_code_that_is_not_escaped_is_not_cut() {
    let snippets = [
        r#"s.replace("]", "")"#,
        r#"f("a}", b)"#,
        r#"x = ["a"]"#,
        r#"print("}}")"#,
        r#"say "hi"} ok"#,
        r#"use "}} to close"#,
        r#"g("lines": 3)"#,
        r#"a", "b"#,
    ];
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &[("read", r#"{"path": "VALUE", "lines": 4711}"#)]) else {
            return (read, faults);
        };
        if !call.contains("\"VALUE\"") {
            return (read, faults);
        }
        for name in ["strict", "standard"] {
            let gate = gate(name, record);
            for snippet in snippets {
                let text = call.replace("VALUE", snippet);
                let response = gate.parse(&text);
                read += 1;
                let is_cut = |path: &&Value| path.as_str().is_none_or(|path| path != snippet);
                if let Some(path) = paths(&response).iter().find(is_cut) {
                    faults.push(format!("{}, {name}: {text:?}: {path}", record.name));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 500);
}

/// A slip between two arguments does not put the second into the first.
#[test]
fn promise_05_a_string_that_was_repaired_swallows_no_argument() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &[("read", r#"{"path": "alpha", "lines": 4711}"#)]) else {
            return (read, faults);
        };
        let Some(at) = call.find("\"alpha\"").map(|at| at + "\"alpha\"".len()) else { return (read, faults) };
        let Some(rest) = call[at..].strip_prefix(',') else { return (read, faults) };
        for name in ["strict", "standard", "lenient"] {
            let gate = gate(name, record);
            for slip in ["：", "、", "{", ";", "", "\"", "'", "`", "“", "\\", ")", "}"] {
                let text = format!("{}{slip}{rest}", &call[..at]);
                let response = gate.parse(&text);
                read += 1;
                if let Some(other) = paths(&response).iter().find(|path| **path != "alpha") {
                    faults.push(format!("{}, {name}: {text:?}: {other}", record.name));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 1000);
}

/// Where the closers of a value and its call are missing and that of the frame is there, nothing but white space and ends of
/// the turn behind it change nothing.
#[test]
fn ends_of_the_turn_behind_missing_closers_are_no_part_of_a_value() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &[("read", r#"{"path": "alpha"}"#)]) else { return (read, faults) };
        let has_values = record.param.iter().any(|param: &Template| !param.is_empty());
        let Some((before, after)) = call.split_once("alpha").filter(|_| has_values) else {
            return (read, faults);
        };
        // The last marker alone, with the white space before it.
        let Some(last) = after.trim_end().rfind('<') else { return (read, faults) };
        let text = format!("{before}alpha{}", &after.trim_end()[last..]);
        for name in ["standard", "lenient"] {
            let gate = gate(name, record);
            let stop = |text: &str| {
                let mut collector = Response::collector();
                let mut session = gate.session();
                session.push(text, &mut |event| collector.push(event));
                session.finish(FinishReason::Stop, &mut |event| collector.push(event));
                collector.finish(FinishReason::Stop)
            };
            if paths(&stop(&text)) != [json!("alpha")] {
                continue;
            }
            for tail in ["\n", "\n\n", "<|im_end|>", "\n<|im_end|>\n", "<|eot_id|><|endoftext|>"] {
                let text = format!("{text}{tail}");
                let response = stop(&text);
                read += 1;
                if paths(&response) != [json!("alpha")] {
                    let why = rejections(&response);
                    faults.push(format!("{}, {name}: {text:?}: {why}", record.name));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 50);
}

/// A tag with two keys, and an object with another call among its members: nobody knows which is meant.
#[test]
fn promise_05_what_is_named_twice_does_not_run() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &[("read", r#"{"path": "alpha"}"#)]) else { return (read, faults) };
        let mut texts = Vec::new();
        if let Some(at) = call.find("=\"path\"") {
            let attribute = call[..at].rsplit([' ', '<']).next().unwrap_or_default();
            texts.push(format!("{}=\"lines\" {attribute}{}", &call[..at], &call[at..]));
        }
        if call.contains(r#""name": "read", "arguments": {"#) {
            let other = r#""name": "read", "function": {"name": "read", "arguments": {"path": "omega"}}, "arguments": {"#;
            texts.push(call.replace(r#""name": "read", "arguments": {"#, other));
        }
        for name in ["strict", "standard", "lenient"] {
            for text in &texts {
                let response = gate(name, record).parse(text);
                read += 1;
                if !response.calls.is_empty() || response.rejected.is_empty() {
                    faults.push(format!("{}, {name}: {text:?}: {:?}", record.name, paths(&response)));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 40);
}

/// A call without arguments that has lost its end, and another one behind it: neither is gone without a word.
#[test]
fn promise_13_a_call_without_its_end_is_not_lost_before_another_one() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let (Some(first), Some(second)) = (
            rendered(record, &[("list", "{}")]),
            rendered(record, &[("read", r#"{"path": "alpha", "lines": 4711}"#)]),
        ) else {
            return (read, faults);
        };
        let Some(end) = first.trim_end().rfind("</").filter(|end| *end > 0) else { return (read, faults) };
        for name in ["strict", "standard", "lenient"] {
            for between in ["", "\n"] {
                let text = format!("{}{between}{second}", &first[..end]);
                let response = gate(name, record).parse(&text);
                read += 1;
                if response.calls.len() < 2 && response.rejected.is_empty() && response.findings.is_empty() {
                    faults.push(format!("{}, {name}: {text:?}: {:?}", record.name, paths(&response)));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 100);
}
