//! Numbers, and the text of the arguments: digits are kept, and judged as they stand.

use callgate::internal::batch::{Gates, scan_line};
use callgate::internal::json::Tape;
use callgate::internal::policy::{Coerce, ExtraArgs};
use callgate::internal::schema::CompiledTool;
use callgate::{Code, Event, Tool};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::gate;

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

pub(crate) fn tool_of(schema: Value) -> CompiledTool {
    let parameters = json!({"type": "object", "properties": {"n": schema}, "required": ["n"]});
    CompiledTool::compile(Tool::new("t", "t", parameters)).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn fit(tool: &CompiledTool, arguments: &str) -> Vec<Code> {
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

    /// The number that a text of JSON is read as, which has room for some digits only.
    fn read(text: &str) -> Exact {
        let held = serde_json::from_str::<Value>(text).unwrap_or_default().to_string();
        let (number, power) = held.split_once('e').unwrap_or((&held, "0"));
        let (whole, places) = number.split_once('.').unwrap_or((number, ""));
        Exact {
            negative: whole.starts_with('-'),
            digits: format!("{}{places}", whole.trim_start_matches('-')),
            exponent: power.parse::<i32>().unwrap_or_default() - places.len() as i32,
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
        // The limit itself may be another one once it is read: of that very number nobody can tell what was meant.
        let held = Exact::read(&rule);
        prop_assume!(held.cmp(&limit).is_eq() || !number.cmp(&held).is_eq());
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
            prop_assert_eq!(&found[0], &Code::NumberNotExact, "{} rejects {}", schema, arguments);
        }
        let quoted = format!("{{\"n\": \"{}\"}}", number.spelled(form));
        let typed = schema.replacen('{', "{\"type\": \"number\", ", usize::from(word != "integer"));
        let tool = tool_of(serde_json::from_str(&typed).unwrap_or_default());
        if fit(&tool, &quoted).is_empty() {
            prop_assert!(right, "{schema} accepts {quoted}");
        }
    }
}
