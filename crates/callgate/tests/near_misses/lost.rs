//! What is lost around a call: the brackets of the list that it would stand in, and the header of its message.

use callgate::internal::dialect::Template;
use callgate::{Record, Response};
use serde_json::{Value, json};

use crate::cut::{assert_none, gate, rendered};
use crate::support::guard::in_parallel;
use crate::support::rejections;

const ONE: [(&str, &str); 1] = [("read", r#"{"path": "alpha", "lines": 4711}"#)];

/// A response, read whole or one character after the other.
fn read(gate: &callgate::Gate, text: &str, whole: bool) -> Response {
    if whole {
        return gate.parse(text);
    }
    let mut collector = Response::collector();
    let mut session = gate.session();
    for c in text.chars() {
        session.push(c.encode_utf8(&mut [0; 4]), &mut |event| collector.push(event));
    }
    session.finish(callgate::FinishReason::Stop, &mut |event| collector.push(event));
    collector.finish(callgate::FinishReason::Stop)
}

fn paths(response: &Response) -> Vec<Value> {
    response.calls.iter().map(|call| call.value()["path"].clone()).collect()
}

/// A call without the brackets of the list that it would stand in.
fn unlisted(record: &Record) -> Option<String> {
    let call = rendered(record, &ONE)?;
    let ends = |list: &[Template]| list.iter().map(|template| template.head().trim().to_owned()).collect();
    let (open, close): (Vec<String>, Vec<String>) = (ends(&record.open), ends(&record.close));
    let open =
        open.iter().find(|open| open.len() > 1 && open.ends_with('[') && call.contains(open.as_str()))?;
    let close =
        close.iter().find(|close| close.starts_with(']') && call.trim_end().ends_with(close.as_str()))?;
    let call = call.replacen(open.as_str(), open.strip_suffix('[')?, 1);
    let (inner, rest) = call.split_at(call.rfind(close.as_str())?);
    Some(format!("{inner}{}", &rest[1..]))
}

/// Where the bracket that opens a list is missing, there is one call and no list that something else must close: what follows is
/// text, or the next call.
#[test]
fn one_call_without_the_brackets_of_a_list_ends_by_itself() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut tried, mut faults) = (0, Vec::new());
        // What a fence holds is read as it is written.
        let Some(call) = unlisted(record).filter(|call| !call.contains("```")) else {
            return (tried, faults);
        };
        for (name, whole) in [("standard", true), ("standard", false), ("lenient", true)] {
            let gate = gate(name, record);
            for (text, wanted) in [
                (format!("{call}\nIt is done."), vec![json!("alpha")]),
                (format!("{call} It is done."), vec![json!("alpha")]),
                (format!("{call}\n{call}"), vec![json!("alpha"), json!("alpha")]),
            ] {
                let response = read(&gate, &text, whole);
                tried += 1;
                if paths(&response) != wanted || wanted.len() == 1 && response.text.trim() != "It is done." {
                    faults.push(format!("{}, {name}: {text:?}: {}", record.name, rejections(&response)));
                }
            }
            // A list that was opened must be closed, if there is nothing else that closes it.
            if record.close.iter().all(|close| close.head().trim() == "]") {
                let text = format!("{} It is done.", call.replacen('{', "[{", 1));
                let response = read(&gate, &text, whole);
                tried += 1;
                if !response.calls.is_empty() {
                    faults.push(format!("{}, {name}: {text:?}: {:?}", record.name, paths(&response)));
                }
            }
        }
        (tried, faults)
    });
    assert_none(results, 60);
}

/// Where a message says to whom it speaks, a call without its own header is a part of it. Outside of messages it is read.
#[test]
fn promise_07_a_call_without_its_header_is_none_in_a_message() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut tried, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &ONE) else { return (tried, faults) };
        let Some(at) = record.bare.iter().filter_map(|bare| call.find(bare.as_str())).min() else {
            return (tried, faults);
        };
        let prompt = record.prompt.to_string();
        // What ends the message is not a part of the call.
        let ends: Vec<&str> =
            record.close.iter().chain([&record.join]).map(|end| end.head().trim()).collect();
        let inner = ends.iter().fold(call[at..].trim_end(), |inner, end| {
            inner.strip_suffix(end).filter(|_| !end.is_empty()).unwrap_or(inner)
        });
        for name in ["standard", "lenient"] {
            let gate = gate(name, record);
            for template in record.text.iter().chain(&record.reasoning) {
                let [first, .., last] = &*template.literals().collect::<Vec<_>>() else { continue };
                if template.parts.len() != 3 || first.trim().is_empty() || last.trim().is_empty() {
                    continue;
                }
                for words in ["", "See ", "See\n"] {
                    for behind in ["", " there"] {
                        let text = format!("{first}{words}{inner}{behind}{last}");
                        for text in [text.as_str(), text.strip_prefix(&prompt).unwrap_or(&text)] {
                            tried += 1;
                            let response = gate.parse(text);
                            if !response.calls.is_empty() {
                                let calls = paths(&response);
                                faults.push(format!("{}, {name}: {text:?}: {calls:?}", record.name));
                            }
                        }
                    }
                }
            }
        }
        (tried, faults)
    });
    assert_none(results, 60);
}

/// The outermost tags of a call with nothing between them are markup: nobody is shown them, and there is no call.
#[test]
fn a_wrapper_with_nothing_in_it_is_markup() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut tried, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &ONE) else { return (tried, faults) };
        let call = call.trim();
        let (Some(first), Some(last)) = (call.find('>'), call.rfind('<')) else { return (tried, faults) };
        let (first, last) = (&call[..=first], &call[last..]);
        let speaks = |tag: &str| {
            tag.starts_with('<') && tag.ends_with('>') && tag.contains("tool") && tag.contains("call")
        };
        // What differs from call to call is told by what stands in it.
        let varies = record.open.iter().any(|open| open.slots().next().is_some());
        if varies || !speaks(first) || !speaks(last) || first.contains([' ', '=']) {
            return (tried, faults);
        }
        for name in ["strict", "standard", "lenient"] {
            let gate = gate(name, record);
            for text in [format!("Hi{first}{last} there"), format!("{first}\n{last}\nThere")] {
                tried += 1;
                let response = gate.parse(&text);
                let is_one = response.calls.is_empty() && response.rejected.is_empty();
                if !is_one || response.text.contains('<') {
                    faults.push(format!("{}, {name}: {text:?}: {:?}", record.name, response.text));
                }
            }
        }
        (tried, faults)
    });
    assert_none(results, 60);
}

/// Where a marker follows the token of a prompt, no role need stand between them: the token is no text.
#[test]
fn the_token_of_a_prompt_needs_no_role_before_a_marker() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut tried, mut faults) = (0, Vec::new());
        let Some((token, role)) = record.prompt.split_once('>').filter(|(_, role)| !role.is_empty()) else {
            return (tried, faults);
        };
        let Some(call) = rendered(record, &ONE) else { return (tried, faults) };
        let rest = call.strip_prefix(record.prompt.as_str()).unwrap_or(&call);
        let is_marker =
            |head: &str| head.strip_prefix(record.prompt.as_str()).is_some_and(|rest| rest.starts_with("<|"));
        if !rest.starts_with("<|") || !record.openers().iter().any(|opener| is_marker(opener.head())) {
            return (tried, faults);
        }
        for name in ["standard", "lenient"] {
            let gate = gate(name, record);
            for text in
                [format!("{token}>{rest}"), format!("{token}>\n{rest}"), format!("{token}>{role}{rest}")]
            {
                tried += 1;
                let response = gate.parse(&text);
                if paths(&response) != [json!("alpha")] || !response.text.trim().is_empty() {
                    faults.push(format!("{}, {name}: {text:?}: {:?}", record.name, response.text));
                }
            }
        }
        (tried, faults)
    });
    assert_none(results, 6);
}
