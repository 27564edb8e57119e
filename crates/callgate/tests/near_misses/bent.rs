//! What is cut in a name, bent in a key or at the end of a thought, or closed too early: no call runs that was not meant.

use callgate::{Call, FinishReason, Gate, Record, Response};
use serde_json::{Value, json};

use crate::cut::{assert_none, gate, rendered};
use crate::support::guard::in_parallel;
use crate::support::{Feed, profile, registry, rejections, response};

/// Two tools of which one has a name that the other one's begins with, and both may be given nothing.
fn twins() -> Value {
    let schema =
        json!({"type": "object", "additionalProperties": false, "properties": {"scope": {"type": "string"}}});
    json!([{"name": "clear", "parameters": schema}, {"name": "clear_cache", "parameters": schema}])
}

fn gate_of_twins(name: &str, record: &Record) -> Gate {
    let gate = Gate::builder().profile(profile(name)).tools(registry(&twins())).dialect(&record.name);
    gate.build().unwrap_or_else(|error| panic!("{}: {error}", record.name))
}

/// Wherever a second call is cut off, in its name too, neither a tool of a shorter name is called nor the tool itself with
/// nothing.
#[test]
fn promise_05_a_call_that_is_cut_in_its_header_is_none() {
    let first = ("clear", r#"{"scope": "alpha"}"#);
    let second = ("clear_cache", r#"{"scope": "beta"}"#);
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(text) = rendered(record, &[first, second]) else { return (read, faults) };
        let begin = text.find("alpha").unwrap_or_default();
        // Where the end of a header may be that of the call, the provider's word says that it is; of a line, always.
        let ends_anywhere = |text: &str| {
            let may_lack = |(written, others): &(String, Vec<String>)| {
                others.iter().any(String::is_empty)
                    && record.close.iter().any(|close| close.head() == written)
            };
            text.ends_with('>') && record.also.iter().any(may_lack)
        };
        if record.lines {
            return (read, faults);
        }
        for name in ["lenient", "standard", "strict"] {
            let gate = gate_of_twins(name, record);
            for (at, _) in text.char_indices().filter(|(at, _)| *at > begin) {
                read += 1;
                let mut collector = Response::collector();
                let mut session = gate.session();
                session.push(&text[..at], &mut |event| collector.push(event));
                session.finish(FinishReason::Stop, &mut |event| collector.push(event));
                let response = collector.finish(FinishReason::Stop);
                let is_meant = |call: &Call| {
                    let scope = call.value()["scope"].as_str().map(str::to_owned);
                    // A value that was cut off may be closed where the policy says so.
                    let is_cut = |whole: &str| {
                        scope.as_deref().is_some_and(|scope| whole.starts_with(scope.trim_end()))
                    };
                    call.name == "clear" && is_cut("alpha") || call.name == "clear_cache" && is_cut("beta")
                };
                // A private quote has several characters, of which the first are a part of a value that is cut off.
                let is_cut_in_quote = name == "lenient" && record.quote.is_some();
                if is_cut_in_quote || ends_anywhere(&text[..at]) {
                    continue;
                }
                if let Some(other) = response.calls.iter().find(|call| !is_meant(call)) {
                    let (end, value) = (&text[..at], other.value());
                    faults.push(format!("{}, {name}: {end:?}: {} {value}", record.name, other.name));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 5_000);
}

/// An argument whose name is bent is not left out, also where those that no tool has are.
#[test]
fn promise_05_an_argument_with_a_bent_name_is_not_left_out() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let gate = gate("lenient", record);
        for key in ["PATH", "Lines", "line", "lnies", "l_ines"] {
            let given = if key == "PATH" { r#""lines": 3"# } else { r#""path": "a""# };
            let arguments = format!(r#"{{{given}, "{key}": "7"}}"#);
            let Some(text) = rendered(record, &[("read", &arguments)]) else { continue };
            read += 1;
            let response = gate.parse(&text);
            for call in &response.calls {
                // Where a tag has no name of its own, what is no parameter is a part of a value.
                if call.value().as_object().is_none_or(|members| members.len() < 2) && !record.known {
                    faults.push(format!("{}, {key}: {text:?}: {}", record.name, call.value()));
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 300);
}

/// A closer in the middle of an object ends no call of which more stands behind it.
#[test]
fn promise_05_a_closer_in_the_middle_of_an_object_leaves_nothing_out() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(text) = rendered(record, &[("list", r#"{"deep": true, "more": 1}"#)]) else {
            return (read, faults);
        };
        let place = text.find(", \"more\"").filter(|_| text.starts_with(['<', '[']));
        let closer = text.rfind('}').map(|at| text[at..].trim_matches(['}', ']', '\n']));
        let Some((place, closer)) = place.zip(closer.filter(|closer| !closer.is_empty())) else {
            return (read, faults);
        };
        for name in ["lenient", "standard", "strict"] {
            let gate = gate(name, record);
            for (at, between) in [(place, ""), (place + 1, " "), (place, "\n")] {
                let damaged = format!("{}{between}{closer}{}", &text[..at], &text[at..]);
                read += 1;
                let feed = Feed::new(&gate);
                for events in [feed.whole(damaged.as_bytes()), feed.bytewise(damaged.as_bytes())] {
                    let response = response(&events);
                    if !response.calls.is_empty() || response.rejected.is_empty() {
                        let why = rejections(&response);
                        faults.push(format!("{}, {name}: {damaged:?}: {why}", record.name));
                    }
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 100);
}

/// A thought whose end is bent keeps the calls in it dead, in every dialect whose calls may end a thought.
#[test]
fn promise_07_a_call_in_a_thought_with_a_bent_end_is_dead() {
    let ends =
        ["</ think>", "<\\/think>", "</thnk>", "</think", "＜/think＞", "&lt;/think&gt;", "</\u{200b}think>"];
    let results = in_parallel(Record::builtin(), |record| {
        let (mut read, mut faults) = (0, Vec::new());
        let Some(call) = rendered(record, &[("list", r#"{"deep": true}"#)]) else { return (read, faults) };
        for name in ["lenient", "standard", "strict"] {
            let gate = gate(name, record);
            for end in ends {
                read += 1;
                let text = format!("<think>\nMaybe\n{call}\nbut no, I will not.\n{end}\nI will not do it.");
                let feed = Feed::new(&gate);
                for events in [feed.whole(text.as_bytes()), feed.bytewise(text.as_bytes())] {
                    let response = response(&events);
                    if !response.calls.is_empty() {
                        faults.push(format!("{}, {name}: {text:?}", record.name));
                    }
                }
            }
        }
        (read, faults)
    });
    assert_none(results, 1_000);
}
