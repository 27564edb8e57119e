//! `callgate scan`: many responses, one JSON line each, judged in parallel and written in order.

use std::io::Write;
use std::path::{Path, PathBuf};

use callgate::internal::batch::{self, Answer, Form, Gates};
use callgate::{Event, Response, Session};
use callgate_agent::model::Body;
use serde_json::Value;

use crate::args::{OutputFormat, ScanArgs, ToolLoading};
use crate::exit::{Outcome, Stop};
use crate::input::{self, About};
use crate::lines::{self, Place};
use crate::paint::Paint;
use crate::pipeline::{Line, LineWork};
use crate::progress::{Counting, Tally};

pub(crate) fn run(args: &ScanArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    // Build the gate of the flags first: a mistake in them is reported once, not on every line.
    let gate = input::gate(&args.gate, About::default(), ToolLoading::Tolerant)?;
    input::note_unknown_model(&args.gate);
    let form =
        Form { openai: args.output_format == OutputFormat::Openai, feedback: args.feedback, view: args.view };
    let mut gates = input::gates(&args.gate, &gate)?.with_form(form).with_hints();
    if args.gate.tool_loading == Some(ToolLoading::Strict) {
        gates = gates.with_strict_tools();
    }
    // The flags were checked before, so an error here belongs to the line that asks for this gate.
    let _ = gates.prepare();
    let others: Vec<&Path> =
        args.gate.tools.iter().chain(&args.gate.dialect_file).map(PathBuf::as_path).collect();
    let work = |file| ScanLines { gates: gates.clone(), field: args.input.field.clone(), file };
    lines::run(&args.files, &others, &args.lines, Counting::Calls, work, paint, out)
}

/// The most notes about the tools of one line that are shown.
const NOTES: usize = 16;

/// Each line a response, by the batch contract, or something that holds one or several.
struct ScanLines {
    gates: Gates,
    field: Option<String>,
    file: Option<String>,
}

impl LineWork for ScanLines {
    /// Each thread compiles the other gates it meets; they are few.
    type State = Gates;
    type Tally = Tally;

    fn state(&self) -> Gates {
        self.gates.clone()
    }

    fn line(&self, gates: &mut Gates, number: u64, line: Line<'_>, out: &mut Vec<u8>, tally: &mut Tally) {
        let outcomes = match lines::text(&line) {
            Ok(text) => judge(text, self.field.as_deref(), gates),
            Err(finding) => vec![batch::failed(&Value::Null, &finding)],
        };
        let place = Place { file: self.file.as_deref(), line: number };
        for outcome in outcomes {
            if let Some(response) = &outcome.response {
                count(response, tally);
            }
            if let Some(dialect) = &outcome.hint {
                *tally.hints.entry(dialect.clone()).or_default() += 1;
            }
            tally.notes.extend(outcome.notes.iter().take(NOTES).cloned());
            lines::write(&place, &outcome, out, tally);
        }
    }
}

/// Judges what a line holds.
fn judge(text: &str, field: Option<&str>, gates: &mut Gates) -> Vec<batch::Outcome> {
    let line = match batch::BatchLine::parse(text) {
        Ok(line) => line,
        Err(_) if ["data:", "event:"].iter().any(|field| text.starts_with(field)) => {
            let problem =
                "this is a line of a recorded stream, not a whole answer; give the file to `callgate parse`";
            return vec![batch::failed(&Value::Null, &batch::bad(problem.to_owned()))];
        }
        Err(finding) => return vec![batch::failed(&Value::Null, &finding)],
    };
    if field.is_none() && line.is_plain() {
        return vec![line.judge(gates)];
    }
    let bodies = match field {
        Some(path) => Body::at_path(line.value(), text, path).map(Some),
        None => Body::of_line(line.value(), text),
    };
    match bodies {
        Ok(Some(bodies)) => {
            let several = bodies.len() > 1;
            let each = bodies.iter().enumerate();
            each.map(|(choice, body)| judge_body(&line, body, several.then_some(choice), gates)).collect()
        }
        Ok(None) => {
            let problem = "the line has none of `text`, `chunks`, `tool_calls`, `messages`, `choices`, `content`, \
                           `message` and `response`; say with --field where the answer is";
            vec![line.failed(batch::bad(problem.to_owned()))]
        }
        Err(fault) => vec![line.failed(batch::bad(fault.message))],
    }
}

fn judge_body(
    line: &batch::BatchLine<'_>,
    body: &Body,
    choice: Option<usize>,
    gates: &mut Gates,
) -> batch::Outcome {
    let feed = |session: &mut Session, sink: &mut dyn FnMut(Event<'_>)| {
        body.chunks.iter().for_each(|chunk| chunk.feed(session, sink));
        Ok(())
    };
    let said = |key: &str| line.value().get(key).filter(|value| !value.is_null());
    let tools = said("tools").filter(|tools| **tools != Value::Array(Vec::new()));
    let answer = Answer {
        feed: &feed,
        model: said("model").and_then(Value::as_str).or(body.model.as_deref()),
        tools: tools.or(body.tools.as_ref()),
        word: body.word.as_deref(),
        reason: body.reason,
        untrusted: &body.untrusted,
        choice,
    };
    line.judge_answer(gates, answer)
}

fn count(response: &Response, tally: &mut Tally) {
    tally.calls += response.calls.len() as u64;
    tally.repaired += response.calls.iter().filter(|call| !call.repairs.is_empty()).count() as u64;
    for finding in response.rejected.iter().filter_map(|rejected| rejected.findings.first()) {
        *tally.rejected.entry(finding.code.word()).or_default() += 1;
    }
}
