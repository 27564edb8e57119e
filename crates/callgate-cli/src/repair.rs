//! `callgate repair`: any JSON-like text becomes JSON, with every change listed.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate::internal::batch;
use callgate::{
    Code, Coercion, Finding, Repair, Repaired, Safety, Schema, Span, repair, repair_many, repair_partial,
};
use serde_json::{Value, json};

use crate::args::RepairArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::json_text::{Strings, on_one_line};
use crate::lines::{self, Place};
use crate::paint::{Breaks, Paint, Tone, columns_of_text, visible};
use crate::pipeline::{Line, LineWork};
use crate::progress::{Counting, Tally};
use crate::source::{Mark, Source, draw};
use crate::unified::unified;
use crate::write_back::write_back;

/// The deepest nesting. The reader does not recurse, so this only keeps the output readable by other programs.
pub(crate) const DEPTH: usize = 512;

/// How texts are read.
struct Reading {
    schema: Option<Schema>,
    partial: bool,
    many: bool,
    strict: bool,
}

pub(crate) fn run(args: &RepairArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let schema = args.schema.as_deref().map(input::schema).transpose()?;
    let reading = Reading { schema, partial: args.partial, many: args.many, strict: args.strict };
    let reading = Arc::new(reading);
    if args.jsonl {
        let work = |_| RepairLines { reading: Arc::clone(&reading) };
        let total = lines::run(&args.files, &[], &args.lines, Counting::Documents, work, paint, out)?;
        return Ok(Outcome::rejected_if(total.errors > 0));
    }
    if args.inline && args.files.iter().any(|file| input::is_stdin(file)) {
        return Err(Stop::usage("--inline writes files, and standard input is none", "give a file"));
    }
    if args.files.iter().filter(|file| input::is_stdin(file)).count() > 1 {
        return Err(Stop::usage("standard input can be read only once", "give - once"));
    }
    // A file that is not there is found before any work is done.
    args.files.iter().try_for_each(|file| input::check(file))?;
    let inputs: Vec<&Path> = args.files.iter().chain(&args.schema).map(PathBuf::as_path).collect();
    let mut file = args.lines.output.as_deref().map(|path| lines::create(path, &inputs)).transpose()?;
    let (paint, out) = match &mut file {
        Some(file) => (Paint::plain(paint.columns()), file as &mut dyn Write),
        None => (paint, out),
    };
    let mut is_rejected = false;
    for file in &args.files {
        is_rejected |= !repair_file(file, args, &reading, paint, out)?;
    }
    Ok(Outcome::rejected_if(is_rejected))
}

/// Repairs one file and says whether it could be.
fn repair_file(
    file: &Path,
    args: &RepairArgs,
    reading: &Reading,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<bool, Stop> {
    let text = input::read_text(file, "UTF-8 text")?;
    let result = reading.read(&text, DEPTH);
    let name = (args.files.len() > 1).then(|| input::name_of(file));
    if args.json {
        writeln!(out, "{}", paint.json(&json_line(name.as_deref(), &result)))?;
        return Ok(result.is_ok());
    }
    let is_view = args.view || paint.is_terminal() && !args.diff && !args.inline;
    match &result {
        _ if is_view => view(name.as_deref(), &text, &result, paint, out)?,
        Ok(repaired) if args.diff => {
            write!(out, "{}", diff(file, &text, &for_file(&text, &repaired.text), paint))?;
        }
        Ok(repaired) if args.inline => {
            let repaired = for_file(&text, &repaired.text);
            if *repaired != text {
                write_back(file, &text, &repaired, args.backup.as_deref())?;
            }
        }
        Ok(repaired) => print(&repaired.text, paint, out)?,
        Err(_) => {}
    }
    out.flush()?;
    if !is_view && !args.lines.quiet || result.is_err() {
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
    result: &Result<Repaired, Vec<Finding>>,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<(), Stop> {
    if let Some(name) = name {
        writeln!(out, "{}", paint.tone(Tone::Strong, visible(name, Breaks::Show)))?;
    }
    let repairs = result.as_ref().map_or(&[][..], |repaired| &repaired.repairs);
    let mut marks: Vec<Mark> = repairs.iter().map(mark).collect();
    for finding in result.as_ref().err().into_iter().flatten() {
        let span = finding.span.unwrap_or(Span::new(text.len(), text.len()));
        marks.push(Mark { span, sign: '~', tone: Tone::Bad, label: finding.message.to_string() });
    }
    if !marks.is_empty() {
        draw(out, paint, &Source::new(text.as_bytes()), &mut [], &mut marks)?;
    }
    if let Ok(repaired) = result {
        for (repair, times) in counted(repairs) {
            let times = if times > 1 { format!(" ×{times}") } else { String::new() };
            let says = format!("{repair}{times} {}", repair.code.message());
            let said = wrapped(&says, paint.columns().saturating_sub(LEFT));
            let (tone, name) = (tone_of(repair.safety), repair.to_string());
            for (place, line) in said.iter().enumerate() {
                match line.strip_prefix(name.as_str()).filter(|_| place == 0) {
                    Some(rest) => writeln!(out, "  {}{rest}", paint.tone(tone, &name))?,
                    None => writeln!(out, "    {line}")?,
                }
            }
        }
        for coercion in &repaired.coercions {
            let coerced = paint.tone(Tone::Changed, coercion.code);
            writeln!(out, "  {coerced} {}", visible(&change(coercion), Breaks::Show))?;
        }
        if let Some(decided) = &repaired.decided {
            writeln!(out, "  {} {decided}", paint.tone(Tone::Good, "schema"))?;
        }
        if !repairs.is_empty() || !repaired.coercions.is_empty() {
            writeln!(out)?;
        }
        print(&repaired.text, paint, out)?;
    }
    Ok(())
}

/// What a coercion changed, and where.
fn change(coercion: &Coercion) -> String {
    let place = if coercion.path.is_empty() { "the value" } else { &coercion.path };
    format!("{place}: {} → {}", coercion.from, coercion.to)
}

/// How far lines that go on stand to the right.
const LEFT: usize = 4;

/// The repairs, each kind once, with how often it was made.
fn counted(repairs: &[Repair]) -> Vec<(&Repair, usize)> {
    let mut kinds: Vec<(&Repair, usize)> = Vec::new();
    for repair in repairs {
        match kinds.iter_mut().find(|(known, _)| known.code == repair.code && known.safety == repair.safety) {
            Some((_, times)) => *times += repair.count,
            None => kinds.push((repair, repair.count)),
        }
    }
    kinds
}

/// A sentence in lines of so many columns, cut between words.
fn wrapped(sentence: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in sentence.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if columns_of_text(line) + 1 + columns_of_text(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The repaired text for the place of the text, which keeps the line break at its end.
fn for_file<'r>(text: &str, repaired: &'r str) -> Cow<'r, str> {
    match text.ends_with('\n') && !repaired.ends_with('\n') {
        true => Cow::Owned(format!("{repaired}\n")),
        false => Cow::Borrowed(repaired),
    }
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
    paint.raw_or_visible(&unified(&name, before, after)).into_owned()
}

impl Reading {
    /// Reads a text, without guesses if those are not wanted.
    fn read(&self, text: &str, depth: usize) -> Result<Repaired, Vec<Finding>> {
        let one = |finding| vec![finding];
        let repaired = match &self.schema {
            _ if self.partial => repair_partial(text, depth).map_err(one),
            Some(schema) if self.many => list(schema.repair_many(text, depth)),
            None if self.many => list(repair_many(text, depth).map(|value| value.map_err(one))),
            Some(schema) => schema.repair(text, depth),
            None => repair(text, depth).map_err(one),
        }?;
        let guess = repaired.repairs.iter().find(|repair| repair.safety == Safety::Guess);
        match guess.filter(|_| self.strict) {
            Some(guess) => Err(vec![rejected_guess(guess.code.word(), guess.span)]),
            None => Ok(repaired),
        }
    }
}

/// All values as one list, if there is nothing wrong with any.
fn list(values: impl Iterator<Item = Result<Repaired, Vec<Finding>>>) -> Result<Repaired, Vec<Finding>> {
    let mut list: Option<Repaired> = None;
    let mut findings = Vec::new();
    for (place, value) in values.enumerate() {
        let mut value = match value {
            Ok(value) => value,
            Err(wrong) => {
                findings.extend(wrong);
                continue;
            }
        };
        value.text = value.text.trim().to_owned();
        for coercion in &mut value.coercions {
            coercion.path.insert_str(0, &format!("/{place}"));
        }
        match &mut list {
            None => {
                value.text.insert_str(0, "[\n");
                list = Some(value);
            }
            Some(list) => {
                list.text.push_str(",\n");
                list.text.push_str(&value.text);
                list.repairs.append(&mut value.repairs);
                list.coercions.append(&mut value.coercions);
                list.decided = list.decided.take().or(value.decided);
            }
        }
    }
    match list {
        _ if !findings.is_empty() => Err(findings),
        Some(mut list) => {
            list.text.push_str("\n]\n");
            Ok(list)
        }
        // No value at all is a list too.
        None => repair("[]\n", 1).map_err(|finding| vec![finding]),
    }
}

/// `output` holds the repaired text itself, so that numbers keep their digits.
fn json_line(name: Option<&str>, result: &Result<Repaired, Vec<Finding>>) -> String {
    let file = name.map_or(String::new(), |name| format!("\"file\":{},", json!(name)));
    match result {
        Ok(repaired) => {
            let output = on_one_line(&repaired.text, Strings::Whole);
            format!("{{{file}\"output\":{output},{}}}", batch::about_repaired(repaired))
        }
        Err(findings) => format!("{{{file}{}}}", batch::about_rejected(findings)),
    }
}

/// What standard error says: one line for each change, or for each reason why there is no result.
fn remarks(file: &Path, name: Option<&str>, text: &str, result: &Result<Repaired, Vec<Finding>>) -> String {
    let source = Source::new(text.as_bytes());
    let place = |span: Option<Span>| source.place(span.map_or(0, |span| span.start));
    let prefix = name.map_or(String::new(), |name| format!("{name}:"));
    let mut remarks = String::new();
    match result {
        Ok(repaired) => {
            for repair in &repaired.repairs {
                remarks.push_str(&remark(repair, &format!("{prefix}{}", place(Some(repair.span)))));
            }
            for coercion in &repaired.coercions {
                remarks.push_str(&format!("{prefix:>8}  {}: {}\n", coercion.code, change(coercion)));
            }
            if let Some(decided) = &repaired.decided {
                remarks.push_str(&format!("{prefix:>8}  schema: {decided}\n"));
            }
        }
        Err(findings) => {
            let name = input::name_of(file);
            for finding in findings {
                let place = place(finding.span);
                remarks
                    .push_str(&format!("callgate: {name}:{place}: {}. {}\n", finding.message, finding.help));
            }
        }
    }
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
    reading: Arc<Reading>,
}

impl LineWork for RepairLines {
    type State = ();
    type Tally = Tally;

    fn state(&self) {}

    fn line(&self, (): &mut (), number: u64, line: Line<'_>, out: &mut Vec<u8>, tally: &mut Tally) {
        let changed = Cell::new(false);
        let read = |text: &str, depth: usize| {
            let result = self.reading.read(text, depth);
            changed.set(
                result.as_ref().is_ok_and(|value| !value.repairs.is_empty() || !value.coercions.is_empty()),
            );
            result
        };
        let outcome = match lines::text(&line) {
            Ok(text) => batch::repair_line(text, read),
            Err(finding) => batch::failed(&Value::Null, &finding.help(batch::REPAIR_LINE)),
        };
        tally.repaired += u64::from(changed.get());
        lines::write(&Place { file: None, line: number }, &outcome, out, tally);
    }
}
