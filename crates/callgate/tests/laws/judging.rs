//! Promises about verdicts: none is silent, nothing is invented or touched, dead regions stay dead.

use callgate::internal::dialect::Slot;
use callgate::internal::json::Syntax;
use callgate::internal::policy::Release;
use callgate::{Call, Code, Event, FinishReason, Gate, Record, Safety, repair};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

use crate::over_soups;
use crate::support;
use crate::support::corpus::{DIALECT_SAMPLES, Sample, samples};
use crate::support::soup::{TOOLS, any_json, broken_json, openers};
use crate::support::{Feed, hold, native_events, over_samples, profile, response, text};

// ---- 4: no attempt is silent ----

/// Every attempt that was announced is judged exactly once, and nothing that was not announced or found is judged.
fn verdict_fault(events: &[Event<'static>]) -> Option<String> {
    let mut started = BTreeSet::new();
    let mut judged = BTreeSet::new();
    for event in events {
        let attempt = match event {
            Event::CallStarted { attempt, .. } => {
                if !started.insert(*attempt) {
                    return Some(format!("attempt {attempt} starts twice"));
                }
                continue;
            }
            Event::ArgumentsDelta { attempt, .. } if !started.contains(attempt) => {
                return Some(format!("attempt {attempt} has a delta before its name"));
            }
            Event::Call(call) => call.attempt,
            Event::Rejected(rejected) => rejected.attempt,
            _ => continue,
        };
        if !judged.insert(attempt) {
            return Some(format!("attempt {attempt} is judged twice"));
        }
    }
    let silent = started.difference(&judged).next();
    silent.map(|attempt| format!("attempt {attempt} was announced and never judged"))
}

#[test]
fn promise_04_no_attempt_is_silent() {
    over_samples(samples(), |sample| verdict_fault(&sample.feed().whole(sample.text.as_bytes())));
    over_soups(1000, |gate, input| verdict_fault(&Feed::new(gate).whole(input.as_bytes())));
}

/// Where a text has said enough to be a call and nothing else: after the name if a marker stands before it, otherwise
/// after the first key of its arguments, since an object with a name alone may be data.
fn decided(sample: &Sample, call: &Call) -> Option<usize> {
    let frame = call.span?;
    let written = sample.text.get(frame.start..frame.end)?;
    let after = |word: &str, from: usize| Some(from + written.get(from..)?.find(word)? + word.len());
    let name = after(&call.name, 0)?;
    let record = Record::named(&call.dialect)?;
    // Bare code has no name in the text.
    if record.call.iter().any(|call| call.has(Slot::Code)) {
        return None;
    }
    // A fence is a marker of text as well.
    let marked =
        openers(record).into_iter().any(|opener| written.starts_with(opener) && !opener.starts_with('`'));
    let value = call.value();
    let key = || after(value.as_object()?.keys().min_by_key(|key| written[name..].find(key.as_str()))?, name);
    let end = if marked { Some(name) } else { key() };
    // A name or key is whole only when something follows it.
    end.map(|end| frame.start + end + 2)
}

/// A call that is cut anywhere after it was decided is rejected or reported, never only text.
#[test]
fn promise_04_a_call_cut_short_is_not_silent() {
    over_samples(DIALECT_SAMPLES.iter(), |sample| {
        let feed = sample.feed();
        let whole = response(&feed.whole(sample.text.as_bytes()));
        let call = whole.calls.first()?;
        let silent = (decided(sample, call)?..call.span?.end).step_by(3).find(|&end| {
            let cut = response(&feed.whole(&sample.text.as_bytes()[..end]));
            cut.calls.is_empty() && cut.rejected.is_empty() && cut.findings.is_empty()
        });
        silent.map(|end| format!("nothing is said about the call when the text ends at {end}"))
    });
}

// ---- 5: nothing is invented ----

/// A text with escapes resolved: those of JSON and Python, or only those of JSON, or those of XML.
pub(crate) fn unescaped(text: &str) -> Vec<String> {
    let read = |keep_unknown: bool| {
        let mut out = String::new();
        let mut high = None;
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            if character != '\\' {
                out.push(character);
                continue;
            }
            let digits = |rest: &std::str::Chars, count: usize| {
                rest.as_str().get(..count).and_then(|digits| u32::from_str_radix(digits, 16).ok())
            };
            match rest.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some(kind @ ('u' | 'x')) => {
                    let count = if kind == 'u' { 4 } else { 2 };
                    let Some(unit) = digits(&rest, count) else { continue };
                    rest.nth(count - 1);
                    match (high.take(), unit) {
                        (_, 0xd800..0xdc00) => high = Some(unit),
                        (Some(first), 0xdc00..0xe000) => {
                            let code = 0x10000 + ((first - 0xd800) << 10) + (unit - 0xdc00);
                            out.extend(char::from_u32(code));
                        }
                        _ => out.extend(char::from_u32(unit)),
                    }
                }
                Some(known @ ('"' | '\\' | '/')) => out.push(known),
                Some(other) if keep_unknown => out.extend(['\\', other]),
                Some(other) => out.push(other),
                None => out.push('\\'),
            }
        }
        out
    };
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    let xml =
        entities.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character));
    vec![read(false), read(true), xml]
}

/// The first string, key or number of a call's arguments that the input does not hold, if there is one.
fn invention(call: &Call, input: &str) -> Option<String> {
    if call.repairs.iter().any(|repair| repair.safety == Safety::Guess) {
        return None;
    }
    // A dialect for bare code puts it under a key of its own.
    let for_code =
        Record::named(&call.dialect).is_some_and(|record| record.call.iter().any(|t| t.has(Slot::Code)));
    let own_key = if for_code { "code" } else { "" };
    let mut texts = vec![input.to_owned(), own_key.to_owned()];
    for text in unescaped(input) {
        texts.extend(unescaped(&text));
        texts.push(text);
    }
    // In a format of lines the indent of a text is layout, as far as all its lines share it.
    if Record::named(&call.dialect).is_some_and(|record| record.syntax == Syntax::Lines) {
        texts.extend((1..=8).map(|columns| {
            let shortened = input.split('\n').map(|line| {
                let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
                &line[columns.min(indent)..]
            });
            shortened.collect::<Vec<_>>().join("\n")
        }));
    }
    let written = |piece: &str| texts.iter().any(|text| text.contains(piece));
    let mut open = vec![call.value()];
    while let Some(value) = open.pop() {
        match value {
            Value::String(string) if !written(&string) => return Some(format!("the string {string:?}")),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for (key, value) in members {
                    if !written(&key) {
                        return Some(format!("the key {key:?}"));
                    }
                    open.push(value);
                }
            }
            _ => {}
        }
    }
    let is_part = |c: char| matches!(c, '0'..='9' | '.' | '-' | '+' | 'e' | 'E');
    // Numbers as they stand in the arguments, outside of strings.
    let outside = call.arguments.split('"').step_by(2);
    let mut numbers = outside.flat_map(|piece| piece.split(|c: char| !is_part(c)));
    let unescaped_quote = call.arguments.contains("\\\"");
    // A number may be spelled in another way (`0.`, `+5`), but it must be the same number.
    let spelled = |number: &str| {
        let value = number.parse::<f64>().ok();
        let mut tokens = texts.iter().flat_map(|text| text.split(|c: char| !is_part(c)));
        value.is_some() && tokens.any(|token| token.parse::<f64>().ok() == value)
    };
    let invented = numbers.find(|number| {
        number.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && !written(number) && !spelled(number)
    });
    invented.filter(|_| !unescaped_quote).map(|number| format!("the number {number}"))
}

#[test]
fn promise_05_nothing_is_invented() {
    let law = |gate: &Gate, input: &str, events: &[Event<'static>]| {
        let found = response(events)
            .calls
            .iter()
            // A format of bare code has one argument whose key is the format's, not the model's.
            .filter(|call| {
                let record = Record::named(&call.dialect);
                !record.is_some_and(|record| record.call.iter().any(|call| call.has(Slot::Code)))
            })
            .find_map(|call| invention(call, input).map(|what| (call.clone(), what)));
        found.map(|(call, what)| format!("{}: {what} of {call:?} is not in the input", gate.profile().name()))
    };
    over_samples(samples(), |sample| {
        law(&sample.gate, &sample.text, &sample.feed().whole(sample.text.as_bytes()))
    });
    over_soups(1000, |gate, input| law(gate, input, &Feed::new(gate).whole(input.as_bytes())));
}

/// The pieces shown while a call streams are its arguments, unless the call says that they were changed afterwards.
#[test]
fn promise_05_deltas_add_up_to_the_arguments() {
    let law = |events: &[Event<'static>]| {
        response(events).calls.into_iter().find_map(|call| {
            if !call.coercions.is_empty() || call.repairs.iter().any(|repair| repair.late) {
                return None;
            }
            let deltas = events.iter().filter_map(|event| match event {
                Event::ArgumentsDelta { attempt, delta, .. } if *attempt == call.attempt => {
                    Some(delta.as_ref())
                }
                _ => None,
            });
            let shown: String = deltas.collect();
            (shown != call.arguments).then(|| format!("{shown:?} was shown for {:?}", call.arguments))
        })
    };
    over_samples(samples(), |sample| law(&sample.feed().bytewise(sample.text.as_bytes())));
    over_soups(500, |gate, input| law(&Feed::new(gate).bytewise(input.as_bytes())));
}

// ---- 6: valid input is never touched ----

#[test]
fn promise_06_valid_input_is_never_touched() {
    let gate = support::dialect_gate("hermes", &TOOLS);
    hold(500, any_json(), |json| {
        let repaired = repair(&json, 64);
        prop_assert!(
            repaired
                .as_ref()
                .is_ok_and(|repaired| repaired.repairs.is_empty() && repaired.text.trim() == json.trim()),
            "valid JSON was repaired: {repaired:?}"
        );
        let arguments = format!("{{\"v\" :\t{json} }}");
        let framed = format!("<tool_call>\n{{\"name\": \"free\", \"arguments\": {arguments}}}\n</tool_call>");
        let text_events = Feed::new(&gate).whole(framed.as_bytes());
        let native = native_events(&gate, "free", &[&arguments], FinishReason::ToolCalls);
        for events in [text_events, native] {
            let response = response(&events);
            prop_assert_eq!(response.calls.len(), 1, "{}", support::rejections(&response));
            let call = &response.calls[0];
            prop_assert_eq!(&call.arguments, &arguments);
            prop_assert!(call.repairs.is_empty() && call.coercions.is_empty(), "{call:?}");
        }
        Ok(())
    });
}

#[test]
fn promise_06_repair_is_deterministic_and_idempotent() {
    hold(3000, broken_json(), |json| {
        let first = repair(&json, 64);
        prop_assert_eq!(format!("{first:?}"), format!("{:?}", repair(&json, 64)), "two runs differ");
        let Ok(repaired) = first else { return Ok(()) };
        prop_assert!(serde_json::from_str::<Value>(&repaired.text).is_ok(), "not JSON: {:?}", repaired.text);
        let again = repair(&repaired.text, 64);
        prop_assert!(
            again.as_ref().is_ok_and(|again| again.repairs.is_empty() && again.text == repaired.text),
            "{:?} was repaired again: {again:?}",
            repaired.text
        );
        Ok(())
    });
}

// ---- 7: dead regions stay dead ----

/// Dialects whose calls cannot be told from text but by what the prompt ended with: in the middle of a text there is
/// nothing to report.
const PROMPT_ONLY: &[&str] = &["glm4-legacy"];

/// A call that is shown in code, a quotation or a thought; the fence is longer than any in the samples.
fn dead_forms(sample: &Sample) -> Vec<(&'static str, String)> {
    let text = sample.text.trim();
    let mut forms = vec![
        ("fence", format!("Like so:\n\n````````\n{text}\n````````\n\nThat is all.")),
        ("tilde fence", format!("Like so:\n\n~~~~~~~~text\n{text}\n~~~~~~~~\n\nThat is all.")),
        ("unclosed fence", format!("Like so:\n\n````````\n{text}")),
        ("quotation", format!("They wrote:\n\n> {}\n\nThat is all.", text.replace('\n', "\n> "))),
    ];
    if !text.contains(['\n', '`']) {
        forms.push(("inline code", format!("Write `{text}` to call it.")));
    }
    if !text.contains("think") {
        forms.push(("reasoning", format!("<think>\nI could write {text}\n</think>\n\nNo.")));
    }
    forms
}

#[test]
fn promise_07_dead_regions_stay_dead() {
    let shown = |sample: &&Sample| {
        let plain = sample.prompt_tail.is_none() && sample.row["expect"]["reasoning"].is_null();
        plain && sample.row["expect"]["calls"].as_array().is_some_and(|calls| !calls.is_empty())
    };
    over_samples(DIALECT_SAMPLES.iter().filter(shown), |sample| {
        if PROMPT_ONLY.contains(&text(&sample.row, "dialect")) {
            return None;
        }
        dead_forms(sample).into_iter().find_map(|(region, form)| {
            let events = Feed::new(&sample.gate).whole(form.as_bytes());
            let response = response(&events);
            if let Some(call) = response.calls.first() {
                return Some(format!("in a {region}, {} runs", call.name));
            }
            let said = !response.findings.is_empty() || !response.rejected.is_empty();
            // The marks of a quotation may stand inside of a marker that has lines, and then there is no call.
            let intact = region != "quotation" || !sample.text.contains('\n');
            (intact && !said).then(|| format!("nothing is said about a call in a {region}"))
        })
    });
}

#[test]
fn promise_07_lenient_reads_a_marked_call_in_a_fence_and_nothing_else() {
    let call = "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"q\": \"a\"}}\n</tool_call>";
    let gate = support::gate("lenient", &TOOLS);
    assert_eq!(gate.parse(&format!("```\n{call}\n```")).calls.len(), 1);
    for dead in [format!("> {}", call.replace('\n', "\n> ")), format!("<think>\n{call}\n</think>\nNo.")] {
        assert_eq!(gate.parse(&dead).calls, [], "{dead}");
    }
}

// ---- 11: validation precedes everything ----

/// Every call is of a known tool, fits its schema, and came out after the whole response was read.
fn validation_fault(gate: &Gate, input: &[u8]) -> Option<String> {
    let registry = gate.registry()?;
    let mut session = gate.session();
    let mut early = false;
    session.push_bytes(input, &mut |event| early |= matches!(event, Event::Call(_) | Event::Rejected(_)));
    let mut calls = Vec::new();
    session.finish(FinishReason::Stop, &mut |event| {
        if let Event::Call(call) = event {
            calls.push(call);
        }
    });
    if early && gate.policy().release == Release::AtEnd {
        return Some("a verdict came before the end of the response".to_owned());
    }
    calls.iter().find_map(|call| {
        let Some(tool) = registry.compiled(&call.name) else {
            return Some(format!("{} is not a tool", call.name));
        };
        let findings = tool.check(&call.value(), gate.policy().extra_args);
        let open = !call.checked;
        (open || !findings.is_empty()).then(|| format!("{call:?} does not fit its schema: {findings:?}"))
    })
}

#[test]
fn promise_11_validation_precedes_everything() {
    over_samples(samples(), |sample| validation_fault(&sample.gate, sample.text.as_bytes()));
    over_soups(500, |gate, input| validation_fault(gate, input.as_bytes()));
}

#[test]
fn promise_11_all_errors_at_once_and_the_nearest_name() {
    let gate = support::gate("standard", &TOOLS);
    let call = |name: &str, arguments: &str| {
        gate.parse(&format!(
            "<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>"
        ))
    };
    let unknown = call("lok", "{\"q\": \"a\"}");
    let finding = &unknown.rejected[0].findings[0];
    assert_eq!(finding.code, Code::UnknownTool);
    assert!(format!("{} {}", finding.message, finding.help).contains("look"), "{finding:?}");
    let wrong = call("look", "{\"n\": [], \"colour\": 1}");
    let found: BTreeSet<(Code, &str)> =
        wrong.rejected[0].findings.iter().map(|f| (f.code, f.path.as_str())).collect();
    let codes: BTreeSet<Code> = found.iter().map(|(code, _)| *code).collect();
    let expected = BTreeSet::from([Code::MissingArgument, Code::WrongType, Code::UnexpectedArgument]);
    assert!(expected.is_subset(&codes), "{found:?}");
    assert!(found.contains(&(Code::WrongType, "/n")), "{found:?}");
}

#[test]
fn promise_11_an_open_gate_says_that_it_checked_nothing() {
    let gate = Gate::builder().profile(profile("standard")).build();
    let gate = gate.unwrap_or_else(|error| panic!("{error}"));
    let response = gate.parse("<tool_call>\n{\"name\": \"any\", \"arguments\": {\"x\": 1}}\n</tool_call>");
    assert!(response.calls.iter().all(|call| !call.checked) && response.calls.len() == 1, "{response:?}");
}
