//! Promises about reading: one path, any chunks, every byte, no failure, linear work, the same events.

use callgate::{Event, FinishReason, Gate, NativeDelta, Record, Response};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::collections::BTreeSet;

use crate::judging::unescaped;
use crate::support;
use crate::support::corpus::{DIALECT_SAMPLES, LISTENERS, Listener, OTHER_SAMPLES, Sample, samples};
use crate::support::soup::{self, Bytes, TOOLS, broken_json, byte_soup, cuts, places, soup};
use crate::support::{
    Feed, assert_linear, difference, ended, excerpt, hold, native_events, obeyed, over_samples,
    partition_fault, response,
};
use crate::{any_gate, over_soups};

// ---- 1: one path ----

#[test]
fn promise_01_one_path() {
    let law = |gate: &Gate, text: &str| {
        let feed = Feed { finish: FinishReason::Unknown, ..Feed::new(gate) };
        let streamed = json!(ended(&feed.whole(text.as_bytes()), feed.finish));
        (json!(gate.parse(text)) != streamed).then(|| "parsing differs from a stream of one chunk".to_owned())
    };
    over_samples(samples(), |sample| law(&sample.gate, &sample.text));
    over_soups(200, law);
}

// ---- 2: chunks do not matter ----

/// Cuts that differ from text to text and are the same in every run.
fn scattered(seed: usize, length: usize, count: usize) -> Vec<usize> {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut places: Vec<usize> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % (length + 1)
        })
        .collect();
    places.sort_unstable();
    places
}

/// Byte by byte, cut once everywhere, and cut twice everywhere where the text is short.
fn cutting_fault(sample: &Sample, every_single_cut: bool) -> Option<String> {
    const SHORT: usize = 48;
    let (feed, input) = (sample.feed(), sample.text.as_bytes());
    let whole = feed.whole(input);
    let check = |places: &[usize]| {
        let events = feed.cut(input, places);
        difference(&events, &whole).map(|why| format!("cut at {places:?}: {why}"))
    };
    if let Some(why) = difference(&feed.bytewise(input), &whole) {
        return Some(format!("byte by byte: {why}"));
    }
    let single = (1..input.len()).filter(|_| every_single_cut).find_map(|at| check(&[at]));
    let double = || {
        let pairs = (1..input.len()).flat_map(|a| (a..input.len()).map(move |b| [a, b]));
        pairs.filter(|_| input.len() <= SHORT).find_map(|pair| check(&pair))
    };
    let many = || (0..16).find_map(|seed| check(&scattered(seed, input.len(), 1 + seed)));
    single.or_else(double).or_else(many)
}

#[test]
fn promise_02_chunks_do_not_matter_to_dialect_samples() {
    // The test of the samples cuts each of them once at every place already.
    over_samples(DIALECT_SAMPLES.iter(), |sample| cutting_fault(sample, false));
}

#[test]
fn promise_02_chunks_do_not_matter_to_other_texts() {
    over_samples(OTHER_SAMPLES.iter(), |sample| cutting_fault(sample, true));
}

#[test]
fn promise_02_chunks_do_not_matter_to_soups_and_broken_characters() {
    hold(1500, (any_gate(), byte_soup(14), cuts(8)), |(listener, Bytes(input), cuts)| {
        let feed = Feed::new(&listener.gate);
        let whole = feed.whole(&input);
        obeyed(difference(&feed.cut(&input, &places(&cuts, input.len())), &whole))?;
        obeyed(difference(&feed.bytewise(&input), &whole))
    });
}

#[test]
fn promise_02_structured_arguments_come_in_any_pieces() {
    hold(300, (any_gate(), broken_json(), cuts(6)), |(listener, json, cuts)| {
        let arguments = format!("{{\"v\": {json}}}");
        let ends = places(&cuts, arguments.len()).into_iter().filter(|&at| arguments.is_char_boundary(at));
        let mut start = 0;
        let pieces: Vec<&str> = ends
            .chain([arguments.len()])
            .map(|end| {
                let piece = &arguments[start..end];
                start = end;
                piece
            })
            .collect();
        let read = |pieces: &[&str]| native_events(&listener.gate, "free", pieces, FinishReason::ToolCalls);
        obeyed(difference(&read(&pieces), &read(&[&arguments])))
    });
}

// ---- 3: no byte is lost ----

/// Why the text of an event is not what stands at its place, if it is not: word for word, or unescaped in the envelope
/// that some formats have for text.
fn wording_fault(events: &[Event<'static>], input: &str) -> Option<String> {
    events.iter().find_map(|event| match event {
        Event::Text { text, span, .. } | Event::Reasoning { text, span, .. } => {
            let there = input.get(span.start..span.end)?;
            let held = there == text || unescaped(there).iter().any(|there| there.contains(text.as_ref()));
            (!held).then(|| format!("{text:?} is shown for {there:?}"))
        }
        _ => None,
    })
}

#[test]
fn promise_03_no_byte_is_lost() {
    over_samples(samples(), |sample| {
        let events = sample.feed().whole(sample.text.as_bytes());
        partition_fault(&events, sample.text.len()).or_else(|| wording_fault(&events, &sample.text))
    });
    over_soups(1500, |gate, input| partition_fault(&Feed::new(gate).whole(input.as_bytes()), input.len()));
}

#[test]
fn promise_03_no_byte_of_broken_utf8_is_lost() {
    hold(400, (any_gate(), byte_soup(10)), |(listener, Bytes(input))| {
        obeyed(partition_fault(&Feed::new(&listener.gate).bytewise(&input), input.len()))
    });
}

// ---- 8: feeding never fails and never panics ----

#[test]
fn promise_08_feeding_never_fails() {
    let finish = select(
        &[
            FinishReason::Stop,
            FinishReason::Length,
            FinishReason::ToolCalls,
            FinishReason::ContentFilter,
            FinishReason::Unknown,
        ][..],
    );
    let native =
        (proptest::option::of(0..3usize), proptest::option::of(soup(3)), proptest::option::of(soup(3)));
    let strategy = (any_gate(), byte_soup(16), cuts(4), finish, proptest::option::of(native), soup(2));
    hold(1500, strategy, |(listener, Bytes(input), cuts, finish, native, tail)| {
        let gate = &listener.gate;
        let mut session = gate.session().with_prompt_tail(&tail).with_id_prefix(&tail);
        session.untrusted(&tail);
        let mut collector = Response::collector();
        let mut start = 0;
        for end in places(&cuts, input.len()).into_iter().chain([input.len()]) {
            session.push_bytes(&input[start..end], &mut |event| collector.push(event));
            start = end;
            if let Some((index, name, arguments)) = &native {
                let delta = NativeDelta {
                    index: *index,
                    id: None,
                    name: name.as_deref(),
                    arguments: arguments.as_deref(),
                    done: start == input.len(),
                };
                session.native(delta, &mut |event| collector.push(event));
            }
        }
        session.finish(finish, &mut |event| collector.push(event));
        let response = collector.finish(finish);
        let _ = (gate.profile().feedback(&response, gate.registry()), json!(response));
        Ok(())
    });
}

#[test]
fn promise_08_any_bytes_at_all() {
    hold(500, (any_gate(), any::<Vec<u8>>()), |(listener, input)| {
        obeyed(partition_fault(&Feed::new(&listener.gate).whole(&input), input.len()))
    });
}

#[test]
fn promise_08_structured_calls_of_any_shape() {
    let gate = support::gate("structured", &TOOLS);
    let parts = select(
        &[
            "null",
            "[]",
            "{}",
            "3",
            "\"x\"",
            "\"look\"",
            "\"{\\\"q\\\": \\\"a\\\"}\"",
            "{\"q\": \"a\"}",
            "\"\"",
            "true",
        ][..],
    );
    hold(300, (parts.clone(), parts.clone(), parts.clone(), parts), |(id, function, name, arguments)| {
        for function in [function.to_owned(), format!("{{\"name\": {name}, \"arguments\": {arguments}}}")] {
            let list = format!("[{{\"id\": {id}, \"function\": {function}}}, {arguments}]");
            let calls: Value = serde_json::from_str(&list).unwrap_or_default();
            let mut session = gate.session();
            let mut collector = Response::collector();
            session.native_calls(&calls, &mut |event| collector.push(event));
            session.finish(FinishReason::Stop, &mut |event| collector.push(event));
            let response = collector.finish(FinishReason::Stop);
            prop_assert_eq!(response.calls.len() + response.rejected.len(), 2, "{}", list);
        }
        Ok(())
    });
}

// ---- 9: linear and bounded ----

#[test]
fn promise_09_every_marker_repeated_is_linear() {
    let gate = support::gate("standard", &TOOLS);
    for literal in soup::LITERALS.iter() {
        let input = literal.repeat(8192 / literal.len() + 1);
        assert_linear(literal, &gate, input.as_bytes(), input.len());
    }
}

#[test]
fn promise_09_every_opened_frame_is_linear() {
    for record in Record::builtin() {
        let Some(Listener { gate, .. }) = LISTENERS.iter().find(|listener| *listener.name == *record.name)
        else {
            continue;
        };
        let opener: String =
            record.openers().first().map(|opener| opener.head().to_owned()).unwrap_or_default();
        let inner = record
            .param
            .iter()
            .chain(&record.call)
            .flat_map(|template| template.literals().map(str::to_owned));
        let inner: BTreeSet<String> =
            inner.chain(["{\"a\":".to_owned(), "\\\"".to_owned(), "<".to_owned()]).collect();
        for unit in inner.iter().filter(|unit| !unit.trim().is_empty()) {
            for head in [
                opener.clone(),
                format!("{opener}look"),
                format!("{opener}{{\"name\": \"look\", \"arguments\": {{\"q\": \""),
            ] {
                let input = format!("{head}{}", unit.repeat(4096 / unit.len() + 1));
                assert_linear(&format!("{}: {head}{unit}…", record.name), gate, input.as_bytes(), 512);
            }
        }
    }
}

#[test]
fn promise_09_soups_fed_byte_by_byte_are_linear() {
    let gate = support::gate("standard", &TOOLS);
    let soups: Vec<&Sample> = DIALECT_SAMPLES.iter().step_by(40).collect();
    for sample in soups {
        let input = sample.text.repeat(8192 / sample.text.len() + 1);
        assert_linear(&sample.id, &gate, input.as_bytes(), 1);
    }
}

#[test]
fn promise_09_ten_megabytes_are_read_to_the_end() {
    const SIZE: usize = 10 << 20;
    let gate = support::gate("standard", &TOOLS);
    let open = "<tool_call>{\"name\": \"put\", \"arguments\": {\"path\": \"a\", \"text\": \"";
    let call = format!("{open}{}\"}}}}</tool_call>", "words and \\n lines ".repeat(SIZE / 19));
    let endless = format!("{open}{}", "\\\"".repeat(SIZE / 2));
    for (input, calls) in [
        (call, 1),
        (endless, 0),
        ("plain words, no markup at all. ".repeat(SIZE / 31), 0),
        ("<".repeat(SIZE), 0),
        ("```\n".repeat(SIZE / 4), 0),
        ("<tool_call>{".repeat(SIZE / 12), 0),
    ] {
        let events = Feed::new(&gate).pieces(input.as_bytes().chunks(64 << 10));
        assert_eq!(partition_fault(&events, input.len()), None, "{}", excerpt(&input));
        assert_eq!(response(&events).calls.len(), calls, "{}", excerpt(&input));
    }
}

// ---- 10: the same bytes give the same events ----

#[test]
fn promise_10_earlier_responses_leave_nothing() {
    // A session writes into the lists of earlier ones of its thread; the first of a thread has none.
    let fresh = |feed: &Feed<'_>, input: &[u8]| {
        std::thread::scope(|scope| scope.spawn(|| feed.whole(input)).join()).expect("the reading panicked")
    };
    over_samples(samples(), |sample| {
        let (feed, input) = (sample.feed(), sample.text.as_bytes());
        difference(&feed.whole(input), &fresh(&feed, input))
    });
    over_soups(300, |gate, input| {
        let (feed, input) = (Feed::new(gate), input.as_bytes());
        difference(&feed.whole(input), &fresh(&feed, input))
    });
}

#[test]
fn promise_10_same_bytes_same_events() {
    let other = support::gate("standard", &TOOLS);
    let again = support::gate("standard", &TOOLS);
    over_samples(samples(), |sample| {
        let input = sample.text.as_bytes();
        let twice = difference(&sample.feed().whole(input), &sample.feed().whole(input));
        twice.or_else(|| difference(&Feed::new(&other).whole(input), &Feed::new(&again).whole(input)))
    });
    over_soups(300, |gate, input| {
        difference(&Feed::new(gate).whole(input.as_bytes()), &Feed::new(gate).whole(input.as_bytes()))
    });
}
