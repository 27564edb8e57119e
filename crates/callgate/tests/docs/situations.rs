//! Situations: how to come to the codes that no text alone can show, each a few lines that do it.

use callgate::internal::batch::{Desk, Gates, scan_line};
use callgate::internal::policy::Echo;
use callgate::internal::profile::Strikes;
use callgate::{Code, Event, FinishReason, Gate, Policy, Response, Session, Tools};
use serde_json::{Value, json};

use super::{gate, gate_with, profile, said, tools};

/// A way to come to a code.
pub(crate) struct Situation {
    pub(crate) code: Code,
    /// What happens, for the page.
    pub(crate) words: &'static str,
    /// Does it, and returns the codes that came of it.
    pub(crate) codes: fn() -> Vec<Code>,
}

/// The situation that shows a code.
pub(crate) fn of(code: Code) -> Option<&'static Situation> {
    ALL.iter().find(|situation| situation.code == code)
}

const CALL: &str = "<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"a\"}}</tool_call>";

/// A call after a text that holds it.
fn echoed(change: impl FnOnce(&mut Policy)) -> Vec<Code> {
    feed(&gate_with("standard", change), |session, sink| {
        session.untrusted(CALL);
        session.push(CALL, sink);
    })
}

/// The error with which the last of these requests is answered, where one conversation may be open.
fn requests(lines: &[&str]) -> Vec<Code> {
    let mut desk = Desk::new(Gates::default(), 1);
    let answer = lines.iter().map(|line| desk.answer(line)).last();
    let answer: Value = serde_json::from_str(&answer.unwrap_or_default()).unwrap_or_default();
    answer["error"]["code"].as_str().and_then(Code::from_word).into_iter().collect()
}

/// What is said about the response that a line holds.
fn scanned(line: &Value) -> Vec<Code> {
    let response = scan_line(&line.to_string(), &mut Gates::default()).response;
    response.iter().flat_map(codes).collect()
}

/// Every situation.
pub(crate) const ALL: &[Situation] = &[
    Situation {
        code: Code::ForeignDialect,
        words: "a gate of the profile `strict` with one dialect chosen by name, and a call in another",
        codes: || {
            let builder = Gate::builder().profile(profile("strict")).tools(tools()).dialect("mistral");
            codes(&builder.build().unwrap_or_else(|error| panic!("{error}")).parse(CALL))
        },
    },
    Situation {
        code: Code::ShadowedByNative,
        words: "a structured call, and another call in the text of the same response",
        codes: || {
            feed(&gate("standard"), |session, sink| {
                session.push(CALL, sink);
                let call = json!([{"id": "1", "function": {"name": "look", "arguments": "{\"q\": \"a\"}"}}]);
                session.native_calls(&call, sink);
            })
        },
    },
    Situation {
        code: Code::TooManyCalls,
        words: "more calls than the policy's `max_calls`, where `on_excess` is `report`",
        codes: || codes(&gate_with("standard", |policy| policy.max_calls = 1).parse(&CALL.repeat(2))),
    },
    Situation {
        code: Code::TooManyRefusals,
        words: "more rejected calls than the policy's `limits.rejections`, and what follows them",
        codes: || {
            let wrong = CALL.replace("look", "fly");
            codes(&gate_with("standard", |policy| policy.limits.rejections = 2).parse(&wrong.repeat(4)))
        },
    },
    Situation {
        code: Code::WorkLimit,
        words: "a response that takes more work than the policy's `limits.work`",
        codes: || codes(&gate_with("standard", |policy| policy.limits.work = 100).parse(&CALL.repeat(2))),
    },
    Situation {
        code: Code::Echo,
        words: "a call that stands in a text given as `untrusted`, where `echo` is `report`",
        codes: || echoed(|_| {}),
    },
    Situation {
        code: Code::EchoUnchecked,
        words: "a call after more untrusted text than the policy's `limits.untrusted`, where `echo` is `report`",
        codes: || echoed(|policy| policy.limits.untrusted = 8),
    },
    Situation {
        code: Code::EchoedCall,
        words: "a call that stands in a text given as `untrusted`, where `echo` is `reject`",
        codes: || echoed(|policy| policy.echo = Echo::Reject),
    },
    Situation {
        code: Code::HeldLimit,
        words: "a JSON object that may still become a call when it is longer than the policy's `limits.held`",
        codes: || {
            let gate = gate_with("action", |policy| policy.limits.held = 32);
            codes(&gate.parse(&format!("{{\"note\": \"{}\"}}", "word ".repeat(20))))
        },
    },
    Situation {
        code: Code::UncheckedCall,
        words: "a call of a gate without a tool list that is given to `Tools::run`",
        codes: || {
            let gate = Gate::builder().build().unwrap_or_else(|error| panic!("{error}"));
            let response = gate.parse("<tool_call>{\"name\": \"look\", \"arguments\": {}}</tool_call>");
            Tools::<()>::new().run(&response.calls[0]).err().map(|finding| finding.code).into_iter().collect()
        },
    },
    Situation {
        code: Code::MissingFunction,
        words: "a structured call without the member `function`",
        codes: || {
            feed(&gate("structured"), |session, sink| session.native_calls(&json!([{"id": "1"}]), sink))
        },
    },
    Situation {
        code: Code::TooDeep,
        words: "arguments that are nested deeper than the policy's `limits.depth`",
        codes: || {
            let deep = CALL.replace("\"a\"", "[[[\"a\"]]]");
            codes(&gate_with("standard", |policy| policy.limits.depth = 2).parse(&deep))
        },
    },
    Situation {
        code: Code::TooLarge,
        words: "arguments that are longer than the policy's `limits.arguments`",
        codes: || codes(&gate_with("standard", |policy| policy.limits.arguments = 8).parse(CALL)),
    },
    Situation {
        code: Code::RepairBudget,
        words: "arguments that need more repairs than the policy's `limits.repairs`",
        codes: || {
            let broken = CALL.replace("{\"q\": \"a\"}", "{q: 'a',}");
            codes(&gate_with("standard", |policy| policy.limits.repairs = 1).parse(&broken))
        },
    },
    Situation {
        code: Code::InvalidUtf8,
        words: "the byte `FF` in the text",
        codes: || feed(&gate("standard"), |session, sink| session.push_bytes(b"caf\xff", sink)),
    },
    Situation {
        code: Code::InvalidUtf8Call,
        words: "the byte `FF` inside a call",
        codes: || {
            let (before, after) = CALL.split_once("a\"}").unwrap_or_default();
            feed(&gate("standard"), |session, sink| {
                session.push(before, sink);
                session.push_bytes(b"\xff\"}", sink);
                session.push(after, sink);
            })
        },
    },
    Situation {
        code: Code::BadRequest,
        words: "a line for `callgate session` that is not a JSON object",
        codes: || requests(&["not JSON"]),
    },
    Situation {
        code: Code::UnknownSession,
        words: "a request to `callgate session` about a conversation that was never opened",
        codes: || requests(&[r#"{"op": "push", "id": 1, "text": "a"}"#]),
    },
    Situation {
        code: Code::SessionOpen,
        words: "two requests to `callgate session` that open a conversation of the same id",
        codes: || requests(&[r#"{"op": "open", "id": 1}"#, r#"{"op": "open", "id": 1}"#]),
    },
    Situation {
        code: Code::TooManySessions,
        words: "one conversation more than `callgate session` may have open",
        codes: || requests(&[r#"{"op": "open", "id": 1}"#, r#"{"op": "open", "id": 2}"#]),
    },
    Situation {
        code: Code::NoResponse,
        words: "a request to `callgate session` for feedback before a response has ended",
        codes: || requests(&[r#"{"op": "open", "id": 1}"#, r#"{"op": "feedback", "id": 1}"#]),
    },
    Situation {
        code: Code::CutOff,
        words: "a line for `callgate scan` with a whole call and `finish_reason: length`",
        codes: || scanned(&json!({"text": CALL, "finish_reason": "length"})),
    },
    Situation {
        code: Code::MissingCalls,
        words: "a line for `callgate scan` without a call and with `finish_reason: tool_calls`",
        codes: || scanned(&json!({"text": "On it.", "finish_reason": "tool_calls"})),
    },
    Situation {
        code: Code::BadLine,
        words: "a line for `callgate scan` that is not a JSON object",
        codes: || {
            let line = scan_line("not JSON", &mut Gates::default()).line;
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            line["error"]["code"].as_str().and_then(Code::from_word).into_iter().collect()
        },
    },
    Situation {
        code: Code::MaxMistakes,
        words: "the third rejected response in a row, as `chat` and the profile `strict-xml` count them",
        codes: || {
            let gate = gate("strict-xml");
            let mut strikes = Strikes::default();
            let last = (0..3).filter_map(|_| strikes.judge(&gate.parse("No call."), &gate)).last();
            last.filter(|strike| strike.is_last).map(|_| Code::MaxMistakes).into_iter().collect()
        },
    },
];

fn codes(response: &Response) -> Vec<Code> {
    said(response).iter().map(|finding| finding.code).collect()
}

/// Feeds a session and collects what it says.
fn feed(gate: &Gate, steps: impl FnOnce(&mut Session, &mut dyn FnMut(Event<'_>))) -> Vec<Code> {
    let mut collector = Response::collector();
    let mut session = gate.session();
    let mut sink = |event: Event<'_>| collector.push(event);
    steps(&mut session, &mut sink);
    session.finish(FinishReason::Stop, &mut sink);
    codes(&collector.finish(FinishReason::Stop))
}
