//! Cases about records: what a line holds, and what it must not hold.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use callgate::{FinishReason, Gate, Response};
use callgate_agent::audit::{AuditLog, AuditSettings, Entry, Medium, Redaction, Style, error_line};
use serde_json::{Value, json};

use super::{fault, gate, missing, text};

/// What a case may ask of a record.
const CHECKED: &[&str] = &[
    "audit_args",
    "log_has_fields",
    "log_type",
    "log_action",
    "log_status",
    "log_error_code",
    "log_has",
    "log_lacks",
    "runs",
];

/// Lines in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Medium for Memory {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0
            .lock()
            .map(|mut memory| memory.extend_from_slice(bytes))
            .map_err(|_| io::Error::other("poisoned"))
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn faults(case: &Value) -> Vec<String> {
    let (input, expect) = (&case["input"], &case["expect"]);
    let unknown =
        expect.as_object().into_iter().flatten().filter(|(key, _)| !CHECKED.contains(&key.as_str()));
    let mut faults: Vec<String> = unknown.map(|(key, _)| format!("nothing checks `{key}`")).collect();
    if let Some(arguments) = input.get("audit_args") {
        let redaction = Redaction { style: Style::Summaries, words: Vec::new() };
        faults.extend(fault(expect, "audit_args", redaction.arguments(&arguments.into()).to_value()));
        return faults;
    }
    let gate = gate(case);
    let response = response(&gate, input);
    let lines = lines(&gate, &response, input);
    let whole = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    faults.extend(missing("the log", &whole, &expect["log_has"]));
    for part in expect["log_lacks"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        faults.extend(whole.contains(part).then(|| format!("the log holds {part:?}: {whole}")));
    }
    faults.extend(fault(
        expect,
        "runs",
        json!(response.calls.iter().map(|call| &call.name).collect::<Vec<_>>()),
    ));
    let fields = expect["log_has_fields"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let fields: Vec<&str> = fields.collect();
    let fitting =
        lines.iter().filter(|line| fields.iter().all(|field| line.get(field).is_some())).find(|line| {
            [
                ("log_type", "type"),
                ("log_action", "action"),
                ("log_status", "status"),
                ("log_error_code", "error_code"),
            ]
            .iter()
            .all(|(wanted, member)| expect.get(wanted).is_none_or(|wanted| line[member] == *wanted))
        });
    if fitting.is_none() {
        faults.push(format!("no line has all of {fields:?} as expected: {whole}"));
    }
    faults
}

fn response(gate: &Gate, input: &Value) -> Response {
    let mut collector = Response::collector();
    let mut session = gate.session();
    session.push(text(&input["text"]), &mut |event| collector.push(event));
    session.native_calls(&input["tool_calls"], &mut |event| collector.push(event));
    session.finish(FinishReason::Stop, &mut |event| collector.push(event));
    collector.finish(FinishReason::Stop)
}

/// Everything that is recorded about a response whose calls ran well.
fn lines(gate: &Gate, response: &Response, input: &Value) -> Vec<Value> {
    let settings = AuditSettings::new("unused");
    let memory = Memory::default();
    let session_id = input["session"].as_str().unwrap_or("s-0");
    let mut log = AuditLog::on(Box::new(memory.clone()), settings.clone(), session_id, "memory", || {
        SystemTime::UNIX_EPOCH
    });
    let mut entries = vec![Entry::response(gate, response, text(&input["text"]), &settings)];
    entries.extend(response.calls.iter().map(|call| Entry::accepted(call, &settings)));
    entries.extend(response.calls.iter().map(|call| Entry::result(call, Ok("[]"), &settings)));
    entries.extend(response.rejected.iter().map(|rejected| {
        Entry::rejected(gate.profile(), rejected, &settings).tied(text(&input["request_id"]))
    }));
    for entry in entries {
        log.record(entry).unwrap_or_else(|error| panic!("{error}"));
    }
    let bytes = memory.0.lock().map(|memory| memory.clone()).unwrap_or_default();
    let written = String::from_utf8(bytes).unwrap_or_else(|error| panic!("{error}"));
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let mut lines: Vec<Value> = written.lines().map(parse).collect();
    let errors: Vec<Value> = lines.iter().filter_map(error_line).collect();
    lines.extend(errors);
    lines
}
