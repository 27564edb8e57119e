//! What an attack found in the judging: endings, numbers, explanations, refusals and members, each by the number it has there.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::internal::batch::{Gates, scan_line};
use callgate::internal::json::Tape;
use callgate::internal::policy::{Coerce, ExtraArgs};
use callgate::internal::schema::CompiledTool;
use callgate::{
    Code, Event, FinishReason, Gate, NativeDelta, Policy, Profile, Record, Registry, Response, Tool,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::corpus::DIALECT_SAMPLES;
use support::{Feed, ended, partition_fault, profile, refusals};

/// Words of providers for an end that was none.
const CUT: &[&str] = &[
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
const GOOD: &[&str] = &[
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
const UNKNOWN: &[&str] =
    &["", "null", "other", "FINISH_REASON_UNSPECIFIED", "stopped_early", "unknown", "load"];

fn tools() -> Value {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}, "deep": {"type": "boolean"}},
        "required": ["path"]});
    json!([
        {"name": "rm", "parameters": path, "dangerous": true},
        {"name": "read", "parameters": path},
        {"name": "now", "parameters": {"type": "object", "properties": {}}},
    ])
}

fn gate(name: &str, tools: &Value) -> Gate {
    let builder = Gate::builder().profile(profile(name)).tools(support::registry(tools));
    builder.build().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn parse(gate: &Gate, text: &str, word: &str) -> Response {
    let reason = FinishReason::from_word(word);
    ended(&Feed { finish: reason, ..Feed::new(gate) }.whole(text.as_bytes()), reason)
}

fn scan(line: &Value) -> Value {
    scan_text(&line.to_string())
}

fn scan_text(line: &str) -> Value {
    let outcome = scan_line(line, &mut Gates::default());
    assert!(!outcome.line.contains(['\n', '\r']), "{}", outcome.line);
    serde_json::from_str(&outcome.line).unwrap_or_else(|error| panic!("{error}: {}", outcome.line))
}

fn codes(response: &Response) -> Vec<Code> {
    response.all_findings().map(|finding| finding.code).collect()
}

// ---- C7: endings ----

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
            assert_eq!(response.calls.len(), 1, "{dialect}, {word}: {}", refusals(&response));
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
    for word in ["stop", "end_turn", "MAX_TOKENS", "content_filter", "SAFETY", "error", "something_new"] {
        assert_eq!(said("Hello.", word), word);
        assert_eq!(said(call, word), "tool_calls");
    }
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

// ---- C8: numbers and the text of the arguments ----

#[test]
fn c08_arguments_leave_as_they_were_written() {
    let written = "{\"z\": 123456789012345678901234567890, \"a\":-0,\t\"e\": 1.10e+2, \"u\": \"\\u00e9\\/\",\n \"n\": {\"y\":1.0,\"x\":[ ]}}";
    let text = format!("<tool_call>{{\"name\": \"f\", \"arguments\": {written}}}</tool_call>");
    let free = json!([{"name": "f", "parameters": {"type": "object"}}]);
    let kept = |out: &str| {
        let one_line = written.replace('\n', " ");
        assert!(out.contains(&one_line), "{out}");
    };
    kept(&scan_line(&json!({"text": text, "tools": free}).to_string(), &mut Gates::default()).line);
    kept(&scan_line(&json!({"text": text}).to_string(), &mut Gates::default()).line);
    let response = gate("standard", &free).parse(&text);
    assert_eq!(response.calls[0].arguments, written);
    let event = serde_json::to_string(&Event::Call(Box::new(response.calls[0].clone())));
    assert!(event.unwrap_or_default().contains(written));
    // Structured calls whose arguments are an object, too.
    for call in [
        format!("{{\"function\": {{\"name\": \"f\", \"arguments\": {written}}}}}"),
        format!("{{\"name\": \"f\", \"parameters\": {written}}}"),
    ] {
        let line = format!(
            "{{\"tool_calls\": [{{\"name\": \"f\", \"arguments\": {{}}}}, {}], \"tools\": {free}}}",
            call.replace('\n', " ")
        );
        kept(&scan_line(&line, &mut Gates::default()).line);
    }
}

fn tool_of(schema: Value) -> CompiledTool {
    let parameters = json!({"type": "object", "properties": {"n": schema}, "required": ["n"]});
    CompiledTool::compile(Tool::new("t", "t", parameters)).unwrap_or_else(|error| panic!("{error}"))
}

fn fit(tool: &CompiledTool, arguments: &str) -> Vec<Code> {
    let tape = Tape::parse(arguments).unwrap_or_else(|| panic!("{arguments}"));
    let fit = tool.fit(arguments, &tape, Coerce::Lossless, ExtraArgs::Reject, false);
    fit.findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn c08_numbers_are_judged_by_their_digits() {
    let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{error}"));
    for (rule, number) in [
        ("{\"type\": \"integer\"}", "5.0000000000000000000000001"),
        ("{\"type\": [\"integer\", \"null\"]}", "1e-400"),
        ("{\"anyOf\": [{\"type\": \"integer\"}, {\"type\": \"null\"}]}", "9007199254740993.5"),
        ("{\"const\": 18446744073709551617}", "18446744073709551618"),
        ("{\"const\": 18446744073709551617}", "18446744073709552000"),
        ("{\"enum\": [\"a\", 100000000000000000000]}", "100000000000000000001"),
        ("{\"maximum\": 100}", "100.00000000000000001"),
        ("{\"exclusiveMinimum\": 0}", "-1e-500"),
        ("{\"exclusiveMaximum\": 100}", "100.00000000000000000"),
        ("{\"minimum\": 0.1}", "0.09999999999999999999999"),
        ("{\"multipleOf\": 3}", "1e23"),
        ("{\"multipleOf\": 0.5}", "12345678901234567890.25"),
        ("{\"maximum\": 9007199254740992}", "9007199254740993.0"),
    ] {
        let mut rule = schema(rule);
        assert!(!fit(&tool_of(rule.clone()), &format!("{{\"n\": {number}}}")).is_empty(), "{rule}: {number}");
        // A string that would become that number.
        let numbers = rule.get("type").cloned().unwrap_or(json!("number"));
        rule["type"] = numbers;
        assert!(
            !fit(&tool_of(rule.clone()), &format!("{{\"n\": \"{number}\"}}")).is_empty(),
            "{rule}: {number}"
        );
    }
    for (rule, number) in [
        ("{\"type\": \"integer\"}", "123456789012345678901234567890"),
        ("{\"type\": \"integer\"}", "18446744073709551615"),
        ("{\"type\": \"integer\", \"maximum\": 100}", "1e2"),
        ("{\"type\": \"number\"}", "3.14159265358979323846264338327950288"),
        ("{\"type\": \"number\", \"maximum\": 4}", "3.14159265358979323846264338327950288"),
        ("{\"type\": \"number\", \"minimum\": 0.1}", "0.1"),
        ("{}", "100.00000000000000001"),
        ("{\"multipleOf\": 0.01}", "19.99"),
        ("{\"type\": \"string\"}", "123456789012345678901234567890"),
    ] {
        let tool = tool_of(schema(rule));
        assert!(fit(&tool, &format!("{{\"n\": {number}}}")).is_empty(), "{rule}: {number}");
    }
    let found = fit(&tool_of(json!({"maximum": 100})), "{\"n\": 100.00000000000000001}");
    assert_eq!(found, [Code::NumberNotExact]);
}

/// A decimal number: digits times a power of ten, with a sign. The reference that the judging is compared with.
#[derive(Clone, Debug)]
struct Exact {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Exact {
    fn spelled(&self, form: usize) -> String {
        let sign = if self.negative { "-" } else { "" };
        let whole = self.digits.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        match form {
            0 => format!("{sign}{whole}e{}", self.exponent),
            _ if self.exponent >= 0 => format!(
                "{sign}{whole}{}",
                if whole == "0" { String::new() } else { "0".repeat(self.exponent as usize) }
            ),
            _ => {
                let places = self.exponent.unsigned_abs() as usize;
                let padded = format!("{whole:0>width$}", width = places + 1);
                let (before, after) = padded.split_at(padded.len() - places);
                format!("{sign}{before}.{after}")
            }
        }
    }

    /// The number times 10^60, which is whole for all that are made here.
    fn scaled(&self) -> (bool, String) {
        let digits = format!("{}{}", self.digits, "0".repeat((60 + self.exponent) as usize));
        let digits = digits.trim_start_matches('0').to_owned();
        (self.negative && !digits.is_empty(), digits)
    }

    fn is_whole(&self) -> bool {
        let (_, digits) = self.scaled();
        digits.is_empty() || digits.len() > 60 && digits[digits.len() - 60..].bytes().all(|byte| byte == b'0')
    }

    fn cmp(&self, other: &Exact) -> std::cmp::Ordering {
        let key = |(negative, digits): (bool, String)| (negative, digits.len(), digits);
        let (a, b) = (key(self.scaled()), key(other.scaled()));
        match (a.0, b.0) {
            (false, false) => (a.1, a.2).cmp(&(b.1, b.2)),
            (true, true) => (b.1, b.2).cmp(&(a.1, a.2)),
            (negative, _) => {
                if negative {
                    std::cmp::Ordering::Less
                } else {
                    std::cmp::Ordering::Greater
                }
            }
        }
    }
}

fn exact() -> impl Strategy<Value = Exact> {
    let digits =
        prop_oneof!["[0-9]{1,4}", "[0-9]{14,19}", "10{15,18}[0-9]", "90071992547409[0-9]{2}[0-9]{0,3}"];
    (any::<bool>(), digits, -20i32..12).prop_map(|(negative, digits, exponent)| Exact {
        negative,
        digits,
        exponent,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c08_what_is_released_is_what_exact_arithmetic_accepts(
        limit in exact(), number in exact(), keyword in 0usize..7, near in any::<bool>(), form in 0usize..2, nudge in "[0-9]{0,12}",
    ) {
        // Half of the numbers stand right beside the limit, where rounding would tell.
        let number = if near {
            Exact { negative: limit.negative, digits: format!("{}{nudge}", limit.digits), exponent: limit.exponent - nudge.len() as i32 }
        } else { number };
        let rule = limit.spelled(1);
        let word = ["integer", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "enum"][keyword];
        let schema = match word {
            "integer" => "{\"type\": \"integer\"}".to_owned(),
            "enum" => format!("{{\"enum\": [{rule}]}}"),
            word => format!("{{\"{word}\": {rule}}}"),
        };
        let order = number.cmp(&limit);
        let right = match word {
            "integer" => number.is_whole(),
            "minimum" => order.is_ge(),
            "maximum" => order.is_le(),
            "exclusiveMinimum" => order.is_gt(),
            "exclusiveMaximum" => order.is_lt(),
            _ => order.is_eq(),
        };
        let tool = tool_of(serde_json::from_str(&schema).unwrap_or_default());
        let arguments = format!("{{\"n\": {}}}", number.spelled(form));
        let found = fit(&tool, &arguments);
        if found.is_empty() {
            prop_assert!(right, "{schema} accepts {arguments}");
        } else if right {
            prop_assert_eq!(&found[0], &Code::NumberNotExact, "{} refuses {}", schema, arguments);
        }
        let quoted = format!("{{\"n\": \"{}\"}}", number.spelled(form));
        let typed = schema.replacen('{', "{\"type\": \"number\", ", usize::from(word != "integer"));
        let tool = tool_of(serde_json::from_str(&typed).unwrap_or_default());
        if fit(&tool, &quoted).is_empty() {
            prop_assert!(right, "{schema} accepts {quoted}");
        }
    }
}

// ---- C9: explanations ----

#[test]
fn c09_explaining_costs_no_more_than_judging() {
    let branches = |count: usize, of: &dyn Fn(usize) -> Value| Value::Array((0..count).map(of).collect());
    let item =
        json!({"type": "array", "items": {"anyOf": branches(1000, &|n| json!({"const": format!("c{n}")}))}});
    let root = json!({"anyOf": branches(500, &|n| json!({"type": "array", "items": {"const": n}}))});
    let objects = json!({"type": "array", "items": {"oneOf": branches(300, &|n| json!({"type": "object",
        "required": [format!("k{n}")], "properties": {"x": {"const": n}}}))}});
    for (schema, element) in [(item, "7"), (root, "\"a\""), (objects, "{\"x\": \"y\"}")] {
        for count in [1, 10, 4000, 20_000] {
            let parameters = json!({"type": "object", "properties": {"n": schema}, "required": ["n"]});
            let gate = gate("standard", &json!([{"name": "t", "parameters": parameters}]));
            let list = vec![element; count].join(",");
            let mut session = gate.session();
            let mut collector = Response::collector();
            let text =
                format!("<tool_call>{{\"name\": \"t\", \"arguments\": {{\"n\": [{list}]}}}}</tool_call>");
            session.push(&text, &mut |event| collector.push(event));
            let work = session.finish_counted(FinishReason::Stop, &mut |event| collector.push(event));
            let response = collector.finish(FinishReason::Stop);
            assert_eq!((response.calls.len(), response.rejected.len()), (0, 1));
            let findings = &response.rejected[0].findings;
            assert!((1..=64).contains(&findings.len()), "{}", findings.len());
            let bytes: usize = findings.iter().map(|f| f.message.len() + f.help.len() + f.path.len()).sum();
            assert!(bytes < 64 << 10, "{bytes} bytes of reasons");
            // At most each value by each subschema, a few times over.
            let values = 2 * count as u64 + 4;
            assert!(work.judging <= 4 * 1024 * values + (1 << 17), "{work:?} for {count}");
        }
    }
}

#[test]
fn c09_a_large_value_is_still_explained_by_its_types() {
    let branches: Vec<Value> = (0..1000).map(|n| json!({"const": format!("c{n}")})).collect();
    let tool = tool_of(json!({"type": "array", "items": {"anyOf": branches}}));
    let list = ["\"c1\"", "7"].repeat(2000).join(",");
    let arguments = format!("{{\"n\": [{list}]}}");
    let tape = Tape::parse(&arguments).unwrap_or_default();
    let findings = tool.fit(&arguments, &tape, Coerce::Lossless, ExtraArgs::Reject, false).findings;
    assert_eq!((findings[0].code, findings[0].path.as_str()), (Code::WrongType, "/n/1"));
}

// ---- C10: nearest names ----

#[test]
fn c10_suggestions_are_few_per_response() {
    let names: Vec<Value> = (0..1000)
        .map(
            |n| json!({"name": format!("{}_{n:03}", "abcdefgh".repeat(6)), "parameters": {"type": "object"}}),
        )
        .collect();
    let mut policy = Profile::standard().policy();
    policy.limits.refusals = 1 << 20;
    let gate = Gate::builder()
        .tools(support::registry(&Value::Array(names)))
        .policy(policy)
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let text: String = (0..2000)
        .map(|n| {
            format!(
                "<tool_call>{{\"name\": \"{}_{n}x\", \"arguments\": {{}}}}</tool_call>",
                "abcdefgi".repeat(6)
            )
        })
        .collect();
    let mut session = gate.session();
    let mut collector = Response::collector();
    session.push(&text, &mut |event| collector.push(event));
    let work = session.finish_counted(FinishReason::Stop, &mut |event| collector.push(event));
    let response = collector.finish(FinishReason::Stop);
    assert_eq!(response.rejected.len(), 2000);
    let suggested = response.rejected.iter().filter(|r| r.findings[0].message.contains("nearest")).count();
    assert!((1..=16).contains(&suggested), "{suggested}");
    assert!(work.judging < 2_000_000, "{work:?}");
    // The same wrong name is looked for once.
    let again = "<tool_call>{\"name\": \"abcdefghabcdefgh\", \"arguments\": {}}</tool_call>".repeat(200);
    let response = gate.parse(&again);
    assert!(response.rejected.iter().all(|r| r.findings[0].message.contains("nearest")));
}

// ---- C12: refusals ----

#[test]
fn c12_refusals_are_few_and_account_for_every_byte() {
    let call = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>";
    let shapes = [
        ("muse-atem", "<|open|>call tool=\""),
        ("pythonic", "[now()]\n"),
        ("hermes", "<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>"),
        ("hermes", " x <tool_call>{\"name\": \"fly\", \"arguments\": {\"a\": 1}}</tool_call>"),
        ("hermes", call),
        ("json-bare", "{\"name\": \"fly\", \"arguments\": {}}\n"),
    ];
    for (dialect, shape) in shapes {
        if Record::named(dialect).is_none() {
            continue;
        }
        let gate = support::dialect_gate(dialect, &tools());
        let most = gate.policy().max_calls + gate.policy().limits.refusals;
        for text in [
            shape.repeat(400_000 / shape.len()),
            format!("{call}{}{call}", shape.repeat(20_000 / shape.len() + 2000)),
        ] {
            let events = Feed::new(&gate).whole(text.as_bytes());
            assert_eq!(partition_fault(&events, text.len()), None, "{dialect}: {shape}");
            let response = ended(&events, FinishReason::Stop);
            assert!(response.rejected.len() <= most + 1, "{dialect}: {}", response.rejected.len());
            assert!(response.calls.len() <= gate.policy().max_calls);
            let out = serde_json::to_string(&response).unwrap_or_default();
            assert!(out.len() <= 3 * text.len() + (1 << 20), "{dialect}: {} from {}", out.len(), text.len());
            let bytes = Feed::new(&gate).pieces(text.as_bytes().chunks(7));
            assert_eq!(support::difference(&events, &bytes), None, "{dialect}: {shape}");
        }
    }
}

#[test]
fn c12_a_list_of_calls_without_end_is_bounded() {
    let gate = support::dialect_gate("pythonic", &tools());
    let text = format!("[{}]", vec!["now()"; 60_000].join(", "));
    let events = Feed::new(&gate).whole(text.as_bytes());
    assert_eq!(partition_fault(&events, text.len()), None);
    let response = ended(&events, FinishReason::Stop);
    assert_eq!(response.calls.len(), gate.policy().max_calls);
    assert_eq!(response.rejected[0].findings[0].code, Code::TooManyCalls);
    let last = response.rejected.last().map(|rejected| rejected.findings[0].code);
    assert_eq!(last, Some(Code::TooManyRefusals));
    assert!(serde_json::to_string(&response).unwrap_or_default().len() < 2 * text.len());
}

#[test]
fn c12_structured_refusals_are_bounded_too() {
    let gate = gate("standard", &tools());
    let calls = Value::Array(vec![json!({"function": {"name": "fly", "arguments": "{}"}}); 20_000]);
    let mut session = gate.session();
    let mut collector = Response::collector();
    session.native_calls(&calls, &mut |event| collector.push(event));
    session.finish(FinishReason::ToolCalls, &mut |event| collector.push(event));
    let response = collector.finish(FinishReason::ToolCalls);
    assert!(response.rejected.len() <= gate.policy().limits.refusals + 1, "{}", response.rejected.len());
    assert!(codes(&response).contains(&Code::TooManyRefusals));
}

#[test]
fn c12_large_refusals_are_cut_short() {
    let gate = gate("standard", &tools());
    let shape = format!(
        "<tool_call>{{\"name\": \"fly\", \"arguments\": {{\"a\": \"{}\"}}}}</tool_call>\n",
        "x".repeat(8000)
    );
    let response = gate.parse(&shape.repeat(500));
    assert_eq!(response.rejected.len(), 500);
    let held: usize = response.rejected.iter().map(|rejected| rejected.raw.len()).sum();
    assert!(held <= 1 << 20, "{held}");
    assert!(response.rejected.iter().all(|rejected| rejected.findings[0].code == Code::UnknownTool));
}

fn with_work(work: usize) -> Gate {
    let mut policy = Profile::standard().policy();
    policy.limits.work = work;
    Gate::builder()
        .tools(support::registry(&tools()))
        .policy(policy)
        .build()
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn c12_the_budget_of_work_ends_the_reading() {
    let call = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>\n";
    let text = format!("é{}", call.repeat(50));
    for work in [1, 2, 40, 200, 1000, 2999, 3000] {
        let gate = with_work(work);
        let events = Feed::new(&gate).whole(text.as_bytes());
        assert_eq!(partition_fault(&events, text.len()), None, "{work}");
        let response = ended(&events, FinishReason::Stop);
        assert!(response.calls.len() <= work / (call.len() - 1), "{work}: {}", response.calls.len());
        assert!(codes(&response).contains(&Code::WorkLimit), "{work}");
        for size in [1, 3, 64] {
            let pieces = Feed::new(&gate).pieces(text.as_bytes().chunks(size));
            assert_eq!(support::difference(&events, &pieces), None, "{work}");
        }
    }
    // What is judged counts where the call ends that was judged.
    let wide: Vec<Value> = (0..1000).map(|n| json!({"const": n})).collect();
    let tools = json!([{"name": "t", "parameters": {"type": "object", "properties": {"n": {"type": "array", "items": {"anyOf": wide}}}}}]);
    let mut policy = Policy::default();
    policy.limits.work = 3_000_000;
    let gate = Gate::builder()
        .tools(support::registry(&tools))
        .policy(policy)
        .build()
        .unwrap_or_else(|e| panic!("{e}"));
    let one = format!(
        "<tool_call>{{\"name\": \"t\", \"arguments\": {{\"n\": [{}]}}}}</tool_call>\n",
        vec!["5"; 1000].join(",")
    );
    let text = one.repeat(20);
    let events = Feed::new(&gate).whole(text.as_bytes());
    let response = ended(&events, FinishReason::Stop);
    assert_eq!(partition_fault(&events, text.len()), None);
    assert!((1..4).contains(&response.calls.len()), "{}", response.calls.len());
    assert!(codes(&response).contains(&Code::WorkLimit));
    assert_eq!(support::difference(&events, &Feed::new(&gate).pieces(text.as_bytes().chunks(11))), None);
}

#[test]
fn c12_limits_cut_no_byte_and_no_chunk_apart() {
    for (refusals, work) in [(1, 1 << 30), (2, 1 << 30), (512, 60), (512, 300), (1, 200)] {
        let mut policy = Profile::named("lenient").unwrap_or_else(Profile::standard).policy();
        policy.limits.refusals = refusals;
        policy.limits.work = work;
        policy.quote = callgate::internal::policy::Quote::Dead;
        let gate = Gate::builder()
            .tools(support::registry(&tools()))
            .policy(policy)
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        let feed = Feed::new(&gate);
        for sample in DIALECT_SAMPLES.iter().filter(|sample| sample.text.len() < 2000) {
            let text = format!("`a` {}\n`{}`\n{} é", sample.text, sample.text, sample.text);
            let events = feed.whole(text.as_bytes());
            assert_eq!(partition_fault(&events, text.len()), None, "{refusals}, {work}: {}", sample.id);
            let bytes = feed.bytewise(text.as_bytes());
            assert_eq!(support::difference(&events, &bytes), None, "{refusals}, {work}: {}", sample.id);
        }
    }
}

// ---- C17: members ----

const STRANGE: &[&str] = &[
    "{\"name\": \"NAME\", \"arguments\": {\"path\": \"a\"}, \"dry_run\": true}",
    "{\"dry_run\": true, \"name\": \"NAME\", \"arguments\": {\"path\": \"a\"}}",
    "{\"name\": \"NAME\", \"arguments\": {\"path\": \"a\"}, \"args\": {\"path\": \"b\"}}",
    "{\"name\": \"NAME\", \"arguments\": {\"path\": \"a\"}, \"function\": {\"name\": \"NAME\"}}",
];

#[test]
fn c17_unknown_members_are_never_silent() {
    for object in STRANGE {
        for (profile_name, name) in [
            ("strict", "read"),
            ("strict", "rm"),
            ("standard", "rm"),
            ("lenient", "rm"),
            ("standard", "read"),
            ("lenient", "read"),
        ] {
            let gate = gate(profile_name, &tools());
            let object = object.replace("NAME", name);
            let refuses = profile_name == "strict" || name == "rm";
            let wanted = if refuses { Code::UnknownMember } else { Code::IgnoredMember };
            let response = gate.parse(&format!("<tool_call>{object}</tool_call>"));
            let place = format!("{profile_name}: {object}: {}", refusals(&response));
            assert_eq!(
                (response.calls.len(), codes(&response).contains(&wanted)),
                (usize::from(!refuses), true),
                "{place}"
            );
            let native: Value = serde_json::from_str(&object).unwrap_or_default();
            if native.get("function").is_some() {
                continue;
            }
            let mut session = gate.session();
            let mut collector = Response::collector();
            session
                .native_calls(&json!([{"id": "1", "type": "function", "function": native}]), &mut |event| {
                    collector.push(event)
                });
            session.native_calls(&json!([{"id": "2", "dry_run": true, "function": {"name": name, "arguments": "{\"path\": \"a\"}"}}]), &mut |event| collector.push(event));
            session.finish(FinishReason::Stop, &mut |event| collector.push(event));
            let response = collector.finish(FinishReason::Stop);
            assert_eq!(response.calls.len(), if refuses { 0 } else { 2 }, "{place}");
            assert_eq!(codes(&response).iter().filter(|code| **code == wanted).count(), 2, "{place}");
        }
    }
}

#[test]
fn c17_two_names_are_no_name() {
    for object in [
        "{\"tool\": \"read\", \"name\": \"now\", \"arguments\": {}}",
        "{\"name\": \"now\", \"arguments\": {}, \"tool_name\": \"read\"}",
        "{\"name\": \"now\", \"arguments\": {}, \"function\": {\"name\": \"read\", \"arguments\": {}}}",
        "{\"name\": \"now\", \"function\": \"read\", \"arguments\": {}}",
    ] {
        for profile_name in ["standard", "strict", "lenient"] {
            let response = gate(profile_name, &tools()).parse(&format!("<tool_call>{object}</tool_call>"));
            assert!(response.calls.is_empty(), "{profile_name}: {object}");
            assert_eq!(response.rejected.len(), 1, "{profile_name}: {object}");
        }
    }
    for profile_name in ["standard", "structured", "lenient"] {
        let calls = json!([{"name": "rm", "function": {"name": "now", "arguments": "{}"}}]);
        let line = json!({"tool_calls": calls, "tools": tools(), "profile": profile_name, "finish_reason": "tool_calls"});
        assert_eq!(scan(&line)["calls"], json!([]), "{profile_name}");
    }
}

#[test]
fn c17_members_that_providers_add_are_known() {
    for profile_name in ["standard", "strict"] {
        let object = "{\"id\": \"a\", \"type\": \"function\", \"index\": 0, \"name\": \"read\", \"arguments\": {\"path\": \"a\"}}";
        let response = gate(profile_name, &tools()).parse(&format!("<tool_call>{object}</tool_call>"));
        assert_eq!((response.calls.len(), codes(&response)), (1, vec![]), "{profile_name}");
    }
}

// ---- blank arguments, names, dropped arguments, the guarded profile ----

#[test]
fn strict_makes_no_arguments_up() {
    let line = |profile: &str, tools: bool| {
        let mut line = json!({"profile": profile, "finish_reason": "stop",
            "text": "<tool_call>{\"name\": \"now\"}</tool_call>"});
        if tools {
            line["tools"] = self::tools();
        }
        scan(&line)
    };
    for tools in [true, false] {
        assert_eq!(line("strict", tools)["calls"], json!([]));
        assert_eq!(line("standard", tools)["calls"][0]["repairs"][0]["code"], "blank-arguments");
        for arguments in [json!(""), json!(null)] {
            let calls = json!([{"function": {"name": "now", "arguments": arguments}}]);
            let mut line = json!({"profile": "strict", "tool_calls": calls, "finish_reason": "tool_calls"});
            if tools {
                line["tools"] = self::tools();
            }
            assert_eq!(scan(&line)["calls"], json!([]));
        }
    }
}

#[test]
fn names_are_not_repaired_where_nothing_may_be_guessed() {
    for (name, profile_name, calls) in [
        ("read_read", "standard", 1),
        ("read.read", "standard", 1),
        ("rm_rm", "standard", 0),
        ("rm.rm", "lenient", 0),
        ("read_read", "strict", 0),
    ] {
        let text =
            format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {{\"path\": \"a\"}}}}</tool_call>");
        assert_eq!(gate(profile_name, &tools()).parse(&text).calls.len(), calls, "{name}, {profile_name}");
    }
}

#[test]
fn dropping_arguments_never_empties_a_call() {
    let tools = json!([
        {"name": "list", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
        {"name": "free", "parameters": {"type": "object"}},
    ]);
    let gate = gate("lenient", &tools);
    let call = |name: &str, arguments: &str| {
        gate.parse(&format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>"))
    };
    assert_eq!(codes(&call("list", "{\"folder\": \"a\"}")), [Code::UnexpectedArgument]);
    assert_eq!(call("list", "{\"folder\": \"a\", \"path\": \"b\"}").calls[0].value(), json!({"path": "b"}));
    assert_eq!(call("list", "{}").calls.len(), 1);
    assert_eq!(call("free", "{\"folder\": \"a\"}").calls[0].value(), json!({"folder": "a"}));
}

#[test]
fn the_guarded_profile_wants_one_dialect_and_a_good_ending() {
    let registry = || Registry::from_value(&tools()).unwrap_or_else(|error| panic!("{error}"));
    let guarded = || Gate::builder().profile(profile("guarded")).tools(registry());
    for builder in [guarded(), guarded().dialect("auto"), guarded().dialects(&["hermes", "mistral"])] {
        let error = builder.build().err().unwrap_or_else(|| panic!("a gate without one dialect"));
        assert_eq!(error.code, "needs-dialect");
        assert!(!error.help.is_empty());
    }
    let gate = guarded().dialect("hermes").build().unwrap_or_else(|error| panic!("{error}"));
    let call = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>";
    for word in GOOD {
        assert_eq!(parse(&gate, call, word).calls.len(), 1, "{word}");
    }
    for word in CUT.iter().chain(UNKNOWN) {
        let response = parse(&gate, call, word);
        assert_eq!((response.calls.len(), codes(&response)), (0, vec![Code::Truncated]), "{word}");
    }
    for refused in [
        format!("So: {call}"),
        call.replace("}}<", "},\"dry_run\": true}<"),
        call.replace("\"a\"}", "\"a\",}"),
        call.replace("}}<", "}<"),
        call.replace("</tool_call>", ""),
        call.replace("read", "read_read"),
        "[TOOL_CALLS][{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}]".to_owned(),
    ] {
        assert!(parse(&gate, &refused, "stop").calls.is_empty(), "{refused}");
    }
}
