//! `callgate repair`: any JSON-like text becomes JSON, with every change listed.

use std::io::{self, Write};

use callgate::internal::batch;
use callgate::{Code, Finding, Repair, Safety, Span, repair, repair_many, repair_partial};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::RepairArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::json_text::{Strings, on_one_line};
use crate::lines::{self, Place};
use crate::paint::{Breaks, Paint, visible};
use crate::pipeline::{Line, LineWork};
use crate::progress::{Counting, Tally};
use crate::source::Source;

/// The deepest nesting. The reader does not recurse, so this only keeps the output readable by other programs.
pub(crate) const DEPTH: usize = 512;

/// JSON, and what was changed to make it.
type Repaired = (String, Vec<Repair>);

pub(crate) fn run(args: &RepairArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    if args.jsonl {
        let work = |_| RepairLines { strict: args.strict, read: reading(args) };
        let files = std::slice::from_ref(&args.file);
        return lines::run(files, &[], &args.lines, Counting::Documents, work, paint, out);
    }
    let text = input::read_text(&args.file, "UTF-8 text")?;
    let result = reading(args)(&text, DEPTH).and_then(|repaired| {
        let guess = repaired.1.iter().find(|repair| repair.safety == Safety::Guess);
        match guess.filter(|_| args.strict) {
            Some(guess) => Err(rejected_guess(guess.code.word(), guess.span)),
            None => Ok(repaired),
        }
    });
    if args.json {
        let line = match &result {
            Ok(repaired) => json_line(repaired),
            Err(finding) => json!({ "error": finding }).to_string(),
        };
        writeln!(out, "{}", paint.json(&line))?;
    } else {
        if let Ok((text, _)) = &result {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            write!(out, "{}{end}", paint.json(text))?;
        }
        out.flush()?;
        // The result is written; a closed standard error is no failure.
        let _ = io::stderr().write_all(remarks(&args.file, &text, &result).as_bytes());
    }
    Ok(Outcome::rejected_if(result.is_err()))
}

/// How a text is read.
fn reading(args: &RepairArgs) -> fn(&str, usize) -> Result<Repaired, Finding> {
    match (args.partial, args.many) {
        (true, _) => {
            |text, depth| repair_partial(text, depth).map(|repaired| (repaired.text, repaired.repairs))
        }
        (_, true) => list,
        _ => |text, depth| repair(text, depth).map(|repaired| (repaired.text, repaired.repairs)),
    }
}

/// All values of a text as one list.
fn list(text: &str, depth: usize) -> Result<Repaired, Finding> {
    let mut list = String::from("[");
    let mut repairs = Vec::new();
    for repaired in repair_many(text, depth) {
        let repaired = repaired?;
        list.push_str(if list.len() == 1 { "\n" } else { ",\n" });
        list.push_str(repaired.text.trim());
        repairs.extend(repaired.repairs);
    }
    list.push_str(if list.len() == 1 { "]\n" } else { "\n]\n" });
    Ok((list, repairs))
}

/// `output` holds the repaired text itself, so that numbers keep their digits.
fn json_line((text, repairs): &Repaired) -> String {
    let output = on_one_line(text, Strings::Whole);
    format!("{{\"output\":{output},\"repairs\":{}}}", json!(repairs))
}

/// What standard error says: one line per repair, or why there is no result.
fn remarks(file: &std::path::Path, text: &str, result: &Result<Repaired, Finding>) -> String {
    let source = Source::new(text.as_bytes());
    let name = input::name_of(file);
    let place = |span: Option<Span>| source.place(span.map_or(0, |span| span.start));
    let remarks = match result {
        Ok((_, repairs)) => repairs.iter().map(|repair| remark(repair, &place(Some(repair.span)))).collect(),
        Err(finding) => {
            format!("callgate: {name}:{}: {}; {}\n", place(finding.span), finding.message, finding.help)
        }
    };
    visible(&remarks, Breaks::Keep).into_owned()
}

fn remark(repair: &Repair, place: &str) -> String {
    let times = if repair.count > 1 { format!(" ({} times)", repair.count) } else { String::new() };
    format!("{place:>8}  {repair}: {}{times}\n", repair.code.message())
}

fn rejected_guess(code: &str, span: Span) -> Finding {
    Finding::new(Code::RepairRefused)
        .at(span)
        .message(format!("only a guess could read this ({code})"))
        .help("Leave --strict out to allow guesses.")
}

/// Each line an object with `id` and `input`, by the batch contract.
struct RepairLines {
    strict: bool,
    read: fn(&str, usize) -> Result<Repaired, Finding>,
}

/// What a repaired line says about itself.
#[derive(Deserialize)]
struct RepairedLine {
    id: Value,
    repairs: Vec<ListedRepair>,
}

#[derive(Deserialize)]
struct ListedRepair {
    code: String,
    safety: String,
    span: [usize; 2],
}

impl LineWork for RepairLines {
    type State = ();
    type Tally = Tally;

    fn state(&self) {}

    fn line(&self, (): &mut (), number: u64, line: Line<'_>, out: &mut Vec<u8>, tally: &mut Tally) {
        let mut outcome = match lines::text(&line) {
            Ok(text) => batch::repair_line(text, self.read),
            Err(finding) => batch::failed(&Value::Null, &finding),
        };
        if let Ok(repaired) = serde_json::from_str::<RepairedLine>(&outcome.line) {
            let guess = repaired.repairs.iter().find(|repair| repair.safety == Safety::Guess.to_string());
            match guess.filter(|_| self.strict) {
                Some(guess) => {
                    let [start, end] = guess.span;
                    let finding = rejected_guess(&guess.code, Span::new(start, end));
                    outcome = batch::failed(&repaired.id, &finding);
                }
                None => tally.repaired += u64::from(!repaired.repairs.is_empty()),
            }
        }
        lines::write(&Place { file: None, line: number }, &outcome, out, tally);
    }
}
