//! Endings: only what a provider calls a good end lets a repair close a call.

use callgate::{FinishReason, Gate, NativeDelta, Response};
use serde_json::json;

use crate::support;
use crate::support::corpus::DIALECT_SAMPLES;
use crate::support::{Feed, ended, profile, rejections};
use crate::{gate, parse, scan, tools};

/// Words of providers for an end that was none.
pub(crate) const CUT: &[&str] = &[
    "length",
    "max_tokens",
    "MAX_TOKENS",
    "maxTokens",
    "model_length",
    "max_length",
    "max_output_tokens",
    "token_limit",
    "incomplete",
    "FINISH_REASON_MAX_TOKENS",
    "content_filter",
    "content-filter",
    "refusal",
    "safety",
    "SAFETY",
    "RECITATION",
    "blocklist",
    "prohibited_content",
    "spii",
    "error",
    "ERROR",
    "abort",
    "aborted",
    "cancelled",
    "timeout",
    "malformed_function_call",
    "model_context_window_exceeded",
    "pause_turn",
];

/// Words of providers for a good end.
pub(crate) const GOOD: &[&str] = &[
    "stop",
    "STOP",
    "end_turn",
    "endTurn",
    "eos",
    "eos_token",
    "stop_sequence",
    "tool_calls",
    "tool_use",
    "function_call",
    "COMPLETE",
    "completed",
    "done",
    "FINISH_REASON_STOP",
    "tool-calls",
];

/// Nobody said, or nobody knows the word.
pub(crate) const UNKNOWN: &[&str] =
    &["", "null", "other", "FINISH_REASON_UNSPECIFIED", "stopped_early", "unknown", "load"];

/// A call of `NAME` in several formats, and how many of its last bytes only close it.
const FORMATS: &[(&str, &str, usize)] = &[
    ("hermes", "<tool_call>{\"name\": \"NAME\", \"arguments\": {\"path\": \"/data\"}}</tool_call>", 14),
    (
        "qwen3-coder",
        "<tool_call>\n<function=NAME>\n<parameter=path>\n/data\n</parameter>\n</function>\n</tool_call>",
        24,
    ),
    ("pythonic", "[NAME(path=\"/data\")]", 2),
    ("json-bare", "{\"name\": \"NAME\", \"arguments\": {\"path\": \"/data\"}}", 2),
];

#[test]
fn c07_only_known_good_endings_complete_a_call_in_text() {
    for (dialect, whole, _) in FORMATS {
        for name in ["rm", "read"] {
            let whole = whole.replace("NAME", name);
            for profile_name in ["standard", "strict", "lenient"] {
                let gate = Gate::builder()
                    .profile(profile(profile_name))
                    .tools(support::registry(&tools()))
                    .dialect(dialect)
                    .build()
                    .unwrap_or_else(|error| panic!("{error}"));
                for end in 1..whole.len() {
                    let text = &whole[..end];
                    // The outermost tag may be missing: what follows the call's own closer closes nothing.
                    let is_closed = text.contains("</function>");
                    for word in CUT.iter().chain(UNKNOWN).chain(GOOD) {
                        let response = parse(&gate, text, word);
                        let place =
                            format!("{dialect}, {profile_name}, {name}, {word:?}, cut at {end}: {text}");
                        let may_guess = profile_name == "lenient" && name == "read";
                        if CUT.contains(word) || UNKNOWN.contains(word) && !may_guess && !is_closed {
                            assert!(response.calls.is_empty(), "{place}");
                        }
                        for call in response.calls.iter().filter(|_| !is_closed) {
                            assert!(!call.repairs.is_empty(), "{place}: nothing said");
                            if UNKNOWN.contains(word) {
                                let is_guess = |repair: &callgate::internal::json::Repair| {
                                    repair.safety.to_string() == "guess"
                                };
                                assert!(call.repairs.iter().any(is_guess), "{place}: no guess");
                                assert_eq!(call.value(), json!({"path": "/data"}), "{place}");
                            }
                        }
                    }
                }
                // What is closed stands, whatever was said; and a good ending closes what is complete.
                for word in CUT.iter().chain(UNKNOWN).chain(GOOD) {
                    assert_eq!(
                        parse(&gate, &whole, word).calls.len(),
                        1,
                        "{dialect}, {profile_name}, {word}"
                    );
                }
            }
        }
    }
    for (dialect, whole, closers) in FORMATS {
        let whole = whole.replace("NAME", "read");
        let gate = support::dialect_gate(dialect, &tools());
        for word in GOOD {
            let response = parse(&gate, &whole[..whole.len() - closers], word);
            assert_eq!(response.calls.len(), 1, "{dialect}, {word}: {}", rejections(&response));
        }
    }
}

#[test]
fn c07_only_known_good_endings_complete_a_structured_call() {
    let whole = "{\"path\": \"/data\", \"deep\": true}";
    for profile_name in ["standard", "strict", "lenient", "structured"] {
        let gate = gate(profile_name, &tools());
        for name in ["rm", "read", "now"] {
            for end in 0..whole.len() {
                for word in CUT.iter().chain(UNKNOWN).chain(GOOD) {
                    let reason = FinishReason::from_word(word);
                    let events = support::native_events(&gate, name, &[&whole[..end]], reason);
                    let calls = ended(&events, reason).calls;
                    let place = format!("{profile_name}, {name}, {word:?}: {}", &whole[..end]);
                    let guesses = matches!(profile_name, "lenient" | "structured") && name != "rm";
                    if CUT.contains(word) || UNKNOWN.contains(word) && !guesses {
                        assert!(calls.is_empty(), "{place}");
                    }
                    // A string that runs into the end needs somebody's word that it is whole.
                    let in_string = whole[..end].matches('"').count() % 2 == 1;
                    if UNKNOWN.contains(word) && in_string {
                        assert!(calls.is_empty(), "{place}");
                    }
                }
            }
        }
    }
}

#[test]
fn c07_no_dialect_completes_what_was_cut() {
    for sample in DIALECT_SAMPLES.iter() {
        let whole = ended(&sample.feed().whole(sample.text.as_bytes()), FinishReason::Stop);
        let places: Vec<usize> = sample.text.char_indices().map(|(at, _)| at).collect();
        // The longest samples are long in one value, where every place is like the next.
        let step = 1 + places.len() / 400;
        for end in places.into_iter().step_by(step) {
            for reason in [
                FinishReason::Length,
                FinishReason::Failed,
                FinishReason::ContentFilter,
                FinishReason::Unknown,
            ] {
                let feed = Feed { finish: reason, ..sample.feed() };
                for call in ended(&feed.whole(&sample.text.as_bytes()[..end]), reason).calls {
                    let is_whole = |other: &callgate::Call| {
                        other.name == call.name && other.canonical_arguments() == call.canonical_arguments()
                    };
                    // In some formats nothing marks the end of a call, so only the provider can say that it was cut.
                    assert!(
                        reason == FinishReason::Unknown || whole.calls.iter().any(is_whole),
                        "{} cut at {end}, {reason:?}: {} {}\n{}",
                        sample.id,
                        call.name,
                        call.arguments,
                        &sample.text[..end]
                    );
                    let closes = |repair: &callgate::internal::json::Repair| {
                        repair.span.end >= end
                            && matches!(
                                repair.code.word(),
                                "missing-closer" | "missing-tag" | "unclosed-string"
                            )
                    };
                    assert!(!call.repairs.iter().any(closes), "{} cut at {end}, {reason:?}", sample.id);
                }
            }
        }
    }
}

#[test]
fn c07_the_word_of_the_provider_comes_out() {
    let said = |text: &str, word: &str| {
        scan(&json!({"id": 1, "text": text, "finish_reason": word, "tools": tools()}))["finish_reason"]
            .clone()
    };
    let call = "<tool_call>{\"name\": \"now\", \"arguments\": {}}</tool_call>";
    for word in ["stop", "end_turn", "MAX_TOKENS", "content_filter", "SAFETY", "error", "unspecified"] {
        assert_eq!(said("Hello.", word), word);
        assert_eq!(said(call, word), "tool_calls");
    }
    let unknown = scan(&json!({"id": 1, "text": call, "finish_reason": "something_new"}));
    assert_eq!(unknown["error"]["code"], "bad-line", "{unknown}");
    assert_eq!(said("Hello.", ""), "stop");
    assert_eq!(said("Hello.", "tool_calls"), "stop");
    let cut = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"/da";
    assert_eq!(said(cut, "max_tokens"), "length");
    assert_eq!(said(cut, "abort"), "abort");
    assert_eq!(said(&format!("{call}{cut}"), "length"), "length");
}

#[test]
fn c07_blank_arguments_that_may_have_been_coming_are_not_blank() {
    let gate = gate("standard", &tools());
    let read = |word: &str, done: bool| {
        let reason = FinishReason::from_word(word);
        let mut session = gate.session();
        let mut collector = Response::collector();
        let delta = NativeDelta { index: Some(0), id: Some("a"), name: Some("now"), arguments: None, done };
        session.native(delta, &mut |event| collector.push(event));
        session.finish(reason, &mut |event| collector.push(event));
        collector.finish(reason).calls.len()
    };
    assert_eq!(
        (read("stop", false), read("length", true), read("length", false), read("", false)),
        (1, 1, 0, 0)
    );
}
