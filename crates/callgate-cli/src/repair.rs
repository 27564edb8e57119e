//! `callgate repair`: any JSON-like text becomes JSON, with every change listed.

use std::io::{self, Write};
use std::path::Path;

use callgate::internal::batch;
use callgate::{Code, Finding, Repair, Safety, Span, repair, repair_many, repair_partial};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::RepairArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::json_text::{Strings, on_one_line};
use crate::lines::{self, Place};
use crate::paint::{Breaks, Paint, Tone, visible};
use crate::pipeline::{Line, LineWork};
use crate::progress::{Counting, Tally};
use crate::source::{Mark, Source, draw};
use crate::write_back::write_back;

/// The deepest nesting. The reader does not recurse, so this only keeps the output readable by other programs.
pub(crate) const DEPTH: usize = 512;

/// JSON, and what was changed to make it.
type Repaired = (String, Vec<Repair>);

pub(crate) fn run(args: &RepairArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    if args.jsonl {
        let work = |_| RepairLines { strict: args.strict, read: reading(args) };
        return lines::run(&args.files, &[], &args.lines, Counting::Documents, work, paint, out);
    }
    if args.inline && args.files.iter().any(|file| input::is_stdin(file)) {
        return Err(Stop::usage("--inline writes files, and standard input is none", "give a file"));
    }
    // A file that is not there is found before any work is done.
    args.files.iter().try_for_each(|file| input::check(file))?;
    let mut is_rejected = false;
    for file in &args.files {
        is_rejected |= !repair_file(file, args, paint, out)?;
    }
    Ok(Outcome::rejected_if(is_rejected))
}

/// Repairs one file and says whether it could be.
fn repair_file(file: &Path, args: &RepairArgs, paint: Paint, out: &mut dyn Write) -> Result<bool, Stop> {
    let text = input::read_text(file, "UTF-8 text")?;
    let result = reading(args)(&text, DEPTH).and_then(|repaired| {
        let guess = repaired.1.iter().find(|repair| repair.safety == Safety::Guess);
        match guess.filter(|_| args.strict) {
            Some(guess) => Err(rejected_guess(guess.code.word(), guess.span)),
            None => Ok(repaired),
        }
    });
    let name = (args.files.len() > 1).then(|| input::name_of(file));
    if args.json {
        writeln!(out, "{}", paint.json(&json_line(name.as_deref(), &result)))?;
        return Ok(result.is_ok());
    }
    let is_view = args.view || paint.is_terminal() && !args.diff && !args.inline;
    match &result {
        _ if is_view => view(name.as_deref(), &text, &result, paint, out)?,
        Ok((repaired, _)) if args.diff => write!(out, "{}", diff(file, &text, repaired, paint))?,
        Ok((repaired, _)) if args.inline => {
            if *repaired != text {
                write_back(file, &text, repaired, args.backup.as_deref())?;
            }
        }
        Ok((repaired, _)) => print(repaired, paint, out)?,
        Err(_) => {}
    }
    out.flush()?;
    if !is_view || result.is_err() {
        // The result is written; a closed standard error is no failure.
        let _ = io::stderr().write_all(remarks(file, name.as_deref(), &text, &result).as_bytes());
    }
    Ok(result.is_ok())
}

/// Prints the repaired text, with a line break at its end.
fn print(text: &str, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{}{end}", paint.json(text))
}

/// Shows the text with marks beneath what was changed, then what it became.
fn view(
    name: Option<&str>,
    text: &str,
    result: &Result<Repaired, Finding>,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<(), Stop> {
    if let Some(name) = name {
        writeln!(out, "{}", paint.tone(Tone::Strong, visible(name, Breaks::Show)))?;
    }
    let repairs = result.as_ref().map_or(&[][..], |(_, repairs)| repairs);
    let mut marks: Vec<Mark> = repairs.iter().map(mark).collect();
    if let Err(finding) = result {
        let span = finding.span.unwrap_or(Span::new(text.len(), text.len()));
        marks.push(Mark { span, sign: '~', tone: Tone::Bad, label: finding.message.to_string() });
    }
    if !marks.is_empty() {
        draw(out, paint, &Source::new(text.as_bytes()), &mut [], &mut marks)?;
    }
    if let Ok((repaired, repairs)) = result {
        for repair in repairs {
            let tone = tone_of(repair.safety);
            writeln!(out, "  {} {}", paint.tone(tone, repair), repair.code.message())?;
        }
        if !repairs.is_empty() {
            writeln!(out)?;
        }
        print(repaired, paint, out)?;
    }
    Ok(())
}

fn mark(repair: &Repair) -> Mark {
    Mark { span: repair.span, sign: '^', tone: tone_of(repair.safety), label: repair.to_string() }
}

fn tone_of(safety: Safety) -> Tone {
    match safety {
        Safety::Lossless => Tone::Good,
        Safety::Guess => Tone::Changed,
    }
}

/// What changes from one text to the other, line by line.
fn diff(file: &Path, before: &str, after: &str, paint: Paint) -> String {
    let name = input::name_of(file);
    let diff = similar::TextDiff::from_lines(before, after);
    let diff = diff.unified_diff().header(&name, &format!("{name} (repaired)")).to_string();
    paint.raw_or_visible(&diff).into_owned()
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
fn json_line(name: Option<&str>, result: &Result<Repaired, Finding>) -> String {
    let file = name.map_or(String::new(), |name| format!("\"file\":{},", json!(name)));
    match result {
        Ok((text, repairs)) => {
            let output = on_one_line(text, Strings::Whole);
            format!("{{{file}\"output\":{output},\"repairs\":{}}}", json!(repairs))
        }
        Err(finding) => format!("{{{file}\"error\":{}}}", json!(finding)),
    }
}

/// What standard error says: one line per repair, or why there is no result.
fn remarks(file: &Path, name: Option<&str>, text: &str, result: &Result<Repaired, Finding>) -> String {
    let source = Source::new(text.as_bytes());
    let place = |span: Option<Span>| source.place(span.map_or(0, |span| span.start));
    let prefix = name.map_or(String::new(), |name| format!("{name}:"));
    let remarks = match result {
        Ok((_, repairs)) => repairs
            .iter()
            .map(|repair| remark(repair, &format!("{prefix}{}", place(Some(repair.span)))))
            .collect(),
        Err(finding) => {
            let name = input::name_of(file);
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
