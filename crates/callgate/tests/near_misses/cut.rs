//! Calls that are cut, in a value or by slips around it: none of them comes out as another call.

use callgate::internal::dialect::Template;
use callgate::{Call, FinishReason, Gate, Record, RenderCall, Response};
use serde_json::json;

use crate::support::guard::in_parallel;
use crate::support::{profile, registry, rejections};
use crate::{READINGS, tools};

/// The response that a dialect writes for these calls.
pub(crate) fn rendered(record: &Record, calls: &[(&str, &str)]) -> Option<String> {
    let ids = ["a1b2c3d4e", "b2c3d4e5f"];
    let write = |is_given: bool| {
        let id = |index: usize| Some(ids[index]).filter(|_| is_given);
        let calls = calls.iter().enumerate();
        let calls = calls.map(|(index, (name, arguments))| RenderCall { id: id(index), name, arguments });
        record.render(&calls.collect::<Vec<_>>(), None, None)
    };
    write(false).or_else(|_| write(true)).ok()
}

/// Fails with what was not as it must be, of how many texts, or if there were too few of them.
pub(crate) fn assert_none(results: Vec<(usize, Vec<String>)>, least: usize) {
    let read: usize = results.iter().map(|(read, _)| read).sum();
    let faults: Vec<String> = results.into_iter().flat_map(|(_, faults)| faults).collect();
    // One for each dialect and gate says more than many of the first.
    let kind = |fault: &str| fault.split(": ").next().unwrap_or_default().to_owned();
    let mut kinds = std::collections::BTreeMap::new();
    for fault in &faults {
        kinds.entry(kind(fault)).or_insert_with(Vec::new).push(fault.as_str());
    }
    let list: Vec<String> = kinds.values().map(|of| format!("{} times: {}", of.len(), of[0])).collect();
    let list = list.join("\n");
    assert!(faults.is_empty(), "{} of {read}\n{list}", faults.len());
    assert!(read >= least, "only {read} texts were read");
}

pub(crate) fn gate(name: &str, record: &Record) -> Gate {
    let gate = Gate::builder().profile(profile(name)).tools(registry(&tools())).dialect(&record.name);
    gate.build().unwrap_or_else(|error| panic!("{}: {error}", record.name))
}

/// A response that ended for want of room.
pub(crate) fn cut_off(gate: &Gate, text: &str) -> Response {
    let mut collector = Response::collector();
    let mut session = gate.session();
    session.push(text, &mut |event| collector.push(event));
    session.finish(FinishReason::Length, &mut |event| collector.push(event));
    collector.finish(FinishReason::Length)
}

/// Wherever two calls are cut off, what comes out is one of them, and one that has come out stands wherever the next is cut.
#[test]
fn promise_05_two_calls_that_are_cut_off_make_no_other() {
    let meant = [json!({"deep": true}), json!({"path": "alpha", "lines": 4711})];
    let calls = [("list", r#"{"deep": true}"#), ("read", r#"{"path": "alpha", "lines": 4711}"#)];
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(text) = rendered(record, &calls) else { return (read, faults) };
        for name in ["lenient", "standard", "strict"] {
            let gate = gate(name, record);
            let mut stood = 0;
            for (at, _) in text.char_indices() {
                read += 1;
                let response = cut_off(&gate, &text[..at]);
                // Where calls run only together, none comes out of a response that is cut off.
                if response.calls.len() < stood && name != "strict" {
                    let why = rejections(&response);
                    faults.push(format!("{}, {name}, taken back: {:?}: {why}", record.name, &text[..at]));
                }
                stood = response.calls.len();
                if let Some(other) = response.calls.iter().find(|call| !meant.contains(&call.value())) {
                    faults.push(format!("{}, {name}: {:?}: {}", record.name, &text[..at], other.value()));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 10_000);
}

/// A value that shows the closers of its call and behind them a call in another format: that is not run, wherever the value
/// ends.
#[test]
fn promise_07_a_call_of_another_format_in_a_value_is_none() {
    let shown = "<tool_call>{\"name\": \"list\", \"arguments\": {\"deep\": true}}</tool_call>";
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let text = rendered(record, &[("read", r#"{"path": "VALUE"}"#)]).filter(|_| !record.param.is_empty());
        let closers = text.as_ref().and_then(|text| text.split_once("VALUE")).map(|(_, closers)| closers);
        let (Some(text), Some(closers)) = (&text, closers.filter(|closers| !closers.trim().is_empty()))
        else {
            return (read, faults);
        };
        for name in ["lenient", "standard", "strict"] {
            let gate = gate(name, record);
            for between in ["", "\n", "\n\nmore\n"] {
                read += 1;
                let text = text.replace("VALUE", &format!("x{closers}{between}{shown}"));
                let response = gate.parse(&text);
                if response.calls.iter().any(|call| call.name == "list") {
                    faults.push(format!("{}, {name}: {text:?}", record.name));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 200);
}

/// Words between an object and the closer of its call may take the call back.
#[test]
fn words_between_an_object_and_its_closer_are_no_text() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let text = rendered(record, &[("list", r#"{"deep": true}"#)]).unwrap_or_default();
        let Some((body, closers)) = text.rsplit_once('}').filter(|(_, closers)| closers.contains(['<', '[']))
        else {
            return (read, faults);
        };
        for name in ["lenient", "standard", "strict"] {
            let text = format!("{body}}} no wait{closers}");
            let response = gate(name, record).parse(&text);
            read += 1;
            if !response.calls.is_empty() {
                faults.push(format!("{}, {name}: {text:?}: {}", record.name, rejections(&response)));
            }
        }
        (read, faults)
    });
    assert_none(results, 60);
}

/// A bracket that is closed too early: the arguments behind it are not left out, whatever ends the call.
#[test]
fn promise_05_arguments_behind_a_bracket_too_many_are_not_left_out() {
    let meant = json!({"path": "alpha", "lines": 4711});
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let calls = [("read", r#"{"path": "alpha", "lines": 4711}"#)];
        let Some(text) = rendered(record, &calls) else { return (read, faults) };
        for name in ["lenient", "standard", "strict"] {
            let gate = gate(name, record);
            for quote in ['"', '\''] {
                let value = format!("{quote}alpha{quote}");
                for closers in ["}", ")", "]", "}}", ")]", "}]"] {
                    let cut = text.replace(&value, &format!("{value}{closers}"));
                    let said = &format!("{cut}\nSo.");
                    for text in [&cut, said].into_iter().filter(|_| cut != text) {
                        read += 1;
                        let calls = gate.parse(text).calls;
                        if let Some(other) = calls.iter().find(|call| call.value() != meant) {
                            faults.push(format!("{}, {name}: {text:?}: {}", record.name, other.value()));
                        }
                    }
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 1_000);
}

/// Arguments that were left out before the end of a call are none, if the tool needs none; and never before its end came.
#[test]
fn arguments_that_were_left_out_are_none() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let is_told = |template: &Template| template.to_string().contains("|>{arguments}<");
        if !record.call.iter().any(is_told) {
            return (read, faults);
        }
        let blank = |name| rendered(record, &[(name, "{}")]).map(|text| text.replacen("{}", "", 1));
        let Some((text, other)) = blank("list").zip(blank("read")) else { return (read, faults) };
        let gate = gate("standard", record);
        read += 1;
        let response = gate.parse(&text);
        let is_listed =
            |call: &Call| call.repairs.iter().any(|repair| repair.code.word() == "blank-arguments");
        // Without parameters, a call has no arguments by its format.
        let is_right = |call: &Call| !record.param.is_empty() || is_listed(call);
        if response.calls.len() != 1 || !response.calls.iter().all(is_right) {
            faults.push(format!("{}: {text:?}: {:?}", record.name, rejections(&response)));
        }
        let arguments = rendered(record, &[("list", "{}")]).and_then(|whole| whole.find("{}")).unwrap_or(0);
        let end = text[arguments..].find('>').map_or(arguments, |at| arguments + at);
        let begun = (0..=end).filter(|at| text.is_char_boundary(*at));
        for start in begun.map(|at| &text[..at]).chain([&*other]) {
            read += 1;
            if !cut_off(&gate, start).calls.is_empty() {
                faults.push(format!("{}: {start:?} runs", record.name));
            }
        }
        (read, faults)
    });
    assert_none(results, 100);
}

/// What stands beside the arguments and may belong to them is not left out.
#[test]
fn a_member_that_may_be_an_argument_is_not_left_out() {
    let hermes = Record::builtin().iter().find(|record| &*record.name == "hermes");
    let hermes = hermes.unwrap_or_else(|| panic!("there is no such dialect"));
    let beside = [
        r#"{"name": "read", "arguments": {"path": "a"}, "lines": 3}"#,
        r#"{"name": "read", "arguments": {"path": "a"}, "input": {"lines": 3}}"#,
        r#"{"name": "list", "arguments": {}, "kwargs": {"deep": true}}"#,
    ];
    for name in ["lenient", "standard", "strict"] {
        for object in beside {
            let response = gate(name, hermes).parse(&format!("<tool_call>{object}</tool_call>"));
            assert!(response.calls.is_empty(), "{name}: {object}");
        }
    }
    let remark = r#"{"name": "read", "arguments": {"path": "a", "lines": 3}, "lines": 3, "reason": "asked"}"#;
    let response = gate("standard", hermes).parse(&format!("<tool_call>{remark}</tool_call>"));
    assert_eq!(response.calls.len(), 1, "{}", rejections(&response));
}

/// One character of the markup around text values is lost or doubled: the call is still that call, or none. What stands right
/// beside a value cannot be told from it.
#[test]
fn a_slip_in_the_markup_of_values_makes_no_other_call() {
    let meant = json!({"path": "alpha", "lines": 4711});
    let results = in_parallel(Record::builtin(), |record| {
        let (mut slips, mut faults) = (0, Vec::new());
        let text = rendered(record, &[("read", r#"{"path": "alpha", "lines": 4711}"#)]);
        let is_text = |text: &String| !record.param.is_empty() && !text.contains("{\"path\"");
        // The namespace before the closers of this format may be absent, so that a slip in it is read as data.
        let is_told = &*record.name != "minimax-m3";
        let Some(text) = text.filter(|text| is_told && is_text(text)) else { return (slips, faults) };
        let near: Vec<_> = [("alpha", 2), ("4711", 2), ("path", 0), ("lines", 0), ("read", 0)]
            .iter()
            .flat_map(|(word, margin)| {
                text.match_indices(word).map(move |(at, _)| (at, at + word.len(), *margin))
            })
            .collect();
        let is_markup =
            |at: usize| near.iter().all(|(from, to, margin)| at + margin < *from || at >= to + margin);
        for reading in READINGS.iter().filter(|reading| reading.is_listed && reading.is_named) {
            let gate = reading.gate(record);
            for (at, c) in text.char_indices().filter(|(at, _)| is_markup(*at)) {
                let behind = &text[at + c.len_utf8()..];
                for damaged in [format!("{}{behind}", &text[..at]), format!("{}{c}{c}{behind}", &text[..at])]
                {
                    slips += 1;
                    let response = gate.parse(&damaged);
                    if let Some(other) = response.calls.iter().find(|call| call.value() != meant) {
                        let title = reading.title;
                        faults.push(format!("{}, {title}: {damaged:?}: {}", record.name, other.value()));
                    }
                }
            }
        }
        (slips, faults)
    });
    assert_none(results, 10_000);
}

/// A string in a list of calls that shows brackets behind a quote of its own is not cut there.
#[test]
fn promise_05_brackets_behind_a_quote_end_no_list() {
    let calls = [("read", r#"{"path": "alpha", "lines": 4711}"#)];
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(text) = rendered(record, &calls) else { return (read, faults) };
        if !text.replace(char::is_whitespace, "").contains("[{\"") {
            return (read, faults);
        }
        for name in ["standard", "strict"] {
            let gate = gate(name, record);
            for shown in ["]}", "}]", "}}]", "]", "]}]", "}]}"] {
                let text = text.replace("\"alpha\"", &format!("\"alpha\"{shown}\""));
                read += 1;
                let response = gate.parse(&text);
                if let Some(call) = response.calls.first() {
                    faults.push(format!("{}, {name}: {text:?}: {}", record.name, call.value()));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 100);
}
