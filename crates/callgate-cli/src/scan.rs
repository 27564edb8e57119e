//! `callgate scan`: many responses, one JSON line each, judged in parallel and written in order.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use callgate::internal::batch::{self, Answer, Form, Gates};
use callgate::{Event, Response, Session};
use callgate_agent::model::{
    Body, BodyKind, FaultCode, ModelChunk, foreign_line, results_beside, second_answer,
};
use callgate_agent::report::Part;
use serde_json::Value;

use crate::args::{OutputFormat, ScanArgs, ToolLoading};
use crate::exit::{Outcome, Stop};
use crate::input::{self, About};
use crate::lines::{self, Place};
use crate::paint::Paint;
use crate::pipeline::{Input, Line, LineWork};
use crate::progress::{Counting, Tally};
use crate::scan_report::{self, Heading, Judged};
use crate::whole;

pub(crate) fn run(args: &ScanArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    // Build the gate of the flags first: a mistake in them is reported once, not on every line.
    let gate = input::gate(&args.gate, About::default(), ToolLoading::Tolerant)?;
    input::note_unknown_model(&args.gate);
    let openai = args.output_format == OutputFormat::Openai;
    let form = Form { openai, feedback: args.feedback, view: args.view, ..Form::default() };
    let mut gates = input::gates(&args.gate, &gate)?.with_form(form).with_hints();
    if args.gate.tool_loading == Some(ToolLoading::Strict) {
        gates = gates.with_strict_tools();
    }
    // The flags were checked before, so an error here belongs to the line that asks for this gate.
    let _ = gates.prepare();
    let others: Vec<&Path> =
        args.gate.tools.iter().chain(&args.gate.dialect_file).map(PathBuf::as_path).collect();
    let mut report = args.report.as_deref().map(|path| Destination::open(path, args, &others)).transpose()?;
    let others: Vec<&Path> = others.iter().copied().chain(args.report.as_deref()).collect();
    let work = |file| ScanLines {
        gates: gates.clone(),
        field: args.input.field.clone(),
        file,
        model: args.gate.model.clone(),
        reports: args.report.is_some(),
    };
    // Tables on standard output have it to themselves.
    let is_taken = matches!(report, Some(Destination::Tables));
    let mut nowhere = io::sink();
    let lines_to: &mut dyn Write = if is_taken { &mut nowhere } else { &mut *out };
    let mut total = lines::run(&args.files, &others, &args.lines, Counting::Calls, work, paint, lines_to)?;
    if let Some(destination) = &mut report {
        let gathered = *total.report.take().unwrap_or_default();
        let heading = Heading {
            files: args.files.iter().map(|file| input::name_of(file)).collect(),
            profile: gate.profile().name().to_owned(),
            tools: gate.registry().map(callgate::Registry::len),
        };
        match destination {
            Destination::Tables => scan_report::tables(out, paint, &gathered, &heading)?,
            Destination::Page(file) => file.write_all(scan_report::page(&gathered, &heading).as_bytes())?,
        }
    }
    Ok(Outcome::rejected_if(total.errors > 0))
}

/// Where a report goes.
enum Destination {
    /// To standard output, as tables.
    Tables,
    /// To a file, as a page.
    Page(std::fs::File),
}

impl Destination {
    /// Opens it before any work is done, unless that would destroy what is read or written besides.
    fn open(path: &Path, args: &ScanArgs, others: &[&Path]) -> Result<Self, Stop> {
        if path.as_os_str() == "-" {
            return Ok(Destination::Tables);
        }
        if args.lines.output.as_deref() == Some(path) {
            return Err(Stop::usage(
                "--report and --output name the same file",
                "write the report to another file",
            ));
        }
        args.files.iter().try_for_each(|file| input::check(file))?;
        let inputs: Vec<&Path> =
            args.files.iter().map(PathBuf::as_path).chain(others.iter().copied()).collect();
        Ok(Destination::Page(lines::create(path, &inputs)?))
    }
}

/// The way out for a line that is no JSON.
const ONE_LINE: &str = "Write one JSON object per line; one answer that goes over lines is a file of its own, here and for `callgate parse`.";

/// The most notes about the tools of one line that are shown.
const NOTES: usize = 16;

/// Each line a response, by the batch contract, or something that holds one or several.
struct ScanLines {
    gates: Gates,
    field: Option<String>,
    file: Option<String>,
    /// The model of lines that name none.
    model: Option<String>,
    /// Whether a report is wanted.
    reports: bool,
}

/// A response of a line: what became of it, and what a report wants to know besides.
struct Read {
    outcome: batch::Outcome,
    choice: Option<usize>,
    model: Option<String>,
    /// What became of the parts of its text, where a report is wanted.
    parts: Vec<Part>,
    /// Its text, where a report is wanted.
    text: String,
}

impl LineWork for ScanLines {
    /// Each thread compiles the other gates it meets; they are few.
    type State = Gates;
    type Tally = Tally;

    fn lines(input: Input) -> io::Result<(Input, bool)> {
        whole::as_lines(input)
    }

    fn state(&self) -> Gates {
        self.gates.clone()
    }

    fn line(&self, gates: &mut Gates, number: u64, line: Line<'_>, out: &mut Vec<u8>, tally: &mut Tally) {
        let responses = match lines::text(&line) {
            Ok(text) => self.judge(text, gates),
            Err(finding) => vec![Read::failed(batch::failed(&Value::Null, &finding))],
        };
        let place = Place { file: self.file.as_deref(), line: number };
        for read in responses {
            let outcome = &read.outcome;
            if let Some(response) = &outcome.response {
                count(response, tally);
            }
            if let Some(dialect) = &outcome.hint {
                *tally.hints.entry(dialect.clone()).or_default() += 1;
            }
            tally.notes.extend(outcome.notes.iter().take(NOTES).cloned());
            lines::write(&place, outcome, out, tally);
            if self.reports {
                self.report(&read, number, tally);
            }
        }
    }
}

impl ScanLines {
    /// Judges what a line holds.
    fn judge(&self, text: &str, gates: &mut Gates) -> Vec<Read> {
        let line = match batch::BatchLine::parse(text) {
            Ok(line) => line,
            Err(_) if ["data:", "event:"].iter().any(|field| text.starts_with(field)) => {
                let problem = "this is a line of a recorded stream, not a whole answer; give the stream as a file of its own, here or to `callgate parse`";
                return vec![Read::failed(batch::failed(&Value::Null, &batch::bad(problem.to_owned())))];
            }
            Err(finding) => {
                let finding = finding.help(ONE_LINE);
                return vec![Read::failed(batch::failed(&Value::Null, &finding))];
            }
        };
        if self.field.is_none() && line.is_plain() {
            if let Some(fault) = second_answer(line.value()).or_else(|| foreign_line(line.value())) {
                return vec![Read::failed(line.failed(batch::bad(fault.message)))];
            }
            let mut parts = Vec::new();
            let untrusted = results_beside(line.value(), line.text());
            let outcome = line.judge(gates, &untrusted, &mut self.watch(&mut parts));
            let model = said(&line, "model").and_then(Value::as_str).map(str::to_owned);
            let text = if self.reports { written(&line) } else { String::new() };
            return vec![Read { outcome, choice: None, model, parts, text }];
        }
        let bodies = match &self.field {
            Some(path) => Body::at_path(line.value(), line.text(), path).map(Some),
            None => Body::of_line(line.value(), line.text()),
        };
        match bodies {
            Ok(Some(bodies)) => {
                let several = bodies.len() > 1;
                let choice =
                    |body: &Body| usize::try_from(body.choice).ok().filter(|choice| several || *choice > 0);
                bodies.iter().map(|body| self.judge_body(&line, body, choice(body), gates)).collect()
            }
            Ok(None) => {
                let problem = "the line has none of `text`, `chunks`, `tool_calls`, `messages`, `choices`, `content`, \
                               `message` and `response`; say with --field where the answer is";
                vec![Read::failed(line.failed(batch::bad(problem.to_owned())))]
            }
            Err(fault) if fault.code == FaultCode::ServerError => {
                let problem =
                    format!("the line holds an error of the server and no answer: {}", fault.message);
                vec![Read::failed(line.failed(batch::bad(problem).help(fault.code.help())))]
            }
            Err(fault) => vec![Read::failed(line.failed(batch::bad(fault.message)))],
        }
    }

    fn judge_body(
        &self,
        line: &batch::BatchLine<'_>,
        body: &Body,
        choice: Option<usize>,
        gates: &mut Gates,
    ) -> Read {
        let feed = |session: &mut Session, sink: &mut dyn FnMut(Event<'_>)| {
            body.chunks.iter().for_each(|chunk| chunk.feed(session, sink));
            Ok(())
        };
        // Servers of OpenAI's responses list no tools where none were given: that forbids nothing. Anywhere else it is the
        // word of whoever wrote the line.
        let is_echo =
            |tools: &&Value| body.kind == BodyKind::Responses && tools.as_array().is_some_and(Vec::is_empty);
        let tools = said(line, "tools").filter(|tools| !is_echo(tools));
        let model = said(line, "model").and_then(Value::as_str).or(body.model.as_deref());
        let answer = Answer {
            feed: &feed,
            model,
            tools: tools.or(body.tools.as_ref()),
            word: body.word.as_deref(),
            reason: body.reason,
            untrusted: &body.untrusted,
            choice,
        };
        let mut parts = Vec::new();
        let outcome = line.judge_answer(gates, answer, &mut self.watch(&mut parts));
        let texts = body.chunks.iter().filter_map(|chunk| match chunk {
            ModelChunk::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let text = if self.reports { texts.collect() } else { String::new() };
        Read { outcome, choice, model: model.map(str::to_owned), parts, text }
    }

    /// Notes what becomes of the parts of a text, if anybody wants to know.
    fn watch<'p>(&self, parts: &'p mut Vec<Part>) -> impl FnMut(&Event<'_>) + use<'p> {
        let reports = self.reports;
        move |event| {
            if reports {
                Part::note(parts, event);
            }
        }
    }

    fn report(&self, read: &Read, line: u64, tally: &mut Tally) {
        let report = tally.report.get_or_insert_default();
        let Some(response) = &read.outcome.response else {
            report.unreadable += 1;
            return;
        };
        report.note(&Judged {
            file: self.file.as_deref(),
            line,
            choice: read.choice,
            model: read.model.as_deref().or(self.model.as_deref()),
            text: &read.text,
            parts: &read.parts,
            response,
        });
    }
}

impl Read {
    fn failed(outcome: batch::Outcome) -> Self {
        Read { outcome, choice: None, model: None, parts: Vec::new(), text: String::new() }
    }
}

/// A member of a line that says something.
fn said<'l>(line: &'l batch::BatchLine<'_>, key: &str) -> Option<&'l Value> {
    line.value().get(key).filter(|value| !value.is_null())
}

/// The text of a line in the form of the contract.
fn written(line: &batch::BatchLine<'_>) -> String {
    let text = said(line, "text").and_then(Value::as_str);
    let chunks = said(line, "chunks").and_then(Value::as_array);
    text.into_iter().chain(chunks.into_iter().flatten().filter_map(Value::as_str)).collect()
}

fn count(response: &Response, tally: &mut Tally) {
    tally.calls += response.calls.len() as u64;
    tally.repaired += response.calls.iter().filter(|call| !call.repairs.is_empty()).count() as u64;
    for finding in response.rejected.iter().filter_map(|rejected| rejected.findings.first()) {
        *tally.rejected.entry(finding.code.word()).or_default() += 1;
    }
}
