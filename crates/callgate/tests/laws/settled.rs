//! What a session calls settled before the end stands at the end, wherever and however the response ends.

use std::sync::atomic::{AtomicUsize, Ordering};

use callgate::{Call, FinishReason, Gate, Response};
use serde_json::json;

use crate::over_soups;
use crate::support::corpus::samples;
use crate::support::{Feed, ended, gate, over_samples};

/// How a response may end.
const ENDINGS: [FinishReason; 4] =
    [FinishReason::Stop, FinishReason::Length, FinishReason::Failed, FinishReason::ContentFilter];

/// Up to which length a text is also ended at each of its bytes.
const SHORT: usize = 400;

/// A thought that begins and ends, so that no later end of one is the first.
const THOUGHT: &str = "<think>Hm.</think>\n";

/// What is compared: the id may come at the end.
fn told(call: &Call) -> (Option<usize>, String, String) {
    (call.span.map(|span| span.start), call.name.clone(), call.arguments.clone())
}

/// The calls that were settled after each byte.
fn settled(feed: &Feed<'_>, input: &[u8]) -> Vec<Vec<(Option<usize>, String, String)>> {
    let mut session = feed.gate.session();
    if let Some(tail) = feed.prompt_tail {
        session = session.with_prompt_tail(tail);
    }
    let after = |byte: &[u8]| {
        session.push_bytes(byte, &mut |_| {});
        session.settled().map(told).collect()
    };
    input.chunks(1).map(after).collect()
}

fn missing(
    response: &Response,
    settled: &[(Option<usize>, String, String)],
) -> Option<(Option<usize>, String, String)> {
    settled.iter().find(|call| !response.calls.iter().any(|stands| told(stands) == **call)).cloned()
}

fn fault(feed: Feed<'_>, input: &[u8], number: &AtomicUsize) -> Option<String> {
    let steps = settled(&feed, input);
    // What is settled once stays so, in its order.
    if let Some(at) = (1..steps.len()).find(|at| !steps[*at].starts_with(&steps[at - 1])) {
        return Some(format!("at byte {at} {:?} was settled, before it {:?}", steps[at], steps[at - 1]));
    }
    let last = steps.last()?;
    number.fetch_add(last.len(), Ordering::Relaxed);
    for finish in ENDINGS {
        let feed = Feed { finish, ..feed };
        let response = ended(&feed.whole(input), finish);
        if let Some(call) = missing(&response, last) {
            return Some(format!("{call:?} was settled, and does not stand at the end ({finish:?})"));
        }
    }
    let early = steps.iter().enumerate().filter(|(_, settled)| !settled.is_empty() && input.len() <= SHORT);
    for (at, settled) in early {
        let finish = ENDINGS[at % ENDINGS.len()];
        let response = ended(&Feed { finish, ..feed }.whole(&input[..=at]), finish);
        if let Some(call) = missing(&response, settled) {
            return Some(format!("{call:?} was settled at byte {at}, and does not stand if that is the end"));
        }
    }
    None
}

#[test]
fn what_is_settled_in_a_fixture_stands_at_its_end() {
    let number = AtomicUsize::new(0);
    over_samples(samples(), |sample| fault(sample.feed(), sample.text.as_bytes(), &number));
    over_samples(samples(), |sample| {
        let text = format!("{THOUGHT}{}", sample.text);
        fault(sample.feed(), text.as_bytes(), &number)
            .or_else(|| fault(sample.feed(), format!("{text}\n{}", sample.text).as_bytes(), &number))
    });
    let number = number.into_inner();
    assert!(number > 500, "only {number} calls were settled before the end");
}

#[test]
fn what_is_settled_in_a_soup_stands_at_its_end() {
    let number = AtomicUsize::new(0);
    over_soups(600, |gate, text| {
        let text = format!("{THOUGHT}{text}");
        fault(Feed::new(gate), text.as_bytes(), &number)
    });
    let number = number.into_inner();
    assert!(number > 20, "only {number} calls were settled before the end");
}

fn names(gate: &Gate, text: &str) -> Vec<String> {
    let mut session = gate.session();
    session.push(text, &mut |_| {});
    session.settled().map(|call| call.name.clone()).collect()
}

#[test]
fn a_call_behind_a_thought_is_settled_when_its_frame_is_closed() {
    let gate = gate("standard", &json!([{"name": "look"}, {"name": "go"}]));
    let (look, go) = (
        "<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"go\", \"arguments\": {}}</tool_call>",
    );
    assert_eq!(names(&gate, &format!("<think>Hm.</think>\n{look}")), ["look"]);
    assert_eq!(names(&gate, &format!("<think>Hm.</think>\n{look}\n{go}")), ["look", "go"]);
    assert_eq!(names(&gate, &format!("<think>Hm.</think>\n{}", &look[..look.len() - 1])), [""; 0]);
    // A thought without a beginning may still end, until one begins.
    assert_eq!(names(&gate, look), [""; 0]);
    assert_eq!(names(&gate, &format!("{look}\n<think>Hm.")), ["look"]);
    // It may stand in a code span.
    assert_eq!(names(&gate, &format!("<think>Hm.</think>\nUse `{look}")), [""; 0]);
}

#[test]
fn a_structured_call_unsettles_those_in_the_text() {
    let gate = gate("standard", &json!([{"name": "look"}]));
    let mut session = gate.session();
    let text = "<think>Hm.</think>\n<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>";
    session.push(text, &mut |_| {});
    assert_eq!(session.settled().count(), 1);
    let delta = callgate::NativeDelta { name: Some("look"), ..callgate::NativeDelta::default() };
    session.native(delta, &mut |_| {});
    assert_eq!(session.settled().count(), 0);
}

#[test]
fn the_end_of_a_thought_says_nothing_about_calls_before_its_beginning() {
    let gate = gate("standard", &json!([{"name": "look"}, {"name": "go"}]));
    let text = "<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>\n<think><think>Hm.</think>\n\
                <tool_call>{\"name\": \"go\", \"arguments\": {}}</tool_call></think>";
    let response = gate.parse(text);
    assert_eq!(response.calls.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["look"]);
    assert_eq!(response.rejected.len(), 1);
}
