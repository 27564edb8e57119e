//! Events, responses and their parts read back from their JSON as what they were.

use callgate::{Code, Event, FinishReason, Gate, Response, Span};
use serde_json::{Value, json};

use crate::support::corpus::{LISTENERS, samples};
use crate::support::soup::soup;
use crate::support::{Feed, ended, hold, native_events, obeyed, over_samples};

/// Whether everything that came of a text is the same after it was written and read back, the whole response too.
fn round_trip_fault(events: &[Event<'static>]) -> Option<String> {
    for event in events {
        let written = serde_json::to_string(event).unwrap();
        match serde_json::from_str::<Event<'_>>(&written) {
            Ok(back) if back == *event => {}
            Ok(back) => return Some(format!("{event:?} was read back as {back:?}")),
            Err(error) => return Some(format!("{written}: {error}")),
        }
    }
    for reason in [FinishReason::Stop, FinishReason::Length, FinishReason::ContentFilter] {
        let response = ended(events, reason);
        let written = serde_json::to_string(&response).unwrap();
        match serde_json::from_str::<Response>(&written) {
            Ok(back) if back == response => {}
            Ok(back) => return Some(format!("{response:?} was read back as {back:?}")),
            Err(error) => return Some(format!("{written}: {error}")),
        }
    }
    None
}

#[test]
fn every_event_of_every_fixture_reads_back() {
    over_samples(samples(), |sample| round_trip_fault(&sample.feed().whole(sample.text.as_bytes())));
}

#[test]
fn events_of_soups_read_back() {
    hold(400, (0..LISTENERS.len(), soup(14)), |(listener, input)| {
        let events = Feed::new(&LISTENERS[listener].gate).whole(input.as_bytes());
        obeyed(round_trip_fault(&events))
    });
}

#[test]
fn structured_calls_read_back() {
    let gate = crate::support::gate("lenient", &json!([{"name": "look", "parameters": {"type": "object"}}]));
    for arguments in [r#"{"q": 1}"#, r#"{"q": 1,}"#, r#"{"q": "#, "[", "", "{\"a\": \"\\ud83d\"}"] {
        let events = native_events(&gate, "look", &[arguments], FinishReason::Stop);
        assert_eq!(round_trip_fault(&events), None, "{arguments}");
    }
}

#[test]
fn arguments_keep_their_text() {
    let gate = Gate::builder().build().unwrap();
    let arguments = r#"{"n": 12345678901234567890123, "m":1.10,  "e": "\u00e9", "z": {"b": 1, "a": 2}}"#;
    let text = format!("<tool_call>{{\"name\": \"look\", \"arguments\": {arguments}}}</tool_call>");
    let response = gate.parse(&text);
    assert_eq!(response.calls[0].arguments, arguments);
    let back: Response = serde_json::from_str(&serde_json::to_string(&response).unwrap()).unwrap();
    assert_eq!(back.calls[0].arguments, arguments);
}

#[test]
fn a_line_of_the_batch_contract_is_a_response() {
    let line = json!({"id": 7, "text": "Hi. <tool_call>{\"name\": \"look\", \"arguments\": {\"q\": 1,}}</tool_call>",
        "finish_reason": "end_turn"});
    let mut gates = callgate::internal::batch::Gates::default();
    let outcome = callgate::internal::batch::scan_line(&line.to_string(), &mut gates);
    let back: Response = serde_json::from_str(&outcome.line).unwrap();
    assert_eq!(Some(&back), outcome.response.as_ref());
    assert_eq!((back.text.as_str(), back.calls.len()), ("Hi.", 1));
}

#[test]
fn an_ending_keeps_the_word_of_its_provider() {
    for (word, written, reason) in [
        ("end_turn", "end_turn", FinishReason::Stop),
        ("stop", "stop", FinishReason::Stop),
        ("MAX_TOKENS", "MAX_TOKENS", FinishReason::Length),
        ("nobody-knows", "nobody-knows", FinishReason::Unknown),
        // Nobody said, which is written as `stop`: the one thing that does not read back.
        ("", "stop", FinishReason::Stop),
    ] {
        let mut collector = Response::collector();
        collector.said(word);
        let response = collector.finish(FinishReason::from_word(word));
        let json = serde_json::to_value(&response).unwrap();
        assert_eq!(json["finish_reason"], written);
        let back: Response = serde_json::from_value(json).unwrap();
        assert_eq!(back.finish_reason, reason, "{word}");
        assert_eq!(back.finish_word(), written);
    }
}

#[test]
fn what_is_no_event_is_an_error_that_says_why() {
    for (written, why) in [
        (json!({"event": "song"}), "unknown variant `song`"),
        (json!({"event": "text", "text": "a"}), "missing field `span`"),
        (json!({"event": "text", "text": "a", "span": [3, 1]}), "ends before it starts"),
        (
            json!({"event": "call_started", "attempt": 0, "name": "a", "dialect": "b", "chosen_by": "dice"}),
            "`dice`",
        ),
        (
            json!({"event": "finding", "finding": {"code": "no-such", "message": "", "help": "", "path": ""}}),
            "`no-such`",
        ),
    ] {
        let error = serde_json::from_value::<Event<'_>>(written.clone()).unwrap_err().to_string();
        assert!(error.contains(why), "{written}: {error}");
    }
}

#[test]
fn codes_and_spans_are_written_as_words_and_pairs() {
    for code in Code::ALL {
        let word: Value = serde_json::to_value(code).unwrap();
        assert_eq!(word, code.word());
        assert_eq!(serde_json::from_value::<Code>(word).unwrap(), *code);
    }
    assert_eq!(serde_json::from_str::<Span>("[2, 5]").unwrap(), Span::new(2, 5));
}
